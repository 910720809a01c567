/**
 * The faults of property-tests/faults/*.json, and what is remembered of each: the case that its law went red at.
 *
 * A replay is one case instead of a law's thousand. Its key is a digest of the fault, of the file that it is put into, and of the
 * law with what the law imports of property-tests, all without comments and types: while the key is the same, only code far from
 * both can have changed.
 */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { transformSync } from 'esbuild'
import { ROOT } from './repository.ts'

export interface Fault {
  readonly name: string
  readonly file: string
  readonly search: string
  readonly replace: string
  /** A test file; after ` > ` the test in it. */
  readonly law: string
  /** A server that the law asks: where it is not, nothing can go red. */
  readonly needs?: 'Sail'
}

/** The run of a law that went red: one case where `path` is given, else all cases of the seed. */
export interface Replay {
  readonly key: string
  /** The whole name of the test. */
  readonly test: string
  readonly seed: number
  /** The number of the case, as fast-check prints it. */
  readonly path?: string
  /** The law did not end: it is given seconds, not minutes, to go on for ever again. */
  readonly hangs?: true
}
export type Replays = Readonly<Record<string, Replay>>

const FOLDER = join(ROOT, 'property-tests', 'faults')
const REPLAYS = join(ROOT, 'property-tests', 'replays.json')

export function readFaults(): readonly Fault[] {
  return readdirSync(FOLDER)
    .filter((name) => name.endsWith('.json'))
    .sort()
    .flatMap((name) => JSON.parse(readFileSync(join(FOLDER, name), 'utf8')) as readonly Fault[])
}

export function readReplays(): Replays {
  return existsSync(REPLAYS) ? (JSON.parse(readFileSync(REPLAYS, 'utf8')) as Replays) : {}
}

/** One line a fault, sorted by name, so that a change of one is a change of one line. */
export function writeReplays(replays: Replays): void {
  const lines = Object.keys(replays)
    .sort()
    .map((name) => `  ${JSON.stringify(name)}: ${JSON.stringify(replays[name])}`)
  writeFileSync(REPLAYS, `{\n${lines.join(',\n')}\n}\n`)
}

export function keyOf(fault: Fault): string {
  const hash = createHash('sha256').update(JSON.stringify([fault.file, fault.search, fault.replace, fault.law]))
  const [law = ''] = fault.law.split(' > ')
  for (const file of [fault.file, ...withImports(law)]) hash.update(file).update(codeOf(file))
  return hash.digest('hex').slice(0, 16)
}

const imports = new Map<string, readonly string[]>()

/** A law and the files of property-tests that it imports, directly or not, in the order of their first import. */
function withImports(law: string): readonly string[] {
  const found = imports.get(law)
  if (found !== undefined) return found
  const files = new Set([law])
  for (const file of files) {
    for (const [, target = ''] of contentOf(file).matchAll(/from '(\.[^']+)'/g)) {
      const path = normalize(join(dirname(file), target))
      if (path.startsWith('property-tests/')) files.add(path)
    }
  }
  imports.set(law, [...files])
  return [...files]
}

const contents = new Map<string, string>()

function contentOf(file: string): string {
  const path = join(ROOT, file)
  const content = contents.get(file) ?? (existsSync(path) ? readFileSync(path, 'utf8') : '')
  contents.set(file, content)
  return content
}

const codes = new Map<string, string>()

/** What of a file runs: a comment that is put better makes nothing else of it. */
function codeOf(file: string): string {
  const content = contentOf(file)
  const code = codes.get(file) ?? (file.endsWith('.ts') ? transformSync(content, { loader: 'ts', minifyWhitespace: true }).code : content)
  codes.set(file, code)
  return code
}
