/**
 * Encoder of kernels as WebAssembly modules: instructions by their numbers, immediates in LEB128, and sections around the
 * code of one function.
 */
import type { Code, Instruction, Plain, ValueType } from '../kir/instructions.ts'
import { EXPORTED, heldType, type KernelModule, MODULE, MOST_PAGES } from '../kir/kernelModule.ts'

const TYPE = { i32: 0x7f, i64: 0x7e, f32: 0x7d, f64: 0x7c, v128: 0x7b } as const

const MEMORY_KIND = { i32: 0x03, i64: 0x07 } as const

/** Memory limits of a foreign memory: not shared, 32-bit addresses, no maximum. */
const FOREIGN_MEMORY = 0x00

const CODE_SECTION = 10

/**
 * Encodes a module that imports memory as `k.memory`, shared unless it is foreign, and exports its one function as `run`. A function with a
 * result is one of numbers, and imports no memory.
 */
export function moduleBytes(kernel: KernelModule): Uint8Array<ArrayBuffer> {
  const { imports, parameters, locals, body, addresses = 'i32', foreign, result } = kernel
  const functions = imports.filter((entry) => entry.kind === 'function')
  const signatures = [{ parameters: parameters.map(heldType), results: result === undefined ? [] : [result] }, ...functions]
  const types = signatures.map((signature) => [0x60, ...typeList(signature.parameters), ...typeList(signature.results)])
  let next = 1
  const imported = imports.map((entry) => {
    const description = entry.kind === 'function' ? [0x00, ...unsigned(next++)] : [0x03, TYPE[heldType(entry.type)], 0x00]
    return [...text(MODULE), ...text(entry.name), ...description]
  })
  const limits =
    foreign === true ? [FOREIGN_MEMORY, ...unsigned(1)] : [MEMORY_KIND[addresses], ...unsigned(1), ...unsigned(MOST_PAGES[addresses])]
  const memory = result === undefined ? [[...text(MODULE), ...text('memory'), 0x02, ...limits]] : []
  const declared = localRuns(locals)
  const code = new Bytes()
  pushCode(code, body)
  code.push(NUMBER.end)
  const functionBytes = declared.length + code.length
  const codeHead = [...unsigned(1), ...unsigned(functionBytes)]
  const head = [
    ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
    ...section(1, vector(types)),
    ...section(2, vector([...memory, ...imported])),
    ...section(3, vector([unsigned(0)])),
    ...section(7, vector([[...text(EXPORTED), 0x00, ...unsigned(functions.length)]])),
    ...[CODE_SECTION, ...unsigned(codeHead.length + functionBytes), ...codeHead, ...declared],
  ]
  // The body is the bulk of the bytes, and is copied once.
  const bytes = new Uint8Array(head.length + code.length)
  bytes.set(head)
  bytes.set(code.written(), head.length)
  return bytes
}

/** The bytes of code, in a buffer that all kernels are written into one after another, and that grows as the longest does. */
class Bytes {
  length = 0
  #bytes = buffer

  push(byte: number): void {
    if (this.length === this.#bytes.length) this.#grow()
    this.#bytes[this.length++] = byte
  }

  written(): Uint8Array {
    return this.#bytes.subarray(0, this.length)
  }

  #grow(): void {
    buffer = new Uint8Array(2 * this.#bytes.length)
    buffer.set(this.#bytes)
    this.#bytes = buffer
  }
}

let buffer = new Uint8Array(4096)

// ---------------------------------------------------------------- instructions

/** The opcodes of instructions that are not in the tables of operations; those of vectors follow a prefix. */
const NUMBER = {
  ...{ block: 0x02, loop: 0x03, if: 0x04, else: 0x05, end: 0x0b, br: 0x0c, br_if: 0x0d, call: 0x10 },
  ...{ 'local.get': 0x20, 'local.set': 0x21, 'local.tee': 0x22, global: 0x23, i32: 0x41, i64: 0x42, f64: 0x44 },
  ...{ vector: 0x0c, shuffle: 0x0d },
} as const

const SIMD_PREFIX = 0xfd
const NO_RESULT = 0x40

/** What bytes are appended to, one by one: a kernel has thousands of instructions, each of few bytes. */
interface Sink {
  push(byte: number): unknown
}

/** Appends the bytes of code. */
function pushCode(bytes: Sink, code: Code): void {
  for (const part of code) {
    if ('kind' in part) pushInstruction(bytes, part)
    else pushCode(bytes, part)
  }
}

function pushInstruction(bytes: Sink, one: Instruction): void {
  switch (one.kind) {
    case 'plain':
      pushOperation(bytes, one)
      break
    case 'const':
      bytes.push(NUMBER[one.type])
      if (one.type === 'f64') pushFloat64(bytes, Number(one.value))
      else pushSigned(bytes, one.value)
      break
    case 'vector':
    case 'shuffle':
      bytes.push(SIMD_PREFIX)
      bytes.push(NUMBER[one.kind])
      for (const byte of one.bytes) bytes.push(byte)
      break
    case 'local':
      bytes.push(NUMBER[one.name])
      pushUnsigned(bytes, one.index)
      break
    case 'global':
    case 'call':
      bytes.push(NUMBER[one.kind])
      pushUnsigned(bytes, one.index)
      break
    case 'branch':
      bytes.push(NUMBER[one.name])
      pushUnsigned(bytes, one.depth)
      break
    case 'block':
    case 'loop':
    case 'if':
      bytes.push(NUMBER[one.kind])
      bytes.push(one.result === undefined ? NO_RESULT : TYPE[one.result])
      break
    case 'else':
    case 'end':
      bytes.push(NUMBER[one.kind])
  }
}

function pushOperation(bytes: Sink, { operation, offset, alignment, lane }: Plain): void {
  const { prefix, number, immediate } = operation
  if (prefix === undefined) bytes.push(number)
  else {
    bytes.push(prefix)
    pushUnsigned(bytes, number)
  }
  if (immediate === 'none') return
  if (immediate !== 'lane') {
    pushUnsigned(bytes, alignment)
    pushUnsigned(bytes, offset)
  }
  if (immediate !== 'memory') bytes.push(lane)
}

/** Appends unsigned LEB128. */
function pushUnsigned(bytes: Sink, value: number): void {
  let rest = value
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80)
  bytes.push(rest)
}

/** Unsigned LEB128. */
function unsigned(value: number): number[] {
  const bytes: number[] = []
  pushUnsigned(bytes, value)
  return bytes
}

/** Appends signed LEB128 of a 32-bit integer, or of a 64-bit one in a double or a bigint. */
function pushSigned(bytes: Sink, value: number | bigint): void {
  if (typeof value === 'number' && value === (value | 0)) {
    let rest = value
    for (; rest >> 6 !== 0 && rest >> 6 !== -1; rest >>= 7) bytes.push((rest & 0x7f) | 0x80)
    bytes.push(rest & 0x7f)
    return
  }
  let rest = BigInt(value)
  for (; rest >> 6n !== 0n && rest >> 6n !== -1n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80)
  bytes.push(Number(rest & 0x7fn))
}

const double = new Uint8Array(8)
const doubleView = new DataView(double.buffer)

function pushFloat64(bytes: Sink, value: number): void {
  doubleView.setFloat64(0, value, true)
  for (const byte of double) bytes.push(byte)
}

// ---------------------------------------------------------------- sections

function section(id: number, content: readonly number[]): number[] {
  return [id, ...unsigned(content.length), ...content]
}

function vector(items: readonly (readonly number[])[]): number[] {
  return [...unsigned(items.length), ...items.flat()]
}

/** Encodes a name; those of kernels are short, and ASCII. */
function text(name: string): number[] {
  const bytes = unsigned(name.length)
  for (let i = 0; i < name.length; i++) bytes.push(name.charCodeAt(i))
  return bytes
}

function typeList(types: readonly ValueType[]): number[] {
  return vector(types.map((type) => [TYPE[type]]))
}

/** Encodes the declarations of locals: consecutive ones of one type share a declaration. */
function localRuns(locals: readonly ValueType[]): number[] {
  const runs: { readonly type: ValueType; count: number }[] = []
  for (const type of locals) {
    const last = runs[runs.length - 1]
    if (last?.type === type) last.count++
    else runs.push({ type, count: 1 })
  }
  return vector(runs.map(({ type, count }) => [...unsigned(count), TYPE[type]]))
}
