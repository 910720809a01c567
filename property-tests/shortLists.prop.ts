/**
 * Law: what functions of rows and bodies of loops ask of short lists, written out or captured, of numbers, of lists and of objects, is
 * compiled and is what plain JavaScript says: `some`, `every`, `find`, `findIndex`, their counterparts from the end, `includes`,
 * `indexOf`, `map`, `reduce`, `filter(…).length`, `join`, and loops that are left early, by callbacks that count, return early and are asked no further than JavaScript does.
 */
import { Field, Float64, Int32, Schema, Utf8 } from 'apache-arrow'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { DistArray } from '../src/core/arrays/distArray.ts'
import { tableMemory } from '../src/exec/tables/columns/tableMemory.ts'
import { sourceFromRows } from '../src/io/memory/memory.ts'
import { Session } from '../src/session/session.ts'
import { announcedRun } from './lawRuns.ts'
import { piecemealEngines, tableOf } from './piecemeal.ts'

const RUN = announcedRun('shortLists.prop.ts')
const { engines, arena, stop } = piecemealEngines([1, 2], 16)
const memory = tableMemory(arena, { fewestRows: 0, coded: true })
const session = await Session.start({ workers: 1, progress: false })
afterAll(async () => {
  await session.stop()
  await stop()
})

/** What the functions capture. */
const CAPTURED = {
  steps: [3, -1.5, 0, 8, -0, Number.NaN, 7],
  pairs: [
    [-3, 0],
    [0, 2.5],
    [1, 9],
    [2, 2],
  ],
  ragged: [[1, 2, 3], [], [-0.5], [4, Number.NaN]],
  rules: [
    { min: 4, rate: 0.5 },
    { min: 1, rate: -2 },
    { min: -2, rate: Number.NaN },
  ],
  bands: [
    [0, 2, 'low'],
    [2, 5, 'mid'],
    [5, 9, 'high'],
  ],
  labelled: [
    { min: 3, label: 'much', tax: null },
    { min: 0, label: 'some', tax: 4 },
  ],
  k: 2,
}
const NAMES = Object.keys(CAPTURED) as (keyof typeof CAPTURED)[]

/** Draws numbers that shrink with the list. */
function drawing(numbers: readonly number[]): { readonly below: (n: number) => number; readonly of: <T>(items: readonly T[]) => T } {
  let at = 0
  const below = (n: number): number => (numbers[at++ % numbers.length] as number) % n
  return { below, of: (items) => items[below(items.length)] as (typeof items)[number] }
}

/** Statements that change `s`, of numbers that have names. */
function statements(numbers: readonly number[], leaves: readonly string[], inRows: boolean, used: Set<string>): string {
  const { below, of } = drawing(numbers)
  const value = (...known: string[]): string => {
    const one = of([...leaves, ...known, ...known, '-0', '3', 'NaN', String(below(40) / 8), 'k'])
    return of([one, one, `(${one} * 0.5)`, `(${one} + s)`])
  }
  const says = (...known: string[]): string => {
    const [a, b] = [value(...known), value(...known)]
    return of([`${a} > ${b}`, `${a} <= 2`, `${a} === ${b}`, `!(${a} < 1)`, a, 'true', 'false'])
  }
  const callback = (pattern: string, ...known: string[]): string =>
    of([
      `(${pattern}) => ${says(...known)}`,
      `(${pattern}) => ${says(...known)}`,
      `(${pattern}, at) => at !== ${below(3)} && ${says(...known, 'at')}`,
      `(${pattern}) => { n++; return ${says(...known)} }`,
      `(${pattern}) => { if (${says(...known)}) return false; const w = ${value(...known)}; return w > ${below(5)} }`,
    ])
  const list = (): { readonly text: string; readonly pattern: string; readonly known: readonly string[]; readonly isFlat: boolean } => {
    const literal = `[${Array.from({ length: 1 + below(4) }, () => value()).join(', ')}]`
    return of([
      { text: literal, pattern: 'v', known: ['v'], isFlat: true },
      { text: literal, pattern: 'v', known: ['v'], isFlat: true },
      { text: 'steps', pattern: 'v', known: ['v'], isFlat: true },
      { text: 'pairs', pattern: '[a, b]', known: ['a', 'b'], isFlat: false },
      { text: 'pairs', pattern: 'p', known: ['p[0]', 'p[1]', 'p.length'], isFlat: false },
      { text: 'rules', pattern: '{ min, rate }', known: ['min', 'rate'], isFlat: false },
      { text: 'rules', pattern: 'q', known: ['q.min', 'q.rate'], isFlat: false },
      { text: `[[${value()}, 1], [2, ${value()}]]`, pattern: '[a, b]', known: ['a', 'b'], isFlat: false },
    ])
  }
  const statement = (): string => {
    const { text, pattern, known, isFlat } = list()
    const f = (): string => callback(pattern, ...known)
    const name = of([
      'some',
      'every',
      'find',
      'findLast',
      'findIndex',
      'findLastIndex',
      'map',
      'filter',
      'reduce',
      'forEach',
      'flat',
      'loop',
      'rows',
    ])
    used.add(name)
    switch (name) {
      case 'some':
      case 'every':
        return `s += ${text}.${name}(${f()}) ? 1 : ${value()}`
      case 'findIndex':
      case 'findLastIndex':
        return `s = s * 0.5 + ${text}.${name}(${f()})`
      case 'find':
      case 'findLast':
        if (isFlat) return `s -= ${text}.${name}(${f()}) ?? ${value()}`
        if (text === 'pairs') return `s -= pairs.${name}(${f()})?.[${below(3)}] ?? ${value()}`
        if (text === 'rules') return `s -= rules.${name}(${f()})?.${of(['rate', 'min'])} ?? 5`
        return `s += ${text}.some(${f()}) ? 1 : 2`
      case 'map':
        return `for (const w of ${text}.map((${pattern}, at) => ${value(...known, 'at')})) s = s * 0.5 + w`
      case 'filter':
        return `s += ${text}.filter(${f()}).length`
      case 'reduce':
        if (isFlat && below(3) === 0) return `s += ${text}.reduce((sofar, v) => sofar * 0.5 - v)`
        return `s += ${text}.reduce((sofar, ${pattern}, at) => sofar + ${value(...known, 'at')}, ${value()})`
      case 'forEach':
        return `${text}.forEach((${pattern}) => { if (${says(...known)}) s += ${value(...known)} })`
      case 'flat': {
        const flat = isFlat ? text : `[${value()}, ${value()}, 3]`
        return of([
          `s += ${flat}.includes(${value()}) ? 1 : 2`,
          `s += ${flat}.indexOf(${value()})`,
          `s -= ${flat}.lastIndexOf(${value()})`,
          `s += Math.max(...${flat}.map((v) => v * 2))`,
        ])
      }
      case 'loop': {
        const leave = of(['break', 'continue', 's += 2'])
        return `for (const ${pattern} of ${text}) { if (${says(...known)}) { s += ${value(...known)}; ${leave} } s = s * 0.5 + ${value(...known)} }`
      }
      default:
        return of([
          `s += pairs[${below(4)}][n % 2]`,
          `for (const one of ragged) { s += one.length; for (const v of one) if (!(v > ${below(4)})) s += v }`,
          `for (const { min, rate } of rules) if (s > min) { s -= rate; break }`,
          `s += pairs[Math.min(n, 3)][1]`,
        ])
    }
  }
  const made = Array.from({ length: 1 + below(3) }, statement)
  if (inRows && below(3) === 0) {
    used.add('texts')
    const bound = value()
    made.push(
      of([
        `text = [r.s, s, r.o, null].join('${of(['', '-', ', '])}')`,
        `text = bands.find(([low, high]) => ${bound} >= low && ${bound} < high)?.[2] ?? 'none'`,
        `text = labelled.find((one) => ${bound} >= one.min)?.label ?? r.s`,
        `s += [r.s, r.t, 'ab'].indexOf('ab') + (['a', r.s].includes(r.t) ? 1 : 2)`,
        `s += labelled.findLast((one) => ${bound} >= one.min)?.tax ?? 7`,
      ]),
    )
  }
  return made.join(';\n')
}

const made = (text: string): unknown => new Function(...NAMES, `return ${text}`)(...NAMES.map((name) => CAPTURED[name]))

interface Row {
  readonly i: number
  readonly n: number
  readonly o: number | null
  readonly s: string
  readonly t: string | null
}
const SCHEMA = new Schema([
  new Field('i', new Int32(), false),
  new Field('n', new Float64(), false),
  new Field('o', new Float64(), true),
  new Field('s', new Utf8(), false),
  new Field('t', new Utf8(), true),
])
const odd = (k: number): number => [Number.NaN, -0, 2, Number.POSITIVE_INFINITY, 3][k % 5] as number
const ROWS: readonly Row[] = Array.from({ length: 23 }, (_, i) => ({
  i: ((i * 7) % 9) - 2,
  n: i % 5 === 4 ? odd(i) : Math.round(Math.sin(i * 12.9898) * 20) / 4,
  o: i % 3 === 0 ? null : i / 4,
  s: ['', 'a', 'ab'][i % 3] as string,
  t: i % 4 === 0 ? null : (['a', 'b'][i % 2] as string),
}))
const table = tableOf(sourceFromRows(ROWS as never, { schema: SCHEMA, memory }))
const tables = engines.map((engine) => new DistArray<Row>(engine, table))

const X = Float64Array.from(ROWS, ({ n }) => n)
const Y = Float64Array.from(ROWS, ({ i }) => i / 4)
const arrays = { x: session.zeros([ROWS.length]), y: session.zeros([ROWS.length]), out: session.zeros([ROWS.length]) }
await session
  .loop(session.range(ROWS.length), { x: arrays.x, y: arrays.y, X, Y }, ([i], { x, y, X, Y }) => {
    x.set(i, X[i] as number)
    y.set(i, Y[i] as number)
  })
  .run()

const numbers = fc.array(fc.nat(10_000), { minLength: 12, maxLength: 60 })

test('what is asked of short lists is compiled, and is what JavaScript says', async () => {
  const counts: Record<string, number> = {}
  await fc.assert(
    fc.asyncProperty(numbers, fc.boolean(), fc.nat(1), async (drawn, inRows, which) => {
      const used = new Set<string>()
      if (inRows) {
        const lines = statements(drawn, ['r.n', 'r.i', 'r.o'], true, used)
        const text = `(r) => {\nlet s = r.n, n = 0, text = '';\n${lines};\nreturn { s, n${used.has('texts') ? ', text' : ''} }\n}`
        const f = made(text) as (r: Row) => { s: number; n: number }
        const asked = (tables[which] as DistArray<Row>).map(f)
        const explained = asked.explain({ verbose: true })
        expect(explained, text).not.toContain('the function itself')
        expect(await asked.collect(), text).toStrictEqual(ROWS.map((row) => f(row)))
        used.add(/WebAssembly over columns/.test(explained) ? 'columns' : 'rows in JavaScript')
      } else {
        const lines = statements(drawn, ['x.get(i)', 'y.get(i)', 'i'], false, used)
        const text = `([i], { x, y, out }) => {\nlet s = x.get(i), n = 0;\n${lines};\nout.set(i, s + n)\n}`
        const body = made(text) as (key: readonly number[], env: object) => void
        const expected = new Float64Array(ROWS.length)
        const env = {
          x: { get: (i: number) => X[i] },
          y: { get: (i: number) => Y[i] },
          out: { set: (i: number, v: number) => void (expected[i] = v) },
        }
        for (const i of ROWS.keys()) body([i], env)
        const loop = session.loop(session.range(ROWS.length), arrays, made(text) as never)
        const { kernel, schedule } = loop.plan
        expect(kernel?.target, `${text}\n${JSON.stringify(kernel?.because)}`).not.toBe('as-is')
        expect(schedule.kind, text).toBe('independent')
        await loop.run()
        expect(await arrays.out.toTypedArray(), text).toStrictEqual(expected)
        used.add(kernel?.target ?? 'none')
      }
      for (const one of used) counts[one] = (counts[one] ?? 0) + 1
    }),
    RUN,
  )
  console.log(`short lists: ${JSON.stringify(counts)}`)
  if (RUN.numRuns >= 500) expect(Math.min(...Object.values(counts))).toBeGreaterThan(RUN.numRuns / 100)
}, 300_000)
