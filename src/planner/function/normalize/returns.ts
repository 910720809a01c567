/**
 * Rewrites early returns as if/else, so that a return is the last thing on its path wherever that is possible.
 *
 *     if (c) { S; return a }  R            if (c) { S; return a } else { R }
 *     if (c) return a; else return b       return c ? a : b
 *     S; return                            S
 *
 * Sound because nothing runs after a return, and what is moved into the else stays in its order. Only where the
 * statements are in tail position of a function; function declarations are hoisted, so they are not moved.
 */
import type { BlockStatement, ReturnStatement, Statement } from 'acorn'
import type { FunctionNode } from '../source/ast.ts'
import { behindThrows, ifsOf } from './returnedKinds.ts'

export function structureReturns(node: FunctionNode): FunctionNode {
  if (node.body.type !== 'BlockStatement' || node.generator) return node
  const body = withTail(node.body.body)
  const [only] = body
  if (body.length === 1 && only?.type === 'ReturnStatement' && only.argument && node.type === 'ArrowFunctionExpression') {
    return { ...node, body: only.argument, expression: true }
  }
  return { ...node, body: { ...node.body, body } }
}

function withTail(statements: readonly Statement[]): Statement[] {
  const result: Statement[] = []
  for (const [i, statement] of statements.entries()) {
    const rest = statements.slice(i + 1)
    if (statement.type === 'ReturnStatement') {
      // what follows never runs, but may declare names that are used before
      if (rest.some((one) => one.type !== 'FunctionDeclaration')) return [...result, statement, ...rest]
      if (statement.argument) result.push(statement)
      return [...rest, ...result]
    }
    if (statement.type === 'BlockStatement' && rest.length === 0) {
      result.push({ ...statement, body: withTail(statement.body) })
      return result
    }
    if (statement.type === 'IfStatement') {
      const moved = moveRest(statement, rest)
      if (moved !== undefined) return [...result, ...moved]
    }
    const ifs = statement.type === 'SwitchStatement' ? ifsOf(statement) : undefined
    if (ifs !== undefined) return [...result, ...withTail([...ifs, ...rest])]
    result.push(statement)
  }
  return result
}

function moveRest(statement: Statement & { type: 'IfStatement' }, rest: readonly Statement[]): readonly Statement[] | undefined {
  const then = blockOf(statement.consequent)
  const other = statement.alternate ? blockOf(statement.alternate) : undefined
  if (rest.some((one) => one.type === 'FunctionDeclaration' || one.type === 'ClassDeclaration')) return undefined
  const thenExits = exits(then)
  const otherExits = other !== undefined && exits(other)
  if (rest.length > 0 && !thenExits && !otherExits) return undefined
  const restBlock = (before: readonly Statement[]): Statement[] =>
    withTail(before.length === 0 ? rest : rest.length === 0 ? before : [block(before), ...rest])
  const thenTail = thenExits || rest.length === 0 ? withTail(then) : restBlock(then)
  const otherTail = otherExits ? withTail(other) : restBlock(other ?? [])
  const [a, b] = [thenTail[0], otherTail[0]]
  if (
    thenTail.length === 1 &&
    otherTail.length === 1 &&
    a?.type === 'ReturnStatement' &&
    b?.type === 'ReturnStatement' &&
    a.argument &&
    b.argument
  ) {
    const { start, end } = statement
    const made: ReturnStatement = {
      type: 'ReturnStatement',
      argument: { type: 'ConditionalExpression', test: statement.test, consequent: a.argument, alternate: b.argument, start, end },
      start,
      end,
    }
    return [made]
  }
  const behind = behindThrows(statement, thenTail, otherTail)
  if (behind !== undefined) return behind
  return [{ ...statement, consequent: block(thenTail, statement.consequent), alternate: otherTail.length === 0 ? null : block(otherTail) }]
}

function blockOf(statement: Statement): readonly Statement[] {
  return statement.type === 'BlockStatement' ? statement.body : [statement]
}

/** Returns a block of these statements; the original node where there was one, since its declarations belong to it. */
function block(body: readonly Statement[], original?: Statement): BlockStatement {
  const start = body[0]?.start ?? original?.start ?? 0
  const end = body.at(-1)?.end ?? original?.end ?? 0
  if (original?.type === 'BlockStatement') return { ...original, body: [...body] }
  return { type: 'BlockStatement', body: [...body], start, end }
}

/** Whether a list of statements always ends in a return. */
function exits(statements: readonly Statement[]): boolean {
  const last = statements.at(-1)
  if (last === undefined) return false
  if (last.type === 'ReturnStatement') return true
  if (last.type === 'BlockStatement') return exits(last.body)
  if (last.type === 'IfStatement') return last.alternate ? exits(blockOf(last.consequent)) && exits(blockOf(last.alternate)) : false
  return false
}
