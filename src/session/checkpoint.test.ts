/** Programs that are started again with a checkpoint: where they go on, and what is said when they cannot. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { DistArray, PassReport, SessionEvent } from '../index.ts'
import { CheckpointError, PlanError, Session } from '../index.ts'
import { startOf } from '../io/bytes/processStart.ts'
import { checkpointInSmallSteps } from './checkpoint.ts'

let root = ''
let folder = ''
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'distarray-checkpoint-'))
  folder = join(root, 'kept')
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

interface Program {
  readonly rate?: number
  readonly data?: readonly number[]
  readonly passes?: number
  readonly readAfter?: number
  readonly shape?: number
  readonly before?: (step: string) => void
  readonly abortAfter?: number
  readonly body?: 'other'
  readonly tell?: (event: SessionEvent) => void
  readonly between?: (pass: PassReport, w: DistArray<number, readonly [number]>) => Promise<void>
}

/** A program with one loop; what it has in the end, and the times of its passes: those that were not run again have their old ones. */
async function run(program: Program = {}): Promise<{ readonly w: number[]; readonly times: number[]; readonly loss: number[] }> {
  const { rate = 0.5, data = [1, 2, 3], passes = 5, shape = 3, before } = program
  await using session = await Session.start({
    workers: 1,
    progress: false,
    checkpoint: folder,
    ...checkpointInSmallSteps(before === undefined ? {} : { before }),
  })
  if (program.tell !== undefined) session.events.subscribe(program.tell)
  const x = session.fromColumns({ x: Float64Array.from(data) })
  const w = session.zeros([shape])
  const loss = session.accumulator('sum')
  const loop =
    program.body === 'other'
      ? session.loop(x, { w, loss }, (row, [i], { w, loss }) => {
          w.set(i, w.get(i) * rate - row.x)
          loss.add(w.get(i))
        })
      : session.loop(x, { w, loss }, (row, [i], { w, loss }) => {
          w.set(i, w.get(i) * rate + row.x)
          loss.add(w.get(i))
        })
  const [times, losses]: [number[], number[]] = [[], []]
  for await (const pass of loop.passes(passes)) {
    times.push(pass.milliseconds)
    losses.push(pass.accumulators.loss as number)
    if (pass.number === program.readAfter) await w.toTypedArray()
    await program.between?.(pass, w)
    if (pass.number === program.abortAfter) break
  }
  return { w: await w.collect(), times, loss: losses }
}

async function errorOf(promise: Promise<unknown>): Promise<CheckpointError> {
  const error = await promise.then(
    () => undefined,
    (error: unknown) => error,
  )
  expect(error).toBeInstanceOf(CheckpointError)
  return error as CheckpointError
}

const CURE =
  'A checkpoint goes on with the program that it was made by, which does the same on each start. Name another folder, or remove this one.'

test('passes that are known are not run again', async () => {
  const first = await run({ passes: 3 })
  const again = await run({ passes: 3 })
  expect(again).toEqual(first)
  expect(readdirSync(folder).sort()).toEqual(['array-1-after-3-rows-0-3.arrow', 'ledger'])
})

test('a program that ends in the middle of its passes goes on with the next one', async () => {
  const whole = await run({ passes: 5 })
  rmSync(folder, { recursive: true })
  const first = await run({ passes: 5, abortAfter: 2 })
  const again = await run({ passes: 5 })
  expect([again.w, again.loss]).toEqual([whole.w, whole.loss])
  expect(again.times.slice(0, 2)).toEqual(first.times)
})

test('a call may be asked for more passes', async () => {
  const whole = await run({ passes: 5 })
  rmSync(folder, { recursive: true })
  const first = await run({ passes: 3 })
  const more = await run({ passes: 5 })
  expect([more.w, more.loss, more.times.slice(0, 3)]).toEqual([whole.w, whole.loss, first.times])
})

test('another body is another program', async () => {
  await run()
  const error = await errorOf(run({ body: 'other' }))
  expect(error.message).toBe(
    `Call 1 of a loop is another one than in ${folder}.
  there: w[@0] = ((w[@0] * $rate) + #0.x)
  here:  w[@0] = ((w[@0] * $rate) - #0.x)
${CURE}`,
  )
  expect([error.name, error.fault, error.path]).toEqual(['CheckpointError', 'differs', folder])
})

test('fewer passes leave arrays as they are not kept', async () => {
  await run({ passes: 5 })
  expect((await errorOf(run({ passes: 2 }))).message).toBe(
    `The program uses zeros([3]) where it did not when ${folder} was written: after 2 passes, of which nothing is kept. ${CURE}`,
  )
})

test('what a body captured, and what arrays held, is compared', async () => {
  await run()
  const captured = await errorOf(run({ rate: 0.25 }))
  expect(captured.message).toBe(
    `Pass 1 of call 1 of a loop (loop over fromColumns) captured other values than when it was recorded in ${folder}. ${CURE}`,
  )
  const data = await errorOf(run({ data: [1, 2, 4] }))
  expect(data.message).toBe(
    `Pass 1 of call 1 of a loop (loop over fromColumns) found other values in fromColumns than when it was recorded in ${folder}. ${CURE}`,
  )
  const written = await errorOf(run({ between: async ({ number }, w) => (number === 1 ? await w.set([0], 7) : undefined) }))
  expect(written.message).toBe(
    `The program uses zeros([3]) where it did not when ${folder} was written: after 1 passes, of which nothing is kept. ${CURE}`,
  )
})

test('what the program reads and writes between passes is there when it is started again', async () => {
  const between: Program['between'] = async ({ number }, w) => {
    if (number === 2) await w.set([0], (await w.at(1)) ?? 0)
  }
  const first = await run({ between })
  expect(await run({ between })).toEqual(first)
  const error = await errorOf(run({ between: async ({ number }, w) => (number === 2 ? await w.set([0], 7) : undefined) }))
  expect(error.message).toBe(
    `Pass 3 of call 1 of a loop (loop over fromColumns) found other values in zeros([3]) than when it was recorded in ${folder}. ${CURE}`,
  )
})

const ANEW = 'Remove the folder to start anew.'

test('files that are damaged, cut short or missing are named', async () => {
  await run()
  const ledger = join(folder, 'ledger')
  const rows = join(folder, 'array-1-after-5-rows-0-3.arrow')
  const [sound, soundRows] = [readFileSync(ledger), readFileSync(rows)]
  const bent = Buffer.from(sound)
  bent[sound.length - 5]! ^= 4
  for (const bytes of [bent, sound.subarray(0, sound.length - 9), sound.subarray(0, 40)]) {
    writeFileSync(ledger, bytes)
    const error = await errorOf(run())
    expect([error.fault, error.path]).toEqual(bytes.length === 40 ? ['differs', ledger] : ['damaged', ledger])
    if (bytes.length !== 40) expect(error.message).toBe(`${ledger} is damaged: its length or its checksum is another one. ${ANEW}`)
  }
  writeFileSync(ledger, 'something else')
  expect((await errorOf(run())).message).toBe(
    `${ledger} is not the ledger of a checkpoint of this version of distarray. Name another folder, or remove this one to start anew.`,
  )
  writeFileSync(ledger, sound)
  const changed = Buffer.from(soundRows)
  changed[soundRows.indexOf(Buffer.from(Float64Array.of(0).buffer), 64)]! ^= 1
  for (const bytes of [soundRows.subarray(0, 100), Buffer.concat([soundRows, soundRows]), changed]) {
    writeFileSync(rows, bytes)
    expect((await errorOf(run())).message).toBe(`${rows} is damaged: its length or its checksum is another one. ${ANEW}`)
  }
  rmSync(rows)
  expect((await errorOf(run())).message).toBe(
    `${rows} is named by its ledger and cannot be read: ENOENT: no such file or directory, open '${rows}'. ${ANEW}`,
  )
})

test('what another engine has begun is refused', async () => {
  await run()
  const ledger = join(folder, 'ledger')
  const text = readFileSync(ledger, 'latin1')
  const own = text.split('|')[1] as string
  writeFileSync(ledger, text.replace(own, own.replace(/^node \d+/, 'node 2')), 'latin1')
  const error = await errorOf(run())
  expect(error.message).toBe(
    `${ledger} was written by ${own.replace(/^node \d+/, 'node 2')}, and this is ${own}: results depend on it. Go on with the one that began, or remove the folder to start anew.`,
  )
  expect(error.fault).toBe('differs')
})

test('a folder that cannot be one', async () => {
  writeFileSync(folder, '')
  const error = await errorOf(run())
  expect(error.message).toBe(
    `${folder} cannot keep a checkpoint: EEXIST: file already exists, mkdir '${folder}'. Name a folder that this process may read and write.`,
  )
  expect(error.fault).toBe('unusable')
  await expect(Session.start({ workers: 1, checkpoint: '' })).rejects.toThrow(
    new PlanError('checkpoint is "". It is the path of a folder.'),
  )
})

test('a disk that is full ends what is kept, and not the program', async () => {
  const whole = await run()
  rmSync(folder, { recursive: true })
  const events: SessionEvent[] = []
  let isFull = false
  const before = (step: string): void => {
    if (isFull && step.startsWith('write')) throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
  }
  const between = async (): Promise<void> => {
    while (!existsSync(join(folder, 'ledger'))) await new Promise((resolve) => setTimeout(resolve, 1))
    isFull = true
  }
  const full = await run({ before, between, tell: (event) => events.push(event) })
  expect([full.w, full.loss]).toEqual([whole.w, whole.loss])
  expect(events.filter(({ kind }) => kind === 'fallback')).toEqual([
    {
      kind: 'fallback',
      what: 'checkpoint',
      because: `Passes are not kept in ${folder} any more: ENOSPC: no space left on device, write`,
    },
  ])
  // what was kept before is gone on with
  const again = await run()
  expect([again.w, again.loss]).toEqual([whole.w, whole.loss])
  expect(again.times[0]).toBe(full.times[0])
})

test('one folder is one session', async () => {
  await using _ = await Session.start({ workers: 1, checkpoint: folder })
  const error = await errorOf(run())
  expect(error.message).toBe(
    `Another session of this process keeps its checkpoint in ${folder}. Name a folder for each, or stop that session first.`,
  )
  expect(error.fault).toBe('taken')
})

test('who has lost the folder to another process ends at its next pass', async () => {
  const error = await errorOf(
    run({
      passes: 1000,
      between: async () => {
        writeFileSync(join(folder, 'owner'), JSON.stringify({ id: 'another', host: 'elsewhere', pid: 7 }))
        await new Promise((resolve) => setTimeout(resolve, 20))
      },
    }),
  )
  expect(error.message).toBe(
    `Another process (7 on elsewhere) has taken ${folder}, where this one kept its checkpoint. This one has to end: what it does is not kept.`,
  )
  expect(error.fault).toBe('taken')
})

test('a pass that is aborted is not kept, and those before it are', async () => {
  const whole = await run({ passes: 4 })
  rmSync(folder, { recursive: true })
  const program = async (stops: boolean): Promise<{ readonly times: number[]; readonly w: readonly number[] }> => {
    const times: number[] = []
    await using session = await Session.start({ workers: 1, progress: false, checkpoint: folder, ...checkpointInSmallSteps() })
    const [x, w, loss] = [session.fromColumns({ x: Float64Array.of(1, 2, 3) }), session.zeros([3]), session.accumulator('sum')]
    const rate = 0.5
    const loop = session.loop(x, { w, loss }, (row, [i], { w, loss }) => {
      w.set(i, w.get(i) * rate + row.x)
      loss.add(w.get(i))
    })
    const abort = new AbortController()
    const passes = loop.passes(4, { signal: abort.signal })
    for await (const { number, milliseconds } of passes) {
      times.push(milliseconds)
      if (stops && number === 2) abort.abort(new Error('It is enough.'))
    }
    return { times, w: await w.collect() }
  }
  await expect(program(true)).rejects.toThrow('It is enough.')
  const again = await program(false)
  expect(again.w).toEqual(whole.w)
})

test('passes of a loop that draws numbers are those at their place', async () => {
  const draws = async (...counts: readonly number[]): Promise<number[]> => {
    await using session = await Session.start({ workers: 1, progress: false, checkpoint: folder, ...checkpointInSmallSteps() })
    const [rng, mean] = [session.rng(1), session.accumulator('sum')]
    const loop = session.loop(session.range(4), { rng, mean }, (_, { rng, mean }) => {
      mean.add(rng.uniform() / 4)
    })
    const found: number[] = []
    for (const passes of counts) for (const pass of (await loop.run({ passes })).passes) found.push(pass.accumulators.mean as number)
    return found
  }
  const first = await draws(2, 2)
  expect(await draws(2, 2)).toEqual(first)
  const error = await errorOf(draws(3, 2))
  expect(error.message).toBe(
    `Pass 1 of call 2 of a loop (loop over range(4)) comes after 3 passes of its loop, and not after 2 as when it was recorded in ${folder}. ${CURE}`,
  )
})

test('what is run again on each start is told', async () => {
  await using session = await Session.start({ workers: 1, checkpoint: folder })
  const events: SessionEvent[] = []
  session.events.subscribe((event) => events.push(event))
  const w = session.zeros([3])
  const most = session.accumulator({ init: 0, combine: Math.max })
  const loop = session.loop(
    session.range(3),
    { w, most },
    ([i], { w, most }) => {
      w.set(i, i)
      most.add(i)
    },
    { name: 'greatest' },
  )
  await loop.run()
  await loop.run()
  expect(events.filter(({ kind }) => kind === 'fallback')).toEqual([
    {
      kind: 'fallback',
      what: 'greatest',
      because: 'Its passes are not kept in the checkpoint and run again on each start: it has an accumulator of its own kind.',
    },
  ])
})

test('a process that is killed at pass 7 of 20 goes on there when it is started again', async () => {
  const program = join(root, 'program.mts')
  const from = (name: string): string => JSON.stringify(new URL(name, import.meta.url).href)
  writeFileSync(
    program,
    `import { readdirSync } from 'node:fs'
import { Session } from ${from('../index.ts')}
import { checkpointInSmallSteps } from ${from('./checkpoint.ts')}
const [folder, kills] = process.argv.slice(2)
const session = await Session.start({ workers: 1, progress: false, checkpoint: folder, ...checkpointInSmallSteps() })
const w = session.random([100], { seed: 1 })
const loss = session.accumulator('sum')
const loop = session.loop(session.range(100), { w, loss }, ([i], { w, loss }) => {
  w.set(i, Math.exp(w.get(i)) * 0.3)
  loss.add(w.get(i))
})
for await (const pass of loop.passes(20)) {
  console.log(pass.number, pass.milliseconds, pass.accumulators.loss)
  // what the pass before has left is removed when this one is kept
  const names = () => readdirSync(folder).filter((name) => name.startsWith('array')).join()
  while (kills === 'yes' && names() !== \`array-1-after-\${pass.number}-rows-0-100.arrow\`) await new Promise((resolve) => setTimeout(resolve, 1))
  if (kills === 'yes' && pass.number === 7) process.kill(process.pid, 'SIGKILL')
}
console.log((await w.toTypedArray()).join())
await session.stop()
`,
  )
  const start = (folder: string, kills: 'yes' | 'no') => {
    const { stdout, stderr, signal } = spawnSync(process.execPath, ['--import', 'tsx', program, folder, kills], { encoding: 'utf8' })
    const lines = stdout.trim().split('\n')
    const passes = lines.flatMap((line) => /^(\d+) (\S+) (\S+)$/.exec(line)?.slice(1, 4) ?? [])
    const part = (at: number): string[] => passes.filter((_, i) => i % 3 === at)
    return { stderr, signal, numbers: part(0), times: part(1), losses: part(2), last: lines.at(-1) }
  }
  const whole = start(join(root, 'whole'), 'no')
  expect([whole.stderr, whole.numbers.length]).toEqual(['', 20])
  const killed = start(folder, 'yes')
  expect([killed.signal, killed.numbers.length]).toEqual(['SIGKILL', 7])
  const again = start(folder, 'no')
  expect(again.times.slice(0, 7)).toEqual(killed.times)
  expect([again.losses, again.last]).toEqual([whole.losses, whole.last])
})

test('a folder of a process that is running is refused', async () => {
  const started = startOf(process.ppid)
  if (started === undefined) {
    console.log('Left out: this system does not tell when processes were started.')
    return
  }
  mkdirSync(folder)
  const owner = { id: 'another', host: hostname(), pid: process.ppid, started }
  writeFileSync(join(folder, 'owner'), JSON.stringify(owner))
  const error = await errorOf(run())
  expect(error.message).toBe(
    `Process ${process.ppid} keeps its checkpoint in ${folder} and is still running. Name another folder, or end that process first.`,
  )
  expect(error.fault).toBe('taken')
  // its number is another one's by now
  writeFileSync(join(folder, 'owner'), JSON.stringify({ ...owner, started: '1' }))
  await run()
})

test('a plan says whether passes are kept, and how many did not run again', async () => {
  const program = async () => {
    await using session = await Session.start({ workers: 1, progress: false, checkpoint: folder, ...checkpointInSmallSteps() })
    const w = session.zeros([3])
    const kept = session.loop(session.range(3), { w }, ([i], { w }) => w.set(i, w.get(i) + 1))
    let runs = 0
    const plain = session.loop(session.range(3), { w }, ([i], { w }) => {
      runs++
      w.set(i, w.get(i) + runs)
    })
    const before = kept.plan.checkpoint
    await kept.run({ passes: 2 })
    const line = kept
      .explain()
      .split('\n')
      .find((one) => one.startsWith('checkpoint'))
    return [before, line, plain.plan.checkpoint]
  }
  const other = { kept: false, because: 'Its passes run again on each start: its body runs as it stands.', passesSkipped: 0 }
  const because = `Its passes are kept in ${folder}.`
  const before = { kept: true, because, passesSkipped: 0 }
  expect(await program()).toEqual([before, `checkpoint kept: ${because}`, other])
  expect(await program()).toEqual([before, `checkpoint kept: ${because} 2 passes were known and did not run again.`, other])
  await using session = await Session.start({ workers: 1, progress: false })
  expect(session.loop(session.range(3), {}, () => undefined).plan.checkpoint).toBe(undefined)
})
