/**
 * Law: a body with arrays of a length that only the run tells, and with variables that are given one growing list after another, gives the
 * bits of plain JavaScript. Nearly all are WebAssembly: where lists that a variable is given are of two types, or too many, one is not.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { expectAsItStands } from './asItStands.ts'
import { drawing } from './drawing.ts'
import { bodyOf, type DrawnBody, looped, plain } from './drawnBodies.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('givenLists.prop.ts')
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

const HELD = { links: [[1, 2], [2, 3, 4], [], [0], [4, 1]] }

function bodyText(numbers: readonly number[]): DrawnBody {
  const { below, of, use, used } = drawing(numbers)
  const value = (): string => of(['s', 'i', 'x.get(i)', String(below(40) / 4), 'k', 'own[k % own.length]', 'f.length'])
  const count = (): string => of(['i % 7 + 1', 'm', 'Math.floor(i / 2) + 1', 'f.length + 1'])
  const made = (): string =>
    of([
      use('filled', `new Array(${count()}).fill(${of(['0', 'i', 'true'])})`),
      use('of places', `Array.from({ length: ${of([count(), 'i / 4 + 1'])} }, (_, n) => n * ${value()})`),
      use('typed', `new ${of(['Float64Array', 'Int32Array', 'Uint8Array', 'Float32Array'])}(${of([count(), 'i / 3 + 1.5'])})`),
      `[...Array(${count()}).keys()]`,
    ])
  const given = (): string =>
    of([
      use('filtered', `f.filter((v) => v > ${value()})`),
      use('mapped', `f.map((v, n) => v * 0.5 - n)`),
      use('part', `f.slice(${of(['1', '-3', '0, 4'])})`),
      use('written out', of(['[]', `[${value()}]`, `[${value()}, ${value()}]`])),
      use('spread', `[...f, ${value()}]`),
    ])
  const statement = (depth: number): string => {
    const inner = (): string => (depth > 0 ? statement(depth - 1) : `s += ${value()}`)
    switch (below(10)) {
      case 0:
        return `f = ${given()}`
      case 1:
        return use(
          'next',
          `{ const next = ${of(['[]', `[${value()}]`])}; for (const v of f) { if (v > ${below(3)}) next.push(v - 1); s = s * 0.5 + v } f = next }`,
        )
      case 2:
        return use(
          'as long as there are some',
          `for (let t = 0; t < 5 && f.length > 0; t++) { const next = []; for (const v of f) for (const w of links[Math.abs(v) < 100 ? Math.floor(Math.abs(v)) % 5 : 0]) if (next.length < 6) next.push(w); s += next.length; f = next }`,
        )
      case 3:
        return use('pushed', `f.push(${value()}${of(['', `, ${value()}`])})`)
      case 4:
        return use('taken', of([`s += f.pop() ?? 2`, `s += f.shift() ?? 1`]))
      case 5: {
        const element = of([`a[k % a.length]`, `a[a.length - 1]`, 'a[0]'])
        return use(
          'an array of its own length',
          `{ const a = ${made()}; s = s * 0.5 + a.length + (${element} ? 1 : 2); for (const v of a) s = s * 0.75 + Number(v) }`,
        )
      }
      case 6:
        return use(
          'written',
          `{ const n = ${count()}; const a = new Float64Array(n); for (let j = 0; j < n; j++) a[j] = ${value()} - j; for (let j = 1; j < n; j++) a[j] += a[j - 1] * 0.5; s = s * 0.5 + a[n - 1]; a.fill(${value()}); s += a[0] }`,
        )
      case 7:
        return use(
          'old and new',
          `{ const n = ${count()}; let old = new Array(n).fill(1); for (let t = 0; t < ${1 + below(3)}; t++) { const row = new Array(n).fill(0); for (let j = 0; j < n; j++) row[j] = old[j] * 0.5 + (j > 0 ? row[j - 1] : ${value()}); old = row } s = s * 0.5 + old[n - 1] }`,
        )
      case 8:
        return `for (k = 0; k < ${1 + below(3)}; k++) s += ${value()}`
      default:
        return `if (${value()} > ${below(3)}) { ${inner()} } else { ${inner()} }`
    }
  }
  const lines = [
    'let s = x.get(i), k = 1',
    'const m = i % 5 + 2',
    'const own = [s, i, 2]',
    'own[k] = 3',
    `let f = ${of(['[]', '[i]', '[i, s, 3, 4]'])}`,
    `f = ${given()}`,
  ]
  for (let n = 2 + below(3); n > 0; n--) lines.push(statement(1))
  lines.push('if (!(Math.abs(s) < 1e300)) s = 0', 'for (const v of f) s = s * 0.5 + (Math.abs(v) < 1e300 ? v : 3)', 's += f.length')
  return { text: `([i], { x, out }) => {\n${lines.join('\n;')}\nout.set(i, s)\n}`, used }
}

test('bodies with lists that are given to variables give the bits of plain JavaScript, and nearly all are compiled', async () => {
  const counts: Record<string, number> = {}
  let compiled = 0
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(10_000), { minLength: 20, maxLength: 60 }), async (numbers) => {
      const { text, used } = bodyText(numbers)
      const { outcome, plan } = await looped(session, bodyOf(text, HELD))
      expect(outcome, text).toStrictEqual(plain(bodyOf(text, HELD)))
      if (/^wasm/.test(`${plan.kernel?.target}`)) compiled++
      for (const one of used) counts[one] = (counts[one] ?? 0) + 1
    }),
    RUN,
  )
  console.log(`given lists: ${compiled} of ${RUN.numRuns} compiled, ${JSON.stringify(counts)}`)
  if (RUN.numRuns < 500) return
  expect(Math.min(...Object.values(counts))).toBeGreaterThan(RUN.numRuns / 100)
  expect(compiled).toBeGreaterThan(RUN.numRuns * 0.8)
}, 300_000)

test('a list with two names is refused, or is what it is under both, and a length that is too large is an error', async () => {
  const run = (body: string) => looped(session, bodyOf(`([i], { x, out }) => { ${body} }`, HELD))
  const refused = async (body: string): Promise<void> => {
    const { outcome, plan } = await run(body)
    const [because] = plan.kernel?.because ?? []
    expect(`${because?.message} ${because?.cure}`, body).toMatch(
      /^It gives a variable another list, where .* may have a second name. Give it a list that is made there and not used afterwards, or a copy, as /,
    )
    expect(outcome).toStrictEqual(plain(bodyOf(`([i], { x, out }) => { ${body} }`, HELD)))
  }
  await refused('let f = [1]; f = f.map((v) => v + i); const g = f; f = [2]; g.push(3); out.set(i, f.length + g.length)')
  await refused('let f = [1]; f.push(i); const o = { f }; f = [2]; out.set(i, o.f[0])')
  await refused('let f = [1]; f.push(2); const next = [i]; next.push(3); const also = next; f = next; f.push(4); out.set(i, also.length)')
  const renamed = 'let f = [1]; f.push(2); const next = [i]; next.push(3); f = next; f.push(4); out.set(i, next.length)'
  const ran = await run(renamed)
  expect([ran.plan.kernel?.target, ran.outcome]).toStrictEqual(['wasm', plain(bodyOf(`([i], { x, out }) => { ${renamed} }`, HELD))])
  const exchanged = 'let s = 0, a = [1, i, 2], b = [3, 4, 5]; for (const v of b) { s = s * 0.5 + v; [b, a] = [a, b] } out.set(i, s)'
  expect((await run(exchanged)).outcome).toStrictEqual(plain(bodyOf(`([i], { x, out }) => { ${exchanged} }`, HELD)))
  for (const body of [
    'let f = [1, i]; f.push(2); let n = 0; for (const v of f) { n += v; const next = [7]; next.push(v); if (n < 9) f = next } out.set(i, n)',
    'let f = [1]; f.push(i); const set = () => { const next = [5]; next.push(6); f = next }; const g = (h) => { set(); return h.length }; out.set(i, g(f))',
  ]) {
    const { outcome } = await run(body)
    expect(outcome, body).toStrictEqual(plain(bodyOf(`([i], { x, out }) => { ${body} }`, HELD)))
  }
  expect((await run('out.set(i, new Array(i - 1).fill(0).length)')).outcome).toBe(
    'The body of the loop over range(20) threw at key [0]: Invalid array length',
  )
  const long = 'const many = new Float64Array(70000 + i); many[i] = i; out.set(i, many.length + many[3])'
  await expectAsItStands(
    session,
    long,
    HELD,
    'many has more than 65,536 elements. Make it as long as it may become, by a number that is written out or captured, as new Float64Array(n).',
  )
})
