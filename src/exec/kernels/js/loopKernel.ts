/**
 * Compiles loop bodies from IR to JavaScript: the text of a factory that is bound to arrays once and returns the function that runs blocks.
 *
 *     for (let k = 0; k < K; k++) s += W.get(u, k)      becomes      const b0 = Math.imul(k0, A0s0)
 *                                                                    for (v1 = 0; v1 < p0; v1 = v1 + 1) v0 = v0 + A0[b0 + v1]
 *
 * Arrays are closure constants, which V8 embeds in the code (2.4 to 2.9 times faster than arguments); captured numbers are
 * arguments, so that another value compiles nothing.
 * Semantics are those of the source: JavaScript's own operators on JavaScript's own values.
 */

import { Bug } from '../../../core/errors.ts'
import { type Expr, expressionsOf, type FunctionIr, regexText, type Stmt, visitExpr, visitStmts } from '../../../core/ir/functionIr.ts'
import { methodText } from '../../../core/ir/methodText.ts'
import { columnsOf, elementIndex, placesLoop, prelude, rngNames } from './loopKernelFrame.ts'
import { Places } from './loopKernelPlaces.ts'
import { assignedLocals, countedRange, integerRange, type RangeScope } from './loopKernelRanges.ts'
import type { ArrayShape, KernelShape } from './loopKernelShape.ts'
import { accumulatorEnd, accumulatorStart, elementStart, lines, literalText, userLabel } from './loopKernelText.ts'

/** Returns the body of `new Function('bind', text)`, a function that returns a `LoopKernel`. */
export function loopKernelText(ir: FunctionIr, shape: KernelShape): string {
  return new KernelWriter(ir, shape).text()
}

/** Names in generated code: A array, D its lanes, C accumulator, R generator, T table, E element column, p parameter, v local, k key. */
class KernelWriter {
  readonly #ir: FunctionIr
  readonly #shape: KernelShape
  readonly #arrays: readonly string[]
  readonly #accumulators: readonly string[]
  readonly #rngs: readonly string[]
  readonly #tables: readonly string[]
  readonly #locals = new Map<string, string>()
  readonly #assigned: ReadonlySet<string>
  readonly #scope: RangeScope
  readonly #places: Places
  #temporaries = 0
  readonly #declared: string[] = []
  readonly #usedColumns = new Set<number>()
  #usesElement = false
  /** The number of inner loops around the statement being written. */
  #depth = 0
  /** The number of additions to a sum outside of inner loops, by the accumulator's number. */
  readonly #adds = new Map<number, number>()
  /** The enclosing loops and labeled blocks, innermost last; `continues` is the label of the block that a `continue` leaves, or empty. */
  readonly #loops: { readonly label: string | undefined; readonly continues: string; readonly breaks: string }[] = []

  constructor(ir: FunctionIr, shape: KernelShape) {
    this.#ir = ir
    this.#shape = shape
    this.#assigned = assignedLocals(ir)
    this.#arrays = [...shape.arrays.keys()]
    this.#accumulators = [...shape.accumulators.keys()]
    this.#rngs = rngNames(ir)
    this.#tables = ir.tables.map((table) => table.name)
    this.#scope = {
      keyExtents: shape.extents,
      parameters: shape.parameters,
      extentOf: (array, axis) => shape.arrays.get(array)?.extents[axis],
      dtypeOf: (array) => {
        const known = shape.arrays.get(array)
        return known?.kind === 'dense' ? known.dtype : undefined
      },
      locals: new Map(),
    }
    this.#places = new Places(this.#scope, { expr: (expr) => this.#expr(expr), temporary: (prefix) => this.#temporary(prefix) })
    visitStmts(ir.body, (stmt) => {
      if (stmt.kind === 'Let' && !this.#locals.has(stmt.local)) this.#locals.set(stmt.local, `v${this.#locals.size}`)
      for (const expr of expressionsOf(stmt)) {
        visitExpr(expr, (e) => {
          if (e.kind === 'Input') this.#usesElement = true
        })
      }
    })
  }

  text(): string {
    const body = this.#block(this.#ir.body)
    const locals = [...this.#locals.values(), ...this.#declared]
    const start = [
      locals.length === 0 ? '' : `let ${locals.join(', ')}`,
      ...elementStart(this.#shape, this.#usesElement, this.#usedColumns),
      ...[...this.#places.rowBases].map(([text, name]) => `const ${name} = ${text}`),
      ...this.#rngs.map((_, i) => `R${i}.begin(${this.#shape.extents.map((_extent, axis) => `k${axis}`).join(', ')})`),
    ]
    return [
      '"use strict"',
      ...prelude(this.#ir, this.#shape),
      'return function run(box, from, to, lane, P) {',
      ...this.#ir.parameters.map((_, i) => `const p${i} = P[${i}]`),
      ...[...this.#shape.arrays.values()].flatMap((array, i) =>
        array.kind === 'dense' && array.adds !== 'direct' ? [`const d${i} = lane * D${i}n`] : [],
      ),
      ...this.#accumulators.map((name, i) => accumulatorStart(this.#shape.accumulators.get(name), i, this.#adds.get(i) ?? 0)),
      ...placesLoop(this.#shape, [...start, body].filter((line) => line !== '').join('\n')),
      ...this.#accumulators.map((name, i) => accumulatorEnd(this.#shape.accumulators.get(name), i)),
      '}',
    ].join('\n')
  }

  // ---------------------------------------------------------------- statements

  #block(stmts: readonly Stmt[]): string {
    return stmts.map((stmt) => `${this.#stmt(stmt)};`).join('\n')
  }

  #stmt(stmt: Stmt): string {
    switch (stmt.kind) {
      case 'Let': {
        this.#learn(stmt)
        return `${this.#local(stmt.local)} = ${stmt.init === undefined ? 'undefined' : this.#expr(stmt.init)}`
      }
      case 'Assign':
        return `${this.#local(stmt.local)} = ${this.#expr(stmt.value)}`
      case 'Write':
        return this.#write(stmt.array, stmt.subscripts, stmt.value)
      case 'Add':
        return this.#add(stmt.array, stmt.subscripts, stmt.value)
      case 'Accumulate':
        return this.#accumulate(stmt.accumulator, this.#expr(stmt.value))
      case 'If':
        return `if (${this.#expr(stmt.test)}) {\n${this.#block(stmt.then)}\n}${stmt.else.length === 0 ? '' : ` else {\n${this.#block(stmt.else)}\n}`}`
      case 'For':
        return this.#for(stmt)
      case 'Labeled': {
        this.#loops.push({ label: stmt.label, continues: '', breaks: userLabel(stmt.label) })
        const text = `${userLabel(stmt.label)}: {\n${this.#block(stmt.body)}\n}`
        this.#loops.pop()
        return text
      }
      case 'Break':
        return `break ${this.#target(stmt.label).breaks}`
      case 'Continue': {
        const { continues, breaks } = this.#target(stmt.label)
        return continues === '' ? `continue ${breaks}` : `break ${continues}`
      }
      case 'Return':
        return this.#return(stmt.value)
      case 'Throw':
        return `throw new ${stmt.error}(${stmt.message === undefined ? '' : this.#expr(stmt.message)})`
      case 'Evaluate':
        return `void ${this.#expr(stmt.value)}`
    }
  }

  /** Records the range of a local that is assigned once. */
  #learn(stmt: Extract<Stmt, { kind: 'Let' }>): void {
    if (stmt.init === undefined || this.#assigned.has(stmt.local)) return
    const range = integerRange(stmt.init, this.#scope)
    if (range !== undefined) this.#scope.locals.set(stmt.local, range)
  }

  /** Finds the loop or block with the label; without one, the innermost loop (blocks have labels). */
  #target(label: string | undefined): { readonly continues: string; readonly breaks: string } {
    for (let i = this.#loops.length - 1; i >= 0; i--) {
      const loop = this.#loops[i]
      if (loop !== undefined && (label === undefined ? loop.breaks.startsWith('loop') : loop.label === label)) return loop
    }
    throw new Bug(`A loop body leaves ${label ?? 'a loop'}, but nothing of that name encloses it.`)
  }

  #for(stmt: Extract<Stmt, { kind: 'For' }>): string {
    const init = this.#block(stmt.init)
    const range = stmt.counted === undefined ? undefined : countedRange(stmt.counted, this.#scope)
    const counted = stmt.counted?.local
    if (counted !== undefined && range !== undefined) this.#scope.locals.set(counted, range)
    const name = `loop${this.#temporaries++}`
    const simple = stmt.update.every((update) => update.kind === 'Assign' || update.kind === 'Evaluate')
    const continues = simple && !stmt.doWhile ? '' : `next${name}`
    this.#loops.push({ label: stmt.label, continues, breaks: name })
    this.#depth++
    const body = this.#block(stmt.body)
    this.#depth--
    this.#loops.pop()
    // the test and the update see one value of the counter more than the body does
    if (counted !== undefined) this.#scope.locals.delete(counted)
    const test = stmt.test === undefined ? 'true' : this.#expr(stmt.test)
    if (continues === '') {
      const update = stmt.update
        .map((u) =>
          u.kind === 'Assign' ? `${this.#local(u.local)} = ${this.#expr(u.value)}` : u.kind === 'Evaluate' ? this.#expr(u.value) : '',
        )
        .join(', ')
      return `${init}\n${name}: for (; ${test}; ${update}) {\n${body}\n}`
    }
    this.#depth++
    const update = this.#block(stmt.update)
    this.#depth--
    const inner = `${continues}: {\n${body}\n}\n${update}`
    return stmt.doWhile ? `${init}\n${name}: do {\n${inner}\n} while (${test})` : `${init}\n${name}: for (; ${test};) {\n${inner}\n}`
  }

  #write(array: string, subscripts: readonly Expr[], value: Expr): string {
    const shape = this.#array(array)
    const i = this.#arrays.indexOf(array)
    if (shape.kind === 'keyed') return `A${i}.set(${[...subscripts, value].map((e) => this.#expr(e)).join(', ')})`
    const place = this.#places.place(this.#arrays.indexOf(array), shape, subscripts)
    const stored = this.#temporary('w')
    const converted = shape.dtype === 'bool' ? `${stored} ? 1 : 0` : stored
    return lines(...place.evaluate, `${stored} = ${this.#expr(value)}`, ...place.check, `A${i}[${place.index}] = ${converted}`)
  }

  #add(array: string, subscripts: readonly Expr[], value: Expr): string {
    const shape = this.#array(array)
    const i = this.#arrays.indexOf(array)
    if (shape.kind === 'keyed') return `A${i}.add(${[...subscripts, value].map((e) => this.#expr(e)).join(', ')})`
    const place = this.#places.place(this.#arrays.indexOf(array), shape, subscripts)
    const delta = this.#temporary('w')
    const head = [...place.evaluate, `${delta} = ${this.#expr(value)}`, ...place.check]
    if (shape.adds === 'direct') {
      if (shape.dtype !== 'bool') return lines(...head, `A${i}[${place.index}] += ${delta}`)
      const index = this.#temporary('u')
      return lines(...head, `${index} = ${place.index}`, `A${i}[${index}] = A${i}[${index}] + ${delta} ? 1 : 0`)
    }
    if (shape.adds === 'lane') return lines(...head, `D${i}[d${i} + ${place.index}] += ${delta}`)
    const index = this.#temporary('u')
    const joined = shape.adds === 'lane-combined' ? `F${i}(D${i}[${index}], ${delta})` : `D${i}[${index}] + ${delta}`
    const first = `Z${i}[${index}] = 1; D${i}[${index}] = ${delta}`
    return lines(...head, `${index} = d${i} + ${place.index}`, `if (Z${i}[${index}] === 0) { ${first} } else D${i}[${index}] = ${joined}`)
  }

  #accumulate(accumulator: string, value: string): string {
    const i = this.#accumulators.indexOf(accumulator)
    switch (this.#shape.accumulators.get(accumulator)) {
      case 'sum': {
        const n = this.#temporary('w')
        // outside of inner loops the log has room, which `run` reserves
        const room = this.#depth === 0 ? [] : [`if (c${i} === c${i}v.length) { C${i}.length = c${i}; c${i}v = C${i}.grow() }`]
        if (this.#depth === 0) this.#adds.set(i, (this.#adds.get(i) ?? 0) + 1)
        return lines(`${n} = ${value}`, ...room, `c${i}v[c${i}++] = ${n}`)
      }
      case 'custom':
        return `C${i}.values.push(${value})`
      case 'min':
        return `c${i} = Math.min(c${i}, ${value})`
      case 'max':
        return `c${i} = Math.max(c${i}, ${value})`
      case 'count':
        return lines(`void ${value}`, `c${i}++`)
      case undefined:
        throw new Bug(`The loop body adds to ${accumulator}, which is not among its accumulators.`)
    }
  }

  #return(value: Expr | undefined): string {
    if (value === undefined) return 'continue iteration'
    const element = this.#shape.element
    const result = this.#temporary('w')
    const store = (target: string, bool: boolean) =>
      lines(
        `${result} = ${this.#expr(value)}`,
        `if (${result} !== undefined && ${result} !== null) ${target} = ${bool ? `${result} ? 1 : 0` : result}`,
        'continue iteration',
      )
    switch (element.kind) {
      case 'dense':
        return store(`X[${elementIndex(this.#shape)}]`, element.dtype === 'bool')
      case 'scalar': {
        const text = store('E0[q]', element.column.form === 'bool')
        return element.column.nullable ? text.replace('E0[q] =', 'E0v[q >> 3] |= 1 << (q & 7), E0[q] =') : text
      }
      case 'none':
        return lines(`void ${this.#expr(value)}`, 'continue iteration')
      case 'row':
        throw new Bug('A loop body that replaces rows was compiled.')
    }
  }

  // ---------------------------------------------------------------- expressions

  #expr(expr: Expr): string {
    switch (expr.kind) {
      case 'Literal':
        return literalText(expr.value)
      case 'Local':
        return this.#local(expr.name)
      case 'Parameter':
        return `p${this.#ir.parameters.findIndex((parameter) => parameter.name === expr.name)}`
      case 'Input':
        return this.#input()
      case 'Field':
        return this.#field(expr)
      case 'Key':
        return `k${expr.axis}`
      case 'Unary':
        return `(${expr.operator} ${this.#expr(expr.operand)})`
      case 'Binary':
      case 'Logical':
        return `(${this.#expr(expr.left)} ${expr.operator} ${this.#expr(expr.right)})`
      case 'Conditional':
        return `(${this.#expr(expr.test)} ? ${this.#expr(expr.then)} : ${this.#expr(expr.else)})`
      case 'Call':
        return `${expr.callee}(${this.#list(expr.args)})`
      case 'MethodCall': {
        const text = methodText(
          `(${this.#expr(expr.object)})`,
          expr,
          expr.args.map((arg) => this.#expr(arg)),
        )
        return expr.method === 'length' ? `(${text})` : text
      }
      case 'OfList':
        throw new Bug('A loop body asks a list of a row.')
      case 'Matches':
        return `${regexText(expr)}.test(${this.#expr(expr.of)})`
      case 'Read':
        return this.#read(expr.array, expr.subscripts)
      case 'Has':
        return this.#has(expr.array, expr.subscripts)
      case 'Extent':
        return `A${this.#arrays.indexOf(expr.array)}n${expr.axis}`
      case 'Lookup':
        return `T${this.#tables.indexOf(expr.table)}[${this.#expr(expr.index)}]`
      case 'LookupLength':
        return `T${this.#tables.indexOf(expr.table)}.length`
      case 'Find':
        throw new Bug('A loop body looks for a key.')
      case 'Draw':
        return `R${this.#rngs.indexOf(expr.rng)}.${expr.method}(${this.#list(expr.args)})`
      case 'ArrayLiteral':
        return `[${this.#list(expr.items)}]`
      case 'ObjectLiteral':
        return `({ ${expr.fields.map((field) => `[${JSON.stringify(field.name)}]: ${this.#expr(field.value)}`).join(', ')} })`
    }
  }

  #list(exprs: readonly Expr[]): string {
    return exprs.map((expr) => this.#expr(expr)).join(', ')
  }

  #local(name: string): string {
    let known = this.#locals.get(name)
    if (known === undefined) this.#locals.set(name, (known = `v${this.#locals.size}`))
    return known
  }

  #input(): string {
    const element = this.#shape.element
    if (element.kind === 'dense') return 'x'
    if (element.kind === 'scalar') return this.#column(0)
    if (element.kind === 'row') {
      return `({ ${element.columns.map((column, i) => `[${JSON.stringify(column.name)}]: ${this.#column(i)}`).join(', ')} })`
    }
    throw new Bug('A loop over a range was lowered with an element.')
  }

  #column(i: number): string {
    this.#usedColumns.add(i)
    return columnsOf(this.#shape.element)[i]?.form === 'reader' ? `(e${i} === unset ? e${i} = E${i}r(q) : e${i})` : `e${i}`
  }

  #field(expr: Extract<Expr, { kind: 'Field' }>): string {
    const element = this.#shape.element
    if (expr.of.kind === 'Input' && element.kind === 'row') {
      const i = element.columns.findIndex((column) => column.name === expr.name)
      return i < 0 ? 'undefined' : this.#column(i)
    }
    if (expr.of.kind === 'Read' && this.#shape.arrays.get(expr.of.array)?.kind === 'keyed') {
      const keys = this.#list(expr.of.subscripts)
      return `A${this.#arrays.indexOf(expr.of.array)}.field(${JSON.stringify(expr.name)}, ${keys})`
    }
    return `${this.#expr(expr.of)}${expr.optional ? '?.' : ''}[${JSON.stringify(expr.name)}]`
  }

  #read(array: string, subscripts: readonly Expr[]): string {
    const shape = this.#array(array)
    const i = this.#arrays.indexOf(array)
    if (shape.kind === 'keyed') return `A${i}.get(${this.#list(subscripts)})`
    const place = this.#places.place(this.#arrays.indexOf(array), shape, subscripts)
    const steps = [...place.evaluate, ...place.check]
    const value = `A${i}[${place.index}]`
    return steps.length === 0 ? value : `(${[...steps, value].join(', ')})`
  }

  /** A dense array has an element at every key, so only the bounds are checked. */
  #has(array: string, subscripts: readonly Expr[]): string {
    const shape = this.#array(array)
    if (shape.kind === 'keyed') return `A${this.#arrays.indexOf(array)}.has(${this.#list(subscripts)})`
    const { evaluate, check } = this.#places.place(this.#arrays.indexOf(array), shape, subscripts)
    return `(${[...evaluate, ...check, 'true'].join(', ')})`
  }

  #array(name: string): ArrayShape {
    const shape = this.#shape.arrays.get(name)
    if (shape === undefined) throw new Bug(`The loop body reaches ${name}, which is not among its arrays.`)
    return shape
  }

  #temporary(prefix: string): string {
    const name = `${prefix}${this.#temporaries++}`
    this.#declared.push(name)
    return name
  }
}
