/**
 * The kernels of a hash join, over keys numbered from 0 on (a key's place), -1 for a key that matches nothing.
 *
 *     link     build side: chains the rows of each place, from the first to the next
 *     find     probe side: the first match of every row, and the number of matches
 *     emit     probe side: the pairs of rows
 *     keep     probe side of a semi-join or anti-join: the rows that have a match, or have none
 *     gather   the values, or texts, of a list of rows, side by side
 *
 * Heads and links hold row + 1, or 0 for none. `heads` begins with the head of place -1, which stays 0.
 */

import { type Code, get, I, num, OP, type Plain, set, tee } from '../../kir/instructions.ts'
import type { KernelModule } from '../../kir/kernelModule.ts'
import { element } from './groupFrame.ts'

/** The offsets of a join's frame in bytes: addresses of 8 bytes, two words, and a count of 64 bits. */
export const JOIN_FRAME = { places: 0, heads: 8, next: 16, found: 24, left: 32, right: 40, at: 48, repeated: 52, count: 56 } as const
export const JOIN_FRAME_BYTES = 64

/** The offsets of a gather's frame in bytes; `bytes` are the bytes of a text column, or the values of any other. */
export const GATHER_FRAME = { rows: 0, bytes: 8, out: 16, offsets: 24, outOffsets: 32 } as const
export const GATHER_FRAME_BYTES = 40

/** `chained`: a place may have several rows. `keeps`: rows without a match are paired with -1. */
export interface MatchOptions {
  readonly chained: boolean
  readonly keeps: boolean
}

// run(frame, from, to)
const [FRAME, ROW, TO, FIRST_ADDRESS] = [0, 1, 2, 3]
const PARAMETERS = ['address', 'i32', 'i32'] as const

function i32s(count: number): 'i32'[] {
  return new Array<'i32'>(count).fill('i32')
}

/** Loads addresses from a frame into consecutive locals. */
function addresses(offsets: readonly number[]): Code {
  return offsets.flatMap((offset, i) => [...get(FRAME), ...I.addressLoad(offset), ...set(FIRST_ADDRESS + i)])
}

function wordAt(base: number, index: number): Code {
  return [...element(base, index, 2), ...I.memory(OP.i32Load)]
}

/** Runs `each` while ROW counts up to TO. */
function upwards(each: Code): Code {
  const isLeft = [...get(ROW), ...get(TO), OP.i32LtS]
  return [...isLeft, ...I.if(), ...I.loop, ...each, ...get(ROW), ...num(1), OP.i32Add, ...set(ROW), ...isLeft, ...I.brIf(0), OP.end, OP.end]
}

/** Chains the rows from `to` down to `from`, so that chains ascend; `repeated` becomes nonzero where a place has two rows. */
export function linkKernel(): KernelModule {
  const [places, heads, next, head, place, before, repeated] = [3, 4, 5, 6, 7, 8, 9]
  const each: Code = [
    ...[...get(TO), ...num(1), OP.i32Sub, ...tee(TO), ...set(ROW)],
    ...[...wordAt(places, ROW), ...tee(place), ...num(0), OP.i32GeS, ...I.if()],
    ...[...element(heads, place, 2), ...tee(head), ...I.memory(OP.i32Load), ...set(before)],
    ...[...element(next, ROW, 2), ...get(before), ...I.memory(OP.i32Store)],
    ...[...get(head), ...get(ROW), ...num(1), OP.i32Add, ...I.memory(OP.i32Store)],
    ...[...get(repeated), ...get(before), OP.i32Or, ...set(repeated), OP.end],
  ]
  const first = 10
  const isLeft = [...get(TO), ...get(first), OP.i32GtS]
  const body = [
    ...[...addresses([JOIN_FRAME.places, JOIN_FRAME.heads, JOIN_FRAME.next]), ...get(ROW), ...set(first)],
    ...[...get(FRAME), ...I.memory(OP.i32Load, JOIN_FRAME.repeated), ...set(repeated)],
    ...[...isLeft, ...I.if(), ...I.loop, ...each, ...isLeft, ...I.brIf(0), OP.end, OP.end],
    ...[...get(FRAME), ...get(repeated), ...I.memory(OP.i32Store, JOIN_FRAME.repeated)],
  ]
  return { imports: [], parameters: PARAMETERS, locals: i32s(8), body }
}

export function findKernel({ chained, keeps }: MatchOptions): KernelModule {
  const [places, heads, next, found, place, match, count] = [3, 4, 5, 6, 7, 8, 9]
  const counted = (one: Code): Code => [...get(count), ...one, OP.i64ExtendI32U, OP.i64Add, ...set(count)]
  const following = [...get(match), ...num(1), OP.i32Sub, ...set(place), ...wordAt(next, place), ...tee(match)]
  const alone = counted(keeps ? num(1) : [...get(match), ...num(0), OP.i32Ne])
  const chain = [...I.loop, ...counted(num(1)), ...following, ...I.brIf(0), OP.end]
  const several = [...get(match), ...I.if(), ...chain, ...(keeps ? [OP.else, ...counted(num(1))] : []), OP.end]
  const each = [
    ...[...wordAt(places, ROW), ...set(place), ...wordAt(heads, place), ...set(match)],
    ...[...element(found, ROW, 2), ...get(match), ...I.memory(OP.i32Store), ...(chained ? several : alone)],
  ]
  const body = [
    ...addresses([JOIN_FRAME.places, JOIN_FRAME.heads, JOIN_FRAME.next, JOIN_FRAME.found]),
    ...[...get(FRAME), ...I.memory(OP.i64Load, JOIN_FRAME.count), ...set(count), ...upwards(each)],
    ...[...get(FRAME), ...get(count), ...I.memory(OP.i64Store, JOIN_FRAME.count)],
  ]
  return { imports: [], parameters: PARAMETERS, locals: [...i32s(6), 'i64'], body }
}

/** Emits the pairs. Without chains it writes each pair and advances only where it counts, so one more may lie behind the last. */
export function emitKernel({ chained, keeps }: MatchOptions): KernelModule {
  const [next, found, left, right, match, at, place] = [3, 4, 5, 6, 7, 8, 9]
  const pair = [
    ...[...element(left, at, 2), ...get(ROW), ...I.memory(OP.i32Store)],
    ...[...element(right, at, 2), ...get(match), ...num(1), OP.i32Sub, ...I.memory(OP.i32Store)],
  ]
  const moved = (by: Code): Code => [...get(at), ...by, OP.i32Add, ...set(at)]
  const one = [...pair, ...moved(num(1))]
  const following = [...get(match), ...num(1), OP.i32Sub, ...set(place), ...wordAt(next, place), ...tee(match)]
  const several = [
    ...[...get(match), ...I.if(), ...I.loop, ...one, ...following, ...I.brIf(0), OP.end],
    ...[...(keeps ? [OP.else, ...one] : []), OP.end],
  ]
  const alone = keeps ? one : [...pair, ...moved([...get(match), ...num(0), OP.i32Ne])]
  const body = [
    ...addresses([JOIN_FRAME.next, JOIN_FRAME.found, JOIN_FRAME.left, JOIN_FRAME.right]),
    ...[...get(FRAME), ...I.memory(OP.i32Load, JOIN_FRAME.at), ...set(at)],
    ...upwards([...wordAt(found, ROW), ...set(match), ...(chained ? several : alone)]),
    ...[...get(FRAME), ...get(at), ...I.memory(OP.i32Store, JOIN_FRAME.at)],
  ]
  return { imports: [], parameters: PARAMETERS, locals: i32s(7), body }
}

/** Lists the rows. It writes each one and advances only where it is kept, so one more may lie behind the last. */
export function keepKernel({ anti }: { readonly anti: boolean }): KernelModule {
  const [places, heads, left, place, at] = [3, 4, 5, 6, 7]
  const each = [
    ...[...element(left, at, 2), ...get(ROW), ...I.memory(OP.i32Store), ...wordAt(places, ROW), ...set(place)],
    ...[...get(at), ...wordAt(heads, place), ...(anti ? [OP.i32Eqz] : [...num(0), OP.i32Ne]), OP.i32Add, ...set(at)],
  ]
  const body = [
    ...addresses([JOIN_FRAME.places, JOIN_FRAME.heads, JOIN_FRAME.left]),
    ...[...get(FRAME), ...I.memory(OP.i32Load, JOIN_FRAME.at), ...set(at), ...upwards(each)],
    ...[...get(FRAME), ...get(at), ...I.memory(OP.i32Store, JOIN_FRAME.at)],
  ]
  return { imports: [], parameters: PARAMETERS, locals: i32s(5), body }
}

/** log2 of the bytes of a value: 1, 2, 4 or 8. */
export type Log2Bytes = 0 | 1 | 2 | 3

const MOVES: { readonly [L in Log2Bytes]: readonly [load: Plain, store: Plain] } = {
  0: [OP.i32Load8U, OP.i32Store8],
  1: [OP.i32Load16U, OP.i32Store16],
  2: [OP.i32Load, OP.i32Store],
  3: [OP.i64Load, OP.i64Store],
}

/** Gathers the values of `rows`, 2 ** log2 bytes each; where it is nullable and a row is -1, the output is left as it is. */
export function gatherKernel(log2: Log2Bytes, { nullable }: { readonly nullable: boolean }): KernelModule {
  const [rows, bytes, out, row] = [3, 4, 5, 6]
  const [load, store] = MOVES[log2]
  const moved = [...element(out, ROW, log2), ...element(bytes, row, log2), ...I.memory(load), ...I.memory(store)]
  const each = [
    ...[...wordAt(rows, ROW), ...set(row)],
    ...(nullable ? [...get(row), ...num(0), OP.i32GeS, ...I.if(), ...moved, OP.end] : moved),
  ]
  const body = [...addresses([GATHER_FRAME.rows, GATHER_FRAME.bytes, GATHER_FRAME.out]), ...upwards(each)]
  return { imports: [], parameters: PARAMETERS, locals: i32s(4), body }
}

/** Gathers the texts of `rows`; their offsets in the output are there already. Rows of empty texts are not looked at. */
export function textsKernel(): KernelModule {
  const [rows, bytes, out, offsets, outOffsets, row, from, to, length] = [3, 4, 5, 6, 7, 8, 9, 10, 11]
  const move = (log2: Log2Bytes): Code => [...get(to), ...get(from), ...I.memory(MOVES[log2][0]), ...I.memory(MOVES[log2][1])]
  const step = (log2: Log2Bytes): Code => [from, to].flatMap((local) => [...get(local), ...num(2 ** log2), OP.i32Add, ...set(local)])
  const isLong = [...get(length), ...num(8), OP.i32GeS]
  const eights = [
    ...[...isLong, ...I.if(), ...I.loop, ...move(3), ...step(3), ...get(length), ...num(8), OP.i32Sub, ...set(length)],
    ...[...isLong, ...I.brIf(0), OP.end, OP.end],
  ]
  const rest = ([2, 1, 0] as const).flatMap((log2) => [
    ...[...get(length), ...num(2 ** log2), OP.i32And, ...I.if(), ...move(log2), ...step(log2), OP.end],
  ])
  const offset = (base: number, index: number, after: number): Code => [...element(base, index, 2), ...I.memory(OP.i32Load, after)]
  const each = [
    ...[...offset(outOffsets, ROW, 4), ...offset(outOffsets, ROW, 0), OP.i32Sub, ...tee(length), ...I.if()],
    ...[...get(out), ...offset(outOffsets, ROW, 0), OP.i32Add, ...set(to), ...wordAt(rows, ROW), ...set(row)],
    ...[...get(bytes), ...offset(offsets, row, 0), OP.i32Add, ...set(from), ...eights, ...rest, OP.end],
  ]
  const { rows: a, bytes: b, out: c, offsets: d, outOffsets: e } = GATHER_FRAME
  return { imports: [], parameters: PARAMETERS, locals: i32s(9), body: [...addresses([a, b, c, d, e]), ...upwards(each)] }
}
