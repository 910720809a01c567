/** A loop as the cost model sees it before its arrays are there: extents that are not known are taken for a thousand. */
import { chainNs, turningOf } from '../../core/cost/chains.ts'
import { type CostedKernel, iterationCost, placeOf } from '../../core/cost/iterationCost.ts'
import { type CostedArray, costedType } from '../../core/cost/means.ts'
import { nominalNs } from '../../core/cost/nominal.ts'
import type { CostedLoop } from '../../core/cost/scheduleCost.ts'
import { type Expr, type FunctionIr, type Stmt, visitStmts } from '../../core/functionIr.ts'
import type { LoopSpec } from '../../core/loopSpec.ts'
import { ARRAY_OF_DTYPE } from '../../core/storage.ts'

const USUAL_EXTENT = 1000
/** Of keys that only the data knows. */
const USUAL_ITERATIONS = 1_000_000

export function costedLoop({ over, env, options }: LoopSpec, ir: FunctionIr): CostedLoop {
  const extents = over.extents.map((extent) => extent ?? USUAL_EXTENT)
  const isBox = over.kind === 'range' || over.kind === 'dense'
  const keys = extents.reduce((product, extent) => product * extent, 1)
  const arrayOf = (name: string): CostedArray | undefined => costedArray(env[name])
  const kernel = guessedKernel(ir, extents.length - 1, arrayOf)
  const known = new Map<number, number>()
  return {
    extents,
    isBox,
    iterations: isBox ? keys : Math.min(keys, USUAL_ITERATIONS),
    partitions: options.partitions,
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

function costedArray(binding: LoopSpec['env'][string] | undefined): CostedArray | undefined {
  if (binding?.kind !== 'array' && binding?.kind !== 'buffer') return undefined
  const { dtype, shape, rank = 1 } = binding
  const extents = (shape ?? new Array<undefined>(rank).fill(undefined)).map((extent) => extent ?? USUAL_EXTENT)
  return {
    extents,
    ...(dtype in ARRAY_OF_DTYPE ? costedType(dtype as keyof typeof ARRAY_OF_DTYPE) : { elementBytes: 8, isInteger: false }),
  } // just asked for
}

/** Lanes of doubles where no turn waits for the one before: what the compiler will find for most bodies. */
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
