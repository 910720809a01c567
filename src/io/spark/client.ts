/**
 * A session of a Spark Connect server: schemas, plans explained, plans run.
 *
 * Only plans that read are sent, so that one whose answer never began may be sent again. An answer that has begun is
 * taken up again where it broke off (`ReattachExecute`), as the server ends long ones on its own. Nothing is waited for
 * longer than the channel waits for a sign of life.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { status } from '@grpc/grpc-js'
import { SourceError } from '../../core/errors.ts'
import type { SparkAddress } from './address.ts'
import { type SparkChannel, SparkFailure, sparkChannel } from './channel.ts'
import type { DataType, ExecutePlanRequest, ExecutePlanResponse_ArrowBatch, Relation, UserContext } from './messages.ts'

const CLIENT_TYPE = 'distarray'
/** The settings that results depend on, whatever the server's own are. */
const SETTINGS = [
  { key: 'spark.sql.session.timeZone', value: 'UTC' },
  { key: 'spark.sql.caseSensitive', value: 'true' },
  { key: 'spark.sql.ansi.enabled', value: 'false' },
] as const
/** Most attempts to take up an answer without a message in between, and the first pause before one. */
const MOST_ATTEMPTS = 5
const PAUSE_MS = 50

export interface SparkClient {
  readonly address: SparkAddress
  /** Sets the session's settings, which tells whether the server is there and lets us in. */
  start(signal?: AbortSignal): Promise<void>
  schemaOf(relation: Relation, signal?: AbortSignal): Promise<DataType>
  explain(relation: Relation, signal?: AbortSignal): Promise<string>
  /** The rows of a plan, as streams of Arrow. */
  execute(relation: Relation, signal?: AbortSignal): AsyncGenerator<ExecutePlanResponse_ArrowBatch, void, undefined>
  /** Ends the session. What the server does not answer is left to its own clock. */
  release(): Promise<void>
}

export function sparkClient(address: SparkAddress): SparkClient {
  const sessionId = address.sessionId ?? randomUUID()
  const userContext: UserContext = { userId: address.userId ?? '', userName: address.userId ?? '' }
  const own = { sessionId, userContext, clientType: CLIENT_TYPE }
  const channel: SparkChannel = sparkChannel(address, async (deadlineMs) => {
    await channel.call('Config', { ...own, operation: { getOption: { keys: [SETTINGS[0].key] } } }, { deadlineMs })
  })
  return {
    address,

    async start(signal) {
      await channel.call('Config', { ...own, operation: { set: { pairs: SETTINGS } } }, { signal })
    },

    async schemaOf(relation, signal) {
      const { schema } = await channel.call('AnalyzePlan', { ...own, schema: { plan: { root: relation } } }, { signal })
      if (schema?.schema === undefined) throw new SourceError(`Spark at ${address.text} gave no schema of a plan.`, address.text)
      return schema.schema
    },

    async explain(relation, signal) {
      const explain = { plan: { root: relation }, explainMode: 'EXPLAIN_MODE_SIMPLE' } as const
      return (await channel.call('AnalyzePlan', { ...own, explain }, { signal })).explain?.explainString ?? ''
    },

    async *execute(relation, signal) {
      let operation: Operation = { id: randomUUID(), isComplete: false }
      let attempts = 0
      let answer = channel.stream('ExecutePlan', requestOf(own, operation.id, relation), signal)
      try {
        for (;;) {
          try {
            for await (const message of answer) {
              attempts = 0
              if (message.responseId !== undefined) operation = { ...operation, lastResponse: message.responseId }
              if (message.resultComplete !== undefined) {
                operation = { ...operation, isComplete: true }
                return
              }
              if (message.arrowBatch !== undefined) yield message.arrowBatch
            }
            if (++attempts > MOST_ATTEMPTS) throw endless(address)
          } catch (error) {
            signal?.throwIfAborted()
            if (!(error instanceof SparkFailure)) throw error
            if (isForgotten(error)) {
              if (operation.lastResponse !== undefined) throw forgotten(address, error)
              operation = { id: randomUUID(), isComplete: false } // it never began
            } else if (!mayReattach(error)) throw error
            if (++attempts > MOST_ATTEMPTS) throw error
            if (isForgotten(error)) {
              answer = channel.stream('ExecutePlan', requestOf(own, operation.id, relation), signal)
              continue
            }
          }
          await sleep(PAUSE_MS * 2 ** (attempts - 1), undefined, { signal })
          const { id: operationId, lastResponse } = operation
          const from = lastResponse === undefined ? {} : { lastResponseId: lastResponse }
          answer = channel.stream('ReattachExecute', { ...own, operationId, ...from }, signal)
        }
      } finally {
        // nobody waits for what follows: the server ends by itself what nobody asks for
        if (!operation.isComplete)
          channel
            .call('Interrupt', { ...own, interruptType: 'INTERRUPT_TYPE_OPERATION_ID', operationId: operation.id }, { deadlineMs: 2000 })
            .catch(() => {})
        channel.call('ReleaseExecute', { ...own, operationId: operation.id, releaseAll: {} }, { deadlineMs: 2000 }).catch(() => {})
      }
    },

    async release() {
      if (channel.wasReached()) await channel.call('ReleaseSession', own, { deadlineMs: 1500 }).catch(() => {})
      channel.close()
    },
  }
}

interface Operation {
  readonly id: string
  readonly isComplete: boolean
  /** The id of the answer's last message so far. */
  readonly lastResponse?: string
}

function requestOf(
  own: { readonly sessionId: string; readonly userContext: UserContext },
  operationId: string,
  root: Relation,
): ExecutePlanRequest {
  return { ...own, operationId, plan: { root }, requestOptions: [{ reattachOptions: { reattachable: true } }] }
}

/** Whether only the way to the server broke. */
function mayReattach({ code, message }: SparkFailure): boolean {
  return code === status.UNAVAILABLE || (code === status.INTERNAL && /RST_STREAM|stream terminated/i.test(message))
}

/** Whether the server does not know the operation or the session. */
function isForgotten({ message }: SparkFailure): boolean {
  return /INVALID_HANDLE\.|operation not found|session not found|INVALID_CURSOR/i.test(message)
}

function forgotten({ text }: SparkAddress, cause: SparkFailure): SourceError {
  return new SourceError(
    `The Spark server at ${text} forgot a query in the middle of its answer, as one that was started again does: ${cause.message} Run the action again.`,
    text,
    { cause },
  )
}

function endless({ text }: SparkAddress): SourceError {
  return new SourceError(`The Spark server at ${text} ended an answer ${MOST_ATTEMPTS} times without a message. Look at its log.`, text)
}
