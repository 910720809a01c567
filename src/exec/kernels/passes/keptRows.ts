/**
 * Kept registers of software pipelining.
 *
 * Rows of f32 that an iteration's sum reads are kept as doubles for its update, where the update runs beside the next
 * iteration's sum (`softwarePipelining.ts`).
 *
 *     index k:  update of this iteration, from the doubles kept at k;  sum of the next one, which keeps its doubles at k
 *
 * Converting an f32 to a double takes two of the instructions that limit such a loop; storing and loading the double takes
 * none of them. The doubles lie in the worker's scratch block. An element has the same value in the sum and in the update: of the elements
 * that the previous update writes, iteration k of the sum reads only that of iteration k, which was written before. The code
 * between the two must not write the array.
 */
import { type Expr, expressionsOf, type Stmt } from '../../../core/ir/functionIr.ts'
import { changedIn, exprId, someExpr } from '../../../core/ir/irFacts.ts'
import { type Code, I, OP, SIMD } from '../../kir/instructions.ts'
import { scratchOfAccumulators, stepped } from '../loops/wasmIteration.ts'
import { type Access, accessesOf, deepAccesses, memoryOf } from '../loops/wasmLoopAccess.ts'
import { type KernelWriter, SCRATCH } from '../loops/wasmWriter.ts'
import { rawLoad } from '../vectors/wasmLanes.ts'
import { isAtIndex, type Parts } from './softwarePipeliningLegality.ts'

/** The doubles of a scratch block that are reserved for rows. */
export const KEPT_DOUBLES = 512
/** The doubles of a cache line. */
const ALIGNED = 8

/** The position of kept rows in a scratch block, in doubles: after those of accumulators. */
export function keptAt(forms: readonly string[]): number {
  return Math.ceil(scratchOfAccumulators(forms) / ALIGNED) * ALIGNED
}

interface KeptRow {
  /** The reads of the update that take the kept doubles; iteration k writes none of their elements before them. */
  readonly taken: ReadonlySet<object>
  /** The read of the sum whose doubles are kept. */
  readonly left: object
  /** The access of the update that the kept row replaces. */
  readonly access: Access
  /** The offset of the row from the start of the kept rows, in bytes. */
  readonly offset: number
}

export class KeptRows {
  readonly #w: KernelWriter
  readonly #rows: readonly KeptRow[]
  /** The local with the address of the kept rows. */
  readonly #base: number
  readonly #slot: number

  constructor(w: KernelWriter, rows: readonly KeptRow[], slot: number) {
    this.#w = w
    this.#rows = rows
    this.#slot = slot
    this.#base = w.declare('i32')
  }

  /** Loads the doubles of vector number `copy` of the iteration; undefined where the read takes no kept row. */
  taken(node: object, copy: number): Code | undefined {
    const row = this.#rows.find(({ taken }) => taken.has(node))
    return row && [this.#address(), I.memory(SIMD.load, row.offset + 16 * copy)]
  }

  /** Stores the doubles in a local as those of vector number `copy`. */
  left(node: object, copy: number, local: number): Code {
    const { offset = 0 } = this.#rows.find(({ left }) => left === node) ?? {}
    return [this.#address(), I.localGet(local), I.memory(SIMD.store, offset + 16 * copy)]
  }

  /** Code that fills the rows before the first of several iterations, whose sum has not kept them. */
  start(limit: number): Code {
    const at = 8 * keptAt([...this.#w.target.shape.accumulators.values()])
    const vector = this.#rows.map(({ access, offset }) => [
      ...[this.#address(), rawLoad('f32', 2, access.known.code(), access.known.offset), SIMD.promoteF32],
      I.memory(SIMD.store, offset),
    ])
    const enough = [I.localGet(limit), I.localGet(this.#slot), OP.i32Sub, I.i32Const(2), OP.i32GeS]
    return [
      ...[I.localGet(SCRATCH), I.i32Const(at), OP.i32Add, I.localSet(this.#base)],
      ...[enough, I.if(), I.loop, vector, stepped(this.#slot, 2), enough, I.brIf(0), OP.end, OP.end],
    ]
  }

  /** Whether the doubles of this read are kept. */
  isLeft(node: object): boolean {
    return this.#rows.some(({ left }) => left === node)
  }

  #address(): Code {
    return [I.localGet(this.#base), I.localGet(this.#slot), I.i32Const(3), OP.i32Shl, OP.i32Add]
  }
}

/** Returns the rows that an update can take from its sum; undefined where there are none. Both cover at most `length` elements a row. */
export function keptRows(w: KernelWriter, { sum, middle, update }: Parts, { begun, ended, slot, length }: Loops): KeptRows | undefined {
  if (!w.target.keepsRows) return undefined
  const written = new Set(deepAccesses(middle).flatMap((found) => (found.kind === 'read' ? [] : [memoryOf(w, found)])))
  const changed = changedIn([sum, ...middle, update])
  const isSettled = (expr: Expr): boolean => !someExpr(expr, (one) => one.kind === 'Local' && changed.has(one.name))
  const taking = readsFirst(w, update.body)
  const rows = new Map<string, KeptRow>()
  for (const node of sum.body.flatMap(certainReads)) {
    const left = begun.get(node)
    if (left === undefined || left.dtype !== 'f32' || !isAtIndex(left) || written.has(left.memory)) continue
    const place = placeText(left)
    const taken = taking.flatMap((one) => ended.get(one) ?? []).filter((read) => isAtIndex(read) && placeText(read) === place)
    const [access] = taken
    const isRoom = length * (rows.size + 1) <= KEPT_DOUBLES
    if (access === undefined || rows.has(place) || !isRoom || !left.subscripts.slice(0, -1).every(isSettled)) continue
    rows.set(place, { taken: new Set(taken.map(({ node }) => node)), left: node, access, offset: 8 * length * rows.size })
  }
  return rows.size === 0 ? undefined : new KeptRows(w, [...rows.values()], slot)
}

interface Loops {
  /** The accesses of the next iteration's sum, and of this iteration's update. */
  readonly begun: ReadonlyMap<object, Access>
  readonly ended: ReadonlyMap<object, Access>
  /** The local of the index of both loops. */
  readonly slot: number
  readonly length: number
}

/** Identifies the row of an access, and, as the index is the last subscript, its element in an iteration. */
function placeText({ array, subscripts }: Access): string {
  return `${array} ${exprId(subscripts.slice(0, -1))}`
}

/** Returns the reads that come before any write of the iteration to their memory. */
function readsFirst(w: KernelWriter, body: readonly Stmt[]): readonly object[] {
  const reads: object[] = []
  const written = new Set<string>()
  for (const stmt of body) {
    if (stmt.kind === 'If') break
    const found = accessesOf([stmt])
    for (const one of found) if (one.kind === 'read' && !written.has(memoryOf(w, one))) reads.push(one.node)
    for (const one of found) if (one.kind !== 'read') written.add(memoryOf(w, one))
  }
  return reads
}

/** Returns the reads that every iteration makes, unconditionally. */
function certainReads(stmt: Stmt): readonly object[] {
  const found: object[] = []
  const visit = (expr: Expr): void => {
    if (expr.kind === 'Read') found.push(expr)
    else if (expr.kind === 'Unary') visit(expr.operand)
    else if (expr.kind === 'Call') expr.args.forEach(visit)
    else if (expr.kind === 'Binary') {
      visit(expr.left)
      visit(expr.right)
    }
  }
  if (stmt.kind !== 'Evaluate') expressionsOf(stmt).forEach(visit)
  return found
}
