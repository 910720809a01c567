/**
 * Kept registers of software pipelining.
 *
 * Rows of f32 that an iteration's sum has read are kept as doubles for its update, where the update runs beside the next
 * iteration's sum (`softwarePipelining.ts`).
 *
 *     turn k:  update of this iteration, from the doubles kept at k;  sum of the next one, which keeps its doubles at k
 *
 * Making a double of an f32 takes two of the instructions that such a loop has too many of; storing and loading it takes
 * none. The doubles lie in the worker's scratch block. An element keeps its value from the sum to the update: of what the
 * update of the iteration before writes, turn k of the sum reads the element of its turn k only, and that came before. What
 * stands between the two must not write the array.
 */
import { type Expr, expressionsOf, type Stmt } from '../../../core/ir/functionIr.ts'
import { changedIn, exprId, someExpr } from '../../../core/ir/irFacts.ts'
import { type Code, I, OP, SIMD } from '../../kir/instructions.ts'
import { scratchOfAccumulators, stepped } from '../loops/wasmIteration.ts'
import { type Access, accessesOf, deepAccesses, memoryOf } from '../loops/wasmLoopAccess.ts'
import { type KernelWriter, SCRATCH } from '../loops/wasmWriter.ts'
import { rawLoad } from '../vectors/wasmLanes.ts'
import { isAtIndex, type Parts } from './softwarePipeliningLegality.ts'

/** Doubles of a scratch block that are for rows. */
export const KEPT_DOUBLES = 512
/** Whole lines of the cache. */
const ALIGNED = 8

/** Where rows are kept in a scratch block, in doubles: behind those of accumulators. */
export function keptAt(forms: readonly string[]): number {
  return Math.ceil(scratchOfAccumulators(forms) / ALIGNED) * ALIGNED
}

interface KeptRow {
  /** Reads of the update that take the doubles, in turn k of which none of what they read is written before. */
  readonly taken: ReadonlySet<object>
  /** The read of the sum that leaves them. */
  readonly left: object
  /** Where the update would read. */
  readonly access: Access
  /** From the start of what is kept, in bytes. */
  readonly offset: number
}

export class KeptRows {
  readonly #w: KernelWriter
  readonly #rows: readonly KeptRow[]
  /** The local that holds where rows are kept. */
  readonly #base: number
  readonly #slot: number

  constructor(w: KernelWriter, rows: readonly KeptRow[], slot: number) {
    this.#w = w
    this.#rows = rows
    this.#slot = slot
    this.#base = w.declare('i32')
  }

  /** The doubles of the vector that so many vectors lie before; undefined where the read takes none. */
  taken(node: object, copy: number): Code | undefined {
    const row = this.#rows.find(({ taken }) => taken.has(node))
    return row && [this.#address(), I.memory(SIMD.load, row.offset + 16 * copy)]
  }

  /** Stores the doubles of a local, where the read leaves them. */
  left(node: object, copy: number, local: number): Code {
    const { offset = 0 } = this.#rows.find(({ left }) => left === node) ?? {}
    return [this.#address(), I.localGet(local), I.memory(SIMD.store, offset + 16 * copy)]
  }

  /** Code before the first iteration of several: what its sum has not left. */
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

  /** Whether code of this turn is to keep what the read gives. */
  isLeft(node: object): boolean {
    return this.#rows.some(({ left }) => left === node)
  }

  #address(): Code {
    return [I.localGet(this.#base), I.localGet(this.#slot), I.i32Const(3), OP.i32Shl, OP.i32Add]
  }
}

/** What the update of an iteration may take from its sum. Both go over `length` elements of their rows at most. */
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
  /** Accesses of the sum of the next iteration, and of the update of this one. */
  readonly begun: ReadonlyMap<object, Access>
  readonly ended: ReadonlyMap<object, Access>
  /** The index of both. */
  readonly slot: number
  readonly length: number
}

/** The row and, since the index is the last subscript, the element of a turn. */
function placeText({ array, subscripts }: Access): string {
  return `${array} ${exprId(subscripts.slice(0, -1))}`
}

/** Reads that come before anything that the turn writes where they read. */
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

/** Reads that every turn makes. */
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
