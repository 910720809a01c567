/** Runs a plan as a column program; where it is none, tells the caller why, who then runs it in another way. */
import { MemoryError } from '../../../core/errors.ts'
import type { PhysicalPlan } from '../../../planner/physical/physicalPlan.ts'
import type { NotColumns } from '../../kernels/columns/programShape.ts'
import type { Block } from '../block.ts'
import type { ExecutorOptions } from '../executorOptions.ts'
import { SMALL_ROWS } from '../operators/partitions.ts'
import { type ColumnProgram, columnProgramOf, isProgram, type TextColumns, type WithTextColumns } from './columnProgram.ts'
import { ColumnRun } from './columnRun.ts'
import { withCodedKeys } from './groups/codedKeys.ts'
import { asksLists } from './lists/listAnswers.ts'
import { type AnswerServices, withMadeAnswers } from './lists/madeAnswers.ts'
import { refused, SHORT_OF_MEMORY } from './refused.ts'
import type { KeySet } from './semiJoin.ts'
import { codesMade } from './texts/codesOnDemand.ts'
import { madeTextColumns, plannedTextColumns } from './texts/textColumns.ts'
import { type TextSets, withTextSets } from './texts/textSets.ts'

type Options = Pick<ExecutorOptions, 'pool' | 'arena' | 'onEvent' | 'smallRows'> & {
  readonly signal?: AbortSignal | undefined
  /** Takes over the blocks of columns that the program adds to those of its table; they must live as long as the result is used. */
  readonly keep: (blocks: readonly Block[]) => void
}

/** The part of `smallRows` that is enough where keys of joins filter the rows, since all later operators have fewer rows. */
const FILTERED = 1 / 16

/** The result of `work` over the plan's program, or why there is none: no program, few rows, or short memory. `codedKeys`: codes for texts of the first hidden column. `textSets`: sets of codes for filters of single texts. */
export async function overColumns<T extends object>(
  given: PhysicalPlan,
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
  const plan = await withAnswers(given, { pool, arena, signal, keep, smallRows, isFold: textSets })
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
    if (error instanceof MemoryError) return SHORT_OF_MEMORY
    throw error
  } finally {
    run.end()
  }
}

/** The plan with columns of what it asks of lists, where it is a program over enough rows with these. */
async function withAnswers(
  plan: PhysicalPlan,
  { smallRows, isFold, ...services }: AnswerServices & { readonly smallRows: number; readonly isFold: boolean },
): Promise<PhysicalPlan> {
  if (plan.kind !== 'PipelineExec' || !asksLists(plan.steps)) return plan
  const planned = columnProgramOf(plan, plannedTextColumns)
  if (!isProgram(planned) || planned.asksLists !== true || planned.rows < smallRows) return plan
  const { shape, columns } = planned
  // rows that are kept of lists are taken row by row
  const keepsLists = shape.filters && shape.outputs.some((one) => one.kind === 'column' && columns[one.column]?.type.kind === 'list')
  if (keepsLists && !isFold) return plan
  try {
    return await withMadeAnswers(plan, services)
  } catch (error) {
    if (error instanceof MemoryError) return plan
    throw error
  }
}

function programOf(plan: PhysicalPlan, texts: TextColumns): ColumnProgram | NotColumns {
  try {
    return columnProgramOf(plan, texts)
  } catch (error) {
    if (error instanceof MemoryError) return SHORT_OF_MEMORY
    throw error
  }
}

/** Adds the columns of functions of a text once for the plan's table, and not where that has few rows. */
function once(make: TextColumns, smallRows: number): TextColumns {
  let made: { readonly with: WithTextColumns | undefined } | undefined
  return (table, steps) => {
    if (table.rows < smallRows) return undefined
    made ??= { with: make(table, steps) }
    return made.with
  }
}
