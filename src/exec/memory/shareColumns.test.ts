import { expect, test } from 'vitest'
import type { Column } from '../../core/data/column.ts'
import { columnFromValues } from '../../core/data/columnBuilder.ts'
import { MemoryError } from '../../core/errors.ts'
import { leaseBlocks } from './lease.ts'
import { blocksAdded, freeColumn, mapBuffers, shareBatch, shareColumn } from './shareColumns.ts'
import { createArena } from './sharedArena.ts'

const people = columnFromValues([{ name: 'Ada', tags: ['x', null, 'yy'], born: 1815n }, null, { name: null, tags: [], born: 2n }])

function plain(column: Column): unknown {
  return mapBuffers(column, (buffer) => buffer.slice() as typeof buffer)
}

test('a column with children, offsets and validity moves into the arena, once, and out again', () => {
  const arena = createArena({ budgetBytes: 2 ** 22 })
  const shared = shareColumn(people, arena, 'test')
  expect(plain(shared)).toEqual(plain(people))
  let buffers = 0
  mapBuffers(shared, (buffer) => {
    expect(arena.owns(buffer)).toBe(true)
    buffers++
    return buffer
  })
  expect(buffers).toBeGreaterThan(6)
  expect(shareColumn(shared, arena, 'test')).toBe(shared)
  freeColumn(shared, arena)
  expect(arena.usedBytes).toBe(0)
})

test('a batch that does not fit leaves nothing behind', () => {
  const arena = createArena({ budgetBytes: 2 ** 16 })
  const small = columnFromValues([1, 2, 3])
  const kept = shareColumn(columnFromValues([5, 6, 7]), arena, 'test')
  const used = arena.usedBytes
  const large = columnFromValues(Array.from({ length: 3 }, () => 'x'.repeat(40_000)))
  const batch = {
    element: { kind: 'unknown' },
    length: 3,
    columns: [small, kept, people, large],
    keys: [Int32Array.of(1, 2, 3)],
  } as const
  expect(() => shareBatch(batch, arena, 'join')).toThrow(MemoryError)
  expect(arena.usedBytes).toBe(used)
})

test('blocks that sharing has added are told where an empty buffer lies at the place of one of them', () => {
  const arena = createArena({ budgetBytes: 2 ** 20 })
  const freed = arena.allocate(0, 'test')
  const none = arena.view('u8', freed, 0) as Uint8Array
  arena.free(freed)
  const texts: Column = { type: { kind: 'utf8' }, length: 1, values: none, offsets: Int32Array.of(0, 0), validity: Uint8Array.of(0) }
  const batch = { element: { kind: 'unknown' }, length: 1, columns: [texts] } as const
  const shared = shareBatch(batch, arena, 'test')
  const added = blocksAdded(batch, shared)
  expect(added.map(({ offset }) => offset)).toContain(freed) // else the test is about nothing
  for (const { offset } of added) arena.free(offset)
  expect(arena.usedBytes).toBe(0)
})

test('blocks leased to an object are freed once, by hand', () => {
  const arena = createArena({ budgetBytes: 2 ** 20 })
  const owner = {}
  const lease = leaseBlocks(owner, arena, [arena.allocate(100, 'test'), arena.allocate(100, 'test')])
  lease.free()
  lease.free()
  expect(lease.freed).toBe(true)
  expect(arena.usedBytes).toBe(0)
})

test('a full arena lets go of the blocks of objects that are garbage', async () => {
  const arena = createArena({ budgetBytes: 2 ** 20 })
  for (let i = 0; i < 50; i++) {
    leaseBlocks({}, arena, [arena.allocate(400_000, 'test')])
    await new Promise(setImmediate) // an object lives at least to the end of the job that made a WeakRef of it
  }
  expect(arena.usedBytes).toBeLessThan(2 ** 20)
})
