/**
 * What a function that is not compiled is said to read of its row is all that it can see of it, and so columns that it does not
 * name need not be read.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import type { ElementType } from '../src/core/data/schema.ts'
import { Session } from '../src/index.ts'
import { lowerFunction } from '../src/planner/function/userFunction.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('rowFields.prop.ts')
const session = await Session.start({ workers: 1, progress: false })
afterAll(() => session.stop())

const NAMES = ['a', 'b', 'c', 'd'] as const
type Row = Record<(typeof NAMES)[number], number>
const ELEMENT: ElementType = { kind: 'row', fields: NAMES.map((name) => ({ name, type: { kind: 'f64' }, nullable: false })) }

/** Of a row by the name of `r`; those of the second list see all of it. */
const BY_NAME: readonly ((n: string) => string)[] = [
  (n) => `r.${n}`,
  (n) => `r?.${n}`,
  (n) => `r["${n}"]`,
  (n) => `(r).${n}.toFixed(1)`,
  (n) => `[1].map(() => r.${n})[0]`,
  (n) => `(() => { const at = "x"; return r.${n} + at })()`,
  () => '((r) => r.x)({ x: 2 })',
  () => '(() => { const r = { ...{ x: 3 } }; return Object.keys(r).length })()',
]
const AS_A_WHOLE: readonly ((n: string) => string)[] = [
  () => 'JSON.stringify(r)',
  () => 'Object.keys(r).length',
  (n) => `r.hasOwnProperty("${n}")`,
  (n) => `r?.hasOwnProperty?.("${n}")`,
  (n) => `(r.hasOwnProperty)("${n}")`,
  (n) => `({ ...r }).${n}`,
  (n) => `"${n}" in r`,
  (n) => `r[["${n}"][0]]`,
  (n) => `(() => { const { ${n} } = r; return ${n} })()`,
  (n) => `(() => { const s = r; return s.${n} })()`,
  (n) => `((s) => s.${n})(r)`,
  (n) => `[r].map(({ ${n} }) => ${n})[0]`,
]
const part = fc
  .tuple(
    fc.constantFrom(...NAMES),
    fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...BY_NAME) }, { weight: 1, arbitrary: fc.constantFrom(...AS_A_WHOLE) }),
  )
  .map(([name, of]) => of(name))
const parts = fc.array(part, { minLength: 1, maxLength: 3 })
const name = fc.constantFrom(...NAMES)
/** No pattern of a regular expression is compiled. */
const result = (values: readonly string[]): string => `[${values.join(', ')}].join() + /x/g.exec("x")[0]`
const texts = fc.oneof(
  { weight: 4, arbitrary: parts.map((own) => `(r) => ${result(own)}`) },
  { weight: 2, arbitrary: parts.map((own) => `function (r) { return ${result(own)} }`) },
  parts.map((own) => `(r = {}) => ${result(own)}`),
  fc.tuple(parts, name).map(([own, n]) => `function (r) { return ${result([...own, `arguments[0].${n}`])} }`),
  fc.tuple(parts, name).map(([own, n]) => `(r, key, more = r.${n}) => ${result([...own, 'more'])}`),
  fc.tuple(name, name).map(([n, m]) => `({ ${n}, "${m}": z = 2 }) => ${result([n, 'z'])}`),
  fc.tuple(name).map(([n]) => `({ ${n}, ...r }) => ${result(['Object.keys(r).length', n])}`),
  fc.tuple(name).map(([n]) => `({ ["${n}"]: z }) => ${result(['z'])}`),
  fc.tuple(name).map(([n]) => `(...r) => ${result([`r[0].${n}`])}`),
)

const functionOf = (text: string): ((r: Row) => string) => new Function(`return ${text}`)() as (r: Row) => string
const row = (i: number): Row => ({ a: i, b: -i, c: i / 2, d: 7 })

/** What a call asks of its row; undefined where it asks what there is. */
function seenBy(f: (r: Row) => string): ReadonlySet<string> | undefined {
  const seen = new Set<string>()
  let isWhole = false
  const whole =
    <A extends readonly never[], V>(ask: (...args: A) => V) =>
    (...args: A): V => {
      isWhole = true
      return ask(...args)
    }
  const { has, ownKeys, getOwnPropertyDescriptor } = Reflect
  const asked = new Proxy(row(1), {
    get: (of, key, self) => {
      if (typeof key === 'string' && key in of) seen.add(key)
      return Reflect.get(of, key, self)
    },
    has: whole(has as never),
    ownKeys: whole(ownKeys as never),
    getOwnPropertyDescriptor: whole(getOwnPropertyDescriptor as never),
  })
  f(asked)
  return isWhole ? undefined : seen
}

test('a function sees no more of its row than it is said to', () => {
  let told = 0
  fc.assert(
    fc.property(texts, (text) => {
      const f = functionOf(text)
      const { fn } = lowerFunction(f as never, { kind: 'row', method: 'map', inputs: [ELEMENT] })
      expect(fn.ir).toBeUndefined()
      const seen = seenBy(f)
      if (fn.fields === undefined) return
      told++
      expect(seen).toBeDefined()
      expect([...(seen ?? [])].filter((key) => !['hasOwnProperty', ...(fn.fields ?? [])].includes(key))).toEqual([])
    }),
    RUN,
  )
  expect(told).toBeGreaterThan(RUN.numRuns / 3)
})

test('rows of fewer columns are the same to it', async () => {
  const rows = Array.from({ length: 3 }, (_, i) => row(i))
  const table = session.fromRows(rows)
  await fc.assert(
    fc.asyncProperty(texts, fc.boolean(), async (text, filters) => {
      const f = functionOf(text)
      const expected = rows.map((one) => f({ ...one }))
      if (filters) {
        const kept = await table
          .filter((r) => r.a >= 0)
          .map(f)
          .filter((s) => s !== 'none')
          .collect()
        expect(kept).toEqual(expected)
      } else expect(await table.map(f).collect()).toEqual(expected)
    }),
    RUN,
  )
})
