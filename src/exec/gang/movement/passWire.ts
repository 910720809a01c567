/** What rank 0 says of a pass, and what comes back of it. */

import type { Storage } from '../../../core/arrays/storage.ts'
import type { Primitive } from '../../../core/ir/functionIr.ts'
import type { MadeSpec } from '../../arrays/makeArray.ts'
import type { ScannedSpec } from '../../arrays/scannedArray.ts'
import type { ShareResult } from '../../loops/callerPass.ts'
import { errorToWire } from '../../loops/failure.ts'
import type { LoopTaskResult } from '../../loops/loopTask.ts'
import type { AccumulatorPart } from '../../loops/reductions/accumulatorLog.ts'
import { type Lanes, rootsAmong } from '../../loops/reductions/reductionCopies.ts'
import type { Arena } from '../../memory/arena.ts'
import type { WireError } from '../../workers/wire.ts'
import { applyChanges, bytesOf, type Changes } from './changes.ts'
import type { Loads, Moves, NumberedBox, RowsHead } from './moves.ts'
import type { Sharing } from './shares.ts'

/** Head of `values`: the parts are the storage's buffers, or none for one that is only added to. */
export interface ValuesHead {
  readonly storage: number
  readonly shape: object
}

export interface RunHead {
  /** Of the pass, for its answer. */
  readonly run: number
  /** No pass with a smaller number is still to come. */
  readonly least: number
  readonly loop: string
  readonly pass: number
  /** Which of the pass's rounds, where it has some. */
  readonly round?: number
  readonly parameters: readonly Primitive[]
  /** Captured tables, where they are others than the last time. */
  readonly tables?: readonly ArrayLike<Primitive>[]
  /** The receiver's, where they are others than the last time. */
  readonly moves?: Moves
  /** Of served arrays, where they come while blocks run. */
  readonly loads?: Loads
  /** Whose elements of buffered arrays are whose, told with the first round. */
  readonly sharing?: PlacedSharing
}

export interface PlacedSharing {
  readonly sharing: Sharing
  /** The receiver's. */
  readonly place: number
  /** Whether it has been told who reads what. */
  readonly knowsRows: boolean
}

/** Head of `boxes`: the part is what they hold. */
export interface BoxesHead {
  readonly boxes: readonly NumberedBox[]
}

/** Head of `make`: elements that the receiver makes by itself. */
export interface MakeHead {
  readonly spec: MadeSpec
  readonly boxes: readonly NumberedBox[]
}

/** Head of `fetch`, whose answer is a `done` with one part: what the boxes hold, or rows that the receiver knows. */
export interface FetchHead {
  readonly run: number
  readonly boxes?: readonly NumberedBox[]
  readonly rows?: RowsHead
  /** The receiver computes an array; the part is a digest of it, or nothing where it cannot. */
  readonly scan?: ScanHead
}

/** An array that its receiver computes. */
export interface ScanHead {
  readonly storage: number
  readonly spec: ScannedSpec
}

/**
 * Head of `done`: the parts are two for each region that is compared, the runs and the bytes of its changes, and last what goes back in
 * boxes. Of a round that is not the pass's last, the regions are the copies that are flushed after it, and the boxes none. Copies of shared
 * arrays are none of them, but in the end their elements of which the process is the owner.
 */
export interface DoneHead {
  readonly run: number
  readonly results: readonly LoopTaskResult[]
  /** That were sent to others than rank 0 during the pass, or to it. */
  readonly bytes: number
  /** Of these, since the pass began, of shared arrays. */
  readonly sharedBytes?: number
}

export interface FailedHead {
  readonly run: number
  readonly error: WireError
}

export interface ForgetHead {
  readonly loops: readonly string[]
  readonly storages: readonly number[]
}

type Region = ArrayBufferView & { readonly BYTES_PER_ELEMENT: number }

/** The elements of an array that a body can write. */
export function regionOf(storage: Storage): Region {
  return (storage.kind === 'dense' ? storage.data : (storage.columns[0]?.values ?? new Uint8Array(0))) as Region
}

/** How large that is, without asking for what does not lie here. */
export function sizeOfRegion(storage: Storage): Pick<Region, 'byteLength' | 'BYTES_PER_ELEMENT'> {
  if (storage.kind !== 'dense' || storage.parts === undefined) return regionOf(storage)
  const { length, lying } = storage.parts
  const { BYTES_PER_ELEMENT } = lying.data
  return { byteLength: length * BYTES_PER_ELEMENT, BYTES_PER_ELEMENT }
}

/** Of the copies of lanes `from` up to `to`, those in which everything is once what the tree joins among them was joined. */
export function regionsOfRoots(lanes: readonly Lanes[], from: number, to: number): readonly Region[] {
  return lanes.flatMap((one) => {
    const { data, touched, length } = one
    return neighbours(rootsAmong(one, [from, to])).flatMap(([first, end]) => [
      data.subarray(first * length, end * length) as Region,
      ...(touched === undefined ? [] : [touched.subarray(first * length, end * length)]),
    ])
  })
}

/** Numbers in their order as stretches of such as follow each other. */
function neighbours(numbers: readonly number[]): (readonly [from: number, to: number])[] {
  const starts = numbers.filter((number, i) => i === 0 || number !== (numbers[i - 1] as number) + 1)
  return starts.map((from, i) => [
    from,
    1 + (numbers[i + 1 < starts.length ? numbers.indexOf(starts[i + 1] as number) - 1 : numbers.length - 1] as number),
  ])
}

export function partsOfChanges(changes: readonly Changes[]): Uint8Array[] {
  return changes.flatMap(({ runs, bytes }) => [bytesOf(runs), bytes])
}

export function applyParts(regions: readonly Region[], parts: readonly Uint8Array[]): void {
  for (const [i, region] of regions.entries()) {
    const [runs, bytes] = [parts[2 * i] as Uint8Array, parts[2 * i + 1] as Uint8Array] // two a region
    applyChanges(region, { runs: new Float64Array(runs.buffer, runs.byteOffset, runs.length / 8), bytes })
  }
}

/** Results with all that they hold in ordinary memory; an error as text. */
export function sentResults(results: readonly ShareResult[], arena: Arena): LoopTaskResult[] {
  return results.map(({ passes, failure, thrown }) => {
    const own = passes.map((pass) => ({ ...pass, accumulators: pass.accumulators.map((part) => unleased(part, arena)) }))
    if (failure === undefined) return { passes: own }
    return { passes: own, failure: thrown === undefined ? failure : { ...failure, error: errorToWire(thrown) } }
  })
}

function unleased(part: AccumulatorPart, arena: Arena): AccumulatorPart {
  if (part.kind !== 'sum') return part
  const { values } = part
  const used = part.lengths.reduce((sum, length) => sum + Math.max(0, length), 0)
  const own =
    values instanceof Float64Array ? values.slice(0, used) : (arena.view('f64', values.offset, values.length) as Float64Array).slice()
  return { ...part, values: own }
}
