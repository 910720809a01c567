import { expect, test } from 'vitest'
import { planEngine, scanOf } from '../../../property-tests/plans.ts'
import { DistArray, planOf } from '../../core/arrays/distArray.ts'
import { optimize } from '../optimize.ts'
import { lower } from './lower.ts'
import { stagesText } from './stages.ts'

interface Film {
  readonly title: string
  readonly year: number
  readonly stars: number
}

/** A table of a file of 1,000 rows in two row groups. */
function films(kind: 'parquet' | 'csv' = 'parquet'): DistArray<Film> {
  const scan = scanOf('films', { title: 'utf8', year: 'f64', stars: 'f64' })
  if (scan.kind !== 'Scan') throw new Error('It is a scan.')
  const splits = [600, 400].map((rows) => ({ rows, detail: undefined }))
  return new DistArray<Film>(planEngine, { ...scan, source: { ...scan.source, kind, splits } })
}

const textOf = (chain: DistArray<unknown>): string => stagesText(lower(optimize(planOf(chain)).plan))

test('columns that only the result has are read for its rows', () => {
  const top = films()
    .filter((r) => r.year > 2000)
    .sortBy((r) => r.stars)
    .limit(20)
  expect(textOf(top)).toMatchInlineSnapshot(`
    "stage 0: ScanExec films [year, stars, row] where year > 2000 -> FilterExec r => r.year > 2e3 -> EvaluateExec [r => r.stars] -> TopKExec 20
    stage 1: stage 0 -> ExchangeExec -> SortExec first 20
    stage 2: stage 1 -> FetchExec of films [title]
    stage 3: stage 2 -> LimitExec 20 -> streamed to stage 4
    stage 4: stage 3 -> LimitExec 20 -> streamed to the action"
  `)
})

test('all columns are read at once where functions take whole rows, the order needs all, or many rows are kept', () => {
  const first = (sorted: DistArray<unknown>, count = 20): string => textOf(sorted.limit(count))
  const year = (r: Pick<Film, 'year'>): number => r.year
  expect(first(films().sortBy((r) => JSON.stringify(r)))).not.toMatch(/Fetch/)
  expect(first(films().select('year').sortBy(year))).not.toMatch(/Fetch/)
  expect(first(films().sortBy(year), 200)).not.toMatch(/Fetch/)
  expect(first(films('csv').sortBy(year))).not.toMatch(/Fetch/)
  expect(textOf(films().sortBy(year))).not.toMatch(/Fetch/)
})

test('the numbers of rows have a name that no column has', () => {
  const chain = films()
    .rename({ title: 'row' })
    .sortBy((r) => r.year)
  expect(textOf(chain.limit(3))).not.toMatch(/Fetch/) // a step makes other elements
  const scan = scanOf('numbered', { row: 'f64', x: 'f64' })
  if (scan.kind !== 'Scan') throw new Error('It is a scan.')
  const source = { ...scan.source, kind: 'arrow' as const, splits: [{ rows: 900, detail: undefined }] }
  const numbered = new DistArray<{ row: number; x: number }>(planEngine, { ...scan, source })
  expect(textOf(numbered.sortBy((r) => r.x).limit(3))).toContain('ScanExec numbered [x, row_]')
})
