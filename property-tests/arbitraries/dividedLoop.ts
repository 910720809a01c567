/**
 * Random loops of several statements, of which only some carry dependences: what a loop is split by.
 *
 *     a[i + 1] = 0.7 a[i] + 0.3 x[i]            c[i] = 0.7 c[i] + 0.3 a[i + 2]         total.add(0.7 a[i] + 0.3 b[i + 1])
 *     const n2 = 0.7 x[i] + 0.3 b[i]            if (x[i] > n2) d[i] = …                count.add(i, …)
 *     for (k < 3) b[i + k] = …                  n1 = …                                 if (…) throw …
 *
 * Some of them stand under one test, with others in its `else`, or after an early return:
 *
 *     if (i > 2) { … } else { … }               if (x[i] > 1) return               if (i % 3 < n1) { …; return }
 *
 * Over two axes the index of an array is i, j or i + j.
 */
import fc from 'fast-check'
import type { Expr, FunctionIr, Stmt, UserFunction } from '../../src/core/ir/functionIr.ts'
import type { EnvBinding, LoopSpec } from '../../src/core/loop/loopSpec.ts'
import { keysOf, type RandomArray, type RandomLoop } from './loopBody.ts'
import { printFunction } from './loopSource.ts'

/** Array, index and offset of an access, each modulo what there is. */
interface RawPlace {
  readonly array: number
  readonly index: number
  readonly offset: number
}

const FORMS = ['set', 'set', 'set', 'when', 'local', 'local', 'changed', 'turns', 'total', 'count', 'add', 'throw'] as const

interface RawStatement {
  readonly form: (typeof FORMS)[number]
  readonly to: RawPlace
  readonly from: RawPlace
  readonly other: RawPlace
  /** A local that is in the value, where there is one. */
  readonly local: number | undefined
}

/** Tests of a test of several statements: of the index, of an array, or of a local if there is one. */
const TESTS = ['index', 'index', 'turn', 'array', 'local'] as const

/** Statements from one to another under a test, from there to a third in its `else`. */
interface RawTest {
  readonly test: (typeof TESTS)[number]
  readonly of: RawPlace
  readonly local: number
  readonly from: number
  readonly yes: number
  readonly no: number
  readonly returns: boolean
}

export interface RawDivided {
  readonly extents: readonly number[]
  readonly over: 'range' | 'dense'
  readonly order: 'serial' | 'any'
  readonly statements: readonly RawStatement[]
  readonly tests: readonly RawTest[]
  readonly alias: boolean
  readonly seed: number
}

export function dividedLoop(options: { readonly throws?: boolean } = {}): fc.Arbitrary<RandomLoop> {
  const offset = fc.oneof(fc.constant(1), fc.integer({ min: 0, max: 3 }))
  const place = fc.record({ array: fc.nat(4), index: fc.nat(5), offset })
  const forms = FORMS.filter((form) => options.throws === true || form !== 'throw')
  const statement = fc.record({
    form: fc.constantFrom(...forms),
    to: place,
    from: place,
    other: place,
    local: fc.option(fc.nat(3), { nil: undefined }),
  })
  const test = fc.record({
    test: fc.constantFrom(...TESTS),
    of: place,
    local: fc.nat(3),
    from: fc.nat(4),
    yes: fc.nat(4),
    no: fc.nat(2),
    returns: fc.boolean(),
  })
  return fc
    .record({
      extents: fc.oneof(
        { weight: 4, arbitrary: fc.tuple(fc.integer({ min: 1, max: 40 })) },
        { weight: 1, arbitrary: fc.tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 9 })) },
      ),
      over: fc.constantFrom<('range' | 'dense')[]>('range', 'range', 'dense'),
      order: fc.constantFrom<('serial' | 'any')[]>('serial', 'serial', 'any'),
      statements: fc.array(statement, { minLength: 2, maxLength: 7 }),
      tests: fc.oneof(fc.constant([]), fc.array(test, { minLength: 1, maxLength: 2 })),
      alias: fc.integer({ min: 0, max: 7 }).map((n) => n === 7),
      seed: fc.nat(),
    })
    .map(buildDivided)
}

const span = { line: 1, column: 1, text: '' }
const number = (value: number): Expr => ({ kind: 'Literal', value, span })
const binary = (operator: '+' | '*' | '>' | '<' | '===' | '%', left: Expr, right: Expr): Expr => ({
  kind: 'Binary',
  operator,
  left,
  right,
  span,
})
const mix = (x: Expr, y: Expr): Expr => binary('+', binary('*', number(0.7), x), binary('*', number(0.3), y))
const when = (test: Expr, body: readonly Stmt[]): Stmt => ({
  kind: 'If',
  test,
  // biome-ignore lint/suspicious/noThenProperty: the IR's own word, and no promise
  then: body,
  else: [],
  span,
})

/** Arrays that are set and read; x is only read, c and e are also added to. */
const SET = ['a', 'b', 'c', 'd'] as const
const READ = ['a', 'b', 'c', 'd', 'x'] as const
const ROOM = 6

export function buildDivided(raw: RawDivided): RandomLoop {
  const { extents, over } = raw
  const rank = extents.length
  const keys: Expr[] = extents.map((_, axis) => ({ kind: 'Key', axis, span }))
  const [i = number(0), j = number(0)] = keys
  const indices = rank === 1 ? [i] : [i, j, binary('+', i, j)]
  const indexOf = ({ index, offset }: RawPlace) => binary('+', indices[index % indices.length] ?? i, number(offset))
  const read = (place: RawPlace): Expr => ({
    kind: 'Read',
    array: READ[place.array % READ.length] ?? 'x',
    subscripts: [indexOf(place)],
    span,
  })
  const locals: string[] = []
  const statements = ({ form, to, from, other, local }: RawStatement, at: number): Stmt[] => {
    const own = local === undefined || locals.length === 0 ? undefined : (locals[local % locals.length] as string)
    const value = mix(read(from), own === undefined ? read(other) : { kind: 'Local', name: own, span })
    const array = SET[to.array % SET.length] ?? 'a'
    const set: Stmt = { kind: 'Write', array, subscripts: [indexOf(to)], value, span }
    switch (form) {
      case 'set':
        return [set]
      case 'when':
        return [when(binary('>', read(other), number(1)), [set])]
      case 'local':
        locals.push(`n${at}`)
        return [{ kind: 'Let', local: `n${at}`, init: value, span }]
      case 'changed': {
        if (own === undefined) return []
        const assign: Stmt = { kind: 'Assign', local: own, value, span }
        return [to.index % 2 === 0 ? assign : when(binary('>', read(other), number(1)), [assign])]
      }
      case 'turns': {
        const k: Expr = { kind: 'Local', name: `k${at}`, span }
        const next: Stmt = { kind: 'Assign', local: `k${at}`, value: binary('+', k, number(1)), span }
        return [
          {
            kind: 'For',
            init: [{ kind: 'Let', local: `k${at}`, init: number(0), span }],
            test: binary('<', k, number(3)),
            update: [next],
            body: [{ kind: 'Write', array, subscripts: [binary('+', indexOf({ ...to, offset: 0 }), k)], value, span }],
            doWhile: false,
            counted: { local: `k${at}`, from: number(0), to: number(3), step: 1 },
            span,
          },
        ]
      }
      case 'total':
        return [{ kind: 'Accumulate', accumulator: 'total', value, span }]
      case 'count':
        return [{ kind: 'Add', array: 'e', subscripts: [indexOf(to)], value: number(to.offset + 1), span }]
      case 'add':
        return [{ kind: 'Add', array: 'c', subscripts: [indexOf(to)], value, span }]
      case 'throw': {
        const test = binary('===', binary('%', indexOf(to), number(5 + from.offset)), number(other.offset))
        return [when(binary('>', read(from), number(2)), [when(test, [{ kind: 'Throw', error: 'RangeError', message: number(at), span }])])]
      }
    }
  }
  const flat = raw.statements.flatMap(statements)
  const testOf = ({ test, of, local }: RawTest, before: readonly Stmt[]): Expr => {
    const own = before.filter((stmt) => stmt.kind === 'Let')
    const index = indices[of.index % indices.length] ?? i
    if (test === 'turn') return binary('<', binary('%', index, number(3)), number(of.offset))
    if (test === 'array') return binary('>', read(of), number(1))
    if (test === 'local' && own.length > 0)
      return binary('>', { kind: 'Local', name: own[local % own.length]?.local ?? '', span }, number(1))
    return binary('>', index, number(of.offset - 1))
  }
  const body = raw.tests.reduce((stmts, one) => underTest(stmts, one, testOf), flat)
  const random = pseudoRandom(raw.seed)
  const length = extents.reduce((sum, extent) => sum + extent, 0) + ROOM
  const array = (identity: number, names: readonly string[], dtype: 'f64' | 'i32'): RandomArray => ({
    array: identity,
    names,
    shape: [length],
    dtype,
    values: Array.from({ length }, () => Math.floor(random() * 30) / 10),
  })
  const whole = ({ values, ...rest }: RandomArray): RandomArray => ({ ...rest, values: values.map(Math.round) })
  const arrays: RandomArray[] = [
    ...(raw.alias ? [array(1, ['a', 'b'], 'f64')] : [array(1, ['a'], 'f64'), array(2, ['b'], 'f64')]),
    array(3, ['c'], 'f64'),
    whole(array(4, ['d'], 'i32')),
    array(5, ['x'], 'f64'),
    whole(array(6, ['e'], 'i32')),
  ]
  const iterations = keysOf(extents)
  if (over === 'dense') {
    arrays.push({ array: 0, names: [], shape: extents, dtype: 'f64', values: iterations.map(() => random()) })
  }
  const names = ['a', 'b', 'c', 'd', 'x', 'e', 'total']
  const source = printFunction(body, rank, names, over !== 'range')
  const uses = names.map((name) => ({
    name,
    kind: name === 'total' ? ('accumulator' as const) : ('array' as const),
    origin: 'env' as const,
  }))
  const ir: FunctionIr = { name: 'body', span, keyRank: rank, body, parameters: [], tables: [], uses }
  const original = new Function(`return (${source})`)() as UserFunction['original'] // the source is a function
  const env: Record<string, EnvBinding> = { total: { kind: 'accumulator', combine: 'sum' } }
  for (const { array: identity, names: own, dtype, shape } of arrays) {
    for (const name of own) env[name] = { kind: 'array', array: identity, dtype, storage: 'dense', rank: shape.length, shape, label: name }
  }
  const space: LoopSpec['over'] =
    over === 'range'
      ? { kind: 'range', rank, extents, label: `range(${extents.join(', ')})` }
      : { kind: over, array: 0, element: { kind: 'scalar', type: { kind: 'f64' }, nullable: false }, rank, extents, label: 'elements' }
  const spec: LoopSpec = { body: { original, text: source, span, ir, refusals: [] }, over: space, env, options: { order: raw.order } }
  return Object.defineProperty({ spec, ir, source, arrays, iterations }, fc.toStringMethod, {
    value: () => `\nover ${over} [${extents.join(', ')}], order ${raw.order}, seed ${raw.seed}\n${source}\n`,
  })
}

/** The statements with some of them under a test, unless others need a local that is declared there. */
function underTest(stmts: readonly Stmt[], raw: RawTest, testOf: (raw: RawTest, before: readonly Stmt[]) => Expr): Stmt[] {
  const before = stmts.slice(0, raw.from)
  const yes = stmts.slice(raw.from, raw.from + raw.yes)
  const no = stmts.slice(raw.from + raw.yes, raw.from + raw.yes + raw.no)
  const after = stmts.slice(raw.from + raw.yes + raw.no)
  const hides = (inside: readonly Stmt[], outside: readonly Stmt[]) =>
    inside.some((stmt) => stmt.kind === 'Let' && JSON.stringify(outside).includes(`"${stmt.local}"`))
  if (hides(yes, [...no, ...after]) || hides(no, after)) return [...stmts]
  const end: Stmt[] = raw.returns ? [{ kind: 'Return', span }] : []
  // biome-ignore lint/suspicious/noThenProperty: the IR's own word, and no promise
  return [...before, { kind: 'If', test: testOf(raw, before), then: [...yes, ...end], else: no, span }, ...after]
}

/** Numbers in [0, 1), the same for the same seed. */
function pseudoRandom(seed: number): () => number {
  let state = (seed ^ 0x9e3779b9) >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}
