/** INT96 timestamps, which are read as microseconds: lost digits are found by reading them as nanoseconds too. */
import type { Column } from '../../core/data/column.ts'
import { columnError, type Place } from '../arrow/arrowTypes.ts'

/** Throws SourceError for timestamps with digits that microseconds lose. Both readings wrap alike at 64 bits, so they can be compared. */
export function checkInt96(micros: Column, nanos: Column, place: Place): void {
  const a = leavesOf(micros)
  const b = leavesOf(nanos)
  a.forEach((leaf, i) => {
    const other = b[i]
    if (leaf.type.kind !== 'timestamp' || other?.type.kind !== 'timestamp' || other.type.unit !== 'ns') return
    const us = leaf.values as BigInt64Array
    const ns = other.values as BigInt64Array
    for (let row = 0; row < leaf.length; row++) {
      if (BigInt.asIntN(64, (us[row] ?? 0n) * 1000n) !== ns[row]) {
        throw columnError(
          place,
          `the INT96 timestamp at value ${row} has nanoseconds, and INT96 is read as microseconds. Write the column as TIMESTAMP(NANOS).`,
        )
      }
    }
  })
}

function leavesOf(column: Column): Column[] {
  if (column.type.kind !== 'list' && column.type.kind !== 'struct') return [column]
  return (column.children ?? []).flatMap(leavesOf)
}
