/**
 * Law: texts that came as places in a dictionary for each split are, put together, the texts that they stand for, and have the
 * codes that looking at each text would give; and texts that came as they are, or were encoded as they were read, may lie between them.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Column, isValid } from '../src/core/data/column.ts'
import { columnFromValues } from '../src/core/data/columnBuilder.ts'
import { valueReader } from '../src/core/data/columnReaders.ts'
import { mapBuffers } from '../src/exec/memory/shareColumns.ts'
import { nullsPlaced, place, textBytes } from '../src/exec/tables/columns/loadTask.ts'
import { ResultBlocks } from '../src/exec/tables/columns/resultBlocks.ts'
import { encodedTexts } from '../src/exec/tables/columns/texts/encodedTexts.ts'
import { countedTexts, mergedCodes } from '../src/exec/tables/columns/texts/loadedTexts.ts'
import { codesOfUnspelled, isUnspelled, spelled, spelledBytes, unspelled } from '../src/exec/tables/columns/texts/spelledTexts.ts'
import { codeColumn, codeOf, codesOf, codeTexts, decoded, emptyCodes } from '../src/exec/tables/columns/texts/textCodes.ts'
import { lawArena } from './lawArena.ts'
import { announcedRun } from './lawRuns.ts'

const run = announcedRun('loadedTexts.prop.ts')
const TEXT = { kind: 'utf8' } as const

/** What no text is: an index behind the texts is null. */
const words = fc.uniqueArray(fc.string({ unit: 'binary', maxLength: 20 }), { minLength: 1, maxLength: 12 })
const split = fc.record({
  /** Which of all texts the dictionary has, in an order of its own; a text may be there twice. */
  entries: fc.array(fc.nat(11), { minLength: 1, maxLength: 14 }),
  rows: fc.array(fc.nat(15), { minLength: 1, maxLength: 40 }),
  /** How often the rows come again: strides of a kernel end within some splits. */
  times: fc.oneof({ weight: 6, arbitrary: fc.constant(1) }, { weight: 1, arbitrary: fc.constant(1_700) }),
  kind: fc.constantFrom('dictionary', 'dictionary', 'dictionary', 'dictionary', 'encoded', 'encoded', 'plain'),
  /** The different endings of texts of no dictionary, which go round, and the rows that each has. With 256 there is one text before them. */
  endings: fc.constantFrom(1, 1, 200, 256, 300, 3_000, 30_000, 30_000),
  each: fc.constantFrom(1, 1, 197, 397),
  /** Places are a byte each, and lie where codes of a byte would. */
  bytes: fc.boolean(),
})

test('texts of dictionaries are those that they stand for, with the codes that these would get', async () => {
  const counts = { coded: 0, plain: 0, encoded: 0, wide: 0, tooMany: 0, nulls: 0, rows: 0 }
  await fc.assert(
    fc.asyncProperty(words, fc.array(split, { minLength: 1, maxLength: 4 }), async (texts, splits) => {
      const arena = lawArena(2 ** 26)
      const inArena = (column: Column): Column =>
        mapBuffers(column, (buffer) => {
          const copy = like(buffer, buffer.length)
          copy.set(buffer as never) // of one class
          return copy
        })
      const like = <B extends NonNullable<Column['values']>>(buffer: B, length: number): B => {
        const bytes = arena.view('u8', arena.reserve(length * buffer.BYTES_PER_ELEMENT, 'law'), length * buffer.BYTES_PER_ELEMENT)
        const Like = buffer.constructor as new (memory: ArrayBufferLike, at: number, length: number) => B // its own class
        return new Like(bytes.buffer, bytes.byteOffset, length)
      }
      const parts = splits.map(({ entries, rows, times, kind, endings, each, bytes }) => {
        const own = entries.map((entry) => texts[entry % texts.length] as string)
        const places = Array.from({ length: rows.length * times }, (_, i) => (rows[i % rows.length] as number) % (bytes ? own.length : 16))
        const bare = places.map((at) => own[at] ?? null)
        const hasEndings = kind !== 'dictionary' && endings > 1
        const before = (text: string): string => (endings === 256 ? '' : text)
        const values = hasEndings
          ? bare.map((text, i) => (text === null ? null : `${before(text)}${Math.floor(i / each) % endings}`))
          : bare
        if (kind === 'plain') return { values, column: columnFromValues(values, TEXT), coded: undefined }
        if (kind === 'encoded') {
          const column = columnFromValues(values, TEXT)
          const encoded = encodedTexts(column, new Uint8Array(values.length), arena)
          const different = new Set(values.filter((value) => value !== null)).size
          const isFew = different <= Math.max(256, Math.floor(values.length / 8))
          expect(encoded !== undefined, `${different} texts in ${values.length} rows`).toBe(isFew)
          if (encoded === undefined) counts.tooMany++
          else counts[encoded.values instanceof Uint8Array ? 'encoded' : 'wide']++
          return encoded === undefined ? { values, column, coded: undefined } : { values, ...countedTexts(encoded) }
        }
        const known = places.map((at) => (at < own.length ? at : 0)) // nulls have any place
        const indices = bytes ? Uint8Array.from(known) : Int32Array.from(known)
        const { validity } = columnFromValues(values, TEXT)
        const read = {
          type: TEXT,
          length: values.length,
          values: indices,
          dictionary: columnFromValues(own, TEXT),
          ...(validity && { validity }),
        }
        return { values, ...countedTexts(read) }
      })
      const all = parts.flatMap(({ values }) => values)
      let firstRow = 0
      const begun = parts.map((part) => {
        const first = firstRow
        firstRow += part.values.length
        return { ...part, firstRow: first }
      })
      const coded = begun.flatMap(({ column: { dictionary }, coded, firstRow }) =>
        dictionary && coded ? [{ dictionary, coded, firstRow }] : [],
      )
      const merged = coded.length < parts.length ? undefined : mergedCodes(coded, all.length)
      const { validity } = columnFromValues(all, TEXT)
      const blocks = new ResultBlocks(arena, 'law')
      const bytesOf = (column: Column): number => (column.dictionary === undefined ? textBytes(column) : spelledBytes(column))
      const bytes = parts.reduce((sum, { column }) => sum + bytesOf(column), 0)
      const codes = like(emptyCodes(merged?.firsts.length ?? 0), all.length)
      const found = merged && unspelled(codes, merged.texts, blocks)
      const isThere = codes instanceof Uint8Array && merged !== undefined
      const whole = found?.column ?? {
        ...{ type: TEXT, length: all.length, offsets: like(new Int32Array(), all.length + 1).fill(0, 0, 1) },
        values: like(new Uint8Array(), bytes),
      }
      let firstByte = 0
      for (const [p, { column, firstRow }] of begun.entries()) {
        const places = merged?.maps[p]
        const lies = (values: Column['values']) => isThere && values instanceof Uint8Array && column.dictionary !== undefined
        const part = lies(column.values) ? { ...column, values: codes.subarray(firstRow, firstRow + column.length) } : inArena(column)
        if (lies(column.values)) part.values?.set(column.values as never) // of one class
        place({ part, whole, firstRow, firstByte, ...(places && { places }) }, arena)
        firstByte += bytesOf(column)
      }
      const column = { ...whole, ...(validity && { validity: inArena({ type: TEXT, length: 0, values: validity }).values as Uint8Array }) }
      const text = isUnspelled(column)
        ? await spelled(column, blocks, async (placed) => placed.forEach((one) => void place(one, arena)), 16)
        : inArena(column)
      const read = valueReader(text)
      expect(all.map((_, i) => read(i))).toStrictEqual(all)
      codeTexts(text, arena)
      const looked = codesOf(text)
      if (merged !== undefined && found !== undefined && looked !== undefined) {
        const own = codesOfUnspelled(column, merged.firsts, found.texts)
        expect([...own.firsts]).toStrictEqual([...looked.firsts])
        expect(all.map((value, i) => (value === null ? 0 : own.codes[i]))).toStrictEqual([...looked.codes])
        expect(texts.map((one) => codeOf(one, column, own))).toStrictEqual(texts.map((one) => codeOf(one, text, looked)))
        const back = valueReader(decoded(codeColumn(column, own), column, own))
        expect(all.map((_, i) => back(i))).toStrictEqual(all)
      }
      counts[merged === undefined ? 'plain' : 'coded']++
      if (all.includes(null)) counts.nulls++
      counts.rows += all.length
    }),
    run,
  )
  console.log(`loaded texts: ${JSON.stringify(counts)}`)
  if (run.numRuns >= 500) expect(Math.min(counts.coded, counts.plain, counts.encoded, counts.nulls)).toBeGreaterThan(run.numRuns * 0.05)
  if (run.numRuns >= 1_000) expect(Math.min(counts.wide, counts.tooMany)).toBeGreaterThan(0)
})

test('bits of what is there are put where the rows of each part go, and what is not there is counted', () => {
  const part = fc.record({ length: fc.integer({ min: 0, max: 40 }), nulls: fc.constantFrom('none', 'none', 'some') })
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 6 }), fc.infiniteStream(fc.boolean()), (parts, drawn) => {
      const present = parts.map(({ length, nulls }) => Array.from({ length }, () => nulls === 'none' || drawn.next().value === true))
      const all = present.flat()
      const whole: Column = {
        type: { kind: 'i32' },
        length: all.length,
        validity: new Uint8Array(new SharedArrayBuffer((all.length + 7) >> 3)),
      }
      let firstRow = 0
      for (const [p, { nulls }] of parts.entries()) {
        const own = present[p] as readonly boolean[] // one for each part
        const column = columnFromValues(
          own.map((is) => (is ? 1 : null)),
          { kind: 'i32' },
        )
        const given: Column = nulls === 'none' ? { type: column.type, length: own.length } : column
        expect(nullsPlaced(given, whole, firstRow)).toBe(own.filter((is) => !is).length)
        firstRow += own.length
      }
      expect(all.map((_, row) => isValid(whole, row))).toStrictEqual(all)
    }),
    run,
  )
})
