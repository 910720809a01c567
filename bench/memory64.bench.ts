/**
 * What do 64-bit addresses cost? The same programs in a session of 3 GB, whose addresses have 32 bits, and in one of
 * 12 GB, on one worker: the loops of kernels.bench.ts, and chains over columns. The engine checks each 64-bit address
 * itself, where 32-bit ones need no check; the kernels are else the same, and so are their results, which is asserted.
 *
 * An engine without memory of 64-bit addresses has nothing to compare (Node 24 has it).
 *
 *     npm run bench -- memory64 --only product
 */
import { Session, sum } from 'distarray'
import { suite, timed } from './harness.ts'
import { QUESTIONS } from './questions/all.ts'
import type { Program } from './questions/question.ts'

const ROWS = 2_000_000

const bench = suite('memory64')
const options = { workers: 1, progress: false } as const
const narrow = await Session.start({ ...options, memory: '3GB' })
let wide: Session | undefined
try {
  wide = await Session.start({ ...options, memory: '12GB' })
} catch (error) {
  console.log(String(error))
}

if (wide !== undefined) {
  for (const question of QUESTIONS.map((make) => make())) {
    const { name, unit, units, program } = question
    if (!bench.wanted(name)) continue
    const [a, b] = [await program(narrow, 'exact'), await program(wide, 'exact')]
    const contenders = { '32-bit': passOf(a), '64-bit': passOf(b) }
    for (const pass of Object.values(contenders)) await pass()
    if ((await bitsOf(a)) !== (await bitsOf(b))) throw new Error(`${name}: its results differ.`)
    await bench.ask({ name, unit, units, contenders, peers: ['32-bit'] })
    for (const { arrays } of [a, b]) for (const array of arrays) await array.release()
  }
  const columns = {
    x: Float64Array.from({ length: ROWS }, (_, i) => (i * 7919) % 1013),
    k: Int32Array.from({ length: ROWS }, (_, i) => i % 97),
  }
  const [a, b] = [narrow.fromColumns(columns), wide.fromColumns(columns)]
  const chains = {
    'sum of a chain over columns': async (table: typeof a) =>
      await table
        .filter((row) => row.x > 300)
        .map((row) => row.x * 0.5 + row.k)
        .sum(),
    'groups of a table': async (table: typeof a) =>
      JSON.stringify(
        await table
          .groupBy((row) => row.k)
          .agg({ total: sum((row) => row.x) })
          .collect(),
      ),
  }
  for (const [name, chain] of Object.entries(chains)) {
    if (!bench.wanted(name)) continue
    if ((await chain(a)) !== (await chain(b))) throw new Error(`${name}: its results differ.`)
    const contenders = { '32-bit': timed(async () => void (await chain(a))), '64-bit': timed(async () => void (await chain(b))) }
    await bench.ask({ name, unit: 'row', units: ROWS, contenders, peers: ['32-bit'] })
  }
  await wide.stop()
}
await narrow.stop()
bench.finish()

function passOf({ loops }: Program) {
  return timed(async () => {
    for (const loop of loops) await loop.run()
  })
}

async function bitsOf({ results }: Program): Promise<string> {
  const parts = await Promise.all(results.map(async (array) => Buffer.from((await array.toTypedArray()).buffer).toString('latin1')))
  return parts.join()
}
