/**
 * Splits a body into loops that run one after another, where the whole is serial and a part is not.
 *
 *     (i) => { s[i] = s[i-1] + x[i];  y[i] = f(s[i]) }     -->     (i) => s[i] = s[i-1] + x[i]     serial
 *                                                                  (i) => y[i] = f(s[i])           independent
 *
 * Allen and Kennedy's loop distribution (Automatic translation of Fortran programs to vector form, 1987) over the statements
 * of the body. An edge s -> t says that something s does must happen before something t does:
 *
 *     carried      s in an iteration and t in a later one touch an element, one of them writing: every conflict, whatever its vector
 *     same         s stands before t, and in one iteration they do
 *
 * Statements on a cycle stay together. So do, both ways: those that share a local which cannot be computed again, that add to one
 * accumulator, that draw random numbers, that touch an array which is added to, and all that may fail.
 *
 * Statement: where the parts are in an order that every edge follows, running all iterations of one before any of the next gives each
 * array, accumulator and random number the bits of the serial program. Of two accesses to one element, one writing, in different
 * parts, the serial program's first is in the earlier part, and two in one part keep their order; so every read sees what it
 * saw. Every accumulator, and every array that is only added to, is added to by one part, in key order. At most one part can fail, and
 * it meets first what the serial program meets first; what it leaves in the arrays is lost either way.
 *
 * A local that is computed from loop indices, constants and arrays that the loop does not write is computed by each
 * part that uses it, unless that takes a loop.
 */
import type { FunctionIr } from '../../core/ir/functionIr.ts'
import type { LoopSpec } from '../../core/loop/loopSpec.ts'
import type { Access } from './accesses/accesses.ts'
import { hasReadValue, isAtBorder, maySolve, surelyInside } from './accesses/bounds.ts'
import { collisionOf } from './dependence/collision.ts'
import type { Conflict } from './dependence/dependence.ts'
import type { Budget } from './dependence/elimination.ts'
import { TooLarge } from './dependence/rows.ts'
import { chooseSchedule, distinctVectors, KINDS } from './schedule.ts'
import { factsOf, isDivisible, type StatementFacts } from './statements.ts'

export interface Body {
  readonly spec: LoopSpec
  readonly ir: FunctionIr
  readonly accesses: readonly Access[]
  /** All conflicts between different iterations: an edge that is left out here would be a wrong result. */
  readonly conflicts: readonly Conflict[]
}

/** Most statements of a body that is split: the work grows with their square. */
const MOST_STATEMENTS = 64

/** Work limit for all integer systems asked about one body, in units of `Budget`; enough for some hundred of them. */
const BUDGET = 10_000

/** Returns the bodies of loops to run one after another, each in serial order; undefined where the loop stays whole. */
export function partsOf(body: Body): readonly FunctionIr[] | undefined {
  const { spec, ir, accesses } = body
  if (ir.body.length < 2 || ir.body.length > MOST_STATEMENTS) return undefined
  const written = new Set(accesses.filter(({ mode }) => mode !== 'read').map(({ array }) => array))
  if (!isDivisible(spec, ir, written)) return undefined
  const facts = ir.body.map(factsOf)
  const budget = { left: BUDGET }
  const outside = new Set(accesses.filter((access) => !surelyInside(spec, access, budget)).map(({ statement }) => statement))
  const mayFail = facts.map(({ throws }, at) => throws || outside.has(at))
  const readsWritten = new Set(accesses.filter(({ array }) => written.has(array)).map(({ statement }) => statement))
  const repeated = repeatable(
    facts,
    facts.map(({ hasEffect, hasLoop, draws }, at) => !hasEffect && !hasLoop && !draws && mayFail[at] === false && !readsWritten.has(at)),
  )
  const kept = facts.flatMap((_, at) => (repeated[at] === true ? [] : [at]))
  const before = reachable(facts.length, [...edges(body, budget), ...ties(facts, accesses, { kept, mayFail })])
  const components = componentsOf(kept, before)
  if (components.length < 2) return undefined
  // A statement with accesses at a border only is not worth a loop of its own, however freely it could run.
  const isSmall = facts.map(
    ({ accumulators }, at) => accumulators.size === 0 && accesses.every((one) => one.statement !== at || isAtBorder(spec, one, budget)),
  )
  const parts = fused(components, before, (part) => (part.every((at) => isSmall[at]) ? SERIAL : rankOf(body, part)))
  const isFree = (part: readonly number[]) =>
    part.some((at) => facts[at]?.hasEffect === true && isSmall[at] === false) && rankOf(body, part) < SERIAL
  return parts.some(isFree) ? parts.map((part) => bodyOf(ir, facts, repeated, part)) : undefined
}

/** Returns which of the candidates every part can compute for itself: those whose locals take all their values from candidates. */
function repeatable(facts: readonly StatementFacts[], candidates: readonly boolean[]): readonly boolean[] {
  const fixed = new Set(facts.flatMap(({ defines }, at) => (candidates[at] === true ? [] : [...defines])))
  const left = facts.map(({ locals }, at) => candidates[at] === true && ![...locals].some((local) => fixed.has(local)))
  return left.every((can, at) => can === candidates[at]) ? candidates : repeatable(facts, left)
}

type Edge = readonly [from: number, to: number]

/** Returns the edges between statements that touch one element: the first of each must come before the second. */
function edges({ spec, accesses, conflicts }: Body, budget: Budget): Edge[] {
  const carried = conflicts.map(({ from, to }): Edge => [from.statement, to.statement])
  const known = new Set(carried.map(([from, to]) => `${from} ${to}`))
  const same = accesses.flatMap((a) =>
    accesses.flatMap((b): Edge[] => {
      const matters = a.statement < b.statement && a.array === b.array && (a.mode !== 'read' || b.mode !== 'read')
      const edge = `${a.statement} ${b.statement}`
      if (!matters || known.has(edge) || !meetInOneIteration(spec, a, b, budget)) return []
      known.add(edge)
      return [[a.statement, b.statement]]
    }),
  )
  return [...carried, ...same].filter(([from, to]) => from !== to && from >= 0 && to >= 0)
}

/** Whether two accesses may touch one element in one iteration. */
function meetInOneIteration(spec: LoopSpec, a: Access, b: Access, budget: Budget): boolean {
  const { rank } = spec.over
  if (budget.left <= 0) return true
  // The promise `assume.distinct` about values read holds for different iterations only.
  if ([...a.subscripts, ...b.subscripts].some((one) => one.kind === 'affine' && hasReadValue(one.form))) return true
  try {
    return collisionOf(spec, a, b).systems.some((system) => {
      for (let axis = 0; axis < rank; axis++) system.equal(rank + axis, axis, 0)
      return maySolve(system, budget)
    })
  } catch (error) {
    if (!(error instanceof TooLarge)) throw error
    return true
  }
}

/** Returns edges in both directions between statements that stay together, whatever they touch. */
function ties(
  facts: readonly StatementFacts[],
  accesses: readonly Access[],
  { kept, mayFail }: { readonly kept: readonly number[]; readonly mayFail: readonly boolean[] },
): Edge[] {
  const groups = new Map<string, number[]>()
  const join = (group: string, at: number) => groups.set(group, [...(groups.get(group) ?? []), at])
  const added = new Set(accesses.filter(({ mode }) => mode === 'add').map(({ array }) => array))
  for (const { array, statement } of accesses) if (added.has(array)) join('added', statement)
  for (const at of kept) {
    const { locals, accumulators, draws } = facts[at] as StatementFacts // there are facts of every statement
    for (const local of locals) join(`local ${local}`, at)
    for (const name of accumulators) join(`accumulator ${name}`, at)
    if (draws) join('draws', at)
    if (mayFail[at] === true) join('fails', at)
  }
  return [...groups].flatMap(([id, group]) => {
    // A local that each part computes for itself ties no statements together.
    if (id.startsWith('local ') && !kept.some((at) => facts[at]?.defines.has(id.slice('local '.length)) === true)) return []
    return group.flatMap((to): Edge[] => [
      [group[0] ?? to, to],
      [to, group[0] ?? to],
    ])
  })
}

/** Returns the transitive closure: for each statement, those that edges lead to. */
function reachable(count: number, all: readonly Edge[]): readonly (readonly boolean[])[] {
  const reach = Array.from({ length: count }, () => new Array<boolean>(count).fill(false))
  for (const [from, to] of all) (reach[from] as boolean[])[to] = true
  for (const [via, further] of reach.entries()) {
    for (const row of reach) if (row[via] === true) for (const [to, is] of further.entries()) if (is) row[to] = true
  }
  return reach
}

/** Returns the strongly connected components: statements that have to stay together, in the order of the body. */
function componentsOf(kept: readonly number[], before: readonly (readonly boolean[])[]): readonly (readonly number[])[] {
  const isWith = (a: number, b: number) => a === b || (before[a]?.[b] === true && before[b]?.[a] === true)
  return kept.filter((at) => kept.find((other) => isWith(at, other)) === at).map((first) => kept.filter((at) => isWith(first, at)))
}

/**
 * Fuses components into few parts: in turn as many serial ones, or as many parallel ones, as can go together. No component joins a part
 * that would run less freely than the component alone.
 */
function fused(
  components: readonly (readonly number[])[],
  before: readonly (readonly boolean[])[],
  rank: (statements: readonly number[]) => number,
): readonly (readonly number[])[] {
  const parts: (readonly number[])[] = []
  let waiting = components.map((statements) => ({ statements, rank: rank(statements) }))
  while (waiting.length > 0) {
    let part: readonly number[] = []
    let partRank = 0
    for (let found = true; found; ) {
      const next = waiting.find((one) => {
        if (waiting.some((other) => other !== one && leads(other.statements, one.statements, before))) return false
        if (part.length === 0) return true
        if ((one.rank === SERIAL) !== (partRank === SERIAL)) return false
        return rank([...part, ...one.statements]) <= Math.max(one.rank, partRank)
      })
      found = next !== undefined
      if (next === undefined) break
      part = [...part, ...next.statements].sort((a, b) => a - b)
      partRank = Math.max(partRank, next.rank)
      waiting = waiting.filter((one) => one !== next)
    }
    parts.push(part)
  }
  return parts
}

function leads(from: readonly number[], to: readonly number[], before: readonly (readonly boolean[])[]): boolean {
  return from.some((a) => to.some((b) => before[a]?.[b] === true))
}

const SERIAL = KINDS.indexOf('serial')

/** Rank of the freest schedule that some statements alone could have: its index in `KINDS`, 0 the freest. */
function rankOf({ spec, conflicts }: Body, statements: readonly number[]): number {
  const own = conflicts.filter(({ from, to }) => statements.includes(from.statement) && statements.includes(to.statement))
  return KINDS.indexOf(chooseSchedule(distinctVectors(own), { extents: spec.over.extents, order: 'serial' }).schedule.kind)
}

/** Returns a body of some statements, with those that compute the locals they use. */
function bodyOf(ir: FunctionIr, facts: readonly StatementFacts[], repeated: readonly boolean[], part: readonly number[]): FunctionIr {
  const own = new Set(part)
  for (let size = -1; size !== own.size; ) {
    size = own.size
    const locals = new Set([...own].flatMap((at) => [...(facts[at]?.locals ?? [])]))
    for (const [at, { defines }] of facts.entries())
      if (repeated[at] === true && [...defines].some((local) => locals.has(local))) own.add(at)
  }
  const names = new Set([...own].flatMap((at) => [...(facts[at]?.names ?? [])]))
  return {
    ...ir,
    body: ir.body.filter((_, at) => own.has(at)),
    tables: ir.tables.filter(({ name }) => names.has(name)),
    uses: ir.uses.filter(({ name }) => names.has(name)),
  }
}
