/**
 * Kernels of a group-by, over rows `from` to `to` of columns in the arena. All addresses come from a frame, so that one
 * module serves all data of the same types.
 *
 *     count     direct codes: counts the rows of every slot, and lists the slots in order of first appearance
 *     select    lists the rows whose slot lies in a part of the slots
 *     fold      sums, extremes and counts of columns, in one record a slot
 */
import { CHUNK } from '../../core/fixedTree.ts'
import { type Code, I, moduleBytes, OP } from './wasmEncoder.ts'

/** Types that kernels read: numbers, and 64-bit integers where they are keys. */
export type KernelType = 'f64' | 'f32' | 'i64' | 'i32' | 'u32' | 'i16' | 'u16' | 'i8' | 'u8'

/** What a row's slot comes from. */
export interface KernelKey {
  readonly type: KernelType
  readonly nullable: boolean
  /** Hashed codes, through a map or not; else the key itself, less a base. */
  readonly codes: 'direct' | 'hashed' | 'mapped'
}

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

/** Words of a frame, in bytes from its start. Columns of folds come last, two words each. */
export const FRAME = {
  key: 0,
  keyBits: 4,
  map: 8,
  base: 12,
  nullSlot: 16,
  records: 20,
  selection: 24,
  log: 28,
  open: 32,
  from: 36,
  to: 40,
  counts: 44,
  slots: 48,
  rows: 52,
  size: 56,
  span: 60,
  folds: 64,
} as const

export function frameBytes(folds: number): number {
  return FRAME.folds + 8 * folds
}

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

/** The bits of a 32-bit or narrower value are its slot's number. */
const LOAD: { readonly [K in KernelType]: { readonly opcode: number; readonly log2: number } } = {
  f64: { opcode: OP.f64Load, log2: 3 },
  f32: { opcode: OP.f32Load, log2: 2 },
  i64: { opcode: OP.i32Load, log2: 3 },
  i32: { opcode: OP.i32Load, log2: 2 },
  u32: { opcode: OP.i32Load, log2: 2 },
  i16: { opcode: OP.i32Load16S, log2: 1 },
  u16: { opcode: OP.i32Load16U, log2: 1 },
  i8: { opcode: OP.i32Load8S, log2: 0 },
  u8: { opcode: OP.i32Load8U, log2: 0 },
}

// run(frame, from, to); every kernel has these locals first
const [FRAME_AT, ROW, TO] = [0, 1, 2]
const [KEY, KEY_BITS, MAP, BASE, NULL_SLOT, SLOT, I_ROW, A, B, SELECTION] = [3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
const LOCALS = ['i32', 'i32', 'i32', 'i32', 'i32', 'i32', 'i32', 'i32', 'i32', 'i32'] as const
const FIRST_OWN = 13
const PARAMETERS = ['i32', 'i32', 'i32'] as const
const TRUNCATE_F64 = [0xfc, 0x02]

const get = I.localGet
const set = I.localSet
const num = I.i32Const

function word(offset: number): Code {
  return [...get(FRAME_AT), ...I.memory(OP.i32Load, offset)]
}

export function element(base: number, row: number, log2: number): Code {
  return [...get(base), ...get(row), ...(log2 === 0 ? [] : [...num(log2), OP.i32Shl]), OP.i32Add]
}

/** 1 where the bit of the row is set. */
export function bitOf(bits: number, row: number): Code {
  const byte = [...get(bits), ...get(row), ...num(3), OP.i32ShrU, OP.i32Add, ...I.memory(OP.i32Load8U)]
  return [...byte, ...get(row), ...num(7), OP.i32And, OP.i32ShrU, ...num(1), OP.i32And]
}

const PROLOGUE: Code = [
  ...[...word(FRAME.key), ...set(KEY), ...word(FRAME.keyBits), ...set(KEY_BITS), ...word(FRAME.map), ...set(MAP)],
  ...[...word(FRAME.base), ...set(BASE), ...word(FRAME.nullSlot), ...set(NULL_SLOT), ...word(FRAME.selection), ...set(SELECTION)],
]

/** The key of the row in column `column` as a 32-bit integer. */
export function keyOf(type: KernelType, row: number, column: number = KEY): Code {
  const { opcode, log2 } = LOAD[type]
  const loaded = [...element(column, row, log2), ...I.memory(opcode)]
  if (type === 'f64') return [...loaded, ...TRUNCATE_F64]
  if (type === 'f32') return [...loaded, OP.f64PromoteF32, ...TRUNCATE_F64]
  return loaded
}

/** Whether the key of the row is the 32-bit integer in local `whole`, which `keyOf` gave; undefined where it always is. */
export function isWhole(type: KernelType, row: number, whole: number, column: number = KEY): Code | undefined {
  const at = element(column, row, LOAD[type].log2)
  switch (type) {
    case 'f64':
      return [...at, ...I.memory(OP.f64Load), ...get(whole), OP.f64ConvertI32S, OP.f64Eq]
    case 'f32':
      return [...at, ...I.memory(OP.f32Load), OP.f64PromoteF32, ...get(whole), OP.f64ConvertI32S, OP.f64Eq]
    case 'i64':
      return [...at, ...I.memory(OP.i32Load, 4), ...get(whole), ...num(31), OP.i32ShrS, OP.i32Eq]
    case 'i32':
    case 'u32':
    case 'i16':
    case 'u16':
    case 'i8':
    case 'u8':
      return undefined
  }
}

/** Sets SLOT from the row; keys lie in the window. */
function slotOf(key: KernelKey, row: number): Code {
  const code = keyOf(key.type, row)
  switch (key.codes) {
    case 'hashed':
      return [...code, ...set(SLOT)]
    case 'mapped':
      return [...get(MAP), ...code, ...num(2), OP.i32Shl, OP.i32Add, ...I.memory(OP.i32Load), ...set(SLOT)]
    case 'direct': {
      const direct = [...code, ...get(BASE), OP.i32Sub]
      return key.nullable ? [...direct, ...get(NULL_SLOT), ...bitOf(KEY_BITS, row), OP.select, ...set(SLOT)] : [...direct, ...set(SLOT)]
    }
  }
}

/** `each` for every row from ROW to TO, which is left at TO. */
function eachRow(each: Code): Code {
  return [
    ...[...I.block(), ...get(ROW), ...get(TO), OP.i32GeS, ...I.brIf(0), ...I.loop],
    ...each,
    ...[...get(ROW), ...num(1), OP.i32Add, ...I.localTee(ROW), ...get(TO), OP.i32LtS, ...I.brIf(0), OP.end, OP.end],
  ]
}

/**
 * Counts rows by slot. A key outside of the window ends the run with -1 in `size`.
 */
export function countKernel(key: Pick<KernelKey, 'type' | 'nullable'>): Uint8Array<ArrayBuffer> {
  const [counts, slots, rows, size, span] = [FIRST_OWN, FIRST_OWN + 1, FIRST_OWN + 2, FIRST_OWN + 3, FIRST_OWN + 4]
  const load = (offset: number, local: number): Code => [...word(offset), ...set(local)]
  const outside = [...get(FRAME_AT), ...num(-1), ...I.memory(OP.i32Store, FRAME.size), 0x0f]
  const whole = isWhole(key.type, ROW, A)
  const inside = [
    ...[...keyOf(key.type, ROW), ...I.localTee(A), ...get(BASE), OP.i32Sub, ...I.localTee(SLOT), ...get(span), OP.i32LtU],
    ...[...(whole === undefined ? [] : [...whole, OP.i32And]), OP.i32Eqz, ...I.if(), ...outside, OP.end],
  ]
  const placed = key.nullable ? [...bitOf(KEY_BITS, ROW), ...I.if(), ...inside, OP.else, ...get(span), ...set(SLOT), OP.end] : inside
  const isNew = [
    ...[
      ...element(slots, size, 2),
      ...get(SLOT),
      ...I.memory(OP.i32Store),
      ...element(rows, size, 2),
      ...get(ROW),
      ...I.memory(OP.i32Store),
    ],
    ...[...get(size), ...num(1), OP.i32Add, ...set(size)],
  ]
  const each = [
    ...placed,
    ...[...element(counts, SLOT, 2), ...I.localTee(A), ...get(A), ...I.memory(OP.i32Load), ...I.localTee(B), ...num(1), OP.i32Add],
    ...[...I.memory(OP.i32Store), ...get(B), OP.i32Eqz, ...I.if(), ...isNew, OP.end],
  ]
  const body = [
    ...[...PROLOGUE, ...load(FRAME.counts, counts), ...load(FRAME.slots, slots), ...load(FRAME.rows, rows)],
    ...[...load(FRAME.size, size), ...load(FRAME.span, span), ...eachRow(each)],
    ...[...get(FRAME_AT), ...get(size), ...I.memory(OP.i32Store, FRAME.size)],
  ]
  return moduleBytes({ imports: [], parameters: PARAMETERS, locals: [...LOCALS, 'i32', 'i32', 'i32', 'i32', 'i32'], body })
}

/** Lists rows whose slot is at least `from` and below `to`, without a branch that no processor could guess; `size` is how many. */
export function selectKernel(key: KernelKey): Uint8Array<ArrayBuffer> {
  const [at, start, from, width] = [FIRST_OWN, FIRST_OWN + 1, FIRST_OWN + 2, FIRST_OWN + 3]
  const each = [
    ...[...slotOf(key, ROW), ...get(at), ...get(ROW), ...I.memory(OP.i32Store)],
    ...[...get(at), ...get(SLOT), ...get(from), OP.i32Sub, ...get(width), OP.i32LtU, ...num(2), OP.i32Shl, OP.i32Add, ...set(at)],
  ]
  const body = [
    ...[...PROLOGUE, ...get(SELECTION), ...I.localTee(at), ...set(start), ...word(FRAME.from), ...set(from)],
    ...[...word(FRAME.to), ...get(from), OP.i32Sub, ...set(width), ...eachRow(each)],
    ...[...get(FRAME_AT), ...get(at), ...get(start), OP.i32Sub, ...num(2), OP.i32ShrU, ...I.memory(OP.i32Store, FRAME.size)],
  ]
  return moduleBytes({ imports: [], parameters: PARAMETERS, locals: [...LOCALS, 'i32', 'i32', 'i32', 'i32'], body })
}

/** Folds columns by slot; in mode 'selected' over entries of the selection instead of rows. */
export function foldKernel(key: KernelKey, folds: readonly KernelFold[], mode: FoldMode): Uint8Array<ArrayBuffer> {
  const layout = recordLayout(folds)
  const [records, record] = [FIRST_OWN, FIRST_OWN + 1]
  const values = (f: number): number => FIRST_OWN + 2 + 2 * f
  const bits = (f: number): number => FIRST_OWN + 3 + 2 * f
  const row = mode === 'selected' ? I_ROW : ROW
  const openBy = (step: number): Code => [
    ...get(FRAME_AT),
    ...word(FRAME.open),
    ...num(step),
    OP.i32Add,
    ...I.memory(OP.i32Store, FRAME.open),
  ]

  const value = (f: number): Code => {
    const { type } = folds[f] as KernelFold // f is the index of a fold
    const loaded = [...element(values(f), row, LOAD[type].log2), ...I.memory(LOAD[type].opcode)]
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
  /** The value of the record put together with the column's. */
  const combined = (f: number, operation: number): Code => {
    const at = layout.value[f] ?? 0
    return [...get(record), ...get(record), ...I.memory(OP.f64Load, at), ...value(f), operation, ...I.memory(OP.f64Store, at)]
  }
  const counted = (f: number): Code => {
    const at = layout.count[f]
    if (at === undefined) return []
    return [...get(record), ...get(record), ...I.memory(OP.i32Load, at), ...num(1), OP.i32Add, ...I.memory(OP.i32Store, at)]
  }
  /** Takes one off the values left of a chunk; puts the sums of a full one into the log. */
  const chunked = (at: number, sums: readonly number[]): Code => {
    const put = sums.flatMap((f) => [
      ...[...word(FRAME.log), ...I.localTee(B), ...get(SLOT), ...I.memory(OP.i32Store), ...get(B), ...num(f), ...I.memory(OP.i32Store, 4)],
      ...[...get(B), ...get(record), ...I.memory(OP.f64Load, layout.value[f]), ...I.memory(OP.f64Store, 8)],
      ...[...get(record), ...I.f64Const(0), ...I.memory(OP.f64Store, layout.value[f])],
      ...[...get(FRAME_AT), ...get(B), ...num(LOG_ENTRY_BYTES), OP.i32Add, ...I.memory(OP.i32Store, FRAME.log)],
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
  const wherePresent = (f: number, code: Code): Code =>
    folds[f]?.bits === true ? [...bitOf(bits(f), row), ...I.if(), ...code, OP.end] : code
  const ofKind = (test: (fold: KernelFold) => boolean): number[] => folds.flatMap((fold, f) => (test(fold) ? [f] : []))

  const extremes = ofKind((fold) => fold.kind !== 'sum').map((f) => {
    const { kind } = folds[f] as KernelFold
    const better = kind === 'count' ? [] : combined(f, kind === 'min' ? OP.f64Min : OP.f64Max)
    return wherePresent(f, [...better, ...counted(f)])
  })
  const nullableSums = ofKind((fold) => fold.kind === 'sum' && fold.nulls).map((f) =>
    wherePresent(f, [...combined(f, OP.f64Add), ...counted(f), ...chunked(layout.left[f] ?? 0, [f])]),
  )
  const plain = ofKind((fold) => fold.kind === 'sum' && !fold.nulls)
  const plainSums = plain.length === 0 ? [] : [...plain.flatMap((f) => combined(f, OP.f64Add)), ...chunked(layout.sharedLeft, plain)]
  const skipped = [
    ...[...get(record), ...get(A), ...num(1), OP.i32Sub, ...I.memory(OP.i32Store, layout.skip)],
    ...[...get(A), ...num(1), OP.i32Eq, ...I.if(), ...openBy(-1), OP.end],
  ]
  const guarded = ((): Code => {
    if (mode === 'skip') {
      const left = [...get(record), ...I.memory(OP.i32Load, layout.skip), ...I.localTee(A), ...num(0), OP.i32GtS]
      return [...left, ...I.if(), ...skipped, OP.else, ...plainSums, OP.end]
    }
    if (mode !== 'finish') return plainSums
    return [...get(record), ...I.memory(OP.i32Load, layout.sharedLeft), ...num(CHUNK), OP.i32Ne, ...I.if(), ...plainSums, OP.end]
  })()
  const each = [
    ...(mode === 'selected'
      ? [...get(SELECTION), ...get(ROW), ...num(2), OP.i32Shl, OP.i32Add, ...I.memory(OP.i32Load), ...set(I_ROW)]
      : []),
    ...slotOf(key, row),
    ...[...get(records), ...get(SLOT), ...num(layout.bytes), OP.i32Mul, OP.i32Add, ...set(record)],
    ...(mode === 'finish' ? [] : extremes.flat()),
    ...nullableSums.flat(),
    ...guarded,
  ]
  const columns = folds.flatMap((_, f) => [
    ...[...word(FRAME.folds + 8 * f), ...set(values(f)), ...word(FRAME.folds + 8 * f + 4), ...set(bits(f))],
  ])
  const body = [...PROLOGUE, ...word(FRAME.records), ...set(records), ...columns, ...eachRow(each)]
  return moduleBytes({
    imports: [],
    parameters: PARAMETERS,
    locals: [...LOCALS, 'i32', 'i32', ...folds.flatMap(() => ['i32', 'i32'] as const)],
    body,
  })
}
