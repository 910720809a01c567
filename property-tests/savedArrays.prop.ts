/**
 * An array that is saved and loaded is the same: shape, dtype, the keys that are there, each bit. A file that was damaged is a SourceError, or
 * still gives the same array.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { keyAt } from '../src/core/arrays/indexSpace.ts'
import type { DType } from '../src/core/data/schema.ts'
import type { DistArray, Key } from '../src/index.ts'
import { Session, SourceError } from '../src/index.ts'
import { bytesOf, type GivenArray, givenArrays, NUMBER_DTYPES } from './arbitraries/givenArrays.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('savedArrays.prop.ts')
const folder = mkdtempSync(join(tmpdir(), 'distarray-saved-'))
const session = await Session.start({ workers: 1, memory: '64MB', progress: false })
afterAll(async () => {
  await session.stop()
  rmSync(folder, { recursive: true })
})
const path = join(folder, 'a.arrow')
type Numbers = DistArray<number, Key>

/** How the array came about. */
interface Made {
  readonly given: GivenArray
  readonly how: 'given' | 'filtered' | 'mask' | 'bools' | 'sparse'
  readonly seed: number
}
const made: fc.Arbitrary<Made> = fc.record({
  given: givenArrays<DType>(...NUMBER_DTYPES),
  how: fc.constantFrom('given', 'filtered', 'mask', 'bools', 'sparse'),
  seed: fc.nat(),
})

async function arrayOf({ given: { shape, dtype, values }, how, seed }: Made): Promise<Numbers> {
  const given = session.fromTypedArray(values, shape) as unknown as Numbers
  const modulus = 1 + (seed % 4)
  switch (how) {
    case 'given':
      return given
    case 'filtered': // sparse, unless nothing was filtered
      return given.filter((_, [k], { modulus }) => (k as number) % modulus === 0, { env: { modulus } })
    case 'mask':
      return given.map((_, [k]) => (k as number) % 2 === 0) as unknown as Numbers
    case 'bools': {
      const bools = session.zeros(shape, { dtype: 'bool' }) as unknown as Numbers
      if (values.length > 0) await bools.set(keyAt(seed % values.length, shape), 1)
      return bools
    }
    case 'sparse': {
      const sparse = session.sparse(shape, { dtype: dtype as 'f64' }) as unknown as Numbers
      for (let i = 0; i < Math.min(4, values.length); i++)
        await sparse.set(keyAt((seed * (i + 1)) % values.length, shape), values[i] as number)
      return sparse
    }
  }
}

async function entriesOf(array: Numbers): Promise<(readonly [Key, unknown])[]> {
  const entries: [Key, unknown][] = []
  await array.forEach((value, key) => {
    entries.push([[...key], value])
  })
  return entries
}

test('an array that is saved and loaded is the same, bit for bit', async () => {
  await fc.assert(
    fc.asyncProperty(made, async (how) => {
      const array = await arrayOf(how)
      const entries = await entriesOf(array)
      const written = await array.save(path)
      const bytes = readFileSync(path)
      expect(written).toEqual({ rows: entries.length, bytes: bytes.length })
      const again: Numbers = await session.load(path)
      expect(await again.shape()).toEqual(await array.shape())
      expect(await entriesOf(again)).toEqual(entries)
      const [before, after] = [await array.toTypedArray(), await again.toTypedArray()]
      expect(bytesOf(after)).toEqual(bytesOf(before))
      // what is saved again is the same file, so that all that is in it was loaded
      await again.save(path)
      expect(readFileSync(path).equals(bytes)).toBe(true)
      const one = await again.count()
      await again.set(entries[0]?.[0] ?? [], entries[0]?.[1] as number).catch((error: unknown) => {
        if (one > 0) throw error
      })
      await Promise.all([array.release(), again.release()])
    }),
    RUN,
  )
})

interface Damage {
  readonly kind: 'cut' | 'flip' | 'insert' | 'move'
  readonly at: number
  readonly byte: number
}
const damages: fc.Arbitrary<Damage> = fc.record({
  kind: fc.constantFrom('cut', 'flip', 'flip', 'flip', 'insert', 'move'),
  at: fc.nat(100_000),
  byte: fc.integer({ min: 1, max: 255 }),
})

test('a damaged file is a SourceError, or gives the same array', async () => {
  let [refused, allowed] = [0, 0]
  await fc.assert(
    fc.asyncProperty(made, fc.array(damages, { minLength: 1, maxLength: 2 }), async (how, list) => {
      const array = await arrayOf(how)
      await array.save(path)
      let bytes = readFileSync(path)
      for (const { kind, at, byte } of list) {
        const place = at % Math.max(1, bytes.length)
        if (kind === 'cut') bytes = bytes.subarray(0, place)
        else if (kind === 'insert') bytes = Buffer.concat([bytes.subarray(0, place), Buffer.from([byte]), bytes.subarray(place)])
        else if (kind === 'move') bytes.copyWithin(place, (place * byte) % Math.max(1, bytes.length), place + byte)
        else if (bytes.length > 0) bytes[place] = (bytes[place] as number) ^ byte
      }
      writeFileSync(path, bytes)
      try {
        const again: Numbers = await session.load(path)
        expect(await again.shape()).toEqual(await array.shape())
        expect(await entriesOf(again)).toEqual(await entriesOf(array))
        await again.release()
        allowed++
      } catch (error) {
        if (!(error instanceof SourceError)) throw error
        expect(error.message.startsWith(path)).toBe(true)
        refused++
      } finally {
        await array.release()
      }
    }),
    RUN,
  )
  expect(Math.min(refused, allowed), `${refused} refused, ${allowed} allowed`).toBeGreaterThan((refused + allowed) / 50)
})
