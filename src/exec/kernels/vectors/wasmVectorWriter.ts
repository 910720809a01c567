/**
 * Innermost loops in vectors: several turns at a time, where lanes do not depend on each other (`wasmVectorMemory.ts`).
 *
 *     while (four vectors are left) body × 4;  while (one is left) body;  then turn by turn
 *
 * Branches become choices: both sides are computed, and a mask says which lanes store. In exact precision a sum keeps its
 * order and is no vector; in fast and relaxed precision it has four accumulators of a vector each. Iterations of the kernel
 * are cut where a block or a slice ends, so that where lanes round otherwise than scalars, as f32 or contracted, the rest of
 * a run is computed by the same vectors with one lane of use.
 */
import type { Expr, Stmt } from '../../../core/ir/functionIr.ts'
import { type Code, codeId, type GrowingCode, I, OP, SIMD } from '../../kir/instructions.ts'
import type { InnerLoop } from '../loops/innerLoop.ts'
import { LOG2_BYTES, loadOf } from '../loops/wasmCode.ts'
import { columnAddress, columnType } from '../loops/wasmIteration.ts'
import { readsIn, returnsValue } from '../loops/wasmLocals.ts'
import { type Access, isSteady, type Turning } from '../loops/wasmLoopAccess.ts'
import { BOOL, HIGHEST, type Value } from '../loops/wasmTypes.ts'
import type { KernelWriter } from '../loops/wasmWriter.ts'
import { Contraction } from '../passes/contraction.ts'
import type { KeptRows } from '../passes/keptRows.ts'
import { Regrouping } from '../passes/reassociation.ts'
import { singleOf } from '../passes/singleSums.ts'
import { LaneConstants } from './invariantVectors.ts'
import { Nest } from './outerLoopVectorization.ts'
import { nestedBlock } from './outerLoopVectorizationLoops.ts'
import {
  asFloat,
  type Constants,
  chosen,
  LANES,
  type LaneKind,
  loadedLanes,
  type Mode,
  masked,
  rawLoad,
  rawStore,
  Scalar,
  type SteadyVector,
  storedLanes,
  type Vector,
} from './wasmLanes.ts'
import { type Turn, type VectorScope, vectorCondition, vectorExpr } from './wasmVectorExpressions.ts'
import { checkLanes, readAgain } from './wasmVectorMemory.ts'
import { ADD, addedInOrder, combinedSum, sizeOf, sumsOf, termOf, usesElement } from './wasmVectorSums.ts'

const UNROLLED = 4
/** Sums of fewer turns are hardly begun when they are added up. */
const SHORT = 64
/** A body of more statements and operations fills the registers alone. */
const MOST_UNROLLED = 40

/** What a store of one loop hands to loads of another that runs beside it, turn by turn: the element that both have. */
export interface HandedOver {
  readonly write: object
  readonly reads: ReadonlySet<object>
  /** The element as a load would give it, when it is stored. */
  element?: Vector
}

/** A loop's turns in lanes of two doubles, for loops that run side by side. */
export interface LaneTurns {
  /** Code before the first turn. */
  readonly before: Code
  /** The vector of turns that so many vectors lie before; sums are added in order. */
  readonly turn: (copy: number, beside: Beside) => Code
}

/** What loops that run side by side pass on. */
export interface Beside {
  readonly handed: HandedOver | undefined
  readonly kept: KeptRows | undefined
}

export interface Vectors {
  readonly loop: InnerLoop
  readonly accesses: ReadonlyMap<object, Access> | 'nest'
  readonly turning: Turning
  readonly mode: Mode
  /** Whether sums are added in order, lane by lane. */
  readonly isInOrder?: boolean
  /** Whether a product and a sum may round once: not where part of a run may take other code than lanes. */
  readonly contracts?: boolean
  /** Whether factors that do not change in the loop may be multiplied out: where contraction might be. */
  readonly regroups?: boolean
}

function newTurn(): Turn {
  return { locals: new Map(), mask: undefined, alive: undefined, element: undefined }
}

export class VectorWriter implements Constants, VectorScope {
  readonly w: KernelWriter
  readonly mode: Mode
  readonly turning: Turning
  readonly contraction: Contraction | undefined
  readonly regrouping: Regrouping | undefined
  readonly #loop: InnerLoop
  /** Accesses that were checked before the loop; a nest finds them while they are written. */
  readonly #accesses: ReadonlyMap<object, Access> | Nest
  /** Sums by their local: one vector for each unrolled copy. */
  readonly #sums = new Map<string, readonly number[]>()
  /** Sums that are kept as f32 as well. */
  readonly singles: Map<string, number> = new Map()
  readonly #before: GrowingCode = []
  readonly #constants: LaneConstants
  #turn: Turn = newTurn()
  readonly #steady = new Map<Expr, Value>()
  #copy = 0
  /** Lanes in use. */
  #count: number
  #branches = false
  #gathers = false
  readonly #isInOrder: boolean
  #handed: HandedOver | undefined
  #rows: KeptRows | undefined
  /** Reads that have their vector in common with others: their rows, the vectors, and their loads before the statement. */
  #again: ReadonlyMap<object, string> = new Map()
  readonly #loaded = new Map<string, Vector>()
  #loads: GrowingCode = []

  constructor(w: KernelWriter, { loop, accesses, turning, mode, isInOrder = false, contracts = false, regroups = false }: Vectors) {
    this.w = w
    this.mode = mode
    this.#isInOrder = isInOrder
    this.contraction = contracts ? new Contraction() : undefined
    this.regrouping = regroups && mode !== 'i32' ? new Regrouping(this, loop.body) : undefined
    this.#loop = loop
    this.#accesses = accesses === 'nest' ? new Nest(w, loop, this.#before) : accesses
    this.turning = this.#accesses instanceof Nest ? this.#accesses.turning : turning
    this.#count = LANES[mode]
    this.#constants = new LaneConstants(w, this.#before)
    if (loop.step !== 1) throw new Scalar('its step is not 1')
    const { held } = loop.index
    const isBounded = accesses !== 'nest' && [...accesses.values()].some(({ axis }) => axis >= 0)
    // The turns that are left must not leave 32 bits: a check has seen to it where the index reaches elements.
    if (held.kind === 'i32' && held.high - held.low >= HIGHEST && !isBounded) throw new Scalar('its index may be any integer')
    if (accesses !== 'nest') checkLanes(w, loop, accesses)
  }

  summary(): string {
    const sums = this.#sums.size === 0 ? '' : this.#isInOrder ? ', sums in order' : `, ${UNROLLED} accumulators`
    const branches = this.#branches ? ', branches as choices' : ''
    const contracted = this.contraction?.isUsed === true ? ', contracted' : ''
    const regrouped = this.regrouping?.isUsed === true ? ', factors multiplied out' : ''
    return `${LANES[this.mode]} lanes of ${this.mode}${sums}${regrouped}${contracted}${branches}${this.#gathers ? ', strided loads' : ''}`
  }

  isBest(): boolean {
    const { seen } = this.#loop.index
    const isShort = seen.kind === 'i32' && seen.high - seen.low < SHORT
    return !this.#gathers && !(this.#sums.size > 0 && isShort)
  }

  loop(): Code {
    this.#findSums()
    const copies = this.#copies()
    const unrolled = copies === 1 ? [] : this.#vectors(copies)
    const single = this.#vectors(1)
    // Scalars would round otherwise.
    const isOther = this.mode === 'f32' || this.contraction?.isUsed === true || this.regrouping?.isUsed === true
    const rest = this.#loop.isRun && isOther ? this.#lastTurns() : []
    const sums = this.#isInOrder ? [] : [...this.#sums].map(([local, vectors]) => this.#combined(local, vectors))
    if (this.#accesses instanceof Nest) this.#accesses.checkLanes(returnsValue(this.#loop.body))
    return [this.#before, unrolled, single, rest, ...sums]
  }

  turns(): LaneTurns {
    this.#findSums()
    const turn = (copy: number, { handed, kept }: Beside): Code => {
      this.#handed = handed
      this.#rows = kept
      return this.#turnOf(copy)
    }
    return { before: this.#before, turn }
  }

  #combined(local: string, vectors: readonly number[]): Code {
    const isFirst = this.#loop.zeroSums.has(local)
    const single = isFirst && this.mode === 'f32' ? this.w.declare('f32') : undefined
    if (single !== undefined) this.singles.set(local, single)
    return combinedSum(this.w, this.mode, { local, vectors, isFirst, single })
  }

  /** How many vectors are computed at a time. */
  #copies(): number {
    if (this.#loop.vectors !== undefined) return this.#loop.vectors
    if (this.#accesses instanceof Nest) return sizeOf(this.#loop.body) <= 2 * MOST_UNROLLED ? 2 : 1
    if (this.#isInOrder) return 1
    return this.#sums.size > 0 || sizeOf(this.#loop.body) <= MOST_UNROLLED ? UNROLLED : 1
  }

  /** Conditions under which the vectors of a nest may run. */
  checks(): readonly Code[] {
    return this.#accesses instanceof Nest ? [...new Map(this.#accesses.checks.map((check) => [codeId(check), check])).values()] : []
  }

  #findSums(): void {
    if (this.#accesses instanceof Nest) return
    for (const local of sumsOf(this.w, this.#loop.body, this.mode, this.#isInOrder)) {
      if (this.#isInOrder) {
        this.#sums.set(local, [])
        continue
      }
      const vectors = Array.from({ length: UNROLLED }, () => this.w.declare('v128'))
      for (const slot of vectors) this.#before.push(I.f64Const(0), [SIMD.f64Splat], I.localSet(slot))
      this.#sums.set(local, vectors)
    }
  }

  /** Runs while so many vectors are left. */
  #vectors(copies: number): Code {
    const numbers = Array.from({ length: copies }, (_, copy) => copy)
    if (this.#accesses instanceof Nest) return this.#while(copies * this.#count, this.#nested(this.#accesses, numbers))
    this.#again = readAgain(this.#accesses, { copies, count: this.#count })
    this.#loaded.clear()
    const body = numbers.map((copy) => this.#turnOf(copy))
    this.#again = new Map()
    return this.#while(copies * this.#count, body)
  }

  /** The turns that are left, one lane at a time. */
  #lastTurns(): Code {
    this.#count = 1
    const code = this.#vectors(1)
    this.#count = LANES[this.mode]
    return code
  }

  #while(step: number, body: Code): Code {
    const { index, limit } = this.#loop
    const enough = [I.localGet(limit), I.localGet(index.slot), OP.i32Sub, I.i32Const(step), OP.i32GeS]
    const next = [I.localGet(index.slot), I.i32Const(step), OP.i32Add, I.localSet(index.slot)]
    return [enough, I.if(), I.loop, body, next, enough, I.brIf(0), OP.end, OP.end]
  }

  #turnOf(copy: number): Code {
    this.#copy = copy
    return [this.#start(), this.#block(this.#loop.body)]
  }

  /** All turns together, loop by loop. */
  #nested(nest: Nest, copies: readonly number[]): Code {
    const turns = copies.map(newTurn)
    const one = (copy: number, stmt: Stmt): Code => {
      this.#copy = copy
      this.#turn = turns[copy] ?? newTurn()
      return this.#one(stmt)
    }
    const starts = copies.map((copy) => {
      this.#copy = copy
      const code = this.#start()
      turns[copy] = this.#turn
      return code
    })
    return [starts, nestedBlock({ lanes: this, w: this.w, nest, turns, one }, this.#loop.body)]
  }

  #start(): Code {
    this.#turn = newTurn()
    if (this.w.target.shape.element.kind !== 'dense' || !this.#loop.isRun || !usesElement(this.#loop.body)) return []
    // The body may write it before it reads it.
    const [code, element] = this.#kept(this.contiguous(columnType(this.w, 0), columnAddress(this.w, 0), 0))
    this.#turn.element = element
    return code
  }

  // ---------------------------------------------------------------- statements

  #block(stmts: readonly Stmt[]): Code {
    return stmts.map((stmt) => {
      const outer = this.#loads
      const loads: GrowingCode = (this.#loads = [])
      const code = this.#one(stmt)
      this.#loads = outer
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
        const vectors = this.#sums.get(stmt.local)
        if (vectors === undefined) {
          if (!this.#turn.locals.has(stmt.local)) throw new Scalar(`${stmt.local} changes`)
          return this.#set(stmt.local, this.expr(stmt.value))
        }
        const term = termOf(stmt)
        if (term === undefined || this.#turn.alive !== undefined) throw new Scalar(`${stmt.local} is no sum`)
        const value = asFloat(this, this.expr(term.value))
        const sum = vectors[this.#copy]
        if (sum === undefined) return this.#addedInOrder(stmt.local, term.operator, value)
        return [this.#sumOf(term.operator, I.localGet(sum), value), I.localSet(sum)]
      }
      case 'Write':
        return this.#store(stmt, this.expr(stmt.value))
      case 'Add': {
        const sum = this.#sum(this.#load(this.#access(stmt)), this.expr(stmt.value))
        return this.#store(stmt, sum)
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
        if (this.#accesses instanceof Nest) this.expr(stmt.value)
        return [] // for a failure that checks before the loop have ruled out
      case 'Accumulate':
        throw new Scalar('it adds to an accumulator')
      case 'Labeled':
      case 'For':
      case 'Break':
      case 'Throw':
        throw new Scalar('it leaves the loop, or may')
    }
  }

  /** What reads the sum later in the turn has what it is then. */
  #addedInOrder(local: string, operator: '+' | '-', value: Code): Code {
    if (readsIn(this.#loop.body, local) === 1) return addedInOrder(this.w, local, operator, value)
    const running = this.w.declare('v128')
    this.#turn.locals.set(local, { kind: 'f64', code: I.localGet(running) })
    return addedInOrder(this.w, local, operator, value, running)
  }

  /** Whether a loop inside is being written. */
  #isInside(): boolean {
    return this.#accesses instanceof Nest && this.#accesses.isInside()
  }

  #sum(a: Vector, b: Vector): Vector {
    return { kind: this.mode === 'f32' ? 'f32' : 'f64', code: this.#sumOf('+', asFloat(this, a), asFloat(this, b)) }
  }

  #sumOf(operator: '+' | '-', a: Code, b: Code): Code {
    const kind = this.mode === 'f32' ? 'f32' : 'f64'
    return this.contraction?.sum(kind, operator, a, b) ?? [a, b, ADD[operator][kind === 'f32' ? 1 : 0]]
  }

  /** The local holds the value in the lanes that run. */
  #set(name: string, value: Vector): Code {
    const before = this.#turn.locals.get(name)
    // Lanes whose turn has ended read nothing any more.
    const chosen = this.#turn.mask === undefined || before === undefined ? value : this.choice(this.#turn.mask, value, before)
    const [code, kept] = this.#kept(chosen)
    this.#turn.locals.set(name, kept)
    return code
  }

  /** The vector in a local. */
  #kept(vector: Vector): readonly [Code, Vector] {
    if (vector.kind === 'steady') return [[], vector]
    const slot = this.w.declare('v128')
    return [[vector.code, I.localSet(slot)], { ...vector, code: I.localGet(slot) }]
  }

  /** Both sides, one after the other: each changes its own lanes. */
  #if({ test, then: yes, else: no }: Extract<Stmt, { kind: 'If' }>): Code {
    this.#branches = true
    const outer = this.#turn.mask
    const [code, mask] = this.#kept({ kind: 'mask', bits: this.maskBits, code: masked(this, vectorCondition(this, test), this.maskBits) })
    const side = (own: Vector, stmts: readonly Stmt[]): Code => {
      if (stmts.length === 0) return []
      const [set, lanes] = this.#kept(outer === undefined ? own : this.both(outer, own))
      this.#turn.mask = lanes
      return [set, this.#block(stmts)]
    }
    const sides = [side(mask, yes), side(this.negated(mask), no)]
    this.#turn.mask = outer
    return [code, sides]
  }

  /** The lanes that run here are done. */
  #end(): Code {
    const done = this.#turn.mask
    if (done === undefined) {
      // Every lane: what follows is never reached.
      this.#turn.alive = { kind: 'steady', value: { type: BOOL, code: I.i32Const(0) } }
      return []
    }
    const [code, alive] = this.#kept(this.#turn.alive === undefined ? this.negated(done) : this.both(this.#turn.alive, this.negated(done)))
    this.#turn.alive = alive
    return code
  }

  #active(): Vector | undefined {
    if (this.#turn.mask === undefined || this.#turn.alive === undefined) return this.#turn.mask ?? this.#turn.alive
    return this.both(this.#turn.mask, this.#turn.alive)
  }

  #store(node: object, value: Vector): Code {
    const { dtype, known, stride, axis } = this.#access(node)
    if (axis < 0) throw new Scalar('lanes write one element')
    const handed = this.#handed?.write === node ? this.#handed : undefined
    return stride === undefined
      ? this.#storeAt(dtype, known.code(), known.offset, value, handed)
      : this.#storeLanes(dtype, known, stride, value)
  }

  /** Lane by lane. */
  #storeLanes(dtype: Access['dtype'], known: Access['known'], stride: number, value: Vector): Code {
    const [slot, log] = [this.w.declare('v128'), LOG2_BYTES[dtype]]
    const old = this.#rawLanes(dtype, known, stride)
    const opcode = log === 3 ? SIMD.store64Lane : SIMD.store32Lane
    const stores = Array.from({ length: this.#count }, (_, lane) => [
      ...[this.#laneAddress(known, stride, lane), I.localGet(slot)],
      I.simdMemoryLane(opcode, lane, known.offset),
    ])
    return [storedLanes(this, dtype, value, old, this.#active()), I.localSet(slot), ...stores]
  }

  #storeAt(dtype: Access['dtype'], address: Code, start: number, value: Vector, handed?: HandedOver): Code {
    const offset = start + ((this.#copy * this.#count) << LOG2_BYTES[dtype])
    const old = rawLoad(dtype, this.#count, address, offset)
    const raw = storedLanes(this, dtype, value, old, this.#active())
    if (handed === undefined) return rawStore(dtype, this.#count, address, raw, offset)
    const slot = this.w.declare('v128')
    handed.element = loadedLanes(this, dtype, I.localGet(slot))
    return [raw, I.localSet(slot), rawStore(dtype, this.#count, address, I.localGet(slot), offset)]
  }

  #returned(value: Expr): Code {
    const { element } = this.w.target.shape
    if (element.kind === 'none') return []
    const isColumn = element.kind === 'scalar' && !element.column.nullable && this.w.target.shape.space === 'rows'
    const dtype = columnType(this.w, 0)
    if (element.kind !== 'dense' && !isColumn) throw new Scalar('it replaces elements that do not lie next to each other')
    return this.#storeAt(dtype, columnAddress(this.w, 0), 0, this.expr(value))
  }

  // ---------------------------------------------------------------- values

  expr(expr: Expr): Vector {
    return vectorExpr(this, expr)
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
      // In code of its own: as of any local, a product that it keeps is rounded.
      return value.kind === 'steady' ? value : { ...value, code: [value.code] }
    }
    const vector = this.#turn.locals.get(name)
    if (vector === undefined) throw new Scalar(`it uses ${name}, which differs between lanes`)
    return vector
  }

  /** The index of each lane. */
  index(): Vector {
    const { slot, seen } = this.turning.index
    if (seen.kind !== 'i32') throw new Scalar('its index is no integer')
    const first = [I.localGet(slot), SIMD.i32Splat]
    const code = [...first, ...this.#constants.steps(this.#copy * this.#count), SIMD.i32Add]
    return { kind: 'i32', low: seen.low, high: seen.high, code }
  }

  isIndex(expr: Expr): boolean {
    return this.turning.index.is(expr)
  }

  read(node: object): Vector {
    const taken = this.#rows?.taken(node, this.#copy)
    if (taken !== undefined) return { kind: 'f64', code: taken }
    const vector = this.#readOnce(node)
    if (this.#rows?.isLeft(node) !== true || vector.kind === 'steady') return vector
    const slot = this.w.declare('v128')
    this.#loads.push(vector.code, I.localSet(slot), this.#rows.left(node, this.#copy, slot))
    return { ...vector, code: I.localGet(slot) }
  }

  #readOnce(node: object): Vector {
    if (this.#handed?.element !== undefined && this.#handed.reads.has(node)) return this.#handed.element
    const access = this.#access(node)
    const { dtype, known, axis } = access
    if (dtype === 'i64') throw new Scalar('its elements are i64')
    if (this.#accesses instanceof Nest) {
      if (axis >= 0) return this.#accesses.kept(access, `${this.#copy} ${codeId(known.code())} ${known.offset}`, () => this.#load(access))
      const load = (): Vector => loadedLanes(this, dtype, rawLoad(dtype, 1, known.code(), known.offset))
      return this.#accesses.kept(access, `${codeId(known.code())} ${known.offset}`, load)
    }
    const row = this.#again.get(node)
    if (row !== undefined) return this.#loadedOnce(access, row)
    return axis >= 0 ? this.#load(access) : { kind: 'steady', value: loadOf(dtype, known.code(), known.offset) }
  }

  /** The vector as it was loaded for another read, or for the vector before. */
  #loadedOnce(access: Access, row: string): Vector {
    const place = `${row} ${access.known.offset + ((this.#copy * this.#count) << LOG2_BYTES[access.dtype])}`
    const known = this.#loaded.get(place)
    if (known !== undefined) return known
    const [code, kept] = this.#kept(this.#load(access))
    this.#loads.push(code)
    this.#loaded.set(place, kept)
    return kept
  }

  #access(node: object): Access {
    if (this.#accesses instanceof Nest) return this.#accesses.access(node)
    const access = this.#accesses.get(node)
    if (access === undefined) throw new Scalar('an access is not checked before the loop')
    return access
  }

  #load({ dtype, known, isLast, stride }: Access): Vector {
    if (isLast) return this.contiguous(dtype, known.code(), known.offset)
    if (stride === undefined) throw new Scalar('lanes read one element')
    return loadedLanes(this, dtype, this.#rawLanes(dtype, known, stride))
  }

  /** Elements a stride apart, lane by lane, in the lowest bytes. */
  #rawLanes(dtype: Access['dtype'], known: Access['known'], stride: number): Code {
    if (LOG2_BYTES[dtype] < 2) throw new Scalar('small elements do not lie next to each other')
    this.#gathers = true
    const isWide = LOG2_BYTES[dtype] === 3
    let raw: Code = [this.#laneAddress(known, stride, 0), I.memory(isWide ? SIMD.load64Splat : SIMD.load32Splat, known.offset)]
    for (let lane = 1; lane < this.#count; lane++) {
      const kept = this.w.declare('v128')
      const load = I.simdMemoryLane(isWide ? SIMD.load64Lane : SIMD.load32Lane, lane, known.offset)
      raw = [raw, I.localSet(kept), this.#laneAddress(known, stride, lane), I.localGet(kept), load]
    }
    return raw
  }

  /** The first copy's address, and the stride as often as the lane says. */
  #laneAddress(known: Access['known'], stride: number, lane: number): Code {
    const steps = this.#copy * this.#count + lane
    return steps === 0 ? known.code() : [known.code(), I.localGet(stride), I.i32Const(steps), OP.i32Mul, OP.i32Add]
  }

  /** Elements next to each other, from the first copy's address on. */
  contiguous(dtype: Access['dtype'], address: Code, offset: number): Vector {
    const moved = offset + ((this.#copy * this.#count) << LOG2_BYTES[dtype])
    return loadedLanes(this, dtype, rawLoad(dtype, this.#count, address, moved))
  }

  /** The element of the iteration: it was read when the iteration began. */
  element(column: number): Vector {
    if (this.#turn.element !== undefined) return this.#turn.element
    if (this.w.target.shape.space !== 'rows') throw new Scalar('its elements do not lie next to each other')
    return this.contiguous(columnType(this.w, column), columnAddress(this.w, column), 0)
  }

  /** The value that all lanes and turns share; undefined when there is none. */
  steady(expr: Expr): Vector | undefined {
    if (!isSteady(expr, this.turning)) return undefined
    if (this.#accesses instanceof Nest && this.#accesses.differsInside(expr)) {
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

function noBigint(value: Value): Value {
  if (value.type.kind === 'bigint') throw new Scalar('it computes with bigints')
  return value
}
