/**
 * WebAssembly modules as bytes: sections around the code of one function. Only what kernels need: imported memory, globals and
 * functions, and one export.
 */
import { bytesOf, type Code, OP, TYPE, unsigned, type ValueType } from './instructions.ts'

export type Import =
  | { readonly kind: 'function'; readonly name: string; readonly parameters: readonly ValueType[]; readonly results: readonly ValueType[] }
  /** A number; `address` and `stride` are i32, and are what `wideAddresses.ts` has to know of them. */
  | { readonly kind: 'global'; readonly name: string; readonly type: ValueType | 'address' | 'stride' }

/** What addresses the bytes of a memory. */
export type AddressType = 'i32' | 'i64'

/** Of a kernel's parameter: an address comes as an i32. */
export type ParameterType = ValueType | 'address'

export interface ModuleParts {
  readonly imports: readonly Import[]
  readonly parameters: readonly ParameterType[]
  readonly locals: readonly ValueType[]
  readonly body: Code
  /** What addresses the memory's bytes; i32 unless it says so. */
  readonly addresses?: AddressType
  /** The memory is that of another module, which shares it with no thread. */
  readonly foreign?: true
}

const MODULE = 'k'

/** Pages that addresses of 32 bits reach, and those that V8 gives a memory at most: 16 GiB. */
export const MOST_PAGES: { readonly [A in AddressType]: number } = { i32: 2 ** 16, i64: 2 ** 18 }

const MEMORY_KIND = { i32: 0x03, i64: 0x07 } as const

/** Not shared, of addresses of 32 bits, and of any size. */
const FOREIGN_MEMORY = 0x00

const CODE_SECTION = 10

/** The section that tells which parameters and imported globals are addresses, and which globals strides. Engines skip it. */
export const ADDRESSES_SECTION = 'addresses'

/** A module that imports memory as `k.memory`, shared unless it is foreign, and exports its one function as `run`. */
export function moduleBytes({ imports, parameters, locals, body, addresses = 'i32', foreign }: ModuleParts): Uint8Array<ArrayBuffer> {
  const functions = imports.filter((entry) => entry.kind === 'function')
  const signatures = [{ parameters: parameters.map(heldType), results: [] as readonly ValueType[] }, ...functions]
  const types = signatures.map((signature) => [0x60, ...typeList(signature.parameters), ...typeList(signature.results)])
  let next = 1
  const imported = imports.map((entry) => {
    const description = entry.kind === 'function' ? [0x00, ...unsigned(next++)] : [0x03, TYPE[heldType(entry.type)], 0x00]
    return [...text(MODULE), ...text(entry.name), ...description]
  })
  const limits =
    foreign === true ? [FOREIGN_MEMORY, ...unsigned(1)] : [MEMORY_KIND[addresses], ...unsigned(1), ...unsigned(MOST_PAGES[addresses])]
  const memory = [...text(MODULE), ...text('memory'), 0x02, ...limits]
  const declared = localRuns(locals)
  const code = bytesOf(body)
  const functionBytes = declared.length + code.length + 1
  const codeHead = [...unsigned(1), ...unsigned(functionBytes)]
  const head = [
    ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
    ...addressesSection(imports, parameters),
    ...section(1, vector(types)),
    ...section(2, vector([memory, ...imported])),
    ...section(3, vector([unsigned(0)])),
    ...section(7, vector([[...text('run'), 0x00, ...unsigned(functions.length)]])),
    ...[CODE_SECTION, ...unsigned(codeHead.length + functionBytes), ...codeHead, ...declared],
  ]
  // The body is most of it, and is copied once.
  const bytes = new Uint8Array(head.length + code.length + 1)
  bytes.set(head)
  bytes.set(code, head.length)
  bytes[bytes.length - 1] = OP.end
  return bytes
}

function heldType(type: ValueType | 'address' | 'stride'): ValueType {
  return type === 'address' || type === 'stride' ? 'i32' : type
}

function addressesSection(imports: readonly Import[], parameters: readonly ParameterType[]): number[] {
  const globals = imports.filter((entry) => entry.kind === 'global').map((entry) => entry.type)
  const lists = [placesOf('address', parameters), placesOf('address', globals), placesOf('stride', globals)]
  if (lists.every((list) => list.length === 0)) return []
  return section(0, [...text(ADDRESSES_SECTION), ...lists.flatMap((list) => vector(list.map(unsigned)))])
}

function placesOf<T>(wanted: T, all: readonly T[]): number[] {
  return all.flatMap((one, i) => (one === wanted ? [i] : []))
}

function section(id: number, content: readonly number[]): number[] {
  return [id, ...unsigned(content.length), ...content]
}

function vector(items: readonly (readonly number[])[]): number[] {
  return [...unsigned(items.length), ...items.flat()]
}

const encoder = new TextEncoder()

function text(name: string): number[] {
  const bytes = [...encoder.encode(name)]
  return [...unsigned(bytes.length), ...bytes]
}

function typeList(types: readonly ValueType[]): number[] {
  return vector(types.map((type) => [TYPE[type]]))
}

/** Locals of one type in a row are declared together. */
function localRuns(locals: readonly ValueType[]): number[] {
  const runs: { readonly type: ValueType; count: number }[] = []
  for (const type of locals) {
    const last = runs[runs.length - 1]
    if (last?.type === type) last.count++
    else runs.push({ type, count: 1 })
  }
  return vector(runs.map(({ type, count }) => [...unsigned(count), TYPE[type]]))
}
