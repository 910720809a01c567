/**
 * The composition root: a session owns the memory, the workers and the events, and joins planner, executor and sources
 * behind the handles it gives out.
 */

import { availableParallelism } from 'node:os'
import type { Schema as ArrowSchema, RecordBatch, Table } from 'apache-arrow'
import { type Observable, Subject } from 'rxjs'
import { checkBoolean, checkCloneable, checkFunction, checkOneOf, checkSeed, isSignal } from '../core/arguments.ts'
import { DistArray } from '../core/arrays/distArray.ts'
import { checkShape, type IndexSpace, type KeyOf, type Shape } from '../core/arrays/indexSpace.ts'
import type { Key } from '../core/arrays/keys.ts'
import { RngHandle } from '../core/arrays/rng.ts'
import { ARRAY_OF_DTYPE } from '../core/arrays/storage.ts'
import type { TypedArray } from '../core/data/column.ts'
import type { DType, ElementType } from '../core/data/schema.ts'
import { valueText } from '../core/data/valueKinds.ts'
import { PlanError } from '../core/errors.ts'
import { joinedSignal } from '../core/joinedSignal.ts'
import { Accumulator, type AccumulatorKind } from '../core/loop/accumulator.ts'
import { type Loop, RUN_OPTIONS, type RunOptions } from '../core/loop/loop.ts'
import type { LoopReport } from '../core/loop/loopReport.ts'
import type { LoopOptions } from '../core/loop/loopSpec.ts'
import type { CheckedEnv, LoopBody, LoopSource, Rng } from '../core/loop/loopViews.ts'
import { checkOptions } from '../core/options.ts'
import type { ArrayInit, ArraySource, LogicalPlan } from '../core/plan/logicalPlan.ts'
import type { TableMemory } from '../core/ports.ts'
import type { SessionEvent } from '../core/sessionEvent.ts'
import { type Shown, showAs } from '../core/show/shown.ts'
import { storedObject, storedValue } from '../exec/arrays/fit.ts'
import type { Gang } from '../exec/gang/gang.ts'
import { csvKernels } from '../exec/kernels/csv/csvKernels.ts'
import { tableMemory } from '../exec/tables/columns/tableMemory.ts'
import { Executor } from '../exec/tables/executor.ts'
import type { ExecutorEvent } from '../exec/tables/executorOptions.ts'
import { ArrayStore } from '../exec/tables/store/arrayStore.ts'
import { stoppedError } from '../exec/workers/pool.ts'
import { loadThreadProgram } from '../exec/workers/threadProgram.ts'
import type { NpyOptions } from '../io/arrays/npy.ts'
import { openArrow } from '../io/arrow/arrowFile.ts'
import { loadArrow } from '../io/arrow/arrowLibrary.ts'
import { type CsvOptions, openCsv } from '../io/csv/csv.ts'
import type { ExpectOptions } from '../io/expected.ts'
import { type NdjsonOptions, openNdjson } from '../io/json/ndjson.ts'
import { type BatchesOptions, type GivenBatches, openBatches } from '../io/memory/givenBatches.ts'
import { sourceFromArrow, sourceFromColumns, sourceFromRows } from '../io/memory/memory.ts'
import { openParquet } from '../io/parquet.ts'
import type { PartitionOptions } from '../io/partitions/partitions.ts'
import { checkReading, type FileSource, type ReadOptions } from '../io/reading.ts'
import { readSplit } from '../io/readSplit.ts'
import { openText } from '../io/text.ts'
import { requireCompiled } from '../planner/function/requireCompiled.ts'
import { RowFunctions } from '../planner/function/rowFunctions.ts'
import { lower } from '../planner/physical/lower.ts'
import { retyped } from '../planner/retype.ts'
import { queriesBy } from './arrayQueries.ts'
import { type Checkpoint, checkpointAskedFor, ledgerOf, openedCheckpoint } from './checkpoint.ts'
import { SessionEngine } from './engine.ts'
import { gangAskedFor } from './gangAskedFor.ts'
import { typedArrayPlan } from './givenArrays.ts'
import { LoopHandle } from './loop.ts'
import { LOOP_OPTIONS } from './loopRequest.ts'
import { progressBar } from './progress.ts'
import { gangOf, type Runtime, worthThreadsMsOf } from './runtime.ts'
import { SessionEvents } from './sessionEvents.ts'
import {
  type ColumnValues,
  checkProgress,
  checkShapeOf,
  dtypeOfValue,
  MOST_WORKERS,
  megabytes,
  type RowOfColumns,
  requestOf,
  SESSION_OPTIONS,
  type SessionOptions,
} from './sessionOptions.ts'
import { endWith, type SessionSpill, sessionArena, sessionPool, sessionSpill } from './sessionParts.ts'
import type { SparkTables } from './sparkTables.ts'
import { npyPlan, savedPlan } from './storedFiles.ts'

/** What a session is started with that takes time to come by. */
interface Joined {
  readonly gang?: Gang
  readonly checkpoint?: Checkpoint | undefined
  readonly spark?: SparkTables | undefined
}

/** Memory, workers and events for arrays and loops. Threads start with the first work that needs them. */
export class Session implements AsyncDisposable {
  /** Worker threads; 1 means the caller's thread. */
  readonly workers: number
  /** What runs tell: stages, passes, progress, fallbacks, workers. Completes when the session stops. */
  readonly events: Observable<SessionEvent>
  readonly #runtime: Runtime
  readonly #engine: SessionEngine
  readonly #hideProgress: () => void
  readonly #tables: TableMemory
  readonly #stopped = new AbortController()
  readonly #spill: SessionSpill
  #stopping: Promise<void> | undefined

  private constructor(options: SessionOptions, { gang, checkpoint, spark }: Joined = {}) {
    const { workers = Math.min(MOST_WORKERS, availableParallelism()), progress = 'auto' } = options
    if (!Number.isInteger(workers) || workers < 1 || workers > MOST_WORKERS) {
      throw new PlanError(
        `workers is ${valueText(workers)}. It is an integer from 1 to ${MOST_WORKERS}; without it there is one for each core.`,
      )
    }
    if (typeof progress !== 'boolean') checkProgress(progress)
    if (options.seed !== undefined) checkSeed('seed', options.seed)
    if (options.checkRaces !== undefined) checkBoolean('checkRaces', options.checkRaces)
    if (options.require !== undefined) checkOneOf('The require of Session.start()', options.require, ['compiled'])
    const seed = options.seed ?? 0
    const events = new Subject<SessionEvent>()
    const arena = sessionArena(options.memory)
    const pool = sessionPool(workers, arena, events)
    this.#tables = tableMemory(arena)
    const spill = sessionSpill(options)
    this.#spill = spill
    const running = {
      spill,
      pool,
      arena,
      readSplit,
      lower,
      onEvent: (event: ExecutorEvent) => events.next(event),
      stopped: this.#stopped.signal,
    }
    const executor = spark?.executor(running, { memory: this.#tables, events }) ?? new Executor(running)
    const functions = new RowFunctions()
    const ledger = checkpoint === undefined ? undefined : ledgerOf(checkpoint, arena, events)
    const processes = gang ?? gangOf(options)
    const store = new ArrayStore({
      arena,
      ledger,
      elsewhere: processes?.journal(arena, spill),
      moment: (used) => {
        const moment = functions.moment(used)
        if (options.require === 'compiled') for (const f of used) requireCompiled(moment.now(f))
        return moment
      },
      ...queriesBy(executor),
      retype: retyped,
    })
    const { checkRaces } = options
    const worthThreadsMs = worthThreadsMsOf(options)
    this.#runtime = {
      require: options.require,
      spark,
      gang: processes,
      ledger,
      arena,
      pool,
      store,
      executor,
      events,
      checkRaces,
      worthThreadsMs,
      stopped: this.#stopped.signal,
      passes: new Set(),
      checkOpen: () => this.#checkOpen(),
    }
    endWith(this.#runtime, pool)
    this.#engine = new SessionEngine(this.#runtime, { seed, functions })
    this.workers = workers
    this.events = SessionEvents.of(events)
    const deaf = gang?.listen((event) => events.next({ kind: 'process', ...event }))
    if (deaf !== undefined) this.#stopped.signal.addEventListener('abort', deaf, { once: true })
    this.#hideProgress = progressBar(this.events, { mode: progress })
  }

  static {
    showAs<Session>(Session.prototype, (session) => shownSession(session, session.#runtime))
  }

  /**
   * Starts a session. PlanError for options that make no sense. The first one of a process loads Arrow, which takes a tenth of a second.
   * In a program that `distarray run` has started on several processes, this returns on the first of them only, once all have
   * joined; the others run parts of its loops from here on and end with it. GangError where one is missing or does not fit.
   */
  static async start(options: SessionOptions = {}): Promise<Session> {
    await Promise.all([loadArrow(), loadThreadProgram()])
    checkOptions('Session.start()', options, SESSION_OPTIONS)
    const wanted = checkpointAskedFor()
    const asked = gangAskedFor()
    if (asked !== undefined && asked.rank > 0) {
      const { serveDriver } = await import('./gang.ts')
      return await serveDriver(asked, new Session({ ...options, progress: false }).#runtime)
    }
    const spark = await sparkAskedFor(options)
    let checkpoint: Checkpoint | undefined
    try {
      checkpoint = await openedCheckpoint(options, wanted)
      return new Session(options, {
        checkpoint,
        spark,
        ...(asked === undefined ? {} : { gang: await (await import('./gang.ts')).driverGang(asked) }),
      })
    } catch (error) {
      await checkpoint?.files.release()
      await spark?.release()
      throw error
    }
  }

  /** Ends all work; what is under way rejects, and so does everything asked afterwards. */
  async stop(): Promise<void> {
    if (this.#stopping === undefined) this.#stopped.abort(stoppedError())
    const { pool, passes } = this.#runtime
    this.#stopping ??= pool.stop().finally(async () => {
      await Promise.all(passes)
      this.#runtime.gang?.leave(this.#runtime.arena)
      await this.#runtime.ledger?.finish()
      await this.#runtime.spark?.release()
      this.#spill.remove()
      await new Promise<void>((resolve) => setImmediate(resolve)) // their callers hear of it first
      this.#hideProgress()
      this.#runtime.events.complete()
    })
    await this.#stopping
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  // ------------------------------------------------------------------ sources

  /**
   * Rows of Parquet files: a path, a folder, a glob, a URL, or several. Folders named `year=2024` are columns. Reads the footers now and the data when an action runs.
   * 64-bit integers are numbers, with a SourceError when a column is read that has one beyond ±2^53; with `int64: 'bigint'`
   * they are bigints. All readers take a signal that ends the opening, and `timeoutMs`: how long a server may send nothing,
   * 30,000 unless given.
   */
  async readParquet<Row = Record<string, unknown>>(
    source: FileSource,
    options: ReadOptions &
      PartitionOptions &
      ExpectOptions & { readonly columns?: readonly (keyof Row & string)[]; readonly int64?: 'number' | 'bigint' } = {},
  ): Promise<DistArray<Row>> {
    const { spark } = this.#open()
    if (spark !== undefined) return this.#scan(await spark.parquet(source, this.#reading(options)))
    return this.#scan(await openParquet(source, this.#reading(options), this.#runtime.arena.budgetBytes))
  }

  /** Rows of Arrow IPC files or streams. 64-bit integers as `readParquet` gives them. */
  async readArrow<Row = Record<string, unknown>>(
    source: FileSource,
    options: ReadOptions & PartitionOptions & ExpectOptions & { readonly int64?: 'number' | 'bigint' } = {},
  ): Promise<DistArray<Row>> {
    this.#checkOpen()
    return this.#scan(await openArrow(source, this.#reading(options), this.#runtime.arena.budgetBytes))
  }

  /** Rows of CSV files. Types are read off the data unless given; an empty field is null. */
  async readCsv<Row = Record<string, unknown>>(source: FileSource, options: CsvOptions = {}): Promise<DistArray<Row>> {
    const { spark } = this.#open()
    if (spark !== undefined) return this.#scan(await spark.csv(source, this.#reading(options)))
    return this.#scan(await openCsv(source, this.#reading(options), csvKernels))
  }

  /**
   * Rows of NDJSON files, an object a line: fields are columns, null in lines that do not have them. Goes through the files once for
   * the types that all lines allow.
   */
  async readNdjson<Row = Record<string, unknown>>(source: FileSource, options: NdjsonOptions = {}): Promise<DistArray<Row>> {
    const { spark } = this.#open()
    if (spark !== undefined) return this.#scan(await spark.ndjson(source, this.#reading(options)))
    return this.#scan(await openNdjson(source, this.#reading(options)))
  }

  /** A table of the catalogue of the Spark server that the session was started with, by its name there, as 'db.sales'. */
  async table<Row = Record<string, unknown>>(
    name: string,
    options: ReadOptions & { readonly int64?: 'number' | 'bigint' } = {},
  ): Promise<DistArray<Row>> {
    const { spark } = this.#open()
    checkReading('table', options, ['int64'])
    if (spark === undefined)
      throw new PlanError(
        "table() opens tables of a Spark server, and this session has none. Start it with one: Session.start({ tables: 'sc://host:15002' }).",
      )
    return this.#scan(await spark.table(name, this.#reading(options)))
  }

  /** The lines of text files, without their ends. */
  async readText(source: FileSource, options: ReadOptions = {}): Promise<DistArray<string>> {
    this.#checkOpen()
    return this.#scan(await openText(source, this.#reading(options)))
  }

  /**
   * A dense array with the elements, the shape and the dtype of a NumPy file (.npy), all read now. 64-bit integers are numbers, of dtype
   * f64, with a SourceError for one beyond ±2^53; with `int64: 'bigint'` they are bigints. A bool array has the numbers 0 and 1. The type
   * of keys is yours to say, as in `readNpy<[number, number]>('W.npy')`. SourceError for another dtype, and for a file that is damaged.
   */
  async readNpy<K extends Key = Key>(
    source: string | URL,
    options: ReadOptions & { readonly int64: 'bigint' },
  ): Promise<DistArray<number | bigint, K>>
  async readNpy<K extends Key = Key>(
    source: string | URL,
    options?: ReadOptions & { readonly int64?: 'number' },
  ): Promise<DistArray<number, K>>
  async readNpy<K extends Key = Key>(source: string | URL, options: NpyOptions = {}): Promise<DistArray<never, K>> {
    const runtime = this.#open()
    return new DistArray(this.#engine, await npyPlan(source, this.#reading(options), runtime))
  }

  /**
   * An array that `save` wrote, all of it read now: with the shape, the dtype and the keys that it had, and each bit of its elements. Their
   * type and that of the keys are yours to say, as in `load<number, [number, number]>('W.arrow')`. SourceError for a file that is damaged, and for any other.
   */
  async load<T extends number | bigint | boolean = number, K extends Key = Key>(
    source: string | URL,
    options: ReadOptions = {},
  ): Promise<DistArray<T, K>> {
    const runtime = this.#open()
    return new DistArray<T, K>(this.#engine, await savedPlan(source, this.#reading(options), runtime))
  }

  /** A table of objects, or of values: number → f64, bigint → i64, boolean, string → utf8, Date → timestamp(ms), Uint8Array → binary. */
  fromRows<Row>(rows: Iterable<Row>, options: { readonly schema?: ArrowSchema } = {}): DistArray<Row> {
    this.#checkOpen()
    checkOptions('fromRows()', options, ['schema'])
    return this.#scan(sourceFromRows(rows, { ...options, memory: this.#tables }))
  }

  /**
   * A table of batches that come one after another: record batches or tables of Arrow, or arrays of rows. They are read once, now, to a file of the
   * system's folder for such, so that any number fits; the first one says which columns there are, or `schema`.
   */
  async fromBatches<Row = Record<string, unknown>>(batches: GivenBatches<Row>, options: BatchesOptions = {}): Promise<DistArray<Row>> {
    const { arena } = this.#open()
    return this.#scan(await openBatches(batches, options, arena.budgetBytes))
  }

  /** A table of columns, which are copied. Their types are those of their values: there are no options. */
  fromColumns<C extends Readonly<Record<string, ColumnValues>>>(columns: C, ...options: readonly never[]): DistArray<RowOfColumns<C>> {
    this.#checkOpen()
    if (options.length > 0)
      throw new PlanError(
        `fromColumns() takes columns and nothing else; it was given ${valueText(options[0])} as well.\n` +
          "A typed array says its column's type, as in { id: Int32Array.of(1, 2) }; fromRows(rows, { schema }) takes a schema.",
      )
    return this.#scan(sourceFromColumns(columns, { memory: this.#tables }))
  }

  /** The rows of an Arrow table. 64-bit integers as `readParquet` gives them, but all columns are read now. */
  fromArrow<Row = Record<string, unknown>>(
    table: Table | RecordBatch,
    options: { readonly int64?: 'number' | 'bigint' } = {},
  ): DistArray<Row> {
    this.#checkOpen()
    checkOptions('fromArrow()', options, ['int64'])
    return this.#scan(sourceFromArrow(table, { ...options, memory: this.#tables }))
  }

  // ------------------------------------------------------------------ arrays

  /** Zeros at every key of the shape. Default dtype: f64. */
  zeros<const S extends Shape, D extends DType = 'f64'>(
    shape: S,
    options: { readonly dtype?: D } = {},
  ): DistArray<D extends 'i64' ? bigint : number, KeyOf<S>> {
    checkOptions('zeros()', options, ['dtype'])
    return this.#array('zeros', shape, { dtype: options.dtype ?? 'f64', init: { kind: 'zeros' } })
  }

  /** One value at every key of the shape. Without a dtype: number f64, bigint i64, boolean bool, anything else object. */
  fill<const S extends Shape, V>(
    shape: S,
    value: V,
    options: { readonly dtype?: DType | 'object' } = {},
  ): DistArray<V extends number ? number : V, KeyOf<S>> {
    checkOptions('fill()', options, ['dtype'])
    const dtype = options.dtype ?? dtypeOfValue(value)
    if (dtype === 'object') storedObject(value, 'fill')
    else storedValue(value, dtype, 'fill')
    return this.#array('fill', shape, { dtype, init: { kind: 'fill', value } })
  }

  /** Random numbers, the same for every worker count: uniform in [0, scale) or normal with deviation scale. Defaults: f64, uniform, 1. */
  random<const S extends Shape>(
    shape: S,
    options: {
      readonly dtype?: 'f64' | 'f32'
      readonly distribution?: 'uniform' | 'normal'
      readonly scale?: number
      readonly seed?: number
    } = {},
  ): DistArray<number, KeyOf<S>> {
    checkOptions('random()', options, ['dtype', 'distribution', 'scale', 'seed'])
    const { dtype = 'f64', distribution = 'uniform', scale = 1, seed = this.#engine.seed } = options
    checkOneOf('The dtype of random()', dtype, ['f64', 'f32'])
    checkOneOf('The distribution of random()', distribution, ['uniform', 'normal'])
    checkSeed('The seed of random()', seed)
    if (!Number.isFinite(scale)) throw new PlanError(`The scale of random() is ${String(scale)}. It is a finite number.`)
    return this.#array('random', shape, { dtype, init: { kind: 'random', distribution, scale, seed } })
  }

  /**
   * A dense array with a copy of the values, row by row: `fromTypedArray(weights, [rows, columns])`. Its dtype is theirs. PlanError unless
   * there are as many as the shape has keys.
   */
  fromTypedArray<A extends TypedArray, const S extends Shape>(
    values: A,
    shape: S,
  ): DistArray<A extends BigInt64Array ? bigint : number, KeyOf<S>> {
    const runtime = this.#open()
    checkShapeOf('fromTypedArray', shape)
    return new DistArray(this.#engine, typedArrayPlan(values, [...shape], runtime))
  }

  /** An array without elements yet; reading an absent key gives 0 (undefined for objects). Default dtype: f64. */
  sparse<const S extends Shape, D extends DType | 'object' = 'f64'>(
    shape: S,
    options: { readonly dtype?: D } = {},
  ): DistArray<D extends 'object' ? unknown : D extends 'i64' ? bigint : number, KeyOf<S>> {
    checkOptions('sparse()', options, ['dtype'])
    return this.#array('sparse', shape, { dtype: options.dtype ?? 'f64', init: { kind: 'sparse' } })
  }

  /** An index space without data, for loops: all keys with 0 <= key[a] < extents[a]. */
  range<const S extends Shape>(...extents: S): IndexSpace<KeyOf<S>> {
    this.#checkOpen()
    checkShape(`range(${extents.map(valueText).join(', ')})`, extents)
    return { kind: 'IndexSpace', extents: extents as unknown as KeyOf<S> } // the same numbers
  }

  // ------------------------------------------------------------------ loops

  /** A reduction that loop bodies add to: `env.loss.add(x)`. Custom ones: `combine` is associative, `init` counts once. */
  accumulator(kind: AccumulatorKind): Accumulator<number>
  accumulator<V>(options: { readonly init: V; readonly combine: (a: V, b: V) => V }): Accumulator<V>
  accumulator<V>(spec: AccumulatorKind | { readonly init: V; readonly combine: (a: V, b: V) => V }): Accumulator<V> | Accumulator<number> {
    this.#checkOpen()
    if (typeof spec === 'object' && spec !== null) {
      checkOptions('accumulator()', spec, ['init', 'combine'])
      if (!('init' in spec))
        throw new PlanError('accumulator() needs an init, which counts once, as in accumulator({ init: 1, combine: (a, b) => a * b }).')
      checkFunction('The combine of accumulator()', spec.combine, '(a, b)')
      checkCloneable('The init of accumulator()', spec.init)
      return new Accumulator<V>(spec)
    }
    checkOneOf('The kind of accumulator()', spec, ['sum', 'min', 'max', 'count'])
    return new Accumulator<number>(spec)
  }

  /** A generator for loop bodies, counter-based: keyed by seed, pass and key, so that any schedule draws the same numbers. */
  rng(seed?: number): Rng {
    this.#checkOpen()
    if (seed !== undefined) checkSeed('The seed of rng()', seed)
    return new RngHandle(seed ?? this.#engine.seed)
  }

  /**
   * Analyses a loop over an array or an index space; nothing runs yet. LoopError for an async body, and with
   * `require: 'parallel'` for a loop that must run serially, with 'compiled' for a body that runs as it stands; PlanError for a column that does not exist.
   */
  loop<O extends LoopSource, E extends object>(over: O, env: E & CheckedEnv<E>, body: LoopBody<O, E>, options: LoopOptions = {}): Loop {
    this.#checkOpen()
    return new LoopHandle(this.#runtime, this.#engine, requestOf(over, env, body, options), this.loop)
  }

  /** Analyses and runs a loop. */
  async parallelFor<O extends LoopSource, E extends object>(
    over: O,
    env: E & CheckedEnv<E>,
    body: LoopBody<O, E>,
    options: LoopOptions & RunOptions = {},
  ): Promise<LoopReport> {
    this.#checkOpen()
    checkOptions('parallelFor()', options, [...LOOP_OPTIONS, ...RUN_OPTIONS])
    const { passes, signal, ...loopOptions } = options
    const loop = new LoopHandle(this.#runtime, this.#engine, requestOf(over, env, body, loopOptions), this.parallelFor)
    return await loop.run({ ...(passes === undefined ? {} : { passes }), ...(signal === undefined ? {} : { signal }) })
  }

  #checkOpen(): void {
    if (this.#stopping !== undefined) throw stoppedError()
  }

  #open(): Runtime {
    this.#checkOpen()
    return this.#runtime
  }

  /** The options of a reader, which `stop()` ends as its signal does; what makes no sense is left for the reader to say. */
  #reading<O extends ReadOptions>(options: O): O {
    if (typeof options !== 'object' || options === null) return options
    const { signal } = options
    if (signal === undefined) return { ...options, signal: this.#stopped.signal }
    return isSignal(signal) ? { ...options, signal: joinedSignal([signal, this.#stopped.signal]) } : options
  }

  #scan<T>(source: ArraySource): DistArray<T> {
    const columns = source.element.kind === 'row' ? source.element.fields.map((field) => field.name) : ['value']
    const plan: LogicalPlan = { kind: 'Scan', source, columns, element: source.element, keys: { kind: 'rowNumber' } }
    return new DistArray<T>(this.#engine, plan)
  }

  #array<T, K extends Key>(
    method: string,
    shape: Shape,
    { dtype, init }: { readonly dtype: DType | 'object'; readonly init: ArrayInit },
  ): DistArray<T, K> {
    this.#checkOpen()
    const name = checkShapeOf(method, shape)
    if (dtype !== 'object') checkOneOf(`The dtype of ${method}()`, dtype, Object.keys(ARRAY_OF_DTYPE) as DType[])
    // elements of a bool array are the numbers 0 and 1, unless it was filled with a boolean
    const kind = dtype === 'bool' && !(init.kind === 'fill' && typeof init.value === 'boolean') ? 'u8' : dtype
    const element: ElementType = { kind: 'scalar', type: { kind }, nullable: dtype === 'object' }
    const keys = { kind: 'explicit', rank: shape.length, shape: [...shape], dense: init.kind !== 'sparse' } as const
    return new DistArray<T, K>(this.#engine, { kind: 'Array', name, shape: [...shape], dtype, init, element, keys })
  }
}

/** The session's workers, and how much of its memory is used. */
function shownSession({ workers }: Session, { arena, stopped }: Runtime): Shown {
  const threads = workers === 1 ? "1 worker, the caller's thread" : `${workers} workers`
  const memory = stopped.aborted ? 'stopped' : `${megabytes(arena.usedBytes)} of ${megabytes(arena.budgetBytes)} of memory used`
  return { what: 'Session', title: `${threads}, ${memory}` }
}

/** Loaded where it is asked for. */
async function sparkAskedFor({ tables, fallback }: SessionOptions): Promise<SparkTables | undefined> {
  if (tables === undefined) {
    if (fallback !== undefined)
      throw new PlanError("fallback says what runs here of a session with { tables: 'sc://host:15002' }, and this one has no tables there.")
    return undefined
  }
  return await (await import('./sparkTables.ts')).sparkTables(tables, fallback)
}
