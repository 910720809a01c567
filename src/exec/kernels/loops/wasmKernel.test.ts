import { afterAll, beforeAll, expect, test } from 'vitest'
import { type RowView, Session } from '../../../index.ts'
import { modulesCompiled } from '../../wasm/moduleCache.ts'
import { moduleBytes } from '../../wasm/wasmEncoder.ts'

let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 2, progress: false })
})
afterAll(() => session.stop())

test('a module of nothing validates', () => {
  expect(WebAssembly.validate(moduleBytes({ imports: [], parameters: ['i32', 'f64'], locals: ['i32', 'i32', 'v128'], body: [] }))).toBe(
    true,
  )
})

const K = 20

/** A step of a matrix factorization over 400 ratings; the rank is a multiple of no vector's width. */
function factorization(rate: () => number, precision: 'exact' | 'fast', on = session) {
  const ratings = on
    .fromRows(Array.from({ length: 400 }, (_, i) => ({ user: i % 23, movie: (i * 7) % 19, stars: (i % 5) + 0.5 })))
    .index((r) => [r.user, r.movie], { combine: (_, last) => last })
    .map((r) => r.stars)
  const W = on.random([23, K], { dtype: 'f32', seed: 1 })
  const H = on.random([19, K], { dtype: 'f32', seed: 2 })
  const U = on.zeros([23], { dtype: 'f32' })
  const loss = on.accumulator('sum')
  const predict = (w: RowView, h: RowView, bias: number): number => {
    let sum = bias
    for (let k = 0; k < K; k++) sum += w.get(k) * h.get(k)
    return sum
  }
  const step = rate()
  const loop = on.loop(
    ratings,
    { W, H, U, loss },
    (stars, [u, m], { W, H, U, loss }) => {
      const w = W.row(u)
      const h = H.row(m)
      const error = stars - predict(w, h, U.get(u))
      U.add(u, step * (error - 0.1 * U.get(u)))
      for (let k = 0; k < K; k++) {
        const wk = w.get(k)
        w.add(k, step * (error * h.get(k) - 0.1 * wk))
        h.add(k, step * (error * wk - 0.1 * h.get(k)))
      }
      loss.add(error * error)
    },
    { order: 'any', precision },
  )
  return { loop, W, loss }
}

test('a recommender is WebAssembly, its update in vectors, its sum in order', async () => {
  const { loop } = factorization(() => 0.01, 'exact')
  expect(await loop.verify()).toEqual(expect.objectContaining({ identical: true }))
  expect(loop.plan.kernel).toEqual({ target: 'wasm-simd' })
  const lines = loop.explain({ kernel: true }).split('\n')
  const kernel = lines.slice(lines.indexOf('kernel wasm-simd') + 1).map((line) => line.replace(/^ {2}for (\w|\$)+ at \d+:\d+: /, ''))
  expect(kernel.slice(0, 2)).toEqual([
    'not vectorized, it adds in order, beside the update of the iteration before, rows kept as doubles',
    '2 lanes of f64',
  ])
})

test('another captured number compiles nothing', async () => {
  await factorization(() => 0.02, 'exact').loop.run()
  const before = modulesCompiled()
  await factorization(() => 0.03, 'exact').loop.run()
  expect(modulesCompiled()).toBe(before)
})

test('in fast precision the bits do not depend on the number of workers', async () => {
  const alone = await Session.start({ workers: 1, progress: false })
  try {
    const [one, two] = [factorization(() => 0.02, 'fast', alone), factorization(() => 0.02, 'fast')]
    await one.loop.run({ passes: 3 })
    await two.loop.run({ passes: 3 })
    expect(one.loop.explain({ kernel: true })).toContain('4 lanes of f32, 4 accumulators')
    expect(one.loss.value).toBe(two.loss.value)
    expect(await one.W.toTypedArray()).toEqual(await two.W.toTypedArray())
  } finally {
    await alone.stop()
  }
})

test('what numbers cannot say stays JavaScript, with the reason', async () => {
  const x = session.zeros([8])
  const loop = session.loop(session.range(8), { x }, ([i], { x }) => {
    const text = i > 3 ? 'large' : 'small'
    x.set(i, text.length)
  })
  await loop.run()
  expect(loop.plan.kernel.target).toBe('js')
  expect(loop.plan.kernel.because?.map((reason) => reason.message)).toEqual(['Its kernel is JavaScript, because it uses a string.'])
})

test('rounding at halves, in lanes and a number at a time', async () => {
  const halves = Float64Array.of(-2.5, -1.5, -0.5, -0.49999999999999994, 0.49999999999999994, 0.5, 1.5, 2.5, 2 ** 52 - 0.5, -0, Number.NaN)
  const n = halves.length
  // A captured table, so that nothing is stored before it is rounded.
  const y = session.zeros([n])
  const lanes = session.loop(session.range(n), { halves, y }, ([i], { halves, y }) => y.set(i, Math.round(halves[i] as number)))
  await lanes.run()
  expect(lanes.plan.kernel.target).toBe('wasm-simd')
  expect([...(await y.toTypedArray())]).toEqual([...halves.map(Math.round)])
  const backwards = session.loop(session.range(n), { halves, y, n }, ([i], { halves, y, n }) =>
    y.set(i, Math.round(halves[n - 1 - i] as number)),
  )
  await backwards.run()
  expect(backwards.plan.kernel.target).toBe('wasm')
  expect([...(await y.toTypedArray())]).toEqual([...halves.map(Math.round)].reverse())
})

test('two names of one array meet in its elements', async () => {
  const A = session.fill([3, 12], 1)
  const loop = session.loop(session.range(3), { A, B: A }, ([i], { A, B }) => {
    for (let k = 1; k < 12; k++) A.set(i, k, B.get(i, k - 1) + 1)
  })
  await loop.run()
  expect(loop.explain({ kernel: true })).toContain('not vectorized, B is written, and not only at the index')
  expect([...(await A.row(0))]).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
})

test('an integer product keeps the sign of zero', async () => {
  const y = session.zeros([3])
  const loop = session.loop(session.range(3), { y }, ([i], { y }) => y.set(i, i * -2))
  await loop.run()
  expect(loop.plan.kernel.target).toBe('wasm-simd')
  expect([...(await y.toTypedArray())]).toEqual([-0, -2, -4])
})

test('more values than the scratch memory holds are added in their order', async () => {
  const sum = session.accumulator('sum')
  const most = session.accumulator('max')
  const loop = session.loop(session.range(3), { sum, most }, ([i], { sum, most }) => {
    for (let k = 0; k < 6000; k++) {
      sum.add((i + 1) / (k + 1))
      most.add(k / (i + 1))
    }
  })
  await loop.run()
  expect(loop.plan.kernel.target).toBe('wasm')
  let expected = 0
  for (let i = 0; i < 3; i++) for (let k = 0; k < 6000; k++) expected += (i + 1) / (k + 1)
  expect([sum.value, most.value]).toEqual([expected, 5999])
})

test('integers that leave 32 bits go on as doubles', async () => {
  const edges = Int32Array.of(-(2 ** 31), 2 ** 31 - 1)
  const y = session.zeros([2, 3])
  const loop = session.loop(session.range(2), { edges, y }, ([i], { edges, y }) => {
    const edge = edges[i] as number
    y.set(i, 0, edge - 1)
    y.set(i, 1, edge + 1)
    y.set(i, 2, edge * edge)
  })
  await loop.run()
  expect(loop.plan.kernel.target).toBe('wasm')
  expect([...(await y.row(0))]).toEqual([-(2 ** 31) - 1, -(2 ** 31) + 1, 2 ** 62])
  expect([...(await y.row(1))]).toEqual([2 ** 31 - 2, 2 ** 31, (2 ** 31 - 1) ** 2])
})

test('a second run compiles nothing, nor does a plan that was looked at before the first', async () => {
  const x = session.fill([64], 2)
  const loop = session.loop(session.range(64), { x }, ([i], { x }) => x.set(i, Math.atan2(x.get(i), 0.5 + i)))
  expect(loop.plan.kernel.target).toBe('wasm')
  const before = modulesCompiled()
  await loop.run()
  await loop.run()
  expect(modulesCompiled()).toBe(before)
})

test('a plan that was looked at when the number of elements was not known is not what runs', async () => {
  const values = session.fromColumns({ v: Float64Array.from({ length: 1001 }, (_, i) => i) }).filter((r) => r.v >= 0)
  const y = session.zeros([1000], { dtype: 'f32' })
  const loop = session.loop(values, { y }, (r, [i], { y }) => y.set(i, r.v))
  expect(loop.plan.kernel.target).toBe('wasm-simd')
  await expect(loop.run()).rejects.toThrow(/key \[1000\]/)
})

// Law 5 found the sums that are only added, with seed 18420757.
test('integers whose sum no double holds are added as doubles', async () => {
  const [tiny, short] = [session.fill([3], 1, { dtype: 'i8' }), session.fill([3], 2, { dtype: 'i16' })]
  const whole = session.fill([3], 1, { dtype: 'i32' })
  const loop = session.loop(session.range(3), { tiny, short, whole }, ([i], { tiny, short, whole }) => {
    tiny.add(i, 9007199254740992)
    short.add(i, 9007199254740991)
    whole.set(i, 9007199254740992 + (whole.get(i) > 0 ? 1 : 0))
  })
  await loop.run()
  expect(loop.plan.kernel.target).toBe('wasm')
  const plain = { tiny: Int8Array.of(1), short: Int16Array.of(2), whole: Int32Array.of(1) }
  plain.tiny[0] = 1 + 9007199254740992
  plain.short[0] = 2 + 9007199254740991
  plain.whole[0] = 9007199254740992 + 1
  expect([await tiny.at(0), await short.at(0), await whole.at(0)]).toEqual([plain.tiny[0], plain.short[0], plain.whole[0]])
})

test('in fast precision what is checked only at the end of a run has the bits of the rest', async () => {
  const bits = async (passes: number): Promise<Float32Array> => {
    const [A, B] = [session.random([3000], { dtype: 'f32', seed: 1 }), session.zeros([3000], { dtype: 'f32' })]
    const body = ([i]: [number], { A, B }: { A: RowView; B: RowView }) => {
      B.set(i, (A.get(i) * 0.1 + 0.3) * 1.7 + (A.get(i) > 1 ? A.get(i + 1) : 0) / 3)
    }
    await session.loop(session.range(3000), { A, B }, body as never, { precision: 'fast' }).run({ passes })
    return (await B.toTypedArray()) as Float32Array // of f32
  }
  expect(await bits(12)).toEqual(await bits(1)) // a first pass runs in short slices
})

test('an element that the iteration before has written has no lanes', async () => {
  const x = session.fill([40], 1, { dtype: 'f64' })
  const loop = session.loop(x, { y: x }, (value, [i], { y }) => {
    if (i < 39) y.set(i + 1, value + 1)
  })
  expect((await loop.verify()).identical).toBe(true)
  await loop.run()
  expect(loop.explain({ kernel: true })).toContain('iterations between its borders: not vectorized, y is written')
  expect(await x.toTypedArray()).toEqual(Float64Array.from({ length: 40 }, (_, i) => i + 1))
})

test('the nearest of some centres is found for several points at a time, each summed in its order', async () => {
  const [points, centres, axes] = [101, 5, 3]
  const [point, centre] = [session.random([points, axes], { seed: 1 }), session.random([centres, axes], { seed: 2 })]
  const nearest = session.zeros([points], { dtype: 'i32' })
  for (const precision of ['exact', 'fast'] as const) {
    const loop = session.loop(
      session.range(points),
      { point, centre, nearest },
      ([p], { point, centre, nearest }) => {
        let least = Number.POSITIVE_INFINITY
        let best = 0
        for (let c = 0; c < centres; c++) {
          let square = 0
          for (let a = 0; a < axes; a++) square += (point.get(p, a) - centre.get(c, a)) ** 2
          if (square < least) {
            least = square
            best = c
          }
        }
        nearest.set(p, best)
      },
      { precision },
    )
    expect((await loop.verify()).identical).toBe(true)
    await loop.run()
    expect(loop.explain({ kernel: true })).toContain(
      'iterations: 2 lanes of f64, branches as choices, strided loads, with the loops inside',
    )
  }
})

test('a body with loops inside says why its iterations have no lanes', () => {
  const [x, y] = [session.random([300], { seed: 1 }), session.zeros([300])]
  const loop = session.loop(session.range(300), { x, y }, ([i], { x, y }) => {
    let v = x.get(Math.floor(x.get(i) * 10))
    for (let k = 0; k < 30; k++) v = Math.sqrt(v + k)
    y.set(i, v)
  })
  expect(loop.explain({ kernel: true })).toContain('iterations: not vectorized, x is read at places that differ between lanes')
})

test('in fast precision short sums of iterations as lanes are those of the iterations that are left', async () => {
  const bits = async (passes: number): Promise<unknown> => {
    const [A, x, y] = [session.random([40], { seed: 1 }), session.random([3001], { seed: 2 }), session.zeros([3001])]
    const loop = session.loop(
      session.range(3001),
      { A, x, y },
      ([i], { A, x, y }) => {
        let sum = 0
        for (let k = 0; k < 40; k++) sum += A.get(k) * x.get(i)
        y.set(i, sum)
      },
      { precision: 'fast' },
    )
    await loop.run({ passes })
    expect(loop.explain({ kernel: true })).toContain('iterations: 2 lanes of f64, with the loops inside')
    return await y.toTypedArray()
  }
  expect(await bits(12)).toEqual(await bits(1)) // a first pass runs in short slices
})

test('Smith–Waterman keeps the score to the left in a register, as an integer', async () => {
  const [s, t] = [Uint8Array.of(0, 1, 2, 3, 1, 2), Uint8Array.of(1, 2, 0, 3, 1)]
  const H = session.zeros([7, 6], { dtype: 'i32' })
  const loop = session.loop(session.range(6, 5), { H, s, t }, ([i, j], { H, s, t }) => {
    const match = H.get(i, j) + (s[i] === t[j] ? 3 : -3)
    H.set(i + 1, j + 1, Math.max(0, match, Math.max(H.get(i, j + 1), H.get(i + 1, j)) - 2))
  })
  expect((await loop.verify()).identical).toBe(true)
  await loop.run()
  expect(loop.explain({ kernel: true })).toContain(
    'iterations: not vectorized, H is written, and not only at the index, 1 read carried from turn to turn',
  )
  const plain = Array.from({ length: 7 }, () => new Array<number>(6).fill(0))
  const at = (i: number, j: number): number => plain[i]?.[j] ?? 0
  for (let i = 0; i < 6; i++) {
    const row = plain[i + 1] as number[] // one of seven
    for (let j = 0; j < 5; j++) row[j + 1] = Math.max(0, at(i, j) + (s[i] === t[j] ? 3 : -3), Math.max(at(i, j + 1), at(i + 1, j)) - 2)
  }
  expect(await H.toTypedArray()).toEqual(Int32Array.from(plain.flat()))
})

test('Gauss–Seidel keeps the value to the left in a register, where i and j are the keys and 1', async () => {
  const A = session.fill([7, 8], 3.5)
  const loop = session.loop(session.range(5, 6), { A }, ([row, column], { A }) => {
    const i = row + 1
    const j = column + 1
    A.set(i, j, 0.25 * (A.get(i - 1, j) + A.get(i + 1, j) + A.get(i, j - 1) + A.get(i, j + 1)) + j)
  })
  expect((await loop.verify()).identical).toBe(true)
  expect(loop.explain({ kernel: true })).toContain('1 read carried from turn to turn, two rows at a time')
})

test('of two rows at a time the second fails where it leaves the array', async () => {
  for (const rows of [200, 201]) {
    const A = session.fill([rows, 9], 1.5)
    const loop = session.loop(session.range(rows, 8), { A }, ([i, j], { A }) => {
      A.set(i, j + 1, A.get(i, j) + A.get(i + 1, j + 1))
    })
    expect(loop.explain({ kernel: true })).toContain('two rows at a time')
    await expect(loop.run()).rejects.toThrow(`threw at key [${rows - 1}, 0]`)
  }
})

test('the last row of five is alone, in each of three layers', async () => {
  const A = session.fill([3, 8, 8], 1.25)
  const loop = session.loop(
    session.range(3, 5, 7),
    { A },
    ([k, i, j], { A }) => A.set(k, i + 1, j + 1, A.get(k, i + 1, j) - 0.5 * A.get(k, i, j + 1) + j),
    { partitions: 1 },
  )
  await loop.run({ passes: 8 }) // slices of first passes hold no two rows
  expect(loop.explain({ kernel: true })).toContain('two rows at a time')
  expect((await loop.verify()).identical).toBe(true)
})

test('a row that reads ahead of what the row before has written runs alone', async () => {
  const A = session.fill([7, 9], 1.5)
  const loop = session.loop(session.range(5, 6), { A }, ([i, j], { A }) => {
    A.set(i + 1, j + 1, A.get(i + 1, j) + 0.5 * A.get(i, j + 2))
  })
  expect((await loop.verify()).identical).toBe(true)
  const text = loop.explain({ kernel: true })
  expect(text).toContain('1 read carried from turn to turn')
  expect(text).not.toContain('two rows at a time')
})

test('between the borders of a loop no question is asked, and subscripts are inside', async () => {
  const n = 40
  const asked = (body: (at: readonly [number, number], arrays: Grids) => void): string => {
    const [A, B] = [session.random([n, n], { seed: 1 }), session.zeros([n, n])]
    const loop = session.loop(session.range(n, n), { A, B }, body)
    return loop.explain({ kernel: true })
  }
  const lanes = 'iterations between its borders: 2 lanes of f64\n'
  expect(
    asked(([i, j], { A, B }) => {
      if (i > 0 && j > 0 && i < n - 1 && j < n - 1) B.set(i, j, A.get(i - 1, j) + A.get(i + 1, j) + A.get(i, j - 1) + A.get(i, j + 1))
    }),
  ).toContain(lanes)
  expect(
    asked(([i, j], { A, B }) => {
      if (j === 0 || j === n - 1) B.set(i, j, A.get(i, j))
      else B.set(i, j, A.get(i, j - 1) + A.get(i, j + 1))
    }),
  ).toContain(lanes)
  expect(
    asked(([i, j], { A, B }) => {
      const left = j > 0 ? A.get(i, j - 1) : 0
      B.set(i, j, left + A.get(i, j))
    }),
  ).toContain(lanes)
  // A question that half of the iterations answer otherwise is a choice between lanes.
  expect(
    asked(([i, j], { A, B }) => {
      if (j < 20) B.set(i, j, A.get(i, j))
    }),
  ).toContain('iterations: 2 lanes of f64, branches as choices\n')
})

test('what differs from a value is on one side of it between the borders', async () => {
  const n = 40
  const [A, B] = [session.random([n, n], { seed: 1 }), session.zeros([n, n])]
  const loop = session.loop(session.range(n, n), { A, B }, ([i, j], { A, B }) => {
    let s = i > -1 ? A.get(i - 1, j) : 0
    if (i === 1) s += A.get(i, j)
    B.set(i, j, s)
  })
  const outside = 'The body of the loop over range(40, 40) threw at key [0, 0]: The key [-1, 0] is outside A, whose shape is [40, 40].'
  await expect(loop.run()).rejects.toThrow(outside)
})

test('what was asked of a local is not known of what it is assigned', async () => {
  const [a, b] = [session.random([40], { seed: 1 }), session.zeros([40])]
  const loop = session.loop(session.range(40), { a, b }, ([i], { a, b }) => {
    let at = i - 5
    if (at >= 0 && at < 40) {
      b.set(i, a.get(at))
      at = at * 3
      b.set(i, a.get(at))
    }
  })
  await expect(loop.run()).rejects.toThrow('threw at key [19]: The key [42] is outside a, whose shape is [40].')
})

interface Grids {
  readonly A: { get(...key: number[]): number }
  readonly B: { set(...args: number[]): void }
}

test('a test of the key against a bigint is no border', async () => {
  const [a, b] = [session.zeros([9]), session.zeros([9])]
  const loop = session.loop(session.range(9), { a, b }, ([i], { a, b }) => {
    if (i > 0 && 5n > i) b.set(i, a.get(i - 1) + i)
  })
  await loop.run()
  expect(loop.plan.kernel?.target).toMatch(/^wasm/)
  expect(await b.collect()).toEqual([0, 1, 2, 3, 4, 0, 0, 0, 0])
})

test('a loop that is left between its borders is left', async () => {
  const n = 40
  const [x, y] = [session.zeros([n]), session.zeros([n])]
  await x.assign(
    [null],
    Array.from({ length: n }, (_, i) => (i * 7) % 11),
  )
  const loop = session.loop(session.range(n), { x, y }, ([i], { x, y }) => {
    let turns = 0
    for (let k = 0; k < n; k++) {
      if (k > 0 && x.get(k - 1) > i && k < n - 1) break
      turns++
    }
    y.set(i, turns)
  })
  expect((await loop.verify()).identical).toBe(true)
})

test('a short loop of elements that data name is written out', async () => {
  const [index, weight, y] = [session.zeros([30, 16], { dtype: 'i32' }), session.random([50], { seed: 1 }), session.zeros([30])]
  await index.assign(
    [null, null],
    Array.from({ length: 480 }, (_, i) => (i * 7) % 50),
  )
  const loop = session.loop(session.range(30), { index, weight, y }, ([s], { index, weight, y }) => {
    let sum = 0
    for (let k = 0; k < 16; k++) {
      if (index.get(s, k) === 3) continue
      if (index.get(s, k) === 5) break
      sum += weight.get(index.get(s, k))
    }
    y.set(s, sum)
  })
  expect((await loop.verify()).identical).toBe(true)
  expect(loop.explain({ kernel: true })).toContain(', written out\n')
})

test('lanes multiply by the inverse of a literal where that gives the same bits', async () => {
  const values = [1, -0, 5e-324, 1.5e-323, 2.2250738585072014e-308, 1.7976931348623157e308, Number.POSITIVE_INFINITY, Number.NaN, 0.1, -3]
  const [x, y] = [session.zeros([values.length]), session.zeros([values.length])]
  await x.assign([null], values)
  const over = session.range(values.length)
  const by = {
    '4': session.loop(over, { x, y }, ([i], { x, y }) => y.set(i, x.get(i) / 4)),
    '-0.5': session.loop(over, { x, y }, ([i], { x, y }) => y.set(i, x.get(i) / -0.5)),
    '2 ** 126': session.loop(over, { x, y }, ([i], { x, y }) => y.set(i, x.get(i) / 8.507059173023462e37)),
    '2 ** 127': session.loop(over, { x, y }, ([i], { x, y }) => y.set(i, x.get(i) / 1.7014118346046923e38)),
    '3': session.loop(over, { x, y }, ([i], { x, y }) => y.set(i, x.get(i) / 3)),
    '0': session.loop(over, { x, y }, ([i], { x, y }) => y.set(i, x.get(i) / 0)),
  }
  const found: string[] = []
  for (const [name, loop] of Object.entries(by)) {
    expect((await loop.verify()).identical).toBe(true)
    await loop.run()
    if (loop.explain({ kernel: true }).includes('f64x2.mul')) found.push(name)
  }
  expect(found).toEqual(['4', '-0.5', '2 ** 126'])
})
