/** The outcome of `flatMap`, and the comparison of one whose items are columns with one that makes the list of each row. */
import { expect } from 'vitest'
import type { DistArray } from '../src/index.ts'

type Items = { readonly rows: readonly unknown[]; readonly types: string } | { readonly threw: string }

async function itemsOf(make: () => DistArray<unknown>): Promise<Items> {
  try {
    const made = make().materialize()
    const rows = await made.collect()
    const types = String((await made.toArrow()).schema)
    await made.release()
    return { rows, types }
  } catch (error) {
    return { threw: error instanceof Error ? error.name : 'another value' }
  }
}

/** Compares both: rows, the types of their columns, and what is thrown. Returns the rows; undefined where both throw. */
export async function expectSameItems(
  own: () => DistArray<unknown>,
  others: () => DistArray<unknown>,
  told: string,
): Promise<readonly unknown[] | undefined> {
  const [a, b] = [await itemsOf(own), await itemsOf(others)]
  if (!('rows' in a && 'rows' in b)) {
    expect(a, told).toStrictEqual(b)
    return undefined
  }
  expect(a.rows, told).toStrictEqual(b.rows)
  // what a function of JavaScript returns has no type before it runs: nulls alone have none, nor have no rows
  if (b.rows.length > 0 && !b.types.includes('Null')) expect(a.types, told).toBe(b.types)
  return a.rows
}
