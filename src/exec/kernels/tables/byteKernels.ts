/**
 * Look-ups of bytes in tables, sixteen rows at a time:
 *
 *     keys     3 0 0 2 …       a byte each, counted from 0
 *     table    a b c d …       a byte for every key, in vectors of sixteen: one swizzle each, by the keys less its first key
 *     found    d a a c …       the or of all swizzles, which give 0 for keys of other vectors
 *
 * The set kernel does what `semiKernel` does, by the same frame: a row's bit is the byte of its key. The map kernel writes bytes
 * over the keys, or elsewhere. Tables are padded with zeros; where a single byte is not 0, its key is compared instead.
 */

import { type Code, get, I, num, OP, SIMD, set } from '../../kir/instructions.ts'
import type { KernelModule } from '../../kir/kernelModule.ts'
import { vectorConst } from '../../kir/simd.ts'
import { BLOCK_ROWS } from '../columns/wasmColumns.ts'
import { element } from './groupFrame.ts'
import { SEMI_FRAME, type SemiShape } from './semiKernel.ts'
import { counting, numbered } from './sortKernels.ts'

/** The bytes of a vector. */
export const TABLE_BYTES = 16
const LOG2_TABLE = 4
const WORD_ROWS = 32
const splat = (byte: number): Code => vectorConst(new Uint8Array(TABLE_BYTES).fill(byte))

/** Loads the vectors of the table at the address in local `table` into locals from `first` on. */
function loaded(table: number, first: number, tables: number): Code {
  return Array.from({ length: tables }, (_, t) => [...get(table), ...I.memory(SIMD.load, TABLE_BYTES * t), ...set(first + t)])
}

/** Looks up the keys in local `keys`. */
function found(keys: number, first: number, tables: number): Code {
  const inTable = (t: number): Code => [...get(first + t), ...get(keys), ...(t === 0 ? [] : [...splat(TABLE_BYTES * t), SIMD.i8Sub])]
  return Array.from({ length: tables }, (_, t) => [...inTable(t), SIMD.i8Swizzle, ...(t === 0 ? [] : [SIMD.or])])
}

/** run(frame, from, to): the semi-join kernel for a set of `tables` vectors, whose bytes are 0 or 1. */
export function byteSetKernel({ nullable, anti, narrows }: Omit<SemiShape, 'type'>, tables: number): KernelModule {
  const { frame, row, to, key, keyBits, present, bitmap, counts, word, place, count, keys, first } = numbered(
    ...(['frame', 'row', 'to', 'key', 'keyBits', 'present', 'bitmap', 'counts', 'word', 'place', 'count', 'keys', 'first'] as const),
  )
  const slots = { key, keyBits, present, bitmap, counts }
  const load = Object.entries(slots).map(([name, local]): Code => {
    const slot = SEMI_FRAME.indexOf(name as keyof typeof slots)
    return [...get(frame), ...I.addressLoad(8 * slot), ...set(local)]
  })
  const half = (at: number): Code => [
    ...[...element(key, row, 0), ...I.memory(SIMD.load, at), ...set(keys), ...found(keys, first, tables)],
    ...[...splat(1), SIMD.i8Eq, SIMD.i8Bitmask, ...num(at), OP.i32Shl],
  ]
  const wordOf = (bits: number): Code => [...get(bits), ...get(place), OP.i32Add]
  const left = [...get(to), ...get(row), OP.i32Sub]
  const eachWord = [
    ...[...get(row), ...num(5), OP.i32ShrU, ...num(2), OP.i32Shl, ...set(place), ...half(0), ...half(TABLE_BYTES), OP.i32Or],
    ...(nullable ? [...wordOf(keyBits), ...I.memory(OP.i32Load), OP.i32And] : []),
    ...(anti ? [...num(-1), OP.i32Xor] : []),
    ...(narrows ? [...wordOf(bitmap), ...I.memory(OP.i32Load), OP.i32And] : []),
    ...set(word),
    ...[...left, ...num(WORD_ROWS), OP.i32LtS, ...I.if(), ...get(word), ...num(1), ...left, OP.i32Shl, ...num(1), OP.i32Sub, OP.i32And],
    ...[...set(word), OP.end, ...wordOf(bitmap), ...get(word), ...I.memory(OP.i32Store)],
    ...[...get(count), ...get(word), OP.i32Popcnt, OP.i32Add, ...set(count)],
    ...[...get(row), ...num(WORD_ROWS), OP.i32Add, ...I.localTee(row), ...get(to), OP.i32LtS, ...I.brIf(0)],
  ]
  const block = [...get(row), ...num(Math.log2(BLOCK_ROWS)), OP.i32ShrU, ...set(place)]
  return {
    imports: [],
    parameters: ['address', 'i32', 'i32'],
    locals: [...new Array<'i32'>(8).fill('i32'), ...new Array<'v128'>(1 + tables).fill('v128')],
    body: [
      ...[...load, ...loaded(present, first, tables), ...block, ...element(counts, place, 2), ...set(counts)],
      ...[...I.loop, ...eachWord, OP.end, ...get(counts), ...get(count), ...I.memory(OP.i32Store)],
    ],
  }
}

/** run(table, keys, count, out): writes the byte of each key; `out` may be `keys`. */
export function byteMapKernel(tables: number): KernelModule {
  const { table, keys, count, out, at, whole, vector, first } = numbered('table', 'keys', 'count', 'out', 'at', 'whole', 'vector', 'first')
  const byte = [...get(table), ...element(keys, at, 0), ...I.memory(OP.i32Load8U), OP.i32Add, ...I.memory(OP.i32Load8U)]
  return {
    imports: [],
    parameters: ['address', 'address', 'i32', 'address'],
    locals: ['i32', 'i32', ...new Array<'v128'>(1 + tables).fill('v128')],
    body: [
      ...loaded(table, first, tables),
      ...eachByte({ keys, count, out, at, whole }, [...set(vector), ...found(vector, first, tables)], byte),
    ],
  }
}

/** run(keys, count, out, key, byte): writes `byte` where the key equals `key`, and 0 for all others; `out` may be `keys`. */
export function byteIsKernel(): KernelModule {
  const { keys, count, out, key, byte, at, whole } = numbered('keys', 'count', 'out', 'key', 'byte', 'at', 'whole')
  const vector = [...get(key), SIMD.i8Splat, SIMD.i8Eq, ...get(byte), SIMD.i8Splat, SIMD.and]
  const single = [...element(keys, at, 0), ...I.memory(OP.i32Load8U), ...get(key), OP.i32Eq, ...get(byte), OP.i32Mul]
  return {
    imports: [],
    parameters: ['address', 'i32', 'address', 'i32', 'i32'],
    locals: ['i32', 'i32'],
    body: eachByte({ keys, count, out, at, whole }, vector, single),
  }
}

interface ByteLocals {
  readonly keys: number
  readonly count: number
  readonly out: number
  readonly at: number
  readonly whole: number
}

/** Writes the result for each key: for sixteen on the stack by `vector`, for the rest one at a time by `byte`. */
function eachByte({ keys, count, out, at, whole }: ByteLocals, vector: Code, byte: Code): Code {
  const load = [...element(keys, at, LOG2_TABLE), ...I.memory(SIMD.load)]
  return [
    ...[...get(count), ...num(LOG2_TABLE), OP.i32ShrU, ...set(whole)],
    ...counting(at, whole, [...element(out, at, LOG2_TABLE), ...load, ...vector, ...I.memory(SIMD.store)]),
    ...[...get(whole), ...num(LOG2_TABLE), OP.i32Shl, ...set(at)],
    ...counting(at, count, [...element(out, at, 0), ...byte, ...I.memory(OP.i32Store8)]),
  ]
}
