/**
 * The ledger of a session with a checkpoint: which passes its loops have run, and what the arrays that they wrote held then. The program
 * that is started again from its top makes the same calls in the same order: passes that are known are not run, their reports are given
 * again, and their arrays are owed what they held.
 *
 *     first time    run: pass 1, pass 2 | read W | passes: 1, 2, 3 | killed
 *     kept              W after 2 ······· used ······ W after 4
 *     again         run: 1, 2 skipped | read W: put back as after 2 | passes: 1, 2 skipped | W put back as after 4, pass 3 runs
 *
 * An array has a state: how many recorded passes have written it. Statement: what is kept of a state is what the array held right after
 * that pass. Whoever else uses the array (`use`) has its values kept before, since the program will use it again at the same place. A
 * commit names a state of every array and all passes up to it, and is made only when no recorded pass is under way.
 */

import type { DenseStorage, Storage } from '../../core/arrays/storage.ts'
import { CheckpointError } from '../../core/errors.ts'
import { isError } from '../../core/isError.ts'
import type { CheckpointFiles, Kept, KeptCall, KeptInput, KeptPass, KeptValues } from '../../core/loop/checkpoint.ts'
import { assignSlice } from '../arrays/edit.ts'
import { toTypedArray } from '../arrays/query.ts'
import type { Arena } from '../memory/arena.ts'

/** Commits take at most this part of the time. */
const SHARE = 0.05

export interface LedgerOptions {
  readonly arena: Arena
  /** Told once, when nothing is kept any more though the program goes on. */
  readonly onClosed?: (because: string) => void
  /** Commits after every pass, whatever it costs: for tests. */
  readonly eager?: boolean
}

/** An array that recorded passes write. */
export class LedgerArray {
  readonly id: number
  readonly label: string
  readonly storage: () => Storage | undefined
  state = 0
  /** Whether its storage does not hold its state yet. */
  isOwed = false
  /** Whether somebody else may have written it since. */
  isChanged = false
  filling: Promise<void> | undefined
  readonly values: Map<number, Promise<KeptValues>> = new Map()
  /** States that somebody used, and will use when the program runs again. */
  readonly used: Set<number> = new Set()

  constructor(id: number, label: string, storage: () => Storage | undefined) {
    this.id = id
    this.label = label
    this.storage = storage
  }
}

/** One call of `run()` or `passes()`. */
export class LedgerCall {
  readonly text: string
  readonly arrays: readonly LedgerArray[]
  /** The passes known from the last time, then those that ran. */
  readonly passes: KeptPass[]
  /** The number of passes that this program has had so far, run or skipped. */
  had = 0

  constructor(text: string, arrays: readonly LedgerArray[], passes: readonly KeptPass[]) {
    this.text = text
    this.arrays = arrays
    this.passes = [...passes]
  }

  get isKnown(): boolean {
    return this.had < this.passes.length
  }
}

export class Ledger {
  readonly #files: CheckpointFiles
  readonly #options: LedgerOptions
  readonly #before: Kept
  readonly #calls: LedgerCall[] = []
  readonly #arrays: LedgerArray[] = []
  /** The arrays written since their values were kept last. */
  readonly #dirty = new Set<LedgerArray>()
  #underWay = 0
  /** Why nothing is kept any more; undefined while something is. */
  #closed: string | undefined
  /** The error that another process has taken the folder; undefined if none has. */
  #taken: CheckpointError | undefined
  #writing: Promise<unknown> = Promise.resolve()
  #commit: Promise<void> | undefined
  #committed = 0
  #costMs = 0
  #lastEnd = Number.NEGATIVE_INFINITY
  #timer: NodeJS.Timeout | undefined

  /** `before` is what the files have. */
  constructor(files: CheckpointFiles, before: Kept, options: LedgerOptions) {
    this.#files = files
    this.#before = before
    this.#options = options
    this.#committed = before.calls.reduce((sum, { passes }) => sum + passes.length, 0)
  }

  get folder(): string {
    return this.#files.folder
  }

  get closedBecause(): string | undefined {
    return this.#closed
  }

  get #isClosed(): boolean {
    return this.#closed !== undefined
  }

  // ------------------------------------------------------------------ calls

  /** Begins to track an array that calls write, at the first of them; by the order of these an array is known again. */
  track(label: string, storage: () => Storage | undefined): LedgerArray {
    const array = new LedgerArray(this.#arrays.length, label, storage)
    this.#arrays.push(array)
    for (const [state, values] of this.#before.arrays[array.id]?.values ?? []) array.values.set(state, Promise.resolve(values))
    return array
  }

  /** Begins the next call. CheckpointError where it is another one than the last time. */
  begin(text: string, arrays: readonly LedgerArray[]): LedgerCall {
    const known: KeptCall | undefined = this.#before.calls[this.#calls.length]
    const whole = [text, ...arrays.map(({ id, label }) => `writes array ${id + 1}, ${label}`)].join('\n')
    if (known !== undefined && known.text !== whole) throw this.#differs(known.text, whole)
    const call = new LedgerCall(whole, arrays, known?.passes ?? [])
    this.#calls.push(call)
    return call
  }

  /**
   * Returns known passes, which are not run: what they wrote is owed. `inputs` is what the first one finds. CheckpointError where
   * it found something else when it was recorded, or any captured something else or is another pass of its loop.
   */
  skip(
    call: LedgerCall,
    count: number,
    { before, captured, inputs }: Pick<KeptPass, 'before' | 'captured' | 'inputs'>,
  ): readonly KeptPass[] {
    return Array.from({ length: count }, (_, i) => {
      const pass = call.passes[call.had] as KeptPass // whoever asks has counted them
      if (pass.before !== before + i)
        throw this.#changed(call, `comes after ${before + i} passes of its loop, and not after ${pass.before} as`)
      if (pass.captured !== captured) throw this.#changed(call, 'captured other values than')
      const found = i > 0 || pass.inputs.length === 0 ? undefined : otherInput(pass.inputs, inputs)
      if (found !== undefined) throw this.#changed(call, `found other values in ${found} than`)
      call.had++
      for (const array of call.arrays) {
        array.state++
        array.isOwed = true
        array.isChanged = false
      }
      return pass
    })
  }

  #changed(call: LedgerCall, what: string): CheckpointError {
    const { folder } = this.#files
    const [name] = call.text.split('\n')
    const place = `Pass ${call.had + 1} of call ${this.#calls.indexOf(call) + 1} of a loop (${name})`
    return new CheckpointError(`${place} ${what} when it was recorded in ${folder}. ${CURE}`, 'differs', folder)
  }

  /** Notes that a pass begins to run. */
  start(): void {
    this.#underWay++
  }

  /** Records a pass that was run. Its arrays are locked, and hold what it left. */
  record(call: LedgerCall, pass: KeptPass): void {
    call.passes.push(pass)
    call.had++
    for (const array of call.arrays) {
      array.state++
      array.isChanged = false
      this.#dirty.add(array)
    }
  }

  /** Notes that what `start` began is over; what it left may be committed now. */
  end(): void {
    this.#underWay--
    if (this.#taken !== undefined) throw this.#taken
    this.#commitWhenDue()
  }

  /** Notes that a pass failed: arrays are not what a new start would make of them, and nothing is kept any more. */
  failed(): void {
    this.#underWay--
    this.close('A pass failed or was aborted; what was kept before it stays.')
  }

  close(because: string, { isTold = true }: { readonly isTold?: boolean } = {}): void {
    if (this.#isClosed) return
    this.#closed = because
    if (isTold) this.#options.onClosed?.(because)
  }

  // ------------------------------------------------------------------ arrays

  /**
   * Readies an array, which is locked, for use by a pass that is recorded or by the program: what it is owed is put into its storage.
   * What the program finds is kept, as it has to find the same when it runs again.
   */
  async use(array: LedgerArray, storage: Storage, by: 'pass' | 'program'): Promise<void> {
    if (array.isOwed) {
      array.filling ??= this.#fill(array, storage).finally(() => (array.filling = undefined))
      await array.filling
    }
    if (by === 'pass' || array.state === 0 || this.#isClosed || array.isChanged) return
    array.used.add(array.state)
    if (array.values.has(array.state)) return
    await this.#writing // one copy at a time waits to be written
    if (!this.#isClosed) this.#keep(array, storage)
  }

  async #fill(array: LedgerArray, storage: Storage): Promise<void> {
    const { label, state } = array
    const { folder } = this.#files
    const kept = await array.values.get(state)
    if (kept === undefined) {
      throw new CheckpointError(
        `The program uses ${label} where it did not when ${folder} was written: after ${state} passes, of which nothing is kept. ${CURE}`,
        'differs',
        folder,
      )
    }
    if (storage.kind !== 'dense' || storage.dtype !== kept.dtype || storage.shape.join() !== kept.shape.join()) {
      const own = storage.kind === 'dense' ? `${storage.dtype} [${storage.shape.join(', ')}]` : storage.kind
      throw new CheckpointError(
        `${label} is ${own}, and what is kept of it in ${folder} ${kept.dtype} [${kept.shape.join(', ')}]. ${CURE}`,
        'differs',
        folder,
      )
    }
    const [, ...others] = kept.shape
    const row = others.reduce((size, extent) => size * extent, 1)
    for await (const { from, to, values } of this.#files.read(kept)) {
      const rows = kept.shape.length === 0 ? [] : [[from / row, to / row] as const, ...others.map(() => null)]
      assignSlice(storage, rows, values, { method: 'restore', name: label, arena: this.#options.arena })
    }
    array.isOwed = false
  }

  /** Writes the values of the array's state to the files, unless it was done. */
  #keep(array: LedgerArray, storage: Storage): void {
    if (array.values.has(array.state)) return
    const { shape, dtype } = storage as DenseStorage // as recorded calls write
    const copy = toTypedArray(storage, array.label)
    const name = `array-${array.id + 1}-after-${array.state}`
    const written = this.#writing.then(() => this.#files.write(name, copy, { shape, dtype: dtype as Exclude<typeof dtype, 'object'> }))
    this.#writing = written.catch((error: unknown) => this.#lose(error))
    array.values.set(array.state, written)
  }

  // ------------------------------------------------------------------ commits

  /** Whether all that the calls have had is held by the arrays or owed to them, with no pass between two states. */
  get #isWhole(): boolean {
    if (this.#isClosed || this.#underWay > 0 || this.#calls.length < this.#before.calls.length) return false
    return !this.#calls.some(({ isKnown }) => isKnown)
  }

  get #isBehind(): boolean {
    return this.#calls.reduce((sum, { passes }) => sum + passes.length, 0) > this.#committed
  }

  /** Commits now, or when so much time has passed that commits take SHARE of it. */
  #commitWhenDue(): void {
    clearTimeout(this.#timer)
    if (this.#commit !== undefined || !this.#isBehind || !this.#isWhole) return
    const inMs = this.#options.eager === true ? 0 : this.#costMs / SHARE - (performance.now() - this.#lastEnd)
    if (inMs <= 0) this.#startCommit()
    else this.#timer = setTimeout(() => this.#commitWhenDue(), inMs).unref()
  }

  #startCommit(): void {
    const started = performance.now()
    for (const array of this.#dirty) {
      const storage = array.storage()
      if (storage !== undefined) this.#keep(array, storage) // otherwise it was released, and nobody will ask
    }
    this.#dirty.clear()
    const calls = this.#calls.map(({ text, passes }): KeptCall => ({ text, passes: [...passes] }))
    const arrays = this.#arrays.map(({ label, state, values, used }) => ({
      label,
      state,
      values: [...values].filter(([one]) => one === state || used.has(one)),
    }))
    const commit = async (): Promise<void> => {
      const resolved = arrays.map(async ({ values, ...array }) => ({
        ...array,
        values: await Promise.all(values.map(async ([state, one]) => [state, await one] as const)),
      }))
      await this.#files.commit({ calls, arrays: await Promise.all(resolved) })
      this.#committed = calls.reduce((sum, { passes }) => sum + passes.length, 0)
      await this.#files.remove(await Promise.all(this.#outdated(arrays.map(({ state }) => state))))
    }
    this.#commit = commit()
      .catch((error: unknown) => this.#lose(error))
      .finally(() => {
        this.#commit = undefined
        this.#lastEnd = performance.now()
        this.#costMs = this.#lastEnd - started
        this.#commitWhenDue()
      })
  }

  /** Takes out the values of states before those that were committed, which nobody used. */
  #outdated(states: readonly number[]): readonly Promise<KeptValues>[] {
    return this.#arrays.flatMap(({ values, used }, id) => {
      const old = [...values].filter(([state]) => state < (states[id] ?? 0) && !used.has(state))
      for (const [state] of old) values.delete(state)
      return old.map(([, kept]) => kept)
    })
  }

  /** Keeps nothing any more after an error. A full disk does not end the program; but two programs must not both go on. */
  #lose(error: unknown): void {
    if (error instanceof CheckpointError && error.fault === 'taken') this.#taken ??= error
    this.close(isError(error) ? error.message : String(error))
  }

  /** Commits what has not been yet, where that is possible. */
  async finish(): Promise<void> {
    await this.#commit
    clearTimeout(this.#timer)
    if (this.#commit === undefined && this.#isBehind && this.#isWhole) this.#startCommit()
    await this.#commit
    await this.#writing
    this.close('The session has stopped.', { isTold: false })
    await this.#files.release().catch(() => undefined) // who comes next sees that nobody is there
  }

  #differs(before: string, now: string): CheckpointError {
    const [old, own] = [before.split('\n'), now.split('\n')]
    const at = own.findIndex((line, i) => line !== old[i])
    const line = at < 0 ? own.length : at
    return new CheckpointError(
      `Call ${this.#calls.length + 1} of a loop is another one than in ${this.#files.folder}.\n` +
        `  there: ${old[line] ?? 'nothing more'}\n  here:  ${own[line] ?? 'nothing more'}\n${CURE}`,
      'differs',
      this.#files.folder,
    )
  }
}

/** The name of the first array that holds something else now. */
function otherInput(before: readonly KeptInput[], now: readonly KeptInput[]): string | undefined {
  return now.find(({ holds }, i) => holds !== before[i]?.holds)?.label
}

const CURE =
  'A checkpoint goes on with the program that it was made by, which does the same on each start. Name another folder, or remove this one.'
