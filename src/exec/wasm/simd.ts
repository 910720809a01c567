/**
 * SIMD128 for columns: instructions by their number after the prefix, and the values kernels compute four rows at a time.
 *
 *     f64    two vectors: rows 0 1, rows 2 3        i32, truth    one vector, a lane a row (truth: all ones or zeros)
 */
import { type Code, I, unsigned } from './instructions.ts'

export const V = {
  load: 0x00,
  load16x4S: 0x03,
  load16x4U: 0x04,
  store: 0x0b,
  const: 0x0c,
  shuffle: 0x0d,
  i8Splat: 0x0f,
  i32Splat: 0x11,
  i64Splat: 0x12,
  f64Splat: 0x14,
  i32Extract: 0x1b,
  i32Replace: 0x1c,
  i64Extract: 0x1d,
  i64Replace: 0x1e,
  f64Extract: 0x21,
  f64Replace: 0x22,
  i8Eq: 0x23,
  i32Eq: 0x37,
  i32Ne: 0x38,
  i32LtS: 0x39,
  i32LtU: 0x3a,
  i32GtS: 0x3b,
  i32LeS: 0x3d,
  i32GeS: 0x3f,
  f64Eq: 0x47,
  f64Lt: 0x49,
  f64Gt: 0x4a,
  f64Le: 0x4b,
  f64Ge: 0x4c,
  not: 0x4d,
  and: 0x4e,
  or: 0x50,
  xor: 0x51,
  bitselect: 0x52,
  anyTrue: 0x53,
  store32Lane: 0x5a,
  load32Zero: 0x5c,
  load64Zero: 0x5d,
  demote: 0x5e,
  promote: 0x5f,
  i8Bitmask: 0x64,
  i8Narrow16: 0x65,
  f64Ceil: 0x74,
  f64Floor: 0x75,
  f64Trunc: 0x7a,
  i16Narrow32: 0x85,
  i16WidenS: 0x87,
  i16WidenU: 0x89,
  i32AllTrue: 0xa3,
  i32Bitmask: 0xa4,
  i32WidenS: 0xa7,
  i32WidenU: 0xa9,
  i32Shl: 0xab,
  i32ShrS: 0xac,
  i32ShrU: 0xad,
  i32Add: 0xae,
  i32Sub: 0xb1,
  i32Mul: 0xb5,
  i64WidenLow: 0xc7,
  i64Neg: 0xc1,
  i64WidenHigh: 0xc8,
  i64Shl: 0xcb,
  i64ShrS: 0xcc,
  i64Add: 0xce,
  i64Sub: 0xd1,
  i64Mul: 0xd5,
  i64Eq: 0xd6,
  i64Ne: 0xd7,
  i64LtS: 0xd8,
  i64GtS: 0xd9,
  i64LeS: 0xda,
  i64GeS: 0xdb,
  f64Abs: 0xec,
  f64Neg: 0xed,
  f64Sqrt: 0xef,
  f64Add: 0xf0,
  f64Sub: 0xf1,
  f64Mul: 0xf2,
  f64Div: 0xf3,
  f64Min: 0xf4,
  f64Max: 0xf5,
  i32FromF64: 0xfc,
  f64FromI32S: 0xfe,
  f64FromI32U: 0xff,
} as const

/** One-byte instructions that loops do not use. */
export const SCALAR = {
  i64Load: 0x29,
  i64Store: 0x37,
  i32GtU: 0x4b,
  i32GeU: 0x4f,
  i64Eq: 0x51,
  i64LtS: 0x53,
  i64GtS: 0x55,
  i32Ctz: 0x68,
  i32DivU: 0x6e,
  i32Popcnt: 0x69,
  i64Clz: 0x79,
  i64Add: 0x7c,
  i64And: 0x83,
  i64ShrS: 0x87,
  i64Store8: 0x3c,
  i64Store16: 0x3d,
  i64Store32: 0x3e,
  f64FromI64S: 0xb9,
} as const

export function vectorConst(bytes: ArrayLike<number>): Code {
  return [0xfd, ...unsigned(V.const), ...Array.from(bytes)]
}

/** Four 32-bit integers as a constant. */
export function lanesConst(lanes: readonly number[]): Code {
  return vectorConst(new Uint8Array(Int32Array.from(lanes).buffer))
}

/** Picks 32-bit lanes: 0 to 3 of the first vector, 4 to 7 of the second. */
export function shuffle32(lanes: readonly number[]): Code {
  return [0xfd, ...unsigned(V.shuffle), ...lanes.flatMap((lane) => [4 * lane, 4 * lane + 1, 4 * lane + 2, 4 * lane + 3])]
}

export const simd: (opcode: number) => Code = I.simd

/** A bigint's lowest 64 bits as a constant. */
export function i64Const(value: bigint): Code {
  return I.i64Const(BigInt.asIntN(64, value))
}
