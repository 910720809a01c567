import { expect, test } from 'vitest'
import { surelyAssigned } from './definiteAssignment.ts'
import type { Expr, Stmt } from './functionIr.ts'

const span = { line: 1, column: 1, text: '' }
const local = (name: string): Expr => ({ kind: 'Local', name, span })
const declared: Stmt = { kind: 'Let', local: 'a', span }
const assigned: Stmt = { kind: 'Assign', local: 'a', value: { kind: 'Literal', value: 1, span }, span }
const read: Stmt = { kind: 'Evaluate', value: local('a'), span }
const left = (label?: string): Stmt => ({ kind: 'Break', ...(label === undefined ? {} : { label }), span })
const either = (then: readonly Stmt[], other: readonly Stmt[] = []): Stmt => ({ kind: 'If', test: local('t'), then, else: other, span })
const labeled = (...body: readonly Stmt[]): Stmt => ({ kind: 'Labeled', label: 'block', body, span })
const loop = (body: readonly Stmt[], how: { readonly test?: Expr; readonly doWhile?: boolean } = { test: local('t') }): Stmt => {
  return { kind: 'For', label: 'loop', init: [], update: [], body, doWhile: false, ...how, span }
}

const isSurely = (...after: readonly Stmt[]): boolean => surelyAssigned([declared, ...after]).has(declared)

test('a local is assigned where all ways to its reads assign it', () => {
  expect(isSurely(assigned, read)).toBe(true)
  expect(isSurely(read, assigned)).toBe(false)
  expect(isSurely(either([assigned], [assigned]), read)).toBe(true)
  expect(isSurely(either([assigned]), read)).toBe(false)
  expect(isSurely(either([assigned, read]))).toBe(true)
})

test('ways that leave carry what they have to where they go', () => {
  expect(isSurely(labeled(either([assigned, left('block')]), assigned), read)).toBe(true)
  expect(isSurely(labeled(either([left('block')]), assigned), read)).toBe(false)
  expect(isSurely(either([{ kind: 'Throw', error: 'Error', span }], [assigned]), read)).toBe(true)
  expect(isSurely(either([left('outer')], [assigned]), read)).toBe(true)
})

test('a loop may not turn; one without a test is left by its breaks only', () => {
  expect(isSurely(loop([assigned, read]))).toBe(true)
  expect(isSurely(loop([assigned]), read)).toBe(false)
  expect(isSurely(loop([read, assigned]))).toBe(false)
  expect(isSurely(loop([assigned], { test: local('a'), doWhile: true }), read)).toBe(true)
  expect(isSurely(loop([assigned], { test: local('a') }))).toBe(false)
  expect(isSurely(loop([either([assigned, left()])], {}), read)).toBe(true)
  expect(isSurely(loop([either([left()]), assigned], {}), read)).toBe(false)
  const again: Stmt = { kind: 'Continue', span }
  expect(isSurely(loop([either([again]), assigned], { test: local('t'), doWhile: true }), read)).toBe(false)
})
