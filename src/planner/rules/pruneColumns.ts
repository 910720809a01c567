/**
 * Columns that nobody reads are not read from the source, not carried, and not computed.
 *
 *     Map (r) => r.price                    Map (r) => r.price
 *       Filter (r) => r.stars > 3   -->       Filter (r) => r.stars > 3
 *         Scan [id, price, stars]               Scan [price, stars]
 *
 * A node that reads fewer columns than its input has asks for a narrower input; the demand goes down to the sources,
 * gathering what is read on the way. Sound because the IR names every column that a function reads; one that was
 * refused reads all.
 */

import { fieldsByName, positionsOf } from '../../core/data/fieldPositions.ts'
import { type ElementType, type Field, fieldsOf } from '../../core/data/schema.ts'
import type { Expr, FunctionIr, UserFunction } from '../../core/ir/functionIr.ts'
import { argumentReturned, columnsRead } from '../../core/ir/functionUse.ts'
import { asofElement } from '../../core/plan/asofPlan.ts'
import { joinElement, sharedColumns } from '../../core/plan/combinations.ts'
import { isKnown, plainElement } from '../../core/plan/elements.ts'
import type { ArraySource, LogicalPlan } from '../../core/plan/logicalPlan.ts'
import { functionsOfCall, inputsOf, withInputs } from '../../core/plan/logicalPlan.ts'
import { traitsOf } from '../../core/plan/nodeTraits.ts'
import { functionsOf, functionsOfElements } from '../../core/plan/tree.ts'
import { cannotFail, runsUnnoticed } from '../lambdaFacts.ts'
import type { Rule } from '../rule.ts'
import { closureOf, composedFunction } from './irRewrite.ts'

type Node<K extends LogicalPlan['kind']> = Extract<LogicalPlan, { kind: K }>
type Columns = ReadonlySet<string>

export const pruneColumns: Rule = {
  name: 'pruneColumns',
  rewrite(plan: LogicalPlan): LogicalPlan | undefined {
    switch (plan.kind) {
      case 'Project':
        return projectOfScan(plan) ?? withNarrower(plan, plan.input, new Set(plan.columns))
      case 'Map':
      case 'FlatMap':
        return withNarrower(plan, plan.input, columnsRead(plan.f))
      case 'GroupBy':
        return withNarrower(plan, plan.input, readByGroups(plan))
      case 'Join': {
        if (plan.how !== 'semi' && plan.how !== 'anti') return undefined
        const needed =
          plan.on.kind === 'functions' ? columnsRead(plan.on.right) : new Set(plan.on.kind === 'column' ? [plan.on.column] : [])
        const right = narrowTo(plan.right, needed)
        return right === plan.right ? undefined : { ...plan, right }
      }
      default:
        return undefined
    }
  },
}

function withNarrower(plan: LogicalPlan, input: LogicalPlan, needed: Columns | 'all'): LogicalPlan | undefined {
  if (needed === 'all') return undefined
  const narrower = narrow(input, needed)
  return narrower === input ? undefined : withInputs(plan, [narrower])
}

/** Lets the scan read the columns in the order of the projection. */
function projectOfScan(plan: Node<'Project'>): LogicalPlan | undefined {
  const { input } = plan
  if (input.kind !== 'Scan' || input.element.kind !== 'row' || plan.columns.length === 0) return undefined
  return { ...input, columns: plan.columns, element: plan.element }
}

function readByGroups({ by, how }: Node<'GroupBy'>): Columns | 'all' {
  const key = by.kind === 'function' ? columnsRead(by.f) : new Set<string>()
  if (how.kind === 'map') return how.f.ir === undefined && how.f.fields !== undefined ? union(key, new Set(how.f.fields)) : 'all'
  if (how.kind !== 'agg') return 'all'
  return how.aggregates.flatMap(functionsOfCall).reduce<Columns | 'all'>((all, f) => union(all, columnsRead(f)), key)
}

function union(a: Columns | 'all', b: Columns | 'all'): Columns | 'all' {
  return a === 'all' || b === 'all' ? 'all' : new Set([...a, ...b])
}

/** Returns the plan with fewer columns, the needed ones among them, in their order; the plan itself where it cannot have fewer. */
function narrow(plan: LogicalPlan, needed: Columns): LogicalPlan {
  if (plan.element.kind !== 'row' || plan.element.fields.every((field) => needed.has(field.name))) return plan
  switch (plan.kind) {
    case 'Scan':
      return narrowScan(plan, needed)
    case 'Project':
      return narrowProject(plan, needed)
    case 'Map':
      return narrowMap(plan, needed)
    case 'WithColumns':
      return narrowWithColumns(plan, needed)
    case 'Window':
      return narrowWindow(plan, needed)
    case 'Union':
      return narrowUnion(plan, needed)
    case 'Join':
      return narrowJoin(plan, needed)
    case 'AsofJoin':
      return narrowAsof(plan, needed)
    case 'Stored':
      return narrowStored(plan, needed)
    default: {
      const [input] = inputsOf(plan)
      if (input === undefined || traitsOf(plan).isNarrowed !== true || combinesRows(plan)) return plan
      return over(plan, input, functionsOfElements(plan).map(columnsRead).reduce<Columns | 'all'>(union, needed))
    }
  }
}

/** Whether a node has a function that makes one row of two, and so takes all columns. */
function combinesRows(plan: LogicalPlan): boolean {
  return plan.kind === 'Index' && plan.combine !== undefined && argumentReturned(plan.combine) === undefined
}

/** Narrows the input of a node whose element is its input's. */
function over(
  plan: LogicalPlan,
  input: LogicalPlan,
  needed: Columns | 'all',
  rebuilt: (input: LogicalPlan) => LogicalPlan = (narrower) => withInputs(plan, [narrower]),
): LogicalPlan {
  const narrower = narrowTo(input, needed)
  if (narrower === input) return plan
  return { ...rebuilt(narrower), element: plan.kind === 'Index' ? plainElement(narrower.element) : narrower.element }
}

function kept(element: ElementType, needed: Columns): readonly Field[] {
  return fieldsOf(element).filter((field) => needed.has(field.name))
}

function rowOf(fields: readonly Field[]): ElementType {
  return { kind: 'row', fields }
}

/** Narrows a scan. A source that does not say how many rows it has reads one column to know it: the cheapest. */
function narrowScan(plan: Node<'Scan'>, needed: Columns): LogicalPlan {
  const wanted = kept(plan.element, needed)
  const fields = wanted.length > 0 || saysRows(plan.source) ? wanted : cheapest(plan.element)
  if (fields.length === plan.columns.length) return plan
  return { ...plan, columns: fields.map((field) => field.name), element: rowOf(fields) }
}

/** Whether the files of a source say how many rows each piece has, before one is read. */
function saysRows({ kind, splits }: ArraySource): boolean {
  return (kind === 'ndjson' || kind === 'parquet' || kind === 'format') && splits.every(({ rows }) => rows !== undefined)
}

/** Narrows what is read of a stored table, which keeps its columns: filters and joins then do not copy the others. */
function narrowStored(plan: Node<'Stored'>, needed: Columns): LogicalPlan {
  if (plan.storage.kind !== 'table' || plan.element.kind !== 'row') return plan
  const wanted = kept(plan.element, needed)
  const fields = wanted.length > 0 ? wanted : cheapest(plan.element)
  if (fields.length === plan.element.fields.length) return plan
  return { ...plan, columns: fields.map((field) => field.name), element: rowOf(fields) }
}

const CHEAP: readonly string[] = [
  'bool',
  'i8',
  'u8',
  'i16',
  'u16',
  'i32',
  'u32',
  'f32',
  'date',
  'f64',
  'i64',
  'u64',
  'timestamp',
  'time',
  'utf8',
]

function cheapest(element: ElementType): readonly Field[] {
  const cost = (field: Field): number => (CHEAP.includes(field.type.kind) ? CHEAP.indexOf(field.type.kind) : CHEAP.length)
  return [...fieldsOf(element)].sort((a, b) => cost(a) - cost(b)).slice(0, 1)
}

function narrowProject(plan: Node<'Project'>, needed: Columns): LogicalPlan {
  const fields = kept(plan.element, needed)
  return { ...plan, columns: fields.map((field) => field.name), element: rowOf(fields) }
}

/** Narrows a map to fewer returned fields, at least one, where it returns one object literal and cannot fail. */
function narrowMap(plan: Node<'Map'>, needed: Columns): LogicalPlan {
  const wanted = kept(plan.element, needed)
  const fields = wanted.length > 0 ? wanted : fieldsOf(plan.element).slice(0, 1)
  const names = new Set(fields.map((field) => field.name))
  const f = runsUnnoticed(plan) ? withFewerFields(plan.f, names) : undefined
  return f === undefined ? plan : { ...plan, f, element: rowOf(fields) }
}

function narrowWithColumns(plan: Node<'WithColumns'>, needed: Columns): LogicalPlan {
  const given = namesGiven(plan.f)
  if (given === undefined) return plan
  const wanted = new Set(given.filter((name) => needed.has(name)))
  const free = runsUnnoticed(plan)
  if (wanted.size === 0 && free) return narrow(plan.input, needed)
  const f = free ? (withFewerFields(plan.f, needed) ?? plan.f) : plan.f
  const replaced = new Set(given)
  const own = new Set([...needed].filter((name) => !replaced.has(name)))
  const demand = union(own, columnsRead(f))
  const input = demand === 'all' ? plan.input : narrow(plan.input, demand)
  if (f === plan.f && input === plan.input) return plan
  const names = new Set([...fieldsOf(input.element).map((field) => field.name), ...(namesGiven(f) ?? given)])
  return { ...plan, f, input, element: rowOf(orderedLike(plan, input, names)) }
}

/** Orders the columns of `withColumns` or a window over a narrower input: the input's, with their new types, then the added ones. */
function orderedLike(plan: Node<'WithColumns' | 'Window'>, input: LogicalPlan, names: Columns): readonly Field[] {
  const fields = fieldsOf(plan.element).filter((field) => names.has(field.name))
  const own = fieldsOf(input.element)
  const byName = fieldsByName(fields)
  const replaced = own.flatMap((before) => byName.get(before.name) ?? [])
  const before = positionsOf(own)
  return [...replaced, ...fields.filter((field) => !before.has(field.name))]
}

/** Drops calls whose column nobody reads, and the window with the last of them. */
function narrowWindow(plan: Node<'Window'>, needed: Columns): LogicalPlan {
  const free = isKnown(plan.element) && functionsOf(plan).every((f) => cannotFail(f, [plan.input.element]))
  const calls = free ? plan.calls.filter(({ name }) => needed.has(name)) : plan.calls
  if (calls.length === 0) return narrow(plan.input, needed)
  const added = new Set(plan.calls.map(({ name }) => name))
  const kept = { ...plan, calls }
  const read = functionsOf(kept).reduce<Columns | 'all'>((all, f) => union(all, columnsRead(f)), new Set())
  const input = narrowTo(plan.input, union(new Set([...needed].filter((name) => !added.has(name))), read))
  if (input === plan.input && calls.length === plan.calls.length) return plan
  const names = new Set([...fieldsOf(input.element).map((field) => field.name), ...calls.map(({ name }) => name)])
  return { ...kept, input, element: rowOf(orderedLike(plan, input, names)) }
}

function namesGiven(f: UserFunction): readonly string[] | undefined {
  const value = returnedObject(f.ir)
  return value?.fields.map((field) => field.name)
}

/** Returns the object literal at the end of a body that returns nothing else; undefined for any other body. */
function returnedObject(ir: FunctionIr | undefined): Extract<Expr, { kind: 'ObjectLiteral' }> | undefined {
  const last = ir?.body.at(-1)
  if (ir === undefined || last?.kind !== 'Return' || last.value?.kind !== 'ObjectLiteral') return undefined
  return ir.body.slice(0, -1).every((stmt) => stmt.kind === 'Let' || stmt.kind === 'Assign') ? last.value : undefined
}

function withFewerFields(f: UserFunction, needed: Columns): UserFunction | undefined {
  const value = returnedObject(f.ir)
  const last = f.ir?.body.at(-1)
  if (f.ir === undefined || value === undefined || last?.kind !== 'Return') return undefined
  const fields = value.fields.filter((field) => needed.has(field.name))
  if (fields.length === value.fields.length) return undefined
  const ir: FunctionIr = { ...f.ir, body: [...f.ir.body.slice(0, -1), { ...last, value: { ...value, fields } }] }
  const original = closureOf(f)
  const pick = (row: unknown): unknown => Object.fromEntries(Object.entries(row as object).filter(([name]) => needed.has(name))) // it returns an object literal
  return composedFunction(ir, {
    text: `${f.text} [${fields.map((field) => field.name).join(', ')}]`,
    span: f.span,
    original: (row, key) => pick(original(row, key)),
  })
}

/** Narrows a union: every input gets exactly the same columns in the same order. */
function narrowUnion(plan: Node<'Union'>, needed: Columns): LogicalPlan {
  const fields = kept(plan.element, needed)
  const columns = fields.map((field) => field.name)
  const inputs = plan.inputs.map((input): LogicalPlan => {
    const narrower = narrow(input, needed)
    const own = fieldsOf(narrower.element)
    if (own.map((field) => field.name).join('\0') === columns.join('\0')) return narrower
    const picked = columns.flatMap((name) => own.filter((field) => field.name === name))
    return { kind: 'Project', input: narrower, columns, element: rowOf(picked), keys: narrower.keys }
  })
  return { ...plan, inputs, element: rowOf(fields) }
}

/**
 * Narrows the sides of a join to their own columns and those of the key. A left column whose name gives a right one its suffix stays as
 * long as the right one does.
 */
function narrowJoin(plan: Node<'Join'>, needed: Columns): LogicalPlan {
  const { on } = plan
  const key = new Set(sharedColumns(on))
  const [leftKey, rightKey] = on.kind === 'functions' ? [columnsRead(on.left), columnsRead(on.right)] : [key, key]
  if (plan.how === 'semi' || plan.how === 'anti') return over(plan, plan.left, union(needed, leftKey), (left) => ({ ...plan, left }))
  const { left, right } = sidesWith(plan, needed, { leftKey, rightKey, key })
  if (left === plan.left && right === plan.right) return plan
  return { ...plan, left, right, element: joinElement(left, right, plan) }
}

function narrowAsof(plan: Node<'AsofJoin'>, needed: Columns): LogicalPlan {
  const read = (side: 'left' | 'right'): Columns | 'all' =>
    plan.by === undefined ? columnsRead(plan.on[side]) : union(columnsRead(plan.on[side]), columnsRead(plan.by[side]))
  const { left, right } = sidesWith(plan, needed, { leftKey: read('left'), rightKey: read('right'), key: new Set(plan.shared) })
  if (left === plan.left && right === plan.right) return plan
  return { ...plan, left, right, element: asofElement({ ...plan, left, right }) }
}

interface KeyColumns {
  readonly leftKey: Columns | 'all'
  readonly rightKey: Columns | 'all'
  /** Key columns that are in the result once. */
  readonly key: Columns
}

/** Narrows both sides to the columns that the result needs, and those of their keys. */
function sidesWith(
  plan: Node<'Join' | 'AsofJoin'>,
  needed: Columns,
  { leftKey, rightKey, key }: KeyColumns,
): { readonly left: LogicalPlan; readonly right: LogicalPlan } {
  const leftNames = new Set(fieldsOf(plan.left.element).map((field) => field.name))
  const joinedName = (name: string): string => (leftNames.has(name) ? `${name}${plan.suffix}` : name)
  const others = fieldsOf(plan.right.element).filter((field) => !key.has(field.name))
  const fromRight = others.filter((field) => needed.has(joinedName(field.name))).map((field) => field.name)
  const right = narrowTo(plan.right, union(new Set(fromRight), rightKey))
  const shadowing = fieldsOf(right.element).filter((field) => leftNames.has(field.name) && !key.has(field.name))
  const fromLeft = [...needed].filter((name) => leftNames.has(name))
  const left = narrowTo(plan.left, union(new Set([...fromLeft, ...shadowing.map((field) => field.name)]), leftKey))
  return { left, right }
}

function narrowTo(plan: LogicalPlan, needed: Columns | 'all'): LogicalPlan {
  return needed === 'all' ? plan : narrow(plan, needed)
}
