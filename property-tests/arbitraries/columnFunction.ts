/**
 * Random row functions over columns of every number type, of truth, of 64-bit integers and of text, some of them with
 * nulls: what column kernels compile, and now and then what they must leave to JavaScript.
 */
import fc from 'fast-check'
import type { BinaryOperator, Builtin, Expr, FunctionIr, Primitive, Stmt } from '../../src/core/ir/functionIr.ts'
import { SPECIAL_NUMBERS } from './kernelBody.ts'

/** Columns by name; those that end in `0` have nulls. */
export const COLUMN_TYPES = {
  f64: 'f64',
  f640: 'f64',
  f32: 'f32',
  i32: 'i32',
  i320: 'i32',
  u32: 'u32',
  i16: 'i16',
  u16: 'u16',
  i8: 'i8',
  u80: 'u8',
  ok: 'bool',
  ok0: 'bool',
  big: 'i64',
  big0: 'i64',
  text: 'utf8',
  text0: 'utf8',
  none: 'null',
} as const
export const TEXTS: readonly string[] = [
  ...['', 'a', 'ab', 'žlutý kůň', 'eight by', 'nine byte', 'twenty-three bytes long', '😀', '\u0000'],
  ...['by\neight by nine', 'eight\u2028nine', 'eight, then nine'],
]
const NEEDLES = ['', 'a', 'b', 'by', 'eight', 'nine', 'ů', '😀', '\u0000', 'eight by', 'bytes long', 'absent']
const PATTERNS = [
  'eight.*nine',
  'e.*t.*n',
  '^eight',
  'by$',
  '^.*by.*$',
  '^e.*e$',
  'a|nine',
  'l.*g$',
  '^$',
  'e.*?b',
  '[ab]',
  'n+',
  '\\w',
  'kůň',
  'e[^t]+t',
  '(?:eight|by) n{1,2}',
  '[\\w-]+',
  '\\s[n-z]',
  '[^a-z ]*n',
]

/** What functions capture as `table`. */
const TABLE: readonly Primitive[] = ['ab', 'eight by', 7, null, '😀', '', -1.5]

const span = { line: 1, column: 1, text: '' }
const literal = (value: Primitive): Expr => ({ kind: 'Literal', value, span })
const column = (name: keyof typeof COLUMN_TYPES): Expr => ({
  kind: 'Field',
  of: { kind: 'Input', argument: 0, span },
  name,
  optional: false,
  span,
})
const binary = (operator: BinaryOperator, left: Expr, right: Expr): Expr => ({ kind: 'Binary', operator, left, right, span })
const call = (callee: Builtin, ...args: Expr[]): Expr => ({ kind: 'Call', callee, args, span })

const special = fc.constantFrom(...SPECIAL_NUMBERS, 7, 10, -3, 100, 2 ** 31 - 1, 65535)
const NUMBERS = ['f64', 'f640', 'f32', 'i32', 'i320', 'u32', 'i16', 'u16', 'i8', 'u80'] as const
const ONE = [
  ...(['Math.abs', 'Math.ceil', 'Math.floor', 'Math.round', 'Math.trunc', 'Math.sqrt', 'Math.fround', 'Math.sign'] as const),
  ...(['Math.exp', 'Math.log', 'Math.cbrt', 'Number'] as const),
] as const
const TWO = ['Math.min', 'Math.max', 'Math.min', 'Math.max', 'Math.pow', 'Math.atan2', 'Math.imul'] as const
const TESTS = ['Number.isNaN', 'isNaN', 'Number.isFinite', 'isFinite', 'Number.isInteger', 'Number.isSafeInteger', 'Boolean'] as const

const leaf: fc.Arbitrary<Expr> = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...NUMBERS).map(column) },
  { weight: 2, arbitrary: special.map(literal) },
  { weight: 1, arbitrary: fc.constantFrom('p', 'q').map((name): Expr => ({ kind: 'Parameter', name, span })) },
  { weight: 1, arbitrary: fc.constantFrom(2, 6).map((index): Expr => ({ kind: 'Lookup', table: 'table', index: literal(index), span })) },
)

const EDGES = [0n, 1n, -1n, 3n, 255n, -7n, 2n ** 31n, 2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n)].map(literal)
const WIDTHS = [1, 8, 31, 32, 33, 63, 64, 64].map(literal)

const aText = fc.constantFrom('text', 'text0', 'text').map((name) => column(name as 'text'))
/** Questions about a text that may be null: `?.` then. */
const asksText: fc.Arbitrary<Expr> = fc.oneof(
  fc.tuple(fc.constantFrom('includes', 'startsWith', 'endsWith'), aText, fc.constantFrom(...NEEDLES).map(literal)).map(
    ([method, object, needle]): Expr => ({
      ...{ kind: 'MethodCall', method: method as 'includes', object, args: [needle], span },
      optional: object.kind === 'Field' && object.name === 'text0',
    }),
  ),
  fc
    .tuple(fc.constantFrom(...PATTERNS), fc.constantFrom('', '', 's', 'u', 'i'), aText)
    .map(([pattern, flags, of]): Expr => ({ kind: 'Matches', pattern, flags, of, span })),
  fc
    .tuple(fc.constantFrom('text', 'text0', 'text'), fc.integer({ min: 0, max: TABLE.length - 1 }))
    .map(([name, index]) => binary('===', column(name as 'text'), { kind: 'Lookup', table: 'table', index: literal(index), span })),
)

const { number, truth } = fc.letrec<{ number: Expr; truth: Expr; bigint: Expr; exact: Expr }>((tie) => ({
  /** Any bigint. */
  bigint: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    tie('exact'),
    fc
      .tuple(fc.constantFrom('+', '-', '*', '&', '|', '^'), tie('bigint'), tie('bigint'))
      .map(([o, a, b]) => binary(o as BinaryOperator, a, b)),
    fc
      .tuple(fc.constantFrom('-', '~'), tie('bigint'))
      .map(([operator, operand]): Expr => ({ kind: 'Unary', operator: operator as '-', operand, span })),
    fc.tuple(tie('bigint'), fc.constantFrom(0n, 1n, 31n, 63n).map(literal)).map(([a, b]) => binary('<<', a, b)),
  ),
  /** One that 64 bits hold, with a sign. */
  exact: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(column('big'), column('big'), ...EDGES),
    fc.tuple(fc.constantFrom(...WIDTHS), tie('bigint')).map(([bits, a]) => call('BigInt.asIntN', bits, a)),
    fc.tuple(fc.constantFrom(...WIDTHS.slice(0, 6)), tie('bigint')).map(([bits, a]) => call('BigInt.asUintN', bits, a)),
    fc.tuple(tie('exact'), fc.constantFrom(0n, 1n, 31n, 63n).map(literal)).map(([a, b]) => binary('>>', a, b)),
    fc
      .tuple(fc.constantFrom('/', '%'), tie('exact'), fc.constantFrom(1n, 2n, -3n, 10n, 2n ** 32n, -(2n ** 63n)).map(literal))
      .map(([o, a, b]) => binary(o as BinaryOperator, a, b)),
    fc.tuple(tie('bigint'), fc.constantFrom(0n, 7n, 255n, 2n ** 40n - 1n).map(literal)).map(([a, b]) => binary('&', a, b)),
    fc.constantFrom('i32', 'u16', 'i8', 'ok').map((name) => call('BigInt', column(name as 'ok'))),
  ),
  number: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leaf,
    fc
      .tuple(fc.constantFrom('+', '-', '*', '/', '+', '-', '*', '%', '**'), tie('number'), tie('number'))
      .map(([o, a, b]) => binary(o as BinaryOperator, a, b)),
    fc
      .tuple(
        fc.constantFrom('&', '|', '^', '%'),
        fc.constantFrom('i32', 'i320', 'u16', 'i8').map(column),
        fc.constantFrom(7, -2, 255).map(literal),
      )
      .map(([o, a, b]) => binary(o as BinaryOperator, a, b)),
    fc
      .tuple(
        fc.constantFrom('<<', '>>', '>>>'),
        fc.constantFrom('i32', 'u16', 'u80').map(column),
        fc.constantFrom(0, 1, 31, 33).map(literal),
      )
      .map(([o, a, b]) => binary(o as BinaryOperator, a, b)),
    fc
      .tuple(fc.constantFrom('-', '+', '~'), tie('number'))
      .map(([operator, operand]): Expr => ({ kind: 'Unary', operator: operator as '-', operand, span })),
    fc.tuple(fc.constantFrom(...ONE), tie('number')).map(([callee, x]) => call(callee, x)),
    fc.tuple(fc.constantFrom(...TWO), tie('number'), tie('number')).map(([callee, x, y]) => call(callee, x, y)),
    fc.constantFrom('big', 'big0').map((name) => call('Number', column(name as 'big'))),
    { weight: 2, arbitrary: tie('exact').map((value) => call('Number', value)) },
    tie('bigint').map((value) => call('Number', value)),
    tie('truth').map((operand): Expr => ({ kind: 'Unary', operator: '+', operand, span })),
    fc
      .tuple(tie('truth'), tie('number'), tie('number'))
      .map(([test, then, other]): Expr => ({ kind: 'Conditional', test, then, else: other, span })),
    fc.tuple(tie('truth'), tie('number')).map(([test, then]): Expr => ({ kind: 'Conditional', test, then, else: literal(null), span })),
    fc
      .tuple(fc.constantFrom('&&', '||', '??'), tie('number'), tie('number'))
      .map(([operator, left, right]): Expr => ({ kind: 'Logical', operator: operator as '&&', left, right, span })),
  ),
  truth: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom('ok', 'ok0').map((name) => column(name as 'ok')),
    fc.tuple(fc.constantFrom('<', '<=', '>', '>='), tie('number'), tie('number')).map(([o, a, b]) => binary(o as BinaryOperator, a, b)),
    fc.tuple(fc.constantFrom('==', '!=', '===', '!=='), tie('number'), tie('number')).map(([o, a, b]) => binary(o as BinaryOperator, a, b)),
    fc
      .tuple(fc.constantFrom('==', '!=', '===', '!=='), tie('truth'), fc.oneof(tie('truth'), tie('number')))
      .map(([o, a, b]) => binary(o as BinaryOperator, a, b)),
    fc
      .tuple(
        fc.constantFrom('==', '!=', '===', '!=='),
        fc.constantFrom('f640', 'i320', 'ok0', 'big0', 'text0', 'none', 'i32').map((name) => column(name as 'ok0')),
      )
      .map(([o, a]) => binary(o as BinaryOperator, a, literal(null))),
    fc
      .tuple(
        fc.constantFrom('===', '!==', '=='),
        fc.constantFrom('text', 'text0').map((name) => column(name as 'text')),
        fc.constantFrom(...TEXTS).map(literal),
      )
      .map(([o, a, b]) => binary(o as BinaryOperator, a, b)),
    { weight: 3, arbitrary: asksText },
    fc
      .tuple(
        fc.constantFrom('<', '<=', '>', '>=', '===', '!==', '=='),
        fc.constantFrom('big', 'big0').map((name) => column(name as 'big')),
        fc.oneof(
          fc.constantFrom(0n, 5n, -(2n ** 63n), 2n ** 63n - 1n, 2n ** 53n + 1n).map(literal),
          fc.constant(column('big0')),
          fc.constantFrom(0, 5, -1).map(literal),
        ),
      )
      .map(([o, a, b]) =>
        binary(o as BinaryOperator, a, o === '==' && b.kind === 'Literal' && typeof b.value === 'number' ? literal(5n) : b),
      ),
    fc
      .tuple(
        fc.constantFrom('<', '<=', '>', '>=', '==', '!==', '==='),
        tie('exact'),
        fc.oneof({ weight: 3, arbitrary: tie('exact') }, tie('bigint')),
      )
      .map(([o, a, b]) => binary(o as BinaryOperator, a, b)),
    fc
      .tuple(tie('exact'), fc.constantFrom('<', '>'), fc.constantFrom(0, 5, -1).map(literal))
      .map(([a, o, b]) => binary(o as BinaryOperator, a, b)),
    fc.tuple(fc.constantFrom('Boolean' as const), tie('exact')).map(([callee, x]) => call(callee, x)),
    fc.tuple(fc.constantFrom(...TESTS), tie('number')).map(([callee, x]) => call(callee, x)),
    tie('truth').map((operand): Expr => ({ kind: 'Unary', operator: '!', operand, span })),
    fc
      .tuple(fc.constantFrom('&&', '||', '??'), tie('truth'), tie('truth'))
      .map(([operator, left, right]): Expr => ({ kind: 'Logical', operator: operator as '&&', left, right, span })),
    fc
      .tuple(tie('truth'), tie('truth'), tie('truth'))
      .map(([test, then, other]): Expr => ({ kind: 'Conditional', test, then, else: other, span })),
  ),
}))

const parameters = fc.tuple(special, special)

function functionOf(body: readonly Stmt[], [p, q]: readonly [number, number]): FunctionIr {
  const captured = (name: string, value: number) => ({ name, value, origin: 'capture' as const })
  return {
    name: 'f',
    span,
    keyRank: 0,
    body,
    parameters: [captured('p', p), captured('q', q)],
    tables: [{ name: 'table', value: TABLE, origin: 'capture' }],
    uses: [],
  }
}

const returned = (value: Expr): Stmt => ({ kind: 'Return', value, span })
const local: Expr = { kind: 'Local', name: 't', span }

/** Bodies: an expression; a variable that one side of a condition assigns; a return from one side. */
function bodyOf(result: fc.Arbitrary<Expr>): fc.Arbitrary<readonly Stmt[]> {
  return fc.oneof(
    { weight: 4, arbitrary: result.map((value) => [returned(value)]) },
    {
      weight: 1,
      arbitrary: fc.tuple(number, truth, number, result).map(([init, test, other, value]): readonly Stmt[] => [
        { kind: 'Let', local: 't', init, span },
        // biome-ignore lint/suspicious/noThenProperty: the IR's own word
        { kind: 'If', test, then: [{ kind: 'Assign', local: 't', value: other, span }], else: [], span },
        // biome-ignore lint/suspicious/noThenProperty: the IR's own word
        { kind: 'If', test: binary('<', local, literal(10)), then: [returned(value)], else: [], span },
        returned(value.kind === 'Unary' || value.kind === 'Call' ? value : result === truth ? binary('>', local, literal(0)) : local),
      ]),
    },
  )
}

/** A function that returns a number or null. */
export const numberFunction: fc.Arbitrary<FunctionIr> = fc
  .tuple(bodyOf(number), parameters)
  .map(([body, values]) => functionOf(body, values))
/** A function that returns a truth value, or what passes for one. */
export const truthFunction: fc.Arbitrary<FunctionIr> = fc.tuple(bodyOf(truth), parameters).map(([body, values]) => functionOf(body, values))
/** A function that returns a column: of 64-bit integers or text, as a rule. */
export const columnFunction: fc.Arbitrary<FunctionIr> = fc
  .tuple(fc.constantFrom('big', 'big0', 'big', 'big0', 'text', 'text0', 'f640', 'u32'), parameters)
  .map(([name, values]) => functionOf([returned(column(name as 'big'))], values))
/** A function that gives each row a group: few numbers or many, truth, a column, or an object of two of them, now and then the row's own columns. */
export const keyFunction: fc.Arbitrary<FunctionIr> = fc
  .tuple(
    fc.oneof(
      { weight: 4, arbitrary: fc.tuple(number, fc.constantFrom(3, 10, -4)).map(([of, by]) => binary('%', of, literal(by))) },
      { weight: 2, arbitrary: number },
      { weight: 1, arbitrary: fc.tuple(number, number).map(([a, b]) => binary('<', a, b)) },
      {
        weight: 3,
        arbitrary: fc
          .constantFrom('u80', 'i8', 'ok0', 'big0', 'text', 'text0', 'text', 'text0', 'f640')
          .map((name) => column(name as 'ok0')),
      },
      {
        weight: 4,
        arbitrary: fc
          .tuple(
            fc.constantFrom('u80', 'ok0', 'text', 'text0', 'i32').map((name) => column(name as 'ok0')),
            number,
          )
          .map(
            ([whole, of]): Expr => ({
              kind: 'ObjectLiteral',
              fields: [
                { name: 'a', value: whole },
                { name: 'b', value: binary('%', of, literal(5)) },
              ],
              span,
            }),
          ),
      },
    ),
    parameters,
  )
  .map(([value, values]) => functionOf([returned(value)], values))
