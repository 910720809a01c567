/** Vectorization of innermost loops: chooses the lanes for a loop and reports the outcome; `wasmVectorWriter.ts` writes the code. */
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
  /** Code for as many iterations as fill whole vectors; empty where the loop stays scalar. */
  readonly code: Code
  /** The outcome in words. */
  readonly summary: string
  /** The number of iterations computed at once; 1 where the loop stays scalar. */
  readonly lanes: number
  /** The locals that hold f32 sums of lanes beside the doubles, by the sum's local. */
  readonly singles: ReadonlyMap<string, number>
  /** Whether lanes along this loop are the best choice: its accesses are contiguous, and its sums long. */
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
  // iterations of a run that other code than lanes may compute must round alike
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

/** Vectors with sums in order: worth it where the loop divides, as two quotients take the time of one. Undefined where not possible. */
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

/** Vectorizes a run whose body has loops; returns its code and the conditions for it, or the reason why there is none. */
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
      // given up inside a loop, where locals have the types of that place
      for (const [local, type] of types) w.locals.set(local, type)
      w.literals = new Map()
    }
  }
  return because
}

/** Returns a loop's iterations in lanes of two doubles; throws `Scalar` where that is not possible. */
export function laneTurns(w: KernelWriter, loop: InnerLoop, accesses: ReadonlyMap<object, Access>, turning: Turning): LaneTurns {
  return new VectorWriter(w, { loop, accesses, turning, mode: 'f64', isInOrder: true }).turns()
}

/** Returns the modes to try, best first. */
function modesOf(w: KernelWriter, { isRun }: InnerLoop, accesses: ReadonlyMap<object, Access>, areChecked: boolean): readonly Mode[] {
  const dtypes = new Set([...accesses.values()].filter(({ axis }) => axis >= 0).map(({ dtype }) => dtype))
  const isSingle = w.precision !== 'exact' && dtypes.size > 0 && [...dtypes].every((dtype) => dtype === 'f32')
  // where a failing check may send part of a run through other code, the cuts between slices would show in the bits
  if (isSingle) return isRun && areChecked ? ['f64'] : ['f32', 'f64']
  return dtypes.has('f64') || dtypes.has('f32') ? ['f64'] : ['i32', 'f64']
}
