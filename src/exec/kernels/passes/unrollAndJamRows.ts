/**
 * Unroll-and-jam of rows.
 *
 * Two rows at a time, where an iteration depends on the one before it: while one row's iteration waits, the other's computes.
 *
 *     for i: for j: a[i][j] = f(a[i][j - 1], a[i - 1][j])
 *
 *     becomes   for i by 2: for j: a[i][j] = f(a[i][j - 1], a[i - 1][j]);  a[i + 1][j] = f(a[i + 1][j - 1], a[i][j])
 *
 * Iteration j of the second row runs before the iterations after j of the first, which come earlier in serial order. It is legal where
 * no two such iterations access an element that one of them writes: where one subscript is the row's key plus a number in every
 * access to an array that the body writes, the second row accesses an element of the first only as these numbers say, and
 * then at an index not ahead of the first row's. Bodies that could fail, count or leave an iteration are excluded.
 */
import { expressionsOf, type Stmt, visitExpr, visitStmts } from '../../../core/ir/functionIr.ts'
import { changedIn } from '../../../core/ir/irFacts.ts'
import { type Code, I, OP } from '../../kir/instructions.ts'
import type { InnerLoop } from '../loops/innerLoop.ts'
import { stepped } from '../loops/wasmIteration.ts'
import { type Access, accessesOf, hoistedAccesses, offsetFrom, type Turning } from '../loops/wasmLoopAccess.ts'
import { FROM, type KernelWriter, TO } from '../loops/wasmWriter.ts'
import { sizeOf } from '../vectors/wasmVectorSums.ts'
import { carriedReads } from './scalarReplacement.ts'

/** The most statements and operations of a body: two larger ones would exceed the registers. */
const MOST = 60

export interface RowPairs {
  /** Whether a pair of whole rows comes next, with all its elements in bounds. */
  readonly holds: Code
  /** Runs the pair, and leaves the keys at the end of the second row. */
  readonly code: Code
}

/** Jams pairs of rows of a run along the last axis of a box; undefined where that is not legal, or gains nothing. */
export function rowPairs(w: KernelWriter, { body, index, limit }: InnerLoop): RowPairs | undefined {
  const axis = w.target.shape.extents.length - 2
  const row = w.keys[axis]
  if (row === undefined || !isPlain(body) || sizeOf(body) > MOST) return undefined
  const second = w.declare('i32')
  const turning: Turning = { index, isRun: true, changed: changedIn(body) }
  const one = rowOf(w, body, turning, limit)
  if (one === undefined || one.carried === 0 || !areApart(one.accesses, axis)) return undefined
  const { keys } = w
  w.keys = keys.map((slot, at) => (at === axis ? second : slot))
  const two = rowOf(w, body, turning, limit)
  w.keys = keys
  if (two === undefined) return undefined
  const [low, high, lastRow] = [4 + 3 * (axis + 1), 4 + 3 * (axis + 1) + 1, 4 + 3 * axis + 1]
  const width = [...I.localGet(high), ...I.localGet(low), OP.i32Sub]
  const checks = [...one.checks, ...two.checks]
  const places = [...width, ...I.i32Const(1), OP.i32Shl]
  const holds = [
    ...[...I.localGet(row), ...I.i32Const(1), OP.i32Add, ...I.localTee(second), ...I.localGet(lastRow), OP.i32LtS],
    ...[...I.localGet(index.slot), ...I.localGet(low), OP.i32Eq, OP.i32And],
    ...[...I.localGet(TO), ...I.localGet(FROM), OP.i32Sub, ...places, OP.i32GeS, OP.i32And],
    ...checks.map((check) => [check, OP.i32And]),
  ]
  const code = [
    ...[one.setup, two.setup, one.before, two.before, I.loop, one.turn, two.turn, stepped(index.slot, 1)],
    ...[...I.localGet(index.slot), ...I.localGet(limit), OP.i32LtS, ...I.brIf(0), OP.end],
    ...[...I.localGet(second), ...I.localSet(row), ...I.localGet(FROM), ...places, OP.i32Add, ...I.localSet(FROM)],
  ]
  return { holds, code }
}

/** Whether a body only computes, and stores to arrays, from arrays and keys. */
function isPlain(body: readonly Stmt[]): boolean {
  let plain = true
  visitStmts(body, (stmt) => {
    plain &&= ['Let', 'Assign', 'Write', 'Add', 'If'].includes(stmt.kind)
    for (const expr of expressionsOf(stmt)) visitExpr(expr, ({ kind }) => void (plain &&= kind !== 'Input'))
  })
  return plain
}

/** Compiles one row's part of an iteration, for the writer's current keys; undefined where an access cannot be checked before the row. */
function rowOf(w: KernelWriter, body: readonly Stmt[], turning: Turning, limit: number) {
  const found = accessesOf(body)
  const { accesses, setup, checks } = hoistedAccesses(w, found, turning, { limit, step: 1 })
  if (accesses.size < found.length) return undefined
  const outer = { known: w.known, held: w.held, carried: w.carried }
  w.known = new Map([...outer.known, ...[...accesses].map(([node, { known }]) => [node, known] as const)])
  const { reads, writes, before, after, count } = carriedReads(w, { body, index: turning.index, limit, step: 1 }, accesses, turning)
  w.held = new Map([...outer.held, ...reads])
  w.carried = writes
  const turn = [w.block(body), after]
  Object.assign(w, outer)
  return { accesses, setup, checks, before, turn, carried: count }
}

/** Whether the second row may run beside the first; `axis` is the one whose key tells the rows apart. */
function areApart(accesses: ReadonlyMap<object, Access>, axis: number): boolean {
  const all = [...accesses.values()]
  const written = new Set(all.flatMap(({ kind, memory }) => (kind === 'read' ? [] : [memory])))
  const key = {
    slot: 0,
    seen: BOUNDLESS,
    held: BOUNDLESS,
    is: (expr: Parameters<typeof offsetFrom>[0]) => expr.kind === 'Key' && expr.axis === axis,
  }
  const placed = all.flatMap((access) => {
    if (!written.has(access.memory)) return []
    const rows = access.subscripts.map((subscript) => offsetFrom(subscript, key))
    return [{ ...access, at: rows.findIndex((row) => row !== undefined), row: rows.find((row) => row !== undefined) ?? 0 }]
  })
  return placed.every((first) =>
    placed.every((next) => {
      if (first.memory !== next.memory) return true
      if (first.at < 0 || first.at !== next.at || first.array !== next.array || !first.isLast || !next.isLast) return false
      if (first.kind === 'read' && next.kind === 'read') return true
      // rows access the same element where their subscripts differ by one
      return first.row !== next.row + 1 || next.offset <= first.offset
    }),
  )
}

const BOUNDLESS = { kind: 'i32', low: 0, high: 0 } as const
