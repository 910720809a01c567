/**
 * Law: a body whose objects are of several classes, or literals with different fields, of which a condition or a place in a list chooses one,
 * is compiled to WebAssembly, runs in parallel, and gives the bits of plain JavaScript: methods, getters, `instanceof`, tags.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { expectAsItStands } from './asItStands.ts'
import { drawing } from './drawing.ts'
import { bodyOf, type DrawnBody } from './drawnBodies.ts'
import { announcedRun } from './lawRuns.ts'
import { expectSameOrError } from './sameOrError.ts'

const RUN = announcedRun('severalKinds.prop.ts', 300)
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

class Shape {
  sides: number
  constructor(sides: number) {
    this.sides = sides
  }
  area(): number {
    return -1
  }
  get twice(): number {
    return 2 * this.area()
  }
}
class Circle extends Shape {
  r: number
  constructor(r: number) {
    super(0)
    this.r = r
  }
  override area(): number {
    return 3.25 * this.r * this.r
  }
  grow(by: number): this {
    this.r *= by
    return this
  }
  center(): { x: number; y: number } {
    return { x: this.r, y: 0 }
  }
}
class Square extends Shape {
  a: number
  constructor(a: number) {
    super(4)
    this.a = a
  }
  override area(): number {
    return this.a * this.a
  }
  grow(by: number): this {
    this.a += by
    return this
  }
  center(): { x: number; y: number } {
    return { x: this.a / 2, y: this.sides }
  }
}
class Plate extends Square {
  h: number
  constructor(a: number, h: number) {
    super(a + 1)
    this.h = h
  }
  override area(): number {
    if (this.h < 0) return 0
    return super.area() * this.h
  }
}
const held = {
  Shape,
  Circle,
  Square,
  Plate,
  shapes: [new Circle(1.5), new Square(2), new Plate(1, 3), new Circle(0.25)],
  tagged: [
    { kind: 'circle', r: 2 },
    { kind: 'square', a: 3 },
    { kind: 'plate', a: 1, h: 0.5 },
    { kind: 'square', a: -1 },
  ],
}

function bodyText(numbers: readonly number[]): DrawnBody {
  const { below, of, use, used } = drawing(numbers)
  const value = (): string => of(['s', '(x.get(i) || 0)', 'i', 'i % 3', '-0', String(below(20) / 4), 'k'])
  const condition = (): string =>
    of([`i % ${2 + below(3)} === 0`, `${value()} < ${value()}`, 's > 3', 'x.get(i) > 0', `(i + k) % ${2 + below(2)} > 0`])
  let next = below(3)
  const made = (): string =>
    [() => `new Circle(${value()})`, () => `new Square(${value()})`, () => `new Plate(${value()}, ${value()})`][next++ % 3]?.() ?? ''
  const tag = (): string => {
    const kinds = [
      () => `{ kind: 'circle', r: ${value()} }`,
      () => `{ kind: 'square', a: ${value()} }`,
      () => `{ kind: 'plate', a: ${value()}, h: ${value()} }`,
    ]
    return kinds[next++ % 3]?.() ?? ''
  }
  const place = (): string => of(['i % 4', '(i + k) % 4', `(i * ${1 + below(3)}) % 4`, ...(below(20) === 0 ? ['i'] : [])])
  const chosen = (one: () => string, depth = 1): string =>
    `(${condition()} ? ${depth > 0 && below(3) === 0 ? chosen(one, depth - 1) : one()} : ${depth > 0 && below(3) === 0 ? chosen(one, depth - 1) : one()})`
  /** A function that makes one of several objects, or throws. */
  const factory = (one: () => string): string => {
    const [a, b, c] = [one(), one(), one()]
    const failing = of(['', '', '', `throw new RangeError('no kind ' + i)`])
    const end = failing === '' ? `return ${c}` : failing
    const forms = [
      `switch (q) { case 0: return ${a}; case 1: case 3: return ${b}; default: ${end} }`,
      `switch (q) { default: ${end}; case 1: return ${a}; case 0: { s += 0.25; return ${b} } }`,
      `switch (q % 2) { case 0: return ${a} } switch (q) { case 1: return ${b}; case w: return ${c} } ${failing === '' ? `return ${a}` : failing}`,
      `if (q === 0) return ${a}; else if (q > 1) return ${b}; else ${end}`,
      `if (q === 1) return ${a}; if (q > 2) throw new TypeError('too large'); if (q === 0) { ${failing} } return ${b}`,
      `if (q === 0) return ${a}; if (q === 1) { ${end} } return ${b}`,
      `if (q === 0) { s -= 0.5; k++; return ${a} } if (q > 2) { k = 2; return ${c} } s += k; return ${b}`,
      `if (q > 1) { const g = q * s; s += g; return ${a} } const h = s - q; s = h / 2; return ${b}`,
    ]
    return use('factory', `((q, w) => { ${of(forms)} })(${of(['i % 3', '(i + k) % 3', '(i + k) % 2', 'i % 4'])}, 2)`)
  }
  const shape = (): string => {
    switch (below(6)) {
      case 3:
        return factory(made)
      case 0:
        return use('captured list', `shapes[${place()}]`)
      case 1:
        return use('list of the body', `[${made()}, ${made()}, ${made()}, new Square(1)][${of(['i % 4', '(i + k) % 4'])}]`)
      case 2:
        return use('captured ones', `(${condition()} ? shapes[0] : shapes[${1 + below(3)}])`)
      default:
        return use('condition', chosen(made))
    }
  }
  const asked = (o: string): string => {
    switch (below(7)) {
      case 0:
        return use('getter', `s = s * 0.5 + ${o}.twice`)
      case 1:
        return use('field', `s = s * 0.5 + ${o}.sides`)
      case 2:
        return use('instanceof', `if (${o} instanceof ${of(['Circle', 'Square', 'Plate', 'Shape'])}) s += ${o}.area(); else s -= 1`)
      case 3:
        return use('narrowed', `if (${o} instanceof Circle) s += ${o}.r; else if (${o} instanceof Plate) s += ${o}.h * 2; else s += ${o}.a`)
      case 4:
        return use('object', `{ const { x: px, y } = ${o}.center(); s = s * 0.5 + px - y }`)
      case 5:
        return use('absent field', `s = s * 0.5 + (${o}.h ?? ${value()})`)
      default:
        return `s = s * 0.5 + ${o}.area()`
    }
  }
  let count = 0
  const statement = (depth: number): string => {
    const o = `o${++count}`
    switch (below(depth > 0 ? 8 : 6)) {
      case 0: {
        const list = use('tags', below(2) === 0 ? `tagged[${place()}]` : of([chosen, factory])(tag))
        const cases = `case 'circle': s += ${o}.r * 3; break; case 'square': s = s * 0.5 + ${o}.a ** 2; break; default: s -= ${o}.h * ${o}.a`
        return `{ const ${o} = ${list}; switch (${o}.kind) { ${cases} } }`
      }
      case 1: {
        const list = use('tags', below(2) === 0 ? `tagged[${place()}]` : of([chosen, factory])(tag))
        return `{ const ${o} = ${list}; s = s * 0.5 + (${o}.kind === 'circle' ? ${o}.r : ${o}.kind !== 'plate' ? ${o}.a * 2 : ${o}.h) }`
      }
      case 2:
        return use('changed', `{ const ${o} = ${chosen(made)}; ${o}.grow(${value()}); ${asked(o)}; ${o}.grow(2); ${asked(o)} }`)
      case 4:
        return use(
          'outside',
          `s = s * 0.5 + (${of(['shapes', '[new Circle(k), new Square(i)]'])}[i % ${3 + below(5)}]?.area() ?? ${value()})`,
        )
      case 3:
        return use('gone through', `for (const ${o} of shapes) { ${asked(o)} }`)
      case 6:
        return `for (let n${depth} = 0; n${depth} < ${1 + below(3)}; n${depth}++) { k = n${depth}; ${statement(depth - 1)} }`
      case 7:
        if (below(2) === 0) {
          const fields = of([
            `w: ${value()}, get w2() { return this.w * 2 }, set w2(a) { this.w = a / 2; s += 1 }`,
            `w: 1, set w2(a) { k = 3; this.w -= a }, get w2() { return this.w + k }`,
          ])
          const steps = [
            `${o}.w2 = ${value()}`,
            `${o}.w2 += ${value()}`,
            `${o}.w2++`,
            `s += (${o}.w2 = ${value()}) * 0.5`,
            `[${o}.w2, s] = [s, ${o}.w2]`,
            `${o}['w2'] = 2`,
          ]
          const changes = [of(steps), of(steps), `{ const c = { ...${o} }; c.w2 = 9; s = s * 0.5 + c.w + c.w2 }`]
          return use(
            'setter of a literal',
            `{ const ${o} = { ${fields} }; ${changes.slice(below(2)).join('; ')}; s = s * 0.5 + ${o}.w - ${o}.w2 }`,
          )
        }
        return use(
          'getter of a literal',
          `{ const ${o} = { w: ${value()}, h: ${value()}, get area() { return this.w * this.h }, get more() { return this.area + 1 } }; s = s * 0.5 + ${o}.area; ${o}.w = 3; s -= ${o}.more; const { area } = ${o}; s = s * 0.5 + area + { ...${o} }.area }`,
        )
      default:
        return use(
          'handed on',
          `{ const ${o} = ${shape()}; ${asked(o)}; s = s * 0.5 + ((f, w) => f.area() * w + f.sides)(${o}, ${value()}) }`,
        )
    }
  }
  const lines = Array.from({ length: 1 + below(4) }, () => statement(2))
  return { text: `([i], { x, out }) => {\nlet s = 0, k = 1\n${lines.join('\n')}\nout.set(i, s)\n}`, used }
}

test('bodies with objects of several kinds are compiled, run in parallel, and give the bits of plain JavaScript', async () => {
  const counts: Record<string, number> = {}
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(10_000), { minLength: 20, maxLength: 60 }), async (numbers) => {
      const { text, used } = bodyText(numbers)
      const threw = await expectSameOrError(session, text, held, [TypeError, RangeError])
      for (const one of [...used, ...(threw ? ['error'] : [])]) counts[one] = (counts[one] ?? 0) + 1
    }),
    RUN,
  )
  console.log(`several kinds: ${JSON.stringify(counts)}`)
})

test('a tag that changes between runs is seen', async () => {
  const list = [
    { kind: 'circle', r: 2 },
    { kind: 'square', a: 3 },
  ]
  const body = bodyOf("([i], { out }) => { const o = list[i % 2]; out.set(i, o.kind === 'circle' ? 1 : 2) }", { list })
  const out = session.zeros([20])
  const loop = session.loop(session.range(20), { out }, body as never)
  for (const kind of ['circle', 'square', 'circle']) {
    ;(list[0] as { kind: string }).kind = kind
    await loop.run()
    expect(await out.at(2)).toBe(kind === 'circle' ? 1 : 2)
  }
})

test.each([
  [
    'a setter beside a field of its name',
    'const o = { v: 1, w: 2, set w(a) { this.v = a } }; o.w = i; out.set(i, o.v)',
    'It makes an object with a getter or setter, w. Write a method, or a class, whose getters and setters are compiled.',
  ],
  [
    'a static field that is written',
    'Count.n += 1; out.set(i, Count.n > 0 ? 1 : 0)',
    'It changes the static field n of the class Count, which all iterations share. Use an accumulator in env, or a variable of the body.',
  ],
  [
    'a static field of a class of the body that is written',
    'class Local { static n = 0 }; Local.n++; out.set(i, Local.n)',
    'It changes the static field n of the class Local, which all iterations share. Use an accumulator in env, or a variable of the body.',
  ],
])('%s runs as it stands', async (_, statements, why) => {
  await expectAsItStands(
    session,
    statements,
    {
      // biome-ignore lint/complexity/noStaticOnlyClass: its field is what the body writes
      Count: class {
        static n = 0
      },
    },
    why,
  )
})
