/**
 * Which scans of a plan are read whole before their turn, and which are read once for several places of the plan.
 *
 *     q21:  lineitem l1 ⋈ orders,  semi lineitem l2,  anti lineitem l3
 *     reads [l_orderkey, l_suppkey, l_commitdate, l_receiptdate] of lineitem once, while orders are read beside it
 *
 * Columns of a file are read once when the scans read the same rows: the plan's filters run over them all the same.
 */
import { MemoryError } from '../../core/errors.ts'
import type { PhysicalPlan } from '../../planner/physical/physicalPlan.ts'
import type { Block } from './block.ts'
import {
  columnsFor,
  hasRoom,
  type LoadedScan,
  type LoadServices,
  type Scan,
  scanToLoad,
  splitsRead,
  withoutPartialGroups,
} from './loadedScan.ts'

/** A scan of the columns that the inputs of wide operators, some pipelines, read of the same rows. */
export interface PlannedLoad {
  readonly scan: Scan
  readonly readers: readonly { readonly input: PhysicalPlan; readonly scan: Scan }[]
}

/** The scans that are read whole, in the order in which their readers need them. */
export function plannedLoads(
  plan: PhysicalPlan,
  options: Pick<LoadServices, 'arena'> & { readonly smallRows?: number },
): readonly PlannedLoad[] {
  const found: PlannedLoad[] = []
  for (const input of wideInputs(plan)) {
    const scan = scanToLoad(withoutPartialGroups(input), options)
    if (scan === undefined || 'because' in scan) continue
    const reader = { input, scan }
    const at = found.findIndex((known) => readsTheSame(known.scan, scan))
    const known = found[at]
    if (known === undefined) found.push({ scan, readers: [reader] })
    else found[at] = { scan: withColumnsOf(known.scan, scan), readers: [...known.readers, reader] }
  }
  return found
}

/** The inputs of wide operators, those of operators below first. */
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

function withColumnsOf(scan: Scan, { columns }: Scan): Scan {
  return { ...scan, columns: [...new Set([...scan.columns, ...columns])] }
}

export interface TimedLoad extends LoadedScan {
  readonly milliseconds: number
}

/** So many are read beside each other, so that no worker waits for the last row group of one. */
const AT_ONCE = 2
/** Of the memory that is free, a scan that is read before its turn may take one part in so many. */
const ROOM_AHEAD = 4

interface Begun {
  readonly load: PlannedLoad
  /** Undefined where there was no room: the scan is read in its turn. */
  readonly loaded: Promise<TimedLoad | undefined>
  isWaitedFor: boolean
  /** What it lies in, once it is read, for those who have yet to take it. */
  blocks: readonly Block[]
}

/** Scans of a run that are read before their turn. */
export class LoadsAhead {
  private readonly arena: LoadServices['arena']
  private readonly load: (scan: Scan, isWaitedFor: () => boolean) => Promise<TimedLoad>
  private readonly begun = new Map<PhysicalPlan, Begun>()

  constructor(arena: LoadServices['arena'], load: LoadsAhead['load']) {
    this.arena = arena
    this.load = load
  }

  /** Reads the scans while `work` runs, and is done with all of them when it ends. Operators below have theirs read already. */
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
          if (error instanceof MemoryError) return undefined // in its turn there may be enough
          throw error
        }
      })
      const begun: Begun = { load, loaded, isWaitedFor: false, blocks: [] }
      for (const { input } of load.readers) this.begun.set(input, begun)
      settled.push(loaded.catch(() => undefined)) // whoever takes it hears of it
    }
    try {
      return await work()
    } finally {
      isOver = true
      await Promise.all(settled)
      this.begun.clear()
    }
  }

  /** What scans lie in that were read before their turn, and that somebody may still take. */
  waiting(): readonly Block[] {
    return [...this.begun.values()].flatMap(({ blocks }) => blocks)
  }

  /** The columns of a wide operator's input that was read before its turn; undefined for others. */
  async taken(input: PhysicalPlan): Promise<{ readonly scan: Scan; readonly loaded: TimedLoad; readonly isShared: boolean } | undefined> {
    const begun = this.begun.get(input)
    const reader = begun?.load.readers.find((one) => one.input === input)
    if (begun === undefined || reader === undefined) return undefined
    begun.isWaitedFor = true
    const loaded = await begun.loaded
    if (loaded === undefined) return undefined
    const { scan } = reader
    const isShared = begun.load.readers.length > 1 // what others may still read is there until the run ends
    if (!isShared) begun.blocks = []
    return { scan, isShared, loaded: isShared ? { ...loaded, plan: columnsFor(scan, loaded.plan), blocks: [] } : loaded }
  }
}
