/** Random programs of loops, reads and writes, and what they see on their way; killed at any moment, and started again. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import type { DistArray, Loop, PassReport } from '../src/index.ts'
import { Session, TaskError } from '../src/index.ts'
import { checkpointInSmallSteps } from '../src/session/checkpoint.ts'

export type ArrayName = 'w' | 'b' | 'c' | 'flags'
export type LoopName =
  | 'grow'
  | 'mix'
  | 'draw'
  | 'score'
  | 'plain'
  | 'fromLazy'
  | 'buffered'
  | 'elements'
  | 'sums'
  | 'lazily'
  | 'failing'
  | 'chance'
  | 'rows'
  | 'sparse'
  | 'front'
  | 'pour'
export type Between = { readonly kind: 'read' | 'set'; readonly array: ArrayName } | { readonly kind: 'rate' | 'nothing' }
export type Step =
  | { readonly kind: 'run'; readonly loop: LoopName; readonly passes: number }
  | {
      readonly kind: 'passes'
      readonly loop: LoopName
      readonly passes: number
      readonly stopAt: number
      readonly between: readonly Between[]
    }
  | { readonly kind: 'both'; readonly loops: readonly [LoopName, LoopName]; readonly passes: number }
  | { readonly kind: 'between'; readonly what: Between }

const arrayNames = fc.constantFrom<ArrayName[]>('w', 'b', 'c', 'flags')
const keptNames: readonly LoopName[] = [
  'grow',
  'grow',
  'mix',
  'mix',
  'draw',
  'score',
  'plain',
  'fromLazy',
  'buffered',
  'elements',
  'sums',
  'lazily',
  'failing',
  'chance',
  'chance',
]
const between: fc.Arbitrary<Between> = fc.oneof(
  fc.record({ kind: fc.constantFrom('read' as const, 'set' as const), array: arrayNames }),
  fc.record({ kind: fc.constantFrom('rate' as const, 'nothing' as const) }),
)
function coursesOf(names: readonly LoopName[]): fc.Arbitrary<readonly Step[]> {
  const loopNames = fc.constantFrom(...names)
  return fc.array(
    fc.oneof(
      fc.record({ kind: fc.constant('run' as const), loop: loopNames, passes: fc.integer({ min: 1, max: 3 }) }),
      fc.record({
        kind: fc.constant('passes' as const),
        loop: loopNames,
        passes: fc.integer({ min: 1, max: 4 }),
        stopAt: fc.integer({ min: 1, max: 6 }),
        between: fc.array(between, { minLength: 4, maxLength: 4 }),
      }),
      fc.record({ kind: fc.constant('both' as const), loops: fc.tuple(loopNames, loopNames), passes: fc.integer({ min: 1, max: 3 }) }),
      fc.record({ kind: fc.constant('between' as const), what: between }),
    ),
    { minLength: 1, maxLength: 6 },
  )
}

/** Programs whose loops a checkpoint may keep or not. */
export const steps: fc.Arbitrary<readonly Step[]> = coursesOf(keptNames)
/** With more that processes share. */
export const sharedSteps: fc.Arbitrary<readonly Step[]> = coursesOf([
  ...keptNames,
  'rows',
  'rows',
  'sparse',
  'sparse',
  'front',
  'front',
  'pour',
  'pour',
])

/** After how many steps of writing each start is killed; the last goes on to the end. */
export const kills: fc.Arbitrary<readonly number[]> = fc.array(fc.integer({ min: 0, max: 60 }), { minLength: 1, maxLength: 3 })

/** What a program sees on its way and has in the end; the times of its passes tell which were not run again. */
export interface Course {
  readonly seen: readonly unknown[]
  readonly times: readonly number[]
}

/** What a program is written with: another one has other data, or another closure. */
export interface Variant {
  readonly seed: number
  readonly rate: number
  readonly assigned: number
}
export const USUAL: Variant = { seed: 3, rate: 0.5, assigned: 0.25 }

export async function course(list: readonly Step[], options: object, { seed, rate: first, assigned }: Variant = USUAL): Promise<Course> {
  await using session = await Session.start({ workers: 1, memory: '64MB', progress: false, checkRaces: false, ...options })
  const [n, m] = [7, 5]
  const w = session.random([n, 3], { seed })
  const b = session.fill([m], 1, { dtype: 'f32' })
  const c = session.zeros([n], { dtype: 'i64' })
  const flags = session.zeros([m], { dtype: 'bool' })
  const arrays: Readonly<Record<ArrayName, DistArray<number | bigint, readonly number[]>>> = { w, b, c, flags } as never // of numbers and bigints
  const lazy = w.map((x) => x * 2).materialize()
  const derived = b.map((x) => x + 1)
  const table = session.fromColumns({ x: Float64Array.of(seed, 2, 3), s: ['a', 'b', 'c'] })
  const total = session.accumulator('sum')
  const least = session.accumulator('min')
  const score = session.accumulator('sum') // of two loops at once the last one's value would be anybody's guess
  const luck = session.accumulator('sum')
  const rng = session.rng(9)
  let rate = first
  let plainRuns = 0
  const made = new Map<LoopName, Loop>()
  const makers: Readonly<Record<LoopName, () => Loop>> = {
    grow: () =>
      session.loop(session.range(n), { w, c, total }, ([i], { w, c, total }) => {
        for (let k = 0; k < 3; k++) w.set(i, k, w.get(i, k) * 0.75 + rate)
        c.set(i, c.get(i) + 3n)
        total.add(w.get(i, 0))
      }),
    mix: () =>
      session.loop(
        session.range(n, m),
        { w, b },
        ([i, j], { w, b }) => {
          b.set(j, b.get(j) * 0.5 + w.get(i, 1) * rate)
          w.set(i, 2, w.get(i, 2) + b.get(j) * 0.125)
        },
        { order: 'any' },
      ),
    draw: () =>
      session.loop(session.range(m), { flags, b, rng }, ([j], { flags, b, rng }) => {
        flags.set(j, rng.uniform() < 0.5 ? 1 : 0)
        b.set(j, b.get(j) + rng.uniform())
      }),
    score: () =>
      session.loop(session.range(m), { b, score, least }, ([j], { b, score, least }) => {
        score.add(b.get(j) * rate)
        least.add(b.get(j))
      }),
    // assigns what it captures: as it stands, on every start
    plain: () =>
      session.loop(session.range(m), { b }, ([j], { b }) => {
        plainRuns++
        b.set(j, b.get(j) + plainRuns)
      }),
    fromLazy: () =>
      session.loop(session.range(n), { lazy, w }, ([i], { lazy, w }) => {
        w.set(i, 0, lazy.get(i, 0) + w.get(i, 0) * 0.25)
      }),
    buffered: () =>
      session.loop(session.range(n), { w, late: b.buffer({ combine: 'sum' }) }, ([i], { w, late }) => {
        late.add(i % 5, w.get(i, 0) * rate)
      }),
    elements: () =>
      session.loop(w, { total }, (x, [i], { total }) => {
        total.add(x)
        return x * 0.5 + i * rate
      }),
    sums: () =>
      session.loop(session.range(n, m), { w, b }, ([i, j], { w, b }) => {
        b.add(j, w.get(i, 0) * 0.01)
      }),
    // what it has written is undone, and nothing is kept from then on
    failing: () =>
      session.loop(
        session.range(m),
        { b },
        ([j], { b }) => {
          b.set(j, b.get(j) + rate)
          if (j === 3) throw new RangeError('It fails.')
        },
        { atomic: true },
      ),
    // writes no array: only its own passes tell what it draws
    chance: () =>
      session.loop(session.range(m), { luck, rng }, (_, { luck, rng }) => {
        luck.add(rng.uniform())
      }),
    rows: () =>
      session.loop(session.range(n), { w, total, rng }, ([i], { w, total, rng }) => {
        const row = w.row(i)
        let sum = rng.uniform()
        for (let k = 0; k < 3; k++) sum += row.get(k) * rate
        row.set(1, sum * 0.25)
        total.add(sum)
      }),
    sparse: () => {
      const stars = session
        .fromColumns({
          user: Int32Array.from({ length: 18 }, (_, i) => (i * 5) % n),
          movie: Int32Array.from({ length: 18 }, (_, i) => (i * 3) % m),
          stars: Float64Array.from({ length: 18 }, (_, i) => i / 7 + seed),
        })
        .index((r) => [r.user, r.movie])
        .map((r) => r.stars)
      return session.loop(
        stars,
        { w, b, total },
        (x, [u, v], { w, b, total }) => {
          w.set(u, 0, w.get(u, 0) * 0.5 + x * 0.0625)
          b.set(v, b.get(v) * 0.5 + w.get(u, 1))
          total.add(x)
        },
        { order: 'any' },
      )
    },
    front: () =>
      session.loop(session.range(n - 1, 2), { w }, ([i, k], { w }) => {
        w.set(i + 1, k + 1, w.get(i, k + 1) * 0.5 + w.get(i + 1, k) * rate)
      }),
    // reads an array that others write
    pour: () =>
      session.loop(session.range(n), { w, b }, ([i], { w, b }) => {
        w.set(i, 0, w.get(i, 0) * 0.5 + b.get(i % 5) * rate)
      }),
    // its own storage begins with what was computed
    lazily: () =>
      session.loop(table, { derived }, (row, [i], { derived }) => {
        derived.set(i, derived.get(i) + row.x)
      }),
  }
  const loopOf = (name: LoopName): Loop => {
    const known = made.get(name) ?? makers[name]()
    made.set(name, known)
    return known
  }
  const runOf = async (name: LoopName, passes: number): Promise<readonly PassReport[]> => {
    try {
      return (await loopOf(name).run({ passes })).passes
    } catch (error) {
      if (name !== 'failing' || !(error instanceof TaskError)) throw error
      seen.push(error.key)
      return []
    }
  }
  const seen: unknown[] = []
  const times: number[] = []
  const report = ({ accumulators, iterations, number, milliseconds }: PassReport): void => {
    seen.push(number, iterations, { ...accumulators })
    times.push(milliseconds)
  }
  const act = async (what: Between): Promise<void> => {
    if (what.kind === 'rate') rate = rate * 0.5 + 0.125
    if (what.kind === 'read') seen.push(await arrays[what.array].toTypedArray())
    if (what.kind !== 'set') return
    const shape = what.array === 'w' ? [1, 1] : [1]
    const value = what.array === 'c' ? 5n : what.array === 'flags' ? 1 : assigned
    await arrays[what.array].set(shape, value)
  }
  for (const step of list) {
    if (step.kind === 'between') await act(step.what)
    else if (step.kind === 'run') for (const pass of await runOf(step.loop, step.passes)) report(pass)
    else if (step.kind === 'both') {
      const [one, other] = step.loops
      const runs = [runOf(one, step.passes), runOf(other, 1), w.toTypedArray()] as const
      const [first, second, read] = await Promise.all(runs)
      for (const pass of [...first, ...second]) report(pass)
      seen.push(read)
    } else if (step.loop === 'failing') await runOf(step.loop, 1)
    else {
      for await (const pass of loopOf(step.loop).passes(step.passes)) {
        report(pass)
        await act(step.between[pass.number - 1] as Between) // four for four passes
        if (pass.number === step.stopAt) break
      }
    }
    seen.push(total.value, score.value, least.value, luck.value, plainRuns)
  }
  for (const array of Object.values(arrays)) seen.push(await array.toTypedArray())
  if (made.has('lazily')) seen.push(await derived.toTypedArray())
  return { seen, times }
}

/** Starts whose writing ends after so many steps. */
export function killedAfter(steps: number): object {
  let left = steps
  return checkpointInSmallSteps({
    fileBytes: 40,
    before: () => {
      if (left-- <= 0) throw new Error('It was killed.')
    },
  })
}

/** Undefined where it was killed before it had the folder. */
export async function started(list: readonly Step[], options: object, variant?: Variant): Promise<Course | undefined> {
  return await course(list, options, variant).catch((error: unknown) => {
    if (error instanceof Error && error.message === 'It was killed.') return undefined
    throw error
  })
}

/** Each of many small files waits for the disk, unless it is memory. */
const MEMORY = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

export async function withFolder(run: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(MEMORY, 'distarray-checkpoint-'))
  try {
    await run(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
