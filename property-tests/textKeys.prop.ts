/**
 * Law: a body with Sets and Maps of texts, with objects whose names it computes, with variables that hold texts, and with functions that
 * call themselves while a number may be absent, gives the bits of plain JavaScript, is compiled to WebAssembly and runs in parallel.
 */
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { drawing } from './drawing.ts'
import { bodyOf, type DrawnBody, expectCompiled, looped, plain } from './drawnBodies.ts'
import { expectBitsOfPlain } from './lawOfBodies.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('textKeys.prop.ts', 300)
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

const HELD = {
  words: ['the', 'cat', 'sat', 'the', 'mat', 'cat', 'a', '', 'žluť', 'the', '😀', 'undefined', 'null'],
  docs: [['a', 'b', 'a'], ['cat', 'b', 'a', 'the'], [], ['sat'], ['the', 'the']],
  items: [
    { name: 'a', w: 2 },
    { name: 'cat', w: -0 },
    { name: 'a', w: 0.5 },
    { name: 'sat', w: 7 },
  ],
  line: 'mississippi river',
  price: { the: 1, cat: 2.5, sat: -3 },
  one: 'cat',
  odd: [3, 1, -0, 0.5, 3, Number.NaN, 1e21, 1],
}

function bodyText(numbers: readonly number[]): DrawnBody {
  const { below, of, use, used } = drawing(numbers)
  const word = (): string =>
    of([
      'words[i % 13]',
      'words[i]',
      "'the'",
      "'cat'",
      'one',
      'label',
      'state',
      'docs[i % 5][1]',
      "(i % 3 === 0 ? 'a' : 'sat')",
      'line[i]',
      'items[i % 4].name',
    ])
  const value = (): string =>
    of(['i', 's', 'x.get(i)', String(below(40) / 4), `(counts[${word()}] ?? 0) + 1`, `(held.get(${word()}) ?? 2) * 0.5`])
  const test = (): string =>
    of([
      `seen.has(${word()})`,
      `${word()} in counts`,
      `Object.hasOwn(counts, ${word()})`,
      `counts[${word()}]`,
      `truths.get(${word()})`,
      `held.has(${word()})`,
      `state === ${word()}`,
      `label !== ${word()}`,
      'Object.keys(counts).length > 2',
      'last !== null',
      'last == null',
    ])
  const list = (): string => of(['words', 'docs[i % 5]', 'docs[(i + 2) % 5]', 'line', 'seen', 'Object.keys(counts)', 'held.keys()'])
  const statement = (depth: number): string => {
    const inner = (): string => (depth > 0 ? statement(depth - 1) : `s += ${value()}`)
    switch (below(15)) {
      case 0:
        return use(
          'a Set',
          of([`seen.add(${word()})`, `for (const w of docs[i % 5]) seen.add(w)`, `if (!seen.has(${word()})) seen.add(${word()})`]),
        )
      case 1:
        return use('a Map', of([`held.set(${word()}, ${value()})`, `{ const w = ${word()}; held.set(w, (held.get(w) ?? 0) + 1) }`]))
      case 2:
        return use(
          'names',
          of([`counts[${word()}] = ${value()}`, `counts.the = ${value()}`, `{ const w = ${word()}; counts[w] = (counts[w] ?? 0) + 1 }`]),
        )
      case 3:
        return use(
          'compound names',
          of([
            `counts[${word()}] += ${value()}`,
            `counts[${word()}]++`,
            `counts[${word()}] ??= ${value()}`,
            `counts[${word()}] ||= 2`,
            `s += counts.cat++`,
            `s += (counts[${word()}] ??= ${value()})`,
          ]),
        )
      case 4:
        return use('asked', `if (${test()}) { ${inner()} } else { ${inner()} }`)
      case 5:
        return use(
          'gone through',
          of([
            `for (const w of ${list()}) { s = s * 0.5 + (counts[w] ?? 3); if (w === ${word()}) break }`,
            `for (const [w, c] of held) s = s * 0.5 + c - (w === ${word()} ? 1 : 0)`,
            `for (const w in counts) s = s * 0.5 + counts[w]`,
            `for (const [w, c] of Object.entries(counts)) if (w !== 'the') s = s * 0.5 + c`,
            `for (const c of Object.values(counts)) s = s * 0.5 + c`,
            `held.forEach((c, w) => { s = s * 0.5 + c + (seen.has(w) ? 1 : 0) })`,
          ]),
        )
      case 6:
        return use(
          'changed while it is gone through',
          of([
            `for (const w in counts) counts[w] *= 0.5`,
            `for (const w in counts) counts[w + ''] = 1`.replace("w + ''", word()),
            `for (const [w, c] of held) { if (held.size < 9) held.set(${word()}, c) }`,
          ]),
        )
      case 7:
        return use(
          'removed',
          of([
            `delete counts[${word()}]`,
            `delete counts.cat`,
            `held.delete(${word()})`,
            `if (seen.delete(${word()})) s++`,
            `if (held.size > 4) held.clear()`,
          ]),
        )
      case 8:
        return use(
          'variables',
          of([
            `state = ${word()}`,
            `label = state`,
            `last = ${word()}`,
            `state = label === 'cat' ? 'the' : ${word()}`,
            `for (const w of ${list()}) { if (w === label) s++; label = w }`,
            `last = null`,
          ]),
        )
      case 9:
        return use(
          'a switch',
          `switch (${of(['state', 'label'])}) { case 'the': ${inner()}; break; case 'cat': state = 'sat'; break; default: s += 2 }`,
        )
      case 10:
        return use(
          'truth values',
          of([
            `truths.set(${word()}, ${of(['true', 'false', 'i > 4', 'label === state'])})`,
            `if (truths.get(${word()})) s += 5`,
            `for (const [w, t] of truths) if (t) s = s * 0.5 + (w === state ? 1 : 2)`,
          ]),
        )
      case 11:
        return use(
          'texts as values',
          of([
            `{ const w = before.get(state); if (w !== undefined) state = w }`,
            `before.set(${word()}, ${word()})`,
            `if (before.get(${word()}) === ${word()}) s += 3`,
            `for (const [to, from] of before) if (to === from) s++`,
          ]),
        )
      case 12:
        return use(
          'numbers as names',
          `{ const marks = {}; for (const v of odd) { marks[v] = (marks[v] ?? 0) + 1; if (marks[i % 4]) s += marks[i % 4] } s += Object.keys(marks).length + (marks[3] ?? 0) + (marks['0.5'] ?? 0) }`,
        )
      case 13:
        return use(
          'calls of itself',
          of([
            `{ const memo = {}; const f = (n) => { if (n < 2) return n; if (memo[n] !== undefined) return memo[n]; const r = f(n - 1) + f(n - 2) * 0.5; memo[n] = r; return r }; s += f(i % 20) }`,
            `{ const memo = new Map(); const f = (n) => { if (n in odd) return odd[n] > 2 ? 1 : n; const c = memo.get(n); if (c !== undefined) return c; const r = f(n - 3) + f(n - 1) * 0.25; memo.set(n, r); return r }; s += f(i % 20) }`
              .replace('n in odd', 'n < 4')
              .replace('odd[n] > 2 ? 1 : n', 'n'),
            `{ const memo = {}; const f = (n) => memo[n] ??= n < 2 ? n : f(n - 1) * 0.5 + f(n - 2); s += f(i % 20) }`,
          ]),
        )
      default:
        return use(
          'made in a loop',
          of([
            `for (let q = 0; q < 3; q++) { const own = {}; for (const w of docs[q]) own[w] = (own[w] ?? q) + 1; s = s * 0.5 + (own.a ?? 1) }`,
            `{ const own = new Set([...docs[i % 5], ${word()}]); s = s * 0.5 + own.size }`,
            `{ const own = items.reduce((sums, { name, w }) => { sums[name] = (sums[name] ?? 0) + w; return sums }, {}); s += own.a - (own[${word()}] ?? 1) }`,
            `{ const count = (list) => { const c = {}; for (const w of list) c[w] = (c[w] ?? 0) + 1; return c }; const a = count(words), b = count(line); for (const w in b) if (a[w] !== undefined) s += 1; s += a.the }`,
            `{ const known = new Map([['the', 2], ['cat', i]]); s += known.get(${word()}) ?? -1; s += price[${word()}] ?? 4 }`,
          ]),
        )
    }
  }
  const lines = [
    'let s = x.get(i)',
    `let state = ${of(["'the'", 'words[i % 13]'])}`,
    "let label = i % 2 === 0 ? 'cat' : 'none'",
    'let last = i > 9 ? null : words[i + 6]',
    `const seen = new Set(${of(['', 'docs[i % 5]', "['cat', 'a']"])})`,
    `const counts = ${of(['{}', '{ the: 1, cat: i }', '{ a: 0 }'])}`,
    "const held = new Map([['sat', s]])",
    "const truths = new Map([['the', true]])",
    "const before = new Map([['cat', 'the']])",
    'counts.sat = 1',
    "seen.add('sat')",
  ]
  for (let k = 1 + below(3); k > 0; k--) lines.push(statement(1))
  // a NaN or an infinity would hide how many keys there are
  lines.push(
    'if (!(Math.abs(s) < 1e300)) s = 0',
    'if (last == null) s += 2',
    'for (const w of seen) s = s * 0.5 + (w === state ? 1 : 2)',
    'for (const w in counts) s = s * 0.5 + (Math.abs(counts[w]) < 1e300 ? counts[w] : 3) + (w === label ? 1 : 0)',
    'for (const [w, c] of held) s = s * 0.5 + (Math.abs(c) < 1e300 ? c : 4) + (w === last ? 1 : 0)',
    's += seen.size - held.size * 7 + truths.size * 3 + before.size',
  )
  return { text: `([i], { x, out }) => {\n${lines.join('\n;')}\nout.set(i, s)\n}`, used }
}

test('bodies with texts as keys and in variables are compiled, run in parallel, and give the bits of plain JavaScript', async () => {
  await expectBitsOfPlain(session, { name: 'text keys', draw: bodyText, held: HELD, run: RUN, least: 200 })
})

test('what objects with computed names do otherwise than Maps is refused by name', async () => {
  const because = async (body: string, held: Record<string, unknown> = HELD) => {
    const { plan, outcome } = await looped(session, bodyOf(`([i], { x, out }) => { ${body} }`, { ...HELD, ...held }))
    expect(outcome).toStrictEqual(plain(bodyOf(`([i], { x, out }) => { ${body} }`, { ...HELD, ...held })))
    return plan.kernel?.because?.map(({ message, cure }) => `${message} ${cure}`)
  }
  const counting = 'const c = {}; for (const w of texts) c[w] = (c[w] ?? 0) + 1;'
  expect(await because(`${counting} out.set(i, c.a)`, { texts: ['constructor', 'a'] })).toStrictEqual([
    'Among the texts that it uses are names that all objects have, as constructor, and c would have these before they are given. Use a Map, as counts.set(key, (counts.get(key) ?? 0) + 1).',
  ])
  expect(
    await because(`${counting} let s = 0; for (const w in c) s = s * 3 + c[w]; out.set(i, s)`, { texts: ['b', '10', '2'] }),
  ).toStrictEqual([
    'It goes through c, whose names may be numbers, which objects put in order before others. Use a Map, which keeps the order in which keys were put in.',
  ])
  expect(
    await because(
      'const c = { a: 1 }; for (const w of words) c[w] = i; for (const [w, v] of Object.entries(c)) c[w] = v * 2; out.set(i, c.a)',
    ),
  ).toStrictEqual([
    'It changes c while it goes through what that held before. Use a Map, whose loops see what changes meanwhile, or keep what is to change in another object.',
  ])
  expect(await because('const c = new Map(); c.set(words[i % 3], 1); c.set(i, 2); out.set(i, c.size)')).toStrictEqual([
    'It uses i as a key or value of a collection of texts, and it may be none that is written out or captured. Take texts of captured lists, objects and texts, or number what they say, and use these numbers.',
  ])
})

test('a text that is tested is true where it is there and not empty', async () => {
  for (const tested of [
    'last',
    '!last',
    'last && label',
    '!(last || words[i])',
    'words[i] || label',
    '!(i > 4 && last)',
    '!!last === i > 3',
  ]) {
    const body = `([i], { x, out }) => {
      let last = i % 3 === 0 ? null : words[(i + 5) % 15]
      let label = i % 2 === 0 ? '' : 'cat'
      let s = 0
      for (const w of docs[i % 5]) { if (${tested}) s++; if (w !== 'b') last = w; else label = 'the' }
      out.set(i, (${tested}) ? s + 10 : s)
    }`
    const { outcome, plan } = await looped(session, bodyOf(body, HELD))
    expectCompiled(plan, body)
    expect(outcome, body).toStrictEqual(plain(bodyOf(body, HELD)))
  }
})

test('names that are undefined and null are texts, and a variable that is used otherwise holds its text', async () => {
  for (const body of [
    'const c = {}; for (let k = 0; k < 16; k++) { const w = words[k]; c[w] = (c[w] ?? 0) + 1 } out.set(i, c.undefined * 10 + c.null)',
    'const c = {}; for (const w of docs[i % 5]) c[w] = i; let n = 0; for (const w in c) { c.more = 1; n++ } out.set(i, n * 10 + Object.keys(c).length)',
    "let w = words[i % 13]; if (i > 9) w = 'sat on'; out.set(i, w.length + (w === 'cat' ? 100 : 0))",
  ]) {
    const text = `([i], { x, out }) => { ${body} }`
    const { outcome } = await looped(session, bodyOf(text, HELD))
    expect(outcome, text).toStrictEqual(plain(bodyOf(text, HELD)))
  }
})
