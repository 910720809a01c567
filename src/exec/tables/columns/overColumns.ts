/** Runs a plan as a column program, where it is one; whoever asks has another way where it is none, and is told why. */
import { MemoryError } from '../../../core/errors.ts'
import type { PhysicalPlan } from '../../../planner/physical/physicalPlan.ts'
import type { NotColumns } from '../../kernels/columns/programShape.ts'
import type { Block } from '../block.ts'
import type { ExecutorOptions } from '../executorOptions.ts'
import { SMALL_ROWS } from '../operators/partitions.ts'
import { type ColumnProgram, columnProgramOf, isProgram, type TextColumns, type WithTextColumns } from './columnProgram.ts'
import { ColumnRun } from './columnRun.ts'
import { withCodedKeys } from './groups/codedKeys.ts'
import { refused } from './refused.ts'
import type { KeySet } from './semiJoin.ts'
import { codesMade } from './texts/codesOnDemand.ts'
import { madeTextColumns } from './texts/textColumns.ts'
import { type TextSets, withTextSets } from './texts/textSets.ts'

type Options = Pick<ExecutorOptions, 'pool' | 'arena' | 'onEvent' | 'smallRows'> & {
  readonly signal?: AbortSignal | undefined
  /** Takes the blocks of columns that the program has besides those of its table, for as long as anything of the result is used. */
  readonly keep: (blocks: readonly Block[]) => void
}

/** Tables of so small a part of what is else worth a pass are filtered by keys of joins: whatever comes after has fewer rows. */
const FILTERED = 1 / 16

/** What `work` gives; or why it cannot: the plan is no program, or one of few rows, or there is too little memory. `codedKeys`: texts of the first hidden column as codes. `textSets`: filters of texts as sets of codes. */
export async function overColumns<T extends object>(
  plan: PhysicalPlan,
  { pool, arena, onEvent, smallRows = SMALL_ROWS, signal, keep }: Options,
  work: (run: ColumnRun) => Promise<T | NotColumns>,
  {
    keySets = [],
    codedKeys = false,
    textSets = false,
  }: {
    readonly keySets?: readonly KeySet[] | ((program: ColumnProgram) => readonly KeySet[])
    readonly codedKeys?: boolean
    readonly textSets?: boolean
  } = {},
): Promise<T | NotColumns> {
  const texts = once(madeTextColumns(arena, keep), smallRows)
  const asked = (): TextSets => (textSets ? withTextSets(plan) : { plan, sets: [] })
  let own = asked()
  const known = programOf(own.plan, texts)
  if (!isProgram(known)) return known
  const isFiltered = typeof keySets === 'function' || keySets.length > 0
  if (known.rows < (isFiltered ? smallRows * FILTERED : smallRows)) return refused(`the table has only ${known.rows} rows`)
  const isCoded = codesMade(known, arena, { grouped: codedKeys })
  if (isCoded) own = asked()
  const found = isCoded ? programOf(own.plan, texts) : known
  if (!isProgram(found)) return found
  const program = (codedKeys ? withCodedKeys(found) : undefined) ?? found
  let started: number | undefined
  const onStart = (): void => {
    started = performance.now()
    onEvent?.({ kind: 'stage', phase: 'started', stage: program.name })
  }
  const sets = [...own.sets, ...(typeof keySets === 'function' ? keySets(program) : keySets)]
  const run = new ColumnRun(program, { pool, arena, onStart, ...(signal === undefined ? {} : { signal }) }, sets)
  try {
    const result = await work(run)
    if (started !== undefined) {
      const milliseconds = performance.now() - started
      onEvent?.({ kind: 'stage', phase: 'finished', stage: program.name, rows: program.rows, milliseconds })
    }
    return result
  } catch (error) {
    if (error instanceof MemoryError) return NO_ROOM
    throw error
  } finally {
    run.end()
  }
}

const NO_ROOM: NotColumns = refused('memory is short for whole columns') // rows by rows there may be enough

function programOf(plan: PhysicalPlan, texts: TextColumns): ColumnProgram | NotColumns {
  try {
    return columnProgramOf(plan, texts)
  } catch (error) {
    if (error instanceof MemoryError) return NO_ROOM
    throw error
  }
}

/** The columns of the plan's one table are made once, and none of few rows. */
function once(make: TextColumns, smallRows: number): TextColumns {
  let made: { readonly with: WithTextColumns | undefined } | undefined
  return (table, steps) => {
    if (table.rows < smallRows) return undefined
    made ??= { with: make(table, steps) }
    return made.with
  }
}
