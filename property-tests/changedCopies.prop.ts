/**
 * Law: bodies that copy a list with some elements changed (`with`, `toSpliced`, `copyWithin`) and that make objects of pairs
 * (`Object.fromEntries`) are compiled to WebAssembly, run in parallel, and give the bits of plain JavaScript, or its error.
 */
import fc from 'fast-check'
import { afterAll, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { expectAsItStands } from './asItStands.ts'
import { drawing } from './drawing.ts'
import type { DrawnBody } from './drawnBodies.ts'
import { announcedRun } from './lawRuns.ts'
import { expectSameOrError } from './sameOrError.ts'

const RUN = announcedRun('changedCopies.prop.ts', 300)
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

const held = { table: [3, 1, 4, 1, 5, 9, 2, 6] }

function bodyText(numbers: readonly number[]): DrawnBody {
  const { below, of, use, used } = drawing(numbers)
  const lists = ['a', 't']
  const value = (): string => of(['s', '(x.get(i) || 0)', 'i', 'i % 3', '-0', String(below(40) / 4)])
  const place = (): string =>
    of(['i % 6', '-(i % 6)', 's', `${below(5)}.7`, `-${1 + below(7)}`, '-0.5', 'Infinity', '-Infinity', 'NaN', '9', 'x.get(i)'])
  const inside = (): string =>
    of([`i % 4`, `-1 - (i % 4)`, `${below(3)}.5`, '-0.5', 'NaN', ...(below(12) === 0 ? ['s', '-9', '4294967297'] : [])])
  const made = (): string => {
    const list = of(lists)
    switch (below(5)) {
      case 0:
        return use('with', `${list}.with(${inside()}, ${value()})`)
      case 1:
        return use('with of a captured list', `table.with(${inside()}, ${value()})`)
      case 2:
        return use('toSpliced', `[...${list}].toSpliced(${[place(), place(), value(), value()].slice(0, below(5)).join(', ')})`)
      case 3:
        // of a list that may be empty, the sum is put behind its last element in JavaScript, which compiled bodies refuse
        return use('arguments that change the list', `a.with((a[0] += 1) % 4 | 0, ${value()})`)
      default:
        return use('slice', `${list}.slice()`)
    }
  }
  const pairs = (): string => {
    switch (below(3)) {
      case 0:
        return `[['p', ${value()}], ['q', ${value()}], ['p', ${value()}]]`
      case 1:
        return `['p', 'q'].map((k, j) => [k, j * ${value()}])`
      default:
        return `Object.entries({ p: ${value()}, q: ${value()} }).map(([k, v], j) => [k, v * 2 + j])`
    }
  }
  let count = 0
  const statement = (): string => {
    switch (below(6)) {
      case 0:
        return use('copyWithin', `${of(lists)}.copyWithin(${[place(), place(), place()].slice(0, 2 + below(2)).join(', ')})`)
      case 1: {
        const name = `o${++count}`
        return use('fromEntries', `const ${name} = Object.fromEntries(${pairs()}); s = s * 0.5 + ${name}.p - ${name}.q * 3`)
      }
      case 2:
        return `${of(['a', 't'])}[i % 4] = ${value()}`
      default: {
        const name = `c${++count}`
        const list = made()
        lists.push(name)
        return `const ${name} = ${list}; s = s * 0.5 + ${name}.length; for (const v of ${name}) s = s * 0.5 + v`
      }
    }
  }
  const lines = Array.from({ length: 2 + below(4) }, statement)
  const sums = lists.map((list) => `for (const v of ${list}) s = s * 0.75 + v`)
  return {
    text: `([i], { x, out }) => {
let s = 0
const a = [i, x.get(i) || 0, 3, i / 2], t = Float32Array.from([1, 2.3, i, 4, 5])
${lines.join('\n')}
${sums.join('\n')}
out.set(i, s)
}`,
    used,
  }
}

test('bodies with changed copies are compiled, run in parallel, and give the bits of plain JavaScript', async () => {
  const counts: Record<string, number> = {}
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(10_000), { minLength: 20, maxLength: 60 }), async (numbers) => {
      const { text, used } = bodyText(numbers)
      const threw = await expectSameOrError(session, text, held, [RangeError])
      for (const one of [...used, ...(threw ? ['error'] : [])]) counts[one] = (counts[one] ?? 0) + 1
    }),
    RUN,
  )
  console.log(`changed copies: ${JSON.stringify(counts)}`)
})

test.each([
  [
    'an object of the pairs of a Map',
    'const m = new Map([[1, i]]); const o = Object.fromEntries(m); out.set(i, o[1])',
    "It makes an object of pairs whose names are not known before the run. Write the pairs out, as [['a', 1], ['b', 2]], or keep them in a Map.",
  ],
  [
    'a Date of the time zone',
    'out.set(i, new Date(i * 864e5).getMonth())',
    'new Date(i * 864e5).getMonth follows the time zone of the process, which another may not share. Use the getUTC… methods, and new Date(Date.UTC(year, month, day)).',
  ],
  [
    'a Date of local parts',
    'out.set(i, new Date(2020, i % 12, 1).getTime() * 0)',
    'new Date(2020, i % 12, 1) follows the time zone of the process, which another may not share. Use the getUTC… methods, and new Date(Date.UTC(year, month, day)).',
  ],
  [
    'a Date that is changed',
    'const d = new Date(0); d.setUTCDate(i); out.set(i, d.getTime())',
    'new Date(0).setUTCDate changes a Date. Make another, as new Date(date.getTime() + 86400000).',
  ],
])('%s runs as it stands', async (_, statements, why) => {
  await expectAsItStands(session, statements, {}, why)
})
