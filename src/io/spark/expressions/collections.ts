/**
 * Look-ups in what a function captured: lists by place, and Maps, Sets, lists and objects by key. What they hold goes along with the
 * query, so it may not be much.
 *
 *     rates[r.kind]            get(array(1.0, 1.1), kind), where kind is a place
 *     rates.get(r.currency)    element_at(map('EUR', 1.0, 'USD', 1.1), currency), where currency is one of the keys
 */
import type { Find } from '../../../core/ir/collections.ts'
import type { Primitive } from '../../../core/ir/functionIr.ts'
import type { Span } from '../../../core/span.ts'
import type { Expression } from '../messages.ts'
import type { Scope } from '../scope.ts'
import { sqlTypeOf } from '../sparkTypes.ts'
import { Untranslated } from '../untranslated.ts'
import { and, call, cast, double, FALSE, NULL, not, or, text, when } from './build.ts'
import { asText } from './operators.ts'
import { absentOf, asNumber, boolValue, either, hasUndefined, NULL_VALUE, primitive, UNDEFINED_VALUE, type Value } from './values.ts'

type Table = ArrayLike<Primitive>
interface Context {
  readonly span: Span
  readonly scope: Scope
}

const MOST_VALUES = 1000
/** The names of what every object inherits: no values that a column could hold. */
const INHERITED = Object.getOwnPropertyNames(Object.prototype)

/** The element at a place of a list; undefined where there is none. */
export function elementOf(list: Table, index: Value, { span, scope }: Context): Value {
  if (typeof index.constant === 'number') return primitive(list[index.constant], span)
  if (list.length === 0 || index.is === 'null' || index.is === 'boolean' || index.is === 'Date') return UNDEFINED_VALUE
  const { items, of } = constants(list, span)
  const place = scope.bindExpr(call('+', asNumber({ ...index, nullable: false }, span), double(0))) // -0 is 0
  // null is no place
  const isPlace = and(
    ...(index.nullable ? [call('isnotnull', index.expr)] : []),
    call('>=', place, double(0)),
    call('<', place, double(list.length)),
    call('=', call('%', place, double(1)), double(0)),
  )
  const value = { ...of, expr: call('get', call('array', ...items), cast(place, 'INT')) }
  return either(isPlace, of.is === 'null' ? of : value, UNDEFINED_VALUE, span)
}

/** The value that a collection has for a key, undefined where it has none; for one without values, whether it has the key. */
export function foundIn({ of, keys, values, span }: Find, table: (name: string) => Table, key: Value, scope: Scope): Value {
  const all = Array.from(table(keys))
  const held = values === undefined ? undefined : table(values)
  const pairs = new Map(all.map((one, i) => [of === 'keyed' ? one : String(one), held?.[i]]))
  const asked = scope.bind(of === 'keyed' ? key : { is: 'string', type: { kind: 'utf8' }, nullable: false, expr: asText(key, span) })
  if (of !== 'object') return lookedUp(pairs, asked, held !== undefined, { span, scope })
  const isInherited = call('in', asked.expr, ...INHERITED.filter((name) => !pairs.has(name)).map(text))
  const own = lookedUp(pairs, asked, held !== undefined, { span, scope })
  if (held === undefined) return boolValue(or(isInherited, own.expr))
  const refused = call(
    'raise_error',
    call('concat', text('A captured object has what it inherits for this key. Make it a Map: '), asked.expr),
  )
  return { ...own, expr: when([[isInherited, cast(refused, sqlTypeOf(own.type))]], own.expr) }
}

function lookedUp(pairs: ReadonlyMap<Primitive, Primitive>, key: Value, hasValues: boolean, { span, scope }: Context): Value {
  const own = [...pairs.keys()].filter((one) => kindOf(one) === key.is && !Number.isNaN(one))
  const valueFor = (one: Primitive): Value =>
    hasValues ? primitive(pairs.get(one), span) : boolValue({ literal: { boolean: pairs.has(one) } })
  const missing = hasValues ? UNDEFINED_VALUE : boolValue(FALSE)
  const ofNull = valueFor(hasUndefined(key, span) ? undefined : null)
  if (key.is === 'null') return ofNull
  if (key.is === 'Date' || key.is === 'other')
    throw new Untranslated(
      `looks a ${key.is === 'Date' ? 'date' : 'value'} up in a captured collection`,
      span,
      'Look up its getTime(), or join a table.',
    )
  let found = missing
  if (own.length > 0) {
    const { items: keys } = constants(own, span)
    const expr = scope.bindExpr(equalZeros(key))
    const isThere = key.is === 'number' ? and(call('in', expr, ...keys), not(call('isnan', expr))) : call('in', expr, ...keys)
    if (!hasValues) found = boolValue(isThere)
    else {
      const { items, of } = constants(
        own.map((one) => pairs.get(one)),
        span,
      )
      const value = call('element_at', call('map', ...keys.flatMap((one, i) => [one, items[i] ?? NULL])), expr)
      found = either(isThere, of.is === 'null' ? of : { ...of, expr: value }, missing, span)
    }
  }
  if (key.is === 'number' && pairs.has(Number.NaN)) found = either(call('isnan', key.expr), valueFor(Number.NaN), found, span)
  // where it is null no test before was true or false
  return key.nullable ? scope.bind(either(call('isnull', key.expr), ofNull, found, span)) : found
}

/** A key in which -0 is 0: engines compare keys by their bits. */
function equalZeros({ expr, is }: Value): Expression {
  return is === 'number' ? call('+', cast(expr, 'DOUBLE'), double(0)) : expr
}

function kindOf(value: Primitive): Value['is'] {
  return value === null || value === undefined ? 'null' : (typeof value as 'number' | 'string' | 'boolean' | 'bigint')
}

/** Values of one kind, those that are null among them, as expressions; `of` says what each of them is. */
function constants(values: Table, span: Span): { readonly items: readonly Expression[]; readonly of: Value } {
  if (values.length > MOST_VALUES)
    throw new Untranslated(
      `looks something up in ${values.length} captured values`,
      span,
      `Join them as a table, or capture at most ${MOST_VALUES}.`,
    )
  const all = Array.from(values, (value) => primitive(value, span))
  const some = all.filter(({ is }) => is !== 'null')
  const [first] = some
  const nulls = all.filter(({ is }) => is === 'null')
  const absent = absentOf(nulls.map((one) => one.absent))
  const other = some.find(({ is }) => is !== first?.is)
  if (first === undefined) return { items: all.map(() => NULL), of: { ...NULL_VALUE, ...(absent === undefined ? {} : { absent }) } }
  if (other !== undefined) throw new Untranslated(`is a ${first.is} or a ${other.is}`, span, 'Make values of one kind of both.')
  const { constant: _, ...of } = first
  const none = cast(NULL, sqlTypeOf(of.type))
  return {
    items: all.map(({ is, expr }) => (is === 'null' ? none : expr)),
    of: { ...of, nullable: nulls.length > 0, ...(absent === undefined ? {} : { absent }) },
  }
}
