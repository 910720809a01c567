/**
 * Starts a program as several processes of this machine, and ends them all when the program has ended. A process that is killed is
 * started again, and takes part in later passes; except rank 0, which has the program.
 */
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { publishEnd, publishLoss } from '../exec/gang/links/rendezvous.ts'

/** The time that processes have to end by themselves once the program has ended, and then to obey SIGTERM. */
const GRACE_MS = 5000
const KILL_MS = 2000
const NOT_FOUND = 127
/** The exit status of a process that has lost its gang, as after a long freeze, and asks to be started again: EX_TEMPFAIL of sysexits.h. */
export const LOST_STATUS = 75
/** The most restarts in a row of a process that lives shorter than SHORT_LIFE_MS. */
const MOST_SHORT_LIVES = 3
const SHORT_LIFE_MS = 60_000

/** Runs the command as so many processes; returns the exit code of rank 0. */
export async function launch(command: readonly string[], processes: number): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'distarray-run-')) // mkdtemp makes it readable by this user only
  const common = {
    DA_WORLD: `${processes}`,
    DA_JOB: folder,
    DA_ATTEMPT: '0',
    DA_RDZV: `file:${join(folder, 'rank0')}`,
    DA_TOKEN: randomBytes(32).toString('hex'),
  }
  const ranks = Array.from({ length: processes }, (_, rank) => {
    // standard input belongs to the program, on rank 0
    const stdio = rank === 0 ? 'inherit' : (['ignore', 'inherit', 'inherit'] as const)
    const isTemporary = (child: ChildProcess): boolean => child.signalCode !== null || child.exitCode === LOST_STATUS
    return new Rank(rank, command, { env: common, stdio: stdio as StdioOptions, isTemporary })
  })
  forwardSignals(ranks)
  goOnUnread()
  for (const [number, rank] of ranks.entries()) if (number > 0) void tellOfLoss(rank, join(folder, 'rank0'), number)
  try {
    const code = (await ranks[0]?.ended) ?? NOT_FOUND // there is one process at least
    publishEnd(join(folder, 'rank0'), code)
    const all = Promise.all(ranks.map((rank) => rank.ended))
    for (const rank of ranks) rank.isOver = true
    for (const rank of ranks) if (rank.isStopped) rank.kill('SIGKILL') // it would neither end by itself nor obey
    await Promise.race([all, later(GRACE_MS)])
    for (const rank of ranks) rank.kill('SIGTERM')
    await Promise.race([all, later(KILL_MS)])
    for (const rank of ranks) rank.kill('SIGKILL')
    return code
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Rank 0 waits for all to join, in vain for one that has ended for good. */
async function tellOfLoss(rank: Rank, path: string, number: number): Promise<void> {
  const code = await rank.ended
  if (!rank.isOver) publishLoss(path, number, code)
}

/** Runs the command as one of the processes that an engine has started; returns its exit code. */
export async function launchOne(command: readonly string[], env: Readonly<Record<string, string>>): Promise<number> {
  // a process that lost rank 0 is left for the engine to start again
  const isTemporary = (child: ChildProcess): boolean => child.signalCode !== null
  const rank = new Rank(Number(env.DA_RANK ?? 0), command, { env, stdio: 'inherit', isTemporary })
  forwardSignals([rank])
  goOnUnread()
  return await rank.ended
}

function forwardSignals(ranks: readonly Rank[]): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      for (const rank of ranks) rank.isOver = true
      for (const rank of ranks) rank.kill(signal)
    })
  }
}

/** Has this process go on where nobody reads what it says, as behind `2>&1 | head`: it has processes to end, and a folder to remove. */
function goOnUnread(): void {
  process.stderr.on('error', () => {})
}

interface RankOptions {
  readonly env: Readonly<Record<string, string>>
  readonly stdio: StdioOptions
  /** Whether a process that ended like this may succeed if it is started again. */
  isTemporary(child: ChildProcess): boolean
}

class Rank {
  /** Whether the process is no longer started again when it ends. */
  isOver = false
  readonly ended: Promise<number>
  readonly #rank: number
  readonly #command: readonly string[]
  readonly #options: RankOptions
  #child: ChildProcess

  constructor(rank: number, command: readonly string[], options: RankOptions) {
    this.#rank = rank
    this.#command = command
    this.#options = options
    this.#child = this.#start()
    this.ended = this.#keep()
  }

  /** Whether the process was stopped, as by SIGSTOP, and does not go on, as Linux tells; false elsewhere. */
  get isStopped(): boolean {
    const { pid, exitCode, signalCode } = this.#child
    if (pid === undefined || exitCode !== null || signalCode !== null) return false
    try {
      return /\) [Tt] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
    } catch {
      return false
    }
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  #start(): ChildProcess {
    const [program = '', ...args] = this.#command
    const { env, stdio } = this.#options
    return spawn(program, args, { stdio, env: { ...process.env, ...env, DA_RANK: `${this.#rank}` } })
  }

  async #keep(): Promise<number> {
    for (let shortLives = 0; ; this.#child = this.#start()) {
      const started = Date.now()
      const code = await exitCodeOf(this.#child, this.#command[0] ?? '')
      if (this.#rank === 0 || code === 0) return code
      shortLives = Date.now() - started < SHORT_LIFE_MS ? shortLives + 1 : 0
      const isKept = !this.isOver && shortLives <= MOST_SHORT_LIVES && this.#options.isTemporary(this.#child)
      const { signalCode } = this.#child
      if (this.isOver && signalCode !== null) return code // ended from here
      const how = signalCode === null ? `ended with status ${code}` : `was ended by ${signalCode}`
      process.stderr.write(`distarray run: rank ${this.#rank} ${how}${isKept ? ', and is started again' : ''}.\n`)
      if (!isKept) return code
    }
  }
}

/** The exit code of a process as a shell gives it: for a signal, 128 and its number. */
async function exitCodeOf(child: ChildProcess, program: string): Promise<number> {
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
