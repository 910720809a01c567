/** Machines that a loop might run on, and what a pass would take there. */
import { valueText } from '../data/valueKinds.ts'
import { PlanError } from '../errors.ts'
import { checkOptions } from '../options.ts'

export interface SimulateOptions {
  /** Processes, of which the first has the arrays. */
  readonly nodes: number
  /** Worker threads of each; those of the session, unless given. */
  readonly threads?: number
  /** Of each node's connection: bytes a second, or text as '10Gbit' (the default) or '100Mbit'. */
  readonly bandwidth?: number | string
  /** Milliseconds from one node to another; 0.1 unless given. */
  readonly latency?: number
}

/** A pass on other machines. Bytes follow from the plan; times from what a pass takes here, measured or estimated. */
export interface Simulation {
  /** That run a part of it. */
  readonly nodes: number
  readonly threads: number
  /** Of a pass, from the second on; processes keep what they have from pass to pass. */
  readonly milliseconds: number
  readonly bytes: number
  readonly firstMilliseconds: number
  readonly firstBytes: number
  /** Of elements that nodes make by themselves before the first pass, as `random()`, `zeros()` and `fill()` describe them: nobody sends these. */
  readonly madeBytes: number
  /** At most so many bytes more are sent in each pass: what is found by comparing, and private copies that were added to. */
  readonly changedBytes: number
  /** How long the threads of a node wait for blocks of others, on average. */
  readonly waitingMilliseconds: number
  /** Why the loop stays in one process; undefined where it does not. */
  readonly because?: string | undefined
}

export interface Machines {
  readonly nodes: number
  readonly threads: number
  readonly bytesPerMs: number
  readonly latencyMs: number
}

const MOST_NODES = 4096
const MOST_THREADS = 1024
const BITS = { Kbit: 1e3, Mbit: 1e6, Gbit: 1e9, Tbit: 1e12 } as const

/** Throws PlanError for options that make no sense. */
export function machinesOf(options: SimulateOptions, workers: number): Machines {
  checkOptions('simulate()', options, ['nodes', 'threads', 'bandwidth', 'latency'])
  const { nodes, threads = workers, bandwidth = '10Gbit', latency = 0.1 } = options
  checkCountOf('nodes', nodes, MOST_NODES)
  checkCountOf('threads', threads, MOST_THREADS)
  if (typeof latency !== 'number' || !(latency >= 0 && latency < Number.POSITIVE_INFINITY))
    throw new PlanError(`The latency of simulate() is ${valueText(latency)}. It is a number of milliseconds, as 0.1.`)
  return { nodes, threads, bytesPerMs: bytesPerSecond(bandwidth) / 1000, latencyMs: latency }
}

function checkCountOf(name: string, value: unknown, most: number): void {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= most) return
  throw new PlanError(`The ${name} of simulate() are ${valueText(value)}. They are a whole number from 1 to ${most}.`)
}

function bytesPerSecond(bandwidth: unknown): number {
  if (typeof bandwidth === 'number' && bandwidth > 0) return bandwidth
  const [, digits, unit] = /^(\d+(?:\.\d+)?)(Kbit|Mbit|Gbit|Tbit)$/.exec(typeof bandwidth === 'string' ? bandwidth : '') ?? []
  const bits = Number(digits) * BITS[unit as keyof typeof BITS]
  if (bits > 0) return bits / 8
  throw new PlanError(
    `The bandwidth of simulate() is ${valueText(bandwidth)}. It is a number of bytes a second, or text as '10Gbit' or '100Mbit'.`,
  )
}
