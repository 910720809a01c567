/**
 * A function's own text, parsed: `Function.prototype.toString` and acorn.
 *
 * Methods print as `m(r) { … }`, which is no expression, so text is parsed as `(text)` first and as `({text})` then.
 * Places count from 1 within the function's own text.
 */
import { type AnyNode, type Program, parse } from 'acorn'
import type { Span } from '../../core/span.ts'
import { type FunctionNode, isFunctionNode } from './ast.ts'

export interface FunctionSource {
  readonly text: string
  readonly node: FunctionNode
  /** The place of a node of this function, with the excerpt on one line. */
  readonly spanOf: (node: { readonly start: number; readonly end: number }) => Span
}

/** Why there is no tree: the code is not available, it is a class, or the parser does not know it. */
export type NoSource = 'native' | 'class' | 'unparsable'

const LONGEST_EXCERPT = 80
const parsed = new WeakMap<object, FunctionSource | NoSource>()

/** The parsed source of a function; kept per function object, since its text never changes. */
export function sourceOf(f: (...args: never[]) => unknown): FunctionSource | NoSource {
  const known = parsed.get(f)
  if (known !== undefined) return known
  const source = readSource(Function.prototype.toString.call(f))
  parsed.set(f, source)
  return source
}

function readSource(text: string): FunctionSource | NoSource {
  if (/\{\s*\[native code\]\s*\}\s*$/.test(text)) return 'native'
  if (/^class\b/.test(text)) return 'class'
  for (const [before, after] of [
    ['(', '\n)'],
    ['({', '\n})'],
  ] as const) {
    const program = parseText(before + text + after)
    const node = program === undefined ? undefined : functionIn(program)
    if (node !== undefined) return { text, node, spanOf: spansOf(text, before.length) }
  }
  return 'unparsable'
}

function parseText(code: string): Program | undefined {
  for (const sourceType of ['script', 'module'] as const) {
    try {
      return parse(code, { ecmaVersion: 'latest', sourceType, allowSuperOutsideMethod: true, checkPrivateFields: false })
    } catch {
      // not in this form; the next one is tried
    }
  }
  return undefined
}

/** The function of `(f)` or of the only property of `({ f })`. */
function functionIn(program: Program): FunctionNode | undefined {
  const [statement] = program.body
  if (program.body.length !== 1 || statement?.type !== 'ExpressionStatement') return undefined
  let node: AnyNode = statement.expression
  if (node.type === 'ObjectExpression') {
    const [property] = node.properties
    if (node.properties.length !== 1 || property?.type !== 'Property' || property.kind === 'set') return undefined
    node = property.value
  }
  return isFunctionNode(node) ? node : undefined
}

function spansOf(text: string, offset: number): FunctionSource['spanOf'] {
  const lines = [0]
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines.push(at + 1)
  return (node) => {
    const start = Math.max(0, node.start - offset)
    let line = lines.length - 1
    while (line > 0 && (lines[line] ?? 0) > start) line--
    const excerpt = text
      .slice(start, node.end - offset)
      .replace(/\s+/g, ' ')
      .trim()
    const short = excerpt.length > LONGEST_EXCERPT ? `${excerpt.slice(0, LONGEST_EXCERPT - 1)}…` : excerpt
    return { line: line + 1, column: start - (lines[line] ?? 0) + 1, text: short }
  }
}
