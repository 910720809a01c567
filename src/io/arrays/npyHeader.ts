/**
 * The header of a NumPy file, which describes the elements behind it: which numbers they are, in which order, under which keys.
 *
 *     \x93NUMPY, version 1 0, length of the header, {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }, spaces, line end, elements
 *
 * Of version 1 the length takes two bytes, of 2 and 3 four; 3 is in UTF-8. Source: the module numpy.lib.format, which defines it.
 */

import type { Shape } from '../../core/arrays/indexSpace.ts'
import type { DType } from '../../core/data/schema.ts'
import { valueText } from '../../core/data/valueKinds.ts'
import { SourceError } from '../../core/errors.ts'
import { checkForm } from '../bytes/fileForms.ts'
import type { ByteSource } from '../bytes/source.ts'
import { NoLiteral, type PythonLiteral, pythonLiteral } from './pythonLiteral.ts'

/** Elements as they lie in a file. */
export interface NpyElements {
  /** The type of the numbers; u64 is no dtype of arrays. */
  readonly dtype: DType | 'u64'
  readonly width: 1 | 2 | 4 | 8
  readonly bigEndian: boolean
}

export interface NpyHeader extends NpyElements {
  readonly shape: Shape
  /** Whether the first axis runs fastest, and not the last. */
  readonly fortran: boolean
  /** The byte at which the elements begin. */
  readonly start: number
}

const MAGIC: readonly number[] = [0x93, ...Buffer.from('NUMPY')]
/** Most bytes of a header, as of version 1: those of arrays of numbers have about a hundred, and only names of fields make them longer. */
const LONGEST_HEADER_BYTES = 65_535
/** Most axes of a NumPy array. */
const MOST_AXES = 64
const LARGEST_EXTENT = 2 ** 31 - 1

/** Reads and checks the header, and that the elements are as many as it says. SourceError for everything else. */
export async function readNpyHeader(bytes: ByteSource, path: string): Promise<NpyHeader> {
  const { text, start } = await headerText(bytes, path)
  const damaged = (what: string): SourceError => new SourceError(`${path} is damaged: ${what}.`, path)
  let literal: PythonLiteral
  try {
    literal = pythonLiteral(text)
  } catch (error) {
    if (error instanceof NoLiteral) throw damaged(`its header is no literal of Python, ${error.message}`)
    throw error
  }
  if (!(literal instanceof Map)) throw damaged('its header is no dict')
  const names = ['descr', 'fortran_order', 'shape']
  const found: readonly string[] = [...literal.keys()]
  if (found.length !== names.length || !names.every((name) => found.includes(name)))
    throw damaged(`its header has ${found.length === 0 ? 'nothing' : found.map(valueText).join(', ')} instead of ${names.join(', ')}`)
  const fortran: PythonLiteral = literal.get('fortran_order')
  if (typeof fortran !== 'boolean') throw damaged('fortran_order in its header is neither True nor False')
  const shape = shapeOf(literal.get('shape'), path)
  const elements = elementsOf(literal.get('descr'), path)
  const size = shape.reduce((product, extent) => product * extent, 1)
  const [needed, there] = [size * elements.width, bytes.size - start]
  if (needed !== there) {
    const what = `it has ${there} bytes of elements, and ${shapeText(shape)} of ${elements.width} bytes each needs ${needed}`
    const why = there < needed ? 'it was cut, or is still being written' : 'a .npy file has one array and nothing behind it'
    throw damaged(`${what}: ${why}`)
  }
  if (shape.length === 0)
    throw new SourceError(
      `${path} has a single number and no axis, and arrays have at least one. Save it with one, as in np.save(file, a.reshape(1)).`,
      path,
    )
  return { ...elements, shape, fortran, start }
}

async function headerText(bytes: ByteSource, path: string): Promise<{ readonly text: string; readonly start: number }> {
  if (bytes.size === 0) throw new SourceError(`${path} is empty. A .npy file has at least a header.`, path)
  const head = await bytes.read(0, Math.min(12, bytes.size))
  if (!MAGIC.every((byte, i) => head[i] === byte)) {
    if (head[0] === 0x50 && head[1] === 0x4b)
      throw new SourceError(
        `${path} is a zip archive, as .npz files are, and readNpy() reads one array. Unpack it first, for example with unzip ${path}, and read the .npy files in it.`,
        path,
      )
    await checkForm(bytes, path, 'readNpy')
    throw new SourceError(`${path} is no .npy file: it does not begin with \\x93NUMPY.`, path)
  }
  const cut = (): SourceError => new SourceError(`${path} was cut, or is still being written: its header is not all there.`, path)
  const [major = 0, minor] = head.subarray(6)
  if (head.length < 10) throw cut()
  if (minor !== 0 || major < 1 || major > 3) {
    const text = `${path} has version ${major}.${minor} of the .npy format, and 1.0, 2.0 and 3.0 are read.`
    throw new SourceError(`${text} Save it with a version that is, as in np.lib.format.write_array(file, a, (1, 0)).`, path)
  }
  if (major > 1 && head.length < 12) throw cut()
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength)
  const [length, from] = major === 1 ? [view.getUint16(8, true), 10] : [view.getUint32(8, true), 12]
  if (length > LONGEST_HEADER_BYTES)
    throw new SourceError(
      `${path} says that its header has ${length} bytes, and those of arrays of numbers have at most ${LONGEST_HEADER_BYTES}: it is damaged, or has fields with names.`,
      path,
    )
  if (from + length > bytes.size) throw cut()
  const header = await bytes.read(from, from + length)
  try {
    const text = major === 3 ? new TextDecoder('utf-8', { fatal: true }).decode(header) : Buffer.from(header).toString('latin1')
    return { text, start: from + length }
  } catch (cause) {
    throw new SourceError(`${path} is damaged: its header is not UTF-8.`, path, { cause })
  }
}

function shapeOf(literal: PythonLiteral | undefined, path: string): Shape {
  const damaged = (what: string): SourceError => new SourceError(`${path} is damaged: the shape in its header ${what}.`, path)
  if (typeof literal !== 'object' || literal === null || !('tuple' in literal)) throw damaged('is no tuple')
  const { tuple } = literal
  if (tuple.length > MOST_AXES) throw damaged(`has ${tuple.length} axes, and arrays of NumPy have at most ${MOST_AXES}`)
  return tuple.map((extent, axis) => {
    if (typeof extent !== 'number') throw damaged(`has an extent at axis ${axis} that is no whole number`)
    if (extent < 0) throw damaged(`has the extent ${extent} at axis ${axis}`)
    if (extent > LARGEST_EXTENT)
      throw new SourceError(
        `${path} has the extent ${extent} at axis ${axis}, and arrays have at most ${LARGEST_EXTENT} along one. Save it with more axes, as in a.reshape(-1, 1024).`,
        path,
      )
    return extent
  })
}

function shapeText(shape: Shape): string {
  return shape.length === 0 ? 'one number' : `the shape [${shape.join(', ')}]`
}

const ELEMENTS: Readonly<Record<string, readonly [NpyElements['dtype'], NpyElements['width']]>> = {
  f8: ['f64', 8],
  f4: ['f32', 4],
  i8: ['i64', 8],
  u8: ['u64', 8],
  i4: ['i32', 4],
  u4: ['u32', 4],
  i2: ['i16', 2],
  u2: ['u16', 2],
  i1: ['i8', 1],
  u1: ['u8', 1],
  b1: ['bool', 1],
}

function elementsOf(descr: PythonLiteral | undefined, path: string): NpyElements {
  const text = typeof descr === 'string' ? descr : 'with fields'
  const [, order, kind = '', digits = ''] = /^([<>|=]?)([a-zA-Z?])(\d*)/.exec(typeof descr === 'string' ? descr : '') ?? []
  const known = text.length === (order?.length ?? 0) + kind.length + digits.length ? ELEMENTS[kind + digits] : undefined
  if (known === undefined) throw new SourceError(`${path} has elements of dtype ${text}, and ${READ}. ${cureOf(descr, kind)}`, path)
  const [dtype, width] = known
  if (width > 1 && order !== '<' && order !== '>')
    throw new SourceError(
      `${path} has elements of dtype ${text}, which does not say the order of their bytes. Save it with one, as in a.astype('<${kind}${digits}').`,
      path,
    )
  return { dtype, width, bigEndian: order === '>' }
}

const READ = 'arrays hold float64, float32, bool, and integers of 8 to 64 bits'

/** The cure in Python, where the file comes from. */
function cureOf(descr: unknown, kind: string): string {
  if (typeof descr !== 'string')
    return "Save each field as an array of its own, as in np.save(file, a['name']), or the rows as a table: pandas.DataFrame(a).to_parquet(file)."
  switch (kind) {
    case 'f':
      return descr.endsWith('f2')
        ? "Save it as one of them: a.astype('float32') has the same numbers."
        : "Save it as a.astype('float64'), which rounds."
    case 'c':
      return 'Save its parts as two arrays, a.real and a.imag.'
    case 'M':
    case 'm':
      return "Save it as a.astype('int64'), which counts its unit."
    case 'U':
    case 'S':
      return "Save texts as a table: pandas.DataFrame({'text': a.ravel()}).to_parquet(file), for readParquet()."
    case 'O':
      return "Save it as one of them, as in a.astype('float64'); what is no number belongs into a table."
    default:
      return "Save it as one of them, as in a.astype('float64')."
  }
}

const DESCRS: Readonly<Record<DType, string>> = {
  f64: '<f8',
  f32: '<f4',
  i64: '<i8',
  i32: '<i4',
  u32: '<u4',
  i16: '<i2',
  u16: '<u2',
  i8: '|i1',
  u8: '|u1',
  bool: '|b1',
}

/** The header of an array whose elements follow in row-major order, least bytes first: version 1.0, which all readers know. */
export function npyHeader(shape: Shape, dtype: DType): Uint8Array {
  const extents = shape.length === 1 ? `${shape[0]},` : shape.join(', ')
  const dict = `{'descr': '${DESCRS[dtype]}', 'fortran_order': False, 'shape': (${extents}), }`
  // elements begin at a multiple of 64, for those who map the file
  const length = Math.ceil((10 + dict.length + 1) / 64) * 64 - 10
  return Buffer.concat([
    Uint8Array.from([...MAGIC, 1, 0, length & 255, length >> 8]),
    Buffer.from(`${dict.padEnd(length - 1)}\n`, 'latin1'),
  ])
}
