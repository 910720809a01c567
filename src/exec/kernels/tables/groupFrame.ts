/**
 * The parts shared by the kernels of a group-by: the frame through which they get all addresses, and the computation of a row's slot.
 *
 *     hashed   the slot is a code that a hash table assigned to the row
 *     direct   the slot is the sum over the parts of the key of (value - base) * stride
 */
import { type Code, get, I, num, OP, type Plain, SATURATE, set } from '../../kir/instructions.ts'

/** Types that kernels read; 64-bit integers only as keys. */
export type KernelType = 'f64' | 'f32' | 'i64' | 'i32' | 'u32' | 'i16' | 'u16' | 'i8' | 'u8'

/** A part of a key: the key itself, or a field where the key is an object. */
export interface KeyPart {
  readonly type: KernelType
  readonly nullable: boolean
}

/** The origin of a row's slot. */
export type KernelKey =
  /** Codes from a hash table, one a row. */
  | { readonly kind: 'hashed' }
  /** The key itself: the sum of (value - base) * stride over its parts, where null counts as the value base + span. */
  | { readonly kind: 'direct'; readonly parts: readonly KeyPart[] }

/** The most parts of a direct key: the frame has room for so many. */
export const MOST_PARTS = 4

/** The offsets in the frame of a key part's words, in bytes from the part's start: addresses of 8 bytes first, then 32-bit words. */
export const PART = { key: 0, bits: 8, base: 16, span: 20, stride: 24 } as const
export const PART_BYTES = 32

/** The offsets of the frame's fields in bytes: addresses of 8 bytes, 32-bit words, and then the columns of folds, two addresses each. */
export const FRAME = {
  codes: 0,
  records: 8,
  selection: 16,
  log: 24,
  slots: 32,
  bitmap: 40,
  size: 48,
  parts: 56,
  folds: 184,
} as const
const FIRST_WORD: number = FRAME.size

/** The bytes of a fold's two addresses. */
export const FOLD_COLUMN_BYTES = 16

/** Whether a field of the frame, or of a part of the key, is an address. */
export function isAddressField(name: keyof typeof FRAME | keyof typeof PART): boolean {
  return name in PART ? name === 'key' || name === 'bits' : FRAME[name as keyof typeof FRAME] < FIRST_WORD
}

export function frameBytes(folds: number): number {
  return FRAME.folds + FOLD_COLUMN_BYTES * folds
}

/** How a value is loaded, and log2 of its bytes. Of a 64-bit integer only the lower word is loaded. */
export const LOAD: { readonly [K in KernelType]: { readonly opcode: Plain; readonly log2: number } } = {
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

// run(frame, from, to); the first locals of every kernel, followed by those of the key's parts
export const FRAME_AT = 0
export const ROW = 1
export const TO = 2
export const CODES = 3
export const SLOT = 4
export const I_ROW = 5
export const A = 6
export const B = 7
export const SELECTION = 8
const FIRST_PART = 9
const PART_WORDS = Object.keys(PART) as readonly (keyof typeof PART)[] // its own keys
export const PARAMETERS = ['address', 'i32', 'i32'] as const
const TRUNCATE_F64: Code = [SATURATE.i32S]

export function word(offset: number): Code {
  return [...get(FRAME_AT), ...I.memory(OP.i32Load, offset)]
}

/** Loads an address from the frame. */
export function addressWord(offset: number): Code {
  return [...get(FRAME_AT), ...I.addressLoad(offset)]
}

export function element(base: number, row: number, log2: number): Code {
  return [...get(base), ...get(row), ...(log2 === 0 ? [] : [...num(log2), OP.i32Shl]), OP.i32Add]
}

/** The number of the row `ahead` rows after that in local `row`. */
export function rowAfter(row: number, ahead: number): Code {
  return ahead === 0 ? get(row) : [...get(row), ...num(ahead), OP.i32Add]
}

/** 1 where the bit of the row is set in the bitmap, else 0. */
export function bitOf(bits: number, row: number, ahead = 0): Code {
  const at = rowAfter(row, ahead)
  const byte = [...get(bits), ...at, ...num(3), OP.i32ShrU, OP.i32Add, ...I.memory(OP.i32Load8U)]
  return [...byte, ...at, ...num(7), OP.i32And, OP.i32ShrU, ...num(1), OP.i32And]
}

function partsOf(key: KernelKey): readonly KeyPart[] {
  return key.kind === 'direct' ? key.parts : []
}

/** The local that holds a word of key part `p`. */
export function partLocal(p: number, name: keyof typeof PART): number {
  return FIRST_PART + PART_WORDS.length * p + PART_WORDS.indexOf(name)
}

/** The first local that is free for a kernel's own use. */
export function firstOwn(key: KernelKey): number {
  return partLocal(partsOf(key).length, 'key')
}

/** The types of a kernel's locals, of which `own` are for its own use. */
export function localsOf(key: KernelKey, own: number): readonly 'i32'[] {
  return new Array<'i32'>(firstOwn(key) - PARAMETERS.length + own).fill('i32')
}

export function prologue(key: KernelKey): Code {
  const parts = partsOf(key).flatMap((_, p) =>
    PART_WORDS.flatMap((name) => {
      const at = FRAME.parts + PART_BYTES * p + PART[name]
      return [...(isAddressField(name) ? addressWord(at) : word(at)), ...set(partLocal(p, name))]
    }),
  )
  return [...[...addressWord(FRAME.codes), ...set(CODES)], ...[...addressWord(FRAME.selection), ...set(SELECTION), ...parts]]
}

/** The key of the row as a 32-bit integer; for other numbers an integer that differs from them, which `isWhole` finds. */
export function keyOf(type: KernelType, row: number, column: number, ahead = 0): Code {
  const { opcode, log2 } = LOAD[type]
  const loaded = [...element(column, row, log2), ...I.memory(opcode, ahead << log2)]
  if (type === 'f64') return [...loaded, ...TRUNCATE_F64]
  if (type === 'f32') return [...loaded, OP.f64PromoteF32, ...TRUNCATE_F64]
  return loaded
}

/** Whether the key of the row is the 32-bit integer in local `whole`, which `keyOf` gave; undefined where the type has no other values. */
export function isWhole(type: KernelType, row: number, whole: number, column: number, ahead = 0): Code | undefined {
  const { log2 } = LOAD[type]
  const at = element(column, row, log2)
  const offset = ahead << log2
  switch (type) {
    case 'f64':
      return [...at, ...I.memory(OP.f64Load, offset), ...get(whole), OP.f64ConvertI32S, OP.f64Eq]
    case 'f32':
      return [...at, ...I.memory(OP.f32Load, offset), OP.f64PromoteF32, ...get(whole), OP.f64ConvertI32S, OP.f64Eq]
    case 'i64':
      return [...at, ...I.memory(OP.i32Load, offset + 4), ...get(whole), ...num(31), OP.i32ShrS, OP.i32Eq]
    case 'i32':
    case 'u32':
    case 'i16':
    case 'u16':
    case 'i8':
    case 'u8':
      return undefined
  }
}

/** Whether the key of the row can be made of the integer in local `whole`: as `isWhole`, but not for -0. */
export function isMadeOf(type: KernelType, row: number, whole: number, column: number, ahead = 0): Code | undefined {
  if (type !== 'f64') return isWhole(type, row, whole, column, ahead)
  const bits = [...element(column, row, LOAD.f64.log2), ...I.memory(OP.i64Load, ahead << LOAD.f64.log2)]
  return [...bits, ...get(whole), OP.f64ConvertI32S, OP.i64ReinterpretF64, OP.i64Eq]
}

/**
 * Sets SLOT to the row's slot. Runs `outside` where a part of the key is not within its span, or `test` does not hold of it; that code
 * must not fall through.
 */
export function checkedSlot(
  parts: readonly KeyPart[],
  row: number,
  outside: Code,
  { ahead = 0, test = isWhole }: { readonly ahead?: number; readonly test?: typeof isWhole } = {},
): Code {
  return parts.flatMap(({ type, nullable }, p): Code => {
    const [column, base, span] = [partLocal(p, 'key'), partLocal(p, 'base'), partLocal(p, 'span')]
    const whole = test(type, row, A, column, ahead)
    const inside = [
      ...[...keyOf(type, row, column, ahead), ...I.localTee(A), ...get(base), OP.i32Sub, ...I.localTee(B), ...get(span), OP.i32LtU],
      ...[...(whole === undefined ? [] : [...whole, OP.i32And]), OP.i32Eqz, ...I.if(), ...outside, OP.end],
    ]
    const place = nullable
      ? [...bitOf(partLocal(p, 'bits'), row, ahead), ...I.if(), ...inside, OP.else, ...get(span), ...set(B), OP.end]
      : inside
    return [...place, ...(p === 0 ? [] : get(SLOT)), ...added(parts, p, get(B)), ...set(SLOT)]
  })
}

/** Adds the place of part `p` to the slot on the stack, times its stride; the last part's stride is 1. */
export function added(parts: readonly KeyPart[], p: number, place: Code): Code {
  const strided = p === parts.length - 1 ? place : [...place, ...get(partLocal(p, 'stride')), OP.i32Mul]
  return p === 0 ? strided : [...strided, OP.i32Add]
}

/**
 * Touches each cache line of the key's only part from row ROW to TO, so that the values are cached when they are read. A processor
 * waits for several lines at once, but sees only so many instructions ahead: in a kernel that reads nothing else it finds few
 * loads to overlap. Overwrites SLOT.
 */
export function touchedKey([part]: readonly KeyPart[]): Code {
  const { log2 } = LOAD[part?.type ?? 'i32']
  const isLeft = [...get(SLOT), ...get(TO), OP.i32LtU]
  return [
    ...[...get(ROW), ...I.localTee(SLOT), ...get(TO), OP.i32LtU, ...I.if()],
    ...[...I.loop, ...element(partLocal(0, 'key'), SLOT, log2), ...I.memory(OP.i32Load8U), OP.drop],
    ...[...get(SLOT), ...num(LINE_BYTES >> log2), OP.i32Add, ...set(SLOT), ...isLeft, ...I.brIf(0), OP.end, OP.end],
  ]
}

const LINE_BYTES = 64

/** The size in bytes from which a column is not cached when it is read: near caches hold less, and others share the far ones. */
const FAR_BYTES = 2 ** 22

/** Whether a kernel that reads nothing but the key touches it first: one part, and a column that is too large for the near caches. */
export function isTouched(parts: readonly KeyPart[], rows: number): boolean {
  const [part, ...others] = parts
  return part !== undefined && others.length === 0 && rows * 2 ** LOAD[part.type].log2 >= FAR_BYTES
}

/** The rows that an iteration of a kernel's unrolled loop takes. */
const AT_ONCE = 4

/**
 * Runs `each` for every row from ROW to TO, and leaves ROW at TO; unrolled, `each` is passed how many rows after ROW its own is.
 * `four`: code for four rows at once, instead of four times `each`.
 */
export function eachRow(each: (ahead: number) => Code, four?: Code): Code {
  const rows = four ?? Array.from({ length: AT_ONCE }, (_, ahead) => each(ahead)).flat()
  const turns = (isLeft: Code, turn: Code, count: number): Code => [
    ...[
      ...isLeft,
      ...I.if(),
      ...I.loop,
      ...turn,
      ...get(ROW),
      ...num(count),
      OP.i32Add,
      ...set(ROW),
      ...isLeft,
      ...I.brIf(0),
      OP.end,
      OP.end,
    ],
  ]
  const enough = [...get(TO), ...get(ROW), OP.i32Sub, ...num(AT_ONCE), OP.i32GeS]
  return [...turns(enough, rows, AT_ONCE), ...turns([...get(ROW), ...get(TO), OP.i32LtS], each(0), 1)]
}
