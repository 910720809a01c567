/** What names are given by statements, also in the form that minifiers give them: `c ? f = a : d && (f = b), g = c`. */
import type { AnyNode, Expression, Identifier } from 'acorn'

/** Returns what a name is given where it is assigned and nobody asks for the value of the assignment; undefined for other uses. */
export function assignedIn(node: Identifier, parents: readonly AnyNode[]): Expression | undefined {
  const assignment = parents.at(-1)
  if (assignment?.type !== 'AssignmentExpression' || assignment.left !== node || assignment.operator !== '=') return undefined
  return isUnused(parents.length - 1, parents) ? assignment.right : undefined
}

/** Whether nobody asks for the value of the expression at a depth: it is a statement, or a branch of one. */
function isUnused(depth: number, parents: readonly AnyNode[]): boolean {
  const [node, above] = [parents[depth], parents[depth - 1]]
  switch (above?.type) {
    case 'ExpressionStatement':
      return true
    case 'ParenthesizedExpression':
      return isUnused(depth - 1, parents)
    case 'LogicalExpression':
      return above.right === node && isUnused(depth - 1, parents)
    case 'ConditionalExpression':
      return above.test !== node && isUnused(depth - 1, parents)
    case 'SequenceExpression':
      return above.expressions.at(-1) !== node || isUnused(depth - 1, parents)
    default:
      return false
  }
}
