/**
 * What is measured of a plan while it runs, where somebody asked for it: `explain({ analyze: true })`.
 *
 * Nodes are told apart by their identity. Where another node runs than the plan has (columns that are read whole take the
 * place of a scan), the record says so, so that what is shown is what ran.
 */
import type { Column } from '../../core/data/column.ts'
import type { PhysicalPlan } from '../../planner/physical/physicalPlan.ts'
import type { Measures, RanPlan } from '../../planner/physical/ranPlan.ts'
import type { ColumnProgram } from './columns/columnProgram.ts'
import type { ColumnRun } from './columns/columnRun.ts'
import { isText, textBytes } from './columns/loadTask.ts'
import { type LoadedScan, splitsRead } from './loadedScan.ts'
import type { ExecBatch } from './operators/batches.ts'
import { isFree } from './operators/freeSteps.ts'
import { inputsOf } from './planInputs.ts'
import type { StageResult } from './stage.ts'

/** Rows of a result: at the moment, at most, of its largest part, and in all. */
export interface KeptRows {
  readonly now: number
  readonly most: number
  readonly part: number
  readonly all: number
}

/** Columns that were read whole, in the place of a scan. */
interface LoadedColumns {
  readonly scan: Scan
  readonly stored: Stored
  readonly milliseconds: number
  /** Whether other scans have columns of the same reading. */
  readonly isShared: boolean
}

export class PlanRecord {
  private root: PhysicalPlan | undefined
  private readonly measures = new Map<PhysicalPlan, Measures>()
  /** Waited for the results of a node, those of its inputs included. */
  private readonly waited = new Map<PhysicalPlan, number>()
  private readonly others = new Map<PhysicalPlan, PhysicalPlan>()
  private readonly kept = new Map<PhysicalPlan, KeptRows>()
  private readonly shown = new Map<PhysicalPlan, PhysicalPlan>()

  /** A plan begins to run; of what ran before, and failed or came to nothing, only the reasons count. */
  begin(plan: PhysicalPlan): void {
    this.root = plan
    const refusals = [...this.measures].flatMap(([node, { because }]) => (because === undefined ? [] : [[node, because] as const]))
    this.measures.clear()
    for (const [node, because] of refusals) this.add(node, { because })
    this.waited.clear()
    this.others.clear()
    this.kept.clear()
  }

  /** `other` runs in the place of `plan`. */
  ranAs(plan: PhysicalPlan, other: PhysicalPlan): void {
    if (plan !== other) this.others.set(plan, other)
  }

  /** What was tried for a plan came to nothing: it runs as it was planned. */
  runsAsPlanned(plan: PhysicalPlan): void {
    this.others.delete(plan)
    for (const input of inputsOf(plan)) this.runsAsPlanned(input)
  }

  /** What a node that was made for the run is shown as. */
  showAs(plan: PhysicalPlan, original: PhysicalPlan): void {
    this.shown.set(plan, original)
  }

  add(plan: PhysicalPlan, measures: Measures): void {
    this.measures.set(plan, { ...this.measures.get(plan), ...measures })
  }

  /** Why a node does not run in a better way; the first reason is what decided. */
  refuse(plan: PhysicalPlan, because: string): void {
    if (this.measures.get(plan)?.because === undefined) this.add(plan, { because })
  }

  /** Adds rows and bytes of a result that comes in parts. */
  addResult(plan: PhysicalPlan, batches: readonly ExecBatch[]): void {
    const { rows = 0, bytes = 0 } = this.measures.get(plan) ?? {}
    this.add(plan, { rows: rows + rowsOf(batches), bytes: bytes + bytesOfBatches(batches) })
  }

  /** Rows that a node has computed for what consumes them. */
  addMade(plan: PhysicalPlan, rows: number): void {
    const { now = 0, most = 0, part = 0, all = 0 } = this.kept.get(plan) ?? {}
    this.kept.set(plan, { now: now + rows, most: Math.max(most, now + rows), part: Math.max(part, rows), all: all + rows })
  }

  /** Rows whose consumer is done with them. */
  addTaken(plan: PhysicalPlan, rows: number): void {
    const kept = this.kept.get(plan)
    if (kept !== undefined) this.kept.set(plan, { ...kept, now: kept.now - rows })
  }

  /** How many rows of each node's result were there, computed and still in use. */
  rowsKept(): ReadonlyMap<PhysicalPlan, KeptRows> {
    return this.kept
  }

  addWait(planned: PhysicalPlan, milliseconds: number): void {
    const plan = this.thatRan(planned)
    this.waited.set(plan, (this.waited.get(plan) ?? 0) + milliseconds)
  }

  /** The result of a node that may not be the one that was planned, with the time that is waited for it. */
  async waitedFor<T>(plan: PhysicalPlan, result: () => Promise<T>): Promise<T> {
    const started = performance.now()
    try {
      return await result()
    } finally {
      this.addWait(plan, performance.now() - started)
    }
  }

  /** The same for a result that comes in parts. */
  async *waitedForEach<T>(plan: PhysicalPlan, parts: AsyncGenerator<T, void, undefined>): AsyncGenerator<T, void, undefined> {
    try {
      for (;;) {
        const part = await this.waitedFor(plan, async () => await parts.next())
        if (part.done === true) return
        yield part.value
      }
    } finally {
      await parts.return()
    }
  }

  /** A pipeline whose result kernels made in one pass over the columns of its table. */
  addProgram(plan: PhysicalPlan, { program, keySets }: ColumnRun, result: ExecBatch): void {
    const { rows, shape, ofTexts = 0 } = program
    const isComputed = shape.filters || shape.outputs.some(({ kind }) => kind === 'computed')
    const computed = shape.zones === true ? 'SIMD over columns, buckets of time zones a row at a time in JavaScript' : 'SIMD over columns'
    const ran = isComputed ? computed : ofTexts > 0 ? 'once for each text of a column' : 'columns handed on as they are'
    this.set(plan, {
      rowsIn: [rows],
      ran: keySets.length === 0 ? ran : 'SIMD over columns, rows without a match dropped by the keys of the other side',
    })
    this.addResult(plan, [result])
    this.addSource(plan, rows)
  }

  /** What ran in the end, whatever was tried before. */
  private set(plan: PhysicalPlan, measures: Measures): void {
    const { because: _, ...known } = this.measures.get(plan) ?? {}
    this.measures.set(plan, { ...known, ...measures })
  }

  /** The rows of a table that kernels go over. */
  private addSource(plan: PhysicalPlan, rows: number): void {
    if (plan.kind === 'PipelineExec') this.add(plan.input, { rows })
  }

  /** What a node's result is, all of it. */
  addWhole(planned: PhysicalPlan, batches: readonly ExecBatch[]): void {
    this.add(this.thatRan(planned), { rows: rowsOf(batches), bytes: bytesOfBatches(batches) })
  }

  addLoaded({ scan, stored, milliseconds, isShared }: LoadedColumns): void {
    const { storage } = stored
    this.showAs(stored, scan)
    this.addWait(stored, milliseconds)
    if (storage.kind === 'table') this.addWhole(stored, [storage])
    this.add(stored, {
      ran: isShared ? 'read whole into the arena, once for several scans' : 'read whole into the arena',
      pieces: piecesOf(scan),
    })
  }

  /** What a wide operator gave, as the table that a pipeline above it reads. */
  addTable(stored: PhysicalPlan, wide: PhysicalPlan): void {
    this.ranAs(stored, wide)
  }

  /** A pipeline that begins to run, partition by partition. */
  beginPipeline(plan: Pipeline): void {
    const { steps, input } = plan
    if (steps.length > 0) this.add(plan, { rowsIn: steps.map(() => 0), rows: 0, bytes: 0 })
    if (input.kind !== 'ScanExec' || input.source.kind === 'memory') return
    this.add(input, { ran: steps.length === 0 ? 'read in workers' : 'read as it is needed', pieces: piecesOf(input) })
  }

  /** What came of a partition; of a source without steps the source's result. */
  addPartition(plan: Pipeline, { batches, rowsIn, spilled }: Pick<StageResult, 'batches' | 'rowsIn' | 'spilled'>): void {
    const { steps, input } = plan
    const made = steps.length === 0 ? input : plan
    if (spilled === undefined) this.addResult(made, batches)
    else this.add(made, { rows: spilled.rows + (this.measures.get(made)?.rows ?? 0) })
    if (steps.length === 0) return
    const before = this.measures.get(plan)?.rowsIn
    this.add(plan, { rowsIn: rowsIn.map((rows, step) => rows + (before?.[step] ?? 0)) })
    if (this.measures.get(input)?.ran === 'read as it is needed') this.add(input, { rows: this.measures.get(plan)?.rowsIn?.[0] ?? 0 })
  }

  /** Where JavaScript runs a node; why kernels do not was said before. */
  addPlace(plan: Pipeline | Wide, where: 'workers' | 'caller'): void {
    if (plan.kind === 'PipelineExec' && plan.steps.length === 0) return
    if (plan.kind === 'PipelineExec' && plan.steps.every(isFree)) {
      this.set(plan, { ran: 'columns handed on as they are' })
      return
    }
    const ran = where === 'workers' ? 'JavaScript in workers' : "JavaScript on the caller's thread"
    if (plan.where === 'caller' && plan.because !== undefined) this.add(plan, { ran, because: plan.because })
    else {
      this.add(plan, { ran })
      if (plan.kind === 'PipelineExec') this.refuse(plan, 'its rows are taken partition after partition')
    }
  }

  /** A task of several that carry out a wide operator together. */
  addTask(plan: Wide, { refused }: StageResult): void {
    if (refused !== undefined) this.add(plan, { ran: 'JavaScript in workers', because: refused })
    else if (this.measures.get(plan)?.because === undefined) this.add(plan, { ran: 'WebAssembly in workers' })
  }

  /** A wide operator that goes over parts of its inputs which are spilled, so many bytes more. */
  addSpilled(plan: Wide, bytes: number): void {
    const { spilled = 0 } = this.measures.get(plan) ?? {}
    this.set(plan, { spilled: spilled + bytes, ran: 'JavaScript in workers', because: 'memory is short for it as a whole' })
  }

  /** Groups that were made in one pass with the rows that are grouped. */
  addGroupPass(plan: Wide, input: Pipeline, program: ColumnProgram, passes: 1 | 2): void {
    this.set(plan, { ran: passes === 1 ? 'SIMD over columns, groups in the same pass' : 'SIMD over columns, groups in two such passes' })
    this.set(input, { rowsIn: [program.rows], ran: 'with the operator above' })
    this.addSource(input, program.rows)
  }

  /** The plan that ran. */
  ran(): RanPlan | undefined {
    return this.root === undefined ? undefined : this.ranPlan(this.root)
  }

  private ranPlan(planned: PhysicalPlan): RanPlan {
    const plan = this.thatRan(planned)
    const inputs = inputsOf(plan).map((input) => this.ranPlan(input))
    const total = this.waited.get(plan)
    const below = inputsOf(plan).reduce((sum, input) => sum + (this.waited.get(this.thatRan(input)) ?? 0), 0)
    const measures = this.measures.get(plan) ?? {}
    const isApart = total !== undefined && measures.ran !== 'read as it is needed'
    const own = isApart ? { milliseconds: Math.max(0, total - below) } : {}
    return { plan: this.shown.get(plan) ?? plan, measures: { ...measures, ...own }, inputs }
  }

  private thatRan(plan: PhysicalPlan): PhysicalPlan {
    const other = this.others.get(plan)
    return other === undefined ? plan : this.thatRan(other)
  }
}

type Scan = Extract<PhysicalPlan, { kind: 'ScanExec' }>
type Stored = LoadedScan['plan']
type Pipeline = Extract<PhysicalPlan, { kind: 'PipelineExec' }>
type Wide = Extract<PhysicalPlan, { kind: 'WideExec' }>

/** How many pieces of a file are read. */
function piecesOf(scan: Scan): NonNullable<Measures['pieces']> {
  return { of: PIECES[scan.source.kind], read: splitsRead(scan).length, all: scan.source.splits.length }
}

const PIECES = {
  parquet: 'row groups',
  arrow: 'record batches',
  csv: 'ranges',
  ndjson: 'ranges',
  text: 'ranges',
  format: 'pieces',
  memory: 'batches',
  spark: 'answers',
} as const

function rowsOf(batches: readonly ExecBatch[]): number {
  return batches.reduce((sum, { length }) => sum + length, 0)
}

/** What the columns of batches take, hidden ones too. */
export function bytesOfBatches(batches: readonly ExecBatch[]): number {
  return batches.reduce((sum, { columns, hidden = [] }) => sum + bytesOfColumns(columns) + bytesOfColumns(hidden), 0)
}

/** Of texts those of the rows: slices of a column have all of its values. */
function bytesOfColumns(columns: readonly Column[]): number {
  return columns.reduce((sum, column) => {
    const { values, offsets, validity, children = [], dictionary } = column
    const own = isText(column.type) && dictionary === undefined ? textBytes(column) : (values?.byteLength ?? 0)
    return sum + own + (offsets?.byteLength ?? 0) + (validity?.byteLength ?? 0) + bytesOfColumns(children)
  }, 0)
}
