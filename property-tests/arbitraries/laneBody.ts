/**
 * Random statements along a row, of the kind that becomes vectors: arithmetic of elements at the index and beside it, in
 * doubles and in integers, branches that store, values kept while their element is overwritten, sums, tables, columns, and
 * elements that come from the turn before.
 */
import fc from 'fast-check'
import type { BinaryOperator, Builtin, Expr, Stmt } from '../../src/core/ir/functionIr.ts'
import { binary, branch, choice, literal, local, span } from './irNodes.ts'
import { SPECIAL_NUMBERS } from './kernelBody.ts'
import { COLUMNS, NUMERIC_ARRAYS, TWIN } from './numericArrays.ts'

export interface LaneScope {
  /** What runs along the row. */
  readonly index: Expr
  /** Subscripts of the other axis. */
  readonly rows: readonly Expr[]
  /** A key that the loop does not change, which may be at a border as well. */
  readonly steady?: Expr
  readonly locals: readonly string[]
  /** Locals around the loop that a turn may add to. */
  readonly sums: readonly string[]
  /** Elements of the iteration. */
  readonly leaves: readonly Expr[]
  /** What ends a turn. */
  readonly leave: Stmt
  /** Whether all arrays are f32. */
  readonly isSingle?: boolean
  /** Whether accesses beside the index are rare: along iterations they leave the array, and what throws is not computed in lanes. */
  readonly isEdged?: boolean
  /** Of the names of locals that are declared. */
  readonly prefix: string
}

export interface Lanes {
  readonly body: readonly Stmt[]
  /** Whether a turn reads what the one before wrote, so that the first must not start at 0. */
  readonly isCarried: boolean
}

/** Rows around a key: the same, neighbours, and others. */
export function rowsOf(key: Expr): readonly Expr[] {
  const count: Expr = { kind: 'Parameter', name: 'count', span }
  return [
    key,
    key,
    binary('%', key, literal(5)),
    binary('+', binary('&', key, literal(1)), literal(1)),
    ...[0, 1, 2, 4].map(literal),
    count,
  ]
}

/** Rows of which each, and the one after it, is inside the array. */
export function rowsInside(key: Expr): readonly Expr[] {
  return [
    ...[key, key].map((k) => binary('&', k, literal(3))),
    binary('+', binary('&', key, literal(1)), literal(1)),
    ...[0, 1, 2].map(literal),
  ]
}

/** Few arrays in one loop, so that accesses meet. */
const TOGETHER = [
  ['grid', TWIN],
  ['grid', TWIN, 'rows'],
  ['rows', 'other'],
  ['long', 'grid'],
  ['line', 'rows'],
  ['other', 'whole'],
  ['rows'],
  ['tall', 'grid'],
  ['high', 'rows'],
  ['bytes', 'short'],
  ['tiny', 'bytes'],
  ['short', 'words'],
  ['bytes', 'flags'],
  ['short', 'tiny', 'bytes'],
  ['whole', 'tiny'],
  ['whole', 'natural'],
  ['natural', 'whole'],
  ['whole'],
  ['words', 'flags', 'bytes'],
]

const SINGLES = [['rows', 'other'], ['line', 'rows'], ['rows'], ['high', 'rows']]

export function laneStatements(scope: LaneScope): fc.Arbitrary<Lanes> {
  const row = scope.isSingle === true ? fc.nat(3).map(literal) : fc.constantFrom(...scope.rows)
  return fc
    .tuple(
      fc.constantFrom(...(scope.isSingle === true ? SINGLES : TOGETHER)),
      row,
      row,
      fc.boolean(),
      fc.constantFrom<Arrays['form']>('apart', 'apart', 'apart', 'apart', 'beside', 'carried', 'meeting'),
    )
    .chain(([names, one, two, same, form]) => {
      return statementsOver(scope, { names, rows: same ? [one] : [one, two, binary('+', one, literal(1))], form })
    })
}

interface Arrays {
  readonly names: readonly string[]
  readonly rows: readonly Expr[]
  /**
   * apart: one array is written, at the index alone, and read there or not at all: lanes are independent.
   * beside: the same, but what is read lies in other rows of that array, which may turn out to be the same row.
   * carried: a turn reads what the one before wrote. meeting: any access may meet any other.
   */
  readonly form: 'apart' | 'beside' | 'carried' | 'meeting'
}

function statementsOver(scope: LaneScope, { names, rows, form }: Arrays): fc.Arbitrary<Lanes> {
  const { index, prefix } = scope
  const beside = fc.oneof(
    { weight: scope.isEdged === true ? 60 : 12, arbitrary: fc.constant(index) },
    { weight: 3, arbitrary: fc.tuple(fc.constantFrom(-1, 1, 2), fc.constantFrom(0, 0, 1, -2)).map(([by, via]) => moved(index, by, via)) },
    { weight: 1, arbitrary: fc.constant(literal(3)) },
  )
  // What may lie outside is checked, and in fast precision then computed in doubles.
  const at = scope.isSingle === true ? fc.constant(index) : beside
  const anywhere = (among: readonly string[]): fc.Arbitrary<Place> =>
    fc.constantFrom(...among).chain((array) => fc.tuple(fc.constantFrom(...rows), at).map(([r, k]) => placeIn(array, r, k)))
  const [first = ''] = names.filter((name) => name !== 'tall' && name !== 'high' && name !== TWIN)
  const own = fc.constant(placeIn(first, rows[0] ?? literal(0), index))
  const sources = names.filter((name) => name !== first && (first !== 'grid' || name !== TWIN))
  const elsewhere = sources.length === 0 ? own : fc.oneof({ weight: 1, arbitrary: own }, { weight: 3, arbitrary: anywhere(sources) })
  const others = rows.length > 1 ? rows.slice(1) : rows
  const otherRow = fc.oneof(
    { weight: 1, arbitrary: own },
    {
      weight: 3,
      arbitrary: fc
        .tuple(fc.constantFrom(...others), fc.constantFrom(0, -1, 1))
        .map(([r, by]) => placeIn(first, r, by === 0 ? index : binary('+', index, literal(by)))),
    },
  )
  const [target, source] = placesOf()
  const isWhole = names.every((name) => !/^f/.test(NUMERIC_ARRAYS[name]?.[0] ?? ''))
  // Locals of the whole body are doubles.
  const around = isWhole ? [] : scope.locals
  const value = valuesOver(scope, source, { isWhole, locals: around })
  const test = truthOf(value)
  const read = source.map((place): Expr => ({ kind: 'Read', ...place, span }))
  const stored = fc
    .tuple(fc.constantFrom('Write' as const, 'Write' as const, 'Add' as const), target, value)
    .map(([kind, place, e]): Stmt => ({ kind, ...place, value: e, span }))
  const part = (i: number): fc.Arbitrary<readonly Stmt[]> => {
    const name = `${prefix}${i}`
    const again = valuesOver(scope, source, { isWhole, locals: [name, name, ...around] })
    return fc.oneof(
      { weight: 3, arbitrary: stored.map((stmt) => [stmt]) },
      // Read, overwritten, and the value read is used again.
      {
        weight: 3,
        arbitrary: fc
          .tuple(read, stored, target, again)
          .map(([e, between, place, later]): Stmt[] => [
            { kind: 'Let', local: name, init: e, span },
            between,
            { kind: 'Write', ...place, value: later, span },
          ]),
      },
      { weight: 2, arbitrary: fc.tuple(test, stored, fc.array(stored, { maxLength: 1 })).map(([e, yes, no]) => [branch(e, [yes], no)]) },
      {
        weight: 2,
        arbitrary: fc
          .tuple(value, test, value, target, again)
          .map(([first, e, other, place, last]): Stmt[] => [
            { kind: 'Let', local: name, init: first, span },
            branch(e, [{ kind: 'Assign', local: name, value: other, span }], []),
            { kind: 'Write', ...place, value: last, span },
          ]),
      },
      { weight: 1, arbitrary: test.map((e) => [branch(e, [scope.leave], [])]) },
      {
        weight: scope.isSingle === true ? 1 : 4,
        arbitrary: atBorders(scope, { own, sources, rows, value, stored, name }),
      },
      ...(scope.sums.length === 0 ? [] : [{ weight: 1, arbitrary: summed(scope.sums, value) }]),
    )
  }
  if (form === 'carried') {
    return fc.tuple(recurrence(first, rows[0] ?? literal(0), index, value), fc.option(part(0))).map(([carried, more]) => {
      return { body: [carried, ...(more ?? [])], isCarried: true }
    })
  }
  return fc.tuple(part(0), fc.option(part(1)), fc.option(part(2))).map(([one, two, three]) => {
    return { body: [...one, ...(two ?? []), ...(three ?? [])], isCarried: false }
  })

  /** What is written, and what is read. */
  function placesOf(): readonly [fc.Arbitrary<Place>, fc.Arbitrary<Place>] {
    if (form === 'apart') return [own, elsewhere]
    if (form === 'beside') return [own, otherRow]
    const [other] = sources
    const either = form === 'carried' && other !== undefined ? fc.constant(placeIn(other, rows[0] ?? literal(0), index)) : anywhere(names)
    return [either, either]
  }
}

function placeIn(array: string, row: Expr, along: Expr): { readonly array: string; readonly subscripts: readonly Expr[] } {
  const [, shape] = NUMERIC_ARRAYS[array === TWIN ? 'grid' : array] ?? []
  if (shape?.length === 1) return { array, subscripts: [along] }
  return { array, subscripts: array === 'tall' || array === 'high' ? [along, row] : [row, along] }
}

type Place = ReturnType<typeof placeIn>

function valuesOver(
  { index, leaves, isSingle }: LaneScope,
  access: fc.Arbitrary<Place>,
  { isWhole, locals }: { readonly isWhole: boolean; readonly locals: readonly string[] },
): fc.Arbitrary<Expr> {
  const read = access.map((place): Expr => ({ kind: 'Read', ...place, span }))
  const operators: readonly BinaryOperator[] = isWhole ? ['+', '-', '+', '-', '*', '&', '|', '^'] : ['+', '-', '*', '/', '+', '-', '*', '/']
  const table = fc.constantFrom('profile', 'levels').map((name): Expr => ({ kind: 'Lookup', table: name, index, span }))
  const { value } = fc.letrec<{ value: Expr }>((tie) => {
    const node = tie('value')
    const one = (callee: Builtin): fc.Arbitrary<Expr> => node.map((e): Expr => ({ kind: 'Call', callee, args: [e], span }))
    const whole = fc.constantFrom(0, 1, -1, 2, 3, 127, 255, -7).map(literal)
    return {
      value: fc.oneof(
        { maxDepth: 3, depthIdentifier: 'row expression' },
        fc.oneof(
          read,
          locals.length === 0 ? read : fc.constantFrom(...locals).map(local),
          isWhole ? whole : fc.constantFrom(...SPECIAL_NUMBERS).map(literal),
          isWhole ? fc.constant(index) : fc.constant<Expr>({ kind: 'Parameter', name: 'rate', span }),
          ...(leaves.length === 0 || isWhole ? [] : [fc.constantFrom(...leaves)]),
        ),
        // Few bits, so that what is made of them is known to stay within 32.
        isWhole ? fc.tuple(read, fc.constantFrom(1, 7, 255, -1)).map(([e, bits]) => binary('&', e, literal(bits))) : read,
        fc.tuple(fc.constantFrom(...operators), node, node).map(([o, a, b]) => binary(o, a, b)),
        isWhole ? read : isSingle === true ? fc.oneof(power(node), productAndSum(node)) : productAndSum(node),
        isWhole
          ? fc
              .tuple(fc.constantFrom<BinaryOperator>('>>', '>>', '<<', '>>>'), node, fc.constantFrom(0, 1, 3, 31))
              .map(([o, a, b]) => binary(o, a, literal(b)))
          : read,
        fc
          .tuple(
            fc.constantFrom('Math.min' as const, 'Math.max' as const, 'Math.max' as const),
            fc.array(node, { minLength: 2, maxLength: 3 }),
          )
          .map(([callee, args]): Expr => ({ kind: 'Call', callee, args, span })),
        fc
          .constantFrom<Builtin>(
            ...(isWhole
              ? (['Math.abs', 'Math.floor'] as const)
              : isSingle === true
                ? (['Math.exp', 'Math.log', 'Math.tanh', 'Math.sqrt', 'Math.sin', 'Math.cos'] as const)
                : (['Math.sqrt', 'Math.abs', 'Math.floor', 'Math.fround'] as const)),
          )
          .chain(one),
        fc.tuple(truthOf(node), node, node).map(([test, yes, no]) => choice(test, yes, no)),
        fc
          .constantFrom(isWhole ? ('~' as const) : ('-' as const), isWhole ? ('~' as const) : ('-' as const), '-' as const, '+' as const)
          .chain((operator) => node.map((operand): Expr => ({ kind: 'Unary', operator, operand, span }))),
        isWhole ? read : table,
      ),
    }
  })
  return value
}

function power(value: fc.Arbitrary<Expr>): fc.Arbitrary<Expr> {
  return fc.tuple(fc.boolean(), value, value).map(([isCall, a, b]): Expr => {
    return isCall ? { kind: 'Call', callee: 'Math.pow', args: [a, b], span } : binary('**', a, b)
  })
}

/** What relaxed precision contracts. */
function productAndSum(value: fc.Arbitrary<Expr>): fc.Arbitrary<Expr> {
  return fc.tuple(fc.constantFrom<BinaryOperator>('+', '-'), value, value, value, fc.boolean()).map(([operator, a, b, c, isFirst]) => {
    const product = binary('*', a, b)
    return isFirst ? binary(operator, product, c) : binary(operator, c, product)
  })
}

interface Bordered {
  readonly own: fc.Arbitrary<Place>
  readonly sources: readonly string[]
  readonly rows: readonly Expr[]
  readonly value: fc.Arbitrary<Expr>
  readonly stored: fc.Arbitrary<Stmt>
  readonly name: string
}

/** Elements beside the index where the index, and sometimes a key, is not at a border: tested in all the ways one does. */
function atBorders(
  { index, steady, leave, isSingle }: LaneScope,
  { own, sources, rows, value, stored, name }: Bordered,
): fc.Arbitrary<readonly Stmt[]> {
  const from = fc.constantFrom(...(sources.length > 0 ? sources : [isSingle === true ? 'other' : 'grid']))
  const beside = (by: fc.Arbitrary<number>): fc.Arbitrary<Expr> =>
    fc.tuple(from, fc.constantFrom(...rows), by).map(([array, row, by]): Expr => {
      return { kind: 'Read', ...placeIn(array, row, by === 0 ? index : binary('+', index, literal(by))), span }
    })
  const end = fc.oneof(
    fc.constant(literal(COLUMNS)),
    fc.constant<Expr>({ kind: 'Extent', array: 'grid', axis: 1, span }),
    fc.constant<Expr>({ kind: 'Parameter', name: 'count', span }),
  )
  const asked =
    steady === undefined
      ? fc.constant(index)
      : fc.oneof({ weight: 4, arbitrary: fc.constant(index) }, { weight: 1, arbitrary: fc.constant(steady) })
  const atLow = fc
    .tuple(asked, fc.constantFrom(0, 1, 1, 2), fc.nat(4))
    .map(
      ([j, low, form]) =>
        [
          binary('>', j, literal(low - 1)),
          binary('>=', j, literal(low)),
          binary('<', literal(low - 1), j),
          not(binary('<', j, literal(low))),
          binary('!==', j, literal(low - 1)),
        ][form] as Expr,
    ) // one of five
  const atHigh = fc.tuple(asked, fc.constantFrom(0, 1, 1, 2), end, fc.nat(4)).map(([j, high, to, form]) => {
    const last = binary('-', to, literal(high))
    return [
      binary('<', j, last),
      binary('<=', binary('+', j, literal(1)), last),
      binary('>', last, j),
      not(binary('>=', j, last)),
      binary('!=', j, last),
    ][form] as Expr // one of five
  })
  const away = fc.oneof(
    atLow,
    atHigh,
    fc.tuple(atLow, atHigh).map(([a, b]) => logical('&&', a, b)),
    fc.tuple(atLow, truthOf(value)).map(([a, b]) => logical('&&', b, a)),
    fc.tuple(atLow, atHigh).map(([a, b]) => not(logical('||', not(a), not(b)))),
    fc.tuple(atLow, truthOf(value)).map(([a, b]) => logical('&&', b, not(a))),
    fc.tuple(atHigh, truthOf(value)).map(([a, b]) => not(logical('||', b, not(a)))),
  )
  const beyond = beside(fc.constantFrom(-1, -1, 1, 1, 2, 0))
  const sum = fc.tuple(beyond, beyond).map(([a, b]) => binary('+', a, b))
  const write = (place: Place, e: Expr): Stmt => ({ kind: 'Write', ...place, value: e, span })
  return fc.oneof(
    fc.tuple(away, own, sum, fc.array(stored, { maxLength: 1 })).map(([test, place, e, no]) => [branch(test, [write(place, e)], no)]),
    fc.tuple(away, own, sum, stored).map(([test, place, e, no]) => [branch(not(test), [no], [write(place, e)])]),
    fc.tuple(away, own, sum).map(([test, place, e]) => [branch(not(test), [leave], []), write(place, e)]),
    fc.tuple(away, own, beyond, value).map(([test, place, e, other]) => [write(place, choice(test, e, other))]),
    fc
      .tuple(away, own, beyond, value)
      .map(([test, place, e, other]): Stmt[] => [
        { kind: 'Let', local: name, init: choice(not(test), other, e), span },
        write(place, binary('+', local(name), local(name))),
      ]),
  )
}

function not(operand: Expr): Expr {
  return { kind: 'Unary', operator: '!', operand, span }
}

function logical(operator: '&&' | '||', left: Expr, right: Expr): Expr {
  return { kind: 'Logical', operator, left, right, span }
}

/** Comparisons, and what is made of them. */
function truthOf(value: fc.Arbitrary<Expr>): fc.Arbitrary<Expr> {
  const compared = fc
    .tuple(fc.constantFrom<BinaryOperator>('<', '<=', '>', '>=', '===', '!=='), value, value)
    .map(([operator, a, b]) => binary(operator, a, b))
  return fc.oneof(
    { weight: 4, arbitrary: compared },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.constantFrom('&&' as const, '||' as const), compared, fc.oneof(compared, value))
        .map(([operator, left, right]): Expr => ({ kind: 'Logical', operator, left, right, span })),
    },
    { weight: 1, arbitrary: compared.map((operand): Expr => ({ kind: 'Unary', operator: '!', operand, span })) },
    { weight: 1, arbitrary: value },
  )
}

function summed(sums: readonly string[], value: fc.Arbitrary<Expr>): fc.Arbitrary<readonly Stmt[]> {
  return fc
    .tuple(fc.constantFrom(...sums), value)
    .map(([into, e]): readonly Stmt[] => [{ kind: 'Assign', local: into, value: binary('+', local(into), e), span }])
}

/** An element from the one before it: turns that depend on each other. */
function recurrence(array: string, row: Expr, index: Expr, value: fc.Arbitrary<Expr>): fc.Arbitrary<Stmt> {
  return fc
    .tuple(value, fc.constantFrom(0, 1), fc.constantFrom('Math.max' as const, 'Math.min' as const), fc.constantFrom(0, 0, 1))
    .map(([e, ahead, callee, via]): Stmt => {
      const before: Expr = { kind: 'Read', ...placeIn(array, row, moved(index, ahead - 1, via)), span }
      const extreme: Expr = { kind: 'Call', callee, args: [binary('-', before, literal(2)), e], span }
      return { kind: 'Write', ...placeIn(array, row, moved(index, ahead, via)), value: extreme, span }
    })
}

/** The index so many further, on the way `via` others: `const j = index + 1` and then `j - 1`. */
function moved(index: Expr, by: number, via: number): Expr {
  const start = via === 0 ? index : binary('+', index, literal(via))
  const rest = by - via
  return rest === 0 ? start : binary(rest < 0 ? '-' : '+', start, literal(Math.abs(rest)))
}
