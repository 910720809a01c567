/**
 * Sorts and filters that keep few rows read the other columns for these alone (late materialization).
 *
 *     SortExec first 20                               FetchExec of ratings.parquet [title]
 *       TopKExec 20                                     SortExec first 20
 *         EvaluateExec r => r.stars                       TopKExec 20
 *           FilterExec r => r.year > 2000                   EvaluateExec r => r.stars
 *             ScanExec [stars, year, title]                   FilterExec r => r.year > 2000
 *                                                               ScanExec [stars, year, row]
 *
 * Below the sort each row has its number in the table as a column, and FetchExec reads the columns that only the result has at
 * these numbers. The rows, and their order, are those of the sort: it sees the same keys of the same rows. How many rows a filter
 * keeps is known when it has run: such a pipeline has the other way beside it (`ofFewRows`), and the executor chooses.
 */
import { type ElementType, fieldsOf } from '../../core/data/schema.ts'
import { defined } from '../../core/defined.ts'
import { columnsRead } from '../../core/ir/functionUse.ts'
import type { SourceSplit } from '../../core/sourceParts.ts'
import { inputsOf, type PhysicalPlan, type Step, withInputs } from './physicalPlan.ts'

type Scan = Extract<PhysicalPlan, { kind: 'ScanExec' }>
type Pipeline = Extract<PhysicalPlan, { kind: 'PipelineExec' }>

/** A sort that keeps more than one row of this many reads most row groups whole for its columns anyway. */
const ROWS_A_KEPT_ROW = 8
/** Row numbers are a column of u32. */
const MOST_ROWS = 2 ** 32

/** Returns the plan with columns that sorts under a limit do not need read after them. */
export function withFetchedRows(plan: PhysicalPlan): PhysicalPlan {
  const inside = withInputs(plan, inputsOf(plan).map(withFetchedRows))
  if (inside.kind !== 'WideExec' || inside.operator.kind !== 'SortExec' || inside.operator.limit === undefined) return inside
  const [input] = inside.inputs
  if (input?.kind !== 'PipelineExec' || input.input.kind !== 'ScanExec' || input.numbered || input.filteredBy !== undefined) return inside
  const scan = input.input
  const needed = neededBy(input.steps)
  const rows = numberedRows(scan)
  if (needed === undefined || rows === undefined || inside.operator.limit * ROWS_A_KEPT_ROW > rows) return inside
  const [own, columns] = [scan.columns.filter((name) => needed.has(name)), scan.columns.filter((name) => !needed.has(name))]
  if (columns.length === 0) return inside
  const below = withRowNumbers(scan, own)
  const row = below.columns.at(-1) as string // the last
  const { edge, element, ...sort } = inside
  const keyed: Pipeline & PhysicalPlan = { ...input, input: below, element: below.element }
  const sorted: PhysicalPlan = { ...sort, inputs: [keyed], element: below.element }
  return { kind: 'FetchExec', input: sorted, scan, columns, rows: row, element, keys: plan.keys, ...defined({ edge }) }
}

/** Filters read their columns first where the other ones take this many times as many bytes, or more. */
const LEAST_RATIO = 2

/** Returns the plan of all elements with a way for few rows beside it, where it is a pipeline that begins with filters over a file. */
export function withFewRows(plan: PhysicalPlan): PhysicalPlan {
  if (plan.kind !== 'PipelineExec' || plan.where !== 'workers' || plan.numbered || plan.filteredBy !== undefined) return plan
  const { input: scan, steps } = plan
  const first = steps.findIndex(({ kind }) => kind !== 'FilterExec')
  const filters = first < 0 ? steps : steps.slice(0, first)
  const rest = steps.slice(filters.length)
  if (scan.kind !== 'ScanExec' || filters.length === 0) return plan
  const needed = neededBy(filters)
  if (needed === undefined || (numberedRows(scan) ?? 0) === 0) return plan
  const [own, columns] = [scan.columns.filter((name) => needed.has(name)), scan.columns.filter((name) => !needed.has(name))]
  if (own.length === 0 || bytesOf(scan, columns) < LEAST_RATIO * bytesOf(scan, own)) return plan
  const below = withRowNumbers(scan, own)
  const { element, keys } = scan
  const { ofFewRows: _, edge: __, ...pipeline } = plan
  const filtered = { ...pipeline, input: below, steps: filters, element: below.element, keys }
  const rows = below.columns.at(-1) as string // the last
  const fetch = { kind: 'FetchExec' as const, input: filtered, scan, columns, rows, element, keys }
  return { ...plan, ofFewRows: { filters: filtered, fetch, plan: rest.length === 0 ? fetch : { ...pipeline, input: fetch, steps: rest } } }
}

/** Returns the bytes of columns in the file's first row group; the number of columns where it does not say. */
function bytesOf({ source }: Scan, columns: readonly string[]): number {
  const [first] = source.splits
  return columns.reduce((sum, name) => sum + (first?.columnBytes?.get(name) ?? 1), 0)
}

/** Returns the columns that a sort's steps read; undefined where they take elements as a whole, or make others. */
function neededBy(steps: readonly Step[]): ReadonlySet<string> | undefined {
  const needed = new Set<string>()
  for (const step of steps) {
    if (step.kind === 'TopKExec') continue
    if (step.kind !== 'FilterExec' && (step.kind !== 'EvaluateExec' || step.axis !== undefined || step.payload !== true)) return undefined
    for (const f of step.kind === 'FilterExec' ? [step.f] : step.columns.map(({ f }) => f)) {
      const own = columnsRead(f)
      if (own === 'all') return undefined
      for (const name of own) needed.add(name)
    }
  }
  return needed
}

/** Returns the number of rows of a scan whose rows can be read by their numbers; undefined for any other. */
function numberedRows({ source, element, keys }: Scan): number | undefined {
  if ((source.kind !== 'parquet' && source.kind !== 'arrow') || element.kind !== 'row' || keys.kind !== 'rowNumber') return undefined
  let sum = 0
  for (const { rows } of source.splits) {
    if (rows === undefined) return undefined
    sum += rows
  }
  return sum < MOST_ROWS ? sum : undefined
}

/** Returns the scan of these columns, and of the rows' numbers as the last one. */
function withRowNumbers(scan: Scan, columns: readonly string[]): Scan {
  const { source } = scan
  const row = freeName(source.element)
  const field = { name: row, type: { kind: 'u32' as const }, nullable: false }
  let from = 0
  const splits = source.splits.map((split): SourceSplit => {
    const numbered = { ...split, rowNumbers: { column: row, from } }
    from += split.rows ?? 0
    return numbered
  })
  const own = fieldsOf(scan.element).filter(({ name }) => columns.includes(name))
  return {
    ...scan,
    source: { ...source, element: { kind: 'row', fields: [...fieldsOf(source.element), field] }, splits },
    columns: [...columns, row],
    element: { kind: 'row', fields: [...own, field] },
  }
}

function freeName(element: ElementType): string {
  const names = new Set(fieldsOf(element).map(({ name }) => name))
  let name = 'row'
  while (names.has(name)) name = `${name}_`
  return name
}
