/**
 * Law: a body that makes arrays of numbers for itself, goes through rows and lists with `for … of`, `reduce` and spreads, looks
 * numbers up in captured lists of lists, Maps and Sets, and calls methods of captured objects, is compiled, runs in parallel,
 * and gives the bits that it gives as plain JavaScript.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('localArrays.prop.ts')
const sessions = await Promise.all([1, 2, 3].map((workers) => Session.start({ workers, progress: false })))
afterAll(async () => {
  for (const session of sessions) await session.stop()
})

const ROWS = 30
const COLUMNS = 5

class Scale {
  readonly factor: number
  readonly weights: readonly number[]
  constructor(factor: number, weights: readonly number[]) {
    this.factor = factor
    this.weights = weights
  }
  of(v: number): number {
    return v * this.factor
  }
  dot(v: number): number {
    let sum = 0
    for (const w of this.weights) sum += this.of(w) * v
    return sum
  }
}

/** What bodies capture. */
const CAPTURED = {
  grid: [
    [1, 2.5, -3],
    [0.5, 8, 13],
  ],
  offsets: [
    [0, 1],
    [1, 0],
    [-1, 2],
  ],
  centers: [
    { x: 1.5, y: -1, size: 2 },
    { x: 0.25, y: 4, size: 3 },
    { x: -8, y: 0.5, size: 5 },
  ],
  table: new Map([
    [0, 1.5],
    [2, -2.25],
    [3, 1e-3],
  ]),
  stops: new Set([1, 4, 5]),
  scale: new Scale(0.75, [1, 0.5, -2]),
  helper: {
    k: 3,
    times(v: number): number {
      return v * this.k
    },
  },
}

interface Declared {
  readonly name: string
  readonly length: number
  /** Of a list of lists. */
  readonly columns?: number
  /** Its elements are whole, and wrap around. */
  readonly isWhole: boolean
}

/** Draws numbers that shrink with the list. */
class Drawn {
  private readonly numbers: readonly number[]
  private at = 0
  constructor(numbers: readonly number[]) {
    this.numbers = numbers
  }
  below(n: number): number {
    const drawn = this.numbers[this.at % this.numbers.length] ?? 0
    this.at++
    return drawn % n
  }
  of<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T // below their number
  }
}

/** Writes the text of a body. */
class BodyText {
  readonly used = new Set<string>()
  private readonly drawn: Drawn
  private names = 0

  constructor(numbers: readonly number[]) {
    this.drawn = new Drawn(numbers)
  }

  text(): string {
    const lines = this.block([], undefined, 3)
    return `([i], { x, y, M }) => {\n  let s = x.get(i)\n${lines}\n  y.set(i, s)\n}`
  }

  private name(wanted: string): string {
    return `${wanted}${this.names++}`
  }

  private block(outer: readonly Declared[], counter: { readonly name: string; readonly below: number } | undefined, depth: number): string {
    const arrays = [...outer]
    const lines: string[] = []
    const count = 1 + this.drawn.below(4)
    for (let i = 0; i < count; i++) {
      if (arrays.length === outer.length && (depth === 3 || this.drawn.below(3) === 0)) lines.push(this.declaration(arrays, counter))
      lines.push(this.statement(arrays, counter, depth))
    }
    return lines.join('\n')
  }

  private declaration(arrays: Declared[], counter: { readonly name: string; readonly below: number } | undefined): string {
    const name = this.name('a')
    const length = 2 + this.drawn.below(10)
    const value = (): string => this.value([...arrays], counter)
    const kind = this.drawn.below(9)
    this.used.add(['typed', 'whole', 'filled', 'literal', 'table', 'of', 'copied', 'from', 'alias'][kind] as string)
    switch (kind) {
      case 0:
        arrays.push({ name, length, isWhole: false })
        return `const ${name} = new Float64Array(${length})`
      case 1: {
        const type = this.drawn.of(['Int32Array', 'Uint8Array', 'Int16Array', 'Uint32Array'])
        arrays.push({ name, length, isWhole: true })
        return `const ${name} = new ${type}(${length})`
      }
      case 2: {
        const text = `const ${name} = new Array(${length}).fill(${value()})`
        arrays.push({ name, length, isWhole: false })
        return text
      }
      case 3: {
        const items = Array.from({ length: 3 }, value)
        arrays.push({ name, length: 3, isWhole: false })
        return `const ${name} = [${items.join(', ')}]`
      }
      case 4: {
        const items = Array.from({ length: 3 }, () => `[${value()}, ${value()}]`)
        arrays.push({ name, length: 3, columns: 2, isWhole: false })
        return `const ${name} = [${items.join(', ')}]`
      }
      case 5: {
        const items = Array.from({ length: 4 }, value)
        arrays.push({ name, length: 4, isWhole: false })
        return `const ${name} = Float32Array.of(${items.join(', ')})`
      }
      case 6: {
        const items = Array.from({ length: 2 }, value)
        arrays.push({ name, length: 2, isWhole: false })
        return `const ${name} = new Float64Array([${items.join(', ')}])`
      }
      case 7: {
        const k = this.name('k')
        const text = `const ${name} = Array.from({ length: ${this.drawn.of(['M.shape[1]', '5'])} }, (_, ${k}) => ${value()} - ${k})`
        arrays.push({ name, length: 5, isWhole: false })
        return text
      }
      default: {
        const of = arrays.at(-1)
        if (of === undefined) {
          arrays.push({ name, length: 4, isWhole: false })
          return `const ${name} = Array(4).fill(0)`
        }
        arrays.push({ ...of, name })
        return `const ${name} = ${of.name}`
      }
    }
  }

  /** A subscript that lies inside. */
  private subscript(length: number, counter: { readonly name: string; readonly below: number } | undefined): string {
    if (counter !== undefined && counter.below <= length && this.drawn.below(3) > 0) return counter.name
    return this.drawn.of([
      `${this.drawn.below(length)}`,
      `i % ${length}`,
      `(i + ${this.drawn.below(9)}) % ${length}`,
      `Math.abs(s | 0) % ${length}`,
    ])
  }

  private element({ name, length, columns }: Declared, counter: { readonly name: string; readonly below: number } | undefined): string {
    const at = `${name}[${this.subscript(length, counter)}]`
    return columns === undefined ? at : `${at}[${this.subscript(columns, undefined)}]`
  }

  private value(arrays: readonly Declared[], counter: { readonly name: string; readonly below: number } | undefined): string {
    const of = arrays.length === 0 ? undefined : this.drawn.of(arrays)
    switch (this.drawn.below(12)) {
      case 0:
        return 's'
      case 1:
        return 'x.get(i)'
      case 2:
        return `${this.drawn.below(100) / 8}`
      case 3:
        return of === undefined ? 'i' : `${this.element(of, counter)} * 0.5`
      case 4:
        return of === undefined ? '1' : `(${this.element(of, counter)} - ${this.drawn.below(9)})`
      case 5:
        this.used.add('grid')
        return this.drawn.of([
          `grid[i % 2][${this.drawn.of(['0', '2', 'i % 3'])}]`,
          'centers[i % 3].x',
          '(centers[2 - (i % 3)].size - centers[1].y)',
        ])
      case 6:
        this.used.add('map')
        return `(table.get(${this.drawn.of(['i % 5', 'i - 3'])}) ?? ${this.drawn.below(5)})`
      case 7:
        this.used.add('set')
        return `(stops.has(i % ${3 + this.drawn.below(6)}) ? 1 : x.get(i))`
      case 8:
        this.used.add('method')
        return this.drawn.of(['scale.of(x.get(i))', 'scale.dot(s)', 'helper.times(x.get(i))'])
      case 9:
        this.used.add('reduce')
        return this.drawn.of([
          'M.row(i).reduce((a, v) => a + v, 0)',
          'M.row(i).reduce((a, v, k, all) => a + v * k + all[0] * all.length, s)',
        ])
      case 10:
        this.used.add('spread')
        return of === undefined || of.columns !== undefined ? 'Math.max(...M.row(i))' : `Math.min(...${of.name})`
      default:
        return of === undefined || of.columns !== undefined ? 'M.get(i, 1)' : `${of.name}.reduce((a, v) => a * 0.5 + v, 1)`
    }
  }

  private statement(
    arrays: readonly Declared[],
    counter: { readonly name: string; readonly below: number } | undefined,
    depth: number,
  ): string {
    const value = (): string => this.value(arrays, counter)
    const of = arrays.length === 0 ? undefined : this.drawn.of(arrays)
    if (of === undefined) return `s += ${value()}`
    const at = this.element(of, counter)
    switch (this.drawn.below(depth > 0 ? 14 : 7)) {
      case 0:
        return `${at} = ${value()}`
      case 1:
        return `${at} += ${value()}`
      case 2:
        return `${at}++`
      case 3:
        return `s = s * 0.25 + ${at}`
      case 4:
        this.used.add('swap')
        return `;[${at}, ${this.element(of, counter)}] = [${this.element(of, counter)}, ${at}]`
      case 5:
        this.used.add('fill')
        return `${of.name}${of.columns === undefined ? '' : `[${this.subscript(of.length, counter)}]`}.fill(${value()})`
      case 6:
        return this.drawn.of([
          `if (${at} > ${this.drawn.below(20)}) s -= ${value()}`,
          `{ const { x: cx, y: cy } = centers[i % 3]; const [g, , h] = grid[i % 2]; ${at} = cx * g - cy + h }`,
        ])
      case 7:
      case 8: {
        const name = this.name('k')
        return `for (let ${name} = 0; ${name} < ${of.name}.length; ${name}++) {\n${this.block(arrays, { name, below: of.length }, depth - 1)}\n}`
      }
      case 9: {
        this.used.add('for of')
        const name = this.name('v')
        const over = of.columns === undefined ? of.name : `${of.name}[${this.subscript(of.length, counter)}]`
        const turn = this.drawn.of([`s = s * 0.5 + ${name}; ${at} = s`, `${at} = s; s = s * 0.5 + ${name}`])
        return `for (const ${name} of ${this.drawn.of([over, 'M.row(i)'])}) { ${turn} }`
      }
      case 10: {
        this.used.add('written out')
        const [a, b] = [this.name('p'), this.name('q')]
        const leave = this.drawn.of(['', `if (${a} === ${b} - 1) continue`, `if (s > ${this.drawn.below(50)}) break`])
        return `for (const [${a}, ${b}] of ${this.drawn.of(['offsets', '[[1, 2], [s, 3]]'])}) { ${leave}; s += ${a} * x.get(i) + ${b}; ${at} = ${a} }`
      }
      case 11: {
        this.used.add('written out')
        const name = this.name('d')
        const inner = this.name('k')
        return `for (const ${name} of [-1, s, 2]) { for (let ${inner} = 0; ${inner} < 3; ${inner}++) { if (${name} > ${inner}) continue; s += ${name} } ${at} += ${name} }`
      }
      case 12:
        return `if (x.get(i) > ${this.drawn.below(10) / 10}) {\n${this.block(arrays, counter, depth - 1)}\n}`
      default: {
        this.used.add('forEach')
        const [v, k] = [this.name('v'), this.name('k')]
        return of.columns === undefined ? `${of.name}.forEach((${v}, ${k}, all) => { s += ${v} * ${k} - all[${k}] })` : `s += ${value()}`
      }
    }
  }
}

type Body = (key: readonly number[], env: Record<string, unknown>) => void

function bodyOf(text: string): Body {
  const names = Object.keys(CAPTURED)
  // captured as by a function of a module: those that the text has
  const used = names.filter((name) => new RegExp(`\\b${name}\\b`).test(text))
  return new Function(...used, `return ${text}`)(...used.map((name) => CAPTURED[name as keyof typeof CAPTURED])) as Body
}

const START = Float64Array.from({ length: ROWS }, (_, i) => Math.fround(Math.sin(i * 12.9898) * 7))
const MATRIX = Float64Array.from({ length: ROWS * COLUMNS }, (_, i) => Math.cos(i * 78.233))

/** What plain JavaScript computes. */
function plain(body: Body): Float64Array {
  const y = new Float64Array(ROWS)
  const row = (i: number): Float64Array => MATRIX.subarray(i * COLUMNS, (i + 1) * COLUMNS)
  const env = {
    x: { get: (i: number) => START[i] },
    y: { set: (i: number, value: number) => void (y[i] = value) },
    M: { row, get: (i: number, k: number) => row(i)[k], shape: [ROWS, COLUMNS] },
  }
  for (let i = 0; i < ROWS; i++) body([i], env)
  return y
}

test('bodies with arrays of their own are compiled, run in parallel, and give the bits of plain JavaScript', async () => {
  const counts: Record<string, number> = {}
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(10_000), { minLength: 8, maxLength: 60 }), fc.nat(2), async (numbers, which) => {
      const writer = new BodyText(numbers)
      const text = writer.text()
      const session = sessions[which] as Session
      const expected = plain(bodyOf(text))
      const x = session.zeros([ROWS])
      const M = session.zeros([ROWS, COLUMNS])
      const y = session.zeros([ROWS])
      await session
        .loop(session.range(ROWS), { x, M, table: START, matrix: MATRIX }, ([i], { x, M, table, matrix }) => {
          x.set(i, table[i] as number)
          for (let k = 0; k < 5; k++) M.set(i, k, matrix[i * 5 + k] as number)
        })
        .run()
      const loop = session.loop(session.range(ROWS), { x, y, M }, bodyOf(text) as never)
      const target = loop.plan.kernel?.target
      expect(target, `${text}\n${JSON.stringify(loop.plan.kernel?.because)}`).not.toBe('as-is')
      expect(loop.plan.schedule.kind, text).toBe('independent')
      await loop.run()
      expect(await y.toTypedArray(), text).toStrictEqual(expected)
      for (const array of [x, y, M]) await array.release()
      for (const one of [...writer.used, `${target}`]) counts[one] = (counts[one] ?? 0) + 1
    }),
    RUN,
  )
  console.log(`local arrays: ${JSON.stringify(counts)}`)
  if (RUN.numRuns >= 500) expect(Math.min(...Object.values(counts))).toBeGreaterThan(RUN.numRuns / 100)
})
