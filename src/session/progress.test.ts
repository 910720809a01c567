import { PassThrough } from 'node:stream'
import { Subject } from 'rxjs'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type ProgressEvent, progressBar } from './progress.ts'

/** A stream that says it is a terminal (or not) and keeps what is written. */
function terminal(isTTY: boolean): { readonly stream: NodeJS.WriteStream; text(): string } {
  const chunks: string[] = []
  const stream = new PassThrough()
  stream.on('data', (chunk: Buffer) => chunks.push(chunk.toString()))
  const noop = (): boolean => true
  Object.assign(stream, { isTTY, columns: 80, rows: 24, cursorTo: noop, moveCursor: noop, clearLine: noop, clearScreenDown: noop })
  // Only what the bar touches of a terminal is there.
  return { stream: stream as unknown as NodeJS.WriteStream, text: () => chunks.join('') }
}
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance', 'Date'] })
})
afterEach(() => {
  vi.useRealTimers()
})
/** Some progress, and some more when the job has been under way long enough to be shown. */
function advance(events: Subject<ProgressEvent | { readonly kind: string }>, done: number): void {
  events.next(progress(0))
  vi.advanceTimersByTime(400)
  events.next(progress(done))
}
const progress = (done: number): ProgressEvent => ({ kind: 'progress', job: 'sgd, pass 1', done, total: 10 })

test('a bar is drawn on a terminal, with the name of the job', () => {
  const events = new Subject<ProgressEvent | { readonly kind: string }>()
  const out = terminal(true)
  const stop = progressBar(events, { mode: 'auto', stream: out.stream })
  events.next({ kind: 'worker' })
  advance(events, 5)
  stop()
  expect(out.text()).toContain('sgd, pass 1 [')
  expect(out.text()).toContain('] 50%')
})

test('nothing is written where there is no terminal, nor when it was switched off', () => {
  const events = new Subject<ProgressEvent | { readonly kind: string }>()
  const pipe = terminal(false)
  const off = terminal(true)
  const stops = [progressBar(events, { mode: 'auto', stream: pipe.stream }), progressBar(events, { mode: false, stream: off.stream })]
  advance(events, 5)
  for (const stop of stops) stop()
  expect([pipe.text(), off.text()]).toEqual(['', ''])
})

test('after stop, and after the events have ended, nothing is drawn and no timer is left', () => {
  const events = new Subject<ProgressEvent | { readonly kind: string }>()
  const out = terminal(true)
  const stop = progressBar(events, { mode: true, stream: out.stream })
  advance(events, 1)
  events.next(progress(10))
  stop()
  const written = out.text()
  events.next(progress(2))
  expect(out.text()).toBe(written)
  expect(events.observed).toBe(false)
})

test('a job that never ends leaves nothing that keeps the program alive', () => {
  const events = new Subject<ProgressEvent | { readonly kind: string }>()
  progressBar(events, { mode: true, stream: terminal(true).stream })
  const before = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  advance(events, 1)
  expect(process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length).toBe(before)
})

test('a job that is done at once is not shown, and a long name is cut', () => {
  const events = new Subject<ProgressEvent>()
  const out = terminal(true)
  const stop = progressBar(events, { mode: true, stream: out.stream })
  events.next(progress(1))
  vi.advanceTimersByTime(200)
  events.next(progress(9))
  events.next(progress(10))
  expect(out.text()).toBe('')
  const job = 'x'.repeat(100)
  events.next({ kind: 'progress', job, done: 1, total: 10 })
  vi.advanceTimersByTime(400)
  events.next({ kind: 'progress', job, done: 2, total: 10 })
  stop()
  expect(out.text()).toContain(`${'x'.repeat(35)}… [`)
})
