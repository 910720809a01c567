/**
 * What a window is, row by row and as dull as can be: the partition of the row, in order; of that the frame; of that the value. Quadratic.
 */
import type { Directions, WindowFrame } from '../src/core/plan/logicalPlan.ts'
import { compareSortKeys, equal, extreme, treeSum, unified } from './reference.ts'

type F = (row: unknown) => unknown

export interface DullWindow {
  readonly by?: F
  readonly orderBy?: F
  readonly descending: Directions
  readonly frame: WindowFrame
  readonly calls: readonly {
    readonly name: string
    readonly kind: string
    readonly of?: F
    readonly n?: number
    readonly ignoresNulls?: true
    readonly isBigint?: boolean
  }[]
}

interface Member {
  readonly at: number
  readonly order: unknown
}

/** The new columns of each row, by name. */
export function windowed(rows: readonly unknown[], window: DullWindow): readonly Readonly<Record<string, unknown>>[] {
  const { by, orderBy, descending, calls } = window
  const keys = unified(rows.map((row) => by?.(row)))
  const orders = rows.map((row) => orderBy?.(row) ?? null)
  const partitions: Member[][] = []
  for (const [at, key] of keys.entries()) {
    const partition = partitions.find(([first]) => first !== undefined && equal(keys[first.at], key))
    if (partition === undefined) partitions.push([{ at, order: orders[at] }])
    else partition.push({ at, order: orders[at] })
  }
  const columns = calls.map(({ of }) => (of === undefined ? undefined : unified(rows.map(of))))
  const bigints = calls.map((call, c) => call.isBigint === true || columns[c]?.some((value) => typeof value === 'bigint') === true)
  const out: Record<string, unknown>[] = rows.map(() => ({}))
  for (const partition of partitions) {
    const members = partition.sort((a, b) => compareSortKeys(a.order, b.order, descending))
    for (const i of members.keys()) {
      const [start, end] = frameOf(members, i, window)
      for (const [c, call] of calls.entries()) {
        const valueAt = (place: number): unknown => {
          const member = members[place]
          return member === undefined ? null : (columns[c]?.[member.at] ?? null)
        }
        const row = out[(members[i] as Member).at] as Record<string, unknown>
        row[call.name] = cellOf(
          { ...call, isBigint: bigints[c] === true },
          {
            i,
            members,
            start,
            end,
            isWholeStart: window.frame.from === null,
            isPeer: peersOf(members, window),
            valueAt,
          },
        )
      }
    }
  }
  return out
}

type Peers = (a: number, b: number) => boolean

function peersOf(members: readonly Member[], { orderBy, descending }: DullWindow): Peers {
  return (a, b) => orderBy === undefined || compareSortKeys(members[a]?.order, members[b]?.order, descending) === 0
}

function frameOf(members: readonly Member[], i: number, window: DullWindow): readonly [number, number] {
  const { from, to, kind } = window.frame
  const isPeer = peersOf(members, window)
  const inside = (place: number): boolean => {
    if (kind === 'rows') return (from === null || place - i >= from) && (to === null || place - i <= to)
    const [own, other] = [numberOf(members[i]?.order), numberOf(members[place]?.order)]
    const sign = window.descending === true ? -1 : 1
    const isFar = Number.isNaN(own) || Number.isNaN(other)
    const before = from === null || (isFar ? isPeer(i, place) || place > i : sign * other >= sign * own + from)
    const after = to === null || (isFar ? isPeer(i, place) || place < i : sign * other <= sign * own + to)
    if (isFar && from !== null && to !== null) return isPeer(i, place)
    return before && after
  }
  const places = [...members.keys()].filter(inside)
  return places.length === 0 ? [i, i] : [places[0] as number, (places.at(-1) as number) + 1]
}

/** What distances are measured of. */
function numberOf(order: unknown): number {
  if (order instanceof Date) return order.getTime()
  return typeof order === 'number' ? order : Number.NaN
}

interface Place {
  readonly i: number
  readonly members: readonly Member[]
  readonly start: number
  readonly end: number
  readonly isWholeStart: boolean
  readonly isPeer: Peers
  readonly valueAt: (place: number) => unknown
}

function cellOf(call: DullWindow['calls'][number], { i, members, start, end, isWholeStart, isPeer, valueAt }: Place): unknown {
  const before = () => [...members.keys()].filter((place) => place < i && !isPeer(place, i))
  const places = [...members.keys()].slice(start, end)
  const present = (all: readonly number[]): readonly number[] => all.filter((place) => valueAt(place) !== null)
  switch (call.kind) {
    case 'rowNumber':
      return i + 1
    case 'rank':
      return before().length + 1
    case 'denseRank':
      return before().filter((place) => place === 0 || !isPeer(place - 1, place)).length + 1
    case 'percentRank':
      return members.length === 1 ? 0 : before().length / (members.length - 1)
    case 'ntile': {
      const n = call.n ?? 1
      const sizes = Array.from({ length: n }, (_, tile) => Math.floor(members.length / n) + (tile < members.length % n ? 1 : 0))
      let tile = 0
      for (let left = i; left >= (sizes[tile] as number); tile++) left -= sizes[tile] as number
      return tile + 1
    }
    case 'lag':
      return valueAt(i - (call.n ?? 1))
    case 'lead':
      return valueAt(i + (call.n ?? 1))
    case 'firstValue':
    case 'lastValue': {
      const seen = call.ignoresNulls === true ? present(places) : places
      const place = call.kind === 'firstValue' ? seen[0] : seen.at(-1)
      return place === undefined ? null : valueAt(place)
    }
    case 'count':
      return call.of === undefined ? places.length : present(places).length
    case 'min':
    case 'max':
      return extreme(present(places).map(valueAt), call.kind)
    default: {
      const frame = present(places)
      const sum = sumOf(frame, present([...members.keys()]), { isWholeStart, valueAt, isBigint: call.isBigint === true })
      return call.kind === 'sum' ? sum : frame.length === 0 ? null : (sum as number) / frame.length
    }
  }
}

/** The documented sum of a frame: see `exec/tables/windows/frameSums.ts`. */
function sumOf(
  frame: readonly number[],
  all: readonly number[],
  { isWholeStart, valueAt, isBigint }: Pick<Place, 'isWholeStart' | 'valueAt'> & { readonly isBigint: boolean },
): number | bigint {
  const values = frame.map(valueAt)
  if (isBigint || typeof values[0] === 'bigint') return (values as bigint[]).reduce((a, b) => a + b, 0n)
  const numbers = values as number[]
  if (isWholeStart) return treeSum(numbers)
  if (numbers.length <= 16) return numbers.reduce((a, b) => a + b, 0)
  const first = all.indexOf(frame[0] as number)
  const twos = (place: number): number => (place === 0 ? Infinity : place % 2 === 1 ? 0 : 1 + twos(place / 2))
  const places = numbers.map((_, k) => first + k).slice(1)
  const pivot = places.reduce((best, place) => (twos(place) > twos(best) ? place : best)) - first
  const behind = numbers.slice(pivot).reduce((a, b) => a + b, 0)
  return numbers.slice(0, pivot).reduceRight((a, b) => a + b, 0) + behind
}
