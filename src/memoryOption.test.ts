import { expect, test } from 'vitest'
import { PlanError } from './core/errors.ts'
import { bytesOf } from './runtime.ts'
import { Session } from './session.ts'

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

test('more than 32-bit addresses reach is refused when a session starts, not cut down to what there is', async () => {
  await expect(Session.start({ workers: 1, progress: false, memory: '6GB' })).rejects.toThrowErrorMatchingInlineSnapshot(`
    [PlanError: memory is "6GB". A session has '4GB' at the most: its arrays lie in one memory, and WebAssembly's 32-bit addresses end there.
    Ask for '4GB' or less, and leave what does not fit in files, which plans read in pieces.]
  `)
  expect(() => bytesOf(2 ** 32 + 1)).toThrow(PlanError)
})
