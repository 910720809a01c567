/**
 * Brings functions that make one of several objects into the form of which `returns.ts` makes one condition.
 *
 *     switch (k) { case 0: return new Circle(a); default: return new Square(a) }     if (k === 0) return new Circle(a); return new Square(a)
 *     if (c) return new Circle(a); else throw E                                      if (!c) throw E; return new Circle(a)
 *     if (c) return A; else { if (d) throw E; return B }                             if (!c) { if (d) throw E } return c ? A : B
 *     if (c) { n++; return A } return B                                              return c ? (n++, A) : B
 *     if (c) { const r = f(a); return A } return B                                   return c ? (() => { const r = f(a); return A })() : B
 *
 * Sound because each case leaves the function, so that none goes on in the next; and what is asked more than once is asked of names,
 * literals and operators on numbers alone, which nothing in between changes.
 */
import type { ArrowFunctionExpression, BlockStatement, Expression, IfStatement, ReturnStatement, Statement, SwitchStatement } from 'acorn'

/** The ifs of a switch whose cases all leave the function, some with an object; undefined for any other. */
export function ifsOf(node: SwitchStatement): readonly Statement[] | undefined {
  if (!isConstant(node.discriminant)) return undefined
  const ifs: Statement[] = []
  let last: readonly Statement[] = []
  let tests: Expression[] = []
  let isDefault = false
  for (const { test, consequent } of node.cases) {
    if (test) tests.push(test)
    else isDefault = true
    if (consequent.length === 0) continue
    const body = blockOf(consequent)
    if (body === undefined || !tests.every(isConstant)) return undefined
    if (isDefault) last = [body]
    else ifs.push(ifOf(node.discriminant, tests, body))
    tests = []
    isDefault = false
  }
  const makesObjects = node.cases.some(({ consequent }) => returnedBy(consequent).some(isObject))
  return tests.length > 0 || isDefault || !makesObjects ? undefined : [...ifs, ...last]
}

function ifOf(value: Expression, tests: readonly Expression[], consequent: Statement): IfStatement {
  const compared = tests.map((test): Expression => {
    return { type: 'BinaryExpression', operator: '===', left: value, right: test, start: test.start, end: test.end }
  })
  const test = compared.reduce((left, right): Expression => {
    return { type: 'LogicalExpression', operator: '||', left, right, start: left.start, end: right.end }
  })
  return { type: 'IfStatement', test, consequent, alternate: null, start: test.start, end: consequent.end }
}

/** The statements of a case, as one; undefined where they may go on in the next case, or declare a name that others see. */
function blockOf(statements: readonly Statement[]): Statement | undefined {
  const [only] = statements
  const last = statements.at(-1)
  if (only === undefined || last === undefined) return undefined
  if (statements.length === 1) return leaves(only) ? only : undefined
  if (!leaves(last) || statements.slice(0, -1).some(({ type }) => type !== 'ExpressionStatement')) return undefined
  return { type: 'BlockStatement', body: [...statements], start: only.start, end: last.end }
}

/** Whether a statement ends in a return or a throw whatever happens, and no break leads past it. */
function leaves(statement: Statement): boolean {
  if (statement.type === 'ReturnStatement') return statement.argument !== null
  if (statement.type === 'ThrowStatement') return true
  return statement.type === 'BlockStatement' && statement.body.slice(0, -1).every(isPlain) && statement.body.slice(-1).some(leaves)
}

/** Whether a statement holds no other ones, as a break. */
function isPlain({ type }: Statement): boolean {
  return type === 'ExpressionStatement' || type === 'VariableDeclaration'
}

function returnedBy(statements: readonly Statement[]): readonly Expression[] {
  const last = statements.at(-1)
  if (last?.type === 'BlockStatement') return returnedBy(last.body)
  return last?.type === 'ReturnStatement' && last.argument ? [last.argument] : []
}

function isObject({ type }: Expression): boolean {
  return type === 'NewExpression' || type === 'ObjectExpression'
}

/** Statements that return one of two values, behind what is thrown; undefined where no object is returned. */
export function behindThrows(node: IfStatement, then: readonly Statement[], other: readonly Statement[]): readonly Statement[] | undefined {
  const [a, b] = [partsOf(then), partsOf(other)]
  if (a === undefined || b === undefined) return undefined
  const { start, end } = node
  const guard = (test: Expression, body: readonly Statement[]): Statement[] =>
    body.length === 0
      ? []
      : [{ type: 'IfStatement', test, consequent: { type: 'BlockStatement', body: [...body], start, end }, alternate: null, start, end }]
  const not: Expression = {
    type: 'UnaryExpression',
    operator: '!',
    prefix: true,
    argument: node.test,
    start: node.test.start,
    end: node.test.end,
  }
  if (a.value === undefined && b.value === undefined) return undefined
  if (![a.value, b.value].some((value) => value !== undefined && mayBeObject(value))) return undefined
  if (b.value === undefined && a.throws.length === 0 && a.value !== undefined) return [...guard(not, b.throws), returned(a.value, node)]
  if (a.value === undefined && b.value !== undefined) return [...guard(node.test, a.throws), ...b.throws, returned(b.value, node)]
  if (!isConstant(node.test) || a.value === undefined || b.value === undefined) return undefined
  // Objects of one kind are one variable, which each branch sets.
  if (a.throws.length === 0 && b.throws.length === 0 && new Set([...kindsOf(a.value), ...kindsOf(b.value)]).size < 2) return undefined
  const argument: Expression = { type: 'ConditionalExpression', test: node.test, consequent: a.value, alternate: b.value, start, end }
  return [...guard(node.test, a.throws), ...guard(not, b.throws), returned(argument, node)]
}

interface Parts {
  /** Statements that throw, and ifs around such. */
  readonly throws: readonly Statement[]
  readonly value: Expression | undefined
}

/** The parts of a list that throws, returns a value, or does the one behind questions whether to do the other. */
function partsOf(statements: readonly Statement[]): Parts | undefined {
  const last = statements.at(-1)
  if (last?.type === 'ThrowStatement') return statements.length === 1 ? { throws: statements, value: undefined } : undefined
  if (last?.type !== 'ReturnStatement' || !last.argument) return undefined
  const found = statements.findIndex((one) => !isGuard(one))
  const [throws, before] = [statements.slice(0, found), statements.slice(found, -1)]
  return before.every(isPlain) ? { throws, value: behind(before, last, last.argument) } : undefined
}

/** The value of a return behind other statements. */
function behind(before: readonly Statement[], last: ReturnStatement, value: Expression): Expression {
  const [first] = before
  if (first === undefined) return value
  const place = { start: first.start, end: last.end }
  const expressions = before.flatMap((one) => (one.type === 'ExpressionStatement' ? [one.expression] : []))
  if (expressions.length === before.length) return { type: 'SequenceExpression', expressions: [...expressions, value], ...place }
  const body: BlockStatement = { type: 'BlockStatement', body: [...before, last], ...place }
  const made: ArrowFunctionExpression = {
    type: 'ArrowFunctionExpression',
    params: [],
    body,
    expression: false,
    generator: false,
    async: false,
    ...place,
  }
  return { type: 'CallExpression', callee: made, arguments: [], optional: false, ...place }
}

function isGuard(statement: Statement): boolean {
  if (statement.type === 'ThrowStatement') return true
  if (statement.type === 'BlockStatement') return statement.body.every(isGuard)
  return statement.type === 'IfStatement' && isConstant(statement.test) && !statement.alternate && isGuard(statement.consequent)
}

/** The objects that a value may be, as texts that differ where their classes or fields do; '' for what is no object that is made here. */
function kindsOf(value: Expression): readonly string[] {
  if (value.type === 'ConditionalExpression') return [...kindsOf(value.consequent), ...kindsOf(value.alternate)]
  if (value.type === 'SequenceExpression') return value.expressions.slice(-1).flatMap(kindsOf)
  if (value.type === 'NewExpression') return [value.callee.type === 'Identifier' ? `new ${value.callee.name}` : 'new']
  if (value.type === 'ObjectExpression')
    return [`{ ${value.properties.map((one) => (one.type === 'Property' && one.key.type === 'Identifier' ? one.key.name : '…')).join()} }`]
  const callee = value.type === 'CallExpression' ? value.callee : undefined
  if (callee?.type !== 'ArrowFunctionExpression' || callee.body.type !== 'BlockStatement') return ['']
  return returnedBy(callee.body.body).flatMap(kindsOf)
}

function mayBeObject(value: Expression): boolean {
  return kindsOf(value).some((kind) => kind !== '')
}

function returned(argument: Expression, { start, end }: IfStatement): ReturnStatement {
  return { type: 'ReturnStatement', argument, start, end }
}

/** Whether an expression may be asked twice: of names, literals and operators; a field may be a getter. */
function isConstant(node: Expression): boolean {
  switch (node.type) {
    case 'Identifier':
    case 'Literal':
      return true
    case 'UnaryExpression':
      return node.operator !== 'delete' && isConstant(node.argument)
    case 'BinaryExpression':
      return node.left.type !== 'PrivateIdentifier' && isConstant(node.left) && isConstant(node.right)
    case 'LogicalExpression':
      return isConstant(node.left) && isConstant(node.right)
    case 'ParenthesizedExpression':
      return isConstant(node.expression)
    default:
      return false
  }
}
