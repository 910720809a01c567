/** The identity that all processes of a gang have in common, and the proof that a process belongs to it. */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { GangError, type GangFault } from '../../../core/errors.ts'
import type { GangSettings } from './settings.ts'

/** The version of the protocol; it changes with every frame or message that another version would not understand. */
const PROTOCOL = 1

export interface Identity {
  readonly protocol: number
  readonly job: string
  readonly world: number
  readonly attempt: number
  /** Node's major version; with `engine`, the version of V8, the bits of Math.exp and of NaN depend on it. */
  readonly node: string
  readonly engine: string
  readonly architecture: string
  /** A digest of the program of worker threads; `sources` where that is a file. */
  readonly code: string
}

/** The identity of this process. `program` is the text of what worker threads run, or a file, whose address says nothing about its content. */
export function identityOf({ job, world, attempt }: GangSettings, program: string | URL): Identity {
  const isText = typeof program === 'string'
  return {
    protocol: PROTOCOL,
    job,
    world,
    attempt,
    node: process.versions.node.split('.')[0] ?? '',
    engine: process.versions.v8 ?? '',
    architecture: process.arch,
    code: isText ? createHash('sha256').update(program).digest('hex').slice(0, 16) : 'sources',
  }
}

interface Check {
  readonly field: keyof Identity
  readonly fault: GangFault
  readonly what: string
  readonly cure: string
}

/** The checks in the order in which mismatches are told: a gang of another job needs no further look. */
const CHECKS: readonly Check[] = [
  { field: 'job', fault: 'job', what: 'job', cure: 'Processes of one gang have one DA_JOB, and no two gangs one address.' },
  { field: 'attempt', fault: 'job', what: 'attempt', cure: 'A process of an earlier attempt is still there: end it.' },
  { field: 'world', fault: 'job', what: 'number of processes', cure: 'All have the same DA_WORLD.' },
  { field: 'protocol', fault: 'version', what: 'protocol', cure: 'Install one version of distarray for all.' },
  { field: 'code', fault: 'code', what: 'code of distarray', cure: 'Install one version of distarray for all.' },
  {
    field: 'node',
    fault: 'node',
    what: 'version of Node',
    cure: 'Run all with one version of Node: results of Math.exp and others depend on it.',
  },
  {
    field: 'engine',
    fault: 'node',
    what: 'version of V8',
    cure: 'Run all with one version of Node: results of Math.exp and others depend on it.',
  },
  {
    field: 'architecture',
    fault: 'architecture',
    what: 'architecture',
    cure: 'Run all on one kind of processor: the bits of NaN depend on it.',
  },
]

export interface Mismatch {
  readonly message: string
  readonly fault: GangFault
}

/** The reason why a process cannot belong to rank 0's gang; undefined if it can. */
export function mismatchOf(rank: number, own: Identity, other: Readonly<Record<string, unknown>>): Mismatch | undefined {
  for (const { field, fault, what, cure } of CHECKS) {
    if (other[field] === own[field]) continue
    return { fault, message: `Rank ${rank} has the ${what} ${String(other[field])}, rank 0 has ${own[field]}. ${cure}` }
  }
  return undefined
}

export function errorOf({ message, fault }: Mismatch, rank: number): GangError {
  return new GangError(message, fault, { rank })
}

/** A proof (HMAC) that only those who know the secret can make; `about` keeps a proof for one question from serving for another. */
export function proofOf(token: string, about: readonly (string | number)[]): string {
  return createHmac('sha256', token).update(JSON.stringify(about)).digest('hex')
}

export function isProof(given: unknown, token: string, about: readonly (string | number)[]): boolean {
  const wanted = Buffer.from(proofOf(token, about))
  const got = Buffer.from(typeof given === 'string' ? given : '')
  return got.length === wanted.length && timingSafeEqual(got, wanted)
}
