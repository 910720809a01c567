/**
 * Law: a body with lists of objects or of pairs that it makes - pushed onto, taken from at either end, sorted, gone through, with elements
 * that are replaced or whose parts are assigned - is compiled to WebAssembly, runs in parallel, and gives the bits of plain JavaScript.
 */
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { expectAsItStands } from './asItStands.ts'
import { drawing } from './drawing.ts'
import { bodyOf, type DrawnBody, looped, plain } from './drawnBodies.ts'
import { expectBitsOfPlain } from './lawOfBodies.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('recordLists.prop.ts')
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

const HELD = { codes: [3, 1, 4, 1, 5, 9, 2, 6] }

function bodyText(numbers: readonly number[]): DrawnBody {
  const { below, of, use, used } = drawing(numbers)
  const isPair = below(2) === 0
  const [a, b] = isPair ? ['[0]', '[1]'] : ['.a', '.b']
  const pattern = (one: string, two: string): string => (isPair ? `[${one}, ${two}]` : `{ a: ${one}, b: ${two} }`)
  // one list has places that keep their elements, whose parts are assigned; of the other elements move
  const scalar = (): string => of(['s', 'i', 'x.get(i)', String(below(40) / 4), '-0', `still[${below(2)}]${a}`, 'k'])
  const made = (): string => pattern(scalar(), scalar())
  const at = (list: string): string => (list === 'still' ? of(['0', '1', 'i % 2', 'still.length - 1']) : '0')
  const some = (list: string, text: string): string => (list === 'still' ? text : `if (moving.length > 0) { ${text} }`)
  const read = (p: string): string => of([`${p}${a}`, `(${p}${a} - ${p}${b})`, `use(${p})`])
  const statement = (depth: number): string => {
    const list = of(['still', 'moving'])
    const inner = (): string => (depth > 0 ? statement(depth - 1) : `s += ${scalar()}`)
    switch (below(15)) {
      case 0:
        return use('pushed', `${list}.push(${of([made(), `${made()}, ${made()}`])})`)
      case 1:
        return use('pushed many', `for (k = 0; k < ${2 + below(9)}; k++) ${list}.push(${made()})`)
      case 2:
        return use(
          'popped',
          of([`{ const p = moving.pop(); if (p) s = s * 0.5 + ${read('p')} }`, `s += moving.pop()?.${isPair ? '[1]' : 'b'} ?? 3`]),
        )
      case 3:
        return use('shifted', `while (moving.length > ${below(3)}) { const ${pattern('p', 'q')} = moving.shift(); s = s * 0.5 + p - q }`)
      case 4:
        return use('read', some(list, `s = s * 0.5 + ${read(`${list}[${at(list)}]`)}`))
      case 5:
        return use(
          'gone through',
          `for (const ${of(['p', pattern('c', 'd')]).replace(/^p$/, 'e')} of ${list}) s = s * 0.5 + 1`
            .replace('const e of', 'const e of')
            .replace('+ 1', '+ s * 0.25'),
        )
      case 6:
        return use('each', `for (const p of ${list}) { s = s * 0.75 + ${read('p')}; if (s > 1e6) break }`)
      case 7:
        return use(
          'a part is assigned',
          of([
            `still[${at('still')}]${a} ${of(['=', '+=', '*='])} ${scalar()}`,
            `for (const p of still) { p${b} -= p${a} * 0.5; p${a} = ${scalar()} }`,
            `{ const p = still[${at('still')}]; p${a}++; s += p${a} - still[0]${a} }`,
          ]),
        )
      case 8:
        return use('replaced', some('moving', `moving[${of(['0', 'moving.length - 1'])}] = ${made()}`))
      case 9:
        return use(
          'exchanged',
          `if (moving.length > 1) { ${of(['const t = moving[0]; moving[0] = moving[1]; moving[1] = t', '[moving[0], moving[1]] = [moving[1], moving[0]]'])} }`,
        )
      case 10:
        return use(
          'method',
          of([
            `still.forEach((p, n) => { s = s * 0.5 + ${read('p')} * n })`,
            `s += moving.reduce((sum, p) => sum * 0.5 + p${b}, 1)`,
            `s += moving.some((p) => p${a} > 2) ? 1 : 2`,
            `s += still.findIndex((p) => p${b} < s)`,
          ]),
        )
      case 11:
        return use(
          'sorted',
          `{ const own = []; for (let j = 0; j < ${1 + below(8)}; j++) own.push(${made()}); own.sort((p, q) => ${of([`p${a} - q${a}`, `q${b} - p${b}`, `(p${a} > q${a} ? 1 : -1)`])}); for (const p of own) s = s * 0.5 + ${read('p')} }`,
        )
      case 12:
        return use(
          'mapped',
          of([
            `for (const p of codes.map((c, n) => (${pattern('c', 'n')}))) s = s * 0.5 + ${read('p')}`,
            `for (const v of moving.map((p) => p${a} * 2)) s = s * 0.5 + v`,
            `for (const p of moving.filter((o) => o${a} > 1)) s = s * 0.5 + ${read('p')}`,
          ]),
        )
      case 13:
        return `for (let n = 0; n < ${1 + below(3)}; n++) { ${inner()} }`
      default:
        return `if (${scalar()} > ${below(3)}) { ${inner()} } else { ${inner()} }`
    }
  }
  const lines = [
    'let s = x.get(i), k = 1',
    `const use = (o) => o${a} * 2 - o${b}`,
    `const still = [${pattern('1', '2')}, ${pattern('s', 'i')}]`,
    `still.push(${pattern('s', '3')})`,
    `const moving = ${of(['[]', `[${pattern('i', 's')}]`])}`,
    `moving.push(${pattern('i', 's')})`,
  ]
  for (let n = 2 + below(5); n > 0; n--) lines.push(statement(1))
  lines.push(
    'if (!(Math.abs(s) < 1e300)) s = 0',
    `for (const p of still) s = s * 0.5 + (Math.abs(use(p)) < 1e300 ? use(p) : 3)`,
    `while (moving.length > 0) { const p = moving.pop(); s = s * 0.5 - (Math.abs(use(p)) < 1e300 ? use(p) : 5) }`,
    's += still.length',
  )
  return { text: `([i], { x, out }) => {\n${lines.join('\n;')}\nout.set(i, s)\n}`, used }
}

test('bodies with lists of objects are compiled, run in parallel, and give the bits of plain JavaScript', async () => {
  await expectBitsOfPlain(session, { name: 'lists of objects', draw: bodyText, held: HELD, run: RUN, least: 500 })
})

test('a list of objects that cannot be arrays is refused by name, and a body with one that is full begins again as it stands', async () => {
  const run = (body: string) => looped(session, bodyOf(`([i], { x, out }) => { ${body} }`, HELD))
  const because = async (body: string): Promise<string | undefined> =>
    (await run(body)).plan.kernel?.because?.map(({ message, cure }) => `${message} ${cure}`).join('\n')
  const many =
    'const q = [[0, i]]; while (q.length < 33000) { const [a, b] = q.pop(); q.push([a + 1, b]); q.push([a, b]) } out.set(i, q[32000][0])'
  await expectAsItStands(
    session,
    many,
    HELD,
    'q has more than 32,768 elements. Make it as long as it may become, as new Float64Array(n), and count them.',
  )
  const long = `let s = i; const q = [[i, 1], [2, i]]; for (let t = 0; t < 70000 && q.length > 0; t++) { const [a, b] = q.shift(); s = (s * 3 + a - b) % 1009; q.push([b, (a + t) % 7]) } out.set(i, s)`
  expect((await run(long)).outcome).toStrictEqual(plain(bodyOf(`([i], { x, out }) => { ${long} }`, HELD)))
  const lengths = 'const q = [[0, 1]]; q.push([1, q.length], [2, q.length]); out.set(i, q[0][1] + q[1][1] * 10 + q[2][1] * 100)'
  expect((await run(lengths)).outcome).toStrictEqual(plain(bodyOf(`([i], { x, out }) => { ${lengths} }`, HELD)))
  // objects that may have several names and are changed lie in memory of their own
  for (const body of [
    'const q = [{ a: 1 }]; q.push({ a: i }); q[0].a = 2; q.pop(); out.set(i, q[0].a)',
    'const p = { a: 1 }; const q = []; q.push(p); q[0].a = i; out.set(i, p.a)',
  ]) {
    expect(await because(body), body).toBeUndefined()
    expect((await run(body)).outcome, body).toStrictEqual(plain(bodyOf(`([i], { x, out }) => { ${body} }`, HELD)))
  }
  expect(await because('const q = [{ a: 1 }]; q.push({ b: i }); out.set(i, q.length)')).toBe(
    'It gives a place an object or array with other parts than its first has. Give all of them the same fields, in one order, each of them a number or truth value.',
  )
  const empty =
    'It puts something into g that is no plain list which it makes, or an object without fields. Put a copy there, as [...list], or give the object all its fields where it is made.'
  expect(await because('const g = []; for (let v = 0; v < i; v++) g.push({}); while (g.length > 0) g.shift(); out.set(i, g.length)')).toBe(
    empty,
  )
  expect(
    await because('const g = []; for (let v = 0; v < i; v++) g.push({ v, o: {} }); while (g.length > 0) g.shift(); out.set(i, g.length)'),
  ).toBe(empty)
})
