/**
 * Facts about the statements of a body beside the elements they touch: the locals they share, and what would be seen if they ran in
 * another order.
 */

import { ARRAY_OF_DTYPE } from '../../core/arrays/storage.ts'
import {
  BUILTINS,
  type Callee,
  type Expr,
  expressionsOf,
  type FunctionIr,
  type Stmt,
  visitExpr,
  visitStmts,
} from '../../core/ir/functionIr.ts'
import type { LoopSpec } from '../../core/loop/loopSpec.ts'

/** Facts about a statement of a body and all that is nested in it. */
export interface StatementFacts {
  /** Locals that the statement gives values. */
  readonly defines: ReadonlySet<string>
  /** Locals that the statement reads or gives values. */
  readonly locals: ReadonlySet<string>
  /** Names in the body of arrays, accumulators, generators and tables that the statement uses. */
  readonly names: ReadonlySet<string>
  readonly accumulators: ReadonlySet<string>
  readonly draws: boolean
  /** Whether the statement may fail by itself; accesses outside of their arrays are not counted. */
  readonly throws: boolean
  readonly hasLoop: boolean
  /** Whether the statement leaves anything behind after the iteration. */
  readonly hasEffect: boolean
}

export function factsOf(stmt: Stmt): StatementFacts {
  const [defines, locals, names, accumulators] = [new Set<string>(), new Set<string>(), new Set<string>(), new Set<string>()]
  let [draws, throws, hasLoop, hasEffect] = [false, false, false, false]
  const expression = (expr: Expr) => {
    if (expr.kind === 'Local') locals.add(expr.name)
    if (expr.kind === 'Read' || expr.kind === 'Has' || expr.kind === 'Extent') names.add(expr.array)
    if (expr.kind === 'Lookup' || expr.kind === 'LookupLength') names.add(expr.table)
    if (expr.kind !== 'Draw') return
    names.add(expr.rng)
    draws = true
    if (expr.method === 'int') throws = true
  }
  visitStmts([stmt], (one) => {
    for (const expr of expressionsOf(one)) visitExpr(expr, expression)
    switch (one.kind) {
      case 'Let':
      case 'Assign':
        defines.add(one.local)
        return
      case 'Write':
      case 'Add':
        names.add(one.array)
        hasEffect = true
        return
      case 'Accumulate':
        names.add(one.accumulator)
        accumulators.add(one.accumulator)
        hasEffect = true
        return
      case 'Throw':
        throws = true
        return
      case 'For':
        hasLoop = true
        if (one.counted !== undefined) for (const expr of [one.counted.from, one.counted.to]) visitExpr(expr, expression)
        return
      case 'If':
      case 'Labeled':
      case 'Break':
      case 'Continue':
      case 'Return':
      case 'Evaluate':
        return
    }
  })
  for (const local of defines) locals.add(local)
  return { defines, locals, names, accumulators, draws, throws, hasLoop, hasEffect }
}

/**
 * Whether a body may be split at all: it has no `return`, computes with numbers and truth values only, so that only `throw` and accesses
 * outside of their arrays fail, and it changes nothing but dense arrays and accumulators of the library's own kinds.
 */
export function isDivisible(spec: LoopSpec, ir: FunctionIr, writtenArrays: ReadonlySet<number>): boolean {
  let returns = false
  visitStmts(ir.body, (stmt) => {
    if (stmt.kind === 'Return') returns = true
  })
  return !returns && isPlain(spec, ir, writtenArrays)
}

/** Whether a body meets the conditions of `isDivisible`, except that it may return before its end. */
export function isPlain(spec: LoopSpec, ir: FunctionIr, writtenArrays: ReadonlySet<number>): boolean {
  if (spec.over.array !== undefined && writtenArrays.has(spec.over.array)) return false
  if (!ir.uses.every(({ name }) => isPlainName(spec, name, writtenArrays))) return false
  if (!ir.parameters.every(({ value }) => typeof value === 'number' || typeof value === 'boolean')) return false
  if (!ir.tables.every(({ value }) => ArrayBuffer.isView(value) && !(value instanceof BigInt64Array) && !(value instanceof BigUint64Array)))
    return false
  let divisible = true
  visitStmts(ir.body, (stmt) => {
    // The statement fails whatever the message is.
    if (stmt.kind === 'Throw') return
    for (const expr of expressionsOf(stmt)) {
      visitExpr(expr, (one) => {
        if (!isNumeric(spec, one)) divisible = false
      })
    }
  })
  return divisible
}

function isPlainName(spec: LoopSpec, name: string, writtenArrays: ReadonlySet<number>): boolean {
  const binding = spec.env[name]
  switch (binding?.kind) {
    case 'array': {
      const isNumber = binding.dtype in ARRAY_OF_DTYPE && binding.dtype !== 'i64'
      return isNumber && (binding.storage === 'dense' || (binding.storage === 'table' && !writtenArrays.has(binding.array)))
    }
    case 'accumulator':
      return binding.combine !== 'custom'
    case 'rng':
      return true
    case 'buffer':
    case undefined:
      return false
  }
}

/** Functions that never fail, and give a number or truth value for every number. */
const TOTAL: ReadonlySet<Callee> = new Set(
  BUILTINS.filter(
    (name) => name.startsWith('Math.') || ['Number', 'Boolean', 'isNaN', 'isFinite'].includes(name) || /^Number\.is/.test(name),
  ),
)

/** Whether an expression with numbers and truth values as operands is one too and cannot fail; operands are asked about by themselves. */
function isNumeric(spec: LoopSpec, expr: Expr): boolean {
  switch (expr.kind) {
    case 'Literal':
      return expr.value === undefined || typeof expr.value === 'number' || typeof expr.value === 'boolean'
    case 'Input':
      return spec.over.element?.kind === 'scalar' && spec.over.element.type.kind in ARRAY_OF_DTYPE && spec.over.element.type.kind !== 'i64'
    case 'Call':
      return TOTAL.has(expr.callee)
    case 'Unary':
      return expr.operator !== 'typeof'
    case 'Local':
    case 'Parameter':
    case 'Key':
    case 'Binary':
    case 'Logical':
    case 'Conditional':
    case 'Read':
    case 'Extent':
    case 'Lookup':
    case 'LookupLength':
    case 'Draw':
      return true
    case 'Field':
    case 'MethodCall':
    case 'OfList':
    case 'Matches':
    case 'Has':
    case 'Find':
    case 'ArrayLiteral':
    case 'ObjectLiteral':
      return false
  }
}
