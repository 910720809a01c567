/**
 * Caches the lowering of function literals by their place in the program. A function that builds a chain makes closures anew at each call:
 * their text and free names are the same, and where what they capture is the same too, lowering gives the same result.
 *
 *     const above = (table, low) => table.filter((r) => r.a > low)
 *     above(t, 3); above(t, 3)      the second is what the first was
 *     above(t, 4)                   is lowered
 */
import { callingScripts } from '../../core/callSite.ts'
import type { ElementType } from '../../core/data/schema.ts'
import type { RowLambdaContext } from '../../core/engine.ts'
import type { UserFunction } from '../../core/ir/functionIr.ts'
import { behindEnv } from '../../core/ir/withEnv.ts'
import { libraryCallOf } from '../../core/time/library.ts'
import { scriptPosition } from './captures/captures.ts'
import { isPlainDate } from './captures/plainDate.ts'
import type { Free } from './free.ts'
import type { Named } from './platformUse.ts'
import { type AnyFunction, freeNamesOf, meaningsIn } from './unit.ts'

/** A function literal, and what its closures were lowered to. It holds none of them, nor any object that they capture. */
export interface Literal {
  readonly text: string
  /** Names that the text leaves free; undefined until it has been parsed. */
  free: ReadonlySet<string> | undefined
  /** Results of lowering, the oldest first. */
  readonly kept: Kept[]
}

export interface Kept {
  readonly fn: Omit<UserFunction, 'original'>
  readonly named: Named
  /** The values that the result depends on beside the text, as a list. */
  readonly behind: readonly unknown[]
  /** The scripts that were searched for the text, where no file was found; undefined where one was. */
  readonly scripts: string | undefined
}

const literals = new Map<string, Literal>()
const MOST_LITERALS = 1024
/** Most results kept for one literal, which may be used with other columns, or other values, again and again. */
const MOST_KEPT = 4

const known = new WeakMap<AnyFunction, { readonly literal: Literal | undefined }>()

/** Returns the literal of a closure; undefined where the inspector does not tell the place, and for functions that the library wraps. */
export function literalOf(f: AnyFunction): Literal | undefined {
  let found = known.get(f)
  if (found === undefined) known.set(f, (found = { literal: behindEnv(f) === undefined ? lookedUp(f) : undefined }))
  return found.literal
}

function lookedUp(f: AnyFunction): Literal | undefined {
  const place = scriptPosition(f)
  if (place === undefined) return undefined
  const key = `${place.script}:${place.line}:${place.column}`
  const text = Function.prototype.toString.call(f)
  const before = literals.get(key)
  if (before?.text === text) return before
  if (literals.size >= MOST_LITERALS) literals.clear()
  const literal: Literal = { text, free: undefined, kept: [] }
  literals.set(key, literal)
  return literal
}

/** Returns what a function's free names mean now; undefined where its source cannot be read. */
export function meaningsOf(f: AnyFunction): ReadonlyMap<string, Free> | undefined {
  const free = literalOf(f)?.free
  if (free !== undefined) return meaningsIn(f, free)
  const found = freeNamesOf(f)
  return typeof found === 'string' ? undefined : found.meanings
}

/**
 * Returns the values that lowering a function depends on beside its text: the method and its elements, the function's name, what its free
 * names mean. Undefined where values cannot be compared: objects other than dates, functions other than the library's.
 */
export function behindOf(f: AnyFunction, context: RowLambdaContext, meanings: ReadonlyMap<string, Free>): unknown[] | undefined {
  const { method, inputs, key, isAction } = context
  const behind: unknown[] = [f.name, method, isAction, key?.argument, key?.rank, ...inputs.map(textOf)]
  for (const [name, free] of meanings) {
    behind.push(name, free.kind)
    if (free.kind === 'absent') behind.push(free.inspector)
    else if (free.kind === 'global' || isValue(free.value)) behind.push(free.value)
    else if (isPlainDate(free.value)) behind.push('date', Date.prototype.getTime.call(free.value))
    else return undefined
  }
  return behind
}

function isValue(value: unknown): boolean {
  return (typeof value !== 'object' && typeof value !== 'function') || value === null || libraryCallOf(value) !== undefined
}

const texts = new WeakMap<ElementType, string>()

/** Returns the text of a type, which is plain data. */
function textOf(element: ElementType): string {
  let text = texts.get(element)
  if (text === undefined) texts.set(element, (text = JSON.stringify(element)))
  return text
}

/** Returns the kept result with the same values behind it; undefined where there is none. */
export function keptOf({ kept }: Literal, behind: readonly unknown[]): Kept | undefined {
  const found = kept.find((one) => one.behind.length === behind.length && one.behind.every((item, i) => Object.is(item, behind[i])))
  return found?.scripts === undefined || found.scripts === scriptsNow() ? found : undefined
}

export function keep({ kept }: Literal, one: Omit<Kept, 'scripts'>): void {
  if (kept.length >= MOST_KEPT) kept.shift()
  kept.push({ ...one, scripts: one.fn.span.file === undefined ? scriptsNow() : undefined })
}

function scriptsNow(): string {
  return callingScripts().join()
}
