/**
 * `Math.hypot` by V8's operations in their order, and so with the same bits: the numbers are divided by the largest of them, and their
 * squares are added by Kahan's summation.
 *
 *     m √((a / m)² + (b / m)² + …), each sum corrected by what the one before it lost
 *
 * Nothing in it is a branch, so it has lanes. An infinity gives infinity, NaN beside it or not. Whether this engine has that algorithm is
 * tested once.
 */
import type { Kept, NumberEmitter } from '../expressions/emitter.ts'

export function hypotOf<V>(e: NumberEmitter<V>, args: readonly V[]): V {
  const [only] = args
  if (only !== undefined && args.length === 1) return e.float('abs', e.toFloat(only))
  const sizes = args.map((arg) => e.kept(e.float('abs', e.toFloat(arg))))
  const again = sizes.map((size) => size.again)
  const [largest, found] = largestOf(e, again)
  const squares = again.map((size) => {
    const part = e.kept(e.float('/', size, largest.again))
    return e.after([part.first], e.float('*', part.again, part.again))
  })
  const sum = squares.reduce<Sum<V>>((sofar, square, i) => added(e, sofar, square, i === squares.length - 1), {
    sum: undefined,
    lost: undefined,
  })
  const ordinary = e.float('*', e.float('sqrt', sum.sum as V), largest.again) // there is an argument
  // Beside zeros there may be NaN, which is no largest number.
  const zeros = again.reduce((a, b) => e.float('+', a, b))
  const finite = e.selected(e.compared('==', largest.again, e.constant(0)), zeros, ordinary)
  const infinity = e.constant(Number.POSITIVE_INFINITY)
  const isInfinite = again.map((size) => e.compared('==', size, infinity)).reduce((a, b) => e.truths('or', a, b))
  return e.after([...sizes.map(({ first }) => first), ...found], e.selected(isInfinite, infinity, finite))
}

/** The largest of numbers, and what is computed before it. Not by `max`, which V8 makes a branch of that is mispredicted half of the time. */
function largestOf<V>(e: NumberEmitter<V>, [first, ...others]: readonly V[]): readonly [Kept<V>, readonly V[]] {
  const found: V[] = []
  const largest = others.reduce<Kept<V>>(
    (sofar, other) => {
      const next = e.kept(e.selected(e.compared('>', other, sofar.again), other, sofar.again))
      found.push(next.first)
      return next
    },
    { first: first as V, again: first as V },
  ) // there are two
  return [largest, found]
}

interface Sum<V> {
  readonly sum: V | undefined
  /** What the sum so far is too large by. */
  readonly lost: V | undefined
}

function added<V>(e: NumberEmitter<V>, { sum, lost }: Sum<V>, square: V, isLast: boolean): Sum<V> {
  if (sum === undefined) return { sum: square, lost: undefined }
  if (lost === undefined && isLast) return { sum: e.float('+', sum, square), lost: undefined }
  const before = e.kept(sum)
  const term = e.kept(lost === undefined ? square : e.float('-', square, lost))
  const next = e.float('+', before.again, term.again)
  if (isLast) return { sum: e.after([before.first, term.first], next), lost: undefined }
  const held = e.kept(next)
  const rest = e.float('-', e.float('-', held.again, before.again), term.again)
  return { sum: e.after([before.first, term.first, held.first], held.again), lost: rest }
}

let isSame: boolean | undefined

/** Whether the code above has the bits of `Math.hypot` in this engine. */
export function isEngineHypot(): boolean {
  isSame ??= hypotHasBitsOf(Math.hypot)
  return isSame
}

const COMPARED = 512

/** Whether a function gives the bits of the code above, of two, three and four numbers of all sizes. */
export function hypotHasBitsOf(hypot: (...numbers: number[]) => number): boolean {
  const golden = (i: number): number => (Math.imul(i, 0x9e3779b9) >>> 0) / 2 ** 32 - 0.5
  const number = (i: number): number => golden(i) * 2 ** ((i % 3) * 40 * golden(i + 5))
  return Array.from({ length: COMPARED }, (_, i) => Array.from({ length: 2 + (i % 3) }, (_, k) => number(4 * i + k))).every((numbers) =>
    Object.is(hypot(...numbers), computed(numbers)),
  )
}

function computed(numbers: readonly number[]): number {
  const largest = Math.max(...numbers.map(Math.abs))
  let [sum, lost] = [0, 0]
  for (const number of numbers) {
    const part = Math.abs(number) / largest
    const term = part * part - lost
    const next = sum + term
    lost = next - sum - term
    sum = next
  }
  return Math.sqrt(sum) * largest
}
