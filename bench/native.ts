/**
 * Peers that are programs of their own, and run a pass when they are asked to: those of bench/native, in C++, compiled here
 * (bench/native/bench.h), and of JavaScript without the library.
 */
import { type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { Pass } from './harness.ts'

export interface ProgramPeer {
  /** A pass, in milliseconds by the program's own clocks. */
  readonly pass: Pass
  /** The sum of what it has computed. */
  readonly sum: () => Promise<number>
  readonly stop: () => void
}

const folder = join(dirname(fileURLToPath(import.meta.url)), 'native')

/** Compiles bench/native/SOURCE with `g++ -O3 -march=native` and further flags, once for each content; undefined where that fails. */
export function compiled(source: string, flags: readonly string[] = []): string | undefined {
  const all = ['-std=c++17', '-O3', '-march=native', ...flags]
  const texts = [source, 'bench.h'].map((name) => readFileSync(join(folder, name), 'utf8'))
  const hash = createHash('sha256')
    .update([...all, ...texts].join('\n'))
    .digest('hex')
    .slice(0, 16)
  const programs = join(tmpdir(), 'distarray-bench')
  const program = join(programs, `${source}-${hash}`)
  mkdirSync(programs, { recursive: true })
  if (existsSync(program)) return program
  return spawnSync('g++', [...all, '-o', program, join(folder, source)]).status === 0 ? program : undefined
}

/** Starts a program; undefined where it could not be compiled. */
export function startNative(
  program: string | undefined,
  args: readonly (string | number)[],
  { threads = 1, busy = false }: { readonly threads?: number; readonly busy?: boolean } = {},
): ProgramPeer | undefined {
  if (program === undefined) return undefined
  // Between its passes the program must leave the processor to the others.
  const env = { ...process.env, OMP_NUM_THREADS: String(threads), OMP_WAIT_POLICY: 'passive' }
  return peerOf(`${args[0]} in C++`, spawn(program, args.map(String), { env, stdio: ['pipe', 'pipe', 'inherit'] }), busy)
}

/** Starts JavaScript without the library: a program of bench/ that answers (bench/answers.ts). */
export function startScript(source: string, args: readonly (string | number)[], busy: boolean): ProgramPeer {
  const all = ['--import', 'tsx', join(dirname(folder), source), ...args.map(String)]
  return peerOf(`${source} ${args.join(' ')}`, spawn(process.execPath, all, { stdio: ['pipe', 'pipe', 'inherit'] }), busy)
}

function peerOf(name: string, child: ChildProcessByStdio<Writable, Readable, null>, busy: boolean): ProgramPeer {
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const asked = async (question: string): Promise<number> => {
    child.stdin.write(`${question}\n`)
    const { done, value } = await lines.next()
    if (done === true) throw new Error(`${name} ended early.`)
    return Number(value)
  }
  return {
    pass: async () => (await asked(busy ? 'processor' : 'pass')) / 1e6,
    sum: () => asked('sum'),
    stop: () => child.stdin.end(),
  }
}
