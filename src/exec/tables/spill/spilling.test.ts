import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { columnFromValues } from '../../../core/data/columnBuilder.ts'
import { SpillError } from '../../../core/errors.ts'
import { rowBatch, scalarBatch, sliceBatch } from '../operators/batches.ts'
import { boundariesIfOrdered, boundariesOf, isOneKey, partsBetween, partsByKey } from './boundaries.ts'
import { expectedGroups, groupsBeyond, partitionsBeyond } from './expected.ts'
import { keyHashes, partsByHash } from './keyHashes.ts'
import { readSegments, type Segment, writeSegments } from './segments.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'spilling-test-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('keys with lists in them are parted by their hash: their order does not tell all of them apart', () => {
  const lists = columnFromValues([[1], [1, null], [2]])
  expect(boundariesIfOrdered([lists], 3)).toBeUndefined()
  expect(boundariesIfOrdered([columnFromValues([{ k: [1] }, { k: [1, null] }, { k: [2] }])], 3)).toBeUndefined()
  expect(boundariesIfOrdered([columnFromValues([1, 2, 3])], 3)).toBeDefined()
})

describe('segments', () => {
  const columns = [
    columnFromValues([1.5, null, Number.NaN, -0, 2 ** 53]),
    columnFromValues(['a', 'ä𐀀', null, '', 'zz']),
    columnFromValues([1n, -(2n ** 62n), null, 0n, 7n]),
    columnFromValues([[1, 2], [], null, [3], [4, 5, 6]]),
    columnFromValues([
      { x: 1, y: 'p' },
      { x: null, y: 'q' },
      { x: 3, y: null },
      { x: 4, y: '' },
      { x: 5, y: 'r' },
    ]),
    columnFromValues([true, false, null, true, false]),
    columnFromValues([new Date(0), new Date(1), null, new Date(-1), new Date(5)]),
    columnFromValues([null, null, null, null, null]),
  ]
  const whole = {
    ...rowBatch([...'abcdefgh'], columns, 5),
    keys: [Int32Array.of(4, 3, 2, 1, 0)],
    hidden: [columnFromValues([5, 4, 3, 2, 1])],
  }

  test('hold any batch and slice of one, and give it back', () => {
    const batches = [whole, sliceBatch(whole, 1, 4), sliceBatch(whole, 3, 3), scalarBatch(columnFromValues(['x']))]
    const segments = writeSegments(join(folder, 'a'), batches)
    const read = readSegments(segments)
    expect(read.map(({ length, element }) => ({ length, element }))).toEqual(batches.map(({ length, element }) => ({ length, element })))
    expect(read[0]).toEqual(whole)
    expect(readSegments(segments.slice(1, 2))[0]?.columns[1]).toEqual({ ...columnFromValues(['ä𐀀', null, '']) })
    expect(segments.map(({ rows }) => rows)).toEqual([5, 3, 0, 1])
  })

  test('that changed, or are shorter than they were, are no batches', () => {
    const path = join(folder, 'a')
    const [segment] = writeSegments(path, [whole]) as [Segment]
    const bytes = readFileSync(path)
    const messageOf = (run: () => unknown): string => {
      try {
        run()
      } catch (error) {
        expect(error).toBeInstanceOf(SpillError)
        return (error as Error).message.replaceAll(folder, 'FOLDER')
      }
      return 'nothing is wrong'
    }
    writeFileSync(path, bytes.with(100, 1 ^ (bytes[100] as number)))
    const cure = 'Make room there, give another folder with { spillFolder } in Session.start, or raise { memory }.'
    expect(messageOf(() => readSegments([segment]))).toBe(
      `What memory does not hold could not be read in FOLDER: a file in it has changed.\n${cure}`,
    )
    writeFileSync(path, bytes.subarray(0, bytes.length - 3))
    expect(messageOf(() => readSegments([segment]))).toBe(
      `What memory does not hold could not be read in FOLDER: a file in it ends 3 bytes too early.\n${cure}`,
    )
    rmSync(path)
    expect(messageOf(() => readSegments([segment]))).toBe(
      `What memory does not hold could not be read in FOLDER: ENOENT: no such file or directory, open 'FOLDER/a'.\n${cure}`,
    )
    expect(messageOf(() => writeSegments(join(folder, 'none', 'a'), [whole]))).toBe(
      `What memory does not hold could not be written in FOLDER/none: ENOENT: no such file or directory, open 'FOLDER/none/a'.\n${cure}`,
    )
    expect(readdirSync(folder)).toEqual([])
  })

  test.skipIf(process.platform !== 'linux')('on a full disk are an error that says so', () => {
    expect(() => writeSegments('/dev/full', [whole])).toThrow(
      new SpillError(
        'What memory does not hold could not be written in /dev: ENOSPC: no space left on device, write.\nMake room there, give another folder with { spillFolder } in Session.start, or raise { memory }.',
        '/dev',
      ),
    )
  })
})

describe('hashes', () => {
  const hashOf = (value: unknown) => keyHashes(columnFromValues([value]))[0]

  test('of equal keys are equal, whatever their columns are', () => {
    expect(keyHashes({ type: { kind: 'i32' }, length: 2, values: Int32Array.of(7, -1) })).toEqual(keyHashes(columnFromValues([7, -1])))
    expect(hashOf(0)).toBe(hashOf(-0))
    expect(keyHashes({ type: { kind: 'f64' }, length: 1, values: Float64Array.of(-0) })[0]).toBe(hashOf(0))
    const otherNaN = new Float64Array(new BigUint64Array([0xfff8000000000001n]).buffer)
    expect(keyHashes({ type: { kind: 'f64' }, length: 1, values: otherNaN })[0]).toBe(hashOf(Number.NaN))
    expect(hashOf({ a: 1, b: null })).toBe(hashOf({ a: 1 }))
    expect(hashOf({ a: 1, b: 'x' })).toBe(hashOf({ b: 'x', a: 1 }))
    expect(hashOf([1, 2])).toBe(hashOf({ 0: 1, 1: 2 }))
    expect(hashOf(new Date(5))).toBe(keyHashes({ type: { kind: 'timestamp', unit: 'us' }, length: 1, values: BigInt64Array.of(5_999n) })[0])
  })

  test('tell most others apart, on every level anew', () => {
    const keys = keyHashes(columnFromValues(Array.from({ length: 1_000 }, (_, i) => i)))
    expect(new Set(keys).size).toBe(1_000)
    const parts = partsByHash(keys.slice(), 8, 0)
    const sizes = Array.from({ length: 8 }, (_, part) => parts.filter((one) => one === part).length)
    expect(Math.min(...sizes)).toBeGreaterThan(80)
    const first = keys.filter((_, i) => parts[i] === 0)
    expect(new Set(partsByHash(first, 8, 1)).size).toBe(8)
  })
})

describe('boundaries', () => {
  test('of a sample cut its keys into parts of about one length', () => {
    const keys = columnFromValues([9, 1, 7, 7, 2, 4, 7, 7])
    const found = boundariesOf([keys], false, 4)
    if (found === undefined) throw new Error('There are boundaries.')
    expect([...partsByKey(columnFromValues([1, 4, 5, 7, 8, null, Number.NaN]), found)]).toEqual([0, 0, 1, 2, 3, 3, 3])
    expect(partsBetween(found)).toBe(4)
    expect([0, 1, 2, 3].map((part) => isOneKey(found, part))).toEqual([false, false, true, false])
  })

  test('of one key give it a part of its own', () => {
    const found = boundariesOf([columnFromValues(['b', 'b', 'b'])], true, 4)
    if (found === undefined) throw new Error('There are boundaries.')
    expect([...partsByKey(columnFromValues(['c', 'b', 'a', null]), found)]).toEqual([0, 1, 2, 2])
    expect(isOneKey(found, 1)).toBe(true)
  })

  test('of nothing are none', () => expect(boundariesOf([], false, 4)).toBeUndefined())
})

describe('of what is to come', () => {
  test('groups are as many as the last partition says that are not seen yet', () => {
    const seen = { groups: 234, last: 120, fresh: 114, done: 2, total: 80 }
    expect(expectedGroups(seen)).toBe(2_400)
    expect(expectedGroups({ ...seen, total: 3 })).toBe(348)
    expect(expectedGroups({ ...seen, groups: 120, fresh: 0 })).toBe(120)
    expect(expectedGroups({ ...seen, groups: 240, fresh: 120 })).toBe(240 + 78 * 120)
  })

  test('nothing is said before there are some partitions, nor of what memory may hold', () => {
    const seen = { groups: 234, last: 120, fresh: 114, done: 2, total: 80 }
    expect(groupsBeyond(seen, 234, 1_900)).toBe(2_400)
    expect(groupsBeyond(seen, 234, 2_000)).toBeUndefined()
    expect(groupsBeyond({ ...seen, done: 1 }, 234, 1)).toBeUndefined()
    expect(partitionsBeyond({ done: 4, total: 80 }, 12, 100)).toBe(240)
    expect(partitionsBeyond({ done: 4, total: 80 }, 12, 120)).toBeUndefined()
    expect(partitionsBeyond({ done: 3, total: 80 }, 12, 1)).toBeUndefined()
  })
})
