import { expect, test } from 'vitest'
import { blocksAlong, cutBlocks } from './cutBlocks.ts'
import { piecesOf } from './pieces.ts'
import type { IterationSpace } from './schedule.ts'
import { serialOrderOf } from './space.ts'

const box = (...extents: number[]): IterationSpace => ({ kind: 'box', extents })
const rows = { kind: 'stepped', outer: 1, inner: { kind: 'independent' } } as const

test('the blocks of a step are kept once, and moved to each step', () => {
  const blocks = cutBlocks(rows, box(3, 4), { order: 'serial', partitions: 2 })
  expect({ count: blocks.count, steps: blocks.steps, along: blocksAlong(blocks) }).toEqual({
    count: 6,
    steps: { extents: [3], blocks: 2 },
    along: [3, 2],
  })
  expect(blocks.from.length).toBe(2)
  expect([...piecesOf(blocks, [3, 4], 5)].map(({ box, from, to }) => [...box, from, to])).toEqual([[2, 3, 0, 4, 2, 4]])
})

test('inside a step the plan order is that of the inner schedule', () => {
  const planes = { kind: 'stepped', outer: 1, inner: { kind: '2d', axes: [1, 2] } } as const
  const blocks = cutBlocks(planes, box(2, 2, 2), { order: 'any', partitions: 2 })
  expect(serialOrderOf(box(2, 2, 2), blocks).join('')).toBe('000011001010100111101110')
  expect([...blocks.waitsFor]).toEqual([0, 0, 2, 2])
})

test('sparse elements have blocks of their own in every step', () => {
  const keys = [Int32Array.of(0, 0, 1, 2, 2), Int32Array.of(1, 3, 0, 0, 2)]
  const space: IterationSpace = { kind: 'sparse', extents: [3, 4], length: 5, keys }
  const blocks = cutBlocks(rows, space, { order: 'any', partitions: 2, balance: 'equal' })
  expect([...blocks.from]).toEqual([0, 1, 2, 3, 3, 4])
  expect([...blocks.to]).toEqual([1, 2, 3, 3, 4, 5])
  expect([...serialOrderOf(space, blocks)]).toEqual([0, 1, 0, 3, 1, 0, 2, 0, 2, 2])
})

test('a step that is not worth cutting leaves one block for all', () => {
  const small = cutBlocks(rows, box(1000, 50), { order: 'serial', weight: 0.5 })
  expect({ count: small.count, along: blocksAlong(small) }).toEqual({ count: 1, along: [1, 1] })
  expect(blocksAlong(cutBlocks(rows, box(1000, 50), { order: 'serial', weight: 200 }))).toEqual([1000, 3])
  expect(cutBlocks(rows, box(0, 50), { order: 'serial', partitions: 4 }).iterations).toBe(0)
})
