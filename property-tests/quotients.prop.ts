/**
 * Law 5 where two quotients are divided at once: random sums of quotients over compressed rows, and bodies near them, leave
 * the bits that the same functions leave when they are called one iteration after another, and fail at the key where they
 * fail. The optimizing compiler makes every kernel, as it does of long loops.
 */
import { setFlagsFromString } from 'node:v8'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type DistArray, Session, TaskError } from '../src/index.ts'
import { SPECIAL_NUMBERS } from './arbitraries/kernelBody.ts'
import { announcedRun } from './lawRuns.ts'

setFlagsFromString('--no-liftoff')

const RUN = announcedRun('quotients.prop.ts')
/** What `explain` says where the law is about something. */
const PAIRED = 'two quotients at a time'
const ROWS = 5
const ENTRIES = 12

let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 1, progress: false, checkRaces: false })
})
afterAll(() => session.stop())

interface Case {
  readonly source: string
  readonly dtypes: readonly ('f64' | 'f32' | 'i32')[]
  readonly first: readonly number[]
  readonly at: readonly number[]
  readonly values: readonly number[]
}

const leaf = fc.constantFrom(
  'x.get(at.get(e))',
  'x.get(at.get(e))',
  'x.get(at.get(e))',
  'd.get(e)',
  'd.get(e + 1)',
  'x.get(v)',
  'm.get(e, 1)',
  'e',
  'v',
  '0.3',
)
const operand = fc.oneof(
  { weight: 3, arbitrary: leaf },
  fc.tuple(leaf, fc.constantFrom('+', '*', '-'), leaf).map(([a, o, b]) => `(${a} ${o} ${b})`),
  leaf.map((a) => `Math.abs(${a})`),
  fc.tuple(leaf, leaf).map(([a, b]) => `(${a} > 0.5 ? ${a} : ${b})`),
)
const divisor = fc.oneof(operand, fc.constantFrom('10', '(v + 1)', '3'))
const addition = fc
  .tuple(
    operand,
    divisor,
    fc.constantFrom(
      ...[
        's += A / B',
        's += A / B',
        's += A / B',
        's -= A / B',
        's -= A / B',
        's = A / B + s',
        's += A / B * 2',
        's = A / B - s',
        's += s / B',
      ],
    ),
  )
  .map(([a, b, form]) => form.replace('A', a).replace('B', b))
const turns = fc.constantFrom(
  ...['let e = first.get(v); e < first.get(v + 1); e++', 'let e = first.get(v); e < first.get(v + 1); e++'],
  ...['let e = 1; e < first.get(v); e++', 'let e = 0; e < v + 6; e += 2'],
)
const source = fc.tuple(turns, addition, fc.constantFrom('0', '-0', '1.5')).map(([turns, addition, start]) => {
  return `([v], { first, at, x, d, m, y }) => { let s = ${start}; for (${turns}) ${addition}; y.set(v, s) }`
})
const cases: fc.Arbitrary<Case> = fc.record({
  source,
  dtypes: fc.array(fc.constantFrom('f64', 'f64', 'f32', 'i32'), { minLength: 3, maxLength: 3 }),
  first: fc.array(fc.oneof({ weight: 12, arbitrary: fc.nat(ENTRIES - 1) }, fc.constantFrom(-1, ENTRIES + 1)), {
    minLength: ROWS + 1,
    maxLength: ROWS + 1,
  }),
  at: fc.array(fc.oneof({ weight: 40, arbitrary: fc.nat(ROWS - 1) }, fc.constantFrom(-1, ROWS)), {
    minLength: ENTRIES,
    maxLength: ENTRIES,
  }),
  values: fc.array(fc.oneof(fc.double({ min: -2, max: 2, noNaN: true }), fc.constantFrom(...SPECIAL_NUMBERS)), { minLength: 7 }),
})

test('quotients that are divided two at a time leave what the body leaves iteration by iteration', async () => {
  const counts = { paired: 0, failed: 0 }
  await fc.assert(
    fc.asyncProperty(cases, async (one) => {
      const plain = plainOutcome(one)
      const { outcome, text } = await kernelOutcome(one)
      if (text.includes(PAIRED)) counts.paired++
      if (text.includes(PAIRED) && typeof plain === 'string') counts.failed++
      const isSame = typeof plain === 'string' ? outcome === plain : plain.every((value, i) => Object.is(value, outcome[i]))
      if (!isSame) throw new Error(`${String(outcome)}, not ${String(plain)}\n${one.source}\n${text}`)
    }),
    RUN,
  )
  console.log(JSON.stringify(counts))
  if (RUN.numRuns < 500) return
  expect(counts.paired).toBeGreaterThan(0.1 * RUN.numRuns)
  expect(counts.failed).toBeGreaterThan(0.01 * RUN.numRuns)
})

const direct = fc.constantFrom('d.get(e)', 'd.get(e)', 'm.get(e, 1)', 'm.get(e, 0)', 'z.get(v, e)', 'e', 'v', '0.3')
const running = fc
  .record({
    parts: fc.tuple(direct, direct, direct, direct),
    before: fc.constantFrom('', '', '', '', 'z.set(v, e, s)'),
    first: fc.constantFrom(
      's += A / B',
      's += A / B',
      's -= A / B',
      's = A / B + s',
      's += (A - C) / B',
      'const q = A / B; s += q; t += q',
    ),
    after: fc.constantFrom('', 'z.set(v, e, s)', 'z.set(v, e, s)', 'z.set(v, e, s * D); t += s', 't -= s / B', 'z.set(v, e, t)'),
    start: fc.constantFrom('0', '-0', '1.5'),
    to: fc.integer({ min: 1, max: ENTRIES }),
  })
  .map(({ parts: [a, b, c, d], before, first, after, start, to }) => {
    const turn = `${before}; ${first}; ${after}`.replaceAll('A', a).replaceAll('B', b).replaceAll('C', c).replaceAll('D', d)
    // a chain from one iteration to the next, so that lanes are those of the loop inside
    return `([v], { d, m, y, z }) => { let s = v > 0 ? y.get(v - 1) : ${start}, t = 0; for (let e = 0; e < ${to}; e++) { ${turn} } y.set(v, s - t) }`
  })

test('sums of quotients that are added in order leave what they are after each turn', async () => {
  const counts = { ordered: 0 }
  await fc.assert(
    fc.asyncProperty(cases, running, async (given, source) => {
      const one = { ...given, source }
      const [plain, { outcome, text }] = [plainOutcome(one), await kernelOutcome(one)]
      if (text.includes('sums in order')) counts.ordered++
      const isSame = typeof plain !== 'string' && plain.every((value, i) => Object.is(value, outcome[i]))
      if (!isSame) throw new Error(`${String(outcome)}, not ${String(plain)}\n${one.source}\n${text}`)
    }),
    RUN,
  )
  console.log(JSON.stringify(counts))
  if (RUN.numRuns >= 500) expect(counts.ordered).toBeGreaterThan(0.3 * RUN.numRuns)
})

/** What `y` and `z` hold, or the key at which an iteration failed. */
type Outcome = ArrayLike<number> | string

const TYPED = { f64: Float64Array, f32: Float32Array, i32: Int32Array } as const

function arraysOf({ dtypes, first, at, values }: Case) {
  const made = (dtype: keyof typeof TYPED, length: number, value: (i: number) => number) => {
    return {
      dtype,
      data: Object.assign(
        new TYPED[dtype](length),
        Array.from({ length }, (_, i) => value(i)),
      ),
    }
  }
  const valueAt = (i: number): number => values[i % values.length] ?? 0
  return {
    first: { ...made('i32', ROWS + 1, (i) => first[i] ?? 0), shape: [ROWS + 1] },
    at: { ...made('i32', ENTRIES, (i) => at[i] ?? 0), shape: [ENTRIES] },
    x: { ...made(dtypes[0] ?? 'f64', ROWS, valueAt), shape: [ROWS] },
    d: { ...made(dtypes[1] ?? 'f64', ENTRIES, (i) => valueAt(3 * i + 1)), shape: [ENTRIES] },
    m: { ...made(dtypes[2] ?? 'f64', 2 * ENTRIES, (i) => valueAt(5 * i + 2)), shape: [ENTRIES, 2] },
    y: { ...made('f64', ROWS, () => 0), shape: [ROWS] },
    z: { ...made('f64', ROWS * ENTRIES, (i) => valueAt(i + 3)), shape: [ROWS, ENTRIES] },
  } as const
}

type Body = (key: readonly number[], views: object) => void

function bodyOf({ source }: Case): Body {
  return new Function(`return ${source}`)() as Body // of the text above
}

function plainOutcome(one: Case): Float64Array | string {
  const arrays = arraysOf(one)
  const views = Object.fromEntries(
    Object.entries(arrays).map(([name, { data, shape }]) => {
      const place = (key: readonly number[]): number => {
        for (const [axis, index] of key.entries()) if (!(index >= 0 && index < (shape[axis] ?? 0))) throw new RangeError('outside')
        return key.reduce((position, index, axis) => position * (shape[axis] ?? 0) + index, 0)
      }
      const get = (...key: readonly number[]) => data[place(key)]
      return [name, { get, set: (...given: number[]) => void (data[place(given.slice(0, -1))] = given.at(-1) ?? Number.NaN) }]
    }),
  )
  const body = bodyOf(one)
  for (let v = 0; v < ROWS; v++) {
    try {
      body([v], views)
    } catch {
      return `${v}`
    }
  }
  return Float64Array.from([...arrays.y.data, ...arrays.z.data])
}

async function kernelOutcome(one: Case): Promise<{ readonly outcome: Outcome; readonly text: string }> {
  const env: Record<string, DistArray<number, readonly number[]>> = {}
  try {
    for (const [name, { dtype, data, shape }] of Object.entries(arraysOf(one))) {
      const array = session.zeros([...shape] as readonly number[], { dtype })
      await array.assign(
        shape.map(() => null),
        data,
      )
      env[name] = array
    }
    const loop = session.loop(session.range(ROWS), env, bodyOf(one) as never) // a body over those arrays
    const failed = await loop.run().then(
      () => undefined,
      (error: unknown) => error,
    )
    const text = loop.explain({ kernel: true }).split('\n  IR')[0] ?? ''
    if (failed === undefined) {
      const [y, z] = (await Promise.all([env.y?.toTypedArray(), env.z?.toTypedArray()])) as [Float64Array, Float64Array] // made of f64
      return { outcome: Float64Array.from([...y, ...z]), text }
    }
    if (!(failed instanceof TaskError)) throw failed
    return { outcome: `${failed.key?.join()}`, text }
  } finally {
    for (const array of Object.values(env)) await array.release()
  }
}
