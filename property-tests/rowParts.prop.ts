/**
 * Law: a body that takes parts of rows and of its own typed arrays - written out, counted from the end, empty, of what only the run tells,
 * parts of parts - reads, writes, fills and sorts them, and sets elements from other lists, gives the bits of plain JavaScript, is compiled to
 * WebAssembly and runs in parallel.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { drawing } from './drawing.ts'
import { bodyOf, type DrawnBody, expectCompiled } from './drawnBodies.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('rowParts.prop.ts')
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

const [ROWS, COLUMNS] = [12, 8]
const given = Float64Array.from(
  { length: ROWS * COLUMNS },
  (_, i) => [0, -0, 0.5, Number.NaN, -1e9, 4294967297.5][i % 17] ?? ((i * 37) % 19) / 4 - 2,
)

type RowBody = (key: readonly [number], env: Record<string, unknown>) => void

function plain(body: RowBody): Float64Array {
  const written = new Float64Array(ROWS * COLUMNS)
  const rowsOf = (all: Float64Array) => ({ row: (r: number) => all.subarray(r * COLUMNS, (r + 1) * COLUMNS) })
  for (let i = 0; i < ROWS; i++) body([i], { x: rowsOf(given), y: rowsOf(written) })
  return written
}

async function looped(body: RowBody) {
  const env = { x: session.fromTypedArray(given, [ROWS, COLUMNS]), y: session.zeros([ROWS, COLUMNS]) }
  const loop = session.loop(session.range(ROWS), env, body as never)
  const outcome = await loop.run().then(
    () => env.y.toTypedArray(),
    (error: Error) => error.message,
  )
  return { outcome, plan: loop.plan }
}

const LISTS = ['r', 'w', 'own', 'small', 'part', 'tail', 'sized']
const TYPED = ['w', 'own', 'small', 'tail', 'sized']

function bodyText(numbers: readonly number[]): DrawnBody {
  const { below, of, use, used } = drawing(numbers)
  const end = (): string => of([...['0', '1', '3', '5', '8', '12', '-1', '-3', '-9', '2.7', 'i % 5', '3 - i', 'i', 'n', '-0']])
  const ends = (): string => of(['', end(), `${end()}, ${end()}`, `${end()}, ${end()}`])
  const list = (): string => of(LISTS)
  const typed = (): string => of(TYPED)
  const value = (): string => of(['s', 'i', '-0', '0.5', '300.7', '-1', 'r[i % 8]', '1e10', 'Number.NaN'])
  const statement = (depth: number): string => {
    const inner = (): string => (depth > 0 ? statement(depth - 1) : `s = s * 0.5 + ${value()}`)
    switch (below(11)) {
      case 0:
        return use(
          'read',
          `{ const p = ${list()}.subarray(${ends()}); for (let k = 0; k < p.length; k++) s = s * 0.75 + p[k]; ${inner()} }`,
        )
      case 1:
        return use('gone through', `for (const v of ${list()}.subarray(${ends()})) s = s * 0.75 + v`)
      case 2:
        return use(
          'written',
          `{ const p = ${typed()}.subarray(${ends()}); for (let k = 0; k < p.length; k++) { p[k] ${of(['=', '+=', '*='])} ${value()} } ${inner()} }`,
        )
      case 3:
        return use('filled', `${typed()}.fill(${value()}${of(['', `, ${end()}`, `, ${end()}, ${end()}`])})`)
      case 4:
        return use(
          'a part of a part',
          `{ const p = ${typed()}.subarray(${ends()}).subarray(${ends()}); p.fill(${value()}); s += p.length }`,
        )
      case 5:
        return use('reduced', `s += ${list()}.subarray(${ends()}).reduce((a, b) => a * 0.5 + b, 1)`)
      case 6:
        return use(
          'asked',
          `s += ${list()}.subarray(${ends()}).${of(['indexOf(0.5)', 'findIndex((v) => v < 0)', 'filter((v) => v > 0).length', 'length'])}`,
        )
      case 7:
        return use('a function', `s += total(${list()}.subarray(${ends()}))`)
      case 8:
        return use('extreme', `s += Math.max(...${list()}.subarray(${ends()}))`)
      case 9:
        return use(
          'set',
          of([
            `own.set(${of(['small', 'part.subarray(0, 3)', 'r.subarray(2, 6)', '[1, s, -0]', 'sized'])}, ${of(['0', '1', 'i % 3'])})`,
            'small.set([i, 2.5])',
          ]),
        )
      default:
        return use(
          'copied',
          `{ const p = ${list()}.subarray(${ends()}).slice(${ends()}); s += p.length; for (const v of p) s = s * 0.5 + v }`,
        )
    }
  }
  const lines: string[] = []
  for (let n = 2 + below(4); n > 0; n--) lines.push(statement(1))
  const text = `([i], { x, y }) => {
    const total = (of) => { let sum = 0; for (let k = 0; k < of.length; k++) sum = sum * 0.5 + of[k]; return sum }
    const r = x.row(i), w = y.row(i), n = 1 + i % 4
    const own = new ${of(['Float64Array', 'Float32Array', 'Int32Array', 'Uint8Array', 'Int16Array'])}(${6 + below(4)})
    const small = Float64Array.from([3, 1, -2, s0]), sized = new Float64Array(n)
    const part = r.subarray(${ends()}), tail = w.subarray(4)
    let s = 0
    ${lines.join('\n;')}
    w[0] += s
    for (const v of own) w[1] = w[1] * 0.5 + v
    for (const v of sized) w[2] = w[2] * 0.5 + v
    tail[0] += small[1]
  }`
  return { text, used }
}

test('parts of rows and of typed arrays are read and written where they lie, with the bits of plain JavaScript', async () => {
  const counts: Record<string, number> = {}
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(10_000), { minLength: 20, maxLength: 90 }), async (numbers) => {
      const { text, used } = bodyText(numbers)
      const { outcome, plan } = await looped(bodyOf(text, { s0: 0.5 }) as RowBody)
      expectCompiled(plan, text)
      expect(outcome, text).toStrictEqual(plain(bodyOf(text, { s0: 0.5 }) as RowBody))
      for (const one of used) counts[one] = (counts[one] ?? 0) + 1
    }),
    RUN,
  )
  console.log(`rowParts: ${JSON.stringify(counts)}`)
  if (RUN.numRuns >= 500) expect(Math.min(...Object.values(counts))).toBeGreaterThan(RUN.numRuns / 100)
}, 1_800_000)

test('a subscript outside of a part is an error of the run, compiled and as it stands', async () => {
  const outside = async (text: string) => {
    const { outcome, plan } = await looped(bodyOf(text, {}) as RowBody)
    return `${plan.kernel?.target}: ${outcome}`
  }
  const says = 'The body of the loop over range(12) threw at key [3]: A subscript of a part of'
  expect(await outside('([i], { x, y }) => { const p = x.row(i).subarray(2, 5); y.row(i)[0] = p[i] }')).toBe(
    `wasm: ${says} x, as subarray gives it, is not below its length. Ask first, as k < part.length.`,
  )
  expect(await outside('([i], { x, y }) => { const p = y.row(i).subarray(2, 5); p[i] = 1 }')).toBe(
    `wasm: ${says} y, as subarray gives it, is not below its length. Ask first, as k < part.length.`,
  )
  expect(await outside('([i], { x, y }) => { const p = x.row(i).subarray(2, 5); y.row(i)[0] = p[i] + JSON.stringify([i]).length }')).toBe(
    `as-is: ${says} a row, as subarray gives it, is not below its length. Ask first, as k < part.length.`,
  )
})
