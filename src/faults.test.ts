/** Deliberate faults lead to one place in a file that there is, and to a law that there is: seconds instead of a run of all faults. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readFaults, readReplays } from '../scripts/faultList.ts'
import { ROOT } from '../scripts/repository.ts'

const faults = readFaults()

test('each excerpt occurs once in its file, and each law is in a file that there is', () => {
  const lost = faults.filter(({ file, search, law }) => {
    const [lawFile = ''] = law.split(' > ')
    if (![file, lawFile].every((path) => existsSync(join(ROOT, path)))) return true
    return readFileSync(join(ROOT, file), 'utf8').split(search).length !== 2
  })
  expect(lost.map(({ name, file, law }) => `${name}: ${file}, ${law}`)).toEqual([])
})

test('names are those of one fault each, and nothing is remembered of others', () => {
  const names = faults.map(({ name }) => name)
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
  expect(Object.keys(readReplays()).filter((name) => !names.includes(name))).toEqual([])
})
