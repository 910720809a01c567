/**
 * Random bodies that compute with bigints and i64 arrays: every operator at its edges, conversions from and to numbers,
 * sums that leave 64 bits and are brought back, shifts by counts of either sign, divisors that are zero or -1.
 */
import fc from 'fast-check'
import type { DType } from '../../src/core/data/schema.ts'
import type { Expr, FunctionIr, Primitive, Stmt } from '../../src/core/ir/functionIr.ts'
import { binary, branch, choice, key, literal, local, span } from './irNodes.ts'

export const LENGTH = 13

/** Arrays by name: dtype and shape. `same` is another name of `grid`. */
export const BIGINT_ARRAYS: Readonly<Record<string, readonly [DType, readonly number[]]>> = {
  big: ['i64', [LENGTH]],
  grid: ['i64', [3, LENGTH]],
  whole: ['i32', [LENGTH]],
  natural: ['u32', [LENGTH]],
  wide: ['f64', [LENGTH]],
  flags: ['bool', [LENGTH]],
}
export const SAME = 'same'
const BIG = ['big', 'grid', SAME]
const SMALL = ['whole', 'natural']

/** Values where 64 bits end, with a sign and without, and around those where doubles do. */
export const EDGES: readonly bigint[] = [
  ...[0n, 1n, -1n, 2n, -2n, 3n, 7n, -10n, 63n, 64n, 65n],
  ...[2n ** 31n, -(2n ** 31n), 2n ** 32n, 2n ** 53n, 2n ** 53n + 1n, -(2n ** 53n) - 1n],
  ...[2n ** 62n, 2n ** 63n - 1n, -(2n ** 63n), -(2n ** 63n) + 1n],
]
const BEYOND: readonly bigint[] = [2n ** 63n, 2n ** 64n - 1n, 2n ** 64n - 59n, 2n ** 64n, -(2n ** 64n), 3n ** 50n]
const NUMBERS: readonly number[] = [
  0,
  -0,
  1,
  -1,
  3,
  2.5,
  -7,
  64,
  2 ** 31,
  2 ** 53,
  -(2 ** 53),
  2 ** 63,
  1e30,
  Number.NaN,
  Number.POSITIVE_INFINITY,
]

export type BigintElement = 'none' | 'box' | 'bigint' | 'row'

const read = (array: string, subscripts: readonly Expr[]): Expr => ({ kind: 'Read', array, subscripts, span })
const call = (callee: Extract<Expr, { kind: 'Call' }>['callee'], ...args: readonly Expr[]): Expr => ({ kind: 'Call', callee, args, span })

interface Values {
  /** Any bigint. */
  readonly any: fc.Arbitrary<Expr>
  /** One that is certainly within 64 bits, of either sign. */
  readonly exact: fc.Arbitrary<Expr>
  readonly number: fc.Arbitrary<Expr>
  readonly truth: fc.Arbitrary<Expr>
}

function valuesOf(element: BigintElement, counter: string | undefined): Values {
  const index = counter === undefined ? key(element === 'box' ? 1 : 0) : local(counter)
  const inside = binary('%', index, literal(LENGTH))
  const place = fc.oneof(
    { weight: 8, arbitrary: fc.constant(index) },
    { weight: 8, arbitrary: fc.constantFrom(inside, literal(0), literal(LENGTH - 1)) },
    { weight: 1, arbitrary: fc.constantFrom(binary('+', index, literal(1)), binary('-', index, literal(1)), literal(-1), literal(0.5)) },
  )
  const subscripts = (array: string): fc.Arbitrary<Expr[]> =>
    array === 'grid' || array === SAME ? fc.tuple(fc.nat(2).map(literal), place) : fc.tuple(place)
  const readOf = (arrays: readonly string[]): fc.Arbitrary<Expr> =>
    fc.constantFrom(...arrays).chain((array) => subscripts(array).map((at) => read(array, at)))
  const leaves: fc.Arbitrary<Expr>[] = [
    fc.constantFrom(...EDGES).map(literal),
    readOf(BIG),
    readOf(BIG),
    fc.constantFrom(local('x'), local('y')),
    fc.constantFrom('near', 'far').map((name): Expr => ({ kind: 'Parameter', name, span })),
    fc
      .tuple(fc.constantFrom('codes'), fc.constantFrom(literal(1), binary('&', key(0), literal(3))))
      .map(([table, at]): Expr => ({ kind: 'Lookup', table, index: at, span })),
  ]
  if (element === 'bigint') leaves.push(fc.constant<Expr>({ kind: 'Input', argument: 0, span }))
  if (element === 'row') {
    leaves.push(fc.constant<Expr>({ kind: 'Field', of: { kind: 'Input', argument: 0, span }, name: 'id', optional: false, span }))
  }
  const width = fc.constantFrom(0, 1, 8, 31, 32, 33, 53, 63, 64, 64, 64)
  const leaf = fc.oneof(...leaves)
  const steps = fc.constantFrom(0n, 1n, 7n, 31n, 32n, 63n, 64n, 65n, -1n, -64n, -65n).map(literal)
  const near = fc
    .constantFrom(62n, 63n, 64n, 65n)
    .chain((most) => leaf.map((value) => binary('-', literal(most), binary('&', value, literal(3n)))))
  const count = fc.oneof(steps, near, fc.constant(call('BigInt', inside)))
  const anyCount = fc.oneof(
    count,
    leaf.map((value) => call('BigInt.asIntN', literal(8), value)),
  )
  const { any, exact, number, truth } = fc.letrec<{ any: Expr; exact: Expr; number: Expr; truth: Expr }>((tie) => {
    const [any, exact, number, truth] = [tie('any'), tie('exact'), tie('number'), tie('truth')]
    const limits = { maxDepth: 4, depthIdentifier: 'bigint expression' }
    const ring = fc.constantFrom('+', '-', '*', '&', '|', '^', '+', '-', '*')
    const masks = fc.constantFrom(0n, 1n, 15n, 255n, 2n ** 32n - 1n, 2n ** 63n - 1n, 2n ** 64n - 1n).map(literal)
    return {
      any: fc.oneof(
        limits,
        leaf,
        exact,
        fc.constantFrom(...BEYOND).map(literal),
        fc.constant(local('z')),
        fc.tuple(ring, any, any).map(([o, a, b]) => binary(o as '+', a, b)),
        fc.tuple(ring, any, any).map(([o, a, b]) => binary(o as '+', a, b)),
        fc
          .tuple(fc.constantFrom('-' as const, '~' as const), any)
          .map(([operator, operand]): Expr => ({ kind: 'Unary', operator, operand, span })),
        fc.tuple(any, count).map(([a, b]) => binary('<<', a, b)),
        fc.tuple(exact, anyCount).map(([a, b]) => binary('<<', a, b)),
        fc.tuple(any, fc.constantFrom(0n, 1n, 2n, 3n, 5n).map(literal)).map(([a, b]) => binary('**', a, b)),
        fc.tuple(exact, exact).map(([a, b]) => binary('/', a, b)),
        fc.tuple(truth, any, any).map(([test, a, b]) => choice(test, a, b)),
        fc.constantFrom(...NUMBERS).map((value) => call('BigInt', literal(value))),
        { weight: 1, arbitrary: readOf(['wide']).map((value) => call('BigInt', value)) },
      ),
      exact: fc.oneof(
        limits,
        leaf,
        leaf,
        fc.tuple(width, any).map(([bits, value]) => call('BigInt.asIntN', literal(bits), value)),
        fc.tuple(width, any).map(([bits, value]) => call('BigInt.asIntN', literal(bits), value)),
        fc.tuple(width, any).map(([bits, value]) => call('BigInt.asUintN', literal(bits), value)),
        fc.tuple(any, masks).map(([a, b]) => binary('&', a, b)),
        fc.tuple(exact, exact).map(([a, b]) => binary('%', a, b)),
        fc
          .tuple(fc.constantFrom('/', '%'), exact, fc.constantFrom(1n, -1n, 2n, -3n, 10n, 2n ** 32n, 2n ** 62n, -(2n ** 63n)).map(literal))
          .map(([o, a, b]) => call('BigInt.asIntN', literal(64), binary(o as '/', a, b))),
        fc.tuple(exact, anyCount).map(([a, b]) => binary('>>', a, b)),
        fc.tuple(fc.constantFrom('&', '|', '^'), leaf, leaf).map(([o, a, b]) => binary(o as '&', a, b)),
        fc.tuple(truth, leaf, leaf).map(([test, a, b]) => choice(test, a, b)),
        fc.constantFrom(index, inside).map((value) => call('BigInt', value)),
        readOf(SMALL).map((value) => call('BigInt', value)),
        truth.map((value) => call('BigInt', value)),
        fc
          .tuple(fc.constantFrom('&&' as const, '||' as const), leaf, leaf)
          .map(([operator, left, right]): Expr => ({ kind: 'Logical', operator, left, right, span })),
      ),
      number: fc.oneof(
        limits,
        fc.constantFrom(...NUMBERS).map(literal),
        readOf(['wide', ...SMALL]),
        exact.map((value) => call('Number', value)),
        exact.map((value) => call('Number', value)),
        fc.tuple(fc.constantFrom('+', '*', '|'), number, number).map(([o, a, b]) => binary(o as '+', a, b)),
      ),
      truth: fc.oneof(
        limits,
        fc.tuple(fc.constantFrom('<', '<=', '>', '>=', '==', '!=', '===', '!=='), exact, exact).map(([o, a, b]) => binary(o as '<', a, b)),
        fc.tuple(fc.constantFrom('<', '<=', '>', '>=', '==', '!=', '===', '!=='), leaf, leaf).map(([o, a, b]) => binary(o as '<', a, b)),
        fc
          .tuple(
            fc.constantFrom('<', '<=', '>', '>=', '==', '!=', '===', '!=='),
            leaf,
            fc.oneof(fc.constant(inside), readOf(SMALL), fc.constantFrom(...NUMBERS).map(literal)),
            fc.boolean(),
          )
          .map(([o, a, b, swapped]) => (swapped ? binary(o as '<', b, a) : binary(o as '<', a, b))),
        fc.tuple(fc.constantFrom('<', '==', '==='), exact, number).map(([o, a, b]) => binary(o as '<', a, b)),
        leaf.map((operand): Expr => ({ kind: 'Unary', operator: '!', operand, span })),
        exact.map((value) => call('Boolean', value)),
      ),
    }
  })
  return { any, exact, number, truth }
}

function statements(element: BigintElement, depth: number, counter: string | undefined): fc.Arbitrary<readonly Stmt[]> {
  const { any, exact, number, truth } = valuesOf(element, counter)
  const index = counter === undefined ? key(element === 'box' ? 1 : 0) : local(counter)
  const at = fc.oneof(
    { weight: 4, arbitrary: fc.constant(index) },
    { weight: 4, arbitrary: fc.constant(binary('%', index, literal(LENGTH))) },
    { weight: 1, arbitrary: exact.map((value) => call('Number', binary('&', value, literal(7n)))) },
  )
  const places = (array: string): fc.Arbitrary<Expr[]> =>
    array === 'grid' || array === SAME ? fc.tuple(fc.nat(2).map(literal), at) : fc.tuple(at)
  const write = (kind: 'Write' | 'Add', arrays: readonly string[], value: fc.Arbitrary<Expr>): fc.Arbitrary<Stmt> =>
    fc
      .constantFrom(...arrays)
      .chain((array) => fc.tuple(places(array), value).map(([subscripts, e]): Stmt => ({ kind, array, subscripts, value: e, span })))
  const simple: fc.Arbitrary<Stmt>[] = [
    write('Write', BIG, any),
    write('Write', BIG, exact),
    write('Add', BIG, any),
    write('Write', ['wide', 'whole'], number),
    write('Write', ['flags'], fc.oneof(truth, exact)),
    fc.tuple(fc.constantFrom('x', 'y'), exact).map(([name, value]): Stmt => ({ kind: 'Assign', local: name, value, span })),
    // Growing by few bits a turn: JavaScript's bigints have no bounds, but for its patience.
    fc
      .tuple(fc.constantFrom('+', '-', '^', '*'), exact)
      .map(([o, a]): Stmt => ({ kind: 'Assign', local: 'z', value: binary(o as '+', local('z'), a), span })),
    exact.map((value): Stmt => ({ kind: 'Assign', local: 'z', value: binary('|', binary('<<', local('z'), literal(8n)), value), span })),
    fc.tuple(exact, exact).map(([a, b]): Stmt => ({ kind: 'Assign', local: 'z', value: binary('*', a, b), span })),
    number.map((value): Stmt => ({ kind: 'Accumulate', accumulator: 'sum', value, span })),
  ]
  if (depth === 0) return fc.array(fc.oneof(...simple), { minLength: 1, maxLength: 3 })
  const inner = statements(element, depth - 1, counter)
  const name = `k${depth}`
  const nested: fc.Arbitrary<Stmt>[] = [
    fc.tuple(truth, inner, inner).map(([test, yes, no]) => branch(test, yes, no)),
    fc.tuple(statements(element, depth - 1, name), fc.constantFrom(0, 3, LENGTH)).map(([body, to]): Stmt => counted(name, to, body)),
    fc.tuple(statements(element, depth - 1, name), fc.constantFrom(2, LENGTH)).map(([body, to]): Stmt => counted(name, to, body)),
  ]
  if (element === 'bigint') {
    nested.push(fc.tuple(truth, any).map(([test, value]) => branch(test, [{ kind: 'Return', value, span }], [])))
  }
  return fc.array(fc.oneof(...simple, ...nested), { minLength: 1, maxLength: 3 })
}

function counted(name: string, to: number, body: readonly Stmt[]): Stmt {
  return {
    kind: 'For',
    init: [{ kind: 'Let', local: name, init: literal(0), span }],
    test: binary('<', local(name), literal(to)),
    update: [{ kind: 'Assign', local: name, value: binary('+', local(name), literal(1)), span }],
    body,
    doWhile: false,
    counted: { local: name, from: literal(0), to: literal(to), step: 1 },
    span,
  }
}

export function bigintBody(element: BigintElement): fc.Arbitrary<FunctionIr> {
  const starts = fc.tuple(fc.constantFrom(...EDGES), fc.constantFrom(...EDGES), fc.constantFrom(...EDGES, ...BEYOND))
  const parameters = fc.tuple(fc.constantFrom(...EDGES), fc.constantFrom(...EDGES, ...BEYOND))
  return fc.tuple(statements(element, 2, undefined), starts, parameters).map(([body, first, [near, far]]) => ({
    name: 'body',
    span,
    keyRank: element === 'box' ? 2 : 1,
    body: [...['x', 'y', 'z'].map((name, i): Stmt => ({ kind: 'Let', local: name, init: literal(first[i] as Primitive), span })), ...body],
    parameters: [
      { name: 'near', value: near, origin: 'capture' },
      { name: 'far', value: far, origin: 'env' },
    ],
    tables: [{ name: 'codes', value: BigInt64Array.of(5n, -1n, 0n, 2n ** 63n - 1n) as unknown as ArrayLike<Primitive>, origin: 'capture' }],
    uses: [
      ...[...Object.keys(BIGINT_ARRAYS), SAME].map((name) => ({ name, kind: 'array' as const, origin: 'env' as const })),
      { name: 'sum', kind: 'accumulator', origin: 'env' },
    ],
  }))
}
