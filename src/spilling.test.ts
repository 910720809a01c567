/** What memory does not hold, as a program sees it. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { count, type DistArray, PlanError, rowNumber, Session, type SessionEvent, SpillError, sum } from './index.ts'

interface Row {
  readonly id: number
  readonly k: number
  readonly v: number
  readonly s: string
}

const ROWS = 60_000
let folder: string
let path: string
let large: Session
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'spilling-test-'))
  path = join(folder, 'rows.parquet')
  large = await Session.start({ workers: 2, progress: false })
  const at = <V>(of: (i: number) => V): V[] => Array.from({ length: ROWS }, (_, i) => of(i))
  const rows = large.fromColumns({
    ...{ id: Int32Array.from(at((i) => i)), k: Int32Array.from(at((i) => (i * 7_919) % 60_013)) },
    ...{ v: Float64Array.from(at((i) => ((i * 31) % 1_009) / 3)), s: at((i) => `text ${(i * 104_729) % 90_001}`) },
  })
  await rows.writeParquet(path, { rowGroupRows: 20_000 })
})
afterAll(async () => {
  await large.stop()
  rmSync(folder, { recursive: true })
})

const QUERIES: { readonly [Name in string]: (rows: DistArray<Row>) => DistArray<unknown> } = {
  groups: (rows) => rows.groupBy((r) => r.s).agg({ n: count(), total: sum((r) => r.v) }),
  distinct: (rows) => rows.select('k', 'v', 's').distinct(),
  sort: (rows) => rows.sortBy((r) => r.s),
  join: (rows) => rows.join(rows.select('id', 'v').rename({ v: 'other' }), 'id', { how: 'full' }),
  window: (rows) => rows.window({ by: (r) => r.k, orderBy: (r) => r.v }, { place: rowNumber() }),
  'a join of groups with rows that are read ahead': (rows) =>
    rows
      .groupBy((r) => ({ s: r.s }))
      .agg({ n: count() })
      .join(rows, 's', { how: 'left' }),
  'groups of a join': (rows) =>
    rows
      .join(rows.select('id', 'v').rename({ v: 'other' }), 'id')
      .groupBy((r) => r.k)
      .agg({ total: sum((r) => r.other) }),
}

/** Files that are there while nothing runs. */
function filesLeft(spillFolder: string): readonly string[] {
  return readdirSync(spillFolder).flatMap((own) => readdirSync(join(spillFolder, own)))
}

test('the result is that of a session with enough memory, and no file is left', async () => {
  const spillFolder = join(folder, 'spilled')
  const small = await Session.start({ workers: 2, memory: '2MB', progress: false, spillFolder })
  const spills: Extract<SessionEvent, { kind: 'spill' }>[] = []
  small.events.subscribe((event) => {
    if (event.kind === 'spill') spills.push(event)
  })
  const [few, all] = [await small.readParquet(path), await large.readParquet(path)] as unknown as DistArray<Row>[]
  for (const [name, query] of Object.entries(QUERIES)) {
    const found: unknown[] = []
    for await (const one of query(few as DistArray<Row>)) found.push(one)
    // as texts: comparing as many objects one by one takes longer than making them
    expect(JSON.stringify(found) === JSON.stringify(await query(all as DistArray<Row>).collect()), name).toBe(true)
    expect(spills.length, name).toBeGreaterThan(0)
    expect(
      spills.splice(0).every(({ operator, bytes }) => operator.endsWith('Exec') && bytes > 0),
      name,
    ).toBe(true)
    expect(filesLeft(spillFolder), name).toEqual([])
  }
  await small.stop()
  expect(readdirSync(spillFolder)).toEqual([])
})

test('what is clearly more than memory holds is not read in vain first', async () => {
  const small = await Session.start({ workers: 1, memory: '1MB', progress: false })
  const scans: string[] = []
  small.events.subscribe((event) => {
    if (event.kind === 'stage' && event.phase === 'started' && event.stage.startsWith('ScanExec')) scans.push(event.stage)
  })
  const rows = (await small.readParquet(path)) as unknown as DistArray<Row>
  for await (const _ of rows.sortBy((r) => r.v).batches());
  expect(scans).toEqual(['ScanExec rows.parquet -> EvaluateExec'])
  await small.stop()
})

for (const { name, rows, rowGroupRows, memory } of [
  { name: 'groups', rows: 100_000, rowGroupRows: 1_000, memory: '2MB' },
  { name: 'distinct', rows: 600_000, rowGroupRows: 10_000, memory: '4MB' },
] as const)
  test(`${name} that the first partitions tell to be more than memory holds are not tried to the end`, async () => {
    const file = join(folder, 'finer.parquet')
    const columns = { k: Float64Array.from({ length: rows }, (_, i) => i), v: new Float64Array(rows) }
    await large.fromColumns(columns).writeParquet(file, { rowGroupRows })
    const small = await Session.start({ workers: 1, memory, progress: false })
    const done: number[] = []
    small.events.subscribe((event) => {
      if (event.kind === 'stage' && event.phase === 'started' && event.stage.startsWith('ScanExec') && event.stage.includes('finer'))
        done.push(0)
      if (event.kind === 'progress' && event.job.includes('finer')) done.push((done.pop() ?? 0) + 1)
    })
    const table = (await small.readParquet(file)) as unknown as DistArray<{ readonly k: number; readonly v: number }>
    const query = name === 'groups' ? table.groupBy((r) => r.k).agg({ total: sum((r) => r.v) }) : table.distinct()
    for await (const _ of query.batches());
    // groups are tried range after range of row groups first
    expect(done.length).toBeLessThan(4)
    expect(done.slice(0, -1).every((tried) => tried < 10)).toBe(true)
    expect(done.at(-1)).toBe(rows / rowGroupRows)
    await small.stop()
  })

test('explain says how much was spilled', async () => {
  const small = await Session.start({ workers: 1, memory: '2MB', progress: false })
  const rows = (await small.readParquet(path)) as unknown as DistArray<Row>
  const text = String(await rows.sortBy((r) => r.s).explain({ analyze: true }))
  expect(text).toMatch(/SortExec[^\n]*: [^\n]*60,000 rows[^\n]*, [\d.]+ MiB spilled/)
  await small.stop()
})

test('who stops in the middle leaves nothing', async () => {
  const spillFolder = join(folder, 'stopped')
  const small = await Session.start({ workers: 1, memory: '2MB', progress: false, spillFolder })
  const rows = (await small.readParquet(path)) as unknown as DistArray<Row>
  for await (const _ of rows.sortBy((r) => r.v)) break
  expect(filesLeft(spillFolder)).toEqual([])
  await small.stop()
})

test('a folder that cannot be written is an error that names it, and the session goes on', async () => {
  const spillFolder = join(folder, 'a file')
  writeFileSync(spillFolder, '')
  const small = await Session.start({ workers: 1, memory: '2MB', progress: false, spillFolder })
  const rows = (await small.readParquet(path)) as unknown as DistArray<Row>
  await expect(rows.sortBy((r) => r.s).collect()).rejects.toThrow(
    new SpillError(
      `What memory does not hold could not be written in ${spillFolder}: ENOTDIR: not a directory, scandir '${spillFolder}'.\nMake room there, give another folder with { spillFolder } in Session.start, or raise { memory }.`,
      spillFolder,
    ),
  )
  expect(await rows.filter((r) => r.id < 5).count()).toBe(5)
  rmSync(spillFolder)
  expect(await rows.sortBy((r) => r.s).first()).toMatchObject({ s: 'text 0' })
  await small.stop()
})

test('a folder that is removed in the middle is an error that names it, and the next that spills makes it again', async () => {
  const spillFolder = join(folder, 'removed')
  const small = await Session.start({ workers: 2, memory: '2MB', progress: false, spillFolder })
  const sorted = ((await small.readParquet(path)) as unknown as DistArray<Row>).sortBy((r) => r.s)
  const interrupted = async () => {
    let read = 0
    for await (const _ of sorted) if (read++ === 0) rmSync(spillFolder, { recursive: true })
  }
  const error = await interrupted().catch((error: unknown) => error)
  expect(error).toBeInstanceOf(SpillError)
  const { path: own, message } = error as SpillError
  expect(dirname(own)).toBe(spillFolder)
  expect(message.replace(/'[^']*'/, "'…'")).toBe(
    `What memory does not hold could not be read in ${own}: ENOENT: no such file or directory, open '…'.\nMake room there, give another folder with { spillFolder } in Session.start, or raise { memory }.`,
  )
  let rows = 0
  for await (const _ of sorted) rows++
  expect(rows).toBe(ROWS)
  expect(filesLeft(spillFolder)).toEqual([])
  await small.stop()
})

test.skipIf(process.platform !== 'linux').each(['/proc/none', '/proc/none/below', '/dev/full'])(
  'a folder that nobody can make: %s',
  async (spillFolder) => {
    const small = await Session.start({ workers: 1, memory: '2MB', progress: false, spillFolder })
    const rows = (await small.readParquet(path)) as unknown as DistArray<Row>
    const error = await rows
      .sortBy((r) => r.s)
      .collect()
      .catch((error: unknown) => error)
    expect([(error as SpillError).constructor, (error as SpillError).path]).toEqual([SpillError, spillFolder])
    await small.stop()
  },
)

test('spillFolder is a path', async () => {
  await expect(Session.start({ spillFolder: 7 as never })).rejects.toThrow(new PlanError('spillFolder is 7. It is the path of a folder.'))
})
