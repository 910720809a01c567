/**
 * What handles mean in a body does not depend on how they get there (captured, by a helper, in env), nor on whether the body is
 * compiled or runs as it stands: the same elements, sums and draws.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Session } from '../src/index.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('handlesInBodies.prop.ts')

let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 1, progress: false, checkRaces: false })
})
afterAll(() => session.stop())

const N = 4
const STATEMENTS = [
  'x.set(i, x.get(i) * 2 + y.get((i + 1) % 4))',
  'y.set(i, y.get(i) + x.get(3 - i))',
  'm.row(i)[1] = x.get(i) + 1',
  'const r = m.row(i); r[0] += r[1] + i; r.set(1, r.get(0) * 2); r.add(0, 1)',
  'm.set(i, 0, m.get(i, 1) - 1)',
  'c.add(i % 2, i)',
  'total.add(x.get(i) + i)',
  'total.add(1)',
  'least.add(y.get(i) - i)',
  'w.add(i % 2, 1)',
  'y.set(i, w.get(1) + i)',
  'x.set(i, rng.uniform())',
  'y.set(i, rng.int(9))',
  'x.set(i, m.shape[1] + x.shape[0] * x.get(i))',
  'if (x.has(i)) x.add(i, 1)',
  'x.set(i, helper(i))',
] as const
const NAMES = ['x', 'y', 'm', 'c', 'total', 'least', 'w', 'rng'] as const

/** The same handles with the same contents each time. */
function fresh() {
  const c = session.zeros([2], { dtype: 'i32' })
  return {
    x: session.fill([N], 1.5),
    y: session.random([N], { seed: 3 }),
    m: session.fill([N, 2], 2),
    c,
    total: session.accumulator('sum'),
    least: session.accumulator('min'),
    w: session.fill([2], 5).buffer(),
    rng: session.rng(4),
  }
}

async function outcome(statements: readonly string[], captured: readonly string[], isAsItStands: boolean): Promise<unknown> {
  const handles = fresh()
  const env = Object.fromEntries(NAMES.filter((name) => !captured.includes(name)).map((name) => [name, handles[name]]))
  const noted = { calls: 0 }
  const helper = captured.includes('x') ? 'helper' : '((i) => x.get(i) * 3 + 1)'
  const text = statements.map((one) => `{ ${one.replace('helper', helper)} }`).join('\n')
  // a statement that is refused as a whole: lowering meets none of the handles inside
  const statementsText = isAsItStands ? `class Once { static { ${text} } }\nnoted.calls++` : text
  const source = `([i], { ${Object.keys(env).join(', ')} }) => { ${statementsText} }`
  // the text is a function, and so is what it makes
  const outer = new Function(
    ...captured,
    'noted',
    `const helper = (i) => ${captured.includes('x') ? 'x.get(i) * 3 + 1' : '0'}\nreturn ${source}`,
  )
  const body = outer(...captured.map((name) => handles[name as (typeof NAMES)[number]]), noted) as never
  const loop = session.loop(session.range(N), env as never, body)
  const report = await loop.run({ passes: 2 })
  expect([loop.plan.kernel.target === 'as-is', noted.calls]).toEqual([isAsItStands, isAsItStands ? 2 * N : 0])
  const { x, y, m, c, total, least, w } = handles
  const arrays = await Promise.all(([x, y, m, c, w.target] as (typeof x)[]).map(async (array) => [...(await array.toTypedArray())]))
  const sums = report.passes.map(({ accumulators }) => [accumulators.total, accumulators.least])
  return { arrays, values: [total.value, least.value], sums: captured.length === 0 ? sums : 'under other names' }
}

const known = new Map<string, Promise<unknown>>()

/** Of the body with everything in env, found once. */
function compiled(statements: readonly string[]): Promise<unknown> {
  const id = statements.join()
  const found = known.get(id) ?? outcome(statements, [], false)
  known.set(id, found)
  return found
}

test('handles that are captured mean what those in env mean, in bodies that are compiled and in bodies that run as they stand', async () => {
  const statements = fc.uniqueArray(fc.constantFrom(...STATEMENTS), { minLength: 1, maxLength: 2 })
  await fc.assert(
    fc.asyncProperty(statements, fc.subarray([...NAMES]), fc.boolean(), async (body, captured, isAsItStands) => {
      const expected = (await compiled(body)) as { readonly arrays: unknown; readonly values: unknown }
      const got = (await outcome(body, captured, isAsItStands)) as typeof expected
      expect([got.arrays, got.values]).toEqual([expected.arrays, expected.values])
    }),
    RUN,
  )
})
