/**
 * The invariants of rewrites and of plans, checked after each rewrite.
 *
 * A rewritten node yields the same element (names, types, nullability, in order) under the same keys, and it comes in
 * the order that was promised. Every new node is well-formed: it reads only columns that its inputs have.
 */

import { type ElementType, fieldsOf } from '../core/data/schema.ts'
import { columnsRead } from '../core/ir/functionUse.ts'
import { asofElement } from '../core/plan/asofPlan.ts'
import { joinElement } from '../core/plan/combinations.ts'
import { elementText, keysText, plainElement, ROW_NUMBERS, sameElement, thinned } from '../core/plan/elements.ts'
import { inputsOf, type Keys, type LogicalPlan } from '../core/plan/logicalPlan.ts'
import { traitsOf } from '../core/plan/nodeTraits.ts'
import { functionsOfElements } from '../core/plan/tree.ts'

/** Compares plans before and after rewrites; caches its findings about nodes for as long as it is held. */
export class Invariants {
  readonly #orders = new Orders()
  readonly #problems = new WeakMap<LogicalPlan, ReadonlySet<string>>()

  /** Returns what a rewrite broke, in a few words; undefined where everything is as before. */
  broken(before: LogicalPlan, after: LogicalPlan): string | undefined {
    if (!sameElement(before.element, after.element)) {
      return `changed the columns from ${elementText(before.element)} to ${elementText(after.element)}`
    }
    if (keysText(before.keys) !== keysText(after.keys)) return `changed the keys from ${keysText(before.keys)} to ${keysText(after.keys)}`
    const promised = this.#orders.of(before)
    // elements without columns cannot be told apart
    const hasColumns = before.element.kind !== 'row' || before.element.fields.length > 0
    if (hasColumns && promised !== this.#orders.of(after)) return 'changed the order of the elements'
    const users = this.#problemsOf(before)
    const problem = [...this.#problemsOf(after)].find((one) => !users.has(one))
    return problem === undefined ? undefined : `made a plan that cannot run (${problem})`
  }

  /**
   * Returns the problems of a plan; looks at each node once. A plan as the user wrote it may have such problems: a column that a function
   * reads is undefined where rows turned out to be without it.
   */
  #problemsOf(plan: LogicalPlan): ReadonlySet<string> {
    const known = this.#problems.get(plan)
    if (known !== undefined) return known
    const own = [...nodeProblems(plan), ...keysProblems(plan)]
    const below = inputsOf(plan)
      .map((input) => this.#problemsOf(input))
      .filter((problems) => problems.size > 0)
    const [first] = below
    const all = own.length === 0 && below.length < 2 ? (first ?? NONE) : new Set([...own, ...below.flatMap((one) => [...one])])
    this.#problems.set(plan, all)
    return all
  }
}

const NONE: ReadonlySet<string> = new Set()

// ------------------------------------------------------------------ order

/** An order is a number: plans with the same number promise the same order, as far as they share elements. */
type Order = number

/**
 * A sequence of orders as its polynomial hash, which joins without knowing the parts: an array put after itself forty
 * times has 2^40 of them.
 */
interface Sequence {
  readonly hash: bigint
  /** The base to the power of the length. */
  readonly power: bigint
}
const PRIME = 2n ** 127n - 1n
const BASE = 0x9e3779b97f4a7c15f39cc0605cedc835n

function joined(a: Sequence, b: Sequence): Sequence {
  return { hash: (a.hash * b.power + b.hash) % PRIME, power: (a.power * b.power) % PRIME }
}

class Orders {
  readonly #known = new WeakMap<LogicalPlan, Order>()
  readonly #numbers = new Map<string, Order>()
  readonly #identities = new WeakMap<object, number>()
  /** For orders of unions, the sequence of their inputs' orders. */
  readonly #sequences = new Map<Order, Sequence>()
  #nextIdentity = 1

  of(plan: LogicalPlan): Order {
    const known = this.#known.get(plan)
    if (known !== undefined) return known
    const order = this.#computed(plan)
    this.#known.set(plan, order)
    return order
  }

  #computed(plan: LogicalPlan): Order {
    const inputs = inputsOf(plan).map((input) => this.of(input))
    if (plan.kind === 'Union' && plan.keys.kind !== 'explicit') return this.#united(inputs)
    const own = plan.keys.kind === 'explicit' ? 'keys' : traitsOf(plan).order?.(plan)
    if (own === 'keys') return this.#numberOf('keys')
    const [only] = inputs
    if (own === undefined && only !== undefined) return only
    const parts = (own ?? []).map((part) =>
      typeof part === 'object' || typeof part === 'function' ? this.#identityOf(part as object) : part,
    )
    return this.#numberOf([plan.kind, ...parts, ...inputs].join(' '))
  }

  /** Returns the order of a union: one number for one sequence of orders, however unions are nested. */
  #united(orders: readonly Order[]): Order {
    const [first, ...others] = orders
    if (first === undefined || others.length === 0) return first ?? this.#numberOf('nothing')
    const sequence = others.map((order) => this.#sequenceOf(order)).reduce(joined, this.#sequenceOf(first))
    const order = this.#numberOf(`union ${sequence.hash} ${sequence.power}`)
    this.#sequences.set(order, sequence)
    return order
  }

  #sequenceOf(order: Order): Sequence {
    return this.#sequences.get(order) ?? { hash: BigInt(order), power: BASE }
  }

  #numberOf(description: string): Order {
    const known = this.#numbers.get(description)
    if (known !== undefined) return known
    const order = this.#numbers.size + 1
    this.#numbers.set(description, order)
    return order
  }

  #identityOf(object: object): number {
    const known = this.#identities.get(object)
    if (known !== undefined) return known
    this.#identities.set(object, this.#nextIdentity)
    return this.#nextIdentity++
  }
}

// ------------------------------------------------------------------ form

function nodeProblems(plan: LogicalPlan): readonly string[] {
  switch (plan.kind) {
    case 'Scan':
      return sameNames(plan, plan.columns)
    case 'Project':
      return [...missing(plan.input, plan.columns), ...sameNames(plan, plan.columns)]
    case 'Join': {
      const element = joinElement(plan.left, plan.right, plan)
      if (!sameElement(plan.element, element)) return [`Join says ${elementText(plan.element)} of ${elementText(element)}`]
      if (plan.on.kind === 'column') return [...missing(plan.left, [plan.on.column]), ...missing(plan.right, [plan.on.column])]
      return plan.on.kind === 'none'
        ? []
        : [...missing(plan.left, columnsRead(plan.on.left)), ...missing(plan.right, columnsRead(plan.on.right))]
    }
    case 'AsofJoin': {
      const element = asofElement(plan)
      if (!sameElement(plan.element, element)) return [`AsofJoin says ${elementText(plan.element)} of ${elementText(element)}`]
      const read = (side: 'left' | 'right') => [plan.on[side], ...(plan.by === undefined ? [] : [plan.by[side]])]
      return (['left', 'right'] as const).flatMap((side) => read(side).flatMap((f) => missing(plan[side], columnsRead(f))))
    }
    case 'Union':
      return plan.inputs.flatMap((input) =>
        sameNames(
          input,
          fieldsOf(plan.element).map((field) => field.name),
        ),
      )
    default: {
      const [input] = inputsOf(plan)
      if (input === undefined) return []
      return [...functionsOfElements(plan).flatMap((f) => missing(input, columnsRead(f))), ...elementProblems(plan, input)]
    }
  }
}

function elementProblems(plan: LogicalPlan, input: LogicalPlan): readonly string[] {
  switch (traitsOf(plan).element) {
    case 'input':
      return sameAs(plan, input.element)
    case 'plain':
      return sameAs(plan, plainElement(input.element))
    case 'longer':
      return startsWithInput(plan, input)
    case 'own':
      return []
  }
}

/** Returns the problems of a node's keys, which are its input's, thinned where elements may go missing. */
function keysProblems(plan: LogicalPlan): readonly string[] {
  const [input] = inputsOf(plan)
  switch (traitsOf(plan).keys) {
    case 'input':
      return input === undefined ? [] : sameKeys(plan, input.keys)
    case 'thinned':
      return input === undefined ? [] : sameKeys(plan, thinned(input.keys))
    case 'rowNumbers':
      return sameKeys(plan, ROW_NUMBERS)
    case 'own':
      return []
  }
}

function sameKeys(plan: LogicalPlan, wanted: Keys): readonly string[] {
  const [own, right] = [keysText(plan.keys), keysText(wanted)]
  return own === right ? [] : [`${plan.kind} says keys ${own} of ${right}`]
}

function missing(input: LogicalPlan, columns: Iterable<string> | 'all'): readonly string[] {
  if (columns === 'all' || input.element.kind !== 'row') return []
  const names = new Set(input.element.fields.map((field) => field.name))
  return [...columns].filter((column) => !names.has(column)).map((column) => `column "${column}" is read and not there`)
}

function sameAs(plan: LogicalPlan, element: ElementType): readonly string[] {
  return sameElement(plan.element, element) ? [] : [`${plan.kind} says ${elementText(plan.element)} of ${elementText(element)}`]
}

function startsWithInput(plan: LogicalPlan, input: LogicalPlan): readonly string[] {
  if (plan.element.kind !== 'row' || input.element.kind !== 'row') return []
  const own = plan.element.fields.slice(0, input.element.fields.length).map((field) => field.name)
  const wanted = input.element.fields.map((field) => field.name)
  return own.join('\0') === wanted.join('\0') ? [] : [`${plan.kind} says ${elementText(plan.element)} over ${elementText(input.element)}`]
}

function sameNames(plan: LogicalPlan, names: readonly string[]): readonly string[] {
  if (plan.element.kind !== 'row') return []
  const own = plan.element.fields.map((field) => field.name)
  return own.join('\0') === names.join('\0') ? [] : [`the columns [${names.join(', ')}] are called [${own.join(', ')}]`]
}
