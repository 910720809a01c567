/** Keys that are computed as whole numbers, over memory that had other values before. */
import { Float64, Table, tableToIPC, vectorFromArray } from 'apache-arrow'
import { expect, test } from 'vitest'
import { Session } from '../../../../index.ts'

function fileOf(values: readonly number[]): Uint8Array {
  return tableToIPC(new Table({ n: vectorFromArray(values, new Float64()) }), 'file')
}

test('what lies behind the last row is no key, though kernels compute four rows at a time', async () => {
  const session = await Session.start({ workers: 1, progress: false })
  try {
    const grouped = async (values: readonly number[]) =>
      (await session.readArrow<{ readonly n: number }>(fileOf(values))).groupBy((r) => r.n * 3).count()
    // leaves halves in the memory that the next file is read into
    const halves = await grouped(Array.from({ length: 25_000 }, (_, i) => (i % 7) + 0.5))
    expect(await halves.collect()).toHaveLength(7)
    const whole = await grouped(Array.from({ length: 24_997 }, (_, i) => i % 7))
    expect(await whole.explain({ analyze: true })).toContain('groups in the same pass')
    expect((await whole.collect()).map((r) => r.key)).toEqual([0, 3, 6, 9, 12, 15, 18])
  } finally {
    await session.stop()
  }
})
