/**
 * Law: a body with Sets and Maps of its own - asked, added to, removed from, gone through while they grow - and with captured lists and
 * fields that it chooses, gives the bits of plain JavaScript, is compiled to WebAssembly and runs in parallel.
 */
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { expectAsItStands } from './asItStands.ts'
import { drawing } from './drawing.ts'
import { bodyOf, type DrawnBody, looped } from './drawnBodies.ts'
import { expectBitsOfPlain } from './lawOfBodies.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('collections.prop.ts', 300)
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

const HELD = {
  links: [[1, 2], [2, 3, 4, 2], [], [0], [4, 1]],
  odd: [0.5, -0, Number.NaN, 1e300, -7, 0, 65536, 131072],
  mats: { a: [1, 2.5, -3], b: [4, 5, 6, 7, -0] },
  rates: { low: 0.5, high: 8, none: -1 },
}

function bodyText(numbers: readonly number[]): DrawnBody {
  const { below, of, use, used } = drawing(numbers)
  const hasRemoved = below(2) === 0
  const key = (): string => of(['i', 'i % 4', '-0', '0', 'NaN', 'x.get(i)', `${below(6)}`, '-i', 'i * 65536', 'i / 4', '1 / 0'])
  const value = (): string => of(['s', 'i', 'x.get(i)', String(below(40) / 4), `(counts.get(${key()}) ?? 0) + 1`])
  const test = (): string =>
    of([`seen.has(${key()})`, `counts.has(${key()})`, `!seen.has(${key()})`, 'seen.size > 2', `counts.get(${key()}) === 1`])
  const statement = (depth: number): string => {
    const inner = (): string => (depth > 0 ? statement(depth - 1) : `s += ${value()}`)
    switch (below(14)) {
      case 0:
        return use('add', of([`seen.add(${key()})`, `seen.add(${key()}).add(${key()})`, `for (const w of links[i % 5]) seen.add(w)`]))
      case 1:
        return use('set', of([`counts.set(${key()}, ${value()})`, `{ const k = ${key()}; counts.set(k, (counts.get(k) ?? 0) + 1) }`]))
      case 2:
        return use('asked', `if (${test()}) { ${inner()} } else { ${inner()} }`)
      case 3:
        return use('get', `s = s * 0.5 + (counts.get(${of([key(), 'links[i % 5][1]', 'odd[i % 9]'])}) ${of(['??', '||'])} ${value()})`)
      case 4:
        return use('a Set is gone through', `for (const v of ${of(['seen', 'seen.values()', 'seen.keys()'])}) s = s * 0.5 + v`)
      case 5:
        return use(
          'a Map is gone through',
          of([
            `for (const [k, c] of counts) s = s * 0.5 + k - c * 3`,
            `for (const c of counts.values()) s = s * 0.5 + c`,
            `for (const k of counts.keys()) { if (k > 3) break; s -= k }`,
          ]),
        )
      case 6:
        return use('forEach', of([`counts.forEach((c, k) => { s = s * 0.5 + c - k })`, `seen.forEach((v) => { s = s * 0.75 + v })`]))
      case 7:
        return use(
          'it grows while it is gone through',
          `{ const open = new Set([i % 5]); for (const v of open) { s += v; for (const w of links[v]) open.add(w) } s -= open.size }`,
        )
      case 8:
        return use(
          'many',
          `for (let k = 0; k < ${10 + below(60)}; k++) { const v = ${of(['(k * i) % 17', 'k', 'k * 0.37', 'k * k % 23 - 11'])}; ${of(['seen.add(v)', 'counts.set(v, (counts.get(v) ?? 0) + 1)', 'if (seen.has(v)) s += v; else seen.add(v)'])} }`,
        )
      case 9:
        if (!hasRemoved)
          return use(
            'lists of it',
            of([
              `s += Math.max(...counts.values(), s, 0)`.replace(', s, 0', ''),
              `for (const v of [...seen]) s = s * 0.5 + v`,
              `s += Array.from(counts.keys()).length`,
              `s += new Set(odd).size`,
              `s += new Set([...seen]).size`,
            ]),
          )
        return use(
          'removed',
          of([
            `seen.delete(${key()})`,
            `s += counts.delete(${key()}) ? 1 : 2`,
            `if (counts.size > 12) counts.clear()`,
            `for (const v of seen) if (v > 1) seen.delete(v)`,
            `for (const v of seen) { seen.delete(v); if (v < 3) seen.add(v + 1) }`,
          ]),
        )
      case 10:
        return use('asked for what may not be there', `s += ${of([`seen.has(links[i % 5][${below(4)}])`, `counts.has(odd[i])`])} ? 1 : 2`)
      case 12:
        return use(
          'a captured list is chosen',
          of([
            `s += (${test()} ? mats.a : mats.b)[${of(['i % 3', 'i', '1'])}] ?? 3`,
            `{ const c = ${test()} ? mats.b : mats.a; for (const v of c) s = s * 0.5 + v; s += c.length }`,
            `s += rates[['low', 'high', 'none'][${of(['i % 3', '(i + 1) % 2'])}]]`,
          ]),
        )
      case 11:
        return `for (let q = 0; q < ${1 + below(4)}; q++) { ${inner()} }`
      default:
        return use(
          'made in a loop',
          `for (let q = 0; q < 3; q++) { const own = new Set(${of(['', '[q, i]', 'links[q]'])}); own.add(q); own.add(i); s = s * 0.5 + own.size }`,
        )
    }
  }
  const first = `const seen = new Set(${of(['', '[1, i, -0]', 'links[i % 5]'])})`
  const second = `const counts = new Map(${of(['', '[[i, 2], [0, s]]'])})`
  const lines = ['let s = x.get(i)', first, second, 'seen.add(9)', 'counts.set(9, i)']
  for (let k = 1 + below(3); k > 0; k--) lines.push(statement(1))
  // a NaN or an infinity would hide how many keys there are
  lines.push(
    'if (!(Math.abs(s) < 1e300)) s = 0',
    'for (const v of seen) s = s * 0.5 + (Math.abs(v) < 1e300 ? v : 3)',
    'for (const [k, c] of counts) s = s * 0.5 + (Math.abs(k) < 1e300 ? k : 5) - (Math.abs(c) < 1e300 ? c : 2)',
    's += seen.size - counts.size * 7',
  )
  return { text: `([i], { x, out }) => {\n${lines.join('\n;')}\nout.set(i, s)\n}`, used }
}

test('bodies with Sets and Maps are compiled, run in parallel, and give the bits of plain JavaScript', async () => {
  await expectBitsOfPlain(session, { name: 'collections', draw: bodyText, held: HELD, run: RUN, least: 200 })
})

test('a body whose collection has no room left begins again as it stands, and what it cannot hold is refused by name', async () => {
  const run = (body: string) => looped(session, bodyOf(`([i], { x, out }) => { ${body} }`, HELD))
  const many =
    'const seen = new Set(); for (let v = i; seen.size < 33000; v++) seen.add(v); out.set(i, seen.size + (seen.has(i + 4) ? 1 : 0))'
  await expectAsItStands(
    session,
    many,
    HELD,
    'seen is given more than 32,768 keys. Put what it holds into an array that is long enough, as new Uint8Array(n).',
  )
  const { plan } = await run('const seen = new Map([[1, 2]]); out.set(i, seen.has("a" + i) ? 1 : 2)')
  expect(plan.kernel?.because?.map(({ message, cure }) => `${message} ${cure}`)).toStrictEqual([
    'It uses 1 as a key or value of a collection of texts, and it may be none that is written out or captured. Take texts of captured lists, objects and texts, or number what they say, and use these numbers.',
  ])
})
