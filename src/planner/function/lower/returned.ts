/** Infers what a lowered function returns, as far as it is certain: the element type that a map gives its array. */

import type { ElementType } from '../../../core/data/schema.ts'
import type { FunctionIr, Stmt } from '../../../core/ir/functionIr.ts'
import { visitStmts } from '../../../core/ir/functionIr.ts'
import { holdsUnknown, inferTypes, join, type TypeOf, type ValueType } from '../../../core/ir/irTypes.ts'
import { inputElement, type LowerContext } from './context.ts'

/** Returns the types of a function's expressions. */
export function typesIn(ir: FunctionIr, context: LowerContext): TypeOf {
  return inferTypes(ir.body, {
    input: (argument) => inputElement(context, argument),
    parameter: (name) => ir.parameters.find((one) => one.name === name)?.value,
    table: (name) => ir.tables.find((one) => one.name === name)?.value,
    dtype: (array) => {
      const known = context.kind === 'loop' ? context.env[array] : undefined
      return known === undefined || known.kind === 'constant' ? undefined : known.dtype
    },
  })
}

export function elementReturnedBy(ir: FunctionIr, context: LowerContext): ElementType {
  const typeOf = typesIn(ir, context)
  let result: ValueType | undefined = alwaysReturns(ir.body) ? undefined : { type: { kind: 'null' }, nullable: true }
  visitStmts(ir.body, (stmt) => {
    if (stmt.kind !== 'Return') return
    const type: ValueType =
      stmt.value === undefined
        ? { type: { kind: 'null' }, nullable: true }
        : (typeOf(stmt.value) ?? { type: { kind: 'unknown' }, nullable: true })
    result = result === undefined ? type : join(result, type)
  })
  const { type, nullable } = result ?? { type: { kind: 'unknown' }, nullable: true }
  if (holdsUnknown(type)) return { kind: 'unknown' }
  if (type.kind !== 'struct') return { kind: 'scalar', type, nullable }
  return nullable ? { kind: 'unknown' } : { kind: 'row', fields: type.fields }
}

/** Whether control never reaches the end of a list of statements. */
function alwaysReturns(stmts: readonly Stmt[]): boolean {
  const last = stmts.at(-1)
  if (last === undefined) return false
  if (last.kind === 'Return' || last.kind === 'Throw') return true
  return last.kind === 'If' && alwaysReturns(last.then) && alwaysReturns(last.else)
}
