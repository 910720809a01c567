import { expect, test } from 'vitest'
import { irText } from './irText.ts'
import { lowerFunction } from './userFunction.ts'

interface Row {
  readonly id: number
  readonly name: string
  readonly tags: readonly string[]
  readonly days: readonly Date[]
  readonly parts: readonly { readonly k: number; readonly at: { readonly x: number } }[]
}
const NUMBER = { type: { kind: 'f64' }, nullable: false } as const
const K = { name: 'k', ...NUMBER } as const
const AT = { name: 'at', type: { kind: 'struct', fields: [{ name: 'x', ...NUMBER }] }, nullable: false } as const
const FIELDS = [
  { name: 'id', type: { kind: 'f64' }, nullable: false },
  { name: 'name', type: { kind: 'utf8' }, nullable: false },
  { name: 'tags', type: { kind: 'list', item: { kind: 'utf8' } }, nullable: true },
  { name: 'days', type: { kind: 'list', item: { kind: 'timestamp', unit: 'ms' } }, nullable: true },
  { name: 'parts', type: { kind: 'list', item: { kind: 'struct', fields: [K, AT] } }, nullable: false },
] as const

function row(f: (r: Row) => unknown, method: string = 'map'): string {
  const { fn } = lowerFunction(f, { kind: 'row', method, inputs: [{ kind: 'row', fields: FIELDS }] })
  return fn.ir === undefined ? (fn.refusals[0]?.message ?? 'refused') : irText(fn.ir)
}

test('questions of lists are expressions, with the variables of their functions written out', () => {
  expect(row((r) => r.tags.length + r.days.length)).toBe('return (#0.tags.length + #0.days.length)')
  expect(row((r) => r.tags[r.id])).toBe('return #0.tags[#0.id]')
  expect(row((r) => r.tags?.at(-1))).toBe('return ((#0.tags == null) ? undefined : #0.tags.at(-1))')
  expect(row((r) => r.tags.filter((t) => t.length > r.id).length)).toBe(
    'return #0.tags.filter((item, index) => (item.length > #0.id)).length',
  )
  expect(
    row((r) =>
      r.tags.reduce((n, t) => {
        const size = t.trim().length
        return n + size * size
      }, 0),
    ),
  ).toBe('return #0.tags.reduce((sofar, item, index) => (sofar + (item.trim().length * item.trim().length)), 0)')
})

test('lists that are made of lists, or of texts, are asked like those of columns', () => {
  expect(row((r) => r.tags.map((t) => t.length).slice(1))).toBe('return #0.tags.map((item, index) => item.length).slice(1)')
  expect(row((r) => r.name.split(',').filter(Boolean).sort().join('+'))).toBe(
    'return #0.name.split(",").filter((item, index) => Boolean(item)).sort().join("+")',
  )
  expect(
    row((r) => {
      const [day, , year = '?'] = r.name.split('/')
      return day + year
    }),
  ).toBe(`let list = #0.name.split("/")
let day = list[0]
let temp = list[2]
let year = ((temp === undefined) ? "?" : temp)
return (day + year)`)
  expect(row((r) => r.name.match(/a(.)/)?.[1])).toBe('let temp = #0.name.match(/a(.)/)\nreturn ((temp == null) ? undefined : temp[1])')
  expect(row((r) => r.name.replace(/[ab]/g, '') + r.name[r.id])).toBe('return (#0.name.replace(/[ab]/g, "") + #0.name[#0.id])')
})

test('what changes a list that has a name, compares lists, takes the list, or remembers where a search ended is no expression', () => {
  expect(
    row((r) => {
      const parts = r.name.split(',')
      parts.reverse()
      return parts[0]
    }),
  ).toContain('It calls the method reverse.')
  expect(
    row((r) => {
      const parts = r.name.split(',')
      const same = parts
      return parts === same
    }),
  ).toContain('It keeps an object or array')
  expect(row((r) => r.name.split(',').map((t, _, all) => t + all.length))).toContain('It uses a function as a value.')
  expect(row((r) => /a/g.exec(r.name)?.index)).toContain('It uses a regular expression.')
  const global = /a/g
  expect(row((r) => r.name.replace(global, ''))).toContain('The captured object global')
})

test('the items of flatMap may be objects that are mapped from a list, and nothing else is asked of those', () => {
  const items = (f: (r: Row) => unknown): string => row(f, 'flatMap')
  expect(items((r) => r.tags.filter((t) => t !== '').map((t, i) => ({ t, i, id: r.id })))).toBe(
    'return #0.tags.filter((item, index) => (item !== "")).map((item$1, index$1) => { t: item$1, i: index$1, id: #0.id })',
  )
  expect(items((r) => (r.id > 1 ? r.parts.map(({ k, at }) => ({ k, x: at.x })) : []))).toBe(
    'return ((#0.id > 1) ? #0.parts.map((item, index) => { k: item.k, x: item.at.x }) : [])',
  )
  expect(items((r) => r.parts.filter((p) => p.k > 2).map((p) => p.k))).toContain('#0.parts.filter(')
  expect(items((r) => r.tags.map((t) => ({ t })).filter(({ t }) => t !== ''))).toContain('It uses a function as a value.')
  expect(items((r) => r.tags.map((t) => ({ t })).length)).toContain('It uses length of a value')
  expect(items((r) => r.parts.filter((p) => p.k > 2)[0]?.k)).toContain('It indexes a value that is not an array.')
  expect(row((r) => r.tags.map((t) => ({ t })))).toContain('It keeps an object or array')
})

test('lists of objects are asked by functions that read fields', () => {
  expect(row((r) => r.parts.map((p) => p.k).join())).toBe('return #0.parts.map((item, index) => item.k).join()')
  expect(row((r) => r.parts.reduce((sum, p) => sum + p.k, 0))).toBe('return #0.parts.reduce((sofar, item, index) => (sofar + item.k), 0)')
  expect(row((r) => r.parts.filter((p) => p.k > 2).length)).toBe('return #0.parts.filter((item, index) => (item.k > 2)).length')
  // an answer that is an object
  expect(row((r) => r.parts.find((p) => p.k > 2)?.k)).toContain('It uses a function as a value.')
  expect(row((r) => r.parts.reduce((a, b) => (a.k > b.k ? a : b)).k)).toContain('It uses a function as a value.')
})

test('an empty list may stand for a list that is null', () => {
  expect(row((r) => (r.tags ?? []).length)).toBe('return ((#0.tags == null) ? 0 : #0.tags.length)')
  expect(row((r) => (r.tags ?? []).filter((t) => t !== '').join())).toBe(
    'return ((#0.tags == null) ? "" : #0.tags.filter((item, index) => (item !== "")).join())',
  )
  expect(row((r) => r.tags?.map((t) => t) ?? [], 'flatMap')).toBe('return ((#0.tags == null) ? [] : #0.tags.map((item, index) => item))')
  // a list that a call gives would be made twice
  expect(row((r) => (r.name.match(/a/g) ?? []).length)).toContain('It keeps an object or array')
})

test('what has statements, or reads elements that are objects, runs as it did', () => {
  expect(row((r) => r.days[0])).toBe('It indexes a value that is not an array.')
  expect(
    row((r) =>
      r.tags.some((t) => {
        let spaces = 0
        for (const c of t) if (c === ' ') spaces++
        return spaces > 1
      }),
    ),
  ).toContain('It ')
})
