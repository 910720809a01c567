/** The arrays of which a loop's processes are sent what their blocks read, from the second version of an array on. */
import type { DenseStorage, Storage } from '../../core/storage.ts'
import type { BlockSchedule, IterationSpace } from '../loops/blockSchedule.ts'
import type { LoopInputs } from '../loops/loopInputs.ts'
import type { Placement } from './placement.ts'
import { countOfRows, type Rows, readBySlice, servedRowsOf, servedToken } from './servedRows.ts'

export interface ServedLoop {
  readonly inputs: LoopInputs
  readonly blocks: BlockSchedule
  readonly space: IterationSpace
  readonly placement: Placement
}

/** By array, what each node is sent, and what tells whether it knows which elements these are. */
export type Served = ReadonlyMap<Storage, { readonly by: string; readonly rows: readonly Rows[] }>

export const NOTHING_SERVED: Served = new Map()

export class ServedArrays {
  /** Versions of arrays that were sent. */
  readonly #sent = new Map<Storage, { readonly version: string; readonly count: number }>()
  #found: { readonly of: Placement; readonly by: string; readonly rows: ReadonlyMap<DenseStorage, readonly Rows[]> | undefined } | undefined

  /** What a pass is sent; `bring` is called for arrays that have to lie here for it. */
  async next(loop: ServedLoop, id: string, bring: (storages: readonly Storage[]) => Promise<void>): Promise<Served> {
    const { inputs, placement } = loop
    const slice = inputs.analyzed.served
    const arrays = slice === undefined ? [] : this.#again(loop, new Set(slice.touched.values()))
    const token = slice === undefined || arrays.length === 0 ? undefined : servedToken(slice, inputs)
    if (slice === undefined || token === undefined) return NOTHING_SERVED
    const by = `${id} ${token}`
    if (this.#found?.of !== placement || this.#found.by !== by) {
      await bring([...readBySlice(slice)].flatMap((name) => inputs.arrays.get(name)?.storage ?? []))
      const { owners } = placement.order
      const world = placement.bounds.length - 1
      this.#found = { of: placement, by, rows: servedRowsOf(slice, inputs, { ...loop, owners, world }) }
    }
    const { rows } = this.#found
    return new Map(
      arrays.flatMap((storage) => {
        const own = rows?.get(storage as DenseStorage) // of dense ones only
        return own === undefined ? [] : [[storage, { by, rows: own }] as const]
      }),
    )
  }

  /** Arrays that are read whole otherwise, and are not sent for the first time. */
  #again({ inputs, placement }: ServedLoop, touched: ReadonlySet<number>): Storage[] {
    return placement.arrays.flatMap(({ kind, storage, isWritten }) => {
      const input = [...inputs.arrays.values()].find((one) => one.storage === storage)
      if (kind !== 'whole' || isWritten || storage.kind !== 'dense' || input === undefined || !touched.has(input.array)) return []
      const version = input.version?.()
      if (version === undefined) return []
      const known = this.#sent.get(storage)
      const count = known?.version === version ? known.count : (known?.count ?? 0) + 1
      this.#sent.set(storage, { version, count })
      return count > 1 ? storage : []
    })
  }
}

/** What others are sent, for people. */
export function servedText(served: Served, placement: Placement): string {
  return [...served]
    .map(([storage, { rows }]) => {
      const label = placement.arrays.find((one) => one.storage === storage)?.label ?? ''
      const size = storage.kind === 'dense' ? storage.shape.reduce((product, extent) => product * extent, 1) : 0
      const counts = rows.slice(1).map(countOfRows)
      return ` Of ${label} the others are sent what their blocks read, ${counts.map((count) => count.toLocaleString('en-US')).join(' and ')} of ${size.toLocaleString('en-US')} elements.`
    })
    .join('')
}
