import { expect, test } from 'vitest'
import { planEngine } from '../../../property-tests/plans.ts'
import { DistArray, planOf } from '../../core/arrays/distArray.ts'
import type { ElementType } from '../../core/data/schema.ts'
import type { ArraySource } from '../../core/plan/logicalPlan.ts'
import { planText } from '../../core/plan/tree.ts'
import type { Constant } from '../../core/sourceParts.ts'
import { optimize } from '../optimize.ts'
import { prunePartitions } from './prunePartitions.ts'

interface Sale {
  readonly total: number
  readonly note: string | null
  readonly year: number
  readonly land: string | null
  readonly day: Date
}
const element: ElementType = {
  kind: 'row',
  fields: [
    { name: 'total', type: { kind: 'f64' }, nullable: false },
    { name: 'note', type: { kind: 'utf8' }, nullable: true },
    { name: 'year', type: { kind: 'f64', integers: 'i64' }, nullable: false },
    { name: 'land', type: { kind: 'utf8' }, nullable: true },
    { name: 'day', type: { kind: 'date' }, nullable: false },
  ],
}
const folders = [2022, 2023, 2024].flatMap((year) =>
  ['DE', 'FR', null].map(
    (land, i): ReadonlyMap<string, Constant> =>
      new Map<string, Constant>([
        ['year', year],
        ['land', land],
        ['day', new Date(Date.UTC(year, i))],
      ]),
  ),
)
const source: ArraySource = {
  kind: 'parquet',
  name: 'sales',
  element,
  rows: 90,
  splits: folders.map((constants, file) => ({ rows: 10, file, constants, detail: undefined })),
  files: { read: 9, all: 9 },
}
const sales = new DistArray<Sale>(planEngine, {
  kind: 'Scan',
  source,
  columns: ['total', 'note', 'year', 'land', 'day'],
  element,
  keys: { kind: 'rowNumber' },
})
const pruned = (keeps: (row: Sale, key: readonly [number]) => boolean): string =>
  planText(optimize(planOf(sales.filter(keeps)), [prunePartitions]).plan).replaceAll(' [total, note, year, land, day]', '')

test('files that the folders decide are left out, and a filter that they decide goes', () => {
  const from = new Date(Date.UTC(2023, 1))
  expect(pruned((r) => r.year === 2024)).toBe('Scan sales, files: 3 of 9')
  expect(pruned((r) => r.year !== 2023 && r.land === 'DE')).toBe('Scan sales, files: 2 of 9')
  expect(pruned((r) => r.land === null)).toBe('Scan sales, files: 3 of 9')
  expect(pruned((r) => r.day >= from)).toBe('Scan sales, files: 5 of 9')
  expect(pruned((r) => r.day.getUTCMonth() === 0)).toBe('Scan sales, files: 3 of 9')
  expect(pruned((r) => (r.land ?? 'FR').startsWith('F'))).toBe('Scan sales, files: 6 of 9')
  expect(pruned((r) => r.year % 2 === 0)).toBe('Scan sales, files: 6 of 9')
  expect(pruned((r) => r.year > 0)).toBe('Scan sales')
  expect(pruned((r) => r.year < 0)).toBe('Scan sales, files: 0 of 9')
})

test('what the rows decide stays a filter over the files that it may keep rows of', () => {
  expect(pruned((r) => r.total > 3 && r.year === 2022)).toBe('Filter r => r.total > 3 && r.year === 2022\n  Scan sales, files: 3 of 9')
  expect(pruned((r) => (r.total > 3 || r.year > 2023) && r.year > 2022)).toBe(
    'Filter r => (r.total > 3 || r.year > 2023) && r.year > 2022\n  Scan sales, files: 6 of 9',
  )
  expect(pruned((r) => (r.year > 2023 ? r.total > 3 : r.land === 'FR'))).toBe(
    'Filter r => r.year > 2023 ? r.total > 3 : r.land === "FR"\n  Scan sales, files: 5 of 9',
  )
  const two = sales.filter((r) => r.year > 2022).filter((r) => r.land === 'DE' && r.total > 1)
  expect(planText(optimize(planOf(two)).plan)).toBe(
    [
      'Filter r => r.land === "DE" && r.total > 1',
      '  Scan sales [total, note, year, land, day] where land === "DE" and total > 1, files: 2 of 9',
    ].join('\n'),
  )
})

test('not where something before may fail, row numbers are read, or nothing is decided', () => {
  const filter = (text: string) => `Filter ${text}\n  Scan sales`
  expect(pruned((r) => (r.note as string).startsWith('a') && r.year === 1)).toBe(filter('r => r.note.startsWith("a") && r.year === 1'))
  expect(pruned((r, [i]) => i > 3 && r.year === 1)).toBe(filter('(r, [i]) => i > 3 && r.year === 1'))
  expect(pruned((r) => !((r.note as string).startsWith('a') && r.year === 1))).toBe(
    filter('r => !(r.note.startsWith("a") && r.year === 1)'),
  )
  expect(pruned((r) => r.total > 1 || r.year === 1)).toBe(filter('r => r.total > 1 || r.year === 1'))
})
