/** Stencils over grids and time, and images. */
import { type Entry, entry, filled, random, whole, zeros } from './entry.ts'

const N = 28
const T = 12
/** For the grids on which several threads take part. */
const WIDE = 320

const inside = (i: number, j: number, n: number): boolean => i > 0 && j > 0 && i < n - 1 && j < n - 1

export const stencils: readonly Entry[] = [
  entry({
    name: 'Jacobi',
    what: 'the mean of the four neighbours, from one grid into another and back',
    data: { a: random([N, N], 1), b: zeros([N, N]) },
    loops: (session, { a, b }) => ({
      loops: {
        forth: session.loop(session.range(N, N), { a, b }, ([i, j], { a, b }) => {
          if (i === 0 || j === 0 || i === N - 1 || j === N - 1) b.set(i, j, a.get(i, j))
          else b.set(i, j, (a.get(i - 1, j) + a.get(i + 1, j) + a.get(i, j - 1) + a.get(i, j + 1)) / 4)
        }),
        back: session.loop(session.range(N, N), { a, b }, ([i, j], { a, b }) => {
          if (i === 0 || j === 0 || i === N - 1 || j === N - 1) a.set(i, j, b.get(i, j))
          else a.set(i, j, (b.get(i - 1, j) + b.get(i + 1, j) + b.get(i, j - 1) + b.get(i, j + 1)) / 4)
        }),
      },
      rounds: 3,
    }),
    plain: ({ a, b }) => {
      const sweep = (from: Float64Array, to: Float64Array) => {
        for (let i = 0; i < N; i++)
          for (let j = 0; j < N; j++) {
            const p = i * N + j
            to[p] = inside(i, j, N) ? (from[p - N]! + from[p + N]! + from[p - 1]! + from[p + 1]!) / 4 : from[p]!
          }
      }
      for (let round = 0; round < 3; round++) {
        sweep(a, b)
        sweep(b, a)
      }
    },
  }),
  entry({
    name: 'Gauss–Seidel',
    what: 'one sweep over a grid, in place',
    data: { a: random([WIDE, WIDE], 2) },
    loops: (session, { a }) =>
      session.loop(session.range(WIDE, WIDE), { a }, ([i, j], { a }) => {
        if (i === 0 || j === 0 || i === WIDE - 1 || j === WIDE - 1) return
        a.set(i, j, (a.get(i - 1, j) + a.get(i + 1, j) + a.get(i, j - 1) + a.get(i, j + 1)) / 4)
      }),
    plain: ({ a }) => {
      for (let i = 1; i < WIDE - 1; i++)
        for (let j = 1; j < WIDE - 1; j++) {
          const p = i * WIDE + j
          a[p] = (a[p - WIDE]! + a[p + WIDE]! + a[p - 1]! + a[p + 1]!) / 4
        }
    },
  }),
  entry({
    name: 'Gauss–Seidel over time',
    what: 'all sweeps in one loop over t, i, j',
    data: { a: random([N, N], 3) },
    loops: (session, { a }) =>
      session.loop(session.range(T, N, N), { a }, ([_t, i, j], { a }) => {
        if (i === 0 || j === 0 || i === N - 1 || j === N - 1) return
        a.set(i, j, (a.get(i - 1, j) + a.get(i + 1, j) + a.get(i, j - 1) + a.get(i, j + 1)) / 4)
      }),
    plain: ({ a }) => {
      for (let t = 0; t < T; t++)
        for (let i = 1; i < N - 1; i++)
          for (let j = 1; j < N - 1; j++) {
            const p = i * N + j
            a[p] = (a[p - N]! + a[p + N]! + a[p - 1]! + a[p + 1]!) / 4
          }
    },
  }),
  entry({
    name: 'Gauss–Seidel, nine points',
    what: 'the neighbour above and to the right makes a dependence [1, -1]',
    data: { a: random([N, N], 4) },
    loops: (session, { a }) =>
      session.loop(session.range(N, N), { a }, ([i, j], { a }) => {
        if (i === 0 || j === 0 || i === N - 1 || j === N - 1) return
        const above = a.get(i - 1, j - 1) + a.get(i - 1, j) + a.get(i - 1, j + 1)
        const below = a.get(i + 1, j - 1) + a.get(i + 1, j) + a.get(i + 1, j + 1)
        a.set(i, j, (above + a.get(i, j - 1) + a.get(i, j + 1) + below) / 8)
      }),
    plain: ({ a }) => {
      for (let i = 1; i < N - 1; i++)
        for (let j = 1; j < N - 1; j++) {
          const p = i * N + j
          const above = a[p - N - 1]! + a[p - N]! + a[p - N + 1]!
          const below = a[p + N - 1]! + a[p + N]! + a[p + N + 1]!
          a[p] = (above + a[p - 1]! + a[p + 1]! + below) / 8
        }
    },
  }),
  entry({
    name: 'SOR, red and black',
    what: 'points of one colour have neighbours of the other only; the colour is a test on (i + j) % 2',
    data: { a: random([N, N], 5) },
    loops: (session, { a }) => {
      let colour = 0
      const half = session.loop(session.range(N, N), { a }, ([i, j], { a }) => {
        if (i === 0 || j === 0 || i === N - 1 || j === N - 1 || (i + j) % 2 !== colour) return
        const mean = (a.get(i - 1, j) + a.get(i + 1, j) + a.get(i, j - 1) + a.get(i, j + 1)) / 4
        a.set(i, j, a.get(i, j) + 1.5 * (mean - a.get(i, j)))
      })
      return {
        loops: { half },
        rounds: 4,
        before: (round) => {
          colour = round % 2
        },
      }
    },
    plain: ({ a }) => {
      for (let round = 0; round < 4; round++)
        for (let i = 1; i < N - 1; i++)
          for (let j = 1; j < N - 1; j++) {
            if ((i + j) % 2 !== round % 2) continue
            const p = i * N + j
            const mean = (a[p - N]! + a[p + N]! + a[p - 1]! + a[p + 1]!) / 4
            a[p]! += 1.5 * (mean - a[p]!)
          }
    },
  }),
  entry({
    name: 'SOR, red and black, by stride',
    what: 'over rows and half columns: j = 2 h + parity of the row',
    data: { red: random([N, N / 2], 6), black: random([N, N / 2], 7) },
    loops: (session, { red, black }) =>
      session.loop(session.range(N, N / 2), { red, black }, ([i, h], { red, black }) => {
        if (i === 0 || i === N - 1 || h === 0 || h === N / 2 - 1) return
        const mean = (black.get(i - 1, h) + black.get(i + 1, h) + black.get(i, h - 1) + black.get(i, h)) / 4
        red.set(i, h, red.get(i, h) + 1.5 * (mean - red.get(i, h)))
      }),
    plain: ({ red, black }) => {
      const w = N / 2
      for (let i = 1; i < N - 1; i++)
        for (let h = 1; h < w - 1; h++) {
          const p = i * w + h
          const mean = (black[p - w]! + black[p + w]! + black[p - 1]! + black[p]!) / 4
          red[p]! += 1.5 * (mean - red[p]!)
        }
    },
  }),
  entry({
    name: 'heat over time',
    what: 'one dimension; every step is kept',
    data: { u: filled([T + 1, 60], (p) => (p < 60 ? Math.sin(p) : 0)) },
    loops: (session, { u }) =>
      session.loop(session.range(T, 60), { u }, ([t, i], { u }) => {
        if (i === 0 || i === 59) u.set(t + 1, i, u.get(t, i))
        else u.set(t + 1, i, u.get(t, i) + 0.2 * (u.get(t, i - 1) - 2 * u.get(t, i) + u.get(t, i + 1)))
      }),
    plain: ({ u }) => {
      for (let t = 0; t < T; t++)
        for (let i = 0; i < 60; i++) {
          const p = t * 60 + i
          u[p + 60] = i === 0 || i === 59 ? u[p]! : u[p]! + 0.2 * (u[p - 1]! - 2 * u[p]! + u[p + 1]!)
        }
    },
  }),
  entry({
    name: 'heat over time, in place',
    what: 'one row over and over; a step sees new values to its left, old ones to its right',
    data: { u: random([60], 8) },
    loops: (session, { u }) =>
      session.loop(session.range(T, 60), { u }, ([_t, i], { u }) => {
        if (i > 0 && i < 59) u.set(i, (u.get(i - 1) + u.get(i) + u.get(i + 1)) / 3)
      }),
    plain: ({ u }) => {
      for (let t = 0; t < T; t++) for (let i = 1; i < 59; i++) u[i] = (u[i - 1]! + u[i]! + u[i + 1]!) / 3
    },
  }),
  entry({
    name: 'wave equation',
    what: 'each step needs the two before it',
    data: { u: filled([T + 2, 60], (p) => (p < 120 ? Math.sin((p % 60) / 9) : 0)) },
    loops: (session, { u }) =>
      session.loop(session.range(T, 60), { u }, ([t, i], { u }) => {
        if (i === 0 || i === 59) return
        const bend = u.get(t + 1, i - 1) - 2 * u.get(t + 1, i) + u.get(t + 1, i + 1)
        u.set(t + 2, i, 2 * u.get(t + 1, i) - u.get(t, i) + 0.25 * bend)
      }),
    plain: ({ u }) => {
      for (let t = 0; t < T; t++)
        for (let i = 1; i < 59; i++) {
          const p = (t + 1) * 60 + i
          const bend = u[p - 1]! - 2 * u[p]! + u[p + 1]!
          u[p + 60] = 2 * u[p]! - u[p - 60]! + 0.25 * bend
        }
    },
  }),
  entry({
    name: 'game of life',
    what: 'on a torus, into another grid',
    data: { a: whole([N, N], 2, 9, 'u8'), b: zeros([N, N], 'u8') },
    loops: (session, { a, b }) =>
      session.loop(session.range(N, N), { a, b }, ([i, j], { a, b }) => {
        let alive = 0
        for (let di = -1; di <= 1; di++) {
          for (let dj = -1; dj <= 1; dj++) {
            if (di !== 0 || dj !== 0) alive += a.get((i + di + N) % N, (j + dj + N) % N)
          }
        }
        b.set(i, j, alive === 3 || (alive === 2 && a.get(i, j) === 1) ? 1 : 0)
      }),
    plain: ({ a, b }) => {
      for (let i = 0; i < N; i++)
        for (let j = 0; j < N; j++) {
          let alive = 0
          for (let di = -1; di <= 1; di++)
            for (let dj = -1; dj <= 1; dj++) if (di !== 0 || dj !== 0) alive += a[((i + di + N) % N) * N + ((j + dj + N) % N)]!
          b[i * N + j] = alive === 3 || (alive === 2 && a[i * N + j] === 1) ? 1 : 0
        }
    },
  }),
  entry({
    name: 'convolution',
    what: 'of a signal with a kernel of 5',
    data: { signal: random([200], 10), kernel: random([5], 11), out: zeros([196]) },
    loops: (session, { signal, kernel, out }) =>
      session.loop(session.range(196), { signal, kernel, out }, ([i], { signal, kernel, out }) => {
        let sum = 0
        for (let k = 0; k < 5; k++) sum += signal.get(i + k) * kernel.get(k)
        out.set(i, sum)
      }),
    plain: ({ signal, kernel, out }) => {
      for (let i = 0; i < 196; i++) {
        let sum = 0
        for (let k = 0; k < 5; k++) sum += signal[i + k]! * kernel[k]!
        out[i] = sum
      }
    },
  }),
  entry({
    name: 'convolution, scattered',
    what: 'each sample is added to the outputs it belongs to: out[i + k] += …',
    data: { signal: whole([100], 9, 12), kernel: whole([5], 9, 13), out: zeros([104], 'i32') },
    loops: (session, { signal, kernel, out }) =>
      session.loop(session.range(100, 5), { signal, kernel, out }, ([i, k], { signal, kernel, out }) => {
        out.set(i + k, out.get(i + k) + signal.get(i) * kernel.get(k))
      }),
    plain: ({ signal, kernel, out }) => {
      for (let i = 0; i < 100; i++) for (let k = 0; k < 5; k++) out[i + k]! += signal[i]! * kernel[k]!
    },
  }),
  entry({
    name: 'box blur',
    what: 'separable: a running sum along each row, then along each column',
    data: { image: random([N, N], 14), rows: zeros([N, N]), out: zeros([N, N]) },
    loops: (session, { image, rows, out }) => ({
      loops: {
        rows: session.loop(session.range(N, N), { image, rows }, ([i, j], { image, rows }) => {
          const before = j > 0 ? rows.get(i, j - 1) : 0
          const leaving = j >= 5 ? image.get(i, j - 5) : 0
          rows.set(i, j, before + image.get(i, j) - leaving)
        }),
        columns: session.loop(session.range(N, N), { rows, out }, ([i, j], { rows, out }) => {
          const before = i > 0 ? out.get(i - 1, j) : 0
          const leaving = i >= 5 ? rows.get(i - 5, j) : 0
          out.set(i, j, before + rows.get(i, j) - leaving)
        }),
      },
    }),
    plain: ({ image, rows, out }) => {
      for (let i = 0; i < N; i++)
        for (let j = 0; j < N; j++)
          rows[i * N + j] = (j > 0 ? rows[i * N + j - 1]! : 0) + image[i * N + j]! - (j >= 5 ? image[i * N + j - 5]! : 0)
      for (let i = 0; i < N; i++)
        for (let j = 0; j < N; j++)
          out[i * N + j] = (i > 0 ? out[(i - 1) * N + j]! : 0) + rows[i * N + j]! - (i >= 5 ? rows[(i - 5) * N + j]! : 0)
    },
  }),
  entry({
    name: 'summed-area table',
    what: 'the sum of everything above and to the left',
    data: { image: random([N, N], 15), s: zeros([N + 1, N + 1]) },
    loops: (session, { image, s }) =>
      session.loop(session.range(N, N), { image, s }, ([i, j], { image, s }) => {
        s.set(i + 1, j + 1, image.get(i, j) + s.get(i, j + 1) + s.get(i + 1, j) - s.get(i, j))
      }),
    plain: ({ image, s }) => {
      const w = N + 1
      for (let i = 0; i < N; i++)
        for (let j = 0; j < N; j++) s[(i + 1) * w + j + 1] = image[i * N + j]! + s[i * w + j + 1]! + s[(i + 1) * w + j]! - s[i * w + j]!
    },
  }),
  entry({
    name: 'bilateral filter',
    what: 'weights by distance and by difference, clamped at the borders',
    data: { image: random([96, 96], 16), out: zeros([96, 96]) },
    loops: (session, { image, out }) =>
      session.loop(session.range(96, 96), { image, out }, ([i, j], { image, out }) => {
        const here = image.get(i, j)
        let sum = 0
        let weights = 0
        for (let di = -2; di <= 2; di++) {
          for (let dj = -2; dj <= 2; dj++) {
            const there = image.get(Math.min(Math.max(i + di, 0), 95), Math.min(Math.max(j + dj, 0), 95))
            const weight = Math.exp(-(di * di + dj * dj) / 8 - (there - here) ** 2 / 0.1)
            sum += weight * there
            weights += weight
          }
        }
        out.set(i, j, sum / weights)
      }),
    plain: ({ image, out }) => {
      const clamp = (x: number) => Math.min(Math.max(x, 0), 95)
      for (let i = 0; i < 96; i++)
        for (let j = 0; j < 96; j++) {
          const here = image[i * 96 + j]!
          let sum = 0
          let weights = 0
          for (let di = -2; di <= 2; di++)
            for (let dj = -2; dj <= 2; dj++) {
              const there = image[clamp(i + di) * 96 + clamp(j + dj)]!
              const weight = Math.exp(-(di * di + dj * dj) / 8 - (there - here) ** 2 / 0.1)
              sum += weight * there
              weights += weight
            }
          out[i * 96 + j] = sum / weights
        }
    },
  }),
  entry({
    name: 'Mandelbrot',
    what: 'iterations until the point escapes: very uneven work',
    data: { count: zeros([96, 96], 'i32') },
    loops: (session, { count }) =>
      session.loop(session.range(96, 96), { count }, ([i, j], { count }) => {
        const cx = -2 + (3 * j) / 96
        const cy = -1.5 + (3 * i) / 96
        let x = 0
        let y = 0
        let n = 0
        while (n < 100 && x * x + y * y <= 4) {
          const next = x * x - y * y + cx
          y = 2 * x * y + cy
          x = next
          n++
        }
        count.set(i, j, n)
      }),
    plain: ({ count }) => {
      for (let i = 0; i < 96; i++)
        for (let j = 0; j < 96; j++) {
          const cx = -2 + (3 * j) / 96
          const cy = -1.5 + (3 * i) / 96
          let [x, y, n] = [0, 0, 0]
          while (n < 100 && x * x + y * y <= 4) {
            ;[x, y] = [x * x - y * y + cx, 2 * x * y + cy]
            n++
          }
          count[i * 96 + j] = n
        }
    },
  }),
  entry({
    name: 'error diffusion',
    what: 'Floyd–Steinberg: what rounding loses goes to the right and to the row below',
    data: { image: random([N, N], 17) },
    loops: (session, { image }) =>
      session.loop(session.range(N, N), { image }, ([i, j], { image }) => {
        const old = image.get(i, j)
        const rounded = old < 0.5 ? 0 : 1
        const error = old - rounded
        image.set(i, j, rounded)
        if (j < N - 1) image.set(i, j + 1, image.get(i, j + 1) + (error * 7) / 16)
        if (i < N - 1) {
          if (j > 0) image.set(i + 1, j - 1, image.get(i + 1, j - 1) + (error * 3) / 16)
          image.set(i + 1, j, image.get(i + 1, j) + (error * 5) / 16)
          if (j < N - 1) image.set(i + 1, j + 1, image.get(i + 1, j + 1) + error / 16)
        }
      }),
    plain: ({ image }) => {
      for (let i = 0; i < N; i++)
        for (let j = 0; j < N; j++) {
          const p = i * N + j
          const rounded = image[p]! < 0.5 ? 0 : 1
          const error = image[p]! - rounded
          image[p] = rounded
          if (j < N - 1) image[p + 1]! += (error * 7) / 16
          if (i < N - 1 && j > 0) image[p + N - 1]! += (error * 3) / 16
          if (i < N - 1) image[p + N]! += (error * 5) / 16
          if (i < N - 1 && j < N - 1) image[p + N + 1]! += error / 16
        }
    },
  }),
]
