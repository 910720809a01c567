/** What the laws of rows with structs or lists in them have in common: tables in files, and what plain JavaScript makes of rows. */
import { expect } from 'vitest'
import type { Column } from '../src/core/data/column.ts'
import { type ElementType, fieldsOf } from '../src/core/data/schema.ts'
import { TaskError } from '../src/core/errors.ts'
import type { LogicalPlan } from '../src/core/plan/logicalPlan.ts'
import type { Executor } from '../src/exec/tables/executor.ts'
import { rowBatch } from '../src/exec/tables/operators/batches.ts'
import { openArrow } from '../src/io/arrow/arrowFile.ts'
import { writeArrow } from '../src/io/arrow/writeArrow.ts'
import { openParquet } from '../src/io/parquet.ts'
import { writeParquet } from '../src/io/writeParquet.ts'
import { entriesIn } from './entries.ts'

/** A scan of a file that is written with these columns. */
export async function scanOfFile(
  path: string,
  { element, columns, rows }: { readonly element: ElementType; readonly columns: readonly Column[]; readonly rows: number },
  { format, rowGroupRows }: { readonly format: 'parquet' | 'arrow'; readonly rowGroupRows: number },
): Promise<LogicalPlan> {
  const names = fieldsOf(element).map(({ name }) => name)
  const batches = (async function* () {
    yield { ...rowBatch(names, columns, rows), element }
  })()
  const request = { batches, element, path }
  await (format === 'parquet' ? writeParquet({ ...request, options: { rowGroupRows } }) : writeArrow(request))
  const source = await (format === 'parquet' ? openParquet([path]) : openArrow([path]))
  return { kind: 'Scan', source, columns: names, element: source.element, keys: { kind: 'rowNumber' } }
}

/** What a function over rows gives, or the exception with which it ends. */
export type Outcome<T> = { readonly value: T } | { readonly failed: unknown }

export function outcomeOf<T>(run: () => T): Outcome<T> {
  try {
    return { value: run() }
  } catch (failed) {
    return { failed }
  }
}

/** Expects of a plan what plain JavaScript gave; `isNamed`: a failure is one of a task. Returns whether it failed. */
export async function expectOutcome(
  executor: Executor,
  plan: LogicalPlan,
  expected: Outcome<readonly unknown[]>,
  isNamed = true,
): Promise<boolean> {
  if ('failed' in expected) {
    await expect(executor.execute(plan)).rejects.toThrow(isNamed ? TaskError : undefined)
    return true
  }
  const actual = entriesIn(await executor.execute(plan)).map(({ value }) => withoutPrototype(value))
  expect(actual).toEqual(expected.value.map(withoutPrototype))
  return false
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
}

/** The value without prototypes of the library's own. */
function withoutPrototype(value: unknown): unknown {
  return isObject(value) ? { ...value } : value
}

/** A value as it is stored: what is undefined in it is null. */
export function asStored(value: unknown): unknown {
  if (!isObject(value)) return value ?? null
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, field === undefined ? null : field]))
}

/** The rows by a key, with their number, a sum, and how many have a value. */
export function groupedRows<R>(
  rows: readonly R[],
  key: (row: R) => unknown,
  { summed, counted }: { readonly summed: (row: R) => number; readonly counted: (row: R) => unknown },
): readonly unknown[] {
  const groups = new Map<string, { key: unknown; n: number; s: number; b: number }>()
  for (const row of rows) {
    const of = asStored(key(row))
    const id = JSON.stringify(of, (_, value: unknown) => (typeof value === 'number' && !Number.isFinite(value) ? String(value) : value))
    const group = groups.get(id) ?? { key: of, n: 0, s: 0, b: 0 }
    groups.set(id, group)
    group.n++
    group.s += summed(row)
    if ((counted(row) ?? null) !== null) group.b++
  }
  const all = [...groups.values()]
  // keys that are objects give their fields as columns, unless one is null
  const areFields = all.every(({ key: of }) => isObject(of))
  return all.map(({ key: of, ...rest }) => (areFields ? { ...(of as object), ...rest } : { key: of, ...rest }))
}
