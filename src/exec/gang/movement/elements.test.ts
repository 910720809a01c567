import { expect, test } from 'vitest'
import type { SparseStorage } from '../../../core/arrays/storage.ts'
import { cutBlocks } from '../../loops/blocks/cutBlocks.ts'
import { spaceOf } from '../../loops/blocks/space.ts'
import type { LoopInputs } from '../../loops/loopInputs.ts'
import { Belongings } from './belongings.ts'
import { bytesOfBlocks, elementsOf, elementsText, missingBlocks, type PortionedElements } from './elements.ts'

const F64 = { kind: 'f64' } as const
const storage: SparseStorage = {
  kind: 'sparse',
  shape: [4, 4],
  element: { kind: 'scalar', type: F64, nullable: false },
  length: 8,
  keys: [Int32Array.of(0, 0, 1, 1, 2, 2, 3, 3), Int32Array.of(0, 3, 1, 2, 0, 3, 1, 2)],
  columns: [{ type: F64, length: 8, values: new Float64Array(8) }],
}
const OWNERS = Int32Array.of(0, 1, 0, 1)

function inputsOver(own: Partial<LoopInputs['analyzed']> & { readonly arrays?: LoopInputs['arrays'] } = {}): LoopInputs {
  const { arrays = new Map(), ...analyzed } = own
  const spec = { over: { label: 'ratings' } }
  return {
    analyzed: { writtenArrays: [], spec, ...analyzed },
    over: { kind: 'storage', storage, array: 7 },
    arrays,
    buffers: new Map(),
  } as unknown as LoopInputs
}

function cut(order: 'any' | 'serial') {
  return cutBlocks({ kind: '2d', axes: [0, 1] }, spaceOf({ kind: 'storage', storage, array: 7 }), { order, partitions: [2, 2] })
}

function placed(order: 'any' | 'serial', inputs: LoopInputs = inputsOver()) {
  return elementsOf(inputs, { blocks: cut(order), byPlace: storage, owners: OWNERS, world: 2 })
}

test('each process has blocks of its own, and positions go along where ranks follow from them', () => {
  const any = placed('any') as PortionedElements
  expect(any.own).toEqual([Int32Array.of(0, 2), Int32Array.of(1, 3)])
  expect([any.positions, (placed('serial') as PortionedElements).positions?.length]).toEqual([undefined, 8])
  expect(bytesOfBlocks(any, Int32Array.of(0, 1, 2, 3))).toBe(8 * 16)
  expect(bytesOfBlocks(placed('serial') as PortionedElements, Int32Array.of(0, 1, 2, 3))).toBe(8 * 20)
})

test('loops that are cut alike share the elements that processes have, others do not', () => {
  const [one, same, other] = (['any', 'any', 'serial'] as const).map((order) => placed(order) as PortionedElements)
  expect(same?.name).toBe(one?.name)
  expect(other?.name).not.toBe(one?.name)
})

test('what a process lacks are the blocks of which it has no elements, or those of another version', () => {
  const belongings = new Belongings()
  const [process, own] = [{}, Int32Array.of(1, 3)]
  const missing = (version: string | undefined) => [...missingBlocks(belongings, process, 5, { version, own })]
  expect(missing('a')).toEqual([1, 3])
  belongings.holdBlocks(process, 5, { version: 'a', blocks: Int32Array.of(0, 1) })
  expect([missing('a'), missing('b'), missing(undefined)]).toEqual([[3], [1, 3], [1, 3]])
  belongings.holdBlocks(process, 5, { version: 'a', blocks: own })
  expect(missing('a')).toEqual([])
  belongings.forgetStorage(5)
  expect(missing('a')).toEqual([1, 3])
})

test('all of an array goes where a body has more of it than its own elements, and explain() says why', () => {
  const why = (inputs: LoopInputs, byPlace: SparseStorage | undefined = storage) => {
    const found = elementsOf(inputs, { blocks: cut('any'), byPlace, owners: OWNERS, world: 2 })
    return elementsText(found !== undefined && 'because' in found ? { whyWhole: found.because } : {})
  }
  const named = new Map([['r', { storage, array: 7, label: 'r' }]])
  expect(why(inputsOver({ writtenArrays: [7] }))).toBe(' Each has all of what the loop goes over: the loop writes it.')
  expect(why(inputsOver({ arrays: named }))).toBe(' Each has all of what the loop goes over: the body reads other elements of it as well.')
  const nullable = { ...storage, columns: storage.columns.map((column) => ({ ...column, validity: new Uint8Array(1) })) }
  const over = { kind: 'storage', storage: nullable, array: 7 } as const
  expect(why({ ...inputsOver(), over })).toBe(' Each has all of what the loop goes over: its elements are no plain numbers.')
  expect(elementsText({ elements: placed('any') as PortionedElements })).toBe(' Each has of ratings the elements of its own blocks.')
})
