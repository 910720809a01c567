/**
 * The composition root: a session owns the memory, the workers and the events, and joins planner, executor and sources
 * behind the handles it gives out.
 */

import type { Schema as ArrowSchema, RecordBatch, Table } from 'apache-arrow'
import type { Observable } from 'rxjs'
import { checkSeed } from '../core/arguments.ts'
import { DistArray } from '../core/arrays/distArray.ts'
import { checkShape, type IndexSpace, type KeyOf, type Shape } from '../core/arrays/indexSpace.ts'
import type { Key } from '../core/arrays/keys.ts'
import { RngHandle } from '../core/arrays/rng.ts'
import type { TypedArray } from '../core/data/column.ts'
import type { DType } from '../core/data/schema.ts'
import { valueText } from '../core/data/valueKinds.ts'
import { type Accumulator, type AccumulatorKind, accumulatorOf } from '../core/loop/accumulator.ts'
import { type Loop, RUN_OPTIONS, type RunOptions } from '../core/loop/loop.ts'
import type { LoopReport } from '../core/loop/loopReport.ts'
import type { LoopOptions } from '../core/loop/loopSpec.ts'
import type { CheckedEnv, LoopBody, LoopSource, Rng } from '../core/loop/loopViews.ts'
import { checkOptions } from '../core/options.ts'
import type { ArrayInit, ArraySource } from '../core/plan/logicalPlan.ts'
import type { TableMemory } from '../core/ports.ts'
import type { SessionEvent } from '../core/sessionEvent.ts'
import { csvKernels } from '../exec/kernels/csv/csvKernels.ts'
import { stoppedError } from '../exec/workers/pool.ts'
import { loadThreadProgram } from '../exec/workers/threadProgram.ts'
import type { NpyOptions } from '../io/arrays/npy.ts'
import { openArrow } from '../io/arrow/arrowFile.ts'
import { loadArrow } from '../io/arrow/arrowLibrary.ts'
import { type CsvOptions, openCsv } from '../io/csv/csv.ts'
import { type FileFormat, type FilePiece, type FilesOptions, openFiles } from '../io/fileFormat.ts'
import { type NdjsonOptions, openNdjson } from '../io/json/ndjson.ts'
import { type BatchesOptions, type GivenBatches, openBatches } from '../io/memory/givenBatches.ts'
import { sourceFromArrow, sourceFromColumns, sourceFromRows } from '../io/memory/memory.ts'
import { openParquet, type ParquetOptions } from '../io/parquet.ts'
import { checkReading, type FileSource, type OneFile, type ReadOptions } from '../io/reading.ts'
import { openText } from '../io/text.ts'
import { type Checkpoint, checkpointAskedFor, openedCheckpoint } from './checkpoint.ts'
import { composed, introduceSession, type Joined, noServer, readingUntil, shownSession, sparkAskedFor } from './composition.ts'
import type { SessionEngine } from './engine.ts'
import { gangAskedFor } from './gangAskedFor.ts'
import { madePlan, type RandomOptions, randomInit, scanPlan, typedArrayPlan } from './givenArrays.ts'
import { LoopHandle } from './loops/loopHandle.ts'
import { LOOP_OPTIONS } from './loops/loopRequest.ts'
import { progressBar } from './progress.ts'
import type { Runtime } from './runtime.ts'
import { SessionEvents } from './sessionEvents.ts'
import {
  type ColumnValues,
  checkNoOptions,
  checkShapeOf,
  dtypeOfValue,
  type RowOfColumns,
  requestOf,
  SESSION_OPTIONS,
  type SessionOptions,
} from './sessionOptions.ts'
import type { SessionSpill } from './sessionParts.ts'
import { npyPlan, savedPlan } from './storedFiles.ts'

/** Memory, workers and events for arrays and loops. Threads start with the first work that needs them. */
export class Session implements AsyncDisposable {
  /** The number of worker threads; 1 means the caller's thread. */
  readonly workers: number
  /** The events of runs: stages, passes, progress, fallbacks, workers. Completes when the session stops. */
  readonly events: Observable<SessionEvent>
  readonly #runtime: Runtime
  readonly #engine: SessionEngine
  readonly #hideProgress: () => void
  readonly #tables: TableMemory
  readonly #stopped = new AbortController()
  readonly #spill: SessionSpill
  #stopping: Promise<void> | undefined

  private constructor(options: SessionOptions, joined: Joined = {}) {
    const stopped = this.#stopped.signal
    const { workers, runtime, engine, tables, spill } = composed(options, joined, { stopped, checkOpen: () => this.#checkOpen() })
    this.#runtime = runtime
    this.#engine = engine
    this.#tables = tables
    this.#spill = spill
    this.workers = workers
    this.events = SessionEvents.of(runtime.events)
    const deaf = joined.gang?.listen((event) => runtime.events.next({ kind: 'process', ...event }))
    if (deaf !== undefined) stopped.addEventListener('abort', deaf, { once: true })
    this.#hideProgress = progressBar(this.events, { mode: options.progress ?? 'auto' })
  }

  static {
    introduceSession<Session>(Session, (session) => shownSession(session.workers, session.#runtime))
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

  /** Stops the session: work under way rejects, and so does everything asked afterwards. */
  async stop(): Promise<void> {
    if (this.#stopping === undefined) this.#stopped.abort(stoppedError())
    const { pool, passes } = this.#runtime
    this.#stopping ??= pool.stop().finally(async () => {
      await Promise.all(passes)
      this.#runtime.gang?.leave(this.#runtime.arena)
      await this.#runtime.ledger?.finish()
      await this.#runtime.spark?.release()
      this.#spill.remove()
      await new Promise<void>((resolve) => setImmediate(resolve)) // callers whose work was rejected hear of it first
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
    options: ParquetOptions & { readonly columns?: readonly (keyof Row & string)[] } = {},
  ): Promise<DistArray<Row>> {
    const { spark } = this.#open()
    if (spark !== undefined) return this.#scan(await spark.parquet(source, this.#reading(options)))
    return this.#scan(await openParquet(source, this.#reading(options), this.#runtime.arena.budgetBytes))
  }

  /** Rows of Arrow IPC files or streams. 64-bit integers as `readParquet` gives them. */
  async readArrow<Row = Record<string, unknown>>(
    source: FileSource,
    options: FilesOptions & { readonly int64?: 'number' | 'bigint' } = {},
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
   * Rows of NDJSON files, an object a line: fields are columns, null in lines that do not have them. Reads the files once to find
   * types that fit all lines.
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
    if (spark === undefined) throw noServer()
    return this.#scan(await spark.table(name, this.#reading(options)))
  }

  /** The lines of text files, without their ends. */
  async readText(source: FileSource, options: ReadOptions = {}): Promise<DistArray<string>> {
    this.#checkOpen()
    return this.#scan(await openText(source, this.#reading(options)))
  }

  /** Rows of files in a format of the program's own, whose functions run on this thread. SourceError where they throw, with the cause. */
  async readFiles<Row = Record<string, unknown>, Piece extends FilePiece = FilePiece>(
    source: FileSource,
    format: FileFormat<Piece>,
    options: FilesOptions = {},
  ): Promise<DistArray<Row>> {
    this.#checkOpen()
    return this.#scan(await openFiles(source, format, this.#reading(options)))
  }

  /**
   * A dense array with the elements, the shape and the dtype of a NumPy file (.npy), all read now. 64-bit integers are numbers, of dtype
   * f64, with a SourceError for one beyond ±2^53; with `int64: 'bigint'` they are bigints. A bool array has the numbers 0 and 1. The type
   * of keys is yours to say, as in `readNpy<[number, number]>('W.npy')`. SourceError for another dtype, and for a file that is damaged.
   */
  async readNpy<K extends Key = Key>(
    source: OneFile,
    options: ReadOptions & { readonly int64: 'bigint' },
  ): Promise<DistArray<number | bigint, K>>
  async readNpy<K extends Key = Key>(source: OneFile, options?: ReadOptions & { readonly int64?: 'number' }): Promise<DistArray<number, K>>
  async readNpy<K extends Key = Key>(source: OneFile, options: NpyOptions = {}): Promise<DistArray<never, K>> {
    const runtime = this.#open()
    return new DistArray(this.#engine, await npyPlan(source, this.#reading(options), runtime))
  }

  /**
   * An array that `save` wrote, or a dense tensor of Arrow, all of it read now: with the shape, the dtype and the keys that it had, and
   * each bit of its elements. Their type and that of the keys are yours to say, as in `load<number, [number, number]>('W.arrow')`. SourceError for a file that is damaged, and for any other.
   */
  async load<T extends number | bigint | boolean = number, K extends Key = Key>(
    source: OneFile,
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
    checkNoOptions(options)
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
    return this.#array('fill', shape, { dtype, init: { kind: 'fill', value } })
  }

  /** Random numbers, the same for every worker count: uniform in [0, scale) or normal with deviation scale. Defaults: f64, uniform, 1. */
  random<const S extends Shape>(shape: S, options: RandomOptions = {}): DistArray<number, KeyOf<S>> {
    const init = randomInit(options, this.#engine.seed)
    return this.#array('random', shape, { dtype: options.dtype ?? 'f64', init })
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
    return accumulatorOf(spec)
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

  /** A reader's options with a signal that `stop()` aborts too. */
  #reading<O extends ReadOptions>(options: O): O {
    return readingUntil(this.#stopped.signal, options)
  }

  #scan<T>(source: ArraySource): DistArray<T> {
    return new DistArray<T>(this.#engine, scanPlan(source))
  }

  #array<T, K extends Key>(
    method: string,
    shape: Shape,
    { dtype, init }: { readonly dtype: DType | 'object'; readonly init: ArrayInit },
  ): DistArray<T, K> {
    this.#checkOpen()
    return new DistArray<T, K>(this.#engine, madePlan(method, shape, { dtype, init }))
  }
}
