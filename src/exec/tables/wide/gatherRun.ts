/** Gathers columns at rows in any order into blocks of the arena, by all workers; texts in two passes. */
import type { Column } from '../../../core/data/column.ts'
import { bytesOf } from '../../../core/data/columnSlices.ts'
import { popcount } from '../columns/bitmap.ts'
import type { ResultBlocks } from '../columns/resultBlocks.ts'
import { CHUNK_ROWS, type Gathered } from '../operators/gather/gatheredColumns.ts'
import type { SortRun } from './sortRun.ts'

/** Whether kernels can gather a column: no lists or objects. */
export function isGatherable({ type, children = [] }: Column): boolean {
  switch (type.kind) {
    case 'list':
    case 'object':
      return false
    case 'struct':
      return children.every(isGatherable)
    default:
      return true
  }
}

interface Rows {
  readonly address: number
  readonly length: number
}

/** A column that is being gathered. */
interface Growing {
  readonly first: readonly Gathered[]
  /** The work of the second pass, which depends on results of the first. */
  readonly second: () => readonly Gathered[]
  readonly column: () => Column
}

/** The columns at `rows`. Throws MemoryError. */
export async function gatheredColumns(
  columns: readonly Column[],
  rows: Rows,
  run: SortRun,
  { workers, blocks }: { readonly workers: number; readonly blocks: ResultBlocks },
): Promise<readonly Column[]> {
  const growing = columns.map((column) => growingColumn(column, rows.length, run, blocks))
  const gather = async (wanted: readonly Gathered[]): Promise<void> => {
    if (wanted.length === 0) return
    const claims = run.memory.block(4)
    const tasks = Math.min(workers, Math.ceil(rows.length / CHUNK_ROWS))
    const work = { kind: 'gather', columns: wanted, rows: rows.address, length: rows.length, claims } as const
    await run.together(Array.from({ length: tasks }, () => work))
  }
  await gather(growing.flatMap(({ first }) => first))
  await gather(growing.flatMap(({ second }) => second()))
  return growing.map(({ column }) => column())
}

function growingColumn(source: Column, length: number, run: SortRun, blocks: ResultBlocks): Growing {
  const { type } = source
  const { memory } = run
  if (type.kind === 'null' || type.kind === 'unknown') return { first: [], second: () => [], column: () => ({ type, length }) }
  const bits = source.validity && blocks.emptyBits(length)
  const validity = bits === undefined ? [] : [{ kind: 'bits', source: memory.addressOf(source.validity), out: bits.byteOffset } as const]
  const whole = (parts: Omit<Column, 'type' | 'length' | 'validity'>): Column => {
    const column = { type, length, ...parts }
    return bits === undefined || presentIn(bits, length) === length ? withoutBits(column, bits, blocks) : { ...column, validity: bits }
  }
  if (type.kind === 'struct') {
    const children = (source.children ?? []).map((child) => growingColumn(child, length, run, blocks))
    return {
      first: [...validity, ...children.flatMap(({ first }) => first)],
      second: () => children.flatMap(({ second }) => second()),
      column: () => whole({ children: children.map(({ column }) => column()) }),
    }
  }
  if (type.kind === 'utf8' || type.kind === 'binary') {
    const bytes = bytesOf(source)
    const chunks = Math.ceil(length / CHUNK_ROWS)
    const totals = memory.block(4 * chunks)
    const offsets = blocks.like(new Int32Array(), length + 1)
    offsets[0] = 0
    const from = { offsets: memory.addressOf(source.offsets), ends: offsets.byteOffset, totals }
    let values = new Uint8Array()
    return {
      first: [...validity, { kind: 'ends', ...from, bits: memory.addressOf(source.validity) }],
      second: () => {
        values = blocks.like(values, endsOf(memory.integers(totals, chunks)))
        return [{ kind: 'texts', ...from, bytes: memory.addressOf(bytes), out: values.byteOffset }]
      },
      column: () => whole({ values, offsets }),
    }
  }
  const { values = new Float64Array() } = source
  const out = blocks.like(values, length)
  const log2Bytes = Math.log2(values.BYTES_PER_ELEMENT)
  return {
    first: [...validity, { kind: 'values', log2Bytes, source: memory.addressOf(values), out: out.byteOffset }],
    second: () => [],
    column: () => whole({ values: out }),
  }
}

/** Turns the chunks' byte counts into prefix sums, in place; returns the total. */
function endsOf(totals: Int32Array): number {
  let sum = 0
  for (let chunk = 0; chunk < totals.length; chunk++) {
    const bytes = totals[chunk] as number // chunk < length
    totals[chunk] = sum
    sum += bytes
  }
  return sum
}

function presentIn(bits: Uint8Array, length: number): number {
  const words = new Uint32Array(bits.buffer, bits.byteOffset, Math.ceil(length / 32))
  let present = 0
  for (const word of words) present += popcount(word)
  return present
}

function withoutBits(column: Column, bits: Uint8Array | undefined, blocks: ResultBlocks): Column {
  return bits === undefined ? column : blocks.withoutValidity({ ...column, validity: bits })
}
