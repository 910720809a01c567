/**
 * Law: a body that puts elements between others and takes them out there, empties lists, goes through them from their end, puts what one list
 * gave up into another, and counts what passes a test is compiled to WebAssembly, runs in parallel, and gives the bits of plain JavaScript.
 */
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { expectAsItStands } from './asItStands.ts'
import { drawing } from './drawing.ts'
import { bodyOf, type DrawnBody, looped, plain } from './drawnBodies.ts'
import { expectBitsOfPlain } from './lawOfBodies.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('splices.prop.ts')
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

const HELD = { codes: [3, 1, 4, 1, 5, 9, 2, 6] }

function bodyText(numbers: readonly number[]): DrawnBody {
  const { below, of } = drawing(numbers)
  const used = new Set<string>()
  const use = (kind: string, text: string): string => {
    used.add(kind)
    return text
  }
  const scalar = (): string => of(['s', 'i', 'x.get(i)', String(below(40) / 4), '-0', 'k', 'a.length'])
  const place = (): string => of(['0', '1', '-1', '-2', '2.5', 'i % 4', 'k - 2', 'a.length', '99', '-99'])
  const list = (): string => of(['a', 'a', 'b', 'g[0]', 'g[i % 2]'])
  const folded = (value: string): string => `s = s * 0.5 + ${value}`
  const statement = (depth: number): string => {
    const inner = (): string => (depth > 0 ? statement(depth - 1) : `s += ${scalar()}`)
    switch (below(12)) {
      case 0:
        return use('cut', `${list()}.splice(${of([place(), `${place()}, ${place()}`])})`)
      case 1:
        return use(
          'inserted',
          `${list()}.splice(${place()}, ${of(['0', '0', '1', 'k', '-1'])}, ${of([scalar(), `${scalar()}, ${scalar()}`])})`,
        )
      case 2:
        return use('at the start', of([`${list()}.unshift(${scalar()})`, `s += ${list()}.unshift(${scalar()}, ${scalar()})`]))
      case 3:
        return use('emptied', `{ ${list()}.length = 0; ${list()}.push(${scalar()}) }`)
      case 4:
        return use('objects cut', `q.splice(${place()}, ${of(['0', '1', '2'])}${of(['', `, { a: ${scalar()}, b: k }`])})`)
      case 5:
        return use('objects at the start', of([`q.unshift({ a: ${scalar()}, b: i })`, '{ q.length = 0; q.push({ a: s, b: 1 }) }']))
      case 6:
        return use('from the end', folded(`${list()}.reduceRight((t, v) => t * 0.5 + v, ${scalar()})`))
      case 7:
        return use('last found', folded(`(${list()}.findLast((v) => v > ${below(3)}) ?? ${scalar()})`))
      case 8:
        return use(
          'given up',
          `{ a.push(${scalar()}); b.push(a.pop()); ${of(['', 'b.push(2); a.push(b.shift())', 'b.push(k); g[0].push(b.pop())'])} }`,
        )
      case 9:
        return use('counted', folded(of([`${list()}.filter((v) => v > ${scalar()}).length`, `q.filter((p) => p.a > ${scalar()}).length`])))
      case 10:
        return `for (let n = 0; n < ${1 + below(3)}; n++) { k = n; ${inner()} }`
      default:
        return `if (${scalar()} > ${below(3)}) { ${inner()} } else { ${inner()} }`
    }
  }
  const lines = [
    'let s = x.get(i), k = 1',
    `${of(['const a = [1, s, 3]', 'const a = [...codes]', 'const a = [s, ...codes.slice(2, 5)]', 'const a = []'])}; a.push(4)`,
    'const b = [i]; b.push(2, 3)',
    'const g = [[], [1, 2]]; g[0].push(s)',
    'const q = [{ a: s, b: 2 }]; q.push({ a: 3, b: i }); q.push({ a: 4, b: 5 })',
  ]
  for (let n = 1 + below(5); n > 0; n--) lines.push(statement(1), 'if (!(Math.abs(s) < 1e300)) s = 0')
  lines.push(
    'for (const l of g) { s = s * 0.5 + l.length; for (const v of l) s = s * 0.5 + (Math.abs(v) < 1e300 ? v : 3) }',
    'for (const v of a) s = s * 0.5 - (Math.abs(v) < 1e300 ? v : 5)',
    'for (const v of b) s = s * 0.5 + (Math.abs(v) < 1e300 ? v : 7)',
    'for (const { a, b } of q) s = s * 0.5 + (Math.abs(a - b) < 1e300 ? a - b : 9)',
  )
  return { text: `([i], { x, out }) => {\n${lines.join('\n;')}\nout.set(i, s)\n}`, used }
}

test('bodies that change lists in their middle are compiled, run in parallel, and give the bits of plain JavaScript', async () => {
  await expectBitsOfPlain(session, { name: 'splices', draw: bodyText, held: HELD, run: RUN, least: 500 })
}, 1_800_000)

test('what a splice takes out is refused by name where it is used; the end of a list that has none is what JavaScript says', async () => {
  const run = (body: string) => looped(session, bodyOf(`([i], { x, out }) => { ${body} }`, HELD))
  const taken = 'const a = [1, i]; a.push(3); const [first] = a.splice(i % 2, 1); out.set(i, first * a.length)'
  const { outcome, plan } = await run(taken)
  expect(plan.kernel?.because?.map(({ message, cure }) => `${message} ${cure}`)).toEqual([
    'It uses the elements that splice takes out. Read them before, as list[k] or list.slice(k, k + n), and call list.splice(k, n) as a statement.',
  ])
  expect(outcome).toStrictEqual(plain(bodyOf(`([i], { x, out }) => { ${taken} }`, HELD)))
  const cured = 'const a = [1, i]; a.push(3); const first = a[i % 2]; a.splice(i % 2, 1); out.set(i, first * a.length)'
  const ran = await run(cured)
  expect([ran.plan.kernel?.target, ran.outcome]).toStrictEqual(['wasm', outcome])
  const nothing = 'const a = [1]; const b = [i]; b.pop(); a.push(b.pop()); out.set(i, a.length)'
  await expectAsItStands(session, nothing, HELD, 'a holds no undefined or null. Put a default in its place, as x ?? 0.')
})
