/**
 * Order-preserving 64-bit words of values, in WebAssembly: unsigned words compare as their values do.
 *
 *     integers    the sign bit inverted
 *     floats      the sign bit inverted, or all bits where it is set; 0 and -0 are one value, NaN comes after Infinity
 *     texts       7 bytes from an offset on, then the number of bytes left from there, 8 for more: 60 bits. Lead bytes are
 *                 permuted so that the order is that of UTF-16 code units: surrogates before U+E000 to U+FFFF
 *
 * A column's words less the least of them take as many bits as the greatest difference, so that several parts of a key fit one word.
 */

import { type Code, get, I, num, OP, type Plain, set, tee } from '../../kir/instructions.ts'
import type { KernelModule } from '../../kir/kernelModule.ts'
import { i64Const } from '../../kir/simd.ts'
import { bitOf, element } from './groupFrame.ts'
import { counting, eachRun, numbered } from './sortKernels.ts'

/** The type of a fixed-width column's values. */
export type SortForm = 'f64' | 'f32' | 'i64' | 'u64' | 'i32' | 'u32' | 'i16' | 'u16' | 'i8' | 'u8'

export const FORM_LOG2: { readonly [F in SortForm]: number } = {
  ...{ f64: 3, f32: 2, i64: 3, u64: 3, i32: 2, u32: 2, i16: 1, u16: 1, i8: 0, u8: 0 },
}

const SIGN = i64Const(-(2n ** 63n))

interface Locals {
  readonly at: number
  readonly wide: number
  readonly float: number
  readonly single: number
  readonly raw: number
}

/** Computes the word of the value at the address in local `at`. */
function wordAt(form: SortForm, { at, wide, float, single, raw }: Locals): Code {
  const signed = (load: Plain): Code => [...get(at), ...I.memory(load), OP.i64ExtendI32S, ...SIGN, OP.i64Xor]
  const unsigned = (load: Plain): Code => [...get(at), ...I.memory(load), OP.i64ExtendI32U]
  switch (form) {
    case 'f64':
      return [
        ...[...get(at), ...I.memory(OP.f64Load), ...I.f64Const(0), OP.f64Add, ...set(float)],
        ...[...i64Const(0x7ff8000000000000n), ...get(float), OP.i64ReinterpretF64, ...get(float), ...get(float), OP.f64Ne, OP.select],
        ...[...tee(wide), ...get(wide), ...i64Const(63n), OP.i64ShrS, ...SIGN, OP.i64Or, OP.i64Xor],
      ]
    case 'f32':
      return [
        ...[...get(at), ...I.memory(OP.f32Load), ...set(single), ...get(at), ...I.memory(OP.i32Load), ...set(raw)],
        ...[...get(raw), ...num(1), OP.i32Shl, OP.i32Eqz, ...I.if(), ...num(0), ...set(raw), OP.end],
        ...[...get(single), ...get(single), OP.f32Ne, ...I.if(), ...num(0x7fc00000), ...set(raw), OP.end],
        ...[...get(raw), ...get(raw), ...num(31), OP.i32ShrS, ...num(-(2 ** 31)), OP.i32Or, OP.i32Xor, OP.i64ExtendI32U],
      ]
    case 'i64':
      return [...get(at), ...I.memory(OP.i64Load), ...SIGN, OP.i64Xor]
    case 'u64':
      return [...get(at), ...I.memory(OP.i64Load)]
    case 'i32':
      return signed(OP.i32Load)
    case 'u32':
      return unsigned(OP.i32Load)
    case 'i16':
      return signed(OP.i32Load16S)
    case 'u16':
      return unsigned(OP.i32Load16U)
    case 'i8':
      return signed(OP.i32Load8S)
    case 'u8':
      return unsigned(OP.i32Load8U)
  }
}

const VALUE_LOCALS = ['i32', 'i64', 'f64', 'f32', 'i32'] as const

/** run(values, bits, from, to, out): widens the least and the greatest word at `out` by those of the values that are not null. */
export function spanKernel(form: SortForm, nullable: boolean): KernelModule {
  const { values, bits, from, to, out, least, most, word, ...locals } = numbered(
    ...(['values', 'bits', 'from', 'to', 'out', 'at', 'wide', 'float', 'single', 'raw', 'least', 'most', 'word'] as const),
  )
  const better = (best: number, compare: Plain): Code => [
    ...get(word),
    ...get(best),
    ...get(word),
    ...get(best),
    compare,
    OP.select,
    ...set(best),
  ]
  const each = [
    ...[...element(values, from, FORM_LOG2[form]), ...set(locals.at), ...wordAt(form, locals), ...set(word)],
    ...[...better(least, OP.i64LtU), ...better(most, OP.i64GtU)],
  ]
  return {
    imports: [],
    parameters: ['address', 'address', 'i32', 'i32', 'address'],
    locals: [...VALUE_LOCALS, 'i64', 'i64', 'i64'],
    body: [
      ...[...get(out), ...I.memory(OP.i64Load), ...set(least), ...get(out), ...I.memory(OP.i64Load, 8), ...set(most)],
      ...counting(from, to, nullable ? [...bitOf(bits, from), ...I.if(), ...each, OP.end] : each),
      ...[...get(out), ...get(least), ...I.memory(OP.i64Store), ...get(out), ...get(most), ...I.memory(OP.i64Store, 8)],
    ],
  }
}

export interface WordOptions {
  readonly nullable: boolean
  /** Whether the column is the first part of the words, which then have no content yet. */
  readonly first: boolean
}

/** run(values, bits, from, to, words, flip, base, ofNull, dropped, width): appends `width` bits of ((word ^ flip) - base) >>> dropped. */
export function wordsKernel(form: SortForm, { nullable, first }: WordOptions): KernelModule {
  const { values, bits, from, to, words, flip, base, ofNull, dropped, width, place, mask, ...locals } = numbered(
    ...(['values', 'bits', 'from', 'to', 'words', 'flip', 'base', 'ofNull', 'dropped', 'width'] as const),
    ...(['at', 'wide', 'float', 'single', 'raw', 'place', 'mask'] as const),
  )
  const own = [
    ...[...element(values, from, FORM_LOG2[form]), ...set(locals.at), ...wordAt(form, locals)],
    ...[...get(flip), OP.i64Xor, ...get(base), OP.i64Sub],
  ]
  const value = nullable ? [...bitOf(bits, from), ...I.if('i64'), ...own, OP.else, ...get(ofNull), OP.end] : own
  const piece = [...value, ...get(dropped), OP.i64ShrU, ...get(mask), OP.i64And]
  const before = first ? [] : [...get(place), ...I.memory(OP.i64Load), ...get(width), OP.i64Shl]
  const each = [...[...element(words, from, 3), ...tee(place), ...before, ...piece, ...(first ? [] : [OP.i64Or]), ...I.memory(OP.i64Store)]]
  return {
    imports: [],
    parameters: ['address', 'address', 'i32', 'i32', 'address', 'i64', 'i64', 'i64', 'i64', 'i64'],
    locals: [...VALUE_LOCALS, 'i32', 'i64'],
    // widths are 1 to 64
    body: [...i64Const(-1n), ...i64Const(64n), ...get(width), OP.i64Sub, OP.i64ShrU, ...set(mask), ...counting(from, to, each)],
  }
}

const PAIRS = i64Const(0x00ff00ff00ff00ffn)
const QUADS = i64Const(0x0000ffff0000ffffn)
const HIGH_BITS = i64Const(-0x7f7f7f7f7f7f7f80n)

/** Reverses the bytes of a local. */
function turned(local: number): Code {
  const swapped = (mask: Code, by: bigint): Code => [
    ...[...get(local), ...mask, OP.i64And, ...i64Const(by), OP.i64Shl],
    ...[...get(local), ...i64Const(by), OP.i64ShrU, ...mask, OP.i64And, OP.i64Or, ...set(local)],
  ]
  const halves = [...get(local), ...i64Const(32n), OP.i64Shl, ...get(local), ...i64Const(32n), OP.i64ShrU, OP.i64Or, ...set(local)]
  return [...swapped(PAIRS, 8n), ...swapped(QUADS, 16n), ...halves]
}

/** run(bytes, offsets, bits, list, end, rows, out, skip, flip, ofNull): words of texts from byte `skip` on, of the rows in the runs. */
export function textWordsKernel({ nullable, listed }: { readonly nullable: boolean; readonly listed: boolean }): KernelModule {
  const { bytes, offsets, bits, list, end, rows, out, skip, flip, ofNull, i, after, row, textEnd, left, shift, byte, word } = numbered(
    ...(['bytes', 'offsets', 'bits', 'list', 'end', 'rows', 'out', 'skip', 'flip', 'ofNull'] as const),
    ...(['i', 'after', 'row', 'textEnd', 'left', 'shift', 'byte', 'word'] as const),
  )
  const offset = (at: number): Code => [...element(offsets, row, 2), ...I.memory(OP.i32Load, at)]
  const wide = (local: number): Code => [...get(local), OP.i64ExtendI32U]
  // the 8 bytes that end with the text, shifted so that only those of the text are left
  const few = [
    ...[...get(textEnd), ...num(8), OP.i32Sub, ...I.memory(OP.i64Load)],
    ...[...num(8), ...get(left), OP.i32Sub, ...num(3), OP.i32Shl, OP.i64ExtendI32U, OP.i64ShrU],
  ]
  const loaded = [
    ...[...get(left), ...num(8), OP.i32GeS, ...I.if('i64'), ...get(textEnd), ...get(left), OP.i32Sub, ...I.memory(OP.i64Load)],
    ...[OP.else, ...get(left), ...I.if('i64'), ...few, OP.else, ...i64Const(0n), OP.end, OP.end, ...set(word)],
  ]
  const highs = [...get(word), ...get(word), ...i64Const(1n), OP.i64Shl, OP.i64And, ...get(word), ...i64Const(2n), OP.i64Shl, OP.i64And]
  const moved = (by: number): Code => [...get(word), ...i64Const(BigInt(by)), ...wide(shift), OP.i64Shl, OP.i64Add, ...set(word)]
  // 0xee and 0xef become 0xf3 and 0xf4, and 0xf0 to 0xf4 become 0xee to 0xf2
  const exchanged = [
    ...[...num(0), ...set(shift), ...I.loop],
    ...[...get(word), ...wide(shift), OP.i64ShrU, OP.i32WrapI64, ...num(255), OP.i32And, ...tee(byte), ...num(0xee), OP.i32GeS, ...I.if()],
    ...[...get(byte), ...num(0xf0), OP.i32GeS, ...I.if(), ...moved(-2), OP.else, ...moved(5), OP.end, OP.end],
    ...[...get(shift), ...num(8), OP.i32Add, ...tee(shift), ...num(64), OP.i32LtS, ...I.brIf(0), OP.end],
  ]
  const own = [
    ...[...get(bytes), ...offset(4), OP.i32Add, ...set(textEnd)],
    ...[...offset(4), ...offset(0), OP.i32Sub, ...get(skip), OP.i32Sub, ...tee(left), ...num(0), OP.i32LtS, ...I.if()],
    ...[...num(0), ...set(left), OP.end, ...loaded],
    ...[...highs, ...HIGH_BITS, OP.i64And, OP.i64Eqz, OP.i32Eqz, ...I.if(), ...exchanged, OP.end, ...turned(word)],
    ...[...get(word), ...i64Const(8n), OP.i64ShrU, ...i64Const(4n), OP.i64Shl],
    ...[...get(left), ...num(8), ...get(left), ...num(8), OP.i32LtS, OP.select, OP.i64ExtendI32U, OP.i64Or, ...get(flip), OP.i64Xor],
  ]
  const value = nullable ? [...bitOf(bits, row), ...I.if('i64'), ...own, OP.else, ...get(ofNull), OP.end] : own
  const each = [
    ...[...(listed ? [...element(rows, i, 2), ...I.memory(OP.i32Load)] : get(i)), ...set(row)],
    ...[...element(out, i, 3), ...value, ...I.memory(OP.i64Store)],
  ]
  return {
    imports: [],
    parameters: [...new Array<'address'>(7).fill('address'), 'i32', 'i64', 'i64'],
    locals: [...new Array<'i32'>(7).fill('i32'), 'i64'],
    body: eachRun(list, end, [i, after], counting(i, after, each)),
  }
}

/** run(bytes, offsets, bits, from, to, reference, out): lowers `out` to the length of the prefix that all texts share with `reference`. */
export function prefixKernel(nullable: boolean): KernelModule {
  const { bytes, offsets, bits, from, to, reference, out, start, length, shared, k } = numbered(
    ...(['bytes', 'offsets', 'bits', 'from', 'to', 'reference', 'out', 'start', 'length', 'shared', 'k'] as const),
  )
  const offset = (at: number): Code => [...element(offsets, from, 2), ...I.memory(OP.i32Load, at)]
  const byteAt = (base: number): Code => [...get(base), ...get(k), OP.i32Add, ...I.memory(OP.i32Load8U)]
  const each = [
    ...[...get(bytes), ...offset(0), OP.i32Add, ...set(start), ...offset(4), ...offset(0), OP.i32Sub, ...tee(length)],
    ...[...get(shared), OP.i32LtS, ...I.if(), ...get(length), ...set(shared), OP.end, ...num(0), ...set(k)],
    ...[...I.block(), ...I.loop, ...get(k), ...get(shared), OP.i32GeS, ...I.brIf(1)],
    ...[
      ...byteAt(start),
      ...byteAt(reference),
      OP.i32Ne,
      ...I.brIf(1),
      ...get(k),
      ...num(1),
      OP.i32Add,
      ...set(k),
      ...I.br(0),
      OP.end,
      OP.end,
    ],
    ...[...get(k), ...set(shared)],
  ]
  return {
    imports: [],
    parameters: ['address', 'address', 'address', 'i32', 'i32', 'address', 'address'],
    locals: new Array<'i32'>(4).fill('i32'),
    body: [
      ...[...get(out), ...I.memory(OP.i32Load), ...set(shared)],
      ...counting(from, to, nullable ? [...bitOf(bits, from), ...I.if(), ...each, OP.end] : each),
      ...[...get(out), ...get(shared), ...I.memory(OP.i32Store)],
    ],
  }
}
