import { type Code, codeId, type GrowingCode, I, OP, SIMD } from '../../kir/instructions.ts'
import { LOG2_BYTES, loadOf } from '../loops/wasmCode.ts'
import type { Access } from '../loops/wasmLoopAccess.ts'
import type { KernelWriter } from '../loops/wasmWriter.ts'
import type { KeptRows } from '../passes/keptRows.ts'
import { Nest } from './outerLoopVectorization.ts'
import type { HandedOver } from './vectorLoop.ts'
import { type Constants, loadedLanes, rawLoad, rawStore, Scalar, storedLanes, type Vector } from './wasmLanes.ts'

/** The services of the vector loop for accesses: constants, and the mask of active lanes. */
interface Lanes extends Constants {
  active(): Vector | undefined
}

export class VectorAccesses {
  /** Accesses that were checked before the loop; a nest resolves them while code is written. */
  readonly accesses: ReadonlyMap<object, Access> | Nest
  /** The number of the vector being written, among those that an iteration computes. */
  copy = 0
  /** The number of lanes in use. */
  count: number
  /** Whether an access has a stride, so that its lanes are loaded one by one. */
  gathers = false
  handed: HandedOver | undefined
  rows: KeptRows | undefined

  /** Rows of reads that share a vector with other reads, by node; the shared vectors; and their loads, which precede the statement. */
  again: ReadonlyMap<object, string> = new Map()

  readonly loaded: Map<string, Vector> = new Map()
  loads: GrowingCode = []

  private readonly w: KernelWriter
  private readonly lanes: Lanes

  constructor(w: KernelWriter, lanes: Lanes, { accesses, count }: Pick<VectorAccesses, 'accesses' | 'count'>) {
    this.w = w
    this.lanes = lanes
    this.accesses = accesses
    this.count = count
  }

  store(node: object, value: Vector): Code {
    const { dtype, known, stride, axis } = this.access(node)
    if (axis < 0) throw new Scalar('lanes write one element')
    const handed = this.handed?.write === node ? this.handed : undefined
    return stride === undefined
      ? this.storeAt(dtype, known.code(), known.offset, value, handed)
      : this.storeLanes(dtype, known, stride, value)
  }

  /** Stores lanes one by one, a stride apart. */
  private storeLanes(dtype: Access['dtype'], known: Access['known'], stride: number, value: Vector): Code {
    const [slot, log] = [this.w.declare('v128'), LOG2_BYTES[dtype]]
    const old = this.rawLanes(dtype, known, stride)
    const opcode = log === 3 ? SIMD.store64Lane : SIMD.store32Lane
    const stores = Array.from({ length: this.count }, (_, lane) => [
      ...[this.laneAddress(known, stride, lane), I.localGet(slot)],
      I.simdMemoryLane(opcode, lane, known.offset),
    ])
    return [storedLanes(this.lanes, dtype, value, old, this.lanes.active()), I.localSet(slot), ...stores]
  }

  storeAt(dtype: Access['dtype'], address: Code, start: number, value: Vector, handed?: HandedOver): Code {
    const offset = start + ((this.copy * this.count) << LOG2_BYTES[dtype])
    const old = rawLoad(dtype, this.count, address, offset)
    const raw = storedLanes(this.lanes, dtype, value, old, this.lanes.active())
    if (handed === undefined) return rawStore(dtype, this.count, address, raw, offset)
    const slot = this.w.declare('v128')
    handed.element = loadedLanes(this.lanes, dtype, I.localGet(slot))
    return [raw, I.localSet(slot), rawStore(dtype, this.count, address, I.localGet(slot), offset)]
  }

  read(node: object): Vector {
    const taken = this.rows?.taken(node, this.copy)
    if (taken !== undefined) return { kind: 'f64', code: taken }
    const vector = this.readOnce(node)
    if (this.rows?.isLeft(node) !== true || vector.kind === 'steady') return vector
    const slot = this.w.declare('v128')
    this.loads.push(vector.code, I.localSet(slot), this.rows.left(node, this.copy, slot))
    return { ...vector, code: I.localGet(slot) }
  }

  private readOnce(node: object): Vector {
    if (this.handed?.element !== undefined && this.handed.reads.has(node)) return this.handed.element
    const access = this.access(node)
    const { dtype, known, axis } = access
    if (dtype === 'i64') throw new Scalar('its elements are i64')
    if (this.accesses instanceof Nest) {
      if (axis >= 0) return this.accesses.kept(access, `${this.copy} ${codeId(known.code())} ${known.offset}`, () => this.load(access))
      const load = (): Vector => loadedLanes(this.lanes, dtype, rawLoad(dtype, 1, known.code(), known.offset))
      return this.accesses.kept(access, `${codeId(known.code())} ${known.offset}`, load)
    }
    const row = this.again.get(node)
    if (row !== undefined) return this.loadedOnce(access, row)
    return axis >= 0 ? this.load(access) : { kind: 'steady', value: loadOf(dtype, known.code(), known.offset) }
  }

  /** Returns the vector that was loaded for another read, or for the previous vector; loads it where there is none. */
  private loadedOnce(access: Access, row: string): Vector {
    const place = `${row} ${access.known.offset + ((this.copy * this.count) << LOG2_BYTES[access.dtype])}`
    const known = this.loaded.get(place)
    if (known !== undefined) return known
    const [code, vector] = keptIn(this.w, this.load(access))
    this.loads.push(code)
    this.loaded.set(place, vector)
    return vector
  }

  access(node: object): Access {
    if (this.accesses instanceof Nest) return this.accesses.access(node)
    const access = this.accesses.get(node)
    if (access === undefined) throw new Scalar('an access is not checked before the loop')
    return access
  }

  load({ dtype, known, isLast, stride }: Access): Vector {
    if (isLast) return this.contiguous(dtype, known.code(), known.offset)
    if (stride === undefined) throw new Scalar('lanes read one element')
    return loadedLanes(this.lanes, dtype, this.rawLanes(dtype, known, stride))
  }

  /** Loads elements a stride apart, lane by lane, into the lowest bytes. */
  private rawLanes(dtype: Access['dtype'], known: Access['known'], stride: number): Code {
    if (LOG2_BYTES[dtype] < 2) throw new Scalar('small elements do not lie next to each other')
    this.gathers = true
    const isWide = LOG2_BYTES[dtype] === 3
    let raw: Code = [this.laneAddress(known, stride, 0), I.memory(isWide ? SIMD.load64Splat : SIMD.load32Splat, known.offset)]
    for (let lane = 1; lane < this.count; lane++) {
      const kept = this.w.declare('v128')
      const load = I.simdMemoryLane(isWide ? SIMD.load64Lane : SIMD.load32Lane, lane, known.offset)
      raw = [raw, I.localSet(kept), this.laneAddress(known, stride, lane), I.localGet(kept), load]
    }
    return raw
  }

  /** The address of a lane: that of the first lane of the first vector, plus its number times the stride. */
  private laneAddress(known: Access['known'], stride: number, lane: number): Code {
    const steps = this.copy * this.count + lane
    return steps === 0 ? known.code() : [known.code(), I.localGet(stride), I.i32Const(steps), OP.i32Mul, OP.i32Add]
  }

  /** Loads adjacent elements for the current vector. */
  contiguous(dtype: Access['dtype'], address: Code, offset: number): Vector {
    const moved = offset + ((this.copy * this.count) << LOG2_BYTES[dtype])
    return loadedLanes(this.lanes, dtype, rawLoad(dtype, this.count, address, moved))
  }
}

/** Keeps a vector in a local: returns code that sets it, and the vector that reads it. */
export function keptIn(w: KernelWriter, vector: Vector): readonly [Code, Vector] {
  if (vector.kind === 'steady') return [[], vector]
  const slot = w.declare('v128')
  return [[vector.code, I.localSet(slot)], { ...vector, code: I.localGet(slot) }]
}
