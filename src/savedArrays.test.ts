/** Arrays that are saved and loaded, and what is said of files that hold something else. */
import { createReadStream, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Schema, Table, tableFromIPC, tableToIPC } from 'apache-arrow'
import { afterAll, expect, test } from 'vitest'
import { PlanError, SourceError } from './core/errors.ts'
import { Session } from './session/session.ts'

const folder = mkdtempSync(join(tmpdir(), 'distarray-saved-'))
const session = await Session.start({ workers: 1, memory: '64MB', progress: false })
afterAll(async () => {
  await session.stop()
  rmSync(folder, { recursive: true })
})
const at = (name: string): string => join(folder, name)
const path = at('a.arrow')

async function refusal(ask: () => Promise<unknown>): Promise<unknown> {
  return await ask().then(
    () => 'nothing was refused',
    (error: unknown) => error,
  )
}

test('a dense array comes back with shape, dtype and bits, and can be written', async () => {
  const bits = new Uint32Array([0x7fa00001, 0x80000000, 0x7f800000, 1, 2, 3])
  await session.fromTypedArray(new Float32Array(bits.buffer), [2, 3]).save(path)
  const again = await session.load<number, [number, number]>(path)
  expect(await again.shape()).toEqual([2, 3])
  const values = await again.toTypedArray()
  expect(values).toBeInstanceOf(Float32Array)
  expect(new Uint32Array(values.buffer)).toEqual(bits)
  await session.parallelFor(again, {}, () => 1)
  expect(await again.sum()).toBe(6)
  await again.release()
  await expect(again.sum()).rejects.toThrow(
    new PlanError('a.arrow was made with its elements and then released, so what it held is gone. Release it after its last use.'),
  )
})

test('an array comes back from bytes and from streams, be it saved or a tensor', async () => {
  const array = session.random([3, 4], { seed: 1 })
  for (const options of [{}, { as: 'tensor' } as const]) {
    await array.save(path, options)
    const bytes = readFileSync(path)
    for (const given of [bytes, createReadStream(path), new Blob([bytes]).stream()]) {
      const again = await session.load<number, [number, number]>(given)
      expect(await again.shape()).toEqual([3, 4])
      expect(await again.collect()).toEqual(await array.collect())
    }
  }
})

test('a sparse array comes back with its keys, and gets others', async () => {
  const ratings = session.fromRows([
    { user: 3, film: 0, stars: 5 },
    { user: 1, film: 2, stars: 0 },
  ])
  const matrix = ratings.index((r) => [r.user, r.film], { shape: [1_000_000, 1_000_000] }).map((r) => r.stars)
  expect(await matrix.save(path)).toMatchObject({ rows: 2 })
  const again = await session.load<number, [number, number]>(path)
  expect(await again.shape()).toEqual([1_000_000, 1_000_000])
  const keys: unknown[] = []
  await again.forEach((stars, key) => {
    keys.push([...key, stars])
  })
  expect(keys).toEqual([
    [1, 2, 0],
    [3, 0, 5],
  ])
  await session.parallelFor(session.range(3), { again }, ([i], { again }) => again.add(i, 2, 1))
  expect(await again.count()).toBe(4)
  expect([await again.at(1, 2), await again.at(0, 2), await again.at(9, 9)]).toEqual([1, 1, 0])
})

test('bools are what they were: numbers, or true and false', async () => {
  await session.zeros([2], { dtype: 'bool' }).save(path)
  expect(await (await session.load(path)).collect()).toEqual([0, 0])
  await session
    .fromTypedArray(Int8Array.of(1, -1), [2])
    .map((x) => x > 0)
    .save(path)
  const mask = await session.load<boolean>(path)
  expect(await mask.collect()).toEqual([true, false])
  expect(await mask.map((x) => (x ? 1 : 0)).sum()).toBe(1)
  const integers = session.fromTypedArray(BigInt64Array.of(-(2n ** 63n), 2n ** 62n + 1n), [2])
  await integers.save(path)
  expect(await (await session.load<bigint>(path)).collect()).toEqual([-(2n ** 63n), 2n ** 62n + 1n])
})

test('others read the file as Arrow', async () => {
  const sparse = session.sparse([4, 4])
  await sparse.set([2, 3], 1.5)
  await sparse.save(path)
  expect(await (await session.readArrow(path)).collect()).toEqual([{ key0: 2, key1: 3, value: 1.5 }])
})

test('the form of the file stays as it is: files of this version are loaded by all that come', async () => {
  await session.fromTypedArray(Float64Array.of(1, 2, 3), [3]).save(path)
  const dense = tableFromIPC(readFileSync(path))
  expect([...dense.schema.metadata]).toEqual([
    [
      'distarray.array',
      '{"version":1,"storage":"dense","shape":[3],"dtype":"f64","booleans":false,"length":3,"digest":"edad5a4684da70c4ab98d5234b9629380e938a9b662c722d42fc49cec86bac6d"}',
    ],
  ])
  expect(String(dense.schema)).toBe('Schema<{ 0: value: Float64 }>')
  const bools = session.sparse([2, 9], { dtype: 'bool' })
  await bools.set([1, 8], 1)
  await bools.save(path)
  const sparse = tableFromIPC(readFileSync(path))
  expect([...sparse.schema.metadata.values()]).toEqual([
    '{"version":1,"storage":"sparse","shape":[2,9],"dtype":"bool","booleans":false,"length":1,"digest":"ddce12b09ba29a3226ec7e843bd0761060970f8fa93f9d0ceb01c48cffc7ad82"}',
  ])
  expect(String(sparse.schema)).toBe('Schema<{ 0: key0: Int32, 1: key1: Int32, 2: value: Uint8 }>')
})

test('what cannot be saved is refused, and the file stays as it was', async () => {
  const kept = at('kept.arrow')
  writeFileSync(kept, 'as it was')
  const table = session.fromRows([3, 1])
  expect(await refusal(() => table.save(kept))).toEqual(
    new PlanError(
      'save() keeps arrays with keys of their own, and this is a table. Write it with writeParquet() or writeArrow(), which keep all of it, or give it keys: index((value, [i]) => [i]).',
    ),
  )
  const rows = session.fromRows([{ a: 1, b: 2 }]).index((r) => [r.a]) as never as typeof table
  expect(await refusal(() => rows.save(kept))).toEqual(
    new PlanError(
      'save() works on numbers; the elements of this array are { a: f64, b: f64 }.\nTake a column first, as in map((row) => row.price).save().',
    ),
  )
  const nulls = session
    .fromRows([
      { a: 1, b: null },
      { a: 2, b: 3 },
    ])
    .index((r) => [r.a])
    .map((r) => r.b) as never as typeof table
  expect(await refusal(() => nulls.save(kept))).toEqual(
    new PlanError(
      'save of fromRows.index(…).map(…) keeps numbers and booleans, which cannot hold null, and one element is null. Replace nulls, as in map((x) => x ?? 0).',
    ),
  )
  expect(await refusal(() => session.zeros([2]).save(kept, { signal: AbortSignal.abort('enough') }))).toBe('enough')
  expect(String(await refusal(() => session.zeros([2]).save(at('none/a.arrow'))))).toBe(
    `SourceError: ${at('none/a.arrow')} cannot be written: there is no folder ${at('none')}. Make it first, for example with mkdirSync("${at('none')}", { recursive: true }).`,
  )
  expect(readFileSync(kept, 'utf8')).toBe('as it was')
  expect(readdirSync(folder).filter((name) => name.endsWith('.tmp'))).toEqual([])
})

/** A file like the one that is saved, with other columns or another note. */
function forged(change: { readonly note?: (note: string) => string; readonly table?: (table: Table) => Table }): void {
  const table = tableFromIPC(readFileSync(path))
  const note = table.schema.metadata.get('distarray.array') as string
  const { schema, batches } = (change.table ?? ((same) => same))(table)
  const notes = new Map([['distarray.array', (change.note ?? ((same) => same))(note)]])
  writeFileSync(path, tableToIPC(new Table(new Schema(schema.fields, notes), batches), 'file'))
}

const DAMAGED = 'is damaged: '
const COPY = ' Take a copy of it, or save the array again.'
const NONSENSE = `${DAMAGED}what its schema says of the array makes no sense.${COPY}`
const said = (from: string | RegExp, to: string) => (note: string) => note.replace(from, to)
const FORGED: readonly (readonly [what: string, change: Parameters<typeof forged>[0], message: string])[] = [
  ['no JSON', { note: () => '{' }, NONSENSE],
  ['null', { note: () => 'null' }, NONSENSE],
  ['no version', { note: said('"version":1,', '') }, NONSENSE],
  [
    'a later version',
    { note: said('"version":1', '"version":2') },
    'was saved by a later version of distarray, in a form that this one does not know. Load it with that version.',
  ],
  ['a storage that there is not', { note: said('sparse', 'spares') }, NONSENSE],
  ['a dtype that there is not', { note: said('f64', 'toString') }, NONSENSE],
  ['no axis', { note: said('[5,5]', '[]') }, NONSENSE],
  ['an extent below 0', { note: said('[5,5]', '[5,-5]') }, NONSENSE],
  ['dense, with too few elements', { note: said('sparse', 'dense') }, NONSENSE],
  ['another dtype', { note: said('f64', 'f32') }, `${DAMAGED}its columns are not those that its schema tells of.${COPY}`],
  ['another number of axes', { note: said('[5,5]', '[5,5,5]') }, `${DAMAGED}its columns are not those that its schema tells of.${COPY}`],
  ['another shape', { note: said('[5,5]', '[5,6]') }, `${DAMAGED}its elements are not those that were saved.${COPY}`],
  ['a smaller shape', { note: said('[5,5]', '[4,5]') }, `${DAMAGED}its key [4, 0] is outside of its shape.${COPY}`],
  ['another length', { note: said('"length":2', '"length":3') }, `${DAMAGED}it has 2 elements, and its schema tells of 3.${COPY}`],
  ['booleans', { note: said('"booleans":false', '"booleans":true') }, `${DAMAGED}its elements are not those that were saved.${COPY}`],
  ['another digest', { note: said(/"digest":"./, '"digest":"x') }, `${DAMAGED}its elements are not those that were saved.${COPY}`],
  [
    'rows twice',
    { table: (table) => new Table([...table.batches, ...table.batches]), note: said('"length":2', '"length":4') },
    `${DAMAGED}its keys are not in order.${COPY}`,
  ],
  [
    'rows left out',
    { table: (table) => table.slice(0, 1), note: said('"length":2', '"length":1') },
    `${DAMAGED}its elements are not those that were saved.${COPY}`,
  ],
]

test.each(FORGED)('refused: a file with %s', async (_, change, message) => {
  const sparse = session.sparse([5, 5])
  await sparse.set([1, 2], 1.5)
  await sparse.set([4, 0], -0)
  await sparse.save(path)
  forged(change)
  expect(await refusal(() => session.load(path))).toEqual(new SourceError(`${path} ${message}`, path))
})

test('refused: files of others', async () => {
  const refused = async (): Promise<unknown> => await refusal(() => session.load(path))
  await session.fromRows([{ a: 1 }]).writeArrow(path)
  expect(await refused()).toEqual(
    new SourceError(`${path} is an Arrow file, and no array that save() wrote. Read its rows with readArrow().`, path),
  )
  await session.fromRows([{ a: 1 }]).writeParquet(path)
  expect(await refused()).toEqual(
    new SourceError(`${path} is a Parquet file, and load() reads arrays that save() wrote. Read it with readParquet().`, path),
  )
  await session.zeros([2]).writeNpy(path)
  expect(await refused()).toEqual(
    new SourceError(`${path} is a NumPy array (.npy), and load() reads arrays that save() wrote. Read it with readNpy().`, path),
  )
  writeFileSync(path, '\0')
  expect(await refused()).toEqual(new SourceError(`${path} is no array that save() wrote: it does not begin with ARROW1.`, path))
  writeFileSync(path, '')
  expect(await refused()).toEqual(new SourceError(`${path} is no array that save() wrote: it does not begin with ARROW1.`, path))
  await session.zeros([20]).save(path)
  writeFileSync(path, readFileSync(path).subarray(0, -9))
  expect(await refused()).toEqual(new SourceError(`${path} does not end with ARROW1: it was cut, or is still being written.`, path))
  expect(String(await refusal(() => session.load(at('none'))))).toBe(`SourceError: There is no file ${at('none')}.`)
})

test('a large array is saved and loaded piece by piece', async () => {
  const array = session.random([300_000, 3], { seed: 3, dtype: 'f32' })
  await array.save(path)
  const again = await session.load<number, [number, number]>(path)
  expect(Buffer.compare(Buffer.from((await again.toTypedArray()).buffer), Buffer.from((await array.toTypedArray()).buffer))).toBe(0)
  await Promise.all([again.release(), array.release()])
  const bytes = readFileSync(path)
  bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] as number) ^ 1
  writeFileSync(path, bytes)
  expect(await refusal(() => session.load(path))).toEqual(
    new SourceError(`${path} ${DAMAGED}its elements are not those that were saved.${COPY}`, path),
  )
  expect(await session.fill([4_000_000], 1).sum()).toBe(4_000_000) // what was read of it was freed
})
