/**
 * Kernels of a radix-partitioned group-by, over addresses of the arena (`exec/tables/wide/groupRun.ts` says in which order they run).
 *
 *     places               a row's code is the slot of its key, computed from its parts
 *     count, scatter       rows are counted by the partition of their code, and sorted by partition
 *     groups               the group of each row of a partition: by slot, or by hash table
 *     ranks                groups are numbered in order of their first rows
 *     numbers, distinct    the numbers of each group gathered side by side; the number of different values in each group
 *     lists                the rows of each group end to end
 *     results              the results of a partition's groups, moved to the groups' ranks
 */

import { type Code, get, I, num, OP, type Plain, set, tee, type ValueType } from '../../kir/instructions.ts'
import type { KernelModule, ParameterType } from '../../kir/kernelModule.ts'
import {
  bitOf,
  CODES,
  checkedSlot,
  eachRow,
  element,
  FRAME,
  FRAME_AT,
  type KernelKey,
  type KernelType,
  type KeyPart,
  localsOf,
  PARAMETERS,
  prologue,
  ROW,
  SLOT,
} from './groupFrame.ts'
import { loadedDouble } from './groupKernels.ts'
import type { WordForm } from './idKernels.ts'
import { counting, numbered } from './sortKernels.ts'

function kernel(parameters: readonly ParameterType[], locals: readonly ValueType[], body: Code): KernelModule {
  return { imports: [], parameters, locals, body }
}

const loadWord = (base: number, at: number): Code => [...element(base, at, 2), ...I.memory(OP.i32Load)]
const storeWord = (base: number, at: number, value: Code): Code => [...element(base, at, 2), ...value, ...I.memory(OP.i32Store)]
const plusOne = (local: number): Code => [...get(local), ...num(1), OP.i32Add]

/** run(frame, from, to): writes the slot of each row's key to `codes`; `size` becomes -1 once a key is not within its span. */
export function codePlacesKernel(parts: readonly KeyPart[]): KernelModule {
  const key: KernelKey = { kind: 'direct', parts }
  const outside = [...get(FRAME_AT), ...num(-1), ...I.memory(OP.i32Store, FRAME.size), OP.return]
  const each = (ahead: number): Code => [
    ...checkedSlot(parts, ROW, outside, { ahead }),
    ...[...element(CODES, ROW, 2), ...get(SLOT), ...I.memory(OP.i32Store, 4 * ahead)],
  ]
  return kernel(PARAMETERS, localsOf(key, 0), [...prologue(key), ...eachRow(each)])
}

/** run(codes, from, to, shift, counts): counts the rows of each partition, which is `code >>> shift`. */
export function countCodesKernel(): KernelModule {
  const { codes, from, to, shift, counts, at } = numbered('codes', 'from', 'to', 'shift', 'counts', 'at')
  const each = [
    ...[...get(counts), ...loadWord(codes, from), ...get(shift), OP.i32ShrU, ...num(2), OP.i32Shl, OP.i32Add, ...tee(at)],
    ...[...get(at), ...I.memory(OP.i32Load), ...num(1), OP.i32Add, ...I.memory(OP.i32Store)],
  ]
  return kernel(['address', 'i32', 'i32', 'i32', 'address'], ['i32'], counting(from, to, each))
}

/** run(codes, from, to, shift, places, rows, out): writes rows and their codes to the next place of their partition, in order. */
export function scatterCodesKernel(): KernelModule {
  const { codes, from, to, shift, places, rows, out, at, place, code } = numbered(
    ...(['codes', 'from', 'to', 'shift', 'places', 'rows', 'out', 'at', 'place', 'code'] as const),
  )
  const each = [
    ...[...get(places), ...loadWord(codes, from), ...tee(code), ...get(shift), OP.i32ShrU, ...num(2), OP.i32Shl, OP.i32Add, ...tee(at)],
    ...[...I.memory(OP.i32Load), ...set(place), ...get(at), ...plusOne(place), ...I.memory(OP.i32Store)],
    ...[...storeWord(rows, place, get(from)), ...storeWord(out, place, get(code))],
  ]
  const parameters = ['address', 'i32', 'i32', 'i32', 'address', 'address', 'address'] as const
  return kernel(parameters, ['i32', 'i32', 'i32'], counting(from, to, each))
}

/** The parameters of the kernels of groups. Codes of rows are overwritten by group numbers; `size` is where the number of groups lies. */
const OF_PARTITION = ['rows', 'codes', 'from', 'to', 'start', 'table', 'firsts', 'counts', 'flags', 'size'] as const
const PARTITION_TYPES = ['address', 'address', 'i32', 'i32', 'i32', 'address', 'address', 'address', 'address', 'address'] as const

/** Adds a group whose first row is in local `row`; `groups` is the local with the number of groups. */
function added({ firsts, counts, flags, row, groups }: { readonly [K in 'firsts' | 'counts' | 'flags' | 'row' | 'groups']: number }): Code {
  return [
    ...[...storeWord(firsts, groups, get(row)), ...storeWord(counts, groups, num(1))],
    ...[...get(flags), ...get(row), OP.i32Add, ...num(1), ...I.memory(OP.i32Store8), ...plusOne(groups), ...set(groups)],
  ]
}

function addedTo(counts: number, group: number): Code {
  return storeWord(counts, group, [...loadWord(counts, group), ...num(1), OP.i32Add])
}

const SIZE_IN = (size: number, groups: number): Code => [...get(size), ...I.memory(OP.i32Load), ...set(groups)]
const SIZE_OUT = (size: number, groups: number): Code => [...get(size), ...get(groups), ...I.memory(OP.i32Store)]

/** run(…OF_PARTITION): `table` is a direct-address table of groups; the partition's codes begin with `start`. */
export function placedGroupsKernel(): KernelModule {
  const n = numbered(...([...OF_PARTITION, 'groups', 'row', 'place', 'group'] as const))
  const { rows, codes, from, to, start, table, counts, size, groups, row, place, group } = n
  const isNew = [...get(group), OP.i32Eqz, ...I.if(), ...loadWord(rows, from), ...set(row)]
  const each = [
    ...[...loadWord(codes, from), ...get(start), OP.i32Sub, ...set(place), ...loadWord(table, place), ...set(group), ...isNew],
    ...[...storeWord(codes, from, get(groups)), ...added(n), ...storeWord(table, place, get(groups)), OP.else],
    ...[...get(group), ...num(1), OP.i32Sub, ...set(group), ...storeWord(codes, from, get(group)), ...addedTo(counts, group), OP.end],
  ]
  return kernel(
    PARTITION_TYPES,
    ['i32', 'i32', 'i32', 'i32'],
    [...SIZE_IN(size, groups), ...counting(from, to, each), ...SIZE_OUT(size, groups)],
  )
}

/** A column whose values are compared: how they are stored, and whether it has nulls. */
export interface ComparedPart {
  readonly form: Exclude<WordForm, 'pair'> | 'texts'
  readonly nullable: boolean
}

/** The locals with the addresses of a key part's buffers. */
interface PartLocals {
  readonly values: number
  readonly offsets: number
  readonly bits: number
}

/** The scratch locals of a text comparison. */
interface OwnLocals {
  readonly here: number
  readonly there: number
  readonly left: number
}

const LOADS = {
  byte: [OP.i32Load8U, 0],
  half: [OP.i32Load16U, 1],
  word: [OP.i32Load, 2],
  long: [OP.i64Load, 3],
  f32: [OP.f32Load, 2],
  f64: [OP.f64Load, 3],
} as const

/** Branches `depth` levels out where rows `x` and `y` have different values. 0 and -0 are equal, and so are all NaNs, and nulls. */
function differs({ form, nullable }: ComparedPart, at: PartLocals, own: OwnLocals, x: number, y: number, depth: number): Code {
  if (nullable) {
    const same = differs({ form, nullable: false }, at, own, x, y, depth + 1)
    return [...bitOf(at.bits, x), ...bitOf(at.bits, y), OP.i32Ne, ...I.brIf(depth), ...bitOf(at.bits, x), ...I.if(), ...same, OP.end]
  }
  if (form === 'texts') return textsDiffer(at, own, x, y, depth)
  const [opcode, log2] = LOADS[form]
  const value = (row: number): Code => [
    ...element(at.values, row, log2),
    ...I.memory(opcode),
    ...(form === 'f32' ? [OP.f64PromoteF32] : []),
  ]
  if (form !== 'f32' && form !== 'f64') return [...value(x), ...value(y), form === 'long' ? OP.i64Ne : OP.i32Ne, ...I.brIf(depth)]
  const isNumber = (row: number): Code => [...value(row), ...value(row), OP.f64Eq]
  return [...value(x), ...value(y), OP.f64Ne, ...isNumber(x), ...isNumber(y), OP.i32Or, OP.i32And, ...I.brIf(depth)]
}

function textsDiffer({ values, offsets }: PartLocals, { here, there, left }: OwnLocals, x: number, y: number, depth: number): Code {
  const offset = (row: number, at: number): Code => [...element(offsets, row, 2), ...I.memory(OP.i32Load, at)]
  const length = (row: number): Code => [...offset(row, 4), ...offset(row, 0), OP.i32Sub]
  const begin = (row: number, local: number): Code => [...get(values), ...offset(row, 0), OP.i32Add, ...set(local)]
  const step = (bytes: number): Code => [
    ...[here, there].flatMap((local) => [...get(local), ...num(bytes), OP.i32Add, ...set(local)]),
    ...[...get(left), ...num(bytes), OP.i32Sub, ...set(left)],
  ]
  const pieces = (bytes: number, load: Plain, ne: Plain): Code => [
    ...[...I.block(), ...I.loop, ...get(left), ...num(bytes), OP.i32LtS, ...I.brIf(1)],
    ...[
      ...get(here),
      ...I.memory(load),
      ...get(there),
      ...I.memory(load),
      ne,
      ...I.brIf(depth + 2),
      ...step(bytes),
      ...I.br(0),
      OP.end,
      OP.end,
    ],
  ]
  return [
    ...[...length(x), ...tee(left), ...length(y), OP.i32Ne, ...I.brIf(depth), ...begin(x, here), ...begin(y, there)],
    ...[...pieces(8, OP.i64Load, OP.i64Ne), ...pieces(1, OP.i32Load8U, OP.i32Ne)],
  ]
}

const PART_LOCALS = 3

function partLocals(first: number, p: number): PartLocals {
  const values = first + PART_LOCALS * p
  return { values, offsets: values + 1, bits: values + 2 }
}

/**
 * run(…OF_PARTITION, hashes, and values, offsets and bits of each part): a hash table of groups. Codes are hashes; `start` is the mask
 * of the slots of `table`, of which at least half are free.
 */
export function hashedGroupsKernel(parts: readonly ComparedPart[]): KernelModule {
  const first = OF_PARTITION.length + 1
  const { rows, codes, from, to, start: mask, table, counts, size, hashes, ...rest } = numbered(...([...OF_PARTITION, 'hashes'] as const))
  const own = first + PART_LOCALS * parts.length
  const [groups, row, place, group, hash, other, here, there, left] = [0, 1, 2, 3, 4, 5, 6, 7, 8].map((i) => own + i) as [
    ...[number, number, number, number, number, number, number, number, number],
  ]
  const compared = parts.flatMap((part, p) => differs(part, partLocals(first, p), { here, there, left }, row, other, 0))
  const nextGroup = [...get(group), ...num(1), OP.i32Sub, ...set(group)]
  const isNew = [
    ...[...storeWord(codes, from, get(groups)), ...storeWord(hashes, groups, get(hash))],
    ...[...added({ ...rest, counts, row, groups }), ...storeWord(table, place, get(groups))],
  ]
  const { firsts } = rest
  const each = [
    ...[...loadWord(codes, from), ...tee(hash), ...get(mask), OP.i32And, ...set(place), ...loadWord(rows, from), ...set(row)],
    ...[...I.block(), ...I.loop, ...loadWord(table, place), ...tee(group), OP.i32Eqz, ...I.if(), ...isNew, ...I.br(2), OP.end],
    // an equal key leaves the loop, another one continues with the next slot
    ...[
      ...nextGroup,
      ...I.block(),
      ...loadWord(hashes, group),
      ...get(hash),
      OP.i32Ne,
      ...I.brIf(0),
      ...loadWord(firsts, group),
      ...set(other),
    ],
    ...[...compared, ...storeWord(codes, from, get(group)), ...addedTo(counts, group), ...I.br(2), OP.end],
    ...[...plusOne(place), ...get(mask), OP.i32And, ...set(place), ...I.br(0), OP.end, OP.end],
  ]
  const types: readonly ParameterType[] = [
    ...PARTITION_TYPES,
    'address',
    ...parts.flatMap(() => ['address', 'address', 'address'] as const),
  ]
  return kernel(types, new Array<'i32'>(9).fill('i32'), [...SIZE_IN(size, groups), ...counting(from, to, each), ...SIZE_OUT(size, groups)])
}

/** run(flags, from, to, count): adds the number of flags that are set to the word at `count`. */
export function countFlagsKernel(): KernelModule {
  const { flags, from, to, count, found } = numbered('flags', 'from', 'to', 'count', 'found')
  const each = [...get(flags), ...get(from), OP.i32Add, ...I.memory(OP.i32Load8U), ...get(found), OP.i32Add, ...set(found)]
  return kernel(
    ['address', 'i32', 'i32', 'address'],
    ['i32'],
    [
      ...counting(from, to, each),
      ...[...get(count), ...get(count), ...I.memory(OP.i32Load), ...get(found), OP.i32Add, ...I.memory(OP.i32Store)],
    ],
  )
}

/** run(flags, from, to, ranks, order, next): numbers the flagged rows from the word at `next` on, and lists them in `order` by number. */
export function ranksKernel(): KernelModule {
  const { flags, from, to, ranks, order, next, rank } = numbered('flags', 'from', 'to', 'ranks', 'order', 'next', 'rank')
  const flagged = [...storeWord(ranks, from, get(rank)), ...storeWord(order, rank, get(from)), ...plusOne(rank), ...set(rank)]
  const each = [...get(flags), ...get(from), OP.i32Add, ...I.memory(OP.i32Load8U), ...I.if(), ...flagged, OP.end]
  return kernel(
    ['address', 'i32', 'i32', 'address', 'address', 'address'],
    ['i32'],
    [
      ...[...get(next), ...I.memory(OP.i32Load), ...set(rank), ...counting(from, to, each)],
      ...[...get(next), ...get(rank), ...I.memory(OP.i32Store)],
    ],
  )
}

/** run(firsts, from, to, ranks): replaces the first row of each group by its rank. */
export function rankedKernel(): KernelModule {
  const { firsts, from, to, ranks, row } = numbered('firsts', 'from', 'to', 'ranks', 'row')
  const each = [...loadWord(firsts, from), ...set(row), ...storeWord(firsts, from, loadWord(ranks, row))]
  return kernel(['address', 'i32', 'i32', 'address'], ['i32'], counting(from, to, each))
}

/** The computation of a result: a double, a double divided by a count, a count as a double, or a count. */
export type ResultForm = 'value' | 'mean' | 'number' | 'count'

/** run(ranks, from, to, source, step, out, counts, countStep): writes each group's result to its rank; steps are strides in bytes. */
export function resultsKernel(form: ResultForm): KernelModule {
  const { ranks, from, to, source, step, out, counts, countStep, rank } = numbered(
    ...(['ranks', 'from', 'to', 'source', 'step', 'out', 'counts', 'countStep', 'rank'] as const),
  )
  const count = [...get(counts), ...I.memory(OP.i32Load), OP.f64ConvertI32S]
  const result = {
    value: [...get(source), ...I.memory(OP.f64Load)],
    mean: [...get(source), ...I.memory(OP.f64Load), ...count, OP.f64Div],
    number: [...get(source), ...I.memory(OP.i32Load), OP.f64ConvertI32S],
    count: [...get(source), ...I.memory(OP.i32Load)],
  }[form]
  const put = form === 'count' ? storeWord(out, rank, result) : [...element(out, rank, 3), ...result, ...I.memory(OP.f64Store)]
  const on = (address: number, by: number): Code => [...get(address), ...get(by), OP.i32Add, ...set(address)]
  const each = [...loadWord(ranks, from), ...set(rank), ...put, ...on(source, step), ...on(counts, countStep)]
  const parameters = ['address', 'i32', 'i32', 'address', 'i32', 'address', 'address', 'i32'] as const
  return kernel(parameters, ['i32'], counting(from, to, each))
}

/** run(rows, codes, from, to, values, bits, next, out): writes the numbers that are not null, each to the next place of its group. */
export function numbersKernel(type: KernelType, nullable: boolean): KernelModule {
  const { rows, codes, from, to, values, bits, next, out, row, group, place } = numbered(
    ...(['rows', 'codes', 'from', 'to', 'values', 'bits', 'next', 'out', 'row', 'group', 'place'] as const),
  )
  const put = [
    ...[...loadWord(codes, from), ...set(group), ...loadWord(next, group), ...set(place), ...storeWord(next, group, plusOne(place))],
    ...[...element(out, place, 3), ...loadedDouble(type, values, row), ...I.memory(OP.f64Store)],
  ]
  const each = [...loadWord(rows, from), ...set(row), ...(nullable ? [...bitOf(bits, row), ...I.if(), ...put, OP.end] : put)]
  const parameters = ['address', 'address', 'i32', 'i32', 'address', 'address', 'address', 'address'] as const
  return kernel(parameters, ['i32', 'i32', 'i32'], counting(from, to, each))
}

/**
 * run(rows, codes, from, to, mask, table, hashes, counts, values, offsets, bits): adds the number of different values that are not
 * null to the count of each group. The hash table has pairs of group and value: a slot holds 1 + the position of the pair's first row in
 * the list, or 0; at least half are free.
 */
export function distinctKernel(part: ComparedPart): KernelModule {
  const { rows, codes, from, to, mask, table, hashes, counts, values, offsets, bits, row, group, place, known, other, here, there, left } =
    numbered(
      ...(['rows', 'codes', 'from', 'to', 'mask', 'table', 'hashes', 'counts', 'values', 'offsets', 'bits'] as const),
      ...(['row', 'group', 'place', 'known', 'other', 'here', 'there', 'left'] as const),
    )
  // nulls are skipped, so that no null is ever compared
  const compared = differs({ ...part, nullable: false }, { values, offsets, bits }, { here, there, left }, row, other, 0)
  const hash = [
    ...[...loadWord(hashes, row), ...get(group), ...num(0x9e3779b1), OP.i32Mul, OP.i32Xor, ...tee(place)],
    ...[...get(place), ...num(15), OP.i32ShrU, OP.i32Xor, ...num(0x85ebca6b), OP.i32Mul, ...tee(place)],
    ...[...get(place), ...num(13), OP.i32ShrU, OP.i32Xor, ...get(mask), OP.i32And, ...set(place)],
  ]
  const isNew = [...storeWord(table, place, plusOne(from)), ...addedTo(counts, group)]
  const knownPlace = [...get(known), ...num(1), OP.i32Sub, ...set(known)]
  const find = [
    ...[...loadWord(codes, from), ...set(group), ...hash],
    ...[...I.block(), ...I.loop, ...loadWord(table, place), ...tee(known), OP.i32Eqz, ...I.if(), ...isNew, ...I.br(2), OP.end],
    ...[
      ...knownPlace,
      ...I.block(),
      ...loadWord(codes, known),
      ...get(group),
      OP.i32Ne,
      ...I.brIf(0),
      ...loadWord(rows, known),
      ...set(other),
    ],
    ...[...compared, ...I.br(2), OP.end],
    ...[...plusOne(place), ...get(mask), OP.i32And, ...set(place), ...I.br(0), OP.end, OP.end],
  ]
  const each = [...loadWord(rows, from), ...set(row), ...(part.nullable ? [...bitOf(bits, row), ...I.if(), ...find, OP.end] : find)]
  const addresses = new Array<'address'>(6).fill('address')
  const parameters = ['address', 'address', 'i32', 'i32', 'i32', ...addresses] as const
  return kernel(parameters, new Array<'i32'>(8).fill('i32'), counting(from, to, each))
}

/** run(rows, codes, from, to, ranks, out): writes the rank of each row's group. */
export function groupOfKernel(): KernelModule {
  const { rows, codes, from, to, ranks, out, row, group } = numbered('rows', 'codes', 'from', 'to', 'ranks', 'out', 'row', 'group')
  const each = [
    ...[...loadWord(rows, from), ...set(row), ...loadWord(codes, from), ...set(group)],
    ...storeWord(out, row, loadWord(ranks, group)),
  ]
  return kernel(['address', 'address', 'i32', 'i32', 'address', 'address'], ['i32', 'i32'], counting(from, to, each))
}

/** run(rows, codes, from, to, ranks, next, out): writes each row to the next place of its group's list. */
export function listsKernel(): KernelModule {
  const { rows, codes, from, to, ranks, next, out, group, place } = numbered(
    ...(['rows', 'codes', 'from', 'to', 'ranks', 'next', 'out', 'group', 'place'] as const),
  )
  const each = [
    ...[...loadWord(codes, from), ...set(group), ...loadWord(ranks, group), ...set(group), ...loadWord(next, group), ...set(place)],
    ...[...storeWord(out, place, loadWord(rows, from)), ...storeWord(next, group, plusOne(place))],
  ]
  return kernel(['address', 'address', 'i32', 'i32', 'address', 'address', 'address'], ['i32', 'i32'], counting(from, to, each))
}
