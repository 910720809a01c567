/**
 * Sums over a loop in fast precision: four accumulators of a vector each, added up when the vectors are done.
 */
import { type Expr, expressionsOf, type Stmt, visitExpr, visitStmts } from '../../../core/ir/functionIr.ts'
import { type Code, type GrowingCode, I, OP, type Plain, SIMD } from '../../kir/instructions.ts'
import type { InnerLoop } from '../loops/innerLoop.ts'
import { readsIn } from '../loops/wasmLocals.ts'
import type { KernelWriter } from '../loops/wasmWriter.ts'
import type { Contraction } from '../passes/contraction.ts'
import { asFloat, type Constants, type Mode, Scalar, type Vector } from './wasmLanes.ts'

/** Vectors that are computed at a time, at the most. */
export const UNROLLED = 4
/** A body of more statements and operations fills the registers alone. */
const MOST_UNROLLED = 40

/** Locals around the loop that its turns only add to, in any order or in their own; throws `Scalar` where one is more than that. */
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
    // In order there is a running sum as well, for what comes after.
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
  /** By their local: one vector for each of the vectors computed at a time; none where they are added in order. */
  readonly vectors: Map<string, readonly number[]> = new Map()
  /** Those that are kept as f32 as well. */
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

  /** Finds the loop's sums. The code before its first turn; throws `Scalar` where one is more than a sum. */
  begin(): Code {
    const code: GrowingCode = []
    for (const local of sumsOf(this.w, this.loop.body, this.mode, this.isInOrder)) {
      const vectors = this.isInOrder ? [] : Array.from({ length: UNROLLED }, () => this.w.declare('v128'))
      for (const slot of vectors) code.push(I.f64Const(0), [SIMD.f64Splat], I.localSet(slot))
      this.vectors.set(local, vectors)
    }
    return code
  }

  /** How many vectors are computed at a time. */
  vectorsAtATime(isNest: boolean): number {
    const { vectors, body } = this.loop
    if (vectors !== undefined) return vectors
    if (isNest) return sizeOf(body) <= 2 * MOST_UNROLLED ? 2 : 1
    if (this.isInOrder) return 1
    return this.vectors.size > 0 || sizeOf(body) <= MOST_UNROLLED ? UNROLLED : 1
  }

  /** The locals with what their vectors have. */
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

/** A sum, and the vectors it is added up in. */
interface LaneSum {
  readonly local: string
  readonly vectors: readonly number[]
  /** Whether it is 0 before the loop. Vectors that began at 0 never hold -0, so that nothing need be added to it. */
  readonly isFirst: boolean
  /** The local that takes it as an f32 as well. */
  readonly single: number | undefined
}

/** local = local + all lanes of all its vectors. */
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

/** Adds the lanes of a vector of two doubles to the local, first the first. `running` takes what the local is after each. */
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

/** Additions and subtractions of f64 and of f32 lanes. */
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

/** Statements and operations. */
export function sizeOf(body: readonly Stmt[]): number {
  let size = 0
  visitStmts(body, (stmt) => {
    for (const expr of expressionsOf(stmt)) visitExpr(expr, () => void size++)
  })
  return size
}

/** `s = s + e`, `s = e + s`, `s = s - e`. */
export function termOf(stmt: Extract<Stmt, { kind: 'Assign' }>): { readonly operator: '+' | '-'; readonly value: Expr } | undefined {
  const { value, local } = stmt
  if (value.kind !== 'Binary' || (value.operator !== '+' && value.operator !== '-')) return undefined
  if (value.left.kind === 'Local' && value.left.name === local) return { operator: value.operator, value: value.right }
  if (value.operator === '+' && value.right.kind === 'Local' && value.right.name === local) return { operator: '+', value: value.left }
  return undefined
}
