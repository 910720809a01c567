/**
 * Categories on their way into an Arrow file: texts as numbers of a dictionary's entries, in the order in which they come.
 *
 * The dictionary grows from batch to batch, and the writer adds what is new to that of the file.
 */
import type { Field as ArrowField, Data, Dictionary as DictionaryType, Schema, Utf8 as TextType } from 'apache-arrow'
import type { Batch, Column } from '../../core/data/column.ts'
import { columnFromValues } from '../../core/data/columnBuilder.ts'
import { valueReader } from '../../core/data/columnReaders.ts'
import { PlanError } from '../../core/errors.ts'
import { dataOf, recordBatchOf, validityOf } from './arrowBatches.ts'
import { DataType, makeData, type RecordBatch, Utf8, Vector } from './arrowLibrary.ts'

/** Makes the record batches of a file, whose dictionaries it remembers. */
export class CategoryWriter {
  private readonly schema: Schema
  private readonly path: string
  private readonly dictionaries: ReadonlyMap<ArrowField, Entries>
  constructor(schema: Schema, path: string) {
    this.schema = schema
    this.path = path
    this.dictionaries = new Map(
      schema.fields.flatMap((field) => (DataType.isDictionary(field.type) ? [[field, new Entries(field.type)]] : [])),
    )
  }

  recordBatch(batch: Batch): RecordBatch {
    return recordBatchOf(this.schema, batch, (column, field) => {
      const entries = this.dictionaries.get(field)
      return entries === undefined ? dataOf(column, field) : entries.numbered(column, field.name, this.path)
    })
  }
}

class Entries {
  private readonly type: DictionaryType<TextType>
  private readonly numbers = new Map<string, number>()
  private readonly chunks: Data<TextType>[] = []
  constructor(type: DictionaryType) {
    this.type = type as DictionaryType<TextType> // as `fileSchemaOf` makes them
  }

  numbered(column: Column, name: string, path: string): Data {
    const { indices } = this.type
    const values = new indices.ArrayType(column.length)
    const isBig = values instanceof BigInt64Array || values instanceof BigUint64Array
    const most = isBig ? Number.MAX_SAFE_INTEGER : 2 ** (indices.bitWidth - (indices.isSigned ? 1 : 0))
    const read = valueReader(column)
    const added: string[] = []
    for (let row = 0; row < column.length; row++) {
      const text = read(row) as string | null // of a column of texts
      if (text === null) continue
      let number = this.numbers.get(text)
      if (number === undefined) {
        number = this.numbers.size
        if (number >= most) throw tooMany(name, path, most)
        this.numbers.set(text, number)
        added.push(text)
      }
      values[row] = (isBig ? BigInt(number) : number) as never // the array's own kind
    }
    if (added.length > 0 || this.chunks.length === 0) {
      const entries = dataOf(columnFromValues(added, { kind: 'utf8' }), { name, type: new Utf8() })
      this.chunks.push(entries as Data<TextType>)
    }
    const base = { type: this.type, length: column.length, ...validityOf(column) }
    return makeData({ ...base, data: values, dictionary: new Vector([...this.chunks]) } as never)
  }
}

function tooMany(name: string, path: string, most: number): PlanError {
  return new PlanError(
    `Column "${name}" has more than ${most} different texts, and the categories of its file have numbers for no more. ${path} was not written.\nMake it plain text first, as in withColumns((r) => ({ ${name}: String(r.${name}) })).`,
  )
}
