/**
 * Compressed text (gzip; zstd where Node has it) as a plain file, so that it can be cut and read by several workers.
 *
 *     logs.csv.gz   -->   a file of its text in the system's folder for such   -->   ranges, as of any file
 *
 * What was unpacked is removed once nobody holds its table any more, when the process ends, and by the next process that unpacks
 * where it was killed.
 */
import { createWriteStream, rmSync } from 'node:fs'
import { mkdtemp, readdir, rm, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { Readable, type Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import * as zlib from 'node:zlib'
import { SourceError } from '../../core/errors.ts'
import { isError } from '../../core/isError.ts'
import type { Access } from '../../core/ports.ts'
import { openBytes } from './byteSource.ts'
import { isOwnerThere, ownerHere, ownerIn } from './processStart.ts'
import type { ByteSource } from './source.ts'

/** The place where the text of a compressed file lies. Whoever reads ranges of it holds this object. */
export interface Unpacked {
  readonly at: string
}

export interface PlainText {
  readonly bytes: ByteSource
  /** The place of the text, if the file is compressed. */
  readonly unpacked?: Unpacked
}

/** The bytes of a text, unpacked where they are compressed. SourceError for a compressed file that is damaged. */
export async function openPlain(path: string, access: Access): Promise<PlainText> {
  const bytes = await openBytes(path, access)
  let codec: Codec | undefined
  try {
    codec = await codecOf(bytes)
  } catch (error) {
    await bytes.close()
    throw error
  }
  if (codec === undefined) return { bytes }
  try {
    const unpacked = await unpack(bytes, path, codec, access.signal)
    return { bytes: await openBytes(unpacked.at, access), unpacked }
  } finally {
    await bytes.close()
  }
}

interface Codec {
  readonly name: string
  readonly transform: () => Transform
}

async function codecOf({ size, read }: ByteSource): Promise<Codec | undefined> {
  if (size < 4) return undefined
  const head = await read(0, 4)
  if (head[0] === 0x1f && head[1] === 0x8b) return { name: 'gzip', transform: zlib.createGunzip }
  const isZstd = [0x28, 0xb5, 0x2f, 0xfd].every((byte, i) => head[i] === byte)
  const { createZstdDecompress } = zlib as { readonly createZstdDecompress?: () => Transform } // since Node 22.15
  return isZstd && createZstdDecompress !== undefined ? { name: 'zstd', transform: createZstdDecompress } : undefined
}

/** Bytes of a compressed file that are read at once. */
const PIECE_BYTES = 2 ** 20

async function unpack(bytes: ByteSource, path: string, { name, transform }: Codec, signal: AbortSignal | undefined): Promise<Unpacked> {
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for (let from = 0; from < bytes.size; from += PIECE_BYTES) yield await bytes.read(from, Math.min(bytes.size, from + PIECE_BYTES))
  }
  return await ownFile(path, [Readable.from(pieces()), transform()], signal, (folder, error) => unpackError(path, name, folder, error))
}

/** A file of these bytes, which is there as long as somebody holds the object. */
export async function keptFile(pieces: AsyncIterable<Uint8Array>, name: string, signal: AbortSignal | undefined): Promise<Unpacked> {
  return await ownFile(name, [Readable.from(pieces)], signal, (folder, error) => fullDisk(name, 'kept', folder, error) ?? error)
}

async function ownFile(
  path: string,
  from: readonly [Readable, ...Transform[]],
  signal: AbortSignal | undefined,
  errorOf: (folder: string, error: unknown) => unknown,
): Promise<Unpacked> {
  try {
    return await ownPath(path, (at) =>
      pipeline([...from, createWriteStream(at, { flags: 'wx', mode: 0o600 })], signal === undefined ? {} : { signal }),
    )
  } catch (error) {
    signal?.throwIfAborted()
    throw errorOf(await ownFolder(), error)
  }
}

/** A file that `write` makes, which is there as long as somebody holds the object. */
export async function ownPath(path: string, write: (at: string) => Promise<unknown>): Promise<Unpacked> {
  const folder = await ownFolder()
  const at = join(
    folder,
    `${next++}-${basename(path)
      .slice(0, 60)
      .replaceAll(/[^\w.-]/g, '_')}`,
  )
  try {
    await write(at)
  } catch (error) {
    await unlink(at).catch(() => undefined)
    throw error
  }
  const unpacked = { at }
  unused.register(unpacked, at)
  return unpacked
}

function unpackError(path: string, codec: string, folder: string, error: unknown): unknown {
  const code = isError(error) && 'code' in error ? String(error.code) : ''
  if (/^(Z_|ZSTD_|ERR_ZLIB|ERR_TRAILING)/.test(code))
    return new SourceError(
      `${path} is damaged: what is compressed with ${codec} in it does not unpack (${(error as Error).message}).`,
      path,
      {
        cause: error,
      },
    )
  return fullDisk(path, 'unpacked', folder, error) ?? error
}

function fullDisk(path: string, what: 'unpacked' | 'kept', folder: string, error: unknown): SourceError | undefined {
  const code = isError(error) && 'code' in error ? String(error.code) : ''
  if (code !== 'ENOSPC' && code !== 'EDQUOT') return undefined
  const instead = what === 'unpacked' ? 'unpack it first' : 'write it to a file first'
  return new SourceError(
    `${path} cannot be ${what}: the disk of ${folder} is full. Name a folder with more room in the environment variable TMPDIR, or ${instead}.`,
    path,
    { cause: error },
  )
}

const PREFIX = 'distarray-unpacked-'
let next = 0
let folder: Promise<string> | undefined
const unused = new FinalizationRegistry<string>((at) => {
  void unlink(at).catch(() => undefined) // the process may be ending
})

/** The folder of this process, which nobody else may look into. */
function ownFolder(): Promise<string> {
  folder ??= (async () => {
    const root = tmpdir()
    await removeLeft(root)
    const own = await mkdtemp(join(root, `${PREFIX}${ownerHere()}-`))
    process.once('exit', () => rmSync(own, { recursive: true, force: true }))
    return own
  })().catch((error: unknown) => {
    folder = undefined
    throw error
  })
  return folder
}

/** Removes what processes have left that were killed. */
async function removeLeft(root: string): Promise<void> {
  for (const name of await readdir(root).catch(() => [])) {
    const owner = name.startsWith(PREFIX) ? ownerIn(name.slice(PREFIX.length)) : undefined
    if (owner === undefined || isOwnerThere(owner)) continue
    await rm(join(root, name), { recursive: true, force: true }).catch(() => undefined) // somebody else's
  }
}
