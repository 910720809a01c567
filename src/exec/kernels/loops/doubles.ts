/**
 * Locals that are doubles whatever else they are assigned, since one of their values is.
 *
 *     let sum = 0                                            sum: a double, whatever the types of its other values,
 *     for (let k = 0; k < n; k++) sum += x.get(i, k)         as the element of an f64 array is one
 *
 * Where all locals that change are such, their types are known before the body is written, and no draft of it has to find them out.
 * What is said here decides on the rounds of type inference alone: a local that is left out is typed by what it is assigned.
 */
import { type Expr, type Stmt, visitStmts } from '../../../core/ir/functionIr.ts'
import { F64, type WasmType } from '../expressions/types.ts'
import type { WasmTarget } from './wasmCode.ts'
import { localFacts } from './wasmLocals.ts'

/** Functions of numbers whose value is a double where an argument is, with a fraction or without. */
const KEEPING: ReadonlySet<string> = new Set([
  'Math.sqrt',
  'Math.abs',
  'Math.sin',
  'Math.cos',
  'Math.exp',
  'Math.log',
  'Math.min',
  'Math.max',
])

/** Returns the types of the locals that change, where all of them are surely doubles; undefined where one may be something else. */
export function doublesOf({ ir, shape }: WasmTarget): Map<string, WasmType> | undefined {
  const { changed, unset } = localFacts(ir)
  const values: (readonly [string, Expr])[] = []
  visitStmts(ir.body, (stmt: Stmt) => {
    if (stmt.kind === 'Let' && stmt.init !== undefined) values.push([stmt.local, stmt.init])
    else if (stmt.kind === 'Assign') values.push([stmt.local, stmt.value])
  })
  const doubles = new Set<string>()
  const isDouble = (expr: Expr): boolean => {
    switch (expr.kind) {
      case 'Literal':
        return typeof expr.value === 'number' && !Number.isInteger(expr.value)
      case 'Local':
        return doubles.has(expr.name)
      case 'Read': {
        const array = shape.arrays.get(expr.array)
        return array?.kind === 'dense' && array.isLocal !== true && (array.dtype === 'f64' || array.dtype === 'f32')
      }
      case 'Unary':
        return expr.operator === '-' && isDouble(expr.operand)
      case 'Binary':
        return ARITHMETIC.has(expr.operator) && (isDouble(expr.left) || isDouble(expr.right))
      case 'Call':
        return KEEPING.has(expr.callee) && expr.args.some(isDouble)
      default:
        return false
    }
  }
  for (let before = -1; before < doubles.size; ) {
    before = doubles.size
    for (const [name, value] of values) if (!doubles.has(name) && isDouble(value)) doubles.add(name)
  }
  if ([...changed].some((name) => !doubles.has(name) || unset.has(name))) return undefined
  return new Map([...changed].map((name) => [name, F64]))
}

const ARITHMETIC: ReadonlySet<string> = new Set(['+', '-', '*', '/'])
