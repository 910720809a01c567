/**
 * The loop that rank 0 forgot last, kept until the next pass: after a loss the same loop is defined again, for other blocks, and what was made
 * of all of its iterations, as their order and the copies of their values in it, is what it was.
 */
import { MemoryError } from '../../core/errors.ts'
import type { FunctionIr } from '../../core/ir/functionIr.ts'
import type { KernelLoop } from '../loops/kernelLoop.ts'
import type { LoopInputs } from '../loops/loopInputs.ts'
import type { LoopResources } from '../loops/preparedLoop.ts'

export class SpareLoop {
  #loop: KernelLoop | undefined

  keep(loop: KernelLoop): void {
    this.drop()
    this.#loop = loop
  }

  drop(): void {
    this.#loop?.dispose()
    this.#loop = undefined
  }

  /** Gives the loop away if it is the one of these inputs. */
  takenOver(inputs: LoopInputs, ir: FunctionIr, resources: LoopResources): KernelLoop | undefined {
    const loop = this.#loop
    if (loop?.takeOver(inputs, ir, resources) !== true) return undefined
    this.#loop = undefined
    return loop
  }

  /** Does what takes memory, again without the loop where there is not enough beside it. */
  withRoom<T>(work: () => T): T {
    try {
      return work()
    } catch (error) {
      if (!(error instanceof MemoryError) || this.#loop === undefined) throw error
      this.drop()
      return work()
    }
  }
}
