/**
 * Replaces every element by the items the function returns for it; the result is a table. Where that is a list of a column, as in
 * `(r) => r.tags`, the items are the column of the lists' elements.
 */
import type { Batch, Column } from '../../../core/data/column.ts'
import { createBuilder } from '../../../core/data/columnBuilder.ts'
import { sliceColumn } from '../../../core/data/columnSlices.ts'
import type { ElementType } from '../../../core/data/schema.ts'
import { PlanError } from '../../../core/errors.ts'
import { rowIrOf } from '../../../core/ir/functionUse.ts'
import type { ExecFunction } from '../../../planner/physical/physicalPlan.ts'
import { conform, structBatch } from './batches.ts'
import { itemsMapped } from './items/itemsMapped.ts'
import { itemsWritten } from './items/itemsWritten.ts'
import { counting, type OpenNarrow } from './operator.ts'
import { copiedColumn, returnedValues } from './rows/rowKernel.ts'

export const flatMapExec: OpenNarrow<'FlatMapExec'> = ({ f, element }, context) =>
  counting('flatMap', context, (batch, row) => {
    const listed = listedItems(f, batch, element) ?? itemsMapped(f, batch, row, element) ?? itemsWritten(f, batch, row, element)
    if (listed !== undefined) return conform(structBatch(listed), element)
    const builder = createBuilder(element.kind === 'scalar' ? element.type : undefined)
    returnedValues(f, batch, row, (items) => {
      if (!isIterable(items))
        throw new PlanError(`flatMap: the function must return an array, as in flatMap((r) => r.tags). It returned ${String(items)}.`)
      for (const item of items) builder.append(item)
    })
    return conform(structBatch(builder.finish()), element)
  })

/** The elements of all lists of a column, where the function returns that, and they are as they would be built of values; else undefined. */
function listedItems(f: ExecFunction, batch: Batch, element: ElementType): Column | undefined {
  const ir = rowIrOf(f)
  const lists = ir && copiedColumn(ir, batch)
  const [items] = lists?.type.kind === 'list' ? (lists.children ?? []) : []
  if (lists?.offsets === undefined || lists.validity !== undefined || items === undefined || items.dictionary !== undefined)
    return undefined
  const { kind } = items.type
  // of numbers without a declared type a builder makes doubles
  const isBuiltSo = kind === 'f64' || kind === 'utf8' || kind === 'bool'
  if (!isBuiltSo || (element.kind === 'scalar' && element.type.kind !== kind)) return undefined
  return sliceColumn(items, lists.offsets[0] as number, lists.offsets[lists.length] as number) // length + 1 of them
}

function isIterable(value: unknown): value is Iterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.iterator in value
}
