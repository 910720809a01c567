/**
 * Chooses the side of a join that is computed first, so that its keys can filter the rows of the other (sideways information passing).
 *
 *     inner    either side may be filtered: a row without a match is in no result
 *     left     the right side: a right row without a match is in no result; all left rows are
 *     right    the left side
 *     semi     either side
 *     anti     the right side: it only says which left rows go
 *     full, cross   neither
 *
 * The side is the first that something has filtered, the one with likely fewer rows of two: the keys of a whole table
 * filter little. How many rows there are is estimated from the tables' sizes and the plan alone, so that a plan says what
 * runs. Whether the keys are few enough in the end, and fewer than the other side's rows, only the data say.
 */
import type { JoinHow } from '../../core/plan/logicalPlan.ts'
import type { Side } from './keyParts.ts'
import type { PhysicalPlan } from './physicalPlan.ts'

/** Returns the side whose keys filter the other's rows; undefined where neither's should. */
export function keyFilterOf(how: JoinHow, left: PhysicalPlan, right: PhysicalPlan): Side | undefined {
  const sides = FILTERING[how].filter((side) => likely(side === 'left' ? left : right).share < 1)
  return sides.length < 2 || likely(left).rows <= likely(right).rows ? sides[0] : sides[1]
}

/** The sides whose keys may filter the other. */
const FILTERING: Readonly<Record<JoinHow, readonly Side[]>> = {
  inner: ['left', 'right'],
  left: ['left'],
  right: ['right'],
  semi: ['left', 'right'],
  anti: ['left'],
  full: [],
  cross: [],
}

/** Estimated rows, and their share of all rows that there could be. */
interface Likely {
  readonly rows: number
  readonly share: number
}

/** Selectivity of a filter of which nothing is known: a quarter or so, as optimizers have guessed since Selinger (1979). */
const KEPT = 1 / 4

/** Estimates the rows of a plan; keys of joins above it count as filters. */
function likely(plan: PhysicalPlan): Likely {
  const filters = new Set(plan.filteredBy?.map(({ keys }) => keys)).size
  return shared(likelyWithout(plan), KEPT ** filters)
}

function likelyWithout(plan: PhysicalPlan): Likely {
  switch (plan.kind) {
    case 'ScanExec':
      return { rows: plan.source.rows ?? plan.source.splits.reduce((sum, { rows = 0 }) => sum + rows, 0), share: 1 }
    case 'StoredExec':
      return { rows: plan.storage.kind === 'table' ? plan.storage.length : 0, share: 1 }
    case 'PipelineExec':
      return plan.steps.reduce((known, step) => (step.kind === 'FilterExec' ? shared(known, KEPT) : known), likely(plan.input))
    case 'LimitExec': {
      const input = likely(plan.input)
      return input.rows === 0 ? input : shared(input, Math.min(1, plan.count / input.rows))
    }
    case 'FetchExec':
      return likely(plan.input)
    case 'OffsetExec': {
      const input = likely(plan.input)
      const rows = plan.offset < 0 ? Math.min(-plan.offset, input.rows) : Math.max(0, input.rows - plan.offset)
      return input.rows === 0 ? input : shared(input, rows / input.rows)
    }
    case 'UnionExec': {
      const inputs = plan.inputs.map(likely)
      return { rows: inputs.reduce((sum, { rows }) => sum + rows, 0), share: Math.max(0, ...inputs.map(({ share }) => share)) }
    }
    case 'IndexBuildExec':
    case 'IndexLookupExec':
      return shared(likely(plan.input), KEPT)
    case 'WideExec': {
      const [first = NOTHING, second] = plan.inputs.map(likely)
      const { operator } = plan
      if (operator.kind === 'HashAggregateExec') return { rows: first.rows * KEPT, share: first.share }
      if (operator.kind !== 'HashJoinExec' || second === undefined) return first
      if (operator.how === 'semi' || operator.how === 'anti') return shared(first, second.share < 1 ? second.share : KEPT)
      // a key column joined with the rows that have it gives as many rows as these
      const [few, many] = first.rows < second.rows ? [first, second] : [second, first]
      return operator.how === 'inner' ? shared(many, few.share) : many
    }
  }
}

function shared({ rows, share }: Likely, by: number): Likely {
  return { rows: rows * by, share: share * by }
}

const NOTHING: Likely = { rows: 0, share: 1 }
