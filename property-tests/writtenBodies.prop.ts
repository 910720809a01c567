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
])('%s', async (_, text) => {
  const body = bodyOf(`([i], { x, out }) => { ${text} }`, {})
  const { outcome, plan } = await looped(session, body)
  expectCompiled(plan, text)
  expect(outcome).toStrictEqual(plain(body))
})
