/** The names in a function's IR, and renaming a function apart from another. */
import type { Expr, FunctionIr } from './functionIr.ts'
import { expressionsOf, visitExpr, visitStmts } from './functionIr.ts'
import { rewriteStmts } from './irRewrite.ts'

/** The local names of a function; `constants` are its parameters and tables. */
export interface Names {
  readonly locals: Set<string>
  readonly labels: Set<string>
  readonly constants: Set<string>
}

export function namesOf(ir: FunctionIr): Names {
  const locals = new Set<string>()
  const labels = new Set<string>()
  const see = (expr: Expr): void => visitExpr(expr, (one) => void (one.kind === 'Local' && locals.add(one.name)))
  visitStmts(ir.body, (stmt) => {
    if (stmt.kind === 'Let' || stmt.kind === 'Assign') locals.add(stmt.local)
    if ((stmt.kind === 'For' || stmt.kind === 'Labeled' || stmt.kind === 'Break' || stmt.kind === 'Continue') && stmt.label !== undefined) {
      labels.add(stmt.label)
    }
    if (stmt.kind === 'For' && stmt.counted !== undefined) [stmt.counted.from, stmt.counted.to].forEach(see)
    expressionsOf(stmt).forEach(see)
  })
  return { locals, labels, constants: new Set([...ir.parameters, ...ir.tables].map((one) => one.name)) }
}

/** Returns `name` made an identifier (columns may have any name), or `name$2`, `name$3`, … if it is taken, and adds it to `taken`. */
export function fresh(name: string, taken: Set<string>): string {
  const written = name.replace(/[^\p{ID_Continue}$]/gu, '_')
  let free = written
  for (let n = 2; taken.has(free); n++) free = `${written}$${n}`
  taken.add(free)
  return free
}

/** Renames a function's locals, labels and constants to names that `other` does not have; `taken` are the names of both. */
export function renamedApart(ir: FunctionIr, other: FunctionIr): { readonly ir: FunctionIr; readonly taken: Names } {
  const taken = namesOf(other)
  const own = namesOf(ir)
  const table = (names: ReadonlySet<string>, used: Set<string>): ReadonlyMap<string, string> =>
    new Map([...names].map((name) => [name, fresh(name, used)]))
  const locals = table(own.locals, taken.locals)
  const labels = table(own.labels, taken.labels)
  const constants = table(own.constants, taken.constants)
  const constant = (name: string): string => constants.get(name) ?? name
  const body = rewriteStmts(ir.body, {
    local: (name) => locals.get(name) ?? name,
    label: (name) => labels.get(name) ?? name,
    expr: (expr) => {
      if (expr.kind === 'Parameter') return { ...expr, name: constant(expr.name) }
      if (expr.kind === 'Lookup' || expr.kind === 'LookupLength') return { ...expr, table: constant(expr.table) }
      if (expr.kind === 'Find')
        return { ...expr, keys: constant(expr.keys), ...(expr.values === undefined ? {} : { values: constant(expr.values) }) }
      return expr
    },
  })
  const renamed: FunctionIr = {
    ...ir,
    body,
    parameters: ir.parameters.map((one) => ({ ...one, name: constant(one.name) })),
    tables: ir.tables.map((one) => ({ ...one, name: constant(one.name) })),
  }
  return { ir: renamed, taken }
}
