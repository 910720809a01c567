/**
 * Arrow's schema, but for one question that a record batch asks when it is made: the same schema with these fields.
 *
 * Arrow looks for each of the fields in the list of all, which takes a minute for 240,000 columns. Where they are the
 * schema's own there is nothing to look for.
 */
import { type Field as ArrowField, Schema } from './arrowLibrary.ts'

export function linearSchema(fields: ArrowField[]): Schema {
  made ??= linearSchemaClass()
  return new made(fields)
}

/** The class, which is made with the first schema, since Arrow is loaded late. */
let made: typeof Schema | undefined

function linearSchemaClass(): typeof Schema {
  return class LinearSchema extends Schema {
    override assign(...args: readonly (Schema | ArrowField | ArrowField[])[]): Schema {
      const [fields] = args
      const isOwn = Array.isArray(fields) && fields.length === this.fields.length && fields.every((field, i) => field === this.fields[i])
      return isOwn ? this : super.assign(...(args as ArrowField[])) // any of the forms that Arrow takes
    }
  }
}
