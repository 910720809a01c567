/**
 * Calls of a Spark Connect server over gRPC: messages in, messages out, and errors with their cure.
 *
 * A server that hangs is told from a query that takes long by a question beside it: when a call has been silent for a
 * while, the server is asked for a setting, which takes it no work. Pings of HTTP/2 would say less, and Spark's server
 * closes connections that send them.
 */
import {
  type ChannelOptions,
  Client,
  type ClientReadableStream,
  credentials,
  Metadata,
  type MetadataValue,
  type ServiceError,
  status,
} from '@grpc/grpc-js'
import { SourceError } from '../../core/errors.ts'
import type { SparkAddress } from './address.ts'
import type { Messages } from './messages.ts'
import { decode, encode } from './wire.ts'

/** Milliseconds that the first call waits for a connection: a server that is down says nothing for so long. */
const CONNECT_MS = 4000
const REASON_MS = 300
/** Milliseconds of silence after which the server is asked whether it is there … */
const SILENCE_MS = 1500
/** … and milliseconds that it has to answer. Together less than 5 s. */
const ANSWER_MS = 2500

const OPTIONS: ChannelOptions = {
  'grpc.max_receive_message_length': -1,
  'grpc.max_send_message_length': -1,
  'grpc.enable_retries': 0,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1000,
  'grpc-node.flow_control_window': 16 * 2 ** 20,
}

/** The calls that are made, with their messages. */
interface Methods {
  readonly AnalyzePlan: readonly ['AnalyzePlanRequest', 'AnalyzePlanResponse']
  readonly Config: readonly ['ConfigRequest', 'ConfigResponse']
  readonly Interrupt: readonly ['InterruptRequest', 'InterruptResponse']
  readonly ReleaseExecute: readonly ['ReleaseExecuteRequest', 'ReleaseExecuteResponse']
  readonly ReleaseSession: readonly ['ReleaseSessionRequest', 'ReleaseSessionResponse']
  readonly ExecutePlan: readonly ['ExecutePlanRequest', 'ExecutePlanResponse']
  readonly ReattachExecute: readonly ['ReattachExecuteRequest', 'ExecutePlanResponse']
}
export type Method = keyof Methods
export type RequestOf<M extends Method> = Messages[Methods[M][0]]
export type ResponseOf<M extends Method> = Messages[Methods[M][1]]

const METHODS: Methods = {
  AnalyzePlan: ['AnalyzePlanRequest', 'AnalyzePlanResponse'],
  Config: ['ConfigRequest', 'ConfigResponse'],
  Interrupt: ['InterruptRequest', 'InterruptResponse'],
  ReleaseExecute: ['ReleaseExecuteRequest', 'ReleaseExecuteResponse'],
  ReleaseSession: ['ReleaseSessionRequest', 'ReleaseSessionResponse'],
  ExecutePlan: ['ExecutePlanRequest', 'ExecutePlanResponse'],
  ReattachExecute: ['ReattachExecuteRequest', 'ExecutePlanResponse'],
}

export interface SparkChannel {
  call<M extends Method>(method: M, request: RequestOf<M>, options?: CallOptions): Promise<ResponseOf<M>>
  /** The messages of an answer as they come. Ending the iteration ends the call. */
  stream<M extends Method>(method: M, request: RequestOf<M>, signal?: AbortSignal): AsyncGenerator<ResponseOf<M>, void, undefined>
  /** Whether the server was there once. */
  wasReached(): boolean
  close(): void
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  /** The time that the call may take; without it, as long as the server answers questions beside it. */
  readonly deadlineMs?: number
}

/** Opens a channel. `probe` asks the server for something that is no work, within the milliseconds that it is given. */
export function sparkChannel(address: SparkAddress, probe: (deadlineMs: number) => Promise<unknown>): SparkChannel {
  const own = address.useSsl ? credentials.createSsl() : credentials.createInsecure()
  const agent = address.userAgent === undefined ? {} : { 'grpc.primary_user_agent': address.userAgent }
  const client = new Client(address.target, own, { ...OPTIONS, ...agent })
  let ready: Promise<void> | undefined
  let isReached = false

  const metadata = (): Metadata => {
    const made = new Uncompressed()
    for (const [name, value] of address.headers) made.set(name, value)
    if (address.token !== undefined) made.set('authorization', `Bearer ${address.token}`)
    return made
  }

  /** The reason why there is no connection, as a call is told at once; undefined where it is not known. */
  const lastFailure = async (): Promise<string | undefined> =>
    await new Promise((resolve) => {
      const bytes = (message: Buffer): Buffer => message
      const settings = { deadline: Date.now() + REASON_MS }
      client.makeUnaryRequest(pathOf('Config'), bytes, bytes, Buffer.alloc(0), settings, (error) =>
        resolve(/Last error: (?:Error: )?(?!Failed to connect)(.*?)\. Resolution note/s.exec(error?.details ?? '')?.[1]),
      )
    })

  const connected = async (): Promise<void> => {
    ready ??= new Promise((resolve, reject) => {
      client.waitForReady(Date.now() + CONNECT_MS, (error) => {
        isReached ||= error === undefined || error === null
        if (error === undefined || error === null) return resolve()
        ready = undefined // a server may be started later
        void lastFailure().then((reason) => reject(absent(address, reason, error)))
      })
    })
    await ready
  }

  /** Ends a call whose server says nothing, neither there nor when it is asked. */
  const watched = (cancel: (error: SourceError) => void): { heard(): void; end(): void } => {
    let timer: NodeJS.Timeout | undefined
    let isOver = false
    const arm = (): void => {
      clearTimeout(timer)
      if (!isOver) timer = setTimeout(ask, SILENCE_MS).unref()
    }
    const ask = (): void => {
      probe(ANSWER_MS).then(arm, (error: unknown) => {
        if (isOver) return
        // an answer that refuses is an answer
        if (error instanceof SparkFailure && error.code !== status.DEADLINE_EXCEEDED && error.code !== status.UNAVAILABLE) arm()
        else cancel(hanging(address, error))
      })
    }
    arm()
    return {
      heard: arm,
      end: () => {
        isOver = true
        clearTimeout(timer)
      },
    }
  }

  return {
    async call(method, request, { signal, deadlineMs } = {}) {
      signal?.throwIfAborted()
      await connected()
      const [asked, answered] = METHODS[method]
      return await new Promise((resolve, reject) => {
        const settings = deadlineMs === undefined ? {} : { deadline: Date.now() + deadlineMs }
        const call = client.makeUnaryRequest(
          pathOf(method),
          (message: Buffer) => message,
          (bytes: Buffer) => bytes,
          Buffer.from(encode(asked, request as never)),
          metadata(),
          settings,
          (error, bytes) => {
            watch?.end()
            signal?.removeEventListener('abort', abort)
            if (error !== null) return reject(failure(address, error))
            try {
              resolve(decode(answered, bytes ?? new Uint8Array(0)) as never)
            } catch (fault) {
              reject(fault)
            }
          },
        )
        const watch =
          deadlineMs === undefined
            ? watched((error) => {
                reject(error)
                call.cancel()
              })
            : undefined
        const abort = (): void => {
          reject(signal?.reason)
          call.cancel()
        }
        signal?.addEventListener('abort', abort, { once: true })
      })
    },

    async *stream(method, request, signal) {
      signal?.throwIfAborted()
      await connected()
      const [asked, answered] = METHODS[method]
      const call: ClientReadableStream<Buffer> = client.makeServerStreamRequest(
        pathOf(method),
        (message: Buffer) => message,
        (bytes: Buffer) => bytes,
        Buffer.from(encode(asked, request as never)),
        metadata(),
      )
      let ended: unknown
      const end = (error: unknown): void => {
        ended ??= error
        call.cancel()
      }
      const watch = watched(end)
      const abort = (): void => end(signal?.reason)
      signal?.addEventListener('abort', abort, { once: true })
      try {
        for await (const bytes of call) {
          if (ended !== undefined) break
          watch.heard()
          yield decode(answered, bytes as Buffer) as never
        }
      } catch (error) {
        throw ended ?? (isServiceError(error) ? failure(address, error) : error)
      } finally {
        watch.end()
        signal?.removeEventListener('abort', abort)
        call.on('error', () => {}) // of its own end
        call.cancel()
      }
      if (ended !== undefined) throw ended
    },

    wasReached: () => isReached,
    close: () => client.close(),
  }
}

const ENCODINGS = 'grpc-accept-encoding'

/**
 * Headers that ask for answers as they are. The library takes gzip whenever a server has it, and rows of Arrow then cost
 * more to pack and unpack than to send; it has no setting for this, and puts its own header over ours, but for here.
 */
class Uncompressed extends Metadata {
  override set(name: string, value: MetadataValue): void {
    super.set(name, name === ENCODINGS ? 'identity' : value)
  }

  override clone(): Metadata {
    const copy = new Uncompressed(this.getOptions())
    copy.merge(this)
    return copy
  }
}

function pathOf(method: Method): string {
  return `/spark.connect.SparkConnectService/${method}`
}

/** The error that the server, or the way to it, answered in place of a result. */
export class SparkFailure extends SourceError {
  readonly code: status
  constructor(message: string, source: string, code: status, cause: unknown) {
    super(message, source, { cause })
    this.code = code
  }
}

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && 'code' in error && 'details' in error
}

function absent({ text, useSsl }: SparkAddress, reason: string | undefined, cause: Error): SourceError {
  const why = reason === undefined ? '' : ` (${reason})`
  const cure =
    useSsl && /certificate/.test(reason ?? '')
      ? 'Have Node trust its certificate: NODE_EXTRA_CA_CERTS names a file of those that it trusts besides its own.'
      : 'Start it, or look at the address: host, port, and ;use_ssl=true where the server wants TLS.'
  return new SparkFailure(
    `No Spark Connect server answers at ${text} within ${CONNECT_MS / 1000} s${why}. ${cure}`,
    text,
    status.UNAVAILABLE,
    cause,
  )
}

function hanging({ text }: SparkAddress, cause: unknown): SourceError {
  return new SparkFailure(
    `The Spark server at ${text} says nothing any more: it did not answer a question of its settings within ${ANSWER_MS / 1000} s. Look whether it runs and can be reached.`,
    text,
    status.DEADLINE_EXCEEDED,
    cause,
  )
}

function failure({ text, token }: SparkAddress, error: ServiceError): SourceError {
  const { code, details } = error
  const said = sentence(details)
  switch (code) {
    case status.UNAUTHENTICATED:
    case status.PERMISSION_DENIED: {
      const what = token === undefined ? 'wants a token' : 'refuses the token'
      const cure = token === undefined ? 'Add one to its address, as in sc://host:15002/;token=…' : 'Give one that is valid.'
      return new SparkFailure(`The Spark server at ${text} ${what}: ${said} ${cure}`, text, code, error)
    }
    case status.UNAVAILABLE:
      return new SparkFailure(`The Spark server at ${text} was lost: ${said} Look whether it still runs.`, text, code, error)
    case status.UNIMPLEMENTED:
      return new SparkFailure(`The server at ${text} does not know this call of Spark Connect: ${said}`, text, code, error)
    default:
      return new SparkFailure(`Spark at ${text} says: ${said}`, text, code, error)
  }
}

function sentence(text: string): string {
  const trimmed = text.trim()
  return /[.!?]$/.test(trimmed) ? trimmed : `${trimmed}.`
}
