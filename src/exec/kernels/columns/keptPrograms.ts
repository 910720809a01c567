/**
 * Keeps what was made of column programs: a question that is asked again, over columns of the same types, compiles nothing.
 *
 *     table.filter((r) => r.a > 3).sum()      its kernels are made, and kept under its types, its steps and the functions in them
 *     table.filter((r) => r.a > 3).sum()      the same functions were lowered to the same IR, so the same kernels run
 *
 * Functions of the same place that capture the same values have one IR, by its identity (`planner/function/literals.ts`). Programs with
 * captured lists or collections are not kept: what is compiled of these may depend on what they hold at the time.
 */
import type { ElementType } from '../../../core/data/schema.ts'
import { rowIrOf } from '../../../core/ir/functionUse.ts'
import type { ExecFunction, Step } from '../../../planner/physical/physicalPlan.ts'
import type { KernelColumn } from './columnTypes.ts'

type Made<R extends readonly unknown[], T> = (
  element: ElementType,
  columns: readonly KernelColumn[],
  steps: readonly Step[],
  ...options: R
) => T

/** The most programs of which something is kept; those that were used longest ago are dropped. */
const MOST_KEPT = 128

/** Returns the function, which gives what it gave before where it is called with the same types, steps, functions and options. */
export function keptByProgram<R extends readonly unknown[], T>(make: Made<R, T>): Made<R, T> {
  const kept = new Map<string, T>()
  return (element, columns, steps, ...options) => {
    const key = keyOf(element, columns, steps, options)
    if (key === undefined) return make(element, columns, steps, ...options)
    const made = kept.get(key) ?? make(element, columns, steps, ...options)
    kept.delete(key)
    kept.set(key, made)
    for (const old of kept.keys()) {
      if (kept.size <= MOST_KEPT) break
      kept.delete(old)
    }
    return made
  }
}

/** A text that is equal for equal programs; undefined for programs of which nothing is kept. */
function keyOf(
  element: ElementType,
  columns: readonly KernelColumn[],
  steps: readonly Step[],
  options: readonly unknown[],
): string | undefined {
  const parts: string[] = []
  for (const step of steps) {
    const functions = functionsOf(step)
    const numbers = functions?.map(numberOf)
    if (numbers === undefined || numbers.includes(undefined)) return undefined
    parts.push(`${numbers.join()} ${JSON.stringify(step, (name, value: unknown) => (name === 'f' ? undefined : value))}`)
  }
  return JSON.stringify([element, columns, parts, options])
}

/** The functions of a step; undefined for steps that are no part of column programs. */
function functionsOf(step: Step): readonly ExecFunction[] | undefined {
  switch (step.kind) {
    case 'FilterExec':
    case 'MapExec':
    case 'WithColumnsExec':
      return [step.f]
    case 'EvaluateExec':
      return step.columns.map(({ f }) => f)
    case 'ProjectExec':
      return []
    default:
      return undefined
  }
}

const numbers = new WeakMap<object, number>()
let next = 0

/** The number of a function's IR; undefined for functions that are not compiled, or have tables. */
function numberOf(f: ExecFunction): number | undefined {
  const ir = rowIrOf(f)
  if (ir === undefined || ir.tables.length > 0) return undefined
  let number = numbers.get(ir)
  if (number === undefined) numbers.set(ir, (number = next++))
  return number
}
