/**
 * Bodies of the shape that the end of an iteration runs beside the beginning of the next one in: locals, a loop of sums in
 * order, what is computed from them, and a loop that updates rows; and bodies that nearly have it. As source text, with the
 * row names `A` and `B` (updated), `T` (another name of A), `D` (rows read only) and `c` (a number a row).
 */
import fc from 'fast-check'

/** Rows of all arrays; the key of an iteration may be one that is not there where data name rows. */
export const ROWS = 5

/** What is iterated over, and how an iteration gets its rows u and m and its number x. */
export const SPACES = {
  sparse: '(x, [u, m], { A, B, T, D, c, total })',
  table: '(r, [t], { A, B, T, D, c, total })',
  range: '([u, m], { A, B, T, D, c, total })',
} as const
export type Space = keyof typeof SPACES

const OWN: Readonly<Record<Space, readonly string[]>> = {
  sparse: [],
  table: ['const u = r.u', 'const m = r.m', 'const x = r.x'],
  range: ['const x = 0.5 * u - m'],
}

export interface OverlapBody {
  readonly space: Space
  readonly source: string
  readonly width: number
}

/** Mostly the first. */
function mostly(first: string, ...others: readonly string[]): fc.Arbitrary<string> {
  return fc.oneof({ weight: 4 * others.length, arbitrary: fc.constant(first) }, ...others.map((other) => fc.constant(other)))
}

/** None of them in most bodies. */
function seldom(...texts: readonly string[]): fc.Arbitrary<string> {
  return mostly('', ...texts)
}

function factors(k: string): fc.Arbitrary<string> {
  const near = fc.constantFrom(
    `A.get(u, ${k} + 1)`,
    `B.get(m, ${k} + 1)`,
    'A.get(u, 0)',
    `A.get(${k}, 0)`,
    `T.get(u, ${k})`,
    `A.get(1, ${k} - 1)`,
  )
  const plain = [`A.get(u, ${k})`, `B.get(m, ${k})`, `A.get(m, ${k})`, `D.get(u, ${k})`, `D.get(m, ${k} + 1)`, `B.get(2, ${k})`, k, 'x']
  return fc.oneof({ weight: 12, arbitrary: fc.constantFrom(...plain) }, near)
}

const terms = fc
  .tuple(factors('k'), factors('k'), factors('k'))
  .chain(([a, b, c]) =>
    fc.constantFrom(
      ...[`${a} * ${b}`, `${a} * ${b}`, `A.get(u, k) * B.get(m, k)`, `A.get(u, k) * ${b}`, `T.get(u, k + 1) * B.get(m, k)`],
      ...[`(${a} - ${b}) * (${a} - ${b})`, `${a} * ${b} * ${c}`, `Math.max(${a}, ${b})`, `(${a} > ${b} ? ${a} : 0.5)`, `${a} / ${b}`],
    ),
  )

const heads = fc.tuple(
  fc.constantFrom('let p = 0', 'let p = 0', 'let p = c.get(u)', 'let p = c.get(m) - 1', 'let p = x', 'let p = -0'),
  seldom('p += D.get(m, 0) * 0.5', 'p -= c.get(m)', 'q = Math.sqrt(Math.abs(x))', 'p += A.get(u, 0)', 'if (x > 2) p = 1'),
)

const sums = fc
  .record({
    first: terms,
    second: terms,
    order: fc.constantFrom('p += TERM', 'p += TERM', 'p = TERM + p', 'p -= TERM'),
    other: seldom('q -= SECOND', 'const s = SECOND; p += s * s', 'p += SECOND', 'q += p'),
  })
  .map(({ first, second, order, other }) => `${order.replace('TERM', first)}; ${other.replace('SECOND', second)}`)

const middles = fc.tuple(
  seldom('c.set(u, c.get(u) + 0.25 * e)', 'if (e > 3) return', 'total.add(e)', 'B.set(m, 0, e)', 'D.set(u, 0, e)'),
  seldom('for (let j = 0; j < 2; j++) c.set(j, c.get(j) * 0.5)', 'if (e !== e) throw new Error("no number")', 'c.set(m, e)'),
)

const updates = fc.tuple(
  fc.tuple(
    mostly('A.set(u, i, a + 0.1 * (e * b - 0.2 * a))', 'A.add(u, i, 0.1 * e * b)', 'if (a > 0) A.set(u, i, e * b)', 'A.set(m, i, a - e)'),
    seldom(
      'A.set(u, i + 1, e)',
      'A.set(i, u, e)',
      'A.set(u, 0, e)',
      'A.set(u, i, A.get(u, i + 1) + e)',
      'c.set(u, e)',
      'T.set(u, i, e)',
      'A.set(u, i, e - b)',
    ),
  ),
  mostly(
    'B.set(m, i, b + 0.1 * (e * a - 0.2 * b))',
    'B.set(u, i, b * e)',
    'B.set(m, i, q - b)',
    '',
    'D.set(m, i, e - a)',
    'B.set(m, i, A.get(u, i) - b)',
  ),
)

const tails = seldom('total.add(e * e)', 'c.set(u, e)', 'A.set(m, 0, e)', 'D.set(u, 0, x)', 'if (e > 1) return')

const bounds = fc.constantFrom('0, N', '0, N', '0, N', '0, N', '0, N', '1, N', 'A.shape[0] - 5, N', '0, A.shape[1]', '0, m')

/** `width` columns; loops mostly turn as often, and now and then once more than there are. */
export const overlapBody: fc.Arbitrary<OverlapBody> = fc
  .record({
    space: fc.constantFrom<Space>('sparse', 'sparse', 'table', 'table', 'range'),
    width: fc.integer({ min: 1, max: 23 }),
    more: mostly('0', '1', '-1', '-2'),
    head: heads,
    sum: sums,
    middle: middles,
    update: updates,
    tail: tails,
    bounds,
    other: seldom('1, N', '0, N - 1', '0, 2'),
  })
  .map(({ space, width, more, head, sum, middle, update, tail, bounds, other }) => {
    const loop = (index: string, range: string, body: string): string => {
      const [from, to] = range.replace('N', String(width + Number(more))).split(', ')
      return `for (let ${index} = ${from}; ${index} < ${to}; ${index}++) { ${body} }`
    }
    const [[first, second], last] = update
    const lines = [
      ...OWN[space],
      ...['let q = 0.5', ...head],
      loop('k', bounds, sum),
      'const e = x - p',
      ...middle,
      loop('i', other === '' ? bounds : other, `const a = A.get(u, i); const b = B.get(m, i); ${first}; ${second}; ${last}`),
      tail,
    ]
    const source = `${SPACES[space]} => {\n${lines.filter((line) => line !== '').join('\n')}\n}`
    return { space, source, width }
  })
