/**
 * What does a pass cost besides its iterations? Bodies of next to nothing over 64 x 64, cut into 16 x 16 blocks:
 *
 *     2d            a rotation: iteration (i, j) writes row i of one array and row j of another
 *     wavefront     iteration (i, j) reads what (i - 1, j) and (i, j - 1) wrote
 *     independent   256 runs of the whole space
 *
 *     1 worker, 2 workers   microseconds of a pass, median
 *     serial                the same body in one block on the caller's thread: the iterations themselves
 *     overhead              pass - serial, for the pass and for a block
 *
 * Contestants take turns, a batch of passes each; medians of the batches are printed. Nothing is asserted.
 *
 *     npx tsx bench/overhead.bench.ts --rounds 15 --passes 200
 */
import { parseArgs } from 'node:util'
import type { PreparedLoop } from '../src/exec/loops/loopRun.ts'
import { KernelBench } from './kernelLoops.ts'
import { median, table } from './statistics.ts'

const text = { type: 'string' } as const
const { values } = parseArgs({ options: { rounds: text, passes: text } })
const rounds = Number(values.rounds ?? 15)
const passes = Number(values.passes ?? 200)
const SIDE = 64
const PER_AXIS = 16
const BLOCKS = PER_AXIS * PER_AXIS
const WARM_UP = 3

type View = { get(...key: number[]): number; set(...keyAndValue: number[]): void }

interface Case {
  readonly name: string
  readonly arrays: Readonly<Record<string, readonly number[]>>
  readonly body: (...args: never[]) => unknown
  readonly over: readonly number[]
  readonly options: Parameters<KernelBench['prepare']>[3]['options']
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
const rows: string[][] = []
for (const one of CASES) {
  const contestants = [
    prepared(alone, one, { ...one.options, partitions: 1 }),
    prepared(alone, one, one.options ?? {}),
    prepared(both, one, one.options ?? {}),
  ]
  const times = contestants.map((): number[] => [])
  for (let round = 0; round < rounds + WARM_UP; round++) {
    for (const [i, loop] of contestants.entries()) {
      const started = performance.now()
      for (let pass = 0; pass < passes; ) pass += (await loop.runPasses(pass, passes - pass)).passes.length
      const micros = ((performance.now() - started) * 1000) / passes
      if (round >= WARM_UP) times[i]?.push(micros)
    }
  }
  const [serial = Number.NaN, ...parallel] = times.map(median)
  for (const [i, micros] of parallel.entries()) {
    rows.push([
      `${one.name}, ${i === 0 ? '1 worker' : `${i + 1} workers`}`,
      micros.toFixed(1),
      serial.toFixed(1),
      (micros / serial).toFixed(1),
      (micros - serial).toFixed(1),
      ((micros - serial) / BLOCKS).toFixed(2),
    ])
  }
}
await alone.stop()
await both.stop()
console.log(`${BLOCKS} blocks, µs; Node ${process.version}`)
console.log(table(['', 'a pass', 'serial', 'ratio', 'overhead', 'of a block'], rows))

function prepared(bench: KernelBench, { arrays, over, body }: Case, options: NonNullable<Case['options']>): PreparedLoop {
  const storages = Object.fromEntries(Object.entries(arrays).map(([name, shape]) => [name, bench.dense('f64', shape, () => 0)]))
  return bench.prepare(over, storages, body, { options, worthThreadsMs: 0 })
}
