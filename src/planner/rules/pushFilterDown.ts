/**
 * A filter moves below nodes that do not change its answer, towards the data.
 *
 *     Filter p                    Map f
 *       Map f         -->           Filter p of f
 *         X                           X
 *
 * So too below Project, WithColumns, Sort, Union, Repartition, to a side of a Join whose columns alone it reads, and below a
 * Window where it keeps whole partitions: it reads columns that `by` returns. Not
 * below Limit and Sample (they choose by position), Distinct (which of 0 and -0 is kept), Index and GroupBy.
 *
 * Sound when nobody notices on which rows the functions ran: the predicate is pure, the one it passes cannot fail, and
 * where the rows below are numbered otherwise neither reads the key and the predicate cannot fail.
 */

import { type ColumnType, fieldsOf } from '../../core/data/schema.ts'
import type { Expr, FunctionIr, UserFunction } from '../../core/ir/functionIr.ts'
import { columnsRead, readsKey } from '../../core/ir/functionUse.ts'
import { howRun, sharedColumns } from '../../core/plan/combinations.ts'
import { thinned } from '../../core/plan/elements.ts'
import type { LogicalPlan } from '../../core/plan/logicalPlan.ts'
import { functionsOf } from '../../core/plan/tree.ts'
import { COMPARISONS, cannotFail, isPure, runsUnnoticed } from '../lambdaFacts.ts'
import type { Rule } from '../rule.ts'
import { asStored, compose } from './compose.ts'
import { closureOf, composedFunction, renameColumns } from './irRewrite.ts'

type Node<K extends LogicalPlan['kind']> = Extract<LogicalPlan, { kind: K }>

export const pushFilterDown: Rule = {
  name: 'pushFilterDown',
  rewrite(plan: LogicalPlan): LogicalPlan | undefined {
    if (plan.kind !== 'Filter' || !isPure(plan.f)) return undefined
    const { input } = plan
    switch (input.kind) {
      case 'Map':
      case 'WithColumns':
        return belowMap(plan, input)
      case 'Project': {
        if (input.columns.length === 0) return undefined
        const filter = filterOver(input.input, plan.f)
        return { ...input, input: filter, keys: filter.keys }
      }
      case 'Sort':
        if (input.limit !== undefined || !cannotFail(input.by, [input.input.element]) || !isFree(plan)) return undefined
        return { ...input, input: filterOver(input.input, plan.f) }
      case 'Repartition': {
        // cut by a value, pieces are numbered by first appearance: fewer rows would order them otherwise
        if (input.by !== undefined || !isFree(plan)) return undefined
        const filter = filterOver(input.input, plan.f)
        return { ...input, input: filter, keys: filter.keys }
      }
      case 'Union':
        if (!isFree(plan)) return undefined
        return { ...input, inputs: input.inputs.map((one) => filterOver(one, plan.f)) }
      case 'Join':
        return isFree(plan) ? belowJoin(plan, input) : undefined
      case 'AsofJoin':
        return isFree(plan) ? belowAsof(plan, input) : undefined
      case 'Window':
        return isFree(plan) ? belowWindow(plan, input) : undefined
      default:
        return undefined
    }
  },
}

export function filterOver(input: LogicalPlan, f: UserFunction): LogicalPlan {
  return { kind: 'Filter', input, f, element: input.element, keys: thinned(input.keys) }
}

/** Whether the predicate gives the same answers whatever number a row has, and never throws. */
function isFree(plan: Node<'Filter'>): boolean {
  return !readsKey(plan.f) && cannotFail(plan.f, [plan.input.element])
}

/** Moves the filter below a map: for every row it computes the columns it reads again, and the map runs only on the rows left. */
function belowMap(plan: Node<'Filter'>, map: Node<'Map'> | Node<'WithColumns'>): LogicalPlan | undefined {
  const renumbers = map.keys.kind === 'rowNumber'
  if (!runsUnnoticed(map) || (renumbers && readsKey(map.f)) || !isPure(plan.f) || map.f.ir === undefined) return undefined
  const adds = map.kind === 'WithColumns'
  if (adds && map.element.kind !== 'row') return undefined
  const ir = compose({ first: map.f.ir, input: map.input.element, between: map.element, second: plan.f.ir, adds })
  if (ir === undefined) return undefined
  const f = composedFunction(ir, { text: textOver(plan.f, map), span: plan.f.span, original: closureOver(plan.f, map) })
  const filter = filterOver(map.input, f)
  return { ...map, input: filter, keys: filter.keys }
}

function textOver(f: UserFunction, map: Node<'Map'> | Node<'WithColumns'>): string {
  return readsOnlyPassed(f, map) ? f.text : `${f.text} of ${map.f.text}`
}

/** Whether a predicate reads no column that `withColumns` adds. */
function readsOnlyPassed(f: UserFunction, map: Node<'Map'> | Node<'WithColumns'>): boolean {
  if (map.kind !== 'WithColumns') return false
  const read = columnsRead(f)
  const last = map.f.ir?.body.at(-1)
  const given = last?.kind === 'Return' && last.value?.kind === 'ObjectLiteral' ? last.value.fields.map((field) => field.name) : undefined
  return read !== 'all' && given !== undefined && !given.some((name) => read.has(name))
}

function closureOver(f: UserFunction, map: Node<'Map'> | Node<'WithColumns'>): (value: unknown, key: unknown) => unknown {
  const outer = closureOf(f)
  const inner = closureOf(map.f)
  if (map.kind === 'Map') return (value, key) => outer(asStored(inner(value, key)), key)
  return (value, key) => outer({ ...(value as object), ...(asStored(inner(value, key)) as object) }, key) // withColumns takes and gives rows
}

/** Moves the filter to the left side: each left row is one of the result, so the dropped ones need no row of the right side. */
function belowAsof(plan: Node<'Filter'>, join: Node<'AsofJoin'>): LogicalPlan | undefined {
  const read = columnsRead(plan.f)
  const { left, right, on, by } = join
  if (read === 'all' || left.element.kind !== 'row' || right.element.kind !== 'row') return undefined
  const names = new Set(fieldsOf(left.element).map(({ name }) => name))
  const keys = [on, ...(by === undefined ? [] : [by])]
  if (!keys.every((key) => cannotFail(key.left, [left.element]) && cannotFail(key.right, [right.element]))) return undefined
  return [...read].every((name) => names.has(name)) ? { ...join, left: filterOver(left, plan.f) } : undefined
}

/** Moves the filter below a window, where it reads parts of the partition key alone: it then gives one answer for a whole partition. */
function belowWindow(plan: Node<'Filter'>, window: Node<'Window'>): LogicalPlan | undefined {
  const read = columnsRead(plan.f)
  if (read === 'all' || window.by === undefined || window.input.element.kind !== 'row') return undefined
  if (!functionsOf(window).every((f) => cannotFail(f, [window.input.element]))) return undefined
  const added = window.calls.map(({ name }) => name)
  const parts = keyColumns(window.by)
  if (![...read].every((name) => parts.has(name) && !added.includes(name))) return undefined
  // 0 and -0 are in one partition, as numbers and inside lists and objects
  const hasZeros = fieldsOf(window.input.element).some(({ name, type }) => read.has(name) && mayHoldZeros(type))
  if (hasZeros && !(isPure(plan.f) && onlyCompares(plan.f.ir))) return undefined
  const filter = filterOver(window.input, plan.f)
  return { ...window, input: filter, keys: filter.keys }
}

function mayHoldZeros({ kind }: ColumnType): boolean {
  return kind === 'f64' || kind === 'f32' || kind === 'list' || kind === 'struct' || kind === 'unknown'
}

/** Returns the columns that are parts of a key, unchanged. */
function keyColumns(by: UserFunction): ReadonlySet<string> {
  const [only, ...rest] = by.ir?.body ?? []
  if (rest.length > 0 || only?.kind !== 'Return' || only.value === undefined) return new Set()
  const parts = only.value.kind === 'ObjectLiteral' ? only.value.fields.map(({ value }) => value) : [only.value]
  return new Set(parts.flatMap((part) => (part.kind === 'Field' && part.of.kind === 'Input' ? part.name : [])))
}

/** Whether a function only compares what it reads, with constants or with each other: comparisons do not tell 0 from -0. */
function onlyCompares(ir: FunctionIr): boolean {
  const compares = (expr: Expr): boolean => {
    switch (expr.kind) {
      case 'Literal':
      case 'Parameter':
        return true
      case 'Field':
        return expr.of.kind === 'Input'
      case 'Logical':
        return compares(expr.left) && compares(expr.right)
      case 'Binary':
        return COMPARISONS.has(expr.operator) && compares(expr.left) && compares(expr.right)
      default:
        return false
    }
  }
  const [only, ...rest] = ir.body
  return rest.length === 0 && only?.kind === 'Return' && only.value !== undefined && compares(only.value)
}

/** Sides to which a predicate over their columns may go: those whose unmatched rows the join does not fill with nulls. */
export const SIDES: { readonly [H in Node<'Join'>['how']]: { readonly left: boolean; readonly right: boolean } } = {
  inner: { left: true, right: true },
  cross: { left: true, right: true },
  left: { left: true, right: false },
  right: { left: false, right: true },
  full: { left: false, right: false },
  semi: { left: true, right: false },
  anti: { left: true, right: false },
}

function belowJoin(plan: Node<'Filter'>, join: Node<'Join'>): LogicalPlan | undefined {
  const read = columnsRead(plan.f)
  if (read === 'all' || !keysCannotFail(join)) return undefined
  const left = fieldsOf(join.left.element).map((field) => field.name)
  if (SIDES[howRun(join)].left && join.left.element.kind === 'row' && [...read].every((name) => left.includes(name))) {
    return { ...join, left: filterOver(join.left, plan.f) }
  }
  const names = rightNames(join)
  if (!SIDES[howRun(join)].right || join.right.element.kind !== 'row' || ![...read].every((name) => names.has(name))) return undefined
  const f = isPure(plan.f) ? readRight(plan.f, names) : undefined
  return f === undefined ? undefined : { ...join, right: filterOver(join.right, f) }
}

export function keysCannotFail(join: Node<'Join'>): boolean {
  if (join.on.kind !== 'functions') return true
  return cannotFail(join.on.left, [join.left.element]) && cannotFail(join.on.right, [join.right.element])
}

/** Returns the columns of the joined row that are the right side's, with their names there. */
export function rightNames(join: Node<'Join'>): ReadonlyMap<string, string> {
  const left = fieldsOf(join.left.element).map((field) => field.name)
  const shared = sharedColumns(join.on)
  const names = fieldsOf(join.right.element).flatMap(({ name }) =>
    shared.includes(name) ? [] : [[left.includes(name) ? `${name}${join.suffix}` : name, name] as const],
  )
  return new Map(names)
}

/** A function of joined rows, as one of the right side's rows. */
export function readRight(
  f: UserFunction & { readonly ir: NonNullable<UserFunction['ir']> },
  names: ReadonlyMap<string, string>,
): UserFunction {
  if ([...names].every(([joined, own]) => joined === own)) return f
  const original = closureOf(f)
  const renamed = (row: unknown): unknown =>
    Object.fromEntries([...names].map(([joined, own]) => [joined, (row as Record<string, unknown>)[own]])) // rows of the right side
  return composedFunction(
    renameColumns(f.ir, (name) => names.get(name) ?? name),
    { text: f.text, span: f.span, original: (row, key) => original(renamed(row), key) },
  )
}
