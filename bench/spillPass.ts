/**
 * One pass of one contender of `spill.bench.ts`, in a process of its own, whose memory is looked at:
 *
 *     node bench/results/spillPass.mjs '{"contender":"duckdb","question":"join","folder":"/tmp/x","budgetMb":64,"threads":2}'
 *
 * Prints milliseconds of the wall's clock and the processor's, from an open database to a written file, and the most bytes that were resident.
 */
import { join } from 'node:path'
import type { DuckDBInstance } from '@duckdb/node-api'
import { type DistArray, Session } from 'distarray'
import { QUESTIONS, type Visit } from './spillQuestions.ts'

export interface SpillPass {
  readonly contender: 'distarray' | 'duckdb'
  readonly question: string
  readonly folder: string
  readonly budgetMb: number
  readonly threads: number
}

export interface SpillFigures {
  readonly milliseconds: number
  readonly processorMs: number
  readonly residentBytes: number
  readonly spilledBytes: number
}

const given = JSON.parse(process.argv[2] ?? '') as SpillPass // of the bench
const { contender, folder, budgetMb, threads } = given
const question = QUESTIONS.find(({ name }) => name === given.question)
if (question === undefined) throw new Error(`There is no question ${given.question}.`)
const file = (name: string): string => join(folder, `${name}.parquet`)
const { begin, run, end } = contender === 'duckdb' ? duckdb(question.sql) : distarray(question.distarray)
await begin()
const before = process.cpuUsage()
const started = performance.now()
const spilledBytes = await run()
const milliseconds = performance.now() - started
const { user, system } = process.cpuUsage(before)
const figures: SpillFigures = {
  ...{ milliseconds, processorMs: (user + system) / 1000, spilledBytes },
  residentBytes: process.resourceUsage().maxRSS * 1024,
}
await end()
console.log(JSON.stringify(figures))

interface Contender {
  readonly begin: () => Promise<void>
  /** Says how much was spilled, where it is known. */
  readonly run: () => Promise<number>
  readonly end: () => Promise<void>
}

function distarray(query: (typeof QUESTIONS)[number]['distarray']): Contender {
  let session: Session
  let spilled = 0
  return {
    begin: async () => {
      session = await Session.start({ workers: threads, memory: `${budgetMb}MB`, progress: false, spillFolder: join(folder, 'spilled') })
      session.events.subscribe((event) => {
        if (event.kind === 'spill') spilled += event.bytes
      })
      // workers load their program when they are first asked for something
      const warm = session.fromColumns({ value: new Float64Array(100_000) })
      await warm.filter((w) => w.value === 0).count()
    },
    run: async () => {
      const [visits, others] = [await session.readParquet(file('visits')), await session.readParquet(file('others'))]
      await query(visits as unknown as DistArray<Visit>, others as unknown as DistArray<Visit>).writeParquet(file('distarray'))
      return spilled
    },
    end: async () => await session.stop(),
  }
}

function duckdb(sql: string): Contender {
  let instance: DuckDBInstance
  return {
    begin: async () => {
      const { DuckDBInstance } = await import('@duckdb/node-api') // its library takes memory too
      instance = await DuckDBInstance.create(':memory:', {
        ...{ threads: String(threads), memory_limit: `${budgetMb}MB`, temp_directory: join(folder, 'duckdb') },
        preserve_insertion_order: 'false', // which it says takes less memory
      })
    },
    run: async () => {
      const connection = await instance.connect()
      for (const name of ['visits', 'others']) await connection.run(`CREATE VIEW ${name} AS FROM '${file(name)}'`)
      await connection.run(`COPY (${sql}) TO '${file('duckdb')}'`)
      connection.closeSync()
      return 0
    },
    end: async () => instance.closeSync(),
  }
}
