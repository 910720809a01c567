/**
 * The arena's allocator: a heap of blocks in units of 64 bytes, all of whose data lie in the memory itself.
 *
 *     unit 0 … 2  the control block: lock, counts, heads of the free lists, the arena's identity
 *     unit 3 …    blocks, one after another to the end: a header of one unit, then the payload
 *
 * Free blocks are in doubly linked lists by the power of two of their size, and merge with free neighbours at once, so
 * that a program that frees everything is left with one block. The first word of a header holds size and state, and
 * every change of the chain of blocks is one store of such a word: should a thread be terminated half-way, the chain
 * is whole and everything else is rebuilt from it.
 */
import { randomInt } from 'node:crypto'
import { Bug } from '../../core/errors.ts'
import type { AddressType } from '../kir/kernelModule.ts'
import { lock, markEnding, takeFromEnded, unlock } from './arenaLock.ts'
import { growBy, PAGE_BYTES } from './wideMemory.ts'

export const UNIT_BYTES = 64
const WORDS_PER_UNIT = UNIT_BYTES / 4
/** Least bytes to grow by: growing interrupts every thread of the session, so it takes more pages than needed. */
const GROWTH_BYTES = 16 * 2 ** 20

// words of the control block
const LOCK = 0
const BUDGET = 1
const USED = 2
/** First unit behind the last block. */
const END = 3
/** First unit never written to: what lies from there on is still zero. */
const FRESH = 4
/** 1 where the memory counts its pages in 64 bits. */
const IS_WIDE = 5
const BINS = 6
/** The number of free lists: one for each power of two up to 16 GiB. */
const BIN_COUNT = 29
/** Two random words by which a view of this memory is known, whichever buffer object it came through. */
const IDENTITY = 40
const FIRST_UNIT = 3

// words of a block's header
const SIZE_AND_STATE = 0
const PREVIOUS_SIZE = 1
const NEXT_FREE = 2
const PREVIOUS_FREE = 3
const OWNER = 4
const USED_BIT = 1

/** Blocks of one list looked at before the next larger list is taken: keeps allocation short. */
const LOOKS = 64

export type Refused = { readonly refused: 'budget' | 'address space' }

export class Allocator {
  readonly memory: WebAssembly.Memory
  private words: Int32Array

  private constructor(memory: WebAssembly.Memory) {
    this.memory = memory
    this.words = this.takeBuffer()
  }

  static create(memory: WebAssembly.Memory, budgetBytes: number, addresses: AddressType): Allocator {
    const allocator = new Allocator(memory)
    const { words } = allocator
    words[IS_WIDE] = addresses === 'i64' ? 1 : 0
    words[BUDGET] = Math.floor(budgetBytes / UNIT_BYTES)
    words[END] = words.length / WORDS_PER_UNIT
    words[FRESH] = FIRST_UNIT + 1
    words[IDENTITY] = randomInt(2 ** 32)
    words[IDENTITY + 1] = randomInt(2 ** 32)
    allocator.setBlock(FIRST_UNIT, (words[END] ?? 0) - FIRST_UNIT, 0)
    allocator.link(FIRST_UNIT)
    return allocator
  }

  static attach(memory: WebAssembly.Memory): Allocator {
    return new Allocator(memory)
  }

  /** The type of the memory's addresses. */
  get addresses(): AddressType {
    return this.word(IS_WIDE) === 1 ? 'i64' : 'i32'
  }
  get budgetUnits(): number {
    return this.word(BUDGET)
  }
  get usedUnits(): number {
    return Atomics.load(this.words, USED)
  }

  /** The offset of a zeroed block of at least `bytes`, or why there is none. `zeroed: false` leaves in it what was there. */
  allocate(bytes: number, owner: number, { zeroed }: { readonly zeroed: boolean } = { zeroed: true }): number | Refused {
    const units = Math.max(1, Math.ceil(bytes / UNIT_BYTES)) + 1
    this.enter()
    let block: number
    let dirtyUnits: number
    try {
      if (units > this.word(BUDGET) - this.word(USED)) return { refused: 'budget' }
      block = this.find(units)
      if (block === 0) block = this.grow(units)
      if (block === 0) return { refused: 'address space' }
      this.take(block, units, owner)
      dirtyUnits = Math.min(block + this.sizeOf(block), this.word(FRESH)) - (block + 1)
      this.raise(FRESH, block + this.sizeOf(block) + 1)
    } finally {
      this.leave()
    }
    const offset = (block + 1) * UNIT_BYTES
    if (zeroed && dirtyUnits > 0) new Float64Array(this.words.buffer, offset, (dirtyUnits * UNIT_BYTES) / 8).fill(0)
    return offset
  }

  free(offset: number): void {
    const block = offset / UNIT_BYTES - 1
    this.enter()
    try {
      if (!this.isUsedBlock(block)) throw new Bug(`The arena was given back a block at ${offset}, where none begins.`)
      this.release(block)
    } finally {
      this.leave()
    }
  }

  /** Frees all blocks with this owner; walks the whole chain. */
  freeOwned(owner: number): void {
    this.enter()
    try {
      // a freed block may merge with the one before it: the walk goes on from the merged block
      for (let block = FIRST_UNIT; block < this.word(END); block += this.sizeOf(block)) {
        if (this.isUsed(block) && this.header(block, OWNER) === owner) block = this.release(block)
      }
    } finally {
      this.leave()
    }
  }

  abandonThread(thread: number, state: 'ending' | 'ended'): void {
    markEnding(thread)
    if (state === 'ending' || !takeFromEnded(this.words, LOCK, thread)) return
    this.refresh()
    this.repair()
    this.leave()
  }

  /** The buffer of the memory, long enough for `end` bytes. */
  bufferTo(end: number): ArrayBufferLike {
    if (end > this.words.byteLength) this.refresh()
    return this.words.buffer
  }

  /** Buffers differ as objects after growing and after travelling between threads; the memory behind them does not. */
  isOwnBuffer(buffer: ArrayBufferLike): boolean {
    if (buffer === this.words.buffer) return true
    if (!(buffer instanceof SharedArrayBuffer) || buffer.byteLength < FIRST_UNIT * UNIT_BYTES) return false
    const identity = new Int32Array(buffer, IDENTITY * 4, 2)
    return identity[0] === this.word(IDENTITY) && identity[1] === this.word(IDENTITY + 1)
  }

  private enter(): void {
    const takenOver = lock(this.words, LOCK)
    if (this.word(END) * WORDS_PER_UNIT > this.words.length) this.refresh()
    if (takenOver) this.repair()
  }
  private leave(): void {
    unlock(this.words, LOCK)
  }

  /** Takes the memory's present buffer. Another thread may have grown it: growing by nothing makes this thread see that. */
  private refresh(): void {
    growBy(this.memory, 0, this.addresses)
    this.words = this.takeBuffer()
  }
  private takeBuffer(): Int32Array {
    return new Int32Array(this.memory.buffer)
  }

  private word(at: number): number {
    return this.words[at] ?? 0
  }
  private raise(at: number, value: number): void {
    if (value > this.word(at)) this.words[at] = value
  }
  private header(block: number, field: number): number {
    return this.words[block * WORDS_PER_UNIT + field] ?? 0
  }
  private setHeader(block: number, field: number, value: number): void {
    this.words[block * WORDS_PER_UNIT + field] = value
  }
  private sizeOf(block: number): number {
    return this.header(block, SIZE_AND_STATE) >>> 1
  }
  private isUsed(block: number): boolean {
    return (this.header(block, SIZE_AND_STATE) & USED_BIT) === USED_BIT
  }
  private setBlock(block: number, units: number, usedBit: number): void {
    // one store: the chain of blocks is whole before and after
    Atomics.store(this.words, block * WORDS_PER_UNIT + SIZE_AND_STATE, (units << 1) | usedBit)
  }

  /** Whether a used block begins here: its neighbours in the chain must agree. */
  private isUsedBlock(block: number): boolean {
    const end = this.word(END)
    if (!Number.isInteger(block) || block < FIRST_UNIT || block >= end || !this.isUsed(block)) return false
    const next = block + this.sizeOf(block)
    if (next > end || (next < end && this.header(next, PREVIOUS_SIZE) !== this.sizeOf(block))) return false
    return block === FIRST_UNIT || this.sizeOf(block - this.header(block, PREVIOUS_SIZE)) === this.header(block, PREVIOUS_SIZE)
  }

  /** A free block of at least `units`, or 0. */
  private find(units: number): number {
    const own = binOf(units)
    const near = this.search(own, units, LOOKS)
    if (near !== 0) return near
    for (let bin = own + 1; bin < BIN_COUNT; bin++) {
      const block = this.word(BINS + bin)
      if (block !== 0) return block
    }
    return this.search(own, units, Number.POSITIVE_INFINITY)
  }
  private search(bin: number, units: number, looks: number): number {
    for (let block = this.word(BINS + bin); block !== 0 && looks > 0; block = this.header(block, NEXT_FREE), looks--) {
      if (this.sizeOf(block) >= units) return block
    }
    return 0
  }

  /** Lengthens the memory until its last block is free and has `units`; 0 when it cannot. */
  private grow(units: number): number {
    const end = this.word(END)
    const last = this.lastBlock()
    const missing = (units - (this.isUsed(last) ? 0 : this.sizeOf(last))) * UNIT_BYTES
    const pages = Math.ceil(missing / PAGE_BYTES)
    if (!this.growMemory(Math.max(pages, GROWTH_BYTES / PAGE_BYTES)) && !this.growMemory(pages)) return 0
    this.words = this.takeBuffer()
    const added = this.words.length / WORDS_PER_UNIT - end
    if (this.isUsed(last)) {
      this.setHeader(end, PREVIOUS_SIZE, this.sizeOf(last))
      this.setBlock(end, added, 0)
      this.raise(FRESH, end + 1)
      this.words[END] = end + added
      this.link(end)
      return end
    }
    this.unlink(last)
    this.words[END] = end + added
    this.setBlock(last, this.sizeOf(last) + added, 0)
    this.link(last)
    return last
  }
  private growMemory(pages: number): boolean {
    try {
      growBy(this.memory, pages, this.addresses)
      return true
    } catch {
      return false // RangeError: past the maximum, or the machine has no more
    }
  }
  private lastBlock(): number {
    let block = FIRST_UNIT
    for (let next = block; next < this.word(END); next += this.sizeOf(next)) block = next
    return block
  }
  /** The end of the chain: at END, or behind it when the last block was lengthened already. */
  private chainEnd(): number {
    const last = this.lastBlock()
    return last + this.sizeOf(last)
  }

  /** Marks the free block `block` as used, its rest behind `units` cut off. */
  private take(block: number, units: number, owner: number): void {
    this.unlink(block)
    const rest = this.sizeOf(block) - units
    if (rest >= 2) {
      const remainder = block + units
      this.setBlock(remainder, rest, 0)
      this.setHeader(remainder, PREVIOUS_SIZE, units)
      this.setHeader(block, OWNER, owner)
      this.setBlock(block, units, USED_BIT)
      if (remainder + rest < this.word(END)) this.setHeader(remainder + rest, PREVIOUS_SIZE, rest)
      this.link(remainder)
    } else {
      this.setHeader(block, OWNER, owner)
      this.setBlock(block, this.sizeOf(block), USED_BIT)
    }
    Atomics.store(this.words, USED, this.word(USED) + this.sizeOf(block))
  }

  /** Frees a used block and merges it with its neighbours; returns the block it is then part of. */
  private release(block: number): number {
    Atomics.store(this.words, USED, this.word(USED) - this.sizeOf(block))
    let first = block
    let units = this.sizeOf(block)
    const next = block + units
    if (next < this.word(END) && !this.isUsed(next)) {
      this.unlink(next)
      units += this.sizeOf(next)
    }
    const previous = block - this.header(block, PREVIOUS_SIZE)
    if (block !== FIRST_UNIT && !this.isUsed(previous)) {
      this.unlink(previous)
      units += this.sizeOf(previous)
      first = previous
    }
    this.setBlock(first, units, 0)
    if (first + units < this.word(END)) this.setHeader(first + units, PREVIOUS_SIZE, units)
    this.link(first)
    return first
  }

  private link(block: number): void {
    const bin = BINS + binOf(this.sizeOf(block))
    const head = this.word(bin)
    this.setHeader(block, NEXT_FREE, head)
    this.setHeader(block, PREVIOUS_FREE, 0)
    if (head !== 0) this.setHeader(head, PREVIOUS_FREE, block)
    this.words[bin] = block
  }
  private unlink(block: number): void {
    const next = this.header(block, NEXT_FREE)
    const previous = this.header(block, PREVIOUS_FREE)
    if (previous === 0) this.words[BINS + binOf(this.sizeOf(block))] = next
    else this.setHeader(previous, NEXT_FREE, next)
    if (next !== 0) this.setHeader(next, PREVIOUS_FREE, previous)
  }

  /** Rebuilds lists and counts from the chain of blocks. The memory may have been grown without the chain knowing. */
  private repair(): void {
    this.words.fill(0, BINS, BINS + BIN_COUNT)
    const end = this.words.length / WORDS_PER_UNIT
    const chainEnd = this.chainEnd()
    if (chainEnd < end) this.setBlock(chainEnd, end - chainEnd, 0)
    this.words[END] = end
    let used = 0
    let previousSize = 0
    for (let block = FIRST_UNIT; block < end; block += previousSize) {
      if (!this.isUsed(block)) {
        let units = this.sizeOf(block)
        while (block + units < end && !this.isUsed(block + units)) units += this.sizeOf(block + units)
        this.setBlock(block, units, 0)
      } else used += this.sizeOf(block)
      this.setHeader(block, PREVIOUS_SIZE, previousSize)
      previousSize = this.sizeOf(block)
      if (!this.isUsed(block)) this.link(block)
      this.raise(FRESH, block + 1)
    }
    Atomics.store(this.words, USED, used)
  }
}

/** The list of a size: its power of two. */
function binOf(units: number): number {
  return 31 - Math.clz32(units)
}
