/** A server of Spark Connect that plays what a test gives it. */
import { Server, ServerCredentials, type ServerUnaryCall, type ServerWritableStream, type sendUnaryData } from '@grpc/grpc-js'
import { sparkAddress } from '../src/io/spark/address.ts'
import { type SparkClient, sparkClient } from '../src/io/spark/client.ts'
import type { ExecutePlanResponse } from '../src/io/spark/messages.ts'
import { encode } from '../src/io/spark/wire.ts'

export type Stream = ServerWritableStream<Buffer, Buffer>
export type Unary = (call: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>) => void
export interface Played {
  readonly Config?: Unary
  readonly AnalyzePlan?: Unary
  readonly ExecutePlan?: (call: Stream) => void
  readonly ReattachExecute?: (call: Stream) => void
}

/** What is to be called in the end, the last first. */
export const ended: (() => Promise<void> | void)[] = []

/** Ends all servers and their clients: for `afterEach`. */
export async function endPlayed(): Promise<void> {
  for (const end of ended.splice(0).reverse()) await end()
}

const METHODS: Readonly<Record<string, boolean>> = {
  ...{ Config: false, AnalyzePlan: false, Interrupt: false, ReleaseExecute: false, ReleaseSession: false },
  ...{ ExecutePlan: true, ReattachExecute: true },
}

/** A server that plays the methods given, and answers the others with nothing; `calls` are the methods called, in order. */
export async function playing(
  played: Played,
): Promise<{ readonly client: SparkClient; readonly calls: readonly string[]; readonly at: string }> {
  const server = new Server()
  const calls: string[] = []
  for (const [name, responseStream] of Object.entries(METHODS)) {
    const path = `/spark.connect.SparkConnectService/${name}`
    const bytes = (message: Buffer): Buffer => message
    const codec = { requestSerialize: bytes, requestDeserialize: bytes, responseSerialize: bytes, responseDeserialize: bytes }
    const play = played[name as keyof Played] as ((...given: unknown[]) => void) | undefined
    const nothing: Unary = (_, answer) => answer(null, Buffer.alloc(0))
    server.addService(
      { [name]: { path, requestStream: false, responseStream, ...codec } },
      {
        [name]: (...given: unknown[]) => {
          calls.push(name)
          if (play !== undefined) play(...given)
          else if (responseStream) (given[0] as Stream).end()
          else nothing(...(given as Parameters<Unary>))
        },
      },
    )
  }
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) => (error === null ? resolve(bound) : reject(error)))
  })
  ended.push(() => server.forceShutdown())
  const at = `sc://127.0.0.1:${port}`
  const client = sparkClient(sparkAddress(at))
  ended.push(() => client.release())
  return { client, calls, at }
}

export const response = (message: Partial<ExecutePlanResponse>): Buffer =>
  Buffer.from(encode('ExecutePlanResponse', message as ExecutePlanResponse))
