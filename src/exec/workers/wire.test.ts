import { expect, test } from 'vitest'
import { Bug, LoopError, MemoryError, PlanError, SourceError, TaskError } from '../../core/errors.ts'
import { errorToWire, wireToError } from './wire.ts'

const span = { line: 3, column: 5, text: 'a[i]' }

function roundTrip(thrown: unknown): unknown {
  return wireToError(structuredClone(errorToWire(thrown)))
}

const errors: readonly Error[] = [
  new PlanError('no such column', { span }),
  new PlanError('plain', { cause: new TypeError('below') }),
  new LoopError('not parallel', [{ code: 'x', message: 'm', cure: 'c', span }]),
  new SourceError('truncated', 'a.parquet', { cause: new RangeError('offset') }),
  new TaskError('the body threw', { key: [3, 4], partition: 2, cause: new Error('boom') }),
  new MemoryError('too much', { operator: 'join', bytes: 12 }),
  new Bug('ours'),
  new Error('plain', { cause: 'text' }),
  new RangeError('range'),
  new ReferenceError('reference'),
  new SyntaxError('syntax'),
  new TypeError('type'),
  new EvalError('eval'),
  new URIError('uri'),
  new AggregateError([new PlanError('one'), 2], 'many'),
]

for (const error of errors) {
  test(`${error.name} "${error.message.split('\n')[0]}" arrives with class, message, stack, fields and cause`, () => {
    const arrived = roundTrip(error) as Error
    expect(Object.getPrototypeOf(arrived)).toBe(Object.getPrototypeOf(error))
    expect(arrived.message).toBe(error.message)
    expect(arrived.name).toBe(error.name)
    expect(arrived.stack).toBe(error.stack)
    expect({ ...arrived }).toEqual({ ...error })
    expect(arrived.cause).toEqual(error.cause)
    expect(Object.keys(arrived)).toEqual(Object.keys(error))
    if (error instanceof AggregateError) expect((arrived as AggregateError).errors).toEqual(error.errors)
  })
}

test('a class of the user arrives as the nearest known class with its name and fields', () => {
  class NotEnough extends RangeError {
    override name = 'NotEnough'
    readonly missing = 3
    readonly helper = (): number => 1
  }
  const arrived = roundTrip(new NotEnough('three short')) as Error
  expect(arrived).toBeInstanceOf(RangeError)
  expect(String(arrived)).toBe('NotEnough: three short')
  expect({ ...arrived }).toEqual({ name: 'NotEnough', missing: 3 })
  const system = Object.assign(new Error('no file'), { code: 'ENOENT', errno: -2 })
  expect({ ...(roundTrip(system) as object) }).toEqual({ code: 'ENOENT', errno: -2 })
})

test('values that are no errors arrive as they are, or as text', () => {
  for (const value of ['text', 0, null, undefined, 5n, { a: [1] }]) expect(roundTrip(value)).toEqual(value)
  expect(roundTrip(() => 1)).toBe('() => 1')
  expect(roundTrip(Symbol('s'))).toBe('Symbol(s)')
})

test('a circle of causes is cut', () => {
  const error = new Error('a') as Error & { cause: unknown }
  error.cause = error
  let depth = 0
  for (let at: unknown = roundTrip(error); at !== undefined; at = (at as Error).cause) depth++
  expect(depth).toBe(9)
})
