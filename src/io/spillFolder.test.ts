import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { SpillFolder } from './spillFolder.ts'

let parent: string
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'spill-folder-test-'))
})
afterEach(() => rmSync(parent, { recursive: true, force: true }))

test('a folder is made for the first file, and removed with all that is in it', () => {
  const folder = new SpillFolder(join(parent, 'deep', 'er'))
  expect(readdirSync(parent)).toEqual([])
  const [first, second] = [folder.file(), folder.file()]
  expect(dirname(first)).toBe(dirname(second))
  expect(first).not.toBe(second)
  writeFileSync(first, 'x')
  folder.remove()
  expect(readdirSync(join(parent, 'deep', 'er'))).toEqual([])
  folder.remove() // once more does nothing
})

test('what processes have left that are not there any more is removed, and nothing else', () => {
  const [mine, other] = [new SpillFolder(parent), new SpillFolder(parent)]
  const own = dirname(mine.file())
  const [, host = '', pid = ''] = basename(own).split('-')
  expect(Number(pid)).toBe(process.pid)
  const left = ['0-abcdef', '1-abcdef'].map((end) => join(parent, `distarray-${host}-999999999-${end}`))
  const another = join(parent, `distarray-${host}-${process.pid}-1-abcdef`) // this process was not started then
  const foreign = join(parent, 'distarray-otherhos-999999999-1-abcdef')
  for (const path of [...left, another, foreign]) {
    mkdirSync(path)
    writeFileSync(join(path, '1'), 'x')
  }
  other.file()
  expect(left.map((path) => existsSync(path))).toEqual([false, false])
  if (process.platform === 'linux') expect(existsSync(another)).toBe(false)
  expect(existsSync(foreign)).toBe(true)
  expect(existsSync(own)).toBe(true)
  mine.remove()
  other.remove()
})
