/**
 * A few rows of columns as text and as HTML.
 *
 *     user  stars
 *      f64   utf8
 *        1   good
 */
import { displayWidth, padded } from './width.ts'

export interface GridColumn {
  /** The column's head; left out of the text and of HTML where no column has one. */
  readonly name: string
  /** The type, shown under the name; left out of the text where no column has one. */
  readonly type: string
  /** The side to which cells are aligned: right for numbers. */
  readonly side: 'left' | 'right'
}

export interface Grid {
  readonly columns: readonly GridColumn[]
  /** A cell for each column. */
  readonly rows: readonly (readonly string[])[]
}

/** The most terminal cells of a line; columns that do not fit are left out, and counted. */
const LINE_WIDTH = 110
const GAP = '  '

/** The lines of the grid, and the names of columns that had no room. */
export function gridText({ columns, rows }: Grid): { readonly lines: readonly string[]; readonly left: readonly string[] } {
  const lines: string[] = []
  let width = 0
  let shown = 0
  const hasNames = columns.some(({ name }) => name !== '')
  const hasTypes = columns.some(({ type }) => type !== '')
  const parts: string[][] = []
  for (const [i, { name, type, side }] of columns.entries()) {
    const cells = [...(hasNames ? [name] : []), ...(hasTypes ? [type] : []), ...rows.map((row) => row[i] ?? '')]
    const widest = Math.max(0, ...cells.map(displayWidth))
    width += widest + (i === 0 ? 0 : GAP.length)
    if (width > LINE_WIDTH && i > 0) break
    parts.push(cells.map((cell) => padded(cell, widest, side)))
    shown++
  }
  for (let line = 0; line < (parts[0]?.length ?? 0); line++) {
    lines.push(
      parts
        .map((cells) => cells[line] ?? '')
        .join(GAP)
        .trimEnd(),
    )
  }
  return { lines, left: columns.slice(shown).map(({ name }) => name) }
}

/** Writes an HTML table; its texts are escaped. */
export function gridHtml({ columns, rows }: Grid): string {
  const align = (side: 'left' | 'right'): string => ` style="text-align:${side}"`
  const head = columns.map(
    ({ name, type, side }) => `<th${align(side)}>${escapedHtml(name)}${type === '' ? '' : `<br><small>${escapedHtml(type)}</small>`}</th>`,
  )
  const body = rows.map((row) => `<tr>${columns.map(({ side }, i) => `<td${align(side)}>${escapedHtml(row[i] ?? '')}</td>`).join('')}</tr>`)
  const heads = columns.some(({ name }) => name !== '') ? `<thead><tr>${head.join('')}</tr></thead>` : ''
  return `<table>${heads}<tbody>${body.join('')}</tbody></table>`
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

export function escapedHtml(text: string): string {
  return text.replace(/[&<>"']/g, (one) => ENTITIES[one] ?? one)
}
