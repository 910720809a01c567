/**
 * The dullest interpreter of the IR: walks the tree, one case a node, no cleverness. What a function means is what this
 * makes of its IR.
 */
import { collectionOf, foundIn } from '../../src/core/ir/collections.ts'
import { type Expr, type FunctionIr, isLibraryCall, type Stmt } from '../../src/core/ir/functionIr.ts'
import { localsOf } from '../../src/core/ir/listQuestions.ts'
import { LIBRARY_FUNCTIONS } from '../../src/core/time/library.ts'

/** What lies around a function: its arguments, and the arrays, accumulators and generators it uses. */
export interface World {
  readonly inputs: readonly unknown[]
  readonly key: readonly number[]
  readonly read?: (array: string, key: readonly unknown[]) => unknown
  readonly write?: (array: string, key: readonly unknown[], value: unknown) => void
  readonly add?: (array: string, key: readonly unknown[], value: unknown) => void
  readonly has?: (array: string, key: readonly unknown[]) => boolean
  readonly extent?: (array: string, axis: number) => number
  readonly accumulate?: (accumulator: string, value: unknown) => void
  readonly draw?: (rng: string, method: 'uniform' | 'normal' | 'int', args: readonly unknown[]) => number
}

/** How a statement ended: it went on, or jumps out. */
type Ending =
  | { readonly kind: 'next' }
  | { readonly kind: 'break' | 'continue'; readonly label: string | undefined }
  | { readonly kind: 'return'; readonly value: unknown }
const NEXT: Ending = { kind: 'next' }

/** Runs the function once; what it returns, undefined when it returns nothing. */
export function interpretIr(ir: FunctionIr, world: World): unknown {
  const ending = new Interpreter(ir, world).run(ir.body)
  return ending.kind === 'return' ? ending.value : undefined
}

class Interpreter {
  readonly #ir: FunctionIr
  readonly #world: World
  readonly #locals = new Map<string, unknown>()

  constructor(ir: FunctionIr, world: World) {
    this.#ir = ir
    this.#world = world
  }

  run(stmts: readonly Stmt[]): Ending {
    for (const stmt of stmts) {
      const ending = this.#statement(stmt)
      if (ending.kind !== 'next') return ending
    }
    return NEXT
  }

  #statement(stmt: Stmt): Ending {
    const { read, write, add, accumulate } = this.#world
    switch (stmt.kind) {
      case 'Let':
        this.#locals.set(stmt.local, stmt.init === undefined ? undefined : this.#value(stmt.init))
        return NEXT
      case 'Assign':
        if (!this.#locals.has(stmt.local)) throw new Error(`${stmt.local} is assigned before it is declared`)
        this.#locals.set(stmt.local, this.#value(stmt.value))
        return NEXT
      case 'Write': {
        const key = stmt.subscripts.map((one) => this.#value(one))
        ;(write ?? missing(read))(stmt.array, key, this.#value(stmt.value))
        return NEXT
      }
      case 'Add': {
        const key = stmt.subscripts.map((one) => this.#value(one))
        ;(add ?? missing(read))(stmt.array, key, this.#value(stmt.value))
        return NEXT
      }
      case 'Accumulate':
        ;(accumulate ?? missing(read))(stmt.accumulator, this.#value(stmt.value))
        return NEXT
      case 'If':
        return this.run(this.#value(stmt.test) ? stmt.then : stmt.else)
      case 'For':
        return this.#loop(stmt)
      case 'Labeled': {
        const ending = this.run(stmt.body)
        return ending.kind === 'break' && ending.label === stmt.label ? NEXT : ending
      }
      case 'Break':
        return { kind: 'break', label: stmt.label }
      case 'Continue':
        return { kind: 'continue', label: stmt.label }
      case 'Return':
        return { kind: 'return', value: stmt.value === undefined ? undefined : this.#value(stmt.value) }
      case 'Throw': {
        const made = { Error, RangeError, TypeError }[stmt.error]
        throw stmt.message === undefined ? new made() : new made(this.#value(stmt.message) as string)
      }
      case 'Evaluate':
        this.#value(stmt.value)
        return NEXT
    }
  }

  #loop(stmt: Stmt & { kind: 'For' }): Ending {
    const started = this.run(stmt.init)
    if (started.kind !== 'next') return started
    for (let first = true; ; first = false) {
      const isTested = !(stmt.doWhile && first)
      if (isTested && stmt.test !== undefined && !this.#value(stmt.test)) return NEXT
      const ending = this.run(stmt.body)
      const isMine = (ending.kind === 'break' || ending.kind === 'continue') && (ending.label === undefined || ending.label === stmt.label)
      if (ending.kind === 'break' && isMine) return NEXT
      if (ending.kind !== 'next' && !(ending.kind === 'continue' && isMine)) return ending
      const updated = this.run(stmt.update)
      if (updated.kind !== 'next') return updated
    }
  }

  #value(expr: Expr): unknown {
    const world = this.#world
    switch (expr.kind) {
      case 'Literal':
        return expr.value
      case 'Local':
        if (!this.#locals.has(expr.name)) throw new Error(`${expr.name} is read before it is declared`)
        return this.#locals.get(expr.name)
      case 'Parameter':
        return found(this.#ir.parameters, expr.name).value
      case 'Input':
        return world.inputs[expr.argument]
      case 'Field': {
        const of = this.#value(expr.of) as Record<string, unknown>
        return expr.optional ? of?.[expr.name] : of[expr.name]
      }
      case 'Key':
        return world.key[expr.axis]
      case 'Unary':
        return unary(expr.operator, this.#value(expr.operand))
      case 'Binary': {
        const left = this.#value(expr.left)
        return binary(expr.operator, left, this.#value(expr.right))
      }
      case 'Logical': {
        const left = this.#value(expr.left)
        if (expr.operator === '&&') return left && this.#value(expr.right)
        return expr.operator === '||' ? left || this.#value(expr.right) : (left ?? this.#value(expr.right))
      }
      case 'Conditional':
        return this.#value(expr.test) ? this.#value(expr.then) : this.#value(expr.else)
      case 'Call': {
        if (expr.callee === 'new Date') return new Date(this.#value(expr.args[0] as Expr) as number)
        if (isLibraryCall(expr.callee)) return LIBRARY_FUNCTIONS[expr.callee].run(...(expr.args.map((one) => this.#value(one)) as never[]))
        const callee = expr.callee.split('.').reduce<unknown>((at, part) => (at as Record<string, unknown>)[part], globalThis)
        return (callee as (...args: unknown[]) => unknown)(...expr.args.map((one) => this.#value(one)))
      }
      case 'MethodCall': {
        const object = this.#value(expr.object) as Record<string, unknown>
        if (expr.optional && (object === null || object === undefined)) return undefined
        if (expr.method === 'length') return object.length
        const method = object[expr.method] as (...args: unknown[]) => unknown
        return method.apply(
          object,
          expr.args.map((one) => this.#value(one)),
        )
      }
      case 'OfList': {
        const list = this.#value(expr.list) as unknown[]
        const args = expr.args.map((one) => this.#value(one))
        const { asks, each } = expr
        const f = (...given: unknown[]): unknown => {
          if (each === undefined) throw new Error('it asks with no function')
          for (const [i, name] of localsOf(each).entries()) this.#locals.set(name, given[i])
          return this.#value(each.value)
        }
        if (asks === 'length') return list.length
        if (asks === 'element') return list[args[0] as number]
        if (asks === 'Math.max' || asks === 'Math.min')
          return asks === 'Math.max' ? Math.max(...(list as number[])) : Math.min(...(list as number[]))
        if (asks === 'count') return list.filter(f).length
        const method = list[asks] as (...args: unknown[]) => unknown
        return method.apply(list, each === undefined ? args : [f, ...args])
      }
      case 'Matches':
        return new RegExp(expr.pattern, expr.flags).test(this.#value(expr.of) as string)
      case 'Read':
        return (world.read ?? missing(world))(
          expr.array,
          expr.subscripts.map((one) => this.#value(one)),
        )
      case 'Has':
        return (world.has ?? missing(world))(
          expr.array,
          expr.subscripts.map((one) => this.#value(one)),
        )
      case 'Extent':
        return (world.extent ?? missing(world))(expr.array, expr.axis)
      case 'Lookup':
        return found(this.#ir.tables, expr.table).value[this.#value(expr.index) as number]
      case 'Find':
        return foundIn(expr, collectionOf(expr, this.#ir.tables), this.#value(expr.key))
      case 'LookupLength':
        return found(this.#ir.tables, expr.table).value.length
      case 'Draw':
        return (world.draw ?? missing(world))(
          expr.rng,
          expr.method,
          expr.args.map((one) => this.#value(one)),
        )
      case 'ArrayLiteral':
        return expr.items.map((one) => this.#value(one))
      case 'ObjectLiteral':
        return Object.fromEntries(expr.fields.map((field) => [field.name, this.#value(field.value)]))
    }
  }
}

function missing(_world: unknown): never {
  throw new Error('the world of this test has no arrays, accumulators or generators')
}

function found<T extends { readonly name: string }>(list: readonly T[], name: string): T {
  const one = list.find((item) => item.name === name)
  if (one === undefined) throw new Error(`${name} is not declared by the function`)
  return one
}

// JavaScript's own operators, on whatever the values are
/* biome-ignore-start lint/suspicious/noDoubleEquals: the operators themselves */
function unary(operator: Extract<Expr, { kind: 'Unary' }>['operator'], x: unknown): unknown {
  const value = x as number
  switch (operator) {
    case '-':
      return -value
    case '+':
      return +value
    case '!':
      return !value
    case '~':
      return ~value
    case 'typeof':
      return typeof value
  }
}

function binary(operator: Extract<Expr, { kind: 'Binary' }>['operator'], x: unknown, y: unknown): unknown {
  const [a, b] = [x as number, y as number]
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
    case '**':
      return a ** b
    case '&':
      return a & b
    case '|':
      return a | b
    case '^':
      return a ^ b
    case '<<':
      return a << b
    case '>>':
      return a >> b
    case '>>>':
      return a >>> b
    case '==':
      return a == b
    case '!=':
      return a != b
    case '===':
      return a === b
    case '!==':
      return a !== b
    case '<':
      return a < b
    case '<=':
      return a <= b
    case '>':
      return a > b
    case '>=':
      return a >= b
  }
}
/* biome-ignore-end lint/suspicious/noDoubleEquals: the operators themselves */
