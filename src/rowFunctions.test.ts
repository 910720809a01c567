import { afterAll, expect, test } from 'vitest'
import { Session } from './index.ts'

const session = await Session.start({ workers: 1, progress: false })
const table = session.fromColumns({ a: Float64Array.of(1, 2, 3, 4) })
afterAll(() => session.stop())

/** What a rejected action says, without where in this file. */
async function messageOf(run: Promise<unknown>): Promise<string> {
  const error = await run.then(
    () => undefined,
    (error: unknown) => error,
  )
  expect(error).toBeInstanceOf(Error)
  return (error as Error).message.replace(/^ {2}\S*?(\d+:\d+) /m, '  place ')
}

test('a captured value with which the columns would be others is an error that names it', async () => {
  let rate: unknown = 2
  const chain = table.map((r) => ({ total: r.a * (rate as number), rate }))
  expect(await chain.take(1)).toEqual([{ total: 2, rate: 2 }])
  rate = 'x'
  expect(await messageOf(chain.collect())).toBe(
    'map: The captured variable rate was the number 2 when the chain was built, and is the string "x" now. Then it returned { total: f64, rate: f64 }, now { total: f64, rate: utf8 }, and the columns of the chain would be others.\n' +
      '  place  r => ({ total: r.a * rate, rate })\n' +
      'Build the chain again with the new value.',
  )
  rate = 3
  expect(await chain.take(1)).toEqual([{ total: 3, rate: 3 }])
})

test('a captured object that holds something else by now is named as the object', async () => {
  const rates: Record<string, number | null> = { a: null }
  const names = ['a']
  const chain = table.map((r) => rates[names[r.a - 1] ?? ''] ?? null)
  rates.b = 1
  names.push('b')
  expect(await messageOf(chain.collect())).toBe(
    'map: The captured variable rates is not the object that it was when the chain was built. Then it returned null?, now f64?, and the columns of the chain would be others.\n' +
      '  place  r => rates[names[r.a - 1] ?? ""] ?? null\n' +
      'Build the chain again with the new value.',
  )
})

test('a helper replaced by one of another result is an error too, in a filter it is not', async () => {
  let helper: (v: number) => unknown = (v) => v + 1
  const chain = table.map((r) => helper(r.a))
  const chosen = table.filter((r) => Boolean(helper(r.a)))
  helper = (v) => (v > 2 ? 'many' : '')
  expect(await messageOf(chain.collect())).toBe(
    'map: The captured variable helper is not the function that it was when the chain was built. Then it returned f64, now utf8, and the columns of the chain would be others.\n' +
      '  place  r => helper(r.a)\n' +
      'Build the chain again with the new value.',
  )
  expect(await chosen.collect()).toEqual([{ a: 3 }, { a: 4 }])
})

test('what an action reads is read at its call, before anything else runs', async () => {
  let low = 2
  const counted = table.filter((r) => r.a > low).count()
  const typed = Float64Array.of(10)
  const sum = table.map((r) => r.a + (typed[0] ?? 0)).sum()
  low = 0
  typed[0] = 0
  expect([await counted, await sum]).toEqual([2, 50])
})

test('a materialized table, and what was queried of it, stays what it was; an index over a chain does not', async () => {
  let factor = 2
  const chain = table.map((r) => r.a * factor)
  const stored = chain.materialize()
  const indexed = table.index((r) => [r.a]).map((r) => r.a * factor)
  expect([await stored.at(1), await chain.at(1), await indexed.at(2)]).toEqual([4, 4, 4])
  factor = 5
  expect([await stored.at(1), await chain.at(1), await indexed.at(2)]).toEqual([4, 10, 10])
  factor = 2
  expect([await chain.at(1), await indexed.at(2)]).toEqual([4, 4])
})

test('two actions at once see each their own values', async () => {
  let factor = 1
  const indexed = table.index((r) => [r.a]).map((r) => r.a * factor)
  const asked: Promise<number | undefined>[] = []
  for (factor = 1; factor <= 4; factor++) asked.push(indexed.at(3))
  expect(await Promise.all(asked)).toEqual([3, 6, 9, 12])
})

test('a loop over a chain reads what the chain captures by its pass', async () => {
  let factor = 1
  const values = table.map((r) => r.a * factor)
  const total = session.zeros([4])
  const loop = session.loop(values, { total }, (value, [i], { total }) => {
    total.set(i, value)
  })
  await loop.run()
  expect([...(await total.toTypedArray())]).toEqual([1, 2, 3, 4])
  factor = 10
  await loop.run()
  expect([...(await total.toTypedArray())]).toEqual([10, 20, 30, 40])
})

test('a function of the same text over another variable is another function', async () => {
  const scaled = (factor: number) => table.map((r) => r.a * factor)
  expect(await Promise.all([scaled(2).collect(), scaled(3).collect()])).toEqual([
    [2, 4, 6, 8],
    [3, 6, 9, 12],
  ])
})

test('a regular expression that is made of constants is the one that is written out', async () => {
  interface Word {
    readonly s: string
  }
  const rows: readonly Word[] = ['Crème brûlée', 'a/b', 'x\ny', '', 'aaab'].map((s) => ({ s }))
  const words = session.fromRows(rows)
  // as texts: what formats this file would write them as literals
  const of = <T>(body: string): ((r: Word) => T) => new Function(`return (r) => ${body}`)() as (r: Word) => T
  const plain = of<string>("r.s.normalize('NFD').replace(new RegExp('\\\\p{M}', 'gu'), '').replace(new RegExp('a+'), '<$&>')")
  expect(await words.map(plain).collect()).toEqual(rows.map(plain))
  const asked = of<boolean>("new RegExp('a/b|x\\ny').test(r.s) || new RegExp('^A', 'i').test(r.s)")
  expect(words.filter(asked).explain()).not.toContain('with new')
  expect(await words.filter(asked).collect()).toEqual(rows.filter(asked))
  const fails = words.map(of<boolean>("new RegExp('(', 'u').test(r.s)")).collect()
  expect(await messageOf(fails)).toBe('map: the function threw at row 0: Invalid regular expression: /(/u: Unterminated group')
})

test('errors of functions name the method that took them, and the field that was read', async () => {
  const rates = new Map([[1, { rate: 2, name: 'x' }]])
  const fails = table.map((r) => {
    const { rate, name } = rates.get(r.a) as { rate: number; name: string }
    return `${name} ${rate}`
  })
  expect(await messageOf(fails.collect())).toBe("map: the function threw at row 1: Cannot read properties of undefined (reading 'rate')")
  const apart = table.distinct({ by: (r) => (rates.get(r.a) as { rate: number }).rate })
  expect(await messageOf(apart.collect())).toBe(
    "distinct: the function threw at row 1: Cannot read properties of undefined (reading 'rate')",
  )
})
