/**
 * Bodies as people write them against the same function as plain JavaScript, on one thread each: arrays of their own, captured
 * lists of lists, random numbers, texts as names, elements that may not be there.
 *
 *     distarray   loop.run() with one worker
 *     js          a for loop of the program over typed arrays; it draws from the library's own generator
 *
 *     npm run bench -- bodies --rows 200000 --only "a median"
 */
import { Session } from 'distarray'
import { IterationRng } from '../src/core/arrays/random.ts'
import { suite, timed } from './harness.ts'

const bench = suite('bodies', { rows: 200_000 })
const { rows } = bench.options
const session = await Session.start({ workers: 1, progress: false })
const x = session.random([rows, 8], { seed: 1 })
const y = session.zeros([rows])
const rng = session.rng(1)
const numbers = (await x.toTypedArray()) as Float64Array
const out = new Float64Array(rows)
const centers = Array.from({ length: 10 }, (_, k) => Array.from({ length: 8 }, (_, j) => ((k * 7 + j * 3) % 10) / 10))
const dice = new IterationRng(1)
const words = 'the quick brown fox jumps over a lazy dog while another one sleeps in warm sun all day long'.split(' ')

interface Row {
  readonly [k: number]: number
}

function median(row: Row): number {
  const sorted = new Float64Array(8)
  for (let k = 0; k < 8; k++) {
    const value = row[k] as number
    let at = k
    while (at > 0 && (sorted[at - 1] as number) > value) {
      sorted[at] = sorted[at - 1] as number
      at--
    }
    sorted[at] = value
  }
  return ((sorted[3] as number) + (sorted[4] as number)) / 2
}

function nearest(row: Row): number {
  let [best, least] = [0, Number.POSITIVE_INFINITY]
  for (let k = 0; k < 10; k++) {
    let sum = 0
    for (let j = 0; j < 8; j++) {
      const off = (row[j] as number) - ((centers[k] as number[])[j] as number)
      sum += off * off
    }
    if (sum < least) {
      least = sum
      best = k
    }
  }
  return best
}

function inside(draws: { uniform(): number }): number {
  let hits = 0
  for (let k = 0; k < 20; k++) {
    const a = draws.uniform()
    const b = draws.uniform()
    if (a * a + b * b < 1) hits++
  }
  return hits
}

/** Texts as names of an object: the most that one of 40 comes. */
function most(from: number): number {
  const counts: Record<string, number> = {}
  let found = 0
  for (let k = 0; k < 40; k++) {
    const word = words[(from + 7 * k * k) % words.length] as string
    counts[word] = (counts[word] ?? 0) + 1
    found = Math.max(found, counts[word])
  }
  return found
}

/** A stack whose last element may not be there: the sum of what is left of numbers that each take those below it. */
function left(row: Row): number {
  const stack: number[] = []
  for (let k = 0; k < 8; k++) {
    const value = row[k] as number
    while ((stack[stack.length - 1] ?? 1) < value) stack.pop()
    stack.push(value)
  }
  return stack.reduce((sum, value) => sum + value, 0)
}

/** Integers that are divided by what a test has found to divide them: how many prime factors there are. */
function factors(of: number): number {
  let n = of + 2
  let count = 0
  for (let d = 2; d * d <= n; d++) {
    while (n % d === 0) {
      n /= d
      count++
    }
  }
  return n > 1 ? count + 1 : count
}

/** A loop that ends at a root: the sum of the divisors. */
function divisors(n: number): number {
  let sum = 0
  for (let d = 1; d <= Math.sqrt(n); d++) {
    if (n % d === 0) {
      sum += d
      if (d !== n / d) sum += n / d
    }
  }
  return sum
}

const loops = {
  'words counted by an object': session.loop(session.range(rows), { y }, ([i], { y }) => y.set(i, most(i))),
  'a stack of 8': session.loop(session.range(rows), { x, y }, ([i], { x, y }) => y.set(i, left(x.row(i)))),
  'a median of 8 by insertion': session.loop(session.range(rows), { x, y }, ([i], { x, y }) => y.set(i, median(x.row(i)))),
  'the nearest of 10 centers': session.loop(session.range(rows), { x, y }, ([i], { x, y }) => y.set(i, nearest(x.row(i)))),
  'prime factors': session.loop(session.range(rows), { y }, ([i], { y }) => y.set(i, factors(i))),
  'sums of divisors': session.loop(session.range(rows), { y }, ([i], { y }) => y.set(i, divisors(i))),
  'pi by 20 points': session.loop(session.range(rows), { y, rng }, ([i], { y, rng }) => y.set(i, inside(rng))),
}
const plain: { readonly [N in keyof typeof loops]: (i: number) => number } = {
  'words counted by an object': most,
  'a stack of 8': (i) => left(numbers.subarray(8 * i, 8 * i + 8)),
  'a median of 8 by insertion': (i) => median(numbers.subarray(8 * i, 8 * i + 8)),
  'the nearest of 10 centers': (i) => nearest(numbers.subarray(8 * i, 8 * i + 8)),
  'prime factors': factors,
  'sums of divisors': divisors,
  'pi by 20 points': (i) => {
    dice.begin(i)
    return inside(dice)
  },
}
for (const name of Object.keys(loops) as (keyof typeof loops)[]) {
  if (!bench.wanted(name)) continue
  const [loop, f] = [loops[name], plain[name]]
  if (loop.plan.kernel?.target === 'as-is') throw new Error(`${name} runs as it stands.`)
  await bench.ask({
    name,
    unit: 'row',
    units: rows,
    contenders: {
      distarray: timed(() => loop.run()),
      js: timed(async () => {
        for (let i = 0; i < rows; i++) out[i] = f(i)
      }),
    },
    peers: ['js'],
  })
}
await session.stop()
bench.finish()
