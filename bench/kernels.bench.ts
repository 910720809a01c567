/**
 * How fast are loops, against plain JavaScript and C++? Each question is a loop body as one would write it, run through the
 * public API:
 *
 *     exact, fast    the library with one worker, by precision; x2: with two workers
 *     plain          the same written by hand as plain JavaScript over typed arrays
 *     as written     the same bodies, called one iteration after another with arrays whose elements are reached by methods
 *                    (bench/serial.ts, as plain is); it takes part in one round of four
 *     c++            bench/native/kernels.cpp, g++ -O3 -march=native; with -ffast-math; x2: with -fopenmp on two threads.
 *                    Absent where there is no compiler, or no parallel form
 *
 * The first pass of all contenders is compared before anything is measured: `exact` must have the bits of plain JavaScript,
 * or be verified where the order is free, all worker counts must have the same bits, and C++ and `fast` nearly the same sum.
 *
 *     npm run bench -- kernels --only Jacobi --workers 2
 */
import { availableParallelism } from 'node:os'
import { Session } from 'distarray'
import { type Answer, assertSame, type Pass, suite, timed } from './harness.ts'
import { compiled, startNative, startScript } from './native.ts'
import { QUESTIONS } from './questions/all.ts'
import type { KernelQuestion, Numbers, Program } from './questions/question.ts'
import { geometricMean, table } from './statistics.ts'

const bench = suite('kernels', { workers: availableParallelism() })
const { workers } = bench.options
const { busy } = bench
/** Names of contenders: as many workers or threads as were asked for. */
const [exactAll, fastAll, nativeAll] = [`exact x${workers}`, `fast x${workers}`, `c++ x${workers}`]
const AS_WRITTEN = 'as written'
const many = await Session.start({ workers, progress: false })
const one = await Session.start({ workers: 1, progress: false })
const programs = {
  strict: compiled('kernels.cpp'),
  fastMath: compiled('kernels.cpp', ['-ffast-math']),
  parallel: compiled('kernels.cpp', ['-fopenmp']),
}
/** How far the sums of `fast` may be from those of `exact`, and of C++ from plain JavaScript's, as a part of them: orders differ. */
const NEARLY = 1e-2

const answers: Answer[] = []
/** Questions that `fast` computes several elements of at a time, by their names. */
const inLanes = new Set<string>()
for (const [number, make] of QUESTIONS.entries()) {
  const question = make()
  if (bench.wanted(question.name)) answers.push(await ask(question, number))
}
await many.stop()
await one.stop()
console.log(`\nthe peer's time / the library's\n${overview(answers)}`)
bench.finish()

async function ask(question: KernelQuestion, number: number): Promise<Answer> {
  const serial = {
    plain: startScript('serial.ts', [number, 'plain'], busy),
    [AS_WRITTEN]: startScript('serial.ts', [number, AS_WRITTEN], busy),
  }
  const own: Readonly<Record<string, Program>> = {
    exact: await question.program(one, 'exact'),
    [exactAll]: await question.program(many, 'exact'),
    fast: await question.program(one, 'fast'),
    [fastAll]: await question.program(many, 'fast'),
  }
  const plain = question.plain()
  const peers = {
    ...serial,
    'c++': startNative(programs.strict, question.native, { busy }),
    'c++ fast-math': startNative(programs.fastMath, question.native, { busy }),
    [nativeAll]: question.isNativeParallel && !busy ? startNative(programs.parallel, question.native, { threads: workers }) : undefined,
  }
  const { passes = 1 } = question
  const ownPasses = Object.entries(own).map(([name, program]) => [name, passOf(program, passes)] as const)
  const plainPasses = timed(() => {
    for (let i = 0; i < passes; i++) plain.pass()
  })
  await firstPass(question, own, plain.results, [...ownPasses.map(([, pass]) => pass), plainPasses])
  for (const [name, peer] of Object.entries(peers)) {
    if (peer === undefined) continue
    await inARow(peer.pass, passes)()
    assertNear(
      `${question.name}, ${name}`,
      await peer.sum(),
      plain.results.reduce((sum, values) => sum + sumOf(values), 0),
    )
  }
  if (own.fast?.loops.some(({ plan }) => plan.kernel.target === 'wasm-simd') === true) inLanes.add(question.name)
  const answer = await bench.ask({
    ...question,
    units: question.units * passes,
    contenders: {
      ...Object.fromEntries(ownPasses.map(([name, pass]) => [name, busy && (name === exactAll || name === fastAll) ? undefined : pass])),
      ...Object.fromEntries(Object.entries(peers).map(([name, peer]) => [name, peer && inARow(peer.pass, passes)])),
    },
    peers: ['exact', ...Object.keys(peers)],
    seldom: [AS_WRITTEN],
    notes: notesOf(own),
  })
  for (const peer of Object.values(peers)) peer?.stop()
  for (const { arrays } of Object.values(own)) for (const array of arrays) await array.release()
  return answer
}

function passOf({ loops }: Program, passes: number): Pass {
  return timed(async () => {
    for (const loop of loops) await loop.run({ passes })
  })
}

/** The time of so many passes, one at once after the other. */
function inARow(pass: Pass, passes: number): Pass {
  return async () => {
    let milliseconds = 0
    for (let i = 0; i < passes; i++) milliseconds += await pass()
    return milliseconds
  }
}

/** Runs the first pass of the library and of plain JavaScript, and compares. */
async function firstPass(
  { name, order }: KernelQuestion,
  own: Readonly<Record<string, Program>>,
  plain: readonly Numbers[],
  passes: readonly (() => number | Promise<number>)[],
): Promise<void> {
  if (order === 'any') {
    for (const loop of own.exact?.loops ?? []) {
      const { identical, firstDifference } = await loop.verify()
      if (!identical) throw new Error(`${name}: ${JSON.stringify(firstDifference)}`)
    }
  }
  for (const pass of passes) await pass()
  const results = new Map<string, readonly Numbers[]>()
  for (const [contender, program] of Object.entries(own)) results.set(contender, await valuesOf(program))
  for (const [i, expected] of plain.entries()) {
    const of = (contender: string) => results.get(contender)?.[i] ?? []
    if (order === 'serial') assertSame(`${name}, exact against plain`, of('exact'), expected)
    assertSame(`${name}, exact with 1 and ${workers} workers`, of('exact'), of(exactAll))
    assertSame(`${name}, fast with 1 and ${workers} workers`, of('fast'), of(fastAll))
    assertNear(`${name}, fast`, sumOf(of('fast')), sumOf(of('exact')))
  }
}

async function valuesOf({ results }: Program): Promise<readonly Numbers[]> {
  const values: Numbers[] = []
  for (const array of results) values.push((await array.toTypedArray()) as Numbers) // of the dtypes that questions use
  return values
}

function sumOf(values: ArrayLike<number> = []): number {
  let sum = 0
  for (let i = 0; i < values.length; i++) sum += values[i] ?? Number.NaN
  return sum
}

function assertNear(what: string, sum: number, expected: number): void {
  if (!(Math.abs(sum - expected) <= NEARLY * Math.abs(expected))) throw new Error(`${what}: its sum is ${sum}, not about ${expected}.`)
}

/** How each loop ran, with all workers. */
function notesOf(own: Readonly<Record<string, Program>>): string[] {
  return (own[exactAll]?.loops ?? []).map(({ plan }) => {
    const because = plan.kernel.because?.[0]?.message
    const kernel = because === undefined ? plan.kernel.target : `${plan.kernel.target} (${because})`
    return `${plan.schedule.kind}, ${kernel}, on the ${plan.execution.where === 'workers' ? 'workers' : `caller: ${plan.execution.because}`}`
  })
}

function overview(all: readonly Answer[]): string {
  const columns: readonly (readonly [title: string, contender: string, peer: string])[] = [
    ['as written / exact', 'exact', AS_WRITTEN],
    ['plain / exact', 'exact', 'plain'],
    ['c++ / exact', 'exact', 'c++'],
    ['as written / fast', 'fast', AS_WRITTEN],
    ['plain / fast', 'fast', 'plain'],
    ['c++ / fast', 'fast', 'c++'],
    ['fast-math / fast', 'fast', 'c++ fast-math'],
    [`exact / ${exactAll}`, exactAll, 'exact'],
    [`${nativeAll} / ${exactAll}`, exactAll, nativeAll],
  ]
  const text = (ratio: number | undefined) => (ratio === undefined || Number.isNaN(ratio) ? '' : ratio.toFixed(2))
  const ratiosOf = ({ speed }: Answer) => columns.map(([, contender, peer]) => speed[contender]?.[peer])
  const meansOf = (some: readonly Answer[]) => columns.map((_, i) => geometricMean(some.flatMap((answer) => ratiosOf(answer)[i] ?? [])))
  return table(
    ['', ...columns.map(([title]) => title)],
    [
      ...all.map((answer) => [answer.name, ...ratiosOf(answer).map(text)]),
      ['geometric mean', ...meansOf(all).map(text)],
      ['of those with lanes', ...meansOf(all.filter(({ name }) => inLanes.has(name))).map(text)],
    ],
  )
}
