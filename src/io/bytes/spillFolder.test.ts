import { spawn } from 'node:child_process'
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

test('the folder of a process that was killed is there until the next one spills', async () => {
  const module = new URL('./spillFolder.ts', import.meta.url).href
  const code = `
    import { writeFileSync } from 'node:fs'
    import { SpillFolder } from ${JSON.stringify(module)}
    const file = new SpillFolder(${JSON.stringify(parent)}).file()
    writeFileSync(file, 'x')
    console.log(file)
    setInterval(() => undefined, 1_000)
  `
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  const file = await new Promise<string>((resolve) => child.stdout.once('data', (text) => resolve(String(text).trim())))
  const mine = new SpillFolder(parent)
  mine.file()
  expect(existsSync(file)).toBe(true) // it is at work
  child.kill('SIGKILL')
  await ended
  expect(existsSync(file)).toBe(true)
  new SpillFolder(parent).file()
  expect(existsSync(dirname(file))).toBe(false)
  mine.remove()
})

test('a process whose folder cannot be removed as it exits has the status that it exits with', async () => {
  const module = new URL('./spillFolder.ts', import.meta.url).href
  const code = `
    import fs, { existsSync } from 'node:fs'
    import { syncBuiltinESMExports } from 'node:module'
    const { SpillFolder } = await import(${JSON.stringify(module)})
    new SpillFolder(${JSON.stringify(parent)}).file()
    fs.rmSync = () => { throw new Error('ENOTEMPTY') } // as where a worker writes there meanwhile
    syncBuiltinESMExports()
    process.exit(existsSync(${JSON.stringify(parent)}) ? 7 : 1)
  `
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  child.stderr.on('data', (text) => (said += String(text)))
  expect(await new Promise((resolve) => child.once('close', resolve))).toBe(7)
  expect(said).toBe('')
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
