/**
 * Law 5 where rows are touched ahead: iterations that reach rows of arrays that are larger than a cache, at keys, elements,
 * elements of other arrays and what is computed of them, leave the bits that the same functions leave when they are called
 * one iteration after another, and fail at the key where they fail, although what later iterations reach was asked for before.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ARRAY_OF_DTYPE, stridesOf } from '../src/core/arrays/storage.ts'
import { announcedRun } from './lawRuns.ts'
import { type Machine, startMachine } from './loopRuns.ts'
import { kernelOutcome, plainOutcome, type RowArray, type RowDType, type RowIteration, type RowLoop } from './rowLoops.ts'

const RUN = announcedRun('touchAhead.prop.ts')
/** What `explain` says where the law is about something. */
const TOUCHED = 'software prefetch'
/** From so many bytes on an array is touched ahead. */
const FAR_BYTES = 2 ** 19
/** Some calls of a kernel are to have more iterations than a batch. */
const LENGTHS = { maxLength: 300, size: 'max' } as const
/** Keys of a range, rows of the arrays that name others. */
const KEYS = 20

let machine: Machine
beforeAll(() => {
  machine = startMachine([1])
})
afterAll(() => machine.stop())

/** How an iteration gets its rows u and m and its number x: from keys, elements of an array, or the fields of a row. */
const SPACES = {
  sparse: '(x, [i, j], { A, T, B, U, total })',
  table: '(row, [t], { A, T, B, U, total })',
  range: '([i, j], { A, T, B, U, total })',
} as const
const OWN: Readonly<Record<keyof typeof SPACES, readonly (readonly string[])[]>> = {
  sparse: [
    ['const u = i', 'const m = j'],
    ['const m = j', 'const u = i > 3 ? i - 1 : m'],
  ],
  table: [
    ['const x = row.x', 'const u = row.u', 'const m = row.m'],
    ['const m = row.m', 'const x = row.x + 1', 'const near = x > 0 ? 1 : 0', 'const u = row.u - near'],
  ],
  range: [
    ['const x = 0.5 * i - j', 'const u = U.get(i)', 'const m = U.get(j)'],
    ['const x = j', 'const m = U.get(i + 1)', 'const u = U.get(j) + i'],
  ],
}

/** Mostly the first. */
function mostly(...texts: readonly [string, ...string[]]): fc.Arbitrary<string> {
  const [first, ...others] = texts
  return fc.oneof({ weight: 2 * others.length, arbitrary: fc.constant(first) }, ...others.map((other) => fc.constant(other)))
}

const rowOfSum = mostly('u', 'm', 'U.get(2)', 'm + 1', 'u - 1')
const rowOfUpdate = mostly('u', 'm', 'm + 1')
const body = fc.record({
  space: fc.constantFrom<keyof typeof SPACES>('sparse', 'table', 'table', 'range'),
  own: fc.nat(1),
  first: mostly('', 'if (x > 1.5) return', 'U.set(0, m)', 'total.add(x)', 'A.set(u, 0, x)', 'if (x !== x) throw new Error("no number")'),
  sums: fc.tuple(rowOfSum, rowOfSum),
  start: mostly('0', 'B.get(m, 0)', 'A.get(u, 1)', 'x'),
  update: mostly(
    'A.set(ROW, k, A.get(ROW, k) + e * B.get(m, k))',
    'A.add(ROW, k, e)',
    'T.set(ROW, k, e)',
    'if (e > 0) A.set(ROW, k, e)',
    '',
  ),
  row: rowOfUpdate,
  other: mostly('', 'B.set(m, k, e - k)', 'B.set(m, k, A.get(u, k))'),
  last: mostly('', 'total.add(e)', 'U.set(i, m)', 'B.set(u, 0, e)'),
  turns: mostly('N', '2', 'm', 'A.shape[1]'),
})

const number = fc.oneof(
  { weight: 8, arbitrary: fc.double({ min: -2, max: 2, noNaN: true }) },
  fc.constantFrom(Number.NaN, -0, Number.POSITIVE_INFINITY),
)
/** Of rows that are there, now and then of those that are not. */
function rows(count: number): fc.Arbitrary<number> {
  const edge = fc.constantFrom(0, 1, 2, count - 3, count - 2)
  const inside = fc.oneof({ weight: 3, arbitrary: edge }, fc.nat(count - 2))
  return fc.oneof({ weight: 600, arbitrary: inside }, fc.constantFrom(count, count - 1, -1, 2 ** 30, 2 ** 31 - 1, -(2 ** 31)))
}

const cases: fc.Arbitrary<RowLoop> = fc
  .record({
    body,
    dtype: fc.constantFrom<RowDType>('f64', 'f64', 'f32', 'i32'),
    width: fc.oneof(fc.integer({ min: 2, max: 20 }), fc.constantFrom(16, 32, 150, 150)),
    isFarB: fc.boolean(),
    extents: fc.tuple(fc.integer({ min: 1, max: 10 }), fc.integer({ min: 1, max: KEYS })),
  })
  .chain((one) => {
    const { body, dtype, width } = one
    const stride = stridesOf([1, width], dtype)[0] ?? width
    const far = Math.ceil(FAR_BYTES / (stride * ARRAY_OF_DTYPE[dtype].BYTES_PER_ELEMENT)) + 1
    // Another element type, so that no vector has both.
    const row = rows(body.space === 'range' ? far - KEYS : far)
    const keys = fc.nat(far - 2)
    return fc.record({
      one: fc.constant({ ...one, far, countB: one.isFarB ? far : Math.max(4, far >> 4) }),
      values: fc.array(number, { minLength: 5, maxLength: 30 }),
      named: fc.array(row, { minLength: KEYS + 1, maxLength: KEYS + 1 }),
      iterations:
        body.space === 'sparse'
          ? fc.uniqueArray(fc.tuple(keys, keys, number), { ...LENGTHS, selector: ([u, m]) => `${u},${m}` })
          : fc.array(fc.tuple(row, row, number), LENGTHS),
    })
  })
  .map(({ one: { body, dtype, width, far, countB, extents }, values, named, iterations }) => {
    const { space, own, first, sums, start, update, row, other, last, turns } = body
    const source = [
      `${SPACES[space]} => {`,
      ...(OWN[space][own] ?? []),
      first,
      `let p = ${start}`,
      `for (let k = 0; k < ${turns.replace('N', String(width))}; k++) p += A.get(${sums[0]}, k) * B.get(${sums[1]}, k)`,
      'const e = x - p',
      `for (let k = 0; k < ${width}; k++) { ${update.replaceAll('ROW', row)}; ${other} }`,
      space === 'table' ? last.replace('U.set(i', 'U.set(t & 7') : last.replace('U.set(i', 'U.set(i & 7'),
      '}',
    ]
    const array = (name: string, count: number, of: RowDType): RowArray => ({
      ...{ name, dtype: of, shape: [count, width], values: (position) => values[(position * 7 + count) % values.length] ?? 0 },
      ...(name === 'A' ? { alias: 'T' } : {}),
    })
    const names: RowArray = { name: 'U', dtype: 'i32', shape: [KEYS + 1], values: (position) => named[position] ?? 0 }
    return {
      ...{ source: source.join('\n'), space, extents: space === 'range' ? extents : [far, far] },
      iterations: space === 'range' ? keysOf(extents) : space === 'sparse' ? inOrder(iterations) : iterations,
      arrays: [array('A', far, dtype), array('B', countB, dtype === 'f64' ? 'f32' : 'f64'), names],
    }
  })

function keysOf([rows, columns]: readonly [number, number]): readonly RowIteration[] {
  return Array.from({ length: rows * columns }, (_, at) => [Math.floor(at / columns), at % columns, 0])
}

function inOrder(iterations: readonly RowIteration[]): readonly RowIteration[] {
  return iterations.toSorted(([u, m], [v, n]) => u - v || m - n)
}

test('rows that are touched ahead hold what the body leaves iteration by iteration', async () => {
  const counts = { touched: 0, failed: 0, completed: 0, overlapped: 0 }
  await fc.assert(
    fc.asyncProperty(cases, async (loop) => {
      const plain = plainOutcome(loop)
      const { outcome, text } = await kernelOutcome(loop, machine)
      if (text.includes(TOUCHED)) {
        counts.touched++
        counts[plain.failed === undefined ? 'completed' : 'failed']++
        if (text.includes('beside the update')) counts.overlapped++
      }
      const what = `${loop.source}\n${text}`
      if (outcome.failed !== plain.failed) throw new Error(`failed at ${outcome.failed}, not at ${plain.failed}\n${what}`)
      for (const [name, expected] of Object.entries(plain.numbers)) {
        const got = outcome.numbers[name]
        for (let i = 0; i < expected.length; i++) {
          if (!Object.is(expected[i], got?.[i])) throw new Error(`${name}, number ${i}: ${got?.[i]}, not ${expected[i]}\n${what}`)
        }
      }
    }),
    RUN,
  )
  console.log(JSON.stringify(counts))
  if (RUN.numRuns < 500) return
  expect(counts.completed).toBeGreaterThan(0.1 * RUN.numRuns)
  expect(counts.failed).toBeGreaterThan(0.1 * RUN.numRuns)
  expect(counts.overlapped).toBeGreaterThan(0.02 * RUN.numRuns)
})
