/**
 * Plans: random chains of operations over random tables, made by the same functions as the methods of DistArray.
 *
 * An operation is picked among those that apply to the columns at hand; functions come from a list of real closures,
 * most of which can be lowered, some of which cannot.
 */
import fc from 'fast-check'
import type { Engine } from '../../src/core/engine.ts'
import { PlanError } from '../../src/core/errors.ts'
import {
  aggregate,
  all,
  any,
  approxCountDistinct,
  approxMedian,
  approxQuantile,
  argMax,
  argMin,
  collect,
  correlation,
  count,
  countDistinct,
  covariance,
  first,
  kurtosis,
  last,
  max,
  mean,
  min,
  mode,
  quantile,
  skew,
  stddev,
  sum,
  variance,
} from '../../src/core/plan/aggregates.ts'
import { type AsofOptionsAny, asofPlan } from '../../src/core/plan/asofPlan.ts'
import { dropPlan, fillNullPlan, renamePlan, withAllColumns } from '../../src/core/plan/columnPlans.ts'
import { joinPlan, unionPlan } from '../../src/core/plan/combinations.ts'
import { distinctByPlan } from '../../src/core/plan/distinctPlan.ts'
import { aggPlan, groupCountPlan, groupingOf, groupMapPlan, groupReducePlan, wholeAggPlan } from '../../src/core/plan/groupPlan.ts'
import type { JoinHow, LogicalPlan } from '../../src/core/plan/logicalPlan.ts'
import { sortListPlan } from '../../src/core/plan/sortKeys.ts'
import {
  type Callback,
  castPlan,
  distinctPlan,
  filterPlan,
  flatMapPlan,
  indexPlan,
  limitPlan,
  mapPartitionsPlan,
  mapPlan,
  materializePlan,
  repartitionPlan,
  samplePlan,
  selectPlan,
  shuffleKeysPlan,
  slicePlan,
  sortPlan,
  tailPlan,
  withColumnsPlan,
} from '../../src/core/plan/transformations.ts'
import { windowPlan } from '../../src/core/plan/windowPlan.ts'
import { denseRank, firstValue, lag, lastValue, lead, ntile, percentRank, rank, rowNumber } from '../../src/core/plan/windows.ts'
import { type Table, table } from './batch.ts'
import type { ColumnName } from './schema.ts'

/** A row as the functions below see it: a function only reads columns that it says it needs. */
interface Row {
  readonly n: number | null
  readonly k: number | null
  readonly s: string | null
  readonly b: bigint | null
  readonly t: boolean | null
  readonly d: Date | null
  readonly m: Date | null
  readonly u: number
  readonly l: readonly (number | null)[] | null
  readonly g: { readonly c: string | null; readonly z: number | null; readonly e: { readonly f: number } | null } | null
  readonly w: readonly string[] | null
}

/** Columns that no row has: refused at the call where columns are known, undefined where only running tells them. */
interface Lacking {
  readonly absent?: number
  readonly missing?: number
}

/** What is at hand: known columns of rows, or a single value. */
type Elements = { readonly kind: 'row'; readonly columns: readonly ColumnName[] } | { readonly kind: 'value'; readonly of: ColumnName }

interface State {
  readonly plan: LogicalPlan
  readonly elements: Elements
}

/** One step: `pick` chooses among what applies, `a` and `b` are its numbers. */
export interface Choice {
  readonly pick: number
  readonly a: number
  readonly b: number
}

/** An array that is stored on the way: mapped as JavaScript or not, with elements or without. */
export interface StoredHere {
  /** How many of the choices come before. */
  readonly after: number
  readonly opaque: boolean
  readonly emptied: boolean
}

export interface Program {
  readonly tables: readonly Table[]
  readonly choices: readonly Choice[]
  readonly stored?: StoredHere
}

const choice: fc.Arbitrary<Choice> = fc.record({ pick: fc.nat(999), a: fc.nat(7), b: fc.nat(7) })

export const program: fc.Arbitrary<Program> = fc.record({
  tables: fc.tuple(table, table),
  choices: fc.array(choice, { minLength: 1, maxLength: 6 }),
})

/** Programs with an array that is stored on the way, most often one whose elements only running tells. */
export const storedProgram: fc.Arbitrary<Program> = fc.record({
  tables: fc.tuple(table, table),
  choices: fc.array(choice, { minLength: 1, maxLength: 5 }),
  stored: fc.record({
    after: fc.nat(2),
    opaque: fc.oneof({ weight: 2, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
    emptied: fc.oneof({ weight: 1, arbitrary: fc.constant(true) }, { weight: 5, arbitrary: fc.constant(false) }),
  }),
})

/** A function over rows: what it needs, and the columns of what it returns. */
interface Lambda {
  readonly needs: readonly ColumnName[]
  readonly f: (...args: never[]) => unknown
  readonly gives?: Elements
}

const rows = (...columns: readonly ColumnName[]): Elements => ({ kind: 'row', columns })
const value = (of: ColumnName): Elements => ({ kind: 'value', of })

const five = 5
const words = ['zero', 'one', 'two', 'three']

const PREDICATES: readonly Lambda[] = [
  { needs: ['n'], f: (r: Row) => (r.n ?? 0) > 0 },
  { needs: ['n'], f: (r: Row) => r.n !== null && r.n < five },
  { needs: ['k'], f: (r: Row) => r.k === 1 || r.k === 2 },
  { needs: ['u'], f: (r: Row) => r.u % 3 !== 0 },
  { needs: ['s'], f: (r: Row) => r.s !== null && r.s.length > 0 },
  { needs: ['b'], f: (r: Row) => r.b !== null && r.b >= 0n },
  { needs: ['t'], f: (r: Row) => r.t === true },
  { needs: ['t'], f: (r: Row) => !r.t },
  { needs: ['d'], f: (r: Row) => r.d !== null && r.d.getTime() >= 0 },
  { needs: ['m'], f: (r: Row) => r.m !== null && r.m.getTime() >= 0 },
  { needs: ['u', 'n'], f: (r: Row) => r.u > 2 && (r.n ?? 1) < 4 },
  { needs: ['g'], f: (r: Row) => r.g !== null },
  { needs: ['g'], f: (r: Row) => (r.g?.z ?? 2) > 1 },
  { needs: ['g'], f: (r: Row) => r.g !== null && r.g.c === 'de' },
  { needs: ['g'], f: (r: Row) => (r.g?.e?.f ?? 1) > 0 },
  { needs: ['w'], f: (r: Row) => r.w === null || r.w.length > 1 },
  { needs: [], f: (_: Row, [i]: readonly number[]) => (i ?? 0) % 2 === 0 },
  { needs: [], f: (r: Row) => Object.keys(r).length > 0 },
  { needs: [], f: (r: Lacking) => r.absent === undefined },
  { needs: ['k'], f: (r: Row & Lacking) => r.absent !== r.k && (r.missing ?? 1) > 0 },
]

const MAPS: readonly Lambda[] = [
  { needs: ['n'], f: (r: Row) => r.n, gives: value('n') },
  { needs: ['n'], f: (r: Row) => (r.n ?? 1) * 2 - 0.5, gives: value('n') },
  { needs: ['k', 's'], f: (r: Row) => ({ s: r.s, k: r.k }), gives: rows('s', 'k') },
  { needs: ['u'], f: (r: Row) => ({ u: r.u, n: r.u / 3, k: r.u & 3 }), gives: rows('u', 'n', 'k') },
  { needs: ['s'], f: (r: Row) => r.s, gives: value('s') },
  { needs: ['s'], f: (r: Row) => ({ s: `${r.s}!`, k: r.s === null ? null : r.s.length }), gives: rows('s', 'k') },
  { needs: ['b'], f: (r: Row) => ({ b: r.b === null ? null : r.b * 2n }), gives: rows('b') },
  { needs: ['b', 't'], f: (r: Row) => (r.t ? r.b : null), gives: value('b') },
  { needs: ['d'], f: (r: Row) => ({ d: r.d, n: r.d === null ? null : r.d.getTime() }), gives: rows('d', 'n') },
  { needs: ['m'], f: (r: Row) => ({ m: r.m, k: r.m === null ? null : r.m.getUTCDay() & 3 }), gives: rows('m', 'k') },
  { needs: ['m'], f: (r: Row) => r.m, gives: value('m') },
  { needs: ['g'], f: (r: Row) => r.g, gives: value('g') },
  { needs: ['g'], f: (r: Row) => ({ g: r.g, s: r.g === null ? null : r.g.c, k: r.g?.z ?? null }), gives: rows('g', 's', 'k') },
  { needs: ['g', 'u'], f: (r: Row) => ({ n: r.g?.e?.f ?? r.u, u: r.u, g: r.g }), gives: rows('n', 'u', 'g') },
  { needs: ['s', 'u'], f: (r: Row) => ({ g: { c: r.s, z: r.u, e: { f: r.u / 2 } }, u: r.u }), gives: rows('g', 'u') },
  { needs: ['g', 'w'], f: (r: Row) => ({ g: r.g === null ? null : { ...r.g, z: 1 }, w: r.w }), gives: rows('g', 'w') },
  {
    needs: ['w'],
    f: (r: Row) => ({ w: r.w, s: r.w === null ? null : (r.w[0] ?? '-'), k: r.w?.length ?? null }),
    gives: rows('w', 's', 'k'),
  },
  { needs: ['u'], f: (r: Row, [i]: readonly number[]) => ({ k: i ?? 0, u: r.u }), gives: rows('k', 'u') },
  { needs: ['n', 't'], f: (r: Row) => (r.t ? { n: r.n, t: true } : { n: 0, t: false }), gives: rows('n', 't') },
  { needs: ['n'], f: (r: Row) => (r.n === null ? undefined : Math.abs(r.n)), gives: value('n') },
  {
    needs: ['u'],
    f: (r: Row) => {
      let n = 0
      for (let i = 0; i < 4; i++) {
        if (i === r.u) continue
        n += i * r.u
      }
      if (n > 20) return { n, s: 'large' }
      return { n, s: words[n & 3] ?? 'none' }
    },
    gives: rows('n', 's'),
  },
  { needs: ['k'], f: (r: Row & Lacking) => ({ x: r.absent ?? null, k: r.k, y: r.missing === undefined }), gives: rows('k') },
  // not to be lowered: the row escapes, or has fields that only running tells
  { needs: ['k'], f: (r: Row) => ({ ...r, k: r.k }), gives: rows('k') },
  { needs: ['k', 'n'], f: (r: Row) => (r.k === 1 ? { k: r.k } : { k: r.k, n: r.n }), gives: rows('k', 'n') },
  { needs: ['l'], f: (r: Row) => ({ l: r.l?.map((x) => (x ?? 7) + 1) ?? null, k: r.l?.length ?? null }), gives: rows('l', 'k') },
  { needs: ['l'], f: (r: Row) => r.l, gives: value('l') },
]

const COLUMNS_ADDED: readonly Lambda[] = [
  { needs: ['u'], f: (r: Row) => ({ n: r.u * 0.1 }), gives: rows('n') },
  { needs: ['n'], f: (r: Row) => ({ n: r.n, t: (r.n ?? 0) > 1 }), gives: rows('n', 't') },
  { needs: ['s'], f: (r: Row) => ({ s: r.s?.toUpperCase() ?? null }), gives: rows('s') },
  { needs: ['g'], f: (r: Row) => ({ k: r.g?.z ?? null, s: r.g?.c ?? 'none' }), gives: rows('k', 's') },
  { needs: ['u'], f: (r: Row) => ({ g: { c: 'of u', z: r.u & 3, e: null } }), gives: rows('g') },
  { needs: [], f: (_: Row, [i]: readonly number[]) => ({ u: i ?? 0 }), gives: rows('u') },
]

const SORTS: readonly Lambda[] = [
  { needs: ['n'], f: (r: Row) => r.n },
  { needs: ['s'], f: (r: Row) => r.s },
  { needs: ['b'], f: (r: Row) => r.b },
  { needs: ['d'], f: (r: Row) => r.d },
  { needs: ['m'], f: (r: Row) => r.m },
  { needs: ['m', 'k'], f: (r: Row) => [r.m, r.k] },
  { needs: ['l'], f: (r: Row) => r.l },
  { needs: ['u', 'n'], f: (r: Row) => (r.u > 3 ? [r.n] : [r.n, r.u]) },
  { needs: ['g'], f: (r: Row) => r.g?.c ?? '' },
  { needs: ['g', 'u'], f: (r: Row) => [r.g?.z ?? null, r.u] },
  { needs: ['w'], f: (r: Row) => r.w },
  { needs: ['k', 's'], f: (r: Row) => [r.k, r.s] },
  { needs: ['t', 'n'], f: (r: Row) => [r.t, r.n] },
  { needs: ['u'], f: (r: Row) => -r.u },
]

/** Those that return one value. */
const SORTED_VALUES = SORTS.filter(({ needs }) => needs.length === 1 && needs[0] !== 'l' && needs[0] !== 'w')

function sortKey(by: Callback | undefined, n: number) {
  const key = {
    order: n % 2 === 0 ? ('ascending' as const) : ('descending' as const),
    nulls: n % 3 === 0 ? ('first' as const) : ('last' as const),
  }
  return { by: by as Callback, ...key } // where there is one to sort by
}

const GROUPS: readonly Lambda[] = [
  { needs: ['k'], f: (r: Row) => r.k },
  { needs: ['s'], f: (r: Row) => r.s },
  { needs: ['n'], f: (r: Row) => r.n },
  { needs: ['b'], f: (r: Row) => r.b },
  { needs: ['d'], f: (r: Row) => r.d },
  { needs: ['m'], f: (r: Row) => r.m },
  { needs: ['m', 'n'], f: (r: Row) => ({ m: r.m, n: r.n }), gives: rows('m', 'n') },
  { needs: ['m', 'd'], f: (r: Row) => (r.d === null ? r.m : r.d) },
  { needs: ['l', 'n'], f: (r: Row) => ({ l: r.l, n: r.n }), gives: rows('l', 'n') },
  { needs: ['g'], f: (r: Row) => r.g },
  { needs: ['g'], f: (r: Row) => r.g?.c ?? 'none' },
  { needs: ['g', 'k'], f: (r: Row) => ({ g: r.g, k: r.k }), gives: rows('g', 'k') },
  { needs: ['g'], f: (r: Row) => ({ s: r.g?.c ?? null, k: r.g?.z ?? null }), gives: rows('s', 'k') },
  { needs: ['w'], f: (r: Row) => r.w },
  { needs: ['t'], f: (r: Row) => r.t },
  { needs: ['k', 't'], f: (r: Row) => ({ k: r.k, t: r.t }), gives: rows('k', 't') },
  { needs: ['s', 'k'], f: (r: Row) => ({ k: r.k, s: r.s }), gives: rows('k', 's') },
  { needs: ['u', 'k'], f: (r: Row) => [r.u, r.k ?? 0] },
  { needs: ['l'], f: (r: Row) => r.l },
  { needs: ['u'], f: (r: Row) => r.u % 4 },
]

const HOWS: readonly JoinHow[] = ['inner', 'left', 'right', 'full', 'semi', 'anti', 'inner', 'left']

/** Rows of the right side alone need the columns of the left, which nobody knows of an opaque result without elements. */
function howOf({ anyJoin }: Context, left: LogicalPlan, b: number): JoinHow {
  const how = HOWS[b] ?? 'inner'
  if (anyJoin) return how
  return left.element.kind === 'row' || (how !== 'right' && how !== 'full') ? how : 'inner'
}

/** An operation that may apply: the state after it, or undefined. */
type Operation = (context: Context, state: State, choice: Choice) => State | undefined

interface Context {
  readonly engine: Engine
  readonly other: LogicalPlan
  readonly otherColumns: readonly ColumnName[]
  readonly anyJoin: boolean
}

function lambdaFor(lambdas: readonly Lambda[], elements: Elements, pick: number): Lambda | undefined {
  if (elements.kind !== 'row') return undefined
  const fitting = lambdas.filter((lambda) => lambda.needs.every((name) => elements.columns.includes(name)))
  return fitting[pick % Math.max(1, fitting.length)]
}

/** An operation with one of `lambdas`. */
function using(lambdas: readonly Lambda[], apply: (context: Context, state: State, lambda: Lambda, choice: Choice) => State): Operation {
  return (context, state, step) => {
    const lambda = lambdaFor(lambdas, state.elements, step.a * 8 + step.b)
    return lambda === undefined ? undefined : apply(context, state, lambda, step)
  }
}

const has = (elements: Elements, ...names: readonly ColumnName[]): boolean =>
  elements.kind === 'row' && names.every((name) => elements.columns.includes(name))
const isTable = (plan: LogicalPlan): boolean => plan.keys.kind === 'rowNumber'

const aggregatesOf: readonly {
  readonly needs: readonly ColumnName[]
  readonly make: () => Parameters<typeof aggPlan>[1]
  readonly gives: readonly ColumnName[]
}[] = [
  { needs: ['n'], make: () => ({ n: sum((r: Row) => r.n ?? 0), u: count(), m: mean((r: Row) => r.n ?? 0) }), gives: ['n', 'u'] },
  { needs: ['n'], make: () => ({ n: min((r: Row) => r.n as number), u: count((r: Row) => r.n) }), gives: ['n', 'u'] },
  { needs: ['n', 's'], make: () => ({ n: max((r: Row) => r.n as number), s: first((r: Row) => r.s) }), gives: ['n', 's'] },
  {
    needs: ['s', 'd'],
    make: () => ({ s: last((r: Row) => r.s), d: max((r: Row) => r.d as Date), u: countDistinct((r: Row) => r.s) }),
    gives: ['s', 'd', 'u'],
  },
  { needs: ['b'], make: () => ({ b: sum((r: Row) => (r.b ?? 0n) as unknown as number), x: min((r: Row) => r.b as bigint) }), gives: ['b'] },
  { needs: ['u'], make: () => ({ n: variance((r: Row) => r.u), x: stddev((r: Row) => r.u), u: count() }), gives: ['n', 'u'] },
  {
    needs: ['n', 's'],
    make: () => ({
      n: mode((r: Row) => r.n),
      x: any((r: Row) => (r.n === null ? null : (r.n as number) > 1)),
      s: argMin(
        (r: Row) => r.s,
        (r: Row) => r.n as number,
      ),
    }),
    gives: ['n', 's'],
  },
  {
    needs: ['n', 'u'],
    make: () => ({
      n: correlation(
        (r: Row) => r.u,
        (r: Row) => r.n,
      ),
      x: covariance(
        (r: Row) => r.n,
        (r: Row) => r.u,
      ),
      u: count(),
    }),
    gives: ['n', 'u'],
  },
  {
    needs: ['n', 'm'],
    make: () => ({ n: skew((r: Row) => r.n), x: kurtosis((r: Row) => r.n), y: all((r: Row) => (r.n ?? 2) > 1), m: mode((r: Row) => r.m) }),
    gives: ['n', 'm'],
  },
  {
    needs: ['m', 'd'],
    make: () => ({
      m: argMax(
        (r: Row) => r.m as Date,
        (r: Row) => r.d as Date,
      ),
      x: any((r: Row) => r.d === null),
      u: count(),
    }),
    gives: ['m', 'u'],
  },
  {
    needs: ['n', 's'],
    make: () => ({
      x: aggregate((r: Row) => r.n as number | null, {
        init: () => ({ weighed: 0, seen: 0 }),
        step: (state, n) => ({ weighed: state.weighed / 2 + (n ?? 1), seen: state.seen + 1 }),
        merge: (a, b) => ({ weighed: a.weighed / 4 + b.weighed, seen: a.seen + b.seen }),
        finish: ({ weighed, seen }) => weighed + seen,
      }),
      y: aggregate((r: Row) => r.s, { init: () => ['<'], step: (texts, s) => [...texts, s ?? '-'], finish: (texts) => texts.join('') }),
      u: count(),
    }),
    gives: ['u'],
  },
  {
    needs: ['n', 's', 'm'],
    make: () => ({
      n: approxQuantile((r: Row) => r.n as number, 0.3),
      u: approxCountDistinct((r: Row) => r.s),
      x: approxCountDistinct((r: Row) => r.m),
      y: approxMedian((r: Row) => r.n),
    }),
    gives: ['n', 'u'],
  },
  { needs: ['u'], make: () => ({ n: quantile((r: Row) => r.u, 0.3), l: collect((r: Row) => r.u) }), gives: ['n', 'l'] },
  {
    needs: ['n'],
    make: () => ({ n: quantile((r: Row) => r.n as number, 0.5), x: mean((r: Row) => r.n as number), u: countDistinct((r: Row) => r.n) }),
    gives: ['n', 'u'],
  },
  {
    needs: ['m'],
    make: () => ({ u: countDistinct((r: Row) => r.m), m: min((r: Row) => r.m as Date), x: collect((r: Row) => r.m) }),
    gives: ['u', 'm'],
  },
  {
    needs: ['m', 'l'],
    make: () => ({ m: last((r: Row) => r.m), x: max((r: Row) => r.m as Date), u: countDistinct((r: Row) => [r.m, r.m]) }),
    gives: ['m', 'u'],
  },
  { needs: ['l'], make: () => ({ u: countDistinct((r: Row) => r.l), l: first((r: Row) => r.l) }), gives: ['u', 'l'] },
  {
    needs: ['g'],
    make: () => ({
      g: first((r: Row) => r.g),
      u: countDistinct((r: Row) => r.g),
      n: sum((r: Row) => r.g?.z ?? 0),
      x: collect((r: Row) => r.g),
    }),
    gives: ['g', 'u', 'n'],
  },
  {
    needs: ['g', 'n'],
    make: () => ({
      g: argMax(
        (r: Row) => r.g,
        (r: Row) => r.n as number,
      ),
      s: max((r: Row) => r.g?.c as string),
      x: last((r: Row) => r.g),
    }),
    gives: ['g', 's'],
  },
  {
    needs: ['w'],
    make: () => ({ w: last((r: Row) => r.w), u: countDistinct((r: Row) => r.w), x: collect((r: Row) => r.w) }),
    gives: ['w', 'u'],
  },
  { needs: ['t'], make: () => ({ u: count((r: Row) => r.t), t: first((r: Row) => r.t), x: collect((r: Row) => r.t) }), gives: ['u', 't'] },
]

const windowsOf: readonly {
  readonly needs: readonly ColumnName[]
  readonly make: () => Readonly<Record<string, unknown>>
  readonly gives: readonly ColumnName[]
}[] = [
  { needs: [], make: () => ({ u: rowNumber(), x: ntile(3) }), gives: ['u'] },
  { needs: ['n'], make: () => ({ n: sum((r: Row) => r.n), x: lag((r: Row) => r.n), u: count((r: Row) => r.n) }), gives: ['n', 'u'] },
  { needs: ['n', 's'], make: () => ({ n: min((r: Row) => r.n), s: max((r: Row) => r.s) }), gives: ['n', 's'] },
  {
    needs: ['s', 'd'],
    make: () => ({ s: lead((r: Row) => r.s, 2), d: max((r: Row) => r.d), x: mean((r: Row) => r.d?.getTime()) }),
    gives: ['s', 'd'],
  },
  { needs: ['b'], make: () => ({ b: sum((r: Row) => r.b), x: min((r: Row) => r.b) }), gives: ['b'] },
  {
    needs: ['m', 'l'],
    make: () => ({ m: firstValue((r: Row) => r.m), l: lastValue((r: Row) => r.l), x: max((r: Row) => r.m) }),
    gives: ['m', 'l'],
  },
  { needs: ['k'], make: () => ({ u: rank(), x: denseRank(), y: percentRank() }), gives: ['u'] },
  { needs: ['g'], make: () => ({ g: lag((r: Row) => r.g), s: firstValue((r: Row) => r.g?.c ?? null) }), gives: ['g', 's'] },
]

function keyColumnsOf(lambda: Lambda): readonly ColumnName[] {
  return lambda.gives?.kind === 'row' ? lambda.gives.columns : []
}

const OPERATIONS: readonly Operation[] = [
  using(PREDICATES, ({ engine }, state, { f }) => ({ ...state, plan: filterPlan(engine, state.plan, f) })),
  using(PREDICATES, ({ engine }, state, { f }) => ({ ...state, plan: filterPlan(engine, state.plan, f) })),
  using(MAPS, ({ engine }, { plan }, { f, gives }) => ({ plan: mapPlan(engine, plan, f), elements: gives ?? rows() })),
  using(MAPS, ({ engine }, { plan }, { f, gives }) => ({ plan: mapPlan(engine, plan, f), elements: gives ?? rows() })),
  using(COLUMNS_ADDED, ({ engine }, { plan, elements }, { f, gives }) => ({
    plan: withColumnsPlan(engine, plan, f),
    elements: rows(...new Set([...(elements.kind === 'row' ? elements.columns : []), ...(gives?.kind === 'row' ? gives.columns : [])])),
  })),
  using(SORTS, ({ engine }, state, { f }, { b }) => ({ ...state, plan: sortPlan(engine, state.plan, f, { descending: b % 2 === 1 }) })),
  using(SORTS, ({ engine }, state, { f }, { a, b }) => ({
    ...state,
    plan: limitPlan(engine === undefined ? state.plan : sortPlan(engine, state.plan, f, { descending: b % 2 === 1 }), a),
  })),
  using(GROUPS, ({ engine }, { plan, elements }, lambda, { a, b }) => {
    const keys = keyColumnsOf(lambda)
    const fitting = aggregatesOf.filter((one) => has(elements, ...one.needs) && !one.gives.some((name) => keys.includes(name)))
    const chosen = fitting[(a + b) % Math.max(1, fitting.length)]
    const grouping = groupingOf(engine, plan, lambda.f)
    if (chosen === undefined) return { plan: groupCountPlan(grouping), elements: rows(...keys) }
    return { plan: aggPlan(grouping, chosen.make() as never), elements: rows(...keys, ...chosen.gives) }
  }),
  using(GROUPS, ({ engine }, { plan, elements }, { f }, { a, b }) => {
    const sorts = SORTS.filter(({ needs }) => has(elements, ...needs))
    const order = sorts[(a + b) % Math.max(1, sorts.length)]
    const fitting = windowsOf.filter((one) => has(elements, ...one.needs))
    const chosen = fitting[b % Math.max(1, fitting.length)]
    if (chosen === undefined || elements.kind !== 'row') return { plan, elements }
    const values = SORTED_VALUES.filter(({ needs }) => has(elements, ...needs))
    const listed = [a, a + b + 1].map((n) => sortKey(values[n % Math.max(1, values.length)]?.f, n))
    const isListed = values.length > 0 && (a + b) % 3 === 0
    const over = {
      ...(a % 3 === 0 ? {} : { by: f }),
      ...(isListed ? { orderBy: listed } : order === undefined || a % 4 === 1 ? {} : { orderBy: order.f, descending: b % 2 === 1 }),
      ...(a % 2 === 0 ? {} : { frame: { rows: [-(b % 3), a % 4 === 1 ? 1 : null] } }),
    }
    return { plan: windowPlan(engine, plan, over, chosen.make()), elements: rows(...new Set([...elements.columns, ...chosen.gives])) }
  }),
  using(GROUPS, ({ engine }, { plan, elements }, { f, gives }) => {
    const grouping = groupingOf(engine, plan, f)
    const keys = gives?.kind === 'row' ? gives.columns : []
    if (!has(elements, 'u')) return { plan: groupCountPlan(grouping), elements: rows(...keys) }
    const reduce: Callback = (x: Row, y: Row) => (x.u >= y.u ? x : y)
    return { plan: groupReducePlan(grouping, reduce), elements: rows(...keys) }
  }),
  using(GROUPS, ({ engine }, { plan }, { f }) => ({
    plan: groupMapPlan(groupingOf(engine, plan, f), (_: unknown, values: readonly unknown[]) => ({
      k: values.length & 3,
      u: values.length,
    })),
    elements: rows('k', 'u'),
  })),
  ({ engine }, { plan, elements }, { a, b }) => {
    if (elements.kind !== 'row') return undefined
    const kept = elements.columns.filter((_, i) => i % 2 === a % 2 || i === b)
    return kept.length === 0 ? undefined : { plan: selectPlan(plan, engine === undefined ? [] : kept), elements: rows(...kept) }
  },
  ({ engine }, { plan, elements }) =>
    has(elements, 'l') ? { plan: flatMapPlan(engine, plan, (r: Row) => r.l ?? []), elements: value('k') } : undefined,
  ({ engine }, { plan, elements }) =>
    has(elements, 'w') ? { plan: flatMapPlan(engine, plan, (r: Row) => r.w ?? []), elements: value('s') } : undefined,
  ({ engine }, { plan, elements }) =>
    has(elements, 'u')
      ? {
          plan: flatMapPlan(engine, plan, (r: Row) =>
            r.u > 3
              ? [
                  { k: r.u & 3, u: r.u },
                  { k: 0, u: 0 },
                ]
              : [],
          ),
          elements: rows('k', 'u'),
        }
      : undefined,
  ({ engine }, { plan, elements }) =>
    elements.kind === 'row'
      ? {
          plan: mapPartitionsPlan(engine, plan, function* (values: Iterable<unknown>) {
            for (const one of values) {
              yield one
              yield one
            }
          }),
          elements,
        }
      : undefined,
  (_, { plan, elements }) => ({ plan: distinctPlan(plan), elements }),
  (_, { plan, elements }, { a }) => ({ plan: limitPlan(plan, a * 3), elements }),
  ({ engine }, { plan, elements }, { a, b }) => ({
    plan: a % 2 === 0 ? samplePlan(engine, plan, a / 7, { seed: b }) : samplePlan(engine, plan, { n: a * 2 - 1, seed: b }),
    elements,
  }),
  (_, { plan, elements }) => ({ plan: unionPlan([plan, plan]), elements }),
  // refused where the columns are others: here, or where only running tells them by the action
  ({ other, otherColumns }, { plan, elements }, { a }) => {
    if (elements.kind !== 'row' || !isTable(plan)) return undefined
    const shared = elements.columns.filter((name) => otherColumns.includes(name))
    const others = a > 4 || shared.length === 0 ? other : selectPlan(other, shared)
    return { plan: unionPlan(a % 2 === 0 ? [plan, others] : [others, plan]), elements: rows(...shared) }
  },
  ({ engine }, { plan, elements }, { a, b }) => {
    const name = (['k', 'l', 'm', 'n'] as const).find((one) => has(elements, one)) ?? 'k'
    const by: Callback = { k: (r: Row) => r.k, l: (r: Row) => r.l, m: (r: Row) => r.m, n: (r: Row) => (r.n === 1 ? [r.n] : [r.n, null]) }[
      name
    ]
    const cut = has(elements, name) && b % 2 === 0 ? { by } : {}
    return { plan: repartitionPlan(engine, plan, { partitions: a + 1, ...cut }), elements }
  },
  (_, { plan, elements }, { a }) => ({ plan: shuffleKeysPlan(plan, { axes: [0], seed: a }), elements }),
  (context, { plan, elements }, { a, b }) => {
    const { engine, other, otherColumns } = context
    if (elements.kind !== 'row') return undefined
    const how = howOf(context, plan, b)
    const shared = elements.columns.filter((name) => otherColumns.includes(name))
    const on = shared[a % Math.max(1, shared.length)]
    if (on === undefined) return undefined
    return { plan: joinPlan(engine, plan, other, on, { how, suffix: '_2' }), elements: rows(...elements.columns) }
  },
  (context, { plan, elements }, { a, b }) => {
    const { engine, other, otherColumns } = context
    const compared = (['k', 's', 'n', 'b', 'd', 'm', 'l', 'g', 'w'] as const).filter(
      (name) => has(elements, name) && otherColumns.includes(name),
    )
    if (!has(elements, 'u') || !otherColumns.includes('u')) return undefined
    const names = [...compared, 'lengths' as const, ...(compared.includes('l') ? (['lists', 'l'] as const) : [])]
    const key = JOIN_KEYS[names[a % names.length] ?? 'lengths']
    return { plan: joinPlan(engine, plan, other, { left: key, right: key }, { how: howOf(context, plan, b), suffix: '_2' }), elements }
  },
  ({ engine }, { plan, elements }, { a }) => {
    if (!has(elements, 'u') || !isTable(plan)) return undefined
    const combine: Callback = (x: Row, y: Row) => (x.u > y.u ? x : y)
    const f: Callback = a % 2 === 0 ? (r: Row) => [r.u & 7, r.u > 5 ? 1 : 0] : (r: Row) => [r.u & 15]
    return { plan: indexPlan(engine, plan, f, { combine }), elements }
  },
  ({ engine }, { plan, elements }, { a }) => {
    if (elements.kind !== 'row' || !isTable(plan)) return undefined
    const f: Callback =
      a % 2 === 0 ? (_: Row, [i]: readonly number[]) => [99 - (i ?? 0)] : (_: Row, [i]: readonly number[]) => [(i ?? 0) % 5, i ?? 0]
    return { plan: indexPlan(engine, plan, f, {}), elements }
  },
  ({ engine }, { plan }) => ({ plan: groupCountPlan(groupingOf(engine, plan, { axis: 0 })), elements: rows() }),
  ({ engine }, { plan, elements }) =>
    elements.kind === 'value' && elements.of === 'k' && engine !== undefined
      ? { plan: castPlan(plan, 'i64'), elements: value('b') }
      : undefined,
]

/** Picks from here on are of what is given names of columns, or takes all rows: apart, so that the others name what they named before. */
const OF_NAMES = 880

const BY_NAMES: readonly Operation[] = [
  ({ engine }, { plan, elements }, { a }) => {
    if (elements.kind !== 'row' || engine === undefined) return undefined
    // two columns of like kinds change places, so that later functions find what they read
    const names = a % 2 === 0 ? { u: 'v', k: 'u', v: 'k' } : { s: 'z', d: 'y' }
    const own = Object.fromEntries(Object.entries(names).filter(([name]) => has(elements, name as ColumnName)))
    const left = elements.columns.filter((name) => !(name in own))
    const columns = a % 2 === 0 && 'u' in own && 'k' in own ? [...left, 'u' as const, 'k' as const] : left
    return { plan: renamePlan(engine, plan, own), elements: rows(...columns) }
  },
  (_, { plan, elements }, { a }) => {
    if (elements.kind !== 'row') return undefined
    const [dropped = 'u', ...others] = elements.columns.filter((_, i) => i % 3 === a % 3)
    return {
      plan: dropPlan(plan, [dropped, ...others]),
      elements: rows(...elements.columns.filter((c) => c !== dropped && !others.includes(c))),
    }
  },
  ({ engine }, { plan, elements }, { a, b }) => {
    const neighbour = b % 2 === 0 ? 'previous' : 'next'
    const fills = {
      n: a % 2 === 0 ? 7.5 : neighbour,
      s: a % 3 === 0 ? neighbour : 'none',
      b: 5n,
      t: true,
      d: neighbour,
      m: new Date(86_400_000),
      l: neighbour,
      g: neighbour,
      w: neighbour,
    }
    const own = Object.fromEntries(Object.entries(fills).filter(([name], i) => (i + a) % 3 > 0 && has(elements, name as ColumnName)))
    return { plan: fillNullPlan(engine, plan, own), elements }
  },
  ({ engine }, { plan, elements }, { a, b }) => {
    const fitting = aggregatesOf.filter((one) => has(elements, ...one.needs))
    const chosen = fitting[(a + b) % Math.max(1, fitting.length)]
    if (chosen === undefined) return { plan: wholeAggPlan(engine, plan, { u: count() }), elements: rows('u') }
    return { plan: wholeAggPlan(engine, plan, chosen.make() as never), elements: rows(...chosen.gives) }
  },
  using(GROUPS, ({ engine }, { plan, elements }, { f }, { b }) => ({
    plan: distinctByPlan(engine, plan, { by: f, keep: b % 2 === 0 ? 'first' : 'last' }),
    elements,
  })),
  (context, { plan, elements }, { a, b }) => {
    const { engine, other, otherColumns } = context
    if (elements.kind !== 'row') return undefined
    const shared = elements.columns.filter((name) => otherColumns.includes(name))
    const on = shared.slice(a % Math.max(1, shared.length - 1)).slice(0, 2 + (b % 2))
    if (on.length < 2) return undefined
    return { plan: joinPlan(engine, plan, other, on, { how: howOf(context, plan, b), suffix: '_2' }), elements: rows(...elements.columns) }
  },
  ({ engine, other, otherColumns }, { plan, elements }, { a, b }) => {
    if (elements.kind !== 'row') return undefined
    const shared = elements.columns.filter((name) => otherColumns.includes(name))
    const orders = shared.filter((name) => ['n', 'k', 's', 'b', 'd', 'm', 'u'].includes(name))
    const on = orders[a % Math.max(1, orders.length)]
    if (on === undefined) return undefined
    const isMeasured = on !== 's'
    const direction = (['backward', 'forward', isMeasured ? 'nearest' : 'backward'] as const)[b % 3] ?? 'backward'
    const near = isMeasured && b > 4 ? { tolerance: on === 'd' || on === 'm' ? 86_400_000 : 2 } : {}
    const by = shared[(a + b) % shared.length]
    const equal = a % 3 === 0 || by === undefined || by === on ? {} : { by: a % 3 === 1 ? by : (r: Row) => r[by] }
    const given: AsofOptionsAny = { on, ...equal, direction, ...near, suffix: '_2' }
    return { plan: asofPlan(engine, plan, other, given), elements: rows(...elements.columns) }
  },
  using(SORTED_VALUES, ({ engine }, state, { f, needs }, { a, b }) => {
    const others = SORTED_VALUES.filter((one) => one.f !== f && has(state.elements, ...one.needs))
    const second = others[b % Math.max(1, others.length)]?.f ?? f
    const sorted = sortListPlan(engine, state.plan, [sortKey(f, a), sortKey(second, a + b)])
    return { ...state, plan: needs.length > 0 && b > 5 ? limitPlan(sorted, a) : sorted }
  }),
  (_, { plan, elements }, { a, b }) => ({ plan: slicePlan(plan, a, { offset: b }), elements }),
  (_, { plan, elements }, { a }) => ({ plan: tailPlan(plan, 2 * a), elements }),
  ({ engine, other, otherColumns }, { plan, elements }, { a }) => {
    if (elements.kind !== 'row' || !isTable(plan)) return undefined
    const inputs = withAllColumns(engine, a % 2 === 0 ? [plan, other] : [other, plan])
    return { plan: unionPlan(inputs), elements: rows(...new Set([...elements.columns, ...otherColumns])) }
  },
]

const JOIN_KEYS = {
  k: (r: Row) => r.k,
  s: (r: Row) => ({ s: r.s, u: r.u }),
  n: (r: Row) => [r.n, r.u],
  b: (r: Row) => r.b,
  d: (r: Row) => r.d,
  m: (r: Row) => r.m,
  l: (r: Row) => r.l,
  g: (r: Row) => r.g,
  w: (r: Row) => r.w,
  lists: (r: Row) => ({ l: r.l, m: [r.u & 1] }),
  lengths: (r: Row) => (r.u > 3 ? [r.u & 1] : r.u < 0 ? [] : [r.u & 1, r.u & 3]),
} as const

/** The plan of a program; operations that do not apply are left out. */
export function planOfProgram(engine: Engine, { tables, choices, stored }: Program): LogicalPlan {
  const [main, side] = tables.map(scanOf) as [LogicalPlan, LogicalPlan] // a program has two tables
  const [mainTable, sideTable] = tables as readonly [Table, Table]
  const context: Context = { engine, other: side, otherColumns: sideTable.columns, anyJoin: stored !== undefined }
  let state: State = { plan: main, elements: rows(...mainTable.columns) }
  for (const [i, step] of choices.entries()) {
    if (stored?.after === i) state = storedState(engine, state, stored)
    const all = [...(step.pick >= OF_NAMES ? BY_NAMES : []), ...OPERATIONS]
    const first = step.pick >= OF_NAMES ? step.pick % BY_NAMES.length : step.pick
    const results = all.map((operation) => () => operation(context, state, step))
    // the first that applies, from the picked one on
    for (let i = 0; i < results.length; i++) {
      const next = attempted(results[(first + i) % results.length])
      if (next === undefined) continue
      state = next
      break
    }
  }
  return state.plan
}

function storedState(engine: Engine, { plan, elements }: State, { opaque, emptied }: StoredHere): State {
  const none: Callback = () => false
  const input = emptied ? filterPlan(engine, plan, none) : plan
  const unseen: Callback = (one: unknown) => [one].reverse()[0]
  return { plan: materializePlan(opaque ? mapPlan(engine, input, unseen) : input), elements }
}

/** The next state; undefined also where the columns at hand are refused at the call, as two of one name. */
function attempted(operation: (() => State | undefined) | undefined): State | undefined {
  try {
    return operation?.()
  } catch (error) {
    if (error instanceof PlanError) return undefined
    throw error
  }
}

function scanOf({ source }: Table): LogicalPlan {
  const columns = source.element.kind === 'row' ? source.element.fields.map((field) => field.name) : []
  return { kind: 'Scan', source, columns, element: source.element, keys: { kind: 'rowNumber' } }
}
