import { afterAll, beforeAll, expect, test } from 'vitest'
import { Session } from '../../../index.ts'

let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 2, progress: false })
})
afterAll(() => session.stop())

const SPECIAL = [0, -0, NaN, Infinity, -Infinity, 0.5, -2.5, 2 ** 31, -(2 ** 31), 2 ** 32 + 5, -(2 ** 63), 2 ** 70, -0.49999999999999994]
const ROWS = Array.from({ length: 20_011 }, (_, i) => ({
  x: i % 3 === 0 ? (SPECIAL[i % SPECIAL.length] as number) : (((i * 7919) % 4001) - 2000) * 10 ** (i % 17),
  k: Math.imul(i, 0x9e3779b9),
  j: (i % 90) - 9,
  b: BigInt.asIntN(64, BigInt(Math.imul(i, 0x85ebca6b)) ** 3n),
  c: BigInt(i % 140),
}))
type Row = (typeof ROWS)[number]

const FUNCTIONS: readonly (readonly [string, (r: Row) => Readonly<Record<string, number | boolean>>])[] = [
  [
    'bits of any number',
    (r) => ({ or: (r.x * 1.5) | 0, not: ~r.x, unsigned: r.x >>> 0, product: Math.imul(r.x, r.k), zeros: Math.clz32(r.x) }),
  ],
  ['shifts by counts that vary', (r) => ({ left: r.k << r.j, right: r.k >> r.j, unsigned: r.k >>> r.j })],
  [
    'questions about numbers',
    (r) => ({ is: Object.is(r.x, -0), nan: Object.is(r.x, NaN), whole: Number.isInteger(r.x), sign: Math.sign(r.x) }),
  ],
  ['extremes and sizes of integers', (r) => ({ least: Math.min(r.k, r.j), most: Math.max(r.k, r.j), size: Math.abs(r.k) })],
  [
    'bigints by bigints that vary',
    (r) => ({
      left: Number(BigInt.asIntN(64, r.b << BigInt.asIntN(7, r.c - 30n))),
      right: Number(r.b >> BigInt.asUintN(7, r.c)),
      quotient: Number(r.b / (BigInt.asUintN(5, r.c) + 1n)),
      power: Number(BigInt.asIntN(40, r.b ** 3n)),
      chosen: Number(r.b > 0n ? r.b : -5n),
      unsigned: BigInt.asUintN(64, r.b) > BigInt.asUintN(64, r.b ^ -1n),
    }),
  ],
]
for (const [name, f] of FUNCTIONS) {
  test(`columns have ${name}, with the bits of JavaScript`, async () => {
    const table = session.fromRows(ROWS).map(f)
    expect(table.explain({ verbose: true })).toContain('WebAssembly: one pass over the columns')
    const made = await (await table.materialize()).collect()
    expect(made.findIndex((row, i) => !Object.entries(f(ROWS[i] as Row)).every(([field, value]) => Object.is(row[field], value)))).toBe(-1)
  })
}
