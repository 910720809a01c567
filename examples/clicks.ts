/**
 * Sparse logistic regression: will somebody click? A sample has 20 of 262,144 features, a few of which are in most samples and most in
 * a few. Prints the loss by pass, and what it takes one of two processes to get the weights that it reads:
 *
 *     element by element    every read of a weight asks for it: counted, and taken to last as long as one number over the loopback
 *     bulk prefetch         the subscripts are computed ahead, and all that they name comes at once, before each round
 *     renumbered            the same with features numbered as they first occur, so that what is read often lies together
 *
 * It is the same program alone and on several processes, with the same losses:
 *
 *     npx distarray run --processes 2 -- npx tsx examples/clicks.ts
 */
import { type DistArray, Session } from 'distarray'
import { roundTripMs } from './support/roundTrip.ts'

const samples = Number(process.argv[2] ?? 200_000)
const features = 2 ** 18
const each = 20
const passes = 6
const flushes = 8

await using session = await Session.start()
// the k-th most frequent feature is in a sample about once in k times; neighbours in frequency are none in number
const feature = await session
  .random([samples, each], { seed: 1 })
  .map((x) => (Math.floor(features ** x) * 40_503) % features)
  .materialize()
const noise = session.random([samples], { seed: 2 })
const clicked = session.zeros([samples])
await session
  .loop(session.range(samples), { feature, noise, clicked }, ([i], { feature, noise, clicked }) => {
    let liking = 0
    for (let k = 0; k < each; k++) liking += ((feature.get(i, k) * 37) % 101) / 50 - 1
    clicked.set(i, 1 / (1 + Math.exp(-liking)) > noise.get(i) ? 1 : 0)
  })
  .run()

/** Pass by pass, the loss and what the pass took. A weight goes by the average of what the samples of a round say. */
async function training(feature: DistArray<number, readonly [number, number]>, weights: number) {
  const counts = session.zeros([weights])
  const count = session.loop(session.range(samples), { feature, counts }, ([i], { feature, counts }) => {
    for (let k = 0; k < each; k++) counts.add(feature.get(i, k), 1)
  })
  await count.run()
  const rates = await counts.map((count) => 0.5 / (1 + count / flushes)).materialize()
  const loop = session.loop(
    session.range(samples),
    { feature, clicked, rates, w: session.zeros([weights]).buffer({ flushes }), loss: session.accumulator('sum') },
    ([i], { feature, clicked, rates, w, loss }) => {
      let margin = 0
      for (let k = 0; k < each; k++) margin += w.get(feature.get(i, k))
      const p = 1 / (1 + Math.exp(-margin))
      const isClicked = clicked.get(i)
      loss.add(-Math.log(isClicked === 1 ? p : 1 - p))
      for (let k = 0; k < each; k++) w.add(feature.get(i, k), rates.get(feature.get(i, k)) * (isClicked - p))
    },
  )
  const losses: number[] = []
  let least = Number.POSITIVE_INFINITY
  for await (const { accumulators, milliseconds } of loop.passes(passes)) {
    losses.push((accumulators.loss ?? Number.NaN) / samples)
    least = Math.min(least, milliseconds)
  }
  return { losses, milliseconds: least, processes: loop.plan.execution.processes }
}

const bulk = await training(feature, features)
const numbers = new Map<number, number>()
const renumbered = Int32Array.from((await feature.toTypedArray()) as Float64Array, (k) => {
  const known = numbers.get(k) ?? numbers.size
  numbers.set(k, known)
  return known
})
const compact = await training(session.fromTypedArray(renumbered, [samples, each]), numbers.size)

console.log(`loss by pass       ${bulk.losses.map((loss) => loss.toFixed(4)).join('  ')}`)
console.log(`renumbered         ${compact.losses.map((loss) => loss.toFixed(4)).join('  ')}\n`)

const reads = Math.ceil(samples / 2) * each
const distinct = new Set(renumbered.subarray(0, reads)).size
const rows = [
  ['element by element', reads, 16 * reads, reads * (await roundTripMs())],
  ['bulk prefetch', flushes, 8 * distinct, bulk.milliseconds],
  ['renumbered', flushes, 8 * distinct, compact.milliseconds],
] as const
console.log(`${'one of two processes'.padEnd(22)}${['round trips', 'bytes', 'ms a pass'].map((name) => name.padStart(16)).join('')}`)
for (const [name, ...figures] of rows)
  console.log(`${name.padEnd(22)}${figures.map((figure) => Math.round(figure).toLocaleString('en').padStart(16)).join('')}`)
console.log(`\nround trips: ${(reads / flushes).toLocaleString('en')} times fewer`)
if (bulk.processes !== undefined) console.log(`${bulk.processes.count} processes: ${bulk.processes.because}`)

// prints:
// loss by pass       0.6132  0.3531  0.2667  0.2185  0.1866  0.1634
// renumbered         0.6132  0.3531  0.2667  0.2185  0.1866  0.1634
//
// one of two processes       round trips           bytes       ms a pass
// element by element           2,000,000      32,000,000 …
// bulk prefetch                        8       1,528,776 …
// renumbered                           8       1,528,776 …
//
// round trips: 250,000 times fewer
