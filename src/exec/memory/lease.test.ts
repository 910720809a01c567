import { expect, test } from 'vitest'
import { tableMemory } from '../tables/columns/tableMemory.ts'
import { leaseBlocks } from './lease.ts'
import { createArena } from './sharedArena.ts'

const ROWS = 2 ** 14
const column = { type: { kind: 'f64' }, length: ROWS, values: new Float64Array(ROWS) } as const

test('garbage is found in the job that made it: nothing waits for a turn of the event loop', () => {
  const arena = createArena({ budgetBytes: 2 ** 20 })
  for (let i = 0; i < 50; i++) leaseBlocks({}, arena, [arena.allocate(400_000, 'test')])
  expect(arena.usedBytes).toBeLessThan(2 ** 20)
})

test('a table lies in the arena where there is room once garbage is gone, and outside where there is none', () => {
  const arena = createArena({ budgetBytes: 2 ** 20 })
  const tables = tableMemory(arena)
  for (let i = 0; i < 50; i++) {
    const placed = tables.place([[column]], ROWS)
    expect(placed).toBeDefined()
    placed?.hold({})
  }
  const held = {}
  for (let i = 0; i < 50; i++) tables.place([[column]], ROWS)?.hold(held)
  const used = arena.usedBytes
  expect(tables.place([[column]], ROWS)).toBeUndefined()
  expect(arena.usedBytes).toBe(used)
  expect(held).toEqual({})
})
