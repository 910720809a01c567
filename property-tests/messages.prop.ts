/** Law: an error whose message is computed is thrown by WebAssembly kernels with the message, and of the iteration, of plain JavaScript. */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { drawing } from './drawing.ts'
import { bodyOf, type DrawnBody, expectCompiled, type LoopBody, looped, plain } from './drawnBodies.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('messages.prop.ts', 300)
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

function bodyText(numbers: readonly number[]): DrawnBody {
  const { below, of, use, used } = drawing(numbers)
  const number = (): string => of(['i', 'v', 's', 'v * 1e21', 's / 3', 'i * 0x7fffffff', '-0 * i', '1 / 0', '(i - 7)', '(i | 0)', '0 / 0'])
  const truth = (): string => of(['v > 0', '!(i % 2)', 'true'])
  const inTemplate = (): string => {
    switch (below(5)) {
      case 0:
        return `\${${truth()}}`
      case 1:
        return use('fixed', `\${(${number()}).toFixed(${below(4)})}`)
      case 2:
        return ` of ${below(9)}`
      default:
        return `\${${number()}}`
    }
  }
  const message = (): string => {
    switch (below(4)) {
      case 0:
        return use('plus', `'bad ' + ${number()} + ${number()} + ' there'`)
      case 1:
        return use('plus of numbers', `i + v + ' at ' + (s + ${number()}) + (${truth()})`)
      case 2:
        return use('String', `String(${number()})`)
      default:
        return use('template', `\`row ${Array.from({ length: 1 + below(4) }, inTemplate).join(' ')}\``)
    }
  }
  const error = of(['Error', 'RangeError', 'TypeError'])
  const test = of([`i >= ${below(24)}`, `v > ${below(4)}`, `s * 3 > ${below(50)}`])
  const thrown = `if (${test}) throw new ${error}(${message()})`
  const steps = below(2) === 0 ? `for (let k = 0; k < 5; k++) { s += k * v; ${thrown} }` : `${thrown}; s += v`
  return { text: `([i], { x, out }) => { let s = 0; const v = x.get(i) || i / 4; ${steps}; out.set(i, s) }`, used }
}

function plainOrError(body: LoopBody): Float64Array | Error {
  try {
    return plain(body)
  } catch (error) {
    return error as Error
  }
}

test('errors with messages that are computed are those of plain JavaScript', async () => {
  const counts: Record<string, number> = {}
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(10_000), { minLength: 20, maxLength: 60 }), async (numbers) => {
      const { text, used } = bodyText(numbers)
      const expected = plainOrError(bodyOf(text, {}))
      const { outcome, plan } = await looped(session, bodyOf(text, {}))
      expectCompiled(plan, text)
      if (expected instanceof Error) expect(`${outcome as string}.`, text).toContain(`: ${expected.message}.`)
      else expect(outcome, text).toStrictEqual(expected)
      for (const one of [...used, ...(expected instanceof Error ? ['error'] : [])]) counts[one] = (counts[one] ?? 0) + 1
    }),
    RUN,
  )
  console.log(`messages: ${JSON.stringify(counts)}`)
})
