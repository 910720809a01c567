/**
 * The iteration around a loop body as WebAssembly: its key, the elements of its place, and what accumulators are kept in
 * while a call runs.
 */
import type { DType } from '../../core/schema.ts'
import type { Span } from '../../core/span.ts'
import { LOG2_BYTES, loadOf, shifted, sumOf } from './wasmCode.ts'
import { type Code, I, OP } from './wasmEncoder.ts'
import { asF64, BOOL, NotCompiled, type Value } from './wasmTypes.ts'
import { FROM, type KernelWriter, SCRATCH } from './wasmWriter.ts'

/** Values of a sum that the scratch block holds before they are handed over. */
export const LOG_CAPACITY = 4096

export function iterationStart(w: KernelWriter): Code {
  const { shape } = w.target
  const code: number[] = []
  if (shape.space !== 'box') {
    const at = [...I.localGet(FROM), ...I.i32Const(2), OP.i32Shl]
    if (shape.permuted) code.push(...w.global('order'), ...at, OP.i32Add, ...I.memory(OP.i32Load))
    else code.push(...I.localGet(FROM))
    code.push(...I.localSet(w.position))
    for (const [axis, slot] of w.keys.entries()) {
      if (shape.space === 'rows') code.push(...I.localGet(w.position))
      else code.push(...w.global(`K${axis}`), ...at, OP.i32Add, ...I.memory(OP.i32Load))
      code.push(...I.localSet(slot))
    }
  }
  for (const [column, { slot, value }] of w.columns) {
    const dtype = columnType(w, column)
    const loaded = loadOf(dtype, [...columnAddress(w, column)])
    code.push(
      ...(value.kind === 'bool' ? [...loaded.code, ...I.i32Const(0), OP.i32Ne] : value.kind === 'i32' ? loaded.code : asF64(loaded)),
    )
    code.push(...I.localSet(slot))
  }
  return code
}

/** The odometer over a box: the last axis runs fastest. */
export function nextKey(w: KernelWriter): Code {
  const { shape } = w.target
  if (shape.space !== 'box') return []
  let code: Code = []
  for (let axis = 0; axis < shape.extents.length; axis++) {
    const low = 4 + 3 * axis
    const key = low + 2
    code = [
      ...increment(key),
      ...[...I.localGet(key), ...I.localGet(low + 1), OP.i32Eq, ...I.if(), ...I.localGet(low), ...I.localSet(key)],
      ...code,
      OP.end,
    ]
  }
  return code
}

function columnType(w: KernelWriter, column: number): DType {
  const { element } = w.target.shape
  if (element.kind === 'dense') return element.dtype
  return w.target.columnTypes[column] ?? 'f64'
}

export function columnAddress(w: KernelWriter, column: number): Code {
  const { shape } = w.target
  const shift = LOG2_BYTES[columnType(w, column)]
  if (shape.element.kind !== 'dense') return [...w.global(`E${column}`), ...I.localGet(w.position), ...shifted(shift), OP.i32Add]
  const terms = w.keys.map((slot, axis) =>
    axis === w.keys.length - 1 ? I.localGet(slot) : [...I.localGet(slot), ...w.global(`Xs${axis}`), OP.i32Mul],
  )
  return [...w.global('X'), ...sumOf(terms), ...shifted(shift), OP.i32Add]
}

export function columnValue(w: KernelWriter, column: number, nullable: boolean, bool: boolean, span: Span): Value {
  const { element } = w.target.shape
  if (nullable) throw new NotCompiled('the elements may be null', span)
  const dtype = element.kind === 'dense' ? element.dtype : w.target.columnTypes[column]
  if (dtype === undefined || dtype === 'i64') throw new NotCompiled('it reads elements that are no plain numbers', span)
  let known = w.columns.get(column)
  if (known === undefined) {
    const type = bool ? BOOL : loadOf(dtype, []).type
    known = { slot: w.declare(type.kind === 'f64' ? 'f64' : 'i32'), value: type }
    w.columns.set(column, known)
  }
  return { type: known.value, code: I.localGet(known.slot) }
}

export function accumulatorStart(w: KernelWriter): Code {
  let log = 8 * w.accumulators.length
  return w.accumulators.flatMap((name, i) => {
    const slot = w.accumulatorSlots[i] ?? 0
    if (w.target.shape.accumulators.get(name) !== 'sum') {
      return [...I.localGet(SCRATCH), ...I.memory(OP.f64Load, 8 * i), ...I.localSet(slot)]
    }
    const code = [...I.localGet(SCRATCH), ...I.i32Const(log), OP.i32Add, ...I.localSet(slot)]
    log += 8 * LOG_CAPACITY
    return code
  })
}

export function accumulatorEnd(w: KernelWriter): Code {
  return w.accumulators.flatMap((name, i) => {
    const slot = w.accumulatorSlots[i] ?? 0
    const isSum = w.target.shape.accumulators.get(name) === 'sum'
    return [...I.localGet(SCRATCH), ...I.localGet(slot), ...I.memory(isSum ? OP.i32Store : OP.f64Store, 8 * i)]
  })
}

/** Where the log of a sum starts, from the start of the scratch block. */
export function logOffset(w: KernelWriter, accumulator: string): number {
  const before = w.accumulators.slice(0, w.accumulators.indexOf(accumulator))
  const sums = before.filter((name) => w.target.shape.accumulators.get(name) === 'sum').length
  return 8 * w.accumulators.length + 8 * LOG_CAPACITY * sums
}

export function increment(slot: number): Code {
  return [...I.localGet(slot), ...I.i32Const(1), OP.i32Add, ...I.localSet(slot)]
}
