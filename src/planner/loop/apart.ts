/**
 * Guard splitting: statements under one test get a test each, so that a loop can be split between them.
 *
 *     if (i === 0) return                         if (!(i === 0)) s[i] = s[i-1] + x[i]
 *     s[i] = s[i-1] + x[i]              -->       if (!(i === 0)) y[i] = f(s[i])
 *     y[i] = f(s[i])
 *
 * The first step of if-conversion (Allen, Kennedy, Porterfield and Warren, Conversion of control dependence to data dependence, 1983).
 * A test is repeated only where it surely says the same again: it draws no random number, and reads no array that the loop
 * writes and no local that changes under it. A local that is computed from such things alone is computed under each test that
 * needs it; any other one keeps what stands from its declaration to its last use under one test.
 */
import { type Expr, type FunctionIr, type Stmt, visitStmts } from '../../core/ir/functionIr.ts'
import { changedIn, someExpr, usesLocal } from '../../core/ir/irFacts.ts'
import { fresh, namesOf } from '../../core/ir/irNames.ts'
import { rewriteStmts, UNCHANGED } from '../../core/ir/irRewrite.ts'
import type { LoopSpec } from '../../core/loop/loopSpec.ts'

interface Context {
  /** Whether an expression has the same value wherever it stands in an iteration; its locals are not considered. */
  isStable(expr: Expr): boolean
  readonly taken: Set<string>
}

/** Returns the body with repeated tests; the very same object where there is nothing to take apart. */
export function apart(spec: LoopSpec, ir: FunctionIr, writtenArrays: ReadonlySet<number>): FunctionIr {
  const isStable = (expr: Expr): boolean => {
    return !someExpr(expr, (one) => {
      if (one.kind !== 'Read' && one.kind !== 'Has') return one.kind === 'Draw'
      const binding = spec.env[one.array]
      return binding?.kind !== 'array' || writtenArrays.has(binding.array)
    })
  }
  const body = takenApart(ir.body, { isStable, taken: namesOf(ir).locals }, true)
  return body === ir.body ? ir : { ...ir, body }
}

/** Takes a list of statements apart; `isTail`: they are the last of the iteration. */
function takenApart(stmts: readonly Stmt[], context: Context, isTail: boolean): readonly Stmt[] {
  const done: Stmt[] = []
  let changed = false
  for (const [at, stmt] of stmts.entries()) {
    if (isTail && isEnd(stmt)) return done
    const rest = stmts.slice(at + 1)
    const whole = isTail ? withRest(stmt, rest) : undefined
    if (whole !== undefined && repeats(whole, context)) return [...done, ...testsRepeated(whole, context, true)]
    if (stmt.kind !== 'If' || !repeats(stmt, context)) {
      done.push(stmt)
      continue
    }
    const pieces = testsRepeated(stmt, context, isTail && rest.length === 0)
    changed ||= pieces.length !== 1 || pieces[0] !== stmt
    done.push(...pieces)
  }
  return changed ? done : stmts
}

type If = Extract<Stmt, { kind: 'If' }>

/** Whether a statement ends the iteration without a value. */
const isEnd = (stmt: Stmt | undefined): boolean => stmt?.kind === 'Return' && stmt.value === undefined

/** Returns `if (t) { …; return } rest` as `if (t) { … } else { rest }`; undefined for other statements. */
function withRest(stmt: Stmt, rest: readonly Stmt[]): If | undefined {
  if (stmt.kind !== 'If' || rest.length === 0) return undefined
  const branches = (yes: readonly Stmt[], no: readonly Stmt[]): If => {
    // biome-ignore lint/suspicious/noThenProperty: the IR's own name for the branch
    return { ...stmt, then: yes, else: no }
  }
  if (isEnd(stmt.then.at(-1))) return branches(stmt.then.slice(0, -1), [...stmt.else, ...rest])
  if (isEnd(stmt.else.at(-1))) return branches([...stmt.then, ...rest], stmt.else.slice(0, -1))
  return undefined
}

/** Whether the test has the same value after any of the statements under it. */
function repeats({ test, then, else: otherwise }: If, context: Context): boolean {
  if (!context.isStable(test)) return false
  const changed = changedIn([...then, ...otherwise])
  return !someExpr(test, (one) => one.kind === 'Local' && changed.has(one.name))
}

function testsRepeated(stmt: If, context: Context, isTail: boolean): readonly Stmt[] {
  const yes = groupsOf(takenApart(stmt.then, context, isTail), context)
  const no = groupsOf(takenApart(stmt.else, context, isTail), context)
  if (yes.length + no.length === 0 || (stmt.then === yes[0] && stmt.else.length === 0)) return [stmt]
  const not: Expr = { kind: 'Unary', operator: '!', operand: stmt.test, span: stmt.test.span }
  const under = (test: Expr, group: readonly Stmt[]): Stmt => {
    const said = group.find(hasEffect) ?? group[0] ?? stmt
    // biome-ignore lint/suspicious/noThenProperty: the IR's own name for the branch
    return { kind: 'If', test, then: group, else: [], span: said.span }
  }
  return [...yes.map((group) => under(stmt.test, group)), ...no.map((group) => under(not, group))]
}

/**
 * Groups statements that may stand under tests of their own, in order. Each group has the declarations that stand before it, used or not,
 * and copies of earlier ones that it uses: what fails for the first time does so where it did.
 */
function groupsOf(stmts: readonly Stmt[], context: Context): readonly (readonly Stmt[])[] {
  if (stmts.length === 0) return []
  const repeated = repeatedLets(stmts, context)
  const groups: Stmt[][] = []
  let lead: Stmt[] = []
  let last = -1
  for (const [at, stmt] of stmts.entries()) {
    const group = groups.at(-1)
    if (group !== undefined && at <= last) group.push(stmt)
    else if (repeated.has(stmt)) lead.push(stmt)
    else {
      groups.push([...lead, stmt])
      lead = []
    }
    if (stmt.kind === 'Let' && !repeated.has(stmt))
      last = Math.max(
        last,
        stmts.findLastIndex((other) => usesLocal([other], stmt.local)),
      )
  }
  if (groups.length < 2) return [stmts]
  groups.at(-1)?.push(...lead)
  const lets = stmts.filter((stmt): stmt is Let => repeated.has(stmt))
  return groups.map((group) => withOwnLets(group, lets, context))
}

type Let = Extract<Stmt, { kind: 'Let' }>

/** Returns the declarations of locals that have the same value wherever they are computed. */
function repeatedLets(stmts: readonly Stmt[], context: Context): ReadonlySet<Stmt> {
  const changed = changedIn(stmts.filter((stmt) => stmt.kind !== 'Let'))
  const declared = new Set(stmts.flatMap((stmt) => (stmt.kind === 'Let' ? [stmt.local] : [])))
  const found = new Set<string>()
  return new Set(
    stmts.filter((stmt) => {
      if (stmt.kind !== 'Let' || stmt.init === undefined || changed.has(stmt.local) || !context.isStable(stmt.init)) return false
      const isUnknown = (one: Expr): boolean =>
        one.kind === 'Local' && (changed.has(one.name) || (declared.has(one.name) && !found.has(one.name)))
      if (someExpr(stmt.init, isUnknown)) return false
      found.add(stmt.local)
      return true
    }),
  )
}

/** Returns the group with copies of the declarations it needs in front, under fresh names. */
function withOwnLets(group: readonly Stmt[], lets: readonly Let[], context: Context): readonly Stmt[] {
  const needed: Let[] = []
  for (const one of lets.toReversed()) {
    if (!group.includes(one) && usesLocal([...group, ...needed], one.local)) needed.unshift(one)
  }
  if (needed.length === 0) return group
  const names = new Map(needed.map(({ local }) => [local, fresh(local, context.taken)]))
  return rewriteStmts([...needed, ...group], { ...UNCHANGED, local: (name) => names.get(name) ?? name })
}

function hasEffect(stmt: Stmt): boolean {
  let found = false
  visitStmts([stmt], ({ kind }) => {
    if (kind === 'Write' || kind === 'Add' || kind === 'Accumulate' || kind === 'Throw') found = true
  })
  return found
}
