/**
 * The rank of the keys that the function of `index` returns.
 *
 * Lambdas downstream destructure the key, so the number must be known before any data is read: from the lowered
 * function where there is one, otherwise from its source, whose returns are array literals in every usual form.
 */
import { type Expr, type FunctionIr, type UserFunction, visitStmts } from '../ir/functionIr.ts'

/** The one length of all arrays that the function returns; undefined when that cannot be seen. */
export function keyRankOf(f: UserFunction): number | undefined {
  return f.ir === undefined ? rankInSource(Function.prototype.toString.call(f.original)) : rankInIr(f.ir)
}

function rankInIr(ir: FunctionIr): number | undefined {
  const lengths = new Set<number | undefined>()
  visitStmts(ir.body, (stmt) => {
    if (stmt.kind === 'Return') addLengths(stmt.value, lengths)
  })
  return onlyOne(lengths)
}

function addLengths(value: Expr | undefined, lengths: Set<number | undefined>): void {
  if (value?.kind === 'Conditional') for (const side of [value.then, value.else]) addLengths(side, lengths)
  else lengths.add(value?.kind === 'ArrayLiteral' ? value.items.length : undefined)
}

/** Reads the rank from array literals after `=>` and `return`, outside strings and comments; undefined unless all have one length. */
function rankInSource(source: string): number | undefined {
  const code = withoutStringsAndComments(source)
  const lengths = new Set<number | undefined>()
  const arrow = /=>\s*\(*\s*\[/.exec(code)
  // only the outermost arrow's expression is what the function returns
  if (arrow !== null && !/=>|\bfunction\b/.test(code.slice(0, arrow.index))) lengths.add(itemsAt(code, arrow.index + arrow[0].length))
  else for (const match of code.matchAll(/\breturn\s*\(*\s*\[/g)) lengths.add(itemsAt(code, match.index + match[0].length))
  return onlyOne(lengths)
}

/** Counts the items of the literal whose `[` is just before `from`; undefined where one is spread or the literal does not end. */
function itemsAt(code: string, from: number): number | undefined {
  let depth = 0
  let items = 0
  let open = false
  for (let i = from; i < code.length; i++) {
    const c = code[i] as string
    if (depth === 0 && code.startsWith('...', i)) return undefined
    if (depth === 0 && c === ',') {
      items++
      open = false
    } else if (depth === 0 && c === ']') return open ? items + 1 : items
    else if ('([{'.includes(c)) {
      depth++
      open = true
    } else if (')]}'.includes(c)) depth--
    else if (c.trim() !== '') open = true
  }
  return undefined
}

function withoutStringsAndComments(source: string): string {
  return source.replace(/\/\/[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`/g, (text) =>
    text.startsWith('/') ? ' ' : '""',
  )
}

function onlyOne(lengths: ReadonlySet<number | undefined>): number | undefined {
  const [length] = lengths
  return lengths.size === 1 && length !== undefined && length > 0 ? length : undefined
}
