/**
 * The messages of an Arrow file or stream as splits: each is checked by what its header says, and each record batch
 * becomes a split that knows the dictionaries before it.
 */
import type { Message, Schema } from 'apache-arrow'
import { SourceError } from '../core/errors.ts'
import type { SourceSplit } from '../core/ports.ts'
import type { ElementType } from '../core/schema.ts'
import { type BatchHeader, layoutOf } from './arrowLayout.ts'
import { Field as ArrowField, MessageHeader } from './arrowLibrary.ts'
import { elementOfArrowSchema } from './arrowTypes.ts'

/** Ends the sentence of a SourceError that begins with the path. */
export const COMPRESSED: string =
  'has compressed record batches, which are not read. Write it without compression, as pyarrow does with feather.write_feather(table, path, compression="uncompressed").'

export type Range = readonly [start: number, end: number]
export type RowElement = ElementType & { readonly kind: 'row' }

export interface ArrowDetail {
  readonly path: string
  readonly stamp: string
  /** The schema message. */
  readonly schema: Uint8Array
  /** The messages of dictionaries that the record batch can refer to; one list for all batches that have the same. */
  readonly dictionaries: readonly Range[]
  readonly batch: Range
  /** The file's rows before it. */
  readonly firstRow: number
  /** What values may take beyond their bytes in the file. */
  readonly roomBytes: number
}

/** A message, where it lies, and how many of its bytes are its body. */
export interface Found {
  readonly message: Message
  readonly start: number
  readonly end: number
  readonly bodyBytes: number
}

export interface OpenedSchema {
  readonly path: string
  readonly stamp: string
  /** Bytes of the file. */
  readonly size: number
  readonly schema: Schema
  /** The schema as a message. */
  readonly message: Uint8Array
  readonly roomBytes: number
}

/** Most rows that a file of so many bytes can have: columns of nothing but nulls take none. */
function mostRows(fileBytes: number): number {
  return 2 ** 22 + 64 * fileBytes
}
/** References of splits to dictionaries, one for each pair. */
const MOST_REFERENCES = 2 ** 20

/** The messages behind a schema, checked one by one, as splits. */
export class Messages {
  readonly element: RowElement
  readonly splits: SourceSplit[] = []
  readonly #opened: OpenedSchema
  /** Replaced, never changed, as splits hold on to it. */
  #dictionaries: readonly { readonly id: number; readonly range: Range }[] = []
  #ranges: readonly Range[] = []
  #rows = 0
  #firstRow = 0
  #references = 0
  constructor(opened: OpenedSchema) {
    this.#opened = opened
    this.element = elementOfArrowSchema(opened.schema, opened.path)
  }

  /** What the schema says besides of its columns. */
  get notes(): ReadonlyMap<string, string> {
    return this.#opened.schema.metadata
  }

  add({ message, start, end, bodyBytes }: Found): void {
    if (message.headerType === MessageHeader.DictionaryBatch) {
      const header = message.header() as unknown as { readonly id: number; readonly data: BatchHeader; readonly isDelta: boolean }
      const values = this.#opened.schema.dictionaries.get(header.id)
      if (values === undefined) throw this.#damaged(`it has a dictionary with the id ${header.id}, which no column names`)
      this.#claim(header.data.length + this.#checked(header.data, [new ArrowField('dictionary', values, true)], bodyBytes))
      // one that is not added to is replaced, unless another one was made of it
      const kept = header.isDelta || this.#nested() ? this.#dictionaries : this.#dictionaries.filter(({ id }) => id !== header.id)
      this.#dictionaries = [...kept, { id: header.id, range: [start, end] }]
      this.#ranges = this.#dictionaries.map(({ range }) => range)
      this.#count(this.#ranges.length)
    } else if (message.headerType === MessageHeader.RecordBatch) {
      const header = message.header() as unknown as BatchHeader
      this.#claim(header.length + this.#checked(header, this.#opened.schema.fields, bodyBytes))
      if (header.length === 0) return
      this.#count(this.#ranges.length)
      const { path, stamp, message: schema, roomBytes } = this.#opened
      const detail: ArrowDetail = {
        path,
        stamp,
        schema,
        dictionaries: this.#ranges,
        batch: [start, end],
        firstRow: this.#firstRow,
        roomBytes,
      }
      const bytes = [...this.#ranges, detail.batch].reduce((sum, [from, to]) => sum + to - from, 0)
      this.splits.push({ rows: header.length, bytes, detail })
      this.#firstRow += header.length
    }
  }

  /** Whether the header is sound; values that no bytes stand behind. */
  #checked(header: BatchHeader & { readonly compression?: unknown }, fields: readonly ArrowField[], bodyBytes: number): number {
    const { path } = this.#opened
    if (header.compression !== null && header.compression !== undefined) throw new SourceError(`${path} ${COMPRESSED}`, path)
    const layout = layoutOf(header, fields, bodyBytes)
    if (layout.kind === 'fault') throw this.#damaged(layout.what)
    return layout.unbacked
  }

  #claim(rows: number): void {
    this.#rows += rows
    const { path, size } = this.#opened
    if (this.#rows <= mostRows(size)) return
    throw new SourceError(
      `${path} declares ${this.#rows} rows and values in ${size} bytes, and at most ${mostRows(size)} are read of so few.`,
      path,
    )
  }

  #nested(): boolean {
    return [...this.#opened.schema.dictionaries.values()].some((type) => type.children?.length > 0)
  }

  #count(references: number): void {
    this.#references += references
    if (this.#references > MOST_REFERENCES)
      throw new SourceError(
        `${this.#opened.path} adds to its dictionaries again and again. Write it with whole dictionaries.`,
        this.#opened.path,
      )
  }

  #damaged(what: string): SourceError {
    return new SourceError(`${this.#opened.path} is damaged: ${what}.`, this.#opened.path)
  }
}
