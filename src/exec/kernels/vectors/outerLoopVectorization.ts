/**
 * Outer-loop vectorization.
 *
 * Iterations become lanes although the body has loops: each lane is an iteration, and inner loops run for all
 * lanes at once. An iteration adds in its own order, so that sums in exact precision are vectorized as well.
 *
 *     for p: for c: for a: s += (x[p][a] - m[c][a]) ** 2        s, x: two lanes, p and p + 1;  m: the same in both
 *
 * Legal where iterations that run side by side do not conflict, and none can fail:
 *
 * - inner loops are counted, with the same range in all lanes;
 * - every subscript is known to be in bounds, or is the key of the run plus a number, whose bounds are checked before it;
 * - of an array that the body writes, an iteration accesses only elements at its own key on one axis.
 */
import { type Expr, visitExpr } from '../../../core/ir/functionIr.ts'
import { changedIn } from '../../../core/ir/irFacts.ts'
import { type Code, type GrowingCode, I, OP } from '../../kir/instructions.ts'
import type { InnerLoop } from '../loops/innerLoop.ts'
import { LOG2_BYTES, shifted, sumOf } from '../loops/wasmCode.ts'
import {
  type Access,
  accessOf,
  deepAccesses,
  elementMemory,
  indexChecks,
  isSteady,
  memoryOf,
  offsetFrom,
  type Turning,
} from '../loops/wasmLoopAccess.ts'
import type { KernelWriter } from '../loops/wasmWriter.ts'
import { Scalar, type Vector } from './wasmLanes.ts'

/** The most elements that are kept in vectors during an inner loop; more would be spilled to the stack. */
const MOST_KEPT = 16

/** An inner loop whose body is being written. */
interface Level {
  /** Locals that vary between its iterations. */
  readonly changed: ReadonlySet<string>
  /** Code before it, which loads its invariant elements. */
  readonly before: GrowingCode
  readonly kept: Map<string, Vector>
}

export class Nest {
  readonly turning: Turning
  /** Conditions under which the key of the run is in bounds. */
  readonly checks: Code[] = []
  readonly #w: KernelWriter
  readonly #loop: InnerLoop
  /** Locals that may vary between lanes; fewer than the body changes. */
  readonly #differs: Set<string>
  readonly #changed: ReadonlySet<string>
  readonly #written: ReadonlySet<string>
  readonly #made: Access[] = []
  readonly #levels: Level[] = []
  readonly #strides = new Map<string, number>()
  readonly #before: GrowingCode
  #kept = 0
  #depth = 0

  /** `before` collects code that runs before all vectors. */
  constructor(w: KernelWriter, loop: InnerLoop, before: GrowingCode) {
    this.#w = w
    this.#loop = loop
    this.#before = before
    this.#changed = changedIn(loop.body)
    this.#differs = new Set(this.#changed)
    this.turning = { index: loop.index, isRun: true, changed: this.#differs }
    this.#written = new Set(deepAccesses(loop.body).flatMap((found) => (found.kind === 'read' ? [] : [memoryOf(w, found)])))
  }

  /** Whether the value is the same in all lanes. */
  isShared(expr: Expr): boolean {
    return isSteady(expr, this.turning)
  }

  /** Whether a value that lanes share may vary between iterations of inner loops. */
  differsInside(expr: Expr): boolean {
    return !isSteady(expr, { ...this.turning, changed: this.#changed })
  }

  /** Declares that all lanes share a local from here on, such as the index of an inner loop. */
  share(local: string): void {
    this.#differs.delete(local)
  }

  unshare(local: string): void {
    this.#differs.add(local)
  }

  isInside(): boolean {
    return this.#depth > 0
  }

  /** Runs `write`, which writes an inner loop. */
  deeper<T>(write: () => T): T {
    this.#depth++
    const result = write()
    this.#depth--
    return result
  }

  /** Runs `write`, which writes the body of an inner loop; returns the code before the loop as well. */
  inside(changed: ReadonlySet<string>, write: () => Code): { readonly before: Code; readonly body: Code } {
    const level: Level = { changed, before: [], kept: new Map() }
    this.#levels.push(level)
    const body = write()
    this.#levels.pop()
    return { before: level.before, body }
  }

  /** Returns an element's vector, hoisted out of all inner loops that do not change its subscripts. `load` makes it. */
  kept({ memory, subscripts }: Access, key: string, load: () => Vector): Vector {
    let level: Level | undefined
    for (const outer of [...this.#levels].reverse()) {
      if (subscripts.some((subscript) => this.#mentions(subscript, outer.changed))) break
      level = outer
    }
    if (level === undefined || this.#written.has(memory)) return load()
    const before = level.kept.get(key)
    if (before !== undefined) return before
    if (this.#kept === MOST_KEPT) return load()
    const vector = load()
    if (vector.kind === 'steady') return vector
    const slot = this.#w.declare('v128')
    level.before.push(vector.code, I.localSet(slot))
    const kept = { ...vector, code: I.localGet(slot) }
    level.kept.set(key, kept)
    this.#kept++
    return kept
  }

  #mentions(subscript: Expr, locals: ReadonlySet<string>): boolean {
    let found = false
    visitExpr(subscript, (e) => {
      if (e.kind === 'Local' && locals.has(e.name) && !this.#w.literals.has(e.name)) found = true
    })
    return found
  }

  /** Resolves an access of the iteration being written: the address of its first lane. */
  access(node: object): Access {
    const found = accessOf(node)
    const { kind, array, subscripts } = found
    const w = this.#w
    const { number, shape } = w.array(array)
    const isLane = kind === 'add' && shape.adds === 'lane'
    if (kind === 'add' && !isLane && shape.adds !== 'direct') throw new Scalar('an update buffer has a function of its own')
    const dtype = isLane ? w.target.laneTypes[number] : shape.dtype
    if (dtype === undefined || dtype === 'i64') throw new Scalar('its elements are no plain numbers')
    const shift = LOG2_BYTES[dtype]
    const rank = subscripts.length
    let axis = -1
    let offset = 0
    let bytes = 0
    const outer: Code[] = []
    let last: Code = []
    for (const [a, subscript] of subscripts.entries()) {
      const extent = shape.extents[a] ?? 0
      const distance = offsetFrom(subscript, this.#loop.index)
      let code: Code
      if (distance !== undefined) {
        if (axis >= 0) throw new Scalar(`${array} is read along a diagonal`)
        axis = a
        offset = distance
        const checks = indexChecks(this.#loop.index, this.#loop, distance, extent, w.global(`A${number}n${a}`))
        if (checks === undefined) throw new Scalar('32 bits do not tell whether an access is inside')
        this.checks.push(...checks)
        code = [I.localGet(this.#loop.index.slot), ...(distance === 0 ? [] : [I.i32Const(distance), OP.i32Add])]
      } else {
        if (!isSteady(subscript, this.turning)) throw new Scalar(`${array} is read at places that differ between lanes`)
        const { type, code: at, literal } = w.expr(subscript)
        if (type.kind !== 'i32' || type.low < 0 || type.high >= extent) throw new Scalar(`${array} may end before a loop inside`)
        if (a === rank - 1 && literal !== undefined) {
          bytes = literal << shift
          continue
        }
        code = literal === 0 ? [] : at
      }
      if (a === rank - 1) last = [code, shifted(shift), OP.i32Add]
      else if (code.length > 0) outer.push(w.scaled(number, a, code, rank))
    }
    const row = [w.base(`${isLane ? 'D' : 'A'}${number}`), ...(outer.length === 0 ? [] : [sumOf(outer), shifted(shift), OP.i32Add])]
    const code = [row, last]
    const isLast = axis === rank - 1
    const stride = axis < 0 || isLast ? undefined : this.#stride(number, axis, rank, shift)
    const memory = memoryOf(w, found)
    const known = { code: () => code, offset: bytes }
    const access: Access = { node, kind, array, dtype, memory, axis, isLast, offset, row: '', known, at: () => known, stride, subscripts }
    this.#made.push(access)
    return access
  }

  /** The local with the bytes between the elements of adjacent lanes. */
  #stride(number: number, axis: number, rank: number, shift: number): number {
    const key = `${number} ${axis} ${shift}`
    let slot = this.#strides.get(key)
    if (slot === undefined) {
      slot = this.#w.declare('i32')
      this.#strides.set(key, slot)
      this.#before.push(...this.#w.scaled(number, axis, I.i32Const(1), rank), shifted(shift), I.localSet(slot))
    }
    return slot
  }

  /** Throws `Scalar` where lanes could conflict. `returns`: whether an iteration may replace its element. */
  checkLanes(returns: boolean): void {
    const written = new Map(this.#made.flatMap((access) => (access.kind === 'read' ? [] : [[access.memory, access] as const])))
    const element = returns ? elementMemory(this.#w) : undefined
    for (const { memory, array, axis, isLast, offset } of this.#made) {
      if (memory === element && !(isLast && offset === 0)) throw new Scalar(`${array} is written, and not only at the key`)
      const write = written.get(memory)
      if (write === undefined) continue
      const isOwn = axis >= 0 && axis === write.axis && offset === write.offset && array === write.array
      if (!isOwn) throw new Scalar(`${array} is written, and not only at the key`)
    }
  }
}
