/**
 * Instructions of WebAssembly as bytes: their numbers, and immediates in LEB128.
 *
 *     [I.localGet(0), I.f64Const(0.5), OP.f64Mul]      local.get 0; f64.const 0.5; f64.mul
 */

/** Bytes, in lists of lists: what contains code holds it as it is, and only the module has the bytes side by side. */
export type Code = readonly (number | Code)[]

/** Code that is still written. */
export type GrowingCode = (number | Code)[]

export const TYPE = { i32: 0x7f, i64: 0x7e, f32: 0x7d, f64: 0x7c, v128: 0x7b } as const

export type ValueType = keyof typeof TYPE

/** Code as bytes side by side. */
export function bytesOf(code: Code): number[] {
  const bytes: number[] = []
  append(bytes, code)
  return bytes
}

function append(bytes: number[], code: Code): void {
  for (let i = 0; i < code.length; i++) {
    const part = code[i] ?? 0
    if (typeof part === 'number') bytes.push(part)
    else append(bytes, part)
  }
}

export function isEmpty(code: Code): boolean {
  return code.every((part) => typeof part !== 'number' && isEmpty(part))
}

/** Tells code apart. */
export function codeId(code: Code): string {
  return bytesOf(code).join()
}

/** Unsigned LEB128. */
export function unsigned(value: number): number[] {
  const bytes: number[] = []
  let rest = value
  do {
    const low = rest % 128
    rest = Math.floor(rest / 128)
    bytes.push(rest === 0 ? low : low | 0x80)
  } while (rest !== 0)
  return bytes
}

/** Signed LEB128 of a 32-bit integer. */
export function signed(value: number): number[] {
  const bytes: number[] = []
  let rest = value | 0
  for (;;) {
    const low = rest & 0x7f
    rest >>= 7
    const done = (rest === 0 && (low & 0x40) === 0) || (rest === -1 && (low & 0x40) !== 0)
    bytes.push(done ? low : low | 0x80)
    if (done) return bytes
  }
}

/** Signed LEB128 of an integer that a double holds, or of a bigint of 64 bits. */
function signed64(value: number | bigint): number[] {
  if (typeof value === 'number' && value === (value | 0)) return signed(value)
  const bytes: number[] = []
  let rest = BigInt(value)
  for (;;) {
    const low = Number(rest & 0x7fn)
    rest >>= 7n
    const done = (rest === 0n && (low & 0x40) === 0) || (rest === -1n && (low & 0x40) !== 0)
    bytes.push(done ? low : low | 0x80)
    if (done) return bytes
  }
}

function float64(value: number): number[] {
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setFloat64(0, value, true)
  return [...bytes]
}

/** Instructions with immediates are functions that give their bytes. */
export const I = {
  localGet: (i: number): Code => [0x20, ...unsigned(i)],
  localSet: (i: number): Code => [0x21, ...unsigned(i)],
  localTee: (i: number): Code => [0x22, ...unsigned(i)],
  globalGet: (i: number): Code => [0x23, ...unsigned(i)],
  /** An address that lies in memory, where it has room of 8 bytes. Nothing else is loaded or stored as aligned (see `wideAddresses.ts`). */
  addressLoad: (offset = 0): Code => [OP.i32Load, ...unsigned(2), ...unsigned(offset)],
  addressStore: (offset = 0): Code => [OP.i32Store, ...unsigned(2), ...unsigned(offset)],
  i32Const: (value: number): Code => [0x41, ...signed(value)],
  i64Const: (value: number | bigint): Code => [0x42, ...signed64(value)],
  f64Const: (value: number): Code => [0x44, ...float64(value)],
  call: (i: number): Code => [0x10, ...unsigned(i)],
  br: (depth: number): Code => [0x0c, ...unsigned(depth)],
  brIf: (depth: number): Code => [0x0d, ...unsigned(depth)],
  /** A block of statements, or of an expression that leaves a value. */
  block: (type?: ValueType): Code => [0x02, type === undefined ? 0x40 : TYPE[type]],
  loop: [0x03, 0x40] as Code,
  if: (type?: ValueType): Code => [0x04, type === undefined ? 0x40 : TYPE[type]],
  /** Loads and stores: opcode, alignment as a power of two, constant offset. */
  memory: (opcode: number, offset = 0): Code => [opcode, ...unsigned(0), ...unsigned(offset)],
  simd: (opcode: number): Code => [0xfd, ...unsigned(opcode)],
  simdMemory: (opcode: number, offset = 0): Code => [0xfd, ...unsigned(opcode), ...unsigned(0), ...unsigned(offset)],
  simdLane: (opcode: number, lane: number): Code => [0xfd, ...unsigned(opcode), lane],
  /** Loads and stores of one lane. */
  simdMemoryLane: (opcode: number, lane: number, offset = 0): Code => [
    0xfd,
    ...unsigned(opcode),
    ...unsigned(0),
    ...unsigned(offset),
    lane,
  ],
  /** A vector of four integers. */
  lanes: (values: readonly number[]): Code => [0xfd, 0x0c, ...new Uint8Array(Int32Array.from(values).buffer)],
  /** Bytes of two vectors, by their number among the 32; what is not said is the first. */
  shuffle: (bytes: readonly number[]): Code => [0xfd, ...unsigned(0x0d), ...Array.from({ length: 16 }, (_, i) => bytes[i] ?? 0)],
} as const

/** One-byte instructions. */
export const OP = {
  unreachable: 0x00,
  else: 0x05,
  end: 0x0b,
  drop: 0x1a,
  select: 0x1b,
  i32Load: 0x28,
  i64Load: 0x29,
  f32Load: 0x2a,
  f64Load: 0x2b,
  i32Load8S: 0x2c,
  i32Load8U: 0x2d,
  i32Load16S: 0x2e,
  i32Load16U: 0x2f,
  i64Load32U: 0x35,
  i32Store: 0x36,
  i64Store: 0x37,
  f32Store: 0x38,
  f64Store: 0x39,
  i32Store8: 0x3a,
  i32Store16: 0x3b,
  i64Store8: 0x3c,
  i64Store16: 0x3d,
  i64Store32: 0x3e,
  i32Eqz: 0x45,
  i32Eq: 0x46,
  i32Ne: 0x47,
  i32LtS: 0x48,
  i32LtU: 0x49,
  i32GtS: 0x4a,
  i32GtU: 0x4b,
  i32LeS: 0x4c,
  i32LeU: 0x4d,
  i32GeS: 0x4e,
  i32GeU: 0x4f,
  i64Eqz: 0x50,
  i64Eq: 0x51,
  i64Ne: 0x52,
  i64LtS: 0x53,
  i64LtU: 0x54,
  i64GtS: 0x55,
  i64GtU: 0x56,
  i64LeS: 0x57,
  i64LeU: 0x58,
  i64GeS: 0x59,
  i64GeU: 0x5a,
  f32Ne: 0x5c,
  f64Eq: 0x61,
  f64Ne: 0x62,
  f64Lt: 0x63,
  f64Gt: 0x64,
  f64Le: 0x65,
  f64Ge: 0x66,
  i32Clz: 0x67,
  i32Ctz: 0x68,
  i32Popcnt: 0x69,
  i32Add: 0x6a,
  i32Sub: 0x6b,
  i32Mul: 0x6c,
  i32DivS: 0x6d,
  i32DivU: 0x6e,
  i32RemS: 0x6f,
  i32RemU: 0x70,
  i32And: 0x71,
  i32Or: 0x72,
  i32Xor: 0x73,
  i32Shl: 0x74,
  i32ShrS: 0x75,
  i32ShrU: 0x76,
  i64Clz: 0x79,
  i64Add: 0x7c,
  i64Sub: 0x7d,
  i64Mul: 0x7e,
  i64DivS: 0x7f,
  i64DivU: 0x80,
  i64RemS: 0x81,
  i64RemU: 0x82,
  i64And: 0x83,
  i64Or: 0x84,
  i64Xor: 0x85,
  i64Shl: 0x86,
  i64ShrS: 0x87,
  i64ShrU: 0x88,
  f32Add: 0x92,
  f32Sub: 0x93,
  f32Mul: 0x94,
  f32Div: 0x95,
  f64Abs: 0x99,
  f64Neg: 0x9a,
  f64Ceil: 0x9b,
  f64Floor: 0x9c,
  f64Trunc: 0x9d,
  f64Sqrt: 0x9f,
  f64Add: 0xa0,
  f64Sub: 0xa1,
  f64Mul: 0xa2,
  f64Div: 0xa3,
  f64Min: 0xa4,
  f64Max: 0xa5,
  f64Copysign: 0xa6,
  i32WrapI64: 0xa7,
  i64ExtendI32S: 0xac,
  i64ExtendI32U: 0xad,
  f32DemoteF64: 0xb6,
  f64ConvertI32S: 0xb7,
  f64ConvertI32U: 0xb8,
  f64ConvertI64S: 0xb9,
  f64ConvertI64U: 0xba,
  f64PromoteF32: 0xbb,
  i64ReinterpretF64: 0xbd,
  f64ReinterpretI64: 0xbf,
  i32Extend8S: 0xc0,
  i32Extend16S: 0xc1,
} as const

/** Conversions that saturate instead of trapping. */
export const SATURATE = { i32U: [0xfc, 0x03], i64S: [0xfc, 0x06] } as const

/** SIMD128 instructions by their number after the prefix. */
export const SIMD = {
  load: 0x00,
  load16x4S: 0x03,
  load16x4U: 0x04,
  load8Splat: 0x07,
  load16Splat: 0x08,
  load32Splat: 0x09,
  load64Splat: 0x0a,
  store: 0x0b,
  const: 0x0c,
  shuffle: 0x0d,
  i8Splat: 0x0f,
  i32Splat: 0x11,
  i64Splat: 0x12,
  f32Splat: 0x13,
  f64Splat: 0x14,
  i32ExtractLane: 0x1b,
  i32ReplaceLane: 0x1c,
  i64ExtractLane: 0x1d,
  i64ReplaceLane: 0x1e,
  f32ExtractLane: 0x1f,
  f32ReplaceLane: 0x20,
  f64ExtractLane: 0x21,
  f64ReplaceLane: 0x22,
  i8Eq: 0x23,
  i32Eq: 0x37,
  i32Ne: 0x38,
  i32Lt: 0x39,
  i32LtU: 0x3a,
  i32Gt: 0x3b,
  i32Le: 0x3d,
  i32Ge: 0x3f,
  f32Eq: 0x41,
  f32Ne: 0x42,
  f32Lt: 0x43,
  f32Gt: 0x44,
  f32Le: 0x45,
  f32Ge: 0x46,
  f64Eq: 0x47,
  f64Ne: 0x48,
  f64Lt: 0x49,
  f64Gt: 0x4a,
  f64Le: 0x4b,
  f64Ge: 0x4c,
  not: 0x4d,
  and: 0x4e,
  andNot: 0x4f,
  or: 0x50,
  xor: 0x51,
  bitSelect: 0x52,
  anyTrue: 0x53,
  load32Lane: 0x56,
  load64Lane: 0x57,
  store8Lane: 0x58,
  store16Lane: 0x59,
  store32Lane: 0x5a,
  store64Lane: 0x5b,
  load32Zero: 0x5c,
  load64Zero: 0x5d,
  demoteF64: 0x5e,
  promoteF32: 0x5f,
  i8Bitmask: 0x64,
  i8Narrow16: 0x65,
  f32Ceil: 0x67,
  f32Floor: 0x68,
  f32Trunc: 0x69,
  f32Nearest: 0x6a,
  f64Ceil: 0x74,
  f64Floor: 0x75,
  f64Trunc: 0x7a,
  i16Narrow32: 0x85,
  i16ExtendI8S: 0x87,
  i16ExtendI8U: 0x89,
  i32Abs: 0xa0,
  i32AllTrue: 0xa3,
  i32Bitmask: 0xa4,
  i32ExtendI16S: 0xa7,
  i32ExtendI16U: 0xa9,
  i32Shl: 0xab,
  i32ShrS: 0xac,
  i32ShrU: 0xad,
  i32Add: 0xae,
  i32Sub: 0xb1,
  i32Mul: 0xb5,
  i32Min: 0xb6,
  i32Max: 0xb8,
  i64Neg: 0xc1,
  i64ExtendI32S: 0xc7,
  i64ExtendHighI32S: 0xc8,
  i64Shl: 0xcb,
  i64ShrS: 0xcc,
  i64ShrU: 0xcd,
  i64Add: 0xce,
  i64Sub: 0xd1,
  i64Mul: 0xd5,
  i64Eq: 0xd6,
  i64Ne: 0xd7,
  i64LtS: 0xd8,
  i64GtS: 0xd9,
  i64LeS: 0xda,
  i64GeS: 0xdb,
  f32Abs: 0xe0,
  f32Neg: 0xe1,
  f32Sqrt: 0xe3,
  f32Add: 0xe4,
  f32Sub: 0xe5,
  f32Mul: 0xe6,
  f32Div: 0xe7,
  f32Min: 0xe8,
  f32Max: 0xe9,
  f64Abs: 0xec,
  f64Neg: 0xed,
  f64Sqrt: 0xef,
  f64Add: 0xf0,
  f64Sub: 0xf1,
  f64Mul: 0xf2,
  f64Div: 0xf3,
  f64Min: 0xf4,
  f64Max: 0xf5,
  /** The lesser, or the first where they have no order. */
  f64LesserOrFirst: 0xf6,
  f64GreaterOrFirst: 0xf7,
  i32TruncF32S: 0xf8,
  f32ConvertI32S: 0xfa,
  i32TruncF64S: 0xfc,
  f64ConvertI32S: 0xfe,
  f64ConvertI32U: 0xff,
  /** Relaxed SIMD: what the CPU decides is said where each is used. */
  i32RelaxedTruncF32S: 0x101,
  f32RelaxedMadd: 0x105,
  f32RelaxedNmadd: 0x106,
  f64RelaxedMadd: 0x107,
  f64RelaxedNmadd: 0x108,
} as const
