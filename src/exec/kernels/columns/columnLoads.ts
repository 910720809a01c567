/** Loads of four rows of a column, by the column's type. */
import type { ColumnType } from '../../../core/data/schema.ts'
import { type Code, I, SIMD } from '../../kir/instructions.ts'
import { lanesConst } from '../../kir/simd.ts'
import { HIGHEST, LOWEST } from '../expressions/types.ts'

/** `vectors` returns the code that loads each vector of a value; `from` leaves the address of the first row. */
export type Loads = { readonly log2Bytes: number; readonly vectors: (from: Code) => readonly Code[] } & (
  | { readonly as: 'f64' | 'i64' | 'bool' }
  | { readonly as: 'i32'; readonly low: number; readonly high: number }
)

const whole = (from: Code): Code => [...from, ...I.memory(SIMD.load)]
const pair = (from: Code): readonly Code[] => [whole(from), [...from, ...I.memory(SIMD.load, 16)]]
const bytes = (from: Code): Code => [...from, ...I.memory(SIMD.load32Zero)]

export const LOADS: ReadonlyMap<ColumnType['kind'], Loads> = new Map<ColumnType['kind'], Loads>([
  ['f64', { as: 'f64', log2Bytes: 3, vectors: pair }],
  [
    'f32',
    {
      as: 'f64',
      log2Bytes: 2,
      vectors: (from) => [
        [...whole(from), SIMD.promoteF32],
        [...from, ...I.memory(SIMD.load64Zero, 8), SIMD.promoteF32],
      ],
    },
  ],
  ['i64', { as: 'i64', log2Bytes: 3, vectors: pair }],
  ['i32', { as: 'i32', log2Bytes: 2, vectors: (from) => [whole(from)], low: LOWEST, high: HIGHEST }],
  [
    'u32',
    {
      as: 'f64',
      log2Bytes: 2,
      vectors: (from) => [
        [...whole(from), SIMD.f64ConvertI32U],
        [...from, ...I.memory(SIMD.load64Zero, 8), SIMD.f64ConvertI32U],
      ],
    },
  ],
  ['i16', { as: 'i32', log2Bytes: 1, vectors: (from) => [[...from, ...I.memory(SIMD.load16x4S)]], low: -(2 ** 15), high: 2 ** 15 - 1 }],
  ['u16', { as: 'i32', log2Bytes: 1, vectors: (from) => [[...from, ...I.memory(SIMD.load16x4U)]], low: 0, high: 2 ** 16 - 1 }],
  [
    'i8',
    {
      as: 'i32',
      log2Bytes: 0,
      vectors: (from) => [[...bytes(from), SIMD.i16ExtendI8S, SIMD.i32ExtendI16S]],
      low: -128,
      high: 127,
    },
  ],
  [
    'u8',
    {
      as: 'i32',
      log2Bytes: 0,
      vectors: (from) => [[...bytes(from), SIMD.i16ExtendI8U, SIMD.i32ExtendI16U]],
      low: 0,
      high: 255,
    },
  ],
  [
    'bool',
    {
      as: 'bool',
      log2Bytes: 0,
      vectors: (from) => [[...bytes(from), SIMD.i16ExtendI8U, SIMD.i32ExtendI16U, ...lanesConst([0, 0, 0, 0]), SIMD.i32Ne]],
    },
  ],
])
