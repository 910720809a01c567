/**
 * The one small IR of user functions: row lambdas and loop bodies alike. This page is its whole grammar.
 *
 * Semantics are JavaScript's: operators, conversions and evaluation order (left to right) are those of the source,
 * whatever the types turn out to be. Expressions have no effects, except that a `Draw` advances its iteration's
 * counter. Every node that can fail or be reported carries the span of the source it came from.
 *
 * Locals are unique within a function after inlining (`k`, `k$1`, …), so no scope can shadow another. Helper
 * functions are inlined: their early returns become `Break`s out of a `Labeled` block.
 *
 *     (stars, [u, m], { W, H }) => { const w = W.row(u); W.set(u, 0, w[0] + stars) }
 *
 *     Write W [Key 0, Literal 0] = Binary + (Read W [Key 0, Literal 0], Input 0)
 *
 * Row views leave no trace: `w[k]`, `w.get(k)` with `w = W.row(u)` is a read of W at [u, k].
 */

import type { Refusal, Span } from '../span.ts'
import type { Callee, ListQuestion, Method } from './builtins.ts'

export {
  BUILTINS,
  type Builtin,
  type Callee,
  isBuiltin,
  isLibraryCall,
  type LibraryCall,
  type ListQuestion,
  METHODS,
  type Method,
} from './builtins.ts'

export type Primitive = number | string | boolean | bigint | null | undefined

export type UnaryOperator = '-' | '+' | '!' | '~' | 'typeof'
export type BinaryOperator =
  | '+'
  | '-'
  | '*'
  | '/'
  | '%'
  | '**'
  | '&'
  | '|'
  | '^'
  | '<<'
  | '>>'
  | '>>>'
  | '=='
  | '!='
  | '==='
  | '!=='
  | '<'
  | '<='
  | '>'
  | '>='

export type Expr =
  /** `isTime`: the milliseconds of a Date, here and of a parameter. */
  | { readonly kind: 'Literal'; readonly value: Primitive; readonly isTime?: true; readonly span: Span }
  | { readonly kind: 'Local'; readonly name: string; readonly span: Span }
  /** A captured or `env` primitive: an argument of the kernel, so that another value needs no new compilation. */
  | { readonly kind: 'Parameter'; readonly name: string; readonly isTime?: true; readonly span: Span }
  /** An argument of the function that is an element: 0 for the value of `(value, key)`, 0 and 1 for `(a, b)`. */
  | { readonly kind: 'Input'; readonly argument: number; readonly span: Span }
  /** A column of a row, or a field of a struct value. Absent fields and fields of null follow JavaScript. */
  | { readonly kind: 'Field'; readonly of: Expr; readonly name: string; readonly optional: boolean; readonly span: Span }
  /** One component of the key: an iteration's loop index. */
  | { readonly kind: 'Key'; readonly axis: number; readonly span: Span }
  | { readonly kind: 'Unary'; readonly operator: UnaryOperator; readonly operand: Expr; readonly span: Span }
  | { readonly kind: 'Binary'; readonly operator: BinaryOperator; readonly left: Expr; readonly right: Expr; readonly span: Span }
  | { readonly kind: 'Logical'; readonly operator: '&&' | '||' | '??'; readonly left: Expr; readonly right: Expr; readonly span: Span }
  | { readonly kind: 'Conditional'; readonly test: Expr; readonly then: Expr; readonly else: Expr; readonly span: Span }
  | { readonly kind: 'Call'; readonly callee: Callee; readonly args: readonly Expr[]; readonly span: Span }
  /** `length` has no args and is printed as a property; see `methodText.ts` for those of a split text. `optional` is `?.`. */
  | {
      readonly kind: 'MethodCall'
      readonly method: Method
      readonly object: Expr
      readonly args: readonly Expr[]
      readonly optional: boolean
      readonly span: Span
    }
  /** What a list is asked, as its length or `list.some(f)`; `listQuestions.ts` has the text of each. */
  | {
      readonly kind: 'OfList'
      readonly asks: ListQuestion
      readonly list: Expr
      readonly args: readonly Expr[]
      readonly each?: OfElement
      readonly span: Span
    }
  /** `/pattern/flags.test(of)`: never with the flags g and y, with which a test begins where the last one ended. */
  | { readonly kind: 'Matches'; readonly pattern: string; readonly flags: string; readonly of: Expr; readonly span: Span }
  /** An element of an array in `env`. A key outside the array is an error of the run. */
  | { readonly kind: 'Read'; readonly array: string; readonly subscripts: readonly Expr[]; readonly span: Span }
  | { readonly kind: 'Has'; readonly array: string; readonly subscripts: readonly Expr[]; readonly span: Span }
  /** `A.shape[axis]`; a row view's length is the extent of the last axis. */
  | { readonly kind: 'Extent'; readonly array: string; readonly axis: number; readonly span: Span }
  /** An element of a captured typed array or plain array of primitives; undefined outside, as in JavaScript. */
  | { readonly kind: 'Lookup'; readonly table: string; readonly index: Expr; readonly span: Span }
  | { readonly kind: 'LookupLength'; readonly table: string; readonly span: Span }
  /**
   * A lookup in a captured collection: the element of the table `values` at the key's place in the table `keys`, undefined where
   * the key is absent; without `values`, whether it is there. Keys are compared as a Map compares them, and made texts first
   * where the collection is an object.
   */
  | {
      readonly kind: 'Find'
      readonly of: Collection
      readonly keys: string
      readonly values?: string
      readonly key: Expr
      readonly span: Span
    }
  /** A random number of generator `rng`: the n-th draw of the iteration, whatever the schedule. */
  | {
      readonly kind: 'Draw'
      readonly rng: string
      readonly method: 'uniform' | 'normal' | 'int'
      readonly args: readonly Expr[]
      readonly span: Span
    }
  /** Array and object literals stand only in returned values. Spreads of rows are expanded to their columns. */
  | { readonly kind: 'ArrayLiteral'; readonly items: readonly Expr[]; readonly span: Span }
  | { readonly kind: 'ObjectLiteral'; readonly fields: readonly { readonly name: string; readonly value: Expr }[]; readonly span: Span }

/** The function of an element that a list is asked with: the locals for its arguments, which exist in it alone, and what it returns. */
export interface OfElement {
  readonly item: string
  readonly index: string
  /** The value so far, in `reduce`. */
  readonly sofar?: string
  readonly value: Expr
}

/**
 * The kind of a collection. `keyed`: a Map, a Set, or a list that is asked whether it includes something. `object`: a plain object, which
 * also has inherited properties; `bare`: one without a prototype; `own`: an object that is asked for its own properties.
 */
export type Collection = 'keyed' | 'object' | 'bare' | 'own'

export type Stmt =
  /** Declares a local, undefined when there is no `init`. */
  | { readonly kind: 'Let'; readonly local: string; readonly init?: Expr; readonly span: Span }
  | { readonly kind: 'Assign'; readonly local: string; readonly value: Expr; readonly span: Span }
  /** `A.set(...subscripts, value)`, `row[k] = value`; `row[k] += e` is a Write of a Binary of a Read. */
  | { readonly kind: 'Write'; readonly array: string; readonly subscripts: readonly Expr[]; readonly value: Expr; readonly span: Span }
  /** `A.add(...subscripts, delta)` of an array or an update buffer. */
  | { readonly kind: 'Add'; readonly array: string; readonly subscripts: readonly Expr[]; readonly value: Expr; readonly span: Span }
  /** `accumulator.add(value)`. */
  | { readonly kind: 'Accumulate'; readonly accumulator: string; readonly value: Expr; readonly span: Span }
  | { readonly kind: 'If'; readonly test: Expr; readonly then: readonly Stmt[]; readonly else: readonly Stmt[]; readonly span: Span }
  /**
   * `for (init; test; update) body`, and `while` without init and update; no test is `true`. `doWhile` tests after the
   * body. `counted` is set when it is `for (let i = from; i < to; i += step)` with `i` and what `to` reads never
   * assigned in the body, step a positive integer literal and `to` exclusive (or step negative, `i > to`).
   */
  | {
      readonly kind: 'For'
      readonly label?: string
      readonly init: readonly Stmt[]
      readonly test?: Expr
      readonly update: readonly Stmt[]
      readonly body: readonly Stmt[]
      readonly doWhile: boolean
      readonly counted?: CountedLoop
      readonly span: Span
    }
  /** A block that `Break label` leaves. */
  | { readonly kind: 'Labeled'; readonly label: string; readonly body: readonly Stmt[]; readonly span: Span }
  | { readonly kind: 'Break'; readonly label?: string; readonly span: Span }
  | { readonly kind: 'Continue'; readonly label?: string; readonly span: Span }
  /** The end of the function; in a loop body that of the iteration, writing the iterated element when there is a value. */
  | { readonly kind: 'Return'; readonly value?: Expr; readonly span: Span }
  /**
   * `throw new E(message)`; `error` is the constructor's name, one of Error, RangeError, TypeError. `isLimit`: JavaScript would go on here, or
   * fail in its own way; only what the body was compiled to cannot.
   */
  | {
      readonly kind: 'Throw'
      readonly error: 'Error' | 'RangeError' | 'TypeError'
      readonly message?: Expr
      readonly isLimit?: true
      readonly span: Span
    }
  /** Evaluates an expression only because it may fail. */
  | { readonly kind: 'Evaluate'; readonly value: Expr; readonly span: Span }

export interface CountedLoop {
  readonly local: string
  readonly from: Expr
  readonly to: Expr
  readonly step: number
}

/** A regular expression as it is written. */
export function regexText({ pattern, flags }: { readonly pattern: string; readonly flags: string }): string {
  return `/${pattern}/${flags}`
}

/** A function that could be lowered. */
export interface FunctionIr {
  /** The source of the function, for error messages and `explain()`. */
  readonly name: string
  readonly span: Span
  /** The number of key axes that the function destructures or indexes at most; 0 when it never looks at the key. */
  readonly keyRank: number
  readonly body: readonly Stmt[]
  /** Values of `Parameter`s, by name. */
  readonly parameters: readonly { readonly name: string; readonly value: Primitive; readonly origin: 'env' | 'capture' }[]
  /** Constant tables read by `Lookup` and `Find`, by name. `made`: built from a captured collection when the function was lowered. */
  readonly tables: readonly {
    readonly name: string
    readonly value: ArrayLike<Primitive>
    readonly origin: 'env' | 'capture'
    readonly made?: true
  }[]
  /** Names in `env` (or captured) that the body uses: arrays, buffers, accumulators, generators. */
  readonly uses: readonly {
    readonly name: string
    readonly kind: 'array' | 'buffer' | 'accumulator' | 'rng'
    readonly origin: 'env' | 'capture'
    /** Of an array of the body: the locals that are kept there while others have their names. What one of them is assigned from there, it was before. */
    readonly keeps?: readonly string[]
  }[]
}

/**
 * Any user function as the library keeps it: lowered where the IR can say it, and in any case runnable as JavaScript.
 * Plain data but for `original`.
 */
export interface UserFunction {
  readonly original: (...args: never[]) => unknown
  /** One line for plans and messages: the normalized source, shortened. */
  readonly text: string
  readonly span: Span
  /** Present when the whole function could be lowered; otherwise the refusals say why not. */
  readonly ir?: FunctionIr
  readonly refusals: readonly Refusal[]
  /** The printed function for other threads, when it was refused; absent when a capture cannot be cloned or written. */
  readonly portable?: PortableFunction
  /** The reason why `portable` is absent. */
  readonly unportable?: Refusal
  /** Of a function that was refused: the fields that it names of its row, or of the rows of its group, where it sees nothing else of them. */
  readonly fields?: readonly string[]
  /** Whether it runs as it stands and may share variables with another such function of its plan: then one sees all rows before the other sees any. */
  readonly sharesState?: boolean
}
/**
 * A function printed from its normalized tree. `source` is the body of a factory: `new Function('captures', 'library', source)`
 * called with `captures` and the functions of `time/library.ts` returns the function. Everything in `captures` is structured-cloneable.
 */
export interface PortableFunction {
  readonly source: string
  readonly captures: Readonly<Record<string, unknown>>
}

/** Calls `visit` on the expression and everything below it, parents first. */
export function visitExpr(expr: Expr, visit: (expr: Expr) => void): void {
  visit(expr)
  for (const child of childrenOf(expr)) visitExpr(child, visit)
}

export function childrenOf(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case 'Literal':
    case 'Local':
    case 'Parameter':
    case 'Input':
    case 'Key':
    case 'Extent':
    case 'LookupLength':
      return []
    case 'Field':
    case 'Matches':
      return [expr.of]
    case 'Unary':
      return [expr.operand]
    case 'Binary':
    case 'Logical':
      return [expr.left, expr.right]
    case 'Conditional':
      return [expr.test, expr.then, expr.else]
    case 'Call':
    case 'Draw':
      return expr.args
    case 'MethodCall':
      return [expr.object, ...expr.args]
    case 'OfList':
      return [expr.list, ...expr.args, ...(expr.each === undefined ? [] : [expr.each.value])]
    case 'Read':
    case 'Has':
      return expr.subscripts
    case 'Lookup':
      return [expr.index]
    case 'Find':
      return [expr.key]
    case 'ArrayLiteral':
      return expr.items
    case 'ObjectLiteral':
      return expr.fields.map((field) => field.value)
  }
}

/** The expressions a statement evaluates itself, in order, without those of nested statements. */
export function expressionsOf(stmt: Stmt): readonly Expr[] {
  switch (stmt.kind) {
    case 'Let':
      return stmt.init === undefined ? [] : [stmt.init]
    case 'Assign':
    case 'Accumulate':
    case 'Evaluate':
      return [stmt.value]
    case 'Write':
    case 'Add':
      return [...stmt.subscripts, stmt.value]
    case 'If':
      return [stmt.test]
    case 'For':
      return stmt.test === undefined ? [] : [stmt.test]
    case 'Return':
      return stmt.value === undefined ? [] : [stmt.value]
    case 'Throw':
      return stmt.message === undefined ? [] : [stmt.message]
    case 'Labeled':
    case 'Break':
    case 'Continue':
      return []
  }
}

/** The statements nested directly in a statement, in the order they run. */
export function nestedOf(stmt: Stmt): readonly Stmt[] {
  switch (stmt.kind) {
    case 'If':
      return [...stmt.then, ...stmt.else]
    case 'For':
      return [...stmt.init, ...stmt.body, ...stmt.update]
    case 'Labeled':
      return stmt.body
    case 'Let':
    case 'Assign':
    case 'Write':
    case 'Add':
    case 'Accumulate':
    case 'Break':
    case 'Continue':
    case 'Return':
    case 'Throw':
    case 'Evaluate':
      return []
  }
}

/** Calls `visit` on every statement, outer ones first, in source order. */
export function visitStmts(stmts: readonly Stmt[], visit: (stmt: Stmt) => void): void {
  for (const stmt of stmts) {
    visit(stmt)
    visitStmts(nestedOf(stmt), visit)
  }
}
