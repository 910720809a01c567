/** Random functions of rows that Spark is asked to run: those of column kernels, and others of texts. */
import fc from 'fast-check'
import type { BinaryOperator, Collection, Expr, FunctionIr, Method, Primitive } from '../../src/core/ir/functionIr.ts'
import { numberFunction, truthFunction } from './columnFunction.ts'

const span = { line: 1, column: 1, text: '' }
const literal = (value: Primitive): Expr => ({ kind: 'Literal', value, span })
const column = (name: string): Expr => ({ kind: 'Field', of: { kind: 'Input', argument: 0, span }, name, optional: false, span })
const binary = (operator: BinaryOperator, left: Expr, right: Expr): Expr => ({ kind: 'Binary', operator, left, right, span })
const method = (name: Method, object: Expr, ...args: readonly Expr[]): Expr => ({
  kind: 'MethodCall',
  method: name,
  object,
  args,
  optional: false,
  span,
})
const orEmpty = (of: Expr): Expr => ({ kind: 'Logical', operator: '??', left: of, right: literal(''), span })

const place = fc.oneof(fc.integer({ min: -4, max: 9 }).map(literal), fc.constantFrom('i8', 'i16').map(column))
const piece = fc.constantFrom('', 'a', 'b', 'by', '😀', '\ue000', 'ů', ' ').map(literal)

/** What functions capture: collections by the name of their keys, with values or without. */
const TABLES: Readonly<Record<string, readonly Primitive[]>> = {
  numbers: [1, 0, -20.5, Number.NaN, Number.POSITIVE_INFINITY, 7, null, 255, 'a', true],
  byNumber: [10, -0, 2.5, Number.NaN, 1, 2, 3, 4, 5, 6],
  words: ['ab', '', '😀', 'eight by', 'a', 'null', 'true', '7', '-1'],
  byWord: ['x', 'ů', '', 'y', 'z', 'n', 't', 's', 'm'],
  some: [1, null, 3, 4, null, 6, 7, 8, 9],
  bigs: [5n, -1n, 2n ** 53n + 1n, 5],
  byBig: ['five', 'minus one', 'odd', 'a number'],
}
const find = (of: Collection, keys: string, values: string | undefined, key: Expr): Expr => ({
  kind: 'Find',
  of,
  keys,
  ...(values === undefined ? {} : { values }),
  key,
  span,
})
const otherwise = (of: Expr, other: Primitive): Expr => ({ kind: 'Logical', operator: '??', left: of, right: literal(other), span })
const numbered = fc.constantFrom('f64', 'f640', 'i32', 'i320', 'u32', 'i8', 'u80', 'f32').map(column)
const collection = fc.constantFrom<Collection>('keyed', 'bare', 'object')

const { text, number, truth, big } = fc.letrec<{ text: Expr; number: Expr; truth: Expr; big: Expr }>((tie) => ({
  big: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(column('big'), otherwise(column('big0'), 3n)),
    fc.constantFrom(0n, 1n, -1n, 7n, 2n ** 31n, -(2n ** 63n)).map(literal),
    fc
      .tuple(fc.constantFrom<BinaryOperator>('+', '-', '*', '/', '%', '&', '|', '^'), tie('big'), tie('big'))
      .map(([o, a, b]) => binary(o, a, b)),
    fc
      .tuple(fc.constantFrom('-' as const, '~' as const), tie('big'))
      .map(([operator, operand]): Expr => ({ kind: 'Unary', operator, operand, span })),
    fc
      .tuple(tie('truth'), tie('big'), tie('big'))
      .map(([test, then, other]): Expr => ({ kind: 'Conditional', test, then, else: other, span })),
  ),
  text: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(column('text'), column('text'), orEmpty(column('text0'))),
    piece,
    fc.tuple(tie('text'), tie('text')).map(([a, b]) => binary('+', a, b)),
    fc.tuple(fc.constantFrom<Method>('slice', 'substring'), tie('text'), place, place).map(([name, of, a, b]) => method(name, of, a, b)),
    fc.tuple(tie('text'), fc.integer({ min: 0, max: 6 }).map(literal)).map(([of, at]) => method('charAt', of, at)),
    fc.tuple(fc.constantFrom<Method>('trim', 'trimStart', 'trimEnd'), tie('text')).map(([name, of]) => method(name, of)),
    fc.tuple(tie('text'), fc.constantFrom('i32', 'i320', 'ok', 'ok0', 'u16').map(column)).map(([of, other]) => binary('+', of, other)),
    fc.tuple(fc.constantFrom<Method>('toUpperCase', 'toLowerCase'), tie('text')).map(([name, of]) => method(name, of)),
    fc
      .tuple(
        fc.constantFrom<Method>('padStart', 'padEnd'),
        tie('text'),
        fc.integer({ min: 0, max: 12 }),
        fc.constantFrom('-', 'ab', 'ů', ''),
      )
      .map(([name, of, length, by]) => method(name, of, literal(length), literal(by))),
    fc.tuple(tie('text'), fc.integer({ min: 0, max: 3 }).map(literal)).map(([of, times]) => method('repeat', of, times)),
    fc.tuple(collection, tie('text')).map(([of, key]) => otherwise(find(of, 'words', 'byWord', key), '?')),
    fc.constantFrom('text0', 'ok0', 'i320', 'none').map((name) => otherwise(find('keyed', 'words', 'byWord', column(name)), '?')),
    tie('big').map((key) => otherwise(find('keyed', 'bigs', 'byBig', key), '-')),
    tie('number').map((index) => otherwise({ kind: 'Lookup', table: 'byWord', index, span }, 'out')),
    fc
      .tuple(tie('truth'), tie('text'), tie('text'))
      .map(([test, then, other]): Expr => ({ kind: 'Conditional', test, then, else: other, span })),
  ),
  number: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    tie('text').map((of) => method('length', of)),
    fc.tuple(tie('text'), tie('text')).map(([of, what]) => method('indexOf', of, what)),
    fc.tuple(tie('text'), fc.integer({ min: 0, max: 6 }).map(literal)).map(([of, at]) => method('charCodeAt', of, at)),
    numbered.map((key) => otherwise(find('keyed', 'numbers', 'byNumber', key), -7)),
    numbered.map((index): Expr => otherwise({ kind: 'Lookup', table: 'some', index, span }, -7)),
    tie('text').map((key) => otherwise(find('keyed', 'words', 'some', key), 0.5)),
    tie('big').map((arg): Expr => ({ kind: 'Call', callee: 'Number', args: [arg], span })),
    fc.tuple(fc.constantFrom<BinaryOperator>('+', '-', '*', '%'), tie('number'), tie('number')).map(([o, a, b]) => binary(o, a, b)),
    tie('text').map(
      (object): Expr => ({
        kind: 'MethodCall',
        method: 'length',
        object: column('text0'),
        args: [],
        optional: object.kind !== 'Binary',
        span,
      }),
    ),
  ),
  truth: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc
      .tuple(fc.constantFrom<BinaryOperator>('<', '<=', '>', '>=', '===', '!=='), tie('text'), tie('text'))
      .map(([o, a, b]) => binary(o, a, b)),
    fc
      .tuple(fc.constantFrom<Method>('includes', 'startsWith', 'endsWith'), tie('text'), tie('text'))
      .map(([name, of, what]) => method(name, of, what)),
    fc.tuple(fc.constantFrom<BinaryOperator>('<', '>=', '==='), tie('number'), tie('number')).map(([o, a, b]) => binary(o, a, b)),
    tie('text').map((operand): Expr => ({ kind: 'Unary', operator: '!', operand, span })),
    fc
      .oneof(numbered, tie('text'), fc.constantFrom('text0', 'none', 'big0', 'ok').map(column))
      .map((key) => find('keyed', 'numbers', undefined, key)),
    fc.tuple(fc.constantFrom<Collection>('own', 'bare', 'object'), tie('text')).map(([of, key]) => find(of, 'words', undefined, key)),
    fc
      .tuple(
        fc.constantFrom<BinaryOperator>('<', '<=', '>', '>=', '===', '!=='),
        fc.oneof(tie('big'), fc.constant(column('big0'))),
        fc.oneof(tie('big'), fc.constantFrom(column('big0'), column('i32'), literal(5), literal(null))),
      )
      .map(([o, a, b]) => binary(o, a, b)),
    fc
      .tuple(
        fc.constantFrom<BinaryOperator>('===', '!==', '==', '!='),
        fc.constantFrom('text0', 'none', 'f640').map(column),
        fc.constantFrom(null, undefined).map(literal),
      )
      .map(([o, a, b]) => binary(o, a, b)),
    fc
      .tuple(
        fc.constantFrom<BinaryOperator>('===', '!=='),
        fc.constantFrom('f64', 'f640', 'i320', 'f32').map(column),
        fc.constantFrom('f64', 'f640', 'i320').map(column),
      )
      .map(([o, a, b]) => binary(o, a, b)),
  ),
}))

function functionOf(value: Expr): FunctionIr {
  return {
    name: 'f',
    span,
    keyRank: 0,
    body: [{ kind: 'Return', value, span }],
    parameters: [],
    tables: Object.entries(TABLES).map(([name, value]) => ({ name, value, origin: 'capture' })),
    uses: [],
  }
}

/** Bigints are refused: a few of them are enough. */
function hasBigints(ir: FunctionIr): boolean {
  return JSON.stringify(ir.body, (_, value: unknown) => (typeof value === 'bigint' ? 'BigInt' : value)).match(/"big|BigInt/) !== null
}
const withoutBigints = (functions: fc.Arbitrary<FunctionIr>): fc.Arbitrary<FunctionIr> => functions.filter((ir) => !hasBigints(ir))

export const sparkFunction: fc.Arbitrary<FunctionIr> = fc.oneof(
  { weight: 6, arbitrary: withoutBigints(numberFunction) },
  { weight: 4, arbitrary: withoutBigints(truthFunction) },
  { weight: 1, arbitrary: numberFunction },
  { weight: 2, arbitrary: text.map(functionOf) },
  { weight: 2, arbitrary: number.map(functionOf) },
  { weight: 2, arbitrary: truth.map(functionOf) },
  { weight: 2, arbitrary: big.map(functionOf) },
)
