/**
 * Collections that `Find` looks keys up in, rebuilt from the tables of their keys and values: a Map, a Set or an object, so that
 * JavaScript itself answers and the code for a row reads as the user's does.
 *
 *     rates.get(r.currency)      Find keyed  keys ['EUR', 'USD']  values [1, 1.1]      -->   f_0.get(…)
 *     codes[r.name]              Find object keys ['a', 'b']      values [3, 4]        -->   f_0[…]
 */
import { type Collection, type Expr, expressionsOf, type FunctionIr, type Primitive, visitExpr, visitStmts } from './functionIr.ts'

export type Find = Extract<Expr, { kind: 'Find' }>

/** The lookups of a function, one for each collection. */
export function findsOf(ir: FunctionIr): readonly Find[] {
  const found = new Map<string, Find>()
  if (ir.tables.length === 0) return []
  visitStmts(ir.body, (stmt) => {
    for (const top of expressionsOf(stmt))
      visitExpr(top, (expr) => {
        if (expr.kind === 'Find' && !found.has(findId(expr))) found.set(findId(expr), expr)
      })
  })
  return [...found.values()]
}

/** A text that is equal for lookups in the same collection, whatever the key. */
export function findId({ of, keys, values }: Find): string {
  return [of === 'keyed' ? 'keyed' : of === 'bare' ? 'bare' : 'object', keys, values ?? ''].join('\0')
}

type Table = ArrayLike<Primitive>

const made = new WeakMap<object, Map<string, { readonly values: Table | undefined; readonly collection: object }>>()

/** The Map, Set or object of a lookup; the same one for the same tables. */
export function collectionOf({ of, keys, values }: Find, tables: FunctionIr['tables']): object {
  const table = (name: string): Table => tables.find((one) => one.name === name)?.value ?? []
  const [from, to] = [table(keys), values === undefined ? undefined : table(values)]
  const known = made.get(from) ?? new Map<string, { values: Table | undefined; collection: object }>()
  made.set(from, known)
  const kind = `${of === 'own' ? 'object' : of}${to === undefined ? '' : ' of values'}`
  const old = known.get(kind)
  if (old !== undefined && old.values === to) return old.collection
  const collection = newCollection(of, from, to)
  known.set(kind, { values: to, collection })
  return collection
}

function newCollection(of: Collection, keys: Table, values: Table | undefined): object {
  const all = Array.from(keys)
  if (of === 'keyed') return values === undefined ? new Set(all) : new Map(all.map((key, i) => [key, values[i]]))
  const object: Record<string, unknown> = of === 'bare' ? Object.create(null) : {}
  for (const [i, key] of all.entries()) object[String(key)] = values?.[i]
  return object
}

/** Writes the JavaScript that looks a key up in the collection. */
export function findText({ of, values }: Find, collection: string, key: string): string {
  if (of === 'keyed') return `${collection}.${values === undefined ? 'has' : 'get'}(${key})`
  if (of === 'own') return `Object.hasOwn(${collection}, ${key})`
  return values === undefined ? `((${key}) in ${collection})` : `${collection}[${key}]`
}

/** The collection's answer for the key: its value, or whether it has the key. */
export function foundIn({ of, values }: Find, collection: object, key: unknown): unknown {
  if (of === 'keyed') return values === undefined ? (collection as Set<unknown>).has(key) : (collection as Map<unknown, unknown>).get(key) // as they were made
  if (of === 'own') return Object.hasOwn(collection, key as PropertyKey)
  return values === undefined ? (key as PropertyKey) in collection : (collection as Record<PropertyKey, unknown>)[key as PropertyKey]
}
