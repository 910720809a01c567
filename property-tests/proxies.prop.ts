/**
 * What a body or a row function captures is never read past the traps of a Proxy, however deep the Proxy lies: loops and
 * chains give what plain JavaScript gives, on one worker and on several.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Session } from '../src/index.ts'
import { shortPassesOnWorkers } from '../src/session/runtime.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('proxies.prop.ts')

const N = 4
const start = async (workers: number) => {
  const session = await Session.start({ workers, progress: false, ...shortPassesOnWorkers })
  const table = session.fromColumns({ i: Float64Array.from({ length: N }, (_, i) => i) })
  return { session, table, y: session.zeros([N]) }
}
let sides: readonly Awaited<ReturnType<typeof start>>[]
beforeAll(async () => {
  sides = await Promise.all([1, 2].map(start))
})
afterAll(async () => void (await Promise.all(sides.map(({ session }) => session.stop()))))

/** What functions capture: each field is itself, a Proxy of itself, or an object that inherits from one. */
interface Settings {
  readonly rate: number
  readonly inner: { readonly rate: number }
  readonly list: readonly number[]
  readonly own: number
}

const HANDLERS: Readonly<Record<string, ProxyHandler<object>>> = {
  none: {},
  defaults: { get: (own, name, receiver) => Reflect.get(own, name, receiver) || 0.5 },
  doubled: {
    get: (own, name, receiver) => {
      const value: unknown = Reflect.get(own, name, receiver)
      return typeof value === 'number' && name !== 'length' ? value * 2 : value
    },
  },
  hidden: { has: () => false, ownKeys: () => [], getOwnPropertyDescriptor: () => undefined },
  shown: { has: () => true },
}
const wrapping = fc.record({ how: fc.constantFrom('itself', 'proxy', 'heir'), handler: fc.constantFrom(...Object.keys(HANDLERS)) })
type Wrapping = typeof wrapping extends fc.Arbitrary<infer W> ? W : never

function wrapped<T extends object>(target: T, { how, handler }: Wrapping): T {
  if (how === 'itself') return target
  const proxy = new Proxy(target, HANDLERS[handler] ?? {}) as T
  return how === 'heir' && !Array.isArray(target) ? (Object.create(proxy) as T) : proxy // has what it inherits
}

/** Functions of an index that look at what they capture, in the ways that functions do. */
function readers(settings: Settings): Readonly<Record<string, (i: number) => number>> {
  const { inner, list } = settings
  const helper = (i: number): number => settings.rate + i
  const tools = { helper, settings }
  return {
    field: (i) => settings.rate * i,
    nested: (i) => settings.inner.rate * i,
    own: (i) => settings.own * i,
    captured: (i) => inner.rate + i,
    element: (i) => list[i] ?? -1,
    length: (i) => list.length + i,
    missing: (i) => ((settings as unknown as { missing?: number }).missing ?? 7) + i,
    tested: (i) => ('rate' in inner ? 1 : 0) + i,
    taken: (i) => {
      const { rate } = settings
      return rate - i
    },
    first: (i) => {
      const [first] = list
      return (first ?? 0) + i
    },
    all: (i) => {
      let sum = i
      for (const item of list) sum += item
      return sum
    },
    included: (i) => (list.includes(i) ? 1 : 0),
    helped: (i) => helper(i),
    tool: (i) => tools.helper(i) + tools.settings.own,
  }
}
const READERS = Object.keys(readers({ rate: 0, inner: { rate: 0 }, list: [], own: 0 }))

test('a captured Proxy means in a loop and in a chain what it means in plain JavaScript', async () => {
  const numbers = fc.integer({ min: -3, max: 3 })
  const values = fc.record({ rate: numbers, deep: numbers, own: numbers, list: fc.array(numbers, { maxLength: 5 }) })
  await fc.assert(
    fc.asyncProperty(
      values,
      fc.tuple(wrapping, wrapping, wrapping),
      fc.constantFrom(...READERS),
      fc.constantFrom(0, 1),
      fc.boolean(),
      async ({ rate, deep, own, list }, [outside, inside, ofList], form, at, isLoop) => {
        const inner = wrapped({ rate: deep }, inside)
        const f = readers(wrapped({ rate, inner, list: wrapped(list, ofList), own }, outside))[form] as (i: number) => number
        const plain = Array.from({ length: N }, (_, i) => f(i))
        const { session, y, table } = sides[at] as (typeof sides)[number]
        if (isLoop) {
          await session.loop(session.range(N), { y }, ([i], { y }) => void y.set(i, f(i))).run()
          expect([...(await y.toTypedArray())]).toEqual(plain)
        } else expect(await table.map((row) => f(row.i)).collect()).toEqual(plain)
      },
    ),
    RUN,
  )
})
