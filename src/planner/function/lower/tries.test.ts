/** What functions catch, as IR, or why it is refused: whole texts. */
import { expect, test } from 'vitest'
import { irText } from '../irText.ts'
import { lowerFunction } from '../userFunction.ts'
import type { LowerContext } from './context.ts'

const LOOP: LowerContext = {
  kind: 'loop',
  isRange: true,
  rank: 1,
  extents: [8],
  env: {
    x: { kind: 'array', dtype: 'f64', shape: [8] },
    y: { kind: 'array', dtype: 'f64', shape: [8] },
    few: { kind: 'array', dtype: 'f64', shape: [3] },
    big: { kind: 'array', dtype: 'i64', shape: [8] },
    unknown: { kind: 'array', dtype: 'f64' },
  },
}
const ROW: LowerContext = {
  kind: 'row',
  method: 'map',
  inputs: [
    {
      kind: 'row',
      fields: [
        { name: 'name', type: { kind: 'utf8' }, nullable: false },
        { name: 'note', type: { kind: 'utf8' }, nullable: true },
      ],
    },
  ],
}

// biome-ignore lint/suspicious/noExplicitAny: the functions here stand for any user's, whose types are gone by now
type Untyped = (...args: any[]) => unknown

function lowered(f: Untyped, context: LowerContext): string {
  const { fn } = lowerFunction(f as never, context)
  return fn.ir === undefined ? fn.refusals.map((one) => `${one.message} ${one.cure}`).join('\n') : irText(fn.ir)
}
const body = (f: Untyped): string => lowered(f, LOOP)

test('what cannot fail is not caught', () => {
  expect(
    body(([i], { x, y }) => {
      try {
        y.set(i, Math.sqrt(x.get(i)))
      } catch {
        y.set(i, -1)
      } finally {
        x.set(i, 0)
      }
    }),
  ).toMatchInlineSnapshot(`
    "y[@0] = Math.sqrt(x[@0])
    x[@0] = 0"
  `)
  expect(
    lowered((r) => {
      try {
        return Number.parseFloat(r.name.trim())
      } catch {
        return -1
      }
    }, ROW),
  ).toMatchInlineSnapshot(`"return parseFloat(#0.name.trim())"`)
})

test('each statement asks first whether it would fail', () => {
  expect(
    body(([i], { x, y, few }) => {
      try {
        y.set(i, 1)
        if (x.get(i) > 3) throw new Error('large')
        y.set(i, few.get(x.get(i)))
      } catch {
        y.set(i, 0)
      }
    }),
  ).toMatchInlineSnapshot(`
    "done:
      caught:
        y[@0] = 1
        if (x[@0] > 3)
          break caught
        if ((!(x[@0] >= 0) || !(x[@0] < few.shape[0])) || ((x[@0] % 1) !== 0))
          break caught
        y[@0] = few[x[@0]]
        break done
      y[@0] = 0"
  `)
})

test('what may fail otherwise is refused', () => {
  const cure = 'Test for the failure with an if, or let the exception end the run.'
  const around = (f: Untyped): string => body(f)
  expect(
    around(([i], { y, big }) => {
      try {
        y.set(i, Number(big.get(i)))
      } catch {}
    }),
  ).toBe(`It catches what big may throw. ${cure}`)
  expect(
    around(([i], { y, unknown }) => {
      try {
        y.set(i, unknown.get(i))
      } catch {}
    }),
  ).toBe(`It catches what unknown may throw. ${cure}`)
  expect(
    lowered((r) => {
      try {
        return r.note.trim()
      } catch {
        return ''
      }
    }, ROW),
  ).toBe(`It catches what trim may throw. ${cure}`)
  expect(
    around(([i], { y, few }) => {
      try {
        y.set(i, few.get(i))
      } catch (error) {
        y.set(i, String(error).length)
      }
    }),
  ).toBe('It uses the exception that it catches. Leave the exception out, as catch { … }, and set a variable before what may fail.')
  expect(
    around(([i], { x, y, few }) => {
      try {
        y.set(i, few.get(i))
      } finally {
        x.set(i, 0)
      }
    }),
  ).toBe(
    'It has a finally behind what may throw an error that the try does not catch. Catch it, as catch { … }, or let the exception end the run.',
  )
})
