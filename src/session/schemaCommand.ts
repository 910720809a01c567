/** `distarray schema FILE`: prints the TypeScript interface of a file's rows. */
import { basename } from 'node:path'
import type * as Library from '../index.ts'

export const SCHEMA_USAGE = 'distarray schema FILE…     the TypeScript interface of the rows of Parquet, Arrow, CSV or NDJSON files'

type Read = (session: Library.Session, files: readonly string[]) => Promise<Library.DistArray<unknown>>

/** The readers of files, by the endings of their names. */
const READERS: readonly (readonly [RegExp, Read])[] = [
  [/\.(parquet|parq|pq)$/i, (session, files) => session.readParquet(files)],
  [/\.(arrow|arrows|feather|ipc)$/i, (session, files) => session.readArrow(files)],
  [/\.csv(\.gz|\.zst)?$/i, (session, files) => session.readCsv(files)],
  [/\.tsv(\.gz|\.zst)?$/i, (session, files) => session.readCsv(files, { delimiter: '\t' })],
  [/\.(ndjson|jsonl|json)(\.gz|\.zst)?$/i, (session, files) => session.readNdjson(files)],
]

/** Prints the interface of a table's rows, or an error to stderr; returns the exit code. */
export async function schemaCommand(files: readonly string[]): Promise<number> {
  const [first] = files
  if (first === undefined) return complain('Name a file: distarray schema ratings.parquet')
  // imported by a computed name, or the bundle of this command would contain the whole library
  const library = process.argv[1]?.endsWith('.ts') === true ? ['../index', 'ts'] : ['./index', 'js'] // the package's main module
  const { Session, interfaceOf } = (await import(library.join('.'))) as typeof Library
  const found = READERS.find(([ending]) => ending.test(first.replace(/[?#].*$/s, '')))
  // a folder, a glob that ends in a star, or a name without an ending is most likely Parquet
  const read: Read = found?.[1] ?? ((session, files) => session.readParquet(files))
  const session = await Session.start({ workers: 1, memory: '256MB', progress: false })
  try {
    process.stdout.write(`${interfaceOf((await read(session, files)) as never, interfaceName(first))}\n`)
    return 0
  } catch (error) {
    return complain(String(error))
  } finally {
    await session.stop()
  }
}

function complain(text: string): number {
  process.stderr.write(`${text}\n`)
  return 2
}

/** The interface's name: `Ratings` for `data/ratings.parquet`. */
function interfaceName(file: string): string {
  const words = basename(file.replace(/[?#].*$/s, '').replace(/\/+$/, ''))
    .replace(/\..*$/s, '')
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== '')
  const name = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
  return /^[A-Za-z]/.test(name) ? name : `Row${name}`
}
