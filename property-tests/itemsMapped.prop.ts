/**
 * Items that a function of `flatMap` maps from a list of its row, or from the parts of a text that is split, are computed as columns: values, their types and what is thrown are those
 * of the list that is made for each row.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type DistArray, Session } from '../src/index.ts'
import { expectSameItems } from './itemsOfRows.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('itemsMapped.prop.ts')

let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 1, progress: false })
})
afterAll(() => session.stop())

interface Row {
  readonly a: string | null
  readonly n: number | null
  readonly i: number
  readonly ok: boolean
  readonly tags: readonly (string | null)[]
  readonly xs: readonly number[]
  readonly parts: readonly { readonly k: string; readonly q: number | null }[]
  readonly maybe: readonly string[] | null
  readonly line: string
}

const rowsOf = fc.array(
  fc.record<Row>(
    {
      a: fc.option(fc.constantFrom('x', 'ä', '')),
      n: fc.option(fc.constantFrom(0, -0, 1.5, Number.NaN, 7)),
      i: fc.integer({ min: -3, max: 3 }),
      ok: fc.boolean(),
      tags: fc.array(fc.option(fc.constantFrom('s', 't', 'long text'), { freq: 6 }), { maxLength: 3 }),
      xs: fc.array(fc.constantFrom(0, -0, 2, 0.5, Number.NaN), { maxLength: 3 }),
      parts: fc.array(
        fc.record({ k: fc.constantFrom('p', 'q'), q: fc.option(fc.integer({ min: 0, max: 3 })) }, { noNullPrototype: true }),
        { maxLength: 2 },
      ),
      maybe: fc.option(fc.array(fc.constantFrom('m', 'o'), { maxLength: 2 }), { freq: 9 }),
      line: fc.array(fc.constantFrom('s', 'a', 'aa', 'ß', '😀', ', ', ' ', ''), { maxLength: 6 }).map((parts) => parts.join('')),
    },
    { noNullPrototype: true },
  ),
  { minLength: 1, maxLength: 12 },
)

/** Of each list what may be computed of an element `t` at index `j`: truths, single values, and such of another type. */
const LISTS = {
  tags: {
    tests: ["t !== 's'", 't', 'r.ok', 'j > 0', 't === r.a'],
    values: ['t', "t + '!'", 't ?? r.a', "t === 's' ? undefined : t", 'j', 'r.n', 'r.a'],
    throwing: ['t.length'],
  },
  xs: {
    tests: ['t > 0', 't', 'r.ok && j < 2', 't === r.n'],
    values: ['t', 't * 2', 't > 1 ? undefined : t', 't + j', 'r.i', 'r.i + t', 't > 1', 'r.a', 'String(t)'],
    throwing: [],
  },
  parts: {
    tests: ['t.q > 1', 't.q', "t.k === 'p'", 'r.ok'],
    values: ['t.k', 't.q', 't.q + j', 't.k + r.i', 'r.n', 't'],
    throwing: ['t.q.toFixed(1)'],
  },
  maybe: { tests: ["t === 'm'", 'r.ok'], values: ['t', 'r.i', 'j'], throwing: [] },
  words: {
    tests: ["t !== ''", 't', 'r.ok', 'j > 0', 't === r.a'],
    values: ['t', "t + '!'", 'j', 't.length', 'r.n', 'r.line'],
    throwing: [],
  },
} as const

/** A list, what filters and maps it, and the items: objects, single values or the elements themselves. */
const functions = fc
  .record({
    list: fc.constantFrom<keyof typeof LISTS>('tags', 'tags', 'xs', 'xs', 'parts', 'parts', 'maybe', 'words', 'words', 'words'),
    text: fc.constantFrom('r.line', 'r.line', 'r.line.trim()', 'r.a'),
    separator: fc.constantFrom(' ', ' ', ', ', 'a', 'aa', 'ß', '😀', '', 'none of these'),
    steps: fc.array(fc.constantFrom('filter', 'map'), { maxLength: 2 }),
    items: fc.constantFrom('objects', 'objects', 'objects', 'single', 'elements'),
    fields: fc.integer({ min: 1, max: 3 }),
    asked: fc.constantFrom('', '', '', 'r.i > 0', 'r.a', 'r.maybe !== null'),
    throws: fc.constantFrom(false, false, false, true),
    draws: fc.array(fc.nat(), { minLength: 9, maxLength: 9 }),
  })
  .map(({ list, text: split, separator, steps, items, fields, asked, throws, draws }) => {
    const { tests, values, throwing } = LISTS[list]
    let drawn = 0
    const oneOf = (texts: readonly string[]): string => texts[(draws[drawn++ % draws.length] as number) % texts.length] as string
    let text = list === 'words' ? `${split}.split('${separator}')` : `r.${list}`
    // what a map gives is no struct and no element any more
    let own: { readonly tests: readonly string[]; readonly values: readonly string[] } = {
      tests,
      values: throws ? [...values, ...throwing] : values,
    }
    for (const step of steps) {
      if (step === 'filter') text += `.filter((t, j) => ${oneOf(own.tests)})`
      else {
        text += `.map((t, j) => ${oneOf(own.values.filter((value) => value !== 't' || list !== 'parts'))})`
        own = { tests: ['t', "t !== 's'", 'j > 0', 't === undefined'], values: ['t', 'j', 'r.i', 'r.a'] }
      }
    }
    if (items === 'objects')
      text += `.map((t, j) => ({ ${Array.from({ length: fields }, (_, k) => `${'kvw'[k]}: ${oneOf(own.values)}`).join(', ')} }))`
    if (items === 'single') text += `.map((t, j) => ${oneOf(own.values)})`
    return { list: text, asked }
  })

/** An item as a table has it: undefined is null there. */
function stored(item: unknown): unknown {
  if (item === undefined) return null
  return typeof item === 'object' && item !== null
    ? Object.fromEntries(Object.entries(item).map(([name, value]) => [name, stored(value)]))
    : item
}

test('items that are mapped from a list are those of the list of each row', async () => {
  const counts = { made: 0, threw: 0 }
  await fc.assert(
    fc.asyncProperty(rowsOf, functions, fc.boolean(), async (rows, { list, asked }, isTurned) => {
      const made = (text: string): ((r: Row) => readonly unknown[]) =>
        new Function(`return (r) => ${text}`)() as (r: Row) => readonly unknown[]
      const f = made(asked === '' ? list : isTurned ? `!(${asked}) ? [] : ${list}` : `${asked} ? ${list} : []`)
      const table = session.fromRows(rows) as DistArray<Row>
      // a list that is chosen among others is made row after row
      const others = made(asked === '' ? `r.i === 9 ? [] : ${list}` : `${asked} ? ${list} : r.i === 9 ? [] : []`)
      const items = await expectSameItems(
        () => table.flatMap(f),
        () => table.flatMap(others),
        f.toString(),
      )
      if (items === undefined) counts.threw++
      else {
        expect(items).toEqual(rows.flatMap(f).map(stored))
        counts.made++
      }
    }),
    RUN,
  )
  console.log(`items mapped: ${JSON.stringify(counts)}`)
  if (RUN.numRuns >= 500) expect(Math.min(counts.made / 3, counts.threw)).toBeGreaterThan(RUN.numRuns / 50)
}, 600_000)
