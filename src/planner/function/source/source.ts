/**
 * A function's own text, parsed: `Function.prototype.toString` and acorn.
 *
 * Methods print as `m(r) { … }`, which is no expression, so text is parsed as `(text)` first and as `({text})` then.
 * Places are those of the user's file where it is found (see `location.ts`); otherwise they count from 1 within the
 * function's own text.
 */
import { type AnyNode, type Class, type Program, parse } from 'acorn'
import { behindEnv } from '../../../core/ir/withEnv.ts'
import type { Span } from '../../../core/span.ts'
import { type FunctionNode, isFunctionNode } from './ast.ts'
import { excerptOf, lineOf, lineStarts, locationOf } from './location.ts'

export interface FunctionSource {
  readonly text: string
  readonly node: FunctionNode
  /** Returns the place of a node of this function, with the excerpt on one line. */
  readonly spanOf: (node: { readonly start: number; readonly end: number }) => Span
  /** Returns the user's name of an identifier that a tool may have renamed. */
  readonly nameOf: (node: { readonly name: string; readonly start: number }) => string
}

/** The source of a class. */
export type ClassSource = Omit<FunctionSource, 'node'> & { readonly node: Class }

/** The reason why there is no tree: the code is not available, it is a class, or the parser does not know it. */
export type NoSource = 'native' | 'class' | 'unparsable'

const LONGEST_EXCERPT = 80
const parsed = new WeakMap<object, FunctionSource | NoSource>()
const classes = new WeakMap<object, ClassSource>()

/** Returns the parsed source of a function; cached per function object, since its text never changes. */
export function sourceOf(f: (...args: never[]) => unknown): FunctionSource | NoSource {
  const known = parsed.get(f)
  if (known !== undefined) return known
  const source = readSource(f, behindEnv(f)?.text ?? Function.prototype.toString.call(f))
  parsed.set(f, source)
  return source
}

function readSource(f: (...args: never[]) => unknown, text: string): FunctionSource | NoSource {
  if (/\{\s*\[native code\]\s*\}\s*$/.test(text)) return 'native'
  if (/^class\b/.test(text)) return 'class'
  for (const [before, after] of [
    ['(', '\n)'],
    ['({', '\n})'],
  ] as const) {
    const program = parseText(before + text + after)
    const node = program === undefined ? undefined : functionIn(program)
    if (node !== undefined) return { text, node, ...placesOf(f, text, node, before.length) }
  }
  return 'unparsable'
}

/** Parses the text of a class; undefined for other functions. Places are in the class's own text, or the user's file. */
export function classSourceOf(f: (...args: never[]) => unknown): ClassSource | undefined {
  const known = classes.get(f)
  if (known !== undefined) return known
  const text = Function.prototype.toString.call(f)
  if (!/^class\b/.test(text)) return undefined
  const program = parseText(`(${text}\n)`)
  const [statement] = program?.body ?? []
  const node = statement?.type === 'ExpressionStatement' ? statement.expression : undefined
  if (node?.type !== 'ClassExpression') return undefined
  const source = { text, node, ...placesOf(f, text, node, 1) }
  classes.set(f, source)
  return source
}

function parseText(code: string): Program | undefined {
  for (const sourceType of ['script', 'module'] as const) {
    try {
      return parse(code, { ecmaVersion: 'latest', sourceType, allowSuperOutsideMethod: true, checkPrivateFields: false })
    } catch {
      // not of this source type; the next one is tried
    }
  }
  return undefined
}

/** Returns the function of `(f)` or of the only property of `({ f })`; undefined for any other program. */
function functionIn(program: Program): FunctionNode | undefined {
  const [statement] = program.body
  if (program.body.length !== 1 || statement?.type !== 'ExpressionStatement') return undefined
  let node: AnyNode = statement.expression
  if (node.type === 'ObjectExpression') {
    const [property] = node.properties
    if (node.properties.length !== 1 || property?.type !== 'Property') return undefined
    node = property.value
  }
  return isFunctionNode(node) ? node : undefined
}

function placesOf(
  f: (...args: never[]) => unknown,
  text: string,
  whole: FunctionNode | Class,
  offset: number,
): Pick<FunctionSource, 'spanOf' | 'nameOf'> {
  const lines = lineStarts(text)
  const location = behindEnv(f) === undefined ? locationOf(f, text, whole.type === 'ArrowFunctionExpression') : undefined
  const spanOf: FunctionSource['spanOf'] = (node) => {
    const start = Math.max(0, node.start - offset)
    const excerpt = excerptOf(text, start, node.end - offset, location, LONGEST_EXCERPT)
    const short = excerpt.length > LONGEST_EXCERPT ? `${excerpt.slice(0, LONGEST_EXCERPT - 1)}…` : excerpt
    const place = location?.placeOf(start)
    if (location !== undefined && place !== undefined) return { file: location.file, ...place, text: short }
    const line = lineOf(lines, start)
    return { line: line + 1, column: start - (lines[line] ?? 0) + 1, text: short }
  }
  const nameOf: FunctionSource['nameOf'] = ({ name, start }) =>
    location !== undefined && text.startsWith(name, start - offset) ? location.nameAt(start - offset, name) : name
  return { spanOf, nameOf }
}
