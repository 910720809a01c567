/**
 * What functions ask of a list, as text of JavaScript: `OfList` of the IR.
 *
 *     length    element   at   includes   indexOf   join            of the list and arguments
 *     reduce    some   every   find   findIndex   findLast   findLastIndex   count (`filter(f).length`)   with a function of an element
 *     Math.max  Math.min                                             of all elements, `Math.max(...list)`
 */
import type { Expr, OfElement } from './functionIr.ts'

export type OfList = Extract<Expr, { readonly kind: 'OfList' }>

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
      return `${list}.${asks}(${args.join(', ')})`
    case 'reduce':
    case 'some':
    case 'every':
    case 'find':
    case 'findIndex':
    case 'findLast':
    case 'findLastIndex':
      return `${list}.${asks}(${[f, ...args].join(', ')})`
  }
}
