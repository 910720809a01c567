/**
 * Strength reduction of places: within a run of iterations, addresses follow from those of the iteration before.
 *
 * Iterations become inner loops: along the last axis of a box, or the rows of a table, the next iteration's key is the
 * next integer. A body without loops of its own is then compiled like the body of an innermost loop (`wasmLoops.ts`).
 *
 *     for each run of the box: for (key of the last axis from .. to) body
 */
import { type Expr, expressionsOf, visitExpr, visitStmts } from '../../../core/ir/functionIr.ts'
import { hasLoop } from '../../../core/ir/irFacts.ts'
import { type Code, I, OP } from '../../kir/instructions.ts'
import type { WasmType } from '../expressions/types.ts'
import type { InnerLoop, Turns } from '../loops/innerLoop.ts'
import { elementStart, nextInRun, nextRun, rowStart, runAhead, stepped, turning } from '../loops/wasmIteration.ts'
import { fastLoop, nestedRun } from '../loops/wasmLoops.ts'
import { FROM, type KernelWriter, TO } from '../loops/wasmWriter.ts'
import { overlappedBody } from './softwarePipelining.ts'
import { touchAhead } from './softwarePrefetch.ts'
import { rowPairs } from './unrollAndJamRows.ts'

export function runs(w: KernelWriter): Code {
  const { shape } = w.target
  const axis = shape.extents.length - 1
  w.runAxis = axis
  const key = w.keys[axis] ?? w.position
  if (shape.space === 'box') {
    const limit = w.declare('i32')
    const before = w.declare('i32')
    w.place = [I.localGet(key), I.localGet(before), OP.i32Add]
    const ahead = [I.localGet(TO), I.localGet(FROM), OP.i32Sub]
    const left = [I.localGet(4 + 3 * axis + 1), I.localGet(key), OP.i32Sub]
    const count = [...ahead, ...left, ...ahead, ...left, OP.i32LtS, OP.select]
    const start = [
      ...[I.localGet(key), ...count, OP.i32Add, I.localSet(limit)],
      ...[I.localGet(FROM), I.localGet(key), OP.i32Sub, I.localSet(before)],
    ]
    w.control.push({ kind: 'other' }, { kind: 'other' })
    const run = runOf(w, key, limit)
    return [
      ...[I.block(), I.loop, I.localGet(FROM), I.localGet(TO), OP.i32GeS, I.brIf(1)],
      ...[start, byRows(w, run), nextRun(w), I.br(0), OP.end, OP.end],
    ]
  }
  w.position = key
  w.place = I.localGet(key)
  const { code } = runOf(w, key, TO)
  return [I.localGet(FROM), I.localSet(key), rowStart(w), code]
}

/** Writes a run, or where possible two of them side by side; it leaves the keys at its end. */
function byRows(w: KernelWriter, { loop, code }: Run): Code {
  const single = [rowStart(w), code, w.place, I.localSet(FROM)]
  const fate = w.loops.at(-1)
  // vector lanes do not wait for the iteration before
  if (w.isDraft || w.keepsOrder || fate?.lanes !== 1 || w.loops.length > 1 || hasLoop(loop.body)) return single
  const pairs = rowPairs(w, loop)
  if (pairs === undefined) return single
  w.loops[0] = { ...fate, text: `${fate.text}, two rows at a time` }
  return [pairs.holds, I.if(), pairs.code, OP.else, single, OP.end]
}

interface Run {
  readonly loop: InnerLoop
  readonly code: Code
}

function runOf(w: KernelWriter, slot: number, limit: number): Run {
  const { ir, shape } = w.target
  const extent = shape.extents[shape.extents.length - 1] ?? 0
  const seen: WasmType = { kind: 'i32', low: 0, high: Math.max(0, extent - 1) }
  const held: WasmType = { kind: 'i32', low: 0, high: extent }
  noteElements(w)
  const test = [I.localGet(slot), I.localGet(limit), OP.i32LtS]
  const isNested = hasLoop(ir.body)
  const touch = touchAhead(w, limit, () => runAhead(w, slot))
  const turns = ({ before = [], after = [], body = ir.body }: Turns): Code => [
    [before, touch.before],
    turning(
      w,
      { kind: 'iteration' },
      {
        first: true,
        test: () => test,
        body: () => [touch.of(slot), elementStart(w), isNested ? overlappedBody(w, body, nextInRun(w, slot, limit, touch)) : w.block(body)],
        update: () => [after, stepped(slot, 1)],
      },
    ),
  ]
  const index = { slot, seen, held, is: (expr: Expr) => w.isRunKey(expr) }
  const loop: InnerLoop = {
    name: 'iterations',
    body: ir.body,
    source: ir.body,
    step: 1,
    index,
    limit,
    isRun: true,
    turns,
    zeroSums: new Set(),
  }
  return { loop, code: isNested ? nestedRun(w, loop) : (fastLoop(w, loop) ?? turns({})) }
}

/** Registers the elements that the body uses, which are loaded at the start of an iteration, before the body is written. */
function noteElements(w: KernelWriter): void {
  visitStmts(w.target.ir.body, (stmt) => {
    for (const expr of expressionsOf(stmt)) {
      visitExpr(expr, (e) => {
        if (e.kind === 'Input' && w.target.shape.element.kind !== 'row') w.expr(e)
        if (e.kind === 'Field' && e.of.kind === 'Input') w.expr(e)
      })
    }
  })
}
