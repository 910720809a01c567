/** The options and the result of `simulate()`: machines that a loop might run on, and the predicted cost of a pass there. */
import { valueText } from '../data/valueKinds.ts'
import { PlanError } from '../errors.ts'
import { checkOptions } from '../options.ts'

export interface SimulateOptions {
  /** The number of processes, of which the first has the arrays. */
  readonly nodes: number
  /** The worker threads of each process; by default those of the session. */
  readonly threads?: number
  /** The bandwidth of each node's connection: bytes a second, or text as '10Gbit' (the default) or '100Mbit'. */
  readonly bandwidth?: number | string
  /** The one-way latency between nodes in milliseconds; 0.1 by default. */
  readonly latency?: number
}

/** The prediction of a pass on other machines. Bytes follow from the plan; times from those of a pass here, measured or estimated. */
export interface Simulation {
  /** The number of nodes that run a part of the pass. */
  readonly nodes: number
  readonly threads: number
  /** The time of a pass from the second on, to which `bytes` belongs too; processes keep the elements that they have from pass to pass. */
  readonly milliseconds: number
  readonly bytes: number
  readonly firstMilliseconds: number
  readonly firstBytes: number
  /** The bytes of elements that nodes make by themselves before the first pass, as `random()`, `zeros()` and `fill()` describe them: nobody sends these. */
  readonly madeBytes: number
  /** The most bytes that each pass sends in addition: elements that are found changed by comparing, and private copies that were added to. */
  readonly changedBytes: number
  /** The mean time that threads wait for blocks or elements of others, which a pass reports under the same name. */
  readonly waitingMilliseconds: number
  /** The reason why the loop stays in one process; undefined where it does not. */
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

/** Reads the options of `simulate()`; throws PlanError where they make no sense. */
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
