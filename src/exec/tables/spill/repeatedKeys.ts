/**
 * A repeated key across spilled parts: each part reports its first pair of rows with one key, by their numbers, and the error names the
 * pair whose second row comes first in the whole table, as in memory.
 */
import type { Block } from '../block.ts'
import type { Result, Results } from '../dataset.ts'
import { type Repeated, repeatedKey } from '../operators/indexKeys.ts'
import type { StageResult } from '../stage.ts'
import { MOST_ROWS } from './rowNumbers.ts'

/** The result of a part, or the repeated key that makes it fail. */
export type PartResult = Result & Pick<StageResult, 'repeated'>

/** Yields the results up to the first repeated key; then reads the other parts for an earlier pair, and throws the error. */
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

/** The row number in the whole table of the row with this number. */
function rowOf(number: number, rowsBefore: readonly number[]): number {
  const partition = Math.floor(number / MOST_ROWS)
  return (rowsBefore[partition] ?? 0) + (number % MOST_ROWS)
}
