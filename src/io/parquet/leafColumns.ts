/**
 * Fields of a struct column, each as a struct of that field alone: only those that are read are, and each is decoded as a flat column
 * would be.
 *
 *     geo { cc, lat, zone }   of which cc and lat are read   -->   geo { cc }  geo { lat }   --decoded, together-->   geo { cc, lat }
 *
 * Statement: what `together` makes of the decoded parts is the column that the decoder would have made of all its chunks, without the
 * fields that are not read.
 */
import type { Column } from '../../core/data/column.ts'
import type { ColumnType, Field } from '../../core/data/schema.ts'
import { columnError, type Place } from '../arrow/arrowTypes.ts'
import type { ColumnDetail, GroupColumn } from './describe.ts'
import { decodeThrift, encodeThrift, i32, intOf, type ThriftStruct } from './thrift.ts'

type Struct = Extract<ColumnType, { kind: 'struct' }>

/** A field of a struct column. */
export interface LeafColumn extends GroupColumn {
  /** The number of the field among the structs and fields of what is read of the column, each struct before its fields. */
  readonly within: number
}

/** What is read of a struct column, one part for each field that is no struct; undefined for other columns, and where a list is read. */
export function leafColumns({ column, chunks }: GroupColumn, read: ColumnType = column.type): readonly LeafColumn[] | undefined {
  if (column.type.kind !== 'struct' || read.kind !== 'struct' || column.int96 !== undefined) return undefined
  const elements = column.elements.map(decodeThrift)
  const parts: LeafColumn[] = []
  let [element, leaf, within] = [0, 0, 0]
  /** Goes through the elements of a field, of which `of` is read; false where it has another form. */
  const visit = (type: ColumnType, of: ColumnType | undefined, above: readonly Above[]): boolean => {
    const own = elements[element++]
    if (own === undefined) return false
    if (type.kind !== 'struct') {
      const isLeaf = childrenOf(own) === 0
      if (!isLeaf) skip(childrenOf(own))
      else if (of !== undefined) parts.push({ within: within++, ...partOf(column, { type, above, element: own, leaf, chunks }) })
      if (isLeaf) leaf++
      return isLeaf || of === undefined
    }
    if (childrenOf(own) !== type.fields.length || intOf(own, REPETITION) === REPEATED) return false
    if (of !== undefined) within++
    const wanted = of?.kind === 'struct' ? new Map(of.fields.map((field) => [field.name, field.type])) : undefined
    return type.fields.every((field) => visit(field.type, wanted?.get(field.name), [...above, { element: own, field }]))
  }
  const skip = (fields: number): void => {
    for (let i = 0; i < fields; i++) {
      const inside = childrenOf(elements[element++] ?? new Map())
      if (inside === 0) leaf++
      else skip(inside)
    }
  }
  return visit(column.type, read, []) && parts.length > 0 ? parts : undefined
}

/** A struct above a field, and the field of it that leads there. */
interface Above {
  readonly element: ThriftStruct
  readonly field: Field
}

/** Fields of Thrift's SchemaElement. */
const [REPETITION, CHILDREN] = [3, 5]
const [OPTIONAL, REPEATED] = [1, 2]

function childrenOf(element: ThriftStruct): number {
  return intOf(element, CHILDREN) ?? 0
}

function partOf(
  column: ColumnDetail,
  {
    type,
    above,
    element,
    leaf,
    chunks,
  }: {
    readonly type: ColumnType
    readonly above: readonly Above[]
    readonly element: ThriftStruct
    readonly leaf: number
    readonly chunks: GroupColumn['chunks']
  },
): GroupColumn {
  const structs = above.map((one) => new Map([...one.element, [CHILDREN, i32(1)]]))
  const nested = above.reduceRight<ColumnType>((inner, { field }) => ({ kind: 'struct', fields: [{ ...field, type: inner }] }), type)
  const detail = {
    type: nested,
    nullable: column.nullable,
    elements: [...structs, element].map(encodeThrift),
    changes: [column.changes[leaf]],
    leaves: column.leaves.slice(leaf, leaf + 1),
  }
  return { column: detail, chunks: chunks.slice(leaf, leaf + 1) }
}

/** The value at the end of a struct with one field, that has one, and so on; with the number of levels that may be null. */
export function innermost({ type, elements, nullable, ...detail }: ColumnDetail): ColumnDetail & { readonly level: number } {
  const levels =
    elements.length === 1 ? Number(nullable) : elements.filter((one) => intOf(decodeThrift(one), REPETITION) === OPTIONAL).length
  let inner = type
  while (inner.kind === 'struct' && inner.fields.length === 1) inner = (inner.fields[0] as Field).type // of one
  return { ...detail, type: inner, elements: elements.slice(-1), nullable: levels > 0, level: levels }
}

/** The column with values of its innermost field, none of which is null. */
export function around(type: ColumnType, column: Column): Column {
  if (type.kind !== 'struct') return column
  const [field] = type.fields
  return { type, length: column.length, children: [around((field as Field).type, column)] } // of one
}

/** The struct column of parts that have one field each. Throws a SourceError where these differ in which structs are null. */
export function together(type: ColumnType, parts: readonly Column[], place: Place): Column {
  const [first, ...others] = parts
  if (type.kind !== 'struct' || first === undefined) return first as Column // a part for each field
  const { validity, length } = first
  for (const { validity: other } of others) {
    const isSame = validity === undefined || other === undefined ? validity === other : Buffer.compare(validity, other) === 0
    if (!isSame) throw columnError(place, 'its fields differ in which rows have one: the file is damaged.')
  }
  const children = type.fields.map((field) => {
    const own = parts.filter((part) => (part.type as Struct).fields[0]?.name === field.name) // as the column's type is
    return together(
      field.type,
      own.map(({ children }) => children?.[0] as Column), // of one field
      place,
    )
  })
  const fields = type.fields.map((field, i) => ({ ...field, type: (children[i] as Column).type })) // one a field
  return { type: { kind: 'struct', fields }, length, ...(validity === undefined ? {} : { validity }), children }
}
