/** Products, stencils and tables of dynamic programming: dense arrays with affine subscripts. */
import { dense, filled, type KernelQuestion, scattered } from './question.ts'

export function product(n: number): KernelQuestion {
  return {
    name: `matrix product, ${n} x ${n}`,
    unit: 'multiplication',
    units: n ** 3,
    native: ['product', n],
    isNativeParallel: true,
    order: 'serial',
    program: async (session, precision) => {
      const A = await dense(session, [n, n], 'f64', filled(n * n, 17))
      const B = await dense(session, [n, n], 'f64', filled(n * n, 13))
      const C = session.zeros([n, n])
      const loop = session.loop(
        session.range(n),
        { A, B, C },
        ([i], { A, B, C }) => {
          for (let k = 0; k < n; k++) {
            const a = A.get(i, k)
            for (let j = 0; j < n; j++) C.set(i, j, C.get(i, j) + a * B.get(k, j))
          }
        },
        { precision },
      )
      return { loops: [loop], results: [C], arrays: [A, B, C] }
    },
    plain: () => {
      const [A, B, C] = [filled(n * n, 17), filled(n * n, 13), new Float64Array(n * n)]
      const pass = () => {
        for (let i = 0; i < n; i++)
          for (let k = 0; k < n; k++) {
            const a = A[i * n + k]!
            for (let j = 0; j < n; j++) C[i * n + j]! += a * B[k * n + j]!
          }
      }
      return { pass, results: [C] }
    },
  }
}

/** As a loop over rows, or over elements: the same numbers. */
export function jacobi(n: number, by: 'rows' | 'elements'): KernelQuestion {
  return {
    name: `Jacobi by ${by}, ${n} x ${n}`,
    unit: 'element',
    units: (n - 2) ** 2,
    native: ['jacobi', n],
    isNativeParallel: true,
    order: 'serial',
    program: async (session, precision) => {
      const A = await dense(session, [n, n], 'f64', filled(n * n, 17))
      const B = session.zeros([n, n])
      const loop =
        by === 'rows'
          ? session.loop(
              session.range(n - 2),
              { A, B },
              ([row], { A, B }) => {
                const i = row + 1
                for (let j = 1; j < n - 1; j++) B.set(i, j, 0.25 * (A.get(i - 1, j) + A.get(i + 1, j) + A.get(i, j - 1) + A.get(i, j + 1)))
              },
              { precision },
            )
          : session.loop(
              session.range(n, n),
              { A, B },
              ([i, j], { A, B }) => {
                if (i > 0 && j > 0 && i < n - 1 && j < n - 1)
                  B.set(i, j, 0.25 * (A.get(i - 1, j) + A.get(i + 1, j) + A.get(i, j - 1) + A.get(i, j + 1)))
              },
              { precision },
            )
      return { loops: [loop], results: [B], arrays: [A, B] }
    },
    plain: () => {
      const [A, B] = [filled(n * n, 17), new Float64Array(n * n)]
      const pass = () => {
        for (let i = 1; i < n - 1; i++)
          for (let p = i * n + 1, end = p + n - 2; p < end; p++) B[p] = 0.25 * (A[p - n]! + A[p + n]! + A[p - 1]! + A[p + 1]!)
      }
      return { pass, results: [B] }
    },
  }
}

export function gaussSeidel(n: number): KernelQuestion {
  const width = n + 2
  return {
    name: `Gauss-Seidel sweep, ${n} x ${n}`,
    unit: 'element',
    units: n * n,
    native: ['gauss-seidel', n],
    isNativeParallel: true,
    order: 'serial',
    program: async (session, precision) => {
      const A = await dense(session, [width, width], 'f64', filled(width * width, 17))
      const loop = session.loop(
        session.range(n, n),
        { A },
        ([row, column], { A }) => {
          const i = row + 1
          const j = column + 1
          A.set(i, j, 0.25 * (A.get(i - 1, j) + A.get(i + 1, j) + A.get(i, j - 1) + A.get(i, j + 1)))
        },
        { precision },
      )
      return { loops: [loop], results: [A], arrays: [A] }
    },
    plain: () => {
      const A = filled(width * width, 17)
      const pass = () => {
        for (let i = 1; i <= n; i++)
          for (let p = i * width + 1, end = p + n; p < end; p++) A[p] = 0.25 * (A[p - width]! + A[p + width]! + A[p - 1]! + A[p + 1]!)
      }
      return { pass, results: [A] }
    },
  }
}

export function smithWaterman(n: number): KernelQuestion {
  const letters = (from: number) => Uint8Array.from({ length: n }, (_, i) => scattered(i + from, 4))
  const [s, t] = [letters(0), letters(n)]
  return {
    name: `Smith-Waterman, ${n} x ${n}`,
    unit: 'element',
    units: n * n,
    native: ['smith-waterman', n],
    isNativeParallel: true,
    order: 'serial',
    program: async (session, precision) => {
      const H = session.zeros([n + 1, n + 1], { dtype: 'i32' })
      const loop = session.loop(
        session.range(n, n),
        { H, s, t },
        ([i, j], { H, s, t }) => {
          const match = H.get(i, j) + (s[i] === t[j] ? 3 : -3)
          const gap = Math.max(H.get(i, j + 1), H.get(i + 1, j)) - 2
          H.set(i + 1, j + 1, Math.max(0, match, gap))
        },
        { precision },
      )
      return { loops: [loop], results: [H], arrays: [H] }
    },
    plain: () => {
      const width = n + 1
      const H = new Int32Array(width * width)
      const pass = () => {
        for (let i = 0; i < n; i++)
          for (let j = 0, p = i * width; j < n; j++, p++) {
            const match = H[p]! + (s[i] === t[j] ? 3 : -3)
            const gap = Math.max(H[p + 1]!, H[p + width]!) - 2
            H[p + width + 1] = Math.max(0, match, gap)
          }
      }
      return { pass, results: [H] }
    },
  }
}
