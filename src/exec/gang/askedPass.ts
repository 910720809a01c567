/** A pass that rank 0 asks the other processes for, round by round where it has rounds, and the merging of their answers. */
import type { DenseStorage, Storage } from '../../core/arrays/storage.ts'
import { defined } from '../../core/defined.ts'
import type { MadeSpec } from '../arrays/makeArray.ts'
import type { ShareResult } from '../loops/callerPass.ts'
import type { Others } from '../loops/kernelPass.ts'
import { AskedLoads, type AskedLoadsOptions } from './askedLoads.ts'
import { copied, sameTable } from './capturedTables.ts'
import type { Part } from './formed.ts'
import type { Answer, Other } from './members.ts'
import { HOME, type Process } from './movement/belongings.ts'
import { unpackBoxes } from './movement/boxWire.ts'
import { supplyElements } from './movement/elementSupply.ts'
import type { NodeMoves } from './movement/moves.ts'
import type { VersionOf } from './movement/needs.ts'
import { applyParts, type PlacedSharing, partsOfChanges, type RunHead, regionOf, regionsOfRoots } from './movement/passWire.ts'
import { labelIn } from './movement/placement.ts'
import type { Residence } from './movement/residence.ts'
import { changesFor, endsPass, FlushedChanges, type FlushedHead, lanesOfRound } from './movement/rounds.ts'
import { knowsRows, serveRows, tellKeys } from './movement/served/rowSupply.ts'
import { type Rows, rowsWithin } from './movement/served/servedRows.ts'
import { loopOfReader, SharedPass, type Sharing } from './movement/shares.ts'
import { residencesOf, sharingOf, withOwned } from './movement/sharing.ts'
import { define, supply, supplyBoxes } from './movement/supply.ts'

export interface AskedPassOptions extends AskedLoadsOptions {
  readonly madeBy: (storage: Storage) => MadeSpec | undefined
  readonly versionOf: VersionOf
  /** Called when the others have been sent what they lack, before blocks run here. */
  readonly begun: () => void
  /** Whether all processes flush shared arrays, however small these are. */
  readonly isForced: boolean
  /** Whether elements may stay in the process that wrote them. */
  readonly stays: boolean
}

type Head = Omit<RunHead, 'run' | 'least'>

export class AskedPass {
  readonly #asked: AskedPassOptions
  readonly #changes: FlushedChanges
  readonly #sharing: Sharing | undefined
  /** The nodes that take part. */
  readonly #nodes: readonly number[]
  /** This process's part in arrays that all flush; undefined where there are none. */
  readonly shared: SharedPass | undefined
  readonly loads: AskedLoads
  /** Bytes of updates that came in rounds, and of the changes that these made. */
  roundBytes = 0

  /** Prepares a pass before it begins: values and copies are those that it begins with. */
  constructor(asked: AskedPassOptions) {
    const { gang, loop, run, formed, parts, isForced, served, stays } = asked
    const numberOf = (storage: Storage): number => gang.numberOf(storage)
    const { lanes, blocks } = loop
    const bounds = [0, ...parts.map(({ definition }) => definition.from), blocks.laneCount]
    const ranks = [0, ...parts.map(({ other }) => other.rank)]
    const buffers = parts[0]?.definition.buffers ?? []
    const appliedHere = new Set(buffers.flatMap(([, { storage, apply }]) => (apply === 'home' ? storage : [])))
    this.#sharing = sharingOf({ blocks, lanes, served, ranks, bounds, isForced, numberOf, appliedHere, stays })
    this.#nodes = [0, ...parts.map(({ node }) => node)]
    this.#asked =
      this.#sharing === undefined ? asked : { ...asked, served: withOwned(served, this.#sharing, { numberOf, nodes: this.#nodes }) }
    if (this.#sharing !== undefined) {
      this.shared = new SharedPass({
        run,
        place: 0,
        sharing: this.#sharing,
        lanes,
        storageOf: (number) => gang.storageOf(number) as DenseStorage, // as they were found
        rowsOf: (reader, number) => this.#rowsOf(reader, gang.storageOf(number)),
        read: (parts) => gang.giveBack(parts),
        send: (rank, head, parts) => gang.send(rank, 'share', head, parts),
      })
      gang.takeShares(run, (share) => this.shared?.take(share))
    }
    this.loads = new AskedLoads(asked)
    const own = formed.placement.flushed.filter((storage) => !this.#isShared(storage))
    this.#changes = new FlushedChanges(own)
  }

  /** The residences, after the pass, of arrays whose elements stay with their owners. */
  get residences(): ReadonlyMap<Storage, Residence<Process>> {
    const { gang, parts } = this.#asked
    if (this.#sharing?.stays !== true) return new Map()
    const processes: readonly Process[] = [HOME, ...parts.map(({ other }) => other)]
    return residencesOf(this.#sharing, processes, (number) => gang.storageOf(number) as DenseStorage) // as they were found
  }

  /** The sentence of explain() about arrays that all flush. */
  get sharedText(): string {
    const { gang, formed } = this.#asked
    return (this.#sharing?.arrays ?? [])
      .map(
        ({ storage }) =>
          ` Each flushes its own elements of ${labelIn(formed.placement, gang.storageOf(storage))}${this.#sharing?.stays === true ? ', which stay there' : ''}.`,
      )
      .join('')
  }

  #isShared(storage: Storage): boolean {
    return this.#sharing?.arrays.some((one) => one.storage === this.#asked.gang.numberOf(storage)) === true
  }

  /** The rows that a process reads of an array; undefined where its owner was not told of them. */
  #rowsOf(place: number, storage: Storage): Rows | undefined {
    return this.#knowsRows ? this.#asked.served.get(storage)?.rows[this.#nodes[place] as number] : undefined
  }

  get #knowsRows(): boolean {
    const { gang, served } = this.#asked
    return this.#sharing?.arrays.every(({ storage }) => served.get(gang.storageOf(storage))?.isFirst === false) === true
  }

  readonly start: Others['start'] = async (turn, signal, round) => {
    if (round === undefined || round === 0) return await this.#run(this.#begin(turn, round), signal, round)
    this.#sendFlushed()
    const { pass, parameters } = turn
    const head: Head = { loop: this.#asked.formed.id, pass, parameters, round }
    return await this.#run(new Map(this.#asked.parts.map(({ other }) => [other, head])), signal, round)
  }

  /** Sends elements that the others lack; returns heads that tell each of what is new to it. */
  #begin({ pass, parameters }: Parameters<Others['start']>[0], round: number | undefined): Map<Other, Head> {
    const { gang, loop, formed, parts, needed, served, movement, madeBy, versionOf } = this.#asked
    const heads = new Map<Other, Head>()
    gang.checkThere(parts.map(({ other }) => other))
    this.loads.begin()
    for (const part of parts) {
      const moves = movement.nodes[part.node] as NodeMoves // one for each process
      for (const one of needed) {
        const array = served.get(one.storage)
        const rows = array?.rows[part.node]
        if (rows !== undefined && array?.isFirst === false && array.loads === undefined)
          serveRows(gang, part.other, formed.id, { needed: one, rows, isAll: array.fetches !== undefined })
      }
      if (this.#sharing !== undefined && this.#knowsRows) this.#tellReaders(part, this.#sharing)
      const { elements } = formed.placement
      if (elements !== undefined) supplyElements(gang, part.other, elements, { node: part.node, version: versionOf(elements.storage) })
      supply(gang, part.other, needed, formed.id)
      define(gang, part.other, part.definition)
      supplyBoxes(gang, part.other, moves.starts, madeBy)
      const { tables } = loop.captured
      const isSame = part.tables.length === tables.length && part.tables.every((table, i) => sameTable(table, tables[i]))
      if (!isSame) part.tables = tables.map((table) => copied(table))
      const { sends, together, takes, ends } = moves
      const isKnown = part.moves === moves
      part.moves = moves
      const sharing = this.#sharedBy(part)
      const loads = this.loads.toldTo(part)
      const told = {
        ...defined({ sharing, loads }),
        ...(isSame ? {} : { tables: part.tables }),
        ...(isKnown ? {} : { moves: { sends, together, takes, ends } }),
      }
      heads.set(part.other, { loop: formed.id, pass, parameters, ...(round === undefined ? {} : { round }), ...told })
    }
    this.#asked.begun()
    return heads
  }

  /** Tells an owner of shared arrays which of its elements each of the others reads. */
  #tellReaders({ other, node }: Part, { arrays }: Sharing): void {
    const { gang, formed, served } = this.#asked
    const place = this.#nodes.indexOf(node)
    for (const { storage, cuts } of arrays) {
      const array = served.get(gang.storageOf(storage))
      if (array === undefined) continue
      for (const [reader, of] of this.#nodes.entries()) {
        const all = array.rows[of] as Rows // one for each process
        const isOwn = reader === place
        const rows = isOwn ? all : rowsWithin(all, cuts[place] as number, cuts[place + 1] as number)
        tellKeys(gang, other, { loop: isOwn ? formed.id : loopOfReader(formed.id, reader), storage }, { by: array.by, rows })
      }
    }
  }

  #sharedBy({ node }: Part): PlacedSharing | undefined {
    const sharing = this.#sharing
    return sharing && { sharing, place: this.#nodes.indexOf(node), knowsRows: this.#knowsRows }
  }

  /** Sends the elements that the last flush has changed to the processes that read them. */
  #sendFlushed(): void {
    const { gang, parts, served, formed } = this.#asked
    const changed = this.#changes.next()
    gang.checkThere(parts.map(({ other }) => other))
    for (const { other, node } of parts) {
      const sent = changed.flatMap(([storage, changes]) => {
        const array = served.get(storage)
        const number = gang.numberOf(storage)
        const knows = array !== undefined && knowsRows(other, { loop: formed.id, storage: number }, array.by)
        const own = changesFor(storage, changes, array?.rows[node], { knowsRows: knows })
        return own === undefined ? [] : [{ storage: number, ...own }]
      })
      if (sent.length === 0) continue
      const head: FlushedHead = { loop: formed.id, arrays: sent.map(({ storage, isRows }) => ({ storage, isRows })) }
      const bytes = partsOfChanges(sent.map(({ changes }) => changes))
      gang.send(other.rank, 'flushed', head, bytes)
      this.#count(bytes)
    }
  }

  #count(parts: readonly Uint8Array[]): void {
    this.roundBytes += parts.reduce((sum, { length }) => sum + length, 0)
  }

  async #run(heads: ReadonlyMap<Other, Head>, signal: AbortSignal | undefined, round: number | undefined): Promise<readonly ShareResult[]> {
    const { gang, loop, run, parts } = this.#asked
    const isLast = endsPass(loop.blocks, round)
    const results: ShareResult[] = []
    const took = ({ rank, head, parts: sent }: Answer): void => {
      const { definition, moves } = parts.find(({ other }) => other.rank === rank) as Part // one that was asked
      const { from, to, compared } = definition
      const written = isLast ? compared.map((number) => regionOf(gang.storageOf(number))) : []
      const lanes = lanesOfRound(loop.lanes, isLast).filter((one) => this.shared?.has(one) !== true)
      const regions = [...written, ...regionsOfRoots(lanes, from, to), ...(isLast ? this.#piecesOf(rank) : [])]
      applyParts(regions, sent)
      if (round !== undefined) this.#count(sent.slice(0, 2 * regions.length))
      if (round !== undefined && isLast) this.roundBytes += head.sharedBytes ?? 0
      const ends = isLast ? (moves?.ends ?? []) : []
      unpackBoxes(
        ends.map(({ storage, box }) => ({ storage: gang.storageOf(storage) as DenseStorage, box })), // boxes are of dense arrays
        sent[2 * regions.length] as Uint8Array, // the last part
      )
      results.push(...head.results.map((result) => ({ ...result, rank })))
    }
    let isOver = false
    const there = gang.run(run, heads, signal, took).finally(() => (isOver = true))
    // rows are the same in all rounds, and sent with the first of them
    const isFirst = round === undefined || round === 0
    const sending = isFirst ? this.loads.send(() => isOver || signal?.aborted === true) : undefined
    await Promise.all([there, sending])
    if (isLast) this.roundBytes += this.shared?.bytes ?? 0
    return results
  }

  /** The elements of shared arrays that a process owns and sends home; none where they stay. */
  #piecesOf(rank: number) {
    const place = this.#sharing?.ranks.indexOf(rank) ?? 0
    return (this.#sharing?.stays === true ? [] : (this.#sharing?.arrays ?? [])).map(({ storage, cuts }) => {
      const { data } = this.#asked.gang.storageOf(storage) as DenseStorage
      return data.subarray(cuts[place], cuts[place + 1]) as ReturnType<typeof regionOf>
    })
  }
}
