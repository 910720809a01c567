import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openBytes } from '../../io/bytes/byteSource.ts'
import { withOpenFiles } from './openFiles.ts'

test('a file is opened by the first who reads it, and closed after the last', async () => {
  const said: string[] = []
  const file = (path: string) => async () => {
    said.push(`open ${path}`)
    return { path, close: async () => void said.push(`close ${path}`) }
  }
  const found = await withOpenFiles(async (files) => {
    const paths: string[] = []
    for (const path of ['a', 'b', 'a']) paths.push((await files.opened(path, file(path))).path)
    said.push('used')
    return paths
  })
  expect(found).toStrictEqual(['a', 'b', 'a'])
  expect(said).toStrictEqual(['open a', 'open b', 'used', 'close a', 'close b'])
})

test('files are closed where reading fails, and one that could not be opened is tried again', async () => {
  const said: string[] = []
  const reading = withOpenFiles(async (files) => {
    await files.opened('a', async () => ({ close: async () => void said.push('closed') }))
    const failing = (): Promise<never> => Promise.reject(new Error(`${said.push('tried')}`))
    await files.opened('b', failing).catch(() => undefined)
    await files.opened('b', failing)
  })
  await expect(reading).rejects.toThrow(new Error('2'))
  expect(said).toStrictEqual(['tried', 'tried', 'closed'])
})

test('who closes a file that others read leaves it open for them', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'distarray-open-'))
  const path = join(folder, 'letters')
  writeFileSync(path, 'abcdef')
  const pieces = await withOpenFiles(async (files) => {
    const read: string[] = []
    for (const waits of [true, false, true]) {
      const bytes = await openBytes(path, { files, waits })
      read.push(Buffer.from(await bytes.read(2 * read.length, 2 * read.length + 2)).toString())
      await bytes.close()
      if (read.length === 1) rmSync(path) // what is open is there all the same
    }
    return read
  })
  expect(pieces).toStrictEqual(['ab', 'cd', 'ef'])
  rmSync(folder, { recursive: true })
})
