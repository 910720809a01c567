/**
 * THE ordered list of rules, with the reason for each place.
 *
 * The list is applied from first to last, over the whole plan each time, until nothing changes; so the order decides
 * how soon a plan settles and, where two rules compete for a node, which wins.
 */
import type { Rule } from '../rule.ts'
import { fuseMaps } from './fuseMaps.ts'
import { innerJoins } from './innerJoins.ts'
import { insertIndex } from './insertIndex.ts'
import { markPipelined } from './markPipelined.ts'
import { mergeFilters } from './mergeFilters.ts'
import { narrowJoins } from './narrowJoins.ts'
import { partialAggregation } from './partialAggregation.ts'
import { pruneColumns } from './pruneColumns.ts'
import { prunePartitions } from './prunePartitions.ts'
import { pushFilterDown } from './pushFilterDown.ts'
import { pushLimitDown } from './pushLimitDown.ts'
import { pushPredicateIntoScan } from './pushPredicateIntoScan.ts'
import { removeRedundant } from './removeRedundant.ts'
import { topK } from './topK.ts'

export const RULES: readonly Rule[] = [
  // First, so that the others meet fewer shapes.
  removeRedundant,
  // Before filters go down: to the right side of a left join they go only where it gives its matches alone.
  innerJoins,
  // Before merging: two filters may go to different sides of a join, one made of both to neither.
  pushFilterDown,
  // Before merging: a filter that folders decide goes, which one made of two may not.
  prunePartitions,
  // Before filters reach their scan, so that one predicate holds what all of them say.
  mergeFilters,
  // After merging, when all filters above a join are one.
  narrowJoins,
  // After filters have left the maps: what stays between two maps is then only what could not move.
  fuseMaps,
  // Before top-k: a limit above a map of a sort has to reach the sort first.
  pushLimitDown,
  topK,
  // After fusing, when columns that lay between two functions are gone.
  pruneColumns,
  // After all filters are where they stay.
  pushPredicateIntoScan,
  insertIndex,
  // Last: these say how nodes run and move none.
  partialAggregation,
  markPipelined,
]
