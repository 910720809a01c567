/** The arrays that a pass needs, in the version that they have here, and the record of what processes have when it is over. */

import type { DenseStorage, Storage } from '../../../core/arrays/storage.ts'
import { defined } from '../../../core/defined.ts'
import type { MadeSpec } from '../../arrays/makeArray.ts'
import type { LoopInputs } from '../../loops/loopInputs.ts'
import { bytesOfStorage } from '../storageWire.ts'
import { HOME, holderOf, type Keeping, type Needed, type Process } from './belongings.ts'
import { bytesOfBox } from './boxWire.ts'
import type { NodeMoves } from './moves.ts'
import type { Placement } from './placement.ts'
import { missingCells, type Residence } from './residence.ts'
import { type Box, boxesOfCells } from './transfers.ts'

/** Of an array of which nobody knows whether the next pass touches the same elements. */
const NOT_KNOWN = 'not known'

export type VersionOf = (storage: Storage) => string | undefined

/** The version that an array of a loop has now. */
export function versionIn(inputs: LoopInputs, storage: Storage): string | undefined {
  return inputOf(inputs, storage)?.version?.()
}

/** The description that a dense array of a loop was made by, while it is unchanged. */
export function madeIn(inputs: LoopInputs, storage: Storage): MadeSpec | undefined {
  return storage.kind === 'dense' ? inputOf(inputs, storage)?.made?.() : undefined
}

/** The description by which other processes compute an array of a loop from files. */
export function scannedIn(inputs: LoopInputs, storage: Storage): Needed['scanned'] {
  return inputOf(inputs, storage)?.scanned
}

function inputOf({ over, arrays, buffers }: LoopInputs, storage: Storage) {
  const inputs = [...(over.kind === 'storage' ? [over] : []), ...arrays.values(), ...buffers.values()]
  return inputs.find((input) => input.storage === storage)
}

/**
 * A token of what decides on the elements that an iteration may touch: captured values, and arrays whose values are promised to be distinct;
 * undefined where these have no version. Iterations do not read what others write while it is the same, whatever arrays hold. When it
 * changes, as the colour of points that a pass goes over, they do.
 */
function reachToken({ analyzed: { ir, spec }, arrays }: LoopInputs): string | undefined {
  const promised = (spec.options.assume?.distinct ?? []).map((name) => arrays.get(name)?.version?.())
  if (promised.includes(undefined)) return undefined
  const captured = (ir?.parameters ?? []).map(({ value }) => `${typeof value} ${Object.is(value, -0) ? '-0' : value}`)
  return JSON.stringify([...promised, ...captured])
}

/** The needs of a placed loop. `by` gives the token of the elements that blocks read, for arrays of which a process has only these. */
export function neededOf(
  { arrays }: Placement,
  versionOf: VersionOf,
  {
    inputs,
    by = () => undefined,
    made,
    scanned,
  }: {
    readonly inputs: LoopInputs
    readonly by?: VersionOf
    readonly made: (storage: Storage) => MadeSpec | undefined
    readonly scanned: (storage: Storage) => Needed['scanned']
  },
): Needed[] {
  return arrays.map((placed) => {
    const { kind, storage } = placed
    const reach = kind === 'compared' && !placed.isOwn ? (reachToken(inputs) ?? NOT_KNOWN) : undefined
    const needed = { storage, version: versionOf(storage), isShape: kind === 'added' || kind === 'boxes', ...defined({ reach }) }
    return { ...needed, ...defined({ by: by(storage), made: made(storage), scanned: scanned(storage) }) }
  })
}

/** The moves without elements that their receivers make by themselves before the pass. */
export function withoutMade(nodes: readonly NodeMoves[], isMade: (storage: number) => boolean): NodeMoves[] {
  return nodes.map((moves) => ({ ...moves, starts: moves.starts.filter(({ storage }) => !isMade(storage)) }))
}

/** The sentence of explain() about arrays that processes make by themselves. */
export function madeText(labels: ReadonlySet<string>): string {
  return labels.size === 0 ? '' : ` Each makes what it needs of ${[...labels].join(', ')} by itself, as it was described.`
}

/** Bytes of the boxes of an array that a process lacks. */
export function bytesMissing(missing: 'all' | readonly Box[], storage: Storage): number {
  if (missing === 'all') return bytesOfStorage(storage)
  return missing.reduce((sum, box) => sum + bytesOfBox({ storage: storage as DenseStorage, box }), 0) // parts of others are not known
}

/** Bytes of an array that lie elsewhere and not here. */
export function awayBytes(keeping: Keeping, storage: Storage): number {
  const residence = keeping.belongings.away(keeping.numberOf(storage))
  return residence === undefined ? 0 : bytesMissing(boxesOfCells(missingCells(residence, HOME), residence.bounds), storage)
}

export interface SettledLoop {
  readonly id: string
  readonly inputs: LoopInputs
  readonly placement: Placement
  /** The processes that take part, without this one. */
  readonly others: readonly object[]
}

/** Records what processes have after a pass, which wrote elements as their own blocks left them. Without `residences` it did not come to its end. */
export function settlePass(
  keeping: Keeping,
  { id, inputs, placement: { arrays }, others }: SettledLoop,
  needed: readonly Needed[],
  residences: ReadonlyMap<Storage, Residence<Process>> | undefined,
): void {
  const { belongings } = keeping
  const flushed = new Set<Storage>([...inputs.buffers.values()].map(({ storage }) => storage)) // into those in this process
  for (const placed of arrays) {
    const { storage, kind, isWritten } = placed
    const number = keeping.numberOf(storage)
    const { version, reach } = needed.find((one) => one.storage === storage) ?? {}
    const after = isWritten && version !== undefined ? afterOneWrite(version) : version
    // where no block touches any of an array, it lies where it lay
    const isTouched = kind !== 'boxes' || placed.cells.bounds.length > 0
    const residence = isTouched ? residences?.get(storage) : belongings.residence(number, version)
    if (isWritten || residence !== undefined) belongings.settle(number, after, residence)
    if (kind === 'added' || kind === 'boxes' || (kind === 'whole' && !isWritten)) continue
    const isCompared = residences !== undefined && kind === 'compared' && !flushed.has(storage)
    const isKnown = isCompared && version !== undefined && reach !== NOT_KNOWN
    for (const other of others) {
      if (belongings.held(other, number) === undefined) continue // a loss came before it was sent
      belongings.hold(other, number, isKnown ? { version: after, by: holderOf(id, { reach }) } : { version: undefined })
    }
  }
}

/** Records the residence of arrays whose elements stay with their owners. Returns those that the next pass can be served from where they lie. */
export function settleOwned(
  keeping: Keeping,
  { others, residences }: { readonly others: readonly object[]; readonly residences: ReadonlyMap<Storage, Residence<Process>> },
  needed: readonly Needed[],
): readonly (readonly [Storage, { readonly version: string; readonly by: string; readonly residence: Residence<Process> }])[] {
  const { belongings } = keeping
  return [...residences].flatMap(([storage, residence]) => {
    const { version, by } = needed.find((one) => one.storage === storage) ?? {}
    const after = version === undefined ? undefined : afterOneWrite(version)
    const number = keeping.numberOf(storage)
    belongings.settle(number, after, residence)
    if (after === undefined || by === undefined) return []
    for (const other of others) belongings.hold(other, number, { version: after, by })
    return [[storage, { version: after, by, residence }] as const]
  })
}

/** The version that an array has after it was written once: what `ArrayStore.version` gives after a pass. */
export function afterOneWrite(version: string): string | undefined {
  const [, array, count] = /^(\d+):(\d+)$/.exec(version) ?? []
  return count === undefined ? undefined : `${array}:${Number(count) + 1}`
}
