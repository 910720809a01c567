/**
 * Law: a body whose variables are given one function after another, and that calls functions of objects by a text which it chooses, is
 * compiled to WebAssembly, runs in parallel, and gives the bits of plain JavaScript. A call where there is no function is a TypeError.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { drawing } from './drawing.ts'
import { bodyOf, type DrawnBody, expectCompiled, type LoopBody, looped, plain } from './drawnBodies.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('functionVariables.prop.ts')
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

/** What bodies capture. */
const HELD = {
  half: (v: number) => v / 2,
  less: (v: number, w: number) => v - w,
  ops: {
    add: (a: number, b: number) => a + b,
    pick(this: { readonly rate: () => number }, a: number, b: number) {
      return a > b ? a * this.rate() : b
    },
    rate: () => 0.75,
  },
  codes: { sum: (a: number, b: number) => a * 0.5 + b, gap: Math.hypot },
  steps: ['add', 'rate', 'add', 'pick'],
  items: [
    { op: 'gap', v: 2 },
    { op: 'sum', v: -0.5 },
  ],
}

function bodyText(numbers: readonly number[]): DrawnBody {
  const { below, of } = drawing(numbers)
  const used = new Set<string>()
  const use = (kind: string): void => void used.add(kind)
  const value = (): string => of(['s', 'x.get(i)', 'i', String(below(30) / 4), '-0', 'n'])
  const condition = (): string => of([`${value()} < ${value()}`, `i % ${2 + below(3)} === ${below(3)}`, `x.get(i) > ${below(3)}`])
  const one = (): string => of(['half', 'less', 'up', 'down', 'Math.abs', 'codes.sum'])
  const given = (depth: number): string => (depth > 0 && below(3) === 0 ? `(${condition()} ? ${given(depth - 1)} : ${one()})` : one())
  const variables = ['f', 'g']
  const called = (): string => {
    const f = of(variables)
    switch (below(8)) {
      case 0:
        use('arguments that assign')
        return `${f}(turned(), 1)`
      case 1:
        use('in a function')
        return `twice(${value()})`
      default:
        return `${f}(${value()}, ${value()})`
    }
  }
  const named = (): string => {
    switch (below(6)) {
      case 0:
        use('by a condition')
        return `ops[${condition()} ? 'add' : ${of(["'pick'", `(${condition()} ? 'rate' : 'pick')`])}](${value()}, ${value()})`
      case 1:
        use('by a variable')
        return `codes[name](${value()}, ${value()})`
      case 2:
        use('by a captured text')
        return `ops[steps[${of(['i % 4', '(i + 1) % 4'])}]](${value()}, ${value()})`
      case 3:
        use('by a field')
        return `codes[items[i % 2].op](${value()}, items[i % 2].v)`
      case 4:
        use('of the body')
        return `own[${condition()} ? 'p' : 'q'](${value()})`
      default:
        use('given a name')
        return `((h) => h(${value()}, 2) - h(1, 1))(codes[${of(['name', "i % 2 === 0 ? 'sum' : 'gap'"])}])`
    }
  }
  const assigned = (): string => {
    const f = of(variables)
    switch (below(6)) {
      case 0:
        use('by a comparison')
        return `${f} = ${f} ${of(['===', '!=='])} ${one()} ? ${one()} : ${one()}`
      case 1:
        use('as minified')
        return `${condition()} ? ${f} = ${given(1)} : ${condition()} && (${f} = ${one()}), n++`
      case 2:
        use('by a switch')
        return `switch (i % 3) { case 0: ${f} = ${given(1)}; break; case 1: ${f} = ${one()} }`
      case 3:
        use('by another text')
        return `name = ${condition()} ? 'gap' : 'sum'`
      default:
        use('assigned')
        return `${f} = ${given(2)}`
    }
  }
  const statement = (depth: number): string => {
    const inner = (): string => (depth > 0 ? statement(depth - 1) : assigned())
    switch (below(8)) {
      case 0:
        return `if (${condition()}) { ${inner()} } else { ${inner()} }`
      case 1:
        return `for (let k${depth} = 0; k${depth} < ${1 + below(3)}; k${depth}++) { ${inner()}; s = s * 0.25 + ${called()} }`
      case 2:
      case 3:
      case 4:
        return assigned()
      case 5:
        return `s = s * 0.5 + ${named()}`
      default:
        return `s = s * 0.5 + ${called()}`
    }
  }
  const lines = ["let s = x.get(i), n = 0, name = 'sum'", 'const up = (v) => { n += 0.5; return v + n }, down = (v, w) => v - w * n']
  lines.push('const own = { p: (v) => v + n, q: (v) => { n++; return v * 2 } }')
  const isLate = below(12) === 0
  if (isLate) use('given late')
  lines.push(isLate ? 'let f' : `let f = ${given(1)}`, `let g = ${given(1)}`)
  lines.push(`const turned = () => { f = ${one()}; return s }`, `const twice = (v) => g(f(v, n), 2)`)
  for (let n = 3 + below(5); n > 0; n--) lines.push(statement(2))
  lines.push('s = s * 0.5 + f(s, 1)')
  return { text: `([i], { x, out }) => {\n${lines.join(';\n')};\nout.set(i, s + n)\n}`, used }
}

function plainOrNone(body: LoopBody): unknown {
  try {
    return plain(body)
  } catch (error) {
    return error
  }
}

test('bodies that give variables functions, and call functions by texts, are compiled, run in parallel, and give the bits of plain JavaScript', async () => {
  const counts: Record<string, number> = {}
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(10_000), { minLength: 20, maxLength: 90 }), async (numbers) => {
      const { text, used } = bodyText(numbers)
      const { outcome, plan } = await looped(session, bodyOf(text, HELD))
      expectCompiled(plan, text)
      const expected = plainOrNone(bodyOf(text, HELD))
      if (expected instanceof TypeError) expect(outcome, text).toMatch(/is not a function$/)
      else expect(outcome, text).toStrictEqual(expected)
      for (const one of [...used, ...(expected instanceof TypeError ? ['a TypeError'] : [])]) counts[one] = (counts[one] ?? 0) + 1
    }),
    RUN,
  )
  console.log(`function variables: ${JSON.stringify(counts)}`)
  if (RUN.numRuns >= 500) expect(Math.min(...Object.values(counts))).toBeGreaterThan(RUN.numRuns / 100)
}, 300_000)
