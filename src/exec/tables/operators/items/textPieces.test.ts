import { afterAll, beforeAll, expect, test } from 'vitest'
import { Session } from '../../../../index.ts'
import { pieces, splitOf } from './textPieces.ts'

let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 1, progress: false })
})
afterAll(() => session.stop())

const LINES = ['the cat sat', '', ' on  the mat ', '😀 cat', 'the']

function counted(words: readonly string[]): readonly { readonly key: string; readonly count: number }[] {
  const counts = new Map<string, number>()
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
  return [...counts].map(([key, count]) => ({ key, count }))
}

test('words of an array of texts are counted as JavaScript counts them', async () => {
  const lines = session.fromRows(LINES)
  const words = LINES.flatMap((line) => line.split(' '))
  const split = lines.flatMap((line) => line.split(' '))
  expect(await split.collect()).toEqual(words)
  expect(
    await split
      .groupBy((w) => w)
      .count()
      .collect(),
  ).toEqual(counted(words))
  expect(await lines.flatMap((line) => line.split(' ').filter((w) => w.length > 3)).collect()).toEqual([])
  expect(await lines.flatMap((line) => (line === '' ? [] : line.split(' ').map((w) => ({ w })))).collect()).toEqual(
    LINES.flatMap((line) => (line === '' ? [] : line.split(' ').map((w) => ({ w })))),
  )
  // the text itself belongs to each part
  expect(await lines.flatMap((line) => line.split(' ').map((w) => ({ w, of: line.length }))).collect()).toEqual(
    LINES.flatMap((line) => line.split(' ').map((w) => ({ w, of: line.length }))),
  )
})

test('a text that is null is no text to split, with or without columns', async () => {
  const lines = session.fromRows([{ line: 'a b' }, { line: null as string | null }])
  const of = (line: string | null): string[] => (line as string).split(' ')
  await expect(lines.flatMap((r) => of(r.line)).collect()).rejects.toThrow("Cannot read properties of null (reading 'split')")
  expect(await lines.flatMap((r) => r.line?.split(' ') ?? []).collect()).toEqual(['a', 'b'])
})

test('bytes do not show half a character, nor where there is nothing', () => {
  const span = { file: '', line: 1, column: 1, text: '' }
  const text = { kind: 'Input', argument: 0, span } as const
  const split = (value: string): unknown =>
    splitOf({ kind: 'MethodCall', method: 'split', object: text, args: [{ kind: 'Literal', value, span }], optional: false, span })
  expect(split('\ude00')).toBeUndefined()
  expect(split('')).toBeUndefined()
  expect(split('😀')).toEqual({ text, separator: new Uint8Array([0xf0, 0x9f, 0x98, 0x80]) })
})

test('parts of a slice of a column begin at its own offsets', () => {
  const values = new TextEncoder().encode('xx a,bc,,d')
  const lists = pieces({ type: { kind: 'utf8' }, length: 2, values, offsets: new Int32Array([3, 7, 10]) }, new Uint8Array([44]))
  expect(Array.from(lists?.offsets ?? [])).toEqual([0, 2, 5])
  expect(Array.from(lists?.children?.[0]?.offsets ?? [])).toEqual([0, 1, 3, 3, 3, 4])
  expect(new TextDecoder().decode(lists?.children?.[0]?.values as Uint8Array)).toBe('abcd')
})
