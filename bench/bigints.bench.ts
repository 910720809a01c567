/**
 * What do bigints cost? Bodies over i64 arrays, in a session with one worker, beside the same loop written by hand over
 * BigInt64Arrays: a hash of 64 bits for each element, sums of 16 elements, a greatest common divisor, and a sum.
 *
 *     exact   compiled to WebAssembly
 *     plain   JavaScript's bigints
 *
 * A local that goes through `BigInt.asIntN(64, …)` from turn to turn is no question here: of that the optimizing compiler of
 * Node 20.20 ends the process (`Phi of kRepTagged (SignedBigInt64) cannot be changed to kRepWord64`).
 *
 * Both must leave the same elements.
 *
 *     npm run bench -- bigints --only hash
 */
import { type DistArray, Session } from 'distarray'
import { suite, timed } from './harness.ts'

const bench = suite('bigints')
const session = await Session.start({ workers: 1, progress: false })
const ROWS = bench.quick ? 20_000 : 100_000
const WIDTH = 16

interface Big {
  get(i: number): bigint
  set(i: number, value: bigint): void
}
interface Case {
  readonly name: string
  readonly body: (key: readonly number[], env: { readonly a: Big; readonly b: Big }) => void
  readonly plain: (a: BigInt64Array, b: BigInt64Array) => void
}

const CASES: readonly Case[] = [
  {
    name: 'hash',
    body: ([i], { a, b }) => {
      let z = BigInt.asUintN(64, a.get(i as number) + 0x9e3779b97f4a7c15n)
      z = BigInt.asUintN(64, (z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n)
      z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn)
      b.set(i as number, z ^ (z >> 31n))
    },
    plain: (a, b) => {
      for (let i = 0; i < a.length; i++) {
        let z = BigInt.asUintN(64, (a[i] as bigint) + 0x9e3779b97f4a7c15n)
        z = BigInt.asUintN(64, (z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n)
        z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn)
        b[i] = z ^ (z >> 31n)
      }
    },
  },
  {
    name: `sum of ${WIDTH} elements`,
    body: ([i], { a, b }) => {
      let sum = 0n
      const end = Math.min(ROWS, (i as number) + WIDTH)
      for (let k = i as number; k < end; k++) sum += a.get(k)
      b.set(i as number, sum)
    },
    plain: (a, b) => {
      for (let i = 0; i < a.length; i++) {
        let sum = 0n
        const end = Math.min(ROWS, i + WIDTH)
        for (let k = i; k < end; k++) sum += a[k] as bigint
        b[i] = sum
      }
    },
  },
  {
    name: 'greatest common divisor',
    body: ([i], { a, b }) => {
      let x = a.get(i as number)
      let y = 720720n
      while (y !== 0n) {
        const rest = x % y
        x = y
        y = rest
      }
      b.set(i as number, x)
    },
    plain: (a, b) => {
      for (let i = 0; i < a.length; i++) {
        let x = a[i] as bigint
        let y = 720720n
        while (y !== 0n) {
          const rest = x % y
          x = y
          y = rest
        }
        b[i] = x
      }
    },
  },
  {
    name: 'sum of a product and an element',
    body: ([i], { a, b }) => b.set(i as number, 3n * a.get(i as number) + b.get(i as number)),
    plain: (a, b) => {
      for (let i = 0; i < a.length; i++) b[i] = 3n * (a[i] as bigint) + (b[i] as bigint)
    },
  },
]

for (const { name, body, plain } of CASES) if (bench.wanted(name)) await ask(name, body, plain)
await session.stop()
bench.finish()

async function ask(name: string, body: Case['body'], plain: Case['plain']): Promise<void> {
  const values = BigInt64Array.from({ length: ROWS }, (_, i) => BigInt.asIntN(64, BigInt(i) * 0x9e3779b97f4a7c15n))
  const [a, b] = [bigints(), bigints()]
  await a.assign([null], values)
  const loop = session.loop(session.range(ROWS), { a, b }, body as never)
  const result = new BigInt64Array(ROWS)
  await loop.run()
  plain(values, result)
  const elements = await b.collect()
  if (!elements.every((element, i) => element === result[i])) throw new Error(`${name}: the elements are not those of plain JavaScript.`)
  const contenders = {
    exact: timed(() => loop.run()),
    plain: timed(() => plain(values, result)),
  }
  await bench.ask({ name, unit: 'element', units: ROWS, contenders, peers: ['plain'], notes: [`kernel ${loop.plan.kernel?.target}`] })
}

/** Elements of i64 arrays are bigints. */
function bigints(): DistArray<bigint, readonly [number]> {
  return session.fill([ROWS], 0n, { dtype: 'i64' })
}
