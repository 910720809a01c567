/**
 * Taint analysis for a slice: it runs before its loop, so it cannot know values of arrays that the loop changes, random numbers, and
 * whatever follows from them.
 *
 * A local depends on a change when some assignment gives it such a value, or may be passed over because of one: behind a
 * guard that depends on it, or behind a jump under such a guard. Places do not count, only assignments: a local that depends
 * on a change somewhere does so everywhere.
 */
import { childrenOf, type Expr, type FunctionIr, type Stmt, visitStmts } from '../../../core/ir/functionIr.ts'
import type { LoopSpec } from '../../../core/loop/loopSpec.ts'
import type { Span } from '../../../core/span.ts'

/** A value that the slice cannot know; `what` follows on "depends on" in messages. */
export interface Change {
  readonly what: string
  readonly cure: string
  readonly span: Span
}

type For = Extract<Stmt, { kind: 'For' }>

/** A loop or labeled block around a statement, and the number of unknown guards outside of it. */
interface Scope {
  readonly stmt: Extract<Stmt, { kind: 'For' | 'Labeled' }>
  readonly guards: number
}

export class Changes {
  readonly #spec: LoopSpec
  readonly #changed: ReadonlySet<number>
  readonly #locals = new Map<string, Change>()
  readonly #turns = new Map<For, Change>()
  readonly #jumps = new Set<Stmt>()
  #grew = true

  constructor(spec: LoopSpec, ir: FunctionIr, changed: ReadonlySet<number>) {
    this.#spec = spec
    this.#changed = changed
    while (this.#grew) {
      this.#grew = false
      this.#walk(ir.body, [], [])
    }
  }

  /** Returns what the slice cannot know in the value of an expression; undefined where it knows the value. */
  of(expr: Expr): Change | undefined {
    const own = this.#ofNode(expr)
    if (own !== undefined) return own
    for (const child of childrenOf(expr)) {
      const found = this.of(child)
      if (found !== undefined) return found
    }
    return undefined
  }

  /** Returns what the slice cannot know in the iteration count of an inner loop; undefined where it knows the count. */
  ofTurns(stmt: For): Change | undefined {
    return this.#turns.get(stmt) ?? (stmt.test === undefined ? undefined : this.of(stmt.test))
  }

  /** Whether the slice cannot know that a `break` or `continue` that it reaches is taken. */
  isUncertain(jump: Stmt): boolean {
    return this.#jumps.has(jump)
  }

  #ofNode(expr: Expr): Change | undefined {
    switch (expr.kind) {
      case 'Local':
        return this.#locals.get(expr.name)
      case 'Read':
      case 'Has': {
        const array = arrayNamed(this.#spec, expr.array)
        if (array === undefined || !this.#changed.has(array)) return undefined
        return change(`${expr.span.text}, and the loop changes ${expr.array}`, expr.span)
      }
      case 'Input': {
        const { array } = this.#spec.over
        if (array === undefined || !this.#changed.has(array)) return undefined
        return change('the element iterated over, and the loop replaces it', expr.span)
      }
      case 'Draw':
        return change(`${expr.span.text}, a random number`, expr.span)
      default:
        return undefined
    }
  }

  #walk(stmts: readonly Stmt[], guards: readonly Change[], scopes: readonly Scope[]): void {
    for (const stmt of stmts) this.#visit(stmt, guards, scopes)
  }

  #visit(stmt: Stmt, guards: readonly Change[], scopes: readonly Scope[]): void {
    switch (stmt.kind) {
      case 'Let':
        if (stmt.init !== undefined) this.#learn(stmt.local, this.of(stmt.init))
        return
      case 'Assign':
        this.#learn(stmt.local, this.of(stmt.value))
        return
      case 'If': {
        const found = this.of(stmt.test)
        for (const branch of [stmt.then, stmt.else]) {
          if (found !== undefined) this.#passedOver(branch, found)
          this.#walk(branch, found === undefined ? guards : [...guards, found], scopes)
        }
        return
      }
      case 'For': {
        // Under an unknown guard, nothing tells that an uncounted loop ends.
        if (stmt.counted === undefined && guards[0] !== undefined) this.#countless(stmt, guards[0])
        const found = this.ofTurns(stmt)
        const inner = found === undefined ? guards : [...guards, found]
        if (found !== undefined) this.#passedOver([...stmt.body, ...stmt.update], found)
        this.#walk(stmt.init, guards, scopes)
        this.#walk([...stmt.body, ...stmt.update], inner, [...scopes, { stmt, guards: guards.length }])
        return
      }
      case 'Labeled':
        this.#walk(stmt.body, guards, [...scopes, { stmt, guards: guards.length }])
        return
      case 'Break':
      case 'Continue':
      case 'Return':
      case 'Throw':
        this.#jump(stmt, guards, scopes)
        return
      case 'Write':
      case 'Add':
      case 'Accumulate':
      case 'Evaluate':
        return
    }
  }

  /** Records a jump under an unknown guard, which may be taken or not. */
  #jump(
    jump: Extract<Stmt, { kind: 'Break' | 'Continue' | 'Return' | 'Throw' }>,
    guards: readonly Change[],
    scopes: readonly Scope[],
  ): void {
    const at = jump.kind === 'Return' || jump.kind === 'Throw' ? -1 : targetOf(jump, scopes)
    const target = scopes[at]
    const change = guards[target?.guards ?? 0]
    if (change === undefined) return
    this.#jumps.add(jump)
    for (const { stmt } of scopes.slice(at + 1)) if (stmt.kind === 'For' && stmt.counted === undefined) this.#countless(stmt, change)
    if (target === undefined) return
    if (target.stmt.kind === 'For' && jump.kind === 'Break') this.#countless(target.stmt, change)
    this.#passedOver(target.stmt.body, change)
  }

  #countless(stmt: For, change: Change): void {
    if (this.#turns.has(stmt)) return
    this.#turns.set(stmt, change)
    this.#grew = true
  }

  /** Taints the outer locals that these statements assign, since they may run or not. */
  #passedOver(stmts: readonly Stmt[], change: Change): void {
    const declared = new Set<string>()
    visitStmts(stmts, (stmt) => {
      if (stmt.kind === 'Let') declared.add(stmt.local)
    })
    visitStmts(stmts, (stmt) => {
      if (stmt.kind === 'Assign' && !declared.has(stmt.local)) this.#learn(stmt.local, change)
    })
  }

  #learn(local: string, change: Change | undefined): void {
    if (change === undefined || this.#locals.has(local)) return
    this.#locals.set(local, change)
    this.#grew = true
  }
}

function targetOf(jump: Extract<Stmt, { kind: 'Break' | 'Continue' }>, scopes: readonly Scope[]): number {
  return scopes.findLastIndex(({ stmt }) => (jump.label === undefined ? stmt.kind === 'For' : stmt.label === jump.label))
}

const CURE = 'Compute what decides it before the loop, into an array that the loop only reads.'

function change(what: string, span: Span): Change {
  return { what, cure: CURE, span }
}

/** Returns the identity of an array or a buffer by the name that the body uses; undefined for any other name. */
export function arrayNamed(spec: LoopSpec, name: string): number | undefined {
  const binding = spec.env[name]
  return binding?.kind === 'array' || binding?.kind === 'buffer' ? binding.array : undefined
}

/** Returns the identities of the arrays that the loop changes in any way, update buffers included. */
export function changedArrays(spec: LoopSpec, ir: FunctionIr): Set<number> {
  const changed = new Set<number>()
  visitStmts(ir.body, (stmt) => {
    const array = stmt.kind === 'Write' || stmt.kind === 'Add' ? arrayNamed(spec, stmt.array) : undefined
    if (array !== undefined) changed.add(array)
    if (stmt.kind === 'Return' && stmt.value !== undefined && spec.over.array !== undefined) changed.add(spec.over.array)
  })
  return changed
}
