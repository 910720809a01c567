/**
 * The result of `array.describe()`: a summary of each column, folded batch by batch, so that the table need not fit into memory.
 *
 * Sums go by the fixed tree of reductions, as `mean()` does. Different values are kept to be counted, by the equality of
 * `distinct()`, as long as there are not too many of them.
 */

import { NumberSum } from '../arrays/folds.ts'
import type { Batch, Column } from '../data/column.ts'
import { isValid } from '../data/column.ts'
import { valueReader } from '../data/columnReaders.ts'
import type { ColumnType, ElementType, Field } from '../data/schema.ts'
import { isKnown, valueClassOf } from '../plan/elements.ts'
import { cellText } from './cells.ts'
import type { Grid } from './grid.ts'
import { barsOf, type Histogram, HistogramCounts } from './histogram.ts'
import { columnsOf, columnTypeText, MOST_TYPE, nameText } from './rows.ts'
import { showAs } from './shown.ts'
import { clipped, counted, countText } from './width.ts'

type Extreme = number | bigint | string | boolean | Date

/** One column of a description. */
export interface ColumnSummary {
  readonly name: string
  readonly type: string
  /** The number of rows in which the column is null. */
  readonly nulls: number
  /** The least value: of numbers as `Math.min` (NaN wins, -0 < 0), of others by `<`; null without values, and for lists, objects and bytes. */
  readonly min: Extreme | null
  readonly max: Extreme | null
  /** The mean of numbers and bigints; null without values, and for all else. */
  readonly mean: number | null
  /** The counts of numbers, bigints (as numbers) or dates by size, in at most twelve bins; null without values, and for all else. */
  readonly histogram: Histogram | null
  /** The number of different values, nulls not counted; null for lists and objects. */
  readonly distinct: number | null
  /** Whether `distinct` is exact; false where there are more different values, which were not counted further. */
  readonly isDistinctExact: boolean
}

/** The result of `describe()`: plain data, which prints as a table in the console, a REPL and a notebook. */
export interface Description {
  readonly rows: number
  readonly columns: readonly ColumnSummary[]
}

export interface DistinctLimits {
  /** The most different values of a column that are kept. */
  readonly values: number
  /** The most characters of its different texts. */
  readonly characters: number
}

/** The default limits: about 10 MB of numbers, or 50 MB of texts, a column. */
const LIMITS: DistinctLimits = { values: 100_000, characters: 2 ** 24 }

/** Folds the batches of a plan with such elements. */
export class Describer {
  readonly #limits: DistinctLimits
  readonly #columns = new Map<string, Summary>()
  #rows = 0

  constructor(element: ElementType, limits: DistinctLimits = LIMITS) {
    this.#limits = limits
    if (isKnown(element)) for (const field of columnsOf(element)) this.#summaryOf(field)
  }

  add(batch: Batch): void {
    this.#rows += batch.length
    if (!isKnown(batch.element) && batch.columns.length === 0) return
    for (const [i, field] of columnsOf(batch.element).entries()) {
      const column = batch.columns[i]
      if (column !== undefined) this.#summaryOf(field).add(column, field)
    }
  }

  finish(): Description {
    const description: Description = { rows: this.#rows, columns: [...this.#columns.values()].map((summary) => summary.finish(this.#rows)) }
    showAs(description, () => ({ what: 'Description', title: counted(description.rows, 'row'), grid: gridOf(description) }))
    return description
  }

  #summaryOf(field: Field): Summary {
    let summary = this.#columns.get(field.name)
    if (summary === undefined) this.#columns.set(field.name, (summary = new Summary(field, this.#limits)))
    return summary
  }
}

/** The running summary of one column. */
class Summary {
  readonly #limits: DistinctLimits
  readonly #sum = new NumberSum()
  readonly #histogram = new HistogramCounts()
  readonly #different = new Set<unknown>()
  #field: Field
  #present = 0
  #bigints = 0n
  #min: Extreme | undefined
  #max: Extreme | undefined
  #characters = 0
  #isExact = true

  constructor(field: Field, limits: DistinctLimits) {
    this.#field = field
    this.#limits = limits
  }

  add(column: Column, field: Field): void {
    if (this.#field.type.kind === 'unknown' || this.#field.type.kind === 'null') this.#field = field
    const { type } = column
    const read = valueReader(column)
    const isCompared = comparable(type)
    const isCounted = isCompared || type.kind === 'binary'
    const isNumeric = hasMean(type)
    const hasSize = isNumeric || valueClassOf(type) === 'Date'
    if (isNumeric && valueClassOf(type) === 'number') this.#sum.addColumn(column)
    for (let i = 0; i < column.length; i++) {
      if (!isValid(column, i)) continue
      const value = read(i)
      if (value === null || value === undefined) continue
      this.#present++
      if (typeof value === 'bigint' && isNumeric) this.#bigints += value
      if (isCompared) this.#compare(value as Extreme)
      if (hasSize) this.#histogram.add(Number(value))
      if (isCounted && this.#isExact) this.#count(value)
    }
  }

  #compare(value: Extreme): void {
    if (this.#min === undefined || this.#max === undefined) {
      this.#min = value
      this.#max = value
    } else if (typeof value === 'number') {
      this.#min = Math.min(this.#min as number, value) // a column holds values of one kind
      this.#max = Math.max(this.#max as number, value)
    } else {
      if (value < this.#min) this.#min = value
      if (value > this.#max) this.#max = value
    }
  }

  #count(value: unknown): void {
    const key = value instanceof Date ? value.getTime() : value instanceof Uint8Array ? value.join() : value
    if (this.#different.has(key)) return
    if (typeof key === 'string') this.#characters += key.length
    if (this.#different.size >= this.#limits.values || this.#characters > this.#limits.characters) this.#isExact = false
    else this.#different.add(key)
  }

  finish(rows: number): ColumnSummary {
    const { name, type } = this.#field
    const isCounted = comparable(type) || type.kind === 'binary' || this.#present === 0
    const hasValues = this.#present > 0
    const total = valueClassOf(type) === 'bigint' ? Number(this.#bigints) : this.#sum.finish()
    return {
      name,
      type: columnTypeText(this.#field),
      nulls: rows - this.#present,
      min: this.#min ?? null,
      max: this.#max ?? null,
      mean: hasValues && hasMean(type) ? Number(total) / this.#present : null,
      histogram: this.#histogram.finish(),
      distinct: isCounted ? this.#different.size : null,
      isDistinctExact: this.#isExact,
    }
  }
}

/** Whether values have an order that `<` tells. */
function comparable(type: ColumnType): boolean {
  return ['number', 'bigint', 'string', 'boolean', 'Date'].includes(valueClassOf(type)) && type.kind !== 'object'
}

function hasMean(type: ColumnType): boolean {
  const valueClass = valueClassOf(type)
  return (valueClass === 'number' || valueClass === 'bigint') && type.kind !== 'time' && type.kind !== 'object'
}

function gridOf({ columns }: Description): Grid {
  const head = (name: string, side: 'left' | 'right'): Grid['columns'][number] => ({ name, type: '', side })
  const cell = (value: Extreme | null, type: string): string => {
    if (value === null) return ''
    return value instanceof Date && type.startsWith('date') ? cellText(value, { kind: 'date' }) : cellText(value, { kind: 'utf8' })
  }
  return {
    columns: [
      head('column', 'left'),
      head('type', 'left'),
      head('nulls', 'right'),
      head('distinct', 'right'),
      head('min', 'right'),
      head('max', 'right'),
      head('mean', 'right'),
      head('histogram', 'left'),
    ],
    rows: columns.map(({ name, type, nulls, distinct, isDistinctExact, min, max, mean, histogram }) => [
      nameText(name),
      clipped(type, MOST_TYPE),
      countText(nulls),
      distinct === null ? '' : `${isDistinctExact ? '' : '> '}${countText(distinct)}`,
      cell(min, type),
      cell(max, type),
      mean === null ? '' : String(mean),
      histogram === null ? '' : barsOf(histogram),
    ]),
  }
}
