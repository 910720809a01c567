/**
 * The first half of a group-by: every row of a range gets a code that tells its group, and groups are counted.
 *
 *     direct   the place of the key in its windows (`keyWindows.ts`): small whole numbers need no table
 *     hashed   an id by first appearance in the range, from a table
 *
 * Ranges are coded apart from each other, in any thread; `groupMerge.ts` makes one numbering of theirs.
 */
import type { Column } from '../../core/column.ts'
import { concatColumns } from '../../core/columnConcat.ts'
import { convertColumn } from '../../core/columnConversions.ts'
import { takeColumn } from '../../core/columnSlices.ts'
import { MemoryError } from '../../core/errors.ts'
import type { ColumnType } from '../../core/schema.ts'
import { FRAME, isTouched } from '../kernels/groupFrame.ts'
import { countKernel } from '../kernels/groupKernels.ts'
import type { Arena } from '../memory/arena.ts'
import { arenaTables } from './arenaIds.ts'
import type { ExecBatch } from './batches.ts'
import { fill, fillParts, fillWindows, GroupMemory, kernelParts } from './groupMemory.ts'
import { KeyIds } from './keyIds.ts'
import { keyParts, placesIn, type Window } from './keyWindows.ts'

export interface CodesTask {
  readonly kind: 'groupCodes'
  /** Of the hidden columns only the first, the key, is read. */
  readonly batches: readonly ExecBatch[]
  /** What the keys of all ranges are. */
  readonly type: ColumnType
  /** Direct codes when given, from a window for each part of the key. */
  readonly windows?: readonly Window[]
}

/** The groups of a range in order of first appearance. */
export interface RangeGroups {
  readonly key: Column
  readonly counts: Int32Array
  /** Direct: the place of each group in the windows. */
  readonly slots?: Int32Array
  /** Hashed: the codes of each batch. */
  readonly codes?: readonly Int32Array[]
}

/** The groups of a range; undefined when a key lies outside of its window, or the memory has no room for so many places. */
export function rangeGroups(task: CodesTask, arena: Arena): RangeGroups | undefined {
  const keys = task.batches.map((batch) => convertColumn(batch.hidden?.[0] ?? { type: { kind: 'null' }, length: batch.length }, task.type))
  return task.windows === undefined ? hashedGroups(keys, task.type, arena) : directGroups(keys, task.windows, arena)
}

/** Rows between two calls of a kernel, so that V8 can replace it while it warms up; what they read stays in the near caches. */
export const STRIDE = 16_384

function directGroups(keys: readonly Column[], windows: readonly Window[], arena: Arena): RangeGroups | undefined {
  const memory = new GroupMemory(arena)
  try {
    const counted = countedCodes(keys, windows, memory)
    return counted === undefined ? undefined : { key: firstKeys(keys, counted.firsts), counts: counted.counts, slots: counted.slots }
  } catch (error) {
    if (!(error instanceof MemoryError)) throw error
    return undefined
  } finally {
    memory.end()
  }
}

/** The slots that codes use, in order of first appearance, how many rows each has, and of each column the rows where slots come first. */
interface CountedCodes {
  readonly slots: Int32Array
  readonly counts: Int32Array
  readonly firsts: readonly Int32Array[]
}

/** Undefined when a code lies outside of its window. */
function countedCodes(codes: readonly Column[], windows: readonly Window[], memory: GroupMemory): CountedCodes | undefined {
  const { at, words } = memory.frame(0)
  const places = placesIn(windows)
  const most = Math.min(
    places,
    codes.reduce((sum, { length }) => sum + length, 0),
  )
  const counts = memory.block(4 * places)
  const [slots, rows] = [memory.room(4 * most), memory.room(4 * most)]
  fill(words, { counts, slots, rows })
  fillWindows(words, windows)
  const size = (): number => words[FRAME.size / 4] as number // inside the frame
  const firsts: Int32Array[] = []
  for (const code of codes) {
    const parts = keyParts(code)
    if (parts === undefined || parts.length !== windows.length) {
      if (code.length > 0) return undefined
      firsts.push(new Int32Array(0))
      continue
    }
    const forms = kernelParts(parts)
    const touched = isTouched(forms, code.length)
    const kernel = memory.kernel(`count ${touched} ${JSON.stringify(forms)}`, () => countKernel(forms, touched))
    fillParts(words, parts, memory)
    const before = size()
    for (let from = 0; from < code.length; from += STRIDE) {
      kernel(at, from, Math.min(from + STRIDE, code.length))
      if (size() === -1) return undefined
    }
    firsts.push(memory.integers(rows, size()).slice(before))
  }
  const used = memory.integers(slots, size()).slice()
  const counted = memory.integers(counts, places)
  return { slots: used, counts: used.map((slot) => counted[slot] as number), firsts } // slots of the windows
}

function firstKeys(keys: readonly Column[], firsts: readonly Int32Array[]): Column {
  const taken = keys.flatMap((key, i) => (firsts[i] === undefined || firsts[i].length === 0 ? [] : [takeColumn(key, firsts[i])]))
  return concatColumns(taken, 'key')
}

/** With tables in the arena where there is room for them. */
function hashedGroups(keys: readonly Column[], type: ColumnType, arena: Arena): RangeGroups {
  const memory = new GroupMemory(arena)
  try {
    const ids = new KeyIds(type, arenaTables(memory))
    const codes = keys.map((key): Column => ({ type: { kind: 'i32' }, length: key.length, values: ids.encode(key) }))
    const counted = countedCodes(codes, [{ base: 0, span: ids.size }], memory)
    // ids are in order of first appearance
    if (counted !== undefined) {
      const copies = codes.map(({ values }) => (values as Int32Array).slice())
      return { key: firstKeys(keys, counted.firsts), counts: counted.counts, codes: copies }
    }
  } catch (error) {
    if (!(error instanceof MemoryError)) throw error
  } finally {
    memory.end()
  }
  return groupsById(keys, new KeyIds(type))
}

function groupsById(keys: readonly Column[], ids: KeyIds): RangeGroups {
  const firsts: Int32Array[] = []
  const codes: Int32Array[] = []
  let counts = new Int32Array(1024)
  for (const key of keys) {
    const before = ids.size
    const encoded = ids.encode(key)
    if (ids.size > counts.length) {
      const more = new Int32Array(Math.max(ids.size, 2 * counts.length))
      more.set(counts)
      counts = more
    }
    const rows = new Int32Array(ids.size - before)
    countIds(encoded, counts, rows, before)
    firsts.push(rows)
    codes.push(encoded)
  }
  return { key: firstKeys(keys, firsts), counts: counts.slice(0, ids.size), codes }
}

/** Counts ids, and notes the rows where those from `next` on come first. */
function countIds(ids: Int32Array, counts: Int32Array, rows: Int32Array, next: number): void {
  let size = next
  for (let i = 0; i < ids.length; i++) {
    const id = ids[i] as number // i < length, and ids lie inside counts
    counts[id] = (counts[id] as number) + 1
    if (id === size) rows[size++ - next] = i
  }
}
