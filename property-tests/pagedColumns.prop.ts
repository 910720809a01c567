/**
 * Laws: a column of numbers or of texts that kernels find in unpacked pages is the one that the decoder makes of the same file,
 * for pages of any cut, encoding, codec and version, and so are the answers of texts that got numbers from them; and where the file is damaged, the outcome is the decoder's: its error, or
 * what it reads. The kernel of indices does what a reader of one bit after another does, and writes nothing behind its values; that
 * of texts what a reader of one after another does. Bytes are copied into the arena wherever they begin.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Column, isValid } from '../src/core/data/column.ts'
import { valueReader } from '../src/core/data/columnReaders.ts'
import { FIXED_FORMS, isFixedKind } from '../src/core/data/fixedValues.ts'
import { fieldsOf } from '../src/core/data/schema.ts'
import { SourceError } from '../src/core/errors.ts'
import type { ArraySource, LogicalPlan } from '../src/core/plan/logicalPlan.ts'
import type { Access } from '../src/core/ports.ts'
import { numberKernels } from '../src/exec/kernels/tables/numberKernels.ts'
import { entriesKernel, MOST_PLACE_BITS, plainTextsKernel, READ_BEHIND } from '../src/exec/kernels/tables/pageKernels.ts'
import { ArenaScratch } from '../src/exec/memory/arenaScratch.ts'
import { pageKernels } from '../src/exec/tables/columns/pageValues.ts'
import { AnsweredTexts, askedTexts } from '../src/exec/tables/columns/texts/askedTexts.ts'
import { arenaKernel } from '../src/exec/tables/operators/arenaKernels.ts'
import { copyBytes } from '../src/exec/tables/operators/gather/copyBytes.ts'
import { loadArrow } from '../src/io/arrow/arrowLibrary.ts'
import { openParquet, readParquetSplit } from '../src/io/parquet.ts'
import { lowerFunction } from '../src/planner/function/userFunction.ts'
import { lawArena } from './lawArena.ts'
import { announcedRun } from './lawRuns.ts'
import { lowerMarked as lower } from './lowerMarked.ts'
import {
  CODEC,
  ENCODING,
  type HandColumn,
  handFile,
  levels,
  packedRun,
  page,
  repeatedRun,
  run as runOf,
  secondPage,
  snappyLiterals,
  TYPES,
} from './parquetFiles.ts'

const run = announcedRun('pagedColumns.prop.ts')
const folder = mkdtempSync(join(tmpdir(), 'distarray-paged-'))
beforeAll(loadArrow)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface Form {
  readonly type: number
  readonly converted?: number
  readonly digits?: HandColumn['digits']
  readonly value: fc.Arbitrary<number | bigint | string>
  readonly bytes: (value: never) => Uint8Array
  readonly read?: (value: never) => unknown
  readonly bigints?: true
  /** All pages name entries, mostly: others are the decoder's. */
  readonly named?: true
  /** There is no dictionary. */
  readonly plain?: true
}

const written = (length: number, write: (view: DataView) => void): Uint8Array => {
  const bytes = new Uint8Array(length)
  write(new DataView(bytes.buffer))
  return bytes
}
const int32 = (value: number) => written(4, (view) => view.setInt32(0, value, true))
const int64 = (value: bigint) => written(8, (view) => view.setBigInt64(0, value, true))
const small = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })
const near = fc.oneof(
  { weight: 12, arbitrary: fc.bigInt(-(10n ** 9n), 10n ** 9n) },
  { weight: 4, arbitrary: fc.bigInt(-(2n ** 53n) + 1n, 2n ** 53n - 1n) },
)
/** Now and then there is one that is no number. */
const nearOrFar = fc.oneof({ weight: 60, arbitrary: near }, { weight: 1, arbitrary: fc.constant(2n ** 60n) })
/** With the sign they would be numbers. */
const wholeOrFar = fc.oneof({ weight: 30, arbitrary: fc.bigInt(0n, 2n ** 53n - 1n) }, { weight: 1, arbitrary: fc.bigInt(-9n, -1n) })
const text = (value: string): Uint8Array => behindLength(Buffer.from(value))
const behindLength = (bytes: Uint8Array): Uint8Array => Buffer.concat([written(4, (view) => view.setUint32(0, bytes.length, true)), bytes])
const cents = fc.bigInt(-(10n ** 15n) + 1n, 10n ** 15n - 1n)

const FORMS: readonly Form[] = [
  { type: TYPES.int32, value: small, bytes: int32 },
  { type: TYPES.int32, converted: 13, value: small, bytes: int32, read: (value: number) => value >>> 0 },
  { type: TYPES.int32, converted: 6, value: fc.nat(30_000), bytes: int32, read: (value: number) => new Date(value * 86_400_000) },
  { type: TYPES.int32, converted: 15, value: fc.integer({ min: -128, max: 127 }), bytes: int32 },
  { type: TYPES.int32, converted: 5, digits: { scale: 2, precision: 9 }, value: small, bytes: int32, read: (value: number) => value / 100 },
  { type: TYPES.int64, value: nearOrFar, bytes: int64, read: Number },
  { type: TYPES.int64, value: fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n), bytes: int64, bigints: true },
  { type: TYPES.int64, converted: 14, value: wholeOrFar, bytes: int64, read: Number },
  {
    type: TYPES.int64,
    converted: 9,
    value: fc.bigInt(-(10n ** 12n), 10n ** 12n),
    bytes: int64,
    read: (value: bigint) => new Date(Number(value)),
  },
  {
    type: TYPES.int64,
    converted: 5,
    digits: { scale: 3, precision: 18 },
    value: cents,
    bytes: int64,
    read: (value: bigint) => Number(`${value}e-3`),
  },
  { type: TYPES.float, value: fc.float(), bytes: (value: number) => written(4, (view) => view.setFloat32(0, value, true)) },
  { type: TYPES.double, value: fc.double(), bytes: (value: number) => written(8, (view) => view.setFloat64(0, value, true)) },
  { type: TYPES.bytes, converted: 0, value: fc.string({ unit: 'binary', maxLength: 6 }), bytes: text, named: true },
  {
    ...{ type: TYPES.bytes, converted: 0, bytes: text, plain: true },
    value: fc.oneof(
      { weight: 3, arbitrary: fc.string({ unit: 'binary', maxLength: 6 }) },
      { arbitrary: fc.string({ maxLength: 300 }), weight: 1 },
    ),
  },
]

const drawnColumn = fc.record({
  form: fc.oneof(
    { weight: 3, arbitrary: fc.nat(FORMS.length - 1) },
    { weight: 2, arbitrary: fc.constantFrom(FORMS.length - 2, FORMS.length - 1) },
  ),
  pool: fc.array(fc.integer(), { minLength: 1, maxLength: 6 }),
  nullable: fc.constantFrom('no', 'no', 'one run', 'one run', 'packed', 'nulls'),
  version: fc.constantFrom(1, 1, 2),
  codec: fc.constantFrom('none', 'snappy', 'gzip', 'brotli') as fc.Arbitrary<'none' | 'snappy' | 'gzip' | 'brotli'>,
  isPacked: fc.boolean(),
  spareBits: fc.nat(3),
  /** Of each page: how many rows, whether it names entries, how its runs are cut. */
  pages: fc.array(fc.record({ rows: fc.nat(40), named: fc.boolean(), runs: fc.array(fc.nat(30), { minLength: 1, maxLength: 5 }) }), {
    minLength: 1,
    maxLength: 4,
  }),
  damage: fc.constantFrom('none', 'none', 'none', 'none', 'none', 'none', 'far index', 'cut', 'bits', 'byte', 'entry'),
  at: fc.nat(1_000_000),
})
type Drawn = typeof drawnColumn extends fc.Arbitrary<infer T> ? T : never

const cases = fc.array(drawnColumn, { minLength: 1, maxLength: 3 }).chain((columns) =>
  fc.record({
    columns: fc.constant(columns),
    values: fc.tuple(...columns.map(({ form }) => fc.array((FORMS[form] as Form).value, { minLength: 1, maxLength: 12 }))),
  }),
)

/** Indices as runs that are cut as was drawn. */
function hybrid(indices: readonly number[], bits: number, cuts: readonly number[]): Uint8Array {
  const parts: Uint8Array[] = []
  for (let at = 0, cut = 0; at < indices.length; cut++) {
    const wanted = 1 + (cuts[cut % cuts.length] as number)
    const first = indices[at] as number // at < length
    let same = 1
    while (same < wanted && indices[at + same] === first) same++
    const isRun = wanted % 3 === 0
    const length = isRun ? same : Math.min(indices.length - at, Math.ceil(wanted / 8) * 8)
    parts.push(isRun ? repeatedRun(length, first, bits) : packedRun(indices.slice(at, at + length), bits))
    at += length
  }
  return Buffer.concat(parts)
}

/** Texts behind their lengths, one of which is none: a byte is another one, the last has a byte too few, or two share a character. */
function oddTexts(entries: readonly Uint8Array[], where: number): readonly Uint8Array[] {
  const texts: Uint8Array[] = entries.map((entry) => Uint8Array.from(entry))
  const [last, some] = [texts.at(-1) as Uint8Array, texts[where % texts.length] as Uint8Array] // one or more
  if (where % 3 === 0) some[(where >> 4) % some.length] = where >> 8
  else if (where % 3 === 1 || texts.length === 1) last[0] = (last[0] as number) + 1
  else {
    const [i, halves] = [where % (texts.length - 1), Buffer.from('é')]
    const own = [texts[i], texts[i + 1]].map((entry) => (entry as Uint8Array).subarray(4)) // both are there
    texts.splice(i, 2, behindLength(Buffer.concat([own[0] as Uint8Array, halves.subarray(0, 1)])))
    texts.splice(i + 1, 0, behindLength(Buffer.concat([halves.subarray(1), own[1] as Uint8Array])))
  }
  return texts
}

function handColumn(
  drawn: Drawn,
  pool: readonly (number | bigint | string)[],
  rows: number,
  name: string,
): { readonly column: HandColumn; readonly values: readonly unknown[] } {
  const form = FORMS[drawn.form] as Form
  const { damage, at: where, codec } = drawn
  const pack = (bytes: Uint8Array): Uint8Array =>
    ({
      none: (b: Uint8Array) => b,
      snappy: snappyLiterals,
      gzip: (b: Uint8Array) => gzipSync(b),
      brotli: (b: Uint8Array) => brotliCompressSync(b),
    })[codec](bytes)
  const sound = pool.map((value) => form.bytes(value as never))
  const whole = damage === 'entry' && (form.named || form.plain) ? oddTexts(sound, where) : sound
  const entryBytes = Buffer.concat(whole)
  const bits = Math.min(MOST_PLACE_BITS + 2, Math.ceil(Math.log2(pool.length)) + drawn.spareBits)
  const dictionary = { values: pool.length, encoding: ENCODING.plain, uncompressed: entryBytes.length }
  const parts: Uint8Array[] = form.plain ? [] : [page('dictionary', pack(entryBytes), dictionary)]
  const values: unknown[] = []
  let row = 0
  const isNull = (at: number) => drawn.nullable === 'nulls' && at % 5 === 3
  for (let p = 0; row < rows; p++) {
    const { rows: wanted, named: drawnNamed, runs } = drawn.pages[p % drawn.pages.length] as Drawn['pages'][number]
    const named = form.plain !== true && (drawnNamed || (form.named === true && drawn.version === 1))
    const count = Math.min(rows - row, 1 + wanted)
    const all = Array.from({ length: count }, (_, i) => row + i)
    const present = all.filter((at) => !isNull(at))
    const index = (at: number) => Math.abs(drawn.pool[at % drawn.pool.length] as number) % pool.length
    for (const at of all) {
      const value = pool[index(at)] as number | bigint | string
      values.push(isNull(at) ? null : form.read === undefined ? value : form.read(value as never))
    }
    const indices = present.map(index)
    if (damage === 'far index' && indices.length > 0) indices[where % indices.length] = pool.length
    let body = named
      ? Buffer.concat([Uint8Array.from([damage === 'bits' ? where % 40 : bits]), hybrid(indices, bits, runs)])
      : Buffer.concat(present.map((at) => (form.plain ? (whole[index(at)] as Uint8Array) : form.bytes(pool[index(at)] as never))))
    if (damage === 'cut') body = body.subarray(0, Math.max(0, body.length - 1 - (where % 9)))
    if (damage === 'byte' && body.length > 0) body[where % body.length] = where >> 8
    const shown = all.map((at) => (isNull(at) ? 0 : 1))
    const level = drawn.nullable === 'one run' ? runOf(count, 1) : packedRun(shown, 1)
    const head = drawn.nullable === 'no' ? new Uint8Array() : drawn.version === 2 ? level : levels(level)
    const encoding = named ? ENCODING.dictionary : ENCODING.plain
    if (drawn.version === 2) {
      const isPacked = codec !== 'none' && drawn.isPacked
      const nulls = count - present.length
      parts.push(secondPage(head, isPacked ? pack(body) : body, { values: count, encoding, uncompressed: body.length, nulls, isPacked }))
    } else {
      const whole = Buffer.concat([head, body])
      parts.push(page('data', pack(whole), { values: count, encoding, uncompressed: whole.length }))
    }
    row += count
  }
  const { type, converted, digits } = form
  const column = { name, type, codec: CODEC[codec], repetition: drawn.nullable === 'no' ? 0 : 1, pages: Buffer.concat(parts) }
  return { column: { ...column, ...(converted !== undefined && { converted }), ...(digits && { digits }) }, values }
}

type Outcome = { readonly values: readonly (readonly unknown[])[] } | { readonly error: string }

async function outcomeOf(source: ArraySource, access: Access, read = shown): Promise<Outcome> {
  const [split] = source.splits
  if (split === undefined) return { values: [] }
  try {
    const [batch] = await readParquetSplit(
      source,
      split,
      fieldsOf(source.element).map(({ name }) => name),
      undefined,
      access,
    )
    return { values: batch?.columns.map((column) => read(column)) ?? [] }
  } catch (error) {
    if (error instanceof SourceError) return { error: error.message }
    throw error
  }
}

function shown(column: Column): readonly unknown[] {
  const { dictionary, values } = column
  const texts = dictionary && valueReader(dictionary)
  const read = texts === undefined ? valueReader(column) : (row: number) => texts(Number(values?.[row]))
  return Array.from({ length: column.length }, (_, i) => (isValid(column, i) ? read(i) : null))
}

test('numbers found in unpacked pages are those that the decoder reads', async () => {
  const counts = { found: 0, texts: 0, plain: 0, left: 0, refused: 0, damaged: 0 }
  const path = join(folder, 'a.parquet')
  await fc.assert(
    fc.asyncProperty(cases, fc.integer({ min: 1, max: 90 }), async ({ columns, values: pools }, rows) => {
      const made = columns.map((drawn, i) => handColumn(drawn, pools[i] as never, rows, `c${i}`))
      writeFileSync(
        path,
        handFile(
          made.map(({ column }) => column),
          { rows },
        ),
      )
      const int64 = columns.some(({ form }) => FORMS[form]?.bigints) ? 'bigint' : 'number'
      const source = await openParquet(path, { int64 })
      const arena = lawArena(2 ** 22)
      const kernels = pageKernels(arena, [])
      const places = fieldsOf(source.element).map(({ type }) => {
        const width = isFixedKind(type.kind) ? new FIXED_FORMS[type.kind].array(0).BYTES_PER_ELEMENT : 1
        return arena.view('u8', arena.allocate(width * rows, 'law'), width * rows) as Uint8Array
      })
      const decoded = await outcomeOf(source, { numbers: numberKernels, waits: true })
      const found = await outcomeOf(source, {
        ...{ numbers: numberKernels, into: (column: number) => places[column], dictionaries: true as const },
        ...(rows % 2 === 0 && { packed: new ArenaScratch(arena, READ_BEHIND) }),
        pages: {
          ...kernels,
          decode(parts, column) {
            const isFound = kernels.decode(parts, column)
            counts[!isFound ? 'left' : column.width === 1 ? 'texts' : 'found']++
            return isFound
          },
          texts(parts, pages) {
            const found = kernels.texts(parts, pages)
            counts[found === undefined ? 'left' : 'plain']++
            return found
          },
        },
      })
      // the decoder looks ahead of the last value of texts, and may complain of what is behind it
      const isBehind =
        'error' in decoded && decoded.error.includes('not enough data for RLE') && columns.some(({ damage }) => damage === 'byte')
      if (!isBehind || 'error' in found) expect(found).toStrictEqual(decoded)
      const isSound = columns.every(({ damage }) => damage === 'none')
      if (isSound && 'values' in found && int64 === 'number') expect(found.values).toStrictEqual(made.map(({ values }) => values))
      if ('error' in found) counts.refused++
      if (!isSound) counts.damaged++
    }),
    run,
  )
  console.log(`paged columns: ${JSON.stringify(counts)}`)
  if (run.numRuns >= 500)
    expect(Math.min(counts.found, counts.texts, counts.plain, counts.left * 5, counts.damaged)).toBeGreaterThan(run.numRuns * 0.1)
})

/** Questions about a text, of one or two others. */
const ASKED = {
  same: (a: string) => `r.s === ${a}`,
  other: (a: string) => `r.s !== ${a}`,
  'one of two': (a: string, b: string) => `r.s === ${a} || r.s === ${b}`,
  'in a list': (a: string, b: string) => `[${a}, ${b}, 'x'].includes(r.s)`,
  longer: () => "(r.s ?? '').length > 2",
  empty: () => "r.s === '' || r.s === null",
  containing: () => "(r.s ?? '').includes('e')",
} as const
const textForm = FORMS.findIndex(({ named }) => named)
const askedCase = fc.record({
  drawn: fc.record({ drawn: drawnColumn, isSound: fc.boolean() }).map(
    ({ drawn, isSound }): Drawn => ({
      ...{ ...drawn, form: textForm },
      ...(isSound && {
        damage: 'none',
        codec: drawn.codec === 'none' ? 'none' : 'snappy',
        pages: drawn.pages.map((one) => ({ ...one, named: true })),
      }),
    }),
  ),
  // what the empty text answers, null has to answer as well
  pool: fc.array(
    fc.oneof(
      { weight: 60, arbitrary: fc.string({ unit: 'binary', minLength: 1, maxLength: 6 }) },
      { weight: 1, arbitrary: fc.constant('') },
      { weight: 1, arbitrary: fc.constant('long '.repeat(30)) },
    ),
    { minLength: 1, maxLength: 12 },
  ),
  /** Entries beside these, of which some have indices of two bytes. */
  more: fc.constantFrom(0, 0, 0, 120, 250, 400),
  rows: fc.integer({ min: 1, max: 90 }),
  questions: fc.array(fc.tuple(fc.constantFrom(...(Object.keys(ASKED) as (keyof typeof ASKED)[])), fc.nat(4), fc.nat(14)), {
    minLength: 1,
    maxLength: 2,
  }),
})

test('rows have the numbers of the texts that the decoder reads', async () => {
  const counts = { numbered: 0, compared: 0, kept: 0, texts: 0, refused: 0, wide: 0 }
  const path = join(folder, 'asked.parquet')
  const arena = lawArena(2 ** 22)
  await fc.assert(
    fc.asyncProperty(askedCase, async ({ drawn, pool, more, rows, questions }) => {
      const entries = [...pool, ...Array.from({ length: more }, (_, i) => `entry ${i}`)]
      const { column, values } = handColumn(drawn, entries, rows, 's')
      writeFileSync(path, handFile([column], { rows }))
      const source = await openParquet(path)
      const constant = (i: number): string => JSON.stringify(entries[i] ?? 'nowhere')
      const tests = questions.map(([kind, a, b]) => new Function('r', `return ${ASKED[kind](constant(a), constant(b))}`)) as ((row: {
        readonly s: unknown
      }) => boolean)[]
      const plan = tests.reduce<LogicalPlan>(
        (input, ask) => {
          const { fn } = lowerFunction(ask as never, { kind: 'row', method: 'filter', inputs: [input.element] })
          return { kind: 'Filter', input, f: fn, element: input.element, keys: { kind: 'rowNumber' } }
        },
        { kind: 'Scan', source, columns: ['s'], element: source.element, keys: { kind: 'rowNumber' } },
      )
      const asked = askedTexts(lower({ kind: 'Project', input: plan, columns: [], element: plan.element, keys: plan.keys })).get('s')
      if (asked === undefined) return
      const held = arena.usedBytes
      const place = arena.allocate(rows, 'law')
      const out = arena.view('u8', place, rows) as Uint8Array
      const packed = new ArenaScratch(arena, READ_BEHIND)
      const numbers = new AnsweredTexts(asked)
      const access: Access = {
        ...{ numbers: numberKernels, into: () => out, dictionaries: true, pages: pageKernels(arena, []), packed },
        numbered: () => numbers,
      }
      const decoded = await outcomeOf(source, { numbers: numberKernels, waits: true })
      let isNumbered = false
      const answers = (texts: readonly unknown[]): unknown => tests.map((ask) => texts.map((s) => ask({ s })))
      const found = await outcomeOf(source, access, (made) => {
        isNumbered = made.dictionary === undefined && made.offsets === undefined
        return isNumbered ? Array.from(out, (number) => numbers.texts[number] ?? null) : shown(made)
      })
      packed.free()
      arena.free(place)
      expect(arena.usedBytes).toBe(held)
      if ('error' in decoded || 'error' in found) {
        const isBehind = 'error' in decoded && decoded.error.includes('not enough data for RLE') && drawn.damage === 'byte'
        if (!isBehind || 'error' in found) expect(found).toStrictEqual(decoded)
        counts.refused++
        return
      }
      expect(answers(found.values[0] ?? [])).toStrictEqual(answers(decoded.values[0] ?? []))
      if (drawn.damage === 'none') expect(answers(decoded.values[0] ?? [])).toStrictEqual(answers(values))
      counts[isNumbered ? 'numbered' : 'texts']++
      if (isNumbered && asked.compared !== undefined) counts.compared++
      if (isNumbered && entries.length > 256) counts.wide++
      if (out.some((number) => number !== 0)) counts.kept++
    }),
    run,
  )
  console.log(`numbered texts: ${JSON.stringify(counts)}`)
  const { numbered, compared, kept, texts, wide } = counts
  if (run.numRuns >= 500) expect(Math.min(numbered, compared, kept, texts, 2 * wide)).toBeGreaterThan(run.numRuns * 0.1)
})

const indexCase = fc.record({
  bits: fc.integer({ min: 0, max: MOST_PLACE_BITS }),
  entries: fc.oneof(
    { weight: 4, arbitrary: fc.integer({ min: 1, max: 300 }) },
    { weight: 1, arbitrary: fc.integer({ min: 60_000, max: 300_000 }) },
  ),
  // of few values no sixteen would lie side by side
  raw: fc.array(fc.nat(2 ** 29), { minLength: 1, maxLength: 200, size: 'max' }),
  cuts: fc.array(fc.nat(30), { minLength: 1, maxLength: 6 }),
  written: fc.constantFrom('index' as const, 'is' as const, 0 as const, 2 as const, 3 as const),
  odd: fc.constantFrom('no', 'no', 'no', 'far', 'short', 'none'),
})

test('indices of any number of bits name the entries that they are the numbers of', () => {
  const arena = lawArena(2 ** 23)
  const counts = { sound: 0, odd: 0 }
  fc.assert(
    fc.property(indexCase, ({ bits, entries: drawn, raw: some, cuts: drawnCuts, written, odd }) => {
      const isByte = written === 'index' || written === 'is'
      const log2 = isByte ? 0 : written
      // without entries sixteen values side by side, which nothing looks at one by one
      const [raw, cuts] = odd === 'none' ? [Array.from({ length: 16 }, (_, i) => some[i % some.length] as number), [15]] : [some, drawnCuts]
      const entries = isByte ? 1 + (drawn % 256) : drawn
      const one = drawn % entries
      const most = Math.min(entries, 2 ** bits)
      const isFar = odd === 'far' && 2 ** bits > entries
      const indices = raw.map((index, i) => (isFar && i === raw.length >> 1 ? entries : index % most))
      const bytes = hybrid(indices, bits, cuts)
      // all of the last group may be padding, but not the last value
      const lastBits = odd === 'short' && bits > 0 ? bytes.length - 1 - Math.floor((7 * bits) / 8) : bytes.length
      const kernel = arenaKernel(arena, `law ${written}`, () => entriesKernel(written))
      const width = 2 ** log2
      const [source, dictionary, out] = [bytes.length + READ_BEHIND, entries * width, (indices.length + 1) * width].map((size) =>
        arena.allocate(size, 'law'),
      ) as [number, number, number]
      try {
        ;(arena.view('u8', source, bytes.length) as Uint8Array).set(bytes)
        const dtype = ({ 0: 'u8', 2: 'i32', 3: 'f64' } as const)[log2]
        const values = arena.view(dtype, dictionary, entries) as Float64Array | Int32Array | Uint8Array
        const nameOf = (index: number) =>
          written === 'index' ? index : written === 'is' ? Number(index === one) * 201 : log2 === 0 ? (index * 3 + 1) % 256 : index * 3 + 1
        for (let i = 0; i < entries; i++) values[i] = nameOf(i)
        const to = arena.view(dtype, out, indices.length + 1) as Float64Array | Int32Array
        to[indices.length] = 77
        const known = odd === 'none' ? 0 : entries
        const start = () => kernel(source, Math.max(0, lastBits), bits, indices.length, known, dictionary, out, one | (201 << 8))
        if (isFar || lastBits < bytes.length || known === 0) {
          counts.odd++
          expect(start).toThrow(WebAssembly.RuntimeError)
        } else {
          counts.sound++
          start()
          expect([...to]).toStrictEqual([...indices.map(nameOf), 77])
        }
        expect(to[indices.length]).toBe(77)
      } finally {
        for (const block of [source, dictionary, out]) arena.free(block)
      }
    }),
    run,
  )
  if (run.numRuns >= 500) expect(Math.min(counts.sound, counts.odd)).toBeGreaterThan(run.numRuns * 0.05)
})

const textCase = fc.record({
  // what is read too far shows where it is longer than what may be written behind the last one, and so do the lengths of many texts
  texts: fc.oneof(
    fc.array(fc.uint8Array({ maxLength: 200, size: 'max' }), { minLength: 1, maxLength: 6 }),
    fc.array(fc.uint8Array({ maxLength: 3 }), { minLength: 1, maxLength: 90, size: 'max' }),
  ),
  odd: fc.constantFrom('no', 'no', 'no', 'cut', 'behind', 'length', 'all'),
  at: fc.nat(1_000),
})

/** One text after another, as they are behind their lengths; undefined where they are not, or one begins in the middle of a character. */
function textsBehindLengths(bytes: Uint8Array, count: number): readonly Uint8Array[] | undefined {
  const texts: Uint8Array[] = []
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  let at = 0
  for (let i = 0; i < count; i++) {
    if (at + 4 > bytes.length) return undefined
    const own = bytes.subarray(at + 4, at + 4 + view.getUint32(at, true))
    if (own.length !== view.getUint32(at, true) || (own.length > 0 && (own[0] as number) >> 6 === 2)) return undefined
    texts.push(own)
    at += 4 + own.length
  }
  return at === bytes.length ? texts : undefined
}

test('texts behind their lengths are put end to end, or the kernel traps, and writes nothing elsewhere', () => {
  const arena = lawArena(2 ** 20)
  const counts = { sound: 0, odd: 0 }
  const [before, guard] = [3, 4096]
  fc.assert(
    fc.property(textCase, ({ texts, odd, at }) => {
      const whole = Uint8Array.from(Buffer.concat(texts.map(behindLength)))
      if (odd === 'length') whole[at % whole.length] = at >> 2
      if (odd === 'all') new DataView(whole.buffer).setUint32(0, whole.length - 4, true) // the first has all that comes behind it
      const bytes = odd === 'cut' ? whole.subarray(0, at % whole.length) : odd === 'behind' ? Uint8Array.from([...whole, at]) : whole
      const wanted = textsBehindLengths(bytes, texts.length)
      const size = before + Math.max(0, bytes.length - 4 * texts.length) + READ_BEHIND
      const blocks = [bytes.length + READ_BEHIND, 4 * texts.length, size + guard].map((length) => arena.allocate(length, 'law'))
      const [source, ends, out] = blocks as [number, number, number]
      try {
        // more than there is room for, where it is taken for a length
        ;(arena.view('u8', source, bytes.length + READ_BEHIND) as Uint8Array).fill(1).set(bytes)
        const written = (arena.view('u8', out, size + guard) as Uint8Array).fill(7)
        const start = () => arenaKernel(arena, 'law texts', plainTextsKernel)(source, bytes.length, texts.length, ends, out, before)
        if (wanted === undefined) {
          counts.odd++
          expect(start).toThrow(WebAssembly.RuntimeError)
        } else {
          counts.sound++
          start()
          const found = Array.from(arena.view('i32', ends, texts.length) as Int32Array)
          expect(found.map((end, i) => [...written.subarray(found[i - 1] ?? before, end)])).toStrictEqual(wanted.map((text) => [...text]))
        }
        expect([...written.subarray(0, before), ...written.subarray(size)].every((byte) => byte === 7)).toBe(true)
      } finally {
        for (const block of blocks) arena.free(block)
      }
    }),
    run,
  )
  if (run.numRuns >= 500) expect(Math.min(counts.sound, counts.odd)).toBeGreaterThan(run.numRuns * 0.1)
})

test('bytes are copied into the arena wherever they begin', () => {
  const arena = lawArena(2 ** 22)
  const room = 2 ** 19
  const [own, out] = [arena.allocate(room, 'law'), arena.allocate(room, 'law')]
  const bytes = Uint8Array.from({ length: room }, (_, i) => (i * 2654435761) >>> 13)
  ;(arena.view('u8', own, room) as Uint8Array).set(bytes)
  const length = fc.oneof({ weight: 9, arbitrary: fc.nat(600) }, { weight: 1, arbitrary: fc.integer({ min: 130_000, max: 400_000 }) })
  fc.assert(
    fc.property(fc.nat(40), fc.nat(40), length, fc.boolean(), (from, to, length, isOwn) => {
      const source = isOwn ? (arena.view('u8', own + from, length) as Uint8Array) : bytes.subarray(from, from + length)
      const target = arena.view('u8', out, to + length + 20) as Uint8Array
      target.fill(5)
      copyBytes(arena, source, target.subarray(to, to + length))
      const wanted = new Uint8Array(target.length).fill(5)
      wanted.set(bytes.subarray(from, from + length), to)
      expect(Buffer.compare(target, wanted)).toBe(0)
    }),
    run,
  )
})
