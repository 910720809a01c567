/**
 * What engines without Node's inspector run: the same as `program.js`, with values in `env`; a captured one has its row function
 * run as it stands, and `explain()` says so.
 */
import { Session } from 'distarray'

const rate = Number(process.env.RATE ?? 0.25)
const least = Number(process.env.LEAST ?? 2)
const rows = Array.from({ length: 20_000 }, (_, i) => ({ user: i % 50, stars: 1 + ((i * 31) % 5), price: i / 7 }))
const weights = Float64Array.from({ length: 64 }, (_, k) => k * rate)
const plainRows = rows.filter((r) => r.stars > least).map((r) => ({ user: r.user, cost: r.price * rate }))
const plainArray = new Float64Array(1000 * 64)
for (let pass = 0; pass < 100; pass++) {
  for (let i = 0; i < 1000; i++) for (let k = 0; k < 64; k++) plainArray[i * 64 + k] += weights[k] * i * rate + least
}

for (const workers of [1, 2]) {
  const session = await Session.start({ workers, progress: false, checkRaces: false })
  const kinds = new Set()
  session.events.subscribe((event) => kinds.add(event.kind))
  await session.fromRows(rows).writeParquet('rows.parquet')
  const table = await session.readParquet('rows.parquet')

  const chain = table
    .filter((r, _, { least }) => r.stars > least, { env: { least } })
    .map((r, _, { rate }) => ({ user: r.user, cost: r.price * rate }), { env: { rate } })
  const told = chain.explain({ verbose: true })
  console.log(`${workers}, rows as plain: ${JSON.stringify(await chain.collect()) === JSON.stringify(plainRows)}`)
  console.log(`${workers}, row functions compiled: ${/= 0\.25$/m.test(told) && /= 2$/m.test(told)}`)

  const captured = table.filter((r) => r.stars > least)
  console.log(`${workers}, captured: ${(await captured.count()) === plainRows.length}`)
  console.log(`${workers}, the cure: ${/inspector is not available here\. (.*)/.exec(captured.explain({ verbose: true }))?.[1]}`)

  const W = session.zeros([1000, 64])
  const loop = session.loop(session.range(1000), { W, weights, rate, least }, ([i], env) => {
    for (let k = 0; k < 64; k++) env.W.add(i, k, env.weights[k] * i * env.rate + env.least)
  })
  for await (const pass of loop.passes(100)) kinds.add(pass.number)
  const got = await W.toTypedArray()
  console.log(`${workers}, loop as plain: ${got.length === plainArray.length && got.every((x, i) => Object.is(x, plainArray[i]))}`)
  console.log(`${workers}, kernel: ${loop.plan.kernel.target}`)
  console.log(`${workers}, threads: ${kinds.has('worker')}`)
  await session.stop()
}
