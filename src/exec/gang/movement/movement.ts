/** The movement of a loop's passes, which follows from who has which elements before each: found once for each such state, as passes repeat. */
import type { Storage } from '../../../core/arrays/storage.ts'
import { sameItems } from '../../../core/sameItems.ts'
import type { BlockSchedule } from '../../loops/blocks/schedule.ts'
import { HOME, type Keeping, type Process } from './belongings.ts'
import { movesOf, type NodeMoves, type NumberedBox } from './moves.ts'
import type { VersionOf } from './needs.ts'
import { onlyFirst, type Placed, type Placement } from './placement.ts'
import { holdersIn, liesIn, type Residence, residenceOf } from './residence.ts'
import { type Cells, cellsOf, type Ends, firstHolders, type Holders, type Transfer, transfersOf } from './transfers.ts'

export interface Ranked {
  readonly rank: number
}

/** The boxes that a pass moves, and the residences of arrays after it. */
export interface Movement<Other extends Ranked = Ranked> {
  readonly nodes: readonly NodeMoves[]
  /** The boxes that come to this process before the pass, by the process that has them. */
  readonly fetches: ReadonlyMap<Other, readonly NumberedBox[]>
  readonly residences: ReadonlyMap<Storage, Residence<Process>>
}

type Boxed = Extract<Placed, { readonly kind: 'boxes' }>

/** The most movements that are remembered for a loop. */
const MOST_MOVEMENTS = 64

export class Movements<Other extends Ranked> {
  readonly #keeping: Keeping
  readonly #blocks: BlockSchedule
  readonly #placement: Placement
  readonly #others: readonly Other[]
  /** The movements that were found, by the holders of elements before the pass. */
  readonly #known = new Map<string, Movement<Other>>()
  /** The last movement, with the residences that it was found by: passes that repeat begin with what the one before has left. */
  #last:
    | { readonly ends: Ends; readonly found: readonly (Residence<Process> | undefined)[]; readonly movement: Movement<Other> }
    | undefined
  /** The last refinement of an array's cells by the bounds of its residence. */
  readonly #refined = new Map<Boxed, Cells>()

  constructor(keeping: Keeping, blocks: BlockSchedule, placement: Placement, others: readonly Other[]) {
    this.#keeping = keeping
    this.#blocks = blocks
    this.#placement = placement
    this.#others = others
  }

  next(versionOf: VersionOf, ends: Ends): Movement<Other> {
    const { arrays } = this.#placement
    const processes: readonly Process[] = [HOME, ...this.#others]
    const boxed = arrays.filter((placed): placed is Boxed => placed.kind === 'boxes' && placed.cells.bounds.length > 0)
    const found = boxed.map(({ storage }) => this.#keeping.belongings.residence(this.#keeping.numberOf(storage), versionOf(storage)))
    if (this.#last?.ends === ends && sameItems(this.#last.found, found)) return this.#last.movement
    const movement = this.#movement(boxed, found, processes, ends)
    this.#last = { ends, found, movement }
    return movement
  }

  #movement(
    boxed: readonly Boxed[],
    found: readonly (Residence<Process> | undefined)[],
    processes: readonly Process[],
    ends: Ends,
  ): Movement<Other> {
    const { order, touching } = this.#placement
    const before = boxed.map((placed, i) => this.#before(placed, found[i], processes))
    const states = before.map(({ cells, holders }) => `${cells.bounds.join('|')} ${Buffer.from(holders).toString('latin1')}`)
    const key = [ends, ...states].join('\n')
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const residences = new Map<Storage, Residence<Process>>()
    const fetches = new Map<Other, NumberedBox[]>()
    const traffic = boxed.map(({ storage }, i): { readonly storage: number; readonly transfers: readonly Transfer[] } => {
      const { cells, holders } = before[i] as (typeof before)[number] // as many
      const moved = transfersOf(cells, touching, holders, ends)
      if ('because' in moved) return { storage: 0, transfers: [] } // as `placedAs` has found some
      residences.set(storage, residenceOf(cells.bounds, moved.holders, { processes, home: HOME, shape: storage.shape }))
      const number = this.#keeping.numberOf(storage)
      for (const { box, from } of moved.fetches) {
        const other = this.#others[from - 1] as Other // not from here
        fetches.set(other, [...(fetches.get(other) ?? []), { storage: number, box }])
      }
      return { storage: number, transfers: moved.transfers }
    })
    const ranks = [0, ...this.#others.map(({ rank }) => rank)]
    const nodes = movesOf(this.#blocks, order.owners, ranks.length, traffic).map((moves) => ({
      ...moves,
      sends: moves.sends.map((send) => ({ ...send, to: ranks[send.to] as number })), // of one of them
      together: moves.together.map(([to, count]) => [ranks[to] as number, count] as const),
    }))
    const movement = { nodes, fetches, residences }
    if (this.#known.size >= MOST_MOVEMENTS) this.#known.clear()
    this.#known.set(key, movement)
    return movement
  }

  /** Arrays that have to come home before the next pass: they lie elsewhere in cells that the placement does not know, or that are too many. */
  get unfit(): readonly Storage[] {
    return this.#placement.arrays.flatMap((placed) => {
      if (placed.kind !== 'boxes') return placed.storage
      const residence = this.#keeping.belongings.away(this.#keeping.numberOf(placed.storage))
      return residence === undefined || this.#cut(placed, residence) !== undefined ? [] : placed.storage
    })
  }

  /** The cells of an array, refined where other processes have some of it and not all, and their holders. */
  #before(
    placed: Boxed,
    residence: Residence<Process> | undefined,
    processes: readonly Process[],
  ): { readonly cells: Cells; readonly holders: Holders } {
    const { cells } = placed
    const cut = residence === undefined ? undefined : this.#cut(placed, residence)
    if (residence === undefined || cut === undefined) return { cells, holders: firstHolders(cells.count, onlyFirst(processes.length)) }
    return { cells: cut, holders: holdersIn(residence, cut.bounds, processes) }
  }

  /** The cells of an array refined by the bounds of its residence; undefined where there would be too many. */
  #cut(placed: Boxed, residence: Residence<Process>): Cells | undefined {
    if (liesIn(residence, placed.cells.bounds)) return placed.cells
    const refined = this.#refined.get(placed)
    if (refined !== undefined && liesIn(residence, refined.bounds)) return refined
    const found = cellsOf(placed.touches, residence.bounds)
    if ('because' in found) return undefined
    this.#refined.set(placed, found)
    return found
  }
}
