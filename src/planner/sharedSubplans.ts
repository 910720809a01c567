/**
 * Parts of a plan that several places read, which run once: what the program keeps in a variable and uses twice.
 *
 *     const sold = sales.join(items, …)
 *     sold.groupBy(byBrand).agg(…).union(sold.groupBy(byClass).agg(…), sold.agg(…))       sold: a join, read in 3 places
 *
 * The part is a table of the columns that any of these places reads. It is left as it is where running it once would cost more than it
 * saves: where a place asks for some of its rows alone, by a filter or a join that would go down into it, or for the first ones.
 */
import { emptyColumn } from '../core/data/columnSlices.ts'
import { type ColumnType, type Field, fieldsOf } from '../core/data/schema.ts'
import { inputsOf, type LogicalPlan } from '../core/plan/logicalPlan.ts'
import { functionsOf, mapInputs } from '../core/plan/tree.ts'
import { isPure } from './lambdaFacts.ts'
import { optimize } from './optimize.ts'

type Stored = Extract<LogicalPlan, { kind: 'Stored' }>

export interface SharedSubplan {
  readonly node: LogicalPlan
  /** The number of nodes that read it. */
  readonly places: number
  /** Its rows with the columns that are read, optimized. */
  readonly plan: LogicalPlan
  /** The leaf that stands for the rows, without storage of its own. */
  readonly leaf: Stored
}

/** A part of the plan that is worth running once, below which there is no other; undefined where there is none. `number` is in its name. */
export function sharedSubplan(plan: LogicalPlan, number: number): SharedSubplan | undefined {
  const readers = readersOf(plan)
  const [wide, repeatable] = [new Set<LogicalPlan>(), new Set<LogicalPlan>()]
  for (const node of readers.keys()) {
    const inputs = inputsOf(node)
    if (WIDE.has(node.kind) || inputs.some((input) => wide.has(input))) wide.add(node)
    if (isRepeatable(node) && inputs.every((input) => repeatable.has(input))) repeatable.add(node)
    const places = readers.get(node)?.length ?? 0
    if (places < 2 || !wide.has(node) || !repeatable.has(node) || !isTable(node) || !takeAllRows(node, readers)) continue
    const fields = fieldsReadOf(node, plan)
    if (fields === undefined) continue
    const isWhole = fields.length === fieldsOf(node.element).length
    const element = { kind: 'row', fields } as const
    const narrowed: LogicalPlan = { kind: 'Project', input: node, columns: fields.map(({ name }) => name), element, keys: node.keys }
    const rows = optimize(isWhole ? node : narrowed).plan
    return { node, places, plan: rows, leaf: leafOf(node, fields, `shared ${number}`) }
  }
  return undefined
}

/** The plan with a leaf in place of a node. */
export function withLeaf(plan: LogicalPlan, node: LogicalPlan, leaf: LogicalPlan): LogicalPlan {
  const done = new Map<LogicalPlan, LogicalPlan>([[node, leaf]])
  const visit = (one: LogicalPlan): LogicalPlan => {
    const known = done.get(one)
    if (known !== undefined) return known
    const other = mapInputs(one, visit)
    done.set(one, other)
    return other
  }
  return visit(plan)
}

/** The nodes that read each node, inputs before the nodes above them. */
function readersOf(plan: LogicalPlan): ReadonlyMap<LogicalPlan, readonly LogicalPlan[]> {
  const readers = new Map<LogicalPlan, LogicalPlan[]>()
  const seen = new Set<LogicalPlan>()
  const visit = (node: LogicalPlan): void => {
    if (seen.has(node)) return
    seen.add(node)
    for (const input of inputsOf(node)) visit(input)
    readers.set(node, [])
    for (const input of inputsOf(node)) readers.get(input)?.push(node)
  }
  visit(plan)
  return readers
}

/** Nodes that take more than one pass over a table. */
const WIDE: ReadonlySet<LogicalPlan['kind']> = new Set(['Join', 'AsofJoin', 'GroupBy', 'Window', 'Distinct'])

/** Whether a node makes the same rows of its inputs whenever it runs. */
function isRepeatable(node: LogicalPlan): boolean {
  return functionsOf(node).every(isPure) && !(node.kind === 'Scan' && node.source.remote !== undefined)
}

function isTable({ keys, element }: LogicalPlan): boolean {
  return keys.kind === 'rowNumber' && element.kind === 'row' && element.fields.every(({ type }) => isPlain(type))
}

/** Whether values of the type are numbers, texts, times or bytes. */
function isPlain({ kind }: ColumnType): boolean {
  return kind !== 'list' && kind !== 'struct' && kind !== 'object' && kind !== 'null' && kind !== 'unknown'
}

/** Whether all nodes above take all rows of a part; each is asked once, as a plan may be a graph of any width. */
function takeAllRows(part: LogicalPlan, readers: ReadonlyMap<LogicalPlan, readonly LogicalPlan[]>): boolean {
  const asked = new Set<LogicalPlan>()
  const isGroups = once(isOfGroups)
  const takes = (node: LogicalPlan): boolean => {
    if (asked.has(node)) return true // or the answer is no by now
    asked.add(node)
    return (readers.get(node) ?? []).every((reader) => {
      switch (reader.kind) {
        case 'GroupBy':
        case 'Distinct':
        case 'Window':
        case 'Sort':
          return true
        case 'Map':
        case 'WithColumns':
        case 'Project':
        case 'Union':
          return takes(reader)
        case 'Filter':
        case 'Join':
          return isGroups(part) // neither goes down into groups
        default:
          return false
      }
    })
  }
  return takes(part)
}

/** The answer to a question about nodes, which may ask it of others; each node is looked at once. */
function once(answer: (node: LogicalPlan, ask: (node: LogicalPlan) => boolean) => boolean): (node: LogicalPlan) => boolean {
  const known = new Map<LogicalPlan, boolean>()
  const ask = (node: LogicalPlan): boolean => {
    const found = known.get(node) ?? answer(node, ask)
    known.set(node, found)
    return found
  }
  return ask
}

/** Whether the rows of a node are groups, or rows made of each. */
function isOfGroups(node: LogicalPlan, ask: (node: LogicalPlan) => boolean): boolean {
  switch (node.kind) {
    case 'GroupBy':
    case 'Distinct':
      return true
    case 'Map':
    case 'WithColumns':
    case 'Project':
      return ask(node.input)
    case 'Union':
      return node.inputs.every(ask)
    default:
      return false
  }
}

/** The fields of a node that the plan reads in two places or more, once it is optimized. */
function fieldsReadOf(node: LogicalPlan, plan: LogicalPlan): readonly Field[] | undefined {
  const leaf = leafOf(node, fieldsOf(node.element), 'shared')
  const read = new Set<string>()
  let places = 0
  const seen = new Set<LogicalPlan>()
  const visit = (one: LogicalPlan): void => {
    for (const input of inputsOf(one)) {
      if (input.kind === 'Stored' && input.storage === leaf.storage) {
        places++
        for (const { name } of fieldsOf(input.element)) read.add(name)
      }
      if (seen.has(input)) continue
      seen.add(input)
      visit(input)
    }
  }
  visit(optimize(withLeaf(plan, node, leaf)).plan)
  return places < 2 ? undefined : fieldsOf(node.element).filter(({ name }) => read.has(name))
}

function leafOf(node: LogicalPlan, fields: readonly Field[], name: string): Stored {
  const element = { kind: 'row', fields } as const
  const storage = { kind: 'table', element, length: 0, columns: fields.map(({ type }) => emptyColumn(type)) } as const
  return { kind: 'Stored', name, storage, element, keys: node.keys }
}
