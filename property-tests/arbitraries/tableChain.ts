/**
 * Random chains of table operations whose rows are the same in whatever order they come: what takes some of the rows
 * sorts them by all columns first, windows tell no peers apart. Which columns a step is about are places in the list of
 * those that there are, so that any chain fits any table.
 */
import fc from 'fast-check'
import { type DistArray, planOf } from '../../src/core/arrays/distArray.ts'
import { type Field, fieldsOf } from '../../src/core/data/schema.ts'
import { type ValueClass, valueClassOf } from '../../src/core/plan/elements.ts'
import {
  all,
  any,
  argMin,
  bucket,
  count,
  countDistinct,
  denseRank,
  max,
  mean,
  min,
  percentRank,
  quantile,
  rank,
  stddev,
  sum,
  variance,
  type WindowFunction,
} from '../../src/index.ts'

export type AnyTable = DistArray<Record<string, unknown>>
type Kind = 'number' | 'text' | 'date' | 'bigint' | 'boolean' | 'other'

const place = fc.nat(40)
const places = (least: number, most: number): fc.Arbitrary<readonly number[]> => fc.array(place, { minLength: least, maxLength: most })
const condition: fc.Arbitrary<Condition> = fc.record({ column: place, form: fc.nat(7), constant: fc.nat(9) })
const expression: fc.Arbitrary<Expression> = fc.record({ column: place, other: place, form: fc.nat(7), constant: fc.nat(9) })

interface Condition {
  readonly column: number
  readonly form: number
  readonly constant: number
}
interface Expression extends Condition {
  readonly other: number
}
interface Aggregated {
  readonly column: number
  readonly form: number
}
export type TableStep =
  | { readonly kind: 'filter'; readonly left: Condition; readonly right: Condition; readonly join: '&&' | '||' | '' }
  | { readonly kind: 'map' | 'widen'; readonly fields: readonly Expression[] }
  | { readonly kind: 'select' | 'drop'; readonly columns: readonly number[] }
  | { readonly kind: 'rename' | 'fill'; readonly column: number }
  | { readonly kind: 'distinct' }
  | {
      readonly kind: 'top'
      readonly n: number
      readonly from: number
      readonly descending: readonly boolean[]
      readonly nulls: 'first' | 'last' | undefined
      readonly cut: 'first' | 'behind' | 'last'
    }
  | { readonly kind: 'group'; readonly by: readonly number[]; readonly isObject: boolean; readonly values: readonly Aggregated[] }
  | { readonly kind: 'whole'; readonly values: readonly Aggregated[] }
  | { readonly kind: 'join'; readonly how: JoinHow; readonly column: number; readonly other: number; readonly isFunction: boolean }
  | { readonly kind: 'union'; readonly condition: Condition; readonly isOther: boolean }
  | {
      readonly kind: 'window'
      readonly by: number | null
      readonly order: number | null
      readonly descending: boolean
      readonly value: number
      readonly from: number | null
      readonly to: number | null
    }
  | { readonly kind: 'pivot'; readonly rows: number; readonly columns: number; readonly values: number; readonly form: number }
type JoinHow = 'inner' | 'left' | 'right' | 'full' | 'semi' | 'anti'

const tableStep: fc.Arbitrary<TableStep> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('filter' as const),
      left: condition,
      right: condition,
      join: fc.constantFrom('&&', '||', ''),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('map' as const), fields: fc.array(expression, { minLength: 2, maxLength: 5 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('widen' as const), fields: fc.array(expression, { minLength: 1, maxLength: 2 }) }),
  },
  fc.record({ kind: fc.constant('select' as const), columns: places(2, 5) }),
  fc.record({ kind: fc.constant('drop' as const), columns: places(1, 2) }),
  fc.record({ kind: fc.constant('rename' as const), column: place }),
  fc.record({ kind: fc.constant('fill' as const), column: place }),
  fc.record({ kind: fc.constant('distinct' as const) }),
  fc.record({
    kind: fc.constant('top' as const),
    n: fc.nat(25),
    from: place,
    descending: fc.array(fc.boolean(), { minLength: 1, maxLength: 4 }),
    nulls: fc.constantFrom(undefined, 'first' as const, 'last' as const),
    cut: fc.constantFrom('first' as const, 'first' as const, 'behind' as const, 'last' as const),
  }),
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('group' as const),
      by: places(1, 2),
      isObject: fc.boolean(),
      values: fc.array(fc.record({ column: place, form: fc.nat(11) }), { minLength: 1, maxLength: 4 }),
    }),
  },
  fc.record({
    kind: fc.constant('whole' as const),
    values: fc.array(fc.record({ column: place, form: fc.nat(11) }), { minLength: 1, maxLength: 3 }),
  }),
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('join' as const),
      how: fc.constantFrom('inner' as const, 'left' as const, 'right' as const, 'full' as const, 'semi' as const, 'anti' as const),
      column: place,
      other: place,
      isFunction: fc.boolean(),
    }),
  },
  fc.record({ kind: fc.constant('union' as const), condition, isOther: fc.boolean() }),
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('window' as const),
      by: fc.option(place),
      order: fc.option(place),
      descending: fc.boolean(),
      value: place,
      from: fc.constantFrom(null, -2, 0),
      to: fc.constantFrom(null, 0, 3),
    }),
  },
  fc.record({ kind: fc.constant('pivot' as const), rows: place, columns: place, values: place, form: fc.nat(4) }),
)

export const tableSteps: fc.Arbitrary<readonly TableStep[]> = fc.array(tableStep, { minLength: 1, maxLength: 5 })

/** The chain over the tables of one session. Columns are those of the plans, which all sessions have alike. */
export function chainOf(steps: readonly TableStep[], table: AnyTable, other: AnyTable): AnyTable {
  return steps.reduce((so, step, i) => after(so, step, { other, name: `x${i}` }), table)
}

/** How many columns a chain may have; joins and windows add to them. */
const MOST_COLUMNS = 16

interface Around {
  readonly other: AnyTable
  /** For what the step adds. */
  readonly name: string
}

function after(table: AnyTable, step: TableStep, { other, name }: Around): AnyTable {
  const fields = columnsOf(table)
  const at = (one: number): Field => fields[one % fields.length] as Field
  const chosen = (from: readonly number[]): readonly string[] => [...new Set(from.map((one) => at(one).name))]
  const kindAt = (one: number, kinds: readonly Kind[]): Field | undefined => {
    const those = fields.filter((field) => kinds.includes(kindOf(field)))
    return those[one % Math.max(1, those.length)]
  }
  switch (step.kind) {
    case 'filter': {
      const [left, right] = [conditionText(step.left, fields), conditionText(step.right, fields)]
      return table.filter(functionOf(step.join === '' ? left : `${left} ${step.join} ${right}`))
    }
    case 'map':
      return table.map(functionOf(objectText(step.fields.map((one, i) => [`${name}_${i}`, expressionText(one, fields)]))))
    case 'widen':
      return table.withColumns(
        functionOf(objectText(step.fields.map((one, i) => [i === 0 ? name : at(one.other).name, expressionText(one, fields)]))),
      ) as AnyTable
    case 'select':
      return table.select(...chosen(step.columns)) as AnyTable
    case 'drop': {
      const gone = chosen(step.columns)
      return gone.length === fields.length ? table : (table.drop(...gone) as AnyTable)
    }
    case 'rename':
      return table.rename({ [at(step.column).name]: name }) as AnyTable
    case 'fill': {
      const field = at(step.column)
      const value = { number: 0.5, text: 'none', date: new Date(3_600_000), bigint: 3n, boolean: true, other: undefined }[kindOf(field)]
      return value === undefined || !field.nullable ? table : (table.fillNull({ [field.name]: value } as never) as AnyTable)
    }
    case 'distinct':
      return table.distinct()
    case 'top': {
      const from = step.from % fields.length
      const keys = [...fields.slice(from), ...fields.slice(0, from)].map((field, i) => ({
        by: functionOf(columnText(field)),
        order: step.descending[i % step.descending.length] === true ? 'descending' : 'ascending',
        ...(step.nulls === undefined ? {} : { nulls: step.nulls }),
      }))
      const sorted = table.sortBy(keys as never)
      if (step.cut === 'last') return sorted.tail(step.n)
      return sorted.limit(step.n, step.cut === 'behind' ? { offset: 3 } : {})
    }
    case 'group': {
      const by = chosen(step.by)
      const key = by.length === 1 && !step.isObject ? `r["${by[0]}"]` : objectText(by.map((one) => [one, `r["${one}"]`]))
      return table.groupBy(functionOf(key)).agg(aggregates(step.values, fields, name)) as unknown as AnyTable
    }
    case 'whole':
      return table.agg(aggregates(step.values, fields, name)) as unknown as AnyTable
    case 'join': {
      const theirs = columnsOf(other)
      if (fields.length + theirs.length > MOST_COLUMNS && step.how !== 'semi' && step.how !== 'anti') return table
      const their = theirs[step.other % theirs.length] as Field
      const same = fields.filter((one) => theirs.some((field) => field.name === one.name && kindOf(field) === kindOf(one)))
      const shared = same[step.column % Math.max(1, same.length)]
      const own = kindAt(step.column, [kindOf(their)])
      const options = { how: step.how, suffix: `_${name}` } as const
      if (!step.isFunction && shared !== undefined) return table.join(other, shared.name as never, options) as unknown as AnyTable
      if (own === undefined || kindOf(own) === 'other') return table
      return table.join(
        other,
        { left: functionOf(`r["${own.name}"]`), right: functionOf(`r["${their.name}"]`) } as never,
        options,
      ) as unknown as AnyTable
    }
    case 'union': {
      const kept = table.filter(functionOf(conditionText(step.condition, fields)))
      if (!step.isOther) return table.union(kept as never) as unknown as AnyTable
      const clash = columnsOf(other).some((field) => fields.some((one) => one.name === field.name && kindOf(one) !== kindOf(field)))
      return clash || fields.length > MOST_COLUMNS ? table : (table.union(other as never, { columns: 'all' }) as unknown as AnyTable)
    }
    case 'window': {
      if (fields.length > MOST_COLUMNS) return table
      const value = kindAt(step.value, ['number'])
      const order = step.order === null ? undefined : kindAt(step.order, ['number', 'date', 'text'])
      const over = {
        ...(step.by === null ? {} : { by: functionOf(`r["${at(step.by).name}"]`) }),
        ...(order === undefined ? {} : { orderBy: functionOf(columnText(order)), descending: step.descending }),
      }
      const functions: Record<string, unknown> = { [`${name}_n`]: count() }
      if (order !== undefined)
        Object.assign(functions, { [`${name}_rank`]: rank(), [`${name}_dense`]: denseRank(), [`${name}_percent`]: percentRank() })
      if (value !== undefined) {
        const of = functionOf(`r["${value.name}"]`)
        Object.assign(functions, { [`${name}_sum`]: sum(of as never), [`${name}_least`]: min(of), [`${name}_most`]: max(of) })
      }
      const isRange = order !== undefined && kindOf(order) === 'number'
      const [from, to] = [step.from, step.to]
      const frame = !isRange ? {} : { frame: { range: [from, to] } }
      return table.window(
        { ...over, ...frame } as never,
        functions as Record<string, WindowFunction<Record<string, unknown>, unknown>>,
      ) as AnyTable
    }
    case 'pivot': {
      const columns = kindAt(step.columns, ['text'])
      const values = kindAt(step.values, ['number'])
      const rows = at(step.rows)
      if (columns === undefined || values === undefined || rows.name === columns.name || rows.name === values.name) return table
      const agg = (['count', 'sum', 'min', 'max', 'mean'] as const)[step.form]
      return table.pivot({
        rows: [rows.name],
        columns: columns.name,
        values: values.name,
        agg,
        names: ['a', 'b', 'x'],
      } as never) as unknown as AnyTable
    }
  }
}

export function columnsOf(table: AnyTable): readonly Field[] {
  return fieldsOf(planOf(table).element)
}

function kindOf({ type }: Field): Kind {
  return KINDS[valueClassOf(type)] ?? 'other'
}

const KINDS: Readonly<Partial<Record<ValueClass, Kind>>> = {
  number: 'number',
  bigint: 'bigint',
  boolean: 'boolean',
  string: 'text',
  Date: 'date',
}

/** Functions are lowered from their text, as those that users write. */
function functionOf(returned: string): (row: Record<string, unknown>) => never {
  return new Function('bucket', `return (r) => ${returned}`)(bucket) as (row: Record<string, unknown>) => never
}

function objectText(fields: readonly (readonly [string, string])[]): string {
  return `({ ${fields.map(([name, value]) => `"${name}": ${value}`).join(', ')} })`
}

/** A value of a column that orders rows; dates are compared as numbers. */
function columnText({ name }: Field): string {
  return `r["${name}"]`
}

const BUCKETS = ['15 minutes', '1 day', '2 weeks', '1 month', '5 months', '1 quarter', '3 years'] as const
const TEXTS = ['a', 'b', 'ä', '', 'x', 'zz', 'é'] as const

function conditionText({ column, form, constant }: Condition, fields: readonly Field[]): string {
  const field = fields[column % fields.length] as Field
  const cell = `r["${field.name}"]`
  if (form === 6) return `${cell} === null`
  if (form === 7) return `${cell} != null`
  const operator = ['<', '<=', '>', '>=', '===', '!=='][form] as string
  switch (kindOf(field)) {
    case 'number':
      return form === 5 && constant > 4 ? `!(${cell} > ${constant - 4})` : `${cell} ${operator} ${constant - 4}`
    case 'text': {
      const text = TEXTS[constant % TEXTS.length] as string
      if (form > 3) return `${cell} ${operator} "${text}"`
      return form > 1 ? `(${cell} ?? "").startsWith("${text}")` : `(${cell} ?? "") ${operator} "${text}"`
    }
    case 'date':
      return `(${cell}?.getTime() ?? 0) ${form > 3 ? '>=' : operator} ${(constant - 4) * 3_600_000}`
    case 'bigint':
      return `${cell} ${operator} ${(constant - 4) * 1000}n`
    case 'boolean':
      return form > 2 ? `${cell} === true` : `!${cell}`
    case 'other':
      return `${cell} !== null`
  }
}

function expressionText({ column, other, form, constant }: Expression, fields: readonly Field[]): string {
  const field = fields[column % fields.length] as Field
  const numbers = fields.filter((one) => kindOf(one) === 'number')
  const second = numbers.length === 0 ? String(constant) : `r["${numbers[other % numbers.length]?.name}"]`
  const cell = `r["${field.name}"]`
  if (form === 0) return cell
  switch (kindOf(field)) {
    case 'number':
      return [
        `${cell} * 2`,
        `${cell} + ${second}`,
        `Math.abs(${cell}) - 1`,
        `${cell} ?? ${constant}`,
        `${cell} > ${second} ? 1 : 0`,
        `Math.floor(${cell} / 2)`,
        `${cell} / 4`,
      ][form - 1] as string
    case 'text':
      return [
        `${cell} ?? "-"`,
        `(${cell} ?? "").length`,
        `(${cell} ?? "").toUpperCase()`,
        `${cell} === null ? null : ${cell} + "!"`,
        `${cell} === "a"`,
        `(${cell} ?? "") + "_"`,
        `(${cell} ?? "").includes("z")`,
      ][form - 1] as string
    case 'date':
      return [
        cell,
        `${cell} === null ? 0 : ${cell}.getTime()`,
        `${cell} === null`,
        `${cell} === null ? -1 : ${cell}.getUTCHours()`,
        `bucket(${cell}, { every: "${BUCKETS[constant % BUCKETS.length]}" })`,
        `${cell} === null ? "" : ${cell}.toISOString()`,
        `${cell}?.getTime() ?? 1`,
      ][form - 1] as string
    case 'boolean':
      return [`!${cell}`, `${cell} ? 1 : 0`, cell, cell, `${cell} ?? false`, `${cell} === true`, cell][form - 1] as string
    case 'bigint':
      return [cell, `(${cell} ?? 2n) + 1n`, `${cell} === null`, `Number(${cell} ?? 0n)`, `(${cell} ?? -7n) / 2n`, `-(${cell} ?? 1n)`, cell][
        form - 1
      ] as string
    case 'other':
      return form > 4 ? `${cell} === null` : cell
  }
}

function aggregates(values: readonly { readonly column: number; readonly form: number }[], fields: readonly Field[], name: string): never {
  return Object.fromEntries(
    values.map(({ column, form }, i) => {
      const field = fields[column % fields.length] as Field
      const of = functionOf(`r["${field.name}"]`)
      const least = ((by: typeof of) => argMin(by, by)) as typeof min
      const ofNumber = [sum, mean, min, max, variance, stddev, (by: never) => quantile(by, 0.5), least][form % 8] as typeof sum
      const ofText = [count, countDistinct, min, max, least][form % 5] as typeof count
      const ofBigint = [sum, min, max, countDistinct, least][form % 5] as typeof count
      const truths = [any, all, count][form % 3] as typeof any
      const kind = kindOf(field)
      const made =
        form === 0
          ? count()
          : form === 1
            ? countDistinct(of)
            : kind === 'number'
              ? ofNumber(of)
              : kind === 'boolean'
                ? truths(of)
                : kind === 'other'
                  ? count(of)
                  : kind === 'bigint'
                    ? ofBigint(of)
                    : ofText(of)
      return [`${name}_${i}`, made]
    }),
  ) as never
}
