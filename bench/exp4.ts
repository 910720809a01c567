import { Session } from 'distarray'
import { factorization } from './questions/factorization.ts'
import { pageRank, bodies } from './questions/simulation.ts'
import { gibbs, kMeans } from './questions/learning.ts'
import { jacobi } from './questions/dense.ts'
const R = { users: 200, movies: 200, perUser: 200 }
const Q: any = { f16: () => factorization('x', 'f32', 16, R), f128: () => factorization('x', 'f32', 128, R), pr: () => pageRank(50_000), nb: () => bodies(500), gibbs: () => gibbs(20_000, 2_000), km: () => kMeans(20_000), jr: () => jacobi(1000, 'rows'), je: () => jacobi(1000, 'elements') }
const s = await Session.start({ workers: 1, progress: false })
const cpu = async (f: () => any) => { const t = process.cpuUsage(); await f(); const e = process.cpuUsage(t); return (e.user + e.system) / 1000 }
for (const name of process.argv.slice(2)) {
  const q = Q[name]()
  const p = await q.program(s, 'exact'), pl = q.plain()
  const a: number[] = [], b: number[] = []
  for (let i = 0; i < 120; i++) { a.push(await cpu(async () => { for (const l of p.loops) await l.run() })); b.push(await cpu(pl.pass)) }
  const at = (x: number[]) => [0, 1, 2, 3, 5, 8, 12, 20, 40, 80, 119].map((i) => x[i]!.toFixed(1)).join(' ')
  const med = (x: number[]) => [...x.slice(60)].sort((u, v) => u - v)[30]!
  console.log(name, 'exact', at(a), '| plain', at(b), '| ns', (med(a) * 1e6 / q.units).toFixed(2), (med(b) * 1e6 / q.units).toFixed(2), 'plain/exact', (med(b) / med(a)).toFixed(2))
}
await s.stop()
