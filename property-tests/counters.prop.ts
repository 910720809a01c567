/**
 * Law: a body whose integers are counted up and down by steps, copied, kept in lists, divided, bounded by tests of what is computed of
 * them and used as subscripts, near 0, -0, 32 bits and the largest exact integer, gives the bits of plain JavaScript, or fails where a
 * subscript is outside, is compiled to WebAssembly and runs in parallel.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { drawing } from './drawing.ts'
import { bodyOf, type DrawnBody, doubles, expectCompiled, looped, plain, ROWS } from './drawnBodies.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('counters.prop.ts')
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

const HELD = { wide: Float64Array.from([2 ** 31, -(2 ** 31) - 2, 2 ** 53 - 3, 7]) }
const NAMES = ['a', 'b', 'c'] as const
const STARTS = [
  '0',
  '3',
  'i',
  '-2',
  '7',
  'i - 9',
  '2147483645',
  '-2147483646',
  '4294967294',
  '9007199254740988',
  '-9007199254740989',
  '-0',
  '0.5',
]

function bodyText(numbers: readonly number[]): DrawnBody {
  const { below, of, use, used } = drawing(numbers)
  const name = (): string => of(NAMES)
  const small = (): string => String(below(10) - 1)
  const divisor = (): string => of(['2', '3', '7', '8', '1000', '2147483648', '4294967296', '2147483647'])
  const value = (): string => {
    switch (below(9)) {
      case 0:
        return use('a remainder', `${name()} % ${divisor()}`)
      case 1:
        return use('a remainder of what was rounded', `(Math.abs(${name()} % 2147483648) * 1103515245 + 12345) % ${divisor()}`)
      case 2:
        return use('a quotient', `Math.floor(${name()} / ${divisor()})`)
      case 3:
        return use('one of two', `(${name()} < ${small()} ? ${name()} : ${small()})`)
      case 4:
        return use('of a list of integers', `whole[${below(6)}]`)
      case 5:
        return small()
      default:
        return of([name(), 'i', `${name()} - ${small()}`, `2 * ${name()}`, `${name()} * 3 + 1`, `${name()} * ${name()}`])
    }
  }
  const test = (): string => {
    const left = of([name(), `${name()} + ${small()}`, `2 * ${name()} + 1`, `3 * ${name()} - 2`, `${name()} * ${name()}`, `1 + ${name()}`])
    return use('a test', `${left} ${of(['<', '<=', '>', '>=', '===', '!=='])} ${of([small(), small(), value()])}`)
  }
  const hasFractions = below(4) === 0
  const mayFail = below(6) === 0
  const isPlace = (one: string): string => `${one} >= 0 && ${one} < 8${hasFractions ? ` && ${one} % 1 === 0` : ''}`
  const step = (): string => {
    const one = name()
    switch (below(9)) {
      case 0:
        return use('up', `${one}++`)
      case 1:
        return use('down', `${one}--`)
      case 2:
        return use('by more', `${one} += ${of(['2', '4', '3', '5', '-2', '-5', '1000000007'])}`)
      case 3:
        return use('by a truth', `${one} += ${test()}`)
      case 4:
        return use('the other way round', `${one} = ${below(3)} + ${one}`)
      case 5:
        return hasFractions ? use('by a fraction', `${one} -= 0.5`) : `${one}++`
      case 6:
        return use(
          'a step of a copy',
          `{ const t = ${one}; ${of(['', `${one} = ${small()}; `])}${one} = t ${of(['+ 1', '- 1', '+ 2', '* 2'])} }`,
        )
      case 7:
        return use('one step or another', `${one} = ${test()} ? ${one} + 1 : ${of([`${one} - 1`, one, `${one} - 2`, `${one} * 2`])}`)
      default:
        return use('a step of a variable', `{ let t = ${one}; if (${test()}) t = ${value()}; ${one} = t + 1 }`)
    }
  }
  const statement = (depth: number): string => {
    const inner = (): string => (depth > 0 ? statement(depth - 1) : step())
    switch (below(18)) {
      case 0:
      case 1:
        return step()
      case 2:
        return use('while', `while (fuel-- > 0 && ${test()}) { ${inner()}; ${inner()} }`)
      case 3:
        return use('if', `if (${test()}) { ${inner()} } else { ${inner()} }`)
      case 4: {
        const one = name()
        return use(
          'an element',
          `if (${isPlace(one)}) { ${of([`s += list[${one}]`, `list[${one}] += ${small()}`, `list[${one}] = ${value()}`])}; ${inner()} }`,
        )
      }
      case 5: {
        const one = name()
        return use(
          'an element of what is computed',
          `if (2 * ${one} + 1 < 8 && ${isPlace(one)}) { s = s * 0.5 + list[2 * ${one} + 1]; ${inner()} }`,
        )
      }
      case 6:
        return use('assigned', `${name()} = ${value()}`)
      case 7:
        return use('to a counter', `for (let k = ${small()}; k < ${name()}; k++) { if (fuel-- < 0) break; s += k; ${inner()} }`)
      case 8:
        return use('down to a counter', `for (let k = ${value()}; k >= ${name()}; k--) { if (fuel-- < 0) break; s -= k; ${inner()} }`)
      case 9:
        return use('of a captured list', `s += wide[${name()}] ?? ${small()}`)
      case 10:
        return use('put into a list of integers', `whole[${below(6)}] = ${of([value(), value(), 's', `whole[${below(6)}] + 1`])}`)
      case 11: {
        const [one, other] = [name(), name()]
        return use(
          'along a list',
          `if (${isPlace(one)} && ${isPlace(other)}) { chain[${one}] = ${other}; ${inner()}; if (${isPlace(one)}) { ${one} = chain[${one}] ?? 0; ${other} = chain[chain[${one}]] ?? 0 } }`,
        )
      }
      case 12:
        return mayFail ? use('a place that may be outside', `s += x.get(${of([name(), `${name()} + 2`, `${name()} - 9`])})`) : inner()
      case 13:
        return mayFail
          ? use('two places that may be outside', `s += x.get(${name()}) - (${test()} ? x.get(${name()}) : 1); s -= x.get(${name()})`)
          : step()
      case 14:
        return use('a sum', `s = s * 0.5 + ${value()}`)
      case 15: {
        const [least, times, plus] = [below(9) - 3, 2 + below(2), below(3)]
        const e = times * least + of([0, 0, -1, 1])
        const seen = (): string => `s = s * 0.5 + (p ${of(['>', '<', '===', '>='])} ${least + below(2)} ? 1 : 2)`
        return use(
          'one of two values',
          `{ let p = ${least}, e = ${e}; if (i > ${below(18)}) p = ${least + 1 + below(5)}; if (i % 2 === ${below(2)}) e = ${e + 1 + below(2)}; if (${times} * p + ${plus} ${of(['!==', '!==', '===', '<', '<=', '>', '>='])} e + ${plus}) { ${seen()}; ${inner()} } else { ${seen()} } }`,
        )
      }
      default:
        return use('divided', `${name()} = Math.floor(${name()} / ${of(['2', '3', '7'])})`)
    }
  }
  const lines = [
    'let s = x.get(i)',
    'let fuel = 60',
    'const list = new Int32Array(8)',
    `const whole = new Array(6).fill(${below(3)})`,
    'const chain = Array.from({ length: 8 }, (_, k) => (k * 3) % 8)',
  ]
  for (const one of NAMES) lines.push(`let ${one} = ${of(below(3) > 0 ? STARTS.slice(0, 6) : hasFractions ? STARTS : STARTS.slice(0, -1))}`)
  for (let n = 2 + below(5); n > 0; n--) lines.push(statement(2))
  return {
    text: `([i], { x, out }) => {\n${lines.join('\n')}\nout.set(i, s + a + b / 4 + c / 16 + list[3] + whole[1] / 8 + 1 / a)\n}`,
    used,
  }
}

/** Reads of `x`, which fail outside of it. */
function get(k: number): number | undefined {
  if (Number.isInteger(k) && k >= 0 && k < ROWS) return doubles[k]
  throw new RangeError('outside')
}

function plainOutcome(body: ReturnType<typeof bodyOf>): unknown {
  try {
    return plain(body, get)
  } catch (error) {
    return (error as Error).message
  }
}

test('integers that are counted', { timeout: 900_000 }, async () => {
  const counts: Record<string, number> = {}
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(10_000), { minLength: 20, maxLength: 90 }), async (numbers) => {
      const { text, used } = bodyText(numbers)
      const { outcome, plan } = await looped(session, bodyOf(text, HELD))
      expectCompiled(plan, text)
      const wanted = plainOutcome(bodyOf(text, HELD))
      if (wanted === 'outside') expect(String(outcome), text).toMatch(/ is outside x, whose shape is/)
      else expect(outcome, text).toStrictEqual(wanted)
      for (const one of used) counts[one] = (counts[one] ?? 0) + 1
    }),
    RUN,
  )
  console.log(`counters: ${JSON.stringify(counts)}`)
  if (RUN.numRuns >= 500) expect(Math.min(...Object.values(counts))).toBeGreaterThan(RUN.numRuns / 100)
})

// what the law found, and what it seldom draws
test.each([
  [
    'a counter that stops at a test of inequality',
    'let row = 0; let r = 0; while (row >= 0) { if (row === 7 || r > 50) row--; else row++; r++ } out.set(i, r)',
  ],
  ['a counter beyond 32 bits', 'let n = 2147483647; for (let k = 0; k < 5; k++) n++; out.set(i, n)'],
  ['a counter where doubles end', 'let n = 9007199254740990; let k = 0; while (k < 5) { n++; k++ } out.set(i, n)'],
  ['-0 and a step down and up', 'let n = -0; if (i > 3) n--; if (i > 5) n++; out.set(i, 1 / n)'],
])('%s', async (_, text) => {
  const body = bodyOf(`([i], { x, out }) => { ${text} }`, HELD)
  expect((await looped(session, body)).outcome).toStrictEqual(plain(body))
})
