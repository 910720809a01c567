/**
 * A kernel for a memory of 64-bit addresses: the bytes of a module that the encoder wrote for 32 bits in, bytes out.
 *
 *     (f64.load (i32.add (local.get $y) (i32.shl (local.get $k) (i32.const 3))))
 *     (f64.load (i64.add (local.get $y) (i64.shl (i64.extend_i32_s (local.get $k)) (i64.const 3))))
 *
 * A value is an address or it is not (`addressFlow.ts`). Addresses come as parameters, as imported numbers, or from
 * memory, where they have 8 bytes; a distance is added, and they are used to load, to store, or to be compared. What
 * else is done with one is a `Bug`, so that no address ever loses its upper half. JavaScript hands addresses over as
 * doubles, which hold them exactly, as it hands over those of 32 bits.
 *
 * The distance is exact: shifts and strides are applied in 64 bits, to whole numbers of 32 bits that are what they are
 * with 32-bit addresses, wrapped or not. Numbering of locals, names and the structure of the code stay.
 */
import { Bug } from '../../core/errors.ts'
import { AddressFlow, isAddressAccess } from './addressFlow.ts'
import { type Code, I, OP, SATURATE, unsigned, type ValueType } from './instructions.ts'
import { type AddressType, type Import, moduleBytes, type ParameterType } from './wasmEncoder.ts'
import { type Node, type ReadModule, readModule } from './wasmReader.ts'

/** How an instruction is written: as it is, for 64 bits, or as it is with a conversion behind. */
type Form = { readonly opcode?: number; readonly after?: Code }

const AS_IT_IS: Form = {}
const FROM_DOUBLE: Form = { after: SATURATE.i64S }

/**
 * What a value is needed as: a number of 32 bits, or 64 bits of an address (or of bytes, where there is none), of bytes,
 * of elements that a shift will make bytes, or of the bytes between two addresses.
 */
type Want = 'number' | 'address' | 'bytes' | 'elements' | 'between'

/** What an instruction becomes, and what its operands are needed as; the last stands for all that follow. */
interface Step {
  readonly form?: Form
  readonly wants?: readonly Want[]
}

/** Instructions on addresses and distances by their name, and the same for 64 bits. */
const WIDE: ReadonlyMap<string, number> = new Map([
  ['i32.const', 0x42],
  ['i32.add', OP.i64Add],
  ['i32.sub', OP.i64Sub],
  ['i32.mul', OP.i64Mul],
  ['i32.shl', OP.i64Shl],
  ['i32.shr_u', OP.i64ShrU],
  ['i32.load', OP.i64Load],
  ['i32.store', OP.i64Store],
])
const COMPARISONS = ['eq', 'ne', 'lt_s', 'lt_u', 'gt_s', 'gt_u', 'le_s', 'le_u', 'ge_s', 'ge_u']
const WIDE_COMPARISONS: ReadonlyMap<string, number> = new Map([
  ['i32.eqz', OP.i64Eqz],
  ...COMPARISONS.map((name, i) => [`i32.${name}`, OP.i64Eq + i] as const),
])

/** The kernel over a memory of such addresses. */
export function withAddresses(bytes: Uint8Array<ArrayBuffer>, addresses: AddressType): Uint8Array<ArrayBuffer> {
  return addresses === 'i32' ? bytes : withWideAddresses(bytes)
}

/** The same kernel over a memory of 64-bit addresses. */
export function withWideAddresses(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const module = readModule(bytes)
  const flow = new AddressFlow(module)
  // A local that only goes into distances is one of 64 bits, unless it turns out to be used as a number.
  for (;;) {
    const widening = new Widening(bytes, module, flow)
    const body = widening.body()
    if (widening.usedAsNumber.size === 0) return widening.module(body)
    for (const local of widening.usedAsNumber) flow.distances.delete(local)
  }
}

class Widening {
  /** Locals of distances whose value is needed as a number of 32 bits. */
  readonly usedAsNumber: Set<number> = new Set()
  readonly #bytes: Uint8Array
  readonly #module: ReadModule
  readonly #flow: AddressFlow
  readonly #forms = new Map<Node, Form>()
  /** The local that holds an address parameter, by the parameter. */
  readonly #held = new Map<number, number>()

  constructor(bytes: Uint8Array, module: ReadModule, flow: AddressFlow) {
    this.#bytes = bytes
    this.#module = module
    this.#flow = flow
    const first = module.parameters.length + module.locals.length
    for (const [i, parameter] of module.addresses.parameters.entries()) this.#held.set(parameter, first + i)
  }

  body(): Code {
    const { roots } = this.#flow
    for (const node of roots) this.#want(node, 'number')
    return [
      [...this.#held].map(([parameter, local]) => [I.localGet(parameter), SATURATE.i64S, I.localSet(local)]),
      this.#all(this.#module.body),
    ]
  }

  module(body: Code): Uint8Array<ArrayBuffer> {
    const { parameters, locals, imports, addresses } = this.#module
    let global = 0
    const imported = imports.flatMap((entry): Import[] => {
      if (entry.kind === 'memory') return []
      if (entry.kind === 'function') return [{ kind: 'function', name: entry.name, ...entry.signature }]
      return [{ kind: 'global', name: entry.name, type: addresses.globals.includes(global++) ? 'f64' : entry.type }]
    })
    const own = locals.map((type, i): ValueType => (this.#flow.isWide(parameters.length + i) ? 'i64' : type))
    return moduleBytes({
      imports: imported,
      parameters: parameters.map((type, i): ParameterType => (this.#held.has(i) ? 'f64' : type)),
      locals: [...own, ...addresses.parameters.map(() => 'i64' as const)],
      body,
      addresses: 'i64',
    })
  }

  // ---------------------------------------------------------------- what each instruction becomes

  #want(node: Node, want: Want): void {
    const { form = AS_IT_IS, wants = [] } = this.#step(node, want)
    this.#forms.set(node, form)
    for (const [i, operand] of this.#flow.operandsOf(node).entries()) this.#want(operand, wants[i] ?? wants.at(-1) ?? 'number')
  }

  #step(node: Node, want: Want): Step {
    switch (want) {
      case 'number':
        return this.#asNumber(node)
      case 'address':
        return this.#flow.isAddress(node) ? this.#asAddress(node) : this.#asDistance(node, 'bytes')
      case 'bytes':
      case 'elements':
        return this.#asDistance(node, want)
      case 'between':
        return { form: { opcode: wideOf(node) }, wants: ['address'] }
    }
  }

  #asNumber(node: Node): Step {
    const flow = this.#flow
    if (flow.isAddress(node)) throw new Bug(`A kernel uses an address as a number, by ${nameOf(node)}.`)
    if (node.kind === 'local') {
      if (node.name !== 'local.set' && flow.distances.has(node.index)) this.usedAsNumber.add(node.index)
      return this.#set(node)
    }
    if (node.kind !== 'plain') return {}
    const [first, second] = flow.operandsOf(node)
    if (isMemory(node)) {
      if (first === undefined || !flow.isAddress(first)) throw new Bug(`A kernel reaches memory by what is no address, in ${node.name}.`)
      return isAddressAccess(node) ? { form: { opcode: wideOf(node) }, wants: ['address'] } : { wants: ['address', 'number'] }
    }
    const comparison = WIDE_COMPARISONS.get(node.name)
    if (comparison !== undefined && flow.operandsOf(node).some((operand) => flow.isAddress(operand))) {
      return { form: { opcode: comparison }, wants: ['address'] }
    }
    if (flow.isBetweenAddresses(node)) return { form: { opcode: wideOf(node), after: [OP.i32WrapI64] }, wants: ['address'] }
    // Of bytes between two addresses, how many elements: 32 bits hold those where they do not hold the bytes.
    if (node.name === 'i32.shr_u' && first !== undefined && flow.isBetweenAddresses(first) && isConstant(second)) {
      return { form: { opcode: wideOf(node), after: [OP.i32WrapI64] }, wants: ['between', 'elements'] }
    }
    return {}
  }

  /** A local that is set: to 64 bits, or to what it is. */
  #set(node: Extract<Node, { kind: 'local' }>): Step {
    return { wants: [this.#flow.isWide(node.index) ? 'address' : 'number'] }
  }

  #asAddress(node: Node): Step {
    if (node.kind === 'local') return this.#set(node)
    if (node.kind === 'global') return { form: FROM_DOUBLE }
    if (nameOf(node) === 'select') return { wants: ['address', 'address', 'number'] }
    return { form: { opcode: wideOf(node) }, wants: ['address'] }
  }

  #asDistance(node: Node, unit: 'bytes' | 'elements'): Step {
    const flow = this.#flow
    if (node.kind === 'local' && flow.isWide(node.index)) return this.#set(node)
    const isExact = node.kind === 'plain' && (isConstant(node) || flow.isStride(node) || (unit === 'bytes' && flow.isShifted(node)))
    if (!isExact) {
      const { form = AS_IT_IS, ...rest } = this.#asNumber(node)
      return { ...rest, form: { ...form, after: [form.after ?? [], OP.i64ExtendI32S] } }
    }
    const inner = node.name === 'i32.shl' || node.name === 'i32.mul' ? 'elements' : unit
    return { form: { opcode: wideOf(node) }, wants: [inner] }
  }

  // ---------------------------------------------------------------- the code

  #all(nodes: readonly Node[]): Code {
    return nodes.map((node) => this.#code(node))
  }

  #code(node: Node): Code {
    const operands = this.#all(node.operands)
    const own = [...this.#bytes.subarray(node.from, node.to)]
    const { opcode, after = [] } = this.#forms.get(node) ?? AS_IT_IS
    switch (node.kind) {
      case 'local': {
        const held = this.#held.get(node.index)
        return [operands, held === undefined ? own : [own[0] ?? 0, ...unsigned(held)], after]
      }
      case 'block':
      case 'loop':
        return [own, this.#all(node.body), OP.end, after]
      case 'if':
        return [
          operands,
          own,
          this.#all(node.body),
          node.otherwise === undefined ? [] : [OP.else, this.#all(node.otherwise)],
          OP.end,
          after,
        ]
      case 'plain':
      case 'global':
      case 'call':
      case 'branch':
        return [operands, opcode === undefined ? own : [opcode, ...own.slice(1)], after]
    }
  }
}

function wideOf(node: Node): number {
  const opcode = WIDE.get(nameOf(node))
  if (opcode === undefined) throw new Bug(`A kernel makes an address by ${nameOf(node)}.`)
  return opcode
}

function nameOf(node: Node): string {
  return 'name' in node ? node.name : node.kind
}

function isConstant(node: Node | undefined): boolean {
  return node !== undefined && nameOf(node) === 'i32.const'
}

function isMemory({ name }: { readonly name: string }): boolean {
  return /\.(load|store|atomic)/.test(name)
}
