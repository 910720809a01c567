/**
 * One process's part in the movement during a pass, over all of its rounds: sends the elements that blocks of others wait for, and stores
 * those that come, be it for a round that is still to come.
 */
import type { DenseStorage } from '../../../core/arrays/storage.ts'
import type { BlockGate, Outside } from '../../loops/claims/blockGate.ts'
import { roomToSend } from '../links/sendBuffers.ts'
import { bytesOfAll, bytesOfBox, packInto, type StoredBox, unpackBoxes } from './boxWire.ts'
import { groupOf, groupsOf, type Moves, type NumberedBox, type RowsHead, type Send, type Take } from './moves.ts'

/** Head of `edge`: blocks that are done, in their order, whose elements the parts hold. */
export interface EdgeHead {
  readonly run: number
  /** Each block with the number of its parts: one for all of its boxes, if these hold anything; for rows one per array. */
  readonly blocks: readonly (readonly [block: number, parts: number])[]
  /** The smallest rank that had failed when they were done. */
  readonly failed?: number
}

export interface Edge {
  readonly head: EdgeHead
  readonly parts: readonly Uint8Array[]
}

/** Edges held back for a process, to go in one message with more. */
interface Held {
  readonly to: number
  readonly blocks: (readonly [block: number, parts: number])[]
  readonly parts: Uint8Array[]
  /** Memory for the edges that are still to join it. */
  room: Uint8Array
}

export class Edges implements Outside {
  readonly waits: Int32Array
  /** Bytes of elements that were sent from here. */
  bytes = 0
  readonly #run: number
  readonly #tables: EdgeTables
  readonly #storageOf: (number: number) => DenseStorage
  readonly #putRows: (rows: RowsHead, values: Uint8Array) => void
  readonly #read: (parts: readonly Uint8Array[]) => void
  readonly #send: (to: number, head: EdgeHead, parts: readonly Uint8Array[]) => void
  readonly #early: Edge[] = []
  /** The edges held back, by their groups. */
  readonly #held = new Map<string, Held>()
  readonly #left: Map<string, number>
  /** The smallest rank that has failed. */
  #failed: number | undefined
  #gate: BlockGate | undefined

  /** `numbers` are those of the portion's blocks in the whole loop. Tables that follow from both are made once for the same `moves`. */
  constructor(
    run: number,
    moves: EdgeMoves,
    numbers: Int32Array,
    {
      storageOf,
      putRows,
      read,
      send,
    }: {
      readonly storageOf: (number: number) => DenseStorage
      readonly putRows: (rows: RowsHead, values: Uint8Array) => void
      /** Takes back the parts of an edge once they are stored. */
      readonly read: (parts: readonly Uint8Array[]) => void
      readonly send: (to: number, head: EdgeHead, parts: readonly Uint8Array[]) => void
    },
  ) {
    this.#run = run
    this.#tables = tablesOf(moves, numbers)
    this.#storageOf = storageOf
    this.#putRows = putRows
    this.#read = read
    this.#send = send
    this.waits = this.#tables.waits.slice()
    this.#left = new Map(this.#tables.counts)
  }

  get tells(): Uint8Array {
    return this.#tables.tells
  }

  get depths(): Int32Array {
    return this.#tables.depths
  }

  opened(gate: BlockGate): void {
    this.#gate = gate
    for (const edge of this.#early.splice(0)) this.take(edge)
  }

  /** Closes the gate: edges that come between two rounds are kept, as the pass may have come to its end. */
  closed(): void {
    this.#gate = undefined
  }

  finished(place: number, failed: number | undefined): void {
    const { numbers, sends, together } = this.#tables
    const block = numbers[place] as number
    for (const send of sends.get(block) ?? []) {
      const { to, boxes } = send
      const group = groupOf(send)
      const left = (this.#left.get(group) as number) - 1 // it was counted
      this.#left.set(group, left)
      const stored = boxes.map((box) => this.#stored(box))
      const most = together.get(to) ?? 1
      const held = this.#held.get(group) ?? { to, blocks: [], parts: [], room: new Uint8Array(0) }
      this.#held.set(group, held)
      const length = bytesOfAll(stored)
      if (length > held.room.length) held.room = roomToSend(length * Math.min(left + 1, most - held.blocks.length))
      const packed = packInto(stored, held.room.subarray(0, length))
      held.room = held.room.subarray(length)
      this.bytes += length
      held.blocks.push([block, length === 0 ? 0 : 1])
      if (length > 0) held.parts.push(packed)
      this.#failed = failed
      if (left === 0 || held.blocks.length >= most) this.#release(group)
    }
    if (failed !== undefined) this.flush()
  }

  get holds(): boolean {
    return this.#held.size > 0
  }

  flush(): void {
    for (const group of this.#held.keys()) this.#release(group)
  }

  #release(group: string): void {
    const { to, blocks, parts } = this.#held.get(group) as Held // it was asked for
    this.#held.delete(group)
    this.#send(to, { run: this.#run, blocks, ...(this.#failed === undefined ? {} : { failed: this.#failed }) }, parts)
  }

  /** Takes an edge of another process, which is kept until the pass, or the next of its rounds, has begun here. */
  take(edge: Edge): void {
    const { blocks, failed } = edge.head
    for (const [block] of blocks) if (!this.#tables.takes.has(block)) throw new RangeError(`Nothing here waits for block ${block}.`)
    if (this.#gate === undefined) {
      this.#early.push(edge)
      return
    }
    let at = 0
    for (const [block, count] of blocks) {
      this.#put(this.#tables.takes.get(block) as Take, edge.parts.slice(at, at + count)) // as seen above
      at += count
    }
    this.#read(edge.parts)
    const released = blocks.flatMap(([block]) => placesOf(this.#tables, this.#tables.takes.get(block)?.releases ?? []))
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

  #stored({ storage, box }: NumberedBox): StoredBox {
    return { storage: this.#storageOf(storage), box }
  }
}

type EdgeMoves = Pick<Moves, 'sends' | 'takes' | 'together'>

/** The tables that passes of the same moves share. */
interface EdgeTables {
  readonly numbers: Int32Array
  readonly placeOf: ReadonlyMap<number, number>
  readonly sends: ReadonlyMap<number, readonly Send[]>
  readonly takes: ReadonlyMap<number, Take>
  /** The number of edges that go to a process in one message. */
  readonly together: ReadonlyMap<number, number>
  /** The number of edges of each group. */
  readonly counts: ReadonlyMap<string, number>
  readonly waits: Int32Array
  readonly tells: Uint8Array
  readonly depths: Int32Array
}

const known = new WeakMap<EdgeMoves, EdgeTables>()

function tablesOf(moves: EdgeMoves, numbers: Int32Array): EdgeTables {
  const found = known.get(moves)
  if (found?.numbers === numbers) return found
  const { length } = numbers
  const placeOf = new Map(Array.from(numbers, (number, place) => [number, place]))
  const [waits, tells, depths] = [new Int32Array(length), new Uint8Array(length), new Int32Array(length)]
  for (const { releases, depth } of moves.takes) {
    for (const place of placesOf({ placeOf }, releases)) {
      waits[place]!++
      depths[place] = Math.max(depths[place] as number, depth)
    }
  }
  const sends = new Map<number, Send[]>()
  for (const send of moves.sends) {
    tells[placeOf.get(send.block) as number] = 1 // a block of this portion
    sends.set(send.block, [...(sends.get(send.block) ?? []), send])
  }
  const takes = new Map(moves.takes.map((take) => [take.block, take]))
  const counts = new Map([...groupsOf(moves.sends)].map(([group, { count }]) => [group, count]))
  const tables = { numbers, placeOf, sends, takes, together: new Map(moves.together), counts, waits, tells, depths }
  known.set(moves, tables)
  return tables
}

function placesOf({ placeOf }: Pick<EdgeTables, 'placeOf'>, blocks: readonly number[]): number[] {
  return blocks.map((block) => placeOf.get(block) as number) // blocks of the portion
}

export function bytesOfBoxes(boxes: readonly NumberedBox[], storageOf: (number: number) => DenseStorage): number {
  return boxes.reduce((sum, { storage, box }) => sum + bytesOfBox({ storage: storageOf(storage), box }), 0)
}
