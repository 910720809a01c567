/**
 * Instructions of the kernel IR, and how code is written: in postfix order, each instruction takes what those before it left.
 *
 *     [I.localGet(0), I.f64Const(0.5), OP.f64Mul]      local.get 0; f64.const 0.5; f64.mul
 *
 * Passes read code as trees (`tree.ts`); what runs is the bytes that `wasmEncoder.ts` makes.
 */
import { type Closing, OP, type Plain } from './namedOperations.ts'
import type { ValueType } from './operations.ts'

export { ATOMIC, OP, type Plain, SATURATE, SIMD } from './namedOperations.ts'
export type { ValueType } from './operations.ts'

export type Instruction =
  | Plain
  | Closing
  /** A constant. The value of an `i64` is a double that is an integer, or a bigint of 64 bits. */
  | { readonly kind: 'const'; readonly type: 'i32' | 'i64' | 'f64'; readonly value: number | bigint }
  /** A vector constant of 16 bytes, or a shuffle: 16 indices into the 32 bytes of its two operands. */
  | { readonly kind: 'vector' | 'shuffle'; readonly bytes: readonly number[] }
  | { readonly kind: 'local'; readonly name: 'local.get' | 'local.set' | 'local.tee'; readonly index: number }
  | { readonly kind: 'global' | 'call'; readonly index: number }
  /** A jump; `depth` counts the open blocks outwards, 0 is the innermost. */
  | { readonly kind: 'branch'; readonly name: 'br' | 'br_if'; readonly depth: number }
  /** Opens a block, which `end` closes. */
  | { readonly kind: 'block' | 'loop' | 'if'; readonly result: ValueType | undefined }

/** Instructions in nested lists: code that contains other code holds it unflattened. */
export type Code = readonly (Instruction | Code)[]

/** A list of code that is still being appended to. */
export type GrowingCode = (Instruction | Code)[]

/** Flattens nested code into a list of instructions. */
export function flat(code: Code): readonly Instruction[] {
  const instructions: Instruction[] = []
  append(instructions, code)
  return instructions
}

function append(instructions: Instruction[], code: Code): void {
  for (const part of code) {
    if ('kind' in part) instructions.push(part)
    else append(instructions, part)
  }
}

export function isEmpty(code: Code): boolean {
  return code.every((part) => !('kind' in part) && isEmpty(part))
}

/** Returns a text that is equal for equal code, and different for different code. */
export function codeId(code: Code): string {
  return flat(code).map(instructionId).join()
}

function instructionId(one: Instruction): string {
  switch (one.kind) {
    case 'plain':
      return `${one.operation.name} ${one.offset} ${one.alignment} ${one.lane}`
    case 'const':
      return `${one.type} ${Object.is(one.value, -0) ? '-0' : one.value}`
    case 'vector':
    case 'shuffle':
      return `${one.kind} ${one.bytes.join(' ')}`
    case 'local':
      return `${one.name} ${one.index}`
    case 'global':
    case 'call':
      return `${one.kind} ${one.index}`
    case 'branch':
      return `${one.name} ${one.depth}`
    case 'block':
    case 'loop':
    case 'if':
      return `${one.kind} ${one.result}`
    case 'else':
    case 'end':
      return one.kind
  }
}

/** Makes an instruction per index, once each: code has few different indices, and uses each many times. */
function indexed(make: (index: number) => Instruction): (index: number) => Code {
  const made: Code[] = []
  return (index) => (made[index] ??= [make(index)])
}

/** Makes the instruction with this index. */
type Indexed = (index: number) => Code

export const I = {
  localGet: indexed((index) => ({ kind: 'local', name: 'local.get', index })) as Indexed,
  localSet: indexed((index) => ({ kind: 'local', name: 'local.set', index })) as Indexed,
  localTee: indexed((index) => ({ kind: 'local', name: 'local.tee', index })) as Indexed,
  globalGet: indexed((index) => ({ kind: 'global', index })) as Indexed,
  call: indexed((index) => ({ kind: 'call', index })) as Indexed,
  br: indexed((depth) => ({ kind: 'branch', name: 'br', depth })) as Indexed,
  brIf: indexed((depth) => ({ kind: 'branch', name: 'br_if', depth })) as Indexed,
  i32Const: (value: number): Code => [{ kind: 'const', type: 'i32', value: value | 0 }],
  i64Const: (value: number | bigint): Code => [{ kind: 'const', type: 'i64', value }],
  f64Const: (value: number): Code => [{ kind: 'const', type: 'f64', value }],
  /** A block of statements, or of an expression that leaves a value. */
  block: (result?: ValueType): Code => [{ kind: 'block', result }],
  loop: [{ kind: 'loop', result: undefined }] as Code,
  if: (result?: ValueType): Code => [{ kind: 'if', result }],
  /** Loads and stores, with a constant offset, marked as unaligned: alignment is the mark of addresses (`addressLoad`). */
  memory: (operation: Plain, offset = 0): Code => [offset === 0 ? operation : { ...operation, offset }],
  /** Loads an address from memory, where it occupies 8 bytes. Only addresses are marked as aligned (see `passes/wideAddresses.ts`). */
  addressLoad: (offset = 0): Code => [{ ...OP.i32Load, offset, alignment: 2 }],
  addressStore: (offset = 0): Code => [{ ...OP.i32Store, offset, alignment: 2 }],
  /** Loads and stores of one lane of a vector. */
  simdMemoryLane: (operation: Plain, lane: number, offset = 0): Code => [{ ...operation, offset, lane }],
  simdLane: (operation: Plain, lane: number): Code => [{ ...operation, lane }],
  /** A shuffle: indices into the 32 bytes of two vectors; missing ones are 0. */
  shuffle: (bytes: readonly number[]): Code => [{ kind: 'shuffle', bytes: Array.from({ length: 16 }, (_, i) => bytes[i] ?? 0) }],
} as const

/** Short names for instructions, for kernels that are written by hand. */
export const get: Indexed = I.localGet
export const set: Indexed = I.localSet
export const tee: Indexed = I.localTee
export const num: (value: number) => Code = I.i32Const
export const long = (value: bigint): Code => I.i64Const(BigInt.asIntN(64, value))
