/**
 * An as-of join without keys, part after part: both sides are exchanged by the same ranges of the order, and a part of the left side is
 * joined with the same part of the right side and the right rows next to it.
 *
 *     left     | 2 5 |     | 23 |        parts by ranges of the order
 *     right    | 1 3 | 12  |    |
 *     joined     with the 3 of the first part, and the 12 that comes before it where its own part has none
 *
 * From a part before, the last row of its greatest value is enough, and from one behind, the first row of its least: these two are its
 * ends. They also stand for a whole part whose rows all have one value.
 */
import type { AsofOperator } from '../asof/matches.ts'
import { boundariesIfOrdered, isOneKey } from './boundaries.ts'
import { FIRST_COLUMN, HIDDEN } from './external.ts'
import { type ExternalServices, MOST_LEVELS, PARTS_AGAIN, partOf, type Source, TOO_LARGE } from './externalServices.ts'
import { bytesOf, type Exchange, type Part, piecesOf, type SpilledPart, segmentsIn } from './parts.ts'
import type { Segment } from './segments.ts'

/** The rows of both sides in one range of the order. */
interface Range {
  readonly left: SpilledPart
  readonly right: SpilledPart
  /** Whether all rows of the range have one value of the order. */
  readonly isOne: boolean
}

/** The parts of the join, whose results together are all joined rows; each is in the order of the left rows' numbers. */
export async function asofParts(
  operator: AsofOperator,
  sides: { readonly left: Source; readonly right: Source },
  services: ExternalServices,
): Promise<readonly Part[]> {
  const ranges = await rangesOf(sides, services, 0)
  const ends = await endsOfEach(operator, ranges, services)
  return ranges.flatMap(({ left, right, isOne }, p): readonly Part[] => {
    if (bytesOf(left.segments) === 0) return []
    const before = ends.slice(0, p).findLast((segment) => segment !== undefined)
    const behind = ends.slice(p + 1).find((segment) => segment !== undefined)
    const own = isOne ? [ends[p]] : segmentsIn(right.segments)
    const segments = [before, ...own, behind].filter((segment) => segment !== undefined)
    return piecesOf(left, services.partBytes).map((piece) => ({ kind: 'worked', operator, sides: [piece, { ...right, segments }] }))
  })
}

async function rangesOf(
  { left, right }: { readonly left: Source; readonly right: Source },
  services: ExternalServices,
  level: number,
): Promise<readonly Range[]> {
  const samples = [...(await services.sampled(left, HIDDEN)), ...(await services.sampled(right, HIDDEN))]
  const boundaries = boundariesIfOrdered(samples, level === 0 ? services.partsInOrder : PARTS_AGAIN)
  const by: Exchange['by'] = boundaries === undefined ? { kind: 'whole' } : { kind: 'key', key: HIDDEN, boundaries }
  const first = await services.exchanged(left, { by, ...(level === 0 ? { numbered: FIRST_COLUMN } : {}) })
  const second = await services.exchanged(right, { by })
  const found: Range[] = []
  for (let p = 0; p < Math.max(first.parts.length, second.parts.length); p++) {
    const range: Range = {
      left: partOf(first, p),
      right: partOf(second, p),
      isOne: boundaries !== undefined && isOneKey(boundaries, p),
    }
    const isLarge = bytesOf(range.right.segments) > TOO_LARGE * services.partBytes
    if (isLarge && !range.isOne && level < MOST_LEVELS)
      found.push(
        ...(await rangesOf(
          { left: { kind: 'spilled', rows: range.left }, right: { kind: 'spilled', rows: range.right } },
          services,
          level + 1,
        )),
      )
    else found.push(range)
  }
  return found
}

/** The ends of each range's right rows; undefined where there are none. */
async function endsOfEach(
  operator: AsofOperator,
  ranges: readonly Range[],
  services: ExternalServices,
): Promise<readonly (Segment | undefined)[]> {
  const parts = ranges.map(({ right }): Part => ({ kind: 'worked', operator, sides: [right], isEnds: true }))
  const { parts: written, rowsBefore } = await services.exchanged({ kind: 'parts', parts }, { by: { kind: 'whole' } })
  const segments = [...written.flatMap(segmentsIn)]
  const rows = segments.reduce((sum, segment) => sum + segment.rows, 0)
  return rowsBefore.map((before, p) => ((rowsBefore[p + 1] ?? rows) > before ? segments.shift() : undefined))
}
