/**
 * Law: loops whose iterations hand on running sums, extremes, bits, counts and the places of extremes have the bits of the plain loop on
 * any number of workers: around the borders of chunks, with NaN, -0 and sums that leave 32 bits, as the body is written by hand: with
 * borders, resets, locals, early returns, several carried values, and what is beside them. `verify` agrees.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ARRAY_OF_DTYPE } from '../src/core/arrays/storage.ts'
import type { TypedArray } from '../src/core/data/column.ts'
import type { DType } from '../src/core/data/schema.ts'
import { shortPassesOnWorkers } from '../src/session/runtime.ts'
import { Session } from '../src/session/session.ts'
import { announcedRun } from './lawRuns.ts'

const ALL = announcedRun('scans.prop.ts')
/** A law for each family of bodies. */
const RUN = { ...ALL, numRuns: Math.ceil(ALL.numRuns / 4) }
const CHUNK = 4096

const WORKERS = [1, 2, 3]
let sessions: readonly Session[]
beforeAll(async () => {
  sessions = await Promise.all(WORKERS.map((workers) => Session.start({ workers, ...shortPassesOnWorkers })))
})
afterAll(async () => {
  for (const session of sessions) await session.stop()
})

/** Statements about x and y (arrays that are read) and what they carry on. */
interface Kind {
  readonly text: string
  /** Arrays of one element for each iteration, or of a few that all share. */
  readonly chains?: Readonly<Record<string, readonly DType[]>>
  readonly cells?: Readonly<Record<string, readonly DType[]>>
}

const INTS = ['i32', 'u32', 'i16', 'u16', 'i8', 'u8'] as const
const SUMS = [...INTS, 'f64'] as const
const ANY = ['f64', 'f32'] as const

const FAMILIES: Readonly<Record<string, readonly Kind[]>> = {
  'of the element before': [
    { text: 'OUT.set(i, (i > 0 ? OUT.get(i - 1) : 0) + x.get(i))', chains: { OUT: SUMS } },
    { text: 'if (i === 0) OUT.set(0, x.get(0)); else OUT.set(i, OUT.get(i - 1) + x.get(i))', chains: { OUT: SUMS } },
    { text: 'if (i > 0) OUT.set(i, x.get(i) + OUT.get(i - 1) - 3)', chains: { OUT: SUMS } },
    { text: 'if (i > 0 && x.get(i) % 5 !== 0) OUT.set(i, OUT.get(i - 1) + x.get(i))', chains: { OUT: SUMS } },
    { text: 'OUT.set(i, i % 700 === 0 ? x.get(i) : OUT.get(i - 1) + 1)', chains: { OUT: SUMS } },
    { text: 'const before = i > 0 ? OUT.get(i - 1) : 9\n OUT.set(i, (before + x.get(i) + x.get(i)) | 0)', chains: { OUT: SUMS } },
    { text: 'OUT.set(i + 1, OUT.get(i) + (x.get(i) > 2))', chains: { OUT: [...INTS, 'f64'] } },
    { text: 'if (i > 0) OUT.set(i, Math.max(OUT.get(i - 1), y.get(i)))', chains: { OUT: ['f64'] } },
    { text: 'OUT.set(i, Math.min(i > 0 ? OUT.get(i - 1) : Infinity, Math.fround(y.get(i))))', chains: { OUT: ANY } },
    { text: 'OUT.set(i, i > 0 ? (y.get(i) > OUT.get(i - 1) ? y.get(i) : OUT.get(i - 1)) : y.get(0))', chains: { OUT: ['f64'] } },
    { text: 'if (i > 0) { OUT.set(i, OUT.get(i - 1)); OUT.set(i, OUT.get(i) ^ x.get(i)) }', chains: { OUT: SUMS } },
    {
      text: 'OUT.set(i, (i > 0 ? OUT.get(i - 1) : 0) + x.get(i)); S.set(0, Math.min(S.get(0), y.get(i))); z.set(i, S.get(0))',
      chains: { OUT: SUMS },
      cells: { S: ['f64'] },
    },
    {
      text: 'if (i > 0) { const t = OUT.get(i - 1)\n OUT.set(i, t + x.get(i)); OUT.set(i, t + x.get(i) + OUT.get(i) - t) }',
      chains: { OUT: SUMS },
    },
  ],
  'of an element that all share': [
    { text: 'S.set(0, i === 0 ? 0.1 : S.get(0) + x.get(i)); z.set(i, S.get(0))', cells: { S: ['f64'] } },
    { text: 'S.set(0, S.get(0) + x.get(i)); z.set(i, S.get(0))', cells: { S: ['f64'] } },
    { text: 'S.set(0, S.get(0) + x.get(i)); z.set(i, S.get(0))', cells: { S: SUMS } },
    { text: 'const s = S.get(0)\n z.set(i, s); S.set(0, (s + x.get(i)) | 0)', cells: { S: SUMS } },
    { text: 'S.set(0, (S.get(0) + x.get(i)) >>> 0); z.set(i, S.get(0))', cells: { S: ['f64', 'u32', 'i32'] } },
    { text: 'if (x.get(i) % 3 === 0) S.set(0, S.get(0) | x.get(i)); z.set(i, S.get(0))', cells: { S: SUMS } },
    { text: 'S.set(0, S.get(0) & (x.get(i) | 4096)); if (x.get(i) === 7) S.set(0, -1); z.set(i, S.get(0))', cells: { S: SUMS } },
    { text: 'for (let k = 0; k < 3; k++) S.set(0, S.get(0) + x.get((i + k) % n)); z.set(i, S.get(0))', cells: { S: INTS } },
    { text: 'if (x.get(i) === 3) { S.set(0, 0); return }\n S.set(0, S.get(0) + 2); z.set(i, S.get(0))', cells: { S: SUMS } },
    { text: 'S.set(0, Math.max(S.get(0), y.get(i), 0.5)); z.set(i, S.get(0))', cells: { S: ['f64'] } },
    {
      text: 'const c = x.get(i) > 1 ? 1 : 0\n S.set(0, S.get(0) + c); S.set(1, S.get(1) + 1 - c); z.set(i, S.get(0) - S.get(1))',
      cells: { S: SUMS },
    },
  ],
  'of extremes and their places': [
    { text: 'if (y.get(i) < S.get(0)) S.set(0, y.get(i)); z.set(i, S.get(0))', cells: { S: ['f64'] } },
    { text: 'if (y.get(i) < S.get(0)) { S.set(0, y.get(i)); T.set(0, i) }\n z.set(i, T.get(0))', cells: { S: ['f64'], T: ['i32', 'f64'] } },
    {
      text: 'const v = y.get(i)\n if (x.get(i) > 1 && S.get(0) <= v) { T.set(0, x.get(i)); S.set(0, v) }',
      cells: { S: ['f64'], T: ['i32', 'f64'] },
    },
    {
      text: 'if (i === 0) { S.set(0, -Infinity); T.set(0, -1) }\n if (x.get(i) >= S.get(0)) { S.set(0, x.get(i)); T.set(0, i) }\n z.set(i, T.get(0))',
      cells: { S: ['f64'], T: ['i32', 'f64'] },
    },
  ],
  'of counts that fill arrays': [
    { text: 'if (x.get(i) > 2) { z.set(N.get(0), y.get(i)); w.set(N.get(0), i); N.set(0, N.get(0) + 1) }', cells: { N: ['i32', 'f64'] } },
    {
      text: 'if (i === 0) N.set(0, 2)\n if (x.get(i) > 2) { const at = N.get(0)\n N.set(0, at + 1); z.set(N.get(0) - 1, i) }',
      cells: { N: ['i32', 'f64'] },
    },
    { text: 'N.set(0, N.get(0) + 1); if (y.get(i) > 1) return\n z.set(N.get(0) - 1, y.get(i))', cells: { N: ['i32', 'f64'] } },
  ],
  'that look like others': [
    { text: 'OUT.set(i, (i > 0 ? OUT.get(i - 1) : 5) + (y.get(i) % 1) * 6 - 3)', chains: { OUT: ['i32'] } },
    {
      text: 'if (S.get(0) % 3 !== 0) S.set(0, S.get(0) + 1); S.set(0, S.get(0) + x.get(i)); z.set(i, S.get(0))',
      cells: { S: SUMS },
    },
    { text: 'const t = OUT.get(i)\n OUT.set(i, (i > 0 ? OUT.get(i - 1) : 0) + x.get(i)); OUT.set(i, t + 1)', chains: { OUT: SUMS } },
    { text: 'OUT.set(i, (i > 0 ? OUT.get(i - 1) : 0) + (x.get(i) > 1 ? y.get(i) : -y.get(i)))', chains: { OUT: ['f64', 'i32', 'f32'] } },
    { text: 'OUT.set(i, (i > 0 ? OUT.get(i - 1) : 0) * 0.5 + y.get(i))', chains: { OUT: ['f64', 'i32'] } },
    { text: 'S.set(0, S.get(0) + x.get(i)); if (S.get(0) > 40) S.set(0, 0); z.set(i, S.get(0))', cells: { S: SUMS } },
    { text: 'const s = S.get(0)\n S.set(0, 5); S.set(0, s + x.get(i)); z.set(i, S.get(0))', cells: { S: SUMS } },
    { text: 'if (x.get(i) > 2) { z.set(N.get(0), i); if (x.get(i) > 4) N.set(0, N.get(0) + 1) }', cells: { N: ['i32', 'f64'] } },
    { text: 'S.set(0, Math.max(S.get(0), y.get(i))); z.set(i, S.get(0))', cells: { S: INTS } },
  ],
}

interface Case {
  readonly kind: Kind
  readonly text: string
  readonly n: number
  readonly dtypes: Readonly<Record<string, DType>>
  readonly starts: Readonly<Record<string, readonly [number, number]>>
  readonly x: Int32Array
  readonly y: Float64Array
  readonly session: number
  readonly verifies: boolean
  readonly isTight: boolean
}

const border = fc.constantFrom(
  1,
  CHUNK - 1,
  CHUNK,
  CHUNK + 1,
  CHUNK + 1,
  CHUNK + 2,
  2 * CHUNK - 1,
  2 * CHUNK,
  2 * CHUNK + 1,
  2 * CHUNK + 700,
  3 * CHUNK,
)
const odd = fc.constantFrom(
  0,
  -0,
  1,
  -1,
  0.1,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  2 ** 31 - 1,
  -(2 ** 31),
  2 ** 53,
  2.5e9,
  300,
  -129,
)

const casesOf = (kinds: readonly Kind[]): fc.Arbitrary<Case> =>
  fc
    .record({
      kind: fc.constantFrom(...kinds),
      n: border,
      seed: fc.integer({ min: 1, max: 2 ** 30 }),
      pick: fc.array(fc.nat(60), { minLength: 4, maxLength: 4 }),
      starts: fc.array(fc.oneof({ weight: 2, arbitrary: fc.integer({ min: 0, max: 9 }) }, { weight: 1, arbitrary: odd }), {
        minLength: 8,
        maxLength: 8,
      }),
      /** How large what is added is, how many odd numbers there are. */
      scale: fc.constantFrom(1, 9, 9, 2 ** 15, 2 ** 31),
      oddities: fc.array(fc.tuple(fc.nat(3 * CHUNK), odd), { maxLength: 6 }),
      isFalling: fc.boolean(),
      session: fc.constantFrom(0, 1, 1, 2, 2),
      verifies: fc.boolean(),
      isTight: fc.boolean(),
    })
    .map(({ kind, n, seed, pick, starts, scale, oddities, isFalling, ...how }): Case => {
      const names = Object.entries({ ...kind.chains, ...kind.cells })
      const dtypes = Object.fromEntries(names.map(([name, of], at) => [name, of[(pick[at] ?? 0) % of.length] as DType]))
      let state = seed
      const next = (): number => {
        state = (Math.imul(state, 1103515245) + 12345) | 0
        return (state >>> 8) / 2 ** 24
      }
      const x = Int32Array.from({ length: n }, () => Math.floor((next() - 0.4) * scale))
      const y = Float64Array.from({ length: n }, (_, i) => Math.floor(next() * 40) / 4 + (isFalling ? (n - i) / 50 : i / 50))
      for (const [at, value] of oddities) if (at < n) y[at] = value
      return {
        ...how,
        kind,
        text: kind.text,
        n,
        dtypes,
        x,
        y,
        starts: Object.fromEntries(names.map(([name], at) => [name, [starts[2 * at] ?? 0, starts[2 * at + 1] ?? 0]])),
      }
    })

/** What is filled may be too small for it. */
const ROOM = 3

/** The arrays of a case as the loop begins with them. */
function arraysOf({
  kind,
  n,
  dtypes,
  starts,
  x,
  y,
  isTight,
}: Case): Record<string, { readonly dtype: DType; readonly values: readonly number[] }> {
  const [a, b] = [0, 1] as const
  const room = isTight && kind.cells?.N !== undefined ? Math.ceil(n / 5) : n + ROOM
  const made = Object.entries(dtypes).map(([name, dtype]) => {
    const start = starts[name] ?? [0, 0]
    const isCell = kind.cells?.[name] !== undefined
    return [
      name,
      { dtype, values: isCell ? [start[a], start[b]] : Array.from({ length: n + 1 }, (_, i) => (i % 2 === 0 ? start[a] : start[b])) },
    ] as const
  })
  return {
    x: { dtype: 'i32', values: [...x] },
    y: { dtype: 'f64', values: [...y] },
    z: { dtype: 'f64', values: new Array(room).fill(-1) },
    w: { dtype: 'i32', values: new Array(room).fill(-1) },
    ...Object.fromEntries(made),
  }
}

type NumberArray = Exclude<TypedArray, BigInt64Array>
const typed = (dtype: string, values: readonly number[]): NumberArray => {
  const array = new ARRAY_OF_DTYPE[dtype as DType](values.length) as NumberArray // none of these is of bigints
  array.set(values)
  return array
}

type Body = (key: readonly number[], env: Readonly<Record<string, unknown>>) => void
interface View {
  get(at: number): number
  set(at: number, value: number): void
}

/** As the plain program has it: arrays that fail where they end. */
function plainly(
  text: string,
  arrays: ReturnType<typeof arraysOf>,
  n: number,
): Readonly<Record<string, readonly number[]>> | { readonly failed: readonly number[] } {
  const data = Object.entries(arrays).map(([name, { dtype, values }]) => [name, typed(dtype, values)] as const)
  const views = data.map(([name, of]): [string, View] => {
    const check = (at: number): number => {
      if (!(at >= 0 && at < of.length && Number.isInteger(at))) throw new RangeError(name)
      return at
    }
    return [name, { get: (at) => of[check(at)] as number, set: (at, value) => void (of[check(at)] = value) }]
  })
  const body = bodyOf(text, n, Object.keys(arrays))
  for (let i = 0; i < n; i++) {
    try {
      body([i], Object.fromEntries(views))
    } catch (error) {
      if (error instanceof RangeError) return { failed: [i] }
      throw error
    }
  }
  return Object.fromEntries(data.map(([name, of]) => [name, [...of]]))
}

function bodyOf(text: string, n: number, names: readonly string[]): Body {
  return new Function(`return ([i], { ${names.join(', ')} }) => { ${text.replaceAll(/\bn\b/g, String(n))} }`)() as Body // of a key and views
}

function isFailed(outcome: ReturnType<typeof plainly>): outcome is { readonly failed: readonly number[] } {
  return 'failed' in outcome
}

function firstDifference(expected: readonly number[], found: ArrayLike<number | bigint>): string | undefined {
  const at = expected.findIndex((value, i) => !Object.is(value, found[i]))
  return at < 0 ? undefined : `${at}: ${expected[at]}, and not ${found[at]}`
}

test.each(Object.keys(FAMILIES))('scans %s have the bits of the plain loop', async (family) => {
  const seen = new Map<string, number>()
  await fc.assert(
    fc.asyncProperty(casesOf(FAMILIES[family] ?? []), async (one) => {
      const arrays = arraysOf(one)
      const expected = plainly(one.text, arrays, one.n)
      const session = sessions[one.session] as Session
      const env = Object.fromEntries(
        Object.entries(arrays).map(([name, { dtype, values }]) => [name, session.fromTypedArray(typed(dtype, values), [values.length])]),
      )
      const loop = session.loop(session.range(one.n), env, bodyOf(one.text, one.n, Object.keys(arrays)) as never)
      seen.set(loop.plan.schedule.kind, (seen.get(loop.plan.schedule.kind) ?? 0) + 1)
      if (isFailed(expected)) await expect(loop.run()).rejects.toMatchObject({ key: expected.failed })
      else {
        if (one.verifies) expect(await loop.verify()).toMatchObject({ identical: true })
        await loop.run()
        for (const [name, values] of Object.entries(expected))
          expect(firstDifference(values, (await env[name]?.toTypedArray()) ?? [])).toBe(undefined)
      }
      for (const array of Object.values(env)) await array.release()
    }),
    RUN,
  )
  if (RUN.numRuns >= 20 && family !== 'that look like others') expect((seen.get('scan') ?? 0) / RUN.numRuns).toBeGreaterThan(0.3)
})
