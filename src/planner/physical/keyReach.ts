/**
 * Finds how far down a side of a join the other side's keys can drop rows: to the tables whose columns the key's parts are.
 *
 *     join on [o.part, o.supplier] = [s.part, s.supplier]
 *       …
 *       EvaluateExec [s.part, s.supplier]                 part and supplier are fields of the groups' key,
 *         HashAggregateExec by { part, supplier }           which are columns of lineitem: of its rows only those
 *           PipelineExec over lineitem                      are grouped whose part, and whose supplier, is a key's
 *
 * Sound where a row of the table goes into rows of the side that have its column's value, and into no others: through
 * filters and columns that are handed on, the keys of groups, and the sides of joins that keep no row without a match.
 * Functions in between see fewer rows, so they must be such as cannot fail.
 */
import { type ElementType, fieldsOf } from '../../core/data/schema.ts'
import type { Expr } from '../../core/ir/functionIr.ts'
import { rowIrOf } from '../../core/ir/functionUse.ts'
import type { JoinHow } from '../../core/plan/logicalPlan.ts'
import { cannotFail } from '../lambdaFacts.ts'
import { callerFunctions } from './edges.ts'
import { keyFilterOf } from './keyFilter.ts'
import type { KeyPart, KeyReach, Side } from './keyParts.ts'
import { type ExecFunction, inputsOf, type PhysicalPlan, type Step, type WideOperator, withInputs } from './physicalPlan.ts'

type Pipeline = Extract<PhysicalPlan, { kind: 'PipelineExec' }>

type Join = Extract<WideOperator, { kind: 'HashJoinExec' }>

/** A node whose rows have the key, or a part of it, in a column of its table. */
interface Found {
  readonly plan: PhysicalPlan
  readonly column: string
  readonly part?: KeyPart
}

/** Returns the plan with first sides of joins and key filters of their inputs. Top-down: a filtered side likely comes first. */
export function withKeyFilters(plan: PhysicalPlan): PhysicalPlan {
  let last = 0
  const numbered = (node: PhysicalPlan): PhysicalPlan => {
    const side = firstSide(node)
    if (node.kind !== 'WideExec' || node.operator.kind !== 'HashJoinExec' || side === undefined)
      return withInputs(node, inputsOf(node).map(numbered))
    const keys = ++last
    const at = side === 'left' ? 1 : 0
    const other = node.inputs[at] as PhysicalPlan // a join has two inputs
    const found = keysFrom(other, node.operator.on)
    const below = found.some((one) => one.plan !== other)
    const inputs = node.inputs.map((input, i) => numbered(i === at ? marked(input, found, keys) : input))
    return { ...node, inputs, keyFilter: { side, keys, below } }
  }
  return numbered(plan)
}

function firstSide(node: PhysicalPlan): Side | undefined {
  if (node.kind !== 'WideExec' || node.operator.kind !== 'HashJoinExec') return undefined
  const [left, right] = node.inputs
  // functions that run as they stand see their rows in the order of the program
  if (left === undefined || right === undefined || callerFunctions(node).length > 0) return undefined
  return keyFilterOf(node.operator.how, left, right)
}

function marked(plan: PhysicalPlan, found: readonly Found[], keys: number): PhysicalPlan {
  const inside = withInputs(
    plan,
    inputsOf(plan).map((input) => marked(input, found, keys)),
  )
  const own = found.filter((one) => one.plan === plan).map(({ plan: _, ...reach }): KeyReach => ({ keys, ...reach }))
  return own.length === 0 ? inside : { ...inside, filteredBy: [...(plan.filteredBy ?? []), ...own] }
}

/** Returns the tables that the parts of the key of a join's side come from, as far as that is told. */
function keysFrom(side: PhysicalPlan, on: string | undefined): readonly Found[] {
  if (on !== undefined) return tableOf(side, on)
  if (side.kind !== 'PipelineExec') return []
  const last = side.steps.at(-1)
  if (last?.kind !== 'EvaluateExec' || last.axis !== undefined) return []
  return partsOf(last.columns[0]?.f).flatMap(({ expr, part }) => {
    const name = columnNamed(expr)
    const found = name === undefined ? [] : tableOf({ ...side, steps: side.steps.slice(0, -1) }, name, side)
    return found.map((one) => (part === undefined ? one : { ...one, part }))
  })
}

/** Returns the table of a column of `plan`, none where it is not told. `whole` is the pipeline of which `plan` is the beginning. */
function tableOf(plan: PhysicalPlan, name: string, whole: PhysicalPlan = plan): readonly Found[] {
  switch (plan.kind) {
    case 'ScanExec':
    case 'StoredExec':
      return [{ plan: whole, column: name }]
    case 'PipelineExec': {
      const below = plan.where === 'caller' || plan.numbered ? undefined : columnBelow(plan.steps, name)
      if (below === undefined) return []
      if (plan.input.kind === 'ScanExec' || plan.input.kind === 'StoredExec') return [{ plan: whole, column: below }]
      const steps = whole.kind === 'PipelineExec' ? whole.steps : plan.steps
      return mayRunOnFewer(steps, plan.input.element) ? tableOf(plan.input, below) : []
    }
    case 'WideExec':
      return plan.where === 'caller' ? [] : belowWide(plan.operator, plan.inputs, name)
    case 'LimitExec':
    case 'OffsetExec':
    case 'FetchExec':
    case 'UnionExec':
    case 'IndexBuildExec':
    case 'IndexLookupExec':
      return []
  }
}

function belowWide(operator: WideOperator, [first, second]: readonly PhysicalPlan[], name: string): readonly Found[] {
  if (operator.kind === 'HashAggregateExec' && first?.kind === 'PipelineExec') return belowGroups(first, name)
  if (operator.kind !== 'HashJoinExec' || first === undefined || second === undefined) return []
  const from = joinedFrom(operator, first.element, second.element, name)
  if (from === undefined) return []
  const side = from.side === 'left' ? first : second
  const last = side.kind === 'PipelineExec' ? side.steps.at(-1) : undefined
  if (side.kind !== 'PipelineExec' || last?.kind !== 'EvaluateExec') return tableOf(side, from.name)
  return tableOf({ ...side, steps: side.steps.slice(0, -1) }, from.name, side)
}

/** Traces a column of groups: a field of the key, or the key itself. */
function belowGroups(input: Pipeline, name: string): readonly Found[] {
  const at = input.steps.findIndex((step) => step.kind === 'EvaluateExec')
  const evaluate = input.steps[at]
  if (evaluate?.kind !== 'EvaluateExec' || evaluate.axis !== undefined || evaluate.columns[0]?.use !== 'group') return []
  const key = partsOf(evaluate.columns[0].f).find(({ part }) => (part === undefined ? name === 'key' : part.of[part.at] === name))
  const column = key && columnNamed(key.expr)
  return column === undefined ? [] : tableOf({ ...input, steps: input.steps.slice(0, at) }, column, input)
}

/** Returns the side that the column comes from; undefined where rows of that side may be in the result without their own columns. */
function joinedFrom(
  { how, shared, suffix }: Join,
  left: ElementType,
  right: ElementType,
  name: string,
): { readonly side: Side; readonly name: string } | undefined {
  const names = new Set(fieldsOf(left).map((field) => field.name))
  if (names.has(name)) return KEPT_FROM[how].includes('left') ? { side: 'left', name } : undefined
  const own = fieldsOf(right).find(
    (field) => !shared.includes(field.name) && (names.has(field.name) ? `${field.name}${suffix}` : field.name) === name,
  )
  return own !== undefined && KEPT_FROM[how].includes('right') ? { side: 'right', name: own.name } : undefined
}

/** Sides whose rows are in a result with their own columns, or in none. */
const KEPT_FROM: Readonly<Record<JoinHow, readonly Side[]>> = {
  inner: ['left', 'right'],
  cross: ['left', 'right'],
  left: ['left'],
  semi: ['left'],
  anti: ['left'],
  right: ['right'],
  full: [],
}

/** Returns the column below the steps that is handed on as the one above them; undefined where a step computes it. */
function columnBelow(steps: readonly Step[], name: string): string | undefined {
  return steps.reduceRight<string | undefined>((above, step) => (above === undefined ? undefined : before(step, above)), name)
}

function before(step: Step, name: string): string | undefined {
  switch (step.kind) {
    case 'FilterExec':
      return name
    case 'ProjectExec':
      return step.columns.includes(name) ? name : undefined
    case 'MapExec': {
      const part = partsOf(step.f).find((one) => one.part?.of[one.part.at] === name)
      return part && columnNamed(part.expr)
    }
    case 'WithColumnsExec':
    case 'FlatMapExec':
    case 'MapPartitionsExec':
    case 'CastExec':
    case 'SampleExec':
    case 'LimitExec':
    case 'KeysExec':
    case 'EvaluateExec':
    case 'PartialAggregateExec':
    case 'PartialGroupsExec':
    case 'TopKExec':
    case 'PartialDrawExec':
    case 'PartialDistinctExec':
      return undefined
  }
}

/** Whether it cannot be noticed on which elements the steps run. */
function mayRunOnFewer([step, ...rest]: readonly Step[], element: ElementType): boolean {
  switch (step?.kind) {
    case undefined:
      return true
    case 'FilterExec':
      return cannotFail(step.f, [element]) && mayRunOnFewer(rest, element)
    case 'MapExec':
      return cannotFail(step.f, [element]) && mayRunOnFewer(rest, step.element)
    case 'ProjectExec':
      return mayRunOnFewer(rest, { kind: 'row', fields: fieldsOf(element).filter(({ name }) => step.columns.includes(name)) })
    case 'EvaluateExec':
      return step.columns.every(({ f }) => cannotFail(f, [element])) && mayRunOnFewer(rest, element)
    case 'PartialAggregateExec':
      return mayRunOnFewer(rest, element)
    case 'WithColumnsExec':
    case 'FlatMapExec':
    case 'MapPartitionsExec':
    case 'CastExec':
    case 'SampleExec':
    case 'LimitExec':
    case 'KeysExec':
    case 'PartialGroupsExec':
    case 'TopKExec':
    case 'PartialDrawExec':
    case 'PartialDistinctExec':
      return false
  }
}

interface Part {
  readonly expr: Expr
  readonly part?: KeyPart
}

/** Returns the value of a function that only returns, or the fields or items of that value; none for any other function. */
function partsOf(f: ExecFunction | undefined): readonly Part[] {
  const [only, ...rest] = (f === undefined ? undefined : rowIrOf(f))?.body ?? []
  if (rest.length > 0 || only?.kind !== 'Return' || only.value === undefined) return []
  const { value } = only
  if (value.kind !== 'ObjectLiteral' && value.kind !== 'ArrayLiteral') return [{ expr: value }]
  const exprs = value.kind === 'ArrayLiteral' ? value.items : value.fields.map((field) => field.value)
  const of = value.kind === 'ArrayLiteral' ? exprs.map((_, i) => String(i)) : value.fields.map((field) => field.name)
  return new Set(of).size < of.length ? [] : exprs.map((expr, at) => ({ expr, part: { at, of } }))
}

function columnNamed(expr: Expr): string | undefined {
  return expr.kind === 'Field' && expr.of.kind === 'Input' && expr.of.argument === 0 ? expr.name : undefined
}
