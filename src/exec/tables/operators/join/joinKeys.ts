/**
 * Keys of a join as small whole numbers, by which kernels index the rows of the build side.
 *
 *     places    whole numbers close together, and tuples of such: the place in a box (a dense range a part) around the right side's keys
 *     packed    tuples of whole numbers in a box that is too large for that: the place is a key itself, hashed
 *     ids       all other keys: ids of a hash table (`keyIds.ts`)
 *
 * Equal keys have equal numbers, different keys different ones; a key that matches nothing has -1.
 */
import type { Column } from '../../../../core/data/column.ts'
import { convertColumn } from '../../../../core/data/columnConversions.ts'
import { LARGEST_WHOLE } from '../../../../core/data/fixedValues.ts'
import type { ColumnType } from '../../../../core/data/schema.ts'
import { typedLoop } from '../../../kernels/js/typedLoops.ts'
import type { GroupMemory } from '../groupBy/groupMemory.ts'
import { arenaTables } from '../hashing/arenaIds.ts'
import { KeyIds } from '../hashing/keyIds.ts'
import { codeForm, type Window, wholeRange } from '../hashing/keyWindows.ts'
import { asList } from '../hashing/tupleKeys.ts'
import { inMilliseconds } from '../sort/wholeMilliseconds.ts'
import { withoutNulls } from './nullKeys.ts'

/** The numbers of the right side's keys, and a function to find those of the left side's. */
export interface JoinKeys {
  readonly right: Int32Array
  /** All numbers are below it. */
  readonly size: number
  left(key: Column): Int32Array
}

/** This many places are allowed for any number of keys; more only up to `PLACES_PER_KEY`, which take as much memory as a hash table's entry. */
const FEW_PLACES = 2 ** 16
const PLACES_PER_KEY = 8
/** The most keys that a hash table is made for at first, where a side has more rows: its keys may be few. */
const MOST_EXPECTED = 2 ** 20
/** The most places of a box, which takes 256 MiB. */
const MOST_PLACES = 2 ** 26

export function joinKeys(rightKey: Column, type: ColumnType, memory: GroupMemory): JoinKeys {
  const right = keyAs(rightKey, type)
  const box = boxAround(right)
  const tables = arenaTables(memory, Math.min(MOST_EXPECTED, right.length))
  if (box === undefined) return byIds(right, type, new KeyIds(type, tables))
  const places = box.reduce((product, { span }) => product * span, 1)
  const room = (length: number): Int32Array => memory.integers(memory.room(4 * length), length)
  if (places <= Math.min(MOST_PLACES, Math.max(FEW_PLACES, PLACES_PER_KEY * right.length))) {
    const placed = (key: Column): Int32Array => placesIn(key, box, room(key.length))
    return { right: placed(right), size: places, left: (key) => placed(keyAs(key, type)) }
  }
  if (box.length === 1 || places > LARGEST_WHOLE) return byIds(right, type, new KeyIds(type, tables))
  const packed = (key: Column): Column => {
    const values = memory.floats(memory.room(8 * key.length), key.length)
    return { type: { kind: 'f64' }, length: key.length, values: placesIn(key, box, values) }
  }
  const ids = new KeyIds({ kind: 'f64' }, tables)
  const codes = packed(right)
  const encoded = ids.encode(codes)
  // the packed key -1 of a null has an id like any other; no right row keeps it, so it matches nothing
  const { values } = codes
  if (right.validity !== undefined) for (let i = 0; i < encoded.length; i++) if (values?.[i] === -1) encoded[i] = -1
  return { right: encoded, size: ids.size, left: (key) => ids.lookUp(packed(keyAs(key, type))) }
}

/** The key converted to the common type of both sides' keys. */
function keyAs(key: Column, type: ColumnType): Column {
  return convertColumn(asList(inMilliseconds(key), type), type)
}

function byIds(right: Column, type: ColumnType, ids: KeyIds): JoinKeys {
  const numbers = withoutNulls(ids.encode(right), right)
  return {
    right: numbers,
    size: ids.size,
    left: (key) => {
      const column = keyAs(key, type)
      return withoutNulls(ids.lookUp(column), column)
    },
  }
}

/** The columns of a key's parts: itself, or the fields of a struct. */
function partsOf(key: Column): readonly Column[] {
  return key.type.kind === 'struct' ? (key.children ?? []) : [key]
}

/**
 * A window for each part around all keys; undefined where a part is no whole number of 32 bits, where there are no keys, and where a
 * part is null and its key is not: such a null stands for an item that a shorter array lacks, and equals another such.
 */
function boxAround(key: Column): readonly Window[] | undefined {
  const box: Window[] = []
  for (const part of partsOf(key)) {
    if (part !== key && hasOwnNulls(part, key)) return undefined
    const range = wholeRange(part, part.length)
    if (range === undefined || range[0] > range[1]) return undefined
    box.push({ base: range[0], span: range[1] - range[0] + 1 })
  }
  return box.length === 0 ? undefined : box
}

/** Whether the part is null in a row where the key is not. */
function hasOwnNulls(part: Column, key: Column): boolean {
  for (let byte = 0; byte < (part.validity?.length ?? 0); byte++) {
    const last = key.length - 8 * byte
    const present = (key.validity?.[byte] ?? 0xff) & (last < 8 ? 0xff >> (8 - last) : 0xff)
    if ((present & ~(part.validity?.[byte] as number)) !== 0) return true // byte < length
  }
  return false
}

/** Writes the place of each key in the box; -1 for a key that is null, has a null part, or lies outside. */
function placesIn<A extends Int32Array | Float64Array>(key: Column, box: readonly Window[], out: A): A {
  const parts = partsOf(key)
  const forms = parts.map(codeForm)
  const strides = box.map((_, p) => box.slice(p + 1).reduce((product, { span }) => product * span, 1))
  const bits = [key, ...parts.filter((part) => part !== key)].flatMap(({ validity }) => validity ?? [])
  const none = '{ out[i] = -1; continue; }'
  const each = box.map((_, p) => {
    const { value = '0', small = 'false' } = forms[p] ?? {}
    const isSmall = small.replaceAll('value', `value${p}`).replaceAll('k[', `k${p}[`)
    return `const value${p} = ${value.replaceAll('k[', `k${p}[`)}, at${p} = value${p} - base${p}; // ${parts[p]?.type.kind}
if (!(at${p} >= 0 && at${p} < span${p} && (${isSmall}))) ${none}`
  })
  const loop = typedLoop<(keys: readonly unknown[], bits: unknown, box: unknown, strides: unknown, out: A) => void>(
    ['keys', 'bits', 'box', 'strides', 'out'],
    `${box.map((_, p) => `const k${p} = keys[${p}], { base: base${p}, span: span${p} } = box[${p}], stride${p} = strides[${p}];`).join('\n')}
${bits.map((_, b) => `const bits${b} = bits[${b}];`).join('\n')}
for (let i = 0; i < out.length; i++) { // ${out.BYTES_PER_ELEMENT}
${bits.map((_, b) => `if ((bits${b}[i >> 3] & (1 << (i & 7))) === 0) ${none}`).join('\n')}
${each.join('\n')}
out[i] = ${box.map((_, p) => `at${p} * stride${p}`).join(' + ')};
}`,
  )
  const keys = forms.map((form) => form?.array ?? [])
  loop(keys, bits, box, strides, out)
  return out
}
