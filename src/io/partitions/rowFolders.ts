/** The folder that each row of a batch belongs to, by the values of the columns that folders are named after. */
import { type Batch, type Column, isValid } from '../../core/data/column.ts'
import { type ValueReader, valueReader } from '../../core/data/columnReaders.ts'
import { type ElementType, type Field, fieldsOf, typeText } from '../../core/data/schema.ts'
import { valueText } from '../../core/data/valueKinds.ts'
import { PlanError } from '../../core/errors.ts'
import { NULL_PARTITION } from './partitions.ts'

/** Most folders: more are from a column that was not meant to name them, as one of times. */
const MOST_FOLDERS = 10_000

/** The columns that name folders, by their places among those of the element. */
export interface FolderColumns {
  readonly folders: readonly { readonly field: Field; readonly at: number }[]
  /** The places of the columns that stay in the files. */
  readonly kept: readonly number[]
}

/** PlanError for columns that are not there, that name no folders, or that leave none for the files. */
export function folderColumns(element: ElementType, partitionBy: readonly string[]): FolderColumns {
  const fields = fieldsOf(element)
  const folders = partitionBy.map((name) => {
    const at = fields.findIndex((field) => field.name === name)
    const field = fields[at]
    if (field === undefined)
      throw new PlanError(
        `There is no column "${name}", which { partitionBy } names. The columns are ${fields.map((one) => one.name).join(', ')}.`,
      )
    if (!NAMES_FOLDERS.has(field.type.kind))
      throw new PlanError(
        `Column "${name}" is ${typeText(field.type)}, which names no folders: whole numbers, texts, dates and truth values do. Make a column of one of them first, with withColumns(…).`,
      )
    return { field, at }
  })
  const kept = fields.flatMap((_, i) => (folders.some(({ at }) => at === i) ? [] : [i]))
  if (kept.length === 0) throw new PlanError('{ partitionBy } names all columns, and the files need at least one.')
  return { folders, kept }
}

const NAMES_FOLDERS: ReadonlySet<string> = new Set([
  'f64',
  'f32',
  'i64',
  'u64',
  'i32',
  'u32',
  'i16',
  'u16',
  'i8',
  'u8',
  'bool',
  'utf8',
  'date',
])

/** Gives numbers to folders in the order in which their first rows come. */
export class Folders {
  /** Paths of the folders, by number. */
  readonly paths: string[] = []
  readonly #columns: FolderColumns['folders']
  /** A tree of maps, a level for each column by its values; the last level has the folders' numbers. */
  readonly #root = new Map<unknown, unknown>()

  constructor(columns: FolderColumns) {
    this.#columns = columns.folders
  }

  /** The numbers of the folders of a batch's rows. */
  of({ columns, length }: Batch): Int32Array {
    const readers = this.#columns.map(({ at }) => keyReader(columns[at] as Column)) // a column for each field
    const numbers = new Int32Array(length)
    for (let row = 0; row < length; row++) numbers[row] = this.#numberOf(readers, row)
    return numbers
  }

  #numberOf(readers: readonly ValueReader[], row: number): number {
    let node = this.#root
    const last = readers.length - 1
    for (let i = 0; i < last; i++) {
      const key = readers[i]?.(row)
      let next = node.get(key) as Map<unknown, unknown> | undefined // all but the last level are maps
      if (next === undefined) node.set(key, (next = new Map()))
      node = next
    }
    const key = readers[last]?.(row)
    const known = node.get(key) as number | undefined // the last level has numbers
    if (known !== undefined) return known
    const path = readers.map((read, i) => this.#folderName(i, read(row))).join('/')
    const number = this.paths.push(path) - 1
    if (number >= MOST_FOLDERS)
      throw new PlanError(
        `{ partitionBy: [${this.#columns.map(({ field }) => `'${field.name}'`).join(', ')}] } makes more than ${MOST_FOLDERS} folders. Name columns with fewer different values.`,
      )
    node.set(key, number)
    return number
  }

  #folderName(i: number, value: unknown): string {
    const { name, type } = (this.#columns[i] as FolderColumns['folders'][number]).field // one for each reader
    const refuse = (why: string) => new PlanError(`Column "${name}" has the value ${valueText(value)}, ${why}`)
    if (typeof value === 'number' && type.kind !== 'date' && !Number.isSafeInteger(value))
      throw refuse('and folders are named by whole numbers within ±2^53. Make a column of such first, with withColumns(…).')
    if (value === NULL_PARTITION) throw refuse('which names the folder of rows that have none. Give those rows another text first.')
    const text = value === null ? NULL_PARTITION : type.kind === 'date' ? dayText(value) : String(value)
    return `${encodeURIComponent(name)}=${encodeURIComponent(text)}`
  }
}

function dayText(value: unknown): string {
  return new Date(Number(value) * 86_400_000).toISOString().replace(/T.*$/, '')
}

/** Reads values as keys of a Map: dates as their days, as two Dates of a day are not the same to it. */
function keyReader(column: Column): ValueReader {
  if (column.type.kind !== 'date') return valueReader(column)
  const days = column.values as Int32Array // those of dates
  return (row) => (isValid(column, row) ? days[row] : null)
}
