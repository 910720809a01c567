/** The TypeScript types of columns' values, as text. */
import type { ColumnType, Field } from './schema.ts'

/** The TypeScript type of a field's values, null included. */
export function fieldText({ type, nullable }: Field): string {
  return nullable && type.kind !== 'null' ? `${typescriptOf(type)} | null` : typescriptOf(type)
}

/** Writes a name as a key of an object type. */
export function keyText(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)
}

/** The TypeScript type of a column's values, null not included. */
export function typescriptOf(type: ColumnType): string {
  switch (type.kind) {
    case 'f64':
    case 'f32':
    case 'i32':
    case 'u32':
    case 'i16':
    case 'u16':
    case 'i8':
    case 'u8':
      return 'number'
    case 'i64':
    case 'u64':
    case 'time':
      return 'bigint'
    case 'bool':
      return 'boolean'
    case 'utf8':
      return 'string'
    case 'binary':
      return 'Uint8Array'
    case 'date':
    case 'timestamp':
      return 'Date'
    case 'null':
      return 'null'
    case 'list': {
      const item = typescriptOf(type.item)
      return /^[\w$]+$/.test(item) ? `${item}[]` : `(${item})[]`
    }
    case 'struct':
      return `{ ${type.fields.map((field) => `${keyText(field.name)}: ${fieldText(field)}`).join('; ')} }`
    case 'object':
    case 'unknown':
      return 'unknown'
  }
}
