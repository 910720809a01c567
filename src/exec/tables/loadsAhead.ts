/**
 * Reads scans of a plan whole ahead of their turn, and once for several places of the plan.
 *
 *     q21:  lineitem l1 ⋈ orders,  semi lineitem l2,  anti lineitem l3
 *     reads [l_orderkey, l_suppkey, l_commitdate, l_receiptdate] of lineitem once, while orders are read beside it
 *
 * Columns of a file are read once for all scans that read the same rows; the filters of each run over them as planned.
 */
import { MemoryError } from '../../core/errors.ts'
import type { PhysicalPlan } from '../../planner/physical/physicalPlan.ts'
import type { Block } from './block.ts'
import { columnsFor, type LoadedScan, type LoadServices, scanToLoad, withoutPartialStep } from './loadedScan.ts'
import { hasRoom, type LoadOptions, type Scan, splitsRead } from './scanSplits.ts'

/** A scan of all columns that inputs of wide operators read of the same rows. */
export interface PlannedLoad {
  readonly scan: Scan
  readonly readers: readonly { readonly input: PhysicalPlan; readonly scan: Scan }[]
}

/** The scans that are read whole, in the order in which their readers need them. */
export function plannedLoads(plan: PhysicalPlan, options: LoadOptions): readonly PlannedLoad[] {
  const found: PlannedLoad[] = []
  for (const input of wideInputs(plan)) {
    const scan = scanToLoad(withoutPartialStep(input), options)
    if (scan === undefined || 'because' in scan) continue
    const reader = { input, scan }
    const at = found.findIndex((known) => readsTheSame(known.scan, scan))
    const known = found[at]
    if (known === undefined) found.push({ scan, readers: [reader] })
    else found[at] = { scan: withColumnsOf(known.scan, scan), readers: [...known.readers, reader] }
  }
  return found
}

/** The inputs of all wide operators, those of operators below first. */
function wideInputs(plan: PhysicalPlan): readonly PhysicalPlan[] {
  switch (plan.kind) {
    case 'ScanExec':
    case 'StoredExec':
      return []
    case 'UnionExec':
      return plan.inputs.flatMap(wideInputs)
    case 'WideExec':
      return [...plan.inputs.flatMap(wideInputs), ...plan.inputs]
    default:
      return wideInputs(plan.input)
  }
}

function readsTheSame(a: Scan, b: Scan): boolean {
  if (a.source !== b.source) return false
  const [ours, others] = [splitsRead(a), splitsRead(b)]
  return ours.length === others.length && ours.every((split, i) => split === others[i])
}

/** The scan with the columns of another one, and with all fields of structs. */
function withColumnsOf({ fields: _, ...scan }: Scan, { columns }: Scan): Scan {
  return { ...scan, columns: [...new Set([...scan.columns, ...columns])] }
}

export interface TimedLoad extends LoadedScan {
  readonly milliseconds: number
}

/** The number of scans read at a time, so that no worker waits for the last row group of one. */
const AT_ONCE = 2
/** A scan that is read ahead may take the free memory divided by this. */
const ROOM_AHEAD = 4

interface Begun {
  readonly load: PlannedLoad
  /** The columns; undefined where there was no room, so that the scan is read in its turn. */
  readonly loaded: Promise<TimedLoad | undefined>
  isWaitedFor: boolean
  /** The blocks of its columns once it is read, as long as a reader has yet to take it. */
  blocks: readonly Block[]
}

/** The scans of a run that are read ahead of their turn. */
export class LoadsAhead {
  private readonly arena: LoadServices['arena']
  private readonly load: (scan: Scan, isWaitedFor: () => boolean) => Promise<TimedLoad>
  private readonly begun = new Map<PhysicalPlan, Begun>()

  constructor(arena: LoadServices['arena'], load: LoadsAhead['load']) {
    this.arena = arena
    this.load = load
  }

  /** Reads the scans while `work` runs, and has ended all reads when it returns. A call inside another reads nothing: the outer one does. */
  async during<T>(loads: () => readonly PlannedLoad[], work: () => Promise<T>): Promise<T> {
    if (this.begun.size > 0) return await work()
    const planned = loads()
    if (planned.flatMap(({ readers }) => readers).length < 2) return await work()
    let isOver = false
    const settled: Promise<unknown>[] = []
    for (const [i, load] of planned.entries()) {
      const before = settled[i - AT_ONCE] ?? Promise.resolve()
      const loaded = before.then(async () => {
        if (isOver || !hasRoom(load.scan, this.arena, ROOM_AHEAD)) return undefined
        try {
          const found = await this.load(load.scan, () => begun.isWaitedFor)
          begun.blocks = found.blocks
          return found
        } catch (error) {
          if (error instanceof MemoryError) return undefined // there may be enough memory in its turn
          throw error
        }
      })
      const begun: Begun = { load, loaded, isWaitedFor: false, blocks: [] }
      for (const { input } of load.readers) this.begun.set(input, begun)
      settled.push(loaded.catch(() => undefined)) // the error reaches the reader that takes it
    }
    try {
      return await work()
    } finally {
      isOver = true
      await Promise.all(settled)
      this.begun.clear()
    }
  }

  /** The blocks of scans that were read ahead and that a reader may still take. */
  waiting(): readonly Block[] {
    return [...this.begun.values()].flatMap(({ blocks }) => blocks)
  }

  /** The columns of a wide operator's input that was read ahead; undefined for other inputs, and where there was no room. */
  async taken(input: PhysicalPlan): Promise<{ readonly scan: Scan; readonly loaded: TimedLoad; readonly isShared: boolean } | undefined> {
    const begun = this.begun.get(input)
    const reader = begun?.load.readers.find((one) => one.input === input)
    if (begun === undefined || reader === undefined) return undefined
    begun.isWaitedFor = true
    const loaded = await begun.loaded
    if (loaded === undefined) return undefined
    const { scan } = reader
    const isShared = begun.load.readers.length > 1 // shared columns live until the run ends
    if (!isShared) begun.blocks = []
    return { scan, isShared, loaded: isShared ? { ...loaded, plan: columnsFor(scan, loaded.plan), blocks: [] } : loaded }
  }
}
