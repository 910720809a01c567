/**
 * Inner loops of a body whose iterations are lanes. All vectors of iterations run a loop together, so that one
 * vector's additions do not wait for another's. Short loops are fully unrolled, so that their subscripts are constants.
 */
import type { CountedLoop, Stmt } from '../../../core/ir/functionIr.ts'
import { changedIn, hasLoop } from '../../../core/ir/irFacts.ts'
import { type Code, type GrowingCode, I, OP } from '../../kir/instructions.ts'
import { isInteger } from '../expressions/types.ts'
import { type CountedRange, countedRange, fewValues } from '../loops/wasmCounted.ts'
import { readsIn } from '../loops/wasmLocals.ts'
import type { For, KernelWriter } from '../loops/wasmWriter.ts'
import type { Nest } from './outerLoopVectorization.ts'
import type { Turn } from './vectorLoop.ts'
import { asFloat, asIntegers, masked, Scalar, type Vector } from './wasmLanes.ts'
import type { VectorScope } from './wasmVectorExpressions.ts'
import { sizeOf } from './wasmVectorSums.ts'

/** The interface of the outer loop to inner loops. */
export interface NestScope {
  readonly lanes: VectorScope
  readonly w: KernelWriter
  readonly nest: Nest
  /** The state of each vector of iterations. */
  readonly turns: readonly Turn[]
  /** Writes a statement for the vector with this number. */
  one(turn: number, stmt: Stmt): Code
}

/** The most iterations of an inner loop that is unrolled, and the most statements and operations of the result. */
const MOST_WRITTEN_OUT = 16
const LARGEST_WRITTEN_OUT = 300

/** Writes statements for all vectors. */
export function nestedBlock(s: NestScope, stmts: readonly Stmt[]): Code {
  return stmts.map((stmt) => {
    if (stmt.kind === 'For') return nestedLoop(s, stmt)
    return [sharedLocal(s, stmt), ...s.turns.map((_, turn) => s.one(turn, stmt))]
  })
}

/** Keeps an integer that all lanes share in a scalar local as well, so that it may be a subscript. */
function sharedLocal({ w, nest }: NestScope, stmt: Stmt): Code {
  if (stmt.kind !== 'Let' || stmt.init === undefined || w.isChanged(stmt.local) || !nest.isShared(stmt.init)) return []
  const value = w.expr(stmt.init)
  if (!isInteger(value.type)) return []
  const code = w.assign(stmt.local, value, stmt.span)
  nest.share(stmt.local)
  return code
}

function nestedLoop(s: NestScope, stmt: For): Code {
  const { w, nest } = s
  const { counted, body, init, update, doWhile } = stmt
  if (counted === undefined || doWhile || init.length !== 1 || update.length !== 1) throw new Scalar('a loop inside is not counted')
  const { local, from, to } = counted
  if (!nest.isShared(from) || !nest.isShared(to)) throw new Scalar('lanes differ in the trip count of a loop inside')
  if (w.readsOf(local) !== readsIn([stmt], local)) throw new Scalar(`${local} is used after its loop`)
  const range = countedRange(w, counted)
  if (range === undefined) throw new Scalar('the index of a loop inside is no integer')
  nest.share(local)
  const values = hasLoop(body) ? undefined : fewValues(w, counted, MOST_WRITTEN_OUT)
  const isShort = values !== undefined && values.length * s.turns.length * sizeOf(body) <= LARGEST_WRITTEN_OUT
  const code = nest.deeper(() => (isShort ? writtenOut(s, local, values, body) : turned(s, stmt, counted, range)))
  for (const name of changedIn([stmt])) {
    nest.unshare(name)
    if (changedIn(init).has(name) || declaredIn(body).has(name)) for (const { locals } of s.turns) locals.delete(name)
  }
  return code
}

/** Writes the loop iteration by iteration. */
function turned(s: NestScope, loop: For, counted: CountedLoop, { seen, held }: CountedRange): Code {
  const { w, nest } = s
  const { local, from, to, step } = counted
  const slot = w.slotFor(local, held, loop.span)
  if (w.locals.get(local)?.kind !== 'i32') throw new Scalar('the index of a loop inside is no integer')
  const limit = w.declare('i32')
  const start = [...w.expr(from).code, I.localSet(slot), ...w.expr(to).code, I.localSet(limit)]
  const pins = pinned(s, changedIn(loop.body))
  const outer = w.locals.get(local) ?? held
  w.locals.set(local, seen)
  const { before, body } = nest.inside(changedIn([loop]), () => [nestedBlock(s, loop.body), ...pins.after()])
  w.locals.set(local, outer)
  const test = [I.localGet(slot), I.localGet(limit), step > 0 ? OP.i32LtS : OP.i32GtS]
  const next = [I.localGet(slot), I.i32Const(step), OP.i32Add, I.localSet(slot)]
  const turns = [I.loop, body, next, test, I.brIf(0), OP.end]
  return [start, pins.before, before, test, I.if(), turns, OP.end]
}

function writtenOut(s: NestScope, local: string, values: readonly number[], body: readonly Stmt[]): Code {
  const { w } = s
  const outer = w.literals
  const code = values.map((value) => {
    w.literals = new Map([...outer, [local, value]])
    return nestedBlock(s, body)
  })
  w.literals = outer
  return code
}

function declaredIn(body: readonly Stmt[]): ReadonlySet<string> {
  return new Set(body.flatMap((stmt) => (stmt.kind === 'Let' ? [stmt.local] : [])))
}

/** Pins locals that a loop changes to a local of their own during the loop; `after` ends each iteration. */
function pinned(s: NestScope, changed: ReadonlySet<string>): { readonly before: Code; readonly after: () => Code } {
  const before: GrowingCode = []
  const pins = s.turns.flatMap(({ locals }) =>
    [...changed].flatMap((name) => {
      const first = locals.get(name)
      if (first === undefined) return []
      const slot = s.w.declare('v128')
      const place = placed(s, name, first, slot)
      before.push(place.code)
      locals.set(name, place.vector)
      return [{ locals, name, slot, vector: place.vector }]
    }),
  )
  const after = (): Code =>
    pins.map(({ locals, name, slot, vector }) => {
      const last = locals.get(name) ?? vector
      locals.set(name, vector)
      return last === vector ? [] : placed(s, name, last, slot).code
    })
  return { before, after }
}

/** Stores the vector in a local, in the representation for the variable's type. */
function placed(s: NestScope, name: string, vector: Vector, slot: number): { readonly code: Code; readonly vector: Vector } {
  const type = s.w.locals.get(name)
  const kept = I.localGet(slot)
  const bits = s.lanes.maskBits
  const float = s.lanes.mode === 'f32' ? 'f32' : 'f64'
  switch (type?.kind) {
    case 'bool':
      return { code: [masked(s.lanes, vector, bits), I.localSet(slot)], vector: { kind: 'mask', bits, code: kept } }
    case 'i32':
      return {
        code: [asIntegers(s.lanes, vector), I.localSet(slot)],
        vector: { kind: 'i32', low: type.low, high: type.high, code: kept },
      }
    case 'i64': {
      const bounds = float === 'f64' ? { low: type.low, high: type.high } : {}
      return { code: [asFloat(s.lanes, vector), I.localSet(slot)], vector: { kind: float, ...bounds, code: kept } as Vector }
    }
    case 'f64':
      return { code: [asFloat(s.lanes, vector), I.localSet(slot)], vector: { kind: float, code: kept } }
    case 'bigint':
      throw new Scalar('it computes with bigints')
    case undefined:
      throw new Scalar(`${name} has no value yet`)
  }
}
