/**
 * Folders that appear whole or not at all: written beside their place under another name, and renamed.
 *
 *     lake.1f0c9a3e-4711-88213.a1b2c3d4.tmp/year=2024/part-0.parquet   -->   lake/year=2024/part-0.parquet
 *
 * In place of another folder that one is moved aside first, and moved back if the new one cannot take its place. Files that are
 * added to a folder are renamed one after another, and removed again if one of them cannot be.
 */
import type { Dirent } from 'node:fs'
import { access, mkdir, open, readdir, realpath, rename, rm, stat, unlink } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import type { Existing } from '../../core/engine.ts'
import { SourceError } from '../../core/errors.ts'
import type { WriteAccess } from '../../core/ports.ts'
import { checkIsPath, writeError } from './atomicFile.ts'
import { asideOf, besideOf, removeLeft } from './beside.ts'

export interface FolderOutput {
  /** Appends bytes to a file, named by its path within the folder. */
  append(file: string, bytes: Uint8Array): Promise<void>
}

export interface FolderRequest extends WriteAccess {
  readonly path: string
  readonly existing: Existing
  /** The extension of the files that are written: a folder with other files is not replaced. */
  readonly extension: string
}

/** Runs `write`; gives the number of files and of bytes. When anything fails the folder is as it was. */
export async function writeFolder(
  request: FolderRequest,
  write: (output: FolderOutput) => Promise<void>,
): Promise<{ readonly files: number; readonly bytes: number }> {
  const { path, signal } = request
  signal?.throwIfAborted()
  let staging: string | undefined
  checkIsPath(request.path)
  try {
    await removeLeft(await endOf(request.path))
    const place = await placeOf(request)
    staging = besideOf(place)
    await mkdir(staging)
    const output = new Staged(staging, signal)
    await write(output)
    await output.flush()
    signal?.throwIfAborted()
    await publish(staging, place, request, output.files)
    return { files: output.files.length, bytes: output.bytes }
  } catch (error) {
    if (staging !== undefined) await rm(staging, { recursive: true, force: true }).catch(() => undefined)
    throw writeError(path, error)
  }
}

/** Throws what writing the folder would throw because of what is there: before anything is computed for it. */
export async function checkPlace(request: FolderRequest): Promise<void> {
  checkIsPath(request.path)
  try {
    await removeLeft(await endOf(request.path))
    await stat(dirname(await placeOf(request)))
  } catch (error) {
    throw writeError(request.path, error)
  }
}

class Staged implements FolderOutput {
  readonly #folder: string
  readonly #signal: AbortSignal | undefined
  readonly #known = new Set<string>()
  bytes = 0

  constructor(folder: string, signal: AbortSignal | undefined) {
    this.#folder = folder
    this.#signal = signal
  }

  get files(): readonly string[] {
    return [...this.#known]
  }

  /** Opens and closes the file each time: there may be more of them than a process may hold open. */
  async append(file: string, bytes: Uint8Array): Promise<void> {
    this.#signal?.throwIfAborted()
    const place = join(this.#folder, file)
    if (!this.#known.has(file)) await mkdir(dirname(place), { recursive: true })
    this.#known.add(file)
    const handle = await open(place, 'a')
    try {
      await handle.writeFile(bytes)
    } finally {
      await handle.close()
    }
    this.bytes += bytes.length
  }

  /** Resolves when the operating system has put all files on the disk. */
  async flush(): Promise<void> {
    for (const file of this.#known) {
      const handle = await open(join(this.#folder, file), 'r+')
      await handle.sync().finally(() => handle.close())
    }
  }
}

/** The path where the folder is to lie. SourceError for what is there and may not be touched. */
async function placeOf(request: FolderRequest): Promise<string> {
  const { path } = request
  const place = await endOf(path)
  if (!(await isThere(place))) return place
  if (!(await stat(place)).isDirectory())
    throw new SourceError(`${path} is a file, and a folder is to be written. Name a folder, which need not be there.`, path)
  const files = (await filesBelow(place)).map((file) => relative(place, file))
  checkExisting(request, files)
  return place
}

/** SourceError for files in a folder that may not be touched. */
export function checkExisting({ path, existing, extension }: FolderRequest, files: readonly string[]): void {
  if (files.length === 0 || existing === 'add') return
  if (existing === 'refuse')
    throw new SourceError(
      `${path} has files in it. Add files beside them with { existing: 'add' }, put new ones in their place with { existing: 'replace' }, or name another folder.`,
      path,
    )
  const other = files.find((file) => !file.endsWith(extension) && !/^[._]/.test(basename(file)))
  if (other !== undefined)
    throw new SourceError(
      `${path} has files that do not end with ${extension}, as ${other}, and is not replaced. Name a folder that has no others.`,
      path,
    )
}

/** The place that a path leads to, without slashes behind it. */
async function endOf(path: string): Promise<string> {
  const plain = path.length > 1 ? path.replace(/\/+$/, '') : path
  return await realpath(plain).catch(() => plain)
}

async function filesBelow(folder: string): Promise<readonly string[]> {
  const entries: Dirent[] = await readdir(folder, { withFileTypes: true })
  const found = await Promise.all(
    entries.map(async (entry) => {
      const path = join(folder, entry.name)
      return entry.isDirectory() ? await filesBelow(path) : [path]
    }),
  )
  return found.flat()
}

async function publish(staging: string, place: string, { existing, extension }: FolderRequest, files: readonly string[]): Promise<void> {
  if (!(await isThere(place))) return await rename(staging, place)
  if (existing === 'add') return await addFiles(staging, place, files, extension)
  const aside = asideOf(staging)
  await rename(place, aside)
  try {
    await rename(staging, place)
  } catch (error) {
    await rename(aside, place)
    throw error
  }
  await rm(aside, { recursive: true, force: true })
}

/** Renames each file to a name that no other has in its folder. */
async function addFiles(staging: string, place: string, files: readonly string[], extension: string): Promise<void> {
  const added: string[] = []
  try {
    for (const file of files) {
      const folder = join(place, dirname(file))
      await mkdir(folder, { recursive: true })
      let number = 0
      while (await isThere(join(folder, `part-${number}${extension}`))) number++
      const target = join(folder, `part-${number}${extension}`)
      await rename(join(staging, file), target)
      added.push(target)
    }
  } catch (error) {
    for (const target of added) await unlink(target).catch(() => undefined)
    throw error
  }
  await rm(staging, { recursive: true, force: true })
}

async function isThere(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  )
}
