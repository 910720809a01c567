/**
 * Law: a body with lists of truth values, lists that are made by their number of places, lists that grow as long as they are pushed onto
 * and are taken from at either end, gives the bits of plain JavaScript, is compiled to WebAssembly and runs in parallel.
 */
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { expectAsItStands } from './asItStands.ts'
import { drawing } from './drawing.ts'
import { bodyOf, type DrawnBody, looped, plain } from './drawnBodies.ts'
import { expectBitsOfPlain } from './lawOfBodies.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('grownLists.prop.ts')
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

const HELD = { n: 5, adj: [[1, 2], [2, 3, 4], [], [0], [4, 1]] }

function bodyText(numbers: readonly number[]): DrawnBody {
  const { below, of, use, used } = drawing(numbers)
  const size = (): string => of(['n', '5', 'n'])
  const empty = (): string => of([`new Array(${size()})`, `Array(${size()})`])
  const value = (): string => of(['s', 'i', 'x.get(i)', String(below(40) / 4), `numbers[${below(5)}]`])
  const test = (): string =>
    of([`${value()} < ${value()}`, `i % ${2 + below(3)} === 0`, `flags[${at()}]`, `!flags[${at()}]`, 'true', 'false'])
  const at = (): string => of(['i % 5', `${below(5)}`, '(i + 2) % n'])
  const truths = (): string =>
    of([
      `${empty()}.fill(${of(['false', 'true', 'i % 2 === 0'])})`,
      `Array.from({ length: n }, (_, k) => k > i % 4)`,
      '[true, false, i > 3, s < 1, !s]',
    ])
  const filled = (): string =>
    of([
      `${empty()}.fill(${of(['0', 'i', '-1'])})`,
      `[...Array(${size()}).keys()]`,
      `Array.from(${empty()}.keys(), (k) => k * 0.5 - s)`,
      `[...${empty()}].map((_, k) => k + i)`,
      `Array.from({ length: ${size()} }).map((_, k) => s - k)`,
      `${empty()}.fill(${below(3)}).map((v, k) => v * k)`,
      `Array.from(${empty()}, (_, k) => k)`,
    ])
  const rows = (): string =>
    of([
      `Array(3).fill(null).map((_, r) => new Array(4).fill(${of(['0', 'r', 'false'])}))`,
      `Array.from({ length: 3 }, (_, r) => [...Array(4).keys()])`,
      `[...Array(3)].map((_, r) => [r, s, i, 1])`,
    ])
  const statement = (depth: number): string => {
    const inner = (): string => (depth > 0 ? statement(depth - 1) : `s += ${value()}`)
    switch (below(14)) {
      case 0:
        return use('a truth is put', `flags[${at()}] = ${test()}`)
      case 1:
        return use(
          'a truth is asked',
          `if (${of([`flags[${at()}]`, `flags[${at()}] === ${test()}`, `flags[${at()}] && ${test()}`])}) { ${inner()} }`,
        )
      case 2:
        return use('truths are gone through', `for (const f of flags) s = s * 0.5 + (f ? 1 : 2)`)
      case 3:
        return use(
          'methods of truths',
          `s += flags.${of(['indexOf(true)', 'some((f) => f) ? 1 : 0', 'every((f, k) => f || k < 2) ? 3 : 0', 'findIndex((f) => !f)', 'includes(false) ? 1 : 0'])}`,
        )
      case 4:
        return use('numbers are gone through', `for (const v of numbers) s = s * 0.75 + v`)
      case 5:
        return use(
          'rows',
          `{ const M = ${rows()}; M[i % 3][${below(4)}] = M[2][1]; for (const r of M) for (const v of r) s = s * 0.5 + (v ? Number(v) : 0.25) }`,
        )
      case 8:
        if (below(4) === 0)
          return use(
            'pushed onto one of two',
            `{ const few = [${of(['', '1'])}], many = []; for (const v of numbers) (v ${of(['<', '>'])} ${value()} ? few : many).${of(['push(v)', 'push(v, s)', 'unshift(v)'])}; s = s * 0.5 + few.length * 10 + many.length + (few[0] ?? 3) }`,
          )
        return use('pushed', `queue.push(${of([value(), `${value()}, ${value()}`, '...numbers', '...adj[i % 5]', 'adj[i % 2][0]'])})`)
      case 9:
        return use(
          'popped',
          of([`s += queue.pop() ?? ${value()}`, `{ const last = queue.pop(); if (last !== undefined) s -= last }`, `queue.pop()`]),
        )
      case 10:
        return use(
          'shifted',
          of([
            `s += queue.shift() ?? ${value()}`,
            `if (queue.length > 0) { const head = queue.shift(); s = s * 0.5 + head; s = s * 0.5 + (queue.shift() ?? 7) }`,
            `queue.shift()`,
          ]),
        )
      case 11:
        return use(
          'a graph is walked',
          of([
            `{ const left = [1, 2, i]; let turns = 0; while (left.length > 0) { for (let k = 0; k < i % 5; k++) s = s * 0.5 + (left.pop() ?? 3); s += left.pop() ?? 4; turns++ } s -= turns }`,
            `{ const seen = new Array(n).fill(false), open = [i % 5]; while (open.length > 0) { const v = open.${of(['shift', 'pop'])}(); if (seen[v]) continue; seen[v] = true; s = s * 0.5 + v; for (const w of adj[v]) open.push(w) } }`,
            `{ const far = Array(n).fill(-1), open = [i % 5]; far[i % 5] = 0; for (let head = 0; head < open.length; head++) { const v = open[head]; for (const w of adj[v]) if (far[w] === -1) { far[w] = far[v] + 1; open.push(w) } } for (const f of far) s = s * 0.5 + f }`,
            `{ const open = [0]; for (const v of open) { s = s * 0.5 + v; if (v < i % 6) open.push(v + 1, v + 2); if (open.length > 40) break } }`,
          ]),
        )
      case 12:
        return use(
          'copies of lists whose length the run tells',
          `for (const v of ${of(['adj[i % 5].filter((w) => w > 1)', 'adj[i % 5].map((w) => w * 2)', '[...adj[i % 5], s]', '[...queue]', 'queue.slice(1, 3)', 'queue.slice(-2)', 'queue.filter((w, k) => k % 2 === 0)', 'queue.map((w, k) => w - k)', 'Array.from(adj[i % 5])', 'numbers.slice(i % 3, -1)'])}) s = s * 0.75 + v`,
        )
      case 13:
        return use(
          'the list is asked',
          `s += queue.${of(['length', 'indexOf(2)', 'includes(i) ? 1 : 0', 'reduce((a, b) => a + b, 0)', 'findIndex((v) => v > s)', 'some((v) => v === 3) ? 2 : 1'])}`,
        )
      case 6:
        return `for (let k = 0; k < ${1 + below(3)}; k++) { ${inner()}; ${inner()} }`
      default:
        return use('a number is put', `numbers[${at()}] ${of(['=', '+=', '-='])} ${value()}`)
    }
  }
  const lines = [
    'let s = x.get(i)',
    `const queue = ${of(['[]', '[i]', '[s, i, 2]'])}`,
    `const numbers = ${use('places', filled())}`,
    `const flags = ${use('truths', truths())}`,
  ]
  for (let k = 2 + below(5); k > 0; k--) lines.push(statement(1))
  lines.push(
    'queue.push(s)',
    'for (const v of queue) s = s * 0.5 + v',
    's += queue.length',
    'for (const v of numbers) s = s * 0.5 + v',
    'for (const f of flags) s = s * 0.5 + (f ? 1 : 0)',
  )
  return { text: `([i], { x, out }) => {\n${lines.join('\n;')}\nout.set(i, s)\n}`, used }
}

test('bodies with lists that grow are compiled, run in parallel, and give the bits of plain JavaScript', async () => {
  await expectBitsOfPlain(session, { name: 'grown lists', draw: bodyText, held: HELD, run: RUN, least: 500 })
})

test('a body whose list has no room left begins again as it stands, and one from whose start elements were taken goes on', async () => {
  const { adj } = HELD
  const walked = (body: string): Promise<unknown> =>
    looped(session, bodyOf(`([i], { x, out }) => { ${body} }`, { adj })).then((one) => one.outcome)
  const long = 'const q = [i]; while (q.length < 70000) q.push(q.length * i); out.set(i, q[60000])'
  await expectAsItStands(
    session,
    long,
    { adj },
    'q has more than 65,536 elements. Make it as long as it may become, as new Float64Array(n), and count them.',
  )
  const sums =
    'const q = [i, 1]; let s = 0; for (let k = 0; k < 150000; k++) { s = (s + q.shift()) % 1009; q.push(k + s) } out.set(i, s + q[1] - q.length)'
  expect(await walked(sums)).toStrictEqual(plain(bodyOf(`([i], { x, out }) => { ${sums} }`, {})))
  const absent = 'const q = []; q.push(i); q.push(adj[i % 5][i]); out.set(i, q[1])'
  await expectAsItStands(session, absent, { adj }, 'q holds no undefined or null. Put a default in its place, as x ?? 0.')
})
