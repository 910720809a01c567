/** One numbering of the groups that ranges of the rows have, in order of first appearance. */
import type { Column } from '../core/column.ts'
import { concatColumns } from '../core/columnConcat.ts'
import { takeColumn } from '../core/columnSlices.ts'
import type { ColumnType } from '../core/schema.ts'
import { type ExecBatch, hiddenBatch } from './operators/batches.ts'
import type { RangeGroups } from './operators/groupCodes.ts'
import type { CodedRange, Coding } from './operators/groupFolds.ts'
import { KeyIds } from './operators/keyIds.ts'
import { placesIn, stridesOf, type Window } from './operators/keyWindows.ts'

export interface Merged {
  /** The groups' keys, in order of first appearance. */
  readonly key: Column
  readonly coding: Coding
  /** What the ranges are folded from: their batches with codes instead of keys where those are hashed. */
  readonly coded: readonly CodedRange[]
  /** Rows by slot, for each range. */
  readonly counts: readonly Int32Array[]
  /** The slot of each group, unless slots are groups. */
  readonly slotOf?: Int32Array
}

/** More slots than so many for each group are numbered anew: records side by side are worth another look-up. */
const MOST_SLOTS_PER_GROUP = 2

/** Direct codes: the places of windows that are trimmed to the keys that any range has. */
export function mergedSlots(
  ranges: readonly (readonly ExecBatch[])[],
  type: ColumnType,
  found: readonly RangeGroups[],
  wide: readonly Window[],
): Merged {
  const windows = trimmedWindows(wide, found)
  const slots = placesIn(windows)
  /** By slot, 1 more than its group's number. */
  const numbers = sharedIntegers(slots)
  const most = found.reduce((sum, one) => sum + one.counts.length, 0)
  const [order, firsts] = [new Int32Array(most), new Int32Array(most)]
  let groups = 0
  let offset = 0
  const slotsOf = found.map(({ slots: places = new Int32Array(0) }) => {
    const used = trimmedPlaces(places, wide, windows)
    for (let i = 0; i < used.length; i++) {
      const slot = used[i] as number // i < length
      if (numbers[slot] !== 0) continue
      order[groups] = slot
      firsts[groups] = offset + i
      numbers[slot] = ++groups
    }
    offset += places.length
    return used
  })
  const key = takeColumn(keysOf(found), firsts.subarray(0, groups))
  const isSparse = slots > MOST_SLOTS_PER_GROUP * groups
  if (isSparse) for (let slot = 0; slot < slots; slot++) numbers[slot] = (numbers[slot] as number) - 1
  const length = isSparse ? groups : slots
  const counts = found.map((one, r) => {
    const rows = new Int32Array(length)
    const used = slotsOf[r] as Int32Array // one per range, with a count per place
    if (isSparse) for (let i = 0; i < used.length; i++) rows[numbers[used[i] as number] as number] = one.counts[i] as number
    else for (let i = 0; i < used.length; i++) rows[used[i] as number] = one.counts[i] as number
    return rows
  })
  const coded = ranges.map((batches) => (isSparse ? { batches, map: numbers } : { batches }))
  const merged = { key, coding: { slots: length, windows, type }, coded, counts }
  return isSparse ? merged : { ...merged, slotOf: order.slice(0, groups) }
}

/** Zeros in memory that tasks share. */
function sharedIntegers(length: number): Int32Array {
  return new Int32Array(new SharedArrayBuffer(4 * length))
}

/** The slots in the trimmed windows of places in the wide ones. */
function trimmedPlaces(places: Int32Array, wide: readonly Window[], windows: readonly Window[]): Int32Array {
  const slots = new Int32Array(places.length)
  const [from, to] = [stridesOf(wide), stridesOf(windows)]
  for (const [p, { base, span }] of windows.entries()) {
    const { base: first, span: last } = wide[p] as Window // strides and windows are as many
    const [stride, width, step] = [from[p] as number, last + 1, to[p] as number]
    const less = base - first
    for (let i = 0; i < places.length; i++) {
      const at = placeAt(places[i] as number, stride, width) // i < length
      slots[i] = (slots[i] as number) + (at === last ? span : at - less) * step
    }
  }
  return slots
}

/** The place of one part in its own window. */
function placeAt(place: number, stride: number, width: number): number {
  return stride === 1 && place < width ? place : Math.floor(place / stride) % width
}

/** Of each window the part from the least to the most key. */
function trimmedWindows(wide: readonly Window[], found: readonly RangeGroups[]): readonly Window[] {
  const strides = stridesOf(wide)
  return wide.map(({ base, span }, p) => {
    const stride = strides[p] as number // one a window
    let [least, most] = [span, -1]
    for (const { slots } of found) {
      for (let i = 0; i < (slots?.length ?? 0); i++) {
        const at = placeAt(slots?.[i] as number, stride, span + 1) // i < length
        if (at === span) continue // null
        if (at < least) least = at
        if (at > most) most = at
      }
    }
    return { base: base + least, span: Math.max(0, most - least + 1) }
  })
}

function keysOf(found: readonly RangeGroups[]): Column {
  return concatColumns(
    found.map(({ key }) => key),
    'key',
  )
}

/** Hashed codes: ids of the ranges' groups, which come in the order of the ranges. */
export function mergedIds(ranges: readonly (readonly ExecBatch[])[], type: ColumnType, found: readonly RangeGroups[]): Merged {
  const ids = new KeyIds(type)
  const maps = found.map(({ key }) => ids.encode(key))
  const firsts = new Int32Array(ids.size)
  let offset = 0
  let next = 0
  for (const map of maps) {
    for (let i = 0; i < map.length; i++) if (map[i] === next) firsts[next++] = offset + i
    offset += map.length
  }
  const counts = found.map((one, r) => {
    const bySlot = new Int32Array(ids.size)
    const map = maps[r] as Int32Array // one per range
    for (let i = 0; i < map.length; i++) bySlot[map[i] as number] = one.counts[i] as number // a count per id
    return bySlot
  })
  const coded = ranges.map((batches, r) => ({
    batches: batches.map((batch, b) => {
      const codes = found[r]?.codes?.[b] ?? new Int32Array(0)
      return hiddenBatch([{ type: { kind: 'i32' }, length: codes.length, values: codes }, ...(batch.hidden ?? []).slice(1)])
    }),
    ...(found.length === 1 ? {} : { map: maps[r] as Int32Array }),
  }))
  return { key: takeColumn(keysOf(found), firsts), coding: { slots: ids.size, type }, coded, counts }
}
