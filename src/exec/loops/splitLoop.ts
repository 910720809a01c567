/**
 * A loop that runs as several, one after another: each pass runs all iterations of the first part, then of the second. The analysis
 * has shown that the bits are those of the whole body in key order.
 */
import { defined } from '../../core/defined.ts'
import type { KernelCode } from '../../core/ir/kernelCode.ts'
import type { LoopPlan } from '../../core/loop/loopPlan.ts'
import { cutBlocks } from './blocks/cutBlocks.ts'
import type { BlockSchedule, IterationSpace } from './blocks/schedule.ts'
import { serialOrderOf } from './blocks/space.ts'
import { serialPass } from './interpreted/serialPass.ts'
import type { LoopInputs } from './loopInputs.ts'
import { codeOfParts, leastKernel, linesOfParts } from './partKernels.ts'
import { type PassesResult, type PassResult, Prepared, type PreparedLoop, type VerifyResult } from './preparedLoop.ts'
import { AUTOMATIC, type RaceCheck } from './raceCheck/raceCheck.ts'
import { firstDifference } from './verify.ts'

interface Part {
  readonly loop: PreparedLoop
  readonly inputs: LoopInputs
}

/** Prepares the parts in their order; if one cannot be, those before it are disposed of. */
export function prepareParts(inputs: LoopInputs, prepare: (part: LoopInputs, index: number) => PreparedLoop): Part[] {
  const parts: Part[] = []
  try {
    for (const [index, own] of inputsOfParts(inputs).entries()) parts.push({ inputs: own, loop: prepare(own, index) })
    return parts
  } catch (error) {
    for (const { loop } of parts) loop.dispose()
    throw error
  }
}

/**
 * Returns the inputs of each part. An accumulator goes to the part that adds to it, or to the first if none does. Versions change
 * with whole passes only: to the parts, arrays that the loop writes have none.
 */
function inputsOfParts(inputs: LoopInputs): LoopInputs[] {
  const parts = inputs.analyzed.parts?.loops ?? []
  const uses = parts.map((part) => new Set(part.ir?.uses.map(({ name }) => name)))
  const homeOf = (name: string) =>
    Math.max(
      0,
      uses.findIndex((names) => names.has(name)),
    )
  const written = new Set([...inputs.analyzed.writtenArrays, ...[...inputs.buffers.values()].map(({ array }) => array)])
  // no version tells the next part that this one has written the array
  const unversioned = <T extends { readonly array: number; readonly version?: () => string; readonly made?: () => unknown }>(
    input: T,
  ): T => {
    if (!written.has(input.array)) return input
    const { version: _, made: __, ...rest } = input
    return rest as T // these may be absent
  }
  const { over } = inputs
  return parts.map((analyzed, index) => ({
    ...inputs,
    analyzed,
    over: over.kind === 'storage' ? unversioned(over) : over,
    arrays: new Map([...inputs.arrays].map(([name, input]) => [name, unversioned(input)])),
    buffers: new Map([...inputs.buffers].map(([name, input]) => [name, unversioned(input)])),
    accumulators: new Map([...inputs.accumulators].filter(([name]) => homeOf(name) === index)),
  }))
}

export class SplitLoop extends Prepared {
  readonly parts: readonly Part[]
  /** The part whose schedule the plan shows. */
  readonly #main: PreparedLoop

  constructor(inputs: LoopInputs, space: IterationSpace, parts: readonly Part[]) {
    super(inputs, space)
    this.parts = parts
    this.#main = (parts[inputs.analyzed.parts?.freest ?? 0] as Part).loop // one of them
  }

  get blocks(): BlockSchedule {
    return this.#main.blocks
  }

  get width(): number {
    return Math.max(...this.parts.map(({ loop }) => loop.width))
  }

  get execution(): LoopPlan['execution'] {
    const executions = this.parts.map(({ loop }) => loop.execution)
    const where = executions.some((one) => one.where === 'workers') ? 'workers' : 'caller'
    return { where, because: executions.map((one, index) => `Part ${index + 1}, ${one.where}: ${one.because}`).join(' ') }
  }

  get kernel(): LoopPlan['kernel'] {
    return leastKernel(this.parts.flatMap(({ loop }) => loop.kernel ?? [])) ?? this.inputs.analyzed.plan.kernel
  }

  get innerLoops(): readonly string[] {
    return linesOfParts(this.parts.map(({ loop }) => loop.innerLoops ?? []))
  }

  kernelCode(): KernelCode {
    return codeOfParts(this.parts.flatMap(({ loop }) => loop.kernelCode?.() ?? []))
  }

  get predictedMilliseconds(): number {
    return this.parts.reduce((sum, { loop }) => sum + (loop.predictedMilliseconds ?? 0), 0)
  }

  override serialOrder(): Int32Array {
    return serialOrderOf(this.space, cutBlocks({ kind: 'serial' }, this.space, { order: 'serial' }))
  }

  async runPass(pass: number, options: { readonly signal?: AbortSignal } = {}): Promise<PassResult> {
    const results: PassResult[] = []
    for (const { loop } of this.parts) results.push(await loop.runPass(pass, options))
    const total = (of: (result: PassResult) => number) => results.reduce((sum, result) => sum + of(result), 0)
    const milliseconds = total((result) => result.milliseconds)
    const balance = milliseconds === 0 ? 1 : total((result) => result.balance * result.milliseconds) / milliseconds
    return {
      iterations: results[0]?.iterations ?? 0,
      milliseconds,
      predictedMilliseconds: total((result) => result.predictedMilliseconds ?? 0),
      workers: Math.max(...results.map(({ workers }) => workers)),
      balance,
      waitingMilliseconds: total((result) => result.waitingMilliseconds ?? 0),
      accumulators: Object.assign({}, ...results.map(({ accumulators }) => accumulators)),
    }
  }

  async runPasses(pass: number, _most: number, options: { readonly signal?: AbortSignal } = {}): Promise<PassesResult> {
    try {
      return { passes: [await this.runPass(pass, options)] }
    } catch (reason) {
      return { passes: [], failed: { reason } }
    }
  }

  /** Compares with the whole body, run as plain JavaScript in key order. */
  async verify(pass: number, options: { readonly signal?: AbortSignal } = {}): Promise<VerifyResult> {
    const restore = this.snapshot()
    try {
      // One part at most adds to arrays that are only added to; their tree is that of its blocks.
      const adding = this.parts.find(({ inputs }) => inputs.analyzed.reducedArrays.length > 0)?.loop ?? this.#main
      const { inputs, space, name } = this
      const captures = inputs.analyzed.ir?.uses.some((use) => use.origin === 'capture') === true
      const serial = serialPass({ inputs, space, blocks: adding.blocks, name, captures, written: this.written() }, pass)
      const { replaced, iterations } = await this.runPass(pass, options)
      const difference = firstDifference(inputs, serial, replaced)
      return { identical: difference === undefined, iterations, ...defined({ firstDifference: difference }) }
    } finally {
      restore()
    }
  }

  /** Checks each part over what the parts before it have written. */
  override async checkRaces(
    pass: number,
    options: { readonly automatic: boolean; readonly signal?: AbortSignal | undefined },
  ): Promise<RaceCheck> {
    const isLarge = this.blocks.iterations > AUTOMATIC.iterations || this.predictedMilliseconds * 1e6 > AUTOMATIC.nanoseconds
    if (options.automatic && isLarge) return { kind: 'skipped', because: `${this.name} is too large to be checked unasked` }
    const restore = this.snapshot()
    const { signal } = options
    const found: RaceCheck[] = []
    try {
      for (const { loop } of this.parts) {
        found.push(await loop.checkRaces(pass, options))
        if (found.length === this.parts.length) break
        const { failed } = await loop.runPasses(pass, 1, signal === undefined ? {} : { signal })
        // The pass that is checked fails in the same way, and says so.
        if (failed !== undefined) break
      }
    } finally {
      restore()
    }
    return found.find(({ kind }) => kind === 'checked') ?? (found[0] as RaceCheck) // of the first part at least
  }

  dispose(): void {
    for (const { loop } of this.parts) loop.dispose()
  }
}
