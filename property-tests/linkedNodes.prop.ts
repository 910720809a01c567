/**
 * Law: a body with nodes that it links - lists that grow at both ends, are reversed, cut and merged, search trees by loops and by recursion,
 * objects under several names, of classes too - is compiled to WebAssembly, runs in parallel, and gives the bits of plain JavaScript.
 */
import { afterAll, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { drawing } from './drawing.ts'
import type { DrawnBody } from './drawnBodies.ts'
import { expectBitsOfPlain } from './lawOfBodies.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('linkedNodes.prop.ts', 200)
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

class Cell {
  v: number
  next: Cell | null = null
  constructor(v: number) {
    this.v = v
  }
  get double(): number {
    return this.v * 2
  }
  set twice(v: number) {
    this.v = v / 2
  }
  add(by: number): number {
    this.v += by
    return this.v
  }
}

const HELD = { codes: [3, 1, 4, 1, 5, 9, 2, 6], Cell }

/** One of these: a list from `head` to `tail`, a search tree below `root`, objects that lists and variables share. */
function bodyText(numbers: readonly number[]): DrawnBody {
  const { below, of, use, used } = drawing(numbers)
  const subject = of(['list', 'tree', 'shared'] as const)
  const isClass = subject === 'list' && below(2) === 0
  const scalar = (): string => of(['s', 'i', 'k', 'x.get(i)', String(below(40) / 4), '-0', '(codes[k % 8] ?? 0)'])
  const node = (next: string): string => (isClass ? 'new Cell(0)' : `{ v: ${scalar()}, next: ${next} }`)
  const ofList = (): string => {
    switch (below(9)) {
      case 0:
        return isClass
          ? use('put in front', '{ const n = new Cell(s); n.next = head; head = n; if (!tail) tail = n }')
          : use('put in front', `head = ${node('head')}; if (tail === null) tail = head`)
      case 1:
        return use('put behind', `{ const n = ${node('null')}; n.v = ${scalar()}; if (tail) tail.next = n; else head = n; tail = n }`)
      case 2:
        return use(
          'reversed',
          '{ let prev = null, at = head; tail = head; while (at !== null) { const next = at.next; at.next = prev; prev = at; at = next } head = prev }',
        )
      case 3:
        return use(
          'cut out',
          `{ let prev = null, n = head; while (n) { if (n.v ${of(['>', '<'])} ${scalar()}) { if (prev === null) head = n.next; else prev.next = n.next; if (n === tail) tail = prev } else prev = n; n = n.next } }`,
        )
      case 4:
        return use(
          'put in between',
          `{ const n = ${node('null')}; n.v = s; if (head === null || n.v < head.v) { n.next = head; head = n; tail ??= n } else { let at = head; while (at.next !== null && at.next.v < n.v) at = at.next; n.next = at.next; at.next = n; if (n.next === null) tail = n } }`.replace(
            'tail ??= n',
            'if (tail === null) tail = n',
          ),
        )
      case 5:
        return use(
          'changed',
          of([
            `for (let n = head; n; n = n.next) n.v = n.v * 0.5 + ${scalar()}`,
            'if (head) head.v++',
            'if (tail !== null) tail.v -= s',
            'if (head && head.next) head.next.v = k',
          ]),
        )
      case 6:
        return use(
          'asked',
          of([
            's += head === tail ? 1 : 2',
            's = s * 0.5 + (head?.v ?? 3)',
            's += head && head.next ? 1 : 2',
            'if (head?.next === null) s += 4',
            's = s * 0.5 + (head == null ? 1 : head.v)',
          ]),
        )
      case 7:
        if (isClass)
          return use(
            'of a class',
            of([
              'if (head) s = s * 0.5 + head.add(k)',
              'if (tail) { tail.twice = 6; s += tail.double }',
              'for (let n = head; n; n = n.next) s = s * 0.5 + n.double',
            ]),
          )
        return use('recursion over a list', 's += length(head)')
      default:
        return use(
          'halves',
          '{ let slow = head, fast = head; while (fast !== null && fast.next !== null) { slow = slow.next; fast = fast.next.next } s = s * 0.5 + (slow ? slow.v : 1) }',
        )
    }
  }
  const ofTree = (): string => {
    switch (below(7)) {
      case 0:
        return use('put into a tree by a loop', `put(${scalar()})`)
      case 1:
        return use('put into a tree by recursion', `root = insert(root, ${scalar()})`)
      case 2:
        return use('gone through by recursion', 'visit(root)')
      case 3:
        return use('computed by recursion', 's = s * 0.5 + height(root)')
      case 4:
        return use('found by recursion', `{ const hit = find(root, ${scalar()}); s += hit ? hit.n : -1; if (hit !== null) hit.n += 2 }`)
      case 5:
        return use(
          'a stack of nodes',
          '{ const stack = []; let at = root; while (at || stack.length > 0) { while (at) { stack.push(at); at = at.left } at = stack.pop(); s = s * 0.5 + at.n; at = at.right } }',
        )
      default:
        return use(
          'rotated',
          'if (root !== null && root.left !== null) { const up = root.left; root.left = up.right; up.right = root; root = up }',
        )
    }
  }
  const ofShared = (): string => {
    switch (below(7)) {
      case 0:
        return use(
          'two names',
          `{ let b = ${of(['a', 'things[0]'])}; if (${scalar()} > 1) b = { n: 5, d: ${scalar()} }; b.n += s; s = s * 0.5 + a.n }`,
        )
      case 1:
        return use(
          'moved and changed',
          'things.sort((p, q) => p.d - q.d); for (const p of things) p.n = p.d * 2; if (things.length > 0) things[0].n += 1',
        )
      case 2:
        return use(
          'taken and changed',
          'if (things.length > 2) { const last = things.pop(); last.n = 7; s += last.d; things.unshift(last) }'.replace(
            'things.unshift(last)',
            'others.push(last)',
          ),
        )
      case 3:
        return use(
          'in two lists',
          `others.push(things[${of(['0', 'k % 2', 'i % 2'])}]); others[others.length - 1].n += ${scalar()}; s = s * 0.5 + things[0].n`,
        )
      case 4:
        return use('put again', `things.push(a); a.n = ${scalar()}; s = s * 0.5 + things[things.length - 1].n`)
      case 5:
        return use(
          'place',
          `things[${of(['0', 'k % 2'])}] = ${of(['a', 'others[0]', `{ n: 1, d: ${scalar()} }`])}; things[0].d = k; s += a.d`,
        )
      default:
        return use(
          'found',
          `{ const hit = things.find((p) => p.n > ${scalar()}); if (hit) hit.n = 0; for (const p of others) s = s * 0.5 + p.n }`,
        )
    }
  }
  const statement = (depth: number): string => {
    const inner = (): string => (depth > 0 ? statement(depth - 1) : `s = s * 0.5 + ${scalar()}`)
    switch (below(9)) {
      case 0:
        return `for (let q = 0; q < ${1 + below(4)}; q++) { k = q; ${inner()} }`
      case 1:
        return `if (${scalar()} > ${below(3)}) { ${inner()} } else { ${inner()} }`
      default:
        return subject === 'list' ? ofList() : subject === 'tree' ? ofTree() : ofShared()
    }
  }
  const small = (value: string): string => `(Math.abs(${value}) < 1e9 ? ${value} : 3)`
  const begun = {
    list: isClass
      ? ['let head = new Cell(i), tail = head', 'tail.next = new Cell(2)', 'tail = tail.next']
      : [
          'let head = null, tail = null',
          of([
            'for (const c of codes) { head = { v: c, next: head }; if (!tail) tail = head }',
            'tail = { v: i, next: null }; head = { v: 1, next: tail }',
          ]),
          'const length = (n) => n === null ? 0 : 1 + length(n.next)',
        ],
    tree: [
      'let root = null',
      'const insert = (n, key) => { if (n === null) return { key, n: 1, left: null, right: null }; if (key < n.key) n.left = insert(n.left, key); else if (key > n.key) n.right = insert(n.right, key); else n.n++; return n }',
      of(['for (const c of codes) root = insert(root, c + i % 3)', 'root = insert(root, 4)', 'put(3)']),
      'function put(key) { const made = { key, n: 2, left: null, right: null }; if (root === null) { root = made; return } let at = root; for (;;) { if (key < at.key) { if (at.left === null) { at.left = made; break } at = at.left } else { if (at.right === null) { at.right = made; break } at = at.right } } }',
      'const visit = (n) => { if (n === null) return; visit(n.left); s = s * 0.5 + n.n; visit(n.right) }',
      'const height = (n) => n === null ? 0 : 1 + Math.max(height(n.left), height(n.right))',
      'const find = (n, key) => { if (n === null) return null; if (n.key === key) return n; return find(key < n.key ? n.left : n.right, key) }',
    ],
    shared: ['const a = { n: 1, d: i }', 'const things = codes.map((c, q) => ({ n: q, d: c * (i % 3) }))', 'const others = [a]'],
  }
  const ended = {
    list: `for (let n = head, q = 0; n !== null && q < 99; n = n.next, q++) s = s * 0.5 + ${small('n.v')}; s += tail ? 1 : 2`.replace(
      'let n = head, q = 0; n !== null && q < 99; n = n.next, q++',
      'let n = head; n !== null; n = n.next',
    ),
    tree: 's = s * 0.5 + height(root); visit(root)',
    shared: `for (const p of things) s = s * 0.5 + ${small('p.n')} - ${small('p.d')}; for (const p of others) s = s * 0.5 + ${small('p.n')}; s += ${small('a.n')}`,
  }
  const lines = ['let s = x.get(i), k = 1', ...begun[subject]]
  for (let n = 1 + below(3); n > 0; n--) lines.push(statement(1))
  lines.push('if (!(Math.abs(s) < 1e300)) s = 0.25', ended[subject])
  return { text: `([i], { x, out }) => {\n${lines.join('\n;')}\nout.set(i, s)\n}`, used }
}

test('bodies that link nodes are compiled, run in parallel, and give the bits of plain JavaScript', async () => {
  await expectBitsOfPlain(session, { name: 'linkedNodes', draw: bodyText, held: HELD, run: RUN, least: 300 })
})
