/** Law: bodies that people wrote, and that were refused or slow once, are compiled, run in parallel, and give the bits of plain JavaScript. */
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { bodyOf, expectCompiled, looped, plain } from './drawnBodies.ts'

const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

test.each([
  [
    'a truth that is declared before its loop',
    'const a = [0, 1, 2, 3].map((k) => x.get((i + k) % 20) || 0); let moved; do { moved = false; for (let k = 0; k + 1 < 4; k++) if (a[k] > a[k + 1]) { [a[k], a[k + 1]] = [a[k + 1], a[k]]; moved = true } } while (moved); out.set(i, a[0] + 2 * a[3])',
  ],
  [
    'objects made of a literal',
    'const boxes = [0, 2, 4, 6].map((k) => ({ x: x.get((i + k) % 20), w: k })); let s = 0; for (let a = 0; a < boxes.length; a++) for (let b = a + 1; b < boxes.length; b++) if (boxes[a].x < boxes[b].x + boxes[b].w) s += a * 4 + b; out.set(i, s)',
  ],
  [
    'an element that is changed while its list gets shorter',
    'const a = [1, 2, 3]; if (i > 30) a.push(4); a[2] += a.pop() + i; const rows = []; for (let r = 0; r < 2; r++) { rows.push([]); for (let k = 0; k < 3; k++) rows[r].push(k + r) } rows[1][2] -= rows[1].pop() * 2; rows[0][0] += 0.5; rows[0][1]++; a[0]++; out.set(i, a.length * 1000 + a[2] + rows[1].length * 100 + rows[1][2] + rows[0][0] * 8 + rows[0][1] + a[0] / 4)',
  ],
  [
    'characters of texts that are written out',
    "const s = 'ACGT'; let h = 0; for (let k = 0; k < s.length; k++) h = h * 31 + s.charCodeAt(k); for (const c of s) if (c === 'G') h++; const f = (t) => { let n = 0; for (let k = 0; k < t.length; k++) n += t.charCodeAt(k) * k; return n }; out.set(i, h + (s[i % 5] === 'C' ? 1 : 0) + f('xyz') + f('abc') * 2 + f('xyz'))",
  ],
  [
    'lists that are joined',
    'const a = []; for (let k = 0; k < 3; k++) a.push(x.get((i + k) % 20)); const b = a.concat(a, [1, 2], 3); b[0] = 7; const c = [i].concat([4]); out.set(i, b.length * 100 + (a[0] || 0) + b[0] + b[3] + b[7] + c[1] + c.length)',
  ],
  [
    'the largest of objects that map makes',
    'const all = [0, 2, 4].map((k) => ({ a: x.get((i + k) % 20) || 0, b: k })); const best = all.reduce((p, q) => (q.a > p.a ? q : p)); out.set(i, best.a * 10 + best.b)',
  ],
  [
    'the first of objects that map makes',
    'const all = [0, 2, 4].map((k) => ({ a: x.get((i + k) % 20) || 0, b: k })); const first = all.find((one) => one.a > 0); out.set(i, first?.b ?? -1)',
  ],
  [
    'clones of lists',
    'const a = [x.get(i), 2, 3]; const b = structuredClone(a); b[0] = 9; const t = new Int32Array(3); t[1] = i; const u = structuredClone(t); u[0] = 9.5; const g = Array.from({ length: 3 }, (_, r) => Array.from({ length: 3 }, (_, c) => r * 3 + c + i)); const h = structuredClone(g); h[1][2] = 7; out.set(i, (a[0] || 0) + b[0] * 10 + u[0] + u[1] + t[0] + h[1][2] + g[1][2] * 8 + h[2][0])',
  ],
  [
    'rows of a table by two lists, the first of which Array.from makes',
    'const b = [2, 3, 1, i % 4]; let prev = Array.from({ length: b.length + 1 }, (_, j) => j); for (let p = 1; p <= 5; p++) { const cur = [p]; for (let q = 1; q <= b.length; q++) cur.push(Math.min(prev[q] + 1, cur[q - 1] + 1, prev[q - 1] + (p % 4 === b[q - 1] ? 0 : 1))); prev = cur } out.set(i, prev[b.length])',
  ],
])('%s', async (_, text) => {
  const body = bodyOf(`([i], { x, out }) => { ${text} }`, {})
  const { outcome, plan } = await looped(session, body)
  expectCompiled(plan, text)
  expect(outcome).toStrictEqual(plain(body))
})
