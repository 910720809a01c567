/**
 * Fields of structs are read as columns: whatever chain reads them, of tables in memory and of Parquet and Arrow files, has the results
 * of plain JavaScript over rows with objects in them, with structs inside structs, nulls of both, and functions that fail of null.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Column } from '../src/core/data/column.ts'
import { columnFromValues } from '../src/core/data/columnBuilder.ts'
import type { ColumnType } from '../src/core/data/schema.ts'
import { count, sum } from '../src/core/plan/aggregates.ts'
import { aggPlan, groupingOf } from '../src/core/plan/groupPlan.ts'
import type { LogicalPlan } from '../src/core/plan/logicalPlan.ts'
import { freeColumn, shareBatch } from '../src/exec/memory/shareColumns.ts'
import { columnProgramOf, isProgram } from '../src/exec/tables/columns/columnProgram.ts'
import { plannedTextColumns } from '../src/exec/tables/columns/texts/textColumns.ts'
import { Executor } from '../src/exec/tables/executor.ts'
import { createPool } from '../src/exec/workers/pool.ts'
import { loadArrow } from '../src/io/arrow/arrowLibrary.ts'
import { readSplit } from '../src/io/readSplit.ts'
import { lowerFunction, returnedElement } from '../src/planner/function/userFunction.ts'
import { optimize } from '../src/planner/optimize.ts'
import { HANDLERS } from '../src/session/taskHandlers.ts'
import { engineOf } from './entries.ts'
import { lawArena } from './lawArena.ts'
import { announcedRun } from './lawRuns.ts'
import { lowerMarked as lower } from './lowerMarked.ts'
import { asStored, expectOutcome, groupedRows, outcomeOf, scanOfFile } from './rowChains.ts'

const LAW = announcedRun('structFields.prop.ts')
const arena = lawArena(2 ** 27)
const handlers = { url: new URL('../src/session/threadHandlers.ts', import.meta.url).href, table: HANDLERS }
const pool = createPool({ workers: 1, arena, handlers })
const executor = new Executor({ pool, arena, readSplit, lower, smallRows: 0 })
const folder = mkdtempSync(join(tmpdir(), 'distarray-structs-'))
beforeAll(loadArrow)
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await pool.stop()
})

interface Place {
  readonly city: string | null
  readonly zone: number | null
  readonly at: Date | null
  readonly isHot: boolean | null
  readonly in: { readonly land: string | null; readonly big: number | null } | null
}
interface Row {
  readonly id: number
  readonly geo: Place
  readonly 'geo.city': string
}

const struct = (fields: Readonly<Record<string, ColumnType>>): ColumnType => ({
  kind: 'struct',
  fields: Object.entries(fields).map(([name, type]) => ({ name, type, nullable: true })),
})
const TYPES: readonly (readonly [keyof Row, ColumnType])[] = [
  ['id', { kind: 'i32' }],
  [
    'geo',
    struct({
      city: { kind: 'utf8' },
      zone: { kind: 'f64' },
      at: { kind: 'timestamp', unit: 'ms' },
      isHot: { kind: 'bool' },
      in: struct({ land: { kind: 'utf8' }, big: { kind: 'i32' } }),
    }),
  ],
  ['geo.city', { kind: 'utf8' }],
]
const ELEMENT = { kind: 'row' as const, fields: TYPES.map(([name, type]) => ({ name, type, nullable: name === 'geo' })) }

/** What is null in a table: nothing, fields, the struct inside, whole structs, or these and fields. */
const nulls = fc.constantFrom('none', 'none', 'fields', 'inner', 'structs', 'structs', 'structs', 'both')

const rows = nulls.chain((has) => {
  const or = <T>(value: fc.Arbitrary<T>, isNull: boolean): fc.Arbitrary<T | null> => (isNull ? fc.option(value, { freq: 4 }) : value)
  const isOfFields = has === 'fields' || has === 'both'
  const inner = fc.record({ land: or(fc.constantFrom('de', 'fr', ''), isOfFields), big: or(fc.integer({ min: -9, max: 9 }), isOfFields) })
  const geo = fc.record({
    city: or(fc.constantFrom('Bern', 'Rome', 'Österbro', ''), isOfFields),
    zone: or(fc.constantFrom(0, -0, 1.5, 3, 7, Number.NaN), isOfFields),
    at: or(
      fc.integer({ min: 0, max: 40 }).map((weeks) => new Date(weeks * 7 * 86_400_000)),
      isOfFields,
    ),
    isHot: or(fc.boolean(), isOfFields),
    in: or(inner, has === 'inner'),
  })
  return fc.array(
    fc.record({
      id: fc.integer({ min: 0, max: 20 }),
      geo: or(geo, has === 'structs' || has === 'both') as fc.Arbitrary<Place>,
      'geo.city': fc.constantFrom('x', 'y'),
    }),
    { minLength: 1, maxLength: 24 },
  )
})

const FILTERS: readonly ((r: Row) => unknown)[] = [
  (r) => (r.geo.zone as number) > 1,
  (r) => r.geo?.city === 'Rome' || r.id < 5,
  (r) => r.geo !== null && r.geo.city !== 'Bern',
  (r) => r.geo?.in?.land !== 'de',
  ({ geo: { isHot, zone } }) => isHot === true || zone === 3,
  (r) => r.geo !== null,
  (r) => r.geo !== null && r.id > 2,
  (r) => r.geo === null || (r.geo.zone as number) < 7,
  (r) => r.geo && r.geo.city !== 'Rome',
  // these read what may be null all the same
  (r) => !(r.geo && r.id > 3) && r.geo.zone !== 1,
  (r) => !(r.id > 10 && r.geo === null) && r.geo.zone !== 3,
  (r) => !(r.geo === null || r.geo.in === null || r.geo.in.land === 'de'),
  (r) => r.geo?.in != null && (r.geo.in.big as number) > -5,
  (r) => {
    if (!r.geo) return r.id > 4
    return r.geo.city === 'Bern' || r.geo.isHot
  },
  (r) => {
    const { geo } = r
    return geo.city === 'Rome' || geo.city === r['geo.city']
  },
]
const MAPS: readonly ((r: Row) => unknown)[] = [
  (r) => r.geo.zone,
  (r) => r.geo?.zone,
  (r) => r.geo?.zone === undefined,
  (r) => r.geo?.zone === null,
  (r) => (r.geo?.zone as number) + 1,
  (r) => (r.geo?.isHot ? 1 : r.geo?.zone === undefined ? 2 : 3),
  (r) => ({ a: r.geo.city, b: (r.geo.zone as number) * 2 + r.id, c: r['geo.city'] }),
  (r) => (r.geo.city as string).toUpperCase(),
  (r) => (r.geo.at as Date).getUTCMonth(),
  (r) => (r.geo.at as Date).toISOString().slice(0, 7),
  (r) => (r.geo.in as { big: number }).big + 1,
  (r) => r.geo?.in?.big ?? -1,
  (r) => ({ hot: r.geo.isHot, land: r.geo.in?.land }),
  (r) => (r.geo === null ? -1 : r.geo.zone),
  // these ask, and read where the answer was another
  (r) => (r.geo !== null && r.id > 10 ? 1 : r.geo.zone),
  (r) => (!r.geo ? (r.geo as unknown as Place).city : 'there'),
  (r) => {
    if (r.geo !== null) return -1
    return (r.geo as unknown as Place).zone
  },
  (r) => ((r.geo.isHot as boolean) && r.geo ? 1 : 0),
  (r) => (r.geo === null ? (r.geo as unknown as Place).zone : 1),
  (r) => (r.geo !== null ? (r.geo.in as { big: number }).big : 0),
  (r) => (r.geo ? r.geo.city : 'none'),
  // biome-ignore lint/complexity/useOptionalChain: programs are written so
  (r) => (r.geo !== null && r.geo.isHot ? 1 : 0),
  (r) => (r.geo === null && r.geo === null ? 1 : (r.geo.zone as number) + 1),
  // biome-ignore lint/complexity/useOptionalChain: programs are written so
  (r) => (r.geo && r.geo.in ? (r.geo.in.big as number) * 2 : 0),
  (r) => {
    if (r.geo === null) return { city: 'none', zone: 0 }
    return { city: r.geo.city, zone: r.geo.zone }
  },
  (r) => {
    const { geo } = r
    return geo ? (geo.in ? geo.in.land : 'no land') : 'no place'
  },
  (r) => ({ id: r.id, geo: r.geo }),
  ({ geo }) => (geo === null ? 'none' : geo.isHot ? 'hot' : geo.city),
]
const KEYS: readonly ((r: Row) => unknown)[] = [
  (r) => r.geo.city,
  (r) => r.geo?.city,
  (r) => ({ city: r.geo.city, hot: r.geo.isHot }),
  (r) => (r.geo.at as Date).getUTCFullYear(),
  (r) => r.geo.in?.land,
  (r) => (r.geo === null ? 'none' : r.geo.city),
  // biome-ignore lint/complexity/useOptionalChain: programs are written so
  (r) => ({ city: r.geo && r.geo.city, id: r.id % 2 }),
  (r) => r.geo,
  (r) => r.geo.in,
  (r) => r.id % 3,
]

const drawn = fc.record({
  rows,
  source: fc.constantFrom('memory', 'parquet', 'arrow'),
  rowGroupRows: fc.integer({ min: 1, max: 9 }),
  isBare: fc.boolean(),
  filters: fc.array(fc.constantFrom(...FILTERS), { maxLength: 2 }),
  last: fc.oneof(
    fc.record({ kind: fc.constant('map' as const), f: fc.constantFrom(...MAPS) }),
    fc.record({ kind: fc.constant('group' as const), f: fc.constantFrom(...KEYS) }),
    fc.record({ kind: fc.constant('rows' as const), f: fc.constant(undefined) }),
  ),
})
type Drawn = typeof drawn extends fc.Arbitrary<infer T> ? T : never

async function scanOf({ rows: given, source, rowGroupRows, isBare }: Drawn): Promise<LogicalPlan> {
  const keys = { kind: 'rowNumber' } as const
  const columns = TYPES.map(([name, type]) =>
    columnFromValues(
      given.map((row) => row[name]),
      type,
    ),
  )
  if (source === 'memory') {
    const own = isBare ? columns.map(withBareFields) : columns
    const table = shareBatch({ element: ELEMENT, length: given.length, columns: own }, arena, 'the law')
    return { kind: 'Stored', name: 'rows', storage: { kind: 'table', ...table }, element: ELEMENT, keys }
  }
  return await scanOfFile(
    join(folder, `rows.${source}`),
    { element: ELEMENT, columns, rows: given.length },
    { format: source, rowGroupRows },
  )
}

/** The column with fields that have values where their struct is null, as other programs may write them. */
function withBareFields({ children, ...column }: Column): Column {
  const bare = children?.map(({ validity, ...child }) =>
    validity === undefined || (column.validity !== undefined && Buffer.compare(validity, column.validity) === 0)
      ? child
      : { ...child, validity },
  )
  return bare === undefined ? column : { ...column, children: bare }
}

test('chains that read fields of structs have the results of JavaScript', async () => {
  const seen = { programs: 0, failed: 0, nulls: 0 }
  const empty = arena.usedBytes
  await fc.assert(
    fc.asyncProperty(drawn, async (one) => {
      const { rows: given, filters, last } = one
      let plan = await scanOf(one)
      const stored = plan.kind === 'Stored' && plan.storage.kind === 'table' ? plan.storage.columns : []
      const { element, keys } = plan
      const inputs = [element]
      for (const f of filters)
        plan = { kind: 'Filter', input: plan, f: lowerFunction(f, { kind: 'row', method: 'filter', inputs }).fn, element, keys }
      if (last.kind === 'map') {
        const { fn } = lowerFunction(last.f, { kind: 'row', method: 'map', inputs })
        plan = { kind: 'Map', input: plan, f: fn, element: returnedElement(fn, { kind: 'row', method: 'map', inputs }), keys }
      }
      if (last.kind === 'group')
        plan = aggPlan(groupingOf(engineOf('lowered'), plan, last.f as never), {
          n: count(),
          s: sum((r: Row) => r.id),
          b: count((r: Row) => r.geo?.in?.big),
        } as never)
      const optimized = optimize(plan).plan
      if (last.kind === 'map' && isProgram(columnProgramOf(lower(optimized), plannedTextColumns))) seen.programs++
      const expected = outcomeOf(() => {
        const kept = filters.reduce<readonly Row[]>((all, f) => all.filter((row) => f(row)), given)
        if (last.kind === 'map') return kept.map((row) => asStored(last.f(row)))
        return last.kind === 'group' ? groupedRows(kept, last.f, { summed: (row) => row.id, counted: (row) => row.geo?.in?.big }) : kept
      })
      if (await expectOutcome(executor, optimized, expected)) seen.failed++
      else if (given.some((row) => row.geo === null)) seen.nulls++
      for (const column of stored) freeColumn(column, arena)
      expect(arena.usedBytes).toBe(empty)
    }),
    LAW,
  )
  console.log(`fields of structs: ${JSON.stringify(seen)}`)
  if (LAW.numRuns < 500) return
  expect(seen.programs).toBeGreaterThan(LAW.numRuns / 40)
  expect(seen.failed).toBeGreaterThan(LAW.numRuns / 50)
  expect(seen.nulls).toBeGreaterThan(LAW.numRuns / 50)
})
