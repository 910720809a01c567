/**
 * Values that are put into a column come out of it: objects of any fields in any order, texts that come again or differ in one
 * letter alone, read in any order and as often as one likes.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { columnFromValues } from '../src/core/data/columnBuilder.ts'
import { rowReader, valueReader } from '../src/core/data/columnReaders.ts'
import { announcedRun } from './lawRuns.ts'

const run = announcedRun('valueReaders.prop.ts')

const LETTERS = fc.constantFrom('a', 'b', 'ü', '\u{1f600}', 'ß', ' ')
const TEXTS = fc.oneof(
  fc.string({ unit: LETTERS, maxLength: 3 }),
  fc.string({ unit: LETTERS, minLength: 30, maxLength: 40 }),
  fc.tuple(fc.constantFrom('ab', 'über'), LETTERS, fc.constantFrom('xyz', '')).map((parts) => parts.join('')),
)
/** Many texts, of which some have one place among those kept; or few that come again. */
const TABLES = fc.oneof(
  fc.array(TEXTS, { minLength: 1, maxLength: 80, size: 'max' }),
  fc
    .array(TEXTS, { minLength: 1, maxLength: 12 })
    .chain((pool) => fc.array(fc.constantFrom(...pool), { minLength: 1, maxLength: 60, size: 'max' })),
)

test('texts are read as they were written, in any order', () => {
  const seen = { tables: 0, wide: 0, again: 0 }
  fc.assert(
    fc.property(TABLES, fc.array(fc.nat(), { maxLength: 200 }), (texts, order) => {
      const read = valueReader(columnFromValues(texts, { kind: 'utf8' }))
      for (const at of [...texts.keys(), ...order]) expect(read(at % texts.length)).toBe(texts[at % texts.length])
      seen.tables++
      if (/[^ab ]/.test(texts.join(''))) seen.wide++
      if (new Set(texts).size < texts.length) seen.again++
    }),
    run,
  )
  console.log(`texts read: ${JSON.stringify(seen)}`)
  if ((run.numRuns ?? 0) >= 500) expect(Math.min(seen.wide, seen.again)).toBeGreaterThan(seen.tables / 3)
}, 120_000)

const NAMES = ['a', 'b', 'with space', '0', '7', '__proto__', 'constructor', 'quo"te', 'line\u2028end', 'ü']
/** An object with a property of its own for each name, as JSON.parse makes them. */
const objectOf = (entries: readonly (readonly [string, unknown])[]): object => {
  const object = {}
  for (const [name, value] of entries) Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true })
  return object
}
const MANY = Array.from({ length: 101 }, (_, i) => [`many ${i}`, i] as const)
const OBJECTS = fc
  .array(fc.tuple(fc.shuffledSubarray(NAMES), fc.array(fc.option(fc.nat({ max: 9 }), { freq: 4 }), { minLength: 10, maxLength: 10 })), {
    minLength: 1,
    maxLength: 6,
  })
  .chain((some) => {
    const shapes = some.map(([names, values]) => names.map((name, i) => [name, values[i] ?? null] as const))
    // most objects of a table have the fields of the one before; those of a few tables have very many
    return fc
      .tuple(fc.array(fc.constantFrom(...shapes), { minLength: 1, maxLength: 12 }), fc.nat({ max: 9 }))
      .map(([drawn, nth]) => drawn.map((entries) => objectOf(nth === 0 ? [...MANY, ...entries] : entries)))
  })

test('objects are read with the fields of all of them', () => {
  const seen = { tables: 0, alike: 0, odd: 0 }
  fc.assert(
    fc.property(OBJECTS, (objects) => {
      const names = [...new Set(objects.flatMap((object) => Object.keys(object)))]
      const expected = objects.map((object) =>
        objectOf(names.map((name) => [name, Object.hasOwn(object, name) ? object[name as never] : null])),
      )
      const column = columnFromValues(objects)
      if (column.type.kind !== 'struct') throw new Error('not of objects')
      const read = valueReader(column)
      const row = rowReader({ element: { kind: 'row', fields: column.type.fields }, length: column.length, columns: column.children ?? [] })
      for (const [i, object] of expected.entries()) {
        expect(entriesOf(read(i))).toEqual(entriesOf(object))
        expect(entriesOf(row(i))).toEqual(entriesOf(object))
        expect(Object.getPrototypeOf(row(i))).toBe(Object.prototype)
      }
      seen.tables++
      if (objects.some((object, i) => i > 0 && Object.keys(object).join() === Object.keys(objects[i - 1] ?? {}).join())) seen.alike++
      if (names.includes('__proto__')) seen.odd++
    }),
    run,
  )
  console.log(`objects read: ${JSON.stringify(seen)}`)
  if ((run.numRuns ?? 0) >= 500) expect(Math.min(seen.alike, seen.odd)).toBeGreaterThan(seen.tables / 4)
}, 120_000)

/** The fields of an object in order, since toEqual takes __proto__ for no field. */
function entriesOf(object: unknown): readonly (readonly [string, unknown])[] {
  return Object.entries(object as object)
}
