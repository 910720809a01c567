/** Builds the IR of a random loop body from its tree of choices; see `loopBody.ts`. */
import type { BinaryOperator, CountedLoop, Expr, Stmt } from '../../src/core/ir/functionIr.ts'
import type { EnvBinding } from '../../src/core/loop/loopSpec.ts'
import type { Span } from '../../src/core/span.ts'
import type { RandomArray, RawAccess, RawIndex, RawLoop, RawScratch, RawStmt, RawTest, RawValue } from './loopBody.ts'
import { printExpr, printStmt } from './loopSource.ts'
import { boundsOf, writtenAs } from './wholeOperation.ts'

/** An expression and the least and greatest value it can have. */
interface Ranged {
  readonly expr: Expr
  readonly least: number
  readonly greatest: number
}

interface Local {
  readonly name: string
  readonly mutable: boolean
  readonly least: number
  readonly greatest: number
}

interface Scope {
  readonly locals: readonly Local[]
  readonly inLoop: boolean
  readonly label?: string
}

type Unplaced<T> = T extends { readonly span: Span } ? Omit<T, 'span'> : never

export class LoopBuilder {
  private readonly raw: RawLoop
  private readonly arrays: readonly RandomArray[]
  private readonly names: readonly string[]
  private readonly bindings: Readonly<Record<string, EnvBinding>>
  private readonly inside: boolean
  private places = 0
  private locals = 0

  constructor(
    raw: RawLoop,
    arrays: readonly RandomArray[],
    bindings: Readonly<Record<string, EnvBinding>>,
    options: { readonly inside: boolean },
  ) {
    this.raw = raw
    this.arrays = arrays
    this.bindings = bindings
    // Most loops leave the scratch array to the statements that are about it.
    const isOpen = raw.seed % 4 === 0
    this.names = Object.keys(bindings).filter((name) => bindings[name]?.kind === 'array' && (isOpen || name !== 's'))
    this.inside = options.inside
  }

  body(): Stmt[] {
    const outermost = { locals: [], inLoop: false }
    const stmts = this.statements(this.raw.body, outermost)
    const { returns, over } = this.raw
    if (returns === undefined || over === 'range' || stmts.at(-1)?.kind === 'Return') return stmts
    return [...stmts, this.stmt({ kind: 'Return', value: this.value(returns, outermost) })]
  }

  private statements(raws: readonly RawStmt[], outer: Scope): Stmt[] {
    const stmts: Stmt[] = []
    let scope = outer
    for (const raw of raws) {
      if (raw.kind === 'drift') {
        const [built, local] = this.drift(raw, scope)
        stmts.push(...built)
        scope = { ...scope, locals: [...scope.locals, local] }
        continue
      }
      if (raw.kind === 'scratch') {
        stmts.push(...this.scratch(raw, scope))
        continue
      }
      const [stmt, local] = this.statement(raw, scope)
      if (local !== undefined) scope = { ...scope, locals: [...scope.locals, local] }
      if (stmt === undefined) continue
      stmts.push(stmt)
      // What follows could not run, and lint-like front ends refuse dead code.
      if (stmt.kind === 'Break' || stmt.kind === 'Continue' || stmt.kind === 'Return') break
    }
    return stmts
  }

  private statement(raw: Exclude<RawStmt, { kind: 'drift' | 'scratch' }>, scope: Scope): [Stmt | undefined, Local?] {
    switch (raw.kind) {
      case 'set': {
        const { array, subscripts } = this.target(raw.to, scope)
        const value = this.value(raw.value, scope)
        const old = this.expr({ kind: 'Read', array, subscripts })
        return [this.stmt({ kind: 'Write', array, subscripts, value: raw.update ? this.binary('+', old, value) : value })]
      }
      case 'add':
        return [this.stmt({ kind: 'Add', ...this.target(raw.to, scope), value: this.value(raw.value, scope) })]
      case 'accumulate':
        return [this.stmt({ kind: 'Accumulate', accumulator: 'total', value: this.value(raw.value, scope) })]
      case 'const':
      case 'mutable': {
        const { expr, least, greatest } = this.index(raw.value, scope)
        const name = `${raw.kind === 'const' ? 'n' : 'm'}${this.locals++}`
        return [this.stmt({ kind: 'Let', local: name, init: expr }), { name, mutable: raw.kind === 'mutable', least, greatest }]
      }
      case 'assign': {
        const mutable = scope.locals.filter((local) => local.mutable)
        const local = mutable[raw.pick % Math.max(1, mutable.length)]
        const value = this.index(raw.value, scope)
        // Inside arrays, a local keeps the range that it was declared with.
        const fits = local !== undefined && (!this.inside || (value.least >= local.least && value.greatest <= local.greatest))
        return [fits ? this.stmt({ kind: 'Assign', local: local.name, value: value.expr }) : undefined]
      }
      case 'if':
        return [
          this.stmt({
            kind: 'If',
            test: this.test(raw.test, scope),
            // biome-ignore lint/suspicious/noThenProperty: the IR's own word, and no promise
            then: this.statements(raw.whenTrue, scope),
            else: this.statements(raw.whenFalse, scope),
          }),
        ]
      case 'for':
        return [this.loop(raw, scope)]
      case 'labeled': {
        const label = `out${this.locals++}`
        return [this.stmt({ kind: 'Labeled', label, body: this.statements(raw.body, { ...scope, label }) })]
      }
      case 'leave':
        return [this.leave(raw, scope)]
    }
  }

  /** `let m = …; if (…) { …; m = … }` or `let m = …; for (…) { …; m = … }` */
  private drift(raw: Extract<RawStmt, { kind: 'drift' }>, scope: Scope): [Stmt[], Local] {
    const [start, next] = [this.index(raw.value, scope), this.index(raw.next, scope)]
    const name = `m${this.locals++}`
    const local = { name, mutable: true, least: Math.min(start.least, next.least), greatest: Math.max(start.greatest, next.greatest) }
    const inner = { ...scope, locals: [...scope.locals, local] }
    const assign = this.stmt({ kind: 'Assign', local: name, value: next.expr })
    const declaration = this.stmt({ kind: 'Let', local: name, init: start.expr })
    if (raw.by === 'if') {
      const branch = this.endedBy(this.statements(raw.body, inner), assign)
      // biome-ignore lint/suspicious/noThenProperty: the IR's own word, and no promise
      return [[declaration, this.stmt({ kind: 'If', test: this.test(raw.test, scope), then: branch, else: [] })], local]
    }
    const twice = {
      kind: 'for',
      from: { kind: 'constant', offset: 0 },
      to: { kind: 'constant', offset: 2 },
      step: 1,
      inclusive: false,
      body: raw.body,
    } as const
    const loop = this.loop(twice, inner)
    return [[declaration, { ...loop, body: this.endedBy(loop.body, assign) }], local]
  }

  /** `for (…) s[…] = …; for (k …) a[…] = s[…]` */
  private scratch(raw: RawScratch, outer: Scope): Stmt[] {
    const shape = this.shapeOf('s')
    const { label: _, ...unlabeled } = outer
    const loops: { readonly local: string; readonly from: number; readonly to: number }[] = []
    let scope: Scope = unlabeled
    const subscripts = shape.map((extent, axis) => {
      const spread = raw.spread[axis] ?? 'all'
      if (spread === 'one') return this.subscript(raw.at[axis] ?? { kind: 'constant', offset: 0 }, { axis, extent }, scope)
      const [from, to] = spread === 'all' ? [0, extent] : [raw.cut[0], extent - raw.cut[1]]
      const local = `k${this.locals++}`
      loops.push({ local, from, to })
      scope = this.within(scope, local, from, to)
      return this.expr({ kind: 'Local', name: local })
    })
    const write = this.stmt({ kind: 'Write', array: 's', subscripts, value: this.value(raw.value, scope) })
    // biome-ignore lint/suspicious/noThenProperty: the IR's own word, and no promise
    const fill = raw.when === undefined ? write : this.stmt({ kind: 'If', test: this.test(raw.when, scope), then: [write], else: [] })
    const inside = raw.reads === 'inside' ? [fill, this.reading(raw, scope)] : [fill]
    const filled = loops.reduceRight<readonly Stmt[]>((body, { local, from, to }) => [this.count(local, [from, to], body)], inside)
    if (raw.reads === 'inside') return [...filled]
    const [side = 1] = shape
    const local = `k${this.locals++}`
    const read = this.count(local, [0, side], [this.reading(raw, this.within(unlabeled, local, 0, side))])
    return raw.reads === 'before' ? [read, ...filled] : [...filled, read]
  }

  private reading(raw: RawScratch, scope: Scope): Stmt {
    const subscripts = this.shapeOf('s').map((extent, axis) => {
      return this.subscript(raw.from[axis] ?? { kind: 'constant', offset: 0 }, { axis, extent }, scope)
    })
    const value = this.binary('*', this.literal(0.5), this.expr({ kind: 'Read', array: 's', subscripts }))
    return this.stmt({ kind: 'Write', ...this.target(raw.to, scope), value })
  }

  private within(scope: Scope, name: string, from: number, to: number): Scope {
    return { ...scope, inLoop: true, locals: [...scope.locals, { name, mutable: false, least: from, greatest: to - 1 }] }
  }

  private count(local: string, [from, to]: readonly [number, number], body: readonly Stmt[]): Stmt {
    const index = this.expr({ kind: 'Local', name: local })
    return this.stmt({
      kind: 'For',
      init: [this.stmt({ kind: 'Let', local, init: this.literal(from) })],
      test: this.binary('<', index, this.literal(to)),
      update: [this.stmt({ kind: 'Assign', local, value: this.binary('+', index, this.literal(1)) })],
      body,
      doWhile: false,
      counted: { local, from: this.literal(from), to: this.literal(to), step: 1 },
    })
  }

  private endedBy(stmts: readonly Stmt[], last: Stmt): Stmt[] {
    const end = stmts.at(-1)?.kind
    return end === 'Break' || end === 'Continue' || end === 'Return' ? [...stmts] : [...stmts, last]
  }

  private leave(raw: Extract<RawStmt, { kind: 'leave' }>, scope: Scope): Stmt | undefined {
    switch (raw.how) {
      case 'break':
        if (scope.label !== undefined) return this.stmt({ kind: 'Break', label: scope.label })
        return scope.inLoop ? this.stmt({ kind: 'Break' }) : undefined
      case 'continue':
        return scope.inLoop ? this.stmt({ kind: 'Continue' }) : undefined
      case 'return':
        return this.stmt({ kind: 'Return' })
      case 'element':
        return this.raw.over === 'range'
          ? this.stmt({ kind: 'Return' })
          : this.stmt({ kind: 'Return', value: this.value(raw.value, scope) })
    }
  }

  private loop(raw: Extract<RawStmt, { kind: 'for' }>, scope: Scope): Extract<Stmt, { kind: 'For' }> {
    const local = `k${this.locals++}`
    const from = this.index(raw.from, scope)
    // A bound that the loop may assign would not be counted.
    const to = this.index(raw.to, { ...scope, locals: scope.locals.filter((other) => !other.mutable) })
    const { step, inclusive } = raw
    const range = step > 0 ? { least: from.least, greatest: to.greatest - 1 } : { least: to.least + 1, greatest: from.greatest }
    const index = this.expr({ kind: 'Local', name: local })
    const counted: CountedLoop = { local, from: from.expr, to: to.expr, step }
    const next = this.binary(step > 0 ? '+' : '-', index, this.literal(Math.abs(step)))
    const { label: _, ...unlabeled } = scope
    return this.stmt<Extract<Stmt, { kind: 'For' }>>({
      kind: 'For',
      init: [this.stmt({ kind: 'Let', local, init: from.expr })],
      test: inclusive
        ? this.binary(step > 0 ? '<=' : '>=', index, this.binary('-', to.expr, this.literal(Math.sign(step))))
        : this.binary(step > 0 ? '<' : '>', index, to.expr),
      update: [this.stmt({ kind: 'Assign', local, value: next })],
      body: this.statements(raw.body, { ...unlabeled, inLoop: true, locals: [...scope.locals, { name: local, mutable: false, ...range }] }),
      doWhile: false,
      // What an array holds may change while the loop runs.
      ...(to.expr.span.text.includes('.get(') ? {} : { counted }),
    })
  }

  private test(raw: RawTest, scope: Scope): Expr {
    const left = raw.data === undefined ? this.index(raw.left, scope).expr : this.read(raw.data, scope)
    const comparison = raw.bare === true ? left : this.binary(raw.operator, left, this.index(raw.right, scope).expr)
    const positive = raw.not ? this.expr({ kind: 'Unary', operator: '!', operand: comparison }) : comparison
    if (raw.also === undefined) return positive
    const other = this.binary('<=', this.index(raw.also.left, scope).expr, this.index(raw.also.right, scope).expr)
    return this.expr({ kind: 'Logical', operator: raw.also.operator, left: positive, right: other })
  }

  private value(raw: RawValue, scope: Scope): Expr {
    const start: Expr = raw.input && this.raw.over !== 'range' ? this.expr({ kind: 'Input', argument: 0 }) : this.literal(raw.constant)
    // Halving keeps the values small, whatever a chain of additions does.
    return raw.reads.reduce((sum, read) => this.binary('+', sum, this.binary('*', this.literal(0.5), this.read(read, scope))), start)
  }

  private read(raw: RawAccess, scope: Scope): Expr {
    return this.expr({ kind: 'Read', ...this.access(raw, scope, this.names) })
  }

  /** An access that may write: to any array but the index array. */
  private target(raw: RawAccess, scope: Scope): { readonly array: string; readonly subscripts: readonly Expr[] } {
    return this.access(
      raw,
      scope,
      this.names.filter((name) => name !== 'x'),
    )
  }

  private access(raw: RawAccess, scope: Scope, names: readonly string[]): { readonly array: string; readonly subscripts: readonly Expr[] } {
    const array = names[raw.array % names.length] ?? 'a'
    const shape = this.shapeOf(array)
    const subscripts = shape.map((extent, axis) => {
      return this.subscript(this.aligned(raw.subscripts[axis] ?? { kind: 'constant', offset: 0 }, array, axis), { axis, extent }, scope)
    })
    return { array, subscripts }
  }

  private subscript(raw: RawIndex, { axis, extent }: { readonly axis: number; readonly extent: number }, scope: Scope): Expr {
    const chosen = this.index(raw, scope)
    const fits = !this.inside || (chosen.least >= 0 && chosen.greatest < extent)
    return fits ? chosen.expr : this.safeIndex(axis, extent)
  }

  /** In aligned loops, a loop index is that of the axis; vectors go by one index each. */
  private aligned(raw: RawIndex, name: string, axis: number): RawIndex {
    const follows = this.raw.aligned === 'always' ? raw.kind !== 'local' : this.raw.aligned === 'mostly' && raw.kind === 'key'
    if (!follows) return raw
    const binding = this.bindings[name]
    const first = this.shapeOf(name).length < this.raw.extents.length && binding?.kind === 'array' ? binding.array : 0
    return { kind: 'key', offset: 'offset' in raw ? Math.max(raw.offset, -2) : 0, pick: first + axis }
  }

  /** A subscript that is inside whatever the array: the loop index of the axis where that fits. */
  private safeIndex(axis: number, extent: number): Expr {
    const keyExtent = this.raw.extents[axis]
    return keyExtent !== undefined && keyExtent <= extent ? this.expr({ kind: 'Key', axis }) : this.literal(0)
  }

  private index(raw: RawIndex, scope: Scope): Ranged {
    switch (raw.kind) {
      case 'constant':
        return this.constant(raw.offset)
      case 'key':
        return this.shifted(this.key(raw.pick), raw.offset)
      case 'local': {
        const local = scope.locals[raw.pick % Math.max(1, scope.locals.length)]
        if (local === undefined) return this.shifted(this.key(raw.pick), raw.offset)
        const { name, least, greatest } = local
        return this.shifted({ expr: this.expr({ kind: 'Local', name }), least, greatest }, raw.offset)
      }
      case 'affine': {
        const keys = this.raw.extents.length
        const chosen = raw.other % (keys + scope.locals.length)
        const local = scope.locals[chosen - keys]
        const second = local === undefined ? this.key(chosen) : { ...local, expr: this.expr({ kind: 'Local', name: local.name }) }
        const [first = 1, factor = 1] = raw.factors
        return this.shifted(this.plus(this.times(this.key(raw.pick), first), this.times(second, factor)), raw.offset)
      }
      case 'captured': {
        const at = raw.pick % this.raw.captured.length
        const value = this.raw.captured[at] ?? 0
        const captured = { expr: this.expr({ kind: 'Parameter', name: `c${at}` }), least: value, greatest: value }
        if (raw.factor === 0) return this.shifted(captured, raw.offset)
        return this.shifted(this.plus(captured, this.times(this.key(raw.pick), raw.factor)), raw.offset)
      }
      case 'clamp': {
        const [left, right] = [this.index(raw.left, scope), this.index(raw.right, scope)]
        const end = raw.end === 'min' ? Math.min : Math.max
        const expr = this.expr({ kind: 'Call', callee: `Math.${raw.end}`, args: [left.expr, right.expr] })
        return { expr, least: end(left.least, right.least), greatest: end(left.greatest, right.greatest) }
      }
      case 'choice': {
        const [one, other] = [this.index(raw.whenTrue, scope), this.index(raw.whenFalse, scope)]
        // biome-ignore lint/suspicious/noThenProperty: the IR's own word, and no promise
        const expr = this.expr({ kind: 'Conditional', test: this.test(raw.test, scope), then: one.expr, else: other.expr })
        return { expr, least: Math.min(one.least, other.least), greatest: Math.max(one.greatest, other.greatest) }
      }
      case 'odd':
        return this.shifted(this.odd(raw), raw.offset)
      case 'data': {
        const extent = this.shapeOf('x')[0] ?? 1
        const key = this.key(raw.pick)
        const subscript = key.greatest < extent || !this.inside ? key.expr : this.literal(0)
        const largest = Math.max(...this.raw.extents) - 1
        return this.shifted(
          { expr: this.expr({ kind: 'Read', array: 'x', subscripts: [subscript] }), least: 0, greatest: largest },
          raw.offset,
        )
      }
      case 'extent': {
        const extent = this.shapeOf('x')[0] ?? 1
        return this.shifted({ expr: this.expr({ kind: 'Extent', array: 'x', axis: 0 }), least: extent, greatest: extent }, raw.offset)
      }
    }
  }

  private odd({ how, by, signed, pick }: Extract<RawIndex, { kind: 'odd' }>): Ranged {
    const [key, other] = [this.key(pick), this.key(pick + 1)]
    const x = signed ? this.plus(key, this.times(other, -1)) : key
    const written = writtenAs(how)
    if (how === 'product' || written.kind === 'product') {
      return { expr: this.binary('*', key.expr, other.expr), least: 0, greatest: key.greatest * other.greatest }
    }
    const [least, greatest] = boundsOf(how, x.least, x.greatest, by)
    switch (written.kind) {
      case 'binary':
        return { expr: this.binary(written.operator, x.expr, this.literal(by)), least, greatest }
      case 'rounded': {
        const quotient = this.binary('/', x.expr, this.literal(by))
        return { expr: this.expr({ kind: 'Call', callee: written.callee, args: [quotient] }), least, greatest }
      }
      case 'call':
        return { expr: this.expr({ kind: 'Call', callee: written.callee, args: [x.expr] }), least, greatest }
    }
  }

  private times(one: Ranged, factor: number): Ranged {
    if (factor === 1) return one
    const [least, greatest] = [factor * one.least, factor * one.greatest].sort((a, b) => a - b)
    return { expr: this.binary('*', this.literal(factor), one.expr), least: least ?? 0, greatest: greatest ?? 0 }
  }

  private plus(a: Ranged, b: Ranged): Ranged {
    return { expr: this.binary('+', a.expr, b.expr), least: a.least + b.least, greatest: a.greatest + b.greatest }
  }

  private key(pick: number): Ranged {
    const axis = pick % this.raw.extents.length
    return { expr: this.expr({ kind: 'Key', axis }), least: 0, greatest: (this.raw.extents[axis] ?? 1) - 1 }
  }

  private constant(value: number): Ranged {
    return { expr: this.literal(value), least: value, greatest: value }
  }

  private shifted({ expr, least, greatest }: Ranged, offset: number): Ranged {
    if (offset === 0) return { expr, least, greatest }
    const moved = this.binary(offset > 0 ? '+' : '-', expr, this.literal(Math.abs(offset)))
    return { expr: moved, least: least + offset, greatest: greatest + offset }
  }

  private shapeOf(name: string): readonly number[] {
    const binding = this.bindings[name]
    return this.arrays.find((array) => binding?.kind === 'array' && array.array === binding.array)?.shape ?? []
  }

  private literal(value: number): Expr {
    return this.expr({ kind: 'Literal', value })
  }

  private binary(operator: BinaryOperator, left: Expr, right: Expr): Expr {
    return this.expr({ kind: 'Binary', operator, left, right })
  }

  /** Gives each node a place of its own, so that two reads of one text are two places. */
  private expr(unplaced: Unplaced<Expr>): Expr {
    const bare = { ...unplaced, span: { line: 0, column: 0, text: '' } } as Expr
    return { ...bare, span: { line: ++this.places, column: 1, text: printExpr(bare) } }
  }

  private stmt<S extends Stmt>(unplaced: Unplaced<S>): S {
    const bare = { ...unplaced, span: { line: 0, column: 0, text: '' } } as unknown as S
    return { ...bare, span: { line: ++this.places, column: 1, text: printStmt(bare).replaceAll(/\s+/g, ' ') } }
  }
}
