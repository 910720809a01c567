import { afterEach, expect, test } from 'vitest'
import { ownProcess } from '../../../property-tests/ownProcess.ts'
import { Session } from '../../session/session.ts'
import { changedPlatform } from './platform.ts'
import { lowerFunction } from './userFunction.ts'

const ROW = { kind: 'row', method: 'map', inputs: [{ kind: 'scalar', type: { kind: 'f64' }, nullable: false }] } as const

const undo: (() => void)[] = []
afterEach(() => {
  for (const one of undo.splice(0)) one()
})
function change(object: object, name: string, value: unknown): void {
  const own = Object.getOwnPropertyDescriptor(object, name)
  Object.defineProperty(object, name, { value, configurable: true, writable: true })
  undo.push(() => (own === undefined ? Reflect.deleteProperty(object, name) : Object.defineProperty(object, name, own)))
}

/** Where a function runs: compiled, on workers as a copy, or as it stands, with the reason. */
function whereRuns(f: (v: never) => unknown): string {
  const { ir, portable, unportable } = lowerFunction(f, ROW).fn
  return ir !== undefined ? 'compiled' : portable !== undefined ? 'copied' : (unportable?.message ?? '')
}

const compiled = (v: number) => Math.cbrt(v)
const copied = (v: number) => [v].flatMap((w) => Math.cbrt(w))[0]
const other = (v: number) => [v].flatMap((w) => w + 1)[0]
const computing = (v: number) => [v].flatMap((w) => w + 0)[['at', 'map'][0] as 'at'](0)
const { cbrt } = Math
const aliased = (v: number) => [v].flatMap(cbrt)[0]
const all = [compiled, copied, other, computing, aliased]

test('the platform as it was', () => {
  expect(changedPlatform()).toBe(undefined)
  expect(all.map((f) => whereRuns(f))).toEqual(['compiled', 'copied', 'copied', 'copied', 'copied'])
})

test('a function that may notice a change runs as it stands', () => {
  change(Math, 'cbrt', (v: number) => v)
  const reason = 'The program has changed Math.cbrt, which other threads and compiled functions do not share.'
  expect(all.map((f) => whereRuns(f))).toEqual([whereRuns(compiled), reason, 'copied', reason, reason])
  expect(whereRuns(compiled)).toBe(reason)
})

test('a polyfill is noticed by who names it; a method that all have, by all', () => {
  change(Array.prototype, 'lastOne', () => 1)
  expect(whereRuns(other)).toBe('copied')
  expect(whereRuns((v: number) => ([v] as unknown as { lastOne(): number }).lastOne())).toBe(
    'The program has changed Array.prototype.lastOne, which other threads and compiled functions do not share.',
  )
  change(Array.prototype, 'at', () => 1)
  expect([compiled, other].map((f) => whereRuns(f))).toEqual(
    Array(2).fill('The program has changed Array.prototype.at, which other threads and compiled functions do not share.'),
  )
})

test('getters of the platform are compared, and a class that takes the place of a global is noticed', () => {
  const { Date: before } = globalThis
  change(globalThis, 'Date', class extends before {})
  expect(whereRuns((v: number) => [new Date(v)].flatMap((d) => d.getTime())[0])).toBe(
    'The program has changed Date, which other threads and compiled functions do not share.',
  )
  expect(whereRuns(other)).toBe('copied')
})

test('another time zone is noticed by who asks for local time, for good', () => {
  const reason = 'The program has changed process.env.TZ, which other threads and compiled functions do not share.'
  const said = ownProcess(`
    import { parseTime } from ${JSON.stringify(import.meta.resolve('../../core/time/texts.ts'))}
    import { lowerFunction } from ${JSON.stringify(import.meta.resolve('./userFunction.ts'))}
    const { TZ } = process.env
    process.env.TZ = TZ === 'Asia/Tokyo' ? 'UTC' : 'Asia/Tokyo'
    const whereRuns = (f, kind) => {
      const inputs = [{ kind: 'scalar', type: { kind }, nullable: false }]
      const { ir, portable, unportable } = lowerFunction(f, { kind: 'row', method: 'map', inputs }).fn
      return ir !== undefined ? 'compiled' : portable !== undefined ? 'copied' : unportable?.message
    }
    const hours = (d) => d.getHours()
    console.log(whereRuns(hours, 'date'))
    console.log(whereRuns((v) => [v].flatMap((w) => w + 1)[0], 'f64'))
    console.log(whereRuns((v) => Math.cbrt(v), 'f64'))
    console.log(whereRuns((v) => parseTime(String(v), '%Y') + '', 'f64'))
    if (TZ === undefined) delete process.env.TZ
    else process.env.TZ = TZ
    console.log(whereRuns(hours, 'date'))
  `)
  expect(said.trim().split('\n')).toEqual([reason, 'copied', 'compiled', reason, reason])
})

test('while a chain is built the platform is compared once; an action compares it again', async () => {
  const session = await Session.start({ workers: 2, progress: false })
  try {
    const table = session.fromColumns({ a: new Float64Array(1_000_000).fill(8) })
    let isKept = (v: number): boolean => v > 0
    const kept = table.filter((r) => isKept(r.a))
    // no turn of the event loop since
    change(Math, 'cbrt', () => 102)
    const roots = table.map((r) => Math.cbrt(r.a))
    isKept = (v) => Math.cbrt(v) < 100 // only the new function names what was changed
    expect(await Promise.all([kept.count(), roots.min()])).toEqual([0, 102])
  } finally {
    await session.stop()
  }
})
