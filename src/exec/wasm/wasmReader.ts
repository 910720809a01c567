/**
 * WebAssembly modules from bytes: the inverse of `wasmEncoder.ts`, for modules that it wrote. Instructions come as trees,
 * an instruction with those whose values it takes.
 *
 *     local.get 0; f64.const 0.5; f64.mul      becomes      mul of (get, const)
 */
import { Bug } from '../../core/errors.ts'
import { TYPE, type ValueType } from './instructions.ts'
import { ADDRESSES_SECTION, type AddressType } from './wasmEncoder.ts'
import { ATOMIC_INSTRUCTIONS, type Instruction, SATURATING_INSTRUCTIONS, SCALAR_INSTRUCTIONS, VECTOR_INSTRUCTIONS } from './wasmOpcodes.ts'

export interface Signature {
  readonly parameters: readonly ValueType[]
  readonly results: readonly ValueType[]
}

export type ReadImport = { readonly module: string; readonly name: string } & (
  | { readonly kind: 'function'; readonly signature: Signature }
  | { readonly kind: 'global'; readonly type: ValueType }
  | { readonly kind: 'memory'; readonly addresses: AddressType; readonly least: number; readonly most: number }
)

/** A block that branches may leave, or go to the start of. */
export interface Label {
  /** Blocks in the order in which they begin, from 0. */
  readonly number: number
  /** Whether a branch goes there. */
  used: boolean
}

/** An instruction, below it those whose values it takes. What is missing below was left by the instructions before. */
export type Node = Taking & {
  /** Where its own bytes begin and end, without those of operands and of what stands inside it. */
  readonly from: number
  readonly to: number
}

type Taking = { readonly operands: readonly Node[]; readonly takes: number; readonly gives: 0 | 1 } & (
  | { readonly kind: 'plain'; readonly name: string; readonly immediates: readonly string[] }
  | { readonly kind: 'local'; readonly name: 'local.get' | 'local.set' | 'local.tee'; readonly index: number }
  | { readonly kind: 'global' | 'call'; readonly index: number }
  | { readonly kind: 'branch'; readonly name: 'br' | 'br_if'; readonly label: Label }
  | { readonly kind: 'block' | 'loop'; readonly label: Label; readonly result: ValueType | undefined; readonly body: readonly Node[] }
  | {
      readonly kind: 'if'
      readonly label: Label
      readonly result: ValueType | undefined
      readonly body: readonly Node[]
      readonly otherwise: readonly Node[] | undefined
    }
)

export interface ReadModule {
  readonly imports: readonly ReadImport[]
  readonly exported: string
  readonly parameters: readonly ValueType[]
  readonly locals: readonly ValueType[]
  readonly body: readonly Node[]
  /** Which are addresses, and which globals strides, by their numbers. */
  readonly addresses: AddressPlaces
}

export interface AddressPlaces {
  readonly parameters: readonly number[]
  readonly globals: readonly number[]
  readonly strides: readonly number[]
}

const SECTION = { custom: 0, types: 1, imports: 2, exports: 7, code: 10 } as const

export function readModule(bytes: Uint8Array): ReadModule {
  const input = new Input(bytes, 8)
  let types: readonly Signature[] = []
  let imports: readonly ReadImport[] = []
  let exported = ''
  let addresses: AddressPlaces = { parameters: [], globals: [], strides: [] }
  while (!input.isAtEnd) {
    const id = input.byte()
    const end = input.unsigned() + input.at
    if (id === SECTION.custom) addresses = input.text() === ADDRESSES_SECTION ? placesOf(input) : addresses
    else if (id === SECTION.types) types = input.vector(() => signatureOf(input))
    else if (id === SECTION.imports) imports = input.vector(() => importOf(input, types))
    else if (id === SECTION.exports) exported = input.vector(() => exportOf(input))[0] ?? ''
    else if (id === SECTION.code) {
      input.unsigned() // one function
      input.unsigned() // its length
      const locals = input.vector(() => new Array<ValueType>(input.unsigned()).fill(typeOf(input.byte()))).flat()
      const signatures = imports.flatMap((entry) => (entry.kind === 'function' ? [entry.signature] : []))
      const body = new CodeReader(input, signatures).sequence().nodes
      return { imports, exported, parameters: types[0]?.parameters ?? [], locals, body, addresses }
    }
    input.at = end
  }
  throw new Bug('A module without code was to be read.')
}

function placesOf(input: Input): AddressPlaces {
  const [parameters = [], globals = [], strides = []] = Array.from({ length: 3 }, () => input.vector(() => input.unsigned()))
  return { parameters, globals, strides }
}

function signatureOf(input: Input): Signature {
  input.byte() // of a function
  return { parameters: input.vector(() => typeOf(input.byte())), results: input.vector(() => typeOf(input.byte())) }
}

function importOf(input: Input, types: readonly Signature[]): ReadImport {
  const names = { module: input.text(), name: input.text() }
  switch (input.byte()) {
    case 0x00:
      return { ...names, kind: 'function', signature: types[input.unsigned()] ?? { parameters: [], results: [] } }
    case 0x02: {
      const addresses = input.byte() === 0x07 ? 'i64' : 'i32' // shared either way, with a maximum
      return { ...names, kind: 'memory', addresses, least: input.unsigned(), most: input.unsigned() }
    }
    case 0x03: {
      const type = typeOf(input.byte())
      input.byte() // never changes
      return { ...names, kind: 'global', type }
    }
    default:
      throw new Bug(`A module imports ${names.name}, which is neither a function, a memory nor a number.`)
  }
}

function exportOf(input: Input): string {
  const name = input.text()
  input.byte() // a function
  input.unsigned()
  return name
}

function typeOf(byte: number): ValueType {
  const type = (Object.keys(TYPE) as ValueType[]).find((one) => TYPE[one] === byte)
  if (type === undefined) throw new Bug(`${byte} is no type of a value in WebAssembly.`)
  return type
}

class CodeReader {
  readonly #input: Input
  readonly #functions: readonly Signature[]
  readonly #labels: Label[] = []
  #blocks = 0

  constructor(input: Input, functions: readonly Signature[]) {
    this.#input = input
    this.#functions = functions
  }

  /** Up to the `end` or `else` that closes the block. */
  sequence(): { readonly nodes: readonly Node[]; readonly closedBy: 'end' | 'else' } {
    const nodes: Node[] = []
    for (;;) {
      const opcode = this.#input.byte()
      if (opcode === 0x0b) return { nodes, closedBy: 'end' }
      if (opcode === 0x05) return { nodes, closedBy: 'else' }
      const from = this.#input.at - 1
      const node = this.#instruction(opcode, nodes)
      const to = 'label' in node && node.kind !== 'branch' ? from + BLOCK_BYTES : this.#input.at
      nodes.push({ ...node, from, to })
    }
  }

  #instruction(opcode: number, before: Node[]): Taking {
    const input = this.#input
    switch (opcode) {
      case 0x00:
        return { kind: 'plain', name: 'unreachable', immediates: [], operands: [], takes: 0, gives: 0 }
      case 0x02:
      case 0x03:
        return this.#block(opcode === 0x02 ? 'block' : 'loop')
      case 0x04:
        return this.#if(taken(before, 1))
      case 0x0c:
        return { kind: 'branch', name: 'br', label: this.#label(input.unsigned()), operands: [], takes: 0, gives: 0 }
      case 0x0d:
        return { kind: 'branch', name: 'br_if', label: this.#label(input.unsigned()), operands: taken(before, 1), takes: 1, gives: 0 }
      case 0x0f:
        return { kind: 'plain', name: 'return', immediates: [], operands: [], takes: 0, gives: 0 }
      case 0x10: {
        const index = input.unsigned()
        const { parameters, results } = this.#functions[index] ?? { parameters: [], results: [] }
        const takes = parameters.length
        return { kind: 'call', index, operands: taken(before, takes), takes, gives: results.length === 0 ? 0 : 1 }
      }
      case 0x1a:
        return { kind: 'plain', name: 'drop', immediates: [], operands: taken(before, 1), takes: 1, gives: 0 }
      case 0x20:
        return { kind: 'local', name: 'local.get', index: input.unsigned(), operands: [], takes: 0, gives: 1 }
      case 0x21:
        return { kind: 'local', name: 'local.set', index: input.unsigned(), operands: taken(before, 1), takes: 1, gives: 0 }
      case 0x22:
        return { kind: 'local', name: 'local.tee', index: input.unsigned(), operands: taken(before, 1), takes: 1, gives: 1 }
      case 0x23:
        return { kind: 'global', index: input.unsigned(), operands: [], takes: 0, gives: 1 }
      case 0x41:
        return constant('i32.const', String(input.signed()))
      case 0x42:
        return constant('i64.const', String(input.signed()))
      case 0x43:
        return constant('f32.const', floatText(input.bits(4), 32))
      case 0x44:
        return constant('f64.const', floatText(input.bits(8), 64))
      case 0xfc:
        return this.#plain(SATURATING_INSTRUCTIONS.get(input.unsigned()), before)
      case 0xfd:
        return this.#vector(input.unsigned(), before)
      case 0xfe:
        return this.#plain(ATOMIC_INSTRUCTIONS.get(input.unsigned()), before)
      default:
        return this.#plain(SCALAR_INSTRUCTIONS.get(opcode), before)
    }
  }

  #vector(opcode: number, before: Node[]): Taking {
    if (opcode === 0x0c) {
      const lanes = Array.from({ length: 4 }, () => String(BigInt.asIntN(32, this.#input.bits(4))))
      return { ...constant('v128.const', 'i32x4'), immediates: ['i32x4', ...lanes] }
    }
    if (opcode === 0x0d) {
      const immediates = Array.from({ length: 16 }, () => String(this.#input.byte()))
      return { kind: 'plain', name: 'i8x16.shuffle', immediates, operands: taken(before, 2), takes: 2, gives: 1 }
    }
    return this.#plain(VECTOR_INSTRUCTIONS.get(opcode), before)
  }

  #plain(instruction: Instruction | undefined, before: Node[]): Taking {
    if (instruction === undefined) throw new Bug(`A kernel has an instruction without a name, before byte ${this.#input.at}.`)
    const { name, takes, gives, immediate, bytes } = instruction
    const immediates = [
      ...(immediate.startsWith('memory') ? this.#memory(bytes) : []),
      ...(immediate.endsWith('lane') ? [String(this.#input.byte())] : []),
    ]
    return { kind: 'plain', name, immediates, operands: taken(before, takes), takes, gives }
  }

  /** Offset and alignment, each only where it is not what is meant without. */
  #memory(bytes: number): string[] {
    const alignment = 2 ** this.#input.unsigned()
    const offset = this.#input.unsigned()
    return [...(offset === 0 ? [] : [`offset=${offset}`]), ...(alignment === bytes ? [] : [`align=${alignment}`])]
  }

  #block(kind: 'block' | 'loop'): Taking {
    const { label, result } = this.#open()
    const { nodes } = this.sequence()
    this.#labels.pop()
    return { kind, label, result, body: nodes, operands: [], takes: 0, gives: result === undefined ? 0 : 1 }
  }

  #if(operands: readonly Node[]): Taking {
    const { label, result } = this.#open()
    const { nodes, closedBy } = this.sequence()
    const otherwise = closedBy === 'else' ? this.sequence().nodes : undefined
    this.#labels.pop()
    return { kind: 'if', label, result, body: nodes, otherwise, operands, takes: 1, gives: result === undefined ? 0 : 1 }
  }

  #open(): { readonly label: Label; readonly result: ValueType | undefined } {
    const label = { number: this.#blocks++, used: false }
    this.#labels.push(label)
    const type = this.#input.byte()
    return { label, result: type === NO_RESULT ? undefined : typeOf(type) }
  }

  #label(depth: number): Label {
    const label = this.#labels[this.#labels.length - 1 - depth]
    if (label === undefined) throw new Bug('A kernel leaves a block that does not enclose it.')
    label.used = true
    return label
  }
}

const NO_RESULT = 0x40
/** Of the instruction that opens a block: its number, and the type of what the block leaves. */
const BLOCK_BYTES = 2

function constant(name: string, text: string): Extract<Taking, { kind: 'plain' }> {
  return { kind: 'plain', name, immediates: [text], operands: [], takes: 0, gives: 1 }
}

/** The last instructions, as far as they leave values; they stand below what takes them. */
function taken(before: Node[], most: number): readonly Node[] {
  let count = 0
  while (count < most && before[before.length - 1 - count]?.gives === 1) count++
  return before.splice(before.length - count)
}

/** Decimal digits that give the same bits back; NaN with its bits, where they are not the usual. */
function floatText(bits: bigint, size: 32 | 64): string {
  const fraction = size === 64 ? 52n : 23n
  const view = new DataView(new ArrayBuffer(8))
  if (size === 64) view.setBigUint64(0, bits)
  else view.setUint32(0, Number(bits))
  const value = size === 64 ? view.getFloat64(0) : view.getFloat32(0)
  const sign = bits >> BigInt(size - 1) === 1n ? '-' : ''
  if (Number.isNaN(value)) {
    const payload = BigInt.asUintN(Number(fraction), bits)
    return payload === 1n << (fraction - 1n) ? `${sign}nan` : `${sign}nan:0x${payload.toString(16)}`
  }
  return `${sign}${Math.abs(value) === Number.POSITIVE_INFINITY ? 'inf' : Math.abs(value)}`
}

/** Bytes, one after another. */
class Input {
  at: number
  readonly #bytes: Uint8Array

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes
    this.at = at
  }

  get isAtEnd(): boolean {
    return this.at >= this.#bytes.length
  }

  byte(): number {
    const byte = this.#bytes[this.at++]
    if (byte === undefined) throw new Bug('A module ends too early.')
    return byte
  }

  unsigned(): number {
    let value = 0
    for (let scale = 1; ; scale *= 0x80) {
      const byte = this.byte()
      value += (byte & 0x7f) * scale
      if (byte < 0x80) return value
    }
  }

  signed(): bigint {
    let value = 0n
    for (let shift = 0n; ; ) {
      const byte = this.byte()
      value |= BigInt(byte & 0x7f) << shift
      shift += 7n
      if (byte < 0x80) return BigInt.asIntN(Number(shift), value)
    }
  }

  /** So many bytes, the lowest first. */
  bits(count: number): bigint {
    let value = 0n
    for (let i = 0n; i < count; i++) value |= BigInt(this.byte()) << (8n * i)
    return value
  }

  vector<T>(read: () => T): T[] {
    return Array.from({ length: this.unsigned() }, read)
  }

  text(): string {
    const bytes = this.#bytes.subarray(this.at + 1)
    const length = this.unsigned()
    this.at += length
    return new TextDecoder().decode(bytes.subarray(0, length))
  }
}
