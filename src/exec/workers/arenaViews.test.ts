import fc from 'fast-check'
import { expect, test } from 'vitest'
import { lawRuns } from '../../../property-tests/lawRuns.ts'
import { createArena } from '../memory/sharedArena.ts'
import { fromMessage, toMessage } from './arenaViews.ts'

const arena = createArena({ budgetBytes: 2 ** 20 })
const block = arena.allocate(4096, 'test')
/** The same arena, as one of 64-bit addresses is treated. */
const wide = {
  addresses: 'i64' as const,
  owns: (buffer: ArrayBufferView) => arena.owns(buffer),
  view: (...of: Parameters<typeof arena.view>) => arena.view(...of),
}

const inArena = fc
  .tuple(
    fc.constantFrom(Float64Array, Float32Array, Int32Array, Uint16Array, Uint8Array, BigInt64Array, BigUint64Array),
    fc.nat(40),
    fc.nat(9),
  )
  .map(([Of, at, length]) => new Of(arena.memory.buffer, block + 8 * at, length))
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'medium' },
    inArena,
    fc.constant(undefined),
    fc.anything({ maxDepth: 1, withDate: true, withTypedArray: true, withBigInt: true }).filter(isPlain),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.string(), tie('value'), { maxKeys: 4 }),
    fc.array(fc.tuple(fc.string(), tie('value')), { maxLength: 3 }).map((entries) => new Map(entries)),
    fc.array(tie('value'), { maxLength: 3 }).map((values) => new Set(values)),
  ),
}))

/** What a message keeps: an own field `__proto__` is none of a clone. */
function isPlain(one: unknown): boolean {
  return !JSON.stringify(one, (_, part) => (typeof part === 'bigint' ? String(part) : part))?.includes('__proto__')
}

test('law: what goes through a message is what was sent, and its views are views of the arena', () => {
  fc.assert(
    fc.property(value, (sent) => {
      const got = fromMessage(structuredClone(toMessage(sent, wide)), wide)
      expect(got).toEqual(sent)
      expect(viewsOf(got)).toEqual(viewsOf(sent))
    }),
    { numRuns: lawRuns() },
  )
})

test('no view of the arena is in a message, which is the value itself where none is in that', () => {
  const view = arena.view('f64', block, 3)
  const { value, views } = toMessage({ batch: [{ values: view }, { values: view }], plain: { a: 1 } }, wide)
  expect(value).toEqual({ batch: [{ values: {} }, { values: {} }], plain: { a: 1 } })
  expect(views).toEqual([{ instead: {}, of: 'Float64Array', offset: block, length: 3 }])
  const circle: { self?: unknown } = {}
  circle.self = circle
  for (const one of [circle, [new Float64Array(2)], new Date(0), 'text', undefined])
    expect(toMessage(one, wide)).toEqual({ value: one, views: [] })
  expect(toMessage({ view }, arena)).toEqual({ value: { view }, views: [] })
})

test('what was one object is one object on the other side', () => {
  const batch = { values: arena.view('i32', block, 5) }
  const got = fromMessage(structuredClone(toMessage({ left: batch, right: batch }, wide)), wide) as { left: object; right: object }
  expect(got.left).toBe(got.right)
  expect(got.left).toEqual(batch)
})

/** Class, place and length of each view, in the order of the walk. */
function viewsOf(part: unknown): readonly string[] {
  if (ArrayBuffer.isView(part)) return arena.owns(part) ? [`${part.constructor.name} ${part.byteOffset} ${part.byteLength}`] : []
  if (Array.isArray(part) || part instanceof Map || part instanceof Set) return [...part].flatMap(viewsOf)
  return typeof part === 'object' && part !== null && !(part instanceof Date) ? Object.values(part).flatMap(viewsOf) : []
}
