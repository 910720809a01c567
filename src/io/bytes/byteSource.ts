/**
 * Bytes that are read in ranges: a file or something behind HTTP.
 *
 * A handle is opened for one read or one footer and closed after it; `stamp` tells whether a file changed between
 * the two.
 */

import { closeSync, openSync, readSync, type Stats, statSync } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { SourceError } from '../../core/errors.ts'
import { isError } from '../../core/isError.ts'
import type { Access } from '../../core/ports.ts'
import { withoutSecrets } from '../../core/withoutSecrets.ts'
import { openHttp } from '../remote/httpSource.ts'
import { isS3, s3Access } from '../remote/s3.ts'
import { bytesInMemory } from './memoryBytes.ts'
import type { ByteSource } from './source.ts'

/** Whether a path is an http(s) address. */
export function isUrl(path: string): boolean {
  return /^https?:\/\//i.test(path)
}

/** The name of a source in messages: the last part of its path or address. */
export function nameOfPath(path: string): string {
  if (!isUrl(path)) return basename(withoutSecrets(path))
  return basename(new URL(path).pathname) || path
}

/** Opens the bytes of a path; a file that others read as well is opened once, and closed when all are done with it. */
export async function openBytes(path: string, access: Access = {}): Promise<ByteSource> {
  const { files, signal } = access
  signal?.throwIfAborted()
  if (files === undefined) return await openOwn(path, access)
  const { lent } = await files.opened(path, async () => {
    const own = await openOwn(path, access)
    return { lent: { ...own, close: () => Promise.resolve() }, close: () => own.close() }
  })
  return lent
}

/** A file that was opened before: `at`, where its bytes are in another place. */
export interface Opened {
  readonly path: string
  readonly stamp: string
  readonly at?: string | undefined
}

/** Opens a file again. SourceError where it is another than it was. */
export async function openSame({ path, stamp, at = path }: Opened, access: Access = {}): Promise<ByteSource> {
  const bytes = await openBytes(at, access)
  if (bytes.stamp === stamp) return bytes
  await bytes.close()
  throw changed(path)
}

/** Checks that a file is what it was, for who needs no bytes of it, where that takes no request. SourceError where it is another, or gone. */
export async function checkSame(file: Opened, access: Access = {}): Promise<void> {
  const { path, stamp, at = path } = file
  if (isUrl(path) || isS3(path)) return
  if (access.given !== undefined && Object.hasOwn(access.given, at)) return await (await openSame(file, access)).close()
  try {
    if (stampOf(await stat(at)) === stamp) return
  } catch (error) {
    throw fileError(path, error)
  }
  throw changed(path)
}

function changed(path: string): SourceError {
  return new SourceError(`${path} changed since it was opened. Open it again.`, path)
}

/** What tells a file from what was there before, or after, by the time of its last change. */
function stampOf({ size, mtimeMs }: Pick<Info, 'size' | 'mtimeMs'>): string {
  return `${size}:${mtimeMs}`
}

async function openOwn(path: string, access: Access): Promise<ByteSource> {
  const given = access.given !== undefined && Object.hasOwn(access.given, path) ? access.given[path] : undefined
  if (given !== undefined) return 'at' in given ? openFile(given.at, access) : bytesInMemory(given.bytes, path)
  if (isS3(path)) return openHttp(path, s3Access(access))
  return isUrl(path) ? openHttp(path, access) : openFile(path, access)
}

type Info = Pick<Stats, 'size' | 'mtimeMs' | 'ctimeMs' | 'ino' | 'dev' | 'isFile' | 'isDirectory'>

/** The operations on files: while the thread goes on, or while it waits. */
interface Files {
  readonly stat: (path: string) => Awaitable<Info>
  readonly open: (path: string) => Awaitable<OpenFile>
}

interface OpenFile {
  /** Reads bytes from `at` on; returns how many. */
  read(into: Uint8Array, at: number): Awaitable<number>
  close(): Awaitable<void>
}

type Awaitable<T> = T | Promise<T>

const GOING_ON: Files = {
  stat,
  async open(path) {
    const handle = await open(path, 'r')
    return {
      read: async (into, at) => (await handle.read(into, 0, into.length, at)).bytesRead,
      close: () => handle.close(),
    }
  },
}

const WAITING: Files = {
  stat: (path) => statSync(path),
  open(path) {
    const file = openSync(path, 'r')
    return { read: (into, at) => readSync(file, into, 0, into.length, at), close: () => closeSync(file) }
  },
}

async function openFile(path: string, { signal, waits }: Access): Promise<ByteSource> {
  const files = waits === true ? WAITING : GOING_ON
  try {
    // Before open(): opening a named pipe would wait for a writer.
    const asked = Date.now()
    const info = await files.stat(path)
    if (info.isDirectory())
      throw new SourceError(`${path} is a directory. Name the files in it, for example ${path.replace(/\/$/, '')}/*.`, path)
    if (!info.isFile())
      throw new SourceError(
        `${path} is not a regular file, which could be read in pieces. Copy what it gives to a file, and read that.`,
        path,
      )
    const handle = await files.open(path)
    if (info.size === 0) await checkEmpty(handle, path)
    return {
      size: info.size,
      stamp: stampOf(info),
      version: versionOf(info, asked),
      async read(start, end, into) {
        const bytes = into !== undefined && into.length >= end - start ? into.subarray(0, end - start) : new Uint8Array(end - start)
        let done = 0
        while (done < bytes.length) {
          signal?.throwIfAborted()
          const bytesRead = await handle.read(bytes.subarray(done, Math.min(bytes.length, done + 2 ** 30)), start + done)
          if (bytesRead === 0) throw new SourceError(`${path} ended at byte ${start + done}: it was cut while it was read.`, path)
          done += bytesRead
        }
        return bytes
      },
      close: async () => await handle.close(),
    }
  } catch (error) {
    throw fileError(path, error)
  }
}

/** Milliseconds after which a change has another time than the one before it, whatever clock ticks a file system has. */
const SETTLED_MS = 2_500

/** The version of a file that was looked at at `asked`; undefined where a change after that might have the time of the last one. */
export function versionOf({ dev, ino, size, mtimeMs, ctimeMs }: Omit<Info, 'isFile' | 'isDirectory'>, asked: number): string | undefined {
  return asked - Math.max(mtimeMs, ctimeMs) < SETTLED_MS ? undefined : `${dev}:${ino}:${size}:${mtimeMs}:${ctimeMs}`
}

/** SourceError for a file that says it is empty and is not: some systems make files as they are read. */
async function checkEmpty(handle: OpenFile, path: string): Promise<void> {
  try {
    const bytesRead = await handle.read(new Uint8Array(1), 0)
    if (bytesRead > 0) throw new SourceError(`${path} does not say how long it is. Copy it to a file, and read that.`, path)
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** The SourceError for what the file system says about a path. */
export function fileError(path: string, error: unknown): unknown {
  if (error instanceof SourceError) return error
  const code = isError(error) && 'code' in error ? String(error.code) : undefined
  if (code === 'ENOENT') return new SourceError(`There is no file ${path}.`, path, { cause: error })
  if (code === 'EACCES' || code === 'EPERM') return new SourceError(`${path} may not be read: permission denied.`, path, { cause: error })
  if (code === 'ERR_ACCESS_DENIED') {
    const message = `${path} may not be read: the permission model of this process does not allow it. Start Node with --allow-fs-read=${path}.`
    return new SourceError(message, path, { cause: error })
  }
  if (code === 'ENOTDIR') return new SourceError(`There is no file ${path}: a part of the path is not a directory.`, path, { cause: error })
  if (code === 'ENAMETOOLONG') return new SourceError(`There is no file ${path}: the name is too long.`, path, { cause: error })
  if (code === 'ELOOP') return new SourceError(`There is no file ${path}: its links go in circles.`, path, { cause: error })
  if (code === 'EISDIR')
    return new SourceError(`${path} is a directory. Name the files in it, for example ${path}/*.`, path, { cause: error })
  if (code !== undefined) return new SourceError(`${path} cannot be read: ${code}.`, path, { cause: error })
  return error
}
