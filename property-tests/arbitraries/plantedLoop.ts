/**
 * Loops over one or two axes whose few accesses are planted at random: the data says which iterations read or write
 * which element of `w`, so that a conflict often stands alone.
 *
 *     if (what[i][j] === 1) total += w[where[i][j]]
 *     if (what[i][j] === 2) w[where[i][j]] = 7
 */
import fc from 'fast-check'
import type { Expr, FunctionIr, Stmt, UserFunction } from '../../src/core/ir/functionIr.ts'
import type { EnvBinding, LoopSpec } from '../../src/core/loop/loopSpec.ts'
import { keysOf, type RandomArray, type RandomLoop } from './loopBody.ts'
import { printFunction } from './loopSource.ts'

interface Planted {
  readonly at: number
  readonly writes: boolean
  readonly element: number
}

/** Elements of `w`: few, so that accesses meet. */
const ELEMENTS = 2

export function plantedLoop(): fc.Arbitrary<RandomLoop> {
  const planted = fc.record({
    at: fc.nat(15),
    writes: fc.constantFrom(true, false, false),
    element: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constant(ELEMENTS - 1) }),
  })
  const side = fc.integer({ min: 2, max: 4 })
  return fc
    .record({
      extents: fc.oneof({ weight: 1, arbitrary: fc.tuple(fc.integer({ min: 2, max: 8 })) }, { weight: 4, arbitrary: fc.tuple(side, side) }),
      order: fc.constantFrom<('serial' | 'any')[]>('serial', 'any'),
      accesses: fc.array(planted, { minLength: 2, maxLength: 4 }),
    })
    .map(({ extents, order, accesses }) => build(extents, order, accesses))
}

function build(extents: readonly number[], order: 'serial' | 'any', accesses: readonly Planted[]): RandomLoop {
  const iterations = keysOf(extents)
  const [what, where] = [0, 1].map(() => new Array<number>(iterations.length).fill(0)) as [number[], number[]]
  for (const { at, writes, element } of accesses) {
    const position = at % iterations.length
    what[position] = writes ? 2 : 1
    where[position] = element
  }
  const arrays: RandomArray[] = [
    { array: 1, names: ['w'], shape: [ELEMENTS], dtype: 'i32', values: [3, 5] },
    { array: 2, names: ['what'], shape: extents, dtype: 'i32', values: what },
    { array: 3, names: ['where'], shape: extents, dtype: 'i32', values: where },
  ]
  const body = bodyOf(extents.length)
  const names = ['w', 'what', 'where', 'total']
  const source = printFunction(body, extents.length, names, false)
  const uses = names.map((name) => ({
    name,
    kind: name === 'total' ? ('accumulator' as const) : ('array' as const),
    origin: 'env' as const,
  }))
  const ir: FunctionIr = { name: 'body', span, keyRank: extents.length, body, parameters: [], tables: [], uses }
  const original = new Function(`return (${source})`)() as UserFunction['original'] // the source is a function
  const env: Record<string, EnvBinding> = { total: { kind: 'accumulator', combine: 'sum' } }
  for (const { array, names: own, dtype, shape } of arrays) {
    for (const name of own) env[name] = { kind: 'array', array, dtype, storage: 'dense', rank: shape.length, shape, label: name }
  }
  const over: LoopSpec['over'] = { kind: 'range', rank: extents.length, extents, label: `range(${extents.join(', ')})` }
  const spec: LoopSpec = { body: { original, text: source, span, ir, refusals: [] }, over, env, options: { order } }
  const loop = { spec, ir, source, arrays, iterations }
  return Object.defineProperty(loop, fc.toStringMethod, {
    value: () => `\nover [${extents.join(', ')}], order ${order}, what ${what.join(' ')}, where ${where.join(' ')}\n`,
  })
}

const span = { line: 1, column: 1, text: '' }

function bodyOf(rank: number): Stmt[] {
  const key = Array.from({ length: rank }, (_, axis): Expr => ({ kind: 'Key', axis, span }))
  const read = (array: string, subscripts: readonly Expr[]): Expr => ({ kind: 'Read', array, subscripts, span })
  const number = (value: number): Expr => ({ kind: 'Literal', value, span })
  const when = (value: number, stmt: Stmt): Stmt => {
    const test: Expr = { kind: 'Binary', operator: '===', left: read('what', key), right: number(value), span }
    // biome-ignore lint/suspicious/noThenProperty: the IR's own word
    return { kind: 'If', test, then: [stmt], else: [], span }
  }
  const element = read('where', key)
  return [
    when(1, { kind: 'Accumulate', accumulator: 'total', value: read('w', [element]), span }),
    when(2, { kind: 'Write', array: 'w', subscripts: [element], value: number(7), span }),
  ]
}
