/** Makes the columns of what steps ask of lists, a piece of the rows a task, before the steps run over columns. */
import type { Column } from '../../../../core/data/column.ts'
import { sliceColumn } from '../../../../core/data/columnSlices.ts'
import { type Field, fieldsOf } from '../../../../core/data/schema.ts'
import { columnsRead } from '../../../../core/ir/functionUse.ts'
import type { PhysicalPlan } from '../../../../planner/physical/physicalPlan.ts'
import type { Arena } from '../../../memory/arena.ts'
import type { WorkerPool } from '../../../workers/worker.ts'
import type { Block } from '../../block.ts'
import { allOf } from '../../scheduler.ts'
import { sendable } from '../../sendable.ts'
import type { StageResult } from '../../stage.ts'
import { type ProgramSource, tableOf } from '../columnProgram.ts'
import { ResultBlocks } from '../resultBlocks.ts'
import type { AnswerTask } from './answerTask.ts'
import { type ListAnswer, listAnswersOf, withAnswers } from './listAnswers.ts'

/** The most rows of a task, and the least, and how many tasks there are for each worker in between. */
const [MOST_ROWS, LEAST_ROWS, TASKS] = [2 ** 17, 8, 2]

export interface AnswerServices {
  readonly arena: Arena
  readonly pool: WorkerPool
  readonly signal?: AbortSignal | undefined
  readonly keep: (blocks: readonly Block[]) => void
}

/** The plan over a table with the columns of what its steps ask of lists; the plan itself where they ask nothing, or an answer throws. */
export async function withMadeAnswers(plan: PhysicalPlan, services: AnswerServices): Promise<PhysicalPlan> {
  if (plan.kind !== 'PipelineExec') return plan
  const table = tableOf(plan.input)
  const asked = table && listAnswersOf(table, plan.steps)
  if (table === undefined || asked === undefined) return plan
  const columns = await madeAnswers(table, asked.answers, services)
  if (columns === undefined) return plan
  const { element, columns: all } = withAnswers(table, asked.answers, columns)
  const storage = { kind: 'table' as const, element, length: table.rows, columns: all }
  return { ...plan, steps: asked.steps, input: { kind: 'StoredExec', name: table.name, storage, element, keys: plan.input.keys } }
}

async function madeAnswers(
  table: ProgramSource,
  answers: readonly ListAnswer[],
  { arena, pool, signal, keep }: AnswerServices,
): Promise<readonly Column[] | undefined> {
  const { rows, element, columns } = table
  const blocks = new ResultBlocks(arena, 'answers of lists')
  try {
    const wholes = answers.map(({ kind, ir, absent }): Column => {
      const whole = blocks.column(kind, rows, { nullable: false })
      const mayLack = absent !== 'nothing' || ir.body.some((stmt) => stmt.kind === 'Return' && stmt.value?.kind === 'Conditional')
      return mayLack ? { ...whole, validity: blocks.emptyBits(rows) } : whole
    })
    const read = new Set<string>()
    for (const { ir } of answers) for (const name of columnsRead({ ir })) read.add(name)
    const places = fieldsOf(element).flatMap(({ name }, i) => (read.has(name) ? [i] : []))
    const fields = places.map((place) => fieldsOf(element)[place] as Field) // one of them
    const piece = Math.min(MOST_ROWS, Math.max(LEAST_ROWS, Math.ceil(rows / (TASKS * pool.size))))
    const tasks = Array.from({ length: Math.ceil(rows / piece) }, (_, n): AnswerTask => {
      const [from, to] = [n * piece, Math.min(rows, (n + 1) * piece)]
      const part = places.map((place) => sliceColumn(columns[place] as Column, from, to))
      return {
        kind: 'answers',
        rows: { element: { kind: 'row', fields }, length: to - from, columns: part },
        answers,
        wholes,
        firstRow: from,
      }
    })
    const options = { repeatable: true, ...(signal === undefined ? {} : { signal }) }
    const found = (await allOf(tasks.map((task) => pool.run('stage', sendable(task), options)))) as readonly StageResult[] // what stages return
    const made = wholes.map((whole, i) => {
      const isFull = found.every(({ nulls }) => nulls?.[i] === 0)
      return isFull && whole.validity !== undefined ? blocks.withoutValidity(whole) : whole
    })
    if (found.some(({ refused }) => refused !== undefined)) {
      blocks.freeAll()
      return undefined
    }
    keep(blocks.handedOver())
    return made
  } catch (error) {
    blocks.freeAll()
    throw error
  }
}
