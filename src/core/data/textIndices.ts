/**
 * Texts that came as numbers of a dictionary's entries: what they were, by the column they were decoded to. Whoever makes
 * another column of that one, a copy or a slice, has no such numbers unless it says so.
 */
import type { Column } from './column.ts'
import { concatColumns } from './columnConcat.ts'

export interface TextIndices {
  /** By row, -1 where the row is null. */
  readonly indices: Int32Array
  /** Equal texts and nulls may be among them. */
  readonly entries: Column
}

const known = new WeakMap<Column, TextIndices>()

/** The numbers that a column of text was decoded from, where it is known. */
export function indicesOf(column: Column | undefined): TextIndices | undefined {
  return column === undefined ? undefined : known.get(column)
}

/** The column, whose texts came as these. */
export function fromIndices(column: Column, indices: TextIndices | undefined): Column {
  if (indices !== undefined && column.type.kind === 'utf8') known.set(column, indices)
  return column
}

/** The numbers of columns end to end, with the entries of all; undefined where one has none. */
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
