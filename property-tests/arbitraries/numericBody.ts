/**
 * Random bodies that compute with numbers and truth values only, as WebAssembly kernels run them: every operator, most
 * functions, arrays of one and two axes of every dtype, two names for one array, inner loops with rows, breaks, throws.
 * Some bodies have no loop of their own: their iterations lie side by side in rows.
 */
import fc from 'fast-check'
import type { Builtin, Expr, FunctionIr, Stmt } from '../../src/core/ir/functionIr.ts'
import { boundStatements } from './boundLoop.ts'
import { binary, branch, choice, key, literal, local, span } from './irNodes.ts'
import { jamStatements } from './jamBody.ts'
import { SPECIAL_NUMBERS } from './kernelBody.ts'
import { laneStatements, rowsInside, rowsOf } from './laneBody.ts'
import { nestStatements } from './nestBody.ts'
import { COLUMNS, NAMES, NUMERIC_ARRAYS, TWIN } from './numericArrays.ts'
import { sweepStatements } from './sweepBody.ts'

export type NumericElement = 'none' | 'box' | 'number' | 'row'
const FIELDS = ['n', 'ok', 'count', 'single']
const LOCALS = ['x', 'y', 'z']
export const THROWN = 'too much'

const FUNCTIONS: readonly (readonly [Builtin, number])[] = [
  ...(
    ['abs', 'ceil', 'floor', 'round', 'trunc', 'sign', 'sqrt', 'cbrt', 'exp', 'log', 'sin', 'cos', 'tanh', 'fround', 'clz32'] as const
  ).map((name) => [`Math.${name}`, 1] as const),
  ...(['atan2', 'imul', 'max', 'min', 'pow', 'hypot'] as const).map((name) => [`Math.${name}`, 2] as const),
  ['Math.max', 3],
  ['Math.min', 0],
  ['Number', 1],
]
const QUESTIONS: readonly (readonly [Builtin, number])[] = [
  ['Number.isNaN', 1],
  ['Number.isInteger', 1],
  ['Number.isSafeInteger', 1],
  ['Number.isFinite', 1],
  ['isNaN', 1],
  ['isFinite', 1],
  ['Boolean', 1],
  ['Object.is', 2],
]

interface Scope {
  readonly element: NumericElement
  readonly locals: readonly string[]
  /** Indices of the loops around, whose values are inside rows, but for the last value of some. */
  readonly counters: readonly string[]
}

interface Values {
  readonly number: fc.Arbitrary<Expr>
  readonly truth: fc.Arbitrary<Expr>
}

function valuesOf(scope: Scope): Values {
  const leaves: fc.Arbitrary<Expr>[] = [
    fc.constantFrom(...SPECIAL_NUMBERS, 2.5, -2.5, 0.49999999999999994).map(literal),
    fc.constantFrom(...scope.locals, ...scope.counters).map(local),
    fc.constantFrom('rate', 'count').map((name): Expr => ({ kind: 'Parameter', name, span })),
    fc.constant(key(0)),
    fc.constant<Expr>({ kind: 'Extent', array: 'grid', axis: 1, span }),
    fc.constant<Expr>({ kind: 'LookupLength', table: 'weights', span }),
  ]
  const truths: fc.Arbitrary<Expr>[] = [fc.boolean().map(literal), fc.constant<Expr>({ kind: 'Parameter', name: 'yes', span })]
  if (scope.element === 'number') leaves.push(fc.constant<Expr>({ kind: 'Input', argument: 0, span }))
  if (scope.element === 'row') {
    const field = (name: string): Expr => ({ kind: 'Field', of: { kind: 'Input', argument: 0, span }, name, optional: false, span })
    leaves.push(fc.constantFrom(...FIELDS.filter((name) => name !== 'ok')).map(field))
    truths.push(fc.constant(field('ok')))
  }
  return fc.letrec<{ number: Expr; truth: Expr; any: Expr }>((tie) => {
    const [number, truth, any] = [tie('number'), tie('truth'), tie('any')]
    const leaf = fc.oneof(...leaves)
    const call = (list: readonly (readonly [Builtin, number])[], arg: fc.Arbitrary<Expr>): fc.Arbitrary<Expr> =>
      fc
        .constantFrom(...list)
        .chain(([callee, arity]) =>
          fc.array(arg, { minLength: arity, maxLength: arity }).map((args): Expr => ({ kind: 'Call', callee, args, span })),
        )
    const limits = { maxDepth: 4, depthIdentifier: 'numeric expression' }
    return {
      any: fc.oneof({ weight: 4, arbitrary: number }, { weight: 1, arbitrary: truth }),
      number: fc.oneof(
        limits,
        fc.oneof(...leaves),
        fc
          .tuple(fc.constantFrom('+', '-', '*', '/', '%', '+', '-', '*', '**', '&', '|', '^', '<<', '>>', '>>>'), any, any)
          .map(([o, a, b]) => binary(o as '+', a, b)),
        fc.tuple(fc.constantFrom('+', '-', '*', '/', '%'), number, number).map(([o, a, b]) => binary(o as '+', a, b)),
        fc
          .tuple(fc.constantFrom('-' as const, '+' as const, '~' as const), any)
          .map(([operator, operand]): Expr => ({ kind: 'Unary', operator, operand, span })),
        fc
          .tuple(fc.constantFrom('&&' as const, '||' as const), number, number)
          .map(([operator, left, right]): Expr => ({ kind: 'Logical', operator, left, right, span })),
        fc.tuple(any, number, number).map(([test, yes, no]) => choice(test, yes, no)),
        call(FUNCTIONS, number),
        // Of leaves alone: what happens at the edges of a type shows.
        call(FUNCTIONS, leaf),
        fc.tuple(fc.constantFrom('+', '-', '*', '%'), leaf, leaf).map(([o, a, b]) => binary(o as '+', a, b)),
        fc.tuple(fc.constantFrom('*', '%', '-'), leaf, fc.constantFrom(-1, -3, 0, 7)).map(([o, a, b]) => binary(o as '*', a, literal(b))),
        fc
          .constantFrom(...NAMES)
          .chain((array) => subscriptsOf(array, scope, number).map((subscripts): Expr => ({ kind: 'Read', array, subscripts, span }))),
        fc
          .tuple(fc.constantFrom('weights', 'plain', 'codes'), number)
          .map(([table, index]): Expr => ({ kind: 'Lookup', table, index: tableIndex(index), span })),
      ),
      truth: fc.oneof(
        limits,
        fc.oneof(...truths),
        fc.tuple(fc.constantFrom('==', '!=', '===', '!==', '<', '<=', '>', '>='), any, any).map(([o, a, b]) => binary(o as '<', a, b)),
        any.map((operand): Expr => ({ kind: 'Unary', operator: '!', operand, span })),
        fc
          .tuple(fc.constantFrom('&&' as const, '||' as const), truth, truth)
          .map(([operator, left, right]): Expr => ({ kind: 'Logical', operator, left, right, span })),
        call(QUESTIONS, number),
      ),
    }
  })
}

/** Mostly inside tables of four, so that few values may be undefined. */
function tableIndex(index: Expr): Expr {
  return index.kind === 'Local' || index.kind === 'Read' ? index : binary('&', index, literal(3))
}

/** One subscript an axis: a key, an index, a literal, something near an edge, and rarely anything. */
function subscriptsOf(array: string, { element, counters }: Scope, any: fc.Arbitrary<Expr>): fc.Arbitrary<Expr[]> {
  const shape = NUMERIC_ARRAYS[array === TWIN ? 'grid' : array]?.[1] ?? []
  return fc.tuple(
    ...shape.map((extent, axis) => {
      const own = element === 'box' ? key(axis % 2) : key(0)
      const inside = binary('%', own, literal(extent))
      const index = axis === shape.length - 1 && counters.length > 0 ? fc.constantFrom(...counters).map(local) : fc.constant(inside)
      return fc.oneof(
        { weight: 20, arbitrary: index },
        {
          weight: 12,
          arbitrary: fc.oneof(fc.constant(inside), fc.nat(extent - 1).map(literal), fc.constant(element === 'box' ? own : inside)),
        },
        { weight: 3, arbitrary: fc.tuple(index, fc.integer({ min: -1, max: 1 })).map(([e, by]) => binary('+', e, literal(by))) },
        { weight: 1, arbitrary: fc.tuple(index, fc.constantFrom(-0, 0.5, extent - 1)).map(([e, by]) => binary('-', e, literal(by))) },
        { weight: 1, arbitrary: any },
      )
    }),
  ) as fc.Arbitrary<Expr[]>
}

function statements(scope: Scope, depth: number): fc.Arbitrary<readonly Stmt[]> {
  const { number, truth } = valuesOf(scope)
  const value = fc.oneof({ weight: 8, arbitrary: number }, { weight: 1, arbitrary: truth })
  const store = fc
    .constantFrom(...NAMES)
    .chain((array) =>
      fc
        .tuple(fc.constantFrom('Write' as const, 'Add' as const), subscriptsOf(array, scope, number), value)
        .map(([kind, subscripts, e]): Stmt => ({ kind, array, subscripts, value: e, span })),
    )
  const simple = [
    store,
    store,
    fc.tuple(fc.constantFrom(...LOCALS), number).map(([name, e]): Stmt => ({ kind: 'Assign', local: name, value: e, span })),
    fc
      .tuple(fc.constantFrom('sum', 'least', 'most', 'calls'), value)
      .map(([accumulator, e]): Stmt => ({ kind: 'Accumulate', accumulator, value: e, span })),
  ]
  if (depth === 0) return fc.array(fc.oneof(...simple), { minLength: 1, maxLength: 3 })
  const inner = statements(scope, depth - 1)
  const nested: fc.Arbitrary<Stmt>[] = [
    fc.tuple(value, inner, inner).map(([test, yes, no]) => branch(test, yes, no)),
    loop(scope, depth),
    rowLoop(scope, depth),
    rowLoop(scope, depth),
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
        branch(test, [scope.element === 'row' ? { kind: 'Return', span } : { kind: 'Return', value: result, span }], []),
      ),
    number.map((e) => branch(binary('===', e, literal(3)), [{ kind: 'Throw', error: 'RangeError', message: literal(THROWN), span }], [])),
    value.map((e): Stmt => ({ kind: 'Evaluate', value: e, span })),
  ]
  return fc.array(fc.oneof(...simple, ...nested), { minLength: 1, maxLength: 4 })
}

const bounds: fc.Arbitrary<Expr> = fc.oneof(
  { weight: 6, arbitrary: fc.constant<Expr>({ kind: 'Extent', array: 'grid', axis: 1, span }) },
  { weight: 4, arbitrary: fc.integer({ min: -1, max: COLUMNS + 2 }).map(literal) },
  { weight: 4, arbitrary: fc.constant<Expr>({ kind: 'Parameter', name: 'count', span }) },
  { weight: 1, arbitrary: fc.constant<Expr>(binary('+', key(0), literal(2))) },
  { weight: 1, arbitrary: fc.constant(literal(3.5)) },
)

/** Ends of loops along rows whose neighbours are inside as well. */
const boundsInside: fc.Arbitrary<Expr> = fc.oneof(
  { weight: 3, arbitrary: fc.constant(binary('-', { kind: 'Extent', array: 'grid', axis: 1, span }, literal(2))) },
  { weight: 3, arbitrary: fc.integer({ min: 0, max: COLUMNS - 2 }).map(literal) },
  { weight: 1, arbitrary: fc.constant<Expr>(binary('+', binary('&', key(0), literal(15)), literal(2))) },
)

function loop(scope: Scope, depth: number): fc.Arbitrary<Stmt> {
  const name = `k${depth}`
  const within = { ...scope, counters: [name] }
  const { number, truth } = valuesOf(within)
  return fc
    .tuple(
      statements(within, depth - 1),
      bounds,
      fc.constantFrom(1, 1, 2, -1),
      fc.oneof(number, truth),
      fc.constantFrom('break', 'continue', 'none'),
    )
    .map(([body, to, step, test, leave]) => {
      const exit: Stmt[] =
        leave === 'none' ? [] : [branch(test, [leave === 'break' ? { kind: 'Break', span } : { kind: 'Continue', span }], [])]
      return counted(name, [...exit, ...body], to, step)
    })
}

function counted(name: string, body: readonly Stmt[], to: Expr, step: number, first = 0): Stmt {
  const [from, until] = step > 0 ? [literal(first), to] : [to, literal(-1)]
  const start = step > 0 ? from : binary('-', to, literal(1))
  return {
    kind: 'For',
    init: [{ kind: 'Let', local: name, init: start, span }],
    test: binary(step > 0 ? '<' : '>', local(name), until),
    update: [{ kind: 'Assign', local: name, value: binary('+', local(name), literal(step)), span }],
    body,
    doWhile: false,
    counted: { local: name, from: start, to: until, step },
    span,
  }
}

/** A loop along rows, of the kind that becomes vectors. `isInside`: one that throws nothing. */
function rowLoop(scope: Scope, depth: number, isInside = false): fc.Arbitrary<Stmt> {
  const name = `r${depth}`
  const leave: Stmt = { kind: 'Continue', span }
  const lanes = laneStatements({
    index: local(name),
    rows: isInside ? rowsInside(key(0)) : rowsOf(key(0)),
    steady: key(0),
    locals: scope.locals,
    sums: LOCALS,
    leaves: [],
    leave,
    prefix: `t${depth}`,
  })
  const [froms, to] = isInside ? [[1, 1, 2], boundsInside] : [[0, 0, 1], bounds]
  return fc.tuple(lanes, to, fc.constantFrom(...froms)).map(([{ body, isCarried }, to, from]) => {
    return withSums(counted(name, body, to, 1, isCarried ? 1 : from), body, depth)
  })
}

/** The loop, and after it what it summed. */
function withSums(loop: Stmt, body: readonly Stmt[], depth: number): Stmt {
  const sums = body.flatMap((stmt): Stmt[] =>
    stmt.kind === 'Assign' ? [{ kind: 'Accumulate', accumulator: 'sum', value: local(stmt.local), span }] : [],
  )
  return { kind: 'Labeled', label: `row${depth}`, body: [loop, ...sums], span }
}

/** A body of what becomes vectors, its iterations next to each other along the last axis. */
function runBody(element: NumericElement, form: Form = 'any'): fc.Arbitrary<readonly Stmt[]> {
  const index = element === 'box' ? key(1) : key(0)
  const input: Expr = { kind: 'Input', argument: 0, span }
  const field = (name: string): Expr => ({ kind: 'Field', of: input, name, optional: false, span })
  const leaves = element === 'number' ? [input, input] : element === 'row' ? FIELDS.map(field) : []
  const rows = (form === 'lanes' ? rowsInside : rowsOf)(element === 'box' ? key(0) : literal(2))
  const lanes = laneStatements({
    index,
    rows,
    ...(element === 'box' ? { steady: key(0) } : {}),
    locals: LOCALS,
    sums: [],
    leaves,
    leave: { kind: 'Return', span },
    prefix: 't',
    isSingle: form === 'single',
    isEdged: form === 'lanes',
  })
  if (element === 'row') return lanes.map(({ body }) => body)
  const last = fc.constantFrom<readonly Expr[]>([], [], [local('x')], [binary('*', leaves[0] ?? local('y'), literal(3))])
  return fc.tuple(lanes, last).map(([{ body }, value]) => [...body, ...value.map((e): Stmt => ({ kind: 'Return', value: e, span }))])
}

/** A body with loops inside, its iterations next to each other along the last axis. */
function nestBody(element: NumericElement): fc.Arbitrary<readonly Stmt[]> {
  const input: Expr = { kind: 'Input', argument: 0, span }
  const leaves = element === 'number' ? [input] : []
  const run = element === 'box' ? key(1) : key(0)
  const body = fc.oneof(
    { weight: 3, arbitrary: nestStatements(run, leaves, LOCALS) },
    { weight: 1, arbitrary: boundStatements(run, leaves, LOCALS) },
  )
  if (element === 'row') return body
  return fc.tuple(body, fc.option(fc.constantFrom(...LOCALS).map(local), { freq: 5 })).map(([stmts, value]) => {
    return value === null ? stmts : [...stmts, { kind: 'Return', value, span }]
  })
}

/**
 * any: any statements. lanes: nothing but what becomes vectors, in a loop of its own or along the iterations.
 * single: that with arrays of f32 alone, along the iterations.
 * nest: loops inside that become lanes with the iterations, and loops that end at elements.
 * sweep: over two keys, elements from those around them.
 * jam: a loop that adds to one row again and again.
 */
type Form = 'any' | 'lanes' | 'single' | 'nest' | 'sweep' | 'jam'

/** A body over an element of this kind. */
export function numericBody(element: NumericElement, form: Form = 'any'): fc.Arbitrary<FunctionIr> {
  const parameters = fc.tuple(fc.constantFrom(...SPECIAL_NUMBERS), fc.integer({ min: 0, max: COLUMNS + 1 }), fc.boolean())
  const scope = { element, locals: LOCALS, counters: [] }
  const body =
    form === 'single'
      ? runBody(element, form)
      : form === 'nest'
        ? nestBody(element)
        : form === 'sweep'
          ? sweepStatements(LOCALS)
          : form === 'jam'
            ? jamStatements(key(0), LOCALS)
            : form === 'lanes'
              ? fc.oneof(
                  { weight: 3, arbitrary: rowLoop(scope, 1, true).map((loop) => [loop]) },
                  { weight: 2, arbitrary: runBody(element, form) },
                )
              : fc.oneof({ weight: 3, arbitrary: statements(scope, 2) }, { weight: 2, arbitrary: runBody(element) })
  return fc.tuple(body, parameters).map(([body, [rate, count, yes]]) => ({
    name: 'body',
    span,
    keyRank: element === 'box' ? 2 : 1,
    body: [...LOCALS.map((name, i): Stmt => ({ kind: 'Let', local: name, init: literal(i), span })), ...body],
    parameters: [
      { name: 'rate', value: rate, origin: 'capture' },
      { name: 'count', value: count, origin: 'capture' },
      { name: 'yes', value: yes, origin: 'env' },
    ],
    tables: [
      { name: 'weights', value: Float64Array.of(0.5, -0, Number.NaN, 5e-324), origin: 'capture' },
      { name: 'plain', value: [1, -0, 1e308, 0.1], origin: 'capture' },
      { name: 'profile', value: Float64Array.from({ length: COLUMNS }, (_, i) => i / 7 - 1), origin: 'capture' },
      { name: 'levels', value: Uint8Array.from({ length: COLUMNS }, (_, i) => (i * 37) % 256), origin: 'capture' },
      { name: 'codes', value: Int8Array.of(-3, 0, 7, 127), origin: 'capture' },
    ],
    uses: [
      ...NAMES.map((name) => ({ name, kind: 'array' as const, origin: 'env' as const })),
      ...['sum', 'least', 'most', 'calls'].map((name) => ({ name, kind: 'accumulator' as const, origin: 'env' as const })),
    ],
  }))
}
