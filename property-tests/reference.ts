/**
 * The dullest interpreter of plans: plain arrays of elements, the user's own functions, quadratic where that is
 * simplest. What an operator means is what this file says.
 *
 * Elements of one array agree on their fields, as columns do: what a row lacks is null, and undefined is null.
 */

import { compareKeys } from '../src/core/arrays/indexSpace.ts'
import { uniformAt } from '../src/core/arrays/random.ts'
import { mapFolding } from '../src/core/ir/folding.ts'
import { sharedColumns } from '../src/core/plan/combinations.ts'
import type { AggregateCall, AsofDirection, Directions, GroupHow, LogicalPlan } from '../src/core/plan/logicalPlan.ts'
import { EXACT_HASHES, EXACT_VALUES } from '../src/exec/tables/operators/groupBy/sketches.ts'
import { permutationOf } from '../src/exec/tables/operators/permutation.ts'
import { windowed } from './windowReference.ts'

export interface Entry {
  readonly key: readonly number[]
  readonly value: unknown
}
type Row = Readonly<Record<string, unknown>>
type AnyFunction = (...args: readonly unknown[]) => unknown

/** What stands behind the scans of a plan, by source; and behind what is stored, by storage: entries. */
export type Tables = ReadonlyMap<object, readonly unknown[]>

/** The elements of a plan in order, with their keys: row numbers unless the plan's keys are explicit. */
export function interpret(plan: LogicalPlan, tables: Tables): readonly Entry[] {
  const explicit = plan.keys.kind === 'explicit'
  const below = (input: LogicalPlan) => interpret(input, tables)
  const numbered = (entries: readonly Entry[]) => (explicit ? entries : table(entries.map(({ value }) => value)))
  switch (plan.kind) {
    case 'Scan': {
      const rows = tables.get(plan.source) ?? []
      return table(rows.map((row) => (plan.element.kind === 'row' ? pick(row as Row, plan.columns) : row)))
    }
    case 'Map':
      return keyed(below(plan.input), unified(below(plan.input).map((e) => call(plan.f)(e.value, e.key))))
    case 'Filter':
      return numbered(below(plan.input).filter((e) => call(plan.f)(e.value, e.key)))
    case 'WithColumns':
      return keyed(
        below(plan.input),
        unified(below(plan.input).map((e) => ({ ...(e.value as Row), ...(call(plan.f)(e.value, e.key) as Row) }))),
      )
    case 'FlatMap':
      return table(unified(below(plan.input).flatMap((e) => [...(call(plan.f)(e.value, e.key) as unknown[])])))
    case 'MapPartitions':
      return table(
        unified([
          ...(call(plan.f)(
            below(plan.input).map((e) => e.value),
            0,
          ) as Iterable<unknown>),
        ]),
      )
    case 'Project':
      return below(plan.input).map((e) => ({ ...e, value: pick(withColumns(e.value as Row, plan.columns), plan.columns) }))
    case 'Cast':
      return below(plan.input).map((e) => ({ ...e, value: plan.dtype === 'i64' && e.value !== null ? BigInt(e.value as number) : e.value }))
    case 'Index':
      return indexed(below(plan.input), plan)
    case 'GroupBy': {
      const groups = grouped(below(plan.input), (e) => (plan.by.kind === 'axis' ? e.key[plan.by.axis] : call(plan.by.f)(e.value, e.key)))
      if (groups.length === 0 && plan.how.kind === 'agg' && plan.how.whole === true) return table([ofNothing(plan, plan.how)])
      const isNamed = groups.every(({ key }) => isRow(key)) // one key that is no object takes the names of all
      return table(unified(groups.map((group) => ofGroup(group, plan.how, isNamed))))
    }
    case 'Join':
      return table(joined(plan, below(plan.left), below(plan.right)))
    case 'AsofJoin':
      return table(joinedAsof(plan, below(plan.left), below(plan.right)))
    case 'Sort':
      return table(
        sorted(below(plan.input), (v) => call(plan.by)(v), plan.descending)
          .slice(0, plan.limit)
          .map((e) => e.value),
      )
    case 'Window': {
      const rows = below(plan.input)
      const { by, orderBy, descending, frame } = plan
      const bigints =
        plan.element.kind === 'row' ? plan.element.fields.filter(({ type }) => type.kind === 'i64').map(({ name }) => name) : []
      const calls = plan.calls.map(({ of, ...one }) =>
        of === undefined ? one : { ...one, of: call(of), isBigint: bigints.includes(one.name) },
      )
      const keys = { ...(by === undefined ? {} : { by: call(by) }), ...(orderBy === undefined ? {} : { orderBy: call(orderBy) }) }
      const added = windowed(
        rows.map(({ value }) => value),
        { ...keys, descending, frame, calls },
      )
      return keyed(rows, unified(rows.map(({ value }, i) => ({ ...(value as Row), ...added[i] }))))
    }
    case 'Distinct':
      return table(grouped(below(plan.input), (e) => e.value).map((group) => group.members[0]?.value))
    case 'Union':
      return table(united(plan.inputs.map((input) => ({ input, values: below(input).map((e) => e.value) }))))
    case 'Sample':
      return numbered(below(plan.input).filter((_, i) => uniformAt(plan.seed, i) < plan.fraction))
    case 'Draw': {
      const entries = below(plan.input)
      const drawn = entries.map((_, i) => ({ i, draw: uniformAt(plan.seed, i) })).sort((a, b) => a.draw - b.draw)
      const chosen = new Set(drawn.slice(0, plan.count).map(({ i }) => i))
      return numbered(entries.filter((_, i) => chosen.has(i)))
    }
    case 'Limit':
      return numbered(below(plan.input).slice(0, plan.count))
    case 'Offset': {
      const { offset } = plan
      return numbered(below(plan.input).slice(offset))
    }
    case 'Repartition':
      return numbered(repartitioned(below(plan.input), plan))
    case 'ShuffleKeys':
      return numbered(shuffled(below(plan.input), plan))
    case 'Materialize':
    case 'IndexBuild': {
      const entries = below(plan.input)
      // what is stored by key lies in the order of its keys, whatever order it was computed in
      return plan.keys.kind === 'explicit' ? [...entries].sort((a, b) => compareKeys(a.key, b.key)) : entries
    }
    case 'IndexLookup':
      return numbered(
        below(plan.input).filter((e) =>
          plan.selectors.every((s, axis) => {
            const index = e.key[axis] ?? -1
            return s === null || (typeof s === 'number' ? index === s : index >= s[0] && index < s[1])
          }),
        ),
      )
    case 'Stored': {
      const entries = tables.get(plan.storage)
      if (entries === undefined) throw new Error('The reference does not know this storage.')
      return entries as readonly Entry[]
    }
    case 'Array':
      throw new Error(`The reference does not know ${plan.kind}.`)
  }
}

function call(f: { readonly original: (...args: never[]) => unknown }): AnyFunction {
  return f.original as AnyFunction
}

function table(values: readonly unknown[]): readonly Entry[] {
  return values.map((value, i) => ({ key: [i], value }))
}

function keyed(entries: readonly Entry[], values: readonly unknown[]): readonly Entry[] {
  return entries.map((e, i) => ({ key: e.key, value: values[i] }))
}

function pick(row: Row, names: readonly string[]): Row {
  return Object.fromEntries(names.map((name) => [name, row[name]]))
}

/** The row; a PlanError in the library when a column is not there, which data alone can tell. */
function withColumns(row: Row, names: readonly string[]): Row {
  const missing = names.find((name) => !Object.hasOwn(row, name))
  if (missing !== undefined) throw new Refused(`There is no column ${missing}.`)
  return row
}

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date) && !(value instanceof Uint8Array)
}

/** Values as a column has them: all objects with the fields of all, null for undefined; a PlanError's message when kinds are mixed. */
export function unified(values: readonly unknown[]): readonly unknown[] {
  const present = values.filter((value) => value !== null && value !== undefined)
  const kinds = new Set(present.map(kindOf))
  if (kinds.size > 1) throw new Refused(`mixed kinds: ${[...kinds].join(' and ')}`)
  if (present.every(isRow) && present.length > 0) {
    const names = [...new Set(present.flatMap((row) => Object.keys(row)))]
    const columns = names.map((name) => unified(values.map((value) => (isRow(value) ? value[name] : null))))
    return values.map((value, i) => (isRow(value) ? Object.fromEntries(names.map((name, c) => [name, columns[c]?.[i]])) : null))
  }
  if (present.every(Array.isArray) && present.length > 0) {
    const items = unified(present.flat())
    let at = 0
    return values.map((value) => (Array.isArray(value) ? value.map(() => items[at++]) : null))
  }
  return values.map((value) => value ?? null)
}

/** The elements of all arrays, which must have the same columns as far as the plan or elements tell; null is an element of any. */
function united(arrays: readonly { readonly input: LogicalPlan; readonly values: readonly unknown[] }[]): readonly unknown[] {
  const columns = arrays.flatMap(({ input, values }) => {
    if (input.element.kind === 'row') return [columnsText(input.element.fields.map(({ name }) => name))]
    const first = unified(values).find((value) => value !== null)
    return first === undefined ? [] : [isRow(first) ? columnsText(Object.keys(first)) : 'values']
  })
  if (new Set(columns).size > 1) throw new Refused(`other columns: ${columns.join(' and ')}`)
  return unified(arrays.flatMap(({ values }) => values))
}

function columnsText(names: readonly string[]): string {
  return `columns ${[...names].sort().join()}`
}

/** What the library answers with a PlanError. */
export class Refused extends Error {}

function kindOf(value: unknown): string {
  return value instanceof Date ? 'Date' : Array.isArray(value) ? 'array' : typeof value
}

/** SameValueZero, dates by time, arrays and objects by content. */
export function equal(a: unknown, b: unknown): boolean {
  if (a instanceof Date && b instanceof Date) return a.getTime() === b.getTime()
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, i) => equal(item, b[i]))
  if (isRow(a) && isRow(b)) {
    const names = Object.keys(a)
    return names.length === Object.keys(b).length && names.every((name) => Object.hasOwn(b, name) && equal(a[name], b[name]))
  }
  return a === b || (Number.isNaN(a) && Number.isNaN(b))
}

function holdsNull(value: unknown): boolean {
  return (
    value === null ||
    value === undefined ||
    (Array.isArray(value) && value.some(holdsNull)) ||
    (isRow(value) && Object.values(value).some(holdsNull))
  )
}

interface Group {
  readonly key: unknown
  readonly members: Entry[]
}

function grouped(entries: readonly Entry[], keyOf: (e: Entry) => unknown): readonly Group[] {
  const groups: Group[] = []
  for (const [i, key] of unified(entries.map(keyOf)).entries()) {
    const e = entries[i] as Entry
    const group = groups.find((one) => equal(one.key, key))
    if (group === undefined) groups.push({ key, members: [e] })
    else group.members.push(e)
  }
  return groups
}

function ofGroup({ key, members }: Group, how: GroupHow, isNamed: boolean): unknown {
  const values = members.map((e) => e.value)
  const named = isNamed ? (key as Row) : { key }
  switch (how.kind) {
    case 'map':
      return call(how.f)(key, values)
    case 'reduce':
      return { ...named, value: tree(values, (chunk) => chunk.reduce((a, b) => call(how.f)(a, b)), call(how.f)) }
    case 'agg':
      return { ...named, ...Object.fromEntries(how.aggregates.map((aggregate) => [aggregate.name, aggregated(aggregate, members)])) }
  }
}

/** The one row of a whole table that has none; a sum of bigints is one. */
function ofNothing({ element }: LogicalPlan, how: GroupHow): Row {
  const bigints = element.kind === 'row' ? element.fields.filter(({ type }) => type.kind === 'i64').map(({ name }) => name) : []
  const row = ofGroup({ key: { '': 0 }, members: [] }, how, true) as Row // as `agg` gives it
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, value === 0 && bigints.includes(name) ? 0n : (value ?? null)]),
  )
}

const CHUNK = 4096

/** Chunks folded by `fold`, the results combined pairwise by index. */
export function tree<T>(values: readonly T[], fold: (chunk: readonly T[]) => T, combine: (a: T, b: T) => T): T | undefined {
  if (values.length === 0) return undefined
  let level: T[] = []
  for (let from = 0; from < values.length; from += CHUNK) level.push(fold(values.slice(from, from + CHUNK)))
  while (level.length > 1) {
    const next: T[] = []
    for (let i = 0; i < level.length; i += 2) next.push(i + 1 < level.length ? combine(level[i] as T, level[i + 1] as T) : (level[i] as T))
    level = next
  }
  return level[0]
}

export function treeSum(values: readonly number[]): number {
  const add = (a: number, b: number) => a + b
  return tree(values, (chunk) => chunk.reduce(add, 0), add) ?? 0
}

function aggregated(aggregate: AggregateCall, members: readonly Entry[]): unknown {
  const of = aggregate.of
  if (of === undefined) return members.length
  const all = members.map((e) => call(of)(e.value) ?? null)
  const values = all.filter((value) => value !== null)
  const numbers = values as number[]
  switch (aggregate.kind) {
    case 'count':
      return values.length
    case 'countDistinct':
      return values.filter((value, i) => values.findIndex((other) => equal(other, value)) === i).length
    case 'sum':
      return typeof values[0] === 'bigint' ? (values as bigint[]).reduce((a, b) => a + b, 0n) : treeSum(numbers)
    case 'mean':
      return numbers.length === 0 ? null : treeSum(numbers) / numbers.length
    case 'variance':
      return varianceOf(numbers)
    case 'stddev': {
      const variance = varianceOf(numbers)
      return variance === null ? null : Math.sqrt(variance)
    }
    case 'quantile':
      return quantileOf(numbers, aggregate.q ?? 0)
    case 'min':
    case 'max':
      return extreme(values, aggregate.kind)
    case 'any':
    case 'all': {
      const is = aggregate.kind === 'any'
      return values.length === 0 ? null : values.some((value) => value === is) === is
    }
    case 'mode': {
      const times = values.map((value) => values.filter((other) => equal(other, value)).length)
      return values[times.indexOf(Math.max(...times))] ?? null
    }
    case 'argMin':
    case 'argMax': {
      const by = members.map((e) => call(aggregate.second ?? of)(e.value) ?? null)
      const least = extreme(
        by.filter((value) => value !== null),
        aggregate.kind === 'argMin' ? 'min' : 'max',
      )
      const isLeast = (value: unknown): boolean => (least instanceof Date ? equal(value, least) : Object.is(value, least))
      return least === null ? null : all[by.findIndex(isLeast)]
    }
    case 'skew':
    case 'kurtosis':
      return momentOf(numbers, aggregate.kind)
    case 'covariance':
    case 'correlation': {
      const second = members.map((e) => call(aggregate.second ?? of)(e.value) ?? null)
      const both = all.flatMap((value, i) =>
        value === null || second[i] === null ? [] : [[value as number, second[i] as number] as const],
      )
      return pairOf(both, aggregate.kind)
    }
    case 'first':
      return all[0]
    case 'last':
      return all.at(-1)
    case 'collect':
      return all
    case 'approxCountDistinct':
      if (values.length <= EXACT_HASHES) return aggregated({ ...aggregate, kind: 'countDistinct' }, members)
      throw new Error('Of so many values, sketches.prop.ts has the law.')
    case 'approxQuantile':
      if (numbers.length <= EXACT_VALUES) return quantileOf(numbers, aggregate.q ?? 0)
      throw new Error('Of so many values, sketches.prop.ts has the law.')
    case 'aggregate':
      return folded(aggregate, all)
  }
}

/** By the program's own functions: all values in order, or chunks of them where there is a merge. */
function folded({ folding }: AggregateCall, values: readonly unknown[]): unknown {
  if (folding === undefined) return null
  const { init, step, merge, finish } = mapFolding(folding, call)
  const fold = (chunk: readonly unknown[]) => chunk.reduce((state, value) => step(state, value), init())
  const state =
    merge === undefined || values.length === 0
      ? fold(values)
      : tree<unknown>(
          values,
          (chunk) => fold(chunk),
          (a, b) => merge(a, b),
        )
  return (finish === undefined ? state : finish(state)) ?? null
}

function varianceOf(values: readonly number[]): number | null {
  if (values.length < 2) return null
  const mean = treeSum(values) / values.length
  return treeSum(values.map((value) => (value - mean) * (value - mean))) / (values.length - 1)
}

function centerOf(values: readonly number[]): number {
  const mean = treeSum(values) / values.length
  return mean + treeSum(values.map((value) => value - mean)) / values.length
}

export function momentOf(values: readonly number[], kind: 'skew' | 'kurtosis'): number | null {
  const n = values.length
  if (n < (kind === 'skew' ? 3 : 4)) return null
  const center = centerOf(values)
  const off = values.map((value) => value - center)
  const second = treeSum(off.map((x) => x * x)) / n
  if (kind === 'skew') {
    const third = treeSum(off.map((x) => x * x * x)) / n
    return ((third / (second * Math.sqrt(second))) * Math.sqrt(n * (n - 1))) / (n - 2)
  }
  const fourth = treeSum(off.map((x) => x * x * (x * x))) / n
  return ((n - 1) / ((n - 2) * (n - 3))) * ((n + 1) * (fourth / (second * second) - 3) + 6)
}

export function pairOf(pairs: readonly (readonly [number, number])[], kind: 'covariance' | 'correlation'): number | null {
  if (pairs.length < 2) return null
  const [x, y] = [pairs.map(([a]) => a), pairs.map(([, b]) => b)]
  const [centerX, centerY] = [centerOf(x), centerOf(y)]
  const products = treeSum(pairs.map(([a, b]) => (a - centerX) * (b - centerY)))
  if (kind === 'covariance') return products / (pairs.length - 1)
  const squares = (values: readonly number[], center: number): number => treeSum(values.map((value) => (value - center) * (value - center)))
  return Math.max(-1, Math.min(1, products / (Math.sqrt(squares(x, centerX)) * Math.sqrt(squares(y, centerY)))))
}

function quantileOf(values: readonly number[], q: number): number | null {
  if (values.length === 0) return null
  const ordered = [...values].sort((a, b) => compare(a, b) || Number(Object.is(b, -0)) - Number(Object.is(a, -0)))
  const at = q * (ordered.length - 1)
  const below = ordered[Math.floor(at)] as number
  const above = ordered[Math.ceil(at)] as number
  return below === above ? below : below + (above - below) * (at - Math.floor(at))
}

export function extreme(values: readonly unknown[], kind: 'min' | 'max'): unknown {
  if (values.length === 0) return null
  if (values.every((value) => typeof value === 'number')) return values.reduce((a, b) => Math[kind](a, b))
  return values.reduce((a, b) => ((kind === 'min' ? compare(b, a) < 0 : compare(b, a) > 0) ? b : a))
}

/** Numbers with NaN last, strings by code units, false before true, dates by time. */
function compare(a: unknown, b: unknown): number {
  const [x, y] = [a, b].map((value) => (value instanceof Date ? value.getTime() : value)) as [number, number]
  if (x < y) return -1
  if (x > y) return 1
  return Number(Number.isNaN(x)) - Number(Number.isNaN(y))
}

export function compareSortKeys(a: unknown, b: unknown, directions: Directions): number {
  if (Array.isArray(a) && Array.isArray(b)) {
    for (let i = 0; i < Math.max(a.length, b.length); i++) {
      const order = compareSortKeys(a[i], b[i], typeof directions === 'boolean' ? directions : directions[i] === true)
      if (order !== 0) return order
    }
    return 0
  }
  const descending = typeof directions === 'boolean' ? directions : directions[0] === true
  const [aNull, bNull] = [a ?? null, b ?? null].map((value) => value === null)
  if (aNull || bNull) return Number(aNull) - Number(bNull)
  return descending ? compare(b, a) : compare(a, b)
}

function sorted(entries: readonly Entry[], keyOf: (value: unknown) => unknown, descending: Directions): readonly Entry[] {
  return entries
    .map((e) => ({ e, key: keyOf(e.value) }))
    .sort((a, b) => compareSortKeys(a.key, b.key, descending))
    .map(({ e }) => e)
}

function indexed(entries: readonly Entry[], plan: Extract<LogicalPlan, { kind: 'Index' }>): readonly Entry[] {
  const out: { key: readonly number[]; value: unknown }[] = []
  for (const e of entries) {
    const key = (call(plan.f)(e.value, e.key) as number[]).map((k) => k + 0)
    if (key.some((k) => !Number.isInteger(k) || k < 0)) throw new Refused(`key ${key.join()}`)
    const same = out.find((one) => compareKeys(one.key, key) === 0)
    if (same === undefined) out.push({ key, value: e.value })
    else if (plan.combine === undefined) throw new Refused(`duplicate key ${key.join()}`)
    else same.value = call(plan.combine)(same.value, e.value)
  }
  const ordered = out.sort((a, b) => compareKeys(a.key, b.key))
  return keyed(ordered, unified(ordered.map((e) => e.value)))
}

function joined(plan: Extract<LogicalPlan, { kind: 'Join' }>, left: readonly Entry[], right: readonly Entry[]): readonly unknown[] {
  const { on, how } = plan
  const key = (side: 'left' | 'right', e: Entry): unknown =>
    on.kind === 'column' ? (e.value as Row)[on.column] : on.kind === 'functions' ? call(on[side])(e.value) : 0
  const matches = (l: Entry, r: Entry): boolean => {
    const [a, b] = [key('left', l), key('right', r)]
    return bothEqual(a, b)
  }
  const names = { left: fieldNames(plan.left, left), right: fieldNames(plan.right, right) }
  // rows that a function made may turn out to have no such column
  const lacks = (side: 'left' | 'right', entries: readonly Entry[]): boolean =>
    on.kind === 'column' && entries.length > 0 && !names[side].includes(on.column)
  if (lacks('left', left) || lacks('right', right)) throw new Refused('no column to join on')
  if (how === 'semi' || how === 'anti') return left.filter((l) => right.some((r) => matches(l, r)) === (how === 'semi')).map((e) => e.value)
  const shared = sharedColumns(on)
  const row = (l: Entry | undefined, r: Entry | undefined): Row => {
    const out: Record<string, unknown> = {}
    for (const name of names.left)
      out[name] = l !== undefined ? cell(l, name) : shared.includes(name) && r !== undefined ? cell(r, name) : null
    for (const name of names.right) {
      if (shared.includes(name) && names.left.includes(name)) continue
      const free = Object.hasOwn(out, name) ? `${name}${plan.suffix}` : name
      if (Object.hasOwn(out, free)) throw new Refused(`two columns ${free}`)
      out[free] = r === undefined ? null : cell(r, name)
    }
    return out
  }
  const rows: Row[] = []
  for (const l of left) {
    const found = right.filter((r) => matches(l, r))
    if (found.length === 0 && (how === 'left' || how === 'full')) rows.push(row(l, undefined))
    for (const r of found) rows.push(row(l, r))
  }
  if (how === 'right' || how === 'full') for (const r of right) if (!left.some((l) => matches(l, r))) rows.push(row(undefined, r))
  return rows
}

/** Each row of the left side with the right row that is nearest: of all those that could be, one by one. */
function joinedAsof(plan: Extract<LogicalPlan, { kind: 'AsofJoin' }>, left: readonly Entry[], right: readonly Entry[]): readonly unknown[] {
  const { on, by, direction, tolerance, shared, suffix } = plan
  const names = { left: fieldNames(plan.left, left), right: fieldNames(plan.right, right) }
  const added = names.right.flatMap((name) => {
    if (shared.includes(name) && names.left.includes(name)) return []
    const as = names.left.includes(name) ? `${name}${suffix}` : name
    return [{ name, as }]
  })
  const all = [...names.left, ...added.map(({ as }) => as)]
  if (new Set(all).size < all.length && left.length > 0) throw new Refused('two columns of one name')
  return left.map((l) => {
    const equals = by === undefined ? right : right.filter((r) => bothEqual(call(by.left)(l.value), call(by.right)(r.value)))
    const orders = equals.map((r) => call(on.right)(r.value))
    const at = nearestOf(call(on.left)(l.value), orders, { direction, ...(tolerance === undefined ? {} : { tolerance }) })
    const best = at === undefined ? undefined : equals[at]
    return {
      ...Object.fromEntries(names.left.map((name) => [name, cell(l, name)])),
      ...Object.fromEntries(added.map(({ name, as }) => [as, best === undefined ? null : cell(best, name)])),
    }
  })
}

/** Which of the values goes with one of the left side as of an order: all that could are looked at. */
export function nearestOf(
  own: unknown,
  others: readonly unknown[],
  { direction, tolerance }: { readonly direction: AsofDirection; readonly tolerance?: number | bigint },
): number | undefined {
  const candidates = others.flatMap((other, at) => {
    if (!hasPlace(own) || !hasPlace(other)) return []
    const order = compare(other, own)
    const far = farness(other, own)
    const isRight = direction === 'nearest' || (direction === 'backward' ? order <= 0 : order >= 0)
    return isRight && (tolerance === undefined || far <= tolerance) ? [{ at, other, order, far }] : []
  })
  const [best] = candidates.sort((a, b) => {
    if (direction === 'backward') return compare(b.other, a.other) || b.at - a.at
    if (direction === 'forward') return compare(a.other, b.other) || a.at - b.at
    if (a.far !== b.far) return a.far < b.far ? -1 : 1
    // of equally near ones (infinitely far ones are) the last before, or else the first behind
    const [isBefore, wasBefore] = [a.order <= 0, b.order <= 0]
    if (isBefore !== wasBefore) return isBefore ? -1 : 1
    return isBefore ? compare(b.other, a.other) || b.at - a.at : compare(a.other, b.other) || a.at - b.at
  })
  return best?.at
}

export function bothEqual(a: unknown, b: unknown): boolean {
  return !holdsNull(a) && !holdsNull(b) && equal(a, b)
}

function hasPlace(value: unknown): boolean {
  return value !== null && value !== undefined && !Number.isNaN(value instanceof Date ? value.getTime() : value)
}

function farness(a: unknown, b: unknown): number | bigint {
  if (typeof a === 'bigint' && typeof b === 'bigint') return a < b ? b - a : a - b
  const [x, y] = [Number(a), Number(b)]
  return x === y ? 0 : Math.abs(x - y)
}

/** Columns of one side: those declared, else those that the elements show. */
function fieldNames(plan: LogicalPlan, entries: readonly Entry[]): readonly string[] {
  if (plan.element.kind === 'row') return plan.element.fields.map((field) => field.name)
  const [first] = entries
  if (plan.element.kind === 'unknown' && first === undefined) return []
  return isRow(first?.value) && entries.every((e) => isRow(e.value)) ? Object.keys(first.value) : ['value']
}

function cell(e: Entry, name: string): unknown {
  return isRow(e.value) ? e.value[name] : e.value
}

function repartitioned(entries: readonly Entry[], plan: Extract<LogicalPlan, { kind: 'Repartition' }>): readonly Entry[] {
  const by = plan.by
  if (by === undefined) return entries
  const groups = grouped(entries, (e) => call(by)(e.value, e.key))
  const count = plan.partitions ?? 16
  const inPiece = (piece: number) => entries.filter((e) => groups.findIndex((group) => group.members.includes(e)) % count === piece)
  return Array.from({ length: count }, (_, piece) => inPiece(piece)).flat()
}

function shuffled(entries: readonly Entry[], plan: Extract<LogicalPlan, { kind: 'ShuffleKeys' }>): readonly Entry[] {
  const shape = plan.keys.kind === 'explicit' ? plan.keys.shape : undefined
  const permutations = (entries[0]?.key ?? []).map((_, axis) =>
    permutationOf(shape?.[axis] ?? Math.max(...entries.map((e) => (e.key[axis] ?? 0) + 1)), plan.seed + axis),
  )
  const renamed = entries.map((e) => ({
    ...e,
    key: e.key.map((k, axis) => (plan.axes.includes(axis) ? (permutations[axis]?.[k] ?? k) : k)),
  }))
  return renamed.sort((a, b) => compareKeys(a.key, b.key))
}
