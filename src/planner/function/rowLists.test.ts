import { expect, test } from 'vitest'
import { irText } from './irText.ts'
import { lowerFunction } from './userFunction.ts'

interface Row {
  readonly id: number
  readonly tags: readonly string[]
  readonly days: readonly Date[]
}
const FIELDS = [
  { name: 'id', type: { kind: 'f64' }, nullable: false },
  { name: 'tags', type: { kind: 'list', item: { kind: 'utf8' } }, nullable: true },
  { name: 'days', type: { kind: 'list', item: { kind: 'timestamp', unit: 'ms' } }, nullable: true },
] as const

function row(f: (r: Row) => unknown): string {
  const { fn } = lowerFunction(f, { kind: 'row', method: 'map', inputs: [{ kind: 'row', fields: FIELDS }] })
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

test('what makes lists, has statements, or reads elements that are objects runs as it did', () => {
  expect(row((r) => r.tags.map((t) => t.length))).toBe('It uses a function as a value.')
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
