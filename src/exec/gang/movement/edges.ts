/**
 * One process's part in what moves during a pass, over all of its rounds: sends what others wait for, and puts what comes where it
 * belongs, be it for a round that is still to come.
 */
import type { DenseStorage } from '../../../core/arrays/storage.ts'
import type { BlockGate, Outside } from '../../loops/claims/blockGate.ts'
import { bytesOfBox, packBoxes, type StoredBox, unpackBoxes } from './boxWire.ts'
import type { NumberedBox, RowsHead, Send, Take } from './moves.ts'

/** Head of `edge`: the part, if there is one, is what the boxes hold; of rows there is one for each array. */
export interface EdgeHead {
  readonly run: number
  readonly block: number
  /** The smallest rank that had failed when the block was done. */
  readonly failed?: number
}

export interface Edge {
  readonly head: EdgeHead
  readonly parts: readonly Uint8Array[]
}

export class Edges implements Outside {
  readonly waits: Int32Array
  readonly tells: Uint8Array
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
  #gate: BlockGate | undefined

  /** `numbers` are those of the portion's blocks in the whole loop. */
  constructor(
    run: number,
    moves: { readonly sends: readonly Send[]; readonly takes: readonly Take[] },
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
    this.#takes = new Map(moves.takes.map((take) => [take.block, take]))
    this.waits = new Int32Array(numbers.length)
    this.tells = new Uint8Array(numbers.length)
    for (const { releases } of moves.takes) for (const place of this.#placesOf(releases)) this.waits[place]!++
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
      const head = { run: this.#run, block, ...(failed === undefined ? {} : { failed }) }
      this.#send(to, head, packed.length === 0 ? [] : [packed])
    }
  }

  /** What came from another process: kept until the pass, or the next of its rounds, has begun here. */
  take(edge: Edge): void {
    const take = this.#takes.get(edge.head.block)
    if (take === undefined) throw new RangeError(`Nothing here waits for block ${edge.head.block}.`)
    if (this.#gate === undefined) {
      this.#early.push(edge)
      return
    }
    const part = (i: number): Uint8Array => edge.parts[i] ?? new Uint8Array(0)
    if (take.rows !== undefined) for (const [i, rows] of take.rows.entries()) this.#putRows(rows, part(i))
    else {
      unpackBoxes(
        take.boxes.map((box) => this.#stored(box)),
        part(0),
      )
    }
    const released = this.#placesOf(take.releases)
    for (const place of released) this.waits[place]!--
    this.#gate.release(released, edge.head.failed)
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
