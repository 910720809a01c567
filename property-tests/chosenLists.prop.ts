/**
 * Law: a body that gives one of several lists, Sets or Maps a name - by a choice, a choice of choices, an assignment in a branch, in loops and in
 * functions, under names that other blocks have too - and puts elements into it, reads, counts and changes them there, is compiled to
 * WebAssembly, runs in parallel, and gives the bits of plain JavaScript.
 */
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { drawing } from './drawing.ts'
import { bodyOf, type DrawnBody, expectCompiled, looped, plain } from './drawnBodies.ts'
import { expectBitsOfPlain } from './lawOfBodies.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('chosenLists.prop.ts')
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

function bodyText(numbers: readonly number[]): DrawnBody {
  const { below, of, use, used } = drawing(numbers)
  const kind = of(['list', 'list', 'list', 'Set', 'Map'] as const)
  const names = ['a', 'b', 'c', 'd'].slice(0, 2 + below(3))
  const value = (): string => of(['v', 'k', 'v * 0.5', 'i - k', '1'])
  const test = (): string => of(['v < 0', 'k % 2 === 0', 'v > 1', 'i % 3 === k % 3', 'k > 2'])
  const choice = (depth: number): string => {
    if (depth === 0 || below(3) === 0) return of(names)
    return `${test()} ? ${choice(depth - 1)} : ${choice(depth - 1)}`
  }
  const chosen = (): string => `${test()} ? ${choice(1)} : ${choice(0)}`
  const ofList = (to: string): string => {
    switch (below(6)) {
      case 0:
        return use('an element', `s = s * 0.5 + (${to}[${of(['0', 'k', `${to}.length - 1`])}] ?? 0)`)
      case 1:
        return use('the length', `if (${to}.length > ${below(3)}) s += ${to}.length`)
      case 2:
        return use('changed', `if (${to}.length > 0) ${to}[0] ${of(['= v', '+= v', '*= 0.5'])}`)
      case 3:
        return use('counted', `if (${to}.length > 0) ${to}[${to}.length - 1]${of(['++', '--'])}`)
      default:
        return use('pushed', `${to}.push(${value()}${of(['', `, ${value()}`])})`)
    }
  }
  const ofOther = (to: string): string => {
    if (kind === 'Set') return use('a Set', of([`${to}.add(k % 3)`, `s += ${to}.has(k) ? 1 : 0`, `s += ${to}.size`]))
    return use('a Map', of([`${to}.set(k % 3, (${to}.get(k % 3) ?? 0) + v)`, `s += ${to}.get(k) ?? 0.25`, `s += ${to}.size`]))
  }
  const used1 = (to: string): string => (kind === 'list' ? ofList(to) : ofOther(to))
  const uses = (to: string): string => Array.from({ length: 1 + below(3) }, () => used1(to)).join('; ')
  const block = (n: number): string => {
    const to = of(['to', `to${n}`])
    switch (below(5)) {
      case 0:
        return use('assigned', `{ let ${to} = ${choice(1)}; if (${test()}) ${to} = ${of(names)}; ${uses(to)} }`)
      case 1:
        return use(
          'assigned twice',
          `{ let ${to} = ${of(names)}; ${uses(to)}; if (${test()}) { ${to} = ${choice(1)}; ${uses(to)} } else ${to} = ${of(names)}; ${uses(to)} }`,
        )
      case 2:
        return use('in a function', `put${n}(v, k)`)
      case 3:
        return use('in a branch', `if (${test()}) { const ${to} = ${chosen()}; ${uses(to)} }`)
      default:
        return use('chosen', `{ ${of(['const', 'let', 'var'])} ${to}${n} = ${chosen()}; ${uses(`${to}${n}`)} }`)
    }
  }
  const first = (): string => {
    if (kind === 'list') return of(['[]', '[]', '[x.get(i)]', '[1, 2]'])
    return kind === 'Set' ? 'new Set()' : 'new Map()'
  }
  const lines = ['let s = 0', ...names.map((name) => `const ${name} = ${first()}`)]
  if (kind === 'list') for (const name of names) lines.push(`if (i > 100) ${name}.push(0)`)
  for (let n = 0; n < 3; n++) lines.push(`const put${n} = (v, k) => { const to = ${chosen()}; ${uses('to')} }`)
  const body = Array.from({ length: 1 + below(3) }, (_, n) => block(n)).join('; ')
  lines.push(`for (let k = 0; k < ${3 + below(4)}; k++) { const v = x.get((i + k) % 20); ${body} }`)
  for (const name of names) {
    if (kind === 'list') lines.push(`for (const one of ${name}) s = s * 0.5 + one`)
    else lines.push(`s += ${name}.size`)
  }
  return { text: `([i], { x, out }) => {\n${lines.join('\n')}\nout.set(i, s)\n}`, used }
}

test('names for one of several lists', { timeout: 900_000 }, () =>
  expectBitsOfPlain(session, { name: 'chosen lists', draw: bodyText, held: {}, run: RUN, least: 500 }),
)

test.each([
  [
    'a name that a list has as well',
    'const a = [1], b = [2]; { const a = [5]; const to = i > 3 ? a : b; to.push(1); out.set(i, a.length * 10 + to[0]) }',
  ],
  [
    'a list that is made anew',
    'let s = 0; for (let k = 0; k < 4; k++) { const a = [k], b = [9]; const to = k % 2 ? a : b; to.push(i); s += a.length * k + to[0] } out.set(i, s)',
  ],
])('%s', async (_, text) => {
  const body = bodyOf(`([i], { x, out }) => { ${text} }`, {})
  const { outcome, plan } = await looped(session, body)
  expectCompiled(plan, text)
  expect(outcome).toStrictEqual(plain(body))
})
