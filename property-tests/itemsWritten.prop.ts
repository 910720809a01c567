/**
 * Items of lists that a function of `flatMap` writes out are computed as columns: values, their types and what is thrown are those of
 * the list that is made for each row.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type DistArray, Session } from '../src/index.ts'
import { expectSameItems } from './itemsOfRows.ts'
import { lawRuns } from './lawRuns.ts'

let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 1, progress: false })
})
afterAll(() => session.stop())

interface Row {
  readonly a: string | null
  readonly b: string
  readonly n: number | null
  readonly i: number
  readonly ok: boolean
  readonly big: bigint
  readonly at: Date | null
  readonly tags: readonly string[]
}

const rowsOf = fc.array(
  fc.record<Row>(
    {
      a: fc.option(fc.constantFrom('x', 'ä', '')),
      b: fc.constantFrom('p', 'long text', 'q'),
      n: fc.option(fc.constantFrom(0, -0, 1.5, Number.NaN, 7)),
      i: fc.integer({ min: -3, max: 3 }),
      ok: fc.boolean(),
      big: fc.bigInt({ min: -5n, max: 5n }),
      at: fc.option(fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(1e12) })),
      tags: fc.array(fc.constantFrom('s', 't'), { maxLength: 2 }),
    },
    { noNullPrototype: true },
  ),
  { minLength: 1, maxLength: 12 },
)

const VALUES = {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is a program
  texts: ['r.a', 'r.b', "r.a ?? 'none'", "'c'", '`a${r.b}`', 'r.tags[0] ?? r.b'],
  numbers: ['r.n', 'r.i', 'r.i + 1', '1', 'r.b.length', 'r.i / 2', 'r.n ?? 0'],
  truths: ['r.ok', 'r.i > 0', '!r.ok'],
  others: ['r.big', 'r.at', 'null', 'r.tags', 'undefined'],
  /** These throw where the text is null. */
  throwing: ['r.a.length', 'r.a.toUpperCase()'],
} as const
const kinds = fc.constantFrom<readonly string[]>(VALUES.texts, VALUES.numbers, VALUES.truths, VALUES.others, VALUES.throwing, [
  ...VALUES.numbers,
  'null',
])

/** A list with a value of a kind for each name, or without names; now and then of other names. */
const functions = fc
  .record({
    kinds: fc.array(kinds, { minLength: 1, maxLength: 3 }),
    items: fc.integer({ min: 1, max: 3 }),
    form: fc.constantFrom('objects', 'objects', 'objects', 'scalars', 'other names'),
    draws: fc.array(fc.nat(), { minLength: 9, maxLength: 9 }),
  })
  .map(({ kinds: own, items, form, draws }) => {
    const value = (item: number, k: number): string => {
      const of = own[k % own.length] as readonly string[]
      return of[(draws[3 * item + k] as number) % of.length] as string
    }
    const texts = Array.from({ length: items }, (_, item) => {
      if (form === 'scalars') return value(item, 0)
      const fields = own.map((_, k) => `${form === 'other names' && item === 1 && k === 0 ? 'z' : 'kvw'[k]}: ${value(item, k)}`)
      return `{ ${fields.join(', ')} }`
    })
    return `(r) => [${texts.join(', ')}]`
  })

test('items that are written out are those of the list of each row', async () => {
  const counts = { made: 0, threw: 0 }
  await fc.assert(
    fc.asyncProperty(rowsOf, functions, async (rows, text) => {
      const f = new Function(`return ${text}`)() as (r: Row) => readonly unknown[]
      // a third of the tables have integers of 32 bits, and floats
      const columns = Object.fromEntries(Object.keys(rows[0] as Row).map((name) => [name, rows.map((row) => row[name as keyof Row])]))
      const i = rows.map((row) => row.i)
      const narrow = { ...columns, i: rows.length % 3 === 0 ? Int32Array.from(i) : Float32Array.from(i) }
      const table = (rows.length % 3 === 2 ? session.fromRows(rows) : session.fromColumns(narrow as never)) as DistArray<Row>
      // a list that is chosen is not written out
      const list = text.slice(text.indexOf('['))
      const through = new Function(`return (r) => r.b === 'never' ? ${list} : ${list}`)() as typeof f
      const items = await expectSameItems(
        () => table.flatMap(f),
        () => table.flatMap(through),
        text,
      )
      if (items === undefined) counts.threw++
      else {
        const isRows = text.includes('{')
        if (isRows || !text.includes('undefined')) expect(items).toHaveLength(rows.flatMap(f).length)
        counts.made++
      }
    }),
    { numRuns: lawRuns() },
  )
  if (lawRuns() >= 500) expect(Math.min(counts.made / 3, counts.threw)).toBeGreaterThan(lawRuns() / 30)
}, 600_000)
