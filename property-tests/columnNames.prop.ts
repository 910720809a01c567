/**
 * Law: columns may have any names. A chain over columns with names that are no identifiers, that differ in one odd character, or that mean
 * something to JavaScript gives what the same functions give over plain objects, and so do its rows once a file has had them.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type DistArray, max, Session } from '../src/index.ts'
import { announcedRun } from './lawRuns.ts'

const run = announcedRun('columnNames.prop.ts')
let session: Session
const folder = mkdtempSync(join(tmpdir(), 'distarray-names-'))
beforeAll(async () => {
  session = await Session.start({ workers: 1, memory: '64MB' })
})
afterAll(async () => {
  await session.stop()
  rmSync(folder, { recursive: true })
})

type Row = Record<string, number | null>

/** Like ones are frequent, so that what is made of names meets itself. */
// names of whole numbers are the first ones of any object, so that a function that makes them is not compiled
const name = fc
  .oneof(
    fc.constantFrom('a', 'a-b', 'a_b', 'a b', 'a$2', '-1', '1.5', '', ' ', "it's", '"', '\\', '`', '\u0024{x}', '\n', 'größe', '😀'),
    fc.constantFrom('constructor', 'toString', 'length', 'then', 'key', 'value', 'class', '$i', 'l_a', 'NaN'),
    fc.string({ unit: 'grapheme', maxLength: 4 }),
  )
  .filter((one) => !/^\d+$/.test(one))
const value = fc.option(fc.constantFrom(0, 1, -2, 0.5, 7), { freq: 4 })

/** What a column is made of: one of the row, times a number, added to another one. */
const made = fc.record({ of: fc.nat(), times: fc.integer({ min: 2, max: 5 }), plus: fc.nat() })
const step = fc.oneof(
  fc.record({
    kind: fc.constantFrom('map' as const, 'withColumns' as const),
    names: fc.uniqueArray(name, { minLength: 1, maxLength: 4 }),
    made: fc.array(made, { minLength: 4, maxLength: 4 }),
  }),
  fc.record({ kind: fc.constant('filter' as const), of: fc.nat() }),
  fc.record({ kind: fc.constant('fillNull' as const), of: fc.nat(), how: fc.constantFrom(3, 'previous' as const, 'next' as const) }),
  fc.record({ kind: fc.constant('rename' as const), of: fc.nat(), to: name }),
  fc.record({ kind: fc.constant('group' as const), of: fc.nat(), max: fc.nat() }),
  fc.record({
    kind: fc.constant('file' as const),
    as: fc.constantFrom('Parquet' as const, 'Arrow' as const, 'Csv' as const, 'Ndjson' as const),
  }),
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

/** A function as a program would have written it. */
const written = <F>(text: string): F => new Function(`return ${text}`)() as F // of quoted names and numbers
const quoted = JSON.stringify
const own = (entries: readonly (readonly [string, number | null])[]): Row => Object.fromEntries(entries) as Row

function filled(rows: readonly Row[], column: string, how: number | 'previous' | 'next'): Row[] {
  const copy = rows.map((row) => own(Object.entries(row)))
  const order = how === 'next' ? copy.toReversed() : copy
  let last: number | null = null
  for (const row of order) {
    if (row[column] == null) row[column] = typeof how === 'number' ? how : last
    last = row[column] ?? null
  }
  return copy
}

test('columns may have any names', async () => {
  const seen: Record<string, number> = {}
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(name, { minLength: 1, maxLength: 4 }),
      fc.array(fc.array(value, { minLength: 4, maxLength: 4 }), { minLength: 1, maxLength: 5 }),
      fc.array(step, { minLength: 1, maxLength: 5 }),
      async (first, values, steps) => {
        let names: readonly string[] = first
        // a number in each column says what it holds
        let rows = [[1, 1, 1, 1], ...values].map((row) => own(names.map((name, i) => [name, row[i] ?? null] as const)))
        let table: DistArray<Row> = session.fromRows(rows)
        const at = (n: number): string => names[n % names.length] ?? ''
        for (const one of steps) {
          seen[one.kind] = (seen[one.kind] ?? 0) + 1
          await take(one)
        }
        expect(await table.collect()).toEqual(rows)

        async function take(one: Step): Promise<void> {
          if (one.kind === 'map' || one.kind === 'withColumns') {
            const fields = one.names.map((name, i) => {
              const { of, times, plus } = one.made[i] ?? { of: 0, times: 2, plus: 0 }
              return `[${quoted(name)}]: (r[${quoted(at(of))}] ?? 0) * ${times} + (r[${quoted(at(plus))}] ?? 0)`
            })
            const f = written<(row: Row) => Row>(`(r) => ({ ${fields.join(', ')} })`)
            const adds = one.kind === 'withColumns'
            table = adds ? (table.withColumns(f) as DistArray<Row>) : table.map(f)
            rows = rows.map((row) => (adds ? own([...Object.entries(row), ...Object.entries(f(row))]) : f(row)))
            names = adds ? [...new Set([...names, ...one.names])] : one.names
          } else if (one.kind === 'filter') {
            const f = written<(row: Row) => boolean>(`(r) => r[${quoted(at(one.of))}] !== 0`)
            table = table.filter(f)
            rows = rows.filter(f)
          } else if (one.kind === 'fillNull') {
            table = table.fillNull(own([[at(one.of), one.how as number]]) as never)
            rows = filled(rows, at(one.of), one.how)
          } else if (one.kind === 'rename') {
            const from = at(one.of)
            if (names.includes(one.to)) return
            table = table.rename({ [from]: one.to }) as DistArray<Row>
            rows = rows.map((row) => own(Object.entries(row).map(([name, value]) => [name === from ? one.to : name, value])))
            names = names.map((name) => (name === from ? one.to : name))
          } else if (one.kind === 'group') {
            const [by, of] = [at(one.of), at(one.max)]
            const name = `${by} of ${of}`
            const key = written<(row: Row) => Row>(`(r) => ({ [${quoted(by)}]: r[${quoted(by)}] })`)
            table = table
              .groupBy(key)
              .agg(Object.fromEntries([[name, max(written<(row: Row) => number>(`(r) => r[${quoted(of)}]`))]])) as DistArray<Row>
            const groups = new Map<number | null, Row[]>()
            for (const row of rows) groups.set(row[by] ?? null, [...(groups.get(row[by] ?? null) ?? []), row])
            rows = [...groups].map(([value, all]) => {
              const there = all.map((row) => row[of] ?? null).filter((value) => value !== null)
              return own([
                [by, value],
                [name, there.length === 0 ? null : Math.max(...there)],
              ])
            })
            names = [by, name]
          } else if (one.kind === 'file') {
            // a file of text tells types by its values
            if (rows.length === 0 || names.some((name) => rows.every((row) => row[name] == null))) return
            if (one.as === 'Csv' && names.some((name) => name === '' || name.trim() !== name)) return // a header has its own rules for these
            const path = join(folder, one.as)
            await table[`write${one.as}`](path)
            table = await session[`read${one.as}`]<Row>(path)
          }
        }
      },
    ),
    run,
  )
  console.log(`columns of any name: ${JSON.stringify(seen)}`)
})
