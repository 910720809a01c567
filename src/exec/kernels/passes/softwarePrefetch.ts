/**
 * Software prefetch.
 *
 * Touch-ahead: where iterations reach rows of arrays that no cache holds, at subscripts that are known when an iteration
 * begins, the lines of a batch of iterations are loaded before the first of them runs.
 *
 *     for t: body(t)      becomes      for b by 32: { for t in b: touch(the lines of t);  for t in b: body(t) }
 *
 * A processor waits for several lines at once, but sees only so many instructions ahead: of long iterations it finds the
 * lines of one or two. The loads of a batch are short, and all of them wait together. What they load is not used, so they
 * change no result, and a subscript that is outside touches nothing.
 */
import { type Expr, expressionsOf, type Stmt, visitExpr } from '../../../core/ir/functionIr.ts'
import { exprId, hasLoop } from '../../../core/ir/irFacts.ts'
import { type Code, I, OP } from '../../kir/instructions.ts'
import { LOG2_BYTES } from '../loops/wasmCode.ts'
import { elementStart, type IterationAhead, stepped } from '../loops/wasmIteration.ts'
import { deepAccesses, type Found } from '../loops/wasmLoopAccess.ts'
import type { KernelWriter } from '../loops/wasmWriter.ts'
import { type Ahead, asAhead, checkedAccesses, headCode } from './softwarePipelinedStart.ts'
import type { TouchAhead } from './touchAhead.ts'

/** Smaller arrays stay in a cache that is near enough. */
const LEAST_BYTES = 2 ** 19

const LINE_BYTES = 64

/** Of longer rows the processor finds the next lines by itself. */
const MOST_LINES_OF_A_ROW = 16

/** What a batch touches is to stay in the nearest cache until it is used. */
const LINES_OF_A_BATCH = 256

const [LEAST_ITERATIONS, MOST_ITERATIONS] = [4, 32]

/** A row, or an element, that an iteration reaches at subscripts that are known when it begins. */
interface Reached {
  readonly found: Found
  readonly lines: number
  /** Where its last element lies, which may be on one line more: the row need not start where a line does. */
  readonly last: number | undefined
}

export const UNTOUCHED: TouchAhead = { before: [], of: () => [] }

/** For iterations of which the last one's successor is in `limit`. */
export function touchAhead(w: KernelWriter, limit: number, iteration: () => IterationAhead): TouchAhead {
  const { body } = w.target.ir
  const slice = w.isDraft || w.keepsOrder || !hasLoop(body) ? undefined : sliceOf(w, body)
  const touches = slice && touchCode(w, slice, iteration())
  if (slice === undefined || touches === undefined) return UNTOUCHED
  const lines = slice.reached.reduce((sum, { lines }) => sum + lines, 0)
  const batch = Math.min(MOST_ITERATIONS, Math.max(LEAST_ITERATIONS, Math.floor(LINES_OF_A_BATCH / lines)))
  const names = [...new Set(slice.reached.map(({ found }) => found.array))].join(' and ')
  w.touched = `rows of ${names} touched ahead, for ${batch} iterations at a time`
  const touched = w.declare('i32')
  const { at, code } = touches
  return {
    before: [I.i32Const(0), I.localSet(touched)],
    of: (slot) => {
      const left: Code = [I.localGet(limit), I.localGet(slot), OP.i32Sub]
      const size: Code = [I.i32Const(batch), left, I.i32Const(batch), left, OP.i32LtS, OP.select]
      return [
        ...[I.localGet(slot), I.localGet(touched), OP.i32GeS, I.if()],
        ...[I.localGet(slot), I.localTee(at), size, OP.i32Add, I.localSet(touched)],
        ...[I.loop, I.block(), code, OP.end, stepped(at, 1), I.localGet(at), I.localGet(touched), OP.i32LtS, I.brIf(0), OP.end],
        OP.end,
      ]
    },
  }
}

interface Slice {
  readonly reached: readonly Reached[]
  /** Declarations that their subscripts need. */
  readonly head: readonly Stmt[]
}

/** What is worth touching, and how it is found; undefined where nothing is. */
function sliceOf(w: KernelWriter, body: readonly Stmt[]): Slice | undefined {
  const needed = new Set<Stmt>()
  const declared = new Map(body.flatMap((stmt) => (stmt.kind === 'Let' && !w.isChanged(stmt.local) ? [[stmt.local, stmt] as const] : [])))
  const reached = new Map<string, Reached>()
  for (const found of deepAccesses(body)) {
    const one = reachedBy(w, found, declared)
    if (one === undefined) continue
    const { number } = w.array(found.array)
    const id = `${w.target.identities[number]} ${exprId(one.found.subscripts)}`
    const known = reached.get(id)
    if (known !== undefined && known.lines >= one.lines) continue
    reached.set(id, one)
    for (const subscript of one.found.subscripts) need(subscript, declared, needed)
  }
  if (reached.size === 0) return undefined
  return { reached: [...reached.values()], head: body.filter((stmt) => needed.has(stmt)) }
}

type Declared = ReadonlyMap<string, Extract<Stmt, { kind: 'Let' }>>

/** The declarations that an expression needs, and those that they need. */
function need(expr: Expr, declared: Declared, needed: Set<Stmt>): void {
  visitExpr(expr, (e) => {
    const stmt = e.kind === 'Local' ? declared.get(e.name) : undefined
    if (stmt === undefined || needed.has(stmt)) return
    needed.add(stmt)
    for (const one of expressionsOf(stmt)) need(one, declared, needed)
  })
}

function reachedBy(w: KernelWriter, found: Found, declared: Declared): Reached | undefined {
  const shape = w.target.shape.arrays.get(found.array)
  if (shape?.kind !== 'dense' || (found.kind === 'add' && shape.adds !== 'direct')) return undefined
  const { extents, strides } = shape
  const bytes = 2 ** LOG2_BYTES[shape.dtype]
  const last = found.subscripts[found.subscripts.length - 1]
  const before = found.subscripts.slice(0, -1)
  if (last === undefined || !before.every((subscript) => isKnown(subscript, declared))) return undefined
  const isElement = isKnown(last, declared)
  const rows = rowsAt(isElement ? found.subscripts : before, declared, extents[0] ?? 0, w.target.shape.reach)
  if (rows * (strides[0] ?? 1) * bytes < LEAST_BYTES) return undefined
  if (isElement) return { found, lines: 1, last: undefined }
  const rowBytes = (extents[extents.length - 1] ?? 0) * bytes
  const lines = Math.min(MOST_LINES_OF_A_ROW, Math.ceil(rowBytes / LINE_BYTES))
  const isAligned = ((strides[strides.length - 2] ?? 0) * bytes) % LINE_BYTES === 0
  const start: Expr = { kind: 'Literal', value: 0, span: last.span }
  return {
    found: { ...found, node: {}, subscripts: [...before, start] },
    lines,
    last: isAligned || lines === MOST_LINES_OF_A_ROW ? undefined : rowBytes - bytes,
  }
}

/** Among how many rows the subscripts name one: of data any, of keys as many as iterations have of them, and no others than one. */
function rowsAt(subscripts: readonly Expr[], declared: Declared, extent: number, reach: readonly number[]): number {
  let rows = 0
  const note = (expr: Expr): void =>
    visitExpr(expr, (e) => {
      if (e.kind === 'Key') rows = Math.max(rows, Math.min(extent, reach[e.axis] ?? 0))
      if (e.kind === 'Input' || e.kind === 'Read') rows = extent
      const init = e.kind === 'Local' ? declared.get(e.name)?.init : undefined
      if (init !== undefined) note(init)
    })
  subscripts.forEach(note)
  return rows
}

/** Whether an iteration knows it when it begins, without a possible failure but for what it reads. */
function isKnown(expr: Expr, declared: Declared): boolean {
  const known = (one: Expr): boolean => isKnown(one, declared)
  switch (expr.kind) {
    case 'Literal':
    case 'Key':
    case 'Parameter':
    case 'Extent':
    case 'Input':
      return true
    case 'Field':
      return expr.of.kind === 'Input'
    case 'Local': {
      const init = declared.get(expr.name)?.init
      return init !== undefined && known(init)
    }
    case 'Unary':
      return known(expr.operand)
    case 'Binary':
      return known(expr.left) && known(expr.right)
    case 'Conditional':
      return known(expr.test) && known(expr.then) && known(expr.else)
    case 'Read':
      return expr.subscripts.every(known)
    default:
      return false
  }
}

/** Code for the iteration `at`, which leaves the block around it where a subscript is not inside. */
function touchCode(
  w: KernelWriter,
  { reached, head }: Slice,
  { at, keys, position, start }: IterationAhead,
): { readonly at: number; readonly code: Code } | undefined {
  const ahead: Ahead = { keys, position, columns: new Map(), slots: new Map() }
  return asAhead(w, ahead, () => {
    const begun = headCode(w, head)
    if (begun === undefined) return undefined
    const touches = reached.flatMap((one) => touchOf(w, one) ?? [])
    return touches.length === 0 ? undefined : { at, code: [start(), elementStart(w), begun, touches] }
  })
}

/** One row after the other: where it is the one before, as a user's in the order of users, there is nothing to wait for. */
function touchOf(w: KernelWriter, { found, lines, last }: Reached): Code | undefined {
  const checked = checkedAccesses(w, [found])
  const access = checked?.accesses.get(found.node)
  if (checked === undefined || access === undefined) return undefined
  const before = w.declare('i32')
  const { code, offset } = access.known
  const offsets = [...Array.from({ length: lines }, (_, line) => line * LINE_BYTES), ...(last === undefined ? [] : [last])]
  return [
    ...[checked.code, code(), I.localGet(before), OP.i32Ne, I.if()],
    ...[code(), I.localSet(before), offsets.map((by) => [code(), I.memory(OP.i32Load8U, offset + by), OP.drop]), OP.end],
  ]
}
