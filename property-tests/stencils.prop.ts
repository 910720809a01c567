/**
 * Law: bodies that read what lies around a place, clamped or guarded, in loops of few turns, and that count up and down to bounds,
 * give the bits that they give as plain JavaScript, and fail where they read outside, whatever is known of their subscripts.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('stencils.prop.ts')
const sessions = await Promise.all([1, 2].map((workers) => Session.start({ workers, progress: false })))
afterAll(async () => {
  for (const session of sessions) await session.stop()
})

const offset = fc.integer({ min: -2, max: 2 })
const plus = (name: string, by: number): string => (by < 0 ? `${name} - ${-by}` : `${name} + ${by}`)
/** A bound of an axis, by its name; now and then one that is wrong, or crosses the other. */
const low = fc.constantFrom('0', '0', '0', '1', 'first')
const high = (n: string): fc.Arbitrary<string> =>
  fc.constantFrom(`${n} - 1`, `${n} - 1`, `a.shape[${n === 'n' ? 0 : 1}] - 1`, '3', `${n} - 2`)
const clamped = (of: string, n: string): fc.Arbitrary<string> =>
  fc
    .tuple(low, high(n), fc.nat(7))
    .map(([l, h, form]) =>
      form < 3
        ? `Math.max(${l}, Math.min(${h}, ${of}))`
        : form < 6
          ? `Math.min(${h}, Math.max(${of}, ${l}))`
          : form === 6
            ? `Math.min(${h}, Math.max(0, ${of}))`
            : `Math.max(Math.min(${of}, ${h}), 0)`,
    )
const inside = (of: string, n: string): fc.Arbitrary<string> =>
  fc.constantFrom(
    `${of} >= 0 && ${of} < ${n}`,
    `!(${of} < 0 || ${of} > ${n} - 1)`,
    `${of} > -1 && ${n} > ${of}`,
    `${n} - 1 >= ${of} && 0 <= ${of}`,
  )
const term = fc.constantFrom('s += v', 's = s * 0.5 + v', 'if (v > 0.2) s -= v', 's = Math.max(s, v)')

/** Sums over a window, with its places clamped or guarded. */
const window: fc.Arbitrary<string> = fc
  .record({
    from: fc.tuple(offset, offset),
    length: fc.tuple(fc.nat(3), fc.nat(3)),
    rows: clamped('i + di', 'n'),
    columns: clamped('j + dj', 'm'),
    guard: fc.tuple(inside('r', 'n'), inside('c', 'm')),
    form: fc.nat(4),
    term,
  })
  .map(({ from: [a, b], length: [h, w], rows, columns, guard, form, term }) => {
    const loops = `for (let di = ${a}; di <= ${a + h}; di++) for (let dj = ${b}; dj < ${b + w + 1}; dj++)`
    switch (form) {
      case 0:
        return `${loops} { const v = weights[di + 2 - ${a}] * a.get(${rows}, ${columns}); ${term} }`
      case 1:
        return `${loops} { const r = ${rows}, c = ${columns}; const v = a.get(r, c) + r - c; ${term} }`
      case 2:
        return `${loops} { if (di === 0 && dj === 0) continue; const r = i + di, c = j + dj; if (${guard[0]} && ${guard[1]}) { const v = a.get(r, c); ${term} } }`
      case 3:
        return `${loops} { let r = i + di; const c = j + dj; if (r < 0) r = -r; if (r < n && ${guard[1]}) { const v = a.get(r, c) * c; ${term} } }`
      default:
        return `for (let di = ${a}; di <= ${a + h}; di++) { if (di > 1) break; const v = a.get(${rows}, j); ${term} }`
    }
  })

/** Neighbours behind tests. */
const neighbour: fc.Arbitrary<string> = fc
  .tuple(offset, offset, fc.constantFrom('>', '>=', '!==', '<', '<=', '==='), fc.integer({ min: -1, max: 3 }), term, fc.boolean())
  .map(([di, dj, operator, bound, term, isEarly]) => {
    const read = `const v = a.get(${plus('i', di)}, Math.max(0, Math.min(m - 1, ${plus('j', dj)}))); ${term}`
    const test = `i ${operator} ${operator.startsWith('<') ? `n - ${Math.abs(bound)}` : bound}`
    return isEarly ? `near: { if (!(${test})) break near; ${read} }` : `if (${test}) { ${read} } else s += 1`
  })

/** Counting up or down over a short list, with tests that may leave one place too many. */
const counting: fc.Arbitrary<string> = fc
  .record({
    start: fc.constantFrom('k', '7', 'i % 8', '8', 'Math.min(j, 7)'),
    bound: fc.constantFrom('at > 0', 'at >= 1', 'at !== 0', '0 < at', 'at - 1 >= 0', 'at > -1', 'at >= 0', 'at > 2'),
    operator: fc.constantFrom('&&', '&&', '||'),
    limit: fc.integer({ min: -1, max: 9 }),
    read: fc.constantFrom('p.get(at - 1)', 'p.get(at)', 'p.get(at + 1)', 'p.get(7 - at)'),
    step: fc.constantFrom('at--', 'at--', 'at -= 2', 'if (v > 0.5) at--; at--', 'at++', 'at = Math.floor(at / 2)'),
    form: fc.nat(5),
    term,
  })
  .map(({ start, bound, operator, limit, read, step, form, term }) => {
    const turn = `const v = ${read}; ${term}; ${step}`
    const end = 'if (turns++ > 12) break'
    const head = `let at = ${start.replace('k', 'i % 7')}, turns = 0`
    switch (form) {
      case 0:
        return `{ ${head}\nwhile (${bound} ${operator} s > ${limit}) { ${end}; ${turn} } s += at }`
      case 1:
        return `{ ${head}\nfor (;;) { if (!(${bound})) break; ${end}; ${turn} } }`
      case 2:
        return `{ ${head}\nwhile (${bound} && at < ${limit}) { ${end}; if (at === 3) { at--; continue }; ${turn} } }`
      case 3:
        return `{ ${head}\ndo { ${end}; ${turn} } while (${bound}) }`
      case 4:
        return `{ let lo = 0, hi = ${Math.max(0, limit)}\nwhile (lo < hi) { const mid = (lo + hi) >> 1; const v = p.get(mid); ${term}; if (v < s) lo = mid + 1; else hi = mid } s += lo }`
      default:
        return `for (let k = 0; k < 8; k++) { if (k ${limit > 4 ? '===' : '<'} ${limit % 3}) continue; let at = k; while (${bound} && p.get(at - 1) < p.get(k)) at--; s += at }`
    }
  })

const bodies = fc.array(fc.oneof(window, window, neighbour, counting), { minLength: 1, maxLength: 3 })
type Body = (key: readonly number[], env: Record<string, unknown>) => void

test('what is around a place, and counted up or down to, has the bits of plain JavaScript', async () => {
  const counts: Record<string, number> = {}
  await fc.assert(
    fc.asyncProperty(
      bodies,
      fc.record({
        which: fc.nat(1),
        n: fc.integer({ min: 3, max: 12 }),
        m: fc.integer({ min: 3, max: 20 }),
        first: fc.integer({ min: -1, max: 2 }),
      }),
      async (statements, { which, n, m, first }) => {
        const source = `([i, j], { y, a, p }) => {\nlet s = 0.25\n${statements.join('\n')}\ny.set(i, j, s)\n}`
        await isPlain(sessions[which] as Session, source, { n, m, first }, counts)
      },
    ),
    RUN,
  )
  console.log(`stencils: ${JSON.stringify(counts)}`)
  if (RUN.numRuns >= 500) expect(counts['wasm-simd'] ?? 0).toBeGreaterThan(RUN.numRuns / 10)
})

/** A test of the place, which has one outcome in most places; and with it what is read, or nothing more is done. */
const border: fc.Arbitrary<string> = fc
  .record({
    // one of the last reads outside
    pair: fc.constantFrom(
      ...['i > 0', 'i >= 2', 'i > 0 && j > 0', 'i > 0 && i < n - 1 && j > 1'].map((test) => [test, 'i - 1, j'] as const),
      ...['i < n - 1', 'i !== n - 1', '!(i === n - 1 || j === 0)'].map((test) => [test, 'i + 1, j'] as const),
      ...['j > 0', 'i > 0 && j > 0', 'j !== 0'].map((test) => [test, 'i, j - 1'] as const),
      ...['j < m - 1', 'i !== 3 && j + 1 < m'].map((test) => [test, 'i, j + 1'] as const),
      ['i > 0 && j > 0', 'i - 1, j - 1'] as const,
      ['i > 1', 'i - 2, j'] as const,
      ['i !== 4', 'i, j'] as const,
      ['i > 0', 'i - 2, j'] as const,
    ),
    form: fc.nat(3),
    term,
  })
  .map(({ pair: [test, place], form, term }) => {
    const read = `{ const v = a.get(${place}); ${term} }`
    if (form === 0) return `if (!(${test})) return`
    return form === 1 ? `if (${test}) ${read} else s += 1` : `if (${test}) ${read}`
  })
/** A loop that depends on its turns one after another, where tests of the place may be inside. */
const turning: fc.Arbitrary<string> = fc
  .record({
    bound: fc.constantFrom('turns', '20', '3', 'turns + 1'),
    step: fc.constantFrom(
      's = Math.sqrt(Math.abs(s) + 0.1 * k)',
      's = s * 0.5 + a.get(i, k)',
      'if (i > 0) s += 0.25 * k; s *= 0.75',
      's = i < n - 1 ? s * 0.5 + k : s - k',
      'if (s > 9) s = s / 3; s += j',
    ),
  })
  .map(({ bound, step }) => `for (let k = 0; k < ${bound}; k++) { ${step} }`)

test('iterations between borders have the bits of plain JavaScript with the loops inside', async () => {
  const counts: Record<string, number> = {}
  await fc.assert(
    fc.asyncProperty(
      fc.tuple(fc.array(border, { minLength: 1, maxLength: 3 }), fc.array(turning, { minLength: 1, maxLength: 2 }), fc.option(border)),
      fc.record({
        which: fc.nat(1),
        n: fc.integer({ min: 5, max: 24 }),
        m: fc.integer({ min: 9, max: 24 }),
        turns: fc.integer({ min: 0, max: 18 }),
      }),
      async ([before, loops, after], { which, n, m, turns }) => {
        const statements = [...before, ...loops, ...(after === null ? [] : [after])]
        const source = `([i, j], { y, a }) => {\nlet s = a.get(i, j)\n${statements.join('\n')}\ny.set(i, j, s)\n}`
        await isPlain(sessions[which] as Session, source, { n, m, first: 0, turns }, counts)
      },
    ),
    RUN,
  )
  console.log(`borders: ${JSON.stringify(counts)}`)
  if (RUN.numRuns >= 500) expect(counts['between its borders, with loops'] ?? 0).toBeGreaterThan(RUN.numRuns / 20)
})

interface Captured {
  readonly n: number
  readonly m: number
  readonly first: number
  readonly turns?: number
}

/** Compares a body's elements with those of plain JavaScript, and counts kernels. */
async function isPlain(
  session: Session,
  source: string,
  { n, m, first, turns = 0 }: Captured,
  counts: Record<string, number>,
): Promise<void> {
  const count = (what: string): void => void (counts[what] = (counts[what] ?? 0) + 1)
  const weights = [0.5, -1.25, 2, 0.75, 3, -0.5, 1, 8]
  const body = new Function('n', 'm', 'first', 'weights', 'turns', `return ${source}`)(n, m, first, weights, turns) as Body
  const wanted = plain(body, n, m)
  const [a, p, y] = [session.zeros([n, m]), session.zeros([8]), session.zeros([n, m])]
  await session.loop(session.range(n, m), { a, m, valueAt }, ([i, j], { a, m, valueAt }) => a.set(i, j, valueAt(i * m + j))).run()
  await session.loop(session.range(8), { p, valueAt }, ([k], { p, valueAt }) => p.set(k, valueAt(3 * k + 1))).run()
  const loop = session.loop(session.range(n, m), { y, a, p }, body as never)
  const target = loop.plan.kernel?.target ?? 'none'
  count(target)
  if (/between its borders: .*, with the loops inside/.test(await loop.explain({ kernel: true }))) count('between its borders, with loops')
  expect(target, `${source}\n${JSON.stringify(loop.plan.kernel?.because)}`).toMatch(/wasm/)
  if (wanted === undefined) {
    count('fails')
    await expect(loop.run(), source).rejects.toThrow()
  } else {
    await loop.run()
    expect(await y.toTypedArray(), source).toStrictEqual(wanted)
  }
  for (const array of [a, p, y]) await array.release()
}

function valueAt(place: number): number {
  return ((place * 7919) % 101) / 64 - 0.5
}

/** What plain JavaScript computes; undefined where it reads outside. */
function plain(body: Body, n: number, m: number): Float64Array | undefined {
  const y = new Float64Array(n * m)
  const element = (shape: readonly number[], at: readonly number[]): number => {
    if (!at.every((k, axis) => Number.isInteger(k) && k >= 0 && k < (shape[axis] ?? 0))) throw new RangeError('outside')
    return at.length === 2 ? valueAt((at[0] ?? 0) * m + (at[1] ?? 0)) : valueAt(3 * (at[0] ?? 0) + 1)
  }
  const env = {
    y: { set: (i: number, j: number, value: number): void => void (y[i * m + j] = value) },
    a: { shape: [n, m], get: (...at: number[]) => element([n, m], at) },
    p: { get: (...at: number[]) => element([8], at) },
  }
  try {
    for (let i = 0; i < n; i++) for (let j = 0; j < m; j++) body([i, j], env)
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
  return y
}
