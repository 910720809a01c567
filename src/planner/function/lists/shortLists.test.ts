/** What is asked of short lists, as IR, or why it is refused: whole texts. */
import { expect, test } from 'vitest'
import { irText } from '../irText.ts'
import type { LowerContext } from '../lower/context.ts'
import { lowerFunction } from '../userFunction.ts'

const ROW: LowerContext = {
  kind: 'row',
  method: 'map',
  inputs: [
    {
      kind: 'row',
      fields: [
        { name: 'a', type: { kind: 'i32' }, nullable: false },
        { name: 'b', type: { kind: 'f64' }, nullable: true },
        { name: 'name', type: { kind: 'utf8' }, nullable: false },
      ],
    },
  ],
}

// biome-ignore lint/suspicious/noExplicitAny: the functions here stand for any user's, whose types are gone by now
type Untyped = (...args: any[]) => unknown

function row(f: Untyped): string {
  const { fn } = lowerFunction(f as never, ROW)
  return fn.ir === undefined ? fn.refusals.map((one) => one.message).join('\n') : irText(fn.ir)
}

const bands = [
  [0, 5, 'low'],
  [5, 9, 'high'],
]
const rules = [
  { min: 3, label: 'much' },
  { min: 0, label: 'some' },
]
const uneven = [{ min: 3 }, { min: 0, label: 'some' }]

test('each element is asked in its turn, as long as nobody has answered', () => {
  expect(row((r) => [r.a, r.b].some((v) => v > 9))).toMatchInlineSnapshot(`"return ((#0.a > 9) || (#0.b > 9))"`)
  expect(row((r) => [r.a, r.b].every((v) => v))).toMatchInlineSnapshot(`"return (!!#0.a && !!#0.b)"`)
  expect(row((r) => [r.a, 4, r.b].indexOf(3))).toMatchInlineSnapshot(`"return ((#0.a === 3) ? 0 : ((#0.b === 3) ? 2 : -1))"`)
  expect(row((r) => [r.a, r.b].includes(r.b))).toMatchInlineSnapshot(
    `"return ((((#0.a === #0.b) || ((#0.a !== #0.a) && (#0.b !== #0.b))) || (#0.b === #0.b)) || ((#0.b !== #0.b) && (#0.b !== #0.b)))"`,
  )
  expect(row((r) => [r.a, r.b].findLastIndex((v, i) => v > i))).toMatchInlineSnapshot(`"return ((#0.b > 1) ? 1 : ((#0.a > 0) ? 0 : -1))"`)
  expect(row((r) => [r.a, r.b, 7].find((v) => v > 3) ?? 0)).toMatchInlineSnapshot(`
    "let at = ((#0.a > 3) ? 0 : ((#0.b > 3) ? 1 : 2))
    return (((at === 0) ? #0.a : ((at === 1) ? #0.b : ((at === 2) ? 7 : undefined))) ?? 0)"
  `)
  let counted = ''
  counted = row((r) => {
    let n = 0
    const found = [r.a, r.b].some((v) => {
      n++
      return v > 2
    })
    return found ? n : -n
  })
  expect(counted).toMatchInlineSnapshot(`
    "let n = 0
    let found
    n = (n + 1)
    if (#0.a > 2)
      found = true
    else
      n = (n + 1)
      found = (#0.b > 2)
    let found$1 = found
    return (found$1 ? n : -n)"
  `)
})

test('lists of others', () => {
  expect(row((r) => [r.a, r.b].map((v, i) => v * i).reduce((s, v) => s + v, 0))).toMatchInlineSnapshot(
    `"return ((0 + (#0.a * 0)) + (#0.b * 1))"`,
  )
  expect(row((r) => [r.a, r.b].map(Math.abs))).toMatchInlineSnapshot(`"return [Math.abs(#0.a), Math.abs(#0.b)]"`)
  expect(row((r) => [r.a, r.b, r.name, null].join('-'))).toMatchInlineSnapshot(
    `"return ((((((("" + String(#0.a)) + "-") + ((#0.b == null) ? "" : String(#0.b))) + "-") + String(#0.name)) + "-") + "")"`,
  )
  expect(row((r) => [r.a, 5].filter((v) => v > 3).length)).toMatchInlineSnapshot(`"return (((#0.a > 3) ? 1 : 0) + 1)"`)
})

test('captured lists of lists and of objects', () => {
  expect(row((r) => bands.find(([low, high]) => r.a >= (low as number) && r.a < (high as number))?.[2] ?? 'none')).toMatchInlineSnapshot(`
    "let at = (((#0.a >= $bands[0][0]) && (#0.a < $bands[0][1])) ? 0 : (((#0.a >= $bands[1][0]) && (#0.a < $bands[1][1])) ? 1 : -1))
    return (((at < 0) ? undefined : $bands_values[((at * 3) + 2)]) ?? "none")"
  `)
  expect(row((r) => rules.find(({ min }) => r.a >= min)?.label)).toMatchInlineSnapshot(`
    "let at = ((#0.a >= $rules[0].min) ? 0 : ((#0.a >= $rules[1].min) ? 1 : -1))
    return ((at < 0) ? undefined : $rules_label[at])"
  `)
  expect(row((r) => rules.filter(({ min }) => r.a >= min).length)).toMatchInlineSnapshot(
    `"return (((#0.a >= $rules[0].min) ? 1 : 0) + ((#0.a >= $rules[1].min) ? 1 : 0))"`,
  )
})

test('what is not written out', () => {
  expect(row((r) => [r.a, r.b].includes(3, 1))).toBe('It calls the method includes.')
  expect(row((r) => [r.a, r.b].map(Number.parseInt))).toBe('It calls the method map.')
  expect(row((r) => [r.a, r.b].filter((v) => v > 3)[0])).toBe('It calls the method filter.')
  expect(row((r) => uneven.find(({ min }) => r.a >= min)?.label)).toBe('It calls the method uneven.find.')
})
