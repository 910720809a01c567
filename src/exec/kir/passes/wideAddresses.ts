/**
 * Widens the addresses of a kernel: one written for 32-bit addresses becomes one for a memory of 64-bit addresses.
 *
 *     (f64.load (i32.add (local.get $y) (i32.shl (local.get $k) (i32.const 3))))
 *     (f64.load (i64.add (local.get $y) (i64.shl (i64.extend_i32_s (local.get $k)) (i64.const 3))))
 *
 * A value is an address or it is not (`addressFlow.ts`). Addresses come as parameters, as imported numbers, or from
 * memory, where they have 8 bytes; distances are added to them, and they are used to load, to store, or to be compared. Any
 * other use of one is a `Bug`, so that no address ever loses its upper half. JavaScript hands addresses over as
 * doubles, which hold them exactly, as it hands over those of 32 bits.
 *
 * Distances are exact: shifts and strides are applied in 64 bits, to 32-bit integers with the same values as in the kernel
 * for 32-bit addresses, wrapped or not. The indices of locals, names and the structure of the code stay.
 */
import { Bug } from '../../../core/errors.ts'
import { type Code, I, OP, type Plain, SATURATE, type ValueType } from '../instructions.ts'
import type { AddressType, Import, KernelModule, ParameterType } from '../kernelModule.ts'
import { type Pass, withPasses } from '../pass.ts'
import { codeOf, type Node, nameOf, treesOf, type Written } from '../tree.ts'
import { AddressFlow, isAddressAccess } from './addressFlow.ts'

/** The rewriting of an instruction: unchanged, or its 64-bit form, each with an optional conversion behind it. */
type Form = { readonly wide?: true; readonly after?: Code }

const AS_IT_IS: Form = {}
const FROM_DOUBLE: Form = { after: [SATURATE.i64S] }

/**
 * The role in which a value is needed: a 32-bit number, or 64 bits of an address (of bytes where it is none), of a distance in bytes,
 * of elements that a shift will turn into bytes, or of the bytes between two addresses.
 */
type Want = 'number' | 'address' | 'bytes' | 'elements' | 'between'

/** The form of an instruction, and the roles in which its operands are needed; the last role is also that of all further operands. */
interface Step {
  readonly form?: Form
  readonly wants?: readonly Want[]
}

/** The 64-bit operations on addresses and distances, by the name of the 32-bit one. (Constants have 64-bit forms, too.) */
const WIDE: ReadonlyMap<string, Plain> = new Map(
  [
    ...[OP.i64Add, OP.i64Sub, OP.i64Mul, OP.i64Shl, OP.i64ShrU, OP.i64Load, OP.i64Store, OP.i64Eqz, OP.i64Eq, OP.i64Ne],
    ...[OP.i64LtS, OP.i64LtU, OP.i64GtS, OP.i64GtU, OP.i64LeS, OP.i64LeU, OP.i64GeS, OP.i64GeU],
  ].map((one) => [one.operation.name.replace('i64', 'i32'), one]),
)

/** Matches the comparisons among the 32-bit operations. */
const COMPARES = /^i32\.(eqz?|ne|[lg][te]_[su])$/

const WIDE_ADDRESSES: Pass = { name: 'wide addresses', run: withWideAddresses }

/** Returns the kernel for a memory with addresses of this width. */
export function withAddresses(kernel: KernelModule, addresses: AddressType): KernelModule {
  return withPasses(kernel, addresses === 'i32' ? [] : [WIDE_ADDRESSES])
}

function withWideAddresses(module: KernelModule): KernelModule {
  const trees = treesOf(module)
  const flow = new AddressFlow(module, trees)
  // A local that is only used in distances gets 64 bits, unless it turns out to be used as a number.
  for (;;) {
    const widening = new Widening(module, trees, flow)
    const body = widening.body()
    if (widening.usedAsNumber.size === 0) return widening.module(body)
    for (const local of widening.usedAsNumber) flow.distances.delete(local)
  }
}

class Widening {
  /** Locals for distances whose value is needed as a 32-bit number after all. */
  readonly usedAsNumber: Set<number> = new Set()
  readonly #module: KernelModule
  readonly #trees: readonly Node[]
  readonly #flow: AddressFlow
  readonly #forms = new Map<Node, Form>()
  /** For each address parameter (a double) the new local that holds it as an i64. */
  readonly #held = new Map<number, number>()

  constructor(module: KernelModule, trees: readonly Node[], flow: AddressFlow) {
    this.#module = module
    this.#trees = trees
    this.#flow = flow
    const first = module.parameters.length + module.locals.length
    for (const [i, type] of module.parameters.entries()) if (type === 'address') this.#held.set(i, first + this.#held.size)
  }

  body(): Code {
    const { roots } = this.#flow
    for (const node of roots) this.#want(node, 'number')
    return [
      [...this.#held].map(([parameter, local]) => [I.localGet(parameter), SATURATE.i64S, I.localSet(local)]),
      codeOf(this.#trees, (node) => this.#written(node)),
    ]
  }

  module(body: Code): KernelModule {
    const { parameters, locals, imports } = this.#module
    const own = locals.map((type, i): ValueType => (this.#flow.isWide(parameters.length + i) ? 'i64' : type))
    return {
      imports: imports.map((entry): Import => (entry.kind === 'global' && entry.type === 'address' ? { ...entry, type: 'f64' } : entry)),
      parameters: parameters.map((type): ParameterType => (type === 'address' ? 'f64' : type)),
      locals: [...own, ...[...this.#held].map(() => 'i64' as const)],
      body,
      addresses: 'i64',
    }
  }

  // ---------------------------------------------------------------- the form of each instruction

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
        return { form: { wide: true }, wants: ['address'] }
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
    if (node.operation.immediate.startsWith('memory')) {
      if (first === undefined || !flow.isAddress(first)) throw new Bug(`A kernel reaches memory by what is no address, in ${nameOf(node)}.`)
      return isAddressAccess(node) ? { form: { wide: true }, wants: ['address'] } : { wants: ['address', 'number'] }
    }
    if (COMPARES.test(nameOf(node)) && flow.operandsOf(node).some((operand) => flow.isAddress(operand))) {
      return { form: { wide: true }, wants: ['address'] }
    }
    if (flow.isBetweenAddresses(node)) return { form: { wide: true, after: [OP.i32WrapI64] }, wants: ['address'] }
    // The number of elements between two addresses: 32 bits hold it where they do not hold the number of bytes.
    if (nameOf(node) === 'i32.shr_u' && first !== undefined && flow.isBetweenAddresses(first) && isConstant(second)) {
      return { form: { wide: true, after: [OP.i32WrapI64] }, wants: ['between', 'elements'] }
    }
    return {}
  }

  /** A local.get, local.set or local.tee: its operand has the width of the local. */
  #set(node: Extract<Node, { kind: 'local' }>): Step {
    return { wants: [this.#flow.isWide(node.index) ? 'address' : 'number'] }
  }

  #asAddress(node: Node): Step {
    if (node.kind === 'local') return this.#set(node)
    if (node.kind === 'global') return { form: FROM_DOUBLE }
    if (nameOf(node) === 'select') return { wants: ['address', 'address', 'number'] }
    return { form: { wide: true }, wants: ['address'] }
  }

  #asDistance(node: Node, unit: 'bytes' | 'elements'): Step {
    const flow = this.#flow
    if (node.kind === 'local' && flow.isWide(node.index)) return this.#set(node)
    const isExact = isConstant(node) || (node.kind === 'plain' && (flow.isStride(node) || (unit === 'bytes' && flow.isShifted(node))))
    if (!isExact) {
      const { form = AS_IT_IS, ...rest } = this.#asNumber(node)
      return { ...rest, form: { ...form, after: [form.after ?? [], OP.i64ExtendI32S] } }
    }
    const inner = nameOf(node) === 'i32.shl' || nameOf(node) === 'i32.mul' ? 'elements' : unit
    return { form: { wide: true }, wants: [inner] }
  }

  // ---------------------------------------------------------------- the code

  #written(node: Node): Written {
    const { wide, after = [] } = this.#forms.get(node) ?? AS_IT_IS
    if (node.kind === 'local') return { instruction: { ...node, index: this.#held.get(node.index) ?? node.index }, after }
    if (wide === undefined) return { instruction: node, after }
    if (node.kind === 'const') return { instruction: { ...node, type: 'i64' }, after }
    const operation = WIDE.get(nameOf(node))?.operation
    if (operation === undefined || node.kind !== 'plain') throw new Bug(`A kernel makes an address by ${nameOf(node)}.`)
    return { instruction: { ...node, operation }, after }
  }
}

function isConstant(node: Node | undefined): boolean {
  return node !== undefined && nameOf(node) === 'i32.const'
}
