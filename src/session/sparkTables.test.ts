import { tableToIPC } from 'apache-arrow'
import { afterEach, expect, test } from 'vitest'
import { endPlayed, playing, response } from '../../property-tests/playedSpark.ts'
import { Session } from '../index.ts'
import { encode } from '../io/spark/wire.ts'

afterEach(endPlayed)

interface Rating {
  readonly user: number
  readonly movie: number
  readonly stars: number
}
const ratings: readonly Rating[] = Array.from({ length: 60 }, (_, i) => ({ user: (i * 7) % 10, movie: i % 12, stars: 1 + (i % 5) }))

/** The address of a server that has the ratings, and gives all of them whatever it is asked. */
async function withRatings(here: Session): Promise<string> {
  const data = tableToIPC(await here.fromRows(ratings).toArrow(), 'stream')
  const fields = ['user', 'movie', 'stars'].map((name) => ({ name, dataType: { double: {} }, nullable: false }))
  const analyzed = { schema: { schema: { struct: { fields } } } }
  const { at } = await playing({
    AnalyzePlan: (_, answer) => answer(null, Buffer.from(encode('AnalyzePlanResponse', analyzed))),
    ExecutePlan: (call) => {
      call.write(response({ responseId: 'rows', arrowBatch: { rowCount: BigInt(ratings.length), data } }))
      call.write(response({ responseId: 'last', resultComplete: {} }))
      call.end()
    },
  })
  return at
}

test('what is made here of rows there is what is made of rows here, whichever way the executor takes', async () => {
  await using here = await Session.start({ workers: 1, progress: false })
  await using there = await Session.start({ tables: await withRatings(here), workers: 1, progress: false })
  const made = async (session: Session): Promise<unknown> => {
    const table = session === here ? here.fromRows(ratings) : await there.table<Rating>('ratings')
    const byKey = table.index((r) => [r.user, r.movie], { combine: (_, last) => last })
    const totals = session.zeros([10])
    await session.parallelFor(
      byKey.map((r) => r.stars),
      { totals },
      (stars, [user], { totals }) => totals.add(user, stars),
    )
    const stored = table.materialize()
    return {
      rows: await table.collect(),
      stored: [await stored.count(), await stored.map((r) => r.stars).sum()],
      byKey: [await byKey.at(7, 1), await byKey.count(), await byKey.collect()],
      totals: [...(await totals.toTypedArray())],
    }
  }
  expect(await made(there)).toEqual(await made(here))
})
