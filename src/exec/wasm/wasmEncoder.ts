/**
 * Encoder of kernels as WebAssembly modules: instructions by their numbers, immediates in LEB128, and sections around the
 * code of one function.
 */
import { type Code, flat, type Instruction, type Plain, type ValueType } from '../kir/instructions.ts'
import { EXPORTED, heldType, type KernelModule, MODULE, MOST_PAGES } from '../kir/kernelModule.ts'

const TYPE = { i32: 0x7f, i64: 0x7e, f32: 0x7d, f64: 0x7c, v128: 0x7b } as const

const MEMORY_KIND = { i32: 0x03, i64: 0x07 } as const

/** Memory limits of a foreign memory: not shared, 32-bit addresses, no maximum. */
const FOREIGN_MEMORY = 0x00

const CODE_SECTION = 10

/** Encodes a module that imports memory as `k.memory`, shared unless it is foreign, and exports its one function as `run`. */
export function moduleBytes(kernel: KernelModule): Uint8Array<ArrayBuffer> {
  const { imports, parameters, locals, body, addresses = 'i32', foreign } = kernel
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
  const code = codeBytes(body)
  const functionBytes = declared.length + code.length + 1
  const codeHead = [...unsigned(1), ...unsigned(functionBytes)]
  const head = [
    ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
    ...section(1, vector(types)),
    ...section(2, vector([memory, ...imported])),
    ...section(3, vector([unsigned(0)])),
    ...section(7, vector([[...text(EXPORTED), 0x00, ...unsigned(functions.length)]])),
    ...[CODE_SECTION, ...unsigned(codeHead.length + functionBytes), ...codeHead, ...declared],
  ]
  // The body is the bulk of the bytes, and is copied once.
  const bytes = new Uint8Array(head.length + code.length + 1)
  bytes.set(head)
  bytes.set(code, head.length)
  bytes[bytes.length - 1] = NUMBER.end
  return bytes
}

// ---------------------------------------------------------------- instructions

/** The opcodes of instructions that are not in the tables of operations. */
const NUMBER = {
  ...{ block: 0x02, loop: 0x03, if: 0x04, else: 0x05, end: 0x0b, br: 0x0c, br_if: 0x0d, call: 0x10 },
  ...{ 'local.get': 0x20, 'local.set': 0x21, 'local.tee': 0x22, global: 0x23, i32: 0x41, i64: 0x42, f64: 0x44 },
} as const

const VECTOR = [0xfd, 0x0c] as const
const SHUFFLE = [0xfd, 0x0d] as const
const NO_RESULT = 0x40

function codeBytes(body: Code): readonly number[] {
  const bytes: number[] = []
  for (const one of flat(body)) for (const byte of instructionBytes(one)) bytes.push(byte)
  return bytes
}

function instructionBytes(one: Instruction): readonly number[] {
  switch (one.kind) {
    case 'plain':
      return operationBytes(one)
    case 'const':
      return [NUMBER[one.type], ...(one.type === 'f64' ? float64(Number(one.value)) : signed(one.value))]
    case 'vector':
      return [...VECTOR, ...one.bytes]
    case 'shuffle':
      return [...SHUFFLE, ...one.bytes]
    case 'local':
      return [NUMBER[one.name], ...unsigned(one.index)]
    case 'global':
    case 'call':
      return [NUMBER[one.kind], ...unsigned(one.index)]
    case 'branch':
      return [NUMBER[one.name], ...unsigned(one.depth)]
    case 'block':
    case 'loop':
    case 'if':
      return [NUMBER[one.kind], one.result === undefined ? NO_RESULT : TYPE[one.result]]
    case 'else':
    case 'end':
      return [NUMBER[one.kind]]
  }
}

function operationBytes({ operation, offset, alignment, lane }: Plain): readonly number[] {
  const { prefix, number, immediate } = operation
  const own = prefix === undefined ? [number] : [prefix, ...unsigned(number)]
  if (immediate === 'none') return own
  const memory = immediate === 'lane' ? [] : [...unsigned(alignment), ...unsigned(offset)]
  return [...own, ...memory, ...(immediate === 'memory' ? [] : [lane])]
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

/** Signed LEB128 of a 32-bit integer, or of a 64-bit one in a double or a bigint. */
function signed(value: number | bigint): number[] {
  const bytes: number[] = []
  if (typeof value === 'number' && value === (value | 0)) {
    for (let rest = value; ; rest >>= 7) {
      const low = rest & 0x7f
      const done = rest >> 6 === 0 || rest >> 6 === -1
      bytes.push(done ? low : low | 0x80)
      if (done) return bytes
    }
  }
  for (let rest = BigInt(value); ; rest >>= 7n) {
    const low = Number(rest & 0x7fn)
    const done = rest >> 6n === 0n || rest >> 6n === -1n
    bytes.push(done ? low : low | 0x80)
    if (done) return bytes
  }
}

function float64(value: number): number[] {
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setFloat64(0, value, true)
  return [...bytes]
}

// ---------------------------------------------------------------- sections

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
