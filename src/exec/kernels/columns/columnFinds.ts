/**
 * Look-ups in captured lists and collections, four rows at a time: the slots of four indices or keys, and the contents of
 * these slots in memory. Code and frame fit any list of the same kinds: its contents are copied for each run.
 *
 *     list[r.i]        slot i, where 0 <= i < length and i is whole
 *     map.get(r.k)     slot k - least with direct addressing, else by hash; a key that is missing gives undefined
 */

import type { Find } from '../../../core/ir/collections.ts'
import type { FunctionIr, Primitive } from '../../../core/ir/functionIr.ts'
import type { Span } from '../../../core/span.ts'
import { type Code, I, OP, SIMD } from '../../kir/instructions.ts'
import { lanesConst, shuffle32 } from '../../kir/simd.ts'
import { HIGHEST, LOWEST, NotCompiled } from '../expressions/types.ts'
import type { ColumnValue } from './columnTypes.ts'
import { and, both, doubles, not, or } from './columnValues.ts'
import type { ColumnWriter } from './columnWriter.ts'
import { HASH, inSlots, type KeyIndex, keyIndexOf, MOST_SLOTS } from './keyIndex.ts'
import { constantNumbers } from './textPlaces.ts'

type Table = FunctionIr['tables'][number]

/** The slots of four keys in a table, and the mask of lanes whose key is there. Other lanes have slot 0. */
interface Slots {
  readonly at: number
  readonly found: number
}

/** Compiles `list[index]` of numbers, of truth values or of texts. */
export function elementAt(w: ColumnWriter, table: Table, index: ColumnValue, span: Span): ColumnValue {
  const texts = textsIn(table)
  const held: Held | undefined = texts === undefined ? heldIn(table, table, undefined) : { kind: 'text', data: constantNumbers(w, texts) }
  if (held === undefined) throw new NotCompiled(`it reads ${table.name}, which holds not only numbers, or not only truth values`, span)
  if (index.kind !== 'f64' && index.kind !== 'i32') throw new NotCompiled(`it reads ${table.name} at what is no number`, span)
  const { at, isWhole } = whole(w, index)
  const inside = below(w, at, table.value.length)
  return foundAt(w, held, atSlots(w, at, lanes(w, [inside, isWhole, index.valid])))
}

/** Compiles a collection's value for a number, or whether it has the number. */
export function foundKey(w: ColumnWriter, find: Find, tables: FunctionIr['tables'], key: ColumnValue): ColumnValue {
  const { span } = find
  const [keys, values] = [find.keys, find.values].map((name) => tables.find((table) => table.name === name))
  if (keys === undefined) throw new NotCompiled('it looks for a key', span)
  if (key.kind !== 'f64' && key.kind !== 'i32')
    throw new NotCompiled(key.kind === 'other' ? 'it looks for a text, and the column has many' : 'it looks for what is no number', span)
  const absent = key.valid === undefined ? undefined : key.missing === true ? undefined : null
  const hasAbsent = key.valid !== undefined && holds(find, keys, absent)
  const index = indexOf(find, keys)
  if (index === undefined) throw new NotCompiled('there are too many keys', span)
  const slots = index.places.length === 0 ? { at: w.zeros(), found: w.zeros() } : slotsOf(w, index, key)
  if (values === undefined) {
    const isThere = key.valid === undefined ? slots.found : (and(w, slots.found, key.valid) as number) // both are there
    return { kind: 'bool', at: hasAbsent ? or(w, isThere, not(w, key.valid as number)) : isThere }
  }
  if (hasAbsent) throw new NotCompiled(`it looks for what may be ${absent === null ? 'null' : 'undefined'}, which is there`, span)
  const held = heldIn(values, keys, index)
  if (held === undefined) throw new NotCompiled('what it finds is not only numbers, or not only truth values', span)
  return foundAt(w, held, atSlots(w, slots.at, lanes(w, [slots.found, key.valid])))
}

/** Whether the collection has null or undefined as a key. */
function holds({ of }: Find, { value }: Table, key: null | undefined): boolean {
  return Array.from(value).includes(of === 'keyed' ? key : String(key))
}

/** The mask of lanes that are set in all masks. */
function lanes(w: ColumnWriter, masks: readonly (number | undefined)[]): number {
  return masks.reduce((a, b) => and(w, a, b)) ?? w.constant(lanesConst([-1, -1, -1, -1]))
}

/** Clears the slots of lanes without one. */
function atSlots(w: ColumnWriter, at: number, found: number): Slots {
  return { at: w.keep([...I.localGet(at), ...I.localGet(found), SIMD.and]), found }
}

/** Converts a number to a 32-bit integer, with the mask of lanes where it is one; undefined where that is all. */
function whole(w: ColumnWriter, key: Number): { readonly at: number; readonly isWhole: number | undefined } {
  if (key.kind === 'i32') return { at: key.at, isWhole: undefined }
  const half = (part: 'lo' | 'hi'): number => w.keep([...I.localGet(key[part]), SIMD.i32TruncF64S])
  const [lo, hi] = [half('lo'), half('hi')]
  const isSame = (part: number, cut: number): Code => [...[...I.localGet(part), ...I.localGet(cut), SIMD.f64ConvertI32S, SIMD.f64Eq]]
  const at = w.keep([...I.localGet(lo), ...I.localGet(hi), ...shuffle32([0, 1, 4, 5])])
  return { at, isWhole: w.joined(isSame(key.lo, lo), isSame(key.hi, hi)) }
}

/** The mask of lanes from 0 to below `length`. */
function below(w: ColumnWriter, at: number, length: number): number {
  const lanes = I.localGet(lanesOf(w, length))
  return w.keep([...I.localGet(at), ...lanes, SIMD.i32LtU])
}

/** A 32-bit number that is passed in the frame, in every lane. */
function lanesOf(w: ColumnWriter, value: number): number {
  const parameter = w.parameter(value)
  if (parameter.kind !== 'i32') throw new NotCompiled('a list is too long')
  return parameter.at
}

type Number = Extract<ColumnValue, { kind: 'f64' | 'i64' | 'i32' }>

function slotsOf(w: ColumnWriter, index: KeyIndex, key: Number): Slots {
  const slots = slotsOfOthers(w, index, key)
  if (!index.hasNaN || key.kind === 'i32') return slots
  const isOther = (half: number): Code => [...I.localGet(half), ...I.localGet(half), SIMD.f64Eq]
  const other = w.joined(isOther(key.lo), isOther(key.hi))
  const last = lanesOf(w, index.places.length - 1)
  const at = w.keep([...I.localGet(slots.at), ...I.localGet(last), ...I.localGet(other), SIMD.bitSelect])
  return { at, found: or(w, slots.found, not(w, other)) }
}

/** The slots of keys other than NaN. */
function slotsOfOthers(w: ColumnWriter, { hasNaN, ...index }: KeyIndex, key: Number): Slots {
  const length = index.places.length - (hasNaN ? 1 : 0)
  if (length === 0) return { at: w.zeros(), found: w.zeros() }
  if (index.kind === 'hashed') return hashedSlots(w, { keys: index.keys, length }, key)
  const { at, isWhole } = whole(w, key)
  const offset = w.keep([...I.localGet(at), ...I.localGet(lanesOf(w, index.least)), SIMD.i32Sub])
  const found = lanes(w, [below(w, offset, length), isWhole])
  if (index.isFull) return { at: offset, found }
  const inside = atSlots(w, offset, found)
  const places = gathered(w, w.table(index.places), inside.at)
  const isKey = w.keep([...I.localGet(places), ...lanesConst([-1, -1, -1, -1]), SIMD.i32Gt])
  return { at: offset, found: lanes(w, [found, isKey]) }
}

/** Probes the hash table one lane at a time, from the slot of the key's hash to that of the key, or to an empty one. */
function hashedSlots(w: ColumnWriter, { keys, length }: { readonly keys: Float64Array; readonly length: number }, key: ColumnValue): Slots {
  const base = w.table(keys)
  const numbers = both(w, [doubles(w, key)], ...lanesConst([0, 0, 0, 0]), SIMD.f64Add) // -0 is the key 0
  const last = w.keep([...I.localGet(lanesOf(w, length - 1)), ...I.simdLane(SIMD.i32ExtractLane, 0)], 'i32')
  const [hash, wanted, held] = [w.declare('i32'), w.declare('f64'), w.declare('f64')]
  const set = (code: Code): Code => [...code, ...I.localSet(hash)]
  const mixed = (shift: number): Code => [...I.localGet(hash), ...I.localGet(hash), ...I.i32Const(shift), OP.i32ShrU, OP.i32Xor]
  const inTable: Code = [...I.localGet(last), OP.i32And]
  const at: Code = [...I.localGet(base), ...I.localGet(hash), ...I.i32Const(3), OP.i32Shl, OP.i32Add]
  const slot = (lane: number): Code => {
    const half = I.localGet(lane < 2 ? numbers.lo : numbers.hi)
    const word = (i: number): Code => [...half, ...I.simdLane(SIMD.i32ExtractLane, 2 * (lane % 2) + i)]
    return [
      ...[...half, ...I.simdLane(SIMD.f64ExtractLane, lane % 2), ...I.localSet(wanted)],
      ...set([...word(0), ...word(1), ...I.i32Const(HASH.high), OP.i32Mul, OP.i32Add]),
      ...set([...mixed(16), ...I.i32Const(HASH.first), OP.i32Mul]),
      ...set([...mixed(13), ...I.i32Const(HASH.second), OP.i32Mul]),
      ...set([...mixed(16), ...inTable]),
      ...[...I.block(), ...I.loop],
      ...[...at, ...I.memory(OP.f64Load), ...I.localTee(held), ...I.localGet(wanted), OP.f64Eq, ...I.brIf(1)],
      ...[...I.localGet(held), ...I.localGet(held), OP.f64Ne, ...I.if(), ...set(I.i32Const(-1)), ...I.br(2), OP.end],
      ...set([...I.localGet(hash), ...I.i32Const(1), OP.i32Add, ...inTable]),
      ...[...I.br(0), OP.end, OP.end],
      ...I.localGet(hash),
    ]
  }
  const slots = w.eachInteger(slot)
  return { at: slots, found: w.keep([...I.localGet(slots), ...lanesConst([-1, -1, -1, -1]), SIMD.i32Gt]) }
}

/** The contents of a table as they lie in memory, in the order of slots. */
type Held = { readonly kind: 'f64'; readonly data: Float64Array } | { readonly kind: 'i32' | 'bool' | 'text'; readonly data: Int32Array }

/** The elements of a list of at most MOST_TEXTS texts; undefined for any other. */
function textsIn({ value }: Table): readonly string[] | undefined {
  const all: readonly unknown[] = value.length > 0 && value.length <= MOST_TEXTS ? Array.from<unknown>(value) : []
  return all.length > 0 && all.every((one) => typeof one === 'string') ? all : undefined
}

/** The most texts of a list; longer ones would make long dictionaries. */
const MOST_TEXTS = 1_024

function foundAt(w: ColumnWriter, held: Held, { at, found }: Slots): ColumnValue {
  const absent = { valid: found, missing: true } as const
  if (held.data.length === 0) return { kind: 'f64', lo: w.zeros(), hi: w.zeros(), ...absent }
  const base = w.table(held.data)
  const there = (value: number, mask: number): number => w.keep([...I.localGet(value), ...I.localGet(mask), SIMD.and])
  if (held.kind !== 'f64') {
    const value = there(gathered(w, base, at), found)
    if (held.kind === 'text') return { kind: 'text', at: value, columns: [], ...absent }
    return held.kind === 'bool' ? { kind: 'bool', at: value, ...absent } : { kind: 'i32', at: value, low: LOWEST, high: HIGHEST, ...absent }
  }
  const element = (lane: number): Code => [
    ...[...I.localGet(base), ...I.localGet(at), ...I.simdLane(SIMD.i32ExtractLane, lane), ...I.i32Const(3), OP.i32Shl, OP.i32Add],
    ...I.memory(OP.f64Load),
  ]
  const pair = (lane: number): number =>
    w.keep([...element(lane), SIMD.f64Splat, ...element(lane + 1), ...I.simdLane(SIMD.f64ReplaceLane, 1)])
  const halves = w.halves(found)
  return { kind: 'f64', lo: there(pair(0), halves.lo), hi: there(pair(2), halves.hi), ...absent }
}

/** Loads the 32-bit integers in four slots. */
function gathered(w: ColumnWriter, base: number, slots: number): number {
  return w.eachInteger((lane) => [
    ...[...I.localGet(base), ...I.localGet(slots), ...I.simdLane(SIMD.i32ExtractLane, lane), ...I.i32Const(2), OP.i32Shl, OP.i32Add],
    ...I.memory(OP.i32Load),
  ])
}

/** Caches for captured tables that never change (`made`). */
const indexes = new WeakMap<object, Map<string, KeyIndex | undefined>>()
const contents = new WeakMap<object, Map<string, Held | undefined>>()

function remembered<T>(known: WeakMap<object, Map<string, T>>, { value, made }: Table, name: string, make: () => T): T {
  if (made !== true) return make()
  const own = known.get(value) ?? new Map<string, T>()
  known.set(value, own)
  if (!own.has(name)) own.set(name, make())
  return own.get(name) as T // just set
}

/** Returns the index of a collection's numeric keys; undefined where there are too many. */
function indexOf({ of }: Find, keys: Table): KeyIndex | undefined {
  return remembered(indexes, keys, of === 'keyed' ? 'keyed' : 'object', () => {
    const numbers = new Map<number, number>()
    for (const [place, key] of Array.from(keys.value).entries()) {
      // keys of an object are texts; a number finds those that equal its text
      const number = of === 'keyed' || typeof key !== 'string' || String(Number(key)) !== key ? key : Number(key)
      if (typeof number === 'number' && !numbers.has(number)) numbers.set(number, place)
    }
    return keyIndexOf(numbers)
  })
}

/** Returns the elements of a table in the order of slots, or of the list; undefined where they are neither all numbers nor all booleans. */
function heldIn(table: Table, keys: Table, index: KeyIndex | undefined): Held | undefined {
  return remembered(contents, keys, index === undefined ? 'list' : `${table.name} by ${index.kind}`, () => {
    const { value } = table
    if (value.length > MOST_SLOTS || value instanceof BigInt64Array || value instanceof BigUint64Array) return undefined
    const all: readonly Primitive[] = Array.from(value)
    const kind = kindOf(all)
    if (kind === undefined) return undefined
    const numbers = Array.from(all, (one) => (kind === 'bool' ? (one === true ? -1 : 0) : (one as number))) // of one kind
    const length = index?.places.length ?? numbers.length
    const data = kind === 'f64' ? new Float64Array(length) : new Int32Array(length)
    if (index === undefined) data.set(numbers)
    else inSlots(numbers, index.places, data)
    return { kind, data } as Held // as made
  })
}

function kindOf(values: readonly Primitive[]): Held['kind'] | undefined {
  if (values.every((value) => typeof value === 'boolean')) return values.length === 0 ? 'f64' : 'bool'
  if (!values.every((value) => typeof value === 'number')) return undefined
  return values.every((value) => Object.is(value, (value as number) | 0)) ? 'i32' : 'f64'
}
