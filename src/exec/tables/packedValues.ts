/**
 * Values of one shape as lists of their parts, for messages: of objects one by one, V8 writes and reads the name of each property again.
 *
 *     { rows: 4, file: f }  { rows: 7, file: f }   <-->   rows [4 7]   file f
 *
 * Statement: unpacked values are the packed ones, but for the identity of objects that are not the same in all of them.
 */
import { sameItems } from '../../core/sameItems.ts'

export type PackedValues =
  | { readonly kind: 'same'; readonly count: number; readonly value: unknown }
  | { readonly kind: 'objects'; readonly names: readonly string[]; readonly parts: readonly PackedValues[] }
  | { readonly kind: 'maps'; readonly keys: readonly unknown[]; readonly parts: readonly PackedValues[] }
  | { readonly kind: 'lists'; readonly parts: readonly PackedValues[] }
  | { readonly kind: 'others'; readonly values: readonly unknown[] }

/** Packs values, of which there is one or more. */
export function packed(values: readonly unknown[]): PackedValues {
  const [first] = values
  if (values.every((value) => Object.is(value, first))) return { kind: 'same', count: values.length, value: first }
  if (isPlain(first)) {
    const names = Object.keys(first)
    if (values.every((value) => isPlain(value) && sameItems(Object.keys(value), names)))
      return { kind: 'objects', names, parts: names.map((name) => packed((values as (typeof first)[]).map((value) => value[name]))) }
  }
  if (first instanceof Map && first.size > 0) {
    const keys = [...first.keys()]
    if (values.every((value) => value instanceof Map && sameItems([...value.keys()], keys)))
      return { kind: 'maps', keys, parts: keys.map((key) => packed((values as Map<unknown, unknown>[]).map((value) => value.get(key)))) }
  }
  if (Array.isArray(first) && first.length > 0 && values.every((value) => Array.isArray(value) && value.length === first.length))
    return { kind: 'lists', parts: first.map((_, i) => packed((values as unknown[][]).map((value) => value[i]))) }
  return { kind: 'others', values }
}

/** The values that were packed. */
export function unpacked(all: PackedValues): readonly unknown[] {
  switch (all.kind) {
    case 'same':
      return new Array<unknown>(all.count).fill(all.value)
    case 'others':
      return all.values
    case 'objects':
      return together(all.parts, (parts) => Object.fromEntries(all.names.map((name, p) => [name, parts[p]])))
    case 'maps':
      return together(all.parts, (parts) => new Map(all.keys.map((key, p) => [key, parts[p]])))
    case 'lists':
      return together(all.parts, (parts) => parts)
  }
}

/** Makes a value of the parts that belong to it, for each. */
function together<T>(parts: readonly PackedValues[], make: (parts: readonly unknown[]) => T): readonly T[] {
  const lists = parts.map(unpacked)
  return (lists[0] ?? []).map((_, i) => make(lists.map((list) => list[i])))
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype && Object.keys(value).length > 0
}
