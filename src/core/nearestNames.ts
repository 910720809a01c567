/**
 * The message for a column that does not exist: the nearest names, by edit distance, and all of them when few.
 */
import type { Field } from './schema.ts'

/** Names shown at most; a longer list helps nobody. */
const MOST_NAMES = 10

/** `There is no column "prize" in orders.parquet. Did you mean "price"? The columns are id, price.` */
export function missingColumnMessage(name: string, fields: readonly Field[], where?: string): string {
  const names = fields.map((field) => field.name)
  const near = nearestNames(name, names)
  const guess = near.length === 0 ? '' : ` Did you mean ${near.map((one) => `"${one}"`).join(' or ')}?`
  const shown = names.length > MOST_NAMES ? `${names.slice(0, MOST_NAMES).join(', ')}, … (${names.length} columns)` : names.join(', ')
  const all = names.length === 0 ? ' There are no columns.' : ` The columns are ${shown}.`
  return `There is no column "${name}"${where === undefined ? '' : ` in ${where}`}.${guess}${all}`
}

/** At most three names close to a wrong one, nearest first. */
export function nearestNames(wrong: string, names: readonly string[]): string[] {
  const limit = Math.max(2, Math.floor(wrong.length / 3))
  return names
    .map((name) => ({ name, distance: editDistance(wrong.toLowerCase(), name.toLowerCase()) }))
    .filter(({ distance }) => distance <= limit)
    .sort((a, b) => a.distance - b.distance)
    .slice(0, 3)
    .map(({ name }) => name)
}

/** Levenshtein's distance, in the memory of one row. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const substitution = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(substitution, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}
