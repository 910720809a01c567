/**
 * Law: a body that makes objects of classes with private fields, methods and accessors, setters, and fields that are given values where
 * they are declared, is compiled to WebAssembly, runs in parallel, and gives the bits of plain JavaScript.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { drawing } from './drawing.ts'
import { bodyOf, type DrawnBody, expectCompiled, looped, plain } from './drawnBodies.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('privateMembers.prop.ts')
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

/** As text, which compilers would make WeakMaps of. */
const CLASSES = `
class Vec {
  #x
  #y
  constructor(x, y = 1) { this.#x = x; this.#y = y; this.norm = this.#sum() }
  #sum() { return this.#x + this.#y }
  get x() { return this.#x }
  get #twice() { return 2 * this.#x }
  set #twice(v) { this.#x = v / 2 }
  get doubled() { return this.#twice }
  plus(o) { return new Vec(this.#x + o.#x, this.#y - o.#y) }
  static of(v) { return new Vec(v, v - 1) }
  static first(o) { return o.#x }
  turn(by) { this.#twice = this.#y; this.#y += by; return this }
  has(o) { return #x in o ? this.#y : -1 }
}
class Lcg {
  #state
  draws = 0
  constructor(seed) { this.#state = seed >>> 0 }
  next() { this.#state = (Math.imul(this.#state, 1664525) + 1013904223) >>> 0; this.draws++; return this.#state / 2 ** 32 }
}
class Level {
  low = -1
  high = this.low + 3
  kept = new Float64Array(2)
  at = new Vec(this.high)
  #value = this.low * 0.5
  get value() { return this.#value }
  set value(v) { this.kept[this.#value > 0 ? 1 : 0] = v; this.#value = Math.max(this.low, Math.min(v, this.high)) }
  get both() { return this.kept[0] - this.kept[1] }
}
/** Whose constructor changes what it has made. */
class Ordered {
  swaps = 0
  constructor(a, b) {
    this.low = a
    this.high = b
    if (a > b) this.#swap()
    else this.swaps -= a
    for (let k = 0; k < 2; k++) this.high += k
  }
  #swap() { const { low } = this; this.low = this.high; this.high = low; this.swaps++ }
  get width() { return this.high - this.low + this.swaps }
}
/** Has a private field of the same name as what it extends. */
class Deep extends Vec {
  #x = 7
  constructor(x) { super(x * 0.5); this.#x -= x }
  get depth() { return this.#x + this.x }
  set depth(v) { this.#x = v }
}`
const ALL = ['Vec', 'Lcg', 'Level', 'Ordered', 'Deep']
const made = new Function(`${CLASSES}\nreturn { ${ALL.join(', ')} }`)() as Record<string, unknown>

function bodyText(numbers: readonly number[]): DrawnBody {
  const { below, of } = drawing(numbers)
  const used = new Set<string>()
  const use = (kind: string): void => void used.add(kind)
  const value = (): string => of(['s', 'x.get(i)', 'i', String(below(30) / 4), '-0', '(s - 1)'])
  const vec = (): string =>
    of(['v', 'w', 'v', 'd', `Vec.of(${value()})`, `new Vec(${value()})`, `v.plus(${of(['w', 'd', `new Vec(${value()}, ${value()})`])})`])
  const read = (): string => {
    switch (below(10)) {
      case 9:
        use('a constructor that changes fields')
        return `new Ordered(${value()}, ${value()}).${of(['width', 'low', 'swaps'])}`
      case 0:
        use('a private field of another object')
        return `${vec()}.plus(${vec()}).x`
      case 1:
        use('a private method in a constructor')
        return `${vec()}.norm`
      case 2:
        use('a private getter')
        return `${vec()}.doubled`
      case 3:
        use('private in a static method')
        return `Vec.first(${vec()})`
      case 4:
        use('a private field that changes')
        return `dice.${of(['next()', 'draws'])}`
      case 5:
        use('a getter with a setter')
        return `level.${of(['value', 'both', 'at.doubled', 'high', 'kept[1]'])}`
      case 6:
        use('one name in two classes')
        return `d.${of(['depth', 'x', 'norm'])}`
      case 7:
        use('whether it has it')
        return `v.has(${of(['v', 'd', 'level'])})`
      default:
        return `${vec()}.x`
    }
  }
  const statement = (depth: number): string => {
    const inner = (): string => (depth > 0 ? statement(depth - 1) : `s += ${read()}`)
    switch (below(9)) {
      case 0:
        use('a setter')
        return `level.value ${of(['=', '+=', '-='])} ${value()}`
      case 1:
        use('a setter of what extends')
        return `d.depth ${of(['=', '*='])} ${value()}`
      case 2:
        use('a private setter')
        return `${of(['v', 'd'])}.turn(${value()})${of(['', '.turn(1)'])}`
      case 3:
        use('a setter in an expression')
        return `s = s * 0.5 + (level.value = ${value()})`
      case 4:
        return `if (${value()} < ${value()}) { ${inner()} } else { ${inner()} }`
      case 5:
        return `for (let k${depth} = 0; k${depth} < ${1 + below(3)}; k${depth}++) { ${inner()} }`
      case 6:
        use('spread')
        return `{ const o = { ...${of(['v', 'd', 'dice'])}, z: ${value()} }; s -= o.z + v.has(o) }`
      default:
        return `s = s * 0.5 + ${read()}`
    }
  }
  const lines = [
    'let s = x.get(i)',
    `const v = new Vec(${value()}, ${value()})`,
    `const w = Vec.of(${value()})`,
    `const d = new Deep(${value()})`,
    `const dice = new Lcg(i + ${below(9)})`,
    'const level = new Level()',
  ]
  for (let n = 2 + below(5); n > 0; n--) lines.push(statement(2))
  return { text: `([i], { x, out }) => {\n${lines.join('\n')}\nout.set(i, s)\n}`, used }
}

test('bodies with private members and setters are compiled, run in parallel, and give the bits of plain JavaScript', async () => {
  const counts: Record<string, number> = {}
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(10_000), { minLength: 15, maxLength: 60 }), async (numbers) => {
      const { text, used } = bodyText(numbers)
      const expected = plain(bodyOf(text, made))
      const { outcome, plan } = await looped(session, bodyOf(text, made))
      expectCompiled(plan, text)
      expect(outcome, text).toStrictEqual(expected)
      for (const one of used) counts[one] = (counts[one] ?? 0) + 1
    }),
    RUN,
  )
  console.log(`private members: ${JSON.stringify(counts)}`)
})
