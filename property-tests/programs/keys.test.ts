/**
 * What keys mean, whether functions are compiled or run as JavaScript, and whether columns are known at the call or only
 * once they are stored: whole programs from the public API alone.
 */
import { type Data, makeData, Table, TimestampMicrosecond, TimestampNanosecond, Vector, vectorFromArray } from 'apache-arrow'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { count, countDistinct, type DistArray, max, Session, sum } from '../../src/index.ts'

interface Event {
  readonly t: Date
  readonly n: number
}

/** Three timestamps in one millisecond, before 1970 and after it, and one of the next second; again and again. */
const NANOSECONDS = [900n, 100n, 500n, 999_000_000n]
const ROUND = [...NANOSECONDS.map((ns) => 1_700_000_000_123_000_000n + ns), ...NANOSECONDS.map((ns) => -1_700_000_000_123_000_000n + ns)]

const TYPES = { ns: new TimestampNanosecond(), us: new TimestampMicrosecond() }

/** A refused function: what it is given, through a call that is not compiled. */
const unseen = <V>(value: V): V => [value].reverse()[0] as V

describe.each([1, 2, 3])('%i workers', (workers) => {
  let session: Session
  beforeAll(async () => {
    session = await Session.start({ workers })
  })
  afterAll(() => session.stop())

  function events(unit: 'ns' | 'us', rows: number): DistArray<Event> {
    const values = BigInt64Array.from({ length: rows }, (_, i) => (ROUND[i % ROUND.length] as bigint) / (unit === 'us' ? 10n : 1n))
    const t = new Vector([makeData({ type: TYPES[unit], length: rows, nullCount: 0, data: values }) as Data<TimestampNanosecond>])
    return session.fromArrow(new Table({ t, n: vectorFromArray(Int32Array.from(values, (_, i) => i)) })) as unknown as DistArray<Event>
  }

  test.each([
    ['ns', 16],
    ['us', 16],
    ['us', 24_000],
  ] as const)('timestamps in %s are compared as the dates they are in JavaScript, %i rows', async (unit, length) => {
    const table = events(unit, length)
    const rows = await table.collect()
    const firsts = [...new Map(rows.toReversed().map((row) => [row.t.getTime(), row])).values()].toReversed().sort((a, b) => a.n - b.n)
    const expected = firsts.map(({ t }) => ({ key: t, n: rows.filter((row) => +row.t === +t).length }))
    const aggregates = { n: count() }
    expect(
      await table
        .groupBy((r) => r.t)
        .agg(aggregates)
        .collect(),
    ).toEqual(expected)
    expect(
      await table
        .groupBy((r) => unseen(r.t))
        .agg(aggregates)
        .collect(),
    ).toEqual(expected)
    expect(
      (
        await table
          .groupBy((r) => ({ t: r.t, odd: r.n < 0 }))
          .count()
          .collect()
      ).map((r) => r.t),
    ).toEqual(firsts.map(({ t }) => t))
    const sorted = [...rows].sort((a, b) => +a.t - +b.t || a.n - b.n).map(({ n }) => n)
    expect((await table.sortBy((r) => r.t).collect()).map(({ n }) => n)).toEqual(sorted)
    expect((await table.sortBy((r) => unseen(r.t)).collect()).map(({ n }) => n)).toEqual(sorted)
    expect((await table.sortBy((r) => [r.t, -r.n]).take(3)).map(({ t }) => t)).toEqual(
      rows
        .map(({ t }) => t)
        .sort((a, b) => +a - +b)
        .slice(0, 3),
    )
    expect(await table.select('t').distinct().collect()).toEqual(firsts.map(({ t }) => ({ t })))
    expect(
      await table
        .map((r) => r.t)
        .distinct()
        .collect(),
    ).toEqual(firsts.map(({ t }) => t))
    expect(
      await table
        .map((r) => unseen(r.t))
        .distinct()
        .collect(),
    ).toEqual(firsts.map(({ t }) => t))
    const distinct = { compiled: countDistinct((r: Event) => r.t), refused: countDistinct((r: Event) => unseen(r.t)) }
    expect(
      await table
        .groupBy(() => 1)
        .agg(distinct)
        .collect(),
    ).toEqual([{ key: 1, compiled: firsts.length, refused: firsts.length }])
    const few = table.limit(12)
    const pairs = rows.slice(0, 12).flatMap((a) => rows.filter((b) => +a.t === +b.t)).length
    expect(await few.join(table, { left: (r) => r.t, right: (r) => r.t }).count()).toBe(pairs)
    expect(await few.join(table, { left: (r) => unseen(r.t), right: (r) => r.t }).count()).toBe(pairs)
    expect(await few.join(table, { left: (r) => r.t, right: (r) => unseen(r.t) }).count()).toBe(pairs)
    expect(
      await few
        .join(
          table.map((r) => ({ t: r.t, m: r.n })),
          't',
        )
        .count(),
    ).toBe(pairs)
    expect(await table.join(few, 't', { how: 'semi' }).count()).toBe(
      rows.filter((a) => rows.slice(0, 12).some((b) => +a.t === +b.t)).length,
    )
    expect(
      await table
        .join(few, 't', { how: 'anti' })
        .map((r) => r.n)
        .count(),
    ).toBe(0)
  })

  test('semi-joins over columns by timestamps that are small numbers', async () => {
    const counts = [100n, 900n, 1_000_500n, -1n, -999_999n, 2_000_000n]
    const t = (picked: readonly bigint[], rows: number): DistArray<{ readonly t: Date; readonly n: number }> => {
      const data = BigInt64Array.from({ length: rows }, (_, i) => picked[i % picked.length] as bigint)
      const column = new Vector([makeData({ type: TYPES.ns, length: rows, nullCount: 0, data }) as Data<TimestampNanosecond>])
      return session.fromArrow(new Table({ t: column, n: vectorFromArray(Int32Array.from(data, (_, i) => i)) })) as never
    }
    const [table, other] = [t(counts, 60_000), t([0n, -5n], 2)]
    expect(await table.join(other, 't', { how: 'semi' }).count()).toBe(40_000)
    expect(
      await table
        .join(other, 't', { how: 'anti' })
        .map((r) => r.n)
        .count(),
    ).toBe(20_000)
  })

  test('what is only handed on keeps its unit and all digits', async () => {
    const digits = async (array: DistArray<unknown>): Promise<readonly bigint[]> => {
      const arrow = await array.toArrow()
      expect(String(arrow.schema.fields.find(({ name }) => name === 't')?.type)).toBe('Timestamp<NANOSECOND>')
      return [...(arrow.getChild('t')?.data ?? [])].flatMap((part) => [...(part.values as BigInt64Array)])
    }
    const table = events('ns', 8)
    expect(await digits(table.map((r) => ({ t: r.t })))).toEqual(ROUND)
    expect(await digits(table.distinct())).toEqual(ROUND)
    const first = ROUND.filter((_, i) => i % 4 === 0 || i % 4 === 3)
    expect(await digits(table.select('t').distinct())).toEqual(first)
    expect(await digits(table.join(table.map((r) => ({ t: r.t, m: r.n })).limit(1), 't'))).toEqual(ROUND.slice(0, 3))
    expect(await digits(table.groupBy(() => 1).agg({ t: max((r) => r.t) }))).toEqual([ROUND[3]])
    expect(await digits(events('ns', 40_000).select('t').distinct())).toEqual(first)
    // the key of a group is what was compared
    expect(await digits(table.groupBy((r) => ({ t: r.t })).count())).toEqual(
      first.map((ns) => ns - (((ns % 1_000_000n) + 1_000_000n) % 1_000_000n)),
    )
  })

  test('a join key that holds a null at any depth matches nothing, in joins of every kind', async () => {
    const rows = [
      { n: 0, l: [1, null], s: { x: 1, y: { z: null } }, a: 1, b: null },
      { n: 1, l: [2, 3], s: { x: 1, y: { z: 4 } }, a: 2, b: 3 },
      { n: 2, l: null, s: { x: 1, y: { z: 4 } }, a: 2, b: 3 },
    ] as const
    const table = session.fromRows(rows)
    const other = table.map((r) => ({ l: r.l, s: r.s, a: r.a, b: r.b, m: r.n }))
    const matched: Readonly<Record<string, (how: 'inner' | 'left' | 'right' | 'full' | 'semi' | 'anti') => Promise<unknown[]>>> = {
      'list by name': (how) => table.join(other, 'l', { how }).collect(),
      list: (how) => table.join(other, { left: (r) => r.l, right: (r) => r.l }, { how }).collect(),
      'list, refused': (how) => table.join(other, { left: (r) => unseen(r.l), right: (r) => unseen(r.l) }, { how }).collect(),
      'list, half refused': (how) => table.join(other, { left: (r) => r.l, right: (r) => unseen(r.l) }, { how }).collect(),
      'object of lists': (how) => table.join(other, { left: (r) => ({ k: [r.l] }), right: (r) => ({ k: [r.l] }) }, { how }).collect(),
    }
    const sizes = { inner: 1, left: 3, right: 3, full: 5, semi: 1, anti: 2 } as const
    for (const [name, join] of Object.entries(matched)) {
      for (const how of Object.keys(sizes) as (keyof typeof sizes)[]) expect((await join(how)).length, `${name}, ${how}`).toBe(sizes[how])
    }
    for (const how of ['semi', 'anti'] as const) {
      const left = how === 'semi' ? [1, 2] : [0]
      const objects = [
        table.join(other, 's', { how }),
        table.join(other, { left: (r) => r.s, right: (r) => r.s }, { how }),
        table.join(other, { left: (r) => [r.s.y], right: (r) => unseen([r.s.y]) }, { how }),
        table.join(other, { left: (r) => [r.a, r.b], right: (r) => [r.a, r.b] }, { how }),
      ]
      for (const array of objects) expect((await array.collect()).map(({ n }) => n)).toEqual(left)
    }
    expect(
      await session
        .fromRows([...rows, ...rows])
        .groupBy((r) => r.l)
        .count()
        .collect(),
    ).toEqual([
      { key: [1, null], count: 2 },
      { key: [2, 3], count: 2 },
      { key: null, count: 2 },
    ])
  })

  test('arrays of several lengths that functions return match lists that are handed on', async () => {
    const table = session.fromRows([[1], [1, 2], [], [2], [2, 1]].map((l, n) => ({ l, n })))
    const other = table.map((r) => ({ l: r.l, m: r.n }))
    const handedOn = (r: { readonly l: readonly number[] }) => r.l
    const returned = (r: { readonly l: readonly number[] }) => unseen(r.l)
    for (const on of [
      { left: handedOn, right: returned },
      { left: returned, right: handedOn },
    ]) {
      const rows = await table.join(other, on).collect()
      expect(rows.map(({ n, m }) => [n, m])).toEqual([0, 1, 2, 3, 4].map((n) => [n, n]))
    }
  })

  test('lists and arrays are sorted item by item, and objects not at all', async () => {
    const lists = [[2], [1, 3], null, [1], [], [1, null], [1, 2], [Number.NaN]]
    const table = session.fromRows(lists.map((l, n) => ({ l, n })))
    const order = [6, 1, 3, 5, 0, 7, 4, 2]
    const keys = [(r: { l: unknown }) => r.l, (r: { l: unknown }) => unseen(r.l)] as unknown as readonly ((r: { l: unknown }) => never)[]
    for (const key of keys) {
      expect((await table.sortBy(key).collect()).map(({ n }) => n)).toEqual(order)
      expect((await table.materialize().sortBy(key).take(3)).map(({ n }) => n)).toEqual(order.slice(0, 3))
    }
    await expect(table.sortBy((r) => unseen({ a: r.n }) as never).collect()).rejects.toThrow(
      'sortBy cannot order values of type struct<a: f64>. Sort by numbers, bigints, strings, booleans, dates, or an array of these.',
    )
  })

  test('what columns are not fit for is said by the action as it is at the call', async () => {
    const table = session.fromColumns({ k: [7, 7, 9], v: [1, 2, 3], s: ['x', 'y', 'z'] })
    const other = session.fromColumns({ b: [2] })
    const running = table.map((r) => ({ k: unseen(r.k), v: r.v, s: r.s }))
    const messages = {
      agg: 'agg() names a column "k", which is a column of the group key already. The key\'s columns: k.\nGive the aggregate another name.',
      count:
        'count() names a column "count", which is a column of the group key already. The key\'s columns: count.\nGive the field of the key another name in groupBy().',
      reduce:
        'reduce() names a column "value", which is a column of the group key already. The key\'s columns: value.\nGive the field of the key another name in groupBy().',
      union:
        "Cannot put fromColumns after fromColumns with union(): the elements are { k: f64, v: f64, s: utf8 } and { b: f64 }.\nGive both the same columns with select() or map(), or take those of all with { columns: 'all' }.",
    }
    type Rows = DistArray<{ k: number; v: number; s: string }>
    const asked = (array: Rows): Readonly<Record<keyof typeof messages, () => DistArray<unknown>>> => ({
      agg: () => array.groupBy((r) => ({ k: r.k })).agg({ k: sum((r) => r.v) }),
      count: () => array.groupBy((r) => ({ count: r.k })).count(),
      reduce: () => array.groupBy((r) => ({ value: r.k })).reduce((a) => a),
      union: () => array.union(other as never),
    })
    for (const name of Object.keys(messages) as (keyof typeof messages)[]) {
      expect(asked(table)[name], name).toThrow(messages[name])
      for (const [array, label] of [
        [running, 'fromColumns'],
        [running.materialize(), 'fromColumns.map(…)'],
      ] as const) {
        const message = messages[name].replace('after fromColumns', `after ${label}`)
        await expect(asked(array)[name]().collect(), name).rejects.toThrow(message)
        await expect(asked(array)[name]().count(), name).rejects.toThrow(message)
      }
    }
  })

  test('above a stored array whose columns only running told, as above a table', async () => {
    const table = session.fromColumns({ a: [1, 2, 3, 2], s: ['x', 'y', 'z', 'x'] })
    const stored = table.map((r) => ({ a: r.a, s: r.s, z: unseen(r.a) })).materialize()
    expect(await stored.limit(2).select('a', 'z').count()).toBe(2)
    expect(
      await stored
        .sortBy((r) => -r.a)
        .limit(2)
        .collect(),
    ).toEqual([
      { a: 3, s: 'z', z: 3 },
      { a: 2, s: 'y', z: 2 },
    ])
    const none = table
      .filter((r) => r.a > 5)
      .map((r) => ({ p: unseen(r.a) }))
      .materialize()
    expect(
      await none
        .groupBy((r) => r.p)
        .agg({ g: max((r) => r.p) })
        .collect(),
    ).toEqual([])
    const nothing = session
      .fromRows<{ a: number }>([])
      .map((r) => unseen(r))
      .select('a')
    expect((await nothing.toArrow()).numRows).toBe(0)
    // a column that no row has is undefined, as it is to JavaScript
    expect(await stored.filter((r) => (r as { readonly no?: number }).no === undefined).count()).toBe(4)
  })

  test('rows without columns are counted', async () => {
    const empty = session.fromRows([{}, {}])
    const arrays: readonly DistArray<object>[] = [empty, empty.materialize(), session.fromColumns({ a: [1, 2] }).map(() => ({}))]
    for (const array of arrays) {
      expect(await array.count()).toBe(2)
      expect(await array.collect()).toEqual([{}, {}])
      expect(
        await array
          .groupBy(() => 1)
          .count()
          .collect(),
      ).toEqual([{ key: 1, count: 2 }])
      expect(await array.distinct().count()).toBe(1)
    }
  })
})
