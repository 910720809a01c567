/**
 * The text and HTML of handles in the console, a REPL and a notebook: Node asks for it by `util.inspect.custom`, notebooks by
 * `Jupyter.display`. Printing runs nothing and throws nothing.
 */
import { escapedHtml, type Grid, gridHtml, gridText } from './grid.ts'
import { clipped, printable } from './width.ts'

/** The content that is printed of a handle: a title, a grid and notes. */
export interface Shown {
  /** The kind of handle, as `DistArray` or `Loop`. */
  readonly what: string
  readonly title: string
  readonly grid?: Grid
  /** Sentences printed below the grid. */
  readonly notes?: readonly string[]
}

/** The options that Node passes to a function under `util.inspect.custom`. */
interface InspectOptions {
  readonly depth?: number | null | undefined
  readonly compact?: boolean | number | undefined
}

const INSPECT: unique symbol = Symbol.for('nodejs.util.inspect.custom') as never
const DISPLAY: unique symbol = Symbol.for('Jupyter.display') as never
const MOST_TITLE = 200
/** The most columns without room that are named. */
const MOST_NAMES = 5

/** Defines the two methods on `holder`, a prototype or an object; `shownOf` gives the content for the object that is printed. */
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

/** Writes the title, the indented grid and the notes, each on lines of its own. */
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
