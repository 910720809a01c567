/**
 * The messages of an Arrow file or stream as splits: each is checked by what its header says, and each record batch
 * becomes a split that knows the dictionaries before it.
 */
import type { Message, Schema } from 'apache-arrow'
import type { ElementType } from '../../core/data/schema.ts'
import { SourceError } from '../../core/errors.ts'
import type { SourceSplit } from '../../core/sourceParts.ts'
import type { BatchPlace } from './arrowBody.ts'
import { type BatchHeader, dictionaryField, type Layout, layoutOf } from './arrowLayout.ts'
import { type Field as ArrowField, MessageHeader } from './arrowLibrary.ts'
import { compressionFault } from './arrowPacked.ts'
import { elementOfArrowSchema } from './arrowTypes.ts'

/** A message of a dictionary, and where it lies. */
export interface Dictionary {
  readonly id: number
  readonly start: number
  readonly end: number
}
export type RowElement = ElementType & { readonly kind: 'row' }

export interface ArrowDetail extends BatchPlace {
  readonly stamp: string
  /** The messages of dictionaries that the record batch can refer to; one list for all batches that have the same. */
  readonly dictionaries: readonly Dictionary[]
  /** The number of the file's rows before the record batch. */
  readonly firstRow: number
  /** The budget of the session that reads, in bytes. */
  readonly budgetBytes: number
  /** Whether one of the messages may be compressed. */
  readonly isPacked: boolean
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
  /** Size of the file in bytes. */
  readonly size: number
  readonly schema: Schema
  /** The schema as a message. */
  readonly message: Uint8Array
  readonly budgetBytes: number
}

/** Most rows that a file of so many bytes can have: columns of nothing but nulls take none, and of equal values next to none once they are compressed. */
function mostRows(fileBytes: number, isPacked: boolean): number {
  return isPacked ? 2 ** 24 + 2 ** 14 * fileBytes : 2 ** 22 + 64 * fileBytes
}
/** Most references of splits to dictionaries, one for each pair. */
const MOST_REFERENCES = 2 ** 20

/** The messages behind a schema, checked one by one, as splits. */
export class Messages {
  readonly element: RowElement
  readonly splits: SourceSplit[] = []
  readonly #opened: OpenedSchema
  /** The dictionaries so far. The list is replaced, never changed, as splits hold on to it. */
  #dictionaries: readonly Dictionary[] = []
  #rows = 0
  #firstRow = 0
  #references = 0
  #isPacked = false
  constructor(opened: OpenedSchema) {
    this.#opened = opened
    this.element = elementOfArrowSchema(opened.schema, opened.path)
  }

  /** The metadata of the schema. */
  get notes(): ReadonlyMap<string, string> {
    return this.#opened.schema.metadata
  }

  /** Whether a message so far is compressed. */
  get isPacked(): boolean {
    return this.#isPacked
  }

  add({ message, start, end, bodyBytes }: Found): void {
    if (message.headerType === MessageHeader.DictionaryBatch) {
      const header = message.header() as unknown as { readonly id: number; readonly data: BatchHeader; readonly isDelta: boolean }
      const field = dictionaryField(this.#opened.schema, header.id)
      if (field === undefined) throw this.#damaged(`it has a dictionary with the id ${header.id}, which no column names`)
      this.#claim(header.data.length + this.#checked(header.data, [field], bodyBytes).unbacked)
      // one that is not added to is replaced, unless another one was made of it
      const kept = header.isDelta || this.#nested() ? this.#dictionaries : this.#dictionaries.filter(({ id }) => id !== header.id)
      this.#dictionaries = [...kept, { id: header.id, start, end }]
      this.#count(this.#dictionaries.length)
    } else if (message.headerType === MessageHeader.RecordBatch) {
      const header = message.header() as unknown as BatchHeader
      const { unbacked, mayBeNull } = this.#checked(header, this.#opened.schema.fields, bodyBytes)
      this.#claim(header.length + unbacked)
      if (header.length === 0) return
      this.#count(this.#dictionaries.length)
      const { path, stamp, message: schema, budgetBytes } = this.#opened
      const detail: ArrowDetail = {
        path,
        stamp,
        schema,
        dictionaries: this.#dictionaries,
        batch: [start, end],
        bodyBytes,
        firstRow: this.#firstRow,
        budgetBytes,
        isPacked: this.#isPacked,
      }
      const bytes = this.#dictionaries.reduce((sum, one) => sum + one.end - one.start, end - start)
      this.splits.push({ rows: header.length, bytes, mayBeNull, detail })
      this.#firstRow += header.length
    }
  }

  /** The layout of a header; throws where it is not sound. */
  #checked(header: BatchHeader, fields: readonly ArrowField[], bodyBytes: number): Extract<Layout, { kind: 'sound' }> {
    const fault = compressionFault(header)
    if (fault !== undefined) throw this.#damaged(fault)
    if (header.compression) this.#isPacked = true
    const layout = layoutOf(header, fields, bodyBytes)
    if (layout.kind === 'fault') throw this.#damaged(layout.what)
    return layout
  }

  #claim(rows: number): void {
    this.#rows += rows
    const { path, size } = this.#opened
    const most = mostRows(size, this.#isPacked)
    if (this.#rows <= most) return
    throw new SourceError(`${path} declares ${this.#rows} rows and values in ${size} bytes, and at most ${most} are read of so few.`, path)
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
