/**
 * The subscript slice: the part of a body that decides which elements of some arrays an iteration touches.
 *
 *     let sum = b.get(i)                                        const last = first.get(i + 1) - 1
 *     const last = first.get(i + 1) - 1                         for (let e = first.get(i); e < last; e++) x.get(below.get(e))
 *     for (let e = first.get(i); e < last; e++)          ->     x.set(i, 0)
 *       sum -= a.get(e) * x.get(below.get(e))
 *     x.set(i, sum)
 *
 * The slice is IR itself: the accesses are left as reads without a use and as writes of 0, with the locals, tests and
 * loops that decide on them; chains as `x[map[j]]` come along with the subscripts. It touches every element that the
 * body touches in the same iteration. It can touch more in these cases only:
 *
 *     a guard that depends on a value that the loop itself changes is dropped: both branches count as taken
 *     an iteration that throws touches what it would have touched had it gone on
 *     returning undefined or null counts as replacing the element
 *
 * There is no slice where a subscript, or the trip count of an inner loop, depends on a value that the loop changes, or on
 * a random number: the slice must be able to run before the loop does.
 */
import { childrenOf, type Expr, expressionsOf, type FunctionIr, type Stmt, visitExpr, visitStmts } from '../../../core/ir/functionIr.ts'
import type { LoopSpec, SubscriptSlice } from '../../../core/loop/loopSpec.ts'
import type { Refusal } from '../../../core/span.ts'
import { iteratedName } from '../accesses/accesses.ts'
import { pruned } from './slicePruning.ts'
import { arrayNamed, Changes, changedArrays } from './sliceSources.ts'

export interface NoSlice {
  readonly kind: 'none'
  readonly because: Refusal
}

/** Returns the slice for the arrays of these identities, or the reason why there is none. */
export function sliceOf(spec: LoopSpec, ir: FunctionIr, arrays: ReadonlySet<number>): SubscriptSlice | NoSlice {
  try {
    return new Slicer(spec, ir, arrays).slice()
  } catch (error) {
    if (error instanceof Unsliceable) return { kind: 'none', because: error.because }
    throw error
  }
}

class Unsliceable extends Error {
  readonly because: Refusal
  constructor(because: Refusal) {
    super(because.message)
    this.because = because
  }
}

class Slicer {
  readonly #spec: LoopSpec
  readonly #ir: FunctionIr
  readonly #arrays: ReadonlySet<number>
  readonly #changes: Changes
  readonly #element: string
  readonly #touched = new Map<string, number>()
  #exact = true
  /** Number of enclosing inner loops that may go on until a read throws. */
  #endless = 0

  constructor(spec: LoopSpec, ir: FunctionIr, arrays: ReadonlySet<number>) {
    this.#spec = spec
    this.#ir = ir
    this.#arrays = arrays
    this.#changes = new Changes(spec, ir, changedArrays(spec, ir))
    this.#element = elementName(spec)
  }

  slice(): SubscriptSlice {
    const start = this.#readsElement() ? [this.#elementTouch('read')] : []
    const body = pruned([...start, ...this.#block(this.#ir.body, false)])
    return { kind: 'slice', ir: { ...this.#ir, body, uses: this.#usesOf(body) }, touched: this.#touched, exact: this.#exact }
  }

  /** Slices statements. `uncertain`: they stand under a guard that was dropped, where a jump counts as not taken. */
  #block(stmts: readonly Stmt[], uncertain: boolean): Stmt[] {
    return stmts.flatMap((stmt) => this.#stmt(stmt, uncertain))
  }

  #stmt(stmt: Stmt, uncertain: boolean): Stmt[] {
    switch (stmt.kind) {
      case 'Let':
        if (stmt.init === undefined) return [stmt]
        return [...this.#effects(stmt.init), ...(this.#changes.of(stmt.init) === undefined ? [stmt] : [])]
      case 'Assign':
        return [...this.#effects(stmt.value), ...(this.#changes.of(stmt.value) === undefined ? [stmt] : [])]
      case 'Write':
      case 'Add': {
        const inside = [...stmt.subscripts, stmt.value].flatMap((expr) => this.#effects(expr))
        const array = this.#watched(stmt.array)
        if (array === undefined) return inside
        return [...inside, this.#touch(stmt.array, array, stmt.subscripts, { ...stmt, kind: 'Write', value: zero(stmt) })]
      }
      case 'Accumulate':
      case 'Evaluate':
        return this.#effects(stmt.value)
      case 'If': {
        const dropped = this.#changes.of(stmt.test) !== undefined
        const [whenTrue, whenFalse] = [this.#block(stmt.then, uncertain || dropped), this.#block(stmt.else, uncertain || dropped)]
        if (dropped) {
          if (whenTrue.length + whenFalse.length > 0 || leaves(stmt)) this.#exact = false
          return [...this.#touches(stmt.test), ...whenTrue, ...whenFalse]
        }
        // biome-ignore lint/suspicious/noThenProperty: the IR's own word
        return [...this.#touches(stmt.test), { ...stmt, then: whenTrue, else: whenFalse }]
      }
      case 'For':
        return this.#loop(stmt, uncertain)
      case 'Labeled':
        return [{ ...stmt, body: this.#block(stmt.body, uncertain) }]
      case 'Break':
      case 'Continue':
        return this.#changes.isUncertain(stmt) ? [] : [stmt]
      case 'Return': {
        const touches = stmt.value === undefined ? [] : [...this.#touches(stmt.value), ...this.#elementWrite()]
        return uncertain ? touches : [...touches, { kind: 'Return', span: stmt.span }]
      }
      case 'Throw': {
        const touches = stmt.message === undefined ? [] : this.#touches(stmt.message)
        return uncertain ? touches : [...touches, { kind: 'Return', span: stmt.span }]
      }
    }
  }

  /** Slices an inner loop; one whose number of iterations the slice cannot know is dropped, or refused if it has an access. */
  #loop(stmt: Extract<Stmt, { kind: 'For' }>, uncertain: boolean): Stmt[] {
    const change = this.#changes.ofTurns(stmt)
    if (change === undefined) {
      const init = this.#block(stmt.init, uncertain)
      const open = stmt.counted === undefined ? 1 : 0
      this.#endless += open
      const [body, update] = [this.#block(stmt.body, uncertain), this.#block(stmt.update, uncertain)]
      this.#endless -= open
      const tested = stmt.test === undefined ? [] : this.#touches(stmt.test)
      return [tested.length === 0 ? { ...stmt, init, body, update } : testedLoop({ ...stmt, init, body, update }, tested)]
    }
    if (this.#touchesSomething(stmt)) throw new Unsliceable(refusalOf('How often an inner loop turns', change))
    return []
  }

  /** Returns the accesses within an expression; in uncounted loops also the reads that may end them by throwing. */
  #effects(expr: Expr): Stmt[] {
    const touches = this.#touches(expr)
    if (this.#endless === 0) return touches
    visitExpr(expr, (node) => {
      if (
        node.kind === 'Read' &&
        this.#watched(node.array) === undefined &&
        node.subscripts.every((k) => this.#changes.of(k) === undefined)
      ) {
        touches.push({ kind: 'Evaluate', value: node, span: node.span })
      }
    })
    return touches
  }

  /** Returns the accesses within an expression, under the tests that decide on them. */
  #touches(expr: Expr): Stmt[] {
    switch (expr.kind) {
      case 'Read':
      case 'Has': {
        const inside = expr.subscripts.flatMap((subscript) => this.#touches(subscript))
        const array = this.#watched(expr.array)
        if (array === undefined) return inside
        return [...inside, this.#touch(expr.array, array, expr.subscripts, { kind: 'Evaluate', value: expr, span: expr.span })]
      }
      case 'Conditional':
        return [...this.#touches(expr.test), ...this.#branch(expr.test, this.#touches(expr.then), this.#touches(expr.else))]
      case 'Logical': {
        const right = this.#touches(expr.right)
        const test: Expr = expr.operator === '??' ? isNothing(expr.left) : expr.left
        const [whenTrue, whenFalse] = expr.operator === '||' ? [[], right] : [right, []]
        return [...this.#touches(expr.left), ...this.#branch(test, whenTrue, whenFalse)]
      }
      default:
        return childrenOf(expr).flatMap((child) => this.#touches(child))
    }
  }

  #branch(test: Expr, whenTrue: Stmt[], whenFalse: Stmt[]): Stmt[] {
    if (whenTrue.length + whenFalse.length === 0) return []
    if (this.#changes.of(test) === undefined) {
      // biome-ignore lint/suspicious/noThenProperty: the IR's own word
      return [{ kind: 'If', test, then: whenTrue, else: whenFalse, span: test.span }]
    }
    this.#exact = false
    return [...whenTrue, ...whenFalse]
  }

  #touch(name: string, array: number, subscripts: readonly Expr[], touch: Stmt): Stmt {
    for (const subscript of subscripts) {
      const change = this.#changes.of(subscript)
      if (change !== undefined) throw new Unsliceable(refusalOf(`A subscript of ${name}`, change))
    }
    this.#touched.set(name, array)
    return touch
  }

  #watched(name: string): number | undefined {
    const array = arrayNamed(this.#spec, name)
    return array !== undefined && this.#arrays.has(array) ? array : undefined
  }

  #elementWrite(): Stmt[] {
    const { array } = this.#spec.over
    return array !== undefined && this.#arrays.has(array) ? [this.#elementTouch('write')] : []
  }

  /** Whether the body uses the element iterated over, which is read when the iteration starts. */
  #readsElement(): boolean {
    const { array } = this.#spec.over
    if (array === undefined || !this.#arrays.has(array)) return false
    let reads = false
    visitStmts(this.#ir.body, (stmt) => {
      for (const expr of expressionsOf(stmt)) visitExpr(expr, (node) => (reads ||= node.kind === 'Input'))
    })
    return reads
  }

  #elementTouch(how: 'read' | 'write'): Stmt {
    const { array = -1, rank } = this.#spec.over
    const { span } = this.#ir
    this.#touched.set(this.#element, array)
    const subscripts = Array.from({ length: rank }, (_, axis): Expr => ({ kind: 'Key', axis, span }))
    if (how === 'write') return { kind: 'Write', array: this.#element, subscripts, value: zero({ span }), span }
    return { kind: 'Evaluate', value: { kind: 'Read', array: this.#element, subscripts, span }, span }
  }

  #touchesSomething(stmt: Stmt): boolean {
    let found = false
    visitStmts([stmt], (inner) => {
      if ((inner.kind === 'Write' || inner.kind === 'Add') && this.#watched(inner.array) !== undefined) found = true
      if (inner.kind === 'Return' && inner.value !== undefined && this.#elementWrite().length > 0) found = true
      for (const expr of expressionsOf(inner)) {
        visitExpr(expr, (node) => {
          if ((node.kind === 'Read' || node.kind === 'Has') && this.#watched(node.array) !== undefined) found = true
        })
      }
    })
    return found
  }

  #usesOf(body: readonly Stmt[]): FunctionIr['uses'] {
    const names = new Set<string>()
    visitStmts(body, (stmt) => {
      if (stmt.kind === 'Write') names.add(stmt.array)
      for (const expr of expressionsOf(stmt)) {
        visitExpr(expr, (node) => {
          if (node.kind === 'Read' || node.kind === 'Has' || node.kind === 'Extent') names.add(node.array)
        })
      }
    })
    return this.#ir.uses.filter(({ name, kind }) => (kind === 'array' || kind === 'buffer') && names.has(name))
  }
}

/** An inner loop with what its test touches: before the first turn, unless that comes before any test, and after each. */
function testedLoop({ counted: _, ...stmt }: Extract<Stmt, { kind: 'For' }>, tested: readonly Stmt[]): Stmt {
  return { ...stmt, init: stmt.doWhile ? stmt.init : [...stmt.init, ...tested], update: [...stmt.update, ...tested] }
}

/** Returns a name for the element iterated over that no other array has. */
function elementName(spec: LoopSpec): string {
  let name = iteratedName(spec)
  while (spec.env[name] !== undefined && arrayNamed(spec, name) !== spec.over.array) name = `${name}'`
  return name
}

function refusalOf(what: string, change: { readonly what: string; readonly cure: string; readonly span: Expr['span'] }): Refusal {
  return { code: 'no-subscript-slice', message: `${what} depends on ${change.what}`, cure: change.cure, span: change.span }
}

function zero({ span }: Pick<Expr, 'span'>): Expr {
  return { kind: 'Literal', value: 0, span }
}

function isNothing(expr: Expr): Expr {
  return { kind: 'Binary', operator: '==', left: expr, right: { kind: 'Literal', value: null, span: expr.span }, span: expr.span }
}

function leaves(stmt: Stmt): boolean {
  let found = false
  visitStmts([stmt], ({ kind }) => {
    if (kind === 'Break' || kind === 'Continue' || kind === 'Return' || kind === 'Throw') found = true
  })
  return found
}
