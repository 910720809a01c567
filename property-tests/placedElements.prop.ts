/**
 * Law 4 for elements that are kept in the order of blocks: whatever writes the array between two passes, or in them, each
 * pass reads the values that the plain loop reads, in the loop's serial order.
 */

import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Session } from '../src/index.ts'
import { shortPassesOnWorkers } from '../src/session/runtime.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('placedElements.prop.ts')

const sessions: Session[] = []
beforeAll(async () => {
  sessions.push(await Session.start({ workers: 1, progress: false }))
  sessions.push(await Session.start({ workers: 2, progress: false, ...shortPassesOnWorkers }))
})
afterAll(async () => {
  for (const session of sessions) await session.stop()
})

const SIDE = 12
const keys = fc.uniqueArray(fc.tuple(fc.nat(SIDE - 1), fc.nat(SIDE - 1)), { minLength: 1, maxLength: 60, selector: (key) => key.join() })
const step = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ kind: 'pass' as const }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('set' as const), which: fc.nat(), value: fc.integer({ min: -9, max: 9 }) }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'loop' as const }) },
)
const program = fc.record({
  keys,
  steps: fc.array(step, { minLength: 2, maxLength: 6 }),
  partitions: fc.integer({ min: 1, max: 5 }),
  /** How the loop itself treats the elements. */
  own: fc.constantFrom('reads' as const, 'returns' as const, 'sets' as const),
  order: fc.constantFrom('any' as const, 'serial' as const),
})

test('elements have the values of the plain loop in every pass', async () => {
  await fc.assert(
    fc.asyncProperty(program, async ({ keys, steps, partitions, own, order }) => {
      for (const session of sessions) {
        const sorted = [...keys].sort((a, b) => a[0] - b[0] || a[1] - b[1])
        const elements = new Map(sorted.map(([r, c], i) => [`${r},${c}`, 0.1 * i + 1]))
        const matrix = session
          .fromColumns({ r: sorted.map(([r]) => r), c: sorted.map(([, c]) => c), v: [...elements.values()] })
          .index((row) => [row.r, row.c], { shape: [SIDE, SIDE], storage: 'sparse' })
          .map((row) => row.v)
          .materialize()
        const W = session.fill([SIDE], 1, { dtype: 'f64' })
        const H = session.fill([SIDE], 1, { dtype: 'f64' })
        const options = { order, partitions }
        const loop =
          own === 'reads'
            ? session.loop(
                matrix,
                { W, H },
                (value, [r, c], { W, H }) => {
                  W.set(r, W.get(r) * 0.5 + value * H.get(c))
                  H.set(c, H.get(c) * 0.75 + value)
                },
                options,
              )
            : own === 'returns'
              ? session.loop(
                  matrix,
                  { W, H },
                  (value, [r, c], { W, H }) => {
                    W.set(r, W.get(r) * 0.5 + value * H.get(c))
                    H.set(c, H.get(c) * 0.75 + value)
                    return value * 0.5
                  },
                  options,
                )
              : session.loop(
                  matrix,
                  { W, H, M: matrix },
                  (value, [r, c], { W, H, M }) => {
                    W.set(r, W.get(r) * 0.5 + value * H.get(c))
                    H.set(c, H.get(c) * 0.75 + value)
                    M.set(r, c, value * 0.5)
                  },
                  options,
                )
        const halved = session.loop(matrix, {}, (value) => value * 0.5)
        const [w, h] = [new Float64Array(SIDE).fill(1), new Float64Array(SIDE).fill(1)]
        for (const one of steps) {
          if (one.kind === 'set') {
            const key = sorted[one.which % sorted.length] ?? [0, 0]
            await matrix.set(key, one.value)
            elements.set(key.join(), one.value)
          } else if (one.kind === 'loop') {
            await halved.run()
            for (const [key, value] of elements) elements.set(key, value * 0.5)
          } else {
            await loop.run()
            const visited = await loop.serialOrder()
            for (let i = 0; i < visited.length; i += 2) {
              const [r, c] = [visited[i] ?? 0, visited[i + 1] ?? 0]
              const value = elements.get(`${r},${c}`) ?? Number.NaN
              w[r] = (w[r] ?? 0) * 0.5 + value * (h[c] ?? 0)
              h[c] = (h[c] ?? 0) * 0.75 + value
              if (own !== 'reads') elements.set(`${r},${c}`, value * 0.5)
            }
          }
        }
        expect([...(await W.toTypedArray())]).toEqual([...w])
        expect([...(await H.toTypedArray())]).toEqual([...h])
        expect(await matrix.collect()).toEqual([...elements.values()])
        for (const array of [matrix, W, H]) await array.release()
      }
    }),
    RUN,
  )
})
