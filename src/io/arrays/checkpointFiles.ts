/**
 * The files of a checkpoint, in a folder of their own:
 *
 *     ledger                                            calls, passes and which files hold which rows: replaced as a whole
 *     array-2-after-7-rows-0-4096.arrow                 rows of an array after so many passes, row by row
 *     owner                                             who writes here now
 *
 * A file appears whole or not at all, and is known by its length and its CRC. Rows are those of the whole array, so that whoever reads them
 * need not have been cut as the writer was.
 */
import { randomBytes } from 'node:crypto'
import { mkdir, open, readdir, readFile, unlink } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join, resolve } from 'node:path'
import { deserialize, serialize } from 'node:v8'
import { crc32 } from 'node:zlib'
import { ARRAY_OF_DTYPE } from '../../core/arrays/storage.ts'
import type { TypedArray } from '../../core/data/column.ts'
import type { DType, ElementType } from '../../core/data/schema.ts'
import { CheckpointError, SourceError } from '../../core/errors.ts'
import { isError } from '../../core/isError.ts'
import type { CheckpointFiles, Kept, KeptRows, KeptValues, ReadRows } from '../../core/loop/checkpoint.ts'
import { toRecordBatch } from '../arrow/arrowBatches.ts'
import { messageOf } from '../arrow/arrowBody.ts'
import { Footer, RecordBatchFileWriter, type RecordBatchHeader } from '../arrow/arrowLibrary.ts'
import { writeAtomically } from '../bytes/atomicFile.ts'
import { isRunning, startOf } from '../bytes/processStart.ts'

const LEDGER = 'ledger'
const OWNER = 'owner'
const MAGIC = 'distarray checkpoint 1'
const FILE_BYTES = 64 * 2 ** 20
/** At the end of an Arrow file: the length of its footer, and the name of the format. */
const TRAILER_BYTES = 10
const ROWS_NAME = /^array-\d+-after-\d+-rows-\d+-\d+\.arrow$/

export interface CheckpointOptions {
  /** The engine that the bits of results depend on, as text; a checkpoint of another one is refused. */
  readonly engine: string
  /** Bytes of elements that a file has at most, if that is no less than a row. Default: 64 MiB. */
  readonly fileBytes?: number | undefined
  /** Called before each step that changes the folder: tests end the program there. */
  readonly before?: ((step: string) => void) | undefined
}

/** The process that writes into a folder. */
interface Owner {
  readonly id: string
  readonly host: string
  readonly pid: number
  /** The start of the process, as its system tells it: its number may be another one's by now. */
  readonly started: string | undefined
}

/** The folders of this process. */
const opened = new Set<string>()

/** Takes a folder, which is made if there is none. CheckpointError where it cannot be used, or is by somebody who is still running. */
export async function openCheckpoint(folder: string, options: CheckpointOptions): Promise<CheckpointFiles> {
  try {
    await mkdir(folder, { recursive: true })
    await readdir(folder)
  } catch (error) {
    throw unusable(folder, error)
  }
  const files = new FolderFiles(folder, options)
  await files.take()
  return files
}

class FolderFiles implements CheckpointFiles {
  readonly folder: string
  readonly #owner: Owner = { id: randomBytes(16).toString('hex'), host: hostname(), pid: process.pid, started: startOf(process.pid) }
  readonly #engine: string
  readonly #fileBytes: number
  readonly #before: (step: string) => void

  constructor(folder: string, { engine, fileBytes = FILE_BYTES, before = () => undefined }: CheckpointOptions) {
    this.folder = folder
    this.#fileBytes = fileBytes
    this.#engine = engine
    this.#before = before
  }

  async take(): Promise<void> {
    const place = resolve(this.folder)
    const other = await this.#ownerNow()
    if (opened.has(place)) {
      throw new CheckpointError(
        `Another session of this process keeps its checkpoint in ${this.folder}. Name a folder for each, or stop that session first.`,
        'taken',
        this.folder,
      )
    }
    if (other !== undefined && other.host === this.#owner.host && other.pid !== process.pid && isRunning(other.pid, other.started)) {
      throw new CheckpointError(
        `Process ${other.pid} keeps its checkpoint in ${this.folder} and is still running. Name another folder, or end that process first.`,
        'taken',
        this.folder,
      )
    }
    try {
      await this.#replace(OWNER, Buffer.from(JSON.stringify(this.#owner)))
    } catch (error) {
      throw error instanceof SourceError ? unusable(this.folder, error) : error
    }
    opened.add(place)
  }

  async release(): Promise<void> {
    opened.delete(resolve(this.folder))
    if ((await this.#ownerNow())?.id === this.#owner.id) await this.#unlink(OWNER)
  }

  async load(): Promise<Kept> {
    const path = join(this.folder, LEDGER)
    const bytes = await readFile(path).catch((error: unknown) => {
      if ((error as { readonly code?: unknown }).code === 'ENOENT') return undefined
      throw unusable(this.folder, error)
    })
    if (bytes === undefined) {
      const nothing = { calls: [], arrays: [] }
      await this.#sweep(nothing)
      return nothing
    }
    const end = bytes.indexOf('\n')
    const [magic, engine, length, crc] = bytes.toString('utf8', 0, Math.max(0, end)).split('|')
    const body = bytes.subarray(end + 1)
    if (magic !== MAGIC) {
      throw new CheckpointError(
        `${path} is not the ledger of a checkpoint of this version of distarray. Name another folder, or remove this one to start anew.`,
        'differs',
        path,
      )
    }
    // bits of results depend on the engine, as those of Math.exp do, and so does the form of the ledger
    if (engine !== this.#engine) {
      throw new CheckpointError(
        `${path} was written by ${engine ?? 'another engine'}, and this is ${this.#engine}: results depend on it. Go on with the one that began, or remove the folder to start anew.`,
        'differs',
        path,
      )
    }
    if (body.length !== Number(length) || crc32(body) !== Number(crc)) throw damaged(path)
    const kept = keptFrom(body, path)
    await this.#sweep(kept)
    return kept
  }

  async commit(kept: Kept): Promise<void> {
    const body = serialize(kept)
    await this.#sync() // the ledger names files that are there
    await this.#checkOwner()
    await this.#replace(LEDGER, Buffer.concat([Buffer.from(`${MAGIC}|${this.#engine}|${body.length}|${crc32(body)}\n`), body]))
    await this.#sync()
  }

  async remove(values: readonly KeptValues[]): Promise<void> {
    for (const { rows } of values) for (const { name } of rows) await this.#unlink(name)
  }

  /** Removes what a process that was killed has left. */
  async #sweep(kept: Kept): Promise<void> {
    const named = new Set(kept.arrays.flatMap(({ values }) => values.flatMap(([, { rows }]) => rows.map(({ name }) => name))))
    for (const name of await readdir(this.folder)) if (/^array-.*\.(arrow|tmp)$/.test(name) && !named.has(name)) await this.#unlink(name)
  }

  async #unlink(name: string): Promise<void> {
    this.#before(`remove ${name}`)
    await unlink(join(this.folder, name)).catch(() => undefined) // it costs space, and nothing else
  }

  async write(name: string, values: TypedArray, { shape, dtype }: Pick<KeptValues, 'shape' | 'dtype'>): Promise<KeptValues> {
    const rowElements = Math.max(
      1,
      shape.slice(1).reduce((size, extent) => size * extent, 1),
    )
    const rowsPerFile = Math.max(1, Math.floor(this.#fileBytes / (rowElements * values.BYTES_PER_ELEMENT)))
    const rows: KeptRows[] = []
    for (let from = 0; from < values.length; from += rowsPerFile * rowElements) {
      const to = Math.min(values.length, from + rowsPerFile * rowElements)
      const bytes = arrowOf(values.subarray(from, to), dtype)
      const file = `${name}-rows-${from / rowElements}-${to / rowElements}.arrow`
      await this.#replace(file, bytes)
      rows.push({ name: file, bytes: bytes.length, crc: crc32(bytes), from, to })
    }
    return { shape, dtype, rows }
  }

  async *read({ dtype, rows }: KeptValues): AsyncGenerator<ReadRows> {
    const most = rows.reduce((most, { bytes }) => Math.max(most, bytes), 0)
    // whoever asks for the next file is done with the one before
    const memories = rows.slice(0, 2).map(() => Buffer.allocUnsafeSlow(most))
    const begin = (i: number): Promise<Uint8Array | undefined> | undefined => {
      const file = rows[i]
      return file && this.#bytesOf(join(this.folder, file.name), (memories[i % 2] as Buffer).subarray(0, file.bytes))
    }
    let next = begin(0)
    for (const [i, { name, crc, from, to }] of rows.entries()) {
      const read = await next
      next = begin(i + 1) // while this one is checked and copied
      next?.catch(() => undefined) // awaited with its turn, unless a file before it is damaged
      if (read === undefined || crc32(read) !== crc) throw damaged(join(this.folder, name))
      yield { from, to, values: valuesOf(read, { dtype, length: to - from }) }
    }
  }

  async #bytesOf(path: string, into: Uint8Array): Promise<Uint8Array | undefined> {
    return await wholeFile(path, into).catch((error: unknown) => {
      throw new CheckpointError(
        `${path} is named by its ledger and cannot be read: ${isError(error) ? error.message : String(error)}. Remove the folder to start anew.`,
        'damaged',
        path,
        { cause: error },
      )
    })
  }

  /** Throws where another process was started on this folder: that one goes on, and this one must not. */
  async #checkOwner(): Promise<void> {
    const owner = await this.#ownerNow()
    if (owner?.id === this.#owner.id) return
    throw new CheckpointError(
      `Another process${owner === undefined ? '' : ` (${owner.pid} on ${owner.host})`} has taken ${this.folder}, where this one kept its checkpoint. This one has to end: what it does is not kept.`,
      'taken',
      this.folder,
    )
  }

  /** The owner that the folder names; undefined where it names nobody. */
  async #ownerNow(): Promise<Owner | undefined> {
    try {
      return JSON.parse(await readFile(join(this.folder, OWNER), 'utf8')) as Owner // what take() wrote, or nothing that counts
    } catch {
      return undefined
    }
  }

  async #replace(name: string, bytes: Uint8Array): Promise<void> {
    this.#before(`write ${name}`)
    await writeAtomically(join(this.folder, name), async (append) => {
      await append(bytes.subarray(0, bytes.length >> 1))
      this.#before(`finish ${name}`)
      await append(bytes.subarray(bytes.length >> 1))
    })
  }

  /** Waits until the names of files are on the disk as well, where the system can be asked for that. */
  async #sync(): Promise<void> {
    const handle = await open(this.folder).catch(() => undefined) // Windows opens no folders
    try {
      await handle?.sync()
    } finally {
      await handle?.close()
    }
  }
}

/** The most bytes of one read: Node takes fewer than 2 GiB. */
const READ_BYTES = 2 ** 30

/** Reads a file that is to fill `into`, by one read where `readFile` takes hundreds; undefined where its length is another one. */
async function wholeFile(path: string, into: Uint8Array): Promise<Uint8Array | undefined> {
  const file = await open(path)
  try {
    const { size } = await file.stat()
    let at = 0
    for (let read = 1; size === into.length && at < size && read > 0; at += read) {
      read = (await file.read(into, at, Math.min(size - at, READ_BYTES), at)).bytesRead
    }
    return at === into.length ? into : undefined
  } finally {
    await file.close()
  }
}

function unusable(folder: string, error: unknown): CheckpointError {
  return new CheckpointError(
    `${folder} cannot keep a checkpoint: ${isError(error) ? error.message : String(error)}. Name a folder that this process may read and write.`,
    'unusable',
    folder,
    { cause: error },
  )
}

/** Reads what commit() wrote, as its checksum says. Throws for names of files that are not given here. */
function keptFrom(body: Uint8Array, path: string): Kept {
  try {
    const kept = deserialize(body) as Kept
    const names = kept.arrays.flatMap(({ values }) => values.flatMap(([, { rows }]) => rows.map(({ name }) => name)))
    if (Array.isArray(kept.calls) && names.every((name) => ROWS_NAME.test(name))) return kept
  } catch {
    // said below
  }
  throw damaged(path)
}

function damaged(path: string): CheckpointError {
  return new CheckpointError(
    `${path} is damaged: its length or its checksum is another one. Remove the folder to start anew.`,
    'damaged',
    path,
  )
}

/** The element of an array in a file; those of bool arrays are bytes. */
function elementOf(dtype: DType): ElementType {
  return { kind: 'scalar', type: { kind: dtype === 'bool' ? 'u8' : dtype }, nullable: false }
}

function arrowOf(values: TypedArray, dtype: DType): Uint8Array {
  const element = elementOf(dtype)
  const { type } = element as Extract<ElementType, { readonly kind: 'scalar' }>
  const writer = new RecordBatchFileWriter()
  writer.write(toRecordBatch({ element, length: values.length, columns: [{ type, length: values.length, values }] }, element))
  writer.finish()
  return writer.toUint8Array(true)
}

/** The values in a file of `arrowOf`, as its checksum says, where they lie: reading it as a stream would copy them. */
function valuesOf(file: Uint8Array, { dtype, length }: { readonly dtype: DType; readonly length: number }): TypedArray {
  const footerEnd = file.length - TRAILER_BYTES
  const footerBytes = new DataView(file.buffer, file.byteOffset).getInt32(footerEnd, true)
  const block = Footer.decode(file.subarray(footerEnd - footerBytes, footerEnd)).getRecordBatch(0)
  const { offset = 0, metaDataLength = 0 } = block ?? {}
  const { buffers } = messageOf(file.subarray(offset)).header() as RecordBatchHeader // it has one batch
  const at = file.byteOffset + offset + metaDataLength + (buffers.at(-1)?.offset ?? 0) // behind the validity, which is empty
  const ArrayOfDType = ARRAY_OF_DTYPE[dtype]
  const isAligned = at % ArrayOfDType.BYTES_PER_ELEMENT === 0
  const own = isAligned ? file : new Uint8Array(file)
  return new ArrayOfDType(own.buffer as ArrayBuffer, at - file.byteOffset + own.byteOffset, length)
}
