/**
 * The law of served arrays: loops that read arrays at subscripts that the data decides on have the bits of one process, on any number
 * of them, whoever is lost and whatever is written in between; and nobody is sent an element twice for one version that its blocks read.
 */
import fc from 'fast-check'
import { afterAll, expect, test, vi } from 'vitest'
import { Session } from '../src/index.ts'
import { runningWith, shortPassesOnWorkers } from '../src/session/runtime.ts'
import { announcedRun } from './lawRuns.ts'
import { type Mishap, memoryGang, mishaps, stopPlaces } from './memoryGang.ts'

const ANNOUNCED = announcedRun('served.prop.ts', 600)
/** Two sessions a case are dear. */
const RUN = { ...ANNOUNCED, numRuns: Math.ceil(ANNOUNCED.numRuns / 2) }
vi.setConfig({ testTimeout: 1_000 * RUN.numRuns + 60_000 })

let [messages, bytes, elements, cases, later] = [0, 0, 0, 0, 0]
afterAll(async () => {
  await stopPlaces()
  expect(messages, `messages in ${cases} cases`).toBeGreaterThan(cases / 2)
  expect(later, 'messages while blocks run').toBeGreaterThan(cases / 4)
  expect(bytes / 8, `of ${elements} elements`).toBeLessThan(elements)
})

const FEATURES = 96

/** A case takes a second at most: after this time it stands still, and says where. */
const STILL_MS = 25_000
/** The step that a case is at. */
let at = ''

interface Case {
  readonly rows: number
  readonly f: readonly number[]
  readonly h: readonly number[]
  readonly body: 'plain' | 'chain' | 'guarded' | 'shifted' | 'matrix' | 'elements' | 'inner' | 'own' | 'rounds' | 'tested' | 'sought'
  readonly steps: readonly ('score' | 'grow' | 'set' | 'map' | 'shift' | 'read' | 'abort')[]
  readonly world: number
  readonly workers: number
  /** Turns of the event loop until a pass is aborted. */
  readonly moment: number
  readonly list: readonly Mishap[]
  readonly seed: number
}
const cases_: fc.Arbitrary<Case> = fc
  .record({
    rows: fc.integer({ min: 4, max: 40 }),
    f: fc.array(fc.nat(FEATURES - 8), { minLength: 40, maxLength: 40 }),
    h: fc.array(fc.nat(39), { minLength: 40, maxLength: 40 }),
    body: fc.constantFrom<Case['body'][]>(
      'plain',
      'chain',
      'guarded',
      'shifted',
      'shifted',
      'matrix',
      'elements',
      'inner',
      'own',
      'rounds',
      'tested',
      'sought',
    ),
    steps: fc.array(fc.constantFrom<Case['steps'][number][]>('score', 'score', 'grow', 'set', 'map', 'shift', 'shift', 'read', 'abort'), {
      minLength: 2,
      maxLength: 8,
    }),
    world: fc.constantFrom(2, 3, 3, 5),
    workers: fc.constantFrom(1, 1, 2),
    moment: fc.integer({ min: 1, max: 8 }),
    seed: fc.nat(),
  })
  .chain((one) => fc.oneof(fc.constant([]), mishaps(one.world)).map((list) => ({ ...one, list })))

async function course({ rows, f: places, h: order, body, steps, workers, moment }: Case, options: object): Promise<readonly unknown[]> {
  await using session = await Session.start({ workers, memory: '64MB', progress: false, checkRaces: false, ...options })
  const f = session.fromTypedArray(Int32Array.from(places.slice(0, rows)), [rows])
  const h = session.fromTypedArray(
    Int32Array.from(order.slice(0, rows), (at) => at % rows),
    [rows],
  )
  const w = session.random([FEATURES], { seed: 1 })
  const m = session.random([FEATURES, 3], { seed: 2 })
  const y = session.zeros([rows])
  const total = session.accumulator('sum')
  let [shift, sets] = [1, 0]
  const env = { f, h, w, m, y, total }
  const range = session.range(rows)
  // what a pass has read is in its total: to look at y would bring arrays home
  const makers = {
    plain: () =>
      session.loop(range, env, ([s], { f, w, y, total }) => {
        y.set(s, w.get(f.get(s)))
        total.add(w.get(f.get(s)) * 0.1)
      }),
    chain: () => session.loop(range, env, ([s], { f, h, w, y }) => y.set(s, y.get(s) * 0.5 + w.get(f.get(h.get(s))))),
    guarded: () =>
      session.loop(range, env, ([s], { f, w, y }) => {
        if (f.get(s) % 2 === 0) y.set(s, w.get(f.get(s)))
        else if (y.get(s) < 1) y.set(s, y.get(s) + w.get(f.get(s) + 1))
      }),
    shifted: () =>
      session.loop(range, env, ([s], { f, w, y, total }) => {
        y.set(s, w.get(f.get(s) + shift))
        total.add(w.get(f.get(s) + shift))
      }),
    matrix: () =>
      session.loop(range, env, ([s], { f, m, y, total }) => {
        let sum = 0
        for (let k = 0; k < 3; k++) sum += m.get(f.get(s), k)
        y.set(s, sum)
        total.add(sum)
      }),
    elements: () =>
      session.loop(f, { w, total }, (x, _, { w, total }) => {
        total.add(w.get(x))
      }),
    own: () =>
      session.loop(w, { f, w, total }, (x, [s], { f, w, total }) => {
        total.add(x + w.get(f.get(s % rows)))
      }),
    rounds: () =>
      session.loop(
        session.range(24 * rows),
        { f, w, b: y.buffer({ flushes: 3 }), total },
        ([s], { f, w, b, total }) => {
          let x = 1
          for (let k = 0; k < 99; k++) x = x * 0.5 + 1
          b.add((s * 7) % rows, w.get(f.get(s % rows)) + b.get(s % rows) * 0.5 + 0 * x)
          total.add(w.get(f.get(s % rows)))
        },
        { partitions: 8 },
      ),
    // elements that only tests read
    tested: () =>
      session.loop(range, env, ([s], { f, w, y, total }) => {
        y.set(s, w.get(f.get(s)))
        if (w.get(f.get(s) + 1) > 3 * s) total.add(s)
        else if (w.get(f.get(s) + 2) > 2 * s) total.add(1)
      }),
    sought: () =>
      session.loop(range, env, ([s], { f, w, y, total }) => {
        let k = 1
        while (k < 6 && w.get(f.get(s) + k) < 4 * s) k++
        y.set(s, w.get(f.get(s)))
        total.add(k)
      }),
    inner: () =>
      session.loop(range, env, ([s], { f, w, y, total }) => {
        let sum = 0
        for (let k = f.get(s); k < f.get(s) + 4; k++) sum += w.get(k)
        y.set(s, sum)
        total.add(sum)
      }),
  }
  const score = makers[body]()
  const grow = session.loop(session.range(FEATURES), { w, m }, ([j], { w, m }) => {
    w.set(j, w.get(j) * 0.75 + j)
    m.set(j, 1, w.get(j))
  })
  const seen: unknown[] = []
  const run = async (): Promise<void> => {
    const { passes } = await score.run()
    expect(JSON.stringify(score.plan.execution)).not.toContain('undefined') // what is said of it is known
    seen.push(passes[0]?.accumulators.total)
  }
  for (const step of [...steps, 'score', 'grow', 'score', 'shift', 'set', 'score', 'map', 'grow', 'score', 'abort'] as const) {
    at = step
    if (step === 'score') await run()
    else if (step === 'grow') await grow.run()
    else if (step === 'set')
      await w.assign(
        [null],
        Float64Array.from({ length: FEATURES }, (_, at) => at / 7 + ++sets),
      )
    else if (step === 'abort') {
      await grow.run()
      const abort = new AbortController()
      const running = score.run({ signal: abort.signal }).catch(() => undefined) // or it is over before
      for (let turn = 0; turn < moment; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
      abort.abort()
      at = 'abort: the aborted pass'
      await running
      at = 'abort: the pass after it'
      await y.assign([null], new Float64Array(rows))
      await run()
    } else if (step === 'map') await f.set([rows - 1], (await f.at(rows - 1)) === 3 ? 50 : 3)
    else if (step === 'shift') shift = (shift + 1) % 4
    else seen.push(await y.toTypedArray())
  }
  seen.push(await y.toTypedArray(), await w.toTypedArray())
  return seen
}

/** A process comes while elements of an array that it is to have lie elsewhere. */
const COMES_MEANWHILE: Case = {
  rows: 14,
  f: [22, 2, 9, 5, 9, 75, 88, 65, 45, 6, 45, 55, 4, 27],
  h: [37, 0, 3, 9, 5, 14, 2, 31, 39, 1, 22, 38, 0, 2],
  body: 'matrix',
  steps: ['shift', 'score'],
  world: 3,
  workers: 1,
  moment: 2,
  seed: 13,
  list: [
    { at: 0, rank: 1, how: 'killed', lasts: 0, back: 0 },
    { at: 12, rank: 1, how: 'killed', lasts: 0, back: 6 },
  ],
}

test('loops over served arrays have the bits of one process, on any number of them', async () => {
  await fc.assert(
    fc.asyncProperty(cases_, async (one) => {
      const expected = await course(one, {})
      const { gang, served, state, stop } = memoryGang(one.world, one.list, one.seed)
      const watch = setTimeout(() => console.error(`STANDS STILL at ${at}: ${state()}\n${JSON.stringify(one)}`), STILL_MS)
      try {
        const found = await course(one, { ...runningWith(gang), ...shortPassesOnWorkers })
        expect(found).toEqual(expected)
      } finally {
        const now = served()
        cases++
        messages += now.messages
        bytes += now.bytes
        later += now.later
        elements += now.messages * FEATURES
        at = 'the gang stops'
        await stop()
        clearTimeout(watch)
      }
    }),
    { ...RUN, examples: [[COMES_MEANWHILE]] },
  )
})
