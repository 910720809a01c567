/** Law: what has the same version twice has not changed in between, whatever ticks a file system's clock has; and what was left alone for some seconds has a version. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { versionOf } from '../src/io/bytes/byteSource.ts'
import { announcedRun } from './lawRuns.ts'

const run = announcedRun('versions.prop.ts')

/** What happens to a file, with the milliseconds before it. */
const events = fc.array(
  fc.record({
    after: fc.oneof({ weight: 3, arbitrary: fc.nat(40) }, { weight: 1, arbitrary: fc.nat(9_000) }),
    event: fc.constantFrom('look', 'look', 'look', 'write', 'set the time back', 'replace'),
  }),
  { maxLength: 30 },
)

test('two looks that find one version find one content', () => {
  const counts = { again: 0, changed: 0, none: 0 }
  fc.assert(
    fc.property(events, fc.constantFrom(0.001, 1, 4, 10, 1000, 2000), fc.integer({ min: 1, max: 2 }), (history, tick, sizes) => {
      let now = 1_700_000_000_000
      const timeOf = (): number => Math.floor(now / tick) * tick
      const file = { dev: 1, ino: 7, size: 100, mtimeMs: timeOf(), ctimeMs: timeOf() }
      let [content, changed] = [0, now]
      const seen = new Map<string, number>()
      for (const { after, event } of history) {
        now += after
        if (event === 'look') {
          const version = versionOf(file, now)
          if (version === undefined) {
            expect(now - changed).toBeLessThan(5_000)
            counts.none++
          } else {
            const known = seen.get(version)
            expect(known ?? content).toBe(content)
            counts[known === undefined ? 'changed' : 'again']++
            seen.set(version, content)
          }
          continue
        }
        content++
        changed = now
        file.ctimeMs = timeOf()
        // a copy may have the time of its original, and be moved over the file
        file.mtimeMs = event === 'write' ? timeOf() : 1_600_000_000_000
        if (event === 'replace') file.ino = 7 + (content % 2)
        file.size = 100 + (content % sizes)
      }
    }),
    run,
  )
  console.log(`versions: ${JSON.stringify(counts)}`)
  if (run.numRuns >= 500) expect(Math.min(counts.again, counts.changed, counts.none)).toBeGreaterThan(run.numRuns / 10)
})
