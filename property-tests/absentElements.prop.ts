/**
 * Law: a body that goes through captured lists of whole numbers as their starts tell, counts with what it finds there, compares the texts
 * of captured lists, and takes elements that may not be there as subscripts, is compiled to WebAssembly, runs in parallel, and gives the bits of plain JavaScript. A subscript that is
 * not there is the error that it is to plain JavaScript.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { outsideMessage } from '../src/core/arrays/indexSpace.ts'
import { Session } from '../src/session/session.ts'
import { drawing } from './drawing.ts'
import { bodyOf, type DrawnBody, doubles, expectCompiled, type LoopBody, looped, plain, ROWS } from './drawnBodies.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('absentElements.prop.ts')
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

const counts = Array.from({ length: ROWS }, (_, i) => (i * 5) % 4)

/** What bodies capture. Elements of `to`, `list` and `rows` are places of `x`; those of `far` are not all. */
const HELD = {
  starts: Int32Array.from(
    [0, ...counts],
    (
      (sum: number) => (count: number) =>
        (sum += count)
    )(0),
  ),
  to: Int32Array.from({ length: 30 }, (_, e) => (e * 7) % ROWS),
  far: Int16Array.from([3, -1, 20, 5]),
  bytes: Uint8ClampedArray.from([300, -4, 7, 12]),
  list: [4, 0, 19, 7, 2],
  rows: [[1, 2, 3], [], [17], [0, 9]],
  labels: ['a', 'b', 'c', 'd'],
  word: 'abcbad',
  codes: new Map([
    ['a', 3],
    ['b', 0],
    ['c', 11],
  ]),
}

function bodyText(numbers: readonly number[]): DrawnBody {
  const { below, of } = drawing(numbers)
  const used = new Set<string>()
  const use = (kind: string): void => void used.add(kind)
  const value = (): string => of(['s', 'x.get(i)', 'i', String(below(30) / 4), '-0', '(s - 1)'])
  const place = (n: number): string => {
    if (below(10) === 0) return of(['i', 'i * 2 ** 32', '(x.get(i) * 2)', 's', '(i - 3)', '0.5'])
    return of([`i % ${n}`, `(i + ${below(4)}) % ${n}`, `(s > 0 ? ${below(n)} : ${below(n)})`])
  }
  const whole = (): string => {
    switch (below(7)) {
      case 0:
        use('of a Map')
        return `codes.get(labels[${of(['i % 4', `(i + ${below(4)}) % 4`])}])`
      case 1:
        use('of bytes')
        return `bytes[${place(4)}]`
      case 2:
        if (below(6) > 0) return `list[${place(5)}]`
        use('outside of x')
        return `far[${place(4)}]`
      case 3:
        use('of two lists')
        return `to[list[${place(5)}]]`
      default:
        return of([`to[${place(30)}]`, `list[${place(5)}]`])
    }
  }
  const element = (): string => {
    const one = whole()
    use(one.startsWith('bytes') ? 'of bytes, within' : 'as a subscript')
    return one.startsWith('bytes') ? `x.get(${one} % ${ROWS})` : `x.get(${one})`
  }
  const statement = (depth: number): string => {
    const inner = (): string => (depth > 0 ? statement(depth - 1) : `s = s * 0.5 + ${element()}`)
    switch (below(12)) {
      case 0:
        use('from a start on')
        return `for (let e = starts[i]; e < starts[i + 1]; e++) s = s * 0.5 + x.get(to[e])`
      case 1: {
        use('counted with')
        const name = `c${below(1000)}`
        const step = of(['++', '--'])
        return `{ let ${name} = ${whole()}; ${of([`${name}${step}`, `${step}${name}`])}; s = s * 0.5 + ${name} }`
      }
      case 2:
        use('kept')
        return `{ const k = ${whole()}; s = s * 0.5 + x.get(k % ${ROWS}) + x.get(k) }`
      case 3:
        use('compared')
        return `if (${whole()} ${of(['<', '>='])} ${of([whole(), value()])}) { ${inner()} }`
      case 5: {
        use('of a text that is kept')
        const name = `t${below(1000)}`
        const later = of(['', `k = (k + ${1 + below(3)}) % 4;`])
        return `{ let k = i % 4; const ${name} = labels[k]; ${later} s = s * 0.5 + x.get(codes.get(${name}) ${of(['?? 0', '?? i', '?? k'])}) + k }`
      }
      case 6: {
        use('made')
        const name = `m${below(1000)}`
        const by = of([`to[(i + k) % 30]`, `${value()} * (k + 1)`, `list[k]`])
        return `{ const ${name} = ${of(['Int16Array', 'Uint8Array', 'Float64Array'])}.from({ length: 3 }, (_, k) => ${by}); s = s * 0.5 + ${name}[i % 3] }`
      }
      case 7: {
        use('may be null')
        const at = `${of(['list', 'to', 'bytes', 'far'])}[k]`
        const given = `if (${value()} > ${below(5) - 2}) k = (i + ${below(4)}) % 5`
        return `{ let k = null; ${given}; s = s * 0.5 + (${at} ?? 0.25) + (k === null ? 1 : x.get(k)) }`
      }
      case 8:
        use('texts compared')
        return `if (labels[${place(4)}] ${of(['===', '!==', '=='])} ${of([`labels[${place(4)}]`, "'b'", "'z'", `word[${place(6)}]`])}) { ${inner()} }`
      case 4: {
        use('of rows')
        const row = of(['rows[i % 4]', `(rows[${of(['i - 2', 'i % 6', 'i % 6 - 1', 's'])}] ${of(['??', '||'])} [])`])
        return of([`for (const e of ${row}) s = s * 0.5 + x.get(e)`, `s = s * 0.5 + ${row}.length`])
      }
      default:
        return `s = s * 0.5 + ${element()}`
    }
  }
  const lines = ['let s = x.get(i)']
  for (let n = 2 + below(4); n > 0; n--) lines.push(statement(2))
  return { text: `([i], { x, out }) => {\n${lines.join(';\n')};\nout.set(i, s)\n}`, used }
}

/** An iteration that threw, as the loop tells it. */
class Failed extends Error {}

function plainOrFailed(body: LoopBody): Float64Array | Failed {
  let at = 0
  const get = (k: number): number => {
    if (!(Number.isInteger(k) && k >= 0 && k < ROWS)) throw new Failed(outsideMessage('x', [k], [ROWS]))
    return doubles[k] as number
  }
  try {
    return plain((key, env) => body([(at = key[0])], env), get)
  } catch (error) {
    if (!(error instanceof Failed)) throw error
    return new Failed(`The body of the loop over range(${ROWS}) threw at key [${at}]: ${error.message}`)
  }
}

test('elements of captured lists that may not be there are compiled, run in parallel, and give the bits of plain JavaScript', async () => {
  const drawn: Record<string, number> = {}
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(10_000), { minLength: 15, maxLength: 60 }), async (numbers) => {
      const { text, used } = bodyText(numbers)
      const expected = plainOrFailed(bodyOf(text, HELD))
      const { outcome, plan } = await looped(session, bodyOf(text, HELD))
      expectCompiled(plan, text)
      expect(outcome, text).toStrictEqual(expected instanceof Failed ? expected.message : expected)
      for (const one of [...used, ...(expected instanceof Failed ? ['not there'] : [])]) drawn[one] = (drawn[one] ?? 0) + 1
    }),
    RUN,
  )
  console.log(`absent elements: ${JSON.stringify(drawn)}`)
})
