/**
 * What does a pass cost besides its iterations? Bodies of next to nothing over 64 x 64, cut into 16 x 16 blocks:
 *
 *     2d            a rotation: iteration (i, j) writes row i of one array and row j of another
 *     wavefront     iteration (i, j) reads what (i - 1, j) and (i, j - 1) wrote
 *     independent   256 runs of the whole space
 *
 *     2 workers, 1 worker   256 blocks; passes of one run, as `run({ passes })` has them
 *     serial                the same body in one block on the caller's thread: the iterations themselves
 *
 * A note says what is left of a pass, and of a block, without the time of `serial`.
 *
 *     npm run bench -- overhead --passes 200
 */
import type { LoopOptions } from '../src/core/loop/loopSpec.ts'
import type { PreparedLoop } from '../src/exec/loops/loopRun.ts'
import { type Pass, suite } from './harness.ts'
import { KernelBench } from './kernelLoops.ts'
import { median } from './statistics.ts'

const bench = suite('overhead', { passes: 200 })
const { passes } = bench.options
const SIDE = 64
const PER_AXIS = 16
const BLOCKS = PER_AXIS * PER_AXIS

type View = { get(...key: number[]): number; set(...keyAndValue: number[]): void }

interface Case {
  readonly name: string
  readonly arrays: Readonly<Record<string, readonly number[]>>
  readonly body: (...args: never[]) => unknown
  readonly over: readonly number[]
  readonly options: LoopOptions
}

const CASES: readonly Case[] = [
  {
    name: '2d',
    arrays: { W: [SIDE], H: [SIDE] },
    body: ([i, j]: number[], { W, H }: { W: View; H: View }) => {
      W.set(i as number, W.get(i as number) + 1)
      H.set(j as number, H.get(j as number) + 1)
    },
    over: [SIDE, SIDE],
    options: { order: 'any', partitions: PER_AXIS },
  },
  {
    name: 'wavefront',
    arrays: { d: [SIDE + 1, SIDE + 1] },
    body: ([i, j]: number[], { d }: { d: View }) => {
      d.set((i as number) + 1, (j as number) + 1, d.get(i as number, (j as number) + 1) + d.get((i as number) + 1, j as number))
    },
    over: [SIDE, SIDE],
    options: { partitions: PER_AXIS },
  },
  {
    name: 'independent',
    arrays: { a: [SIDE * SIDE] },
    body: ([i]: number[], { a }: { a: View }) => {
      a.set(i as number, i as number)
    },
    over: [SIDE * SIDE],
    options: { partitions: BLOCKS },
  },
]

const alone = new KernelBench(1)
const both = new KernelBench(2)
for (const one of CASES.filter(({ name }) => bench.wanted(name))) {
  const contenders = {
    '2 workers': passOf(prepared(both, one, one.options)),
    '1 worker': passOf(prepared(alone, one, one.options)),
    serial: passOf(prepared(alone, one, { ...one.options, partitions: 1 })),
  }
  const { milliseconds } = await bench.ask({ name: one.name, unit: 'pass', units: passes, peers: ['serial'], contenders })
  for (const name of ['2 workers', '1 worker'] as const) {
    const micros = (times: readonly number[] | undefined) => (median(times ?? []) * 1000) / passes
    const overhead = micros(milliseconds[name]) - micros(milliseconds.serial)
    console.log(`  ${name}: ${overhead.toFixed(1)} µs a pass besides its iterations, ${(overhead / BLOCKS).toFixed(2)} µs a block`)
  }
}
await alone.stop()
await both.stop()
bench.finish()

function prepared(bench: KernelBench, { arrays, over, body }: Case, options: LoopOptions): PreparedLoop {
  const storages = Object.fromEntries(Object.entries(arrays).map(([name, shape]) => [name, bench.dense('f64', shape, () => 0)]))
  return bench.prepare(over, storages, body, { options, worthThreadsMs: 0 })
}

/** All passes of a run. */
function passOf(loop: PreparedLoop): Pass {
  return async () => {
    const started = performance.now()
    for (let pass = 0; pass < passes; ) pass += (await loop.runPasses(pass, passes - pass)).passes.length
    return performance.now() - started
  }
}
