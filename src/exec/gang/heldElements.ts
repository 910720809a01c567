/**
 * Elements of sparse arrays in a process that has those of its own blocks only, as loops go over them. When the process gets other blocks,
 * it keeps what it has of them, and rank 0 sends the rest.
 */
import { ARRAY_OF_DTYPE, type SparseStorage } from '../../core/arrays/storage.ts'
import type { TypedArray } from '../../core/data/column.ts'
import type { DType } from '../../core/data/schema.ts'
import { Bug } from '../../core/errors.ts'
import { freeStorage, leaseOf, ownBlocks } from '../arrays/storageBlocks.ts'
import type { Arena } from '../memory/arena.ts'
import { bytesOf } from './movement/changes.ts'
import type { ElementsHead, ElementsLayout } from './movement/elements.ts'

/** Elements in the order of blocks. They stay where they are as long as a loop uses them. */
interface Elements {
  readonly storage: SparseStorage
  readonly positions: Int32Array | undefined
  readonly arrays: readonly TypedArray[]
  readonly layout: ElementsLayout
  users: number
}

export interface UsedElements extends Pick<Elements, 'storage' | 'positions'> {
  /** Ends the use. */
  readonly leave: () => void
}

export class HeldElements {
  readonly #arena: Arena
  readonly #known = new Map<number, Elements>()

  constructor(arena: Arena) {
    this.#arena = arena
  }

  get numbers(): readonly number[] {
    return [...this.#known.keys()]
  }

  take({ elements: number, layout, runs }: ElementsHead, parts: readonly Uint8Array[]): void {
    if (layout !== undefined) this.#lay(number, layout)
    const { arrays } = this.#elements(number)
    for (const [i, [place, length]] of runs.entries())
      for (const [j, array] of arrays.entries())
        bytesOf(array.subarray(place, place + length)).set(parts[i * arrays.length + j] as Uint8Array) // a part for each
  }

  /** The elements for a loop that is defined over them. */
  use(number: number): UsedElements {
    const elements = this.#elements(number)
    elements.users++
    const leave = (): void => {
      elements.users--
      this.#freeUnused(number, elements)
    }
    return { ...elements, leave }
  }

  forget(number: number): void {
    const elements = this.#known.get(number)
    if (elements === undefined) return
    this.#known.delete(number)
    this.#freeUnused(number, elements)
  }

  #lay(number: number, layout: ElementsLayout): void {
    const before = this.#known.get(number)
    const elements = elementsOf(layout, this.#arena)
    if (before !== undefined) copyKept(before, elements)
    this.#known.set(number, elements)
    if (before !== undefined) this.#freeUnused(number, before)
  }

  #freeUnused(number: number, elements: Elements): void {
    if (elements.users === 0 && this.#known.get(number) !== elements) freeStorage(elements.storage)
  }

  #elements(number: number): Elements {
    const found = this.#known.get(number)
    if (found === undefined) throw new Bug(`Elements ${number} of a loop were not sent.`)
    return found
  }
}

function elementsOf(layout: ElementsLayout, arena: Arena): Elements {
  const { shape, types, hasPositions, sizes } = layout
  const length = sizes.reduce((sum, size) => sum + size, 0)
  const made: number[] = []
  const array = (dtype: DType): TypedArray => {
    const offset = arena.allocate(length * ARRAY_OF_DTYPE[dtype].BYTES_PER_ELEMENT, 'arrays of a gang')
    made.push(offset)
    return arena.view(dtype, offset, length)
  }
  try {
    const keys = shape.shape.map(() => array('i32') as Int32Array)
    const columns = types.map((type) => ({ type, length, values: array(type.kind as DType) })) // plain numbers, as rank 0 has seen
    const positions = hasPositions ? (array('i32') as Int32Array) : undefined
    const storage = ownBlocks<SparseStorage>({ kind: 'sparse', ...shape, length, keys, columns }, arena)
    if (positions !== undefined) leaseOf(storage)?.add(positions.byteOffset)
    const arrays = [...keys, ...columns.map(({ values }) => values), ...(positions === undefined ? [] : [positions])]
    return { storage, positions, arrays, layout, users: 0 }
  } catch (error) {
    for (const offset of made) arena.free(offset)
    throw error
  }
}

/** Copies the elements of blocks that are in both. */
function copyKept(before: Elements, after: Elements): void {
  const places = placesOf(before.layout)
  for (const [block, place] of placesOf(after.layout)) {
    const kept = places.get(block)
    if (kept === undefined) continue
    for (const [i, array] of after.arrays.entries())
      array.set((before.arrays[i] as TypedArray).subarray(kept.from, kept.to) as never, place.from) // of one class
  }
}

function placesOf({ blocks, sizes }: ElementsLayout): ReadonlyMap<number, { readonly from: number; readonly to: number }> {
  let place = 0
  return new Map(
    Array.from(blocks, (block, i) => {
      const from = place
      place += sizes[i] as number
      return [block, { from, to: place }] as const
    }),
  )
}
