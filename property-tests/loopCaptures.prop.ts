/**
 * Law 4 for what a loop captures: every run reads it again, so that whatever changed between two runs, the second computes
 * with it, as the plain loop would.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Session } from '../src/index.ts'
import { shortPassesOnWorkers } from '../src/session/runtime.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('loopCaptures.prop.ts')

let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 1, progress: false })
})
afterAll(() => session.stop())

const N = 4
const number = fc.integer({ min: -5, max: 5 })
const change = fc.record({
  what: fc.constantFrom(
    ...['factor', 'sign', 'element', 'table', 'array', 'env', 'property', 'shift', 'helper', 'nothing'],
    ...['nested', 'inner', 'item', 'shorter', 'hole', 'tool', 'gain', 'getter', 'mark'],
  ),
  value: number,
})

test('a run computes with what is captured when it starts', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 3 }), async (changes) => {
      let factor = 2
      let isNegative = false
      let table = Float64Array.of(1, 2, 3, 4)
      let from: { get(i: number): number } = await filled(10)
      let inFrom = 10
      const settings = { factor: 3, inner: { offset: 1 } }
      const list = [1, 2, 3]
      let shift = 1
      let helper = (v: number): number => v + shift
      let gain = 2
      const amplified = (v: number): number => v * gain
      const tools = { scaled: (v: number): number => amplified(v) + 1 }
      const x = session.zeros([N])
      const y = session.zeros([N])
      const z = session.zeros([N])
      const marks = Float64Array.of(1, 2)
      const env = { x, k: 1 }
      const plain = session.loop(session.range(N), env, ([i], { x, k }) => {
        x.set(i, (isNegative ? -1 : 1) * factor * (table[i] ?? 0) + from.get(i) + k)
      })
      const settled = session.loop(session.range(N), { y }, ([i], { y }) => {
        y.set(i, settings.factor * i + settings.inner.offset * (list[i] ?? 7))
      })
      const helped = session.loop(session.range(N), { z }, ([i], { z }) => {
        z.set(i, helper(i) + tools.scaled(i) + (marks.includes(i === 0 ? Number.NaN : i) ? 100 : 0))
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
        else if (what === 'nested') settings.inner.offset = value
        else if (what === 'inner') settings.inner = { offset: value }
        else if (what === 'item') list[1] = value
        else if (what === 'shorter') list.length = Math.abs(value)
        else if (what === 'hole') delete list[Math.abs(value)]
        else if (what === 'tool') tools.scaled = (v) => v - value
        else if (what === 'gain') gain = value
        else if (what === 'mark') marks[0] = value > 0 ? value : Number.NaN
        else if (what === 'getter')
          Object.defineProperty(settings, 'factor', { get: () => shift + value, set: (v) => (shift = v), configurable: true })
        else if (what === 'array') {
          from = await filled(value)
          inFrom = value
        }
        await plain.run()
        await settled.run()
        await helped.run()
        const indices = [...Array(N).keys()]
        expect([...(await x.toTypedArray())]).toEqual(indices.map((i) => (isNegative ? -1 : 1) * factor * (table[i] ?? 0) + inFrom + env.k))
        expect([...(await y.toTypedArray())]).toEqual(indices.map((i) => settings.factor * i + settings.inner.offset * (list[i] ?? 7)))
        expect([...(await z.toTypedArray())]).toEqual(
          indices.map((i) => helper(i) + tools.scaled(i) + (marks.includes(i === 0 ? Number.NaN : i) ? 100 : 0)),
        )
      }
    }),
    RUN,
  )
})

test('a captured list that changes between runs, of another kind than numbers, of another kind than before, or too long to be compared', async () => {
  const both = await Session.start({ workers: 2, progress: false, ...shortPassesOnWorkers })
  const words = ['yes', 'no', 'yes', 'no']
  const long: number[] = Array.from({ length: 30_000 }, (_, i) => i)
  const x = both.zeros([N])
  const y = both.zeros([N])
  const telling = both.loop(both.range(N), { x }, ([i], { x }) => {
    x.set(i, words[i] === 'yes' ? 1 : 0)
  })
  const adding = both.loop(both.range(N), { y }, ([i], { y }) => {
    y.set(i, (long[i] ?? 7) + 1)
  })
  const results = async (): Promise<readonly unknown[]> => {
    await telling.run()
    await adding.run()
    return [[...(await x.toTypedArray())], [...(await y.toTypedArray())]]
  }
  expect(await results()).toEqual([
    [1, 0, 1, 0],
    [1, 2, 3, 4],
  ])
  words[1] = 'yes'
  long[1] = '5' as unknown as number
  expect(await results()).toEqual([
    [1, 1, 1, 0],
    [1, 51, 3, 4],
  ])
  words[0] = 'no'
  long.length = 1
  expect(await results()).toEqual([
    [0, 1, 1, 0],
    [1, 8, 8, 8],
  ])
  await both.stop()
})

/** An array as the body sees it when it is captured. */
async function filled(value: number): Promise<{ get(i: number): number }> {
  return session.fill([N], value, { dtype: 'f64' }) as unknown as { get(i: number): number } // a view inside the body
}
