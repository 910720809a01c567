/**
 * parquet-wasm's module with its memory as one more import, so that one compiled module serves instances whose memories end at different
 * sizes:
 *
 *     imports   functions …             functions …, a memory of at least so many pages
 *     memory    one, without an end     -
 */
import { Bug } from '../../core/errors.ts'

export const PAGE_BYTES = 65_536
const IMPORTS = 2
const MEMORY = 5
/** The kind of an import. */
const IS_MEMORY = 2

/** The module name of the memory among the imports of an instance; its field name is the number of pages that it begins with. */
const MEMORY_OF = 'memory of at least'

interface Section {
  readonly id: number
  readonly start: number
  readonly body: Uint8Array
  readonly end: number
}

export function withGivenMemory(code: Uint8Array): Uint8Array<ArrayBuffer> {
  const sections = [...sectionsOf(code)]
  const imports = sections.find(({ id }) => id === IMPORTS)
  const memory = sections.find(({ id }) => id === MEMORY)
  if (imports === undefined || memory === undefined) throw new Bug('parquet-wasm imports nothing, or declares no memory.')
  const memories = varint(memory.body, 0)
  const flags = memory.body[memories.end]
  if (memories.value !== 1 || (flags !== 0 && flags !== 1))
    throw new Bug('The memory of parquet-wasm is declared in a form that is not known.')
  const { value: least } = varint(memory.body, memories.end + 1)
  const before = varint(imports.body, 0)
  const added = [...nameBytes(MEMORY_OF), ...nameBytes(String(least)), IS_MEMORY, 0, ...varintBytes(least)]
  const body = [varintBytes(before.value + 1), imports.body.subarray(before.end), added]
  const size = body.reduce((sum, { length }) => sum + length, 0)
  return joined([
    code.subarray(0, imports.start),
    [IMPORTS, ...varintBytes(size)],
    ...body,
    code.subarray(imports.end, memory.start),
    code.subarray(memory.end),
  ])
}

/** An instance of a module that `withGivenMemory` made, with a memory of its own of at most about `mostBytes`. */
export function instanceWith(mostBytes: number, module: WebAssembly.Module, imports: WebAssembly.Imports): WebAssembly.Instance {
  const { name } = WebAssembly.Module.imports(module).find((one) => one.module === MEMORY_OF) as WebAssembly.ModuleImportDescriptor // made above
  const initial = Number(name)
  const memory = new WebAssembly.Memory({ initial, maximum: Math.max(initial, Math.floor(mostBytes / PAGE_BYTES)) })
  return new WebAssembly.Instance(module, { ...imports, [MEMORY_OF]: { [name]: memory } })
}

function* sectionsOf(code: Uint8Array): Generator<Section> {
  for (let start = 8; start < code.length; ) {
    const size = varint(code, start + 1)
    const end = size.end + size.value
    yield { id: code[start] as number, start, body: code.subarray(size.end, end), end } // start < length
    start = end
  }
}

function joined(parts: readonly ArrayLike<number>[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

function nameBytes(name: string): readonly number[] {
  const bytes = new TextEncoder().encode(name)
  return [...varintBytes(bytes.length), ...bytes]
}

function varint(bytes: Uint8Array, from: number): { readonly value: number; readonly end: number } {
  let value = 0
  let at = from
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[at++] ?? 0
    value |= (byte & 127) << shift
    if (byte < 128) return { value: value >>> 0, end: at }
  }
}

function varintBytes(value: number): number[] {
  const bytes: number[] = []
  let left = value
  for (; left > 127; left >>>= 7) bytes.push((left & 127) | 128)
  bytes.push(left)
  return bytes
}
