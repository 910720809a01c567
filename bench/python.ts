/** Peers that are libraries of Python, in a Python of their own that is told what to run and says how long it took. */
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process'
import { createInterface } from 'node:readline'

const SERVER = `
import sys, time, json, datetime
names = {'datetime': datetime}
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

export interface Python {
  /** The milliseconds, and what was left in `answer`. */
  run(code: string): Promise<{ readonly ms: number; readonly answer: unknown }>
  stop(): Promise<void>
}

/** Polars, as `pl`, with so many threads; undefined where `python3` has none. `busy`: it is timed by what it computes. */
export async function startPolars({ threads, busy }: { readonly threads: number; readonly busy: boolean }): Promise<Python | undefined> {
  return await startPython('polars', 'import polars as pl', { busy, env: { POLARS_MAX_THREADS: String(threads) } })
}

/** PySpark, with a session `spark` of a server; undefined where `python3` has none that can be a client. */
export async function startPySpark(address: string, { busy }: { readonly busy: boolean }): Promise<Python | undefined> {
  const start = `from pyspark.sql import SparkSession\nspark = SparkSession.builder.remote('${address}').getOrCreate()`
  return await startPython('pyspark.sql.connect.session', start, { busy, env: {} })
}

/** Numba's compiler as `njit`, with `np`, `math` and `random`; undefined where `python3` has none. */
export async function startNumba({ busy }: { readonly busy: boolean }): Promise<Python | undefined> {
  return await startPython('numba', 'import math, random\nimport numpy as np\nfrom numba import njit', { busy, env: {} })
}

async function startPython(
  library: string,
  start: string,
  { busy, env }: { readonly busy: boolean; readonly env: Readonly<Record<string, string>> },
): Promise<Python | undefined> {
  if (spawnSync('python3', ['-c', `import ${library}`], { stdio: 'ignore' }).status !== 0) return undefined
  const python: ChildProcessWithoutNullStreams = spawn('python3', ['-c', SERVER], { env: { ...process.env, ...env } })
  python.stderr.pipe(process.stderr)
  const waiting: ((line: string | undefined) => void)[] = []
  createInterface(python.stdout)
    .on('line', (line) => waiting.shift()?.(line))
    .on('close', () => waiting.shift()?.(undefined))
  const run: Python['run'] = async (code) => {
    const said = await new Promise<string | undefined>((resolve) => {
      waiting.push(resolve)
      python.stdin.write(`${JSON.stringify({ code, busy })}\n`)
    })
    if (said === undefined) throw new Error(`${library}: its Python ended`)
    const { ms, answer, error } = JSON.parse(said) as { ms: number; answer: unknown; error?: string }
    if (error !== undefined) throw new Error(`${library}: ${error}`)
    return { ms, answer }
  }
  await run(start)
  const ended = new Promise<void>((resolve) => python.once('exit', () => resolve()))
  return {
    run,
    stop: async () => {
      python.stdin.end()
      await ended
    },
  }
}
