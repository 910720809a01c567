/**
 * The files in a folder and in those below it, for a reader that was given the folder.
 *
 * Files and folders whose names begin with a dot or an underscore are notes of those who wrote the others (`_SUCCESS`,
 * `.part-0.crc`), and left out; all else is read, or refused by its reader. A folder whose log says which of its files
 * count is refused: reading them all would bring back rows that were deleted.
 */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { SourceError } from '../../core/errors.ts'
import { fileError } from './byteSource.ts'

/** The names of folders that hold a log, and what has such a log. */
const LOGS: ReadonlyMap<string, string> = new Map([
  ['_delta_log', 'a Delta table'],
  ['.hoodie', 'a Hudi table'],
])

/** Paths of all files, sorted, so that the order of rows does not depend on the file system. SourceError where there is none. */
export async function filesIn(folder: string): Promise<readonly string[]> {
  const root = folder.length > 1 ? folder.replace(/\/+$/, '') : folder
  const found = await walk(root)
  if (found.length === 0) throw new SourceError(`${folder} has no files in it. Name a folder that has, or a file.`, folder)
  return found.sort((a, b) => (a < b ? -1 : 1))
}

async function walk(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    throw fileError(folder, error)
  })
  for (const { name } of entries) {
    const log = LOGS.get(name)
    if (log !== undefined)
      throw new SourceError(
        `${folder} is ${log}: its log in ${name} says which of the files count, and logs are not read. Copy what is valid to Parquet files of its own, or name the files.`,
        folder,
      )
  }
  const found: string[] = []
  for (const entry of entries) {
    if (isNote(entry.name)) continue
    const path = join(folder, entry.name)
    const isFolder = entry.isSymbolicLink() ? await leadsToFolder(path) : entry.isDirectory()
    if (isFolder) found.push(...(await walk(path)))
    else found.push(path)
  }
  return found
}

/** Whether a name is that of a note. A folder of a column whose name begins with an underscore is none. */
export function isNote(name: string): boolean {
  return name.startsWith('.') || (name.startsWith('_') && !name.includes('='))
}

async function leadsToFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory()
  } catch (error) {
    throw fileError(path, error)
  }
}
