/**
 * Law: a body that takes the rest of lists and objects, parts of captured lists by `slice` and `subarray`, and objects out of captured Maps
 * is compiled to WebAssembly, runs in parallel, and gives the bits of plain JavaScript.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { drawing } from './drawing.ts'
import { bodyOf, type DrawnBody, expectCompiled, looped, plain, ROWS } from './drawnBodies.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('takenParts.prop.ts')
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

const DOUBLES = [0, -0, 0.5, Number.NaN, -1, 2.25, Number.POSITIVE_INFINITY]
const doubles = Float64Array.from({ length: ROWS }, (_, i) => DOUBLES[i] ?? ((i * 37) % 19) / 4 - 2)

/** What bodies capture. */
const HELD = {
  list: [3, -1.5, 0, 8, 2.25],
  typed: Float64Array.from({ length: 9 }, (_, k) => (k * 7) % 5),
  whole: Int32Array.from([4, 1, 3, 0, 2, 7]),
  rows: [
    [1, 2, 3, 4],
    [5, 6, 7, -8],
  ],
  items: [
    { w: 3, v: 4, keys: 0.5 },
    { w: 5, v: -2, keys: 1 },
    { w: 2, v: 8, keys: -1 },
  ],
  rules: new Map([
    [2, { born: false, stays: 1, keys: 7 }],
    [3, { born: true, stays: 1, keys: -7 }],
    [6, { born: true, stays: 0, keys: 0.25 }],
  ]),
  far: new Map([
    [-1e9, { born: 2, stays: 3, keys: 4 }],
    [0.5, { born: 5, stays: 6, keys: 8 }],
  ]),
}

function bodyText(numbers: readonly number[]): DrawnBody {
  const { below, of } = drawing(numbers)
  const used = new Set<string>()
  const use = (kind: string): void => void used.add(kind)
  let names = 0
  const fresh = (wanted: string): string => `${wanted}${names++}`
  const value = (): string => of(['s', 'x.get(i)', 'i', String(below(30) / 4), '-0', '(s - 1)'])
  const end = (): string => of(['i', 'i % 5', '-2', String(below(12)), 'x.get(i)', '(i - 4)', '-i', 'whole[i % 6]', 'whole[i]'])
  const part = (depth = 1): string => {
    const of_ = below(4) === 0 && depth > 0 ? part(depth - 1) : of(['list', 'typed', 'whole', 'rows[i % 2]'])
    const method = /^(typed|whole)$/.test(of_) && below(2) === 0 ? 'subarray' : 'slice'
    use(method)
    return `${of_}.${method}(${end()}${below(3) > 0 ? `, ${end()}` : ''})`
  }
  const statement = (depth: number): string => {
    const inner = (): string => (depth > 0 ? statement(depth - 1) : `s -= ${value()}`)
    const [a, r, k] = [fresh('a'), fresh('r'), fresh('k')]
    switch (below(11)) {
      case 0: {
        use('the rest of a list written out')
        const [more, at] = [of(['', `, ${value()}`]), of(['0', '1', `i % 2`])]
        return `{ const [${a}, ...${r}] = [${value()}, ${value()}, i${more}]; s = s * 0.5 + ${r}[${at}] - ${a} + ${r}.length }`
      }
      case 1:
        use('the rest of a captured list')
        return `{ const [${a}, , ...${r}] = ${of(['list', 'typed', 'rows[i % 2]'])}; for (const ${k} of ${r}) s = s * 0.5 + ${k} * ${a} }`
      case 2:
        use('the rest changes')
        return `{ const ${a}s = [${value()}, 1, i]; const [${a}, ...${r}] = ${a}s; ${r}[${of(['0', 'i % 2'])}] = ${value()}; s = s * 0.5 + ${a}s[1] + ${r}[0] + ${r}[1] }`
      case 3:
        use('the rest of an object of a list')
        return `{ const { w: ${a}, ...${r} } = items[${of(['i % 3', '0', 'whole[1]'])}]; s = s * 0.5 + ${r}.v * ${a} + ${r}.keys + (${r}.w ?? 0.25) }`
      case 4:
        use('spread of an object of a list')
        return `{ const ${r} = { ...items[i % 3], v: ${value()} }; s = s * 0.5 + ${r}.v * ${r}.w - ${r}.keys }`
      case 5:
        use('an object of a Map')
        if (below(3) === 0)
          return `{ const rule = rules.get(${of(['i', 'i % 4'])}); if (s > 0 ? (rule?.born ?? false) : (rule?.born ?? s < -1)) s += 1 }`
        return `s = s * 0.5 + (${of(['rules', 'far'])}.get(${of(['i', 'x.get(i)', 'i % 4', '-1e9'])})?.${of(['stays', 'keys'])} ?? ${value()})`
      case 6:
        use('an object of a Map that is there')
        return `if (rules.has(i)) { const { born: ${a}, ...${r} } = rules.get(i); s = s * 0.5 + (${a} ? 1 : 2) - ${r}.keys }`
      case 7:
        return `for (const ${k} of ${part()}) s = s * 0.5 + ${k}`
      case 8:
        return `{ const ${a} = ${part()}; s = s * 0.5 + ${a}.length + (${a}[${of(['0', '1', 'i % 3', '-1', '9'])}] ?? ${value()}) }`
      case 9:
        return `s = s * 0.5 + ${part()}.reduce((t, v) => t * 0.5 + v, ${value()})`
      default:
        return of([
          `if (${value()} < ${value()}) { ${inner()} } else { ${inner()} }`,
          `for (let ${k} = 0; ${k} < 2; ${k}++) { ${inner()} }`,
        ])
    }
  }
  const lines = ['let s = x.get(i)']
  for (let n = 2 + below(4); n > 0; n--) lines.push(statement(2))
  return { text: `([i], { x, out }) => {\n${lines.join('\n')}\nout.set(i, s)\n}`, used }
}

test('bodies that take parts of lists and objects are compiled, run in parallel, and give the bits of plain JavaScript', async () => {
  const counts: Record<string, number> = {}
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(10_000), { minLength: 15, maxLength: 60 }), async (numbers) => {
      const { text, used } = bodyText(numbers)
      const expected = plain(bodyOf(text, HELD), (i) => doubles[i])
      const { outcome, plan } = await looped(session, bodyOf(text, HELD), doubles)
      expectCompiled(plan, text)
      expect(outcome, text).toStrictEqual(expected)
      for (const one of used) counts[one] = (counts[one] ?? 0) + 1
    }),
    RUN,
  )
  console.log(`taken parts: ${JSON.stringify(counts)}`)
})
