/** The types that translations of plans share: relations with their columns, and the translator. */

import { type ElementType, type Field, fieldsOf, VALUE_COLUMN } from '../../core/data/schema.ts'
import type { LogicalPlan } from '../../core/plan/logicalPlan.ts'
import { alias, column, project } from './expressions/build.ts'
import type { Argument } from './expressions/functions.ts'
import { columnValue } from './expressions/values.ts'
import type { Expression, Relation } from './messages.ts'
import { type Names, type Scope, scopeOf } from './scope.ts'

/** A column of a relation, by the name that it has there alone, and its field in the plan. */
export interface SparkColumn {
  readonly name: string
  readonly field: Field
}

export interface Translated {
  readonly relation: Relation
  readonly columns: readonly SparkColumn[]
}

export interface Translator {
  readonly names: Names
  of(plan: LogicalPlan): Translated
}

/** The columns of an element; a single value is one. */
export function elementFields(element: ElementType): readonly Field[] {
  return element.kind === 'scalar' ? [{ name: VALUE_COLUMN, type: element.type, nullable: element.nullable }] : fieldsOf(element)
}

export function argumentOf(element: ElementType, { columns }: Translated): Argument {
  return { element, columns: new Map(columns.map(({ name, field }) => [field.name, columnValue(name, field.type, field.nullable)])) }
}

/** A column to be made: with a name of its own. */
export interface Made {
  readonly field: Field
  readonly expr: Expression
}

/** The input projected to other columns; `scope` has the columns that they are made of. */
export function projected(
  input: Translated,
  made: readonly Made[],
  { names, scope }: { readonly names: Names; readonly scope?: Scope },
): Translated {
  const columns = made.map(({ field }): SparkColumn => ({ name: names.next(), field }))
  const below = scope === undefined ? input.relation : scope.over(input.relation, namesOf(input))
  const expressions = made.map(({ expr }, i) => alias(expr, columns[i]?.name ?? ''))
  // a relation without columns has no rows for some servers
  return { relation: project(below, expressions.length === 0 ? [alias({ literal: { integer: 1 } }, names.next())] : expressions), columns }
}

export function namesOf({ columns }: Translated): readonly string[] {
  return columns.map(({ name }) => name)
}

/** Renames the columns to names that nothing else has: the sides of a join may have one origin. */
export function renamed(input: Translated, translator: Translator): Translated {
  return projected(
    input,
    input.columns.map(({ name, field }) => ({ field, expr: column(name) })),
    { names: translator.names },
  )
}

export function newScope(translator: Translator): Scope {
  return scopeOf(translator.names)
}
