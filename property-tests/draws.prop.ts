/**
 * Law: kernels of WebAssembly draw the numbers that the generator gives to an iteration of a pass, in the order of the source,
 * however the body draws them and however many workers share the iterations.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { IterationRng } from '../src/core/arrays/random.ts'
import { Session } from '../src/session/session.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('draws.prop.ts')
const sessions = await Promise.all([1, 2, 3].map((workers) => Session.start({ workers, progress: false })))
afterAll(async () => {
  for (const session of sessions) await session.stop()
})

const draw: fc.Arbitrary<string> = fc.constantFrom(
  'a.uniform()',
  'a.uniform()',
  'b.uniform()',
  'a.normal()',
  'a.int(6)',
  'b.int(1 + (i % 3))',
  'a.int(2.5)',
)
const value: fc.Arbitrary<string> = fc.oneof(
  draw,
  fc.tuple(draw, fc.constantFrom('+', '-', '*'), draw).map(([x, by, y]) => `(${x} ${by} ${y})`),
  draw.map((x) => `(s - ${x} * s)`),
  draw.map((x) => `Math.max(${x}, s, ${x})`),
  draw.map((x) => `t[Math.floor(Math.abs(${x})) % 4]`),
  draw.map((x) => `(${x} > 0.5 ? s : 2)`),
  fc.tuple(draw, draw, draw).map(([x, y, z]) => `(${x} < 0.5 ? ${y} : s - ${z})`),
  fc.tuple(draw, draw).map(([x, y]) => `(s < 0.3 ? 1 : ${x} < 0.5 ? s : ${y})`),
  fc.tuple(draw, draw).map(([x, y]) => `(t[1] + (s > 0.5 || ${x} < t[2] ? ${y} : t[3]))`),
  fc.constantFrom('t[Math.floor(4 * a.uniform())]', 't[Math.floor(b.uniform() * 2 + a.uniform() * 2)]'),
)
const statement: fc.Arbitrary<string> = fc.letrec<{ one: string; block: string }>((tie) => ({
  block: fc.array(tie('one'), { minLength: 1, maxLength: 3 }).map((all) => all.join('\n')),
  one: fc.oneof(
    { maxDepth: 3 },
    value.map((x) => `s = s * 0.5 + ${x}`),
    fc.tuple(value, value).map(([x, y]) => `t[Math.floor(Math.abs(${x})) % 4] = ${y}`),
    value.map((x) => `t[Math.floor(a.uniform() * 4)] += ${x}`),
    fc
      .tuple(draw, draw, tie('block'))
      .map(([x, y, then]) => `if ((s < 0.2 || ${x} < Math.exp(-s)) && !(s > 2 && ${y} > 0.5)) {\n${then}\n}`),
    fc
      .tuple(fc.constantFrom('n++ < 3', 'n < 3'), tie('block'))
      .map(
        ([goesOn, body]) => `{ let n = 0\ndo {\n${body}\n${goesOn === 'n < 3' ? 'n++' : ''}\n} while (${goesOn} && a.uniform() < 0.6) }`,
      ),
    fc.tuple(draw, tie('block')).map(([x, body]) => `for (let w = ${x}, n = 0; w < 1 && n < 4; w += 0.3, n++) {\ns -= w\n${body}\n}`),
    fc.tuple(draw, tie('block'), tie('block')).map(([x, then, other]) => `if (${x} < 0.4) {\n${then}\n} else {\n${other}\n}`),
    fc.tuple(fc.integer({ min: 0, max: 4 }), tie('block')).map(([n, body]) => `for (let k = 0; k < ${n}; k++) {\n${body}\n}`),
    fc
      .tuple(draw, tie('block'))
      .map(([x, body]) => `for (let w = 0; w < 5 && w < 6 * Math.abs(s); w++) {\nif (${x} > 0.9) break\n${body}\n}`),
    tie('block').map(
      (body) => `{ let turns = 0\nwhile (a.uniform() < 0.6) {\nif (turns++ > 3) break\nif (b.uniform() < 0.2) continue\n${body}\n} }`,
    ),
  ),
})).block

type Body = (key: readonly number[], env: Record<string, unknown>) => void

test('kernels draw what the generator gives to each iteration', async () => {
  const counts: Record<string, number> = {}
  await fc.assert(
    fc.asyncProperty(
      statement,
      fc.record({
        which: fc.nat(2),
        isPlane: fc.boolean(),
        seeds: fc.tuple(fc.integer(), fc.maxSafeInteger()),
      }),
      async (text, { which, isPlane, seeds }) => {
        const session = sessions[which] as Session
        const [key, at] = isPlane ? ['[i, j]', 'i, j'] : ['[i]', 'i']
        const source = `(${key}, { y, a, b }) => {\nlet s = 0\nconst t = new Float64Array(4)\n${text}\ny.set(${at}, s + t[1])\n}`
        const body = new Function(`return ${source}`)() as Body
        const shape = isPlane ? [5, 6] : [20]
        const y = session.zeros(shape)
        const loop = session.loop(session.range(...shape), { y, a: session.rng(seeds[0]), b: session.rng(seeds[1]) }, body as never)
        const target = loop.plan.kernel?.target ?? 'none'
        counts[target] = (counts[target] ?? 0) + 1
        expect(target, source).not.toBe('as-is')
        await loop.run({ passes: 2 })
        expect(await y.toTypedArray(), source).toStrictEqual(expected(body, shape, seeds))
        await y.release()
      },
    ),
    RUN,
  )
  console.log(`draws: ${JSON.stringify(counts)}`)
  expect(counts.wasm ?? 0).toBeGreaterThan(RUN.numRuns / 2)
})

/** What the second of two passes leaves. */
function expected(body: Body, shape: readonly number[], seeds: readonly [number, number]): Float64Array {
  const generators = seeds.map((seed) => new IterationRng(seed)) as [IterationRng, IterationRng]
  const [rows = 1, columns] = shape
  const y = new Float64Array(rows * (columns ?? 1))
  for (let pass = 0; pass < 2; pass++) {
    for (let place = 0; place < y.length; place++) {
      const key = columns === undefined ? [place] : [Math.floor(place / columns), place % columns]
      for (const rng of generators) {
        rng.startPass(pass)
        rng.begin(...key)
      }
      const set = (...given: number[]): void => void (y[place] = given.at(-1) as number) // a value comes last
      body(key, { y: { set }, a: generators[0], b: generators[1] })
    }
  }
  return y
}
