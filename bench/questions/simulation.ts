/** Bodies that pull one another, and ranks that flow along links: each pass is two loops. */
import { dense, type KernelQuestion, scattered, wholes } from './question.ts'

export function bodies(n: number): KernelQuestion {
  const start = () => Float64Array.from({ length: 3 * n }, (_, i) => scattered(i, 1000) / 1000)
  return {
    name: `N-body, ${n} bodies`,
    unit: 'pair',
    units: n * n,
    native: ['n-body', n],
    isNativeParallel: true,
    order: 'serial',
    program: async (session, precision) => {
      const place = await dense(session, [n, 3], 'f64', start())
      const speed = session.zeros([n, 3])
      const forces = session.loop(
        session.range(n),
        { place, speed },
        ([b], { place, speed }) => {
          let x = 0
          let y = 0
          let z = 0
          for (let c = 0; c < n; c++) {
            const dx = place.get(c, 0) - place.get(b, 0)
            const dy = place.get(c, 1) - place.get(b, 1)
            const dz = place.get(c, 2) - place.get(b, 2)
            const square = dx * dx + dy * dy + dz * dz + 0.01
            const pull = 0.001 / (square * Math.sqrt(square))
            x += pull * dx
            y += pull * dy
            z += pull * dz
          }
          speed.set(b, 0, speed.get(b, 0) + x)
          speed.set(b, 1, speed.get(b, 1) + y)
          speed.set(b, 2, speed.get(b, 2) + z)
        },
        { precision },
      )
      const moves = session.loop(session.range(n, 3), { place, speed }, ([b, axis], { place, speed }) => {
        place.set(b, axis, place.get(b, axis) + 0.001 * speed.get(b, axis))
      })
      return { loops: [forces, moves], results: [place], arrays: [place, speed] }
    },
    plain: () => {
      const place = start()
      const speed = new Float64Array(3 * n)
      const pass = () => {
        for (let b = 0; b < 3 * n; b += 3) {
          let x = 0
          let y = 0
          let z = 0
          for (let c = 0; c < 3 * n; c += 3) {
            const dx = place[c]! - place[b]!
            const dy = place[c + 1]! - place[b + 1]!
            const dz = place[c + 2]! - place[b + 2]!
            const square = dx * dx + dy * dy + dz * dz + 0.01
            const pull = 0.001 / (square * Math.sqrt(square))
            x += pull * dx
            y += pull * dy
            z += pull * dz
          }
          speed[b]! += x
          speed[b + 1]! += y
          speed[b + 2]! += z
        }
        for (let p = 0; p < 3 * n; p++) place[p]! += 0.001 * speed[p]!
      }
      return { pass, results: [place] }
    },
  }
}

const LINKS = 10

export function pageRank(pages: number): KernelQuestion {
  const data = () => ({ first: Int32Array.from({ length: pages + 1 }, (_, v) => v * LINKS), from: wholes(pages * LINKS, pages) })
  return {
    name: `PageRank, ${pages} pages of ${LINKS} links`,
    unit: 'link',
    units: pages * LINKS,
    native: ['pagerank', pages],
    isNativeParallel: true,
    order: 'serial',
    program: async (session, precision) => {
      const links = data()
      const first = await dense(session, [pages + 1], 'i32', links.first)
      const from = await dense(session, [pages * LINKS], 'i32', links.from)
      const rank = session.fill([pages], 1 / pages, { dtype: 'f64' })
      const next = session.zeros([pages])
      const collect = session.loop(
        session.range(pages),
        { first, from, rank, next },
        ([v], { first, from, rank, next }) => {
          let sum = 0
          for (let e = first.get(v); e < first.get(v + 1); e++) sum += rank.get(from.get(e)) / LINKS
          next.set(v, 0.15 / pages + 0.85 * sum)
        },
        { precision },
      )
      const copy = session.loop(session.range(pages), { rank, next }, ([v], { rank, next }) => {
        rank.set(v, next.get(v))
      })
      return { loops: [collect, copy], results: [rank], arrays: [first, from, rank, next] }
    },
    plain: () => {
      const { first, from } = data()
      const rank = new Float64Array(pages).fill(1 / pages)
      const next = new Float64Array(pages)
      const pass = () => {
        for (let v = 0; v < pages; v++) {
          let sum = 0
          for (let e = first[v]!; e < first[v + 1]!; e++) sum += rank[from[e]!]! / LINKS
          next[v] = 0.15 / pages + 0.85 * sum
        }
        rank.set(next)
      }
      return { pass, results: [rank] }
    },
  }
}
