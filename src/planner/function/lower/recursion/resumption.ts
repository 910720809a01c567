/**
 * Writes out functions that call themselves before their end: the calls under way lie on a stack, and each is resumed where it stood.
 *
 *     const visit = (v) => { seen[v] = 1; for (const w of links[v]) if (seen[w] === 0) visit(w) }
 *
 *     again: for (;;) {
 *       if (site === 0) { seen[v] = 1; k = 0 }
 *       for (; site !== 0 || k < …; k++) {
 *         if (site === 0) w = links[v][k]
 *         if (site !== 0 || seen[w] === 0) {
 *           if (site === 0) { stack[depth] = [v, k]; depth++; v = w; continue again }        the call
 *           site = 0                                                                          its return
 *         }
 *       }
 *       if (depth === 0) break
 *       depth--; [v, k] = stack[depth]; site = 1
 *     }
 *
 * `site` is 0 in a call that begins, and the number of the call that has returned in one that is resumed: this runs nothing but the way
 * to that place, as coroutines that are made of loops do (Binaryen's Asyncify rewinds a stack so). Of the locals those are kept that may be
 * read after the place; they are numbers, true or false.
 */
import { surelyAssigned } from '../../../../core/ir/definiteAssignment.ts'
import { type Expr, type Primitive, type Stmt, visitStmts } from '../../../../core/ir/functionIr.ts'
import { changedIn, localsRead } from '../../../../core/ir/irFacts.ts'
import { inferTypes, isNumberType, type TypeOf, type TypeSources } from '../../../../core/ir/irTypes.ts'
import type { Span } from '../../../../core/span.ts'
import { binary, literal, logical } from '../build.ts'
import type { Lowering } from '../lowering.ts'
import type { Recursion } from '../loweringParts.ts'
import { isFull, isOwn, oneDeeper, replaced } from './selfCalls.ts'
import { assign, givesNull, stackOf } from './stack.ts'

type Loop = Extract<Stmt, { readonly kind: 'For' }>

/** Writes out all functions of a body that call themselves. */
export function withStacks(l: Lowering, lowered: readonly Stmt[], sources: TypeSources): readonly Stmt[] {
  if (l.recursions.size === 0) return lowered
  const body = replaced(lowered, withoutUndefined)
  const typeOf = inferTypes(body, sources)
  const sure = surelyAssigned(body)
  const hasNull = givesNull(body)
  return replaced(body, (stmt) => {
    const recursion = stmt.kind === 'For' ? l.recursions.get(stmt.label ?? '') : undefined
    return recursion === undefined || stmt.kind !== 'For' ? [stmt] : writtenOut(l, { recursion, loop: stmt, typeOf, sure, hasNull })
  })
}

/** A declaration with undefined as one without a value, of which it can be told whether one is given before it is read. */
function withoutUndefined(stmt: Stmt): readonly Stmt[] {
  if (stmt.kind !== 'Let' || stmt.init?.kind !== 'Literal' || stmt.init.value !== undefined) return [stmt]
  return [{ kind: 'Let', local: stmt.local, span: stmt.span }]
}

interface Written {
  readonly recursion: Recursion
  readonly loop: Loop
  readonly typeOf: TypeOf
  /** Declarations of locals that have a value wherever they are read. */
  readonly sure: ReadonlySet<Stmt>
  /** Whether some local may hold null. */
  readonly hasNull: boolean
}

/** What is known of a function while its statements are written out. */
interface Resumed extends Written {
  readonly l: Lowering
  readonly span: Span
  /** The numbers of the calls, from 1, in the order of the text, by the labels of their blocks. */
  readonly numbers: ReadonlyMap<string, number>
  /** The local with the number of the call that has returned, and 0 in a call that begins. */
  readonly site: Expr & { readonly kind: 'Local' }
  /** What a call puts onto the stack, `site` standing for its number, and the most calls. */
  readonly push: readonly Stmt[]
  readonly most: number
}

function writtenOut(l: Lowering, of: Written): readonly Stmt[] {
  const { recursion, loop, typeOf } = of
  const { result, isGiven, label } = recursion
  const { span } = loop
  const before: Stmt[] = isGiven ? [{ kind: 'Let', local: result, ...initial(typeOf, result, span), span }] : []
  const numbers = new Map<string, number>()
  visitStmts(loop.body, (stmt) => {
    if (stmt.kind === 'Labeled' && recursion.sites.has(stmt.label)) numbers.set(stmt.label, numbers.size + 1)
  })
  const [turn] = loop.body
  if (numbers.size === 0 || turn?.kind !== 'Labeled') return [...before, loop]
  const site = { kind: 'Local', name: l.newName('site'), span } as const
  const parts = { l, span, numbers, site, ...of, push: [], most: 0 }
  const declared = declarationsOf(parts, turn.body)
  const kept = keptOf(parts, turn.body, new Set([...recursion.locals, ...declared.map((stmt) => stmt.local)]))
  const stack = stackOf(l, { ...of, site, calls: numbers.size, kept })
  if (stack === undefined) return []
  const turns: Stmt = { ...turn, body: resumed({ ...parts, ...stack }, turn.body) }
  const declarations: readonly Stmt[] = [...before, ...declared, { kind: 'Let', local: site.name, init: literal(0, span), span }]
  return [...declarations, { ...loop, label, body: [turns, ...stack.pop] }]
}

/** The declarations that stand where a resumed call comes by, as they stand in front of the loop. */
function declarationsOf(of: Resumed, stmts: readonly Stmt[]): Extract<Stmt, { readonly kind: 'Let' }>[] {
  return flat(of, stmts).flatMap((stmt) => {
    if (stmt.kind === 'Let') {
      const init = stmt.init?.kind === 'Literal' ? { init: stmt.init } : initial(of.typeOf, stmt.local, stmt.span)
      return { kind: 'Let', local: stmt.local, ...init, span: stmt.span } as const
    }
    const isOnWay = lastIn(of, [stmt]) !== undefined && !(stmt.kind === 'Labeled' && of.numbers.has(stmt.label))
    return isOnWay ? branchesOf(stmt).flatMap((branch) => declarationsOf(of, branch)) : []
  })
}

/** The value that a local is declared with where another is given to it before it is read: none where it may be null. */
function initial(typeOf: TypeOf, local: string, span: Span): { readonly init?: Expr } {
  const found = typeOf({ kind: 'Local', name: local, span })
  if (found === undefined || found.nullable) return {}
  const { type } = found
  const values: Partial<Record<string, Primitive>> = { bool: false, utf8: '', i64: 0n }
  const value = isNumberType(type) ? 0 : values[type.kind]
  return value === undefined ? {} : { init: literal(value, span) }
}

/** The statements with what a loop on the way to a call begins with in front of it. */
function flat(of: Resumed, stmts: readonly Stmt[]): readonly Stmt[] {
  return stmts.flatMap((stmt) => (stmt.kind === 'For' && lastIn(of, [stmt]) !== undefined ? [...stmt.init, { ...stmt, init: [] }] : [stmt]))
}

function branchesOf(stmt: Stmt): readonly (readonly Stmt[])[] {
  return stmt.kind === 'If' ? [stmt.then, stmt.else] : stmt.kind === 'For' || stmt.kind === 'Labeled' ? [stmt.body] : []
}

/** The highest number of a call among the statements; undefined where there is none. */
function lastIn(of: Resumed, stmts: readonly Stmt[]): number | undefined {
  let last: number | undefined
  visitStmts(stmts, (stmt) => {
    if (stmt.kind === 'Labeled') last = of.numbers.get(stmt.label) ?? last
  })
  return last
}

/** The locals whose values may be read after some call, in the order of their declarations. */
function keptOf(of: Resumed, stmts: readonly Stmt[], locals: ReadonlySet<string>): readonly string[] {
  const kept = new Set<string>()
  const walk = (inner: readonly Stmt[], behind: ReadonlySet<string>): void => {
    let after = behind
    const list = flat(of, inner)
    for (const [i, stmt] of [...list.entries()].reverse()) {
      if (stmt.kind === 'Labeled' && of.numbers.has(stmt.label)) {
        const [given] = changedIn(list.slice(i + 1, i + 2))
        for (const local of after) if (local !== given) kept.add(local)
      } else if (lastIn(of, [stmt]) !== undefined) {
        // another turn of a loop declares its locals anew
        const turns = stmt.kind === 'For' ? readBy([stmt], declaredIn([stmt])) : []
        for (const branch of branchesOf(stmt)) walk(branch, new Set([...after, ...turns]))
      }
      after = readBefore(stmt, after)
    }
  }
  walk(stmts, new Set())
  return [...locals].filter((local) => kept.has(local))
}

/** The locals that may be read from in front of a statement on, of those that may be read behind it. What is assigned may be jumped over. */
function readBefore(stmt: Stmt, after: ReadonlySet<string>): ReadonlySet<string> {
  if (stmt.kind !== 'Let') return new Set([...after, ...readBy([stmt], declaredIn([stmt]))])
  const before = new Set(after)
  before.delete(stmt.local)
  // what is kept and never read, as the value of a call, reads nothing
  const isUnread = stmt.init?.kind === 'Local' && !after.has(stmt.local)
  return isUnread ? before : new Set([...before, ...readBy([stmt])])
}

function declaredIn(stmts: readonly Stmt[]): ReadonlySet<string> {
  const found = new Set<string>()
  visitStmts(stmts, (stmt) => void (stmt.kind === 'Let' && found.add(stmt.local)))
  return found
}

function readBy(stmts: readonly Stmt[], but: ReadonlySet<string> = new Set()): readonly string[] {
  return [...localsRead(stmts)].filter((local) => !but.has(local))
}

/** The statements such that a call that is resumed comes to its place by them, and runs nothing before it. */
function resumed(of: Resumed, stmts: readonly Stmt[]): Stmt[] {
  const { site, span } = of
  const list = flat(of, stmts)
  const last = list.findLastIndex((stmt) => lastIn(of, [stmt]) !== undefined)
  const isBegun = binary('===', site, literal(0, span), span)
  const out: Stmt[] = []
  let plain: Stmt[] = []
  for (const [i, stmt] of list.entries()) {
    const highest = lastIn(of, [stmt])
    if (highest === undefined) {
      const own = stmt.kind === 'Let' ? declared(of, stmt) : [stmt]
      if (i > last) out.push(...own)
      else plain.push(...own)
      continue
    }
    const isCall = stmt.kind === 'Labeled' && of.numbers.has(stmt.label)
    const first = isCall ? [...plain, ...begunCall(of, stmt)] : plain
    // biome-ignore lint/suspicious/noThenProperty: the IR's own name for the branch
    if (first.length > 0) out.push({ kind: 'If', test: isBegun, then: first, else: [], span })
    plain = []
    const way = isCall ? [assign(site, literal(0, span))] : onWay(of, stmt, isBegun)
    // biome-ignore lint/suspicious/noThenProperty: the IR's own name for the branch
    if (i < last) out.push({ kind: 'If', test: binary('<=', site, literal(highest, span), span), then: way, else: [], span })
    else out.push(...way)
  }
  return out
}

/** What is left of a declaration whose local is declared in front of the loop. The result that a call has given is not that of its caller. */
function declared({ sure, recursion }: Resumed, stmt: Extract<Stmt, { readonly kind: 'Let' }>): Stmt[] {
  const { local, init, span } = stmt
  if (init === undefined && sure.has(stmt)) return []
  const value = init ?? literal(undefined, span)
  const isOfCall = !recursion.isGiven && [...recursion.sites.values()].includes(local)
  const anew: Stmt[] = isOfCall ? [{ kind: 'Assign', local: recursion.result, value: literal(undefined, span), span }] : []
  return [{ kind: 'Assign', local, value, span }, ...anew]
}

/** A call: those under way are put onto the stack, and the function begins anew. */
function begunCall(
  { recursion, span, push, most, numbers, site }: Resumed,
  { label: block, body }: Extract<Stmt, { kind: 'Labeled' }>,
): Stmt[] {
  const { label, depth } = recursion
  const number = numbers.get(block) ?? 0
  const start = [...body.filter((one) => !isOwn(one)), { kind: 'Continue', label, span } as const]
  return [
    ...isFull(recursion, most, span),
    ...push.map((one) => (one.kind === 'Write' && one.value === site ? { ...one, value: literal(number, span) } : one)),
    oneDeeper(depth, span),
    ...start,
  ]
}

/** A statement on the way to calls. A resumed call comes to it only if its place is in it. */
function onWay(of: Resumed, stmt: Stmt, isBegun: Expr): Stmt[] {
  const { site, span, recursion } = of
  const isResumed = binary('!==', site, literal(0, span), span)
  switch (stmt.kind) {
    case 'Labeled':
      return [{ ...stmt, body: resumed(of, stmt.body) }]
    case 'If': {
      const [then, other] = [lastIn(of, stmt.then), lastIn(of, stmt.else)]
      const inThen = binary('<=', site, literal(then, span), span)
      const test =
        then === undefined
          ? logical('&&', isBegun, stmt.test, span)
          : other === undefined
            ? logical('||', isResumed, stmt.test, span)
            : logical('||', logical('&&', isBegun, stmt.test, span), logical('&&', isResumed, inThen, span), span)
      const branch = (stmts: readonly Stmt[], hasCalls: boolean): readonly Stmt[] => (hasCalls ? resumed(of, stmts) : stmts)
      // biome-ignore lint/suspicious/noThenProperty: the IR's own name for the branch
      return [{ ...stmt, test, then: branch(stmt.then, then !== undefined), else: branch(stmt.else, other !== undefined) }]
    }
    case 'For': {
      const { counted: _, test, ...loop } = stmt
      if (lastIn(of, stmt.update) !== undefined) {
        of.l.refuse('recursive', recursion.node, recursion.name)
        return []
      }
      return [{ ...loop, ...(test === undefined ? {} : { test: logical('||', isResumed, test, span) }), body: resumed(of, stmt.body) }]
    }
    default:
      throw new Error('only statements with others inside are on the way to a call')
  }
}
