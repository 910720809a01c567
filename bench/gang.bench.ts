/**
 * What several processes of this machine take, against one with as many threads, and how soon a lost one is noticed:
 *
 *     factorization    a 2d schedule at rank 32, whose columns go from process to process
 *     rounds           data-parallel logistic regression, whose buffer is flushed sixteen times in a pass
 *     killed, frozen   a process of three is ended by SIGKILL, or stopped by SIGSTOP, after the third pass
 *
 * Each run is a program of its own (`gangPass.ts`) under `distarray run --processes`, in turn; their arrays must have the same bits. Printed are
 * medians over runs of the least that a pass took, from the third on. Needs `npm run build`.
 *
 *     npm run bench -- gang --samples 1000000 --passes 8 --rounds 3 --only rounds
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { GangFigures, GangPass } from './gangPass.ts'
import { save, suite } from './harness.ts'
import { median, table } from './statistics.ts'

const bench = suite('gang', { samples: 0, passes: 8, rounds: 3 })
const { passes, rounds } = bench.options
const samples = bench.options.samples || (bench.quick ? 200_000 : 1_000_000)
const PASS = fileURLToPath(new URL('gangPass.ts', import.meta.url))
const CLI = fileURLToPath(new URL('../dist/cli.js', import.meta.url))
/** Processes, and threads of each. */
const SHAPES = [
  [1, 1],
  [1, 2],
  [2, 1],
  [3, 1],
] as const

const results: Record<string, unknown> = {}
for (const program of ['factorization', 'rounds'] as const) {
  if (!bench.wanted(program)) continue
  const found = SHAPES.map(() => [] as GangFigures[])
  for (let round = 0; round < rounds; round++) {
    for (const [i, [processes, workers]] of SHAPES.entries()) found[i]?.push(run(processes, { program, samples, workers, passes }))
  }
  const digests = new Set(found.flat().map(({ digest }) => digest))
  if (digests.size !== 1) throw new Error(`${program}: results differ by the number of processes.`)
  const times = found.map((figures) => median(figures.map(({ milliseconds }) => Math.min(...milliseconds.slice(2)))))
  const peer = times[1] as number // one process with two threads
  const line = (i: number): string[] => {
    const [processes, workers] = SHAPES[i] as (typeof SHAPES)[number]
    return [`${processes} x ${workers}`, (times[i] as number).toFixed(1), ((times[i] as number) / peer).toFixed(2)]
  }
  console.log(`\n${table([`${program}, ${samples} samples`, 'ms a pass', 'by 1 x 2'], [...SHAPES.keys()].map(line))}`)
  for (const [i, figures] of found.entries()) if (i > 1) console.log(`${SHAPES[i]?.join(' x ')}: ${figures.at(-1)?.processes}`)
  results[program] = Object.fromEntries(SHAPES.map((shape, i) => [shape.join(' x '), times[i]]))
}
for (const program of ['killed', 'frozen'] as const) {
  if (!bench.wanted(program)) continue
  const found = Array.from({ length: rounds }, () => run(3, { program, samples, workers: 1, passes }))
  const of = (what: 'noticedMs' | 'againMs'): number => median(found.map((figures) => figures[what] ?? Number.NaN))
  console.log(`\n${program}: noticed after ${of('noticedMs').toFixed(0)} ms, the next pass done after ${of('againMs').toFixed(0)} ms`)
  results[program] = { noticedMs: of('noticedMs'), againMs: of('againMs') }
}
save('gang', results)

function run(processes: number, pass: Omit<GangPass, 'folder'>): GangFigures {
  const folder = mkdtempSync(join(tmpdir(), 'distarray-gang-'))
  try {
    const program = [process.execPath, '--import', 'tsx', PASS, JSON.stringify({ ...pass, folder } satisfies GangPass)]
    const command = processes === 1 ? program : [process.execPath, CLI, 'run', '--processes', String(processes), '--', ...program]
    const { stdout, stderr } = spawnSync(command[0] as string, command.slice(1), {
      encoding: 'utf8',
      timeout: 600_000,
      killSignal: 'SIGKILL',
    })
    const figures = stdout.split('\n').find((line) => line.startsWith('{'))
    if (figures === undefined) throw new Error(`${pass.program} on ${processes} processes said nothing: ${stderr}`)
    return JSON.parse(figures) as GangFigures
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
