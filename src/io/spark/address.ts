/**
 * The address of a Spark Connect server, as PySpark writes it:
 *
 *     sc://host:15002/;token=…;use_ssl=true;user_id=ada
 */
import { valueText } from '../../core/data/valueKinds.ts'
import { PlanError } from '../../core/errors.ts'
import { nearestNames } from '../../core/nearestNames.ts'

export interface SparkAddress {
  /** The address as it is shown: without the token. */
  readonly text: string
  /** The target of the connection: `host:port`. */
  readonly target: string
  readonly useSsl: boolean
  readonly token?: string
  readonly userId?: string
  readonly userAgent?: string
  readonly sessionId?: string
  /** Headers that are sent with every call. */
  readonly headers: readonly (readonly [name: string, value: string])[]
}

const DEFAULT_PORT = 15002
const PARAMETERS = ['token', 'use_ssl', 'user_id', 'user_agent', 'session_id'] as const
const EXAMPLE = "'sc://host:15002' or 'sc://host:15002/;token=…;use_ssl=true'"
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Reads an address. Throws PlanError for anything else. */
export function sparkAddress(tables: unknown): SparkAddress {
  if (typeof tables !== 'string')
    throw new PlanError(
      `The tables of Session.start() is the address of a Spark Connect server, as ${EXAMPLE}; it was given ${valueText(tables)}.`,
    )
  const match = /^sc:\/\/(\[[^\]]+\]|[^/:;[\]]+)(?::(\d+))?\/?(;.*)?$/.exec(tables)
  const [, host, port, rest = ''] = match ?? []
  const number = port === undefined ? DEFAULT_PORT : Number(port)
  if (host === undefined || number < 1 || number > 65_535)
    throw new PlanError(
      `The tables of Session.start() is "${withoutToken(tables)}", which is no address of a Spark Connect server. Write ${EXAMPLE}.`,
    )
  const given = new Map<string, string>()
  for (const part of rest.split(';')) {
    if (part === '') continue
    const at = part.indexOf('=')
    const name = at < 0 ? part : part.slice(0, at)
    if (at < 1)
      throw new PlanError(`The address of the Spark server has a part ";${name}" without a value. Write ;name=value, as in ${EXAMPLE}.`)
    given.set(name, decoded(name, part.slice(at + 1)))
  }
  const known = (name: (typeof PARAMETERS)[number]): string | undefined => given.get(name)
  const useSsl = known('use_ssl')
  if (useSsl !== undefined && useSsl !== 'true' && useSsl !== 'false')
    throw new PlanError(`The use_ssl of the Spark server's address is "${useSsl}". It is true or false.`)
  const sessionId = known('session_id')
  if (sessionId !== undefined && !UUID.test(sessionId))
    throw new PlanError(`The session_id of the Spark server's address is "${sessionId}". It is a UUID; without it there is a new one.`)
  const headers = [...given].filter(([name]) => !PARAMETERS.some((one) => one === name))
  for (const [name] of headers) {
    const [meant] = nearestNames(name, PARAMETERS)
    if (meant !== undefined) throw new PlanError(`The address of the Spark server has a part "${name}". Did you mean "${meant}"?`)
  }
  const token = known('token')
  // who has a token does not send it in the open, unless asked to
  const isSecure = useSsl === undefined ? token !== undefined : useSsl === 'true'
  const target = `${host}:${number}`
  return {
    text: `sc://${target}`,
    target,
    useSsl: isSecure,
    headers,
    ...(token === undefined ? {} : { token }),
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(given.has('user_id') ? { userId: given.get('user_id') as string } : {}),
    ...(given.has('user_agent') ? { userAgent: given.get('user_agent') as string } : {}),
  }
}

function decoded(name: string, value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    throw new PlanError(`The ${name} of the Spark server's address has a % that no two digits follow. Write encodeURIComponent(value).`)
  }
}

function withoutToken(text: string): string {
  return text.replace(/token=[^;]*/, 'token=…')
}
