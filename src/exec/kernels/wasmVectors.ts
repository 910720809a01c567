/**
 * Innermost loops in vectors: several turns at a time, where lanes do not depend on each other (`wasmVectorMemory.ts`).
 *
 *     while (four vectors are left) body × 4;  while (one is left) body;  then turn by turn
 *
 * Branches become choices: both sides are computed, and a mask says which lanes store. In exact precision a sum keeps its
 * order and is no vector; in fast precision it has four accumulators of a vector each. Iterations of the kernel are cut
 * where a block or a slice ends, so that in fast precision, where lanes round as f32, the rest of a run is computed by the
 * same vectors with one lane of use.
 */
import type { Expr, Stmt } from '../../core/functionIr.ts'
import { LOG2_BYTES, loadOf } from './wasmCode.ts'
import { type Code, I, OP, SIMD } from './wasmEncoder.ts'
import { columnAddress, columnType } from './wasmIteration.ts'
import {
  asFloat,
  type Constants,
  chosen,
  LANES,
  loadedLanes,
  type Mode,
  masked,
  rawLoad,
  rawStore,
  Scalar,
  storedLanes,
  type Vector,
} from './wasmLanes.ts'
import { readsIn } from './wasmLocals.ts'
import { type Access, isSteady, type Turning } from './wasmLoopAccess.ts'
import type { InnerLoop } from './wasmLoops.ts'
import { asBool, asF64, BOOL, F64, type Value } from './wasmTypes.ts'
import { type VectorScope, vectorCondition, vectorExpr } from './wasmVectorExpressions.ts'
import { checkLanes } from './wasmVectorMemory.ts'
import { ADD, combinedSum, sizeOf, sumsOf, termOf, usesElement } from './wasmVectorSums.ts'
import type { KernelWriter } from './wasmWriter.ts'

const UNROLLED = 4
/** A body of more statements and operations fills the registers alone. */
const MOST_UNROLLED = 40

export interface VectorCode {
  /** For as many turns as fill whole vectors; empty when the loop stays scalar. */
  readonly code: Code
  /** What became of the loop. */
  readonly summary: string
}

export function vectorLoop(
  w: KernelWriter,
  loop: InnerLoop,
  accesses: ReadonlyMap<object, Access>,
  turning: Turning,
  areChecked: boolean,
): VectorCode {
  const reasons: string[] = []
  for (const mode of modesOf(w, loop, accesses, areChecked)) {
    try {
      const writer = new VectorWriter(w, { loop, accesses, turning, mode })
      const code = writer.loop()
      w.simd = true
      return { code, summary: writer.summary() }
    } catch (error) {
      if (!(error instanceof Scalar)) throw error
      reasons.push(error.message)
    }
  }
  return { code: [], summary: `not vectorized, ${reasons[reasons.length - 1]}` }
}

/** The modes worth trying, best first. */
function modesOf(w: KernelWriter, { isRun }: InnerLoop, accesses: ReadonlyMap<object, Access>, areChecked: boolean): readonly Mode[] {
  const dtypes = new Set([...accesses.values()].filter(({ axis }) => axis >= 0).map(({ dtype }) => dtype))
  const isSingle = w.target.precision === 'fast' && dtypes.size > 0 && [...dtypes].every((dtype) => dtype === 'f32')
  // Where a check may send part of a run through other code, the slices of a run would show in its bits.
  if (isSingle) return isRun && areChecked ? ['f64'] : ['f32', 'f64']
  return dtypes.has('f64') || dtypes.has('f32') ? ['f64'] : ['i32', 'f64']
}

interface Vectors {
  readonly loop: InnerLoop
  readonly accesses: ReadonlyMap<object, Access>
  readonly turning: Turning
  readonly mode: Mode
}

class VectorWriter implements Constants, VectorScope {
  readonly w: KernelWriter
  readonly mode: Mode
  readonly turning: Turning
  readonly #loop: InnerLoop
  readonly #accesses: ReadonlyMap<object, Access>
  /** Sums by their local: one vector for each unrolled copy. */
  readonly #sums = new Map<string, readonly number[]>()
  readonly #splats = new Map<string, number>()
  readonly #before: number[] = []
  /** Locals of the body, as they are where code is being written. */
  #locals = new Map<string, Vector>()
  /** Lanes that run the statement being written; all of them when undefined. */
  #mask: Vector | undefined
  /** Lanes whose turn has not ended. */
  #alive: Vector | undefined
  #element: Vector | undefined
  readonly #steady = new Map<Expr, Value>()
  #copy = 0
  /** Lanes in use. */
  #count: number
  #branches = false
  #gathers = false

  constructor(w: KernelWriter, { loop, accesses, turning, mode }: Vectors) {
    this.w = w
    this.mode = mode
    this.turning = turning
    this.#loop = loop
    this.#accesses = accesses
    this.#count = LANES[mode]
    if (loop.step !== 1) throw new Scalar('its step is not 1')
    checkLanes(w, loop, accesses)
  }

  summary(): string {
    const sums = this.#sums.size === 0 ? '' : `, ${UNROLLED} accumulators`
    const branches = this.#branches ? ', branches as choices' : ''
    return `${LANES[this.mode]} lanes of ${this.mode}${sums}${branches}${this.#gathers ? ', strided loads' : ''}`
  }

  loop(): Code {
    this.#findSums()
    const copies = this.#sums.size > 0 || sizeOf(this.#loop.body) <= MOST_UNROLLED ? UNROLLED : 1
    const unrolled = copies === 1 ? [] : this.#vectors(copies)
    const single = this.#vectors(1)
    const rest = this.#loop.isRun && this.mode === 'f32' ? this.#lastTurns() : []
    const sums = [...this.#sums].flatMap(([local, vectors]) => combinedSum(this.w, this.mode, local, vectors))
    return [...this.#before, ...unrolled, ...single, ...rest, ...sums]
  }

  #findSums(): void {
    for (const local of sumsOf(this.w, this.#loop.body, this.mode)) {
      const vectors = Array.from({ length: UNROLLED }, () => this.w.declare('v128'))
      for (const slot of vectors) this.#before.push(...I.f64Const(0), ...I.simd(SIMD.f64Splat), ...I.localSet(slot))
      this.#sums.set(local, vectors)
    }
  }

  /** Runs while so many vectors are left. */
  #vectors(copies: number): Code {
    const body: number[] = []
    for (this.#copy = 0; this.#copy < copies; this.#copy++) body.push(...this.#turn())
    return this.#while(copies * this.#count, body)
  }

  /** The turns that are left, one lane at a time. */
  #lastTurns(): Code {
    this.#count = 1
    this.#copy = 0
    const code = this.#while(1, this.#turn())
    this.#count = LANES[this.mode]
    return code
  }

  #while(step: number, body: Code): Code {
    const { index, limit } = this.#loop
    const enough = [...I.localGet(limit), ...I.localGet(index.slot), OP.i32Sub, ...I.i32Const(step), OP.i32GeS]
    const next = [...I.localGet(index.slot), ...I.i32Const(step), OP.i32Add, ...I.localSet(index.slot)]
    return [...enough, ...I.if(), ...I.loop, ...body, ...next, ...enough, ...I.brIf(0), OP.end, OP.end]
  }

  #turn(): Code {
    this.#locals = new Map()
    this.#mask = undefined
    this.#alive = undefined
    this.#element = undefined
    if (this.w.target.shape.element.kind !== 'dense' || !this.#loop.isRun || !usesElement(this.#loop.body))
      return this.#block(this.#loop.body)
    // The body may write it before it reads it.
    const [code, element] = this.#kept(this.contiguous(columnType(this.w, 0), columnAddress(this.w, 0), 0))
    this.#element = element
    return [...code, ...this.#block(this.#loop.body)]
  }

  // ---------------------------------------------------------------- statements

  #block(stmts: readonly Stmt[]): Code {
    return stmts.flatMap((stmt) => this.#one(stmt))
  }

  #one(stmt: Stmt): Code {
    switch (stmt.kind) {
      case 'Let':
        if (this.w.readsOf(stmt.local) !== readsIn(this.#loop.body, stmt.local)) throw new Scalar(`${stmt.local} is used after it`)
        if (stmt.init === undefined) throw new Scalar(`${stmt.local} has no first value`)
        return this.#set(stmt.local, this.expr(stmt.init))
      case 'Assign': {
        const sum = this.#sums.get(stmt.local)?.[this.#copy]
        if (sum === undefined) {
          if (!this.#locals.has(stmt.local)) throw new Scalar(`${stmt.local} changes`)
          return this.#set(stmt.local, this.expr(stmt.value))
        }
        const term = termOf(stmt)
        if (term === undefined || this.#alive !== undefined) throw new Scalar(`${stmt.local} is no sum`)
        const code = [...I.localGet(sum), ...asFloat(this, this.expr(term.value))]
        return [...code, ...I.simd(ADD[term.operator][this.mode === 'f32' ? 1 : 0]), ...I.localSet(sum)]
      }
      case 'Write':
        return this.#store(stmt, this.expr(stmt.value))
      case 'Add': {
        const sum = this.#sum(this.#load(stmt), this.expr(stmt.value))
        return this.#store(stmt, sum)
      }
      case 'If':
        return this.#if(stmt)
      case 'Continue':
        if (stmt.label !== undefined) throw new Scalar('it leaves the loop, or may')
        return this.#end()
      case 'Return':
        if (!this.#loop.isRun) throw new Scalar('it leaves the loop, or may')
        return [...(stmt.value === undefined ? [] : this.#returned(stmt.value)), ...this.#end()]
      case 'Evaluate':
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

  #sum(a: Vector, b: Vector): Vector {
    return {
      kind: this.mode === 'f32' ? 'f32' : 'f64',
      code: [...asFloat(this, a), ...asFloat(this, b), ...I.simd(ADD['+'][this.mode === 'f32' ? 1 : 0])],
    }
  }

  /** The local holds the value in the lanes that run. */
  #set(name: string, value: Vector): Code {
    const before = this.#locals.get(name)
    // Lanes whose turn has ended read nothing any more.
    const chosen = this.#mask === undefined || before === undefined ? value : this.choice(this.#mask, value, before)
    const [code, kept] = this.#kept(chosen)
    this.#locals.set(name, kept)
    return code
  }

  /** The vector in a local. */
  #kept(vector: Vector): readonly [Code, Vector] {
    if (vector.kind === 'steady') return [[], vector]
    const slot = this.w.declare('v128')
    return [[...vector.code, ...I.localSet(slot)], { ...vector, code: I.localGet(slot) }]
  }

  /** Both sides, one after the other: each changes its own lanes. */
  #if({ test, then: yes, else: no }: Extract<Stmt, { kind: 'If' }>): Code {
    this.#branches = true
    const outer = this.#mask
    const [code, mask] = this.#kept({ kind: 'mask', bits: this.maskBits, code: masked(this, vectorCondition(this, test), this.maskBits) })
    const side = (own: Vector, stmts: readonly Stmt[]): Code => {
      if (stmts.length === 0) return []
      const [set, lanes] = this.#kept(outer === undefined ? own : this.both(outer, own))
      this.#mask = lanes
      return [...set, ...this.#block(stmts)]
    }
    const sides = [...side(mask, yes), ...side(this.negated(mask), no)]
    this.#mask = outer
    return [...code, ...sides]
  }

  /** The lanes that run here are done. */
  #end(): Code {
    const done = this.#mask
    if (done === undefined) {
      // Every lane: what follows is never reached.
      this.#alive = { kind: 'steady', value: { type: BOOL, code: I.i32Const(0) } }
      return []
    }
    const [code, alive] = this.#kept(this.#alive === undefined ? this.negated(done) : this.both(this.#alive, this.negated(done)))
    this.#alive = alive
    return code
  }

  #active(): Vector | undefined {
    if (this.#mask === undefined || this.#alive === undefined) return this.#mask ?? this.#alive
    return this.both(this.#mask, this.#alive)
  }

  #store(node: object, value: Vector): Code {
    const { dtype, known } = this.#access(node)
    return this.#storeAt(dtype, known.code(), known.offset, value)
  }

  #storeAt(dtype: Access['dtype'], address: Code, start: number, value: Vector): Code {
    const offset = start + ((this.#copy * this.#count) << LOG2_BYTES[dtype])
    const old = rawLoad(dtype, this.#count, address, offset)
    return rawStore(dtype, this.#count, address, storedLanes(this, dtype, value, old, this.#active()), offset)
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
    return { kind: 'mask', bits, code: [...masked(this, a, bits), ...masked(this, b, bits), ...I.simd(SIMD.and)] }
  }

  negated(mask: Vector): Vector {
    const bits = this.maskBits
    return { kind: 'mask', bits, code: [...masked(this, mask, bits), ...I.simd(SIMD.not)] }
  }

  choice(mask: Vector, yes: Vector, no: Vector): Vector {
    return chosen(this, mask, yes, no)
  }

  local(name: string): Vector {
    const vector = this.#locals.get(name)
    if (vector === undefined) throw new Scalar(`it uses ${name}, which differs between lanes`)
    return vector
  }

  /** The index of each lane. */
  index(): Vector {
    const { slot, seen } = this.turning.index
    if (seen.kind !== 'i32') throw new Scalar('its index is no integer')
    const first = [...I.localGet(slot), ...I.simd(SIMD.i32Splat)]
    const code = [...first, ...this.#steps(this.#copy * this.#count), ...I.simd(SIMD.i32Add)]
    return { kind: 'i32', low: seen.low, high: seen.high, code }
  }

  /** first, first + 1, first + 2, first + 3. */
  #steps(first: number): Code {
    let slot = this.#splats.get(`steps ${first}`)
    if (slot === undefined) {
      slot = this.w.declare('v128')
      this.#splats.set(`steps ${first}`, slot)
      this.#before.push(...I.lanes([first, first + 1, first + 2, first + 3]), ...I.localSet(slot))
    }
    return I.localGet(slot)
  }

  isIndex(expr: Expr): boolean {
    return this.turning.index.is(expr)
  }

  read(node: object): Vector {
    const access = this.#access(node)
    if (access.axis >= 0) return this.#load(node)
    return { kind: 'steady', value: loadOf(access.dtype, access.known.code(), access.known.offset) }
  }

  #access(node: object): Access {
    const access = this.#accesses.get(node)
    if (access === undefined) throw new Scalar('an access is not checked before the loop')
    return access
  }

  #load(node: object): Vector {
    const { dtype, known, isLast, stride } = this.#access(node)
    const count = this.#count
    if (isLast) return this.contiguous(dtype, known.code(), known.offset)
    if (LOG2_BYTES[dtype] < 2 || stride === undefined) throw new Scalar('small elements do not lie next to each other')
    this.#gathers = true
    // Lane by lane: one address, and the stride as often as the lane says.
    const isWide = LOG2_BYTES[dtype] === 3
    const at = (lane: number): Code => [
      ...known.code(),
      ...I.localGet(stride),
      ...I.i32Const(this.#copy * count + lane),
      OP.i32Mul,
      OP.i32Add,
    ]
    let raw: Code = [...at(0), ...I.simdMemory(isWide ? SIMD.load64Splat : SIMD.load32Splat, known.offset)]
    for (let lane = 1; lane < count; lane++) {
      const kept = this.w.declare('v128')
      const load = I.simdMemoryLane(isWide ? SIMD.load64Lane : SIMD.load32Lane, lane, known.offset)
      raw = [...raw, ...I.localSet(kept), ...at(lane), ...I.localGet(kept), ...load]
    }
    return loadedLanes(this, dtype, raw)
  }

  /** Elements next to each other, from the first copy's address on. */
  contiguous(dtype: Access['dtype'], address: Code, offset: number): Vector {
    const moved = offset + ((this.#copy * this.#count) << LOG2_BYTES[dtype])
    return loadedLanes(this, dtype, rawLoad(dtype, this.#count, address, moved))
  }

  /** The element of the iteration: it was read when the iteration began. */
  element(column: number): Vector {
    if (this.#element !== undefined) return this.#element
    if (this.w.target.shape.space !== 'rows') throw new Scalar('its elements do not lie next to each other')
    return this.contiguous(columnType(this.w, column), columnAddress(this.w, column), 0)
  }

  /** The value that all lanes and turns share; undefined when there is none. */
  steady(expr: Expr): Vector | undefined {
    if (!isSteady(expr, this.turning)) return undefined
    let value = this.#steady.get(expr)
    if (value === undefined) this.#steady.set(expr, (value = this.w.expr(expr)))
    return { kind: 'steady', value }
  }

  // ---------------------------------------------------------------- constants

  splat(kind: 'f64' | 'f32' | 'i32' | 'mask', value: Value): Code {
    const key = `${kind} ${value.code.join()}`
    let slot = this.#splats.get(key)
    if (slot === undefined) {
      slot = this.w.declare('v128')
      this.#splats.set(key, slot)
      this.#before.push(...this.#lane(kind, value), ...I.localSet(slot))
    }
    return I.localGet(slot)
  }

  #lane(kind: 'f64' | 'f32' | 'i32' | 'mask', value: Value): Code {
    switch (kind) {
      case 'f64':
        return [...asF64(value), ...I.simd(SIMD.f64Splat)]
      case 'f32':
        return [...asF64(value), OP.f32DemoteF64, ...I.simd(SIMD.f32Splat)]
      case 'i32':
        return [...this.w.int32(value), ...I.simd(SIMD.i32Splat)]
      case 'mask':
        return [...I.i32Const(0), ...asBool(value), OP.i32Sub, ...I.simd(SIMD.i32Splat)]
    }
  }

  number(kind: 'f64' | 'f32' | 'i32', value: number): Code {
    const isInteger = kind === 'i32' || (value === (value | 0) && !Object.is(value, -0))
    if (!isInteger) return this.splat(kind, { type: F64, code: I.f64Const(value) })
    return this.splat(kind, { type: { kind: 'i32', low: value, high: value }, code: I.i32Const(value), literal: value })
  }
}
