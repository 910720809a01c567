/** The messages by which rank 0 asks for a pass, and those that answer it. */

import type { Storage } from '../../../core/arrays/storage.ts'
import { GangError } from '../../../core/errors.ts'
import type { Primitive } from '../../../core/ir/functionIr.ts'
import { isError } from '../../../core/isError.ts'
import type { MadeSpec } from '../../arrays/makeArray.ts'
import type { ScannedSpec } from '../../arrays/scannedArray.ts'
import type { ShareResult } from '../../loops/callerPass.ts'
import { errorToWire } from '../../loops/failure.ts'
import type { LoopTaskResult } from '../../loops/loopTask.ts'
import type { AccumulatorPart } from '../../loops/reductions/accumulatorLog.ts'
import { type Lanes, rootsAmong } from '../../loops/reductions/reductionCopies.ts'
import type { Arena } from '../../memory/arena.ts'
import { type WireError, wireToError } from '../../workers/wire.ts'
import { applyChanges, bytesOf, type Changes } from './changes.ts'
import type { Loads, Moves, NumberedBox, RowsHead } from './moves.ts'
import type { Sharing } from './shares.ts'

/** Head of `values`: the parts are the storage's buffers, or none for one that is only added to. */
export interface ValuesHead {
  readonly storage: number
  readonly shape: object
}

export interface RunHead {
  /** The number of the pass, which its answer names. */
  readonly run: number
  /** No pass with a smaller number is still to come. */
  readonly least: number
  readonly loop: string
  readonly pass: number
  /** The number of the round, where the pass has several. */
  readonly round?: number
  readonly parameters: readonly Primitive[]
  /** Captured tables, where they differ from those that were sent last. */
  readonly tables?: readonly ArrayLike<Primitive>[]
  /** The receiver's moves, where they differ from those that were sent last. */
  readonly moves?: Moves
  /** The receiver's loads of served arrays, where rows come while blocks run. */
  readonly loads?: Loads
  /** The owners of the elements of buffered arrays, told with the first round. */
  readonly sharing?: PlacedSharing
}

export interface PlacedSharing {
  readonly sharing: Sharing
  /** The receiver's number among the owners. */
  readonly place: number
  /** Whether the receiver has been told which elements each process reads. */
  readonly knowsRows: boolean
}

/** Head of `boxes`: the part has the elements of the boxes. */
export interface BoxesHead {
  readonly boxes: readonly NumberedBox[]
}

/** Head of `make`: elements that the receiver makes by itself. */
export interface MakeHead {
  readonly spec: MadeSpec
  readonly boxes: readonly NumberedBox[]
}

/** Head of `fetch`, whose answer is a `done` with one part: the elements of the boxes, or of rows that the receiver knows. */
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
 * Head of `done`. The parts are two for each compared region, the runs and the bytes of its changes, and then one with the elements of boxes
 * that go home. In a round that is not the pass's last, the regions are the copies that are flushed after it, and there are no boxes. Shared
 * arrays have no region for their copies, but in the end one for the elements that the process owns.
 */
export interface DoneHead {
  readonly run: number
  readonly results: readonly LoopTaskResult[]
  /** Bytes of edges and shares that the process sent during the pass. */
  readonly bytes: number
  /** The part of `bytes` that was for shared arrays, since the pass began. */
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

/** The size of `regionOf`, found without bringing elements here. */
export function sizeOfRegion(storage: Storage): Pick<Region, 'byteLength' | 'BYTES_PER_ELEMENT'> {
  if (storage.kind !== 'dense' || storage.parts === undefined) return regionOf(storage)
  const { length, lying } = storage.parts
  const { BYTES_PER_ELEMENT } = lying.data
  return { byteLength: length * BYTES_PER_ELEMENT, BYTES_PER_ELEMENT }
}

/** The copies of lanes `from` up to `to` in which all updates are, once the fixed tree has joined these lanes as far as it can. */
export function regionsOfRoots(lanes: readonly Lanes[], from: number, to: number): readonly Region[] {
  return lanes.flatMap((one) => {
    const { data, touched, length } = one
    return neighbours(rootsAmong(one, [from, to])).flatMap(([first, end]) => [
      data.subarray(first * length, end * length) as Region,
      ...(touched === undefined ? [] : [touched.subarray(first * length, end * length)]),
    ])
  })
}

/** Groups ascending numbers into stretches of consecutive ones. */
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

/** Results that can be sent: all of their values in ordinary memory, an error as text. */
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

/** A process that could not run its part of a pass, as where memory did not suffice. */
export function failureOf(rank: number, { error }: FailedHead): GangError {
  const cause = wireToError(error)
  return new GangError(`Rank ${rank} could not run its part of the pass: ${isError(cause) ? cause.message : String(cause)}`, 'failed', {
    rank,
    cause,
  })
}
