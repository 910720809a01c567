/**
 * Additions that do not wait for each other: a histogram, and the smallest and largest value seen.
 *
 * `add` says that the order of additions does not matter, so a loop whose iterations meet in one bin is parallel still.
 * With `get` and `set` it the first run has to inspect which iterations meet; the plan says which two accesses are in the way.
 */
import { Session } from 'distarray'

await using session = await Session.start()

const heights = session.random([200_000], { distribution: 'normal', scale: 10, seed: 7 })
const bins = session.zeros([12], { dtype: 'i32' })
const [least, most, outside] = [session.accumulator('min'), session.accumulator('max'), session.accumulator('count')]

const histogram = session.loop(heights, { bins, least, most, outside }, (height, _key, { bins, least, most, outside }) => {
  least.add(height)
  most.add(height)
  const bin = Math.floor(height / 5) + 6
  if (bin >= 0 && bin < 12) bins.add(bin, 1)
  else outside.add(1)
})
await histogram.run()

const counts = Array.from(await bins.toTypedArray(), Number)
for (const [bin, count] of counts.entries())
  console.log(`${String((bin - 6) * 5).padStart(4)} ${'#'.repeat(Math.round(count / 1000))} ${count}`)
console.log(
  `outside ${outside.value}, from ${least.value.toFixed(2)} to ${most.value.toFixed(2)}, schedule ${histogram.plan.schedule.kind}`,
)

const ordered = session.loop(heights, { bins }, (height, _key, { bins }) => {
  const bin = Math.max(0, Math.min(11, Math.floor(height / 5) + 6))
  bins.set(bin, bins.get(bin) + 1)
})
const { schedule, dependences } = ordered.plan
const kinds = dependences.map((dependence) => dependence.kind).join(', ')
console.log(`with get and set: ${schedule.kind}, since iterations may meet in ${dependences[0]?.array} (${kinds})`)

// prints:
//  -30 # 989
//  -25 ### 3214
//  -20 ######### 8813
//  -15 ################## 18373
//  -10 ############################## 30105
//   -5 ###################################### 38372
//    0 ###################################### 38071
//    5 ############################## 30296
//   10 ################## 18210
//   15 ######### 8748
//   20 ### 3238
//   25 # 994
// outside 577, from -47.21 to 50.57, schedule independent
// with get and set: colored, since iterations may meet in bins (flow, output, anti)
