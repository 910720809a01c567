/**
 * Starts a program as several processes of this machine, and sees to it that none is left when it has ended. One that is killed is
 * started again, and takes part in the passes that come; not that of rank 0, which has the program.
 */
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'

/** How long processes that the program does not need any more may take to end by themselves, and then to obey. */
const GRACE_MS = 5000
const KILL_MS = 2000
const NOT_FOUND = 127
/** A process that has lost its gang asks to be started again, as one that was frozen for long: EX_TEMPFAIL of sysexits.h. */
const LOST_STATUS = 75
/** So often in a row is a process started again that does not last. */
const MOST_SHORT_LIVES = 3
const SHORT_LIFE_MS = 60_000

/** The exit code of rank 0. */
export async function launch(command: readonly string[], processes: number): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'distarray-run-')) // for this user's eyes only
  const common = {
    DA_WORLD: `${processes}`,
    DA_JOB: folder,
    DA_ATTEMPT: '0',
    DA_RDZV: `file:${join(folder, 'rank0')}`,
    DA_TOKEN: randomBytes(32).toString('hex'),
  }
  const ranks = Array.from({ length: processes }, (_, rank) => {
    // what is typed is for the program
    const stdio = rank === 0 ? 'inherit' : (['ignore', 'inherit', 'inherit'] as const)
    const isTemporary = (child: ChildProcess): boolean => child.signalCode !== null || child.exitCode === LOST_STATUS
    return new Rank(rank, command, { env: common, stdio: stdio as StdioOptions, isTemporary })
  })
  forwardSignals(ranks)
  try {
    const code = (await ranks[0]?.ended) ?? NOT_FOUND // there is one process at least
    const all = Promise.all(ranks.map((rank) => rank.ended))
    for (const rank of ranks) rank.isOver = true
    await Promise.race([all, later(GRACE_MS)])
    for (const rank of ranks) rank.kill('SIGTERM')
    await Promise.race([all, later(KILL_MS)])
    for (const rank of ranks) rank.kill('SIGKILL')
    return code
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** One of the processes that an engine has started: the exit code of the program in it. */
export async function launchOne(command: readonly string[], env: Readonly<Record<string, string>>): Promise<number> {
  // what has lost rank 0 is the engine's to start again
  const isTemporary = (child: ChildProcess): boolean => child.signalCode !== null
  const rank = new Rank(Number(env.DA_RANK ?? 0), command, { env, stdio: 'inherit', isTemporary })
  forwardSignals([rank])
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

interface RankOptions {
  readonly env: Readonly<Record<string, string>>
  readonly stdio: StdioOptions
  /** Whether a process that has ended so may do better the next time. */
  isTemporary(child: ChildProcess): boolean
}

class Rank {
  /** Not started again from now on. */
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
      const how = signalCode === null ? `ended with status ${code}` : `was ended by ${signalCode}`
      process.stderr.write(`distarray run: rank ${this.#rank} ${how}${isKept ? ', and is started again' : ''}.\n`)
      if (!isKept) return code
    }
  }
}

/** As a shell gives it: 128 and the number of a signal. */
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
