/**
 * Law: a body that compares values of which both may be absent - elements outside of captured lists, locals that are null or not given yet -
 * or asks of one whether it is a number, is compiled to WebAssembly, runs in parallel, and gives the bits of plain JavaScript: what is absent
 * equals what is absent alike, and no number, and is no number of any kind.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { drawing } from './drawing.ts'
import { bodyOf, expectCompiled, looped, plain } from './drawnBodies.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('bothAbsent.prop.ts')
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

const HELD = { list: [4, 0, 19, 7, 2], far: Int16Array.from([3, -1, 0, 7]), reals: [0.5, -0, Number.NaN, 7] }

function bodyText(numbers: readonly number[]): string {
  const { below, of } = drawing(numbers)
  const element = (): string => `${of(['list', 'far', 'reals'])}[(i * ${1 + below(4)} + ${below(3)}) % ${of(['7', '9', '3'])}]`
  const statement = (n: number): string => {
    const [a, b] = [`a${n}`, `b${n}`]
    const operator = of(['===', '!==', '==', '!='])
    const sides = of([
      () => `let ${a} = ${element()}, ${b} = ${element()}`,
      () => `let ${a} = null, ${b} = null; if (i % ${2 + below(3)} === 0) ${a} = i % 3; if (i % ${2 + below(3)} === 1) ${b} = i % 3`,
      () =>
        `let ${a} = i % 6, ${b} = ${element()}; for (let t = 0; t < 4 && ${of(['own', 'list', 'reals'])}[${a}] !== ${a}; t++) ${a} = own[${a}]`,
      () =>
        `let ${a} = own[i % 7], ${b} = own[(i + ${below(4)}) % ${of(['5', '7'])}]; s += own[i % 8] === ${a} ? 0.5 : own[i % 6] == ${b} ? 0.125 : 0`,
      () => `let ${a}; let ${b} = ${element()}; if (i % ${2 + below(3)} > 0) ${a} = ${of(['i % 5', 'x.get(i)', '0'])}`,
    ])()
    const other = below(3) === 0 ? `${a} = ${b}` : ''
    const question = of(['isNaN', 'isFinite', 'isInteger', 'isSafeInteger'])
    const asked = of(['', '', `; if (Number.${question}(${of([a, b, element()])})) s += 0.25`])
    const given = of([
      '',
      '',
      `let g${n}${of(['', ' = undefined'])}; g${n} = Math.sqrt(s); if (Number.${question}(g${n})) s -= g${n} / 8; `,
    ])
    return `${given}${sides}${asked}; if (${a} ${operator} ${b}) s = s * 0.5 + 1; else s = s * 0.5 - 2; ${other}; if (${a} ${operator} ${b} ${of(['&&', '||'])} i % 2 === 0) s += 3`
  }
  const lines = ['let s = x.get(i)', 'const own = [4, 0, 2, 3, 9, 1]; own[i % 6] = i % 4']
  for (let n = 1 + below(4); n > 0; n--) lines.push(statement(n))
  return `([i], { x, out }) => {\n${lines.join(';\n')};\nout.set(i, s)\n}`
}

test('values that may both be absent are compared as in plain JavaScript', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(10_000), { minLength: 12, maxLength: 50 }), async (numbers) => {
      const text = bodyText(numbers)
      const { outcome, plan } = await looped(session, bodyOf(text, HELD))
      expectCompiled(plan, text)
      expect(outcome, text).toStrictEqual(plain(bodyOf(text, HELD)))
    }),
    RUN,
  )
})
