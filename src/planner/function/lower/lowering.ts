/**
 * The state of one lowering, and the order of evaluation.
 *
 * IR expressions have no effects, JavaScript's do: an assignment or an inlined call inside an expression is emitted as
 * statements before it. What was evaluated earlier and could change, or fail, is then kept in a temporary, so that
 * everything still happens in the order of the source (`inOrder`).
 */

import type { AnyNode } from 'acorn'
import type { Expr, Stmt } from '../../../core/ir/functionIr.ts'
import type { Refusal, Span } from '../../../core/span.ts'
import { forbiddenCall, type Reason, refusalOf } from '../refusals.ts'
import type { FunctionNode } from '../source/ast.ts'
import { noteLocal } from '../surelyNumbers.ts'
import type { Unit } from '../unit.ts'
import { isPower, literal, withClamped } from './build.ts'
import { inputElement, type LowerContext } from './context.ts'
import { areFunctions, type Frame, holdsLiteral, type Shape, type Sites } from './loweringParts.ts'
import { type Given, LoweringState } from './loweringState.ts'
import { exprValue, type Method, REFUSED, type Site, type Value } from './value.ts'

/** Most nodes of a function once its calls are inlined; a larger one is refused. */
const LARGEST_BODY = 20_000
const CALL_WEIGHT = 10

export class Lowering extends LoweringState<Lowering> {
  #time = 0
  #loopsBegun = 0
  readonly #names = new Set<string>()
  #nodes = 0

  constructor(context: LowerContext, unit: Unit, given: Given<Lowering>) {
    super(context, unit, given)
    if (context.kind === 'loop') for (const name of Object.keys(context.env)) this.#names.add(name)
  }

  get frame(): Frame {
    const frame = this.frames.at(-1)
    if (frame === undefined) throw new Error('no function is being lowered')
    return frame
  }

  /** The running method, or the one in which the running arrow function was made. */
  get method(): Method | undefined {
    return this.frame.node.type === 'ArrowFunctionExpression' ? this.frame.home : this.frame
  }

  /** Makes the value of a function that is written here. */
  closure(node: FunctionNode, name: string): Value & { kind: 'closure' } {
    const home = node.type === 'ArrowFunctionExpression' ? this.method : undefined
    return { kind: 'closure', unit: this.unit, node, name, around: this.bound, ...(home === undefined ? {} : { home }) }
  }

  span(node: { readonly start: number; readonly end: number }): Span {
    return this.unit.spanOf(node)
  }

  emit(...statements: readonly Stmt[]): void {
    this.out.push(...(this.clamped.size === 0 ? statements : statements.map((one) => withClamped(one, this.clamped))))
    this.#nodes += statements.length
  }

  /** Runs `work`, which lowers what a loop repeats. */
  inLoop<T>(work: () => T): T {
    this.loops.push(this.#loopsBegun++)
    try {
      return work()
    } finally {
      this.loops.pop()
    }
  }

  /** Notes the trip count of the loop being lowered. */
  noteTurns(count: number | undefined): void {
    const loop = this.loops.at(-1)
    if (loop !== undefined && count !== undefined) this.trips.set(loop, count)
  }

  /** Returns a number that grows with each call, as places in the source do. */
  now(): number {
    return this.#time++
  }

  /** Returns the name of the literal about to be lowered, once. */
  takeName(otherwise: string): string {
    const name = this.nameHint ?? otherwise
    this.nameHint = undefined
    return name
  }

  isChanging({ unit, start }: Site): boolean {
    return this.changing.get(unit.f)?.has(start) === true
  }

  /** Whether a place is among those that earlier tries have found. */
  isAmong(found: Sites, { unit, start }: Site): boolean {
    return found.get(unit.f)?.has(start) === true
  }

  /** Whether the array that a literal or call makes is moved (`movedArrays.ts`). */
  isMoved({ unit, start }: Site): boolean {
    return this.moved.get(unit.f)?.has(start) === true
  }

  /** Whether places of the list that a literal or call makes are given other arrays. */
  isPlaced({ unit, start }: Site): boolean {
    return this.placed.get(unit.f)?.has(start) === true
  }

  /** Returns how many elements are pushed onto a literal; undefined for literals that are not pushed onto. */
  capacityOf({ unit, start }: Site): number | undefined {
    return this.growing.get(unit.f)?.get(start)
  }

  /** Returns the shape of the objects that a list is given; undefined for other lists. */
  recordsAt({ unit, start }: Site): Shape | undefined {
    return this.records.get(unit.f)?.get(start)
  }

  /** Whether places of a list of objects are given other elements. */
  itemsMove({ unit, start }: Site): boolean {
    return this.itemsMoved.get(unit.f)?.has(start) === true
  }

  isGuarded({ unit, start }: Site): boolean {
    return this.guarded.get(unit.f)?.has(start) === true
  }

  /** Whether a function calls itself, as far as earlier tries have found. */
  isRecursive({ unit, start }: Site): boolean {
    return this.recursive.get(unit.f)?.has(start) === true
  }

  /** Whether a function calls itself other than as its last action. */
  isDeep({ unit, start }: Site): boolean {
    return this.recursive.get(unit.f)?.get(start) === true
  }

  /** Returns how often this place runs per iteration of the loops around `outer`; undefined where a trip count is not known. */
  turnsInside(outer: number): number | undefined {
    return this.loops.slice(outer).reduce<number | undefined>((all, loop) => {
      const own = this.trips.get(loop)
      return all === undefined || own === undefined ? undefined : all * own
    }, 1)
  }

  /** Counts a call that is written out, since expressions alone can grow without any statement. */
  countCall(): void {
    this.#nodes += CALL_WEIGHT
  }

  get isTooLarge(): boolean {
    return this.#nodes >= LARGEST_BODY
  }

  /** Runs `work`, whose statements go to `list`. */
  collectInto<T>(list: Stmt[], work: () => T): T {
    const outer = this.out
    this.out = list
    try {
      return work()
    } finally {
      this.out = outer
    }
  }

  /** Runs `work` and returns what it emitted instead of emitting it. */
  collect(work: () => void): Stmt[] {
    const inner: Stmt[] = []
    this.collectInto(inner, work)
    return inner
  }

  refuse(code: Reason, node: { readonly start: number; readonly end: number }, name = '', what = ''): Value {
    return this.refuseWith(refusalOf(code, this.span(node), name, what))
  }

  refuseCall(name: string, node: AnyNode): Value {
    return this.refuseWith({ ...forbiddenCall(name), span: this.span(node) })
  }

  refuseWith(refusal: Refusal): Value {
    const same = this.refusals.some(
      (one) =>
        one.code === refusal.code &&
        one.message === refusal.message &&
        one.span?.line === refusal.span?.line &&
        one.span?.column === refusal.span?.column,
    )
    if (!same) this.refusals.push(refusal)
    return REFUSED
  }

  /** Makes sure that what a refused value is used for is not left out of the program: a reason that nobody gave is given here. */
  refusedBefore(node: AnyNode): Value {
    if (this.refusals.length === 0 && this.missing.length === 0 && !this.isTooLarge) this.refuse('object-as-value', node)
    return REFUSED
  }

  /** Returns a name that nothing else in the IR has: `k`, `k$1`, … */
  newName(wanted: string): string {
    let name = wanted
    for (let n = 1; this.#names.has(name); n++) name = `${wanted}$${n}`
    this.#names.add(name)
    return name
  }

  newLabel(wanted: string): string {
    return this.newName(wanted)
  }

  /** Keeps the present value of an expression in a new local. */
  temporary(expr: Expr, name = 'temp'): Expr {
    const local = this.newName(name)
    this.stableLocals.add(local)
    noteLocal(this, local, expr)
    this.emit({ kind: 'Let', local, init: expr, span: expr.span })
    return { kind: 'Local', name: local, span: expr.span }
  }

  /**
   * Whether an expression gives the same value wherever it is evaluated later, without failing, and is small enough to
   * be repeated: literals, keys, parameters, columns, constant locals, and arithmetic on those.
   */
  isStable(expr: Expr, budget = 3): boolean {
    if (this.heldPlaces.has(expr)) return true // whoever keeps it keeps the element, not the place
    switch (expr.kind) {
      case 'Literal':
        return typeof expr.value !== 'bigint' // arithmetic with a bigint may fail
      case 'Parameter':
      case 'Input':
      case 'Key':
      case 'Extent':
      case 'LookupLength':
        return true
      case 'Lookup':
        // captured tables stay as they are for a pass; a text that became a local would be no captured text any more
        return expr.index.kind === 'Literal' || (this.textTables.has(expr.table) && this.isStable(expr.index, budget))
      case 'Local':
        return this.stableLocals.has(expr.name)
      case 'Field':
        return expr.of.kind === 'Input' && inputElement(this.context, expr.of.argument).kind === 'row'
      case 'Unary':
        return budget > 0 && this.isStable(expr.operand, budget - 1)
      case 'Binary':
        return budget > 0 && !isPower(expr) && this.isStable(expr.left, budget - 1) && this.isStable(expr.right, budget - 1)
      case 'Logical':
      case 'Conditional':
      case 'Call':
      case 'MethodCall':
      case 'OfList':
      case 'Matches':
      case 'Read':
      case 'Has':
      case 'Find':
      case 'Draw':
      case 'ArrayLiteral':
      case 'ObjectLiteral':
        return false
    }
  }

  stabilized(expr: Expr, name?: string): Expr {
    return this.isStable(expr) ? expr : this.temporary(expr, name)
  }

  /** Returns the expression in a temporary. A captured text is kept by its place: that of a temporary could not be compared by codes. */
  private keptExpr(expr: Expr): Expr {
    const isText = this.context.kind === 'loop' && expr.kind === 'Lookup' && this.textsOf(expr) !== undefined
    return isText ? { ...expr, index: this.stabilized(expr.index) } : (this.verbs.keptMaybe(this, expr) ?? this.temporary(expr))
  }

  /** Returns the value with parts that cannot change any more. */
  stabilizedValue(value: Value): Value {
    switch (value.kind) {
      case 'expr':
        return this.isStable(value.expr) ? value : exprValue(this.keptExpr(value.expr))
      case 'tuple':
        return { ...value, items: value.items.map((item) => this.stabilizedValue(item)) }
      case 'record':
        return { ...value, fields: value.fields.map((field) => ({ ...field, value: this.stabilizedValue(field.value) })) }
      case 'stored':
        return this.verbs.kept(this, value)
      case 'elementRow':
        return this.verbs.keptRow(this, value)
      case 'view':
        return this.verbs.keptView(this, value)
      case 'item':
      case 'held':
        return this.verbs.keptItem(this, value)
      case 'key':
      case 'env':
      case 'handle':
      case 'shape':
      case 'data':
      case 'tableRow':
      case 'window':
      case 'recordRow':
      case 'date':
      case 'regex':
      case 'closure':
      case 'builtin':
      case 'choice':
      case 'library':
      case 'global':
      case 'records':
      case 'maybeItem':
      case 'refused':
        return value
    }
  }

  /** Evaluates one after another; where a later one emits statements, the earlier values are kept in front of them. */
  inOrder(work: readonly (() => Value)[]): Value[] {
    const values: Value[] = []
    for (const one of work) {
      const before = this.out.length
      const value = one()
      if (this.out.length > before && values.length > 0) {
        const emitted = this.out.splice(before)
        for (const [i, earlier] of values.entries()) values[i] = this.stabilizedValue(earlier)
        this.out.push(...emitted)
      }
      values.push(value)
    }
    return values
  }

  /** Returns the value as a scalar (number, string, boolean, …); anything else is refused and undefined. */
  scalar(value: Value, node: AnyNode): Expr {
    return this.scalarOrNothing(value, node) ?? literal(undefined, this.span(node))
  }

  /** Returns the value as a scalar, for an operator that makes a number of a Date; undefined where it is refused. */
  numberOrNothing(value: Value, node: AnyNode): Expr | undefined {
    return value.kind === 'date' ? value.milliseconds : this.scalarOrNothing(value, node)
  }

  scalarOrNothing(value: Value, node: AnyNode): Expr | undefined {
    switch (value.kind) {
      case 'expr':
        if (holdsLiteral(value.expr)) {
          this.refuse('object-as-value', node)
          return undefined
        }
        return value.expr
      case 'key':
        this.refuse('key-as-value', node)
        return undefined
      case 'env':
        this.refuse('env-as-value', node)
        return undefined
      case 'handle':
        this.refuse('handle-as-value', node, value.name)
        return undefined
      case 'view':
      case 'window':
        this.refuse('view-as-value', node)
        return undefined
      case 'shape':
        this.refuse('handle-as-value', node, `${value.array}.shape`)
        return undefined
      case 'data':
      case 'tableRow':
      case 'recordRow':
        this.refuse(value.kind === 'data' ? 'captured-object' : 'captured-part', node, value.name)
        return undefined
      case 'elementRow':
        this.refuse('row-as-value', node, value.table)
        return undefined
      case 'date':
        this.refuse('date-as-value', node, value.name)
        return undefined
      case 'regex':
        this.refuse('regex', node)
        return undefined
      case 'closure':
      case 'builtin':
      case 'choice':
      case 'library':
        this.refuse(value.kind === 'choice' && !areFunctions(value) ? 'objects-differ' : 'function-as-value', node)
        return undefined
      case 'global':
        this.refuseCall(value.name, node)
        return undefined
      case 'tuple':
      case 'record':
      case 'stored':
      case 'records':
      case 'item':
      case 'maybeItem':
      case 'held':
        this.refuse('object-as-value', node)
        return undefined
      case 'refused':
        this.refusedBefore(node)
        return undefined
    }
  }
}
