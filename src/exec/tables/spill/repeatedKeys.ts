/**
 * A repeated key, over parts of what was spilled: each part tells the first two of its rows that have one key, by their numbers,
 * and the error is about the pair whose second row comes first in the whole table, as it is in memory.
 */
import type { Block } from '../block.ts'
import type { Result, Results } from '../dataset.ts'
import { type Repeated, repeatedKey } from '../operators/indexKeys.ts'
import type { StageResult } from '../stage.ts'
import { MOST_ROWS } from './rowNumbers.ts'

/** What comes of a part, or why nothing does. */
export type PartResult = Result & Pick<StageResult, 'repeated'>

/** The results until a part tells of a repeated key; then what the others tell, and the error. */
export async function* withEachKeyOnce(
  results: AsyncGenerator<PartResult, void, undefined>,
  rowsBefore: readonly number[],
  free: (blocks: readonly Block[]) => void,
): Results {
  let least: Repeated | undefined
  for await (const { repeated, ...result } of results) {
    if (repeated !== undefined && (least === undefined || repeated.second < least.second)) least = repeated
    if (least === undefined) yield result
    else free(result.blocks)
  }
  if (least === undefined) return
  const { first, second, key } = least
  throw repeatedKey({ first: rowOf(first, rowsBefore), second: rowOf(second, rowsBefore), key })
}

/** The place among all rows of the one with this number. */
function rowOf(number: number, rowsBefore: readonly number[]): number {
  const partition = Math.floor(number / MOST_ROWS)
  return (rowsBefore[partition] ?? 0) + (number % MOST_ROWS)
}
