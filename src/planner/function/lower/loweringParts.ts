/** What lowering keeps of frames, targets of jumps, checks that are made once types are known, and its verbs. */
import type { AnyNode, Expression, NewExpression, Pattern, Statement } from 'acorn'
import type { ColumnType, Field } from '../../../core/data/schema.ts'
import type { Expr, Stmt } from '../../../core/ir/functionIr.ts'
import type { Refusal, Span } from '../../../core/span.ts'
import type { Activation } from '../source/activation.ts'
import type { FunctionNode } from '../source/ast.ts'
import type { Unit } from '../unit.ts'
import type { Bound, Method, Origin, Stored, Value } from './value.ts'

/** Something that `break` or `continue` can leave. */
export interface Target {
  readonly kind: 'loop' | 'block'
  readonly sourceLabels: readonly string[]
  readonly label: string | undefined
  /** `continue` leaves this block instead. */
  readonly continueLabel?: string
  /** Whether a plain `break` means this one. */
  readonly plainBreak: boolean
  /** A loop of which no loop is left: its turns stand one after another. */
  readonly isWrittenOut?: boolean
}

/** One function being lowered: the outermost, or one written out where it is called. */
export interface Frame extends Method {
  readonly node: FunctionNode
  readonly unit: Unit
  /** The method that an arrow function was made in. */
  readonly home?: Method
  /** The call that the function was made in. */
  readonly around?: Activation<Bound>
  /** A function of the library, whose subscripts are inside. */
  readonly isLibrary?: true
  /** What it does where it calls itself. */
  readonly recursion?: Recursion
  /** Where an inlined function leaves its result; absent for the outermost. */
  readonly result?: Result
  readonly targets: Target[]
}

/** What the function that is being written out does where it calls itself. */
export interface Recursion {
  /** The loop that a call goes on with. */
  readonly label: string
  /** Locals of the parameters that differ from call to call, and values of the others. */
  readonly parameters: readonly (string | Value)[]
  readonly tails: ReadonlySet<AnyNode>
  /** A local: how many calls are under way. */
  readonly depth: string
  readonly stack: Stack | undefined
}

/** Locals and arrays of the calls under way. */
export interface Stack {
  readonly most: number
  /** How many results the call that runs has, and how many calls it has come to. */
  readonly have: string
  readonly seen: string
  readonly parameters: ReadonlyMap<string, string>
  readonly results: string
  readonly counts: string
}

/** What the calls of one function keep, one after another: when a call begins, no other of that function is under way. */
export interface StackArrays {
  readonly parameters: readonly string[]
  readonly results: string
  readonly counts: string
}

export interface Result {
  readonly local: string
  readonly label: string
  readonly breaks: boolean
  /** Locals for an object, where that is what it returns. */
  stored: Stored | undefined
  /** Their declarations, which stand before the function. */
  readonly declarations: Stmt[]
  /** Whether it returns a number, a text or nothing somewhere. */
  isScalar: boolean
}

/** Literals that are lowered in another way in this try, by the functions they are written in. */
export type Sites = ReadonlyMap<unknown, ReadonlySet<number>>

/** How many elements are pushed onto literals at most, by the functions they are written in and their places. */
export type Capacities = ReadonlyMap<unknown, ReadonlyMap<number, number>>

/** Functions that call themselves, by the functions they are written in and their places: whether some call is not the last thing. */
export type Recursive = ReadonlyMap<unknown, ReadonlyMap<number, boolean>>

export interface Missing {
  readonly name: string
  /** Whose rows do not have it, where they are not those that are iterated over. */
  readonly array?: { readonly name: string; readonly fields: readonly Field[] }
  readonly span: Span
}

/** Something to decide once the types of all locals are known. */
export interface Check {
  readonly expr: Expr
  readonly holds: (types: readonly ColumnType['kind'][] | undefined) => boolean
  readonly refusal: Refusal
  /** A local, where this is about whether it is a number that `++` or `--` changes. */
  readonly incremented?: string
}

/** Whether an expression gives an array or object that was written out, which can only be returned. */
export function holdsLiteral(expr: Expr): boolean {
  if (expr.kind === 'Conditional') return holdsLiteral(expr.then) || holdsLiteral(expr.else)
  return expr.kind === 'ArrayLiteral' || expr.kind === 'ObjectLiteral'
}

/** `L` is the lowering itself (`lowering.ts`). */
export interface Verbs<L> {
  /** What an expression gives; its effects are emitted. */
  readonly value: (l: L, node: Expression) => Value
  /** An expression for its effects. */
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
  /** What a name or a member means. */
  readonly member: (l: L, object: Value, name: Value | string, node: AnyNode) => Value
  /** What goes on standing for an object whose parts are locals. */
  readonly kept: (l: L, value: Stored) => Value
  /** The row of a table, which is there. */
  readonly keptRow: (l: L, value: Value & { kind: 'elementRow' }) => Value
  /** An object of a class of the program's; undefined for what is none, or is not written out. */
  readonly instance: (l: L, node: NewExpression) => Value | undefined
  /** What an object has of its class; undefined where that is nothing. */
  readonly inherited: (l: L, object: Value & { kind: 'record' | 'stored' }, name: string, node: AnyNode) => Value | undefined
  /** The setter of a name; undefined where there is none. */
  readonly setter: (l: L, object: Value & { kind: 'stored' }, name: string, node: AnyNode) => (Value & { kind: 'closure' }) | undefined
  readonly fromOutside: (l: L, value: unknown, name: string, origin: Origin, node: AnyNode) => Value
}
