/**
 * Law: a body that chooses by a condition between objects that it makes there - of a class, or literals whose fields take work - is
 * compiled to WebAssembly, runs in parallel, and gives the bits of plain JavaScript.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { drawing } from './drawing.ts'
import { bodyOf, type DrawnBody, expectCompiled, looped, plain } from './drawnBodies.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('chosenObjects.prop.ts')
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

class Point {
  readonly a: number
  readonly b: number
  constructor(a: number, b: number) {
    this.a = a
    this.b = b
  }
  plus(o: Point): Point {
    return new Point(this.a + o.b, this.b - o.a)
  }
  get sum(): number {
    return this.a * 0.5 + this.b
  }
}

function bodyText(numbers: readonly number[]): DrawnBody {
  const { below, of } = drawing(numbers)
  const used = new Set<string>()
  const names: string[] = []
  const value = (): string => of(['s', 'i', 'x.get(i)', String(below(40) / 4), 'next()', 'work(i)'])
  const condition = (): string => of([`${value()} > ${below(3)}`, `i % ${2 + below(2)} === 0`, `x.get(i) < ${below(3)} && next() > 2`])
  const point = (depth: number): string => {
    const choice = below(depth > 0 ? 6 : 2)
    if (choice === 0 && names.length > 0) return of(names)
    if (choice < 3) return `new Point(${value()}, ${value()})`
    if (choice === 3) return `${point(depth - 1)}.plus(${point(depth - 1)})`
    used.add('chosen')
    return `(${condition()} ? ${point(depth - 1)} : ${point(depth - 1)})`
  }
  const lines = ['let s = x.get(i), n = 0', 'const next = () => { n += 1.5; return n }']
  lines.push('const work = (v) => { let sum = 0; for (let k = 0; k < 3; k++) sum = sum * 0.5 + v; return sum }', `let kept = ${point(1)}`)
  for (let n = 1 + below(3); n > 0; n--) {
    const name = `p${lines.length}`
    const choice = below(4)
    if (choice === 0) {
      lines.push(`const ${name} = ${point(2)}`)
      names.push(name)
    } else if (choice === 1) lines.push(`kept = ${point(2)}`)
    else if (choice === 2) {
      used.add('literals')
      lines.push(
        `const { lo: ${name}, hi: ${name}h } = ${condition()} ? { lo: work(${value()}), hi: s } : { lo: s, hi: next() }; s += ${name} - ${name}h`,
      )
    } else lines.push(`s = s * 0.5 + ${point(2)}.sum`)
  }
  lines.push(...[...names, 'kept'].map((name) => `s = s * 0.75 + ${name}.sum`))
  return { text: `([i], { x, out }) => {\n${lines.join('\n;')}\nout.set(i, s + n)\n}`, used }
}

test('bodies that choose between objects are compiled, run in parallel, and give the bits of plain JavaScript', async () => {
  const counts: Record<string, number> = {}
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(10_000), { minLength: 20, maxLength: 60 }), async (numbers) => {
      const { text, used } = bodyText(numbers)
      const { outcome, plan } = await looped(session, bodyOf(text, { Point }))
      expectCompiled(plan, text)
      expect(outcome, text).toStrictEqual(plain(bodyOf(text, { Point })))
      for (const one of used) counts[one] = (counts[one] ?? 0) + 1
    }),
    RUN,
  )
  console.log(`chosen objects: ${JSON.stringify(counts)}`)
  if (RUN.numRuns >= 500) expect(Math.min(...Object.values(counts))).toBeGreaterThan(RUN.numRuns / 20)
}, 300_000)
