/**
 * Functions that run on the program's thread, element by element, against the same over a plain array of rows:
 *
 *     distarray   forEach(f), reduce(f, init, combine), for await (… of table), of a table in memory
 *     js          forEach(f), reduce(f, init), for (… of rows), of an array of objects
 *
 * The library makes an object of each row, which the array has.
 *
 *     npm run bench -- callbacks --rows 300000
 */
import { Session } from 'distarray'
import { suite, timed } from './harness.ts'

const bench = suite('callbacks', { rows: 300_000 })
const session = await Session.start({ workers: 1, progress: false })
const rows = Array.from({ length: bench.options.rows }, (_, id) => ({ id, price: ((id * 7919) % 1013) / 8, qty: id % 7 }))
type Sale = (typeof rows)[number]
const table = await session.fromRows(rows).materialize()

const value = (sum: number, { price, qty }: Sale): number => sum + price * qty
const add = (a: number, b: number): number => a + b
const expected = rows.reduce(value, 0)

/** Sums of these prices are exact, in whatever order. */
function isRight(sum: number): void {
  if (sum !== expected) throw new Error(`A sum is ${sum}, not ${expected}.`)
}

await bench.ask({
  name: 'reduce with an initial value',
  unit: 'row',
  units: rows.length,
  peers: ['js'],
  contenders: {
    distarray: timed(async () => isRight(await table.reduce(value, 0, add))),
    js: timed(() => isRight(rows.reduce(value, 0))),
  },
})
await bench.ask({
  name: 'forEach',
  unit: 'row',
  units: rows.length,
  peers: ['js'],
  contenders: {
    distarray: timed(async () => {
      let sum = 0
      await table.forEach((row) => {
        sum = value(sum, row)
      })
      isRight(sum)
    }),
    js: timed(() => {
      let sum = 0
      rows.forEach((row) => {
        sum = value(sum, row)
      })
      isRight(sum)
    }),
  },
})
await bench.ask({
  name: 'for await',
  unit: 'row',
  units: rows.length,
  peers: ['js'],
  contenders: {
    distarray: timed(async () => {
      let sum = 0
      for await (const row of table) sum = value(sum, row)
      isRight(sum)
    }),
    js: timed(() => {
      let sum = 0
      for (const row of rows) sum = value(sum, row)
      isRight(sum)
    }),
  },
})
bench.finish()
await session.stop()
