/**
 * A call takes its place among the users of an array when it is made: whatever a program awaits, and whatever it leaves to be
 * awaited later, runs, reads and writes of one array come in the order of the program.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Loop, Session } from '../src/index.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('programOrder.prop.ts')

let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 1, progress: false })
})
afterAll(() => session.stop())

const N = 3
const step = fc.record({
  what: fc.constantFrom('double', 'doubleAsItStands', 'copy', 'sum', 'twoPasses', 'scale', 'read', 'row', 'set', 'assign', 'total'),
  isAwaited: fc.boolean(),
  at: fc.nat(N - 1),
  value: fc.integer({ min: -5, max: 5 }),
})

test('runs, reads and writes that nobody awaits come in the order of the program', async () => {
  let calls = 0
  let rate = 1
  const a = session.fill([N], 1)
  const b = session.fill([N], 2)
  const into = session.zeros([1])
  const range = session.range(N)
  const loops: Readonly<Record<string, Loop>> = {
    double: session.loop(range, { a, b }, ([i], { a, b }) => a.set(i, a.get(i) * 2 + b.get(i))),
    doubleAsItStands: session.loop(range, { a, b }, ([i], { a, b }) => {
      calls++
      a.set(i, a.get(i) * 2 + b.get(i))
    }),
    scale: session.loop(range, { b }, ([i], { b }) => b.set(i, b.get(i) + rate)),
    copy: session.loop(range, { a, b }, ([i], { a, b }) => b.set(i, a.get(i))),
    sum: session.loop(session.range(1), { a, into }, (_, { a, into }) => into.set(0, a.get(0) + a.get(1) + a.get(2))),
    total: session.loop(session.range(1), { b, into }, (_, { b, into }) => into.set(0, into.get(0) + b.get(0))),
  }
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 8 }), async (steps) => {
      await Promise.all([a.assign([null], 1), b.assign([null], 2), into.assign([null], 0)])
      const [x, y] = [new Array<number>(N).fill(1), new Array<number>(N).fill(2)]
      let z = 0
      const answers: Promise<unknown>[] = []
      const expected: unknown[] = []
      const reads = (answer: Promise<unknown>, plain: unknown): void => {
        answers.push(answer)
        expected.push(plain)
      }
      const double = (): void => {
        for (const [i, value] of x.entries()) x[i] = value * 2 + (y[i] as number)
      }
      for (const { what, isAwaited, at, value } of steps) {
        const loop = loops[what === 'twoPasses' ? 'double' : what]
        if (loop !== undefined) {
          rate = value
          answers.push(loop.run({ passes: what === 'twoPasses' ? 2 : 1 }).then(({ passes }) => passes.length))
          expected.push(what === 'twoPasses' ? 2 : 1)
          rate = 99 // what a run captures it has read
          if (what === 'scale') for (const [i, was] of y.entries()) y[i] = was + value
          else if (what === 'copy') y.splice(0, N, ...x)
          else if (what === 'sum') z = (x[0] as number) + (x[1] as number) + (x[2] as number)
          else if (what === 'total') z += y[0] as number
          else double()
          if (what === 'twoPasses') double()
        } else if (what === 'read') reads(into.at(0), z)
        else if (what === 'row')
          reads(
            a.toTypedArray().then((all) => [...all]),
            [...x],
          )
        else if (what === 'set') {
          reads(b.set([at], value), undefined)
          y[at] = value
        } else {
          reads(a.assign([null], value), undefined)
          x.fill(value)
        }
        if (isAwaited) await answers.at(-1)
      }
      expect(await Promise.all(answers)).toEqual(expected)
      expect([[...(await a.toTypedArray())], [...(await b.toTypedArray())], await into.at(0)]).toEqual([x, y, z])
    }),
    RUN,
  )
  expect(calls).toBeGreaterThan(0)
})
