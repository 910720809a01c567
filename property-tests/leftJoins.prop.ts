/**
 * Law: what a filter, or another join, keeps of a left join is what plain JavaScript keeps, where the optimizer lets it give its matches alone
 * and where it may not.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { type DistArray, Session } from '../src/index.ts'
import { announcedRun } from './lawRuns.ts'

const LAW = announcedRun('leftJoins.prop.ts')
const session = await Session.start({ workers: 1, progress: false })
afterAll(async () => await session.stop())

interface Sale {
  readonly id: number
  readonly item: number | null
  readonly v: number
}
interface Back {
  readonly item: number
  readonly v: number | null
  readonly why: string | null
}
interface Row extends Sale {
  readonly v_right: number | null
  readonly why: string | null
}
interface Reason {
  readonly why: string | null
  readonly text: string
}

const sales = fc
  .array(fc.record({ item: fc.option(fc.nat(4), { freq: 6 }), v: fc.integer({ min: -2, max: 3 }) }), { minLength: 1, maxLength: 12 })
  .map((rows): readonly Sale[] => rows.map((row, id) => ({ id, ...row })))
const backs: fc.Arbitrary<readonly Back[]> = fc.array(
  fc.record({
    item: fc.nat(5),
    v: fc.option(fc.integer({ min: -2, max: 3 }), { freq: 4 }),
    why: fc.constantFrom(null, 'late', 'broken', ''),
  }),
  { minLength: 1, maxLength: 8 },
)
const reasons: readonly Reason[] = [
  { why: 'late', text: 'a' },
  { why: null, text: 'b' },
  { why: '', text: 'c' },
  { why: 'late', text: 'd' },
]

const least = 1
const FILTERS: readonly ((r: Row, key: readonly [number]) => boolean)[] = [
  (r) => r.v_right !== null,
  (r) => r.v_right! > 0,
  (r) => r.v_right! >= 0,
  (r) => r.v_right! < 2,
  (r) => r.v_right === r.v,
  (r) => r.why === 'late',
  (r) => r.why !== 'late',
  (r) => r.why === null,
  (r) => !(r.why === null),
  (r) => r.v > 0 && r.why === 'late',
  (r) => r.v > 0 || r.why === 'late',
  (r) => (r.v_right ?? 0) > 0,
  (r) => (r.v_right ?? 1) > 0,
  (r) => (r.why === 'late' ? r.v_right! > 0 : r.why !== null),
  (r) => r.v_right! >= least && r.v < 3,
  (r, [i]) => i % 2 === 0 && r.why !== null,
  (r) => r.v_right! * 2 > r.v,
]

const ABOVE: Readonly<
  Record<string, readonly [(rows: DistArray<Row>, to: DistArray<Reason>) => DistArray<object>, (rows: readonly Row[]) => readonly object[]]>
> = {
  nothing: [(rows) => rows as DistArray<object>, (rows) => rows],
  'a join': [
    (rows, to) => rows.join(to, 'why') as DistArray<object>,
    (rows) => rows.flatMap((row) => reasons.filter(({ why }) => why !== null && why === row.why).map(({ text }) => ({ ...row, text }))),
  ],
  'a join from the other side': [
    (rows, to) =>
      to.join(rows, { left: (t) => [t.why], right: (r) => [r.why] }).map((r) => ({ text: r.text, id: r.id })) as DistArray<object>,
    (rows) => reasons.flatMap(({ why, text }) => rows.filter((row) => why !== null && row.why === why).map(({ id }) => ({ text, id }))),
  ],
  'a semi-join': [
    (rows, to) =>
      rows.join(
        to,
        { left: (r) => ({ key: r.why, one: r.v }), right: (t) => ({ key: t.why, one: 1 }) },
        { how: 'semi' },
      ) as DistArray<object>,
    (rows) => rows.filter((row) => row.v === 1 && reasons.some(({ why }) => why !== null && why === row.why)),
  ],
  'an anti-join': [
    (rows, to) => rows.join(to, 'why', { how: 'anti' }) as DistArray<object>,
    (rows) => rows.filter((row) => !reasons.some(({ why }) => why !== null && why === row.why)),
  ],
  'a left join': [
    (rows, to) => rows.join(to, 'why', { how: 'left' }) as DistArray<object>,
    (rows) =>
      rows.flatMap((row): object[] => {
        const found = reasons.filter(({ why }) => why !== null && why === row.why)
        return found.length === 0 ? [{ ...row, text: null }] : found.map(({ text }) => ({ ...row, text }))
      }),
  ],
  'a join by the left side': [
    (rows, to) =>
      rows.join(
        to.filter((t) => t.text === 'a').map(() => ({ v: 1 })),
        'v',
        { how: 'semi' },
      ) as DistArray<object>,
    (rows) => rows.filter(({ v }) => v === 1),
  ],
}

function joined(from: readonly Sale[], to: readonly Back[], how: 'left' | 'full'): readonly Row[] {
  const rows = from.flatMap((sale): Row[] => {
    const found = to.filter(({ item }) => item === sale.item)
    return found.length === 0 ? [{ ...sale, v_right: null, why: null }] : found.map(({ v, why }) => ({ ...sale, v_right: v, why }))
  })
  const unmatched = to.filter(({ item }) => !from.some((sale) => sale.item === item))
  const none = { id: null as never, v: null as never }
  return how === 'left' ? rows : [...rows, ...unmatched.map(({ item, v, why }) => ({ item, ...none, v_right: v, why }))]
}

test('of a left join, what passes above it', async () => {
  const counts = { alone: 0, all: 0, rows: 0 }
  await fc.assert(
    fc.asyncProperty(
      ...[
        sales,
        backs,
        fc.constantFrom('left', 'left', 'left', 'full') as fc.Arbitrary<'left' | 'full'>,
        fc.array(fc.constantFrom(...FILTERS), { maxLength: 2 }),
      ],
      fc.constantFrom(...Object.keys(ABOVE)),
      async (from, to, how, filters, above) => {
        const [chain, plain] = ABOVE[above]!
        let rows = session.fromRows([...from]).join(session.fromRows([...to]), 'item', { how }) as unknown as DistArray<Row>
        let expected = joined(from, to, how)
        for (const keep of filters) {
          rows = rows.filter(keep)
          expected = expected.filter((row, i) => keep(row, [i]))
        }
        const found = chain(rows, session.fromRows([...reasons]))
        if (found.explain().includes('matches alone')) counts.alone++
        else counts.all++
        const all = plain(expected)
        counts.rows += Math.min(1, all.length)
        expect(await found.collect()).toEqual(all)
      },
    ),
    LAW,
  )
  console.log(JSON.stringify(counts))
  expect(Math.min(counts.alone, counts.all, counts.rows)).toBeGreaterThan(LAW.numRuns / 10)
})
