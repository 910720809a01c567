/**
 * Fields of structs as columns: where steps read a field of a struct column, the field's own values are a column like any other, which
 * kernels read without making an object of the struct.
 *
 *     EvaluateExec r => r.geo.cc    geo { cc, lat }   -->   EvaluateExec r => r['geo.cc']    geo { cc, lat }   geo.cc
 *
 * The name of such a column is one that no column of the user's has.
 *
 * Where a struct may be null, `r.geo?.cc` is undefined for those rows, which the field's column has as null. It is read as that where
 * there is no difference: where the value is stored, asked by `??`, `!` or `== null`, or compared with what is neither. Where the program
 * has asked before whether the struct is null, the field's column has what is read (`knownStructs.ts`).
 *
 * Statement: the rewritten steps over the table with the fields' columns have the same results as the steps before.
 */
import type { Column } from '../../../core/data/column.ts'
import { type ElementType, type Field, fieldsOf } from '../../../core/data/schema.ts'
import { childrenOf, type Expr, expressionsOf, type FunctionIr, type Stmt, visitStmts } from '../../../core/ir/functionIr.ts'
import { rowIrOf } from '../../../core/ir/functionUse.ts'
import { constantLets, usesLocal } from '../../../core/ir/irFacts.ts'
import { rewriteStmts, UNCHANGED } from '../../../core/ir/irRewrite.ts'
import type { ExecFunction, Step } from '../../../planner/physical/physicalPlan.ts'
import { structFieldName } from '../../kernels/columns/columnLower.ts'
import { type Known, knownBehind, NONE_KNOWN, type PathOf, pathText, withKnown } from './knownStructs.ts'
import { withRowFunctions } from './stepFunctions.ts'

/** The values of a field, and whether they are absent where the struct is null. */
interface FieldValues {
  readonly column: Column
  readonly isOptional: boolean
}

interface Table {
  readonly element: ElementType
  readonly columns: readonly Column[]
}

/** A function that finds the fields of structs of a table, and notes them in `found`. */
function finding({ element, columns }: Table, found: Map<string, FieldValues>): ValuesAt {
  return (path, isOptional, known = NONE_KNOWN) => {
    const name = structFieldName(path)
    const values = valuesOn(path, { fields: fieldsOf(element), columns, isKnown: (depth) => known.has(pathText(path.slice(0, depth))) })
    if (values === undefined || (values.isOptional && !isOptional)) return undefined
    found.set(name, values)
    return { name, isOptional: values.isOptional }
  }
}

function withFound<T extends Table>(table: T, found: ReadonlyMap<string, FieldValues>): T {
  const fields = [...found].map(([name, { column }]): Field => ({ name, type: column.type, nullable: column.validity !== undefined }))
  const columns = [...table.columns, ...[...found.values()].map(({ column }) => column)]
  return { ...table, element: { kind: 'row', fields: [...fieldsOf(table.element), ...fields] }, columns }
}

/** The function over the table with further columns for the fields of structs that it reads; undefined where there are none, or it reads rows as such. */
export function functionOverFields<T extends Table>(ir: FunctionIr, table: T): { readonly table: T; readonly ir: FunctionIr } | undefined {
  if (!fieldsOf(table.element).some(({ type }) => type.kind === 'struct') || pathsOf(ir) === undefined) return undefined
  const found = new Map<string, FieldValues>()
  const own = withoutStructs(ir, finding(table, found))
  return found.size === 0 ? undefined : { table: withFound(table, found), ir: own }
}

/** The steps with other functions of single rows, as far as elements are rows of the source; `change` is told what filters before have found to be there. */
export function withSourceFunctions(steps: readonly Step[], change: (f: ExecFunction, known: Known) => ExecFunction): readonly Step[] {
  const rewritten: Step[] = []
  let known = NONE_KNOWN
  for (const [i, step] of steps.entries()) {
    const before = known
    const own = withRowFunctions(step, (f) => change(f, before))
    const ir = step.kind === 'FilterExec' ? rowIrOf(step.f) : undefined
    if (ir !== undefined) known = knownBehind(ir, pathsIn(ir), known)
    rewritten.push(own ?? step)
    // behind this step elements are no rows of the source
    if (own === undefined || step.kind !== 'FilterExec') return [...rewritten, ...steps.slice(i + 1)]
  }
  return rewritten
}

/** The table with the fields of structs that its steps read as further columns; undefined where they read none, or none that are columns. */
export function withStructFields<T extends Table>(
  table: T,
  steps: readonly Step[],
): { readonly table: T; readonly steps: readonly Step[] } | undefined {
  if (!fieldsOf(table.element).some(({ type }) => type.kind === 'struct')) return undefined
  const found = new Map<string, FieldValues>()
  const valuesAt = finding(table, found)
  const changed = (f: ExecFunction, known: Known): ExecFunction => {
    const ir = rowIrOf(f)
    const own = ir && withoutStructs(ir, valuesAt, known)
    return own === undefined || own === ir ? f : { ...f, ir: own }
  }
  const rewritten = withSourceFunctions(steps, changed)
  return found.size === 0 ? undefined : { table: withFound(table, found), steps: rewritten }
}

/** The name of the column of the field at the end of a path, and whether it is absent where the struct is null; undefined where no column has what is read. */
type ValuesAt = (
  path: readonly string[],
  isOptional: boolean,
  known?: Known,
) => { readonly name: string; readonly isOptional: boolean } | undefined

/** The function with each read of a struct's field replaced by one of the field's column. */
function withoutStructs(ir: FunctionIr, valuesAt: ValuesAt, known: Known = NONE_KNOWN): FunctionIr {
  const pathOf = pathsIn(ir)
  let isChanged = false
  const ofKnown = (expr: Expr, here: Known): Expr | undefined => {
    const path = here.size > 0 && expr.kind === 'Field' ? pathOf(expr) : undefined
    const values = path && valuesAt(path, false, here)
    if (values === undefined) return undefined
    isChanged = true
    return { kind: 'Field', of: { kind: 'Input', argument: 0, span: expr.span }, name: values.name, optional: false, span: expr.span }
  }
  /** The fields of structs that may be null, by the expressions that are undefined where the struct is. */
  const optional = new WeakMap<Expr, Expr>()
  const orNull = (expr: Expr): Expr => {
    const field = optional.get(expr)
    isChanged ||= field !== undefined
    return field ?? expr
  }
  const isValue = (expr: Expr): boolean => {
    const value = expr.kind === 'Literal' ? expr : ir.parameters.find((one) => expr.kind === 'Parameter' && one.name === expr.name)
    return value !== undefined && value.value !== null && value.value !== undefined
  }
  const replaced = (expr: Expr): Expr => {
    if (expr.kind === 'Binary') {
      const { operator, left, right } = expr
      const isAlike = operator === '==' || operator === '!='
      const isEquality = isAlike || operator === '===' || operator === '!=='
      if (!isEquality) return expr
      return { ...expr, left: isAlike || isValue(right) ? orNull(left) : left, right: isAlike || isValue(left) ? orNull(right) : right }
    }
    if (expr.kind === 'Logical' && expr.operator === '??') return { ...expr, left: orNull(expr.left) }
    if (expr.kind === 'Unary' && expr.operator === '!') return { ...expr, operand: orNull(expr.operand) }
    if (expr.kind !== 'Field' || expr.of.kind === 'Input') return expr
    const path = pathOf(expr)
    const values = path && valuesAt(path, expr.optional)
    if (values === undefined) return expr
    const { span } = expr
    const field: Expr = { kind: 'Field', of: { kind: 'Input', argument: 0, span }, name: values.name, optional: false, span }
    if (values.isOptional) optional.set(expr, field)
    else isChanged = true
    return values.isOptional ? expr : field
  }
  const stored = (expr: Expr): Expr =>
    expr.kind === 'ObjectLiteral'
      ? { ...expr, fields: expr.fields.map(({ name, value }) => ({ name, value: orNull(value) })) }
      : orNull(expr)
  const body = rewriteStmts(withKnown(ir.body, known, pathOf, ofKnown), { ...UNCHANGED, expr: replaced }).map(
    (stmt): Stmt => (stmt.kind === 'Return' && stmt.value !== undefined ? { ...stmt, value: stored(stmt.value) } : stmt),
  )
  return isChanged ? withoutUnreadStructs({ ...ir, body }, (expr) => pathOf(expr) !== undefined) : ir
}

/** A function that returns the names that lead from the row to the value of an expression, undefined for any other expression. */
export function pathsIn(ir: FunctionIr): PathOf {
  const lets = constantLets(ir)
  const pathOf: PathOf = (expr) => {
    if (expr.kind === 'Local') {
      const init = lets.get(expr.name)
      return init && pathOf(init)
    }
    if (expr.kind !== 'Field') return undefined
    if (expr.of.kind === 'Input') return expr.of.argument === 0 ? [expr.name] : undefined
    const of = pathOf(expr.of)
    return of && [...of, expr.name]
  }
  return pathOf
}

/** The function without locals that hold a struct and are read no more, as `geo` of `const { geo } = r`. */
function withoutUnreadStructs(ir: FunctionIr, isOfStruct: (expr: Expr) => boolean): FunctionIr {
  const isUnread = (stmt: Stmt): boolean =>
    stmt.kind === 'Let' && stmt.init !== undefined && isOfStruct(stmt.init) && !usesLocal(ir.body, stmt.local)
  return { ...ir, body: ir.body.filter((stmt) => !isUnread(stmt)) }
}

interface Structs {
  readonly fields: readonly Field[]
  readonly columns: readonly Column[]
  /** Whether the value at so many names of the path is known not to be null. */
  isKnown(depth: number): boolean
  /** Where the struct around them is null, though it is known not to be where they are read. */
  readonly around?: Uint8Array | undefined
}

/**
 * The values of the field at the end of a path through structs. Of those only the last may be null where none is known not to be: there
 * the field is null, too. A struct that is null only where the one around it is, as files have it, is known with that.
 */
function valuesOn(path: readonly string[], { fields, columns, isKnown, around }: Structs, depth = 1): FieldValues | undefined {
  const column = columns[fields.findIndex((one) => one.name === path[depth - 1])]
  if (column === undefined || column.type.kind !== 'struct') return undefined
  const { type, validity, children = [], length } = column
  const isThere = validity === undefined || isKnown(depth) || (around !== undefined && isWithin(around, validity, length))
  if (depth + 1 < path.length)
    return isThere ? valuesOn(path, { fields: type.fields, columns: children, isKnown, around: validity }, depth + 1) : undefined
  const values = children[type.fields.findIndex((one) => one.name === path[depth])]
  if (values === undefined || values.type.kind === 'struct') return undefined
  if (isThere) return { column: values, isOptional: false }
  return values.validity !== undefined && isWithin(values.validity, validity, length) ? { column: values, isOptional: true } : undefined
}

/** The columns with the types of what steps read of them: structs with some of their fields alone; undefined where no column is such. */
export function fieldsNarrowed(fields: readonly Field[], steps: readonly Step[]): readonly Field[] | undefined {
  if (!fields.some(({ type }) => type.kind === 'struct')) return undefined
  const paths = pathsRead(steps)
  if (paths === undefined) return undefined
  const narrowed = fields.map((field) =>
    narrowedField(
      field,
      paths.flatMap(([name, ...path]) => (name === field.name ? [path] : [])),
    ),
  )
  return narrowed.some((field, i) => field !== fields[i]) ? narrowed : undefined
}

function narrowedField(field: Field, paths: readonly (readonly string[])[]): Field {
  const { type } = field
  if (type.kind !== 'struct' || paths.length === 0 || paths.some((path) => path.length === 0)) return field
  const inside = type.fields.flatMap((inner) => {
    const own = paths.flatMap(([name, ...path]) => (name === inner.name ? [path] : []))
    return own.length === 0 ? [] : [narrowedField(inner, own)]
  })
  const isSame = inside.length === type.fields.length && inside.every((inner, i) => inner === type.fields[i])
  return isSame || inside.length === 0 ? field : { ...field, type: { kind: 'struct', fields: inside } }
}

/** The paths that steps read of the source's rows; undefined where they may read all of a row, or hand it on. */
function pathsRead(steps: readonly Step[]): readonly (readonly string[])[] | undefined {
  const paths: (readonly string[])[] = []
  for (const step of steps) {
    let isWhole = false
    withRowFunctions(step, (f) => {
      const ir = rowIrOf(f)
      const own = ir && pathsOf(ir)
      isWhole ||= own === undefined
      paths.push(...(own ?? []))
      return f
    })
    if (isWhole) return undefined
    if (step.kind === 'FilterExec') continue
    if (step.kind === 'MapExec') return paths
    if (step.kind !== 'EvaluateExec' || step.axis !== undefined || step.payload === true) return undefined
    return step.payload === false ? paths : [...paths, ...step.payload.map((name) => [name])]
  }
  return undefined
}

/** The paths that a function reads of its row; undefined where it may read the row as a whole. */
function pathsOf(ir: FunctionIr): readonly (readonly string[])[] | undefined {
  const pathOf = pathsIn(ir)
  const paths: (readonly string[])[] = []
  let isWhole = false
  const visit = (expr: Expr): void => {
    const path = pathOf(expr)
    if (path !== undefined) paths.push(path)
    else if (expr.kind === 'Input') isWhole = true
    else childrenOf(expr).forEach(visit)
  }
  visitStmts(ir.body, (stmt) => {
    // a local that holds what a path leads to is read where it is used
    if (stmt.kind === 'Let' && stmt.init !== undefined && pathOf({ kind: 'Local', name: stmt.local, span: stmt.span }) !== undefined) return
    expressionsOf(stmt).forEach(visit)
    if (stmt.kind === 'For' && stmt.counted !== undefined) [stmt.counted.from, stmt.counted.to].forEach(visit)
  })
  return isWhole ? undefined : paths
}

/** Whether all bits of `some` are among those of `all`. */
function isWithin(some: Uint8Array, all: Uint8Array, length: number): boolean {
  for (let byte = 0; byte < length >> 3; byte++) if (((some[byte] as number) & ~(all[byte] as number)) !== 0) return false
  const last = (1 << (length & 7)) - 1
  return ((some[length >> 3] ?? 0) & ~(all[length >> 3] ?? 0) & last) === 0
}
