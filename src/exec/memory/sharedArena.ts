/** The arena of a session: blocks of one memory that all threads share. */
import { totalmem } from 'node:os'
import { ARRAY_OF_DTYPE } from '../../core/arrays/storage.ts'
import { bytesText } from '../../core/bytesText.ts'
import type { TypedArray } from '../../core/data/column.ts'
import type { DType } from '../../core/data/schema.ts'
import { Bug, MemoryError } from '../../core/errors.ts'
import type { AddressType } from '../kir/kernelModule.ts'
import { Allocator, UNIT_BYTES } from './allocator.ts'
import type { Arena, ArenaHandle, ArenaOptions } from './arena.ts'
import { reclaim } from './lease.ts'
import { createMemory, hasWideMemory, LARGEST_BUDGET_BYTES, MOST_BYTES, mostBytes } from './wideMemory.ts'

/** The budget by default: half of the machine's memory, at most 3.5 GiB. */
export function defaultBudgetBytes(): number {
  return Math.min(Math.floor(totalmem() / 2), 3.5 * 2 ** 30)
}

/** A new arena. The budget counts blocks with their headers of 64 bytes; no arena has more than its addresses reach. */
export function createArena({ budgetBytes = defaultBudgetBytes(), addresses = addressesFor(budgetBytes) }: ArenaOptions = {}): SharedArena {
  const budget = Math.min(budgetBytes, LARGEST_BUDGET_BYTES[addresses])
  const arena = new SharedArena(Allocator.create(createMemory(addresses), budget, addresses))
  arena.onPressure = () => reclaim(arena)
  return arena
}

/** Addresses of 64 bits where 32 do not reach and the engine has them; otherwise of 32. */
function addressesFor(budgetBytes: number): AddressType {
  return budgetBytes > MOST_BYTES.i32 && hasWideMemory() ? 'i64' : 'i32'
}

/** The same arena as seen by another thread, or by a task: blocks it allocates carry `owner` (see `freeOwned`). */
export function attachArena(handle: ArenaHandle, options: { readonly owner?: number } = {}): SharedArena {
  const arena = new SharedArena(Allocator.attach(handle.memory))
  arena.owner = options.owner ?? 0
  return arena
}

export class SharedArena implements Arena {
  readonly memory: WebAssembly.Memory
  /** The owner written into every block that is allocated through this object; 0 for nobody. */
  owner = 0
  /** Called when the budget does not hold a block, to let go of garbage; returns whether it is worth another try. */
  onPressure: (() => boolean) | undefined
  private readonly allocator: Allocator
  constructor(allocator: Allocator) {
    this.allocator = allocator
    this.memory = allocator.memory
  }

  get handle(): ArenaHandle {
    return { memory: this.memory }
  }
  get addresses(): AddressType {
    return this.allocator.addresses
  }
  get budgetBytes(): number {
    return this.allocator.budgetUnits * UNIT_BYTES
  }
  get usedBytes(): number {
    return this.allocator.usedUnits * UNIT_BYTES
  }

  allocate(bytes: number, operator: string): number {
    return this.block(bytes, operator, { zeroed: true })
  }

  reserve(bytes: number, operator: string): number {
    return this.block(bytes, operator, { zeroed: false })
  }

  private block(bytes: number, operator: string, options: { readonly zeroed: boolean }): number {
    if (!(bytes >= 0)) throw new Bug(`${operator} asked the arena for ${bytes} bytes.`)
    const first = this.allocator.allocate(bytes, this.owner, options)
    if (typeof first === 'number') return first
    if (this.onPressure?.() === true) {
      const second = this.allocator.allocate(bytes, this.owner, options)
      if (typeof second === 'number') return second
    }
    throw new MemoryError(this.refusalText(bytes, operator, first.refused), { operator, bytes })
  }

  free(offset: number): void {
    this.allocator.free(offset)
  }

  view(dtype: DType, offset: number, length: number): TypedArray {
    return new ARRAY_OF_DTYPE[dtype](this.allocator.bufferTo(offset + length * ARRAY_OF_DTYPE[dtype].BYTES_PER_ELEMENT), offset, length)
  }

  owns(buffer: ArrayBufferView): boolean {
    return this.allocator.isOwnBuffer(buffer.buffer)
  }

  /** Frees every block whose owner is `owner`: what a task allocated that failed or was lost. */
  freeOwned(owner: number): void {
    this.allocator.freeOwned(owner)
  }

  /** A thread will be, or was, ended: should it hold the allocator's lock, the lock is taken from it and the heap repaired. */
  abandonThread(thread: number, state: 'ending' | 'ended'): void {
    this.allocator.abandonThread(thread, state)
  }

  private refusalText(bytes: number, operator: string, why: 'budget' | 'address space'): string {
    const asked = `${operator} needs ${bytesText(bytes)} more`
    const { addresses } = this
    if (why === 'address space' || bytes > LARGEST_BUDGET_BYTES[addresses]) {
      const end = addresses === 'i32' ? '4 GiB (the limit of wasm32)' : '16 GiB (the most that the engine gives)'
      const more = addresses === 'i32' && hasWideMemory() ? ", ask Session.start for more than '4GB' of { memory }" : ''
      return `${asked}, in one piece, and the arena, which ends at ${end}, has no such piece left.\nCut the data into smaller arrays${more}, or free arrays with release().`
    }
    return `${asked}, but of the session's memory of ${bytesText(this.budgetBytes)} only ${bytesText(this.budgetBytes - this.usedBytes)} are free.\nRaise { memory } in Session.start, at most to ${bytesText(mostBytes())}, or free arrays with release().`
  }
}
