/** Starts a program as several processes of this machine, and sees to it that none is left when it has ended. */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'

/** How long processes that the program does not need any more may take to end by themselves, and then to obey. */
const GRACE_MS = 5000
const KILL_MS = 2000
const NOT_FOUND = 127

/** The exit code of rank 0. */
export async function launch(command: readonly string[], processes: number): Promise<number> {
  const [program = '', ...args] = command
  const folder = mkdtempSync(join(tmpdir(), 'distarray-run-')) // for this user's eyes only
  const common = {
    DA_WORLD: `${processes}`,
    DA_JOB: folder,
    DA_ATTEMPT: '0',
    DA_RDZV: `file:${join(folder, 'rank0')}`,
    DA_TOKEN: randomBytes(32).toString('hex'),
  }
  const children = Array.from({ length: processes }, (_, rank) => {
    // what is typed is for the program
    const stdio = rank === 0 ? 'inherit' : (['ignore', 'inherit', 'inherit'] as const)
    return spawn(program, args, { stdio: stdio as 'inherit', env: { ...process.env, ...common, DA_RANK: `${rank}` } })
  })
  const forward = (signal: NodeJS.Signals): void => {
    for (const child of children) child.kill(signal)
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, forward)
  try {
    const ends = children.map((child, rank) => ended(child, rank, program))
    const code = (await ends[0]) as number // there is one process at least
    await Promise.race([Promise.all(ends), later(GRACE_MS)])
    for (const child of children) child.kill('SIGTERM')
    await Promise.race([Promise.all(ends), later(KILL_MS)])
    for (const child of children) child.kill('SIGKILL')
    return code
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function ended(child: ChildProcess, rank: number, program: string): Promise<number> {
  const code = await exitCodeOf(child, program)
  const how = child.signalCode === null ? `ended with status ${code}` : `was ended by ${child.signalCode}`
  if (rank > 0 && code !== 0) process.stderr.write(`distarray run: rank ${rank} ${how}.\n`)
  return code
}

/** As a shell gives it: 128 and the number of a signal. */
export async function exitCodeOf(child: ChildProcess, program: string): Promise<number> {
  return await new Promise((resolve) => {
    child.on('error', (error) => {
      process.stderr.write(`distarray run: ${program} cannot be started: ${error.message}\n`)
      resolve(NOT_FOUND)
    })
    child.on('exit', (code, signal) => resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])))
  })
}

async function later(milliseconds: number): Promise<void> {
  await new Promise<void>((resolve) => setTimeout(resolve, milliseconds).unref())
}
