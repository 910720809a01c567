import { expect, test } from 'vitest'
import { copyLoss, functionLoss } from './copyLoss.ts'

const lost = (value: unknown): string => {
  const loss = typeof value === 'function' ? functionLoss(value as never) : copyLoss(value)
  return loss === undefined ? 'nothing' : loss.kind === 'whole' ? 'what it is' : loss.what
}
const marked = <T extends object>(value: T): T => Object.assign(value, { rate: 1 })

test('what copies lose nothing of', () => {
  const cyclic: { self?: object } = {}
  cyclic.self = cyclic
  const values = [
    1,
    'x',
    null,
    undefined,
    1n,
    {},
    [1, [2]],
    new Array(3),
    { a: { b: [new Date(0)] } },
    new Map([[1, new Set([/x/i])]]),
    cyclic,
  ]
  const buffers = [Float64Array.of(1), new Uint8Array(1000), new ArrayBuffer(8), new DataView(new ArrayBuffer(8)), Object.freeze({ a: 1 })]
  const functions = [() => 1, async () => 1, function* () {}, function named() {}, { method() {} }.method]
  for (const value of [...values, ...buffers, ...functions]) expect(lost(value)).toBe('nothing')
})

test('what copies lose, by name', () => {
  class Point {
    x = 1
  }
  function Old() {}
  Old.prototype.twice = () => 2
  const getter = {
    get rate(): number {
      throw new Error('the getter was called')
    },
  }
  expect([
    lost({ in: getter }),
    lost(Object.defineProperty({}, 'rate', { value: 1 })),
    lost({ [Symbol.iterator]: 1 }),
    lost(marked([1])),
    lost(marked(new Date(0))),
    lost(marked(new Map())),
    lost(marked(new Uint8Array(2))),
    lost(marked(new Uint8Array(2000))),
    lost(/x/g),
    lost(marked(/x/)),
    lost(marked(() => 1)),
    lost(Old),
    lost(Object.setPrototypeOf(() => 1, {})),
  ]).toEqual([
    'its accessor rate',
    'its hidden property rate',
    'its hidden property Symbol(Symbol.iterator)',
    'its property rate',
    'its property rate',
    'its property rate',
    'its properties',
    'its properties',
    'where its next search begins',
    'its property rate',
    'its property rate',
    'twice of its prototype',
    'its prototype',
  ])
  const whole = [
    new Point(),
    Symbol('x'),
    { f: () => 1 },
    new WeakMap(),
    Object.create(null),
    new Number(1),
    Buffer.alloc(2),
    new (class extends Map {})(),
  ]
  for (const value of whole) expect(copyLoss(value)).toEqual({ kind: 'whole' })
})
