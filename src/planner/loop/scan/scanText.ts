/** Prints the plan of a scan. */
import type { PlannedSchedule } from '../../../core/loop/loopPlan.ts'
import type { Carry, Scan } from '../../../core/loop/loopSpec.ts'

export function scanSchedule({ carries, chunks }: Scan, axis: string): PlannedSchedule {
  const names = [...new Set(carries.map(({ name }) => name))].join(' and ')
  const found = [...new Set(carries.flatMap(foundText))].join(' and ')
  const reason = `a scan of ${names} along ${axis}, by chunks: partial ${found}, what they come to one after another, then the body with it`
  return { kind: 'scan', axes: [0], blocks: [chunks], reason }
}

/** Returns the words for what the partial loop computes of each chunk. */
function foundText({ operator, fills }: Carry): readonly string[] {
  switch (operator.kind) {
    case 'sum':
    case 'wrap':
    case 'unsigned':
      return [fills.length > 0 ? 'counts' : 'sums']
    case 'min':
      return ['least values']
    case 'max':
      return ['greatest values']
    case 'pick':
      return [operator.test === '<' || operator.test === '<=' ? 'least values' : 'greatest values']
    case 'and':
    case 'or':
    case 'xor':
      return ['bits']
    case 'last':
      return ['last values']
    case 'with':
      return []
  }
}
