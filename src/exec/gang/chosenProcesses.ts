/** Whether a pass is worth other processes: its time in one process against the time of a portion and of sending. */

import type { DenseStorage } from '../../core/arrays/storage.ts'
import type { LoopPlan } from '../../core/loop/loopPlan.ts'
import type { BlockSchedule } from '../loops/blocks/schedule.ts'
import { busiestShare } from '../loops/passCost.ts'
import type { SentAgain } from './changingArrays.ts'
import type { LinkCost } from './linkCost.ts'
import { bytesOfBoxes } from './movement/edges.ts'
import type { Movement } from './movement/movement.ts'
import { messagesOf, type NumberedBox } from './movement/moves.ts'
import { sizeOfRegion } from './movement/passWire.ts'
import type { Placed, Placement } from './movement/placement.ts'

/** The gain from which a pass is shared: sending, waking and answering take that long. */
const LEAST_GAIN_MS = 3
/** The number of passes over which elements that are sent once are spread: a guess, as nobody knows how many follow. */
const PASSES = 8

export interface SharedPass {
  readonly placement: Placement
  readonly movement: Movement
  readonly blocks: BlockSchedule
  readonly storageOf: (number: number) => DenseStorage
  /** Bytes of whole arrays that other processes lack, and that stay as they are. */
  readonly missingBytes: number
  /** What is sent of whole arrays that change between passes. */
  readonly again: SentAgain
  /** The number of flushes between rounds, and the bytes that are sent at all of them together. */
  readonly rounds: { readonly count: number; readonly bytes: number }
  readonly links: LinkCost
}

export function chosenProcesses(
  { placement: { order, arrays }, movement: { nodes, fetches }, blocks, storageOf, missingBytes, again, rounds, links }: SharedPass,
  { count, aloneMs, workers }: { readonly count: number; readonly aloneMs: number; readonly workers: number },
): NonNullable<LoopPlan['execution']['processes']> {
  const bytesOf = (boxes: readonly NumberedBox[]): number => bytesOfBoxes(boxes, storageOf)
  const fetched = [...fetches.values()].reduce((sum, boxes) => sum + bytesOf(boxes), 0)
  const once = missingBytes + fetched + nodes.reduce((sum, { starts }) => sum + bytesOf(starts), 0)
  const compared = arrays.reduce((sum, { kind, storage }) => sum + (kind === 'compared' ? sizeOfRegion(storage).byteLength : 0), 0)
  const moved = nodes.reduce((sum, { ends, sends }) => sum + bytesOf([...ends, ...sends.flatMap(({ boxes }) => boxes)]), 0)
  const messages = Math.max(...nodes.map(messagesOf)) + again.messages
  const part = order.isFree ? 1 / count : busiestShare(blocks, count * workers) / busiestShare(blocks, workers)
  const bytes = once / PASSES + again.bytes + compared + moved + rounds.bytes
  const sendMs = bytes * links.msPerByte + (messages + 2 * rounds.count) * links.messageMs
  const togetherMs = aloneMs * part + sendMs + LEAST_GAIN_MS
  const text = `A pass takes about ${msText(aloneMs)} in one process, and ${msText(togetherMs)} in ${count}, of which ${msText(sendMs)} to send what it needs and writes.${comparedText(arrays)}`
  return { count: togetherMs < aloneMs ? count : 1, because: text }
}

function comparedText(arrays: readonly Placed[]): string {
  const compared = arrays.flatMap((placed) => (placed.kind === 'compared' ? `${placed.label} (${placed.because})` : []))
  return compared.length === 0 ? '' : ` What is written there is found by comparing: ${compared.join(', ')}.`
}

function msText(milliseconds: number): string {
  return milliseconds < 1 ? 'less than a millisecond' : `${Math.round(milliseconds)} ms`
}
