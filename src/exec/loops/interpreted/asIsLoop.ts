/** Bodies that run as they stand: the user's own closure over view objects, serially in key order, on the caller's thread. */

import { CHUNK } from '../../../core/arrays/fixedTree.ts'
import { defined } from '../../../core/defined.ts'
import type { Fallback } from '../../../core/ir/functionUse.ts'
import type { LoopPlan } from '../../../core/loop/loopPlan.ts'
import { type RunningLoop, whileRunning } from '../../../core/loop/runningLoop.ts'
import type { Refusal } from '../../../core/span.ts'
import { addCost } from '../../kernels/fallbacks.ts'
import type { Arena } from '../../memory/arena.ts'
import { cutBlocks } from '../blocks/cutBlocks.ts'
import type { BlockSchedule, IterationSpace } from '../blocks/schedule.ts'
import { keyAtPosition } from '../blocks/space.ts'
import { bodyError } from '../failure.ts'
import type { LoopInputs } from '../loopInputs.ts'
import {
  otherTurn,
  type PassesResult,
  type PassResult,
  Prepared,
  replacedBy,
  TURN_MS,
  turnBegan,
  type VerifyResult,
} from '../preparedLoop.ts'
import { closeFragment } from '../reductions/accumulatorLog.ts'
import { roundEnds, roundsOf } from '../reductions/rounds.ts'
import { Lifetime } from './lifetime.ts'
import { PlainLoop } from './plainRun.ts'

export class AsIsLoop extends Prepared {
  readonly blocks: BlockSchedule
  readonly execution: LoopPlan['execution']
  readonly width = 1

  readonly kernel: LoopPlan['kernel']
  readonly #arena: Arena
  readonly #fallback: Fallback

  constructor(inputs: LoopInputs, space: IterationSpace, arena: Arena, reason: Refusal) {
    super(inputs, space)
    this.#arena = arena
    this.blocks = cutBlocks({ kind: 'serial' }, space, { order: 'serial' })
    const { plan, spec } = inputs.analyzed
    const isAsIs = plan.kernel.target === 'as-is'
    this.kernel = isAsIs ? plan.kernel : { target: 'as-is', because: [reason] }
    this.execution = { where: 'caller', because: isAsIs ? 'The body runs as it stands.' : reason.message }
    this.#fallback = { text: spec.body.text, span: spec.body.span, runs: 'caller', reason }
  }

  async runPasses(pass: number, _most: number, options: { readonly signal?: AbortSignal } = {}): Promise<PassesResult> {
    try {
      return { passes: [await this.runPass(pass, options)] }
    } catch (reason) {
      return { passes: [], failed: { reason } }
    }
  }

  async runPass(pass: number, options: { readonly signal?: AbortSignal } = {}): Promise<PassResult> {
    const life = new Lifetime()
    try {
      return await this.#iterateAll(pass, life, options)
    } finally {
      life.end()
    }
  }

  async #iterateAll(pass: number, life: Lifetime, { signal }: { readonly signal?: AbortSignal }): Promise<PassResult> {
    signal?.throwIfAborted()
    const started = performance.now()
    const loop = new PlainLoop(this.inputs, {
      storageOf: (_, storage) => storage,
      laneCount: 1,
      body: 'original',
      life,
      roundEnds: roundEnds(this.blocks, roundsOf(this.inputs)),
    })
    loop.startPass(pass)
    const { handles } = this.inputs
    const running: RunningLoop = {
      viewOf: (handle) => {
        const name = handles?.get(handle)
        return name === undefined ? undefined : (loop.view(name) as object) // views are objects
      },
    }
    let [turn, spent] = [turnBegan(started), started]
    for (let position = 0; position < this.blocks.iterations; position++) {
      const key = keyAtPosition(this.space, position)
      try {
        whileRunning(running, () => loop.iterate(position, [...key], 0))
      } catch (error) {
        throw bodyError(this.name, key, error)
      }
      loop.flushDue(position + 1)
      if ((position + 1) % CHUNK === 0) closeChunk(loop, position + 1 - CHUNK)
      if ((position & 63) === 63 && performance.now() - turn > TURN_MS) {
        addCost(this.#fallback, performance.now() - spent)
        await otherTurn()
        signal?.throwIfAborted()
        spent = performance.now()
        turn = turnBegan(spent)
      }
    }
    addCost(this.#fallback, performance.now() - spent)
    closeChunk(loop, Math.floor(this.blocks.iterations / CHUNK) * CHUNK)
    loop.flush()
    const accumulators = this.combine([loop.parts()], this.#arena)
    const replaced = replacedBy(loop.keyed)
    const milliseconds = performance.now() - started
    const told = { accumulators, ...defined({ delayed: loop.delayed }), ...replaced }
    return { iterations: this.blocks.iterations, milliseconds, workers: 1, balance: 1, ...told }
  }

  /** The body runs serially, as plain JavaScript, and cannot be run twice without its effects: there is nothing to compare. */
  async verify(): Promise<VerifyResult> {
    return { identical: true, iterations: this.blocks.iterations }
  }

  dispose(): void {}
}

function closeChunk(loop: PlainLoop, from: number): void {
  for (const log of loop.accumulators.values()) closeFragment(log, from)
}
