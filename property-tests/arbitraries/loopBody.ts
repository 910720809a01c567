/**
 * Random loops over small index spaces: the IR, the same loop as JavaScript source, and the data.
 *
 * A loop is drawn as a tree of small choices and then built, so that it shrinks well. What it can hold: one to four
 * axes; several arrays, some under two names, some of unknown shape; subscripts affine in loop indices, inner indices
 * and locals (`3 * i - k + 1`, `c - i` with c captured), clamped or chosen by a condition, and others (`i % 3`, `i * j`,
 * values read from an index array); tests, also of a number for not being 0; sets, adds, accumulators, returned values; `if`, counted loops, labeled blocks, early
 * returns, `break` and `continue`.
 *
 *     randomLoop()                    anything; subscripts may leave the arrays
 *     randomLoop({ inside: true })    no access leaves its array: for running in earnest
 *     randomLoop({ scratch: true })   with an array that iterations fill and read again
 *     randomLoop({ exact: true })     only what the dependence test claims to decide exactly
 */
import fc from 'fast-check'
import type { Expr, FunctionIr, Stmt, UserFunction } from '../../src/core/ir/functionIr.ts'
import type { EnvBinding, LoopOptions, LoopSpec } from '../../src/core/loop/loopSpec.ts'
import { LoopBuilder } from './loopBuilder.ts'
import { printFunction } from './loopSource.ts'
import { WHOLE_OPERATIONS, type WholeOperation } from './wholeOperation.ts'

/** An array of a random loop, with its values in row-major order. */
export interface RandomArray {
  readonly array: number
  /** Its names in `env`: two when it is aliased, none when it is only iterated over. */
  readonly names: readonly string[]
  readonly shape: readonly number[]
  readonly dtype: 'f64' | 'i32'
  readonly values: readonly number[]
  /** For a sparse array: the keys that are present, sorted; `values` has one for each. */
  readonly keys?: readonly (readonly number[])[]
}

export interface RandomLoop {
  readonly spec: LoopSpec
  readonly ir: FunctionIr
  /** The body as an arrow function, `([i, j], { a, b }) => { … }` or `(value, [i, j], { a, b }) => { … }`. */
  readonly source: string
  readonly arrays: readonly RandomArray[]
  /** The keys of all iterations, in key order. */
  readonly iterations: readonly (readonly number[])[]
}

export interface LoopShape {
  readonly inside?: boolean
  readonly exact?: boolean
  /** Whether the values of the index array `x` differ, and the loop says so with `assume.distinct`. */
  readonly distinct?: boolean
  /** Whether loops over sparse arrays are drawn. Default: true. */
  readonly sparse?: boolean
  /** Whether there is an array `s` that bodies fill and read again. Default: false. */
  readonly scratch?: boolean
}

// ------------------------------------------------------------------ the tree of choices

/** A whole number inside the body. `pick`s are taken modulo what there is to choose from. */
export type RawIndex =
  | { readonly kind: 'key'; readonly pick: number; readonly offset: number }
  | { readonly kind: 'constant'; readonly offset: number }
  | { readonly kind: 'local'; readonly pick: number; readonly offset: number }
  /** A multiple of a loop index plus a multiple of another or of a local. */
  | { readonly kind: 'affine'; readonly pick: number; readonly other: number; readonly factors: readonly number[]; readonly offset: number }
  /** A captured number, less an index where there is a factor. */
  | { readonly kind: 'captured'; readonly pick: number; readonly factor: number; readonly offset: number }
  | { readonly kind: 'clamp'; readonly end: 'min' | 'max'; readonly left: RawIndex; readonly right: RawIndex }
  | { readonly kind: 'choice'; readonly test: RawTest; readonly whenTrue: RawIndex; readonly whenFalse: RawIndex }
  /** A quotient, a remainder or bits of a loop index, or of the difference of two; a product of two is not affine. */
  | {
      readonly kind: 'odd'
      readonly how: WholeOperation
      readonly by: number
      readonly signed: boolean
      readonly pick: number
      readonly offset: number
    }
  | { readonly kind: 'data'; readonly pick: number; readonly offset: number }
  | { readonly kind: 'extent'; readonly pick: number; readonly offset: number }

export interface RawAccess {
  readonly array: number
  readonly subscripts: readonly RawIndex[]
}
export interface RawValue {
  readonly reads: readonly RawAccess[]
  readonly constant: number
  readonly input: boolean
}
export type RawTest = {
  readonly left: RawIndex
  readonly operator: '<' | '<=' | '>' | '>=' | '===' | '!=='
  readonly right: RawIndex
  readonly not: boolean
  /** Whether `left` alone is the test: that it is not 0. */
  readonly bare?: boolean
  /** A read instead of `left`: only the data can tell. */
  readonly data?: RawAccess
  readonly also?: { readonly operator: '&&' | '||'; readonly left: RawIndex; readonly right: RawIndex }
}
export type RawStmt =
  | { readonly kind: 'set'; readonly to: RawAccess; readonly value: RawValue; readonly update: boolean }
  | { readonly kind: 'add'; readonly to: RawAccess; readonly value: RawValue }
  | { readonly kind: 'accumulate'; readonly value: RawValue }
  | { readonly kind: 'const'; readonly value: RawIndex }
  | { readonly kind: 'mutable'; readonly value: RawIndex }
  | { readonly kind: 'assign'; readonly pick: number; readonly value: RawIndex }
  /** A local that starts at one value and may have another: after an `if`, or from the second turn of a loop on. */
  | {
      readonly kind: 'drift'
      readonly value: RawIndex
      readonly next: RawIndex
      readonly by: 'if' | 'for'
      readonly test: RawTest
      readonly body: readonly RawStmt[]
    }
  | { readonly kind: 'if'; readonly test: RawTest; readonly whenTrue: readonly RawStmt[]; readonly whenFalse: readonly RawStmt[] }
  | {
      readonly kind: 'for'
      readonly from: RawIndex
      readonly to: RawIndex
      readonly step: number
      /** The test has the last value, `k <= to - 1`. */
      readonly inclusive: boolean
      readonly body: readonly RawStmt[]
    }
  | { readonly kind: 'labeled'; readonly body: readonly RawStmt[] }
  | RawScratch
  | { readonly kind: 'leave'; readonly how: 'break' | 'continue' | 'return' | 'element'; readonly value: RawValue }

/** Fills `s`, or a part of it, and reads it: behind the loops that fill it, in the innermost of them, or before them. */
export interface RawScratch {
  readonly kind: 'scratch'
  /** For each axis: all of it, what is left when some is cut off at both ends, or one element. */
  readonly spread: readonly ('all' | 'some' | 'one')[]
  readonly cut: readonly [number, number]
  readonly at: readonly RawIndex[]
  readonly when?: RawTest
  readonly value: RawValue
  readonly reads: 'behind' | 'inside' | 'before'
  readonly to: RawAccess
  readonly from: readonly RawIndex[]
}

export interface RawLoop {
  readonly extents: readonly number[]
  readonly over: 'range' | 'dense' | 'sparse'
  readonly order: 'serial' | 'any'
  readonly ranks: readonly number[]
  readonly room: number
  readonly alias: boolean
  /** Whether the analysis knows no shapes but that of the iteration space. */
  readonly open: boolean
  /** The numbers that the body captures. */
  readonly captured: readonly number[]
  /** How far each axis of an array goes by one loop index, as in stencils and factorizations; otherwise any index may stand anywhere. */
  readonly aligned: 'no' | 'mostly' | 'always'
  /** Whether a loop over an array ends with `return value`. */
  readonly returns?: RawValue
  readonly seed: number
  readonly body: readonly RawStmt[]
}

/** Extents of the index space: small, so that all pairs of iterations can be tried. */
const LARGEST_EXTENT = { 1: 9, 2: 4, 3: 3, 4: 2 } as const

function rawIndex(shape: LoopShape): fc.Arbitrary<RawIndex> {
  const pick = fc.nat(5)
  // Inside arrays with room, offsets from 0 keep subscripts legal; otherwise both signs are of interest.
  const offset = shape.inside === true ? fc.oneof(fc.constant(1), fc.nat(3)) : fc.oneof(fc.constant(0), fc.integer({ min: -2, max: 2 }))
  const affine = [
    { weight: 8, arbitrary: fc.record({ kind: fc.constant('key' as const), pick, offset }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('local' as const), pick, offset }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('constant' as const), offset: fc.nat(3) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('extent' as const), pick, offset: fc.integer({ min: -3, max: -1 }) }) },
  ] as const
  const factor = fc.integer({ min: -3, max: 3 })
  const sums = [
    {
      weight: 4,
      arbitrary: fc.record({ kind: fc.constant('affine' as const), pick, other: fc.nat(9), factors: fc.tuple(factor, factor), offset }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constant('captured' as const), pick, factor: fc.constantFrom(0, -1, -1, 2), offset }),
    },
  ] as const
  const odd = (operations: readonly WholeOperation[], signed: fc.Arbitrary<boolean>) =>
    fc.record({
      kind: fc.constant('odd' as const),
      how: fc.constantFrom(...operations),
      by: fc.integer({ min: 1, max: 5 }),
      signed,
      pick,
      offset,
    })
  if (shape.exact === true) {
    return fc.oneof(...affine, ...sums, { weight: 2, arbitrary: odd(['%', '>>', '&', 'floor', 'trunc', 'ceil'], fc.constant(false)) })
  }
  const simple: fc.Arbitrary<RawIndex> = fc.oneof(...affine, ...sums)
  const operator = fc.constantFrom<RawTest['operator'][]>('<', '<=', '>', '>=', '===', '!==')
  return fc.oneof(
    ...affine,
    ...sums,
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('clamp' as const),
        end: fc.constantFrom('min' as const, 'max' as const),
        left: simple,
        right: simple,
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('choice' as const),
        test: fc.record({ left: simple, operator, right: simple, not: fc.boolean() }),
        whenTrue: simple,
        whenFalse: simple,
      }),
    },
    { weight: 4, arbitrary: odd(WHOLE_OPERATIONS, fc.boolean()) },
    { weight: shape.distinct === true ? 14 : 1, arbitrary: fc.record({ kind: fc.constant('data' as const), pick, offset }) },
  )
}

function rawAccess(shape: LoopShape): fc.Arbitrary<RawAccess> {
  const index = rawIndex(shape)
  return fc.record({ array: fc.nat(7), subscripts: fc.tuple(index, index, index) })
}

function rawValue(shape: LoopShape): fc.Arbitrary<RawValue> {
  return fc.record({ reads: fc.array(rawAccess(shape), { maxLength: 2 }), constant: fc.nat(3), input: fc.boolean() })
}

function rawStatements(shape: LoopShape): fc.Arbitrary<readonly RawStmt[]> {
  const index = rawIndex(shape)
  const access = rawAccess(shape)
  const value = rawValue(shape)
  const comparison = fc.constantFrom<RawTest['operator'][]>(
    ...(shape.exact === true ? (['<', '<=', '>', '>=', '==='] as const) : (['<', '<=', '>', '>=', '===', '!=='] as const)),
  )
  const test: fc.Arbitrary<RawTest> =
    shape.exact === true
      ? fc.record({ left: index, operator: comparison, right: index, not: fc.constant(false) })
      : fc.record(
          {
            left: index,
            operator: comparison,
            right: index,
            not: fc.boolean(),
            bare: fc.boolean(),
            data: access,
            also: fc.record({ operator: fc.constantFrom('&&' as const, '||' as const), left: index, right: index }),
          },
          { requiredKeys: ['left', 'operator', 'right', 'not'] },
        )
  const { body } = fc.letrec<{ stmt: RawStmt; body: readonly RawStmt[] }>((tie) => {
    const nested = fc.array(tie('stmt'), { maxLength: 2, depthIdentifier: 'loop body' })
    const plain = [
      { weight: 6, arbitrary: fc.record({ kind: fc.constant('set' as const), to: access, value, update: fc.boolean() }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('add' as const), to: access, value }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('accumulate' as const), value }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('const' as const), value: index }) },
    ] as const
    const step = fc.constantFrom(1, 1, 1, -1, 2, -2, 3)
    const compound = [
      {
        weight: 3,
        arbitrary: fc.record({ kind: fc.constant('for' as const), from: index, to: index, step, inclusive: fc.boolean(), body: nested }),
      },
      {
        weight: 2,
        arbitrary: fc.record({
          kind: fc.constant('if' as const),
          test,
          whenTrue: nested,
          whenFalse: nested,
        }),
      },
    ] as const
    const by = fc.constantFrom('if' as const, 'for' as const)
    const wild = [
      { weight: 3, arbitrary: fc.record({ kind: fc.constant('drift' as const), value: index, next: index, by, test, body: nested }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('mutable' as const), value: index }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('assign' as const), pick: fc.nat(3), value: index }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('labeled' as const), body: nested }) },
      {
        weight: 1,
        arbitrary: fc.record({
          kind: fc.constant('leave' as const),
          how: fc.constantFrom('break' as const, 'continue' as const, 'return' as const, 'element' as const),
          value,
        }),
      },
    ] as const
    const scratch = {
      weight: 12,
      arbitrary: fc.record(
        {
          kind: fc.constant('scratch' as const),
          spread: fc.array(fc.constantFrom<RawScratch['spread'][number][]>('all', 'all', 'all', 'some', 'one'), {
            minLength: 2,
            maxLength: 2,
          }),
          cut: fc.tuple(fc.nat(1), fc.nat(1)),
          at: fc.tuple(index, index),
          when: test,
          value,
          reads: fc.constantFrom<RawScratch['reads'][]>('behind', 'behind', 'behind', 'inside', 'before'),
          to: access,
          from: fc.tuple(index, index),
        },
        { requiredKeys: ['kind', 'spread', 'cut', 'at', 'value', 'reads', 'to', 'from'] },
      ),
    }
    const usual = shape.exact === true ? [...plain, ...compound] : [...plain, ...compound, ...wild]
    const all = shape.scratch === true ? [...usual, scratch] : usual
    const any = fc.array(tie('stmt'), { minLength: 1, maxLength: 4, depthIdentifier: 'loop body' })
    // Where other statements stand in the way, nothing is gained by copies.
    const alone = fc.tuple(scratch.arbitrary as fc.Arbitrary<RawStmt>)
    return {
      stmt: fc.oneof({ depthSize: 'small', maxDepth: 3, depthIdentifier: 'loop body' }, ...all) as fc.Arbitrary<RawStmt>,
      body: shape.scratch === true ? fc.oneof({ weight: 1, arbitrary: any }, { weight: 1, arbitrary: alone }) : any,
    }
  })
  return body
}

/** The choices a random loop is built from. */
export function rawLoop(shape: LoopShape = {}): fc.Arbitrary<RawLoop> {
  const spaces =
    shape.exact === true
      ? (['range', 'dense'] as const)
      : shape.sparse === false
        ? (['range', 'range', 'dense'] as const)
        : (['range', 'range', 'dense', 'sparse'] as const)
  const extents = fc
    .constantFrom(1 as const, 2 as const, 2 as const, 2 as const, 3 as const, 3 as const, 4 as const)
    .chain((rank) =>
      fc.array(
        fc.oneof({ weight: 1, arbitrary: fc.constant(1) }, { weight: 9, arbitrary: fc.integer({ min: 2, max: LARGEST_EXTENT[rank] }) }),
        { minLength: rank, maxLength: rank },
      ),
    )
  const required = fc.record({
    extents,
    over: fc.constantFrom<('range' | 'dense' | 'sparse')[]>(...spaces),
    order: fc.constantFrom<('serial' | 'any')[]>('serial', 'any'),
    ranks: fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 3 }),
    room: fc.integer({ min: -1, max: 2 }),
    alias: fc.boolean(),
    open: shape.exact === true ? fc.constant(false) : fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, fc.boolean()),
    captured: fc.array(fc.integer({ min: -1, max: 9 }), { minLength: 2, maxLength: 2 }),
    aligned: fc.constantFrom<('no' | 'mostly' | 'always')[]>('no', 'mostly', 'always'),
    seed: fc.nat(),
    body: rawStatements(shape),
  })
  return fc
    .tuple(required, fc.option(rawValue(shape), { nil: undefined }))
    .map(([raw, returns]) => (returns === undefined ? raw : { ...raw, returns }))
}

/** Random loops, built; `JSON.stringify(loop.source)` and the arrays say all there is to know of one. */
export function randomLoop(shape: LoopShape = {}): fc.Arbitrary<RandomLoop> {
  return rawLoop(shape).map((raw) => buildLoop(raw, shape))
}

/** Builds the loop of a tree of choices. */
export function buildLoop(raw: RawLoop, shape: LoopShape = {}): RandomLoop {
  const arrays = arraysOf(raw, shape)
  const iterated = raw.over === 'range' ? undefined : arrays[0]
  const bindings = bindingsOf(arrays, raw.open)
  const builder = new LoopBuilder(raw, arrays, bindings, { inside: shape.inside === true })
  const body = builder.body()
  const rank = raw.extents.length
  const names = new Set(namesIn(body))
  const uses = Object.entries(bindings)
    .filter(([name]) => names.has(name))
    .map(([name, binding]) => ({ name, kind: binding.kind, origin: 'env' as const }))
  const source = printFunction(body, rank, [...names], iterated !== undefined)
  const span = { line: 1, column: 1, text: source.replaceAll(/\s+/g, ' ') }
  const parameters = raw.captured.map((value, at) => ({ name: `c${at}`, value, origin: 'capture' as const }))
  const ir: FunctionIr = { name: 'body', span, keyRank: rank, body, parameters, tables: [], uses }
  const closure = new Function(...parameters.map(({ name }) => name), `return (${source})`)
  const original = closure(...raw.captured) as UserFunction['original']
  const userFunction: UserFunction = { original, text: span.text, span, ir, refusals: [] }
  const options: LoopOptions = { order: raw.order, ...(shape.distinct === true ? { assume: { distinct: ['x'] } } : {}) }
  const over: LoopSpec['over'] =
    iterated === undefined
      ? { kind: 'range', rank, extents: raw.extents, label: `range(${raw.extents.join(', ')})` }
      : {
          kind: raw.over,
          array: iterated.array,
          element: { kind: 'scalar', type: { kind: iterated.dtype }, nullable: false },
          rank,
          extents: raw.extents,
          label: iterated.names[0] ?? 'iterated',
        }
  const iterations = iterated?.keys ?? keysOf(raw.extents)
  const loop = { spec: { body: userFunction, over, env: bindings, options }, ir, source, arrays, iterations }
  return Object.defineProperty(loop, fc.toStringMethod, { value: () => loopText(loop) })
}

/** What fast-check prints of a counterexample. */
function loopText({ spec, ir, source, arrays }: RandomLoop): string {
  const lines = arrays.map(
    ({ names, dtype, shape, values }) =>
      `${names.join(' = ') || 'the iterated array'}: ${dtype}[${shape.join(', ')}] of ${values.join(' ')}`,
  )
  const captured = ir.parameters.map(({ name, value }) => `${name} = ${String(value)}`).join(', ')
  return `\n${captured}\nover ${spec.over.kind} [${spec.over.extents.join(', ')}], order ${spec.options.order}\n${lines.join('\n')}\n${source}\n`
}

/** Array 0 is iterated over where the space is an array; then the arrays to write, then the read-only index array `x`. */
function arraysOf(raw: RawLoop, shape: LoopShape): RandomArray[] {
  const side = Math.max(...raw.extents)
  const extent = shape.inside === true ? side + 4 : Math.max(1, side + raw.room)
  const random = pseudoRandom(raw.seed)
  const dense = (array: number, names: readonly string[], shapeOf: readonly number[], value: () => number): RandomArray => ({
    array,
    names,
    shape: shapeOf,
    dtype: array % 2 === 0 ? 'f64' : 'i32',
    values: Array.from({ length: shapeOf.reduce((n, e) => n * e, 1) }, value),
  })
  const small = () => random(5)
  const iterated: RandomArray[] = []
  if (raw.over === 'dense') iterated.push(dense(0, raw.alias ? ['v'] : [], raw.extents, small))
  if (raw.over === 'sparse') {
    const keys = keysOf(raw.extents).filter(() => random(3) > 0)
    iterated.push({ array: 0, names: [], shape: raw.extents, dtype: 'f64', values: keys.map(small), keys })
  }
  const length = 2 + (raw.seed % 3)
  const scratch = shape.scratch === true ? [dense(8, ['s'], raw.seed % 5 === 0 ? [2, length] : [length], small)] : []
  const named = raw.ranks.map((rank, i) => {
    const name = ['a', 'b', 'c'][i] ?? 'd'
    return dense(i + 1, raw.alias && i === 0 ? [name, `${name}2`] : [name], new Array<number>(rank).fill(extent), small)
  })
  const draw = shape.distinct === true ? permutation(extent, random) : () => random(side)
  const index = { ...dense(9, ['x'], [extent], draw), dtype: 'i32' as const }
  return [...iterated, ...named, ...scratch, index]
}

function bindingsOf(arrays: readonly RandomArray[], open: boolean): Record<string, EnvBinding> {
  const named = arrays.flatMap(({ array, names, dtype, shape }) =>
    names.map((name) => {
      const known = open ? shape.map(() => undefined) : shape
      return [name, { kind: 'array', array, dtype, storage: 'dense', rank: shape.length, shape: known, label: name }] as const
    }),
  )
  return { ...Object.fromEntries(named), total: { kind: 'accumulator', combine: 'sum' } }
}

/** All keys of a box, in key order. */
export function keysOf(extents: readonly number[]): number[][] {
  return extents.reduce<number[][]>((keys, extent) => keys.flatMap((key) => Array.from({ length: extent }, (_, k) => [...key, k])), [[]])
}

/** Whole numbers from 0 to below - 1, the same for the same seed. */
function pseudoRandom(seed: number): (below: number) => number {
  let state = (seed ^ 0x9e3779b9) >>> 0
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** Each of the numbers from 0 to size - 1 once, in random order, one a call. */
function permutation(size: number, random: (below: number) => number): () => number {
  const left = Array.from({ length: size }, (_, k) => k)
  return () => left.splice(random(left.length), 1)[0] ?? 0
}

/** Names of arrays and accumulators that statements use. */
function namesIn(node: readonly Stmt[] | Stmt | Expr): string[] {
  const names: string[] = []
  JSON.stringify(node, (key, value: unknown) => {
    if ((key === 'array' || key === 'accumulator') && typeof value === 'string') names.push(value)
    return key === 'span' ? undefined : value
  })
  return [...new Set(names)]
}
