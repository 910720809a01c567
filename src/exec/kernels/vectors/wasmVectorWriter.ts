/**
 * Innermost loops in vectors: several iterations at a time, where lanes are independent (`wasmVectorMemory.ts`).
 *
 *     while (four vectors are left) body × 4;  while (one is left) body;  then one iteration at a time
 *
 * Branches become selections: both sides are computed, and a mask says which lanes store. In exact precision a sum keeps its
 * order and is no vector; in fast and relaxed precision it has four accumulators of a vector each. Runs of iterations
 * are cut at the ends of blocks and slices; so where lanes round differently from scalars, as f32 or contracted, the rest of
 * a run is computed by the same vector code with one active lane.
 */

import type { Expr, Stmt } from '../../../core/ir/functionIr.ts'
import { type Code, codeId, type GrowingCode, I, SIMD } from '../../kir/instructions.ts'
import { compiled, condition } from '../expressions/expressions.ts'
import { BOOL, HIGHEST, type Value } from '../expressions/types.ts'
import type { InnerLoop } from '../loops/innerLoop.ts'
import { columnAddress, columnType } from '../loops/wasmIteration.ts'
import { readsIn, returnsValue } from '../loops/wasmLocals.ts'
import { type Access, isSteady, type Turning } from '../loops/wasmLoopAccess.ts'
import type { KernelWriter } from '../loops/wasmWriter.ts'
import { Contraction } from '../passes/contraction.ts'
import { Regrouping } from '../passes/reassociation.ts'
import { singleOf } from '../passes/singleSums.ts'
import { LaneConstants } from './invariantVectors.ts'
import { Nest } from './outerLoopVectorization.ts'
import { nestedBlock } from './outerLoopVectorizationLoops.ts'
import { keptIn, VectorAccesses } from './vectorAccesses.ts'
import { type Beside, type LaneTurns, newTurn, type Turn, type Vectors, whileLeft } from './vectorLoop.ts'
import {
  asFloat,
  type Constants,
  chosen,
  LANES,
  type LaneKind,
  type Mode,
  masked,
  noBigint,
  Scalar,
  type SteadyVector,
  type Vector,
} from './wasmLanes.ts'
import { LaneEmitter, type VectorScope } from './wasmVectorExpressions.ts'
import { checkLanes, readAgain } from './wasmVectorMemory.ts'
import { addedInOrder, LaneSums, termOf, UNROLLED, usesElement } from './wasmVectorSums.ts'

/** The range of the index below which accumulators do not pay: they are combined soon after they begin. */
const SHORT = 64
export class VectorWriter implements Constants, VectorScope {
  readonly w: KernelWriter
  readonly mode: Mode
  readonly turning: Turning
  readonly contraction: Contraction | undefined
  readonly regrouping: Regrouping | undefined
  readonly #memory: VectorAccesses
  readonly #loop: InnerLoop
  readonly #sums: LaneSums
  readonly #before: GrowingCode = []
  readonly #constants: LaneConstants
  #turn: Turn = newTurn()
  readonly #steady = new Map<Expr, Value>()
  readonly #emitter: LaneEmitter = new LaneEmitter(this)
  #branches = false
  readonly #isInOrder: boolean

  constructor(w: KernelWriter, { loop, accesses, turning, mode, isInOrder = false, contracts = false, regroups = false }: Vectors) {
    this.w = w
    this.mode = mode
    this.#isInOrder = isInOrder
    this.contraction = contracts ? new Contraction() : undefined
    this.regrouping = regroups && mode !== 'i32' ? new Regrouping(this, loop.body) : undefined
    this.#loop = loop
    this.#sums = new LaneSums(w, loop, { mode, isInOrder, contraction: this.contraction })
    const found = accesses === 'nest' ? new Nest(w, loop, this.#before) : accesses
    this.#memory = new VectorAccesses(w, this, { accesses: found, count: LANES[mode] })
    this.turning = found instanceof Nest ? found.turning : turning
    this.#constants = new LaneConstants(w, this.#before)
    if (loop.step !== 1) throw new Scalar('its step is not 1')
    const { held } = loop.index
    const isBounded = accesses !== 'nest' && [...accesses.values()].some(({ axis }) => axis >= 0)
    // the iterations left over must not overflow 32 bits: a bounds check ensures it where the index addresses elements
    if (held.kind === 'i32' && held.high - held.low >= HIGHEST && !isBounded) throw new Scalar('its index may be any integer')
    if (accesses !== 'nest') checkLanes(w, loop, accesses)
  }

  summary(): string {
    const sums = this.#sums.vectors.size === 0 ? '' : this.#isInOrder ? ', sums in order' : `, ${UNROLLED} accumulators`
    const branches = this.#branches ? ', branches as choices' : ''
    const contracted = this.contraction?.isUsed === true ? ', contracted' : ''
    const regrouped = this.regrouping?.isUsed === true ? ', factors multiplied out' : ''
    return `${LANES[this.mode]} lanes of ${this.mode}${sums}${regrouped}${contracted}${branches}${this.#memory.gathers ? ', strided loads' : ''}`
  }

  isBest(): boolean {
    const { seen } = this.#loop.index
    const isShort = seen.kind === 'i32' && seen.high - seen.low < SHORT
    return !this.#memory.gathers && !(this.#sums.vectors.size > 0 && isShort)
  }

  loop(): Code {
    this.#beginSums()
    const copies = this.#sums.vectorsAtATime(this.#memory.accesses instanceof Nest)
    const unrolled = copies === 1 ? [] : this.#vectors(copies)
    const single = this.#vectors(1)
    // scalar code would round differently
    const isOther = this.mode === 'f32' || this.contraction?.isUsed === true || this.regrouping?.isUsed === true
    const rest = this.#loop.isRun && isOther ? this.#lastTurns() : []
    const sums = this.#sums.combined()
    if (this.#memory.accesses instanceof Nest) this.#memory.accesses.checkLanes(returnsValue(this.#loop.body))
    return [this.#before, unrolled, single, rest, sums]
  }

  turns(): LaneTurns {
    this.#beginSums()
    const turn = (copy: number, { handed, kept }: Beside): Code => {
      this.#memory.handed = handed
      this.#memory.rows = kept
      return this.#turnOf(copy)
    }
    return { before: this.#before, turn }
  }

  #beginSums(): void {
    if (!(this.#memory.accesses instanceof Nest)) this.#before.push(this.#sums.begin())
  }

  /** The locals that hold sums as f32 as well, by the sum's local. */
  get singles(): ReadonlyMap<string, number> {
    return this.#sums.singles
  }

  /** Conditions under which the vectors of a nest may run. */
  checks(): readonly Code[] {
    return this.#memory.accesses instanceof Nest
      ? [...new Map(this.#memory.accesses.checks.map((check) => [codeId(check), check])).values()]
      : []
  }

  /** Writes the loop that runs while `copies` vectors are left. */
  #vectors(copies: number): Code {
    const numbers = Array.from({ length: copies }, (_, copy) => copy)
    if (this.#memory.accesses instanceof Nest)
      return whileLeft(this.#loop, copies * this.#memory.count, this.#nested(this.#memory.accesses, numbers))
    this.#memory.again = readAgain(this.#memory.accesses, { copies, count: this.#memory.count })
    this.#memory.loaded.clear()
    const body = numbers.map((copy) => this.#turnOf(copy))
    this.#memory.again = new Map()
    return whileLeft(this.#loop, copies * this.#memory.count, body)
  }

  /** Writes the iterations left over, one lane at a time. */
  #lastTurns(): Code {
    this.#memory.count = 1
    const code = this.#vectors(1)
    this.#memory.count = LANES[this.mode]
    return code
  }

  #turnOf(copy: number): Code {
    this.#memory.copy = copy
    return [this.#start(), this.#block(this.#loop.body)]
  }

  /** Writes all vectors of iterations statement by statement, so that they share inner loops. */
  #nested(nest: Nest, copies: readonly number[]): Code {
    const turns = copies.map(newTurn)
    const one = (copy: number, stmt: Stmt): Code => {
      this.#memory.copy = copy
      this.#turn = turns[copy] ?? newTurn()
      return this.#one(stmt)
    }
    const starts = copies.map((copy) => {
      this.#memory.copy = copy
      const code = this.#start()
      turns[copy] = this.#turn
      return code
    })
    return [starts, nestedBlock({ lanes: this, w: this.w, nest, turns, one }, this.#loop.body)]
  }

  #start(): Code {
    this.#turn = newTurn()
    if (this.w.target.shape.element.kind !== 'dense' || !this.#loop.isRun || !usesElement(this.#loop.body)) return []
    // the body may write the element before it reads it
    const [code, element] = keptIn(this.w, this.#memory.contiguous(columnType(this.w, 0), columnAddress(this.w, 0), 0))
    this.#turn.element = element
    return code
  }

  // ---------------------------------------------------------------- statements

  #block(stmts: readonly Stmt[]): Code {
    return stmts.map((stmt) => {
      const outer = this.#memory.loads
      const loads: GrowingCode = (this.#memory.loads = [])
      const code = this.#one(stmt)
      this.#memory.loads = outer
      return [loads, code]
    })
  }

  #one(stmt: Stmt): Code {
    switch (stmt.kind) {
      case 'Let':
        if (this.w.readsOf(stmt.local) !== readsIn(this.#loop.source, stmt.local)) throw new Scalar(`${stmt.local} is used after it`)
        if (stmt.init === undefined) throw new Scalar(`${stmt.local} has no first value`)
        if (this.regrouping?.folded.has(stmt.local) === true) return []
        return this.#set(stmt.local, this.expr(stmt.init))
      case 'Assign': {
        const vectors = this.#sums.vectors.get(stmt.local)
        if (vectors === undefined) {
          if (!this.#turn.locals.has(stmt.local)) throw new Scalar(`${stmt.local} changes`)
          return this.#set(stmt.local, this.expr(stmt.value))
        }
        const term = termOf(stmt)
        if (term === undefined || this.#turn.alive !== undefined) throw new Scalar(`${stmt.local} is no sum`)
        const value = asFloat(this, this.expr(term.value))
        const sum = vectors[this.#memory.copy]
        if (sum === undefined) return this.#addedInOrder(stmt.local, term.operator, value)
        return [this.#sums.sumOf(term.operator, I.localGet(sum), value), I.localSet(sum)]
      }
      case 'Write':
        return this.#memory.store(stmt, this.expr(stmt.value))
      case 'Add': {
        const sum = this.#sums.sum(this, this.#memory.load(this.#memory.access(stmt)), this.expr(stmt.value))
        return this.#memory.store(stmt, sum)
      }
      case 'If':
        return this.#if(stmt)
      case 'Continue':
        if (stmt.label !== undefined || this.#isInside()) throw new Scalar('it leaves the loop, or may')
        return this.#end()
      case 'Return':
        if (!this.#loop.isRun || this.#isInside()) throw new Scalar('it leaves the loop, or may')
        return [stmt.value === undefined ? [] : this.#returned(stmt.value), this.#end()]
      case 'Evaluate':
        if (this.#memory.accesses instanceof Nest) this.expr(stmt.value)
        return [] // without effect: checks before the loop have ruled out that it fails
      case 'Accumulate':
        throw new Scalar('it adds to an accumulator')
      case 'Labeled':
      case 'For':
      case 'Break':
      case 'Throw':
        throw new Scalar('it leaves the loop, or may')
    }
  }

  /** Adds to a sum in order; later reads in the iteration get the running sum. */
  #addedInOrder(local: string, operator: '+' | '-', value: Code): Code {
    if (readsIn(this.#loop.body, local) === 1) return addedInOrder(this.w, local, operator, value)
    const running = this.w.declare('v128')
    this.#turn.locals.set(local, { kind: 'f64', code: I.localGet(running) })
    return addedInOrder(this.w, local, operator, value, running)
  }

  /** Whether an inner loop is being written. */
  #isInside(): boolean {
    return this.#memory.accesses instanceof Nest && this.#memory.accesses.isInside()
  }

  /** Sets a local in the lanes that run. */
  #set(name: string, value: Vector): Code {
    const before = this.#turn.locals.get(name)
    // lanes whose iteration has ended read nothing any more
    const chosen = this.#turn.mask === undefined || before === undefined ? value : this.choice(this.#turn.mask, value, before)
    const [code, kept] = keptIn(this.w, chosen)
    this.#turn.locals.set(name, kept)
    return code
  }

  /** Writes both sides, one after the other, each for its own lanes. */
  #if({ test, then: yes, else: no }: Extract<Stmt, { kind: 'If' }>): Code {
    this.#branches = true
    const outer = this.#turn.mask
    const lanes = masked(this, condition<Vector>(this.#emitter, test), this.maskBits)
    const [code, mask] = keptIn(this.w, { kind: 'mask', bits: this.maskBits, code: lanes })
    const side = (own: Vector, stmts: readonly Stmt[]): Code => {
      if (stmts.length === 0) return []
      const [set, inner] = keptIn(this.w, outer === undefined ? own : this.both(outer, own))
      this.#turn.mask = inner
      return [set, this.#block(stmts)]
    }
    const sides = [side(mask, yes), side(this.negated(mask), no)]
    this.#turn.mask = outer
    return [code, sides]
  }

  /** Ends the iterations of the lanes that run. */
  #end(): Code {
    const done = this.#turn.mask
    if (done === undefined) {
      // all lanes have ended: the code after it is never reached
      this.#turn.alive = { kind: 'steady', value: { type: BOOL, code: I.i32Const(0) } }
      return []
    }
    const { alive: before } = this.#turn
    const [code, alive] = keptIn(this.w, before === undefined ? this.negated(done) : this.both(before, this.negated(done)))
    this.#turn.alive = alive
    return code
  }

  active(): Vector | undefined {
    if (this.#turn.mask === undefined || this.#turn.alive === undefined) return this.#turn.mask ?? this.#turn.alive
    return this.both(this.#turn.mask, this.#turn.alive)
  }

  #returned(value: Expr): Code {
    const { element } = this.w.target.shape
    if (element.kind === 'none') return []
    const isColumn = element.kind === 'scalar' && !element.column.nullable && this.w.target.shape.space === 'rows'
    const dtype = columnType(this.w, 0)
    if (element.kind !== 'dense' && !isColumn) throw new Scalar('it replaces elements that do not lie next to each other')
    return this.#memory.storeAt(dtype, columnAddress(this.w, 0), 0, this.expr(value))
  }

  // ---------------------------------------------------------------- values

  contiguous(dtype: Access['dtype'], address: Code, offset: number): Vector {
    return this.#memory.contiguous(dtype, address, offset)
  }

  read(node: object): Vector {
    return this.#memory.read(node)
  }

  expr(expr: Expr): Vector {
    return compiled<Vector>(this.#emitter, expr)
  }

  get maskBits(): 32 | 64 {
    return this.mode === 'f64' ? 64 : 32
  }

  both(a: Vector, b: Vector): Vector {
    const bits = this.maskBits
    return { kind: 'mask', bits, code: [masked(this, a, bits), masked(this, b, bits), SIMD.and] }
  }

  negated(mask: Vector): Vector {
    const bits = this.maskBits
    return { kind: 'mask', bits, code: [masked(this, mask, bits), SIMD.not] }
  }

  choice(mask: Vector, yes: Vector, no: Vector): Vector {
    return chosen(this, mask, yes, no)
  }

  local(name: string): Vector {
    const folded = this.regrouping?.folded.get(name)
    if (folded !== undefined) {
      const value = this.expr(folded)
      // a list of its own, so that it is not taken for the product: like any local's value it is rounded
      return value.kind === 'steady' ? value : { ...value, code: [value.code] }
    }
    const vector = this.#turn.locals.get(name)
    if (vector === undefined) throw new Scalar(`it uses ${name}, which differs between lanes`)
    return vector
  }

  /** The index in each lane. */
  index(): Vector {
    const { slot, seen } = this.turning.index
    if (seen.kind !== 'i32') throw new Scalar('its index is no integer')
    const first = [I.localGet(slot), SIMD.i32Splat]
    const code = [...first, ...this.#constants.steps(this.#memory.copy * this.#memory.count), SIMD.i32Add]
    return { kind: 'i32', low: seen.low, high: seen.high, code }
  }

  isIndex(expr: Expr): boolean {
    return this.turning.index.is(expr)
  }

  /** The element of the iteration, as read at its start. */
  element(column: number): Vector {
    if (this.#turn.element !== undefined) return this.#turn.element
    if (this.w.target.shape.space !== 'rows') throw new Scalar('its elements do not lie next to each other')
    return this.#memory.contiguous(columnType(this.w, column), columnAddress(this.w, column), 0)
  }

  /** The value that all lanes and iterations share; undefined where there is none. */
  steady(expr: Expr): Vector | undefined {
    if (!isSteady(expr, this.turning)) return undefined
    if (this.#memory.accesses instanceof Nest && this.#memory.accesses.differsInside(expr)) {
      return { kind: 'steady', value: noBigint(this.w.expr(expr)), isInside: true }
    }
    let value = this.#steady.get(expr)
    if (value === undefined) this.#steady.set(expr, (value = noBigint(this.w.expr(expr))))
    const single = this.mode === 'f32' ? singleOf(this.w, expr) : undefined
    return single === undefined ? { kind: 'steady', value } : { kind: 'steady', value, single }
  }

  splat(kind: LaneKind, { value, isInside, single }: SteadyVector): Code {
    if (kind === 'f32' && single !== undefined) return this.#constants.single(single)
    return isInside === true && value.literal === undefined ? this.#constants.lanes(kind, value) : this.#constants.splat(kind, value)
  }

  number(kind: 'f64' | 'f32' | 'i32', value: number): Code {
    return this.#constants.number(kind, value)
  }
}
