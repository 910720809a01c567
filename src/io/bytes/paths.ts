/**
 * From what the user names to the files to read: a path, a folder, a file URL, an address, a glob, or several of them.
 *
 * Of a folder all files in it are read (`folders.ts`). Globs know `*`, `?`, `[a-z]`, `{a,b}` and `**`; matches come sorted by path, so that row order does not depend on
 * the file system. A path that exists as it stands is never taken for a glob.
 */

import { existsSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { valueText } from '../../core/data/valueKinds.ts'
import { PlanError, SourceError } from '../../core/errors.ts'
import { isError } from '../../core/isError.ts'
import type { Access } from '../../core/ports.ts'
import type { GivenBytes, GivenFiles } from '../../core/sourceParts.ts'
import type { FileSource } from '../reading.ts'
import { objectStoreError } from '../remote/objectStores.ts'
import { checkAddress, isS3, objectsOf } from '../remote/s3.ts'
import { fileError, isUrl, nameOfPath } from './byteSource.ts'
import { filesIn, isNote } from './folders.ts'
import { type ByteInput, givenBytes, isByteInput, nameOfInput } from './givenBytes.ts'

/** The files that are read as one table. */
export interface NamedFiles {
  /** The paths, at least one; addresses of files behind http. */
  readonly paths: readonly string[]
  /** The name in messages and plans, as `sales`, `ratings.parquet` or `a.csv and 3 more`. */
  readonly name: string
  /** The bytes of those that are no files, by their names among the paths. */
  readonly given?: GivenFiles
}

/** The files (or addresses) a source names; a SourceError for a glob without a match, and for a folder without files. */
export async function filesOf(source: FileSource, access: Access = {}): Promise<NamedFiles> {
  const all: readonly unknown[] = isName(source) || isByteInput(source) ? [source] : source
  if (!Array.isArray(all)) throw wrongName(valueText(source))
  const given = new Map<unknown, string>()
  const names = all.map((one): string | URL => {
    if (isName(one)) return one
    if (!isByteInput(one)) throw wrongName(`an array with ${valueText(one)}`)
    if (given.has(one)) return given.get(one) as string // just asked
    const own = nameOfInput(one)
    const taken = new Set<unknown>([...given.values(), ...all])
    let name = own
    for (let i = 2; taken.has(name); i++) name = `${own} ${i}`
    given.set(one, name)
    return name
  })
  if (names.length === 0) throw new SourceError('No file was named: the list of paths is empty.', '')
  const found = await Promise.all(
    names.map((name, i): Promise<Expanded> | Expanded =>
      given.has(all[i])
        ? { paths: [String(name)] }
        : isS3(String(name))
          ? objectsNamed(decoded(name), access)
          : name instanceof URL
            ? inFolder(placeOfUrl(name.href))
            : expand(name),
    ),
  )
  const paths = found.flatMap((one) => one.paths)
  const bytes: Record<string, GivenBytes> = {}
  for (const [input, name] of given) bytes[name] = await givenBytes(input as ByteInput, name, access) // as was checked
  const others = given.size === 0 ? {} : { given: bytes }
  const [first = ''] = paths
  const [folder] = found.map((one) => one.folder)
  if (found.length === 1 && folder !== undefined) return { paths, name: nameOfPath(folder), ...others }
  return { paths, name: paths.length === 1 ? nameOfPath(first) : `${nameOfPath(first)} and ${paths.length - 1} more`, ...others }
}

/** The files that one name stands for. */
interface Expanded {
  readonly paths: readonly string[]
  /** The folder that was named, where it was one. */
  readonly folder?: string
}

/** The name as text, in which the key of a URL has its characters as they are. */
function decoded(name: string | URL): string {
  return name instanceof URL ? decodeURIComponent(name.href) : name
}

/** Objects of a store: one, all below a key that ends with a slash, or those that a glob matches. */
async function objectsNamed(address: string, access: Access): Promise<Expanded> {
  checkAddress(address)
  const isFolder = address.endsWith('/')
  if (!isFolder && !/[*?[{]/.test(address)) return { paths: [address] }
  const fixed = isFolder ? address : address.slice(0, address.search(/[*?[{]/))
  const found = (await objectsOf(fixed, access)).filter((path) => !hasNote(path.slice(fixed.length)))
  const matches = isFolder ? found : found.filter(matcherOf(address))
  if (matches.length === 0)
    throw new SourceError(
      isFolder ? `${address} has no objects below it. Name a folder that has, or an object.` : `No object matches ${address}.`,
      address,
    )
  const sorted = [...matches].sort((a, b) => (a < b ? -1 : 1))
  return isFolder ? { paths: sorted, folder: address.replace(/\/+$/, '') } : { paths: sorted }
}

/** Whether a part of a path is a note of those who wrote the others, as in folders. */
function hasNote(path: string): boolean {
  return path.split('/').some(isNote)
}

/** Whether an address matches a glob, part by part. */
function matcherOf(pattern: string): (path: string) => boolean {
  const parts = pattern.split('/')
  const patterns = parts.map((part) => (part === '**' ? undefined : patternOf(part)))
  const matches = (path: readonly string[], at: number, p: number): boolean => {
    if (p === patterns.length) return at === path.length
    const part = patterns[p]
    if (part === undefined) return matches(path, at, p + 1) || (at < path.length && matches(path, at + 1, p))
    return at < path.length && part.test(path[at] ?? '') && matches(path, at + 1, p + 1)
  }
  return (path) => matches(path.split('/'), 0, 0)
}

async function inFolder(path: string): Promise<Expanded> {
  if (isUrl(path)) return { paths: [path] }
  const isFolder = await stat(path).then(
    (info) => info.isDirectory(),
    () => false, // whoever opens it says why
  )
  return isFolder ? { paths: await filesIn(path), folder: path } : { paths: [path] }
}

function wrongName(given: string): PlanError {
  return new PlanError(
    `Files are named by a path, a URL or an array of them; they were given as ${given}.${given.endsWith(' Response') ? '\nGive its body, as in readCsv(response.body).' : ''}`,
  )
}

function isName(value: unknown): value is string | URL {
  return typeof value === 'string' || value instanceof URL
}

/** A scheme of two letters or more; one letter is a disk of Windows. */
const ADDRESS = /^[a-z][a-z0-9+.-]+:/i

function exists(path: string): boolean {
  try {
    return existsSync(path)
  } catch (error) {
    throw fileError(path, error) // the permission model does not even tell
  }
}

async function expand(path: string): Promise<Expanded> {
  if (path === '') throw new PlanError('The path of a file is empty. Name the file, a glob or an address.')
  if (path.includes('\0')) throw new PlanError(`The path ${valueText(path)} has a character of code 0, which no file's name has.`)
  if (exists(path)) return await inFolder(path)
  if (ADDRESS.test(path)) return await inFolder(placeOfUrl(path))
  if (!/[*?[{]/.test(path)) return { paths: [path] }
  const matches = (await glob(path)).sort((a, b) => (a < b ? -1 : 1))
  if (matches.length === 0) throw new SourceError(`No file matches ${path}.`, path)
  return { paths: matches }
}

/** The path that a file URL says, or the address of something behind http or https. */
function placeOfUrl(text: string): string {
  const refuse = (why: string, cause?: unknown) => new PlanError(`The address ${valueText(text)} ${why}`, { cause })
  const store = objectStoreError(text, 'read')
  if (store !== undefined) throw store
  if (!/^(file|https?):/i.test(text)) throw refuse('is not read. Name a file, or an address of http, https or file.')
  let url: URL
  try {
    url = new URL(text)
    if (url.protocol === 'file:') {
      const path = fileURLToPath(url)
      if (path.includes('\0')) throw new Error("it has a character of code 0, which no file's name has")
      return path
    }
  } catch (cause) {
    throw refuse(`makes no sense: ${isError(cause) ? cause.message : String(cause)}.`, cause)
  }
  if (!isUrl(text)) throw refuse(`makes no sense. It begins with ${url.protocol}//.`)
  if (url.username !== '' || url.password !== '') {
    url.username = ''
    url.password = ''
    throw new PlanError(
      `The address ${url.href} was given with a user's name or password, which are not sent. Have the server take a signed address.`,
    )
  }
  return text
}

async function glob(pattern: string): Promise<string[]> {
  const parts = pattern.split('/').filter((part, i) => part !== '' || i === 0)
  const absolute = pattern.startsWith('/')
  return walk(absolute ? '/' : '', absolute ? parts.slice(1) : parts)
}

async function walk(folder: string, parts: readonly string[]): Promise<string[]> {
  const [part, ...rest] = parts
  if (part === undefined) return []
  if (part !== '**' && !/[*?[{]/.test(part)) {
    const path = folder === '' ? part : join(folder, part)
    if (rest.length > 0) return walk(path, rest)
    return exists(path) ? [path] : []
  }
  const matches = patternOf(part)
  let entries: Awaited<ReturnType<typeof entriesOf>>
  try {
    entries = await entriesOf(folder)
  } catch {
    return [] // not a folder, or not ours to read: nothing matches in it
  }
  const found: string[] = []
  if (part === '**') {
    found.push(...(await walk(folder, rest.length === 0 ? ['*'] : rest)))
    for (const entry of entries)
      if (entry.isDirectory() && !entry.name.startsWith('.'))
        found.push(...(await walk(folder === '' ? entry.name : join(folder, entry.name), parts)))
    return [...new Set(found)]
  }
  for (const entry of entries) {
    if (!matches.test(entry.name)) continue
    const path = folder === '' ? entry.name : join(folder, entry.name)
    if (rest.length > 0) found.push(...(await walk(path, rest)))
    else if (!entry.isDirectory()) found.push(path)
  }
  return found
}

function entriesOf(folder: string) {
  return readdir(folder === '' ? '.' : folder, { withFileTypes: true })
}

/** One part of a glob as a regular expression; hidden files match only when the part names the dot. */
function patternOf(part: string): RegExp {
  let source = part.startsWith('.') ? '' : '(?!\\.)'
  let depth = 0
  for (let i = 0; i < part.length; i++) {
    const c = part.charAt(i)
    const close = c === '[' ? part.indexOf(']', i + 2) : -1
    if (c === '*') {
      if (part[i - 1] !== '*') source += '[^/]*' // two would try every cut between them
    } else if (c === '?') source += '[^/]'
    else if (close > 0) {
      source += `[${part
        .slice(i + 1, close)
        .replace(/^!/, '^')
        .replaceAll('\\', '\\\\')}]`
      i = close
    } else if (c === '{' && part.includes('}', i)) {
      source += '(?:'
      depth++
    } else if (c === '}' && depth > 0) {
      source += ')'
      depth--
    } else if (c === ',' && depth > 0) source += '|'
    else source += c.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
  }
  try {
    return new RegExp(`^${source}$`)
  } catch (cause) {
    throw new PlanError(`The part ${valueText(part)} of a glob makes no sense. Ranges go up, as in [a-z], and every { has its }.`, {
      cause,
    })
  }
}
