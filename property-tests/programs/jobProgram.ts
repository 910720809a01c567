/**
 * Trains a model, the same alone and in a job of Slurm or Spark. In the job's first attempt a process of it is killed in the middle of a
 * pass and, once it has joined again, rank 0. What stands before Session.start() runs in every process.
 */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Session } from '../../src/index.ts'
import { checkpointInSmallSteps } from '../../src/session/checkpoint.ts'
import { shortPassesOnWorkers } from '../../src/session/runtime.ts'

const { DA_RANK: rank, DA_ATTEMPT: attempt = '0', FOLDER: folder = '' } = process.env
if (rank !== undefined) writeFileSync(join(folder, `pid${rank}`), String(process.pid))

const session = await Session.start({ workers: 1, memory: '256MB', progress: false, ...shortPassesOnWorkers, ...checkpointInSmallSteps() })
const say = (line: string): void => appendFileSync(join(folder, 'said'), `${attempt}: ${line}\n`)
const phases: string[] = []
session.events.subscribe((event) => {
  if (event.kind !== 'process') return
  phases.push(event.phase)
  say(`${event.phase} ${event.rank}`)
})

const [users, movies, K] = [60, 40, 4]
const W = session.random([users, K], { seed: 1 })
const H = session.random([movies, K], { seed: 2 })
const loss = session.accumulator('sum')
const turns = 200
const loop = session.loop(
  session.range(users, movies),
  { W, H, loss },
  ([u, m], { W, H, loss }) => {
    let predicted = 0
    for (let k = 0; k < K; k++) predicted += W.get(u, k) * H.get(m, k)
    let error = ((u * 7 + m * 3) % 5) - predicted
    for (let turn = 0; turn < turns; turn++) error = Math.tanh(error) * 1.001
    for (let k = 0; k < K; k++) {
      const w = W.get(u, k)
      W.set(u, k, w + 0.01 * error * H.get(m, k))
      H.set(m, k, H.get(m, k) + 0.01 * error * w)
    }
    loss.add(error * error)
  },
  { order: 'any' },
)
const isDoomed = rank !== undefined && attempt === '0'
for await (const pass of loop.passes(12)) {
  if (!isDoomed) continue
  if (pass.number === 3) setTimeout(() => process.kill(Number(readFileSync(join(folder, 'pid1'), 'utf8')), 'SIGKILL'), 2)
  if (pass.number === 6) while (!phases.includes('joined')) await new Promise((resolve) => setTimeout(resolve, 20))
  if (pass.number === 8) {
    say(`8 passes on ${loop.plan.execution.processes?.count}`)
    process.kill(process.pid, 'SIGKILL')
  }
}
if (rank !== undefined) say(`${loop.plan.checkpoint?.passesSkipped ? 'went on' : 'began'}, on ${loop.plan.execution.processes?.count}`)
const bytes = (array: Float64Array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString('hex')
const model = [...(await Promise.all([W, H].map((array) => array.toTypedArray()))), Float64Array.of(loss.value)]
writeFileSync(join(folder, rank === undefined ? 'alone' : 'model'), model.map((array) => bytes(array as Float64Array)).join('\n')) // numbers
await session.stop()
