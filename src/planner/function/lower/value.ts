/**
 * What an expression of the user's function is while it is lowered: an IR expression, or one of the things that leave
 * no trace in the IR: keys, views, handles, literals taken apart, functions about to be inlined.
 */
import type { Builtin, Expr, LibraryCall } from '../../../core/ir/functionIr.ts'
import type { Span } from '../../../core/span.ts'
import type { Activation } from '../source/activation.ts'
import type { FunctionNode } from '../source/ast.ts'
import type { Unit } from '../unit.ts'

export type HandleKind = 'array' | 'buffer' | 'accumulator' | 'rng'
export type Origin = 'env' | 'capture'

export type Value =
  | { readonly kind: 'expr'; readonly expr: Expr }
  | { readonly kind: 'key' }
  | { readonly kind: 'env' }
  | { readonly kind: 'handle'; readonly of: HandleKind; readonly name: string }
  /** `A.row(...prefix)` of an array or a buffer; of an array that the body makes, which has `rank` axes, all or a part of it. */
  | { readonly kind: 'view'; readonly array: string; readonly prefix: readonly Expr[]; readonly rank?: number }
  | { readonly kind: 'shape'; readonly array: string }
  /** A captured (or env) array or object, read at the time of lowering; `made`: a list that was made then of what is captured. */
  | { readonly kind: 'data'; readonly value: object; readonly name: string; readonly origin: Origin; readonly made?: true }
  /** A row of a captured list of lists, which a table has end to end: where it begins, and how many elements it has; `absent`: whether there is none, where that is not known. */
  | {
      readonly kind: 'tableRow'
      readonly table: string
      readonly start: Expr
      readonly length: Expr
      readonly name: string
      readonly absent?: Expr
    }
  /** An object of a captured list of objects with the same fields, of each of which there is a table. */
  | {
      readonly kind: 'recordRow'
      readonly tables: ReadonlyMap<string, string>
      readonly row: Expr
      readonly name: string
      readonly absent?: Expr
    }
  /** A row of a table in env, whose columns are arrays; `isThere`: a key outside of the table has failed before. */
  | { readonly kind: 'elementRow'; readonly table: string; readonly row: Expr; readonly isThere?: true }
  /** A Date, captured or written out, by the number that operators make of it; it can be nothing else. */
  | { readonly kind: 'date'; readonly milliseconds: Expr; readonly name: string }
  /** A regular expression, captured or written out, that keeps no place between calls. */
  | { readonly kind: 'regex'; readonly pattern: string; readonly flags: string }
  | {
      readonly kind: 'closure'
      readonly unit: Unit
      readonly node: FunctionNode
      readonly name: string
      readonly self?: Value
      /** The call that it was made in, and the method whose `this` it has, where it is an arrow function. */
      readonly around?: Activation<Bound>
      readonly home?: Method
      readonly isLibrary?: true
    }
  | { readonly kind: 'builtin'; readonly name: Builtin }
  /** One of several functions: the first whose test, which does not change any more, holds. */
  | {
      readonly kind: 'choice'
      readonly options: readonly { readonly test: Expr; readonly value: Value }[]
      readonly otherwise?: Value
      readonly name: string
    }
  /** A function of the library that functions of rows may call. */
  | { readonly kind: 'library'; readonly name: LibraryCall }
  /** Math, Number and other globals that hold functions, and global functions the IR does not know. */
  | { readonly kind: 'global'; readonly name: string; readonly value: unknown }
  | ({ readonly kind: 'tuple'; readonly items: readonly Value[] } & Literal)
  /** `prototype`: of an object of a class, what it has its methods from. */
  | ({ readonly kind: 'record'; readonly fields: readonly RecordField[]; readonly prototype?: object } & Literal)
  | Stored
  /** Already refused: nothing more is said about it. */
  | { readonly kind: 'refused' }

/** What a local name of the user's function stands for. */
export type Bound = { readonly kind: 'local'; readonly name: string } | { readonly kind: 'value'; readonly value: Value }

/** A method that runs, or has run: what `this` is in it, and in arrow functions that were made there. */
export interface Method {
  readonly self?: Value
  /** A constructor that has come to its end: `this` may have changed since. */
  isOver?: boolean
}

export interface RecordField {
  readonly name: string
  readonly value: Value
}

/** What is known of an object or array that no part is assigned of. */
interface Literal {
  readonly site?: Site
  /** Whether a name stands for it. */
  readonly isNamed?: boolean
}

/** Where a literal is written: a second try lowers it in another way. */
export interface Site {
  readonly unit: Unit
  readonly start: number
  /** How many loops are around it. */
  readonly loops?: number
}

/** An object or array whose parts are locals, and may be assigned; see `stored.ts`. */
export interface Stored {
  readonly kind: 'stored'
  readonly storage: Storage
  readonly owner: Owner
  /** Whether it lies in another one. */
  readonly isPart: boolean
  /** Where it is written as a literal. */
  readonly site?: Site
}

/** Where the parts of an object or array are kept. */
export type Storage =
  | { readonly kind: 'scalar'; readonly local: string }
  | {
      readonly kind: 'fields'
      readonly fields: readonly { readonly name: string; readonly storage: Storage }[]
      readonly prototype?: object
    }
  | { readonly kind: 'items'; readonly items: readonly Storage[] }
  /** A part that is never replaced: another object, a row view, a function. */
  | { readonly kind: 'fixed'; readonly value: Value }

/** Whose storage it is, and what has happened to it that another name could notice. */
export interface Owner {
  readonly name: string
  readonly span: Span
  /** Whether it belongs to a variable that is assigned again, and not to one object. */
  readonly isVariable: boolean
  /** Whether it is what a function that was written out returns. */
  readonly isResult: boolean
  /** Whether a name stands for it. */
  isNamed: boolean
  /** The loops it is made in. */
  readonly loops: readonly number[]
  /** When a part was last assigned, and whether one that is no object was. */
  hasChangedScalars: boolean
  changed: number | undefined
  /** When it was first copied. */
  copied: number | undefined
  /** Whether it is copied in a loop that goes on with the same object. */
  isCopiedAgain: boolean
  /** Whether the variable was given an object that has another name as well. */
  isShared: boolean
  /** Whether a name stands for a part of it. */
  hasNamedParts: boolean
  /** Whether a part that is an object was replaced by another. */
  hasReplacedParts: boolean
}

export const REFUSED: Value = { kind: 'refused' }

export function exprValue(expr: Expr): Value {
  return { kind: 'expr', expr }
}
