/**
 * What the console, a REPL and a notebook print of a handle: Node asks for it by `util.inspect.custom`, notebooks by
 * `Jupyter.display`. Looking runs nothing and throws nothing.
 */
import { escapedHtml, type Grid, gridHtml, gridText } from './grid.ts'
import { clipped, printable } from './width.ts'

/** A title, and what stands below it. */
export interface Shown {
  /** What it is, as `DistArray` or `Loop`. */
  readonly what: string
  readonly title: string
  readonly grid?: Grid
  /** Sentences below. */
  readonly notes?: readonly string[]
}

/** What Node hands to a function under `util.inspect.custom`. */
interface InspectOptions {
  readonly depth?: number | null | undefined
  readonly compact?: boolean | number | undefined
}

const INSPECT: unique symbol = Symbol.for('nodejs.util.inspect.custom') as never
const DISPLAY: unique symbol = Symbol.for('Jupyter.display') as never
const MOST_TITLE = 200
/** Columns that have no room are named so far. */
const MOST_NAMES = 5

/** Gives `holder`, a prototype or an object, the two methods; `shownOf` says what is there, of the object that is looked at. */
export function showAs<T>(holder: object, shownOf: (self: T) => Shown): void {
  const look = (self: T): Shown => {
    try {
      return shownOf(self)
    } catch {
      return { what: 'distarray', title: 'cannot be looked at now' }
    }
  }
  const define = (name: symbol, value: (this: T, ...args: never[]) => unknown): void =>
    void Object.defineProperty(holder, name, { value, configurable: true, writable: true, enumerable: false })
  define(INSPECT, function (this: T, depth?: number | null, options?: InspectOptions): string {
    const shown = look(this)
    const isInside = typeof depth === 'number' && (depth < 0 || depth < (options?.depth ?? depth))
    return isInside || options?.compact === true ? `[${shown.what}: ${titleOf(shown)}]` : shownText(shown)
  })
  define(DISPLAY, function (this: T): { readonly 'text/plain': string; readonly 'text/html': string } {
    const shown = look(this)
    return { 'text/plain': shownText(shown), 'text/html': shownHtml(shown) }
  })
}

function titleOf({ title }: Shown): string {
  return clipped(printable(title), MOST_TITLE)
}

/** The title, the grid, the notes: a line each, the grid indented. */
export function shownText(shown: Shown): string {
  const { lines, left } = shown.grid === undefined ? { lines: [], left: [] } : gridText(shown.grid)
  return [`${shown.what}: ${titleOf(shown)}`, ...lines.map((line) => `  ${line}`.trimEnd()), ...notesOf(shown, left)].join('\n')
}

export function shownHtml(shown: Shown): string {
  const grid = shown.grid === undefined ? '' : gridHtml(shown.grid)
  const notes = notesOf(shown, []).map((note) => `<p>${escapedHtml(note)}</p>`)
  return `<div><p>${escapedHtml(`${shown.what}: ${titleOf(shown)}`)}</p>${grid}${notes.join('')}</div>`
}

function notesOf({ notes = [] }: Shown, left: readonly string[]): readonly string[] {
  const names = left.slice(0, MOST_NAMES).join(', ')
  const columns =
    left.length === 0
      ? []
      : [`${left.length === 1 ? 'one more column' : `${left.length} more columns`}: ${names}${left.length > MOST_NAMES ? ', …' : ''}`]
  return [...columns, ...notes.map((note) => clipped(printable(note), MOST_TITLE))]
}
