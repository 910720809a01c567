/**
 * The row types of joins and groups: which columns a result has, and which of them may be null.
 *
 *     how             left columns     right columns
 *     inner, cross    as they are      as they are
 *     left            as they are      or null
 *     right           or null          as they are
 *     full            or null          or null
 *     semi, anti      as they are      none
 *
 * A right column whose name is taken has the suffix; a key column that both have by name is there once.
 */

import type { AsofDirection, JoinHow } from '../plan/logicalPlan.ts'
import type { DType } from './schema.ts'

/** The key of a join as two functions, one of each side's row; rows match where the values are equal. */
export interface JoinFunctions<T, U> {
  readonly left: (row: T) => unknown
  readonly right: (row: U) => unknown
}
/** The name of a column that both sides have. */
export type SharedColumn<T, U> = keyof T & keyof U & string
/** A column that both sides have, a list of such, or a function of each side's row. */
export type JoinOn<T, U> = SharedColumn<T, U> | readonly SharedColumn<T, U>[] | JoinFunctions<T, U>
/** The columns that rows of both sides have. */
export type CommonColumns<T, U> = { readonly [Column in keyof T & keyof U]: T[Column] | U[Column] }
/** The order's value on both sides: a column that both have, a function for both, or one for each. */
export type AsofOn<T, U> =
  | (keyof T & keyof U & string)
  | ((row: CommonColumns<T, U>) => AsofValue)
  | { readonly left: (row: T) => AsofValue; readonly right: (row: U) => AsofValue }
/** The options of `joinAsof`. */
export interface AsofOptions<T, U> {
  readonly on: AsofOn<T, U>
  /** The values that have to be equal in both rows. */
  readonly by?: JoinOn<T, U> | ((row: CommonColumns<T, U>) => unknown)
  readonly direction?: AsofDirection
  readonly tolerance?: number | bigint
  readonly suffix?: string
}
/** The row of `left.joinAsof(right, options)`. */
export type AsofJoined<T, U, O> = Joined<
  T,
  U,
  (O extends { readonly on: infer On } ? SharedBy<On> : never) | (O extends { readonly by: infer By } ? SharedBy<By> : never),
  'left',
  O extends { readonly suffix: infer S extends string } ? S : '_right'
>
type AsofValue = number | bigint | string | Date | null | undefined
/** The names of the key columns that are in the result once. */
export type SharedBy<On> = On extends string ? On : On extends readonly (infer Column)[] ? Column : never

declare const INFERRED: unique symbol
/** The default of `R` in `join<U, R>`: the row is inferred. */
export interface InferredRow {
  readonly [INFERRED]: true
}
/** `Said` where `join<U, R>` was given its row type, and never where that is inferred. */
export type IfTold<R, Said> = [R] extends [InferredRow] ? never : Said

/** One object type in place of an intersection, which editors show more clearly. */
export type Flat<Row> = { [Column in keyof Row]: Row[Column] }

/** The row type of elements: those that are no rows are a column `value`. */
type RowOf<T> = T extends object ? (T extends Date | readonly unknown[] | ArrayBufferView ? { value: T } : T) : { value: T }

/** The row of `left.join(right, on, { how, suffix })`, where both share the key column `Key`, which is never for functions. */
export type Joined<T, U, Key, How extends JoinHow, Suffix extends string> = How extends 'semi' | 'anti'
  ? T
  : How extends 'cross'
    ? Sides<RowOf<T>, RowOf<U>, never, How, Suffix>
    : Sides<RowOf<T>, RowOf<U>, Key, How, Suffix>

type Sides<T, U, Key, How extends JoinHow, Suffix extends string> = T extends unknown
  ? U extends unknown
    ? string extends keyof T // columns that only the data tell may take any name
      ? { [Column in string]: T[keyof T] | U[keyof U] | NullIn<How, 'left' | 'right' | 'full'> }
      : Flat<
          {
            [Column in keyof T]: Column extends Key ? T[Column] | KeyOfRight<U, Column, How> : T[Column] | NullIn<How, 'right' | 'full'>
          } & {
            [Column in keyof U as Column extends Key ? never : NameOf<Column, T, Suffix>]: U[Column] | NullIn<How, 'left' | 'full'>
          }
        >
    : never
  : never

type NullIn<How extends JoinHow, Unmatched extends JoinHow> = How extends Unmatched ? null : never
type NameOf<Column, T, Suffix extends string> = Column extends keyof T & string ? `${Column}${Suffix}` : Column
/** The key column of a right row without a match holds the right key. */
type KeyOfRight<U, Column, How extends JoinHow> = How extends 'right' | 'full' ? (Column extends keyof U ? U[Column] : never) : never

/** The columns of a group's key: the fields of an object key, otherwise `key`. */
export type KeyColumns<G> = [G] extends [object]
  ? [G] extends [Date | readonly unknown[] | ArrayBufferView]
    ? { key: G }
    : { [Column in keyof G]-?: Stored<G[Column]> }
  : { key: Stored<G> }

/** The type of a value once a column holds it: undefined becomes null. */
export type Stored<V> = V extends undefined ? null : V

/** The sum of numbers is a number, that of bigints a bigint; nulls are skipped. */
export type SumOf<V> = [V] extends [number | null | undefined] ? number : [V] extends [bigint | null | undefined] ? bigint : number | bigint

/** The type of the least or the largest value, where there is one. */
export type ExtremeOf<V> = [V] extends [number | null | undefined]
  ? number
  : [V] extends [bigint | null | undefined]
    ? bigint
    : NonNullable<V>

/** The JavaScript type of a number cast to a dtype. */
export type CastTo<D extends DType> = D extends 'i64' ? bigint : D extends 'bool' ? boolean : number

/** Rows with columns of the same names, of any type. */
export type SameColumns<T> = T extends object ? { readonly [Column in keyof T]: unknown } : unknown

/** The row with columns under the names that `N` gives them. */
export type Renamed<T, N> = T extends unknown
  ? { [Column in keyof T as Column extends keyof N ? (N[Column] extends string ? N[Column] : Column) : Column]: T[Column] }
  : never

/** The row after `fillNull`: filled from neighbours a column may still have nulls. */
export type Filled<T, V> = T extends unknown
  ? {
      [Column in keyof T]: Column extends keyof V
        ? V[Column] extends 'previous' | 'next' | undefined
          ? T[Column]
          : Exclude<T[Column], null | undefined>
        : T[Column]
    }
  : never

/** Rows of two tables with the columns of both, null where a row's own table has none of the name. */
export type AllColumns<T, U> = Flat<
  { [Column in keyof T]: Column extends keyof U ? T[Column] | U[Column] : T[Column] | null } & {
    [Column in Exclude<keyof U, keyof T>]: U[Column] | null
  }
>

/** The options of `pivot`, beside `names`. */
export interface PivotOptions<R, C, A, V> {
  /** Columns that tell the rows of the result apart; none for one row. */
  readonly rows: R
  /** The column whose values name columns. */
  readonly columns: C
  /** The column that the cells are made of; `count` needs none. */
  readonly values?: V
  readonly agg: A
}
/** The type of a pivot's cell. */
export type PivotCell<T, V extends keyof T, A> = A extends 'count' | 'countDistinct'
  ? number
  : A extends 'sum'
    ? SumOf<T[V]> | null
    : A extends 'mean' | 'median' | 'variance' | 'stddev' | 'skew' | 'kurtosis'
      ? number | null
      : A extends 'any' | 'all'
        ? boolean | null
        : NonNullable<T[V]> | null
type Name<V> = V extends string | number | bigint | boolean | null | undefined ? `${V}` : never
/** The row of a pivot whose columns are named. */
export type Pivoted<T, R extends readonly (keyof T)[], N extends readonly unknown[], Cell> =
  // Names of a list made elsewhere (`string[]`) are any: the columns of `rows` would be lost among them.
  string extends Name<N[number]>
    ? PivotedByAll<T, R, Cell>
    : { readonly [Column in R[number] | Name<N[number]>]: Column extends R[number] ? T[Column] : Cell }
/** The row of a pivot whose columns only a run tells. */
export type PivotedByAll<T, R extends readonly (keyof T)[], Cell> = Pick<T, R[number]> & {
  readonly [column: string]: T[R[number]] | Cell
}
/** The row of `unpivot`. */
export type Unpivoted<T, P extends readonly (keyof T)[], C extends readonly (keyof T)[], N extends string, V extends string> = {
  readonly [Column in P[number] | N | V]: Column extends P[number] ? T[Column] : Column extends N ? C[number] : T[C[number]]
}
