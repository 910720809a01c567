/**
 * A kernel: one function, the memory that it works on, and the numbers and functions that it imports. It is written for addresses of
 * 32 bits; a parameter or an imported number declares that it is one, so that a pass can widen it to 64 bits.
 */
import type { Code, ValueType } from './instructions.ts'

export type Import =
  | { readonly kind: 'function'; readonly name: string; readonly parameters: readonly ValueType[]; readonly results: readonly ValueType[] }
  /** A number. Types `address` and `stride` (in elements between rows) are i32 here; `passes/wideAddresses.ts` needs the distinction. */
  | { readonly kind: 'global'; readonly name: string; readonly type: ValueType | 'address' | 'stride' }

/** The width of the addresses of a memory's bytes. */
export type AddressType = 'i32' | 'i64'

/** The type of a kernel's parameter; an address is passed as an i32. */
export type ParameterType = ValueType | 'address'

export interface KernelModule {
  readonly imports: readonly Import[]
  readonly parameters: readonly ParameterType[]
  readonly locals: readonly ValueType[]
  readonly body: Code
  /** The width of the memory's addresses; absent means i32. */
  readonly addresses?: AddressType
  /** Set where the memory belongs to another module, which shares it with no thread: the import is then declared unshared. */
  readonly foreign?: true
  /** Set of functions of numbers alone: what their code leaves. */
  readonly result?: ValueType
}

/** The module name that kernels import from, and the name of the function that they export. */
export const MODULE = 'k'
export const EXPORTED = 'run'

/** The most pages of 64 KiB that a memory can have: all that 32-bit addresses reach, or 16 GiB, V8's limit for 64-bit memories. */
export const MOST_PAGES: { readonly [A in AddressType]: number } = { i32: 2 ** 16, i64: 2 ** 18 }

export function heldType(type: ValueType | 'address' | 'stride'): ValueType {
  return type === 'address' || type === 'stride' ? 'i32' : type
}

/** Returns the imported numbers of a kernel, in the order of the indices by which instructions name them. */
export function globalsOf({ imports }: KernelModule): readonly Extract<Import, { kind: 'global' }>[] {
  return imports.filter((entry) => entry.kind === 'global')
}
