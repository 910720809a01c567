/** What an array is called in messages: how it was made, as `zeros([3, 4])` or `ratings.parquet.filter(…).index(…)`. */
import type { LogicalPlan } from '../../core/plan/logicalPlan.ts'

/** Longer chains are cut in the middle. */
const LONGEST = 60

export function labelOf(node: LogicalPlan): string {
  const label = chain(node)
  return label.length <= LONGEST ? label : `${label.slice(0, LONGEST / 2)} … ${label.slice(-LONGEST / 2)}`
}

function chain(node: LogicalPlan): string {
  switch (node.kind) {
    case 'Scan':
      return node.source.name
    case 'Array':
    case 'Stored':
      return node.name
    case 'Join':
      return `${chain(node.left)}.join(…)`
    case 'AsofJoin':
      return `${chain(node.left)}.joinAsof(…)`
    case 'Union':
      return `${node.inputs[0] === undefined ? '' : chain(node.inputs[0])}.union(…)`
    case 'IndexBuild':
    case 'IndexLookup':
    case 'Materialize':
      return chain(node.input)
    case 'Project':
      return `${chain(node.input)}.select(${node.columns.map((column) => `'${column}'`).join(', ')})`
    case 'Cast':
      return `${chain(node.input)}.cast('${node.dtype}')`
    case 'GroupBy':
      return `${chain(node.input)}.groupBy(…).${node.how.kind}(…)`
    case 'Sort':
      return `${chain(node.input)}.sortBy(…)`
    case 'Draw':
      return `${chain(node.input)}.sample(…)`
    case 'Distinct':
      return `${chain(node.input)}.distinct()`
    case 'Limit':
      return `${chain(node.input)}.limit(${node.count})`
    case 'Offset':
      return node.offset < 0 ? `${chain(node.input)}.tail(${-node.offset})` : `${chain(node.input)} from ${node.offset} on`
    case 'Map':
    case 'Filter':
    case 'WithColumns':
    case 'FlatMap':
    case 'MapPartitions':
    case 'Index':
    case 'Window':
    case 'Sample':
    case 'Repartition':
    case 'ShuffleKeys':
      return `${chain(node.input)}.${node.kind.charAt(0).toLowerCase()}${node.kind.slice(1)}(…)`
  }
}
