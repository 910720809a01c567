/**
 * The dullest interpreter of loop bodies: runs the iterations in key order and notes every element each one touches.
 *
 * An access outside its array touches nothing and reads NaN, and the run goes on: the analysis may rely on no more than
 * that, since the real run would have ended there.
 */
import { type Expr, expressionsOf, type FunctionIr, type Stmt, visitExpr, visitStmts } from '../../src/core/ir/functionIr.ts'
import type { RandomArray, RandomLoop } from './loopBody.ts'

export interface Touch {
  readonly array: number
  /** The key of the element, as text. */
  readonly element: string
  readonly mode: 'read' | 'write' | 'add'
  /** The place of the access, unique in a random loop but for the element iterated over. */
  readonly line: number
}

/** What each iteration touches, in the order of `loop.iterations`. */
export function traceLoop(loop: RandomLoop): Touch[][] {
  const values = new Map(loop.arrays.map((array) => [array.array, storageOf(array)]))
  return loop.iterations.map((key) => new Iteration(loop, values, key).run())
}

type Storage = Map<string, number>

function storageOf({ shape, values, keys }: RandomArray): Storage {
  if (keys !== undefined) return new Map(keys.map((key, i) => [key.join(), values[i] ?? 0]))
  const storage: Storage = new Map()
  values.forEach((value, position) => {
    const key: number[] = []
    let rest = position
    for (const extent of [...shape].reverse()) {
      key.unshift(rest % extent)
      rest = Math.floor(rest / extent)
    }
    storage.set(key.join(), value)
  })
  return storage
}

/** How a statement ended: undefined when control goes on after it. */
type Exit = { readonly kind: 'break' | 'continue' | 'return'; readonly label?: string } | undefined

class Iteration {
  private readonly loop: RandomLoop
  private readonly values: ReadonlyMap<number, Storage>
  private readonly key: readonly number[]
  private readonly locals = new Map<string, number>()
  private readonly touches: Touch[] = []
  private input = 0
  private readsInput = false

  constructor(loop: RandomLoop, values: ReadonlyMap<number, Storage>, key: readonly number[]) {
    this.loop = loop
    this.values = values
    this.key = key
  }

  /**
   * The element iterated over is read when the iteration starts, if the body uses it anywhere. Where the body that was read has lost
   * every use, in branches that nobody takes, none must be evaluated here: it would be noted as well.
   */
  run(): Touch[] {
    const { ir, spec } = this.loop
    const iterated = spec.over.array ?? -1
    this.readsInput = inputLines(spec.body.ir ?? ir).length > 0
    if (this.readsInput) for (const line of inputLines(ir)) this.input = this.touchArray(iterated, this.key, 'read', line)
    this.statements(this.loop.ir.body)
    return this.touches
  }

  private statements(stmts: readonly Stmt[]): Exit {
    for (const stmt of stmts) {
      const exit = this.statement(stmt)
      if (exit !== undefined) return exit
    }
    return undefined
  }

  private statement(stmt: Stmt): Exit {
    switch (stmt.kind) {
      case 'Let':
        this.locals.set(stmt.local, stmt.init === undefined ? Number.NaN : this.value(stmt.init))
        return undefined
      case 'Assign':
        this.locals.set(stmt.local, this.value(stmt.value))
        return undefined
      case 'Write':
      case 'Add': {
        const key = stmt.subscripts.map((subscript) => this.value(subscript))
        const value = this.value(stmt.value)
        const old = stmt.kind === 'Add' ? this.stored(stmt.array, key) : 0
        this.touch(stmt.array, key, stmt.kind === 'Add' ? 'add' : 'write', stmt.span.line, old + value)
        return undefined
      }
      case 'Accumulate':
      case 'Evaluate':
        this.value(stmt.value)
        return undefined
      case 'If':
        return this.statements(this.truth(stmt.test) ? stmt.then : stmt.else)
      case 'For':
        return this.repeat(stmt)
      case 'Labeled': {
        const exit = this.statements(stmt.body)
        return exit?.kind === 'break' && exit.label === stmt.label ? undefined : exit
      }
      case 'Break':
        return stmt.label === undefined ? { kind: 'break' } : { kind: 'break', label: stmt.label }
      case 'Continue':
        return { kind: 'continue' }
      case 'Return': {
        const iterated = this.loop.spec.over.array
        if (stmt.value !== undefined && iterated !== undefined)
          this.touchArray(iterated, this.key, 'write', stmt.span.line, this.value(stmt.value))
        return { kind: 'return' }
      }
      case 'Throw':
        throw new Error('random loops do not throw')
    }
  }

  private repeat(stmt: Extract<Stmt, { kind: 'For' }>): Exit {
    this.statements(stmt.init)
    while (stmt.test === undefined || this.truth(stmt.test)) {
      const exit = this.statements(stmt.body)
      if (exit?.kind === 'break' && exit.label === undefined) return undefined
      if (exit !== undefined && exit.kind !== 'continue') return exit
      this.statements(stmt.update)
    }
    return undefined
  }

  /** Truth values are 1 and 0. */
  private value(expr: Expr): number {
    switch (expr.kind) {
      case 'Literal':
        return Number(expr.value)
      case 'Local':
        return this.locals.get(expr.name) ?? Number.NaN
      case 'Parameter':
        return Number(this.loop.ir.parameters.find(({ name }) => name === expr.name)?.value)
      case 'Key':
        return this.key[expr.axis] ?? Number.NaN
      case 'Conditional':
        return this.value(this.truth(expr.test) ? expr.then : expr.else)
      case 'Call': {
        const [a = Number.NaN, b = Number.NaN] = expr.args.map((argument) => this.value(argument))
        return called(expr.callee, a, b)
      }
      case 'Input':
        return this.readsInput ? this.input : this.touchArray(this.loop.spec.over.array ?? -1, this.key, 'read', expr.span.line)
      case 'Unary':
        return expr.operator === '!' ? Number(!this.truth(expr.operand)) : -this.value(expr.operand)
      case 'Logical': {
        const left = this.value(expr.left)
        return Boolean(left) === (expr.operator === '&&') ? this.value(expr.right) : left
      }
      case 'Binary':
        return arithmetic(expr.operator, this.value(expr.left), this.value(expr.right))
      case 'Read': {
        const key = expr.subscripts.map((subscript) => this.value(subscript))
        return this.touch(expr.array, key, 'read', expr.span.line)
      }
      case 'Extent':
        return this.arrayNamed(expr.array)?.shape[expr.axis] ?? 0
      default:
        throw new Error(`random loops have no ${expr.kind}`)
    }
  }

  private truth(expr: Expr): boolean {
    return Boolean(this.value(expr))
  }

  private arrayNamed(name: string): RandomArray | undefined {
    return this.loop.arrays.find((array) => array.names.includes(name))
  }

  private stored(name: string, key: readonly number[]): number {
    return this.values.get(this.arrayNamed(name)?.array ?? -1)?.get(key.join()) ?? 0
  }

  private touch(name: string, key: readonly number[], mode: Touch['mode'], line: number, value?: number): number {
    return this.touchArray(this.arrayNamed(name)?.array ?? -1, key, mode, line, value)
  }

  /** Notes the access if it is inside the array, stores `value` if there is one, and returns what is there. */
  private touchArray(array: number, key: readonly number[], mode: Touch['mode'], line: number, value?: number): number {
    const shape = this.loop.arrays.find((one) => one.array === array)?.shape ?? []
    if (key.some((k, axis) => !Number.isInteger(k) || k < 0 || k >= (shape[axis] ?? 0))) return Number.NaN
    const element = key.map((k) => k + 0).join()
    this.touches.push({ array, element, mode, line })
    const storage = this.values.get(array)
    if (value !== undefined) storage?.set(element, value)
    return storage?.get(element) ?? 0
  }
}

function inputLines(ir: FunctionIr): number[] {
  const lines: number[] = []
  visitStmts(ir.body, (stmt) => {
    for (const expr of expressionsOf(stmt)) {
      visitExpr(expr, (node) => {
        if (node.kind === 'Input') lines.push(node.span.line)
      })
    }
  })
  return lines
}

function called(callee: string, a: number, b: number): number {
  switch (callee) {
    case 'Math.min':
      return Math.min(a, b)
    case 'Math.max':
      return Math.max(a, b)
    case 'Math.floor':
      return Math.floor(a)
    case 'Math.ceil':
      return Math.ceil(a)
    case 'Math.trunc':
      return Math.trunc(a)
    case 'Math.abs':
      return Math.abs(a)
    default:
      throw new Error(`random loops have no ${callee}`)
  }
}

function arithmetic(operator: string, a: number, b: number): number {
  switch (operator) {
    case '+':
      return a + b
    case '-':
      return a - b
    case '*':
      return a * b
    case '/':
      return a / b
    case '%':
      return a % b
    case '>>':
      return a >> b
    case '&':
      return a & b
    case '|':
      return a | b
    case '^':
      return a ^ b
    case '<':
      return Number(a < b)
    case '<=':
      return Number(a <= b)
    case '>':
      return Number(a > b)
    case '>=':
      return Number(a >= b)
    case '===':
      return Number(a === b)
    case '!==':
      return Number(a !== b)
    default:
      throw new Error(`random loops have no ${operator}`)
  }
}
