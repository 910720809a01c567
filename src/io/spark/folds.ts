/** Reductions of a whole array as relations, computed by the server that has it. */
import type { Batch } from '../../core/data/column.ts'
import { valueReader } from '../../core/data/columnReaders.ts'
import type { ElementType } from '../../core/data/schema.ts'
import type { Folded, FoldKind } from '../../core/engine.ts'
import { aggregate } from './aggregates.ts'
import { alias, cast } from './expressions/build.ts'
import { columnValue, isOf } from './expressions/values.ts'
import type { Relation } from './messages.ts'
import type { Translated } from './translated.ts'

export interface FoldRelation {
  readonly relation: Relation
  /** The element of the one row: the value, and the number of elements. */
  readonly element: ElementType
  of(batches: readonly Batch[]): Folded | undefined
}

/** The relation of a reduction; undefined for one of elements that are no numbers, which is computed here. */
export function foldRelation(element: ElementType, kind: FoldKind, input: Translated): FoldRelation | undefined {
  const [column] = input.columns
  const over = (expr: Parameters<typeof alias>[0]): Parameters<typeof alias>[0] => expr
  const isNumber = element.kind === 'scalar' && column !== undefined && isOf(column.field.type) === 'number'
  if (kind !== 'count' && !isNumber) return undefined
  const value = column === undefined ? undefined : columnValue(column.name, column.field.type, true)
  const counted = kind === 'count' || value === undefined ? {} : { value }
  const count = aggregate({ kind: 'count', span: undefined, over, ...counted })
  const folded = kind === 'count' || value === undefined ? count : aggregate({ kind, value, span: undefined, over })
  const field = (name: string): { readonly name: string; readonly type: { readonly kind: 'f64' }; readonly nullable: boolean } => ({
    name,
    type: { kind: 'f64' },
    nullable: true,
  })
  return {
    element: { kind: 'row', fields: [field('value'), field('count')] },
    relation: {
      aggregate: {
        input: input.relation,
        groupType: 'GROUP_TYPE_GROUPBY',
        groupingExpressions: [],
        aggregateExpressions: [alias(cast(folded, 'DOUBLE'), 'value'), alias(count, 'count')],
      },
    },
    of(batches) {
      const batch = batches.find(({ length }) => length > 0)
      const [values, counts] = batch?.columns ?? []
      if (values === undefined || counts === undefined) return undefined
      const found = valueReader(values)(0)
      return { value: typeof found === 'number' ? found : undefined, count: Number(valueReader(counts)(0)) }
    },
  }
}
