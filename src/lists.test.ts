import { afterAll, expect, test } from 'vitest'
import { Session } from './session/session.ts'

const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

type Body = (key: readonly [number], env: { y: { set: (i: number, v: number) => void } }) => void

const failure = async (body: Body): Promise<string> => {
  const y = session.zeros([4])
  return session.parallelFor(session.range(4), { y }, body).then(String, (error: Error) => error.message)
}

test('functions that never come back, and subscripts behind the last element, are errors of the run', async () => {
  const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b))
  expect(await failure(([i], { y }) => y.set(i, gcd(Number.NaN, 3)))).toMatchInlineSnapshot(
    `"The body of the loop over range(4) threw at key [0]: gcd calls itself more than 10,000 deep. Write it as a loop."`,
  )
  const deep = (n: number): number => (n < 0 ? 0 : 1 + deep(n + 1))
  expect(await failure(([i], { y }) => y.set(i, deep(i)))).toMatchInlineSnapshot(
    `"The body of the loop over range(4) threw at key [0]: deep calls itself more than 10,000 deep. Write it as a loop."`,
  )
  const behind = await failure(([i], { y }) => {
    const kept = []
    for (let k = 0; k < 3; k++) if (k < i) kept.push(k)
    y.set(i, kept[2] as number)
  })
  expect(behind).toMatchInlineSnapshot(
    `"The body of the loop over range(4) threw at key [0]: A subscript of kept is not below its length. Ask for it, as kept[k] ?? 0."`,
  )
  const first = await failure(([i], { y }) => {
    const kept: number[] = []
    for (let k = 0; k < 3; k++) if (k < i) kept.push(k)
    const sum = kept.reduce((a, b) => a + b)
    y.set(i, sum)
  })
  expect(first).toMatchInlineSnapshot(`"The body of the loop over range(4) threw at key [0]: Reduce of empty array with no initial value"`)
})

test('recursion goes as deep as JavaScript has room for', async () => {
  const y = session.zeros([4])
  const sum = (n: number): number => (n === 0 ? 0 : n + sum(n - 1))
  const loop = session.loop(session.range(4), { y }, ([i], { y }) => y.set(i, sum(i * 2_000)))
  expect(loop.plan.kernel?.target).toBe('wasm')
  await loop.run()
  expect(await y.collect()).toEqual([0, 2_001_000, 8_002_000, 18_003_000])
})

test('a function that calls itself anywhere is a loop, whatever it changes', async () => {
  const y = session.zeros([6], { dtype: 'i32' })
  const loop = session.loop(session.range(6), { y }, ([i], { y }) => {
    const columns = new Int8Array(8)
    let count = 0
    const isFree = (row: number, column: number): boolean => {
      for (let r = 0; r < row; r++) if (columns[r] === column || Math.abs((columns[r] as number) - column) === row - r) return false
      return true
    }
    const place = (row: number): void => {
      if (row === i + 1) {
        count++
        return
      }
      for (let column = 0; column <= i; column++) {
        if (!isFree(row, column)) continue
        columns[row] = column
        place(row + 1)
      }
    }
    place(0)
    y.set(i, count)
  })
  expect(loop.plan.kernel?.target).toMatch(/^wasm/)
  await loop.run()
  expect(Array.from((await y.toTypedArray()) as Int32Array)).toEqual([1, 0, 0, 2, 10, 4])
})

const expectPlain = async (body: Body): Promise<void> => {
  const expected: number[] = []
  for (let i = 0; i < 4; i++) body([i], { y: { set: (_, value) => expected.push(value) } })
  const y = session.zeros([4])
  const loop = session.loop(session.range(4), { y }, body)
  expect(loop.plan.kernel?.target).toMatch(/^wasm/)
  await loop.run()
  expect(await y.collect()).toEqual(expected)
}

test('functions that call themselves within each other have stacks of their own', async () => {
  const counting = (step: number, inner: (n: number) => number): ((n: number) => number) => {
    const f = (n: number): number => {
      if (n <= 0) return 1
      const less = f(n - step)
      return less * 3 + inner(n - 1) + n
    }
    return f
  }
  await expectPlain(([i], { y }) => {
    const one = counting(1, (n) => n)
    const two = counting(2, one)
    y.set(i, two(i * 2))
  })
})

test('a call that ends without a result gives undefined, and one that is resumed has what it had', async () => {
  await expectPlain(([i], { y }) => {
    const last = (n: number): number | undefined | void => {
      if (n > 2) last(n - 1)
      else if (n > 1) return last(n - 1)
      else if (n === 1) return 7
    }
    y.set(i, (last(i) as number | undefined) ?? -1)
  })
  await expectPlain(([i], { y }) => {
    const left = (n: number): number => {
      if (n <= 0) return 1
      let found = n
      let sum = 0
      for (let k = 0; k < 3; k++) {
        sum += left(n - 1)
        if (n + k > 2) break
        found = k * 5
      }
      return sum + found
    }
    y.set(i, left(i))
  })
})

test('functions that call themselves say what stands in their way', () => {
  const because = (body: Body): string => {
    const { message, cure } = session.loop(session.range(4), { y: session.zeros([4]) }, body).plan.kernel?.because?.[0] ?? {}
    return `${message} ${cure}`
  }
  const sorted = (n: number, at: number): number => {
    const list = [n, at, 3]
    for (let k = 0; k < 2; k++) list[k] = (list[k + 1] as number) + (n > 0 ? sorted(n - 1, k) : 0)
    return list[0] as number
  }
  expect(because(([i], { y }) => y.set(i, sorted(3, i)))).toMatchInlineSnapshot(
    `"sorted calls itself, and makes arrays or lists. Make them before the first call, or write it as a loop."`,
  )
  const named = (n: number): number => {
    const label = n > 2 ? 'high' : 'low'
    const below = n > 0 ? named(n - 1) : 0
    return below + label.length
  }
  expect(because(([i], { y }) => y.set(i, named(i)))).toMatchInlineSnapshot(
    `"named calls itself while label may be something else than a number, true or false. Keep numbers or truth values for after the call, or write it as a loop."`,
  )
  const counted = (n: number, weight: number | undefined = 1): number =>
    n === 0 ? weight : counted(n - 1, n > 2 ? undefined : weight) + counted(n - 1)
  expect(because(([i], { y }) => y.set(i, counted(i)))).toMatchInlineSnapshot(
    `"weight has a default, and may be given undefined by a function that calls itself. Give weight a number wherever it is called."`,
  )
  const walk = (n: number, step: { by: number }): number => (n <= 0 ? 0 : 1 + walk(n - step.by, { by: step.by + 1 }))
  expect(because(([i], { y }) => y.set(i, walk(i, { by: 1 })))).toMatchInlineSnapshot(
    `"walk calls itself. Write it as a loop; where calls are still to be made, over a list of them, as while (stack.length > 0) { const v = stack.pop(); … }."`,
  )
})

test('an array of arrays has rows of its own; of one that was there all rows would be the same, and the body runs as it stands', async () => {
  const y = session.zeros([3])
  const own = session.loop(session.range(3), { y }, ([i], { y }) => {
    const m = Array.from({ length: 2 }, (_, r) => new Float64Array(2).fill(r))
    ;(m[0] as Float64Array)[1] = 5 + i
    y.set(i, (m[0] as Float64Array)[1]! + 10 * m[1]![1]!)
  })
  await own.run()
  expect(own.plan.kernel?.target).toBe('wasm-simd')
  expect(await y.collect()).toEqual([15, 16, 17])
  const shared = session.loop(session.range(3), { y }, ([i], { y }) => {
    const row = new Float64Array(2)
    const m = Array.from({ length: 2 }, () => row)
    ;(m[0] as Float64Array)[1] = 5 + i
    y.set(i, m[1]![1]!)
  })
  await shared.run()
  expect(shared.plan.kernel?.target).toBe('as-is')
  expect(await y.collect()).toEqual([5, 6, 7])
})

test('elements of captured lists, undefined outside of these, are compared as in JavaScript', async () => {
  const numbers = [1, 2.5, Number.NaN, -0, 3]
  const whole = [3, 2, 0]
  const others = [1, 2, 0, 4]
  const given = [1, 2, Number.NaN, 0, 5, 6, 7]
  const sides = [
    'numbers[i]',
    'numbers[i - 1]',
    'whole[i]',
    'others[i]',
    'others[6 - i]',
    'x.get(i)',
    'i',
    '0',
    '2.5',
    'NaN',
    '(i > 2)',
    'undefined',
    'null',
  ]
  const compiled: string[] = []
  for (const left of sides.slice(0, 5)) {
    for (const right of sides) {
      const tests = ['===', '!==', '==', '!='].map((operator, k) => `(${left} ${operator} ${right} ? ${10 ** k} : 0)`)
      const make = new Function('numbers', 'whole', 'others', `return ([i], { x, y }) => y.set(i, ${tests.join(' + ')})`)
      const body = make(numbers, whole, others)
      const [x, y] = [session.fromTypedArray(Float64Array.from(given), [7]), session.zeros([7])]
      const loop = session.loop(session.range(7), { x, y }, body)
      await loop.run()
      const expected: number[] = []
      const env = { x: { get: (i: number) => given[i] }, y: { set: (i: number, value: number) => (expected[i] = value) } }
      for (let i = 0; i < 7; i++) body([i], env)
      expect(await y.collect(), `${left} and ${right}`).toEqual(expected)
      if (loop.plan.kernel?.target !== 'js') compiled.push(`${left} ${right}`)
    }
  }
  // of two elements, one of a list with NaN, nothing tells undefined from NaN: JavaScript compares them
  expect(compiled.length).toBe(5 * sides.length - 16)
})

test('a typed array of a body sorts -0 before 0, and NaN behind all', async () => {
  const [x, y] = [session.fromTypedArray(Float64Array.of(0, -0, Number.NaN, -1, 0, 2, -0, 1), [8]), session.zeros([8])]
  const loop = session.loop(session.range(8), { x, y }, ([i], { x, y }) => {
    const sorted = new Float64Array(8)
    for (let k = 0; k < 8; k++) sorted[k] = x.get(k)
    sorted.sort()
    y.set(i, 1 / (sorted[i] as number))
  })
  await loop.run()
  expect(loop.plan.kernel?.target).toMatch(/^wasm/)
  expect([...(await y.toTypedArray())]).toEqual([-1, -Infinity, -Infinity, Infinity, Infinity, 1, 0.5, Number.NaN])
})

test('an element that a variable has is undefined where only the truth of the result is asked', async () => {
  const y = session.zeros([4])
  const loop = session.loop(session.range(4), { y }, ([i], { y }) => {
    const held = [4, 2, 8]
    held[i % 3] = 1
    let sum = 0
    const take = (k: number): number | undefined => {
      const found = held[k]
      sum += found as number
      return found
    }
    y.set(i, take(5 - i) ? 1 : sum)
  })
  await loop.run()
  expect(loop.plan.kernel?.target).toMatch(/^wasm/)
  expect(await y.collect()).toEqual([Number.NaN, Number.NaN, Number.NaN, 1])
})

test('a Map of objects holds the objects themselves, and a body that makes more than there is room for runs as it stands', async () => {
  const y = session.zeros([4])
  const loop = session.loop(session.range(4), { y }, ([i], { y }) => {
    const stats = new Map<number, { n: number; sum: number }>()
    for (let k = 0; k < 9; k++) {
      const one = stats.get(k % (i + 1))
      if (one) {
        one.n++
        one.sum += k
      } else stats.set(k % (i + 1), { n: 1, sum: k })
    }
    let s = 0
    for (const [key, { n, sum }] of stats) s = s * 10 + key + sum / n
    y.set(i, s)
  })
  expect(loop.plan.kernel?.target).toMatch(/^wasm/)
  await loop.run()
  expect(await y.collect()).toEqual([4, 45, 357, 4468])
  const many = session.loop(session.range(4), { y }, ([i], { y }) => {
    const last = new Map<number, { n: number }>()
    for (let k = 0; k <= 32_768; k++) last.set(0, { n: k + i })
    y.set(i, last.get(0)?.n as number)
  })
  await many.run()
  expect(await y.collect()).toEqual([32_768, 32_769, 32_770, 32_771])
  expect(many.plan.kernel?.because?.map(({ message, cure }) => `${message} ${cure}`)).toEqual([
    'There are more than 32,768 objects like object. Give each its number, and keep the fields in arrays, as new Float64Array(n).',
  ])
  const none = await failure(([i], { y }) => {
    const groups: Record<string, number[]> = {}
    for (const word of ['a', 'b']) if (i > 5) groups[word] = [i]
    y.set(i, (groups.a as number[]).length)
  })
  expect(none).toBe("The body of the loop over range(4) threw at key [0]: Cannot read properties of undefined (reading 'length')")
})
