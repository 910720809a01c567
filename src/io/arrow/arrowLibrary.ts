/**
 * Apache Arrow, which is loaded when the first session starts and not when this library is imported: that would take longer
 * than all else of the import. What is used of it is bound here; types come from the package itself.
 */
import type * as Arrow from 'apache-arrow'
import type * as ArrowFiles from 'apache-arrow/ipc/metadata/file'
import type * as ArrowMessages from 'apache-arrow/ipc/metadata/message'

export let AsyncByteQueue: typeof Arrow.AsyncByteQueue
export let Binary: typeof Arrow.Binary
export let Bool: typeof Arrow.Bool
export let CompressionType: typeof Arrow.CompressionType
export let DataType: typeof Arrow.DataType
export let DateDay: typeof Arrow.DateDay
export let Decimal: typeof Arrow.Decimal
export let Dictionary: typeof Arrow.Dictionary
export let Field: typeof Arrow.Field
export let FixedSizeBinary: typeof Arrow.FixedSizeBinary
export let Float32: typeof Arrow.Float32
export let Float64: typeof Arrow.Float64
export let Int16: typeof Arrow.Int16
export let Int32: typeof Arrow.Int32
export let Int64: typeof Arrow.Int64
export let Int8: typeof Arrow.Int8
export let List: typeof Arrow.List
export let Message: typeof Arrow.Message
export let MessageHeader: typeof Arrow.MessageHeader
export let Null: typeof Arrow.Null
export let RecordBatch: typeof Arrow.RecordBatch
export let RecordBatchFileWriter: typeof Arrow.RecordBatchFileWriter
export let RecordBatchReader: typeof Arrow.RecordBatchReader
export let RecordBatchStreamWriter: typeof Arrow.RecordBatchStreamWriter
export let Schema: typeof Arrow.Schema
export let Struct: typeof Arrow.Struct
export let Table: typeof Arrow.Table
export let TimeMicrosecond: typeof Arrow.TimeMicrosecond
export let TimeMillisecond: typeof Arrow.TimeMillisecond
export let TimeNanosecond: typeof Arrow.TimeNanosecond
export let TimeSecond: typeof Arrow.TimeSecond
export let Timestamp: typeof Arrow.Timestamp
export let Uint16: typeof Arrow.Uint16
export let Uint32: typeof Arrow.Uint32
export let Uint64: typeof Arrow.Uint64
export let Uint8: typeof Arrow.Uint8
export let Utf8: typeof Arrow.Utf8
export let Vector: typeof Arrow.Vector
export let makeData: typeof Arrow.makeData
export let tableFromIPC: typeof Arrow.tableFromIPC
export let tableToIPC: typeof Arrow.tableToIPC
export let Footer: typeof ArrowFiles.Footer
export let BufferRegion: typeof ArrowMessages.BufferRegion
export let DictionaryHeader: typeof ArrowMessages.DictionaryBatch
export let RecordBatchHeader: typeof ArrowMessages.RecordBatch

export type DataType = Arrow.DataType
export type DictionaryHeader = ArrowMessages.DictionaryBatch
export type Field<T extends Arrow.DataType = Arrow.DataType> = Arrow.Field<T>
export type Message = Arrow.Message
export type RecordBatch = Arrow.RecordBatch
export type RecordBatchFileWriter = Arrow.RecordBatchFileWriter
export type RecordBatchHeader = ArrowMessages.RecordBatch
export type Schema = Arrow.Schema
export type Table = Arrow.Table

/** Loads Arrow. Whoever makes or reads its objects has awaited this. */
export async function loadArrow(): Promise<void> {
  ;({
    AsyncByteQueue,
    Binary,
    Bool,
    CompressionType,
    DataType,
    DateDay,
    Decimal,
    Dictionary,
    Field,
    FixedSizeBinary,
    Float32,
    Float64,
    Int16,
    Int32,
    Int64,
    Int8,
    List,
    Message,
    MessageHeader,
    Null,
    RecordBatch,
    RecordBatchFileWriter,
    RecordBatchReader,
    RecordBatchStreamWriter,
    Schema,
    Struct,
    Table,
    TimeMicrosecond,
    TimeMillisecond,
    TimeNanosecond,
    TimeSecond,
    Timestamp,
    Uint16,
    Uint32,
    Uint64,
    Uint8,
    Utf8,
    Vector,
    makeData,
    tableFromIPC,
    tableToIPC,
  } = await import('apache-arrow'))
  ;({ Footer } = await import('apache-arrow/ipc/metadata/file'))
  ;({ BufferRegion, DictionaryBatch: DictionaryHeader, RecordBatch: RecordBatchHeader } = await import('apache-arrow/ipc/metadata/message'))
}
