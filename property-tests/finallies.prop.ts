/**
 * Law: a body whose `finally` runs however its `try` is left, by break, continue, return or at its end, is compiled to WebAssembly, runs in
 * parallel, and gives the bits of plain JavaScript.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { expectAsItStands } from './asItStands.ts'
import { drawing } from './drawing.ts'
import { bodyOf, type DrawnBody, expectCompiled, looped, plain } from './drawnBodies.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('finallies.prop.ts', 300)
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

function bodyText(numbers: readonly number[]): DrawnBody {
  const { below, of, use, used } = drawing(numbers)
  const value = (): string => of(['s', '(x.get(i) || 0)', 'i', 'k', String(below(20) / 4)])
  const condition = (): string => of([`i % ${2 + below(3)} === 0`, `${value()} < ${value()}`, 's > 3', `(i + k) % ${2 + below(2)} > 0`])
  const leave = (isInFunction: boolean, isLast: boolean): string =>
    of([
      use('break', 'break'),
      use('continue', 'continue'),
      use('break outer', 'break all'),
      use('continue outer', 'continue all'),
      ...(isInFunction ? [use('return', `return ${value()}`)] : [use('return of the body', 'return')]),
      ...(isLast ? [] : ["throw new Error('caught')"]),
    ])
  let count = 0
  const tried = (isInFunction: boolean, depth: number): string => {
    const inner = (isLast: boolean): string => {
      switch (below(depth > 0 ? 6 : 4)) {
        case 0:
        case 1:
          return `if (${condition()}) ${leave(isInFunction, isLast)}`
        case 4:
          return use('in each other', tried(isInFunction, depth - 1))
        case 5: {
          const n = `n${++count}`
          return `for (let ${n} = 0; ${n} < 3; ${n}++) { s += 0.5; ${inner(isLast)} }`
        }
        default:
          return `s = s * 0.5 + ${value()}`
      }
    }
    const isCaught = below(2) === 0
    const block = `${inner(!isCaught)}; s += 1; ${inner(!isCaught)}`
    const caught = isCaught ? ` catch { s -= 2; ${inner(true)} }` : ''
    // what such a finally would leave behind a loop of the try is no loop that the IR can name
    const override =
      below(8) === 0 && !/for \(let n/.test(block + caught)
        ? use('left by finally', `; if (${condition()}) ${leave(isInFunction, true)}`)
        : ''
    return `try { ${block} }${caught} finally { s = s * 0.5 + ${value()}; out.set(i, s)${override} }`
  }
  const loop = (isInFunction: boolean): string => {
    const kind = below(3)
    const inside = tried(isInFunction, 1)
    if (kind === 0) return `all: for (let j = 0; j < 3; j++) for (k = 0; k < ${1 + below(3)}; k++) { ${inside} }`
    if (kind === 1) return `all: for (const q of [1, 2, 3]) { for (k = q; k < 4; k++) { ${inside}; s += q } }`
    return `all: for (let j = 0; j < 2; j++) { let w = 0; while (w++ < 3) { ${inside} } }`
  }
  const text = below(2) === 0 ? loop(false) : `const f = () => { ${loop(true)}; return s }; s = s * 0.5 + f()`
  return { text: `([i], { x, out }) => {\nlet s = 0, k = 1\n${text}\nout.set(i, s)\n}`, used }
}

test('bodies whose finally runs however they leave the try are compiled, run in parallel, and give the bits of plain JavaScript', async () => {
  const counts: Record<string, number> = {}
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(10_000), { minLength: 20, maxLength: 60 }), async (numbers) => {
      const { text, used } = bodyText(numbers)
      const { outcome, plan } = await looped(session, bodyOf(text, {}))
      expectCompiled(plan, text)
      expect(outcome, text).toStrictEqual(plain(bodyOf(text, {})))
      for (const one of used) counts[one] = (counts[one] ?? 0) + 1
    }),
    RUN,
  )
  console.log(`finallies: ${JSON.stringify(counts)}`)
})

test('a finally that leaves a loop, behind a loop that is left, runs as it stands', async () => {
  await expectAsItStands(
    session,
    `let s = 0
    all: for (let j = 0; j < 3; j++) for (let k = 0; k < 1; k++) {
      try { for (let n = 0; n < 3; n++) { s += 0.5; if (s > 3) break all } s += 1 } finally { s *= 1.5; if (s > 3) break }
    }
    out.set(i, s)`,
    {},
    'It has a finally with a break or continue, behind a loop that the try leaves as well. Leave the loop behind the finally.',
  )
})

test('an error that nobody catches runs as it stands', async () => {
  await expectAsItStands(
    session,
    "let s = 0; try { if (i > 50) throw new Error('never'); s = 1 } finally { s += 2 } out.set(i, s)",
    {},
    'It has a finally behind what may throw an error that the try does not catch. Catch it, as catch { … }, or let the exception end the run.',
  )
})
