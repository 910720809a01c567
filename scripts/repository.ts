/** Where things are in the repository, and how the scripts run other programs. */
import { spawn } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT: string = dirname(dirname(fileURLToPath(import.meta.url)))
/** Programs of the development dependencies. */
export const BIN: string = join(ROOT, 'node_modules', '.bin')

export interface Finished {
  /** null when the program was ended by a signal or the time limit. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
  readonly timedOut: boolean
}

/**
 * Runs a program to its end, or to the time limit, which ends the programs that it has started as well: a worker of the test
 * runner that turns for ever would take a core from all that is run after it. A program that cannot be started is an error.
 */
export function run(
  program: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly timeoutMs: number; readonly env?: Readonly<Record<string, string>> },
): Promise<Finished> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: options.cwd,
      env: { ...process.env, ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true, // a process group of its own
    })
    const endGroup = (): void => {
      if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) process.kill(-child.pid, 'SIGKILL')
    }
    const interrupted = (): void => {
      endGroup()
      process.exit(130)
    }
    process.on('SIGINT', interrupted)
    let stdout = ''
    let stderr = ''
    let timedOut = false
    const timer = setTimeout(() => {
      timedOut = true
      endGroup()
    }, options.timeoutMs)
    child.stdout.on('data', (data: Buffer) => (stdout += data.toString()))
    child.stderr.on('data', (data: Buffer) => (stderr += data.toString()))
    child.on('error', (error) => {
      clearTimeout(timer)
      process.off('SIGINT', interrupted)
      reject(error)
    })
    child.on('close', (code) => {
      clearTimeout(timer)
      process.off('SIGINT', interrupted)
      resolve({ code, stdout, stderr, timedOut })
    })
  })
}

/** Prints the last line of a script, which scripts/steps.ts adds up, and sets the exit code. */
export function finish(count: { readonly passed: number; readonly failed: number; readonly skipped?: number }): void {
  const { passed, failed, skipped = 0 } = count
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
  if (failed > 0) process.exitCode = 1
}
