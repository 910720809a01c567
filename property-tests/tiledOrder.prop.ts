/**
 * The order of tiles has each block once, after those that it waits for, after all that are less deep, and after all of earlier
 * tiles; and it keeps the rows and columns of few blocks in use.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { cutUnstepped } from '../src/exec/loops/blocks/blockSchedule.ts'
import { orderByTiles } from '../src/exec/loops/claims/tiledOrder.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('tiledOrder.prop.ts')

/** A schedule of `rows` times `columns` blocks. */
function blocksOf(rows: number, columns: number) {
  return cutUnstepped(
    { kind: '2d', axes: [0, 1] },
    { kind: 'box', extents: [rows, columns] },
    { order: 'any', partitions: [rows, columns] },
  )
}

const cases = fc.record({
  rows: fc.integer({ min: 1, max: 20 }),
  columns: fc.integer({ min: 1, max: 20 }),
  tile: fc.integer({ min: 1, max: 9 }),
  /** Of some blocks by themselves. */
  depths: fc.option(fc.array(fc.tuple(fc.nat(400), fc.nat(4)), { maxLength: 12 }), { nil: undefined }),
})

test('blocks come after what they wait for, by depth and then by tiles', () => {
  fc.assert(
    fc.property(cases, ({ rows, columns, tile, depths }) => {
      const blocks = blocksOf(rows, columns)
      const { count, successorStart, successors } = blocks
      const own = depths && new Int32Array(count)
      for (const [block, depth] of depths ?? []) own?.fill(depth, block % count, (block % count) + 1)
      const order = orderByTiles(blocks, own, tile)
      expect([...order].sort((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, block) => block))
      // by definition: the deepest and the longest way to a block
      const waitsOf = (block: number): number[] =>
        Array.from({ length: block }, (_, before) => before).filter((before) =>
          successors.slice(successorStart[before], successorStart[before + 1]).includes(block),
        )
      const found: { depth: number; step: number }[] = []
      for (let block = 0; block < count; block++) {
        const before = waitsOf(block).map((one) => found[one] as { depth: number; step: number })
        found.push({
          depth: Math.max(own?.[block] ?? 0, ...before.map(({ depth }) => depth)),
          step: Math.max(0, ...before.map(({ step }) => step + 1)),
        })
      }
      const placeOf = new Map([...order].map((block, place) => [block, place]))
      for (let block = 0; block < count; block++) {
        for (const before of waitsOf(block)) expect(placeOf.get(before)).toBeLessThan(placeOf.get(block) as number)
      }
      const tiles = [...order].map((block) => {
        const { depth = 0, step = 0 } = found[block] ?? {}
        return depth * 1000 + Math.floor(step / tile)
      })
      expect(tiles).toEqual([...tiles].sort((a, b) => a - b))
    }),
    RUN,
  )
})

test('few rows and columns come anew where those of the last blocks are kept', () => {
  fc.assert(
    fc.property(fc.integer({ min: 24, max: 48 }), fc.integer({ min: 4, max: 8 }), (side, tile) => {
      const blocks = blocksOf(side, side)
      const order = orderByTiles(blocks, undefined, tile)
      const plan = Array.from({ length: blocks.count }, (_, block) => block)
      // a tile has as many rows as columns, and both are kept, and those of the tile before
      const [tiled, planned] = [anew(order, 4 * tile), anew(plan, 4 * tile)]
      expect(planned).toBe(2 * blocks.count)
      expect(tiled).toBeLessThan((planned * 1.5) / tile)

      /** Rows and columns that were not among the last used ones when a block began. */
      function anew(numbers: Iterable<number>, kept: number): number {
        let misses = 0
        const used: string[] = []
        for (const block of numbers) {
          const [row, , column] = blocks.boxes?.slice(4 * block) ?? []
          for (const one of [`row ${row}`, `column ${column}`]) {
            const at = used.lastIndexOf(one)
            if (at < 0) misses++
            else used.splice(at, 1)
            used.push(one)
            if (used.length > kept) used.shift()
          }
        }
        return misses
      }
    }),
    RUN,
  )
})
