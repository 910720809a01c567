/** Tables in the env of loops, whose rows have several columns. */
import { afterAll, expect, test } from 'vitest'
import { PlanError } from './core/errors.ts'
import { Session } from './session/session.ts'

const session = await Session.start({ workers: 2, progress: false })
afterAll(async () => await session.stop())

const ROWS = Array.from({ length: 50 }, (_, i) => ({
  price: i * 1.5,
  count: i % 7,
  name: `x${i % 2}`,
  sold: i % 3 === 0,
  note: i % 5 === 0 ? null : i,
}))
const table = session.fromRows(ROWS)

test('a body reads the columns of a row by its number, in whatever way it is written', async () => {
  const [a, b, c] = [session.zeros([50]), session.zeros([50]), session.zeros([50])]
  await session.parallelFor(session.range(50), { table, a, b, c }, ([i], { table, a, b, c }) => {
    a.set(i, table.get(i).price * table.get(49 - i).count)
    const { price, name } = table.get(i)
    b.set(i, name === 'x1' ? price : -price)
    const row = table.get(i)
    c.set(i, (row.note ?? -1) + (row.sold ? 100 : 0))
  })
  expect(await a.collect()).toEqual(ROWS.map((row, i) => row.price * (ROWS[49 - i]?.count ?? 0)))
  expect(await b.collect()).toEqual(ROWS.map(({ name, price }) => (name === 'x1' ? price : -price)))
  expect(await c.collect()).toEqual(ROWS.map(({ note, sold }) => (note ?? -1) + (sold ? 100 : 0)))
})

test('columns of numbers are read as arrays; a body that asks for more runs as it stands, and the plan says why', async () => {
  const out = session.zeros([50])
  const rows = session.loop(session.range(50), { table, out }, ([i], { table, out }) => out.set(i, table.get(i).price * 2))
  expect(rows.plan.kernel?.target).toBe('js')
  await rows.run()
  expect(rows.plan.kernel?.target).toMatch(/^wasm/)
  expect(await out.collect()).toEqual(ROWS.map((row) => row.price * 2))
  expect((await rows.verify()).identical).toBe(true)
  await session.loop(session.range(50), { table, out }, ([i], { table, out }) => out.set(i, table.get(i).count), { checkRaces: true }).run()
  expect(await out.collect()).toEqual(ROWS.map((row) => row.count))

  const texts = session.loop(session.range(50), { table, out }, ([i], { table, out }) => {
    const { name, note } = table.get(i)
    out.set(i, name === 'x1' ? 1 : (note ?? 0))
  })
  const cure = 'Give table a column of numbers for what the body asks of it, as table.withColumns((row) => ({ … })).'
  const why = (name: string): string => `The column table.${name} holds no plain numbers or truth values, or nulls among them.`
  expect(texts.plan.kernel).toMatchObject({
    target: 'as-is',
    because: [{ code: 'row-column', message: why('name'), cure }],
  })
  const numbers = session.loop(session.range(50), { table, out }, ([i], { table, out }) => out.set(i, table.get(i).note ?? -1))
  await numbers.run()
  expect(numbers.plan.kernel?.target).toMatch(/^wasm/)
  expect(await out.collect()).toEqual(ROWS.map((row) => row.note ?? -1))
  const whole = session.loop(session.range(50), { table, out }, ([i], { table, out }) => out.set(i, Object.keys(table.get(i)).length))
  expect(whole.plan.kernel?.target).toBe('as-is')
  const price = table.map((row) => row.price)
  const columns = session.loop(session.range(50), { price, out }, ([i], { price, out }) => out.set(i, price.get(i) * 2))
  await columns.run()
  expect(columns.plan.kernel.target).not.toBe('as-is')
  expect(await out.collect()).toEqual(ROWS.map((row) => row.price * 2))
})

test('a column that there is not is an error at the call, as in the rows that are iterated over', () => {
  const out = session.zeros([50])
  const loose = table as never as typeof out & { get(i: number): { prise: number } }
  const ask = (): unknown =>
    session.loop(session.range(50), { loose, out }, ([i], { loose, out }) =>
      out.set(i, (loose.get(i) as unknown as { prise: number }).prise),
    )
  expect(ask).toThrow(PlanError)
  expect(ask).toThrow('There is no column "prise" in loose. Did you mean "price"? The columns are price, count, name, sold, note.')
  const keyed = table.index((_, [i]) => [2 * i]) as never as typeof out
  expect(() =>
    session.loop(session.range(50), { keyed, out }, ([i], { keyed, out }) => {
      if (keyed.has(i)) out.set(i, (keyed.get(i) as unknown as { cuont: number }).cuont)
    }),
  ).toThrow('There is no column "cuont" in keyed. Did you mean "count"? The columns are price, count, name, sold, note.')
})

test('texts of rows are looked for in captured Maps, Sets and objects, as these are when a run begins', async () => {
  const rows = session.fromRows(['buy', 'sell', 'hold'].map((kind, i) => ({ kind, qty: i + 1 }))).materialize()
  const y = session.zeros([3])
  const fees = new Map([['buy', 2]])
  const loop = session.loop(rows, { y }, (r, [i], { y }) => y.set(i, (fees.get(r.kind) ?? -1) * r.qty))
  await loop.run()
  expect(await y.collect()).toEqual([2, -2, -3])
  fees.set('hold', 5)
  await loop.run()
  expect(await y.collect()).toEqual([2, -2, 15])
  expect(loop.plan.kernel?.target).toMatch(/^wasm/)

  const rates = { buy: 3 } as Record<string, number>
  const priced = session.fromRows(['buy', 'constructor'].map((kind) => ({ kind }))).materialize()
  const byName = session.loop(priced, { y }, (r, [i], { y }) => y.set(i, rates[r.kind] ?? 0))
  await expect(byName.run()).rejects.toThrowErrorMatchingInlineSnapshot(
    `[TaskError: The body of the loop over fromRows threw at key [1]: rates is asked for what every object has, as constructor. Use a Map.]`,
  )
})

test('a collection that has no number for a text gives undefined, whatever else it holds', async () => {
  const rows = session.fromRows(['buy', 'sell'].map((kind) => ({ kind }))).materialize()
  const y = session.zeros([2])
  const flags = new Map([['buy', true]])
  const others = new Map<string | number, number>([[1, 2]])
  const none: Record<string, number> = {}
  await session.parallelFor(rows, { y }, (r, [i], { y }) => y.set(i, (flags.get(r.kind) ?? false) === flags.get(r.kind) ? 1 : 2))
  expect(await y.collect()).toEqual([1, 2])
  await session.parallelFor(rows, { y }, (r, [i], { y }) => y.set(i, others.get(r.kind) ?? 3))
  expect(await y.collect()).toEqual([3, 3])
  await session.parallelFor(rows, { y }, (r, [i], { y }) => y.set(i, none[r.kind] ?? 4))
  expect(await y.collect()).toEqual([4, 4])
})
