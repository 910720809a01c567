/**
 * Any Arrow schema, with any parameters of its types, ends every question in an answer or in an error that says whose
 * move it is: the space of headers is generated, sound ones and odd ones, with record batches whose buffers fit them,
 * nearly fit, or do not.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { MemoryError, PlanError, SourceError, TaskError } from '../src/core/errors.ts'
import { Session } from '../src/session/session.ts'
import {
  batchMessage,
  dictionaryMessage,
  type HandField,
  i16,
  i32,
  i64,
  type Slots,
  schemaMessage,
  stream,
  table,
  text,
  u8,
} from './arrowFiles.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('arrowSchemas')
const folder = mkdtempSync(join(tmpdir(), 'distarray-schemas-'))
const session = await Session.start({ workers: 1, memory: '32MB', progress: false })
afterAll(async () => {
  await session.stop()
  rmSync(folder, { recursive: true })
})

/** Type numbers of Arrow. */
const TYPE = { null: 1, int: 2, float: 3, binary: 4, utf8: 5, bool: 6, decimal: 7, date: 8, time: 9, timestamp: 10, interval: 11 } as const
const MORE = { list: 12, struct: 13, union: 14, fixedBinary: 15, fixedList: 16, map: 17, duration: 18, largeBinary: 19 } as const
const LATER = { largeUtf8: 20, largeList: 21, runEnd: 22, binaryView: 23, utf8View: 24, listView: 25 } as const

/** Usual values often, odd ones now and then. */
const parameter = (...usual: readonly number[]): fc.Arbitrary<number> =>
  fc.oneof(
    { arbitrary: fc.constantFrom(...usual), weight: 8 },
    { arbitrary: fc.constantFrom(-1, 0, 1, 3, 7, 24, 33, 128, 2 ** 31 - 1, -(2 ** 31)), weight: 1 },
    { arbitrary: fc.integer(), weight: 1 },
  )
const bits = parameter(8, 16, 32, 64)
const unit = parameter(0, 1, 2, 3)
const NAMES = ['a', 'b', 'c', '', '__proto__', 'constructor', 'a', 'length', 'a.b', 'key', 'value'] as const

interface Shape {
  readonly type: number
  readonly slots: Slots
  /** Bits of a value, where it has a buffer of its own; offsets as well, where it has them. */
  readonly bits?: number
  readonly offsets?: 32 | 64
  readonly views?: true
}

const leaf: fc.Arbitrary<Shape> = fc.oneof(
  fc.constantFrom<Shape[]>(
    { type: TYPE.null, slots: [] },
    { type: TYPE.bool, slots: [], bits: 1 },
    { type: TYPE.utf8, slots: [], offsets: 32 },
    { type: TYPE.binary, slots: [], offsets: 32 },
    { type: LATER.largeUtf8, slots: [], offsets: 64 },
    { type: MORE.largeBinary, slots: [], offsets: 64 },
    { type: LATER.utf8View, slots: [], bits: 128, views: true },
    { type: LATER.binaryView, slots: [], bits: 128, views: true },
    { type: 0, slots: [] },
    { type: LATER.runEnd, slots: [] },
    { type: LATER.listView, slots: [], bits: 32 },
    { type: 27, slots: [] },
  ),
  fc.tuple(bits, fc.boolean()).map(([width, signed]): Shape => ({ type: TYPE.int, slots: [i32(width), u8(signed ? 1 : 0)], bits: width })),
  parameter(0, 1, 2).map((precision): Shape => ({ type: TYPE.float, slots: [i16(precision)], bits: [16, 32, 64][precision] ?? 8 })),
  fc
    .tuple(parameter(5, 18, 38), parameter(0, 2, -2, 10), parameter(32, 64, 128, 256))
    .map(([precision, scale, width]): Shape => ({ type: TYPE.decimal, slots: [i32(precision), i32(scale), i32(width)], bits: width })),
  unit.map((of): Shape => ({ type: TYPE.date, slots: [i16(of)], bits: of === 0 ? 32 : 64 })),
  fc.tuple(unit, parameter(32, 64)).map(([of, width]): Shape => ({ type: TYPE.time, slots: [i16(of), i32(width)], bits: width })),
  fc
    .tuple(unit, fc.constantFrom('', 'UTC', 'Europe/Berlin', 'nowhere', '+99:99'))
    .map(([of, zone]): Shape => ({ type: TYPE.timestamp, slots: [i16(of), text(zone)], bits: 64 })),
  unit.map((of): Shape => ({ type: TYPE.interval, slots: [i16(of)], bits: 64 })),
  unit.map((of): Shape => ({ type: MORE.duration, slots: [i16(of)], bits: 64 })),
  parameter(0, 1, 16).map((width): Shape => ({ type: MORE.fixedBinary, slots: [i32(width)], bits: 8 * width })),
)

/** A field and how its columns are laid out, by number of values: nodes and buffers in order. */
interface Column {
  readonly field: HandField
  readonly lay: (length: number, out: Laid) => void
}
interface Laid {
  readonly nodes: [number, number][]
  readonly buffers: Uint8Array[]
  readonly variadic: number[]
  /** Dictionaries by their id. */
  readonly dictionaries: { id: number; column: Column; length: number }[]
}

const bytesFor = (count: number, width: number): Uint8Array => new Uint8Array(Math.max(0, Math.min(4096, Math.ceil((count * width) / 8))))
const evenOffsets = (length: number, width: 32 | 64, step: number): Uint8Array => {
  const offsets = Array.from({ length: length + 1 }, (_, i) => i * step)
  return new Uint8Array(width === 32 ? Int32Array.from(offsets).buffer : BigInt64Array.from(offsets, BigInt).buffer)
}

function layLeaf(shape: Shape, length: number, out: Laid): void {
  out.nodes.push([length, 0])
  if (shape.type === TYPE.null || shape.type === 0) return
  out.buffers.push(new Uint8Array(0))
  if (shape.offsets !== undefined) out.buffers.push(evenOffsets(length, shape.offsets, 2), new Uint8Array(2 * length))
  else out.buffers.push(bytesFor(length, shape.bits ?? 0))
  if (shape.views === true) out.variadic.push(0)
}

const named = fc.constantFrom(...NAMES, undefined)
const metadata = fc.constantFrom<(readonly [string, string])[][]>(
  [],
  [],
  [],
  [
    ['ARROW:extension:name', 'geo'],
    ['ARROW:extension:metadata', '{'],
  ],
)

const { column } = fc.letrec<{ column: Column }>((tie) => ({
  column: fc.oneof(
    { depthSize: 'small', maxDepth: 3 },
    {
      arbitrary: fc.tuple(leaf, named, metadata).map(
        ([shape, name, pairs]): Column => ({
          field: { ...(name === undefined ? {} : { name }), type: shape.type, parameters: shape.slots, metadata: pairs },
          lay: (length, out) => layLeaf(shape, length, out),
        }),
      ),
      weight: 6,
    },
    {
      arbitrary: fc.tuple(fc.constantFrom(MORE.list, LATER.largeList, MORE.map), fc.array(tie('column'), { maxLength: 2 }), named).map(
        ([type, children, name]): Column => ({
          field: { ...(name === undefined ? {} : { name }), type, children: children.map((child) => child.field) },
          lay: (length, out) => {
            out.nodes.push([length, 0])
            out.buffers.push(new Uint8Array(0), evenOffsets(length, type === LATER.largeList ? 64 : 32, 1))
            for (const child of children) child.lay(length, out)
          },
        }),
      ),
      weight: 2,
    },
    {
      arbitrary: fc.tuple(parameter(0, 1, 3), tie('column'), named).map(
        ([size, child, name]): Column => ({
          field: { ...(name === undefined ? {} : { name }), type: MORE.fixedList, parameters: [i32(size)], children: [child.field] },
          lay: (length, out) => {
            out.nodes.push([length, 0])
            out.buffers.push(new Uint8Array(0))
            child.lay(size >= 0 && size < 100 ? size * length : length, out)
          },
        }),
      ),
      weight: 1,
    },
    {
      arbitrary: fc.tuple(fc.constantFrom(MORE.struct, MORE.struct, MORE.union), fc.array(tie('column'), { maxLength: 3 }), named).map(
        ([type, children, name]): Column => ({
          field: {
            ...(name === undefined ? {} : { name }),
            type,
            parameters: type === MORE.union ? [i16(0)] : [],
            children: children.map((child) => child.field),
          },
          lay: (length, out) => {
            out.nodes.push([length, 0])
            out.buffers.push(new Uint8Array(0))
            for (const child of children) child.lay(length, out)
          },
        }),
      ),
      weight: 2,
    },
    {
      // map entries as they should be
      arbitrary: fc.tuple(tie('column'), tie('column')).map(
        ([key, value]): Column => ({
          field: { name: 'm', type: MORE.map, children: [{ name: 'entries', type: MORE.struct, children: [key.field, value.field] }] },
          lay: (length, out) => {
            out.nodes.push([length, 0], [length, 0])
            out.buffers.push(new Uint8Array(0), evenOffsets(length, 32, 1), new Uint8Array(0))
            key.lay(length, out)
            value.lay(length, out)
          },
        }),
      ),
      weight: 1,
    },
    {
      arbitrary: fc.tuple(tie('column'), bits, fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 3 })).map(
        ([values, width, id, length]): Column => ({
          field: { ...values.field, dictionary: [i64(id), table(i32(width), u8(1))] },
          lay: (rows, out) => {
            out.nodes.push([rows, 0])
            out.buffers.push(new Uint8Array(0), bytesFor(rows, width))
            out.dictionaries.push({ id, column: values, length })
          },
        }),
      ),
      weight: 1,
    },
  ),
}))

/** A change of the layout, so that it no longer fits. */
type Misfit = { readonly kind: 'node' | 'null' | 'rows' | 'buffer' | 'byte'; readonly at: number; readonly to: number }
const misfit: fc.Arbitrary<Misfit | undefined> = fc.option(
  fc.record({
    kind: fc.constantFrom('node' as const, 'null' as const, 'rows' as const, 'buffer' as const, 'byte' as const),
    at: fc.nat(30),
    to: fc.oneof(fc.constantFrom(-1, 0, 1, 2 ** 31, 2 ** 40), fc.integer({ min: -3, max: 300 })),
  }),
  { freq: 2, nil: undefined },
)

function laid(columns: readonly Column[], rows: number): Laid {
  const out: Laid = { nodes: [], buffers: [], variadic: [], dictionaries: [] }
  for (const { lay } of columns) lay(rows, out)
  return out
}

function fileOf(columns: readonly Column[], rows: number, change: Misfit | undefined): Uint8Array {
  const layout = laid(columns, rows)
  const { nodes, buffers, variadic } = layout
  const dictionaries: Uint8Array[] = []
  for (let i = 0; i < layout.dictionaries.length; i++) {
    const one = layout.dictionaries[i]
    if (one === undefined) break
    const inner: Laid = { nodes: [], buffers: [], variadic: [], dictionaries: layout.dictionaries }
    one.column.lay(one.length, inner)
    // an inner dictionary comes before what names it
    dictionaries.unshift(
      dictionaryMessage(one.id, { rows: one.length, nodes: inner.nodes, buffers: inner.buffers, variadic: inner.variadic }),
    )
  }
  let declared = rows
  if (change?.kind === 'rows') declared = change.to
  const node = nodes[(change?.at ?? 0) % Math.max(1, nodes.length)]
  if (change?.kind === 'node' && node !== undefined) node[0] = change.to
  if (change?.kind === 'null' && node !== undefined) node[1] = change.to
  const buffer = buffers[(change?.at ?? 0) % Math.max(1, buffers.length)]
  if (change?.kind === 'byte' && buffer !== undefined && buffer.length > 0) buffer[Math.abs(change.to) % buffer.length] = 255
  if (change?.kind === 'buffer') buffers.splice(change.at % Math.max(1, buffers.length), 1)
  return stream(
    schemaMessage(columns.map(({ field }) => field)),
    ...dictionaries,
    batchMessage({ rows: declared, nodes, buffers, variadic }),
    batchMessage({ rows: 0, nodes: laid(columns, 0).nodes, buffers: laid(columns, 0).buffers, variadic: laid(columns, 0).variadic }),
  )
}

const ERRORS = [SourceError, PlanError, MemoryError, TaskError]
let read = 0
let refused = 0

async function asked(path: string): Promise<void> {
  const table = await session.readArrow(path)
  const questions: (() => unknown)[] = [
    () => table.schema,
    () => table.count(),
    () => table.collect(),
    () => table.toArrow(),
    () => table.filter((row) => row !== null).count(),
    () => table.limit(1).collect(),
  ]
  for (const question of questions) await settled(question)
}

async function settled(question: () => unknown): Promise<void> {
  try {
    await question()
    read++
  } catch (error) {
    refused++
    if (!ERRORS.some((kind) => error instanceof kind)) throw error
  }
}

test('any Arrow schema: answers, or errors that say whose move it is', async () => {
  const path = join(folder, 'schema.arrow')
  await fc.assert(
    fc.asyncProperty(
      fc.array(column, { minLength: 1, maxLength: 3 }),
      fc.integer({ min: 0, max: 5 }),
      misfit,
      async (columns, rows, change) => {
        writeFileSync(path, fileOf(columns, rows, change))
        await settled(() => asked(path))
      },
    ),
    RUN,
  )
  // the generator reaches both sides
  expect(read).toBeGreaterThan(RUN.numRuns / 2)
  expect(refused).toBeGreaterThan(RUN.numRuns / 5)
})
