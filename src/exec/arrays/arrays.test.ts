import { expect, test } from 'vitest'
import type { Shape } from '../../core/arrays/indexSpace.ts'
import type { Storage } from '../../core/arrays/storage.ts'
import type { Batch } from '../../core/data/column.ts'
import { columnFromValues } from '../../core/data/columnBuilder.ts'
import { rowReader } from '../../core/data/columnReaders.ts'
import type { ColumnType, DType } from '../../core/data/schema.ts'
import { MemoryError } from '../../core/errors.ts'
import { createArena } from '../memory/sharedArena.ts'
import {
  assignSlice,
  atKey,
  batchesFromStorage,
  copyStorage,
  freeStorage,
  hasKey,
  makeArray,
  rowOfStorage,
  type StorageForm,
  setKey,
  sliceStorage,
  storageFromBatches,
  toTypedArray,
  updateKey,
} from './index.ts'

const arena = createArena({ budgetBytes: 2 ** 28 })

function make(shape: Shape, dtype: DType | 'object', init: Parameters<typeof makeArray>[0]['init'] = { kind: 'zeros' }): Storage {
  return makeArray({ name: 'W', shape, dtype, init }, arena)
}
function context(method: string) {
  return { method, name: 'W', arena }
}
function messageOf(f: () => unknown): string {
  try {
    f()
  } catch (error) {
    return String(error)
  }
  return 'nothing was thrown'
}

/** A batch of scalars under keys. */
function keyed(keys: readonly (readonly number[])[], values: readonly unknown[], type?: ColumnType): Batch {
  const column = columnFromValues(values, type)
  const rank = keys[0]?.length ?? 2
  return {
    element: { kind: 'scalar', type: column.type, nullable: column.validity !== undefined },
    length: values.length,
    columns: [column],
    keys: Array.from({ length: rank }, (_, axis) => Int32Array.from(keys, (key) => key[axis] ?? 0)),
  }
}
function form(options: Partial<StorageForm> & { readonly shape?: Shape; readonly rank?: number } = {}): StorageForm {
  const { shape, rank = 2, ...rest } = options
  return {
    name: 'ratings.index(…)',
    keys: { kind: 'explicit', rank, dense: false, ...(shape === undefined ? {} : { shape }) },
    element: { kind: 'scalar', type: { kind: 'f64' }, nullable: false },
    ...rest,
  }
}

test('rows of dense arrays are padded, and nobody sees it', () => {
  const storage = make([3, 5], 'f32', { kind: 'fill', value: 1.5 })
  expect(storage.kind === 'dense' && storage.strides).toEqual([8, 1])
  expect(toTypedArray(storage, 'W')).toEqual(new Float32Array(15).fill(1.5))
  expect(storage.kind === 'dense' && storage.data.length).toBe(24)
  setKey(storage, [1, 4], 7, context('set'))
  expect(Array.from(rowOfStorage(storage, [1], 'W') as Float32Array)).toEqual([1.5, 1.5, 1.5, 1.5, 7])
  expect(sliceStorage(storage, [[0, 2], 4], { method: 'slice', name: 'W' })).toEqual({ shape: [2], data: Float32Array.of(1.5, 7) })
  expect(sliceStorage(storage, [1, 4], { method: 'slice', name: 'W' })).toEqual({ shape: [], data: Float32Array.of(7) })
  expect(sliceStorage(storage, [[1, 1], null], { method: 'slice', name: 'W' })).toEqual({ shape: [0, 5], data: new Float32Array(0) })
})

test('random numbers depend on seed and position, not on padding or dtype', () => {
  const init = { kind: 'random', distribution: 'normal', scale: 0.1, seed: 1 } as const
  const flat = toTypedArray(make([15], 'f64', init), 'W') as Float64Array
  expect(toTypedArray(make([3, 5], 'f64', init), 'W')).toEqual(flat)
  expect(toTypedArray(make([3, 5], 'f32', init), 'W')).toEqual(Float32Array.from(flat))
  expect(messageOf(() => make([2], 'i32', init))).toBe(
    'PlanError: W: random numbers are f64 or f32, not i32. For integers, cast an array or use rng in a loop.',
  )
})

test('values that do not fit are refused with the whole rule', () => {
  const set = (dtype: DType, value: unknown): string => messageOf(() => setKey(make([2], dtype), [0], value, context('set')))
  expect(set('u8', 300)).toBe('PlanError: set of W: the value 300 does not fit u8, which holds integers from 0 to 255.')
  expect(set('i32', 0.5)).toBe('PlanError: set of W: the value 0.5 does not fit i32, which holds integers from -2147483648 to 2147483647.')
  expect(set('bool', 2)).toBe('PlanError: set of W: the value 2 does not fit bool, which holds true and false, or 1 and 0.')
  expect(set('i64', 2 ** 53)).toBe(
    'PlanError: set of W: the value 9007199254740992 does not fit i64, which holds bigints from -(2n ** 63n) to 2n ** 63n - 1n and safe integers.',
  )
  expect(set('f64', '1')).toBe('PlanError: set of W: the value "1" does not fit f64, which holds numbers.')
  expect(set('f32', 1e300)).toBe('PlanError: set of W: the value 1e+300 does not fit f32, which holds numbers up to about 3.4e38, rounded.')
  expect(set('f32', undefined)).toBe(
    'PlanError: set of W: the value undefined does not fit f32, which holds numbers up to about 3.4e38, rounded.',
  )
  expect(messageOf(() => make([2], 'u16', { kind: 'fill', value: -1 }))).toBe(
    'PlanError: W: the value -1 does not fit u16, which holds integers from 0 to 65535.',
  )
  for (const [dtype, value, back] of [
    ['i64', 5, 5n],
    ['i64', -5n, -5n],
    ['bool', 1, true],
    ['bool', false, false],
    ['f32', 0.1, Math.fround(0.1)],
    ['f32', Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
    ['f64', -0, -0],
    ['i8', -0, 0],
    ['f64', Number.NaN, Number.NaN],
  ] as const) {
    expect(atKey(setKey(make([2], dtype), [1], value, context('set')), [1], 'W')).toBe(back)
  }
})

test('keys outside are errors, for reads and writes; minus zero is zero', () => {
  for (const storage of [make([3, 4], 'f64'), make([3, 4], 'f64', { kind: 'sparse' })]) {
    const outside =
      'PlanError: The key [3, 0] is outside W, whose shape is [3, 4]. Keys run from 0 to extent - 1; negative keys do not wrap.'
    expect(messageOf(() => atKey(storage, [3, 0], 'W'))).toBe(outside)
    expect(messageOf(() => setKey(storage, [3, 0], 1, context('set')))).toBe(outside)
    expect(messageOf(() => hasKey(storage, [3, 0], 'W'))).toBe(outside)
    expect(messageOf(() => updateKey(storage, [3, 0], () => 1, context('update')))).toBe(outside)
    expect(messageOf(() => atKey(storage, [0, 0.5], 'W'))).toContain('Keys are integers.')
    expect(messageOf(() => rowOfStorage(storage, [3], 'W'))).toBe(
      'PlanError: The key [3] is outside W, whose shape is [3, 4]. Keys run from 0 to extent - 1; negative keys do not wrap.',
    )
    const written = setKey(storage, [-0, 1], 5, context('set'))
    expect(atKey(written, [0, -0 + 1], 'W')).toBe(5)
    expect(atKey(written, [-0, 1], 'W')).toBe(5)
  }
})

test('selectors and lengths are checked before anything is written', () => {
  const storage = make([3, 4], 'u8')
  const assign = (selectors: Parameters<typeof assignSlice>[1], data: readonly unknown[] | number): string =>
    messageOf(() => assignSlice(storage, selectors, data, context('assign')))
  expect(
    assign(
      [
        [0, 2],
        [1, 3],
      ],
      [1, 2, 3],
    ),
  ).toBe('PlanError: assign: 3 values for a selection of shape [2, 2] (4 elements).')
  expect(assign([0, 0], [1, 2])).toBe('PlanError: assign: 2 values for a selection of one element.')
  expect(assign([0], 1)).toBe(
    'PlanError: assign of W: there is one selector, and its shape [3, 4] has 2 axes. Give one selector for each axis: an index, a range [from, to], or null for the whole axis.',
  )
  expect(assign([null, [2, 5]], 1)).toBe(
    'PlanError: assign of W: the range [2, 5] on axis 1 is outside its shape [3, 4]. A range holds the indices from its first number up to, not including, its second: 0 <= from <= to <= 4.',
  )
  expect(assign([null, 4], 1)).toBe(
    'PlanError: assign of W: the index 4 on axis 1 is outside its shape [3, 4]. Keys run from 0 to extent - 1; negative keys do not wrap.',
  )
  expect(assign([1, null], [1, 2, 3, 256])).toBe(
    'PlanError: assign of W: the value 256 does not fit u8, which holds integers from 0 to 255.',
  )
  expect(toTypedArray(storage, 'W')).toEqual(new Uint8Array(12))
  expect(messageOf(() => rowOfStorage(storage, [0, 1], 'W'))).toBe(
    'PlanError: row of W: its shape [3, 4] has 2 axes, so a prefix has at most 1 index, not 2. For one element use at(…).',
  )
  assignSlice(
    storage,
    [
      [1, 3],
      [0, 2],
    ],
    [1, 2, 3, 4],
    context('assign'),
  )
  assignSlice(storage, [0, null], 9, context('assign'))
  expect(Array.from(toTypedArray(storage, 'W') as Uint8Array)).toEqual([9, 9, 9, 9, 1, 2, 0, 0, 3, 4, 0, 0])
})

test('a sparse array inserts, keeps its keys sorted, and gives zero for what is absent', () => {
  let storage = make([5, 5], 'f64', { kind: 'sparse' })
  for (const [i, key] of [
    [3, 1],
    [0, 4],
    [3, 0],
    [0, 4],
  ].entries()) {
    const next = setKey(storage, key, i + 1, context('set'))
    if (next !== storage) freeStorage(storage)
    storage = next
  }
  expect(storage.kind === 'sparse' && storage.keys.map((k) => Array.from(k))).toEqual([
    [0, 3, 3],
    [4, 0, 1],
  ])
  expect(atKey(storage, [0, 4], 'W')).toBe(4)
  expect(atKey(storage, [1, 1], 'W')).toBe(0)
  expect(hasKey(storage, [1, 1], 'W')).toBe(false)
  expect(hasKey(storage, [3, 1], 'W')).toBe(true)
  expect(Array.from(rowOfStorage(storage, [3], 'W') as Float64Array)).toEqual([3, 1, 0, 0, 0])
  expect(atKey(make([5], 'i64', { kind: 'sparse' }), [1], 'W')).toBe(0n)
  expect(atKey(make([5], 'object', { kind: 'sparse' }), [1], 'W')).toBe(undefined)
})

test('object arrays hold copies of their own', () => {
  const value = { n: [1] }
  const storage = make([2, 3], 'object', { kind: 'fill', value })
  value.n.push(2)
  const first = atKey(storage, [0, 0], 'W') as typeof value
  expect(first).toEqual({ n: [1] })
  first.n.push(5)
  expect(atKey(storage, [1, 2], 'W')).toEqual({ n: [1] })
  setKey(storage, [1, 2], 'text', context('set'))
  expect(atKey(storage, [1, 2], 'W')).toBe('text')
  expect(messageOf(() => setKey(storage, [0, 0], () => 1, context('set')))).toBe(
    "PlanError: set of W: an array of dtype 'object' cannot hold a function. It holds values that structuredClone copies: no functions, symbols or class instances with either.",
  )
  expect(messageOf(() => toTypedArray(storage, 'W'))).toBe(
    'PlanError: toTypedArray of W gives a typed array, and the elements are objects. Select or map to one number each, or use collect().',
  )
})

test('keyed batches become dense when every key is there, and sparse, sorted by key, otherwise', () => {
  const full = storageFromBatches(
    [
      keyed(
        [
          [1, 1],
          [0, 0],
        ],
        [4, 1],
      ),
      keyed(
        [
          [0, 1],
          [1, 0],
        ],
        [2, 3],
      ),
    ],
    form(),
    arena,
  )
  expect(full.kind).toBe('dense')
  expect(toTypedArray(full, 'W')).toEqual(Float64Array.of(1, 2, 3, 4))
  const holes = storageFromBatches(
    [
      keyed(
        [
          [1, 1],
          [0, 1],
          [0, 0],
        ],
        [4, 2, 1],
      ),
    ],
    form(),
    arena,
  )
  expect(holes).toMatchObject({ kind: 'sparse', shape: [2, 2], length: 3, keys: [Int32Array.of(0, 0, 1), Int32Array.of(0, 1, 1)] })
  expect(toTypedArray(holes, 'W')).toEqual(Float64Array.of(1, 2, 0, 4))
  const forced = storageFromBatches([keyed([[1, 1]], [4])], form({ storage: 'dense', shape: [2, 3] }), arena)
  expect(forced).toMatchObject({ kind: 'dense', shape: [2, 3] })
  expect(toTypedArray(forced, 'W')).toEqual(Float64Array.of(0, 0, 0, 0, 4, 0))
  expect(storageFromBatches([keyed([[0, 0]], [4])], form({ storage: 'sparse' }), arena).kind).toBe('sparse')
  expect(storageFromBatches([keyed([[0, 0]], ['text'])], form(), arena).kind).toBe('sparse')
  expect(storageFromBatches([], form(), arena)).toMatchObject({ shape: [0, 0] })
  expect(messageOf(() => storageFromBatches([keyed([[1, 2]], [4])], form({ shape: [2, 2] }), arena))).toBe(
    'PlanError: The key [1, 2] is outside ratings.index(…), whose shape is [2, 2]. Keys run from 0 to extent - 1; negative keys do not wrap.',
  )
  expect(messageOf(() => storageFromBatches([keyed([[-1, 0]], [4])], form(), arena))).toContain('The key [-1, 0] is outside')
  expect(messageOf(() => storageFromBatches([keyed([[0, 0]], [null], { kind: 'f64' })], form({ storage: 'dense' }), arena))).toBe(
    "PlanError: ratings.index(…): dense storage holds numbers, bigints and booleans, and there are nulls. Leave { storage: 'dense' } out.",
  )
})

test('duplicate keys are named, or combined in their order', () => {
  const batches = [
    keyed(
      [
        [0, 1],
        [2, 2],
        [0, 1],
      ],
      ['a', 'b', 'c'],
    ),
    keyed(
      [
        [0, 1],
        [2, 2],
        [1, 0],
      ],
      ['d', 'e', 'f'],
    ),
  ]
  expect(messageOf(() => storageFromBatches(batches, form(), arena))).toBe(
    'PlanError: ratings.index(…): 3 elements have the key [0, 1], and 1 other key is not unique either. Every key may have one element: say how to combine them, as in index(f, { combine: (a, b) => a + b }).',
  )
  const joined = storageFromBatches(batches, form({ combine: (a: string, b: string) => a + b }), arena)
  expect(atKey(joined, [0, 1], 'W')).toBe('acd')
  expect(atKey(joined, [2, 2], 'W')).toBe('be')
  const numbers = storageFromBatches(
    [keyed([[0], [1], [0]], [1, 2, 3])],
    form({ rank: 1, combine: (a: number, b: number) => a + b }),
    arena,
  )
  expect(numbers.kind).toBe('dense')
  expect(toTypedArray(numbers, 'W')).toEqual(Float64Array.of(4, 2))
})

test('many keys are sorted whatever their size', () => {
  const n = 30_000
  const keys = Array.from({ length: n }, (_, i) => [(((i * 7919) % n) * 70_001) % 2_000_003, (i * 104_729) % 65_537, i % 3])
  const storage = storageFromBatches(
    [
      keyed(
        keys,
        keys.map((_, i) => i),
      ),
    ],
    form({ rank: 3, combine: (a: number) => a }),
    arena,
  )
  if (storage.kind !== 'sparse') throw new Error('not sparse')
  const sorted = keys.map((key) => key.join()).filter((text, i, all) => all.indexOf(text) === i || i < 0)
  expect(storage.length).toBe(new Set(sorted).size)
  for (let i = 1; i < storage.length; i++) {
    const [a, b, c] = storage.keys.map((column) => column[i - 1]! - column[i]!)
    if (!(a! < 0 || (a === 0 && (b! < 0 || (b === 0 && c! < 0))))) throw new Error(`not sorted at ${i}`)
  }
  for (const i of [0, 5, 29_999]) expect(keys[atKey(storage, keys[i]!, 'W') as number]).toEqual(keys[i])
})

test('rows and strings are stored, queried and written too', () => {
  const rows = columnFromValues([
    { name: 'a', n: 1 },
    { name: 'b', n: null },
    { name: 'ccc', n: 3 },
  ])
  if (rows.type.kind !== 'struct') throw new Error('not a struct')
  const batch: Batch = { element: { kind: 'row', fields: rows.type.fields }, length: 3, columns: rows.children ?? [] }
  const table = storageFromBatches([batch, batch], { ...form(), keys: { kind: 'rowNumber' }, name: 'people' }, arena)
  expect(table).toMatchObject({ kind: 'table', length: 6 })
  expect(atKey(table, [5], 'people')).toEqual({ name: 'ccc', n: 3 })
  const changed = setKey(table, [1], { name: 'bb', n: 2 }, context('set'))
  expect(atKey(changed, [1], 'people')).toEqual({ name: 'bb', n: 2 })
  expect(atKey(table, [1], 'people')).toEqual({ name: 'b', n: null })
  expect(messageOf(() => setKey(table, [1], { nam: 'x' }, context('set')))).toBe(
    'PlanError: set of W: the elements are rows with the fields name, n; there is no field nam.',
  )
  expect(messageOf(() => setKey(table, [1], 5, context('set')))).toBe(
    'PlanError: set of W: the elements are rows with the fields name, n, and the value is a number.',
  )
  const read = batchesFromStorage(changed, { rowsPerBatch: 4 }).flatMap((one) =>
    Array.from({ length: one.length }, (_, i) => rowReader(one)(i)),
  )
  expect(read.map((row) => (row as { name: string }).name)).toEqual(['a', 'bb', 'ccc', 'a', 'b', 'ccc'])
  expect(messageOf(() => toTypedArray(table, 'people'))).toBe(
    'PlanError: toTypedArray of people gives a typed array, and the elements are rows. Select or map to one number each, or use collect().',
  )
})

test('batches of a dense array are views where rows lie together, with keys in order', () => {
  const storage = make([2, 2, 2], 'f64')
  assignSlice(storage, [null, null, null], [0, 1, 2, 3, 4, 5, 6, 7], context('assign'))
  const batches = batchesFromStorage(storage, { rowsPerBatch: 3 })
  expect(batches.map((batch) => Array.from(batch.columns[0]?.values as Float64Array))).toEqual([
    [0, 1, 2],
    [3, 4, 5],
    [6, 7],
  ])
  expect(batches[1]?.keys?.map((keys) => Array.from(keys))).toEqual([
    [0, 1, 1],
    [1, 0, 0],
    [1, 0, 1],
  ])
  expect(arena.owns(batches[0]?.columns[0]?.values as Float64Array)).toBe(true)
  expect(batchesFromStorage(make([0, 3], 'f64'), { rowsPerBatch: 10 })).toMatchObject([{ length: 0 }])
  const padded = make([2, 3], 'f32')
  assignSlice(padded, [null, null], [0, 1, 2, 3, 4, 5], context('assign'))
  expect(batchesFromStorage(padded, { rowsPerBatch: 4 }).map((batch) => Array.from(batch.columns[0]?.values as Float32Array))).toEqual([
    [0, 1, 2, 3],
    [4, 5],
  ])
})

test('objects in a sparse array are its own, in copies of it too', () => {
  const sparse = setKey(make([5], 'object', { kind: 'sparse' }), [3], { n: 1 }, context('set'))
  const copy = copyStorage(sparse, arena, 'test')
  expect(setKey(sparse, [3], 'new', context('set'))).toBe(sparse)
  expect(atKey(sparse, [3], 'W')).toBe('new')
  expect(atKey(copy, [3], 'W')).toEqual({ n: 1 })
})

test('a result that no typed array can be is a MemoryError', () => {
  const sparse = make([2 ** 30, 2 ** 30], 'f64', { kind: 'sparse' })
  expect(messageOf(() => toTypedArray(sparse, 'W'))).toBe(
    'MemoryError: toTypedArray of W would give a typed array of 8192 PiB, more than this machine or JavaScript can hold. Ask for a smaller part.',
  )
  expect(messageOf(() => assignSlice(sparse, [null, null], 1, context('assign')))).toBe(
    'PlanError: assign of W: the selection has 1152921504606847000 elements, and sparse storage holds at most 2147483647.',
  )
})

test('too large an array is a MemoryError that names it', () => {
  expect(() => make([2 ** 20, 2 ** 10], 'f64')).toThrow(MemoryError)
  expect(messageOf(() => make([2 ** 20, 2 ** 10], 'f64'))).toContain('MemoryError: W needs 8 GiB more')
})
