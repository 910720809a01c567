/**
 * Random bodies with loops inside that become lanes as a whole: what lies at the key of the run is an iteration's own, what
 * lies elsewhere is read by all; sums and least values of short and long loops, loops in loops, and near misses.
 */
import fc from 'fast-check'
import type { BinaryOperator, Builtin, Expr, Stmt } from '../../src/core/ir/functionIr.ts'
import { binary, branch, choice, literal, local, span } from './irNodes.ts'
import { SPECIAL_NUMBERS } from './kernelBody.ts'
import { COLUMNS, NUMERIC_ARRAYS } from './numericArrays.ts'

interface NestScope {
  /** The key that differs between the iterations of a run. */
  readonly key: Expr
  readonly leaves: readonly Expr[]
  readonly locals: readonly string[]
  /** Indices of the loops around that are below 5, and below COLUMNS. */
  readonly few: readonly Expr[]
  readonly many: readonly Expr[]
  /** The array that is written. */
  readonly own: string
  /** Whether any array may be read and written anywhere. */
  readonly isMeeting: boolean
  readonly depth: number
  /** Tells names of locals apart. */
  readonly path: string
}

const READ = ['grid', 'tall', 'rows', 'high', 'long', 'whole', 'natural']
const OWN = ['grid', 'tall', 'rows', 'high', 'long', 'line', 'whole', 'bytes', 'flags', 'natural']

/** Statements over the key of a run; `locals` are declared. */
export function nestStatements(key: Expr, leaves: readonly Expr[], locals: readonly string[]): fc.Arbitrary<readonly Stmt[]> {
  return fc.tuple(fc.constantFrom(...OWN), fc.nat(7)).chain(([own, meeting]) => {
    const scope: NestScope = { key, leaves, locals, few: [], many: [], own, isMeeting: meeting === 0, depth: 0, path: '' }
    const guard = rarely(3, truth(scope))
    const loops = fc.tuple(loopOf({ ...scope, path: 'a' }), rarely(2, loopOf({ ...scope, path: 'b' })))
    return fc
      .tuple(guard, loops, stored(scope))
      .map(([test, [one, other], store]) => [
        ...(test === undefined ? [] : [branch(test, [{ kind: 'Return', span }], [])]),
        ...one,
        ...(other ?? []),
        ...store,
      ])
  })
}

/** Once in so many times, and undefined else. */
function rarely<T>(times: number, arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.oneof({ weight: times - 1, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary })
}

function subscriptsOf(array: string, { key, few, many, isMeeting }: NestScope, isOwn: boolean): fc.Arbitrary<Expr[]> {
  const [, shape = []] = NUMERIC_ARRAYS[array] ?? []
  const others = (extent: number): fc.Arbitrary<Expr> =>
    fc.constantFrom(
      ...(extent === COLUMNS ? many : few),
      ...(extent === COLUMNS ? few : []),
      literal(0),
      literal(extent - 1),
      ...(isMeeting ? [binary('+', key, literal(1)), key] : []),
    )
  const along = fc.oneof({ weight: 9, arbitrary: fc.constant(key) }, { weight: 1, arbitrary: fc.constant(binary('-', key, literal(1))) })
  return fc.tuple(
    ...shape.map((extent) =>
      extent === COLUMNS && (isOwn || isMeeting) ? (isMeeting ? fc.oneof(along, others(extent)) : along) : others(extent),
    ),
  ) as fc.Arbitrary<Expr[]>
}

function reads(scope: NestScope): fc.Arbitrary<Expr> {
  const from = (array: string, isOwn: boolean): fc.Arbitrary<Expr> =>
    subscriptsOf(array, scope, isOwn).map((subscripts): Expr => ({ kind: 'Read', array, subscripts, span }))
  const free = READ.filter((name) => scope.isMeeting || name !== scope.own)
  return fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...free).chain((array) => from(array, true)) },
    { weight: 3, arbitrary: fc.constantFrom(...free).chain((array) => from(array, false)) },
    { weight: 1, arbitrary: from(scope.own, true) },
  )
}

function value(scope: NestScope): fc.Arbitrary<Expr> {
  const read = reads(scope)
  const leaf = fc.oneof(
    { weight: 4, arbitrary: read },
    { weight: 2, arbitrary: fc.constantFrom(...scope.locals).map(local) },
    { weight: 1, arbitrary: fc.constantFrom(...SPECIAL_NUMBERS, 2.5).map(literal) },
    { weight: 1, arbitrary: fc.constantFrom<Expr>(scope.key, { kind: 'Parameter', name: 'rate', span }, ...scope.leaves) },
    ...(scope.few.length + scope.many.length === 0 ? [] : [{ weight: 1, arbitrary: fc.constantFrom(...scope.few, ...scope.many) }]),
  )
  const pair = fc
    .tuple(fc.constantFrom<BinaryOperator>('+', '-', '*', '/', '-', '*'), leaf, leaf)
    .map(([operator, a, b]) => binary(operator, a, b))
  return fc.oneof(
    { weight: 3, arbitrary: leaf },
    { weight: 4, arbitrary: pair },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.constantFrom<Builtin>('Math.sqrt', 'Math.abs', 'Math.fround', 'Math.floor'), pair)
        .map(([callee, e]): Expr => ({ kind: 'Call', callee, args: [e], span })),
    },
    { weight: 1, arbitrary: pair.map((e) => binary('**', e, literal(2))) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.constantFrom<Builtin>('Math.max', 'Math.min'), pair, leaf)
        .map(([callee, a, b]): Expr => ({ kind: 'Call', callee, args: [a, b], span })),
    },
    { weight: 1, arbitrary: fc.tuple(compared(leaf), pair, leaf).map(([test, a, b]) => choice(test, a, b)) },
  )
}

function compared(leaf: fc.Arbitrary<Expr>): fc.Arbitrary<Expr> {
  return fc.tuple(fc.constantFrom<BinaryOperator>('<', '<=', '>', '!=='), leaf, leaf).map(([operator, a, b]) => binary(operator, a, b))
}

function truth(scope: NestScope): fc.Arbitrary<Expr> {
  return compared(value(scope))
}

/** A store to the iteration's own elements, or to several with an index of a loop around. */
function stored(scope: NestScope): fc.Arbitrary<readonly Stmt[]> {
  const store = fc
    .tuple(fc.constantFrom('Write' as const, 'Write' as const, 'Add' as const), subscriptsOf(scope.own, scope, true), value(scope))
    .map(([kind, subscripts, e]): Stmt => ({ kind, array: scope.own, subscripts, value: e, span }))
  return fc.oneof(
    { weight: 3, arbitrary: store.map((one) => [one]) },
    { weight: 1, arbitrary: fc.tuple(truth(scope), store).map(([test, one]) => [branch(test, [one], [])]) },
  )
}

function loopOf(scope: NestScope): fc.Arbitrary<readonly Stmt[]> {
  const name = `n${scope.path}`
  const index = local(name)
  const few = fc
    .tuple(fc.integer({ min: 0, max: 2 }), fc.integer({ min: 2, max: 5 }), fc.constantFrom(1, 1, 1, 2))
    .map(([from, to, step]) => ({ from: literal(from), to: literal(to), step, isFew: true }))
  const many = fc
    .tuple(fc.constantFrom(0, 1), fc.constantFrom<Expr>(literal(COLUMNS), literal(17), { kind: 'Parameter', name: 'count', span }))
    .map(([from, to]) => ({ from: literal(from), to, step: 1, isFew: false }))
  const down = fc.constant({ from: literal(4), to: literal(-1), step: -1, isFew: true })
  return fc
    .oneof({ weight: 4, arbitrary: few }, { weight: 3, arbitrary: many }, { weight: 1, arbitrary: down })
    .chain(({ from, to, step, isFew }) => {
      const inner: NestScope = {
        ...scope,
        depth: scope.depth + 1,
        few: isFew ? [...scope.few, index] : scope.few,
        many: isFew ? scope.many : [...scope.many, index],
      }
      const leave = fc.constantFrom<Stmt>({ kind: 'Break', span }, { kind: 'Continue', span })
      return fc
        .tuple(
          parts({ ...inner, path: `${inner.path}a` }),
          rarely(3, parts({ ...inner, path: `${inner.path}b` })),
          rarely(16, fc.tuple(truth(inner), leave)),
        )
        .map(([one, two, exit]): readonly Stmt[] => [
          {
            kind: 'For',
            init: [{ kind: 'Let', local: name, init: from, span }],
            test: binary(step > 0 ? '<' : '>', index, to),
            update: [{ kind: 'Assign', local: name, value: binary('+', index, literal(step)), span }],
            body: [...(exit === undefined ? [] : [branch(exit[0], [exit[1]], [])]), ...one, ...(two ?? [])],
            doWhile: false,
            counted: { local: name, from, to, step },
            span,
          },
        ])
    })
}

function parts(scope: NestScope): fc.Arbitrary<readonly Stmt[]> {
  const { locals, depth } = scope
  const kept = `v${scope.path}`
  const again: NestScope = { ...scope, locals: [...locals, kept] }
  const summed = (among: NestScope): fc.Arbitrary<Stmt> =>
    fc
      .tuple(fc.constantFrom(...locals), fc.constantFrom<BinaryOperator>('+', '+', '-'), value(among))
      .map(([into, operator, e]): Stmt => ({ kind: 'Assign', local: into, value: binary(operator, local(into), e), span }))
  const least = fc
    .tuple(fc.constantFrom(...locals), fc.constantFrom(...locals), value(scope), fc.constantFrom(...scope.few, ...scope.many, scope.key))
    .map(([into, place, e, at]) =>
      branch(
        binary('<', e, local(into)),
        [
          { kind: 'Assign', local: into, value: e, span },
          { kind: 'Assign', local: place, value: at, span },
        ],
        [],
      ),
    )
  const options: { readonly weight: number; readonly arbitrary: fc.Arbitrary<readonly Stmt[]> }[] = [
    { weight: 4, arbitrary: summed(scope).map((one) => [one]) },
    { weight: 2, arbitrary: least.map((one) => [one]) },
    { weight: 2, arbitrary: stored(scope) },
    {
      weight: 3,
      arbitrary: fc.tuple(value(scope), summed(again)).map(([e, sum]): Stmt[] => [{ kind: 'Let', local: kept, init: e, span }, sum]),
    },
  ]
  // A loop in a branch keeps the body scalar.
  if (depth < 2) {
    options.push({ weight: 4, arbitrary: loopOf(scope) })
    options.push({
      weight: 1,
      arbitrary: fc.tuple(truth(scope), loopOf({ ...scope, depth: depth + 3 })).map(([test, one]) => [branch(test, one, [])]),
    })
  }
  return fc.oneof(...options)
}
