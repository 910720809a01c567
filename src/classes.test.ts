import { afterAll, expect, test } from 'vitest'
import { Session } from './session/session.ts'

const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

class Base {
  a: number
  constructor(a: number) {
    this.a = a
  }
  twice(): number {
    return 2 * this.a
  }
}
class Derived extends Base {
  override twice(): number {
    return super.twice() + 1
  }
}
class Setter {
  kept = 0
  constructor(v: number) {
    this.v = v
  }
  set v(v: number) {
    this.kept = v + 1
  }
}
class Itself {
  v: number
  self: Itself
  constructor(v: number) {
    this.self = this
    this.v = v
  }
}
class Gotten {
  constructor(v: number) {
    ;(this as { v: number }).v = v
  }
  get v(): number {
    return 1
  }
}
class Shown {
  v: number
  constructor(v: number) {
    this.v = v
  }
  get shown(): number {
    return 'v' in this ? 1 : 0
  }
}

test.each<[string, (v: number) => number]>([
  ['setters', (v) => new Setter(v).kept],
  ['an object that holds itself', (v) => new Itself(v).self.v],
  ['a getter that asks for names', (v) => new Shown(v).shown],
  ['whether it is of a class', (v) => (new Base(v) instanceof Base ? v : 0)],
  ['names of fields', (v) => Object.keys(new Base(v)).length],
  ['a method as a value', (v) => (typeof new Base(v).twice === 'function' ? 1 : 0)],
])('%s runs as it stands, with the result of JavaScript', async (_, f) => {
  const y = session.zeros([4])
  const loop = session.loop(session.range(4), { y }, ([i], { y }) => y.set(i, f(i)))
  await loop.run()
  expect(loop.plan.kernel?.target).toBe('as-is')
  expect(await y.collect()).toEqual([0, 1, 2, 3].map(f))
})

test.each<[string, (v: number) => number]>([
  ['of its class', (v) => (v > 1 ? new Base(v) : new Base(1)).twice()],
  ['of another class', (v) => (v > 1 ? new Base(v) : new Derived(v)).twice()],
])('an object or another %s is compiled, with the result of JavaScript', async (_, f) => {
  const y = session.zeros([4])
  const loop = session.loop(session.range(4), { y }, ([i], { y }) => y.set(i, f(i)))
  await loop.run()
  expect(loop.plan.kernel?.target).toMatch(/^wasm/)
  expect(await y.collect()).toEqual([0, 1, 2, 3].map(f))
})

test('an error of a constructor is one of the iteration', async () => {
  class Positive {
    v: number
    constructor(v: number) {
      if (v > 2) throw new RangeError('too much')
      this.v = v
    }
  }
  const y = session.zeros([4])
  const loop = session.loop(session.range(4), { y }, ([i], { y }) => y.set(i, new Positive(i).v))
  expect(loop.plan.kernel?.target).not.toBe('as-is')
  await expect(loop.run()).rejects.toThrow('The body of the loop over range(4) threw at key [3]: too much')
})

test('a field that has a getter cannot be assigned, as in JavaScript', async () => {
  const y = session.zeros([2])
  const loop = session.loop(session.range(2), { y }, ([i], { y }) => y.set(i, new Gotten(i).v))
  await expect(loop.run()).rejects.toThrow(/Cannot set property v/)
})
