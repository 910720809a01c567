/**
 * Files that appear whole or not at all: written beside their place under another name, flushed to disk, renamed.
 */
import { randomBytes } from 'node:crypto'
import { type FileHandle, open, rename, stat, unlink } from 'node:fs/promises'
import { SourceError } from '../core/errors.ts'
import { fileError } from './byteSource.ts'

/** Appends bytes; resolves when the operating system has them. */
export type Append = (bytes: Uint8Array) => Promise<void>

/** Runs `write` and gives the number of bytes written. When anything fails the file at `path` is as it was. */
export async function writeAtomically(path: string, write: (append: Append) => Promise<void>): Promise<number> {
  const temporary = `${path}.${process.pid}.${randomBytes(4).toString('hex')}.tmp`
  const handle = await openTemporary(path, temporary)
  let bytes = 0
  try {
    await write(async (piece) => {
      await handle.writeFile(piece) // appends: the handle keeps its position
      bytes += piece.length
    })
    await handle.sync()
    await handle.close()
    await rename(temporary, path)
    return bytes
  } catch (error) {
    await handle.close().catch(() => undefined)
    await unlink(temporary).catch(() => undefined)
    throw writeError(path, error)
  }
}

async function openTemporary(path: string, temporary: string): Promise<FileHandle> {
  try {
    const info = await stat(path).catch(() => undefined)
    if (info?.isDirectory()) throw new SourceError(`${path} is a directory, and a file is to be written. Name a file in it.`, path)
    return await open(temporary, 'wx')
  } catch (error) {
    throw writeError(path, error)
  }
}

function writeError(path: string, error: unknown): unknown {
  if (error instanceof SourceError) return error
  const code = error instanceof Error && 'code' in error && 'syscall' in error ? String(error.code) : undefined
  if (code === undefined) return error
  if (code === 'ENOENT') return new SourceError(`${path} cannot be written: there is no such folder.`, path, { cause: error })
  if (code === 'EACCES' || code === 'EPERM') return new SourceError(`${path} cannot be written: permission denied.`, path, { cause: error })
  if (code === 'ENOSPC') return new SourceError(`${path} cannot be written: the disk is full.`, path, { cause: error })
  return fileError(path, error)
}
