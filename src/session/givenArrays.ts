/**
 * Plans of arrays: arrays that are filled at their first use, and arrays whose elements the program or a file gives. Given elements go
 * straight to the array's storage; the plan does not hold them.
 */

import { checkOneOf, checkSeed } from '../core/arguments.ts'
import { type Shape, sizeOfShape } from '../core/arrays/indexSpace.ts'
import { ARRAY_OF_DTYPE, type DenseStorage, type SparseStorage } from '../core/arrays/storage.ts'
import type { TypedArray } from '../core/data/column.ts'
import type { DType, ElementType } from '../core/data/schema.ts'
import { valueText } from '../core/data/valueKinds.ts'
import { PlanError } from '../core/errors.ts'
import { checkOptions } from '../core/options.ts'
import type { ArrayInit, ArraySource, LogicalPlan } from '../core/plan/logicalPlan.ts'
import { storedObject, storedValue } from '../exec/arrays/fit.ts'
import { makeZeros } from '../exec/arrays/makeArray.ts'
import { eachRow } from '../exec/arrays/rows.ts'
import type { Runtime } from './runtime.ts'
import { checkShapeOf } from './sessionOptions.ts'

/** The options of `session.random`. */
export interface RandomOptions {
  readonly dtype?: 'f64' | 'f32'
  readonly distribution?: 'uniform' | 'normal'
  readonly scale?: number
  readonly seed?: number
}

export function randomInit(options: RandomOptions, sessionSeed: number): ArrayInit {
  checkOptions('random()', options, ['dtype', 'distribution', 'scale', 'seed'])
  const { dtype = 'f64', distribution = 'uniform', scale = 1, seed = sessionSeed } = options
  checkOneOf('The dtype of random()', dtype, ['f64', 'f32'])
  checkOneOf('The distribution of random()', distribution, ['uniform', 'normal'])
  checkSeed('The seed of random()', seed)
  if (!Number.isFinite(scale)) throw new PlanError(`The scale of random() is ${String(scale)}. It is a finite number.`)
  return { kind: 'random', distribution, scale, seed }
}

/** The plan of all columns of a source. */
export function scanPlan(source: ArraySource): LogicalPlan {
  const columns = source.element.kind === 'row' ? source.element.fields.map((field) => field.name) : ['value']
  return { kind: 'Scan', source, columns, element: source.element, keys: { kind: 'rowNumber' } }
}

type Given = Pick<Runtime, 'arena' | 'store'>

/** The plan of an array that owns `storage`. `booleans`: elements of a bool array are true and false, not 1 and 0. */
export function givenPlan(
  name: string,
  storage: DenseStorage | SparseStorage,
  { store, dtype, booleans = false }: Pick<Given, 'store'> & { readonly dtype: DType; readonly booleans?: boolean },
): LogicalPlan {
  const { shape } = storage
  const element: ElementType = { kind: 'scalar', type: { kind: dtype === 'bool' && !booleans ? 'u8' : dtype }, nullable: false }
  const keys = { kind: 'explicit', rank: shape.length, shape, dense: storage.kind === 'dense' } as const
  const plan: LogicalPlan = { kind: 'Array', name, shape, dtype, init: { kind: 'given' }, element, keys }
  store.give(plan, storage)
  return plan
}

/** The plan of an array that is filled at its first use. Throws PlanError for a wrong shape or dtype; `method` is the one that the program called. */
export function madePlan(
  method: string,
  shape: Shape,
  { dtype, init }: { readonly dtype: DType | 'object'; readonly init: ArrayInit },
): LogicalPlan {
  const name = checkShapeOf(method, shape)
  if (dtype !== 'object') checkOneOf(`The dtype of ${method}()`, dtype, Object.keys(ARRAY_OF_DTYPE) as DType[])
  if (init.kind === 'fill') {
    if (dtype === 'object') storedObject(init.value, method)
    else storedValue(init.value, dtype, method)
  }
  // elements of a bool array are the numbers 0 and 1, unless it was filled with a boolean
  const kind = dtype === 'bool' && !(init.kind === 'fill' && typeof init.value === 'boolean') ? 'u8' : dtype
  const element: ElementType = { kind: 'scalar', type: { kind }, nullable: dtype === 'object' }
  const keys = { kind: 'explicit', rank: shape.length, shape: [...shape], dense: init.kind !== 'sparse' } as const
  return { kind: 'Array', name, shape: [...shape], dtype, init, element, keys }
}

/** The plan of a dense array with a copy of the values, in row-major order. The shape was checked. */
export function typedArrayPlan(values: TypedArray, shape: Shape, { arena, store }: Given): LogicalPlan {
  const name = `fromTypedArray([${shape.join(', ')}])`
  const dtype = dtypeOf(values)
  const size = sizeOfShape(shape)
  if (values.length !== size) {
    throw new PlanError(
      `${name} needs ${size} values, the product of its extents, and was given ${values.length}. Give another shape, or the values that belong to it.`,
    )
  }
  const storage = makeZeros(shape, dtype, name, arena)
  eachRow(storage, (row, first) => row.set(values.subarray(first, first + row.length) as never)) // of one class, as the dtype says
  return givenPlan(name, storage, { store, dtype })
}

const DTYPES = (Object.keys(ARRAY_OF_DTYPE) as DType[]).filter((dtype) => dtype !== 'bool') // its bytes are u8 to JavaScript

function dtypeOf(values: unknown): DType {
  const dtype = DTYPES.find((dtype) => values instanceof ARRAY_OF_DTYPE[dtype])
  if (dtype !== undefined) return dtype
  const cure =
    values instanceof BigUint64Array
      ? ' Where they fit, BigInt64Array.from(values) has the same integers.'
      : values instanceof Uint8ClampedArray
        ? ' Uint8Array.from(values) has the same integers.'
        : Array.isArray(values)
          ? ' Write Float64Array.from(values) for numbers, BigInt64Array.from(values) for bigints.'
          : ''
  const classes = DTYPES.map((dtype) => ARRAY_OF_DTYPE[dtype].name).join(', ')
  throw new PlanError(`fromTypedArray() takes one of ${classes}; it was given ${valueText(values)}.${cure}`)
}
