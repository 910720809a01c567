/**
 * An inspector that remembers its finding, which holds as long as nothing changes that the slice reads: arrays (by their
 * versions), captured numbers and tables, and the iteration space.
 */

import type { Primitive } from '../../../core/ir/functionIr.ts'
import type { SubscriptSlice } from '../../../core/loop/loopSpec.ts'
import { sameItems } from '../../../core/sameItems.ts'
import type { LoopInputs } from '../loopInputs.ts'
import type { Finding } from './finding.ts'
import { inspect, type Turns } from './inspect.ts'

interface Remembered {
  readonly slice: SubscriptSlice
  /** Versions of the arrays that the slice reads, and shapes. */
  readonly data: string
  /** The slice's body and captured numbers, as text. */
  readonly program: string
  readonly tables: readonly (readonly Primitive[])[]
  /** Key columns of a sparse space; other spaces are in the key. */
  readonly keys: readonly Int32Array[]
  readonly finding: Finding
}

export class Inspector {
  #last: Remembered | undefined

  /** The finding for a colored loop; undefined for others. `versionOf` tells an array's contents by its identity. */
  async finding(inputs: LoopInputs, versionOf: (array: number) => string, turns: Turns): Promise<Finding | undefined> {
    const { slice, schedule } = inputs.analyzed
    if (schedule.kind !== 'colored' || slice === undefined) return undefined
    const data = dataOf(inputs, versionOf)
    const keys = inputs.over.kind === 'storage' && inputs.over.storage.kind === 'sparse' ? inputs.over.storage.keys : []
    const last = this.#last
    // A loop whose captures did not change is analysed once, and its slice is the same object.
    const program = last?.slice === slice ? last.program : programOf(slice)
    const isSame = last?.data === data && last.program === program && sameTables(last.tables, slice.ir.tables) && sameItems(last.keys, keys)
    if (last !== undefined && isSame) {
      this.#last = { ...last, slice }
      return last.finding
    }
    const finding = await inspect(inputs, turns)
    this.#last = { slice, data, program, tables: slice.ir.tables.map(({ value }) => Array.from(value)), keys, finding }
    return finding
  }
}

/** The versions and shapes of the arrays; of those that the loop writes the shapes alone, as its slice does not read them. */
function dataOf({ analyzed, arrays, over }: LoopInputs, versionOf: (array: number) => string): string {
  const written = new Set(analyzed.writtenArrays)
  const all = [...arrays.values(), ...(over.kind === 'storage' ? [over] : [])]
  const versions = all.map(({ array }) => (written.has(array) ? '' : versionOf(array)))
  const shapes = all.map(({ storage }) => (storage.kind === 'table' ? [storage.length] : storage.shape))
  return [versions.join(), shapes.join(';'), over.kind === 'range' ? over.extents.join() : ''].join('|')
}

function programOf({ ir }: SubscriptSlice): string {
  const parameters = ir.parameters.map(({ value }) => `${typeof value} ${Object.is(value, -0) ? '-0' : String(value)}`)
  return JSON.stringify([parameters, ir.body], (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value))
}

function sameTables(a: readonly (readonly Primitive[])[], b: readonly { readonly value: ArrayLike<Primitive> }[]): boolean {
  return (
    a.length === b.length &&
    a.every((table, i) => table.length === b[i]?.value.length && table.every((value, k) => Object.is(value, b[i]?.value[k])))
  )
}
