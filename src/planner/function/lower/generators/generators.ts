/**
 * Lowers generators that are gone through where they are called: the loop's body stands in the place of each `yield`.
 *
 *     function* squares(n) { for (let k = 0; k < n; k++) yield k * k }
 *     for (const v of squares(9)) { if (v > s) break; s += v }
 *
 *     for (let k = 0; k < 9; k++) { const v = k * k; if (v > s) break out; s += v }
 *
 * That is the order in which JavaScript runs the two: a generator goes on when the loop asks for its next value. What the loop leaves, the
 * generator never goes on from, so one with `try`, which would run its `finally` then, is refused. `[...squares(9)]` pushes onto a list.
 */
import type { AnyNode, YieldExpression } from 'acorn'
import type { Stmt } from '../../../../core/ir/functionIr.ts'
import { eachElement, elementsOf } from '../../lists/listElements.ts'
import { newResult } from '../../lists/returnedObjects.ts'
import { Activation } from '../../source/activation.ts'
import { someNode } from '../../source/ast.ts'
import { literal } from '../build.ts'
import { bindParameters, enterFunction, hoistVars, inFrame } from '../inline.ts'
import type { Lowering } from '../lowering.ts'
import type { Frame, Yields } from '../loweringParts.ts'
import { exprValue, REFUSED, type Value } from '../value.ts'
import { eachYielded } from './goingThrough.ts'

type Closure = Value & { readonly kind: 'closure' }

/** Writes a generator out, with `turn` in the place of each `yield`. */
export function yielding(l: Lowering, closure: Closure, args: readonly Value[], call: AnyNode, turn: (item: Value) => void): void {
  const { unit, node: f } = closure
  if (someNode(f.body, ({ type }) => type === 'TryStatement', { intoFunctions: false })) {
    l.refuse('generator-try', call, closure.name)
    return
  }
  if (l.frames.some((frame) => frame.node === f && frame.around === closure.around)) {
    l.refuse('recursive', call, closure.name)
    return
  }
  const kept = args.map((value) => (value.kind === 'stored' ? value : l.stabilizedValue(value)))
  const [outer, bound, depth, span] = [l.unit, l.bound, l.frames.length, l.span(call)]
  const [local, label] = [l.newName('result'), l.newLabel('generator')]
  const result = newResult(l, { local, label, breaks: true }, { unit, start: f.start })
  const yields: Yields = {
    turn: (item) => {
      const [inner, names] = [l.unit, l.bound]
      const above = l.frames.splice(depth)
      l.unit = outer
      l.bound = bound
      try {
        turn(item)
      } finally {
        l.frames.push(...above)
        l.unit = inner
        l.bound = names
      }
    },
  }
  const frame: Frame = { ...closure, targets: [], result, yields }
  l.unit = unit
  l.bound = new Activation(closure.around)
  l.countCall()
  const body: Stmt[] = []
  try {
    l.collectInto(body, () => {
      enterFunction(l, closure)
      inFrame(l, frame, () => {
        bindParameters(l, f, kept)
        hoistVars(l, unit, f)
        if (f.body.type === 'BlockStatement') l.verbs.statements(l, f.body.body)
        return REFUSED
      })
    })
  } finally {
    l.unit = outer
    l.bound = bound
  }
  if (result.stored !== undefined || result.list !== undefined) l.refuse('generator-value', call, closure.name)
  l.emit({ kind: 'Let', local, init: literal(0, span), span }, { kind: 'Labeled', label, body, span })
}

/** Lowers `yield e` and `yield* list` as statements; false in functions that are no generators being gone through. */
export function lowerYield(l: Lowering, node: YieldExpression): boolean {
  const { yields } = l.frame
  if (yields === undefined || l.isTooLarge) return yields !== undefined
  const span = l.span(node)
  if (!node.delegate || !node.argument) {
    yields.turn(node.argument ? l.verbs.value(l, node.argument) : exprValue(literal(undefined, span)))
    return true
  }
  const over = eachYielded(l, node.argument, yields.turn)
  if (over === undefined || over.kind === 'refused') return true
  if (over.kind === 'tuple') {
    const { items } = l.stabilizedValue(over) as typeof over // a stabilized value keeps its kind
    for (const item of items) yields.turn(item)
    return true
  }
  const source = elementsOf(l, over, node)
  if (source === undefined) l.refuse('for-of', node.argument)
  else eachElement(l, source, node, (item) => yields.turn(l.stabilizedValue(item)))
  return true
}
