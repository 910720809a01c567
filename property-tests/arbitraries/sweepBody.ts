/**
 * Random sweeps: bodies over two keys that write an element beside those that they read of the same array, in the row and in
 * the rows around it, as Gauss–Seidel and the tables of dynamic programming do. Rows of most may run two at a time.
 */
import fc from 'fast-check'
import type { BinaryOperator, Builtin, Expr, Stmt } from '../../src/core/ir/functionIr.ts'
import { binary, branch, key, literal, local, span } from './irNodes.ts'
import { SPECIAL_NUMBERS } from './kernelBody.ts'
import { TWIN } from './numericArrays.ts'

/** Keys for which the subscripts of a sweep are inside, but for the rarest row. Two rows are less than a slice of the second pass. */
export const SWEPT: readonly number[] = [3, 7]

export function sweepStatements(locals: readonly string[]): fc.Arbitrary<readonly Stmt[]> {
  return fc
    .tuple(fc.constantFrom('grid', 'rows', 'whole'), fc.nat(2), fc.integer({ min: 1, max: 2 }), fc.boolean())
    .chain(([array, row, column, isTwin]) => {
      const write: Stmt = { kind: 'Write', ...element(array, row, column), value: literal(0), span }
      const left = read(array, row, column - 1)
      const names = isTwin && array === 'grid' ? ['grid', TWIN] : [array]
      const around = fc
        .tuple(
          fc.constantFrom(...names),
          fc.oneof({ weight: 9, arbitrary: fc.nat(2) }, { weight: 1, arbitrary: fc.constant(3) }),
          fc.nat(3),
        )
        .map(([name, r, c]) => read(name, r, c))
      const beside = fc
        .tuple(fc.constantFrom('other', 'tiny', 'words', 'long'), fc.nat(2), fc.nat(3))
        .map(([name, r, c]) => (name === 'other' ? read(name, r, c) : inLine(name, c)))
      const leaf = fc.oneof(
        { weight: 3, arbitrary: around },
        { weight: 3, arbitrary: beside },
        { weight: 1, arbitrary: fc.constantFrom(...SPECIAL_NUMBERS).map(literal) },
        { weight: 1, arbitrary: fc.constantFrom(key(0), key(1)) },
        { weight: 1, arbitrary: fc.constantFrom(...locals).map(local) },
      )
      const combined = (a: Expr, b: fc.Arbitrary<Expr>): fc.Arbitrary<Expr> =>
        fc.oneof(
          fc.tuple(fc.constantFrom<BinaryOperator>('+', '-', '*'), b).map(([operator, e]) => binary(operator, a, e)),
          fc
            .tuple(fc.constantFrom<Builtin>('Math.max', 'Math.min'), b)
            .map(([callee, e]): Expr => ({ kind: 'Call', callee, args: [e, a], span })),
        )
      const value = fc
        .oneof({ weight: 6, arbitrary: fc.constant(left) }, { weight: 1, arbitrary: leaf })
        .chain((first) => combined(first, leaf).chain((two) => fc.oneof(fc.constant(two), combined(two, leaf))))
      const more = fc.oneof(
        { weight: 4, arbitrary: fc.constant<readonly Stmt[]>([]) },
        { weight: 1, arbitrary: stored(['other'], leaf).map((stmt) => [stmt]) },
        {
          weight: 1,
          arbitrary: fc.tuple(leaf, leaf, stored(['other'], leaf)).map(([a, b, yes]) => [branch(binary('<', a, b), [yes], [])]),
        },
        {
          weight: 1,
          arbitrary: fc
            .tuple(fc.constantFrom(...locals), leaf)
            .map(([name, e]): Stmt[] => [{ kind: 'Assign', local: name, value: e, span }]),
        },
        { weight: 1, arbitrary: stored(names, leaf).map((stmt) => [stmt]) },
      )
      return fc.tuple(more, value, more).map(([before, e, after]) => [...before, { ...write, value: e }, ...after])
    })
}

function stored(names: readonly string[], value: fc.Arbitrary<Expr>): fc.Arbitrary<Stmt> {
  return fc
    .tuple(fc.constantFrom('Write' as const, 'Add' as const), fc.constantFrom(...names), fc.nat(2), fc.nat(3), value)
    .map(([kind, array, row, column, e]): Stmt => ({ kind, ...element(array, row, column), value: e, span }))
}

/** So many rows below the key's, and columns beside it. */
function element(array: string, row: number, column: number): { readonly array: string; readonly subscripts: readonly Expr[] } {
  return { array, subscripts: [from(key(0), row), from(key(1), column)] }
}

function read(array: string, row: number, column: number): Expr {
  return { kind: 'Read', ...element(array, row, column), span }
}

/** Of an array with one axis. */
function inLine(array: string, column: number): Expr {
  return { kind: 'Read', array, subscripts: [from(key(1), column)], span }
}

function from(of: Expr, by: number): Expr {
  return by === 0 ? of : binary('+', of, literal(by))
}
