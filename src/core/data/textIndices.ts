/**
 * Dictionary codes of texts that a reader decoded, remembered by the decoded column. A copy or a slice of the column has
 * none, unless its maker registers them by `fromIndices`.
 */
import type { Column } from './column.ts'
import { concatColumns } from './columnConcat.ts'

export interface TextIndices {
  /** The dictionary code of each row, -1 where it is null. */
  readonly indices: Int32Array
  /** The dictionary; it may have equal entries, and nulls. */
  readonly entries: Column
}

const known = new WeakMap<Column, TextIndices>()

/** The codes that a column of texts was decoded from; undefined where they are not known. */
export function indicesOf(column: Column | undefined): TextIndices | undefined {
  return column === undefined ? undefined : known.get(column)
}

/** Registers the codes that the column's texts were decoded from, and returns the column. */
export function fromIndices(column: Column, indices: TextIndices | undefined): Column {
  if (indices !== undefined && column.type.kind === 'utf8') known.set(column, indices)
  return column
}

/** The codes of concatenated columns, over the entries of all dictionaries; undefined where a column has no codes. */
export function joinedIndices(parts: readonly Column[]): TextIndices | undefined {
  if (parts.length === 1) return indicesOf(parts[0])
  const all = parts.map(indicesOf).filter((one) => one !== undefined)
  if (all.length < parts.length) return undefined
  const bases = new Map<Column, number>()
  let size = 0
  for (const { entries } of all) {
    if (bases.has(entries)) continue
    bases.set(entries, size)
    size += entries.length
  }
  const indices = new Int32Array(all.reduce((sum, one) => sum + one.indices.length, 0))
  let at = 0
  for (const one of all) {
    const base = bases.get(one.entries) ?? 0
    for (const index of one.indices) indices[at++] = index < 0 ? -1 : base + index
  }
  return { indices, entries: concatColumns([...bases.keys()]) }
}
