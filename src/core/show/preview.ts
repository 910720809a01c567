/** The result of `array.preview()`: the first elements as values, as text and as HTML. */
import type { Batch } from '../data/column.ts'
import { rowReader } from '../data/columnReaders.ts'
import type { Field } from '../data/schema.ts'
import { isKnown } from '../plan/elements.ts'
import type { Grid } from './grid.ts'
import { columnsLeftOut, columnsOf, columnTypeText, gridOfColumns } from './rows.ts'
import { type Shown, showAs, shownHtml, shownText } from './shown.ts'
import { counted } from './width.ts'

/** The first elements of an array. Prints as a table in the console, a REPL and a notebook. */
export interface Preview<T> {
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  /** The elements themselves. */
  readonly rows: readonly T[]
  /** The number of elements of the array, where it was known without counting. */
  readonly total?: number
  readonly text: string
  readonly html: string
}

/** Makes the preview of batches; the columns are the plan's, or those of the batches where only running the plan tells them. */
export function previewOf<T>(
  batches: readonly Batch[],
  { element, total }: { readonly element: Batch['element']; readonly total: number | undefined },
): Preview<T> {
  const known = isKnown(element) ? element : (batches.find((batch) => isKnown(batch.element))?.element ?? element)
  const fields = known.kind === 'unknown' ? [] : columnsOf(known)
  const values: unknown[] = []
  const cells: (readonly string[])[] = []
  let keys = false
  for (const batch of batches) {
    const read = rowReader(batch)
    const grid = gridOfColumns(fields, inOrderOf(fields, batch), batch.length)
    for (const [i, row] of grid.rows.entries()) {
      values.push(read(i))
      const key = batch.keys?.map((axis) => axis[i] ?? 0)
      keys ||= key !== undefined
      cells.push(key === undefined ? row : [`[${key.join(', ')}]`, ...row])
    }
  }
  const heads = gridOfColumns(fields, [], 0).columns
  const grid: Grid = { columns: keys ? [{ name: 'key', type: '', side: 'left' }, ...heads] : heads, rows: cells }
  const noun = keys ? 'element' : 'row'
  const title =
    total === undefined || total === values.length ? counted(values.length, noun) : `the first ${values.length} of ${counted(total, noun)}`
  const shown: Shown = { what: 'Preview', title, ...(fields.length === 0 ? {} : { grid }), notes: columnsLeftOut(fields) }
  const preview: Preview<T> = {
    columns: fields.map((field) => ({ name: field.name, type: columnTypeText(field) })),
    rows: values as T[], // elements of the plan
    ...(total === undefined ? {} : { total }),
    text: shownText(shown),
    html: shownHtml(shown),
  }
  showAs(preview, () => shown)
  return preview
}

function inOrderOf(fields: readonly Field[], { element, columns }: Batch): Batch['columns'] {
  if (element.kind !== 'row') return columns
  const positions = new Map(element.fields.map((field, i) => [field.name, i]))
  return fields.flatMap(({ name }) => columns[positions.get(name) ?? -1] ?? [])
}
