/**
 * Finds how iterations change what they hand on: one operator for each carried value, or why there is none.
 *
 * Statement: where `updatesOf` gives operators, an iteration changes a carried value s by s = s op e, or s = e, with op the operator
 * and e computed without any carried value, as often as and under conditions that no carried value decides on; or, for `pick`, by
 * `if (e < s) s = e`, and the values that come `with` it at the same place. So what some iterations in a row make of s is s op E, or E.
 *
 * A walk in the order of the body. A local that holds a carried value is followed as long as the value is still that: each write ends it.
 */
import type { DType } from '../../../core/data/schema.ts'
import { type Expr, type FunctionIr, type Stmt, visitStmts } from '../../../core/ir/functionIr.ts'
import { changedIn, exprId, localsIn, someExpr } from '../../../core/ir/irFacts.ts'
import type { LoopSpec, ScanOperator } from '../../../core/loop/loopSpec.ts'
import type { Span } from '../../../core/span.ts'
import type { Carried } from './carried.ts'
import { type Class, type Classifier, classifier, type Here, sameOperator } from './classify.ts'

type Write = Extract<Stmt, { kind: 'Write' }>

export interface Updates {
  /** The operator of each place. */
  readonly operators: readonly ScanOperator[]
  /** The dtype of the carried value within a pass: i32 for doubles that stay numbers of 32 bits, if the pass begins with one. */
  readonly dtypes: readonly DType[]
  /** The place whose value an `if` statement replaces, where its test compares with that value. */
  readonly picks: ReadonlyMap<Stmt, number>
  readonly classifier: Classifier
  /** For writes to filled arrays: the place whose value is the subscript, and the constant added to it. */
  readonly fills: ReadonlyMap<Write, { readonly place: number; readonly more: number }>
  readonly cells: ReadonlyMap<Write, { readonly place: number; readonly by: number | undefined }>
  readonly isOpaque: (local: string) => boolean
}

/** The reason why a loop that is close to a scan is none. */
export interface NoUpdates {
  readonly kind: 'none'
  readonly why: 'fraction' | 'operator' | 'decides'
  readonly span: Span
  readonly text: string
}

/** Operators whose results are 32-bit integers with a sign. */
const IN_32_BITS: ReadonlySet<ScanOperator['kind']> = new Set(['wrap', 'and', 'or', 'xor'])

/** Thrown to end the walk with a reason. */
class Unfit extends Error {
  readonly why: NoUpdates
  constructor(why: NoUpdates['why'], span: Span) {
    super(why)
    this.why = { kind: 'none', why, span, text: span.text }
  }
}

export function updatesOf(spec: LoopSpec, ir: FunctionIr, carried: Carried): Updates | NoUpdates {
  try {
    return new Walk(spec, ir, carried).run()
  } catch (error) {
    if (error instanceof Unfit) return error.why
    throw error
  }
}

class Walk implements Here {
  readonly #spec: LoopSpec
  readonly #ir: FunctionIr
  readonly #carried: Carried
  readonly #classifier: Classifier
  readonly #tainted = new Set<string>()
  readonly #opaque = new Set<string>()
  readonly #operators = new Map<number, ScanOperator>()
  readonly #picks = new Map<Stmt, number>()
  readonly #fills = new Map<Write, { readonly place: number; readonly more: number }>()
  readonly #cells = new Map<Write, { readonly place: number; readonly by: number | undefined }>()
  /** How often each place was written so far; `#computed` has the same at the time each local was computed. */
  readonly #written: number[]
  readonly #computed = new Map<string, readonly number[]>()
  readonly #own: (Class | undefined)[]
  #inLoop = 0
  /** Places that may be set to numbers other than 32-bit integers. */
  readonly #isWide = new Set<number>()

  constructor(spec: LoopSpec, ir: FunctionIr, carried: Carried) {
    this.#spec = spec
    this.#ir = ir
    this.#carried = carried
    this.#written = carried.places.map(() => 0)
    this.#own = carried.places.map(() => undefined)
    this.#classifier = classifier(
      spec,
      ir,
      carried,
      (local) => this.#tainted.has(local) || this.#opaque.has(local),
      (place) => dtypeOf(spec, carried, place),
    )
  }

  run(): Updates {
    this.#taint()
    this.#statements(this.#ir.body)
    this.#checkGroups(this.#ir.body)
    const operators = this.#carried.places.map((_, place) => this.#operators.get(place) ?? ({ kind: 'last' } as const))
    return {
      operators,
      dtypes: operators.map((operator, place) => {
        const dtype = dtypeOf(this.#spec, this.#carried, place)
        return dtype === 'f64' && IN_32_BITS.has(operator.kind) && !this.#isWide.has(place) ? 'i32' : dtype
      }),
      picks: this.#picks,
      classifier: this.#classifier,
      fills: this.#fills,
      cells: this.#cells,
      isOpaque: (local) => this.#opaque.has(local),
    }
  }

  isFresh(local: string, place: number): boolean {
    if (this.#computed.get(local)?.[place] === this.#written[place]) return true
    const value = this.#carried.definitions.get(local)
    // the iteration before has finished writing, so its element does not change
    return this.#carried.places[place]?.kind === 'chain' && value !== undefined && !someExpr(value, (one) => this.#isOwn(one))
  }

  #isOwn(expr: Expr): boolean {
    return expr.kind === 'Read' && this.#carried.roleOf(expr)?.isBefore === false
  }

  isOpaque(local: string): boolean {
    return this.#opaque.has(local)
  }

  own(place: number): Class | undefined {
    return this.#own[place]
  }

  /** Finds the locals that depend on carried values wherever they are assigned; those assigned under a test that does are opaque. */
  #taint(): void {
    for (let size = -1; size !== this.#tainted.size + this.#opaque.size; ) {
      size = this.#tainted.size + this.#opaque.size
      this.#taintIn(this.#ir.body, false)
    }
  }

  #taintIn(stmts: readonly Stmt[], isUnder: boolean): void {
    for (const stmt of stmts) {
      if (stmt.kind === 'Let' && stmt.init !== undefined && this.#classifier.isTainted(stmt.init)) this.#tainted.add(stmt.local)
      if (stmt.kind === 'Let' && this.#tainted.has(stmt.local) && !this.#carried.definitions.has(stmt.local)) this.#opaque.add(stmt.local)
      if (stmt.kind === 'Assign' && (isUnder || this.#classifier.isTainted(stmt.value))) this.#opaque.add(stmt.local)
      if (stmt.kind === 'If') {
        const under = isUnder || this.#classifier.isTainted(stmt.test)
        this.#taintIn(stmt.then, under)
        this.#taintIn(stmt.else, under)
      }
      if (stmt.kind === 'For') {
        const under = isUnder || (stmt.test !== undefined && this.#classifier.isTainted(stmt.test))
        for (const part of [stmt.init, stmt.body, stmt.update]) this.#taintIn(part, under)
      }
      if (stmt.kind === 'Labeled') this.#taintIn(stmt.body, isUnder)
    }
  }

  #statements(stmts: readonly Stmt[]): void {
    for (const [at, stmt] of stmts.entries()) this.#statement(stmt, stmts, at)
  }

  #statement(stmt: Stmt, stmts: readonly Stmt[], at: number): void {
    switch (stmt.kind) {
      case 'Let':
        this.#computed.set(stmt.local, [...this.#written])
        return
      case 'Write':
        this.#write(stmt, stmts, at)
        return
      case 'If':
        if (this.#classifier.isTainted(stmt.test)) this.#decided(stmt)
        else {
          const before = [...this.#own]
          this.#statements(stmt.then)
          const then = [...this.#own]
          this.#own.splice(0, before.length, ...before)
          this.#statements(stmt.else)
          // a value that only one of the branches has written is not known
          for (const [place, own] of then.entries()) if (own !== this.#own[place]) this.#own[place] = undefined
        }
        return
      case 'For': {
        if (stmt.test !== undefined && this.#classifier.isTainted(stmt.test)) {
          this.#untouched(stmt, stmt.test.span)
          return
        }
        this.#inLoop++
        this.#statements(stmt.init)
        this.#touch(stmt.body)
        this.#statements(stmt.body)
        this.#statements(stmt.update)
        this.#touch(stmt.body)
        this.#inLoop--
        return
      }
      case 'Labeled':
        this.#statements(stmt.body)
        this.#touch(stmt.body)
        return
      case 'Assign':
      case 'Add':
      case 'Accumulate':
      case 'Evaluate':
      case 'Return':
      case 'Break':
      case 'Continue':
        return
      case 'Throw':
        throw new Unfit('decides', stmt.span)
    }
  }

  /** Marks the places that statements write as written any number of times. */
  #touch(stmts: readonly Stmt[]): void {
    visitStmts(stmts, (stmt) => {
      const place = stmt.kind === 'Write' ? this.#carried.roleOf(stmt)?.place : undefined
      if (place === undefined) return
      this.#written[place] = (this.#written[place] ?? 0) + 1
      this.#own[place] = undefined
    })
  }

  #write(stmt: Write, stmts: readonly Stmt[], at: number): void {
    const role = this.#carried.roleOf(stmt)
    if (role === undefined) {
      this.#fill(stmt, stmts, at)
      return
    }
    const { place } = role
    const found = this.#classifier.classOf(stmt.value, this)
    if (found.kind === 'opaque') throw new Unfit(found.fraction === undefined ? 'operator' : 'fraction', (found.fraction ?? stmt).span)
    if (found.kind === 'carried') {
      if (found.place !== place) throw new Unfit('operator', stmt.span)
      if (found.operator !== undefined) this.#operate(place, found.operator, stmt.span)
    }
    const isCell = this.#carried.places[place]?.kind === 'cell'
    if (!isCell || (found.kind === 'free' && !this.#classifier.fits(stmt.value, 'i32'))) this.#isWide.add(place)
    if (isCell) this.#cells.set(stmt, { place, by: found.kind === 'carried' ? this.#moreOf(stmt.value, place) : undefined })
    else this.#own[place] = found
    this.#written[place] = (this.#written[place] ?? 0) + 1
  }

  #operate(place: number, operator: ScanOperator, span: Span): void {
    const known = this.#operators.get(place)
    if (known !== undefined && !sameOperator(known, operator)) throw new Unfit('operator', span)
    const dtype = dtypeOf(this.#spec, this.#carried, place)
    const isSum = operator.kind === 'sum' || operator.kind === 'wrap' || operator.kind === 'unsigned'
    if (isSum && dtype === 'f32') throw new Unfit('fraction', span)
    // adding repeatedly to an element that may hold fractions could leave the exact integers
    if (operator.kind === 'sum' && dtype === 'f64' && this.#inLoop > 0) throw new Unfit('fraction', span)
    this.#operators.set(place, operator)
  }

  /** Checks a test that a carried value decides on: nothing carried may change under it, except by a `pick`. */
  #decided(stmt: Extract<Stmt, { kind: 'If' }>): void {
    const pick = this.#classifier.pickOf(stmt.test, this)
    const writes = stmt.then.filter((one): one is Write => one.kind === 'Write' && this.#carried.roleOf(one) !== undefined)
    const isPick = pick !== undefined && this.#carried.places[pick.place]?.kind === 'cell' && writes.length > 0
    if (!isPick) {
      this.#untouched(stmt, stmt.test.span)
      return
    }
    const others = stmt.then.filter((one) => one.kind !== 'Write' || !writes.includes(one))
    for (const other of [...others, ...stmt.else]) this.#untouched(other, stmt.test.span)
    const changed = changedIn(stmt.then)
    if (localsIn(pick.value).some((local) => changed.has(local))) throw new Unfit('decides', stmt.test.span)
    for (const write of writes) {
      const place = this.#carried.roleOf(write)?.place ?? 0
      const dtype = dtypeOf(this.#spec, this.#carried, place)
      const isIt = place === pick.place
      if (this.#operators.has(place) || this.#classifier.isTainted(write.value)) throw new Unfit('decides', write.span)
      if (isIt && (exprId(write.value) !== exprId(pick.value) || !this.#classifier.fits(write.value, dtype)))
        throw new Unfit('decides', write.span)
      this.#operators.set(place, isIt ? { kind: 'pick', test: pick.test } : { kind: 'with', carry: pick.place })
    }
    const own = writes.filter((write) => this.#carried.roleOf(write)?.place === pick.place)
    if (own.length !== 1 || new Set(writes.map((write) => this.#carried.roleOf(write)?.place)).size !== writes.length)
      throw new Unfit('decides', stmt.test.span)
    this.#picks.set(stmt, pick.place)
    this.#touch(stmt.then)
  }

  /** Throws where a statement changes a carried value, or whether anything else runs. */
  #untouched(stmt: Stmt, span: Span): void {
    visitStmts([stmt], (one) => {
      const changes = one.kind === 'Write' && this.#carried.roleOf(one) !== undefined
      if (changes || one.kind === 'Return' || one.kind === 'Break' || one.kind === 'Continue' || one.kind === 'Throw')
        throw new Unfit('decides', span)
    })
  }

  /** Throws where a value and those that come `with` it are not all set, side by side, in one list of statements. */
  #checkGroups(stmts: readonly Stmt[]): void {
    const set = stmts.flatMap((stmt) => (stmt.kind === 'Write' ? (this.#carried.roleOf(stmt)?.place ?? []) : []))
    for (const place of set) {
      const group = this.#groupOf(place)
      const isWhole = group.every((one) => set.filter((other) => other === one).length === 1)
      const from = stmts.findIndex((stmt) => stmt.kind === 'Write' && group.includes(this.#carried.roleOf(stmt)?.place ?? -1))
      const to = stmts.findLastIndex((stmt) => stmt.kind === 'Write' && group.includes(this.#carried.roleOf(stmt)?.place ?? -1))
      const isPlain = stmts.slice(from, to).every((stmt) => stmt.kind === 'Write' || stmt.kind === 'Let')
      if (group.length > 1 && (!isWhole || !isPlain)) throw new Unfit('decides', (stmts[from] as Stmt).span)
    }
    for (const stmt of stmts) for (const inner of listsIn(stmt)) this.#checkGroups(inner)
  }

  /** Returns the places that change together. */
  #groupOf(place: number): readonly number[] {
    const operator = this.#operators.get(place)
    const head = operator?.kind === 'with' ? operator.carry : place
    const rest = [...this.#operators].flatMap(([other, one]) => (one.kind === 'with' && one.carry === head ? [other] : []))
    return [head, ...rest]
  }

  /** Remembers a write at the element that a carried count names, if the count moves on before the next iteration writes there. */
  #fill(stmt: Write, stmts: readonly Stmt[], at: number): void {
    const [subscript] = stmt.subscripts
    if (subscript === undefined || stmt.subscripts.length > 1) return
    const place = this.#placeIn(subscript)
    const more = place === undefined ? undefined : this.#moreOf(subscript, place)
    if (place === undefined || more === undefined) return
    const bySides = (side: readonly Stmt[]): number => {
      let by = 0
      for (const one of side) {
        let leaves = false
        visitStmts([one], (inner) => {
          if (inner.kind === 'Return' || inner.kind === 'Break' || inner.kind === 'Continue') leaves = true
        })
        if (leaves) break
        if (one.kind === 'Write' && this.#carried.roleOf(one)?.place === place) by += this.#stepOf(one)
      }
      return by
    }
    const isApart = more >= 0 ? bySides(stmts.slice(at + 1)) > more : bySides(stmts.slice(0, at).reverse()) >= -more
    if (isApart) this.#fills.set(stmt, { place, more })
  }

  /** Returns what a write surely adds to its cell; 0 where nothing is known. */
  #stepOf(stmt: Write): number {
    const { value } = stmt
    const sum = value.kind === 'Binary' && value.operator === '|' ? value.left : value
    if (sum.kind !== 'Binary' || sum.operator !== '+') return 0
    const literal = [sum.left, sum.right].find((one) => one.kind === 'Literal')
    return literal?.kind === 'Literal' && typeof literal.value === 'number' && Number.isInteger(literal.value)
      ? Math.max(0, literal.value)
      : 0
  }

  #placeIn(expr: Expr): number | undefined {
    const found = this.#classifier.classOf(expr, this)
    return found.kind === 'carried' && this.#carried.places[found.place]?.kind === 'cell' ? found.place : undefined
  }

  /** Returns how much an expression exceeds the value of a cell; undefined where that is no constant. */
  #moreOf(expr: Expr, place: number): number | undefined {
    switch (expr.kind) {
      case 'Read':
        return this.#carried.roleOf(expr)?.place === place ? 0 : undefined
      case 'Local': {
        const value = this.#carried.definitions.get(expr.name)
        return value === undefined || !this.isFresh(expr.name, place) ? undefined : this.#moreOf(value, place)
      }
      case 'Binary': {
        const [of, by] =
          expr.right.kind === 'Literal'
            ? [expr.left, expr.right.value]
            : [expr.right, expr.left.kind === 'Literal' ? expr.left.value : undefined]
        const more = this.#moreOf(of, place)
        if (more === undefined || typeof by !== 'number' || !Number.isInteger(by)) return undefined
        if (expr.operator === '+') return more + by
        if (expr.operator === '-' && of === expr.left) return more - by
        return expr.operator === '|' && by === 0 ? more : undefined
      }
      default:
        return undefined
    }
  }
}

function listsIn(stmt: Stmt): readonly (readonly Stmt[])[] {
  if (stmt.kind === 'If') return [stmt.then, stmt.else]
  if (stmt.kind === 'For') return [stmt.init, stmt.body, stmt.update]
  return stmt.kind === 'Labeled' ? [stmt.body] : []
}

export function dtypeOf(spec: LoopSpec, carried: Carried, place: number): DType {
  const binding = spec.env[carried.places[place]?.name ?? '']
  return binding?.kind === 'array' ? (binding.dtype as DType) : 'f64' // `carriedOf` has found arrays of numbers
}
