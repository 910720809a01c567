/**
 * Loops of numbers as people write them for Numba, against Numba's compiled functions, on one thread each.
 *
 *     distarray   loop.run() with one worker, precision exact
 *     numba       the same loop in a function under @njit; it draws from its own generator
 *
 *     PATH=...:$PATH npm run bench -- numba --only pi        python3 must have numba
 */
import { type Loop, Session } from 'distarray'
import { suite, timed } from './harness.ts'
import { startNumba } from './python.ts'

const bench = suite('numba', { points: 4_000_000, chains: 20_000, tokens: 400_000, side: 1000 })
const { points, chains, tokens, side } = bench.options
const numba = await startNumba({ busy: bench.busy })
if (numba === undefined) {
  console.log('LEFT OUT  numba: python3 has none (pip install numba).')
  process.exit(0)
}
const session = await Session.start({ workers: 1, progress: false })

interface Question {
  readonly name: string
  readonly unit: string
  readonly units: number
  readonly loop: () => Loop
  /** Defines `pass_()`, and what it works on. */
  readonly python: string
}

const THROWS = 1000
const STEPS = 200
const TOPICS = 20
const DOCUMENTS = 2000
const WORDS = 5000

const QUESTIONS: readonly Question[] = [
  {
    name: 'pi by Monte Carlo',
    unit: 'point',
    units: points,
    loop: () => {
      const rng = session.rng(1)
      const hits = session.accumulator('count')
      return session.loop(session.range(points / THROWS), { rng, hits }, (_, { rng, hits }) => {
        for (let k = 0; k < 1000; k++) {
          const a = rng.uniform()
          const b = rng.uniform()
          if (a * a + b * b < 1) hits.add(1)
        }
      })
    },
    python: `
@njit
def pass_():
    hits = 0
    for k in range(${points}):
        a = random.random()
        b = random.random()
        if a * a + b * b < 1:
            hits += 1
    return hits`,
  },
  {
    name: 'Metropolis sampling of a mixture',
    unit: 'step',
    units: chains * STEPS,
    loop: () => {
      const rng = session.rng(2)
      const means = session.zeros([chains])
      return session.loop(session.range(chains), { rng, means }, ([i], { rng, means }) => {
        const density = (x: number): number => Math.exp(-0.5 * (x - 1) * (x - 1)) + 0.5 * Math.exp(-0.5 * (x + 2) * (x + 2))
        let x = 0
        let p = density(x)
        let sum = 0
        for (let step = 0; step < 200; step++) {
          const next = x + (rng.uniform() - 0.5) * 2
          const q = density(next)
          if (rng.uniform() * p < q) {
            x = next
            p = q
          }
          sum += x
        }
        means.set(i, sum / 200)
      })
    },
    python: `
@njit
def density(x):
    return math.exp(-0.5 * (x - 1) * (x - 1)) + 0.5 * math.exp(-0.5 * (x + 2) * (x + 2))
means = np.zeros(${chains})
@njit
def chain_(means):
    for i in range(len(means)):
        x = 0.0
        p = density(x)
        total = 0.0
        for step in range(${STEPS}):
            n = x + (random.random() - 0.5) * 2
            q = density(n)
            if random.random() * p < q:
                x = n
                p = q
            total += x
        means[i] = total / ${STEPS}
def pass_():
    chain_(means)`,
  },
  {
    name: 'LDA by collapsed Gibbs sampling',
    unit: 'token',
    units: tokens,
    loop: () => {
      const docs = session.fromTypedArray(
        Int32Array.from({ length: tokens }, (_, t) => (t * 7919) % DOCUMENTS),
        [tokens],
      )
      const words = session.fromTypedArray(
        Int32Array.from({ length: tokens }, (_, t) => (t * 104_729 + (t >> 3)) % WORDS),
        [tokens],
      )
      const z = session.fromTypedArray(
        Int32Array.from({ length: tokens }, (_, t) => t % TOPICS),
        [tokens],
      )
      const byDoc = session.zeros([DOCUMENTS, TOPICS], { dtype: 'i32' })
      const byWord = session.zeros([WORDS, TOPICS], { dtype: 'i32' })
      const total = session.zeros([TOPICS], { dtype: 'i32' })
      const rng = session.rng(3)
      counted = session.loop(session.range(tokens), { docs, words, z, byDoc, byWord, total }, ([t], a) => {
        const k = a.z.get(t)
        a.byDoc.add(a.docs.get(t), k, 1)
        a.byWord.add(a.words.get(t), k, 1)
        a.total.add(k, 1)
      })
      return session.loop(session.range(tokens), { docs, words, z, byDoc, byWord, total, rng }, ([t], a) => {
        const d = a.docs.get(t)
        const w = a.words.get(t)
        const old = a.z.get(t)
        a.byDoc.set(d, old, a.byDoc.get(d, old) - 1)
        a.byWord.set(w, old, a.byWord.get(w, old) - 1)
        a.total.set(old, a.total.get(old) - 1)
        const p = new Float64Array(20)
        let sum = 0
        for (let k = 0; k < 20; k++) {
          sum += ((a.byDoc.get(d, k) + 0.1) * (a.byWord.get(w, k) + 0.01)) / (a.total.get(k) + 50)
          p[k] = sum
        }
        const u = a.rng.uniform() * sum
        let next = 0
        while (next < 19 && (p[next] as number) < u) next++
        a.z.set(t, next)
        a.byDoc.set(d, next, a.byDoc.get(d, next) + 1)
        a.byWord.set(w, next, a.byWord.get(w, next) + 1)
        a.total.set(next, a.total.get(next) + 1)
      })
    },
    python: `
t = np.arange(${tokens}, dtype=np.int64)
docs = ((t * 7919) % ${DOCUMENTS}).astype(np.int32)
words = ((t * 104729 + (t >> 3)) % ${WORDS}).astype(np.int32)
z = (t % ${TOPICS}).astype(np.int32)
by_doc = np.zeros((${DOCUMENTS}, ${TOPICS}), np.int32)
by_word = np.zeros((${WORDS}, ${TOPICS}), np.int32)
total = np.zeros(${TOPICS}, np.int32)
np.add.at(by_doc, (docs, z), 1); np.add.at(by_word, (words, z), 1); np.add.at(total, z, 1)
@njit
def gibbs(docs, words, z, by_doc, by_word, total):
    p = np.zeros(${TOPICS})
    for t in range(len(docs)):
        d, w, old = docs[t], words[t], z[t]
        by_doc[d, old] -= 1
        by_word[w, old] -= 1
        total[old] -= 1
        s = 0.0
        for k in range(${TOPICS}):
            s += ((by_doc[d, k] + 0.1) * (by_word[w, k] + 0.01)) / (total[k] + 50)
            p[k] = s
        u = random.random() * s
        n = 0
        while n < ${TOPICS - 1} and p[n] < u:
            n += 1
        z[t] = n
        by_doc[d, n] += 1
        by_word[w, n] += 1
        total[n] += 1
def pass_():
    gibbs(docs, words, z, by_doc, by_word, total)`,
  },
  {
    name: 'a 3 x 3 filter with clamped borders',
    unit: 'element',
    units: side * side,
    loop: () => {
      const n = side
      const image = session.random([n, n], { seed: 4 })
      const out = session.zeros([n, n])
      const kernel = [
        [1, 2, 1],
        [2, 4, 2],
        [1, 2, 1],
      ]
      return session.loop(session.range(n, n), { image, out }, ([i, j], { image, out }) => {
        let sum = 0
        for (let di = -1; di <= 1; di++) {
          for (let dj = -1; dj <= 1; dj++) {
            const y = Math.min(n - 1, Math.max(0, i + di))
            const x = Math.min(n - 1, Math.max(0, j + dj))
            sum += ((kernel[di + 1] as number[])[dj + 1] as number) * image.get(y, x)
          }
        }
        out.set(i, j, sum / 16)
      })
    },
    python: `
image = np.random.rand(${side}, ${side})
out = np.zeros((${side}, ${side}))
kernel = np.array([[1, 2, 1], [2, 4, 2], [1, 2, 1]], dtype=np.float64)
@njit
def filter_(image, out, kernel):
    n = ${side}
    for i in range(n):
        for j in range(n):
            s = 0.0
            for di in range(-1, 2):
                for dj in range(-1, 2):
                    y = min(n - 1, max(0, i + di))
                    x = min(n - 1, max(0, j + dj))
                    s += kernel[di + 1, dj + 1] * image[y, x]
            out[i, j] = s / 16
def pass_():
    filter_(image, out, kernel)`,
  },
]

let counted: Loop | undefined
for (const { name, unit, units, loop, python } of QUESTIONS) {
  if (!bench.wanted(name)) continue
  const own = loop()
  await counted?.run()
  counted = undefined
  if (own.plan.kernel?.target === 'as-is') throw new Error(`${name} runs as it stands.`)
  await numba.run(`${python}\npass_()\nanswer = 0`) // compiled
  const pass = async (): Promise<number> => (await numba.run('pass_()')).ms
  await bench.ask({ name, unit, units, contenders: { distarray: timed(() => own.run()), numba: pass }, peers: ['numba'] })
}
await session.stop()
await numba.stop()
bench.finish()
