import { expect, test } from 'vitest'
import { denseArray, parseLoop, rangeOver } from '../../../../property-tests/arbitraries/parseBody.ts'
import { analyzeLoop } from '../analyze.ts'
import { explainLoop } from './explain.ts'

const W = denseArray('W', 100, 8)
const H = denseArray('H', 50, 8)
const a = denseArray('a', 100)
const x = denseArray('x', 100)
const loss = { kind: 'accumulator', combine: 'sum' } as const

test('a matrix factorization', () => {
  const source = `(stars, [u, m], { W, H, loss }) => {
  let predicted = 0
  for (let k = 0; k < K; k++) predicted = predicted + W.get(u, k) * H.get(m, k)
  const error = stars - predicted
  for (let k = 0; k < K; k++) {
    W.set(u, k, W.get(u, k) + rate * error * H.get(m, k))
    H.set(m, k, H.get(m, k) + rate * error * W.get(u, k))
  }
  loss.add(error * error)
}`
  const over = { kind: 'sparse', array: 1, rank: 2, extents: [100, 50], label: 'ratings' } as const
  const spec = parseLoop(source, { over, env: { W, H, loss }, options: { order: 'any' }, captured: { K: 8, rate: 0.1 } })
  const measured = { milliseconds: 12.34, predictedMilliseconds: 9.87, workers: 2, balance: 1.049 }
  const analyzed = analyzeLoop(spec)
  const text = explainLoop({ ...analyzed, plan: { ...analyzed.plan, cost: { predictedMilliseconds: 9, measured } } })
  expect(text).toMatchInlineSnapshot(`
    "loop over ratings, order any
      1:1  (stars, [u, m], { W, H, loss }) => { let predicted = 0 for (let k = 0; k < K; k++) predicted = pred…
    schedule 2d on axes 0, 1: iterations that differ in both u and m do not depend on each other
    variables
      ratings  iterated   env
      W        local      env
      H        pipelined  env
      loss     reduction  env
      K        constant   capture
      rate     constant   capture
    accesses
      4:17  read   ratings[u, m]
      3:55  read   W[u, :]
      3:69  read   H[m, :]
      6:17  read   W[u, :]
      6:46  read   H[m, :]
      6:5   write  W[u, :]
      7:17  read   H[m, :]
      7:46  read   W[u, :]
      7:5   write  H[m, :]
    dependences
      W [0, +] flow, output, anti
        6:5   W.set(u, k, W.get(u, k) + rate * error * H.get(m, k))
        3:55  W.get(u, k)
        (0, 0) writes W[0, :] which (0, 1) reads
      H [+, 0] flow, output, anti
        7:5   H.set(m, k, H.get(m, k) + rate * error * W.get(u, k))
        3:69  H.get(m, k)
        (0, 0) writes H[0, :] which (1, 0) reads
    rejected
      independent: W [0, +]; H [+, 0]
      1d: W [0, +]
    blocks cut when the data is known
    kernel js
    execution caller: decided by run()
    measured 12 ms a pass, predicted 9.9 ms, 2 workers, balance 1.05"
  `)
})

test('a serial loop says which edit would free it', () => {
  const spec = parseLoop('([i], { a, x }) => { a.set(0, a.get(0) + x.get(i)) }', {
    over: rangeOver(100),
    env: { a, x },
    options: { name: 'total' },
  })
  expect(explainLoop(analyzeLoop(spec))).toMatchInlineSnapshot(`
    "total: loop over range(100), order serial
      1:1  ([i], { a, x }) => { a.set(0, a.get(0) + x.get(i)) }
    schedule serial: iterations depend on each other through a
    variables
      a  local      env
      x  broadcast  env
    accesses
      1:31  read   a[0]
      1:42  read   x[i]
      1:22  write  a[0]
    dependences
      a [+] flow, output, anti
        1:22  a.set(0, a.get(0) + x.get(i))
        1:31  a.get(0)
        iteration 0 writes a[0] which iteration 1 reads
    rejected
      scan: 1:42 what is added to a may be a fraction, and such a sum depends on the order of its additions
      independent: a [+]
        edit: sum into an accumulator, loss = session.accumulator('sum') and loss.add(…), instead of a.set(0, a.get(0) + x.get(i))
    kernel js
    execution caller: decided by run()"
  `)
})

test('subscripts that only the data can tell', () => {
  const spec = parseLoop('([i], { a, x, W }) => { const j = x.get(i); a.set(j, W.get(j, 0)) }', { over: rangeOver(100), env: { a, x, W } })
  expect(explainLoop(analyzeLoop(spec))).toMatchInlineSnapshot(`
    "loop over range(100), order serial
      1:1  ([i], { a, x, W }) => { const j = x.get(i); a.set(j, W.get(j, 0)) }
    schedule colored: iterations depend on each other through a; the first run inspects which
    variables
      x  broadcast  env
      W  served     env
      a  local      env
    accesses
      1:35  read   x[i]
      1:54  read   W[? x.get(i), 0]
      1:45  write  a[? x.get(i)]
    dependences
      a [+] output
        1:45  a.set(j, W.get(j, 0))
        1:45  a.set(j, W.get(j, 0))
        a[? x.get(i)] can be one element in different iterations: only the data can tell
    rejected
      independent: a [+]
        edit: promise { assume: { distinct: ['x'] } } if the values of x differ between iterations
    inspected
      let j = x[i]
      a[j] = …
    blocks cut when the data is known
    prefetch W[x.get(i), 0], a[x.get(i)]
    kernel js
    execution caller: decided by run()"
  `)
})

test('axes that run in order', () => {
  const W = { kind: 'array', array: 3, dtype: 'f64', storage: 'dense', rank: 2, shape: [100, 400], label: 'W' } as const
  const source = '([t, s], { W }) => { let sum = 0; for (let r = 0; r < 400; r++) sum += W.get(t - 1, r); W.set(t, s, sum) }'
  expect(explainLoop(analyzeLoop(parseLoop(source, { over: rangeOver(100, 400), env: { W } })))).toMatchInlineSnapshot(`
    "loop over range(100, 400), order serial
      1:1  ([t, s], { W }) => { let sum = 0; for (let r = 0; r < 400; r++) sum += W.get(t - 1, r); W.set(t, s,…
    schedule wavefront in steps of axis 0, independent inside: t runs in order; within one t no two iterations depend on each other
    variables
      W  local  env
    accesses
      1:72  read   W[t - 1, :]
      1:89  write  W[t, s]
    dependences
      W [1, *] flow
        1:89  W.set(t, s, sum)
        1:72  W.get(t - 1, r)
        (0, 0) writes W[0, 0] which (1, 0) reads
    rejected
      independent: W [1, *]
      1d: W [1, *]
      2d: W [1, *]
      wavefront: W [1, *]
      skewed: W [1, *]
    blocks cut when the data is known
    kernel js
    execution caller: decided by run()"
  `)
})

test('a refused body', () => {
  const refusal = {
    code: 'assigns-captured-variable',
    message: 'The body assigns the captured variable best.',
    cure: 'Use an accumulator.',
    span: { line: 1, column: 20, text: 'best = i' },
  }
  const spec = parseLoop('([i], { a }) => { best = i }', { over: rangeOver(100), env: { a }, refusals: [refusal] })
  expect(explainLoop(analyzeLoop(spec))).toMatchInlineSnapshot(`
    "loop over range(100), order serial
      1:1  ([i], { a }) => { best = i }
    schedule serial: the body runs as it stands, on the caller's thread: The body assigns the captured variable best.
    variables
      a  local  env
    rejected
      independent: 1:20 The body assigns the captured variable best.
        edit: Use an accumulator.
    kernel as-is: The body assigns the captured variable best.
    execution caller: decided by run()"
  `)
})

test('the JSON form is the plan', () => {
  const analyzed = analyzeLoop(parseLoop('([i], { a }) => { a.set(i, 1) }', { over: rangeOver(100), env: { a } }))
  expect(JSON.parse(explainLoop(analyzed, { format: 'json' }))).toEqual(analyzed.plan)
})

test('a loop in parts', () => {
  const y = denseArray('y', 100)
  const source = `([i], { a, x, y }) => {
  const v = x.get(i) * 2
  a.set(i, (i > 0 ? a.get(i - 1) : 0) + v)
  y.set(i, Math.sqrt(v))
}`
  const spec = parseLoop(source, { over: rangeOver(100), env: { a, x, y } })
  expect(explainLoop(analyzeLoop(spec))).toMatchInlineSnapshot(`
    "loop over range(100), order serial
      1:1  ([i], { a, x, y }) => { const v = x.get(i) * 2 a.set(i, (i > 0 ? a.get(i - 1) : 0) + v) y.set(i, Ma…
    schedule in parts: the body runs as 2 loops, one after another: serial, then independent
    parts
      1  serial: iterations depend on each other through a
           2:3  const v = x.get(i) * 2
           3:3  a.set(i, (i > 0 ? a.get(i - 1) : 0) + v)
      2  independent on axis 0: no two iterations depend on each other
           2:3  const v = x.get(i) * 2
           4:3  y.set(i, Math.sqrt(v))
    variables
      x  local  env
      a  local  env
      y  local  env
    accesses
      2:13  read   x[i]
      3:21  read   a[i - 1]
      3:3   write  a[i]
      4:3   write  y[i]
    dependences
      a [1] flow
        3:3   a.set(i, (i > 0 ? a.get(i - 1) : 0) + v)
        3:21  a.get(i - 1)
        iteration 0 writes a[0] which iteration 1 reads
    rejected
      scan: 3:41 what is added to a may be a fraction, and such a sum depends on the order of its additions
      independent: a [1]
        edit: write to another array than a, if reads may see its values from before the loop
    blocks 64
    kernel js
    execution caller: decided by run()"
  `)
})

test('legal schedules that were compared are listed with what decided', () => {
  const analyzed = analyzeLoop(
    parseLoop('([k, i, j], { c }) => { if (i > 0) c.set(k, i, j, c.get(k, i - 1, j) * 0.5 + 1) }', {
      over: rangeOver(8, 200, 2000),
      env: { c: denseArray('c', 8, 200, 2000) },
    }),
  )
  const lines = explainLoop(analyzed).split('\n')
  expect(lines.slice(lines.indexOf('considered'), lines.indexOf('rejected')).join('\n')).toBe(`considered
  1d on axis 2                                       2 ms on 4 workers     64 blocks, 25 % on the longest way, runs of 31
  1d on axis 0                                       0.98 ms on 4 workers  8 blocks, 25 % on the longest way, runs of 2000    taken
  wavefront on axes 1, 2                             1.3 ms on 4 workers   256 blocks, 26 % on the longest way, runs of 250
  wavefront on axes 0, 1                             1.1 ms on 4 workers   128 blocks, 27 % on the longest way, runs of 2000
  wavefront in steps of axis 0, 1d on axis 2 inside  1.3 ms on 4 workers   128 blocks, 25 % on the longest way, runs of 125
  and 7 more`)
  expect(analyzed.plan.considered?.filter(({ taken }) => taken)).toHaveLength(1)
})

test('where more is known of a step than its sign, its bounds stand in its place, and in the data beside it', () => {
  const m = denseArray('m', 100, 100)
  const described = (source: string): string[] => {
    const analyzed = analyzeLoop(parseLoop(source, { over: rangeOver(100, 100), env: { m } }))
    const { dependences } = analyzed.plan
    expect(JSON.parse(explainLoop(analyzed, { format: 'json' })).dependences).toEqual(dependences)
    return [
      ...explainLoop(analyzed)
        .split('\n')
        .filter((line) => /^ {2}(m \[|[a-z0-9]+: m)/.test(line)),
      ...new Set(dependences.map(({ vector, bounds }) => JSON.stringify({ vector, bounds }))),
    ]
  }
  expect(described('([i, j], { m }) => { if (j >= i) m.set(Math.ceil(i / 2), Math.trunc(j / 2), 1) }')).toMatchInlineSnapshot(`
    [
      "  m [1, -1..1] output",
      "  m [0, 1] output",
      "  independent: m [1, -1..1]; m [0, 1]",
      "  1d: m [1, -1..1]",
      "  2d: m [1, -1..1]",
      "  wavefront: m [1, -1..1]",
      "{"vector":[1,"*"],"bounds":[null,[-1,1]]}",
      "{"vector":[0,1]}",
    ]
  `)
  expect(
    described('([t, i], { m }) => { let s = 0; for (let k = -2; k < 3; k++) s += m.get(t - 1, i + k); m.set(t, i, s) }'),
  ).toMatchInlineSnapshot(`
    [
      "  m [1, -2..2] flow",
      "  independent: m [1, -2..2]",
      "  1d: m [1, -2..2]",
      "  2d: m [1, -2..2]",
      "  wavefront: m [1, -2..2]",
      "{"vector":[1,"*"],"bounds":[null,[-2,2]]}",
    ]
  `)
  expect(described('([t, i], { m }) => { m.set(t, i, m.get(t - 1, 99 - i)) }')).toMatchInlineSnapshot(`
    [
      "  m [1, *] flow",
      "  independent: m [1, *]",
      "  1d: m [1, *]",
      "  2d: m [1, *]",
      "  wavefront: m [1, *]",
      "  skewed: m [1, *]",
      "{"vector":[1,"*"]}",
    ]
  `)
})

test('bounds hold for the steps of all names of an array', () => {
  const m = denseArray('m', 100, 100)
  const source =
    '([t, i], { m, n }) => { let s = 0; for (let k = -2; k < 3; k++) s += m.get(t - 1, i + k); for (let k = -30; k < 31; k++) s += n.get(t + 1, i + k); m.set(t, i, s) }'
  const { dependences } = analyzeLoop(parseLoop(source, { over: rangeOver(100, 100), env: { m, n: m } })).plan
  const wide = [null, [-30, 30]]
  expect(dependences.map(({ array, kind, bounds }) => ({ array, kind, bounds }))).toEqual([
    { array: 'm', kind: 'flow', bounds: wide },
    { array: 'n', kind: 'anti', bounds: wide },
  ])
})
