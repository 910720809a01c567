/**
 * Lowers logical plans to physical ones: chooses the operator of each node, and the steps that share a pipeline.
 *
 * What is stored ends a pipeline; what is streamed goes on in the same one, unless a step has to wait: for the sizes of the
 * partitions before its own (it reads row numbers, and a step below changes how many rows there are), or for another
 * thread. Then two pipelines have a streamed edge between them.
 */

import { Bug } from '../../core/errors.ts'
import { functionsOfFolding } from '../../core/ir/folding.ts'
import type { UserFunction } from '../../core/ir/functionIr.ts'
import { argumentReturned, needsCaller, readsKey } from '../../core/ir/functionUse.ts'
import { howRun, sharedColumns, unionNames } from '../../core/plan/combinations.ts'
import { isOfDistinct } from '../../core/plan/distinctPlan.ts'
import { isKnown } from '../../core/plan/elements.ts'
import { type GroupHow, type JoinKey, type LogicalPlan, labelOf } from '../../core/plan/logicalPlan.ts'
import { withCarried } from './carried.ts'
import { edgeBetween, edgeToAction, edgeToWide, readsFiles, STREAMED } from './edges.ts'
import { withFetchedRows, withFewRows } from './fetchRows.ts'
import { functionsOfStep } from './functionsOfStep.ts'
import { withKeyFilters } from './keyReach.ts'
import type { Aggregate, ExecFunction, HiddenColumn, PhysicalPlan, Step, WideOperator, WindowColumn } from './physicalPlan.ts'

type Pipeline = Extract<PhysicalPlan, { kind: 'PipelineExec' }>
type Shape = Pick<LogicalPlan, 'element' | 'keys'>

/** `first`: perhaps only the first elements of the result are wanted, whatever types the others have. `all`: all of them, at once. */
export interface LowerOptions {
  readonly first?: boolean
  readonly all?: boolean
}

/** Whether perhaps only the first elements of a node are wanted. */
interface Wanted {
  readonly first: boolean
}

/** Returns the physical plan. Throws Bug for an array without storage: the session replaces those before a run. */
export function lower(plan: LogicalPlan, { first = false, all = false }: LowerOptions = {}): PhysicalPlan {
  const fetched = withFetchedRows(withCarried(withKeyFilters(lowered(plan, { first }))))
  const physical = all ? withFewRows(fetched) : fetched
  return { ...physical, edge: edgeToAction(physical, { first }) }
}

function lowered(plan: LogicalPlan, wanted: Wanted): PhysicalPlan {
  const { element, keys } = plan
  switch (plan.kind) {
    case 'Scan':
      return {
        kind: 'ScanExec',
        source: plan.source,
        columns: plan.columns,
        ...(plan.predicate === undefined ? {} : { predicate: plan.predicate }),
        element,
        keys,
      }
    case 'Stored':
      return {
        kind: 'StoredExec',
        name: plan.name,
        storage: plan.storage,
        ...(plan.columns === undefined ? {} : { columns: plan.columns }),
        element,
        keys,
      }
    case 'Array':
      throw new Bug(`The array ${plan.name} has no storage yet.`)
    case 'Map':
      return piped(inputTo(plan, plan.input, wanted), { kind: 'MapExec', f: plan.f, element }, plan)
    case 'Filter':
      return piped(inputTo(plan, plan.input, wanted), { kind: 'FilterExec', f: plan.f }, plan)
    case 'WithColumns':
      return piped(inputTo(plan, plan.input, wanted), { kind: 'WithColumnsExec', f: plan.f, element }, plan)
    case 'FlatMap':
      return piped(inputTo(plan, plan.input, wanted), { kind: 'FlatMapExec', f: plan.f, element }, plan)
    case 'MapPartitions':
      return piped(inputTo(plan, plan.input, wanted), { kind: 'MapPartitionsExec', f: plan.f, element }, plan)
    case 'Project':
      return piped(inputTo(plan, plan.input, wanted), { kind: 'ProjectExec', columns: plan.columns }, plan)
    case 'Cast':
      return piped(inputTo(plan, plan.input, wanted), { kind: 'CastExec', dtype: plan.dtype }, plan)
    case 'Sample':
      return piped(inputTo(plan, plan.input, wanted), { kind: 'SampleExec', fraction: plan.fraction, seed: plan.seed }, plan)
    case 'Draw': {
      const { count, seed } = plan
      return wide(
        [piped(inputTo(plan, plan.input, ALL), { kind: 'PartialDrawExec', count, seed }, plan.input)],
        { kind: 'DrawExec', count },
        plan,
      )
    }
    case 'Limit': {
      const input = piped(inputTo(plan, plan.input, { first: true }), { kind: 'LimitExec', count: plan.count }, plan)
      return { kind: 'LimitExec', input: { ...input, edge: STREAMED }, count: plan.count, element, keys }
    }
    case 'Offset':
      return { kind: 'OffsetExec', input: storedFor('OffsetExec', lowered(plan.input, ALL)), offset: plan.offset, element, keys }
    case 'Index': {
      const rank = keys.kind === 'explicit' ? keys.rank : 1
      const shape = plan.shape === undefined ? {} : { shape: plan.shape }
      const below = inputTo(plan, plan.input, ALL)
      const input = piped(below, { kind: 'KeysExec', f: plan.f, rank, ...shape }, { element: plan.input.element, keys })
      const combine = plan.combine === undefined ? {} : { combine: plan.combine, ...keptBy(plan.combine) }
      return wide([input], { kind: 'IndexExec', rank, ...combine, ...shape }, plan, plan.combine === undefined ? [] : [plan.combine])
    }
    case 'GroupBy':
      return lowerGroupBy(plan, plan.how)
    case 'Join': {
      const [left, right] = joinSides(plan, plan.on)
      const names = sideNames(plan)
      const on = plan.on.kind === 'column' ? { on: plan.on.column } : {}
      return wide(
        [left, right],
        { kind: 'HashJoinExec', how: howRun(plan), suffix: plan.suffix, names, element, shared: sharedColumns(plan.on), ...on },
        plan,
      )
    }
    case 'AsofJoin': {
      const { on, by, direction, tolerance, shared, suffix } = plan
      const side = (which: 'left' | 'right'): PhysicalPlan => {
        const key: HiddenColumn[] = by === undefined ? [] : [{ f: by[which], method: 'joinAsof', use: 'match' }]
        return evaluated(plan, plan[which], [...key, { f: on[which], method: 'joinAsof', use: 'order' }], { payload: true })
      }
      const near = tolerance === undefined ? {} : { tolerance }
      const operator = {
        kind: 'AsofJoinExec',
        by: by !== undefined,
        direction,
        ...near,
        shared,
        suffix,
        names: sideNames(plan),
        element,
      } as const
      return wide([side('left'), side('right')], operator, plan)
    }
    case 'Sort': {
      const keyed = evaluated(plan, plan.input, [{ f: plan.by, method: 'sortBy', use: 'order' }], { payload: true })
      const { descending } = plan
      if (plan.limit === undefined) return wide([keyed], { kind: 'SortExec', descending }, plan)
      const top = piped(keyed, { kind: 'TopKExec', descending, count: plan.limit }, keyed)
      return wide([top], { kind: 'SortExec', descending, limit: plan.limit }, plan)
    }
    case 'Window': {
      const { by, orderBy, descending, frame } = plan
      const keyed: HiddenColumn[] = []
      if (by !== undefined) keyed.push({ f: by, method: isOfDistinct(plan.calls) ? 'distinct' : 'window', use: 'part' })
      if (orderBy !== undefined) keyed.push({ f: orderBy, method: 'window', use: 'order' })
      const calls = plan.calls.map(({ of, ...call }): WindowColumn => {
        if (of === undefined) return call
        keyed.push({ f: of, method: call.kind, use: 'argument' })
        return { ...call, column: keyed.length - 1 }
      })
      const input = keyed.length === 0 ? lowered(plan.input, ALL) : evaluated(plan, plan.input, keyed, { payload: true })
      const has = { by: by !== undefined, ordered: orderBy !== undefined }
      return wide([input], { kind: 'WindowExec', ...has, descending, frame, calls }, plan)
    }
    case 'Distinct':
      return wide([piped(inputTo(plan, plan.input, ALL), { kind: 'PartialDistinctExec' }, plan)], { kind: 'DistinctExec' }, plan)
    case 'Union':
      return {
        kind: 'UnionExec',
        inputs: plan.inputs.map((input) => inputTo(plan, input, wanted)),
        names: unionNames(plan.inputs),
        element,
        keys,
      }
    case 'Repartition': {
      const partitions = plan.partitions === undefined ? {} : { partitions: plan.partitions }
      const by = plan.by
      const input =
        by === undefined
          ? lowered(plan.input, ALL)
          : evaluated(plan, plan.input, [{ f: by, method: 'repartition', use: 'piece' }], { payload: true })
      return wide([input], { kind: 'RepartitionExec', by: by !== undefined, ...partitions }, plan)
    }
    case 'ShuffleKeys': {
      const shape = keys.kind === 'explicit' && keys.shape !== undefined ? { shape: keys.shape } : {}
      return wide([lowered(plan.input, ALL)], { kind: 'ShuffleKeysExec', axes: plan.axes, seed: plan.seed, ...shape }, plan)
    }
    case 'Materialize':
      return lowered(plan.input, wanted)
    case 'IndexBuild':
      return { kind: 'IndexBuildExec', input: storedFor('IndexBuildExec', lowered(plan.input, ALL)), element, keys }
    case 'IndexLookup':
      return {
        kind: 'IndexLookupExec',
        input: storedFor('IndexLookupExec', lowered(plan.input, ALL)),
        selectors: plan.selectors,
        element,
        keys,
      }
  }
}

const ALL: Wanted = { first: false }

/** Lowers the array `input`, with the edge to the functions of `plan`. */
function inputTo(plan: LogicalPlan, input: LogicalPlan, wanted: Wanted): PhysicalPlan {
  const edge = edgeBetween(plan, input, wanted)
  return { ...lowered(input, edge.kind === 'streamed' ? wanted : ALL), edge }
}

function storedFor(kind: 'IndexBuildExec' | 'IndexLookupExec' | 'OffsetExec', input: PhysicalPlan): PhysicalPlan {
  return { ...input, edge: { kind: 'stored', because: `${kind} needs all of them` } }
}

function lowerGroupBy(plan: Extract<LogicalPlan, { kind: 'GroupBy' }>, how: GroupHow): PhysicalPlan {
  const { element } = plan
  const key: HiddenColumn[] = plan.by.kind === 'function' ? [{ f: plan.by.f, method: 'groupBy', use: 'group' }] : []
  const axis = plan.by.kind === 'axis' ? { axis: plan.by.axis } : {}
  switch (how.kind) {
    case 'agg': {
      const args: HiddenColumn[] = []
      const aggregates = how.aggregates.map((call): Aggregate => {
        const argument = (f: UserFunction): number => args.push({ f, method: call.kind, use: 'argument' }) - 1
        const column = call.of === undefined ? {} : { column: argument(call.of) }
        const second = call.second === undefined ? {} : { second: argument(call.second) }
        const folding = call.folding === undefined ? {} : { folding: call.folding }
        return { name: call.name, kind: call.kind, ...column, ...second, ...(call.q === undefined ? {} : { q: call.q }), ...folding }
      })
      const input = evaluated(plan, plan.input, [...key, ...args], { ...axis, payload: false })
      const method = {
        ...(how.method === undefined ? {} : { method: how.method }),
        ...(how.whole === undefined ? {} : { whole: how.whole }),
      }
      if (readsFiles(input) && aggregates.every(({ kind }) => FOLDED.includes(kind))) {
        const groups = piped(input, { kind: 'PartialGroupsExec', aggregates }, input)
        return wide([groups], { kind: 'HashAggregateExec', aggregates, element, ...method }, plan)
      }
      if (how.partial !== true) {
        const own = how.aggregates.flatMap(({ folding }) => (folding === undefined ? [] : functionsOfFolding(folding)))
        return wide([input], { kind: 'HashAggregateExec', aggregates, element, ...method }, plan, own)
      }
      const parts = piped(input, { kind: 'PartialAggregateExec', aggregates }, input)
      return wide([parts], { kind: 'HashAggregateExec', aggregates: aggregates.map(combining), element, ...method }, plan)
    }
    case 'reduce':
    case 'map': {
      const kind = how.kind === 'reduce' ? 'GroupReduceExec' : 'GroupMapExec'
      return wide([evaluated(plan, plan.input, key, { ...axis, payload: true })], { kind, f: how.f, element }, plan, [how.f])
    }
  }
}

/** Aggregates that fold rows into a state, so that a group need not keep its rows. */
const FOLDED: readonly Aggregate['kind'][] = [
  ...(['count', 'sum', 'mean', 'min', 'max', 'first', 'last', 'any', 'all'] as const),
  ...(['approxCountDistinct', 'approxQuantile'] as const),
]

/** Returns the aggregate that combines those of the partitions, in their order. */
function combining({ name, kind }: Aggregate, column: number): Aggregate {
  switch (kind) {
    case 'count':
      return { name, kind: 'sum', column }
    case 'min':
    case 'max':
    case 'first':
    case 'last':
    case 'any':
    case 'all':
      return { name, kind, column }
    case 'sum':
    case 'mean':
    case 'countDistinct':
    case 'variance':
    case 'stddev':
    case 'quantile':
    case 'collect':
    case 'mode':
    case 'skew':
    case 'kurtosis':
    case 'argMin':
    case 'argMax':
    case 'covariance':
    case 'correlation':
    case 'aggregate':
    case 'approxCountDistinct':
    case 'approxQuantile':
      throw new Bug(`The aggregate ${kind} does not combine from parts.`)
  }
}

function sideNames({ left, right }: Extract<LogicalPlan, { kind: 'Join' | 'AsofJoin' }>): readonly [string, string] {
  return [labelOf(left) ?? 'the left side', labelOf(right) ?? 'the right side']
}

function joinSides(plan: Extract<LogicalPlan, { kind: 'Join' }>, on: JoinKey): readonly [PhysicalPlan, PhysicalPlan] {
  if (on.kind !== 'functions') return [lowered(plan.left, ALL), lowered(plan.right, ALL)]
  const side = (input: LogicalPlan, f: UserFunction) => evaluated(plan, input, [{ f, method: 'join', use: 'match' }], { payload: true })
  return [side(plan.left, on.left), side(plan.right, on.right)]
}

/** Adds to the elements of `input` the values of the functions of `plan` as hidden columns, or gives these alone (`payload: false`). */
function evaluated(
  plan: LogicalPlan,
  input: LogicalPlan,
  columns: readonly HiddenColumn[],
  options: { readonly axis?: number; readonly payload: boolean },
): PhysicalPlan {
  return { ...piped(inputTo(plan, input, ALL), { kind: 'EvaluateExec', columns, ...options }, input), edge: STREAMED }
}

/** The row of two with one key that a function returns as it is, where it does so. */
function keptBy(combine: UserFunction): { readonly keeps?: 'first' | 'last' } {
  const argument = argumentReturned(combine)
  return argument === undefined ? {} : { keeps: argument === 0 ? 'first' : 'last' }
}

function wide(
  inputs: readonly PhysicalPlan[],
  operator: WideOperator,
  { element, keys }: Shape,
  functions: readonly ExecFunction[] = [],
): Extract<PhysicalPlan, { kind: 'WideExec' }> {
  const place = placeOf(functions)
  const all = inputs.map((input) => ({ ...input, edge: edgeToWide(operator, input) }))
  return { kind: 'WideExec', inputs: all, operator, ...place, element, keys }
}

/** Decides where functions run; `because` is why they cannot run in the workers. */
function placeOf(functions: readonly ExecFunction[]): { readonly where: 'workers' | 'caller'; readonly because?: string } {
  const bound = functions.find(needsCaller)
  if (bound === undefined) return { where: 'workers' }
  const reason = bound.unportable ?? bound.refusals[0]
  return { where: 'caller', because: `${bound.text}: ${reason?.message ?? 'the function cannot be sent to another thread'}` }
}

/** Appends the step to the pipeline `input`, or begins a new pipeline over it. */
function piped(input: PhysicalPlan, step: Step, { element, keys }: Shape): Pipeline & PhysicalPlan {
  const place = placeOf(functionsOfStep(step))
  const numbered = readsRowNumbers(step, input)
  if (input.kind === 'PipelineExec' && input.edge?.kind === 'streamed' && input.where === place.where && !mustWait(input, numbered)) {
    const { edge: _, ...pipeline } = input
    return { ...pipeline, steps: [...input.steps, step], numbered: input.numbered || numbered, element, keys }
  }
  return { kind: 'PipelineExec', input, steps: [step], ...place, numbered, element, keys }
}

/** Whether the step cannot join the pipeline: it would get row numbers, or types, of its partition alone. */
function mustWait(input: Pipeline, numbered: boolean): boolean {
  if (numbered && input.steps.some((step) => !keepsCount(step))) return true
  return input.steps.some(runsOpaquely) && !isKnown(input.element)
}

/** Whether the types of a step's result may come from the values alone. */
function runsOpaquely(step: Step): boolean {
  return step.kind === 'MapExec' || step.kind === 'FlatMapExec' || step.kind === 'WithColumnsExec' || step.kind === 'MapPartitionsExec'
}

function keepsCount(step: Step): boolean {
  switch (step.kind) {
    case 'MapExec':
    case 'WithColumnsExec':
    case 'ProjectExec':
    case 'CastExec':
    case 'KeysExec':
    case 'EvaluateExec':
      return true
    case 'FilterExec':
    case 'FlatMapExec':
    case 'MapPartitionsExec':
    case 'SampleExec':
    case 'LimitExec':
    case 'TopKExec':
    case 'PartialDrawExec':
    case 'PartialAggregateExec':
    case 'PartialGroupsExec':
    case 'PartialDistinctExec':
      return false
  }
}

/** Whether the step needs the number of elements before its partition; also for messages, where it is cheap. */
function readsRowNumbers(step: Step, input: PhysicalPlan): boolean {
  switch (step.kind) {
    case 'SampleExec':
    case 'PartialDrawExec':
    case 'CastExec':
    case 'KeysExec':
      return true
    case 'EvaluateExec':
      return input.keys.kind === 'rowNumber' && (step.axis !== undefined || step.columns.some(({ f }) => readsKey(f)))
    case 'MapExec':
    case 'FilterExec':
    case 'WithColumnsExec':
    case 'FlatMapExec':
      return input.keys.kind === 'rowNumber' && readsKey(step.f)
    case 'MapPartitionsExec':
    case 'ProjectExec':
    case 'LimitExec':
    case 'TopKExec':
    case 'PartialAggregateExec':
    case 'PartialGroupsExec':
    case 'PartialDistinctExec':
      return false
  }
}
