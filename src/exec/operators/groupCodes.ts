/**
 * The first half of a group-by: every row of a range gets a code that tells its group, and groups are counted.
 *
 *     direct   the key itself, less `base`: small whole numbers need no table
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
import { countKernel, FRAME } from '../kernels/groupKernels.ts'
import type { Arena } from '../memory/arena.ts'
import { arenaTables } from './arenaIds.ts'
import type { ExecBatch } from './batches.ts'
import { fill, GroupMemory, kernelType } from './groupMemory.ts'
import { KeyIds } from './keyIds.ts'
import { typedLoop, wordsOf } from './typedLoops.ts'

/** Keys from `base` to `base + span` (exclusive) are their own codes. */
export interface Window {
  readonly base: number
  readonly span: number
}

export interface CodesTask {
  readonly kind: 'groupCodes'
  /** Of the hidden columns only the first, the key, is read. */
  readonly batches: readonly ExecBatch[]
  /** What the keys of all ranges are. */
  readonly type: ColumnType
  /** Direct codes when given. */
  readonly window?: Window
}

/** The groups of a range in order of first appearance. */
export interface RangeGroups {
  readonly key: Column
  readonly counts: Int32Array
  /** Direct: the slot of each group, key - base, or the span for null. */
  readonly slots?: Int32Array
  /** Hashed: the codes of each batch. */
  readonly codes?: readonly Int32Array[]
}

/** The widest window: its counts fit the caches of the core. */
const WIDEST = 2 ** 21
/** Rows looked at to guess a window. */
const LOOKED_AT = 65_536

/** A window around the first keys, where they are whole numbers that lie together; keys outside of it show when codes are made. */
export function windowOf(key: Column): Window | undefined {
  const found = wholeRange(key, Math.min(key.length, LOOKED_AT))
  if (found === undefined || found[1] < found[0]) return undefined
  const width = found[1] - found[0] + 1
  if (width > WIDEST / 2) return undefined
  // later keys often go a little further
  const span = Math.min(WIDEST, 3 * width + 1024)
  const least = key.type.kind === 'u32' ? 0 : -(2 ** 31)
  return { base: Math.max(least, found[0] - Math.floor((span - width) / 2)), span }
}

/** The least and the most of the first keys when all are whole numbers of 32 bits; the first is greater where there are none. */
export function wholeRange(key: Column, length: number): readonly [number, number] | undefined {
  const form = codeForm(key)
  if (form === undefined || key.values === undefined) return undefined
  const loop = typedLoop<(key: unknown, validity: unknown, length: number) => readonly [number, number] | undefined>(
    ['k', 'validity', 'length'],
    `let least = Infinity, most = -Infinity; // ${key.type.kind}
for (let i = 0; i < length; i++) {
${key.validity === undefined ? '' : 'if ((validity[i >> 3] & (1 << (i & 7))) === 0) continue;'}
const value = ${form.value};
if (!(${form.small})) return undefined;
if (value < least) least = value;
if (value > most) most = value;
}
return [least, most];`,
  )
  return loop(form.array, key.validity, length)
}

/** Marks the places of whole keys, which lie in the window. */
export function markPlaces(key: Column, { base }: Window, marks: Uint8Array): void {
  const form = codeForm(key)
  if (form === undefined) return
  const loop = typedLoop<(key: unknown, validity: unknown, length: number, base: number, marks: Uint8Array) => void>(
    ['k', 'validity', 'length', 'base', 'marks'],
    `for (let i = 0; i < length; i++) { // ${key.type.kind}
${key.validity === undefined ? '' : 'if ((validity[i >> 3] & (1 << (i & 7))) === 0) continue;'}
marks[${form.value} - base] = 1;
}`,
  )
  loop(form.array, key.validity, key.length, base, marks)
}

/** How the number in key `i` is read, for keys that can be codes. */
export function codeForm(key: Column): { readonly value: string; readonly small: string; readonly array: unknown } | undefined {
  switch (wordsOf(key.type.kind)) {
    case 'integer':
      return { value: 'k[i]', small: 'true', array: key.values }
    case 'float':
      return { value: 'k[i]', small: '(value | 0) === value', array: key.values }
    case 'long': {
      const words =
        key.values === undefined ? undefined : new Int32Array(key.values.buffer, key.values.byteOffset, key.values.byteLength / 4)
      return { value: 'k[2 * i]', small: 'k[2 * i + 1] === value >> 31', array: words }
    }
    case undefined:
      return undefined
  }
}

/** The groups of a range; undefined when a key lies outside of the window. */
export function rangeGroups(task: CodesTask, arena: Arena): RangeGroups | undefined {
  const keys = task.batches.map((batch) => convertColumn(batch.hidden?.[0] ?? { type: { kind: 'null' }, length: batch.length }, task.type))
  return task.window === undefined ? hashedGroups(keys, task.type, arena) : directGroups(keys, task.window, arena)
}

/** Rows between two calls of a kernel, so that V8 can replace it while it warms up; what they read stays in the near caches. */
export const STRIDE = 16_384

function directGroups(keys: readonly Column[], window: Window, arena: Arena): RangeGroups | undefined {
  const memory = new GroupMemory(arena)
  try {
    const counted = countedCodes(keys, window, memory)
    return counted === undefined ? undefined : { key: firstKeys(keys, counted.firsts), counts: counted.counts, slots: counted.slots }
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

/** Undefined when a code lies outside of the window. */
function countedCodes(codes: readonly Column[], { base, span }: Window, memory: GroupMemory): CountedCodes | undefined {
  const { at, words } = memory.frame(0)
  const [counts, slots, rows] = [0, 1, 2].map(() => memory.block(4 * (span + 1))) as [number, number, number]
  fill(words, { base, span, counts, slots, rows })
  const size = (): number => words[FRAME.size / 4] as number // inside the frame
  const firsts: Int32Array[] = []
  for (const code of codes) {
    const type = kernelType(code.type.kind)
    if (type === undefined) return undefined
    const nullable = code.validity !== undefined
    const kernel = memory.kernel(`count ${type} ${nullable}`, () => countKernel({ type, nullable }))
    fill(words, { key: memory.addressOf(code.values), keyBits: memory.addressOf(code.validity) })
    const before = size()
    for (let from = 0; from < code.length; from += STRIDE) {
      kernel(at, from, Math.min(from + STRIDE, code.length))
      if (size() === -1) return undefined
    }
    firsts.push(memory.integers(rows, size()).slice(before))
  }
  const used = memory.integers(slots, size()).slice()
  const counted = memory.integers(counts, span + 1)
  return { slots: used, counts: used.map((slot) => counted[slot] as number), firsts } // slots of the window
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
    const counted = countedCodes(codes, { base: 0, span: ids.size }, memory)
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
