/**
 * Law: a body with switches that fall through, texts as states, values that may be undefined or null and are asked whether they are,
 * arrays of arrays, and `at` is compiled to WebAssembly, runs in parallel, and gives the bits of plain JavaScript.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { drawing } from './drawing.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('everydayBodies.prop.ts')
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

const ROWS = 30
const DOUBLES = [0, -0, 0.5, Number.NaN, Number.POSITIVE_INFINITY, -1, 2.25, -1e300]
const LIST = [3, -1.5, 0, 8, -0, 2.25, Number.NaN]
const doubles = Float64Array.from({ length: ROWS }, (_, i) => DOUBLES[i] ?? ((i * 37) % 19) / 4 - 2)
const x = session.fromTypedArray(doubles, [ROWS])
const out = session.zeros([ROWS])

type Body = (key: readonly [number], env: Record<string, unknown>) => void

interface Maybe {
  readonly name: string
  readonly absent: 'undefined' | 'null'
}

function bodyText(numbers: readonly number[]): { readonly text: string; readonly used: ReadonlySet<string> } {
  const { below, of } = drawing(numbers)
  const used = new Set<string>()
  const use = (kind: string): string => {
    used.add(kind)
    return kind
  }
  let names = 0
  const fresh = (wanted: string): string => `${wanted}${names++}`
  const states: string[] = []
  const maybes: Maybe[] = []
  const tables: string[] = []
  const kind = of(['undefined', 'null'] as const)

  const value = (): string => {
    const one = of(['s', 'x.get(i)', 'i', String(below(30) / 4), '-0'])
    return of([one, `(${one} * 0.5)`, `(${one} - ${below(5)})`])
  }
  const word = (): string => `'${of(['', 'idle', 'busy', 'done'])}'`
  const state = (): string => (states.length > 0 && below(2) === 0 ? of(states) : of([word(), `(${test()} ? ${word()} : ${word()})`]))
  const maybe = (): string => {
    if (maybes.length > 0 && below(2) === 0) return of(maybes).name
    const choice = below(kind === 'undefined' ? 4 : 3)
    if (choice === 0) return `(${plainTest()} ? ${value()} : ${kind})`
    if (choice === 3) {
      use('a place of a list')
      return `L[${of(['i', 'i % 9', 'i - 3', 'x.get(i)', 'i / 2'])}]`
    }
    return choice === 1 ? value() : kind
  }
  const plainTest = (): string => of([`${value()} < ${value()}`, `i % ${2 + below(4)} === ${below(3)}`, `!(${value()} > 1)`])
  const test = (): string => {
    const choice = below(9)
    if (choice === 0 && states.length > 0) return `${use('a text compared') && of(states)} ${of(['===', '!==', '=='])} ${state()}`
    if (choice === 1 && states.length > 0) return `${use('a text as a truth') && of(states)} ${of(['&&', '||'])} ${plainTest()}`
    if (choice === 2 && maybes.length > 0)
      return `${use('is it there') && of(maybes).name} ${of(['===', '!==', '==', '!='])} ${of(['undefined', 'null'])}`
    if (choice === 3 && maybes.length > 0) return `${use('does it equal') && of(maybes).name} ${of(['===', '!=='])} ${value()}`
    if (choice === 4 && maybes.length > 0) return `${use('a truth that may be none') && of(maybes).name} ${of(['&&', '||'])} ${plainTest()}`
    return plainTest()
  }
  const statement = (depth: number): string => {
    const inner = (): string => (depth > 0 ? statement(depth - 1) : `s += ${value()}`)
    switch (below(12)) {
      case 0: {
        use('switch')
        const cases = Array.from(
          { length: 2 + below(3) },
          (_, c) => `case ${c}: ${inner()}; ${of(['', '', 'break;', `if (${test()}) break;`])}`,
        )
        cases.splice(below(cases.length + 1), 0, ...(below(3) > 0 ? [`default: ${inner()}; ${of(['', 'break;'])}`] : []))
        return `switch (i % ${2 + below(4)}) { ${cases.join(' ')} }`
      }
      case 1: {
        if (states.length === 0) return inner()
        use('switch over texts')
        return `switch (${of(states)}) { case 'idle': ${inner()}; ${of(['', 'break;'])} case 'busy': case '': ${inner()}; break; default: ${inner()} }`
      }
      case 2:
        if (states.length === 0) return inner()
        use('a text assigned')
        return `if (${test()}) ${of(states)} = ${state()}`
      case 3:
        if (maybes.length === 0) return inner()
        use('may be assigned')
        return `${of(maybes).name} = ${maybe()}`
      case 4:
        if (maybes.length === 0) return inner()
        use('assigned where it is not there')
        return `${of(maybes).name} ??= ${of([value(), maybe()])}`
      case 5:
        if (maybes.length === 0) return inner()
        use('or else')
        return `s = s * 0.5 + (${of(maybes).name} ?? ${of([value(), `${of(maybes).name} ?? ${value()}`])})`
      case 6:
        if (maybes.length === 0) return inner()
        use('as a number')
        return `s -= ${of([`${of(maybes).name} * 2`, `(${of(maybes).name} > 1 ? 1 : 0)`, `Math.max(${of(maybes).name}, 1)`])}`
      case 7:
        if (tables.length === 0) return inner()
        use('an element of an array of arrays')
        return of([
          `${of(tables)}[i % 3][${below(2)}] = ${value()}`,
          `s += ${of(tables)}[${below(3)}][i % 2]`,
          `for (const [a, b] of ${of(tables)}) s += a - b`,
        ])
      case 8:
        use('at')
        return `s += ${of(['L', 'x2'])}.at(${of(['-1', '0', 'i % 3', '-2', '-(i % 4)', 's > 0 ? 1 : -1'])})${of(['', ' * 2'])}`
      case 9:
        return `if (${test()}) { ${inner()} } else { ${inner()} }`
      case 10:
        return `for (let k${depth} = 0; k${depth} < ${1 + below(3)}; k${depth}++) { ${inner()} }`
      default:
        return `if (${test()}) s += ${value()}`
    }
  }
  const lines: string[] = ['let s = x.get(i)', 'const x2 = [s, i, 2]']
  for (let n = below(3); n > 0; n--) {
    const name = fresh('state')
    lines.push(`let ${name} = ${state()}`)
    states.push(name)
  }
  for (let n = below(3); n > 0; n--) {
    const name = fresh('maybe')
    lines.push(kind === 'undefined' && below(3) === 0 ? `let ${name}` : `let ${name} = ${maybe()}`)
    maybes.push({ name, absent: kind })
  }
  if (below(2) === 0) {
    const name = fresh('m')
    lines.push(
      `const ${name} = Array.from({ length: 3 }, (_, r) => ${of(['new Float32Array(2)', '[r, s]', 'new Array(2).fill(r)', 'Array.from({ length: 2 }, (_, c) => r * c - s)'])})`,
    )
    tables.push(name)
  }
  for (let n = 2 + below(5); n > 0; n--) lines.push(statement(2))
  return { text: `([i], { x, out }) => {\n${lines.join('\n')}\nout.set(i, s)\n}`, used }
}

const bodyOf = (text: string): Body => new Function('L', `return ${text}`)(LIST) as Body

function plain(body: Body): Float64Array {
  const written = new Float64Array(ROWS)
  const env = { x: { get: (i: number) => doubles[i] }, out: { set: (i: number, value: number) => (written[i] = value) } }
  for (let i = 0; i < ROWS; i++) body([i], env)
  return written
}

test('everyday bodies are compiled, run in parallel, and give the bits of plain JavaScript', async () => {
  const counts: Record<string, number> = {}
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(10_000), { minLength: 20, maxLength: 90 }), async (numbers) => {
      const { text, used } = bodyText(numbers)
      const expected = plain(bodyOf(text))
      const loop = session.loop(session.range(ROWS), { x, out }, bodyOf(text) as never)
      await loop.run()
      const { kernel, schedule } = loop.plan
      expect(kernel?.target, `${text}\n${JSON.stringify(kernel?.because)}`).not.toBe('as-is')
      expect(schedule.kind, text).toBe('independent')
      expect(await out.toTypedArray(), text).toStrictEqual(expected)
      for (const one of [...used, `${kernel?.target}`]) counts[one] = (counts[one] ?? 0) + 1
    }),
    RUN,
  )
  console.log(`everyday bodies: ${JSON.stringify(counts)}`)
  if (RUN.numRuns < 500) return
  expect(Math.min(...Object.values(counts))).toBeGreaterThan(RUN.numRuns / 100)
  // What compares two values that may both be missing, or null with a list's place, stays JavaScript.
  expect(counts.js ?? 0).toBeLessThan(RUN.numRuns / 3)
})
