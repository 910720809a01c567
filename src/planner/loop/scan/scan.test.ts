import { expect, test } from 'vitest'
import { denseArray, parseLoop, rangeOver } from '../../../../property-tests/arbitraries/parseBody.ts'
import type { DType } from '../../../core/data/schema.ts'
import type { EnvBinding } from '../../../core/loop/loopSpec.ts'
import { irText } from '../../function/irText.ts'
import { analyzeLoop } from '../analyze.ts'
import { explainLoop } from '../report/explain.ts'

function array(name: string, dtype: DType, extent = 10_000): EnvBinding {
  return { ...denseArray(name, extent), dtype } as EnvBinding
}
const env = {
  a: array('a', 'f64'),
  n: array('n', 'i32', 2),
  s: array('s', 'f64', 2),
  sums: array('sums', 'i32'),
  small: array('small', 'i32', 10),
  w: array('w', 'i32'),
  x: array('x', 'f64'),
}

function analyzed(body: string) {
  return analyzeLoop(parseLoop(`([i], { ${Object.keys(env).join(', ')} }) => { ${body} }`, { over: rangeOver(10_000), env }))
}

/** The schedule, and what keeps a serial loop from being a scan. */
function found(body: string): string {
  const { plan } = analyzed(body)
  const rejected = plan.rejected.flatMap(({ kind, because }) =>
    kind === 'scan' ? because.map((one) => ('message' in one ? one.message : '')) : [],
  )
  return [`${plan.schedule.kind}: ${plan.schedule.reason}`, ...rejected].join('\n')
}

test('a scan says what is found of its chunks', () => {
  const { plan } = analyzed('if (i > 0) sums.set(i, sums.get(i - 1) + w.get(i))')
  expect(plan.schedule).toEqual({
    kind: 'scan',
    axes: [0],
    blocks: [3],
    reason: 'a scan of sums along i, by chunks: partial sums, what they come to one after another, then the body with it',
  })
  expect(explainLoop(analyzed('if (x.get(i) > 0) { a.set(n.get(0), i); n.set(0, n.get(0) + 1) }'))).toContain(
    'schedule scan on axis 0: a scan of n along i, by chunks: partial counts, what they come to one after another, then the body with it',
  )
  expect(found('if (x.get(i) < s.get(0)) { s.set(0, x.get(i)); n.set(0, i) }')).toBe(
    'scan: a scan of s and n along i, by chunks: partial least values, what they come to one after another, then the body with it',
  )
})

test('its two loops', () => {
  const own = analyzed('sums.set(i, (i > 0 ? sums.get(i - 1) : 0) + w.get(i)); a.set(i, x.get(i) * sums.get(i))').scan
  const [partial, replay] = [own?.partial.ir, own?.replay.ir]
  expect([partial === undefined ? '' : irText(partial), replay === undefined ? '' : irText(replay)].join('\n\n')).toMatchInlineSnapshot(`
    "let end = Math.min(((@0 * 4096) + 4096), 10000)
    let before$0 = 0
    let own$0 = 0
    let mark$0 = 0
    let step$0 = 0
    for i from (@0 * 4096) to end by 1
      step$0 = 2
      step$0 = ((i > 0) ? 1 : 2)
      own$0 = ((((i > 0) ? before$0 : 0) + w[i]) | 0)
      mark$0 = (mark$0 | step$0)
      before$0 = own$0
    partials of 0[@0] = before$0
    marks of 0[@0] = mark$0

    let end = Math.min(((@0 * 4096) + 4096), 10000)
    let before$0 = seeds of 0[@0]
    let own$0 = 0
    for i from (@0 * 4096) to end by 1
      own$0 = ((((i > 0) ? before$0 : 0) + w[i]) | 0)
      sums[i] = own$0
      a[i] = (x[i] * sums[i])
      before$0 = own$0
    seeds of 0[(@0 + 1)] = before$0"
  `)
})

test.each([
  ['a sum of fractions', 'a.set(i, (i > 0 ? a.get(i - 1) : 0) + x.get(i))'],
  ['a balance', 'if (i > 0) a.set(i, a.get(i - 1) * 0.5 + x.get(i))'],
  ['a value that decides on itself', 's.set(0, s.get(0) + 1); if (s.get(0) > 9) s.set(0, 0)'],
  ['a greatest value that an array may not hold', 'n.set(0, Math.max(n.get(0), x.get(i)))'],
])('%s is none', (_, body) => {
  expect(found(body)).toMatchSnapshot()
})

test.each([
  ['reads another element', 'if (i > 1) sums.set(i, sums.get(i - 2) + w.get(i))'],
  ['reads outside of an array', 'sums.set(i, sums.get(i - 1) + w.get(i))'],
  ['adds what the loop writes', 'w.set(i, i); if (i > 0) sums.set(i, sums.get(i - 1) + w.get(i))'],
  ['fills what it reads', 'if (x.get(i) > a.get(0)) { a.set(n.get(0), i); n.set(0, n.get(0) + 1) }'],
  ['counts twice for one', 'if (x.get(i) > 0) a.set(n.get(0), i); if (x.get(i) > 1) n.set(0, n.get(0) + 1)'],
  ['counts back', 'a.set(n.get(0), i); n.set(0, n.get(0) + 1); if (x.get(i) > 2) n.set(0, n.get(0) - 1)'],
])('no scan where it %s', (_, body) => {
  expect(analyzed(body).scan).toBe(undefined)
})
