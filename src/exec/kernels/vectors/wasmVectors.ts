/** Innermost loops in vectors: which lanes suit a loop, and what became of it; `wasmVectorWriter.ts` writes their code. */
import { expressionsOf } from '../../../core/ir/functionIr.ts'
import { changedIn, someExpr } from '../../../core/ir/irFacts.ts'
import type { Code } from '../../kir/instructions.ts'
import type { InnerLoop } from '../loops/innerLoop.ts'
import type { Access, Turning } from '../loops/wasmLoopAccess.ts'
import type { KernelWriter } from '../loops/wasmWriter.ts'
import type { LaneTurns, Vectors } from './vectorLoop.ts'
import { LANES, type Mode, Scalar } from './wasmLanes.ts'
import { VectorWriter } from './wasmVectorWriter.ts'

export interface VectorCode {
  /** For as many turns as fill whole vectors; empty when the loop stays scalar. */
  readonly code: Code
  /** What became of the loop. */
  readonly summary: string
  /** Turns computed at a time; 1 when the loop stays scalar. */
  readonly lanes: number
  /** The locals that hold, beside the doubles, the sums of lanes of f32. */
  readonly singles: ReadonlyMap<string, number>
  /** Whether no other lanes could be better: along the loop elements lie side by side, and sums are long. */
  readonly isBest: boolean
}

export function vectorLoop(
  w: KernelWriter,
  loop: InnerLoop,
  accesses: ReadonlyMap<object, Access>,
  turning: Turning,
  areChecked: boolean,
): VectorCode {
  const scalar = { code: [], lanes: 1, singles: new Map(), isBest: false }
  if (w.isDraft) return { ...scalar, summary: '' }
  const reasons: string[] = []
  // Part of a run may take other code than lanes, and must round alike.
  const roundsFreely = w.precision !== 'exact' && !(loop.isRun && areChecked)
  for (const mode of modesOf(w, loop, accesses, areChecked)) {
    try {
      const writer = new VectorWriter(w, {
        loop,
        accesses,
        turning,
        mode,
        contracts: roundsFreely && w.precision === 'relaxed',
        regroups: roundsFreely,
      })
      const code = writer.loop()
      w.simd = true
      return { code, summary: writer.summary(), lanes: LANES[mode], singles: writer.singles, isBest: writer.isBest() }
    } catch (error) {
      if (!(error instanceof Scalar)) throw error
      reasons.push(error.message)
    }
  }
  const inOrder = w.precision === 'exact' && !loop.isRun && divides(loop) ? orderedVectors(w, { loop, accesses, turning }) : undefined
  if (inOrder !== undefined) return inOrder
  return { ...scalar, summary: `not vectorized, ${reasons[reasons.length - 1]}` }
}

/** Two quotients take the time of one, so that lanes gain where sums are added in order as well; undefined where there are none. */
function orderedVectors(w: KernelWriter, parts: Pick<Vectors, 'loop' | 'accesses' | 'turning'>): VectorCode | undefined {
  try {
    const writer = new VectorWriter(w, { ...parts, mode: 'f64', isInOrder: true })
    const code = writer.loop()
    w.simd = true
    return { code, summary: writer.summary(), lanes: LANES.f64, singles: writer.singles, isBest: writer.isBest() }
  } catch (error) {
    if (error instanceof Scalar) return undefined
    throw error
  }
}

function divides({ body }: InnerLoop): boolean {
  return body.some((stmt) => expressionsOf(stmt).some((expr) => someExpr(expr, (one) => one.kind === 'Binary' && one.operator === '/')))
}

/** The vectors of a run whose body has loops, and the conditions under which they may run; why there are none. */
export function vectorNest(
  w: KernelWriter,
  loop: InnerLoop,
): { readonly code: Code; readonly checks: readonly Code[]; readonly summary: string; readonly lanes: number } | string {
  const turning: Turning = { index: loop.index, isRun: true, changed: changedIn(loop.body) }
  let because = ''
  for (const mode of ['i32', 'f64'] as const) {
    const types = new Map(w.locals)
    try {
      const writer = new VectorWriter(w, { loop, accesses: 'nest', turning, mode })
      const code = writer.loop()
      w.simd = true
      return { code, checks: writer.checks(), summary: writer.summary(), lanes: LANES[mode] }
    } catch (error) {
      if (!(error instanceof Scalar)) throw error
      because = error.message
      // Given up inside a loop, where its index is known better than outside.
      for (const [local, type] of types) w.locals.set(local, type)
      w.literals = new Map()
    }
  }
  return because
}

/** Throws `Scalar` where there are no such lanes. */
export function laneTurns(w: KernelWriter, loop: InnerLoop, accesses: ReadonlyMap<object, Access>, turning: Turning): LaneTurns {
  return new VectorWriter(w, { loop, accesses, turning, mode: 'f64', isInOrder: true }).turns()
}

/** The modes worth trying, best first. */
function modesOf(w: KernelWriter, { isRun }: InnerLoop, accesses: ReadonlyMap<object, Access>, areChecked: boolean): readonly Mode[] {
  const dtypes = new Set([...accesses.values()].filter(({ axis }) => axis >= 0).map(({ dtype }) => dtype))
  const isSingle = w.precision !== 'exact' && dtypes.size > 0 && [...dtypes].every((dtype) => dtype === 'f32')
  // Where a check may send part of a run through other code, the slices of a run would show in its bits.
  if (isSingle) return isRun && areChecked ? ['f64'] : ['f32', 'f64']
  return dtypes.has('f64') || dtypes.has('f32') ? ['f64'] : ['i32', 'f64']
}
