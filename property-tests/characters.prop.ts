/**
 * Law: a body that asks for characters of captured texts, and of texts of captured lists - by their place, their numbers, their count, one
 * after another, and what objects have for them - is compiled to WebAssembly, runs in parallel, and gives the bits of plain JavaScript.
 */
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { drawing } from './drawing.ts'
import { bodyOf, type DrawnBody, doubles, looped, plain } from './drawnBodies.ts'
import { expectBitsOfPlain } from './lawOfBodies.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('characters.prop.ts')
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

const HELD = {
  seqs: ['ACGT', '', 'GGA', 'TTACCAG'],
  grid: ['#.#', '.A.', '##.'],
  word: 'GAT.TACA',
  code: { A: 0, C: 1, G: 2, T: 3 },
  weight: new Map([
    ['A', 0.5],
    ['#', -2],
  ]),
}

function bodyText(numbers: readonly number[]): DrawnBody {
  const { below, of, use, used } = drawing(numbers)
  const lines = ['let s = x.get(i), n = 0', "const pair = { A: 'T', C: 'G', G: 'C', T: 'A' }"]
  const names: string[] = []
  const strand = (): string => `seqs[${of(['i % 4', 'n % 4', '(i * 7) % 4', '0', '3', 's > 1 ? 2 : 3'])}]`
  const text = (): string => of([strand(), `grid[${of(['i % 3', '2', 'n % 3'])}]`, 'word', names.length > 0 ? of(names) : strand()])
  const at = (): string => of(['0', '1', 'k', 'k - 1', 'i', 'n', '-1', 'k / 2', 'x.get(i)', '2 * k + 1'])
  const one = (): string => of([`${text()}[${at()}]`, `${text()}[${at()}]`, "'A'", "'#'"])
  const value = (): string => {
    switch (below(6)) {
      case 0:
        return use('its number', `(${text()}.charCodeAt(${at()}) || 7)`)
      case 1:
        return use('how many', `${text()}.length`)
      case 2:
        return use('what an object has for it', `(code[${text()}[${at()}]] ?? 7)`)
      case 3:
        return use('what a Map has for it', `(weight.get(${text()}[${at()}]) ?? (weight.has(${text()}[${at()}]) ? 1 : 3))`)
      case 4:
        return use('compared', `(${text()}[${at()}] ${of(['===', '!==', '=='])} ${one()} ? 2 : 5)`)
      default:
        return use('the text that an object has for it', `(pair[${strand()}[k % 3]] === ${one()} ? 1 : 0)`)
    }
  }
  const statement = (depth: number): string => {
    const inner = (): string => (depth > 0 ? statement(depth - 1) : `s = s * 0.5 + ${value()}`)
    switch (below(6)) {
      case 0:
        return use('one after another', `for (const c of ${text()}) { if (c === ${one()}) n++; s = s * 0.5 + (code[c] ?? 4) }`)
      case 1:
        return `for (let k = 0; k < ${of([`${text()}.length`, '4'])}; k++) { ${inner()}; n = (n + 1) % 97 }`
      case 2: {
        const name = `t${names.length}`
        return use(
          'named',
          `{ const ${name} = ${text()}; for (let k = 1; k <= ${name}.length; k++) if (${name}[k - 1] === ${one()}) n += k }`,
        )
      }
      case 3:
        return use('two compared', `if (${strand()}[${at()}] === ${text()}[${at()}]) { ${inner()} } else { ${inner()} }`)
      default:
        return inner()
    }
  }
  if (below(2) === 0) {
    lines.push(`const a = ${strand()}`, `const b = ${text()}`)
    names.push('a', 'b')
  }
  lines.push('let k = 1')
  for (let n = 2 + below(4); n > 0; n--) lines.push(statement(1))
  lines.push('out.set(i, s + n)')
  return { text: `([i], { x, out }) => {\n${lines.join('\n;')}\n}`, used }
}

test('bodies that ask for characters of captured texts are compiled, run in parallel, and give the bits of plain JavaScript', async () => {
  await expectBitsOfPlain(session, { name: 'characters', draw: bodyText, held: HELD, run: RUN, least: 500 })
})

test('a text that is not there throws, what takes two units is left to JavaScript, and a list that changes is read again', async () => {
  const run = (body: string, held: Readonly<Record<string, unknown>> = HELD) =>
    looped(session, bodyOf(`([i], { x, out }) => { ${body} }`, held))
  expect((await run('out.set(i, seqs[i].length)')).outcome).toBe(
    'The body of the loop over range(20) threw at key [4]: Cannot read properties of undefined',
  )
  const faces = { seqs: ['a😀b', 'ž'] }
  const eachOf = 'let n = 0; for (const c of seqs[i % 2]) n++; out.set(i, n)'
  expect((await run(eachOf, faces)).outcome).toStrictEqual(plain(bodyOf(`([i], { x, out }) => { ${eachOf} }`, faces)))
  const units = 'const t = seqs[i % 2]; out.set(i, t.length + t.charCodeAt(1) + (t[0] === "ž" ? 0.5 : 0))'
  const { outcome, plan } = await run(units, faces)
  expect(outcome).toStrictEqual(plain(bodyOf(`([i], { x, out }) => { ${units} }`, faces)))
  expect(plan.kernel?.target).toMatch(/^wasm/)
  // lanes that are given up inside a loop leave the types of locals as they were
  const widened = `let s = x.get(i), n = 0
    for (let k = 1; k <= seqs[0].length; k++) if (seqs[0][k - 1] === seqs[0][k]) n += k
    for (let k = 0; k < 4; k++) { s = s * 0.5 + (weight.get(seqs[s > 1 ? 2 : 3][x.get(i)]) ?? 3); n = (n + 1) % 97 }
    for (const c of seqs[(i * 7) % 4]) if (c === grid[n % 3][0]) n++
    out.set(i, s + n)`
  expect((await run(widened)).plan.kernel?.target).toMatch(/^wasm/)
  const held = { seqs: ['AC', 'GT'] }
  const body = bodyOf("([i], { x, out }) => out.set(i, seqs[i % 2][1] === 'C' ? 1 : seqs[i % 2].length)", held)
  const [x, out] = [session.fromTypedArray(doubles, [doubles.length]), session.zeros([doubles.length])]
  const loop = session.loop(session.range(doubles.length), { x, out }, body as never)
  await loop.run()
  expect(await out.toTypedArray()).toStrictEqual(plain(body))
  held.seqs[0] = 'AAA'
  held.seqs[1] = 'GC'
  await loop.run()
  expect(await out.toTypedArray()).toStrictEqual(plain(body))
})
