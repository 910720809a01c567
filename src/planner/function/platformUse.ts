/**
 * Decides whether a function may notice changes of the platform by the program: it names what was changed, or computes
 * names, or what was changed is called without being named, as `toString` by a template and `next` by a loop.
 */
import type { AnyNode } from 'acorn'
import { type ColumnType, type ElementType, fieldsOf } from '../../core/data/schema.ts'
import type { Refusal, Span } from '../../core/span.ts'
import { libraryCallOf } from '../../core/time/library.ts'
import { hasChangedTimeZone } from '../../core/timeZone.ts'
import type { Changed } from './platform.ts'
import { platformName } from './portable.ts'
import { refusalOf } from './refusals.ts'
import { childNodes } from './source/ast.ts'
import type { Unit } from './unit.ts'

/** The names in the texts of functions. */
export interface Named {
  readonly names: ReadonlySet<string>
  /** Whether a function reads properties by names that it computes. */
  readonly computes: boolean
}

/** Members that the language itself calls without naming them; symbols are all of that kind. */
const UNNAMED: ReadonlySet<string> = new Set('toString valueOf constructor next return exec join flags'.split(' '))
/** Members that are called because of another name, which is listed. */
const BEHIND: Readonly<Record<string, readonly string[]>> = { toJSON: ['JSON'], set: ['Map'], add: ['Set'] }

const LOCAL_TIME =
  /^(Date|Intl|bucket|parseTime|toString|(get|set|to)(Full|Local|Time|Date|Year|Month|Day|Hours|Minutes|Seconds|Milli)\w*)$/

/** Collects the names in the texts of all these functions. */
export function namedBy(units: Iterable<Unit>): Named {
  const names = new Set<string>()
  let computes = false
  const visit = (node: AnyNode): void => {
    if (node.type === 'Identifier') names.add(node.name)
    else if (node.type === 'Literal' && typeof node.value === 'string') names.add(node.value)
    else if (node.type === 'MemberExpression' && node.computed && node.property.type !== 'Literal') computes = true
    for (const child of childNodes(node)) visit(child)
  }
  for (const unit of units) {
    visit(unit.source.node)
    // `const roll = Math.random`
    for (const node of unit.names.free) {
      const free = unit.freeOf(node)
      if (free.kind !== 'captured') continue
      // a library call makes Dates, which may be printed in local time
      if (libraryCallOf(free.value) !== undefined) names.add('Date')
      for (const part of platformName(free.value)?.split('.') ?? []) names.add(part)
    }
  }
  return { names, computes }
}

export const NOTHING_NAMED: Named = { names: new Set(), computes: false }

/** Returns the change that a function with these names may notice; undefined where there is none. */
function noticedChange({ names, computes }: Named, changed: Changed): string | undefined {
  for (const [name, { called, isEverywhere }] of changed) {
    if (isEverywhere || computes || typeof name === 'symbol' || names.has(name) || UNNAMED.has(name)) return called
    if (BEHIND[name]?.some((other) => names.has(other)) === true) return called
  }
  return undefined
}

/** Whether a function may ask for the local time of a date, or print one. */
function usesLocalTime({ names, computes }: Named, inputs: readonly ElementType[]): boolean {
  if (computes || inputs.some(mayHoldDates)) return true
  for (const name of names) if (LOCAL_TIME.test(name)) return true
  return false
}

/** Returns why a function of these elements must run as it stands; undefined where it can notice no change of the platform. */
export function changedReason(named: Named, inputs: readonly ElementType[], span: Span, changed: Changed | undefined): Refusal | undefined {
  const noticed = changed === undefined ? undefined : noticedChange(named, changed)
  if (noticed !== undefined) return refusalOf('changed-platform', span, noticed)
  if (!hasChangedTimeZone() || !usesLocalTime(named, inputs)) return undefined
  return refusalOf('changed-platform', span, 'process.env.TZ')
}

function mayHoldDates(element: ElementType): boolean {
  return element.kind === 'unknown' || fieldsOf(element).some(({ type }) => holdsDates(type))
}

function holdsDates(type: ColumnType): boolean {
  if (type.kind === 'list') return holdsDates(type.item)
  if (type.kind === 'struct') return type.fields.some((field) => holdsDates(field.type))
  return type.kind === 'date' || type.kind === 'timestamp' || type.kind === 'unknown' || type.kind === 'object'
}
