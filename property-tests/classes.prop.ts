/**
 * Law: a body that makes objects of the program's classes, calls their methods and getters, changes them, and puts them into variables,
 * arrays and other objects is compiled to WebAssembly, runs in parallel, and gives the bits of plain JavaScript.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { drawing } from './drawing.ts'
import { bodyOf, type DrawnBody, expectCompiled, looped, plain } from './drawnBodies.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('classes.prop.ts')
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

class Complex {
  re: number
  im: number
  constructor(re = 0.5, im = re) {
    this.re = re
    this.im = im
  }
  times(o: Complex): Complex {
    return new Complex(this.re * o.re - this.im * o.im, this.re * o.im + this.im * o.re)
  }
  plus({ re, im }: Complex): Complex {
    return new Complex(this.re + re, this.im + im)
  }
  turned(): Complex {
    const { re } = this
    return Complex.of(-this.im, re)
  }
  get size(): number {
    return Math.sqrt(this.re ** 2 + this.im ** 2)
  }
  static of(re: number, im: number): Complex {
    return new Complex(re, im)
  }
}

/** Changes; returns itself. */
class Total {
  count = 0
  sum = -0
  least: number
  constructor(least: number) {
    this.least = least
  }
  take(v: number): this {
    this.count++
    this.sum += v
    if (v < this.least) this.least = v
    return this
  }
  get mean(): number {
    return this.count === 0 ? 0 : this.sum / this.count
  }
}

/** Fields that follow from others, given twice. */
class Span {
  from: number
  to: number
  width: number
  constructor(a: number, b: number) {
    const least = Math.min(a, b)
    this.from = least
    this.to = least === a ? b : a
    this.width = this.to - this.from
    this.from = this.from - this.middle()
  }
  middle(): number {
    return (this.from + this.to) / 2
  }
}

/** Holds another. */
class Body {
  at: Complex
  speed = 1
  mass: number
  constructor(re: number, mass: number) {
    this.at = new Complex(re, 1)
    this.mass = mass
  }
  step(by: number): void {
    this.at = this.at.plus(new Complex(by * this.speed, -by))
    this.speed *= 0.5
  }
  get push(): number {
    return this.mass * this.speed
  }
}

/** Extends another, gives it what it makes of its own arguments, and declares a field anew. */
class Rotor extends Complex {
  turns: number
  override im = 0.125
  constructor(turns: number, re = turns) {
    super(re * 0.5, turns - 1)
    this.turns = turns + this.re
    this.im = this.lean()
  }
  lean(): number {
    return this.im * 0.25
  }
  override turned(): Complex {
    return new Rotor(this.turns, this.size)
  }
  get speed(): number {
    return this.turns * this.size
  }
}

/** Extends what extends another: with a method of theirs in its own way, which their constructor asks for. */
class Tilted extends Rotor {
  tilt = 0.5
  override lean(): number {
    return this.re - 1
  }
  get slope(): number {
    return this.tilt + this.speed
  }
}

/** Has no constructor of its own. */
class Heavy extends Body {
  override speed = 2
  factor = 3
  get weight(): number {
    return this.push * this.factor
  }
}

/** A class that bodies declare: it names itself, what is captured, and a static field. */
const OWN = `class Own {
  static LEAST = 0.25
  #at = 1
  constructor(v) { this.v = v * third + Own.LEAST; this.#at += v }
  static of(v) { return new Own(-v) }
  get twice() { return Own.of(this.v).v * 2 + this.#at }
}`
const third = 1 / 3

const CLASSES = { Complex, Total, Span, Body, Rotor, Tilted, Heavy }

function bodyText(numbers: readonly number[]): DrawnBody {
  const { below, of } = drawing(numbers)
  const used = new Set<string>()
  const use = (kind: string): void => void used.add(kind)
  let names = 0
  const fresh = (wanted: string): string => `${wanted}${names++}`
  const [complexes, totals, bodies]: string[][] = [[], [], []]
  const value = (): string => of(['s', 'x.get(i)', 'i', String(below(30) / 4), '-0', '(s - 1)'])
  const complex = (depth = 1): string => {
    const made = of([
      `new Complex(${value()}, ${value()})`,
      `new Complex(${value()})`,
      'new Complex()',
      `Complex.of(${value()}, ${value()})`,
    ])
    const one = complexes !== undefined && complexes.length > 0 && below(3) > 0 ? of(complexes) : made
    if (depth === 0) return one
    use('a method')
    return of([one, `${one}.times(${complex(depth - 1)})`, `${one}.plus(${complex(depth - 1)})`, `${one}.turned()`])
  }
  const read = (): string => {
    use('a getter')
    const of_ = [`${complex()}.size`, `${complex(0)}.re`, `new Span(${value()}, ${value()}).${of(['from', 'width', 'middle()'])}`]
    if (below(4) === 0) {
      use('a class that extends another')
      const rotor = `new ${of(['Rotor', 'Tilted'])}(${value()}${of(['', `, ${value()}`])})`
      of_.length = 0
      of_.push(`${rotor}.${of(['speed', 'size', 'turned().size', 'turns', 'plus(new Complex()).re', 'lean()'])}`)
      of_.push(
        `new Tilted(${value()}).${of(['slope', 'tilt', 'im'])}`,
        `new Heavy(${value()}, ${value()}).${of(['weight', 'push', 'at.re'])}`,
      )
      return of(of_)
    }
    for (const name of totals ?? []) of_.push(`${name}.mean`, `${name}.least`, `${name}.take(${value()}).sum`)
    for (const name of bodies ?? []) of_.push(`${name}.push`, `${name}.at.size`)
    return of(of_)
  }
  const statement = (depth: number): string => {
    const inner = (): string => (depth > 0 ? statement(depth - 1) : `s += ${read()}`)
    switch (below(10)) {
      case 0:
        if (complexes?.length === 0) return inner()
        use('a variable given another')
        return `${of(complexes ?? [])} = ${complex()}`
      case 1:
        if (totals?.length === 0) return inner()
        use('an object changed')
        return of([
          `${of(totals ?? [])}.take(${value()})`,
          `${of(totals ?? [])}.take(1).take(${value()})`,
          `${of(totals ?? [])}.least = ${value()}`,
        ])
      case 2:
        if (bodies?.length === 0) return inner()
        use('an object that holds another')
        return `${of(bodies ?? [])}.step(${value()})`
      case 3:
        use('objects in an array')
        return `for (const one of [${complex(0)}, ${complex()}]) s = s * 0.5 + one.size`
      case 4:
        use('spread')
        return `{ const { re, im } = { ...${complex(0)}, im: ${value()} }; s += re - im }`
      case 5:
        return `if (${value()} < ${value()}) { ${inner()} } else { ${inner()} }`
      case 6:
        return `for (let k${depth} = 0; k${depth} < ${1 + below(3)}; k${depth}++) { ${inner()} }`
      default:
        return `s = s * 0.5 + ${read()}`
    }
  }
  const areDeclared = below(3) === 0
  if (areDeclared) use('classes that the body declares')
  const lines = [...(areDeclared ? [...Object.values(CLASSES).map(String), OWN] : []), 'let s = x.get(i)']
  if (areDeclared) lines.push(`s = s * 0.5 + new Own(${value()}).twice + Own.of(${value()}).v + Own.LEAST`)
  for (const [kind, list, make] of [
    ['let', complexes, () => complex(0)],
    ['const', totals, () => `new Total(${value()})`],
    ['const', bodies, () => `new ${of(['Body', 'Heavy'])}(${value()}, ${value()})`],
  ] as const) {
    for (let n = below(3); n > 0; n--) {
      const name = fresh('o')
      lines.push(`${kind} ${name} = ${make()}`)
      list?.push(name)
    }
  }
  for (let n = 2 + below(4); n > 0; n--) lines.push(statement(2))
  return { text: `([i], { x, out }) => {\n${lines.join('\n')}\nout.set(i, s)\n}`, used }
}

test('bodies with objects of classes are compiled, run in parallel, and give the bits of plain JavaScript', async () => {
  const counts: Record<string, number> = {}
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(10_000), { minLength: 20, maxLength: 80 }), async (numbers) => {
      const { text, used } = bodyText(numbers)
      const expected = plain(bodyOf(text, { ...CLASSES, third }))
      const { outcome, plan } = await looped(session, bodyOf(text, { ...CLASSES, third }))
      // Where a copy of the fields could be told from the object, it runs as it stands.
      const isAliased = plan.kernel?.because?.some((one) => 'code' in one && one.code === 'aliased-object') === true
      if (!isAliased) expectCompiled(plan, text)
      expect(outcome, text).toStrictEqual(expected)
      for (const one of [...used, ...(isAliased ? ['aliased'] : [])]) counts[one] = (counts[one] ?? 0) + 1
    }),
    RUN,
  )
  console.log(`classes: ${JSON.stringify(counts)}`)
  expect(counts.aliased ?? 0).toBeLessThan(RUN.numRuns / 3)
})

test('a class that a body declares has the values that are captured when a run begins', async () => {
  const out = session.zeros([2])
  let rate = 2
  const loop = session.loop(session.range(2), { out }, ([i], { out }) => {
    class Scaled {
      readonly v: number
      constructor(v: number) {
        this.v = v * rate
      }
    }
    out.set(i, new Scaled(i + 1).v)
  })
  await loop.run()
  expect([loop.plan.kernel?.target, await out.collect()]).toStrictEqual(['wasm-simd', [2, 4]])
  rate = 5
  await loop.run()
  expect(await out.collect()).toStrictEqual([5, 10])
})

test('a class that cannot be made outside of the body is refused by name', async () => {
  const because = async (declared: string, made = 'new P().v') => {
    const text = `([i], { x, out }) => { let here = i; ${declared}; out.set(i, ${made}) }`
    const { outcome, plan } = await looped(session, bodyOf(text, {}))
    expect(outcome).toStrictEqual(plain(bodyOf(text, {})))
    return plan.kernel?.because?.map(({ message, cure }) => `${message} ${cure}`)
  }
  const runs =
    'It declares a class of which something runs when it is made, as a static block or a computed name. Declare the class outside of the function, or give its static fields numbers that are written out.'
  expect(await because('class P { static t = 0; static { P.t = 5 } v = 1 }', 'P.t')).toContain(runs)
  expect(await because('class P { static t = Math.sqrt(4); v = 1 }', 'P.t')).toContain(runs)
  expect(await because('class P { ["v"] = 3 }')).toContain(runs)
  expect(await because('class P { v = here }')).toStrictEqual([
    'It declares a class that names here, which is a variable of the function. Give it to the constructor or to the method that needs it.',
  ])
  expect(await because('class P { static t = 1; constructor() { P.t++ ; this.v = P.t } }')).toHaveLength(1)
})
