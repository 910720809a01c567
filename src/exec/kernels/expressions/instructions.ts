/**
 * The instructions for JavaScript's operations on numbers, by the representation of the numbers: a scalar in a local, or the lanes of a
 * vector. All emitters use this one table, so that an operation with instructions has them in every representation.
 */
import { type Code, OP, type Plain, SIMD } from '../../kir/instructions.ts'

type Table<Operation extends string, Held extends string, Of> = Readonly<Record<Operation, Readonly<Record<Held, Of>>>>

export type FloatOperation = '+' | '-' | '*' | '/' | 'negated' | 'abs' | 'sqrt' | 'ceil' | 'floor' | 'trunc' | 'min' | 'max' | 'fround'

/** Operations on doubles: a scalar, two in a vector, or as f32, four in a vector. */
export const FLOAT: Table<FloatOperation, 'f64' | 'f64x2' | 'f32x4', Code> = {
  '+': { f64: [OP.f64Add], f64x2: [SIMD.f64Add], f32x4: [SIMD.f32Add] },
  '-': { f64: [OP.f64Sub], f64x2: [SIMD.f64Sub], f32x4: [SIMD.f32Sub] },
  '*': { f64: [OP.f64Mul], f64x2: [SIMD.f64Mul], f32x4: [SIMD.f32Mul] },
  '/': { f64: [OP.f64Div], f64x2: [SIMD.f64Div], f32x4: [SIMD.f32Div] },
  negated: { f64: [OP.f64Neg], f64x2: [SIMD.f64Neg], f32x4: [SIMD.f32Neg] },
  abs: { f64: [OP.f64Abs], f64x2: [SIMD.f64Abs], f32x4: [SIMD.f32Abs] },
  sqrt: { f64: [OP.f64Sqrt], f64x2: [SIMD.f64Sqrt], f32x4: [SIMD.f32Sqrt] },
  ceil: { f64: [OP.f64Ceil], f64x2: [SIMD.f64Ceil], f32x4: [SIMD.f32Ceil] },
  floor: { f64: [OP.f64Floor], f64x2: [SIMD.f64Floor], f32x4: [SIMD.f32Floor] },
  trunc: { f64: [OP.f64Trunc], f64x2: [SIMD.f64Trunc], f32x4: [SIMD.f32Trunc] },
  min: { f64: [OP.f64Min], f64x2: [SIMD.f64Min], f32x4: [SIMD.f32Min] },
  max: { f64: [OP.f64Max], f64x2: [SIMD.f64Max], f32x4: [SIMD.f32Max] },
  fround: { f64: [OP.f32DemoteF64, OP.f64PromoteF32], f64x2: [SIMD.demoteF64, SIMD.promoteF32], f32x4: [] },
}

export type IntegerOperation = '+' | '-' | '*' | '%' | 'min' | 'max'

/** Operations on integers whose result is exact, in 32 and 64 bits; min and max are the comparisons that select the first operand. */
export const INTEGER: Table<IntegerOperation, 'i32' | 'i64', Plain> = {
  '+': { i32: OP.i32Add, i64: OP.i64Add },
  '-': { i32: OP.i32Sub, i64: OP.i64Sub },
  '*': { i32: OP.i32Mul, i64: OP.i64Mul },
  '%': { i32: OP.i32RemU, i64: OP.i64RemU },
  min: { i32: OP.i32LtS, i64: OP.i64LtS },
  max: { i32: OP.i32GtS, i64: OP.i64GtS },
}

/** The same in four lanes; there is no division. */
export const INTEGER_LANES: Readonly<Record<Exclude<IntegerOperation, '%'>, Plain>> = {
  '+': SIMD.i32Add,
  '-': SIMD.i32Sub,
  '*': SIMD.i32Mul,
  min: SIMD.i32Min,
  max: SIMD.i32Max,
}

export type BitOperation = '*' | '&' | '|' | '^' | '<<' | '>>' | '>>>' | 'leadingZeros'

/** Operations on 32-bit integers; `undefined` where there is no vector instruction. */
export const BITS: Readonly<Record<BitOperation, { readonly i32: Plain; readonly i32x4: Plain | undefined }>> = {
  '*': { i32: OP.i32Mul, i32x4: SIMD.i32Mul },
  '&': { i32: OP.i32And, i32x4: SIMD.and },
  '|': { i32: OP.i32Or, i32x4: SIMD.or },
  '^': { i32: OP.i32Xor, i32x4: SIMD.xor },
  '<<': { i32: OP.i32Shl, i32x4: SIMD.i32Shl },
  '>>': { i32: OP.i32ShrS, i32x4: SIMD.i32ShrS },
  '>>>': { i32: OP.i32ShrU, i32x4: SIMD.i32ShrU },
  leadingZeros: { i32: OP.i32Clz, i32x4: undefined },
}

export type Comparison = '<' | '<=' | '>' | '>=' | '==' | '!='

/** Comparisons of doubles and of integers; `u64` is unsigned, which lanes do not have. */
export const COMPARE: Table<Comparison, 'i32' | 'i64' | 'u64' | 'f64' | 'i32x4' | 'i64x2' | 'f64x2' | 'f32x4', Plain> = {
  '<': inOrder('Lt'),
  '<=': inOrder('Le'),
  '>': inOrder('Gt'),
  '>=': inOrder('Ge'),
  '==': equality('Eq'),
  '!=': equality('Ne'),
}

function inOrder(name: 'Lt' | 'Le' | 'Gt' | 'Ge'): (typeof COMPARE)[Comparison] {
  const vectors = { i32x4: SIMD[`i32${name}`], i64x2: SIMD[`i64${name}S`], f64x2: SIMD[`f64${name}`], f32x4: SIMD[`f32${name}`] }
  return { i32: OP[`i32${name}S`], i64: OP[`i64${name}S`], u64: OP[`i64${name}U`], f64: OP[`f64${name}`], ...vectors }
}

function equality(name: 'Eq' | 'Ne'): (typeof COMPARE)[Comparison] {
  const vectors = { i32x4: SIMD[`i32${name}`], i64x2: SIMD[`i64${name}`], f64x2: SIMD[`f64${name}`], f32x4: SIMD[`f32${name}`] }
  return { i32: OP[`i32${name}`], i64: OP[`i64${name}`], u64: OP[`i64${name}`], f64: OP[`f64${name}`], ...vectors }
}

/** Operations on bigints; `/u` and `%u` are unsigned. */
export type BigintOperation = '+' | '-' | '*' | '&' | '|' | '^' | '<<' | '>>' | '>>>' | '/' | '%' | '/u' | '%u'

/** Instructions for the lowest 64 bits of bigints. Lanes have no division, and no shifts by different counts. */
export const BIGINT: Readonly<Record<BigintOperation, { readonly i64: Plain; readonly i64x2?: Plain }>> = {
  '+': { i64: OP.i64Add, i64x2: SIMD.i64Add },
  '-': { i64: OP.i64Sub, i64x2: SIMD.i64Sub },
  '*': { i64: OP.i64Mul, i64x2: SIMD.i64Mul },
  '&': { i64: OP.i64And, i64x2: SIMD.and },
  '|': { i64: OP.i64Or, i64x2: SIMD.or },
  '^': { i64: OP.i64Xor, i64x2: SIMD.xor },
  '<<': { i64: OP.i64Shl },
  '>>': { i64: OP.i64ShrS },
  '>>>': { i64: OP.i64ShrU },
  '/': { i64: OP.i64DivS },
  '%': { i64: OP.i64RemS },
  '/u': { i64: OP.i64DivU },
  '%u': { i64: OP.i64RemU },
}
