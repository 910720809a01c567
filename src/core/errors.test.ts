import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { PlanError, TaskError } from './errors.ts'

test('fields that say nothing are not there, and consoles do not print them', () => {
  expect(Object.keys(new PlanError('No.'))).toEqual(['name'])
  expect(Object.keys(new TaskError('No.'))).toEqual(['name'])
  expect(inspect(new PlanError('No.'))).not.toContain('undefined')
  expect(Object.keys(new TaskError('No.', { key: [1], partition: 2 }))).toEqual(['name', 'key', 'partition'])
})
