/**
 * Maps from names to columns. Searching a list for each of many names takes quadratic time: a minute for 100,000
 * columns.
 */

/** The position of each name, for equal names that of the first. */
export function positionsOf(fields: readonly { readonly name: string }[]): ReadonlyMap<string, number> {
  const positions = new Map<string, number>()
  for (let i = fields.length - 1; i >= 0; i--) positions.set((fields[i] as { readonly name: string }).name, i) // i < length
  return positions
}

/** The fields by name, for equal names the first. */
export function fieldsByName<F extends { readonly name: string }>(fields: readonly F[]): ReadonlyMap<string, F> {
  const byName = new Map<string, F>()
  for (const field of fields) if (!byName.has(field.name)) byName.set(field.name, field)
  return byName
}
