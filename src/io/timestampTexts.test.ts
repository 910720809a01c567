import { expect, test } from 'vitest'
import { dateOfText, digitsOfText, finerTimestamp, timestampOfDigits, timestampOfText } from './timestampTexts.ts'

test('a text is a count of its unit, or none where the unit has not its digits', () => {
  expect(timestampOfText('1970-01-01 00:00:01.5', 'ms')).toBe(1500n)
  expect(timestampOfText('1970-01-01 00:00:00.000001', 'us')).toBe(1n)
  expect(timestampOfText('1969-12-31T23:59:59.999999999Z', 'ns')).toBe(-1n)
  expect(timestampOfText('1970-01-01 00:00:00.000001', 'ms')).toBeUndefined()
  expect(timestampOfText('1970-01-01 00:00:00.001000', 'ms')).toBe(1n)
  expect(timestampOfText('1970-01-01', 's')).toBe(0n)
  expect(timestampOfText('2300-01-01', 'ns')).toBeUndefined() // beyond 64 bits
  expect(timestampOfText('2300-01-01', 'us')).toBe(10413792000000000n)
  expect(timestampOfText('1970-02-30', 'us')).toBeUndefined()
  expect(dateOfText('2024-03-01T10:00:00.0001Z')).toBeUndefined()
})

test('digits decide the unit, which is never coarser than a Date', () => {
  expect([0, 3, 4, 6, 7, 9].map(timestampOfDigits).map((type) => (type as { unit: string }).unit)).toStrictEqual([
    'ms',
    'ms',
    'us',
    'us',
    'ns',
    'ns',
  ])
  expect(digitsOfText(' 2024-03-01 10:00:00.433581 ')).toBe(6)
  expect(digitsOfText('2024-03-01')).toBe(0)
  expect(finerTimestamp('2024-03-01 10:00:00.433581')).toBe('timestamp(us)')
  expect(finerTimestamp('2024-03-01 10:00:00.4335811')).toBe('timestamp(ns)')
  expect(finerTimestamp('tomorrow')).toBeUndefined()
})
