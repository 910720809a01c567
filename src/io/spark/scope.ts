/**
 * The scope in which the functions of one operation are translated: the columns of its input, and columns of its own for what
 * is computed once and used several times, since Spark's expressions have no variables.
 *
 *     Project [c1, c2, t1 + t1]
 *       Project [c1, c2, c1 * c2 as t1]       a stage of columns
 *         input
 */
import { alias, column, project } from './expressions/build.ts'
import type { Value } from './expressions/values.ts'
import type { Expression, Relation } from './messages.ts'

/** Names of columns that no other part of the plan has. */
export interface Names {
  next(): string
}

export function names(): Names {
  let count = 0
  return { next: () => `c${count++}` }
}

export interface Scope {
  /** Makes a column of the value, so that it is cheap to use again and again; a simple one, or one that may fail, stays. */
  bind(value: Value): Value
  bindExpr(expr: Expression): Expression
  /** The input projected to `columns` and those that the scope has made. */
  over(input: Relation, columns: readonly string[]): Relation
}

export function scopeOf(given: Names): Scope {
  const stages: { readonly name: string; readonly expr: Expression }[][] = []
  const stageOf = new Map<string, number>()
  const known = new Map<string, string>()
  const bindExpr = (expr: Expression): Expression => {
    // what may fail stays where it is: under the condition that it has in the program
    if (isSimple(expr) || mayRaise(expr)) return expr
    const text = JSON.stringify(expr, (_, value: unknown) => textOf(value))
    let name = known.get(text)
    if (name === undefined) {
      name = given.next()
      const stage = columnsIn(expr).reduce((last, one) => Math.max(last, (stageOf.get(one) ?? -1) + 1), 0)
      ;(stages[stage] ??= []).push({ name, expr })
      stageOf.set(name, stage)
      known.set(text, name)
    }
    return column(name)
  }
  return {
    bindExpr,
    bind: (value) => ({ ...value, expr: bindExpr(value.expr) }),
    over(input, columns) {
      const kept = [...columns]
      return stages.reduce((below, stage) => {
        const made = stage.map(({ name, expr }) => alias(expr, name))
        const all = project(below, [...kept.map(column), ...made])
        kept.push(...stage.map(({ name }) => name))
        return all
      }, input)
    },
  }
}

/** A value as JSON that tells it apart: JSON has neither bigints nor these numbers. */
function textOf(value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}n`
  return typeof value === 'number' && (!Number.isFinite(value) || Object.is(value, -0))
    ? `number ${Object.is(value, -0) ? '-0' : value}`
    : value
}

function isSimple({ literal, unresolvedAttribute }: Expression): boolean {
  return literal !== undefined || unresolvedAttribute !== undefined
}

export function mayRaise(expr: Expression): boolean {
  return expr.unresolvedFunction?.functionName === 'raise_error' || partsOf(expr).some(mayRaise)
}

function columnsIn(expr: Expression): readonly string[] {
  const name = expr.unresolvedAttribute?.unparsedIdentifier
  return [...(name === undefined ? [] : [name.slice(1, -1)]), ...partsOf(expr).flatMap(columnsIn)]
}

function partsOf({ unresolvedFunction, alias: named, cast, unresolvedExtractValue }: Expression): readonly Expression[] {
  const one = [named?.expr, cast?.expr, unresolvedExtractValue?.child].flatMap((part) => part ?? [])
  return [...one, ...(unresolvedFunction?.arguments ?? [])]
}
