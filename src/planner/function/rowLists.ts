/**
 * What a function asks of a list that a column has, of which no array is made, or of one that it makes of a text: its length, an element,
 * what its elements come to.
 *
 *     r.tags.length     r.scores[0]     r.scores.at(-1)     r.tags.includes('x')     r.scores.reduce((a, b) => a + b, 0)
 *     r.tags.some((t) => t === 'a')     r.scores.filter((s) => s > 0).length     Math.max(...r.scores)     r.tags.join(',')
 *     r.day.split('/').map(Number)[2]   r.text.split(',').sort().join(',')     const [d, m, y] = r.day.split('/')
 *
 *     r.items.reduce((sum, i) => sum + i.qty * i.price, 0)   r.items.some((i) => i.price > 9)   r.items.map((i) => i.sku).join(',')
 *
 * Elements are numbers, truth values, texts or null, or structs, of which functions of an element read fields. A function of an element is
 * one expression, once what it declares is written out.
 */
import type { AnyNode, CallExpression, Expression } from 'acorn'
import type { ColumnType } from '../../core/data/schema.ts'
import type { Expr, ListQuestion, OfElement, Stmt } from '../../core/ir/functionIr.ts'
import { rewriteExpr, UNCHANGED } from '../../core/ir/irRewrite.ts'
import { makesList } from '../../core/ir/listQuestions.ts'
import { inputElement } from './lower/context.ts'
import type { Lowering } from './lower/lowering.ts'
import { holdsLiteral } from './lower/loweringParts.ts'
import { exprValue, REFUSED, type Value } from './lower/value.ts'

/** The type of the elements of a list that a column has; undefined for other expressions. */
function itemsOf(l: Lowering, of: Expr): ColumnType | undefined {
  if (l.context.kind !== 'row' || of.kind !== 'Field' || of.of.kind !== 'Input') return undefined
  const element = inputElement(l.context, of.of.argument)
  const type = element.kind === 'row' ? element.fields.find(({ name }) => name === of.name)?.type : undefined
  return type?.kind === 'list' ? type.item : undefined
}

export function isListColumn(l: Lowering, of: Expr): boolean {
  return itemsOf(l, of) !== undefined
}

const ITEMS: ReadonlySet<ColumnType['kind']> = new Set(['f64', 'f32', 'i32', 'u32', 'i16', 'u16', 'i8', 'u8', 'bool', 'utf8'])

/** Whether an expression is a list whose elements functions can read. */
export function isReadable(l: Lowering, of: Expr): boolean {
  const item = itemsOf(l, of)
  return (isMade(l, of) && !isOfStructs(l, of)) || (item !== undefined && ITEMS.has(item.kind))
}

/** Whether an expression is a list of structs, or those of one that a filter keeps. */
function isOfStructs(l: Lowering, of: Expr): boolean {
  if (of.kind === 'OfList' && of.asks === 'filter') return isOfStructs(l, of.list)
  return itemsOf(l, of)?.kind === 'struct'
}

function isOfRows({ context }: Lowering): boolean {
  return context.kind === 'row' && context.method === 'flatMap'
}

/** Whether an expression is a list that the function makes, or a name for one. */
function isMade(l: Lowering, of: Expr): boolean {
  return (makesList(of) && !holdsLiteral(of)) || (of.kind === 'Local' && l.madeLists.has(of.name))
}

/** Whether two values that are compared may both be lists that the function makes: whether they are the same list is not known once they are made at other places. */
export function areMadeLists(l: Lowering, left: Expr, right: Expr): boolean {
  const mayBe = (expr: Expr): boolean => {
    if (expr.kind === 'Conditional') return mayBe(expr.then) || mayBe(expr.else)
    return expr.kind === 'Logical' ? mayBe(expr.left) || mayBe(expr.right) : isMade(l, expr)
  }
  return mayBe(left) && mayBe(right)
}

/** Lowers `list.length`; undefined for what is no list. */
export function lengthOfRowList(l: Lowering, list: Expr, node: AnyNode): Value | undefined {
  return isMade(l, list) || itemsOf(l, list) !== undefined ? answer(l, 'length', list, node) : undefined
}

/** Lowers `list[index]`; undefined for what is no list. */
export function elementOfRowList(l: Lowering, list: Expr, index: Expr, node: AnyNode): Value | undefined {
  return isReadable(l, list) ? answer(l, 'element', list, node, [index]) : undefined
}

/** Lowers the elements of a list from an index on. */
export function restOfList(l: Lowering, list: Expr, from: number, node: AnyNode): Value {
  return answer(l, 'slice', list, node, [{ kind: 'Literal', value: from, span: l.span(node) }])
}

/** Lowers `Math.max(...list)` and `Math.min(...list)`; undefined for what is no list. */
export function extremeOfRowList(l: Lowering, callee: 'Math.max' | 'Math.min', over: Value, node: AnyNode): Value | undefined {
  return over.kind === 'expr' && isReadable(l, over.expr) ? answer(l, callee, over.expr, node) : undefined
}

/** Lowers `list.filter(f).length`, of which `call` is the call; undefined where there is no list. */
export function countInRowList(l: Lowering, over: Value, call: CallExpression, node: AnyNode): Value | undefined {
  const [given] = call.arguments
  if (over.kind !== 'expr' || given === undefined || given.type === 'SpreadElement') return undefined
  if (!isReadable(l, over.expr) && !isOfStructs(l, over.expr)) return undefined
  return withEach(l, { asks: 'count', list: over.expr, given, args: [], node })
}

/** The methods that take a value, with the numbers of arguments that they may have, and those that take a function of an element. */
const OF_VALUES: ReadonlyMap<string, readonly number[]> = new Map([
  ['at', [0, 1]],
  ['includes', [1]],
  ['indexOf', [1]],
  ['join', [0, 1]],
  ['slice', [0, 1, 2]],
  ['toReversed', [0]],
  ['toSorted', [0]],
  ['reverse', [0]],
  ['sort', [0]],
])
/** Those of them whose answers are no structs where elements are. */
const OF_STRUCTS = /^(reduce|some|every|findIndex|findLastIndex|map|filter)$/
const OF_FUNCTIONS = /^(reduce|some|every|find|findIndex|findLast|findLastIndex|map|filter)$/
/** The methods that change the list, which must be one that nothing else has. */
const CHANGES = /^(reverse|sort)$/

/** Lowers a method of a list; undefined for what is no list, and for other methods. */
export function rowListMethod(l: Lowering, list: Expr, name: string, node: CallExpression): Value | undefined {
  const { arguments: args } = node
  if (args.some(({ type }) => type === 'SpreadElement')) return undefined
  if (isOfStructs(l, list)) {
    if (!OF_STRUCTS.test(name) || (name === 'reduce' && args.length < 2)) return undefined
  } else if (!isReadable(l, list)) return undefined
  if (CHANGES.test(name) && !makesList(list)) return undefined
  const nodes = args as readonly Expression[] // none is spread
  if (OF_VALUES.get(name)?.includes(args.length) === true) {
    const values = valuesOf(l, nodes)
    if (values === undefined) return REFUSED
    return answer(l, name as ListQuestion, list, node, values) // one of the map's
  }
  const [given, ...more] = nodes
  if (!OF_FUNCTIONS.test(name) || given === undefined || more.length > (name === 'reduce' ? 1 : 0)) return undefined
  const values = valuesOf(l, more)
  return values === undefined ? REFUSED : withEach(l, { asks: name as ListQuestion, list, given, args: values, node })
}

/** The values of arguments; undefined where one is refused, or is no value. */
function valuesOf(l: Lowering, nodes: readonly Expression[]): readonly Expr[] | undefined {
  const values = l.inOrder(nodes.map((one) => () => l.verbs.value(l, one)))
  const exprs = values.map((value, i) => l.scalarOrNothing(value, nodes[i] as Expression)) // a node for each
  return exprs.includes(undefined) ? undefined : (exprs as Expr[]) // none is undefined
}

function answer(l: Lowering, asks: ListQuestion, list: Expr, node: AnyNode, args: readonly Expr[] = []): Value {
  return exprValue({ kind: 'OfList', asks, list, args, span: l.span(node) })
}

interface Asked {
  readonly asks: ListQuestion
  readonly list: Expr
  /** The function of an element, and the arguments behind it. */
  readonly given: Expression
  readonly args: readonly Expr[]
  readonly node: AnyNode
}

/** Lowers a question with a function of an element; undefined where that is more than an expression. */
function withEach(l: Lowering, { asks, list, given, args, node }: Asked): Value | undefined {
  const f = l.verbs.value(l, given)
  const isOfPlatform = f.kind === 'builtin' && OF_ONE.test(f.name)
  if (!isOfPlatform && f.kind !== 'closure') return undefined
  const ownArguments = asks === 'reduce' ? 3 : 2
  // the list itself would be made again for the function
  if (f.kind === 'closure' && isMade(l, list) && f.node.params.length > ownArguments) return l.refuse('function-as-value', given)
  const span = l.span(node)
  const local = (wanted: string): Expr & { kind: 'Local' } => {
    const name = l.newName(wanted)
    l.stableLocals.add(name)
    return { kind: 'Local', name, span }
  }
  const sofar = asks === 'reduce' ? local('sofar') : undefined
  const [item, index] = [local('item'), local('index')]
  let returned: Value = REFUSED
  const emitted = l.collect(() => {
    const inputs = [...(sofar === undefined ? [] : [sofar]), item, index, list]
    if (f.kind === 'closure') returned = l.verbs.inline(l, f, inputs.map(exprValue), node)
    else if (f.kind === 'builtin') returned = exprValue({ kind: 'Call', callee: f.name, args: [item], span })
  })
  if (returned.kind === 'refused') return REFUSED
  const value = asks === 'map' ? itemValue(l, returned, given) : l.scalarOrNothing(returned, given)
  const whole = value && withoutLets(value, emitted)
  if (whole === undefined) return value === undefined ? REFUSED : l.refuse('function-as-value', given)
  if (areMadeLists(l, whole, whole)) return l.refuse('function-as-value', given)
  const each: OfElement = { item: item.name, index: index.name, ...(sofar === undefined ? {} : { sofar: sofar.name }), value: whole }
  return exprValue({ kind: 'OfList', asks, list, args, each, span })
}

/** The value of an item of a list: in `flatMap`, whose items become rows, it may be an object. */
function itemValue(l: Lowering, value: Value, node: AnyNode): Expr | undefined {
  if (!isOfRows(l) || value.kind !== 'record' || value.prototype !== undefined) return l.scalarOrNothing(value, node)
  const fields = value.fields.map((field) => ({ name: field.name, value: l.scalarOrNothing(field.value, node) }))
  if (fields.some((field) => field.value === undefined)) return undefined
  return { kind: 'ObjectLiteral', fields: fields as { name: string; value: Expr }[], span: l.span(node) } // none is undefined
}

/** Functions of the platform that look at their first argument alone. */
const OF_ONE = /^(Number|String|Boolean|parseFloat|isNaN|isFinite|Number\.\w+|Math\.(abs|ceil|floor|round|sign|sqrt|trunc))$/

/** The expression with the variables that the statements before it declare written out; undefined where these do more, or it gets too long. */
function withoutLets(value: Expr, before: readonly Stmt[]): Expr | undefined {
  const known = new Map<string, Expr>()
  let size = 0
  const expr = (one: Expr): Expr => {
    size++
    return (one.kind === 'Local' ? known.get(one.name) : undefined) ?? one
  }
  for (const stmt of before) {
    if (stmt.kind !== 'Let' || stmt.init === undefined || known.has(stmt.local)) return undefined
    known.set(stmt.local, rewriteExpr(stmt.init, { ...UNCHANGED, expr }))
  }
  const whole = rewriteExpr(value, { ...UNCHANGED, expr })
  return size > MOST_PARTS ? undefined : whole
}

/** The most parts of a function of an element that is written out. */
const MOST_PARTS = 200
