/**
 * Blocks of the arena tied to a JavaScript object: they are freed by `free`, or when the object is garbage.
 *
 * The garbage collector does not know how much memory hangs on a small handle. So when the budget does not hold a
 * block, the collector is run at once and the blocks of objects that are gone are freed (`reclaim`).
 *
 * JavaScript keeps the target of a new or read WeakRef until the job ends, and a job may be long: where everything that a
 * program awaits is settled, its event loop never turns. So the engine is told before that a job has ended (`endJob`).
 */
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { createContext, runInNewContext, Script } from 'node:vm'
import type { Arena } from './arena.ts'

export interface Lease {
  /** Frees the blocks; a second call does nothing. */
  free(): void
  /** Adds a block, which goes with the others from now on. */
  add(offset: number): void
  readonly freed: boolean
}

class Holding implements Lease {
  freed = false
  readonly owner: WeakRef<object>
  private readonly arena: Arena
  private readonly offsets: number[]
  constructor(owner: object, arena: Arena, offsets: readonly number[]) {
    this.owner = new WeakRef(owner)
    this.arena = arena
    this.offsets = [...offsets]
  }
  add(offset: number): void {
    if (this.freed) this.arena.free(offset)
    else this.offsets.push(offset)
  }
  free(): void {
    if (this.freed) return
    this.freed = true
    holdingsOf(this.arena).delete(this)
    for (const offset of this.offsets) this.arena.free(offset)
  }
}

const holdings = new WeakMap<Arena, Set<Holding>>()
const registry = new FinalizationRegistry<Holding>((holding) => holding.free())

function holdingsOf(arena: Arena): Set<Holding> {
  let set = holdings.get(arena)
  if (set === undefined) holdings.set(arena, (set = new Set()))
  return set
}

/** Ties blocks to `owner`. The owner must be what users of the blocks hold on to, not the views over them. */
export function leaseBlocks(owner: object, arena: Arena, offsets: readonly number[]): Lease {
  const holding = new Holding(owner, arena, offsets)
  holdingsOf(arena).add(holding)
  registry.register(owner, holding)
  return holding
}

/** Runs the garbage collector, some milliseconds, and frees the blocks of objects that are gone; returns whether there were any. */
export function reclaim(arena: Arena): boolean {
  const held = holdingsOf(arena)
  if (held.size === 0) return false
  collectGarbage()
  let freed = false
  for (const holding of [...held]) {
    if (holding.owner.deref() !== undefined) continue
    holding.free()
    freed = true
  }
  return freed
}

let ending: (() => void) | undefined

/** Lets go of the targets of WeakRefs: what V8 does whenever a queue of microtasks is through, here one of a context of its own. */
function endJob(): void {
  if (ending === undefined) {
    const context = createContext({}, { microtaskMode: 'afterEvaluate' })
    const nothing = new Script('0')
    ending = () => void nothing.runInContext(context)
  }
  ending()
}

let collect: ((options?: { readonly type: 'minor' }) => void) | undefined

/** Bytes of buffers that this thread has used up since it last collected any garbage, and since it last collected all of it. */
let bytesPassed = 0
let bytesSinceAll = 0
const BYTES_BETWEEN = 2 ** 23
const BYTES_BETWEEN_ALL = 2 ** 25
/** Bytes of a heap that the collector goes through in some milliseconds. */
const SMALL_HEAP = 2 ** 27

/**
 * Told of buffers of so many bytes that have been used, and are garbage or soon will be. V8 goes by the size of objects, which are few:
 * hundreds of megabytes may hang on them before it looks for garbage. So this looks now and then: often among young objects, in a
 * millisecond or less, and seldom among all, if the heap is no large one.
 */
export function buffersPassed(bytes: number): void {
  bytesPassed += bytes
  bytesSinceAll += bytes
  if (bytesPassed < BYTES_BETWEEN) return
  bytesPassed = 0
  const isAll = bytesSinceAll >= BYTES_BETWEEN_ALL
  if (isAll) bytesSinceAll = 0
  const collect = collector()
  if (isAll && getHeapStatistics().used_heap_size < SMALL_HEAP) collect()
  else collect({ type: 'minor' })
}

/** What the thread's heap held after its last collection in `taskEnded`, or after the first task; less if it has held less since. */
let heldBefore: Held | undefined
/** The part of the budget, one in so many, that may become garbage in each thread before it is collected. */
const BUDGET_PER_GARBAGE = 32
/** Least garbage that is collected: that takes some milliseconds, in which a program hardly makes more. */
const LEAST_GARBAGE = 2 ** 23
/** The part of the kept objects, one in so many, that garbage has to reach: collecting takes longer the more objects there are. */
const KEPT_PER_GARBAGE = 2

/**
 * Told when a task has ended, whose buffers and objects may be garbage by now. V8 lets the garbage of a small heap grow to tens of
 * megabytes, besides memories of decoders that nobody calls any more. That is much beside a small budget: so it is collected once it
 * has grown to a part of the budget.
 */
export function taskEnded(budgetBytes: number): void {
  const { objects, all } = heldBytes()
  if (heldBefore === undefined || all < heldBefore.all) heldBefore = { objects, all }
  if (all - heldBefore.all < Math.max(LEAST_GARBAGE, budgetBytes / BUDGET_PER_GARBAGE, heldBefore.objects / KEPT_PER_GARBAGE)) return
  if (objects < SMALL_HEAP) collector()()
  heldBefore = heldBytes()
}

interface Held {
  readonly objects: number
  readonly all: number
}

function heldBytes(): Held {
  const { used_heap_size: objects, external_memory } = getHeapStatistics()
  return { objects, all: objects + external_memory }
}

function collector(): NonNullable<typeof collect> {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc')
    collect = runInNewContext('gc') as NonNullable<typeof collect> // what the flag puts into new contexts
  }
  return collect
}

/** Runs the garbage collector at once, over what only WeakRefs of this job keep as well. */
export function collectGarbage(): void {
  endJob()
  collector()()
}
