import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { PlanError, SourceError, TaskError } from './errors.ts'

test('fields that say nothing are not there, and consoles do not print them', () => {
  expect(Object.keys(new PlanError('No.'))).toEqual(['name'])
  expect(Object.keys(new TaskError('No.'))).toEqual(['name'])
  expect(inspect(new PlanError('No.'))).not.toContain('undefined')
  expect(Object.keys(new TaskError('No.', { key: [1], partition: 2 }))).toEqual(['name', 'key', 'partition'])
})

test.each([
  ['https://me:secret@host/x cannot', 'https://…@host/x cannot'],
  ['s3://AKID:sec/ret@bucket/x.', 's3://…@bucket/x.'],
  ['ftp://secret@host', 'ftp://…@host'],
  ['http://127.0.0.1:80/a@b.csv', 'http://127.0.0.1:80/a@b.csv'],
  ['"https://host/x?a=secret&b=secret", line 3', '"https://host/x?…", line 3'],
  ['https://host/x?secret.', 'https://host/x?….'],
  ['https://host/x#secret: no', 'https://host/x#…: no'],
  ['az://host/x?sig=secret.', 'az://host/x?….'],
  ['s3://bucket/part-?.csv', 's3://bucket/part-?.csv'],
  ['of https://a/x?k=secret and https://b:secret@c/y', 'of https://a/x?… and https://…@c/y'],
  ['no address: me@host?x=1', 'no address: me@host?x=1'],
])('an error about %s', (text, told) => {
  expect(new PlanError(text).message).toBe(told)
  const error = new SourceError(text, text, {
    cause: new TypeError('no', { cause: Object.assign(new Error(text), { code: 'X', input: text }) }),
  })
  expect([error.message, error.source]).toEqual([told, told])
  if (told !== text) expect(inspect(error)).not.toContain('secret')
  expect([(error.cause as Error).name, ((error.cause as Error).cause as { code: string }).code]).toEqual(['TypeError', 'X'])
})
