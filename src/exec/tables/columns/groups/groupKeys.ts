/**
 * Keys of a group-by in one pass: their parts are columns of whole numbers, or computed as whole numbers. Computed doubles are taken
 * for whole numbers until the kernel finds one that is none.
 */
import type { Column } from '../../../../core/data/column.ts'
import { sliceColumn } from '../../../../core/data/columnSlices.ts'
import { FIXED_FORMS, isFixedKind } from '../../../../core/data/fixedValues.ts'
import type { ColumnType } from '../../../../core/data/schema.ts'
import { BLOCK_ROWS, valuesKernel } from '../../../kernels/columns/wasmColumns.ts'
import { putAddress } from '../../../memory/addressWords.ts'
import { stridesOf, type Window, windowsOf } from '../../operators/hashing/keyWindows.ts'
import { structColumn } from '../../operators/rows/rowKernel.ts'
import type { CodedKeys } from '../columnProgram.ts'
import { type ColumnRun, compiledKernel } from '../columnRun.ts'
import { runsHere } from '../columnTask.ts'
import { addressOf } from '../kernelBinding.ts'
import { codesOf } from '../texts/textCodes.ts'

/** A part of the key: a column of whole numbers, or an output that is computed as 32-bit integers, or as booleans. */
type Part =
  | { readonly kind: 'column'; readonly output: string; readonly column: Column }
  | { readonly kind: 'computed'; readonly output: string; readonly truth: boolean }

export interface PassKey {
  readonly parts: readonly Part[]
  /** The names of the key's fields; absent where the key is a value. */
  readonly names?: readonly string[]
  readonly coded: CodedKeys
}

/** Types of which all values, or those that the kernel finds to be whole numbers, have places. */
const WHOLE: ReadonlySet<ColumnType['kind']> = new Set(['f64', 'i64', 'i32', 'u32', 'i16', 'u16', 'i8', 'u8', 'bool', 'date'])

/** The key of the program's groups; undefined where a part is no whole number, or lies outside the arena. */
export function passKey({ program, arena }: ColumnRun): PassKey | undefined {
  const [hidden] = program.shape.hidden ?? []
  if (hidden === undefined || program.shape.dates === true || program.shape.throws === true) return undefined
  const names = hidden.kind === 'value' ? [hidden.output] : hidden.fields.map(({ output }) => output)
  const parts: Part[] = []
  const coded: CodedKeys[number][] = []
  for (const [p, name] of names.entries()) {
    const output = program.shape.outputs.find((one) => one.name === name)
    if (output?.kind === 'column') {
      const column = program.columns[output.column]
      if (column === undefined || !WHOLE.has(column.type.kind) || !isReached(column, arena)) return undefined
      parts.push({ kind: 'column', output: name, column })
    } else if (output === undefined || output.nullable || output.type === 'utf8') return undefined
    else parts.push({ kind: 'computed', output: name, truth: output.type === 'bool' })
    coded.push(program.coded?.[p] ?? (output.kind === 'computed' && output.type === 'f64' ? 'doubles' : undefined))
  }
  return { parts, coded, ...(hidden.kind === 'value' ? {} : { names: hidden.fields.map(({ name }) => name) }) }
}

function isReached({ values, validity }: Column, arena: ColumnRun['arena']): boolean {
  return addressOf(values, arena) !== undefined && (validity === undefined || addressOf(validity, arena) !== undefined)
}

/** The key as one column, from the columns of its parts. */
export function keyColumn({ names }: PassKey, parts: readonly Column[], length: number): Column {
  return names === undefined ? (parts[0] as Column) : structColumn(names, parts, length) // a value has one part
}

/** A window for each part, guessed from a sample, but exact for codes of texts; undefined where the keys of the sample are not dense. */
export function passWindows(run: ColumnRun, key: PassKey, lookedAt: number): readonly Window[] | undefined {
  const seen = key.parts.some((part) => part.kind === 'computed')
    ? computedWindows(run, key, lookedAt)
    : columnWindows(key, run.program.rows, lookedAt)
  return seen?.map((window, p) => {
    const text = key.coded[p]
    const codes = typeof text === 'object' ? codesOf(text) : undefined
    return codes === undefined ? window : { base: 0, span: codes.firsts.length }
  })
}

function columnWindows(key: PassKey, rows: number, lookedAt: number): readonly Window[] | undefined {
  const column = keyColumn(
    key,
    key.parts.flatMap((part) => (part.kind === 'column' ? [part.column] : [])),
    rows,
  )
  return windowsOf([column], column.type, { lookedAt })
}

/** Windows around the keys of a sample of blocks, which are computed on this thread. */
function computedWindows(run: ColumnRun, key: PassKey, lookedAt: number): readonly Window[] | undefined {
  const { program, arena } = run
  const { element, kernelColumns, steps, rows } = program
  const outputs = key.parts.flatMap((part) => (part.kind === 'computed' ? [part] : []))
  const names = outputs.map(({ output }) => output)
  const buffers = outputs.map(() => run.allocate(8 * BLOCK_ROWS))
  const inexact = run.allocate(4)
  const kernel = compiledKernel(valuesKernel, element, kernelColumns, steps, {
    outputs: names,
    asDoubles: false,
    sparse: false,
    integers: names,
  })
  const bound = run.bound(kernel, { inexact })
  if (bound === undefined) return undefined
  const compute = runsHere(bound, arena)
  const frame = run.allocate(8 * bound.frame.length)
  const words = arena.view('i32', frame, 2 * bound.frame.length) as Int32Array
  ;(arena.view('f64', frame, bound.frame.length) as Float64Array).set(bound.frame)
  const blocks = Math.ceil(rows / BLOCK_ROWS)
  const pieces = Math.ceil(lookedAt / BLOCK_ROWS)
  const looked = [...new Set(Array.from({ length: pieces }, (_, i) => Math.floor((i * (blocks - 1)) / Math.max(1, pieces - 1))))]
  const keys = looked.map((block) => {
    const from = block * BLOCK_ROWS
    const to = Math.min(from + BLOCK_ROWS, rows)
    for (const [i, { truth }] of outputs.entries())
      putAddress(words, 2 * (bound.outputs[i]?.values ?? 0), (buffers[i] as number) - (truth ? 1 : 4) * from)
    compute(frame, from, to)
    const parts = key.parts.map((part): Column => {
      if (part.kind === 'column') return sliceColumn(part.column, from, to)
      const kind = part.truth ? 'bool' : 'i32'
      const values = arena.view(part.truth ? 'u8' : 'i32', buffers[outputs.indexOf(part)] as number, to - from).slice()
      return { type: { kind }, length: to - from, values }
    })
    return keyColumn(key, parts, to - from)
  })
  if ((arena.view('i32', inexact, 1) as Int32Array)[0] !== 0) return undefined
  return windowsOf(keys, (keys[0] as Column).type, { lookedAt: Number.POSITIVE_INFINITY }) // there is a first block
}

/** The keys of groups, decoded from their places in the windows. */
export function groupKeys(key: PassKey, windows: readonly Window[], places: Int32Array): Column {
  const strides = stridesOf(windows)
  const parts = key.parts.map((part, p): Column => {
    const [window, stride] = [windows[p] as Window, strides[p] as number] // one of each for each part
    const type: ColumnType = part.kind === 'column' ? part.column.type : { kind: part.truth ? 'bool' : 'i32' }
    return columnOfNumbers(type, places.length, (group) => partAt(places[group] as number, window, stride))
  })
  return keyColumn(key, parts, places.length)
}

/** The number that a part of the key has at a place; null behind its window. */
export function partAt(place: number, { base, span }: Window, stride: number): number | null {
  const at = Math.floor(place / stride) % (span + 1)
  return at === span ? null : base + at
}

/** A column of whole numbers of a fixed type, or of null. */
export function columnOfNumbers(type: ColumnType, length: number, numberOf: (row: number) => number | null): Column {
  const values = new FIXED_FORMS[isFixedKind(type.kind) ? type.kind : 'i32'].array(length)
  const validity = new Uint8Array((length + 7) >> 3)
  const isLong = values instanceof BigInt64Array
  let present = 0
  for (let row = 0; row < length; row++) {
    const number = numberOf(row)
    if (number === null) continue
    values[row] = isLong ? BigInt(number) : number
    validity[row >> 3] = (validity[row >> 3] as number) | (1 << (row & 7))
    present++
  }
  return { type, length, values, ...(present === length ? {} : { validity }) }
}
