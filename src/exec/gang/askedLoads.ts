/** Rows of served arrays that processes send each other while blocks of a pass run: planned by rank 0, which takes part. */
import type { DenseStorage } from '../../core/arrays/storage.ts'
import type { Portion } from '../loops/kernelLayout.ts'
import type { KernelLoop } from '../loops/kernelLoop.ts'
import type { Formed, Part } from './formed.ts'
import type { Members, Other } from './members.ts'
import type { Needed } from './movement/belongings.ts'
import { type EdgeHead, Edges } from './movement/edges.ts'
import type { Movement } from './movement/movement.ts'
import { type LoadSend, type Loads, NO_LOADS, type NodeMoves, type RowsHead } from './movement/moves.ts'
import { type LoadedArray, nameOf, plannedLoads, sendLoads, stretchesOf, withLoads } from './movement/served/loads.ts'
import { packRows, unpackRows } from './movement/served/rowCopies.ts'
import { tellKeys } from './movement/served/rowSupply.ts'
import type { Served } from './movement/served/served.ts'
import type { Rows } from './movement/served/servedRows.ts'
import { shapeOfStorage } from './storageWire.ts'

export interface AskedLoadsOptions {
  readonly gang: Members
  readonly loop: KernelLoop
  /** The pass's number among what the others are asked for. */
  readonly run: number
  readonly formed: Formed
  /** The blocks of this process. */
  readonly own: Portion
  readonly parts: readonly Part[]
  readonly needed: readonly Needed[]
  readonly served: Served
  readonly movement: Movement<Other>
}

export class AskedLoads {
  readonly #asked: AskedLoadsOptions
  /** Arrays whose rows come while blocks run, with the parts that lack some: rows go to all of these, whatever other passes send meanwhile. */
  readonly #lacking: ReadonlyMap<Needed, readonly Part[]>
  /** The loads of each node. */
  readonly #loads: readonly Loads[]
  /** The edges between blocks here and those of others; undefined where there are none. */
  readonly edges: Edges | undefined

  constructor(asked: AskedLoadsOptions) {
    this.#asked = asked
    const { gang, formed, served, needed, parts } = asked
    this.#lacking = new Map(
      needed
        .filter(({ storage }) => served.get(storage)?.loads !== undefined)
        .map((one) => [one, parts.filter(({ other }) => gang.missing(other, formed.id, one).length > 0)]),
    )
    this.#loads = this.#planned()
    this.edges = this.#edges()
  }

  #planned(): readonly Loads[] {
    const { gang, loop, formed, served } = this.#asked
    const { order, bounds } = formed.placement
    if (this.#lacking.size === 0) return bounds.slice(1).map(() => NO_LOADS)
    const arrays = [...this.#lacking].map(([{ storage }, lacking]): LoadedArray => {
      const { loads = [] } = served.get(storage) ?? {}
      const isTaken = ({ to }: { readonly to: number }): boolean => to === 0 || lacking.some(({ node }) => node === to)
      return { storage: gang.numberOf(storage), loads: loads.filter(isTaken) }
    })
    const stretches = stretchesOf(loop.blocks, order.owners, bounds.length - 1)
    return plannedLoads(formed.id, arrays, { stretches, owners: order.owners, ranks: [0, ...formed.others.map(({ rank }) => rank)] })
  }

  #edges(): Edges | undefined {
    const { gang, run, own, movement } = this.#asked
    const moves = movement.nodes[0] as NodeMoves // one for each process
    const loads = this.#of(0)
    if (own.numbers === undefined || moves.sends.length + moves.takes.length + loads.takes.length === 0) return undefined
    const edges = new Edges(run, withLoads(moves, loads, own.numbers), own.numbers, {
      storageOf: this.#storageOf,
      putRows: (head, values) => unpackRows(this.#storageOf(head.storage), this.#rowsOf(head), values),
      read: (parts) => gang.giveBack(parts),
      send: (to, head, parts) => gang.send(to, 'edge', head, parts),
    })
    gang.takeEdges(run, (edge) => edges.take(edge))
    return edges
  }

  #of(node: number): Loads {
    return this.#loads[node] as Loads // one for each process
  }

  /** The loads that a process is told of; undefined where it neither sends nor takes any. */
  toldTo({ node }: Part): Loads | undefined {
    const own = this.#of(node)
    return own.sends.length + own.takes.length === 0 ? undefined : own
  }

  /** Tells senders and receivers which rows each load has, before the others are asked for the pass. */
  begin(): void {
    const { gang, formed, served, parts } = this.#asked
    const others = new Map(parts.map(({ node, other }) => [node, other]))
    for (const [{ storage, version }, lacking] of this.#lacking) {
      const { loads = [], by = '' } = served.get(storage) ?? {}
      const number = gang.numberOf(storage)
      for (const { other } of lacking) {
        if (gang.belongings.held(other, number) === undefined)
          gang.send(other.rank, 'values', { storage: number, shape: shapeOfStorage(storage) })
        gang.belongings.hold(other, number, { version, by })
      }
      for (const load of loads) {
        const head: RowsHead = { loop: nameOf(formed.id, load), storage: number }
        for (const node of [load.from, load.to]) {
          const other = others.get(node)
          if (other !== undefined) tellKeys(gang, other, head, { by, rows: load.rows })
        }
      }
    }
  }

  /** Sends the loads of this process, once the others have been asked. */
  async send(isOver: () => boolean): Promise<void> {
    await sendLoads(this.#of(0).sends, (load) => this.#sendOne(load), isOver)
  }

  #sendOne({ block, to, rows }: LoadSend): void {
    const { gang, run } = this.#asked
    const parts = rows.map((one) => packRows(this.#storageOf(one.storage), this.#rowsOf(one)))
    const head: EdgeHead = { run, blocks: [[block, parts.length]] }
    gang.send(to, 'edge', head, parts)
  }

  /** Counts the rows as not held by anybody, after a pass that has not come to its end: they may have come or not. */
  forget(): void {
    const { gang } = this.#asked
    for (const [{ storage }, lacking] of this.#lacking)
      for (const { other } of lacking) gang.belongings.hold(other, gang.numberOf(storage), { version: undefined })
  }

  readonly #storageOf = (number: number): DenseStorage => this.#asked.gang.storageOf(number) as DenseStorage // boxes and rows are of dense arrays

  #rowsOf({ loop, storage }: RowsHead): Rows {
    const { gang, formed, served } = this.#asked
    const load = served.get(gang.storageOf(storage))?.loads?.find((one) => nameOf(formed.id, one) === loop)
    return load?.rows ?? new Int32Array(0)
  }
}
