/**
 * Law 4 for what a loop captures: every run reads it again, so that whatever changed between two runs, the second computes
 * with it, as the plain loop would.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Session } from '../src/index.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('loopCaptures.prop.ts')
const TIMEOUT_MS = 300 * RUN.numRuns + 60_000

let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 1, progress: false })
})
afterAll(() => session.stop())

const N = 4
const number = fc.integer({ min: -5, max: 5 })
const change = fc.record({
  what: fc.constantFrom('factor', 'sign', 'element', 'table', 'array', 'env', 'property', 'shift', 'helper', 'nothing'),
  value: number,
})

test(
  'a run computes with what is captured when it starts',
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 3 }), async (changes) => {
        let factor = 2
        let isNegative = false
        let table = Float64Array.of(1, 2, 3, 4)
        let from: { get(i: number): number } = await filled(10)
        let inFrom = 10
        const settings = { factor: 3 }
        let shift = 1
        let helper = (v: number): number => v + shift
        const x = session.zeros([N])
        const y = session.zeros([N])
        const z = session.zeros([N])
        const env = { x, k: 1 }
        // All that the first captures can be compared with what it was; of the others, only reading it again tells.
        const plain = session.loop(session.range(N), env, ([i], { x, k }) => {
          x.set(i, (isNegative ? -1 : 1) * factor * (table[i] ?? 0) + from.get(i) + k)
        })
        const settled = session.loop(session.range(N), { y }, ([i], { y }) => {
          y.set(i, settings.factor * i)
        })
        const helped = session.loop(session.range(N), { z }, ([i], { z }) => {
          z.set(i, helper(i))
        })
        for (const { what, value } of changes) {
          if (what === 'factor') factor = value
          else if (what === 'sign') isNegative = !isNegative
          else if (what === 'element') table[0] = value
          else if (what === 'table') table = Float64Array.of(value, 0, value, 1)
          else if (what === 'env') env.k = value
          else if (what === 'property') settings.factor = value
          else if (what === 'shift') shift = value
          else if (what === 'helper') helper = value > 0 ? (v) => v * 10 : (v) => v - shift
          else if (what === 'array') {
            from = await filled(value)
            inFrom = value
          }
          await plain.run()
          await settled.run()
          await helped.run()
          const indices = [...Array(N).keys()]
          expect([...(await x.toTypedArray())]).toEqual(
            indices.map((i) => (isNegative ? -1 : 1) * factor * (table[i] ?? 0) + inFrom + env.k),
          )
          expect([...(await y.toTypedArray())]).toEqual(indices.map((i) => settings.factor * i))
          expect([...(await z.toTypedArray())]).toEqual(indices.map((i) => helper(i)))
        }
      }),
      RUN,
    )
  },
  TIMEOUT_MS,
)

/** An array as the body sees it when it is captured. */
async function filled(value: number): Promise<{ get(i: number): number }> {
  return session.fill([N], value, { dtype: 'f64' }) as unknown as { get(i: number): number } // a view inside the body
}
