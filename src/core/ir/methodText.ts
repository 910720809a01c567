/** Calls of methods as text of JavaScript. */
import type { Method } from './builtins.ts'
import { type Expr, regexText } from './functionIr.ts'

/** The call of a method of what `object` is the text of; `args` are the texts of its arguments. */
export function methodText(
  object: string,
  { method, args: given, optional }: Pick<Extract<Expr, { kind: 'MethodCall' }>, 'method' | 'args' | 'optional'>,
  args: readonly string[],
): string {
  const access = `${object}${optional ? '?.' : '.'}`
  switch (method) {
    case 'length':
      return `${access}length`
    case 'split length':
      return `${access}split(${args[0]}).length`
    case 'split part': {
      const at = partNumber(given[1])
      return at < 0 ? `${access}split(${args[0]}).at(${at})` : `${access}split(${args[0]}, ${at + 1})[${at}]`
    }
    case 'character':
      return `${object}${optional ? '?.' : ''}[${args[0]}]`
    case 'exec regex':
      return `${regexOf(given)}.exec(${object})`
    case 'replace regex':
    case 'replaceAll regex':
    case 'search regex':
    case 'split regex':
    case 'match regex':
      return `${access}${method.slice(0, -' regex'.length)}(${[regexOf(given), ...args.slice(2)].join(', ')})`
    default:
      return `${access}${method}(${args.join(', ')})`
  }
}

/** The regular expression of a method that has its pattern and flags as its first arguments, which are literals. */
function regexOf([pattern, flags]: readonly Expr[]): string {
  const textOf = (expr: Expr | undefined): string => (expr?.kind === 'Literal' ? String(expr.value) : '')
  return regexText({ pattern: textOf(pattern), flags: textOf(flags) })
}

/** The number of the part that `split part` takes: from 0 on, or from the end below. */
export function partNumber(part: Expr | undefined): number {
  return part?.kind === 'Literal' ? Number(part.value) : 0
}

/** Whether a part is always there: the first and the last one are. */
export function isSurePart(method: Method, [, part]: readonly Expr[]): boolean {
  return method === 'split part' && (partNumber(part) === 0 || partNumber(part) === -1)
}
