/**
 * Lowers `switch` to a chain of ifs. A case that falls through to the next is followed by the statements there.
 *
 *     switch (x) { case 1: case 2: S; break; default: T }     if (x === 1 || x === 2) { S } else { T }
 *     switch (x) { case 1: S; default: T }                    if (x === 1) { S; T } else { T }
 *
 * Breaks that are not the last thing in their case leave a labelled block around the chain.
 */
import type { Statement, SwitchStatement } from 'acorn'
import type { Expr, Stmt } from '../../../core/ir/functionIr.ts'
import { whereHolds } from '../lists/madeArrays.ts'
import { comparedKinds } from '../lists/variants/objectChoices.ts'
import { binary, logical, makeIf } from '../lower/build.ts'
import { lowerExpression } from '../lower/expressions.ts'
import type { Lowering } from '../lower/lowering.ts'
import { someNode } from '../source/ast.ts'

interface Group {
  readonly tests: readonly (Statement | SwitchStatement['cases'][number])[]
  readonly isDefault: boolean
  readonly body: readonly Statement[]
}

export function lowerSwitch(l: Lowering, node: SwitchStatement, labels: readonly string[]): void {
  const span = l.span(node)
  const value = l.scalarOrNothing(lowerExpression(l, node.discriminant), node.discriminant)
  const groups = groupsOf(node)
  if (groups === undefined) {
    l.refuse('switch', node)
    return
  }
  if (value === undefined) return
  const kept = l.stabilized(value)
  const needsLabel = labels.length > 0 || groups.some((group) => group.body.some(hasBreak))
  const label = needsLabel ? l.newLabel(labels[0] ?? 'choice') : undefined
  if (label !== undefined) l.frame.targets.push({ kind: 'block', sourceLabels: labels, label, plainBreak: true })
  const declares = groups.some((group) => group.body.some((one) => one.type === 'VariableDeclaration' && one.kind !== 'var'))
  // a name declared in one case exists, but is not initialized, in the others
  if (declares && groups.length > 1 && sharesNames(l, groups)) l.refuse('switch', node)
  const tests = groups.map((group): Expr | undefined => {
    let test: Expr | undefined
    const emitted = l.collect(() => {
      for (const one of group.tests) {
        if (one.type !== 'SwitchCase' || !one.test) continue
        const tested = l.scalarOrNothing(lowerExpression(l, one.test), one.test)
        if (tested === undefined) continue
        const at = l.span(one.test)
        const same = comparedKinds(l, '===', kept, tested, at) ?? binary('===', kept, tested, at)
        test = test === undefined ? same : logical('||', test, same, span)
      }
    })
    if (emitted.length > 0) l.refuse('effect-in-expression', node)
    return test
  })
  const branches = groups.map((group, k) => {
    const holds = group.isDefault ? undefined : tests[k]
    return { group, test: holds, body: whereHolds(l, holds, () => l.collect(() => l.verbs.statements(l, group.body))) }
  })
  let rest: Stmt[] = []
  for (const { group, body } of branches) if (group.isDefault) rest = body
  for (const { test, body } of branches.toReversed()) if (test !== undefined) rest = makeIf(test, body, rest, span)
  if (label === undefined) {
    l.emit(...rest)
    return
  }
  l.frame.targets.pop()
  l.emit({ kind: 'Labeled', label, body: rest, span })
}

/** Most statements repeated for cases that fall through, which get those of the cases after them. */
const MOST_REPEATED = 64

/** Returns cases with the tests that lead to them, without the closing break; undefined where falling through repeats too much. */
function groupsOf({ cases }: SwitchStatement): readonly Group[] | undefined {
  const groups: Group[] = []
  let tests: SwitchStatement['cases'] = []
  let repeated = 0
  for (const [i, one] of cases.entries()) {
    tests.push(one)
    if (one.consequent.length === 0 && i < cases.length - 1) continue
    const own = unwrapped(one.consequent)
    const last = cases.findIndex(({ consequent }, at) => at >= i && (at === cases.length - 1 || goesElsewhere(unwrapped(consequent))))
    const body = [...own, ...cases.slice(i + 1, last + 1).flatMap(({ consequent }) => unwrapped(consequent))]
    repeated += body.length - own.length
    if (repeated > MOST_REPEATED) return undefined
    const end = body.at(-1)
    const closing = end?.type === 'BreakStatement' && !end.label
    groups.push({ tests, isDefault: tests.some(({ test }) => !test), body: closing ? body.slice(0, -1) : body })
    tests = []
  }
  return groups
}

function goesElsewhere(body: readonly Statement[]): boolean {
  const last = body.at(-1)
  return last !== undefined && /^(Break|Return|Continue|Throw)Statement$/.test(last.type)
}

/** Returns the statements of `case 1: { S; break }` as those of `case 1: S; break`. */
function unwrapped(body: readonly Statement[]): readonly Statement[] {
  const [only] = body
  if (body.length !== 1 || only?.type !== 'BlockStatement') return body
  const last = only.body.at(-1)
  if (last === undefined || last.type !== 'BreakStatement') return endsInside(only.body) ? only.body : body
  return only.body
}

function endsInside(body: readonly Statement[]): boolean {
  const last = body.at(-1)
  return last !== undefined && /^(Return|Continue|Throw)Statement$/.test(last.type)
}

/** Whether a statement contains a plain `break` that ends the switch. */
function hasBreak(node: Statement): boolean {
  if (node.type === 'BreakStatement') return !node.label
  const own = /^(For|ForIn|ForOf|While|DoWhile|Switch)Statement$/.test(node.type)
  if (own) return false
  return someNode(node, (one) => one !== node && one.type === 'BreakStatement' && !one.label, { intoFunctions: false })
}

/** Whether a case uses a name that another case declares. */
function sharesNames(l: Lowering, groups: readonly Group[]): boolean {
  return groups.some((group) => {
    const [start, end] = [group.body[0]?.start ?? 0, group.body.at(-1)?.end ?? 0]
    for (const [node, binding] of l.unit.names.bindingOf) {
      const declaredHere = binding.declaredAt >= start && binding.declaredAt < end && (binding.kind === 'let' || binding.kind === 'const')
      if (declaredHere && (node.start < start || node.start >= end)) return true
    }
    return false
  })
}
