/**
 * Joins carry from both sides only the columns that something above reads.
 *
 *     EvaluateExec r => r.price                       EvaluateExec r => r.price
 *       HashJoinExec                                    HashJoinExec -> [price]
 *         EvaluateExec o => o.id, beside them             EvaluateExec o => o.id, beside [price]
 *           FilterExec /x/.test(o.comment)                  FilterExec /x/.test(o.comment)
 *             ScanExec [id, price, comment]                   ScanExec [id, price, comment]
 *         EvaluateExec i => i.order, beside them          EvaluateExec i => i.order, beside []
 *           ScanExec [order]                                ScanExec [order]
 *
 * A column that only a filter below a join reads, or the join itself, ends there: it is not copied with the rows that are
 * kept, and not gathered. (`rules/pruneColumns.ts` has taken away what nobody reads.)
 */

import { type ElementType, fieldsOf } from '../../core/data/schema.ts'
import { columnsRead } from '../../core/ir/functionUse.ts'
import { inputsOf, type JoinedColumn, type PhysicalPlan, type Step, type WideOperator, withInputs } from './physicalPlan.ts'

type Pipeline = Extract<PhysicalPlan, { kind: 'PipelineExec' }>
type Wide = Extract<PhysicalPlan, { kind: 'WideExec' }>
type Join = Extract<WideOperator, { kind: 'HashJoinExec' }>
type Columns = ReadonlySet<string>

/** Returns the plan with joins that carry what is read above them. */
export function withCarried(plan: PhysicalPlan): PhysicalPlan {
  return carrying(plan, 'all')
}

/** Returns the plan with fewer columns, those that are needed among them; its element lists them. */
function carrying(plan: PhysicalPlan, needed: Columns | 'all'): PhysicalPlan {
  if (plan.kind === 'PipelineExec') return pipelineCarrying(plan, needed)
  if (plan.kind === 'WideExec' && plan.operator.kind === 'HashJoinExec') return joinCarrying(plan, plan.operator, needed)
  return withInputs(
    plan,
    inputsOf(plan).map((input) => carrying(input, 'all')),
  )
}

function pipelineCarrying(plan: Pipeline, needed: Columns | 'all'): PhysicalPlan {
  const steps = endingWith(plan, needed)
  const input = carrying(plan.input, neededBelow(steps, needed))
  if (steps !== plan.steps) return { ...plan, input, steps, element: narrowed(plan.element, needed) }
  return input === plan.input ? plan : { ...plan, input, element: elementOver(plan, input.element, needed) }
}

/** Returns the element of a pipeline whose input has lost columns: they are gone until a step makes new elements. */
function elementOver({ steps, input, element }: Pipeline, own: ElementType, needed: Columns | 'all'): ElementType {
  const isMade = steps.some(({ kind }) => kind === 'MapExec' || kind === 'FlatMapExec' || kind === 'ProjectExec')
  if (needed === 'all' || isMade || element.kind !== 'row') return element
  const left = new Set(fieldsOf(own).map(({ name }) => name))
  const gone = new Set(fieldsOf(input.element).flatMap(({ name }) => (left.has(name) || needed.has(name) ? [] : [name])))
  return { kind: 'row', fields: fieldsOf(element).filter(({ name }) => !gone.has(name)) }
}

/** Returns steps that drop what is not needed, unless they only hand on a table's columns. */
function endingWith({ steps, element, keys }: Pipeline, needed: Columns | 'all'): readonly Step[] {
  if (needed === 'all' || element.kind !== 'row' || keys.kind !== 'rowNumber') return steps
  const columns = fieldsOf(element).flatMap(({ name }) => (needed.has(name) ? [name] : []))
  if (columns.length === fieldsOf(element).length) return steps
  const last = steps.at(-1)
  if (last?.kind === 'EvaluateExec') return last.payload === false ? steps : [...steps.slice(0, -1), { ...last, payload: columns }]
  // a batch without any column would not know its number of rows
  return last?.kind === 'FilterExec' && columns.length > 0 ? [...steps, { kind: 'ProjectExec', columns, isAdded: true }] : steps
}

function narrowed(element: ElementType, needed: Columns | 'all'): ElementType {
  return needed === 'all' ? element : { kind: 'row', fields: fieldsOf(element).filter(({ name }) => needed.has(name)) }
}

function joinCarrying(plan: Wide, join: Join, needed: Columns | 'all'): PhysicalPlan {
  const [left, right] = plan.inputs
  if (left === undefined || right === undefined) return plan
  const key = join.on === undefined ? [] : [join.on]
  // a right row without a left match takes the key's columns from the right side
  const beside = join.on === undefined && (join.how === 'right' || join.how === 'full') ? join.shared : []
  if (join.how === 'semi' || join.how === 'anti') {
    const own = carrying(left, union(needed, new Set(key)))
    const inputs = [own, carrying(right, new Set(key))]
    return { ...plan, inputs, operator: { ...join, element: own.element }, element: own.element }
  }
  const all = joinedColumns(join, left.element, right.element)
  if (all === undefined || needed === 'all') return withInputs(plan, [carrying(left, 'all'), carrying(right, 'all')])
  const columns = all.filter(({ as }) => needed.has(as))
  const of = (side: 0 | 1): Columns => new Set([...columns.flatMap(({ from, name }) => (from === side ? [name] : [])), ...key, ...beside])
  const inputs = [carrying(left, of(0)), carrying(right, of(1))]
  if (columns.length === all.length) return withInputs(plan, inputs)
  const element = narrowed(plan.element, needed)
  return { ...plan, inputs, operator: { ...join, element, columns }, element }
}

/** Returns the side and name of each column of joined rows; undefined where only the data tells the columns. */
function joinedColumns({ shared, suffix, element }: Join, left: ElementType, right: ElementType): readonly JoinedColumn[] | undefined {
  if (left.kind !== 'row' || right.kind !== 'row' || element.kind !== 'row') return undefined
  const own = new Set(fieldsOf(left).map(({ name }) => name))
  const ofLeft = fieldsOf(left).map(({ name }): JoinedColumn => ({ from: 0, name, as: name }))
  const ofRight = fieldsOf(right).flatMap(({ name }): readonly JoinedColumn[] =>
    shared.includes(name) ? [] : [{ from: 1, name, as: own.has(name) ? `${name}${suffix}` : name }],
  )
  const columns = [...ofLeft, ...ofRight]
  const names = fieldsOf(element).map(({ name }) => name)
  return columns.length === names.length && columns.every(({ as }, i) => as === names[i]) ? columns : undefined
}

function neededBelow(steps: readonly Step[], needed: Columns | 'all'): Columns | 'all' {
  return steps.reduceRight<Columns | 'all'>((above, step) => before(step, above), needed)
}

function before(step: Step, needed: Columns | 'all'): Columns | 'all' {
  switch (step.kind) {
    case 'FilterExec':
    case 'WithColumnsExec':
      return union(needed, columnsRead(step.f))
    case 'MapExec':
    case 'FlatMapExec':
      return columnsRead(step.f)
    case 'ProjectExec':
      return new Set(step.columns)
    case 'EvaluateExec': {
      if (step.axis !== undefined) return 'all'
      const { payload } = step
      const beside = payload === true ? needed : new Set(payload === false ? [] : payload)
      return step.columns.reduce((all, { f }) => union(all, columnsRead(f)), beside)
    }
    case 'SampleExec':
    case 'LimitExec':
    case 'TopKExec':
    case 'PartialDrawExec':
    case 'PartialAggregateExec':
    case 'PartialGroupsExec':
      return needed
    case 'MapPartitionsExec':
    case 'CastExec':
    case 'KeysExec':
    case 'PartialDistinctExec':
      return 'all'
  }
}

function union(a: Columns | 'all', b: Columns | 'all'): Columns | 'all' {
  return a === 'all' || b === 'all' ? 'all' : new Set([...a, ...b])
}
