/** Stored arrays against the dullest model: a Map from keys to values. */
import fc from 'fast-check'
import { test } from 'vitest'
import type { Selector, Shape } from '../../core/arrays/indexSpace.ts'
import { keyAt, sizeOfShape } from '../../core/arrays/indexSpace.ts'
import type { Storage } from '../../core/arrays/storage.ts'
import type { DType } from '../../core/data/schema.ts'
import { createArena } from '../memory/sharedArena.ts'
import {
  assignSlice,
  atKey,
  batchesFromStorage,
  freeStorage,
  hasKey,
  makeArray,
  setKey,
  sliceStorage,
  storageFromBatches,
  toTypedArray,
  updateKey,
} from './index.ts'

type Stored = number | bigint | boolean
type Operation =
  | { readonly kind: 'set' | 'update'; readonly key: number; readonly value: number }
  | { readonly kind: 'assign' | 'slice'; readonly picks: readonly number[]; readonly value: number; readonly single: boolean }
  | { readonly kind: 'roundTrip'; readonly rowsPerBatch: number }

const operation: fc.Arbitrary<Operation> = fc.oneof(
  fc.record({ kind: fc.constantFrom('set' as const, 'update' as const), key: fc.nat(999), value: fc.integer({ min: 0, max: 100 }) }),
  fc.record({
    kind: fc.constantFrom('assign' as const, 'slice' as const),
    picks: fc.array(fc.nat(999), { minLength: 9, maxLength: 9 }),
    value: fc.integer({ min: 0, max: 100 }),
    single: fc.boolean(),
  }),
  fc.record({ kind: fc.constant('roundTrip' as const), rowsPerBatch: fc.integer({ min: 1, max: 9 }) }),
)
const program = fc.record({
  shape: fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 3 }),
  dtype: fc.constantFrom<DType>('f64', 'f32', 'i64', 'i32', 'u8', 'bool'),
  sparse: fc.boolean(),
  operations: fc.array(operation, { maxLength: 12 }),
})

const arena = createArena({ budgetBytes: 2 ** 26 })

function asStored(n: number, dtype: DType): Stored {
  return dtype === 'bool' ? n % 2 === 1 : dtype === 'i64' ? BigInt(n) : n
}
function selectorsOf(shape: Shape, picks: readonly number[]): Selector[] {
  return shape.map((extent, axis) => {
    const [how = 0, a = 0, b = 0] = picks.slice(axis * 3, axis * 3 + 3)
    if (how % 3 === 0) return null
    if (how % 3 === 1 && extent > 0) return a % extent
    const ends = [a % (extent + 1), b % (extent + 1)].sort((x, y) => x - y)
    return [ends[0] ?? 0, ends[1] ?? 0]
  })
}
function keysOf(shape: Shape, selectors: readonly Selector[]): number[][] {
  return Array.from({ length: sizeOfShape(shape) }, (_, position) => keyAt(position, shape)).filter((key) =>
    key.every((k, axis) => {
      const selector = selectors[axis] ?? null
      return selector === null || (typeof selector === 'number' ? k === selector : k >= selector[0] && k < selector[1])
    }),
  )
}
const plain = (value: unknown): unknown => (typeof value === 'boolean' ? Number(value) : value)
function expectSame(actual: readonly unknown[], expected: readonly unknown[], what: string): void {
  if (actual.length !== expected.length || actual.some((value, i) => !Object.is(value, expected[i]))) {
    throw new Error(`${what}: ${actual.map(String).join(' ')} instead of ${expected.map(String).join(' ')}`)
  }
}

test('law: sets, updates, assignments, slices and round trips through batches agree with a Map of keys', () => {
  fc.assert(
    fc.property(program, ({ shape, dtype, sparse, operations }) => {
      const before = arena.usedBytes
      let storage: Storage = makeArray({ name: 'A', shape, dtype, init: { kind: sparse ? 'sparse' : 'zeros' } }, arena)
      const use = (next: Storage): void => {
        if (next !== storage) freeStorage(storage)
        storage = next
      }
      const model = new Map<string, Stored>()
      const all = keysOf(
        shape,
        shape.map(() => null),
      )
      if (!sparse) for (const key of all) model.set(key.join(), asStored(0, dtype))
      const modelAt = (key: readonly number[]): Stored => model.get(key.join()) ?? asStored(0, dtype)
      for (const one of operations) {
        const context = { method: one.kind, name: 'A', arena }
        switch (one.kind) {
          case 'set':
          case 'update': {
            const key = all[one.key % Math.max(1, all.length)]
            if (key === undefined) break
            const value = asStored(one.value, dtype)
            use(one.kind === 'set' ? setKey(storage, key, value, context) : updateKey(storage, key, () => value, context))
            model.set(key.join(), value)
            break
          }
          case 'assign': {
            const selectors = selectorsOf(shape, one.picks)
            const keys = keysOf(shape, selectors)
            const values = keys.map((_, i) => asStored((one.single ? one.value : one.value + i) % 101, dtype))
            use(assignSlice(storage, selectors, one.single ? asStored(one.value, dtype) : (values as readonly unknown[]), context))
            for (const [i, key] of keys.entries()) model.set(key.join(), values[i] as Stored)
            break
          }
          case 'slice': {
            const selectors = selectorsOf(shape, one.picks)
            const { data, shape: sliced } = sliceStorage(storage, selectors, context)
            if (sizeOfShape(sliced) !== data.length) throw new Error('shape and data differ')
            expectSame(
              Array.from(data as Float64Array),
              keysOf(shape, selectors).map((key) => plain(modelAt(key))),
              'slice',
            )
            break
          }
          case 'roundTrip': {
            const batches = batchesFromStorage(storage, one)
            const element = batches[0]?.element ?? { kind: 'unknown' as const }
            const reversed = [...batches].reverse()
            use(
              storageFromBatches(
                reversed,
                {
                  name: 'A',
                  element,
                  keys: { kind: 'explicit', rank: shape.length, shape, dense: false },
                  ...(sparse ? { storage: 'sparse' as const } : {}),
                },
                arena,
              ),
            )
          }
        }
        if (storage.kind === 'sparse' && storage.length !== model.size) throw new Error('the number of keys differs')
      }
      expectSame(
        all.map((key) => atKey(storage, key, 'A')),
        all.map(modelAt),
        'at',
      )
      expectSame(
        all.map((key) => hasKey(storage, key, 'A')),
        all.map((key) => model.has(key.join())),
        'has',
      )
      expectSame(
        Array.from(toTypedArray(storage, 'A') as Float64Array),
        all.map((key) => plain(modelAt(key))),
        'toTypedArray',
      )
      freeStorage(storage)
      if (arena.usedBytes !== before) throw new Error('a block was lost')
    }),
    { numRuns: 2000 },
  )
})
