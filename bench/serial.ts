/**
 * What a program has without the library, for a question of kernels.bench.ts:
 *
 *     as written    the bodies, called one iteration after another with dense arrays whose elements are reached by methods
 *     plain         the same written by hand over typed arrays
 *
 * It is a process of its own, as such a program would be, where nothing else has taught the engine's compiler other arrays
 * and bodies.
 *
 *     tsx bench/serial.ts NUMBER plain          the number of the question
 */
import type { Session } from 'distarray'
import { answer } from './answers.ts'
import { QUESTIONS } from './questions/all.ts'
import type { KernelQuestion, Numbers, PlainProgram } from './questions/question.ts'

class Vector {
  readonly data: Numbers
  constructor(data: Numbers) {
    this.data = data
  }
  get(i: number): number {
    return this.data[i]!
  }
  set(i: number, value: number): void {
    this.data[i] = value
  }
  add(i: number, by: number): void {
    this.data[i]! += by
  }
}

class Row {
  readonly data: Numbers
  readonly start: number
  constructor(data: Numbers, start: number) {
    this.data = data
    this.start = start
  }
  get(j: number): number {
    return this.data[this.start + j]!
  }
  set(j: number, value: number): void {
    this.data[this.start + j] = value
  }
}

class Matrix {
  readonly data: Numbers
  readonly width: number
  constructor(data: Numbers, width: number) {
    this.data = data
    this.width = width
  }
  get(i: number, j: number): number {
    return this.data[i * this.width + j]!
  }
  set(i: number, j: number, value: number): void {
    this.data[i * this.width + j] = value
  }
  add(i: number, j: number, by: number): void {
    this.data[i * this.width + j]! += by
  }
  row(i: number): Row {
    return new Row(this.data, i * this.width)
  }
}

/** Keys and values, side by side. */
interface Sparse {
  readonly rows: Int32Array
  readonly columns: Int32Array
  readonly values: Float64Array
}

const TYPED = { f64: Float64Array, f32: Float32Array, i32: Int32Array, u8: Uint8Array } as const

/** A dense array, with what only the building of a question asks for. */
function dense(shape: readonly number[], dtype: keyof typeof TYPED = 'f64', value = 0): Vector | Matrix {
  const data = new TYPED[dtype](shape.reduce((a, b) => a * b, 1)).fill(value)
  const array = shape.length === 1 ? new Vector(data) : new Matrix(data, shape[1] ?? 1)
  return Object.defineProperty(array, 'assign', { value: (_: unknown, values: Numbers) => data.set(values) })
}

type Body = (...args: unknown[]) => void

let loops = 0

/** Calls a body for all iterations. Each loop has a function of its own around it, as it has where it is written. */
function loopOver(over: readonly number[] | Sparse, env: object, body: Body): { readonly run: () => void } {
  const form = 'rows' in over ? 'sparse' : over.length === 1 ? 'line' : 'box'
  const text = {
    line: 'for (let i = 0; i < over[0]; i++) body([i], env)',
    box: 'for (let i = 0; i < over[0]; i++) for (let j = 0; j < over[1]; j++) body([i, j], env)',
    sparse: 'const { rows, columns, values } = over; for (let e = 0; e < values.length; e++) body(values[e], [rows[e], columns[e]], env)',
  }[form]
  const loop = new Function('over', 'env', 'body', `${text} // loop ${loops++}`) as (...args: unknown[]) => void // that text
  return { run: () => loop(over, env, body) }
}

function fromColumns(columns: Readonly<Record<string, Numbers>>) {
  const length = Object.values(columns)[0]?.length ?? 0
  const rows = Array.from({ length }, (_, i) => Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, column[i]!])))
  type RowOf = (typeof rows)[number]
  return {
    index: (keyOf: (row: RowOf) => readonly number[]) => ({
      map: (value: (row: RowOf) => number): Sparse => ({
        rows: Int32Array.from(rows, (row) => keyOf(row)[0]!),
        columns: Int32Array.from(rows, (row) => keyOf(row)[1]!),
        values: Float64Array.from(rows, value),
      }),
    }),
  }
}

/** Of a session, what questions use. */
const session = {
  zeros: (shape: readonly number[], options?: { readonly dtype?: keyof typeof TYPED }) => dense(shape, options?.dtype),
  fill: (shape: readonly number[], value: number, options?: { readonly dtype?: keyof typeof TYPED }) => dense(shape, options?.dtype, value),
  range: (...extents: number[]) => extents,
  loop: loopOver,
  fromColumns,
} as unknown as Session // as far as questions know one

const make = QUESTIONS[Number(process.argv[2])]
if (make === undefined) throw new Error(`There is no question ${process.argv[2]}.`)
const { pass, results } = process.argv[3] === 'plain' ? make().plain() : await asWritten(make())
await answer(pass, results)

async function asWritten(question: KernelQuestion): Promise<PlainProgram> {
  const { loops, results } = await question.program(session, 'exact')
  const pass = () => {
    for (const loop of loops) void loop.run()
  }
  return { pass, results: (results as unknown as readonly (Vector | Matrix)[]).map(({ data }) => data) } // made above
}
