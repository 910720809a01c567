/**
 * How fast are loop kernels on one thread? For each question:
 *
 *     plain       the lambda as written, called with get and set on plain views of typed arrays
 *     js          the JavaScript kernel
 *     exact       the WebAssembly kernel, with the bits of plain JavaScript
 *     fast        the WebAssembly kernel in precision 'fast'
 *     c++         g++ -O3 -march=native; and with -ffast-math; absent where there is no compiler
 *
 * One pass of each again and again, so that a slow minute of the machine hits all; medians are printed, ratios are
 * medians of the ratios of passes that stood next to each other. As JSON in bench/results. Nothing is asserted.
 *
 *     npx tsx bench/kernels.bench.ts --passes 15
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { DenseStorage } from '../src/core/storage.ts'
import { KernelBench } from './kernelLoops.ts'
import { type View, viewOf } from './plainViews.ts'
import { median, table } from './statistics.ts'

type Views = Readonly<Record<string, View>>

interface Question {
  readonly name: string
  /** Arguments of the C++ program. */
  readonly native: readonly [question: string, size: number, count: number]
  /** What one unit of the printed time is. */
  readonly units: number
  readonly unit: string
  readonly arrays: () => Readonly<Record<string, DenseStorage>>
  readonly over:
    | readonly number[]
    | { readonly shape: readonly number[]; readonly keys: readonly (readonly number[])[]; readonly values: readonly number[] }
  readonly body: (...args: never[]) => unknown
}

const text = { type: 'string' } as const
const { values: options } = parseArgs({ options: { passes: text, only: text } })
const passes = Number(options.passes ?? 15)
const WARM_UP = 4
const folder = dirname(fileURLToPath(import.meta.url))
const bench = new KernelBench()
const compilers = { 'c++': compile([]), 'c++ fast-math': compile(['-ffast-math']) }

const results = []
for (const question of [16, 32, 128].flatMap((K) => [factorization('f32', K), factorization('f64', K)]).concat(product(200), jacobi(500))) {
  if (!question.name.includes(options.only ?? '')) continue
  results.push({ question: question.name, ...(await ask(question)) })
}
await bench.stop()
const columns = ['plain', 'js', 'exact', 'fast', 'c++', 'c++ fast-math'] as const
console.log(`${cpus()[0]?.model ?? 'unknown processor'}, Node ${process.version}, medians of ${passes} passes`)
console.log(
  table(
    ['ns per', ...columns, 'plain / exact', 'js / exact', 'c++ / exact', 'c++ / fast', 'kernel'],
    results.map(({ question, unit, ns, ratios, kernel }) => [
      `${question}, ${unit}`,
      ...columns.map((name) => numberText(ns[name])),
      ...(['plain / exact', 'js / exact', 'c++ / exact', 'c++ / fast'] as const).map((name) => numberText(ratios[name], 2)),
      kernel,
    ]),
  ),
)
mkdirSync(join(folder, 'results'), { recursive: true })
const machine = { processor: cpus()[0]?.model, cores: cpus().length, node: process.version, passes }
writeFileSync(join(folder, 'results', 'kernels.json'), `${JSON.stringify({ machine, results }, null, 2)}\n`)

async function ask(question: Question) {
  const own = () => ({ arrays: question.arrays(), over: overOf(question) })
  const loops = {
    js: prepared(question, own(), { kernel: 'js' }),
    exact: prepared(question, own(), {}),
    fast: prepared(question, own(), { options: { precision: 'fast' } }),
  }
  const plain = plainPass(question, own())
  const times: Record<string, number[]> = { plain: [], js: [], exact: [], fast: [], 'c++': [], 'c++ fast-math': [] }
  for (let pass = 0; pass < passes + WARM_UP; pass++) {
    const taken: Record<string, number> = { plain: timed(plain) }
    for (const name of ['js', 'exact', 'fast'] as const) taken[name] = (await loops[name].runPass(0)).milliseconds * 1e6
    for (const name of ['c++', 'c++ fast-math'] as const) taken[name] = nativePass(compilers[name], question)
    if (pass >= WARM_UP) for (const [name, list] of Object.entries(times)) list.push((taken[name] ?? Number.NaN) / question.units)
  }
  const ratio = (a: string, b: string) => median((times[a] ?? []).map((time, i) => time / (times[b]?.[i] ?? Number.NaN)))
  const ns = Object.fromEntries(Object.entries(times).map(([name, list]) => [name, median(list)]))
  const pairs = [
    ['plain', 'exact'],
    ['js', 'exact'],
    ['c++', 'exact'],
    ['c++', 'fast'],
    ['c++ fast-math', 'fast'],
  ] as const
  const ratios = Object.fromEntries(pairs.map(([a, b]) => [`${a} / ${b}`, ratio(a, b)]))
  const kernel = loops.exact.kernel?.target ?? 'none'
  for (const [name, loop] of Object.entries(loops)) {
    for (const line of loop.innerLoops ?? []) console.log(`${question.name} ${name}: ${line}`)
    loop.dispose()
  }
  return { unit: question.unit, ns, ratios, kernel }
}

function overOf({ over }: Question) {
  return 'shape' in over ? bench.sparse(over.shape, over.keys, over.values) : over
}

type Own = { readonly arrays: Readonly<Record<string, DenseStorage>>; readonly over: ReturnType<typeof overOf> }

function prepared(question: Question, { arrays, over }: Own, how: Parameters<KernelBench['prepare']>[3]) {
  return bench.prepare(over, arrays, question.body, how)
}

/** The body as written, over views with get, set and row. */
function plainPass(question: Question, { arrays }: Own): () => void {
  const views = Object.fromEntries(Object.entries(arrays).map(([name, storage]) => [name, viewOf(storage)]))
  const body = question.body as unknown as (...args: unknown[]) => void
  const { over } = question
  if ('shape' in over) return () => over.keys.forEach((key, i) => void body(over.values[i], key, views))
  const [rows = 1, columns] = over
  if (columns === undefined) return () => Array.from({ length: rows }).forEach((_, i) => void body([i], views))
  return () => {
    for (let i = 0; i < rows; i++) for (let j = 0; j < columns; j++) body([i, j], views)
  }
}

function timed(run: () => void): number {
  const started = performance.now()
  run()
  return (performance.now() - started) * 1e6
}

/** The fastest of five passes of a program of its own: the first ones touch its memory. */
function nativePass(program: string | undefined, { native: [question, size, count] }: Question): number {
  if (program === undefined) return Number.NaN
  const { stdout } = spawnSync(program, [question, String(size), String(count), '5'], { encoding: 'utf8' })
  return Math.min(...stdout.trim().split('\n').map(Number))
}

function compile(flags: readonly string[]): string | undefined {
  const program = join(mkdtempSync(join(tmpdir(), 'kernels-')), 'kernels')
  const source = join(folder, 'native', 'kernels.cpp')
  const { status } = spawnSync('g++', ['-O3', '-march=native', ...flags, '-o', program, source])
  return status === 0 ? program : undefined
}

function numberText(value: number | undefined, digits = 1): string {
  return value === undefined || Number.isNaN(value) ? 'absent' : value.toFixed(digits)
}

// ------------------------------------------------------------------ questions

function factorization(dtype: 'f32' | 'f64', K: number): Question {
  const [count, side, rate, penalty] = [Math.round(1_600_000 / K), 100, 0.001, 0.08]
  // Sorted by key, as sparse arrays are; the cache holds both matrices.
  const keys = Array.from({ length: side * side }, (_, i) => [Math.floor(i / side), i % side])
  const used = Array.from({ length: Math.min(count, keys.length) }, (_, i) => keys[i] as number[])
  return {
    name: `factorization ${dtype} rank ${K}`,
    native: [dtype === 'f32' ? 'mf32' : 'mf64', K, used.length],
    units: used.length,
    unit: 'rating',
    arrays: () => ({
      W: bench.dense(dtype, [side, K], (i) => 0.01 * (i % 17)),
      H: bench.dense(dtype, [side, K], (i) => 0.01 * (i % 13)),
    }),
    over: { shape: [side, side], keys: used, values: used.map((_, i) => i % 5) },
    body: (stars: number, [u, m]: [number, number], { W, H }: { W: View; H: View }) => {
      const w = W.row(u)
      const h = H.row(m)
      let predicted = 0
      for (let k = 0; k < K; k++) predicted += w.get(k) * h.get(k)
      const error = stars - predicted
      for (let k = 0; k < K; k++) {
        const wk = w.get(k)
        const hk = h.get(k)
        w.set(k, wk + rate * (error * hk - penalty * wk))
        h.set(k, hk + rate * (error * wk - penalty * hk))
      }
    },
  }
}

function product(n: number): Question {
  return {
    name: `matrix product ${n}`,
    native: ['product', n, 1],
    units: n * n * n,
    unit: 'multiplication',
    arrays: () => ({
      A: bench.dense('f64', [n, n], (i) => 0.01 * (i % 17)),
      B: bench.dense('f64', [n, n], (i) => 0.01 * (i % 13)),
      C: bench.dense('f64', [n, n], () => 0),
    }),
    over: [n],
    body: ([i]: [number], { A, B, C }: Views & { A: View; B: View; C: View }) => {
      for (let k = 0; k < n; k++) {
        const a = A.get(i, k)
        for (let j = 0; j < n; j++) C.set(i, j, C.get(i, j) + a * B.get(k, j))
      }
    },
  }
}

function jacobi(n: number): Question {
  return {
    name: `jacobi ${n}`,
    native: ['jacobi', n, 1],
    units: (n - 2) * (n - 2),
    unit: 'element',
    arrays: () => ({
      A: bench.dense('f64', [n, n], (i) => 0.01 * (i % 17)),
      B: bench.dense('f64', [n, n], () => 0),
    }),
    over: [n],
    body: ([i]: [number], { A, B }: Views & { A: View; B: View }) => {
      if (i === 0 || i === n - 1) return
      for (let j = 1; j < n - 1; j++) B.set(i, j, 0.25 * (A.get(i - 1, j) + A.get(i + 1, j) + A.get(i, j - 1) + A.get(i, j + 1)))
    },
  }
}
