/**
 * Law: a body that copies rows and lists (spreads, `slice`, `map`, `filter`, `Array.from`), sorts, reverses, searches and takes them
 * apart, pushes onto lists and pops from them, and calls functions that call themselves, is compiled, runs in parallel, and gives the
 * bits that it gives as plain JavaScript.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { drawing } from './drawing.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('lists.prop.ts')
const sessions = await Promise.all([1, 2, 3].map((workers) => Session.start({ workers, progress: false })))
afterAll(async () => {
  for (const session of sessions) await session.stop()
})

const ROWS = 24
const COLUMNS = 6

/** What bodies capture. */
const CAPTURED = {
  steps: [3, -1.5, 0, 8, -0, 2.25, 7],
  gcd: function gcd(a: number, b: number): number {
    return b === 0 ? a : gcd(b, a % b)
  },
  half: function half(v: number, n: number): number {
    if (n <= 0) return v
    return half(v / 2 - n, n - 1)
  },
  fib: function fib(n: number): number {
    return n < 2 ? n : fib(n - 1) + fib(n - 2)
  },
  power: function power(v: number, n: number): number {
    if (n === 0) return 1
    const root = power(v, Math.floor(n / 2))
    return n % 2 === 0 ? root * root : root * root * v
  },
  ackermann: function ackermann(m: number, n: number): number {
    if (m === 0) return n + 1
    if (n === 0) return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))
  },
  digits: function digits(n: number): number {
    if (n < 10) return n
    return (n % 10) + 2 * digits(Math.floor(n / 10)) - 1
  },
  sign: function sign(v: number): number {
    if (v < 0) return -1
    return v > 0 ? 1 : v
  },
}

interface List {
  readonly name: string
  /** How many elements there are; of one that grows, at most; of what is left of a typed array, at least. */
  readonly length: number
  readonly isTyped: boolean
  readonly grows: boolean
}

/** The text of a body, and what it has in it. */
function bodyText(numbers: readonly number[]): { readonly text: string; readonly used: ReadonlySet<string> } {
  const { below, of } = drawing(numbers)
  const used = new Set<string>()
  let names = 0
  const fresh = (wanted: string): string => `${wanted}${names++}`
  const lists: List[] = []

  /** A number, of numbers that have names here. */
  const value = (known: readonly string[] = []): string => {
    const one = of(['s', 'i', 'x.get(i)', 'M.get(i, 2)', String(below(90) / 8), '-0', 'sign(s)', ...known, ...known])
    return of([one, one, `(${one} * 0.5)`, `(${one} - ${below(5)})`, `(${one} + s)`])
  }
  const test = (v: string): string =>
    of([`${v} > ${below(9) - 3}`, `${v} <= s`, `${v} !== x.get(i)`, `Math.floor(${v}) % 2 === 0`, `!(${v} < 0)`, 'true', 'false'])
  const order = (): string => {
    used.add('sort by')
    return of([
      '(a, b) => a - b',
      '(a, b) => b - a',
      '(a, b) => Math.abs(a) - Math.abs(b)',
      '(a, b) => (a < b ? -1 : a > b ? 1 : 0)',
      '() => 0',
    ])
  }
  /** What has elements: a row, a list of the body's own, a captured one. */
  const source = (): { readonly text: string; readonly length: number; readonly isOwn: boolean; readonly list?: List } => {
    const list = lists.length > 0 && below(3) > 0 ? of(lists) : undefined
    if (list !== undefined) return { text: list.name, length: list.length, isOwn: true, list }
    return of([
      { text: 'M.row(i)', length: COLUMNS, isOwn: false },
      { text: 'M.row((i * 7) % 24)', length: COLUMNS, isOwn: false },
      { text: 'steps', length: CAPTURED.steps.length, isOwn: false },
    ])
  }

  const declaration = (): string => {
    const name = fresh('t')
    const from = source()
    const grows = from.list?.grows === true
    const add = (length: number, isTyped = false, growing = false): void => void lists.push({ name, length, isTyped, grows: growing })
    switch (below(grows ? 3 : 12)) {
      case 0: {
        used.add('push')
        const first = of(['', value()])
        const [k, room] = [fresh('k'), 1 + below(5)]
        const pushes = `for (let ${k} = 0; ${k} < ${room}; ${k}++) if (${test(`x.get(${k})`)}) ${name}.push(${value([k])})`
        add(room + (first === '' ? 0 : 1), false, true)
        return `const ${name} = [${first}]\n${pushes}`
      }
      case 1: {
        used.add('push')
        const v = fresh('v')
        add(COLUMNS, false, true)
        return `const ${name} = []\nfor (const ${v} of M.row(i)) if (${test(v)}) ${name}.push(${value([v])})`
      }
      case 2: {
        used.add('push two')
        add(3, false, true)
        return `const ${name} = [${value()}]\ns += ${name}.push(${value()}, ${value()})`
      }
      case 3:
        used.add('spread')
        if (below(2) === 0) {
          add(from.length)
          return `const ${name} = [...${from.text}]`
        }
        add(from.length + 2)
        return `const ${name} = [${value()}, ...${from.text}, ${value()}]`
      case 4:
        used.add('slice')
        add(from.length, from.list?.isTyped === true)
        // of rows there are views of the matrix, which are typed arrays, too; they are copied to lists first
        return from.list === undefined ? `const ${name} = [...${from.text}].slice()` : `const ${name} = ${from.text}.slice()`
      case 5: {
        used.add('map')
        const [v, k] = [fresh('v'), fresh('k')]
        const text = from.list?.isTyped === true || from.text === 'steps' ? from.text : `[...${from.text}]`
        add(from.length, from.list?.isTyped === true)
        return `const ${name} = ${text}.map((${v}, ${k}) => ${value([v, k, v])})`
      }
      case 6: {
        used.add('filter')
        const v = fresh('v')
        const isTyped = from.list?.isTyped === true
        add(isTyped ? 0 : from.length, isTyped, !isTyped) // of a typed array it may be none, and nothing is put behind it
        const text = from.text.startsWith('M') ? `[...${from.text}]` : from.text
        return `const ${name} = ${text}.filter((${v}) => ${test(v)})`
      }
      case 7:
        used.add('typed copy')
        add(from.length, true)
        if (below(2) === 0) return `const ${name} = new Float64Array(${from.text})`
        used.add('sort')
        return `const ${name} = Float64Array.from(${from.text}).sort()`
      case 8: {
        used.add('from')
        const v = fresh('v')
        add(from.length)
        return `const ${name} = Array.from(${from.text}, (${v}) => ${value([v])})`
      }
      case 9:
        used.add('sort by')
        if (from.list !== undefined && below(2) === 0) {
          used.add('sorted copy')
          add(from.length, from.list.isTyped)
          if (below(3) === 0) return `const ${name} = ${from.text}.toReversed()`
          return `const ${name} = ${from.text}.toSorted(${from.list.isTyped ? '' : order()})`
        }
        add(from.length)
        return `const ${name} = [...${from.text}].sort(${order()})`
      case 10: {
        used.add('rest')
        const a = fresh('a')
        const whole = from.text === 'steps' || from.length < 2 ? { text: 'M.row(i)', length: COLUMNS } : from
        add(whole.length - 1)
        return `const [${a}, ...${name}] = ${whole.text}; s -= ${a}`
      }
      default: {
        used.add('taken apart')
        const [a, b] = [fresh('a'), fresh('b')]
        add(COLUMNS)
        return `const [${a}, , ${b}] = M.row(i); s += ${a} - ${b}; const ${name} = [...M.row(i)].reverse()`
      }
    }
  }

  const deep: ('fib' | 'power' | 'ackermann' | 'digits')[] = []
  const statement = (): string => {
    const { text, list, length } = source()
    const v = fresh('v')
    switch (below(17)) {
      case 15: {
        used.add('reduce to an object')
        const o = fresh('o')
        return `const ${o} = ${text}.reduce((a, ${v}) => ({ n: a.n + 1, t: a.t * 0.5 - ${v} }), { n: 0, t: s }); s = s * 0.5 + ${o}.n + ${o}.t`
      }
      case 16: {
        used.add('reduce into an object')
        const o = fresh('o')
        const turn = `a.n++; if (${test(v)}) a.t -= ${v}; return a`
        return `const ${o} = ${text}.reduce((a, ${v}) => { ${turn} }, { n: 0, t: s }); s = s * 0.5 + ${o}.n + ${o}.t`
      }
      case 0:
        used.add('some')
        return `if (${text}.${of(['some', 'every'])}((${v}) => ${test(v)})) s += ${value()}`
      case 1:
        used.add('find')
        return `s += ${text}.find((${v}) => ${test(v)}) ?? ${value()}`
      case 2:
        used.add('findIndex')
        return `s = s * 0.5 + ${text}.${of(['findIndex', 'findLastIndex'])}((${v}) => ${test(v)})`
      case 3:
        used.add('indexOf')
        return `s += ${text}.${of(['indexOf', 'lastIndexOf'])}(${of(['-0', 's', 'M.get(i, 3)', '8', 'NaN'])})`
      case 4:
        used.add('includes')
        return `if (${text}.includes(${of(['0', 'M.get(i, 3)', 's', 'NaN'])})) s -= ${value()}`
      case 5:
        used.add('reduce first')
        return `if (${text}.length > 0) s += ${text}.reduce((a, ${v}) => a * 0.5 - ${v})`
      case 6: {
        used.add('go through')
        const k = fresh('k')
        return `for (let ${k} = 0; ${k} < ${text}.length; ${k}++) s = s * 0.75 + ${text}[${k}]`
      }
      case 7:
        used.add('for of')
        return `for (const ${v} of ${text}) s = s * 0.75 - ${v}`
      case 8:
        used.add('tail call')
        return of([`s += gcd(${length * 6}, i)`, `s = half(s, ${below(6)})`, 's -= gcd(i + 12, 18)'])
      case 9:
        used.add('call')
        deep.push(of(['fib', 'power', 'ackermann', 'digits']))
        return {
          fib: `s += fib(i % ${2 + below(9)})`,
          power: `s += power(x.get(i), i % ${1 + below(9)})`,
          ackermann: 's -= ackermann(2, i % 4)',
          digits: 's += digits(i * 977)',
        }[deep[deep.length % 2] ?? deep[0] ?? 'fib'] as string // of two functions, whose stacks have room beside each other
      case 10: {
        if (list?.grows !== true) return `s += ${value()}`
        used.add('pop')
        return of([`s += ${list.name}.pop() ?? ${value()}`, `while (${list.name}.length > 0) s = s * 0.5 - ${list.name}.pop()`])
      }
      case 11:
        if (list === undefined) return `s -= ${value()}`
        if (list.isTyped) {
          used.add('sort')
          return `${list.name}.sort()`
        }
        return `${list.name}.sort(${order()})`
      case 12:
        if (list === undefined) return `s -= ${value()}`
        used.add('reverse')
        return `${list.name}.reverse()`
      case 13:
        if (list === undefined || list.grows || list.length === 0) return `s -= ${value()}`
        used.add('assign')
        return `${list.name}[i % ${list.length}] = ${value()}`
      default:
        return `s = s * 0.25 + ${text}.length`
    }
  }

  const lines = Array.from({ length: 2 + below(3) }, declaration)
  for (let n = 2 + below(5); n > 0; n--) lines.push(below(4) === 0 ? declaration() : statement())
  return { text: `([i], { x, y, M }) => {\n  let s = x.get(i)\n${lines.join('\n')}\n  y.set(i, s)\n}`, used }
}

type Body = (key: readonly number[], env: Record<string, unknown>) => void

function bodyOf(text: string): Body {
  const names = Object.keys(CAPTURED).filter((name) => new RegExp(`\\b${name}\\b`).test(text))
  return new Function(...names, `return ${text}`)(...names.map((name) => CAPTURED[name as keyof typeof CAPTURED])) as Body
}

const odd = (k: number): number => [Number.NaN, -0, 0, Number.POSITIVE_INFINITY][k % 4] as number
const START = Float64Array.from({ length: ROWS }, (_, i) => (i % 11 === 10 ? odd(i) : Math.fround(Math.sin(i * 12.9898) * 7)))
const MATRIX = Float64Array.from({ length: ROWS * COLUMNS }, (_, i) => (i % 7 === 6 ? odd(i) : Math.round(Math.cos(i * 78.233) * 20) / 4))

type Prepared = Awaited<ReturnType<typeof prepare>>

async function prepare(session: Session) {
  const [x, M, y] = [session.zeros([ROWS]), session.zeros([ROWS, COLUMNS]), session.zeros([ROWS])]
  await session
    .loop(session.range(ROWS), { x, M, START, MATRIX }, ([i], { x, M, START, MATRIX }) => {
      x.set(i, START[i] as number)
      for (let k = 0; k < 6; k++) M.set(i, k, MATRIX[i * 6 + k] as number)
    })
    .run()
  return { session, x, M, y }
}
const prepared = await Promise.all(sessions.map(prepare))

/** What plain JavaScript computes. */
function plain(body: Body): Float64Array {
  const y = new Float64Array(ROWS)
  const row = (i: number): Float64Array => MATRIX.slice(i * COLUMNS, (i + 1) * COLUMNS)
  const env = {
    x: { get: (i: number) => START[i] },
    y: { set: (i: number, value: number) => void (y[i] = value) },
    M: { row, get: (i: number, k: number) => row(i)[k] },
  }
  for (let i = 0; i < ROWS; i++) body([i], env)
  return y
}

test('bodies with lists and functions that call themselves are compiled, run in parallel, and give the bits of plain JavaScript', async () => {
  const counts: Record<string, number> = {}
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(10_000), { minLength: 12, maxLength: 70 }), fc.nat(2), async (numbers, which) => {
      const { text, used } = bodyText(numbers)
      const { session, x, M, y } = prepared[which] as Prepared
      const expected = plain(bodyOf(text))
      const loop = session.loop(session.range(ROWS), { x, y, M }, bodyOf(text) as never)
      const target = loop.plan.kernel?.target
      expect(target, `${text}\n${JSON.stringify(loop.plan.kernel?.because)}`).not.toBe('as-is')
      expect(loop.plan.schedule.kind, text).toBe('independent')
      await loop.run()
      expect(await y.toTypedArray(), text).toStrictEqual(expected)
      for (const one of [...used, `${target}`]) counts[one] = (counts[one] ?? 0) + 1
    }),
    RUN,
  )
  console.log(`lists: ${JSON.stringify(counts)}`)
  if (RUN.numRuns >= 500) expect(Math.min(...Object.values(counts))).toBeGreaterThan(RUN.numRuns / 100)
})
