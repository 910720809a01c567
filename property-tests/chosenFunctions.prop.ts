/**
 * Law: a body that calls functions which it chooses, out of lists by a computed place or by a condition, is compiled to WebAssembly, runs in
 * parallel, and gives the bits of plain JavaScript. A place where there is none is a TypeError.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { drawing } from './drawing.ts'
import { bodyOf, type DrawnBody, expectCompiled, type LoopBody, looped, plain } from './drawnBodies.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('chosenFunctions.prop.ts')
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

/** What bodies capture. */
const HELD = {
  fns: [
    (v: number) => v + 1,
    Math.abs,
    (v: number, w = 2) => {
      if (v > w) return v
      return v * w
    },
    (v: number, w: number) => v - w,
  ],
  adding: (a: number) => (v: number) => v + a,
  half: (v: number) => v / 2,
}

function bodyText(numbers: readonly number[]): DrawnBody {
  const { below, of } = drawing(numbers)
  const used = new Set<string>()
  const use = (kind: string): void => void used.add(kind)
  const functions: string[] = []
  const value = (): string => of(['s', 'x.get(i)', 'i', String(below(30) / 4), '-0', '(s - 1)'])
  const condition = (): string => of([`${value()} < ${value()}`, `i % ${2 + below(3)} === ${below(3)}`, 's', '!(s > 1)'])
  const place = (n: number): string => {
    if (below(25) === 0) return of(['i', 'x.get(i)', 's', '-1', '0.5'])
    return of([`i % ${n}`, `(i + ${below(4)}) % ${n}`, `(s > 0 ? ${below(n)} : ${below(n)})`])
  }
  const chosen = (depth = 1): string => {
    switch (below(5)) {
      case 0:
        if (functions.length === 0) return 'half'
        use('by a name')
        return of(functions)
      case 1:
        use('written there')
        return `[${depth > 0 ? chosen(depth - 1) : 'half'}, half, (v) => v * ${value()}][${place(3)}]`
      case 2:
        use('by a condition')
        return `(${condition()} ? ${functions.length > 0 ? of(functions) : 'Math.sqrt'} : ${of(['half', 'Math.abs', `adding(${below(9)})`])})`
      default:
        use('of a list')
        return `fns[${place(4)}]`
    }
  }
  const statement = (depth: number): string => {
    const inner = (): string => (depth > 0 ? statement(depth - 1) : `s += ${chosen()}(${value()}, 1)`)
    switch (below(8)) {
      case 7:
        use('one that gives nothing')
        return `s = s * 0.5 + (${of(['[(v) => { n += v }, half]', '[half, (v) => { n -= v }]'])}[${place(2)}](${value()}) ?? ${value()})`
      case 0:
        use('that changes')
        return `[(v) => { s -= v }, (v) => { n += v }][${place(2)}](${value()})`
      case 1:
        return `if (${condition()}) { ${inner()} } else { ${inner()} }`
      case 2:
        return `for (let k${depth} = 0; k${depth} < ${1 + below(3)}; k${depth}++) { ${inner()} }`
      case 3:
        use('handed on')
        return `s = s * 0.5 + ((f) => f(${value()}, 2) - f(1, 1))(${chosen()})`
      default:
        return `s = s * 0.5 + ${chosen()}(${value()}, ${value()})`
    }
  }
  const lines = ['let s = x.get(i), n = 0']
  for (let k = below(3); k > 0; k--) {
    lines.push(`const f${k} = ${chosen()}`)
    functions.push(`f${k}`)
  }
  for (let n = 2 + below(4); n > 0; n--) lines.push(statement(2))
  return { text: `([i], { x, out }) => {\n${lines.join(';\n')};\nout.set(i, s + n)\n}`, used }
}

function plainOrNone(body: LoopBody): Float64Array | TypeError {
  try {
    return plain(body)
  } catch (error) {
    if (error instanceof TypeError) return error
    throw error
  }
}

test('bodies that choose functions are compiled, run in parallel, and give the bits of plain JavaScript', async () => {
  const counts: Record<string, number> = {}
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(10_000), { minLength: 15, maxLength: 60 }), async (numbers) => {
      const { text, used } = bodyText(numbers)
      const expected = plainOrNone(bodyOf(text, HELD))
      const { outcome, plan } = await looped(session, bodyOf(text, HELD))
      expectCompiled(plan, text)
      if (expected instanceof TypeError) expect(outcome, text).toContain('is not a function')
      else expect(outcome, text).toStrictEqual(expected)
      for (const one of [...used, ...(expected instanceof TypeError ? ['none there'] : [])]) counts[one] = (counts[one] ?? 0) + 1
    }),
    RUN,
  )
  console.log(`chosen functions: ${JSON.stringify(counts)}`)
})
