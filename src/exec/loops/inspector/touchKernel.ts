/**
 * The subscript slice as a kernel that lists what each iteration touches, into one log of numbers:
 *
 *     -1  12  7  -1  14 …       an iteration that reads element 6 and writes element 3; the next reads element 7
 *
 * An iteration starts with -1. Element e of all touched arrays together is 2 e where it is read and 2 e + 1 where it is
 * written. A subscript outside its array gives another element, or none: the iteration itself throws there, and what it
 * touches afterwards does not matter.
 */

import { sizeOfShape } from '../../../core/arrays/indexSpace.ts'
import type { Storage } from '../../../core/arrays/storage.ts'
import { Bug } from '../../../core/errors.ts'
import type { Expr, FunctionIr, Stmt } from '../../../core/ir/functionIr.ts'
import { madeFromText } from '../../../core/ir/madeFromText.ts'
import type { SubscriptSlice } from '../../../core/loop/loopSpec.ts'
import type { Span } from '../../../core/span.ts'
import { loopKernelText } from '../../kernels/js/loopKernel.ts'
import type { LoopKernel, SumLog } from '../../kernels/js/loopKernelShape.ts'
import { kernelBinding } from '../bindLoop.ts'
import { extentsOf, type IterationSpace } from '../blocks/schedule.ts'
import { kernelShape } from '../kernelPlan.ts'
import type { LoopInputs } from '../loopInputs.ts'

/** A chunk's touches may take this many numbers. */
const MOST_TOUCHES_OF_A_CHUNK = 2 ** 24

export class TooManyTouches extends Error {}

/** The touched arrays by identity: where the elements of each start among those of all, and its shape. */
export interface Elements {
  readonly starts: ReadonlyMap<number, number>
  readonly shapes: ReadonlyMap<number, readonly number[]>
  readonly count: number
}

/** The elements of all touched arrays, or the name of one that has no dense storage. */
export function elementsOf({ touched }: SubscriptSlice, inputs: LoopInputs): Elements | { readonly sparse: string } {
  const starts = new Map<number, number>()
  const shapes = new Map<number, readonly number[]>()
  let count = 0
  for (const [name, array] of touched) {
    if (starts.has(array)) continue
    const storage = storageOf(inputs, array)
    if (storage.kind === 'sparse') return { sparse: name }
    const shape = storage.kind === 'table' ? [storage.length] : storage.shape
    starts.set(array, count)
    shapes.set(array, shape)
    count += sizeOfShape(shape)
  }
  return { starts, shapes, count }
}

function storageOf(inputs: LoopInputs, array: number): Storage {
  if (inputs.over.kind === 'storage' && inputs.over.array === array) return inputs.over.storage
  for (const input of [...inputs.arrays.values(), ...inputs.buffers.values()]) if (input.array === array) return input.storage
  throw new Bug(`Array ${array} of a subscript slice was not handed to the runtime.`)
}

export interface TouchKernel {
  /** The kernel's text: equal where slices are. */
  readonly text: string
  /** Lists the touches of the iterations from one position up to another; the log is used again by the next call. */
  readonly list: (from: number, to: number) => { readonly log: Float64Array; readonly length: number }
}

export function touchKernel(slice: SubscriptSlice, inputs: LoopInputs, space: IterationSpace, elements: Elements): TouchKernel {
  const ir = loggingIr(slice, elements)
  const memory = {
    order: undefined,
    placed: undefined,
    keys: space.kind === 'sparse' ? space.keys : [],
    tables: ir.tables.map((table) => table.value),
    reduced: new Map(),
    buffered: new Map(),
    copies: new Map(),
    scratch: { address: 0, length: 0, keepsRows: false },
    addresses: 'i32' as const,
    owns: () => false,
  }
  const listing: LoopInputs = { ...inputs, accumulators: new Map([[TOUCHES, 'sum']]) }
  const { shape, binding: plan } = kernelShape(listing, ir, space, { permuted: false, reach: [] }, memory)
  const text = loopKernelText(ir, shape)
  const log = new TouchLog()
  const { binding } = kernelBinding(plan, [log], [], new Map())
  const factory = madeFromText(['bind'], text) as (bind: typeof binding) => LoopKernel // text of loopKernel.ts
  const kernel = factory(binding)
  const box = extentsOf(space).flatMap((extent) => [0, extent])
  const parameters = ir.parameters.map((parameter) => parameter.value)
  return {
    text,
    list: (from, to) => {
      log.length = 0
      kernel(box, from, to, 0, parameters)
      return { log: log.values, length: log.length }
    },
  }
}

class TouchLog implements SumLog {
  values: Float64Array = new Float64Array(2 ** 14)
  length = 0

  reserve(more: number): number {
    if (this.length + more > this.values.length) this.#enlarge(this.length + more)
    return this.length
  }

  grow(): Float64Array {
    return this.#enlarge(this.values.length + 1)
  }

  #enlarge(atLeast: number): Float64Array {
    if (atLeast > MOST_TOUCHES_OF_A_CHUNK) throw new TooManyTouches()
    const longer = new Float64Array(Math.max(atLeast, 2 * this.values.length))
    longer.set(this.values.subarray(0, this.length))
    return (this.values = longer)
  }
}

/** The log's name among the accumulators: no name of a body has a space in it. */
const TOUCHES = 'the touches'

/** The slice with its accesses turned into notes of what they touch. */
function loggingIr(slice: SubscriptSlice, elements: Elements): FunctionIr {
  const { ir, touched } = slice
  const note = (name: string, subscripts: readonly Expr[], how: 0 | 1, span: Span): Stmt => {
    const array = touched.get(name) ?? -1
    const shape = elements.shapes.get(array) ?? []
    const place = subscripts.reduce<Expr | undefined>(
      (sum, k, axis) => (sum === undefined ? k : plus(times(sum, shape[axis] ?? 1, span), k, span)),
      undefined,
    )
    const start = number(2 * (elements.starts.get(array) ?? 0) + how, span)
    const touch = place === undefined ? start : plus(times(place, 2, span), start, span)
    // Never negative, whatever the subscripts are.
    return { kind: 'Accumulate', accumulator: TOUCHES, value: binary('>>>', touch, number(0, span), span), span }
  }
  const block = (stmts: readonly Stmt[]): Stmt[] => stmts.map(rewritten)
  const rewritten = (stmt: Stmt): Stmt => {
    switch (stmt.kind) {
      case 'Write':
        return note(stmt.array, stmt.subscripts, 1, stmt.span)
      case 'Evaluate': {
        const { value } = stmt
        const isTouch = (value.kind === 'Read' || value.kind === 'Has') && touched.has(value.array)
        return isTouch ? note(value.array, value.subscripts, 0, stmt.span) : stmt
      }
      case 'If':
        // biome-ignore lint/suspicious/noThenProperty: the IR's own word
        return { ...stmt, then: block(stmt.then), else: block(stmt.else) }
      case 'For':
        return { ...stmt, init: block(stmt.init), update: block(stmt.update), body: block(stmt.body) }
      case 'Labeled':
        return { ...stmt, body: block(stmt.body) }
      default:
        return stmt
    }
  }
  const start: Stmt = { kind: 'Accumulate', accumulator: TOUCHES, value: number(-1, ir.span), span: ir.span }
  return {
    ...ir,
    body: [start, ...block(ir.body)],
    uses: [...ir.uses, { name: TOUCHES, kind: 'accumulator', origin: 'env' }],
  }
}

function number(value: number, span: Span): Expr {
  return { kind: 'Literal', value, span }
}

function binary(operator: '+' | '*' | '>>>', left: Expr, right: Expr, span: Span): Expr {
  return { kind: 'Binary', operator, left, right, span }
}

function plus(left: Expr, right: Expr, span: Span): Expr {
  return binary('+', left, right, span)
}

function times(left: Expr, factor: number, span: Span): Expr {
  return binary('*', left, number(factor, span), span)
}
