/** What the client does where a server refuses, dies, hangs, forgets or talks nonsense: a server of our own plays each of them. */
import { createServer, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { status } from '@grpc/grpc-js'
import { afterEach, expect, test } from 'vitest'
import { ended, endPlayed, playing, response, type Stream, type Unary } from '../../../property-tests/playedSpark.ts'
import { SourceError } from '../../core/errors.ts'
import { sparkAddress } from './address.ts'
import { type SparkClient, sparkClient } from './client.ts'
import type { Messages } from './messages.ts'
import { decode } from './wire.ts'

afterEach(endPlayed)

/** The answers of a query: batches of one byte, which nobody here reads as Arrow. */
const batch = (n: number): Buffer => response({ responseId: `r${n}`, arrowBatch: { rowCount: 1n, data: Uint8Array.of(n) } })
const complete = (): Buffer => response({ responseId: 'last', resultComplete: {} })
const requested = <N extends keyof Messages>(name: N, call: { readonly request: Buffer }): Messages[N] => decode(name, call.request)
const failing = (call: Stream, code: status, details: string): void => {
  call.emit('error', Object.assign(new Error(details), { code, details }))
}

async function bytesOf(client: SparkClient): Promise<number[]> {
  const found: number[] = []
  for await (const { data } of client.execute({ sql: undefined } as never)) found.push(...(data ?? []))
  return found
}

/** The message of a failure, which comes in a few seconds. */
async function failureOf(work: Promise<unknown>): Promise<string> {
  const start = performance.now()
  const error: unknown = await work.then(
    () => 'nothing failed',
    (fault: unknown) => fault,
  )
  expect(error).toBeInstanceOf(SourceError)
  expect(performance.now() - start).toBeLessThan(10_000) // five, of a machine that has nothing else to do
  return (error as Error).message
}

test('a token that is wanted', async () => {
  const Config: Unary = (_, answer) => answer({ code: status.UNAUTHENTICATED, details: 'No valid token' })
  const without = await playing({ Config })
  expect(await failureOf(without.client.start())).toBe(
    `The Spark server at ${without.at} wants a token: No valid token. Add one to its address, as in sc://host:15002/;token=…`,
  )
  expect(without.calls).toEqual(['Config'])
})

test('nobody there', async () => {
  const client = sparkClient(sparkAddress('sc://127.0.0.1:1'))
  expect(await failureOf(client.start())).toBe(
    'No Spark Connect server answers at sc://127.0.0.1:1 within 4 s (connect ECONNREFUSED 127.0.0.1:1). Start it, or look at the address: host, port, and ;use_ssl=true where the server wants TLS.',
  )
  await client.release()
})

test('a server that hangs, before an answer and in the middle of one', async () => {
  const silent = await playing({ Config: () => {} })
  const hangs = (at: string): string =>
    `The Spark server at ${at} says nothing any more: it did not answer a question of its settings within 2.5 s. Look whether it runs and can be reached.`
  const middle = await playing({ Config: () => {}, ExecutePlan: (call) => void call.write(batch(1)) })
  const [first, second] = await Promise.all([failureOf(silent.client.start()), failureOf(bytesOf(middle.client))])
  expect(first).toBe(hangs(silent.at))
  expect(second).toBe(hangs(middle.at))
})

test('answers are asked for as they are, not gzipped', async () => {
  const encodings: unknown[] = []
  const server = createServer().on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    encodings.push(headers['grpc-accept-encoding'])
    stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '7', 'grpc-message': 'No' }, { endStream: true })
  })
  const port = await new Promise<number>((resolve) => server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)))
  ended.push(() => void server.close())
  const client = sparkClient(sparkAddress(`sc://127.0.0.1:${port}`))
  ended.push(() => client.release())
  expect(await failureOf(client.start())).toMatch('wants a token: No.')
  expect(await failureOf(bytesOf(client))).toMatch('wants a token: No.')
  expect(encodings.length).toBeGreaterThan(1)
  expect(new Set(encodings)).toEqual(new Set(['identity']))
})

test('an answer that takes long is waited for while the server answers questions', async () => {
  const { client, calls } = await playing({
    ExecutePlan: (call) => {
      setTimeout(() => {
        call.write(batch(7))
        call.write(complete())
        call.end()
      }, 3_500)
    },
  })
  expect(await bytesOf(client)).toEqual([7])
  expect(calls.filter((name) => name === 'Config').length).toBeGreaterThan(0)
})

test('an answer that breaks off is taken up again behind its last message, and the query is run once', async () => {
  const from: (string | undefined)[] = []
  const { client, calls } = await playing({
    ExecutePlan: (call) => {
      call.write(batch(1))
      call.write(batch(2))
      setTimeout(() => failing(call, status.UNAVAILABLE, 'the connection was lost'), 50)
    },
    ReattachExecute: (call) => {
      from.push(requested('ReattachExecuteRequest', call).lastResponseId)
      if (from.length > 1) {
        call.write(batch(3))
        call.write(complete())
      }
      call.end() // the first time without an answer, as servers end long ones
    },
  })
  expect(await bytesOf(client)).toEqual([1, 2, 3])
  expect(from).toEqual(['r2', 'r2'])
  expect(calls.filter((name) => name === 'ExecutePlan')).toHaveLength(1)
})

test('an answer that never goes on ends', async () => {
  const { client, at } = await playing({})
  expect(await failureOf(bytesOf(client))).toBe(`The Spark server at ${at} ended an answer 5 times without a message. Look at its log.`)
})

test('a server that was started again forgot the query: one that had begun is an error, another is sent again', async () => {
  const forgets = (call: Stream): void => failing(call, status.INTERNAL, '[INVALID_HANDLE.OPERATION_NOT_FOUND] The handle is invalid.')
  const begun = await playing({
    ExecutePlan: (call) => {
      call.write(batch(1))
      setTimeout(() => failing(call, status.UNAVAILABLE, 'gone'), 50)
    },
    ReattachExecute: forgets,
  })
  expect(await failureOf(bytesOf(begun.client))).toBe(
    `The Spark server at ${begun.at} forgot a query in the middle of its answer, as one that was started again does: Spark at ${begun.at} says: [INVALID_HANDLE.OPERATION_NOT_FOUND] The handle is invalid. Run the action again.`,
  )
  expect(begun.calls.filter((name) => name === 'ExecutePlan')).toHaveLength(1)
  let sent = 0
  const unbegun = await playing({
    ExecutePlan: (call) => {
      if (++sent === 1) return failing(call, status.UNAVAILABLE, 'gone')
      call.write(batch(4))
      call.write(complete())
      call.end()
    },
    ReattachExecute: forgets,
  })
  expect(await bytesOf(unbegun.client)).toEqual([4])
  expect(sent).toBe(2)
})

test('a query that fails is not run again', async () => {
  const { client, calls, at } = await playing({
    ExecutePlan: (call) => failing(call, status.INTERNAL, '[DIVIDE_BY_ZERO] Division by zero'),
  })
  expect(await failureOf(bytesOf(client))).toBe(`Spark at ${at} says: [DIVIDE_BY_ZERO] Division by zero.`)
  expect(calls.filter((name) => /Execute(Plan)?$/.test(name) && name !== 'ReleaseExecute')).toEqual(['ExecutePlan'])
})

test('messages that are cut, and bytes that are none, are typed errors', async () => {
  const cut = await playing({ ExecutePlan: (call) => void call.write(batch(1).subarray(0, -1)) })
  expect(await failureOf(bytesOf(cut.client))).toMatch(/Spark Connect/)
  const random = await playing({ AnalyzePlan: (_, answer) => answer(null, Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3])) })
  expect(await failureOf(random.client.schemaOf({} as never))).toMatch(/Spark Connect/)
  const empty = await playing({})
  expect(await failureOf(empty.client.schemaOf({} as never))).toBe(`Spark at ${empty.at} gave no schema of a plan.`)
})

test('an abort ends a query there too', async () => {
  const { client, calls } = await playing({ ExecutePlan: (call) => void call.write(batch(1)) })
  const controller = new AbortController()
  const seen = (async () => {
    for await (const _ of client.execute({} as never, controller.signal)) controller.abort(new Error('enough'))
  })()
  await expect(seen).rejects.toThrow('enough')
  await expect.poll(() => calls).toContain('Interrupt')
})
