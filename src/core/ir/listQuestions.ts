/**
 * What functions ask of a list, as text of JavaScript: `OfList` of the IR.
 *
 *     length    element   at   includes   indexOf   join            of the list and arguments
 *     reduce    some   every   find   findIndex   findLast   findLastIndex   count (`filter(f).length`)   with a function of an element
 *     Math.max  Math.min                                             of all elements, `Math.max(...list)`
 *     map   filter   slice   reverse   sort   toReversed   toSorted    give a list again, of which something is asked
 */
import { LISTS_OF_LISTS, LISTS_OF_TEXTS } from './builtins.ts'
import type { Expr, OfElement } from './functionIr.ts'

export type OfList = Extract<Expr, { readonly kind: 'OfList' }>

/** Whether an expression makes a list: of a text, or of another list. */
export function makesList(expr: Expr): boolean {
  if (expr.kind === 'MethodCall') return (LISTS_OF_TEXTS as readonly string[]).includes(expr.method)
  return expr.kind === 'OfList' && (LISTS_OF_LISTS as readonly string[]).includes(expr.asks)
}

/** The names of the locals that exist inside of the function of an element alone. */
export function localsOf({ item, index, sofar }: OfElement): readonly string[] {
  return sofar === undefined ? [item, index] : [sofar, item, index]
}

/** The question as text; `args` are the texts of its arguments, and `value` that of what the function of an element returns. */
export function listText(
  list: string,
  { asks, each }: Pick<OfList, 'asks' | 'each'>,
  {
    args,
    value,
    name = (local) => local,
  }: { readonly args: readonly string[]; readonly value: string; readonly name?: (local: string) => string },
): string {
  const f = each === undefined ? '' : `(${localsOf(each).map(name).join(', ')}) => ${value}`
  switch (asks) {
    case 'length':
      return `${list}.length`
    case 'element':
      return `${list}[${args[0]}]`
    case 'Math.max':
    case 'Math.min':
      return `${asks}(...${list})`
    case 'count':
      return `${list}.filter(${f}).length`
    case 'at':
    case 'includes':
    case 'indexOf':
    case 'join':
    case 'slice':
    case 'reverse':
    case 'sort':
    case 'toReversed':
    case 'toSorted':
      return `${list}.${asks}(${args.join(', ')})`
    case 'reduce':
    case 'some':
    case 'every':
    case 'find':
    case 'findIndex':
    case 'findLast':
    case 'findLastIndex':
    case 'map':
    case 'filter':
      return `${list}.${asks}(${[f, ...args].join(', ')})`
  }
}
