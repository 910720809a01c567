/** Describes a loop to the cost model: by its data where that is there; before, extents that are not known are taken for a thousand. */

import { ARRAY_OF_DTYPE } from '../../core/arrays/storage.ts'
import { chainNs, turningOf } from '../../core/cost/chains.ts'
import { type CostedKernel, iterationCost, placeOf } from '../../core/cost/iterationCost.ts'
import { sampleOf } from '../../core/cost/loads.ts'
import { type CostedArray, costedType } from '../../core/cost/means.ts'
import { nominalNs } from '../../core/cost/nominal.ts'
import type { CostedLoop } from '../../core/cost/scheduleCost.ts'
import { type Expr, type FunctionIr, type Stmt, visitStmts } from '../../core/ir/functionIr.ts'
import type { LoopSpec } from '../../core/loop/loopSpec.ts'

const USUAL_EXTENT = 1000
/** Assumed iterations where only the data knows the keys. */
const USUAL_ITERATIONS = 1_000_000

/** Facts that a run knows of the iterations and the arrays, beyond what the analysis was told. */
export interface LoopData {
  readonly extents: readonly number[]
  /** Whether every key of the extents is an iteration. */
  readonly isBox: boolean
  /** The keys of iterations that are no box, a column for each axis; absent, they are taken to lie evenly and to be as many as usual. */
  readonly keys?: readonly Int32Array[]
  readonly shapeOf: (name: string) => readonly number[] | undefined
}

export function costedLoop({ over, env, options }: LoopSpec, ir: FunctionIr, data?: LoopData): CostedLoop {
  const extents = data?.extents ?? over.extents.map((extent) => extent ?? USUAL_EXTENT)
  const isBox = data === undefined ? over.kind === 'range' || over.kind === 'dense' : data.isBox
  const inBox = extents.reduce((product, extent) => product * extent, 1)
  const arrayOf = (name: string): CostedArray | undefined => costedArray(env[name], data?.shapeOf(name))
  const kernel = guessedKernel(ir, extents.length - 1, arrayOf)
  const known = new Map<number, number>()
  return {
    extents,
    isBox,
    iterations: data?.keys?.[0]?.length ?? (isBox ? inBox : Math.min(inBox, USUAL_ITERATIONS)),
    partitions: options.partitions,
    balance: options.balance,
    sample: data?.keys === undefined ? undefined : sampleOf(data.keys),
    nominalNs: nominalNs(ir, (name, axis) => arrayOf(name)?.extents[axis]),
    iterationNs: (run) => {
      const ns = known.get(run)
      if (ns !== undefined) return ns
      const cost = iterationCost({ ir, extents, isRun: isBox, run, kernel, arrayOf })
      const found = cost.ns + cost.runNs / run
      known.set(run, found)
      return found
    },
  }
}

function costedArray(binding: LoopSpec['env'][string] | undefined, known: readonly number[] | undefined): CostedArray | undefined {
  if (binding?.kind !== 'array' && binding?.kind !== 'buffer') return undefined
  const { dtype, shape, rank = 1 } = binding
  const extents = (known ?? shape ?? new Array<undefined>(rank).fill(undefined)).map((extent) => extent ?? USUAL_EXTENT)
  return {
    extents,
    ...(dtype in ARRAY_OF_DTYPE ? costedType(dtype as keyof typeof ARRAY_OF_DTYPE) : { elementBytes: 8, isInteger: false }),
  } // `in` has shown that it is a key
}

/** Guesses the kernel before it is compiled: two lanes of doubles where no iteration waits for the one before, as most bodies get. */
function guessedKernel(ir: FunctionIr, last: number, arrayOf: (name: string) => CostedArray | undefined): CostedKernel {
  const lanesOf = (stmts: readonly Stmt[], isIndex: (expr: Expr) => boolean): number =>
    chainNs(stmts, turningOf(stmts, isIndex), (name) => arrayOf(name)?.isInteger === true) === 0 ? 2 : 1
  const inner = new Map<string, number>()
  visitStmts(ir.body, (stmt) => {
    if (stmt.kind !== 'For' || stmt.counted === undefined) return
    const { local } = stmt.counted
    inner.set(
      placeOf(stmt.span),
      lanesOf(stmt.body, (expr) => expr.kind === 'Local' && expr.name === local),
    )
  })
  const lanes = inner.size > 0 ? 1 : lanesOf(ir.body, (expr) => expr.kind === 'Key' && expr.axis === last)
  return { target: 'wasm', lanes, nested: false, inner }
}
