/**
 * Law: a body whose loops carry variables that may be integers - which begin as integers, fractions, -0, NaN, infinities or beyond 32 bits,
 * become any of them in some iteration, and are left by `break`, `continue` and labels - is compiled to WebAssembly, runs in parallel, and
 * gives the bits of plain JavaScript.
 */
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { drawing } from './drawing.ts'
import { bodyOf, type DrawnBody, looped, plain } from './drawnBodies.ts'
import { expectBitsOfPlain } from './lawOfBodies.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('loopVersioning.prop.ts')
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

const HELD = {
  starts: Float64Array.from([
    7,
    0,
    12,
    -3,
    -0,
    0.5,
    Number.NaN,
    2147483647,
    2147483648,
    2 ** 53,
    Number.POSITIVE_INFINITY,
    1023,
    -1,
    97,
    3,
    6,
  ]),
  turns: Int32Array.from([3, 5, 2, 0, 7, 1, 4, 6]),
}
const NAMES = ['a', 'b', 'c'] as const

function bodyText(numbers: readonly number[]): DrawnBody {
  const { below, of, use, used } = drawing(numbers)
  const name = (): string => of(NAMES)
  const divisor = (): string => of(['2', '3', '10', '7', '16', '1000'])
  const whole = (depth: number): string => {
    const one = (): string => (depth > 0 && below(3) === 0 ? whole(depth - 1) : name())
    switch (below(12)) {
      case 0:
      case 1:
        return use('a remainder', `${one()} % ${divisor()}`)
      case 2:
        return use('a remainder by a variable', `${one()} % ${name()}`)
      case 3:
        return use('a quotient', `Math.${of(['floor', 'trunc'])}(${one()} / ${divisor()})`)
      case 4:
        return use('bits', `(${one()} ${of(['&', '|', '^', '>>', '>>>', '<<'])} ${of(['1', '3', '5', name()])})`)
      case 5:
        return use('a sum', `${one()} + ${of(['1', '3', '-2', name()])}`)
      case 6:
        return use('a product', `${one()} * ${of(['3', '5', '-1', name()])} + 1`)
      case 7:
        return use('of a list', `turns[${one()} & 7]`)
      case 8:
        return use('one of two', `(${name()} % 2 === 0 ? ${name()} / 2 : 3 * ${name()} + 1)`)
      case 9:
        return use('an integer', of(['0', '1', '12', '255', '2147483647']))
      case 10:
        return use('what is left', `(${name()} - ${name()} % 10) / 10`)
      default:
        return name()
    }
  }
  const test = (): string =>
    of([
      `${name()} !== 1`,
      name(),
      `${name()} > 0`,
      `${name()} < 1000`,
      `${name()} % 3 !== ${below(3)}`,
      `${whole(1)} !== 5`,
      `${name()} >= ${name()}`,
    ])
  const statement = (depth: number, isIn: string | undefined): string => {
    const inner = (): string => (depth > 0 ? statement(depth - 1, isIn) : `${name()} = ${whole(1)}`)
    switch (below(12)) {
      case 0:
        return use('if', `if (${test()}) { ${inner()} } else { ${inner()} }`)
      case 1:
        return use('a variable of the loop', `{ const d = ${whole(1)}; ${name()} = d ${of(['+', '-', '*'])} ${name()}; ${name()} = d }`)
      case 2:
        return isIn === undefined ? inner() : use('break', `if (${test()}) { ${inner()}; break${of(['', ` ${isIn}`])} }`)
      case 3:
        return isIn === undefined ? inner() : use('continue', `if (${test()}) { ${inner()}; continue }`)
      case 4:
        return use('a fraction', `if (fuel === ${below(12)}) ${name()} ${of(['+= 0.5', '= -0', '= NaN', '/= 3', '= 1e300', '= -1'])}`)
      case 5:
        return use('a block', `block${depth}: { if (${test()}) break block${depth}; ${inner()} }`)
      case 6:
        return use('a double', `s = s * 0.5 + ${name()}`)
      case 7:
        return use('a step', `${name()} ${of(['++', '--', '+= 2', '*= 2', '>>= 1', '|= 0'])}`)
      default:
        return `${name()} = ${whole(2)}`
    }
  }
  const loop = (n: number): string => {
    const [label, body] = [
      `l${n}`,
      (): string => [statement(1, label), statement(2, label), ...(below(2) === 0 ? [statement(1, label)] : [])].join('; '),
    ]
    switch (below(5)) {
      case 0:
        return use('do while', `${label}: do { ${body()} } while (fuel-- > 0 && ${test()})`)
      case 1:
        return use('for', `${label}: for (; fuel-- > 0 && ${test()}; ${name()} = ${whole(1)}) { ${body()} }`)
      case 2:
        return use('for ever', `${label}: for (;;) { if (fuel-- < 0) break; ${body()} }`)
      case 3:
        return use(
          'a loop in a loop',
          `outer${n}: for (let k = 0; k < 3; k++) { fuel = 9; ${label}: while (fuel-- > 0 && ${test()}) { ${body()}; if (${test()}) ${of(['break', 'continue'])} outer${n} } ${name()} = ${whole(1)} }`,
        )
      default:
        return use('while', `${label}: while (fuel-- > 0 && ${test()}) { ${body()} }`)
    }
  }
  const lines = ['let s = x.get(i)', 'let fuel = 0']
  for (const one of NAMES)
    lines.push(`let ${one} = ${of([`starts[(i + ${below(16)}) & 15]`, `starts[${below(3)}]`, 'i', 'i + 1', '0', `${below(40)}`])}`)
  for (let n = 1 + below(2); n > 0; n--) lines.push(`fuel = ${of([12, 30])}`, loop(n))
  return { text: `([i], { x, out }) => {\n${lines.join('\n')}\nout.set(i, s + a + b / 4 + c / 16 + 1 / a + 1 / b)\n}`, used }
}

test('loops that carry what may be integers', { timeout: 900_000 }, () =>
  expectBitsOfPlain(session, { name: 'loop versioning', draw: bodyText, held: HELD, run: RUN, least: 500 }),
)

test.each([
  ['what leaves the integers in its last iteration', 'let n = 2147483646; while (n % 7 !== 6) n = n + 1; out.set(i, n)'],
  ['-0 where a loop begins', 'let n = starts[4]; let k = 0; while (k++ < 3) { if (n % 2 === 1) n = n + 1; n = n * 3 } out.set(i, 1 / n)'],
  [
    'a loop that is left with its values',
    'let n = i * 7 + 1; w: for (let k = 0; k < 3; k++) while (n > 0) { n = Math.floor(n / 3); if (n % 5 === 2) break w } out.set(i, n)',
  ],
])('%s', async (_, text) => {
  const body = bodyOf(`([i], { x, out }) => { ${text} }`, HELD)
  expect((await looped(session, body)).outcome).toStrictEqual(plain(body))
})

test('a version for integers is what runs', async () => {
  const body = bodyOf(
    '([i], { x, out }) => { let n = i + 1, c = 0; while (n !== 1) { n = n % 2 === 0 ? n / 2 : 3 * n + 1; c++ } out.set(i, c) }',
    HELD,
  )
  const [x, out] = [session.zeros([20]), session.zeros([20])]
  const loop = session.loop(session.range(20), { x, out }, body as never)
  await loop.run()
  expect(loop.explain({ kernel: true })).toMatch(/local\.get \$n@int0/)
})
