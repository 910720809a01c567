/**
 * Lines of NDJSON, however they are written, have the values that `JSON.parse` gives: fields in any order, names and texts with
 * escapes, names that come twice, numbers in every form, blanks. What is no JSON is an error that names the line.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { jsonText, parseLine } from '../src/io/json/parseLine.ts'
import { Session } from '../src/session/session.ts'
import { announcedRun } from './lawRuns.ts'

const run = announcedRun('ndjsonLines.prop.ts')
const LIMIT_MS = 300_000
const folder = mkdtempSync(join(tmpdir(), 'distarray-lines-'))
let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 1, memory: '64MB' })
})
afterAll(async () => {
  await session.stop()
  rmSync(folder, { recursive: true })
})

/** What stands at a place of all lines. */
type Shape =
  | { readonly kind: 'bool' | 'text' | 'number' | 'integer' }
  | { readonly kind: 'list'; readonly item: Shape }
  | { readonly kind: 'object'; readonly fields: Readonly<Record<string, Shape>> }

const NAMES = ['id', 'a', 'ab', 'long name', 'ü', 'a"b', 'back\\slash', 'x']
const fieldsOf = (value: fc.Arbitrary<Shape>): fc.Arbitrary<Shape> =>
  fc
    .dictionary(fc.constantFrom(...NAMES), value, { minKeys: 1, maxKeys: 4, noNullPrototype: true })
    .map((fields) => ({ kind: 'object', fields }))
const SHAPES = fc.letrec<{ any: Shape }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    { weight: 4, arbitrary: fc.constantFrom('bool', 'text', 'number', 'integer').map((kind): Shape => ({ kind })) },
    { weight: 1, arbitrary: tie('any').map((item): Shape => ({ kind: 'list', item })) },
    { weight: 1, arbitrary: fieldsOf(tie('any')) },
  ),
}))

const BLANKS = fc.constantFrom('', '', '', ' ', '\t ')
const LETTERS = [
  'a',
  'Z',
  'ü',
  '\u{1f600}',
  '\\n',
  '\\"',
  '\\\\',
  '\\/',
  '\\u00fc',
  '\\ud83d\\ude00',
  ' ',
  '1234567890123456',
  '{',
  ']',
  ',',
]
const NUMBERS = ['0', '-0', '1', '-7', '1.0', '0.1', '1e2', '1E-3', '1.5e+10', '123456789012345', '0.1234567890123456', '-2.5', '5e-324']
const MORE_NUMBERS = [
  '9007199254740993.0',
  '1234567890123456e-3',
  '0.000001',
  '18446744073709551616',
  '123456789.123456',
  '3.0000000000000004e-300',
]
const INTEGERS = ['1', '-5', '-0', '10.0', '1e3', '1000000000000000', '9007199254740993', '-9007199254740995', '9223372036854775807']

/** A value of a shape as text. */
function textsOf(shape: Shape): fc.Arbitrary<string> {
  switch (shape.kind) {
    case 'bool':
      return fc.constantFrom('true', 'false')
    case 'text':
      return fc.array(fc.constantFrom(...LETTERS), { maxLength: 4 }).map((letters) => `"${letters.join('')}"`)
    case 'number':
      return fc.oneof(
        fc.constantFrom(...NUMBERS, ...MORE_NUMBERS),
        fc
          .double({ noNaN: true, noDefaultInfinity: true })
          .map((n) => JSON.stringify(n))
          .filter((number) => !/^-?\d{16,}$/.test(number)),
      )
    case 'integer':
      return fc.constantFrom(...INTEGERS)
    case 'list':
      return fc
        .tuple(fc.array(orNull(textsOf(shape.item)), { maxLength: 3 }), BLANKS)
        .map(([items, blank]) => `[${blank}${items.join(`${blank},`)}${blank}]`)
    case 'object':
      return objectTexts(shape.fields)
  }
}

const orNull = (texts: fc.Arbitrary<string>): fc.Arbitrary<string> => fc.option(texts, { freq: 6, nil: 'null' })
/** A name as JSON has it, or with an escape that it does not need. */
const nameTexts = (name: string): fc.Arbitrary<string> =>
  fc.boolean().map((escaped) => (escaped && name === 'id' ? '"\\u0069d"' : JSON.stringify(name)))

/** Some of the fields, in any order; now and then one of them twice. */
function objectTexts(fields: Readonly<Record<string, Shape>>): fc.Arbitrary<string> {
  const names = Object.keys(fields)
  const usual = fc.constant(names)
  const some = fc.tuple(fc.shuffledSubarray(names), fc.option(fc.constantFrom(...names), { freq: 3 }))
  const picked = fc.oneof(
    { weight: 3, arbitrary: usual },
    { weight: 2, arbitrary: some.map(([own, twice]) => (twice === null ? own : [...own, twice])) },
  )
  return fc.tuple(picked, BLANKS).chain(([own, blank]) =>
    fc
      .tuple(...own.map((name) => fc.tuple(nameTexts(name), orNull(textsOf(fields[name] as Shape))))) // one of the names
      .map(
        (entries) => `{${blank}${entries.map(([name, value]) => `${name}${blank}:${blank}${value}`).join(`${blank},${blank}`)}${blank}}`,
      ),
  )
}

const TABLES = fieldsOf(SHAPES.any).chain((shape) =>
  fc.tuple(fc.constant(shape), fc.array(textsOf(shape), { minLength: 1, maxLength: 10 })),
)

test(
  'NDJSON has the values that JSON.parse gives',
  async () => {
    const seen = { tables: 0, wide: 0, nested: 0, wrong: 0 }
    const BROKEN = fc.oneof(
      { weight: 3, arbitrary: fc.constant(null) },
      { weight: 1, arbitrary: fc.record({ at: fc.nat({ max: 400 }), byte: fc.constantFrom(...'{}[]",:\\01e.-tn \u0001u\n') }) },
    )
    await fc.assert(
      fc.asyncProperty(
        TABLES,
        fc.constantFrom('\n', '\r\n', '\n \n'),
        BROKEN,
        fc.boolean(),
        async ([shape, lines], end, broken, asJson) => {
          const path = join(folder, 'rows.jsonl')
          let text = lines.map((line) => line + end).join('')
          if (broken !== null) {
            const at = broken.at % text.length
            text = text.slice(0, at) + broken.byte + text.slice(at + 1)
          }
          writeFileSync(path, text)
          seen.tables++
          const all = text.split('\n')
          const wrong = all.findIndex((line) => line.trim() !== '' && !isObject(parseLine(line)))
          if (wrong >= 0 || (broken !== null && text !== lines.map((line) => line + end).join(''))) {
            seen.wrong++
            const opened = session.readNdjson<object>(path)
            // what is JSON still has fields or kinds of its own, of which other laws speak
            if (wrong < 0) await opened.then((table) => table.count()).catch(() => undefined)
            else await expect(opened).rejects.toThrow(`line ${wrong + 1}: `)
            return
          }
          const values = lines.map((line) => parseLine(line) as Record<string, unknown>)
          const [name = ''] = Object.keys(values.find((value) => Object.keys(value).length > 0) ?? {})
          if (name === '') return
          const table = await session.readNdjson<object>(path, asJson ? { types: { [name]: 'json' } } : {})
          const places = new Places()
          for (const value of values) places.look(shape, value)
          const expected = values.map((value) => places.stored(shape, value) as Record<string, unknown>)
          if (asJson)
            for (const [i, value] of values.entries())
              expected[i] = { ...expected[i], [name]: (value[name] ?? null) === null ? null : jsonText(value[name]) }
          const rows = await table.collect()
          expect(rows).toEqual(expected)
          expect(await table.count()).toBe(lines.length)
          // one column alone, the others passed over
          expect(await table.map((row) => row[name as never]).collect()).toEqual(expected.map((row) => row[name]))
          if (places.wide.size > 0) seen.wide++
          if (lines.some((line) => /[[{]/.test(line.slice(1)))) seen.nested++
        },
      ),
      run,
    )
    console.log(`Lines of NDJSON: ${JSON.stringify(seen)}`)
    if ((run.numRuns ?? 0) >= 500) expect(Math.min(seen.wide, seen.nested, seen.wrong)).toBeGreaterThan(seen.tables / 20)
  },
  LIMIT_MS,
)

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** What stands at the places of a shape in all lines: integers that no number is, and fields that some line has. */
class Places {
  readonly wide: Set<Shape> = new Set()
  private readonly fields = new Map<Shape, Set<string>>()

  look(shape: Shape, value: unknown): void {
    if (value === null || value === undefined) return
    if (typeof value === 'bigint') this.wide.add(shape)
    if (shape.kind === 'list') for (const item of value as readonly unknown[]) this.look(shape.item, item)
    if (shape.kind !== 'object') return
    const known = this.fields.get(shape) ?? new Set()
    this.fields.set(shape, known)
    for (const [name, one] of Object.entries(value)) {
      known.add(name)
      this.look(shape.fields[name] as Shape, one)
    }
  }

  stored(shape: Shape, value: unknown): unknown {
    if (value === null || value === undefined) return null
    if (this.wide.has(shape)) return BigInt(value as number)
    if (shape.kind === 'list') return (value as readonly unknown[]).map((item) => this.stored(shape.item, item))
    if (shape.kind !== 'object') return value
    const record = value as Readonly<Record<string, unknown>>
    return Object.fromEntries(
      [...(this.fields.get(shape) ?? [])].map((name) => [name, this.stored(shape.fields[name] as Shape, record[name])]),
    )
  }
}
