/**
 * Sorting as WebAssembly over the arena: 64-bit keys (`sortWords.ts` makes them from values) beside the numbers
 * of their rows. `exec/tables/operators/sort/sortedBuckets.ts` says in which order these run.
 *
 *     count, scatter    radix sort by one digit of the keys: the count of each digit, then each key to its place
 *     insert            insertion sort of runs: for short ones, and those that are almost in order
 *     equals            lists the runs of equal keys
 *
 * A run is a pair of positions, the first and the one after the last; a list of runs lies between two addresses.
 * All are stable: rows of equal keys keep their order.
 */

import { type Code, get, I, num, OP, set, tee, type ValueType } from '../../kir/instructions.ts'
import type { KernelModule, ParameterType } from '../../kir/kernelModule.ts'
import { element } from './groupFrame.ts'

/** Numbers the names of parameters and locals in their order. */
export function numbered<const N extends string>(...names: readonly N[]): { readonly [K in N]: number } {
  return Object.fromEntries(names.map((name, i) => [name, i])) as { readonly [K in N]: number } // every name is there
}

/** Runs `each` while the local counts from its current value to `to`. */
export function counting(local: number, to: number, each: Code): Code {
  return [
    ...[...I.block(), ...get(local), ...get(to), OP.i32GeS, ...I.brIf(0), ...I.loop, ...each],
    ...[...get(local), ...num(1), OP.i32Add, ...tee(local), ...get(to), OP.i32LtS, ...I.brIf(0), OP.end, OP.end],
  ]
}

/** Runs `each` for every run of the list, with its two positions in locals. */
export function eachRun(list: number, end: number, [first, after]: readonly [number, number], each: Code): Code {
  return [
    ...[...I.block(), ...get(list), ...get(end), OP.i32GeU, ...I.brIf(0), ...I.loop],
    ...[...get(list), ...I.memory(OP.i32Load), ...set(first), ...get(list), ...I.memory(OP.i32Load, 4), ...set(after), ...each],
    ...[...get(list), ...num(8), OP.i32Add, ...tee(list), ...get(end), OP.i32LtU, ...I.brIf(0), OP.end, OP.end],
  ]
}

function kernel(parameters: readonly ParameterType[], locals: readonly ValueType[], body: Code): KernelModule {
  return { imports: [], parameters, locals, body }
}

const key = (keys: number, place: number): Code => [...element(keys, place, 3), ...I.memory(OP.i64Load)]

/** run(keys, from, to, base, shift, counts): counts the digits `(key - base) >>> shift`. */
export function countKernel(): KernelModule {
  const { keys, from, to, base, shift, counts, at } = numbered('keys', 'from', 'to', 'base', 'shift', 'counts', 'at')
  const place = [...key(keys, from), ...get(base), OP.i64Sub, ...get(shift), OP.i64ShrU, OP.i32WrapI64, ...num(2), OP.i32Shl]
  const each = [
    ...[...get(counts), ...place, OP.i32Add, ...tee(at)],
    ...[...get(at), ...I.memory(OP.i32Load), ...num(1), OP.i32Add, ...I.memory(OP.i32Store)],
  ]
  return kernel(['address', 'i32', 'i32', 'i64', 'i64', 'address'], ['i32'], counting(from, to, each))
}

export interface ScatterOptions {
  /** The rows are listed in `rows`; otherwise the positions themselves are the rows. */
  readonly listed: boolean
  /** Keys whose digit is `bound` or more are not moved. */
  readonly bounded: boolean
}

/** run(keys, rows, from, to, base, shift, places, outKeys, outRows, bound): moves each key to the next place of its digit. */
export function scatterKernel({ listed, bounded }: ScatterOptions): KernelModule {
  const { keys, rows, from, to, base, shift, places, outKeys, outRows, bound, at, place, digit, value } = numbered(
    ...(['keys', 'rows', 'from', 'to', 'base', 'shift', 'places', 'outKeys', 'outRows', 'bound', 'at', 'place', 'digit', 'value'] as const),
  )
  const digits = [...key(keys, from), ...tee(value), ...get(base), OP.i64Sub, ...get(shift), OP.i64ShrU, OP.i32WrapI64, ...set(digit)]
  const row = listed ? [...element(rows, from, 2), ...I.memory(OP.i32Load)] : get(from)
  const moved = [
    ...[...element(places, digit, 2), ...tee(at), ...I.memory(OP.i32Load), ...set(place)],
    ...[...get(at), ...get(place), ...num(1), OP.i32Add, ...I.memory(OP.i32Store)],
    ...[...element(outKeys, place, 3), ...get(value), ...I.memory(OP.i64Store)],
    ...[...element(outRows, place, 2), ...row, ...I.memory(OP.i32Store)],
  ]
  const each = [...digits, ...(bounded ? [...get(digit), ...get(bound), OP.i32LtS, ...I.if(), ...moved, OP.end] : moved)]
  const parameters = ['address', 'address', 'i32', 'i32', 'i64', 'i64', 'address', 'address', 'address', 'i32'] as const
  return kernel(parameters, ['i32', 'i32', 'i32', 'i64'], counting(from, to, each))
}

/** run(list, end, keys, rows, limit, long, counted): sorts the runs; those above `limit` go to list `long`, their number to `counted`. */
export function insertKernel(): KernelModule {
  const { list, end, keys, rows, limit, long, counted, first, after, i, row, place, value, found } = numbered(
    ...(['list', 'end', 'keys', 'rows', 'limit', 'long', 'counted', 'first', 'after', 'i', 'row', 'place', 'found', 'value'] as const),
  )
  const before = (of: number): Code => [...get(of), ...num(1), OP.i32Sub]
  const keyBefore = [...get(keys), ...before(place), ...num(3), OP.i32Shl, OP.i32Add, ...I.memory(OP.i64Load)]
  const rowBefore = [...get(rows), ...before(place), ...num(2), OP.i32Shl, OP.i32Add, ...I.memory(OP.i32Load)]
  const moved = [
    ...[...get(i), ...set(place), ...element(rows, i, 2), ...I.memory(OP.i32Load), ...set(row), ...I.block(), ...I.loop],
    ...[...element(keys, place, 3), ...keyBefore, ...I.memory(OP.i64Store)],
    ...[...element(rows, place, 2), ...rowBefore, ...I.memory(OP.i32Store)],
    ...[...before(place), ...tee(place), ...get(first), OP.i32LeS, ...I.brIf(1)],
    ...[...keyBefore, ...get(value), OP.i64GtU, ...I.brIf(0), OP.end, OP.end],
    ...[...element(keys, place, 3), ...get(value), ...I.memory(OP.i64Store)],
    ...[...element(rows, place, 2), ...get(row), ...I.memory(OP.i32Store)],
  ]
  const each = [...[...get(i), ...set(place), ...key(keys, i), ...tee(value), ...keyBefore, OP.i64LtU, ...I.if(), ...moved, OP.end]]
  const inserted = [...get(first), ...num(1), OP.i32Add, ...set(i), ...counting(i, after, each)]
  const noted = [
    ...[...get(long), ...get(first), ...I.memory(OP.i32Store), ...get(long), ...get(after), ...I.memory(OP.i32Store, 4)],
    ...[...get(long), ...num(8), OP.i32Add, ...set(long), ...get(found), ...num(1), OP.i32Add, ...set(found)],
  ]
  const run = [...get(after), ...get(first), OP.i32Sub, ...get(limit), OP.i32GtS, ...I.if(), ...noted, OP.else, ...inserted, OP.end]
  return kernel(
    ['address', 'address', 'address', 'address', 'i32', 'address', 'address'],
    ['i32', 'i32', 'i32', 'i32', 'i32', 'i32', 'i64'],
    [...eachRun(list, end, [first, after], run), ...get(counted), ...get(found), ...I.memory(OP.i32Store)],
  )
}

/** The runs of equal keys that are listed: all of two or more, or only those of texts longer than their word (see `sortWords.ts`). */
export type Equals = 'all' | 'open'

/** run(list, end, keys, flip, out, counted): lists runs of equal keys in `out`; `counted` gets their number, and that of 'open' ones. */
export function equalsKernel(which: Equals): KernelModule {
  const { list, end, keys, flip, out, counted, first, after, next, found, open, isOpen, value } = numbered(
    ...(['list', 'end', 'keys', 'flip', 'out', 'counted', 'first', 'after', 'next', 'found', 'open', 'isOpen', 'value'] as const),
  )
  const noted = [
    ...[...get(out), ...get(first), ...I.memory(OP.i32Store), ...get(out), ...get(next), ...I.memory(OP.i32Store, 4)],
    ...[...get(out), ...num(8), OP.i32Add, ...set(out), ...get(found), ...num(1), OP.i32Add, ...set(found)],
  ]
  const goesOn = [...get(value), ...get(flip), OP.i64Xor, OP.i32WrapI64, ...num(15), OP.i32And, ...num(8), OP.i32GeS]
  const equal = [
    ...[...goesOn, ...tee(isOpen), ...get(open), OP.i32Add, ...set(open)],
    ...(which === 'all' ? noted : [...get(isOpen), ...I.if(), ...noted, OP.end]),
  ]
  const run = [
    ...[...I.block(), ...get(first), ...get(after), OP.i32GeS, ...I.brIf(0), ...I.loop],
    ...[...key(keys, first), ...set(value), ...get(first), ...num(1), OP.i32Add, ...set(next)],
    ...[...I.block(), ...I.loop, ...get(next), ...get(after), OP.i32GeS, ...I.brIf(1)],
    ...[
      ...key(keys, next),
      ...get(value),
      OP.i64Ne,
      ...I.brIf(1),
      ...get(next),
      ...num(1),
      OP.i32Add,
      ...set(next),
      ...I.br(0),
      OP.end,
      OP.end,
    ],
    ...[...get(next), ...get(first), OP.i32Sub, ...num(1), OP.i32GtS, ...I.if(), ...equal, OP.end],
    ...[...get(next), ...tee(first), ...get(after), OP.i32LtS, ...I.brIf(0), OP.end, OP.end],
  ]
  return kernel(
    ['address', 'address', 'address', 'i64', 'address', 'address'],
    ['i32', 'i32', 'i32', 'i32', 'i32', 'i32', 'i64'],
    [
      ...eachRun(list, end, [first, after], run),
      ...[...get(counted), ...get(found), ...I.memory(OP.i32Store), ...get(counted), ...get(open), ...I.memory(OP.i32Store, 4)],
    ],
  )
}

/** run(list, end, rows, words, out): replaces the keys in the runs by the words of their rows. */
export function refillKernel(): KernelModule {
  const { list, end, rows, words, out, i, after, row } = numbered('list', 'end', 'rows', 'words', 'out', 'i', 'after', 'row')
  const each = [
    ...[...element(rows, i, 2), ...I.memory(OP.i32Load), ...set(row)],
    ...[...element(out, i, 3), ...key(words, row), ...I.memory(OP.i64Store)],
  ]
  return kernel(
    ['address', 'address', 'address', 'address', 'address'],
    ['i32', 'i32', 'i32'],
    [...eachRun(list, end, [i, after], counting(i, after, each))],
  )
}
