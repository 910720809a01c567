/**
 * Ratings are prepared where the tables are, and a model is trained here: the last rating that a user gave each film, of
 * users and films with some of them. With `SPARK_CONNECT=sc://host:15002` a Spark Connect server prepares them, which has
 * to see the file; without it this process does, with the same digits.
 */
import { resolve } from 'node:path'
import { count, rowNumber, Session } from 'distarray'

interface Event {
  user: number
  film: number
  stars: number | null
  at: Date
}

const tables = process.env.SPARK_CONNECT
await using session = await Session.start({ progress: false, ...(tables === undefined ? {} : { tables }) })

// Some events, as an application may have written them: users rate again, and sometimes give no stars.
const [users, films] = [400, 300]
const events = session.fromRows(
  Array.from({ length: 40_000 }, (_, i): Event => {
    const [user, film] = [(i * 7919) % users, (i * 104_729 + ((i * i) % 97)) % films]
    const stars = i % 41 === 0 ? null : 1 + ((user + film + (i % 3)) % 5)
    return { user, film, stars, at: new Date(Date.UTC(2026, 0, 1) + i * 60_000) }
  }),
)
const file = resolve('events.parquet')
await events.writeParquet(file)

// Prepare: the last rating of each user and film, and users with at least 20 of them.
const log = await session.readParquet<Event>(file)
const last = log
  .filter((e) => e.stars !== null)
  .window({ by: (e) => ({ user: e.user, film: e.film }), orderBy: (e) => e.at, descending: true }, { place: rowNumber() })
  .filter((e) => e.place === 1)
  .map((e) => ({ user: e.user, film: e.film, stars: e.stars ?? 0 }))
const busy = last
  .groupBy((r) => r.user)
  .agg({ n: count() })
  .filter((u) => u.n >= 20)
const prepared = last.join(busy, { left: (r) => r.user, right: (u) => u.key }, { how: 'semi' })

// Train: from the keys on, everything is here.
const ratings = prepared
  .index((r) => [r.user, r.film])
  .map((r) => r.stars)
  .materialize()
const U = session.random([users, 8], { distribution: 'normal', scale: 0.3, seed: 1 })
const F = session.random([films, 8], { distribution: 'normal', scale: 0.3, seed: 2 })
const error = session.accumulator('sum')
const step = session.loop(
  ratings,
  { U, F, error },
  (stars, [user, film], { U, F, error }) => {
    const [u, f] = [U.row(user), F.row(film)]
    let off = stars - 3
    for (let k = 0; k < 8; k++) off -= u.get(k) * f.get(k)
    for (let k = 0; k < 8; k++) {
      const uk = u.get(k)
      u.add(k, 0.02 * off * f.get(k))
      f.add(k, 0.02 * off * uk)
    }
    error.add(off * off)
  },
  { order: 'any' },
)
const n = await ratings.count()
console.log(`${n} ratings of ${await log.count()} events`)
for (let pass = 1; pass <= 3; pass++) {
  await step.run()
  console.log(`pass ${pass}: root mean square error ${Math.sqrt(error.value / n).toFixed(12)}`)
}

// prints:
// 32681 ratings of 40000 events
// pass 1: root mean square error 1.431236890348
// pass 2: root mean square error 1.384858784506
// pass 3: root mean square error 1.301274070554
