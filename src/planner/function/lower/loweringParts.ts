/** The parts of a lowering's state: frames, jump targets, checks that wait for types, and the verbs. */
import type { AnyNode, Expression, NewExpression, Pattern, Statement, YieldExpression } from 'acorn'
import type { ColumnType, Field } from '../../../core/data/schema.ts'
import type { Expr, Primitive, Stmt } from '../../../core/ir/functionIr.ts'
import type { Refusal, Span } from '../../../core/span.ts'
import type { Activation } from '../source/activation.ts'
import type { Asking } from '../source/asked.ts'
import type { FunctionNode } from '../source/ast.ts'
import type { Unit } from '../unit.ts'
import type { Bound, Held, Item, Method, Origin, Records, Site, Stored, Value } from './value.ts'

/** A statement that `break` or `continue` can leave. */
export interface Target {
  readonly kind: 'loop' | 'block'
  readonly sourceLabels: readonly string[]
  readonly label: string | undefined
  /** The block that `continue` leaves, if it is not the loop. */
  readonly continueLabel?: string
  /** Whether a `break` without a label leaves this target. */
  readonly plainBreak: boolean
  /** Whether the loop is fully unrolled, so that no loop is left in the IR. */
  readonly isWrittenOut?: boolean
}

/** A function being lowered: the outermost, or one written out where it is called. */
export interface Frame extends Method {
  readonly node: FunctionNode
  readonly unit: Unit
  /** The method in which an arrow function was made. */
  readonly home?: Method
  /** The names of the call in which the function was made. */
  readonly around?: Activation<Bound>
  /** Whether it is a function of the library, whose subscripts are inside their arrays. */
  readonly isLibrary?: true
  /** What the program asks of the result of the call, if it may be absent. */
  readonly asking?: Asking
  /** The replacement of its calls of itself; absent where it makes none. */
  readonly recursion?: Recursion
  /** The place where an inlined function leaves its result; absent for the outermost. */
  readonly result?: Result
  /** Of a generator that is gone through: what each of its values is given to. */
  readonly yields?: Yields
  readonly targets: Target[]
}

/** The loop that goes through a generator: `turn` lowers its body for one value, among the names around the loop. */
export interface Yields {
  readonly turn: (item: Value) => void
}

/** A call that is gone through: `take` is given the generator, if it is one that is called. */
export interface GoingThrough {
  readonly call: AnyNode
  readonly take: (closure: Value & { readonly kind: 'closure' }, args: readonly Value[]) => void
}

/** A function that calls itself, where it is written out. */
export interface Recursion {
  /** Label of the loop that a call continues. */
  readonly label: string
  readonly name: string
  /** The call that was replaced by the loop, and the function. */
  readonly node: AnyNode
  readonly f: FunctionNode
  /** Locals of the parameters that differ from call to call, and the values of the others; then the locals alone. */
  readonly parameters: readonly (string | Value)[]
  /** The kinds of the lists and objects whose numbers such locals have. */
  readonly heldIn: ReadonlyMap<string, number>
  readonly locals: readonly string[]
  readonly tails: ReadonlySet<AnyNode>
  /** The local with the number of calls under way, and that of the result. */
  readonly depth: string
  readonly result: string
  /** Whether something runs after a call, so that the calls under way lie on a stack. */
  readonly isDeep: boolean
  /** Whether each way through the function gives the result a value. */
  readonly isGiven: boolean
  /** The locals of what the calls give, by the labels of the blocks that give the parameters theirs. */
  readonly sites: Map<string, string>
}

export interface Result {
  readonly local: string
  readonly label: string
  readonly breaks: boolean
  /** The result's parts as locals, where the function returns an object. */
  stored: Stored | undefined
  /** Declarations of these locals, which stand before the function's statements. */
  readonly declarations: Stmt[]
  /** The kind of the lists that it gives, of a function that gives lists which places hold; its local has the number. */
  list?: number
  /** Whether it gives none, as an earlier try has found. */
  readonly mayBeAbsent?: true
  /** Whether some return gives a number, a text or nothing. */
  isScalar: boolean
  /** What an earlier try has found, where it gives an object or nothing. */
  readonly optional?: Optional & { readonly shape: Shape }
  readonly site: Site
}

/** The parts of an object: of a scalar an expression that is given to it, then an initial value of its type. */
export type Shape =
  | { readonly kind: 'scalar'; readonly of?: Expr; readonly init?: Primitive }
  | { readonly kind: 'items'; readonly items: readonly Shape[] }
  /** A list of a kind that places hold, or such an object. */
  | { readonly kind: 'list'; readonly of: number; readonly mayBeAbsent?: true }
  | { readonly kind: 'fields'; readonly fields: readonly { readonly name: string; readonly shape: Shape }[]; readonly prototype?: object }

/** What a variable, function or condition gives that is an object, or nothing. */
export interface Optional {
  readonly absents: ReadonlySet<null | undefined>
  readonly shape: Shape | undefined
}

/** Objects that may be absent, by the function in which their variable, function or condition is written, and its offset. */
export type Optionals = ReadonlyMap<unknown, ReadonlyMap<number, Optional>>

export interface FoundOptional {
  readonly site: Site
  readonly shape?: Shape | undefined
  readonly absent?: { readonly value: null | undefined }
}

/** Literals that this try lowers in another way: their offsets, by the function in which they are written. */
export type Sites = ReadonlyMap<unknown, ReadonlySet<number>>

/**
 * What a collection holds that is no number: texts as keys, texts or truth values as values, null or undefined among lists; `names`: it is an object whose names are
 * computed.
 */
export type KeyedAs = 'text keys' | 'text values' | 'truth values' | 'absent values' | 'names'

export type KeyedSites = ReadonlyMap<KeyedAs, Sites>

/** Most elements that are pushed onto literals, by the function in which they are written and their offset. */
export type Capacities = ReadonlyMap<unknown, ReadonlyMap<number, number>>

/** The array whose rows are the moved arrays of one type and shape (`movedArrays.ts`). */
export interface Bank {
  readonly array: string
  /** Number of rows for arrays that loops make, as an earlier try has found; rows of arrays made once follow. */
  readonly again: number
  isMadeAgain: boolean
  once: number
  /** Expressions that may have the number of a row: locals, and elements of lists of rows. */
  readonly holders: Expr[]
}

/** The memory of the lists of one kind that places hold (`heaps.ts`). */
export interface Heap {
  readonly kind: number
  /** The lists in messages. */
  readonly name: string
  readonly firsts: string
  readonly counts: string
  readonly rooms: string
  readonly mostElements: number
  /** The memory as the functions see it that make lists and let them grow. */
  readonly memory: Stored
  /** The arrays of elements. */
  readonly elements: Records
}

/** The arrays of the objects of one kind that places hold (`heldObjects.ts`). */
export interface Pool {
  /** The objects in messages. */
  readonly name: string
  /** The local with the number of objects made so far. */
  readonly used: string
  readonly most: number
  readonly elements: Records
}

/** Numbers of rows that moved arrays need, by type and shape: for those that loops make, and for those made once. */
export type Rows = ReadonlyMap<string, { readonly again: number; readonly once: number }>

/** The objects that lists are given, by the function in which the list is made, and its offset. */
export type RecordShapes = ReadonlyMap<unknown, ReadonlyMap<number, Shape>>

/** Functions that call themselves, by the function in which they are written and their offset; true where a call is not the last action. */
export type Recursive = ReadonlyMap<unknown, ReadonlyMap<number, boolean>>

/** The size of a list that grows: locals with the places of its first element, if that is ever taken, and behind its last. */
export interface ListSize {
  readonly first?: string
  readonly end: string
  /** Most elements that are put into it; infinite where only the run tells. */
  readonly room: number
  /** Most elements that its array holds. */
  readonly most: number
  /** The list in messages. */
  readonly name: string
}

export interface Missing {
  readonly name: string
  /** The table whose rows lack the column; absent where it is the iterated one. */
  readonly array?: { readonly name: string; readonly fields: readonly Field[] }
  readonly span: Span
}

/** A condition that is decided once the types of all locals are known. */
export interface Check {
  readonly expr: Expr
  readonly holds: (types: readonly ColumnType['kind'][] | undefined) => boolean
  readonly refusal: Refusal
  /** The place where the next try checks that the value is not null, if it may be null but is right otherwise. */
  readonly guard?: Site
  /** The collection that would hold texts or truth values, if the value is one. */
  readonly keyed?: { readonly site: Site; readonly of: 'keys' | 'values' }
  /** The local that `++` or `--` changes, where the check is whether it is a number. */
  readonly incremented?: string
}

/** Whether an expression gives an array or object literal, or a list of such, which can only be returned. */
export function holdsLiteral(expr: Expr): boolean {
  if (expr.kind === 'OfList') return expr.asks === 'map' && expr.each !== undefined && holdsLiteral(expr.each.value)
  if (expr.kind === 'Conditional') return holdsLiteral(expr.then) || holdsLiteral(expr.else)
  return expr.kind === 'ArrayLiteral' || expr.kind === 'ObjectLiteral'
}

/** The mutually recursive functions of lowering. `L` is the lowering itself (`lowering.ts`). */
export interface Verbs<L> {
  /** Lowers an expression to its value; its effects are emitted. */
  readonly value: (l: L, node: Expression) => Value
  /** Lowers an expression for its effects. */
  readonly effect: (l: L, node: Expression) => void
  readonly statements: (l: L, nodes: readonly Statement[]) => void
  /** Writes a function out where it is called. */
  readonly inline: (l: L, closure: Value & { kind: 'closure' }, args: readonly Value[], node: AnyNode) => Value
  readonly call: (l: L, node: Expression & { type: 'CallExpression' }) => Value
  readonly method: (l: L, object: Value, name: string, node: Expression & { type: 'CallExpression' }) => Value
  /** Gives the names of a pattern their values. */
  readonly bind: (l: L, pattern: Pattern, value: Value, mode: 'declare' | 'assign') => void
  readonly assignment: (l: L, node: Expression & { type: 'AssignmentExpression' }, wanted: { readonly value: boolean }) => Value
  readonly update: (l: L, node: Expression & { type: 'UpdateExpression' }, wanted: { readonly value: boolean }) => Value
  /** Returns the value of a member. */
  readonly member: (l: L, object: Value, name: Value | string, node: AnyNode) => Value
  /** Returns the value that goes on standing for an object whose parts are locals. */
  readonly kept: (l: L, value: Stored) => Value
  /** Returns the view with its present rows, which do not change any more. */
  readonly keptView: (l: L, view: Value & { kind: 'view' }) => Value
  /** Returns the value that goes on standing for an element of a list of objects, or a list that places hold. */
  readonly keptItem: (l: L, value: Item | Held) => Value
  /** Returns an element as a literal of its parts. */
  readonly itemParts: (l: L, value: Item, span: Span) => Value
  /** Returns a number or truth value that may be absent as it is now; undefined for other expressions. */
  readonly keptMaybe: (l: L, expr: Expr) => Expr | undefined
  /** Returns the row of a table after a check that it exists. */
  readonly keptRow: (l: L, value: Value & { kind: 'elementRow' }) => Value
  /** Lowers `yield` of a generator that is gone through; false in other functions. */
  readonly yielded: (l: L, node: YieldExpression) => boolean
  /** Writes a generator out, each of whose values `turn` is given. */
  readonly yielding: (
    l: L,
    closure: Value & { kind: 'closure' },
    args: readonly Value[],
    call: AnyNode,
    turn: (item: Value) => void,
  ) => void
  /** Makes an object of a class of the program; undefined where it is none, or cannot be written out. */
  readonly instance: (l: L, node: NewExpression) => Value | undefined
  /** Returns what an object inherits from its class under a name; undefined where that is nothing. */
  readonly inherited: (
    l: L,
    object: Value & { kind: 'record' | 'stored' | 'data' | 'held' },
    name: string,
    node: AnyNode,
  ) => Value | undefined
  /** Lowers `super.name`, whose `this` is given; undefined where it stands in no method of a class of the program. */
  readonly superMember: (l: L, self: Value | undefined, member: { readonly name: string; readonly node: AnyNode }) => Value | undefined
  /** Returns the setter of a name; undefined where there is none. */
  readonly setter: (
    l: L,
    object: Value & { kind: 'stored' | 'held' },
    name: string,
    node: AnyNode,
  ) => (Value & { kind: 'closure' }) | undefined
  /** Returns the number of a list or object that is put where those of a kind are; undefined where it is refused. */
  readonly heldNumber: (
    l: L,
    of: number,
    given: Value,
    where: { readonly node: AnyNode; readonly mayBeAbsent?: boolean },
  ) => Expr | undefined
  readonly fromOutside: (l: L, value: unknown, name: string, origin: Origin, node: AnyNode) => Value
}

/** Whether a choice is one of functions, not of objects. */
export function areFunctions({ options }: Value & { readonly kind: 'choice' }): boolean {
  return options.every(({ value }) => value.kind === 'closure' || value.kind === 'builtin' || value.kind === 'choice')
}
