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

/** Direct codes: the places of windows that are trimmed to the keys that any range has. */
export function mergedSlots(
  ranges: readonly (readonly ExecBatch[])[],
  type: ColumnType,
  found: readonly RangeGroups[],
  wide: readonly Window[],
): Merged {
  const windows = trimmedWindows(wide, found)
  const slots = placesIn(windows)
  const [from, to] = [stridesOf(wide), stridesOf(windows)]
  /** The slot of a place in the wide windows. */
  const slotOf = (place: number): number => {
    let [slot, rest] = [0, place]
    for (const [p, { base, span }] of windows.entries()) {
      const at = Math.floor(rest / (from[p] as number)) // strides and windows are as many
      rest -= at * (from[p] as number)
      slot += (at === wide[p]?.span ? span : at + (wide[p]?.base ?? 0) - base) * (to[p] as number)
    }
    return slot
  }
  const seen = new Uint8Array(slots)
  const order: number[] = []
  const firsts: number[] = []
  let offset = 0
  const counts = found.map(({ slots: places, counts: rows }) => {
    const bySlot = new Int32Array(slots)
    for (const [i, place] of (places ?? new Int32Array(0)).entries()) {
      const slot = slotOf(place)
      bySlot[slot] = rows[i] as number // a count per place
      if (seen[slot] === 1) continue
      seen[slot] = 1
      order.push(slot)
      firsts.push(offset + i)
    }
    offset += rows.length
    return bySlot
  })
  return {
    key: takeColumn(keysOf(found), Int32Array.from(firsts)),
    coding: { slots, windows, type },
    coded: ranges.map((batches) => ({ batches })),
    counts,
    slotOf: Int32Array.from(order),
  }
}

/** Of each window the part from the least to the most key. */
function trimmedWindows(wide: readonly Window[], found: readonly RangeGroups[]): readonly Window[] {
  const strides = stridesOf(wide)
  return wide.map(({ base, span }, p) => {
    const stride = strides[p] as number // one a window
    let [least, most] = [span, -1]
    for (const { slots } of found) {
      for (const place of slots ?? []) {
        const at = Math.floor(place / stride) % (span + 1)
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
