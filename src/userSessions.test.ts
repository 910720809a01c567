/** What people ask of logs every day: visits told apart by gaps, without a step that falls to JavaScript. */
import { expect, test } from 'vitest'
import { count, lag, Session, sum } from './index.ts'

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
