/**
 * The sort keys of `sortBy([…])` and windows: several values, the most important first, each with an order of its own. They become one function that returns
 * them in an array, which sorts as any other does.
 *
 *     [{ by: (r) => r.shop }, { by: (r) => r.total, order: 'descending', nulls: 'first' }]
 *     (r) => [r.shop, r.total == null ? 0 : 1, r.total]       ascending, ascending, descending
 */
import { checkOneOf } from '../arguments.ts'
import type { ElementType } from '../data/schema.ts'
import { valueText } from '../data/valueKinds.ts'
import type { Lowering } from '../engine.ts'
import { PlanError } from '../errors.ts'
import { type Expr, type FunctionIr, type Stmt, type UserFunction, visitStmts } from '../ir/functionIr.ts'
import { fresh, renamedApart } from '../ir/irNames.ts'
import { withEnv } from '../ir/withEnv.ts'
import { checkOptions } from '../options.ts'
import type { Directions, LogicalPlan } from './logicalPlan.ts'
import { type Callback, checkOrdered, lowerFunction, sortNode, sortPlan } from './transformations.ts'

export interface SortByAny {
  readonly by: Callback
  readonly order?: 'ascending' | 'descending'
  readonly nulls?: 'first' | 'last'
  readonly env?: object
}

/** A lowered sort key. */
interface SortKeyOf {
  readonly f: UserFunction
  readonly returned: ElementType
  readonly descending: boolean
  readonly nullsFirst: boolean
}

/** Sorts by a function, or by a list of keys. A list of names is neither, and the function's check throws for it. */
export function sortByPlan(
  engine: Lowering,
  input: LogicalPlan,
  by: Callback | readonly (SortByAny | Callback)[],
  options: { readonly descending?: boolean; readonly env?: object },
): LogicalPlan {
  checkOrder(by, options, 'sortBy')
  const isNames = Array.isArray(by) && by.length > 0 && by.every((key) => typeof key === 'string')
  if (!Array.isArray(by) || isNames) return sortPlan(engine, input, by as Callback, options)
  checkOptions('sortBy() by a list', options, [])
  return sortListPlan(engine, input, by)
}

export function sortListPlan(engine: Lowering, input: LogicalPlan, keys: readonly (SortByAny | Callback)[]): LogicalPlan {
  const { f, descending } = orderByList(engine, input, keys, 'sortBy')
  return sortNode(input, f, descending)
}

/** The element type of a key that is a list of values of different types. */
export const LIST: ElementType = { kind: 'scalar', type: { kind: 'list', item: { kind: 'unknown' } }, nullable: false }

/** The method that a list of keys was given to. */
type Ordered = 'sortBy' | 'window'
const GIVEN = {
  sortBy: { what: 'sortBy()', list: 'sortBy([…])', as: (keys: string) => `sortBy(${keys})` },
  window: { what: 'The orderBy of window()', list: 'orderBy: […]', as: (keys: string) => `orderBy: ${keys}` },
} as const

/** Throws PlanError for an order that is given as `Array.prototype.sort` takes it, or as one value of a list without its list. */
export function checkOrder(by: unknown, { env }: { readonly env?: object }, method: Ordered): void {
  const { what, as } = GIVEN[method]
  if (typeof by === 'object' && by !== null && 'by' in by)
    throw new PlanError(
      `${what} takes a function, or a list of values with an order each; it was given one of such values without its list.\nWrite ${as("[{ by: (row) => row.price, order: 'descending' }]")}.`,
    )
  if (typeof by === 'function' && by.length > 1 && env === undefined)
    throw new PlanError(
      `${what} takes a function of one row, which returns what to sort by; it was given one of two, which compares rows.\n` +
        `Write ${as('(row) => row.price')}, or where larger ones come first ${as("[{ by: (row) => row.price, order: 'descending' }]")}.`,
    )
}

/** Joins a list of keys into one function, with a direction for each item of the array that it returns. */
export function orderByList(
  engine: Lowering,
  input: LogicalPlan,
  keys: readonly (SortByAny | Callback)[],
  method: Ordered,
): { readonly f: UserFunction; readonly returned: ElementType; readonly descending: Directions } {
  const { what, as } = GIVEN[method]
  if (keys.length === 0) throw new PlanError(`${what} needs at least one value to sort by, as in ${as('[{ by: (row) => row.id }]')}.`)
  const parts = keys.map((key) => checkedKey(engine, input, key, method))
  const [only, another] = parts
  if (only !== undefined && another === undefined && !only.nullsFirst) return only
  const descending = parts.flatMap((part) => (part.nullsFirst ? [false, part.descending] : [part.descending]))
  return { f: together(parts, method), returned: LIST, descending }
}

function checkedKey(engine: Lowering, input: LogicalPlan, key: SortByAny | Callback, method: Ordered): SortKeyOf {
  const { what, as } = GIVEN[method]
  const given = typeof key === 'function' ? { by: key } : key
  if (typeof given !== 'object' || given === null || typeof given.by !== 'function')
    throw new PlanError(
      `${what} takes a list of functions, or of { by, order, nulls }, as in ${as("[{ by: (row) => row.price, order: 'descending' }]")}; in it was ${valueText(key)}.`,
    )
  checkOptions(`A value of ${method}()`, given, ['by', 'order', 'nulls', 'env'])
  checkOrder(given.by, given, method)
  const { order = 'ascending', nulls = 'last' } = given
  checkOneOf(`The order of ${method}()`, order, ['ascending', 'descending'])
  checkOneOf(`The nulls of ${method}()`, nulls, ['first', 'last'])
  const { f, returned } = lowerFunction(engine, method, withEnv(method, given.by, given, 1), { inputs: [input.element], takes: '(row)' })
  checkOrdered(what, f, returned)
  if (returnsArray(f.ir) || (returned.kind === 'scalar' && returned.type.kind === 'list')) throw arrayInList(f, method)
  return { f, returned, descending: order === 'descending', nullsFirst: nulls === 'first' }
}

function arrayInList(f: UserFunction, method: Ordered): PlanError {
  return new PlanError(
    `A value of ${GIVEN[method].list} is one number, bigint, string, boolean or Date; this function returns an array: ${f.text}\n` +
      'Give the list a function for each value.',
    { span: f.span },
  )
}

function returnsArray(ir: FunctionIr | undefined): boolean {
  let any = false
  visitStmts(ir?.body ?? [], (stmt) => {
    if (stmt.kind === 'Return' && stmt.value?.kind === 'ArrayLiteral') any = true
  })
  return any
}

/** One function that returns the values of all keys in an array. */
function together(parts: readonly SortKeyOf[], method: Ordered): UserFunction {
  const [first] = parts
  const closures = parts.map(({ f }) => f.original as unknown as (row: unknown) => unknown) // each takes a row
  const original = (row: unknown): unknown =>
    parts.flatMap(({ f, nullsFirst }, k) => {
      const value = closures[k]?.(row)
      if (Array.isArray(value)) throw arrayInList(f, method)
      return nullsFirst ? [value === null || value === undefined ? 0 : 1, value] : [value]
    })
  const ir = irOf(parts)
  const refusals = parts.flatMap(({ f }) => (f.ir === undefined ? f.refusals : []))
  const text = `[${parts.map(({ f }) => f.text).join(', ')}]`
  const base = { original: original as unknown as UserFunction['original'], text, span: first?.f.span ?? NO_SPAN }
  if (ir !== undefined) return { ...base, ir, refusals: [] }
  // a joined closure cannot be copied to workers: where a key has no IR, all run on the caller's thread
  const [unportable] = refusals
  const shares = parts.some(({ f }) => f.sharesState === true) ? { sharesState: true } : {}
  return { ...base, refusals, ...(unportable === undefined ? {} : { unportable }), ...shares }
}

const NO_SPAN = { line: 1, column: 1, text: '' }

/** The IR of the joined function: the bodies one after another, then the array of their values; undefined where a body has no IR, or returns in several places. */
function irOf(parts: readonly SortKeyOf[]): FunctionIr | undefined {
  let all: FunctionIr | undefined
  const items: Expr[] = []
  for (const { f, nullsFirst } of parts) {
    if (f.ir === undefined) return undefined
    const apart = all === undefined ? { ir: f.ir, locals: new Set<string>() } : renamed(f.ir, all)
    const last = apart.ir.body.at(-1)
    if (last?.kind !== 'Return' || last.value === undefined) return undefined
    const before = apart.ir.body.slice(0, -1)
    if (before.some((stmt) => stmt.kind === 'Return')) return undefined
    const { stmts, value } = nullsFirst
      ? held(last.value, new Set([...apart.locals, ...localsOf(before)]))
      : { stmts: [], value: last.value }
    if (nullsFirst) items.push(isThere(value))
    items.push(value)
    all = {
      ...(all ?? apart.ir),
      body: [...(all?.body ?? []), ...before, ...stmts],
      parameters: [...(all?.parameters ?? []), ...apart.ir.parameters],
      tables: [...(all?.tables ?? []), ...apart.ir.tables],
      uses: [...(all?.uses ?? []), ...apart.ir.uses],
    }
  }
  if (all === undefined) return undefined
  const span = all.span
  return { ...all, body: [...all.body, { kind: 'Return', value: { kind: 'ArrayLiteral', items, span }, span }] }
}

function renamed(ir: FunctionIr, other: FunctionIr): { readonly ir: FunctionIr; readonly locals: Set<string> } {
  const { ir: apart, taken } = renamedApart(ir, other)
  return { ir: apart, locals: taken.locals }
}

function localsOf(stmts: readonly Stmt[]): readonly string[] {
  return stmts.flatMap((stmt) => (stmt.kind === 'Let' ? [stmt.local] : []))
}

/** A value that can be read twice: a column as it is, anything else through a local. */
function held(value: Expr, taken: Set<string>): { readonly stmts: readonly Stmt[]; readonly value: Expr } {
  const { span } = value
  if (value.kind === 'Field' && value.of.kind === 'Input') return { stmts: [], value }
  const local = fresh('key', taken)
  return { stmts: [{ kind: 'Let', local, init: value, span }], value: { kind: 'Local', name: local, span } }
}

/** The key that puts nulls first: 0 for null, 1 for any other value. */
function isThere(value: Expr): Expr {
  const { span } = value
  const literal = (one: number | null): Expr => ({ kind: 'Literal', value: one, span })
  const test: Expr = { kind: 'Binary', operator: '==', left: value, right: literal(null), span }
  // biome-ignore lint/suspicious/noThenProperty: the IR's own name for the branch
  return { kind: 'Conditional', test, then: literal(0), else: literal(1), span }
}
