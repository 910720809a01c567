/**
 * Served arrays: a loop's processes are sent only the elements that their blocks read, from the second version of an array on; in a pass in
 * rounds, from its first flush on.
 */
import type { DenseStorage, Storage } from '../../../../core/arrays/storage.ts'
import { defined } from '../../../../core/defined.ts'
import type { BlockSchedule, IterationSpace } from '../../../loops/blocks/schedule.ts'
import type { LoopInputs } from '../../../loops/loopInputs.ts'
import type { Members, Other } from '../../members.ts'
import { HOME, type Process } from '../belongings.ts'
import { bringHome } from '../elsewhere.ts'
import { versionIn } from '../needs.ts'
import { labelIn, type Placement } from '../placement.ts'
import type { Residence } from '../residence.ts'
import { type Load, loadsOf, STRETCHES, stretchesOf, whyBefore } from './loads.ts'
import { countOfRows } from './rowCopies.ts'
import { cutRows, type ReadRows, type Rows, readBySlice, servedRowsOf, servedToken } from './servedRows.ts'

export interface ServedLoop {
  readonly inputs: LoopInputs
  readonly blocks: BlockSchedule
  readonly space: IterationSpace
  readonly placement: Placement
}

/** The rows of an array that each node is sent; `by` is the token of these rows, by which a node that knows them is found. */
export interface ServedArray {
  readonly by: string
  readonly rows: readonly Rows[]
  /** Whether all of the array is sent before the pass: the rows then tell which changes go where between its rounds. */
  readonly isFirst: boolean
  /** The rows that have to come here first, of an array that lies elsewhere. */
  readonly fetches?: ReadonlyMap<Other, Rows>
  /** The rows that are sent while blocks run. */
  readonly loads?: readonly Load[]
  /** The reason why all rows are sent before blocks run. */
  readonly because?: string
}

interface Left {
  readonly version: string
  readonly by: string
  readonly residence: Residence<Process>
}

export type Served = ReadonlyMap<Storage, ServedArray>

export const NOTHING_SERVED: Served = new Map()

export class ServedArrays {
  /** The version of each array that was sent last, and the number of versions so far. */
  readonly #sent = new Map<Storage, { readonly version: string; readonly count: number }>()
  #found: { readonly of: Placement; readonly by: string; readonly rows: ReadonlyMap<DenseStorage, ReadRows> | undefined } | undefined

  /** The arrays cut by `cutRows`, by the residence that they were cut at. */
  readonly #cuts = new WeakMap<Residence<Process>, { readonly of: string; readonly cut: ServedArray }>()
  /** The same for rows that are sent while blocks run. */
  readonly #loads = new WeakMap<object, { readonly of: string; readonly cut: ServedArray }>()
  #lastCut = 0
  /** The arrays whose elements a pass has left with their owners and readers. */
  readonly #left = new Map<Storage, Left>()

  /** Records that a pass has left elements with their owners, and with those whose blocks read them. */
  stays(storage: Storage, left: Left): void {
    this.#left.set(storage, left)
  }

  /** Bytes that the blocks of all other processes were found to read of an array; undefined where nobody has looked. */
  readBytes(storage: Storage): number | undefined {
    if (storage.kind !== 'dense') return undefined
    const own = this.#found?.rows?.get(storage)
    return own?.rows.slice(1).reduce((sum, rows) => sum + countOfRows(rows) * storage.data.BYTES_PER_ELEMENT, 0)
  }

  /** The arrays that a pass is served; brings home what the subscript slice reads. */
  async next(loop: ServedLoop, id: string, gang: Members, others: readonly Other[]): Promise<Served> {
    const { inputs, placement } = loop
    const slice = inputs.analyzed.served
    const arrays = slice === undefined ? [] : this.#wanted(loop, new Set(slice.touched.values()))
    const token = slice === undefined || arrays.length === 0 ? undefined : servedToken(slice, inputs)
    if (slice === undefined || token === undefined) return NOTHING_SERVED
    const by = `${id} ${token}`
    if (this.#found?.of !== placement || this.#found.by !== by) {
      const read = [...readBySlice(slice)].flatMap((name) => inputs.arrays.get(name)?.storage ?? [])
      await bringHome(gang, inputs.over.kind === 'storage' ? [...read, inputs.over.storage] : read)
      const { owners } = placement.order
      const world = placement.bounds.length - 1
      const stretches = { of: stretchesOf(loop.blocks, owners, world), most: STRETCHES }
      this.#found = { of: placement, by, rows: servedRowsOf(slice, inputs, { ...loop, owners, world, stretches }) }
    }
    const { rows } = this.#found
    const flushed = new Set<Storage>([...inputs.buffers.values()].map((one) => one.storage))
    return new Map(
      arrays.flatMap(({ storage, isFirst }) => {
        const own = rows?.get(storage)
        if (own === undefined) return []
        const one = { by, rows: own.rows, isFirst }
        if (this.#isLeft(storage, by, inputs, gang))
          return [[storage, { ...one, fetches: new Map(), because: 'what changes comes with each flush' }] as const]
        // owners of its elements have to be sent them from here
        if (flushed.has(storage)) return [[storage, { ...one, because: 'it changes between rounds' }] as const]
        const loaded = isFirst
          ? { ...one, because: 'all of it, the first time' }
          : this.#inStretches(storage, { ...one, ...own }, loop, gang, others)
        if (loaded.because === undefined) return [[storage, loaded] as const]
        return [[storage, { ...this.#asItLies(storage, one, gang, others), because: loaded.because }] as const]
      }),
    )
  }

  /** Whether every process still has the elements that its blocks read, and owners the rest; not where another loop's rows were sent since. */
  #isLeft(storage: Storage, by: string, inputs: LoopInputs, gang: Members): boolean {
    const left = this.#left.get(storage)
    if (left === undefined) return false
    const { version, residence } = left
    const number = gang.numberOf(storage)
    const has = (process: Process): boolean => {
      const held = process === HOME ? left : gang.belongings.held(process, number)
      return held?.version === version && held.by === by
    }
    return version === versionIn(inputs, storage) && gang.belongings.away(number) === residence && [...residence.has.keys()].every(has)
  }

  /** Plans rows to go from processes that have them to readers while blocks run; without `loads`, and with a reason, where that is not worth it. */
  #inStretches(
    storage: DenseStorage,
    { stretches, ...one }: ServedArray & ReadRows,
    { inputs, placement }: ServedLoop,
    gang: Members,
    others: readonly Other[],
  ): ServedArray {
    if (inputs.over.kind === 'storage' && inputs.over.storage === storage) return { ...one, because: 'the loop goes over it' }
    const residence = gang.belongings.residence(gang.numberOf(storage), versionIn(inputs, storage))
    const key = residence ?? storage
    const known = this.#loads.get(key)
    if (known?.of === one.by) return known.cut
    const { bounds } = placement
    // a process that runs nothing of the loop sends nothing either
    const processes = ([HOME, ...others] as readonly Process[]).map((process, node) =>
      bounds[node] === bounds[node + 1] ? undefined : process,
    )
    const loads = loadsOf(storage, stretches, residence, processes)
    const because =
      loads === undefined ? 'some lie with who runs no block' : whyBefore(loads, storage.data.BYTES_PER_ELEMENT, gang.leastLoadBytes)
    const isLoaded = loads !== undefined && because === undefined
    const cut: ServedArray = isLoaded
      ? { ...one, by: `${one.by} ${++this.#lastCut}`, loads, fetches: new Map() }
      : { ...one, ...defined({ because }) }
    this.#loads.set(key, { of: one.by, cut })
    return cut
  }

  /** Has rows that others read come here first, where the array lies elsewhere and they are no more than half of it. */
  #asItLies(storage: DenseStorage, served: ServedArray, gang: Members, others: readonly Other[]): ServedArray {
    const residence = gang.belongings.away(gang.numberOf(storage))
    const count = served.rows.reduce((sum, rows) => sum + countOfRows(rows), 0)
    if (residence === undefined || served.isFirst || 2 * count > storage.data.length) return served
    const known = this.#cuts.get(residence)
    if (known?.of === served.by) return known.cut
    const by = `${served.by} ${++this.#lastCut}`
    const cut = { ...served, by, ...cutRows(storage, served.rows, residence, others) }
    this.#cuts.set(residence, { of: served.by, cut })
    return cut
  }

  /** The arrays to serve: they would be sent whole, and this is not the first time, or they change before the pass is over. */
  #wanted({ inputs, placement }: ServedLoop, touched: ReadonlySet<number>) {
    return placement.arrays.flatMap(({ kind, storage }): { readonly storage: DenseStorage; readonly isFirst: boolean }[] => {
      const version = this.#servedVersion(inputs, storage, touched)
      if (kind !== 'whole' || storage.kind !== 'dense' || version === undefined) return []
      const known = this.#sent.get(storage)
      const count = known?.version === version ? known.count : (known?.count ?? 0) + 1
      this.#sent.set(storage, { version, count })
      return count > 1 || placement.flushed.includes(storage) ? [{ storage, isFirst: count === 1 }] : []
    })
  }

  /** The version of an array; undefined where the slice does not tell all elements that are read of it, under whatever name. */
  #servedVersion({ over, arrays, buffers }: LoopInputs, storage: Storage, touched: ReadonlySet<number>): string | undefined {
    const all = [...(over.kind === 'storage' ? [over] : []), ...arrays.values(), ...buffers.values()]
    const own = all.filter((one) => one.storage === storage)
    return own.every(({ array }) => touched.has(array)) ? own[0]?.version?.() : undefined
  }
}

/** The sentences of explain() about served arrays. */
export function servedText(served: Served, placement: Placement): string {
  return [...served]
    .map(([storage, { rows, loads, because }]) => {
      const label = labelIn(placement, storage)
      const size = storage.kind === 'dense' ? storage.shape.reduce((product, extent) => product * extent, 1) : 0
      const counts = rows.slice(1).map(countOfRows)
      return ` Of ${label} the others are sent what their blocks read, ${counts.map((count) => count.toLocaleString('en-US')).join(' and ')} of ${size.toLocaleString('en-US')} elements, ${loads === undefined ? `before the pass: ${because}` : 'while blocks before them run'}.`
    })
    .join('')
}
