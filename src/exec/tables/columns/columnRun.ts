/**
 * Runs a column program on all workers: a sum in one pass over the rows, selected or not; anything else in one or two passes:
 *
 *     1  select     only where rows may be dropped: a bit a row, and counts of blocks, which give every row its place
 *     2  a reduction, or columns that are to stay
 *
 * Workers claim units (morsels) of 16 blocks, of 4 where there are few. Everything lies in the arena and is freed at the end, but for the result.
 */

import { CHUNK, combinePairwise } from '../../../core/arrays/fixedTree.ts'
import type { Column } from '../../../core/data/column.ts'
import { fieldsOf } from '../../../core/data/schema.ts'
import { compiled } from '../../kernels/columns/programShape.ts'
import { BLOCK_ROWS, type ColumnKernel, selectKernel, valuesKernel } from '../../kernels/columns/wasmColumns.ts'
import type { FoldName } from '../../kernels/tables/foldKernels.ts'
import type { Arena } from '../../memory/arena.ts'
import { arrayIn } from '../../memory/shareColumns.ts'
import type { WorkerPool } from '../../workers/worker.ts'
import type { ColumnProgram } from './columnProgram.ts'
import { type ColumnResult, type ColumnTask, type ColumnWork, type Reduction, scratchBytes } from './columnTask.ts'
import { addressOf, boundKernel, type Places, sentFold } from './kernelBinding.ts'
import { place } from './loadTask.ts'
import type { ResultBlocks } from './resultBlocks.ts'
import { boundSemi, type KeySet, setTable } from './semiJoin.ts'
import type { BoundKernel, Selection, Values } from './sentKernel.ts'
import { chosenTexts, firstText } from './texts/chosenTexts.ts'
import { textsRead } from './texts/codesOnDemand.ts'
import { spelled } from './texts/spelledTexts.ts'

export interface ColumnServices {
  readonly pool: WorkerPool
  readonly arena: Arena
  readonly signal?: AbortSignal
  /** Called before the first work. */
  readonly onStart?: () => void
}

/** The number of blocks from which on units have 16 of them. */
const MANY_BLOCKS = 64

/** Units that a task on the caller's thread runs before it yields to the event loop. */
const INLINE_UNITS = 16

/** The part of a text that is read, on average, to compare it with a constant. */
const COMPARED = 1 / 8

type Table = Float64Array | Int32Array

/** The selection of a program's rows, and their number. */
export interface Selected extends Selection {
  readonly total: number
}

export class ColumnRun {
  readonly program: ColumnProgram
  private readonly services: ColumnServices
  private readonly blocks: number
  private readonly unitRows: number
  private readonly held: number[] = []
  private readonly tables = new Map<Table, number>()
  private started = false
  /** The address of the word that kernels set where a Date that steps make is invalid, or a function throws. */
  private invalidAt: number | undefined
  private chosen: Column | undefined

  /** Filters by key: rows are kept only if their key is in each set, or in none of the anti sets. */
  readonly keySets: readonly KeySet[]

  constructor(program: ColumnProgram, services: ColumnServices, keySets: readonly KeySet[] = []) {
    this.program = program
    this.keySets = keySets
    this.services = services
    this.blocks = Math.ceil(program.rows / BLOCK_ROWS)
    this.unitRows = (this.blocks < MANY_BLOCKS ? 4 : 16) * BLOCK_ROWS
  }

  /** Whether a kernel has found a Date that is invalid, or a row for which a function throws. */
  get isInvalid(): boolean {
    return this.invalidAt !== undefined && (this.arena.view('i32', this.invalidAt, 1) as Int32Array)[0] !== 0
  }

  get arena(): Arena {
    return this.services.arena
  }

  /** The number of workers. */
  get workers(): number {
    return this.services.pool.size
  }

  /** Frees the memory of the run. */
  end(): void {
    for (const offset of this.held.splice(0)) this.services.arena.free(offset)
  }

  /** The kernels that select rows, one after another: none where no row can be dropped (unless `evenAll`); undefined where a column lies outside the arena. */
  selects(options: {
    readonly skipsNulls: boolean
    readonly evenAll?: boolean
  }): { readonly selects: readonly BoundKernel[]; readonly bitmap: number; readonly counts: number } | undefined {
    const { element, kernelColumns, steps, shape, rows } = this.program
    const { keySets } = this
    const drops = shape.filters || (options.skipsNulls && shape.outputs[0]?.nullable === true)
    if (!drops && options.evenAll !== true && keySets.length === 0) return { selects: [], bitmap: 0, counts: 0 }
    const bitmap = this.allocate(4 * Math.ceil(rows / 32))
    const counts = this.allocate(4 * (this.blocks + 1))
    const filters =
      drops || keySets.length === 0
        ? [this.bound(compiledKernel(selectKernel, element, kernelColumns, steps, options), { bitmap, counts })]
        : []
    const sets = keySets.map((set, i) => this.boundSet(set, { bitmap, counts, narrows: drops || i > 0 }))
    const selects = [...filters, ...sets].filter((kernel) => kernel !== undefined)
    return selects.length < filters.length + sets.length ? undefined : { selects, bitmap, counts }
  }

  /** The address of a copy of the kernel's frame, which all workers share: nothing in it changes from block to block. */
  frameOf({ frame }: BoundKernel): number {
    const address = this.allocate(8 * frame.length)
    ;(this.services.arena.view('f64', address, frame.length) as Float64Array).set(frame)
    return address
  }

  /** The selection; 'all' where no row can be dropped (unless `evenAll`), undefined where a column lies outside the arena. */
  async select(options: { readonly skipsNulls: boolean; readonly evenAll?: boolean }): Promise<Selected | 'all' | undefined> {
    const kernels = this.selects(options)
    if (kernels === undefined) return undefined
    const { selects, bitmap, counts } = kernels
    if (selects.length === 0) return 'all'
    for (const kernel of selects) await this.together({ kind: 'blocks', kernel }, this.units(this.program.rows), [])
    const total = prefixSums(this.services.arena.view('i32', counts, this.blocks + 1) as Int32Array)
    return { bitmap, prefix: counts, total }
  }

  /** The sum of the selected values by the fixed tree, and their number; undefined where a column lies outside the arena. */
  async sum(): Promise<{ readonly sum: number; readonly total: number } | undefined> {
    const { rows } = this.program
    const sums = this.allocate(8 * Math.ceil(rows / CHUNK))
    const kernels = this.selects({ skipsNulls: true })
    if (kernels === undefined) return undefined
    const { selects, bitmap, counts } = kernels
    const values = this.values(selects.length === 0 ? undefined : bitmap)
    if (values === undefined) return undefined
    let total = rows
    if (selects.length === 0) await this.together({ kind: 'sum', values, sums }, this.units(rows), ['sum4'])
    else {
      const units = this.units(rows)
      const prefix = this.allocate(4 * (this.blocks + 1))
      const placed = this.allocate(4 * units)
      const framed = selects.map((kernel) => ({ kernel, frame: this.frameOf(kernel) }))
      const work = { selects: framed, counts, placed, selection: { bitmap, prefix }, values, sums }
      await this.together({ kind: 'selectedSum', ...work }, 2 * units, ['sum'])
      total = this.services.arena.view('i32', prefix + 4 * this.blocks, 1)[0] as number
    }
    const parts = Array.from(this.services.arena.view('f64', sums, Math.ceil(total / CHUNK)) as Float64Array)
    return { sum: combinePairwise(parts, (a, b) => a + b) ?? 0, total }
  }

  /** `Math.min` or `Math.max` of the selected values, at least one; undefined where a column lies outside the arena. */
  async extreme(which: 'min' | 'max', selection: Selected): Promise<number | bigint | undefined> {
    const values = this.values(selection.bitmap)
    if (values === undefined) return undefined
    const fold = which === 'min' ? 'least' : 'most'
    const found = await this.reduced(this.isBig ? `${fold}64` : fold, values, selection)
    return found.reduce((a, b) => {
      if (typeof a === 'number' && typeof b === 'number') return Math[which](a, b)
      return (which === 'min' ? b < a : b > a) ? b : a
    })
  }

  /** The exact sum of the selected 64-bit integers, at least one; undefined where a column lies outside the arena. */
  async bigSum(selection: Selected): Promise<bigint | undefined> {
    const values = this.values(selection.bitmap)
    if (values === undefined) return undefined
    return (await this.reduced('sum64', values, selection)).reduce<bigint>((a, b) => a + BigInt(b), 0n)
  }

  private async reduced(which: Reduction, values: Values, selection: Selected): Promise<readonly (number | bigint)[]> {
    const found = await this.together({ kind: 'reduce', which, values, selection }, this.units(this.program.rows), [which])
    return found.flatMap((value) => value ?? [])
  }

  /** Whether the program's one output is a column of 64-bit integers. */
  get isBig(): boolean {
    const [output] = this.program.shape.outputs
    return output?.kind === 'column' && this.program.columns[output.column]?.type.kind === 'i64'
  }

  /** The values of the program's one output: doubles, or the 64-bit integers of a column; undefined where they cannot be reached. */
  private values(bitmap: number | undefined): Values | undefined {
    const [output] = this.program.shape.outputs
    if (output?.kind === 'column' && (this.isBig || this.program.columns[output.column]?.type.kind === 'f64')) {
      const address = addressOf(this.program.columns[output.column]?.values, this.services.arena)
      return address === undefined ? undefined : { address }
    }
    const { element, kernelColumns, steps } = this.program
    const options = { outputs: [output?.name ?? 'value'], asDoubles: true, sparse: bitmap !== undefined }
    const kernel = compiledKernel(valuesKernel, element, kernelColumns, steps, options)
    const bound = this.bound(kernel, bitmap === undefined ? {} : { bitmap })
    return bound === undefined ? undefined : { kernel: bound }
  }

  private boundSet(
    set: KeySet,
    places: { readonly bitmap: number; readonly counts: number; readonly narrows: boolean },
  ): BoundKernel | undefined {
    const { arena } = this.services
    const key = this.program.columns[fieldsOf(this.program.element).findIndex((field) => field.name === set.on)]
    if (key === undefined) return undefined
    const table = setTable(set, key)
    const present = this.allocate(table.length)
    ;(arena.view('u8', present, table.length) as Uint8Array).set(table)
    return boundSemi(set, key, { ...places, present }, arena)
  }

  bound(kernel: ColumnKernel | undefined, places: Places): BoundKernel | undefined {
    if (kernel === undefined) return undefined
    const { columns, rows } = this.program
    for (const slot of kernel.slots) if (slot.kind === 'offsets') textsRead(columns[slot.column], rows * COMPARED)
    if (this.program.shape.dates === true || this.program.shape.throws === true) this.invalidAt ??= this.allocate(4)
    const known = {
      ...(this.invalidAt === undefined ? {} : { inexact: this.invalidAt }),
      table: (data: Table) => this.table(data),
      firstText: (column: number) => firstText(this.program, column),
      ...places,
    }
    return boundKernel(kernel, columns, known, this.services.arena)
  }

  /** The dictionary of the texts that the program chooses from; undefined where it would have too many bytes. */
  get chosenTexts(): Column | undefined {
    this.chosen ??= chosenTexts(this.program, (of, length) => {
      const array = arrayIn(this.arena, of, length, this.program.name)
      this.held.push(array.byteOffset)
      return array
    })
    return this.chosen
  }

  /** The address of a copy of a lookup table, which lives as long as the run. */
  private table(data: Table): number {
    let address = this.tables.get(data)
    if (address === undefined) {
      address = this.allocate(data.byteLength)
      if (data instanceof Float64Array) (this.arena.view('f64', address, data.length) as Float64Array).set(data)
      else (this.arena.view('i32', address, data.length) as Int32Array).set(data)
      this.tables.set(data, address)
    }
    return address
  }

  /** A dictionary-encoded column of texts, with its texts' bytes written to these blocks. */
  async spelled(column: Column, blocks: ResultBlocks): Promise<Column> {
    const { pool, signal, arena } = this.services
    return await spelled(column, blocks, async (columns) => {
      if (columns.every(({ part }) => part.length === column.length)) for (const one of columns) place(one, arena)
      else await pool.run('stage', { kind: 'place', columns }, { repeatable: true, ...(signal === undefined ? {} : { signal }) })
    })
  }

  /** A block that lives as long as the run. */
  allocate(bytes: number): number {
    const offset = this.services.arena.allocate(bytes, this.program.name)
    this.held.push(offset)
    return offset
  }

  units(rows: number): number {
    return Math.ceil(rows / this.unitRows)
  }

  /** Runs work on all workers, or as many as there are units; returns the result of each. */
  async together(work: ColumnWork, units: number, names: readonly FoldName[]): Promise<readonly ColumnResult[]> {
    const { pool, signal, onStart } = this.services
    if (!this.started) onStart?.()
    this.started = true
    const folds = Object.fromEntries(names.map((name) => [name, sentFold(name, this.arena)]))
    const claims = this.allocate(4)
    const workers = Math.min(pool.size, units)
    const bytes = scratchBytes(work)
    const unitRows = work.kind === 'groups' ? work.unitRows : this.unitRows
    const most = pool.size === 1 ? Math.ceil((INLINE_UNITS * this.unitRows) / unitRows) : units
    const tasks = Array.from({ length: workers }, (_, number): ColumnTask => {
      return { work, folds, rows: this.program.rows, unitRows, units, claims, scratch: this.allocate(bytes), number, most }
    })
    const results: ColumnResult[] = []
    // on the caller's thread it yields to the event loop between tasks
    for (let done = 0; done < units; done += most) {
      results.push(...((await pool.runTogether('columns', tasks, signal === undefined ? {} : { signal })) as ColumnResult[])) // what `columnTask` returns
    }
    return results
  }
}

/** The kernel; undefined where it cannot be compiled after all. */
export function compiledKernel<A extends readonly unknown[]>(compile: (...args: A) => ColumnKernel, ...args: A): ColumnKernel | undefined {
  const kernel = compiled(() => compile(...args))
  return 'because' in kernel ? undefined : kernel
}

/** Makes counts, with a word of room behind them, their prefix sums; returns the sum of all. The loop has a function of its own, so that V8 does not optimize one that waits for workers. */
function prefixSums(words: Int32Array): number {
  let total = 0
  for (let block = 0; block < words.length; block++) {
    const count = block < words.length - 1 ? (words[block] as number) : 0
    words[block] = total
    total += count
  }
  return total
}
