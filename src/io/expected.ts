/** Compares the columns of files, when they are opened, with what a program expects of them. */

import { type Field, fieldsOf, typeText } from '../core/data/schema.ts'
import { typescriptOf } from '../core/data/typescriptText.ts'
import { valueText } from '../core/data/valueKinds.ts'
import { PlanError, SourceError } from '../core/errors.ts'
import { nearestNames } from '../core/nearestNames.ts'
import type { ArraySource } from '../core/plan/logicalPlan.ts'

export interface ExpectOptions {
  /**
   * What columns are, by name, as `{ stars: 'number', when: 'timestamp | null' }`: types of TypeScript, or those that tables show. Where
   * the files differ, opening them is a SourceError that lists every difference. Columns that are not named may be anything.
   */
  readonly expect?: Readonly<Record<string, string>>
}

/** Returns the source itself. SourceError that lists each column that is not as expected; PlanError for an expectation that is no type. */
export function checkExpected(source: ArraySource, { expect }: ExpectOptions): ArraySource {
  if (expect === undefined) return source
  if (typeof expect !== 'object' || expect === null || Array.isArray(expect))
    throw new PlanError(`The expect of a reader is an object, as { stars: 'number' }; it was given ${valueText(expect)}.`)
  const fields = fieldsOf(source.element)
  const differences = Object.entries(expect).flatMap(([name, wanted]) => differenceOf(name, wanted, fields) ?? [])
  if (differences.length === 0) return source
  const lines = differences.map((difference) => `\n  ${difference}`).join('')
  throw new SourceError(`${source.name} is not what { expect } says:${lines}`, source.name)
}

function differenceOf(name: string, wanted: unknown, fields: readonly Field[]): string | undefined {
  if (typeof wanted !== 'string' || wanted.trim() === '')
    throw new PlanError(
      `{ expect } says that column "${name}" is ${valueText(wanted)}. Types are texts, as 'number', 'string | null' or 'timestamp'.`,
    )
  const field = fields.find((one) => one.name === name)
  if (field === undefined) {
    const near = nearestNames(
      name,
      fields.map((one) => one.name),
    )
    return `${name}: there is no such column.${near.length === 0 ? '' : ` Is it ${near.join(' or ')}?`}`
  }
  const words = wanted.split('|').map((word) => word.trim())
  const types = words.filter((word) => word !== 'null')
  const isNullable = words.includes('null')
  if (field.type.kind === 'null' && isNullable) return undefined // it holds nothing else, of whatever kind
  const found = `${typescriptOf(field.type)}${field.nullable ? ' | null' : ''} (${typeText(field.type)})`
  if (types.length > 0 && !types.some((word) => isOf(field, word))) return `${name}: it is ${found}, and ${wanted} was expected.`
  if (field.nullable && !isNullable) return `${name}: it may be null, as ${found}, and ${wanted} was expected.`
  return undefined
}

function isOf({ type }: Field, word: string): boolean {
  return word === typescriptOf(type) || word === typeText(type) || word === type.kind
}
