/** Values that row functions are given, instead of capturing them. */
import { expect, test } from 'vitest'
import { ownProcess } from '../property-tests/ownProcess.ts'
import { argMax, count, quantile, sum } from './core/plan/aggregates.ts'
import { Session } from './session/session.ts'

const ROWS = Array.from({ length: 500 }, (_, i) => ({ a: i, s: `x${i % 7}` }))

test('row functions take values of env, compiled and as copies, read when an action is called', async () => {
  await using session = await Session.start({ workers: 2, progress: false })
  const table = session.fromRows(ROWS)
  const env = { rate: 0.5, name: 'x3', list: [1, 2, 3], weights: Float64Array.of(1, 2, 3), deep: { m: 3 } }
  const chain = table
    .filter((r, _, { rate, name }) => r.a * rate > 3 && r.s === name, { env })
    .map((r, [k], e) => ({ b: (e.weights[1] ?? 0) * r.a + e.deep.m + k, c: e.list.includes(r.a) }), { env })
  const plain = (): unknown[] =>
    ROWS.filter((r) => r.a * env.rate > 3 && r.s === env.name).map((r, k) => ({
      b: (env.weights[1] ?? 0) * r.a + env.deep.m + k,
      c: env.list.includes(r.a),
    }))
  expect(await chain.collect()).toEqual(plain())
  expect(chain.explain({ verbose: true }).split('\n').slice(0, 12)).toMatchInlineSnapshot(`
    [
      "Plan",
      "  Map (r, [k], e) => ({ b: (e.weights[1] ?? 0) * r.a + e.deep.m + k, c: e.list.includes(r.a) })",
      "      yields { b: f64, c: bool }, keys row number",
      "      IR",
      "        $env.deep.m = 3",
      "        return { b: (((($env.weights[1] ?? 0) * #0.a) + $env.deep.m) + @0), c: (((#0.a === $env.list[0]) || (#0.a === $env.list[1])) || (#0.a === $env.list[2])) }",
      "    Filter (r, _, {rate, name}) => r.a * rate > 3 && r.s === name",
      "        yields { a: f64, s: utf8 }, keys row number",
      "        IR",
      "          $env.rate = 0.5",
      "          $env.name = "x3"",
      "          return (((#0.a * $env.rate) > 3) && (#0.s === $env.name))",
    ]
  `)
  env.rate = 100
  env.deep.m = 4
  expect(await chain.collect()).toEqual(plain())

  const copied = table.map((r, [k], { rate, deep }) => r.s.replace(/x/, () => 'y') + rate * deep.m + k, { env })
  expect(copied.explain({ verbose: true })).toContain('runs as JavaScript in the workers')
  expect(await copied.collect()).toEqual(ROWS.map((r, k) => r.s.replace(/x/, () => 'y') + env.rate * env.deep.m + k))

  const wide = table.withColumns((r, _, { rate }) => ({ c: r.a * rate }), { env }).flatMap((r, _, { deep }) => [r.c, deep.m], { env })
  expect(await wide.collect()).toEqual(ROWS.flatMap((r) => [r.a * env.rate, env.deep.m]))
  const groups = await table
    .groupBy((r, _, { deep }) => r.a % deep.m, { env })
    .count()
    .collect()
  expect(groups).toEqual([0, 1, 2, 3].map((key) => ({ key, count: 125 })))
  const perGroup = table.groupBy((r) => r.s)
  expect(await perGroup.reduce((a, b, { deep }) => (a.a % deep.m > b.a % deep.m ? a : b), { env }).count()).toBe(7)
  expect(await perGroup.map((key, values, { rate }) => ({ key, n: values.length * rate }), { env }).first()).toEqual({
    key: 'x0',
    n: 72 * env.rate,
  })
  expect(await table.sortBy((r, { rate }) => -r.a * rate, { env, descending: true }).first()).toEqual(ROWS[0])
  expect(await table.index((r, _, { deep }) => [r.a + deep.m], { env }).shape()).toEqual([504])
})

test('functions of aggregates take values of env, and columns have the types they return', async () => {
  await using session = await Session.start({ workers: 2, progress: false })
  const env = { rate: 2, least: 100 }
  const groups = session
    .fromRows(ROWS)
    .groupBy((r, _, { least }) => r.a < least, { env })
    .agg({
      total: sum((r, { rate }) => r.a * rate, { env }),
      long: count((r, { least }) => (r.a > least ? r.a : null), { env }),
      middle: quantile((r, { rate }) => r.a * rate, 0.5, { env }),
      most: argMax(
        (r, { rate }) => r.a * rate,
        (r, { rate }) => -r.a * rate,
        { env },
      ),
    })
  const [low] = await groups.collect()
  const total: number | undefined = low?.total
  expect([low, total]).toEqual([{ key: true, total: 9900, long: 0, middle: 99, most: 0 }, 9900])
  expect(groups.explain({ verbose: true })).not.toContain('runs as')
  env.rate = 3
  expect((await groups.collect())[0]?.total).toBe(14_850)
  expect(() => sum((r: { a: number }) => r.a, { evn: 1 } as never)).toThrow(
    'sum() has no option "evn". Did you mean "env"? Its options are env.',
  )
})

test('what cannot be copied into threads runs where it is, with its env', async () => {
  await using session = await Session.start({ workers: 2, progress: false })
  const seen: number[] = []
  const mapped = session.fromRows(ROWS).map((r, _, { log }) => log(r.a), { env: { log: (a: number) => seen.push(a) } })
  expect(await mapped.take(3)).toEqual([1, 2, 3])
  expect(seen.slice(0, 3)).toEqual([0, 1, 2])
})

test('what makes no sense is refused at the call', async () => {
  await using session = await Session.start({ workers: 1, progress: false })
  const table = session.fromRows(ROWS)
  const refused = (ask: () => unknown): string => {
    try {
      ask()
    } catch (error) {
      return String(error)
    }
    return 'nothing was refused'
  }
  expect(refused(() => table.map((r) => r.a, { env: 3 } as never))).toBe(
    'PlanError: The env of map() is an object of values, as { rate }; it was given 3.',
  )
  expect(refused(() => table.map((r) => r.a, { enw: 3 } as never))).toBe(
    'PlanError: map() has no option "enw". Did you mean "env"? Its options are env.',
  )
  expect(refused(() => table.filter(3 as never, { env: {} }))).toBe(
    'PlanError: filter() takes a function of (value, key); it was given 3.\nWrite filter((row) => row.price > 9).',
  )
  expect(refused(() => table.map(async (_r, _, { a }) => a, { env: { a: 1 } }))).toMatch(/^PlanError: map: the function is async/)
})

test('without an inspector, a refused capture says how to give it, and what is given is compiled', () => {
  const said = ownProcess(`
    import { Session as Inspector } from 'node:inspector'
    Inspector.prototype.connect = () => { throw new Error('not here') }
    const { Session } = await import(${JSON.stringify(import.meta.resolve('./index.ts'))})
    const session = await Session.start({ workers: 1, progress: false })
    const table = session.fromRows(Array.from({ length: 500 }, (_, a) => ({ a })))
    const least = Number('490')
    const captured = table.filter((r) => r.a > least)
    const given = table.filter((r, _, { least }) => r.a > least, { env: { least } })
    for (const chain of [captured, given]) console.log(chain.explain({ verbose: true }), 'rows: ' + (await chain.count()))
    await session.stop()
  `)
  expect(said).toContain(
    'The captured variable least cannot be read, because the inspector is not available here. Give it as filter((row, key, { least }) => …, { env: { least } }).',
  )
  expect(said).toContain('$env.least = 490')
  expect(said.match(/rows: \d+/g)).toEqual(['rows: 9', 'rows: 9'])
})
