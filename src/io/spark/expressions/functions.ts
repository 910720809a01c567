/**
 * Functions of rows, from their IR, as expressions of Spark over the columns of their inputs.
 *
 * Statements are walked with what locals hold at the moment; where control divides, both ways are walked to their end and
 * put together by the test. So a function is what it returns, and its loops are refused.
 */

import type { ColumnType, ElementType, Field } from '../../../core/data/schema.ts'
import { type Expr, type FunctionIr, isBuiltin, type Primitive, type Stmt, type UserFunction } from '../../../core/ir/functionIr.ts'
import type { Span } from '../../../core/span.ts'
import type { Expression } from '../messages.ts'
import { mayRaise, type Scope } from '../scope.ts'
import { sqlTypeOf } from '../sparkTypes.ts'
import { Untranslated } from '../untranslated.ts'
import { opposite } from './bigints.ts'
import { and, call, cast, FALSE, not, or, TRUE, text, when } from './build.ts'
import { builtin } from './builtins.ts'
import { elementOf, foundIn } from './collections.ts'
import { methodCall } from './methods.ts'
import { asText, binary } from './operators.ts'
import { sparkPattern } from './patterns.ts'
import { madeDate, ofLibrary } from './times.ts'
import {
  absentOf,
  asColumn,
  asNumber,
  asTruth,
  boolValue,
  constantValue,
  either,
  isOf,
  NULL_VALUE,
  numberValue,
  primitive,
  UNDEFINED_VALUE,
  type Value,
} from './values.ts'

/** The result of a function: a value, an object or a list. */
export type Result =
  | { readonly kind: 'value'; readonly value: Value }
  | { readonly kind: 'row'; readonly fields: readonly { readonly name: string; readonly value: Value }[] }
  | { readonly kind: 'list'; readonly items: readonly Value[] }

/** An argument: the columns of its element, by name; of a single value under `VALUE_COLUMN`. */
export interface Argument {
  readonly element: ElementType
  readonly columns: ReadonlyMap<string, Value>
}

/** Most ways through a function that are walked: each test where control divides doubles them. */
const MOST_WAYS = 256

export function resultOf(f: UserFunction, inputs: readonly Argument[], scope: Scope): Result {
  const { ir } = f
  if (ir === undefined) {
    const [refusal] = f.refusals
    throw new Untranslated(
      `runs ${f.text}, which is not understood${refusal === undefined ? '' : `: ${refusal.message}`}`,
      refusal?.span ?? f.span,
      refusal?.cure ?? 'Write it as an expression of the row.',
    )
  }
  return new Walk(ir, inputs, scope).run()
}

/** The result of a function that has to return one value. */
export function singleOf(f: UserFunction, inputs: readonly Argument[], scope: Scope): Value {
  const result = resultOf(f, inputs, scope)
  if (result.kind === 'value') return result.value
  throw new Untranslated('returns a list or an object where a single value is needed', f.span, 'Return one value.')
}

/** A result as columns of known types; null for fields that it has not. */
export function columnsOfResult(
  result: Result,
  element: ElementType,
  span: Span,
): readonly { readonly field: Field; readonly expr: Expression }[] {
  if (element.kind === 'scalar') {
    if (result.kind !== 'value') throw new Untranslated('returns lists', span, 'Return single values or objects of them.')
    const field: Field = { name: 'value', type: element.type, nullable: element.nullable }
    return [{ field, expr: asColumn(result.value, element.type, span) }]
  }
  if (element.kind !== 'row')
    throw new Untranslated('returns what only running it can tell', span, 'Return an object whose fields are written there.')
  const fields = result.kind === 'row' ? result.fields : []
  if (result.kind === 'list') throw new Untranslated('returns a list', span, 'Return single values or objects of them.')
  if (result.kind === 'value' && result.value.is !== 'null')
    throw new Untranslated('returns values of two kinds', span, 'Return objects alone.')
  return element.fields.map((field) => {
    const found = fields.findLast(({ name }) => name === field.name)
    return { field, expr: asColumn(found?.value ?? NULL_VALUE, field.type, span) }
  })
}

type Locals = ReadonlyMap<string, Result>
type Next = (locals: Locals) => Result
const NOTHING: Result = { kind: 'value', value: UNDEFINED_VALUE }

class Walk {
  readonly #ir: FunctionIr
  readonly #inputs: readonly Argument[]
  readonly #scope: Scope
  #ways = 1

  constructor(ir: FunctionIr, inputs: readonly Argument[], scope: Scope) {
    this.#ir = ir
    this.#inputs = inputs
    this.#scope = scope
  }

  run(): Result {
    return this.#statements(this.#ir.body, 0, new Map(), new Map(), () => NOTHING)
  }

  #statements(stmts: readonly Stmt[], at: number, locals: Locals, labels: ReadonlyMap<string, Next>, next: Next): Result {
    const stmt = stmts[at]
    if (stmt === undefined) return next(locals)
    const rest: Next = (after) => this.#statements(stmts, at + 1, after, labels, next)
    switch (stmt.kind) {
      case 'Let':
        return rest(new Map([...locals, [stmt.local, stmt.init === undefined ? NOTHING : this.#bound(this.#result(stmt.init, locals))]]))
      case 'Assign':
        return rest(new Map([...locals, [stmt.local, this.#bound(this.#result(stmt.value, locals))]]))
      case 'Evaluate':
        this.#result(stmt.value, locals)
        return rest(locals)
      case 'Return':
        return stmt.value === undefined ? NOTHING : this.#result(stmt.value, locals)
      case 'If': {
        const test = asTruth(this.#value(stmt.test, locals), stmt.span)
        this.#fork(stmt.span)
        const then = this.#statements(stmt.then, 0, locals, labels, rest)
        const other = this.#statements(stmt.else, 0, locals, labels, rest)
        return this.#either(test, then, other, stmt.span)
      }
      case 'Labeled':
        return this.#statements(stmt.body, 0, locals, new Map([...labels, [stmt.label, rest]]), rest)
      case 'Break': {
        const target = labels.get(stmt.label ?? '')
        if (target === undefined) throw loops(stmt.span)
        return target(locals)
      }
      case 'For':
      case 'Continue':
        throw loops(stmt.span)
      case 'Throw':
        throw new Untranslated('throws', stmt.span, 'Return null instead, or use fallback: "local".')
      case 'Write':
      case 'Add':
      case 'Accumulate':
        throw new Untranslated('writes to an array', stmt.span, 'Write in a loop.')
    }
  }

  #fork(span: Span): void {
    if (++this.#ways > MOST_WAYS)
      throw new Untranslated(`has more than ${MOST_WAYS} ways through it`, span, 'Divide it into several steps.')
  }

  #bound(result: Result): Result {
    switch (result.kind) {
      case 'value':
        return { kind: 'value', value: this.#scope.bind(result.value) }
      case 'row':
        return { kind: 'row', fields: result.fields.map(({ name, value }) => ({ name, value: this.#scope.bind(value) })) }
      case 'list':
        return { kind: 'list', items: result.items.map((item) => this.#scope.bind(item)) }
    }
  }

  #either(test: Expression, then: Result, other: Result, span: Span): Result {
    if (then.kind === 'value' && other.kind === 'value') return { kind: 'value', value: either(test, then.value, other.value, span) }
    if (then.kind === 'list' && other.kind === 'list' && then.items.length === other.items.length)
      return { kind: 'list', items: then.items.map((item, i) => either(test, item, other.items[i] ?? NULL_VALUE, span)) }
    if (then.kind === 'row' && other.kind === 'row') {
      const names = [...new Set([...then.fields, ...other.fields].map(({ name }) => name))]
      const of = (row: typeof then, name: string): Value => row.fields.findLast((field) => field.name === name)?.value ?? NULL_VALUE
      return { kind: 'row', fields: names.map((name) => ({ name, value: either(test, of(then, name), of(other, name), span) })) }
    }
    throw new Untranslated('returns values of two kinds', span, 'Return values of one kind.')
  }

  /** The result of an expression that may be an object or a list. */
  #result(expr: Expr, locals: Locals): Result {
    switch (expr.kind) {
      case 'ObjectLiteral':
        return { kind: 'row', fields: expr.fields.map(({ name, value }) => ({ name, value: this.#value(value, locals) })) }
      case 'ArrayLiteral':
        return { kind: 'list', items: expr.items.map((item) => this.#value(item, locals)) }
      case 'Conditional': {
        const test = asTruth(this.#value(expr.test, locals), expr.span)
        return this.#either(test, this.#result(expr.then, locals), this.#result(expr.else, locals), expr.span)
      }
      case 'Local':
        return locals.get(expr.name) ?? NOTHING
      case 'Input': {
        const input = this.#inputs[expr.argument]
        if (input?.element.kind !== 'row') return { kind: 'value', value: this.#value(expr, locals) }
        return { kind: 'row', fields: [...input.columns].map(([name, value]) => ({ name, value })) }
      }
      default:
        return { kind: 'value', value: this.#value(expr, locals) }
    }
  }

  #value(expr: Expr, locals: Locals): Value {
    const of = (one: Expr): Value => this.#value(one, locals)
    const { span } = expr
    const scope = this.#scope
    switch (expr.kind) {
      case 'Literal':
        return primitive(expr.value, span)
      case 'Parameter':
        return primitive(this.#ir.parameters.find(({ name }) => name === expr.name)?.value, span)
      case 'Local': {
        const held = locals.get(expr.name) ?? NOTHING
        if (held.kind !== 'value') throw new Untranslated('uses an object as a value', span, 'Use its fields.')
        return held.value
      }
      case 'Input': {
        const input = this.#inputs[expr.argument]
        const value = input?.element.kind === 'scalar' ? [...input.columns.values()][0] : undefined
        if (value === undefined) throw new Untranslated('uses the row as a value', span, 'Use its columns.')
        return value
      }
      case 'Field': {
        const held = this.#result(expr.of, locals)
        const row = held.kind === 'row' ? held.fields : undefined
        if (held.kind === 'value' && held.value.type.kind === 'struct') return fieldOf(held.value, held.value.type, expr)
        if (row === undefined) throw new Untranslated(`takes the field ${expr.name} of a value`, span, 'Take fields of the row.')
        return row.findLast(({ name }) => name === expr.name)?.value ?? UNDEFINED_VALUE
      }
      case 'Key':
        throw new Untranslated(
          'asks for the number of the row, and tables of Spark have no order',
          span,
          'Number the rows by window() with an orderBy, and rowNumber().',
        )
      case 'Unary':
        return this.#unary(expr, of(expr.operand))
      case 'Binary':
        return binary(expr.operator, { left: of(expr.left), right: of(expr.right), span, scope })
      case 'Logical':
        return this.#logical(expr, of(expr.left), of(expr.right))
      case 'Conditional':
        return either(asTruth(of(expr.test), span), of(expr.then), of(expr.else), span)
      case 'Call':
        if (expr.callee === 'new Date') return madeDate(expr.args.map(of), { span, scope })
        if (!isBuiltin(expr.callee)) return ofLibrary(expr.callee, expr.args.map(of), { span, scope })
        return builtin(expr.callee, expr.args.map(of), { span, scope })
      case 'MethodCall': {
        const object = of(expr.object)
        if (!object.nullable) return methodCall(expr.method, object, expr.args.map(of), { span, scope })
        if (expr.optional) {
          const { expr: value, ...type } = methodCall(expr.method, { ...object, nullable: false }, expr.args.map(of), { span, scope })
          const kept = when([[call('isnotnull', object.expr), value]], cast(NULL_VALUE.expr, sqlTypeOf(type.type)))
          return { ...type, expr: kept, nullable: true, absent: 'undefined' }
        }
        return methodCall(expr.method, there(object, `${expr.method}()`, span), expr.args.map(of), { span, scope })
      }
      case 'Matches': {
        const subject = of(expr.of)
        return boolValue(call('rlike', asText(subject, span), text(sparkPattern(expr.pattern, expr.flags, span))))
      }
      case 'Lookup':
        return elementOf(this.#table(expr.table), of(expr.index), { span, scope })
      case 'Find':
        return foundIn(expr, (name) => this.#table(name), of(expr.key), scope)
      case 'LookupLength':
        return constantValue(this.#table(expr.table).length)
      case 'OfList':
        throw new Untranslated('asks a list for its elements', span, 'Collect the rows first.')
      case 'Read':
      case 'Has':
      case 'Extent':
      case 'Draw':
        throw new Untranslated('reads an array or draws random numbers', span, 'Join the array, or draw in a loop.')
      case 'ArrayLiteral':
      case 'ObjectLiteral':
        throw new Untranslated('puts an object or a list into another', span, 'Give each value a column of its own.')
    }
  }

  #table(name: string): ArrayLike<Primitive> {
    return this.#ir.tables.find((table) => table.name === name)?.value ?? []
  }

  #unary({ operator, span }: Extract<Expr, { kind: 'Unary' }>, operand: Value): Value {
    switch (operator) {
      case '-': {
        if (operand.is === 'bigint') return opposite(operand, span)
        const number = asNumber(operand, span)
        return typeof operand.constant === 'number' ? constantValue(-operand.constant) : numberValue(call('negative', number))
      }
      case '+':
        return { ...numberValue(asNumber(operand, span)), ...(typeof operand.constant === 'number' ? { constant: operand.constant } : {}) }
      case '!':
        return boolValue(not(asTruth(operand, span)))
      case '~':
        return binary('^', {
          left: operand,
          right: operand.is === 'bigint' ? primitive(-1n, span) : constantValue(-1),
          span,
          scope: this.#scope,
        })
      case 'typeof':
        throw new Untranslated('asks for the type of a value', span, 'Columns have one type.')
    }
  }

  #logical({ operator, span }: Extract<Expr, { kind: 'Logical' }>, left: Value, right: Value): Value {
    if (operator === '??') return left.nullable ? either(call('isnotnull', left.expr), { ...left, nullable: false }, right, span) : left
    if (left.is === 'boolean' && !left.nullable && right.is === 'boolean' && !right.nullable) {
      // what may fail is asked for only where the left side does not tell
      if (mayRaise(right.expr))
        return boolValue(operator === '&&' ? when([[left.expr, right.expr]], FALSE) : when([[left.expr, TRUE]], right.expr))
      return boolValue(operator === '&&' ? and(left.expr, right.expr) : or(left.expr, right.expr))
    }
    const test = asTruth(left, span)
    return operator === '&&' ? either(test, right, left, span) : either(test, left, right, span)
  }
}

/** A field of an object in a column; of null it is undefined where the program says so, and else the query fails. */
function fieldOf(
  object: Value,
  { fields }: Extract<ColumnType, { kind: 'struct' }>,
  { name, optional, span }: Extract<Expr, { kind: 'Field' }>,
): Value {
  const field = fields.find((one) => one.name === name)
  if (field === undefined) return UNDEFINED_VALUE
  const of = optional || !object.nullable ? object : there(object, name, span)
  const child = { unresolvedExtractValue: { child: of.expr, extraction: text(name) } }
  const absent = absentOf([...(field.nullable ? [undefined] : []), ...(of.nullable ? (['undefined'] as const) : [])])
  return {
    expr: child,
    is: isOf(field.type),
    type: field.type,
    nullable: field.nullable || of.nullable,
    ...(absent === undefined ? {} : { absent }),
  }
}

function loops(span: Span): Untranslated {
  return new Untranslated('has a loop', span, 'Write it without, or use fallback: "local".')
}

/** The value, which has to be there; the query fails where it is null, as the program would. */
function there(value: Value, part: string, span: Span): Value {
  if (value.is === 'null') throw new Untranslated(`takes ${part} of null`, span, 'Take it of what is there.')
  const place = `${span.file === undefined ? '' : `${span.file}:`}${span.line}:${span.column}`
  // it reads the value, so that it is not found to be the same for all rows
  const isNull = cast(call('isnull', value.expr), 'STRING')
  const message = call('concat', text(`${part} of null at ${place}: write ?. before it (`), isNull, text(')'))
  const refused = cast(call('raise_error', message), sqlTypeOf(value.type))
  return { ...value, nullable: false, expr: when([[call('isnull', value.expr), refused]], value.expr) }
}
