/**
 * From what the user names to the files to read: a path, a file URL, an address, a glob, or several of them.
 *
 * Globs know `*`, `?`, `[a-z]`, `{a,b}` and `**`; matches come sorted by path, so that row order does not depend on
 * the file system. A path that exists as it stands is never taken for a glob.
 */
import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { valueText } from '../core/columnBuilder.ts'
import { PlanError, SourceError } from '../core/errors.ts'
import { isUrl } from './byteSource.ts'

/** The files (or addresses) a source names, at least one; a SourceError for a glob without a match. */
export async function pathsOf(source: string | URL | readonly string[]): Promise<string[]> {
  if (source instanceof URL) return [source.protocol === 'file:' ? fileURLToPath(source) : source.href]
  if (typeof source === 'string') return expand(source)
  if (!Array.isArray(source) || !source.every((path) => typeof path === 'string')) {
    throw new PlanError(`Files are named by a path, a URL or an array of paths; they were given as ${valueText(source)}.`)
  }
  if (source.length === 0) throw new SourceError('No file was named: the list of paths is empty.', '')
  return (await Promise.all(source.map(expand))).flat()
}

async function expand(path: string): Promise<string[]> {
  if (path.startsWith('file:')) return [fileURLToPath(path)]
  if (isUrl(path) || !/[*?[{]/.test(path) || existsSync(path)) return [path]
  const matches = (await glob(path)).sort((a, b) => (a < b ? -1 : 1))
  if (matches.length === 0) throw new SourceError(`No file matches ${path}.`, path)
  return matches
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
    return existsSync(path) ? [path] : []
  }
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
  const matches = patternOf(part)
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
    if (c === '*') source += '[^/]*'
    else if (c === '?') source += '[^/]'
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
  return new RegExp(`^${source}$`)
}
