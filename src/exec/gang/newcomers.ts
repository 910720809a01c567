/**
 * Processes that come in the place of those that were lost: while the others run on, they are sent what a loop's passes will need of them,
 * as the gang will be with them.
 *
 *     others       | pass 7          | pass 8          | pass 9 ...
 *     a newcomer        comes         | is prepared |    takes part
 *
 * Statement: what is sent is copied before any block of the pass runs, and the pass holds its arrays: so it is what they hold in their
 * versions. Dense arrays that the pass writes are left out but for their shapes, as are those of which elements lie elsewhere alone: this
 * process has fetched no more of them than the pass reads. Of sparse ones the keys decide how blocks are cut.
 */
import { sameItems } from '../../core/sameItems.ts'
import type { SimulatedPass } from '../loops/kernelPass.ts'
import { type Formed, formedOn, partsOf } from './formed.ts'
import type { Members, Other } from './members.ts'
import type { Needed } from './movement/belongings.ts'
import { supplyElements } from './movement/elementSupply.ts'
import { madeIn, neededOf, scannedIn, type VersionOf } from './movement/needs.ts'
import type { FetchHead } from './movement/passWire.ts'
import { scanElsewhere } from './movement/scans.ts'
import { define, supply } from './movement/supply.ts'

type PlacedLoop = Pick<SimulatedPass, 'inputs' | 'blocks' | 'space' | 'elements'>

/** A loop on the present processes and those that are to come. */
export class NextFormed {
  readonly #gang: Members
  #formed: Formed | undefined

  constructor(gang: Members) {
    this.#gang = gang
  }

  /** The loop as it was prepared for just these processes; one that was prepared for others is forgotten. */
  take({ others, epoch }: Pick<Formed, 'others' | 'epoch'>): Formed | undefined {
    const formed = this.#formed
    if (formed === undefined || !sameItems(formed.others, others)) {
      this.forget()
      return undefined
    }
    this.#formed = undefined
    return { ...formed, epoch }
  }

  forget(): void {
    if (this.#formed !== undefined) this.#gang.forgetLoop(this.#formed.id)
    this.#formed = undefined
  }

  /** Prepares all processes that have come, once: called in a pass that others run already, before its blocks run here. */
  prepare(loop: PlacedLoop, versionOf: VersionOf): void {
    const gang = this.#gang
    if (gang.coming.length === 0) return
    const others = [...gang.others, ...gang.coming].sort((a, b) => a.rank - b.rank)
    if (this.#formed !== undefined && sameItems(this.#formed.others, others)) return
    this.forget()
    const formed = formedOn(gang, loop, { others, epoch: Number.NaN })
    if ('because' in formed) return
    this.#formed = formed
    prepare(gang, loop, formed, { versionOf, isNext: () => this.#formed === formed })
  }
}

function prepare(
  gang: Members,
  { inputs, blocks }: PlacedLoop,
  formed: Formed,
  { versionOf, isNext }: { readonly versionOf: VersionOf; readonly isNext: () => boolean },
): void {
  const { placement, id } = formed
  const needed = neededOf(placement, versionOf, {
    inputs,
    made: (storage) => madeIn(inputs, storage),
    scanned: (storage) => scannedIn(inputs, storage),
  }).map((one): Needed => (one.storage.kind === 'dense' && (isWritten(one) || isAway(one)) ? { ...one, isShape: true } : one))
  function isWritten({ storage }: Needed): boolean {
    return placement.arrays.some((one) => one.storage === storage && one.isWritten)
  }
  function isAway({ storage }: Needed): boolean {
    return gang.belongings.away(gang.numberOf(storage)) !== undefined
  }
  for (const { other, node, definition } of partsOf(formed, { inputs, count: blocks.count }, (storage) => gang.numberOf(storage))) {
    if (!gang.coming.includes(other)) continue
    const { elements } = placement
    if (elements !== undefined) supplyElements(gang, other, elements, { node, version: versionOf(elements.storage) })
    const scanned = needed.filter((one) => gang.belongings.computes(other, gang.numberOf(one.storage), one))
    supply(
      gang,
      other,
      needed.filter((one) => !scanned.includes(one)),
      id,
    )
    gang.prepare(other, async () => {
      const scans = await scanElsewhere(gang, [other], scanned)
      // a file that it does not find, or a loop that is over: the rest is for its first pass
      if ([...scans.values()].some(({ sent }) => sent.length > 0) || !isNext()) return
      define(gang, other, definition)
      await answerOf(gang, other)
    })
  }
}

/** Waits until a process has obeyed all that it was sent. */
async function answerOf(gang: Members, other: Other): Promise<void> {
  const run = gang.nextQuestion()
  const head: FetchHead = { run, boxes: [] }
  await gang.ask(run, 'fetch', new Map([[other, head]]), undefined, () => undefined)
}
