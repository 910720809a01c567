/**
 * Functions of one text or date: expressions that depend on a single column of text or dates and on nothing else of the row, or that give a
 * text from several columns. Where the columns have few different values, they are computed once for each of them, by JavaScript, and are
 * columns like any other from then on:
 *
 *     FilterExec r => r.city.trim().length > 3 && r.n > 2
 *
 *     t0 = city.trim().length > 3        for each text of city
 *     FilterExec r => r.t0 && r.n > 2    over columns
 *
 * Statement: where no function of a text throws, the rewritten steps over the table with the functions' columns have the same results as
 * the steps before.
 */

import { type ColumnType, type ElementType, fieldsOf } from '../../../../core/data/schema.ts'
import type { Expr, FunctionIr, Stmt } from '../../../../core/ir/functionIr.ts'
import { expressionsOf, visitExpr, visitStmts } from '../../../../core/ir/functionIr.ts'
import { rowIrOf } from '../../../../core/ir/functionUse.ts'
import { constantLets, exprId, someExpr } from '../../../../core/ir/irFacts.ts'
import { rewriteExpr, rewriteStmts, UNCHANGED, withOperands } from '../../../../core/ir/irRewrite.ts'
import { inferTypes, isNumberType, type TypeOf } from '../../../../core/ir/irTypes.ts'
import { localsOf } from '../../../../core/ir/listQuestions.ts'
import { endlessLoop } from '../../../../core/ir/mayNotEnd.ts'
import type { ExecFunction, Step } from '../../../../planner/physical/physicalPlan.ts'
import { isTextFunction, missingTextFunctionName, textFunctionName } from '../../../kernels/columns/columnLower.ts'
import { withRowFunctions } from '../stepFunctions.ts'
import { instantsIn, spanSource, spansOfDays } from './dateValues.ts'
import { type FoundText, foundSource, type Source } from './foundTexts.ts'
import { severalColumns } from './severalColumns.ts'

/**
 * A function of the texts or dates of a column, or of texts that are found by a column's numbers; a text or Date is its only argument. One of
 * several columns has an object with their values.
 */
export interface TextFunction {
  /** The name of the column for its results, which no column of the user's has. */
  readonly name: string
  readonly column: string
  /** The lookup that finds the text for a number of the column; absent where the column has texts. */
  readonly found?: FoundText
  readonly spanMs?: number
  /** The names of all columns, where it is of several, or of numbers; `column` is the first of them. */
  readonly several?: readonly string[]
  readonly ir: FunctionIr
  /** Whether undefined may become null in its results, since they are only stored, or tested as they are. */
  readonly isStored: boolean
  /** Whether nothing reads its results: it is only called, since it may throw. */
  readonly isUnread?: true
  /** Tests of the same text by filters before it: where one is false, the row is dropped, whatever the function would return or throw. */
  readonly guards: readonly FunctionIr[]
}

export interface TextFunctions {
  readonly functions: readonly TextFunction[]
  /** The steps, which read the functions' results from their columns. */
  readonly steps: readonly Step[]
}

/** The functions of a text in steps over rows of `element`; undefined where there are none. */
export function textFunctionsOf(element: ElementType, steps: readonly Step[]): TextFunctions | undefined {
  if (element.kind !== 'row') return undefined
  const spans = spansOfDays(element)
  const texts = new Set([...textsIn(element), ...spans.keys()])
  const instants = instantsIn(element)
  const numbers = new Set(element.fields.flatMap(({ name, type }) => (isNumberType(type) ? [name] : [])))
  const functions: TextFunction[] = []
  const without: Step[] = []
  const guards: Guard[] = []
  let names = 0
  const newName = (isMissing = false): string => (isMissing ? missingTextFunctionName : textFunctionName)(names++)
  for (const [i, step] of steps.entries()) {
    const rewritten = withRowFunctions(step, (f) => {
      const found = new Extraction(f, { element, texts, spans, instants, numbers, newName, isStored: step.kind !== 'EvaluateExec' })
      const guardsOf = ({ column, several }: Unguarded): readonly FunctionIr[] =>
        several === undefined ? guards.flatMap((guard) => (guard.column === column ? [guard.ir] : [])) : []
      functions.push(...found.functions.map((one) => ({ ...one, guards: guardsOf(one) })))
      return found.f
    })
    if (step.kind === 'FilterExec') guards.push(...guardsOf(step.f, texts))
    without.push(rewritten ?? step)
    // behind this step elements are no rows of the source
    if (rewritten === undefined || step.kind !== 'FilterExec') {
      without.push(...steps.slice(i + 1))
      break
    }
  }
  return functions.length === 0 ? undefined : { functions, steps: without }
}

/** A test that a filter makes of one text alone. */
export interface Guard {
  readonly column: string
  readonly ir: FunctionIr
}

function guardsOf(f: ExecFunction, texts: ReadonlySet<string>): readonly Guard[] {
  return asked(f, texts).flatMap((one) => one ?? [])
}

/** The tests of a filter, all of which have to be true, where each is of one text alone; else undefined. */
export function textQuestions(f: ExecFunction, element: ElementType): readonly Guard[] | undefined {
  const all = asked(f, textsIn(element))
  return all.length > 0 && all.every((one) => one !== undefined) ? all : undefined
}

/** The conjuncts of a filter; undefined for one that is not of one text alone. */
function asked(f: ExecFunction, texts: ReadonlySet<string>): readonly (Guard | undefined)[] {
  const ir = rowIrOf(f)
  const [only, ...others] = ir?.body ?? []
  if (ir === undefined || only?.kind !== 'Return' || only.value === undefined || others.length > 0) return []
  return conjuncts(only.value).map((expr) => {
    const column = columnOf([expr], texts, { locals: false })
    return column === undefined ? undefined : { column, ir: ofText(ir, [{ kind: 'Return', value: expr, span: expr.span }]) }
  })
}

function textsIn(element: ElementType): ReadonlySet<string> {
  return new Set(fieldsOf(element).flatMap(({ name, type }) => (type.kind === 'utf8' ? [name] : [])))
}

function conjuncts(expr: Expr): readonly Expr[] {
  return expr.kind === 'Logical' && expr.operator === '&&' ? [...conjuncts(expr.left), ...conjuncts(expr.right)] : [expr]
}

interface ExtractionOptions {
  readonly element: ElementType
  /** The columns of texts and of days. */
  readonly texts: ReadonlySet<string>
  readonly spans: ReadonlyMap<string, number>
  readonly instants: ReadonlySet<string>
  readonly numbers: ReadonlySet<string>
  readonly newName: (isMissing?: boolean) => string
  readonly isStored: boolean
}

type Unguarded = Omit<TextFunction, 'guards'>

/** Extracts the functions of a text from one row lambda. */
class Extraction {
  readonly f: ExecFunction
  readonly functions: readonly Unguarded[]
  private readonly element: ElementType
  private readonly texts: ReadonlySet<string>
  private readonly spans: ReadonlyMap<string, number>
  private readonly instants: ReadonlySet<string>
  private readonly numbers: ReadonlySet<string>
  private readonly newName: (isMissing?: boolean) => string
  private types: TypeOf | undefined
  /** The original expression of each read of a function's column. */
  private readonly origins = new WeakMap<Expr, Expr>()
  private readonly found = new Map<string, { readonly name: string; readonly expr: Expr } & Source>()

  constructor(f: ExecFunction, { element, texts, spans, instants, numbers, newName, isStored }: ExtractionOptions) {
    this.element = element
    this.texts = texts
    this.spans = spans
    this.instants = instants
    this.numbers = numbers
    this.newName = newName
    const ir = rowIrOf(f)
    this.f = f
    this.functions = []
    if (ir === undefined) return
    const whole = this.wholeFunction(ir)
    if (whole !== undefined) {
      const name = newName()
      this.functions = [{ name, ...this.ofColumn(whole), isStored, ir: ofText(ir, ir.body) }]
      this.f = { ...f, ir: { ...ir, body: [{ kind: 'Return', value: columnExpr(name, ir.body[0] ?? ir), span: ir.span }] } }
      return
    }
    const constants = constantLets(ir)
    const replaced = (expr: Expr): Expr => this.replaced(expr, constants, ir)
    const { body, unread } = withoutUnread(rewriteStmts(ir.body, { ...UNCHANGED, expr: replaced }))
    const used = usesOf(body)
    this.functions = [...this.found.values()].flatMap(({ name, expr, ...source }) => {
      const use = used.get(name)
      const isUnread = use === undefined && unread.has(name)
      const returned: Stmt = { kind: 'Return', value: expr, span: expr.span }
      return use === undefined && !isUnread
        ? []
        : [
            {
              name,
              ...source,
              isStored: isUnread || (isStored && use === 'stored'),
              ...(isUnread ? { isUnread } : {}),
              ir: source.several === undefined ? ofText(ir, [returned], source.found) : { ...ir, body: [returned] },
            },
          ]
    })
    if (this.functions.length > 0) this.f = { ...f, ir: { ...ir, body } }
  }

  /** The column of text that the whole function depends on, where that has several statements; else undefined. */
  private wholeFunction(ir: FunctionIr): string | undefined {
    const exprs: Expr[] = []
    let isOther = ir.body.length < 2 || endlessLoop(ir) !== undefined
    visitStmts(ir.body, (stmt) => {
      exprs.push(...expressionsOf(stmt))
      if (stmt.kind === 'For' && stmt.counted !== undefined) exprs.push(stmt.counted.from, stmt.counted.to)
      if (stmt.kind === 'Write' || stmt.kind === 'Add' || stmt.kind === 'Accumulate') isOther = true
    })
    return isOther ? undefined : columnOf(exprs, this.texts, { locals: true })
  }

  /** The expression, or a read of the column of the function of a text that it is. Its operands were replaced before. */
  private replaced(expr: Expr, constants: ReadonlyMap<string, Expr>, ir: FunctionIr): Expr {
    const init = expr.kind === 'Local' ? constants.get(expr.name) : undefined
    if (init !== undefined) {
      const value = rewriteExpr(init, { ...UNCHANGED, expr: (one) => this.replaced(one, constants, ir) })
      return this.sourceOf(this.originOf(value), ir) === undefined ? expr : value
    }
    const origin = this.originOf(expr)
    const source = this.sourceOf(origin, ir)
    if (source === undefined || !someExpr(origin, isWork)) return expr
    const id = exprId(origin)
    let known = this.found.get(id)
    if (known === undefined) this.found.set(id, (known = { name: this.newName(isUndefinedAtMost(origin, ir)), ...source, expr: origin }))
    const field = columnExpr(known.name, expr)
    this.origins.set(field, origin)
    return field
  }

  /** The source of the one text or date that the expression depends on; undefined where it depends on more, or on none. */
  private sourceOf(expr: Expr, ir: FunctionIr): Source | undefined {
    const column = columnOf([expr], this.texts, { locals: false })
    if (column !== undefined) return this.ofColumn(column)
    return foundSource(expr, ir, this.numbers) ?? spanSource(expr, this.instants) ?? this.severalSource(expr, ir)
  }

  private severalSource(expr: Expr, ir: FunctionIr): Source | undefined {
    const typeOf: TypeOf = (one) => (this.types ??= typesIn(ir, this.element))(one)
    const read = columnsIn([expr], { locals: false })
    const several = read && severalColumns(expr, read, { element: this.element, typeOf })
    return several && { column: several[0] as string, several } // one at least
  }

  private ofColumn(column: string): Source {
    const spanMs = this.spans.get(column)
    return { column, ...(spanMs === undefined ? {} : { spanMs }) }
  }

  private originOf(expr: Expr): Expr {
    const own = this.origins.get(expr)
    return own ?? (expr.kind === 'Field' && expr.of.kind === 'Input' ? expr : withOperands(expr, (one) => this.originOf(one)))
  }
}

/** The one column of text that expressions read besides constants; undefined where they read others, or none, or make an array or an object. */
function columnOf(exprs: readonly Expr[], texts: ReadonlySet<string>, how: { readonly locals: boolean }): string | undefined {
  const columns = columnsIn(exprs, how)
  const [column] = columns ?? []
  return columns?.size === 1 && column !== undefined && texts.has(column) ? column : undefined
}

/** The columns that expressions read besides constants; undefined where they read something else, or make an array or an object. */
function columnsIn(exprs: readonly Expr[], { locals }: { readonly locals: boolean }): ReadonlySet<string> | undefined {
  const columns = new Set<string>()
  // the variables of functions of an element
  const own = new Set<string>()
  let isOther = false
  const visit = (expr: Expr): void => {
    if (expr.kind === 'OfList' && expr.each !== undefined) for (const local of localsOf(expr.each)) own.add(local)
    if (expr.kind === 'Field' && expr.of.kind === 'Input' && expr.of.argument === 0) columns.add(expr.name)
    else if (expr.kind === 'Local') isOther ||= !locals && !own.has(expr.name)
    else if (NOT_OF_TEXT.has(expr.kind)) isOther = true
    else
      withOperands(expr, (one) => {
        visit(one)
        return one
      })
  }
  exprs.forEach(visit)
  return isOther ? undefined : columns
}

/** The kinds of expressions that a function of a text cannot have. */
const NOT_OF_TEXT: ReadonlySet<Expr['kind']> = new Set(['Input', 'Key', 'Read', 'Has', 'Extent', 'Draw', 'ArrayLiteral', 'ObjectLiteral'])

/** Whether an expression is worth extracting: kernels over columns compare texts themselves, and do all logic. */
function isWork(expr: Expr): boolean {
  switch (expr.kind) {
    case 'MethodCall':
    case 'Matches':
    case 'Call':
    case 'Lookup':
    case 'Find':
    case 'OfList':
      return true
    case 'Binary':
      return !/^[!=]==?$/.test(expr.operator)
    case 'Unary':
      return expr.operator !== '!'
    default:
      return false
  }
}

/** Whether an expression looks up a number or a truth value, so that what it gives is one, or undefined, but never null. */
function isUndefinedAtMost(expr: Expr, { tables }: FunctionIr): boolean {
  if (expr.kind !== 'Find' || expr.values === undefined) return false
  const held = tables.find(({ name }) => name === expr.values)?.value
  const kinds = new Set(Array.from<unknown>(held ?? [null]).map((value) => typeof value))
  return kinds.size === 1 && (kinds.has('number') || kinds.has('boolean'))
}

/** The statements without variables that are a function's column and that nothing reads any more, with the names of these columns. */
function withoutUnread(body: readonly Stmt[]): { readonly body: readonly Stmt[]; readonly unread: ReadonlySet<string> } {
  const read = new Set<string>()
  visitStmts(body, (stmt) => {
    if (stmt.kind === 'Assign') read.add(stmt.local)
    const exprs = stmt.kind === 'For' && stmt.counted !== undefined ? [stmt.counted.from, stmt.counted.to] : []
    for (const one of [...expressionsOf(stmt), ...exprs]) visitExpr(one, (expr) => expr.kind === 'Local' && read.add(expr.name))
  })
  const unread = new Set<string>()
  const kept = body.filter((stmt) => {
    if (stmt.kind !== 'Let' || stmt.init?.kind !== 'Field' || !isTextFunction(stmt.init.name) || read.has(stmt.local)) return true
    unread.add(stmt.init.name)
    return false
  })
  return { body: kept, unread }
}

/** The use of each function's column: only stored as it is, or in expressions too. */
function usesOf(body: readonly Stmt[]): ReadonlyMap<string, 'stored' | 'computed'> {
  const uses = new Map<string, 'stored' | 'computed'>()
  const see = (expr: Expr, isStored: boolean): void => {
    if (expr.kind === 'Field' && isTextFunction(expr.name))
      uses.set(expr.name, isStored && uses.get(expr.name) !== 'computed' ? 'stored' : 'computed')
  }
  visitStmts(body, (stmt) => {
    for (const expr of expressionsOf(stmt)) {
      const stored = stmt.kind !== 'Return' ? [] : expr.kind === 'ObjectLiteral' ? expr.fields.map(({ value }) => value) : [expr]
      visitExpr(expr, (one) => see(one, stored.includes(one)))
    }
  })
  return uses
}

function columnExpr(name: string, { span }: { readonly span: Expr['span'] }): Expr {
  return { kind: 'Field', of: { kind: 'Input', argument: 0, span }, name, optional: false, span }
}

/** A function of one column of the element, as a function of that column's value, or of the text found for it. */
function ofText(ir: FunctionIr, body: readonly Stmt[], found?: FoundText): FunctionIr {
  const expr = (one: Expr): Expr => {
    if (found !== undefined) return one.kind === found.expr.kind ? { kind: 'Input', argument: 0, span: one.span } : one
    return one.kind === 'Field' && one.of.kind === 'Input' ? one.of : one
  }
  return { ...ir, body: rewriteStmts(body, { ...UNCHANGED, expr }) }
}

/** The types of expressions in a function of an element. */
function typesIn(ir: FunctionIr, input: ElementType): TypeOf {
  return inferTypes(ir.body, {
    input: () => input,
    parameter: (name) => ir.parameters.find((one) => one.name === name)?.value,
    table: (name) => ir.tables.find((one) => one.name === name)?.value,
    dtype: () => undefined,
  })
}

/** The inferred type of a function's results; undefined where it is not known, or no type that a function's column holds. */
export function typeOfTextFunction(
  { ir, column, found, several }: TextFunction,
  element: ElementType,
): { readonly type: ColumnType; readonly nullable: boolean } | undefined {
  const field = fieldsOf(element).find(({ name }) => name === column)
  if (field === undefined) return undefined
  const ofOne: ElementType =
    found === undefined
      ? { kind: 'scalar', type: field.type, nullable: field.nullable }
      : { kind: 'scalar', type: { kind: 'utf8' }, nullable: true }
  const typeOf = typesIn(ir, several === undefined ? ofOne : element)
  const returned: ReturnType<typeof typeOf>[] = []
  visitStmts(ir.body, (stmt) => {
    if (stmt.kind === 'Return') returned.push(stmt.value && typeOf(stmt.value))
  })
  const [first, ...others] = returned
  if (first === undefined || others.some((one) => one?.type.kind !== first.type.kind)) return undefined
  const nullable = returned.some((one) => one?.nullable === true)
  return FUNCTION_TYPES.has(first.type.kind) ? { type: first.type, nullable } : undefined
}

/** The types that columns of functions can have. */
export const FUNCTION_TYPES: ReadonlySet<ColumnType['kind']> = new Set(['f64', 'bool', 'utf8', 'timestamp'])
