/** Letters and their cases on a server: those of all but the newest letters are the same as here. On Sail, and on Spark where it is. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { Session } from '../src/index.ts'
import { startSail, startSpark } from './sparkServers.ts'

const servers = (await Promise.all([startSail(), startSpark()])).filter((one) => one !== undefined)
const folder = mkdtempSync(join(tmpdir(), 'distarray-spark-texts-'))
const here = await Session.start({ workers: 1, progress: false })
afterAll(async () => {
  await here.stop()
  for (const server of servers) await server.stop()
  rmSync(folder, { recursive: true })
})

if (servers.length === 0) test.skip('neither Sail nor Spark is here: letters on a server are not tested', () => {})

describe.each(servers)('on $name', ({ address }) => {
  test('letters have the same cases there, but for those that are new to Unicode', async () => {
    const session = await Session.start({ tables: address, workers: 1, progress: false })
    try {
      const chars = join(folder, 'chars.parquet')
      const late =
        /[\u037f\u0528-\u052f\u10d0-\u10ff\u13a0-\u13ff\u1c80-\u1cbf\u2c2f\u2c5f\ua698-\ua69f\ua78d-\ua7ff\uab30-\uabbf\ud800-\udfff]|[\u{10400}-\u{105ff}\u{10c80}-\u{10d9f}\u{118a0}-\u{118df}\u{16e40}-\u{16eff}\u{1e900}-\u{1e943}]/u
      const old = Array.from({ length: 0x1ffff }, (_, i) => String.fromCodePoint(i + 1)).filter((c) => !late.test(c))
      await here.fromColumns({ c: [...old, 'ᲀ'] }).writeParquet(chars)
      const all = await session.readParquet<{ readonly c: string }>(chars)
      const cased = await all
        .filter((r) => r.c !== 'ᲀ')
        .map((r) => ({
          c: r.c,
          upper: r.c.toUpperCase(),
          lower: r.c.toLowerCase(),
          last: `aΣ${r.c}`.toLowerCase(),
          sigma: `${r.c}Σ`.toLowerCase(),
        }))
        .collect()
      expect(cased.length).toBe(old.length)
      const wrong = cased.filter(
        ({ c, upper, lower, last, sigma }) =>
          upper !== c.toUpperCase() || lower !== c.toLowerCase() || last !== `aΣ${c}`.toLowerCase() || sigma !== `${c}Σ`.toLowerCase(),
      )
      expect(wrong).toEqual([])
      const failed = all.filter((r) => r.c === 'ᲀ').map((r) => r.c.toUpperCase())
      await expect(failed.collect()).rejects.toThrow('toUpperCase() of letters that are new to Unicode. Compute it behind collect(): ᲀ')
    } finally {
      await session.stop()
    }
  })
})
