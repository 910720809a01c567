// biome-ignore-all lint/complexity/noThisInStatic: getters of classes that others extend are what the law is about
// biome-ignore-all lint/complexity/noStaticOnlyClass: classes that hold settings are such
/** Law: static getters of the program's classes are written out where loop bodies read them, as they are when the run begins. */
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { bodyOf, expectCompiled, looped, plain } from './drawnBodies.ts'

const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

let rate = 2.5
class Rates {
  static base = 3
  static get rate(): number {
    return rate
  }
  static get doubled(): number {
    return this.base * 2
  }
  static of(v: number): number {
    return v * this.doubled
  }
}
class Special extends Rates {
  static override base = 5
}
const classes = { Rates, Special }

test.each([
  ['one that reads a variable', 'out.set(i, Rates.rate * i)'],
  ['one that reads a field', 'out.set(i, Rates.doubled + (x.get(i) || 0))'],
  ['one that is inherited reads the field of the class that was asked', 'out.set(i, Special.doubled * 100 + Rates.doubled)'],
  ['one in a static method', 'out.set(i, Rates.of(i) + Special.of(2))'],
  ['one in a condition', 'out.set(i, i % 2 ? Rates.doubled : x.get(i) > Rates.rate ? 1 : 2)'],
  [
    'one of a class of the body',
    'class K { static get s() { return 3 } static get t() { return K.s * 2 } static f(v) { return v * this.t } } out.set(i, K.f(i) + K.s)',
  ],
])('%s', async (_, text) => {
  const body = bodyOf(`([i], { x, out }) => { ${text} }`, classes)
  const { outcome, plan } = await looped(session, body)
  expectCompiled(plan, text)
  expect(outcome).toStrictEqual(plain(body))
})

test('each run asks it anew', async () => {
  const body = bodyOf('([i], { out }) => { out.set(i, Rates.rate * i) }', classes)
  const out = session.zeros([20])
  const loop = session.loop(session.range(20), { out }, body as never)
  for (const value of [2, 7, 0.5]) {
    rate = value
    await loop.run()
    expect(loop.plan.kernel?.target).toMatch(/^wasm/)
    expect(await out.at(3)).toBe(3 * value)
  }
})

test.each([
  ['one that is replaced', 'out.set(i, Own.rate)', { Own: Object.defineProperty(class Own {}, 'rate', { get: () => 4 }) }],
  [
    'one with a private field',
    'out.set(i, Own.rate)',
    {
      Own: class Own {
        static #rate = 4
        static get rate() {
          return Own.#rate
        }
      },
    },
  ],
  [
    'one that changes something',
    'out.set(i, Own.next)',
    {
      Own: class Own {
        static n = 0
        static get next() {
          return 4 + 0 * ++Own.n
        }
      },
    },
  ],
])('%s gives what plain JavaScript gives', async (_, text, held) => {
  const body = bodyOf(`([i], { out }) => { ${text} }`, held)
  const { outcome } = await looped(session, body)
  expect(outcome).toStrictEqual(plain(body))
})
