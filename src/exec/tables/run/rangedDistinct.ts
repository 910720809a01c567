/**
 * The input of an operator to which equal rows are one row, where memory has no room for its columns: the first of equal rows of each
 * range is kept, and the operator goes over those.
 *
 *     range 1   a b a c   ->  a b c
 *     range 2   b d b     ->  b d      the operator finds a b c d among these
 */
import type { Column } from '../../../core/data/column.ts'
import type { PhysicalPlan, WideOperator } from '../../../planner/physical/physicalPlan.ts'
import { Charge } from '../../memory/charge.ts'
import { withKeys } from '../columns/groups/codedKeys.ts'
import { elementGroups } from '../columns/groups/elementGroups.ts'
import { refused } from '../columns/refused.ts'
import type { Dataset, Pipeline } from '../dataset.ts'
import { beforeDistinct, withoutPartialStep } from '../loadedScan.ts'
import { type ExecBatch, emptyBatch, hiddenBatch, rowBatch } from '../operators/batches.ts'
import { structColumn } from '../operators/rows/rowKernel.ts'
import { isFinerThanMilliseconds } from '../operators/sort/wholeMilliseconds.ts'
import { groupsBeyond } from '../spill/expected.ts'
import type { Ranges } from './rangedInputs.ts'
import { leftOfRanges, RangedPieces } from './rangedPieces.ts'

/** A pipeline whose hidden columns are compared, and the rows of the operator's input that these are. */
interface Compared {
  readonly plan: Pipeline
  readonly rows: (hidden: readonly Column[]) => ExecBatch
}

/** Whether equal rows are one row to the operator: to a distinct, and to groups of which different values are counted. */
export function countsOnce(operator: WideOperator): boolean {
  if (operator.kind === 'DistinctExec') return true
  const { aggregates } = operator.kind === 'HashAggregateExec' ? operator : { aggregates: [] }
  return aggregates.length > 0 && aggregates.every(({ kind }) => kind === 'countDistinct')
}

/** The first of equal rows of each range; undefined where no column program makes the rows, kernels do not compare them, or memory is short. */
export async function onceInRanges(input: PhysicalPlan, operator: WideOperator, ranges: Ranges): Promise<Dataset | undefined> {
  const compared = comparedRows(input, operator)
  if (compared === undefined) return undefined
  const { plan, rows } = compared
  const { state } = ranges
  const { arena } = state.options
  const pieces = new RangedPieces(state, { kind: 'DistinctExec' })
  const values = valuesOf(operator)
  const charge = new Charge(arena, operator.kind)
  let names: KeyNames = { of: 1, hidden: 1 }
  try {
    return await leftOfRanges({ input, plan, pieces }, ranges, {
      how: { codedKeys: true },
      add: async ({ batch, coded = [] }) => {
        const shown = shownKeys(batch, values)
        const [once] = (shown && (await pieces.leaves([shown.batch]))) ?? []
        if (shown === undefined || once === undefined) return refused('kernels do not compare its rows')
        names = shown.names
        const added = withKeys(once, coded)
        pieces.add([added])
        return added
      },
      after: (seen, progress) => {
        charge.raiseTo(pieces.bytes)
        if (seen !== undefined && state.tries > 0)
          state.checkRoom(groupsBeyond({ ...seen, ...progress }, pieces.bytes, arena.budgetBytes), operator.kind)
      },
      rows: (piece) => rows(hiddenAgain(piece, names, values)),
    })
  } finally {
    charge.end()
  }
}

/** The hidden columns whose values are counted, beside the key. */
function valuesOf(operator: WideOperator): readonly number[] {
  if (operator.kind !== 'HashAggregateExec') return []
  return [...new Set(operator.aggregates.flatMap(({ column }) => (column === undefined ? [] : [column + 1])))]
}

/** The pipeline whose hidden columns are compared: of a distinct the element, of groups the key and the values; undefined where no program makes them. */
function comparedRows(input: PhysicalPlan, operator: WideOperator): Compared | undefined {
  if (input.kind !== 'PipelineExec') return undefined
  if (operator.kind !== 'DistinctExec') {
    const plan = withoutPartialStep(input)
    return plan.kind === 'PipelineExec' ? { plan, rows: hiddenBatch } : undefined
  }
  const { element } = input.input
  const empty = { kind: 'table', element, length: 0, columns: emptyBatch(element).columns } as const
  const stored = { kind: 'StoredExec', name: 'no rows', element, keys: input.input.keys, storage: empty } as const
  const groups = elementGroups({ operator, inputs: [{ ...input, input: stored }] })
  if (groups === undefined || beforeDistinct(input) === undefined) return undefined
  const { elements } = groups
  return {
    plan: { ...groups.input, input: input.input },
    rows: ([whole]) => {
      const column = whole as Column // the element
      const { type, children } = column
      if (type.kind !== 'struct' || children === undefined) return elements(rowBatch(['key'], [column], column.length))
      return elements(
        rowBatch(
          type.fields.map(({ name }) => name),
          children,
          column.length,
        ),
      )
    },
  }
}

/** How hidden columns were shown as columns. */
interface KeyNames {
  /** The names of the key's fields; left out where the key is a value. */
  readonly names?: readonly string[]
  /** The number of columns that the key has. */
  readonly of: number
  /** The number of hidden columns. */
  readonly hidden: number
}

/** The first hidden column, field by field, and those of `values` as columns of a row, as a distinct compares them; undefined where kernels do not. */
function shownKeys(
  { hidden = [], length }: ExecBatch,
  values: readonly number[],
): { readonly batch: ExecBatch; readonly names: KeyNames } | undefined {
  const [key] = hidden
  const others = values.flatMap((at) => hidden[at] ?? [])
  if (key === undefined || [key, ...others].some(({ type }) => isFinerThanMilliseconds(type))) return undefined
  const { type, children } = key
  const parts = type.kind === 'struct' && children !== undefined ? children : [key]
  const names = type.kind === 'struct' ? { names: type.fields.map(({ name }) => name) } : {}
  const columns = [...parts, ...others]
  const batch = rowBatch(
    columns.map((_, i) => `${i}`),
    columns,
    length,
  )
  return { batch, names: { ...names, of: parts.length, hidden: hidden.length } }
}

/** The hidden columns of shown ones; those that are not compared have no values. */
function hiddenAgain({ columns, length }: ExecBatch, { names, of, hidden }: KeyNames, values: readonly number[]): readonly Column[] {
  const key = names === undefined ? (columns[0] as Column) : structColumn(names, columns.slice(0, of), length)
  const others = Array.from({ length: hidden - 1 }, (_, i): Column => {
    const at = values.indexOf(i + 1)
    return at < 0 ? { type: { kind: 'null' }, length } : (columns[of + at] as Column) // one for each of the values
  })
  return [key, ...others]
}
