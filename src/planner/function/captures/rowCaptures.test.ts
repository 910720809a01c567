import { expect, test } from 'vitest'
import * as library from '../../../index.ts'
import { capturedNow } from './capturedNow.ts'
import { rowCaptures } from './rowCaptures.ts'
import { variablesBehind } from './variablesBehind.ts'

// variables of their own, since a test runner makes members of its own objects of what is imported
const { bucket, duration, formatTime, parseTime } = library

test('functions of the library are not looked into: what is behind them is no variable of the program', () => {
  let every: '1 hour' | '2 hours' = '1 hour'
  const f = (row: { at: Date; text: string }) =>
    row.at.getTime() - duration('1 day') > (parseTime(row.text, '%Y')?.getTime() ?? 0) ? formatTime(bucket(row.at, { every }), '%H') : every
  const { items, isOpaque } = rowCaptures(f, new Map())
  expect(isOpaque).toBe(false)
  expect(items.filter((item) => item !== 'captured')).toEqual([duration, parseTime, formatTime, bucket, '1 hour'])
  expect(capturedNow(f as never, {}, () => false)).toContain(every)
  expect(variablesBehind(f as never)).toContain('every')
  expect([...(variablesBehind(f as never) ?? [])].filter((one) => typeof one === 'string')).toEqual(['every'])
  every = '2 hours'
})

test('nor is what the library exports, where a program has all of it in one object', () => {
  const exported = { ...library } // as require() gives it
  const f = (row: { at: Date }) => exported.bucket(row.at, { every: '1 hour' })
  const { items, isOpaque } = rowCaptures(f, new Map())
  expect(isOpaque).toBe(false)
  expect(items.length).toBeLessThan(3 * Object.keys(library).length)
  expect(capturedNow(f as never, {}, () => false)).toBeDefined()
})
