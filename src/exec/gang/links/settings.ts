/**
 * The place of this process in a gang by variables of the environment (`DA_*`), which `distarray run` sets, from an engine's
 * variables or for processes that it starts.
 *
 *     DA_WORLD    how many processes; without it, or with 1, there is no gang
 *     DA_RANK     the number of this one; 0 runs the program
 *     DA_JOB      a name that all of them have and no other gang
 *     DA_ATTEMPT  how often the gang was started before
 *     DA_RDZV     where rank 0 listens: host:port, or file:path of a file into which it writes that
 *     DA_TOKEN    a secret of all of them
 *     DA_HOST     the name or address under which the others reach this process; the loopback unless given
 *     DA_TLS      a folder with ca.pem, cert.pem and key.pem; needed where addresses are not the loopback's
 *     DA_JOIN_SECONDS, DA_PATIENCE_MS   how long to wait for all to join, and for a process that does not answer
 */
import { valueText } from '../../../core/data/valueKinds.ts'
import { GangError } from '../../../core/errors.ts'

export interface GangSettings {
  readonly world: number
  readonly rank: number
  readonly job: string
  readonly attempt: number
  readonly rendezvous: Rendezvous
  readonly token: string
  readonly host: string
  readonly tls?: string
  readonly joinMs: number
  /** The time without an answer after which a process counts as lost. */
  readonly patienceMs: number
  /** Whether long bodies go over links even within a machine, as benches compare. */
  readonly hasNoRings?: true
}

export type Rendezvous =
  | { readonly kind: 'address'; readonly host: string; readonly port: number }
  | { readonly kind: 'file'; readonly path: string }

type Environment = Readonly<Record<string, string | undefined>>

const MOST_PROCESSES = 4096
const LEAST_TOKEN = 16

/** The settings by the environment; undefined where this process is alone. Throws GangError for variables that make no sense. */
export function settingsOf(env: Environment): GangSettings | undefined {
  if (env.DA_WORLD === undefined || env.DA_WORLD === '') return undefined
  const world = wholeNumber(env, 'DA_WORLD', { least: 1, most: MOST_PROCESSES })
  if (world === 1) return undefined
  checkAllSet(env)
  const tls = env.DA_TLS === undefined || env.DA_TLS === '' ? {} : { tls: env.DA_TLS }
  const settings: GangSettings = {
    world,
    rank: wholeNumber(env, 'DA_RANK', { least: 0, most: world - 1 }),
    job: text(env, 'DA_JOB'),
    attempt: wholeNumber(env, 'DA_ATTEMPT', { least: 0, most: 2 ** 31, otherwise: 0 }),
    rendezvous: rendezvousOf(text(env, 'DA_RDZV')),
    token: text(env, 'DA_TOKEN'),
    host: env.DA_HOST === undefined || env.DA_HOST === '' ? '127.0.0.1' : env.DA_HOST,
    ...tls,
    joinMs: 1000 * wholeNumber(env, 'DA_JOIN_SECONDS', { least: 1, most: 86_400, otherwise: 60 }),
    patienceMs: wholeNumber(env, 'DA_PATIENCE_MS', { least: 500, most: 600_000, otherwise: 2500 }),
  }
  if (settings.token.length < LEAST_TOKEN) {
    throw new GangError(
      `DA_TOKEN has ${settings.token.length} characters. It is a secret of at least ${LEAST_TOKEN}, the same for all processes, as openssl rand -hex 16 makes one.`,
      'settings',
    )
  }
  checkHost(settings)
  return settings
}

/** What each process of a gang has to be told. */
const NEEDED = ['DA_RANK', 'DA_JOB', 'DA_RDZV', 'DA_TOKEN'] as const

/** Throws a GangError that names all variables which are not set, so that they need not be found one after another. */
function checkAllSet(env: Environment): void {
  const missing = NEEDED.filter((name) => env[name] === undefined || env[name] === '')
  if (missing.length < 2) return // text() says what is missing, and how to make it
  const names = `${missing.slice(0, -1).join(', ')} and ${missing.at(-1)}`
  throw new GangError(`DA_WORLD is set, and ${names} are not. distarray run sets all that a gang needs.`, 'settings')
}

/** Throws GangError for addresses beyond the loopback without certificates, since anybody could listen there. */
function checkHost({ host, tls, rendezvous }: GangSettings): void {
  if (tls !== undefined) return
  const open = [host, ...(rendezvous.kind === 'address' ? [rendezvous.host] : [])].find((one) => !isLoopback(one))
  if (open === undefined) return
  throw new GangError(
    `The gang would talk over ${open}, where others can listen. Give all processes DA_TLS, a folder with ca.pem, cert.pem and key.pem, or stay on 127.0.0.1.`,
    'settings',
  )
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d+){3}$/.test(host)
}

function text(env: Environment, name: string): string {
  const value = env[name]
  if (value !== undefined && value !== '') return value
  if (name === 'DA_TOKEN') {
    const cure = 'export DA_TOKEN=$(openssl rand -hex 16) before they are started.'
    throw new GangError(`DA_WORLD is set and DA_TOKEN is not: a secret of all processes. ${cure}`, 'settings')
  }
  throw new GangError(`DA_WORLD is set and ${name} is not. distarray run sets all that a gang needs.`, 'settings')
}

function wholeNumber(
  env: Environment,
  name: string,
  { least, most, otherwise }: { readonly least: number; readonly most: number; readonly otherwise?: number },
): number {
  if (otherwise !== undefined && (env[name] === undefined || env[name] === '')) return otherwise
  const value = text(env, name)
  const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN
  if (number >= least && number <= most) return number
  throw new GangError(`${name} is ${valueText(value)}. It is a whole number from ${least} to ${most}.`, 'settings')
}

function rendezvousOf(value: string): Rendezvous {
  if (value.startsWith('file:') && value.length > 5) return { kind: 'file', path: value.slice(5) }
  const [, host, digits] = /^(.+):(\d{1,5})$/.exec(value) ?? []
  const port = Number(digits)
  if (host !== undefined && port > 0 && port < 2 ** 16) return { kind: 'address', host: host.replace(/^\[(.*)\]$/, '$1'), port }
  throw new GangError(
    `DA_RDZV is ${valueText(value)}. It is where rank 0 listens, as node1:29400, or file:/path of a file that all see.`,
    'settings',
  )
}
