/**
 * Files whose folders decide that a filter keeps none of their rows are not read.
 *
 *     Filter r.year === 2024 && f(r)      Filter r.year === 2024 && f(r)
 *       Scan sales                 -->      Scan sales, files: 3 of 120
 *
 * A filter that the folders of all files left decide goes. Sound because what other columns decide before the part that is
 * false cannot fail, and the filter does not read row numbers, which leaving out rows would change.
 */

import type { ElementType } from '../../core/data/schema.ts'
import type { FunctionIr } from '../../core/ir/functionIr.ts'
import { readsKey } from '../../core/ir/functionUse.ts'
import type { ArraySource, LogicalPlan } from '../../core/plan/logicalPlan.ts'
import type { Constant, SourceSplit } from '../../core/sourceParts.ts'
import { isPure } from '../lambdaFacts.ts'
import { isValue, type KnownColumns, partialValue, truthOf } from '../partialValue.ts'
import type { Rule } from '../rule.ts'
import { conjunctsOf, isSafe } from './irRewrite.ts'

export const prunePartitions: Rule = {
  name: 'prunePartitions',
  rewrite(plan: LogicalPlan): LogicalPlan | undefined {
    if (plan.kind !== 'Filter' || plan.input.kind !== 'Scan' || !isPure(plan.f)) return undefined
    const scan = plan.input
    const { source } = scan
    if (source.files === undefined || (scan.keys.kind === 'rowNumber' && readsKey(plan.f))) return undefined
    const { ir } = plan.f
    const keeps = keptBy(ir, scan.element)
    const splits = source.splits.filter(({ constants }) => keeps(constants) !== false)
    const isDecided = splits.every(({ constants }) => keeps(constants) === true)
    if (splits.length === source.splits.length && !isDecided) return undefined
    const narrower =
      splits.length === source.splits.length ? scan : { ...scan, whole: scan.whole ?? source, source: narrowed(source, splits) }
    return isDecided ? narrower : { ...plan, input: narrower }
  },
}

/** Whether a function keeps all rows of a file, or none; undefined where the rows decide. Asked once for files of one folder. */
function keptBy(ir: FunctionIr, element: ElementType): (constants: SourceSplit['constants']) => boolean | undefined {
  const [only] = ir.body
  const answers = new Map<SourceSplit['constants'], boolean | undefined>()
  if (ir.body.length !== 1 || only?.kind !== 'Return' || only.value === undefined) return () => undefined
  const parts = conjunctsOf(only.value).map((part) => ({ part, isSafe: isSafe(part, ir, element) }))
  const answer = (columns: ReadonlyMap<string, Constant>): boolean | undefined => {
    const known: KnownColumns = { ir, columns }
    let all: true | undefined = true
    for (const { part, isSafe } of parts) {
      const found = partialValue(part, known)
      if (!isSafe && !isValue(found)) return undefined // it may throw, which leaving out its rows would hide
      const truth = truthOf(found)
      if (truth === false) return false
      if (truth === undefined) all = undefined
    }
    return all
  }
  return (constants) => {
    if (constants === undefined) return undefined
    if (!answers.has(constants)) answers.set(constants, answer(constants))
    return answers.get(constants)
  }
}

function narrowed(source: ArraySource, splits: readonly SourceSplit[]): ArraySource {
  const read = new Set(splits.map(({ file }) => file)).size
  const { rows: _, ...rest } = source
  const rows = splits.some(({ rows }) => rows === undefined) ? {} : { rows: splits.reduce((sum, { rows = 0 }) => sum + rows, 0) }
  return { ...rest, ...rows, splits, files: { read, all: source.files?.all ?? read } }
}
