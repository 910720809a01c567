/**
 * Random numbers in kernels: Philox4x32-10, as `core/arrays/random.ts` has it, inlined where a body draws, which is a statement of
 * its own (`drawsApart.ts`).
 *
 * A generator lives in locals: its key, the pass, the number of draws of this iteration, and unused numbers of the last blocks.
 */

import { PHILOX } from '../../../core/arrays/random.ts'
import { type Expr, expressionsOf, visitExpr, visitStmts } from '../../../core/ir/functionIr.ts'
import { type Code, I, OP, SATURATE } from '../../kir/instructions.ts'
import { asF64, F64, HIGHEST, NotCompiled, type Value } from '../expressions/types.ts'
import { rngNames } from '../js/loopKernelFrame.ts'
import type { Generator } from '../loops/wasmCode.ts'
import type { KernelWriter } from '../loops/wasmWriter.ts'

type Draw = Extract<Expr, { kind: 'Draw' }>

/** The multipliers of Philox as unsigned 64-bit integers. */
const [M0, M1] = PHILOX.multipliers.map((word) => BigInt(word >>> 0)) as [bigint, bigint]
const [W0, W1] = PHILOX.increments

/** The blocks that are computed at once where a body draws in a loop: rounds of one block depend on each other, not on another block's. */
const BLOCKS = 2

/** Returns the generators that the body draws from; the prologue sets their locals. */
export function generatorsOf(w: KernelWriter): ReadonlyMap<string, Generator> {
  const { ir, shape } = w.target
  const used = new Set<string>()
  visitStmts(ir.body, (stmt) => {
    for (const top of expressionsOf(stmt)) visitExpr(top, (expr) => expr.kind === 'Draw' && used.add(expr.rng))
  })
  if (used.size > 0 && shape.extents.length > 2) throw new NotCompiled('it draws random numbers, and its keys have more than two parts')
  const inLoop = new Set<string>()
  visitStmts(ir.body, (loop) => {
    if (loop.kind !== 'For') return
    visitStmts(loop.body, (stmt) => {
      if (stmt.kind === 'Let' && stmt.init?.kind === 'Draw') inLoop.add(stmt.init.rng)
    })
  })
  const found = new Map<string, Generator>()
  for (const [number, name] of rngNames(ir).entries()) {
    if (!used.has(name)) continue
    const word = (which: number): number => {
      const local = w.declare('i32')
      w.prologue.push(I.i32Const(number), I.i32Const(which), I.call(w.function('generator', ['i32', 'i32'], ['i32'])), I.localSet(local))
      return local
    }
    const spare = Array.from({ length: 2 * (inLoop.has(name) ? BLOCKS : 1) - 1 }, () => w.declare('f64'))
    found.set(name, { key: [word(0), word(1)], pass: word(2), drawn: w.declare('i32'), spare })
  }
  return found
}

/** Resets the counts of draws at the start of an iteration. */
export function drawsStart({ generators }: KernelWriter): Code {
  return [...generators.values()].flatMap(({ drawn }) => [I.i32Const(0), I.localSet(drawn)])
}

/** Compiles a draw to its value. */
export function drawn(w: KernelWriter, { rng, method, args, span }: Draw): Value {
  const generator = w.generators.get(rng)
  if (generator === undefined) throw new NotCompiled('it draws random numbers', span)
  switch (method) {
    case 'uniform':
      return { type: F64, code: uniform(w, generator) }
    case 'normal': {
      const [a, b] = [w.declare('f64'), w.declare('f64')]
      const two = [uniform(w, generator), I.localSet(a), uniform(w, generator), I.localSet(b)]
      const rest = w.emitter.called('Math.log', [{ type: F64, code: [I.f64Const(1), I.localGet(a), OP.f64Sub] }]).code
      const angle = w.emitter.imported('Math.cos', [{ type: F64, code: [I.f64Const(2 * Math.PI), I.localGet(b), OP.f64Mul] }]).code
      return { type: F64, code: [two, I.f64Const(-2), rest, OP.f64Mul, OP.f64Sqrt, angle, OP.f64Mul] }
    }
    case 'int': {
      const [below] = args.map((arg) => w.expr(arg))
      if (below === undefined) throw new NotCompiled('it draws an integer below nothing', span)
      const product = [uniform(w, generator), asF64(below), OP.f64Mul]
      const { type } = below
      if (type.kind !== 'i32' || type.low < 1 || type.high > HIGHEST) return { type: F64, code: [product, OP.f64Floor] }
      return { type: { kind: 'i32', low: 0, high: type.high - 1 }, code: [product, SATURATE.i32U] }
    }
  }
}

/** The next number in [0, 1): the first of newly computed blocks, or an unused one of the last blocks. */
function uniform(w: KernelWriter, generator: Generator): Code {
  const { spare, drawn } = generator
  const value = w.declare('f64')
  const which: Code = [I.localGet(drawn), I.i32Const(spare.length), OP.i32And] // the number of locals is one less than a power of two
  const left = spare
    .slice(0, -1)
    .reduceRight<Code>(
      (others, one, i) => [I.localGet(one), others, which, I.i32Const(i + 1), OP.i32Eq, OP.select],
      I.localGet(spare.at(-1) as number),
    ) // there is one
  return [
    ...[which, I.if(), left, I.localSet(value), OP.else, blocks(w, generator, value), OP.end],
    ...[I.localGet(drawn), I.i32Const(1), OP.i32Add, I.localSet(drawn), I.localGet(value)],
  ]
}

/** Computes blocks of four random words, two numbers each: the first of all goes to `value`, the others to the generator's spares. */
function blocks(w: KernelWriter, { key, pass, drawn, spare }: Generator, value: number): Code {
  const set = (local: number, code: Code): Code => [code, I.localSet(local)]
  const product = (local: number, factor: bigint): Code => [I.localGet(local), OP.i64ExtendI32U, I.i64Const(factor), OP.i64Mul]
  const high = (local: number): Code => [I.localGet(local), I.i64Const(32), OP.i64ShrU, OP.i32WrapI64]
  const low = (local: number): Code => [I.localGet(local), OP.i32WrapI64]
  const keyed = (local: number, by: number, round: number): Code =>
    round === 0 ? I.localGet(local) : [I.localGet(local), I.i32Const(Math.imul(by, round)), OP.i32Add]
  const component = (axis: number): Code => (w.keys[axis] === undefined ? I.i32Const(0) : I.localGet(w.keys[axis]))
  const all = Array.from({ length: (spare.length + 1) / 2 }, (_, number) => {
    const [c0, c1, c2, c3] = [0, 1, 2, 3].map(() => w.declare('i32')) as [number, number, number, number]
    return { c0, c1, c2, c3, p0: w.declare('i64'), p1: w.declare('i64'), number }
  })
  const begin = all.map(({ c0, c1, c2, c3, number }): Code => {
    const counter = [I.localGet(drawn), I.i32Const(1), OP.i32ShrU, I.i32Const(number), OP.i32Add]
    return [set(c0, component(0)), set(c1, component(1)), set(c2, counter), set(c3, I.localGet(pass))]
  })
  const rounds = Array.from({ length: PHILOX.rounds }, (_, round) =>
    all.map(({ c0, c1, c2, c3, p0, p1 }): Code => {
      const next0 = [high(p1), I.localGet(c1), OP.i32Xor, keyed(key[0], W0, round), OP.i32Xor]
      const next2 = [high(p0), I.localGet(c3), OP.i32Xor, keyed(key[1], W1, round), OP.i32Xor]
      return [
        ...[set(p0, product(c0, M0)), set(p1, product(c2, M1)), set(c0, next0), set(c2, next2)],
        ...[set(c1, low(p1)), set(c3, low(p0))],
      ]
    }),
  )
  const places = [value, ...spare]
  const numbers = all.map(({ c0, c1, c2, c3, number }): Code => {
    const [first, second] = [places[2 * number], places[2 * number + 1]] as [number, number] // two a block
    return [set(first, unit(c0, c1)), set(second, unit(c2, c3))]
  })
  return [begin, rounds, numbers]
}

/** Combines two words to a number in [0, 1), a multiple of 2^-53. */
function unit(high: number, low: number): Code {
  const upper = [I.localGet(high), I.i32Const(5), OP.i32ShrU, OP.f64ConvertI32U, I.f64Const(2 ** 26), OP.f64Mul]
  const lower = [I.localGet(low), I.i32Const(6), OP.i32ShrU, OP.f64ConvertI32U]
  return [upper, lower, OP.f64Add, I.f64Const(2 ** -53), OP.f64Mul]
}
