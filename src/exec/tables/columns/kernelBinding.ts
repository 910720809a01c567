/** Binds column kernels to a table: fills their frames with addresses and captured numbers. */

import type { Column } from '../../../core/data/column.ts'
import type { FrameSlot } from '../../kernels/columns/columnTypes.ts'
import type { ColumnKernel } from '../../kernels/columns/wasmColumns.ts'
import { type FoldName, foldKernel } from '../../kernels/tables/foldKernels.ts'
import type { KernelModule } from '../../kir/kernelModule.ts'
import { putAddress } from '../../memory/addressWords.ts'
import type { Arena } from '../../memory/arena.ts'
import { moduleOf } from '../../wasm/moduleCache.ts'
import type { BoundKernel, SentKernel } from './sentKernel.ts'
import { codeOf, codesOf } from './texts/textCodes.ts'

/** A kernel that imports nothing but memory. */
export function sentModule(module: KernelModule, { addresses }: Arena): SentKernel {
  return { ...moduleOf(module, addresses), functions: [] }
}

const folds = new Map<string, SentKernel>()

export function sentFold(name: FoldName, { addresses }: Arena): SentKernel {
  const key = `${name} ${addresses}`
  let fold = folds.get(key)
  if (fold === undefined) folds.set(key, (fold = { key, module: moduleOf(foldKernel(name), addresses).module, functions: [] }))
  return fold
}

/** A buffer's address, 0 for an empty one; undefined where kernels cannot use it: it must begin a block of the arena, which ends at a multiple of 64 bytes. */
export function addressOf(buffer: ArrayBufferView | undefined, arena: Arena): number | undefined {
  if (buffer === undefined) return undefined
  if (buffer.byteLength === 0) return 0
  return arena.owns(buffer) && buffer.byteOffset % 64 === 0 ? buffer.byteOffset : undefined
}

/** The values of frame slots that the caller decides on. */
export interface Places {
  readonly bitmap?: number
  readonly counts?: number
  readonly inexact?: number
  /** The index of a column's first text in the program's dictionary, behind its constants. */
  readonly firstText?: (column: number) => number | undefined
  /** The address of a copy of a lookup table in the arena. */
  readonly table?: (data: Float64Array | Int32Array) => number
  /** For each part of a group's key where its places begin, how many there are, and the distance between neighbors. */
  readonly parts?: readonly { readonly base: number; readonly span: number; readonly stride: number }[]
  /** The addresses for an output's values, bitmap and counts of values that are not null; undefined where they change from block to block. */
  readonly outputs?: readonly ({ readonly values?: number; readonly validity?: number; readonly counts?: number } | undefined)[]
}

const OUTPUT_PART = { output: 'values', outputValidity: 'validity', outputCounts: 'counts' } as const

/** The kernel bound to these columns; undefined where a buffer lies outside the arena. */
export function boundKernel(kernel: ColumnKernel, columns: readonly Column[], places: Places, arena: Arena): BoundKernel | undefined {
  const frame = new Float64Array(kernel.slots.length)
  const words = new Int32Array(frame.buffer)
  const outputs: { values: number; validity?: number; counts?: number }[] = []
  const lists: number[] = []
  for (const [i, slot] of kernel.slots.entries()) {
    if (slot.kind === 'number') {
      frame[i] = slot.value
      continue
    }
    if (slot.kind === 'list') lists[slot.list] = i
    if ('output' in slot) outputs[slot.output] = { ...(outputs[slot.output] ?? { values: 0 }), [OUTPUT_PART[slot.kind]]: i }
    const address = slot.kind === 'table' ? places.table?.(slot.data) : placeOf(slot, columns, places, arena)
    if (address === undefined) return undefined
    putAddress(words, 2 * i, address)
  }
  const listed = kernel.slots.findIndex(({ kind }) => kind === 'listed')
  const appended = listed < 0 ? {} : { lists: { at: lists, listed } }
  return { ...moduleOf(kernel.module, arena.addresses), functions: kernel.functions, frame, outputs, ...appended }
}

function placeOf(
  slot: Exclude<FrameSlot, { kind: 'number' | 'table' }>,
  columns: readonly Column[],
  places: Places,
  arena: Arena,
): number | undefined {
  switch (slot.kind) {
    case 'values':
    case 'validity':
    case 'offsets':
      return addressOf(columns[slot.column]?.[slot.kind], arena)
    case 'codes':
      return addressOf(codesOf(columns[slot.column])?.codes, arena)
    case 'size':
      return columns[slot.column]?.values?.byteLength
    case 'code': {
      const column = columns[slot.column]
      const codes = codesOf(column)
      return column === undefined || codes === undefined ? undefined : codeOf(slot.text, column, codes)
    }
    case 'firstText':
      return places.firstText?.(slot.column)
    case 'bitmap':
    case 'counts':
    case 'inexact':
      return places[slot.kind]
    case 'part':
      return places.parts?.[slot.part]?.[slot.what]
    case 'list':
    case 'listed':
      return 0
    case 'output':
      return places.outputs?.[slot.output]?.values ?? 0
    case 'outputValidity':
      return places.outputs?.[slot.output]?.validity ?? 0
    case 'outputCounts':
      return places.outputs?.[slot.output]?.counts ?? 0
  }
}
