import { expect, test } from 'vitest'
import { checkCovered } from './blockSchedule.ts'
import { cutBlocks } from './cutBlocks.ts'
import type { IterationSpace } from './schedule.ts'
import { serialOrderOf } from './space.ts'

const box = (...extents: number[]): IterationSpace => ({ kind: 'box', extents })

test('2d blocks run diagonal by diagonal, each after the previous one of its row and column', () => {
  const blocks = cutBlocks({ kind: '2d', axes: [0, 1] }, box(3, 3), { order: 'any', partitions: 3 })
  expect(serialOrderOf(box(3, 3), blocks).join('')).toBe('001122011220021021')
  expect([...blocks.waitsFor]).toEqual([0, 0, 0, 2, 2, 2, 2, 2, 2])
  expect([...blocks.successors.slice(0, blocks.successorStart[1])]).toEqual([3, 5])
})

test('a wavefront block waits for its neighbours above and to the left; its serial order is key order', () => {
  const blocks = cutBlocks({ kind: 'wavefront', axes: [0, 1] }, box(4, 4), { order: 'serial', partitions: 2 })
  expect([...blocks.waitsFor]).toEqual([0, 1, 1, 2])
  expect([...serialOrderOf(box(4, 4), blocks)]).toEqual(Array.from({ length: 16 }, (_, p) => [p >> 2, p & 3]).flat())
})

test('sparse elements are bucketed by block, in key order inside', () => {
  const space: IterationSpace = {
    kind: 'sparse',
    extents: [4, 4],
    length: 5,
    keys: [Int32Array.of(0, 0, 1, 3, 3), Int32Array.of(1, 3, 0, 0, 2)],
  }
  const blocks = cutBlocks({ kind: '2d', axes: [0, 1] }, space, { order: 'any', partitions: 2, balance: 'equal' })
  expect([...(blocks.order ?? [])]).toEqual([0, 2, 4, 1, 3])
  expect([...blocks.from]).toEqual([0, 2, 3, 4])
  expect([...blocks.to]).toEqual([2, 3, 4, 5])
  expect([...serialOrderOf(space, blocks)]).toEqual([0, 1, 1, 0, 3, 2, 0, 3, 3, 0])
})

test('independent blocks are whole chunks where there are enough', () => {
  expect(cutBlocks({ kind: 'independent' }, { kind: 'rows', length: 1_000_000 }, { order: 'any' }).cuts[0]?.slice(0, 3)).toEqual([
    0, 4096, 8192,
  ])
  expect(cutBlocks({ kind: 'independent' }, box(2, 3), { order: 'any', partitions: 2 }).cuts).toEqual([[0, 3, 6]])
  expect(cutBlocks({ kind: 'independent' }, box(0), { order: 'any' }).iterations).toBe(0)
})

test('blocks that leave iterations out, or have one twice, are our fault', () => {
  const blocks = cutBlocks({ kind: 'wavefront', axes: [0, 1] }, box(4, 4), { order: 'serial', partitions: 2 })
  expect(() => checkCovered({ ...blocks, iterations: 17 })).toThrow(
    'The blocks of a wavefront loop of 17 iterations have 16 of them.\nThis is a fault in the library, not in your program. Please report it with the text above.',
  )
  expect(() => checkCovered({ ...blocks, to: Float64Array.of(20, 0, 0, -4) })).toThrow('have 16 of them')
  expect(() => checkCovered({ ...blocks, from: new Float64Array(0), to: new Float64Array(0) })).toThrow('have 0 of them')
})
