/**
 * Collects every access of a body to an array: which array, which element, under which conditions.
 *
 * A walk over the IR in the order it runs, following locals (`const j = i + 1` leaves no trace) and guards. An access
 * that may not happen is reported as one that does; a subscript without affine form is unknown in its axis only.
 */
import { childrenOf, type Expr, expressionsOf, type FunctionIr, type Stmt, visitExpr, visitStmts } from '../../../core/ir/functionIr.ts'
import type { LoopSpec } from '../../../core/loop/loopSpec.ts'
import type { Span } from '../../../core/span.ts'
import { type Constraint, constantForm, type Form, isDecided, rangeOf, sum, type Variable, variableForm } from './affine.ts'
import { EXTREMES, extentForm, extreme, keyForm, MOST_TURNS, stepped } from './axisForms.ts'
import { assignedIn, type Doubt, doubted, joined, mayLeave, START, type State, type Turn, under, withLocal, withoutLocals } from './flow.ts'
import { type Choice, formOf, type Scope, wholeForm } from './formOf.ts'
import { below, equal, type Guard, guardOf, oneOf } from './guards.ts'

export type Subscript =
  /** `text` is the source, for printing, where the form has quotients. */
  | { readonly kind: 'affine'; readonly form: Form; readonly text?: string }
  /** Any integer. `reads` is the array in env that the value is read from, as `next` in `A.set(next.get(i), x)`. */
  | { readonly kind: 'unknown'; readonly text: string; readonly reads?: string }

export interface Access {
  /** Identity of the array, whatever its name. */
  readonly array: number
  readonly name: string
  readonly mode: 'read' | 'write' | 'add'
  readonly subscripts: readonly Subscript[]
  readonly span: Span
  /** Whether the access goes through an update buffer: reads see the last flush, adds apply at the next. */
  readonly buffered: boolean
  /** Constraints that hold whenever the access happens. */
  readonly constraints: readonly Constraint[]
  /** Whether the access happens whenever the constraints hold. */
  readonly exact: boolean
  /** Index of the statement in the body; -1 for the element iterated over, which is read before the first. */
  readonly statement: number
  /** Other things that decide on whether the access happens; none where it is exact. */
  readonly doubts: readonly Doubt[]
  /** The counted inner loops around the access, outermost first. */
  readonly turns: readonly Turn[]
}

/** Returns the name that stands for the iterated array: that in `env`, or the label where it has none. */
export function iteratedName(spec: LoopSpec): string {
  const { array, label } = spec.over
  const named = Object.entries(spec.env).find(([, binding]) => binding.kind === 'array' && binding.array === array)
  return named?.[0] ?? label
}

/** Whether the body returns a value somewhere, which replaces the element iterated over. */
export function returnsValue(ir: FunctionIr): boolean {
  let returns = false
  visitStmts(ir.body, (stmt) => {
    if (stmt.kind === 'Return' && stmt.value !== undefined) returns = true
  })
  return returns
}

/** Returns all accesses of a lowered body, in the order of the walk; one place in the source may appear more than once. */
export function accessesOf(spec: LoopSpec, ir: FunctionIr): Access[] {
  const walk = new BodyWalk(spec, ir)
  const value = valueIn(ir)
  // The value is read when the iteration starts, wherever the body uses it.
  if (value !== undefined) walk.element('read', value.span, START)
  walk.body(ir.body)
  return walk.accesses
}

/** Returns the first expression that uses the element iterated over; undefined where none does. */
function valueIn(ir: FunctionIr): Expr | undefined {
  let value: Expr | undefined
  visitStmts(ir.body, (stmt) => {
    for (const expr of expressionsOf(stmt)) {
      visitExpr(expr, (node) => {
        if (node.kind === 'Input' && node.argument === 0) value ??= node
      })
    }
  })
  return value
}

class BodyWalk {
  readonly accesses: Access[] = []
  private readonly spec: LoopSpec
  private readonly parameters: ReadonlyMap<string, FunctionIr['parameters'][number]['value']>
  private readonly distinct: ReadonlySet<string>
  private readonly definitions: ReadonlyMap<string, Expr>
  private variables = 0
  private at = -1
  /** States at the `break`s out of each labeled block that is open. */
  private readonly exits = new Map<string, State[]>()

  constructor(spec: LoopSpec, ir: FunctionIr) {
    this.spec = spec
    this.parameters = new Map(ir.parameters.map((parameter) => [parameter.name, parameter.value]))
    this.distinct = distinctArrays(spec, ir)
    this.definitions = definitionsOf(ir)
  }

  body(stmts: readonly Stmt[]): void {
    let state: State | undefined = START
    for (const [at, stmt] of stmts.entries()) {
      this.at = at
      if (state !== undefined) state = this.statement(stmt, state)
    }
  }

  /** Walks statements from a state to the state after them; undefined where their end is never reached. */
  statements(stmts: readonly Stmt[], before: State): State | undefined {
    let state: State | undefined = before
    for (const stmt of stmts) {
      if (state === undefined) return undefined
      state = this.statement(stmt, state)
    }
    return state
  }

  private statement(stmt: Stmt, state: State): State | undefined {
    switch (stmt.kind) {
      case 'Let':
        if (stmt.init === undefined) return withLocal(state, stmt.local, undefined)
        this.expression(stmt.init, state)
        return withLocal(state, stmt.local, formOf(stmt.init, this.scope(state)))
      case 'Assign':
        this.expression(stmt.value, state)
        return withLocal(state, stmt.local, formOf(stmt.value, this.scope(state)))
      case 'Write':
      case 'Add':
        for (const expr of [...stmt.subscripts, stmt.value]) this.expression(expr, state)
        this.record(stmt.array, stmt.kind === 'Add' ? 'add' : 'write', stmt.subscripts, stmt.span, state)
        return state
      case 'Accumulate':
      case 'Evaluate':
        this.expression(stmt.value, state)
        return state
      case 'If':
        return this.branch(stmt, state)
      case 'For':
        return this.loop(stmt, state)
      case 'Labeled': {
        const exits: State[] = []
        this.exits.set(stmt.label, exits)
        const end = this.statements(stmt.body, state)
        this.exits.delete(stmt.label)
        return joined(state, [end, ...exits], !leavesBeyond(stmt.body, stmt.label))
      }
      case 'Break':
        if (stmt.label !== undefined) this.exits.get(stmt.label)?.push(state)
        return undefined
      case 'Continue':
        return undefined
      case 'Return':
        if (stmt.value !== undefined) {
          this.expression(stmt.value, state)
          this.element('write', stmt.span, state)
        }
        return undefined
      case 'Throw':
        if (stmt.message !== undefined) this.expression(stmt.message, state)
        return undefined
    }
  }

  private branch(stmt: Extract<Stmt, { kind: 'If' }>, state: State): State | undefined {
    this.expression(stmt.test, state)
    const whenTrue = this.statements(stmt.then, under(state, guardOf(stmt.test, true, this.scope(state))))
    const whenFalse = this.statements(stmt.else, under(state, guardOf(stmt.test, false, this.scope(state))))
    return joined(state, [whenTrue, whenFalse], !mayLeave(stmt.then) && !mayLeave(stmt.else))
  }

  /**
   * Walks a loop. Inside it nothing is known of the locals it assigns, except that the index of a counted loop runs over its range. After
   * it, nothing is known of them either.
   */
  private loop(stmt: Extract<Stmt, { kind: 'For' }>, before: State): State {
    const started = this.statements(stmt.init, before) ?? before
    const assigned = assignedIn([...stmt.body, ...stmt.update])
    const anyTurn: State = { ...withoutLocals(started, assigned), doubts: doubted(started) }
    if (stmt.test !== undefined) this.expression(stmt.test, anyTurn)
    const turn = this.countedTurn(stmt, started, assigned) ?? anyTurn
    this.statements(stmt.body, turn)
    this.statements(stmt.update, { ...anyTurn, turns: turn.turns })
    const outer = new Set([...before.locals.keys()].filter((name) => !assigned.has(name)))
    return {
      ...before,
      locals: new Map([...started.locals].filter(([name]) => outer.has(name))),
      doubts: mayLeave(stmt.body) ? doubted(before) : before.doubts,
    }
  }

  /** Returns the state in one iteration of a counted loop, whose index lies between its bounds; undefined for other loops. */
  private countedTurn(stmt: Extract<Stmt, { kind: 'For' }>, started: State, assigned: ReadonlySet<string>): State | undefined {
    const counted = stmt.counted
    if (counted === undefined || stmt.doWhile) return undefined
    const { local, step } = counted
    const from = wholeForm(counted.from, this.scope(started))
    if (from === undefined) return undefined
    const to = wholeForm(counted.to, this.scope(withoutLocals(started, assigned)))
    const up = step > 0
    const [low, high] = rangeOf(from)
    const [lowEnd, highEnd] = to === undefined ? [low + step * MOST_TURNS, high + step * MOST_TURNS] : rangeOf(to)
    const running = this.inner(local, up ? [low, highEnd - 1] : [lowEnd + 1, high])
    const index = variableForm(running)
    const least = up ? below(from, index, 0) : below(index, from, 0)
    const end = to === undefined ? [] : up ? below(index, to, 1) : below(to, index, 1)
    const turns = Math.abs(step) === 1 ? undefined : this.inner(`turns of ${local}`, [0, MOST_TURNS])
    const steps = turns === undefined ? [] : stepped(index, from, variableForm(turns), step)
    const complete = least.length > 0 && end.length > 0 && (steps.length > 0 || Math.abs(step) === 1)
    const exact = complete && [from, to ?? from].every(isDecided) && !mayLeave(stmt.body)
    const constraints = [...least, ...end, ...steps]
    const around = withoutLocals(started, assigned)
    const within = { ...around, turns: [...around.turns, { index: running, from, step, ...(turns === undefined ? {} : { turns }) }] }
    return withLocal(under(within, { constraints, exact }), local, index)
  }

  private inner(name: string, [low, high]: readonly [number, number]): Variable {
    return { kind: 'inner', id: this.variables++, name, low, high }
  }

  /** Records the reads of an expression, in the order they happen. */
  private expression(expr: Expr, state: State): void {
    if (expr.kind === 'Conditional' || expr.kind === 'Logical') {
      this.choice(expr, state)
      return
    }
    for (const child of childrenOf(expr)) this.expression(child, state)
    if (expr.kind === 'Read' || expr.kind === 'Has') this.record(expr.array, 'read', expr.subscripts, expr.span, state)
  }

  private choice(expr: Extract<Expr, { kind: 'Conditional' | 'Logical' }>, state: State): void {
    const scope = this.scope(state)
    if (expr.kind === 'Conditional') {
      this.expression(expr.test, state)
      this.expression(expr.then, under(state, guardOf(expr.test, true, scope)))
      this.expression(expr.else, under(state, guardOf(expr.test, false, scope)))
      return
    }
    this.expression(expr.left, state)
    const guard = expr.operator === '??' ? { constraints: [], exact: false } : guardOf(expr.left, expr.operator === '&&', scope)
    this.expression(expr.right, under(state, guard))
  }

  private record(name: string, mode: Access['mode'], subscripts: readonly Expr[], span: Span, state: State): void {
    const binding = this.spec.env[name]
    if (binding?.kind !== 'array' && binding?.kind !== 'buffer') return
    this.accesses.push({
      array: binding.array,
      name,
      mode,
      subscripts: subscripts.map((subscript) => this.subscript(subscript, state)),
      span,
      buffered: binding.kind === 'buffer',
      constraints: state.constraints,
      exact: state.doubts.length === 0,
      statement: this.at,
      doubts: state.doubts,
      turns: state.turns,
    })
  }

  /** Records an access to the element iterated over. */
  element(mode: 'read' | 'write', span: Span, state: State): void {
    const { array, rank } = this.spec.over
    if (array === undefined) return
    const subscripts = Array.from({ length: rank }, (_, axis) => ({ kind: 'affine' as const, form: keyForm(this.spec, axis) }))
    const { constraints, doubts, turns } = state
    const name = iteratedName(this.spec)
    const exact = doubts.length === 0
    this.accesses.push({ array, name, mode, subscripts, span, buffered: false, constraints, exact, statement: this.at, doubts, turns })
  }

  private subscript(expr: Expr, state: State): Subscript {
    const form = formOf(expr, this.scope(state))
    const source = this.sourceOf(expr)
    if (form !== undefined) {
      const hasQuotients = form.terms.some(({ variable }) => variable.kind === 'quotient')
      return { kind: 'affine', form, ...(hasQuotients ? { text: source.span.text } : {}) }
    }
    return { kind: 'unknown', text: source.span.text, ...(source.kind === 'Read' ? { reads: source.array } : {}) }
  }

  /** Returns the initial value of a constant local, through others; any other expression as it is. Texts are made of it. */
  private sourceOf(expr: Expr): Expr {
    const definition = expr.kind === 'Local' ? this.definitions.get(expr.name) : undefined
    return definition === undefined ? expr : this.sourceOf(definition)
  }

  private scope(state: State): Scope {
    const { rank } = this.spec.over
    const scope: Scope = {
      keyOf: (axis) => (axis < rank ? keyForm(this.spec, axis) : undefined),
      locals: state.locals,
      parameters: this.parameters,
      extentOf: (array, axis) => extentForm(this.spec.env[array], axis),
      readOf: (array, subscripts) => {
        if (!this.distinct.has(array)) return undefined
        const at = subscripts.map((subscript) => wholeForm(subscript, scope))
        // A value too large for exact sums lies outside every array.
        return variableForm({ kind: 'distinct', id: this.variables++, array, at, low: 0, high: 0 })
      },
      choiceOf: (expr) => this.choiceForm(expr, scope),
    }
    return scope
  }

  /** Returns a variable that is one of the parts of `Math.min`, `Math.max`, `Math.abs` or `?:`; undefined where a part has no form. */
  private choiceForm(expr: Choice, scope: Scope): Form | undefined {
    const end = expr.kind === 'Conditional' ? 'any' : EXTREMES[expr.callee]
    if (end === undefined) return undefined
    const parts = (expr.kind === 'Call' ? expr.args : [expr.then, expr.else]).map((part) => wholeForm(part, scope))
    if (expr.kind === 'Call' && expr.callee === 'Math.abs') parts.push(parts[0] && sum(constantForm(0), parts[0], -1))
    const forms = parts.filter((part) => part !== undefined)
    if (forms.length === 0 || forms.length < parts.length) return undefined
    const [lows, highs] = [forms.map((form) => rangeOf(form)[0]), forms.map((form) => rangeOf(form)[1])]
    const low = end === 'greatest' ? Math.max(...lows) : Math.min(...lows)
    const high = end === 'least' ? Math.min(...highs) : Math.max(...highs)
    const how = end === 'any' ? {} : { extreme: end }
    const bare = { kind: 'choice', id: this.variables++, name: expr.span.text, parts: forms, ...how, low, high } as const
    // The constraints in `means` speak of the variable itself, which is known by its id.
    const self = variableForm({ ...bare, means: [], exact: true })
    const cases = forms.map((form, i): Guard => {
      const others = forms.filter((_, j) => j !== i)
      const guard =
        expr.kind === 'Conditional' ? guardOf(expr.test, i === 0, scope) : extreme(form, others, end === 'least' ? 'least' : 'greatest')
      const is = equal(self, form)
      return { constraints: [...guard.constraints, ...is], exact: guard.exact && is.length > 0 && isDecided(form) }
    })
    const { constraints, exact } = oneOf(cases)
    return variableForm({ ...bare, means: constraints, exact })
  }
}

/** Returns the initial values of the locals that are never assigned again. */
function definitionsOf(ir: FunctionIr): ReadonlyMap<string, Expr> {
  const definitions = new Map<string, Expr>()
  visitStmts(ir.body, (stmt) => {
    if (stmt.kind === 'Let' && stmt.init !== undefined) definitions.set(stmt.local, stmt.init)
  })
  for (const name of assignedIn(ir.body)) definitions.delete(name)
  return definitions
}

/** Whether control may leave a labeled block other than by its end or by breaking out of it. */
function leavesBeyond(stmts: readonly Stmt[], label: string): boolean {
  let leaves = false
  visitStmts(stmts, (stmt) => {
    if (stmt.kind === 'Return' || stmt.kind === 'Throw' || stmt.kind === 'Continue') leaves = true
    if (stmt.kind === 'Break' && stmt.label !== label) leaves = true
  })
  return leaves
}

/** The arrays of `assume.distinct`, without those that the body itself writes. */
function distinctArrays(spec: LoopSpec, ir: FunctionIr): ReadonlySet<string> {
  const written = new Set<number>()
  const identity = (name: string) => {
    const binding = spec.env[name]
    return binding?.kind === 'array' ? binding.array : undefined
  }
  visitStmts(ir.body, (stmt) => {
    if (stmt.kind !== 'Write' && stmt.kind !== 'Add') return
    const array = identity(stmt.array)
    if (array !== undefined) written.add(array)
  })
  if (returnsValue(ir) && spec.over.array !== undefined) written.add(spec.over.array)
  const names = spec.options.assume?.distinct ?? []
  return new Set(names.filter((name) => !written.has(identity(name) ?? -1)))
}
