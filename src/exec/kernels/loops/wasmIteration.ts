/**
 * The iteration around a loop body in WebAssembly: its key, the elements of its place, and the locals of accumulators
 * during a call.
 */
import type { DType } from '../../../core/data/schema.ts'
import type { Span } from '../../../core/span.ts'
import { type Code, type GrowingCode, I, OP } from '../../kir/instructions.ts'
import { asBool, BOOL, heldAs, NotCompiled, type Value } from '../expressions/types.ts'
import { drawsStart } from '../math/wasmDraws.ts'
import type { TouchAhead } from '../passes/touchAhead.ts'
import { type Control, LOG2_BYTES, loadOf, shifted, sumOf } from './wasmCode.ts'
import { FROM, type KernelWriter, SCRATCH, TO } from './wasmWriter.ts'

/** The values of a sum that the scratch block holds before they are handed over to JavaScript. */
export const LOG_CAPACITY = 4096

/** Sets position and key of the iteration at the place in a local, for iterations whose places lie in memory. */
export function placeStart(w: KernelWriter, place: number = FROM): Code {
  const { shape } = w.target
  const code: GrowingCode = []
  const at = [I.localGet(place), I.i32Const(2), OP.i32Shl]
  if (shape.permuted) code.push(w.address('order'), ...at, OP.i32Add, I.memory(OP.i32Load))
  else code.push(I.localGet(place))
  code.push(I.localSet(w.position))
  for (const [axis, slot] of w.keys.entries()) {
    if (shape.space === 'rows') code.push(I.localGet(w.position))
    else code.push(w.address(`K${axis}`), ...at, OP.i32Add, I.memory(OP.i32Load))
    code.push(I.localSet(slot))
  }
  return code
}

/** An iteration that has not begun, whose place or key is in the local `at`. */
export interface IterationAhead {
  readonly at: number
  /** Locals for its keys, and for the position of its elements. */
  readonly keys: readonly number[]
  readonly position: number
  /** Code that sets these, once `at` is set. */
  readonly start: () => Code
}

/** Declares the locals for the iteration at another place. */
export function placeAhead(w: KernelWriter): IterationAhead {
  const [at, position, keys] = [w.declare('i32'), w.declare('i32'), w.keys.map(() => w.declare('i32'))]
  return { at, position, keys, start: () => placeStart(w, at) }
}

/** Declares the locals for another iteration of the run whose key is in `slot`. */
export function runAhead(w: KernelWriter, slot: number): IterationAhead {
  const at = w.declare('i32')
  const keys = w.keys.map((key) => (key === slot ? at : key))
  return { at, keys, position: w.position === slot ? at : w.position, start: () => [] }
}

/** The iteration after the current one. */
export interface NextIteration extends IterationAhead {
  /** Sets `at`, and tests whether there is such an iteration. */
  readonly exists: Code
  /** Makes it the current one, apart from its elements and locals. */
  readonly step: () => Code
}

/** Returns the iteration at the next place. */
export function nextPlace(w: KernelWriter, touch: TouchAhead): NextIteration {
  const ahead = placeAhead(w)
  const taken = (from: number, to: number): Code => [I.localGet(from), I.localSet(to)]
  return {
    ...ahead,
    exists: isThere(ahead.at, FROM, TO),
    start: () => [touch.of(ahead.at), ahead.start()],
    step: () => [
      ...[taken(ahead.at, FROM), taken(ahead.position, w.position)],
      ...w.keys.map((slot, axis) => taken(ahead.keys[axis] ?? slot, slot)),
      rowStart(w),
    ],
  }
}

/** Returns the iteration of a run after the one whose key is in `slot`; the run ends before the key in `limit`. */
export function nextInRun(w: KernelWriter, slot: number, limit: number, touch: TouchAhead): NextIteration {
  const ahead = runAhead(w, slot)
  return {
    ...ahead,
    exists: isThere(ahead.at, slot, limit),
    start: () => touch.of(ahead.at),
    step: () => [I.localGet(ahead.at), I.localSet(slot)],
  }
}

function isThere(at: number, slot: number, limit: number): Code {
  return [I.localGet(slot), I.i32Const(1), OP.i32Add, I.localTee(at), I.localGet(limit), OP.i32LtS]
}

/** Loads the elements of the iteration that the body uses, and resets the generators. */
export function elementStart(w: KernelWriter): Code {
  const code: GrowingCode = [...drawsStart(w)]
  for (const [column, { slot, value }] of w.columns) {
    const dtype = columnType(w, column)
    const loaded = loadOf(dtype, [...columnAddress(w, column)])
    code.push(value.kind === 'bool' ? asBool(loaded) : loaded.code, I.localSet(slot))
  }
  return code
}

/** Computes the parts of addresses that only keys decide, once the keys are set. */
export function rowStart(w: KernelWriter): Code {
  return [...w.rowBases.values()].map(({ slot, code }) => [code, I.localSet(slot)])
}

/** Advances the odometer over a box after a run along its last axis; the axis before that varies fastest. */
export function nextRun(w: KernelWriter): Code {
  let code: Code = []
  for (let axis = 0; axis < w.keys.length; axis++) {
    const low = 4 + 3 * axis
    const key = low + 2
    code = [
      ...(axis === w.keys.length - 1 ? [] : stepped(key, 1)),
      ...[I.localGet(key), I.localGet(low + 1), OP.i32Eq, I.if(), I.localGet(low), I.localSet(key)],
      code,
      OP.end,
    ]
  }
  return code
}

/** Writes a loop; `control` is the block that `continue` in its body leaves. */
export function turning(
  w: KernelWriter,
  control: Control,
  parts: { readonly first: boolean; readonly test: () => Code; readonly body: () => Code; readonly update: () => Code },
): Code {
  return w.within({ kind: 'exit', label: control.label }, () => {
    const first: Code = parts.first ? [parts.test(), OP.i32Eqz, I.brIf(0)] : []
    const inner = w.within({ kind: 'other' }, () => {
      const body = w.within(control, parts.body)
      return [I.block(), body, OP.end, parts.update(), parts.test(), I.brIf(0)]
    })
    return [I.block(), first, I.loop, inner, OP.end, OP.end]
  })
}

export function columnType(w: KernelWriter, column: number): DType {
  const { element } = w.target.shape
  if (element.kind === 'dense') return element.dtype
  return w.target.columnTypes[column] ?? 'f64'
}

export function columnAddress(w: KernelWriter, column: number): Code {
  const { shape } = w.target
  const shift = LOG2_BYTES[columnType(w, column)]
  if (shape.element.kind !== 'dense') return [w.address(`E${column}`), I.localGet(w.position), shifted(shift), OP.i32Add]
  const terms = w.keys.map((slot, axis) =>
    axis === w.keys.length - 1 ? I.localGet(slot) : [I.localGet(slot), w.stride(`Xs${axis}`), OP.i32Mul],
  )
  return [w.address('X'), sumOf(terms), shifted(shift), OP.i32Add]
}

export function columnValue(w: KernelWriter, column: number, nullable: boolean, bool: boolean, span: Span): Value {
  const { element } = w.target.shape
  if (nullable) throw new NotCompiled('the elements may be null', span)
  const dtype = element.kind === 'dense' ? element.dtype : w.target.columnTypes[column]
  if (dtype === undefined) throw new NotCompiled('it reads elements that are no plain numbers', span)
  let known = w.columns.get(column)
  if (known === undefined) {
    const type = bool ? BOOL : loadOf(dtype, []).type
    known = { slot: w.declare(heldAs(type)), value: type }
    w.columns.set(column, known)
  }
  return { type: known.value, code: I.localGet(known.slot) }
}

export function accumulatorStart(w: KernelWriter): Code {
  let log = 8 * w.accumulators.length
  return w.accumulators.map((name, i) => {
    const slot = w.accumulatorSlots[i] ?? 0
    if (w.target.shape.accumulators.get(name) !== 'sum') {
      return [I.localGet(SCRATCH), I.memory(OP.f64Load, 8 * i), I.localSet(slot)]
    }
    const code = [I.localGet(SCRATCH), I.i32Const(log), OP.i32Add, I.localSet(slot)]
    log += 8 * LOG_CAPACITY
    return code
  })
}

export function accumulatorEnd(w: KernelWriter): Code {
  return w.accumulators.map((name, i) => {
    const slot = w.accumulatorSlots[i] ?? 0
    const isSum = w.target.shape.accumulators.get(name) === 'sum'
    return [I.localGet(SCRATCH), I.localGet(slot), isSum ? I.addressStore(8 * i) : I.memory(OP.f64Store, 8 * i)]
  })
}

/** The doubles of a scratch block for accumulators: one for each, then the logs of sums. */
export function scratchOfAccumulators(forms: readonly string[]): number {
  return forms.length + LOG_CAPACITY * forms.filter((form) => form === 'sum').length
}

/** The byte offset of a sum's log in the scratch block. */
export function logOffset(w: KernelWriter, accumulator: string): number {
  const before = w.accumulators.slice(0, w.accumulators.indexOf(accumulator))
  const sums = before.filter((name) => w.target.shape.accumulators.get(name) === 'sum').length
  return 8 * w.accumulators.length + 8 * LOG_CAPACITY * sums
}

export function stepped(slot: number, by: number): Code {
  return [I.localGet(slot), I.i32Const(by), OP.i32Add, I.localSet(slot)]
}
