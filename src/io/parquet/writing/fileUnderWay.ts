/** A Parquet file as it is written: files of one row group are joined into one, with one footer. */
import { crc32 } from 'node:zlib'
import type { Field } from '../../../core/data/schema.ts'
import { Bug } from '../../../core/errors.ts'
import type { Append } from '../../bytes/atomicFile.ts'
import { CHECKSUM_KEY, checksumValue, sealFooter } from '../checksums.ts'
import { ARROW_KEY, arrowValue, SCHEMA_KEY, schemaValue } from '../ownSchema.ts'
import { MAGIC } from '../singleGroup.ts'
import { decodeThrift, encodeThrift, i64, intOf, structs, structsOf, type ThriftStruct, text, textOf } from '../thrift.ts'
import { metaOf, shiftedChunk, startOf } from './joinedColumns.ts'

export class FileUnderWay {
  private readonly append: Append
  private offset = 0
  private schema: ThriftStruct | undefined
  private readonly groups: ThriftStruct[] = []
  private readonly checksums: number[] = []
  constructor(append: Append) {
    this.append = append
  }

  async begin(): Promise<void> {
    await this.write(MAGIC)
  }

  async add(file: Uint8Array): Promise<void> {
    const length = new DataView(file.buffer, file.byteOffset).getUint32(file.length - 8, true)
    // a copy: what is kept of it are views, which would keep all of the file
    const footer = decodeThrift(file.slice(file.length - 8 - length, file.length - 8))
    this.schema ??= footer
    let end = 4
    const shift = this.offset - 4
    for (const group of structsOf(footer, 4) ?? []) {
      const chunks = (structsOf(group, 1) ?? []).map((chunk) => {
        const meta = metaOf(chunk)
        const start = startOf(meta)
        const chunkEnd = start + (intOf(meta, 7) ?? 0)
        end = Math.max(end, chunkEnd)
        this.checksums.push(crc32(file.subarray(start, chunkEnd)))
        return shiftedChunk(chunk, shift)
      })
      const moved = new Map(group)
      moved.set(1, structs(chunks))
      shiftField(moved, 5, shift)
      moved.delete(7)
      this.groups.push(moved)
    }
    await this.write(file.subarray(4, end))
  }

  /** Writes the footer. `arrowFields` have the time units that are stored in the file, `fields` those of the writer. */
  async end(rows: number, fields: readonly Field[], arrowFields: readonly Field[]): Promise<void> {
    if (this.schema === undefined) throw new Bug('A Parquet file was ended before it had a schema.')
    const footer = new Map(this.schema)
    footer.set(3, i64(rows))
    footer.set(4, structs(this.groups))
    const pair = (key: string, value: string): ThriftStruct =>
      new Map([
        [1, text(key)],
        [2, text(value)],
      ])
    // The checksums come last, where they are looked for.
    // the encoder's own pair of Arrow's types lacks categories, which it gets as plain texts
    const pairs = (structsOf(footer, 5) ?? []).filter((one) => textOf(one, 1) !== ARROW_KEY)
    footer.set(
      5,
      structs([
        ...pairs,
        pair(ARROW_KEY, arrowValue({ kind: 'row', fields: arrowFields })),
        pair(SCHEMA_KEY, schemaValue(fields)),
        pair(CHECKSUM_KEY, checksumValue(this.checksums)),
      ]),
    )
    const encoded = encodeThrift(footer)
    sealFooter(encoded)
    await this.write(encoded)
    const length = new Uint8Array(4)
    new DataView(length.buffer).setUint32(0, encoded.length, true)
    await this.write(length)
    await this.write(MAGIC)
  }

  private async write(bytes: Uint8Array): Promise<void> {
    await this.append(bytes)
    this.offset += bytes.length
  }
}

function shiftField(struct: ThriftStruct, id: number, by: number): void {
  const value = intOf(struct, id)
  if (value !== undefined) struct.set(id, i64(value + by))
}
