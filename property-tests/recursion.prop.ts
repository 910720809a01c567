/**
 * Law: a body with a function that calls itself - anywhere in it, with effects, in loops and conditions, by way of another function - is
 * compiled to WebAssembly, runs in parallel, and gives the bits of plain JavaScript.
 */
import { afterAll, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { drawing } from './drawing.ts'
import type { DrawnBody } from './drawnBodies.ts'
import { expectBitsOfPlain } from './lawOfBodies.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('recursion.prop.ts')
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

const HELD = { links: [[1, 2], [2, 3, 0], [3], [0, 1]] }

type Gives = 'number' | 'truth' | 'nothing'

function bodyText(numbers: readonly number[]): DrawnBody {
  const { below, of, use, used } = drawing(numbers)
  const gives: Gives = of(['number', 'number', 'truth', 'nothing'])
  const hasDefault = below(4) === 0
  const byOther = below(3) === 0
  const scalar = (): string => of(['t', 'v', 's', 'n', 't * 0.5', 'a[n & 3]', 'x.get(i)', '-0', 'n - 1'])
  const call = (depth = 1): string => {
    const less = of(['n - 1', 'n - 1', 'n - 2', '(n >> 1)'])
    const own = gives === 'number' && depth > 0 && below(5) === 0 ? use('nested', call(depth - 1)) : scalar()
    const args = hasDefault && below(2) === 0 ? less : `${less}, ${own}`
    return byOther && below(3) === 0 ? use('by another', `g(${less}, ${scalar()})`) : `f(${args})`
  }
  const number = (): string => {
    if (gives === 'number') return call()
    return gives === 'truth' ? `(${call()} ? ${scalar()} : 2)` : `(${call()}, ${scalar()})`
  }
  const value = { number: () => `return ${scalar()}`, truth: () => `return ${scalar()} > ${scalar()}`, nothing: () => 'return' }[gives]
  const inner = (depth: number): string => (depth > 0 ? statement(depth - 1) : simple())
  const simple = (): string => of([`s = s * 0.5 + ${scalar()}`, `t = t * 0.75 - ${number()}`, call(), `a[n & 3] = t * 0.5 + ${number()}`])
  const statement = (depth: number): string => {
    const label = `l${used.size}${below(100)}`
    switch (below(20)) {
      case 0:
        return use('order', `t = s * 0.5 + ${number()} * a[n & 3] - s + ${number()}`)
      case 1:
        return use('element', `a[${of(['0', 'n & 3', '(n + 1) & 3'])}] ${of(['=', '+=', '*='])} ${number()} * 0.5`)
      case 2:
        return use(
          'list',
          of([
            `path.push(t); ${inner(depth)}; s = s * 0.5 + (path.pop() ?? 1)`,
            `path.push(t); if (path.length > 0) { ${inner(depth)}; s = s * 0.5 + path.pop() }`,
            `if (path.length > 0) { ${inner(0)}; s = s * 0.5 + path.pop() }`,
          ]),
        )
      case 3:
        return use(
          'for',
          `for (let k = 0; k < ${2 + below(2)}; k++) { ${of(['', 'if (k === 1) continue; ', 'if (t > 2) break; '])}${inner(depth)}; t += k }`,
        )
      case 4:
        return use('while', `{ let m = 0; while (m < 2) { m++; ${inner(depth)}; t = t * 0.5 + m } }`)
      case 5:
        return use('do', `{ let m = n; do { m -= 2; ${inner(depth)} } while (m > 0 && ${number()} > 1); s += m }`)
      case 6:
        return use('condition', `if (${number()} > ${scalar()}) { ${inner(depth)} } else { ${inner(depth)} }`)
      case 7:
        return use(
          'if',
          `if (${scalar()} > ${below(3)}) { ${inner(depth)} }${of(['', ` else { ${inner(depth)} }`, ` else if (t < 9) { ${inner(depth)} }`])}`,
        )
      case 8:
        return use('return', `if (${scalar()} > ${scalar()}) { ${inner(0)}; ${value()} }`)
      case 9:
        return use('links', `for (const w of links[n & 3]) { ${inner(depth)}; t = t * 0.5 + w }`)
      case 10:
        return use('for each', `a.forEach((e, k) => { if (k < 2) { ${simple()}; s = s * 0.5 + e * k } })`)
      case 11:
        return use('truth', `{ const b = t > ${scalar()}; ${inner(depth)}; if (b) s += 1; else t *= 0.5 }`)
      case 12:
        return use('object', `{ const p = { u: t, w: n }; ${inner(depth)}; t = t * 0.5 + p.u - p.w; p.u += ${number()}; s += p.u }`)
      case 13:
        return use('set later', `{ let q; if (t > 1) q = ${scalar()}; else q = n; ${inner(depth)}; t = t * 0.5 + q }`)
      case 14:
        return use('bits', `{ const m = n | 5; let q = m ^ 3; ${inner(depth)}; q = (q << 1) & 63; ${inner(0)}; t += q - m }`)
      case 15:
        return use(
          'labels',
          `${label}: for (let k = 0; k < 2; k++) for (let j = 0; j < 2; j++) { ${inner(depth)}; if (t > s) ${of(['continue', 'break'])} ${label}; t += j }`,
        )
      case 16:
        return use('switch', `switch (n % 3) { case 0: ${inner(depth)}; break; case 1: ${inner(depth)}; break; default: s += 1 }`)
      case 17:
        return use(
          'left early',
          `{ let q = n; for (let k = 0; k < 3; k++) { ${inner(depth)}; if (n + k > ${1 + below(3)}) ${of(['break', 'continue'])}; q = t } t = t * 0.5 + q }`,
        )
      case 18:
        return use(
          'absent',
          `{ let q; if (t > ${below(3)}) q = ${scalar()}; ${inner(depth)}; t = t * 0.5 + (q ?? ${scalar()}); s += q == null ? 1 : 2 }`,
        )
      default:
        return use('temporary', `t = Math.max(${scalar()}, ${number()}) - Math.min(s, ${number()}, ${scalar()})`)
    }
  }
  const end = { number: 'return v', truth: 'return v > 1', nothing: 'return' }[gives]
  const last = {
    number: `return ${of(['t', number(), `t + ${number()}`])}`,
    truth: `return ${of(['t > 1', call(), `!${call()}`])}`,
    nothing: '',
  }[gives]
  const lines = [
    'let s = x.get(i), calls = 0',
    'const a = [1, 2, 3, 4], path = []',
    `const f = (n, v${hasDefault ? ' = 2' : ''}) => {\n  if (n <= 0 || calls++ > 60) ${end}`,
    '  let t = v * 0.5 + n',
  ]
  for (let left = 1 + below(3); left > 0; left--) lines.push(`  ${statement(1)}`)
  lines.push(
    '  if (!(Math.abs(t) < 1e300)) t = 3\n  if (!(Math.abs(s) < 1e300)) s = 5',
    `  ${last}\n}`,
    ...(byOther ? [`const g = (n, v) => { s = s * 0.5 + v; const r = f(n, v * 0.5); calls += 1; return r }`] : []),
    { number: `s = s * 0.5 + f(${2 + below(4)}, s)`, truth: `s += f(${2 + below(4)}, s) ? 1 : 2`, nothing: `f(${2 + below(4)}, s)` }[gives],
    ...(below(3) === 0 ? ['if (i % 3 === 1) f(2, 1)'] : []),
  )
  return {
    text: `([i], { x, out }) => {\n${lines.join('\n')}\nfor (const e of a) s = s * 0.5 + (Math.abs(e) < 1e300 ? e : 7)\nout.set(i, s + calls + path.length)\n}`,
    used: used.add(gives),
  }
}

test('bodies with functions that call themselves are compiled, run in parallel, and give the bits of plain JavaScript', async () => {
  await expectBitsOfPlain(session, { name: 'recursion', draw: bodyText, held: HELD, run: RUN, least: 500 })
}, 1_800_000)
