/**
 * Sums over a vectorized loop: in fast precision four accumulators of a vector each, combined after the loop; else in order.
 */
import { type Expr, expressionsOf, type Stmt, visitExpr, visitStmts } from '../../../core/ir/functionIr.ts'
import { type Code, type GrowingCode, I, OP, type Plain, SIMD } from '../../kir/instructions.ts'
import type { InnerLoop } from '../loops/innerLoop.ts'
import { readsIn } from '../loops/wasmLocals.ts'
import type { KernelWriter } from '../loops/wasmWriter.ts'
import type { Contraction } from '../passes/contraction.ts'
import { asFloat, type Constants, type Mode, Scalar, type Vector } from './wasmLanes.ts'

/** The most vectors that an iteration of the vector loop computes. */
export const UNROLLED = 4
/** The most statements and operations of a body that is unrolled; a larger one fills the registers by itself. */
const MOST_UNROLLED = 40

/** Returns locals declared outside of the loop to which its iterations only add; throws `Scalar` where one is used in another way. */
function sumsOf(w: KernelWriter, body: readonly Stmt[], mode: Mode, isInOrder: boolean): readonly string[] {
  const sums: string[] = []
  const declared = new Set(body.flatMap((stmt) => (stmt.kind === 'Let' ? [stmt.local] : [])))
  for (const stmt of body) {
    if (stmt.kind !== 'Assign' || declared.has(stmt.local)) continue
    if (w.precision === 'exact' && !isInOrder) throw new Scalar('it adds in order')
    const others = body.filter((other) => other !== stmt)
    const term = termOf(stmt)
    const used = (expr: Expr): boolean => {
      let found = false
      visitExpr(expr, (e) => {
        if (e.kind === 'Local' && e.name === stmt.local) found = true
      })
      return found
    }
    // in order, later statements may read the running sum
    const before = isInOrder ? body.slice(0, body.indexOf(stmt)) : others
    const elsewhere =
      before.some((other) => readsIn([other], stmt.local) > 0) || others.some((other) => 'local' in other && other.local === stmt.local)
    if (term === undefined || used(term.value) || elsewhere || w.locals.get(stmt.local)?.kind !== 'f64' || mode === 'i32') {
      throw new Scalar(`${stmt.local} is no sum`)
    }
    sums.push(stmt.local)
  }
  return sums
}

/** The sums of a vector loop. */
export class LaneSums {
  /** The accumulators of each local, one for each of the vectors computed at once; none where they are added in order. */
  readonly vectors: Map<string, readonly number[]> = new Map()
  /** The locals that hold sums as f32 as well, by the sum's local. */
  readonly singles: Map<string, number> = new Map()
  private readonly w: KernelWriter
  private readonly loop: InnerLoop
  private readonly mode: Mode
  private readonly isInOrder: boolean
  private readonly contraction: Contraction | undefined

  constructor(
    w: KernelWriter,
    loop: InnerLoop,
    { mode, isInOrder, contraction }: { readonly mode: Mode; readonly isInOrder: boolean; readonly contraction: Contraction | undefined },
  ) {
    this.w = w
    this.loop = loop
    this.mode = mode
    this.isInOrder = isInOrder
    this.contraction = contraction
  }

  /** Finds the loop's sums, and returns code that clears their accumulators; throws `Scalar` where a local is no sum. */
  begin(): Code {
    const code: GrowingCode = []
    for (const local of sumsOf(this.w, this.loop.body, this.mode, this.isInOrder)) {
      const vectors = this.isInOrder ? [] : Array.from({ length: UNROLLED }, () => this.w.declare('v128'))
      for (const slot of vectors) code.push(I.f64Const(0), [SIMD.f64Splat], I.localSet(slot))
      this.vectors.set(local, vectors)
    }
    return code
  }

  /** Returns the number of vectors that an iteration of the vector loop computes. */
  vectorsAtATime(isNest: boolean): number {
    const { vectors, body } = this.loop
    if (vectors !== undefined) return vectors
    if (isNest) return sizeOf(body) <= 2 * MOST_UNROLLED ? 2 : 1
    if (this.isInOrder) return 1
    return this.vectors.size > 0 || sizeOf(body) <= MOST_UNROLLED ? UNROLLED : 1
  }

  /** Code that adds the accumulators to the sums' locals. */
  combined(): Code {
    return this.isInOrder ? [] : [...this.vectors].map(([local, vectors]) => this.combinedInto(local, vectors))
  }

  private combinedInto(local: string, vectors: readonly number[]): Code {
    const isFirst = this.loop.zeroSums.has(local)
    const single = isFirst && this.mode === 'f32' ? this.w.declare('f32') : undefined
    if (single !== undefined) this.singles.set(local, single)
    return combinedSum(this.w, this.mode, { local, vectors, isFirst, single })
  }

  sum(c: Constants, a: Vector, b: Vector): Vector {
    return { kind: this.mode === 'f32' ? 'f32' : 'f64', code: this.sumOf('+', asFloat(c, a), asFloat(c, b)) }
  }

  sumOf(operator: '+' | '-', a: Code, b: Code): Code {
    const kind = this.mode === 'f32' ? 'f32' : 'f64'
    return this.contraction?.sum(kind, operator, a, b) ?? [a, b, ADD[operator][kind === 'f32' ? 1 : 0]]
  }
}

/** A sum, and its accumulators. */
interface LaneSum {
  readonly local: string
  readonly vectors: readonly number[]
  /** Whether it is 0 before the loop. Accumulators that began with 0 are never -0, so that they need not be added to it. */
  readonly isFirst: boolean
  /** The local that receives it as an f32 as well; undefined where it is not needed. */
  readonly single: number | undefined
}

/** Adds all lanes of all accumulators to the local. */
function combinedSum(w: KernelWriter, mode: Mode, { local, vectors, isFirst, single }: LaneSum): Code {
  const [a, b, c, d] = vectors.map((slot) => I.localGet(slot)) as [Code, Code, Code, Code] // UNROLLED vectors
  const isSingle = mode === 'f32'
  const add = [ADD['+'][isSingle ? 1 : 0]]
  const sum = w.declare('v128')
  const code = [...a, ...b, add, ...c, ...d, add, add, I.localSet(sum)]
  const lane = (i: number): Code => [I.localGet(sum), I.simdLane(isSingle ? SIMD.f32ExtractLane : SIMD.f64ExtractLane, i)]
  const lanes = isSingle ? [lane(0), lane(2), OP.f32Add, lane(1), lane(3), OP.f32Add, OP.f32Add] : [lane(0), lane(1), OP.f64Add]
  const narrow = single === undefined ? [] : I.localTee(single)
  const total = isSingle ? [lanes, narrow, OP.f64PromoteF32] : lanes
  const slot = w.slotOf(local)
  return [code, isFirst ? total : [I.localGet(slot), total, OP.f64Add], I.localSet(slot)]
}

/** Adds both lanes of a vector of doubles to the local, the first one first. `running` receives the sums after each lane. */
export function addedInOrder(w: KernelWriter, local: string, operator: '+' | '-', vector: Code, running?: number): Code {
  const [slot, term] = [w.slotOf(local), w.declare('v128')]
  const lane = (i: number): Code => [I.localGet(term), I.simdLane(SIMD.f64ExtractLane, i), operator === '+' ? OP.f64Add : OP.f64Sub]
  if (running === undefined) return [vector, I.localSet(term), I.localGet(slot), lane(0), lane(1), I.localSet(slot)]
  const first = w.declare('f64')
  return [
    ...[vector, I.localSet(term), I.localGet(slot), lane(0), I.localTee(first), lane(1), I.localSet(slot)],
    ...[I.localGet(first), SIMD.f64Splat, I.localGet(slot), I.simdLane(SIMD.f64ReplaceLane, 1), I.localSet(running)],
  ]
}

/** Vector additions and subtractions of f64 and of f32. */
const ADD: { readonly [O in '+' | '-']: readonly [f64: Plain, f32: Plain] } = {
  '+': [SIMD.f64Add, SIMD.f32Add],
  '-': [SIMD.f64Sub, SIMD.f32Sub],
}

export function usesElement(body: readonly Stmt[]): boolean {
  let found = false
  visitStmts(body, (stmt) => {
    for (const expr of expressionsOf(stmt)) visitExpr(expr, ({ kind }) => void (found ||= kind === 'Input'))
  })
  return found
}

/** The size of code: the number of its expressions. */
export function sizeOf(body: readonly Stmt[]): number {
  let size = 0
  visitStmts(body, (stmt) => {
    for (const expr of expressionsOf(stmt)) visitExpr(expr, () => void size++)
  })
  return size
}

/** Matches `s = s + e`, `s = e + s`, `s = s - e`; undefined for other assignments. */
export function termOf(stmt: Extract<Stmt, { kind: 'Assign' }>): { readonly operator: '+' | '-'; readonly value: Expr } | undefined {
  const { value, local } = stmt
  if (value.kind !== 'Binary' || (value.operator !== '+' && value.operator !== '-')) return undefined
  if (value.left.kind === 'Local' && value.left.name === local) return { operator: value.operator, value: value.right }
  if (value.operator === '+' && value.right.kind === 'Local' && value.right.name === local) return { operator: '+', value: value.left }
  return undefined
}
