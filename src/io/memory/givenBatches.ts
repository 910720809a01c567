/**
 * Batches that a program gives one after another, as a table: they go once, now, to an Arrow file of the system's folder for such,
 * which is there as long as the table is held. So a source of any length takes the memory of one batch, and actions can go through the
 * table as often as they like.
 */
import type { RecordBatch, Schema, Table } from 'apache-arrow'
import { checkOneOf, checkSignal } from '../../core/arguments.ts'
import type { Batch, Column } from '../../core/data/column.ts'
import { convertColumn } from '../../core/data/columnConversions.ts'
import { nullColumn } from '../../core/data/columnSlices.ts'
import { agreedType, type Field, fieldsOf, namesText, sameType, typeText } from '../../core/data/schema.ts'
import { valueText } from '../../core/data/valueKinds.ts'
import { PlanError } from '../../core/errors.ts'
import { checkOptions } from '../../core/options.ts'
import type { ArraySource } from '../../core/plan/logicalPlan.ts'
import { openArrow } from '../arrow/arrowFile.ts'
import { writeArrow } from '../arrow/writeArrow.ts'
import { ownPath } from '../bytes/unpacked.ts'
import { INT64_OPTIONS, type Int64 } from '../int64.ts'
import { batchesOfArrow, isArrow, sourceFromRows } from './memory.ts'

/** A record batch or table of Arrow, or an array of rows. */
export type GivenBatch<Row> = RecordBatch | Table | readonly Row[]
export type GivenBatches<Row> = AsyncIterable<GivenBatch<Row>> | Iterable<GivenBatch<Row>>

export interface BatchesOptions {
  /** The columns, where the first batch does not tell them. */
  readonly schema?: Schema
  /** Of Arrow: 64-bit integers are read as numbers, and one beyond ±2^53 is refused, unless this is 'bigint'. Of rows, bigints stay such. */
  readonly int64?: Int64
  /** Ends the reading. */
  readonly signal?: AbortSignal
}

/** The rows of all batches. PlanError for one whose columns are not those of the first. */
export async function openBatches(batches: GivenBatches<unknown>, options: BatchesOptions, budgetBytes: number): Promise<ArraySource> {
  checkOptions('fromBatches()', options, ['schema', 'int64', 'signal'])
  const { schema, int64 = 'number', signal } = options
  checkOneOf('The int64 of fromBatches()', int64, INT64_OPTIONS)
  if (signal !== undefined) checkSignal('The signal of fromBatches()', signal)
  if (
    typeof batches !== 'object' ||
    batches === null ||
    !(Symbol.asyncIterator in batches || Symbol.iterator in batches) ||
    isArrow(batches)
  )
    throw new PlanError(
      `fromBatches() takes an iterable of batches, which may be asynchronous; it was given ${valueText(batches)}.${isArrow(batches) ? '\nWrite fromArrow(…) for a single one.' : ''}`,
    )
  const given = eachBatch(batches, schema, signal)
  const first = await given.next()
  if (first.done === true)
    throw new PlanError('fromBatches() was given no batch, so nothing tells its columns.\nGive them with { schema }.')
  const fields = fieldsOf(first.value.batch.element).map((field): Field => ({ ...field, nullable: true }))
  const { isRows } = first.value
  const alike = async function* (): AsyncGenerator<Batch> {
    let n = 0
    try {
      for (let next: IteratorResult<GivenOne> = first; next.done !== true; next = await given.next()) {
        if (n > 0 && next.value.isRows !== isRows)
          throw new PlanError(
            `Batch ${n} of fromBatches() is ${isRows ? 'of Arrow, and the first one is of rows' : 'of rows, and the first one is of Arrow'}.`,
          )
        yield batchLike(isRows ? inOrder(next.value.batch, fields) : next.value.batch, fields, n++)
      }
    } finally {
      await given.return(undefined)
    }
  }
  const kept = await ownPath('batches.arrow', (path) =>
    writeArrow({ batches: alike(), element: { kind: 'row', fields }, path, ...(signal && { signal }) }),
  )
  const source = await openArrow(kept.at, { int64: isRows ? 'bigint' : int64, ...(signal && { signal }) }, budgetBytes)
  return { ...source, name: 'fromBatches', given: { [kept.at]: kept } }
}

interface GivenOne {
  readonly batch: Batch
  readonly isRows: boolean
}

async function* eachBatch(
  batches: GivenBatches<unknown>,
  schema: Schema | undefined,
  signal: AbortSignal | undefined,
): AsyncGenerator<GivenOne, undefined> {
  let n = 0
  for await (const given of batches) {
    signal?.throwIfAborted()
    if (isArrow(given)) for (const batch of batchesOfArrow(given)) yield { batch, isRows: false }
    else if (!Array.isArray(given) || given.length > 0 || schema !== undefined) yield { batch: batchOfRows(given, schema, n), isRows: true }
    n++
  }
  if (n === 0 && schema !== undefined) yield { batch: batchOfRows([], schema, 0), isRows: true }
}

function batchOfRows(rows: unknown, schema: Schema | undefined, n: number): Batch {
  if (!Array.isArray(rows))
    throw new PlanError(
      `A batch of fromBatches() is a record batch or table of Arrow, or an array of rows; batch ${n} is ${valueText(rows)}.`,
    )
  const { element, columns = [], rows: length = 0 } = sourceFromRows(rows, schema === undefined ? {} : { schema })
  if (element.kind !== 'row') throw new PlanError(`The rows of fromBatches() are objects; batch ${n} has ${valueText(rows[0])}.`)
  return { element, columns, length }
}

/** Puts the fields of rows in order, with nulls for those that they lack; rows with other fields stay as they are. */
function inOrder(batch: Batch, fields: readonly Field[]): Batch {
  const own = new Map(fieldsOf(batch.element).map(({ name }, i) => [name, batch.columns[i] as Column])) // a column for each
  if ([...own.keys()].some((name) => !fields.some((field) => field.name === name))) return batch
  const columns = fields.map(({ name, type }) => own.get(name) ?? nullColumn(type, batch.length))
  return {
    ...batch,
    element: { kind: 'row', fields: fields.map((field, i) => ({ ...field, type: (columns[i] as Column).type })) },
    columns,
  }
}

/** Converts a batch to the types of the first. PlanError where it has other columns, or types that do not fit. */
function batchLike({ element, columns, length }: Batch, fields: readonly Field[], n: number): Batch {
  const own = fieldsOf(element)
  if (own.length !== fields.length || own.some(({ name }, i) => name !== fields[i]?.name))
    throw new PlanError(`Batch ${n} of fromBatches() has the columns ${namesText(own)}, and the first one has ${namesText(fields)}.`)
  const converted = columns.map((column, i): Column => {
    const field = fields[i] as Field // as many as columns
    if (sameType(column.type, field.type)) return column
    if (column.type.kind === 'null') return nullColumn(field.type, length)
    const type = agreedType(field.type, column.type)
    if (type === undefined || !sameType(type, field.type))
      throw new PlanError(
        `Column "${field.name}" is ${typeText(column.type)} in batch ${n} of fromBatches(), and ${typeText(field.type)} in the first one.\nGive the types with { schema }.`,
      )
    return convertColumn(column, field.type)
  })
  return { element: { kind: 'row', fields }, columns: converted, length }
}
