/** The implementations of physical operators, by kind. */
import type { Step, WideOperator } from '../../../planner/physical/physicalPlan.ts'
import type { ExecBatch } from './batches.ts'
import { castExec } from './cast.ts'
import { distinctExec, partialDistinctExec } from './distinct.ts'
import { drawExec, partialDrawExec } from './draw.ts'
import { evaluateExec } from './evaluate.ts'
import { filterExec } from './filter.ts'
import { flatMapExec } from './flatMap.ts'
import { groupMapExec, groupReduceExec } from './groupBy/groups.ts'
import { hashAggregateExec, partialAggregateExec } from './groupBy/hashAggregate.ts'
import { partialGroupsExec } from './groupBy/partialGroups.ts'
import { indexExec } from './indexKeys.ts'
import { asofJoinExec } from './join/asofJoin.ts'
import { hashJoinExec } from './join/hashJoin.ts'
import { keysExec } from './keys.ts'
import { limitExec } from './limit.ts'
import { mapExec } from './map.ts'
import { mapPartitionsExec } from './mapPartitions.ts'
import type { Narrow, OpenNarrow, PartitionContext, RunWide } from './operator.ts'
import { projectExec } from './project.ts'
import { repartitionExec } from './repartition.ts'
import { sampleExec } from './sample.ts'
import { shuffleKeysExec } from './shuffleKeys.ts'
import { sortExec } from './sort/sort.ts'
import { topKExec } from './sort/topK.ts'
import { windowExec } from './window.ts'
import { withColumnsExec } from './withColumns.ts'

export const NARROW: { readonly [K in Step['kind']]: OpenNarrow<K> } = {
  FilterExec: filterExec,
  MapExec: mapExec,
  WithColumnsExec: withColumnsExec,
  FlatMapExec: flatMapExec,
  MapPartitionsExec: mapPartitionsExec,
  ProjectExec: projectExec,
  CastExec: castExec,
  SampleExec: sampleExec,
  LimitExec: limitExec,
  KeysExec: keysExec,
  EvaluateExec: evaluateExec,
  TopKExec: topKExec,
  PartialDrawExec: partialDrawExec,
  PartialAggregateExec: partialAggregateExec,
  PartialGroupsExec: partialGroupsExec,
  PartialDistinctExec: partialDistinctExec,
}

export const WIDE: { readonly [K in WideOperator['kind']]: RunWide<K> } = {
  HashAggregateExec: hashAggregateExec,
  GroupReduceExec: groupReduceExec,
  GroupMapExec: groupMapExec,
  HashJoinExec: hashJoinExec,
  AsofJoinExec: asofJoinExec,
  SortExec: sortExec,
  WindowExec: windowExec,
  DistinctExec: distinctExec,
  DrawExec: drawExec,
  IndexExec: indexExec,
  ShuffleKeysExec: shuffleKeysExec,
  RepartitionExec: repartitionExec,
}

export function openNarrow<K extends Step['kind']>(step: Extract<Step, { kind: K }>, context: PartitionContext): Narrow {
  const open = NARROW[step.kind as K] as unknown as OpenNarrow<K> // the table's own entry for the kind
  return open(step, context)
}

export function runWide<K extends WideOperator['kind']>(
  operator: Extract<WideOperator, { kind: K }>,
  inputs: readonly ExecBatch[],
): readonly ExecBatch[] {
  const run = WIDE[operator.kind as K] as unknown as RunWide<K> // the table's own entry for the kind
  const result = run(operator, inputs)
  return isList(result) ? result : [result]
}

function isList(result: ExecBatch | readonly ExecBatch[]): result is readonly ExecBatch[] {
  return Array.isArray(result)
}
