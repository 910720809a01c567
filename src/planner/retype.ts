/**
 * Types a node anew over other inputs than it was made for, as if its method had been called on them.
 *
 *     Filter (r) => r.p > 1        unknown           Filter (r) => r.p > 1    { p: f64 }
 *       Materialize                unknown   -->       Stored                 { p: f64 }
 *
 * What a function returns that runs as JavaScript is not known before it ran; once the array is stored it is, and with it
 * what the nodes above yield. So too what is wrong with them, which is then said as it is at the call: other columns in a
 * union, a sum of texts. But a column that a function reads and the rows have not is undefined there, as before.
 */

import type { Lowering } from '../core/engine.ts'
import { Bug } from '../core/errors.ts'
import type { UserFunction } from '../core/ir/functionIr.ts'
import { madeOf } from '../core/ir/madeFunctions.ts'
import { inputsOf, type LogicalPlan, withInputs } from '../core/plan/logicalPlan.ts'
import { traitsOf } from '../core/plan/nodeTraits.ts'
import { functionsOf } from '../core/plan/tree.ts'
import { checkBigints } from './function/bigintMixes.ts'
import { checkDates } from './function/dateMixes.ts'
import { returnedElement } from './function/userFunction.ts'

/** Returns the node over these inputs, typed by them. Throws PlanError where they do not fit it. */
export function retyped(plan: LogicalPlan, inputs: readonly LogicalPlan[]): LogicalPlan {
  if (inputs.every((input, i) => input === inputsOf(plan)[i])) return plan
  const [input, ...others] = inputs
  if (input === undefined) return plan
  return traitsOf(plan).again?.(plan, [input, ...others], loweredBefore(functionsOf(plan))) ?? withInputs(plan, inputs)
}

/** Gives out the functions as they were lowered at the call, in order, since captured values were read then; the library's are left out. */
function loweredBefore(functions: readonly UserFunction[]): Lowering {
  const rest = functions.filter(({ original }) => madeOf(original) === undefined)
  return {
    seed: 0,
    lowerRowLambda: (_, context) => {
      const next = rest.shift()
      if (next === undefined) throw new Bug('A node asks for more functions than it has.')
      if (next.ir !== undefined) checkBigints(next.ir, { kind: 'row', ...context })
      if (next.ir !== undefined) checkDates(next.ir, { kind: 'row', ...context })
      return next
    },
    returnedElement: (f, context) => returnedElement(f, { kind: 'row', ...context }),
  }
}
