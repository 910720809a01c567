/**
 * The test kit in an application: its own functions, checked with one worker, with several, and against plain
 * JavaScript, over inputs that fast-check makes up. In a test runner each check below is the body of a test.
 */
import { type DistArray, type Loop, Session, sum } from 'distarray'
import { assertParallel, expectSerialEqualsParallel, plans, tableEquals } from 'distarray/testing'
import fc from 'fast-check'

// The application: exponential smoothing of every sensor's readings, and their totals.
function smoothing(session: Session, readings: DistArray<number, readonly [number, number]>, sensors: number, times: number): Loop {
  return session.loop(session.range(sensors, times), { readings }, ([s, t], { readings }) => {
    if (t > 0) readings.set(s, t, 0.9 * readings.get(s, t - 1) + 0.1 * readings.get(s, t))
  })
}
function totals(rows: DistArray<{ readonly sensor: number; readonly value: number }>) {
  return rows.groupBy((r) => r.sensor).agg({ total: sum((r) => r.value) })
}

// 1. The loop gives the serial program's bits, whatever the data and the cut.
const size = fc.integer({ min: 1, max: 20 })
await expectSerialEqualsParallel(
  async (session, sensors: number, times: number, seed: number) => {
    const readings = session.random([sensors, times], { seed })
    await smoothing(session, readings, sensors, times).run()
    return readings
  },
  { arbitraries: [size, size, fc.nat(1000)], workers: [2, 3], partitions: [1, 4], runs: 10 },
)
console.log('smoothing: the same bits with 1, 2 and 3 workers, in 1 and 4 blocks')

// 2. And it is parallel: an edit that makes it serial fails this test, with the two accesses in the way.
await using session = await Session.start({ workers: 2 })
assertParallel(smoothing(session, session.zeros([9, 9]), 9, 9))
console.log('smoothing: parallel')

// 3. A table against plain JavaScript, in any order of rows.
const rows = Array.from({ length: 100 }, (_, i) => ({ sensor: i % 7, value: i / 4 }))
const expected = Array.from({ length: 7 }, (_, key) => ({
  key,
  total: rows.filter((r) => r.sensor === key).reduce((sum, r) => sum + r.value, 0),
}))
console.log(`totals: as expected ${await tableEquals(totals(session.fromRows(rows)), expected, { order: 'any' })}`)

// 4. Whole chains made up by the kit, each beside the arrays it should give.
await expectSerialEqualsParallel(
  async (session, plan) => {
    const result = await plan.build(session).collect()
    if (!(await tableEquals(result, plan.expected()))) throw new Error(`${plan.text} gave ${JSON.stringify(result)}`)
    return result
  },
  { arbitraries: [plans()], runs: 10, seed: 1 },
)
console.log('chains: as plain arrays give them')

// prints:
// smoothing: the same bits with 1, 2 and 3 workers, in 1 and 4 blocks
// smoothing: parallel
// totals: as expected true
// chains: as plain arrays give them
