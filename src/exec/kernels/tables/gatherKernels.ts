/**
 * Gathers the values of rows in any order, in WebAssembly: what `takeColumn` does, over the arena.
 *
 *     values    of 1, 2, 4 or 8 bytes                 bits    of bitmaps, from a multiple of 32 on
 *     ends      the ends of the rows' texts, counted from the first of these rows, and the bytes of all
 *     texts     the bytes of the texts; the ends are moved by the bytes before these rows
 */

import { type Code, get, I, num, OP, type Plain, SIMD, set, tee } from '../../kir/instructions.ts'
import type { KernelModule } from '../../kir/kernelModule.ts'
import { bitOf, element } from './groupFrame.ts'
import { counting, numbered } from './sortKernels.ts'

const LOADS = [OP.i32Load8U, OP.i32Load16U, OP.i32Load, OP.i64Load]
const STORES = [OP.i32Store8, OP.i32Store16, OP.i32Store, OP.i64Store]

/** The rows that an iteration of the unrolled loop gathers. */
const TURN = 8

/** run(source, rows, from, to, out): gathers values of 2 ** log2 bytes; row numbers have 2 ** by bytes. */
export function gatherKernel(log2: number, by = 2): KernelModule {
  const { source, rows, from, to, out, row, number, target, end } = numbered(
    ...(['source', 'rows', 'from', 'to', 'out', 'row', 'number', 'target', 'end'] as const),
  )
  const [loadRow, load, store] = [LOADS[by], LOADS[log2], STORES[log2]] as [Plain, Plain, Plain] // 0 to 3
  const each = (i: number): Code => [
    ...[...get(number), ...I.memory(loadRow, i << by), ...set(row)],
    ...[...get(target), ...element(source, row, log2), ...I.memory(load), ...I.memory(store, i << log2)],
  ]
  const places = [...element(rows, from, by), ...set(number), ...element(out, from, log2), ...set(target)]
  const turn = Array.from({ length: TURN }, (_, i) => each(i))
  return {
    imports: [],
    parameters: ['address', 'address', 'i32', 'i32', 'address'],
    locals: ['i32', 'i32', 'i32', 'i32'],
    body: [
      ...[...get(to), ...num(TURN), OP.i32Sub, ...set(end)],
      ...[...I.block(), ...I.loop, ...get(from), ...get(end), OP.i32GtS, ...I.brIf(1), ...places, turn],
      ...[...get(from), ...num(TURN), OP.i32Add, ...set(from), ...I.br(0), OP.end, OP.end],
      ...counting(from, to, [...places, ...each(0)]),
    ],
  }
}

/** run(source, length, out): copies bytes; source and target must not overlap. */
export function copyKernel(): KernelModule {
  const { source, length, out, at, whole } = numbered('source', 'length', 'out', 'at', 'whole')
  const vector = [...element(out, at, 4), ...element(source, at, 4), ...I.memory(SIMD.load), ...I.memory(SIMD.store)]
  const byte = [...element(out, at, 0), ...element(source, at, 0), ...I.memory(OP.i32Load8U), ...I.memory(OP.i32Store8)]
  return {
    imports: [],
    parameters: ['address', 'i32', 'address'],
    locals: ['i32', 'i32'],
    body: [
      ...[...get(length), ...num(4), OP.i32ShrU, ...set(whole), ...counting(at, whole, vector)],
      ...[...get(whole), ...num(4), OP.i32Shl, ...set(at), ...counting(at, length, byte)],
    ],
  }
}

/** run(bits, rows, from, to, out): gathers bits; `from` is a multiple of 32, and bits behind the last are 0. */
export function gatherBitsKernel(): KernelModule {
  const { bits, rows, from, to, out, row, word } = numbered('bits', 'rows', 'from', 'to', 'out', 'row', 'word')
  const place = [...get(from), ...num(5), OP.i32ShrU]
  const each = [
    ...[...element(rows, from, 2), ...I.memory(OP.i32Load), ...set(row)],
    ...[...get(word), ...bitOf(bits, row), ...get(from), OP.i32Shl, OP.i32Or, ...set(word)],
    ...[...get(out), ...place, ...num(2), OP.i32Shl, OP.i32Add, ...get(word), ...I.memory(OP.i32Store)],
    ...[...num(0), ...get(word), ...get(from), ...num(31), OP.i32And, ...num(31), OP.i32Eq, OP.select, ...set(word)],
  ]
  return {
    imports: [],
    parameters: ['address', 'address', 'i32', 'i32', 'address'],
    locals: ['i32', 'i32'],
    body: counting(from, to, each),
  }
}

/** run(offsets, bits, rows, from, to, ends, total): writes the ends of the texts, and their total bytes; null has none. */
export function endsKernel(nullable: boolean): KernelModule {
  const { offsets, bits, rows, from, to, ends, total, row, sum } = numbered(
    ...(['offsets', 'bits', 'rows', 'from', 'to', 'ends', 'total', 'row', 'sum'] as const),
  )
  const offset = (at: number): Code => [...element(offsets, row, 2), ...I.memory(OP.i32Load, at)]
  const length = [...offset(4), ...offset(0), OP.i32Sub]
  const present = nullable ? [...length, ...num(0), ...bitOf(bits, row), OP.select] : length
  const each = [
    ...[...element(rows, from, 2), ...I.memory(OP.i32Load), ...set(row)],
    ...[...element(ends, from, 2), ...get(sum), ...present, OP.i32Add, ...tee(sum), ...I.memory(OP.i32Store, 4)],
  ]
  return {
    imports: [],
    parameters: ['address', 'address', 'address', 'i32', 'i32', 'address', 'address'],
    locals: ['i32', 'i32'],
    body: [...counting(from, to, each), ...get(total), ...get(sum), ...I.memory(OP.i32Store)],
  }
}

/** run(bytes, offsets, rows, from, to, ends, before, out): copies the texts; `foreign`: in a memory that is no arena. */
export function textsKernel({ foreign }: { readonly foreign?: true } = {}): KernelModule {
  const { bytes, offsets, rows, from, to, ends, before, out, row, source, target, left, last, end } = numbered(
    ...(['bytes', 'offsets', 'rows', 'from', 'to', 'ends', 'before', 'out', 'row', 'source', 'target', 'left', 'last', 'end'] as const),
  )
  const copied = (load: Plain, store: Plain, back: number): Code => {
    const at = (base: number): Code => (back === 0 ? get(base) : [...get(base), ...get(left), OP.i32Add, ...num(back), OP.i32Sub])
    return [...at(target), ...at(source), ...I.memory(load), ...I.memory(store)]
  }
  const moved = (local: number): Code => [...get(local), ...num(8), OP.i32Add, ...set(local)]
  // eight bytes at a time, then the last eight, four or single bytes, which may overlap: nothing behind the text is written
  const long = [
    ...[...I.loop, ...copied(OP.i64Load, OP.i64Store, 0), ...moved(source), ...moved(target)],
    ...[...get(left), ...num(8), OP.i32Sub, ...tee(left), ...num(8), OP.i32GeS, ...I.brIf(0), OP.end],
    ...copied(OP.i64Load, OP.i64Store, 8),
  ]
  const short = [
    ...[
      ...get(left),
      ...num(4),
      OP.i32GeS,
      ...I.if(),
      ...copied(OP.i32Load, OP.i32Store, 0),
      ...copied(OP.i32Load, OP.i32Store, 4),
      OP.else,
    ],
    ...[...get(left), ...I.if(), ...copied(OP.i32Load8U, OP.i32Store8, 0), ...copied(OP.i32Load8U, OP.i32Store8, 1)],
    ...[...get(left), ...num(3), OP.i32Eq, ...I.if(), ...copied(OP.i32Load8U, OP.i32Store8, 2), OP.end, OP.end, OP.end],
  ]
  const each = [
    ...[
      ...element(rows, from, 2),
      ...I.memory(OP.i32Load),
      ...set(row),
      ...element(ends, from, 2),
      ...I.memory(OP.i32Load, 4),
      ...set(end),
    ],
    ...[...get(end), ...get(last), OP.i32Sub, ...set(left)],
    ...[...get(bytes), ...element(offsets, row, 2), ...I.memory(OP.i32Load), OP.i32Add, ...set(source)],
    ...[...get(out), ...get(before), OP.i32Add, ...get(last), OP.i32Add, ...set(target), ...get(end), ...set(last)],
    ...[...get(left), ...num(8), OP.i32GeS, ...I.if(), ...long, OP.else, ...short, OP.end],
    ...[...element(ends, from, 2), ...get(before), ...get(end), OP.i32Add, ...I.memory(OP.i32Store, 4)],
  ]
  return {
    imports: [],
    parameters: ['address', 'address', 'address', 'i32', 'i32', 'address', 'i32', 'address'],
    locals: new Array<'i32'>(6).fill('i32'),
    body: counting(from, to, each),
    ...(foreign && { foreign }),
  }
}
