/**
 * Random loops whose turns add to one row: matrix products and their like, several turns of which run in one pass over the
 * row; and near misses, where turns meet in an element, read what the row gets, or leave an array.
 */
import fc from 'fast-check'
import type { BinaryOperator, Expr, Stmt } from '../../src/core/ir/functionIr.ts'
import { binary, branch, choice, literal, local, span } from './irNodes.ts'
import { SPECIAL_NUMBERS } from './kernelBody.ts'
import { COLUMNS, NUMERIC_ARRAYS, TWIN } from './numericArrays.ts'

const K = local('jk')
const J = local('jj')

interface JamScope {
  /** The array that is written, and where. */
  readonly own: string
  readonly subscripts: readonly Expr[]
  /** Whether the index of the loop around stays below the rows of an array. */
  readonly isFew: boolean
  readonly locals: readonly string[]
  /** What is beside the point: once in so many places. */
  readonly astray: number
}

/** `row`: what the loops do not change. */
export function jamStatements(row: Expr, locals: readonly string[]): fc.Arbitrary<readonly Stmt[]> {
  const place = fc.tuple(fc.constantFrom('grid', 'grid', 'rows', 'long', 'line', 'whole'), fc.nat(11), fc.nat(29))
  return fc.tuple(place, fc.boolean(), fc.constantFrom(1000, 1000, 12)).chain(([[own, where, ahead], isFew, astray]) => {
    const inner = fc.constantFrom<Expr>(literal(COLUMNS), literal(COLUMNS), literal(26), literal(17), extent('grid', 1), {
      kind: 'Parameter',
      name: 'count',
      span,
    })
    const column = ahead === 0 ? binary('+', J, literal(1)) : ahead === 1 ? binary('%', J, literal(9)) : J
    const at = where === 0 ? (isFew ? K : local('t0')) : binary('&', row, literal(3))
    const subscripts = own === 'long' || own === 'line' ? [column] : [at, column]
    const scope: JamScope = { own, subscripts, isFew, locals, astray }
    const rows = fc.constantFrom<Expr>(
      literal(5),
      literal(5),
      extent('grid', 0),
      literal(6),
      binary('+', binary('&', row, literal(1)), literal(4)),
    )
    const outer = isFew
      ? rows
      : fc.constantFrom<Expr>(literal(COLUMNS), literal(26), literal(3), { kind: 'Parameter', name: 'count', span })
    const starts = fc.tuple(
      fc.constantFrom(0, 0, 1),
      sometimes(astray, fc.constantFrom<Expr>(literal(0), literal(1), literal(2)), fc.constant(K)),
    )
    const ends = fc.tuple(outer, sometimes(astray, inner, fc.constant(K)))
    return fc
      .tuple(letsOf(scope), bodyOf(scope), starts, ends, sometimes(astray, none, fc.constant(leaving)))
      .map(([lets, body, [from, first], [to, last], early]) => [
        counted('jk', literal(from), to, [...lets, ...early, counted('jj', first, last, body)]),
      ])
  })
}

const none = fc.constant<readonly Stmt[]>([])
const leaving: readonly Stmt[] = [branch(binary('===', local('t0'), literal(0)), [{ kind: 'Continue', span }], [])]

function sometimes<T>(times: number, usual: fc.Arbitrary<T>, other: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return fc.oneof({ weight: times - 1, arbitrary: usual }, { weight: 1, arbitrary: other })
}

/** Locals of a turn of the loop around: the first is `t0`. */
function letsOf(scope: JamScope): fc.Arbitrary<readonly Stmt[]> {
  const first = sometimes(scope.astray, fc.oneof(outerRead(scope), leafOf(scope, [])), ownRead(scope))
  return fc
    .tuple(first, fc.option(outerRead(scope), { freq: 2 }))
    .map(([one, two]) => [
      { kind: 'Let', local: 't0', init: one, span },
      ...(two === null ? [] : [{ kind: 'Let' as const, local: 't1', init: binary('-', two, local('t0')), span }]),
    ])
}

/** An element that the index of the loop around names. */
function outerRead({ own, isFew }: JamScope): fc.Arbitrary<Expr> {
  const free = (isFew ? ['grid', 'other', 'whole'] : ['tall', 'long', 'line', 'other', 'grid']).filter((name) => name !== own)
  return fc.tuple(fc.constantFrom(...free), fc.nat(4)).map(([array, other]) => {
    const [, shape = []] = NUMERIC_ARRAYS[array] ?? []
    return read(array, shape.length === 1 ? [K] : isFew || array === 'tall' ? [K, literal(other)] : [literal(other), K])
  })
}

function ownRead({ own, subscripts }: JamScope): fc.Arbitrary<Expr> {
  return fc.constantFrom(...(own === 'grid' ? ['grid', TWIN] : [own])).map((array) =>
    read(
      array,
      subscripts.map((at) => (at === J ? K : at)),
    ),
  )
}

/** An element along the row. */
function innerRead({ own, isFew }: JamScope): fc.Arbitrary<Expr> {
  const names = ['grid', 'rows', 'other', 'tall', 'long', 'line', 'whole'].filter(
    (name) => name !== own && (own !== 'long' || name !== 'long'),
  )
  return fc.tuple(fc.constantFrom(...names), fc.nat(4), fc.nat(19)).map(([array, other, beside]) => {
    const [, shape = []] = NUMERIC_ARRAYS[array] ?? []
    const j = beside === 0 ? binary('+', J, literal(1)) : J
    return read(array, shape.length === 1 ? [j] : array === 'tall' ? [j, isFew ? K : literal(other)] : [isFew ? K : literal(other), j])
  })
}

function leafOf({ locals }: JamScope, own: readonly string[]): fc.Arbitrary<Expr> {
  return fc.oneof(
    { weight: 4, arbitrary: own.length === 0 ? fc.constant(K) : fc.constantFrom(...own).map(local) },
    { weight: 1, arbitrary: fc.constantFrom(...SPECIAL_NUMBERS, 2.5).map(literal) },
    {
      weight: 1,
      arbitrary: fc.constantFrom<Expr>(K, binary('*', K, literal(3)), { kind: 'Parameter', name: 'rate', span }, ...locals.map(local)),
    },
  )
}

function bodyOf(scope: JamScope): fc.Arbitrary<readonly Stmt[]> {
  const { own, subscripts, astray } = scope
  const leaf = leafOf(scope, ['t0'])
  const inner = innerRead(scope)
  const term = fc.oneof(
    {
      weight: 4,
      arbitrary: fc
        .tuple(fc.constantFrom<BinaryOperator>('*', '*', '+', '-', '/'), leaf, inner)
        .map(([operator, a, b]) => binary(operator, a, b)),
    },
    { weight: 1, arbitrary: inner },
    { weight: 1, arbitrary: fc.tuple(inner, leaf, inner).map(([a, b, c]) => choice(binary('<', a, b), b, c)) },
  )
  const kept = fc.option(fc.oneof(inner, term), { freq: 2 })
  const here = read(own, subscripts)
  const twin = read(TWIN, subscripts)
  const before = sometimes(
    astray,
    fc.constant(here),
    fc.constantFrom(
      own === 'grid' ? twin : here,
      read(
        own,
        subscripts.map((at) => (at === J ? binary('-', J, literal(1)) : at)),
      ),
    ),
  )
  const write = fc
    .tuple(fc.constantFrom<BinaryOperator>('+', '+', '-', '*'), before, term)
    .map(([operator, a, b]): Stmt => ({ kind: 'Write', array: own, subscripts, value: binary(operator, a, b), span }))
  const add = term.map((value): Stmt => ({ kind: 'Add', array: own, subscripts, value, span }))
  const other = fc
    .tuple(before, term)
    .map(([a, b]): Stmt => ({ kind: 'Write', array: own, subscripts, value: choice(binary('<', a, b), a, b), span }))
  const store = fc.oneof({ weight: 8, arbitrary: write }, { weight: 3, arbitrary: add }, { weight: astray < 100 ? 2 : 0, arbitrary: other })
  return fc.tuple(kept, store, fc.option(store, { freq: 4 })).map(([value, one, two]) => {
    const declared: Stmt[] = value === null ? [] : [{ kind: 'Let', local: 'v0', init: value, span }]
    return [...declared, value === null ? one : more(one, local('v0')), ...(two === null ? [] : [two])]
  })
}

/** The statement with another term in what it stores. */
function more(stmt: Stmt, by: Expr): Stmt {
  return stmt.kind === 'Write' || stmt.kind === 'Add' ? { ...stmt, value: binary('-', stmt.value, by) } : stmt
}

function read(array: string, subscripts: readonly Expr[]): Expr {
  return { kind: 'Read', array, subscripts, span }
}

function extent(array: string, axis: number): Expr {
  return { kind: 'Extent', array, axis, span }
}

function counted(name: string, from: Expr, to: Expr, body: readonly Stmt[]): Stmt {
  return {
    kind: 'For',
    init: [{ kind: 'Let', local: name, init: from, span }],
    test: binary('<', local(name), to),
    update: [{ kind: 'Assign', local: name, value: binary('+', local(name), literal(1)), span }],
    body,
    doWhile: false,
    counted: { local: name, from, to, step: 1 },
    span,
  }
}
