/**
 * What a function is lowered for: a row lambda of a transformation, or the body of a loop with its env.
 */

import type { DType, ElementType, Field } from '../../../core/data/schema.ts'
import type { RowLambdaContext } from '../../../core/engine.ts'
import type { HandleKind } from './value.ts'

/** What a name in `env`, or a captured value, is to a loop. */
export type EnvValue =
  | {
      readonly kind: HandleKind
      /** For arrays and buffers, where it is known: i64 elements are bigint. */
      readonly dtype?: DType | 'object' | 'row' | 'unknown'
      /** Of an array of rows: their columns. */
      readonly fields?: readonly Field[]
      /** Whether they are numbered, and all there. */
      readonly isTable?: boolean
      /** Its extents, where they are known. */
      readonly shape?: readonly number[]
      /** Whether its elements are true and false, never null: memory has 1 and 0 for them. */
      readonly isBoolean?: boolean
      /** What it is to the program: a captured one that is in env as well has its name there. */
      readonly handle?: object
    }
  /** A primitive, a typed array, a plain array or object, or a function. */
  | { readonly kind: 'constant'; readonly value: unknown }

export interface LoopContext {
  readonly kind: 'loop'
  /** Absent for a range, whose body is (key, env). */
  readonly overElement?: ElementType
  readonly isRange: boolean
  readonly rank?: number
  /** How far its axes go, where that is known. */
  readonly extents?: readonly (number | undefined)[]
  readonly env: Readonly<Record<string, EnvValue>>
  /** What a captured value is, when it is a handle of the session. */
  readonly classify?: (value: unknown) => EnvValue | undefined
  /** The array of a table's column; the same for the same column. Absent where rows are read as they are. */
  readonly columnArray?: (table: object, column: string) => object
  /** Whether texts of the row that is iterated over may be looked for in captured collections: a question, which `rowQuestions.ts` answers. */
  readonly findsTexts?: true
  /** An array for one that the body makes; the same for the same number, type and shape. Absent where there are none. */
  readonly localArray?: (local: LocalArray) => object
}

/** An array that a loop's body makes for itself. */
export interface LocalArray {
  /** Among all that it makes. */
  readonly number: number
  /** As the source has it. */
  readonly text: string
  readonly dtype: DType
  readonly shape: readonly number[]
}

export type RowContext = { readonly kind: 'row' } & RowLambdaContext

export type LowerContext = RowContext | LoopContext

/** What each argument of the function is, by position. */
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

/** The element an `Input` stands for. */
export function inputElement(context: LowerContext, argument: number): ElementType {
  if (context.kind === 'loop') return context.overElement ?? { kind: 'unknown' }
  return context.inputs[argument] ?? { kind: 'unknown' }
}
