/**
 * Folds of columns by group, over a list of rows in order: sums, extremes and counts, in one record a group. All
 * addresses come from a frame, so that one module serves all data of the same types.
 */
import { CHUNK } from '../../../core/arrays/fixedTree.ts'
import { type Code, get, I, num, OP, type Plain, set } from '../../kir/instructions.ts'
import type { KernelModule } from '../../kir/kernelModule.ts'
import {
  A,
  addressWord,
  bitOf,
  CODES,
  eachRow,
  element,
  FOLD_COLUMN_BYTES,
  FRAME,
  FRAME_AT,
  firstOwn,
  I_ROW,
  type KernelKey,
  type KernelType,
  LOAD,
  localsOf,
  PARAMETERS,
  prologue,
  ROW,
  SELECTION,
  SLOT,
} from './groupFrame.ts'

/** The description of a fold that its kernel depends on. */
export interface KernelFold {
  readonly kind: 'sum' | 'min' | 'max' | 'count'
  readonly type: KernelType
  /** Whether the column has nulls. */
  readonly nulls: boolean
  /** Whether the record counts the values that are not null. */
  readonly counts: boolean
}

/** The layout of a group's record: offsets in bytes from its start. */
export interface RecordLayout {
  readonly bytes: number
  /** The offset of each fold's value; undefined for counts. */
  readonly value: readonly (number | undefined)[]
  readonly count: readonly (number | undefined)[]
  /** The offset of each fold's number of values left until its chunk is full; undefined for all but sums with nulls. */
  readonly left: readonly (number | undefined)[]
  readonly sharedLeft: number
}

export function recordLayout(folds: readonly KernelFold[]): RecordLayout {
  let at = 0
  const take = (bytes: number): number => (at += bytes) - bytes
  const value = folds.map((fold) => (fold.kind === 'count' ? undefined : take(8)))
  const count = folds.map((fold) => (fold.counts ? take(4) : undefined))
  const left = folds.map((fold) => (fold.kind === 'sum' && fold.nulls ? take(4) : undefined))
  const sharedLeft = take(4)
  return { bytes: Math.ceil(at / 8) * 8, value, count, left, sharedLeft }
}

/** The bytes of an entry in the log of full chunks: slot and fold (i32), sum (f64). */
export const LOG_ENTRY_BYTES = 16

/** Loads the value of a row in the column at `values`, as a double. */
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

/** Rows find their records by codes. */
const KEY: KernelKey = { kind: 'hashed' }

/** run(frame, from, to): folds the rows in places `from` to `to` of the list `selection`, by the groups in the same places of `codes`. */
export function foldKernel(folds: readonly KernelFold[]): KernelModule {
  const layout = recordLayout(folds)
  const [records, record, entry] = [0, 1, 2].map((i) => firstOwn(KEY) + i) as [number, number, number]
  const values = (f: number): number => entry + 1 + 2 * f
  const bits = (f: number): number => entry + 2 + 2 * f

  /** Combines the record's value with the column's. */
  const combined = (f: number, operation: Plain): Code => {
    const at = layout.value[f] ?? 0
    const value = loadedDouble((folds[f] as KernelFold).type, values(f), I_ROW) // f is the index of a fold
    return [...get(record), ...get(record), ...I.memory(OP.f64Load, at), ...value, operation, ...I.memory(OP.f64Store, at)]
  }
  const counted = (f: number): Code => {
    const at = layout.count[f]
    if (at === undefined) return []
    return [...get(record), ...get(record), ...I.memory(OP.i32Load, at), ...num(1), OP.i32Add, ...I.memory(OP.i32Store, at)]
  }
  /** Counts down the values left in the chunk; a full chunk's sums go to the log. */
  const chunked = (at: number, sums: readonly number[]): Code => {
    const put = sums.flatMap((f) => [
      ...[...addressWord(FRAME.log), ...I.localTee(entry), ...get(SLOT), ...I.memory(OP.i32Store)],
      ...[...get(entry), ...num(f), ...I.memory(OP.i32Store, 4)],
      ...[...get(entry), ...get(record), ...I.memory(OP.f64Load, layout.value[f]), ...I.memory(OP.f64Store, 8)],
      ...[...get(record), ...I.f64Const(0), ...I.memory(OP.f64Store, layout.value[f])],
      ...[...get(FRAME_AT), ...get(entry), ...num(LOG_ENTRY_BYTES), OP.i32Add, ...I.addressStore(FRAME.log)],
    ])
    const full = [...get(record), ...num(CHUNK), ...I.memory(OP.i32Store, at), ...put]
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
  const wherePresent = (f: number, code: Code): Code =>
    folds[f]?.nulls === true ? [...bitOf(bits(f), I_ROW), ...I.if(), ...code, OP.end] : code
  const ofKind = (test: (fold: KernelFold) => boolean): number[] => folds.flatMap((fold, f) => (test(fold) ? [f] : []))

  const [others, nullable] = [ofKind((fold) => fold.kind !== 'sum'), ofKind((fold) => fold.kind === 'sum' && fold.nulls)]
  const plain = ofKind((fold) => fold.kind === 'sum' && !fold.nulls)
  const extreme = (f: number): Code => {
    const { kind } = folds[f] as KernelFold
    const better = kind === 'count' ? [] : combined(f, kind === 'min' ? OP.f64Min : OP.f64Max)
    return wherePresent(f, [...better, ...counted(f)])
  }
  const nullableSum = (f: number): Code => wherePresent(f, [...combined(f, OP.f64Add), ...counted(f), ...chunked(layout.left[f] ?? 0, [f])])
  const plainSums = plain.length === 0 ? [] : [...plain.flatMap((f) => combined(f, OP.f64Add)), ...chunked(layout.sharedLeft, plain)]
  const each = (ahead: number): Code => [
    ...[...element(CODES, ROW, 2), ...I.memory(OP.i32Load, 4 * ahead), ...set(SLOT)],
    ...[...element(SELECTION, ROW, 2), ...I.memory(OP.i32Load, 4 * ahead), ...set(I_ROW)],
    // the offset is counted in units of 8 bytes, so that 32 bits suffice for any arena
    ...[...get(records), ...get(SLOT), ...num(layout.bytes / 8), OP.i32Mul, ...num(3), OP.i32Shl, OP.i32Add, ...set(record)],
    ...[...others.flatMap(extreme), ...nullable.flatMap(nullableSum), ...plainSums],
  ]
  const columns = folds.flatMap((_, f) => [
    ...[...addressWord(FRAME.folds + FOLD_COLUMN_BYTES * f), ...set(values(f))],
    ...[...addressWord(FRAME.folds + FOLD_COLUMN_BYTES * f + 8), ...set(bits(f))],
  ])
  const body = [...prologue(KEY), ...addressWord(FRAME.records), ...set(records), ...columns, ...eachRow(each)]
  return {
    imports: [],
    parameters: PARAMETERS,
    locals: localsOf(KEY, 3 + 2 * folds.length),
    body,
  }
}
