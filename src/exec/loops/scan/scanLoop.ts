/**
 * A loop whose chunks run side by side, each with what the ones before it hand on.
 *
 *     partial loop ── seeds, chunk after chunk ── replay loop
 *
 * On one thread the replay alone, from the first chunk to the last, is the loop: each leaves the seed of the next. Where a run's data do
 * not allow more, that is what runs; and the loop as it is where an access may fail, so that it fails as it would have.
 */
import type { DenseStorage } from '../../../core/arrays/storage.ts'
import { Bug } from '../../../core/errors.ts'
import type { FunctionIr } from '../../../core/ir/functionIr.ts'
import type { KernelCode } from '../../../core/ir/kernelCode.ts'
import type { LoopPlan } from '../../../core/loop/loopPlan.ts'
import type { AnalyzedLoop, Scan } from '../../../core/loop/loopSpec.ts'
import type { IterationSpace } from '../blocks/schedule.ts'
import { isWarm } from '../claims/warmUp.ts'
import { Allocations } from '../kernelLayout.ts'
import { KernelLoop } from '../kernelLoop.ts'
import type { PassOptions } from '../kernelPass.ts'
import type { ArrayInput, LoopInputs } from '../loopInputs.ts'
import { codeOfParts, linesOfParts } from '../partKernels.ts'
import type { LoopResources, PassesResult, PassResult } from '../preparedLoop.ts'
import { type CarriedValues, handOn, staysInside } from './prefix.ts'

/** Milliseconds of a pass on one thread from which two sweeps over all threads are worth it. */
const WORTH_MS = 2
/** How often the threads together go through the body: for the partial results, and for the replay. */
const SWEEPS = 2
/** The part of one thread's time that all threads together should stay below. */
const WORTH_PART = 0.8

export class ScanLoop extends KernelLoop {
  readonly #scan: Scan
  readonly #made: Allocations
  readonly #values: readonly CarriedValues[]
  readonly #partial: KernelLoop
  readonly #replay: KernelLoop
  readonly #resources: LoopResources
  /** Least milliseconds of a pass on one thread, and on all of them; undefined before one was measured. */
  #aloneMs: number | undefined
  #togetherMs: number | undefined

  constructor(
    inputs: LoopInputs,
    ir: FunctionIr,
    scan: Scan,
    { space, resources }: { readonly space: IterationSpace; readonly resources: LoopResources },
  ) {
    super(inputs, ir, space, resources)
    this.#scan = scan
    this.#resources = resources
    this.#made = new Allocations(resources.arena, this.name)
    this.#values = scan.carries.map((carry) => ({
      carry,
      partials: this.#made.allocate(carry.dtype, scan.chunks),
      marks: this.#made.allocate('i32', scan.chunks) as Int32Array,
      seeds: this.#made.allocate(carry.dtype, scan.chunks + 1),
    }))
    this.#partial = this.#loopOf(scan.partial)
    this.#replay = this.#loopOf(scan.replay)
    this.execution = this.#where()
  }

  #loopOf(analyzed: AnalyzedLoop): KernelLoop {
    const inputs = this.#inputsOf(analyzed, this.inputs)
    return new KernelLoop(inputs, analyzed.ir as FunctionIr, { kind: 'box', extents: [this.#scan.chunks] }, this.#resources) // compiled as the whole is
  }

  #inputsOf(analyzed: AnalyzedLoop, inputs: LoopInputs): LoopInputs {
    const { env } = analyzed.spec
    const made = this.#values.flatMap(({ carry, partials, marks, seeds }) => [
      [carry.partials, partials] as const,
      [carry.marks, marks] as const,
      [carry.seeds, seeds] as const,
    ])
    const arrays = made.map(([name, data]): [string, ArrayInput] => {
      const binding = env[name]
      const array = binding?.kind === 'array' ? binding.array : 0
      const dtype = binding?.kind === 'array' ? (binding.dtype as DenseStorage['dtype']) : 'f64'
      return [name, { array, label: name, storage: { kind: 'dense', shape: [data.length], dtype, strides: [1], data } }]
    })
    return {
      ...inputs,
      analyzed,
      over: { kind: 'range', extents: [this.#scan.chunks] },
      arrays: new Map([...inputs.arrays, ...arrays]),
    }
  }

  override takeOver(inputs: LoopInputs, ir: FunctionIr, resources: LoopResources): boolean {
    const { scan } = inputs.analyzed
    if (scan === undefined || scan.chunks !== this.#scan.chunks || JSON.stringify(scan.carries) !== JSON.stringify(this.#scan.carries))
      return false
    const { partial, replay } = scan
    return (
      this.#partial.takeOver(this.#inputsOf(partial, inputs), partial.ir as FunctionIr, resources) &&
      this.#replay.takeOver(this.#inputsOf(replay, inputs), replay.ir as FunctionIr, resources) &&
      super.takeOver(inputs, ir, resources)
    )
  }

  override get kernel(): LoopPlan['kernel'] {
    return this.#replay.kernel
  }

  override get innerLoops(): readonly string[] {
    return linesOfParts([this.#partial.innerLoops, this.#replay.innerLoops])
  }

  override kernelCode(): KernelCode {
    return codeOfParts([this.#partial.kernelCode(), this.#replay.kernelCode()])
  }

  override get workerCount(): number {
    return this.execution.where === 'workers' ? Math.min(this.#resources.pool.size, this.#replay.width) : 1
  }

  override async runPass(pass: number, options: { readonly signal?: AbortSignal } = {}): Promise<PassResult> {
    const { passes, failed } = await this.runPasses(pass, 1, options)
    if (failed !== undefined) throw failed.reason
    return passes[0] as PassResult // one pass, which did not fail
  }

  override async runPasses(pass: number, most: number, options: PassOptions = {}): Promise<PassesResult> {
    if (options.signal?.aborted) return { passes: [], failed: { reason: options.signal.reason } }
    const started = performance.now()
    const wasWarm = isWarm(this.#resources.pool)
    let { where, because } = this.#where()
    const counts = this.#values.filter(({ carry }) => carry.fills.length > 0)
    // on one thread counts are not checked against the arrays they fill: the loop as it is fails where the serial program does
    if (!this.#begin() || (where === 'caller' && counts.length > 0)) return await this.#runWhole(pass, most, options)
    if (where === 'workers') {
      const found = await this.#run(this.#partial, where, pass, options)
      if (found.failed !== undefined) return found
      const inexact = handOn(this.#values, this.#scan.chunks)
      if (inexact !== undefined) [where, because] = ['caller', inexact]
      const isInside = inexact === undefined && counts.every((values) => staysInside(values, this.#scan.chunks, this.#extentsOf(values)))
      if (counts.length > 0 && !isInside) return await this.#runWhole(pass, most, options)
    }
    const result = await this.#run(this.#replay, where, pass, options)
    const [done] = result.passes
    if (done === undefined) return result
    this.#end()
    const milliseconds = performance.now() - started
    if (where === 'caller') this.#aloneMs = Math.min(milliseconds, this.#aloneMs ?? milliseconds)
    else if (wasWarm) this.#togetherMs = Math.min(milliseconds, this.#togetherMs ?? milliseconds)
    this.execution = { where, because }
    return { passes: [{ ...done, iterations: this.blocks.iterations, milliseconds }] }
  }

  /** Runs a pass as the serial loop that it is. */
  async #runWhole(pass: number, most: number, options: PassOptions): Promise<PassesResult> {
    const result = await super.runPasses(pass, most, options)
    for (const { milliseconds } of result.passes) this.#aloneMs = Math.min(milliseconds, this.#aloneMs ?? milliseconds)
    return result
  }

  async #run(loop: KernelLoop, where: 'caller' | 'workers', pass: number, { signal }: PassOptions): Promise<PassesResult> {
    loop.execution = { where, because: 'The scan that it is of says so.' }
    return await loop.runPasses(pass, 1, signal === undefined ? {} : { signal })
  }

  /** Where the next pass runs, and why; the bits are the same wherever it runs. */
  #where(): LoopPlan['execution'] {
    const { pool, worthThreadsMs } = this.#resources
    if (pool.size === 1) return { where: 'caller', because: 'The session has one worker.' }
    if (this.#replay.width < 2) return { where: 'caller', because: 'There is one chunk.' }
    if (worthThreadsMs === 0) return { where: 'workers', because: 'It was asked for.' }
    const aloneMs = this.#aloneMs ?? super.predictedMilliseconds
    const workers = Math.min(pool.size, this.#replay.width)
    if (SWEEPS / workers >= WORTH_PART) return { where: 'caller', because: `${workers} workers would go through the body twice.` }
    if (aloneMs < WORTH_MS) return { where: 'caller', because: 'A pass is over before chunks would have been shared out.' }
    if (this.#togetherMs !== undefined && this.#aloneMs !== undefined && WORTH_PART * this.#aloneMs <= this.#togetherMs)
      return { where: 'caller', because: 'A pass took longer on several threads, which go through the body twice.' }
    if (this.#togetherMs !== undefined && this.#aloneMs === undefined)
      return { where: 'caller', because: 'A pass is measured on one thread.' }
    return { where: 'workers', because: 'A pass takes long enough for two on all threads.' }
  }

  /** Sets the first seeds to what the arrays hold (outside of them no iteration reads); returns whether seeds can hold the values. */
  #begin(): boolean {
    return this.#values.every(({ carry, seeds }) => {
      const { data, at } = this.#elementOf(carry.name, carry.first)
      const value = at === undefined ? 0 : (data[at] as number)
      seeds[0] = value
      return Object.is(seeds[0], value)
    })
  }

  #end(): void {
    for (const { carry, seeds } of this.#values) {
      const { data, at } = this.#elementOf(carry.name, carry.first)
      if (carry.isCell && at !== undefined) data[at] = seeds[this.#scan.chunks] as number
    }
  }

  #elementOf(name: string, key: readonly number[]): { readonly data: DenseStorage['data']; readonly at: number | undefined } {
    const { shape, strides, data } = this.#storageOf(name)
    const isInside = key.every((index, axis) => index >= 0 && index < (shape[axis] ?? 0))
    return { data, at: isInside ? key.reduce((at, index, axis) => at + index * (strides[axis] ?? 0), 0) : undefined }
  }

  #extentsOf({ carry }: CarriedValues): readonly number[] {
    return carry.fills.map((name) => this.#storageOf(name).shape[0] ?? 0)
  }

  /** The storage of an array that the analysis found to be dense. */
  #storageOf(name: string): DenseStorage {
    const storage = this.inputs.arrays.get(name)?.storage
    if (storage?.kind !== 'dense') throw new Bug(`${name} is no dense array, through which a scan goes.`)
    return storage
  }

  override dispose(): void {
    this.#partial.dispose()
    this.#replay.dispose()
    this.#made.free()
    super.dispose()
  }
}
