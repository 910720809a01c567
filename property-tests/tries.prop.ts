/**
 * Law: a body that catches what it throws itself, and elements outside of arrays and tables, is compiled, writes what it has written
 * before and does what it does behind, as plain JavaScript has it; so do its loops, helpers and finally.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('tries.prop.ts')
const SIZE = 10
const odd = [0.5, Number.NaN, -1, 3, -0, 9, 12, 2, Number.POSITIVE_INFINITY, 7]
const X = Float64Array.from(odd)
const P = Int32Array.from({ length: SIZE }, (_, i) => ((i * 7) % 13) - 1)
const RATES = [0.5, -2, 3]
const prepared = await Promise.all(
  [1, 2].map(async (workers) => {
    const session = await Session.start({ workers, progress: false })
    const [x, p, y] = [session.zeros([SIZE]), session.zeros([SIZE], { dtype: 'i32' }), session.zeros([SIZE])]
    await session
      .loop(session.range(SIZE), { x, p, X, P }, ([i], { x, p, X, P }) => {
        x.set(i, X[i] as number)
        p.set(i, P[i] as number)
      })
      .run()
    return { session, x, p, y, few: session.fromColumns({ rate: Float64Array.from(RATES) }) }
  }),
)
afterAll(async () => {
  for (const { session } of prepared) await session.stop()
})

/** The text of a body whose failures are all caught. */
function bodyText(numbers: readonly number[]): { readonly text: string; readonly used: ReadonlySet<string> } {
  let at = 0
  const below = (n: number): number => (numbers[at++ % numbers.length] as number) % n
  const of = <T>(items: readonly T[]): T => items[below(items.length)] as T
  const used = new Set<string>()
  let names = 0
  const key = (): string => of(['i', 'i', `i + ${below(4)}`, `i - ${below(4)}`, 'x.get(i)', 'p.get(i)', 'p.get(p.get(i))', '3', 's'])
  const value = (): string =>
    of([`x.get(${key()})`, 's', 'i', String(below(9) / 2), `few.get(${key()}).rate`, `(${says()} ? x.get(${key()}) : 2)`])
  const says = (): string =>
    of([
      `s > ${below(6)}`,
      'i % 2 === 0',
      `x.get(i) < ${below(5)}`,
      `(i > ${below(8)} && x.get(${key()}) > 1)`,
      `(s < 3 || p.get(${key()}) > 2)`,
    ])
  const thrown = (): string => `throw new ${of(['Error', 'RangeError'])}('no')`
  const statement = (depth: number): string => {
    const name = `v${names++}`
    switch (below(depth > 1 ? 7 : 10)) {
      case 0:
        return `s += ${value()}`
      case 1:
        return `y.set(${of(['i', 'i', key()])}, ${value()})`
      case 2:
        return `if (${says()}) ${of([thrown(), `s -= ${value()}`])}`
      case 3:
        return `const ${name} = ${value()}\ns = s * 0.5 + ${name}`
      case 4:
        return `y.add(${key()}, 1)`
      case 5:
        return `const ${name} = (v) => { if (v > ${below(5)}) ${of(['return v', thrown()])}; return v * 2 }\ns -= ${name}(${value()})`
      case 6:
        return `if (${says()}) return`
      case 7:
        used.add('loop')
        return `for (let k = 0; k < 4; k++) { s += x.get(${of(['k', 'i + k', 'k * 3'])}); if (${says()}) ${of(['break', 'continue', thrown(), `y.set(k, s)`])}; s -= 1 }`
      default:
        return tried(depth + 1)
    }
  }
  const tried = (depth: number): string => {
    const block = Array.from({ length: 1 + below(3) }, () => statement(depth)).join('\n')
    const behind = of(['s -= 1', 'y.set(i, s)', 's = s * 2 + 1', `if (s > ${below(4)}) s = 0`, depth === 0 ? 'return' : 's += 3'])
    const after = below(5) === 0 && !/return|break|continue/.test(block + behind) ? ` finally { s += ${below(3)} }` : ''
    if (after !== '') used.add('finally')
    if (depth > 0) used.add('nested')
    return `try {\n${block}\n} catch ${of(['', '(error) '])}{ ${behind} }${after}`
  }
  const lines = Array.from({ length: 1 + below(2) }, () => tried(0))
  return { text: `([i], { x, p, y, few }) => {\nlet s = i\n${lines.join('\n')}\ny.set(i, y.get(i) + s)\n}`, used }
}

test('what bodies catch is compiled, and is what plain JavaScript catches', async () => {
  const counts: Record<string, number> = {}
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(10_000), { minLength: 8, maxLength: 50 }), fc.nat(1), async (numbers, which) => {
      const { text, used } = bodyText(numbers)
      const { session, x, p, y, few } = prepared[which] as (typeof prepared)[number]
      const body = new Function(`return ${text}`)() as (key: readonly number[], env: object) => void
      const expected = new Float64Array(SIZE)
      let failures = 0
      const checked = (i: number, length = SIZE): number => {
        if (Number.isInteger(i) && i >= 0 && i < length) return i
        failures++
        throw new RangeError('outside')
      }
      const env = {
        x: { get: (i: number) => X[checked(i)] },
        p: { get: (i: number) => P[checked(i)] },
        few: { get: (i: number) => ({ rate: RATES[checked(i, RATES.length)] }) },
        y: {
          get: (i: number) => expected[checked(i)],
          set: (i: number, v: number) => void (expected[checked(i)] = v),
          add: (i: number, v: number) => void (expected[checked(i)] = (expected[checked(i)] as number) + v),
        },
      }
      for (let i = 0; i < SIZE; i++) body([i], env)
      await session.parallelFor(session.range(SIZE), { y }, ([i], { y }) => y.set(i, 0))
      const loop = session.loop(session.range(SIZE), { x, p, y, few }, body as never)
      const { kernel } = loop.plan
      expect(kernel?.target, `${text}\n${JSON.stringify(kernel?.because)}`).not.toBe('as-is')
      await loop.run()
      expect(await y.toTypedArray(), text).toStrictEqual(expected)
      for (const one of [...used, `${loop.plan.kernel?.target}`, ...(failures > 0 ? ['caught'] : [])]) counts[one] = (counts[one] ?? 0) + 1
    }),
    RUN,
  )
  console.log(`tries: ${JSON.stringify(counts)}`)
  if (RUN.numRuns >= 500) expect(Math.min(counts.caught ?? 0, counts.nested ?? 0, counts.finally ?? 0)).toBeGreaterThan(RUN.numRuns / 50)
}, 300_000)
