import { expect, test } from 'vitest'
import { PlanError } from './core/errors.ts'
import { createArena } from './exec/memory/sharedArena.ts'
import { hasWideMemory, mostBytes } from './exec/memory/wideMemory.ts'
import { bytesOf, tooMuchText } from './session/runtime.ts'
import { Session } from './session/session.ts'

test('memory is a number of bytes, or text with a unit', () => {
  expect([2 ** 20, '512MB', '1.5GB', '4GB', 2 ** 32].map((memory) => bytesOf(memory))).toEqual([
    2 ** 20,
    2 ** 29,
    1.5 * 2 ** 30,
    2 ** 32,
    2 ** 32,
  ])
})

test('memory that is none', () => {
  expect(() => bytesOf('much')).toThrowErrorMatchingInlineSnapshot(
    `[PlanError: memory is "much". It is a number of bytes, at least 1 MB, or text as '512MB' or '2GB'.]`,
  )
})

test('more than addresses reach is refused when a session starts, not cut down to what there is', async () => {
  const started = Session.start({ workers: 1, progress: false, memory: '24GB' })
  await expect(started).rejects.toThrow(new PlanError(tooMuchText('"24GB"', hasWideMemory())))
  expect(() => bytesOf(mostBytes() + 1)).toThrow(PlanError)
  expect(bytesOf(mostBytes())).toBe(mostBytes())
})

test('the refusal says what the engine has, and where there is more', () => {
  expect(tooMuchText('"24GB"', false)).toMatchInlineSnapshot(`
    "memory is "24GB". A session has '4GB' at the most: its arrays lie in one memory of WebAssembly, and this engine's has 32-bit addresses, which end there. Node 24 has 64-bit addresses, and gives up to 16 GB.
    Ask for '4GB' or less, and leave what does not fit in files, which plans read in pieces."
  `)
  expect(tooMuchText('"24GB"', true)).toMatchInlineSnapshot(`
    "memory is "24GB". A session has '16GB' at the most: its arrays lie in one memory of WebAssembly, and that is the largest that the engine gives.
    Ask for '16GB' or less, and leave what does not fit in files, which plans read in pieces."
  `)
})

test.skipIf(!hasWideMemory())('addresses have 64 bits where 32 do not reach', async () => {
  for (const [memory, addresses] of [
    ['4GB', 'i32'],
    ['4.5GB', 'i64'],
    ['16GB', 'i64'],
  ] as const) {
    const arena = createArena({ budgetBytes: bytesOf(memory) })
    expect(arena.addresses).toBe(addresses)
    expect(bytesOf(memory) - arena.budgetBytes).toBe(memory === '4.5GB' ? 0 : 2 ** 16)
  }
})
