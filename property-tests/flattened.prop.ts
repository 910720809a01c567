/**
 * Law: a body that makes lists of lists, Maps of lists of pairs and lists of Maps - `flat`, `flatMap`, `new Map(pairs)`, `[...map]`,
 * one of two lists that are written out - is compiled to WebAssembly, runs in parallel, and gives the bits of plain JavaScript.
 */
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { drawing } from './drawing.ts'
import { bodyOf, type DrawnBody, looped, plain } from './drawnBodies.ts'
import { expectBitsOfPlain } from './lawOfBodies.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('flattened.prop.ts', 200)
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

const HELD = { codes: [3, 1, 4, 1, 5, 9, 2, 6] }

/** `list` grows, `pairs` has pairs, `grid` lists, and `map` numbers for numbers; each is there where the body names it. */
function bodyText(numbers: readonly number[]): DrawnBody {
  const { below, of, use, used } = drawing(numbers)
  const scalar = (): string => of(['s', 'i', 'x.get(i)', String(below(40) / 4), '-0', 'list.length'])
  const small = (value: string): string => `(Math.abs(${value}) < 1e9 ? ${value} : 3)`
  const test = (): string => of(['i % 2 === 0', 's > 1', 'x.get(i) > 0', 'list.length > 3', 'v > 2 || k === 1'])
  const outer = (): string => of(['i % 2 === 0', 's > 1', 'x.get(i) > 0', 'list.length > 3'])
  const source = (): string => of(['list', 'codes', 'list'])
  const sum = (value: string): string => `for (const one of ${value}) s = s * 0.5 + ${small('one')}`
  const pairsSummed = (value: string): string => `for (const [a, b] of ${value}) s = s * 0.5 + ${small('a')} - ${small('b')}`
  const statement = (): string => {
    switch (below(11)) {
      case 0:
        return use('flat of lists', sum('grid.flat()'))
      case 1:
        return use('flat of pairs', sum('pairs.flat()'))
      case 2:
        return use('flatMap', sum(`${source()}.flatMap((v, k) => [v, ${of(['k', 's', '-v', 'x.get(i)'])}])`))
      case 3:
        return use(
          'flatMap of some',
          sum(`list.flatMap((v, k) => ${test()} ? [v${of(['', ', k', ', v, k'])}] : ${of(['[]', '[k]', '[s, 1]'])})`),
        )
      case 4:
        return use('flatMap of lists', sum(`grid.flatMap((row) => ${of(['row', '[...row, 1]'])})`))
      case 5:
        return use('chosen', `{ const part = ${outer()} ? [${scalar()}, ${scalar()}] : [${scalar()}]; ${sum('part')}; s += part.length }`)
      case 6:
        return use('spread', `{ list.push(...(${outer()} ? [${scalar()}, 2] : [])); s += list.length }`)
      case 7:
        return use(
          'map of pairs',
          `{ const made = new Map(${of(['pairs', `${source()}.map((v, k) => [${small('v')}, k])`])}); s += made.size + (made.get(1) ?? 3); ${pairsSummed('made')} }`,
        )
      case 8:
        return use(
          'copied map',
          `{ const made = new Map(map); made.set(${of(['1', 'i', '77'])}, ${scalar()}); ${of(['map.delete(3)', 'map.set(4, 1)'])}; ${pairsSummed('made')}; s += map.size }`,
        )
      case 9:
        return use(
          'entries',
          of([
            pairsSummed(`${of(['[...map]', '[...map.entries()]'])}.sort((a, b) => b[1] - a[1] || a[0] - b[0])`),
            sum('Array.from(map, ([a, b]) => a * 10 + b)'),
            `s += [...map.entries()].filter(([a, b]) => b > a).length`,
          ]),
        )
      default:
        return use('parts', `for (const pair of pairs) for (const one of pair) s = s * 0.5 + ${small('one')}`)
    }
  }
  // a copy of a Map has room for as many as may be in it, and all that a body makes takes 4 MiB at most
  const isLarge = (line: string): boolean => /new Map\(|\bmap\b/.test(line)
  const lines = Array.from({ length: 1 + below(3) }, statement)
  const body = lines.filter((line, at) => !isLarge(line) || lines.findIndex(isLarge) === at).join('\n;')
  const has = (name: string): boolean => new RegExp(`\\b${name}\\b`).test(body)
  const text = `([i], { x, out }) => {
let s = ${of(['x.get(i)', '1', 'i'])}
if (!(Math.abs(s) < 1e300)) s = 0
;const list = []; for (let k = 0; k < ${of(['i % 5', '3', 'i'])}; k++) list.push(${of(['k', 'k * 1.5', 's'])})
${has('pairs') ? `;const pairs = []; for (let k = 0; k < ${of(['4', 'i % 6', '1'])}; k++) pairs.push([k % 3, ${of(['k', 's', 'x.get(i)'])}])` : ''}
${has('grid') ? `;const grid = Array.from({ length: 3 }, (_, k) => [${of(['k, i', 's, 1, k'])}])` : ''}
${has('map') ? `;const map = new Map([[3, 1]]); for (let k = 0; k < ${of(['4', 'i % 6'])}; k++) map.set(${of(['k', 'k % 2', 'codes[k]'])}, ${of(['k', 'i', '2'])})` : ''}
;${body}
;for (const v of list) s = s * 0.5 + ${small('v')}
out.set(i, s)
}`
  return { text, used }
}

test('bodies that flatten lists, and make Maps and lists of each other, are compiled, run in parallel, and give the bits of plain JavaScript', async () => {
  await expectBitsOfPlain(session, { name: 'flattened', draw: bodyText, held: HELD, run: RUN, least: 500 })
})

test('what is no array, or may be none, is left as JavaScript does it', async () => {
  const held = { ...HELD, words: ['ab', 'c'], typed: [Float64Array.of(1, 2), Float64Array.of(3)], mixed: [1, [2, 3]] }
  for (const given of [
    'words.flat()',
    'words.flatMap((w) => w)',
    'typed.flat()',
    'mixed.flat()',
    'codes.flatMap((v) => v * 2)',
    'codes.flatMap((v) => new Float64Array(2))',
    'codes.flatMap((v) => Float64Array.of(v, 2))',
    'codes.flatMap((v) => typed[0].subarray(0, 2))',
    'codes.flatMap((v) => new Set([v, 2]))',
    'Array.from({ length: 3 }, () => new Float64Array(2)).flat()',
    'Array.from({ length: 3 }, () => new Float64Array(2)).flatMap((r) => r)',
    'grown(typed[0].slice()).flat()',
  ]) {
    const grown = 'const grown = (list) => { const all = [[]]; all.push(list); return all }'
    const body = bodyOf(`([i], { out }) => { ${grown}; out.set(i, ${given}.length) }`, held)
    expect((await looped(session, body)).outcome, given).toStrictEqual(plain(body))
  }
})
