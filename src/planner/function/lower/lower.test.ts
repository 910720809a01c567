import { expect, test } from 'vitest'
import { PlanError } from '../../../core/errors.ts'
import { irText } from '../irText.ts'
import { lowerFunction, returnedElement } from '../userFunction.ts'
import type { LowerContext } from './context.ts'

const ROW: LowerContext = {
  kind: 'row',
  method: 'filter',
  inputs: [
    {
      kind: 'row',
      fields: [
        { name: 'user', type: { kind: 'i32' }, nullable: false },
        { name: 'movie', type: { kind: 'i32' }, nullable: true },
        { name: 'stars', type: { kind: 'f64' }, nullable: false },
        { name: 'name', type: { kind: 'utf8' }, nullable: true },
        { name: 'tags', type: { kind: 'list', item: { kind: 'utf8' } }, nullable: false },
        { name: 'at', type: { kind: 'timestamp', unit: 'ms' }, nullable: false },
        { name: 'big', type: { kind: 'i64' }, nullable: false },
      ],
    },
  ],
  key: { argument: 1, rank: 1 },
}
const env = {
  W: { kind: 'array' },
  H: { kind: 'array' },
  G: { kind: 'buffer' },
  loss: { kind: 'accumulator' },
  rng: { kind: 'rng' },
  rate: { kind: 'constant', value: 0.5 },
  index: { kind: 'constant', value: Int32Array.of(3, 1, 2) },
  square: { kind: 'constant', value: (x: number) => x * x },
} as const
const LOOP: LowerContext = {
  kind: 'loop',
  isRange: false,
  rank: 2,
  overElement: { kind: 'scalar', type: { kind: 'f64' }, nullable: false },
  env,
}
const RANGE: LowerContext = { kind: 'loop', isRange: true, rank: 2, env }

// biome-ignore lint/suspicious/noExplicitAny: the functions here stand for any user's, whose types are gone by now
type Untyped = (...args: any[]) => unknown

function lower(f: Untyped, context: LowerContext): string {
  const { fn } = lowerFunction(f as never, context)
  return fn.ir === undefined ? fn.refusals.map((one) => `${one.message} ${one.cure}`).join('\n') : irText(fn.ir)
}
/** For what the type checker or the linter would not let pass. */
const written = (source: string): Untyped => new Function(`return ${source}`)() as Untyped
const row = (f: Untyped): string => lower(f, ROW)
const loop = (f: Untyped): string => lower(f, LOOP)
const range = (f: Untyped): string => lower(f, RANGE)

const K = 8
const config = {
  rate: 0.25,
  deep: { power: 2 },
  get late() {
    return 1
  },
}
const table = [1, 2, 3]
const word = 'abc'
let total = 0
const clamp = (x: number, low: number): number => {
  if (x < low) return low
  return x
}
const find = (xs: ArrayLike<number>, x: number): number => {
  for (let i = 0; i < xs.length; i++) if (xs[i] === x) return i
  return -1
}
function factorial(n: number): number {
  return n <= 1 ? 1 : n * factorial(n - 1)
}

test('parameters of every form', () => {
  expect(row((r) => r.stars)).toBe('return #0.stars')
  expect(row(({ stars, movie: m = 3 }) => stars + m)).toBe('let m = ((#0.movie === undefined) ? 3 : #0.movie)\nreturn (#0.stars + m)')
  expect(row(written("(r, [i]) => r['stars'] + i"))).toBe('return (#0.stars + @0)')
  expect(row((_r, key) => key[0] + key.length)).toBe('return (@0 + 1)')
  expect(row((_r, key) => key)).toBe('return [@0]')
  expect(loop((v, [i, j], { W, H: h }) => W.get(i, j) * h.get(j, i) + v)).toBe('return ((W[@0, @1] * H[@1, @0]) + #0)')
  expect(
    loop((_v, key, env) => {
      const [i, j] = key
      env.W.set(...key, env.H.get(j, i))
    }),
  ).toBe('W[@0, @1] = H[@1, @0]')
  expect(
    row(
      {
        m(r: { stars: number }) {
          return r.stars
        },
      }.m,
    ),
  ).toBe('return #0.stars')
  expect(row((...all) => all)).toBe('It takes its arguments as a list. Name each parameter.')
})

test('rows: spread, rest, and literals returned', () => {
  expect(row(({ user, movie, ...rest }) => ({ ...rest, user: user + 1 }))).toBe(
    'return { stars: #0.stars, name: #0.name, tags: #0.tags, at: #0.at, big: #0.big, user: (#0.user + 1) }',
  )
  expect(row((r) => [r.user, r.movie])).toBe('return [#0.user, #0.movie]')
  expect(row((r) => (r.stars > 2 ? { a: 1 } : { a: 2 }))).toBe('return ((#0.stars > 2) ? { a: 1 } : { a: 2 })')
  expect(
    row((r) => {
      const p = { x: r.stars, y: [1, 2] }
      return p.x + p.y[1]!
    }),
  ).toBe('return (#0.stars + 2)')
  expect(
    row((r) => {
      const p = { x: 1 }
      p.x = r.stars
      return p
    }),
  ).toBe(['let p_x = 1', 'p_x = #0.stars', 'return { x: p_x }'].join('\n'))
  expect(
    row((r) => {
      r.stars = 1
      return r
    }),
  ).toBe('It changes r. Return a new value, as ({ ...row, x: 1 }).')
})

test('captures become parameters, tables and inlined functions', () => {
  expect(row((r) => r.stars * config.rate ** config.deep.power)).toBe('return (#0.stars * ($config.rate ** $config.deep.power))')
  expect(row((r) => table[r.user]! + table.length)).toBe('return ($table[#0.user] + $table.length)')
  expect(row((r) => word[r.user] === 'b')).toBe('return ($word$1[#0.user] === "b")')
  expect(row((r) => table.includes(r.user))).toBe(
    'return (((#0.user === $table[0]) || (#0.user === $table[1])) || (#0.user === $table[2]))',
  )
  expect(row((r) => clamp(r.stars, K))).toBe('return ((#0.stars < $K) ? $K : #0.stars)')
  expect(loop((v, [i], { rate, index, square }) => square(v + rate) + index[i])).toBe('return (((#0 + $rate) * (#0 + $rate)) + $index[@0])')
  expect(row((r) => config.late + r.stars)).toBe(
    'The captured object config is not a constant that the plan can read. Capture its numbers, a typed array, or plain objects and lists of these, whose elements have the same fields.',
  )
  expect(row((r) => factorial(r.user))).toMatch(/factorial calls itself\. Write it as a loop; where calls are still to be made,/)
})

test('captured values are read at every call', () => {
  let limit = 1
  const f = (r: { stars: number }): boolean => r.stars > limit
  expect(lowerFunction(f as never, ROW).fn.ir?.parameters).toEqual([{ name: 'limit', value: 1, origin: 'capture' }])
  limit = Number.NaN
  expect(lowerFunction(f as never, ROW).fn.ir?.parameters).toEqual([{ name: 'limit', value: Number.NaN, origin: 'capture' }])
})

test('helpers with early returns and loops', () => {
  expect(row((r) => find(table, r.user))).toBe(
    `let result
call:
  for i from 0 to $table.length by 1
    if ($table[i] === #0.user)
      result = i
      break call
  result = -1
  break call
return result`,
  )
})

test('views leave no trace', () => {
  expect(
    loop((v, [u, m], { W, H }) => {
      const w = W.row(u)
      const h = H.row(m + 1)
      let s = 0
      for (let k = 0; k < w.length; k++) s += w[k] * h.get(k)
      w[0] += s * v
      h.add(1, v)
      h[2]++
    }),
  ).toBe(
    `let s = 0
for k from 0 to W.shape[1] by 1
  s = (s + (W[@0, k] * H[(@1 + 1), k]))
W[@0, 0] = (W[@0, 0] + (s * #0))
H[(@1 + 1), 1] += #0
H[(@1 + 1), 2] = (H[(@1 + 1), 2] + 1)`,
  )
  expect(
    loop((v, [i, j], { W }) => {
      const w = v > 0 ? W.row(i) : W.row(j)
      w[0] = 1
    }),
  ).toBe('let row = ((#0 > 0) ? @0 : @1)\nW[row, 0] = 1')
  expect(
    loop((v, [i, j], { W, H }) => {
      const w = v > 0 ? W.row(i) : H.row(j)
      w[0] = 1
    }),
  ).toBe('It chooses between row views. Choose the row number instead, as W.row(c ? i : j).')
  expect(
    loop((_v, [i], { W }) => {
      let w = W.row(i)
      w = W.row(0)
      w[0] = 1
    }),
  ).toBe('let w_row = @0\nw_row = 0\nW[w_row, 0] = 1')
  expect(
    loop((_v, [i], { W, H }) => {
      let w = W.row(i)
      w = H.row(0)
      w[0] = 1
    }),
  ).toBe(
    'It assigns w, which is a view, a function or an object. Use a const for each, or keep objects in a list, and the index of the present one in w.',
  )
  expect(
    loop((_v, [i], { W }) => {
      for (const x of W.row(i)) W.set(i, 0, x)
    }),
  ).toBe('for index$1 from 0 to W.shape[1] by 1\n  let x = W[@0, index$1]\n  W[@0, 0] = x')
})

test('a row number that may change is kept', () => {
  expect(
    loop((_v, [i], { W, H }) => {
      let u = H.get(i, 0)
      const w = W.row(u)
      u = 0
      w[u] = 1
    }),
  ).toBe('let u = H[@0, 0]\nlet row = u\nu = 0\nW[row, u] = 1')
})

test('buffers, accumulators, generators', () => {
  expect(
    loop((v, [i], { G, loss, rng }) => {
      G.add(i, rng.uniform() * v)
      loss.add(G.get(i) + rng.int(6))
    }),
  ).toBe('G[@0] += (rng.uniform() * #0)\nloss <- (G[@0] + rng.int(6))')
  expect(
    loop((v, [i], { G }) => {
      G.set(i, v)
    }),
  ).toBe(
    'It calls the method G.set. Compute it before the call and capture the result, or use index reads and writes, get, set, add, and methods of strings, numbers and dates.',
  )
  expect(
    loop((v, _k, { loss }) => {
      if (loss.value > v) loss.add(1)
    }),
  ).toBe('It uses loss.value as a value. Call its methods, as loss.value.get(i).')
})

test('effects inside expressions keep their order', () => {
  expect(
    range(([i], { W }) => {
      let n = 0
      W.set(n++, W.get(i), n)
    }),
  ).toBe('let n = 0\nlet old = n\nn = (old + 1)\nW[old, W[@0]] = n')
  expect(
    range(([i], { W }) => {
      let x = W.get(i)
      const y = x + (x = 2)
      W.set(i, y)
    }),
  ).toBe('let x = W[@0]\nlet temp = x\nx = 2\nlet y = (temp + x)\nW[@0] = y')
  expect(
    range(([i], { W }) => {
      let x = 1
      if (i > 0 && (x = W.get(i)) > 2) W.set(i, x)
    }),
  ).toBe(
    `let x = 1
let temp = (@0 > 0)
if temp
  x = W[@0]
  temp = (x > 2)
if temp
  W[@0] = x`,
  )
})

test('loops of every form', () => {
  expect(
    range(([i], { W }) => {
      for (let k = 10; k >= 0; k -= 2) W.set(i, k, 0)
    }),
  ).toBe('for k from 10 to -1 by -2\n  W[@0, k] = 0')
  expect(
    range(([i], { W }) => {
      for (let k = 0; k <= i; k++) W.set(i, k, 0)
    }),
  ).toBe('for k from 0 to (@0 + 1) by 1\n  W[@0, k] = 0')
  const last = 7
  expect(
    range(([i], { W }) => {
      for (let k = 1; k <= last - 1; k++) W.set(i, k, 0)
    }),
  ).toBe('for k from 1 to (Math.floor(($last - 1)) + 1) by 1\n  W[@0, k] = 0')
  expect(
    range(([i], { W }) => {
      let k = i
      while (k > 0) {
        k = k >> 1
        if (k === 3) break
      }
      W.set(i, k)
    }),
  ).toBe('let k = @0\nwhile (k > 0)\n  k = (k >> 1)\n  if (k === 3)\n    break\nW[@0] = k')
  expect(
    range(([i], { W }) => {
      let k = 0
      while (k++ < 3) W.add(i, k)
    }),
  ).toBe('let k = 0\nwhile\n  let old = k\n  k = (old + 1)\n  if !(old < 3)\n    break\n  W[@0] += k')
  expect(
    range(([i], { W }) => {
      let k = 0
      do {
        k += 2
      } while (k < i)
      W.set(i, k)
    }),
  ).toBe('let k = 0\ndo while (k < @0)\n  k = (k + 2)\nW[@0] = k')
  expect(
    range(([i], { W }) => {
      for (const x of table) W.add(i, x)
    }),
  ).toBe('for index$1 from 0 to $table.length by 1\n  let x = $table[index$1]\n  W[@0] += x')
  expect(
    range(([i], { W }) => {
      outer: for (let a = 0; a < 2; a++) for (let b = 0; b < 2; b++) if (W.get(a, b) > i) continue outer
    }),
  ).toBe('outer: for a from 0 to 2 by 1\n  for b from 0 to 2 by 1\n    if (W[a, b] > @0)\n      continue outer')
  expect(
    range(([i], { W }) => {
      for (const k in table) W.set(i, k)
    }),
  ).toBe('It loops over the names of an object. Loop over numbers, as for (let i = 0; i < n; i++).')
})

test('what grows without bound once it is written out is refused', () => {
  const levels = Array.from({ length: 40 }, (_, i) => `const f${i} = (x) => f${i - 1}(x) + f${i - 1}(x)`).slice(1)
  expect(row(written(`(r) => { const f0 = (x) => x; ${levels.join('; ')}; return f39(r.stars) }`))).toBe(
    'It is too large once the functions it calls are written out. Call fewer functions, or split the loop.',
  )
})

test('parts of a literal that are not taken are evaluated all the same', () => {
  expect(
    range(([i], { W }) => {
      W.set(i, 0, [W.get(i, 9), i][1])
    }),
  ).toBe('let temp = W[@0, 9]\nW[@0, 0] = @0')
  expect(
    range(([i], { W }) => {
      W.set(i, 0, { p: { q: i, r: W.get(i, 9) }, s: 1 }.s)
    }),
  ).toBe('let temp = W[@0, 9]\nW[@0, 0] = 1')
  expect(
    range(([i], { W }) => {
      const base = { p: W.get(i, 8) }
      const last: { q?: number } = { q: i }
      const whole = { ...base, q: W.get(i, 9), ...last }
      W.set(i, 0, whole.p + whole.q)
    }),
  ).toBe('let temp = W[@0, 8]\nlet temp$1 = W[@0, 9]\nW[@0, 0] = (temp + @0)')
})

test('switch', () => {
  expect(
    row((r) => {
      switch (r.user) {
        case 1:
        case 2:
          return 'few'
        default:
          return 'many'
      }
    }),
  ).toBe('if ((#0.user === 1) || (#0.user === 2))\n  return "few"\nelse\n  return "many"')
  expect(row(written('(r) => { let s = 0; switch (r.user) { case 1: s = 1; case 2: s = 2 } return s }'))).toBe(
    'let s = 0\nif (#0.user === 1)\n  s = 1\n  s = 2\nelse\n  if (#0.user === 2)\n    s = 2\nreturn s',
  )
})

test('guards are comparisons, whichever way they are written', () => {
  const expected = 'if ((@0 !== 0) && (@1 !== 0))\n  W[@0, @1] = W[(@0 - 1), @1]'
  expect(
    range(([i, j], { W }) => {
      if (i === 0 || j === 0) return
      W.set(i, j, W.get(i - 1, j))
    }),
  ).toBe(expected)
  expect(
    range(([i, j], { W }) => {
      if (i !== 0) {
        if (j !== 0) W.set(i, j, W.get(i - 1, j))
      }
    }),
  ).toBe(expected)
  expect(
    range(([i, j], { W }) => {
      i !== 0 && j !== 0 && W.set(i, j, W.get(i - 1, j))
    }),
  ).toBe(expected)
})

test('strings, dates, templates, optional chains', () => {
  expect(row((r) => `${r.name?.trim() ?? 'none'}!`)).toBe('return (String((#0.name?.trim() ?? "none")) + "!")')
  expect(row((r) => r.name?.length)).toBe('return #0.name?.length')
  expect(row((r) => r.name?.slice(1).length)).toBe('return ((#0.name == null) ? undefined : #0.name.slice(1).length)')
  expect(row((r) => r.at.getUTCHours() + Math.PI)).toBe(`return (#0.at.getUTCHours() + ${Math.PI})`)
  expect(row((r) => r.tags.length)).toBe('return #0.tags.length')
  expect(row((r) => r.tags.lastIndexOf('a'))).toBe(
    'It uses lastIndexOf of a value that may not be a string. Make a text of it, as String(x), where it should be one; lists of columns that are asked for it run as JavaScript.',
  )
  expect(row((r) => /x.*/i.test(r.name))).toBe('return /x.*/i.test(#0.name)')
  const seen = /a\/b/
  expect(row((r) => !seen.test(`${r.name}!`))).toBe('return !/a\\/b/.test((String(#0.name) + "!"))')
  const again = /a/y
  const named = Object.assign(/a/, { of: 'a' })
  const REGEX =
    'It uses a regular expression. Use test and exec without the flags g and y; with g, write it out in replace, replaceAll, match or split of a text.'
  expect(row((r) => /x/g.test(r.name))).toBe(REGEX)
  expect(row((r) => /x/g.exec(r.name) === null)).toBe(REGEX)
  expect(row((r) => r.name.match(/x/) === null)).toBe('return (#0.name.match(/x/) === null)')
  expect(row((r) => again.test(r.name))).toMatch(/again/)
  expect(row((r) => named.test(r.name))).toMatch(/named/)
})

test('increments are for numbers and bigints', () => {
  expect(
    row((r) => {
      let n = r.user
      n++
      return n
    }),
  ).toBe('let n = #0.user\nn = (n + 1)\nreturn n')
  expect(
    row((r) => {
      let n: bigint = r.big
      let m = 0n
      m += n--
      return m
    }),
  ).toBe('let n = #0.big\nlet m = 0n\nlet temp = m\nlet old = n\nn = (old - 1n)\nm = (temp + old)\nreturn m')
  expect(
    row((r) => {
      let n = r.user > 1 ? r.big : r.user
      n++
      return n
    }),
  ).toBe('It increments n, which may not be a number. Write n = Number(n) + 1.')
})

test('throw', () => {
  expect(
    row((r) => {
      if (r.stars < 0) throw new RangeError(`negative: ${r.stars}`)
      return r.stars
    }),
  ).toBe('if (#0.stars < 0)\n  throw RangeError(("negative: " + String(#0.stars)))\nreturn #0.stars')
  expect(
    row((r) => {
      if (r.stars < 0) throw 'negative'
      return r.stars
    }),
  ).toMatch(/It throws something other than a new Error\. Write throw new Error\('…'\)\.$/)
})

test('what has effects outside is refused by name, each with its cure', () => {
  expect(
    range(([i]) => {
      total += i
    }),
  ).toBe("It assigns the captured variable total. Use an accumulator in env, as { total: session.accumulator('sum') }, and total.add(x).")
  expect(
    range(([i]) => {
      table[i] = 1
    }),
  ).toBe('It changes the captured object table. Put an array in env, as { total: session.zeros([1]) }, and write to it.')
  expect(
    range(([i], { W }) => {
      W.set(i, Math.random())
    }),
  ).toBe('It calls Math.random, which no run can repeat. Use a generator in env, as { rng: session.rng(1) }, and rng.uniform().')
  expect(
    range(([i], { W }) => {
      W.set(i, Date.now())
    }),
  ).toBe('It reads the clock. Read the clock once before the call and capture the number.')
  expect(
    range(([i]) => {
      console.log(i)
    }),
  ).toBe('It prints. Print what the run returns, or count with an accumulator.')
  expect(
    range(([i]) => {
      table.push(i)
    }),
  ).toBe(
    'It calls the method table.push. Compute it before the call and capture the result, or use index reads and writes, get, set, add, and methods of strings, numbers and dates.',
  )
  expect(
    range(([i], { W }) => {
      try {
        W.set(i, 1)
      } catch {
        W.set(i, 2)
      }
    }),
  ).toBe('It catches what W may throw. Test for the failure with an if, or let the exception end the run.')
  expect(range(([i], { V }) => V.set(i, 1))).toBe('There is no V in env. Add it to env, as { V }.')
  expect(total).toBe(0)
})

test('all refusals of a function are listed, in order', () => {
  expect(
    range(([i], { W }) => {
      console.log(i)
      W.set(i, Math.random())
    }),
  ).toBe(
    'It prints. Print what the run returns, or count with an accumulator.\nIt calls Math.random, which no run can repeat. Use a generator in env, as { rng: session.rng(1) }, and rng.uniform().',
  )
})

test('closures over loop variables, shadowing, hoisting', () => {
  expect(
    range(([i], { W }) => {
      for (let k = 0; k < 2; k++) {
        const at = (): number => k + i
        const k2 = at()
        {
          const k = k2 * 2
          W.set(k, at())
        }
      }
    }),
  ).toBe('for k from 0 to 2 by 1\n  W[((k + @0) * 2)] = (k + @0)')
  expect(row(written('(r) => { if (r.stars > 1) { var x = r.user } return x }'))).toBe('let x\nif (#0.stars > 1)\n  x = #0.user\nreturn x')
  expect(
    row((r) => {
      const f = (): number => late
      const y = f()
      const late = r.stars
      return y
    }),
  ).toMatch(/It may use late before its declaration\. Declare it first\.$/)
})

test('a column that does not exist is an error with the nearest names', () => {
  // biome-ignore lint/suspicious/noExplicitAny: a wrong name on purpose
  const call = (): unknown => lowerFunction(((r: any) => r.star > 1) as never, ROW)
  expect(call).toThrow(PlanError)
  expect(call).toThrow(
    'There is no column "star" in the rows of filter. Did you mean "stars"? The columns are user, movie, stars, name, tags, at, big.\n  1:8  r.star',
  )
})

test('places count from 1 within the function', () => {
  const f = new Function('return (r) => {\n  const x = r.stars\n  console.log(x)\n  return /x/\n}')() as Untyped
  expect(lowerFunction(f as never, ROW).fn.refusals.map((one) => one.span)).toEqual([
    { line: 3, column: 3, text: 'console.log(x)' },
    { line: 4, column: 10, text: '/x/' },
  ])
})

test('async row lambdas are an error, async bodies are reported', () => {
  expect(() => lowerFunction((async (r: number) => r) as never, ROW)).toThrow(
    'filter: the function is async, but elements are computed synchronously.\n  async (r) => r\nAwait before the call and capture the result.',
  )
  expect(lowerFunction((async (r: number) => r) as never, LOOP).isAsync).toBe(true)
})

test('captured handles join the loop under names of their own', () => {
  const W = { handle: 1 }
  const context: LowerContext = { ...LOOP, classify: (value) => (value === W ? { kind: 'array' } : undefined) }
  // biome-ignore lint/suspicious/noExplicitAny: a handle of the session, seen from inside a loop
  const array = W as any
  const lowered = lowerFunction(
    ((v: number, [i]: number[], { W: mine }: { W: typeof array }) => mine.set(i, array.get(i) + v)) as never,
    context,
  )
  expect(lowered.fn.ir === undefined ? '' : irText(lowered.fn.ir)).toBe('W[@0] = (array[@0] + #0)')
  expect([...lowered.captured]).toEqual([['array', W]])
})

test('what a function returns, where it is certain', () => {
  const returned = (f: Untyped): unknown => returnedElement(lowerFunction(f as never, ROW).fn, ROW)
  const f64 = { kind: 'f64' }
  expect(returned((r) => r.stars > 1)).toEqual({ kind: 'scalar', type: { kind: 'bool' }, nullable: false })
  expect(returned((r) => r.user)).toEqual({ kind: 'scalar', type: { kind: 'i32' }, nullable: false })
  expect(returned((r) => r.user + 1)).toEqual({ kind: 'scalar', type: f64, nullable: false })
  expect(returned((r) => r.movie ?? 0)).toEqual({ kind: 'scalar', type: f64, nullable: false })
  expect(returned((r) => (r.stars > 1 ? r.movie : null))).toEqual({ kind: 'scalar', type: { kind: 'i32' }, nullable: true })
  expect(returned((r) => (r.stars > 1 ? r.name : 0))).toEqual({ kind: 'unknown' })
  expect(returned((r) => r.big * 2n)).toEqual({ kind: 'scalar', type: { kind: 'i64' }, nullable: false })
  expect(returned((r) => [r.user, r.stars])).toEqual({ kind: 'scalar', type: { kind: 'list', item: f64 }, nullable: false })
  expect(returned(written('(r) => { if (r.stars > 1) return 1 }'))).toEqual({ kind: 'scalar', type: f64, nullable: true })
  expect(returned(({ user, at, stars }) => ({ user, at, half: stars / 2, inner: { stars } }))).toEqual({
    kind: 'row',
    fields: [
      { name: 'user', type: { kind: 'i32' }, nullable: false },
      { name: 'at', type: { kind: 'timestamp', unit: 'ms' }, nullable: false },
      { name: 'half', type: f64, nullable: false },
      { name: 'inner', type: { kind: 'struct', fields: [{ name: 'stars', type: f64, nullable: false }] }, nullable: false },
    ],
  })
  expect(
    returned((r) => {
      let x = 0
      for (let i = 0; i < r.user; i++) x = r.name
      return x
    }),
  ).toEqual({ kind: 'unknown' })
})

test('captured Dates and those written out are numbers to what makes numbers of them', () => {
  const from = new Date('1994-01-01')
  const range = { to: new Date('1995-01-01T12:00:00Z') }
  expect(row((r) => r.at >= from && range.to > r.at)).toMatchInlineSnapshot(`"return ((#0.at >= $from) && ($range.to > #0.at))"`)
  expect(row((r) => r.at - (from as never) > +range.to - Number.parseInt('1', 10))).toMatchInlineSnapshot(
    `"return ((#0.at - $from) > (+$range.to - parseInt("1", 10)))"`,
  )
  expect(row((r) => r.stars + from.getUTCFullYear() + from.getTime())).toMatchInlineSnapshot(
    `"return ((#0.stars + $from.getUTCFullYear()) + $from)"`,
  )
  expect(row((r) => r.at < new Date('1994-01-01') || r.at > new Date(5))).toMatchInlineSnapshot(
    `"return ((#0.at < 757382400000) || (#0.at > 5))"`,
  )
  const inHelper = (at: Date, start: Date) => at >= start
  expect(row((r) => inHelper(r.at, from))).toMatchInlineSnapshot(`"return (#0.at >= $from)"`)
})

test('a Date that is used as an object is refused, and so is one whose text depends on the time zone', () => {
  const from = new Date('1994-01-01')
  const marked = Object.assign(new Date(0), { rate: 1 })
  expect(row((r) => r.at === from)).toBe(
    'from is used as an object, not as a point in time. Compare it with < or >, subtract it, or take its getTime().',
  )
  expect(row((r) => `${r.name}${String(from)}`)).toMatchInlineSnapshot(
    `"from is used as an object, not as a point in time. Compare it with < or >, subtract it, or take its getTime()."`,
  )
  expect(row((r) => r.stars + (from as never))).toMatchInlineSnapshot(
    `"from is used as an object, not as a point in time. Compare it with < or >, subtract it, or take its getTime()."`,
  )
  expect(row((r) => r.stars > from.getFullYear())).toBe('return (#0.stars > $from.getFullYear())')
  expect(row((r) => r.stars > from.getTimezoneOffset())).toMatchInlineSnapshot(
    `"It calls the method from.getTimezoneOffset. Compute it before the call and capture the result, or use index reads and writes, get, set, add, and methods of strings, numbers and dates."`,
  )
  expect(row((r) => r.at > marked)).toMatchInlineSnapshot(
    `"The captured object marked is not a constant that the plan can read. Capture its numbers, a typed array, or plain objects and lists of these, whose elements have the same fields."`,
  )
  expect(row((r) => r.at > new Date('1994-01-01T00:00'))).toMatchInlineSnapshot(
    `"It makes an object with new. Use plain numbers, arrays of numbers as new Float64Array(n), or make the object outside and capture its numbers."`,
  )
})

test('a Date of a number is made where the function runs, and one of constants before', () => {
  const [from, days] = [new Date('1994-01-01'), 3.5]
  expect(row((r) => r.at > new Date(r.stars))).toBe('return (#0.at > new Date(#0.stars))')
  expect(row((r) => ({ a: new Date(r.at), b: new Date(r.movie ?? r.stars * 2).getUTCDay() }))).toBe(
    'return { a: new Date(#0.at), b: new Date((#0.movie ?? (#0.stars * 2))).getUTCDay() }',
  )
  expect(row((r) => r.at > new Date(Date.UTC(2024, 1)) || r.at > new Date(days) || r.at > new Date(from))).toBe(
    'return (((#0.at > 1706745600000) || (#0.at > $new Date(days))) || (#0.at > $from))',
  )
  expect(row((r) => (r.stars > 1 ? from : (r.at ?? new Date(0))))).toBe(
    'return ((#0.stars > 1) ? new Date($from) : (#0.at ?? new Date(0)))',
  )
  expect(row((r) => new Date(r.name) > r.at || Date.parse(r.name) > 5)).toBe(
    'return ((new Date(#0.name) > #0.at) || (Date.parse(#0.name) > 5))',
  )
  expect(row((r) => new Date(r.tags))).toBe(
    'In new Date(r.tags) it is not known to be a text or a number that it makes a time of. Say which, as new Date(Number(x)) or new Date(String(x)).',
  )
  expect(row((r) => Date.parse(r.stars))).toBe(
    'In Date.parse(r.stars) it is not known to be a text or a number that it makes a time of. Say which, as new Date(Number(x)) or new Date(String(x)).',
  )
  expect(loop((stars, [u], { W }) => W.set(u, 0, Date.parse(stars)))).toContain('It calls Date.parse')
  expect(row((r) => (r.stars > 1 ? from : r.at) === r.at)).toBe(
    'It asks whether two Dates are the same object. Compare their times, as a.getTime() === b.getTime().',
  )
  expect(row((r) => new Date(r.stars).setUTCHours(0))).toContain('It calls the method setUTCHours.')
  expect(loop((stars, [u], { W }) => W.set(u, 0, new Date(stars).getTime()))).toBe(
    'let time = #0\nlet time$1 = ((Math.abs(time) <= 8640000000000000) ? (Math.trunc(time) + 0) : NaN)\nW[@0, 0] = time$1',
  )
  expect(loop((_, [u], { W }) => W.set(u, 0, new Date(2024, u).getTime()))).toBe(
    'new Date(2024, u) follows the time zone of the process, which another may not share. Use the getUTC… methods, and new Date(Date.UTC(year, month, day)).',
  )
  const returned = lowerFunction(((r: { readonly stars: number }) => ({ at: new Date(r.stars) })) as never, ROW).fn
  expect(returnedElement(returned, ROW)).toEqual({
    kind: 'row',
    fields: [{ name: 'at', type: { kind: 'timestamp', unit: 'ms' }, nullable: false }],
  })
})

test('functions of constants are folded to what they give', () => {
  expect(row((r) => r.stars * Math.sqrt(2) + Math.max(1, Math.exp(-0.5)))).toBe('return ((#0.stars * 1.4142135623730951) + 1)')
  expect(row((r) => r.stars / Math.round(-0.2) + Math.min(r.stars, Math.hypot()))).toBe('return ((#0.stars / -0) + Math.min(#0.stars, 0))')
})

test('a function whose name may be one that all objects have is not chosen by its name', () => {
  const ops = { half: (v: number) => v / 2, toFixed: (v: number) => Math.round(v) }
  const [own, inherited] = [
    ['half', 'toFixed'],
    ['half', 'valueOf'],
  ]
  expect(loop((_, [u], { W }) => W.set(u, 0, ops[own[u] as 'half'](u)))).toMatch(/^let which = /)
  expect(loop((_, [u], { W }) => W.set(u, 0, ops[inherited[u] as 'half'](u)))).toMatch(/^It computes the name of a field\./)
})

test('lists and objects of constants that are written out are looked up as captured ones are', () => {
  expect(row((r) => ['a', 'b'].includes(r.name))).toBe('return ((#0.name === $list[0]) || (#0.name === $list[1]))')
  expect(row((r) => [1, Number.NaN, null].includes(r.movie))).toBe('return (find #0.movie in $list_keys)')
  expect(row((r) => ['zero', 'one'][r.movie ?? 0] ?? 'more')).toBe('return ($list[(#0.movie ?? 0)] ?? "more")')
  expect(row((r) => ({ a: 1, b: -2 })[r.name as 'a'] ?? 0)).toBe('return ($object_values[find #0.name in $object_keys] ?? 0)')
  // their parts are those of the row
  expect(row((r) => [r.stars, 5].includes(3))).toBe('return (#0.stars === 3)')
})

test('a power is computed once, however often what it gives is used', () => {
  expect(
    loop((v, [i], { W }) => {
      const scale = 2 ** -v
      const square = v ** 2
      W.set(i, 0, scale * square + square / scale)
    }),
  ).toBe('let scale = (2 ** -#0)\nW[@0, 0] = ((scale * (#0 ** 2)) + ((#0 ** 2) / scale))')
})
