/** Lists why the freer schedules were not taken: the conflicts in the way of each, and the edit that would remove them. */
import type { Dependence, LoopPlan } from '../../../core/loop/loopPlan.ts'
import type { Form } from '../../../core/loop/schedules.ts'
import { plannedKind } from '../../../core/loop/schedules.ts'
import type { Refusal } from '../../../core/span.ts'
import { type Conflict, dependenceOf } from '../dependence/dependence.ts'
import { vectorId } from '../dependence/reach.ts'
import type { vectorsDescribed } from '../dependence/stepBounds.ts'
import { allowsVector, cutChoices, type PlannedKind, type Space } from '../schedule.ts'
import { type AdviceContext, advisor } from './advice.ts'

export function rejectedOf(
  kinds: readonly PlannedKind[],
  context: AdviceContext,
  described: ReturnType<typeof vectorsDescribed>,
): LoopPlan['rejected'] {
  const editFor = advisor(context)
  const becauseOf = obstacles(context, described)
  return kinds.map((kind) => {
    const edit = editFor(kind)
    const entry = { kind: plannedKind(kind), because: becauseOf(kind), ...(edit === undefined ? {} : { edit }) }
    return kind === 'stepped' ? { ...entry, inSteps: true as const } : entry
  })
}

/** Returns a function from a schedule kind to the conflicts in its way, for the choice of cuts with the fewest. */
function obstacles(
  { spec, conflicts, vectors }: AdviceContext,
  described: ReturnType<typeof vectorsDescribed>,
): (kind: PlannedKind) => (Dependence | Refusal)[] {
  const order = spec.options.order ?? 'serial'
  const ids = new Map(vectors.map((vector, at) => [vectorId(vector), at]))
  const vectorOf = new Map(conflicts.map((conflict) => [conflict, ids.get(vectorId(conflict.vector)) ?? 0]))
  const counts = new Array<number>(vectors.length).fill(0)
  for (const at of vectorOf.values()) counts[at] = (counts[at] ?? 0) + 1

  /** Returns the vectors in the way of a choice of cuts; undefined as soon as they have no fewer conflicts than `most`. */
  const inTheWay = (kind: PlannedKind, forms: readonly Form[], o: Space['order'], most: number) => {
    const found = new Set<number>()
    let count = 0
    for (const [at, vector] of vectors.entries()) {
      if (allowsVector(kind, vector, forms, o)) continue
      found.add(at)
      count += counts[at] ?? 0
      if (count >= most) return undefined
    }
    return { found, count }
  }

  return (kind) => {
    const asked = kind === '2d' ? 'any' : order
    let fewest = { found: new Set(vectors.keys()), count: conflicts.length }
    for (const forms of cutChoices(kind, vectors, { extents: spec.over.extents, order })) {
      fewest = inTheWay(kind, forms, asked, fewest.count) ?? fewest
    }
    if (kind === '2d' && order === 'serial' && fewest.count === 0) {
      const message = 'Blocks of a 2d schedule run in an order that is not key order.'
      return [{ code: 'order-serial', message, cure: "Ask for { order: 'any' }." }]
    }
    const found = strongest(conflicts.filter((conflict) => fewest.found.has(vectorOf.get(conflict) ?? -1)))
    return found.map((conflict) => dependenceOf(conflict, described(conflict)))
  }
}

const BY_KIND = { flow: 0, output: 1, anti: 2 } as const

/** Returns one conflict for each array and vector, a flow dependence where there is one. */
export function strongest(conflicts: readonly Conflict[]): Conflict[] {
  const best = new Map<string, Conflict>()
  for (const conflict of conflicts) {
    const id = `${conflict.from.array} ${conflict.vector.join()}`
    const known = best.get(id)
    if (known === undefined || BY_KIND[conflict.kind] < BY_KIND[known.kind]) best.set(id, conflict)
  }
  return [...best.values()]
}
