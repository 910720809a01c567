/**
 * A loop whose blocks are run by all processes of a gang: each has some lanes of them, this one the first.
 *
 *     send what is missing ── run own blocks ── put in what the others wrote ── combine accumulators and private copies
 *                          └─ theirs, there ─┘
 *                             edges: what a block of one wrote and one of another reads
 *
 * Blocks are cut as on one machine, wait for each other as there, and are combined as there: the bits are the same for any number of
 * processes.
 */

import type { DenseStorage, Storage } from '../../core/arrays/storage.ts'
import { Bug } from '../../core/errors.ts'
import type { FunctionIr, Primitive } from '../../core/ir/functionIr.ts'
import type { LoopPlan } from '../../core/loop/loopPlan.ts'
import type { MadeSpec } from '../arrays/makeArray.ts'
import type { IterationSpace } from '../loops/blocks/schedule.ts'
import { KernelLoop } from '../loops/kernelLoop.ts'
import type { Captured, Others, PassOptions } from '../loops/kernelPass.ts'
import { storagesOf } from '../loops/kernelPlan.ts'
import type { LoopInputs } from '../loops/loopInputs.ts'
import type { LoopResources, PassesResult, VerifyResult } from '../loops/preparedLoop.ts'
import type { Arena } from '../memory/arena.ts'
import { AskedPass } from './askedPass.ts'
import { copied, sameTable } from './capturedTables.ts'
import { ChangingArrays, sentAgain } from './changingArrays.ts'
import { chosenProcesses } from './chosenProcesses.ts'
import { type Formed, formedOn, type Shared, type SharedLoop, sharedBy } from './formed.ts'
import type { Journal } from './journal.ts'
import type { LinkCost } from './linkCost.ts'
import type { Members, Other } from './members.ts'
import type { Needed } from './movement/belongings.ts'
import { elementsText, missingElementBytes } from './movement/elements.ts'
import { bringHome, fetchBoxes } from './movement/elsewhere.ts'
import { holdRows, letGo, tooLarge } from './movement/held.ts'
import type { Movement } from './movement/movement.ts'
import { madeIn, madeText, neededOf, scannedIn, settleOwned, settlePass, versionIn, withoutMade } from './movement/needs.ts'
import { isPlacedAs, labelIn } from './movement/placement.ts'
import { expectedRounds, roundsText } from './movement/rounds.ts'
import { scanElsewhere, scansText } from './movement/scans.ts'
import { fetchRows } from './movement/served/rowSupply.ts'
import { NOTHING_SERVED, type Served, ServedArrays, servedText } from './movement/served/served.ts'
import type { Ends } from './movement/transfers.ts'
import { NextFormed } from './newcomers.ts'

/** The reason for staying here in a gang that has lost all other processes. */
const ALONE = { because: 'All other processes were lost.' }

export interface GangResources extends LoopResources {
  readonly members: Members
  readonly journal: Journal
}

export class GangLoop extends KernelLoop {
  readonly #gang: Members
  readonly #arena: Arena
  readonly #isForced: boolean
  readonly #journal: Journal
  /** Copies of the captured tables of the last pass that may run again. */
  #kept: readonly ArrayLike<Primitive>[] = []
  #isAgain = false
  readonly #served = new ServedArrays()
  readonly #changing = new ChangingArrays()
  #servedText = ''
  #sharedText = ''
  #scansText = ''
  /** Labels of arrays that processes have made by themselves. */
  readonly #made = new Set<string>()
  /** Bytes that the rounds of the last pass sent; 0 where it had none. */
  #roundBytes = 0
  #isDisposed = false
  #formed: Formed | undefined
  readonly #next: NextFormed
  /** The reason that keeps the loop in this process, for one epoch. */
  #stays: { readonly epoch: number; readonly because: string } | undefined
  #last: LoopPlan['execution']['processes'] | undefined

  constructor(inputs: LoopInputs, ir: FunctionIr, space: IterationSpace, resources: GangResources) {
    super(inputs, ir, space, resources)
    this.#gang = resources.members
    this.#arena = resources.arena
    this.#journal = resources.journal
    this.#next = new NextFormed(resources.members)
    this.#isForced = resources.worthThreadsMs === 0
    this.#form()
  }

  override get processes(): LoopPlan['execution']['processes'] {
    if (this.#stays !== undefined) return { count: 1, because: this.#stays.because }
    if (this.#last === undefined) return { count: 1, because: 'It has not run.' }
    const { placement } = this.#formed ?? {}
    const found = [elementsText(placement), madeText(this.#made), this.#scansText, this.#servedText, this.#sharedText]
    const texts = [this.#last.because, roundsText(this.blocks, this.#roundBytes), ...found]
    return this.#last.count === 1 ? this.#last : { ...this.#last, because: texts.join('') }
  }

  /** Places the loop on the processes of the present epoch; undefined where it stays in this process. */
  #form(): Formed | undefined {
    const { epoch, others } = this.#gang
    if (this.#formed?.epoch === epoch) return this.#formed
    if (this.#stays?.epoch === epoch) return undefined
    this.#disband()
    const next = this.#next.take({ others, epoch })
    const formed = next ?? (others.length === 0 ? ALONE : formedOn(this.#gang, this.simulated, { others, epoch }))
    if ('because' in formed) {
      this.#stays = { epoch, because: formed.because }
      return undefined
    }
    this.#stays = undefined
    this.#formed = formed
    return formed
  }

  #disband(): void {
    if (this.#formed?.shared !== undefined) this.#gang.forgetLoop(this.#formed.id)
    this.#formed = undefined
  }

  /** Subscripts may follow captured values: then the same blocks touch other elements, and the loop is placed anew. */
  override takeOver(inputs: LoopInputs, ir: FunctionIr, resources: LoopResources): boolean {
    const isPlaced = isPlacedAs(this.inputs.analyzed, inputs.analyzed)
    // passes that may have to run again move what they have moved
    if (!isPlaced && this.#journal.has(this)) return false
    if (!super.takeOver(inputs, ir, resources)) return false
    if (isPlaced) return true
    this.#disband()
    this.#next.forget()
    this.#stays = undefined
    return true
  }

  override get simulated(): KernelLoop['simulated'] & { readonly links: LinkCost } {
    return { ...super.simulated, links: this.#gang.linkCost }
  }

  get canStay(): boolean {
    return this.canRunAgain
  }

  /** Runs a pass, again if a process is lost: arrays are put back as they were before it, and the processes that are left run it. */
  override async runPasses(pass: number, most: number, options: PassOptions = {}): Promise<PassesResult> {
    const journal = this.#journal
    let stays = options.stays === true && this.canRunAgain
    for (;;) {
      if (journal.isLong) await journal.close()
      await journal.ready()
      const formed = options.signal?.aborted ? undefined : this.#form()
      if (formed !== undefined) {
        this.#gang.check()
        this.#last = this.#choice(formed, this.#needed(formed), formed.movements.next(this.#versionOf, stays ? 'needed' : 'all'))
      }
      if (formed === undefined || this.#last?.count === 1) return await this.#runHere(journal, pass, most, options)
      const leave = stays ? await journal.begin() : await journal.beginAlone()
      try {
        const result = await this.#runTogether(journal, pass, { ...options, stays })
        if (result !== 'again' && result !== 'not kept') return result
        if (result === 'not kept') stays = false
        else if (formed.epoch === this.#gang.epoch)
          throw new Bug(`A pass of ${this.name} would begin again on the processes that it has just failed on.`)
      } finally {
        leave()
      }
    }
  }

  async #runHere(journal: Journal, pass: number, most: number, options: PassOptions): Promise<PassesResult> {
    const written = new Set(this.written())
    for (const storage of this.#storages) await journal.use(storage, written.has(storage) ? 'write' : 'read')
    return await super.runPasses(pass, most, options)
  }

  get #storages(): readonly Storage[] {
    return [...new Set(storagesOf(this.inputs).map(({ storage }) => storage))]
  }

  /** Runs a pass that holds the journal's lock. Returns `again` after a loss, `not kept` where there is no memory to keep what it overwrites. */
  async #runTogether(journal: Journal, pass: number, { signal, stays }: PassOptions): Promise<PassesResult | 'again' | 'not kept'> {
    const written = this.written()
    const captured = this.#ownCaptured()
    const isKept = journal.keep(written)
    if (!isKept && stays === true) return 'not kept'
    try {
      const result = await this.#attemptTogether(pass, stays === true ? 'needed' : 'all', { signal })
      if (result === undefined) return 'again'
      if (stays !== true) journal.forget()
      else if (result.failed === undefined) {
        // predicted rather than measured, so that other load on the machine does not count
        const milliseconds = this.predictedMilliseconds
        journal.add({
          of: this,
          reads: this.#storages,
          milliseconds,
          again: () => this.#again(pass, captured),
          release: () => this.#released(),
        })
      }
      return result
    } catch (error) {
      const isOver = !this.#gang.hasLost(error) || (stays !== true && !(isKept && journal.restore(written)))
      if (isOver && stays !== true) journal.forget()
      if (isOver) throw error
      return 'again'
    }
  }

  /** Runs a pass once more whose results were lost. */
  async #again(pass: number, captured: Captured): Promise<void> {
    this.#isAgain = true
    try {
      let result = this.#form() === undefined ? undefined : await this.#attemptTogether(pass, 'needed', { captured })
      if (result === undefined) {
        await bringHome(this.#gang, this.#storages)
        result = await super.runPasses(pass, 1, { captured })
      }
      if (result.failed !== undefined) throw new Bug(`A pass of ${this.name} failed when it ran again: ${String(result.failed.reason)}`)
    } finally {
      this.#isAgain = false
    }
  }

  /** Runs a pass on all processes; undefined where processes were lost or have joined since the loop was placed. */
  async #attemptTogether(
    pass: number,
    ends: Ends,
    { signal, captured }: Pick<PassOptions, 'signal' | 'captured'>,
  ): Promise<PassesResult | undefined> {
    const formed = this.#formed
    if (formed === undefined || formed.epoch !== this.#gang.epoch) return undefined
    const served = this.#isAgain ? NOTHING_SERVED : await this.#servedTo(formed)
    if (formed !== this.#formed || formed.epoch !== this.#gang.epoch) return undefined
    const unfit = formed.movements.unfit.filter((storage) => served.get(storage)?.fetches === undefined)
    await bringHome(this.#gang, unfit)
    if (formed !== this.#formed || formed.epoch !== this.#gang.epoch) return undefined
    const leaves = [
      holdRows(formed.placement, { ends, reachesParts: this.reachesParts }),
      this.#gang.belongings.begin(this.#storages.map((storage) => this.#gang.numberOf(storage))),
    ]
    try {
      return await this.#runHeld(formed, served, pass, { ends, signal, captured })
    } finally {
      for (const leave of leaves) leave()
    }
  }

  /** Runs a pass whose arrays are held in this process as far as its blocks reach them. */
  async #runHeld(
    formed: Formed,
    served: Served,
    pass: number,
    { ends, signal, captured }: Pick<PassOptions, 'signal' | 'captured'> & { readonly ends: Ends },
  ): Promise<PassesResult> {
    const needed = this.#needed(formed, served)
    for (const { made, storage } of needed) if (made !== undefined) this.#made.add(labelIn(formed.placement, storage))
    const movement = formed.movements.next(this.#versionOf, ends)
    const { own, parts } = this.#share(formed)
    const run = this.#gang.nextRun()
    let asked: AskedPass | undefined
    let isOver = false
    try {
      await fetchBoxes(this.#gang, movement.fetches)
      for (const [storage, { by, fetches }] of served)
        if (fetches !== undefined) await fetchRows(this.#gang, formed.id, storage as DenseStorage, { by, fetches })
      const others = parts.map(({ other }) => other)
      const scans = await scanElsewhere(this.#gang, others, needed)
      if (scans.size > 0) this.#scansText = scansText(scans, (storage) => labelIn(formed.placement, storage))
      const madeBy = this.#madeBy
      asked = new AskedPass({
        gang: this.#gang,
        loop: this,
        run,
        formed,
        own,
        parts,
        needed,
        served,
        movement,
        madeBy,
        versionOf: this.#versionOf,
        begun: () => {
          if (!this.#isAgain) this.#next.prepare(this.simulated, this.#versionOf)
        },
        isForced: this.#isForced,
        stays: ends === 'needed',
      })
      const elsewhere: Others = { portion: own, outside: asked.loads.edges, shared: asked.shared, start: asked.start }
      const result = await super.runPasses(pass, 1, { signal, captured, others: elsewhere })
      isOver = result.failed === undefined
      if (isOver) this.#roundBytes = asked.roundBytes
      this.#sharedText = asked.sharedText
      return result
    } finally {
      this.#settle(formed, needed, isOver ? movement : undefined)
      if (!isOver) asked?.loads.forget()
      if (isOver && asked !== undefined) {
        const left = { others: formed.shared?.parts.map(({ other }) => other) ?? [], residences: asked.residences }
        for (const [storage, one] of settleOwned(this.#gang, left, needed)) this.#served.stays(storage, one)
      }
      this.#gang.endRun(run)
    }
  }

  override async verify(pass: number, options: { readonly signal?: AbortSignal } = {}): Promise<VerifyResult> {
    try {
      return await super.verify(pass, options)
    } finally {
      // arrays are put back, but not those of the others
      if (this.#formed?.shared !== undefined) this.#settle(this.#formed, this.#needed(this.#formed), undefined)
    }
  }

  override dispose(): void {
    this.#isDisposed = true
    this.#released()
  }

  /** Disposes of the loop once `dispose` was called and none of its passes may have to run again. */
  #released(): void {
    if (!this.#isDisposed || this.#journal.has(this)) return
    this.#isDisposed = false
    this.#disband()
    this.#next.forget()
    super.dispose()
  }

  /** Copies of the body's captured values, for a pass that may run again. */
  #ownCaptured(): Captured {
    const { parameters, tables } = this.captured
    const isSame = this.#kept.length === tables.length && this.#kept.every((table, i) => sameTable(table, tables[i]))
    if (!isSame) this.#kept = tables.map((table) => copied(table))
    return { parameters, tables: this.#kept }
  }

  #share(formed: Formed): Shared {
    const { inputs, blocks } = this
    const portionOf: SharedLoop['portionOf'] = (from, to, options) => this.portionOf(from, to, options)
    return sharedBy(formed, { inputs, count: blocks.count, portionOf }, (storage) => this.#gang.numberOf(storage))
  }

  /** The number of processes that are worth the next pass, with the reason. */
  #choice(
    { id, placement, others }: Formed,
    needed: readonly Needed[],
    movement: Movement<Other>,
  ): NonNullable<LoopPlan['execution']['processes']> {
    const count = new Set(placement.order.owners).size
    if (this.#isForced) return { count, because: 'It was asked for.' }
    const large = tooLarge(placement, this.#arena)
    if (large !== undefined) return { count, because: `All of ${large} does not fit into the memory of one process.` }
    const { blocks, predictedMilliseconds: aloneMs, workerCount: workers } = this
    const nodes = withoutMade(movement.nodes, (number) => this.#madeBy(this.#storageOf(number)) !== undefined)
    const { changed, lasting } = this.#changing.next(needed)
    const pass = {
      placement,
      movement: { ...movement, nodes },
      blocks,
      storageOf: this.#storageOf,
      missingBytes: this.#gang.missingBytes(id, lasting) + missingElementBytes(this.#gang, others, placement, this.#versionOf),
      again: sentAgain(this.#gang, id, changed, (storage) => this.#served.readBytes(storage)),
      rounds: expectedRounds(this, placement, this.#roundBytes),
      links: this.#gang.linkCost,
    }
    return chosenProcesses(pass, { count, aloneMs, workers })
  }

  #needed({ placement }: Formed, served: Served = NOTHING_SERVED): Needed[] {
    return neededOf(placement, this.#versionOf, {
      inputs: this.inputs,
      by: (storage) => served.get(storage)?.by,
      made: this.#madeBy,
      scanned: (storage) => (this.#isAgain ? undefined : scannedIn(this.inputs, storage)),
    })
  }

  async #servedTo({ id, placement, others }: Formed): Promise<Served> {
    const { inputs, blocks, space } = this
    const served = await this.#served.next({ inputs, blocks, space, placement }, id, this.#gang, others)
    this.#servedText = servedText(served, placement)
    return served
  }

  readonly #versionOf = (storage: Storage): string | undefined => {
    // while passes run again, arrays that they write hold what no version tells of
    if (this.#isAgain && this.#journal.concerns(storage, 'read')) return undefined
    return versionIn(this.inputs, storage)
  }

  /** The description that an array was made by, while it is unchanged. */
  readonly #madeBy = (storage: Storage): MadeSpec | undefined => madeIn(this.inputs, storage)

  readonly #storageOf = (number: number): DenseStorage => this.#gang.storageOf(number) as DenseStorage // boxes are of dense arrays

  #settle({ id, placement, shared }: Formed, needed: readonly Needed[], movement: Movement<Other> | undefined): void {
    const others = (shared?.parts ?? []).map(({ other }) => other)
    settlePass(this.#gang, { id, inputs: this.inputs, placement, others }, needed, movement?.residences)
    const isShared = (storage: Storage): boolean => this.#gang.belongings.isShared(this.#gang.numberOf(storage))
    letGo(new Map([...(movement?.residences ?? [])].filter(([storage]) => !isShared(storage))))
  }
}
