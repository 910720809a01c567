/**
 * Values of lines that a scanner has taken, put from their bytes into columns.
 *
 *     {"id":7,"tags":["a"]}      id 7, tags [a]: no string, list or object is made on the way
 */
import type { ListBuilder, StructBuilder } from '../../core/data/columnBuilder.ts'
import type { ColumnBuilder, TextBuilder } from '../../core/data/leafBuilders.ts'
import type { ColumnType } from '../../core/data/schema.ts'
import { blanksEnd, isIntegerToken, isKey, NEAR, numberAt, numberEnd, textEnd } from './scanLine.ts'
import { nothingSeen, type Seen } from './seenValues.ts'

/** What a column of the type allows a scanner to take. */
export function seenOfType(type: ColumnType): Seen {
  const seen = nothingSeen()
  switch (type.kind) {
    case 'list':
      return { ...seen, kind: 'a list', item: seenOfType(type.item) }
    case 'struct':
      return { ...seen, kind: 'an object', fields: new Map(type.fields.map((field) => [field.name, seenOfType(field.type)])) }
    case 'bool':
      return { ...seen, kind: 'a truth value' }
    case 'f64':
      return { ...seen, kind: 'a number', integers: false }
    case 'i64':
      return { ...seen, kind: 'a number', wide: 'any' }
    default:
      return { ...seen, kind: 'a text' }
  }
}

/** Puts the value that begins at a byte into a column; returns the position behind it. */
export type ValueReader = (at: number) => number

const NULL = 0x6e

/** A reader of values that fit the type, as a scanner has found. */
export function valueInto(bytes: Buffer, type: ColumnType, builder: ColumnBuilder): ValueReader {
  const read = presentInto(bytes, type, builder)
  return (at) => {
    if (bytes[at] !== NULL) return read(at)
    builder.append(null)
    return at + 4
  }
}

function presentInto(bytes: Buffer, type: ColumnType, builder: ColumnBuilder): ValueReader {
  switch (type.kind) {
    case 'list':
      return listInto(bytes, type.item, builder as ListBuilder) // the builder of its type
    case 'struct':
      return structInto(bytes, type, builder as StructBuilder) // the builder of its type
    case 'bool':
      return (at) => {
        const isTrue = bytes[at] === 0x74
        builder.append(isTrue)
        return at + (isTrue ? 4 : 5)
      }
    case 'i64':
      return (at) => {
        const end = numberEnd(bytes, at)
        builder.append(isIntegerToken(bytes, at, end) ? BigInt(bytes.toString('latin1', at, end)) : BigInt(numberAt(bytes, at, end)))
        return end
      }
    case 'f64':
      return (at) => {
        const end = numberEnd(bytes, at)
        builder.append(numberAt(bytes, at, end))
        return end
      }
    default:
      return textInto(bytes, builder as TextBuilder) // the builder of its type
  }
}

function textInto(bytes: Buffer, builder: TextBuilder): ValueReader {
  return (at) => {
    const end = textEnd(bytes, at + 1)
    for (let i = at + 1; i < end; i++) {
      if (bytes[i] !== 0x5c) continue
      builder.append(JSON.parse(bytes.toString('utf8', at, end)))
      return end
    }
    builder.appendUtf8(bytes, at + 1, end - 1)
    return end
  }
}

function listInto(bytes: Buffer, item: ColumnType, builder: ListBuilder): ValueReader {
  const read = valueInto(bytes, item, builder.child)
  return (from) => {
    let count = 0
    let at = blanksEnd(bytes, from + 1)
    while (bytes[at] !== 0x5d) {
      at = blanksEnd(bytes, read(at))
      count++
      if (bytes[at] === 0x2c) at = blanksEnd(bytes, at + 1)
    }
    builder.appendItems(count)
    return at + 1
  }
}

function structInto(bytes: Buffer, { fields }: Extract<ColumnType, { kind: 'struct' }>, builder: StructBuilder): ValueReader {
  const readers = fields.map(({ type }, i) => valueInto(bytes, type, builder.children[i] as ColumnBuilder)) // one for each field
  const keys = fields.map(({ name }) => Buffer.from(name))
  const numbers = new Map(fields.map(({ name }, i) => [name, i]))
  const objects = new Float64Array(fields.length) // the last object that had the field, by its number
  let object = 0
  const fieldAt = (from: number, next: number): number => {
    for (let i = next, end = Math.min(next + NEAR, keys.length); i < end; i++) if (isKey(bytes, from, keys[i] as Buffer)) return i // below the length
    return numbers.get(bytes.toString('utf8', from, textEnd(bytes, from) - 1)) ?? -1
  }
  return (from) => {
    object++
    let at = blanksEnd(bytes, from + 1)
    for (let next = 0; bytes[at] !== 0x7d; next++) {
      next = fieldAt(at + 1, next)
      objects[next] = object
      at = blanksEnd(bytes, at + (keys[next] as Buffer).length + 2) // the scanner knows no other names
      at = blanksEnd(bytes, (readers[next] as ValueReader)(blanksEnd(bytes, at + 1)))
      if (bytes[at] === 0x2c) at = blanksEnd(bytes, at + 1)
    }
    for (let i = 0; i < keys.length; i++) if (objects[i] !== object) builder.children[i]?.append(null)
    builder.appendFields()
    return at + 1
  }
}
