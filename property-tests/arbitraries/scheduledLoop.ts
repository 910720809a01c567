/**
 * Random loops over two axes whose bodies are made of the statements that decide schedules, so that each kind comes up
 * often, on index spaces large enough to be cut:
 *
 *     a[i] = f(a[i], b[j])    b[j] = f(b[j], a[i])    2d with order 'any', a wavefront with 'serial'
 *     g[i+1][j+1] = f(g[i][j+1], g[i+1][j])           a wavefront
 *     c[i + j] += x                                   an array that is only added to
 *     total.add(...)    if (...) throw new Error()    return value * x
 */
import fc from 'fast-check'
import type { Expr, FunctionIr, Stmt, UserFunction } from '../../src/core/ir/functionIr.ts'
import type { EnvBinding, LoopOptions, LoopSpec } from '../../src/core/loop/loopSpec.ts'
import { keysOf, type RandomArray, type RandomLoop } from './loopBody.ts'
import { printFunction } from './loopSource.ts'

export type Part = 'rows' | 'columns' | 'front' | 'own' | 'add' | 'total' | 'return' | 'value' | 'throw' | 'guard'

export interface ScheduledRaw {
  readonly extents: readonly [number, number]
  readonly over: 'range' | 'dense' | 'sparse'
  readonly order: 'serial' | 'any'
  readonly parts: readonly Part[]
  readonly seed: number
}

/** Loops that do not throw, unless asked for. */
export function scheduledLoop(options: { readonly throws?: boolean; readonly largest?: number } = {}): fc.Arbitrary<RandomLoop> {
  const largest = options.largest ?? 24
  const parts = fc.array(fc.constantFrom<Part[]>('rows', 'columns', 'front', 'own', 'add', 'total', 'return', 'guard'), {
    minLength: 1,
    maxLength: 4,
  })
  return fc
    .record({
      extents: fc.tuple(fc.integer({ min: 1, max: largest }), fc.integer({ min: 1, max: largest })),
      over: fc.constantFrom<('range' | 'dense' | 'sparse')[]>('range', 'dense', 'sparse'),
      order: fc.constantFrom<('serial' | 'any')[]>('serial', 'any'),
      parts: options.throws === true ? parts.map((list): Part[] => [...list, 'throw']) : parts,
      seed: fc.nat(),
    })
    .map(buildScheduled)
}

export const span = { line: 1, column: 1, text: '' }
export const key = (axis: number): Expr => ({ kind: 'Key', axis, span })
export const number = (value: number): Expr => ({ kind: 'Literal', value, span })
export const binary = (operator: '+' | '-' | '*' | '%' | '===' | '>', left: Expr, right: Expr): Expr => ({
  kind: 'Binary',
  operator,
  left,
  right,
  span,
})
export const read = (array: string, ...subscripts: Expr[]): Expr => ({ kind: 'Read', array, subscripts, span })
export const write = (array: string, subscripts: readonly Expr[], value: Expr): Stmt => ({ kind: 'Write', array, subscripts, value, span })
export const next = (axis: number): Expr => binary('+', key(axis), number(1))
// biome-ignore lint/suspicious/noThenProperty: the IR's own word
export const when = (test: Expr, stmt: Stmt): Stmt => ({ kind: 'If', test, then: [stmt], else: [], span })
/** 0.7 x + 0.3 y: contracting, so that values stay numbers, and rounding, so that order shows. */
export const mix = (x: Expr, y: Expr): Expr => binary('+', binary('*', number(0.7), x), binary('*', number(0.3), y))

function stmtOf(part: Part, over: 'range' | 'dense' | 'sparse', seed: number): Stmt {
  const [i, j] = [key(0), key(1)]
  switch (part) {
    case 'rows':
      return write('a', [i], mix(read('a', i), read('b', j)))
    case 'columns':
      return write('b', [j], mix(read('b', j), read('a', i)))
    case 'front':
      return write('g', [next(0), next(1)], mix(read('g', i, next(1)), mix(read('g', next(0), j), read('a', i))))
    case 'own':
      return write('g', [next(0), next(1)], mix(read('g', next(0), next(1)), read('b', j)))
    case 'add':
      return { kind: 'Add', array: 'c', subscripts: [binary('+', i, j)], value: binary('+', i, number(seed % 7)), span }
    case 'total':
      return { kind: 'Accumulate', accumulator: 'total', value: binary('*', read('a', i), read('b', j)), span }
    case 'return':
      return over === 'range'
        ? stmtOf('own', over, seed)
        : { kind: 'Return', value: mix({ kind: 'Input', argument: 0, span }, read('a', i)), span }
    case 'value':
      return over === 'range' ? stmtOf('rows', over, seed) : write('a', [i], mix(read('a', i), { kind: 'Input', argument: 0, span }))
    case 'throw': {
      const test = binary(
        '===',
        binary('%', binary('+', binary('*', i, number(1 + (seed % 13))), binary('*', j, number(1 + (seed % 7)))), number(11 + (seed % 29))),
        number(5),
      )
      return when(test, { kind: 'Throw', error: 'RangeError', message: read('b', j), span })
    }
    case 'guard':
      return when(binary('>', read('a', i), read('b', j)), { kind: 'Return', span })
  }
}

export function buildScheduled(raw: ScheduledRaw): RandomLoop {
  const { extents, over, seed } = raw
  const body = raw.parts.map((part, at) => stmtOf(part, over, seed + at))
  const random = pseudoRandom(seed)
  const values = (length: number) => Array.from({ length }, () => random() * 8)
  const dense = (array: number, name: string, shape: readonly number[], dtype: 'f64' | 'i32' = 'f64'): RandomArray => ({
    array,
    names: [name],
    shape,
    dtype,
    values: values(shape.reduce((size, extent) => size * extent, 1)),
  })
  const arrays = [
    dense(1, 'a', [extents[0]]),
    dense(2, 'b', [extents[1]]),
    dense(3, 'g', [extents[0] + 1, extents[1] + 1]),
    dense(4, 'c', [extents[0] + extents[1]], 'i32'),
  ]
  const keys = keysOf(extents).filter(() => over !== 'sparse' || random() < 0.6)
  if (over !== 'range')
    arrays.push({ array: 0, names: [], shape: extents, dtype: 'f64', values: values(keys.length), ...(over === 'sparse' ? { keys } : {}) })
  const names = ['a', 'b', 'g', 'c', 'total']
  const uses = names.map((name) => ({
    name,
    kind: name === 'total' ? ('accumulator' as const) : ('array' as const),
    origin: 'env' as const,
  }))
  const source = printFunction(body, 2, names, over !== 'range')
  const ir: FunctionIr = { name: 'body', span, keyRank: 2, body, parameters: [], tables: [], uses }
  const original = new Function(`return (${source})`)() as UserFunction['original']
  const bindings: Record<string, EnvBinding> = { total: { kind: 'accumulator', combine: 'sum' } }
  for (const { array, names: own, dtype, shape } of arrays) {
    for (const name of own) bindings[name] = { kind: 'array', array, dtype, storage: 'dense', rank: shape.length, shape, label: name }
  }
  const options: LoopOptions = { order: raw.order }
  const space: LoopSpec['over'] =
    over === 'range'
      ? { kind: 'range', rank: 2, extents, label: `range(${extents.join(', ')})` }
      : { kind: over, array: 0, element: { kind: 'scalar', type: { kind: 'f64' }, nullable: false }, rank: 2, extents, label: 'elements' }
  const spec: LoopSpec = { body: { original, text: source, span, ir, refusals: [] }, over: space, env: bindings, options }
  const loop = { spec, ir, source, arrays, iterations: keys }
  return Object.defineProperty(loop, fc.toStringMethod, {
    value: () => `\nover ${over} [${extents.join(', ')}], order ${raw.order}, seed ${seed}\n${source}\n`,
  })
}

/** Numbers in [0, 1), the same for the same seed. */
export function pseudoRandom(seed: number): () => number {
  let state = (seed ^ 0x9e3779b9) >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}
