import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { writeAtomically } from './atomicFile.ts'
import { asideOf, besideOf } from './beside.ts'
import { writeFolder } from './folderOutput.ts'
import { ownerHere } from './processStart.ts'
import { removeAbandoned } from './spillFolder.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'beside-test-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

/** A process that writes a file and a folder, says so, and never ends. */
async function writer(): Promise<ChildProcess> {
  const module = (name: string): string => JSON.stringify(new URL(name, import.meta.url).href)
  const code = `
    import { writeAtomically } from ${module('./atomicFile.ts')}
    import { writeFolder } from ${module('./folderOutput.ts')}
    const wait = () => new Promise(() => undefined)
    let begun = 0
    const begins = async () => {
      if (++begun === 2) console.log('begun')
      await wait()
    }
    setInterval(() => undefined, 1_000)
    await Promise.all([
      writeAtomically(${JSON.stringify(join(folder, 'rows.csv'))}, async (append) => {
        await append(new Uint8Array(100))
        await begins()
      }),
      writeFolder({ path: ${JSON.stringify(join(folder, 'lake'))}, existing: 'replace', extension: '.csv' }, async (output) => {
        await output.append('year=1/part-0.csv', new Uint8Array(100))
        await begins()
      }),
    ])
  `
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'inherit'] })
  await new Promise((resolve) => child.stdout?.once('data', resolve))
  return child
}

test('what a writer leaves that is killed, the next that writes to the folder removes; of one at work nothing', async () => {
  const child = await writer()
  const ended = new Promise((resolve) => child.once('exit', resolve))
  const left = readdirSync(folder).filter((name) => name.endsWith('.tmp'))
  expect(left.length).toBe(2)
  await writeAtomically(join(folder, 'other.csv'), async (append) => await append(bytes('a\n')))
  expect(left.every((name) => existsSync(join(folder, name)))).toBe(true)
  child.kill('SIGKILL')
  await ended
  expect(left.every((name) => existsSync(join(folder, name)))).toBe(true)
  await writeFolder({ path: join(folder, 'lake'), existing: 'refuse', extension: '.csv' }, async (output) => {
    await output.append('part-0.csv', bytes('a\n'))
  })
  expect(readdirSync(folder).sort()).toEqual(['lake', 'other.csv'])
})

const gone = (path: string): string => path.replace(ownerHere(), `${ownerHere().split('-')[0]}-999999999-1`)

test('a folder that was moved aside comes back where the other one did not come, and else goes', async () => {
  const [lost, replaced] = ['lost', 'replaced'].map((name) => join(folder, name)) as [string, string]
  for (const place of [lost, replaced]) {
    const aside = gone(asideOf(besideOf(place)))
    mkdirSync(aside)
    writeFileSync(join(aside, 'part-0.csv'), 'old')
  }
  mkdirSync(replaced)
  writeFileSync(join(replaced, 'part-0.csv'), 'new')
  await writeAtomically(join(folder, 'other.csv'), async (append) => await append(bytes('a\n')))
  expect(readdirSync(folder).sort()).toEqual(['lost', 'other.csv', 'replaced'])
  expect(readFileSync(join(lost, 'part-0.csv'), 'utf8')).toBe('old')
  expect(readFileSync(join(replaced, 'part-0.csv'), 'utf8')).toBe('new')
})

test('a folder with a long name is put back by who writes there', async () => {
  const place = join(folder, 'x'.repeat(60))
  const aside = gone(asideOf(besideOf(place)))
  mkdirSync(aside)
  writeFileSync(join(aside, 'part-0.csv'), 'old')
  await writeAtomically(join(folder, 'other.csv'), async (append) => await append(bytes('a\n')))
  expect(existsSync(aside)).toBe(true)
  const refused = writeFolder({ path: place, existing: 'refuse', extension: '.csv' }, async () => undefined)
  await expect(refused).rejects.toThrow(`${place} has files in it.`)
  expect(readFileSync(join(place, 'part-0.csv'), 'utf8')).toBe('old')
})

test('names of other machines and of other programs stay', async () => {
  const names = [
    'rows.csv.00000000-999999999-1.a1b2c3d4.tmp',
    'rows.csv.4711.a1b2c3d4.tmp',
    'mine.tmp',
    'distarray-notes',
    'distarray-a-b-c',
  ]
  for (const name of names) writeFileSync(join(folder, name), '')
  await writeAtomically(join(folder, 'other.csv'), async (append) => await append(bytes('a\n')))
  removeAbandoned(folder)
  expect(readdirSync(folder).sort()).toEqual([...names, 'other.csv'].sort())
})
