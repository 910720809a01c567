import { expect, test } from 'vitest'
import { cutUnstepped } from '../blocks/blockSchedule.ts'
import { depthOrder } from './depthOrder.ts'

const box = { kind: 'box', extents: [3, 4] } as const
const wavefront = cutUnstepped({ kind: 'wavefront', axes: [0, 1] }, box, { order: 'serial', partitions: [3, 4] })
const rotation = cutUnstepped({ kind: '2d', axes: [0, 1] }, box, { order: 'any', partitions: [3, 4] })

test('of a wavefront each column runs down before the next one begins, so that others can begin with it', () => {
  const rows = [0, 1, 2].map((row) => [0, 1, 2, 3].map((column) => 4 * row + column))
  const down = [0, 1, 2, 3].flatMap((column) => rows.map((row) => row[column]))
  expect([...(depthOrder(wavefront, new Int32Array(12)) ?? [])]).toEqual(down)
  // the first row waits for another process: a column runs down when its first block can
  expect([
    ...(depthOrder(
      wavefront,
      Int32Array.from({ length: 12 }, (_, block) => (block < 4 ? 1 : 0)),
    ) ?? []),
  ]).toEqual(down)
  // the third column waits for what has gone to others and come back, and so does what follows
  const late = Int32Array.from({ length: 12 }, (_, block) => (block === 2 ? 2 : 0))
  expect([...(depthOrder(wavefront, late) ?? [])]).toEqual([0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11])
  // the last row waits for another process, and all that does not runs before it
  const below = Int32Array.from({ length: 12 }, (_, block) => (block === 8 ? 1 : 0))
  expect([...(depthOrder(wavefront, below) ?? [])]).toEqual([0, 4, 1, 5, 2, 6, 3, 7, 8, 9, 10, 11])
})

test('other blocks keep plan order within a depth', () => {
  expect(depthOrder(rotation, new Int32Array(12))).toBe(undefined)
  const own = Int32Array.from({ length: 12 }, (_, block) => (block === 0 ? 1 : 0))
  const order = [...(depthOrder(rotation, own) ?? [])]
  expect(order.indexOf(0)).toBeGreaterThan(order.indexOf(1))
})
