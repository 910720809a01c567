/**
 * The elements that the blocks of each process read of arrays that no block writes in place, where data decides on them (an inspector): the
 * subscript slice is run over all iterations, and the inspection result kept as long as nothing changes that the slice reads.
 *
 *     w.get(f.get(i, k))       rank 1 runs rows 40 … 79 of f       -->       w[3] w[7] w[8] w[90] …
 *
 * The slice touches all elements that the body touches in the same iteration (`planner/loop/slices/slice.ts`), and more at the most.
 */

import type { DenseStorage } from '../../../../core/arrays/storage.ts'
import { Bug } from '../../../../core/errors.ts'
import { type Expr, expressionsOf, type Primitive, visitExpr, visitStmts } from '../../../../core/ir/functionIr.ts'
import { isError } from '../../../../core/isError.ts'
import type { SubscriptSlice } from '../../../../core/loop/loopSpec.ts'
import { type BlockSchedule, type IterationSpace, iterationsOf } from '../../../loops/blocks/schedule.ts'
import { elementsOf, touchKernel } from '../../../loops/inspector/touchKernel.ts'
import type { LoopInputs } from '../../../loops/loopInputs.ts'
import { HOME, type Process } from '../belongings.ts'
import type { Residence } from '../residence.ts'

/** Stretches of elements in memory: pairs of the first element and the length. */
export type Rows = Int32Array

/** Arrays that the slice reads, by their names in the body. */
export function readBySlice(slice: SubscriptSlice): ReadonlySet<string> {
  return dependencesOf(slice).arrays
}

/** The number of iterations whose touches are listed at once. */
const CHUNK = 1024
/** The number of touches above which listing them takes too long: some seconds. */
const MOST_TOUCHES = 2 ** 28

/** A token of all that the inspection result depends on, apart from the iterations; undefined where that is not known. */
export function servedToken(slice: SubscriptSlice, inputs: LoopInputs): string | undefined {
  const { arrays, parameters, readsElement, readsTables } = dependencesOf(slice)
  if (readsTables) return undefined // they may be written between two passes
  const parts: string[] = []
  const add = (version: string | undefined): boolean => {
    if (version !== undefined) parts.push(version)
    return version !== undefined
  }
  for (const name of arrays) if (!add(inputs.arrays.get(name)?.version?.())) return undefined
  if (readsElement && !(inputs.over.kind === 'storage' && add(inputs.over.version?.()))) return undefined
  for (const { name, value } of slice.ir.parameters) if (parameters.has(name)) parts.push(`${name} ${typeof value} ${textOf(value)}`)
  return parts.join('; ')
}

function textOf(value: Primitive): string {
  return Object.is(value, -0) ? '-0' : String(value)
}

/** The arrays whose elements the slice reads, and its other inputs. */
function dependencesOf({ ir, touched }: SubscriptSlice) {
  const arrays = new Set<string>()
  const parameters = new Set<string>()
  let [readsElement, readsTables] = [false, false]
  const look = (expr: Expr): void => {
    if (expr.kind === 'Read' || expr.kind === 'Has') arrays.add(expr.array)
    else if (expr.kind === 'Parameter') parameters.add(expr.name)
    else if (expr.kind === 'Input') readsElement = true
    else if (expr.kind === 'Lookup' || expr.kind === 'LookupLength') readsTables = true
  }
  visitStmts(ir.body, (stmt) => {
    const isTouch = stmt.kind === 'Evaluate' && (stmt.value.kind === 'Read' || stmt.value.kind === 'Has') && touched.has(stmt.value.array)
    const read = isTouch && 'subscripts' in stmt.value ? stmt.value.subscripts : expressionsOf(stmt)
    for (const expr of read) visitExpr(expr, look)
  })
  return { arrays, parameters, readsElement, readsTables }
}

/** The rows that the blocks of each node read, and for each of its stretches those that no stretch before it reads. */
export interface ReadRows {
  readonly rows: readonly Rows[]
  readonly stretches: readonly (readonly Rows[])[]
}

/** The rows of each array; undefined where the elements cannot be listed. All that the slice reads has to lie here. */
export function servedRowsOf(
  slice: SubscriptSlice,
  inputs: LoopInputs,
  {
    blocks,
    space,
    owners,
    world,
    stretches,
  }: {
    readonly blocks: BlockSchedule
    readonly space: IterationSpace
    readonly owners: Int32Array
    readonly world: number
    /** The stretch of each block, and the number of stretches of a node. */
    readonly stretches: { readonly of: Uint8Array; readonly most: number }
  },
): ReadonlyMap<DenseStorage, ReadRows> | undefined {
  const { most } = stretches
  const nodes = readersOf(blocks, (block) => (owners[block] as number) * most + (stretches.of[block] as number), iterationsOf(space))
  const elements = elementsOf(slice, inputs)
  if (nodes === undefined || 'sparse' in elements) return undefined
  const { starts, count } = elements
  const seen = Array.from({ length: world * most }, () => new Int32Array(Math.ceil(count / 32)))
  try {
    const { list } = touchKernel(slice, inputs, space, elements)
    let touches = 0
    for (let from = 0; from < nodes.length; from += CHUNK) {
      const { log, length } = list(from, Math.min(nodes.length, from + CHUNK))
      touches += length
      if (touches > MOST_TOUCHES) return undefined
      let position = from - 1
      for (let i = 0; i < length; i++) {
        const touch = log[i] as number // up to the length
        if (touch < 0) {
          position++
          continue
        }
        const element = touch / 2
        // outside of the array the body throws; odd touches are updates, which go into copies
        if (element >= count || !Number.isInteger(element)) continue
        ;(seen[nodes[position] as number] as Int32Array)[element >>> 5]! |= 1 << (element & 31)
      }
    }
  } catch (error) {
    if (error instanceof Bug || !isError(error)) throw error
    return undefined // there are too many, or the body throws as well
  }
  const storages = new Map([...inputs.arrays.values(), ...inputs.buffers.values()].map(({ array, storage }) => [array, storage]))
  return new Map(
    [...starts].flatMap(([array, start]) => {
      const storage = storages.get(array)
      if (storage?.kind !== 'dense') return []
      const own = Array.from({ length: world }, (_, node) => byStretch(seen.slice(node * most, (node + 1) * most), start, storage))
      return [[storage, { rows: own.map(({ all }) => all), stretches: own.map(({ each }) => each) }] as const]
    }),
  )
}

/** All rows of a node, and those that are new in each of its stretches. */
function byStretch(
  seen: readonly Int32Array[],
  start: number,
  storage: DenseStorage,
): { readonly all: Rows; readonly each: readonly Rows[] } {
  const all = new Int32Array(seen[0]?.length ?? 0)
  const each = seen.map((bits) => {
    const fresh = bits.map((word, i) => word & ~(all[i] as number))
    for (const [i, word] of bits.entries()) all[i]! |= word
    return rowsOf(fresh, start, storage)
  })
  return { all: rowsOf(all, start, storage), each }
}

/** The reader of each iteration, by that of its block; undefined where blocks are not runs of iterations. */
function readersOf(
  { boxes, forms, order, from, to, count }: BlockSchedule,
  readerOf: (block: number) => number,
  iterations: number,
): Uint16Array | undefined {
  if (boxes !== undefined || forms !== undefined) return undefined
  const nodes = new Uint16Array(iterations)
  for (let block = 0; block < count; block++) {
    const node = readerOf(block)
    for (let place = from[block] as number; place < (to[block] as number); place++)
      nodes[order === undefined ? place : (order[place] as number)] = node
  }
  return nodes
}

/** The marked elements of an array as stretches of its memory. */
function rowsOf(bits: Int32Array, start: number, { shape, strides }: DenseStorage): Rows {
  const size = shape.reduce((product, extent) => product * extent, 1)
  const rows: number[] = []
  for (let at = 0; at < size; at++) {
    const element = start + at
    if (((bits[element >>> 5] as number) & (1 << (element & 31))) === 0) {
      if ((element & 31) === 0 && bits[element >>> 5] === 0) at += 31 // none of the next ones
      continue
    }
    const index = indexOf(at, shape, strides)
    const last = rows.length - 2
    const isNext = last >= 0 && (rows[last] as number) + (rows[last + 1] as number) === index
    if (isNext) rows[last + 1]!++
    else rows.push(index, 1)
  }
  return Int32Array.from(rows)
}

function indexOf(position: number, shape: readonly number[], strides: readonly number[]): number {
  let [rest, index] = [position, 0]
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    const extent = shape[axis] as number
    index += (rest % extent) * (strides[axis] as number)
    rest = Math.floor(rest / extent)
  }
  return index
}

/** The rows that each node lacks of an array that lies elsewhere, and those of them that have to come here first, by the process that has them. */
export function cutRows<Other extends object>(
  { shape, strides }: DenseStorage,
  rows: readonly Rows[],
  { bounds, has }: Residence<Process>,
  others: readonly Other[],
): { readonly rows: readonly Rows[]; readonly fetches: ReadonlyMap<Other, Rows> } {
  const cellOf = cellsIn({ shape, strides }, bounds)
  const fetched = new Map<Other, Set<number>>()
  const own = rows.map((list, node) => {
    const process: Process = node === 0 ? HOME : (others[node - 1] as Other) // as many
    const lacking: number[] = []
    for (let i = 0; i < list.length; i += 2) {
      const first = list[i] as number
      for (let index = first; index < first + (list[i + 1] as number); index++) {
        const cell = cellOf(index)
        if (has.get(process)?.[cell] === 1) continue
        lacking.push(index)
        if (has.get(HOME)?.[cell] === 1) continue
        const holder = others.find((other) => has.get(other)?.[cell] === 1) as Other // no process is lost, so one has it
        fetched.set(holder, (fetched.get(holder) ?? new Set()).add(index))
      }
    }
    return joined(lacking)
  })
  return { rows: own, fetches: new Map([...fetched].map(([other, indices]) => [other, joined([...indices].sort((a, b) => a - b))])) }
}

/** A function from the position of an element in memory to the number of its cell. */
export function cellsIn(
  { shape, strides }: Pick<DenseStorage, 'shape' | 'strides'>,
  bounds: readonly (readonly number[])[],
): (index: number) => number {
  const places = shape.map((extent, axis) => placesOf(bounds[axis] as readonly number[], extent))
  return (index) => {
    let [rest, cell] = [index, 0]
    for (let axis = 0; axis < shape.length; axis++) {
      const stride = strides[axis] as number
      const at = Math.floor(rest / stride)
      rest -= at * stride
      cell = cell * ((bounds[axis] as readonly number[]).length - 1) + ((places[axis] as Int32Array)[at] as number)
    }
    return cell
  }
}

/** The cell of each index along an axis. */
function placesOf(along: readonly number[], extent: number): Int32Array {
  const places = new Int32Array(extent)
  for (let cell = 0; cell + 1 < along.length; cell++) places.fill(cell, along[cell], along[cell + 1])
  return places
}

export function joined(indices: readonly number[]): Rows {
  const rows: number[] = []
  for (const index of indices) {
    const last = rows.length - 2
    if (last >= 0 && (rows[last] as number) + (rows[last + 1] as number) === index) rows[last + 1]!++
    else rows.push(index, 1)
  }
  return Int32Array.from(rows)
}

/** The part of rows within elements `from` up to `to`. */
export function rowsWithin(rows: Rows, from: number, to: number): Rows {
  const found: number[] = []
  for (let i = 0; i < rows.length; i += 2) {
    const [low, high] = [Math.max(from, rows[i] as number), Math.min(to, (rows[i] as number) + (rows[i + 1] as number))]
    if (low < high) found.push(low, high - low)
  }
  return Int32Array.from(found)
}

/** The union of rows and elements `from` up to `to`. */
export function rowsWith(rows: Rows, from: number, to: number): Rows {
  if (from === to) return rows
  const before = rowsWithin(rows, 0, from)
  const after = rowsWithin(rows, to, Number.MAX_SAFE_INTEGER)
  return Int32Array.of(...before, from, to - from, ...after)
}
