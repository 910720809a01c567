/**
 * What boxes of an array become on their way: packed here and put in there, or made there, they are the elements of a walk over the keys
 * one by one; nothing beside them changes, padding of rows included.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ARRAY_OF_DTYPE, type DenseStorage, paddedLength, stridesOf } from '../src/core/arrays/storage.ts'
import type { MadeSpec } from '../src/exec/arrays/makeArray.ts'
import { bytesOfAll, makeBoxes, packBoxes, unpackBoxes } from '../src/exec/gang/movement/boxWire.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('boxes.prop.ts')

const DTYPES = ['f64', 'f32', 'i32', 'u8'] as const
// rows of eight doubles have no padding
const extent = fc.oneof(fc.integer({ min: 1, max: 5 }), fc.constantFrom(8, 16, 64))
const cases = fc.array(extent, { minLength: 0, maxLength: 3 }).chain((shape) =>
  fc.record({
    shape: fc.constant(shape),
    dtype: fc.constantFrom(...DTYPES),
    // whole axes are frequent: those are what is sent at once
    boxes: fc.array(
      fc.tuple(
        ...shape.map((size) =>
          fc.oneof(
            fc.constant([0, size] as const),
            fc.tuple(fc.nat(size), fc.nat(size)).map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const),
          ),
        ),
      ),
      { minLength: 1, maxLength: 3 },
    ),
  }),
)

function storageOf(shape: readonly number[], dtype: (typeof DTYPES)[number], value: (at: number) => number): DenseStorage {
  const strides = stridesOf(shape, dtype)
  const data = new ARRAY_OF_DTYPE[dtype](shape.length === 0 ? 1 : paddedLength(shape, strides))
  for (let at = 0; at < data.length; at++) data[at] = value(at)
  return { kind: 'dense', shape, dtype, strides, data }
}

/** Places of a box's elements in memory, with those in row-major order without padding. */
function placesOf(
  shape: readonly number[],
  strides: readonly number[],
  ranges: readonly (readonly [number, number])[],
): [number, number][] {
  let found: [number, number][] = [[0, 0]]
  for (const [axis, [from, to]] of ranges.entries()) {
    found = found.flatMap(([at, position]) =>
      Array.from({ length: to - from }, (_, i): [number, number] => [
        at + (from + i) * (strides[axis] as number),
        position * (shape[axis] as number) + from + i,
      ]),
    )
  }
  return found
}

test('boxes come as they were packed, and are made as the whole array is', () => {
  fc.assert(
    fc.property(cases, ({ shape, dtype, boxes }) => {
      const here = storageOf(shape, dtype, (at) => (at * 7 + 3) % 251)
      const there = storageOf(shape, dtype, () => 255)
      const list = (storage: DenseStorage) => boxes.map((ranges) => ({ storage, box: ranges.flat() }))
      const places = boxes.map((ranges) => placesOf(shape, here.strides, ranges))
      const expected = Array.from(there.data as Float64Array)
      for (const [at] of places.flat()) expected[at] = here.data[at] as number

      const packed = packBoxes(list(here))
      expect(packed.length).toBe(places.flat().length * ARRAY_OF_DTYPE[dtype].BYTES_PER_ELEMENT)
      expect(bytesOfAll(list(here))).toBe(packed.length)
      unpackBoxes(list(there), packed)
      expect(Array.from(there.data as Float64Array)).toEqual(expected)
      expect(() => unpackBoxes(list(there), new Uint8Array(packed.length + 1))).toThrow(
        new RangeError('Elements of an array do not fill their boxes.'),
      )

      const spec: MadeSpec = { name: 'made', shape, dtype: 'f64', init: { kind: 'random', seed: 5, scale: 1, distribution: 'uniform' } }
      const [whole, made] = [storageOf(shape, 'f64', () => 255), storageOf(shape, 'f64', () => 255)]
      makeBoxes([{ storage: whole, box: shape.flatMap((size) => [0, size]) }], spec)
      makeBoxes(list(made), spec)
      const wanted = Array.from({ length: made.data.length }, () => 255)
      for (const [at] of boxes.flatMap((ranges) => placesOf(shape, made.strides, ranges))) wanted[at] = whole.data[at] as number
      expect(Array.from(made.data as Float64Array)).toEqual(wanted)
    }),
    RUN,
  )
})
