/** Why the freer schedules were not taken: the conflicts in the way of each, and the edit that would remove them. */
import type { Dependence, LoopPlan } from '../../core/loopPlan.ts'
import type { LoopSpec } from '../../core/loopSpec.ts'
import type { Refusal } from '../../core/span.ts'
import { type AdviceContext, advisor } from './advice.ts'
import { type Conflict, dependenceOf } from './dependence.ts'
import { type Vector, vectorId } from './reach.ts'
import { allowsVector, cutChoices, distinctVectors, type PlannedKind, plannedKind } from './schedule.ts'

export function rejectedOf(kinds: readonly PlannedKind[], context: AdviceContext): LoopPlan['rejected'] {
  const { spec, conflicts } = context
  const editFor = advisor(context)
  return kinds.map((kind) => {
    const edit = editFor(kind)
    const entry = { kind: plannedKind(kind), because: becauseOf(kind, spec, conflicts), ...(edit === undefined ? {} : { edit }) }
    return kind === 'stepped' ? { ...entry, inSteps: true as const } : entry
  })
}

function becauseOf(kind: PlannedKind, spec: LoopSpec, conflicts: readonly Conflict[]): (Dependence | Refusal)[] {
  const order = spec.options.order ?? 'serial'
  const vectors = distinctVectors(conflicts)
  const candidates = [...cutChoices(kind, vectors, { extents: spec.over.extents, order })]
  const counts = new Map<string, number>()
  for (const { vector } of conflicts) counts.set(vectorId(vector), (counts.get(vectorId(vector)) ?? 0) + 1)
  const countOf = (some: readonly Vector[]) => some.reduce((sum, vector) => sum + (counts.get(vectorId(vector)) ?? 0), 0)
  const blockers = (o: 'serial' | 'any') => {
    let fewest = vectors
    for (const forms of candidates) {
      const some = vectors.filter((vector) => !allowsVector(kind, vector, forms, o))
      if (countOf(some) < countOf(fewest)) fewest = some
    }
    const ids = new Set(fewest.map(vectorId))
    return conflicts.filter(({ vector }) => ids.has(vectorId(vector)))
  }
  if (kind === '2d' && order === 'serial' && blockers('any').length === 0) {
    const message = 'Blocks of a 2d schedule run in an order that is not key order.'
    return [{ code: 'order-serial', message, cure: "Ask for { order: 'any' }." }]
  }
  return strongest(blockers(kind === '2d' ? 'any' : order)).map(dependenceOf)
}

const BY_KIND = { flow: 0, output: 1, anti: 2 } as const

/** One conflict for each array and vector, a flow dependence where there is one. */
export function strongest(conflicts: readonly Conflict[]): Conflict[] {
  const best = new Map<string, Conflict>()
  for (const conflict of conflicts) {
    const id = `${conflict.from.array} ${conflict.vector.join()}`
    const known = best.get(id)
    if (known === undefined || BY_KIND[conflict.kind] < BY_KIND[known.kind]) best.set(id, conflict)
  }
  return [...best.values()]
}
