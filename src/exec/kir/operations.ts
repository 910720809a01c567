/**
 * The operations of kernels: the name of each, the types of the values that it takes and gives, and its number in
 * WebAssembly. Blocks, branches, calls, constants, locals and globals are instructions of their own (`instructions.ts`).
 *
 *     row(0x46, 2, 'i32', 'eq ne')      0x46 is i32.eq, 0x47 is i32.ne; both take two of i32 and give one
 *
 * The tables are the specification's and have all of its instructions, so that one that kernels come to use has its name
 * and its types already. Addresses are i32 in the IR: those of 64 bits are a pass (`passes/wideAddresses.ts`).
 */

export type ValueType = 'i32' | 'i64' | 'f32' | 'f64' | 'v128'

export interface Operation {
  readonly name: string
  /** The types of the operands; undefined stands for any type, the same one for all such operands. */
  readonly takes: readonly (ValueType | undefined)[]
  readonly gives: ValueType | 'same' | undefined
  /** The immediates that follow the number in the bytes: alignment and offset, a lane, or both. */
  readonly immediate: 'none' | 'memory' | 'lane' | 'memory lane'
  /** The number of bytes that a memory access transfers, and so its natural alignment; meaningless for other operations. */
  readonly bytes: number
  /** The prefix byte before the number in a module's bytes: 0xfc, 0xfd or 0xfe; undefined where there is none. */
  readonly prefix: number | undefined
  readonly number: number
}

type Row = readonly (readonly [number, Omit<Operation, 'prefix' | 'number'>])[]

/** Operations with consecutive numbers, all with `takes` operands; `-` skips a number that is not assigned. */
function row(first: number, takes: number, type: string, names: string, immediate: Operation['immediate'] = 'none'): Row {
  return names.split(' ').flatMap((name, i) => {
    const full = type === '' ? name : `${type}.${name}`
    return name === '-' ? [] : [[first + i, { name: full, ...typesOf(type, name, takes), immediate, bytes: bytesOf(type, name) }] as const]
  })
}

/** Returns the bytes that a memory access transfers: `load16x4_s` reads 8, `i64.load32_u` 4, `f64.load` those of its type. */
function bytesOf(type: string, name: string): number {
  const [, bits, lanes] = /^(?:load|store)(\d+)?(?:x(\d))?/.exec(name) ?? []
  return (Number(bits ?? type.slice(1)) * Number(lanes ?? 1)) / 8
}

/** The type of a vector's lane as a scalar value. */
const LANE: Readonly<Record<string, ValueType>> = { i8x16: 'i32', i16x8: 'i32', i32x4: 'i32', i64x2: 'i64', f32x4: 'f32', f64x2: 'f64' }

/** Derives the types of an operation from its name. */
function typesOf(type: string, name: string, takes: number): Pick<Operation, 'takes' | 'gives'> {
  const lane = LANE[type]
  const own = type === '' ? undefined : lane !== undefined || type === 'v128' ? 'v128' : (type as ValueType) // what is no vector is named by its type
  const all = new Array<ValueType | undefined>(takes).fill(own)
  if (own === undefined)
    return name === 'select' ? { takes: [undefined, undefined, 'i32'], gives: 'same' } : { takes: all, gives: undefined }
  if (name.startsWith('store')) return { takes: ['i32', own], gives: undefined }
  if (name.startsWith('load') || name.startsWith('atomic')) return { takes: ['i32', ...all.slice(1)], gives: own }
  if (own === 'v128') {
    if (name === 'splat') return { takes: [lane], gives: own }
    if (name === 'replace_lane') return { takes: [own, lane], gives: own }
    if (name.startsWith('extract_lane')) return { takes: all, gives: lane }
    if (/^sh[lr]/.test(name)) return { takes: [own, 'i32'], gives: own }
    return { takes: all, gives: /^(any_true|all_true|bitmask)$/.test(name) ? 'i32' : own }
  }
  if (/^(eqz?|ne|[lg][te](_[su])?)$/.test(name)) return { takes: all, gives: 'i32' }
  const [, from] = /^(?:wrap|trunc|trunc_sat|extend|convert|demote|promote|reinterpret)_([if]\d\d)/.exec(name) ?? []
  return { takes: from === undefined ? all : [from as ValueType], gives: own } // the expression matches types only
}

/** The operations of a table by their number, behind a prefix byte. */
function table(prefix: number | undefined, rows: readonly Row[]): ReadonlyMap<number, Operation> {
  return new Map(rows.flat().map(([number, one]) => [number, { ...one, prefix, number }]))
}

const COMPARED = 'eq ne lt_s lt_u gt_s gt_u le_s le_u ge_s ge_u'
const COMPARED_FLOATS = 'eq ne lt gt le ge'
const INTEGERS = 'add sub mul div_s div_u rem_s rem_u and or xor shl shr_s shr_u rotl rotr'
const FLOATS = 'add sub mul div min max copysign'
const FLOAT = 'abs neg ceil floor trunc nearest sqrt'

/** Operations whose number is a single byte. */
export const SCALAR_OPERATIONS: ReadonlyMap<number, Operation> = table(undefined, [
  row(0x00, 0, '', 'unreachable'),
  row(0x0f, 0, '', 'return'),
  row(0x1a, 1, '', 'drop'),
  row(0x1b, 3, '', 'select'),
  row(0x28, 1, 'i32', 'load', 'memory'),
  row(0x29, 1, 'i64', 'load', 'memory'),
  row(0x2a, 1, 'f32', 'load', 'memory'),
  row(0x2b, 1, 'f64', 'load', 'memory'),
  row(0x2c, 1, 'i32', 'load8_s load8_u load16_s load16_u', 'memory'),
  row(0x30, 1, 'i64', 'load8_s load8_u load16_s load16_u load32_s load32_u', 'memory'),
  row(0x36, 2, 'i32', 'store', 'memory'),
  row(0x37, 2, 'i64', 'store', 'memory'),
  row(0x38, 2, 'f32', 'store', 'memory'),
  row(0x39, 2, 'f64', 'store', 'memory'),
  row(0x3a, 2, 'i32', 'store8 store16', 'memory'),
  row(0x3c, 2, 'i64', 'store8 store16 store32', 'memory'),
  row(0x45, 1, 'i32', 'eqz'),
  row(0x46, 2, 'i32', COMPARED),
  row(0x50, 1, 'i64', 'eqz'),
  row(0x51, 2, 'i64', COMPARED),
  row(0x5b, 2, 'f32', COMPARED_FLOATS),
  row(0x61, 2, 'f64', COMPARED_FLOATS),
  row(0x67, 1, 'i32', 'clz ctz popcnt'),
  row(0x6a, 2, 'i32', INTEGERS),
  row(0x79, 1, 'i64', 'clz ctz popcnt'),
  row(0x7c, 2, 'i64', INTEGERS),
  row(0x8b, 1, 'f32', FLOAT),
  row(0x92, 2, 'f32', FLOATS),
  row(0x99, 1, 'f64', FLOAT),
  row(0xa0, 2, 'f64', FLOATS),
  row(0xa7, 1, 'i32', 'wrap_i64 trunc_f32_s trunc_f32_u trunc_f64_s trunc_f64_u'),
  row(0xac, 1, 'i64', 'extend_i32_s extend_i32_u trunc_f32_s trunc_f32_u trunc_f64_s trunc_f64_u'),
  row(0xb2, 1, 'f32', 'convert_i32_s convert_i32_u convert_i64_s convert_i64_u demote_f64'),
  row(0xb7, 1, 'f64', 'convert_i32_s convert_i32_u convert_i64_s convert_i64_u promote_f32'),
  row(0xbc, 1, 'i32', 'reinterpret_f32'),
  row(0xbd, 1, 'i64', 'reinterpret_f64'),
  row(0xbe, 1, 'f32', 'reinterpret_i32'),
  row(0xbf, 1, 'f64', 'reinterpret_i64'),
  row(0xc0, 1, 'i32', 'extend8_s extend16_s'),
  row(0xc2, 1, 'i64', 'extend8_s extend16_s extend32_s'),
])

/** Operations behind the prefix 0xfc. */
export const SATURATING_OPERATIONS: ReadonlyMap<number, Operation> = table(0xfc, [
  row(0x00, 1, 'i32', 'trunc_sat_f32_s trunc_sat_f32_u trunc_sat_f64_s trunc_sat_f64_u'),
  row(0x04, 1, 'i64', 'trunc_sat_f32_s trunc_sat_f32_u trunc_sat_f64_s trunc_sat_f64_u'),
])

/** Operations behind the prefix 0xfe: the only one that kernels use. */
export const ATOMIC_OPERATIONS: ReadonlyMap<number, Operation> = table(0xfe, [row(0x33, 2, 'i32', 'atomic.rmw.or', 'memory')])

/** Relaxed SIMD, also behind the prefix 0xfd: the results of these may depend on the CPU. */
const RELAXED: readonly Row[] = [
  row(0x100, 2, 'i8x16', 'relaxed_swizzle'),
  row(
    ...([0x101, 1, 'i32x4'] as const),
    'relaxed_trunc_f32x4_s relaxed_trunc_f32x4_u relaxed_trunc_f64x2_s_zero relaxed_trunc_f64x2_u_zero',
  ),
  ...['f32x4', 'f64x2'].map((type, i) => row(0x105 + 2 * i, 3, type, 'relaxed_madd relaxed_nmadd')),
  ...['i8x16', 'i16x8', 'i32x4', 'i64x2'].map((type, i) => row(0x109 + i, 3, type, 'relaxed_laneselect')),
  ...['f32x4', 'f64x2'].map((type, i) => row(0x10d + 2 * i, 2, type, 'relaxed_min relaxed_max')),
  row(0x111, 2, 'i16x8', 'relaxed_q15mulr_s relaxed_dot_i8x16_i7x16_s'),
  row(0x113, 3, 'i32x4', 'relaxed_dot_i8x16_i7x16_add_s'),
]

/** Operations behind the prefix 0xfd; constants (0x0c) and shuffles (0x0d) are instructions of their own, for they carry 16 bytes. */
export const VECTOR_OPERATIONS: ReadonlyMap<number, Operation> = table(0xfd, [
  row(0x00, 1, 'v128', 'load load8x8_s load8x8_u load16x4_s load16x4_u load32x2_s load32x2_u', 'memory'),
  row(0x07, 1, 'v128', 'load8_splat load16_splat load32_splat load64_splat', 'memory'),
  row(0x0b, 2, 'v128', 'store', 'memory'),
  row(0x0e, 2, 'i8x16', 'swizzle'),
  ...['i8x16', 'i16x8', 'i32x4', 'i64x2', 'f32x4', 'f64x2'].map((type, i) => row(0x0f + i, 1, type, 'splat')),
  ...['i8x16', 'i16x8'].flatMap((type, i) => lanes(0x15 + 3 * i, type, 'extract_lane_s extract_lane_u')),
  ...['i32x4', 'i64x2', 'f32x4', 'f64x2'].flatMap((type, i) => lanes(0x1b + 2 * i, type, 'extract_lane')),
  ...['i8x16', 'i16x8', 'i32x4'].map((type, i) => row(0x23 + 10 * i, 2, type, COMPARED)),
  row(0x41, 2, 'f32x4', COMPARED_FLOATS),
  row(0x47, 2, 'f64x2', COMPARED_FLOATS),
  row(0x4d, 1, 'v128', 'not'),
  row(0x4e, 2, 'v128', 'and andnot or xor'),
  row(0x52, 3, 'v128', 'bitselect'),
  row(0x53, 1, 'v128', 'any_true'),
  row(0x54, 2, 'v128', 'load8_lane load16_lane load32_lane load64_lane', 'memory lane'),
  row(0x58, 2, 'v128', 'store8_lane store16_lane store32_lane store64_lane', 'memory lane'),
  row(0x5c, 1, 'v128', 'load32_zero load64_zero', 'memory'),
  row(0x5e, 1, 'f32x4', 'demote_f64x2_zero'),
  row(0x5f, 1, 'f64x2', 'promote_low_f32x4'),
  row(0x60, 1, 'i8x16', 'abs neg popcnt all_true bitmask'),
  row(0x65, 2, 'i8x16', 'narrow_i16x8_s narrow_i16x8_u'),
  row(0x67, 1, 'f32x4', 'ceil floor trunc nearest'),
  row(0x6b, 2, 'i8x16', 'shl shr_s shr_u add add_sat_s add_sat_u sub sub_sat_s sub_sat_u'),
  row(0x74, 1, 'f64x2', 'ceil floor'),
  row(0x76, 2, 'i8x16', 'min_s min_u max_s max_u'),
  row(0x7a, 1, 'f64x2', 'trunc'),
  row(0x7b, 2, 'i8x16', 'avgr_u'),
  row(0x7c, 1, 'i16x8', 'extadd_pairwise_i8x16_s extadd_pairwise_i8x16_u'),
  row(0x7e, 1, 'i32x4', 'extadd_pairwise_i16x8_s extadd_pairwise_i16x8_u'),
  row(0x80, 1, 'i16x8', 'abs neg'),
  row(0x82, 2, 'i16x8', 'q15mulr_sat_s'),
  row(0x83, 1, 'i16x8', 'all_true bitmask'),
  row(0x85, 2, 'i16x8', 'narrow_i32x4_s narrow_i32x4_u'),
  row(0x87, 1, 'i16x8', 'extend_low_i8x16_s extend_high_i8x16_s extend_low_i8x16_u extend_high_i8x16_u'),
  row(0x8b, 2, 'i16x8', 'shl shr_s shr_u add add_sat_s add_sat_u sub sub_sat_s sub_sat_u'),
  row(0x94, 1, 'f64x2', 'nearest'),
  row(0x95, 2, 'i16x8', 'mul min_s min_u max_s max_u - avgr_u'),
  row(0x9c, 2, 'i16x8', 'extmul_low_i8x16_s extmul_high_i8x16_s extmul_low_i8x16_u extmul_high_i8x16_u'),
  row(0xa0, 1, 'i32x4', 'abs neg - all_true bitmask'),
  row(0xa7, 1, 'i32x4', 'extend_low_i16x8_s extend_high_i16x8_s extend_low_i16x8_u extend_high_i16x8_u'),
  row(0xab, 2, 'i32x4', 'shl shr_s shr_u add - - sub - - - mul min_s min_u max_s max_u dot_i16x8_s'),
  row(0xbc, 2, 'i32x4', 'extmul_low_i16x8_s extmul_high_i16x8_s extmul_low_i16x8_u extmul_high_i16x8_u'),
  row(0xc0, 1, 'i64x2', 'abs neg - all_true bitmask'),
  row(0xc7, 1, 'i64x2', 'extend_low_i32x4_s extend_high_i32x4_s extend_low_i32x4_u extend_high_i32x4_u'),
  row(0xcb, 2, 'i64x2', 'shl shr_s shr_u add - - sub - - - mul eq ne lt_s gt_s le_s ge_s'),
  row(0xdc, 2, 'i64x2', 'extmul_low_i32x4_s extmul_high_i32x4_s extmul_low_i32x4_u extmul_high_i32x4_u'),
  ...['f32x4', 'f64x2'].flatMap((type, i) => [
    row(0xe0 + 12 * i, 1, type, 'abs neg - sqrt'),
    row(0xe4 + 12 * i, 2, type, 'add sub mul div min max pmin pmax'),
  ]),
  row(0xf8, 1, 'i32x4', 'trunc_sat_f32x4_s trunc_sat_f32x4_u'),
  row(0xfa, 1, 'f32x4', 'convert_i32x4_s convert_i32x4_u'),
  row(0xfc, 1, 'i32x4', 'trunc_sat_f64x2_s_zero trunc_sat_f64x2_u_zero'),
  row(0xfe, 1, 'f64x2', 'convert_low_i32x4_s convert_low_i32x4_u'),
  ...RELAXED,
])

/** Extracts and replacements of one lane. */
function lanes(first: number, type: string, extracts: string): readonly Row[] {
  return [row(first, 1, type, extracts, 'lane'), row(first + extracts.split(' ').length, 2, type, 'replace_lane', 'lane')]
}
