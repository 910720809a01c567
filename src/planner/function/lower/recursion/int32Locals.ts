/** Finds locals that hold nothing but 32-bit integers, whatever is computed: their values come of bit operations, of such arrays, or of each other. */
import { type Expr, type Stmt, visitStmts } from '../../../../core/ir/functionIr.ts'

const BITS: ReadonlySet<string> = new Set(['&', '|', '^', '<<', '>>'])
const INTS: ReadonlySet<string | undefined> = new Set(['i32', 'i16', 'i8', 'u16', 'u8'])

/** The greatest set of locals of which each is given 32-bit integers alone, where the locals of the set are such. */
export function int32Locals(
  body: readonly Stmt[],
  of: { readonly sure: ReadonlySet<Stmt>; readonly dtype: (array: string) => string | undefined },
): ReadonlySet<string> {
  const given: { readonly local: string; readonly value: Expr | undefined }[] = []
  visitStmts(body, (stmt) => {
    if (stmt.kind === 'Assign') given.push({ local: stmt.local, value: stmt.value })
    if (stmt.kind === 'Let' && !of.sure.has(stmt)) given.push({ local: stmt.local, value: stmt.init })
  })
  const found = new Set(given.map(({ local }) => local))
  const isInt = (expr: Expr | undefined): boolean => {
    switch (expr?.kind) {
      case 'Literal':
        return typeof expr.value === 'number' && Object.is(expr.value | 0, expr.value)
      case 'Local':
        return found.has(expr.name)
      case 'Unary':
        return expr.operator === '~'
      case 'Binary':
        return BITS.has(expr.operator)
      case 'Conditional':
        return isInt(expr.then) && isInt(expr.else)
      case 'Read':
        return INTS.has(of.dtype(expr.array))
      default:
        return false
    }
  }
  for (let before = -1; before !== found.size; ) {
    before = found.size
    for (const { local, value } of given) if (!isInt(value)) found.delete(local)
  }
  return found
}
