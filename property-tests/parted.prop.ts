/**
 * The law of arrays of which a process has parts: whatever of an array lies in one piece, beside it, in a file or nowhere, elements are
 * what was written last, and else what the array was made with or was put aside with. The reference is a plain array.
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sizeOfShape } from '../src/core/arrays/indexSpace.ts'
import { ARRAY_OF_DTYPE, type DenseStorage } from '../src/core/arrays/storage.ts'
import { fillerOf, type MadeSpec, makeArray } from '../src/exec/arrays/makeArray.ts'
import { type Parts, partedStorage, partsOf } from '../src/exec/arrays/parted.ts'
import { freeStorage } from '../src/exec/arrays/storageBlocks.ts'
import { packBoxes, unpackBoxes } from '../src/exec/gang/movement/boxWire.ts'
import { bytesOf } from '../src/exec/gang/movement/changes.ts'
import { SnapshotFile } from '../src/exec/gang/snapshotFile.ts'
import { lawArena } from './lawArena.ts'
import { announcedRun } from './lawRuns.ts'
import { indexAt } from './loopRuns.ts'

const RUN = announcedRun('parted.prop.ts')

let folder = ''
let files = 0
let [apart, reads] = [0, 0]
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'distarray-parted-'))
})
afterAll(() => {
  expect(readdirSync(folder)).toEqual([]) // whose arrays are gone
  rmSync(folder, { recursive: true, force: true })
  expect(apart, `elements lay apart in ${reads} reads`).toBeGreaterThan(reads / 8)
})

const shapes = fc.oneof(
  fc.tuple(fc.integer({ min: 1, max: 2_000 })),
  fc.tuple(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 40 })),
  fc.tuple(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 12 })),
)
const specs: fc.Arbitrary<MadeSpec> = fc.oneof(
  fc.record({
    name: fc.constant('random()'),
    shape: shapes,
    dtype: fc.constantFrom('f64' as const, 'f32' as const),
    init: fc.record({
      kind: fc.constant('random' as const),
      distribution: fc.constantFrom('uniform' as const, 'normal' as const),
      scale: fc.constantFrom(1, 0.5),
      seed: fc.nat(100),
    }),
  }),
  fc.record({
    name: fc.constant('fill()'),
    shape: shapes,
    dtype: fc.constantFrom('f64' as const, 'i32' as const, 'u8' as const, 'i16' as const),
    init: fc.record({ kind: fc.constant('fill' as const), value: fc.nat(100) }),
  }),
  fc.record({
    name: fc.constant('zeros()'),
    shape: shapes,
    dtype: fc.constantFrom('f64' as const, 'u8' as const),
    init: fc.constant({ kind: 'zeros' as const }),
  }),
)
/** Corners of a box as parts of the extents. */
const part = fc.integer({ min: 0, max: 1_000 }).map((thousandths) => thousandths / 1_000)
const corner = fc.tuple(part, part)
const corners = fc.array(corner, { minLength: 3, maxLength: 3 })
const ops = fc.array(
  fc.record({
    op: fc.constantFrom('hold', 'hold', 'write', 'write', 'read', 'read', 'reset', 'put aside', 'let go', 'empty', 'whole'),
    at: corners,
    value: fc.nat(120),
  }),
  { minLength: 1, maxLength: 12 },
)

function boxIn(shape: readonly number[], at: readonly (readonly [number, number])[]): number[] {
  return shape.flatMap((extent, axis) => {
    const [a, b] = at[axis] as readonly [number, number]
    const from = Math.min(extent - 1, Math.floor(a * extent))
    return [from, Math.min(extent, from + 1 + Math.floor(b * (extent - from)))]
  })
}

test('elements are what was written last, and else what the array was made or put aside with', () => {
  const arena = lawArena(2 ** 24)
  fc.assert(
    fc.property(specs, ops, (spec, list) => {
      const { shape, dtype } = spec
      const size = sizeOfShape(shape)
      const strides = shape.map((_, axis) => sizeOfShape(shape.slice(axis + 1)))
      const plain = (data: DenseStorage['data']): DenseStorage => ({ kind: 'dense', shape, dtype, strides, data })
      const whole = makeArray(spec, arena) as DenseStorage // of numbers
      let rest = new ARRAY_OF_DTYPE[dtype](size)
      for (let position = 0; position < size; position++) rest[position] = whole.data[indexAt(whole, position)] as never // of one class
      const expected = rest.slice()
      /** Elements that nobody counts on any more. */
      const unknown = new Uint8Array(size)
      const storage = partedStorage(spec, arena)
      const parts = partsOf(storage) as Parts // just made
      const each = (box: readonly number[], visit: (position: number) => void): void => {
        for (let position = 0; position < size; position++) {
          const isInside = shape.every((_, axis) => {
            const index = Math.floor(position / (strides[axis] as number)) % (shape[axis] as number)
            return index >= (box[2 * axis] as number) && index < (box[2 * axis + 1] as number)
          })
          if (isInside) visit(position)
        }
      }
      const all = shape.flatMap((extent) => [0, extent])
      const check = (box: readonly number[]): void => {
        const found = plain(new ARRAY_OF_DTYPE[dtype](size))
        unpackBoxes([{ storage: found, box }], packBoxes([{ storage, box }]))
        each(box, (position) => {
          if (unknown[position] === 0) expect(found.data[position], `element ${position}`).toBe(expected[position])
        })
        // and kernels find the same
        const { data, first } = parts.lying
        each(all, (position) => {
          const index = indexAt(storage, position)
          if (index < first || index >= first + data.length || unknown[position] === 1) return
          expect(data[index - first], `element ${position} where kernels find it`).toBe(expected[position])
        })
        reads++
        if (!parts.isWhole && parts.lying.data.length > 0) apart++
      }
      for (const { op, at, value } of list) {
        const box = boxIn(shape, at)
        const [from, to] = box as [number, number]
        if (op === 'hold') {
          parts.hold(from, to)
          const { data, first } = parts.lying
          const row = storage.strides[0] as number
          expect([first <= from * row, first + data.length >= to * row, (first * data.BYTES_PER_ELEMENT) % 64]).toEqual([true, true, 0])
        } else if (op === 'write') {
          const source = plain(new ARRAY_OF_DTYPE[dtype](size))
          each(box, (position) => {
            expected[position] = source.data[position] = (value + (position % 7)) as never // numbers
            unknown[position] = 0
          })
          unpackBoxes([{ storage, box }], packBoxes([{ storage: source, box }]))
        } else if (op === 'read') check(box)
        else if (op === 'reset' || op === 'empty') {
          if (op === 'empty' && !parts.isWhole) parts.empty()
          else parts.reset()
          expected.set(rest as never) // of one class
          unknown.fill(0)
        } else if (op === 'put aside' && !unknown.includes(1)) {
          const file = new SnapshotFile(join(folder, String(++files)), dtype, 64)
          for (let first = 0; first < size; first += 64) file.append(expected.slice(first, first + 64))
          parts.putAside(file)
          rest = expected.slice()
        } else if (op === 'let go' && !parts.isWhole) {
          const { first, data } = parts.lying
          parts.keepPages([[from, to]])
          const row = storage.strides[0] as number
          each(all, (position) => {
            const index = indexAt(storage, position)
            const isKept = (index >= from * row && index < to * row) || (index >= first && index < first + data.length)
            if (!isKept) unknown[position] = 1
          })
        } else if (op === 'whole') {
          expect(storage.data).toBe(parts.whole())
          expect(parts.lying.first).toBe(0)
        }
      }
      check(all)
      parts.free()
      freeStorage(whole)
    }),
    RUN,
  )
  expect(arena.usedBytes).toBe(0)
})

test('what is made of a description is what rows of any length are made of', () => {
  fc.assert(
    fc.property(specs, fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 9 }), (spec, lengths) => {
      const size = sizeOfShape(spec.shape)
      const fill = fillerOf(spec)
      const [once, pieces] = [new ARRAY_OF_DTYPE[spec.dtype](size), new ARRAY_OF_DTYPE[spec.dtype](size)]
      fill(once, 0)
      for (let at = 0, i = 0; at < size; i++) {
        const length = Math.min(size - at, lengths[i % lengths.length] as number)
        fill(pieces.subarray(at, at + length), at)
        at += length
      }
      expect(Buffer.from(bytesOf(pieces)).equals(bytesOf(once))).toBe(true)
    }),
    RUN,
  )
})
