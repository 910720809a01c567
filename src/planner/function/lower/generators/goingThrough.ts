/** Asks whether a call that is gone through calls a generator (`generators.ts`): then the loop's body is lowered in it. */
import type { CallExpression, Expression } from 'acorn'
import { emptyList, pushed } from '../../lists/grownLists.ts'
import type { Lowering } from '../lowering.ts'
import { REFUSED, type Value } from '../value.ts'

/** Lowers a call of a generator, `turn` being given each of its values; returns the value of any other expression. */
export function eachYielded(l: Lowering, call: Expression, turn: (item: Value) => void, begin: () => void = () => {}): Value | undefined {
  if (call.type !== 'CallExpression' || l.context.kind !== 'loop') return l.verbs.value(l, call)
  const before = l.goingThrough
  let isGenerator = false
  l.goingThrough = {
    call,
    take: (closure, args) => {
      isGenerator = true
      l.goingThrough = before
      begin()
      l.verbs.yielding(l, closure, args, call, turn)
    },
  }
  const value = l.verbs.value(l, call)
  l.goingThrough = before
  return isGenerator ? undefined : value
}

/** Returns the list of all that a generator gives, where the expression calls one; of other expressions their value. */
export function spreadGenerator(l: Lowering, node: CallExpression): Value {
  let list: ReturnType<typeof emptyList>
  const begin = (): void => {
    list = emptyList(l, { name: l.takeName('list'), dtype: 'f64', node, isList: true }, Number.POSITIVE_INFINITY)
  }
  const put = (item: Value): void => {
    const value = l.scalarOrNothing(item, node)
    if (list !== undefined && value !== undefined) pushed(l, list, value, node)
  }
  return eachYielded(l, node, put, begin) ?? list ?? REFUSED
}
