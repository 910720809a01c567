/**
 * Random bodies over one axis that use what the IR can say of numbers: every operator, most functions, conversions,
 * loops with breaks, reads and writes of every dtype, draws, and values that numbers rarely are.
 */
import fc from 'fast-check'
import type { Builtin, Expr, FunctionIr, Primitive, Stmt } from '../../src/core/ir/functionIr.ts'

/** What bodies may name; every array has one axis of EXTENT elements. */
export const EXTENT = 9
export const KERNEL_ARRAYS = { f64: 'wide', f32: 'narrow', i32: 'whole', u8: 'bytes', bool: 'flags', i64: 'big' } as const
export const KERNEL_TABLES: readonly { readonly name: string; readonly value: ArrayLike<Primitive> }[] = [
  { name: 'weights', value: Float64Array.of(0.5, -0, Number.NaN, 5e-324) },
  { name: 'words', value: ['a', undefined, 3, null, true] },
  { name: 'plain', value: [1, -0, 1e308, 0.1] },
]

export const SPECIAL_NUMBERS: readonly number[] = [
  0,
  -0,
  1,
  -1,
  2,
  3,
  0.1,
  -0.5,
  1e-310,
  5e-324,
  1.7976931348623157e308,
  -1.7976931348623157e308,
  2 ** 31,
  -(2 ** 31),
  2 ** 32,
  2 ** 53,
  255,
  256,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  3.4028235e38,
  1e39,
  16777217,
]

const span = { line: 1, column: 1, text: '' }
const literal = (value: Primitive): Expr => ({ kind: 'Literal', value, span })
const add = (left: Expr, right: Expr): Expr => ({ kind: 'Binary', operator: '+', left, right, span })

const UNARY = ['-', '+', '!', '~', 'typeof'] as const
const BINARY = ['+', '-', '*', '/', '%', '**', '&', '|', '^', '<<', '>>', '>>>', '==', '!=', '===', '!==', '<', '<=', '>', '>='] as const
const FUNCTIONS: readonly (readonly [Builtin, number])[] = [
  ['Math.abs', 1],
  ['Math.ceil', 1],
  ['Math.floor', 1],
  ['Math.round', 1],
  ['Math.trunc', 1],
  ['Math.sign', 1],
  ['Math.sqrt', 1],
  ['Math.cbrt', 1],
  ['Math.exp', 1],
  ['Math.log', 1],
  ['Math.sin', 1],
  ['Math.cos', 1],
  ['Math.tanh', 1],
  ['Math.atan2', 2],
  ['Math.fround', 1],
  ['Math.imul', 2],
  ['Math.clz32', 1],
  ['Math.max', 2],
  ['Math.min', 2],
  ['Math.min', 0],
  ['Math.max', 3],
  ['Math.pow', 2],
  ['Math.hypot', 2],
  ['Number', 1],
  ['String', 1],
  ['Boolean', 1],
  ['Number.isNaN', 1],
  ['Number.isInteger', 1],
  ['isFinite', 1],
  ['parseFloat', 1],
  ['Object.is', 2],
]

export type KernelElement = 'none' | 'number' | 'row'

/** Columns of rows, see `KERNEL_COLUMNS` in the law. */
export const ROW_FIELDS: readonly string[] = ['n', 'maybe', 'name', 'when', 'ok', 'count', 'absent']

interface Names {
  readonly locals: readonly string[]
  readonly element: KernelElement
}

const LOCALS = ['x', 'y', 'z']
const PARAMETERS = ['rate', 'text', 'none']

function leaf({ locals, element }: Names): fc.Arbitrary<Expr> {
  const choices: fc.Arbitrary<Expr>[] = [
    fc.constantFrom(...SPECIAL_NUMBERS).map(literal),
    fc.constantFrom(...SPECIAL_NUMBERS).map(literal),
    fc.constantFrom<Primitive>('', '12', 'abc', true, false, null, undefined).map(literal),
    fc.constantFrom(...locals).map((name): Expr => ({ kind: 'Local', name, span })),
    fc.constantFrom(...PARAMETERS).map((name): Expr => ({ kind: 'Parameter', name, span })),
    fc.constant<Expr>({ kind: 'Key', axis: 0, span }),
    fc.constant<Expr>({ kind: 'Extent', array: 'wide', axis: 0, span }),
    fc.constant<Expr>({ kind: 'LookupLength', table: 'words', span }),
  ]
  if (element === 'number') choices.push(fc.constant<Expr>({ kind: 'Input', argument: 0, span }))
  if (element === 'row') {
    const field = (name: string): Expr => ({ kind: 'Field', of: { kind: 'Input', argument: 0, span }, name, optional: false, span })
    choices.push(fc.constantFrom(...ROW_FIELDS).map(field), fc.constantFrom('n', 'maybe', 'count').map(field))
  }
  return fc.oneof(...choices)
}

/** Mostly inside; sometimes one beside, and rarely anything at all. */
function subscript(any: fc.Arbitrary<Expr>, counter: string | undefined): fc.Arbitrary<Expr> {
  const key: Expr = { kind: 'Key', axis: 0, span }
  const inside: Expr = { kind: 'Binary', operator: '%', left: key, right: literal(EXTENT), span }
  const counted: Expr = counter === undefined ? inside : { kind: 'Local', name: counter, span }
  return fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom(inside, counted, counted, literal(0), literal(EXTENT - 1), literal(-0)) },
    { weight: 2, arbitrary: fc.integer({ min: -1, max: 2 }).map((offset) => add(inside, literal(offset))) },
    { weight: 1, arbitrary: any },
  )
}

function expression(names: Names, counter: string | undefined): fc.Arbitrary<Expr> {
  const { node } = fc.letrec<{ node: Expr }>((tie) => {
    const node = tie('node')
    const list = (length: number) => fc.array(node, { minLength: length, maxLength: length })
    const numbers = (['wide', 'narrow', 'whole', 'bytes', 'flags'] as const).map((name) => name)
    return {
      node: fc.oneof(
        { maxDepth: 4, depthIdentifier: 'kernel expression' },
        leaf(names),
        fc.tuple(fc.constantFrom(...UNARY), node).map(([operator, operand]): Expr => ({ kind: 'Unary', operator, operand, span })),
        fc
          .tuple(fc.constantFrom(...BINARY), node, node)
          .map(([operator, left, right]): Expr => ({ kind: 'Binary', operator, left, right, span })),
        fc
          .tuple(fc.constantFrom(...BINARY), node, node)
          .map(([operator, left, right]): Expr => ({ kind: 'Binary', operator, left, right, span })),
        fc
          .tuple(fc.constantFrom('&&' as const, '||' as const, '??' as const), node, node)
          .map(([operator, left, right]): Expr => ({ kind: 'Logical', operator, left, right, span })),
        fc.tuple(node, node, node).map(([test, whenTrue, whenFalse]) => conditional(test, whenTrue, whenFalse)),
        fc.constantFrom(...FUNCTIONS).chain(([callee, arity]) => list(arity).map((args): Expr => ({ kind: 'Call', callee, args, span }))),
        fc
          .tuple(fc.constantFrom(...numbers), subscript(node, counter))
          .map(([array, at]): Expr => ({ kind: 'Read', array, subscripts: [at], span })),
        fc
          .tuple(fc.constantFrom(...numbers), subscript(node, counter))
          .map(([array, at]): Expr => ({ kind: 'Has', array, subscripts: [at], span })),
        fc
          .tuple(fc.constantFrom('weights', 'words', 'plain'), node)
          .map(([table, index]): Expr => ({ kind: 'Lookup', table, index, span })),
        fc
          .constantFrom('uniform' as const, 'normal' as const)
          .map((method): Expr => ({ kind: 'Draw', rng: 'dice', method, args: [], span })),
      ),
    }
  })
  return node
}

// biome-ignore format: the suppression holds for one line
// biome-ignore lint/suspicious/noThenProperty: the IR's own word
const conditional = (test: Expr, whenTrue: Expr, whenFalse: Expr): Expr => ({ kind: 'Conditional', test, then: whenTrue, else: whenFalse, span })
// biome-ignore format: the suppression holds for one line
// biome-ignore lint/suspicious/noThenProperty: the IR's own word
const branch = (test: Expr, whenTrue: readonly Stmt[], whenFalse: readonly Stmt[]): Stmt => ({ kind: 'If', test, then: whenTrue, else: whenFalse, span })

function statements(names: Names, depth: number, counter: string | undefined): fc.Arbitrary<readonly Stmt[]> {
  const value = expression(names, counter)
  const at = subscript(value, counter)
  const simple: fc.Arbitrary<Stmt>[] = [
    fc
      .tuple(fc.constantFrom('wide', 'narrow', 'whole', 'bytes', 'flags'), at, value)
      .map(([array, to, e]): Stmt => ({ kind: 'Write', array, subscripts: [to], value: e, span })),
    fc
      .tuple(fc.constantFrom('wide', 'narrow', 'whole', 'bytes', 'flags'), at, value)
      .map(([array, to, e]): Stmt => ({ kind: 'Add', array, subscripts: [to], value: e, span })),
    fc.tuple(fc.constantFrom(...LOCALS), value).map(([local, e]): Stmt => ({ kind: 'Assign', local, value: e, span })),
    fc
      .tuple(fc.constantFrom('sum', 'least', 'most', 'calls'), value)
      .map(([accumulator, e]): Stmt => ({ kind: 'Accumulate', accumulator, value: e, span })),
    fc
      .tuple(fc.constantFrom('Write' as const, 'Add' as const), at, value)
      .map(([kind, to, e]): Stmt => ({ kind, array: 'big', subscripts: [to], value: bigOf(e), span })),
  ]
  if (depth === 0) return fc.array(fc.oneof(...simple), { minLength: 1, maxLength: 3 })
  const inner = statements(names, depth - 1, counter)
  const turns = fc.integer({ min: -1, max: EXTENT + 1 })
  const name = `k${depth}`
  const loop = fc
    .tuple(
      statements({ ...names, locals: [...names.locals, name] }, depth - 1, name),
      turns,
      fc.constantFrom(1, 2, -1),
      value,
      fc.constantFrom('break' as const, 'continue' as const, 'none' as const),
    )
    .map(([body, to, step, test, leave]) => countedLoop(name, body, to, step, test, leave))
  const nested: fc.Arbitrary<Stmt>[] = [
    fc.tuple(value, inner, inner).map(([test, yes, no]) => branch(test, yes, no)),
    loop,
    fc.tuple(value, inner).map(
      ([test, body]): Stmt => ({
        kind: 'Labeled',
        label: `out${depth}`,
        body: [branch(test, [{ kind: 'Break', label: `out${depth}`, span }], []), ...body],
        span,
      }),
    ),
    fc
      .tuple(value, value)
      .map(([test, result]) =>
        branch(test, [names.element === 'row' ? { kind: 'Return', span } : { kind: 'Return', value: result, span }], []),
      ),
    value.map(
      (message): Stmt =>
        branch(
          { kind: 'Binary', operator: '===', left: message, right: literal(3), span },
          [{ kind: 'Throw', error: 'TypeError', message, span }],
          [],
        ),
    ),
  ]
  return fc.array(fc.oneof(...simple, ...nested), { minLength: 1, maxLength: 4 })
}

/** Bigints from numbers that are whole, so that i64 arrays get what they take; other values throw, as in the source. */
function bigOf(value: Expr): Expr {
  const test: Expr = { kind: 'Call', callee: 'Number.isSafeInteger', args: [value], span }
  return conditional(test, { kind: 'Call', callee: 'BigInt', args: [value], span }, literal(7n))
}

function countedLoop(
  local: string,
  body: readonly Stmt[],
  to: number,
  step: number,
  test: Expr,
  leave: 'break' | 'continue' | 'none',
): Stmt {
  const up = step > 0
  const [from, until] = up ? [literal(0), literal(to)] : [literal(to - 1), literal(-1)]
  const index: Expr = { kind: 'Local', name: local, span }
  const exit: Stmt[] = leave === 'none' ? [] : [branch(test, [{ kind: leave === 'break' ? 'Break' : 'Continue', span }], [])]
  return {
    kind: 'For',
    init: [{ kind: 'Let', local, init: from, span }],
    test: { kind: 'Binary', operator: up ? '<' : '>', left: index, right: until, span },
    update: [{ kind: 'Assign', local, value: add(index, literal(step)), span }],
    body: [...exit, ...body],
    doWhile: false,
    counted: { local, from, to: until, step },
    span,
  }
}

/** A body over an element of this kind. */
export function kernelBody(element: KernelElement): fc.Arbitrary<FunctionIr> {
  const parameters = fc.tuple(
    fc.constantFrom(...SPECIAL_NUMBERS),
    fc.constantFrom('', '7', 'x'),
    fc.constantFrom<Primitive>(undefined, null, true),
  )
  return fc.tuple(statements({ locals: LOCALS, element }, 2, undefined), parameters).map(([body, [rate, text, none]]) => ({
    name: 'body',
    span,
    keyRank: 1,
    body: [...LOCALS.map((local, i): Stmt => ({ kind: 'Let', local, init: literal(i), span })), ...body],
    parameters: [
      { name: 'rate', value: rate, origin: 'capture' },
      { name: 'text', value: text, origin: 'capture' },
      { name: 'none', value: none, origin: 'env' },
    ],
    tables: KERNEL_TABLES.map((table) => ({ ...table, origin: 'capture' })),
    uses: [
      ...Object.values(KERNEL_ARRAYS).map((name) => ({ name, kind: 'array' as const, origin: 'env' as const })),
      ...['sum', 'least', 'most', 'calls'].map((name) => ({ name, kind: 'accumulator' as const, origin: 'env' as const })),
      { name: 'dice', kind: 'rng', origin: 'env' },
    ],
  }))
}
