/**
 * Checks the headers of Arrow messages before they are decoded.
 *
 * Headers are FlatBuffers: tables that point at tables by offsets. A decoder follows them without question, so that one
 * changed byte can ask for billions of fields or send it in circles. Here the counts of everything that is decoded
 * are compared with the bytes there are, and texts that are named again and again are counted each time.
 */
import { Fault, type FlatBuffer, faultOf } from './flatBuffer.ts'

/** Most levels of nested types: what is deeper goes in circles. */
const DEEPEST = 64
/** Most fields and buffers of a header: fields become objects of a KiB or so, each buffer a small one. */
const MOST_FIELDS = 250_000
const MOST_BUFFERS = 1_000_000
/** Names of types that the decoder does not know, whose last one is LAST_TYPE; run-end encoded lies before it. */
const NEWER_TYPES: ReadonlyMap<number, string> = new Map([
  [22, 'run-end encoded'],
  [25, 'list view'],
  [26, 'large list view'],
])
const LAST_TYPE = 24
/** Faults of sound files: a type without a name is a changed byte rather. */
const UNREAD: RegExp = new RegExp(`(?<what>.* (?:${[...NEWER_TYPES.values(), 'big-endian'].join('|')})), which is not read$`)
/** Types with any number of columns below them, and with one. */
const RECORDS: readonly number[] = [13, 14]
const LISTS: readonly number[] = [12, 16, 17, 21]
const TIMESTAMP = 10
const SCHEMA = 1
const DICTIONARY_BATCH = 2
const RECORD_BATCH = 3
/** The messages of tensors, dense and sparse. */
const TENSORS: readonly number[] = [4, 5]

/** Says of a file what the fault of one of its headers is; `at` is where. */
export function headerFaultText(path: string, fault: string, at = ''): string {
  const { what } = UNREAD.exec(fault)?.groups ?? {}
  return what === undefined ? `${path} is damaged: ${fault}${at}.` : `${path} cannot be read: ${what}. Write it in another form.`
}

/** The fault of a message's header; undefined where it is sound. */
export function messageFault(bytes: Uint8Array): string | undefined {
  return faultOf(bytes, (buffer) => {
    const message = buffer.root()
    const type = buffer.byte(message, 1)
    const header = buffer.table(message, 2)
    buffer.vector(message, 4, 4)
    if (header === undefined) throw new Fault('a message has no header')
    if (type === SCHEMA) checkSchema(buffer, header)
    else if (type === RECORD_BATCH) checkBatch(buffer, header)
    else if (type === DICTIONARY_BATCH) {
      const data = buffer.table(header, 1)
      if (data === undefined) throw new Fault('a dictionary has no data')
      checkBatch(buffer, data)
    } else if (TENSORS.includes(type)) throw new Fault('there is a tensor, which has no rows and is for load(),')
    else throw new Fault(`there is no message type ${type}`)
  })
}

/** The fault of the index at the end of a file; undefined where it is sound. */
export function footerFault(bytes: Uint8Array): string | undefined {
  return faultOf(bytes, (buffer) => {
    const footer = buffer.root()
    const schema = buffer.table(footer, 1)
    if (schema === undefined) throw new Fault('the index has no schema')
    checkSchema(buffer, schema)
    buffer.vector(footer, 2, 24)
    buffer.vector(footer, 3, 24)
  })
}

function checkBatch(buffer: FlatBuffer, batch: number): void {
  const nodes = buffer.vector(batch, 1, 16)?.count ?? 0
  const buffers = buffer.vector(batch, 2, 16)?.count ?? 0
  if (nodes > MOST_FIELDS || buffers > MOST_BUFFERS) throw new Fault('a header lists more columns than are read')
  buffer.vector(batch, 4, 8)
}

function checkSchema(buffer: FlatBuffer, schema: number): void {
  if (buffer.byte(schema, 0) !== 0) throw new Fault('its numbers are big-endian, which is not read')
  let left = Math.min(MOST_FIELDS, buffer.length / 8) // a field takes more than that
  // texts that several fields share are few
  let text = 4 * buffer.length + 2 ** 20
  const count = (bytes: number): void => {
    text -= bytes
    if (text < 0) throw new Fault('its schema names one text again and again')
  }
  const pairs = (vector: { readonly start: number; readonly count: number } | undefined): void => {
    for (let i = 0; i < (vector?.count ?? 0); i++) {
      const pair = buffer.follow((vector?.start ?? 0) + 4 * i)
      count(16 + (buffer.vector(pair, 0, 1)?.count ?? 0) + (buffer.vector(pair, 1, 1)?.count ?? 0))
    }
  }
  pairs(buffer.vector(schema, 2, 4))
  const visit = (tables: { readonly start: number; readonly count: number } | undefined, depth: number): void => {
    if (tables === undefined) return
    if (depth > DEEPEST || (left -= tables.count) < 0) throw new Fault('its schema goes in circles, or has too many fields')
    for (let i = 0; i < tables.count; i++) {
      const field = buffer.follow(tables.start + 4 * i)
      count(buffer.vector(field, 0, 1)?.count ?? 0)
      const type = buffer.byte(field, 2)
      if (type === 22 || type > LAST_TYPE)
        throw new Fault(`a column has the Arrow type ${NEWER_TYPES.get(type) ?? `number ${type}`}, which is not read`)
      const parameters = buffer.table(field, 3)
      if (type === TIMESTAMP && parameters !== undefined) count(buffer.vector(parameters, 1, 1)?.count ?? 0)
      pairs(buffer.vector(field, 6, 4))
      const children = buffer.vector(field, 5, 4)
      if (!RECORDS.includes(type) && (children?.count ?? 0) !== (LISTS.includes(type) ? 1 : 0))
        throw new Fault(`a column of the Arrow type number ${type} has ${children?.count ?? 0} columns below it`)
      visit(children, depth + 1)
    }
  }
  visit(buffer.vector(schema, 1, 4), 0)
}
