/**
 * The engine behind DistArray handles: puts stored arrays in place, optimizes, runs, and answers queries from storage.
 *
 *     collect()    plan -> stored leaves -> optimize -> executor
 *     at(), row()  storage of the plan, sorted by key once and kept -> lookup
 *     set()        storage that the array owns from then on -> write
 */

import type { Selector, Shape } from '../core/arrays/indexSpace.ts'
import type { Key } from '../core/arrays/keys.ts'
import type { Batch, Column, TypedArray } from '../core/data/column.ts'
import { ownColumn } from '../core/data/columnSlices.ts'
import { type ElementType, VALUE_COLUMN } from '../core/data/schema.ts'
import { defined } from '../core/defined.ts'
import type { Engine, ExecuteOptions, Folded, FoldKind, Holdings, RowLambdaContext, WriteForm, WriteTarget } from '../core/engine.ts'
import { PlanError } from '../core/errors.ts'
import type { UserFunction } from '../core/ir/functionIr.ts'
import { heardByMany, joinedSignal } from '../core/joinedSignal.ts'
import type { Moment } from '../core/moment.ts'
import { isKnown } from '../core/plan/elements.ts'
import type { LogicalPlan } from '../core/plan/logicalPlan.ts'
import type { WriteAccess } from '../core/ports.ts'
import { assignSlice, type EditContext, setKey, updateKey } from '../exec/arrays/edit.ts'
import { atKey, shapeOfStorage, sliceStorage, toTypedArray } from '../exec/arrays/query.ts'
import { buffersPassed } from '../exec/memory/lease.ts'
import { SMALL_ROWS } from '../exec/tables/operators/partitions.ts'
import { PlanRecord } from '../exec/tables/planRecord.ts'
import type { Keeper } from '../exec/tables/run/run.ts'
import { toArrowTable, toRecordBatch } from '../io/arrow/arrowBatches.ts'
import { arrowSchemaOf, arrowTypeOf } from '../io/arrow/arrowTypes.ts'
import { writeArrow } from '../io/arrow/writeArrow.ts'
import { checkFolder } from '../io/bytes/atomicFile.ts'
import { writeCsv } from '../io/csv/writeCsv.ts'
import { withoutDecimals } from '../io/decimals.ts'
import { type Encoder, type EncodeTask, encode } from '../io/encode.ts'
import { writeNdjson } from '../io/json/writeNdjson.ts'
import { checkPartitionsPlace, PARQUET_EXTENSION, writePartitions } from '../io/partitions/writePartitions.ts'
import { checkRequests } from '../io/reading.ts'
import { rowsOf } from '../io/regroup.ts'
import { type Written, writeParquet } from '../io/writeParquet.ts'
import { explainPlan } from '../planner/explain.ts'
import { requireCompiled } from '../planner/function/requireCompiled.ts'
import type { RowFunctions } from '../planner/function/rowFunctions.ts'
import { returnedElement } from '../planner/function/userFunction.ts'
import { optimize } from '../planner/optimize.ts'
import type { Runtime } from './runtime.ts'
import { plannedShares, type SharedRun, SharedRuns, sharesOf, withSharedRuns } from './sharedRuns.ts'
import { type StoredForm, writeStored } from './storedFiles.ts'

export class SessionEngine implements Engine {
  readonly seed: number
  readonly #runtime: Runtime

  readonly #functions: RowFunctions

  constructor(runtime: Runtime, { seed, functions }: { readonly seed: number; readonly functions: RowFunctions }) {
    this.#runtime = runtime
    this.#functions = functions
    this.seed = seed
  }

  lowerRowLambda(f: (...args: never[]) => unknown, context: RowLambdaContext): UserFunction {
    const lowered = this.#functions.lower(f, context)
    if (this.#runtime.require === 'compiled' && context.isAction !== true) requireCompiled(lowered, context.method)
    return lowered
  }

  returnedElement(f: UserFunction, context: RowLambdaContext): ElementType {
    return returnedElement(f, { kind: 'row', ...context })
  }

  moment(plan: LogicalPlan): Moment {
    return this.#runtime.store.plans.moment(plan)
  }

  holdings(): Holdings {
    const { store, stopped } = this.#runtime
    return { isOpen: !stopped.aborted, of: (node) => store.held(node) }
  }

  async execute(plan: LogicalPlan, options: ExecuteOptions = {}): Promise<readonly Batch[]> {
    const { store, executor } = this.#open()
    const run = async (ready: LogicalPlan): Promise<readonly Batch[]> => ordinary(await executor.execute(optimize(ready).plan, options))
    return await store.use(plan, async (resolved) => await withSharedRuns(resolved, executor, run, options), options.moment)
  }

  async *stream(plan: LogicalPlan, options: ExecuteOptions = {}): AsyncGenerator<Batch, void, undefined> {
    const { store, executor } = this.#open()
    const moment = options.moment ?? store.plans.moment(plan)
    const { resolved, leave } = await store.enter(plan, moment)
    const shares = new SharedRuns(executor, options)
    let whole: readonly Batch[]
    try {
      const optimized = optimize(await shares.run(resolved)).plan
      if (executor.streams(optimized, options)) {
        for await (const batch of executor.stream(optimized, options)) yield* ordinary([batch])
        return
      }
      whole = ordinary(await executor.execute(optimized, options))
    } finally {
      shares.free()
      leave()
    }
    // between two batches the consumer may write to arrays that the plan reads: holding their locks, it would wait for itself
    yield* whole
  }

  async fold(plan: LogicalPlan, kind: FoldKind, moment?: Moment): Promise<Folded | undefined> {
    const { store, executor } = this.#open()
    return await store.use(plan, async (resolved) => await executor.fold(optimize(resolved).plan, kind), moment)
  }

  explain(plan: LogicalPlan, options: { readonly verbose: boolean; readonly format: 'text' | 'json' }): string {
    const { executor, store, spark } = this.#runtime
    const index = store.stats(plan)
    let called: LogicalPlan
    try {
      called = store.asCalled(plan)
    } catch (error) {
      if (error instanceof PlanError) return explainPlan(plan, { ...options, index }) // the action will throw it
      throw error
    }
    const divided = plannedShares(store.asStored(plan.kind === 'Materialize' ? plan.input : plan), executor)
    const ours = optimize(divided.plan).plan
    const placed = spark === undefined ? undefined : (optimized: LogicalPlan): LogicalPlan => spark.placed(optimized)
    const optimized = placed === undefined ? ours : placed(ours)
    const own = executor.explainFunctions(optimized)
    const functions = own && [...divided.shared.flatMap((one) => executor.explainFunctions(one.plan) ?? []), ...own]
    const kernels = options.verbose ? { columns: executor.explainColumns(optimized), groups: executor.explainGroups(optimized) } : {}
    return explainPlan(called, {
      ...options,
      index: { ...index, array: store.asStored(plan) },
      ...defined({ functions, placed, ...kernels }),
      shares: sharesOf(plannedShares(called, executor)),
    })
  }

  async analyze(plan: LogicalPlan, options: { readonly verbose: boolean; readonly format: 'text' | 'json' }): Promise<string> {
    const { store, executor, spark } = this.#open()
    const record = new PlanRecord()
    let shared: readonly SharedRun[] = []
    const run = async (resolved: LogicalPlan): Promise<number> => {
      const started = performance.now()
      const measured = async (ready: LogicalPlan, runs: readonly SharedRun[]): Promise<void> => {
        shared = runs
        await executor.execute(optimize(ready).plan, { record })
      }
      await withSharedRuns(resolved, executor, measured, { isMeasured: true })
      return performance.now() - started
    }
    // a materialized plan runs here as at its first use, unless its storage exists already
    const isThere = store.stats(plan).storage !== 'none'
    const milliseconds = await store.use(plan.kind === 'Materialize' && !isThere ? plan.input : plan, run)
    const called = store.asCalled(plan)
    const placed = spark === undefined ? undefined : (optimized: LogicalPlan): LogicalPlan => spark.placed(optimized)
    const remote = options.verbose ? await spark?.explained(optimize(called).plan) : undefined
    const shares = sharesOf(plannedShares(called, executor), shared)
    return explainPlan(called, { ...options, milliseconds, shares, ...defined({ ran: record.ran(), placed, remote }) })
  }

  async shape(plan: LogicalPlan): Promise<readonly number[]> {
    const { store } = this.#open()
    if (plan.keys.kind === 'explicit') return plan.keys.shape ?? (await store.read(plan, shapeOfStorage))
    const batches = await this.execute(plan)
    return [batches.reduce((rows, batch) => rows + batch.length, 0)]
  }

  arrowSchema(element: ElementType): ReturnType<Engine['arrowSchema']> {
    const shown = withoutDecimals(element)
    return shown.kind === 'scalar' ? arrowTypeOf(shown.type, VALUE_COLUMN) : arrowSchemaOf(shown)
  }

  toArrowTable(element: ElementType, batches: readonly Batch[]): ReturnType<Engine['toArrowTable']> {
    return toArrowTable(batches, withoutDecimals(isKnown(element) ? element : (batches[0]?.element ?? element)))
  }

  toRecordBatch(element: ElementType, batch: Batch): ReturnType<Engine['toRecordBatch']> {
    return toRecordBatch(batch, withoutDecimals(isKnown(element) ? element : batch.element))
  }

  async at(plan: LogicalPlan, key: Key): Promise<unknown> {
    const value = await this.#open().store.query(plan, key, (storage, name) => atKey(storage, key, name))
    return typeof value === 'boolean' && isNumeric(plan.element) ? Number(value) : value
  }

  async slice(
    plan: LogicalPlan,
    selectors: readonly Selector[],
    method: string,
  ): Promise<{ readonly shape: Shape; readonly data: TypedArray }> {
    return await this.#open().store.query(plan, selectors, (storage, name) => sliceStorage(storage, selectors, { method, name }))
  }

  async toTypedArray(plan: LogicalPlan): Promise<TypedArray> {
    return await this.#open().store.read(plan, toTypedArray, { keep: false })
  }

  async set(plan: LogicalPlan, key: Key, value: unknown): Promise<void> {
    const { store, arena } = this.#open()
    await store.write(plan, (storage, name) => setKey(storage, key, value, context('set', name, arena)))
  }

  async assign(plan: LogicalPlan, selectors: readonly Selector[], data: TypedArray | readonly number[] | number): Promise<void> {
    const { store, arena } = this.#open()
    const replacesAll = selectors.every((selector) => selector === null)
    await store.write(plan, (storage, name) => assignSlice(storage, selectors, data, context('assign', name, arena)), { replacesAll })
  }

  async update(plan: LogicalPlan, key: Key, f: (value: never) => unknown): Promise<void> {
    const { store, arena } = this.#open()
    await store.write(plan, (storage, name) => updateKey(storage, key, f, context('update', name, arena)))
  }

  async release(plan: LogicalPlan): Promise<void> {
    await this.#open().store.release(plan)
  }

  async write(plan: LogicalPlan, { method, ...target }: WriteTarget, form: WriteForm): Promise<Written> {
    checkRequests(method, target)
    const { stopped } = this.#open()
    const signal = heardByMany(target.signal === undefined ? stopped : joinedSignal([target.signal, stopped])) // each file or object of a folder listens
    const where = { ...target, signal }
    if (form.kind === 'npy' || form.kind === 'tensor' || form.kind === 'array')
      return await writeStored(this.#runtime.store, plan, { form, ...where })
    // the file's header has the rows' type, which must be known before the first row is written
    const moment = this.#open().store.plans.moment(plan)
    const { existing = 'refuse', partitionBy } = form.kind === 'parquet' ? form : {}
    const folders = partitionBy === undefined ? undefined : { ...where, existing, extension: PARQUET_EXTENSION }
    if (!isKnown(plan.element)) await (folders === undefined ? checkFolder(where.path, where) : checkPartitionsPlace(folders))
    const known = isKnown(plan.element) ? undefined : await this.execute(plan, { signal, moment })
    if (known !== undefined) return await this.#written(known, { ...where, element: known[0]?.element ?? plan.element, form })
    const { store, executor } = this.#open()
    // batches are read in place: the locks are held until the last is encoded
    const { resolved, leave } = await store.enter(plan, moment)
    const lent = new Lent({ takesCodes: form.kind === 'parquet' && folders === undefined })
    const shares = new SharedRuns(executor, { signal })
    try {
      const optimized = optimize(await shares.run(resolved)).plan
      const batches = async function* (): AsyncGenerator<Batch, void, undefined> {
        // Arrow's writer does not encode on workers, and copies each batch at once
        if (executor.streams(optimized, { signal })) yield* executor.stream(optimized, { signal }, form.kind === 'arrow' ? undefined : lent)
        else yield* await executor.execute(optimized, { signal })
      }
      return await this.#written(batches(), { ...where, element: plan.element, form, done: (batch) => lent.free(batch) })
    } finally {
      lent.freeAll()
      shares.free()
      leave()
    }
  }

  async #written(
    batches: AsyncIterable<Batch> | Iterable<Batch>,
    {
      form,
      done,
      ...where
    }: WriteAccess & {
      readonly element: ElementType
      readonly path: string
      readonly signal: AbortSignal
      readonly form: Exclude<WriteForm, StoredForm>
      readonly done?: (batch: Batch) => void
    },
  ): Promise<Written> {
    const request = { ...where, batches, encoder: this.#encoder(where.signal, done) }
    switch (form.kind) {
      case 'parquet': {
        const { kind: _, partitionBy, ...options } = form
        return partitionBy === undefined
          ? await writeParquet({ ...request, options })
          : await writePartitions({ ...request, options: { ...options, partitionBy } })
      }
      case 'arrow':
        return await writeArrow({ ...request, options: defined({ compression: form.compression }) })
      case 'csv': {
        const { kind: _, ...options } = form
        return await writeCsv({ ...request, options })
      }
      case 'ndjson':
        return await writeNdjson(request)
    }
  }

  /** The encoder of a writer: workers encode batches; small ones are encoded on this thread, which costs less than a task. */
  #encoder(signal: AbortSignal, done?: (batch: Batch) => void): Encoder {
    const { pool, arena } = this.#open()
    const run = async (task: EncodeTask): Promise<Uint8Array> => {
      if (rowsOf(task.parts) < SMALL_ROWS) return encode(task)
      const bytes = (await pool.run('encode', { ...task, parts: task.parts.map(sent) }, { signal, repeatable: true })) as Uint8Array // what its handler returns
      if (!isOfArena(bytes)) buffersPassed(bytes.length)
      return bytes
    }
    const appended = (bytes: Uint8Array): void => {
      if (isOfArena(bytes)) arena.free(bytes.byteOffset) // the bytes have a block of their own
    }
    return { width: pool.size, run, appended, ...defined({ done }) }
  }

  #open(): Runtime {
    this.#runtime.checkOpen()
    return this.#runtime
  }
}

/** Whether elements are read as numbers. A bool array counts as u8, unless it was filled with a boolean. */
function isNumeric(element: ElementType): boolean {
  return element.kind === 'scalar' && element.type.kind !== 'bool'
}

/** Copies of the batches in ordinary buffers: storage that they are views of may be written once its lock is released. */
function ordinary(batches: readonly Batch[]): readonly Batch[] {
  return batches.map((batch) => ({
    ...batch,
    columns: batch.columns.map((column) => (isShared(column) ? ownColumn(column) : column)),
    ...(batch.keys === undefined ? {} : { keys: batch.keys.map((axis) => (isOfArena(axis) ? axis.slice() : axis)) }),
  }))
}

/** The batches of a run that a writer still reads, with the functions that free their memory. */
class Lent implements Keeper {
  readonly #frees = new Map<Batch, () => void>()
  readonly #ends: (() => void)[] = []
  readonly takesCodes: boolean

  constructor({ takesCodes }: { readonly takesCodes: boolean }) {
    this.takesCodes = takesCodes
  }

  keep(batch: Batch, free: () => void): void {
    this.#frees.set(batch, free)
  }

  atEnd(free: () => void): void {
    this.#ends.push(free)
  }

  free(batch: Batch): void {
    this.#frees.get(batch)?.()
    this.#frees.delete(batch)
  }

  freeAll(): void {
    for (const end of this.#ends) end()
  }
}

/** The batch to send to another thread: columns in the arena are shared, others are copied without what else their buffers hold. */
function sent(batch: Batch): Batch {
  return { ...batch, columns: batch.columns.map((column) => (isShared(column) ? column : ownColumn(column))) }
}

function isShared({ validity, values, offsets, children }: Column): boolean {
  return [validity, values, offsets].some((buffer) => buffer !== undefined && isOfArena(buffer)) || (children?.some(isShared) ?? false)
}

function isOfArena({ buffer }: ArrayBufferView): boolean {
  return buffer instanceof SharedArrayBuffer
}

function context(method: string, name: string, arena: EditContext['arena']): EditContext {
  return { method, name, arena }
}
