/** Rows as the bytes of NDJSON: an object a line, with a field for each column. */
import { type Batch, type Column, isValid } from '../../core/data/column.ts'
import { valueReader } from '../../core/data/columnReaders.ts'
import { emptyColumn } from '../../core/data/columnSlices.ts'
import { fieldsOf } from '../../core/data/schema.ts'
import { PlanError } from '../../core/errors.ts'
import { LENT_BY_NOBODY, type Lent } from '../lent.ts'
import { Output, plainWriter, type ValueWriter, writeNumber } from '../valueBytes.ts'

/** Bytes of a field beside its name and its texts, at first; there is more room where they do not suffice. */
const FIELD_BYTES = 12
const QUOTE = 34
const POINT = 46
const COMMA = 44
const NEWLINE = 10
const BACKSLASH = 92
const SPACE = 32
const NOT_ASCII = 128
const [BEGIN_LIST, END_LIST, BEGIN_OBJECT, END_OBJECT] = [91, 93, 123, 125]

/** The lines of a batch whose columns `writeNdjson` admits. PlanError for NaN and infinity, which JSON has no word for. */
export function ndjsonRecords({ element, columns, length }: Batch, lent: Lent = LENT_BY_NOBODY): Uint8Array {
  const fields = fieldsOf(element)
  const write = objectWriter(
    fields.map(({ name }) => name),
    columns.map((column, i) => writerOf(column, fields[i]?.name ?? '')), // a column a field
  )
  const names = fields.reduce((sum, { name }) => sum + name.length, 2)
  const out = new Output(
    columns.reduce((sum, column) => sum + textBytes(column), length * (names + columns.length * FIELD_BYTES)),
    lent,
  )
  for (let row = 0; row < length; row++) {
    write(out, row)
    out.byte(NEWLINE)
  }
  return out.result()
}

function textBytes({ type, offsets, length }: Column): number {
  return type.kind === 'utf8' ? (offsets?.[length] ?? 0) - (offsets?.[0] ?? 0) : 0
}

/** Writes an object of these fields. */
function objectWriter(names: readonly string[], writers: readonly ValueWriter[]): ValueWriter {
  const keys = names.map((name, i) => Buffer.from(`${i === 0 ? '' : ','}${JSON.stringify(name)}:`))
  return (out, index) => {
    out.byte(BEGIN_OBJECT)
    for (let i = 0; i < writers.length; i++) {
      const key = keys[i] as Buffer // one for each
      out.copy(key, 0, key.length)
      writers[i]?.(out, index)
    }
    out.byte(END_OBJECT)
  }
}

function writerOf(column: Column, name: string): ValueWriter {
  const write = presentWriter(column, name)
  if (column.validity === undefined) return write
  return (out, index) => {
    if (isValid(column, index)) write(out, index)
    else out.ascii('null')
  }
}

/** Writes a text of ASCII characters in quotes. */
function quoted(write: ValueWriter): ValueWriter {
  return (out, index) => {
    out.byte(QUOTE)
    write(out, index)
    out.byte(QUOTE)
  }
}

function presentWriter(column: Column, name: string): ValueWriter {
  const { type, values, children = [], offsets } = column
  const plain = plainWriter(column)
  if (plain !== undefined) return type.kind === 'date' || type.kind === 'time' || type.kind === 'timestamp' ? quoted(plain) : plain
  switch (type.kind) {
    case 'null':
      return (out) => out.ascii('null')
    case 'utf8':
      return textWriter(column)
    case 'list': {
      const write = writerOf(children[0] ?? emptyColumn(type.item), `${name}[]`)
      return (out, index) => {
        out.byte(BEGIN_LIST)
        const begin = offsets?.[index] ?? 0
        for (let i = begin, end = offsets?.[index + 1] ?? 0; i < end; i++) {
          if (i > begin) out.byte(COMMA)
          write(out, i)
        }
        out.byte(END_LIST)
      }
    }
    case 'struct':
      return objectWriter(
        type.fields.map((field) => field.name),
        type.fields.map((field, i) => writerOf(children[i] ?? emptyColumn(field.type), `${name}.${field.name}`)),
      )
    case 'f64':
    case 'f32': {
      const numbers = values as Float64Array // or floats
      return (out, index) => {
        const number = numbers[index] ?? 0
        if (!Number.isFinite(number))
          throw new PlanError(
            `Column "${name}" has the value ${number}, which JSON has no word for. Make null of it first, or write Parquet.`,
          )
        writeNumber(out, number, POINT)
      }
    }
    default: {
      const read = valueReader(column)
      return (out, index) => out.ascii(String(read(index)))
    }
  }
}

/** Writes texts: of plain characters their bytes, of others what JSON makes of them. */
function textWriter(column: Column): ValueWriter {
  const { offsets, values, dictionary } = column
  const read = valueReader(column)
  if (offsets === undefined || !(values instanceof Uint8Array) || dictionary !== undefined)
    return (out, index) => out.text(JSON.stringify(read(index)))
  return (out, index) => {
    const [begin, end] = [offsets[index] as number, offsets[index + 1] as number] // of the batch
    if (!isPlain(values, begin, end)) return out.text(JSON.stringify(read(index)))
    out.byte(QUOTE)
    out.copy(values, begin, end)
    out.byte(QUOTE)
  }
}

/** Whether JSON has the characters as they are: those of ASCII but for controls, quotes and backslashes. */
function isPlain(bytes: Uint8Array, begin: number, end: number): boolean {
  for (let at = begin; at < end; at++) {
    const byte = bytes[at] as number // at < end
    if (byte < SPACE || byte >= NOT_ASCII || byte === QUOTE || byte === BACKSLASH) return false
  }
  return true
}
