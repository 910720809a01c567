/** What `explain` shows of compiled code. */
import { afterAll, expect, test } from 'vitest'
import { Session } from './session/session.ts'

const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

const kernelOf = (explained: string): string => explained.slice(explained.indexOf('\nkernel') + 1, explained.indexOf('\nexecution'))
const x = session.random([100, 4], { seed: 1 })
const y = session.zeros([100, 4])
const rate = 0.5
const loop = session.loop(session.range(100), { x, y }, ([i], { x, y }) => {
  for (let k = 1; k < 4; k++) if (x.get(i, k) > rate) y.set(i, k, y.get(i, k - 1) + x.get(i, k))
})

test('a loop is shown as IR and as a WebAssembly module, before it ran and afterwards', async () => {
  const before = kernelOf(loop.explain({ kernel: true }))
  await loop.run()
  const lines = kernelOf(loop.explain({ kernel: true })).split('\n')
  expect(lines.length).toBeGreaterThan(30)
  expect(before.split('\n').slice(0, 8)).toEqual(lines.slice(0, 8))
  expect(lines.slice(2, 8)).toEqual([
    '  IR',
    '    $rate = 0.5',
    '    for k from 1 to 4 by 1',
    '      if (x[i, k] > $rate)',
    '        y[i, k] = (y[i, (k - 1)] + x[i, k])',
    '  WebAssembly',
  ])
  expect(lines[8]).toBe('    (module')
  expect(lines).toContain('        (local.set $y.stride0 (global.get $A1s0))')
  expect(kernelOf(loop.explain())).toBe('kernel wasm-simd')
})

test('a kernel that is JavaScript is shown as that', () => {
  const words = ['a', 'b']
  const counted = session.loop(session.range(2), { y }, ([i], { y }) => {
    if ((words[i] as string) < 'b') y.set(i, 0, 1)
  })
  const lines = kernelOf(counted.explain({ kernel: true })).split('\n')
  expect(lines.slice(1, 5)).toEqual(['  IR', '    if ($words[i] < "b")', '      y[i, 0] = 1', '  JavaScript'])
  expect(lines.at(5)).toBe('    "use strict"')
  expect(lines).toContain('            if ((T0[k0] < "b")) {')
})

test('a body that runs as it stands has no kernel to show', () => {
  const seen: number[] = []
  const loud = session.loop(session.range(2), { y }, ([i]) => {
    seen.push(i)
  })
  expect(kernelOf(loud.explain({ kernel: true }))).toBe(kernelOf(loud.explain()))
})

test('a chain over a table shows the IR of its functions and the modules of its kernels', () => {
  const table = session.fromColumns({ price: new Float64Array(30_000), count: new Int32Array(30_000) })
  const chain = table.filter((r) => r.count > rate).map((r) => r.price * 2)
  const lines = chain.explain({ verbose: true }).split('\n')
  expect(lines.slice(1, 8)).toEqual([
    expect.stringContaining('Map'),
    '      yields f64, keys row number',
    '      IR return (#0.price * 2)',
    expect.stringContaining('Filter'),
    '        yields { price: f64, count: i32 }, keys row number',
    '        IR',
    '          $rate = 0.5',
  ])
  const at = lines.indexOf('  a bit for each row that is kept')
  expect([lines[at - 1], lines[at + 1]]).toEqual(['  WebAssembly: one pass over the columns, four rows at a time', '    (module'])
  expect(lines[lines.indexOf('  the values') + 1]).toBe('    (module')
  expect(chain.explain()).not.toContain('IR')
})

test('a module of a chain reads no column that only other steps need', async () => {
  const table = session.fromColumns({ price: new Float64Array(30_000), count: new Int32Array(30_000), paid: new Float64Array(30_000) })
  const text = table
    .filter((r) => r.count > 1 && r.paid > 0)
    .map((r) => r.price * 2)
    .explain({ verbose: true })
  const [, bits = '', values = ''] = text.split('(module')
  const columnsOf = (module: string): readonly string[] => [
    ...new Set(module.match(/v128.load[^$]*\$values\d/g)?.map((read) => read.slice(-1))),
  ]
  expect([columnsOf(bits), columnsOf(values)]).toEqual([['1', '2'], ['0']])
})

test('a module of a chain computes of captured numbers and literals before its loop', () => {
  const table = session.fromColumns({ price: new Float64Array(30_000) })
  const [limit, rate] = [20, 3]
  const text = table.filter((r) => r.price > limit && r.price + 1 < Math.atan2(limit, rate) - limit * rate).explain({ verbose: true })
  const [before = '', turns = ''] = text.split('(module')[1]?.split('(loop') ?? []
  const computed = (code: string) => new Set(code.match(/convert_low|call|(?<=f64x2\.)(mul|sub|add)/g))
  expect(computed(before)).toEqual(new Set(['convert_low', 'call', 'mul', 'sub']))
  expect(computed(turns)).toEqual(new Set(['add']))
})
