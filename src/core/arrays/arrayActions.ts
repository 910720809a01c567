/**
 * The actions of an array: they run its plan and give values, or write files. `folds.ts` has the reductions, `reading.ts` the
 * elements of batches.
 */
import type { Schema as ArrowSchema, DataType, RecordBatch, Table } from 'apache-arrow'
import { checkBoolean, checkFunction, checkNoMore, checkOneOf, checkSignal } from '../arguments.ts'
import type { Batch, TypedArray } from '../data/column.ts'
import { rowReader } from '../data/columnReaders.ts'
import type { ExtremeOf, SumOf } from '../data/rowTypes.ts'
import type { ElementType } from '../data/schema.ts'
import { valueText } from '../data/valueKinds.ts'
import { defined } from '../defined.ts'
import type { Engine, Folded, FoldKind, WriteForm } from '../engine.ts'
import { PlanError } from '../errors.ts'
import type { Moment } from '../moment.ts'
import { checkOptions } from '../options.ts'
import { isKnown, UNKNOWN_ELEMENT } from '../plan/elements.ts'
import type { LogicalPlan } from '../plan/logicalPlan.ts'
import { countPlan, limitPlan, lowerFunction, lowerRowFunction, withColumnsNamed } from '../plan/transformations.ts'
import {
  arrowForm,
  checkWriting,
  csvForm,
  parquetForm,
  type WriteArrowOptions,
  type WriteCsvOptions,
  type WriteOptions,
  type WriteParquetOptions,
} from '../plan/writeOptions.ts'
import { Describer, type Description } from '../show/describe.ts'
import { type Preview, previewOf } from '../show/preview.ts'
import { knownRows } from '../show/shownArray.ts'
import { ArrayElements, insideOf } from './arrayElements.ts'
import { checkedSum, extremeOf, NumberSum, requireNumbers, TreeFold } from './folds.ts'
import type { Key } from './keys.ts'
import { failedAt, KeyReader, valuesOf } from './reading.ts'

/** The options of `explain()`. */
export interface ExplainOptions {
  readonly verbose?: boolean
  readonly format?: 'text' | 'json'
}

/** The result of writing a file, or a folder of files. */
export interface Written {
  readonly rows: number
  readonly bytes: number
  /** The number of files, where a folder was written. */
  readonly files?: number
}

/** The part of a handle that runs its plan. */
export abstract class ArrayActions<T, K extends Key> extends ArrayElements<T, K> implements AsyncIterable<T> {
  get #engine(): Engine {
    return insideOf(this).engine
  }

  get #plan(): LogicalPlan {
    return insideOf(this).plan
  }

  // ------------------------------------------------------------------ actions

  /** All elements in order. */
  async collect(options: { readonly signal?: AbortSignal } = {}): Promise<T[]> {
    checkOptions('collect()', options, ['signal'])
    if (options.signal !== undefined) checkSignal('The signal of collect()', options.signal)
    return this.#values(this.#plan, options.signal)
  }

  /** The first `n` elements; partitions are computed one after another until it has them. */
  async take(n: number): Promise<T[]>
  async take(n: number, ...more: readonly unknown[]): Promise<T[]> {
    checkNoMore('take() takes a number of elements', more, 'It begins with the first.')
    return this.#first(limitPlan(this.#plan, n, 'take'))
  }

  /** The first element; undefined where there is none. */
  async first(): Promise<T | undefined>
  async first(...more: readonly unknown[]): Promise<T | undefined> {
    checkNoMore('first() takes no arguments', more, 'Write filter((row) => …).first(), or take(n).')
    return (await this.#first(limitPlan(this.#plan, 1, 'first')))[0]
  }

  /** The number of elements. */
  async count(): Promise<number>
  async count(...more: readonly unknown[]): Promise<number> {
    checkNoMore('count() takes no arguments', more, 'Write filter((row) => …).count().')
    const plan = countPlan(this.#plan)
    const moment = this.#engine.moment(plan)
    const folded = await this.#engine.fold(plan, 'count', moment)
    if (folded !== undefined) return folded.count
    let count = 0
    for await (const batch of this.#engine.stream(plan, { moment })) count += batch.length
    return count
  }

  /**
   * Folds the elements by the fixed tree of reductions (chunks of 4,096 left to right, chunks pairwise): `f` must be
   * associative. With `init` every chunk starts from a copy of it and `combine` joins the chunks' results.
   */
  reduce(f: (a: T, b: T) => T): Promise<T | undefined>
  reduce<A>(f: (a: A, value: T) => A, init: A, combine: (a: A, b: A) => A): Promise<A>
  async reduce<A>(...args: [(a: T, b: T) => T] | [(a: A, value: T) => A, A, (a: A, b: A) => A]): Promise<A | T | undefined> {
    if (args.length === 1) {
      const [f] = args
      this.#check('reduce', f, '(a, b)', [this.#plan.element, this.#plan.element])
      return (await this.#fold(new TreeFold<T, T>((value) => value, f), f))?.value
    }
    const [f, init, combine] = args
    this.#check('reduce', f, '(result, value)', [UNKNOWN_ELEMENT, this.#plan.element])
    checkFunction('The third argument of reduce()', combine, '(a, b), which joins two results')
    const result = await this.#fold(new TreeFold<A, T>((value) => f(structuredClone(init), value), f), combine)
    return result === undefined ? init : result.value
  }

  /** The sum by the fixed tree of reductions: the same bits for any number of workers. 0 of nothing; nulls are skipped. */
  async sum<V extends number | bigint | null>(this: ArrayActions<V, K>): Promise<SumOf<V>>
  async sum(...more: readonly unknown[]): Promise<number | bigint> {
    this.#noFunction('sum', more)
    return (await this.#summed('sum')).total
  }

  /** `Math.min` of all elements: NaN wins, -0 < 0; undefined of nothing, nulls are skipped. */
  async min<V extends number | bigint | null>(this: ArrayActions<V, K>): Promise<ExtremeOf<V> | undefined>
  async min(...more: readonly unknown[]): Promise<number | bigint | undefined> {
    this.#noFunction('min', more)
    return this.#extreme('min')
  }

  /** `Math.max` of all elements: NaN wins, -0 < 0; undefined of nothing, nulls are skipped. */
  async max<V extends number | bigint | null>(this: ArrayActions<V, K>): Promise<ExtremeOf<V> | undefined>
  async max(...more: readonly unknown[]): Promise<number | bigint | undefined> {
    this.#noFunction('max', more)
    return this.#extreme('max')
  }

  /** The sum divided by the number of elements that are not null; undefined of nothing. */
  async mean<V extends number | bigint | null>(this: ArrayActions<V, K>): Promise<number | undefined>
  async mean(...more: readonly unknown[]): Promise<number | undefined> {
    this.#noFunction('mean', more)
    const { total, count } = await this.#summed('mean')
    return count === 0 ? undefined : Number(total) / count
  }

  /** Calls `f` on the caller's thread for every element in order. An error that it throws becomes the cause of a TaskError with the key. */
  async forEach(f: (value: T, key: K) => void): Promise<void> {
    checkFunction('forEach()', f, '(value, key)')
    const { fields } = lowerRowFunction(this.#engine, this.#plan, 'forEach', f, { isAction: true }).f
    await this.#each('forEach', (value, key) => f(value, key() as K), withColumnsNamed(this.#plan, fields)) // keys of this plan
  }

  /** The extents of the keys; of a table its number of rows. */
  async shape(): Promise<K> {
    const { keys } = this.#plan
    return (keys.kind === 'rowNumber' ? [await this.count()] : await this.#engine.shape(this.#plan)) as unknown as K // as many as key axes
  }

  /** All elements as an Arrow table, copied into ordinary memory. */
  async toArrow(): Promise<Table> {
    return this.#engine.toArrowTable(this.#plan.element, await this.#engine.execute(this.#plan))
  }

  /** All numbers in key order, row-major; absent keys of a sparse array are 0. A copy. */
  async toTypedArray<V extends number | bigint>(this: ArrayActions<V, K>): Promise<TypedArray> {
    requireNumbers('toTypedArray', this.#plan.element)
    return this.#engine.toTypedArray(this.#plan)
  }

  /** The elements as Arrow record batches, one after another as they are computed. */
  async *batches(): AsyncGenerator<RecordBatch, void, undefined> {
    for await (const batch of this.#engine.stream(this.#plan)) yield this.#engine.toRecordBatch(this.#plan.element, batch)
  }

  /**
   * Writes a Parquet file; it appears under its name when it is complete. `compatibility: 'v1'` for old readers. A signal
   * ends the writing of any file, and leaves what was there. With `partitionBy` a folder of files, in folders named `year=2024`
   * after the values of these columns.
   */
  async writeParquet(path: string, options: WriteParquetOptions<T extends object ? keyof T & string : never> = {}): Promise<Written> {
    const form = parquetForm(options)
    return this.#write('writeParquet', path, form, options)
  }

  /** Writes an Arrow IPC file; it appears under its name when it is complete. `compression: 'zstd'` or `'lz4'` makes it smaller. */
  async writeArrow(path: string, options: WriteArrowOptions = {}): Promise<Written> {
    const form = arrowForm(options)
    return this.#write('writeArrow', path, form, options)
  }

  /** Writes a CSV file with a header line; it appears under its name when it is complete. `{ delimiter: ';', decimal: ',' }` for spreadsheets of much of Europe. */
  async writeCsv(path: string, options: WriteCsvOptions = {}): Promise<Written> {
    const form = csvForm(options)
    return this.#write('writeCsv', path, form, options)
  }

  /** Writes NDJSON, an object a line with every column in it; it appears under its name when it is complete. */
  async writeNdjson(path: string, options: WriteOptions = {}): Promise<Written> {
    return this.#write('writeNdjson', path, { kind: 'ndjson' }, checkWriting('writeNdjson', options))
  }

  /**
   * Writes the numbers as a NumPy file (.npy), row-major, under the dtype of the array; absent keys of a sparse array are 0. It appears under
   * its name when it is complete.
   */
  async writeNpy<V extends number | bigint | boolean>(
    this: ArrayActions<V, K>,
    path: string,
    options: WriteOptions = {},
  ): Promise<Written> {
    requireNumbers('writeNpy', this.#plan.element)
    return this.#write('writeNpy', path, { kind: 'npy' }, checkWriting('writeNpy', options))
  }

  /**
   * Saves an array of numbers or booleans that has keys of its own, with its shape, its dtype and the keys that are there, bit for bit, for
   * `session.load`. The file appears under its name when it is complete; others read it as an Arrow file. With `as: 'tensor'` it is a dense tensor
   * of Arrow, for pyarrow.ipc.read_tensor and its like: absent keys are 0, booleans are bytes.
   */
  async save<V extends number | bigint | boolean>(
    this: ArrayActions<V, K>,
    path: string,
    options: WriteOptions & { readonly as?: 'array' | 'tensor' } = {},
  ): Promise<Written> {
    requireNumbers('save', this.#plan.element)
    if (this.#plan.keys.kind === 'rowNumber')
      throw new PlanError(
        'save() keeps arrays with keys of their own, and this is a table. Write it with writeParquet() or writeArrow(), which keep all of it, or give it keys: index((value, [i]) => [i]).',
      )
    const { as = 'array', ...access } = checkWriting('save', options, ['as'])
    checkOneOf('The as of save()', as, ['array', 'tensor'])
    return this.#write('save', path, { kind: as }, access)
  }

  /** The elements in order, computed as they are asked for, partition by partition; breaking out of the loop ends that. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const batch of this.#engine.stream(this.#plan, { isUntyped: true })) {
      const read = rowReader(batch)
      for (let i = 0; i < batch.length; i++) yield read(i) as T // elements of this plan
    }
  }

  // ------------------------------------------------------------------ introspection

  /** The first `n` elements as a table to print: values, text and HTML. Reads no more than `take(n)` does. */
  async preview(n: number = 10): Promise<Preview<T>> {
    const plan = limitPlan(this.#plan, n, 'preview')
    const total = knownRows(this.#plan, this.#engine.holdings())
    const batches: Batch[] = []
    for await (const batch of this.#engine.stream(plan)) batches.push(batch)
    return previewOf<T>(batches, { element: this.#plan.element, total })
  }

  /**
   * Summarizes each column: type, nulls, extremes, mean and number of different values, in one pass over batches, so that the table
   * may be larger than the memory. Different values are counted exactly up to 100,000 a column, or 16 million characters of
   * texts; beyond that `isDistinctExact` is false. Values are read on the caller's thread.
   */
  async describe(): Promise<Description> {
    const describer = new Describer(this.#plan.element)
    for await (const batch of this.#engine.stream(this.#plan)) describer.add(batch)
    return describer.finish()
  }

  /** The columns of a row, or the type of a single value. PlanError while only running the plan can tell. */
  get schema(): ArrowSchema | DataType {
    const { element } = this.#plan
    if (isKnown(element)) return this.#engine.arrowSchema(element)
    throw new PlanError(
      'The schema is not known before the array is computed, because a function in its plan runs as JavaScript (explain() says which and why), or fromRows() was given no rows and no { schema }.\n' +
        'Use (await array.toArrow()).schema, or write the function so that it can be analysed.',
    )
  }

  /**
   * The plan as written, the rules that changed it, and the stages that run; lambdas that were refused, with the reason.
   * `analyze: true` runs the plan, as `collect()` does, and resolves to the plan that ran: rows, milliseconds and bytes of each operator,
   * which pieces of files were read, and whether kernels or JavaScript ran it, with the reason.
   */
  explain(options: ExplainOptions & { readonly analyze: true }): Promise<string>
  explain(options?: ExplainOptions & { readonly analyze?: false }): string
  explain(options: ExplainOptions & { readonly analyze?: boolean } = {}): string | Promise<string> {
    checkOptions('explain()', options, ['verbose', 'format', 'analyze'])
    const { verbose = false, format = 'text', analyze = false } = options
    checkBoolean('The verbose of explain()', verbose)
    checkBoolean('The analyze of explain()', analyze)
    checkOneOf('The format of explain()', format, ['text', 'json'])
    return analyze ? this.#engine.analyze(this.#plan, { verbose, format }) : this.#engine.explain(this.#plan, { verbose, format })
  }

  // ------------------------------------------------------------------ inside

  #noFunction(method: string, more: readonly unknown[]): void {
    checkNoMore(`${method}() takes no arguments`, more, `Write map((row) => row.price).${method}().`)
  }

  /** Checks columns and async functions as for lambdas of the plan; the function itself runs on this thread. */
  #check(method: string, f: (...args: never[]) => unknown, takes: string, inputs: readonly ElementType[]): void {
    lowerFunction(this.#engine, method, f, { inputs, takes, isAction: true })
  }

  async #fold<A>(fold: TreeFold<A, T>, combine: (a: A, b: A) => A): Promise<{ readonly value: A } | undefined> {
    await this.#each('reduce', (value) => fold.add(value))
    return fold.finish(combine)
  }

  async #values(plan: LogicalPlan, signal?: AbortSignal): Promise<T[]> {
    const batches = await this.#engine.execute(plan, signal === undefined ? {} : { signal })
    return valuesOf(batches) as T[] // elements of this plan
  }

  /** The elements of a plan of a few, read partition after partition, so that the session's memory need not hold the partitions. */
  async #first(plan: LogicalPlan): Promise<T[]> {
    const values: T[] = []
    for await (const batch of this.#engine.stream(plan)) for (const value of valuesOf([batch])) values.push(value as T) // elements of this plan
    return values
  }

  /**
   * Calls `visit` for every element in order; what it throws becomes the cause of a TaskError with the key. Elements are not awaited one by
   * one, which takes a multiple of what a short function does.
   */
  async #each(method: string, visit: (value: T, key: () => Key) => void, plan: LogicalPlan = this.#plan): Promise<void> {
    const keys = new KeyReader()
    for await (const batch of this.#engine.stream(plan)) {
      const read = rowReader(batch)
      const keyOf = keys.keysOf(batch)
      let at = 0
      const key = (): Key => keyOf(at)
      for (; at < batch.length; at++) {
        const value = read(at) as T // elements of this plan
        try {
          visit(value, key)
        } catch (cause) {
          throw failedAt(method, key(), cause)
        }
      }
    }
  }

  async #numberBatches(method: string, moment: Moment, visit: (batch: Batch) => void): Promise<void> {
    requireNumbers(method, this.#plan.element)
    for await (const batch of this.#engine.stream(this.#plan, { moment })) {
      requireNumbers(method, batch.element)
      visit(batch)
    }
  }

  async #summed(method: string): Promise<{ readonly total: number | bigint; readonly count: number }> {
    const moment = this.#engine.moment(this.#plan)
    const folded = await this.#folded(method, 'sum', moment)
    if (folded?.value !== undefined) return { total: checkedSum(folded.value), count: folded.count }
    const sum = new NumberSum()
    await this.#numberBatches(method, moment, (batch) => batch.columns[0] !== undefined && sum.addColumn(batch.columns[0]))
    return { total: sum.finish(), count: sum.count }
  }

  async #folded(method: string, kind: FoldKind, moment: Moment): Promise<Folded | undefined> {
    requireNumbers(method, this.#plan.element)
    return await this.#engine.fold(this.#plan, kind, moment)
  }

  async #extreme(which: 'min' | 'max'): Promise<number | bigint | undefined> {
    const moment = this.#engine.moment(this.#plan)
    const folded = await this.#folded(which, which, moment)
    if (folded !== undefined) return folded.value
    let result: number | bigint | undefined
    await this.#numberBatches(which, moment, (batch) => {
      if (batch.columns[0] !== undefined) result = extremeOf(batch.columns[0], which, result)
    })
    return result
  }

  async #write(method: string, path: string, form: WriteForm, { signal, timeoutMs, retries, s3 }: WriteOptions): Promise<Written> {
    if (typeof path !== 'string' || path === '') throw new PlanError(`${method}() needs the path of the file to write.`)
    if (path.includes('\0'))
      throw new PlanError(`The path of ${method}() has a character of code 0, which no file's name has: ${valueText(path)}.`)
    return this.#engine.write(this.#plan, { method, path, ...defined({ signal, timeoutMs, retries, s3 }) }, form)
  }
}
