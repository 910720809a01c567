/**
 * The inspector: runs the subscript slice of a loop over all its iterations and finds out which may run at the same time.
 *
 *     slice -> touches -> levels ──────────────────> order 'serial': levels, or components where these are better
 *                    └──> components ── colors ────> order 'any': components, colors, or levels
 *
 * What it finds follows from the body, the options, the data that the slice reads and nothing else. Its memory is some words
 * for each iteration and each element of the touched arrays; its work is bounded. Where a bound is reached the loop runs
 * serially, and the finding says so.
 */

import { Bug } from '../../../core/errors.ts'
import { isError } from '../../../core/isError.ts'
import { iterationsOf } from '../blocks/schedule.ts'
import { spaceOf } from '../blocks/space.ts'
import { whyCallerOnly, whyNoKernel } from '../kernelPlan.ts'
import type { LoopInputs } from '../loopInputs.ts'
import { Colors } from './colors.ts'
import { Components } from './components.ts'
import { countsText, type Finding, grouped, largest, sizesOf } from './finding.ts'
import { Levels } from './levels.ts'
import { type Elements, elementsOf, TooManyTouches, type TouchKernel, touchKernel } from './touchKernel.ts'

/** Memory of one inspection; it is not counted in the session's budget. */
export const MOST_INSPECTOR_BYTES: number = 2 ** 29
/** Bytes per iteration, for its level, its component, its parent and its place; and per element, for who wrote, read and touched it. */
const BYTES_AN_ITERATION = 16
const BYTES_AN_ELEMENT = 12
/** Most touches that an inspection lists, all runs of the slice together: some seconds. */
export const MOST_TOUCHES: number = 2 ** 30
/** Rounds of 32 colors. */
const MOST_ROUNDS = 16

/** Least mean number of iterations at the same time that counts as parallel. */
const LEAST_WIDTH = 2
/** Mean number of iterations at the same time with which no better finding is sought. */
const WIDE = 64
/** A loop is taken for a chain if so many touches, from its beginning, have levels for more than this share of iterations. */
const TOUCHES_OF_A_BEGINNING = 2 ** 20
const SHARE_OF_A_CHAIN = 0.9

/** How to yield to the event loop: `other` is awaited when `everyMs` have gone by. */
export interface Turns {
  readonly everyMs: number
  readonly other: () => Promise<void>
  readonly signal?: AbortSignal | undefined
}

export async function inspect(inputs: LoopInputs, turns: Turns): Promise<Finding> {
  const { slice, spec, ir } = inputs.analyzed
  if (slice === undefined || ir === undefined) return nothing('There is no subscript slice.')
  const alone = whyNoKernel(inputs) ?? whyCallerOnly(inputs, ir)
  if (alone !== undefined) return nothing(`Its iterations run one after another: ${alone}.`)
  const elements = elementsOf(slice, inputs)
  if ('sparse' in elements) return nothing(`${elements.sparse} is sparse, and the inspector needs dense arrays.`)
  const space = spaceOf(inputs.over)
  const iterations = iterationsOf(space)
  const bytes = BYTES_AN_ITERATION * iterations + BYTES_AN_ELEMENT * elements.count
  if (bytes > MOST_INSPECTOR_BYTES) {
    const needed = `${grouped(Math.ceil(bytes / 2 ** 20))} MB for ${grouped(iterations)} iterations and ${grouped(elements.count)} elements`
    return nothing(`The inspector would need ${needed}; its limit is ${MOST_INSPECTOR_BYTES / 2 ** 20} MB.`)
  }
  try {
    const kernel = touchKernel(slice, inputs, space, elements)
    return await new Inspection({ kernel, iterations, elements, turns }).run(spec.options.order ?? 'serial')
  } catch (error) {
    if (error instanceof TooManyTouches) {
      return nothing(`Listing what the iterations touch would take more than ${grouped(MOST_TOUCHES)} touches, the inspector's limit.`)
    }
    if (turns.signal?.aborted === true || error instanceof Bug || !isError(error)) throw error
    // The body will throw as well, and then nothing is gained by running it in parallel.
    return nothing(`The subscripts cannot be listed: ${error.message.split('\n')[0]}`)
  }
}

interface Work {
  readonly kernel: TouchKernel
  readonly iterations: number
  readonly elements: Elements
  readonly turns: Turns
}

/** Takes in the touches of iterations from a position on. */
type Take = (log: Float64Array, length: number, position: number) => void

class Inspection {
  readonly #work: Work
  #touches = 0
  #turn: number = performance.now()

  constructor(work: Work) {
    this.#work = work
  }

  async run(order: 'serial' | 'any'): Promise<Finding> {
    const { iterations, elements } = this.#work
    const levels = new Levels(iterations, elements.count)
    const isChain = await this.#read(
      (log, length, position) => levels.take(log, length, position),
      (done) => this.#touches > TOUCHES_OF_A_BEGINNING && levels.count > SHARE_OF_A_CHAIN * done,
    )
    if (isChain !== undefined) {
      return nothing(
        `The first ${grouped(isChain)} iterations are in ${grouped(levels.count)} levels: almost each waits for the one before.`,
      )
    }
    const byLevel = this.#leveled(levels)
    if (widthOf(byLevel, iterations) >= (order === 'serial' ? WIDE : iterations)) return byLevel
    const components = new Components(iterations, levels.wrote)
    await this.#read((log, length, position) => components.take(log, length, position))
    const { of, sizes } = components.result()
    const byComponent: Finding = { kind: 'components', of, sizes, text: countsText('components', sizes, iterations) }
    if (order === 'serial') return this.#widest([byComponent, byLevel])
    if (widthOf(byComponent, iterations) >= WIDE) return byComponent
    const byColor = await this.#colored()
    return this.#widest([byComponent, ...(byColor === undefined ? [] : [byColor]), byLevel])
  }

  #leveled(levels: Levels): Finding {
    const { of } = levels
    const sizes = sizesOf(of, levels.count)
    return { kind: 'levels', of, sizes, text: countsText('levels', sizes, of.length) }
  }

  async #colored(): Promise<Finding | undefined> {
    const { iterations, elements } = this.#work
    const colors = new Colors(iterations, elements.count)
    for (let round = 0; round < MOST_ROUNDS && !colors.isDone; round++) {
      if (round > 0) colors.nextRound()
      await this.#read((log, length, position) => colors.take(log, length, position))
    }
    if (!colors.isDone) return undefined
    const sizes = colors.sizes()
    return { kind: 'colors', of: colors.of, sizes, text: countsText('colors', sizes, iterations) }
  }

  /** The widest finding, the first among equals; 'nothing' where none is wide. */
  #widest(found: readonly Finding[]): Finding {
    const { iterations } = this.#work
    const best = found.reduce((a, b) => (widthOf(b, iterations) > widthOf(a, iterations) ? b : a))
    if (iterations > 0 && widthOf(best, iterations) >= LEAST_WIDTH) return best
    return nothing(`Almost nothing can run at the same time: ${found.map(({ text }) => text).join('; ')}.`)
  }

  /** Lists the touches of all iterations, chunk by chunk; returns the number of iterations so far if `isEnough` stopped it. */
  async #read(take: Take, isEnough: (done: number) => boolean = () => false): Promise<number | undefined> {
    const { kernel, iterations, turns } = this.#work
    let chunk = 1
    for (let from = 0; from < iterations; ) {
      const to = Math.min(iterations, from + chunk)
      const { log, length } = kernel.list(from, to)
      this.#touches += length
      if (this.#touches > MOST_TOUCHES) throw new TooManyTouches()
      take(log, length, from)
      from = to
      if (isEnough(from)) return from
      if (length < FULL_LOG / 2 && chunk < LARGEST_CHUNK) chunk *= 2
      else if (length > FULL_LOG && chunk > 1) chunk = chunk >> 1
      if (performance.now() - this.#turn > turns.everyMs) {
        await turns.other()
        turns.signal?.throwIfAborted()
        this.#turn = performance.now()
      }
    }
    return undefined
  }
}

const LARGEST_CHUNK = 4096
/** Touches of a chunk that fit the cache. */
const FULL_LOG = 2 ** 14

/** Iterations that run at the same time, on average. */
function widthOf(finding: Finding, iterations: number): number {
  if (finding.kind === 'nothing') return 0
  return iterations / Math.max(1, finding.kind === 'components' ? largest(finding.sizes) : finding.sizes.length)
}

function nothing(text: string): Finding {
  return { kind: 'nothing', text }
}
