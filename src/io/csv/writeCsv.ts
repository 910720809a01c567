/**
 * Writes batches as CSV: a header, one record per row, `\n` line ends; commas and decimal points, unless others are asked for.
 *
 * Null is an empty field and an empty string is `""`, so that both come back. Dates are ISO 8601 in UTC with the
 * digits of their unit; NaN and Infinity are written as such.
 */

import { type ColumnType, fieldsOf, typeText } from '../../core/data/schema.ts'
import { PlanError } from '../../core/errors.ts'
import { writeAtomically } from '../bytes/atomicFile.ts'
import { packedByName } from '../bytes/gzipOutput.ts'
import { type Encoding, encodedInOrder } from '../encode.ts'
import { groupsOf, rowsOf } from '../regroup.ts'
import { noColumns, type WriteRequest, type Written } from '../writeParquet.ts'
import { type CsvForm, csvText, inQuotes, STANDARD_FORM } from './csvBytes.ts'

/** Rows of a batch that is made into text at once. */
const BATCH_ROWS = 65_536
/** The characters of a name for which reading it without quotes is an error. */
const OTHER_DELIMITERS = /[;\t|]/

export async function writeCsv({
  batches,
  element,
  path,
  options = {},
  encoder,
  ...access
}: WriteRequest<Partial<CsvForm>>): Promise<Written> {
  const form = { ...STANDARD_FORM, ...options }
  const fields = fieldsOf(element)
  if (fields.length === 0) throw noColumns('A CSV file')
  for (const field of fields) checkType(field.type, field.name)
  let rows = 0
  const header = `${fields.map(({ name }) => (OTHER_DELIMITERS.test(name) ? inQuotes(name) : csvText(name, form))).join(form.delimiter)}\n`
  const encodings = async function* (): AsyncGenerator<Encoding> {
    for await (const { parts, ended } of groupsOf(batches, BATCH_ROWS)) {
      rows += rowsOf(parts)
      yield { task: { format: 'csv', parts, element, ...form }, ended }
    }
  }
  const bytes = await writeAtomically(
    path,
    packedByName(path, async (append) => {
      await append(new TextEncoder().encode(header))
      for await (const records of encodedInOrder(encodings(), encoder)) await append(records)
    }),
    access,
  )
  return { rows, bytes }
}

function checkType(type: ColumnType, column: string): void {
  switch (type.kind) {
    case 'list':
    case 'struct':
    case 'binary':
    case 'object':
    case 'unknown':
      throw new PlanError(
        `Column "${column}" is ${typeText(type)}, which a CSV field cannot hold. Convert it with map, for example to JSON text, or write Parquet.`,
      )
    default:
      return
  }
}
