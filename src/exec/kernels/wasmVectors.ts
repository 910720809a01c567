/**
 * Innermost counted loops in vectors: several iterations at a time, where lanes do not depend on each other.
 *
 * Lanes are independent when every access to an array that the loop writes is at the index itself: then two iterations
 * never meet in one element, and statements keep their order within an iteration. In exact precision a sum keeps its
 * order and is no vector; in fast precision it has four accumulators of a vector each.
 */

import { type Expr, expressionsOf, type Stmt, visitExpr } from '../../core/functionIr.ts'
import { placeText } from '../../core/span.ts'
import { LOG2_BYTES, loadOf } from './wasmCode.ts'
import { type Code, I, OP, SIMD } from './wasmEncoder.ts'
import { readsIn } from './wasmLocals.ts'
import { type Access, accessesOf, isSteady, type LoopIndex } from './wasmLoopAccess.ts'
import { asF64 } from './wasmTypes.ts'
import type { For, KernelWriter } from './wasmWriter.ts'

const UNROLLED = 4

export interface Vectors {
  readonly index: LoopIndex
  readonly limit: number
  readonly accesses: ReadonlyMap<object, Access>
  readonly changed: ReadonlySet<string>
}

/** Thrown inside this file: why a loop is no vector loop. */
class Scalar extends Error {}

/** Vector code for as many iterations as fill whole vectors; empty when the loop stays scalar. */
export function vectorLoop(w: KernelWriter, stmt: For, context: Vectors): Code {
  const name = `for ${stmt.counted?.local} at ${placeText(stmt.span)}`
  const declared = w.simd
  try {
    const writer = new VectorWriter(w, stmt, context)
    const code = writer.loop()
    w.simd = true
    w.loops.push(`${name}: ${writer.summary()}`)
    return code
  } catch (error) {
    if (!(error instanceof Scalar)) throw error
    w.simd = declared
    w.loops.push(`${name}: not vectorized, ${error.message}`)
    return []
  }
}

const DOUBLES = { '+': SIMD.f64Add, '-': SIMD.f64Sub, '*': SIMD.f64Mul, '/': SIMD.f64Div } as const
const SINGLES = { '+': SIMD.f32Add, '-': SIMD.f32Sub, '*': SIMD.f32Mul, '/': SIMD.f32Div } as const

class VectorWriter {
  readonly #w: KernelWriter
  readonly #stmt: For
  readonly #context: Vectors
  readonly #isSingle: boolean
  readonly #lanes: number
  /** Sums by their local: one vector for each unrolled copy. */
  readonly #sums = new Map<string, readonly number[]>()
  readonly #splats = new Map<string, number>()
  readonly #locals = new Map<string, number>()
  readonly #before: number[] = []
  #copy = 0

  constructor(w: KernelWriter, stmt: For, context: Vectors) {
    this.#w = w
    this.#stmt = stmt
    this.#context = context
    if (stmt.counted?.step !== 1) throw new Scalar('its step is not 1')
    this.#checkMemory()
    const dtypes = new Set([...context.accesses.values()].filter((access) => access.axis >= 0).map((access) => access.dtype))
    this.#isSingle = w.target.precision === 'fast' && [...dtypes].every((dtype) => dtype === 'f32')
    this.#lanes = this.#isSingle ? 4 : 2
  }

  summary(): string {
    const type = this.#isSingle ? 'f32' : 'f64'
    const sums = this.#sums.size === 0 ? '' : `, ${UNROLLED} accumulators`
    return `${this.#lanes} lanes of ${type}${sums}`
  }

  #checkMemory(): void {
    const { accesses } = this.#context
    const all = accessesOf(this.#stmt.body)
    if (all.some(({ node }) => !accesses.has(node))) throw new Scalar('an access is not at the index, or not checked before the loop')
    const written = new Set([...accesses.values()].flatMap(({ kind, memory }) => (kind === 'read' ? [] : [memory])))
    for (const { memory, array, axis, isLast, offset } of accesses.values()) {
      if (written.has(memory) && !(axis >= 0 && isLast && offset === 0)) throw new Scalar(`${array} is written, and not only at the index`)
      if (axis >= 0 && !isLast) throw new Scalar(`${array} is not contiguous along the loop`)
    }
  }

  loop(): Code {
    this.#findSums()
    const unrolled = this.#vectors(UNROLLED)
    const single = this.#vectors(1)
    return [...this.#before, ...unrolled, ...single, ...[...this.#sums].flatMap(([local, vectors]) => this.#combined(local, vectors))]
  }

  #findSums(): void {
    for (const stmt of this.#stmt.body) {
      if (stmt.kind !== 'Assign') continue
      if (this.#w.target.precision === 'exact') throw new Scalar('it adds in order')
      const [others] = [this.#stmt.body.filter((other) => other !== stmt)]
      const term = termOf(stmt)
      const used = (expr: Expr): boolean => {
        let found = false
        visitExpr(expr, (e) => {
          if (e.kind === 'Local' && e.name === stmt.local) found = true
        })
        return found
      }
      const elsewhere = others.some((other) => ('local' in other && other.local === stmt.local) || expressionsOf(other).some(used))
      if (term === undefined || used(term.value) || elsewhere || this.#w.locals.get(stmt.local)?.kind !== 'f64') {
        throw new Scalar(`${stmt.local} is no sum`)
      }
      const vectors = Array.from({ length: UNROLLED }, () => this.#w.declare('v128'))
      for (const slot of vectors) this.#before.push(...I.f64Const(0), ...I.simd(SIMD.f64Splat), ...I.localSet(slot))
      this.#sums.set(stmt.local, vectors)
    }
  }

  /** Runs while so many vectors are left. */
  #vectors(copies: number): Code {
    const { index, limit } = this.#context
    const step = copies * this.#lanes
    const enough = [...I.localGet(limit), ...I.localGet(index.slot), OP.i32Sub, ...I.i32Const(step), OP.i32GeS]
    const body: number[] = []
    for (this.#copy = 0; this.#copy < copies; this.#copy++) for (const stmt of this.#stmt.body) body.push(...this.#one(stmt))
    const next = [...I.localGet(index.slot), ...I.i32Const(step), OP.i32Add, ...I.localSet(index.slot)]
    return [...enough, ...I.if(), ...I.loop, ...body, ...next, ...enough, ...I.brIf(0), OP.end, OP.end]
  }

  #one(stmt: Stmt): Code {
    switch (stmt.kind) {
      case 'Let': {
        if (stmt.init === undefined || this.#w.isChanged(stmt.local)) throw new Scalar(`${stmt.local} changes`)
        if (this.#w.readsOf(stmt.local) !== readsIn(this.#stmt.body, stmt.local)) throw new Scalar(`${stmt.local} is used after it`)
        const value = this.#expr(stmt.init)
        let slot = this.#locals.get(stmt.local)
        if (slot === undefined) this.#locals.set(stmt.local, (slot = this.#w.declare('v128')))
        return [...value, ...I.localSet(slot)]
      }
      case 'Assign': {
        const term = termOf(stmt)
        const slot = this.#sums.get(stmt.local)?.[this.#copy]
        if (term === undefined || slot === undefined) throw new Scalar(`${stmt.local} is no sum`)
        return [...I.localGet(slot), ...this.#expr(term.value), ...this.#arithmetic(term.operator), ...I.localSet(slot)]
      }
      case 'Write':
        return this.#store(stmt, this.#expr(stmt.value))
      case 'Add': {
        const sum = [...this.#load(stmt), ...this.#expr(stmt.value), ...this.#arithmetic('+')]
        return this.#store(stmt, sum)
      }
      case 'If':
        throw new Scalar('it branches')
      case 'Accumulate':
        throw new Scalar('it adds to an accumulator')
      case 'Labeled':
      case 'For':
      case 'Break':
      case 'Continue':
      case 'Return':
      case 'Throw':
      case 'Evaluate':
        throw new Scalar('it leaves the loop, or may')
    }
  }

  #arithmetic(operator: keyof typeof DOUBLES): Code {
    return I.simd((this.#isSingle ? SINGLES : DOUBLES)[operator])
  }

  #access(node: object): Access {
    const access = this.#context.accesses.get(node)
    if (access === undefined) throw new Scalar('an access is not checked before the loop')
    return access
  }

  #load(node: object): Code {
    const access = this.#access(node)
    const offset = (this.#copy * this.#lanes) << LOG2_BYTES[access.dtype]
    const address = access.known.code()
    if (this.#isSingle || access.dtype === 'f64') return [...address, ...I.simdMemory(SIMD.load, offset)]
    // Not v128.load64_zero: V8 11 folds that load into the conversion after it, and so moves it past stores in between.
    if (access.dtype === 'f32') return [...address, ...I.simdMemory(SIMD.load64Splat, offset), ...I.simd(SIMD.promoteF32)]
    if (access.dtype === 'i32') return [...address, ...I.simdMemory(SIMD.load64Splat, offset), ...I.simd(SIMD.f64ConvertI32S)]
    throw new Scalar(`${access.array} has elements of ${access.dtype}`)
  }

  #store(node: object, value: Code): Code {
    const access = this.#access(node)
    const offset = (this.#copy * this.#lanes) << LOG2_BYTES[access.dtype]
    const address = access.known.code()
    if (this.#isSingle || access.dtype === 'f64') return [...address, ...value, ...I.simdMemory(SIMD.store, offset)]
    if (access.dtype !== 'f32') throw new Scalar(`${access.array} has elements of ${access.dtype}`)
    return [...address, ...value, ...I.simd(SIMD.demoteF64), ...I.simdMemory(SIMD.store64Lane, offset), 0]
  }

  #expr(expr: Expr): Code {
    if (isSteady(expr, this.#context.changed)) return this.#splat(expr)
    switch (expr.kind) {
      case 'Local': {
        const slot = this.#locals.get(expr.name)
        if (slot === undefined) throw new Scalar(`it uses ${expr.name}, which differs between lanes`)
        return I.localGet(slot)
      }
      case 'Read':
        return this.#access(expr).axis < 0 ? this.#splat(expr) : this.#load(expr)
      case 'Unary':
        if (expr.operator === '+') return this.#expr(expr.operand)
        if (expr.operator === '-') return [...this.#expr(expr.operand), ...I.simd(this.#isSingle ? SIMD.f32Neg : SIMD.f64Neg)]
        throw new Scalar(`it uses ${expr.operator}`)
      case 'Binary': {
        const { operator } = expr
        if (operator === '+' || operator === '-' || operator === '*' || operator === '/') {
          return [...this.#expr(expr.left), ...this.#expr(expr.right), ...this.#arithmetic(operator)]
        }
        throw new Scalar(`it uses ${operator}`)
      }
      case 'Call':
        return this.#call(expr)
      default:
        throw new Scalar('it is more than arithmetic')
    }
  }

  #call({ callee, args }: Extract<Expr, { kind: 'Call' }>): Code {
    const [x, y] = args
    const single = this.#isSingle
    if (x !== undefined && args.length === 1) {
      if (callee === 'Math.sqrt') return [...this.#expr(x), ...I.simd(single ? SIMD.f32Sqrt : SIMD.f64Sqrt)]
      if (callee === 'Math.abs') return [...this.#expr(x), ...I.simd(single ? SIMD.f32Abs : SIMD.f64Abs)]
    }
    if (x !== undefined && y !== undefined && args.length === 2) {
      const both = [...this.#expr(x), ...this.#expr(y)]
      if (callee === 'Math.min') return [...both, ...I.simd(single ? SIMD.f32Min : SIMD.f64Min)]
      if (callee === 'Math.max') return [...both, ...I.simd(single ? SIMD.f32Max : SIMD.f64Max)]
    }
    throw new Scalar(`it calls ${callee}`)
  }

  /** A value that all lanes share: computed once before the loop. */
  #splat(expr: Expr): Code {
    const key = JSON.stringify(expr, (name, value) =>
      name === 'span' ? undefined : typeof value === 'number' ? `${Object.is(value, -0) ? '-0' : value}` : value,
    )
    let slot = this.#splats.get(key)
    if (slot === undefined) {
      slot = this.#w.declare('v128')
      this.#splats.set(key, slot)
      const scalar = this.#scalar(expr)
      const splat = this.#isSingle ? [OP.f32DemoteF64, ...I.simd(SIMD.f32Splat)] : I.simd(SIMD.f64Splat)
      this.#before.push(...scalar, ...splat, ...I.localSet(slot))
    }
    return I.localGet(slot)
  }

  #scalar(expr: Expr): Code {
    if (expr.kind !== 'Read') return asF64(this.#w.expr(expr))
    const access = this.#access(expr)
    return asF64(loadOf(access.dtype, access.known.code()))
  }

  /** local = local + all lanes of all its vectors. */
  #combined(local: string, vectors: readonly number[]): Code {
    const [a, b, c, d] = vectors.map((slot) => I.localGet(slot)) as [Code, Code, Code, Code] // UNROLLED vectors
    const add = this.#arithmetic('+')
    const sum = this.#w.declare('v128')
    const code = [...a, ...b, ...add, ...c, ...d, ...add, ...add, ...I.localSet(sum)]
    const lane = (i: number): Code =>
      this.#isSingle
        ? [...I.localGet(sum), ...I.simdLane(SIMD.f32ExtractLane, i), OP.f64PromoteF32]
        : [...I.localGet(sum), ...I.simdLane(SIMD.f64ExtractLane, i)]
    const total = Array.from({ length: this.#lanes }, (_, i) => lane(i)).flatMap((code, i) => (i === 0 ? code : [...code, OP.f64Add]))
    return [...code, ...I.localGet(this.#w.slotOf(local)), ...total, OP.f64Add, ...I.localSet(this.#w.slotOf(local))]
  }
}

/** `s = s + e`, `s = e + s`, `s = s - e`. */
function termOf(stmt: Extract<Stmt, { kind: 'Assign' }>): { readonly operator: '+' | '-'; readonly value: Expr } | undefined {
  const { value, local } = stmt
  if (value.kind !== 'Binary' || (value.operator !== '+' && value.operator !== '-')) return undefined
  if (value.left.kind === 'Local' && value.left.name === local) return { operator: value.operator, value: value.right }
  if (value.operator === '+' && value.right.kind === 'Local' && value.right.name === local) return { operator: '+', value: value.left }
  return undefined
}
