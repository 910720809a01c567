/** The sides of an as-of join: the columns they are matched by, and left rows joined with columns of the right side. */
import type { Column } from '../../../core/data/column.ts'
import { convertColumn, unifyTypes } from '../../../core/data/columnConversions.ts'
import { type ColumnType, fieldsOf, typeText } from '../../../core/data/schema.ts'
import { PlanError } from '../../../core/errors.ts'
import type { ExecBatch } from '../operators/batches.ts'
import { asList, listType } from '../operators/hashing/tupleKeys.ts'
import { joined } from '../operators/join/hashJoin.ts'
import { inMilliseconds, millisecondType } from '../operators/sort/wholeMilliseconds.ts'
import type { AsofKeys } from './asofTask.ts'
import type { AsofOperator } from './matches.ts'

/**
 * The hidden columns of both sides, converted to their common type. PlanError where there is none. Keys that hold a null are null as a
 * whole already; a null within another key is an item that a shorter array lacks.
 */
export function keysOf(operator: AsofOperator, pieces: readonly ExecBatch[], whole: ExecBatch): AsofKeys {
  const names = operator.by ? ['by', 'on'] : ['on']
  const types = names.map((name, k) => {
    const ofLeft = pieces.map((batch) => millisecondType(keyOf(batch, k).type)).reduce((a, b) => unifyTypes(a, b, name), NULL)
    return commonType(operator, name, ofLeft, millisecondType(keyOf(whole, k).type))
  })
  const columns = (batch: ExecBatch): readonly Column[] =>
    types.map((type, k) => convertColumn(asList(inMilliseconds(keyOf(batch, k)), type), type))
  return { left: pieces.map(columns), right: columns(whole) }
}

const NULL: ColumnType = { kind: 'null' }

function keyOf({ hidden = [], length }: ExecBatch, k: number): Column {
  return hidden[k] ?? { type: NULL, length }
}

function commonType({ names }: AsofOperator, name: string, left: ColumnType, right: ColumnType): ColumnType {
  try {
    return unifyTypes(listType(left, right), listType(right, left), name)
  } catch {
    throw new PlanError(
      `Cannot join ${names[0]} and ${names[1]} as of those keys: the ${name} is ${typeText(left)} on the left, ${typeText(right)} on the right.\nConvert one side, for example with withColumns.`,
    )
  }
}

/** The indices of the right side's columns that are in the result. */
export function wantedColumns({ shared }: AsofOperator, whole: ExecBatch): readonly number[] {
  return fieldsOf(whole.element).flatMap(({ name }, i) => (shared.includes(name) ? [] : [i]))
}

/** A batch of the left side with the matched columns of the right. */
export function joinedWith(operator: AsofOperator, piece: ExecBatch, whole: ExecBatch, right: (i: number) => Column): ExecBatch {
  const { hidden: _, ...own } = piece
  const left = (i: number): Column => own.columns[i] as Column // one for each field
  return joined(operator, own, whole, { length: own.length, left, right, shared: left })
}
