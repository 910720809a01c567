/**
 * The fine print of loops, a program for each sentence that is easily broken, written from the public API alone and
 * compared with plain JavaScript, at 1, 2 and 3 workers.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Session, TaskError } from '../../src/index.ts'

/** Views of arrays whose types do not know the mistakes that are made with them. */
// biome-ignore lint/suspicious/noExplicitAny: what TypeScript refuses is what is tested
type Any = any

async function errorOf(promise: Promise<unknown>): Promise<Error> {
  const error = await promise.then(
    () => new Error('nothing was thrown'),
    (reason: unknown) => reason,
  )
  return error as Error // of promises that reject with errors
}

describe.each([1, 2, 3])('%i workers', (workers) => {
  let session: Session
  beforeAll(async () => {
    session = await Session.start({ workers })
  })
  afterAll(() => session.stop())

  test('a buffer with maxDelay shows what was flushed, to verify() too', async () => {
    const x = session.random([1000], { seed: 1 })
    const w = session.zeros([10])
    const xs = await x.toTypedArray()
    const loop = session.loop(session.range(1000), { x, w: w.buffer({ maxDelay: 7 }) }, ([i], { x, w }) => {
      w.add(i % 10, x.get(i) + w.get(0) * 0.01)
    })
    expect(await loop.verify()).toEqual({ identical: true, iterations: 1000 })
    await loop.run()
    const [current, waiting] = [new Float64Array(10), new Float64Array(10)]
    for (let i = 0; i < 1000; i++) {
      waiting[i % 10]! += (xs[i] as number) + current[0]! * 0.01
      if ((i + 1) % 7 === 0 || i === 999) for (let k = 0; k < 10; k++) current[k]! += waiting[k]!
      if ((i + 1) % 7 === 0) waiting.fill(0)
    }
    expect(await w.toTypedArray()).toEqual(current)
    expect((await loop.verify()).identical).toBe(true)
  })

  test('a number that changes between passes is the new one in the next', async () => {
    let rate = 1
    const a = session.zeros([4])
    const loop = session.loop(session.range(4), { a }, ([i], { a }) => a.add(i, rate))
    for await (const pass of loop.passes(4)) rate = 2 ** pass.number
    expect(await a.collect()).toEqual([15, 15, 15, 15])
    for await (const pass of loop.passes(4)) if (pass.number === 2) break
    expect(await a.collect()).toEqual([47, 47, 47, 47])
  })

  test('buffers of one loop flush each in its own time', async () => {
    const [a, b, c] = [session.zeros([2]), session.zeros([2]), session.zeros([2])]
    const env = { a: a.buffer({ maxDelay: 4 }), b: b.buffer({ maxDelay: 6 }), c: c.buffer() }
    const loop = session.loop(session.range(20), env, ([i], { a, b, c }) => {
      a.add(i % 2, 1 + a.get(0))
      b.add(i % 2, 1 + b.get(1) + a.get(1))
      c.add(i % 2, 1 + c.get(0) + b.get(0))
    })
    expect((await loop.verify()).identical).toBe(true)
    await loop.run()
    const buffers = [4, 6, 20].map((every) => ({ every, now: [0, 0], waiting: [0, 0] }))
    for (let i = 0; i < 20; i++) {
      const [x, y, z] = buffers as [(typeof buffers)[0], (typeof buffers)[0], (typeof buffers)[0]]
      x.waiting[i % 2]! += 1 + x.now[0]!
      y.waiting[i % 2]! += 1 + y.now[1]! + x.now[1]!
      z.waiting[i % 2]! += 1 + z.now[0]! + y.now[0]!
      for (const buffer of buffers) {
        if ((i + 1) % buffer.every !== 0 && i < 19) continue
        buffer.now = buffer.now.map((v, k) => v + (buffer.waiting[k] ?? 0))
        buffer.waiting = [0, 0]
      }
    }
    expect([await a.collect(), await b.collect(), await c.collect()]).toEqual(buffers.map(({ now }) => now))
  })

  test('keys inserted into a sparse array of more elements than doubles count', async () => {
    const n = 2 ** 31 - 1
    const s = session.sparse([n, n])
    await s.set([n - 1, 5], 3)
    const loop = session.loop(s, { s }, (v, [i, j], { s }) => s.set(i, j + 1, v + 1))
    expect((await loop.verify()).identical).toBe(true)
    await loop.run({ passes: 2 })
    expect([await s.at(n - 1, 5), await s.at(n - 1, 6), await s.at(n - 1, 7), await s.count()]).toEqual([3, 4, 5, 3])
  })

  test('wrong loops are named at once', async () => {
    const a = session.zeros([6])
    const to = session.zeros([6], { dtype: 'i32' })
    const space = session.range(6)
    const wrong: readonly [string, () => unknown][] = [
      [
        'PlanError: assume.distinct of loop() names "two", which is no array of this loop. Did you mean "to"? They are a, to.',
        () => session.loop(space, { a, to }, ([i], { a, to }) => a.set(to.get(i), i), { assume: { distinct: ['two'] } }),
      ],
      [
        'LoopError: The body of a loop is a generator, whose calls run nothing. Write an ordinary function, and return the new element instead of yielding it.',
        () =>
          session.loop(a, {}, function* (v: number) {
            yield v
          } as unknown as (v: number) => number),
      ],
      ['PlanError: range() needs at least one extent, as in range(10).', () => session.range(...([] as unknown as [number]))],
    ]
    for (const [text, program] of wrong) {
      const error = await errorOf(Promise.resolve().then(program))
      expect(`${error.name}: ${error.message}`).toBe(text)
    }
    expect(await a.collect()).toEqual([0, 0, 0, 0, 0, 0])
  })

  test('keys that are not one for each axis are named, and no element is taken for another', async () => {
    const given = 'The body of the loop over range(4) threw at key [0]:'
    const wrong: readonly [string, string, (key: readonly [number], env: Any) => void][] = [
      ['a has 2 axes, so that get takes 2 keys; it was given 1 argument.', 'get', ([i], { a, b }) => b.set(i, a.get(i))],
      ['a has 2 axes, so that set takes 2 keys and a value; it was given 2 arguments.', 'set', ([i], { a }) => a.set(i, 1)],
      ['a has 2 axes, so that add takes 2 keys and a value; it was given 4 arguments.', 'add', ([i], { a }) => a.add(i, i, i, 1)],
      ['a has 2 axes, so that has takes 2 keys; it was given 1 argument.', 'has', ([i], { a, b }) => b.set(i, a.has(i) ? 1 : 0)],
      ['a has 2 axes, so that row takes 1 key; it was given 2 arguments.', 'row', ([i], { a, b }) => b.set(i, a.row(i, i).length)],
      ['b has 1 axis, so that row takes 0 keys; it was given 1 argument.', 'row of a vector', ([i], { b }) => b.set(i, b.row(i).length)],
      ['b has 1 axis, so that set takes 1 key and a value; it was given 3 arguments.', 'more', ([i], { b }) => b.set(i, i, 1)],
      ['s has 2 axes, so that set takes 2 keys and a value; it was given 2 arguments.', 'sparse', ([i], { s }) => s.set(i, 1)],
    ]
    for (const [text, name, body] of wrong) {
      const env = { a: session.zeros([4, 4]), b: session.zeros([4]), s: session.sparse([4, 4]) }
      const loop = session.loop(session.range(4), env, body as never)
      expect([name, loop.plan.kernel.because?.map(({ code, message }) => `${code}: ${message}`)]).toEqual([
        name,
        [`key-count: It gives ${text[0]} other keys than one for each axis of the array.`],
      ])
      const error = await errorOf(loop.run())
      expect(`${error.name}: ${error.message}`, name).toBe(`TaskError: ${given} ${text}`)
    }
    // of another rank than the array has in this run: what is not reached is not asked
    const flat = session.zeros([4])
    await session.parallelFor(session.range(4), { flat }, (([i]: readonly [number], { flat }: Any) => {
      const [, columns] = flat.shape
      if (columns === undefined) flat.set(i, flat.shape.length + i)
      else for (let k = 0; k < columns; k++) flat.set(i, k, 1)
    }) as never)
    expect(await flat.collect()).toEqual([1, 2, 3, 4])
    const shaped = session.loop(session.range(4), { flat }, (([i]: readonly [number], { flat }: Any) => {
      flat.set(i, (flat.shape[1] ?? 5) * 10 + flat.shape.length)
    }) as never)
    expect(shaped.plan.kernel.target).toMatch(/^wasm/)
    await shaped.run()
    expect(await flat.collect()).toEqual([51, 51, 51, 51])
  })

  test('an element is asked for, whatever is said of it: its key may lie outside', async () => {
    const bodies: readonly ((key: readonly [number], env: Any) => void)[] = [
      ([i], { a, b }) => b.set(i, a.get(i, 6) === undefined ? 1 : 2),
      ([i], { a, b }) => b.set(i, a.row(i)[6] !== undefined ? 1 : 2),
      ([i], { a, b }) => b.set(i, a.get(i, 6) === null ? 1 : 2),
      ([i], { a, b }) => b.set(i, null != a.get(i, i > 1 ? 4 : 6) ? 1 : 2),
      ([i], { a, b }) => b.set(i, a.get(i, 6) * 2 === undefined || i > 1 ? 1 : 2),
    ]
    for (const body of bodies) {
      const loop = session.loop(session.range(4), { a: session.zeros([4, 4]), b: session.zeros([4]) }, body as never)
      expect(`${(await errorOf(loop.run())).message} ${loop.plan.kernel.target}`, String(body)).toMatch(
        /^The body of the loop over range\(4\) threw at key \[0\]: The key \[0, 6\] is outside a, .* wasm/,
      )
    }
    const within = { a: session.zeros([4, 4]), b: session.zeros([4]) }
    await session.parallelFor(session.range(4), within, (([i]: readonly [number], { a, b }: Any) => {
      b.set(i, (a.get(i, 3) === undefined ? 1 : 2) + (a.row(i)[0] != null ? 10 : 20) + (a.get(i, i) === null ? 100 : 200))
    }) as never)
    expect(await within.b.collect()).toEqual([212, 212, 212, 212])
  })

  test('rows of a body that runs as it stands have the methods of arrays, and sort as numbers', async () => {
    const a = session.fromTypedArray(Float32Array.of(10, -0, 0, -1, 0, -0, Number.NaN, 0.1), [2, 4])
    const env = { a, b: session.zeros([2, 4]) }
    const loop = session.loop(session.range(2), env, (([i]: readonly [number], { a, b }: Any) => {
      const sorted = a.row(i).sort() // which no kernel takes, and sorts in place
      const doubled = sorted.map((v: number) => v * 1.1)
      for (let k = 0; k < 4; k++) b.set(i, k, doubled[k])
      b.row(i).copyWithin(0, 3)
    }) as never)
    expect([loop.plan.kernel.target, (await loop.verify()).identical]).toEqual(['as-is', true])
    await loop.run()
    expect(await a.collect()).toEqual([-1, -0, 0, 10, -0, 0, Math.fround(0.1), Number.NaN])
    const [first, second] = [11, Number.NaN]
    expect(await env.b.collect()).toEqual([first, -0, 0, 11, second, 0, Math.fround(0.1) * 1.1, Number.NaN])
  })

  test('an f32 element read into a local keeps its value when the element is written', async () => {
    const W = session.random([200, 8], { seed: 1, dtype: 'f32' })
    const H = session.random([200, 8], { seed: 2, dtype: 'f32' })
    const loop = session.loop(session.range(200), { W, H }, ([u], { W, H }) => {
      const [w, h] = [W.row(u), H.row(u)]
      for (let k = 0; k < 8; k++) {
        const [a, b] = [w[k] as number, h[k] as number]
        w[k]! += 0.1 * b
        h[k]! += 0.1 * a
      }
    })
    const [w, h] = [(await W.toTypedArray()).slice(), (await H.toTypedArray()).slice()] as [Float32Array, Float32Array]
    // V8 compiles kernels anew while they run: the first passes are not the last ones
    await loop.run({ passes: 50 })
    for (let pass = 0; pass < 50; pass++) {
      for (let i = 0; i < w.length; i++) {
        const [a, b] = [w[i] as number, h[i] as number]
        w[i]! += 0.1 * b
        h[i]! += 0.1 * a
      }
    }
    expect(await W.toTypedArray()).toEqual(w)
    expect(await H.toTypedArray()).toEqual(h)
  })

  test('the value iterated over is what it was when the iteration started', async () => {
    const a = session.fill([20], 3)
    const dice = session.rng(1)
    const compiled = session.loop(a, { a, dice }, (value, [i], { a, dice }) => {
      a.set(i, value + (i < 0 ? dice.int(1) : 0))
      a.set(i, a.get(i) + 1)
      a.set(i, a.get(i) * 2 + value * 10)
    })
    await compiled.run()
    expect(await a.collect()).toEqual(new Array(20).fill(38))
    expect(compiled.plan.kernel.target).toBe('wasm')
    // a draw in what a loop does after each turn keeps the body a JavaScript kernel
    const written = session.loop(a, { a, dice }, (value, [i], { a, dice }) => {
      for (let k = 0; k < 0; k += dice.int(1)) a.set(i, 0)
      a.set(i, a.get(i) + 1)
      a.set(i, a.get(i) * 2 + value * 10)
    })
    await written.run()
    expect(await a.collect()).toEqual(new Array(20).fill(39 * 2 + 380))
    expect(written.plan.kernel.target).toBe('js')
  })

  test('a signal that was aborted before the run leaves the arrays alone', async () => {
    const a = session.zeros([4])
    const loop = session.loop(session.range(4), { a }, ([i], { a }) => a.add(i, 1))
    const controller = new AbortController()
    controller.abort(new Error('not today'))
    expect((await errorOf(loop.run({ signal: controller.signal }))).message).toBe('not today')
    expect(await a.collect()).toEqual([0, 0, 0, 0])
  })

  test('a body that throws: run() and verify() give the same error; only what was flushed is lost', async () => {
    const late = session.zeros([4])
    const early = session.zeros([4])
    const env = { late: late.buffer(), early: early.buffer({ maxDelay: 5 }) }
    const loop = session.loop(session.range(40), env, ([i], { late, early }) => {
      if (i === 23) throw new RangeError('too far')
      late.add(i % 4, 1)
      early.add(i % 4, 1)
    })
    const errors = [await errorOf(loop.verify()), await errorOf(loop.run())]
    const message = 'The body of the loop over range(40) threw at key [23]: too far'
    for (const error of errors) {
      expect(error).toBeInstanceOf(TaskError)
      expect(error.message).toBe(message)
      expect((error as TaskError).key).toEqual([23])
    }
    expect(await late.collect()).toEqual([0, 0, 0, 0])
    expect((await errorOf(early.collect())).message).toBe(
      `zeros([4]) was being written by a loop that failed (${message}), and holds a part of that pass. Assign all of it, or run the loop with { atomic: true }.`,
    )
    await early.assign([null], 2)
    expect(await early.collect()).toEqual([2, 2, 2, 2])
    const atomic = session.loop(
      session.range(40),
      env,
      ([i], { early }) => {
        if (i === 23) throw new RangeError('too far')
        early.add(i % 4, 1)
      },
      { atomic: true },
    )
    await errorOf(atomic.run())
    expect(await early.collect()).toEqual([2, 2, 2, 2])
  })

  test('an array of integers converts after each addition', async () => {
    const bins = Int32Array.from({ length: 9_000 }, (_, i) => (i * i) % 7)
    const places = await session
      .fromColumns({ bin: bins })
      .map((r) => r.bin)
      .materialize()
    for (const delta of [0.5, -0.7, 2 ** 53 + 2, Number.NaN, 2 ** 31 + 3]) {
      const counts = session.fill([7], -3, { dtype: 'i32' })
      const loop = session.loop(places, { counts, delta }, (bin, [i], { counts, delta }) => counts.add(bin, delta + (i & 1)))
      await loop.run()
      const plain = new Int32Array(7).fill(-3)
      for (const [i, bin] of bins.entries()) plain[bin] = (plain[bin] ?? 0) + (delta + (i & 1))
      expect(await counts.collect()).toEqual([...plain])
    }
  })

  test('rows of objects are written; rows of buffers refuse it', async () => {
    const names = session.fill([2, 2], 'x', { dtype: 'object' })
    await session.parallelFor(session.range(2), { names }, ([i], { names }) => {
      const row = names.row(i) as unknown as { [k: number]: string; set(k: number, value: string): void }
      row[1] = `y${i}`
      row.set(0, `${row[1]}!`)
    })
    expect(await names.collect()).toEqual(['y0!', 'y0', 'y1!', 'y1'])
    const w = session.zeros([2, 2])
    let calls = 0
    const error = await errorOf(
      session.parallelFor(session.range(4), { w: w.buffer() }, ([i], { w }) => {
        calls++ // runs as it stands
        w.row(i % 2)[0]! += 1
      }),
    )
    expect(error.message).toBe(
      'The body of the loop over range(4) threw at key [0]: w is an update buffer: it has get and add, but no set.',
    )
    expect([calls, await w.collect()]).toEqual([1, [0, 0, 0, 0]])
  })

  test('a row of truth values holds 0 and 1, whatever is written, however the body runs', async () => {
    const compiled = session.zeros([3, 2], { dtype: 'bool' })
    const loop = session.loop(session.range(3), { compiled }, ([i], { compiled }) => {
      const row = compiled.row(i)
      row[0] = i * 5
      row[1]! += 0.5
    })
    expect((await loop.verify()).identical).toBe(true)
    await loop.run()
    expect(await compiled.collect()).toEqual([0, 1, 1, 1, 1, 1])
    const asItStands = session.zeros([3, 2], { dtype: 'bool' })
    const seen: unknown[] = []
    await session.parallelFor(session.range(3), { asItStands }, ([i], { asItStands }) => {
      const row = asItStands.row(i)
      row[0] = i * 5
      row[1]! += 0.5
      row.set(1, 7)
      row.add(1, 3)
      seen.push([...(row as unknown as Iterable<number>)], row.get(1))
    })
    expect(await asItStands.collect()).toEqual([0, 1, 1, 1, 1, 1])
    expect(seen).toEqual([[0, 1], 1, [1, 1], 1, [1, 1], 1])
  })

  test('what is no row is not set among rows', async () => {
    const rows = session.fromRows([
      { p: 1, q: 'a' },
      { p: 2, q: 'b' },
    ])
    const error = await errorOf(
      session.parallelFor(session.range(2), { rows }, ([i], { rows }) => {
        if (i === 1) rows.set(i, undefined as never)
      }),
    )
    expect(error).toBeInstanceOf(TaskError)
    expect(error.message).toBe(
      'The body of the loop over range(2) threw at key [1]: The elements of rows are rows with p, q, and the body sets undefined at key [1]. Set an object with these fields.',
    )
  })
})
