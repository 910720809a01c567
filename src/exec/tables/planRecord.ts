/**
 * The record of what is measured while a plan runs, for `explain({ analyze: true })`.
 *
 * Nodes are told apart by identity. Where another node runs than the plan has (columns that are read whole take the place of a scan),
 * the record has it, so that explain prints what ran.
 */
import type { Column } from '../../core/data/column.ts'
import type { SourceSplit } from '../../core/sourceParts.ts'
import type { PhysicalPlan } from '../../planner/physical/physicalPlan.ts'
import type { Measures, RanPlan } from '../../planner/physical/ranPlan.ts'
import type { ColumnProgram } from './columns/columnProgram.ts'
import type { ColumnRun } from './columns/columnRun.ts'
import { isText, textBytes } from './columns/loadTask.ts'
import type { LoadedScan } from './loadedScan.ts'
import type { ExecBatch } from './operators/batches.ts'
import { isFree } from './operators/freeSteps.ts'
import { inputsOf } from './planInputs.ts'
import { splitsRead } from './scanSplits.ts'
import type { StageResult } from './stage.ts'

/** The rows of a result that are kept: now, at most, in its largest part, and in all. */
export interface KeptRows {
  readonly now: number
  readonly most: number
  readonly part: number
  readonly all: number
}

/** Columns that were read whole, in place of a scan. */
interface LoadedColumns {
  readonly scan: Scan
  readonly stored: Stored
  readonly milliseconds: number
  /** Whether one read gave several scans their columns. */
  readonly isShared: boolean
}

export class PlanRecord {
  private root: PhysicalPlan | undefined
  private readonly measures = new Map<PhysicalPlan, Measures>()
  /** The milliseconds waited for the results of each node, its inputs' included. */
  private readonly waited = new Map<PhysicalPlan, number>()
  private readonly others = new Map<PhysicalPlan, PhysicalPlan>()
  private readonly kept = new Map<PhysicalPlan, KeptRows>()
  private readonly shown = new Map<PhysicalPlan, PhysicalPlan>()

  /** Begins a run of a plan. Of attempts before it, only the reasons why they did not serve are kept. */
  begin(plan: PhysicalPlan): void {
    this.root = plan
    const refusals = [...this.measures].flatMap(([node, { because }]) => (because === undefined ? [] : [[node, because] as const]))
    this.measures.clear()
    for (const [node, because] of refusals) this.add(node, { because })
    this.waited.clear()
    this.others.clear()
    this.kept.clear()
  }

  /** Notes that `other` runs in place of `plan`. */
  ranAs(plan: PhysicalPlan, other: PhysicalPlan): void {
    if (plan !== other) this.others.set(plan, other)
  }

  /** Notes that an attempt with other nodes failed, and the plan runs as it was planned. */
  runsAsPlanned(plan: PhysicalPlan): void {
    this.others.delete(plan)
    for (const input of inputsOf(plan)) this.runsAsPlanned(input)
  }

  /** Has a node that was made for the run printed as `original`. */
  showAs(plan: PhysicalPlan, original: PhysicalPlan): void {
    this.shown.set(plan, original)
  }

  add(plan: PhysicalPlan, measures: Measures): void {
    this.measures.set(plan, { ...this.measures.get(plan), ...measures })
  }

  /** Notes why a node does not run in a faster way; the first reason counts. */
  refuse(plan: PhysicalPlan, because: string): void {
    if (this.measures.get(plan)?.because === undefined) this.add(plan, { because })
  }

  /** Adds the rows and bytes of one part of a result. */
  addResult(plan: PhysicalPlan, batches: readonly ExecBatch[]): void {
    const { rows = 0, bytes = 0 } = this.measures.get(plan) ?? {}
    this.add(plan, { rows: rows + rowsOf(batches), bytes: bytes + bytesOfBatches(batches) })
  }

  /** Adds rows that a node has computed for its consumer. */
  addMade(plan: PhysicalPlan, rows: number): void {
    const { now = 0, most = 0, part = 0, all = 0 } = this.kept.get(plan) ?? {}
    this.kept.set(plan, { now: now + rows, most: Math.max(most, now + rows), part: Math.max(part, rows), all: all + rows })
  }

  /** Subtracts rows that their consumer is done with. */
  addTaken(plan: PhysicalPlan, rows: number): void {
    const kept = this.kept.get(plan)
    if (kept !== undefined) this.kept.set(plan, { ...kept, now: kept.now - rows })
  }

  /** The rows of each node's result that were kept, computed and still in use. */
  rowsKept(): ReadonlyMap<PhysicalPlan, KeptRows> {
    return this.kept
  }

  addWait(planned: PhysicalPlan, milliseconds: number): void {
    const plan = this.thatRan(planned)
    this.waited.set(plan, (this.waited.get(plan) ?? 0) + milliseconds)
  }

  /** Waits for the result of a node, and adds the time to that of the node that ran in its place. */
  async waitedFor<T>(plan: PhysicalPlan, result: () => Promise<T>): Promise<T> {
    const started = performance.now()
    try {
      return await result()
    } finally {
      this.addWait(plan, performance.now() - started)
    }
  }

  /** Passes on the parts of a result, and adds the time waited for each. */
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

  /** Notes a pipeline that ran as a column program, with its result. */
  addProgram(plan: PhysicalPlan, { program, keySets }: ColumnRun, result: ExecBatch): void {
    const { rows, shape, ofTexts = 0 } = program
    const isComputed = shape.filters || shape.outputs.some(({ kind }) => kind === 'computed')
    const computed = shape.zones === true ? 'SIMD over columns, time zones a row at a time in JavaScript' : 'SIMD over columns'
    const ran = isComputed ? computed : ofTexts > 0 ? 'once for each value of a column' : 'columns handed on as they are'
    this.set(plan, {
      rowsIn: [rows],
      ran: keySets.length === 0 ? ran : 'SIMD over columns, rows without a match dropped by the keys of the other side',
    })
    this.addResult(plan, [result])
    this.addSource(plan, rows)
  }

  /** Forgets what attempts before measured of a join and its left side, of which ranges are joined now. */
  beginRanges(join: Wide, left: PhysicalPlan): void {
    for (const plan of [join, left, ...inputsOf(left)]) this.measures.delete(plan)
  }

  /** Adds what a pipeline left of one range of a scan. */
  addRange(
    plan: PhysicalPlan,
    run: ColumnRun,
    { batch, scan, milliseconds }: { readonly batch: ExecBatch; readonly scan: Scan; readonly milliseconds: number },
  ): void {
    const [before = 0] = this.measures.get(plan)?.rowsIn ?? []
    const input = plan.kind === 'PipelineExec' ? plan.input : plan
    const { rows: read = 0 } = this.measures.get(input) ?? {}
    this.addProgram(plan, run, batch)
    this.add(plan, { rowsIn: [before + run.program.rows] })
    if (input !== plan) this.addRangeRead(input, read + run.program.rows, { scan, milliseconds })
  }

  /** Adds a range of a scan whose rows were added to groups. */
  addRangeOfGroups(
    wide: Wide,
    plan: PhysicalPlan,
    { program }: ColumnRun,
    range: { readonly scan: Scan; readonly milliseconds: number },
  ): void {
    this.set(wide, { ran: 'SIMD over columns, groups in the same pass' })
    if (plan.kind !== 'PipelineExec') return
    const { rows = 0 } = this.measures.get(plan.input) ?? {}
    this.set(plan, { rowsIn: [rows + program.rows], ran: 'with the operator above' })
    this.addRangeRead(plan.input, rows + program.rows, range)
  }

  private addRangeRead(
    input: PhysicalPlan,
    rows: number,
    { scan, milliseconds }: { readonly scan: Scan; readonly milliseconds: number },
  ): void {
    this.addWait(input, milliseconds)
    this.add(input, { rows, ran: 'read into the arena, a range at a time', pieces: piecesOf(scan) })
  }

  /** Sets what ran in the end, and forgets why an attempt before it did not serve. */
  private set(plan: PhysicalPlan, measures: Measures): void {
    const { because: _, ...known } = this.measures.get(plan) ?? {}
    this.measures.set(plan, { ...known, ...measures })
  }

  /** Notes the number of rows of the table that a column program went over. */
  private addSource(plan: PhysicalPlan, rows: number): void {
    if (plan.kind === 'PipelineExec') this.add(plan.input, { rows })
  }

  /** Notes the rows and bytes of a node's whole result. */
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

  /** Notes that columns of a scan were read for some rows, which lie in `read` splits. */
  addFetched(plan: Fetch, read: number): void {
    const { scan } = plan
    this.add(plan, { ran: 'read in workers for these rows alone', pieces: { ...piecesOf(scan), read } })
  }

  /** Notes a stored node that stands for the result of a wide operator, for the pipeline above it. */
  addTable(stored: PhysicalPlan, wide: PhysicalPlan): void {
    this.ranAs(stored, wide)
  }

  /** Notes that a pipeline begins to run, partition by partition. */
  beginPipeline(plan: Pipeline): void {
    const { steps, input } = plan
    if (steps.length > 0) this.add(plan, { rowsIn: steps.map(() => 0), rows: 0, bytes: 0 })
    if (input.kind !== 'ScanExec' || input.source.kind === 'memory') return
    this.add(input, { ran: steps.length === 0 ? 'read in workers' : 'read as it is needed', pieces: piecesOf(input) })
  }

  /** Adds the result of a partition: to the pipeline or, where that has no steps, to its source. */
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

  /** Notes the thread on which JavaScript runs a node; why kernels do not was noted before. */
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

  /** Notes one of the tasks that run a wide operator together. */
  addTask(plan: Wide, { refused }: StageResult): void {
    if (refused !== undefined) this.add(plan, { ran: 'JavaScript in workers', because: refused })
    else if (this.measures.get(plan)?.because === undefined) this.add(plan, { ran: 'WebAssembly in workers' })
  }

  /** Adds bytes that a wide operator spilled, and notes that it runs over spilled parts. */
  addSpilled(plan: Wide, bytes: number): void {
    const { spilled = 0 } = this.measures.get(plan) ?? {}
    this.set(plan, { spilled: spilled + bytes, ran: 'JavaScript in workers', because: 'memory is short for it as a whole' })
  }

  /** Notes groups that were made in the same passes as the rows below them. */
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

type Fetch = Extract<PhysicalPlan, { kind: 'FetchExec' }>
type Scan = Extract<PhysicalPlan, { kind: 'ScanExec' }>
type Stored = LoadedScan['plan']
type Pipeline = Extract<PhysicalPlan, { kind: 'PipelineExec' }>
type Wide = Extract<PhysicalPlan, { kind: 'WideExec' }>

/** The numbers of pieces of a file that are read, and of all. */
function piecesOf(scan: Scan): NonNullable<Measures['pieces']> {
  const splits = splitsRead(scan)
  const read = [...new Set(splits.map((split) => split.partOf ?? split))]
  const rowsIn = (some: readonly SourceSplit[]): number => some.reduce((sum, { rows = 0 }) => sum + rows, 0)
  const rows = splits.some(({ partOf }) => partOf !== undefined) ? { rows: { read: rowsIn(splits), all: rowsIn(read) } } : {}
  return { of: PIECES[scan.source.kind], read: read.length, all: scan.source.splits.length, ...rows }
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

/** The bytes of the columns of batches, hidden ones included. */
export function bytesOfBatches(batches: readonly ExecBatch[]): number {
  return batches.reduce((sum, { columns, hidden = [] }) => sum + bytesOfColumns(columns) + bytesOfColumns(hidden), 0)
}

/** The bytes of columns; texts count with those of their own rows, as slices share the values of the whole column. */
function bytesOfColumns(columns: readonly Column[]): number {
  return columns.reduce((sum, column) => {
    const { values, offsets, validity, children = [], dictionary } = column
    const own = isText(column.type) && dictionary === undefined ? textBytes(column) : (values?.byteLength ?? 0)
    return sum + own + (offsets?.byteLength ?? 0) + (validity?.byteLength ?? 0) + bytesOfColumns(children)
  }, 0)
}
