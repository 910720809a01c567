/** Law 1 for joins: however many workers share the left side, the rows are those of two nested loops, in their order. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { columnFromValues } from '../src/core/columnBuilder.ts'
import { rowReader, sliceColumn } from '../src/core/columnOps.ts'
import type { JoinHow } from '../src/core/logicalPlan.ts'
import type { ColumnType } from '../src/core/schema.ts'
import { joinedRows } from '../src/exec/joinRun.ts'
import { type ExecBatch, rowBatch } from '../src/exec/operators/batches.ts'
import { runJoinTask } from '../src/exec/operators/joinTask.ts'
import { cuts, keys, pieces } from './arbitraries/keys.ts'
import { announcedRun } from './lawRuns.ts'
import { equal } from './reference.ts'

const LAW = announcedRun('joins.prop.ts')
const HOWS: readonly JoinHow[] = ['inner', 'left', 'right', 'full', 'semi', 'anti', 'cross']

/** A row number is beside each key, so that rows with equal keys are told apart. */
function batchesOf(values: readonly unknown[], type: ColumnType, name: string, sizes: readonly number[]): readonly ExecBatch[] {
  const columns = [
    columnFromValues(values, type),
    columnFromValues(
      values.map((_, i) => i),
      { kind: 'i32' },
    ),
  ]
  const cut = values.length === 0 ? [[0, 0] as const] : pieces(values.length, sizes)
  return cut.map(([from, to]) =>
    rowBatch(
      ['key', name],
      columns.map((column) => sliceColumn(column, from, to)),
      to - from,
    ),
  )
}

interface Side {
  readonly key: unknown
  readonly row: number
}

function expectedRows(how: JoinHow, left: readonly Side[], right: readonly Side[]): readonly unknown[] {
  const matches = (l: Side, r: Side): boolean => how === 'cross' || (!hasNull(l.key) && !hasNull(r.key) && equal(l.key, r.key))
  if (how === 'semi' || how === 'anti') {
    return left.filter((l) => right.some((r) => matches(l, r)) === (how === 'semi')).map((l) => ({ key: l.key, a: l.row }))
  }
  const rows: unknown[] = []
  for (const l of left) {
    const found = right.filter((r) => matches(l, r))
    if (found.length === 0 && (how === 'left' || how === 'full')) rows.push({ key: l.key, a: l.row, b: null })
    for (const r of found) rows.push({ key: l.key, a: l.row, b: r.row })
  }
  if (how === 'right' || how === 'full') {
    for (const r of right) if (!left.some((l) => matches(l, r))) rows.push({ key: r.key, a: null, b: r.row })
  }
  return rows
}

/** A key of several parts matches nothing when one of them is null. */
function hasNull(key: unknown): boolean {
  return key === null || (typeof key === 'object' && !Array.isArray(key) && Object.values(key).includes(null))
}

test('joins, however many workers share them', { timeout: 600_000 }, async () => {
  let shared = 0
  await fc.assert(
    fc.asyncProperty(
      keys,
      fc.record({ left: fc.nat(60), right: fc.nat(40), offset: fc.nat(20), workers: fc.integer({ min: 1, max: 3 }) }),
      cuts,
      fc.constantFrom(...HOWS),
      async ({ type, at }, { left, right, offset, workers }, sizes, how) => {
        const leftKeys = Array.from({ length: left }, (_, i) => at(i))
        const rightKeys = Array.from({ length: right }, (_, i) => at(i + offset))
        const small = sizes.map((size) => 1 + (size % 25))
        // the key of a cross join is a column like the others
        const on = how === 'cross' ? {} : { on: 'key' }
        const join = { kind: 'HashJoinExec', how, suffix: '_b', names: ['a', 'b'], element: { kind: 'unknown' }, ...on } as const
        let tasks = 0
        const joined = await joinedRows(join, batchesOf(leftKeys, type, 'a', small), batchesOf(rightKeys, type, 'b', small), {
          workers,
          run: async (task) => {
            tasks++
            return runJoinTask(structuredClone(task))
          },
        })
        if (tasks > 1) shared++
        const actual = joined.flatMap((batch) => {
          const read = rowReader(batch)
          return Array.from({ length: batch.length }, (_, i) => {
            const { key_b: ignored, ...row } = read(i) as Record<string, unknown> // these are rows
            expect(ignored === undefined || how === 'cross').toBe(true)
            return row
          })
        })
        const sides = [leftKeys, rightKeys].map((side) => side.map((key, row) => ({ key, row }))) as [Side[], Side[]]
        expect(actual).toEqual(expectedRows(how, ...sides))
      },
    ),
    LAW,
  )
  expect(shared).toBeGreaterThan(LAW.numRuns / 10)
})
