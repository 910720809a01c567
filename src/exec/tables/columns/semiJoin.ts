/**
 * Semi-joins and anti-joins under a fold: a filter of the left side's rows by a set of keys, in the pass over its columns.
 *
 *     fold of PipelineExec [above] over HashJoinExec semi (PipelineExec [below] over a table, right)
 *       is the fold of PipelineExec [below, above] over the table, of the rows whose key is one of the right side's
 *
 * The key is a column of the table, and the right side's keys are whole numbers in a dense range, or texts where the column has codes:
 * the set then has the codes of those of the right side's texts that the column has.
 */
import type { Batch, Column } from '../../../core/data/column.ts'
import { fieldsOf, plainType, sameType } from '../../../core/data/schema.ts'
import type { PhysicalPlan, Step } from '../../../planner/physical/physicalPlan.ts'
import { byteSetKernel, TABLE_BYTES } from '../../kernels/tables/byteKernels.ts'
import { SEMI_FRAME, type SemiShape, semiKernel } from '../../kernels/tables/semiKernel.ts'
import type { KernelModule } from '../../kir/kernelModule.ts'
import { putAddress } from '../../memory/addressWords.ts'
import type { Arena } from '../../memory/arena.ts'
import { kernelType } from '../operators/groupBy/groupMemory.ts'
import { KeyIds } from '../operators/hashing/keyIds.ts'
import { markPlaces, type Window, wholeRange } from '../operators/hashing/keyWindows.ts'
import { isFinerThanMilliseconds } from '../operators/sort/wholeMilliseconds.ts'
import { addressOf, sentModule } from './kernelBinding.ts'
import type { BoundKernel } from './sentKernel.ts'
import { codeColumn, codesOf, differentTexts, type TextCodes } from './texts/textCodes.ts'

export interface SemiJoin {
  /** The plan without the join, over its left side. */
  readonly plan: PhysicalPlan
  readonly right: PhysicalPlan
  readonly on: string
  readonly anti: boolean
}

/** A set of keys as bits: one for every number of the window, the lowest of a byte first, and a last 0 for all other numbers. */
export interface KeySet {
  readonly on: string
  readonly anti: boolean
  readonly window: Window
  readonly present: Uint8Array
  /** Whether the numbers are dictionary codes of the column's texts. */
  readonly coded: boolean
  /** The number of the join's key filter, where the set has that join's whole keys and not a part of them. */
  readonly keys?: number
}

/** The widest set's window: its bits still fit a core's caches. */
const WIDEST_SET = 2 ** 25

/** The plan's semi- or anti-join as a filter; undefined where the plan has none that can be one. */
export function semiJoinOf(plan: PhysicalPlan): SemiJoin | undefined {
  const above = plan.kind === 'PipelineExec' ? plan : undefined
  const join = above?.input ?? plan
  if (join.kind !== 'WideExec' || join.operator.kind !== 'HashJoinExec' || above?.where === 'caller' || above?.numbered === true)
    return undefined
  const { how, on } = join.operator
  const [left, right] = join.inputs
  if ((how !== 'semi' && how !== 'anti') || on === undefined || left === undefined || right === undefined) return undefined
  const below = left.kind === 'PipelineExec' ? left : undefined
  if (below !== undefined && !below.steps.every(keepsColumns)) return undefined
  const { element, keys } = plan
  const steps = [...(below?.steps ?? []), ...(above?.steps ?? [])]
  const numbered = below?.numbered ?? false
  const fused: PhysicalPlan = {
    kind: 'PipelineExec',
    input: below?.input ?? left,
    steps,
    where: below?.where ?? 'workers',
    numbered,
    element,
    keys,
  }
  return { plan: fused, right, on, anti: how === 'anti' }
}

/** Whether a step keeps the table's columns under their names. */
function keepsColumns(step: Step): boolean {
  return step.kind === 'FilterExec' || step.kind === 'ProjectExec'
}

/** The columns of this name; undefined where a batch has none. */
export function namedColumns(batches: readonly Batch[], name: string): readonly Column[] | undefined {
  const found: Column[] = []
  for (const batch of batches) {
    const column = batch.columns[fieldsOf(batch.element).findIndex((field) => field.name === name)]
    if (column === undefined) return undefined
    found.push(column)
  }
  return found
}

/** The most texts of a column for which keys are translated to codes on the caller's thread. */
const MOST_CODED = 2 ** 16

/** The set of one side's keys for a column of the other; undefined where keys are no whole numbers or codes, or their window would be wider than `widest`. */
export function keySetOf(
  { on, anti }: Pick<KeySet, 'on' | 'anti'>,
  all: readonly Column[],
  left: Column,
  widest: number = WIDEST_SET,
): KeySet | undefined {
  const { type } = left
  if (isFinerThanMilliseconds(type)) return undefined
  if (!all.every((column) => sameType(plainType(column.type), plainType(type)))) return undefined
  const keys = all.filter((column) => column.length > 0)
  const codes = codesOf(left)
  if (codes !== undefined && codes.firsts.length <= MOST_CODED) return { on, anti, coded: true, ...codedSet(keys, left, codes) }
  const ranges = keys.map((key) => wholeRange(key, key.length))
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const range of ranges) {
    if (range === undefined) return undefined
    least = Math.min(least, range[0])
    most = Math.max(most, range[1])
  }
  const window = most < least ? { base: 0, span: 0 } : { base: least, span: most - least + 1 }
  if (window.span > widest) return undefined
  const present = bitsFor(window.span)
  for (const key of keys) markPlaces(key, window, present)
  return { on, anti, window, present, coded: false }
}

/** The bits of an empty set, in whole vectors. */
export function bitsFor(span: number): Uint8Array {
  return new Uint8Array(TABLE_BYTES * Math.ceil((span + 1) / 8 / TABLE_BYTES))
}

export function setBit(bits: Uint8Array, at: number): void {
  bits[at >> 3] = (bits[at >> 3] ?? 0) | (1 << (at & 7))
}

/** The set as the kernel for this column reads it, in whole vectors: bits, or bytes where bytes are looked up sixteen at a time. */
export function setTable(set: KeySet, column: Column): Uint8Array {
  const { present, window } = set
  if (!isOfBytes(set, keyColumn(set, column))) return present
  return Uint8Array.from({ length: TABLE_BYTES * Math.ceil(window.span / TABLE_BYTES) }, (_, i) => ((present[i >> 3] ?? 0) >> (i & 7)) & 1)
}

/** The column that the set's numbers are of: codes, where these are codes of texts. */
function keyColumn({ coded }: KeySet, column: Column): Column {
  const codes = coded ? codesOf(column) : undefined
  return codes === undefined ? column : codeColumn(column, codes)
}

/** Whether bytes are looked up in a table of vectors. */
function isOfBytes({ window: { base, span } }: KeySet, key: Column): boolean {
  return kernelType(key.type.kind) === 'u8' && base === 0 && span > 0 && span <= 2 ** 8
}

/** The set of the codes of keys that are texts. */
function codedSet(keys: readonly Column[], left: Column, codes: TextCodes): Pick<KeySet, 'window' | 'present'> {
  const span = codes.firsts.length
  const present = bitsFor(span)
  const known = new KeyIds(left.type)
  known.encode(differentTexts(left, codes)) // all different, so that ids are codes
  for (const key of keys) for (const code of known.lookUp(key)) if (code >= 0) setBit(present, code)
  return { window: { base: 0, span }, present }
}

/** The kernel that filters a table's column by a set of keys, whose `setTable` is at `present`; undefined where the column lies outside the arena. */
export function boundSemi(
  set: KeySet,
  column: Column,
  places: { readonly bitmap: number; readonly counts: number; readonly present: number; readonly narrows: boolean },
  arena: Arena,
): BoundKernel | undefined {
  const key = keyColumn(set, column)
  const type = kernelType(key.type.kind)
  const address = addressOf(key.values, arena)
  const bits = key.validity === undefined ? 0 : addressOf(key.validity, arena)
  if (type === undefined || address === undefined || bits === undefined) return undefined
  const shape: SemiShape = { type, nullable: key.validity !== undefined, anti: set.anti, narrows: places.narrows }
  const kernel = filterKernel(shape, isOfBytes(set, key) ? Math.ceil(set.window.span / TABLE_BYTES) : 0)
  const values = { ...set.window, ...places, key: address, keyBits: bits }
  const frame = new Float64Array(SEMI_FRAME.length)
  const words = new Int32Array(frame.buffer)
  for (const [i, name] of SEMI_FRAME.entries()) putAddress(words, 2 * i, values[name])
  return { ...sentModule(kernel, arena), functions: [], frame, outputs: [] }
}

/** The kernels by shape and tables, so that each is made and encoded once. */
const filterKernels = new Map<string, KernelModule>()

/** The kernel that filters rows by a set: of bytes in so many tables of vectors, or of places in a range where there are none. */
function filterKernel(shape: SemiShape, tables: number): KernelModule {
  const key = JSON.stringify([shape, tables])
  let kernel = filterKernels.get(key)
  if (kernel === undefined) filterKernels.set(key, (kernel = tables > 0 ? byteSetKernel(shape, tables) : semiKernel(shape)))
  return kernel
}
