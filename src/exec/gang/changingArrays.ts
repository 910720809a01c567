/**
 * What passes of a loop are sent of arrays that somebody changes between them. The others are sent such an array before each pass, where one
 * that stays as it is goes once.
 */
import type { Storage } from '../../core/arrays/storage.ts'
import type { Members } from './members.ts'
import type { Needed } from './movement/belongings.ts'
import { awayBytes } from './movement/needs.ts'

/** What is sent before each pass. */
export interface SentAgain {
  readonly bytes: number
  readonly messages: number
}

/** The messages by which elements that lie elsewhere come here: a question and its answer. */
const ROUND_TRIP = 2

export class ChangingArrays {
  /** The version that each array had at the pass before. */
  readonly #seen = new Map<Storage, string | undefined>()

  /** Tells arrays that have changed since the pass before from those that have not, or that no pass has needed yet. */
  next(needed: readonly Needed[]): { readonly changed: readonly Needed[]; readonly lasting: readonly Needed[] } {
    const hasChanged = ({ storage, version, isShape }: Needed): boolean =>
      !isShape && this.#seen.has(storage) && (version === undefined || this.#seen.get(storage) !== version)
    const changed = needed.filter(hasChanged)
    const lasting = needed.filter((one) => !changed.includes(one))
    for (const { storage, version } of needed) this.#seen.set(storage, version)
    return { changed, lasting }
  }
}

/** Bytes and messages of changed arrays: to all who lack them, or of what their blocks are known to read, and before that to this process. */
export function sentAgain(
  gang: Members,
  loop: string,
  changed: readonly Needed[],
  readBytes: (storage: Storage) => number | undefined,
): SentAgain {
  let [bytes, messages] = [0, 0]
  for (const one of changed) {
    const missing = Math.min(gang.missingBytes(loop, [one]), readBytes(one.storage) ?? Number.POSITIVE_INFINITY)
    const away = awayBytes(gang, one.storage)
    bytes += missing + away
    messages += (missing > 0 ? 1 : 0) + (away > 0 ? ROUND_TRIP : 0)
  }
  return { bytes, messages }
}
