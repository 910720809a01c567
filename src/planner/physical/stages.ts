/**
 * Stages: a physical plan cut where data moves, and its text.
 *
 *     stage 1  workers  HashAggregateExec key: total = sum         over stage 0
 *     stage 0  workers  ScanExec orders.parquet [shop, price] -> FilterExec (r) => r.price > 0 -> EvaluateExec
 */

import { directionText, filesText, frameText } from '../../core/plan/nodeTexts.ts'
import { predicateText } from '../../core/plan/predicate.ts'
import type { KeyFilter } from './keyParts.ts'
import type { PhysicalPlan, Step, WideOperator } from './physicalPlan.ts'

export interface Stage {
  readonly id: number
  /** Texts of the stage's operators, first to last. */
  readonly operators: readonly string[]
  /** Ids of the stages whose results it reads. */
  readonly inputs: readonly number[]
  readonly where: 'workers' | 'caller'
  readonly because?: string
  /** What reads other columns afterwards, where all of the result is wanted and filters keep few rows. */
  readonly ofFew?: string
  /** Whether its consumer takes the result partition by partition, as they come; otherwise all of it is stored first. */
  readonly streamed: boolean
}

/** Returns the stages of a plan, in the order they run. */
export function stagesOf(plan: PhysicalPlan): readonly Stage[] {
  const stages: Stage[] = []
  addStage(plan, stages)
  return stages
}

/** Prints one line per stage, first to run first. */
export function stagesText(plan: PhysicalPlan): string {
  const stages = stagesOf(plan)
  return stages
    .map((stage) => {
      const over = stage.inputs.length === 0 ? '' : `${stage.inputs.map((id) => `stage ${id}`).join(', ')} -> `
      const where = stage.where === 'caller' ? `  (on the caller's thread: ${stage.because ?? 'small'})` : ''
      const reader = stages.find(({ inputs }) => inputs.includes(stage.id))
      const to = stage.streamed ? ` -> streamed to ${reader === undefined ? 'the action' : `stage ${reader.id}`}` : ''
      const ofFew = stage.ofFew === undefined ? '' : `  (of few rows: ${stage.ofFew})`
      return `stage ${stage.id}: ${over}${stage.operators.join(' -> ')}${to}${where}${ofFew}`
    })
    .join('\n')
}

/** Prints `OffsetExec 20`, or `OffsetExec to the last 5`. */
export function offsetText({ offset }: Extract<PhysicalPlan, { kind: 'OffsetExec' }>): string {
  return offset < 0 ? `OffsetExec to the last ${-offset}` : `OffsetExec ${offset}`
}

/** Prints `FetchExec of ratings.parquet [title, genres]`. */
export function fetchText({ scan, columns }: Extract<PhysicalPlan, { kind: 'FetchExec' }>): string {
  return `FetchExec of ${scan.source.name} [${columns.join(', ')}]`
}

function addStage(plan: PhysicalPlan, stages: Stage[]): number {
  const streamed = plan.edge?.kind === 'streamed'
  switch (plan.kind) {
    case 'ScanExec':
    case 'StoredExec':
      return push(stages, { operators: [leafText(plan)], inputs: [], where: 'workers', streamed })
    case 'PipelineExec': {
      const operators = plan.steps.map(stepText)
      const { because, ofFewRows } = plan
      const ofFew = ofFewRows && fetchText(ofFewRows.fetch)
      const place = { streamed, where: plan.where, ...(because === undefined ? {} : { because }), ...(ofFew && { ofFew }) }
      if (plan.input.kind === 'ScanExec' || plan.input.kind === 'StoredExec') {
        return push(stages, { operators: [leafText(plan.input), ...operators], inputs: [], ...place })
      }
      return push(stages, { operators, inputs: [addStage(plan.input, stages)], ...place })
    }
    case 'WideExec': {
      const inputs = plan.inputs.map((input) => addStage(input, stages))
      const place = { streamed, where: plan.where, ...(plan.because === undefined ? {} : { because: plan.because }) }
      const exchange = plan.inputs[0]?.edge?.kind === 'streamed' ? 'ExchangeExec in order' : exchangeText(plan.operator)
      return push(stages, { operators: [exchange, `${wideText(plan.operator)}${filterText(plan.keyFilter)}`], inputs, ...place })
    }
    case 'LimitExec':
      return push(stages, { operators: [`LimitExec ${plan.count}`], inputs: [addStage(plan.input, stages)], where: 'workers', streamed })
    case 'OffsetExec':
      return push(stages, { operators: [offsetText(plan)], inputs: [addStage(plan.input, stages)], where: 'workers', streamed })
    case 'FetchExec':
      return push(stages, { operators: [fetchText(plan)], inputs: [addStage(plan.input, stages)], where: 'workers', streamed })
    case 'UnionExec':
      return push(stages, {
        operators: ['UnionExec'],
        inputs: plan.inputs.map((input) => addStage(input, stages)),
        where: 'workers',
        streamed,
      })
    case 'IndexBuildExec':
      return push(stages, { operators: ['IndexBuildExec'], inputs: [addStage(plan.input, stages)], where: 'workers', streamed })
    case 'IndexLookupExec': {
      const { input } = plan
      const place = { where: 'workers', streamed } as const
      if (input.kind === 'StoredExec') return push(stages, { operators: [leafText(input), lookupText(plan)], inputs: [], ...place })
      const [build, below] = input.kind === 'IndexBuildExec' ? [['IndexBuildExec'], input.input] : [[], input]
      return push(stages, { operators: [...build, lookupText(plan)], inputs: [addStage(below, stages)], ...place })
    }
  }
}

function push(stages: Stage[], stage: Omit<Stage, 'id'>): number {
  stages.push({ id: stages.length, ...stage })
  return stages.length - 1
}

export function lookupText({ selectors }: Extract<PhysicalPlan, { kind: 'IndexLookupExec' }>): string {
  return `IndexLookupExec [${selectors.map((s) => (s === null ? ':' : typeof s === 'number' ? String(s) : `${s[0]}:${s[1]}`)).join(', ')}]`
}

/** Prints a source on one line. */
export function leafText(plan: Extract<PhysicalPlan, { kind: 'ScanExec' | 'StoredExec' }>): string {
  if (plan.kind === 'StoredExec')
    return `StoredExec ${plan.name} ${plan.storage.kind}${plan.columns === undefined ? '' : ` [${plan.columns.join(', ')}]`}`
  const where = plan.predicate === undefined || plan.predicate.length === 0 ? '' : ` where ${predicateText(plan.predicate)}`
  return `${plan.source.remote === undefined ? 'ScanExec' : 'SparkExec'} ${plan.source.name} [${plan.columns.join(', ')}]${where}${filesText(plan.source)}`
}

/** Prints a step on one line. */
export function stepText(step: Step): string {
  switch (step.kind) {
    case 'FilterExec':
    case 'MapExec':
    case 'WithColumnsExec':
    case 'FlatMapExec':
    case 'MapPartitionsExec':
    case 'KeysExec':
      return `${step.kind} ${step.f.text}`
    case 'ProjectExec':
      return `ProjectExec [${step.columns.join(', ')}]`
    case 'CastExec':
      return `CastExec ${step.dtype}`
    case 'SampleExec':
      return `SampleExec ${step.fraction} seed ${step.seed}`
    case 'LimitExec':
      return `LimitExec ${step.count}`
    case 'EvaluateExec': {
      const axis = step.axis === undefined ? [] : [`axis ${step.axis}`]
      const beside = typeof step.payload === 'boolean' ? '' : ` beside [${step.payload.join(', ')}]`
      return `EvaluateExec [${[...axis, ...step.columns.map(({ f }) => f.text)].join(', ')}]${beside}`
    }
    case 'PartialDrawExec':
      return `PartialDrawExec ${step.count} seed ${step.seed}`
    case 'TopKExec':
      return `TopKExec ${step.count}${directionText(step.descending)}`
    case 'PartialAggregateExec':
    case 'PartialGroupsExec':
      return `${step.kind} ${step.aggregates.map((call) => `${call.name} = ${call.kind}`).join(', ')}`
    case 'PartialDistinctExec':
      return 'PartialDistinctExec'
  }
}

/** Prints how the inputs move to the workers that run the operator together; bare `ExchangeExec` where one task takes them whole. */
function exchangeText(operator: WideOperator): string {
  switch (operator.kind) {
    case 'HashAggregateExec':
      return 'ExchangeExec by group'
    case 'HashJoinExec':
      return 'ExchangeExec right side to all'
    case 'SortExec':
      return operator.limit === undefined ? 'ExchangeExec by order' : 'ExchangeExec'
    case 'WindowExec':
    case 'AsofJoinExec':
      return 'ExchangeExec by order'
    case 'GroupReduceExec':
    case 'GroupMapExec':
    case 'DistinctExec':
    case 'DrawExec':
    case 'IndexExec':
    case 'ShuffleKeysExec':
    case 'RepartitionExec':
      return 'ExchangeExec'
  }
}

/** Prints the side of a join that comes first. */
function filterText(filter: KeyFilter | undefined): string {
  if (filter === undefined) return ''
  const other = filter.side === 'left' ? 'right' : 'left'
  return `, keys of the ${filter.side} filter the ${other}${filter.below ? ', and what it is computed from,' : ''} where they are few`
}

/** Prints a wide operator on one line. */
export function wideText(operator: WideOperator): string {
  switch (operator.kind) {
    case 'HashAggregateExec':
      return `HashAggregateExec ${operator.aggregates.map((call) => `${call.name} = ${call.kind}`).join(', ')}`
    case 'GroupReduceExec':
    case 'GroupMapExec':
      return `${operator.kind} ${operator.f.text}`
    case 'HashJoinExec': {
      const carried = operator.columns === undefined ? '' : ` carrying [${operator.columns.map(({ as }) => as).join(', ')}]`
      return `HashJoinExec ${operator.how}${operator.shared.length === 0 ? '' : ` on ${operator.shared.map((name) => `"${name}"`).join(', ')}`}${carried}`
    }
    case 'AsofJoinExec': {
      const near = operator.tolerance === undefined ? '' : ` within ${operator.tolerance}`
      return `AsofJoinExec ${operator.direction}${operator.by ? ' by key' : ''}${near}`
    }
    case 'SortExec':
      return `SortExec${directionText(operator.descending)}${operator.limit === undefined ? '' : ` first ${operator.limit}`}`
    case 'WindowExec': {
      const parts = [operator.by ? 'by key' : [], operator.ordered ? `in order${directionText(operator.descending)}` : []].flat()
      const calls = operator.calls
        .map(({ name, kind, ignoresNulls }) => `${name} = ${kind}${ignoresNulls === true ? ' ignoring nulls' : ''}`)
        .join(', ')
      return `WindowExec ${[...parts, frameText(operator.frame)].join(' ')}: ${calls}`
    }
    case 'DistinctExec':
      return 'DistinctExec'
    case 'DrawExec':
      return `DrawExec ${operator.count}`
    case 'IndexExec':
      return `IndexExec${operator.combine === undefined ? '' : ` combine ${operator.combine.text}`}`
    case 'ShuffleKeysExec':
      return `ShuffleKeysExec axes [${operator.axes.join(', ')}] seed ${operator.seed}`
    case 'RepartitionExec':
      return `RepartitionExec${operator.partitions === undefined ? '' : ` ${operator.partitions}`}${operator.by ? ' by key' : ''}`
  }
}
