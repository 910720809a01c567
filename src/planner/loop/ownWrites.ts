/**
 * Covered reads (kill analysis): finds reads that can see nothing but what their own iteration has written.
 *
 *     for k: tmp[k] = a[i, k]                every element that the second loop can read was written by the first,
 *     for k: b[i, k] = tmp[K - 1 - k]        in the same iteration, whatever happened before
 *
 * Statement: a read is the iteration's own if each element that it can touch is one that some write of the same iteration
 * surely touched before it. A write is sure wherever its constraints hold, if whatever else decides on it (`doubts`: a test of
 * data, a loop that is not counted) has been decided for it where the read is reached. It came before
 *
 *     in this iteration of the inner loops around both, where it stands before the read, and
 *     in any earlier iteration of one of these loops, wherever it stands, if nothing inside the loop left a doubt.
 *
 * For a write to have met the element, the indices of its own inner loops must have had certain values: those for which its
 * subscripts come to the element, found by solving them one after another; indices that no subscript has may be those
 * of the first iteration. What is left are conditions on the loop indices and the element. The elements for which one of them
 * fails must be covered by other writes, or there must be none of them (`integerSystem.ts`). In doubt a read is not its own.
 */
import type { LoopSpec } from '../../core/loop/loopSpec.ts'
import type { Access } from './accesses/accesses.ts'
import { type Constraint, constantForm, type Form, LARGEST_KEY, sum, type Variable, variableForm, variableId } from './accesses/affine.ts'
import { keyForm } from './accesses/axisForms.ts'
import { quotient } from './accesses/quotients.ts'
import { extentForms } from './dependence/collision.ts'
import type { Budget } from './dependence/elimination.ts'
import { Facts } from './dependence/facts.ts'
import { TooLarge } from './dependence/rows.ts'

/** Work limit for all reads of a loop together, in units of `Budget`; a scratch row takes some tens. */
const BUDGET_OF_A_LOOP = 20_000

/** Most regions that are tested for emptiness, for one read. */
const MOST_REGIONS = 64

/** Returns the reads and adds that see only what their own iteration has written. `accesses` are in the order of the body. */
export function ownReadsOf(spec: LoopSpec, accesses: readonly Access[]): ReadonlySet<Access> {
  const budget = { left: BUDGET_OF_A_LOOP }
  const buffered = new Set(accesses.filter((access) => access.buffered).map((access) => access.array))
  const own = new Set<Access>()
  for (const [place, read] of accesses.entries()) {
    if (read.mode === 'write' || buffered.has(read.array)) continue
    const element = elementOf(read)
    const targets = accesses.flatMap((write, at) => (write.array === read.array ? earlierWrites(write, read, element, at < place) : []))
    if (targets.length > 0 && isCovered(spec, read, targets, budget)) own.add(read)
  }
  return own
}

/** Whether each element that an access can touch is one that some of the writes, which depend on no loop index, surely touch. */
export function isAmong(spec: LoopSpec, access: Access, writes: readonly Access[]): boolean {
  const element = elementOf(access)
  const targets = writes.flatMap((write) => conditionsOf(write, access, element, { shared: 0, isEarlier: false }) ?? [])
  return targets.length > 0 && isCovered(spec, access, targets, { left: BUDGET_OF_A_LOOP })
}

/** The conditions under which a write has touched the element: all of them must hold. */
interface Target {
  readonly conditions: readonly Condition[]
}

type Condition = Exclude<Constraint, { readonly kind: 'either' }>

/** Returns a target for each way in which a write came before the read; none for adds, and for doubts that the read does not share. */
function earlierWrites(write: Access, read: Access, element: readonly Form[], standsBefore: boolean): Target[] {
  if (write.mode !== 'write' || !write.doubts.every((doubt) => read.doubts.includes(doubt))) return []
  const shared = sharedTurns(write, read)
  const sameTurn = standsBefore ? conditionsOf(write, read, element, { shared, isEarlier: false }) : []
  const earlier = Array.from({ length: shared }, (_, level) => {
    // A doubt inside the loop was settled for this iteration of it only.
    if (write.doubts.some(({ turns }) => turns > level)) return undefined
    return conditionsOf(write, read, element, { shared: level, isEarlier: true })
  })
  return [...(sameTurn ?? []), ...earlier.flatMap((target) => target ?? [])]
}

/** Counts the inner loops around both accesses that are the same, from the outermost. */
function sharedTurns({ turns }: Access, other: Access): number {
  const apart = turns.findIndex(({ index }, level) => {
    const running = other.turns[level]
    return running === undefined || variableId(running.index) !== variableId(index)
  })
  return apart < 0 ? turns.length : apart
}

/** Returns the element that an access touches: its subscripts, and a new variable of any value where one is unknown. */
function elementOf({ subscripts }: Access): readonly Form[] {
  return subscripts.map((subscript, axis) =>
    subscript.kind === 'affine'
      ? subscript.form
      : variableForm({ kind: 'inner', id: -1 - axis, name: subscript.text, low: 0, high: LARGEST_KEY }),
  )
}

/**
 * Returns the conditions under which a write touched the element, undefined where no forms express them. Inner loops shared with the read
 * are in the read's iteration; with `isEarlier`, the first one not shared is in an earlier iteration.
 */
function conditionsOf(
  write: Access,
  read: Access,
  element: readonly Form[],
  { shared, isEarlier }: { readonly shared: number; readonly isEarlier: boolean },
): readonly Target[] | undefined {
  const values = solved(write, element, shared)
  if (values === undefined) return undefined
  const conditions: Condition[] = []
  for (const [axis, subscript] of write.subscripts.entries()) {
    const [place, wanted] = [subscript.kind === 'affine' ? values.of(subscript.form) : undefined, element[axis]]
    const gap = place && wanted && sum(place, wanted, -1)
    if (gap === undefined) return undefined
    conditions.push({ kind: 'equal', form: gap })
  }
  for (const constraint of write.constraints) {
    if (!values.mentions(constraint) && read.constraints.includes(constraint)) continue
    const form = constraint.kind === 'either' ? undefined : values.of(constraint.form)
    if (constraint.kind === 'either' || form === undefined) return undefined
    conditions.push({ kind: constraint.kind, form })
  }
  if (isEarlier) {
    const [turn, running] = [write.turns[shared], read.turns[shared]]
    const index = turn && values.of(variableForm(turn.index))
    if (turn === undefined || running === undefined || index === undefined) return undefined
    const now = variableForm(running.index)
    const gap = turn.step > 0 ? sum(now, index, -1) : sum(index, now, -1)
    if (gap === undefined) return undefined
    conditions.push({ kind: 'atLeast', form: { ...gap, offset: gap.offset - 1 } })
  }
  return [{ conditions }]
}

/** Values of the indices of a write's own inner loops, in terms of the loop indices, the shared ones and the element. */
class Values {
  private readonly own: ReadonlySet<string>
  private readonly known = new Map<string, Form>()

  constructor(own: readonly Variable[]) {
    this.own = new Set(own.map(variableId))
  }

  set(variable: Variable, value: Form): void {
    this.known.set(variableId(variable), value)
  }

  has(variable: Variable): boolean {
    return this.known.has(variableId(variable))
  }

  isOpen(variable: Variable): boolean {
    return this.own.has(variableId(variable)) && !this.has(variable)
  }

  /** Substitutes the values in a form; undefined where one is missing, or the form is too large. */
  of({ terms, offset }: Form): Form | undefined {
    let total: Form | undefined = constantForm(offset)
    for (const { variable, factor } of terms) {
      const value = this.valueOf(variable)
      total = value && total && sum(total, value, factor)
    }
    return total
  }

  private valueOf(variable: Variable): Form | undefined {
    const known = this.known.get(variableId(variable))
    if (known !== undefined) return known
    // A chosen, read or divided value of one iteration of an inner loop says nothing of another.
    return this.own.size > 0 && this.dependsOnTurn(variable) ? undefined : variableForm(variable)
  }

  private dependsOnTurn(variable: Variable): boolean {
    switch (variable.kind) {
      case 'key':
      case 'extent':
        return false
      case 'inner':
        return this.own.has(variableId(variable))
      case 'quotient':
        return variable.of.terms.some((term) => this.dependsOnTurn(term.variable))
      case 'choice':
      case 'distinct':
        return true
    }
  }

  mentions(constraint: Constraint): boolean {
    if (this.own.size === 0) return false
    if (constraint.kind === 'either') return constraint.cases.some((one) => one.some((inner) => this.mentions(inner)))
    return constraint.form.terms.some(({ variable }) => this.dependsOnTurn(variable))
  }
}

/**
 * Solves the subscripts for the indices of the loops that are not shared. Of several in one subscript, as in `8 * a + b`, the one with the
 * largest factor is solved for; the others, and indices in no subscript, are those of the first iteration. Undefined where no form fits.
 */
function solved(write: Access, element: readonly Form[], shared: number): Values | undefined {
  const turns = write.turns.slice(shared)
  const values = new Values(turns.flatMap(({ index, turns: count }) => (count === undefined ? [index] : [index, count])))
  for (const [axis, subscript] of write.subscripts.entries()) {
    const wanted = element[axis]
    if (subscript.kind !== 'affine' || wanted === undefined) continue
    for (;;) {
      const { terms, offset } = subscript.form
      const open = terms.filter(({ variable }) => values.isOpen(variable)).sort((a, b) => Math.abs(b.factor) - Math.abs(a.factor))
      const [term, ...others] = open
      if (term === undefined) break
      const starts = others.map(({ variable, factor }) => scaledStart(variable, factor, turns, values))
      const rest = [values.of({ terms: terms.filter((one) => !open.includes(one)), offset }), ...starts].reduce(
        (total, part) => total && part && sum(total, part, 1),
        constantForm(0),
      )
      const value = rest && divided(sum(wanted, rest, -1), term.factor)
      if (value === undefined) return undefined
      values.set(term.variable, value)
    }
  }
  for (const { index, turns: count, from, step } of turns) {
    const first = values.of(from)
    if (first === undefined) return undefined
    if (!values.has(index)) values.set(index, first)
    const gone = count && divided(sum(values.of(variableForm(index)) ?? first, first, -1), step)
    if (count !== undefined && gone === undefined) return undefined
    if (count !== undefined && gone !== undefined) values.set(count, gone)
  }
  return values
}

/** Returns the value of an index in the first iteration of its loop, times a factor. */
function scaledStart(variable: Variable, factor: number, turns: Access['turns'], values: Values): Form | undefined {
  const turn = turns.find(({ index }) => variableId(index) === variableId(variable))
  const start = turn && values.of(turn.from)
  return start && sum(constantForm(0), start, factor)
}

/** Returns form / by, rounded down where it is no whole number; undefined where numbers could be too large. */
function divided(form: Form | undefined, by: number): Form | undefined {
  if (form === undefined) return undefined
  if (form.offset % by === 0 && form.terms.every(({ factor }) => factor % by === 0))
    return { terms: form.terms.map(({ variable, factor }) => ({ variable, factor: factor / by })), offset: form.offset / by + 0 }
  const of = sum(constantForm(0), form, Math.sign(by))
  return of && quotient(of, Math.abs(by), 'floor')
}

/** Whether every element that an access can touch meets all conditions of at least one target. */
function isCovered(spec: LoopSpec, access: Access, targets: readonly Target[], budget: Budget): boolean {
  const element = elementOf(access)
  let regions = MOST_REGIONS
  const covers = (known: readonly Condition[], left: readonly Target[]): boolean => {
    if (regions-- <= 0 || budget.left <= 0) return false
    if (isEmpty(spec, access, element, known, budget)) return true
    const [first, ...others] = left
    if (first === undefined) return false
    // Elements that miss the first target are split by the first of its conditions that fails.
    let inside = known
    for (const condition of first.conditions) {
      if (!failures(condition).every((failure) => covers([...inside, failure], others))) return covers(known, others)
      inside = [...inside, condition]
    }
    return true
  }
  return covers([], targets)
}

/** Returns the cases in which a condition fails, as constraints. */
function failures({ kind, form }: Condition): Condition[] {
  const under: Condition = { kind: 'atLeast', form: negated(form) }
  return kind === 'atLeast' ? [under] : [under, { kind: 'atLeast', form: { ...form, offset: form.offset - 1 } }]
}

/** Returns -form - 1, which is at least 0 where the form is below 0. */
function negated({ terms, offset }: Form): Form {
  return { terms: terms.map(({ variable, factor }) => ({ variable, factor: -factor })), offset: -offset - 1 }
}

/** Whether the access surely never happens where the constraints hold. */
function isEmpty(spec: LoopSpec, access: Access, element: readonly Form[], known: readonly Constraint[], budget: Budget): boolean {
  const { rank, extents } = spec.over
  const facts = new Facts(rank)
  for (const [axis, extent] of extents.entries()) {
    facts.within('p', keyForm(spec, axis), extent === undefined ? undefined : constantForm(extent))
    // Only one iteration is of interest: the key of the other is fixed at 0, so that the solver does not search for it.
    facts.within('q', keyForm(spec, axis), constantForm(1))
  }
  for (const constraint of [...access.constraints, ...known]) facts.hold('p', constraint)
  const shape = extentForms(spec, access)
  for (const [axis, form] of element.entries()) facts.within('p', form, shape[axis])
  try {
    return facts.systems().systems.every((system) => system.least(budget) === 'none')
  } catch (error) {
    if (!(error instanceof TooLarge)) throw error
    return false
  }
}
