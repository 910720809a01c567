/**
 * Partial evaluation of an expression over rows of which only some columns are known, as those in the folder names of a file.
 *
 *     r.year === 2024 && r.total > 3     year = 2023   -->   false in every row
 *
 * Statement: where there is a value, JavaScript has it for every row with these columns. Where there is only its truth, what other
 * columns decide was passed over: JavaScript has it for every row for which that does not throw.
 */
import type { BinaryOperator, Expr, FunctionIr, Method } from '../core/ir/functionIr.ts'
import type { Constant } from '../core/sourceParts.ts'

/** The value of an expression, or only its truth as a condition; undefined where nothing is known. */
export type Partial = { readonly value: unknown } | { readonly truth: boolean } | undefined

export interface KnownColumns {
  readonly ir: FunctionIr
  /** Known columns of the first argument. */
  readonly columns: ReadonlyMap<string, Constant>
}

/** Evaluates an expression; undefined where it depends on other columns, or has a kind that is not evaluated. */
export function partialValue(expr: Expr, known: KnownColumns): Partial {
  switch (expr.kind) {
    case 'Literal':
      return { value: expr.value }
    case 'Parameter': {
      const found = known.ir.parameters.find(({ name }) => name === expr.name)
      return found && { value: found.value }
    }
    case 'Field': {
      if (expr.of.kind !== 'Input' || expr.of.argument !== 0) return undefined
      const value = known.columns.get(expr.name)
      return value === undefined ? undefined : { value }
    }
    case 'Unary': {
      const of = partialValue(expr.operand, known)
      const truth = truthOf(of)
      if (expr.operator === '!') return truth === undefined ? undefined : isValue(of) ? { value: !truth } : { truth: !truth }
      return expr.operator === '-' && isNumber(of) ? { value: -of.value } : undefined
    }
    case 'Binary': {
      const left = partialValue(expr.left, known)
      const right = partialValue(expr.right, known)
      return isValue(left) && isValue(right) ? binary(expr.operator, left.value, right.value) : undefined
    }
    case 'Logical':
      return logical(expr, known)
    case 'Conditional': {
      const test = partialValue(expr.test, known)
      const truth = truthOf(test)
      return truth === undefined ? undefined : after(test, partialValue(truth ? expr.then : expr.else, known))
    }
    case 'MethodCall': {
      const object = partialValue(expr.object, known)
      const args = expr.args.map((arg) => partialValue(arg, known))
      if (!isValue(object) || !args.every(isValue)) return undefined
      return called(
        object.value,
        expr.method,
        args.map((arg) => arg.value),
      )
    }
    case 'Matches': {
      const of = partialValue(expr.of, known)
      if (!isValue(of) || typeof of.value !== 'string') return undefined
      return { value: new RegExp(expr.pattern, expr.flags).test(of.value) }
    }
    default:
      return undefined // values of the row that is being asked about, or forms that filters on folders do not have
  }
}

/** Returns the truth of an expression as a condition; undefined where it is not known. */
export function truthOf(known: Partial): boolean | undefined {
  if (known === undefined) return undefined
  return 'truth' in known ? known.truth : Boolean(known.value)
}

/** Returns `second`, evaluated after `first`: only its truth where the value of `first` is not known, since that may throw. */
function after(first: Partial, second: Partial): Partial {
  const truth = truthOf(second)
  return isValue(first) || truth === undefined ? second : { truth }
}

/** Whether the value itself is known. */
export function isValue(known: Partial): known is { readonly value: unknown } {
  return known !== undefined && 'value' in known
}

function isNumber(known: Partial): known is { readonly value: number } {
  return isValue(known) && typeof known.value === 'number'
}

function logical({ operator, left, right }: Extract<Expr, { kind: 'Logical' }>, known: KnownColumns): Partial {
  const first = partialValue(left, known)
  if (operator === '??') {
    if (!isValue(first)) return undefined
    return first.value === null || first.value === undefined ? partialValue(right, known) : first
  }
  const truth = truthOf(first)
  const decides = operator === '||'
  if (truth === decides) return first
  const second = partialValue(right, known)
  if (truth !== undefined) return after(first, second)
  return truthOf(second) === decides ? { truth: decides } : undefined
}

function binary(operator: BinaryOperator, left: unknown, right: unknown): Partial {
  const [a, b] = [left as number, right as number] // JavaScript compares anything with anything
  switch (operator) {
    case '===':
      return { value: a === b }
    case '!==':
      return { value: a !== b }
    case '==':
      // biome-ignore lint/suspicious/noDoubleEquals: the user's own
      return { value: a == b }
    case '!=':
      // biome-ignore lint/suspicious/noDoubleEquals: the user's own
      return { value: a != b }
    case '<':
      return { value: a < b }
    case '<=':
      return { value: a <= b }
    case '>':
      return { value: a > b }
    case '>=':
      return { value: a >= b }
    default:
      return typeof left === 'number' && typeof right === 'number' ? arithmetic(operator, left, right) : undefined
  }
}

function arithmetic(operator: BinaryOperator, a: number, b: number): Partial {
  switch (operator) {
    case '+':
      return { value: a + b }
    case '-':
      return { value: a - b }
    case '*':
      return { value: a * b }
    case '/':
      return { value: a / b }
    case '%':
      return { value: a % b }
    default:
      return undefined
  }
}

const OF_TEXTS: ReadonlySet<Method> = new Set([
  'length',
  'charAt',
  'charCodeAt',
  'endsWith',
  'includes',
  'indexOf',
  'slice',
  'startsWith',
  'substring',
  'toLowerCase',
  'toUpperCase',
  'trim',
])

function called(object: unknown, method: Method, args: readonly unknown[]): Partial {
  if (typeof object === 'string' && method === 'length') return { value: object.length }
  const isKnown = typeof object === 'string' ? OF_TEXTS.has(method) : object instanceof Date && /^get(UTC|Time)/.test(method)
  if (!isKnown) return undefined
  const of = object as Readonly<Record<Method, (...args: readonly unknown[]) => unknown>> // the platform's own method
  return { value: of[method](...args) }
}
