/** Random functions of rows that Spark is asked to run: those of column kernels, and others of texts. */
import fc from 'fast-check'
import type { BinaryOperator, Expr, FunctionIr, Method, Primitive } from '../../src/core/functionIr.ts'
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

const { text, number, truth } = fc.letrec<{ text: Expr; number: Expr; truth: Expr }>((tie) => ({
  text: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(column('text'), column('text'), orEmpty(column('text0'))),
    piece,
    fc.tuple(tie('text'), tie('text')).map(([a, b]) => binary('+', a, b)),
    fc.tuple(fc.constantFrom<Method>('slice', 'substring'), tie('text'), place, place).map(([name, of, a, b]) => method(name, of, a, b)),
    fc.tuple(tie('text'), fc.integer({ min: 0, max: 6 }).map(literal)).map(([of, at]) => method('charAt', of, at)),
    fc.tuple(fc.constantFrom<Method>('trim', 'trimStart', 'trimEnd'), tie('text')).map(([name, of]) => method(name, of)),
    fc.tuple(tie('text'), fc.constantFrom('i32', 'i320', 'ok', 'ok0', 'u16').map(column)).map(([of, other]) => binary('+', of, other)),
    fc
      .tuple(tie('truth'), tie('text'), tie('text'))
      .map(([test, then, other]): Expr => ({ kind: 'Conditional', test, then, else: other, span })),
  ),
  number: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    tie('text').map((of) => method('length', of)),
    fc.tuple(tie('text'), tie('text')).map(([of, what]) => method('indexOf', of, what)),
    fc.tuple(tie('text'), fc.integer({ min: 0, max: 6 }).map(literal)).map(([of, at]) => method('charCodeAt', of, at)),
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
  return { name: 'f', span, keyRank: 0, body: [{ kind: 'Return', value, span }], parameters: [], tables: [], uses: [] }
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
)
