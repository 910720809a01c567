/**
 * Law: joins, groups and unions over files, some of which are read in several places of the plan, give what plain loops give; scans of
 * the same rows are read once, of other rows each by itself; and when a plan has run, or failed, nothing of it is in memory.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { DistArray } from '../src/core/arrays/distArray.ts'
import { first, sum } from '../src/core/plan/aggregates.ts'
import type { LogicalPlan } from '../src/core/plan/logicalPlan.ts'
import { openParquet } from '../src/io/parquet.ts'
import { readSplit } from '../src/io/readSplit.ts'
import { writeParquet } from '../src/io/writeParquet.ts'
import { announcedRun } from './lawRuns.ts'
import { piecemealEngines, tableOf, tableOfRows } from './piecemeal.ts'

const LAW = announcedRun('loadsAhead.prop.ts')
const FEW_RUNS = 500
const { engines, arena, stop } = piecemealEngines([1, 2])
const folder = mkdtempSync(join(tmpdir(), 'loads-ahead-'))
afterAll(async () => {
  await stop()
  rmSync(folder, { recursive: true })
})

interface Row {
  readonly k: number
  readonly s: string
  readonly x: number
}
const row: fc.Arbitrary<Row> = fc.record(
  { k: fc.integer({ min: 0, max: 5 }), s: fc.constantFrom('a', 'b', 'žluť'), x: fc.integer({ min: 0, max: 9 }) },
  { noNullPrototype: true },
)

/** What is done with a file's rows. Statistics of row groups decide on `few`; `bad` fails. */
const LEAVES = {
  all: { on: (a: DistArray<Row>) => a.filter((r) => r.s !== 'c'), of: () => true },
  few: { on: (a: DistArray<Row>) => a.filter((r) => r.k < 2), of: (r: Row) => r.k < 2 },
  more: { on: (a: DistArray<Row>) => a.filter((r) => r.x > 1), of: (r: Row) => r.x > 1 },
  keys: { on: (a: DistArray<Row>) => a.map((r) => ({ k: r.k, s: 'a', x: 1 })), of: () => true },
  bad: {
    on: (a: DistArray<Row>) =>
      a.filter((r) => {
        if (r.x === 9) throw new RangeError('nine')
        return true
      }),
    of: (r: Row) => {
      if (r.x === 9) throw new RangeError('nine')
      return true
    },
  },
} as const

type Tree =
  | { readonly kind: 'leaf'; readonly file: 0 | 1; readonly leaf: keyof typeof LEAVES }
  | { readonly kind: 'join'; readonly how: 'inner' | 'semi' | 'anti'; readonly left: Tree; readonly right: Tree }
  | { readonly kind: 'groups'; readonly of: Tree }
  | { readonly kind: 'union'; readonly left: Tree; readonly right: Tree }

const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 3, depthSize: 'large' },
    fc.record({
      kind: fc.constant('leaf' as const),
      file: fc.constantFrom(0 as const, 0 as const, 1 as const),
      leaf: fc.constantFrom<keyof typeof LEAVES>(
        ...(['all', 'all', 'all', 'all', 'few', 'few', 'more', 'more', 'keys', 'keys', 'bad'] as const),
      ),
    }),
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant('join' as const),
        how: fc.constantFrom('inner' as const, 'semi' as const, 'anti' as const),
        left: tie('tree'),
        right: tie('tree'),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('groups' as const), of: tie('tree') }) },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('groups' as const),
        of: fc.record({ kind: fc.constant('union' as const), left: tie('tree'), right: tie('tree') }),
      }),
    },
  ),
}))

function arrayOf(tree: Tree, files: readonly DistArray<Row>[]): DistArray<Row> {
  switch (tree.kind) {
    case 'leaf':
      return LEAVES[tree.leaf].on(files[tree.file] as DistArray<Row>)
    case 'groups':
      return arrayOf(tree.of, files)
        .groupBy((r) => ({ k: r.k }))
        .agg({ s: first((r) => r.s), x: sum((r) => r.x) }) as unknown as DistArray<Row>
    case 'union':
      return arrayOf(tree.left, files).union(arrayOf(tree.right, files))
    case 'join': {
      const [left, right] = [arrayOf(tree.left, files), arrayOf(tree.right, files)]
      if (tree.how !== 'inner') return left.join(right, 'k', { how: tree.how }) as unknown as DistArray<Row>
      const both = left.join(right, { left: (r) => r.k, right: (r) => r.k }, { suffix: '2' })
      return both.map((r) => ({ k: r.k, s: r.s2, x: r.x + r.x2 })) as unknown as DistArray<Row>
    }
  }
}

function plainOf(tree: Tree, files: readonly (readonly Row[])[]): readonly Row[] {
  switch (tree.kind) {
    case 'leaf': {
      const kept = (files[tree.file] as readonly Row[]).filter(LEAVES[tree.leaf].of)
      return tree.leaf === 'keys' ? kept.map(({ k }) => ({ k, s: 'a', x: 1 })) : kept
    }
    case 'groups': {
      const groups = new Map<number, Row>()
      for (const { k, s, x } of plainOf(tree.of, files)) groups.set(k, { k, s: groups.get(k)?.s ?? s, x: (groups.get(k)?.x ?? 0) + x })
      return [...groups.values()]
    }
    case 'union':
      return [...plainOf(tree.left, files), ...plainOf(tree.right, files)]
    case 'join': {
      const [left, right] = [plainOf(tree.left, files), plainOf(tree.right, files)]
      if (tree.how === 'inner') return left.flatMap((l) => right.filter((r) => r.k === l.k).map((r) => ({ k: l.k, s: r.s, x: l.x + r.x })))
      return left.filter((l) => right.some((r) => r.k === l.k) === (tree.how === 'semi'))
    }
  }
}

function leavesOf(tree: Tree): readonly string[] {
  if (tree.kind === 'leaf') return [`${tree.file} ${tree.leaf === 'few'}`]
  return tree.kind === 'groups' ? leavesOf(tree.of) : [...leavesOf(tree.left), ...leavesOf(tree.right)]
}

async function fileOf(name: string, rows: readonly Row[]): Promise<LogicalPlan> {
  const path = join(folder, `${name}.parquet`)
  const plan = tableOfRows(rows) as Extract<LogicalPlan, { kind: 'Scan' }>
  const [split] = plan.source.splits
  const batches = split === undefined ? [] : await readSplit(plan.source, split, ['k', 's', 'x'])
  await writeParquet({ batches, element: plan.source.element, path, options: { rowGroupRows: 2 } })
  return tableOf(await openParquet(path))
}

function outcome<T>(run: () => T): { readonly value: T } | { readonly failed: true } {
  try {
    return { value: run() }
  } catch {
    return { failed: true }
  }
}

test('files that a plan reads in several places are read once, and ahead, with the rows that each place reads', async () => {
  const counts = { joins: 0, shared: 0, others: 0, failed: 0 }
  const rows = fc.array(row, { minLength: 1, maxLength: 30 })
  await fc.assert(
    fc.asyncProperty(rows, rows, tree, fc.nat(1), async (a, b, program, engine) => {
      // sorted by key, so that row groups are skipped
      const given = [[...a].sort((p, q) => p.k - q.k), b]
      const plans = [await fileOf('a', given[0] as Row[]), await fileOf('b', b)]
      const files = plans.map((plan) => new DistArray<Row>(engines[engine] as (typeof engines)[number], plan))
      const expected = outcome(() => plainOf(program, given))
      const before = arena.usedBytes
      const actual = await arrayOf(program, files)
        .collect()
        .catch((error: unknown) => error)
      expect(arena.usedBytes).toBe(before)
      const leaves = leavesOf(program)
      if (leaves.length > 1) counts.joins++
      if (new Set(leaves).size < leaves.length) counts.shared++
      if (new Set(leaves).size > 1) counts.others++
      if ('failed' in expected) {
        counts.failed++
        // a side without rows may spare the other
        if (actual instanceof Error) expect(actual.message).toContain('nine')
        return
      }
      expect(actual).toEqual(expected.value)
    }),
    LAW,
  )
  console.log(`loads ahead: ${JSON.stringify(counts)}`)
  if (LAW.numRuns >= FEW_RUNS) {
    expect(Math.min(counts.joins, counts.shared, counts.others)).toBeGreaterThan(LAW.numRuns / 5)
    expect(counts.failed).toBeGreaterThan(LAW.numRuns / 50)
  }
}, 300_000)
