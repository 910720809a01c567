/**
 * Random chains of transformations over a small table with everything in it: nulls, NaN, -0, strings, bigints,
 * booleans, repeated values.
 *
 * A step is its kind and a list of numbers; what the numbers choose depends on the columns there are when the step is
 * taken, so that every chain makes sense and shrinks. Functions are source texts, so that the front end sees what a
 * user would have written: pure, refused, throwing, and reading the key.
 */
import fc from 'fast-check'
import { DistArray, planOf } from '../../src/core/arrays/distArray.ts'
import { fieldsOf } from '../../src/core/data/schema.ts'
import { PlanError } from '../../src/core/errors.ts'
import { count, countDistinct, first, max, mean, sum } from '../../src/core/plan/aggregates.ts'
import type { LogicalPlan } from '../../src/core/plan/logicalPlan.ts'
import { countPlan } from '../../src/core/plan/transformations.ts'
import { lag, rank, rowNumber } from '../../src/core/plan/windows.ts'
import { planEngine, scanOf } from '../plans.ts'

type Any = DistArray<never, readonly number[]>

export const STEPS = [
  'filter',
  'filterSimple',
  'filterOne',
  'filterKey',
  'filterOpaque',
  'filterThrows',
  'mapRow',
  'mapKey',
  'mapScalar',
  'mapOpaque',
  'mapThrows',
  'withColumns',
  'select',
  'sortBy',
  'limit',
  'sample',
  'distinct',
  'union',
  'join',
  'joinBy',
  'groupBy',
  'window',
  'repartition',
  'index',
  'flatMap',
] as const
export type Step = (typeof STEPS)[number]

export interface Chain {
  readonly steps: readonly { readonly step: Step; readonly picks: readonly number[] }[]
  readonly rows: readonly Readonly<Record<string, unknown>>[]
  readonly others: readonly Readonly<Record<string, unknown>>[]
  /** Ends in counting. */
  readonly counted: boolean
}

const number = fc.constantFrom(1, 2, 3, 0, -0, Number.NaN, 5.5, -1)
const row = fc.record({
  a: fc.oneof(number, fc.constant(null)),
  n: fc.constantFrom(1, 2, 3, 0),
  s: fc.constantFrom('b', 'm', '', 'z', null),
  f: fc.boolean(),
  g: fc.constantFrom(1n, 3n, 9007199254740993n, null),
})
const other = fc.record({ n: fc.constantFrom(1, 2, 4), a: fc.oneof(number, fc.constant(null)), t: fc.constantFrom('b', 'x') })
const COLUMNS = { a: 'f64?', n: 'i32', s: 'utf8?', f: 'bool', g: 'i64?' } as const
const OTHER_COLUMNS = { n: 'i32', a: 'f64?', t: 'utf8' } as const

export function chain(steps: readonly Step[] = STEPS): fc.Arbitrary<Chain> {
  return fc.record({
    steps: fc.array(fc.record({ step: fc.constantFrom(...steps), picks: fc.array(fc.nat(99), { minLength: 1, maxLength: 12 }) }), {
      minLength: 1,
      maxLength: 6,
    }),
    rows: fc.array(row, { maxLength: 7 }),
    others: fc.array(other, { maxLength: 4 }),
    counted: fc.boolean(),
  })
}

export interface BuiltChain {
  readonly plan: LogicalPlan
  readonly tables: ReadonlyMap<object, readonly unknown[]>
}

/** The plan of a chain. A step that makes no sense where it stands is left out. */
export function buildChain({ steps, rows, others, counted }: Chain): BuiltChain {
  const scan = scanOf('rows', COLUMNS)
  const otherScan = scanOf('others', OTHER_COLUMNS)
  let array = new DistArray<never, readonly number[]>(planEngine, scan)
  const right = new DistArray<never, readonly number[]>(planEngine, otherScan)
  for (const { step, picks } of steps) {
    try {
      array = takeStep(array, right, step, new Picks(picks))
    } catch (error) {
      if (!(error instanceof PlanError)) throw error
    }
  }
  const plan = counted ? countPlan(planOf(array)) : planOf(array)
  return { plan, tables: new Map([...sourceOf(scan, rows), ...sourceOf(otherScan, others)]) }
}

function sourceOf(scan: LogicalPlan, rows: readonly unknown[]): readonly (readonly [object, readonly unknown[]])[] {
  return scan.kind === 'Scan' ? [[scan.source, rows]] : []
}

/** Choices, one after another, the first ones again when they are used up. */
class Picks {
  #at = 0
  readonly #picks: readonly number[]
  constructor(picks: readonly number[]) {
    this.#picks = picks
  }
  of<V>(options: readonly V[]): V {
    const pick = this.#picks[this.#at++ % this.#picks.length] ?? 0
    return options[(pick + Math.floor(this.#at / this.#picks.length)) % options.length] as V
  }
}

/** Sources of expressions over the element `r`. */
class Source {
  readonly #picks: Picks
  readonly #scalar: string | undefined
  readonly #columns: ReadonlyMap<string, string>
  constructor(array: Any, picks: Picks) {
    const { element } = planOf(array)
    this.#picks = picks
    this.#scalar = element.kind === 'scalar' ? element.type.kind : undefined
    this.#columns = new Map(element.kind === 'row' ? fieldsOf(element).map((field) => [field.name, field.type.kind]) : [])
  }

  get names(): readonly string[] {
    return [...this.#columns.keys()]
  }

  /** Reads of columns of these types. */
  #reads(...types: readonly string[]): readonly string[] {
    if (this.#scalar !== undefined) return types.includes(this.#scalar) ? ['r'] : []
    return [...this.#columns].filter(([, type]) => types.includes(type)).map(([name]) => `r.${name}`)
  }

  number(depth = 2): string {
    const leaves = [...this.#reads('f64', 'i32'), '1', 'c', '2.5']
    const kind = depth === 0 ? 'leaf' : this.#picks.of(['leaf', 'leaf', 'sum', 'conditional', 'call', 'default'])
    switch (kind) {
      case 'sum':
        return `(${this.number(depth - 1)} ${this.#picks.of(['+', '*', '-', '/'])} ${this.number(depth - 1)})`
      case 'conditional':
        return `(${this.boolean(depth - 1)} ? ${this.number(depth - 1)} : ${this.number(depth - 1)})`
      case 'call':
        return `Math.abs(${this.number(depth - 1)})`
      case 'default':
        return `(${this.#picks.of(leaves)} ?? 7)`
      default:
        return this.#picks.of(leaves)
    }
  }

  boolean(depth = 2): string {
    const texts = this.#reads('utf8')
    const flags = this.#reads('bool')
    const bigints = this.#reads('i64')
    const any = this.#reads('f64', 'i32', 'utf8', 'bool', 'i64')
    const kinds = [
      'compare',
      'simple',
      'simple',
      ...(texts.length > 0 ? ['text'] : []),
      ...(flags.length > 0 ? ['flag'] : []),
      ...(bigints.length > 0 ? ['bigint'] : []),
      ...(any.length > 0 ? ['null'] : []),
    ]
    const kind = this.#picks.of(depth === 0 ? kinds : [...kinds, 'and', 'or', 'not'])
    const comparison = (): string => this.#picks.of(['<', '<=', '>', '>=', '===', '!=='])
    switch (kind) {
      case 'text':
        return this.#picks.of([`${this.#picks.of(texts)} ${comparison()} 'm'`, `(${this.#picks.of(texts)} ?? '').startsWith('b')`])
      case 'flag':
        return this.#picks.of(flags)
      case 'bigint':
        return `${this.#picks.of(bigints)} ${comparison()} ${this.#picks.of(['3n', '2'])}`
      case 'null':
        return `${this.#picks.of(any)} ${this.#picks.of(['===', '!==', '=='])} ${this.#picks.of(['null', 'undefined'])}`
      case 'simple':
        return `${this.number(0)} ${comparison()} ${this.#picks.of(['2', 'c', '-1', '4'])}`
      case 'and':
        return `(${this.boolean(depth - 1)} && ${this.boolean(depth - 1)})`
      case 'or':
        return `(${this.boolean(depth - 1)} || ${this.boolean(depth - 1)})`
      case 'not':
        return `!(${this.boolean(depth - 1)})`
      default:
        return `${this.number(depth === 0 ? 0 : depth - 1)} ${comparison()} ${this.number(0)}`
    }
  }

  /** A column compared with a constant. */
  simple(): string {
    const comparison = this.#picks.of(['<', '<=', '>', '>=', '===', '!==', '=='])
    const [text, bigint, num] = [this.#reads('utf8'), this.#reads('i64'), this.#reads('f64', 'i32')]
    const sides = [
      ...text.map((read) => [read, "'m'"]),
      ...bigint.map((read) => [read, '3n']),
      ...num.flatMap((read) => [
        [read, '2'],
        [read, 'c'],
        [read, 'c'],
        [read, '-1'],
        [read, '0'],
      ]),
    ]
    const [left, right] = sides.length === 0 ? ['1', '2'] : this.#picks.of(sides)
    return this.#picks.of([`${left} ${comparison} ${right}`, `${right} ${comparison} ${left}`])
  }

  /** A value for a column: computed, passed through, or sometimes undefined. */
  value(): string {
    const any = this.#reads('f64', 'i32', 'utf8', 'bool', 'i64')
    switch (this.#picks.of(['number', 'number', 'passed', 'passed', 'boolean', 'undefined', 'text'])) {
      case 'passed':
        return any.length === 0 ? '1' : this.#picks.of(any)
      case 'boolean':
        return this.boolean(1)
      case 'undefined':
        return `(${this.boolean(1)} ? ${this.number(1)} : undefined)`
      case 'text':
        return this.#picks.of(["'b'", `String(${this.number(0)})`])
      default:
        return this.number(2)
    }
  }

  object(names: readonly string[]): string {
    const chosen = names.slice(0, this.#picks.of([1, 2, 3]))
    return `({ ${chosen.map((name) => `${name}: ${this.value()}`).join(', ')} })`
  }
}

/** A closure that captures a number `c`. */
function closure(source: string, c: number): (...args: never[]) => never {
  return new Function('c', `return ${source}`)(c) as (...args: never[]) => never
}

function takeStep(array: Any, right: Any, step: Step, picks: Picks): Any {
  const source = new Source(array, picks)
  const c = picks.of([2, 0, -1])
  const f = (text: string): never => closure(text, c) as never
  switch (step) {
    case 'filter':
      return picks.of([
        () => array.filter(f(`(r) => ${source.boolean()}`)),
        () => array.filter(f(`(r) => { const t = ${source.number()}; return t > c && ${source.boolean(1)} }`)),
        () => array.filter(f(`(r) => { let t = 1; if (${source.boolean(1)}) t = ${source.number(1)}; return t < 2 }`)),
        () => array.filter(f(`(r) => { if (${source.boolean(1)}) return true; return ${source.boolean(1)} }`)),
      ])()
    case 'filterSimple':
      return array.filter(f(`(r) => ${source.simple()} && ${source.boolean(0)} && ${source.simple()}`))
    case 'filterOne':
      return array.filter(f(`(r) => ${source.simple()}`))
    case 'filterKey':
      return array.filter(f(`(r, [i]) => i % 2 === 0 || ${source.boolean(1)}`))
    case 'filterOpaque':
      return array.filter(f(`(r) => !/^x/.test(String(${source.boolean(1)})) && ${source.boolean(1)}`))
    case 'filterThrows':
      return array.filter(f(`(r) => { if (${source.boolean(1)}) throw new Error('boom'); return true }`))
    case 'mapRow':
      return array.map(
        f(
          `(r) => ${source.object(
            picks.of([
              ['x', 'y', 'a'],
              ['a', 'n', 's'],
              ['n', 'x', 'f'],
            ]),
          )}`,
        ),
      )
    case 'mapScalar':
      return array.map(f(`(r${picks.of(['', ', [i]'])}) => ${source.value()}`.replace('[i]) =>', '[i]) => i > 1 ? 4 :')))
    case 'mapKey':
      return array.map(f(`(r, [i]) => ({ x: i, a: ${source.number(1)}, n: ${source.number(0)} * i })`))
    case 'mapOpaque':
      return array.map(f(`(r) => (/^x/.test('y') ? {} : ${source.object(['a', 'n', 'q'])})`))
    case 'mapThrows':
      return array.map(f(`(r) => { if (${source.boolean(1)}) throw new Error('boom'); return ${source.object(['a', 'x', 'n'])} }`))
    case 'withColumns':
      return array.withColumns(
        f(
          `(r) => ${source.object(
            picks.of([
              ['x', 'y'],
              ['a', 'x'],
              ['n', 's', 'w'],
            ]),
          )}`,
        ),
      )
    case 'select': {
      const names = source.names.filter(() => picks.of([true, true, false]))
      return array.select(...((picks.of([true, false]) ? names : [...names].reverse()) as never[])) as unknown as Any
    }
    case 'sortBy':
      return array.sortBy(f(`(r) => ${picks.of([source.number(1), `[${source.number(0)}, ${source.number(1)}]`])}`), {
        descending: picks.of([false, true]),
      })
    case 'limit':
      return array.limit(picks.of([0, 1, 2, 3, 5]))
    case 'sample': {
      const given = picks.of([0.5, 0.8, { n: 2 }, { n: 4 }])
      const seed = picks.of([1, 2])
      return typeof given === 'number' ? array.sample(given, { seed }) : array.sample({ ...given, seed })
    }
    case 'distinct':
      return array.distinct() as Any
    case 'union':
      return array.union(array.filter(f(`(r) => ${source.boolean(1)}`)), ...(picks.of([true, false]) ? [array] : [])) as Any
    case 'join':
      return array.join(right, 'n' as never, { how: picks.of(['inner', 'left', 'right', 'full', 'semi', 'anti']) }) as Any
    case 'joinBy':
      return array.join(
        right,
        { left: f(`(r) => ${source.number(1)}`), right: f('(o) => o.a') },
        { how: picks.of(['inner', 'left', 'right', 'full', 'semi', 'anti', 'cross']), suffix: '_o' },
      ) as Any
    case 'groupBy': {
      const key = picks.of([`${source.number(0)}`, `({ k: ${source.number(0)}, b: ${source.boolean(0)} })`])
      const v = f(`(r) => ${source.number(1)}`)
      const all = { total: sum(v), rows: count(), most: max(v), average: mean(v), head: first(v), kinds: countDistinct(v) }
      const chosen = picks.of([['rows'], ['rows', 'most', 'head'], ['total', 'average'], ['kinds', 'total', 'rows']])
      return array
        .groupBy(f(`(r) => ${key}`))
        .agg(Object.fromEntries(Object.entries(all).filter(([name]) => chosen.includes(name))) as never) as unknown as Any
    }
    case 'window': {
      const key = picks.of([source.number(0), `({ n: ${source.number(0)}, a: ${source.number(0)} })`, source.value()])
      const v = f(`(r) => ${source.number(1)}`)
      const by = picks.of([{ by: f(`(r) => ${key}`) }, { by: f(`(r) => ${key}`) }, {}])
      const orderBy = { orderBy: f(`(r) => ${source.number(1)}`), descending: picks.of([false, true]) }
      const frame = picks.of([{}, { frame: { rows: [-1, 0] as const } }, { frame: { range: [-2, null] as const } }])
      const all = { w: rank(), x: lag(v), a: sum(v), n: count(v), y: max(v), z: rowNumber() }
      const chosen = picks.of([
        ['w', 'x'],
        ['a', 'z'],
        ['n', 'y'],
        ['x', 'y', 'z'],
      ])
      return array.window(
        { ...by, ...orderBy, ...frame },
        Object.fromEntries(Object.entries(all).filter(([name]) => chosen.includes(name))) as never,
      ) as unknown as Any
    }
    case 'repartition':
      return array.repartition(picks.of([{ partitions: 3 }, { partitions: 2, by: f(`(r) => ${source.number(0)}`) }]))
    case 'index':
      return array.index(f('(r, [i]) => [i % 2, i]')) as unknown as Any
    case 'flatMap':
      return array.flatMap(f(`(r) => [${source.number(1)}, ${source.number(0)}]`)) as Any
  }
}
