/**
 * The front end's entry point: any function of the user, lowered where the IR can say it, and runnable as JavaScript in any case.
 *
 * Captures are read anew at every call, since they may have changed; parsing is kept per function.
 */

import type { ElementType } from '../../core/data/schema.ts'
import { PlanError } from '../../core/errors.ts'
import type { UserFunction } from '../../core/ir/functionIr.ts'
import { behindEnv } from '../../core/ir/withEnv.ts'
import { missingColumnMessage } from '../../core/nearestNames.ts'
import { placeText, type Refusal, type Span } from '../../core/span.ts'
import { checkBigints } from './bigintMixes.ts'
import { atOnce } from './captures/inspected.ts'
import type { Meanings } from './captures/rowCaptures.ts'
import { checkDates } from './dateMixes.ts'
import type { Free } from './free.ts'
import { behindOf, keep, keptOf, type Literal, literalOf } from './literals.ts'
import type { LowerContext, RowContext } from './lower/context.ts'
import { lowerUnit } from './lower/lower.ts'
import type { Missing } from './lower/loweringParts.ts'
import { elementReturnedBy } from './lower/returned.ts'
import { checkFields } from './missingFields.ts'
import { type Changed, changedPlatform } from './platform.ts'
import { changedReason, type Named, NOTHING_NAMED, namedBy } from './platformUse.ts'
import { portableOf, usesThis } from './portable.ts'
import { refusalOf } from './refusals.ts'
import { fieldsNamed } from './rowFields.ts'
import { fieldsOfRowsNamed } from './rowsFields.ts'
import { textOfUnit } from './source/print.ts'
import { type AnyFunction, meaningsIn, type Unit, unitOf, wholeSpan } from './unit.ts'

export type { EnvValue, LowerContext } from './lower/context.ts'

export interface LoweredFunction {
  readonly fn: UserFunction
  /** Captured handles (DistArray, accumulator, …) by their names in the IR. */
  readonly captured: ReadonlyMap<string, unknown>
  readonly isAsync: boolean
  /** The free names of the function, and of the user's functions that it may call, as far as they were looked into. */
  readonly meanings: Meanings
  readonly named: Named
}

/**
 * Returns the source, captures, IR or refusals of a function. Throws PlanError for a column that does not exist, for an async row lambda,
 * and for one that mixes bigint columns with numbers; an async loop body is only reported. `changedOf` returns the changes of the platform,
 * which the caller may know already.
 */
export function lowerFunction(
  f: AnyFunction,
  context: LowerContext,
  changedOf: () => Changed | undefined = changedPlatform,
): LoweredFunction {
  return context.kind === 'row' ? atOnce(() => lowerRow(f, context, changedOf)) : lowerAnew(f, context, changedOf)
}

/** Returns what a function of the same place was lowered to before, where all that it depends on is the same; lowers it otherwise. */
function lowerRow(f: AnyFunction, context: RowContext, changedOf: () => Changed | undefined): LoweredFunction {
  const literal = literalOf(f)
  if (literal === undefined) return lowerAnew(f, context, changedOf)
  const meanings = literal.free === undefined ? undefined : meaningsIn(f, literal.free)
  const behind = meanings === undefined ? undefined : behindOf(f, context, meanings)
  const kept = behind === undefined ? undefined : keptOf(literal, behind)
  if (meanings !== undefined && kept !== undefined) {
    const fn = unlessChanged({ ...kept.fn, original: f }, kept.named, context, changedOf)
    return { fn, captured: new Map(), isAsync: false, meanings: new Map([[f, meanings]]), named: kept.named }
  }
  const lowered = lowerAnew(f, context, changedOf)
  const own = lowered.meanings.get(f)
  if (own !== undefined) keepLowered(f, context, { literal, own, lowered })
  return lowered
}

/** Keeps the result of lowering, where it is compiled and depends only on values that can be compared. */
function keepLowered(
  f: AnyFunction,
  context: RowContext,
  { literal, own, lowered }: { readonly literal: Literal; readonly own: ReadonlyMap<string, Free>; readonly lowered: LoweredFunction },
): void {
  literal.free ??= new Set(own.keys())
  const { original: _, ...fn } = lowered.fn
  const behind = fn.ir === undefined ? undefined : behindOf(f, context, own)
  if (behind !== undefined) keep(literal, { fn, named: lowered.named, behind })
}

function lowerAnew(f: AnyFunction, context: LowerContext, changedOf: () => Changed | undefined): LoweredFunction {
  const unit = unitOf(f)
  if (typeof unit === 'string')
    return { fn: withoutSource(f, unit), captured: new Map(), isAsync: false, meanings: new Map(), named: NOTHING_NAMED }
  const shown = shownUnit(unit)
  const isAsync = isAsyncUnit(shown)
  const span = wholeSpan(shown)
  if (isAsync && context.kind === 'row') {
    throw new PlanError(
      `${context.method}: the function is async, but elements are computed synchronously.\n  ${span.text}\nAwait before the call and capture the result.`,
      { span },
    )
  }
  const lowered = lowerUnit(unit, context)
  const [missing] = lowered.missing
  if (missing !== undefined) throw missingColumn(missing, context)
  if (context.kind === 'row' && lowered.ir !== undefined) {
    checkBigints(lowered.ir, context)
    checkDates(lowered.ir, context)
    checkFields(lowered.ir, context)
  }
  const { captured } = lowered
  const units = new Map(lowered.units)
  const common = { original: f, text: textOfUnit(shown), span }
  if (context.kind === 'row' && context.isCalled !== true && lowered.ir !== undefined && lowered.ir.uses.length === 0) {
    const named = namedBy(units.values())
    const fn = unlessChanged({ ...common, ir: lowered.ir, refusals: lowered.refusals }, named, context, changedOf)
    return { fn, captured, isAsync, meanings: meaningsOfAll(units), named }
  }
  // bodies of loops run compiled or as the closure: no copy of them is sent
  if (context.kind === 'loop') {
    const fn: UserFunction = { ...common, ...(lowered.ir === undefined ? {} : { ir: lowered.ir }), refusals: lowered.refusals }
    return { fn, captured, isAsync, meanings: meaningsOfAll(units), named: NOTHING_NAMED }
  }
  const printed = f !== unit.f && usesThis(unit.node) ? refusalOf('this', span) : portableOf(unit, units)
  const named = namedBy(units.values())
  const changed = 'source' in printed ? changedReason(named, context.inputs, span, changedOf()) : undefined
  const portable = changed ?? printed
  const fields = lowered.ir === undefined ? fieldsSeen(shown, context, changed !== undefined) : undefined
  const fn: UserFunction = {
    ...common,
    ...(fields === undefined ? {} : { fields }),
    ...(lowered.ir === undefined ? {} : { ir: lowered.ir }),
    refusals: lowered.refusals,
    ...('source' in portable ? { portable } : { unportable: portable }),
  }
  return { fn, captured, isAsync, meanings: meaningsOfAll(units), named }
}

/** The fields of its rows that a function which is not compiled names; undefined where it may see others. */
function fieldsSeen(unit: Unit, { method, inputs }: RowContext, isChanged: boolean): readonly string[] | undefined {
  const [first, second] = inputs
  if (inputs.length === 1) return first?.kind === 'row' ? fieldsNamed(unit) : undefined
  const isOfGroup = method === 'map' && second?.kind === 'scalar' && second.type.kind === 'list' && second.type.item.kind === 'struct'
  // where the program has changed methods of lists, they may look at whole rows
  return isOfGroup && !isChanged ? fieldsOfRowsNamed(unit) : undefined
}

/** Returns a compiled row function, to run as it stands where the program has changed what it names of the platform. */
function unlessChanged(fn: UserFunction, named: Named, { inputs }: RowContext, changedOf: () => Changed | undefined): UserFunction {
  const changed = changedReason(named, inputs, fn.span, changedOf())
  if (changed === undefined) return fn
  const { ir: _, ...others } = fn
  return { ...others, refusals: [changed], unportable: changed }
}

function meaningsOfAll(units: ReadonlyMap<unknown, Unit>): Meanings {
  return new Map([...units].map(([f, { meanings }]) => [f, meanings]))
}

/** Returns the element type that a function returns; unknown where only running it can tell. */
export function returnedElement(fn: UserFunction, context: LowerContext): ElementType {
  return fn.ir === undefined ? { kind: 'unknown' } : elementReturnedBy(fn.ir, context)
}

function withoutSource(f: AnyFunction, reason: 'native' | 'class' | 'unparsable'): UserFunction {
  const span: Span = { line: 1, column: 1, text: f.name === '' ? 'function' : f.name }
  const refusal: Refusal = refusalOf(reason === 'class' ? 'not-a-function' : reason, span)
  return { original: f, text: span.text, span, refusals: [refusal], unportable: refusal }
}

/** Returns the unit of the program's own function, where the library has wrapped it. */
function shownUnit(unit: Unit): Unit {
  const behind = behindEnv(unit.f)
  const own = behind === undefined ? unit : unitOf(behind.f)
  return typeof own === 'string' ? unit : own
}

function isAsyncUnit(unit: Unit): boolean {
  if (unit.node.async) return true
  // below ES2017 an async function returns what its helper made
  const { body } = unit.node
  const returned = body.type === 'BlockStatement' ? body.body.find((one) => one.type === 'ReturnStatement')?.argument : body
  return returned?.type === 'CallExpression' && returned.callee.type === 'Identifier' && /^__(awaiter|async)$/.test(returned.callee.name)
}

function missingColumn(missing: Missing, context: LowerContext): PlanError {
  const elements = context.kind === 'loop' ? [context.overElement] : context.inputs
  const element = elements.find((one) => one?.kind === 'row' && !one.fields.some((field) => field.name === missing.name))
  const where = context.kind === 'loop' ? 'the rows of the loop' : `the rows of ${context.method}`
  const { array = { name: where, fields: element?.kind === 'row' ? element.fields : [] } } = missing
  const message = missingColumnMessage(missing.name, array.fields, array.name)
  return new PlanError(`${message}\n  ${placeText(missing.span)}  ${missing.span.text}`, { span: missing.span })
}
