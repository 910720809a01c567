/** Where Bloom filters and page indexes of columns lie, and how values of columns are hashed. */
import type { ColumnType } from '../../../core/data/schema.ts'
import type { Range } from '../../bytes/rangeReads.ts'
import type { IndexedChunk } from '../pageIndex/pageIndex.ts'
import type { BoundsForm } from '../statistics.ts'

/** What tells of a column of a row group where values are not. */
export interface ColumnFilters {
  readonly bloom?: FilterPlace
  readonly index?: IndexPlace
}

/** The page index of a column of a row group. */
export interface IndexPlace {
  readonly pagesAt: Range
  readonly boundsAt: Range
  readonly form: BoundsForm
  readonly chunk: IndexedChunk
}

/** The filter of a column of a row group: where its header begins, and how values are stored. */
export interface FilterPlace {
  readonly at: number
  readonly form: FilterForm
}

export type FilterForm = 'text' | 'i32' | 'u32' | 'i64' | 'u64' | 'f32' | 'f64'

/** Parquet's physical types whose values filters are asked for, by number. */
const PHYSICAL = { i32: 1, i64: 2, f32: 4, f64: 5, text: 6 } as const

/** How values of a column are hashed; undefined for types whose values are not known as they are stored. */
export function filterForm({ kind }: ColumnType, physical: number | undefined): FilterForm | undefined {
  switch (kind) {
    case 'utf8':
      return physical === PHYSICAL.text ? 'text' : undefined
    case 'i8':
    case 'i16':
    case 'i32':
      return physical === PHYSICAL.i32 ? 'i32' : undefined
    case 'u8':
    case 'u16':
    case 'u32':
      return physical === PHYSICAL.i32 ? 'u32' : undefined
    case 'i64':
    case 'u64':
      return physical === PHYSICAL.i64 ? kind : undefined
    case 'f32':
    case 'f64':
      return physical === PHYSICAL[kind] ? kind : undefined
    default:
      return undefined
  }
}
