/**
 * Law 3: the dependence analysis against the definition.
 *
 * Small loops are run by an interpreter that notes every element that every iteration touches; then all pairs of
 * iterations are tried. A pair that conflicts must be covered by a reported vector (or be additions to an array that
 * is only added to), and the schedule must order it, wherever the blocks are cut. Where the analysis claims to be
 * exact, no vector may be invented.
 */
import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import type { Dependence, Distance } from '../src/core/loop/loopPlan.ts'
import type { AnalyzedLoop } from '../src/core/loop/loopSpec.ts'
import type { InnerSchedule, Schedule } from '../src/core/loop/schedules.ts'
import { lowerFunction } from '../src/planner/function/userFunction.ts'
import { accessesOf } from '../src/planner/loop/accesses/accesses.ts'
import { analyzeLoop } from '../src/planner/loop/analyze.ts'
import { conflictsOf } from '../src/planner/loop/dependence/dependence.ts'
import { stepAlong } from '../src/planner/loop/dependence/forms.ts'
import { withFewReaches } from '../src/planner/loop/dependence/knownSteps.ts'
import { chooseSchedule } from '../src/planner/loop/schedule.ts'
import { keysOf, type RandomLoop, randomLoop } from './arbitraries/loopBody.ts'
import { printFunction } from './arbitraries/loopSource.ts'
import { type Touch, traceLoop } from './arbitraries/loopTrace.ts'
import { steppedLoop } from './arbitraries/steppedLoop.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('dependence.prop.ts', 2_000)
const RUNS = RUN.numRuns
// Far above what a run takes, for machines under load.
vi.setConfig({ testTimeout: 30 * RUNS + 60_000 })

const cutsOfAllAxes = fc.array(fc.array(fc.nat(9), { maxLength: 4 }), { minLength: 4, maxLength: 4 })

test('every pair of conflicting iterations is covered by a dependence vector', () => {
  let bounded = 0
  fc.assert(
    fc.property(randomLoop(), (loop) => {
      coversAllConflicts(loop)
      if (analyzeLoop(loop.spec).plan.dependences.some(({ bounds }) => bounds !== undefined)) bounded++
    }),
    RUN,
  )
  console.log(`dependence.prop.ts: ${bounded} of ${RUNS} loops with bounds`)
  if (RUNS >= 1_000) expect(bounded / RUNS).toBeGreaterThan(0.005)
})

test('every pair of conflicting iterations is covered in the text of the loop, with row views, as the front end reads it', () => {
  let refused = 0
  fc.assert(
    fc.property(randomLoop(), (loop) => {
      const read = asRead(loop)
      if (read === undefined) refused++
      else coversAllConflicts(read)
    }),
    RUN,
  )
  // The law says nothing about bodies that are refused.
  expect(refused / RUNS).toBeLessThan(0.1)
})

test('every pair of conflicting iterations is ordered by the schedule, wherever it is cut', () => {
  fc.assert(
    fc.property(randomLoop(), cutsOfAllAxes, (loop, cuts) => {
      ordersAllConflicts(loop, cuts)
    }),
    RUN,
  )
})

test('conflicts are covered and ordered where outer axes have to run in order', () => {
  let stepped = 0
  const numRuns = Math.min(RUNS, 1_000)
  fc.assert(
    fc.property(steppedLoop({ small: true }), cutsOfAllAxes, (loop, cuts) => {
      if (analyzeLoop(loop.spec).schedule.kind === 'stepped') stepped++
      coversAllConflicts(loop)
      ordersAllConflicts(loop, cuts)
    }),
    { ...RUN, numRuns },
  )
  if (numRuns >= 1_000) expect(stepped / numRuns).toBeGreaterThan(0.08)
})

test('conflicts are covered and ordered where iterations fill an array and read it again', () => {
  let own = 0
  // They touch many elements, and all pairs of touches are tried.
  const numRuns = Math.min(RUNS, 1_000)
  fc.assert(
    fc.property(randomLoop({ scratch: true }), cutsOfAllAxes, (loop, cuts) => {
      if (analyzeLoop(loop.spec).privateArrays.length > 0) own++
      coversAllConflicts(loop)
      ordersAllConflicts(loop, cuts)
    }),
    { ...RUN, numRuns },
  )
  console.log(`dependence.prop.ts: ${own} of ${numRuns} loops with private arrays`)
  if (numRuns >= 1_000) expect(own / numRuns).toBeGreaterThan(0.03)
})

test('no two iterations in conflict are farther apart than is known of a vector, nor than of all with the same entries', () => {
  fc.assert(fc.property(fc.oneof(randomLoop(), randomLoop({ exact: true })), staysWithinReach), RUN)
})

test('every value that an iteration reads of another comes by a flow dependence', () => {
  fc.assert(fc.property(fc.oneof(randomLoop({ scratch: true }), randomLoop()), coversAllFlows), RUN)
})

test('a read of what the same iteration wrote to the same place before is in no dependence', () => {
  fc.assert(fc.property(randomLoop({ exact: true, scratch: true }), inventsNothing), RUN)
})

test('conflicts are covered and ordered where assume.distinct is promised, and true', () => {
  fc.assert(
    fc.property(randomLoop({ distinct: true }), cutsOfAllAxes, (loop, cuts) => {
      coversAllConflicts(loop)
      ordersAllConflicts(loop, cuts)
    }),
    RUN,
  )
})

test('where the analysis is exact, every dependence is witnessed by two conflicting iterations', () => {
  fc.assert(fc.property(randomLoop({ exact: true }), inventsNothing), RUN)
})

test('a dependence that is called certain is so, in any loop', () => {
  fc.assert(
    fc.property(randomLoop(), (loop) => witnessesAreTrue(loop, analyzeLoop(loop.spec))),
    RUN,
  )
})

test('the schedule chosen for a set of vectors orders them all, and no freer one does', () => {
  const later = fc.constantFrom<Distance[]>(0, 0, 1, 2, -1, -2, '+', '-', '*')
  const vector = (rank: number) =>
    fc
      .tuple(fc.nat(rank - 1), fc.constantFrom<Distance[]>(1, 2, '+'), fc.array(later, { minLength: rank, maxLength: rank }))
      .map(([zeros, first, rest]) => rest.map((distance, axis) => (axis < zeros ? 0 : axis === zeros ? first : distance)))
  const vectors = fc.constantFrom(2, 3).chain((rank) => fc.array(vector(rank), { minLength: 1, maxLength: 3 }))
  fc.assert(
    fc.property(vectors, fc.constantFrom('serial' as const, 'any' as const), cutsOfAllAxes, (set, order, cuts) => {
      choosesTheFreest(set, order, cuts)
    }),
    RUN,
  )
})

test('the same loop gives the same plan, as plain data', () => {
  fc.assert(
    fc.property(randomLoop(), (loop) => {
      const { plan } = analyzeLoop(loop.spec)
      expect(JSON.parse(JSON.stringify(plan))).toEqual(plan)
      expect(JSON.stringify(analyzeLoop(loop.spec).plan)).toBe(JSON.stringify(plan))
    }),
    { ...RUN, numRuns: Math.min(RUNS, 1_000) },
  )
})

/** The loop with its body read from the text, in which rows are views; undefined when the front end refuses it. */
function asRead(loop: RandomLoop): RandomLoop | undefined {
  const { spec, ir, arrays } = loop
  const { rank, element, kind } = spec.over
  const names = ir.uses.map(({ name }) => name)
  const text = printFunction(ir.body, rank, names, kind !== 'range', true)
  const closure = new Function(...ir.parameters.map(({ name }) => name), `return (${text})`)
  const env = Object.fromEntries(names.map((name) => [name, { kind: spec.env[name]?.kind ?? 'array' }] as const))
  const overElement = kind === 'range' || element === undefined ? {} : { overElement: element }
  const { fn } = lowerFunction(closure(...ir.parameters.map(({ value }) => value)), {
    kind: 'loop',
    isRange: kind === 'range',
    rank,
    env,
    ...overElement,
  })
  return fn.ir === undefined ? undefined : { spec: { ...spec, body: fn }, ir, source: text, arrays, iterations: loop.iterations }
}

/** Two iterations that touch one element, not both reading it; `p` comes before `q` in key order. */
interface Collision {
  readonly array: number
  readonly p: readonly number[]
  readonly q: readonly number[]
  readonly modes: readonly [Touch['mode'], Touch['mode']]
}

/** All collisions: every pair of iterations, every pair of touches. */
function collisionsOf(loop: RandomLoop): Collision[] {
  const traces = traceLoop(loop)
  const found = new Map<string, Collision>()
  for (const [i, earlier] of traces.entries()) {
    for (let j = i + 1; j < traces.length; j++) {
      for (const a of earlier) {
        for (const b of traces[j] ?? []) {
          if (a.array !== b.array || a.element !== b.element || (a.mode === 'read' && b.mode === 'read')) continue
          const [p, q] = [loop.iterations[i] ?? [], loop.iterations[j] ?? []]
          found.set(`${a.array} ${i} ${j} ${a.mode} ${b.mode}`, { array: a.array, p, q, modes: [a.mode, b.mode] })
        }
      }
    }
  }
  return [...found.values()]
}

function coversAllConflicts(loop: RandomLoop): void {
  const analyzed = analyzeLoop(loop.spec)
  for (const array of analyzed.privateArrays) startsAnew(loop, array)
  for (const collision of collisionsOf(loop)) {
    if (isReduction(analyzed, collision) || analyzed.privateArrays.includes(collision.array)) continue
    const step = collision.q.map((k, axis) => k - (collision.p[axis] ?? 0))
    const names = namesOf(loop, collision.array)
    const covered = analyzed.plan.dependences.some((one) => names.includes(one.array) && contains(one.vector, step) && isWithin(one, step))
    if (!covered) throw new Error(`${describeCollision(collision)} is not covered in\n${loop.source}`)
  }
}

/** Forms of small coefficients, which tell how far steps go, and how they go together. */
const formsOf = (rank: number): number[][] => keysOf(new Array<number>(rank).fill(5)).map((key) => key.map((k) => k - 2))

function staysWithinReach(loop: RandomLoop): void {
  const { spec } = loop
  const conflicts = conflictsOf(spec, accessesOf(spec, loop.ir))
  const forms = formsOf(spec.over.rank)
  for (const known of [conflicts, withFewReaches(conflicts, spec.over.extents, 0)]) {
    for (const collision of collisionsOf(loop)) {
      const step = collision.q.map((k, axis) => k - (collision.p[axis] ?? 0))
      const isNear = ({ from, vector }: (typeof known)[number]) =>
        from.array === collision.array &&
        contains(vector, step) &&
        forms.every((form) => {
          const [least, greatest] = stepAlong(form, vector)
          const d = form.reduce((sum, coefficient, axis) => sum + coefficient * (step[axis] ?? 0), 0)
          return least <= d && d <= greatest
        })
      if (!known.some(isNear)) throw new Error(`${describeCollision(collision)} goes farther than is known in\n${loop.source}`)
    }
  }
}

function isReduction(analyzed: AnalyzedLoop, { array, modes }: Collision): boolean {
  if (!analyzed.reducedArrays.includes(array)) return false
  if (modes.some((mode) => mode !== 'add')) throw new Error(`Array ${array} is called a reduction, but the loop does more than add to it.`)
  return true
}

/** A private array by the definition: every iteration writes the same elements, each of them before it reads it, and reads no others. */
function startsAnew(loop: RandomLoop, array: number): void {
  const all = traceLoop(loop).map((touches) => {
    const written = new Set<string>()
    for (const { element, mode } of touches.filter((touch) => touch.array === array)) {
      if (mode === 'write') written.add(element)
      else if (!written.has(element)) throw new Error(`Array ${array} is called private, but [${element}] is read first in\n${loop.source}`)
    }
    return [...written].sort().join(' ')
  })
  if (new Set(all).size > 1)
    throw new Error(`Array ${array} is called private, but iterations write different elements of it in\n${loop.source}`)
}

/** Whose value a read sees: that of the last iteration before that wrote the element, unless its own did. */
function coversAllFlows(loop: RandomLoop): void {
  const analyzed = analyzeLoop(loop.spec)
  const writers = new Map<string, number>()
  for (const [q, touches] of traceLoop(loop).entries()) {
    for (const { array, element, mode } of touches) {
      const id = `${array} ${element}`
      const p = writers.get(id)
      if (mode !== 'write' && p !== undefined && p !== q && !analyzed.reducedArrays.includes(array)) {
        const [from, to] = [loop.iterations[p] ?? [], loop.iterations[q] ?? []]
        const step = to.map((k, axis) => k - (from[axis] ?? 0))
        const names = namesOf(loop, array)
        const covered = analyzed.plan.dependences.some(
          (one) => one.kind === 'flow' && names.includes(one.array) && contains(one.vector, step),
        )
        if (!covered) throw new Error(`(${to.join()}) reads [${element}] of array ${array} as (${from.join()}) left it in\n${loop.source}`)
      }
      if (mode !== 'read') writers.set(id, q)
    }
  }
}

function isWithin({ bounds = [] }: Dependence, step: readonly number[]): boolean {
  return bounds.every((ends, axis) => (ends?.[0] ?? -Infinity) <= (step[axis] ?? 0) && (step[axis] ?? 0) <= (ends?.[1] ?? Infinity))
}

function contains(vector: readonly Distance[], step: readonly number[]): boolean {
  return vector.every((distance, axis) => {
    const d = step[axis] ?? 0
    return distance === '*' || (distance === '+' ? d > 0 : distance === '-' ? d < 0 : d === distance)
  })
}

/** The names an array can have in a plan. */
function namesOf(loop: RandomLoop, array: number): readonly string[] {
  const names = loop.arrays.find((one) => one.array === array)?.names ?? []
  return array === loop.spec.over.array ? [...names, loop.spec.over.label] : names
}

function ordersAllConflicts(loop: RandomLoop, cuts: readonly (readonly number[])[]): void {
  const analyzed = analyzeLoop(loop.spec)
  const { schedule } = analyzed
  const place = new Map(loop.iterations.map((key, position) => [key.join(), position]))
  for (const collision of collisionsOf(loop)) {
    if (isReduction(analyzed, collision) || analyzed.privateArrays.includes(collision.array)) continue
    const [p, q] = [collision.p, collision.q].map((key) => blockOf(schedule, key, place.get(key.join()) ?? 0, cuts))
    const first = firstOf(schedule, p ?? [], q ?? [])
    const right = loop.spec.options.order === 'any' ? first !== 'together' : first === 'p'
    if (!right) {
      throw new Error(
        `${describeCollision(collision)}: blocks ${p} and ${q} of ${JSON.stringify(schedule)} run ${first} first in\n${loop.source}`,
      )
    }
  }
}

/** The block of an iteration when axis a (or the positions, for an independent loop) is cut before each of `cuts[a]`. */
function blockOf(schedule: Schedule, key: readonly number[], position: number, cuts: readonly (readonly number[])[]): number[] {
  const part = (k: number, a: number) => (cuts[a] ?? []).filter((cut) => cut <= k).length
  switch (schedule.kind) {
    case 'independent':
      return [part(position, 0)]
    case '1d':
      return 'form' in schedule ? [partAlong(schedule.form, key, cuts[0] ?? [])] : [part(key[schedule.axis] ?? 0, schedule.axis)]
    case '2d':
    case 'wavefront':
      return schedule.axes.map((axis) => part(key[axis] ?? 0, axis))
    case 'skewed':
      return schedule.forms.map((form, i) => partAlong(form, key, cuts[i] ?? []))
    case 'stepped':
      return [...key.slice(0, schedule.outer), ...blockOf(schedule.inner, key, position, cuts)]
    case 'colored':
    case 'serial':
      return []
  }
}

/** The band of a form; cuts are spread over its values, which may be negative. */
function partAlong(form: readonly number[], key: readonly number[], cuts: readonly number[]): number {
  const value = form.reduce((sum, coefficient, axis) => sum + coefficient * (key[axis] ?? 0), 0)
  return cuts.flatMap((cut) => [cut, -cut]).filter((cut) => cut <= value).length
}

/** Which of two iterations surely runs first, p being first in key order; `together` when their blocks may overlap. */
function firstOf(schedule: Schedule, p: readonly number[], q: readonly number[]): 'p' | 'q' | 'together' {
  if (schedule.kind === 'stepped') {
    const axis = p.findIndex((k, i) => i < schedule.outer && k !== q[i])
    if (axis >= 0) return (p[axis] ?? 0) < (q[axis] ?? 0) ? 'p' : 'q'
    return firstOf(schedule.inner, p.slice(schedule.outer), q.slice(schedule.outer))
  }
  const [s = 0, t = 0] = p
  const [u = 0, v = 0] = q
  if (s === u && t === v) return 'p'
  switch (schedule.kind) {
    case 'independent':
    case '1d':
      return 'together'
    case '2d':
      // One after the other if they share a row or a column; which first is the plan's choice.
      return s === u || t === v ? 'q' : 'together'
    case 'wavefront':
    case 'skewed':
      return s <= u && t <= v ? 'p' : u <= s && v <= t ? 'q' : 'together'
    case 'colored':
    case 'serial':
      return 'p'
  }
}

/** Extents that hold every distance that the law draws, in both directions. */
const SIDE = 4

function choosesTheFreest(vectors: readonly (readonly Distance[])[], order: 'serial' | 'any', cuts: readonly (readonly number[])[]): void {
  const rank = vectors[0]?.length ?? 0
  const extents = new Array<number>(rank).fill(SIDE)
  const keys = keysOf(extents)
  const pairs = keys.flatMap((p, i) =>
    keys.slice(i + 1).flatMap((q) => {
      const step = q.map((k, axis) => k - (p[axis] ?? 0))
      return vectors.some((vector) => contains(vector, step)) ? [[p, q] as const] : []
    }),
  )
  const orders = (schedule: Schedule, bounds: readonly (readonly number[])[]) =>
    pairs.every(([p, q]) => {
      const [a, b] = [p, q].map((key) =>
        blockOf(
          schedule,
          key,
          key.reduce((n, k) => n * SIDE + k, 0),
          bounds,
        ),
      )
      const first = firstOf(schedule, a ?? [], b ?? [])
      return order === 'any' ? first !== 'together' : first === 'p'
    })
  const { schedule } = chooseSchedule(vectors, { extents, order })
  if (!orders(schedule, cuts)) throw new Error(`${JSON.stringify(schedule)} does not order ${JSON.stringify(vectors)}`)
  // Cut before every index, a schedule that is not legal shows it.
  const everywhere = extents.map(() => [1, 2, 3])
  const all = schedulesOf(rank)
  const kinds = ['independent', '1d', '2d', 'wavefront', 'skewed', 'stepped', 'serial']
  for (const freer of all.filter((other) => kinds.indexOf(other.kind) < kinds.indexOf(schedule.kind))) {
    // A 2d schedule runs blocks in an order of its own.
    if ((freer.kind === 'stepped' ? freer.inner : freer).kind === '2d' && order === 'serial') continue
    if (orders(freer, everywhere))
      throw new Error(`${JSON.stringify(freer)} would do for ${JSON.stringify(vectors)}, not only ${JSON.stringify(schedule)}`)
  }
}

/** Those without forms; `independent` is 1d along any axis, as far as vectors go. */
function schedulesOf(rank: number): Schedule[] {
  const outers = Array.from({ length: rank - 1 }, (_, i) => i + 1)
  return [
    ...schedulesFrom(0, rank),
    ...outers.flatMap((outer) => schedulesFrom(outer, rank).map((inner) => ({ kind: 'stepped', outer, inner }) as const)),
  ]
}

function schedulesFrom(first: number, rank: number): InnerSchedule[] {
  const axes = Array.from({ length: rank - first }, (_, i) => first + i)
  const pairs = axes.flatMap((a) => axes.filter((b) => b > a).map((b) => [a, b] as const))
  return [
    ...axes.map((axis) => ({ kind: '1d', axis }) as const),
    ...pairs.map((pair) => ({ kind: '2d', axes: pair }) as const),
    ...pairs.map((pair) => ({ kind: 'wavefront', axes: pair }) as const),
  ]
}

/** The exact test gives up masks with a gap in their bits over more than some iterations, and says that it did: those may be uncertain. */
const MASK_WITH_A_GAP = / & 5\)/

function inventsNothing(loop: RandomLoop): void {
  if (MASK_WITH_A_GAP.test(loop.source)) return
  const analyzed = analyzeLoop(loop.spec)
  for (const [i, dependence] of analyzed.plan.dependences.entries()) {
    const certain = analyzed.notes[i]?.certain === true && dependence.witness !== undefined
    if (!certain) throw new Error(`${dependence.array} [${dependence.vector.join()}] has no witness in\n${loop.source}`)
  }
  witnessesAreTrue(loop, analyzed)
}

/** The witness of each certain dependence is a pair of iterations that conflict at those places, as the kind says. */
function witnessesAreTrue(loop: RandomLoop, { plan, notes }: AnalyzedLoop): void {
  const traces = traceLoop(loop)
  const traceAt = (key: readonly number[]) => traces[loop.iterations.findIndex((one) => one.join() === key.join())] ?? []
  for (const [i, { kind, from, to, vector, witness }] of plan.dependences.entries()) {
    if (notes[i]?.certain !== true) continue
    const [p, q] = witness ?? [[], []]
    const step = q.map((k, axis) => k - (p[axis] ?? 0))
    const touches = (key: readonly number[], line: number) => traceAt(key).filter((touch) => touch.line === line)
    const meets = touches(p, from.line).some((a) =>
      touches(q, to.line).some((b) => {
        return a.array === b.array && a.element === b.element && kindsOf(a.mode, b, traceAt(q)).includes(kind)
      }),
    )
    if (!meets || !contains(vector, step))
      throw new Error(`${kind} [${vector.join()}] ${JSON.stringify(witness)} from ${from.text} to ${to.text} is not so in\n${loop.source}`)
  }
}

/** An add to what the iteration wrote itself reads nothing of others: it may be taken for a write. */
function kindsOf(earlier: Touch['mode'], later: Touch, trace: readonly Touch[]): string[] {
  return [kindOf(earlier, later.mode), ...(isOwn(trace, later) ? [kindOf(earlier, 'write')] : [])]
}

function isOwn(trace: readonly Touch[], touch: Touch): boolean {
  const before = trace.slice(0, trace.indexOf(touch))
  return (
    touch.mode === 'add' &&
    before.some(({ array, element, mode }) => mode === 'write' && array === touch.array && element === touch.element)
  )
}

function kindOf(earlier: Touch['mode'], later: Touch['mode']): string {
  if (earlier === 'read') return 'anti'
  if (later === 'read' || (earlier === 'add' && later === 'add') || (earlier === 'write' && later === 'add')) return 'flow'
  return 'output'
}

function describeCollision({ array, p, q, modes }: Collision): string {
  return `(${p.join()}) ${modes[0]} and (${q.join()}) ${modes[1]} of array ${array}`
}
