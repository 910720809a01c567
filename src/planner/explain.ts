/**
 * Explains what a plan will do, for people and for programs: the plan as written, the rules that changed it, the plan that runs,
 * and its stages. A function that could not be analysed stands below its node, with the place and the reason.
 *
 *     Plan
 *       Filter (r) => r.stars > 3
 *         Scan ratings.parquet [user, movie, stars]
 *     Rules: pushPredicateIntoScan
 *     Optimized plan
 *       …
 */

import { type DenseStorage, stridesOf } from '../core/arrays/storage.ts'
import { defined } from '../core/defined.ts'
import type { UserFunction } from '../core/ir/functionIr.ts'
import { type FunctionRun, runOf, runText } from '../core/ir/functionUse.ts'
import type { ExplainedColumns, ExplainedFunction, ExplainedGroups } from '../core/ir/kernelCode.ts'
import { elementText, keysText, rankOf, thinned } from '../core/plan/elements.ts'
import { inputsOf, type LogicalPlan } from '../core/plan/logicalPlan.ts'
import { functionsOf, mapInputs, nodeText, planText } from '../core/plan/tree.ts'
import { placeText, type Refusal } from '../core/span.ts'
import { irListing } from './function/irText.ts'
import { optimize } from './optimize.ts'
import { lower } from './physical/lower.ts'
import { endless, millisecondsText, type RanNode, type RanPlan, ranNode, ranText } from './physical/ranPlan.ts'
import { type Stage, stagesOf, stagesText } from './physical/stages.ts'
import type { Rule } from './rule.ts'
import { RULES } from './rules/index.ts'
import type { SharedSubplan } from './sharedSubplans.ts'

export interface ExplainOptions {
  /** Whether each node has its element and keys, the IR of its functions, and the kernels over columns below it. */
  readonly verbose?: boolean
  readonly format?: 'text' | 'json'
  readonly rules?: readonly Rule[]
  /** The session's facts about the array's index. */
  readonly index?: IndexFacts
  /** Kernels of a pipeline over a table in memory. */
  readonly columns?: ExplainedColumns
  /** The grouping of a `groupBy` with aggregates. */
  readonly groups?: ExplainedGroups
  readonly functions?: readonly ExplainedFunction[]
  /** Returns the optimized plan with its parts that run on a server. */
  readonly placed?: (plan: LogicalPlan) => LogicalPlan
  /** The server's own plans of those parts. */
  readonly remote?: readonly string[]
  /** The plan over its shared parts, which run first, and these. */
  readonly shares?: SharedPlan
  /** The plan that ran, in place of what would run. */
  readonly ran?: RanPlan
  /** Milliseconds of the whole run. */
  readonly milliseconds?: number
}

export interface SharedPlan {
  readonly plan: LogicalPlan
  readonly parts: readonly { readonly shared: SharedSubplan; readonly ran?: RanPlan }[]
}

/** The storage in the order of keys that a session has for an array: how often it was made, and how many queries it answered. */
export interface IndexFacts {
  readonly storage: 'none' | 'kept' | 'owned'
  readonly built: number
  readonly queries: number
  /** The array as a query finds it: its storage, or what it is computed from. */
  readonly array?: LogicalPlan
}

/** A node of a plan as plain data. */
export interface ExplainedNode {
  readonly kind: LogicalPlan['kind']
  readonly text: string
  readonly element: string
  readonly keys: string
  readonly functions: readonly {
    readonly text: string
    /** The way in which the function runs: compiled, as `ExplainedPlan.functions` says, as a copy in the workers, or as it stands. */
    readonly runs: FunctionRun
    readonly refusals: readonly Refusal[]
  }[]
  readonly inputs: readonly ExplainedNode[]
}

/** The machine form of `explain()`. */
export interface ExplainedPlan {
  readonly plan: ExplainedNode
  readonly rules: readonly string[]
  readonly optimized: ExplainedNode
  /** Parts that several places of the plan read, which run once before it; absent where there are none. */
  readonly shared?: readonly ExplainedShare[]
  readonly stages: readonly Stage[]
  /** The way in which each function of the stages runs; absent where an array has yet to be made. */
  readonly functions?: readonly ExplainedFunction[]
  readonly index?: IndexFacts
  /** With `analyze`: the plan that ran, with the measures of each operator. */
  readonly ran?: RanNode
  /** With `analyze`: the time of the whole run. */
  readonly milliseconds?: number
}

export interface ExplainedShare {
  readonly name: string
  readonly places: number
  readonly optimized: ExplainedNode
  readonly stages: readonly Stage[]
  readonly ran?: RanNode
}

/** Explains a plan as text, or as the same facts in JSON. */
export function explainPlan(plan: LogicalPlan, options: ExplainOptions = {}): string {
  const { plan: over = plan, parts = [] } = options.shares ?? {}
  const { plan: ours, applied } = optimize(over, options.rules ?? RULES)
  const optimized = options.placed === undefined ? ours : options.placed(ours)
  const physical = lower(withStorage(optimized), { all: true })
  const { milliseconds } = options
  const ran = options.ran && ranNode(options.ran)
  if (options.format === 'json') {
    const explained: ExplainedPlan = {
      plan: explainedNode(plan),
      rules: applied,
      optimized: explainedNode(optimized),
      ...(parts.length === 0 ? {} : { shared: parts.map(explainedShare) }),
      stages: stagesOf(physical),
      ...defined({ functions: options.functions, ran, milliseconds }),
    }
    return JSON.stringify(explained, null, 2)
  }
  const note = (node: LogicalPlan): readonly string[] => [
    ...(options.verbose === true ? [yieldsText(node), ...functionsOf(node).flatMap(irLines)] : []),
    ...functionsOf(node).flatMap(refusalLines),
    ...remoteLines(node, note),
  ]
  const rules =
    applied.length === 0 && optimized === plan
      ? ['Rules: none changed it']
      : [`Rules: ${applied.length === 0 ? 'none' : applied.join(', ')}`, 'Optimized plan', ...indented(planText(optimized, note))]
  const shared = parts.flatMap(({ shared }) => [`${sharedText(shared)}`, ...indented(planText(shared.plan, note))])
  const before = ['Plan', ...indented(planText(plan, note)), ...rules, ...shared]
  const remote = (options.remote ?? []).flatMap((text) => ['On Spark', ...indented(text.trim())])
  if (ran !== undefined)
    return [
      ...before,
      ...remote,
      `Ran in ${millisecondsText(milliseconds ?? 0)}`,
      ...parts.flatMap(ranShareLines),
      ...indented(ranText(ran)),
    ].join('\n')
  return [
    ...before,
    ...parts.flatMap(({ shared }) => [`Stages of ${shared.leaf.name}`, ...indented(stagesText(lower(withStorage(shared.plan))))]),
    'Stages',
    ...indented(stagesText(physical)),
    ...indexLines(plan, options.index),
    ...functionLines(options.functions),
    ...(options.verbose === true ? [...groupLines(options.groups), ...columnLines(options.columns)] : []),
  ].join('\n')
}

function sharedText({ leaf, places }: SharedSubplan): string {
  return `${leaf.name}, which runs once for ${places} places`
}

function explainedShare({ shared, ran }: SharedPlan['parts'][number]): ExplainedShare {
  const { leaf, places, plan } = shared
  const stages = stagesOf(lower(withStorage(plan)))
  return { name: leaf.name, places, optimized: explainedNode(plan), stages, ...defined({ ran: ran && ranNode(ran) }) }
}

function ranShareLines({ shared, ran }: SharedPlan['parts'][number]): readonly string[] {
  const node = ran && ranNode(ran)
  return node === undefined ? [] : [`  ${shared.leaf.name}`, ...indented(ranText(node)).map((line) => `  ${line}`)]
}

/** Prints the plan of a point or range query of a lazy array: the optimizer puts an index under it, unless there is one. */
function indexLines(plan: LogicalPlan, index: IndexFacts | undefined): readonly string[] {
  if (plan.keys.kind !== 'explicit' && (index === undefined || index.queries === 0)) return []
  if (plan.kind === 'Array' || plan.kind === 'Stored') return []
  const array = index?.array ?? plan
  const selectors = new Array<null>(rankOf(array.keys)).fill(null)
  const lookup: LogicalPlan = { kind: 'IndexLookup', input: array, selectors, element: array.element, keys: thinned(array.keys) }
  const stages = stagesText(lower(withStorage(optimize(lookup).plan)))
  return ['Queries', ...indented(stages), ...(index === undefined || index.built === 0 ? [] : [`  ${builtText(index)}`])]
}

function builtText({ built, queries }: IndexFacts): string {
  const times = built === 1 ? 'once' : `${built} times, after writes below it`
  return `The index was built ${times} and answered ${queries === 1 ? '1 query' : `${queries} queries`}.`
}

function functionLines(functions: readonly ExplainedFunction[] = []): readonly string[] {
  if (functions.length === 0) return []
  return [
    'Functions',
    ...functions.map(
      ({ step, text, runs, because }) =>
        `  ${step} ${text}: ${howText(runs)}${because === undefined ? '' : `, because ${endless(because)}`}`,
    ),
  ]
}

function howText(runs: ExplainedFunction['runs']): string {
  switch (runs) {
    case 'WebAssembly':
      return 'WebAssembly over columns'
    case 'JavaScript':
      return 'JavaScript made from its IR, over rows'
    case 'nothing':
      return 'nothing runs'
    case 'copy':
      return 'the function itself, as a copy in the workers'
    case 'as it stands':
      return "the function itself, as it stands on the caller's thread"
  }
}

/** Prints the kernels of folds and `materialize()`; everything else runs the stages. */
function columnLines(columns: ExplainedColumns | undefined): readonly string[] {
  if (columns === undefined) return []
  return ['Kernel of sum(), mean(), min(), max(), count() and materialize()', ...kernelLines(columns)]
}

function groupLines(groups: ExplainedGroups | undefined): readonly string[] {
  if (groups === undefined) return []
  const rows = groups.rows === undefined ? [] : ['Kernel of the rows that are grouped', ...kernelLines(groups.rows)]
  return ['Groups', `  ${groups.found}`, ...rows]
}

function kernelLines(columns: ExplainedColumns): readonly string[] {
  if ('kernels' in columns) {
    const texts = columns.kernels.flatMap(({ gives, text }) => [`  ${gives}`, ...indented(text).map((line) => `  ${line}`)])
    const { besides } = columns
    return ['  WebAssembly: one pass over the columns, four rows at a time', ...(besides === undefined ? [] : [`  ${besides}`]), ...texts]
  }
  const { because, span } = columns
  return [`  JavaScript, because ${because}${span === undefined ? '' : ` (${placeText(span)} ${span.text})`}`]
}

/** Prints the plan that runs on a server, below the one node that it is here. */
function remoteLines(node: LogicalPlan, note: (node: LogicalPlan) => readonly string[]): readonly string[] {
  if (node.kind !== 'Scan' || node.source.remote?.kind !== 'query') return []
  return [
    "runs there; sums of numbers have Spark's bits, and rows come in its order",
    ...planText(node.source.remote.plan, note).split('\n'),
  ]
}

function indented(text: string): readonly string[] {
  return text.split('\n').map((line) => `  ${line}`)
}

function yieldsText(node: LogicalPlan): string {
  return `yields ${elementText(node.element)}, keys ${keysText(node.keys)}`
}

/** Prints the IR of a function. */
function irLines({ ir }: UserFunction): readonly string[] {
  if (ir === undefined) return []
  const lines = irListing(ir).split('\n')
  return lines.length === 1 ? [`IR ${lines[0]}`] : ['IR', ...lines.map((line) => `  ${line}`)]
}

/** Prints where a function that was refused runs, and why: one line, and one more for each further reason. */
function refusalLines(f: UserFunction): readonly string[] {
  const runs = runOf(f)
  if (runs === 'compiled') return []
  const reasons = f.refusals.length > 0 ? f.refusals : f.unportable === undefined ? [] : [f.unportable]
  const where = runText(runs)
  const bound = runs === 'caller' && f.unportable !== undefined && !reasons.includes(f.unportable) ? [f.unportable] : []
  const lines = [...new Set([...reasons, ...bound].map(refusalText))]
  if (lines.length === 0) return [where]
  return [`${where}: ${lines[0]}`, ...lines.slice(1).map((line) => `and ${line}`)]
}

function refusalText({ message, cure, span }: Refusal): string {
  const place = span === undefined ? '' : `${placeText(span)} ${span.text}: `
  return `${place}${message} ${cure}`.trim()
}

function explainedNode(node: LogicalPlan): ExplainedNode {
  return {
    kind: node.kind,
    text: nodeText(node),
    element: elementText(node.element),
    keys: keysText(node.keys),
    functions: functionsOf(node).map((f) => ({ text: f.text, runs: runOf(f), refusals: f.refusals })),
    inputs: inputsOf(node).map(explainedNode),
  }
}

/** Replaces arrays by storage without data: they have none before a run, and the stages need only its kind. */
function withStorage(plan: LogicalPlan): LogicalPlan {
  if (plan.kind !== 'Array') return mapInputs(plan, withStorage)
  const { shape, dtype, name, element, keys } = plan
  const storage: DenseStorage = { kind: 'dense', shape, dtype, strides: stridesOf(shape, dtype), data: new Float64Array(0) }
  if (keys.kind !== 'explicit' || keys.dense) return { kind: 'Stored', name, storage, element, keys }
  return { kind: 'Stored', name, storage: { kind: 'sparse', shape, element, length: 0, keys: [], columns: [] }, element, keys }
}
