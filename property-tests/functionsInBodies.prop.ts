/**
 * Law: a body that calls functions which make functions, alone, in objects or in lists, is compiled to WebAssembly, runs in parallel, and
 * gives the bits of plain JavaScript: each function sees the names and the `this` of the call that made it.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { drawing } from './drawing.ts'
import { bodyOf, type DrawnBody, expectCompiled, looped, plain } from './drawnBodies.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('functionsInBodies.prop.ts')
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

class Scaled {
  factor: number
  constructor(factor: number) {
    this.factor = factor
  }
  by() {
    return (v: number) => v * this.factor
  }
  both(v: number) {
    return { up: () => v + this.factor, next: () => new Scaled(v).by() }
  }
}

/** Has a function that its constructor makes. */
class Held {
  v: number
  read: () => number
  constructor(v: number) {
    this.v = v
    this.read = () => this.v
  }
}

/** What bodies capture. */
const MAKERS = {
  Scaled,
  Held,
  add: (a: number) => (b: number) => a + b,
  affine: (a: number) => (b: number) => (v: number) => a * v + b,
  compose: (f: (v: number) => number, g: (v: number) => number) => (v: number) => f(g(v)),
  /** Shares a variable among the functions that it makes. */
  counter: (from: number) => {
    let n = from
    return {
      up: (by: number) => {
        n += by
        return n
      },
      get: () => n,
    }
  },
  /** A list of functions, of which one calls the other, which is declared behind it. */
  pair: (a: number) => {
    const twice = (v: number): number => 2 * once(v)
    const once = (v: number): number => v - a
    return [once, twice] as const
  },
  /** Of what an object has now and later. */
  reader: (p: { v: number }) => () => p.v,
  twice: (f: (v: number) => number) => ({ at: (v: number) => f(f(v)) }),
}

function bodyText(numbers: readonly number[]): DrawnBody {
  const { below, of } = drawing(numbers)
  const used = new Set<string>()
  const use = (kind: string): void => void used.add(kind)
  let names = 0
  const fresh = (wanted: string): string => `${wanted}${names++}`
  const functions: string[] = []
  const counters: string[] = []
  const tallies: string[] = []
  const objects: string[] = []
  const value = (): string => of(['s', 'x.get(i)', 'i', String(below(30) / 4), '-0', '(s - 1)'])
  const made = (depth = 1): string => {
    switch (below(depth > 0 ? 9 : 3)) {
      case 0:
        return functions.length > 0 ? of(functions) : `add(${value()})`
      case 1:
        return `add(${value()})`
      case 2:
        return `affine(${value()})(${value()})`
      case 3:
        use('composed')
        return `compose(${made(depth - 1)}, ${made(depth - 1)})`
      case 4:
        use('in a list')
        return `pair(${value()})[${below(2)}]`
      case 5:
        use('in an object')
        return `twice(${made(depth - 1)}).at`
      case 6:
        use('this')
        return `new Scaled(${value()}).${of(['by()', `both(${value()}).next()`])}`
      case 7:
        use('written there')
        return `((a) => (b) => a * 0.5 - b)(${value()})`
      default:
        return `((v) => v + ${value()})`
    }
  }
  const call = (): string => {
    if (counters.length > 0 && below(3) === 0) {
      use('a variable shared')
      return `${of(counters)}.${of([`up(${value()})`, 'get()'])}`
    }
    if (tallies.length > 0 && below(3) === 0) {
      use('a method of an object written there')
      return `${of(tallies)}.take(${value()})`
    }
    const one = below(6)
    if (one === 0) return `new Scaled(${value()}).both(${value()}).up()`
    if (one === 1 && objects.length > 0) return `reader(${of(objects)})()`
    return `${made()}(${value()})`
  }
  const statement = (depth: number): string => {
    const inner = (): string => (depth > 0 ? statement(depth - 1) : `s += ${call()}`)
    switch (below(9)) {
      case 0: {
        if (objects.length === 0) return inner()
        use('an object seen later')
        const [object, f] = [of(objects), fresh('r')]
        const change = of([
          `${object}.v = ${value()}`,
          `${object}.v += ${value()}`,
          ...(below(4) === 0 ? [`${object} = { v: ${value()} }`] : []),
        ])
        return `{ const ${f} = reader(${object}); ${change}; s = s * 0.5 + ${f}() }`
      }
      case 1: {
        use('made in a turn')
        const f = fresh('f')
        return `for (const ${f}v of [1, ${value()}]) { const ${f} = (v) => v * ${f}v; s = s * 0.5 + twice(${f}).at(${value()}) }`
      }
      case 2: {
        if (below(6) === 0) {
          use('made by a constructor')
          return `{ const h = new Held(${value()}); h.v = ${value()}; s = s * 0.5 + h.read() }`
        }
        use('called where others are made')
        return `s -= [${made()}, ${made()}].reduce((sum, f) => sum * 0.5 + f(${value()}), 0)`
      }
      case 3:
        return `if (${value()} < ${value()}) { ${inner()} } else { ${inner()} }`
      case 4:
        return `for (let k${depth} = 0; k${depth} < ${1 + below(3)}; k${depth}++) { ${inner()} }`
      default:
        return `s = s * 0.5 + ${call()}`
    }
  }
  const lines = ['let s = x.get(i)']
  for (let n = below(3); n > 0; n--) {
    const name = fresh('o')
    lines.push(`let ${name} = { v: ${value()} }`)
    objects.push(name)
  }
  for (let n = below(4); n > 0; n--) {
    const name = fresh('f')
    lines.push(`const ${name} = ${made()}`)
    functions.push(name)
  }
  for (let n = below(3); n > 0; n--) {
    const name = fresh('c')
    lines.push(`const ${name} = counter(${value()})`)
    counters.push(name)
  }
  if (below(2) === 0) {
    const name = fresh('t')
    lines.push(`const ${name} = { n: ${value()}, half: (v) => v / 2, take(v) { this.n += v; return this.half(this.n) } }`)
    tallies.push(name)
  }
  for (let n = 2 + below(4); n > 0; n--) lines.push(statement(2))
  return { text: `([i], { x, out }) => {\n${lines.join('\n')}\nout.set(i, s)\n}`, used }
}

test('bodies with functions that make functions are compiled, run in parallel, and give the bits of plain JavaScript', async () => {
  const counts: Record<string, number> = {}
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(10_000), { minLength: 20, maxLength: 80 }), async (numbers) => {
      const { text, used } = bodyText(numbers)
      const expected = plain(bodyOf(text, MAKERS))
      const { outcome, plan } = await looped(session, bodyOf(text, MAKERS))
      // Where who has an object could tell that its variable was given another, and where a constructor's functions ask for `this`.
      const isLeft = plan.kernel?.because?.some((one) => 'code' in one && /^(aliased-object|this|reassigns-value)$/.test(one.code)) === true
      if (!isLeft) expectCompiled(plan, text)
      expect(outcome, text).toStrictEqual(expected)
      for (const one of [...used, ...(isLeft ? ['left'] : [])]) counts[one] = (counts[one] ?? 0) + 1
    }),
    RUN,
  )
  console.log(`functions in bodies: ${JSON.stringify(counts)}`)
  expect(counts.left ?? 0).toBeLessThan(RUN.numRuns / 6)
})
