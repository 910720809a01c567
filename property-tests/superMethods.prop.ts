// biome-ignore-all lint/complexity/noThisInStatic: static methods of classes that others extend are what the law is about
/**
 * Law: a body that makes, or captures, objects of classes whose methods and getters use `super` - over several classes, in arrow functions, in
 * methods that others override, before and after they change the object - is compiled to WebAssembly, runs in parallel, and gives the bits of
 * plain JavaScript.
 */
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { drawing } from './drawing.ts'
import { bodyOf, type DrawnBody, expectCompiled, looped, plain } from './drawnBodies.ts'
import { expectBitsOfPlain } from './lawOfBodies.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('superMethods.prop.ts')
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

let factor = 2
class Shape {
  w: number
  constructor(w: number) {
    this.w = w
  }
  area(): number {
    return this.w * this.w
  }
  scaled(f = 1): number {
    return this.area() * f
  }
  grow(f: number): this {
    this.w = this.w * f + 0.25
    return this
  }
  get side(): number {
    return this.w + 1
  }
  each(f: (v: number) => number): number {
    return f(this.w) - f(1)
  }
}
class Box extends Shape {
  h: number
  constructor(w: number, h: number) {
    super(w)
    this.h = h
  }
  override area(): number {
    return super.area() * this.h
  }
  override grow(f: number): this {
    super.grow(f)
    this.h += 1
    return this
  }
  override get side(): number {
    return super.side * 2
  }
  override each(f: (v: number) => number): number {
    return super.each((v) => f(v) + super.side)
  }
}
/** Has static fields, and static methods that make objects of the class that is asked. */
class Made extends Box {
  static unit = 0.5
  static readonly sizes = [1, 2, 4]
  static of(this: new (w: number, h: number) => Made, w: number): Made {
    return new this(w, Made.unit)
  }
  static wide(k: number): number {
    return (this.sizes[k % 3] ?? 0) * this.unit
  }
}
class Half extends Made {
  static override unit = 0.25
}
/** Overrides nothing of what its own class does. */
class Plain extends Box {
  more = 0.5
}
const withDepth = (Base: typeof Box) =>
  class extends Base {
    depth = 3
    override area(): number {
      const all = [1, 2].map((k) => super.area() * k)
      return (all[0] ?? 0) + (all[1] ?? 0) + this.depth
    }
    override scaled(f = 2): number {
      return super.scaled(f * factor) - super.scaled()
    }
    override get side(): number {
      return this.depth > 3 ? super.side : -super.side
    }
    deepen(): this {
      this.depth++
      return super.grow(0.5)
    }
  }
const Cube = withDepth(Box)
const Deep = withDepth(Plain)
const HELD = { Shape, Box, Plain, Cube, Deep, Made, Half, box: new Box(0.5, 2), cube: new Cube(2, 0.75), deep: new Deep(-1, 3) }

function bodyText(numbers: readonly number[]): DrawnBody {
  const { below, of, use, used } = drawing(numbers)
  const made = [of(['Box', 'Plain', 'Cube', 'Deep']), of(['Shape', 'Box', 'Cube', 'Deep'])]
  const value = (): string => of(['x.get(i)', 's', 'i', '0.5', 'k'])
  const asked = (one: string): string => {
    switch (below(4)) {
      case 0:
        return use('a method', `${one}.area()`)
      case 1:
        return use('a method that calls another', `${one}.scaled(${of(['', value()])})`)
      case 2:
        return use('a getter', `${one}.side`)
      default:
        return use('a function', `${one}.each((v) => v * ${value()})`)
    }
  }
  const statement = (): string => {
    const n = below(2)
    switch (below(7)) {
      case 5:
        return use('made by a static method', `s += ${of(['Made', 'Half'])}.of(${value()}).area()`)
      case 6:
        return use('static fields', `s += ${of(['Made.wide(i)', 'Half.wide(k)', 'Half.unit', 'Made.sizes[i % 3]', 'Half.sizes.length'])}`)
      case 0:
        return use('changed', `o${n}.grow(${value()})`)
      case 1:
        return /Cube|Deep/.test(made[n] ?? '') ? use('changed by super', `o${n}.deepen()`) : `s += o${n}.w`
      case 2:
        return use('of a captured object', `s = s * 0.5 + ${asked(of(['box', 'cube', 'deep']))}`)
      default:
        return `s = s * 0.5 + ${asked(`o${n}`)}`
    }
  }
  const lines = [
    'let s = 0.125, k = 1',
    ...made.map((name, n) => `const o${n} = new ${name}(${of(['x.get(i)', 'i', '0.5'])}, ${below(4)})`),
  ]
  for (let n = 2 + below(3); n > 0; n--) {
    const two = `${statement()}; ${statement()}`
    lines.push(of([two, `for (k = 0; k < 3; k++) { ${two} }`, `if (s > ${below(3)}) { ${two} }`]))
  }
  return { text: `([i], { x, out }) => {\n${lines.join('\n')}\nout.set(i, s + o0.w + o1.w)\n}`, used }
}

test('methods that use super', { timeout: 900_000 }, () =>
  expectBitsOfPlain(session, { name: 'super', draw: bodyText, held: HELD, run: RUN, least: 500 }),
)

test('static fields of captured classes are compiled', async () => {
  const text = '([i], { x, out }) => out.set(i, Made.wide(i) + Half.unit * x.get(i) + Half.sizes[i % 3] + Made.of(i).w)'
  const body = bodyOf(text, HELD)
  const { outcome, plan } = await looped(session, body)
  expectCompiled(plan, text)
  expect(outcome).toStrictEqual(plain(body))
})

test('what a method of super is and captures is read by each run', async () => {
  const text = '([i], { x, out }) => out.set(i, cube.scaled(2) + new Box(x.get(i), 1).area())'
  const body = bodyOf(text, HELD)
  for (const change of [() => factor++, () => Object.assign(Shape.prototype, { area: (): number => 7 })]) {
    change()
    const { outcome, plan } = await looped(session, body)
    expectCompiled(plan, text)
    expect(outcome).toStrictEqual(plain(body))
  }
})

test('the super of an object in a method is not that of the method', async () => {
  class Odd extends Box {
    override area(): number {
      const other = {
        w: 3,
        toString(): string {
          return super.toString()
        },
      }
      return other.toString().length + super.area()
    }
  }
  const odd = new Odd(1, 2)
  const body = bodyOf('([i], { x, out }) => out.set(i, odd.area())', { odd })
  expect((await looped(session, body)).outcome).toStrictEqual(plain(body))
})
