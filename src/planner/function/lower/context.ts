/**
 * The context of a lowering: a row lambda of a transformation, or the body of a loop with its env.
 */

import type { DType, ElementType, Field } from '../../../core/data/schema.ts'
import type { RowLambdaContext } from '../../../core/engine.ts'
import type { HandleKind } from './value.ts'

/** The meaning of a name in `env`, or of a captured value, in a loop. */
export type EnvValue =
  | {
      readonly kind: HandleKind
      /** The element type of arrays and buffers, where it is known: i64 elements are bigints. */
      readonly dtype?: DType | 'object' | 'row' | 'unknown'
      /** The columns of an array of rows. */
      readonly fields?: readonly Field[]
      /** Whether the keys of an array of rows are row numbers, and every row exists. */
      readonly isTable?: boolean
      /** The number of axes of an array, or of the one behind a buffer. */
      readonly rank?: number
      /** The extents of an array, where they are known. */
      readonly shape?: readonly number[]
      /** Whether the elements are true and false, never null: memory has 1 and 0 for them. */
      readonly isBoolean?: boolean
      /** The program's own handle: a captured one that is in env as well goes by its name there. */
      readonly handle?: object
    }
  /** A primitive, a typed array, a plain array or object, or a function. */
  | { readonly kind: 'constant'; readonly value: unknown }

export interface LoopContext {
  readonly kind: 'loop'
  /** The element type; absent for a range, whose body is (key, env). */
  readonly overElement?: ElementType
  readonly isRange: boolean
  readonly rank?: number
  /** The extents of the iteration space, where they are known. */
  readonly extents?: readonly (number | undefined)[]
  readonly env: Readonly<Record<string, EnvValue>>
  /** Returns the meaning of a captured value that is a handle of the session. */
  readonly classify?: (value: unknown) => EnvValue | undefined
  /** Returns the array of a table's column; the same for the same column. Absent where rows are read as they are. */
  readonly columnArray?: (table: object, column: string, part?: ColumnPart) => object
  /** Whether captured collections may be searched for texts of the iterated row, as questions that `rowQuestions.ts` answers. */
  readonly findsTexts?: true
  /** Returns the array for one that the body makes; the same for the same number, type and shape. Absent where none can be made. */
  readonly localArray?: (local: LocalArray) => object
}

/** A part of a column of numbers with nulls, as kernels read it: whether an element is null, and its number, or 0. */
export type ColumnPart = 'isNull' | 'orZero'

/** An array that a loop's body makes for itself, for instance with `new Float64Array(n)`. */
export interface LocalArray {
  /** Number of the array among all that the body makes. */
  readonly number: number
  /** Source text of the expression that makes it. */
  readonly text: string
  readonly dtype: DType
  readonly shape: readonly number[]
}

export type RowContext = { readonly kind: 'row' } & RowLambdaContext

export type LowerContext = RowContext | LoopContext

/** The meaning of each argument of the function, by position. */
export type Argument =
  | { readonly kind: 'input'; readonly argument: number; readonly element: ElementType }
  | { readonly kind: 'key' }
  | { readonly kind: 'env' }
  | { readonly kind: 'nothing' }

export function argumentAt(context: LowerContext, position: number): Argument {
  if (context.kind === 'loop') {
    const shifted = context.isRange ? position + 1 : position
    if (shifted === 0) return { kind: 'input', argument: 0, element: context.overElement ?? { kind: 'unknown' } }
    return shifted === 1 ? { kind: 'key' } : shifted === 2 ? { kind: 'env' } : { kind: 'nothing' }
  }
  if (context.key?.argument === position) return { kind: 'key' }
  const element = context.inputs[position]
  return element === undefined ? { kind: 'nothing' } : { kind: 'input', argument: position, element }
}

export function rankOf(context: LowerContext): number | undefined {
  return context.kind === 'loop' ? context.rank : context.key?.rank
}

/** Returns the element type that an `Input` stands for. */
export function inputElement(context: LowerContext, argument: number): ElementType {
  if (context.kind === 'loop') return context.overElement ?? { kind: 'unknown' }
  return context.inputs[argument] ?? { kind: 'unknown' }
}
