/**
 * The row functions of a session's plans. A function is read when it is given to a transformation, and what it captures
 * again when an action is called: a plan is lazy, and so are the values its functions capture.
 *
 *     let low = 3
 *     const chain = table.filter((r) => r.a > low)     lowered, with low = 3
 *     low = 5
 *     await chain.count()                              lowered again, with low = 5
 *
 * Statement: what was derived from the function when the plan was made, its columns and their types, holds for the function
 * of every action; a value with which it would not is an error. What runs as a copy, or compiled, has the values of the
 * call, whatever becomes of them later; the user's own closure reads its variables as it runs.
 */

import type { ElementType } from '../../core/data/schema.ts'
import type { RowLambdaContext } from '../../core/engine.ts'
import { PlanError } from '../../core/errors.ts'
import type { UserFunction } from '../../core/ir/functionIr.ts'
import { needsCaller } from '../../core/ir/functionUse.ts'
import type { Moment } from '../../core/moment.ts'
import { elementText, sameElement } from '../../core/plan/elements.ts'
import { placeText, type Refusal } from '../../core/span.ts'
import { changedCapture, type Difference, type RowCaptures, rowCaptures } from './captures/rowCaptures.ts'
import { variablesBehind } from './captures/variablesBehind.ts'
import { type Changed, changedBeforeAction, changedPlatform } from './platform.ts'
import { changedReason } from './platformUse.ts'
import { refusalOf } from './refusals.ts'
import { type LoweredFunction, lowerFunction, returnedElement } from './userFunction.ts'

/** A function as it was last read. */
interface Known {
  readonly context: RowLambdaContext
  /** The element type that it returned when the plan was made. */
  readonly element: ElementType
  readonly lowered: LoweredFunction
  readonly now: UserFunction
  readonly captures: RowCaptures
}

/** Methods whose result has the same columns whatever the function returns. */
const KEEPING_COLUMNS: ReadonlySet<string> = new Set(['filter', 'sortBy', 'join', 'index', 'repartition', 'forEach'])

export class RowFunctions {
  readonly #known = new WeakMap<UserFunction, Known>()
  readonly #names = new WeakMap<UserFunction, string>()
  /** The variables that functions which run as they stand may change, from `variablesBehind`. */
  readonly #touched = new WeakMap<UserFunction, Touched>()
  #last = 0

  /** Lowers a function when the plan is made. */
  lower(f: UserFunction['original'], context: RowLambdaContext): UserFunction {
    const lowered = lowerFunction(f, { kind: 'row', ...context }, changedBeforeAction)
    const { fn } = lowered
    if (!needsCaller(fn)) this.#known.set(fn, read(lowered, context, returned(fn, context)))
    return fn
  }

  /** Begins an action with these functions; all must be asked for before anything else can run. */
  moment(functions: readonly UserFunction[]): Moment {
    const touched = this.#touchedBy(functions)
    const found = new Map<UserFunction, UserFunction>()
    let changed: { readonly platform: Changed | undefined } | undefined
    const now = (f: UserFunction): UserFunction => {
      let other = found.get(f)
      if (other === undefined) {
        const known = this.#known.get(f)
        if (known !== undefined) changed ??= { platform: changedPlatform() } // compared once for all functions
        other =
          known === undefined ? sharing(f, touched) : this.#now(f, known, { touched: [...touched.values()], platform: changed?.platform })
        found.set(f, other)
      }
      return other
    }
    const own = `@${++this.#last}`
    const nameOf = (f: UserFunction): string => {
      const other = now(f)
      const isLive = needsCaller(other) || this.#known.get(f)?.captures.isLive === true
      return isLive ? own : this.#nameOf(other)
    }
    return { now, nameOf }
  }

  /** Returns what functions that run as they stand may change, in a plan that has other functions. */
  #touchedBy(functions: readonly UserFunction[]): ReadonlyMap<UserFunction, Touched> {
    if (functions.length < 2) return new Map()
    return new Map(
      functions.filter(needsCaller).map((f) => {
        if (!this.#touched.has(f)) this.#touched.set(f, variablesBehind(f.original))
        return [f, this.#touched.get(f)]
      }),
    )
  }

  #nameOf(f: UserFunction): string {
    let name = this.#names.get(f)
    if (name === undefined) this.#names.set(f, (name = `f${++this.#last}`))
    return name
  }

  #now(
    f: UserFunction,
    known: Known,
    { touched, platform }: { readonly touched: readonly Touched[]; readonly platform: Changed | undefined },
  ): UserFunction {
    const shared = sharedReason(known.lowered, touched)
    if (shared !== undefined) return { ...asItStands(f, shared), sharesState: true }
    const reason = changedReason(known.lowered.named, known.context.inputs, f.span, platform)
    if (reason !== undefined) return asItStands(f, reason)
    const difference = changedCapture(f.original, known.captures)
    const { isOpaque, isLive } = known.captures
    const mayHaveChanged = isOpaque || (isLive && known.lowered.fn.ir?.tables.some(({ made }) => made === true) === true)
    if (difference === undefined && !mayHaveChanged) return known.now
    const lowered = lowerFunction(f.original, { kind: 'row', ...known.context }, () => platform)
    const next = read(lowered, known.context, known.element)
    checkElement(f, known, returned(lowered.fn, known.context), difference)
    this.#known.set(f, next)
    return next.now
  }
}

/** Returns the captured variables of a function and its helpers, without those that are functions. */
function variablesOf({ meanings }: LoweredFunction): (readonly [string, unknown])[] {
  const found = new Map<string, unknown>()
  for (const names of meanings.values()) {
    for (const [name, free] of names) if (free.kind === 'captured' && typeof free.value !== 'function') found.set(name, free.value)
  }
  return [...found]
}

/** Variables by name, and objects, that a function may change; undefined where it may change anything. */
type Touched = ReadonlySet<unknown> | undefined

/** Returns the function with the mark `sharesState` where another function that runs as it stands may see what it does. */
function sharing(f: UserFunction, touched: ReadonlyMap<UserFunction, Touched>): UserFunction {
  const own = touched.get(f)
  const shares = [...touched].some(
    ([other, theirs]) => other !== f && (own === undefined || theirs === undefined || [...own].some((one) => theirs.has(one))),
  )
  return shares ? { ...f, sharesState: true } : f
}

/** Returns why a function must run as it stands: it reads what another one of the chain, row by row, may change; undefined otherwise. */
function sharedReason(lowered: LoweredFunction, touched: readonly Touched[]): Refusal | undefined {
  if (touched.length === 0) return undefined
  const shared = variablesOf(lowered).find(([name, value]) =>
    touched.some((one) => one === undefined || one.has(name) || (typeof value === 'object' && value !== null && one.has(value))),
  )
  return shared === undefined ? undefined : refusalOf('shares-state', lowered.fn.span, shared[0])
}

function returned(fn: UserFunction, context: RowLambdaContext): ElementType {
  return returnedElement(fn, { kind: 'row', ...context })
}

function read(lowered: LoweredFunction, context: RowLambdaContext, element: ElementType): Known {
  const captures = rowCaptures(lowered.fn.original, lowered.meanings)
  return { context, element, lowered, now: withCopies(lowered.fn, captures), captures }
}

/** Returns the function over copies of what it captures, so that nothing changes under it while it runs. */
function withCopies(fn: UserFunction, { copies, isLive }: RowCaptures): UserFunction {
  const { ir, portable } = fn
  if (ir !== undefined && ir.tables.length > 0) {
    const tables = ir.tables.map((table) => {
      const copy = table.made === true ? table.value : (copies.get(table.value) ?? copyOf(table.value))
      return copy === undefined ? table : { ...table, value: copy, made: true as const }
    })
    return { ...fn, ir: { ...ir, tables } }
  }
  if (portable === undefined || isLive || Object.keys(portable.captures).length === 0) return fn
  return { ...fn, portable: { ...portable, captures: structuredClone(portable.captures) } }
}

/** Most elements of an array that is copied: a longer one must not change before the action has ended. */
const LONGEST_COPY = 20_000

function copyOf<T>(values: ArrayLike<T>): ArrayLike<T> | undefined {
  return Array.isArray(values) && values.length <= LONGEST_COPY ? (values.slice() as ArrayLike<T>) : undefined
}

function asItStands(f: UserFunction, reason: UserFunction['refusals'][number]): UserFunction {
  const { ir: _, portable: __, ...rest } = f
  return { ...rest, refusals: [...f.refusals, reason], unportable: reason }
}

function checkElement(f: UserFunction, { context, element }: Known, now: ElementType, difference: Difference | undefined): void {
  if (KEEPING_COLUMNS.has(context.method) || element.kind === 'unknown' || sameElement(element, now)) return
  const what = difference === undefined ? 'What it captures has changed' : differenceText(difference)
  throw new PlanError(
    `${context.method}: ${what}. Then it returned ${elementText(element)}, now ${now.kind === 'unknown' ? 'what only running it can tell' : elementText(now)}, and the columns of the chain would be others.\n` +
      `  ${placeText(f.span)}  ${f.text}\nBuild the chain again with the new value.`,
    { span: f.span },
  )
}

function differenceText({ name, was, is }: Difference): string {
  const [before, now] = [kindOf(was), kindOf(is)]
  return before === now
    ? `The captured variable ${name} is not ${before} that it was when the chain was built`
    : `The captured variable ${name} was ${before} when the chain was built, and is ${now} now`
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (typeof value === 'function') return 'the function'
  if (typeof value === 'object') return Array.isArray(value) ? 'the array' : 'the object'
  return `the ${typeof value} ${typeof value === 'string' ? JSON.stringify(value) : String(value)}`
}
