/**
 * Elements by portion: of a sparse array that a loop goes over, each process is sent those of its own blocks, in plan order.
 *
 *     by place, in rank 0     b0 | b1 | b2 | b3 | b4 | b5
 *     in another process      b1 | b2 | b5                    in messages of some megabytes, the first blocks first
 *
 * Legal where the body has nothing of the array but the element of its own iteration, and leaves it as it is: then no other element is
 * reached, and its place is of no account. Ranks that are positions in the whole array go along.
 */
import { createHash } from 'node:crypto'
import type { SparseStorage, Storage } from '../../../core/arrays/storage.ts'
import type { Column, TypedArray } from '../../../core/data/column.ts'
import { isPlain } from '../../loops/blocks/placedElements.ts'
import type { BlockSchedule } from '../../loops/blocks/schedule.ts'
import type { LoopInputs } from '../../loops/loopInputs.ts'
import type { Belongings, Keeping } from './belongings.ts'
import { bytesOf } from './changes.ts'

export interface PortionedElements {
  readonly label: string
  readonly storage: SparseStorage
  /** The object by which processes number these elements: one for all loops over the array that have the same elements in the same blocks. */
  readonly name: SparseStorage
  readonly byPlace: SparseStorage
  /** The position of each place's element; absent where ranks do not follow from it. */
  readonly positions: Int32Array | undefined
  readonly blocks: BlockSchedule
  /** The blocks of each process, in plan order. */
  readonly own: readonly Int32Array[]
}

/** The sparse array that a loop goes over, on the processes of a gang. */
export interface PlacedElements {
  /** Present where each process has the elements of its own blocks. */
  readonly elements?: PortionedElements
  /** The reason why all processes have all of it. */
  readonly whyWhole?: string
}

/** Head of `elements`: each run of places among the receiver's has a part for each of its arrays. */
export interface ElementsHead {
  readonly elements: number
  /** The blocks whose elements the receiver has from now on, where they are others than before. */
  readonly layout?: ElementsLayout
  readonly runs: readonly Run[]
}

export interface ElementsLayout {
  readonly shape: Pick<SparseStorage, 'shape' | 'element'>
  readonly types: readonly Column['type'][]
  readonly hasPositions: boolean
  readonly blocks: Int32Array
  /** The number of elements of each of these blocks. */
  readonly sizes: Int32Array
}

export type Run = readonly [place: number, length: number]

/** A message has room for so many parts of a run. */
const MOST_COLUMNS = 12

/** The elements of a loop that processes have by portion, or why they do not; undefined where the loop goes over no sparse array. */
export function elementsOf(
  { over, analyzed, arrays, buffers }: LoopInputs,
  {
    blocks,
    byPlace,
    owners,
    world,
  }: { readonly blocks: BlockSchedule; readonly byPlace: SparseStorage | undefined; readonly owners: Int32Array; readonly world: number },
): PortionedElements | { readonly because: string } | undefined {
  if (over.kind === 'range' || over.storage.kind !== 'sparse') return undefined
  const { storage } = over
  if (analyzed.writtenArrays.includes(over.array)) return { because: 'the loop writes it' }
  const isNamed = [...arrays.values(), ...buffers.values()].some((input) => input.storage === storage)
  if (isNamed) return { because: 'the body reads other elements of it as well' }
  if (over.scanned?.() !== undefined) return undefined // `scans.ts` has the text
  if (!storage.columns.every(isPlain) || storage.columns.length > MOST_COLUMNS) return { because: 'its elements are no plain numbers' }
  if (byPlace === undefined) return { because: 'there is no memory for its elements in the order of the blocks' }
  const numbers = Int32Array.from({ length: blocks.count }, (_, block) => block)
  return {
    label: analyzed.spec.over.label,
    storage,
    name: nameOf(storage, blocks),
    byPlace,
    positions: blocks.keyOrder ? blocks.order : undefined,
    blocks,
    own: Array.from({ length: world }, (_, node) => numbers.filter((block) => owners[block] === node)),
  }
}

interface Named {
  readonly digest: string
  readonly name: SparseStorage
}
const names = new WeakMap<SparseStorage, Named[]>()
const digests = new WeakMap<BlockSchedule, string>()
/** The cuts of an array of which processes have the elements at the same time: those that were used last. */
const MOST_NAMES = 8

function nameOf(storage: SparseStorage, blocks: BlockSchedule): SparseStorage {
  const digest = digests.get(blocks) ?? digestOf(blocks)
  digests.set(blocks, digest)
  const known = names.get(storage) ?? []
  const found = known.find((one) => one.digest === digest) ?? { digest, name: { ...storage } }
  names.set(storage, [found, ...known.filter((one) => one !== found)].slice(0, MOST_NAMES))
  return found.name
}

function digestOf({ from, to, order, keyOrder }: BlockSchedule): string {
  const hash = createHash('sha256').update(`${keyOrder} ${order !== undefined} ${from.length}`)
  for (const bounds of [from, to, ...(order === undefined ? [] : [order])]) hash.update(bytesOf(bounds))
  return hash.digest('hex')
}

/** The blocks whose elements of a version a process lacks, of those that it is to have. */
export function missingBlocks(
  belongings: Belongings,
  process: object,
  number: number,
  { version, own }: { readonly version: string | undefined; readonly own: Int32Array },
): Int32Array {
  const held = belongings.heldBlocks(process, number)
  if (held === undefined || version === undefined || held.version !== version) return own
  if (held.blocks === own) return own.subarray(0, 0)
  const has = new Set(held.blocks)
  return own.filter((block) => !has.has(block))
}

export function bytesOfBlocks(elements: PortionedElements, blocks: Int32Array): number {
  const width = arraysOf(elements).reduce((sum, { BYTES_PER_ELEMENT }) => sum + BYTES_PER_ELEMENT, 0)
  return blocks.reduce((sum, block) => sum + sizeOf(elements.blocks, block) * width, 0)
}

/** Bytes that processes lack; `others` are those of the nodes from 1 on. */
export function missingElementBytes(
  keeping: Keeping,
  others: readonly object[],
  { elements }: PlacedElements,
  versionOf: (storage: Storage) => string | undefined,
): number {
  if (elements === undefined) return 0
  const version = versionOf(elements.storage)
  const number = keeping.numberOf(elements.name)
  return others.reduce<number>((sum, other, i) => {
    const own = elements.own[i + 1] as Int32Array // one of each process
    return sum + bytesOfBlocks(elements, missingBlocks(keeping.belongings, other, number, { version, own }))
  }, 0)
}

/** The arrays that a process has of elements: keys, columns, and positions where ranks follow from them. */
export function arraysOf({ byPlace, positions }: Pick<PortionedElements, 'byPlace' | 'positions'>): readonly TypedArray[] {
  const columns = byPlace.columns.map(({ values }) => values as TypedArray) // of plain columns
  return [...byPlace.keys, ...columns, ...(positions === undefined ? [] : [positions])]
}

export function sizeOf({ from, to }: BlockSchedule, block: number): number {
  return (to[block] as number) - (from[block] as number)
}

/** The blocks of a loop as a process is told of them that has the elements of its own: the others are empty there. */
export function blocksWith(elements: PortionedElements, node: number): BlockSchedule {
  const { order: _, forms: __, ...blocks } = elements.blocks
  const own = new Set(elements.own[node])
  const [from, to] = [new Float64Array(blocks.count), new Float64Array(blocks.count)]
  let place = 0
  for (let block = 0; block < blocks.count; block++) {
    from[block] = place
    if (own.has(block)) place += sizeOf(elements.blocks, block)
    to[block] = place
  }
  return { ...blocks, from, to }
}

/** The sentence of explain() about the sparse array that a loop goes over. */
export function elementsText(placement: PlacedElements | undefined): string {
  if (placement?.elements !== undefined) return ` Each has of ${placement.elements.label} the elements of its own blocks.`
  return placement?.whyWhole === undefined ? '' : ` Each has all of what the loop goes over: ${placement.whyWhole}.`
}
