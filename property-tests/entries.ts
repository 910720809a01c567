/** What the laws about plans compare: elements and their keys, as the reference and as the library gives them. */
import fc from 'fast-check'
import { type Batch, type Column, isValid } from '../src/core/data/column.ts'
import { rowReader } from '../src/core/data/columnReaders.ts'
import { unscaledOf } from '../src/core/data/decimals.ts'
import { type ColumnType, fieldsOf, plainType, typeText } from '../src/core/data/schema.ts'
import type { Engine } from '../src/core/engine.ts'
import type { UserFunction } from '../src/core/ir/functionIr.ts'
import type { LogicalPlan } from '../src/core/plan/logicalPlan.ts'
import { lowerFunction, returnedElement } from '../src/planner/function/userFunction.ts'
import { type Entry, interpret, Refused, type Tables } from './reference.ts'

export type Functions = 'lowered' | 'portable' | 'closure' | 'mixed'

/** The part of an engine that makes plans. Functions are lowered, or kept as a refused one is, or one so and the next otherwise. */
export function engineOf(functions: Functions): Engine {
  const lowerRowLambda: Engine['lowerRowLambda'] = (f, context) => {
    const lowered = lowerFunction(f, { kind: 'row', ...context }).fn
    if (functions === 'lowered' || (functions === 'mixed' && count++ % 2 === 0)) return lowered
    return refused(lowered, functions === 'mixed' ? 'portable' : functions)
  }
  let count = 0
  const known: Engine['returnedElement'] = (f, context) => returnedElement(f, { kind: 'row', ...context })
  return { seed: 1, lowerRowLambda, returnedElement: known } as unknown as Engine // plans are made by nothing else of it
}

function refused({ ir: _, portable, ...f }: UserFunction, functions: 'portable' | 'closure'): UserFunction {
  return functions === 'portable' && portable !== undefined ? { ...f, portable } : f
}

/** The elements of batches with their keys, or their row numbers. */
export function entriesIn(batches: readonly Batch[]): readonly Entry[] {
  let row = 0
  return batches.flatMap((batch) => {
    for (const [i, { name, type }] of fieldsOf(batch.element).entries())
      checkInFile(batch.columns[i], type, `${batch.element.kind} ${name}`)
    const read = rowReader(batch)
    return Array.from({ length: batch.length }, (_, i) => ({ key: batch.keys?.map((axis) => axis[i] ?? -1) ?? [row++], value: read(i) }))
  })
}

/** What is said to be 64-bit integers or decimals of a file holds such, and is a column of rows: a single value is any number. */
function checkInFile(column: Column | undefined, type: ColumnType, name: string): void {
  if (column === undefined || type.kind !== 'f64' || plainType(type) === type) return
  const { decimal } = type
  const fits = (value: unknown): boolean =>
    decimal === undefined ? Number.isInteger(value) : unscaledOf(value as number, decimal) !== undefined
  const wrong = Array.from({ length: column.length }, (_, i) => i).find((i) => isValid(column, i) && !fits(column.values?.[i]))
  if (wrong !== undefined || name.startsWith('scalar'))
    throw new Error(`${name} is ${typeText(type)}, and holds ${column.values?.[wrong ?? 0]}`)
}

/** Bit for bit; rows with the same columns in the same order. */
function same(a: unknown, b: unknown): boolean {
  if (a instanceof Date && b instanceof Date) return a.getTime() === b.getTime()
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, i) => same(item, b[i]))
  if (typeof a === 'object' && typeof b === 'object' && a !== null && b !== null && !(a instanceof Date)) {
    const left = Object.entries(a)
    const right = Object.entries(b)
    return left.length === right.length && left.every(([name, item], i) => name === right[i]?.[0] && same(item, right[i][1]))
  }
  return Object.is(a, b)
}

export function firstDifference(expected: readonly Entry[], actual: readonly Entry[]): string | undefined {
  for (let i = 0; i < Math.max(expected.length, actual.length); i++) {
    const [e, a] = [expected[i], actual[i]]
    if (e === undefined || a === undefined || !same(e.key, a.key) || !same(e.value, a.value))
      return `element ${i}: expected ${text(e)}, got ${text(a)}`
  }
  return undefined
}

function text(entry: Entry | undefined): string {
  const show = (value: unknown): unknown =>
    typeof value === 'bigint'
      ? `${value}n`
      : typeof value === 'number' && !Number.isFinite(value)
        ? String(value)
        : Object.is(value, -0)
          ? '-0'
          : value
  return entry === undefined ? 'nothing' : JSON.stringify(entry, (_, value: unknown) => show(value))
}

/** What the reference gives, or why it gives nothing. */
export function expectedOf(plan: LogicalPlan, tables: Tables): readonly Entry[] | 'refused' {
  try {
    return interpret(plan, tables)
  } catch (error) {
    if (error instanceof Refused) return 'refused'
    throw error
  }
}

/** The same for plans whose functions do not fail. A sum of nulls alone is the number 0, at which a function of bigints above it does: such a case is left out. */
export function expectedOfWhole(plan: LogicalPlan, tables: Tables): readonly Entry[] | 'refused' {
  try {
    return expectedOf(plan, tables)
  } catch (error) {
    fc.pre(!(error instanceof TypeError && error.message.startsWith('Cannot mix BigInt')))
    throw error
  }
}
