/**
 * What an expression of the user's function is while it is lowered: an IR expression, or one of the things that leave
 * no trace in the IR: keys, views, handles, literals taken apart, functions about to be inlined.
 */
import type { Builtin, Expr } from '../../core/functionIr.ts'
import type { FunctionNode } from './ast.ts'
import type { Unit } from './unit.ts'

export type HandleKind = 'array' | 'buffer' | 'accumulator' | 'rng'
export type Origin = 'env' | 'capture'

export type Value =
  | { readonly kind: 'expr'; readonly expr: Expr }
  | { readonly kind: 'key' }
  | { readonly kind: 'env' }
  | { readonly kind: 'handle'; readonly of: HandleKind; readonly name: string }
  /** `A.row(...prefix)` of an array or a buffer. */
  | { readonly kind: 'view'; readonly array: string; readonly prefix: readonly Expr[] }
  | { readonly kind: 'shape'; readonly array: string }
  /** A captured (or env) array or object, read at the time of lowering. */
  | { readonly kind: 'data'; readonly value: object; readonly name: string; readonly origin: Origin }
  /** A Date, captured or written out, by the number that operators make of it; it can be nothing else. */
  | { readonly kind: 'date'; readonly milliseconds: Expr; readonly name: string }
  /** A regular expression, captured or written out, that keeps no place between calls. */
  | { readonly kind: 'regex'; readonly pattern: string; readonly flags: string }
  | { readonly kind: 'closure'; readonly unit: Unit; readonly node: FunctionNode; readonly name: string }
  | { readonly kind: 'builtin'; readonly name: Builtin }
  /** Math, Number and other globals that hold functions, and global functions the IR does not know. */
  | { readonly kind: 'global'; readonly name: string; readonly value: unknown }
  | { readonly kind: 'tuple'; readonly items: readonly Value[] }
  | { readonly kind: 'record'; readonly fields: readonly RecordField[] }
  /** Already refused: nothing more is said about it. */
  | { readonly kind: 'refused' }

export interface RecordField {
  readonly name: string
  readonly value: Value
}

export const REFUSED: Value = { kind: 'refused' }

export function exprValue(expr: Expr): Value {
  return { kind: 'expr', expr }
}
