/**
 * The memory cost of an iteration's accesses beyond their instructions: nothing where the array stays in the cache, a cost per
 * byte where it is streamed, and a cache line for each element where the next one lies elsewhere.
 */
import type { Expr, Stmt } from '../ir/functionIr.ts'
import { someExpr } from '../ir/irFacts.ts'
import { accessesIn, moves, type Turning } from './chains.ts'
import type { CostedArray } from './means.ts'

/** The largest array that stays in a core's cache. */
const CACHE_BYTES = 2 ** 20
const LINE_BYTES = 64
/** The costs of streaming; a written line is read before, and written back. */
const READ_NS_PER_BYTE = 0.04
const WRITE_NS_PER_BYTE = 0.1
/** The cost of a line anywhere in an array that is not in the cache; several misses overlap. */
const LINE_NS = 4
/** The most bytes of the lines that a column of elements touches for which the next column still finds them in the cache. */
const COLUMN_BYTES = 2 ** 18
/** The cost of a row's first lines, until the hardware prefetcher follows: of consecutive rows, and of rows anywhere. */
const NEXT_ROW = { lineNs: 6, most: 4 } as const
const ANY_ROW = { lineNs: 15, most: 16 } as const
/** The factor for written lines, which come from memory and go back there. */
const WRITTEN_LINE = 1.5

export interface TurnMemory {
  /** The cost of an iteration. */
  readonly ns: number
  /** The cost of beginning the loop: the first lines of the rows of large arrays, which have to be waited for. */
  readonly startNs: number
}

export interface Walk {
  readonly turning: Turning
  readonly turns: number
  /** The loop around, if there is one. */
  readonly outer?: { readonly turning: Turning; readonly turns: number } | undefined
  /** Whether the keys of iterations follow one another, so that the rows which the loop walks do. */
  readonly isRun: boolean
}

export function turnMemory(stmts: readonly Stmt[], walk: Walk, arrayOf: (name: string) => CostedArray | undefined): TurnMemory {
  const { turning, turns, outer, isRun } = walk
  /** The costs by array and moving axes: accesses to neighbours share their lines. */
  const streams = new Map<string, TurnMemory>()
  for (const { array, subscripts, writes } of accessesIn(stmts)) {
    const costed = arrayOf(array)
    if (costed === undefined || sizeOf(costed) <= CACHE_BYTES) continue
    const moving = subscripts.flatMap((subscript, axis) => (moves(subscript, turning) ? [axis] : []))
    if (moving.length === 0) continue
    const isScattered = moving.some((axis) => isUnforeseen(subscripts[axis] as Expr, turning)) // of these subscripts
    const last = subscripts.length - 1
    const isRow = !isScattered && moving.every((axis) => axis === last)
    const isNew = outer === undefined || subscripts.some((subscript) => moves(subscript, outer.turning))
    // elements that each iteration of the loop around touches again are paid once
    const share = isNew || outer === undefined ? 1 : 1 / Math.max(1, outer.turns)
    const follows = isRun && turns > (costed.extents[last] ?? 0) / 2
    const key = `${array} ${isScattered ? 'scattered' : moving.join()}`
    const ns = share * (isScattered ? LINE_NS : elementNs(costed.elementBytes, { isRow, turns, writes }))
    const startNs = isRow && last > 0 && !follows ? share * rowStartNs(turns * costed.elementBytes, { isRun, writes }) : 0
    const known = streams.get(key)
    streams.set(key, { ns: Math.max(ns, known?.ns ?? 0), startNs: Math.max(startNs, known?.startNs ?? 0) })
  }
  const all = [...streams.values()]
  return { ns: all.reduce((sum, one) => sum + one.ns, 0), startNs: all.reduce((sum, one) => sum + one.startNs, 0) }
}

function rowStartNs(bytes: number, { isRun, writes }: { readonly isRun: boolean; readonly writes: boolean }): number {
  const { lineNs, most } = isRun ? NEXT_ROW : ANY_ROW
  return lineNs * Math.min(most, Math.max(1, bytes / LINE_BYTES)) * (writes ? WRITTEN_LINE : 1)
}

function elementNs(
  elementBytes: number,
  { isRow, turns, writes }: { readonly isRow: boolean; readonly turns: number; readonly writes: boolean },
): number {
  const streamed = elementBytes * (writes ? WRITE_NS_PER_BYTE : READ_NS_PER_BYTE)
  if (isRow) return streamed
  return turns * LINE_BYTES <= COLUMN_BYTES ? 2 * streamed : LINE_NS
}

/** Whether only the data tells a subscript, so that no prefetcher foresees it. */
function isUnforeseen(subscript: Expr, { changed }: Turning): boolean {
  return someExpr(
    subscript,
    (e) => e.kind === 'Read' || e.kind === 'Lookup' || e.kind === 'Input' || (e.kind === 'Local' && changed.has(e.name)),
  )
}

function sizeOf({ extents, elementBytes }: CostedArray): number {
  return extents.reduce<number>((size, extent) => size * (extent ?? 1), elementBytes)
}
