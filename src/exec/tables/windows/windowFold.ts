/**
 * A pass over the rows of a partition in their order, piece after piece. It finds the state that each piece needs from those before it
 * (`carried.ts`), and the pieces around it that the frames of its rows reach.
 */
import type { Column } from '../../../core/data/column.ts'
import { concatColumns } from '../../../core/data/columnConcat.ts'
import { takeColumn } from '../../../core/data/columnSlices.ts'
import type { ExecBatch } from '../operators/batches.ts'
import { directionOf } from '../operators/sort/order.ts'
import { markBoundaries, placesTo } from './boundaries.ts'
import { CallFold, type CallState, type Carried, FRAMED } from './carried.ts'
import { asksPeers, type WindowOperator } from './windowColumns.ts'
import { distances } from './windowValues.ts'

/** The facts that the pass notes of a piece. */
interface Seen {
  readonly rows: number
  /** The number of rows before the piece. */
  readonly before: number
  /** The number of different orders of the rows before. */
  readonly orders: number
  /** Whether the first row is a peer of the row before. */
  readonly continues: boolean
  /** The numbers of rows before the first peer of the first row, and of the last row. */
  readonly beforeFirst: number
  readonly beforeLast: number
  /** The first and the last value that a frame by range measures from; absent where there is none. */
  readonly ends?: readonly [number, number]
  /** The state of each call over the rows before. */
  readonly calls: readonly CallState[]
}

/** A piece is computed with the pieces from `from` to `to` (exclusive), which its frames, lags and leads reach. */
export interface Reached {
  readonly from: number
  readonly to: number
  /** The positions of the piece's own rows among the rows of these pieces. */
  readonly wanted: { readonly from: number; readonly to: number }
  readonly carried: Carried
}

export class WindowFold {
  private readonly operator: WindowOperator
  private readonly folds: readonly CallFold[]
  private readonly seen: Seen[] = []
  /** The number of rows so far. */
  rows = 0
  private orders = 0
  private last: Column | undefined
  constructor(operator: WindowOperator) {
    this.operator = operator
    this.folds = operator.calls.map((call) => new CallFold(call, operator.frame))
  }

  /** Adds the next piece. */
  add({ hidden = [], length }: ExecBatch): void {
    const { calls } = this.operator
    const order = orderOf(this.operator, hidden)
    const peers = order !== undefined && asksPeers(this.operator) ? this.peersOf(order) : { continues: false, orders: 0, last: 0 }
    const { beforeLast = 0 } = this.seen.at(-1) ?? {}
    const beforeFirst = peers.continues ? beforeLast : this.rows
    const ends = order === undefined || !measures(this.operator) ? undefined : this.endsOf(order)
    this.seen.push({
      ...{ rows: length, before: this.rows, orders: this.orders, continues: peers.continues, beforeFirst },
      beforeLast: peers.last === 0 ? beforeFirst : this.rows + peers.last,
      ...(ends && { ends }),
      calls: this.states(),
    })
    for (const [c, fold] of this.folds.entries()) fold.add(hidden[calls[c]?.column ?? -1], length) // a call for each
    this.rows += length
    this.orders += peers.orders - Number(peers.continues)
  }

  private states(): readonly CallState[] {
    return this.folds.map(({ state }) => state)
  }

  /** Whether the first row is a peer of the last one before, the number of different orders, and the position where the last begins. */
  private peersOf(order: Column): { readonly continues: boolean; readonly orders: number; readonly last: number } {
    const marks = marksOf(order)
    const first = takeColumn(order, Int32Array.of(0))
    const continues = this.last !== undefined && marksOf(concatColumns([this.last, first], 'orderBy'))[1] === 0
    this.last = takeColumn(order, Int32Array.of(order.length - 1))
    let orders = 0
    for (const mark of marks) if (mark !== 0) orders++
    let last = marks.length - 1
    while (marks[last] === 0) last--
    return { continues, orders, last }
  }

  private endsOf(order: Column): readonly [number, number] | undefined {
    const distance = distances(order)
    const sign = directionOf(this.operator.descending, 0) ? -1 : 1 // distances are those of one value
    let first = 0
    while (first < order.length && Number.isNaN(distance(first))) first++
    let last = order.length - 1
    while (last > first && Number.isNaN(distance(last))) last--
    return first < order.length ? [sign * distance(first), sign * distance(last)] : undefined
  }

  /** The pieces and the carried state that each piece is computed with; called once all pieces have been added. */
  reached(): readonly Reached[] {
    const final = this.states()
    return this.seen.map(({ before, rows }, p) => {
      const { from, to, behind } = this.reach(p)
      const first = this.seen[from] as Seen // from <= p
      return {
        ...{ from, to },
        wanted: { from: before - first.before, to: before - first.before + rows },
        carried: {
          ...{ total: this.rows, before: first.before, beforePeers: first.beforeFirst },
          orders: first.orders - Number(first.continues),
          isBehind: behind !== undefined,
          calls: behind === undefined ? first.calls : (this.seen[behind]?.calls ?? final),
        },
      }
    })
  }

  /** The pieces that piece `p` is computed with. Where all its frames end before piece `behind`, the state of the calls there is their result. */
  private reach(p: number): { readonly from: number; readonly to: number; readonly behind?: number } {
    const { calls, frame } = this.operator
    const [before, after] = [shift(calls, 'lag'), shift(calls, 'lead')]
    const isFramed = calls.some(({ kind }) => FRAMED.has(kind))
    let [from, to] = this.byRows(p, -before, after)
    if (!isFramed) return { from, to }
    if (frame.from === null && frame.to === null) return { from, to, behind: this.seen.length }
    if (frame.kind === 'rows') {
      // frames that begin with the partition end in no piece before those that are read
      const [first, behind] = this.byRows(p, Math.min(0, frame.from ?? frame.to ?? 0), Math.max(0, frame.to ?? 0))
      return { from: Math.min(from, first), to: Math.max(to, behind) }
    }
    if (frame.from === null && frame.to === 0 && this.continuesBehind(p)) {
      let behind = p + 1
      while (this.continuesBehind(behind - 1)) behind++
      return { from, to, behind }
    }
    const [least, most] = this.byRange(p)
    from = Math.min(from, least)
    to = Math.max(to, most)
    return { from, to }
  }

  /** The range of pieces with the rows `before` (at most 0) before the first row of piece `p` to `after` behind its last. */
  private byRows(p: number, before: number, after: number): [number, number] {
    const { before: first, rows } = this.seen[p] as Seen // p < length
    let from = p
    while (from > 0 && (this.seen[from] as Seen).before > first + before) from--
    let to = p + 1
    while (to < this.seen.length && (this.seen[to] as Seen).before < first + rows + after) to++
    return [from, to]
  }

  private byRange(p: number): readonly [number, number] {
    const { from: start, to: end } = this.operator.frame
    const ends = this.seen[p]?.ends
    const lower = ends && start !== 0 && (start ?? end ?? 0) < 0 ? ends[0] + (start ?? end ?? 0) : undefined
    const upper = ends && end !== null && end > 0 ? ends[1] + end : undefined
    let from = p
    const isBefore = (q: number): boolean =>
      (start !== null && (this.seen[q + 1] as Seen).continues) ||
      (lower !== undefined && (this.seen[q]?.ends?.[1] ?? Number.NEGATIVE_INFINITY) >= lower)
    while (from > 0 && isBefore(from - 1)) from--
    let to = p + 1
    const isBehind = (q: number): boolean =>
      (end !== null && (this.seen[q] as Seen).continues) ||
      (upper !== undefined && (this.seen[q]?.ends?.[0] ?? Number.POSITIVE_INFINITY) <= upper)
    while (to < this.seen.length && isBehind(to)) to++
    return [from, to]
  }

  private continuesBehind(p: number): boolean {
    return this.seen[p + 1]?.continues === true
  }
}

function measures({ frame: { kind, from, to } }: WindowOperator): boolean {
  return kind === 'range' && ((from ?? 0) !== 0 || (to ?? 0) !== 0)
}

/** The hidden column that orders the rows of a partition; undefined where the window has no order. */
export function orderOf({ by, ordered }: WindowOperator, hidden: readonly Column[]): Column | undefined {
  return ordered ? hidden[by ? 1 : 0] : undefined
}

/** The greatest offset of the lags, or of the leads. */
function shift(calls: WindowOperator['calls'], wanted: 'lag' | 'lead'): number {
  return calls.reduce((most, { kind, n = 1 }) => (kind === wanted ? Math.max(most, n) : most), 0)
}

function marksOf(order: Column): Uint8Array {
  const marks = new Uint8Array(order.length)
  markBoundaries(placesTo(order.length), { from: 0, to: marks.length }, { order }, marks)
  return marks
}
