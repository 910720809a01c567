/**
 * A kernel for a memory of 64-bit addresses, of one that was written for 32 bits.
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
import { Bug } from '../../../core/errors.ts'
import { type Code, I, OP, type Plain, SATURATE, type ValueType } from '../instructions.ts'
import type { AddressType, Import, KernelModule, ParameterType } from '../kernelModule.ts'
import { type Pass, withPasses } from '../pass.ts'
import { codeOf, type Node, nameOf, treesOf, type Written } from '../tree.ts'
import { AddressFlow, isAddressAccess } from './addressFlow.ts'

/** How an instruction is written: as it is, for 64 bits, or as it is with a conversion behind. */
type Form = { readonly wide?: true; readonly after?: Code }

const AS_IT_IS: Form = {}
const FROM_DOUBLE: Form = { after: [SATURATE.i64S] }

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

/** Operations on addresses and distances by their name, and the same for 64 bits. Constants are such, too. */
const WIDE: ReadonlyMap<string, Plain> = new Map(
  [
    ...[OP.i64Add, OP.i64Sub, OP.i64Mul, OP.i64Shl, OP.i64ShrU, OP.i64Load, OP.i64Store, OP.i64Eqz, OP.i64Eq, OP.i64Ne],
    ...[OP.i64LtS, OP.i64LtU, OP.i64GtS, OP.i64GtU, OP.i64LeS, OP.i64LeU, OP.i64GeS, OP.i64GeU],
  ].map((one) => [one.operation.name.replace('i64', 'i32'), one]),
)

/** Whether an operation of 32 bits compares. */
const COMPARES = /^i32\.(eqz?|ne|[lg][te]_[su])$/

const WIDE_ADDRESSES: Pass = { name: 'wide addresses', run: withWideAddresses }

/** The kernel over a memory of such addresses. */
export function withAddresses(kernel: KernelModule, addresses: AddressType): KernelModule {
  return withPasses(kernel, addresses === 'i32' ? [] : [WIDE_ADDRESSES])
}

function withWideAddresses(module: KernelModule): KernelModule {
  const trees = treesOf(module)
  const flow = new AddressFlow(module, trees)
  // A local that only goes into distances is one of 64 bits, unless it turns out to be used as a number.
  for (;;) {
    const widening = new Widening(module, trees, flow)
    const body = widening.body()
    if (widening.usedAsNumber.size === 0) return widening.module(body)
    for (const local of widening.usedAsNumber) flow.distances.delete(local)
  }
}

class Widening {
  /** Locals of distances whose value is needed as a number of 32 bits. */
  readonly usedAsNumber: Set<number> = new Set()
  readonly #module: KernelModule
  readonly #trees: readonly Node[]
  readonly #flow: AddressFlow
  readonly #forms = new Map<Node, Form>()
  /** The local that holds an address parameter, by the parameter. */
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
    // Of bytes between two addresses, how many elements: 32 bits hold those where they do not hold the bytes.
    if (nameOf(node) === 'i32.shr_u' && first !== undefined && flow.isBetweenAddresses(first) && isConstant(second)) {
      return { form: { wide: true, after: [OP.i32WrapI64] }, wants: ['between', 'elements'] }
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
