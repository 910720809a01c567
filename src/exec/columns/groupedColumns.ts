/**
 * A group-by over the columns of a table in one pass (`groupPass.ts`): where keys are whole numbers that lie together, or
 * codes of texts, and all aggregates are folds of numbers without nulls. Else, or when a key turns out to lie elsewhere,
 * there is another way (`groupRun.ts`), which gives the same bits.
 */
import type { Column } from '../../core/column.ts'
import { CHUNK, combinePairwise } from '../../core/fixedTree.ts'
import type { Aggregate } from '../../planner/physical/physicalPlan.ts'
import { FRAME, frameBytes, type KeyPart } from '../kernels/groupFrame.ts'
import { LOG_ENTRY_BYTES } from '../kernels/groupKernels.ts'
import { addKernel, type PassFold, passRecordBytes, passValueAt, placesKernel } from '../kernels/groupPassKernels.ts'
import { BLOCK_ROWS, valuesKernel } from '../kernels/wasmColumns.ts'
import { addressAt, putAddress } from '../memory/addressWords.ts'
import { type ExecBatch, rowBatch } from '../operators/batches.ts'
import { extremesColumn, numbersColumn } from '../operators/groupFolds.ts'
import { fill, fillWindows, foldWord, kernelType, partWord } from '../operators/groupMemory.ts'
import { keyColumns } from '../operators/hashAggregate.ts'
import { placesIn, type Window } from '../operators/keyWindows.ts'
import type { CodedKeys } from './columnProgram.ts'
import { type ColumnRun, compiledKernel } from './columnRun.ts'
import { groupKeys, type PassKey, passKey, passWindows } from './groupKeys.ts'
import { listBytes, MOST_ADDERS, PASS_BYTES, type PassColumn, RING_UNITS } from './groupPass.ts'
import { type FoldOfCall, type PassFolds, PassSources, passFolds } from './groupSources.ts'
import { addressOf, sentModule } from './kernelBinding.ts'

/** What decides how the work is shared, never what comes out. */
export interface PassSizes {
  /** Rows of a unit, a multiple of 32. */
  readonly unitRows: number
  /** Bytes of records from which on they are parted by folds. */
  readonly splitBytes: number
  /** The most workers that one pass is faster with than two that share the rows. */
  readonly mostWorkers: number
  /** Keys looked at to guess their windows. */
  readonly keysLookedAt: number
}

/**
 * The lists of a unit, and the values they are made of, lie in the near caches. Records of few groups do not leave those
 * of their adder, and reading what is added takes longer than adding it. One worker that adds is the bound of all.
 */
const SIZES: PassSizes = { unitRows: 2 * BLOCK_ROWS, splitBytes: 2 ** 22, mostWorkers: 3, keysLookedAt: 2 ** 16 }

/** Records of so many bytes are few however few rows there are; zeroing more of them than these a row takes longer than the pass gains. */
const FEW_BYTES = 2 ** 20
const MOST_BYTES_A_ROW = 8

export interface GroupedColumns {
  readonly batch: ExecBatch
  readonly coded: CodedKeys
}

/** The groups in order of first appearance, with their aggregates; undefined where one pass cannot give them. */
export async function groupedColumns(
  run: ColumnRun,
  aggregates: readonly Aggregate[],
  sizes: PassSizes = SIZES,
): Promise<GroupedColumns | undefined> {
  if (run.workers > sizes.mostWorkers) return undefined
  const key = passKey(run)
  const sources = new PassSources(run)
  const folds = passFolds(run, aggregates, sources)
  if (key === undefined || folds === undefined) return undefined
  const windows = passWindows(run, key, sizes.keysLookedAt)
  if (windows === undefined || sharesRows(run, key, windows)) return undefined
  const records = await recordsOf(run, { key, windows, folds, sources, sizes })
  if (records === undefined || records.places.length === 0) return undefined
  const keys = keyColumns(groupKeys(key, windows, records.places))
  return {
    batch: rowBatch(
      [...keys.map(([name]) => name), ...aggregates.map((call) => call.name)],
      [...keys.map(([, column]) => column), ...folds.of.map((fold) => folded(fold, records))],
      records.places.length,
    ),
    coded: key.coded,
  }
}

/**
 * Whether workers had better share the rows of two passes: nothing has to be selected or computed for either, and groups
 * are so few that each has a chunk for every worker. Windows are about three times as wide as the keys that were seen.
 */
function sharesRows({ program, workers }: ColumnRun, { parts }: PassKey, windows: readonly Window[]): boolean {
  if (workers === 1 || program.shape.filters || program.shape.outputs.some(({ kind }) => kind === 'computed')) return false
  return parts.every(({ kind }) => kind === 'column') && program.rows >= (placesIn(windows) / 3) * workers * CHUNK
}

interface Pass {
  readonly key: PassKey
  readonly windows: readonly Window[]
  readonly folds: PassFolds
  readonly sources: PassSources
  readonly sizes: PassSizes
}

/** What the pass leaves: by group, in order of first appearance. */
interface Records {
  /** In the windows. */
  readonly places: Int32Array
  readonly counts: Float64Array
  /** For each fold: extremes, or sums of open chunks. */
  readonly values: readonly Float64Array[]
  /** For each fold: the sums of full chunks by the place of the group. */
  readonly chunks: readonly ReadonlyMap<number, readonly number[]>[]
}

async function recordsOf(run: ColumnRun, { key, windows, folds, sources, sizes }: Pass): Promise<Records | undefined> {
  const { arena, program } = run
  const { unitRows } = sizes
  const { element, kernelColumns, steps, rows } = program
  const kernels = run.selects({ skipsNulls: false })
  if (kernels === undefined) return undefined
  const selected = kernels.selects.length > 0
  const parts = key.parts.map((part): PassColumn => {
    if (part.kind === 'computed') return sources.compute(part.output, part.truth ? 0 : 2)
    const validity = addressOf(part.column.validity, arena)
    return { address: addressOf(part.column.values, arena) ?? 0, ...(validity === undefined ? {} : { validity }) }
  })
  const { computed, copied } = sources
  const words = run.allocate(PASS_BYTES)
  const options = {
    outputs: computed.map(({ name }) => name),
    integers: key.parts.flatMap((part) => (part.kind === 'computed' && !part.truth ? [part.output] : [])),
  }
  const kernel =
    computed.length === 0
      ? undefined
      : run.bound(compiledKernel(valuesKernel, element, kernelColumns, steps, { ...options, asDoubles: false, sparse: selected }), {
          bitmap: kernels.bitmap,
          inexact: words, // the first word: the pass is off
        })
  if (computed.length > 0 && kernel === undefined) return undefined

  const units = Math.ceil(rows / unitRows)
  const places = placesIn(windows)
  const most = passRecordBytes(folds.kinds.length) * places < sizes.splitBytes ? 1 : Math.min(run.workers, units, MOST_ADDERS)
  const count = Math.max(1, Math.min(most, folds.kinds.length))
  const recordBytes = passRecordBytes(Math.ceil(folds.kinds.length / count))
  if (count * recordBytes * places > Math.max(FEW_BYTES, MOST_BYTES_A_ROW * rows)) return undefined
  const frame = new Int32Array(frameBytes(copied.length) / 4)
  fillWindows(frame, windows)
  fill(frame, { bitmap: kernels.bitmap })
  for (const [p, part] of parts.entries()) {
    if ('output' in part) continue
    putAddress(frame, partWord(p, 'key'), part.address)
    putAddress(frame, partWord(p, 'bits'), part.validity ?? 0)
  }
  for (const [f, { from }] of copied.entries()) if ('address' in from) putAddress(frame, foldWord(f), from.address)

  const adders = Array.from({ length: count }, (_, adder) => {
    const own = folds.kinds.flatMap((_, f) => (f % count === adder ? [f] : []))
    const kinds = own.map((f) => folds.kinds[f] as PassFold)
    const [records, order] = [run.allocate(recordBytes * places), run.allocate(4 * Math.min(places, rows))]
    const log = run.allocate(LOG_ENTRY_BYTES * (Math.floor(rows / CHUNK) + 1) * own.length)
    const frame = run.allocate(frameBytes(own.length))
    const ends = arena.view('i32', frame, frameBytes(own.length) / 4) as Int32Array
    fill(ends, { records, slots: order, log })
    const from = own.map((f) => folds.from[f] as PassFolds['from'][number])
    return { kernel: sentModule(addKernel(kinds), arena), frame, from, own, records, order, log, ends }
  })

  const kernelParts = key.parts.map(
    (part): KeyPart =>
      part.kind === 'computed'
        ? { type: part.truth ? 'u8' : 'i32', nullable: false }
        : { type: kernelType(part.column.type.kind) ?? 'i32', nullable: part.column.validity !== undefined },
  )
  const types = copied.map(({ type }) => type)
  const work = {
    kind: 'groups',
    selects: kernels.selects.map((select) => ({ kernel: select, frame: run.frameOf(select) })),
    ...(kernel === undefined ? {} : { kernel }),
    computed: computed.map(({ output, log2Bytes }) => ({ output, log2Bytes })),
    places: sentModule(placesKernel({ parts: kernelParts, recordBytes, copied: types, selected }), arena),
    adders: adders.map(({ kernel, frame, from }) => ({ kernel, frame, from })),
    ...{ frame, parts, copied: copied.map(({ from }) => from), unitRows, words },
    ring: run.allocate(RING_UNITS * listBytes(unitRows, copied.length)),
  } as const
  await run.together(work, units, [])
  if ((arena.view('i32', words, 1) as Int32Array)[0] !== 0) return undefined

  const [{ ends, order }] = adders as [(typeof adders)[number]] // there is one at least, and all met the groups in one order
  const groups = (addressAt(ends, FRAME.slots / 4) - order) / 4
  const offsets = arena.view('i32', order, groups) as Int32Array
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
  return {
    places: offsets.map((offset) => offset / recordBytes),
    counts: found[0]?.(0, 4) ?? new Float64Array(0),
    values: folds.kinds.map((_, f) => found[f % count]?.(passValueAt(Math.floor(f / count)), 8) ?? new Float64Array(0)),
    chunks: folds.kinds.map((_, f) => chunks[f % count]?.[Math.floor(f / count)] ?? new Map()),
  }
}

/** Sums of full chunks in order, by fold and place. */
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

function folded({ kind, fold, type }: FoldOfCall, { places, counts, values, chunks }: Records): Column {
  const found = values[fold] ?? counts
  switch (kind) {
    case 'count':
      return numbersColumn(counts)
    case 'min':
    case 'max':
      return extremesColumn(found, type)
    case 'sum':
    case 'mean': {
      const full = chunks[fold]
      const sums =
        full === undefined
          ? found
          : found.map((open, group) => {
              const list = full.get(places[group] as number) // a place for each group
              return list === undefined ? open : (combinePairwise([...list, open], (a, b) => a + b) as number) // it is not empty
            })
      return numbersColumn(kind === 'sum' ? sums : sums.map((sum, group) => sum / (counts[group] as number)))
    }
  }
}
