/**
 * Law: a body that asks whether two elements of its lists of objects are one object (`if (p === q) continue`), and that reads captured
 * matrices of scores by two texts (`scores[a[i]][b[j]]`), is compiled to WebAssembly, runs in parallel, and gives the bits of plain JavaScript.
 */
import { afterAll, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { drawing } from './drawing.ts'
import type { DrawnBody } from './drawnBodies.ts'
import { expectBitsOfPlain } from './lawOfBodies.ts'
import { announcedRun } from './lawRuns.ts'

const run = announcedRun('comparedItems.prop.ts')
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

/** What bodies capture. */
const held = {
  words: ['GATTA', 'CAT', 'TAGCG'],
  letters: ['A', 'T', 'N', 'A', 'C'],
  scores: {
    A: { A: 4, C: -1, T: 0.5 },
    C: { A: -1, C: 9, T: -0 },
    G: { A: 2, C: Number.NaN, T: 3 },
    T: { A: 7, C: 0, T: 5 },
  },
  levels: [
    { A: 1, T: -2, toString: 3 },
    { A: 0, T: 6, toString: 4 },
  ],
}

function draw(numbers: readonly number[]): DrawnBody {
  const { below, of } = drawing(numbers)
  const used = new Set<string>()
  const use = (kind: string): void => void used.add(kind)
  const value = (): string => of(['s', 'x.get(i)', 'i', String(below(30) / 4), '-0'])
  const text = (): string => of(['words[i % 3][1]', 'words[(i + 1) % 3][0]', "'A'", "(x.get(i) > 0 ? 'T' : 'C')"])
  const statement = (): string => {
    switch (below(5)) {
      case 0:
        use('skipped in pairs')
        return `for (const p of items) for (const q of items) { if (p ${of(['===', '=='])} q) continue; p.v = p.v * 0.5 + q.w }`
      case 1:
        use('in a method')
        return `for (const p of things) for (const q of things) p.pull(q)`
      case 2:
        use('by a captured row')
        return `s = s * 0.5 + (levels[i % 2][letters[(i + ${below(3)}) % 4]] ?? ${value()})`
      case 3:
        use('by a text that may be none')
        return `s = s * 0.5 + (scores[${text()}][letters[(i + ${below(3)}) % 5]] ?? ${value()})`
      default:
        use('by two texts')
        return `for (let k = 0; k < 3; k++) s = s * 0.5 + scores[words[k % ${2 + below(2)}][k]][${of(["'ACT'", "'TCA'"])}[(k + i) % 3]]`
    }
  }
  const lines = [
    'class Thing { constructor(a, b) { this.a = a; this.b = b } pull(o) { if (o === this) return; this.a = this.a * 0.5 + o.b } }',
    'let s = x.get(i), n = 0',
    'const items = [], things = [0, 1, 2].map((k) => new Thing(k, x.get(i)))',
    `for (let k = 0; k < 3; k++) items.push({ v: ${value()}, w: (k * 7 + i) % 5 })`,
  ]
  for (let k = 2 + below(4); k > 0; k--) lines.push(statement())
  lines.push('for (const one of items) s = s * 0.5 + one.v', 'for (const one of things) s = s * 0.5 + one.a')
  return { text: `([i], { x, out }) => {\n${lines.join(';\n')};\nout.set(i, s + n)\n}`, used }
}

test('bodies that compare objects of their lists, and read matrices by texts, are compiled, run in parallel, and give the bits of plain JavaScript', async () => {
  await expectBitsOfPlain(session, { name: 'compared items', draw, held, run, least: 500 })
}, 300_000)
