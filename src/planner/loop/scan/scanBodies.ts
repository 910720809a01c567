/**
 * Builds the two loops over chunks that a scan runs as.
 *
 *     out[i] = out[i - 1] + x[i]
 *
 *     partial, of a chunk c                        replay
 *       before = 0, mark = 0                         before = seeds[c]
 *       for i in the chunk                           for i in the chunk
 *         own = before + x[i]                          own = before + x[i]
 *         mark |= 1                                    out[i] = own
 *         before = own                                 before = own
 *       partials[c] = before, marks[c] = mark        seeds[c + 1] = before
 *
 * A carried value is a local in both, rounded as its array would. What the partial loop does beside carrying values on is left out.
 */
import { integerRangeOf } from '../../../core/data/integerRanges.ts'
import type { DType } from '../../../core/data/schema.ts'
import type { Expr, FunctionIr, Stmt } from '../../../core/ir/functionIr.ts'
import { fresh, namesOf } from '../../../core/ir/irNames.ts'
import { withOperands } from '../../../core/ir/irRewrite.ts'
import type { Carry, ScanOperator } from '../../../core/loop/loopSpec.ts'
import { pruned } from '../slices/slicePruning.ts'
import { factsOf } from '../statements.ts'
import type { Carried, Place, Role } from './carried.ts'
import type { Updates } from './updates.ts'

export interface ScanBodies {
  readonly partial: FunctionIr
  readonly replay: FunctionIr
}

interface Locals {
  /** The local with the value that was handed on: of a chain, by the iteration before. */
  readonly before: string
  /** The local with the value that the iteration hands on; of a cell the same local. */
  readonly own: string
  readonly mark: string
  /** The mark of the current iteration of a chain: 1 where its value depends on the one handed on, 2 where it does not. */
  readonly step: string
}

export function scanBodies(
  ir: FunctionIr,
  {
    carried,
    updates,
    carries,
    chunk,
    extent,
  }: {
    readonly carried: Carried
    readonly updates: Updates
    readonly carries: readonly Carry[]
    readonly chunk: number
    readonly extent: number
  },
): ScanBodies {
  const e = writer(ir)
  const names = namesOf(ir)
  const locals = carried.places.map((place, at): Locals => {
    const before = fresh(`before$${at}`, names.locals)
    const own = place.kind === 'cell' ? before : fresh(`own$${at}`, names.locals)
    return { before, own, mark: fresh(`mark$${at}`, names.locals), step: fresh(`step$${at}`, names.locals) }
  })
  const i = fresh('i', names.locals)
  const end = fresh('end', names.locals)
  const label = fresh('iteration', names.labels)
  const always = carried.places.map(
    (place, at) => place.kind === 'chain' && surelyWrites(ir.body, (stmt) => carried.roleOf(stmt)?.place === at),
  )
  let returns = false

  const inExpr = (expr: Expr, isPartial: boolean): Expr => {
    if (expr.kind === 'Key') return e.local(i)
    const role = expr.kind === 'Read' ? carried.roleOf(expr) : undefined
    const isHeld = role !== undefined && (isPartial || role.isBefore || carried.places[role.place]?.kind === 'cell')
    if (isHeld) return e.local(localOf(role))
    return withOperands(expr, (one) => inExpr(one, isPartial))
  }
  const localOf = ({ place, isBefore }: Role): string => {
    const own = locals[place] as Locals // every place has locals
    return isBefore ? own.before : own.own
  }

  const markOf = (expr: Expr): Expr => {
    if (!updates.classifier.isTainted(expr)) return e.number(2)
    switch (expr.kind) {
      case 'Local': {
        const value = carried.definitions.get(expr.name)
        return value === undefined ? e.number(1) : markOf(value)
      }
      case 'Read': {
        const role = carried.roleOf(expr)
        return role === undefined || role.isBefore || carried.places[role.place]?.kind === 'cell'
          ? e.number(1)
          : e.local(locals[role.place]?.step ?? '')
      }
      case 'Binary':
        return markOf(updates.classifier.isTainted(expr.left) ? expr.left : expr.right)
      case 'Call':
        return markOf(expr.args.find(updates.classifier.isTainted) ?? expr)
      case 'Conditional': {
        const isPick = updates.classifier.isTainted(expr.test)
        const test = inExpr(expr.test, true)
        return isPick ? e.choose(test, e.number(1), e.number(0)) : e.choose(test, markOf(expr.then), markOf(expr.else))
      }
      default:
        return e.number(1)
    }
  }

  const stmtsIn = (stmts: readonly Stmt[], isPartial: boolean): Stmt[] => stmts.flatMap((stmt) => stmtIn(stmt, isPartial))
  const stmtIn = (stmt: Stmt, isPartial: boolean): Stmt[] => {
    const expr = (one: Expr): Expr => inExpr(one, isPartial)
    switch (stmt.kind) {
      case 'Let':
        return [stmt.init === undefined ? stmt : { ...stmt, init: expr(stmt.init) }]
      case 'Assign':
        return [{ ...stmt, value: expr(stmt.value) }]
      case 'Write': {
        const role = carried.roleOf(stmt)
        const write = { ...stmt, subscripts: stmt.subscripts.map(expr), value: expr(stmt.value) }
        if (role === undefined) return isPartial ? [] : [write]
        const own = locals[role.place] as Locals
        const isCell = carried.places[role.place]?.kind === 'cell'
        const set = e.assign(own.own, e.stored(write.value, carries[role.place]?.dtype ?? 'f64'))
        if (!isPartial) return isCell ? [set] : [set, { ...write, value: e.local(own.own) }]
        const mark = markOf(stmt.value)
        return [isCell ? e.assign(own.mark, e.or(e.local(own.mark), mark)) : e.assign(own.step, mark), set]
      }
      case 'Add':
      case 'Accumulate':
      case 'Evaluate':
        return isPartial
          ? []
          : [{ ...stmt, value: expr(stmt.value), ...('subscripts' in stmt ? { subscripts: stmt.subscripts.map(expr) } : {}) } as Stmt]
      case 'If': {
        if (isPartial && updates.classifier.isTainted(stmt.test)) {
          const place = updates.picks.get(stmt)
          if (place === undefined) return []
          const writes = stmt.then.filter((one) => one.kind === 'Write' && carried.roleOf(one) !== undefined)
          const set = writes.flatMap((one) => {
            const own = locals[one.kind === 'Write' ? (carried.roleOf(one)?.place ?? 0) : 0] as Locals
            const value = one.kind === 'Write' ? expr(one.value) : e.number(0)
            const dtype = one.kind === 'Write' ? (carries[carried.roleOf(one)?.place ?? 0]?.dtype ?? 'f64') : 'f64'
            return [e.assign(own.mark, e.or(e.local(own.mark), e.number(1))), e.assign(own.own, e.stored(value, dtype))]
          })
          const locally = stmtsIn(
            stmt.then.filter((one) => !writes.includes(one)),
            true,
          )
          // biome-ignore lint/suspicious/noThenProperty: the IR's own word
          return [{ ...stmt, test: expr(stmt.test), then: [...locally, ...set], else: [] }]
        }
        // biome-ignore lint/suspicious/noThenProperty: the IR's own word
        return [{ ...stmt, test: expr(stmt.test), then: stmtsIn(stmt.then, isPartial), else: stmtsIn(stmt.else, isPartial) }]
      }
      case 'For': {
        if (isPartial && stmt.test !== undefined && updates.classifier.isTainted(stmt.test)) return []
        const { counted } = stmt
        const parts = { init: stmtsIn(stmt.init, isPartial), update: stmtsIn(stmt.update, isPartial), body: stmtsIn(stmt.body, isPartial) }
        return [
          {
            ...stmt,
            ...parts,
            ...(stmt.test === undefined ? {} : { test: expr(stmt.test) }),
            ...(counted === undefined ? {} : { counted: { ...counted, from: expr(counted.from), to: expr(counted.to) } }),
          },
        ]
      }
      case 'Labeled':
        return [{ ...stmt, body: stmtsIn(stmt.body, isPartial) }]
      case 'Return':
        returns = true
        return [{ kind: 'Break', label, span: stmt.span }]
      case 'Break':
      case 'Continue':
      case 'Throw':
        return [stmt]
    }
  }

  const bodyOf = (isPartial: boolean): readonly Stmt[] => {
    returns = false
    const inner = stmtsIn(ir.body, isPartial)
    const chains = carried.places.flatMap((place, at) => (place.kind === 'chain' ? [{ place, at, own: locals[at] as Locals }] : []))
    const begin = chains.flatMap(({ place, at, own }) => {
      const found = always[at] === true ? [] : [e.assign(own.own, e.read(place, i))]
      return isPartial ? [...found, e.assign(own.step, e.number(2))] : found
    })
    const done = chains.flatMap(({ own }) => [
      ...(isPartial ? [e.assign(own.mark, e.or(e.local(own.mark), e.local(own.step)))] : []),
      e.assign(own.before, e.local(own.own)),
    ])
    const iteration: readonly Stmt[] = returns ? [{ kind: 'Labeled', label, body: inner, span: e.span }] : inner
    const chunkOf = e.times(e.key, chunk)
    const own = locals.flatMap(({ own, before, mark, step }, at): Stmt[] => {
      const { operator, dtype, seeds } = carries[at] as Carry
      const isChain = own !== before
      return [
        e.let(before, isPartial ? e.number(identityOf(operator, dtype)) : e.element(seeds, e.key)),
        ...(isChain ? [e.let(own, e.number(0))] : []),
        ...(isPartial ? [e.let(mark, e.number(0))] : []),
        ...(isPartial && isChain ? [e.let(step, e.number(0))] : []),
      ]
    })
    const told = carries.flatMap(({ partials, marks, seeds }, at) => {
      const { before, mark } = locals[at] as Locals
      if (!isPartial) return [e.write(seeds, e.plus(e.key, 1), e.local(before))]
      return [e.write(partials, e.key, e.local(before)), e.write(marks, e.key, e.local(mark))]
    })
    return [
      e.let(end, e.least(e.plus(chunkOf, chunk), e.number(extent))),
      ...own,
      e.count(i, { from: chunkOf, to: e.local(end), body: [...begin, ...iteration, ...done] }),
      ...told,
    ]
  }
  return { partial: withBody(ir, pruned(bodyOf(true)), carries), replay: withBody(ir, bodyOf(false), carries) }
}

/** Returns the function with another body, with the tables and arrays that this body uses. */
function withBody(ir: FunctionIr, body: readonly Stmt[], carries: readonly Carry[]): FunctionIr {
  const names = new Set(body.flatMap((stmt) => [...factsOf(stmt).names]))
  const made = carries.flatMap(({ partials, marks, seeds }) => [partials, marks, seeds])
  return {
    ...ir,
    keyRank: 1,
    body,
    tables: ir.tables.filter(({ name }) => names.has(name)),
    uses: [
      ...ir.uses.filter(({ name }) => names.has(name)),
      ...made.filter((name) => names.has(name)).map((name) => ({ name, kind: 'array' as const, origin: 'env' as const })),
    ],
  }
}

/** Returns the identity of an operator among the numbers of a dtype. */
function identityOf(operator: ScanOperator, dtype: DType): number {
  const { low = Number.NEGATIVE_INFINITY, high = Number.POSITIVE_INFINITY } = integerRangeOf(dtype) ?? {}
  switch (operator.kind) {
    case 'min':
      return high
    case 'max':
      return low
    case 'pick':
      return operator.test === '<' || operator.test === '<=' ? high : low
    case 'and':
      return dtype === 'f64' || dtype === 'f32' ? -1 : low < 0 ? -1 : high
    case 'sum':
    case 'wrap':
    case 'unsigned':
    case 'or':
    case 'xor':
    case 'last':
    case 'with':
      return 0
  }
}

/** Whether a write is reached on every way through the statements to their end, or to a return. */
function surelyWrites(body: readonly Stmt[], isIt: (stmt: Extract<Stmt, { kind: 'Write' }>) => boolean): boolean {
  let missed = false
  const walk = (stmts: readonly Stmt[], before: boolean): boolean => {
    let written = before
    for (const stmt of stmts) {
      if (stmt.kind === 'Write' && isIt(stmt)) written = true
      else if (stmt.kind === 'If') {
        const [a, b] = [walk(stmt.then, written), walk(stmt.else, written)]
        written = a && b
      } else if (stmt.kind === 'Return') {
        missed ||= !written
        return true
      } else if (stmt.kind === 'Break' || stmt.kind === 'Continue') return written
    }
    return written
  }
  return walk(body, false) && !missed
}

/** Builds pieces of IR with the span of the whole function. */
function writer(ir: FunctionIr) {
  const { span } = ir
  const number = (value: number): Expr => ({ kind: 'Literal', value, span })
  const local = (name: string): Expr => ({ kind: 'Local', name, span })
  const key: Expr = { kind: 'Key', axis: 0, span }
  const binary = (operator: Extract<Expr, { kind: 'Binary' }>['operator'], left: Expr, right: Expr): Expr => ({
    kind: 'Binary',
    operator,
    left,
    right,
    span,
  })
  const plus = (left: Expr, by: number): Expr => (by === 0 ? left : binary('+', left, number(by)))
  const assign = (name: string, value: Expr): Stmt => ({ kind: 'Assign', local: name, value, span })
  return {
    span,
    number,
    local,
    key,
    plus,
    assign,
    times: (left: Expr, by: number): Expr => binary('*', left, number(by)),
    or: (left: Expr, right: Expr): Expr => binary('|', left, right),
    least: (left: Expr, right: Expr): Expr => ({ kind: 'Call', callee: 'Math.min', args: [left, right], span }),
    choose: (test: Expr, then: Expr, otherwise: Expr): Expr => ({ kind: 'Conditional', test, then, else: otherwise, span }),
    element: (array: string, at: Expr): Expr => ({ kind: 'Read', array, subscripts: [at], span }),
    let: (name: string, init: Expr): Stmt => ({ kind: 'Let', local: name, init, span }),
    write: (array: string, at: Expr, value: Expr): Stmt => ({ kind: 'Write', array, subscripts: [at], value, span }),
    /** The element of a chain that belongs to an iteration. */
    read: ({ name, at, axis }: Place, i: string): Expr => ({
      kind: 'Read',
      array: name,
      subscripts: at.map((offset, one) => (one === axis ? plus(local(i), offset) : number(offset))),
      span,
    }),
    count: (name: string, { from, to, body }: { readonly from: Expr; readonly to: Expr; readonly body: readonly Stmt[] }): Stmt => ({
      kind: 'For',
      init: [{ kind: 'Let', local: name, init: from, span }],
      test: binary('<', local(name), to),
      update: [assign(name, plus(local(name), 1))],
      body,
      doWhile: false,
      counted: { local: name, from, to, step: 1 },
      span,
    }),
    /** The value that an array of this dtype would hold. */
    stored: (value: Expr, dtype: DType): Expr => {
      switch (dtype) {
        case 'i32':
          return binary('|', value, number(0))
        case 'u32':
          return binary('>>>', value, number(0))
        case 'i16':
          return binary('>>', binary('<<', value, number(16)), number(16))
        case 'i8':
          return binary('>>', binary('<<', value, number(24)), number(24))
        case 'u16':
          return binary('&', value, number(65535))
        case 'u8':
          return binary('&', value, number(255))
        case 'f32':
          return { kind: 'Call', callee: 'Math.fround', args: [value], span }
        case 'f64':
        case 'i64':
        case 'bool':
          return isNumber(value) ? value : { kind: 'Unary', operator: '+', operand: value, span }
      }
    },
  }
}

/** Whether an expression surely gives a number. */
function isNumber(expr: Expr): boolean {
  switch (expr.kind) {
    case 'Literal':
      return typeof expr.value === 'number'
    case 'Binary':
      return ['+', '-', '*', '/', '%', '**', '&', '|', '^', '<<', '>>', '>>>'].includes(expr.operator)
    case 'Call':
      return expr.callee.startsWith('Math.')
    case 'Conditional':
      return isNumber(expr.then) && isNumber(expr.else)
    case 'Key':
    case 'Read':
      return true
    default:
      return false
  }
}
