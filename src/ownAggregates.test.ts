/** Aggregates of the program's own, from the call to the result. */
import { expect, test } from 'vitest'
import { aggregate, count, PlanError, Session, sum } from './index.ts'

interface Sale {
  readonly shop: string
  readonly price: number | null
}
const SALES: readonly Sale[] = [
  { shop: 'a', price: 3 },
  { shop: 'b', price: null },
  { shop: 'a', price: 4 },
  { shop: 'b', price: 5 },
  { shop: 'a', price: 9 },
]

const texts = aggregate((s: Sale) => s.price, {
  init: () => [] as (number | null)[],
  step: (seen, price) => {
    seen.push(price)
    return seen
  },
  finish: (seen) => seen.join(' '),
})

async function withSession<T>(work: (session: Session) => Promise<T>): Promise<T> {
  await using session = await Session.start({ workers: 1, progress: false })
  return await work(session)
}

const thrown = async (ask: () => unknown): Promise<string> => {
  try {
    await ask()
    return 'nothing was thrown'
  } catch (error) {
    return String(error)
  }
}

test('values go through the functions in row order, nulls too, beside other aggregates', async () => {
  await withSession(async (session) => {
    const sales = session.fromRows(SALES)
    const scale = 10
    const scaled = aggregate((s: Sale) => s.price, {
      init: ({ start }) => start,
      step: (total, price, { by }) => total + (price ?? 0) * by * scale,
      env: { start: 1, by: 2 },
    })
    expect(
      await sales
        .groupBy((s) => s.shop)
        .agg({ texts, n: count(), scaled, total: sum((s) => s.price) })
        .collect(),
    ).toEqual([
      { key: 'a', texts: '3 4 9', n: 3, scaled: 321, total: 16 },
      { key: 'b', texts: ' 5', n: 2, scaled: 101, total: 5 },
    ])
    expect(await sales.agg({ texts }).collect()).toEqual([{ texts: '3  4 5 9' }])
    expect(
      await sales
        .filter((s) => s.shop === 'z')
        .agg({ texts, scaled })
        .collect(),
    ).toEqual([{ texts: '', scaled: 1 }])
    expect(sales.agg({ texts }).explain().toString()).toContain('texts = aggregate(')
  })
})

test('with a merge, chunks of 4,096 values are merged pairwise', async () => {
  await withSession(async (session) => {
    const rows = session.fromRows(Array.from({ length: 3 * 4096 + 5 }, (_, i) => ({ i })))
    const shape = aggregate((r: { readonly i: number }) => r.i, {
      init: () => ({ text: '', n: 0 }),
      step: ({ text }, i) => ({ text: text === '' ? String(i) : text, n: i }),
      merge: (a, b) => ({ text: `(${a.text} ${b.text})`, n: b.n }),
      finish: ({ text, n }) => `${text} to ${n}`,
    })
    expect(await rows.agg({ shape }).first()).toEqual({ shape: '((0 4096) (8192 12288)) to 12292' })
  })
})

test('functions that cannot leave this thread run on it', async () => {
  await withSession(async (session) => {
    const seen: number[] = []
    const kept = new (class {
      #all = seen
      add(price: number): number {
        return this.#all.push(price)
      }
    })()
    const told = aggregate((s: Sale) => s.price ?? 0, { init: () => 0, step: (n, price) => Math.max(n, kept.add(price)) })
    expect(await session.fromRows(SALES).agg({ told }).first()).toEqual({ told: 5 })
    expect(seen).toEqual([3, 0, 4, 5, 9])
  })
})

test('what throws is told with its row, and what makes no sense with its cure', async () => {
  await withSession(async (session) => {
    const sales = session.fromRows(SALES)
    const own = (part: object) => ({ x: aggregate((s: Sale) => s.price, { init: () => 0, step: (n) => n + 1, ...part }) })
    const failing = (part: object) => thrown(() => sales.agg(own(part)).collect())
    const refuse = (s: number, price: number | null): number => {
      if (price === 4) throw new Error('four')
      return s
    }
    expect(await failing({ step: refuse })).toBe('TaskError: aggregate.step: the function threw at row 2: four')
    expect(
      await failing({
        finish: () => {
          throw new Error('no')
        },
      }),
    ).toBe('TaskError: aggregate.finish: the function threw at row 0: no')
    expect(await failing({ step: (s: number) => void s })).toBe(
      'PlanError: The step of aggregate() returned undefined: s => void s\nReturn the state, also where it was changed in place.',
    )
    const shared: number[] = []
    expect(await failing({ init: () => shared, step: (s: number[]) => s })).toBe(
      'PlanError: The init of aggregate() returns one object again and again, which groups would share: () => shared\nMake a new one at each call, as in () => [].',
    )
    expect(await thrown(() => own({ init: 0 }))).toBe(
      'PlanError: The init of aggregate() is a function without arguments, as in () => 0; it was given 0.',
    )
    expect(await thrown(() => own({ steps: 0 }))).toBe(
      'PlanError: aggregate() has no option "steps". Did you mean "step"? Its options are init, step, merge, finish, env.',
    )
    expect(await thrown(() => (aggregate as (options: object) => unknown)({ init: () => 0 }))).toBe(
      'PlanError: aggregate() takes a function of (row) and { init, step }, as in aggregate((row) => row.price, { init: () => 0, step: (sum, price) => sum + price }).',
    )
    expect(await thrown(() => sales.window({ by: (s) => s.shop }, { x: texts } as never))).toBe(
      'PlanError: There is no aggregate() of a window, as "x" asks for. There are rowNumber, rank, denseRank, percentRank, ntile, lag, lead, firstValue, lastValue, sum, mean, min, max, count, any, all.',
    )
    expect(await failing({ init: () => new Map(), step: (s: unknown) => s })).toMatch(/^PlanError: /)
  })
})

test('an aggregate that is none is a PlanError', () => {
  expect(() => aggregate((s: Sale) => s.price, null as never)).toThrow(PlanError)
})
