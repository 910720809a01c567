/**
 * Kernels of a group-by, over rows `from` to `to` of columns in the arena. All addresses come from a frame, so that one
 * module serves all data of the same types.
 *
 *     count     direct codes: counts the rows of every slot, and lists the slots in order of first appearance
 *     select    lists the rows whose slot lies in a part of the slots
 *     fold      sums, extremes and counts of columns, in one record a slot
 */
import { CHUNK } from '../../core/fixedTree.ts'
import {
  A,
  addressWord,
  B,
  bitOf,
  checkedSlot,
  eachRow,
  element,
  FOLD_COLUMN_BYTES,
  FRAME,
  FRAME_AT,
  firstOwn,
  I_ROW,
  type KernelKey,
  type KernelType,
  type KeyPart,
  LOAD,
  localsOf,
  PARAMETERS,
  prologue,
  ROW,
  rowAfter,
  SELECTION,
  SLOT,
  slotOf,
  touchedKey,
  word,
} from './groupFrame.ts'
import { type Code, I, moduleBytes, OP } from './wasmEncoder.ts'

const get = I.localGet
const set = I.localSet
const num = I.i32Const

/** A fold as a kernel knows it; `nulls`: the column has some, here or in other batches; `bits`: here. */
export interface KernelFold {
  readonly kind: 'sum' | 'min' | 'max' | 'count'
  readonly type: KernelType
  readonly nulls: boolean
  readonly bits: boolean
  /** Counts the values that are not null. */
  readonly counts: boolean
}

/** skip: some slots leave their first values to the rows before; finish: only slots with an open chunk take values. */
export type FoldMode = 'all' | 'selected' | 'skip' | 'finish'

/** Where a record keeps what, in bytes from its start. */
export interface RecordLayout {
  readonly bytes: number
  /** By fold; undefined for counts. */
  readonly value: readonly (number | undefined)[]
  readonly count: readonly (number | undefined)[]
  /** Values left until the chunk is full: of sums without nulls together, of the others each. */
  readonly left: readonly (number | undefined)[]
  readonly sharedLeft: number
  readonly skip: number
}

export function recordLayout(folds: readonly KernelFold[]): RecordLayout {
  let at = 0
  const take = (bytes: number): number => (at += bytes) - bytes
  const value = folds.map((fold) => (fold.kind === 'count' ? undefined : take(8)))
  const count = folds.map((fold) => (fold.counts ? take(4) : undefined))
  const left = folds.map((fold) => (fold.kind === 'sum' && fold.nulls ? take(4) : undefined))
  const sharedLeft = take(4)
  const skip = take(4)
  return { bytes: Math.ceil(at / 8) * 8, value, count, left, sharedLeft, skip }
}

/** An entry of the log of full chunks: slot and fold (i32), sum (f64). */
export const LOG_ENTRY_BYTES = 16

/**
 * Counts rows by slot. A key outside of its window ends the run with -1 in `size`.
 */
export function countKernel(parts: readonly KeyPart[], isTouched: boolean): Uint8Array<ArrayBuffer> {
  const key: KernelKey = { kind: 'direct', parts, mapped: false }
  const [counts, slots, rows, size, place] = [0, 1, 2, 3, 4].map((i) => firstOwn(key) + i) as [number, number, number, number, number]
  const load = (offset: number, local: number): Code => [...addressWord(offset), ...set(local)]
  const outside = [...get(FRAME_AT), ...num(-1), ...I.memory(OP.i32Store, FRAME.size), 0x0f]
  const isNew = (ahead: number): Code => [
    ...[...element(slots, size, 2), ...get(SLOT), ...I.memory(OP.i32Store)],
    ...[...element(rows, size, 2), ...rowAfter(ROW, ahead), ...I.memory(OP.i32Store)],
    ...[...get(size), ...num(1), OP.i32Add, ...set(size)],
  ]
  const each = (ahead: number): Code => [
    ...checkedSlot(parts, ROW, outside, ahead),
    ...[...element(counts, SLOT, 2), ...I.localTee(place), ...get(place), ...I.memory(OP.i32Load), ...I.localTee(B), ...num(1), OP.i32Add],
    ...[...I.memory(OP.i32Store), ...get(B), OP.i32Eqz, ...I.if(), ...isNew(ahead), OP.end],
  ]
  const body = [
    ...[...prologue(key), ...load(FRAME.counts, counts), ...load(FRAME.slots, slots), ...load(FRAME.rows, rows)],
    ...[...word(FRAME.size), ...set(size), ...(isTouched ? touchedKey(parts) : []), ...eachRow(each)],
    ...[...get(FRAME_AT), ...get(size), ...I.memory(OP.i32Store, FRAME.size)],
  ]
  return moduleBytes({ imports: [], parameters: PARAMETERS, locals: localsOf(key, 5), body })
}

/** Lists rows whose slot is at least `from` and below `to`, without a branch that no processor could guess; `size` is how many. */
export function selectKernel(key: KernelKey): Uint8Array<ArrayBuffer> {
  const [at, start, from, width] = [0, 1, 2, 3].map((i) => firstOwn(key) + i) as [number, number, number, number]
  const each = (ahead: number): Code => [
    ...[...slotOf(key, ROW, ahead), ...get(at), ...rowAfter(ROW, ahead), ...I.memory(OP.i32Store)],
    ...[...get(at), ...get(SLOT), ...get(from), OP.i32Sub, ...get(width), OP.i32LtU, ...num(2), OP.i32Shl, OP.i32Add, ...set(at)],
  ]
  const body = [
    ...[...prologue(key), ...get(SELECTION), ...I.localTee(at), ...set(start), ...word(FRAME.from), ...set(from)],
    ...[...word(FRAME.to), ...get(from), OP.i32Sub, ...set(width), ...eachRow(each)],
    ...[...get(FRAME_AT), ...get(at), ...get(start), OP.i32Sub, ...num(2), OP.i32ShrU, ...I.memory(OP.i32Store, FRAME.size)],
  ]
  return moduleBytes({ imports: [], parameters: PARAMETERS, locals: localsOf(key, 4), body })
}

/** The value of a row in column `values`, as a double. */
export function loadedDouble(type: KernelType, values: number, row: number, ahead = 0): Code {
  const { opcode, log2 } = LOAD[type]
  const loaded = [...element(values, row, log2), ...I.memory(opcode, ahead << log2)]
  switch (type) {
    case 'f64':
      return loaded
    case 'f32':
      return [...loaded, OP.f64PromoteF32]
    case 'u32':
      return [...loaded, OP.f64ConvertI32U]
    case 'i64':
    case 'i32':
    case 'i16':
    case 'u16':
    case 'i8':
    case 'u8':
      return [...loaded, OP.f64ConvertI32S]
  }
}

/** Folds columns by slot; in mode 'selected' over entries of the selection instead of rows. */
export function foldKernel(key: KernelKey, folds: readonly KernelFold[], mode: FoldMode): Uint8Array<ArrayBuffer> {
  const layout = recordLayout(folds)
  const [records, record, entry] = [0, 1, 2].map((i) => firstOwn(key) + i) as [number, number, number]
  const values = (f: number): number => entry + 1 + 2 * f
  const bits = (f: number): number => entry + 2 + 2 * f
  const row = mode === 'selected' ? I_ROW : ROW
  const openBy = (step: number): Code => [
    ...get(FRAME_AT),
    ...word(FRAME.open),
    ...num(step),
    OP.i32Add,
    ...I.memory(OP.i32Store, FRAME.open),
  ]

  /** The value of the record put together with the column's. */
  const combined = (f: number, operation: number, ahead: number): Code => {
    const at = layout.value[f] ?? 0
    const value = loadedDouble((folds[f] as KernelFold).type, values(f), row, ahead) // f is the index of a fold
    return [...get(record), ...get(record), ...I.memory(OP.f64Load, at), ...value, operation, ...I.memory(OP.f64Store, at)]
  }
  const counted = (f: number): Code => {
    const at = layout.count[f]
    if (at === undefined) return []
    return [...get(record), ...get(record), ...I.memory(OP.i32Load, at), ...num(1), OP.i32Add, ...I.memory(OP.i32Store, at)]
  }
  /** Takes one off the values left of a chunk; puts the sums of a full one into the log. */
  const chunked = (at: number, sums: readonly number[]): Code => {
    const put = sums.flatMap((f) => [
      ...[...addressWord(FRAME.log), ...I.localTee(entry), ...get(SLOT), ...I.memory(OP.i32Store)],
      ...[...get(entry), ...num(f), ...I.memory(OP.i32Store, 4)],
      ...[...get(entry), ...get(record), ...I.memory(OP.f64Load, layout.value[f]), ...I.memory(OP.f64Store, 8)],
      ...[...get(record), ...I.f64Const(0), ...I.memory(OP.f64Store, layout.value[f])],
      ...[...get(FRAME_AT), ...get(entry), ...num(LOG_ENTRY_BYTES), OP.i32Add, ...I.addressStore(FRAME.log)],
    ])
    const full = [...get(record), ...num(CHUNK), ...I.memory(OP.i32Store, at), ...put, ...(mode === 'finish' ? openBy(-1) : [])]
    return [
      ...[
        ...get(record),
        ...get(record),
        ...I.memory(OP.i32Load, at),
        ...num(1),
        OP.i32Sub,
        ...I.localTee(A),
        ...I.memory(OP.i32Store, at),
      ],
      ...[...get(A), OP.i32Eqz, ...I.if(), ...full, OP.end],
    ]
  }
  const wherePresent = (f: number, ahead: number, code: Code): Code =>
    folds[f]?.bits === true ? [...bitOf(bits(f), row, ahead), ...I.if(), ...code, OP.end] : code
  const ofKind = (test: (fold: KernelFold) => boolean): number[] => folds.flatMap((fold, f) => (test(fold) ? [f] : []))

  const [others, nullable] = [ofKind((fold) => fold.kind !== 'sum'), ofKind((fold) => fold.kind === 'sum' && fold.nulls)]
  const plain = ofKind((fold) => fold.kind === 'sum' && !fold.nulls)
  const extreme = (f: number, ahead: number): Code => {
    const { kind } = folds[f] as KernelFold
    const better = kind === 'count' ? [] : combined(f, kind === 'min' ? OP.f64Min : OP.f64Max, ahead)
    return wherePresent(f, ahead, [...better, ...counted(f)])
  }
  const nullableSum = (f: number, ahead: number): Code =>
    wherePresent(f, ahead, [...combined(f, OP.f64Add, ahead), ...counted(f), ...chunked(layout.left[f] ?? 0, [f])])
  const skipped = [
    ...[...get(record), ...get(A), ...num(1), OP.i32Sub, ...I.memory(OP.i32Store, layout.skip)],
    ...[...get(A), ...num(1), OP.i32Eq, ...I.if(), ...openBy(-1), OP.end],
  ]
  const plainSums = (ahead: number): Code => {
    if (plain.length === 0) return []
    const sums = [...plain.flatMap((f) => combined(f, OP.f64Add, ahead)), ...chunked(layout.sharedLeft, plain)]
    if (mode === 'skip') {
      const left = [...get(record), ...I.memory(OP.i32Load, layout.skip), ...I.localTee(A), ...num(0), OP.i32GtS]
      return [...left, ...I.if(), ...skipped, OP.else, ...sums, OP.end]
    }
    if (mode !== 'finish') return sums
    return [...get(record), ...I.memory(OP.i32Load, layout.sharedLeft), ...num(CHUNK), OP.i32Ne, ...I.if(), ...sums, OP.end]
  }
  const folded = (ahead: number): Code => [
    ...slotOf(key, row, ahead),
    // counted in units of 8 bytes: 32 bits hold those of any arena
    ...[...get(records), ...get(SLOT), ...num(layout.bytes / 8), OP.i32Mul, ...num(3), OP.i32Shl, OP.i32Add, ...set(record)],
    ...(mode === 'finish' ? [] : others.flatMap((f) => extreme(f, ahead))),
    ...nullable.flatMap((f) => nullableSum(f, ahead)),
    ...plainSums(ahead),
  ]
  const selected = (ahead: number): Code => [...element(SELECTION, ROW, 2), ...I.memory(OP.i32Load, 4 * ahead), ...set(I_ROW)]
  const each = (ahead: number): Code => (mode === 'selected' ? [...selected(ahead), ...folded(0)] : folded(ahead))
  const columns = folds.flatMap((_, f) => [
    ...[...addressWord(FRAME.folds + FOLD_COLUMN_BYTES * f), ...set(values(f))],
    ...[...addressWord(FRAME.folds + FOLD_COLUMN_BYTES * f + 8), ...set(bits(f))],
  ])
  const body = [...prologue(key), ...addressWord(FRAME.records), ...set(records), ...columns, ...eachRow(each)]
  return moduleBytes({
    imports: [],
    parameters: PARAMETERS,
    locals: localsOf(key, 3 + 2 * folds.length),
    body,
  })
}
