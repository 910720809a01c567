/**
 * Elements that are true and false are so in every loop: of what it iterates over and of what is in env, in bodies that are compiled,
 * in those that run as they stand, and in plain JavaScript. Those of arrays of zeros with the dtype bool are numbers.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type DistArray, Session } from '../src/index.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('booleanElements.prop.ts')

let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 1, progress: false, checkRaces: false })
})
afterAll(() => session.stop())

const N = 4
type Element = boolean | number | null
const KINDS = ['column', 'nullable', 'withoutNulls', 'mapped', 'filled', 'indexed', 'sparse', 'zeros'] as const

/** The array, and what plain JavaScript has in its place. */
async function made(kind: (typeof KINDS)[number], bits: readonly boolean[]): Promise<[DistArray<Element>, Element[]]> {
  const column = session.fromColumns({ b: bits })
  const array = session.fill([N], true)
  switch (kind) {
    case 'column':
      return [column.map((row) => row.b) as DistArray<never>, [...bits]]
    case 'nullable': {
      const some = [...bits.slice(1), null]
      return [session.fromColumns({ b: some }).map((row) => row.b) as DistArray<never>, some]
    }
    case 'withoutNulls': {
      const all = session.fromColumns({ b: [...bits, null] }).map((row) => row.b)
      return [(await all.filter((b) => b !== null).materialize()) as DistArray<never>, [...bits]]
    }
    case 'mapped':
      return [session.fromColumns({ n: Int8Array.from(bits, Number) }).map((row) => row.n > 0) as DistArray<never>, [...bits]]
    case 'filled':
      for (const [i, bit] of bits.entries()) await array.set([i], bit)
      return [array as DistArray<never>, [...bits]]
    case 'indexed': {
      const keyed = column.map((row) => row.b).index((_, [i]) => [i] as [number], { shape: [N], storage: 'dense' })
      return [keyed as DistArray<never>, [...bits]]
    }
    case 'sparse': {
      const keyed = column.map((row) => row.b).index((_, [i]) => [i] as [number], { shape: [N], storage: 'sparse' })
      return [keyed as DistArray<never>, [...bits]]
    }
    case 'zeros': {
      const zeros = session.zeros([N], { dtype: 'bool' })
      for (const [i, bit] of bits.entries()) await zeros.set([i], Number(bit))
      return [zeros as DistArray<never>, bits.map(Number)]
    }
  }
}

/** Of an element `v`. */
const USES = [
  'v === true ? 1 : v === false ? 2 : v === 1 ? 3 : v === 0 ? 4 : 5',
  'v ? 1 : 2',
  '!v ? 1 : 2',
  'v !== true ? 1 : 2',
  'v === false || v === 0 ? 7 : 8',
  'Number(v)',
  '(v === null ? 3 : 4) + i',
] as const

test('an element that is true or false is that in every kind of body', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...KINDS),
      fc.array(fc.boolean(), { minLength: N, maxLength: N }),
      fc.constantFrom(...USES),
      fc.boolean(),
      fc.boolean(),
      fc.boolean(),
      async (kind, bits, use, isIterated, isAsItStands, isFlipped) => {
        const [b, plain] = await made(kind, bits)
        const y = session.zeros([N])
        const noted = { calls: 0 }
        const flips = isFlipped && kind === 'filled' && !isIterated ? 'b.set(i, !v)' : ''
        const head = isIterated ? '(v, [i], { y }) => {' : '([i], { b, y }) => { const v = b.get(i);'
        const text = `${head} ${isAsItStands ? 'noted.calls++;' : ''} y.set(i, ${use}); ${flips} }`
        const body = new Function('noted', `return ${text}`)(noted) as never // the text is a function
        const loop = isIterated ? session.loop(b, { y }, body) : session.loop(session.range(N), { b, y }, body)
        await loop.run()
        expect(loop.plan.kernel.target === 'as-is').toBe(isAsItStands)
        const plainly = new Function('v', 'i', `return ${use}`) as (v: Element, i: number) => number
        expect([...(await y.toTypedArray())]).toEqual(plain.map((v, i) => plainly(v, i)))
        expect(await b.collect()).toEqual(flips === '' ? plain : plain.map((v) => !v))
      },
    ),
    RUN,
  )
})
