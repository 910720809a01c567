/**
 * Kernels of a group-by in one pass over the rows: `places` lists what each row adds to which record, `add` adds it.
 *
 *     places    rows -> for each selected row the byte offset of its group's record, and the values to be added, in lists
 *     add       those lists -> records, group by group and row by row; full chunks of sums go to a log
 *     add with `rows`   the same of the rows themselves: it finds the records, and no list lies in between
 *
 * Only `add` must see the rows in order. A record begins with the number of rows that its group had so far; a full chunk of sums is
 * logged when its group's next row comes, so that the open chunk is never empty.
 */

import { CHUNK } from '../../../core/arrays/fixedTree.ts'
import { Bug } from '../../../core/errors.ts'
import { type Code, get, I, num, OP, SIMD, set } from '../../kir/instructions.ts'
import type { KernelModule } from '../../kir/kernelModule.ts'
import { shuffle32 } from '../../kir/simd.ts'
import { LOADS } from '../columns/columnLoads.ts'
import {
  A,
  addressWord,
  checkedSlot,
  eachRow,
  element,
  FOLD_COLUMN_BYTES,
  FRAME,
  FRAME_AT,
  firstOwn,
  I_ROW,
  isMadeOf,
  type KernelType,
  type KeyPart,
  localsOf,
  PARAMETERS,
  partLocal,
  prologue,
  ROW,
  SELECTION,
  SLOT,
  TO,
  touchedKey,
  word,
} from './groupFrame.ts'
import { LOG_ENTRY_BYTES, loadedDouble } from './groupKernels.ts'
import { keptByShape } from './keptKernels.ts'

/** A fold of a column's values by group; `squares` sums squared differences from the group's mean, which the record has already. */
export type PassFold = 'sum' | 'min' | 'max' | 'squares'

const COUNT_BYTES = 8

export interface PassRecord {
  readonly bytes: number
  /** The offset of each fold's double in the record; for `squares` the mean follows it. */
  readonly at: readonly number[]
}

/** Lays out a record: the number of rows (i32, padded), then a double for each fold, followed by the mean where it is `squares`. */
export function passRecord(folds: readonly PassFold[]): PassRecord {
  let bytes = COUNT_BYTES
  const at = folds.map((fold) => {
    const own = bytes
    bytes += fold === 'squares' ? 8 + MEAN_AT : 8
    return own
  })
  return { bytes, at }
}

/** The offset of the mean from the double of its `squares`. */
export const MEAN_AT = 8

/** The variant of `places`: `copied` are the types of the columns whose values it lists; `isTouched`: it touches the key column first. */
export interface PlacesShape {
  readonly parts: readonly KeyPart[]
  readonly recordBytes: number
  readonly copied: readonly KernelType[]
  readonly selected: boolean
  readonly isTouched: boolean
}

/**
 * run(frame, from, to): appends to the lists for rows `from`, a multiple of 32, to `to`. The frame has the columns and the lists of values
 * as the two addresses of folds, and in `size` the length of the lists: -1 once a key is not within its span, which ends the run.
 */
export const placesKernel: typeof makePlaces = keptByShape(makePlaces)

function makePlaces({ parts, recordBytes, copied, selected, isTouched }: PlacesShape): KernelModule {
  const key = { kind: 'direct', parts } as const
  const own = firstOwn(key)
  const [size, bitmap, bits] = [own, own + 1, own + 2]
  const from = (f: number): number => own + 3 + 2 * f
  const list = (f: number): number => own + 4 + 2 * f
  const row = selected ? I_ROW : ROW
  const each = (ahead: number): Code => [
    ...checkedSlot(parts, row, OUTSIDE, { ahead, test: isMadeOf }),
    ...[...element(SELECTION, size, 2), ...get(SLOT), ...num(recordBytes), OP.i32Mul, ...I.memory(OP.i32Store)],
    ...copied.flatMap((type, f) => [...element(list(f), size, 3), ...loadedDouble(type, from(f), row, ahead), ...I.memory(OP.f64Store)]),
    ...[...get(size), ...num(1), OP.i32Add, ...set(size)],
  ]
  const inWord = [
    ...[...get(ROW), ...get(bits), OP.i32Ctz, OP.i32Add, ...set(I_ROW), ...each(0)],
    ...[...get(bits), ...get(bits), ...num(1), OP.i32Sub, OP.i32And, ...set(bits)],
  ]
  const eachSelected = [
    ...[...I.block(), ...I.loop, ...get(ROW), ...get(TO), OP.i32GeS, ...I.brIf(1)],
    ...[...get(bitmap), ...get(ROW), ...num(3), OP.i32ShrU, OP.i32Add, ...I.memory(OP.i32Load), ...set(bits)],
    ...[...I.block(), ...I.loop, ...get(bits), OP.i32Eqz, ...I.brIf(1), ...inWord, ...I.br(0), OP.end, OP.end],
    ...[...get(ROW), ...num(32), OP.i32Add, ...set(ROW), ...I.br(0), OP.end, OP.end],
  ]
  const columns = copied.flatMap((_, f) => [
    ...[...addressWord(FRAME.folds + FOLD_COLUMN_BYTES * f), ...set(from(f))],
    ...[...addressWord(FRAME.folds + FOLD_COLUMN_BYTES * f + 8), ...set(list(f))],
  ])
  const vectors = own + 3 + 2 * copied.length
  const four = selected ? undefined : fourPlaces({ parts, recordBytes, copied }, { size, from, list, vectors })
  const body = [
    ...[...prologue(key), ...columns, ...addressWord(FRAME.bitmap), ...set(bitmap), ...word(FRAME.size), ...set(size)],
    ...[...(isTouched ? touchedKey(parts) : []), ...(four === undefined ? [] : four.before)],
    ...(selected ? eachSelected : eachRow(each, four?.turn)),
    ...[...get(FRAME_AT), ...get(size), ...I.memory(OP.i32Store, FRAME.size)],
  ]
  const locals = [...localsOf(key, 3 + 2 * copied.length), ...new Array<'v128'>(four === undefined ? 0 : VECTORS).fill('v128')]
  return { imports: [], parameters: PARAMETERS, locals, body }
}

const VECTORS = 4

/** Ends a run at a key that is not within its span. */
const OUTSIDE: Code = [...get(FRAME_AT), ...num(-1), ...I.memory(OP.i32Store, FRAME.size), OP.return]

interface PlacesLocals {
  readonly size: number
  readonly from: (fold: number) => number
  readonly list: (fold: number) => number
  /** The first of the `VECTORS` vector locals. */
  readonly vectors: number
}

/**
 * Code for the next four rows at once, which overlaps their cache misses: a processor sees only so many instructions ahead.
 * Undefined where their keys are not checked at once.
 */
function fourPlaces(
  { copied, ...keys }: Pick<PlacesShape, 'parts' | 'recordBytes' | 'copied'>,
  { size, from, list, vectors }: PlacesLocals,
): { readonly before: Code; readonly turn: Code } | undefined {
  const four = fourOffsets(keys, vectors)
  if (four === undefined) return undefined
  const listed = copied.flatMap((type, f): Code => {
    const [low, high] = doublesOf(type, from(f), four.value)
    const at = element(list(f), size, 3)
    return [...at, ...low, ...I.memory(SIMD.store), ...at, ...high, ...I.memory(SIMD.store, 16)]
  })
  return {
    before: four.before,
    turn: [
      ...[...four.checked, ...element(SELECTION, size, 2), ...four.offsets, ...I.memory(SIMD.store)],
      ...[...listed, ...get(size), ...num(4), OP.i32Add, ...set(size)],
    ],
  }
}

/**
 * The offsets of the records of the next four rows as one vector, by `VECTORS` locals from `vectors` on: `checked` ends the run where a key
 * is not within its span, and `offsets` leaves them. Undefined where the key has several parts or nulls, or a type with values other than 32-bit integers.
 */
function fourOffsets(
  { parts: [part, ...others], recordBytes }: Pick<PlacesShape, 'parts' | 'recordBytes'>,
  vectors: number,
): { readonly before: Code; readonly checked: Code; readonly offsets: Code; readonly value: number } | undefined {
  if (part === undefined || others.length > 0 || part.nullable) return undefined
  const key = LOADS.get(part.type === 'u32' ? 'i32' : part.type) // unsigned or not: the difference to the base has the same bits
  if (key?.as !== 'i32') return undefined
  const [base, span, bytes, value] = [0, 1, 2, 3].map((i) => vectors + i) as [number, number, number, number]
  const splat = (code: Code, to: number): Code => [...code, SIMD.i32Splat, ...set(to)]
  return {
    value,
    before: [...splat(get(partLocal(0, 'base')), base), ...splat(get(partLocal(0, 'span')), span), ...splat(num(recordBytes), bytes)],
    checked: [
      ...[...(key.vectors(element(partLocal(0, 'key'), ROW, key.log2Bytes))[0] ?? []), ...get(base), SIMD.i32Sub],
      ...[...I.localTee(value), ...get(span), SIMD.i32LtU, SIMD.i32AllTrue, OP.i32Eqz, ...I.if(), ...OUTSIDE, OP.end],
    ],
    offsets: [...get(value), ...get(bytes), SIMD.i32Mul],
  }
}

/** The four values from ROW on, in two vectors of doubles; `value` is a local for their integers. */
function doublesOf(type: KernelType, column: number, value: number): readonly [Code, Code] {
  const loads = LOADS.get(type)
  if (loads === undefined) throw new Bug(`Four values of ${type} were to be listed.`)
  const [first = [], second] = loads.vectors(element(column, ROW, loads.log2Bytes))
  if (loads.as !== 'i32') return [first, second ?? []]
  const high = [...get(value), ...get(value), ...shuffle32([2, 3, 2, 3])]
  return [
    [...first, ...I.localTee(value), SIMD.f64ConvertI32S],
    [...high, SIMD.f64ConvertI32S],
  ]
}

/** The rows that an iteration of `add`'s unrolled loop takes. */
const AT_ONCE = 4

/** The variant of `add`: its folds, and `rows` where it finds the records of rows itself. */
export interface AddShape {
  readonly folds: readonly PassFold[]
  readonly rows?: AddedRows
}

/** The key's columns, the bytes of a record, and the types of the folds' columns. */
export interface AddedRows {
  readonly parts: readonly KeyPart[]
  readonly recordBytes: number
  readonly types: readonly KernelType[]
}

/**
 * run(frame, from, to): adds entries `from` to `to` of the lists, or these rows, to the records. The frame has the list of offsets in
 * `selection`, or the parts of the key, and each fold's list of values, or its column; the offset of a group's record is appended to `slots`
 * when its first row comes. Of rows, `size` is -1 once a key is not within its span, which ends the run.
 */
export const addKernel: typeof makeAdd = keptByShape(makeAdd)

function makeAdd({ folds, rows }: AddShape): KernelModule {
  const key = rows === undefined ? ({ kind: 'hashed' } as const) : ({ kind: 'direct', parts: rows.parts } as const)
  const own = firstOwn(key)
  const [places, records, record, slots, log, whole] = [own, own + 1, own + 2, own + 3, own + 4, own + 5] as const
  const values = (f: number): number => own + 6 + f
  const { at } = passRecord(folds)
  const isSum = (fold: PassFold): boolean => fold === 'sum' || fold === 'squares'
  const sums = folds.flatMap((fold, f) => (isSum(fold) ? [f] : []))
  const off = localsOf(key, 6 + folds.length).length + PARAMETERS.length
  const [offsets, vectors] = [off + 1, off + 2]
  const four = rows && fourOffsets(rows, vectors)

  /** Adds the row, `isOne` of four, or alone. */
  const row = (k: number, isOneOf: 1 | 4): Code => {
    const place = rows === undefined ? [...get(places), ...I.memory(OP.i32Load, 4 * k)] : get(SLOT)
    const found = (shape: AddedRows): Code =>
      four !== undefined && isOneOf === 4
        ? [...get(offsets), ...I.simdLane(SIMD.i32ExtractLane, k), ...set(SLOT)]
        : [
            ...checkedSlot(shape.parts, ROW, OUTSIDE, { ahead: k, test: isMadeOf }),
            ...get(SLOT),
            ...num(shape.recordBytes),
            OP.i32Mul,
            ...set(SLOT),
          ]
    const begun = folds.flatMap((fold, f) =>
      isSum(fold)
        ? []
        : [
            ...get(record),
            ...I.f64Const(fold === 'min' ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY),
            ...I.memory(OP.f64Store, at[f]),
          ],
    )
    const isNew = [...[...get(slots), ...place, ...I.memory(OP.i32Store), ...get(slots), ...num(4), OP.i32Add, ...set(slots)], ...begun]
    const closed = sums.flatMap((f) => [
      ...[...get(log), ...place, ...I.memory(OP.i32Store), ...get(log), ...num(f), ...I.memory(OP.i32Store, 4)],
      ...[...get(log), ...get(record), ...I.memory(OP.f64Load, at[f]), ...I.memory(OP.f64Store, 8)],
      ...[...get(record), ...I.f64Const(0), ...I.memory(OP.f64Store, at[f])],
      ...[...get(log), ...num(LOG_ENTRY_BYTES), OP.i32Add, ...set(log)],
    ])
    const operation = { sum: OP.f64Add, squares: OP.f64Add, min: OP.f64Min, max: OP.f64Max } as const
    const value = (f: number): Code =>
      rows === undefined
        ? [...get(values(f)), ...I.memory(OP.f64Load, 8 * k)]
        : loadedDouble(rows.types[f] as KernelType, values(f), ROW, k) // a type for each fold
    const square = (f: number): Code => [
      ...[...value(f), ...get(record), ...I.memory(OP.f64Load, (at[f] as number) + MEAN_AT), OP.f64Sub],
      ...[...I.localTee(off), ...get(off), OP.f64Mul],
    ]
    return [
      ...(rows === undefined ? [] : found(rows)),
      ...[...get(records), ...place, OP.i32Add, ...I.localTee(record), ...I.memory(OP.i32Load), ...I.localTee(A)],
      ...[...num(CHUNK - 1), OP.i32And, OP.i32Eqz, ...I.if(), ...get(A), ...I.if(), ...closed, OP.else, ...isNew, OP.end, OP.end],
      ...[...get(record), ...get(A), ...num(1), OP.i32Add, ...I.memory(OP.i32Store)],
      ...folds.flatMap((fold, f) => [
        ...[...get(record), ...get(record), ...I.memory(OP.f64Load, at[f]), ...(fold === 'squares' ? square(f) : value(f))],
        ...[operation[fold], ...I.memory(OP.f64Store, at[f])],
      ]),
    ]
  }
  const movedBy = (count: number): Code =>
    rows !== undefined
      ? []
      : [
          ...[...get(places), ...num(4 * count), OP.i32Add, ...set(places)],
          ...folds.flatMap((_, f) => [...get(values(f)), ...num(8 * count), OP.i32Add, ...set(values(f))]),
        ]
  const turn = (count: 1 | 4): Code => [
    ...(four !== undefined && count === 4 ? [...four.checked, ...four.offsets, ...set(offsets)] : []),
    ...Array.from({ length: count }, (_, k) => row(k, count)).flat(),
    ...movedBy(count),
    ...[...get(ROW), ...num(count), OP.i32Add, ...set(ROW)],
  ]
  const turns = (count: 1 | 4, end: number): Code => [
    ...[...I.block(), ...I.loop, ...get(ROW), ...get(end), OP.i32GeS, ...I.brIf(1), ...turn(count), ...I.br(0), OP.end, OP.end],
  ]
  const body = [
    ...(rows === undefined ? [...addressWord(FRAME.selection), ...set(places)] : [...prologue(key), ...(four?.before ?? [])]),
    ...[...addressWord(FRAME.records), ...set(records)],
    ...[...addressWord(FRAME.slots), ...set(slots), ...addressWord(FRAME.log), ...set(log)],
    ...folds.flatMap((_, f) => [...addressWord(FRAME.folds + FOLD_COLUMN_BYTES * f), ...set(values(f))]),
    ...[...get(ROW), ...get(TO), ...get(ROW), OP.i32Sub, ...num(-AT_ONCE), OP.i32And, OP.i32Add, ...set(whole)],
    ...[...turns(AT_ONCE, whole), ...turns(1, TO)],
    ...[...get(FRAME_AT), ...get(slots), ...I.addressStore(FRAME.slots), ...get(FRAME_AT), ...get(log), ...I.addressStore(FRAME.log)],
  ]
  const vectorLocals = new Array<'v128'>(four === undefined ? 0 : 1 + VECTORS).fill('v128')
  return { imports: [], parameters: PARAMETERS, locals: [...localsOf(key, 6 + folds.length), 'f64', ...vectorLocals], body }
}
