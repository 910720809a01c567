import { expect, test } from 'vitest'
import { parseLine } from './parseLine.ts'
import { LineScanner, placeOf } from './scanLine.ts'
import { fieldOf, nothingSeen, see } from './seenValues.ts'

const PLACE = { path: 'a.jsonl', line: 1, name: '' }

/** Which lines the scanner takes, where the first was parsed. */
function taken(first: string, ...lines: readonly string[]): readonly boolean[] {
  const root = nothingSeen()
  for (const [name, value] of Object.entries(parseLine(first) as object)) see(fieldOf(root, name, PLACE), value, PLACE)
  const known = placeOf(root)
  return lines.map((line) => new LineScanner(known, Buffer.from(`${line}\n`), () => false).scan(0) === Buffer.byteLength(line))
}

test('lines with what is known are taken, in any order and with any blanks', () => {
  const first = '{"id":1,"user":{"name":"Ada","tags":["x"]},"ok":true,"big":9007199254740993}'
  expect(
    taken(
      first,
      '{"id":-2.5e3,"user":{"name":"B\\u00fc\\n","tags":[]},"ok":false}',
      ' { "ok" : null , "user" : null } \r',
      '{}',
      '{"big":9007199254740995,"user":{"tags":[null,"ü"]}}',
    ),
  ).toEqual([true, true, true, true])
})

test('what is new, ambiguous or no JSON is declined', () => {
  const first = '{"id":1,"user":{"name":"Ada"},"list":[]}'
  const lines = ['{"new":1}', '{"id":"1"}', '{"id":1,"id":2}', '{"id":9007199254740993}', '{"list":[1]}', '{"user":{"name":"\\ud800"}}']
  const broken = [
    '{"id":01}',
    '{"id":1,}',
    '{"id":1}}',
    '{"id":1 "user":null}',
    '{"id":1',
    '[]',
    '{"user":{"name":"a\tb"}}',
    '{"id":1e}',
    '{"\\u0069d":1}',
  ]
  expect(taken(first, ...lines, ...broken)).toEqual([...lines, ...broken].map(() => false))
})
