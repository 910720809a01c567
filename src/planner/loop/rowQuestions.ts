/**
 * Extracts what a body asks of texts, dates and nulls of its row: questions of one column, whose answers become arrays beside it.
 *
 *     if (r.kind === 'buy') pos.add(r.sym, r.qty)    -->    if (kind_is_buy[i]) pos.add(r.sym, r.qty)
 *     days.add(r.when.getUTCDay(), 1)                -->    days.add(when_getUTCDay[i], 1)
 *
 * Kernels of loops read numbers and truth values; the questions are answered by kernels over columns, for all rows, before the loop.
 *
 * Statement: no question fails or depends on anything but its row, so that asking it of all rows gives what asking it where the body
 * does would have given. A body that needs more of such a column than its questions keeps its rows, and so does one that changes them.
 */
import { ARRAY_OF_DTYPE } from '../../core/arrays/storage.ts'
import type { ElementType, Field } from '../../core/data/schema.ts'
import { type Expr, expressionsOf, type FunctionIr, type Primitive, type Stmt, visitExpr, visitStmts } from '../../core/ir/functionIr.ts'
import { changedIn } from '../../core/ir/irFacts.ts'
import { rewriteStmts, UNCHANGED } from '../../core/ir/irRewrite.ts'
import { inputsOf, type LogicalPlan } from '../../core/plan/logicalPlan.ts'
import { functionsOf } from '../../core/plan/tree.ts'
import { isDateMethod, isTextMethod, questionId, type RowQuestion } from './rowAnswers.ts'

/** Returns the body with reads of arrays (`newName`), and their questions; undefined if it asks none, or needs more of a column. */
export function withAnswers(
  ir: FunctionIr,
  element: ElementType,
  newName: (question: RowQuestion) => string,
): { readonly ir: FunctionIr; readonly questions: ReadonlyMap<string, RowQuestion> } | undefined {
  if (element.kind !== 'row') return undefined
  const others = new Map(element.fields.filter((field) => !isPlain(field)).map((field) => [field.name, field]))
  if (others.size === 0 || returnsValue(ir)) return undefined
  const named = constantFields(ir)
  const names = new Map<string, string>()
  const questions = new Map<string, RowQuestion>()
  const answered = (expr: Expr): Expr => {
    const fieldOf = (of: Expr): Field | undefined => others.get(fieldName(of, named) ?? '')
    const asked = expr.kind === 'Find' ? searchOf(expr, ir, fieldOf) : questionOf(expr, fieldOf)
    if (asked === undefined) return expr
    const { question, negated } = asked
    const id = questionId(question)
    let array = names.get(id)
    if (array === undefined) {
      names.set(id, (array = newName(question)))
      questions.set(array, question)
    }
    const { span } = expr
    const read: Expr = { kind: 'Read', array, subscripts: [{ kind: 'Key', axis: 0, span }], span }
    if (question.kind === 'date' || question.kind === 'or' || (question.kind === 'among' && question.numbers !== undefined)) return read
    const no: Expr = { kind: 'Unary', operator: '!', operand: read, span }
    return negated ? no : { kind: 'Unary', operator: '!', operand: no, span }
  }
  const body = withoutUnread(rewriteStmts(ir.body, { ...UNCHANGED, expr: answered }), (local) => others.has(named.get(local) ?? ''))
  if (questions.size === 0 || readsOther(body, others)) return undefined
  const uses = [...questions.keys()].map((name) => ({ name, kind: 'array', origin: 'capture' }) as const)
  const tables = ir.tables.filter(({ name }) => !isSearched(ir.body, name) || isSearched(body, name))
  return { ir: { ...ir, body, keyRank: Math.max(1, ir.keyRank), uses: [...ir.uses, ...uses], tables }, questions }
}

/** Whether the body still looks for texts of its rows in collections, which only answers to questions can do. */
export function searchesTexts({ body }: FunctionIr): boolean {
  let found = false
  visitExprs(body, ({ kind }) => {
    found ||= kind === 'Find'
  })
  return found
}

function isSearched(body: readonly Stmt[], table: string): boolean {
  let found = false
  visitExprs(body, (expr) => {
    found ||= expr.kind === 'Find' && (expr.keys === table || expr.values === table)
  })
  return found
}

function visitExprs(body: readonly Stmt[], visit: (expr: Expr) => void): void {
  visitStmts(body, (stmt) => {
    for (const expr of expressionsOf(stmt)) visitExpr(expr, visit)
  })
}

/** Whether a plan gives the same rows however often it runs; functions that run as they stand may not. */
export function isRepeatable(plan: LogicalPlan): boolean {
  if (plan.kind === 'Materialize') return true
  return functionsOf(plan).every(({ ir }) => ir !== undefined) && inputsOf(plan).every(isRepeatable)
}

/** Whether kernels of loops read the column: numbers and truth values without nulls. */
function isPlain({ type, nullable }: Field): boolean {
  return !nullable && type.kind in ARRAY_OF_DTYPE
}

function returnsValue({ body }: FunctionIr): boolean {
  let found = false
  visitStmts(body, (stmt) => {
    if (stmt.kind === 'Return' && stmt.value !== undefined) found = true
  })
  return found
}

/** Returns the field of each local that is always that field of the row. */
function constantFields({ body }: FunctionIr): ReadonlyMap<string, string> {
  const fields = new Map<string, string>()
  const seen = new Set<string>()
  const changed = changedIn(body.filter((stmt) => stmt.kind !== 'Let'))
  visitStmts(body, (stmt) => {
    if (stmt.kind !== 'Let') return
    const name = stmt.init === undefined ? undefined : fieldName(stmt.init, new Map())
    if (name === undefined || seen.has(stmt.local) || changed.has(stmt.local)) fields.delete(stmt.local)
    else fields.set(stmt.local, name)
    seen.add(stmt.local)
  })
  return fields
}

function fieldName(expr: Expr, named: ReadonlyMap<string, string>): string | undefined {
  if (expr.kind === 'Local') return named.get(expr.name)
  return expr.kind === 'Field' && expr.of.kind === 'Input' && expr.of.argument === 0 ? expr.name : undefined
}

type Asked = { readonly question: RowQuestion; readonly negated: boolean }

/** Recognizes a search for a text of the row in a captured collection. */
function searchOf(
  expr: Extract<Expr, { kind: 'Find' }>,
  { tables }: FunctionIr,
  fieldOf: (of: Expr) => Field | undefined,
): Asked | undefined {
  const field = fieldOf(expr.key)
  const held = (name: string | undefined): ArrayLike<Primitive> | undefined => tables.find((table) => table.name === name)?.value
  const [keys, values] = [held(expr.keys), held(expr.values)]
  if (field?.type.kind !== 'utf8' || keys === undefined) return undefined
  const numbers = values === undefined ? {} : { numbers: Array.from(values) as number[] } // the lowering has made it of numbers
  return { question: { kind: 'among', column: field.name, texts: Array.from(keys) as string[], ...numbers }, negated: false }
}

function questionOf(expr: Expr, fieldOf: (of: Expr) => Field | undefined): Asked | undefined {
  const is = (question: RowQuestion, negated = false): Asked => ({ question, negated })
  switch (expr.kind) {
    case 'Binary': {
      const { operator, left, right } = expr
      if (operator !== '===' && operator !== '!==') return undefined
      const [field, other] = left.kind === 'Literal' ? [fieldOf(right), left] : [fieldOf(left), right]
      if (field === undefined || other.kind !== 'Literal') return undefined
      const { value } = other as { readonly value: Primitive | undefined }
      const isKnown = value === null || (typeof value === 'string' && field.type.kind === 'utf8')
      return isKnown ? is({ kind: 'equals', column: field.name, value }, operator === '!==') : undefined
    }
    case 'MethodCall': {
      const field = fieldOf(expr.object)
      if (field === undefined || field.nullable) return undefined
      const { method } = expr
      if (isDateMethod(method) && field.type.kind === 'timestamp') return is({ kind: 'date', column: field.name, method })
      const [text, another] = expr.args
      if (!isTextMethod(method) || field.type.kind !== 'utf8' || another !== undefined) return undefined
      if (text?.kind !== 'Literal' || typeof text.value !== 'string') return undefined
      return is({ kind: 'text', column: field.name, method, text: text.value })
    }
    case 'Logical': {
      const field = expr.operator === '??' ? fieldOf(expr.left) : undefined
      if (field === undefined || expr.right.kind !== 'Literal' || typeof expr.right.value !== 'number') return undefined
      return field.type.kind === 'f64' ? is({ kind: 'or', column: field.name, value: expr.right.value }) : undefined
    }
    default:
      return undefined
  }
}

/** Removes declarations of locals for such columns that nothing reads any more. */
function withoutUnread(body: readonly Stmt[], isColumn: (local: string) => boolean): readonly Stmt[] {
  const read = new Set<string>()
  visitStmts(body, (stmt) => {
    for (const expr of expressionsOf(stmt)) {
      visitExpr(expr, (one) => {
        if (one.kind === 'Local') read.add(one.name)
      })
    }
  })
  const isUnread = (stmt: Stmt): boolean => stmt.kind === 'Let' && isColumn(stmt.local) && !read.has(stmt.local)
  return body.filter((stmt) => !isUnread(stmt))
}

/** Whether the body still reads one of these columns where kernels cannot. */
function readsOther(body: readonly Stmt[], others: ReadonlyMap<string, Field>): boolean {
  let found = false
  const visit = (expr: Expr): void => {
    const field = expr.kind === 'Field' && expr.of.kind === 'Input' ? others.get(expr.name) : undefined
    // Nullable numbers do not count: kernels read such a column where no row has a null.
    if (field !== undefined && !(field.type.kind in ARRAY_OF_DTYPE)) found = true
  }
  visitStmts(body, (stmt) => {
    for (const expr of expressionsOf(stmt)) visitExpr(expr, visit)
    if (stmt.kind === 'For' && stmt.counted !== undefined) [stmt.counted.from, stmt.counted.to].forEach((one) => void visitExpr(one, visit))
  })
  return found
}
