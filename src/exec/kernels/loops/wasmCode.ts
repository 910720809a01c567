/**
 * Shared by the parts of the compiler of loop bodies: the target that they compile for, and loads and stores by element type.
 */

import type { DType } from '../../../core/data/schema.ts'
import type { FunctionIr } from '../../../core/ir/functionIr.ts'
import type { Precision } from '../../../core/loop/loopSpec.ts'
import { type Code, I, OP, type Plain } from '../../kir/instructions.ts'
import { bigintType, F64, HIGHEST, LOWEST, type Value } from '../expressions/types.ts'
import type { ArrayShape, KernelShape } from '../js/loopKernelShape.ts'

/** The properties on which a module depends besides the IR and the kernel's shape. */
export interface WasmTarget {
  readonly ir: FunctionIr
  readonly shape: KernelShape
  /** The element types of privatized arrays, by array; undefined where adds go to the array itself. */
  readonly laneTypes: readonly (DType | undefined)[]
  /** A number for each array; arrays with the same number share memory. */
  readonly identities: readonly number[]
  /** The number of the dense array iterated over; undefined where no array of the body shares its memory. */
  readonly elementIdentity: number | undefined
  /** The element types of captured tables; undefined for those that are not numbers in the arena. */
  readonly tableTypes: readonly (DType | undefined)[]
  readonly tableLengths: readonly number[]
  /** The types of the iterated columns, by column; undefined for those that cannot be read as numbers. */
  readonly columnTypes: readonly (DType | undefined)[]
  /** The precision that the engine supports, of the one that was asked for. */
  readonly precision: Precision
  /** Whether scratch blocks have room for kept rows; see `keptRows.ts`. */
  readonly keepsRows: boolean
}

/** The address of an access whose bounds were checked before its loop; see `wasmLoops.ts`. */
export interface KnownAddress {
  readonly code: () => Code
  readonly offset: number
}

export const LOG2_BYTES: { readonly [D in DType]: number } = {
  f64: 3,
  i64: 3,
  f32: 2,
  i32: 2,
  u32: 2,
  i16: 1,
  u16: 1,
  i8: 0,
  u8: 0,
  bool: 0,
}

export type DenseShape = Extract<ArrayShape, { kind: 'dense' }>

/** The locals of a generator of random numbers. */
export interface Generator {
  readonly key: readonly [number, number]
  readonly pass: number
  readonly drawn: number
  /** The unused numbers of the last blocks: all but the first; a block has two. */
  readonly spare: readonly number[]
}

/** A block that `br` can leave: the end of a loop, its next iteration, a label, the whole iteration, or any other. Innermost last. */
export interface Control {
  readonly kind: 'exit' | 'next' | 'label' | 'iteration' | 'other'
  readonly label?: string | undefined
}

export interface ThrownError {
  readonly error: 'Error' | 'RangeError' | 'TypeError'
  /** A text, or the parts of one that is made of numbers which the kernel hands over (`wasmErrors.ts`). */
  readonly message: string | undefined | readonly MessagePart[]
}

/** A part of a message: a text, or what is made of the next number that was handed over. */
export type MessagePart = string | { readonly of: 'number' | 'truth' } | { readonly of: 'fixed'; readonly digits: number }

/** Loads an element as a value; `address` leaves its address. */
export function loadOf(dtype: DType, address: Code, offset = 0): Value {
  const code = loadBits(dtype, address, offset)
  switch (dtype) {
    case 'f64':
      return { type: F64, code }
    case 'i64':
      return { type: bigintType(-(2n ** 63n), 2n ** 63n - 1n), code }
    case 'f32':
      return { type: F64, code: [code, OP.f64PromoteF32] }
    case 'u32':
      return { type: { kind: 'i64', low: 0, high: 2 ** 32 - 1 }, code: [address, I.memory(OP.i64Load32U, offset)] }
    case 'i32':
      return { type: { kind: 'i32', low: LOWEST, high: HIGHEST }, code }
    case 'i16':
      return { type: { kind: 'i32', low: -(2 ** 15), high: 2 ** 15 - 1 }, code }
    case 'u16':
      return { type: { kind: 'i32', low: 0, high: 2 ** 16 - 1 }, code }
    case 'i8':
      return { type: { kind: 'i32', low: -128, high: 127 }, code }
    case 'u8':
    case 'bool':
      return { type: { kind: 'i32', low: 0, high: 255 }, code }
  }
}

const LOADS: { readonly [D in DType]: Plain } = {
  f64: OP.f64Load,
  i64: OP.i64Load,
  f32: OP.f32Load,
  i32: OP.i32Load,
  u32: OP.i32Load,
  i16: OP.i32Load16S,
  u16: OP.i32Load16U,
  i8: OP.i32Load8S,
  u8: OP.i32Load8U,
  bool: OP.i32Load8U,
}

export function loadBits(dtype: DType, address: Code, offset: number): Code {
  return [address, I.memory(LOADS[dtype], offset)]
}

/** Converts a value as a store and a load of this type would. */
export function reloaded(dtype: DType, stored: Code): Code {
  switch (dtype) {
    case 'f32':
      return [stored, OP.f32DemoteF64, OP.f64PromoteF32]
    case 'u32':
      return [stored, OP.i64ExtendI32U]
    case 'i16':
      return [stored, OP.i32Extend16S]
    case 'u16':
      return [stored, I.i32Const(0xffff), OP.i32And]
    case 'i8':
      return [stored, OP.i32Extend8S]
    case 'u8':
      return [stored, I.i32Const(0xff), OP.i32And]
    case 'f64':
    case 'i64':
    case 'i32':
    case 'bool':
      return stored
  }
}

/** Stores a double (float types), a bigint's lowest 64 bits, or the low bits of an integer. */
export function storeOf(dtype: DType, offset = 0): Code {
  switch (dtype) {
    case 'f64':
      return I.memory(OP.f64Store, offset)
    case 'i64':
      return I.memory(OP.i64Store, offset)
    case 'f32':
      return [OP.f32DemoteF64, I.memory(OP.f32Store, offset)]
    case 'i32':
    case 'u32':
      return I.memory(OP.i32Store, offset)
    case 'i16':
    case 'u16':
      return I.memory(OP.i32Store16, offset)
    case 'i8':
    case 'u8':
    case 'bool':
      return I.memory(OP.i32Store8, offset)
  }
}

export function shifted(shift: number): Code {
  return shift === 0 ? [] : [I.i32Const(shift), OP.i32Shl]
}

export function sumOf(terms: readonly Code[]): Code {
  return terms.map((term, i) => (i === 0 ? term : [term, OP.i32Add]))
}

/** The outcome of vectorization for one innermost loop, or for the iterations as lanes; explain({ kernel: true }) prints it. */
export interface LoopFate {
  /** The outcome in words. */
  readonly text: string
  /** The place of the loop's `for` in the source; absent for the loop over iterations. */
  readonly place?: string
  /** The number of iterations computed at once; 1 where the loop is not vectorized. */
  readonly lanes: number
  /** Whether the loops inside are computed in the same lanes (outer-loop vectorization). */
  readonly nested?: boolean
  /** Whether it runs beside the last loop of the previous iteration (software pipelining). */
  readonly isBeside?: boolean
}
