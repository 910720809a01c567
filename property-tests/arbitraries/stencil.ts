/**
 * Random stencils over time: loops whose dependences point back along some axis, so that the space has to be skewed.
 *
 *     over [t, i]       a[i] = f(a[i - 1], a[i + 2])                in place
 *                       h[t + 1, i] = f(h[t, i - 1], h[t, i + 1])   a row for each time
 *     over [t, i, j]    g[i, j] = f(g[i - 1, j], g[i, j + 1])       in place
 *                       (of all neighbours, or along one axis at a time: then blocks are boxes of several rows)
 *     total.add(...)    if (...) throw new Error()
 */
import fc from 'fast-check'
import type { Expr, FunctionIr, Stmt, UserFunction } from '../../src/core/ir/functionIr.ts'
import type { EnvBinding, LoopSpec } from '../../src/core/loop/loopSpec.ts'
import { keysOf, type RandomArray, type RandomLoop } from './loopBody.ts'
import { printFunction } from './loopSource.ts'

export interface RawStencil {
  readonly form: 'line' | 'history' | 'plane' | 'cross'
  readonly extents: readonly [number, number, number]
  readonly order: 'serial' | 'any'
  readonly over: 'range' | 'sparse'
  /** Where neighbours are read, from the element written. */
  readonly reads: readonly (readonly [number, number])[]
  readonly total: boolean
  readonly throws: boolean
  readonly seed: number
}

/** Neighbours are at most this far. */
const REACH = 2

export function stencil(options: { readonly throws?: boolean } = {}): fc.Arbitrary<RandomLoop> {
  const offset = fc.integer({ min: -REACH, max: REACH })
  return fc
    .record({
      form: fc.constantFrom<RawStencil['form'][]>('line', 'history', 'plane', 'cross', 'cross'),
      extents: fc.tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 30 }), fc.integer({ min: 1, max: 12 })),
      order: fc.constantFrom<RawStencil['order'][]>('serial', 'serial', 'any'),
      over: fc.constantFrom<RawStencil['over'][]>('range', 'range', 'sparse'),
      reads: fc.array(fc.tuple(offset, offset), { minLength: 1, maxLength: 4 }),
      total: fc.boolean(),
      throws: fc.constant(options.throws === true),
      seed: fc.nat(),
    })
    .map(buildStencil)
}

const span = { line: 1, column: 1, text: '' }
const key = (axis: number): Expr => ({ kind: 'Key', axis, span })
const number = (value: number): Expr => ({ kind: 'Literal', value, span })
const binary = (operator: '+' | '*' | '%' | '===', left: Expr, right: Expr): Expr => ({ kind: 'Binary', operator, left, right, span })
const read = (subscripts: Expr[]): Expr => ({ kind: 'Read', array: 'a', subscripts, span })
const plus = (expr: Expr, offset: number): Expr => (offset === 0 ? expr : binary('+', expr, number(offset)))

export function buildStencil(raw: RawStencil): RandomLoop {
  const { form, seed } = raw
  const isPlane = form === 'plane' || form === 'cross'
  const extents = isPlane ? raw.extents : raw.extents.slice(0, 2)
  const rank = extents.length
  const [n, m] = [(extents[1] ?? 1) + 2 * REACH, (extents[2] ?? 1) + 2 * REACH]
  const at = (i: number, j: number): Expr[] => {
    if (form === 'line') return [plus(key(1), REACH + i)]
    if (form === 'history') return [key(0), plus(key(1), REACH + i)]
    return [plus(key(1), REACH + i), plus(key(2), REACH + j)]
  }
  const shape = form === 'line' ? [n] : form === 'history' ? [(extents[0] ?? 1) + 1, n] : [n, m]
  // Weights that are no binary fractions: the order of iterations shows in the bits.
  const reads = form === 'cross' ? raw.reads.map(([i, j], k): readonly [number, number] => (k % 2 === 0 ? [i, 0] : [0, j])) : raw.reads
  const value = reads.reduce<Expr>(
    (sum, [i, j], k) => binary('+', sum, binary('*', number(0.3 / (k + 1)), read(at(i, j)))),
    binary('*', number(0.1), read(at(0, 0))),
  )
  const target = form === 'history' ? [plus(key(0), 1), plus(key(1), REACH)] : at(0, 0)
  const body: Stmt[] = [{ kind: 'Write', array: 'a', subscripts: target, value, span }]
  if (raw.total || form === 'cross') body.push({ kind: 'Accumulate', accumulator: 'total', value: read(target), span })
  if (raw.throws) {
    const place = binary('+', binary('*', key(0), number(1 + (seed % 5))), binary('*', key(rank - 1), number(1 + (seed % 7))))
    const test = binary('===', binary('%', place, number(7 + (seed % 31))), number(5))
    // biome-ignore lint/suspicious/noThenProperty: the IR's own word
    body.push({ kind: 'If', test, then: [{ kind: 'Throw', error: 'RangeError', message: read(target), span }], else: [], span })
  }
  return loopOf(raw, body, { extents, shape })
}

function loopOf(
  raw: RawStencil,
  body: readonly Stmt[],
  { extents, shape }: { readonly extents: readonly number[]; readonly shape: readonly number[] },
): RandomLoop {
  const rank = extents.length
  const size = shape.reduce((product, extent) => product * extent, 1)
  const keys = keysOf(extents).filter((_, i) => raw.over === 'range' || (Math.imul(i + raw.seed, 2654435761) >>> 0) % 10 < 7)
  const values = (length: number) => Array.from({ length }, (_, i) => ((i * 7 + raw.seed) % 13) - 5)
  const arrays: RandomArray[] = [{ array: 1, names: ['a'], shape, dtype: 'f64', values: values(size) }]
  if (raw.over === 'sparse') arrays.push({ array: 0, names: [], shape: extents, dtype: 'f64', values: values(keys.length), keys })
  const names = ['a', 'total']
  const uses = names.map((name) => ({ name, kind: name === 'a' ? ('array' as const) : ('accumulator' as const), origin: 'env' as const }))
  const source = printFunction(body, rank, names, raw.over === 'sparse')
  const ir: FunctionIr = { name: 'body', span, keyRank: rank, body, parameters: [], tables: [], uses }
  const original = new Function(`return (${source})`)() as UserFunction['original']
  const env: Record<string, EnvBinding> = {
    total: { kind: 'accumulator', combine: 'sum' },
    a: { kind: 'array', array: 1, dtype: 'f64', storage: 'dense', rank: shape.length, shape, label: 'a' },
  }
  const space: LoopSpec['over'] =
    raw.over === 'range'
      ? { kind: 'range', rank, extents, label: `range(${extents.join(', ')})` }
      : { kind: 'sparse', array: 0, element: { kind: 'scalar', type: { kind: 'f64' }, nullable: false }, rank, extents, label: 'elements' }
  const spec: LoopSpec = {
    body: { original, text: source, span, ir, refusals: [] },
    over: space,
    env,
    options: { order: raw.order },
  }
  const loop = { spec, ir, source, arrays, iterations: keys }
  return Object.defineProperty(loop, fc.toStringMethod, {
    value: () => `\nover ${raw.over} [${extents.join(', ')}], order ${raw.order}, seed ${raw.seed}\n${source}\n`,
  })
}
