/**
 * Checks unions of arrays whose columns were not known at the call: the action refuses different columns as the call would have.
 */

import type { ColumnType, ElementType } from '../../core/data/schema.ts'
import { cannotUnite } from '../../core/plan/combinations.ts'
import { unifyElements } from '../../core/plan/elements.ts'
import type { PhysicalPlan } from '../../planner/physical/physicalPlan.ts'
import { type ExecBatch, unifyElements as elementOfAll } from './operators/batches.ts'

/** Throws PlanError where the batches of an input have other columns than those of the inputs before it. */
export function checkUnion(
  { names, inputs }: Extract<PhysicalPlan, { kind: 'UnionExec' }>,
  found: readonly (readonly ExecBatch[])[],
): void {
  let before: ElementType = { kind: 'unknown' }
  for (const [i, batches] of found.entries()) {
    const filled = batches.filter((batch) => batch.length > 0)
    // without elements the plan knows the type
    const element = filled.length === 0 ? inputs[i]?.element : elementOfAll(filled.map((batch) => batch.element))
    if (element === undefined) continue
    const both = united(before, element)
    if (both === undefined) throw cannotUnite(names, i, before, element)
    before = both
  }
}

function united(a: ElementType, b: ElementType): ElementType | undefined {
  if (a.kind === 'unknown') return b
  if (b.kind === 'unknown') return a
  if (a.kind === 'row' && b.kind === 'scalar') return withNulls(a, b)
  if (a.kind === 'scalar' && b.kind === 'row') return withNulls(b, a)
  return unifyElements(a, b)
}

/** The common type of rows and of struct values, which rows become where some are null. Undefined where they have none. */
function withNulls(row: ElementType, { type }: { readonly type: ColumnType }): ElementType | undefined {
  const other: ElementType | undefined =
    type.kind === 'null' ? row : type.kind === 'struct' ? { kind: 'row', fields: type.fields } : undefined
  const both = other === undefined ? undefined : unifyElements(row, other)
  return both?.kind === 'row' ? { kind: 'scalar', type: { kind: 'struct', fields: both.fields }, nullable: true } : undefined
}
