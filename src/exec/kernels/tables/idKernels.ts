/**
 * Hash tables from keys to ids as WebAssembly, with the table in the arena: what `exec/tables/operators/hashing/keyTable.ts` does in JavaScript.
 *
 *     words   keys of two 32-bit words: numbers, 64-bit integers, pairs of ids          an entry: low, high
 *     texts   keys of bytes, which stay where they lie in their column                  an entry: place, length, hash
 *
 *     run(frame, from, to)      the id of every row from `from` to `to` goes to its place in `out`
 *
 * Open addressing with linear probing; a slot holds id + 1, 0 is free. The caller sees to it that there are free slots and
 * entries for all rows of a run. Equal bytes are equal texts; a text of up to 7 bytes is told by its hash and length.
 */

import { type Code, get, I, num, OP, type Plain, set, tee } from '../../kir/instructions.ts'
import type { AddressType, KernelModule } from '../../kir/kernelModule.ts'
import { i64Const } from '../../kir/simd.ts'
import { bitOf, element } from './groupFrame.ts'

/** The storage of a key from which its two words are read; `pair`: two columns of ids. */
export type WordForm = 'byte' | 'half' | 'word' | 'f32' | 'f64' | 'long' | 'pair'

/** `adds`: unknown keys get the next id, else -1; `nullable`: rows whose validity bit is 0 are skipped. */
export interface IdOptions {
  readonly adds: boolean
  readonly nullable: boolean
}

/** The offsets of the frame's fields in bytes: six addresses of 8 bytes, then two words. `entries` lies one entry before the first one. */
export const ID_FRAME = { a: 0, b: 8, bits: 16, out: 24, slots: 32, entries: 40, mask: 48, size: 52 } as const
export const ID_FRAME_BYTES = 56

export const WORD_ENTRY_BYTES = 8

/** The offsets of the fields in a text's entry, in bytes; only 64-bit addresses need 8 bytes for the place. */
export interface TextEntry {
  readonly log2Bytes: number
  readonly place: number
  readonly length: number
  readonly hash: number
}
export const TEXT_ENTRIES: { readonly [A in AddressType]: TextEntry } = {
  i32: { log2Bytes: 4, place: 0, length: 4, hash: 8 },
  i64: { log2Bytes: 5, place: 0, length: 16, hash: 8 },
}

const [FRAME, ROW, TO, A, B, BITS, OUT, SLOTS, ENTRIES, MASK, SIZE] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
const [HASH, PLACE, ID, LOW, HIGH, ENTRY, X, Y, WIDE, VALUE, SMALL] = [11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21]
const LOCALS = [...new Array<'i32'>(16).fill('i32'), 'i64', 'f64', 'f32'] as const
const [START, LENGTH] = [LOW, HIGH]

const PROLOGUE: Code = (['a', 'b', 'bits', 'out', 'slots', 'entries', 'mask', 'size'] as const).flatMap((name, i) => [
  ...get(FRAME),
  ...(name === 'mask' || name === 'size' ? I.memory(OP.i32Load, ID_FRAME[name]) : I.addressLoad(ID_FRAME[name])),
  ...set(A + i),
])
const EPILOGUE: Code = [...get(FRAME), ...get(SIZE), ...I.memory(OP.i32Store, ID_FRAME.size)]

/** Sets HASH from LOW and HIGH, to the same as `hashOf` of the table in JavaScript, which rehashes when tables grow. */
const HASHED: Code = [
  ...[...get(LOW), ...num(0x9e3779b1), OP.i32Mul, ...get(HIGH), ...num(0x85ebca6b), OP.i32Mul, OP.i32Xor, ...tee(HASH)],
  ...[...get(HASH), ...num(15), OP.i32ShrU, OP.i32Xor, ...num(0xc2b2ae35), OP.i32Mul, ...tee(HASH)],
  ...[...get(HASH), ...num(13), OP.i32ShrU, OP.i32Xor, ...set(HASH)],
]

/** Sets LOW and HIGH from the row, so that they are equal exactly where the values are: 0 and -0 are one value, and so are all NaNs. */
const WORDS: { readonly [F in WordForm]: Code } = {
  byte: [...element(A, ROW, 0), ...I.memory(OP.i32Load8U), ...set(LOW)],
  half: [...element(A, ROW, 1), ...I.memory(OP.i32Load16U), ...set(LOW)],
  word: [...element(A, ROW, 2), ...I.memory(OP.i32Load), ...set(LOW)],
  f32: [
    ...[...element(A, ROW, 2), ...tee(X), ...I.memory(OP.i32Load), ...set(LOW), ...get(X), ...I.memory(OP.f32Load), ...tee(SMALL)],
    ...[...get(SMALL), OP.f32Ne, ...I.if(), ...num(0x7fc00000), ...set(LOW), OP.end],
    ...[...get(LOW), ...num(1), OP.i32Shl, OP.i32Eqz, ...I.if(), ...num(0), ...set(LOW), OP.end],
  ],
  f64: [
    ...[...element(A, ROW, 3), ...tee(X), ...I.memory(OP.i32Load), ...set(LOW), ...get(X), ...I.memory(OP.i32Load, 4), ...set(HIGH)],
    ...[...get(X), ...I.memory(OP.f64Load), ...tee(VALUE), ...get(VALUE), OP.f64Ne, ...I.if()],
    ...[...num(0), ...set(LOW), ...num(0x7ff80000), ...set(HIGH), OP.end],
    ...[...get(VALUE), ...I.f64Const(0), OP.f64Eq, ...I.if(), ...num(0), ...tee(LOW), ...set(HIGH), OP.end],
  ],
  long: [...element(A, ROW, 3), ...tee(X), ...I.memory(OP.i32Load), ...set(LOW), ...get(X), ...I.memory(OP.i32Load, 4), ...set(HIGH)],
  pair: [...element(A, ROW, 2), ...I.memory(OP.i32Load), ...set(LOW), ...element(B, ROW, 2), ...I.memory(OP.i32Load), ...set(HIGH)],
}

/** Ids of two-word keys. Where nothing is added, a pair with a negative part gets -1 without a look-up: that part is missing. */
export function wordIdsKernel(form: WordForm, options: IdOptions): KernelModule {
  const same = [
    ...get(ENTRY),
    ...I.memory(OP.i32Load),
    ...get(LOW),
    OP.i32Eq,
    ...get(ENTRY),
    ...I.memory(OP.i32Load, 4),
    ...get(HIGH),
    OP.i32Eq,
  ]
  const added = [...get(ENTRY), ...get(LOW), ...I.memory(OP.i32Store), ...get(ENTRY), ...get(HIGH), ...I.memory(OP.i32Store, 4)]
  const found = [...HASHED, ...probe({ log2Bytes: 3, differs: [...same, OP.i32And, OP.i32Eqz, ...I.brIf(0)], added, adds: options.adds })]
  const missing = [...get(LOW), ...get(HIGH), OP.i32Or, ...num(0), OP.i32LtS, ...I.if(), ...stored(num(-1)), OP.else]
  const guarded = form === 'pair' && !options.adds ? [...missing, ...found, OP.end] : found
  return idsModule([...WORDS[form], ...guarded], options)
}

const FACTOR = i64Const(0x9e3779b97f4a7c15n)
const SECOND = i64Const(0xd6e8feb86659fd93n)

/** Mixes a value into WIDE: for texts of one length, different values give different results. Each half affects both halves. */
function mixed(value: Code): Code {
  const folded = [...tee(WIDE), ...get(WIDE), ...i64Const(32n), OP.i64ShrU, OP.i64Xor]
  return [...get(WIDE), ...value, OP.i64Xor, ...folded, ...SECOND, OP.i64Mul, ...folded, ...set(WIDE)]
}

function bytesAt(address: Code, opcode: Plain, offset = 0): Code {
  return [...address, ...I.memory(opcode, offset)]
}

const END_OF_TEXT: Code = [...get(START), ...get(LENGTH), OP.i32Add]

/** Runs `each` for X = START, START + 8, … as long as 8 bytes are left; there are 8 at least. Y advances with X. */
function eightByEight(each: Code): Code {
  const step = (local: number): Code => [...get(local), ...num(8), OP.i32Add, ...set(local)]
  return [
    ...[...get(START), ...set(X), ...I.loop, ...each, ...step(X), ...step(Y)],
    ...[...END_OF_TEXT, ...get(X), OP.i32Sub, ...num(8), OP.i32GeS, ...I.brIf(0), OP.end],
  ]
}

/** Loads the last 8 bytes of the text that begins at address `start`. */
function lastEight(start: Code): Code {
  return bytesAt([...start, ...get(LENGTH), OP.i32Add, ...num(8), OP.i32Sub], OP.i64Load)
}

const TEXT_HASHED: Code = [
  ...[...get(LENGTH), OP.i64ExtendI32U, ...FACTOR, OP.i64Mul, ...set(WIDE)],
  ...[...get(LENGTH), ...num(8), OP.i32GeS, ...I.if()],
  ...[...eightByEight(mixed(bytesAt(get(X), OP.i64Load))), ...mixed(lastEight(get(START))), OP.else],
  ...[...get(LENGTH), ...num(4), OP.i32GeS, ...I.if()],
  ...mixed([
    ...bytesAt(get(START), OP.i64Load32U),
    ...[...bytesAt([...END_OF_TEXT, ...num(4), OP.i32Sub], OP.i64Load32U), ...i64Const(32n), OP.i64Shl, OP.i64Or],
  ]),
  ...[OP.else, ...get(LENGTH), ...I.if()],
  ...mixed([
    ...bytesAt(get(START), OP.i32Load8U),
    ...[...bytesAt([...get(START), ...get(LENGTH), ...num(1), OP.i32ShrU, OP.i32Add], OP.i32Load8U), ...num(8), OP.i32Shl, OP.i32Or],
    ...[...bytesAt([...END_OF_TEXT, ...num(1), OP.i32Sub], OP.i32Load8U), ...num(16), OP.i32Shl, OP.i32Or, OP.i64ExtendI32U],
  ]),
  ...[OP.end, OP.end, OP.end, ...get(WIDE), OP.i32WrapI64, ...set(HASH)],
]

/** Sets START and LENGTH, the address and the number of bytes of the row's text. */
const TEXT: Code = [
  ...[...get(A), ...element(B, ROW, 2), ...I.memory(OP.i32Load), OP.i32Add, ...set(START)],
  ...[...element(B, ROW, 2), ...I.memory(OP.i32Load, 4), ...element(B, ROW, 2), ...I.memory(OP.i32Load), OP.i32Sub, ...set(LENGTH)],
]

/** The hash of null. */
const NULL_HASH = 0x2545f491

/**
 * run(0, from, to, a, b, bits, out): writes a 32-bit hash for each row, the same for equal values; unless the column is the `first` part of
 * the key, it is combined with the hash that `out` has from the parts before.
 */
export function hashKernel(
  form: WordForm | 'texts',
  { nullable, first }: { readonly nullable: boolean; readonly first: boolean },
): KernelModule {
  const hashed = form === 'texts' ? [...TEXT, ...TEXT_HASHED] : [...WORDS[form], ...HASHED]
  const value = nullable ? [...bitOf(BITS, ROW), ...I.if(), ...hashed, OP.else, ...num(NULL_HASH), ...set(HASH), OP.end] : hashed
  const before = [...element(OUT, ROW, 2), ...I.memory(OP.i32Load), ...num(0x9e3779b1), OP.i32Mul, ...get(HASH), OP.i32Add, ...tee(HASH)]
  const together = [
    ...[...before, ...get(HASH), ...num(16), OP.i32ShrU, OP.i32Xor, ...num(0x85ebca6b), OP.i32Mul, ...tee(HASH)],
    ...[...get(HASH), ...num(13), OP.i32ShrU, OP.i32Xor, ...set(HASH)],
  ]
  const each = [...value, ...(first ? [] : together), ...stored(get(HASH))]
  const body = [
    ...[...I.block(), ...get(ROW), ...get(TO), OP.i32GeS, ...I.brIf(0), ...I.loop, ...each],
    ...[...get(ROW), ...num(1), OP.i32Add, ...tee(ROW), ...get(TO), OP.i32LtS, ...I.brIf(0), OP.end, OP.end],
  ]
  const parameters = ['i32', 'i32', 'i32', 'address', 'address', 'address', 'address'] as const
  return { imports: [], parameters, locals: LOCALS.slice(parameters.length - 3), body }
}

/** Ids of texts: the row's text is the bytes from offset b[row] to b[row + 1] of a. */
export function textIdsKernel(options: IdOptions, layout: TextEntry): KernelModule {
  const place = [...get(ENTRY), ...I.addressLoad(layout.place)]
  const otherBytes = (here: Code, there: Code): Code => [...here, ...there, OP.i64Ne, ...I.brIf(2)]
  // a difference branches to the next slot: depth 1 inside the `if`, depth 2 in the loop inside it
  const differs: Code = [
    ...[...bytesAt(get(ENTRY), OP.i64Load, layout.hash), ...get(WIDE), OP.i64Ne],
    ...[...bytesAt(get(ENTRY), OP.i32Load, layout.length), ...get(LENGTH)],
    ...[OP.i32Ne, OP.i32Or, ...I.brIf(0), ...get(LENGTH), ...num(8), OP.i32GeS, ...I.if(), ...place, ...set(Y)],
    ...eightByEight(otherBytes(bytesAt(get(X), OP.i64Load), bytesAt(get(Y), OP.i64Load))),
    ...[...lastEight(get(START)), ...lastEight(place), OP.i64Ne, ...I.brIf(1), OP.end],
  ]
  const added = [
    ...[...get(ENTRY), ...get(START), ...I.addressStore(layout.place)],
    ...[...get(ENTRY), ...get(LENGTH), ...I.memory(OP.i32Store, layout.length)],
    ...[...get(ENTRY), ...get(WIDE), ...I.memory(OP.i64Store, layout.hash)],
  ]
  return idsModule([...TEXT, ...TEXT_HASHED, ...probe({ log2Bytes: layout.log2Bytes, differs, added, adds: options.adds })], options)
}

interface Probe {
  readonly log2Bytes: number
  /** Code that branches by `brIf(0)`, at its own level, where the entry at ENTRY has another key. */
  readonly differs: Code
  /** Code that writes the new entry at ENTRY. */
  readonly added: Code
  readonly adds: boolean
}

/** Probes the table from slot HASH on, adds the key where it is missing and `adds` is set, and stores its id. */
function probe({ log2Bytes, differs, added, adds }: Probe): Code {
  const entry = [...get(ENTRIES), ...get(ID), ...num(log2Bytes), OP.i32Shl, OP.i32Add, ...set(ENTRY)]
  const isNew = adds
    ? [
        ...[...get(SIZE), ...num(1), OP.i32Add, ...tee(SIZE), ...set(ID), ...get(PLACE), ...get(ID), ...I.memory(OP.i32Store)],
        ...[...entry, ...added],
      ]
    : []
  return [
    ...[...I.block(), ...I.loop],
    ...[...get(SLOTS), ...get(HASH), ...get(MASK), OP.i32And, ...num(2), OP.i32Shl, OP.i32Add, ...tee(PLACE), ...I.memory(OP.i32Load)],
    ...[...tee(ID), OP.i32Eqz, ...I.if(), ...isNew, ...I.br(2), OP.end],
    // an equal key leaves the loop, another one continues with the next slot
    ...[...entry, ...I.block(), ...differs, ...I.br(2), OP.end],
    ...[...get(HASH), ...num(1), OP.i32Add, ...set(HASH), ...I.br(0), OP.end, OP.end],
    ...stored([...get(ID), ...num(1), OP.i32Sub]),
  ]
}

function stored(id: Code): Code {
  return [...element(OUT, ROW, 2), ...id, ...I.memory(OP.i32Store)]
}

function idsModule(each: Code, { nullable }: IdOptions): KernelModule {
  const present = nullable ? [...bitOf(BITS, ROW), ...I.if(), ...each, OP.end] : each
  const body = [
    ...[...PROLOGUE, ...I.block(), ...get(ROW), ...get(TO), OP.i32GeS, ...I.brIf(0), ...I.loop],
    ...present,
    ...[...get(ROW), ...num(1), OP.i32Add, ...tee(ROW), ...get(TO), OP.i32LtS, ...I.brIf(0), OP.end, OP.end, ...EPILOGUE],
  ]
  return { imports: [], parameters: ['address', 'i32', 'i32'], locals: LOCALS, body }
}
