/** Columns of dates and timestamps in all units, around what is odd about them, with nulls and without. */
import {
  DateDay,
  makeData,
  makeVector,
  Table,
  TimestampMicrosecond,
  TimestampMillisecond,
  TimestampNanosecond,
  TimestampSecond,
} from 'apache-arrow'
import fc from 'fast-check'

const DAY = 86_400_000n
const NS_IN = { s: 10n ** 9n, ms: 10n ** 6n, us: 10n ** 3n, ns: 1n } as const
const ARROW = {
  s: new TimestampSecond(),
  ms: new TimestampMillisecond(),
  us: new TimestampMicrosecond(),
  ns: new TimestampNanosecond(),
} as const
type Unit = 's' | 'ms' | 'us' | 'ns'

/** Milliseconds around which something changes. */
export const EDGES: readonly bigint[] = [
  ...[0n, -1n, 1n, DAY, -DAY, DAY - 1n, -DAY - 1n, 8_640_000_000_000_000n, -8_640_000_000_000_000n],
  ...['1600-02-29', '1900-02-28', '1900-03-01', '1999-12-31', '2000-02-29', '2000-03-01', '2024-12-31', '0000-01-01', '-000001-12-31'].map(
    (text) => BigInt(Date.parse(`${text}T00:00:00Z`)),
  ),
  // clocks of New York are set
  ...['1883-11-18T17:00Z', '1970-04-26T07:00Z', '2024-03-10T07:00Z', '2024-11-03T06:00Z', '2099-03-08T07:00Z', '2103-03-11T07:00Z'].map(
    (text) => BigInt(Date.parse(text)),
  ),
]
export const milliseconds: fc.Arbitrary<bigint> = fc.oneof(
  fc.bigInt({ min: -(10n ** 13n), max: 10n ** 13n }),
  fc.tuple(fc.constantFrom(...EDGES), fc.bigInt({ min: -3n, max: 3n })).map(([at, off]) => at + off),
  fc.bigInt({ min: -8_640_000_000_000_001n, max: 8_640_000_000_000_001n }),
)
const finer = fc.bigInt({ min: 0n, max: 999_999n })

const counts: Readonly<Record<Unit, fc.Arbitrary<bigint>>> = {
  s: fc.oneof(
    milliseconds.map((ms) => ms / 1000n),
    fc.constantFrom(2n ** 62n, -(2n ** 63n)),
  ),
  ms: fc.oneof(milliseconds, fc.constantFrom(2n ** 62n, -(2n ** 63n), 2n ** 53n + 1n)),
  us: fc.oneof(
    fc.tuple(milliseconds, finer).map(([ms, rest]) => ms * 1000n + rest / 1000n),
    fc.constantFrom(2n ** 63n - 1n, -(2n ** 63n), -1n),
  ),
  ns: fc.oneof(
    fc.tuple(fc.bigInt({ min: -(10n ** 12n), max: 10n ** 12n }), finer).map(([ms, rest]) => ms * 1_000_000n + rest),
    fc.constantFrom(2n ** 63n - 1n, -(2n ** 63n), -1n, 999_999n, -999_999n),
  ),
}
const days = fc.oneof(
  fc.integer({ min: -1_000_000, max: 1_000_000 }),
  fc.constantFrom(...EDGES.map((ms) => Number(ms / DAY))),
  fc.constantFrom(100_000_000, 100_000_001, -100_000_000, -100_000_001, 2 ** 31 - 1, -(2 ** 31)),
)

export interface DrawnDates {
  readonly days: readonly number[]
  readonly counts: Readonly<Record<Unit, readonly bigint[]>>
  readonly nulls: readonly boolean[]
}
export const ROWS: number = 37
const listOf = <T>(of: fc.Arbitrary<T>) => fc.array(of, { minLength: ROWS, maxLength: ROWS })
export const drawnRows: fc.Arbitrary<DrawnDates> = fc.record({
  days: listOf(days),
  counts: fc.record({ s: listOf(counts.s), ms: listOf(counts.ms), us: listOf(counts.us), ns: listOf(counts.ns) }),
  nulls: listOf(fc.boolean()),
})

/** The columns day, s, ms, us, ns, and the same with nulls. */
export function tableOf({ days, counts, nulls }: DrawnDates): Table {
  const bitmap = new Uint8Array(64)
  for (const [i, isNull] of nulls.entries()) if (!isNull) bitmap[i >> 3] = (bitmap[i >> 3] ?? 0) | (1 << (i & 7))
  const both = (name: string, of: (nullBitmap: Uint8Array | undefined) => ReturnType<typeof makeVector>) => [
    [name, of(undefined)],
    [`${name}0`, of(bitmap)],
  ]
  const columns = [
    ...both(
      'day',
      (nullBitmap) =>
        makeVector(makeData({ type: new DateDay(), data: Int32Array.from(days), ...(nullBitmap && { nullBitmap }) })) as never,
    ),
    ...(Object.keys(NS_IN) as Unit[]).flatMap((unit) =>
      both(
        unit,
        (nullBitmap) =>
          makeVector(makeData({ type: ARROW[unit], data: BigInt64Array.from(counts[unit]), ...(nullBitmap && { nullBitmap }) })) as never,
      ),
    ),
  ]
  return new Table(Object.fromEntries(columns))
}
