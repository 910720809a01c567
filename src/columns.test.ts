/** Column programs through the public API: what runs as one, what it gives, and what `explain` says of it. */
import { afterAll, expect, test } from 'vitest'
import { sum } from './core/plan/aggregates.ts'
import { modulesCompiled } from './exec/wasm/moduleCache.ts'
import { Session } from './session/session.ts'

const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

const N = 50_000
const price = Float64Array.from({ length: N }, (_, i) => (i % 997) / 7)
const count = Int32Array.from({ length: N }, (_, i) => i % 13)
const name = Array.from({ length: N }, (_, i) => (i % 5 === 0 ? null : ['a', 'b', 'c'][i % 3]))
const table = session.fromColumns({ price, count, name: name as string[] })
const kernelOf = (explained: string) => explained.slice(explained.indexOf('Kernel of')).split('\n')[1]?.trim()

/** By the tree: chunks of 4,096 kept values. */
function treeSum(values: readonly number[]): number {
  let sums: number[] = []
  for (let i = 0; i < values.length; i += 4096) sums.push(values.slice(i, i + 4096).reduce((a, b) => a + b, 0))
  while (sums.length > 1) sums = sums.flatMap((sum, i) => (i % 2 === 1 ? [] : [i + 1 < sums.length ? sum + (sums[i + 1] ?? 0) : sum]))
  return sums[0] ?? 0
}

test('folds of filters and maps have the values and bits of the fixed tree', async () => {
  const least = 3
  const chain = table.filter((r) => r.count > least && r.name !== 'b').map((r) => r.price * r.count)
  expect(kernelOf(chain.explain({ verbose: true }))).toBe('WebAssembly: one pass over the columns, four rows at a time')
  const values = [...price].flatMap((x, i) => ((count[i] ?? 0) > least && name[i] !== 'b' ? [x * (count[i] ?? 0)] : []))
  expect(await chain.sum()).toBe(treeSum(values))
  expect(await chain.count()).toBe(values.length)
  expect(await chain.mean()).toBe(treeSum(values) / values.length)
  expect(await chain.min()).toBe(values.reduce((a, b) => Math.min(a, b)))
  expect(await chain.max()).toBe(values.reduce((a, b) => Math.max(a, b)))
})

test('a fold of nothing, and of nulls', async () => {
  const nothing = table.filter((r) => r.count > 100).map((r) => r.price)
  expect([await nothing.sum(), await nothing.count(), await nothing.mean(), await nothing.min()]).toEqual([0, 0, undefined, undefined])
  const few = table.map((r) => (r.count === 12 ? r.price : null)).filter((x) => x === null || x >= 0)
  expect(await few.count()).toBe(N)
  expect(await (few as typeof nothing).max()).toBe(Math.max(...price.filter((_, i) => count[i] === 12)))
})

test('materialised columns are those of the function, in storage of their own', async () => {
  const rows = table.withColumns((r) => ({ total: r.price * r.count, cheap: r.price < 10 })).materialize()
  expect(await rows.at(12_345)).toEqual({
    ...{ price: price[12_345], count: count[12_345], name: name[12_345] },
    ...{ total: (price[12_345] ?? 0) * (count[12_345] ?? 0), cheap: (price[12_345] ?? 0) < 10 },
  })
  const kept = table
    .filter((r) => r.count === 5)
    .map((r) => ({ price: r.price, half: r.count / 2 }))
    .materialize()
  expect(await kept.count()).toBe(count.filter((x) => x === 5).length)
  expect(await kept.at(100)).toEqual({ price: price[5 + 13 * 100], half: 2.5 })
  await rows.release()
  expect(await table.map((r) => r.price).sum()).toBe(treeSum([...price]))
})

test('a captured number is read at the call, and another one compiles nothing', async () => {
  const above = async (limit: number) => await table.filter((r) => r.price > limit).count()
  await above(0.5)
  const before = modulesCompiled()
  for (const limit of [10.5, 99.25, -0]) expect(await above(limit)).toBe(price.filter((x) => x > limit).length)
  expect(modulesCompiled()).toBe(before)
  // whether a number is an integer of 32 bits is part of the code
  for (const limit of [20, 21, -5]) expect(await above(limit)).toBe(price.filter((x) => x > limit).length)
  expect(modulesCompiled()).toBe(before + 1)
})

test('what is collected of a large table is computed over columns too', async () => {
  const rows = await table
    .filter((r) => r.count === 7)
    .map((r) => ({ at: r.price, big: r.count > 6 }))
    .collect()
  expect(rows.length).toBe(count.filter((x) => x === 7).length)
  expect(rows[9]).toEqual({ at: price[7 + 13 * 9], big: true })
  const texts = await table.filter((r) => r.name === 'a').collect()
  expect(texts.every((row) => row.name === 'a')).toBe(true)
  expect(texts.length).toBe(name.filter((x) => x === 'a').length)
})

test('an aborted run rejects with the reason and leaves nothing behind', async () => {
  const stop = new AbortController()
  const collected = table.map((r) => r.price * 2).collect({ signal: stop.signal })
  stop.abort(new Error('enough'))
  await expect(collected).rejects.toThrow('enough')
  expect(await table.map((r) => r.price * 2).max()).toBe(2 * Math.max(...price))
})

test('explain says why a chain is no column program', () => {
  const because = (array: { explain(options: { verbose: boolean }): string }) => kernelOf(array.explain({ verbose: true }))
  expect(because(table.filter((r) => (r.name ?? '').startsWith(`${r.count}`)))).toMatchInlineSnapshot(
    `"JavaScript, because it calls startsWith (1:8 (r.name ?? "").startsWith(\`\${r.count}\`))"`,
  )
  expect(because(table.filter((r, [i]) => r.price > i))).toMatchInlineSnapshot(`"JavaScript, because a function reads row numbers"`)
  expect(because(session.fromColumns({ x: [1, 2, 3] }).map((r) => r.x + 1))).toMatchInlineSnapshot(
    `"JavaScript, because the table has only 3 rows"`,
  )
  expect(because(table.sortBy((r) => r.price).map((r) => r.price))).toMatchInlineSnapshot(
    `"JavaScript, because its rows do not come from a table in memory"`,
  )
})

test('explain knows which numbers have too many values for texts to be computed once for each, once they were asked', async () => {
  const texts = table.map((r) => `${r.name} ${r.price}`)
  expect(kernelOf(texts.explain({ verbose: true }))).toContain('WebAssembly')
  expect(await texts.take(1)).toHaveLength(1)
  await texts.toArrow()
  expect(kernelOf(texts.explain({ verbose: true }))).toContain('JavaScript')
})

test('explain says what is computed once for each text', () => {
  const [, text = ''] = table
    .map((r) => r.name?.toUpperCase())
    .explain()
    .split('Functions\n')
  expect(text).toMatchInlineSnapshot(
    `"  MapExec r => r.name?.toUpperCase(): WebAssembly over columns, because what depends on one column of texts or dates alone, or gives a text, is computed once for each of the values, as long as they are few"`,
  )
})

test('explain says how groups are found, and what runs below them', () => {
  const told = (array: { explain(options: { verbose: boolean }): string }) => {
    const [, text = ''] = array.explain({ verbose: true }).split('\nGroups\n')
    return text
      .split('\n')
      .filter((line) => !/^ {4}/.test(line))
      .map((line) => line.trim())
      .slice(0, 3)
  }
  const found = (array: Parameters<typeof told>[0]) => told(array)[0]
  expect(found(table.groupBy((r) => r.count).count())).toBe('by direct index over 13 places')
  expect(found(table.groupBy((r) => ({ few: r.count, big: r.price > 1 })).count())).toBe(
    'by direct index where keys are whole numbers that lie together, else by hash',
  )
  expect(found(table.groupBy((r) => r.price).count())).toBe('by hash')
  expect(
    found(
      table
        .groupBy((r) => r.name)
        .count()
        .sortBy((r) => r.count),
    ),
  ).toBe('by direct index over 4 places, by codes of name')
  const many = session.fromColumns({ many: Array.from({ length: N }, (_, i) => `${i % 9_000}`) })
  expect(found(many.groupBy((r) => r.many).count())).toBe('by hash')
  expect(found(table.select('name').distinct())).toBe('by direct index over 4 places, by codes of name')
  expect(found(table.map((r) => r.price).distinct())).toBe('by hash')
  const days = Uint8Array.from(count, (_, i) => i % 7)
  const both = session.fromColumns({ count, days }).filter((r) => r.count > 1)
  expect(told(both.groupBy((r) => ({ few: r.count, day: r.days })).count())).toEqual([
    'by direct index over at most 91 places',
    'Kernel of the rows that are grouped',
    'WebAssembly: one pass over the columns, four rows at a time',
  ])
  expect(told(both.groupBy((r) => Number(String(r.count).slice(r.days))).count()).slice(1)).toMatchInlineSnapshot(`
    [
      "Kernel of the rows that are grouped",
      "JavaScript, because it computes with a column of utf8 (1:1 (r) => Number(String(r.count).slice(r.days)))",
    ]
  `)
})

test('groups of a table that no near cache holds', async () => {
  // so many groups that their records leave a core's cache as well: their rows are listed
  const rows = 2_200_000
  const key = Uint16Array.from({ length: rows }, (_, i) => (Math.imul(i, 0x9e3779b1) >>> 8) % 9_000)
  const value = Int16Array.from({ length: rows }, (_, i) => i % 1_000)
  const found = new Map<number, { key: number; count: number; total: number }>()
  for (let i = 0; i < rows; i++) {
    const group = found.get(key[i] as number) ?? { key: key[i] as number, count: 0, total: 0 }
    found.set(group.key, { ...group, count: group.count + 1, total: group.total + (value[i] as number) })
  }
  const expected = [...found.values()]
  await using one = await Session.start({ workers: 1, progress: false })
  for (const each of [one, session]) {
    const groups = each.fromColumns({ key, value }).groupBy((r) => r.key)
    expect(await groups.count().collect()).toEqual(expected.map(({ key, count }) => ({ key, count })))
    expect(await groups.agg({ total: sum((r) => r.value) }).collect()).toEqual(expected.map(({ key, total }) => ({ key, total })))
  }
})

test('codes of a stored table come when a groupBy wants them, and only where there is room', async () => {
  await using small = await Session.start({ workers: 1, memory: '4MB', progress: false })
  const stored = small.fromColumns({ price, name: name as string[] }).materialize()
  const groups = stored.groupBy((r) => r.name).count()
  const found = () => groups.explain({ verbose: true }).split('\nGroups\n')[1]?.trim().split('\n')[0]
  const counts = [0, 1, 2, 3].map((row) => ({ key: name[row], count: name.filter((one) => one === name[row]).length }))
  expect(await stored.filter((r) => r.name === 'b').count()).toBe(counts.find(({ key }) => key === 'b')?.count)
  expect(found()).toBe('by hash, or by codes of name once there are any')
  const large = small.zeros([300_000])
  await large.set([0], 1)
  expect(await groups.collect()).toEqual(counts)
  expect(found()).toBe('by hash, or by codes of name once there are any')
  await large.release()
  expect(await groups.collect()).toEqual(counts)
  expect(found()).toBe('by direct index over 4 places, by codes of name')
  await stored.release()
})

test('keys computed as integers are doubles in the result, as they are of any other chain', async () => {
  const [least, days] = [4, Array.from({ length: N }, (_, i) => (i % 11 === 3 ? null : i % 7))]
  const groups = session
    .fromColumns({ count, days })
    .groupBy((r) => ({ half: r.count >> 1, more: r.days === null ? null : r.days + least }))
  const found = await groups.count().toArrow()
  expect(found.schema.fields.map((field) => String(field.type))).toEqual(['Float64', 'Float64', 'Float64'])
  expect(found.numRows).toBe(7 * 8)
  const counted = new Map<string, number>()
  for (let i = 0; i < N; i++) {
    const key = `${(count[i] as number) >> 1} ${days[i] === null ? null : (days[i] as number) + least}`
    counted.set(key, (counted.get(key) ?? 0) + 1)
  }
  expect(found.toArray().map((row) => [`${row.half} ${row.more}`, row.count])).toEqual([...counted])
  const text = groups.count().explain({ verbose: true })
  // a vector of integers, and two of doubles
  expect(text.slice(text.indexOf('WebAssembly')).match(/\(v128\.store /g)?.length).toBe(3)
})

test('groups by two columns are those of their pairs, in order of first appearance', async () => {
  const days = Array.from({ length: N }, (_, i) => (i % 11 === 3 ? null : i % 7))
  const groups = await session
    .fromColumns({ count, days })
    .groupBy((r) => ({ c: r.count, d: r.days }))
    .count()
    .collect()
  const pairs = new Map<string, number>()
  for (let i = 0; i < N; i++) pairs.set(`${count[i]} ${days[i]}`, (pairs.get(`${count[i]} ${days[i]}`) ?? 0) + 1)
  expect(groups.map((group) => [`${group.c} ${group.d}`, group.count])).toEqual([...pairs])
})

test('groups and filters by text with codes are those by the texts', async () => {
  const groups = await table
    .filter((r) => r.name !== 'b' && r.name !== 'nowhere')
    .groupBy((r) => ({ name: r.name, few: r.count }))
    .count()
    .collect()
  const pairs = new Map<string, number>()
  for (let i = 0; i < N; i++) {
    if (name[i] !== 'b') pairs.set(`${name[i]} ${count[i]}`, (pairs.get(`${name[i]} ${count[i]}`) ?? 0) + 1)
  }
  expect(groups.map((group) => [`${group.name} ${group.few}`, group.count])).toEqual([...pairs])
  expect(await table.filter((r) => r.name === 'nowhere').count()).toBe(0)
})

test('bytes of selected rows are put end to end', async () => {
  const bytes = Array.from({ length: N }, (_, i) => (i % 7 === 3 ? null : Uint8Array.from({ length: i % 5 }, (_, k) => i + k)))
  const kept = session.fromRows(bytes.map((value, i) => ({ count: count[i] ?? 0, bytes: value }))).filter((r) => r.count > 4)
  expect(kernelOf(kept.explain({ verbose: true }))).toBe('WebAssembly: one pass over the columns, four rows at a time')
  const rows = await kept.collect()
  expect(rows.map((row) => row.bytes)).toEqual(bytes.filter((_, i) => (count[i] ?? 0) > 4))
})

test('a table that would take more than half of the memory stays outside of it', async () => {
  await using small = await Session.start({ workers: 1, memory: '2MB', progress: false })
  const column = small.fromColumns({ x: price, y: price, z: price }).map((r) => r.x + r.y + r.z)
  expect(kernelOf(column.explain({ verbose: true }))).toMatchInlineSnapshot(
    `"JavaScript, because there was no room for the table in the session’s memory"`,
  )
  expect(await column.sum()).toBe(treeSum([...price].map((x) => x + x + x)))
})
