/** The choice of buffered arrays that the processes of a loop flush among them, and the owners of their elements. */
import type { DenseStorage, Storage } from '../../../core/arrays/storage.ts'
import { cutEqual } from '../../../core/loop/partitioning.ts'
import type { BlockSchedule } from '../../loops/blocks/schedule.ts'
import type { Lanes } from '../../loops/reductions/reductionCopies.ts'
import type { Process } from './belongings.ts'
import { sizeOfRegion } from './passWire.ts'
import type { Residence } from './residence.ts'
import { mostBytesOfCopies } from './rounds.ts'
import { type Rows, rowsWith } from './served/servedRows.ts'
import type { Sharing } from './shares.ts'

/** The least number of elements of a shared array: fewer are joined sooner than two messages have come. */
const LEAST_ELEMENTS = 2 ** 14

export interface SharingOptions {
  readonly blocks: BlockSchedule
  readonly lanes: readonly Lanes[]
  /** The arrays of which is known which elements each process reads. */
  readonly served: ReadonlyMap<Storage, unknown>
  /** The ranks that take part; `bounds` are their first lanes, and the number of lanes. */
  readonly ranks: readonly number[]
  readonly bounds: readonly number[]
  readonly numberOf: (storage: DenseStorage) => number
  /** Whether arrays are shared however few elements they have. */
  readonly isForced: boolean
  /** Numbers of the arrays whose updates are brought in by a function of the program that was not sent. */
  readonly appliedHere: ReadonlySet<number>
  /** Whether elements may stay with their owners. */
  readonly stays: boolean
}

/** The sharing of a pass; undefined where no array can be shared. A function that was not sent runs in one process, which then flushes all. */
export function sharingOf({
  blocks,
  lanes,
  served,
  ranks,
  bounds,
  numberOf,
  isForced,
  appliedHere,
  stays,
}: SharingOptions): Sharing | undefined {
  if (ranks.length < 2) return undefined
  const arrays = lanes.flatMap((one) => {
    const { target, length, late, apply, combine, flushEvery } = one
    // dividing whole numbers of 64 bits may throw, which the program's own process has to tell
    const areClosed = (combine === undefined && apply === undefined) || (target.dtype !== 'i64' && !appliedHere.has(numberOf(target)))
    const isPlain = areClosed && flushEvery === undefined
    const isInTime = (blocks.rounds === undefined) === (late === undefined)
    const isAlone = lanes.every((other) => other === one || other.target !== target)
    if (!isPlain || !isInTime || !isAlone || !served.has(target) || (length < LEAST_ELEMENTS && !isForced)) return []
    return [{ storage: numberOf(target), cuts: cutsOf(one, ranks.length), areRows: hasRows(target, ranks.length) }]
  })
  if (arrays.length === 0) return undefined
  const areRows = arrays.every((one) => one.areRows)
  return { ranks, lanes: bounds, arrays: arrays.map(({ storage, cuts }) => ({ storage, cuts })), stays: stays && areRows }
}

/** Whether each process may own some rows of the first axis. */
function hasRows({ shape }: DenseStorage, processes: number): boolean {
  return (shape[0] ?? 0) >= processes
}

function cutsOf({ target, length }: Lanes, processes: number): number[] {
  const [rows = 0] = target.shape
  if (!hasRows(target, processes)) return [...cutEqual(length, processes)]
  return [...cutEqual(rows, processes)].map((row) => row * (length / rows))
}

/** The residences after a pass of arrays whose elements stay with their owners; `processes` are these, in their order. */
export function residencesOf(
  { arrays }: Sharing,
  processes: readonly Process[],
  storageOf: (number: number) => DenseStorage,
): ReadonlyMap<Storage, Residence<Process>> {
  return new Map(
    arrays.map(({ storage: number, cuts }) => {
      const storage = storageOf(number)
      const { shape } = storage
      const rows = cuts.map((cut) => Math.round((cut * (shape[0] as number)) / (cuts.at(-1) as number))) // rows have a length each
      const bounds = shape.map((extent, axis) => (axis === 0 ? rows : [0, extent]))
      const has = processes.map((process, place) => [process, Uint8Array.from(processes, (_, cell) => (cell === place ? 1 : 0))] as const)
      return [storage, { bounds, has: new Map(has) }]
    }),
  )
}

/** The most bytes that sharing adds to a pass: updates of rank 0's lanes, sizes of waiting updates, elements for home or readers, and positions. */
export function mostSharedBytes({ blocks, lanes }: Pick<SharingOptions, 'blocks' | 'lanes'>, bounds: readonly number[]): number {
  const buffered = lanes.filter(({ late }) => (late !== undefined) === (blocks.rounds !== undefined))
  const rounds = (blocks.rounds?.length ?? 2) - 1
  const processes = bounds.length - 1
  const mostSizes = (one: Lanes): number => (one.late?.rest === undefined ? 0 : Math.min(one.length, processes * one.late.rounds.most))
  const sizes = 8 * (processes - 1) * buffered.reduce((sum, one) => sum + mostSizes(one), 0)
  const heads = 16 * processes * (blocks.laneCount + processes) * buffered.length
  return (
    rounds * (mostBytesOfCopies(buffered, bounds.slice(0, 2)) + heads + sizes) +
    Math.max(1, processes - 1) * buffered.reduce((sum, { target }) => sum + sizeOfRegion(target).byteLength, 0)
  )
}

/** Served arrays with the elements that each process owns added to its rows, as it flushes into them. `nodes` are those that take part. */
export function withOwned<T extends { readonly rows: readonly Rows[] }>(
  served: ReadonlyMap<Storage, T>,
  { arrays }: Sharing,
  { numberOf, nodes }: { readonly numberOf: (storage: DenseStorage) => number; readonly nodes: readonly number[] },
): ReadonlyMap<Storage, T> {
  return new Map(
    [...served].map(([storage, one]) => {
      const cuts = arrays.find((array) => storage.kind === 'dense' && array.storage === numberOf(storage))?.cuts
      if (cuts === undefined) return [storage, one]
      const rows = one.rows.map((own, node): Rows => {
        const place = nodes.indexOf(node)
        return place < 0 ? own : rowsWith(own, cuts[place] as number, cuts[place + 1] as number)
      })
      return [storage, { ...one, rows }]
    }),
  )
}
