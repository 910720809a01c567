/** Sorted tables that are stored, of more rows than the caller's thread sorts alone. */
import { expect, test } from 'vitest'
import { Session } from './session/session.ts'

const ROWS = 30_000

interface Row {
  readonly group: number
  readonly name: string | null
  readonly tags: readonly number[]
}

const rows: readonly Row[] = Array.from({ length: ROWS }, (_, i) => ({
  group: (i * 7919) % 100,
  name: i % 11 === 0 ? null : `name ${(i * 104_729) % 5000}`,
  tags: i % 3 === 0 ? [] : [i],
}))

function inOrder(list: readonly Row[]): readonly Row[] {
  return list
    .map((row, i) => [row, i] as const)
    .sort(([a, i], [b, j]) => {
      if (a.name === null || b.name === null) return Number(a.name === null) - Number(b.name === null) || i - j
      return (a.name < b.name ? -1 : a.name > b.name ? 1 : 0) || i - j
    })
    .map(([row]) => row)
}

test('a sorted table that is stored lies in blocks of its own, and they are free again when it is released', async () => {
  await using session = await Session.start({ workers: 2, progress: false, memory: '64MB' })
  const table = session.fromRows(rows.map(({ group, name }) => ({ group, name })))
  const names = table.sortBy((row) => row.name ?? null).materialize()
  const expected = inOrder(rows).map(({ group, name }) => ({ group, name }))
  expect(await names.collect()).toEqual(expected)
  for (let i = 0; i < 20; i++) {
    const groups = table.sortBy((row) => row.group, { descending: true }).materialize()
    expect((await groups.at(0))?.group).toBe(99)
    await groups.release()
  }
  expect(await names.collect()).toEqual(expected)
})

test('columns that kernels cannot gather are sorted with the others', async () => {
  await using session = await Session.start({ workers: 2, progress: false })
  const sorted = session.fromRows(rows).sortBy((row) => row.name)
  const expected = inOrder(rows)
  expect(await sorted.collect()).toEqual(expected)
  expect(await sorted.materialize().collect()).toEqual(expected)
})

test('the first rows of an order are those of the whole order', async () => {
  await using session = await Session.start({ workers: 2, progress: false })
  const table = session.fromRows(rows)
  const sorted = table.sortBy((row) => [row.name, row.group])
  expect(await sorted.limit(50).collect()).toEqual((await sorted.collect()).slice(0, 50))
})
