/**
 * The records of groups of a group-by in one pass: allocates their memory, chooses the kernels, and reads them after the pass
 * (`groupPass.ts` runs it, `groupedColumns.ts` makes columns from the records).
 */
import { CHUNK } from '../../../../core/arrays/fixedTree.ts'
import { listKernel } from '../../../kernels/columns/listKernel.ts'
import { valuesKernel } from '../../../kernels/columns/wasmColumns.ts'
import { FRAME, frameBytes, isTouched, type KernelType, type KeyPart } from '../../../kernels/tables/groupFrame.ts'
import { LOG_ENTRY_BYTES } from '../../../kernels/tables/groupKernels.ts'
import { type AddedRows, addKernel, MEAN_AT, type PassFold, passRecord, placesKernel } from '../../../kernels/tables/groupPassKernels.ts'
import { addressAt, putAddress } from '../../../memory/addressWords.ts'
import type { Arena } from '../../../memory/arena.ts'
import { fill, fillWindows, foldWord, kernelType, partWord } from '../../operators/groupBy/groupMemory.ts'
import { placesIn, stridesOf, type Window } from '../../operators/hashing/keyWindows.ts'
import { type ColumnRun, compiledKernel } from '../columnRun.ts'
import { addressOf, sentModule } from '../kernelBinding.ts'
import type { BoundKernel } from '../sentKernel.ts'
import type { PassKey } from './groupKeys.ts'
import { type Adder, type GroupPass, listBytes, MOST_ADDERS, PASS_BYTES, type PassColumn, RING_UNITS } from './groupPass.ts'
import type { PassFolds, PassSources } from './groupSources.ts'

/** Sizes by which the work is cut; the result does not depend on them. */
export interface PassSizes {
  /** Rows of a unit, a multiple of 32. */
  readonly unitRows: number
  /** Bytes of records from which on the folds are spread over several adders, as one adder's cache does not hold them. */
  readonly splitBytes: number
  /** Bytes of records below which the folds are spread as well: adding is most of the work then, and every adder has its records in its nearest cache. */
  readonly nearBytes: number
  /** Bytes of records of an adder up to which it reads the rows itself, where it can: with more, rows that wait for memory are overlapped better from lists. */
  readonly rowsBytes: number
  /** The most workers with which one pass is faster than the group-by of two passes over partitions (`groupRun.ts`). */
  readonly mostWorkers: number
  /** The size of the sample of keys that windows are guessed from. */
  readonly keysLookedAt: number
}

/** Records of so many bytes are allowed for any number of rows; more only up to `MOST_BYTES_A_ROW`, as zeroing them would cost more than the pass gains. */
const FEW_BYTES = 2 ** 20
const MOST_BYTES_A_ROW = 8

export interface Pass {
  readonly key: PassKey
  readonly windows: readonly Window[]
  readonly folds: PassFolds
  readonly sources: PassSources
  readonly sizes: PassSizes
  /** For a second pass with folds of squares: the places of the groups, and for each fold their means. */
  readonly means?: { readonly places: Int32Array; readonly of: readonly Float64Array[] }
  /** Groups of rows before these, which the pass goes on with: sums have their open chunks. */
  readonly before?: Omit<Records, 'chunks'>
}

/** The results of a pass by group, in order of first appearance; the groups of rows before come first. */
export interface Records {
  /** The groups' places in the windows. */
  readonly places: Int32Array
  readonly counts: Float64Array
  /** For each fold the groups' extremes, or the sums of their open chunks. */
  readonly values: readonly Float64Array[]
  /** For each fold the sums of full chunks, by the place of the group. */
  readonly chunks: readonly ReadonlyMap<number, readonly number[]>[]
}

/** Runs the pass; undefined where a column lies outside the arena, records would take too much memory, or a key lies outside its window. */
export async function recordsOf(run: ColumnRun, pass: Pass): Promise<Records | undefined> {
  const { key, windows, folds, sources, sizes } = pass
  const { arena, program } = run
  const kernels = run.selects({ skipsNulls: false })
  if (kernels === undefined) return undefined
  const { bitmap, selects } = kernels
  const parts = key.parts.map((part): PassColumn => {
    if (part.kind === 'computed') return sources.compute(part.output, part.truth ? 0 : 2)
    const validity = addressOf(part.column.validity, arena)
    return { address: addressOf(part.column.values, arena) ?? 0, ...(validity === undefined ? {} : { validity }) }
  })
  const { computed, copied } = sources
  const words = run.allocate(PASS_BYTES)

  const units = Math.ceil(program.rows / sizes.unitRows)
  const places = placesIn(windows)
  const allBytes = passRecord(folds.kinds).bytes * places
  const types = allBytes > sizes.rowsBytes || kernels.selects.length > 0 ? undefined : columnTypes(pass)
  const isSpread = types !== undefined || allBytes >= sizes.splitBytes || allBytes < sizes.nearBytes
  const most = isSpread ? Math.min(run.workers, units, MOST_ADDERS) : 1
  const count = Math.max(1, Math.min(most, folds.kinds.length))
  const parted = Array.from({ length: count }, (_, adder) => folds.kinds.flatMap((_, f) => (f % count === adder ? [f] : [])))
  const layouts = parted.map((own) => passRecord(own.map((f) => folds.kinds[f] as PassFold)))
  const recordBytes = Math.max(...layouts.map(({ bytes }) => bytes))
  if (count * recordBytes * places > Math.max(FEW_BYTES, MOST_BYTES_A_ROW * program.rows)) return undefined
  const size = { places, recordBytes }
  const forms = kernelParts(key)
  const adders = parted.map((own, adder) => {
    const rows = types && { parts: forms, recordBytes, types: own.map((f) => types[f] as KernelType) }
    return addsFolds(run, pass, own, { ...size, at: layouts[adder]?.at ?? [], ...(rows && { rows, columns: parts }) })
  })
  const passed = { adders: adders.map(({ kernel, frame, from }) => ({ kernel, frame, from })), unitRows: sizes.unitRows, words }
  const found = async (work: GroupPass): Promise<Records | undefined> => {
    await run.together({ kind: 'groups', ...work }, units, [])
    if ((arena.view('i32', words, 1) as Int32Array)[0] !== 0) return undefined
    return recordsIn(arena, adders, { ...size, folds: folds.kinds.length, before: pass.before?.places ?? new Int32Array(0) })
  }
  if (types !== undefined) return await found({ ...passed, addsRows: true, selects: [], copied: [], ring: 0 })

  const selected = selects.length > 0
  const listing = listingOf(run, pass, { bitmap, words, selected, recordBytes })
  const kernel = computed.length === 0 ? undefined : (listing ?? computing(run, pass, { bitmap, words, selected }))
  if (computed.length > 0 && kernel === undefined) return undefined
  const readsKeys = !selected && copied.length === 0 && key.parts.every(({ kind }) => kind === 'column')
  const shape = {
    ...{ parts: forms, recordBytes, copied: copied.map(({ type }) => type), selected },
    isTouched: readsKeys && isTouched(forms, program.rows),
  }
  return await found({
    ...passed,
    addsRows: false,
    selects: selects.map((select) => ({ kernel: select, frame: run.frameOf(select) })),
    ...(kernel === undefined ? {} : { kernel }),
    ...(listing !== undefined
      ? {}
      : {
          placing: {
            computed: computed.map(({ output, log2Bytes }) => ({ output, log2Bytes })),
            places: sentModule(placesKernel(shape), arena),
            frame: placingFrame(pass, parts, bitmap),
            parts,
          },
        }),
    copied: copied.map(({ from }) => from),
    ring: run.allocate(RING_UNITS * listBytes(sizes.unitRows, copied.length)),
  })
}

/** The type of each fold's column, where the key and all values are columns; else undefined. */
function columnTypes({ key, folds, sources: { computed, copied } }: Pass): readonly KernelType[] | undefined {
  if (computed.length > 0 || key.parts.some(({ kind }) => kind === 'computed')) return undefined
  return folds.from.map((from) => ('list' in from ? (copied[from.list]?.type ?? 'f64') : 'f64'))
}

/**
 * The kernel that computes and lists in one pass; undefined where nothing is computed, a part of the key may be null, or the value of a
 * column is another to functions than to folds.
 */
function listingOf(
  run: ColumnRun,
  { key, windows, sources: { computed, copied } }: Pass,
  {
    bitmap,
    words,
    selected,
    recordBytes,
  }: { readonly bitmap: number; readonly words: number; readonly selected: boolean; readonly recordBytes: number },
): BoundKernel | undefined {
  const { element, kernelColumns, steps } = run.program
  if (computed.length === 0 || copied.some(({ isDay }) => isDay)) return undefined
  if (key.parts.some((part) => part.kind === 'column' && part.column.validity !== undefined)) return undefined
  const options = { parts: key.parts.map(({ output }) => output), copied: copied.map(({ name }) => name), recordBytes, selected }
  const strides = stridesOf(windows)
  const parts = windows.map(({ base, span }, p) => ({ base, span, stride: strides[p] as number })) // a stride for each
  return run.bound(compiledKernel(listKernel, element, kernelColumns, steps, options), { bitmap, inexact: words, parts })
}

/** The kernel that computes parts of the key and values of folds that are no columns; undefined where it cannot be bound. */
function computing(
  run: ColumnRun,
  { key, sources }: Pass,
  { bitmap, words, selected }: { readonly bitmap: number; readonly words: number; readonly selected: boolean },
): BoundKernel | undefined {
  const { element, kernelColumns, steps } = run.program
  const options = {
    outputs: sources.computed.map(({ name }) => name),
    integers: key.parts.flatMap((part) => (part.kind === 'computed' && !part.truth ? [part.output] : [])),
    asDoubles: false,
    sparse: selected,
  }
  const inexact = words // the first word: the pass is off
  return run.bound(compiledKernel(valuesKernel, element, kernelColumns, steps, options), { bitmap, inexact })
}

function kernelParts({ parts }: PassKey): readonly KeyPart[] {
  return parts.map((part) =>
    part.kind === 'computed'
      ? { type: part.truth ? 'u8' : 'i32', nullable: false }
      : { type: kernelType(part.column.type.kind) ?? 'i32', nullable: part.column.validity !== undefined },
  )
}

/** The initial frame of the kernel that finds places. */
function placingFrame({ windows, sources: { copied } }: Pass, parts: readonly PassColumn[], bitmap: number): Int32Array {
  const frame = new Int32Array(frameBytes(copied.length) / 4)
  fill(frame, { bitmap })
  fillParts(frame, windows, parts)
  for (const [f, { from }] of copied.entries()) if ('address' in from) putAddress(frame, foldWord(f), from.address)
  return frame
}

/** Writes the windows of the key's parts, and the addresses of those that are columns. */
function fillParts(frame: Int32Array, windows: readonly Window[], parts: readonly PassColumn[]): void {
  fillWindows(frame, windows)
  for (const [p, part] of parts.entries()) {
    if ('output' in part) continue
    putAddress(frame, partWord(p, 'key'), part.address)
    putAddress(frame, partWord(p, 'bits'), part.validity ?? 0)
  }
}

/** An adder with the addresses of its results. */
interface RecordsAdder extends Adder {
  /** The offset of each of its folds' doubles in a record. */
  readonly at: readonly number[]
  /** The address of a record for each place. */
  readonly records: number
  /** The address of the records' offsets in order of first appearance. */
  readonly order: number
  /** The address of the sums of full chunks. */
  readonly log: number
  /** Its frame, which has the ends of order and log. */
  readonly ends: Int32Array
}

interface RecordsSize {
  readonly places: number
  readonly recordBytes: number
}

interface AdderShape extends RecordsSize, Pick<RecordsAdder, 'at'> {
  /** Where it reads the rows itself: their form, and the parts of the key. */
  readonly rows?: AddedRows
  readonly columns?: readonly PassColumn[]
}

/** Allocates the memory of an adder of the folds `own`. */
function addsFolds(
  run: ColumnRun,
  { folds, means, before, windows, sources }: Pass,
  own: readonly number[],
  { places, recordBytes, at, rows, columns = [] }: AdderShape,
): RecordsAdder {
  const { arena, program } = run
  const [records, order] = [run.allocate(recordBytes * places), run.allocate(4 * Math.min(places, program.rows))]
  // the first row of a group of rows before may fill its chunk
  const filled = Math.floor(program.rows / CHUNK) + 1 + Math.min(before?.places.length ?? 0, program.rows)
  const log = run.allocate(LOG_ENTRY_BYTES * filled * own.length)
  const frame = run.allocate(frameBytes(own.length))
  const ends = arena.view('i32', frame, frameBytes(own.length) / 4) as Int32Array
  fill(ends, { records, slots: order, log })
  const kinds = own.map((f) => folds.kinds[f] as PassFold)
  const from = own.map((f) => folds.from[f] as PassFolds['from'][number])
  if (rows !== undefined) {
    fillParts(ends, windows, columns)
    for (const [f, source] of from.entries()) {
      const column = 'list' in source ? sources.copied[source.list]?.from : source
      if (column !== undefined && 'address' in column) putAddress(ends, foldWord(f), column.address)
    }
  }
  if (before !== undefined) {
    const counts = arena.view('i32', records, (recordBytes * places) / 4) as Int32Array
    const doubles = arena.view('f64', records, (recordBytes * places) / 8) as Float64Array
    for (const [group, place] of before.places.entries()) {
      counts[(place * recordBytes) / 4] = before.counts[group] as number // a count and values for each group
      for (const [i, f] of own.entries()) doubles[(place * recordBytes + (at[i] as number)) / 8] = before.values[f]?.[group] as number
    }
  }
  if (means !== undefined) {
    const doubles = arena.view('f64', records, (recordBytes * places) / 8) as Float64Array
    for (const [i, f] of own.entries()) {
      const [mean, first] = [means.of[f] as Float64Array, ((at[i] as number) + MEAN_AT) / 8] // one for each fold
      for (const [group, place] of means.places.entries()) doubles[(place * recordBytes) / 8 + first] = mean[group] as number
    }
  }
  return { kernel: sentModule(addKernel({ folds: kinds, ...(rows && { rows }) }), arena), frame, from, at, records, order, log, ends }
}

/** Reads the adders' results; fold f is the floor(f / adders)-th of adder f % adders. */
function recordsIn(
  arena: Arena,
  adders: readonly RecordsAdder[],
  { places, recordBytes, folds, before }: RecordsSize & { readonly folds: number; readonly before: Int32Array },
): Records {
  const [{ ends, order }] = adders as readonly [RecordsAdder] // there is one at least, and all met the groups in one order
  const fresh = (addressAt(ends, FRAME.slots / 4) - order) / 4
  const groups = before.length + fresh
  const offsets = new Int32Array(groups)
  offsets.set(before.map((place) => place * recordBytes))
  offsets.set(arena.view('i32', order, fresh) as Int32Array, before.length)
  const found = adders.map(({ records }) => {
    const [integers, doubles] = [
      arena.view('i32', records, (recordBytes * places) / 4) as Int32Array,
      arena.view('f64', records, (recordBytes * places) / 8) as Float64Array,
    ]
    return (at: number, bytes: 4 | 8): Float64Array => {
      const [words, values] = [bytes === 4 ? integers : doubles, new Float64Array(groups)]
      for (let group = 0; group < groups; group++) values[group] = words[((offsets[group] as number) + at) / bytes] as number // inside the records
      return values
    }
  })
  const chunks = adders.map(({ log, ends }) => {
    const entries = (addressAt(ends, FRAME.log / 4) - log) / LOG_ENTRY_BYTES
    return chunksOf(arena.view('i32', log, 4 * entries) as Int32Array, arena.view('f64', log, 2 * entries) as Float64Array, recordBytes)
  })
  const ofFolds = Array.from({ length: folds }, (_, f) => [f % adders.length, Math.floor(f / adders.length)] as const)
  return {
    places: offsets.map((offset) => offset / recordBytes),
    counts: found[0]?.(0, 4) ?? new Float64Array(0),
    values: ofFolds.map(([adder, fold]) => found[adder]?.(adders[adder]?.at[fold] ?? 0, 8) ?? new Float64Array(0)),
    chunks: ofFolds.map(([adder, fold]) => chunks[adder]?.[fold] ?? new Map()),
  }
}

/** The sums of full chunks from the log, in order, by fold and place. */
function chunksOf(words: Int32Array, numbers: Float64Array, recordBytes: number): Records['chunks'] {
  const chunks: Map<number, number[]>[] = []
  for (let entry = 0; 4 * entry < words.length; entry++) {
    const [offset, fold] = [words[4 * entry] as number, words[4 * entry + 1] as number] // inside the log
    const of = (chunks[fold] ??= new Map())
    const place = offset / recordBytes
    const list = of.get(place)
    if (list === undefined) of.set(place, [numbers[2 * entry + 1] as number])
    else list.push(numbers[2 * entry + 1] as number)
  }
  return chunks
}
