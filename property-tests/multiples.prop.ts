/**
 * Law: a body that divides what a test has found to be a multiple - by names, keys and constants, in branches, loops and choices, before and
 * after its numbers change, of integers, fractions, zeros and numbers of either sign - and whose loops end at roots, quotients and elements,
 * is compiled to WebAssembly, runs in parallel, and gives the bits of plain JavaScript.
 */
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { drawing } from './drawing.ts'
import { bodyOf, type DrawnBody, looped, plain } from './drawnBodies.ts'
import { expectBitsOfPlain } from './lawOfBodies.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('multiples.prop.ts')
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

const STARTS = [
  'i',
  'i + 1',
  '12 - i',
  '2 * i',
  '5040',
  '-720',
  '1',
  '0',
  '4294967296',
  '9007199254740990',
  '-9007199254740990',
  'x.get(i)',
  '4 * x.get(i)',
  '-0',
]

function bodyText(numbers: readonly number[]): DrawnBody {
  const { below, of, use, used } = drawing(numbers)
  const name = (): string => of(['a', 'b', 'a', 'b', 'i'])
  const local = (): string => of(['a', 'b'])
  const small = (): string => String(1 + below(7))
  const by = (): string => of(['d', 'd', small(), small(), '2', '8', 'b', '0', '-2', 'i', '6'])
  // what a test finds, and the quotient that it makes exact, or that of other numbers
  const found = (left: string, right: string): { readonly test: string; readonly no: string } => {
    const kind = of(['a remainder of 0', 'a remainder of 0', 'a remainder that is false', 'bits that are none'])
    const bits = of(['7', '7', '1', '5', '6'])
    used.add(kind)
    if (kind === 'a remainder that is false') return { test: `!(${left} % ${right})`, no: `${left} % ${right}` }
    if (kind === 'bits that are none') return { test: `(${left} & ${bits}) === 0`, no: `(${left} & ${bits})` }
    return { test: `${left} % ${right} === 0`, no: `${left} % ${right} !== 0` }
  }
  const statement = (depth: number): string => {
    const [left, right] = [name(), by()]
    const other = of([left, left, left, name()])
    const { test, no } = found(left, right)
    const dividedBy = of([right, right, right, by()])
    const quotient = `${other} / ${dividedBy}`
    const inner = (): string => (depth > 0 ? statement(depth - 1) : `s = s * 0.5 + ${quotient}`)
    const change = (): string => of(['', '', `d = ${small()}`, `${local()} = ${of([small(), 'i - 3', 'a + b'])}`, 'd++'])
    switch (below(9)) {
      case 0:
        return use('in a branch', `if (${test}) { ${change()}; ${local()} = ${quotient} } else { ${inner()} }`)
      case 1:
        return use('in the other branch', `if (${no}) { ${inner()} } else { ${change()}; s += ${quotient} }`)
      case 2:
        return use('chosen', `${local()} = ${test} ? ${quotient} : 3 * ${left} + 1`)
      case 3: {
        const one = local()
        return use(
          'in a loop',
          `for (let t = 0; t < 6 && ${one} % ${right} === 0; t++) { ${one} ${below(3) === 0 ? `= ${quotient}` : `/= ${right}`}; ${inner()} }`,
        )
      }
      case 4:
        return use('after a jump', `for (let k = 1; k < 5; k++) { if (${left} % k !== 0) continue; s += ${left} / k; ${inner()} }`)
      case 5:
        return use(
          'less its remainder',
          `{ let r = 5; ${of(['r', 'r', 'd'])} = ${left} % ${right}; ${change()}; ${local()} = (${left} - ${of(['r', 'r', 'd', `${left} % ${right}`, `${left} % ${dividedBy}`])}) / ${dividedBy} }`,
        )
      case 6:
        return use('both', `if (${test} && ${quotient} > ${small()}) s += ${quotient}`)
      case 7: {
        const bound = of([
          `Math.sqrt(${left})`,
          `${left} / 3`,
          `${left} % 7`,
          'x.get(i)',
          `Math.floor(Math.sqrt(${left}))`,
          `Math.min(9, ${left})`,
        ])
        const body = `if (++t > 9) break; if (${left} % k === 0) s += ${left} / k; ${below(3) === 0 ? inner() : ''}`
        const loop =
          below(3) === 0
            ? `let k = 12; k > ${bound}; k -= ${1 + below(4)}`
            : `let k = ${below(3)}; k ${of(['<', '<='])} ${bound}; k += ${1 + below(5)}`
        return use('to a bound', `{ let t = 0; for (${loop}) { ${body} } }`)
      }
      default:
        return use(
          'digits',
          `for (let t = 0; ${left === 'i' ? 'a' : left} > 0 && t < 20; t++) { const c = a % 10; s = s * 3 + c; a = (a - c) / 10; ${inner()} }`,
        )
    }
  }
  const lines = [`let a = ${of(STARTS)}, b = ${of(STARTS)}, d = ${small()}, s = 0`]
  for (let n = 2 + below(4); n > 0; n--) lines.push(statement(1), 'if (!(Math.abs(s) < 1e300)) s = 1', 'if (!(Math.abs(a) < 1e15)) a = i')
  lines.push('out.set(i, s + a + (1 / b > 0 ? b : 2 * b) + 1 / a)')
  return { text: `([i], { x, out }) => {\n${lines.join('\n;')}\n}`, used }
}

test('bodies that divide multiples are compiled, run in parallel, and give the bits of plain JavaScript', async () => {
  await expectBitsOfPlain(session, { name: 'multiples', draw: bodyText, held: {}, run: RUN, least: 500 })
}, 1_800_000)

test('a number of which a test has found a divisor stays an integer', async () => {
  const codeOf = async (body: string): Promise<string> => {
    const [x, out] = [session.zeros([20]), session.zeros([20])]
    const loop = session.loop(session.range(20), { x, out }, bodyOf(`([i], { x, out }) => { ${body} }`, {}) as never)
    await loop.run()
    return loop.explain({ kernel: true })
  }
  const factors = 'let n = i + 2, c = 0; for (let d = 2; d * d <= n; d++) while (n % d === 0) { n /= d; c++ } out.set(i, c + n)'
  const digits = 'let n = i + 1, s = 0; while (n > 0) { const d = n % 10; s += d; n = (n - d) / 10 } out.set(i, s)'
  const halves = 'let n = i + 1, s = 0; while (n > 1) { n = n & 1 ? n - 1 : n / 2; s++ } out.set(i, s)'
  for (const body of [factors, digits, halves]) {
    const code = await codeOf(body)
    expect(code, body).toMatch(/i32\.div_[us]/)
    expect(code, body).not.toMatch(/f64\.div/)
    expect((await looped(session, bodyOf(`([i], { x, out }) => { ${body} }`, {}))).outcome, body).toStrictEqual(
      plain(bodyOf(`([i], { x, out }) => { ${body} }`, {})),
    )
  }
  const root = await codeOf('let s = 0; for (let d = 1; d <= Math.sqrt(i); d++) if (i % d === 0) s += d; out.set(i, s)')
  expect(root.match(/f64\.sqrt/g)).toHaveLength(1)
})
