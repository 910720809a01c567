/**
 * The second half of a group-by: folds of numbers by slot, over the codes of the rows.
 *
 *     all     every row
 *     slots   rows of the slots from `from` to `to`: several threads share the groups
 *     rows    one range of the rows: several threads share the rows. Sums follow the fixed tree of each group, whose
 *             chunks do not end where ranges do: a range leaves a group's first values to the range before, until the
 *             chunk that began there is full, and goes on behind its own end until the chunks it began are full
 *
 * Whichever it is, a chunk is summed by one thread, in row order. All accesses lie inside their arrays: codes came from
 * `groupCodes.ts`, and slots are as many as it counted.
 */
import type { Column } from '../../core/column.ts'
import { convertColumn } from '../../core/columnConversions.ts'
import { CHUNK, combinePairwise } from '../../core/fixedTree.ts'
import { FIXED_FORMS, isFixedKind } from '../../core/fixedValues.ts'
import type { ColumnType } from '../../core/schema.ts'
import { FRAME, type KernelKey } from '../kernels/groupFrame.ts'
import {
  type FoldMode,
  foldKernel,
  type KernelFold,
  LOG_ENTRY_BYTES,
  type RecordLayout,
  recordLayout,
  selectKernel,
} from '../kernels/groupKernels.ts'
import type { Arena } from '../memory/arena.ts'
import type { ExecBatch } from './batches.ts'
import { STRIDE } from './groupCodes.ts'
import { fill, filledAddress, fillFold, fillParts, fillWindows, GroupMemory, type Kernel, kernelParts, kernelType } from './groupMemory.ts'
import { codeForm, keyParts, stridesOf, type Window } from './keyWindows.ts'
import { typedLoop } from './typedLoops.ts'

/** Rows with their codes: hidden column 0 is the key (direct) or the codes (hashed), the others are arguments. */
export interface CodedRange {
  readonly batches: readonly ExecBatch[]
  /** The slot of each code, or of each place of the windows. */
  readonly map?: Int32Array
}

export interface Coding {
  readonly slots: number
  /** Direct: the windows of the key's parts, whose places are the slots, or have theirs in the ranges' map. */
  readonly windows?: readonly Window[]
  /** What the keys of all ranges are. */
  readonly type: ColumnType
}

/** A fold of hidden column `column`. */
export interface Fold {
  readonly kind: 'sum' | 'mean' | 'min' | 'max' | 'count'
  readonly column: number
  readonly type: ColumnType
  readonly nullable: boolean
}

export type Part =
  | { readonly kind: 'all' }
  | { readonly kind: 'slots'; readonly from: number; readonly to: number }
  /** `before`: rows of each slot in the ranges before; no fold is of a nullable column. */
  | { readonly kind: 'rows'; readonly range: number; readonly before: Int32Array }

export interface FoldTask {
  readonly kind: 'groupFold'
  readonly ranges: readonly CodedRange[]
  readonly coding: Coding
  readonly folds: readonly Fold[]
  readonly part: Part
}

/** What a range of rows leaves to be joined with the others: chunks of sums in order, and extremes by slot. */
export interface PartialFolds {
  readonly slots: Int32Array
  /** A value per entry of `slots` for each fold; empty for extremes. */
  readonly sums: readonly Float64Array[]
  /** By slot, for each fold; empty for sums. */
  readonly extremes: readonly Float64Array[]
}

/** Full chunks in the order they were full: slot, fold, and sum of each. */
interface ChunkLog {
  readonly slots: readonly number[]
  readonly folds: readonly number[]
  readonly sums: readonly number[]
}

/** Folds of a part of the slots, or all, as one column each; `counts` are the rows by slot. */
export function foldedColumns(task: FoldTask, counts: Int32Array, arena: Arena): readonly Column[] {
  const { part } = task
  const [from, to] = part.kind === 'slots' ? [part.from, part.to] : [0, task.coding.slots]
  const mode = part.kind === 'slots' ? 'selected' : 'all'
  const folding = new Folding(task, arena, from, to)
  try {
    for (const range of task.ranges) for (const batch of range.batches) folding.run(range, batch, mode)
    return folding.columns(counts.subarray(from, to))
  } finally {
    folding.end()
  }
}

/** Folds of one range of the rows. */
export function foldedRows(task: FoldTask & { readonly part: Extract<Part, { kind: 'rows' }> }, arena: Arena): PartialFolds {
  const { range, before } = task.part
  const folding = new Folding(task, arena, 0, task.coding.slots)
  try {
    folding.leave(before)
    for (const batch of task.ranges[range]?.batches ?? []) folding.run(task.ranges[range] as CodedRange, batch, 'rows') // there is one
    folding.finishing()
    for (const after of task.ranges.slice(range + 1)) for (const batch of after.batches) folding.run(after, batch, 'finish')
    return folding.partial()
  } finally {
    folding.end()
  }
}

/** Slots from `from` to `to` in records of the arena, and the frame that kernels find them by. */
class Folding {
  private readonly task: FoldTask
  private readonly memory: GroupMemory
  private readonly from: number
  private readonly slots: number
  private readonly folds: readonly KernelFold[]
  private readonly layout: RecordLayout
  private readonly records: number
  private readonly frame: number
  private readonly words: Int32Array
  private readonly log: number

  constructor(task: FoldTask, arena: Arena, from: number, to: number) {
    this.task = task
    this.memory = new GroupMemory(arena)
    this.from = from
    this.slots = to - from
    this.folds = task.folds.map(kernelFold)
    this.layout = recordLayout(this.folds)
    try {
      this.records = this.memory.block(this.layout.bytes * this.slots)
      const rows = task.ranges.reduce((sum, range) => range.batches.reduce((most, batch) => most + batch.length, sum), 0)
      this.log = this.memory.block((Math.floor(rows / CHUNK) + 1) * LOG_ENTRY_BYTES * task.folds.length)
      const { at, words } = this.memory.frame(task.folds.length)
      this.frame = at
      this.words = words
      const selection = task.part.kind === 'slots' ? this.memory.block(4 * (STRIDE + 1)) : 0
      // records count from slot `from` on: slots before it are never met
      fillWindows(words, task.coding.windows ?? [])
      fill(words, { records: this.records - from * this.layout.bytes, selection, log: this.log, from, to })
      this.prepareRecords()
    } catch (error) {
      this.memory.end()
      throw error
    }
  }

  end(): void {
    this.memory.end()
  }

  private prepareRecords(): void {
    const { layout, slots } = this
    const words = this.integers()
    const numbers = this.numbers()
    for (const [f, { kind }] of this.folds.entries()) {
      const value = layout.value[f]
      if (kind !== 'min' && kind !== 'max') continue
      const first = kind === 'min' ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY
      for (let slot = 0; slot < slots; slot++) numbers[(slot * layout.bytes + (value ?? 0)) / 8] = first
    }
    for (const left of [layout.sharedLeft, ...layout.left]) {
      if (left === undefined) continue
      for (let slot = 0; slot < slots; slot++) words[(slot * layout.bytes + left) / 4] = CHUNK
    }
  }

  private integers(): Int32Array {
    return this.memory.integers(this.records, (this.layout.bytes * this.slots) / 4)
  }

  private numbers(): Float64Array {
    return this.memory.floats(this.records, (this.layout.bytes * this.slots) / 8)
  }

  private get isOpen(): boolean {
    return (this.words[FRAME.open / 4] as number) > 0
  }

  /** Leaves the values that belong to chunks begun before to the ranges before. */
  leave(before: Int32Array): void {
    const words = this.integers()
    let open = 0
    for (let slot = 0; slot < before.length; slot++) {
      const filled = (before[slot] as number) % CHUNK // slot < length
      if (filled === 0) continue
      words[(slot * this.layout.bytes + this.layout.skip) / 4] = CHUNK - filled
      open++
    }
    fill(this.words, { open })
  }

  /** From here on only chunks that are open take values. */
  finishing(): void {
    const left = this.wordsAt(this.layout.sharedLeft)
    fill(this.words, { open: left.reduce((open, one) => open + (one < CHUNK ? 1 : 0), 0) })
  }

  run(range: CodedRange, batch: ExecBatch, how: 'all' | 'selected' | 'rows' | 'finish'): void {
    const { coding, folds } = this.task
    const [code, ...given] = batch.hidden ?? []
    if (code === undefined || batch.length === 0) return
    const isDirect = coding.windows !== undefined
    const parts = isDirect ? (keyParts(convertColumn(code, coding.type)) ?? []) : [] // those that were counted
    const args = folds.map((fold) => convertColumn(given[fold.column - 1] ?? { type: { kind: 'null' }, length: batch.length }, fold.type))
    const { memory, words, frame } = this
    if (isDirect) fillParts(words, parts, memory)
    else fill(words, { codes: memory.addressOf(code.values) })
    const mapped = range.map !== undefined
    if (mapped) fill(words, { map: memory.addressOf(range.map) })
    for (const [f, column] of args.entries()) fillFold(words, f, column, memory)
    const key: KernelKey = isDirect ? { kind: 'direct', parts: kernelParts(parts), mapped } : { kind: 'hashed', mapped }
    const here = this.folds.map((fold, f) => ({ ...fold, bits: args[f]?.validity !== undefined }))
    const name = JSON.stringify([key, here])
    const fold = (mode: FoldMode): Kernel => memory.kernel(`fold ${mode} ${name}`, () => foldKernel(key, here, mode))
    const select = how === 'selected' ? memory.kernel(`select ${JSON.stringify(key)}`, () => selectKernel(key)) : undefined
    for (let from = 0; from < batch.length; from += STRIDE) {
      const to = Math.min(from + STRIDE, batch.length)
      if (how === 'finish' && !this.isOpen) return
      if (select !== undefined) {
        select(frame, from, to)
        fold('selected')(frame, 0, words[FRAME.size / 4] as number)
      } else if (how === 'rows') fold(this.isOpen ? 'skip' : 'all')(frame, from, to)
      else fold(how)(frame, from, to)
    }
  }

  columns(rows: Int32Array): readonly Column[] {
    const log = this.fullChunks()
    return this.task.folds.map((fold, f): Column => {
      const at = this.layout.count[f]
      const own = at === undefined ? undefined : this.wordsAt(at)
      const present = fold.nullable ? own : undefined
      if (fold.kind === 'count') return numbersColumn(Float64Array.from(own ?? rows))
      if (fold.kind === 'min' || fold.kind === 'max') return extremesColumn(this.valuesOf(f), fold.type, present)
      const sums = this.totals(f, log)
      const count = own ?? rows
      return fold.kind === 'sum'
        ? numbersColumn(sums)
        : numbersColumn(
            sums.map((sum, i) => sum / (count[i] as number)),
            present,
          ) // a count per slot
    })
  }

  /** The sum of each slot: its chunks pairwise, of which the open one is the last. */
  private totals(f: number, log: ChunkLog): Float64Array {
    const sums = this.valuesOf(f)
    if (log.slots.length === 0) return sums
    const left = this.wordsAt(this.layout.left[f] ?? this.layout.sharedLeft)
    const chunks = new Map<number, number[]>()
    for (const [i, slot] of log.slots.entries()) if (log.folds[i] === f) addChunk(chunks, slot - this.from, log.sums[i] as number)
    for (const [slot, list] of chunks) {
      if ((left[slot] as number) < CHUNK) list.push(sums[slot] as number) // slots of the part
      sums[slot] = combinePairwise(list, (a, b) => a + b) as number // a list in the map is not empty
    }
    return sums
  }

  partial(): PartialFolds {
    const log = this.fullChunks()
    const left = this.wordsAt(this.layout.sharedLeft)
    const open = Int32Array.from(left.keys()).filter((slot) => (left[slot] as number) < CHUNK)
    const sums = this.folds.flatMap(({ kind }, f) => (kind === 'sum' ? [f] : []))
    const [first] = sums
    const full = log.slots.filter((_, i) => log.folds[i] === first)
    return {
      slots: Int32Array.from([...full, ...open]),
      sums: this.folds.map(({ kind }, f) => {
        if (kind !== 'sum') return new Float64Array(0)
        const values = this.valuesOf(f)
        return Float64Array.from([...log.sums.filter((_, i) => log.folds[i] === f), ...Array.from(open, (slot) => values[slot] as number)]) // open lies in the slots
      }),
      extremes: this.folds.map(({ kind }, f) => (kind === 'min' || kind === 'max' ? this.valuesOf(f) : new Float64Array(0))),
    }
  }

  private fullChunks(): ChunkLog {
    const entries = (filledAddress(this.words, 'log') - this.log) / LOG_ENTRY_BYTES
    const words = this.memory.integers(this.log, 4 * entries)
    const numbers = this.memory.floats(this.log, 2 * entries)
    const list = (read: (i: number) => number): number[] => Array.from({ length: entries }, (_, i) => read(i))
    return {
      slots: list((i) => words[4 * i] as number), // i < entries
      folds: list((i) => words[4 * i + 1] as number),
      sums: list((i) => numbers[2 * i + 1] as number),
    }
  }

  /** A word of every record. */
  private wordsAt(offset: number): Int32Array {
    const words = this.integers()
    const stride = this.layout.bytes / 4
    const out = new Int32Array(this.slots)
    for (let slot = 0; slot < out.length; slot++) out[slot] = words[slot * stride + offset / 4] as number // inside the record
    return out
  }

  private valuesOf(f: number): Float64Array {
    const numbers = this.numbers()
    const stride = this.layout.bytes / 8
    const offset = (this.layout.value[f] ?? 0) / 8
    const out = new Float64Array(this.slots)
    for (let slot = 0; slot < out.length; slot++) out[slot] = numbers[slot * stride + offset] as number // inside the record
    return out
  }
}

function kernelFold({ kind, type, nullable }: Fold): KernelFold {
  return {
    kind: kind === 'mean' ? 'sum' : kind,
    type: kernelType(type.kind) ?? 'u8',
    nulls: nullable,
    bits: nullable,
    counts: nullable && kind !== 'sum',
  }
}

function addChunk(chunks: Map<number, number[]>, slot: number, sum: number): void {
  const list = chunks.get(slot)
  if (list === undefined) chunks.set(slot, [sum])
  else list.push(sum)
}

/** The chunks of each slot in order, behind those that are there. */
export function chunksBySlot(slots: Int32Array, sums: Float64Array, into: Map<number, number[]>): void {
  for (let i = 0; i < slots.length; i++) addChunk(into, slots[i] as number, sums[i] as number) // i < length
}

/** A column of numbers, null where `counts` says there was no value. */
export function numbersColumn(values: Float64Array, counts?: Int32Array): Column {
  return { type: { kind: 'f64' }, length: values.length, values, ...validityOf(counts) }
}

/** The extremes as values of the type they were found in. */
export function extremesColumn(best: Float64Array, type: ColumnType, counts?: Int32Array): Column {
  const values = isFixedKind(type.kind) ? new FIXED_FORMS[type.kind].array(best.length) : new Float64Array(best.length)
  for (let i = 0; i < best.length; i++) values[i] = best[i] as number // folds are of types that hold numbers
  return { type, length: best.length, values, ...validityOf(counts) }
}

function validityOf(counts: Int32Array | undefined): { readonly validity?: Uint8Array } {
  if (counts === undefined || !counts.includes(0)) return {}
  const validity = new Uint8Array((counts.length + 7) >> 3)
  for (let i = 0; i < counts.length; i++) if ((counts[i] as number) > 0) validity[i >> 3] = (validity[i >> 3] as number) | (1 << (i & 7))
  return { validity }
}

/** Writes the slot of every row of the batch into `out`, or what `groupOf` has for it. */
export function writeSlots(coding: Coding, range: CodedRange, batch: ExecBatch, groupOf: Int32Array | undefined, out: Int32Array): void {
  const [code] = batch.hidden ?? []
  if (code === undefined || batch.length === 0) return
  const { windows } = coding
  const parts = windows === undefined ? undefined : (keyParts(convertColumn(code, coding.type)) ?? [])
  const place = parts === undefined ? 'k[0][i]' : parts.map(placeText).join(' + ')
  const slot = range.map === undefined ? place : `map[${place}]`
  const loop = typedLoop<(...args: readonly unknown[]) => void>(
    ['k', 'bits', 'map', 'windows', 'strides', 'groupOf', 'out'],
    `${(parts ?? []).map((_, p) => `const k${p} = k[${p}], bits${p} = bits[${p}], { base: base${p}, span: span${p} } = windows[${p}], stride${p} = strides[${p}];`).join('\n')}
for (let i = 0; i < out.length; i++) { const g = ${slot}; out[i] = ${groupOf === undefined ? 'g' : 'groupOf[g]'}; }`,
  )
  const columns = parts === undefined ? [code.values] : parts.map((part) => codeForm(part)?.array)
  loop(columns, parts?.map(({ validity }) => validity) ?? [], range.map, windows, stridesOf(windows ?? []), groupOf, out)
}

/** What part `p` adds to the slot of row `i`. */
function placeText(part: Column, p: number): string {
  const form = codeForm(part)?.value ?? '0'
  const place = `((${form.replace('k[', `k${p}[`)} - base${p}) | 0) /* ${part.type.kind} */`
  const placed = part.validity === undefined ? place : `((bits${p}[i >> 3] & (1 << (i & 7))) !== 0 ? ${place} : span${p})`
  return `${placed} * stride${p}`
}
