/**
 * The items of a function that maps a list of a column, or splits a text, as columns: what belongs to an element stands beside it, and each function of an
 * element is computed for all of them.
 *
 *     (r) => r.tags.filter((t) => t !== 'b').map((t) => ({ t, n: r.n }))
 *
 *     tags [a b] [c]   n 1 2   -->   element  a b c     n  1 1 2   -->   t  a c   n  1 2
 *
 * Statement: the column is the one that a builder makes of the items, row after row. Where that is not known, as where a list is null or
 * a function throws, there is none, and the items are made row after row.
 */
import { type Batch, type Column, isValid } from '../../../../core/data/column.ts'
import { sliceColumn, takeColumn } from '../../../../core/data/columnSlices.ts'
import { type ElementType, type Field, fieldsOf } from '../../../../core/data/schema.ts'
import { PlanError } from '../../../../core/errors.ts'
import { type Expr, type FunctionIr, type OfElement, visitExpr } from '../../../../core/ir/functionIr.ts'
import { readsKey, rowIrOf } from '../../../../core/ir/functionUse.ts'
import { rewriteExpr, UNCHANGED } from '../../../../core/ir/irRewrite.ts'
import type { ExecFunction } from '../../../../planner/physical/physicalPlan.ts'
import { type RowContext, RowFailure } from '../rows/rowFailure.ts'
import { outputColumns, structColumn } from '../rows/rowKernel.ts'
import { asBuilt, itemNames, VALUE } from './itemsWritten.ts'
import { pieces, splitOf } from './textPieces.ts'

/** The items of all rows; undefined where they have to be made row after row. */
export function itemsMapped(f: ExecFunction, batch: Batch, context: RowContext, element: ElementType): Column | undefined {
  const ir = rowIrOf(f)
  const mapped = ir && mappedList(ir)
  if (ir === undefined || mapped === undefined || readsKey(f)) return undefined
  const { test, list, questions } = mapped
  if (batch.element.kind !== 'row' && questions.some(({ each }) => readsInput(each.value))) return undefined
  const last = questions.at(-1)
  const names = itemNames([last?.asks === 'map' ? last.each.value : list], element)
  if (names === undefined) return undefined
  try {
    const rows = test === undefined ? batch : taken(batch, placesWhere(computed(ir, truthOf(test), batch, context, [VALUE])[0]))
    let elements = elementsOf(rows, listsOf(ir, rows, list, context))
    let columns: readonly Column[] | undefined
    for (const { asks, each } of questions) {
      if (elements === undefined) return undefined
      const isLast = each === last?.each
      columns = ofElements(
        ir,
        elements,
        { each, value: asks === 'filter' ? truthOf(each.value) : each.value },
        context,
        isLast && asks === 'map' ? names : [VALUE],
      )
      elements = asks === 'filter' ? where(elements, columns[0]) : isLast ? elements : withItems(elements, columns[0])
    }
    if (elements === undefined) return undefined
    if (last?.asks !== 'map') columns = [elements.items]
    const built = (columns ?? []).map(asBuilt)
    if (built.includes(undefined)) return undefined
    const [first] = built
    return last?.each.value.kind === 'ObjectLiteral' ? structColumn(names, built as Column[], elements.rows.length) : first // none is undefined
  } catch (error) {
    if (error instanceof RowFailure || error instanceof PlanError) return undefined // which row is the first is found row after row
    throw error
  }
}

interface Mapped {
  /** What a row is asked before: where it is false, the row has no items. */
  readonly test?: Expr
  /** The lists: a column of them, or texts that are split. */
  readonly list: Expr
  /** What is asked of the elements, in order. */
  readonly questions: readonly { readonly asks: 'map' | 'filter'; readonly each: OfElement }[]
}

/** The list that a function returns; undefined for functions that do something else. */
function mappedList({ body }: FunctionIr): Mapped | undefined {
  const [only, ...others] = body
  if (only?.kind !== 'Return' || only.value === undefined || others.length > 0) return undefined
  const { value } = only
  if (value.kind !== 'Conditional') return chain(value)
  const { test, then: some, else: none, span } = value
  if (isEmpty(some)) {
    const mapped = chain(none)
    return mapped && { ...mapped, test: { kind: 'Unary', operator: '!', operand: test, span } }
  }
  const mapped = isEmpty(none) ? chain(some) : undefined
  return mapped && { ...mapped, test }
}

function isEmpty(expr: Expr): boolean {
  return expr.kind === 'ArrayLiteral' && expr.items.length === 0
}

function chain(value: Expr): Mapped | undefined {
  const questions: Mapped['questions'][number][] = []
  let list = value
  while (list.kind === 'OfList') {
    const { asks, each } = list
    if ((asks !== 'map' && asks !== 'filter') || each === undefined) return undefined
    questions.unshift({ asks, each })
    list = list.list
  }
  if (splitOf(list) !== undefined) return { list, questions }
  return questions.length > 0 && isColumn(list) ? { list, questions } : undefined
}

function isColumn(expr: Expr): expr is Expr & { readonly kind: 'Field' } {
  return expr.kind === 'Field' && expr.of.kind === 'Input' && expr.of.argument === 0
}

function readsInput(value: Expr): boolean {
  let reads = false
  visitExpr(value, ({ kind }) => {
    reads ||= kind === 'Input'
  })
  return reads
}

/** The column of the lists; undefined where there is none, or a text may be null. */
function listsOf(ir: FunctionIr, batch: Batch, list: Expr, context: RowContext): Column | undefined {
  if (isColumn(list)) return columnOf(batch, list.name)
  const split = splitOf(list)
  if (split === undefined) return undefined
  const { text, separator } = split
  const isValue = text.kind === 'Input' && text.argument === 0 && batch.element.kind !== 'row'
  const texts = isValue ? batch.columns[0] : isColumn(text) ? columnOf(batch, text.name) : computed(ir, text, batch, context, [VALUE])[0]
  return texts && pieces(texts, separator)
}

function columnOf({ element, columns }: Batch, name: string): Column | undefined {
  return columns[fieldsOf(element).findIndex((field) => field.name === name)]
}

/** Elements of lists: for each its row, its index in the list, and its value. */
interface Elements {
  readonly batch: Batch
  readonly rows: Int32Array
  readonly indices: Int32Array
  readonly items: Column
}

/** The elements of all lists of a column; undefined where it has others, or one is null. */
function elementsOf(batch: Batch, lists: Column | undefined): Elements | undefined {
  const [values] = lists?.type.kind === 'list' ? (lists.children ?? []) : []
  const { offsets } = lists ?? {}
  if (lists === undefined || values === undefined || offsets === undefined || hasNull(lists)) return undefined
  const [first, end] = [offsets[0] as number, offsets[lists.length] as number] // length + 1 of them
  const [rows, indices] = [new Int32Array(end - first), new Int32Array(end - first)]
  let at = 0
  for (let row = 0; row < lists.length; row++) {
    const length = (offsets[row + 1] as number) - (offsets[row] as number) // length + 1 of them
    for (let index = 0; index < length; index++) {
      rows[at] = row
      indices[at++] = index
    }
  }
  return { batch, rows, indices, items: sliceColumn(values, first, end) }
}

/** Whether a value of a column is null, and not only may be; the lists that a test keeps mostly are not. */
function hasNull(column: Column): boolean {
  for (let i = 0; column.validity !== undefined && i < column.length; i++) if (!isValid(column, i)) return true
  return false
}

/** The elements that a filter keeps, with their indices among those of their row. */
function where({ batch, rows, indices, items }: Elements, keeps: Column | undefined): Elements {
  const places = placesWhere(keeps)
  const own = { rows: new Int32Array(places.length), indices: new Int32Array(places.length) }
  for (const [i, place] of places.entries()) {
    own.rows[i] = rows[place] as number // places of elements
    own.indices[i] = i > 0 && own.rows[i] === own.rows[i - 1] ? (own.indices[i - 1] as number) + 1 : 0
  }
  return places.length === indices.length ? { batch, rows, indices, items } : { batch, ...own, items: takeColumn(items, places) }
}

/** The elements with other values; undefined where one is null, which may have been undefined. */
function withItems(elements: Elements, items: Column | undefined): Elements | undefined {
  return items === undefined || items.validity !== undefined || items.type.kind === 'null' ? undefined : { ...elements, items }
}

/** Computes a function of an element for all of them: columns of its parts. */
function ofElements(
  ir: FunctionIr,
  { batch, rows, indices, items }: Elements,
  { each, value }: { readonly each: OfElement; readonly value: Expr },
  context: RowContext,
  names: readonly string[],
): readonly Column[] {
  const fields = fieldsOf(batch.element)
  const [item, index] = [unusedName('item', fields), unusedName('index', fields)]
  const parts = items.type.kind === 'struct' && items.validity === undefined ? items.type.fields : []
  const partName = (part: string): string => `${item}.${part}`
  const ofRow = (name: string, { span }: Expr): Expr => ({
    kind: 'Field',
    of: { kind: 'Input', argument: 0, span },
    name,
    optional: false,
    span,
  })
  const rewritten = rewriteExpr(value, {
    ...UNCHANGED,
    expr: (one) => {
      if (one.kind === 'Local') return one.name === each.item ? ofRow(item, one) : one.name === each.index ? ofRow(index, one) : one
      const isPart = one.kind === 'Field' && one.of.kind === 'Field' && one.of.name === item && parts.some(({ name }) => name === one.name)
      return isPart ? ofRow(partName(one.name), one) : one
    },
  })
  const read = new Set<string>()
  visitExpr(rewritten, (expr) => {
    if (expr.kind === 'Field' && expr.of.kind === 'Input') read.add(expr.name)
  })
  const beside = [
    ...fields.map((field, i) => ({ field, column: () => takeColumn(batch.columns[i] as Column, rows) })), // a column for each
    { field: { name: item, type: items.type, nullable: items.validity !== undefined }, column: () => items },
    ...parts.map((field, i) => ({ field: { ...field, name: partName(field.name) }, column: () => items.children?.[i] as Column })),
    {
      field: { name: index, type: { kind: 'i32' as const }, nullable: false },
      column: () => ({ ...INDEX, length: rows.length, values: indices }),
    },
  ].filter(({ field }) => read.has(field.name))
  const element: ElementType = { kind: 'row', fields: beside.map(({ field }) => field) }
  return computed(ir, rewritten, { element, length: rows.length, columns: beside.map(({ column }) => column()) }, context, names)
}

const INDEX = { type: { kind: 'i32' } } as const

function computed(ir: FunctionIr, value: Expr, batch: Batch, context: RowContext, names: readonly string[]): readonly Column[] {
  const { span } = value
  const whole: Expr = value.kind === 'ObjectLiteral' ? value : { kind: 'ObjectLiteral', fields: [{ name: VALUE, value }], span }
  return outputColumns({ ...ir, body: [{ kind: 'Return', value: whole, span }] }, batch, context, names, () => undefined)
}

/** A name that no column begins with. */
function unusedName(wanted: string, fields: readonly Field[]): string {
  return fields.some(({ name }) => name.startsWith(wanted)) ? unusedName(`${wanted}'`, fields) : wanted
}

function truthOf(expr: Expr): Expr {
  const not = (operand: Expr): Expr => ({ kind: 'Unary', operator: '!', operand, span: expr.span })
  return not(not(expr))
}

/** The places at which a column of truth values is true. */
function placesWhere(truths: Column | undefined): Int32Array {
  const values = truths?.values ?? new Uint8Array()
  const places = new Int32Array(values.length)
  let count = 0
  for (let i = 0; i < values.length; i++) if (values[i] === 1) places[count++] = i
  return places.subarray(0, count)
}

function taken(batch: Batch, rows: Int32Array): Batch {
  return { ...batch, length: rows.length, columns: batch.columns.map((column) => takeColumn(column, rows)) }
}
