/**
 * Walking and printing plans.
 *
 * One line per node, inputs indented below, left first. The same text stands in `explain()`, in tests, in messages and
 * in the docs:
 *
 *     Filter (r) => r.stars > 0
 *       Scan ratings.parquet [user, movie, stars]
 */
import type { UserFunction } from '../ir/functionIr.ts'
import type { ArraySource } from './logicalPlan.ts'
import {
  type AggregateCall,
  type Directions,
  functionsOfCall,
  type GroupHow,
  inputsOf,
  type JoinKey,
  type LogicalPlan,
  type WindowCall,
  type WindowFrame,
  withInputs,
} from './logicalPlan.ts'
import { withFunctions } from './planFunctions.ts'
import { predicateText } from './predicate.ts'

/** The node over mapped inputs; the node itself when no input changed. */
export function mapInputs(plan: LogicalPlan, f: (input: LogicalPlan) => LogicalPlan): LogicalPlan {
  return withInputs(plan, inputsOf(plan).map(f))
}

/** Calls `visit` on every node, parents first, left inputs first. */
export function visitPlan(plan: LogicalPlan, visit: (node: LogicalPlan) => void): void {
  visit(plan)
  for (const input of inputsOf(plan)) visitPlan(input, visit)
}

/** The whole plan, one line per node. `note` may add to a node's line; its further lines are indented below the node. */
export function planText(plan: LogicalPlan, note?: (node: LogicalPlan) => readonly string[]): string {
  return linesOf(plan, note).join('\n')
}

function linesOf(plan: LogicalPlan, note?: (node: LogicalPlan) => readonly string[]): string[] {
  const notes = (note?.(plan) ?? []).map((line) => `    ${line}`)
  const below = inputsOf(plan).flatMap((input) => linesOf(input, note).map((line) => `  ${line}`))
  return [nodeText(plan), ...notes, ...below]
}

/** What a node does, on one line, and whether its array is streamed. */
export function nodeText(plan: LogicalPlan): string {
  const mark = plan.pipelined === undefined ? '' : plan.pipelined === true ? '  (pipelined)' : '  (pipelined for who wants the first)'
  return `${operationText(plan)}${mark}`
}

/** How many of the files that folders tell apart are read, where some are left out. */
export function filesText({ files }: ArraySource): string {
  return files === undefined || files.read === files.all ? '' : `, files: ${files.read} of ${files.all}`
}

function operationText(plan: LogicalPlan): string {
  switch (plan.kind) {
    case 'Scan': {
      const where = plan.predicate === undefined || plan.predicate.length === 0 ? '' : ` where ${predicateText(plan.predicate)}`
      if (plan.source.remote?.kind === 'query') return `SparkExec ${plan.source.name} [${plan.columns.join(', ')}]`
      return `Scan ${plan.source.name} [${plan.columns.join(', ')}]${where}${filesText(plan.source)}`
    }
    case 'Array':
      return `Array ${plan.name} ${plan.dtype}`
    case 'Stored':
      return `Stored ${plan.name} ${plan.storage.kind}${plan.columns === undefined ? '' : ` [${plan.columns.join(', ')}]`}`
    case 'Map':
    case 'Filter':
    case 'WithColumns':
    case 'FlatMap':
    case 'MapPartitions':
      return `${plan.kind} ${plan.f.text}`
    case 'Project':
      return `Project [${plan.columns.join(', ')}]`
    case 'Cast':
      return `Cast ${plan.dtype}`
    case 'Index':
      return [
        `Index ${plan.f.text}`,
        plan.shape === undefined ? '' : ` shape [${plan.shape.join(', ')}]`,
        plan.storage === undefined ? '' : ` ${plan.storage}`,
        plan.combine === undefined ? '' : ` combine ${plan.combine.text}`,
      ].join('')
    case 'GroupBy':
      return `GroupBy ${plan.by.kind === 'axis' ? `axis ${plan.by.axis}` : plan.by.f.text}: ${howText(plan.how)}`
    case 'Join':
      return `Join ${plan.how}${joinKeyText(plan.on)}`
    case 'AsofJoin':
      return `AsofJoin ${asofText(plan)}`
    case 'Sort':
      return `Sort ${plan.by.text}${directionText(plan.descending)}${plan.limit === undefined ? '' : ` first ${plan.limit}`}`
    case 'Window':
      return `Window ${windowText(plan)}: ${plan.calls.map(windowCallText).join(', ')}`
    case 'Sample':
      return `Sample ${plan.fraction} seed ${plan.seed}`
    case 'Draw':
      return `Draw ${plan.count} seed ${plan.seed}`
    case 'Limit':
      return `Limit ${plan.count}`
    case 'Offset':
      return plan.offset < 0 ? `Offset to the last ${-plan.offset}` : `Offset ${plan.offset}`
    case 'Repartition':
      return `Repartition${plan.partitions === undefined ? '' : ` ${plan.partitions}`}${plan.by === undefined ? '' : ` by ${plan.by.text}`}`
    case 'ShuffleKeys':
      return `ShuffleKeys axes [${plan.axes.join(', ')}] seed ${plan.seed}`
    case 'IndexLookup':
      return `IndexLookup [${plan.selectors.map(selectorText).join(', ')}]`
    case 'Distinct':
    case 'Union':
    case 'Materialize':
    case 'IndexBuild':
      return plan.kind
  }
}

function howText(how: GroupHow): string {
  switch (how.kind) {
    case 'agg':
      return `${how.aggregates.map(aggregateText).join(', ')}${how.partial === true ? ' per partition first' : ''}`
    case 'reduce':
    case 'map':
      return `${how.kind} ${how.f.text}`
  }
}

function aggregateText(call: AggregateCall): string {
  const functions = functionsOfCall(call).map(({ text }) => text)
  return `${call.name} = ${call.kind}(${[...functions, ...(call.q === undefined ? [] : [call.q])].join(', ')})`
}

/** ` descending`, ` ascending, descending` of several keys; nothing where all go up. */
export function directionText(descending: Directions): string {
  if (typeof descending === 'boolean') return descending ? ' descending' : ''
  return descending.includes(true) ? ` ${descending.map((one) => (one ? 'descending' : 'ascending')).join(', ')}` : ''
}

/** What the rows of a window are: `by r => r.user order r => r.ts rows [-6, 0]`. */
function windowText({ by, orderBy, descending, frame }: Extract<LogicalPlan, { kind: 'Window' }>): string {
  const order = orderBy === undefined ? '' : `order ${orderBy.text}${descending ? ' descending' : ''} `
  return `${by === undefined ? '' : `by ${by.text} `}${order}${frameText(frame)}`
}

/** A frame on one line, as `rows [-6, 0]`; null is the end of the partition. */
export function frameText({ kind, from, to }: WindowFrame): string {
  return `${kind} [${from}, ${to}]`
}

function windowCallText({ name, kind, of, n, ignoresNulls }: WindowCall): string {
  return `${name} = ${kind}(${[of?.text ?? [], n ?? []].flat().join(', ')})${ignoresNulls === true ? ' ignoring nulls' : ''}`
}

function joinKeyText(on: JoinKey): string {
  switch (on.kind) {
    case 'column':
      return ` on "${on.column}"`
    case 'functions':
      return on.shared === undefined ? ` on ${on.left.text} = ${on.right.text}` : ` on ${on.shared.map((name) => `"${name}"`).join(', ')}`
    case 'none':
      return ''
  }
}

/** `backward on r => r.at ~ q => q.at by r => r.symbol = q => q.symbol within 60000`. */
function asofText({ direction, on, by, tolerance }: Extract<LogicalPlan, { kind: 'AsofJoin' }>): string {
  const equal = by === undefined ? '' : ` by ${by.left.text} = ${by.right.text}`
  const near = tolerance === undefined ? '' : ` within ${tolerance}`
  return `${direction} on ${on.left.text} ~ ${on.right.text}${equal}${near}`
}

function selectorText(selector: number | readonly [number, number] | null): string {
  if (selector === null) return ':'
  return typeof selector === 'number' ? String(selector) : `${selector[0]}:${selector[1]}`
}

/** The user functions of a node, in the order they are printed. */
export function functionsOf(plan: LogicalPlan): readonly UserFunction[] {
  const found: UserFunction[] = []
  withFunctions(plan, (f) => {
    found.push(f)
    return f
  })
  return found
}

/** What a plan reads, for messages: the file or the array, as long as there is only one. */
export function labelOf(plan: LogicalPlan): string | undefined {
  if (plan.kind === 'Scan') return plan.source.name
  if (plan.kind === 'Array' || plan.kind === 'Stored') return plan.name
  const [input, other] = inputsOf(plan)
  return input === undefined || other !== undefined ? undefined : labelOf(input)
}
