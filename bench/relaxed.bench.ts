/**
 * What does relaxed SIMD gain? The same loops with `precision: 'fast'` and `'relaxed'`, on one worker; of the questions of
 * kernels.bench.ts those that have a product to contract, and loops that do little else.
 *
 * An engine without relaxed SIMD has nothing to compare (Node 22 and newer have it). Both must end with nearly the same sums.
 *
 *     npm run bench -- relaxed --only dot
 */
import { type DistArray, type LoopOptions, Session } from 'distarray'
import { suite, timed } from './harness.ts'
import { QUESTIONS } from './questions/all.ts'
import type { Numbers, Program } from './questions/question.ts'

type Make = (session: Session, precision: NonNullable<LoopOptions['precision']>) => Promise<Program>

/** Rows that stay in the cache. */
const [ROWS, WIDTH] = [200, 2000]
/** How far sums may be apart, as a part of them. */
const NEARLY = 1e-3

const bench = suite('relaxed')
const session = await Session.start({ workers: 1, progress: false })
const simple: readonly (readonly [string, Make])[] = (['f32', 'f64'] as const).flatMap((dtype) => [
  [
    `dot products ${dtype}`,
    rows(dtype, ([i], { x, y, z }) => {
      let sum = 0
      for (let k = 0; k < WIDTH; k++) sum += x.get(i, k) * y.get(i, k)
      z.set(i, 0, sum)
    }),
  ],
  [
    `multiple of a row added ${dtype}`,
    rows(dtype, ([i], { x, y, z }) => {
      for (let k = 0; k < WIDTH; k++) z.set(i, k, z.get(i, k) + 1e-6 * x.get(i, k) - y.get(i, k) * 1e-6)
    }),
  ],
  [
    `polynomial of degree 8 ${dtype}`,
    rows(dtype, ([i], { x, z }) => {
      for (let k = 0; k < WIDTH; k++) {
        const a = x.get(i, k)
        z.set(i, k, (((((((0.1 * a + 0.2) * a + 0.3) * a + 0.4) * a + 0.5) * a + 0.6) * a + 0.7) * a + 0.8) * a + 0.9)
      }
    }),
  ],
])
const functions: readonly (readonly [string, Make])[] = [
  [
    'exp f32',
    rows('f32', ([i], { x, z }) => {
      for (let k = 0; k < WIDTH; k++) z.set(i, k, Math.exp(x.get(i, k)))
    }),
  ],
  [
    'sin f32',
    rows('f32', ([i], { x, z }) => {
      for (let k = 0; k < WIDTH; k++) z.set(i, k, Math.sin(x.get(i, k)))
    }),
  ],
]

for (const [name, make] of [...simple, ...functions]) if (bench.wanted(name)) await ask(name, 'element', ROWS * WIDTH, make)
for (const question of QUESTIONS.map((make) => make())) {
  const { name, unit, units, program } = question
  if (bench.wanted(name)) await ask(name, unit, units, program)
}
await session.stop()
bench.finish()

type View = { get(...key: number[]): number; set(...keyAndValue: number[]): void }

function rows(dtype: 'f32' | 'f64', body: (key: readonly [number], env: Record<'x' | 'y' | 'z', View>) => void): Make {
  return async (session, precision) => {
    const [x, y] = [1, 2].map((seed) => session.random([ROWS, WIDTH], { dtype, seed })) as [Rows, Rows]
    const z: Rows = session.zeros([ROWS, WIDTH], { dtype })
    return { loops: [session.loop(session.range(ROWS), { x, y, z }, body as never, { precision })], results: [z], arrays: [x, y, z] }
  }
}

async function ask(name: string, unit: string, units: number, make: Make): Promise<void> {
  const [fast, relaxed] = [await make(session, 'fast'), await make(session, 'relaxed')]
  const lines = relaxed.loops.map((loop) => loop.explain({ kernel: true }))
  const notes = lines.flatMap((text) => text.match(/^.*(?:contracted|Relaxed SIMD is absent).*$/gm)?.map((line) => line.trim()) ?? [])
  if (notes.length > 0) {
    const contenders = { fast: passOf(fast), relaxed: passOf(relaxed) }
    for (const pass of Object.values(contenders)) await pass()
    const [a, b] = [await sumOf(fast), await sumOf(relaxed)]
    if (!(Math.abs(a - b) <= NEARLY * Math.abs(a))) throw new Error(`${name}: its sum is ${b} in relaxed precision, ${a} in fast.`)
    await bench.ask({ name, unit, units, contenders, peers: ['fast'], notes })
  }
  for (const { arrays } of [fast, relaxed]) for (const array of arrays) await array.release()
}

function passOf({ loops }: Program) {
  return timed(async () => {
    for (const loop of loops) await loop.run()
  })
}

async function sumOf({ results }: Program): Promise<number> {
  let sum = 0
  for (const array of results) for (const value of (await array.toTypedArray()) as Numbers) sum += value
  return sum
}
type Rows = DistArray<number, readonly [number, number]>
