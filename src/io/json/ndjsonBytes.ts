/** Rows as the bytes of NDJSON: an object a line, with a field for each column. */
import { type Batch, type Column, isValid } from '../../core/data/column.ts'
import { valueReader } from '../../core/data/columnReaders.ts'
import { emptyColumn } from '../../core/data/columnSlices.ts'
import { fieldsOf } from '../../core/data/schema.ts'
import { PlanError } from '../../core/errors.ts'
import { clockText, dayText, timestampText } from '../timeTexts.ts'

type Writer = (index: number) => string

/** The lines of a batch whose columns `writeNdjson` admits. PlanError for NaN and infinity, which JSON has no word for. */
export function ndjsonRecords({ element, columns, length }: Batch): Uint8Array {
  const fields = fieldsOf(element).map(({ name }, i) => ({ key: `${JSON.stringify(name)}:`, write: writerOf(columns[i] as Column, name) })) // a column a field
  let text = ''
  for (let row = 0; row < length; row++) {
    let line = '{'
    for (const [i, { key, write }] of fields.entries()) line += (i === 0 ? '' : ',') + key + write(row)
    text += `${line}}\n`
  }
  return Buffer.from(text)
}

function writerOf(column: Column, name: string): Writer {
  const write = presentWriter(column, name)
  return column.validity === undefined ? write : (index) => (isValid(column, index) ? write(index) : 'null')
}

function presentWriter(column: Column, name: string): Writer {
  const { type, values, children = [], offsets } = column
  switch (type.kind) {
    case 'null':
      return () => 'null'
    case 'utf8': {
      const read = valueReader(column)
      return (index) => JSON.stringify(read(index))
    }
    case 'timestamp': {
      const times = values as BigInt64Array
      return (index) => `"${timestampText(times[index] ?? 0n, type.unit)}"`
    }
    case 'time': {
      const times = values as BigInt64Array
      return (index) => `"${clockText(times[index] ?? 0n, type.unit)}"`
    }
    case 'date': {
      const days = values as Int32Array
      return (index) => `"${dayText(days[index] ?? 0)}"`
    }
    case 'list': {
      const write = writerOf(children[0] ?? emptyColumn(type.item), `${name}[]`)
      return (index) => {
        const items: string[] = []
        for (let i = offsets?.[index] ?? 0, end = offsets?.[index + 1] ?? 0; i < end; i++) items.push(write(i))
        return `[${items.join(',')}]`
      }
    }
    case 'struct': {
      const fields = type.fields.map((field, i) => ({
        key: `${JSON.stringify(field.name)}:`,
        write: writerOf(children[i] ?? emptyColumn(field.type), `${name}.${field.name}`),
      }))
      return (index) => `{${fields.map(({ key, write }) => key + write(index)).join(',')}}`
    }
    case 'f64':
    case 'f32': {
      const numbers = values as Float64Array // or floats
      return (index) => {
        const number = numbers[index] ?? 0
        if (!Number.isFinite(number))
          throw new PlanError(
            `Column "${name}" has the value ${number}, which JSON has no word for. Make null of it first, or write Parquet.`,
          )
        return Object.is(number, -0) ? '-0' : String(number)
      }
    }
    default: {
      const read = valueReader(column)
      return (index) => String(read(index))
    }
  }
}
