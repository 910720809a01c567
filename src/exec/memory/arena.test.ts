import { totalmem } from 'node:os'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bytesText } from '../../core/bytesText.ts'
import { MemoryError } from '../../core/errors.ts'
import { attachArena, createArena, defaultBudgetBytes, type SharedArena } from './sharedArena.ts'
import { hasWideMemory } from './wideMemory.ts'

function fill(arena: SharedArena, offset: number, bytes: number, value: number): void {
  arena.view('u8', offset, bytes).fill(value as never)
}

function messageOf(f: () => unknown): string {
  try {
    f()
  } catch (error) {
    return String(error)
  }
  return 'nothing was thrown'
}

test('blocks are aligned, zeroed, apart from one another, and used again', () => {
  const arena = createArena({ budgetBytes: 2 ** 26 })
  const a = arena.allocate(100, 'test')
  const b = arena.allocate(0, 'test')
  const c = arena.allocate(2 ** 20, 'test')
  for (const offset of [a, b, c]) expect(offset % 64).toBe(0)
  expect(new Set([a, b, c]).size).toBe(3)
  fill(arena, c, 2 ** 20, 255)
  arena.free(c)
  const d = arena.allocate(2 ** 20, 'test')
  expect(d).toBe(c)
  expect((arena.view('u8', d, 2 ** 20) as Uint8Array).every((byte) => byte === 0)).toBe(true)
  for (const offset of [a, b, d]) arena.free(offset)
  expect(arena.usedBytes).toBe(0)
})

test('views of the memory before it grew stay valid and are known as its own', () => {
  const arena = createArena({ budgetBytes: 2 ** 28 })
  const small = arena.view('f64', arena.allocate(64, 'test'), 8)
  const before = arena.memory.buffer
  small[0] = 7
  const large = arena.allocate(2 ** 27, 'test')
  expect(arena.memory.buffer).not.toBe(before)
  expect(small[0]).toBe(7)
  expect(arena.owns(small)).toBe(true)
  expect(arena.owns(arena.view('u8', large, 1))).toBe(true)
  expect(arena.owns(structuredClone(small))).toBe(true)
  expect(arena.owns(new Uint8Array(8))).toBe(false)
  expect(arena.owns(new Uint8Array(new SharedArrayBuffer(2 ** 16)))).toBe(false)
  expect(arena.owns(createArena().view('u8', 4096, 1))).toBe(false)
})

test('over the budget: a MemoryError with operator, bytes and the cure', () => {
  const arena = createArena({ budgetBytes: 10 * 2 ** 20 })
  arena.allocate(4 * 2 ** 20, 'zeros([512, 1024])')
  const error = messageOf(() => arena.allocate(8 * 2 ** 20, 'sortBy'))
  expect(error).toBe(
    `MemoryError: sortBy needs 8 MiB more, but of the session's memory of 10 MiB only 6 MiB are free.\nRaise { memory } in Session.start, at most to ${hasWideMemory() ? 16 : 4} GiB, or free arrays with release().`,
  )
  try {
    arena.allocate(8 * 2 ** 20, 'sortBy')
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(MemoryError)
    expect(thrown).toMatchObject({ operator: 'sortBy', bytes: 8 * 2 ** 20 })
  }
  expect(messageOf(() => createArena({ budgetBytes: 2 ** 40, addresses: 'i32' }).allocate(5 * 2 ** 30, 'join'))).toBe(
    `MemoryError: join needs 5 GiB more, in one piece, and the arena, which ends at 4 GiB (the limit of wasm32), has no such piece left.\nCut the data into smaller arrays${hasWideMemory() ? ", ask Session.start for more than '4GB' of { memory }" : ''}, or free arrays with release().`,
  )
})

test.skipIf(!hasWideMemory())('an arena of 64-bit addresses has blocks beyond 4 GiB, and ends at 16 GiB', () => {
  const arena = createArena({ budgetBytes: 2 ** 34 })
  const far = arena.reserve(9 * 2 ** 30, 'test')
  const block = arena.allocate(1000, 'test')
  expect(block).toBeGreaterThan(9 * 2 ** 30)
  fill(arena, block, 1000, 7)
  const other = attachArena(arena.handle)
  expect(other.addresses).toBe('i64')
  expect((other.view('u8', block, 1000) as Uint8Array).every((byte) => byte === 7)).toBe(true)
  expect(other.owns(arena.view('f64', block, 2))).toBe(true)
  expect(messageOf(() => arena.allocate(17 * 2 ** 30, 'join'))).toBe(
    'MemoryError: join needs 17 GiB more, in one piece, and the arena, which ends at 16 GiB (the most that the engine gives), has no such piece left.\nCut the data into smaller arrays, or free arrays with release().',
  )
  for (const offset of [far, block]) other.free(offset)
  expect(arena.usedBytes).toBe(0)
})

test('a block that is not one cannot be freed, and none twice', () => {
  const arena = createArena({ budgetBytes: 2 ** 26 })
  const [a, b, c] = [arena.allocate(1000, 'test'), arena.allocate(1000, 'test'), arena.allocate(1000, 'test')]
  for (const offset of [a + 64, a + 1, 0, -64, 2 ** 40, Number.NaN]) expect(() => arena.free(offset)).toThrow('where none begins')
  arena.free(b)
  expect(() => arena.free(b)).toThrow('where none begins')
  arena.free(a)
  expect(() => arena.free(b)).toThrow('where none begins')
  arena.free(c)
  expect(arena.usedBytes).toBe(0)
})

test('what a failed task allocated is found by its owner', () => {
  const arena = createArena({ budgetBytes: 2 ** 26 })
  const task = attachArena(arena.handle, { owner: 5 })
  const kept = arena.allocate(500, 'test')
  for (let i = 0; i < 10; i++) {
    task.allocate(i * 1000, 'test')
    if (i % 3 === 0) arena.allocate(64, 'test')
  }
  arena.freeOwned(5)
  expect(arena.usedBytes).toBe(512 + 64 + 4 * (64 + 64)) // 500 bytes round up to 512; every block has a header of 64
  arena.free(kept)
})

test('the default budget is half of the memory, at most 3.5 GiB', () => {
  expect(defaultBudgetBytes()).toBe(Math.min(Math.floor(totalmem() / 2), 3.5 * 2 ** 30))
})

test('sizes for people', () => {
  expect([0, 1, 1023, 1024, 1536, 10 * 2 ** 20, 3.5 * 2 ** 30, 1023.6 * 1024, 123.4 * 2 ** 20].map(bytesText)).toEqual([
    '0 bytes',
    '1 byte',
    '1023 bytes',
    '1 KiB',
    '1.5 KiB',
    '10 MiB',
    '3.5 GiB',
    '1 MiB',
    '123 MiB',
  ])
})

/** The dullest allocator: what is in use, as a list. */
type Command = { readonly allocate: number } | { readonly free: number }
const command: fc.Arbitrary<Command> = fc.oneof(
  fc.record({ allocate: fc.oneof(fc.nat(300), fc.nat(10_000), fc.nat(2 ** 18)) }),
  fc.record({ free: fc.nat(1000) }),
)

test('law: whatever is allocated and freed, blocks are zeroed, never overlap, keep their bytes, and all comes back', () => {
  fc.assert(
    fc.property(
      fc.array(command, { maxLength: 60 }),
      fc.boolean(),
      fc.constantFrom(2 ** 21, 2 ** 25),
      (commands, attached, budgetBytes) => {
        const driver = createArena({ budgetBytes })
        const other = attachArena(driver.handle)
        const held: { readonly offset: number; readonly bytes: number; readonly mark: number }[] = []
        let step = 0
        for (const one of commands) {
          const arena = attached && step++ % 2 === 1 ? other : driver
          if ('allocate' in one) {
            let offset: number
            try {
              offset = arena.allocate(one.allocate, 'law')
            } catch (error) {
              if (!(error instanceof MemoryError)) throw error
              if (arena.usedBytes + one.allocate + 128 <= arena.budgetBytes) throw new Error('refused although there was room')
              continue
            }
            const block = arena.view('u8', offset, one.allocate) as Uint8Array
            if (offset % 64 !== 0 || block.some((byte) => byte !== 0)) throw new Error('not zeroed or not aligned')
            for (const { offset: at, bytes } of held) {
              if (offset < at + bytes && at < offset + one.allocate) throw new Error('two blocks overlap')
            }
            const mark = 1 + (held.length % 200)
            block.fill(mark)
            held.push({ offset, bytes: one.allocate, mark })
          } else if (held.length > 0) {
            const [block] = held.splice(one.free % held.length, 1)
            if (block === undefined) continue
            const bytes = arena.view('u8', block.offset, block.bytes) as Uint8Array
            if (bytes.some((byte) => byte !== block.mark)) throw new Error('somebody wrote into a block')
            arena.free(block.offset)
          }
        }
        for (const { offset } of held) other.free(offset)
        if (driver.usedBytes !== 0) throw new Error('not everything came back')
        // all free blocks are one again: one block takes the whole memory, but for the control block and a header
        const { byteLength } = driver.memory.buffer
        if (byteLength < budgetBytes) driver.allocate(byteLength - 256, 'law')
        if (driver.memory.buffer.byteLength !== byteLength) throw new Error('free blocks are in pieces')
      },
    ),
    { numRuns: 1000 },
  )
})
