import { expect, test } from 'vitest'
import { lowerFunction } from '../userFunction.ts'
import { copyLoss } from './copyLoss.ts'
import { isFlat } from './flat.ts'
import { hasTraps } from './traps.ts'

const ROW = { kind: 'row', method: 'map', inputs: [{ kind: 'scalar', type: { kind: 'f64' }, nullable: false }] } as const

/** A Proxy whose every trap fails the test. */
function alarmed(target: object): object {
  const trap = (): never => {
    throw new Error('a trap was called')
  }
  const traps = new Proxy({}, { get: () => trap })
  return new Proxy(target, traps)
}

test('a Proxy is known, behind an object that inherits from one as well, and no trap is called', () => {
  const proxy = alarmed({ rate: 1 })
  expect([proxy, alarmed([1]), alarmed(() => 1), Object.create(proxy), Object.create(Object.create(proxy))].map(hasTraps)).not.toContain(
    false,
  )
  expect([1, null, undefined, 'x', {}, [], () => 1, Object.create(null), new Map(), Float64Array.of(1)].map(hasTraps)).not.toContain(true)
})

test('what reaches a Proxy is neither copied to another thread nor taken for plain data', () => {
  const proxy = alarmed({ rate: 1 })
  for (const value of [proxy, { inner: proxy }, [proxy], new Map([[1, proxy]]), new Set([proxy]), Object.create(proxy)]) {
    expect(copyLoss(value)).toEqual({ kind: 'whole' })
    expect(isFlat(value)).toBe(false)
  }
})

test('a function that reaches a Proxy is refused by name, with the cure', () => {
  const settings = alarmed({ rate: 1 }) as { readonly rate: number }
  const nested = { inner: settings, own: 2 }
  const cure = 'Capture what it gives in a variable, or a copy of it, as { ...object }.'
  expect(lowerFunction((v: number) => v * settings.rate, ROW).fn.refusals).toEqual([
    {
      code: 'captured-proxy',
      message: 'settings is a Proxy or inherits from one: what it holds is known only to its own code.',
      cure,
      span: { line: 1, column: 12, text: 'settings' },
    },
  ])
  expect(lowerFunction((v: number) => v * nested.inner.rate, ROW).fn.refusals).toEqual([
    {
      code: 'captured-proxy',
      message: 'nested.inner is a Proxy or inherits from one: what it holds is known only to its own code.',
      cure,
      span: { line: 1, column: 12, text: 'nested.inner' },
    },
  ])
  expect(lowerFunction((v: number) => v * nested.own, ROW).fn.refusals).toEqual([])
})
