/**
 * Software prefetch.
 *
 * Where iterations access rows of arrays that no cache holds, at subscripts known when an iteration
 * begins, the cache lines of a batch of iterations are loaded before the first of them runs.
 *
 *     for t: body(t)      becomes      for b by 32: { for t in b: touch(the lines of t);  for t in b: body(t) }
 *
 * A processor waits for several lines at once, but sees only so many instructions ahead: with long iterations it overlaps the
 * misses of one or two. The loads of a batch are short, and all their misses overlap. The loaded values are not used, so they
 * change no result, and an out-of-bounds subscript touches nothing.
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

/** The least bytes that accesses spread over; fewer stay in a cache that is near enough. */
const LEAST_BYTES = 2 ** 19

const LINE_BYTES = 64

/** The most lines of a row that are touched; the hardware prefetches the others of longer rows. */
const MOST_LINES_OF_A_ROW = 16

/** The lines of a batch, which must stay in the nearest cache until they are used. */
const LINES_OF_A_BATCH = 256

const [LEAST_ITERATIONS, MOST_ITERATIONS] = [4, 32]

/** A row, or an element, that an iteration accesses at subscripts known when it begins. */
interface Reached {
  readonly found: Found
  readonly lines: number
  /** The byte offset of its last element, which may lie on one more line where the row is not aligned to lines; else undefined. */
  readonly last: number | undefined
}

export const UNTOUCHED: TouchAhead = { before: [], of: () => [] }

/** Prefetches for a run of iterations that ends before `limit`. */
export function touchAhead(w: KernelWriter, limit: number, iteration: () => IterationAhead): TouchAhead {
  const { body } = w.target.ir
  const slice = w.isDraft || w.keepsOrder || !hasLoop(body) ? undefined : sliceOf(w, body)
  const touches = slice && touchCode(w, slice, iteration())
  if (slice === undefined || touches === undefined) return UNTOUCHED
  const lines = slice.reached.reduce((sum, { lines }) => sum + lines, 0)
  const batch = Math.min(MOST_ITERATIONS, Math.max(LEAST_ITERATIONS, Math.floor(LINES_OF_A_BATCH / lines)))
  const names = [...new Set(slice.reached.map(({ found }) => found.array))].join(' and ')
  w.touched = `software prefetch of rows of ${names}, ${batch} iterations at a time`
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
  /** The declarations on which their subscripts depend. */
  readonly head: readonly Stmt[]
}

/** Selects the accesses to prefetch, and the declarations that they need; undefined where there are none. */
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

/** Collects the declarations that an expression depends on, directly or not. */
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

/** The number of rows among which the subscripts choose: all where they depend on data, those of the keys' range, or 0 where on neither. */
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

/** Whether the value is known when an iteration begins, and only its reads can fail. */
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

/** Code that touches the lines of iteration `at`; it leaves the block around it where a subscript is out of bounds. */
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

/** Touches a row, unless it is the one of the iteration before, as with a user's ratings in order of users. */
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
