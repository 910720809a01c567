/**
 * NumPy files: what is written is read with the same bits, what others write is read whatever its form, NumPy itself agrees with both, and a
 * file that was damaged is a SourceError or an array of some shape, and nothing else.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { keyAt, sizeOfShape } from '../src/core/arrays/indexSpace.ts'
import type { TypedArray } from '../src/core/data/column.ts'
import type { DistArray, Key } from '../src/index.ts'
import { Session, SourceError } from '../src/index.ts'
import { bytesOf, type GivenArray, givenArrays, NUMBER_DTYPES } from './arbitraries/givenArrays.ts'
import { announcedRun } from './lawRuns.ts'
import { CODES, fileOf, forms, npyBytes } from './npyFiles.ts'

const RUN = announcedRun('npy.prop.ts')
const folder = mkdtempSync(join(tmpdir(), 'distarray-npy-'))
const session = await Session.start({ workers: 1, memory: '64MB', progress: false })
afterAll(async () => {
  await session.stop()
  rmSync(folder, { recursive: true })
})
const path = join(folder, 'a.npy')
const read = async (file = path): Promise<DistArray<number | bigint, Key>> => await session.readNpy(file, { int64: 'bigint' })

/** The array in the session, made in one way or another. */
function arrayOf({ shape, dtype, values }: GivenArray, how: 'given' | 'lazy' | 'sparse' | 'table'): DistArray<number | bigint, Key> {
  const given = session.fromTypedArray(values, shape) as unknown as DistArray<number | bigint, Key>
  switch (how) {
    case 'given':
      return given
    case 'lazy':
      return given.map((x) => x).filter((_x, [k]) => (k as number) % 3 > 0)
    case 'sparse':
      return session.sparse(shape, { dtype: dtype as 'f64' }) as DistArray<number, Key>
    case 'table':
      return session.fromColumns({ x: values }).map((r) => r.x) as unknown as DistArray<number, Key>
  }
}

test('what is written is read again with its bits', async () => {
  const ways = fc.constantFrom('given', 'lazy', 'sparse', 'table')
  await fc.assert(
    fc.asyncProperty(givenArrays(...NUMBER_DTYPES), ways, fc.nat(), async (given, how, seed) => {
      const { shape, values, dtype } = given
      const array = arrayOf(given, how)
      if (how === 'sparse' && values.length > 0)
        for (let i = 0; i < 3; i++) await array.set(keyAt((seed * (i + 1)) % values.length, shape), values[i % values.length] as number)
      const expected = await array.toTypedArray()
      const written = await array.writeNpy(path)
      const again = await read()
      expect(written).toEqual({ rows: expected.length, bytes: readFileSync(path).length })
      expect(await again.shape()).toEqual(await array.shape())
      expect(again.explain()).toContain(dtype)
      expect(bytesOf(await again.toTypedArray())).toEqual(bytesOf(expected))
      await Promise.all([again.release(), array.release()])
    }),
    RUN,
  )
})

test('what others write is read, whatever its version, its orders and the spelling of its header', async () => {
  await fc.assert(
    fc.asyncProperty(givenArrays(...NUMBER_DTYPES, 'bool'), forms, async (given, form) => {
      writeFileSync(path, npyBytes(given, form))
      const array = await read()
      expect(await array.shape()).toEqual(given.shape)
      expect(bytesOf(await array.toTypedArray())).toEqual(bytesOf(given.values))
      await array.release()
    }),
    RUN,
  )
})

test('64-bit integers are numbers where all of them are exact, and the first that is not is named', async () => {
  const integer = fc.oneof(fc.bigInt(-(2n ** 53n) - 2n, 2n ** 53n + 2n), fc.bigInt(-9n, 9n), fc.constantFrom(2n ** 53n, -(2n ** 53n)))
  const array = fc.tuple(fc.array(integer, { minLength: 1, maxLength: 6 }), fc.boolean(), forms)
  await fc.assert(
    fc.asyncProperty(array, async ([integers, unsigned, form]) => {
      const values = BigInt64Array.from(integers.flatMap((value) => [unsigned && value < 0n ? -value : value, 1n]))
      const shape = [integers.length, 2]
      const bytes = Buffer.from(npyBytes({ shape, dtype: 'i64', values }, form))
      if (unsigned) bytes.write('u8', bytes.indexOf('i8'), 'latin1')
      writeFileSync(path, bytes)
      const wide = values.findIndex((value) => value > 2n ** 53n || value < -(2n ** 53n))
      if (wide < 0) {
        const found = await session.readNpy(path)
        expect(await found.collect()).toEqual(Array.from(values, Number))
        return await found.release()
      }
      const what = `the integer ${values[wide]} at [${wide / 2}, 0] is beyond ±2^53, up to where numbers are exact.`
      await expect(session.readNpy(path)).rejects.toThrow(
        new SourceError(`${path}: ${what} Read 64-bit integers as bigints with { int64: 'bigint' }.`, path),
      )
      const bigints = await read()
      expect(await bigints.toTypedArray()).toEqual(values)
      await bigints.release()
    }),
    RUN,
  )
})

interface Damage {
  readonly kind: 'cut' | 'flip' | 'insert' | 'header'
  readonly at: number
  readonly byte: number
}
const damages: fc.Arbitrary<Damage> = fc.record({
  kind: fc.constantFrom('cut', 'flip', 'flip', 'flip', 'flip', 'insert', 'header'),
  at: fc.nat(2_000),
  byte: fc.integer({ min: 1, max: 255 }),
})
const PARTS = [
  "{'descr': '<f8', ",
  "'fortran_order': ",
  'True',
  'False',
  'None',
  '(',
  ')',
  '[',
  ']',
  '{',
  '}',
  ',',
  ':',
  "'shape': ",
  "'",
  '"',
  '\\',
  '3',
  '-1',
  '1e9',
  '9999999999999999999999',
  '|O',
  "[('a', '<f8')]",
  'import os',
  '\0',
  '{'.repeat(40),
]
const scraps = fc.array(fc.constantFrom(...PARTS), { maxLength: 14 }).map((parts) => parts.join(''))

test('a damaged file is a SourceError, or an array of all that is in it, with as many elements as its shape has keys', async () => {
  let [refused, allowed] = [0, 0]
  await fc.assert(
    fc.asyncProperty(
      givenArrays(...NUMBER_DTYPES, 'bool'),
      forms,
      fc.array(damages, { minLength: 1, maxLength: 2 }),
      scraps,
      async (given, form, list, scrap) => {
        let bytes = Buffer.from(npyBytes(given, form))
        for (const { kind, at, byte } of list) {
          const place = at % Math.max(1, bytes.length)
          if (kind === 'cut') bytes = bytes.subarray(0, place)
          else if (kind === 'insert') bytes = Buffer.concat([bytes.subarray(0, place), Buffer.from([byte]), bytes.subarray(place)])
          else if (kind === 'header') bytes = Buffer.from(fileOf(scrap, new Uint8Array(8), form))
          else if (bytes.length > 0) bytes[place] = (bytes[place] as number) ^ byte
        }
        writeFileSync(path, bytes)
        try {
          const array = await read()
          const shape = await array.shape()
          const values = await array.toTypedArray()
          expect(values.length).toBe(sizeOfShape(shape))
          const header = bytes[6] === 1 ? 10 + bytes.readUInt16LE(8) : 12 + bytes.readUInt32LE(8)
          expect(header + values.byteLength).toBe(bytes.length)
          if (bytes.subarray(0, header).includes('b1')) expect(values.every((value) => value <= 1)).toBe(true)
          await array.release()
          allowed++
        } catch (error) {
          if (!(error instanceof SourceError)) throw error
          expect(error.message.startsWith(path)).toBe(true)
          refused++
        }
      },
    ),
    RUN,
  )
  expect(Math.min(refused, allowed), `${refused} refused, ${allowed} allowed`).toBeGreaterThan((refused + allowed) / 20)
})

// ------------------------------------------------------------------ NumPy itself

/** `compare`: what NumPy reads of files written here has these bytes; `write`: it writes files of its own, of the same arrays. */
const PROGRAM = `
import json, sys, numpy as np
for item in json.load(sys.stdin):
    a = np.frombuffer(bytes.fromhex(item['hex']), dtype='<' + item['code']).reshape(item['shape'])
    ours = np.load(item['ours'], allow_pickle=False)
    assert ours.dtype == a.dtype and ours.shape == a.shape and ours.tobytes() == a.tobytes(), item
    a = a.astype(item['order'] + item['code'])
    a = np.asfortranarray(a) if item['fortran'] else a
    with open(item['theirs'], 'wb') as file:
        np.lib.format.write_array(file, a, tuple(item['version']), allow_pickle=False)
`
const hasNumpy = spawnSync('python3', ['-c', 'import numpy']).status === 0
if (!hasNumpy)
  console.warn('npy.prop.ts: python3 has no numpy here, so that NumPy itself was not asked. pip install numpy, and run it again.')

test.skipIf(!hasNumpy)('NumPy reads what is written here, and what it writes is read', async () => {
  const lists = fc.array(fc.tuple(givenArrays(...NUMBER_DTYPES), forms), { minLength: 1, maxLength: 40 })
  await fc.assert(
    fc.asyncProperty(lists, async (list) => {
      const items = await Promise.all(
        list.map(async ([given, form], i) => {
          const { shape, dtype, values } = given
          const [ours, theirs] = [join(folder, `ours-${i}.npy`), join(folder, `theirs-${i}.npy`)]
          const array = session.fromTypedArray(values, shape) as unknown as DistArray<number, Key>
          await array.writeNpy(ours)
          await array.release()
          const { fortran, version, bigEndian } = form
          const hex = Buffer.from(bytesOf(values)).toString('hex')
          return { hex, shape, code: CODES[dtype], ours, theirs, fortran, version: [version, 0], order: bigEndian ? '>' : '<' }
        }),
      )
      const { status, stderr } = spawnSync('python3', ['-W', 'ignore', '-c', PROGRAM], { input: JSON.stringify(items), encoding: 'utf8' })
      expect(stderr).toBe('')
      expect(status).toBe(0)
      for (const [i, { theirs }] of items.entries()) {
        const array = await read(theirs)
        const [{ shape, values }] = list[i] as readonly [{ shape: readonly number[]; values: TypedArray }, unknown]
        expect(await array.shape()).toEqual(shape)
        expect(bytesOf(await array.toTypedArray())).toEqual(bytesOf(values))
        await array.release()
      }
    }),
    { ...RUN, numRuns: Math.ceil(RUN.numRuns / 40) },
  )
})
