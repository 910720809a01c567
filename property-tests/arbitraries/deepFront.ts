/**
 * Wavefronts inside an outer axis, whose blocks do not follow one another in the serial order: a block of one process may fail at a
 * later iteration than a block of another that waits for it.
 *
 *     g[i+1][j+1][k+1] = f(g[i][j+1][k+1], g[i+1][j][k+1], g[i+1][j+1][k])    cut along j and k, with all i in each block
 *     if (i * s + j * t > limit) throw new RangeError(...)                    far down at small i, and everywhere at large i
 */
import fc from 'fast-check'
import type { FunctionIr, Stmt, UserFunction } from '../../src/core/ir/functionIr.ts'
import type { LoopSpec } from '../../src/core/loop/loopSpec.ts'
import { keysOf, type RandomArray, type RandomLoop } from './loopBody.ts'
import { printFunction } from './loopSource.ts'
import { binary, key, mix, next, number, pseudoRandom, read, span, when, write } from './scheduledLoop.ts'

interface DeepFront {
  /** The outer axis is the narrowest, so that it is not cut. */
  readonly extents: readonly [number, number, number]
  readonly steps: readonly [number, number]
  /** The row of the first failure at i = 0, as a share of all. */
  readonly share: number
  readonly seed: number
}

export function deepFront(): fc.Arbitrary<RandomLoop> {
  const side = fc.integer({ min: 8, max: 16 })
  return fc
    .record({
      extents: fc.tuple(fc.integer({ min: 2, max: 5 }), side, side),
      steps: fc.tuple(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 3 })),
      share: fc.double({ min: 0.4, max: 1.1, noNaN: true }),
      seed: fc.nat(),
    })
    .map(buildDeepFront)
}

function buildDeepFront({ extents, steps, share, seed }: DeepFront): RandomLoop {
  const [i, j, k] = [key(0), key(1), key(2)]
  const limit = Math.floor(share * extents[1] * steps[1])
  const tooFar = binary('>', binary('+', binary('*', i, number(steps[0])), binary('*', j, number(steps[1]))), number(limit))
  const own = [next(0), next(1), next(2)]
  const before = mix(read('g', i, next(1), next(2)), mix(read('g', next(0), j, next(2)), read('g', next(0), next(1), k)))
  const body: Stmt[] = [
    when(tooFar, { kind: 'Throw', error: 'RangeError', message: read('g', next(0), j, next(2)), span }),
    write('g', own, mix(read('g', ...own), before)),
  ]
  const shape = extents.map((extent) => extent + 1)
  const random = pseudoRandom(seed)
  const values = Array.from({ length: shape.reduce((size, extent) => size * extent, 1) }, () => random() * 8)
  const g: RandomArray = { array: 1, names: ['g'], shape, dtype: 'f64', values }
  const source = printFunction(body, 3, ['g'], false)
  const uses = [{ name: 'g', kind: 'array' as const, origin: 'env' as const }]
  const ir: FunctionIr = { name: 'body', span, keyRank: 3, body, parameters: [], tables: [], uses }
  const original = new Function(`return (${source})`)() as UserFunction['original']
  const spec: LoopSpec = {
    body: { original, text: source, span, ir, refusals: [] },
    over: { kind: 'range', rank: 3, extents, label: `range(${extents.join(', ')})` },
    env: { g: { kind: 'array', array: 1, dtype: 'f64', storage: 'dense', rank: 3, shape, label: 'g' } },
    options: { order: 'serial' },
  }
  const loop = { spec, ir, source, arrays: [g], iterations: keysOf(extents) }
  return Object.defineProperty(loop, fc.toStringMethod, { value: () => `\nover [${extents.join(', ')}], seed ${seed}\n${source}\n` })
}
