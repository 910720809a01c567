/** Random loops that end at an element of an array, as those over compressed rows do: what they pass, gather and write. */
import fc from 'fast-check'
import type { BinaryOperator, Expr, Stmt } from '../../src/core/ir/functionIr.ts'
import { binary, branch, literal, local, span } from './irNodes.ts'
import { SPECIAL_NUMBERS } from './kernelBody.ts'

/** Statements over the key of a run; `locals` are declared. */
export function boundStatements(key: Expr, leaves: readonly Expr[], locals: readonly string[]): fc.Arbitrary<readonly Stmt[]> {
  const e = local('e')
  const read = (array: string, ...subscripts: readonly Expr[]): Expr => ({ kind: 'Read', array, subscripts, span })
  const at = fc.constantFrom(key, key, literal(3), binary('%', binary('+', key, literal(1)), literal(27)), binary('+', key, literal(1)))
  const small = at.map((place) => binary('&', read('bytes', place), literal(15)))
  const from = fc.oneof(
    small,
    at.map((place) => read('tiny', place)),
    fc.constantFrom<Expr>(literal(0), literal(1), key),
  )
  const to = fc.oneof(
    { weight: 3, arbitrary: small },
    { weight: 2, arbitrary: at.map((place) => binary('+', binary('&', read('bytes', place), literal(7)), literal(13))) },
    { weight: 1, arbitrary: fc.constantFrom('tiny', 'bytes').chain((array) => at.map((place) => read(array, place))) },
  )
  const source = fc.constantFrom(
    read('long', e),
    read('grid', literal(2), e),
    read('rows', literal(1), e),
    read('whole', literal(0), binary('-', e, literal(1))),
    read('natural', e),
    read('long', read('bytes', e)),
    read('long', binary('&', read('bytes', e), literal(15))),
    e,
    key,
    ...leaves,
    ...locals.map(local),
    ...SPECIAL_NUMBERS.slice(0, 4).map(literal),
  )
  const value = fc.tuple(fc.constantFrom<BinaryOperator>('+', '-', '*', '/'), source, source).map(([o, a, b]) => binary(o, a, b))
  const part = fc.oneof(
    {
      weight: 5,
      arbitrary: fc
        .tuple(fc.constantFrom(...locals), value)
        .map(([x, v]): Stmt => ({ kind: 'Assign', local: x, value: binary('+', local(x), v), span })),
    },
    { weight: 2, arbitrary: value.map((v): Stmt => ({ kind: 'Write', array: 'line', subscripts: [e], value: v, span })) },
    // What the loop may end at.
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.constantFrom('bytes', 'tiny'), at, value)
        .map(([array, place, v]): Stmt => ({ kind: 'Write', array, subscripts: [place], value: v, span })),
    },
    { weight: 1, arbitrary: fc.tuple(source, source).map(([a, b]) => branch(binary('<', a, b), [{ kind: 'Break', span }], [])) },
  )
  return fc.tuple(from, to, fc.array(part, { minLength: 1, maxLength: 3 }), fc.constantFrom(...locals)).map(([first, end, body, last]) => [
    { kind: 'Let', local: 'e', init: first, span },
    {
      kind: 'For',
      init: [],
      test: binary('<', e, end),
      update: [{ kind: 'Assign', local: 'e', value: binary('+', e, literal(1)), span }],
      body,
      doWhile: false,
      span,
    },
    { kind: 'Write', array: 'grid', subscripts: [literal(4), key], value: local(last), span },
  ])
}
