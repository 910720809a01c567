/**
 * Dictionary encoding of texts: a column with few different texts has for each row the number of its text in the order of first appearance.
 *
 *     name     'b'  'a'  'b'  null          codes   0  1  0  0         firsts   0  1
 *
 * Codes lie in the arena beside the column, a byte a row, two from the 257th text on, or four; the text of a code is read at its first
 * row. Whether a column has codes depends on its texts alone. Texts are compared by their bytes.
 */
import { type Column, isValid } from '../../../../core/data/column.ts'
import { takeColumn } from '../../../../core/data/columnSlices.ts'
import { FIXED_FORMS } from '../../../../core/data/fixedValues.ts'
import type { TextIndices } from '../../../../core/data/textIndices.ts'
import { MemoryError } from '../../../../core/errors.ts'
import type { Arena } from '../../../memory/arena.ts'
import { GroupMemory } from '../../operators/groupBy/groupMemory.ts'
import { arenaTables } from '../../operators/hashing/arenaIds.ts'
import { KeyIds } from '../../operators/hashing/keyIds.ts'

export type Codes = Uint8Array | Uint16Array | Int32Array

export interface TextCodes {
  /** The code of each row; 0 where the text is null. */
  readonly codes: Codes
  /** The first row of each code's text. */
  readonly firsts: Int32Array
  /** The text of each code, for a column that has no texts by row. */
  readonly texts?: Column
}

/** The column of different texts, by code. */
export function differentTexts(text: Column, { firsts, texts }: TextCodes): Column {
  return texts ?? takeColumn(text, firsts)
}

/** The most different texts of a column that gets codes: `FEW_TEXTS`, whose codes fit a byte, or one for `ROWS_PER_TEXT` rows up to `MOST_TEXTS`. */
const FEW_TEXTS = 256
const MOST_TEXTS = 2 ** 20
const ROWS_PER_TEXT = 8
/** The most texts whose codes take two bytes. */
const WIDE_TEXTS = 2 ** 16

/** Rows that are encoded at a time, a multiple of eight: no more are looked at of texts that hardly repeat. */
const STRIDE = 2 ** 14

const known = new WeakMap<Column, TextCodes>()

/** The codes of a column's texts; undefined where it has none. They are freed with the column's memory. */
export function codesOf(column: Column | undefined): TextCodes | undefined {
  return column === undefined ? undefined : known.get(column)
}

/** Gives a column codes that are known without a look at its texts. */
export function giveCodes(column: Column, codes: TextCodes): void {
  known.set(column, codes)
}

/** The type of codes of so many texts. */
function codeKind(texts: number): 'u8' | 'u16' | 'i32' {
  return texts <= FEW_TEXTS ? 'u8' : texts <= WIDE_TEXTS ? 'u16' : 'i32'
}

/** An empty array of the class that codes of so many texts have. */
export function emptyCodes(texts: number): Codes {
  return new FIXED_FORMS[codeKind(texts)].array(0) as Codes // of these kinds
}

const CODE_BYTES = { u8: 1, u16: 2, i32: 4 } as const

function reservedCodes(texts: number, length: number, arena: Arena): Codes {
  const kind = codeKind(texts)
  return arena.view(kind, arena.reserve(CODE_BYTES[kind] * length, CODES), length) as Codes // of these kinds
}

/** Gives codes to a column of text in the arena, from `indices` of a dictionary where it has some. Returns the codes' block; undefined where it gets none. */
export function codeTexts(column: Column, arena: Arena, indices?: TextIndices): number | undefined {
  const { type, values, offsets } = column
  if (type.kind !== 'utf8' || !(values instanceof Uint8Array) || offsets === undefined) return undefined
  const few = indices !== undefined && indices.entries.length <= column.length
  const found = few ? codedEntries(indices, arena) : coded(column, values, offsets, arena)
  if (found === undefined) return undefined
  known.set(column, found)
  return found.codes.byteOffset
}

function coded(column: Column, values: Uint8Array, offsets: Int32Array, arena: Arena): TextCodes | undefined {
  const { length } = column
  let codes: Codes | undefined
  let kind: ReturnType<typeof codeKind> = 'u8'
  try {
    codes = reservedCodes(0, length, arena)
    const firsts = numberedTexts({ ...column, values, offsets }, mostTexts(length), arena, (numbers, from, texts) => {
      if (codeKind(texts) !== kind) codes = widened(codes as Codes, texts, from, arena) // as it was reserved
      kind = codeKind(texts)
      codes?.set(numbers, from)
    })
    if (firsts !== undefined) return { codes, firsts }
    arena.free(codes.byteOffset)
    return undefined
  } catch (error) {
    if (codes !== undefined) arena.free(codes.byteOffset)
    if (error instanceof MemoryError) return undefined // tables do without
    throw error
  }
}

/** A column of text with its bytes. */
export type BytesOfText = Column & { readonly values: Uint8Array; readonly offsets: Int32Array }

/**
 * Numbers a column's different texts in the order of their first rows, which are returned; undefined for more than `most`. `put` is given the
 * numbers of the rows from a row on, 0 where the text is null, and how many different texts there have been.
 */
export function numberedTexts(
  { length, values, offsets, validity }: BytesOfText,
  most: number,
  arena: Arena,
  put: (numbers: Int32Array, from: number, texts: number) => void,
): Int32Array | undefined {
  const memory = new GroupMemory(arena, CODES)
  try {
    const tables = arenaTables(memory)
    const texts = tables.texts()
    const ids = tables.ids(Math.min(length, STRIDE))
    const firsts: number[] = []
    for (let from = 0; from < length; from += STRIDE) {
      const rows = Math.min(STRIDE, length - from)
      const bits = validity?.subarray(from >> 3, (from + rows + 7) >> 3)
      if (bits !== undefined) ids.fill(-1)
      texts.encode(values, offsets.subarray(from, from + rows + 1), ids, { begin: 0, end: rows, unknown: 'add', validity: bits })
      if (texts.size > most) return undefined
      for (let i = 0; i < rows; i++) {
        const id = ids[i] as number // i < rows
        if (id === firsts.length) firsts.push(from + i)
        if (id < 0) ids[i] = 0
      }
      put(ids.subarray(0, rows), from, texts.size)
    }
    return Int32Array.from(firsts)
  } finally {
    memory.end()
  }
}

const CODES = 'codes of texts'

/** The most different texts with which a column of so many rows gets codes. */
export function mostTexts(rows: number): number {
  return Math.min(MOST_TEXTS, Math.max(FEW_TEXTS, Math.floor(rows / ROWS_PER_TEXT)))
}

/** The codes from the indices of a dictionary, whose entries are compared once; undefined where there are too many, or memory is short. */
function codedEntries({ indices, entries }: TextIndices, arena: Arena): TextCodes | undefined {
  const ids = new KeyIds(entries.type).encode(entries)
  const codeOfId = new Int32Array(entries.length).fill(-1)
  const most = mostTexts(indices.length)
  const firsts: number[] = []
  for (let row = 0; row < indices.length; row++) {
    const entry = indices[row] as number // row < length
    const id = entry < 0 ? -1 : (ids[entry] as number)
    if (id < 0 || (codeOfId[id] as number) >= 0 || !isValid(entries, entry)) continue
    codeOfId[id] = firsts.length
    if (firsts.push(row) > most) return undefined
  }
  const codeOfEntry = ids.map((id) => Math.max(0, codeOfId[id] as number)) // of a null 0
  try {
    const codes = reservedCodes(firsts.length, indices.length, arena)
    for (let row = 0; row < indices.length; row++) {
      const entry = indices[row] as number // row < length
      codes[row] = entry < 0 ? 0 : (codeOfEntry[entry] as number)
    }
    return { codes, firsts: Int32Array.from(firsts) }
  } catch (error) {
    if (error instanceof MemoryError) return undefined // tables do without
    throw error
  }
}

/** The codes, of which `known` are written, copied to a wider type; the old ones are freed. */
function widened(codes: Codes, texts: number, known: number, arena: Arena): Codes {
  const wide = reservedCodes(texts, codes.length, arena)
  wide.set(codes.subarray(0, known))
  arena.free(codes.byteOffset)
  return wide
}

/** The codes as a column of integers, null where the text is. */
export function codeColumn({ length, validity }: Column, text: TextCodes): Column {
  return { type: { kind: kindOf(text) }, length, values: text.codes, ...(validity === undefined ? {} : { validity }) }
}

/** The type as which kernels read the codes. */
export function kindOf({ codes }: TextCodes): 'u8' | 'u16' | 'i32' {
  return codes instanceof Uint8Array ? 'u8' : codes instanceof Uint16Array ? 'u16' : 'i32'
}

/** The texts of a column of codes, by row. */
export function decoded(codes: Column, text: Column, { firsts, texts }: TextCodes): Column {
  const { values, validity, length } = codes
  const rows = new Int32Array(length)
  for (let i = 0; i < length; i++) {
    const isNull = validity !== undefined && ((validity[i >> 3] as number) & (1 << (i & 7))) === 0 // i < length
    const code = Number(values?.[i] ?? 0)
    rows[i] = isNull ? -1 : texts === undefined ? (firsts[code] ?? -1) : code
  }
  return takeColumn(texts ?? text, rows)
}

/** The code of a text; -1 where no row has it. */
export function codeOf(text: string, column: Column, { firsts, texts }: TextCodes): number {
  const wanted = new TextEncoder().encode(text)
  const { values, offsets } = texts ?? column
  if (!(values instanceof Uint8Array) || offsets === undefined) return -1
  return firsts.findIndex((row, code) => {
    const at = texts === undefined ? row : code
    const [start = 0, end = 0] = [offsets[at], offsets[at + 1]]
    return end - start === wanted.length && wanted.every((byte, i) => values[start + i] === byte)
  })
}
