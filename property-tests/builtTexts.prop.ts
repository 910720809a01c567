/**
 * Law: a body whose Sets, Maps, objects and captured collections have keys that it makes of numbers - whole ones, of either sign, zeros,
 * fractions and numbers beyond the range, beside texts that are written out or captured and look alike - gives the bits of plain
 * JavaScript, is compiled to WebAssembly and runs in parallel; where a number makes no such text, its passes run as it stands.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { drawing } from './drawing.ts'
import { bodyOf, type DrawnBody, expectCompiled, looped, plain } from './drawnBodies.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('builtTexts.prop.ts', 300)
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

const HELD = {
  words: ['0,0', '-1,2', '01,2', '-0,1', '3,', 'n1', 'n', '1,1', '2,-0', 'n-2', '1:0', '33554432,0', '0,-16777216', '1,2,3'],
  walls: new Set(['0,0', '1,1', '2,-1', 'n1', '3,04', '16777215,0']),
  prices: new Map([
    ['0,0', 1.5],
    ['1,2', -2],
    ['n3', 7],
    ['x', 9],
    ['0,-2', -0],
  ]),
  points: new Map([
    ['n0', { x: 1, y: 2 }],
    ['n2', { x: -0, y: 0.5 }],
    ['1,1', { x: 3, y: 3 }],
  ]),
}

/** Numbers that make texts, and those that do only where they are whole. */
const WHOLE = ['i % 3', 'k % 4', 'k - 2', '-(i % 2)', 'i - 9', '0 * (k - 3)', '(i * k) % 5', '1', '-1', 'a', '7']
const OTHER = ['x.get(i)', 'Math.floor(x.get(i))', 'k * 16777215', 'k / 2', 'a * 4194304', '-16777216 + k - 1', 'Math.sqrt(i)', '1e9 * k']

function bodyText(numbers: readonly number[]): DrawnBody {
  const { below, of, use, used } = drawing(numbers)
  const number = (): string => (below(12) === 0 ? use('other numbers', `(${of(OTHER)})`) : `(${of(WHOLE)})`)
  const pair = (): string => {
    const [a, b] = [number(), number()]
    return of([`\`\${${a}},\${${b}}\``, `${a} + ',' + ${b}`, `[${a}, ${b}].join(',')`, `String(${a}) + ',' + ${b}`])
  }
  const built = (): string =>
    of([
      pair(),
      pair(),
      `\`n\${${number()}}\``,
      `'n' + ${number()}`,
      use('three', `\`\${${number()}},\${${number()}},\${${number()}}\``),
      use('another shape', `${number()} + ':' + ${number()}`),
      `(${number()} > 0 ? ${pair()} : ${pair()})`,
    ])
  const key = (): string =>
    of([built(), built(), 'key', use('words', 'words[(i + k) % 14]'), use('written out', of(["'0,0'", "'n1'", "'1,-1'", "'x'"]))])
  const statement = (depth: number): string => {
    const inner = (): string => (depth > 0 ? statement(depth - 1) : `s += ${of(['k', '0.5', 'i'])}`)
    switch (below(11)) {
      case 0:
        return use('a Set', of([`seen.add(${key()})`, `if (!seen.has(${key()})) { seen.add(${key()}); ${inner()} }`]))
      case 1:
        return use('a Map', `{ const at = ${key()}; held.set(at, (held.get(at) ?? 0.5) * 1.5 + k) }`)
      case 2:
        return use('names', `{ const at = ${key()}; counts[at] = (counts[at] ?? 0) + 1 }`)
      case 3:
        return use('a variable', `key = ${key()}`)
      case 4:
        return use('compared', `if (${built()} ${of(['===', '!=='])} ${key()}) { ${inner()} }`)
      case 5:
        return use('a captured Set', `if (walls.has(${key()})) { ${inner()} }`)
      case 6:
        return use('a captured Map', `s += prices.get(${key()}) ?? 0.25`)
      case 7:
        return use('captured objects', `s += points.get(${key()})?.x ?? -3`)
      case 8:
        return use('removed', `if (held.delete(${key()})) { ${inner()} }`)
      case 9:
        return use('gone through', `for (const [at, v] of held) { if (seen.has(at) && at !== ${built()}) s += v }`)
      default:
        return use('a switch', `switch (key) { case '0,0': ${inner()}; break; case 'n1': s -= 2; break; default: s *= 0.5 }`)
    }
  }
  const lines: string[] = []
  for (let n = 1 + below(3); n > 0; n--) lines.push(statement(1))
  const inner = lines.join('\n;')
  const uses = (name: string, line: string): string => (inner.includes(name) ? line : '')
  const text = `([i], { x, out }) => {
    let s = 0, a = i % 7 - 3, key = \`\${i % 2},\${i % 3}\`
    ${uses('seen', "const seen = new Set(['0,0'])")}
    ${uses('held', "const held = new Map([['0,0', 1]])")}
    ${uses('counts', 'const counts = {}')}
    for (let k = 0; k < 4; k++) {
      ${inner}
      a++
    }
    ${uses('seen', 's += walls.has(key) ? seen.size * 100 : seen.size')}
    ${uses('held', 'for (const v of held.values()) s = s * 0.75 + v')}
    ${uses('counts', 'for (const v of Object.values(counts)) s += v')}
    out.set(i, walls.has(key) ? s : -s)
  }`
  return { text, used }
}

test('bodies whose keys are made of numbers are compiled, run in parallel, and give the bits of plain JavaScript', async () => {
  const counts: Record<string, number> = {}
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(10_000), { minLength: 20, maxLength: 90 }), async (numbers) => {
      const { text, used } = bodyText(numbers)
      const { outcome, plan } = await looped(session, bodyOf(text, HELD))
      expect(outcome, text).toStrictEqual(plain(bodyOf(text, HELD)))
      const isLimit = plan.kernel?.because?.every(({ code }) => code === 'limit-met') === true
      const isComparedOnly = used.has('compared') && plan.kernel?.target === 'js' && plan.schedule.kind === 'independent'
      if (!isComparedOnly && !(used.has('other numbers') && isLimit)) expectCompiled(plan, text)
      for (const one of [...used, isLimit ? 'beyond the range' : 'compiled']) counts[one] = (counts[one] ?? 0) + 1
    }),
    RUN,
  )
  console.log(`builtTexts: ${JSON.stringify(counts)}`)
  if (RUN.numRuns >= 300) expect(Math.min(...Object.values(counts))).toBeGreaterThan(RUN.numRuns / 100)
}, 1_800_000)

test('texts that are used as texts as well are left to JavaScript, and what is no number has no key', async () => {
  const bodies = [
    `const s = new Set(), key = \`\${i % 3},\${i}\`; s.add(key); out.set(i, s.size + key.length)`,
    `const s = new Set(), key = \`k\${i % 3}\`; s.add(key); out.set(i, s.size + (key < 'k1' ? 5 : 0))`,
    `const s = new Set(); for (let k = 0; k < 4; k++) s.add(\`\${k % 2 === 0},\${i}\`); out.set(i, s.size)`,
    `const s = new Set(); for (let k = 0; k < 4; k++) s.add(\`\${k % 2 ? k : null},\${i}\`); out.set(i, s.size)`,
    `const s = new Set(); s.add(\`\${i}\${i % 2}\`); s.add('11'); out.set(i, s.size)`,
    `const s = new Set(); for (let k = 0; k < 4; k++) s.add(\`\${i},\${0.1 + 1e-9 * k}\`); out.set(i, s.size)`,
    `const s = new Set(); s.add(\`\${i},\${16777216 + i}\`); s.add(\`\${i + 1},\${i - 16777216}\`); out.set(i, s.size)`,
    `const s = new Set(); s.add(\`\${i}-\${i}\`); s.add(\`\${i}--\${i}\`); out.set(i, s.size)`,
  ]
  for (const body of bodies) {
    const text = `([i], { out }) => { ${body} }`
    const { outcome, plan } = await looped(session, bodyOf(text, {}))
    expect(plan.kernel?.target, text).toBe('as-is')
    expect(outcome, text).toStrictEqual(plain(bodyOf(text, {})))
  }
})
