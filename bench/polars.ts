/** Polars in a Python of its own, which is told what to run and says how long it took. Absent where `python3` has no polars. */
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process'
import { createInterface } from 'node:readline'

const SERVER = `
import sys, time, json, datetime
import polars as pl
names = {'pl': pl, 'datetime': datetime}
for line in sys.stdin:
    task = json.loads(line)
    clock = time.process_time if task['busy'] else time.perf_counter
    try:
        started = clock()
        exec(task['code'], names)
        spent = (clock() - started) * 1000
        print(json.dumps({'ms': spent, 'answer': names.get('answer')}), flush=True)
    except Exception as error:
        print(json.dumps({'error': str(error)}), flush=True)
`

export interface Polars {
  /** Runs Python in which `pl` is Polars; the milliseconds, and what was left in \`answer\`. */
  run(code: string): Promise<{ readonly ms: number; readonly answer: unknown }>
  stop(): void
}

/** Polars with so many threads; undefined where there is none. `busy`: it is timed by what it computes. */
export function startPolars({ threads, busy }: { readonly threads: number; readonly busy: boolean }): Polars | undefined {
  if (spawnSync('python3', ['-c', 'import polars'], { stdio: 'ignore' }).status !== 0) return undefined
  const python: ChildProcessWithoutNullStreams = spawn('python3', ['-c', SERVER], {
    env: { ...process.env, POLARS_MAX_THREADS: String(threads) },
  })
  python.stderr.pipe(process.stderr)
  const waiting: ((line: string) => void)[] = []
  createInterface(python.stdout).on('line', (line) => waiting.shift()?.(line))
  return {
    async run(code) {
      const said = await new Promise<string>((resolve) => {
        waiting.push(resolve)
        python.stdin.write(`${JSON.stringify({ code, busy })}\n`)
      })
      const { ms, answer, error } = JSON.parse(said) as { ms: number; answer: unknown; error?: string }
      if (error !== undefined) throw new Error(`Polars: ${error}`)
      return { ms, answer }
    },
    stop: () => python.stdin.end(),
  }
}
