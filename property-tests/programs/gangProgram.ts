/**
 * A program that prints what its loops give, the same alone and on several processes, one of which is killed on its way, and then another. What
 * stands before Session.start() runs in every process.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Session, TaskError, type TypedArray } from '../../src/index.ts'
import { shortPassesOnWorkers } from '../../src/session/runtime.ts'

const { DA_RANK: rank, DA_WORLD: world, FOLDER: folder = '' } = process.env
if (rank !== undefined) writeFileSync(join(folder, `pid${rank}`), String(process.pid))
process.on('exit', (code) => {
  if (rank !== undefined) writeFileSync(join(folder, `end${rank}`), String(code))
})

// threads take seconds to start from the sources: one process with some will do
const session = await Session.start({ workers: rank === undefined || rank === '0' ? 2 : 1, memory: '256MB', ...shortPassesOnWorkers })
const events: string[] = []
session.events.subscribe((event) => {
  if (event.kind === 'pass' || event.kind === 'process') events.push(`${event.kind} ${event.phase}`)
})
const print = (...values: readonly unknown[]): void => console.log(...values)

/** Enough to tell two arrays apart by a bit. */
async function digestOf(array: { toTypedArray(): Promise<TypedArray> }): Promise<number> {
  const bytes = new Uint8Array(Float64Array.from((await array.toTypedArray()) as Float64Array).buffer) // numbers
  return bytes.reduce((hash, byte) => (Math.imul(hash, 31) + byte) | 0, 7)
}

// an independent loop: a captured number that changes, a table, an accumulator, a generator, an array that is only added to
const n = 9000
const x = session.random([n, 3], { seed: 1 })
const y = session.zeros([n])
const bins = session.zeros([16])
const total = session.accumulator('sum')
const rng = session.rng(5)
const weights = Float64Array.of(0.5, 0.25, 0.125)
let rate = 0.5
const step = session.loop(
  session.range(n),
  { x, y, bins, total, rng, weights },
  ([i], { x, y, bins, total, rng, weights }) => {
    let sum = 0
    for (let k = 0; k < 3; k++) sum += x.get(i, k) * (weights[k] as number) * rate
    y.set(i, y.get(i) + sum + rng.uniform())
    bins.add(i % 16, sum)
    total.add(sum)
  },
  { name: 'step' },
)
for await (const pass of step.passes(3)) {
  print(pass.number, pass.iterations, pass.accumulators.total)
  rate /= 2
  weights[0] = 1 + pass.number
  if (pass.number === 2) await y.set([8999], -1) // a write of the program's between two passes
}
await step.run({ passes: 2 })
print('y', await digestOf(y), 'bins', await digestOf(bins))
print('verified', (await step.verify()).identical, step.plan.schedule.kind)

// elements of a sparse array, along an axis; a combined accumulator; values that the body returns
const sparse = session
  .fromColumns({
    user: Int32Array.from({ length: 4000 }, (_, i) => i % 97),
    movie: Int32Array.from({ length: 4000 }, (_, i) => Math.floor(i / 97)),
    stars: Float64Array.from({ length: 4000 }, (_, i) => i / 7),
  })
  .index((r) => [r.user, r.movie])
  .map((r) => r.stars)
const perUser = session.zeros([97], { dtype: 'f32' })
const longest = session.accumulator({ init: '', combine: (a: string, b: string) => (b.length > a.length ? b : a) })
const rows = session.loop(sparse, { perUser, longest }, (stars, [u, m], { perUser, longest }) => {
  perUser.set(u, perUser.get(u) * 0.5 + stars)
  longest.add(`${u},${m}`)
})
await rows.run({ passes: 2 })
print(rows.plan.schedule.kind, await digestOf(perUser), longest.value)
const columns = session.loop(session.range(40, 60), { g: session.random([40, 61], { seed: 3 }) }, ([i, j], { g }) => {
  g.set(i, j + 1, g.get(i, j + 1) * 0.5 + g.get(i, j))
})
await columns.run()
print(columns.plan.schedule.kind, 'verified', (await columns.verify()).identical)

// an error tells key and cause, and the array is marked
const bad = session.loop(session.range(n), { y }, ([i], { y }) => {
  if (i >= 7001) throw new RangeError(`no ${i}`)
  y.set(i, 1)
})
const error = await bad.run().catch((caught: unknown) => caught)
if (error instanceof TaskError) print('error', error.key, (error.cause as Error).name, error.message)
print(await y.toTypedArray().then(String, (caught: Error) => caught.message))
await y.assign([null], new Float64Array(n))

// an abort ends a pass that would take long, here and elsewhere
const turns = 100_000
const slow = session.loop(session.range(6400), { y }, ([i], { y }) => {
  let sum = 0
  for (let k = 0; k < turns; k++) sum += Math.sqrt(k + i)
  y.set(i, sum)
})
const aborting = new AbortController()
setTimeout(() => aborting.abort(new Error('enough')), 250)
const started = performance.now()
print('aborted', await slow.run({ signal: aborting.signal }).catch((caught: Error) => caught.message), performance.now() - started < 3000)
print(events.filter((event) => event === 'pass finished').length, 'passes')

// a process that is killed in the middle of a pass: those that are left run it again
const killing = world === undefined ? undefined : setTimeout(() => process.kill(pidOf(1), 'SIGKILL'), 150)
await y.assign([null], new Float64Array(n))
const pass = session.loop(session.range(6400), { y }, ([i], { y }) => {
  let sum = y.get(i)
  for (let k = 0; k < turns / 2; k++) sum += Math.sqrt(k + i)
  y.set(i, sum)
})
await pass.run({ passes: 2 })
clearTimeout(killing)
print('y', await digestOf(y))
await columns.run()
print('columns', (await columns.verify()).identical)

if (world !== undefined) {
  print('together', step.plan.execution.processes?.count, slow.plan.execution.processes?.count)
  print('left', pass.plan.execution.processes?.count, events.filter((event) => event === 'process lost').length)
  while (!events.includes('process joined')) await new Promise((resolve) => setTimeout(resolve, 20))
  await columns.run()
  print('joined', columns.plan.execution.processes?.count, (await columns.verify()).identical)
  process.exitCode = 3
}
await session.stop()

function pidOf(other: number): number {
  return Number(readFileSync(join(folder, `pid${other}`), 'utf8'))
}
