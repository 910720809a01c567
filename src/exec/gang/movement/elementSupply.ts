/** The sending of elements that loops go over to processes that have those of their own blocks only. */
import type { BlockSchedule } from '../../loops/blocks/schedule.ts'
import type { Members, Other } from '../members.ts'
import { bytesOf } from './changes.ts'
import { arraysOf, type ElementsHead, type ElementsLayout, missingBlocks, type PortionedElements, type Run, sizeOf } from './elements.ts'

/** The bytes of a message from which another one begins: its receiver has both the message and the elements in memory. */
const MESSAGE_BYTES = 2 ** 22
/** The elements from which a run ends, as a message is to. */
const MOST_RUN = 2 ** 17
/** The runs of a message at most: it may have only so many parts. */
const MESSAGE_RUNS = 256

/** Sends a process the elements of those of its blocks that it lacks. */
export function supplyElements(
  gang: Members,
  other: Other,
  elements: PortionedElements,
  { node, version }: { readonly node: number; readonly version: string | undefined },
): void {
  const number = gang.numberOf(elements.name)
  const own = elements.own[node] as Int32Array // one of each process
  const missing = missingBlocks(gang.belongings, other, number, { version, own })
  const isLaid = sameBlocks(gang.belongings.heldBlocks(other, number)?.blocks, own)
  gang.belongings.holdBlocks(other, number, { version, blocks: own })
  const send = (head: Omit<ElementsHead, 'elements'>, parts: readonly Uint8Array[]): void =>
    gang.send(other.rank, 'elements', { elements: number, ...head } satisfies ElementsHead, parts)
  if (isLaid && missing.length === 0) return
  if (!isLaid) send({ layout: layoutOf(elements, own), runs: [] }, [])
  const arrays = arraysOf(elements)
  let [runs, parts, bytes]: [Run[], Uint8Array[], number] = [[], [], 0]
  for (const { place, from, to } of runsOf(elements.blocks, own, missing)) {
    runs.push([place, to - from])
    for (const array of arrays) {
      const part = bytesOf(array.subarray(from, to))
      parts.push(part)
      bytes += part.length
    }
    if (bytes < MESSAGE_BYTES && runs.length < MESSAGE_RUNS) continue
    send({ runs }, parts)
    ;[runs, parts, bytes] = [[], [], 0]
  }
  if (runs.length > 0) send({ runs }, parts)
}

function sameBlocks(a: Int32Array | undefined, b: Int32Array): boolean {
  return a === b || (a?.length === b.length && a.every((block, i) => block === b[i]))
}

function layoutOf({ storage, positions, blocks }: PortionedElements, own: Int32Array): ElementsLayout {
  return {
    shape: { shape: storage.shape, element: storage.element },
    types: storage.columns.map(({ type }) => type),
    hasPositions: positions !== undefined,
    blocks: own,
    sizes: own.map((block) => sizeOf(blocks, block)),
  }
}

/** Missing blocks, neighbours as one run: its first place among the receiver's, and the bounds of its places here. */
function* runsOf(
  { from, to }: BlockSchedule,
  own: Int32Array,
  missing: Int32Array,
): Generator<{ readonly place: number; readonly from: number; readonly to: number }> {
  let [place, next] = [0, 0]
  let run: { place: number; from: number; to: number } | undefined
  for (const block of own) {
    const [first, end] = [from[block] as number, to[block] as number]
    const isMissing = missing[next] === block
    if (isMissing) next++
    const goesOn = run !== undefined && isMissing && run.to === first && run.to - run.from < MOST_RUN
    if (run !== undefined && !goesOn) {
      yield run
      run = undefined
    }
    if (isMissing && first < end) {
      if (run === undefined) run = { place, from: first, to: end }
      else run.to = end
    }
    place += end - first
  }
  if (run !== undefined) yield run
}
