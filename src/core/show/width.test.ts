import { expect, test } from 'vitest'
import { clipped, countText, displayWidth, padded, printable } from './width.ts'

test('wide characters take two cells, marks none', () => {
  expect(displayWidth('plain')).toBe(5)
  expect(displayWidth('漢字')).toBe(4)
  expect(displayWidth('한글')).toBe(4)
  expect(displayWidth('ｶﾅ')).toBe(2)
  expect(displayWidth('é'.normalize('NFD'))).toBe(1)
  expect(displayWidth('😀')).toBe(2)
  expect(displayWidth('👨‍👩‍👧')).toBe(2)
  expect(displayWidth('🇩🇪')).toBe(2)
  expect(displayWidth('☀')).toBe(1)
  expect(displayWidth('☀️')).toBe(2)
})

test('what would move the cursor or turn the line is spelt out', () => {
  expect(printable('a\nb\tc\0')).toBe('a\\nb\\tc\\0')
  expect(printable('\u001b[31mred\u009b')).toBe('\\u001b[31mred\\u009b')
  expect(printable('\u202eevil\u2066 \u2028')).toBe('\\u202eevil\\u2066 \\u2028')
  expect(printable('half \ud83d')).toBe('half \\ud83d')
  expect(printable('whole 😀')).toBe('whole 😀')
})

test('long texts end in an ellipsis, between characters', () => {
  expect(clipped('abcdef', 6)).toBe('abcdef')
  expect(clipped('abcdefg', 6)).toBe('abcde…')
  expect(clipped('漢字漢字', 6)).toBe('漢字…')
  expect(clipped('👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧', 5)).toBe('👨‍👩‍👧👨‍👩‍👧…')
  expect(clipped(`a${'\u0301'.repeat(10_000)}b`, 4).length).toBeLessThan(100)
})

test('columns are filled up by cells', () => {
  expect(padded('漢', 4, 'right')).toBe('  漢')
  expect(padded('漢', 4, 'left')).toBe('漢  ')
  expect([1, 1000, 1234567].map(countText)).toEqual(['1', '1,000', '1,234,567'])
})
