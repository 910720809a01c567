/** The parts of a sort key that kernels can read: texts, numbers and other types that are stored as numbers. */
import type { Column } from '../../../../core/data/column.ts'
import type { SortForm } from '../../../kernels/tables/sortWords.ts'
import { isTuple } from '../hashing/tupleKeys.ts'

export type SortPart =
  | { readonly kind: 'fixed'; readonly column: Column; readonly form: SortForm }
  | { readonly kind: 'text'; readonly column: Column }

/** The parts of a sort key, which has values or tuples; undefined where it has lists, or tuples that may be null: those are compared row by row. */
export function orderParts(key: Column): readonly SortPart[] | undefined {
  return isOrdered(key) ? sortParts(key) : undefined
}

function isOrdered({ type, children = [] }: Column): boolean {
  return type.kind !== 'struct' || (isTuple(type) && children.every(isOrdered))
}

/** The parts of a key that is only compared for equality, and so may have objects; undefined as for `orderParts`. */
export function sortParts(key: Column): readonly SortPart[] | undefined {
  const { type, validity, children = [] } = key
  switch (type.kind) {
    case 'struct': {
      if (validity !== undefined) return undefined
      const parts = children.map(sortParts)
      return parts.every((part) => part !== undefined) ? parts.flat() : undefined
    }
    case 'null':
    case 'unknown':
      return []
    case 'utf8':
      return [{ kind: 'text', column: key }]
    case 'list':
    case 'binary':
    case 'object':
      return undefined
    case 'bool':
      return [{ kind: 'fixed', column: key, form: 'u8' }]
    case 'date':
      return [{ kind: 'fixed', column: key, form: 'i32' }]
    case 'time':
    case 'timestamp':
      return [{ kind: 'fixed', column: key, form: 'i64' }]
    case 'f64':
    case 'f32':
    case 'i64':
    case 'u64':
    case 'i32':
    case 'u32':
    case 'i16':
    case 'u16':
    case 'i8':
    case 'u8':
      return [{ kind: 'fixed', column: key, form: type.kind }]
  }
}
