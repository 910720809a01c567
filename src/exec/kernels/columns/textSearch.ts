/**
 * Code that searches a text's bytes for a sequence of needles, 16 positions at a time: only those are compared further at which both
 * the first and the last byte of the needle match (Muła, "SIMD-friendly algorithms for substring searching").
 *
 * Each needle is searched behind the one before it, at the earliest position. Where gaps must not contain the end of a line, such a match
 * may span some; then every valid match begins behind the last of them: one that ended earlier would have been
 * found, and no valid match contains the end of a line.
 *
 * Places are 32-bit offsets into the column's bytes; the address is added where memory is read.
 */

import { type Code, get, I, num, OP, SIMD, set } from '../../kir/instructions.ts'
import { vectorConst } from '../../kir/simd.ts'
import type { ColumnWriter } from './columnWriter.ts'
import { sameBytes } from './textEquals.ts'
import type { NeedleSequence } from './textPattern.ts'

/** The locals that the code of a search uses. */
export interface SearchLocals {
  /** The address of the column's bytes, and their number. */
  readonly values: number
  readonly size: number
  /** The places of the text's begin and end. */
  readonly start: number
  readonly end: number
  /** Set to 1 where the text matches, and left unchanged elsewhere. */
  readonly hit: number
  /** Scratch. */
  readonly place: number
  readonly limit: number
  readonly last: number
  readonly first: number
  readonly line: number
  readonly at: number
  readonly bits: number
  readonly address: number
}

export function searchLocals(w: ColumnWriter, places: Pick<SearchLocals, 'values' | 'size'>): SearchLocals {
  const local = (): number => w.declare('i32')
  return {
    ...places,
    ...{ start: local(), end: local(), hit: local(), place: local(), limit: local(), last: local() },
    ...{ first: local(), line: local(), at: local(), bits: local(), address: local() },
  }
}

const LANES = 16

/** Code that sets `hit` to 1 where the text matches. */
export function search(w: ColumnWriter, l: SearchLocals, sequence: NeedleSequence): Code {
  const { needles, start, end, oneLine } = sequence
  const bytes = needles.reduce((sum, { length }) => sum + length, 0)
  const left: Code = [...get(l.end), ...get(l.start), OP.i32Sub]
  const isWhole = start === 'at' && end === 'at' && needles.length < 2
  const isShort = [...left, ...num(bytes), isWhole ? OP.i32Ne : OP.i32LtS, ...I.brIf(0)]
  const [prefix, suffix] = [start === 'at' ? needles[0] : undefined, end === 'at' && !isWhole ? needles.at(-1) : undefined]
  const inner = needles.slice(prefix === undefined ? 0 : 1, suffix === undefined ? undefined : -1)
  const finds = (depth: number): Code =>
    inner.map((needle, i) => [find(w, l, needle, depth), i === 0 ? [...get(l.place), ...set(l.first)] : [], moved(l.place, needle.length)])
  // a gap matters where it lies between needles, or at an edge that is bound by a gap
  const hasGap = needles.length > 1 || start === 'gap' || end === 'gap'
  const spans = oneLine && hasGap
  const isFree = start === 'anywhere' && end === 'anywhere'
  const found: Code =
    spans && isFree
      ? // repeats until the match lies in one line
        [
          ...[I.loop, finds(1), behindLine(l, get(l.first), get(l.place))],
          ...[...get(l.line), ...get(l.first), OP.i32GtS, ...I.if(), ...get(l.line), ...set(l.place), ...I.br(1), OP.end, OP.end],
        ]
      : finds(0)
  const isEndFixed = end !== 'anywhere'
  const oneLineBefore =
    spans && start === 'anywhere' && isEndFixed ? [behindLine(l, get(l.start), get(l.end)), ...get(l.line), ...set(l.place)] : []
  const oneLineAfter =
    spans && start !== 'anywhere'
      ? [behindLine(l, get(l.start), get(isEndFixed ? l.end : l.place)), ...get(l.line), ...get(l.start), OP.i32GtS, ...I.brIf(0)]
      : []
  return [
    ...[I.block(), isShort, get(l.start), set(l.place), get(l.end), set(l.limit)],
    ...(prefix === undefined ? [] : [differs(l, prefix, l.start), moved(l.place, prefix.length)]),
    ...(suffix === undefined ? [] : [moved(l.limit, -suffix.length), differs(l, suffix, l.limit)]),
    ...[oneLineBefore, found, oneLineAfter, num(1), set(l.hit), OP.end],
  ]
}

function moved(local: number, by: number): Code {
  return [...get(local), ...num(by), OP.i32Add, ...set(local)]
}

/** Leaves the block where the bytes at the place differ from the needle. */
function differs(l: SearchLocals, needle: Uint8Array, place: number): Code {
  return [...get(l.values), ...get(place), OP.i32Add, ...set(l.address), ...sameBytes(needle, l.address), OP.i32Eqz, ...I.brIf(0)]
}

/** Moves `place` to the first occurrence that ends before `limit`; branches `fails` blocks out where there is none. */
function find(w: ColumnWriter, l: SearchLocals, needle: Uint8Array, fails: number): Code {
  const { length } = needle
  const lanes = (byte: number | undefined): number => w.constant(vectorConst(new Array(LANES).fill(byte ?? 0)))
  const isAt = (byte: number | undefined, offset: number): Code => [
    ...[...get(l.address), ...I.memory(SIMD.load, offset), ...get(lanes(byte)), SIMD.i8Eq],
  ]
  const both = [...isAt(needle[0], 0), ...(length === 1 ? [] : [...isAt(needle.at(-1), length - 1), SIMD.and])]
  const address = (place: number): Code => [...get(l.values), ...get(place), OP.i32Add, ...set(l.address)]
  const isNeedle: Code = length <= 2 ? num(1) : [...address(l.at), ...sameBytes(needle, l.address)]
  const candidates: Code = [
    ...[I.block(), I.loop, get(l.bits), OP.i32Eqz, I.brIf(1)],
    ...[...get(l.place), ...get(l.bits), OP.i32Ctz, OP.i32Add, ...set(l.at), ...get(l.at), ...get(l.last), OP.i32GtS, ...I.brIf(fails + 5)],
    ...[...isNeedle, ...I.if(), ...get(l.at), ...set(l.place), ...I.br(5), OP.end],
    ...[...get(l.bits), ...get(l.bits), ...num(1), OP.i32Sub, OP.i32And, ...set(l.bits), ...I.br(0), OP.end, OP.end],
  ]
  const many: Code = [...address(l.place), ...both, SIMD.i8Bitmask, ...set(l.bits), ...candidates, ...moved(l.place, LANES), ...I.br(1)]
  const one: Code = [...address(l.place), ...sameBytes(needle, l.address), ...I.brIf(2), ...moved(l.place, 1), ...I.br(1)]
  // 16 positions are read at once where the column's bytes reach that far
  const isInside = [...get(l.place), ...get(l.size), ...num(LANES + length - 1), OP.i32Sub, OP.i32LeS]
  return [
    ...[...get(l.limit), ...num(length), OP.i32Sub, ...set(l.last)],
    ...[I.block(), I.loop, get(l.place), get(l.last), OP.i32GtS, I.brIf(fails + 2)],
    ...[isInside, I.if(), many, OP.else, one, OP.end, OP.end, OP.end],
  ]
}

/** Sets `line` to the place behind the last line end between the two places, or to the first place. */
function behindLine(l: SearchLocals, from: Code, to: Code): Code {
  const byte = (back: number): Code => [...get(l.values), ...get(l.line), OP.i32Add, ...num(back), OP.i32Sub]
  const is = (value: number): Code => [...get(l.at), ...num(value), OP.i32Eq]
  const hasThree = [...get(l.line), ...from, OP.i32Sub, ...num(3), OP.i32GeS]
  return [
    ...[...to, ...set(l.line), I.block(), I.loop, get(l.line), from, OP.i32LeS, I.brIf(1)],
    ...[...byte(1), ...I.memory(OP.i32Load8U), ...set(l.at), ...is(0x0a), ...is(0x0d), OP.i32Or, ...I.brIf(1)],
    // U+2028 and U+2029 are e2 80 a8 and e2 80 a9
    ...[...is(0xa8), ...is(0xa9), OP.i32Or, ...hasThree, OP.i32And, ...I.if()],
    ...[...byte(3), ...I.memory(OP.i32Load16U), ...num(0x80e2), OP.i32Eq, ...I.brIf(2), OP.end],
    ...[...moved(l.line, -1), ...I.br(0), OP.end, OP.end],
  ]
}
