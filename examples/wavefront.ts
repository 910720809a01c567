/**
 * Dynamic programming: the edit distance of two texts. Each cell needs its neighbours above and to the left, so the
 * table is swept by a wavefront of blocks; and a heat plate, where each step reads one array and writes another.
 */
import { Session } from 'distarray'

await using session = await Session.start()

// Edit distance: d[i, j] from d[i - 1, j], d[i, j - 1] and d[i - 1, j - 1].
const codes = (text: string): Uint8Array => Uint8Array.from(text, (c) => c.charCodeAt(0))
const s = codes('the quick brown fox jumps over the lazy dog '.repeat(20))
const t = codes('a quick brown dog jumps over the lazy fox '.repeat(20))
const d = session.zeros([s.length + 1, t.length + 1], { dtype: 'i32' })
const distance = session.loop(session.range(s.length + 1, t.length + 1), { d, s, t }, ([i, j], { d, s, t }) => {
  if (i === 0) d.set(i, j, j)
  else if (j === 0) d.set(i, j, i)
  else {
    const cost = s[i - 1] === t[j - 1] ? 0 : 1
    d.set(i, j, Math.min(d.get(i - 1, j) + 1, d.get(i, j - 1) + 1, d.get(i - 1, j - 1) + cost))
  }
})
await distance.run()
console.log(`edit distance ${await d.at(s.length, t.length)}, schedule ${distance.plan.schedule.kind}`)

// A plate with one hot edge, cooling to its neighbours' average: one loop writes what the other reads.
const n = 64
const plate = session.zeros([n, n])
const next = session.zeros([n, n])
await plate.assign([0, null], 100)
await next.assign([0, null], 100)
const inner = session.range(n - 2, n - 2)
const there = session.loop(inner, { plate, next }, ([i, j], { plate, next }) => {
  next.set(i + 1, j + 1, (plate.get(i, j + 1) + plate.get(i + 2, j + 1) + plate.get(i + 1, j) + plate.get(i + 1, j + 2)) / 4)
})
const back = session.loop(inner, { plate, next }, ([i, j], { plate, next }) => {
  plate.set(i + 1, j + 1, (next.get(i, j + 1) + next.get(i + 2, j + 1) + next.get(i + 1, j) + next.get(i + 1, j + 2)) / 4)
})
for (let step = 0; step < 50; step++) {
  await there.run()
  await back.run()
}
const middle = await plate.slice([[1, 6], 32])
const degrees = Array.from(middle.data, Number).map((value) => value.toFixed(3))
console.log(`plate, schedule ${there.plan.schedule.kind}: ${degrees.join(' ')}`)
console.log(`the same bits as plain JavaScript: ${(await distance.verify()).identical && (await back.verify()).identical}`)

// prints:
// edit distance 140, schedule wavefront
// plate, schedule independent: 88.786 77.792 67.225 57.268 48.069
// the same bits as plain JavaScript: true
