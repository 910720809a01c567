/** Joins as relations of Spark. Null matches nothing, and NaN itself, for both. */
import { howRun, sharedColumns } from '../../core/plan/combinations.ts'
import type { JoinHow, LogicalPlan } from '../../core/plan/logicalPlan.ts'
import type { Span } from '../../core/span.ts'
import { and, call, column } from './expressions/build.ts'
import { type Result, resultOf } from './expressions/functions.ts'
import { asLong, columnValue, equalForm, isIntegral, milliseconds, type Value } from './expressions/values.ts'
import type { Expression, Join_JoinType } from './messages.ts'
import {
  argumentOf,
  elementFields,
  type Made,
  namesOf,
  newScope,
  projected,
  renamed,
  type Translated,
  type Translator,
} from './translated.ts'
import { Untranslated } from './untranslated.ts'

const TYPES: Readonly<Record<JoinHow, Join_JoinType>> = {
  inner: 'JOIN_TYPE_INNER',
  left: 'JOIN_TYPE_LEFT_OUTER',
  right: 'JOIN_TYPE_RIGHT_OUTER',
  full: 'JOIN_TYPE_FULL_OUTER',
  semi: 'JOIN_TYPE_LEFT_SEMI',
  anti: 'JOIN_TYPE_LEFT_ANTI',
  cross: 'JOIN_TYPE_CROSS',
}

type Join = Extract<LogicalPlan, { readonly kind: 'Join' }>

export function joined(plan: Join, sides: readonly [Translated, Translated], translator: Translator): Translated {
  const { on } = plan
  const how = howRun(plan)
  const [left, right] = [renamed(sides[0], translator), renamed(sides[1], translator)]
  const scopes = [newScope(translator), newScope(translator)] as const
  const condition = conditionOf(plan, [left, right], scopes)
  const relation = {
    join: {
      left: scopes[0].over(left.relation, namesOf(left)),
      right: scopes[1].over(right.relation, namesOf(right)),
      joinType: TYPES[how],
      ...(condition === undefined ? {} : { joinCondition: condition }),
    },
  }
  const shared = sharedColumns(on)
  const rightColumns = how === 'semi' || how === 'anti' ? [] : right.columns.filter(({ field }) => !shared.includes(field.name))
  const sources = [...left.columns, ...rightColumns]
  const made = elementFields(plan.element).flatMap((field, i): Made[] => {
    const own = sources[i]
    if (own === undefined) return []
    const isKey = shared.includes(own.field.name) && i < left.columns.length && (how === 'right' || how === 'full')
    const other = isKey ? right.columns.find((one) => one.field.name === own.field.name) : undefined
    return [{ field, expr: other === undefined ? column(own.name) : call('coalesce', column(own.name), column(other.name)) }]
  })
  return projected({ relation, columns: sources }, made, { names: translator.names })
}

function conditionOf(
  { on, left, right }: Join,
  sides: readonly [Translated, Translated],
  scopes: readonly [ReturnType<typeof newScope>, ReturnType<typeof newScope>],
): Expression | undefined {
  switch (on.kind) {
    case 'none':
      return undefined
    case 'column': {
      const [a, b] = sides.map(({ columns }) => columns.find(({ field }) => field.name === on.column))
      if (a === undefined || b === undefined)
        throw new Untranslated(`joins on a column ${on.column}, which is not there`, undefined, 'Join on another one.')
      return equalKeys(columnValue(a.name, a.field.type, true), columnValue(b.name, b.field.type, true), undefined)
    }
    case 'functions': {
      const ours = resultOf(on.left, [argumentOf(left.element, sides[0])], scopes[0])
      const theirs = resultOf(on.right, [argumentOf(right.element, sides[1])], scopes[1])
      const pairs = pairsOf(ours, theirs, on.left.span)
      return and(...pairs.map(([a, b]) => equalKeys(scopes[0].bind(a), scopes[1].bind(b), on.left.span)))
    }
  }
}

function pairsOf(a: Result, b: Result, span: Span): readonly (readonly [Value, Value])[] {
  if (a.kind === 'value' && b.kind === 'value') return [[a.value, b.value]]
  if (a.kind === 'list' && b.kind === 'list' && a.items.length === b.items.length && a.items.length > 0)
    return a.items.flatMap((item, i) => {
      const other = b.items[i]
      return other === undefined ? [] : [[item, other] as const]
    })
  if (a.kind === 'row' && b.kind === 'row' && a.fields.length === b.fields.length && a.fields.length > 0)
    return a.fields.map(({ name, value }) => {
      const other = b.fields.find((field) => field.name === name)
      if (other === undefined)
        throw new Untranslated(`joins on objects of which one has no field ${name}`, span, 'Return objects with the same fields.')
      return [value, other.value]
    })
  throw new Untranslated('joins on keys of two kinds', span, 'Return values, or lists of one length, from both functions.')
}

function equalKeys(a: Value, b: Value, span: Span | undefined): Expression {
  if (a.is === 'null' || b.is === 'null') return { literal: { boolean: false } }
  if (a.is !== b.is) throw new Untranslated(`joins a ${a.is} with a ${b.is}`, span, 'Return values of one kind from both functions.')
  if (a.is === 'other') throw new Untranslated('joins on lists or objects of columns', span, 'Return their values in a list.')
  if (a.is === 'Date')
    return a.type.kind === 'date' && b.type.kind === 'date' ? call('=', a.expr, b.expr) : call('=', milliseconds(a), milliseconds(b))
  if (isIntegral(a) && isIntegral(b)) return call('=', asLong(a), asLong(b))
  return call('=', equalForm(a), equalForm(b))
}
