/** The parent's side of a lane: one process of faultLaneMain.ts at a time, and a new one after a trial that did not end. */
import { type ChildProcess, fork } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Outcome, Trial } from './faultLaneMain.ts'
import { ROOT } from './repository.ts'

/** vitest keeps something of each run; the process is replaced after so many. */
const TRIALS_A_PROCESS = 150

export class Lane {
  private child: ChildProcess | undefined
  private tree = ''
  private trials = 0

  async run(trial: Trial, limitMs: number): Promise<Outcome | { readonly kind: 'hung' }> {
    if (this.trials++ % TRIALS_A_PROCESS === 0) this.end()
    const child = (this.child ??= await this.start())
    return new Promise((resolve) => {
      const settle = (outcome: Outcome | { readonly kind: 'hung' }): void => {
        clearTimeout(timer)
        child.off('message', settle)
        child.off('exit', exited)
        resolve(outcome)
      }
      const exited = (code: number | null): void => {
        this.end()
        settle({ kind: 'amiss', why: `The lane ended with code ${code}.` })
      }
      const timer = setTimeout(() => {
        this.end()
        settle({ kind: 'hung' })
      }, limitMs)
      child.on('message', settle)
      child.on('exit', exited)
      child.send(trial)
    })
  }

  /** The lane and the programs that it has started, which are one process group. */
  end(): void {
    const pid = this.child?.pid
    this.child?.removeAllListeners()
    this.child = undefined
    if (pid !== undefined) {
      try {
        process.kill(-pid, 'SIGKILL')
      } catch {
        // it has ended by itself
      }
    }
    if (this.tree !== '') rmSync(this.tree, { recursive: true, force: true, maxRetries: 3 })
    this.tree = ''
  }

  private start(): Promise<ChildProcess> {
    const child = fork(join(ROOT, 'scripts', 'faultLaneMain.ts'), {
      cwd: ROOT,
      execArgv: ['--import', 'tsx'],
      detached: true,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    process.once('exit', () => this.end())
    return new Promise((resolve, reject) => {
      child.once('message', (ready: { readonly tree: string }) => {
        this.tree = ready.tree
        resolve(child)
      })
      child.once('exit', (code) => reject(new Error(`A lane of faults ended with code ${code} before it began.`)))
    })
  }
}
