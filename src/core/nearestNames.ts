/**
 * The names most like one that does not exist, for "Did you mean".
 */

import { type Field, namesText } from './data/schema.ts'
import { valueText } from './data/valueKinds.ts'

/** Writes `There is no column "prize" in orders.parquet. Did you mean "price"? The columns are id, price.` */
export function missingColumnMessage(wanted: string, fields: readonly Field[], where?: string): string {
  return missingMessage('column', wanted, fields, where)
}

/** Writes `There is no field "ctiy" in the objects of address. Did you mean "city"? The fields are city, zip.` */
export function missingFieldMessage(wanted: string, fields: readonly Field[], where: string): string {
  return missingMessage('field', wanted, fields, where)
}

function missingMessage(what: 'column' | 'field', wanted: string, fields: readonly Field[], where: string | undefined): string {
  const name = typeof wanted === 'string' ? wanted : valueText(wanted) // JavaScript programs may pass any value
  const near = nearestNames(
    name,
    fields.map((field) => field.name),
  )
  const guess = near.length === 0 ? '' : ` Did you mean ${near.map((one) => `"${one}"`).join(' or ')}?`
  const all = fields.length === 0 ? ` There are no ${what}s.` : ` The ${what}s are ${namesText(fields)}.`
  return `There is no ${what} "${name}"${where === undefined ? '' : ` in ${where}`}.${guess}${all}`
}

/** At most three of `names`, the likest first: those within a third of the length in edits, or that differ in case only. */
export function nearestNames(wanted: string, names: readonly string[]): string[] {
  // at most one edit less than there are letters: names of one letter are not alike
  const limit = Math.min(wanted.length - 1, Math.max(1, Math.floor(wanted.length / 3)))
  return names
    .map((name) => ({ name, distance: name.toLowerCase() === wanted.toLowerCase() ? 0 : editDistance(wanted, name) }))
    .filter(({ name, distance }) => distance <= limit || (wanted.length >= 3 && name.toLowerCase().startsWith(wanted.toLowerCase())))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, 3)
    .map(({ name }) => name)
}

/** The Levenshtein distance with transpositions: insertions, deletions and replacements of a character, and swaps of neighbours, count one each. */
export function editDistance(a: string, b: string): number {
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const swapped = isSwapped ? (before[j - 2] ?? 0) + 1 : replaced
      next.push(Math.min(replaced, swapped, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    before = row
    row = next
  }
  return row[b.length] ?? 0
}
