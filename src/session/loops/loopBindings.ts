/**
 * Binds the names in a loop's `env` and among its captures to arrays, buffers, accumulators and generators. All other values
 * are constants.
 */
import { types } from 'node:util'
import { engineOf, isDistArray, planOf } from '../../core/arrays/distArray.ts'
import type { IndexSpace } from '../../core/arrays/indexSpace.ts'
import { ARRAY_OF_DTYPE } from '../../core/arrays/storage.ts'
import type { DType, ElementType } from '../../core/data/schema.ts'
import { defined } from '../../core/defined.ts'
import type { Engine } from '../../core/engine.ts'
import { PlanError } from '../../core/errors.ts'
import { Accumulator } from '../../core/loop/accumulator.ts'
import type { EnvBinding, LoopOver } from '../../core/loop/loopSpec.ts'
import type { Rng } from '../../core/loop/loopViews.ts'
import { BYTES_PER_UPDATE, UpdateBuffer } from '../../core/loop/updateBuffer.ts'
import { rankOf } from '../../core/plan/elements.ts'
import type { LogicalPlan } from '../../core/plan/logicalPlan.ts'
import { counted } from '../../core/show/width.ts'
import type { LoopInputs } from '../../exec/loops/loopInputs.ts'
import type { ArrayStore } from '../../exec/tables/store/arrayStore.ts'
import type { EnvValue } from '../../planner/function/lower/context.ts'

export interface Bindings {
  readonly env: Readonly<Record<string, EnvBinding>>
  readonly arrays: ReadonlyMap<string, LogicalPlan>
  readonly buffers: ReadonlyMap<string, UpdateBuffer>
  readonly accumulators: ReadonlyMap<string, Accumulator<unknown>>
  readonly rngs: ReadonlyMap<string, number>
  /** The first name of each handle: arrays by their plans, all else by itself. */
  readonly handles: ReadonlyMap<object, string>
}

/** The description of a handle for lowering a body; undefined when the value is no handle. */
export function envValueOf(value: unknown, engine: Engine): EnvValue | undefined {
  if (!isHandle(value)) return undefined
  if (isDistArray(value)) {
    const plan = ownPlanOf(value, 'an array in env', engine)
    const { keys, element } = plan
    const columns = element.kind === 'row' ? { fields: element.fields } : {}
    const shape = keys.kind === 'explicit' && keys.dense ? keys.shape : undefined
    const known = shape?.every((extent) => extent !== undefined) === true ? { shape: shape as readonly number[] } : {}
    return {
      kind: 'array',
      handle: value,
      dtype: dtypeOf(plan),
      rank: rankOf(keys),
      isBoolean: isBoolean(plan.element),
      isTable: keys.kind === 'rowNumber',
      ...columns,
      ...known,
    }
  }
  if (value instanceof UpdateBuffer) {
    const plan = ownPlanOf(value.target, 'a buffer in env', engine)
    return { kind: 'buffer', handle: value, dtype: dtypeOf(plan), rank: rankOf(plan.keys) }
  }
  if (value instanceof Accumulator) return { kind: 'accumulator', handle: value }
  return { kind: 'rng', handle: value as object } // rng is the only kind left
}

/** Whether a value is a handle of the library, compared by identity. A Proxy of a handle is the user's own object. */
export function isHandle(value: unknown): boolean {
  if (types.isProxy(value)) return false
  return isDistArray(value) || value instanceof UpdateBuffer || value instanceof Accumulator || isRng(value)
}

/** Whether a handle may be used in this session: arrays belong to one session, accumulators and generators to none. */
export function isOf(handle: unknown, engine: Engine): boolean {
  const array = handle instanceof UpdateBuffer ? handle.target : handle
  return !isDistArray(array) || engineOf(array) === engine
}

export function bindNames(
  env: Readonly<Record<string, unknown>>,
  captured: ReadonlyMap<string, unknown>,
  { engine, store }: { readonly engine: Engine; readonly store: ArrayStore },
): Bindings {
  const bound: Record<string, EnvBinding> = {}
  const arrays = new Map<string, LogicalPlan>()
  const buffers = new Map<string, UpdateBuffer>()
  const accumulators = new Map<string, Accumulator<unknown>>()
  const rngs = new Map<string, number>()
  const handles = new Map<object, string>()
  for (const [name, value] of [...Object.entries(env), ...captured]) {
    if (!isHandle(value)) continue
    const handle = isDistArray(value) ? planOf(value) : (value as object) // handles are objects
    const known = handles.get(handle)
    if (value instanceof Accumulator && known !== undefined) throw twiceError(known, name)
    if (known === undefined) handles.set(handle, name)
    if (isDistArray(value)) {
      const plan = ownPlanOf(value, name, engine)
      arrays.set(name, plan)
      bound[name] = arrayBinding(plan, store)
    } else if (value instanceof UpdateBuffer) {
      const plan = ownPlanOf(value.target, name, engine)
      buffers.set(name, value)
      const { array, rank, shape, label } = arrayBinding(plan, store)
      const dtype = dtypeOf(plan)
      const { maxDelay, flushes, staleness, budget } = value.options
      const isNumeric = dtype !== 'object' && dtype !== 'row' && dtype !== 'unknown'
      bound[name] = {
        kind: 'buffer',
        array,
        dtype: isNumeric ? dtype : 'f64',
        label,
        ...defined({ rank, shape, maxDelay, flushes, staleness, budget }),
      }
    } else if (value instanceof Accumulator) {
      accumulators.set(name, value)
      bound[name] = { kind: 'accumulator', combine: typeof value.spec === 'string' ? value.spec : 'custom' }
    } else if (isRng(value)) {
      rngs.set(name, value.seed)
      bound[name] = { kind: 'rng', seed: value.seed }
    }
  }
  checkFlushes(buffers)
  return { env: bound, arrays, buffers, accumulators, rngs, handles }
}

/** Throws PlanError unless all buffers that flush in the middle of a pass do so together. */
function checkFlushes(buffers: ReadonlyMap<string, UpdateBuffer>): void {
  const often = [...buffers].flatMap(([name, { options }]) => {
    if (options.maxDelay !== undefined) return { name, text: `after every ${counted(options.maxDelay, 'iteration')}`, inRounds: false }
    return options.flushes === undefined || options.flushes < 2 ? [] : { name, text: `${options.flushes} times in a pass`, inRounds: true }
  })
  const [first] = often.filter(({ inRounds }) => inRounds)
  const other = often.find(({ text }) => text !== first?.text)
  if (first === undefined || other === undefined) return
  throw new PlanError(
    `The buffers of one loop flush together: ${first.name} does ${first.text}, ${other.name} ${other.text}. Give both the same flushes.`,
  )
}

function twiceError(first: string, second: string): PlanError {
  return new PlanError(
    `The env of loop() has one accumulator under two names, ${first} and ${second}, and what is added counts by name. Pass it once.`,
  )
}

function arrayBinding(plan: LogicalPlan, store: ArrayStore): EnvBinding & { readonly kind: 'array' } {
  const { keys } = plan
  const shape = keys.kind === 'explicit' ? keys.shape : undefined
  return {
    kind: 'array',
    array: store.plans.identity(plan),
    dtype: dtypeOf(plan),
    storage: keys.kind === 'rowNumber' ? 'table' : keys.dense ? 'dense' : 'unknown',
    rank: rankOf(keys),
    label: store.plans.label(plan),
    ...defined({ shape }),
  }
}

/** The iteration space of a range. */
export function overOfSpace({ extents }: IndexSpace): LoopOver {
  return { kind: 'range', rank: extents.length, extents, label: `range(${extents.join(', ')})` }
}

/** The iteration space of an array: the keys of its elements. */
export function overOfPlan(plan: LogicalPlan, store: ArrayStore): LoopOver {
  const { keys } = plan
  const extents = keys.kind === 'explicit' && keys.shape !== undefined ? keys.shape : new Array<undefined>(rankOf(keys)).fill(undefined)
  return {
    kind: keys.kind === 'rowNumber' ? 'table' : keys.dense ? 'dense' : 'unknown',
    array: store.plans.identity(plan),
    element: plan.element,
    rank: rankOf(keys),
    extents,
    label: store.plans.label(plan),
  }
}

/** The plan of an array of this engine's session; throws PlanError for one of another session. */
export function ownPlanOf(array: object, what: string, engine: Engine): LogicalPlan {
  if (!isDistArray(array)) throw new PlanError(`${what} is not a DistArray.`)
  if (engineOf(array) !== engine) {
    throw new PlanError(`${what} belongs to another session. Arrays of one loop are made by the session that runs it.`)
  }
  return planOf(array)
}

function isRng(value: unknown): value is Rng {
  return typeof value === 'object' && value !== null && (value as { readonly kind?: unknown }).kind === 'Rng'
}

/** Whether elements are true or false, and not the numbers 0 and 1, as in arrays of zeros with the dtype bool. */
export function isBoolean(element: ElementType): boolean {
  return element.kind === 'scalar' && element.type.kind === 'bool' && !element.nullable
}

/** The array's element type for the kernel. */
function dtypeOf({ element }: LogicalPlan): DType | 'object' | 'row' | 'unknown' {
  switch (element.kind) {
    case 'row':
      return 'row'
    case 'unknown':
      return 'unknown'
    case 'scalar':
      return element.type.kind in ARRAY_OF_DTYPE ? (element.type.kind as DType) : element.type.kind === 'unknown' ? 'unknown' : 'object'
  }
}

/** The functions and flush settings of a buffer for a kernel. */
export function bufferFunctions(
  { options }: UpdateBuffer,
  engine: Engine,
): Pick<LoopInputs['buffers'] extends ReadonlyMap<string, infer B> ? B : never, 'combine' | 'apply' | 'maxDelay' | 'rounds'> {
  const number = { kind: 'scalar', type: { kind: 'f64' }, nullable: false } as const
  const helper = (f: (a: number, b: number) => number, method: string) =>
    engine.lowerRowLambda(f as (...args: never[]) => unknown, { method, inputs: [number, number], isCalled: true })
  const { combine, apply, maxDelay, flushes = 1, staleness = 0, budget = Number.POSITIVE_INFINITY } = options
  const rounds = { count: flushes, staleness, most: Math.floor(budget / BYTES_PER_UPDATE) }
  return {
    combine: combine === undefined || combine === 'sum' ? 'sum' : helper(combine, 'buffer'),
    ...(apply === undefined ? {} : { apply: helper(apply, 'buffer') }),
    ...(maxDelay === undefined ? {} : { maxDelay }),
    ...(flushes < 2 ? {} : { rounds }),
  }
}

export function accumulatorInputs(accumulators: Bindings['accumulators']): LoopInputs['accumulators'] {
  return new Map(
    [...accumulators].map(([name, { spec }]) => [
      name,
      typeof spec === 'string' ? spec : { init: spec.init, combine: { original: spec.combine as (...args: never[]) => unknown } },
    ]),
  )
}

export function sameBindings(a: Bindings, b: Bindings): boolean {
  const same = (left: ReadonlyMap<string, unknown>, right: ReadonlyMap<string, unknown>): boolean =>
    left.size === right.size && [...left].every(([name, value]) => right.get(name) === value)
  return same(a.arrays, b.arrays) && same(a.buffers, b.buffers) && same(a.accumulators, b.accumulators) && same(a.rngs, b.rngs)
}
