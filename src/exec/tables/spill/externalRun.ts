/**
 * Runs a wide operator whose inputs do not fit memory, part after part (`external.ts`).
 *
 *     exchange    rows of each side -> parts on disk, by hash or by ranges of the key
 *     work        a part of each side -> the operator, as one task; workers take several parts at a time
 *     exchange    numbered results -> parts on disk, by ranges of their numbers
 *     results     a part read and put in order
 *
 * A part that is too large is exchanged again. A join whose right side is small spills that side alone: pieces of the left side are
 * joined with it as they come.
 */
import type { PhysicalPlan, WideOperator } from '../../../planner/physical/physicalPlan.ts'
import type { AsofOperator } from '../asof/matches.ts'
import type { Result, Results } from '../dataset.ts'
import { concatBatches } from '../operators/batches.ts'
import { bytesOfBatches } from '../planRecord.ts'
import type { WindowOperator } from '../windows/windowColumns.ts'
import { WindowFold } from '../windows/windowFold.ts'
import { asofParts } from './asofParts.ts'
import { boundariesIfOrdered, boundariesOf, isOneKey } from './boundaries.ts'
import { BY_FIRST, type External, FIRST_COLUMN, HIDDEN, isComputedInPieces } from './external.ts'
import {
  type Exchanged,
  type ExternalServices,
  MOST_LEVELS,
  orderedPartsAgain,
  PARTS_AGAIN,
  partOf,
  type Source,
  TOO_LARGE,
} from './externalServices.ts'
import { bytesOf, type Part, piecesOf, type SpilledPart, segmentsIn } from './parts.ts'
import { withEachKeyOnce } from './repeatedKeys.ts'
import { numbersOf, type RowNumbers, type SpillBy } from './spillTask.ts'
import { folded, startsBetween, windowParts } from './windowPieces.ts'

/** Segments that are enough to find two rows of one key. */
const ENOUGH_SEGMENTS = 2

type Sorted = Extract<External, { kind: 'sorted' }>
type Hashed = Extract<External, { kind: 'hashed' }>

interface SortedParts extends Pick<Exchanged, 'rowsBefore'> {
  readonly parts: readonly Part[]
}

interface PartitionParts extends SortedParts, Pick<Exchanged, 'shape'> {
  readonly rows: number
}

export class ExternalRun {
  private readonly services: ExternalServices
  private readonly inputs: readonly PhysicalPlan[]
  private readonly operator: WideOperator
  constructor({ inputs, operator }: Extract<PhysicalPlan, { kind: 'WideExec' }>, services: ExternalServices) {
    this.services = services
    this.inputs = inputs
    this.operator = operator
  }

  results(external: External): Results {
    const [first] = this.inputs as [PhysicalPlan] // every wide operator has one
    switch (external.kind) {
      case 'sorted':
        return this.limited(this.sorted({ kind: 'plan', plan: first }, external), external.limit)
      case 'hashed':
        return this.hashed(external)
      case 'windowed':
        return this.windowed({ kind: 'plan', plan: first }, external.operator)
      case 'ranged':
        return this.joinedByRanges(external.operator)
    }
  }

  private async *limited(results: Results, limit = Number.POSITIVE_INFINITY): Results {
    let left = limit
    for await (const result of results) {
      yield result
      left -= rowsOf(result)
      if (left <= 0) return
    }
  }

  private async *sorted(source: Source, external: Sorted): Results {
    const { parts, rowsBefore } = await this.sortedParts(source, external, 0)
    yield* this.withoutHidden(withEachKeyOnce(this.services.streamed(parts, { rowsBefore }), rowsBefore, this.services.free))
  }

  /** The parts of an external sort: their results, one after another, are the sorted rows. */
  private async sortedParts(source: Source, external: Sorted, level: number): Promise<SortedParts> {
    const { partBytes } = this.services
    const { descending, key, numbered } = external
    const wanted = source.kind === 'spilled' ? orderedPartsAgain(bytesOf(source.rows.segments), partBytes) : this.services.partsInOrder
    const boundaries = boundariesOf(await this.services.sampled(source, key), descending, wanted)
    const { parts, shape, rowsBefore } = await this.services.exchanged(source, {
      by: boundaries === undefined ? { kind: 'whole' } : { kind: 'key', key, boundaries },
      ...(numbered && level === 0 ? { numbered } : {}),
    })
    const found: Part[] = []
    for (const [p, segments] of parts.entries()) {
      if (bytesOf(segments) === 0) continue
      const isOne = boundaries !== undefined && isOneKey(boundaries, p)
      const rows: SpilledPart = {
        ...{ kind: 'spilled', shape },
        segments: isOne && external.hasEachKeyOnce ? segmentsIn(segments).slice(0, ENOUGH_SEGMENTS) : segments,
      }
      if (isOne && external.keepsEqual) found.push(...piecesOf(rows, partBytes))
      else if (isOne || bytesOf(segments) <= TOO_LARGE * partBytes || level === MOST_LEVELS)
        found.push({ kind: 'worked', operator: external.operator ?? this.operator, sides: [rows] })
      else found.push(...(await this.sortedParts({ kind: 'spilled', rows }, external, level + 1)).parts)
    }
    return { parts: found, rowsBefore }
  }

  /** The results of a window that is one partition, in the order of its input. */
  private async *windowed(source: Source, operator: WindowOperator): Results {
    const { streamed, partsInOrder } = this.services
    const { parts, rowsBefore, rows, shape } = await this.partitionParts(source, operator, 0)
    if (operator.ordered) yield* this.inOrder(parts, BY_FIRST, { scalar: false, starts: startsBetween(rowsBefore, rows, partsInOrder) })
    else yield* streamed(parts.length > 0 ? parts : [{ kind: 'spilled', segments: [], shape }])
  }

  /** The sorted rows of a partition in pieces, each with the state carried from those before and the rows around it that its frames reach. */
  private async partitionParts(source: Source, operator: WindowOperator, level: number): Promise<PartitionParts> {
    const { streamed, partBytes, mostBytes, exchanged, free } = this.services
    const { by, ordered, descending } = operator
    const fold = new WindowFold(operator)
    if (!ordered) {
      const whole = source.kind === 'spilled' ? source.rows : partOf(await exchanged(source, { by: { kind: 'whole' } }), 0)
      const pieces = piecesOf(whole, partBytes)
      for await (const { batches, blocks } of streamed(pieces)) {
        fold.add(concatBatches(batches))
        free(blocks)
      }
      return { parts: windowParts(operator, fold, pieces, mostBytes), rowsBefore: [], rows: fold.rows, shape: whole.shape }
    }
    const at = by ? 1 : 0
    const sort: WideOperator = { kind: 'SortExec', descending, hiddenKey: at }
    const how = { kind: 'sorted', key: { from: 'hidden', at }, descending, keepsEqual: true, hasEachKeyOnce: false } as const
    const { parts, rowsBefore } = await this.sortedParts(source, { ...how, numbered: FIRST_COLUMN, operator: sort }, level)
    const { shape, ...sorted } = await exchanged({ kind: 'results', results: folded(streamed(parts), fold) }, { by: { kind: 'whole' } })
    const pieces = sorted.parts.flatMap(segmentsIn).map((segment): SpilledPart => ({ kind: 'spilled', segments: [segment], shape }))
    return { parts: windowParts(operator, fold, pieces, mostBytes), rowsBefore, rows: fold.rows, shape }
  }

  private async *joinedByRanges(operator: AsofOperator): Results {
    const [left, right] = this.inputs as readonly [PhysicalPlan, PhysicalPlan] // a join has two
    const parts = await asofParts(operator, { left: { kind: 'plan', plan: left }, right: { kind: 'plan', plan: right } }, this.services)
    yield* this.inOrder(parts, BY_FIRST, { scalar: false })
  }

  private async *withoutHidden(results: Results): Results {
    for await (const { batches, blocks } of results) yield { batches: batches.map(({ hidden: _, ...batch }) => batch), blocks }
  }

  private async *hashed(external: Extract<External, { kind: 'hashed' }>): Results {
    const { sides, place, inPieces, scalar } = external
    const [left, right] = this.inputs as [PhysicalPlan, PhysicalPlan?] // as many as there are sides
    const by = (side: number): SpillBy => ({
      kind: 'hash',
      key: sides[side]?.key ?? { from: 'hidden' },
      parts: this.services.parts,
      level: 0,
    })
    const exchanged: Exchanged[] = []
    if (right !== undefined) {
      const { numbered } = sides[1] ?? {}
      const second = await this.services.exchanged({ kind: 'plan', plan: right }, { by: by(1), ...(numbered && { numbered }) })
      if (inPieces && second.parts.reduce((sum, part) => sum + bytesOf(part), 0) <= this.services.heldBytes) {
        yield* this.joinedInPieces(left, second)
        return
      }
      exchanged.push(second)
    }
    const { numbered } = sides[0] ?? {}
    const first = await this.services.exchanged({ kind: 'plan', plan: left }, { by: by(0), ...(numbered && { numbered }) })
    const all = [first, ...exchanged]
    const operator = external.operator(first.shape.hidden ?? [])
    yield* this.inOrder(await this.workedParts(operator, all, external, 0), place, { scalar })
  }

  /** The parts of an operator by hash: their results together are all results; each is in the order of its numbers. */
  private async workedParts(
    operator: WideOperator,
    sides: readonly Exchanged[],
    external: Hashed,
    level: number,
  ): Promise<readonly Part[]> {
    const { partBytes } = this.services
    const found: Part[] = []
    for (let p = 0; p < Math.max(...sides.map(({ parts }) => parts.length)); p++) {
      const rows = sides.map(({ parts, shape }): SpilledPart => ({ kind: 'spilled', segments: parts[p] ?? [], shape }))
      const bytes = rows.reduce((sum, { segments }) => sum + bytesOf(segments), 0)
      if (bytes === 0) continue
      if (bytes <= TOO_LARGE * partBytes || level === MOST_LEVELS) {
        found.push({ kind: 'worked', operator, sides: rows })
        continue
      }
      const apart =
        operator.kind === 'WindowExec' ? await this.frequentKeysApart(operator, rows[0] as SpilledPart, external, level) : undefined // one side
      if (apart !== undefined) {
        found.push(...apart)
        continue
      }
      const again: Exchanged[] = []
      for (const [side, { key }] of external.sides.entries())
        again.push(
          await this.services.exchanged(
            { kind: 'spilled', rows: rows[side] as SpilledPart }, // as many as there are sides
            { by: { kind: 'hash', key, parts: PARTS_AGAIN, level: level + 1 } },
          ),
        )
      // rows of one key are never apart, so that cutting them further is in vain
      const whole = onlyPart(again)
      if (whole === undefined) found.push(...(await this.workedParts(operator, again, external, level + 1)))
      else found.push({ kind: 'worked', operator, sides: whole })
    }
    return found
  }

  /** The parts of a window's part with its large partitions apart, each in pieces; undefined where a sample of the keys shows no large one. */
  private async frequentKeysApart(
    operator: WindowOperator,
    rows: SpilledPart,
    external: Hashed,
    level: number,
  ): Promise<readonly Part[] | undefined> {
    if (!isComputedInPieces(operator)) return undefined
    const source = { kind: 'spilled', rows } as const
    const boundaries = boundariesIfOrdered(await this.services.sampled(source, HIDDEN), PARTS_AGAIN)
    if (boundaries?.before.includes(1) !== true) return undefined
    const exchanged = await this.services.exchanged(source, { by: { kind: 'key', key: HIDDEN, boundaries } })
    const found: Part[] = []
    for (const [p, segments] of exchanged.parts.entries()) {
      if (bytesOf(segments) === 0) continue
      const part = partOf(exchanged, p)
      if (isOneKey(boundaries, p) && bytesOf(segments) > this.services.partBytes)
        found.push(...(await this.partitionParts({ kind: 'spilled', rows: part }, operator, 1)).parts)
      else found.push(...(await this.workedParts(operator, [{ ...exchanged, parts: [segments] }], external, level + 1)))
    }
    return found
  }

  /** The result with all blocks it lies in: columns that are only handed on lie in the blocks of the inputs. */
  private with({ batches, blocks }: Result, inputs: readonly Result[]): Result {
    const used = this.services.kept(
      inputs.flatMap((input) => input.blocks),
      batches,
    )
    return { batches, blocks: [...blocks, ...used] }
  }

  /** Joins pieces of the left side, as they come, with the whole right side. */
  private async *joinedInPieces(left: PhysicalPlan, { parts, shape }: Exchanged): Results {
    const { heldBytes, free } = this.services
    const right = await this.services.read({ kind: 'spilled', segments: parts.flatMap(segmentsIn), shape })
    const held: Result[] = []
    const joined = async (): Promise<Result> => {
      const pieces = held.splice(0)
      const result = await this.services.work(this.operator, [pieces.flatMap(({ batches }) => batches), right.batches])
      return this.with(result, pieces)
    }
    let bytes = 0
    let any = false
    for await (const piece of this.services.results(left)) {
      held.push(piece)
      bytes += bytesOfBatches(piece.batches)
      if (bytes < heldBytes / 2) continue
      bytes = 0
      any = true
      yield await joined()
    }
    if (held.length > 0 || !any) yield await joined()
    free(right.blocks)
  }

  /** The numbered results of parts, in the order of their numbers. */
  private async *inOrder(
    worked: readonly Part[],
    place: RowNumbers,
    { scalar, starts: known }: { readonly scalar: boolean; readonly starts?: Float64Array },
  ): Results {
    const starts = known ?? (await this.startsOf(worked, place))
    const { parts, shape } = await this.services.exchanged({ kind: 'parts', parts: worked }, { by: { kind: 'number', starts, place } })
    const filled = parts.filter((segments) => bytesOf(segments) > 0)
    yield* this.services.streamed(
      (filled.length === 0 ? [[]] : filled).map((segments) => ({ kind: 'spilled', segments, shape, inOrder: { place, scalar } })),
    )
  }

  /** The numbers at which parts of about equal size begin, from a sample: the first result with rows, which is that of some of the keys. */
  private async startsOf(worked: readonly Part[], place: RowNumbers): Promise<Float64Array> {
    const { partsInOrder: parts } = this.services
    for await (const { batches, blocks } of this.services.streamed(worked, { limited: true })) {
      const numbers = numbersOf(concatBatches(batches), place).slice().sort()
      this.services.free(blocks)
      if (numbers.length === 0) continue
      const found = Array.from({ length: parts - 1 }, (_, p) => numbers[Math.floor(((p + 1) * numbers.length) / parts)] as number) // p + 1 < parts
      return Float64Array.from(new Set(found))
    }
    return new Float64Array()
  }
}

function rowsOf({ batches }: Result): number {
  return batches.reduce((sum, { length }) => sum + length, 0)
}

/** The part of each side, where all rows of all sides are in one part; else undefined. */
function onlyPart(sides: readonly Exchanged[]): readonly SpilledPart[] | undefined {
  const filled = new Set(sides.flatMap(({ parts }) => parts.flatMap((segments, p) => (bytesOf(segments) > 0 ? [p] : []))))
  const [only] = filled
  if (only === undefined || filled.size > 1) return undefined
  return sides.map(({ parts, shape }) => ({ kind: 'spilled', segments: parts[only] ?? [], shape }))
}
