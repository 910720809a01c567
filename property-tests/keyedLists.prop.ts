/**
 * Law: a body that groups - with Maps and objects whose values are lists or objects that it makes, which it changes under any name - is
 * compiled to WebAssembly, runs in parallel, and gives the bits of plain JavaScript.
 */
import { afterAll, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { drawing } from './drawing.ts'
import type { DrawnBody } from './drawnBodies.ts'
import { expectBitsOfPlain } from './lawOfBodies.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('keyedLists.prop.ts', 200)
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

const HELD = {
  codes: [3, 1, 4, 1, 5, 9, 2, 6],
  words: ['a', 'b', 'the', 'b', 'a', 'cat', 'the', 'a'],
}

/** One of these: lists, a Map of lists; counts, a Map of objects with a list in each; byWord, an object whose names are computed. */
function bodyText(numbers: readonly number[]): DrawnBody {
  const { below, of, use, used } = drawing(numbers)
  const subject = of(['lists', 'counts', 'words'] as const)
  const [removes, ofLists] = [below(3) === 0, below(2) === 0]
  const key = (): string => of(['i % 4', 'k % 3', 'k', String(below(5)), '-0', 'NaN', 's', 'codes[k % 8]'])
  const scalar = (): string => of(['s', 'i', 'k', 'x.get(i)', String(below(40) / 4), '-0'])
  const word = (): string => of(['words[k % 8]', 'words[i % 8]', '"the"', '"b"'])
  const list = (): string => of([`[${scalar()}]`, '[]', `[${scalar()}, ${scalar()}]`, 'one', `[...one, ${scalar()}]`, 'one.slice(0, 2)'])
  const counted = (): string => of([`{ n: ${scalar()}, own: ${list()} }`, 'same', '{ n: 1, own: [] }'])
  const given = (): string => (ofLists ? list() : counted())
  const small = (value: string): string => `(Math.abs(${value}) < 1e9 ? ${value} : 3)`
  const ofGroups = (): string => {
    const at = key()
    switch (below(9)) {
      case 0:
        return use(
          'grouped',
          `{ const g = lists.get(${at}); if (${of(['g', 'g !== undefined', 'g && g.length < 9'])}) g.push(${scalar()}); else lists.set(${at}, ${list()}) }`,
        )
      case 1:
        return use('asked first', `{ const at = ${at}; if (!lists.has(at)) lists.set(at, ${list()}); lists.get(at).push(${scalar()}) }`)
      case 2:
        return use('set', `lists.set(${at}, ${list()})`)
      case 3:
        return use(
          'alias',
          `{ const a = ${of(['lists.get(1)', 'one'])}; if (a) { lists.set(2, a); a.push(${scalar()}); s += lists.get(2).length; s += a.length } }`,
        )
      case 4:
        return use(
          'variable',
          `{ let g = lists.get(${at}); if (${of(['!g', 'g === undefined', 'g == null'])}) { g = ${list()}; lists.set(${at}, g) } g.push(${scalar()}); s = s * 0.5 + g.length }`,
        )
      case 5:
        return use(
          'otherwise',
          of([
            `{ const g = lists.get(${at}) ?? one; g.push(k); s += g.length }`,
            `for (const v of lists.get(${at}) ?? []) s = s * 0.5 + ${small('v')}`,
            `s = s * 0.5 + (lists.get(${at})?.length ?? ${scalar()})`,
          ]),
        )
      case 6:
        return use(
          'lists gone through',
          of([
            'for (const [at, g] of lists) { s = s * 0.5 + g.length + (at > 2 ? 1 : 0); if (g.length < 3) g.push(s) }',
            'for (const g of lists.values()) for (const v of g) if (v > s) s = s * 0.5 + (v < 1e9 ? v : 2)',
            `lists.forEach((g, at) => { s = s * 0.5 + g.reduce((a, b) => a * 0.5 + ${small('b')}, at > 1 ? 1 : 0) })`,
          ]),
        )
      case 7:
        if (!removes)
          return use(
            'list of lists',
            `{ const all = [...lists.values()]; if (all.length > 0) { all[0].push(${scalar()}); s += all[all.length - 1].length } all.push([k]); s += all.length }`,
          )
        return use(
          'removed',
          of([
            `lists.delete(${at})`,
            'if (lists.size > 3) lists.clear()',
            'for (const [at, g] of lists) if (g.length > 2) lists.delete(at)',
          ]),
        )
      default:
        return use('function', of([`add(${at}, ${scalar()})`, `s = s * 0.5 + sizeOf(${at})`]))
    }
  }
  const ofCounts = (): string => {
    const at = key()
    switch (below(8)) {
      case 0:
        return use(
          'counted',
          `{ const g = counts.get(${at}); if (g) { g.n ${of(['++', '+= s', '= k'])}; g.own.push(${scalar()}) } else counts.set(${at}, ${counted()}) }`,
        )
      case 1:
        return use('object under two keys', 'counts.set(3, same); same.n += s; counts.get(3).own.push(1); s = s * 0.5 + same.own.length')
      case 2:
        return use(
          'object variable',
          `{ let g = counts.get(${at}); if (!g) { g = ${counted()}; counts.set(${at}, g) } g.n += 1; s = s * 0.5 + g.own.length + ${small('g.n')} }`,
        )
      case 3:
        return use('otherwise an object', `{ const old = counts.get(${at}) ?? same; counts.set(k, { n: old.n + 1, own: old.own }) }`)
      case 4:
        return use(
          'objects gone through',
          of([
            'for (const [at, g] of counts) { g.n++; s = s * 0.5 + g.own.length - (at > 2 ? 1 : 0) }',
            `for (const { n, own } of counts.values()) s = s * 0.5 + own.length + ${small('n')}`,
            'counts.forEach((g) => { g.own.push(k); s += g.own.length })',
          ]),
        )
      case 5:
        return use('the same', `s += same ${of(['===', '!==', '==', '!='])} counts.get(${at}) ? 1 : 2`)
      case 6:
        if (!removes)
          return use(
            'sorted',
            '{ const all = [...counts.values()].sort((a, b) => b.own.length - a.own.length); if (all.length > 1) { all[0].n += 1; s += all[1].own.length } }',
          )
        return use('object removed', of([`counts.delete(${at})`, 'if (counts.size > 2) counts.clear()']))
      default:
        return use(
          'part of one that may be absent',
          of([
            `{ const a = counts.get(${at})?.own; if (a) { a.push(${scalar()}); s += a.length } }`,
            `{ const g = found(${/^\d+$|NaN|-0/.test(at) ? 'i' : at}); if (g) g.n++; s += g ? g.own.length : 3 }`,
            `s = s * 0.5 + (counts.get(${at})?.own.length ?? k)`,
          ]),
        )
    }
  }
  const ofWords = (): string => {
    switch (below(3)) {
      case 0:
        return use(
          'names',
          of([
            `(byWord[${word()}] ??= ${given()})`,
            `byWord[${word()}] = ${given()}`,
            `if (!byWord[${word()}]) byWord.the = ${given()}`,
            `if (!(${word()} in byWord)) byWord.cat = ${given()}`,
          ]),
        )
      case 1:
        return ofLists
          ? use(
              'named list changed',
              of([
                `(byWord[${word()}] ??= []).push(${scalar()})`,
                `byWord[${word()}]?.push(${scalar()})`,
                `(byWord[${word()}] ||= ${list()}).push(k)`,
              ]),
            )
          : use(
              'named object changed',
              of([
                `(byWord[${word()}] ??= { n: 0, own: [] }).n++`,
                `{ const w = byWord[${word()}]; if (w) w.n += s }`,
                `(byWord[${word()}] ||= same).own.push(k)`,
              ]),
            )
      default:
        return ofLists
          ? use(
              'lists of names',
              of([
                'for (const w in byWord) s = s * 0.5 + byWord[w].length',
                "for (const [w, g] of Object.entries(byWord)) s = s * 0.5 + g.length * (w === 'the' ? 2 : 1)",
                'for (const g of Object.values(byWord)) { g.push(k); s += g.length }',
              ]),
            )
          : use(
              'objects of names',
              of([
                'for (const w in byWord) s = s * 0.5 + byWord[w].own.length',
                "for (const [w, g] of Object.entries(byWord)) { g.n++; s = s * 0.5 + g.own.length * (w === 'b' ? 2 : 1) }",
              ]),
            )
    }
  }
  const statement = (depth: number): string => {
    const inner = (): string => (depth > 0 ? statement(depth - 1) : `s = s * 0.5 + ${scalar()}`)
    switch (below(8)) {
      case 0:
        return `for (let q = 0; q < ${1 + below(4)}; q++) { k = q; ${inner()} }`
      case 1:
        return `if (${scalar()} > ${below(3)}) { ${inner()} } else { ${inner()} }`
      default:
        return subject === 'lists' ? ofGroups() : subject === 'counts' ? ofCounts() : ofWords()
    }
  }
  const first = of([
    'lists.set(1, one); lists.set(0, [k])',
    'lists.set(0, one); lists.set(1, one)',
    'for (const c of codes) { if (!lists.has(c % 3)) lists.set(c % 3, []); lists.get(c % 3).push(c) }',
  ])
  const begun = {
    lists: [
      'const lists = new Map()',
      first,
      'const add = (at, v) => { const g = lists.get(at); if (g === undefined) lists.set(at, [v]); else g.push(v) }',
      'const sizeOf = (at) => { for (const [b, g] of lists) if (b === at) return g.length; return -1 }',
    ],
    counts: [
      'const counts = new Map()',
      'counts.set(1, same); counts.set(2, { n: k, own: [s] })',
      of([
        'const found = (at) => { if (at > 2) return undefined; return counts.get(at) }',
        'const found = (at) => { if (at < 3) return counts.get(at) }',
      ]),
    ],
    words: ['const byWord = {}', ofLists ? "byWord.b = [1]; byWord['the'] = one" : 'byWord.b = { n: 2, own: one }'],
  }
  const ended = {
    lists: `for (const [at, g] of lists) { s = s * 0.5 + ${small('at')}; for (const v of g) s = s * 0.5 + ${small('v')} } s += lists.size`,
    counts: `for (const [at, g] of counts) s = s * 0.5 + ${small('at')} + ${small('g.n')} - g.own.length; s -= counts.size`,
    words: ofLists
      ? 'for (const w in byWord) s = s * 0.75 + byWord[w].length'
      : `for (const w in byWord) s = s * 0.75 + ${small('byWord[w].n')} - byWord[w].own.length`,
  }
  const lines = ['let s = x.get(i), k = 1', 'const one = [i, 2]; const same = { n: s, own: [1] }', ...begun[subject]]
  for (let n = 1 + below(4); n > 0; n--) lines.push(statement(1))
  lines.push('if (!(Math.abs(s) < 1e300)) s = 0.25', ended[subject], `s += one.length * 7 + same.own.length * 3 + ${small('same.n')}`)
  return { text: `([i], { x, out }) => {\n${lines.join('\n;')}\nout.set(i, s)\n}`, used }
}

test('bodies that group are compiled, run in parallel, and give the bits of plain JavaScript', async () => {
  await expectBitsOfPlain(session, { name: 'keyedLists', draw: bodyText, held: HELD, run: RUN, least: 300 })
})
