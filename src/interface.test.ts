/** What rows are to TypeScript: printed, and expected. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { interfaceOf, PlanError, Session, SourceError } from './index.ts'

const folder = mkdtempSync(join(tmpdir(), 'distarray-interface-'))
const path = join(folder, 'day ratings.v2.parquet')
let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 1, memory: '64MB' })
  await session
    .fromRows([
      { id: 1n, stars: 4.5, 'a b': 'x', when: new Date(0), tags: ['a'], inner: { x: 1, y: null as string | null }, ok: true },
      { id: 2n, stars: 1, 'a b': 'x', when: null, tags: [], inner: { x: 1, y: 'a' }, ok: false },
    ])
    .writeParquet(path)
})
afterAll(async () => {
  await session.stop()
  rmSync(folder, { recursive: true })
})

const TEXT = `interface DayRatings {
  id: number // i64 as number
  stars: number
  "a b": string
  when: Date | null // timestamp(ms)
  tags: string[]
  inner: { x: number; y: string | null }
  ok: boolean
}`

test('the interface of a table, and of a file', async () => {
  const table = await session.readParquet(path)
  expect(interfaceOf(table, 'DayRatings')).toBe(TEXT)
  expect(interfaceOf(table.select('id'))).toBe('interface Row {\n  id: number // i64 as number\n}')
  expect(() => interfaceOf(table.map((r) => r.id))).toThrow(
    new PlanError('An array of single values has no columns, and no interface. It has for a table of them: map((value) => ({ value })).'),
  )
  expect(() => interfaceOf(5 as never)).toThrow(new PlanError('interfaceOf() takes a table, as readParquet() gives it.'))
})

test('distarray schema FILE', () => {
  const cli = fileURLToPath(new URL('cli.ts', import.meta.url))
  const run = (...args: string[]) =>
    execFileSync(process.execPath, ['--import', import.meta.resolve('tsx'), cli, 'schema', ...args], { encoding: 'utf8', stdio: 'pipe' })
  expect(run(path)).toBe(`${TEXT}\n`)
  const csv = join(folder, '2024-sales.csv')
  writeFileSync(csv, 'day,total\n2024-03-01,1\n')
  expect(run(csv)).toBe('interface Row2024Sales {\n  day: string | null\n  total: number | null\n}\n')
  expect(run('--help')).toContain('distarray schema FILE… ')
  expect(() => run(join(folder, 'none.csv'))).toThrow(`SourceError: There is no file ${folder}/none.csv.`)
})

test('what is expected of a file is compared when it is opened', async () => {
  const wanted = { id: 'number', stars: 'f64', 'a b': 'string', when: 'timestamp | null', tags: 'string[]', ok: 'boolean' }
  expect(await (await session.readParquet(path, { expect: wanted })).count()).toBe(2)
  await expect(
    session.readParquet(path, { expect: { id: 'bigint', star: 'number', stars: 'string | null', when: 'Date', ok: 'boolean | null' } }),
  ).rejects.toThrow(
    new SourceError(
      [
        'day ratings.v2.parquet is not what { expect } says:',
        '  id: it is number (i64 as number), and bigint was expected.',
        '  star: there is no such column. Is it stars?',
        '  stars: it is number (f64), and string | null was expected.',
        '  when: it may be null, as Date | null (timestamp(ms)), and Date was expected.',
      ].join('\n'),
      'day ratings.v2.parquet',
    ),
  )
  await expect(session.readParquet(path, { expect: { id: 5 as never } })).rejects.toThrow(
    new PlanError(`{ expect } says that column "id" is 5. Types are texts, as 'number', 'string | null' or 'timestamp'.`),
  )
  await expect(session.readParquet(path, { expect: 'number' as never })).rejects.toThrow(
    new PlanError(`The expect of a reader is an object, as { stars: 'number' }; it was given "number".`),
  )
})
