/**
 * Which wide operators can do with less memory than their inputs take, and how: their rows are spilled in parts, the operator
 * runs over one part after another, and what comes of it is what it would be over all, in the order that it would have.
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
import { isKnown } from '../../../core/plan/elements.ts'
import type { Directions } from '../../../core/plan/logicalPlan.ts'
import type { PhysicalPlan, WideOperator } from '../../../planner/physical/physicalPlan.ts'
import type { AsofOperator } from '../asof/matches.ts'
import { FRAMED } from '../windows/carried.ts'
import type { WindowOperator } from '../windows/windowColumns.ts'
import type { NumberPlace } from './rowNumbers.ts'
import type { RowNumbers, SpillKey } from './spillTask.ts'

/** An input of an operator whose parts are told apart by hash. */
export interface ExternalSide {
  readonly key: SpillKey
  readonly numbered?: NumberPlace
}

export type External =
  | {
      readonly kind: 'sorted'
      /** What sorts a part; the operator itself where it is absent. */
      readonly operator?: WideOperator
      /** The key that parts are ranges of. */
      readonly key: SpillKey
      readonly descending: Directions
      readonly limit?: number
      /** Where rows are numbered, since what is wrong with two of them is told by their numbers. */
      readonly numbered?: NumberPlace
      /** Rows of one key are in order as they are. */
      readonly keepsEqual: boolean
      /** Two rows of one key are an error. */
      readonly hasEachKeyOnce: boolean
    }
  /** One partition, whose rows are computed in pieces, in the order of the operator where it has one. */
  | { readonly kind: 'windowed'; readonly operator: WindowOperator }
  /** Rows of two sides that are matched by an order alone. */
  | { readonly kind: 'ranged'; readonly operator: AsofOperator }
  | {
      readonly kind: 'hashed'
      readonly sides: readonly ExternalSide[]
      /** The operator over numbered rows, of whose first side so many hidden columns are known. */
      readonly operator: (hidden: number) => WideOperator
      /** Where the results have their numbers. */
      readonly place: RowNumbers
      /** Results are elements of the first side, which are single values. */
      readonly scalar: boolean
      /** Pieces of the first side can be joined one after another. */
      readonly inPieces: boolean
    }

/** Names that no column has. */
const FIRST = '\0first'
const SECOND = '\0second'

export const HIDDEN: SpillKey = { from: 'hidden' }
export const FIRST_COLUMN: NumberPlace = { in: 'columns', name: FIRST }
export const BY_FIRST: RowNumbers = { in: 'columns', names: [FIRST] }

/** Undefined for what has to be whole. */
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
      return {
        ...{ kind: 'hashed', sides: [{ key: HIDDEN, numbered: { in: 'hidden' } }], place: BY_FIRST },
        ...{ scalar: false, inPieces: false },
        operator: (hidden) => ({ ...operator, aggregates: [...operator.aggregates, first(hidden)] }),
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

/** What rows are told of those behind them is where they are; what comes of a frame that ends with the partition is known of no piece. */
export function isComputedInPieces({ calls, frame }: WindowOperator): boolean {
  return frame.from === null || frame.to !== null || !calls.some(({ kind }) => FRAMED.has(kind))
}

function joined(operator: Extract<WideOperator, { kind: 'HashJoinExec' }>, left: PhysicalPlan): External | undefined {
  const { on, how, columns } = operator
  const keepsElements = how === 'semi' || how === 'anti'
  // numbers stand beside single values in another way than beside columns
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
    // of what only running tells, the types of all pieces decide together
    inPieces: !keepsRight && on !== undefined && isKnown(left.element),
  }
}
