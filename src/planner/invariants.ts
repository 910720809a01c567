/**
 * What no rule may change, and what every plan must be: checked after each rewrite.
 *
 * A rewritten node yields the same element (names, types, nullability, in order) under the same keys, and it comes in
 * the order that was promised. Every new node is well-formed: it reads only columns that its inputs have.
 */
import { elementText, keysText, sameElement } from '../core/elements.ts'
import { inputsOf, type LogicalPlan } from '../core/logicalPlan.ts'
import { fieldsOf } from '../core/schema.ts'
import { columnsRead } from './lambdaFacts.ts'

/** Compares plans before and after rewrites; remembers what it found out about nodes, for as long as it is held. */
export class Invariants {
  readonly #orders = new Orders()
  readonly #wellFormed = new WeakSet<LogicalPlan>()

  /** What a rewrite broke, in a few words; undefined when everything is as before. */
  broken(before: LogicalPlan, after: LogicalPlan): string | undefined {
    if (!sameElement(before.element, after.element)) {
      return `changed the columns from ${elementText(before.element)} to ${elementText(after.element)}`
    }
    if (keysText(before.keys) !== keysText(after.keys)) return `changed the keys from ${keysText(before.keys)} to ${keysText(after.keys)}`
    const promised = this.#orders.of(before)
    if (promised !== UNSPECIFIED && promised !== this.#orders.of(after)) return 'changed the order of the elements'
    const problem = this.#malformation(after)
    return problem === undefined ? undefined : `made a plan that cannot run (${problem})`
  }

  /** What is wrong with a plan, or undefined; looks at each node once. */
  #malformation(plan: LogicalPlan): string | undefined {
    if (this.#wellFormed.has(plan)) return undefined
    for (const input of inputsOf(plan)) {
      const problem = this.#malformation(input)
      if (problem !== undefined) return problem
    }
    const problem = nodeProblem(plan)
    if (problem === undefined) this.#wellFormed.add(plan)
    return problem
  }
}

// ------------------------------------------------------------------ order

/** An order is a number: plans with the same number promise the same order, as far as they share elements. */
type Order = number
const UNSPECIFIED: Order = 0

class Orders {
  readonly #known = new WeakMap<LogicalPlan, Order>()
  readonly #numbers = new Map<string, Order>()
  readonly #identities = new WeakMap<object, number>()
  #nextIdentity = 1

  of(plan: LogicalPlan): Order {
    const known = this.#known.get(plan)
    if (known !== undefined) return known
    const order = this.#computed(plan)
    this.#known.set(plan, order)
    return order
  }

  #computed(plan: LogicalPlan): Order {
    if (plan.kind !== 'Project' && plan.keys.kind === 'explicit') return this.#numberOf('keys')
    switch (plan.kind) {
      case 'Scan':
        return this.#numberOf(`source ${this.#identityOf(plan.source)}`)
      case 'Stored':
        return this.#numberOf(`storage ${this.#identityOf(plan.storage)}`)
      case 'Repartition':
        if (plan.by === undefined) return this.of(plan.input)
        return this.#numberOf(`repartition ${plan.partitions ?? ''} ${this.#identityOf(plan.by.original)} ${this.of(plan.input)}`)
      case 'Project': // elements without columns cannot be told apart
        return plan.columns.length === 0 ? UNSPECIFIED : plan.keys.kind === 'explicit' ? this.#numberOf('keys') : this.of(plan.input)
      case 'Sort':
        return this.#numberOf(`sort ${this.#identityOf(plan.by.original)} ${plan.descending} ${this.of(plan.input)}`)
      case 'ShuffleKeys':
        return this.#numberOf(`shuffle ${plan.axes.join(' ')} ${plan.seed} ${this.of(plan.input)}`)
      case 'Join':
        return this.#numberOf(`join ${this.of(plan.left)} ${this.of(plan.right)}`)
      case 'Union':
        return this.#numberOf(`union ${plan.inputs.map((input) => this.of(input)).join(' ')}`)
      case 'Array':
      case 'Index':
      case 'IndexBuild':
      case 'IndexLookup':
        return this.#numberOf('keys')
      case 'Map':
      case 'Filter':
      case 'WithColumns':
      case 'FlatMap':
      case 'MapPartitions':
      case 'Cast':
      case 'GroupBy':
      case 'Distinct':
      case 'Sample':
      case 'Limit':
      case 'Materialize':
        return this.of(plan.input)
    }
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

function nodeProblem(plan: LogicalPlan): string | undefined {
  switch (plan.kind) {
    case 'Scan':
      return sameNames(plan, plan.columns)
    case 'Project':
      return missing(plan.input, plan.columns) ?? sameNames(plan, plan.columns)
    case 'Map':
    case 'FlatMap':
    case 'WithColumns':
      return missing(plan.input, columnsRead(plan.f))
    case 'Filter':
      return missing(plan.input, columnsRead(plan.f)) ?? sameAsInput(plan, plan.input)
    case 'Sort':
      return missing(plan.input, columnsRead(plan.by)) ?? sameAsInput(plan, plan.input)
    case 'Index':
      return missing(plan.input, columnsRead(plan.f)) ?? sameAsInput(plan, plan.input)
    case 'Repartition':
      return (plan.by === undefined ? undefined : missing(plan.input, columnsRead(plan.by))) ?? sameAsInput(plan, plan.input)
    case 'GroupBy': {
      const by = plan.by.kind === 'function' ? [plan.by.f] : []
      const of = plan.how.kind === 'agg' ? plan.how.aggregates.flatMap((call) => (call.of === undefined ? [] : [call.of])) : []
      return [...by, ...of].map((f) => missing(plan.input, columnsRead(f))).find((one) => one !== undefined)
    }
    case 'Join':
      if (plan.on.kind === 'column') return missing(plan.left, [plan.on.column]) ?? missing(plan.right, [plan.on.column])
      return plan.on.kind === 'none'
        ? undefined
        : (missing(plan.left, columnsRead(plan.on.left)) ?? missing(plan.right, columnsRead(plan.on.right)))
    case 'Union':
      return plan.inputs
        .map((input) =>
          sameNames(
            input,
            fieldsOf(plan.element).map((field) => field.name),
          ),
        )
        .find((one) => one !== undefined)
    case 'Distinct':
    case 'Sample':
    case 'Limit':
    case 'ShuffleKeys':
    case 'Materialize':
    case 'IndexBuild':
      return sameAsInput(plan, plan.input)
    case 'Array':
    case 'Stored':
    case 'MapPartitions':
    case 'Cast':
    case 'IndexLookup':
      return undefined
  }
}

function missing(input: LogicalPlan, columns: Iterable<string> | 'all'): string | undefined {
  if (columns === 'all' || input.element.kind !== 'row') return undefined
  const names = new Set(input.element.fields.map((field) => field.name))
  for (const column of columns) if (!names.has(column)) return `column "${column}" is read and not there`
  return undefined
}

function sameAsInput(plan: LogicalPlan, input: LogicalPlan): string | undefined {
  return sameElement(plan.element, input.element)
    ? undefined
    : `${plan.kind} says ${elementText(plan.element)} of ${elementText(input.element)}`
}

function sameNames(plan: LogicalPlan, names: readonly string[]): string | undefined {
  if (plan.element.kind !== 'row') return undefined
  const own = plan.element.fields.map((field) => field.name)
  return own.join('\0') === names.join('\0') ? undefined : `the columns [${names.join(', ')}] are called [${own.join(', ')}]`
}
