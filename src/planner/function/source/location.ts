/**
 * Finds the place of a function in the user's file.
 *
 * V8 tells line and column of a function in its script, but not which script. It is looked for among the scripts on the
 * stack, and taken only if the function's text is found there: in the file itself, or, where a tool compiled it (tsx,
 * esbuild, tsc), in the file that the source map leads to. A function that was defined elsewhere has no location, and
 * its places count within its own text.
 */
import { readFileSync } from 'node:fs'
import { findSourceMap, type SourceMap } from 'node:module'
import { callingScripts, pathOf, relativePath } from '../../../core/callSite.ts'
import { scriptPosition } from '../captures/captures.ts'

export interface Location {
  readonly file: string
  /** Returns line and column in the file, from 1, of an offset in the function's text; undefined where the source map does not tell. */
  readonly placeOf: (offset: number) => { readonly line: number; readonly column: number } | undefined
  /** Returns the file's name for the one at an offset: tools rename locals. */
  readonly nameAt: (offset: number, name: string) => string
  /** Returns the file's text from the place of an offset on; undefined where the file is the script itself. Tools take spaces out. */
  readonly textFrom: (offset: number) => string | undefined
}

/** Returns the location of a function with this text; undefined where no script on the stack holds it. */
export function locationOf(f: (...args: never[]) => unknown, text: string, isArrow: boolean): Location | undefined {
  const scripts = callingScripts()
  if (scripts.length === 0) return undefined
  const position = scriptPosition(f)
  if (position === undefined) return undefined
  // V8 counts from the first token of an arrow function, but from the parameters of any other.
  const head = isArrow ? '' : text.slice(0, text.indexOf('('))
  if (head.includes('\n')) return undefined
  return foundBefore(`${position.line}:${position.column} ${scripts.join()}\n${text}`, () => {
    const start = { line: position.line, column: position.column - head.length }
    return search(scripts, text, start)
  })
}

/** Locations by the functions' texts, their positions and the scripts that were searched. */
const found = new Map<string, Location | undefined>()
const MOST_FOUND = 1024

/** Caches locations: a function that makes a chain makes the functions in it anew at each call, at the same places. */
function foundBefore(key: string, look: () => Location | undefined): Location | undefined {
  if (!found.has(key)) {
    if (found.size >= MOST_FOUND) found.clear()
    found.set(key, look())
  }
  return found.get(key)
}

function search(scripts: readonly string[], text: string, start: Position): Location | undefined {
  const offsets = lineStarts(text)
  const inScript = (offset: number): Position => {
    const line = lineOf(offsets, offset)
    const column = offset - (offsets[line] ?? 0)
    return { line: start.line + line, column: line === 0 ? start.column + column : column }
  }
  for (const script of scripts) {
    const map = findSourceMap(pathOf(script)) ?? findSourceMap(script)
    const location = map === undefined ? inFile(script, text, inScript) : behindMap(map, text, inScript)
    if (location !== undefined) return location
  }
  return undefined
}

/** A place in a text; both numbers count from 0. */
interface Position {
  readonly line: number
  readonly column: number
}

function inFile(script: string, text: string, inScript: (offset: number) => Position): Location | undefined {
  const file = fileOf(pathOf(script))
  if (file === undefined) return undefined
  const { line, column } = inScript(0)
  const start = file.lines[line]
  if (start === undefined || column < 0 || !file.text.startsWith(text, start + column)) return undefined
  const placeOf = (offset: number) => {
    const place = inScript(offset)
    return { line: place.line + 1, column: place.column + 1 }
  }
  return { file: relativePath(script), placeOf, nameAt: (_, name) => name, textFrom: () => undefined }
}

/**
 * Finds the place in the original file of a source map. Every property name that the map knows must stand in the original where the map
 * says, since tools keep them; in a function without any, most names must be the same.
 */
function behindMap(map: SourceMap, text: string, inScript: (offset: number) => Position): Location | undefined {
  let source: string | undefined
  let properties = 0
  let same = 0
  let other = 0
  const originalOf = (offset: number): (Position & { readonly source: string }) | undefined => {
    const { line, column } = inScript(offset)
    const entry = map.findEntry(line, column)
    if (!('originalSource' in entry) || entry.generatedLine !== line || entry.generatedColumn !== column) return undefined
    return { source: entry.originalSource, line: entry.originalLine, column: entry.originalColumn }
  }
  for (const { 0: name, index } of text.matchAll(NAME)) {
    if (KEYWORDS.has(name)) continue
    const original = originalOf(index)
    if (original !== undefined && source !== undefined && original.source !== source) return undefined
    source ??= original?.source
    const isSame = original !== undefined && nameIn(fileOf(pathOf(original.source)), original) === name
    if (isSame) same++
    else other++
    if (text[index - 1] !== '.' || original === undefined) continue
    if (!isSame) return undefined
    properties++
  }
  if (source === undefined || (properties === 0 && same <= other)) return undefined
  const file = fileOf(pathOf(source))
  return {
    file: relativePath(source),
    placeOf: (offset) => {
      const original = originalOf(offset)
      return original === undefined ? undefined : { line: original.line + 1, column: original.column + 1 }
    },
    nameAt: (offset, name) => {
      const original = text[offset - 1] === '.' ? undefined : originalOf(offset)
      return (original === undefined ? undefined : nameIn(file, original)) ?? name
    },
    textFrom: (offset) => {
      const original = originalOf(offset)
      const start = original === undefined ? undefined : file?.lines[original.line]
      return original === undefined || start === undefined ? undefined : file?.text.slice(start + original.column)
    },
  }
}

const NAME = /[A-Za-z_$][\w$]*/g
/** Keywords, which the map need not know. */
const KEYWORDS: ReadonlySet<string> = new Set('async await const else for function if let new return var while yield'.split(' '))
const NAME_HERE = /[A-Za-z_$][\w$]*/y

interface SourceFile {
  readonly text: string
  readonly lines: readonly number[]
}
const files = new Map<string, SourceFile | undefined>()

/** Returns a source file, read once: what runs was loaded from it when the program started. */
function fileOf(path: string): SourceFile | undefined {
  if (!files.has(path)) files.set(path, readFile(path))
  return files.get(path)
}

function readFile(path: string): SourceFile | undefined {
  try {
    const text = readFileSync(path, 'utf8')
    return { text, lines: lineStarts(text) }
  } catch {
    return undefined
  }
}

function nameIn(file: SourceFile | undefined, { line, column }: Position): string | undefined {
  const start = file?.lines[line]
  if (file === undefined || start === undefined) return undefined
  NAME_HERE.lastIndex = start + column
  return NAME_HERE.exec(file.text)?.[0]
}

export function lineStarts(text: string): readonly number[] {
  const starts = [0]
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return starts
}

/** Returns the line, from 0, that an offset is in. */
export function lineOf(starts: readonly number[], offset: number): number {
  let line = starts.length - 1
  while (line > 0 && (starts[line] ?? 0) > offset) line--
  return line
}

/**
 * Returns part of a function's text on one line, as the user wrote it: with the file's names of locals, and with its spaces where nothing
 * else differs. No longer than a little more than `longest`.
 */
export function excerptOf(text: string, from: number, to: number, location: Location | undefined, longest: number): string {
  const part = text.slice(from, to)
  if (location === undefined) return onOneLine(part)
  const named = onOneLine(part.replace(NAME, (name, index: number) => location.nameAt(from + index, name)))
  const file = location.textFrom(from)
  return (file === undefined ? undefined : spacedAs(file, named, longest)) ?? named
}

function onOneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

/** Returns code with the spaces and quotes of a text that begins with the same code; undefined where it does not. */
function spacedAs(text: string, code: string, longest: number): string | undefined {
  let spaced = ''
  let at = 0
  let isApart = false
  for (const character of code) {
    if (spaced.length > longest) break
    if (character === ' ') continue
    for (; SPACE.test(text[at] ?? ''); at++) isApart = true
    const written = text[at] ?? ''
    if (written === character || (QUOTE.test(written) && QUOTE.test(character))) {
      spaced += isApart && spaced !== '' ? ` ${written}` : written
      isApart = false
      at++
    } else if (character === ';' && isApart) {
      // the file's line ends without a semicolon
      spaced += character
    } else {
      return undefined
    }
  }
  return spaced
}

const SPACE = /\s/
const QUOTE = /['"`]/
