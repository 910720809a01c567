/** Expressions of Spark, made by hand: literals, columns, functions, casts. */
import type { Expression, Relation } from '../messages.ts'

export function call(name: string, ...args: readonly Expression[]): Expression {
  return { unresolvedFunction: { functionName: name, arguments: args, isDistinct: false } }
}

export function distinctCall(name: string, ...args: readonly Expression[]): Expression {
  return { unresolvedFunction: { functionName: name, arguments: args, isDistinct: true } }
}

/** A column by its whole name, whatever characters it has. */
export function column(name: string): Expression {
  return { unresolvedAttribute: { unparsedIdentifier: quoted(name) } }
}

export function quoted(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``
}

export function double(value: number): Expression {
  return { literal: { double: value } }
}

export function long(value: bigint): Expression {
  return { literal: { long: value } }
}

export function int(value: number): Expression {
  return { literal: { integer: value } }
}

export function text(value: string): Expression {
  return { literal: { string: value } }
}

export function bool(value: boolean): Expression {
  return { literal: { boolean: value } }
}

/** Days since the epoch. */
export function date(days: number): Expression {
  return { literal: { date: days } }
}

export const NULL: Expression = { literal: { null: { null: {} } } }
export const TRUE: Expression = bool(true)
export const FALSE: Expression = bool(false)

/** A cast to a type as SQL writes it. */
export function cast(expr: Expression, type: string): Expression {
  return { cast: { expr, typeStr: type } }
}

export function alias(expr: Expression, name: string): Expression {
  return { alias: { expr, name: [name] } }
}

export function and(...all: readonly Expression[]): Expression {
  return all.reduce((a, b) => call('and', a, b))
}

export function or(...all: readonly Expression[]): Expression {
  return all.reduce((a, b) => call('or', a, b))
}

export function not(of: Expression): Expression {
  return call('not', of)
}

/** `CASE WHEN test THEN value … ELSE other END`. */
export function when(branches: readonly (readonly [test: Expression, value: Expression])[], other: Expression): Expression {
  return call('when', ...branches.flat(), other)
}

export function project(input: Relation, expressions: readonly Expression[]): Relation {
  return { project: { input, expressions } }
}
