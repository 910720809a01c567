/**
 * What every kind of application runs: a chain from Parquet and a loop, both with captured variables, on one worker and on two,
 * beside the plain program. Each line that is printed is a promise, the same for all.
 */
import { readFileSync } from 'node:fs'

export async function program({ Session, PlanError, DistArray }, folder) {
  // not constants that a minifier would write in their place
  const rate = Number(process.env.RATE ?? 0.25)
  const least = Number(process.env.LEAST ?? 2)
  const cost = (price) => price * rate
  const rows = Array.from({ length: 20_000 }, (_, i) => ({ user: i % 50, stars: 1 + ((i * 31) % 5), price: i / 7 }))
  const weights = Float64Array.from({ length: 64 }, (_, k) => k * rate)
  const path = `${folder}/rows.parquet`
  const said = []
  const say = (what, is) => said.push(`${what}: ${is}`)

  const plainRows = rows.filter((r) => r.stars > least).map((r) => ({ user: r.user, cost: cost(r.price) }))
  const plainArray = new Float64Array(1000 * 64)
  for (let pass = 0; pass < 100; pass++) {
    for (let i = 0; i < 1000; i++) for (let k = 0; k < 64; k++) plainArray[i * 64 + k] += weights[k] * i * rate + least
  }

  for (const workers of [1, 2]) {
    const session = await Session.start({ workers, progress: false, checkRaces: false })
    const kinds = new Set()
    session.events.subscribe((event) => kinds.add(event.kind))
    if (workers === 1) await session.fromRows(rows).writeParquet(path)

    const chain = (await session.readParquet(path)).filter((r) => r.stars > least).map((r) => ({ user: r.user, cost: cost(r.price) }))
    say(`${workers}, rows as plain`, JSON.stringify(await chain.collect()) === JSON.stringify(plainRows))
    const told = chain.explain({ verbose: true })
    say(`${workers}, row functions compiled`, /= 0\.25$/m.test(told) && /= 2$/m.test(told))
    say(`${workers}, schema`, chain.schema.fields.map((field) => `${field.name} ${field.type}`).join())
    say(
      `${workers}, grouped`,
      (
        await chain
          .groupBy((r) => r.user)
          .count()
          .collect()
      ).length,
    )
    const mapped = chain.map((r) => JSON.stringify(r).length + least)
    say(`${workers}, as JavaScript`, (await mapped.sum()) === plainRows.reduce((sum, r) => sum + JSON.stringify(r).length + least, 0))

    const W = session.zeros([1000, 64])
    const loop = session.loop(session.range(1000), { W }, ([i], env) => {
      for (let k = 0; k < 64; k++) env.W.add(i, k, weights[k] * i * rate + least)
    })
    const { length } = await run(loop, 100)
    say(`${workers}, loop as plain`, length === 100 && same(await W.toTypedArray(), plainArray))
    say(`${workers}, kernel`, loop.plan.kernel.target)
    say(`${workers}, schedule`, loop.plan.schedule.kind)
    say(`${workers}, place`, placeIsRight(loop.explain()))
    say(`${workers}, classes`, chain instanceof DistArray && refusalOf(() => chain.filter((r) => r.nothing > 1)) instanceof PlanError)
    say(`${workers}, threads`, kinds.has('worker'))
    await session.stop()
  }
  return said
}

async function run(loop, count) {
  const passes = []
  for await (const pass of loop.passes(count)) passes.push(pass)
  return passes
}

function same(a, b) {
  return a.length === b.length && a.every((x, i) => Object.is(x, b[i]))
}

function refusalOf(ask) {
  try {
    ask()
  } catch (error) {
    return error
  }
}

/** Where a place is told, the loop is called there; in another file than the program's own there is none to be told. */
function placeIsRight(explanation) {
  const [, file, line] = / at (\S+):(\d+), /.exec(explanation) ?? []
  return file === undefined || /\.loop\(/.test(readFileSync(file, 'utf8').split('\n')[line - 1])
}
