/**
 * Readers of columns: functions that read one element, or one row of several columns, as JavaScript values.
 *
 * Values follow `schema.ts`: null for null, bigint for i64, Date for timestamp, …
 */
import { madeFromText } from '../ir/madeFromText.ts'
import type { Batch, Column } from './column.ts'
import { bytesOf, emptyColumn, sliceColumn } from './columnSlices.ts'
import { dateOfTimestamp, MS_PER_DAY } from './fixedValues.ts'
import { textReader } from './textReader.ts'

export type ValueReader = (index: number) => unknown

/** Reads the elements of a column as JavaScript values. */
export function valueReader(column: Column): ValueReader {
  const read = presentReader(column)
  const validity = column.validity
  if (validity === undefined) return read
  return (index) => (((validity[index >> 3] ?? 0) & (1 << (index & 7))) === 0 ? null : read(index))
}

function presentReader(column: Column): ValueReader {
  const { type, values, children } = column
  switch (type.kind) {
    case 'null':
    case 'unknown':
      return () => null
    case 'object':
      return (index) => column.objects?.[index]
    case 'bool':
      return (index) => values?.[index] !== 0
    case 'date':
      return (index) => new Date(Number(values?.[index]) * MS_PER_DAY)
    case 'timestamp':
      return (index) => dateOfTimestamp(values?.[index] as bigint, type.unit)
    case 'utf8':
      return textReader(column)
    case 'binary': {
      const offsets = column.offsets ?? new Int32Array(1)
      const bytes = bytesOf(column)
      return (index) => bytes.slice(offsets[index], offsets[index + 1])
    }
    case 'list': {
      const offsets = column.offsets ?? new Int32Array(1)
      // a slice of lists has all items: readers of texts look at all that they are given
      const first = offsets[0] ?? 0
      const item = valueReader(sliceColumn(children?.[0] ?? emptyColumn(type.item), first, offsets[column.length] ?? first))
      return (index) => {
        const items: unknown[] = []
        for (let i = offsets[index] ?? 0, end = offsets[index + 1] ?? 0; i < end; i++) items.push(item(i - first))
        return items
      }
    }
    case 'struct':
      return recordReader(
        type.fields.map((field) => field.name),
        children ?? [],
      )
    case 'f64':
    case 'f32':
    case 'i32':
    case 'u32':
    case 'i16':
    case 'u16':
    case 'i8':
    case 'u8':
    case 'i64':
    case 'u64':
    case 'time':
      return numberReader(values)
  }
}

/** Reads numbers by a closure for each array class, so that each stays monomorphic. */
function numberReader(values: Column['values']): ValueReader {
  if (values instanceof Float64Array) return (index) => values[index]
  if (values instanceof Int32Array) return (index) => values[index]
  if (values instanceof BigInt64Array) return (index) => values[index]
  if (values instanceof Float32Array) return (index) => values[index]
  return (index) => values?.[index]
}

/** The most fields of which an object is made at once. */
const MOST_LITERAL = 100

function recordReader(names: readonly string[], columns: readonly Column[]): ValueReader {
  const readers = columns.map(valueReader)
  if (names.length <= MOST_LITERAL && names.length === readers.length) return literalMaker(names)(...readers)
  return (index) => {
    const record: Record<string, unknown> = {}
    for (let c = 0; c < readers.length; c++) define(record, names[c] ?? '', readers[c]?.(index))
    return record
  }
}

type LiteralMaker = (...readers: readonly ValueReader[]) => ValueReader
const makers = new Map<string, LiteralMaker>()
/** The most lists of names that are kept. */
const MOST_MAKERS = 500

/**
 * Makes readers of objects with these fields: a literal that is written out, which takes the engine a third of what it takes to put
 * in field after field by names that it does not know.
 */
function literalMaker(names: readonly string[]): LiteralMaker {
  const key = JSON.stringify(names)
  let maker = makers.get(key)
  if (maker === undefined) {
    const parameters = names.map((_, c) => `read${c}`)
    const fields = names.map((name, c) => `${nameText(name)}: read${c}(index)`)
    maker = madeFromText(parameters, `return (index) => ({ ${fields.join(', ')} })`) as LiteralMaker // of the readers, by place
    if (makers.size >= MOST_MAKERS) makers.clear()
    makers.set(key, maker)
  }
  return maker
}

/** A name in a literal, where __proto__ is one like others in brackets alone. */
function nameText(name: string): string {
  return name === '__proto__' ? '["__proto__"]' : JSON.stringify(name)
}

function define(record: Record<string, unknown>, name: string, value: unknown): void {
  if (name === '__proto__') Object.defineProperty(record, name, { value, enumerable: true, configurable: true, writable: true })
  else record[name] = value
}

/** Reads the elements of a batch: an object with the fields for rows, the value itself for scalars. */
export function rowReader(batch: Batch): ValueReader {
  switch (batch.element.kind) {
    case 'row':
      return recordReader(
        batch.element.fields.map((field) => field.name),
        batch.columns,
      )
    case 'scalar': {
      const [column] = batch.columns
      return column === undefined ? () => null : valueReader(column)
    }
    case 'unknown':
      return () => null
  }
}
