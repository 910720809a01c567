/**
 * Plans without a session: handles whose methods build and check plans, over tables in memory, and nothing that runs.
 */
import { DistArray, planOf } from '../src/core/arrays/distArray.ts'
import type { ColumnType, ElementType, Field } from '../src/core/data/schema.ts'
import type { Engine } from '../src/core/engine.ts'
import { PlanError } from '../src/core/errors.ts'
import type { LogicalPlan } from '../src/core/plan/logicalPlan.ts'
import { planText } from '../src/core/plan/tree.ts'
import { lowerFunction, returnedElement } from '../src/planner/function/userFunction.ts'
import { optimize } from '../src/planner/optimize.ts'
import type { Rule } from '../src/planner/rule.ts'

function never(): never {
  throw new Error('Plans of this engine do not run.')
}

/** Lowers functions as a session does; runs nothing. */
export const planEngine: Engine = {
  seed: 1,
  lowerRowLambda: (f, context) => lowerFunction(f, { kind: 'row', ...context }).fn,
  returnedElement: (f, context) => returnedElement(f, { kind: 'row', ...context }),
  holdings: () => ({ isOpen: true, of: () => undefined }),
  moment: never,
  execute: never,
  fold: never,
  stream: never,
  explain: never,
  analyze: never,
  shape: never,
  arrowSchema: never,
  toArrowTable: never,
  toRecordBatch: never,
  at: never,
  slice: never,
  toTypedArray: never,
  set: never,
  assign: never,
  update: never,
  release: never,
  write: never,
}

/** A scan of a table in memory, with its columns as `{ id: 'f64', note: 'utf8?' }`; a question mark for nullable ones. */
export function scanOf(name: string, columns: Readonly<Record<string, string>>): LogicalPlan {
  const fields = Object.entries(columns).map(([column, type]): Field => {
    const nullable = type.endsWith('?')
    const kind = nullable ? type.slice(0, -1) : type
    return { name: column, type: (kind === 'timestamp' ? { kind, unit: 'ms' } : { kind }) as ColumnType, nullable } // names of simple types
  })
  const element: ElementType = { kind: 'row', fields }
  const source = { kind: 'memory', name, element, splits: [] } as const
  return { kind: 'Scan', source, columns: Object.keys(columns), element, keys: { kind: 'rowNumber' } }
}

/** A handle on such a scan. */
export function tableOf<Row>(name: string, columns: Readonly<Record<string, string>>): DistArray<Row> {
  return new DistArray<Row>(planEngine, scanOf(name, columns))
}

/** The text of a handle's plan after the rules. */
export function optimizedText<T, K extends readonly number[]>(array: DistArray<T, K>, rules: readonly Rule[]): string {
  return planText(optimize(planOf(array), rules).plan)
}

/** Returns what a call is refused with, where its message names a place of the caller's code, as `PLACE`. */
export function refusalOf(call: () => unknown): string | undefined {
  try {
    call()
    return undefined
  } catch (error) {
    if (!(error instanceof PlanError) || error.span === undefined) throw error
    return error.message.replace(/\n {2}\S+ {2}/, '\n  PLACE  ')
  }
}
