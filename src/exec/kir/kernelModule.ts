/**
 * A kernel: one function over a memory that it imports, with what else it imports. It is written for addresses of 32 bits;
 * a parameter or an imported number says where it is one, so that a pass makes those of 64 bits of them.
 */
import type { Code, ValueType } from './instructions.ts'

export type Import =
  | { readonly kind: 'function'; readonly name: string; readonly parameters: readonly ValueType[]; readonly results: readonly ValueType[] }
  /** A number; `address` and `stride`, a number of elements between rows, are i32, and are what `passes/wideAddresses.ts` has to know of them. */
  | { readonly kind: 'global'; readonly name: string; readonly type: ValueType | 'address' | 'stride' }

/** What addresses the bytes of a memory. */
export type AddressType = 'i32' | 'i64'

/** Of a kernel's parameter: an address comes as an i32. */
export type ParameterType = ValueType | 'address'

export interface KernelModule {
  readonly imports: readonly Import[]
  readonly parameters: readonly ParameterType[]
  readonly locals: readonly ValueType[]
  readonly body: Code
  /** What addresses the memory's bytes; i32 unless it says so. */
  readonly addresses?: AddressType
  /** The memory is that of another module, which shares it with no thread. */
  readonly foreign?: true
}

/** Where kernels import from, and what they export. */
export const MODULE = 'k'
export const EXPORTED = 'run'

/** Pages that addresses of 32 bits reach, and those that V8 gives a memory at most: 16 GiB. */
export const MOST_PAGES: { readonly [A in AddressType]: number } = { i32: 2 ** 16, i64: 2 ** 18 }

export function heldType(type: ValueType | 'address' | 'stride'): ValueType {
  return type === 'address' || type === 'stride' ? 'i32' : type
}

/** The imported numbers of a kernel, by the number that instructions have for them. */
export function globalsOf({ imports }: KernelModule): readonly Extract<Import, { kind: 'global' }>[] {
  return imports.filter((entry) => entry.kind === 'global')
}
