/**
 * Interprets the IR of a body node by node: the reference that kernels are compared with. Arrays, accumulators and
 * generators are views (`views.ts`), by their names.
 */
import { Bug } from '../../../core/errors.ts'
import type { Expr, FunctionIr, Primitive, Stmt } from '../../../core/ir/functionIr.ts'
import { applyBinary } from '../../../core/ir/operators.ts'
import type { ArrayViewObject } from './views.ts'

export type Views = Readonly<Record<string, unknown>>

/** A place of the IR that touches an array; a `Return` touches the element iterated over. */
export type AccessSite = Extract<Expr, { kind: 'Read' | 'Has' }> | Extract<Stmt, { kind: 'Write' | 'Add' | 'Return' }>

/** An observer of a running body. */
export interface Onlooker {
  /** Called right before each access. */
  site(node: AccessSite): void
  /** Called at the start of each iteration of a loop inside the body. */
  turn(): void
}

/** The body as a function of the element, the key and the views. */
export function interpretBody(ir: FunctionIr, onlooker?: Onlooker): (value: unknown, key: readonly number[], views: Views) => unknown {
  const parameters = new Map(ir.parameters.map((parameter) => [parameter.name, parameter.value]))
  const tables = new Map(ir.tables.map((table) => [table.name, table.value]))
  return (value, key, views) => {
    const end = new Iteration({ value, key, views, parameters, tables, onlooker }).block(ir.body)
    return end?.kind === 'return' ? end.value : undefined
  }
}

interface Scope {
  readonly value: unknown
  readonly key: readonly number[]
  readonly views: Views
  readonly parameters: ReadonlyMap<string, Primitive>
  readonly tables: ReadonlyMap<string, ArrayLike<Primitive>>
  readonly onlooker: Onlooker | undefined
}

/** How control left a block before its end; undefined if it did not. */
type Leave =
  | { readonly kind: 'break' | 'continue'; readonly label: string | undefined }
  | { readonly kind: 'return'; readonly value: unknown }
  | undefined

type Adder = { add(value: unknown): void }

class Iteration {
  readonly #scope: Scope
  readonly #locals = new Map<string, unknown>()
  constructor(scope: Scope) {
    this.#scope = scope
  }

  block(stmts: readonly Stmt[]): Leave {
    for (const stmt of stmts) {
      const leave = this.#stmt(stmt)
      if (leave !== undefined) return leave
    }
    return undefined
  }

  #stmt(stmt: Stmt): Leave {
    switch (stmt.kind) {
      case 'Let':
        this.#locals.set(stmt.local, stmt.init === undefined ? undefined : this.#expr(stmt.init))
        return undefined
      case 'Assign':
        this.#locals.set(stmt.local, this.#expr(stmt.value))
        return undefined
      case 'Write':
        this.#access(stmt, [...stmt.subscripts, stmt.value], (array, args) => array.set(...args))
        return undefined
      case 'Add':
        this.#access(stmt, [...stmt.subscripts, stmt.value], (array, args) => array.add(...args))
        return undefined
      case 'Accumulate':
        ;(this.#scope.views[stmt.accumulator] as Adder).add(this.#expr(stmt.value)) // an accumulator by the IR's word
        return undefined
      case 'If':
        return this.block(this.#expr(stmt.test) ? stmt.then : stmt.else)
      case 'For':
        return this.#for(stmt)
      case 'Labeled': {
        const leave = this.block(stmt.body)
        return leave?.kind === 'break' && leave.label === stmt.label ? undefined : leave
      }
      case 'Break':
        return { kind: 'break', label: stmt.label }
      case 'Continue':
        return { kind: 'continue', label: stmt.label }
      case 'Return': {
        const value = stmt.value === undefined ? undefined : this.#expr(stmt.value)
        this.#scope.onlooker?.site(stmt)
        return { kind: 'return', value }
      }
      case 'Throw': {
        const ErrorClass = { Error, RangeError, TypeError }[stmt.error]
        throw stmt.message === undefined ? new ErrorClass() : new ErrorClass(this.#expr(stmt.message) as string) // converts itself
      }
      case 'Evaluate':
        this.#expr(stmt.value)
        return undefined
    }
  }

  #for(stmt: Extract<Stmt, { kind: 'For' }>): Leave {
    this.block(stmt.init)
    for (let first = true; ; first = false) {
      const tested = !(stmt.doWhile && first)
      if (tested && stmt.test !== undefined && !this.#expr(stmt.test)) return undefined
      this.#scope.onlooker?.turn()
      const leave = this.block(stmt.body)
      if (leave !== undefined) {
        const mine = leave.kind !== 'return' && (leave.label === undefined || leave.label === stmt.label)
        if (!mine) return leave
        if (leave.kind === 'break') return undefined
      }
      this.block(stmt.update)
    }
  }

  #all(exprs: readonly Expr[]): never[] {
    return exprs.map((expr) => this.#expr(expr)) as never[] // views and builtins check or convert what they get
  }

  /** Evaluates the arguments, which may touch arrays themselves, then touches the array. */
  #access<T>(node: Exclude<AccessSite, { kind: 'Return' }>, args: readonly Expr[], touch: (array: ArrayViewObject, args: never[]) => T): T {
    const array = this.#array(node.array)
    const values = this.#all(args)
    this.#scope.onlooker?.site(node)
    return touch(array, values)
  }

  #array(name: string): ArrayViewObject {
    return this.#scope.views[name] as ArrayViewObject // an array by the IR's word
  }

  #expr(expr: Expr): unknown {
    switch (expr.kind) {
      case 'Literal':
        return expr.value
      case 'Local':
        return this.#locals.get(expr.name)
      case 'Parameter':
        return this.#scope.parameters.get(expr.name)
      case 'Input':
        return this.#scope.value
      case 'Field': {
        const of = this.#expr(expr.of) as Record<string, unknown>
        return expr.optional ? of?.[expr.name] : of[expr.name]
      }
      case 'Key':
        return this.#scope.key[expr.axis]
      case 'Unary':
        return unary(expr.operator, this.#expr(expr.operand) as number)
      case 'Binary':
        return applyBinary(expr.operator, this.#expr(expr.left) as number, this.#expr(expr.right) as number)
      case 'Logical': {
        const left = this.#expr(expr.left)
        if (expr.operator === '&&') return left && this.#expr(expr.right)
        return expr.operator === '||' ? left || this.#expr(expr.right) : (left ?? this.#expr(expr.right))
      }
      case 'Conditional':
        return this.#expr(this.#expr(expr.test) ? expr.then : expr.else)
      case 'Call':
        return builtin(expr.callee)(...this.#all(expr.args))
      case 'MethodCall': {
        const object = this.#expr(expr.object) as Record<string, unknown>
        if (expr.optional && (object === undefined || object === null)) return undefined
        const member = object[expr.method]
        return expr.method === 'length' ? member : (member as (...args: never[]) => unknown).apply(object, this.#all(expr.args))
      }
      case 'Matches':
        return new RegExp(expr.pattern, expr.flags).test(this.#expr(expr.of) as string) // which makes a text of anything else
      case 'Read':
        return this.#access(expr, expr.subscripts, (array, key) => array.get(...key))
      case 'Has':
        return this.#access(expr, expr.subscripts, (array, key) => array.has(...key))
      case 'Extent':
        return this.#array(expr.array).shape[expr.axis]
      case 'Lookup':
        return this.#table(expr.table)[this.#expr(expr.index) as number]
      case 'LookupLength':
        return this.#table(expr.table).length
      case 'OfList':
        throw new Bug('A loop body asks a list of a row.')
      case 'Find':
        throw new Bug('A loop body looks for a key.')
      case 'Draw': {
        const rng = this.#scope.views[expr.rng] as Record<string, (...args: never[]) => unknown>
        return rng[expr.method]?.(...this.#all(expr.args))
      }
      case 'ArrayLiteral':
        return this.#all(expr.items)
      case 'ObjectLiteral':
        return Object.fromEntries(expr.fields.map((field) => [field.name, this.#expr(field.value)]))
    }
  }

  #table(name: string): ArrayLike<Primitive> {
    const table = this.#scope.tables.get(name)
    if (table === undefined) throw new Bug(`The loop body reads ${name}, which is not among its tables.`)
    return table
  }
}

function unary(operator: Extract<Expr, { kind: 'Unary' }>['operator'], a: number): unknown {
  switch (operator) {
    case '-':
      return -a
    case '+':
      return +a
    case '!':
      return !a
    case '~':
      return ~a
    case 'typeof':
      return typeof a
  }
}

/** A function of the platform by its source name, as `Math.exp`. */
function builtin(name: string): (...args: never[]) => unknown {
  const [first, second] = name.split('.') as [string, string?]
  const object = (globalThis as unknown as Record<string, unknown>)[first] // names come from BUILTINS
  if (second === undefined) return object as (...args: never[]) => unknown
  const member = (object as Record<string, (...args: never[]) => unknown>)[second]
  return (...args) => member?.apply(object, args)
}
