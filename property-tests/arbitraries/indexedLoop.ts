/**
 * Random loops whose subscripts the data decides: through index arrays with many duplicates or none, chains of two, guards
 * from data, rows of compressed sparse matrices, and a few affine subscripts that no static schedule fits.
 *
 *     w[idx[p]] = f(w[idx[p]], v[p])          w[map[idx[p]]] = f(w[idx[p]], …)         if (flag[p] === 1) …
 *     for (e of row p) s += w[cols[e]]        w[p] = f(w[p - 4])                       if (w[idx[p]] > 2) v[map[p]] = …
 *     for (k = 0; k < 4 && flag[p + k] === 1; k++) s += v[p + k]
 *     c[idx[p]] += 1   w[c[p] % n] = …        out: { if (w[idx[p]] > 1) break out; … } (no slice; a slice that lists more)
 *
 * p is the number of the iteration: i, or i * m + j where there are two axes.
 */
import fc from 'fast-check'
import type { Expr, FunctionIr, Stmt, UserFunction } from '../../src/core/ir/functionIr.ts'
import type { EnvBinding, LoopOptions, LoopSpec } from '../../src/core/loop/loopSpec.ts'
import { keysOf, type RandomArray, type RandomLoop } from './loopBody.ts'
import { printFunction } from './loopSource.ts'

const PARTS = [
  'update',
  'chain',
  'gather',
  'guard',
  'valueGuard',
  'skip',
  'rows',
  'apart',
  'mirror',
  'jump',
  'turns',
  'scan',
  'moved',
] as const
const ENDS = ['total', 'add', 'return'] as const
type Part = (typeof PARTS)[number] | (typeof ENDS)[number] | 'throw'

export interface IndexedRaw {
  readonly extents: readonly number[]
  readonly over: 'range' | 'dense' | 'sparse'
  readonly order: 'serial' | 'any'
  readonly parts: readonly Part[]
  /** How many different values index arrays hold, as a share of the iterations in percent. */
  readonly spread: number
  readonly seed: number
}

export function indexedLoop(options: { readonly throws?: boolean } = {}): fc.Arbitrary<RandomLoop> {
  const extents = fc.oneof(
    { weight: 5, arbitrary: fc.tuple(fc.integer({ min: 1, max: 40 })) },
    { weight: 1, arbitrary: fc.tuple(fc.integer({ min: 200, max: 400 })) },
    { weight: 3, arbitrary: fc.tuple(fc.integer({ min: 1, max: 7 }), fc.integer({ min: 1, max: 7 })) },
  )
  const parts = fc.array(fc.constantFrom<Part[]>(...PARTS, ...ENDS), { minLength: 1, maxLength: 3 })
  return fc
    .record({
      extents,
      over: fc.constantFrom<('range' | 'dense' | 'sparse')[]>('range', 'range', 'dense', 'sparse'),
      order: fc.constantFrom<('serial' | 'any')[]>('serial', 'any'),
      parts: options.throws === true ? parts.map((list): Part[] => [...list, 'throw']) : parts,
      spread: fc.constantFrom(3, 20, 100, 300),
      seed: fc.nat(),
    })
    .map(buildIndexed)
}

const span = { line: 1, column: 1, text: '' }
const number = (value: number): Expr => ({ kind: 'Literal', value, span })
const local = (name: string): Expr => ({ kind: 'Local', name, span })
const read = (array: string, ...subscripts: Expr[]): Expr => ({ kind: 'Read', array, subscripts, span })
const write = (array: string, subscript: Expr, value: Expr): Stmt => ({ kind: 'Write', array, subscripts: [subscript], value, span })
const assign = (name: string, value: Expr): Stmt => ({ kind: 'Assign', local: name, value, span })
const declare = (name: string, init: Expr): Stmt => ({ kind: 'Let', local: name, init, span })
const binary = (operator: '+' | '-' | '*' | '%' | '<' | '===' | '>', left: Expr, right: Expr): Expr => ({
  kind: 'Binary',
  operator,
  left,
  right,
  span,
})
const when = (test: Expr, then: readonly Stmt[], other: readonly Stmt[] = []): Stmt => ({
  kind: 'If',
  test,
  then,
  else: other,
  span,
})
/** 0.7 x + 0.3 y: contracting, so that values stay numbers, and rounding, so that order shows. */
const mix = (x: Expr, y: Expr): Expr => binary('+', binary('*', number(0.7), x), binary('*', number(0.3), y))

function stmtsOf(part: Part, at: number, place: Expr, { over, seed, size }: IndexedRaw & { readonly size: number }): Stmt[] {
  const index = read('idx', place)
  const own = read('v', place)
  switch (part) {
    case 'update':
      return [write('w', index, mix(read('w', index), own))]
    case 'chain':
      return [write('w', read('map', index), mix(read('w', index), mix(own, read('w', read('map', place)))))]
    case 'gather':
      return [write('v', place, mix(read('w', index), read('v', read('map', index))))]
    case 'guard':
      return [
        when(
          binary('===', read('flag', place), number(1)),
          [write('w', index, mix(read('w', index), number(at)))],
          [when(binary('===', read('flag', index), number(2)), [write('v', read('map', place), mix(read('w', place), own))])],
        ),
      ]
    case 'valueGuard':
      return [
        when(
          binary('>', read('w', index), number(2)),
          [write('v', read('map', place), mix(own, read('w', index)))],
          [write('w', read('map', place), mix(read('w', index), own))],
        ),
      ]
    case 'jump': {
      const label = `out${at}`
      const leave: Stmt = { kind: 'Break', label, span }
      return [
        {
          kind: 'Labeled',
          label,
          body: [when(binary('>', read('w', index), number(1)), [leave]), write('v', read('map', place), mix(own, read('w', index)))],
          span,
        },
      ]
    }
    case 'turns': {
      const k = `k${at}`
      const next = binary('%', binary('+', place, local(k)), number(size))
      const loop: Stmt = {
        kind: 'For',
        init: [declare(k, number(0))],
        test: binary('<', local(k), number(3)),
        update: [assign(k, binary('+', local(k), number(1)))],
        body: [
          when(binary('>', read('v', read('idx', next)), number(1)), [{ kind: 'Continue', span }]),
          write('v', read('map', next), mix(read('v', next), own)),
        ],
        doWhile: false,
        counted: { local: k, from: number(0), to: number(3), step: 1 },
        span,
      }
      return [loop]
    }
    case 'scan': {
      // the last test reads an element that no turn reads
      const [sum, k] = [`s${at}`, `k${at}`]
      const next = binary('%', binary('+', place, local(k)), number(size))
      const isOpen = binary('===', read('flag', next), number(1))
      const loop: Stmt = {
        kind: 'For',
        init: [declare(k, number(0))],
        test: { kind: 'Logical', operator: '&&', left: binary('<', local(k), number(4)), right: isOpen, span },
        update: [assign(k, binary('+', local(k), number(1)))],
        body: [assign(sum, mix(local(sum), read('v', next)))],
        doWhile: false,
        span,
      }
      return [declare(sum, own), loop, write('w', place, local(sum))]
    }
    case 'moved': {
      const add: Stmt = { kind: 'Add', array: 'c', subscripts: [index], value: binary('+', read('flag', place), number(1)), span }
      return [add, write('w', binary('%', read('c', place), number(size)), mix(read('w', index), own))]
    }
    case 'skip':
      return [when(binary('===', read('flag', place), number(0)), [{ kind: 'Return', span }])]
    case 'rows': {
      const [sum, e] = [`s${at}`, `e${at}`]
      const loop: Stmt = {
        kind: 'For',
        init: [declare(e, read('row', place))],
        test: binary('<', local(e), read('row', binary('+', place, number(1)))),
        update: [assign(e, binary('+', local(e), number(1)))],
        body: [assign(sum, mix(local(sum), read('w', read('cols', local(e)))))],
        doWhile: false,
        span,
      }
      return [declare(sum, own), loop, write('w', place, local(sum))]
    }
    case 'apart': {
      const distance = 2 + (seed % 7)
      const earlier = read('w', binary('-', place, number(distance)))
      return [when(binary('>', place, number(distance - 1)), [write('w', place, mix(earlier, own))])]
    }
    case 'mirror':
      return [write('w', place, mix(read('w', binary('-', number(size - 1), place)), own))]
    case 'total':
      return [{ kind: 'Accumulate', accumulator: 'total', value: mix(own, read('w', index)), span }]
    case 'add':
      return [{ kind: 'Add', array: 'c', subscripts: [index], value: binary('+', read('flag', place), number(seed % 5)), span }]
    case 'return':
      return over === 'range'
        ? stmtsOf('gather', at, place, { over, seed, size } as IndexedRaw & { readonly size: number })
        : [{ kind: 'Return', value: mix({ kind: 'Input', argument: 0, span }, read('w', index)), span }]
    case 'throw':
      return [
        when(binary('===', binary('%', binary('+', place, number(seed % 31)), number(17 + (seed % 23))), number(5)), [
          { kind: 'Throw', error: 'RangeError', message: own, span },
        ]),
      ]
  }
}

export function buildIndexed(raw: IndexedRaw): RandomLoop {
  const { extents, over, seed } = raw
  const rank = extents.length
  const size = extents.reduce((product, extent) => product * extent, 1)
  const [i, j]: Expr[] = [
    { kind: 'Key', axis: 0, span },
    { kind: 'Key', axis: 1, span },
  ]
  const place = rank === 1 ? (i as Expr) : binary('+', binary('*', i as Expr, number(extents[1] ?? 1)), j as Expr)
  const body = raw.parts.flatMap((part, at) => stmtsOf(part, at, place, { ...raw, size }))
  const random = pseudoRandom(seed)
  const whole = (length: number, below: number): number[] => Array.from({ length }, () => Math.floor(random() * below))
  const values = (length: number): number[] => Array.from({ length }, () => random() * 4)
  const different = Math.max(1, Math.min(size, Math.ceil((size * raw.spread) / 100)))
  const starts = Array.from({ length: size + 1 }, (_, p) => p * 2)
  // Spread over more than there is, it is a permutation: a few conflicts, planted by the other arrays alone.
  const index = raw.spread > 100 ? shuffled(size, random) : whole(size, different)
  const dense = (array: number, name: string, of: readonly number[], dtype: 'f64' | 'i32'): RandomArray => ({
    array,
    names: [name],
    shape: [of.length],
    dtype,
    values: of,
  })
  const arrays = [
    dense(1, 'w', values(size), 'f64'),
    dense(2, 'v', values(size), 'f64'),
    dense(3, 'idx', index, 'i32'),
    dense(4, 'map', whole(size, size), 'i32'),
    dense(5, 'flag', whole(size, 3), 'i32'),
    dense(6, 'row', starts, 'i32'),
    dense(7, 'cols', whole(2 * size, size), 'i32'),
    dense(8, 'c', whole(size, 9), 'i32'),
  ]
  const keys = keysOf(extents).filter(() => over !== 'sparse' || random() < 0.6)
  if (over !== 'range')
    arrays.push({ array: 0, names: [], shape: extents, dtype: 'f64', values: values(keys.length), ...(over === 'sparse' ? { keys } : {}) })
  const names = [...arrays.flatMap((array) => array.names), 'total']
  const source = printFunction(body, rank, names, over !== 'range')
  const uses = names.map((name) => ({
    name,
    kind: name === 'total' ? ('accumulator' as const) : ('array' as const),
    origin: 'env' as const,
  }))
  const ir: FunctionIr = { name: 'body', span, keyRank: rank, body, parameters: [], tables: [], uses }
  const original = new Function(`return (${source})`)() as UserFunction['original'] // the source is a function
  const env: Record<string, EnvBinding> = { total: { kind: 'accumulator', combine: 'sum' } }
  for (const { array, names: own, dtype, shape } of arrays) {
    for (const name of own) env[name] = { kind: 'array', array, dtype, storage: 'dense', rank: shape.length, shape, label: name }
  }
  const options: LoopOptions = { order: raw.order }
  const space: LoopSpec['over'] =
    over === 'range'
      ? { kind: 'range', rank, extents, label: `range(${extents.join(', ')})` }
      : { kind: over, array: 0, element: { kind: 'scalar', type: { kind: 'f64' }, nullable: false }, rank, extents, label: 'elements' }
  const spec: LoopSpec = { body: { original, text: source, span, ir, refusals: [] }, over: space, env, options }
  const loop = { spec, ir, source, arrays, iterations: keys }
  return Object.defineProperty(loop, fc.toStringMethod, {
    value: () =>
      `\nover ${over} [${extents.join(', ')}], order ${raw.order}, idx ${index.join(' ')}, map ${arrays[3]?.values.join(' ')}\n${source}\n`,
  })
}

function shuffled(size: number, random: () => number): number[] {
  const order = Array.from({ length: size }, (_, k) => k)
  for (let k = size - 1; k > 0; k--) {
    const other = Math.floor(random() * (k + 1))
    const last = order[k] as number
    order[k] = order[other] as number
    order[other] = last
  }
  return order
}

/** Numbers in [0, 1), the same for the same seed. */
function pseudoRandom(seed: number): () => number {
  let state = (seed ^ 0x9e3779b9) >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}
