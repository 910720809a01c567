/**
 * Generic fold and compaction kernels: they take values that a column kernel left, or a column itself, in row order.
 *
 *     sum        adds the selected rows from left to right, and starts a new sum with every chunk of 4,096 of them
 *     sum4       sums four whole chunks side by side, each in its own lane: the additions of one chunk stay in their order
 *     least, most    the extremes of the selected rows; least64, most64 those of 64-bit integers
 *     sum64      the exact sum of 64-bit integers: the sum of their low halves, and that of their high halves
 *     compact    copies the selected rows side by side; compactBits does so with the bits of a bitmap
 *
 * A bitmap has a bit a row; `values` is the address of row 0, which may lie outside of what is read.
 */
import { CHUNK } from '../../../core/arrays/fixedTree.ts'
import { ATOMIC, type Code, I, OP, type Plain, SIMD } from '../../kir/instructions.ts'
import type { KernelModule, ParameterType } from '../../kir/kernelModule.ts'
import { i64Const, shuffle32 } from '../../kir/simd.ts'

/**
 * The bytes of a fold's state. `sum`: the open sum (f64), the number of its values (i32), the address for the next full chunk's sum.
 * `sum64`: two i64. Extremes: the value. `compactBits`: the address of the target bitmap, and the number of bits that it has (i32).
 */
export const FOLD_STATE_BYTES = 32
/** The offsets of the state's fields, in bytes. */
export const FOLD_STATE = { filled: 8, out: 16, target: 0, at: 8 } as const

export type FoldName =
  | 'sum'
  | 'sum4'
  | 'least'
  | 'most'
  | 'sum64'
  | 'least64'
  | 'most64'
  | 'compact8'
  | 'compact4'
  | 'compact2'
  | 'compact1'
  | 'compactBits'

export function foldKernel(name: FoldName): KernelModule {
  switch (name) {
    case 'sum':
      return sumKernel()
    case 'sum4':
      return sum4Kernel()
    case 'least':
      return extremeKernel(OP.f64Min)
    case 'most':
      return extremeKernel(OP.f64Max)
    case 'sum64':
      return sum64Kernel()
    case 'least64':
      return extreme64Kernel(OP.i64LtS)
    case 'most64':
      return extreme64Kernel(OP.i64GtS)
    case 'compact8':
      return compactKernel(3)
    case 'compact4':
      return compactKernel(2)
    case 'compact2':
      return compactKernel(1)
    case 'compact1':
      return compactKernel(0)
    case 'compactBits':
      return compactBitsKernel()
  }
}

// run(values, bitmap, from, to, state or destination)
const [VALUES, BITMAP, ROW, TO, STATE] = [0, 1, 2, 3, 4]
const PARAMETERS: readonly ParameterType[] = ['address', 'address', 'i32', 'i32', 'address']
const [WORD, SPAN, AT] = [5, 6, 7]

/** Runs `each` for every selected row, with its address in local AT (its number for 'row'); `from` and `to` need not be multiples of 32. */
function eachSelected(log2Bytes: number | 'row', each: Code): Code {
  const word = [...I.localGet(BITMAP), ...I.localGet(ROW), ...I.i32Const(5), OP.i32ShrU, ...I.i32Const(2), OP.i32Shl, OP.i32Add]
  const inWord = [...I.localGet(ROW), ...I.i32Const(31), OP.i32And]
  const left = [...I.localGet(TO), ...I.localGet(ROW), OP.i32Sub]
  const cut = [...I.localGet(WORD), ...I.i32Const(1), ...left, OP.i32Shl, ...I.i32Const(1), OP.i32Sub, OP.i32And, ...I.localSet(WORD)]
  const row = [...I.localGet(ROW), ...I.localGet(WORD), OP.i32Ctz, OP.i32Add]
  const place = log2Bytes === 'row' ? row : [...I.localGet(VALUES), ...row, ...I.i32Const(log2Bytes), OP.i32Shl, OP.i32Add]
  return [
    ...[...I.block(), ...I.loop, ...I.localGet(ROW), ...I.localGet(TO), OP.i32GeU, ...I.brIf(1)],
    ...[...word, ...I.memory(OP.i32Load), ...inWord, OP.i32ShrU, ...I.localSet(WORD)],
    ...[...I.i32Const(32), ...inWord, OP.i32Sub, ...I.localSet(SPAN)],
    ...[...left, ...I.i32Const(32), OP.i32LtU, ...I.if(), ...cut, OP.end],
    ...[...I.block(), ...I.loop, ...I.localGet(WORD), OP.i32Eqz, ...I.brIf(1)],
    ...[...place, ...I.localSet(AT), ...each],
    ...[...I.localGet(WORD), ...I.localGet(WORD), ...I.i32Const(1), OP.i32Sub, OP.i32And, ...I.localSet(WORD), ...I.br(0), OP.end, OP.end],
    ...[...I.localGet(ROW), ...I.localGet(SPAN), OP.i32Add, ...I.localSet(ROW), ...I.br(0), OP.end, OP.end],
  ]
}

function sumKernel(): KernelModule {
  const [sum, filled, out] = [8, 9, 10]
  const whole = [
    ...[
      ...I.localGet(out),
      ...I.localGet(sum),
      ...I.memory(OP.f64Store),
      ...I.localGet(out),
      ...I.i32Const(8),
      OP.i32Add,
      ...I.localSet(out),
    ],
    ...[...I.f64Const(0), ...I.localSet(sum), ...I.i32Const(0), ...I.localSet(filled)],
  ]
  const each = [
    ...[...I.localGet(sum), ...I.localGet(AT), ...I.memory(OP.f64Load), OP.f64Add, ...I.localSet(sum)],
    ...[
      ...I.localGet(filled),
      ...I.i32Const(1),
      OP.i32Add,
      ...I.localTee(filled),
      ...I.i32Const(CHUNK),
      OP.i32Eq,
      ...I.if(),
      ...whole,
      OP.end,
    ],
  ]
  const body = [
    ...[...I.localGet(STATE), ...I.memory(OP.f64Load), ...I.localSet(sum)],
    ...[...I.localGet(STATE), ...I.memory(OP.i32Load, FOLD_STATE.filled), ...I.localSet(filled)],
    ...[...I.localGet(STATE), ...I.addressLoad(FOLD_STATE.out), ...I.localSet(out)],
    ...eachSelected(3, each),
    ...[...I.localGet(STATE), ...I.localGet(sum), ...I.memory(OP.f64Store)],
    ...[...I.localGet(STATE), ...I.localGet(filled), ...I.memory(OP.i32Store, FOLD_STATE.filled)],
    ...[...I.localGet(STATE), ...I.localGet(out), ...I.addressStore(FOLD_STATE.out)],
  ]
  return { imports: [], parameters: PARAMETERS, locals: ['i32', 'i32', 'i32', 'f64', 'i32', 'i32'], body }
}

/** run(address of the first chunk's values, address for the four sums) */
function sum4Kernel(): KernelModule {
  const [values, out, end, low, high] = [0, 1, 2, 3, 4]
  const chunkBytes = 8 * CHUNK
  const load = (chunk: number): Code => [...I.localGet(values), ...I.memory(SIMD.load, chunk * chunkBytes)]
  const [a, b] = [5, 6]
  /** Adds two rows of two chunks: both first rows, then both second rows, each in the lane of its chunk. */
  const add = (sum: number, first: number): Code => [
    ...[...load(first), ...I.localSet(a), ...load(first + 1), ...I.localSet(b)],
    ...[...I.localGet(sum), ...I.localGet(a), ...I.localGet(b), ...shuffle32([0, 1, 4, 5]), SIMD.f64Add],
    ...[...I.localGet(a), ...I.localGet(b), ...shuffle32([2, 3, 6, 7]), SIMD.f64Add, ...I.localSet(sum)],
  ]
  const body = [
    ...[...I.localGet(values), ...I.i32Const(chunkBytes), OP.i32Add, ...I.localSet(end)],
    ...[...I.loop, ...add(low, 0), ...add(high, 2)],
    ...[...I.localGet(values), ...I.i32Const(16), OP.i32Add, ...I.localTee(values), ...I.localGet(end), OP.i32Ne, ...I.brIf(0), OP.end],
    ...[
      ...I.localGet(out),
      ...I.localGet(low),
      ...I.memory(SIMD.store),
      ...I.localGet(out),
      ...I.localGet(high),
      ...I.memory(SIMD.store, 16),
    ],
  ]
  return { imports: [], parameters: ['address', 'address'], locals: ['i32', 'v128', 'v128', 'v128', 'v128'], body }
}

function extremeKernel(operation: Plain): KernelModule {
  const best = 8
  const each = [...I.localGet(best), ...I.localGet(AT), ...I.memory(OP.f64Load), operation, ...I.localSet(best)]
  const body = [
    ...[...I.localGet(STATE), ...I.memory(OP.f64Load), ...I.localSet(best), ...eachSelected(3, each)],
    ...[...I.localGet(STATE), ...I.localGet(best), ...I.memory(OP.f64Store)],
  ]
  return { imports: [], parameters: PARAMETERS, locals: ['i32', 'i32', 'i32', 'f64'], body }
}

function sum64Kernel(): KernelModule {
  const [low, high, value] = [8, 9, 10]
  const each = [
    ...[...I.localGet(AT), ...I.memory(OP.i64Load), ...I.localSet(value)],
    ...[...I.localGet(low), ...I.localGet(value), ...i64Const(0xffffffffn), OP.i64And, OP.i64Add, ...I.localSet(low)],
    ...[...I.localGet(high), ...I.localGet(value), ...i64Const(32n), OP.i64ShrS, OP.i64Add, ...I.localSet(high)],
  ]
  const body = [
    ...[...I.localGet(STATE), ...I.memory(OP.i64Load), ...I.localSet(low)],
    ...[...I.localGet(STATE), ...I.memory(OP.i64Load, 8), ...I.localSet(high), ...eachSelected(3, each)],
    ...[...I.localGet(STATE), ...I.localGet(low), ...I.memory(OP.i64Store)],
    ...[...I.localGet(STATE), ...I.localGet(high), ...I.memory(OP.i64Store, 8)],
  ]
  return { imports: [], parameters: PARAMETERS, locals: ['i32', 'i32', 'i32', 'i64', 'i64', 'i64'], body }
}

function extreme64Kernel(isBetter: Plain): KernelModule {
  const [best, value] = [8, 9]
  const each = [
    ...[...I.localGet(AT), ...I.memory(OP.i64Load), ...I.localTee(value), ...I.localGet(best)],
    ...[...I.localGet(value), ...I.localGet(best), isBetter, OP.select, ...I.localSet(best)],
  ]
  const body = [
    ...[...I.localGet(STATE), ...I.memory(OP.i64Load), ...I.localSet(best), ...eachSelected(3, each)],
    ...[...I.localGet(STATE), ...I.localGet(best), ...I.memory(OP.i64Store)],
  ]
  return { imports: [], parameters: PARAMETERS, locals: ['i32', 'i32', 'i32', 'i64', 'i64'], body }
}

function compactKernel(log2Bytes: 0 | 1 | 2 | 3): KernelModule {
  const [load, store] = (
    [
      [OP.i32Load8U, OP.i32Store8],
      [OP.i32Load16U, OP.i32Store16],
      [OP.i32Load, OP.i32Store],
      [OP.f64Load, OP.f64Store],
    ] as const
  )[log2Bytes]
  const each = [
    ...[...I.localGet(STATE), ...I.localGet(AT), ...I.memory(load), ...I.memory(store)],
    ...[...I.localGet(STATE), ...I.i32Const(1 << log2Bytes), OP.i32Add, ...I.localSet(STATE)],
  ]
  return { imports: [], parameters: PARAMETERS, locals: ['i32', 'i32', 'i32'], body: eachSelected(log2Bytes, each) }
}

/** Concurrent morsels write neighbouring bits of one word, so words are merged by an atomic or. */
function compactBitsKernel(): KernelModule {
  const [target, at, word] = [8, 9, 10]
  const orInto: Code = [{ ...ATOMIC.i32Or, alignment: 2 }]
  const store = (behind: Code): Code => [
    ...[...I.localGet(target), ...I.localGet(at), ...behind, ...I.i32Const(5), OP.i32ShrU, ...I.i32Const(2), OP.i32Shl, OP.i32Add],
    ...[...I.localGet(word), ...orInto, OP.drop],
  ]
  const byte = [...I.localGet(VALUES), ...I.localGet(AT), ...I.i32Const(3), OP.i32ShrU, OP.i32Add, ...I.memory(OP.i32Load8U)]
  const bit = [...byte, ...I.localGet(AT), ...I.i32Const(7), OP.i32And, OP.i32ShrU, ...I.i32Const(1), OP.i32And]
  const each = [
    ...[...I.localGet(word), ...bit, ...I.localGet(at), ...I.i32Const(31), OP.i32And, OP.i32Shl, OP.i32Or, ...I.localSet(word)],
    ...[...I.localGet(at), ...I.i32Const(1), OP.i32Add, ...I.localTee(at), ...I.i32Const(31), OP.i32And, OP.i32Eqz, ...I.if()],
    ...[...store([...I.i32Const(1), OP.i32Sub]), ...I.i32Const(0), ...I.localSet(word), OP.end],
  ]
  const body = [
    ...[...I.localGet(STATE), ...I.addressLoad(FOLD_STATE.target), ...I.localSet(target)],
    ...[...I.localGet(STATE), ...I.memory(OP.i32Load, FOLD_STATE.at), ...I.localSet(at), ...eachSelected('row', each)],
    ...[...I.localGet(word), ...I.if(), ...store([]), OP.end],
  ]
  return { imports: [], parameters: PARAMETERS, locals: ['i32', 'i32', 'i32', 'i32', 'i32', 'i32'], body }
}
