/**
 * Plans how a wide operator runs with less memory than its inputs take: rows are spilled in parts, the operator runs over one part
 * after another, and the result is the same, in the same order, as in memory.
 *
 *     SortExec, IndexExec        parts are ranges of the key; their results one after another
 *     AsofJoinExec without one   parts are ranges of the order, each with the right rows next to it
 *     WindowExec without a key   the rows are sorted so, and computed piece after piece; results put in the order of the numbers
 *     HashAggregateExec,         parts by the hash of the key; rows are numbered before, and results put in the order
 *     DistinctExec, HashJoinExec,    of the numbers (of a group, that of its first row; of joined rows, that of the left one)
 *     WindowExec by a key, AsofJoinExec
 *
 * Equal keys are in one part, in the order that they had, so that each result has the bits that it has in memory.
 */
import type { Column } from '../../../core/data/column.ts'
import { isKnown } from '../../../core/plan/elements.ts'
import type { Directions } from '../../../core/plan/logicalPlan.ts'
import type { PhysicalPlan, WideOperator } from '../../../planner/physical/physicalPlan.ts'
import type { AsofOperator } from '../asof/matches.ts'
import { FRAMED } from '../windows/carried.ts'
import type { WindowOperator } from '../windows/windowColumns.ts'
import type { NumberPlace } from './rowNumbers.ts'
import type { RowNumbers, SpillKey } from './spillTask.ts'

/** An input that is cut into parts by the hash of its key. */
export interface ExternalSide {
  readonly key: SpillKey
  readonly numbered?: NumberPlace
}

export type External =
  | {
      readonly kind: 'sorted'
      /** The operator that sorts a part; absent where that is the plan's own. */
      readonly operator?: WideOperator
      /** The key whose ranges are the parts. */
      readonly key: SpillKey
      readonly descending: Directions
      readonly limit?: number
      /** The place of rows' numbers, by which an error names two rows; absent where no error does. */
      readonly numbered?: NumberPlace
      /** Whether rows of one key stay in the order they come in, so that a part of one key needs no work. */
      readonly keepsEqual: boolean
      /** Whether two rows of one key are an error. */
      readonly hasEachKeyOnce: boolean
    }
  /** A window that is one partition: its rows are sorted, if it has an order, and computed in pieces. */
  | { readonly kind: 'windowed'; readonly operator: WindowOperator }
  /** An as-of join by an order alone: parts are ranges of the order. */
  | { readonly kind: 'ranged'; readonly operator: AsofOperator }
  | {
      readonly kind: 'hashed'
      readonly sides: readonly ExternalSide[]
      /** The operator over numbered rows; `hidden` are the hidden columns of its first side, without rows (`shapeOfAll`). */
      readonly operator: (hidden: readonly Column[]) => WideOperator
      /** The place of the results' numbers. */
      readonly place: RowNumbers
      /** Whether results are elements of the first side, and these are single values. */
      readonly scalar: boolean
      /** Whether pieces of the first side can be joined one after another with a second side in memory. */
      readonly inPieces: boolean
    }

/** Names of the columns of row numbers, which no user's column has. */
const FIRST = '\0first'
const SECOND = '\0second'

export const HIDDEN: SpillKey = { from: 'hidden' }
export const FIRST_COLUMN: NumberPlace = { in: 'columns', name: FIRST }
export const BY_FIRST: RowNumbers = { in: 'columns', names: [FIRST] }

/** How an operator runs in parts; undefined for one that needs its inputs whole, or runs on the caller's thread. */
export function externalOf({ operator, inputs: [first], where }: Extract<PhysicalPlan, { kind: 'WideExec' }>): External | undefined {
  if (where === 'caller') return undefined // parts are worked on by workers
  switch (operator.kind) {
    case 'SortExec': {
      const { descending, limit } = operator
      const how = { key: HIDDEN, descending, keepsEqual: true, hasEachKeyOnce: false }
      return { kind: 'sorted', ...how, ...(limit === undefined ? {} : { limit }) }
    }
    case 'IndexExec': {
      const how = { key: { from: 'axes' }, descending: false, numbered: { in: 'hidden' }, keepsEqual: false } as const
      return { kind: 'sorted', ...how, hasEachKeyOnce: operator.combine === undefined }
    }
    case 'HashAggregateExec': {
      if (operator.whole === true) return undefined
      // the key and the number are no arguments of aggregates
      const first = (hidden: number) => ({ name: FIRST, kind: 'min' as const, column: hidden - 2 })
      const keysOf = ([key]: readonly Column[]) => (key?.validity === undefined ? {} : ({ hasNullKeys: true } as const))
      return {
        ...{ kind: 'hashed', sides: [{ key: HIDDEN, numbered: { in: 'hidden' } }], place: BY_FIRST },
        ...{ scalar: false, inPieces: false },
        operator: (hidden) => ({ ...operator, ...keysOf(hidden), aggregates: [...operator.aggregates, first(hidden.length)] }),
      }
    }
    case 'DistinctExec':
      return {
        ...{ kind: 'hashed', sides: [{ key: { from: 'element' }, numbered: { in: 'hidden' } }], place: { in: 'hidden' } },
        ...{ operator: () => operator, scalar: false, inPieces: false },
      }
    case 'HashJoinExec':
      return operator.how === 'cross' || first === undefined ? undefined : joined(operator, first)
    case 'WindowExec':
    case 'AsofJoinExec': {
      if (!operator.by && operator.kind === 'AsofJoinExec') return { kind: 'ranged', operator }
      if (!operator.by && operator.kind === 'WindowExec') return isComputedInPieces(operator) ? { kind: 'windowed', operator } : undefined
      const others = operator.kind === 'AsofJoinExec' ? [{ key: HIDDEN }] : []
      return {
        ...{ kind: 'hashed', sides: [{ key: HIDDEN, numbered: FIRST_COLUMN }, ...others], place: BY_FIRST },
        ...{ operator: () => operator, scalar: false, inPieces: false },
      }
    }
    case 'GroupReduceExec':
    case 'GroupMapExec':
    case 'DrawExec':
    case 'ShuffleKeysExec':
    case 'RepartitionExec':
      return undefined
  }
}

/** Whether a window can be computed in pieces: not with frames that end with the partition and begin elsewhere, as no state is carried backward. */
export function isComputedInPieces({ calls, frame }: WindowOperator): boolean {
  return frame.from === null || frame.to !== null || !calls.some(({ kind }) => FRAMED.has(kind))
}

function joined(operator: Extract<WideOperator, { kind: 'HashJoinExec' }>, left: PhysicalPlan): External | undefined {
  const { on, how, columns } = operator
  const keepsElements = how === 'semi' || how === 'anti'
  // numbers are added to single values in another way than to rows
  if (keepsElements && !isKnown(left.element)) return undefined
  const key: SpillKey = on === undefined ? HIDDEN : { from: 'column', name: on }
  const keepsRight = how === 'right' || how === 'full'
  const names = keepsRight ? [FIRST, SECOND] : [FIRST]
  const numbers = names.map((name, from) => ({ from: from === 0 ? 0 : 1, name, as: name }) as const)
  return {
    kind: 'hashed',
    sides: [{ key, numbered: FIRST_COLUMN }, keepsRight ? { key, numbered: { in: 'columns', name: SECOND } } : { key }],
    operator: () => (columns === undefined ? operator : { ...operator, columns: [...columns, ...numbers] }),
    place: { in: 'columns', names },
    scalar: keepsElements && left.element.kind === 'scalar',
    // types that only running tells depend on all pieces together
    inPieces: !keepsRight && on !== undefined && isKnown(left.element),
  }
}
