/**
 * The corpus: functions as people write them, for row lambdas, loops over an array, and loops over a range. Compiled by
 * every tool chain, each must give the same IR.
 */

import * as helpers from './helpers.ts'
import relu, { clamp, dot, holidays, lr, rates, sigmoid, weights } from './helpers.ts'

/** What the views of a loop look like to the type checker; the tests lower these functions, they do not run them. */
interface View {
  get(...key: number[]): number
  set(...args: number[]): void
  add(...args: number[]): void
  row(...prefix: number[]): View & number[]
  has(...key: number[]): boolean
  readonly shape: readonly number[]
}
interface Env {
  readonly W: View
  readonly H: View
  readonly loss: { add(x: number): void }
  readonly rng: { uniform(): number; normal(): number; int(n: number): number }
}
type Key = readonly [number, number]
interface Row {
  readonly id: number
  readonly shop: string
  readonly day: string | null
  readonly price: number
  readonly quantity: number | null
  readonly at: Date
}

const K = 16
const penalty = 0.02
let threshold = 2.5
threshold += 0.5
const names = ['a', 'b', 'c']
const isCheap = (r: Row): boolean => r.price < threshold

type RowLambda = (r: Row, key: readonly [number]) => unknown
type LoopBody = (value: number, key: Key, env: Env) => unknown
type RangeBody = (key: Key, env: Env) => unknown

export const rows: Readonly<Record<string, RowLambda>> = {
  comparison: (r: Row) => r.price > threshold,
  conjunction: (r: Row) => r.price > 1 && r.shop !== '' && r.quantity !== null,
  helper: (r: Row) => isCheap(r) || r.id === 7,
  imported: (r: Row) => clamp(r.price * lr, 0, 10) + relu(r.price),
  namespace: (r: Row) => helpers.sigmoid(r.price) * helpers.lr,
  destructured: ({ price, quantity: q, shop: name }: Row) => ({ name, total: price * (q ?? 0) }),
  spread: (r: Row) => ({ ...r, price: r.price * 2, cheap: isCheap(r) }),
  nullish: (r: Row) => (r.quantity ?? 1) * rates.user,
  optional: (r: Row) => r.day?.length,
  optionalMethod: (r: Row) => r.day?.toUpperCase() ?? 'none',
  template: (r: Row) => `${r.shop}: ${r.price}`,
  key: (r: Row, [i]: readonly [number]) => r.id + i,
  keyByIndex: (_r: Row, key: readonly [number]) => key[0] * 2,
  early(r: Row): string {
    if (r.price < 1) return 'low'
    if (r.price < 10) return 'middle'
    return 'high'
  },
  locals: (r: Row): number => {
    const net = r.price * 0.8
    const tax = net * 0.2
    let total = net + tax
    if (total > 100) total = 100
    return total
  },
  branches: (r: Row) => {
    let grade: number
    if (r.price < 1) grade = 1
    else if (r.price < 5) grade = 2
    else grade = 3
    return grade
  },
  choice: (r: Row) => {
    switch (r.shop) {
      case 'Nord':
      case 'Ost':
        return 1
      case 'West':
        return 2
      default:
        return 0
    }
  },
  inner: (r: Row) => {
    const half = (x: number): number => x / 2
    function twice(x: number): number {
      return x * 2
    }
    const net = half(r.price) - 1
    return twice(net) + net
  },
  list: (r: Row) => [r.id, r.price],
  table: (r: Row) => (weights[r.id] ?? 0) + weights.length,
  member: (r: Row) => holidays.includes(r.shop) || names.includes(r.shop),
  dates: (r: Row) => r.at.getTime() / 1000 - r.at.getUTCFullYear(),
  strings: (r: Row) => r.shop.startsWith('N') && r.shop.slice(1).length > 2,
  bits: (r: Row) => ((r.id >>> 3) ^ (r.id << 2)) & 0xff,
  constants: (r: Row) => (r.price === Number.POSITIVE_INFINITY ? -1 : r.price / 0.001 + 1e6 - -0.5),
}

export const loops: Readonly<Record<string, LoopBody>> = {
  sgd: (stars: number, [u, m]: Key, { W, H, loss }: Env) => {
    const w = W.row(u)
    const h = H.row(m)
    let predicted = 0
    for (let k = 0; k < K; k++) predicted += (w[k] as number) * (h[k] as number)
    const error = stars - predicted
    for (let k = 0; k < K; k++) {
      const wk = w[k] as number
      const hk = h[k] as number
      w[k] = wk + lr * (error * hk - penalty * wk)
      h[k] = hk + lr * (error * wk - penalty * hk)
    }
    loss.add(error * error)
  },
  imported: (stars: number, [u, m]: Key, { W, H, loss }: Env) => {
    loss.add(sigmoid(dot(W.row(u), H.row(m), K)) - stars)
  },
  wholeEnv: (stars: number, key: Key, env: Env) => {
    const [u, m] = key
    if (env.W.has(u, m)) env.W.add(u, m, stars)
  },
  guarded: (value: number, [i, j]: Key, { W }: Env) => {
    if (i === 0 || j === 0) return
    W.set(i, j, W.get(i - 1, j) + W.get(i, j - 1) + value)
  },
  writesBack: (value: number, [i, j]: Key) => value * 0.5 + i - j,
  random: (value: number, _key: Key, { rng }: Env) => value + rng.normal() * 0.1 + rng.int(6),
}

export const ranges: Readonly<Record<string, RangeBody>> = {
  stencil: ([i, j]: Key, { W, H }: Env) => {
    const [rowCount, columnCount] = [W.shape[0] as number, W.shape[1] as number]
    if (i > 0 && j > 0 && i < rowCount - 1 && j < columnCount - 1) {
      H.set(i, j, (W.get(i - 1, j) + W.get(i + 1, j) + W.get(i, j - 1) + W.get(i, j + 1)) / 4)
    }
  },
  edit: ([i, j]: Key, { W }: Env) => {
    if (i === 0) W.set(i, j, j)
    else if (j === 0) W.set(i, j, i)
    else {
      const cost = names[i] === names[j] ? 0 : 1
      W.set(i, j, Math.min(W.get(i - 1, j) + 1, W.get(i, j - 1) + 1, W.get(i - 1, j - 1) + cost))
    }
  },
  nested: ([i]: Key, { W, H: other }: Env) => {
    const w = W.row(i)
    let best = -1
    let most = Number.NEGATIVE_INFINITY
    for (let k = 0; k < w.length; k++) {
      const x = w[k] as number
      if (x > most) {
        most = x
        best = k
      }
    }
    other.set(i, 0, best)
  },
  updates: ([i]: Key, { W }: Env) => {
    const w = W.row(i)
    for (let k = 1; k <= 3; k += 1) {
      w[k] = (w[k] as number) * 2
      // @ts-expect-error an element may be undefined, says noUncheckedIndexedAccess
      w[k] += w[k - 1] || 1
    }
  },
  searching: ([i]: Key, { W }: Env) => {
    let steps = 0
    let at = i
    while (at !== 1 && steps < 100) {
      if (at % 2 === 0) at = at / 2
      else at = 3 * at + 1
      steps++
    }
    W.set(i, 0, steps)
  },
}
