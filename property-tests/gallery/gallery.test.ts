/**
 * Real loops, each with the verdict that the analysis gives it, run with 1, 2 and 3 workers and compared with plain JavaScript.
 *
 * The verdicts are golden text beside the loops, `stencils.verdicts.txt` for `stencils.ts`, and a table in docs/gallery.md made of
 * them. Both are changed only by UPDATE_GALLERY=1.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Session } from '../../src/index.ts'
import { shortPassesOnWorkers } from '../../src/session/runtime.ts'
import { withTable } from './docsTable.ts'
import { families } from './families.ts'
import { runEntry, type Verdict, verdictText } from './runEntry.ts'

const UPDATE = process.env.UPDATE_GALLERY === '1'
const DOCS = new URL('../../docs/gallery.md', import.meta.url)
const goldenOf = (family: string) => new URL(`./${family}.verdicts.txt`, import.meta.url)

const verdicts = new Map<string, Verdict[]>(Object.keys(families).map((family) => [family, []]))
const entries = Object.entries(families).flatMap(([family, list]) => list.map((one) => ({ family, one, name: one.name })))

describe.each([1, 2, 3])('%i workers', (workers) => {
  let session: Session
  let onWorkers = 0
  beforeAll(async () => {
    // Where there is one worker, every access is held against the schedule as well.
    session = await Session.start({ workers, checkRaces: workers === 1, ...shortPassesOnWorkers })
  })
  afterAll(() => session.stop())

  test.each(entries)('$family: $name', async ({ family, one }) => {
    const ran = await runEntry(session, one)
    expect(ran.differences).toEqual([])
    if (workers === 1) verdicts.get(family)?.push(...ran.verdicts)
    else expect(verdictText(ran.verdicts)).toBe(verdictText(verdicts.get(family)?.filter(({ entry }) => entry === one.name) ?? []))
    onWorkers += ran.onWorkers
  })

  test('loops run on worker threads', () => {
    if (workers === 1) expect(onWorkers).toBe(0)
    else expect(onWorkers).toBeGreaterThan(entries.length / 2)
  })
})

describe('verdicts', () => {
  /** Golden text is written by whole runs only, never by one that was told to leave tests out. */
  const isWhole = () => new Set([...verdicts.values()].flat().map(({ entry }) => entry)).size === entries.length

  test('no two loops have one name', () => {
    expect(new Set(entries.map(({ name }) => name)).size).toBe(entries.length)
  })

  test.each(Object.keys(families))('%s are as in the golden text', (family) => {
    const text = verdictText(verdicts.get(family) ?? [])
    if (UPDATE && isWhole()) writeFileSync(goldenOf(family), text)
    expect(text).toBe(existsSync(goldenOf(family)) ? readFileSync(goldenOf(family), 'utf8') : '')
  })

  test('the table in docs/gallery.md is made of them', () => {
    const page = readFileSync(DOCS, 'utf8')
    const wanted = withTable(page, verdicts)
    if (UPDATE && isWhole()) writeFileSync(DOCS, wanted)
    expect(readFileSync(DOCS, 'utf8')).toBe(wanted)
  })
})
