/** Concatenation of columns: copied into new buffers, or as one view where their buffers are adjacent already. */

import { PlanError } from '../errors.ts'
import { type Column, isValid } from './column.ts'
import { convertColumn, unifyTypes } from './columnConversions.ts'
import { bytesOf, emptyColumn, type NewArray, nullColumn, ordinary, sliceColumn } from './columnSlices.ts'
import { FIXED_FORMS, isFixedKind } from './fixedValues.ts'
import { LARGEST_OFFSET } from './leafBuilders.ts'
import { sameType } from './schema.ts'

/**
 * Concatenates columns. Nulls take the others' type, numbers of different types become f64; else it throws PlanError. `newArray`
 * makes the arrays for the copies, over ordinary ArrayBuffers by default.
 */
export function concatColumns(columns: readonly Column[], name = 'value', newArray: NewArray = ordinary): Column {
  const [first] = columns
  if (first === undefined) return emptyColumn({ kind: 'null' })
  if (columns.length === 1) return first
  const type = columns.map((column) => column.type).reduce((a, b) => unifyTypes(a, b, name))
  const parts = columns.map((column) => convertColumn(column, type))
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  const validity = joinedValidity(parts, length, newArray)
  const base = { type, length, ...(validity === undefined ? {} : { validity }) }
  switch (type.kind) {
    case 'null':
    case 'unknown':
      return { type, length }
    case 'object':
      return { type, length, objects: parts.flatMap((part) => part.objects ?? []) }
    case 'struct':
      return {
        ...base,
        children: type.fields.map((field, i) =>
          concatColumns(
            parts.map((part) => part.children?.[i] ?? nullColumn(field.type, part.length)),
            `${name}.${field.name}`,
            newArray,
          ),
        ),
      }
    case 'list': {
      const trimmed = parts.map((part) => {
        const child = part.children?.[0] ?? emptyColumn(type.item)
        return sliceColumn(child, part.offsets?.[0] ?? 0, part.offsets?.[part.length] ?? 0)
      })
      return { ...base, offsets: joinedOffsets(parts, length, newArray), children: [concatColumns(trimmed, `${name}[]`, newArray)] }
    }
    case 'utf8':
    case 'binary': {
      const whole = adjoiningTexts(parts)
      if (whole !== undefined) return { ...base, ...whole }
      const offsets = joinedOffsets(parts, length, newArray)
      const values = newArray(Uint8Array, offsets[length] ?? 0)
      let at = 0
      for (const part of parts) {
        const bytes = bytesOf(part).subarray(part.offsets?.[0] ?? 0, part.offsets?.[part.length] ?? 0)
        values.set(bytes, at)
        at += bytes.length
      }
      return { ...base, offsets, values }
    }
    default: {
      if (!isFixedKind(type.kind)) return { type, length }
      const whole = adjoining(parts.map((part) => part.values))
      if (whole?.length === length) return { ...base, values: whole }
      const { array } = FIXED_FORMS[type.kind]
      const values = newArray(array, length)
      let at = 0
      for (const part of parts) {
        // parts were converted to one type, hence one array class
        values.set((part.values?.subarray(0, part.length) ?? new array(part.length)) as never, at)
        at += part.length
      }
      return { ...base, values }
    }
  }
}

/** Whether `concatColumns` gives views of the parts' own buffers instead of copies. */
export function isConcatFree(parts: readonly Column[]): boolean {
  const [first] = parts
  if (first === undefined || parts.some((part) => part.validity !== undefined || !sameType(part.type, first.type))) return false
  if (parts.length === 1) return true
  if (first.type.kind === 'utf8' || first.type.kind === 'binary') return adjoiningTexts(parts) !== undefined
  if (first.type.kind === 'struct')
    return first.type.fields.every((_, i) => isConcatFree(parts.flatMap((part) => part.children?.[i] ?? [])))
  return isFixedKind(first.type.kind) && adjoining(parts.map((part) => part.values)) !== undefined
}

/** One view of adjacent views of a buffer, each of which begins where the one before ends; undefined where they are not adjacent, and for a view of a whole buffer. `overlap`: elements that neighbours share. */
function adjoining<A extends NonNullable<Column['values']>>(views: readonly (A | undefined)[], overlap = 0): A | undefined {
  const [first] = views
  if (first === undefined || first.buffer.byteLength === first.byteLength) return undefined
  let end = first.byteOffset
  let length = overlap
  for (const view of views) {
    if (view === undefined || view.buffer !== first.buffer || view.byteOffset !== end) return undefined
    length += view.length - overlap
    end = view.byteOffset + view.byteLength - overlap * view.BYTES_PER_ELEMENT
  }
  const ArrayOfFirst = first.constructor as new (buffer: ArrayBufferLike, byteOffset: number, length: number) => A // its own class
  return new ArrayOfFirst(first.buffer, first.byteOffset, length)
}

function adjoiningTexts(parts: readonly Column[]): { readonly values: Uint8Array; readonly offsets: Int32Array } | undefined {
  const [first] = parts
  const bytes = first === undefined ? undefined : bytesOf(first)
  const same = (part: Column): boolean =>
    part.values?.buffer === bytes?.buffer && part.values?.byteOffset === bytes?.byteOffset && part.values?.length === bytes?.length
  if (bytes === undefined || !parts.every(same) || parts.some((part) => part.offsets?.length !== part.length + 1)) return undefined
  const offsets = adjoining(
    parts.map((part) => part.offsets),
    1,
  )
  return offsets === undefined ? undefined : { values: bytes, offsets }
}

function joinedValidity(parts: readonly Column[], length: number, newArray: NewArray): Uint8Array | undefined {
  if (parts.every((part) => part.validity === undefined)) return undefined
  const validity = newArray(Uint8Array, (length + 7) >> 3).fill(0)
  let at = 0
  for (const part of parts) {
    for (let i = 0; i < part.length; i++, at++) {
      if (isValid(part, i)) validity[at >> 3] = (validity[at >> 3] as number) | (1 << (at & 7))
    }
  }
  return validity
}

function joinedOffsets(parts: readonly Column[], length: number, newArray: NewArray): Int32Array {
  const offsets = newArray(Int32Array, length + 1)
  offsets[0] = 0
  let at = 0
  let base = 0
  for (const part of parts) {
    const old = part.offsets ?? new Int32Array(1)
    const shift = base - (old[0] ?? 0)
    if (base + (old[part.length] ?? 0) - (old[0] ?? 0) > LARGEST_OFFSET) {
      throw new PlanError('A column would hold more than 2 GiB of text in one piece. Cut the array with repartition({ partitions }).')
    }
    for (let i = 1; i <= part.length; i++) offsets[++at] = (old[i] as number) + shift
    base = offsets[at] ?? 0
  }
  return offsets
}
