/**
 * What several processes of this machine take, against one with as many threads, and how soon a lost one is noticed:
 *
 *     factorization    a 2d schedule at rank 32, whose columns go from process to process
 *     wavefront        a recurrence over a grid, whose processes wait for each other's rows
 *     stencil          a relaxation of a grid by colours, whose processes exchange the rows at their borders
 *     rounds           data-parallel logistic regression, whose buffer is flushed sixteen times in a pass
 *     killed, frozen   a process of three is ended by SIGKILL, or stopped by SIGSTOP, after the third pass
 *     kills            processes are ended by SIGKILL at random moments that follow from `--seed`, `--kills` of them, in as many runs as that
 *                      takes
 *     served           reads of an array that another loop has written before each pass, against one that nobody writes
 *     checkpoint       passes that are kept in a folder, against those that are not
 *     restored         a program that is started again and finds 400 MB of an array in its folder
 *     foreseen         what `simulate()` says of a pass beforehand, against what it takes, of four million samples or more
 *     messages         what a message between two processes takes, with its threads, and a byte of it, over links and by memory of the machine: the constants of `linkCost.ts`
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
import { type LinkEvents, Links } from '../src/exec/gang/links/links.ts'
import { threadProgram } from '../src/exec/workers/threadProgram.ts'
import type { Figures, GangFigures, GangPass } from './gangPass.ts'
import { save, suite } from './harness.ts'
import { median, table } from './statistics.ts'

const bench = suite('gang', { samples: 0, passes: 8, rounds: 3, kills: 200, seed: 0 })
const { passes, rounds, kills, seed } = bench.options
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
const KEPT_PASSES = 150
const MESSAGES = 1_000
const MESSAGE_BYTES = 200_000

const results: Record<string, unknown> = {}
for (const program of ['factorization', 'wavefront', 'stencil', 'rounds'] as const) {
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
    const processor = median((found[i] ?? []).map(({ allMs }) => allMs))
    const waited = median(
      (found[i] ?? []).flatMap(({ milliseconds, waitingMs }) => milliseconds.map((ms, k) => (waitingMs[k] ?? 0) / ms).slice(2)),
    )
    const ms = times[i] as number
    return [`${processes} x ${workers}`, ms.toFixed(1), (ms / peer).toFixed(2), processor.toFixed(1), `${(100 * waited).toFixed(1)} %`]
  }
  console.log(
    `\n${table([`${program}, ${samples} samples`, 'ms a pass', 'by 1 x 2', 'processor ms', 'waiting'], [...SHAPES.keys()].map(line))}`,
  )
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
if (bench.wanted('kills')) {
  const pass = { program: 'kills', samples: 200_000, workers: 1, passes: 1_000 } as const
  const { digest } = run(1, { ...pass, program: 'factorization' })
  console.log('\nkills:')
  let [done, same, runs] = [0, 0, 0]
  while (done < kills) {
    const figures = run(3, { ...pass, seed: seed + ++runs })
    done += figures.kills ?? 0
    if (figures.digest === digest) same++
    if (figures.kills === 0) throw new Error('Nobody was killed.')
    console.log(`${done} kills in ${runs} runs, ${same} of which have the bits of one process`)
  }
  results.kills = { kills: done, runs, same }
}
if (bench.wanted('served')) {
  const found = Array.from({ length: rounds }, () => run(2, { program: 'served', samples, workers: 1, passes }))
  const ratioOf = (of: (figures: Figures) => number): number[] =>
    found.map(({ served, unwritten }) => (served && unwritten ? of(served) / of(unwritten) : Number.NaN))
  const ratios = ratioOf(({ ms }) => median(ms.slice(2)))
  const processor = median(ratioOf(({ processorMs }) => processorMs))
  console.log(
    `\nserved: ${median(ratios).toFixed(2)} times as long as a pass over what nobody writes, and ${processor.toFixed(2)} times the processor time. ${found.at(-1)?.processes}`,
  )
  results.served = { ratios, processor }
}
if (bench.wanted('checkpoint')) {
  // so many passes that several snapshots are among them: one is as good as free, and of a few passes it is a large part
  const of = (checkpoint?: string): GangFigures =>
    run(1, { program: 'factorization', samples, workers: 2, passes: KEPT_PASSES, ...(checkpoint && { checkpoint }) })
  const ratios = Array.from({ length: rounds }, () => {
    const folder = mkdtempSync(join(tmpdir(), 'distarray-kept-'))
    const [kept, plain] = [of(folder), of()]
    rmSync(folder, { recursive: true, force: true })
    return { time: kept.totalMs / plain.totalMs, processor: kept.processorMs / plain.processorMs }
  })
  const [time, processor] = (['time', 'processor'] as const).map((what) => median(ratios.map((ratio) => ratio[what])).toFixed(2))
  console.log(`\ncheckpoint: passes take ${time} times as long as those that are not kept, and ${processor} times the processor time`)
  results.checkpoint = ratios
}
if (bench.wanted('restored')) {
  const megabytes = 400
  const found = Array.from({ length: rounds }, () => {
    const checkpoint = mkdtempSync(join(tmpdir(), 'distarray-kept-'))
    const pass = { program: 'restored', samples: megabytes * 125_000, workers: 2, checkpoint } as const
    run(1, { ...pass, passes: 3 })
    const { beforeMs } = run(1, { ...pass, passes: 4 })
    rmSync(checkpoint, { recursive: true, force: true })
    return beforeMs
  })
  console.log(`\nrestored: ${megabytes} MB of elements are there again after ${found.map((ms) => ms.toFixed(0)).join(', ')} ms`)
  results.restored = found
}
if (bench.wanted('foreseen')) {
  // fewer ratings than a sixteenth of these do not fit the users and movies that they have
  const most = Math.max(samples, 4_000_000)
  const lines = (['factorization', 'rounds', 'wavefront'] as const).flatMap((program) =>
    [1, 1 / 4, 1 / 16].flatMap((part) => {
      const pass = { program, samples: Math.round(most * part), workers: 1, passes }
      const runs = Array.from({ length: rounds }, () => ({
        foreseenMs: run(1, pass).foreseenMs ?? [],
        measured: [run(2, pass), run(1, { ...pass, workers: 2 })],
      }))
      return [0, 1].map((i) => {
        const own = runs.flatMap(({ measured }) => measured[i] ?? [])
        // a pass that is too small for two processes runs in one
        const ran = i === 0 && own.every(({ count }) => count === 1) ? 2 : i
        const foreseen = median(runs.map(({ foreseenMs }) => foreseenMs[ran] as number))
        const ms = median(own.map(({ milliseconds }) => Math.min(...milliseconds.slice(2))))
        const ratios = runs.map(
          ({ foreseenMs, measured }) => (foreseenMs[ran] as number) / Math.min(...(measured[i]?.milliseconds.slice(2) ?? [])),
        )
        const shape = ['2 x 1', '1 x 2', '1 of 2'][ran]
        const each = ratios.map((ratio) => ratio.toFixed(2)).join(' ')
        return [`${program}, ${pass.samples} samples, ${shape}`, foreseen.toFixed(1), ms.toFixed(1), median(ratios).toFixed(2), each]
      })
    }),
  )
  console.log(`\n${table(['foreseen', 'ms', 'it takes', 'ratio', 'of each run'], lines)}`)
  results.foreseen = lines
}
if (bench.wanted('messages')) {
  const found = [await messages({ hasNoRings: true }), await messages({})]
  const [byLinks, byMemory] = found.map(({ msPerByte }) => msPerByte * 1e6) as [number, number]
  const each = found.map(({ messageMs }) => (messageMs * 1000).toFixed(0)).join(' and ')
  console.log(
    `\nmessages: ${each} microseconds of processor time each; ${byLinks.toFixed(2)} ns a byte over links, ${byMemory.toFixed(2)} by memory, ${(byLinks / byMemory).toFixed(2)} times as fast`,
  )
  results.messages = { byLinks: found[0], byMemory: found[1] }
}
save('gang', results)

/** Between two links of this process, there and back, by its processor time: threads of both ends are its own. */
async function messages(how: { readonly hasNoRings?: true }): Promise<{ readonly messageMs: number; readonly msPerByte: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'distarray-links-'))
  const rendezvous = { kind: 'file', path: join(folder, 'address') } as const
  const common = { world: 2, job: 'bench', attempt: 0, rendezvous, token: 'a secret of a bench', host: '127.0.0.1' }
  let left = 0
  let over = (): void => undefined
  const events = (rank: number): LinkEvents => ({
    took: (_, { head, parts }) => {
      if (rank === 1 || --left > 0) links[rank]?.send(1 - rank, { type: 'edge', head, parts })
      else over()
    },
    lost: (error) => console.error(error),
    released: () => undefined,
  })
  const links: readonly Links[] = await Promise.all(
    [0, 1].map((rank) => Links.start({ ...common, rank, joinMs: 20_000, patienceMs: 20_000, ...how }, threadProgram(), events(rank))),
  )
  for (const one of links) one.hold()
  const times: number[] = []
  for (const bytes of [0, 0, MESSAGE_BYTES]) {
    left = MESSAGES
    const cpu = process.cpuUsage()
    await new Promise<void>((resolve) => {
      over = resolve
      links[0]?.send(1, { type: 'edge', head: new Uint8Array(100), parts: [new Uint8Array(bytes)] })
    })
    const { user, system } = process.cpuUsage(cpu)
    times.push((user + system) / 1000 / (2 * MESSAGES))
  }
  await Promise.all(links.map((one) => one.release(0)))
  rmSync(folder, { recursive: true, force: true })
  const [, messageMs = 0, longMs = 0] = times
  return { messageMs, msPerByte: (longMs - messageMs) / MESSAGE_BYTES }
}

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
