/**
 * Random loops whose outer axes have to run in order while much inside one of their indices may run together:
 *
 *     over [t, i]       h[t + 1, i] = f(h[t, x[i]])                            a row from anywhere in the row before
 *     over [t, i, j]    g[t + 1, i, j] = f(g[t, x[i], y[j]], g[t + 1, i, j - 1])  and from neighbours in the same plane
 *     over [t, u, i]    g[t + 1, u + 1, i] = f(g[t, x[u], y[i]], g[t + 1, u, y[i]])   two axes in order
 *     over [k, i, j]    d[i, j] = f(d[i, j], d[i, k], d[k, j])                 in place, as Floyd and Warshall's
 *     counts.add(...)   total.add(...)    if (...) throw new Error()
 *
 * `x` and `y` are arrays, so that no analysis of subscripts tells where an element comes from.
 */
import fc from 'fast-check'
import type { Expr, FunctionIr, Stmt, UserFunction } from '../../src/core/ir/functionIr.ts'
import type { EnvBinding, LoopSpec } from '../../src/core/loop/loopSpec.ts'
import { keysOf, type RandomArray, type RandomLoop } from './loopBody.ts'
import { printFunction } from './loopSource.ts'

export interface RawStepped {
  readonly form: 'rows' | 'planes' | 'deep' | 'inPlace'
  readonly extents: readonly [number, number, number]
  readonly order: 'serial' | 'any'
  readonly over: 'range' | 'sparse'
  /** Neighbours read in the same step, from the element written. */
  readonly near: readonly (readonly [number, number])[]
  readonly total: boolean
  readonly counts: boolean
  readonly throws: boolean
  readonly seed: number
}

/** Neighbours are at most this far. */
const REACH = 2

/** `small`: few enough iterations to try all pairs of them. */
export function steppedLoop(options: { readonly throws?: boolean; readonly small?: boolean } = {}): fc.Arbitrary<RandomLoop> {
  const [steps, n, m] = options.small === true ? [3, 9, 4] : [7, 20, 9]
  const offset = fc.constantFrom(0, -1, -1, 1, -2, 2)
  // Along one axis at a time two neighbours leave the blocks of a plane to rows and columns.
  const along = fc.constantFrom<(readonly [number, number])[]>([-1, 0], [0, -1], [-2, 0], [0, -2])
  return fc
    .record({
      form: fc.constantFrom<RawStepped['form'][]>('rows', 'rows', 'planes', 'planes', 'deep', 'inPlace'),
      extents: fc.tuple(fc.integer({ min: 1, max: steps }), fc.integer({ min: 1, max: n }), fc.integer({ min: 1, max: m })),
      order: fc.constantFrom<RawStepped['order'][]>('serial', 'serial', 'any'),
      over: fc.constantFrom<RawStepped['over'][]>('range', 'range', 'sparse'),
      near: fc.oneof(fc.array(fc.tuple(offset, offset), { maxLength: 3 }), fc.array(along, { minLength: 2, maxLength: 4 })),
      total: fc.boolean(),
      counts: fc.boolean(),
      throws: fc.constant(options.throws === true),
      seed: fc.nat(),
    })
    .map(buildStepped)
}

const span = { line: 1, column: 1, text: '' }
const key = (axis: number): Expr => ({ kind: 'Key', axis, span })
const number = (value: number): Expr => ({ kind: 'Literal', value, span })
const binary = (operator: '+' | '*' | '%' | '===', left: Expr, right: Expr): Expr => ({ kind: 'Binary', operator, left, right, span })
const read = (array: string, ...subscripts: Expr[]): Expr => ({ kind: 'Read', array, subscripts, span })
const plus = (expr: Expr, offset: number): Expr => (offset === 0 ? expr : binary('+', expr, number(offset)))

interface Parts {
  readonly target: readonly Expr[]
  readonly reads: readonly Expr[]
  readonly shape: readonly number[]
}

/** What the array `a` is, which element of it an iteration sets and which it reads. */
function partsOf({ form, extents: [, n, m], near }: RawStepped, extents: readonly number[]): Parts {
  const [x, y] = [(axis: number) => read('x', key(axis)), (axis: number) => read('y', key(axis))]
  const steps = (extents[0] ?? 1) + 1
  switch (form) {
    case 'rows': {
      const at = (d: number) => plus(key(1), REACH + d)
      // A neighbour in the same row makes the row a chain: one row in four.
      const chained = near.filter(([d, e]) => d !== 0 && e === 2).map(([d]) => read('a', plus(key(0), 1), at(d)))
      return { target: [plus(key(0), 1), at(0)], reads: [read('a', key(0), x(1)), ...chained], shape: [steps, n + 2 * REACH] }
    }
    case 'planes': {
      const at = (d: number, e: number) => [plus(key(0), 1), plus(key(1), REACH + d), plus(key(2), REACH + e)]
      const around = near.map(([d, e]) => read('a', ...at(d, e)))
      return { target: at(0, 0), reads: [read('a', key(0), x(1), y(2)), ...around], shape: [steps, n + 2 * REACH, m + 2 * REACH] }
    }
    case 'deep': {
      const from = [read('a', plus(key(0), 1), key(1), y(2)), read('a', key(0), x(1), y(2))]
      return { target: [plus(key(0), 1), plus(key(1), 1), key(2)], reads: from, shape: [steps, n + 1, m] }
    }
    case 'inPlace': {
      const [k, i, j] = [key(0), key(1), key(2)]
      const side = Math.max(...extents)
      return { target: [i, j], reads: [read('a', i, k), read('a', k, j)], shape: [side, side] }
    }
  }
}

export function buildStepped(raw: RawStepped): RandomLoop {
  const { seed } = raw
  const extents = raw.form === 'rows' ? raw.extents.slice(0, 2) : raw.extents
  const rank = extents.length
  const { target, reads, shape } = partsOf(raw, extents)
  // Weights that are no binary fractions: the order of iterations shows in the bits.
  const value = reads.reduce<Expr>(
    (sum, one, k) => binary('+', sum, binary('*', number(0.3 / (k + 1)), one)),
    binary('*', number(0.1), read('a', ...target)),
  )
  const body: Stmt[] = [{ kind: 'Write', array: 'a', subscripts: target, value, span }]
  if (raw.counts) body.push({ kind: 'Add', array: 'counts', subscripts: [key(rank - 1)], value: plus(key(0), 1 + (seed % 5)), span })
  if (raw.total) body.push({ kind: 'Accumulate', accumulator: 'total', value: read('a', ...target), span })
  if (raw.throws) {
    const place = binary('+', binary('*', key(0), number(1 + (seed % 5))), binary('*', key(rank - 1), number(1 + (seed % 7))))
    const test = binary('===', binary('%', place, number(7 + (seed % 31))), number(5))
    // biome-ignore lint/suspicious/noThenProperty: the IR's own word
    body.push({ kind: 'If', test, then: [{ kind: 'Throw', error: 'RangeError', message: read('a', ...target), span }], else: [], span })
  }
  return loopOf(raw, body, extents, shape)
}

function loopOf(raw: RawStepped, body: readonly Stmt[], extents: readonly number[], shape: readonly number[]): RandomLoop {
  const rank = extents.length
  const scattered = (i: number, salt: number) => Math.imul(i + salt, 2654435761) >>> 8
  const keys = keysOf(extents).filter((_, i) => raw.over === 'range' || scattered(i, raw.seed) % 10 < 7)
  const values = (length: number) => Array.from({ length }, (_, i) => ((i * 7 + raw.seed) % 13) - 5)
  const dense = (array: number, name: string, own: readonly number[], contents: readonly number[], dtype: 'f64' | 'i32'): RandomArray => ({
    array,
    names: [name],
    shape: own,
    dtype,
    values: contents,
  })
  const longest = Math.max(...extents)
  const within = (axis: number, salt: number) =>
    Array.from({ length: longest }, (_, i) => scattered(i, raw.seed + salt) % (extents[axis] ?? 1))
  const arrays: RandomArray[] = [
    dense(1, 'a', shape, values(shape.reduce((size, extent) => size * extent, 1)), 'f64'),
    dense(2, 'x', [longest], within(1, 1), 'i32'),
    dense(3, 'y', [longest], within(rank - 1, 2), 'i32'),
    dense(4, 'counts', [longest], new Array<number>(longest).fill(0), 'i32'),
  ]
  if (raw.over === 'sparse') arrays.push({ array: 0, names: [], shape: extents, dtype: 'f64', values: values(keys.length), keys })
  const names = ['a', 'x', 'y', 'counts', 'total']
  const uses = names.map((name) => ({
    name,
    kind: name === 'total' ? ('accumulator' as const) : ('array' as const),
    origin: 'env' as const,
  }))
  const source = printFunction(body, rank, names, raw.over === 'sparse')
  const ir: FunctionIr = { name: 'body', span, keyRank: rank, body, parameters: [], tables: [], uses }
  const original = new Function(`return (${source})`)() as UserFunction['original']
  const env: Record<string, EnvBinding> = { total: { kind: 'accumulator', combine: 'sum' } }
  for (const { array, names: own, dtype, shape: extent } of arrays) {
    for (const name of own) env[name] = { kind: 'array', array, dtype, storage: 'dense', rank: extent.length, shape: extent, label: name }
  }
  const space: LoopSpec['over'] =
    raw.over === 'range'
      ? { kind: 'range', rank, extents, label: `range(${extents.join(', ')})` }
      : { kind: 'sparse', array: 0, element: { kind: 'scalar', type: { kind: 'f64' }, nullable: false }, rank, extents, label: 'elements' }
  const spec: LoopSpec = { body: { original, text: source, span, ir, refusals: [] }, over: space, env, options: { order: raw.order } }
  const loop = { spec, ir, source, arrays, iterations: keys }
  return Object.defineProperty(loop, fc.toStringMethod, {
    value: () => `\nover ${raw.over} [${extents.join(', ')}], order ${raw.order}, seed ${raw.seed}\n${source}\n`,
  })
}
