/**
 * Where columns are, by name. Looking for each of many names in a list takes the square of their number, which is a
 * minute for 100,000 columns.
 */

/** The place of each name; the first of equal ones. */
export function positionsOf(fields: readonly { readonly name: string }[]): ReadonlyMap<string, number> {
  const positions = new Map<string, number>()
  for (let i = fields.length - 1; i >= 0; i--) positions.set((fields[i] as { readonly name: string }).name, i) // i < length
  return positions
}

/** The fields by name; the first of equal ones. */
export function fieldsByName<F extends { readonly name: string }>(fields: readonly F[]): ReadonlyMap<string, F> {
  const byName = new Map<string, F>()
  for (const field of fields) if (!byName.has(field.name)) byName.set(field.name, field)
  return byName
}
