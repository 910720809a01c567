/**
 * One process's part in what moves during a pass, over all of its rounds: sends what others wait for, and puts what comes where it
 * belongs, be it for a round that is still to come.
 */
import type { DenseStorage } from '../../../core/arrays/storage.ts'
import type { BlockGate, Outside } from '../../loops/claims/blockGate.ts'
import { bytesOfBox, packBoxes, type StoredBox, unpackBoxes } from './boxWire.ts'
import type { Moves, NumberedBox, RowsHead, Send, Take } from './moves.ts'

/** Head of `edge`: what blocks that are done leave to others, in their order. */
export interface EdgeHead {
  readonly run: number
  /** Of each the number of its parts: one of what its boxes hold, if anything; of rows there is one for each array. */
  readonly blocks: readonly (readonly [block: number, parts: number])[]
  /** The smallest rank that had failed when they were done. */
  readonly failed?: number
}

export interface Edge {
  readonly head: EdgeHead
  readonly parts: readonly Uint8Array[]
}

export class Edges implements Outside {
  readonly waits: Int32Array
  readonly tells: Uint8Array
  readonly depths: Int32Array
  /** That were sent from here. */
  bytes = 0
  readonly #run: number
  readonly #numbers: Int32Array
  readonly #placeOf: ReadonlyMap<number, number>
  readonly #sends = new Map<number, Send[]>()
  readonly #takes: ReadonlyMap<number, Take>
  readonly #storageOf: (number: number) => DenseStorage
  readonly #putRows: (rows: RowsHead, values: Uint8Array) => void
  readonly #send: (to: number, head: EdgeHead, parts: readonly Uint8Array[]) => void
  readonly #early: Edge[] = []
  /** How many go together to a process, and those of each that are held back. */
  readonly #together: ReadonlyMap<number, number>
  readonly #held = new Map<number, { readonly blocks: (readonly [number, number])[]; readonly parts: Uint8Array[] }>()
  /** The smallest rank that has failed. */
  #failed: number | undefined
  #gate: BlockGate | undefined

  /** `numbers` are those of the portion's blocks in the whole loop. */
  constructor(
    run: number,
    moves: Pick<Moves, 'sends' | 'takes' | 'together'>,
    numbers: Int32Array,
    {
      storageOf,
      putRows,
      send,
    }: {
      readonly storageOf: (number: number) => DenseStorage
      readonly putRows: (rows: RowsHead, values: Uint8Array) => void
      readonly send: (to: number, head: EdgeHead, parts: readonly Uint8Array[]) => void
    },
  ) {
    this.#run = run
    this.#numbers = numbers
    this.#storageOf = storageOf
    this.#putRows = putRows
    this.#send = send
    this.#placeOf = new Map(Array.from(numbers, (number, place) => [number, place]))
    this.#together = new Map(moves.together)
    this.#takes = new Map(moves.takes.map((take) => [take.block, take]))
    this.waits = new Int32Array(numbers.length)
    this.tells = new Uint8Array(numbers.length)
    this.depths = new Int32Array(numbers.length)
    for (const { releases, depth } of moves.takes) {
      for (const place of this.#placesOf(releases)) {
        this.waits[place]!++
        this.depths[place] = Math.max(this.depths[place] as number, depth)
      }
    }
    for (const send of moves.sends) {
      this.tells[this.#placeOf.get(send.block) as number] = 1 // a block of this portion
      this.#sends.set(send.block, [...(this.#sends.get(send.block) ?? []), send])
    }
  }

  opened(gate: BlockGate): void {
    this.#gate = gate
    for (const edge of this.#early.splice(0)) this.take(edge)
  }

  /** What comes between two rounds is for a pass that may have come to its end: it changes nothing. */
  closed(): void {
    this.#gate = undefined
  }

  finished(place: number, failed: number | undefined): void {
    const block = this.#numbers[place] as number
    for (const { to, boxes } of this.#sends.get(block) ?? []) {
      const packed = packBoxes(boxes.map((box) => this.#stored(box)))
      this.bytes += packed.length
      const held = this.#held.get(to) ?? { blocks: [], parts: [] }
      this.#held.set(to, held)
      held.blocks.push([block, packed.length === 0 ? 0 : 1])
      if (packed.length > 0) held.parts.push(packed)
      this.#failed = failed
      if (failed !== undefined || held.blocks.length >= (this.#together.get(to) ?? 1)) this.#release(to)
    }
  }

  get holds(): boolean {
    return this.#held.size > 0
  }

  flush(): void {
    for (const to of this.#held.keys()) this.#release(to)
  }

  #release(to: number): void {
    const { blocks, parts } = this.#held.get(to) ?? { blocks: [], parts: [] }
    this.#held.delete(to)
    this.#send(to, { run: this.#run, blocks, ...(this.#failed === undefined ? {} : { failed: this.#failed }) }, parts)
  }

  /** What came from another process: kept until the pass, or the next of its rounds, has begun here. */
  take(edge: Edge): void {
    const { blocks, failed } = edge.head
    for (const [block] of blocks) if (!this.#takes.has(block)) throw new RangeError(`Nothing here waits for block ${block}.`)
    if (this.#gate === undefined) {
      this.#early.push(edge)
      return
    }
    let at = 0
    for (const [block, count] of blocks) {
      this.#put(this.#takes.get(block) as Take, edge.parts.slice(at, at + count)) // as seen above
      at += count
    }
    const released = blocks.flatMap(([block]) => this.#placesOf(this.#takes.get(block)?.releases ?? []))
    for (const place of released) this.waits[place]!--
    this.#gate.release(released, failed)
  }

  #put(take: Take, parts: readonly Uint8Array[]): void {
    const part = (i: number): Uint8Array => parts[i] ?? new Uint8Array(0)
    if (take.rows !== undefined) for (const [i, rows] of take.rows.entries()) this.#putRows(rows, part(i))
    else {
      unpackBoxes(
        take.boxes.map((box) => this.#stored(box)),
        part(0),
      )
    }
  }

  #placesOf(blocks: readonly number[]): number[] {
    return blocks.map((block) => this.#placeOf.get(block) as number) // blocks of this portion
  }

  #stored({ storage, box }: NumberedBox): StoredBox {
    return { storage: this.#storageOf(storage), box }
  }
}

export function bytesOfBoxes(boxes: readonly NumberedBox[], storageOf: (number: number) => DenseStorage): number {
  return boxes.reduce((sum, { storage, box }) => sum + bytesOfBox({ storage: storageOf(storage), box }), 0)
}
