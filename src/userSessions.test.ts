/** What people ask of logs every day: visits told apart by gaps, without a step that falls to JavaScript. */
import { expect, test } from 'vitest'
import { count, lag, rowNumber, Session, sum } from './index.ts'

test('visits by gaps: what windows give is computed and grouped over columns', async () => {
  await using session = await Session.start({ workers: 1, progress: false })
  const hits = session.fromRows(
    Array.from({ length: 40_000 }, (_, i) => ({ user: `u${i % 97}`, at: new Date(1.7e12 + ((i * 7919) % 40_000) * 600_000) })),
  )
  const visits = hits
    .window({ by: (h) => h.user, orderBy: (h) => h.at }, { before: lag((h) => h.at) })
    .withColumns((h) => ({ begins: h.before === null || h.at.getTime() - h.before.getTime() > 86_400_000 ? 1 : 0 }))
    .groupBy((h) => h.user)
    .agg({ visits: sum((h) => h.begins), n: count() })
  const text = (await visits.explain({ analyze: true })).toString()
  expect(text.split('\nRan')[1]).not.toContain('JavaScript')
  const times = new Map<string, number[]>()
  for (const { user, at } of await hits.collect()) times.set(user, [...(times.get(user) ?? []), at.getTime()])
  const expected = [...times].map(([key, all]) => {
    const sorted = all.toSorted((a, b) => a - b)
    return { key, visits: sorted.filter((at, i) => i === 0 || at - (sorted[i - 1] as number) > 86_400_000).length, n: all.length }
  })
  expect(await visits.collect()).toEqual(expected)
})

test('the first three of each group in an order of several values', async () => {
  await using session = await Session.start({ workers: 1, progress: false })
  const rows = Array.from({ length: 30_000 }, (_, i) => ({ id: i, shop: `s${i % 7}`, amount: (i * 37) % 500 }))
  const first = session
    .fromRows(rows)
    .window({ by: (r) => r.shop, orderBy: (r) => [-r.amount, r.id] }, { n: rowNumber() })
    .filter((r) => r.n <= 3)
  const [, ran = ''] = (await first.explain({ analyze: true })).toString().split('\nRan')
  expect(ran.split('\n').find((line) => line.includes('EvaluateExec'))).toContain('SIMD over columns')
  const sorted = rows.toSorted((a, b) => b.amount - a.amount || a.id - b.id)
  const expected = new Map(
    ['s0', 's1', 's2', 's3', 's4', 's5', 's6'].map((shop) => [shop, sorted.filter((r) => r.shop === shop).slice(0, 3)]),
  )
  for (const { n, ...row } of await first.collect()) expect(expected.get(row.shop)?.[n - 1]).toEqual(row)
})
