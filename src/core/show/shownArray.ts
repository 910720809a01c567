/**
 * The content printed of an array, without running anything: its columns, the rows or elements that lie in memory, their number
 * if that is known, and the lazy steps between it and the data that it reads.
 */

import type { DenseStorage, SparseStorage, Storage } from '../arrays/storage.ts'
import type { Column } from '../data/column.ts'
import { type ElementType, type Field, fieldsOf, typeText } from '../data/schema.ts'
import type { Holdings } from '../engine.ts'
import { isKnown, rankOf } from '../plan/elements.ts'
import { inputsOf, type LogicalPlan, labelOf } from '../plan/logicalPlan.ts'
import { cellText } from './cells.ts'
import type { Grid } from './grid.ts'
import { columnsLeftOut, columnsOf, columnTypeText, gridOfColumns, gridOfFields } from './rows.ts'
import type { Shown } from './shown.ts'
import { counted } from './width.ts'

const MOST_ROWS = 10
/** The most elements that are shown along each of the last two axes. */
const CORNER = 6
const MOST_STEPS = 6

export function shownArray(plan: LogicalPlan, holdings: Holdings): Shown {
  const what = 'DistArray'
  const state = holdings.of(plan)
  const storage = typeof state === 'object' ? state : undefined
  const title = plan.keys.kind === 'rowNumber' ? tableTitle(plan, holdings) : arrayTitle(plan, storage, holdings)
  if (!holdings.isOpen) return { what, title, notes: ['Its session was stopped.'] }
  if (state === 'gone') return { what, title, notes: ['What it held is gone: it was released, or a loop that wrote it failed.'] }
  if (state === 'being written') return { what, title, notes: ['It is being written.'] }
  if (state === 'elsewhere')
    return { what, title, notes: ['It lies in several processes, where loops have left it: reading it brings it here.'] }
  if (plan.keys.kind === 'rowNumber') return { what, title, ...tableBody(plan, holdings) }
  return { what, title, ...arrayBody(plan, storage) }
}

// ------------------------------------------------------------------ tables

function tableTitle(plan: LogicalPlan, holdings: Holdings): string {
  const rows = knownRows(plan, holdings)
  const size = rows === undefined ? 'table, rows not counted yet' : `table of ${counted(rows, 'row')}`
  return `${size}${stepsText(plan, holdings)}`
}

function tableBody(plan: LogicalPlan, holdings: Holdings): Pick<Shown, 'grid' | 'notes'> {
  const there = rowsThere(plan, holdings)
  if (there === undefined) {
    if (!isKnown(plan.element)) return { notes: ['Its columns are known when it has run: preview() shows them.'] }
    const fields = columnsOf(plan.element)
    return { grid: gridOfFields(fields), notes: [...columnsLeftOut(fields), 'Nothing has run; preview() shows rows.'] }
  }
  const fields = columnsOf(there.element)
  const shown = Math.min(MOST_ROWS, there.rows)
  const more = there.rows > shown ? [`and ${counted(there.rows - shown, 'more row')}`] : []
  return { grid: gridOfColumns(fields, there.columns, shown), notes: [...more, ...columnsLeftOut(fields)] }
}

interface Rows {
  readonly element: ElementType
  readonly columns: readonly Column[]
  readonly rows: number
}

/** The columns of rows that lie in memory; undefined where something would have to run, or be read. */
function rowsThere(plan: LogicalPlan, holdings: Holdings): Rows | undefined {
  const storage = holdings.of(plan)
  if (typeof storage === 'object') {
    return storage.kind === 'table' ? { element: storage.element, columns: storage.columns, rows: storage.length } : undefined
  }
  if (storage !== undefined) return undefined
  switch (plan.kind) {
    case 'Scan': {
      const { columns, rows, element } = plan.source
      return columns === undefined || rows === undefined ? undefined : picked({ element, columns, rows }, plan.columns)
    }
    case 'Project': {
      const below = rowsThere(plan.input, holdings)
      return below === undefined ? undefined : picked(below, plan.columns)
    }
    case 'Limit': {
      const below = rowsThere(plan.input, holdings)
      return below === undefined ? undefined : { ...below, rows: Math.min(below.rows, plan.count) }
    }
    default:
      return undefined
  }
}

function picked({ element, columns, rows }: Rows, names: readonly string[]): Rows | undefined {
  if (element.kind !== 'row') return { element, columns, rows }
  const fields: Field[] = []
  const kept: Column[] = []
  for (const name of names) {
    const at = element.fields.findIndex((field) => field.name === name)
    const [field, column] = [element.fields[at], columns[at]]
    if (field === undefined || column === undefined) return undefined
    fields.push(field)
    kept.push(column)
  }
  return { element: { kind: 'row', fields }, columns: kept, rows }
}

/** The number of rows, where it follows from what is known; else undefined. `known` caches it for nodes that several others share. */
export function knownRows(
  plan: LogicalPlan,
  holdings: Holdings,
  known: Map<LogicalPlan, number | undefined> = new Map(),
): number | undefined {
  if (!known.has(plan)) known.set(plan, rowsOf(plan, holdings, known))
  return known.get(plan)
}

function rowsOf(plan: LogicalPlan, holdings: Holdings, known: Map<LogicalPlan, number | undefined>): number | undefined {
  const storage = holdings.of(plan)
  if (typeof storage === 'object') return storage.kind === 'dense' ? undefined : storage.length
  const [input] = inputsOf(plan)
  const below = input?.keys.kind === 'rowNumber' ? knownRows(input, holdings, known) : undefined
  switch (plan.kind) {
    case 'Scan':
      return plan.predicate === undefined || plan.predicate.length === 0 ? plan.source.rows : undefined
    case 'Map':
    case 'WithColumns':
    case 'Project':
    case 'Cast':
    case 'Sort':
    case 'Window':
    case 'Repartition':
    case 'ShuffleKeys':
    case 'Materialize':
      return below
    case 'Limit':
      return below === undefined ? undefined : Math.min(below, plan.count)
    case 'Offset':
      return below === undefined ? undefined : plan.offset < 0 ? Math.min(below, -plan.offset) : Math.max(0, below - plan.offset)
    case 'Union': {
      const parts = plan.inputs.map((one) => (one.keys.kind === 'rowNumber' ? knownRows(one, holdings, known) : undefined))
      return parts.every((rows) => rows !== undefined) ? parts.reduce((sum, rows) => sum + rows, 0) : undefined
    }
    default:
      return undefined
  }
}

/** Writes `, 2 lazy steps over ratings.parquet (filter, map)`; without steps, the source, and whether it is in memory. */
function stepsText(plan: LogicalPlan, holdings: Holdings): string {
  const names: string[] = []
  let steps = 0
  let label: string | undefined
  let isRead = true
  const seen = new Set<LogicalPlan>()
  const walk = (node: LogicalPlan, isMain: boolean): void => {
    if (seen.has(node)) return
    seen.add(node)
    const storage = holdings.of(node)
    const inputs = storage === undefined ? inputsOf(node) : []
    for (const [i, input] of inputs.entries()) walk(input, isMain && i === 0)
    if (inputs.length === 0) {
      if (!isMain) return
      label =
        storage === undefined ? labelOf(node) : node.kind === 'Materialize' ? `materialized ${labelOf(node) ?? 'table'}` : labelOf(node)
      isRead = storage !== undefined || node.kind !== 'Scan' || node.source.columns !== undefined
      return
    }
    steps++
    if (isMain) names.push(methodOf(node))
  }
  walk(plan, true)
  const from = label === undefined ? '' : ` ${label}`
  if (steps === 0) return isRead ? `, in memory (${label ?? 'stored'})` : `, not read yet (${label ?? 'source'})`
  const list = names.length > MOST_STEPS ? `…, ${names.slice(-MOST_STEPS).join(', ')}` : names.join(', ')
  return `, ${counted(steps, 'lazy step')}${from === '' ? '' : ` over${from}`} (${list})`
}

/** The method that makes the node. */
function methodOf(plan: LogicalPlan): string {
  const { kind } = plan
  switch (plan.kind) {
    case 'Project':
      return 'select'
    case 'Sort':
      return 'sortBy'
    case 'Offset':
      return plan.offset < 0 ? 'tail' : 'offset'
    case 'IndexBuild':
    case 'IndexLookup':
      return 'index'
    default:
      return `${kind.charAt(0).toLowerCase()}${kind.slice(1)}`
  }
}

// ------------------------------------------------------------------ arrays with keys of their own

function arrayTitle(plan: LogicalPlan, storage: Storage | undefined, holdings: Holdings): string {
  const { keys } = plan
  const shape = storage !== undefined && storage.kind !== 'table' ? storage.shape : keys.kind === 'explicit' ? keys.shape : undefined
  const extents = shape === undefined ? new Array<string>(rankOf(keys)).fill('?') : shape.map(String)
  const isDense = storage === undefined ? keys.kind === 'explicit' && keys.dense : storage.kind === 'dense'
  const elements = storage?.kind === 'sparse' ? ` with ${counted(storage.length, 'element')}` : ''
  const kind = isDense ? 'dense' : 'sparse'
  return `${kind} array [${extents.join(', ')}]${elementKind(plan.element)}${elements}${plan.kind === 'Array' ? `, ${plan.name.split('(')[0]}` : stepsText(plan, holdings)}`
}

function elementKind(element: ElementType): string {
  switch (element.kind) {
    case 'unknown':
      return ''
    case 'row':
      return ` of rows {${fieldsOf(element)
        .slice(0, MOST_STEPS)
        .map((field) => `${field.name}: ${columnTypeText(field)}`)
        .join(', ')}${fieldsOf(element).length > MOST_STEPS ? ', …' : ''}}`
    case 'scalar':
      return ` of ${typeText(element.type)}`
  }
}

function arrayBody(plan: LogicalPlan, storage: Storage | undefined): Pick<Shown, 'grid' | 'notes'> {
  if (storage?.kind === 'dense') return cornerOf(storage)
  if (storage?.kind === 'sparse') return elementsOf(storage)
  if (plan.kind !== 'Array') return { notes: ['Nothing has run; preview() shows elements.'] }
  const { init, shape, dtype } = plan
  if (init.kind === 'sparse') return { notes: ['It has no elements yet.'] }
  if (init.kind === 'random') return { notes: ['It is filled at its first use.'] }
  if (init.kind === 'given') return {}
  const value = init.kind === 'zeros' ? 0 : init.value
  const text = cellText(value, dtype === 'object' ? { kind: 'object' } : { kind: dtype })
  return corner(shape, () => text)
}

function cornerOf({ shape, strides, data, dtype, objects }: DenseStorage): Pick<Shown, 'grid' | 'notes'> {
  return corner(shape, (key) => {
    const at = key.reduce((sum, k, axis) => sum + k * (strides[axis] ?? 0), 0)
    return dtype === 'object' ? cellText(objects?.[at], { kind: 'object' }) : cellText(data[at], { kind: dtype })
  })
}

/** The first elements along the last two axes, under the key 0 of all others. */
function corner(shape: readonly number[], at: (key: readonly number[]) => string): Pick<Shown, 'grid' | 'notes'> {
  if (shape.some((extent) => extent === 0)) return { notes: ['It has no elements.'] }
  const outer = shape.slice(0, -2).map(() => 0)
  const rows = shape.length > 1 ? (shape.at(-2) ?? 1) : 1
  const columns = shape.at(-1) ?? 1
  const [shownRows, shownColumns] = [Math.min(rows, CORNER), Math.min(columns, CORNER)]
  const grid: Grid = {
    columns: [
      ...Array.from({ length: shownColumns }, () => ({ name: '', type: '', side: 'right' as const })),
      ...(columns > shownColumns ? [{ name: '', type: '', side: 'left' as const }] : []),
    ],
    rows: Array.from({ length: shownRows }, (_, i) => [
      ...Array.from({ length: shownColumns }, (_, j) => at(shape.length > 1 ? [...outer, i, j] : [j])),
      ...(columns > shownColumns ? ['…'] : []),
    ]),
  }
  const cut = rows > shownRows ? [`and ${counted(rows - shownRows, 'more row')}`] : []
  return { grid, notes: [...cut, ...(outer.length > 0 ? [`at [${outer.join(', ')}, …]`] : [])] }
}

function elementsOf({ keys, columns, element, length }: SparseStorage): Pick<Shown, 'grid' | 'notes'> {
  if (length === 0) return { notes: ['It has no elements.'] }
  const shown = Math.min(MOST_ROWS, length)
  const { columns: heads, rows } = gridOfColumns(columnsOf(element), columns, shown)
  const grid: Grid = {
    columns: [{ name: 'key', type: '', side: 'left' }, ...heads],
    rows: rows.map((row, i) => [`[${keys.map((axis) => axis[i] ?? 0).join(', ')}]`, ...row]),
  }
  return { grid, notes: length > shown ? [`and ${counted(length - shown, 'more element')}`] : [] }
}
