import { expect, test } from 'vitest'
import { blockCounts, cutAtMultiples, cutByHistogram, cutEqual } from './partitioning.ts'

test('block counts follow from the schedule and the data', () => {
  expect(blockCounts({ kind: 'serial' }, [100], undefined, 100)).toEqual([])
  expect(blockCounts({ kind: 'independent' }, [10], undefined, 10)).toEqual([10])
  expect(blockCounts({ kind: 'independent' }, [100_000], undefined, 100_000)).toEqual([64])
  expect(blockCounts({ kind: 'independent' }, [1_000_000], undefined, 1_000_000)).toEqual([244])
  expect(blockCounts({ kind: 'independent' }, [1_000_000], undefined, 1_000_000, 10)).toEqual([1024])
  expect(blockCounts({ kind: '1d', axis: 1 }, [1000, 8], undefined, 8000)).toEqual([8])
  expect(blockCounts({ kind: '2d', axes: [0, 1] }, [6000, 4000], undefined, 1_000_000)).toEqual([16, 16])
  expect(blockCounts({ kind: '2d', axes: [0, 1] }, [6000, 4000], undefined, 1_000_000, 10)).toEqual([49, 49])
  expect(blockCounts({ kind: '2d', axes: [0, 1] }, [100_000, 2000], undefined, 10_000_000, 10)).toEqual([31, 31])
  expect(blockCounts({ kind: '2d', axes: [0, 1] }, [480_189, 17_770], undefined, 100_000_000, 300)).toEqual([256, 256])
  expect(blockCounts({ kind: '2d', axes: [0, 1] }, [60, 40], undefined, 2400)).toEqual([3, 3])
  expect(blockCounts({ kind: 'wavefront', axes: [0, 1] }, [1000, 1000], undefined, 1_000_000)).toEqual([32, 8])
  expect(blockCounts({ kind: 'wavefront', axes: [0, 1] }, [8000, 8000], undefined, 64_000_000)).toEqual([62, 15])
  expect(blockCounts({ kind: 'wavefront', axes: [0, 1] }, [2000, 2000], undefined, 4_000_000, 3)).toEqual([46, 11])
  expect(blockCounts({ kind: 'wavefront', axes: [0, 1] }, [2000, 2000], undefined, 4_000_000, 6)).toEqual([46, 31])
  expect(blockCounts({ kind: 'wavefront', axes: [0, 1] }, [2000, 2000], undefined, 4_000_000, 100)).toEqual([256, 31])
  expect(blockCounts({ kind: 'wavefront', axes: [0, 1] }, [16, 16], undefined, 256, 100)).toEqual([10, 10])
})

test('partitions are taken as they are, up to the extents', () => {
  expect(blockCounts({ kind: 'independent' }, [1000], 7, 1000)).toEqual([7])
  expect(blockCounts({ kind: '2d', axes: [0, 1] }, [6, 400], 20, 2400)).toEqual([6, 20])
  expect(blockCounts({ kind: '2d', axes: [0, 1] }, [60, 40], [2, 5], 2400)).toEqual([2, 5])
  expect(blockCounts({ kind: 'independent' }, [0], undefined, 0)).toEqual([1])
})

test('equal cuts cover everything once', () => {
  expect(cutEqual(10, 3)).toEqual([0, 3, 6, 10])
  expect(cutEqual(2, 3)).toEqual([0, 0, 1, 2])
  expect(cutAtMultiples(10_000, 2, 4096)).toEqual([0, 4096, 10_000])
  expect(cutAtMultiples(100, 4, 4096)).toEqual([0, 25, 50, 75, 100])
})

test('cuts by histogram hold about equally many elements', () => {
  expect(cutByHistogram([1, 1, 1, 1], 2)).toEqual([0, 2, 4])
  expect(cutByHistogram([9, 1, 1, 1], 2)).toEqual([0, 1, 4])
  expect(cutByHistogram([1, 1, 1, 9], 2)).toEqual([0, 3, 4])
  expect(cutByHistogram([0, 0, 0], 2)).toEqual([0, 1, 3])
  const zipf = Array.from({ length: 1000 }, (_, i) => Math.ceil(1000 / (i + 1)))
  const bounds = cutByHistogram(zipf, 8)
  const sizes = bounds.slice(1).map((bound, part) => zipf.slice(bounds[part], bound).reduce((a, b) => a + b, 0))
  const total = zipf.reduce((a, b) => a + b, 0)
  expect(Math.max(...sizes)).toBeLessThan((total / 8) * 1.2)
})
