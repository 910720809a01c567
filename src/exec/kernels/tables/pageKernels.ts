/**
 * Decoders of Parquet pages in WebAssembly over the arena: dictionary indices to entries, to themselves as bytes, or to one byte and zeros, and plain texts.
 *
 *     [header of a run] [value] …          header even   repeated: half of it is how often the value comes
 *     [header of a run] [8 values] …       header odd    packed: half of it is the number of groups of eight values, `width` bits each
 *
 * Statement: the kernel writes `count` values, or traps: where bytes end too early, and where an index has no entry. It may
 * read bytes behind `source + length`, which affect nothing, and writes none but those of the values.
 *
 * https://parquet.apache.org/docs/file-format/data-pages/encodings/#RLE
 *
 *     [4 bytes of its length] [text] …     --plainTextsKernel-->     texts end to end, and where each of them ends
 */

import { type Code, get, I, num, OP, SIMD, set } from '../../kir/instructions.ts'
import type { KernelModule } from '../../kir/kernelModule.ts'
import { vectorConst } from '../../kir/simd.ts'
import { element } from './groupFrame.ts'
import { counting, numbered } from './sortKernels.ts'

/** The most bits of an index: two of them, and up to six bits before them, are read as one word. */
export const MOST_PLACE_BITS = 29
/** The most values of a page, so that its bits can be counted in 32 bits. */
export const MOST_PAGE_VALUES: number = 2 ** 26
/** The bytes behind those of a page that may be read. */
export const READ_BEHIND = 64

const GROUP = 8
/** The number of indices that are taken from one 64-bit word, and the most bits of each. */
const WORDS = [
  { places: 8, bits: 8 },
  { places: 4, bits: 16 },
  { places: 2, bits: MOST_PLACE_BITS },
] as const

/** The number of indices that become bytes at once, and the most bits of each: two bytes always contain it, wherever it begins. */
const SPREAD = 16
const SPREAD_BITS = 8
/** A constant vector of eight 16-bit lanes. */
const eachLane = (lane: (i: number) => number): Code =>
  vectorConst(new Uint8Array(Uint16Array.from({ length: 8 }, (_, i) => lane(i)).buffer))

/** What is written for each index: itself as a byte (`index`), a byte for one index and 0 for all others (`is`), or its entry of 2 ** log2 bytes. */
export type WrittenEntries = 'index' | 'is' | 0 | 2 | 3

/** run(source, length, width, count, entries, dictionary, out, one): `one` is for `is` the index, and 256 times its byte. */
export function entriesKernel(written: WrittenEntries): KernelModule {
  const isByte = written === 'index' || written === 'is'
  const log2 = isByte ? 0 : written
  const { source, length, width, count, entries, dictionary, out, one, ...locals } = numbered(
    ...(['source', 'length', 'width', 'count', 'entries', 'dictionary', 'out', 'one'] as const),
    ...([
      'at',
      'done',
      'header',
      'shift',
      'byte',
      'groups',
      'end',
      'last',
      'index',
      'mask',
      'far',
      'target',
      'bits',
      'word',
      'step',
      'whole',
      ...(['first', 'second', 'factors', 'kept', 'most', 'vector'] as const),
    ] as const),
  )
  const { at, done, header, shift, byte, groups, end, last, index, mask, far, target, bits, word, step, whole } = locals
  const { first, second, factors, kept, most, vector } = locals
  const [load, store] = ({ 0: [OP.i32Load8U, OP.i32Store8], 2: [OP.i32Load, OP.i32Store], 3: [OP.i64Load, OP.i64Store] } as const)[log2]
  const wholeEntry = [...element(dictionary, index, log2), ...I.memory(load)]
  const oneByte = [...get(one), ...num(8), OP.i32ShrU]
  const isOne = [...get(index), ...get(one), ...num(255), OP.i32And, OP.i32Eq]
  const entry = written === 'index' ? get(index) : written === 'is' ? [...isOne, ...oneByte, OP.i32Mul] : wholeEntry
  const isFar = [...get(index), ...get(entries), OP.i32GeU]
  const noted = [...get(far), ...isFar, OP.i32Or, ...set(far)]
  const trapIf = (test: Code): Code => [...test, ...I.if(), OP.unreachable, OP.end]
  const least = (a: Code, b: Code): Code => [...a, ...b, ...a, ...b, OP.i32LtU, OP.select]
  const moved = (local: number, by: Code): Code => [...get(local), ...by, OP.i32Add, ...set(local)]
  const while_ = (test: Code, body: Code): Code => [I.block(), I.loop, test, OP.i32Eqz, I.brIf(1), body, I.br(0), OP.end, OP.end]

  const readByte = [...get(source), ...get(at), OP.i32Add, ...I.memory(OP.i32Load8U), ...set(byte), ...moved(at, num(1))]
  const readHeader = [
    ...[...num(0), ...set(header), ...num(0), ...set(shift), ...I.loop, ...readByte],
    ...[...get(header), ...get(byte), ...num(127), OP.i32And, ...get(shift), OP.i32Shl, OP.i32Or, ...set(header), ...moved(shift, num(7))],
    ...[...get(byte), ...num(128), OP.i32And, OP.i32Eqz, OP.i32Eqz, ...get(shift), ...num(35), OP.i32LtU, OP.i32And, ...I.brIf(0), OP.end],
    ...trapIf([...get(at), ...get(length), OP.i32GtS]),
  ]
  /** Loads the word that begins `bit` bits after the current position into local `word`. */
  const wordAt = (bit: Code): Code => [
    ...[...bit, ...set(bits), ...get(source), ...get(at), OP.i32Add, ...get(bits), ...num(3), OP.i32ShrU, OP.i32Add],
    ...[...I.memory(OP.i64Load), ...get(bits), ...num(7), OP.i32And, OP.i64ExtendI32U, OP.i64ShrU, ...set(word)],
  ]
  const nextPlace = [...get(word), OP.i32WrapI64, ...get(mask), OP.i32And, ...set(index)]
  const group = (places: number): Code =>
    Array.from({ length: GROUP / places }, (_, w) => [
      ...wordAt([...get(width), ...num(w * places), OP.i32Mul]),
      ...Array.from({ length: places }, (_, p) => [
        ...[...nextPlace, ...get(word), ...get(step), OP.i64ShrU, ...set(word), ...noted],
        ...[...get(target), ...entry, ...I.memory(store, (w * places + p) << log2)],
      ]),
    ])
  const groupsOf = (places: number): Code =>
    while_(
      [...get(done), ...num(GROUP), OP.i32Add, ...get(end), OP.i32LeS],
      [...element(out, done, log2), ...set(target), group(places), ...moved(done, num(GROUP)), ...moved(at, get(width))],
    )
  const byWords = WORDS.reduceRight<Code>(
    (other, { places, bits: most }) => [get(width), num(most), OP.i32LeU, I.if(), groupsOf(places), OP.else, other, OP.end],
    [OP.unreachable],
  )
  const splat = (byte: Code): Code => [...byte, SIMD.i8Splat]
  /** Eight indices in 16-bit lanes: a multiplication shifts the two bytes that contain one until it begins in the upper byte. */
  const lanes = (bytes: number): Code => [
    ...[...get(vector), ...get(bytes), SIMD.i8Swizzle, ...get(factors), SIMD.i16Mul],
    ...[...num(8), SIMD.i16ShrU],
  ]
  const spread = while_(
    [...get(done), ...num(SPREAD), OP.i32Add, ...get(end), OP.i32LeS],
    [
      ...[...get(source), ...get(at), OP.i32Add, ...I.memory(SIMD.load), ...set(vector)],
      ...[...lanes(first), ...lanes(second), SIMD.i8Narrow16U, ...get(kept), SIMD.and, ...set(vector)],
      ...[
        ...element(out, done, log2),
        ...get(vector),
        ...(written === 'is' ? [...splat(get(one)), SIMD.i8Eq, ...splat(oneByte), SIMD.and] : []),
      ],
      ...I.memory(SIMD.store),
      ...[...get(most), ...get(vector), SIMD.i8MaxU, ...set(most)],
      ...[...moved(done, num(SPREAD)), ...moved(at, [...get(width), ...num(1), OP.i32Shl])],
    ],
  )
  /** Sets for each lane the two bytes that contain its index, and the factor 2 ** (8 - bits before the index in these bytes). */
  const byLane = [
    ...[...eachLane((i) => i), ...get(width), SIMD.i16Splat, SIMD.i16Mul, ...set(vector)],
    ...[...get(vector), ...num(3), SIMD.i16ShrU, ...eachLane(() => 0x101), SIMD.i16Mul],
    ...[...eachLane(() => 0x100), SIMD.i16Add, ...set(first), ...get(first), ...splat(get(width)), SIMD.i8Add, ...set(second)],
    ...[...eachLane((i) => 2 ** (8 - i)), ...get(vector), ...eachLane(() => 7), SIMD.and, ...eachLane(() => 0x202), SIMD.i16Mul],
    ...[...eachLane(() => 0x100), SIMD.i16Add, SIMD.i8Swizzle, ...set(factors), ...splat(get(mask)), ...set(kept)],
  ]
  const byWidth: Code = !isByte ? byWords : [get(width), num(SPREAD_BITS), OP.i32LeU, I.if(), byLane, spread, OP.end, byWords]
  const single = [
    ...[...wordAt([...get(last), ...get(width), OP.i32Mul]), ...nextPlace, ...noted, ...moved(last, num(1))],
    ...[...element(out, done, log2), ...entry, ...I.memory(store), ...moved(done, num(1))],
  ]
  const left = [...get(count), ...get(done), OP.i32Sub]
  const packed = [
    // at most as many groups as are needed: bits after the last value are not looked at
    ...[...least([...get(header), ...num(1), OP.i32ShrU], [...left, ...num(3), OP.i32ShrU, ...num(1), OP.i32Add]), ...set(groups)],
    ...[...get(done), ...least([...get(groups), ...num(3), OP.i32Shl], left), OP.i32Add, ...set(end)],
    ...[...get(end), ...get(done), OP.i32Sub, ...get(width), OP.i32Mul, ...num(7), OP.i32Add, ...num(3), OP.i32ShrU],
    ...trapIf([...get(length), ...get(at), OP.i32Sub, OP.i32GtS]),
    // values that do not fill a group are the last of the page
    ...[byWidth, ...num(0), ...set(last), while_([...get(done), ...get(end), OP.i32LtS], single)],
  ]
  const repeated = [
    ...[
      ...wordAt(num(0)),
      ...get(word),
      ...get(whole),
      OP.i64And,
      OP.i32WrapI64,
      ...set(index),
      ...moved(at, [...get(width), ...num(7), OP.i32Add, ...num(3), OP.i32ShrU]),
    ],
    ...trapIf([...get(at), ...get(length), OP.i32GtS, ...isFar, OP.i32Or]),
    ...[...get(done), ...least([...get(header), ...num(1), OP.i32ShrU], left), OP.i32Add, ...set(end)],
    ...while_([...get(done), ...get(end), OP.i32LtS], [...element(out, done, log2), ...entry, ...I.memory(store), ...moved(done, num(1))]),
  ]
  const body: Code = [
    ...trapIf([...get(width), ...num(MOST_PLACE_BITS), OP.i32GtU, ...get(count), ...num(MOST_PAGE_VALUES), OP.i32GtU, OP.i32Or]),
    ...[...num(1), ...get(width), OP.i32Shl, ...num(1), OP.i32Sub, ...set(mask), ...get(width), OP.i64ExtendI32U, ...set(step)],
    ...[
      ...I.i64Const(1),
      ...get(width),
      ...num(7),
      OP.i32Add,
      ...num(-8),
      OP.i32And,
      OP.i64ExtendI32U,
      OP.i64Shl,
      ...I.i64Const(1),
      OP.i64Sub,
      ...set(whole),
    ],
    while_(
      [...get(done), ...get(count), OP.i32LtS],
      [
        ...[...readHeader, ...trapIf([...get(header), ...num(1), OP.i32LeU, ...get(entries), OP.i32Eqz, OP.i32Or])], // no values, or no entries
        ...[...get(header), ...num(1), OP.i32And, ...I.if(), packed, OP.else, repeated, OP.end],
      ],
    ),
    ...trapIf(get(far)),
    ...trapIf([...get(most), ...splat([...get(entries), ...num(1), OP.i32Sub]), SIMD.i8GtU, SIMD.anyTrue]),
  ]
  return {
    imports: [],
    parameters: ['address', 'i32', 'i32', 'i32', 'i32', 'address', 'address', 'i32'],
    locals: [...new Array<'i32'>(13).fill('i32'), ...new Array<'i64'>(3).fill('i64'), ...new Array<'v128'>(6).fill('v128')],
    body,
  }
}

/** The bytes of a text that are copied at once. */
const VECTOR = 16

/**
 * run(source, length, count, ends, out, before): appends `count` texts to the `before` bytes that `out` has, and writes where each ends.
 * Traps where the texts do not end with the source, or one begins with a continuation byte of UTF-8. It may read READ_BEHIND
 * bytes behind the source, and write as many behind the `length - 4 * count` bytes of all texts together.
 */
export function plainTextsKernel(): KernelModule {
  const { source, length, count, ends, out, before, at, row, size, from, left, odd, room } = numbered(
    ...(['source', 'length', 'count', 'ends', 'out', 'before', 'at', 'row', 'size', 'from', 'left', 'odd', 'room'] as const),
  )
  const moved = (local: number, by: Code): Code => [get(local), by, OP.i32Add, set(local)]
  const trapIf = (test: Code): Code => [test, I.if(), OP.unreachable, OP.end]
  const to = [get(out), get(before), OP.i32Add]
  const vector = (shift: Code): Code => [[to, shift], [get(from), shift, I.memory(SIMD.load)], I.memory(SIMD.store)]
  const nothing: Code = []
  const further = [get(left), OP.i32Add]
  // `room` is what the lengths of the texts still to come leave to texts: no text takes more, so those lengths lie in the source
  const each = [
    [element(source, at, 0), I.memory(OP.i32Load), set(size), moved(at, num(4)), trapIf([get(size), get(room), OP.i32GtU])],
    [get(room), get(size), OP.i32Sub, set(room)],
    [element(source, at, 0), I.localTee(from), I.memory(OP.i32Load8U), num(0xc0), OP.i32And, num(0x80), OP.i32Eq],
    [get(size), num(0), OP.i32GtS, OP.i32And, get(odd), OP.i32Or, set(odd), vector(nothing)],
    [get(size), num(VECTOR), OP.i32GtS, I.if(), num(VECTOR), set(left), I.loop, vector(further), moved(left, num(VECTOR))],
    [get(left), get(size), OP.i32LtS, I.brIf(0), OP.end, OP.end],
    [moved(at, get(size)), moved(before, get(size)), element(ends, row, 2), get(before), I.memory(OP.i32Store)],
  ]
  return {
    imports: [],
    parameters: ['address', 'i32', 'i32', 'address', 'address', 'i32'],
    locals: new Array<'i32'>(7).fill('i32'),
    body: [
      [get(length), get(count), num(2), OP.i32Shl, OP.i32Sub, I.localTee(room), num(0), OP.i32LtS, I.if(), OP.unreachable, OP.end],
      counting(row, count, each),
      trapIf([get(room), get(odd), OP.i32Or]),
    ],
  }
}
