/**
 * The use that links make of gRPC: one service of raw frames, and options of both ends.
 *
 *     Feed(feed frame) -> stream of frames        Call(frame) -> frame
 *
 * The receiver dials: the window in which data may be under way is set by clients only, so that what is sent *to* a server is
 * bound to 64 KiB a round trip (grpc-js 1.14.7).
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type ChannelCredentials,
  type ChannelOptions,
  Client,
  credentials,
  type handleServerStreamingCall,
  type handleUnaryCall,
  Server,
  ServerCredentials,
} from '@grpc/grpc-js'
import { isError } from '../../../core/isError.ts'
import { MOST_FRAME_BYTES } from './frame.ts'
import type { GangSettings } from './settings.ts'

const FEED = '/distarray.Gang/Feed'
const CALL = '/distarray.Gang/Call'
const WINDOW_BYTES = 16 * 2 ** 20
/** The name that certificates of a gang are for, whatever the machine is called. */
const NAME = 'distarray'

const raw = { serialize: (bytes: Buffer): Buffer => bytes, deserialize: (bytes: Buffer): Buffer => bytes }
const method = (path: string, isStream: boolean) => ({
  path,
  requestStream: false,
  responseStream: isStream,
  requestSerialize: raw.serialize,
  requestDeserialize: raw.deserialize,
  responseSerialize: raw.serialize,
  responseDeserialize: raw.deserialize,
})

export interface Handlers {
  readonly feed: handleServerStreamingCall<Buffer, Buffer>
  readonly call: handleUnaryCall<Buffer, Buffer>
}

/** The gRPC options of both ends. Each sends keepalives; a proxy that the environment names is for the web, and not used. */
function optionsOf({ patienceMs }: GangSettings): ChannelOptions {
  return {
    'grpc.keepalive_time_ms': Math.floor(patienceMs * 0.4),
    'grpc.keepalive_timeout_ms': Math.ceil(patienceMs * 0.6),
    'grpc.keepalive_permit_without_calls': 1,
    'grpc.max_receive_message_length': MOST_FRAME_BYTES,
    'grpc.max_send_message_length': MOST_FRAME_BYTES,
    'grpc.enable_http_proxy': 0,
    'grpc.enable_retries': 0,
    'grpc.initial_reconnect_backoff_ms': 100,
    'grpc.max_reconnect_backoff_ms': 500,
    'grpc-node.flow_control_window': WINDOW_BYTES,
  }
}

/** A server that listens. It is closed before its thread ends: Node 20 ends the whole process if the first bytes of a call come in meanwhile. */
export interface Served {
  readonly port: number
  /** Ends all calls and listens no more; resolves when nothing can come any more. */
  close(): Promise<void>
}

/** Starts a server at `host`; port 0 asks for any that is free. */
export async function serve(settings: GangSettings, host: string, port: number, handlers: Handlers): Promise<Served> {
  const server = new Server(optionsOf(settings))
  server.addService({ feed: method(FEED, true), call: method(CALL, false) }, { feed: handlers.feed, call: handlers.call })
  const own = settings.tls === undefined ? ServerCredentials.createInsecure() : serverCredentials(settings.tls)
  return await new Promise((resolve, reject) => {
    server.bindAsync(addressText(host, port), own, (error, bound) => (error === null ? resolve({ port: bound, close }) : reject(error)))
  })
  async function close(): Promise<void> {
    server.forceShutdown()
    // sessions of HTTP/2 let go of their sockets in the turn after
    for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
}

/** A client of another process's server. */
export class Dialled {
  readonly #client: Client
  constructor(settings: GangSettings, host: string, port: number) {
    const own = settings.tls === undefined ? credentials.createInsecure() : clientCredentials(settings.tls)
    const name = settings.tls === undefined ? {} : { 'grpc.ssl_target_name_override': NAME, 'grpc.default_authority': NAME }
    this.#client = new Client(addressText(host, port), own, { ...optionsOf(settings), ...name })
  }

  async call(frame: Buffer, timeoutMs: number): Promise<Buffer> {
    return await new Promise((resolve, reject) => {
      const deadline = Date.now() + timeoutMs
      this.#client.makeUnaryRequest(CALL, raw.serialize, raw.deserialize, frame, { deadline }, (error, answer) => {
        if (error !== null || answer === undefined) reject(error ?? new Error('There was no answer.'))
        else resolve(answer)
      })
    })
  }

  /** Opens the feed of frames from the server. `ended` is called with the reason when it ends. */
  feed(frame: Buffer, { took, ended }: { readonly took: (frame: Buffer) => void; readonly ended: (why: string) => void }): void {
    const stream = this.#client.makeServerStreamRequest(FEED, raw.serialize, raw.deserialize, frame)
    stream.on('data', took)
    stream.on('error', (error) => ended(error.message))
    stream.on('end', () => ended('it closed the link'))
  }

  close(): void {
    this.#client.close()
  }
}

function addressText(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

interface Certificates {
  readonly ca: Buffer
  readonly certificate: Buffer
  readonly key: Buffer
}

function certificatesIn(folder: string): Certificates {
  const read = (name: string): Buffer => {
    try {
      return readFileSync(join(folder, name))
    } catch (error) {
      throw new Error(`DA_TLS: ${isError(error) ? error.message : String(error)}`)
    }
  }
  return { ca: read('ca.pem'), certificate: read('cert.pem'), key: read('key.pem') }
}

/** Credentials of a server, whose callers have to show a certificate of the same authority. */
function serverCredentials(folder: string): ServerCredentials {
  const { ca, certificate, key } = certificatesIn(folder)
  return ServerCredentials.createSsl(ca, [{ cert_chain: certificate, private_key: key }], true)
}

function clientCredentials(folder: string): ChannelCredentials {
  const { ca, certificate, key } = certificatesIn(folder)
  return credentials.createSsl(ca, key, certificate)
}
