/**
 * What steps ask of lists, as columns: where a question depends on columns of its row alone, kernels read its answers from a column.
 *
 *     FilterExec r => r.tags.length > 2 && r.n > 1    tags [a b c] [a]   -->   FilterExec r => r.a0 > 2 && r.n > 1    a0  3 1
 *
 * A list that may be null is asked only where the program has asked before whether there is one (`knownStructs.ts`).
 *
 * Statement: where no answer throws, the rewritten steps over the table with the answers' columns have the same results as the steps before.
 */
import type { Column } from '../../../../core/data/column.ts'
import { emptyColumn } from '../../../../core/data/columnSlices.ts'
import { type ElementType, fieldsOf } from '../../../../core/data/schema.ts'
import { childrenOf, type Expr, expressionsOf, type FunctionIr, type Stmt, visitExpr, visitStmts } from '../../../../core/ir/functionIr.ts'
import { rowIrOf } from '../../../../core/ir/functionUse.ts'
import { exprId, hasLoop, someExpr } from '../../../../core/ir/irFacts.ts'
import { inferTypes } from '../../../../core/ir/irTypes.ts'
import { localsOf, type OfList } from '../../../../core/ir/listQuestions.ts'
import type { ExecFunction, Step } from '../../../../planner/physical/physicalPlan.ts'
import { listAnswerName, missingAnswerName } from '../../../kernels/columns/columnLower.ts'
import { type Known, pathText, withKnown } from '../knownStructs.ts'
import { withRowFunctions } from '../stepFunctions.ts'
import { pathsIn, withSourceFunctions } from '../structFields.ts'

/** A question of lists, as a function of a row. */
export interface ListAnswer {
  /** The name of the column of its answers. */
  readonly name: string
  readonly ir: FunctionIr
  readonly kind: 'f64' | 'bool'
  /** What an answer may be that is no number and no truth value; some are both, and are none for columns. */
  readonly absent: null | undefined | 'nothing'
}

interface Table {
  readonly element: ElementType
  readonly columns: readonly Column[]
}

export interface AskedLists {
  readonly answers: readonly ListAnswer[]
  /** The steps, which read answers from their columns. */
  readonly steps: readonly Step[]
}

/** The questions of lists in steps over a table; undefined where there are none, or not all of them are columns. */
export function listAnswersOf({ element, columns }: Table, steps: readonly Step[]): AskedLists | undefined {
  const fields = fieldsOf(element)
  if (!fields.some(({ type }) => type.kind === 'list')) return undefined
  const found = new Map<string, ListAnswer>()
  let isRefused = false
  const answer = (expr: OfList, ir: FunctionIr, known: Known): Expr | undefined => {
    const name = listName(expr)
    const list = columns[fields.findIndex((field) => field.name === name)]
    if (name === undefined || list === undefined || !isOfRow(expr)) return undefined
    if (list.validity !== undefined && !known.has(pathText([name]))) return undefined
    const id = exprId([expr, ...ir.parameters.map(({ value }): Expr => ({ kind: 'Literal', value, span: expr.span }))])
    let own = found.get(id)
    if (own === undefined) {
      const kind = kindOf(expr, ir, element)
      if (kind === undefined) return undefined
      // an element may be null as well as behind the end, which columns cannot tell apart
      const absent = !OPTIONAL.has(expr.asks) ? 'nothing' : list.children?.[0]?.validity === undefined ? undefined : null
      const made = { ...ir, body: [{ kind: 'Return' as const, value: whereThere(expr, list, absent), span: expr.span }] }
      const names = absent === undefined ? missingAnswerName : listAnswerName
      found.set(id, (own = { name: names(found.size), ir: made, kind, absent }))
    }
    return { kind: 'Field', of: { kind: 'Input', argument: 0, span: expr.span }, name: own.name, optional: false, span: expr.span }
  }
  const changed = (f: ExecFunction, known: Known): ExecFunction => {
    const ir = rowIrOf(f)
    if (ir === undefined || !asksIn(ir.body)) return f
    const body = hasLoop(ir.body)
      ? ir.body
      : withKnown(ir.body, known, pathsIn(ir), (expr, here) => (expr.kind === 'OfList' ? answer(expr, ir, here) : undefined))
    isRefused ||= asksIn(body)
    return { ...f, ir: { ...ir, body } }
  }
  const rewritten = withSourceFunctions(steps, changed)
  return isRefused || found.size === 0 ? undefined : { answers: [...found.values()], steps: rewritten }
}

/** The table with the columns of answers. */
export function withAnswers<T extends Table>(table: T, answers: readonly ListAnswer[], columns: readonly Column[]): T {
  const fields = answers.map(({ name }, i) => {
    const column = columns[i] as Column // one for each
    return { name, type: column.type, nullable: column.validity !== undefined }
  })
  return { ...table, element: { kind: 'row', fields: [...fieldsOf(table.element), ...fields] }, columns: [...table.columns, ...columns] }
}

/** Columns of answers without values, of which some may be absent. */
export function plannedAnswers(answers: readonly ListAnswer[]): readonly Column[] {
  return answers.map(({ kind, absent }) => ({ ...emptyColumn({ kind }), ...(absent === 'nothing' ? {} : { validity: new Uint8Array() }) }))
}

/** The questions to which there may be no answer. */
const OPTIONAL: ReadonlySet<OfList['asks']> = new Set(['element', 'at', 'find', 'findLast'])

/** Whether functions of single rows ask lists. */
export function asksLists(steps: readonly Step[]): boolean {
  let asks = false
  for (const step of steps)
    withRowFunctions(step, (f) => {
      asks ||= asksIn(rowIrOf(f)?.body ?? [])
      return f
    })
  return asks
}

function asksIn(body: readonly Stmt[]): boolean {
  let asks = false
  visitStmts(body, (stmt) => {
    asks ||= expressionsOf(stmt).some((expr) => someExpr(expr, (one) => one.kind === 'OfList' && listName(one) !== undefined))
  })
  return asks
}

function listName({ list }: OfList): string | undefined {
  return list.kind === 'Field' && list.of.kind === 'Input' && list.of.argument === 0 ? list.name : undefined
}

/** Whether a question reads nothing but columns of its row, and constants. */
function isOfRow(asked: OfList): boolean {
  const own = new Set<string>()
  visitExpr(asked, (expr) => {
    if (expr.kind === 'OfList' && expr.each !== undefined) for (const local of localsOf(expr.each)) own.add(local)
  })
  const isOf = (expr: Expr): boolean => {
    switch (expr.kind) {
      case 'Local':
        return own.has(expr.name)
      case 'Field':
        if (expr.of.kind !== 'Input') return expr.of.kind === 'Local' && own.has(expr.of.name)
        return expr.of.argument === 0
      case 'Input':
      case 'Key':
      case 'Read':
      case 'Has':
      case 'Extent':
      case 'Draw':
      case 'ArrayLiteral':
      case 'ObjectLiteral':
        return false
      default: {
        let all = true
        for (const one of childrenOf(expr)) all &&= isOf(one)
        return all
      }
    }
  }
  return isOf(asked)
}

/** The kind of the answers; undefined where they are texts, or may be of several kinds. */
function kindOf(expr: OfList, ir: FunctionIr, element: ElementType): 'f64' | 'bool' | undefined {
  const typeOf = inferTypes([{ kind: 'Return', value: expr, span: expr.span }], {
    input: () => element,
    parameter: (name) => ir.parameters.find((one) => one.name === name)?.value,
    table: (name) => ir.tables.find((one) => one.name === name)?.value,
    dtype: () => undefined,
  })
  const type = typeOf(expr)
  const kind = type?.type.kind
  return (kind === 'f64' || kind === 'bool') && (OPTIONAL.has(expr.asks) || type?.nullable === false) ? kind : undefined
}

/** The answer, and what nobody reads where there is no list. */
function whereThere(expr: OfList, list: Column, absent: ListAnswer['absent']): Expr {
  if (list.validity === undefined) return expr
  const { span } = expr
  const literal = (value: null | undefined): Expr => ({ kind: 'Literal', value, span })
  const test: Expr = { kind: 'Binary', operator: '==', left: expr.list, right: literal(null), span }
  // biome-ignore lint/suspicious/noThenProperty: the IR's own name for the branch
  return { kind: 'Conditional', test, then: literal(absent === undefined ? undefined : null), else: expr, span }
}
