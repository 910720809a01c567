/**
 * The values of expressions of the user's function while it is lowered: IR expressions, or things that leave
 * no trace in the IR: keys, views, handles, literals taken apart, functions about to be inlined.
 */
import type { Builtin, Expr, LibraryCall } from '../../../core/ir/functionIr.ts'
import type { Span } from '../../../core/span.ts'
import type { Activation } from '../source/activation.ts'
import type { Asking } from '../source/asked.ts'
import type { FunctionNode } from '../source/ast.ts'
import type { Unit } from '../unit.ts'

export type HandleKind = 'array' | 'buffer' | 'accumulator' | 'rng'
export type Origin = 'env' | 'capture'

export type Value =
  | { readonly kind: 'expr'; readonly expr: Expr }
  | { readonly kind: 'key' }
  | { readonly kind: 'env' }
  | { readonly kind: 'handle'; readonly of: HandleKind; readonly name: string }
  /** A row `A.row(...prefix)` of an array or a buffer; all or a part of an array that the body makes, which has `rank` axes. */
  | { readonly kind: 'view'; readonly array: string; readonly prefix: readonly Expr[]; readonly rank?: number }
  /** A part of such a row where it lies, as `subarray` gives it: its first element, and how many there are. */
  | {
      readonly kind: 'window'
      readonly view: { readonly kind: 'view'; readonly array: string; readonly prefix: readonly Expr[]; readonly rank?: number }
      readonly first: Expr
      readonly count: Expr
    }
  | { readonly kind: 'shape'; readonly array: string }
  /** A captured (or env) array or object, read at the time of lowering; `made`: a list that was made then of what is captured. */
  | Data
  /** A row of a captured list of lists, end to end in a table: start and length; `absent`: whether there is none, if not known. */
  | {
      readonly kind: 'tableRow'
      readonly table: Elements
      readonly start: Expr
      readonly length: Expr
      readonly name: string
      readonly absent?: Expr
      /** Whether it is a list of its own, which `slice` has made and nobody has named. */
      readonly isCopy?: true
    }
  /** An object of a captured list of objects with the same fields, which has a table for each field. */
  | {
      readonly kind: 'recordRow'
      readonly tables: ReadonlyMap<string, Elements>
      readonly row: Expr
      readonly name: string
      readonly absent?: Expr
    }
  /** A row of a table in env, whose columns are arrays; `isThere`: the key was checked to be inside the table. */
  | { readonly kind: 'elementRow'; readonly table: string; readonly row: Expr; readonly isThere?: true }
  /** A Date, captured or written out, as the milliseconds that operators make of it. */
  | { readonly kind: 'date'; readonly milliseconds: Expr; readonly name: string }
  /** A regular expression, captured or written out, without state between calls. */
  | { readonly kind: 'regex'; readonly pattern: string; readonly flags: string }
  | {
      readonly kind: 'closure'
      readonly unit: Unit
      readonly node: FunctionNode
      readonly name: string
      readonly self?: Value
      /** The names of the call in which it was made, and the method whose `this` an arrow function has. */
      readonly around?: Activation<Bound>
      readonly home?: Method
      readonly isLibrary?: true
      /** Whether it is the getter of a literal, which is called where the field is read. */
      readonly isGetter?: true
      /** What the program asks of the result where it is called. */
      readonly asking?: Asking
    }
  | { readonly kind: 'builtin'; readonly name: Builtin }
  /** A choice of functions: the first option whose test holds; tests do not change any more. */
  | {
      readonly kind: 'choice'
      readonly options: readonly { readonly test: Expr; readonly value: Value }[]
      readonly otherwise?: Value
      /** What holds where it is none of the options, if that is known: tests exclude each other. */
      readonly last?: Expr
      readonly name: string
    }
  /** A function of the library that row lambdas may call. */
  | { readonly kind: 'library'; readonly name: LibraryCall }
  /** Math, Number and other globals that hold functions, and global functions the IR does not know. */
  | { readonly kind: 'global'; readonly name: string; readonly value: unknown }
  | ({ readonly kind: 'tuple'; readonly items: readonly Value[] } & Literal)
  /** `prototype`: for an object of a class, where its methods come from. */
  | ({ readonly kind: 'record'; readonly fields: readonly RecordField[]; readonly prototype?: object } & Literal)
  | Stored
  /** A list of objects or arrays that a body makes, and one of its elements. */
  | { readonly kind: 'records'; readonly list: Records }
  | Item
  | MaybeItem
  | Held
  /** A refused value, which causes no further refusal. */
  | { readonly kind: 'refused' }

export interface Data {
  readonly kind: 'data'
  readonly value: object
  readonly name: string
  readonly origin: Origin
  readonly made?: true
}

/** Captured values that lie end to end: a table of primitives, or the list of the lists or objects that they are. */
export type Elements = string | Data

/** The meaning of a local name of the user's function. */
export type Bound =
  | { readonly kind: 'local'; readonly name: string }
  | { readonly kind: 'value'; readonly value: Value }
  /** A variable for views of one array, one after another: `rows` are locals with its present rows. */
  | { readonly kind: 'view'; readonly view: Value & { readonly kind: 'view' }; readonly rows: readonly string[] }
  /** A variable for lists or objects of one kind that places hold: `local` has the number of its present one. */
  | { readonly kind: 'held'; readonly of: number; readonly local: string; readonly mayBeAbsent?: true }

/** A running or finished method: `this` in it, and in arrow functions that were made there. */
export interface Method {
  readonly self?: Value
  /** Whether a constructor has ended: `this` may have changed since. */
  isOver?: boolean
}

export interface RecordField {
  readonly name: string
  readonly value: Value
}

/** An object or array of which no part is assigned. */
interface Literal {
  readonly site?: Site
  /** Whether a variable stands for it. */
  readonly isNamed?: boolean
  /** The list of which it is a copy of an element. */
  readonly elementOf?: Records
}

/** The place of a literal, by which a second try lowers it in another way. */
export interface Site {
  readonly unit: Unit
  readonly start: number
  /** Number of loops around it. */
  readonly loops?: number
}

/** An object or array whose parts are locals, and may be assigned; see `stored.ts`. */
export interface Stored {
  readonly kind: 'stored'
  readonly storage: Storage
  readonly owner: Owner
  /** Whether it is a part of another object. */
  readonly isPart: boolean
  /** The literal that makes it, if one does. */
  readonly site?: Site
}

/** The storage of the parts of an object or array. */
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
  /** An object that may be absent: `there` is a local that says whether it is not (`optionals.ts`). */
  | { readonly kind: 'optional'; readonly there: string; readonly absent: null | undefined; readonly of: Storage }

/** A list of objects that a body makes: arrays of one length, one for each part (`records.ts`). */
export interface Records {
  readonly name: string
  readonly site: Site
  readonly arrays: readonly string[]
  readonly parts: Leaves
  /** The kind of the lists whose elements these are, of lists that places hold. */
  readonly held?: number
  /** Whether places are given other elements, as by `pop`. */
  readonly isMoved: boolean
  /** Whether an element was given to it that may have a name. */
  hasShared: boolean
  /** Whether the parts of an element were copied. */
  hasCopies: boolean
  /** Whether a part of an element was assigned. */
  isChanged: boolean
}

/** The parts of elements, in the end numbers of arrays. */
export type Leaves =
  /** `list`: the kind of the lists or objects whose numbers the array has. */
  | { readonly kind: 'leaf'; readonly number: number; readonly list?: number; readonly mayBeAbsent?: true }
  | { readonly kind: 'items'; readonly items: readonly Leaves[] }
  | {
      readonly kind: 'fields'
      readonly fields: readonly { readonly name: string; readonly leaves: Leaves }[]
      readonly prototype?: object
    }

/** An element of such a list, or an object in it. */
export interface Item {
  readonly kind: 'item'
  readonly list: Records
  readonly place: Expr
  readonly parts: Leaves
}

/** An element of such a list under a subscript that may be outside of it; `there`: the local that says whether it is inside. */
export interface MaybeItem {
  readonly kind: 'maybeItem'
  readonly item: Item
  readonly there: string
}

/**
 * A list that places hold, by its number among those of its kind (`heldLists.ts`), or such an object (`heldObjects.ts`). Where it may be
 * absent, the number is -1 for undefined and -2 for null.
 */
export interface Held {
  readonly kind: 'held'
  readonly of: number
  readonly number: Expr
  readonly mayBeAbsent?: true
}

/** The owner of a storage, and what has happened to it that another name could notice. */
export interface Owner {
  readonly name: string
  readonly span: Span
  /** Whether it is a variable that is assigned again, not one object. */
  readonly isVariable: boolean
  /** Whether it is the result of a function that was written out. */
  readonly isResult: boolean
  /** Whether a variable stands for it. */
  isNamed: boolean
  /** The literal that makes it, if one does. */
  readonly site: Site | undefined
  /** The list of which it has been given an element. */
  elementOf?: Records
  /** The time at which the variable was last given another object. */
  assigned?: number
  /** The place of the variable's declaration, of one that is assigned again. */
  declared?: Site
  /** The loops in which it is made. */
  readonly loops: readonly number[]
  /** `changed` is the time (`now()`) at which a part was last assigned; `hasChangedScalars`: a part that is no object was assigned. */
  hasChangedScalars: boolean
  changed: number | undefined
  /** The time at which it was first copied; undefined before. */
  copied: number | undefined
  /** Whether a copy is made in a loop whose iterations share the object. */
  isCopiedAgain: boolean
  /** Whether the variable was given an object that has another name as well. */
  isShared: boolean
  /** Whether a variable stands for a part of it. */
  hasNamedParts: boolean
  /** Whether a part that is an object was replaced by another. */
  hasReplacedParts: boolean
}

export const REFUSED: Value = { kind: 'refused' }

export function exprValue(expr: Expr): Value {
  return { kind: 'expr', expr }
}

/** Returns an object's function with the object as its `this`; an arrow function keeps its own. */
export function withThis(f: Value & { readonly kind: 'closure' }, object: Value): Value {
  return f.node.type === 'ArrowFunctionExpression' ? f : { ...f, self: object }
}
