/** When a ledger is written, and what it says then. */
import { expect, test } from 'vitest'
import type { DenseStorage } from '../../core/arrays/storage.ts'
import type { TypedArray } from '../../core/data/column.ts'
import type { CheckpointFiles, Kept, KeptPass } from '../../core/loop/checkpoint.ts'
import { createArena } from '../memory/sharedArena.ts'
import { Ledger } from './ledger.ts'

const NOTHING: Kept = { calls: [], arrays: [] }
const PASS: KeptPass = { milliseconds: 1, balance: 1, iterations: 2, workers: 1, accumulators: {}, before: 0, captured: '', inputs: [] }

/** Files in memory; a commit ends when `go` is called. */
class Memory implements CheckpointFiles {
  readonly folder: string = 'memory'
  readonly commits: Kept[] = []
  readonly written: (readonly [name: string, values: readonly number[]])[] = []
  go: () => void = () => undefined

  async load(): Promise<Kept> {
    return NOTHING
  }
  async write(name: string, values: TypedArray, of: { readonly shape: readonly number[]; readonly dtype: 'f64' }) {
    this.written.push([name, [...values].map(Number)])
    return { ...of, rows: [] }
  }
  read(): AsyncIterable<never> {
    return expect.unreachable('Nothing is owed.')
  }
  async commit(kept: Kept): Promise<void> {
    this.commits.push(kept)
    await new Promise<void>((resolve) => (this.go = resolve))
  }
  async remove(): Promise<void> {}
  async release(): Promise<void> {}
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('what a pass has half written is not kept', async () => {
  const files = new Memory()
  const ledger = new Ledger(files, NOTHING, { arena: createArena({ budgetBytes: 2 ** 20 }), eager: true })
  const w: DenseStorage = { kind: 'dense', shape: [2], dtype: 'f64', strides: [1], data: Float64Array.of(0, 0) }
  const call = ledger.begin('a loop', [ledger.track('w', () => w)])
  const pass = (value: number): void => {
    w.data.fill(value as never) // of f64
    ledger.record(call, PASS)
    ledger.end()
  }
  ledger.start()
  pass(1)
  await turn()
  ledger.start()
  pass(2) // while the first is being kept
  ledger.start()
  w.data[0] = 3
  files.go()
  await turn()
  expect(files.commits.length).toBe(1)
  pass(3)
  await turn()
  expect(files.commits.map(({ calls }) => calls[0]?.passes.length)).toEqual([1, 3])
  expect(files.written).toEqual([
    ['array-1-after-1', [1, 1]],
    ['array-1-after-3', [3, 3]],
  ])
  files.go()
  await ledger.finish()
})
