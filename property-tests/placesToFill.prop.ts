/**
 * Law: a body that makes lists by `new Array(n)` and assigns their places - from the first on, from the last on, some of them, and more - and
 * reads, asks, sorts and goes through them; that declares variables before it gives them their only list or object; that takes the extreme of
 * several lists and numbers; and that puts what may be absent into lists, gives the bits of plain JavaScript and runs in parallel, or, where
 * a place had been left out, as it stands.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { drawing } from './drawing.ts'
import { bodyOf, type DrawnBody, looped, plain } from './drawnBodies.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('placesToFill.prop.ts')
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

function bodyText(numbers: readonly number[]): DrawnBody {
  const { below, of, use, used } = drawing(numbers)
  const value = (): string => of(['k + i', 'k * i', 'x.get(i)', 's', '-0', '0.5', '1 - k', 'Number.NaN'])
  const length = (): string => of(['4', '4', '6', 'n', 'n + 1', '3'])
  const filled = (list: string, count: string): string => {
    const forwards = `for (let k = 0; k < ${count}; k++) ${list}[k] = ${value()}`
    switch (below(8)) {
      case 0:
        return use('from the last on', `for (let k = ${count} - 1; k >= 0; k--) ${list}[k] = ${value()}`)
      case 1:
        return use('some', `for (let k = 0; k < ${count} && k < ${of(['2', 'i % 5'])}; k++) ${list}[k] = ${value()}`)
      case 2:
        return use('more', `for (let k = 0; k <= ${count}; k++) ${list}[k] = ${value()}`)
      case 3:
        return use('by a method', `${list}.fill(${of(['0', 's', 'i'])})`)
      default:
        return use('from the first on', forwards)
    }
  }
  const asked = (list: string): string =>
    of([
      `s += ${list}.length`,
      `for (const v of ${list}) s = s * 0.5 + v`,
      `s += ${list}[1] ?? 7`,
      `if (${list}[2] === undefined) s += 3`,
      `for (let k = 0; k < ${list}.length; k++) s = s * 0.5 + ${list}[k]`,
      `s += ${list}.reduce((a, b) => a * 0.5 + b, 1)`,
      `${list}.sort((a, b) => a - b); s += ${list}[0]`,
      `s += ${list}.indexOf(i)`,
      `s += ${list}.map((v) => 2 * v).length`,
      `${list}.push(i); s += ${list}.length`,
      `${list}[1] += 2; s += ${list}[1]`,
      `s += Math.max(...${list}, ${of(['s', '0', 'i', 'x.get(i)'])})`,
      `s = Math.min(s, ...${list}, ...${list})`,
      `if (${list}[0] === ${list}[1]) s -= 2`,
    ])
  let names = 0
  const statement = (): string => {
    const list = `v${names++}`
    switch (below(5)) {
      case 0:
      case 1: {
        const count = length()
        return use('places', `const ${list} = new Array(${count}); ${filled(list, count)}; ${asked(list)}; ${asked(list)}`)
      }
      case 2: {
        const [given, of1] = of([
          [`[i, k, ${value()}]`, `${list}[1] + ${list}[2]`],
          [`{ a: i, b: ${value()} }`, `${list}.a + ${list}.b`],
          [`[1, 2, k].map((v) => v * i)`, `${list}[2]`],
        ])
        return use(
          'declared before',
          `${of(['let', 'var'])} ${list}; for (let k = 0; k < 3; k++) { ${list} = ${given}; s = s * 0.5 + ${of1} }`,
        )
      }
      case 3:
        return use(
          'absent',
          `const ${list} = [0, 0, 0], from${list} = [1, 2, 3]; let w${list}; for (let k = 0; k < 3; k++) { if ((i + k) % ${1 + below(3)} === 0) w${list} = from${list}[k]; ${of([`${list}[k] = w${list}`, `${list}.push(w${list})`, `if (w${list} !== undefined) ${list}[k] = w${list}`])} } s += ${list}.length + (${list}[0] ?? 9)`,
        )
      default:
        return use(
          'union',
          `const ${list} = Array.from({ length: 8 }, (_, k) => k); const find${list} = (a) => { while (${list}[a] !== a) a = ${list}[a]; return a }; for (let k = 0; k < 5; k++) { const p = find${list}((k * 3 + i) % 8), q = find${list}(k); if (p !== q) ${list}[p] = q } s += ${list}[3]`,
        )
    }
  }
  const lines: string[] = []
  for (let m = 1 + below(3); m > 0; m--) lines.push(statement())
  return { text: `([i], { x, out }) => {\nlet s = 0.5; const n = 2 + i % 4, k = 3\n${lines.join('\n;')}\nout.set(i, s)\n}`, used }
}

test('lists whose places are filled, variables declared before, and extremes of lists give the bits of plain JavaScript', async () => {
  const counts: Record<string, number> = {}
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(10_000), { minLength: 20, maxLength: 90 }), async (numbers) => {
      const { text, used } = bodyText(numbers)
      const { outcome, plan } = await looped(session, bodyOf(text, {}))
      expect(outcome, text).toStrictEqual(plain(bodyOf(text, {})))
      const isLimit = plan.kernel?.because?.every(({ code }) => code === 'limit-met') === true
      if (!isLimit)
        expect(`${plan.kernel?.target} ${plan.schedule.kind}`, `${text}\n${JSON.stringify(plan.kernel?.because)}`).toMatch(
          /^(wasm.*|js) independent$/,
        )
      for (const one of [...used, isLimit ? 'as it stands' : 'compiled']) counts[one] = (counts[one] ?? 0) + 1
    }),
    RUN,
  )
  console.log(`placesToFill: ${JSON.stringify(counts)}`)
  if (RUN.numRuns >= 500) expect(Math.min(...Object.values(counts))).toBeGreaterThan(RUN.numRuns / 100)
}, 1_800_000)
