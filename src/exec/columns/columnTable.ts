/** The columns that a program yields, in blocks of the arena: written by the workers where they are to stay. */
import type { Batch, Column } from '../../core/column.ts'
import type { ColumnType } from '../../core/schema.ts'
import { BLOCK_ROWS, type ProgramOutput, valuesKernel } from '../kernels/wasmColumns.ts'
import type { Arena } from '../memory/arena.ts'
import { copyInto, freeColumn, mapBuffers } from '../memory/shareColumns.ts'
import { rowBatch, scalarBatch } from '../operators/batches.ts'
import { type ColumnRun, compiledKernel, type Selected } from './columnRun.ts'
import type { Compacted } from './columnTask.ts'
import { addressOf } from './kernelBinding.ts'

/** The result, whose columns own all their blocks; undefined when the program's kernels cannot make it. */
export async function programTable(run: ColumnRun, arena: Arena): Promise<Batch | undefined> {
  const { outputs, scalar } = run.program.shape
  const selected = await run.select({ skipsNulls: false })
  if (selected === undefined) return undefined
  const made = new Map<string, Column>()
  try {
    const isDone = selected === 'all' ? await allRows(run, arena, made) : await selectedRows(run, arena, selected, made)
    const columns = outputs.flatMap(({ name }) => made.get(name) ?? [])
    const [first] = columns
    if (isDone && first !== undefined) {
      const names = outputs.map(({ name }) => name)
      return scalar ? scalarBatch(first) : rowBatch(names, columns, first.length)
    }
    for (const column of made.values()) freeColumn(column, arena)
    return undefined
  } catch (error) {
    for (const column of made.values()) freeColumn(column, arena)
    throw error
  }
}

async function allRows(run: ColumnRun, arena: Arena, made: Map<string, Column>): Promise<boolean> {
  const { element, kernelColumns, steps, shape, columns, rows, name } = run.program
  const computed = shape.outputs.filter((output) => output.kind === 'computed')
  for (const output of shape.outputs) {
    if (output.kind === 'column')
      made.set(output.name, copied(columns[output.column] as Column, arena, name)) // of the program
    else made.set(output.name, emptyOutput(output, rows, arena, name))
  }
  if (computed.length === 0) return true
  const kernel = compiledKernel(valuesKernel, element, kernelColumns, steps, {
    outputs: computed.map((output) => output.name),
    asDoubles: false,
    sparse: false,
  })
  const counts = computed.map((output) => (output.nullable ? run.allocate(4 * (Math.ceil(rows / BLOCK_ROWS) + 1)) : undefined))
  const outputs = computed.map((output, i) => {
    const column = made.get(output.name)
    const validity = addressOf(column?.validity, arena)
    return { values: addressOf(column?.values, arena) ?? 0, ...(validity === undefined ? {} : { validity, counts: counts[i] ?? 0 }) }
  })
  const bound = run.bound(kernel, { outputs })
  if (bound === undefined) return false
  await run.together({ kind: 'blocks', kernel: bound }, run.units(rows), [])
  for (const [i, output] of computed.entries()) dropFullValidity(output.name, counts[i], rows, arena, made)
  return true
}

/** Without nulls there is no bitmap, as in columns made row by row. */
function dropFullValidity(name: string, counts: number | undefined, rows: number, arena: Arena, made: Map<string, Column>): void {
  const column = made.get(name)
  if (counts === undefined || column?.validity === undefined) return
  const present = (arena.view('i32', counts, Math.ceil(rows / BLOCK_ROWS)) as Int32Array).reduce((a, b) => a + b, 0)
  if (present < rows) return
  arena.free(column.validity.byteOffset)
  const { validity: _, ...rest } = column
  made.set(name, rest)
}

async function selectedRows(run: ColumnRun, arena: Arena, selected: Selected, made: Map<string, Column>): Promise<boolean> {
  const { element, kernelColumns, steps, shape, columns, rows, name } = run.program
  if (selected.total === 0 || shape.outputs.some((output) => output.nullable)) return false
  const computed = shape.outputs.filter((output) => output.kind === 'computed')
  const compacted: Compacted[] = []
  for (const output of shape.outputs) {
    const source = output.kind === 'column' ? (columns[output.column] as Column) : undefined // of the program
    const log2Bytes =
      source === undefined ? (output.kind === 'computed' && output.type === 'bool' ? 0 : 3) : LOG2_BYTES.get(source.type.kind)
    const address = source === undefined ? 0 : addressOf(source.values, arena)
    if (log2Bytes === undefined || address === undefined) return false
    const column =
      source === undefined
        ? emptyOutput(output, selected.total, arena, name)
        : { type: source.type, length: selected.total, values: reserved(source.values as Values, selected.total, arena, name) }
    made.set(output.name, column)
    const from = source === undefined ? { output: computed.indexOf(output as (typeof computed)[number]) } : { address }
    compacted.push({ from, log2Bytes, to: (column.values as Values).byteOffset })
  }
  const options = { outputs: computed.map((output) => output.name), asDoubles: false, sparse: true }
  const kernel =
    computed.length === 0 ? undefined : run.bound(compiledKernel(valuesKernel, element, kernelColumns, steps, options), selected)
  if (computed.length > 0 && kernel === undefined) return false
  const folds = [...new Set(compacted.map(({ log2Bytes }) => COMPACT[log2Bytes] ?? 'compact8'))]
  const work = { kind: 'compact', columns: compacted, selection: selected, ...(kernel === undefined ? {} : { kernel }) } as const
  await run.together(work, run.units(rows), folds)
  return true
}

const COMPACT = ['compact1', 'compact2', 'compact4', 'compact8'] as const

type Values = NonNullable<Column['values']>

/** Types of a value in a fixed number of bytes. */
const LOG2_BYTES: ReadonlyMap<ColumnType['kind'], number> = new Map([
  ...(['f64', 'i64', 'u64', 'timestamp', 'time'] as const).map((kind) => [kind, 3] as const),
  ...(['f32', 'i32', 'u32', 'date'] as const).map((kind) => [kind, 2] as const),
  ...(['i16', 'u16'] as const).map((kind) => [kind, 1] as const),
  ...(['i8', 'u8', 'bool'] as const).map((kind) => [kind, 0] as const),
])

/** A buffer of the same class for so many values, which are all going to be written. */
function reserved(like: Values, length: number, arena: Arena, operator: string): Values {
  const offset = arena.reserve(length * like.BYTES_PER_ELEMENT, operator)
  const bytes = arena.view('u8', offset, length * like.BYTES_PER_ELEMENT)
  const ArrayOfLike = like.constructor as new (buffer: ArrayBufferLike, byteOffset: number, length: number) => Values // a typed array's own class
  return new ArrayOfLike(bytes.buffer, offset, length)
}

function emptyOutput(output: ProgramOutput, rows: number, arena: Arena, operator: string): Column {
  const isBool = output.kind === 'computed' && output.type === 'bool'
  const values = reserved(isBool ? new Uint8Array() : new Float64Array(), rows, arena, operator)
  const type: ColumnType = { kind: isBool ? 'bool' : 'f64' }
  if (!output.nullable) return { type, length: rows, values }
  // kernels write the bitmap in words
  const validity = reserved(new Uint8Array(), (rows + 7) >> 3, arena, operator) as Uint8Array
  return { type, length: rows, values, validity }
}

function copied(column: Column, arena: Arena, operator: string): Column {
  return mapBuffers(column, (buffer) => copyInto(arena, buffer, operator))
}
