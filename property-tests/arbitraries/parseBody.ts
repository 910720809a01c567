/**
 * A loop spec from the text of a body, for tests of the analysis alone.
 *
 * Lowers only the plainest JavaScript (get, set, add, has, const, let, if, counted for, return, arithmetic), by the
 * letter; the real front end is `planner/function`.
 */
import { type Node, parseExpressionAt } from 'acorn'
import type { BinaryOperator, Builtin, Expr, FunctionIr, Primitive, Stmt } from '../../src/core/ir/functionIr.ts'
import type { EnvBinding, LoopOptions, LoopOver, LoopSpec } from '../../src/core/loop/loopSpec.ts'
import type { Refusal, Span } from '../../src/core/span.ts'

export interface TestLoop {
  readonly over: LoopOver
  readonly env?: Readonly<Record<string, EnvBinding>>
  readonly options?: LoopOptions
  /** Captured numbers. */
  readonly captured?: Readonly<Record<string, Primitive>>
  readonly refusals?: readonly Refusal[]
}

export function rangeOver(...extents: readonly number[]): LoopOver {
  return { kind: 'range', rank: extents.length, extents, label: `range(${extents.join(', ')})` }
}

let identities = 100

/** An array of f64. Two bindings are one array when they are one object. */
export function denseArray(label: string, ...shape: readonly (number | undefined)[]): Extract<EnvBinding, { kind: 'array' }> {
  return { kind: 'array', array: identities++, dtype: 'f64', storage: 'dense', rank: shape.length, shape, label }
}

export function parseLoop(source: string, { over, env = {}, options = {}, captured = {}, refusals = [] }: TestLoop): LoopSpec {
  const span: Span = { line: 1, column: 1, text: oneLine(source) }
  const original = () => undefined
  if (refusals.length > 0) return { body: { original, text: span.text, span, refusals }, over, env, options }
  const lowering = new Lowering(source, over, env, captured)
  const { body, uses } = lowering.function()
  const parameters = Object.entries(captured).map(([name, value]) => ({ name, value, origin: 'capture' as const }))
  const ir: FunctionIr = { name: 'body', span, keyRank: over.rank, body, parameters, tables: [], uses }
  return { body: { original, text: span.text, span, ir, refusals: [] }, over, env, options }
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}

/** acorn's nodes, loosely: this is a test helper over a grammar that the tests write themselves. */
interface Syntax extends Node {
  readonly [field: string]: unknown
}

class Lowering {
  private readonly source: string
  private readonly over: LoopOver
  private readonly env: Readonly<Record<string, EnvBinding>>
  private readonly captured: Readonly<Record<string, Primitive>>
  private axes: readonly string[] = []
  private value: string | undefined
  private readonly used = new Set<string>()

  constructor(source: string, over: LoopOver, env: Readonly<Record<string, EnvBinding>>, captured: Readonly<Record<string, Primitive>>) {
    this.source = source
    this.over = over
    this.env = env
    this.captured = captured
  }

  function(): { readonly body: Stmt[]; readonly uses: FunctionIr['uses'] } {
    const arrow = parseExpressionAt(this.source, 0, { ecmaVersion: 2022, locations: true }) as unknown as Syntax
    const parameters = arrow.params as Syntax[]
    const [first, second] = this.over.kind === 'range' ? [undefined, parameters[0]] : parameters
    this.value = first?.name as string | undefined
    this.axes = ((second?.elements ?? []) as Syntax[]).map((element) => element.name as string)
    const block = arrow.body as Syntax
    const body =
      block.type === 'BlockStatement'
        ? this.statements(block)
        : [{ kind: 'Return' as const, value: this.expression(block), span: this.span(block) }]
    const uses = [...this.used].map((name) => ({ name, kind: this.env[name]?.kind ?? ('array' as const), origin: 'env' as const }))
    return { body, uses }
  }

  private statements(node: Syntax | null | undefined): Stmt[] {
    if (node === null || node === undefined) return []
    const list = node.type === 'BlockStatement' ? (node.body as Syntax[]) : [node]
    return list.flatMap((one) => this.statement(one))
  }

  private statement(node: Syntax): Stmt[] {
    const span = this.span(node)
    switch (node.type) {
      case 'VariableDeclaration':
        return (node.declarations as Syntax[]).map((declaration) => {
          const local = (declaration.id as Syntax).name as string
          const init = declaration.init as Syntax | null
          return init === null ? { kind: 'Let', local, span } : { kind: 'Let', local, init: this.expression(init), span }
        })
      case 'ExpressionStatement':
        return [this.effect(node.expression as Syntax)]
      case 'IfStatement': {
        const [then, otherwise] = [this.statements(node.consequent as Syntax), this.statements(node.alternate as Syntax | null)]
        return [{ kind: 'If', test: this.expression(node.test as Syntax), then, else: otherwise, span }]
      }
      case 'ForStatement': {
        const init = this.statements(node.init as Syntax)
        const test = node.test as Syntax
        const declared = init[0]
        const local = declared?.kind === 'Let' ? declared.local : ''
        const from = declared?.kind === 'Let' && declared.init !== undefined ? declared.init : undefined
        const update = [this.effect(node.update as Syntax)]
        const to = this.expression(test.right as Syntax)
        const by = (node.update as Syntax).type === 'AssignmentExpression' ? ((node.update as Syntax).right as Syntax).value : 1
        const step = (test.operator === '<' ? 1 : -1) * Number(by)
        const body = this.statements(node.body as Syntax)
        const counted = from === undefined || (test.operator !== '<' && test.operator !== '>') ? {} : { counted: { local, from, to, step } }
        return [{ kind: 'For', init, test: this.expression(test), update, body, doWhile: false, ...counted, span }]
      }
      case 'ReturnStatement': {
        const value = node.argument as Syntax | null
        return [value === null ? { kind: 'Return', span } : { kind: 'Return', value: this.expression(value), span }]
      }
      case 'ContinueStatement':
        return [{ kind: 'Continue', span }]
      default:
        throw new Error(`parseBody.ts does not know ${node.type}`)
    }
  }

  private effect(node: Syntax): Stmt {
    const span = this.span(node)
    if (node.type === 'UpdateExpression') {
      const local = (node.argument as Syntax).name as string
      const one: Expr = { kind: 'Literal', value: 1, span }
      const operator: BinaryOperator = node.operator === '++' ? '+' : '-'
      return {
        kind: 'Assign',
        local,
        value: { kind: 'Binary', operator, left: { kind: 'Local', name: local, span }, right: one, span },
        span,
      }
    }
    if (node.type === 'AssignmentExpression' && node.operator !== '=') {
      const [local, right] = [(node.left as Syntax).name as string, this.expression(node.right as Syntax)]
      const operator = (node.operator as string).slice(0, -1) as BinaryOperator
      return { kind: 'Assign', local, value: { kind: 'Binary', operator, left: { kind: 'Local', name: local, span }, right, span }, span }
    }
    if (node.type === 'AssignmentExpression') {
      return { kind: 'Assign', local: (node.left as Syntax).name as string, value: this.expression(node.right as Syntax), span }
    }
    const callee = node.callee as Syntax
    const array = (callee.object as Syntax).name as string
    const method = (callee.property as Syntax).name as string
    const args = (node.arguments as Syntax[]).map((argument) => this.expression(argument))
    const value = args.at(-1)
    if (value === undefined) throw new Error(`${method} needs a value`)
    this.used.add(array)
    if (this.env[array]?.kind === 'accumulator') return { kind: 'Accumulate', accumulator: array, value, span }
    return { kind: method === 'add' ? 'Add' : 'Write', array, subscripts: args.slice(0, -1), value, span }
  }

  private expression(node: Syntax): Expr {
    const span = this.span(node)
    switch (node.type) {
      case 'Literal':
        return { kind: 'Literal', value: node.value as Primitive, span }
      case 'Identifier':
        return this.name(node.name as string, span)
      case 'UnaryExpression':
        return { kind: 'Unary', operator: node.operator as '-', operand: this.expression(node.argument as Syntax), span }
      case 'BinaryExpression': {
        const [left, right] = [this.expression(node.left as Syntax), this.expression(node.right as Syntax)]
        return { kind: 'Binary', operator: node.operator as BinaryOperator, left, right, span }
      }
      case 'LogicalExpression': {
        const [left, right] = [this.expression(node.left as Syntax), this.expression(node.right as Syntax)]
        return { kind: 'Logical', operator: node.operator as '&&', left, right, span }
      }
      case 'ConditionalExpression': {
        const [test, otherwise] = [this.expression(node.test as Syntax), this.expression(node.alternate as Syntax)]
        // biome-ignore lint/suspicious/noThenProperty: the IR's own word, and no promise
        return { kind: 'Conditional', test, then: this.expression(node.consequent as Syntax), else: otherwise, span }
      }
      case 'MemberExpression': {
        const view = node.object as Syntax
        const array = (view.object as Syntax).name as string
        this.used.add(array)
        return { kind: 'Extent', array, axis: (node.property as Syntax).value as number, span }
      }
      case 'CallExpression': {
        const callee = node.callee as Syntax
        const array = (callee.object as Syntax).name as string
        const subscripts = (node.arguments as Syntax[]).map((argument) => this.expression(argument))
        if (array === 'Math') return { kind: 'Call', callee: `Math.${(callee.property as Syntax).name}` as Builtin, args: subscripts, span }
        this.used.add(array)
        return { kind: (callee.property as Syntax).name === 'has' ? 'Has' : 'Read', array, subscripts, span }
      }
      default:
        throw new Error(`parseBody.ts does not know ${node.type}`)
    }
  }

  private name(name: string, span: Span): Expr {
    if (name === this.value) return { kind: 'Input', argument: 0, span }
    const axis = this.axes.indexOf(name)
    if (axis >= 0) return { kind: 'Key', axis, span }
    return name in this.captured ? { kind: 'Parameter', name, span } : { kind: 'Local', name, span }
  }

  private span(node: Syntax): Span {
    const { line, column } = node.loc?.start ?? { line: 1, column: 0 }
    return { line, column: column + 1, text: oneLine(this.source.slice(node.start, node.end)) }
  }
}
