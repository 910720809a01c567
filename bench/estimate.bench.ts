/**
 * How well is a pass estimated from its body? Each body runs on one thread; printed are what was predicted before the first
 * pass, the median of the passes after it, and the ratio of the two; loops that are over before one can say so are left out.
 * Nothing is asserted.
 *
 *     npm run bench -- estimate --only Jacobi
 *     npm run bench -- estimate --busy        for a busy machine: processor time instead of the wall's, and the least
 */
import { parseArgs } from 'node:util'
import { type Loop, Session } from 'distarray'
import { machineText, save } from './harness.ts'
import { bodies } from './questions/bodies.ts'
import { gaussSeidel, jacobi, product, smithWaterman } from './questions/dense.ts'
import { factorization } from './questions/factorization.ts'
import { gibbs, kMeans, logisticRegression } from './questions/learning.ts'
import type { KernelQuestion } from './questions/question.ts'
import { bodies as nBody, pageRank } from './questions/simulation.ts'
import { median, table } from './statistics.ts'

const { values } = parseArgs({ options: { quick: { type: 'boolean' }, busy: { type: 'boolean' }, only: { type: 'string' } } })
const SIZE = { users: 200, movies: 200, perUser: 100 }
const QUESTIONS: readonly KernelQuestion[] = [
  ...[16, 32, 128].flatMap((K) =>
    (['f32', 'f64'] as const).map((dtype) => factorization(`factorization ${dtype}, rank ${K}`, dtype, K, SIZE)),
  ),
  factorization('factorization f32, rank 32, 200,000 rows', 'f32', 32, { users: 200_000, movies: 200_000, perUser: 1 }),
  product(200),
  jacobi(1000, 'rows'),
  jacobi(1000, 'elements'),
  gaussSeidel(1000),
  smithWaterman(1000),
  logisticRegression(20_000, 10_000),
  kMeans(20_000),
  nBody(500),
  pageRank(50_000),
  gibbs(10_000, 2_000),
]
const PASSES = values.quick === true ? 5 : 9

interface Row {
  readonly name: string
  readonly kernel: string
  readonly predictedMs: number
  readonly measuredMs: number
}

const session = await Session.start({ workers: 1, progress: false })
const rows: Row[] = []
console.log(`estimate: ${machineText()}`)
for (const precision of ['exact', 'fast'] as const) {
  for (const { name, loop } of bodies) if (wanted(name)) await measure(`${name}, ${precision}`, [await loop(session, { precision })])
  for (const { name, program } of QUESTIONS) {
    if (!wanted(name)) continue
    const { loops, arrays } = await program(session, precision)
    await measure(`${name}, ${precision}`, loops)
    for (const array of arrays) await array.release()
  }
}
await session.stop()
print()

function wanted(name: string): boolean {
  return name.includes(values.only ?? '')
}

/** Each loop of a program is a row of its own; a pass of it follows one of each of the others. */
async function measure(name: string, loops: readonly Loop[]): Promise<void> {
  const predicted: number[] = []
  const times: number[][] = loops.map(() => [])
  for (let pass = -2; pass < PASSES; pass++) {
    for (const [at, loop] of loops.entries()) {
      const before = process.cpuUsage()
      const report = await loop.run()
      const { user, system } = process.cpuUsage(before)
      predicted[at] ??= report.predictedMilliseconds ?? Number.NaN
      const milliseconds = values.busy === true ? (user + system) / 1000 : report.passes[0]?.milliseconds
      if (pass >= 0) times[at]?.push(milliseconds ?? Number.NaN)
    }
  }
  for (const [at, loop] of loops.entries()) {
    const label = loops.length === 1 ? name : `${name}, loop ${at + 1}`
    rows.push({
      name: label,
      kernel: loop.plan.kernel.target,
      predictedMs: predicted[at] ?? Number.NaN,
      measuredMs: middle(times[at] ?? []),
    })
  }
}

function middle(times: readonly number[]): number {
  return values.busy === true ? Math.min(...times) : median(times)
}

/** A run of a short loop is more than its pass. */
function isLong({ measuredMs }: Row): boolean {
  return measuredMs > 0.3
}

function print(): void {
  const head = ['body', 'kernel', 'predicted ms', 'measured ms', 'predicted / measured']
  const lines = rows
    .filter(isLong)
    .map(({ name, kernel, predictedMs, measuredMs }) => [
      `  ${name}`,
      kernel,
      predictedMs.toPrecision(3),
      measuredMs.toPrecision(3),
      (predictedMs / measuredMs).toFixed(2),
    ])
  console.log(table(head, lines))
  const ratios = rows
    .filter(isLong)
    .map(({ predictedMs, measuredMs }) => predictedMs / measuredMs)
    .filter((ratio) => !Number.isNaN(ratio))
  const within = (factor: number): number => ratios.filter((ratio) => ratio <= factor && ratio >= 1 / factor).length
  console.log(`\nwithin a factor of 2: ${within(2)} of ${ratios.length}; of 3: ${within(3)}; of 5: ${within(5)}`)
  save('estimate', { rows })
}
