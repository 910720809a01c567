import { createRequire } from 'node:module'
import { Subject } from 'rxjs'
import { filter, map } from 'rxjs/operators'
import { afterEach, expect, test, vi } from 'vitest'
import { SessionEvents } from './sessionEvents.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

test('what a subscriber throws is one warning, and the others and the run go on', async () => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
  const source = new Subject<number>()
  const events = SessionEvents.of(source)
  const seen: number[] = []
  const boom = (what: string) => (): never => {
    throw new TypeError(what)
  }
  events.subscribe(boom('a function'))
  events.subscribe({ next: boom('an observer'), complete: boom('not told twice') })
  events.subscribe({ complete: boom('its end') })
  events.pipe(filter((n) => n > 1)).subscribe(boom('behind an operator'))
  events.pipe(map(boom('an operator'))).subscribe(() => seen.push(-1))
  events.subscribe(async () => await Promise.reject(new Error('a promise')))
  events.subscribe((n) => seen.push(n))
  for (const n of [1, 2, 3]) source.next(n)
  source.complete()
  await new Promise(setImmediate)
  expect(seen).toEqual([1, 2, 3])
  expect(warn.mock.calls.map(([message]) => message)).toMatchInlineSnapshot(`
    [
      "A subscriber of session.events threw, which the run does not heed: TypeError: a function",
      "A subscriber of session.events threw, which the run does not heed: TypeError: an observer",
      "A subscriber of session.events threw, which the run does not heed: TypeError: an operator",
      "A subscriber of session.events threw, which the run does not heed: TypeError: behind an operator",
      "A subscriber of session.events threw, which the run does not heed: TypeError: its end",
      "A subscriber of session.events threw, which the run does not heed: Error: a promise",
    ]
  `)
})

test('subscribers get values, errors and the end, and can leave', () => {
  const source = new Subject<number>()
  const events = SessionEvents.of(source)
  const seen: unknown[] = []
  const leaver = events.subscribe((n) => {
    seen.push(`once ${n}`)
    leaver.unsubscribe()
  })
  events.pipe(map((n) => n * 10)).subscribe({ next: (n) => seen.push(n), complete: () => seen.push('end') })
  events.subscribe(null, (reason) => seen.push(reason))
  source.next(1)
  source.next(2)
  expect(seen).toEqual(['once 1', 10, 20])
  source.complete()
  expect(seen.at(-1)).toBe('end')
  const failing = new Subject<number>()
  SessionEvents.of(failing).subscribe(null, (reason) => seen.push(reason))
  failing.error('why')
  expect(seen.at(-1)).toBe('why')
})

test('operators of another copy of rxjs work, and leave when they have enough', () => {
  const require = createRequire(import.meta.url)
  for (const path of Object.keys(require.cache)) if (path.includes('/rxjs/')) delete require.cache[path]
  const other = require('rxjs') as typeof import('rxjs')
  expect(other.Subject).not.toBe(Subject)
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
  const source = new Subject<number>()
  const events = SessionEvents.of(source)
  const seen: unknown[] = []
  events
    .pipe(
      other.filter((n) => n > 1),
      other.map((n) => n * 10),
      other.take(2),
    )
    .subscribe({ next: (n) => seen.push(n), complete: () => seen.push('end') })
  other.merge(other.from(events), other.of(0)).subscribe((n) => seen.push(`merged ${n}`))
  events.pipe(other.map((n) => n / 2)).subscribe(() => {
    throw new Error('no')
  })
  for (const n of [1, 2, 3, 4]) source.next(n)
  expect(seen).toEqual(['merged 0', 'merged 1', 20, 'merged 2', 30, 'end', 'merged 3', 'merged 4'])
  expect(warn).toHaveBeenCalledTimes(1)
  expect(source.observers).toHaveLength(2) // not the one that took two
})
