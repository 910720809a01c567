/**
 * Files that appear whole or not at all: written beside their place under another name, flushed to disk, renamed. So do objects of stores
 * (`s3Output.ts`).
 *
 * A symbolic link stays and what it points to is replaced; the file keeps its mode. What is no regular file (a pipe, a
 * device, standard output) cannot be replaced: bytes go into it as they come (`outputStream.ts`).
 *
 * Files that a killed process has left in the folder are removed by the next that writes there (`beside.ts`).
 */

import type { Stats } from 'node:fs'
import { type FileHandle, open, readlink, realpath, rename, stat, unlink } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { SourceError } from '../../core/errors.ts'
import { isError } from '../../core/isError.ts'
import type { WriteAccess } from '../../core/ports.ts'
import { objectStoreError } from '../remote/objectStores.ts'
import { isS3 } from '../remote/s3.ts'
import { openS3Output } from '../remote/s3Output.ts'
import { besideOf, removeLeft } from './beside.ts'
import { fileError } from './byteSource.ts'
import { flushedBeside } from './flushes.ts'
import { type Output, openStream } from './outputStream.ts'

/** Appends bytes; resolves when the operating system has them. */
export type Append = (bytes: Uint8Array) => Promise<void>

/** Runs `write` and gives the number of bytes written. When anything fails the file at `path` is as it was. */
export async function writeAtomically(path: string, write: (append: Append) => Promise<void>, access: WriteAccess = {}): Promise<number> {
  const { signal } = access
  signal?.throwIfAborted()
  const output = await openOutput(path, access).catch(async (error: unknown) => {
    throw writeError(path, error, isMissing(error) ? await folderOf(path) : undefined)
  })
  let bytes = 0
  try {
    await write(async (piece) => {
      signal?.throwIfAborted()
      await output.append(piece)
      bytes += piece.length
    })
    signal?.throwIfAborted()
    await output.finish()
    return bytes
  } catch (error) {
    await output.discard()
    throw writeError(path, error)
  }
}

/** Throws what writing to this place would throw where its folder is missing: before anything is computed for it. */
export async function checkFolder(path: string, access: WriteAccess = {}): Promise<void> {
  if (isS3(path)) return await (await openS3Output(path, access)).discard()
  checkIsPath(path)
  let folder: string | undefined
  try {
    if ((await statOf(path)) !== undefined) return
    folder = await folderOf(path)
    await stat(folder)
  } catch (error) {
    throw writeError(path, error, folder)
  }
}

/** The folder that a file is to lie in, once it is known that there is no such file. */
async function folderOf(path: string): Promise<string> {
  return dirname(await endOfLinks(path))
}

async function openOutput(path: string, access: WriteAccess): Promise<Output> {
  if (isS3(path)) return await openS3Output(path, access)
  checkIsPath(path)
  const known = await statOf(path)
  if (known?.isDirectory()) throw new SourceError(`${path} is a directory, and a file is to be written. Name a file in it.`, path)
  const stream = await openStream(path, known, access.signal)
  if (stream !== undefined) return stream
  const place = known === undefined ? await endOfLinks(path) : await realpath(path)
  await removeLeft(place)
  const temporary = besideOf(place)
  const handle = await open(temporary, 'wx', known === undefined ? 0o666 : known.mode & 0o777)
  const flushes = flushedBeside(handle)
  return {
    async append(piece) {
      await handle.writeFile(piece) // appends: the handle keeps its position
      flushes.appended(piece.length)
    },
    async finish() {
      if (known !== undefined) await keepOwner(handle, known)
      await flushes.ended()
      await handle.sync()
      await handle.close()
      await rename(temporary, place)
    },
    async discard() {
      await flushes.ended().catch(() => undefined)
      await handle.close().catch(() => undefined)
      await unlink(temporary).catch(() => undefined)
    },
  }
}

async function statOf(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path)
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

function isMissing(error: unknown): boolean {
  return (error as { readonly code?: unknown } | undefined)?.code === 'ENOENT'
}

/** The end of a path that is no file yet: it may be a link to where one is to be. */
async function endOfLinks(path: string): Promise<string> {
  let place = path
  // what goes in circles was refused by stat()
  for (;;) {
    const next = await readlink(place).catch(() => undefined)
    if (next === undefined) return place
    place = resolve(dirname(place), next)
  }
}

/** Gives a file the mode of the one that it replaces, and its owner where that is allowed. */
async function keepOwner(handle: FileHandle, { mode, uid, gid }: Stats): Promise<void> {
  const own = await handle.stat()
  if (own.uid !== uid || own.gid !== gid) await handle.chown(uid, gid).catch(() => undefined) // only root may give files away
  await handle.chmod(mode & 0o7777)
}

/** The SourceError for what the file system says of a path that is written. */
export function writeError(path: string, error: unknown, folder: string = dirname(path)): unknown {
  if (error instanceof SourceError) return error
  if (isMissing(error)) return folderError(path, folder, error)
  if ((error as { readonly code?: unknown } | undefined)?.code === 'ERR_ACCESS_DENIED') {
    const folder = dirname(path)
    const message = `${path} cannot be written: the permission model of this process does not allow it. Start Node with --allow-fs-write=${folder} and --allow-fs-read=${folder}: what is written lies beside the file until it is whole.`
    return new SourceError(message, path, { cause: error })
  }
  const code = isError(error) && 'code' in error && 'syscall' in error ? String(error.code) : undefined
  if (code === undefined) return error
  const why = REASONS[code]
  return why === undefined ? fileError(path, error) : new SourceError(`${path} cannot be written: ${why}.`, path, { cause: error })
}

/** Throws SourceError for an address. */
export function checkIsPath(path: string): void {
  const store = objectStoreError(path, 'written')
  if (store !== undefined) throw store
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(path))
    throw new SourceError(`${path} cannot be written: writers take paths, and this is an address. Write a file, and send it there.`, path)
}

function folderError(path: string, folder: string, cause: unknown): SourceError {
  const why = `there is no folder ${folder}. Make it first, for example with mkdirSync(${JSON.stringify(folder)}, { recursive: true }).`
  return new SourceError(`${path} cannot be written: ${why}`, path, { cause })
}

const REASONS: Readonly<Record<string, string>> = {
  ENOTDIR: 'a part of the path is not a directory',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the disk may only be read',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk is full',
  EFBIG: 'the file would be too large',
  ELOOP: 'its links go in circles',
  ENAMETOOLONG: 'the name is too long',
  EPIPE: 'who read from it has stopped',
}
