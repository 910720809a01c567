/**
 * Any random loop, with an array that every iteration fills first and that all its results depend on:
 *
 *     a[i] = f(…)        for k < 3: s[k] = 1.5 i + … + k    s[1] = s[2] + s[0]
 *                        a[i] = f(…) + 0.3 s[k]
 *
 * The loop runs as it did, on every schedule, only if each worker has a copy of `s`; `s` has elements that nobody writes, too.
 */
import type { Expr, FunctionIr, Stmt, UserFunction } from '../../src/core/ir/functionIr.ts'
import { binary, key, literal, local, span } from './irNodes.ts'
import type { RandomArray, RandomLoop } from './loopBody.ts'
import { printFunction } from './loopSource.ts'

const IDENTITY = 77
const FILLED = 3
/** As the array stands in memory, elements lie between those that are filled. */
const SHAPE = [2, FILLED + 2] as const

/** The loop with the array `s`; results in arrays of whole numbers, which may be subscripts, stay what they are. */
export function withScratch(loop: RandomLoop): RandomLoop {
  const { spec, arrays, iterations } = loop
  const { rank } = spec.over
  const scratch: RandomArray = {
    array: IDENTITY,
    names: ['s'],
    shape: SHAPE,
    dtype: 'f64',
    values: Array.from({ length: SHAPE[0] * SHAPE[1] }, (_, i) => 100 + i),
  }
  const isFraction = (name: string) => arrays.some(({ names, dtype }) => dtype === 'f64' && names.includes(name))
  const body = [...filling(rank), ...loop.ir.body.map((stmt, at) => using(stmt, at, isFraction))]
  const uses = [...loop.ir.uses, { name: 's', kind: 'array', origin: 'env' } as const]
  const names = uses.map(({ name }) => name)
  const source = printFunction(body, rank, names, spec.over.kind !== 'range')
  const ir: FunctionIr = { ...loop.ir, body, uses }
  const closure = new Function(...ir.parameters.map(({ name }) => name), `return (${source})`)
  const original = closure(...ir.parameters.map(({ value }) => value)) as UserFunction['original']
  const binding = { kind: 'array', array: IDENTITY, dtype: 'f64', storage: 'dense', rank: 2, shape: SHAPE, label: 's' } as const
  return {
    spec: { ...spec, body: { ...spec.body, original, ir }, env: { ...spec.env, s: binding } },
    ir,
    source,
    arrays: [...arrays, scratch],
    iterations,
  }
}

/** `for (let sk = 0; sk < 3; sk++) s.set(1, sk, …)`, and then some more. */
function filling(rank: number): Stmt[] {
  const index = local('sk')
  const keys = Array.from({ length: rank }, (_, axis) => binary('*', literal(1.5 + axis), key(axis)))
  const value = keys.reduce((sum, one) => binary('+', sum, one), binary('/', index, literal(7)))
  const fill: Stmt = {
    kind: 'For',
    init: [{ kind: 'Let', local: 'sk', init: literal(0), span }],
    test: binary('<', index, literal(FILLED)),
    update: [{ kind: 'Assign', local: 'sk', value: binary('+', index, literal(1)), span }],
    body: [write([literal(1), index], value)],
    doWhile: false,
    counted: { local: 'sk', from: literal(0), to: literal(FILLED), step: 1 },
    span,
  }
  return [fill, write([literal(1), literal(1)], binary('+', read(2), read(0)))]
}

function write(subscripts: readonly Expr[], value: Expr): Stmt {
  return { kind: 'Write', array: 's', subscripts, value, span }
}

function read(place: number): Expr {
  return { kind: 'Read', array: 's', subscripts: [literal(1), literal(place)], span }
}

/** The statement with something of `s` in what it writes. */
function using(stmt: Stmt, at: number, isFraction: (name: string) => boolean): Stmt {
  const inner = (stmts: readonly Stmt[]) => stmts.map((one) => using(one, at + 1, isFraction))
  switch (stmt.kind) {
    case 'Write': {
      if (!isFraction(stmt.array)) return stmt
      return { ...stmt, value: binary('+', stmt.value, binary('*', literal(0.3), read(at % FILLED))) }
    }
    case 'If':
      // biome-ignore lint/suspicious/noThenProperty: the IR's own word
      return { ...stmt, then: inner(stmt.then), else: inner(stmt.else) }
    case 'For':
    case 'Labeled':
      return { ...stmt, body: inner(stmt.body) }
    default:
      return stmt
  }
}
