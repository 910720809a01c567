/**
 * Law: a body that goes through what generators give, which it declares or captures, is compiled to WebAssembly, runs in parallel, and gives
 * the bits of plain JavaScript, in whatever way it leaves the loop over them. What a loop cannot go through runs as it stands, and says why.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { expectAsItStands } from './asItStands.ts'
import { drawing } from './drawing.ts'
import { bodyOf, type DrawnBody, expectCompiled, looped, plain } from './drawnBodies.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('generators.prop.ts', 300)
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

function* near(x: number, y: number): Generator<readonly [number, number]> {
  yield [x + 1, y]
  yield [x - 1, y]
  if (x > 2) return
  yield [x, y + 1]
}
const held = { near }

/** Texts of generators with parameters `a` and `n`. */
function generatorText(numbers: readonly number[], name: string, others: readonly string[]): { text: string; used: ReadonlySet<string> } {
  const { below, of, use, used } = drawing(numbers)
  const value = (): string => of(['a', 'n', 'a * n', 'a + 0.5', '-0', 's', String(below(9))])
  const given = (): string => (below(3) === 0 ? use('a sequence', `yield ${value()}, yield ${value()}`) : `yield ${value()}`)
  const statement = (depth: number): string => {
    switch (below(depth > 0 ? 9 : 3)) {
      case 3:
        return `for (let k${depth} = 0; k${depth} < ${1 + below(3)}; k${depth}++) { ${statement(depth - 1)}; yield k${depth} }`
      case 4:
        return use('without end', `{ let w = a; while (true) { if (w++ > ${3 + below(9)}) break; yield w } }`)
      case 5:
        return use('return', `if (${value()} > ${below(6)}) return`)
      case 6:
        return others.length > 0 ? use('yield*', `yield* ${of(others)}(${value()}, ${below(3)})`) : `yield a`
      case 7:
        return use('yield* of a list', `yield* [${value()}, 2, a]`)
      case 8:
        return use('shared variable', `s += 0.25; ${given()}`)
      case 2:
        return `a = a * 0.5 + 1`
      default:
        return given()
    }
  }
  const lines = Array.from({ length: 1 + below(4) }, () => statement(2))
  return { text: `function* ${name}(a, n = 3) { ${lines.join('; ')} }`, used }
}

function bodyText(numbers: readonly number[]): DrawnBody {
  const { below, of, use, used } = drawing(numbers)
  const first = generatorText(numbers.slice(3), 'g1', [])
  const second = generatorText(numbers.slice(9), 'g2', ['g1'])
  for (const one of [...first.used, ...second.used]) used.add(one)
  const called = (): string => `${of(['g1', 'g2'])}(${of(['i % 5', '(x.get(i) || 0)', 's % 7'])}${below(2) === 0 ? '' : ', i % 4'})`
  let count = 0
  const turn = (depth: number): string => {
    const v = `v${count}`
    switch (below(depth > 0 ? 8 : 5)) {
      case 0:
        return use('break', `if (${v} > ${below(5)}) break; s = s * 0.5 + ${v}`)
      case 1:
        return use('continue', `if (${v} < ${below(5)}) continue; s -= ${v}`)
      case 2:
        return use('break outer', `if (s > ${20 + below(50)}) break all; s += ${v}`)
      case 3:
        return use('return of the body', `if (s > ${40 + below(90)}) { out.set(i, ${v}); return }; s += ${v}`)
      case 5:
      case 6:
        return use('in each other', `s += ${v}; ${loop(depth - 1)}`)
      default:
        return `s = s * 0.5 + ${v}`
    }
  }
  const loop = (depth: number): string => {
    const v = `v${++count}`
    const text = `for (const ${v} of ${called()}) { if (++steps > 300) break; ${turn(depth)} }`
    return text
  }
  const statement = (): string => {
    switch (below(6)) {
      case 0:
        return use('spread', `{ const list = [...${called()}]; s = s * 0.5 + list.length + (list[0] ?? 0) }`)
      case 1:
        return use('Array.from', `for (const w of Array.from(${called()})) s = s * 0.5 + w`)
      case 2:
        return use('pairs', `for (const [p, q] of near(i % 5, ${below(4)})) { if (q > ${below(4)}) continue; s = s * 0.5 + p * 3 + q }`)
      default:
        return loop(2)
    }
  }
  const lines = Array.from({ length: 1 + below(3) }, statement)
  return {
    text: `([i], { x, out }) => {
let s = 0, steps = 0
${first.text}
${second.text}
all: { ${lines.join('\n')} }
out.set(i, s + steps / 1000)
}`,
    used,
  }
}

test('bodies that go through generators are compiled, run in parallel, and give the bits of plain JavaScript', async () => {
  const counts: Record<string, number> = {}
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(10_000), { minLength: 20, maxLength: 60 }), async (numbers) => {
      const { text, used } = bodyText(numbers)
      const { outcome, plan } = await looped(session, bodyOf(text, held))
      expectCompiled(plan, text)
      expect(outcome, text).toStrictEqual(plain(bodyOf(text, held)))
      for (const one of used) counts[one] = (counts[one] ?? 0) + 1
    }),
    RUN,
  )
  console.log(`generators: ${JSON.stringify(counts)}`)
})

test.each([
  [
    'one that is kept',
    'function* g() { yield 1 } const all = g(); for (const v of all) out.set(i, v)',
    'It calls the generator g elsewhere than where it goes through what that gives. Write for (const v of g(…)), or [...g(…)], or a function that returns a list.',
  ],
  [
    'one with a try',
    'let n = 0; function* g() { try { yield 1; yield 2 } finally { n = 5 } } for (const v of g()) if (v > 0) break; out.set(i, n)',
    'The generator g has a try, whose finally would run when a loop over it is left. Write it as a loop, or without try.',
  ],
  [
    'one that goes through itself',
    'function* g(n) { yield n; if (n > 0) yield* g(n - 1) } let s = 0; for (const v of g(i % 4)) s += v; out.set(i, s)',
    'g calls itself. Write it as a loop; where calls are still to be made, over a list of them, as while (stack.length > 0) { const v = stack.pop(); … }.',
  ],
])('%s runs as it stands', async (_, statements, why) => {
  await expectAsItStands(session, statements, {}, why)
})
