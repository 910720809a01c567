/**
 * Law 4 where the ends of inner loops, guards and clamps are captured numbers of any kind: NaN, infinite, beyond whole numbers, negative,
 * fractions. Loops of every schedule do what plain JavaScript does in their serial order, on 1, 2 and 3 workers: estimates cut
 * blocks, and a number that no estimate was made for must not cost an iteration.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Session } from '../src/index.ts'
import { shortPassesOnWorkers } from '../src/session/runtime.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('extremeBounds.prop.ts')

let sessions: readonly Session[]
beforeAll(async () => {
  sessions = await Promise.all([1, 2, 3].map((workers) => Session.start({ workers, progress: false, ...shortPassesOnWorkers })))
})
afterAll(async () => void (await Promise.all(sessions.map((session) => session.stop()))))

const EXTREMES = [NaN, Infinity, -Infinity, 1e308, -1e308, 2 ** 53, -(2 ** 53), 2 ** 31, -(2 ** 31), 1e15, 2 ** 32 + 1, Number.MIN_VALUE]
const bound = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...EXTREMES) },
  { weight: 2, arbitrary: fc.constantFrom(-0, 0, 0.5, -0.5, 2.5, 1e-9, 3.999999) },
  { weight: 1, arbitrary: fc.integer({ min: -3, max: 5 }) },
)

/** Inner loops over captured `p`, `q` and the first index; each adds to `s`, and ends by itself. */
const TURNS = [
  'for (let k = 0; k < p; k++) { s += k; if (k > 3) break }',
  'for (let k = 0; k <= p; k++) { s += k; if (k > 3) break }',
  'for (let k = 0; k < p; k += 3) { s += k * 0.5; if (k > 9) break }',
  'let c = 0; for (let k = p; k < 4; k++) { c = c + 1; s += c; if (c > 5) break }',
  'let c = 0; for (let k = p; k < q; k++) { c = c + 1; s += c; if (c > 5) break }',
  'let c = 0; for (let k = p; k > q; k--) { c = c + 1; s += c; if (c > 5) break }',
  'let c = 0; for (let k = p; k >= 0; k -= 2) { c = c + 1; s += c; if (c > 5) break }',
  'for (let k = 0; k < Math.min(p, 5); k++) s += k',
  'for (let k = Math.max(0, p); k < 4; k++) s += k',
  'for (let k = 0; k < Math.max(Math.min(p, 3), Math.min(q, 4)); k++) s += k + 1',
  'for (let k = 0; k < Math.min(4, Math.floor(p)); k++) s += k',
  'for (let k = 0; k < i * p; k++) { s += k; if (k > 3) break }',
  'for (let k = i; k < i + p; k++) { s += k; if (k > i + 3) break }',
  'for (let k = 0; k < p; k++) { for (let m = 0; m < q; m++) { s += m; if (m > 2) break }; if (k > 2) break }',
  'for (let k = 0; k < 0; k++) for (let m = 0; m < p; m++) { s += m; if (m > 2) break }',
  'for (let k = 0; k < p - q; k++) { s += k; if (k > 3) break }',
  'for (let k = 0; k < p / q; k++) { s += k; if (k > 3) break }',
  'let w0 = 0; while (w0 < p) { w0 = w0 + 1; s += w0; if (w0 > 4) break }',
  'for (let k = 0; k < p; k++) { s += v.get(k); if (k > 3) break }',
  'for (let k = 0; k < 5; k++) if (k < p) s += v.get(k)',
  'for (let k = 0; k < 5; k++) if (k !== p && k > q) s += v.get(k) * 0.5',
  'if (i < p) s += 1; else if (i >= q) s += 2',
  's += v.get(Math.max(0, Math.min(4, i + (p > q ? 1 : 2))))',
  's += p > i ? 1 : p === i ? 2 : 3',
] as const

/** Loops whose schedules differ: over what, in which order, and what is done with `s`. */
interface Form {
  readonly over: (n: number) => readonly number[]
  readonly order?: 'any'
  readonly uses: readonly ArrayName[]
  readonly text: string
}
type ArrayName = 'x' | 'y' | 'v' | 'w' | 'u' | 'idx'

const square = (n: number): readonly number[] => [n, n]
const FORMS: Readonly<Record<string, Form>> = {
  independent: { over: (n) => [n], uses: ['v', 'w'], text: 'w.set(i, v.get(i) + s)' },
  'along an axis': { over: square, uses: ['x', 'y', 'v'], text: 'y.set(i, j, (j > 0 ? y.get(i, j - 1) : 0) * 0.5 + x.get(i, j) + s)' },
  wavefront: {
    over: (n) => [n - 1, n - 1],
    uses: ['y', 'v'],
    text: 'y.set(i + 1, j + 1, y.get(i, j + 1) * 0.5 + y.get(i + 1, j) * 0.25 + s)',
  },
  skewed: {
    over: (n) => [n - 2, n - 2],
    uses: ['y', 'v'],
    text: 'y.set(i + 1, j + 1, 0.3 * y.get(i, j) + 0.3 * y.get(i, j + 1) + 0.3 * y.get(i, j + 2) + s)',
  },
  'in steps': {
    over: (n) => [n - 1, n],
    uses: ['y', 'v'],
    text: 'let b = s; for (let e = 0; e < 3; e++) b += y.get(i, (j * (e + 2)) % y.shape[1]) * 0.1; y.set(i + 1, j, b)',
  },
  'rows and columns': {
    over: square,
    order: 'any',
    uses: ['u', 'w', 'x', 'v'],
    text: 'u.set(i, u.get(i) * 0.5 + x.get(i, j) + s); w.set(j, w.get(j) * 0.5 + 1)',
  },
  scattered: { over: (n) => [n], uses: ['v', 'w', 'idx'], text: 'w.set(idx.get(i), v.get(i) + s)' },
  components: {
    over: (n) => [n],
    uses: ['v', 'w', 'idx'],
    text: 'w.set(idx.get(i) % 5, w.get(idx.get(i) % 5) * 0.5 + v.get(i) + s)',
  },
  'a graph': { over: (n) => [n], uses: ['v', 'w', 'idx'], text: 'w.set(i, w.get(idx.get(i)) * 0.5 + v.get(i) + s)' },
  'a graph in colors': {
    over: (n) => [n],
    order: 'any',
    uses: ['v', 'w', 'idx'],
    text: 'w.set(i, w.get(idx.get(i)) * 0.5 + v.get(i) + s)',
  },
  'in parts': {
    over: (n) => [n],
    uses: ['u', 'v', 'w'],
    text: 'u.set(i, (i > 0 ? u.get(i - 1) : 0) + 1); w.set(i, Math.sqrt(u.get(i)) + s)',
  },
  serial: { over: (n) => [n], uses: ['v', 'w'], text: 'w.set(0, w.get(0) * 0.5 + s + i)' },
}

const WRITTEN: Readonly<Partial<Record<ArrayName, 1 | 2>>> = { y: 2, w: 1, u: 1 }

/** Arrays that no loop writes, made once for each session and size, with their contents. */
interface ReadOnly {
  readonly arrays: Readonly<Record<string, never>>
  readonly contents: Readonly<Record<string, ArrayLike<number>>>
}
const made = new Map<string, Promise<ReadOnly>>()

async function readOnly(session: Session, n: number): Promise<ReadOnly> {
  const idx = Int32Array.from({ length: n }, (_, at) => (at * 7 + 3) % n)
  const x = session.random([n, n], { seed: 1 })
  const v = session.random([n], { seed: 2 })
  return {
    arrays: { x: x as never, v: v as never, idx: session.fromColumns({ idx }).map((row) => row.idx) as never },
    contents: { x: await x.toTypedArray(), v: await v.toTypedArray(), idx } as Record<string, ArrayLike<number>>, // f64 and i32
  }
}

function readOnlyOf(at: number, n: number): Promise<ReadOnly> {
  const id = `${at} ${n}`
  const known = made.get(id) ?? readOnly(sessions[at] as Session, n)
  made.set(id, known)
  return known
}

type Body = (...args: never[]) => unknown

/** What the loop leaves in the arrays that it writes as plain JavaScript, iterations in the order that it reports. */
function plainly(body: Body, n: number, form: Form, contents: ReadOnly['contents'], order: Int32Array): Record<string, number[]> {
  const rank = form.over(n).length
  const written: Record<string, number[]> = {}
  const views: Record<string, unknown> = {}
  for (const name of form.uses) {
    const axes = WRITTEN[name] ?? (name === 'x' ? 2 : 1)
    const data = (contents[name] ?? new Array<number>(n ** axes).fill(0)) as number[]
    if (name in WRITTEN) written[name] = data
    const at = (key: readonly number[]): number => {
      const place = axes === 1 ? key[0] : (key[0] as number) * n + (key[1] as number)
      if (data[place as number] === undefined) throw new Error(`There is no ${name}[${key.slice(0, axes).join()}].`)
      return place as number
    }
    views[name] = {
      shape: new Array<number>(axes).fill(n),
      get: (...key: number[]) => data[at(key)],
      set: (...args: number[]) => void (data[at(args)] = args[axes] as number),
    }
  }
  const call = body as unknown as (key: readonly number[], env: unknown) => void
  for (let place = 0; place < order.length; place += rank) call([...order.subarray(place, place + rank)], views)
  return written
}

test('loops of every schedule do what plain JavaScript does, whatever numbers their inner loops end at', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...Object.keys(FORMS)),
      fc.constantFrom(...TURNS),
      bound,
      bound,
      fc.constantFrom(6, 9, 24, 24, 40),
      fc.option(fc.constantFrom(1, 3), { nil: undefined, freq: 2 }),
      fc.nat(2),
      async (name, turns, p, q, n, partitions, at) => {
        const session = sessions[at] as Session
        const form = FORMS[name] as Form
        const extents = form.over(n)
        const source = `([${['i', 'j'].slice(0, extents.length).join(', ')}], { ${form.uses.join(', ')} }) => { let s = 1; ${turns}; ${form.text} }`
        const body = new Function('p', 'q', `return ${source}`)(p, q) as Body // the source is a function
        const { arrays, contents } = await readOnlyOf(at, n)
        const env: Record<string, never> = {}
        for (const used of form.uses) env[used] = arrays[used] ?? (session.zeros(new Array(WRITTEN[used]).fill(n)) as never)
        const options = { ...(form.order === undefined ? {} : { order: form.order }), ...(partitions === undefined ? {} : { partitions }) }
        const loop = session.loop(session.range(...extents), env, body as never, { ...options, checkRaces: false })
        const report = await loop.run()
        expect(loop.plan.kernel.target).not.toBe('as-is')
        const expected = plainly(body, n, form, contents, await loop.serialOrder())
        for (const [array, values] of Object.entries(expected)) {
          const got = await (env[array] as unknown as { toTypedArray(): Promise<Float64Array> }).toTypedArray()
          expect([...got], `${array}, ${loop.plan.schedule.kind}`).toEqual(values)
        }
        expect(report.passes[0]?.iterations).toBe(extents.reduce((size, extent) => size * extent, 1))
        const { predictedMilliseconds = 0 } = loop.plan.cost ?? {}
        expect(Number.isFinite(predictedMilliseconds)).toBe(true)
      },
    ),
    RUN,
  )
})
