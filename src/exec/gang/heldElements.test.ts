import { expect, test } from 'vitest'
import { createArena } from '../memory/sharedArena.ts'
import { HeldElements } from './heldElements.ts'
import { bytesOf } from './movement/changes.ts'
import type { ElementsLayout } from './movement/elements.ts'

const F64 = { kind: 'f64' } as const

function layout(blocks: readonly number[], sizes: readonly number[]): ElementsLayout {
  const shape = { shape: [9], element: { kind: 'scalar', type: F64, nullable: false } } as const
  return { shape, types: [F64], hasPositions: true, blocks: Int32Array.from(blocks), sizes: Int32Array.from(sizes) }
}

/** The parts of a run: a key, a value and a position for each. */
function parts(...keys: readonly number[]): Uint8Array[] {
  const [own, values, positions] = [
    Int32Array.from(keys),
    Float64Array.from(keys, (key) => key / 2),
    Int32Array.from(keys, (key) => 10 + key),
  ]
  return [own, values, positions].map((array) => bytesOf(array))
}

function read(held: HeldElements): readonly (readonly number[])[] {
  const { storage, positions, leave } = held.use(1)
  leave()
  return [[...(storage.keys[0] ?? [])], Array.from(storage.columns[0]?.values as Float64Array), [...(positions ?? [])]]
}

test('elements come run by run, and a process that gets other blocks keeps what it has of them', () => {
  const arena = createArena({ budgetBytes: 2 ** 20 })
  const held = new HeldElements(arena)
  held.take({ elements: 1, layout: layout([0, 3, 4], [1, 2, 1]), runs: [] }, [])
  held.take({ elements: 1, runs: [[1, 3]] }, parts(5, 6, 7))
  held.take({ elements: 1, runs: [[0, 1]] }, parts(2))
  expect(read(held)).toEqual([
    [2, 5, 6, 7],
    [1, 2.5, 3, 3.5],
    [12, 15, 16, 17],
  ])
  held.take({ elements: 1, layout: layout([1, 3, 4], [2, 2, 1]), runs: [[0, 2]] }, parts(3, 4))
  expect(read(held)).toEqual([
    [3, 4, 5, 6, 7],
    [1.5, 2, 2.5, 3, 3.5],
    [13, 14, 15, 16, 17],
  ])
})

test('elements that a loop uses stay where they are until it ends, and then leave no memory behind', () => {
  const arena = createArena({ budgetBytes: 2 ** 20 })
  const before = arena.usedBytes
  const held = new HeldElements(arena)
  held.take({ elements: 1, layout: layout([0], [2]), runs: [[0, 2]] }, parts(1, 2))
  const used = held.use(1)
  held.take({ elements: 1, layout: layout([1], [2]), runs: [[0, 2]] }, parts(3, 4))
  const both = arena.usedBytes
  expect([...(used.storage.keys[0] ?? [])]).toEqual([1, 2])
  used.leave()
  expect(arena.usedBytes).toBeLessThan(both)
  held.forget(1)
  expect(arena.usedBytes).toBe(before)
  expect(() => held.use(1)).toThrow('Elements 1 of a loop were not sent.')
})
