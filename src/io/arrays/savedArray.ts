/**
 * Files of whole arrays with keys of their own: Arrow files, which others read as well, whose schema says what the array is.
 *
 *     dense     value                      row by row; a record batch for every so many elements
 *     sparse    key0, key1, …, value       in the order of the keys
 *
 * Booleans are bytes, as in storage. What is loaded is compared with a digest of what was saved, so that nothing else passes for it.
 */

import { createHash } from 'node:crypto'
import { checkShape, type Shape, sizeOfShape } from '../../core/arrays/indexSpace.ts'
import { ARRAY_OF_DTYPE } from '../../core/arrays/storage.ts'
import type { Column, TypedArray } from '../../core/data/column.ts'
import { type DType, type ElementType, type Field, sameType, VALUE_COLUMN } from '../../core/data/schema.ts'
import { SourceError } from '../../core/errors.ts'
import type { Access, WriteAccess } from '../../core/ports.ts'
import { recordBatchWith } from '../arrow/arrowBatches.ts'
import { openArrowFile, readArrowSplit } from '../arrow/arrowFile.ts'
import { Schema } from '../arrow/arrowLibrary.ts'
import { arrowSchemaOf } from '../arrow/arrowTypes.ts'
import { writeRecordBatches } from '../arrow/writeArrow.ts'
import { nameOfPath } from '../bytes/byteSource.ts'
import { filesOf } from '../bytes/paths.ts'
import { checkReading, type FileSource, type ReadOptions } from '../reading.ts'

/** The description of an array, without its elements. */
export interface SavedForm {
  readonly storage: 'dense' | 'sparse'
  readonly shape: Shape
  readonly dtype: DType
  /** Whether elements of a bool array are true and false, not 1 and 0. */
  readonly booleans: boolean
  /** The number of elements that are there. */
  readonly length: number
}

/** Elements in the order of their keys, which dense arrays have none of here. */
export interface SavedPiece {
  readonly keys: readonly Int32Array[]
  readonly values: TypedArray
}

/** The key of the array's description in the schema's metadata. */
const NOTE = 'distarray.array'
const VERSION = 1

type RowElement = ElementType & { readonly kind: 'row' }

/** The digest of the form and of a digest of the elements. */
function digestWith(form: SavedForm, elements: string): string {
  return createHash('sha256')
    .update(`${noteOf(form)}\n${elements}`)
    .digest('hex')
}

function noteOf({ storage, shape, dtype, booleans, length }: SavedForm): string {
  return JSON.stringify({ version: VERSION, storage, shape, dtype, booleans, length })
}

function rowOf({ storage, shape, dtype }: SavedForm): RowElement {
  const keys = storage === 'dense' ? [] : shape.map((_, axis): Field => ({ name: `key${axis}`, type: { kind: 'i32' }, nullable: false }))
  return { kind: 'row', fields: [...keys, { name: VALUE_COLUMN, type: { kind: dtype === 'bool' ? 'u8' : dtype }, nullable: false }] }
}

/** Writes a file that appears under its name when it is complete. `digest` is one of the elements. */
export async function writeSaved(
  path: string,
  form: SavedForm,
  { digest, pieces, ...access }: WriteAccess & { readonly digest: string; readonly pieces: Iterable<SavedPiece> },
): Promise<{ readonly rows: number; readonly bytes: number }> {
  const element = rowOf(form)
  const note = JSON.stringify({ ...(JSON.parse(noteOf(form)) as object), digest: digestWith(form, digest) })
  const schema = new Schema(arrowSchemaOf(element).fields, new Map([[NOTE, note]]))
  const batches = function* (): Generator<ReturnType<typeof recordBatchWith>, void, undefined> {
    for (const { keys, values } of pieces) {
      const { length } = values
      const columns = [...keys, values].map((values, i): Column => ({ type: (element.fields[i] as Field).type, length, values })) // as many
      yield recordBatchWith(schema, { element, length, columns })
    }
  }
  return { rows: form.length, bytes: await writeRecordBatches({ path, schema }, batches(), access) }
}

/** An array in a file. */
export interface SavedFile {
  /** The file's name in messages. */
  readonly name: string
  readonly form: SavedForm
  /** Its elements, checked one by one, but for their digest. */
  pieces(): AsyncIterable<SavedPiece>
  /** SourceError unless this is a digest of the elements that were saved. */
  check(digest: string): void
}

/** The file that `load` is asked for, and how it is opened, which may be more than once. */
export interface LoadedFile {
  readonly path: string
  readonly access: ReadOptions & Pick<Access, 'given'>
}

export async function fileToLoad(source: FileSource, options: ReadOptions): Promise<LoadedFile> {
  checkReading('load', options, [])
  const { paths, given } = await filesOf(source, options)
  const [path = ''] = paths
  if (paths.length > 1) throw new SourceError(`load() reads one array, and ${paths.length} files were named. Load them one by one.`, path)
  return { path, access: { ...options, given } }
}

/** Opens a file that was saved. SourceError for any other. */
export async function openSaved({ path, access }: LoadedFile, budgetBytes: number): Promise<SavedFile> {
  const damaged = (what: string): SourceError =>
    new SourceError(`${path} is damaged: ${what}. Take a copy of it, or save the array again.`, path)
  const file = await openArrowFile(path, access, budgetBytes)
  const text = file.notes.get(NOTE)
  if (text === undefined)
    throw new SourceError(`${path} is an Arrow file, and no array that save() wrote. Read its rows with readArrow().`, path)
  const { form, digest } = formOf(text, path, damaged)
  const element = rowOf(form)
  const { fields } = file.source.element as RowElement // that of an Arrow file
  const isSame = ({ name, type, nullable }: Field, i: number): boolean =>
    name === fields[i]?.name && sameType(type, fields[i].type) && nullable === fields[i].nullable
  if (fields.length !== element.fields.length || !element.fields.every(isSame))
    throw damaged('its columns are not those that its schema tells of')
  const { rows = 0, splits } = file.source
  if (rows !== form.length) throw damaged(`it has ${rows} elements, and its schema tells of ${form.length}`)
  const names = fields.map(({ name }) => name)
  async function* pieces(): AsyncGenerator<SavedPiece, void, undefined> {
    const order = new KeyOrder(form, damaged)
    for (const split of splits) {
      const read = await readArrowSplit(file.source, split, names, undefined, access)
      for (const { columns } of read) {
        if (columns.some(({ validity }) => validity !== undefined)) throw damaged('an element of it is null')
        const all = columns.map(({ values, length }) => (values as TypedArray).subarray(0, length)) // of fixed width, as the fields say
        const [keys, values] = [all.slice(0, -1) as Int32Array[], all.at(-1) as TypedArray]
        order.check(keys, values.length)
        if (form.dtype === 'bool' && values.some((value: number | bigint) => value > 1)) throw damaged('a bool of it is neither 0 nor 1')
        yield { keys, values }
      }
    }
  }
  const check = (found: string): void => {
    if (digestWith(form, found) !== digest) throw damaged('its elements are not those that were saved')
  }
  return { name: nameOfPath(path), form, pieces, check }
}

/** The form and the digest that the schema says, checked, as foreign bytes may say anything. */
function formOf(text: string, path: string, damaged: (what: string) => SourceError): { readonly form: SavedForm; readonly digest: string } {
  const nonsense = (): SourceError => damaged('what its schema says of the array makes no sense')
  let said: Readonly<Record<string, unknown>>
  try {
    said = Object(JSON.parse(text)) as Readonly<Record<string, unknown>>
  } catch {
    throw nonsense()
  }
  const { version, storage, shape, dtype, booleans, length, digest } = said
  if (typeof version === 'number' && version > VERSION)
    throw new SourceError(
      `${path} was saved by a later version of distarray, in a form that this one does not know. Load it with that version.`,
      path,
    )
  const isForm =
    version === VERSION &&
    (storage === 'dense' || storage === 'sparse') &&
    typeof dtype === 'string' &&
    Object.hasOwn(ARRAY_OF_DTYPE, dtype) &&
    typeof booleans === 'boolean' &&
    typeof length === 'number' &&
    typeof digest === 'string' &&
    isShape(shape) &&
    (storage === 'sparse' || sizeOfShape(shape) === length)
  if (!isForm) throw nonsense()
  return { form: { storage, shape, dtype: dtype as DType, booleans, length }, digest }
}

function isShape(value: unknown): value is Shape {
  try {
    checkShape('saved', Array.isArray(value) ? (value as Shape) : [])
    return true
  } catch {
    return false
  }
}

/** Checks that keys lie in the shape, each behind the one before it. */
class KeyOrder {
  readonly #shape: Shape
  readonly #damaged: (what: string) => SourceError
  readonly #last: Int32Array

  constructor({ shape }: SavedForm, damaged: (what: string) => SourceError) {
    this.#shape = shape
    this.#damaged = damaged
    this.#last = new Int32Array(shape.length).fill(-1)
  }

  check(keys: readonly Int32Array[], length: number): void {
    if (keys.length === 0) return
    const axes = keys.length
    for (let i = 0; i < length; i++) {
      let order = 0
      for (let axis = 0; axis < axes; axis++) {
        const [k, before] = [keys[axis]?.[i] as number, this.#last[axis] as number] // i < length
        if (!(k >= 0 && k < (this.#shape[axis] as number)))
          throw this.#damaged(`its key [${keys.map((column) => column[i]).join(', ')}] is outside of its shape`)
        if (order === 0) order = k - before
        this.#last[axis] = k
      }
      if (order <= 0) throw this.#damaged('its keys are not in order')
    }
  }
}
