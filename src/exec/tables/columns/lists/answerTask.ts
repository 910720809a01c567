/** The task that answers what steps ask of lists for a piece of the rows. */
import type { Column } from '../../../../core/data/column.ts'
import type { ExecBatch } from '../../operators/batches.ts'
import { answersWritten } from '../../operators/rows/rowKernel.ts'
import { nullsPlaced } from '../loadTask.ts'
import type { ListAnswer } from './listAnswers.ts'

/** A task's rows, and the columns that it writes its part of. */
export interface AnswerTask {
  readonly kind: 'answers'
  readonly rows: ExecBatch
  readonly answers: readonly ListAnswer[]
  readonly wholes: readonly Column[]
  readonly firstRow: number
}

/** Writes the part of the answers' columns, and returns how many of each are absent; undefined where an answer throws, or is none for columns. */
export function runAnswerTask({ rows, answers, wholes, firstRow }: AnswerTask): readonly number[] | undefined {
  const nulls: number[] = []
  for (const [i, { ir, kind, absent }] of answers.entries()) {
    const whole = wholes[i] as Column // one for each
    const values = (whole.values as Float64Array | Uint8Array).subarray(firstRow, firstRow + rows.length)
    const written = answersWritten(ir, rows, { kind, values, absent: absent === undefined ? undefined : null })
    if (written === undefined || (written.nulls > 0 && whole.validity === undefined)) return undefined
    const { nulls: count, ...part } = written
    nulls.push(count)
    nullsPlaced({ type: whole.type, length: rows.length, ...part }, whole, firstRow)
  }
  return nulls
}
