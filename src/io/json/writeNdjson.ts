/**
 * Writes batches as NDJSON: an object a line, with every column in each, null where there is nothing.
 *
 * Dates and times are ISO 8601 in UTC with the digits of their unit; lists and structs are lists and objects.
 */

import { type ColumnType, fieldsOf, typeText } from '../../core/data/schema.ts'
import { PlanError } from '../../core/errors.ts'
import { writeAtomically } from '../bytes/atomicFile.ts'
import { packedByName } from '../bytes/gzipOutput.ts'
import { type Encoding, encodedInOrder } from '../encode.ts'
import { groupsOf, rowsOf } from '../regroup.ts'
import { noColumns, type WriteRequest, type Written } from '../writeParquet.ts'

/** Rows of a batch that is made into text at once. */
const BATCH_ROWS = 65_536

export async function writeNdjson({ batches, element, path, encoder, ...access }: WriteRequest<object>): Promise<Written> {
  const fields = fieldsOf(element)
  if (fields.length === 0) throw noColumns('An NDJSON file')
  for (const field of fields) checkType(field.type, field.name)
  let rows = 0
  const encodings = async function* (): AsyncGenerator<Encoding> {
    for await (const { parts, ended } of groupsOf(batches, BATCH_ROWS)) {
      rows += rowsOf(parts)
      yield { task: { format: 'ndjson', parts, element }, ended }
    }
  }
  const bytes = await writeAtomically(
    path,
    packedByName(path, async (append) => {
      for await (const lines of encodedInOrder(encodings(), encoder)) await append(lines)
    }),
    access,
  )
  return { rows, bytes }
}

function checkType(type: ColumnType, column: string): void {
  switch (type.kind) {
    case 'list':
      checkType(type.item, `${column}[]`)
      return
    case 'struct':
      for (const field of type.fields) checkType(field.type, `${column}.${field.name}`)
      return
    case 'binary':
    case 'object':
    case 'unknown':
      throw new PlanError(
        `Column "${column}" is ${typeText(type)}, which JSON cannot hold. Convert it with map, for example to text, or write Parquet.`,
      )
    default:
      return
  }
}
