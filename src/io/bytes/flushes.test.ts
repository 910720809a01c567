import { expect, test } from 'vitest'
import { FLUSH_BYTES, flushedBeside } from './flushes.ts'

/** A handle whose flushes end when the test says so. */
function handleOf(): {
  readonly datasync: () => Promise<void>
  readonly underWay: { readonly end: () => void; readonly fail: (error: Error) => void }[]
} {
  const underWay: { readonly end: () => void; readonly fail: (error: Error) => void }[] = []
  return { underWay, datasync: () => new Promise<void>((end, fail) => underWay.push({ end, fail })) }
}

test('a file is flushed while it grows, once at a time', async () => {
  const handle = handleOf()
  const flushes = flushedBeside(handle)
  flushes.appended(FLUSH_BYTES - 1)
  expect(handle.underWay).toHaveLength(0)
  flushes.appended(1)
  flushes.appended(FLUSH_BYTES)
  expect(handle.underWay).toHaveLength(1)
  handle.underWay[0]?.end()
  await flushes.ended()
  flushes.appended(1)
  expect(handle.underWay).toHaveLength(2)
})

test('the end waits for the flush that is under way', async () => {
  const handle = handleOf()
  const flushes = flushedBeside(handle)
  flushes.appended(FLUSH_BYTES)
  let isEnded = false
  const ended = flushes.ended().then(() => {
    isEnded = true
  })
  await new Promise(setImmediate)
  expect(isEnded).toBe(false)
  handle.underWay[0]?.end()
  await ended
})

test('what a flush could not write is said at the end, though a later flush succeeds', async () => {
  const handle = handleOf()
  const flushes = flushedBeside(handle)
  flushes.appended(FLUSH_BYTES)
  handle.underWay[0]?.fail(new Error('no space is left'))
  await expect(flushes.ended()).rejects.toThrow('no space is left')
  flushes.appended(FLUSH_BYTES)
  handle.underWay[1]?.end()
  await expect(flushes.ended()).rejects.toThrow('no space is left')
})
