// biome-ignore-all lint/complexity/noThisInStatic: static methods of classes that others extend are what the law is about
/**
 * Law: a loop whose body captures classes and their instances gives what plain JavaScript gives, whatever changes between its runs - fields,
 * private and static ones, variables that methods capture, methods, getters and those of the class that is extended, or the prototype.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('classCaptures.prop.ts')
const session = await Session.start({ workers: 1, progress: false })
afterAll(() => session.stop())

const ROWS = 6

/** A class of one method that captures a variable of its own, and what changes that variable: methods of two such classes have one text. */
function counted() {
  let step = 3
  class Counted {
    get next(): number {
      return step + 1
    }
    stepped(v: number): number {
      return v * step
    }
    static back(v: number): number {
      return v - step
    }
  }
  class Begun {
    readonly first = step
  }
  return { Counted, Begun, raise: () => step++ }
}

/** Classes and instances of their own for each case. */
function program() {
  const [one, another] = [counted(), counted()]
  const place = new one.Counted()
  const { Counted, Begun } = one
  let factor = 2
  let shift = 1
  class Base {
    gain = 1
    scaled(v: number): number {
      return v * this.gain + shift
    }
  }
  class Sensor extends Base {
    readonly taps: number[] = [1, 2]
    get first(): number {
      return this.taps[0] ?? 0
    }
    static rate = 2
    static readonly table = [1, 2, 3]
    static unit(v: number): number {
      return v + 0.5
    }
    raw(v: number): number {
      return v * 3 + this.gain
    }
    doubled(v: number): number {
      return v * 2
    }
    filtered(v: number): number {
      return this.scaled(v) * factor + this.first
    }
  }
  class Secret {
    #level = 1
    raise(): void {
      this.#level++
    }
    at(v: number): number {
      return v * this.#level
    }
  }
  class Other extends Base {}
  class Better extends Sensor {
    static better(v: number): number {
      return this.unit(v) * this.rate
    }
  }
  const sensor = new Sensor()
  const secret = new Secret()
  const bodies = {
    instance: (v: number) => sensor.filtered(v),
    field: (v: number) => v * sensor.gain,
    made: (v: number) => new Sensor().filtered(v),
    secret: (v: number) => secret.at(v),
    static: (v: number) => Sensor.unit(v),
    staticFields: (v: number) => v * Sensor.rate + (Sensor.table[v % 3] ?? 0),
    inheritedStatics: (v: number) => Better.better(v) + Better.rate,
    stepped: (v: number) => place.stepped(v) + place.next,
    stepsMade: (v: number) => new Counted().stepped(v) + Counted.back(v),
    firstStep: (v: number) => v + new Begun().first,
    raw: (v: number) => sensor.raw(v),
  }
  const changes = {
    field: () => sensor.gain++,
    list: () => (sensor.taps[0] = 7 + (sensor.taps[0] ?? 0)),
    captured: () => factor++,
    capturedByBase: () => shift++,
    method: () =>
      (Sensor.prototype.filtered = function (this: Sensor, v: number) {
        return v - this.gain * factor
      }),
    anotherMethod: () => (Sensor.prototype.filtered = Sensor.prototype.raw),
    rawIsDoubled: () => (Sensor.prototype.raw = Sensor.prototype.doubled),
    baseMethod: () => (Base.prototype.scaled = (v: number) => v * v),
    getter: () => Object.defineProperty(Sensor.prototype, 'first', { get: () => 9, configurable: true }),
    static: () => (Sensor.unit = (v: number) => -v),
    staticField: () => Sensor.rate++,
    staticList: () => (Sensor.table[1] = 9 + (Sensor.table[1] ?? 0)),
    ownStatic: () => (Better.rate = 7 - Sensor.rate),
    private: () => secret.raise(),
    prototype: () =>
      Object.setPrototypeOf(sensor, { filtered: (v: number) => v + 100, scaled: (v: number) => v, raw: (v: number) => v - 1 }),
    base: () => Object.setPrototypeOf(Sensor.prototype, Other.prototype),
    stepped: () => takeMembers(one.Counted.prototype, another.Counted.prototype),
    statics: () => takeMembers(one.Counted, another.Counted),
    step: () => one.raise(),
    stepOfAnother: () => another.raise(),
    nothing: () => 0,
  }
  return { bodies, changes }
}

/** Gives an object the methods and getters of another. */
function takeMembers(to: object, from: object): void {
  for (const [name, member] of Object.entries(Object.getOwnPropertyDescriptors(from))) {
    if (!['constructor', 'prototype', 'length', 'name'].includes(name)) Object.defineProperty(to, name, member)
  }
}

const { bodies, changes } = program()
const names = fc.constantFrom(...(Object.keys(changes) as (keyof typeof changes)[]))

test('classes and instances that a body captures are read again when they have changed', async () => {
  const out = session.zeros([ROWS])
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...(Object.keys(bodies) as (keyof typeof bodies)[])),
      fc.array(names, { minLength: 1, maxLength: 4 }),
      async (name, steps) => {
        const { bodies, changes } = program()
        const f = bodies[name]
        const loop = session.loop(session.range(ROWS), { out }, ([i], { out }) => out.set(i, f(i)))
        for (const step of [undefined, ...steps]) {
          if (step !== undefined) changes[step]()
          await loop.run()
          expect([...(await out.toTypedArray())], `${name}: ${steps.join()}`).toStrictEqual(Array.from({ length: ROWS }, (_, i) => f(i)))
        }
      },
    ),
    RUN,
  )
})

test('a loop that captures a class and an instance is not lowered again where nothing has changed', async () => {
  const { bodies } = program()
  const out = session.zeros([ROWS])
  for (const f of [bodies.instance, bodies.made, bodies.field]) {
    const loop = session.loop(session.range(ROWS), { out }, ([i], { out }) => out.set(i, f(i)))
    await loop.run()
    const { accesses } = loop.plan
    await loop.run()
    expect(loop.plan.accesses).toBe(accesses)
  }
})
