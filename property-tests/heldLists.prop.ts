/**
 * Law: a body with lists of lists that it makes - adjacency lists, buckets, rows that are pushed, paths, nodes with children - is compiled to
 * WebAssembly, runs in parallel, and gives the bits of plain JavaScript, whatever names a list has and wherever it lies.
 */
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { expectAsItStands } from './asItStands.ts'
import { drawing } from './drawing.ts'
import { bodyOf, type DrawnBody, looped, plain } from './drawnBodies.ts'
import { expectBitsOfPlain } from './lawOfBodies.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('heldLists.prop.ts')
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

const HELD = { codes: [3, 1, 4, 1, 5, 9, 2, 6] }

function bodyText(numbers: readonly number[]): DrawnBody {
  const { below, of, use, used } = drawing(numbers)
  // rows: lists of numbers; pairs: lists of pairs; nodes: objects with a list of numbers in each
  const scalar = (): string => of(['s', 'i', 'x.get(i)', String(below(40) / 4), '-0', 'k', 'rows.length', 'one.length'])
  const also = of(['pairs', 'nodes', 'nothing'])
  const row = (): string => {
    const own = also === 'nodes' ? ['nodes[0].own', 'nodes[k % 2].own'] : []
    return of(['rows[0]', 'rows[i % 2]', 'rows[rows.length - 1]', 'one', 'one', 'rows[k % rows.length]', ...own])
  }
  const made = (): string =>
    of([
      '[]',
      `[${scalar()}]`,
      `[${scalar()}, ${scalar()}]`,
      `[...${row()}, ${scalar()}]`,
      `[...${row()}, ...${row()}]`,
      `${row()}.slice()`,
      `${row()}.slice(${of(['1', '0, 2', '-2', '1, -1'])})`,
      `${row()}.map((v) => v * 2)`,
      `${row()}.filter((v) => v > 1)`,
      'new Array(2).fill(s)',
      'codes.slice(1, 3)',
    ])
  const list = (): string => of([made(), made(), row()])
  const statement = (depth: number): string => {
    const inner = (): string => (depth > 0 ? statement(depth - 1) : `s += ${scalar()}`)
    switch (below(19)) {
      case 0:
        return use('list pushed', `rows.push(${of([list(), `${list()}, ${list()}`])})`)
      case 1:
        return use('pushed', `${row()}.push(${of([scalar(), `${scalar()}, ${scalar()}`, `...${row()}`])})`)
      case 2:
        return use('pushed many', `for (let j = 0; j < ${2 + below(9)}; j++) ${row()}.push(${of(['j', 's', 'j * s'])})`)
      case 3:
        return use('alias', `{ const a = ${row()}; ${row()}.push(${scalar()}); a.push(${scalar()}); s = s * 0.5 + a.length; rows[0] = a }`)
      case 4:
        return use('place', `rows[${of(['0', 'i % 2', 'rows.length - 1', 'rows.length'])}] = ${list()}`)
      case 5:
        return use('variable', `${of(['one', 'one', 'two'])} = ${of([list(), 'two', 'one'])}; two.push(${scalar()})`)
      case 6:
        return use('taken', `s = s * 0.5 + (${row()}.${of(['pop', 'shift'])}() ?? 3)`)
      case 7:
        return use(
          'list taken',
          `{ rows.push(${list()}); const p = rows.${of(['pop', 'shift'])}(); ${of(['if (p !== undefined) p.push(4)', 'if (p) s += p.length', 's += 1'])}; if (rows.length < 2) rows.push([k], [])}`,
        )
      case 8:
        return use(
          'while',
          `{ const a = ${row()}; while (a.length > ${below(3)}) { s = s * 0.5 + a.${of(['pop', 'shift'])}()${of(['', '; if (one.length > 0) one.pop()'])} } }`,
        )
      case 9:
        return use('gone through', `for (const v of ${row()}) { s = s * 0.75 + v; if (s > 1e6) break }`)
      case 10:
        return use('all gone through', `for (const a of rows) { s = s * 0.5 + a.length; for (const v of a) s = s * 0.5 + v }`)
      case 11:
        return use(
          'element',
          `{ const a = ${row()}; if (a.length > 0) { a[${of(['0', 'a.length - 1'])}] ${of(['=', '+=', '*='])} ${scalar()}; s += a[0] } a[a.length] = ${scalar()} }`,
        )
      case 12:
        return use(
          'method',
          of([
            `{ const a = ${row()}; a.sort((p, q) => ${of(['p - q', 'q - p', '(p > q ? 1 : -1)'])}) }`,
            `${row()}.reverse()`,
            `s += ${row()}.reduce((sum, v) => sum * 0.5 + v, 1)`,
            `${row()}.forEach((v, n) => { s = s * 0.5 + v * n })`,
            `s += ${row()}.indexOf(${scalar()}) + (${row()}.includes(1) ? 1 : 2)`,
            `s += ${row()}.some((v) => v > 2) ? 1 : 2`,
            `s += Math.max(1, ...${row()}.slice(0, 3).map((v) => v)) > 2 ? 1 : 2`
              .replace('Math.max(1, ...', '[')
              .replace('.map((v) => v))', '.map((v) => v)].length'),
          ]),
        )
      case 13:
        if (also !== 'pairs') return inner()
        return use(
          'pairs',
          of([
            `pairs[${of(['0', 'i % 2', 'k % 2'])}].push(${of(['[s, i]', '[k, s]', '[i, 1], [s, 2]'])})`,
            `for (const [a, b] of pairs[${of(['0', 'k % 2'])}]) s = s * 0.5 + a - b`,
            `{ const p = pairs[i % 2].pop(); if (p) s = s * 0.5 + p[0] - p[1] }`,
            `while (pairs[0].length > 1) { const [a, b] = pairs[0].shift(); s = s * 0.5 + a * b }`,
          ]),
        )
      case 14:
        if (also !== 'nodes') return inner()
        return use(
          'nodes',
          of([
            `nodes.push({ v: ${scalar()}, own: ${list()} })`,
            `for (const { v, own } of nodes) { s = s * 0.5 + v; for (const w of own) s = s * 0.5 + w }`,
            `for (const p of nodes) s = s * 0.5 + p.v + p.own.length`,
            `{ const p = nodes[k % 2]; for (let j = 0; j < 9; j++) nodes.push({ v: j, own: [] }); p.own.push(s); s += nodes[k % 2].own.length; nodes[0].v += 1; s += p.v }`,
          ]),
        )
      case 15:
        return use(
          'function',
          of([
            `add(${row()}, ${scalar()})`,
            `s += total(${row()})`,
            `rows.push(longer(${row()}, ${row()}))`,
            `longer(${row()}, ${row()}).push(${scalar()})`,
          ]),
        )
      case 16:
        return use(
          'made of lists',
          of([
            `for (const a of rows.map((r) => [...r, s])) s = s * 0.5 + a.length + a[0]`,
            `for (const a of rows.filter((r) => r.length > 1)) { a.push(1); s = s * 0.5 + a.length }`,
            `{ const all = rows.concat(${of(['rows', '[[s]]', 'rows.slice(1)'])}); all[0].push(2); s += all.length + all[all.length - 1].length }`,
            `{ const part = rows.slice(${of(['0', '1', '-1'])}); for (const a of part) { s += a.length; a.push(3) } }`,
            `{ const table = Array.from({ length: ${of(['3', 'k % 3 + 1'])} }, (_, n) => [n]); table[0].push(s); rows.push(table[table.length - 1]); s += table[0].length }`,
          ]),
        )
      case 17:
        return `for (let n = 0; n < ${1 + below(3)}; n++) { k = n; ${inner()} }`
      default:
        return `if (${scalar()} > ${below(3)}) { ${inner()} } else { ${inner()} }`
    }
  }
  const lines = [
    'let s = x.get(i), k = 1',
    of([
      'const rows = []; rows.push([]); rows.push([s])',
      'const rows = Array.from({ length: 2 }, () => [])',
      'const rows = Array.from({ length: 2 }, (_, n) => [n])',
      'const rows = [[i], [s, 2]]; rows.push([3])',
      'const rows = []; for (let n = 0; n < 2 + i % 2; n++) rows[n] = []',
    ]),
    ...(also === 'pairs' ? ['const pairs = [[[1, 2]], []]', 'pairs[1].push([s, 1])'] : []),
    ...(also === 'nodes' ? ['const nodes = []', 'for (let n = 0; n < 2; n++) nodes.push({ v: n, own: [] })'] : []),
    'let one = rows[0], two = []',
    'rows.push(two)',
    'const add = (a, v) => { a.push(v); return a.length }',
    'const total = (a) => { let t = 0; for (const v of a) t = t * 0.5 + v; return t }',
    'const longer = (a, b) => { if (a.length > b.length) return a; return b }',
  ]
  for (let n = 1 + below(4); n > 0; n--) lines.push(statement(1))
  lines.push(
    'if (!(Math.abs(s) < 1e300)) s = 0',
    'for (const a of rows) { s = s * 0.5 + a.length; for (const v of a) s = s * 0.5 + (Math.abs(v) < 1e300 ? v : 3) }',
    'for (const v of one) s = s * 0.5 - (Math.abs(v) < 1e300 ? v : 5)',
    'for (const v of two) s = s * 0.5 + (Math.abs(v) < 1e300 ? v : 7)',
    ...(also === 'pairs' ? ['for (const a of pairs) for (const [p, q] of a) s = s * 0.5 + (Math.abs(p - q) < 1e300 ? p - q : 9)'] : []),
    ...(also === 'nodes' ? ['for (const { v, own } of nodes) s = s * 0.5 + own.length + (Math.abs(v) < 1e300 ? v : 11)'] : []),
  )
  return { text: `([i], { x, out }) => {\n${lines.join('\n;')}\nout.set(i, s)\n}`, used }
}

test('bodies with lists of lists are compiled, run in parallel, and give the bits of plain JavaScript', async () => {
  await expectBitsOfPlain(session, { name: 'lists of lists', draw: bodyText, held: HELD, run: RUN, least: 500 })
}, 1_800_000)

test('lists of lists are whose they are, in whatever place; what cannot be one is refused by name, and what has no room is run as it stands', async () => {
  const run = (body: string) => looped(session, bodyOf(`([i], { x, out }) => { ${body} }`, HELD))
  const expectPlain = async (body: string) => {
    const { outcome, plan } = await run(body)
    expect(plan.kernel?.target, body).toMatch(/^wasm/)
    expect(outcome, body).toStrictEqual(plain(bodyOf(`([i], { x, out }) => { ${body} }`, HELD)))
  }
  const because = async (body: string) => {
    const { message, cure } = (await run(body)).plan.kernel?.because?.[0] ?? {}
    return `${message} ${cure}`
  }
  const graph = 'const g = [[], [], []]; '
  await expectPlain(`${graph}const row = g[i % 3]; row.push(i); g[(i + 1) % 3] = row; g[(i + 1) % 3].push(7); out.set(i, g[i % 3].length)`)
  await expectPlain(`${graph}for (let k = 0; k < 99; k++) { g[k % 3].push(k); g[0].push(g[1].length) } out.set(i, g[0][50] + g[2][20])`)
  await expectPlain(
    `${graph}const a = g[0], b = g[0]; a.push(1, 2, 3); let s = 0; while (a.length > 0) { b.pop(); s += a.pop() ?? 100 } out.set(i, s)`,
  )
  await expectPlain(
    `${graph}g[i % 3].push(2); g[0].push(1, i); g[0][g[0].length - 1] = g[0].pop() ?? 0; g[1] = [...g[0], g[0].pop() ?? 0]; out.set(i, g[0].length * 10 + g[1].length)`,
  )
  await expectPlain(
    'const list = [1, 2]; list.push(i); list[list.length - 1] = list.pop() ?? 0; list[0] += list.shift() ?? 0; out.set(i, list[0] * 10 + list.length)',
  )
  await expectPlain('const list = [1, 2]; list.push(i); const all = [...list, list.pop() ?? 0]; out.set(i, all.length * 10 + list.length)')
  await expectPlain('const list = []; for (let k = 0; k < 9; k++) list[list.length] = k * i; out.set(i, list[8] + list.length)')
  await expectPlain(
    'const list = []; for (let k = 0; k < 9; k++) list[k] = { k, i }; list[9] = { k: 9, i: 1 }; out.set(i, list[8].k + list.length)',
  )
  await expectPlain(
    'const n = []; for (let k = 0; k < 9; k++) n.push({ v: k, own: [] }); for (let k = 1; k < 9; k++) n[(k - 1) >> 1].own.push(k); out.set(i, n[i % 9].own.length)',
  )
  await expectPlain(
    'const c = Array.from({ length: 3 }, () => Array.from({ length: 2 }, () => [])); c[i % 3][i % 2].push(i); c[0][0].push(1); out.set(i, c[0][0].length)',
  )
  await expectPlain(
    `${graph}const p = g[0]; g[1].push(1); for (let k = 0; k < 40; k++) g[0].push(k); g.push(p); p.push(4); out.set(i, g[3].length + g[0][40])`,
  )
  await expectPlain(
    'const g = [[[1, 2]], []]; const e = g[0][0]; for (let k = 0; k < 9; k++) { g[1].push([k, k]); g[0].push([k, i]) } e[0] = 5; out.set(i, g[0][0][0] + g[0][3][1] * 10 + g[1].length)',
  )
  await expectPlain('const rows = new Array(2).fill(0).map((_, n) => [n]); rows[i % 2].push(3); out.set(i, rows[1].length)')
  // variables that have lists of one length after another
  await expectPlain(
    'const rows = [[1], [2]]; let one = rows[i % 2]; rows.push([]); one[0] = 5; one = new Array(3).fill(i); one[1] += 1; out.set(i, rows[0][0] + one[1] * 10 + one.length)',
  )
  await expectPlain(
    'let row = [1]; for (let n = 0; n < i % 7; n++) { const next = new Array(row.length + 1).fill(1); for (let k = 1; k < row.length; k++) next[k] = row[k - 1] + row[k]; row = next } out.set(i, row[row.length >> 1])',
  )
  await expectPlain(
    'let a = new Array(3).fill(1); const b = a; if (i % 2) a = new Array(5).fill(2); b[0] = 7; out.set(i, a[0] * 10 + a.length + b.length)',
  )
  // lists that grow in turn leave their places, with all fields of their elements
  await expectPlain(`${graph}for (let k = 0; k < 30; k++) g[k % 3].push({ v: k, w: i }); out.set(i, g[i % 3][2].w + g[(i + 1) % 3][1].v)`)
  await expectPlain(
    `${graph}for (let k = 0; k < 3; k++) g[k % 3].push({ v: k, w: i }); const p = g[i % 3][0]; for (let k = 0; k < 30; k++) g[k % 3].push({ v: k, w: 1 }); p.v = 7; out.set(i, g[i % 3][0].v * 10 + p.w)`,
  )
  await expectPlain(
    `${graph}const a = g[i % 3], b = g[i % 3]; a.push(1, 2, 3); let s = 0; while (a.length > 0) { b.pop(); s += a.pop() ?? 100 } out.set(i, s)`,
  )
  const grown = 'const rows = [[1, 2], []]; rows[i % 2].push(i); '
  await expectPlain(
    `${grown}let cur = []; cur.push(3); rows.push((cur = rows[0].slice())); cur.push(9); out.set(i, rows[2].length * 10 + cur.length)`,
  )
  await expectPlain(
    `${grown}const o = { list: rows[0].slice() }; rows.push(o.list); o.list.push(9); out.set(i, rows[2].length * 10 + o.list.length)`,
  )
  expect(await because('const rows = []; for (let k = 0; k < 3; k++) rows.push(new Float64Array(2)); out.set(i, rows.length)')).toBe(
    'It uses a row view as a value. Read its elements, as w[k].',
  )
  expect(await because('const rows = [[1]]; rows[0].push(2); const t = new Int8Array(2); rows.push(t); out.set(i, rows.length)')).toBe(
    'It puts something into rows.push(t) that is no plain list which it makes, or an object without fields. Put a copy there, as [...list], or give the object all its fields where it is made.',
  )
  // what has no room is run as it stands
  for (const [body, why] of [
    [
      `${graph}for (let k = 0; k < 90000; k++) g[k % 3].push(k); out.set(i, g[0].length)`,
      /^Lists like item have more than 65,536 places together\. Give each its room/,
    ],
    [
      'const g = []; for (let k = 0; k < 20000; k++) g.push([]); g[0].push(1); out.set(i, g[0].length)',
      /^There are more than 16,384 lists like item\. Give each its room/,
    ],
    [`${graph}out.set(i, g[i % 3][0])`, /^A subscript of g\[i % 3\]\[0\] is not below the length\. Ask for it, as list\[k\] \?\? 0\./],
  ] as const) {
    await expectAsItStands(session, body, HELD, why)
  }
})
