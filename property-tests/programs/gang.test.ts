/** A program on three processes of this machine prints what it prints alone; errors, an abort and a killed process; none is left. */
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { bundledProgram } from '../bundledProgram.ts'

const NODE = process.execPath

let [cli, folder] = ['', '']
beforeAll(async () => {
  cli = await bundledProgram('cli', { file: fileURLToPath(new URL('../../src/cli.ts', import.meta.url)) })
})
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'distarray-gang-'))
})
afterEach(() => {
  for (const rank of [0, 1, 2]) if (isAlive(rank)) process.kill(pidOf(rank), 'SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

function pidOf(rank: number): number {
  const file = join(folder, `pid${rank}`)
  return existsSync(file) ? Number(readFileSync(file, 'utf8')) : Number.NaN
}

function isAlive(rank: number): boolean {
  try {
    return !Number.isNaN(pidOf(rank)) && process.kill(pidOf(rank), 0)
  } catch {
    return false
  }
}

async function run(
  command: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<{ readonly code: number | null; readonly out: string; readonly err: string }> {
  const [program = '', ...args] = command
  const child = spawn(program, args, {
    env: { ...process.env, NODE_ENV: '', FOLDER: folder, DA_PATIENCE_MS: '20000', DA_JOIN_SECONDS: '150', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [out, err] = ['', '']
  child.stdout.on('data', (text) => (out += text))
  child.stderr.on('data', (text) => (err += text))
  return await new Promise((resolve) => child.on('close', (code) => resolve({ code, out, err })))
}

/** Processes take a while to start, on a busy machine seconds. */
vi.setConfig({ testTimeout: 180_000 })

test('a program gives the same alone and on three processes; also while one is killed and started again, and no process is left', async () => {
  const program = await bundledProgram('program', { file: fileURLToPath(new URL('./gangProgram.ts', import.meta.url)) })
  const [alone, together] = await Promise.all([run([NODE, program]), run([NODE, cli, 'run', '--processes', '3', '--', NODE, program])])
  expect(alone).toMatchObject({ code: 0, err: '' })
  const lines = together.out.trimEnd().split('\n')
  expect(lines.slice(0, -3).join('\n')).toBe(alone.out.trimEnd())
  // of the two passes the second has three processes where the new one has joined by then
  expect(lines.slice(-3)).toEqual(['together 3 3', expect.stringMatching(/^left [23] 1$/), 'joined 3 true'])
  expect(together.code).toBe(3)
  expect(together.err).toContain('distarray run: rank 1 was ended by SIGKILL, and is started again.')
  expect([0, 1, 2].filter(isAlive)).toEqual([])
})

test('where rank 0 is killed the others say so and ask to be started again', async () => {
  const waiting = `
    import { writeFileSync } from 'node:fs'
    import { Session } from './src/index.ts'
    writeFileSync(process.env.FOLDER + '/pid' + process.env.DA_RANK, String(process.pid))
    await Session.start({ workers: 1 })
    process.kill(process.pid, 'SIGKILL')
  `
  const program = await bundledProgram('waiting', { text: waiting })
  const { code, err } = await run([NODE, cli, 'run', '--processes', '2', '--', NODE, program])
  expect(code).toBe(137)
  expect(err).toMatch(/^GangError on rank 1: Rank 0 was lost: .*$/m)
  expect(err).toContain('distarray run: rank 1 ended with status 75.')
  expect([0, 1].filter(isAlive)).toEqual([])
})

test('a process that is frozen is lost after the time that it was given, and the others run its part', async () => {
  const freezing = `
    import { readFileSync, writeFileSync } from 'node:fs'
    import { Session } from './src/index.ts'
    const { FOLDER, DA_RANK } = process.env
    writeFileSync(FOLDER + '/pid' + DA_RANK, String(process.pid))
    const session = await Session.start({ workers: 1 })
    const other = Number(readFileSync(FOLDER + '/pid1', 'utf8'))
    const y = session.zeros([6_400])
    const turns = 60_000
    const loop = session.loop(session.range(6_400), { y }, ([i], { y }) => {
      let sum = 0
      for (let k = 0; k < turns; k++) sum += Math.sqrt(k + i)
      y.set(i, sum)
    })
    setTimeout(() => process.kill(other, 'SIGSTOP'), 50)
    const phases = []
    session.events.subscribe((event) => {
      if (event.kind !== 'process') return
      console.log(event.phase, event.rank)
      phases.push(event.phase)
    })
    await loop.run()
    console.log((await loop.verify()).identical)
    process.kill(other, 'SIGCONT')
    while (!phases.includes('joined')) await new Promise((resolve) => setTimeout(resolve, 20))
    await loop.run()
    console.log(loop.plan.execution.processes.count)
  `
  const program = await bundledProgram('freezing', { text: freezing })
  const { code, out, err } = await run([NODE, cli, 'run', '--processes', '2', '--', NODE, program], { DA_PATIENCE_MS: '2500' })
  expect([code, out, err.split('\n').at(-2)]).toEqual([
    0,
    'lost 1\ntrue\njoined 1\n2\n',
    'distarray run: rank 1 ended with status 75, and is started again.',
  ])
})

test('a process that is killed while others are still to join is started again, and joins', async () => {
  const joining = `
    import { existsSync, writeFileSync } from 'node:fs'
    import { setTimeout as wait } from 'node:timers/promises'
    import { Session } from './src/index.ts'
    const { FOLDER, DA_RANK } = process.env
    const killed = FOLDER + '/killed'
    writeFileSync(FOLDER + '/pid' + DA_RANK, String(process.pid))
    if (DA_RANK === '1' && !existsSync(killed)) {
      // its link to rank 0 stands by then
      setTimeout(() => {
        writeFileSync(killed, '')
        process.kill(process.pid, 'SIGKILL')
      }, 1_500)
    }
    if (DA_RANK === '2') {
      while (!existsSync(killed)) await wait(20)
      await wait(100)
    }
    const session = await Session.start({ workers: 1 })
    const y = session.zeros([6_400])
    const loop = session.loop(session.range(6_400), { y }, ([i], { y }) => {
      let sum = 0
      for (let k = 0; k < 10_000; k++) sum += Math.sqrt(k + i)
      y.set(i, sum)
    })
    await loop.run()
    console.log(loop.plan.execution.processes.count, (await loop.verify()).identical)
  `
  const program = await bundledProgram('joining', { text: joining })
  const { code, out, err } = await run([NODE, cli, 'run', '--processes', '3', '--', NODE, program])
  expect([code, out, err]).toEqual([0, '3 true\n', 'distarray run: rank 1 was ended by SIGKILL, and is started again.\n'])
})

test.skipIf(!existsSync('/proc/self/stat'))('a process that is stopped when the program ends is not waited for', async () => {
  const program = `case $DA_RANK in
    0) until grep -q ') T ' /proc/$(cat $FOLDER/pid1 2> /dev/null || echo self)/stat; do sleep 0.05; done; date +%s%N > $FOLDER/ended;;
    1) echo $$ > $FOLDER/pid1; kill -STOP $$;;
  esac`
  const { code } = await run([NODE, cli, 'run', '--processes', '2', '--', 'sh', '-c', program])
  const took = Date.now() - Number(readFileSync(join(folder, 'ended'), 'utf8')) / 1e6
  expect([code, isAlive(1)]).toEqual([0, false])
  expect(took).toBeLessThan(5000) // it would be ended after seven seconds
})

test('distarray run ends its processes and leaves nothing behind where nobody reads what it says', async () => {
  const program = `setTimeout(() => process.exit(Number(process.env.DA_RANK)), 2000 * (2 - Number(process.env.DA_RANK)))`
  const child = spawn(NODE, [cli, 'run', '--processes', '2', '--', NODE, '-e', program], {
    env: { ...process.env, NODE_ENV: '', TMPDIR: folder },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  child.stderr.destroy()
  expect(await new Promise((resolve) => child.on('close', resolve))).toBe(0)
  expect(readdirSync(folder)).toEqual([])
})

test('distarray run says how it is used', async () => {
  const ran = async (...args: readonly string[]) => await run([NODE, cli, ...args], { DA_WORLD: '2', DA_RANK: '0', DA_JOB: 'x' })
  const [none, wrong, other, incomplete] = await Promise.all([
    ran('run'),
    ran('run', '--processes', 'two', '--', 'x'),
    ran('start'),
    ran('run', '--', 'x'),
  ])
  expect(none).toMatchObject({
    code: 2,
    err: 'The program to run stands behind two dashes: distarray run --processes 3 -- node train.js\n',
  })
  expect(wrong).toMatchObject({ code: 2, err: '--processes is two. It is a whole number from 1 to 64.\n' })
  expect(other).toMatchObject({
    code: 2,
    err: 'distarray has no command start. It has run, as distarray run --processes 3 -- node train.js, and schema, as distarray schema ratings.parquet.\n',
  })
  expect(incomplete).toMatchObject({
    code: 2,
    err: 'GangError: DA_WORLD is set, and DA_RDZV and DA_TOKEN are not. distarray run sets all that a gang needs.\n',
  })
})
