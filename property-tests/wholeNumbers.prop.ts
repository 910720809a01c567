/**
 * Law: a body that computes with whole numbers (rounded quotients, remainders, squares that bound a loop, searches by halves, scans
 * that tests end) is compiled to WebAssembly and gives the bits that it gives as plain JavaScript.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { drawing } from './drawing.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('wholeNumbers.prop.ts')
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

const ROWS = 40
const OUTPUTS = 4
const EXTREMES = [0, 1, -1, 7, -7, 2 ** 31 - 1, -(2 ** 31), 1023, -4096, 360360]
const DOUBLES = [
  0,
  -0,
  0.5,
  -0.5,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  -1,
  5,
  -6,
  2 ** 31,
  2 ** 32 - 1,
  2 ** 32,
  2 ** 53,
  1e300,
  -1e-300,
  12.5,
]
/** In order: what bodies search. */
const TABLE = Float64Array.from({ length: 24 }, (_, k) => k * k * 0.25 - 20)

const integers = Int32Array.from({ length: ROWS }, (_, i) => EXTREMES[i] ?? Math.imul(i, 0x9e3779b9) >> (i % 17))
const divisors = Uint8Array.from({ length: ROWS }, (_, i) => (i * 37) % 23)
const doubles = Float64Array.from({ length: ROWS }, (_, i) => DOUBLES[i] ?? (i % 3 === 0 ? i * 1.75 - 30 : i * 3 - 40))
const [a, b, x] = [
  session.fromTypedArray(integers, [ROWS]),
  session.fromTypedArray(divisors, [ROWS]),
  session.fromTypedArray(doubles, [ROWS]),
]
const out = session.zeros([ROWS, OUTPUTS])

type Body = (key: readonly [number], env: Record<string, unknown>) => void

function bodyText(numbers: readonly number[]): { readonly text: string; readonly used: ReadonlySet<string> } {
  const { below, of } = drawing(numbers)
  const used = new Set<string>()
  let names = 0
  /** An integer of 32 bits, or a sum of few of them. */
  const whole = (depth: number): string => {
    if (depth === 0) return of(['i', 'a.get(i)', 'b.get(i)', '(b.get(i) + 1)', 'k', 'k', String(below(40) - 8), '1000'])
    const kind = of(['floor', 'trunc', 'bits', 'remainder', 'sum', 'shift', 'least', 'unsigned', 'inverse', 'negated'])
    used.add(kind)
    const [e, d] = [
      whole(depth - 1),
      of(['1', '2', '3', '7', '16', '1000', '-3', '0', '(b.get(i) + 1)', 'b.get(i)', '(1 + (a.get(i) & 1023))']),
    ]
    switch (kind) {
      case 'floor':
        return `Math.floor(${e} / ${d})`
      case 'trunc':
        return `Math.trunc(${e} / ${d})`
      case 'bits':
        return `((${e} / ${d}) | 0)`
      case 'remainder':
        return `(${e} % ${d})`
      case 'sum':
        return `(${e} ${of(['+', '-'])} ${whole(depth - 1)})`
      case 'shift':
        return `((${e} / ${d}) >> ${below(5)})`
      case 'unsigned':
        return `((${e} / ${d}) >>> ${below(5)})`
      case 'negated':
        return of([
          `(${e} & -(${whole(0)}))`,
          `(-(${e}) >>> ${below(5)})`,
          `(-x.get(i) | ${whole(0)})`,
          `(${e} ^ -(${d} & 7))`,
          `((-(${e}) / ${d}) | -x.get(i))`,
        ])
      case 'least':
        return `Math.${of(['min', 'max'])}(${e}, ${whole(0)})`
      default:
        return `~~(${e} / ${d})`
    }
  }
  const double = (): string => {
    const kind = of(['by a whole number', 'by a double', 'sign', 'sign of a whole number'])
    used.add(kind)
    if (kind === 'by a whole number') return `x.get(i) % ${whole(below(2))}`
    if (kind === 'by a double') return `${whole(below(2))} % x.get(i)`
    return kind === 'sign' ? `Math.sign(x.get(i))` : `Math.sign(${whole(1)})`
  }
  const loop = (name: string): string => {
    const kind = of(['halves', 'halves by floor', 'scan', 'scan down', 'squares', 'divisor', 'digits', 'hailstone'])
    used.add(kind)
    const v = of(['x.get(i)', 'a.get(i)', 'i - 22'])
    const positive = '(1 + (a.get(i) & 8191))'
    switch (kind) {
      case 'halves':
      case 'halves by floor': {
        const middle = kind === 'halves' ? '(low + high) >> 1' : 'Math.floor((low + high) / 2)'
        return `let ${name} = 0
{ let low = 0, high = ${of(['T.length', '24', '11'])}
  while (low < high) { const middle = ${middle}; if (T[middle] ${of(['<', '<='])} ${v}) low = middle + 1; else high = middle }
  ${name} = low }`
      }
      case 'scan':
        return `let ${name} = 0\nwhile (${name} < ${of(['23', '24', 'i', 'T.length'])} && T[${name}] < ${v}) ${name}++`
      case 'scan down':
        return `let ${name} = ${of(['23', '9', 'Math.min(23, i)'])}\nwhile (${name} > 0 && T[${name} - 1] > ${v}) ${name}--`
      case 'squares':
        return `let ${name} = 1\nfor (let d = 2; d * d ${of(['<', '<='])} ${positive}; d++) if (${positive} % d === 0) { ${name} = d; break }`
      case 'divisor':
        return `let ${name} = ${positive}\n{ let other = ${of(['360', '1024', '(b.get(i) + 1)'])}; while (other !== 0) { const rest = ${name} % other; ${name} = other; other = rest } }`
      case 'digits':
        return `let ${name} = 0\nfor (let rest = ${positive}; rest > 0; rest = Math.floor(rest / ${of(['2', '10', '7'])})) ${name} += rest % 10`
      default:
        return `let ${name} = 0\nfor (let n = ${positive}; n !== 1 && ${name} < 50; ${name}++) n = n % 2 === 0 ? n / 2 : 3 * n + 1`
    }
  }
  const statements = Array.from({ length: OUTPUTS }, (_, o) => {
    const name = `n${names++}`
    const set = (value: string): string => `out.set(i, ${o}, ${value})`
    const kind = of(['whole', 'whole', 'double', 'loop', 'loop', 'lookup'])
    used.add(kind)
    if (kind === 'whole') return set(whole(1 + below(3)))
    if (kind === 'lookup') return set(`T[${whole(1 + below(2))}${of(['', ' >> 1', ' >> 3'])}]`) // undefined outside of it
    return kind === 'double'
      ? set(double())
      : `${loop(name)}\n${set(of([name, `${name} % 3`, `T[Math.min(23, Math.floor(${name} / 2))]`]))}`
  })
  return { text: `([i], { a, b, x, out }) => {\nconst k = i % 5\n${statements.join('\n')}\n}`, used }
}

const bodyOf = (text: string): Body => new Function('T', `return ${text}`)(TABLE) as Body

function plain(body: Body): Float64Array {
  const written = new Float64Array(ROWS * OUTPUTS)
  const env = {
    a: { get: (i: number) => integers[i] },
    b: { get: (i: number) => divisors[i] },
    x: { get: (i: number) => doubles[i] },
    out: { set: (i: number, o: number, value: number) => (written[OUTPUTS * i + o] = value) },
  }
  for (let i = 0; i < ROWS; i++) body([i], env)
  return written
}

test('bodies with whole numbers are WebAssembly, and give the bits of plain JavaScript', async () => {
  const counts: Record<string, number> = {}
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(10_000), { minLength: 12, maxLength: 60 }), async (numbers) => {
      const { text, used } = bodyText(numbers)
      const expected = plain(bodyOf(text))
      const loop = session.loop(session.range(ROWS), { a, b, x, out }, bodyOf(text) as never)
      await loop.run()
      expect(loop.plan.kernel?.target, `${text}\n${JSON.stringify(loop.plan.kernel?.because)}`).toMatch(/^wasm/)
      expect(loop.plan.schedule.kind, text).toBe('independent')
      expect(await out.toTypedArray(), text).toStrictEqual(expected)
      for (const one of used) counts[one] = (counts[one] ?? 0) + 1
    }),
    RUN,
  )
  console.log(`whole numbers: ${JSON.stringify(counts)}`)
  if (RUN.numRuns >= 500) expect(Math.min(...Object.values(counts))).toBeGreaterThan(RUN.numRuns / 100)
})
