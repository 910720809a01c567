/**
 * The tables of a session on a Spark Connect server: an executor that first has the server run the parts of a plan placed there.
 *
 *     optimized plan -> placed (`io/spark/plan.ts`) -> asked -> tables in memory -> the executor, as ever
 *
 * Loaded only where a session asks for it.
 */
import type { Subject } from 'rxjs'
import { checkOneOf } from '../core/arguments.ts'
import type { Storage } from '../core/arrays/storage.ts'
import type { Batch } from '../core/data/column.ts'
import type { Folded, FoldKind } from '../core/engine.ts'
import { PlanError } from '../core/errors.ts'
import { joinedSignal } from '../core/joinedSignal.ts'
import type { ArraySource, LogicalPlan } from '../core/plan/logicalPlan.ts'
import { mapInputs, nodeText, visitPlan } from '../core/plan/tree.ts'
import type { TableMemory } from '../core/ports.ts'
import type { SessionEvent } from '../core/sessionEvent.ts'
import type { StorageForm } from '../exec/arrays/fromBatches.ts'
import { Executor } from '../exec/tables/executor.ts'
import type { ExecutorOptions, RunOptions } from '../exec/tables/executorOptions.ts'
import type { Keeper } from '../exec/tables/run/run.ts'
import type { CsvOptions } from '../io/csv/csv.ts'
import type { Int64 } from '../io/int64.ts'
import type { NdjsonOptions } from '../io/json/ndjson.ts'
import { sourceFromBatches } from '../io/memory/memory.ts'
import type { FileSource, ReadOptions } from '../io/reading.ts'
import { sparkAddress } from '../io/spark/address.ts'
import { type SparkClient, sparkClient } from '../io/spark/client.ts'
import { foldRelation } from '../io/spark/folds.ts'
import type { Relation } from '../io/spark/messages.ts'
import { isQuery, placed, type TableOf, translate } from '../io/spark/plan.ts'
import { arrowOf, batchesOf, noRows } from '../io/spark/rows.ts'
import { openCsvThere, openNdjsonThere, openParquetThere, openTableThere } from '../io/spark/tables.ts'

/** The most bytes of a table that is sent to the server: one gRPC message has to hold it. */
const MOST_SENT_BYTES = 64 * 2 ** 20

export interface SparkTables {
  /** Makes the session's executor; its events go to the session's. */
  executor(options: ExecutorOptions, session: { readonly memory: TableMemory; readonly events: Subject<SessionEvent> }): Executor
  /** The plan with the parts placed on the server, for `explain()`. */
  placed(plan: LogicalPlan): LogicalPlan
  /** The server's own explanations of the parts of a plan that run there. */
  explained(plan: LogicalPlan): Promise<readonly string[]>
  parquet(source: FileSource, options: ReadOptions & { readonly columns?: readonly string[]; readonly int64?: Int64 }): Promise<ArraySource>
  csv(source: FileSource, options: CsvOptions): Promise<ArraySource>
  ndjson(source: FileSource, options: NdjsonOptions): Promise<ArraySource>
  table(name: unknown, options: ReadOptions & { readonly int64?: Int64 }): Promise<ArraySource>
  release(): Promise<void>
}

/** Connects to the server at once; rejects where it cannot be reached. */
export async function sparkTables(tables: unknown, fallback: 'local' | undefined): Promise<SparkTables> {
  if (fallback !== undefined) checkOneOf('The fallback of Session.start()', fallback, ['local'])
  const client = sparkClient(sparkAddress(tables))
  try {
    await client.start()
  } catch (error) {
    await client.release()
    throw error
  }
  const at = client.address.text
  return {
    executor: (options, session) => new SparkExecutor(options, { ...session, client, at, fallback }),
    placed: (plan) => placed(plan, { at, ...(fallback === undefined ? {} : { fallback: () => {} }) }),
    explained: async (plan) => {
      const queries: LogicalPlan[] = []
      visitPlan(placed(plan, { at, ...(fallback === undefined ? {} : { fallback: () => {} }) }), (node) => {
        if (isQuery(node)) queries.push(node)
      })
      return await Promise.all(queries.map(async (node) => await client.explain(translate(node, tableOrNothing).relation)))
    },
    parquet: async (source, options) => await openParquetThere(client, source, options),
    csv: async (source, options) => await openCsvThere(client, source, options),
    ndjson: async (source, options) => await openNdjsonThere(client, source, options),
    table: async (name, options) => await openTableThere(client, name, options),
    release: async () => await client.release(),
  }
}

/** The tables of a query that is only explained: tables that would be sent have no rows. */
const tableOrNothing: TableOf = (scan) =>
  scan.source.remote?.kind === 'sent' ? { localRelation: { data: arrowOf(scan.element, [noRows(scan.element)]) } } : tableOf(scan)

function tableOf(scan: Parameters<TableOf>[0]): Relation {
  const { remote } = scan.source
  if (remote?.kind !== 'table') throw new PlanError(`${scan.source.name} is not a table of the Spark server.`)
  return remote.detail as Relation // made by `openTable`
}

interface SparkSession {
  readonly client: SparkClient
  readonly at: string
  readonly fallback: 'local' | undefined
  readonly memory: TableMemory
  readonly events: Subject<SessionEvent>
}

class SparkExecutor extends Executor {
  readonly #session: SparkSession
  readonly #stopped: AbortSignal | undefined

  constructor(options: ExecutorOptions, session: SparkSession) {
    super(options)
    this.#session = session
    this.#stopped = options.stopped
  }

  override async execute(plan: LogicalPlan, options: RunOptions = {}): Promise<readonly Batch[]> {
    const local = this.#placed(plan)
    if (isQuery(local)) {
      const batches: Batch[] = []
      for await (const batch of this.#asked(local, options.signal)) batches.push(batch)
      if (options.record === undefined) return batches.length === 0 ? [noRows(local.element)] : batches
      return await super.execute(this.#inMemory(local, batches), options)
    }
    return await super.execute(await this.#fetched(local, options.signal), options)
  }

  override async *stream(plan: LogicalPlan, options: RunOptions = {}, keeper?: Keeper): AsyncGenerator<Batch, void, undefined> {
    const local = this.#placed(plan)
    if (isQuery(local)) yield* this.#asked(local, options.signal)
    else yield* super.stream(await this.#fetched(local, options.signal), options, keeper)
  }

  override streams(plan: LogicalPlan, options: RunOptions = {}): boolean {
    const local = this.#placed(plan)
    return isQuery(local) || (!hasQueries(local) && super.streams(local, options))
  }

  override async fold(plan: LogicalPlan, kind: FoldKind, options: RunOptions = {}): Promise<Folded | undefined> {
    const local = this.#placed(plan)
    if (!isQuery(local)) return await super.fold(await this.#fetched(local, options.signal), kind, options)
    const fold = foldRelation(local.element, kind, translate(local, await this.#tables(local, options.signal)))
    if (fold === undefined) return undefined
    let folded: Folded | undefined
    for await (const message of this.#session.client.execute(fold.relation, this.#signal(options.signal)))
      folded = fold.of(batchesOf(message, fold.element, { at: this.#session.at, firstRow: 0 })) ?? folded
    return folded
  }

  override async index(plan: LogicalPlan, form: StorageForm, options: RunOptions = {}): Promise<Storage> {
    return await super.index(await this.#fetched(this.#placed(plan), options.signal), form, options)
  }

  #placed(plan: LogicalPlan): LogicalPlan {
    const { at, fallback } = this.#session
    return placed(plan, { at, ...(fallback === undefined ? {} : { fallback: () => {} }) })
  }

  #signal(signal: AbortSignal | undefined): AbortSignal | undefined {
    const all = [signal, this.#stopped].filter((one) => one !== undefined)
    return all.length < 2 ? all[0] : joinedSignal(all)
  }

  /** Runs the parts that are placed on the server, and returns the plan with their results in their place. */
  async #fetched(plan: LogicalPlan, signal: AbortSignal | undefined): Promise<LogicalPlan> {
    const answers = new Map<LogicalPlan, LogicalPlan>()
    const queries = new Set<LogicalPlan>()
    visitPlan(plan, (node) => {
      if (isQuery(node)) queries.add(node)
    })
    let bytes = 0
    for (const node of queries) {
      const batches: Batch[] = []
      for await (const batch of this.#asked(node, signal, (more) => (bytes += more))) batches.push(batch)
      answers.set(node, this.#inMemory(node, batches))
    }
    if (queries.size > 0) this.#tellFallbacks(plan, bytes)
    const replaced = (node: LogicalPlan): LogicalPlan => answers.get(node) ?? mapInputs(node, replaced)
    return replaced(plan)
  }

  /** Sends a fallback event for each node that runs here because Spark cannot run it. */
  #tellFallbacks(plan: LogicalPlan, bytes: number): void {
    const { at, events, fallback } = this.#session
    if (fallback === undefined) return
    placed(plan, {
      at,
      fallback: (node, { message, span, cure }) =>
        events.next({
          kind: 'fallback',
          what: nodeText(node),
          because: `it ${message}: Spark sent ${bytes} bytes`,
          cure,
          ...(span === undefined ? {} : { span }),
        }),
    })
  }

  #inMemory(node: LogicalPlan, batches: readonly Batch[]): LogicalPlan {
    const source = sourceFromBatches(this.#session.at, node.element, batches, { memory: this.#session.memory })
    return node.kind === 'Scan' ? { ...node, source } : node
  }

  async *#asked(
    node: LogicalPlan,
    signal: AbortSignal | undefined,
    onBytes?: (more: number) => void,
  ): AsyncGenerator<Batch, void, undefined> {
    const { client, at } = this.#session
    const { relation } = translate(node, await this.#tables(node, signal))
    let firstRow = 0
    for await (const message of client.execute(relation, this.#signal(signal))) {
      onBytes?.(message.data?.length ?? 0)
      for (const batch of batchesOf(message, node.element, { at, firstRow })) {
        firstRow += batch.length
        if (batch.length > 0) yield batch
      }
    }
  }

  /** The tables that a part reads; those of this process are computed, and sent along with the query. */
  async #tables(node: LogicalPlan, signal: AbortSignal | undefined): Promise<TableOf> {
    const sent = new Map<ArraySource, Relation>()
    const found = new Set<LogicalPlan>()
    const search = (plan: LogicalPlan): void => {
      visitPlan(plan, (one) => {
        if (one.kind !== 'Scan') return
        if (one.source.remote?.kind === 'sent') found.add(one)
        if (one.source.remote?.kind === 'query') search(one.source.remote.plan)
      })
    }
    search(node)
    for (const scan of found) {
      if (scan.kind !== 'Scan' || scan.source.remote?.kind !== 'sent' || sent.has(scan.source)) continue
      const { plan } = scan.source.remote
      const batches = await super.execute(plan, signal === undefined ? {} : { signal })
      const data = arrowOf(plan.element, batches)
      if (data.length > MOST_SENT_BYTES) throw tooLarge(scan.source.name, data.length, this.#session.at)
      sent.set(scan.source, { localRelation: { data } })
    }
    return (scan) => sent.get(scan.source) ?? tableOf(scan)
  }
}

function hasQueries(plan: LogicalPlan): boolean {
  let found = false
  visitPlan(plan, (node) => {
    found ||= isQuery(node)
  })
  return found
}

function tooLarge(name: string, bytes: number, at: string): PlanError {
  return new PlanError(
    `${name.replace(/, sent$/, '')} has ${bytes} bytes, and at most ${MOST_SENT_BYTES} of a table are sent to Spark at ${at}. Write it where Spark reads it, as by writeParquet(), and open it by readParquet().`,
  )
}
