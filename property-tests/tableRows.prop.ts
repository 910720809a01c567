/**
 * Law: a body that reads rows of tables in env, in whatever way it is written, gives the bits of plain JavaScript, and is compiled where
 * it asks for columns of numbers and truth values alone, with nulls or without; where a key lies outside of the table the iteration fails that fails in plain
 * JavaScript.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { TaskError } from '../src/core/errors.ts'
import { Session } from '../src/session/session.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('tableRows.prop.ts')
const sessions = await Promise.all([1, 2].map((workers) => Session.start({ workers, progress: false })))
afterAll(async () => {
  for (const session of sessions) await session.stop()
})

const SIZE = 12
const ROWS = Array.from({ length: SIZE }, (_, i) => ({
  id: i,
  price: i === 7 ? Number.NaN : i / 3 - 1,
  sold: i % 3 === 0,
  name: `x${i % 2}`,
  note: i % 5 === 0 ? null : i / 2,
  maybe: i % 4 === 0 ? null : i % 4 === 1,
}))
const COLUMNS = {
  id: Int32Array.from(ROWS, ({ id }) => id),
  price: Float64Array.from(ROWS, ({ price }) => price),
  sold: ROWS.map(({ sold }) => sold),
  name: ROWS.map(({ name }) => name),
  note: ROWS.map(({ note }) => note),
  maybe: ROWS.map(({ maybe }) => maybe),
}
const prepared = await Promise.all(
  sessions.map(async (session) => ({
    session,
    // lazy, and in memory; the second one with fewer columns and rows
    tables: [
      session.fromColumns(COLUMNS),
      await session.fromColumns(COLUMNS).materialize(),
      session.fromRows(ROWS).filter((r) => r.id >= 0),
    ],
    few: session.fromColumns({ rate: Float64Array.of(0.5, -2, 3) }),
    y: session.zeros([SIZE]),
  })),
)

const drawn = fc.array(fc.nat(10_000), { minLength: 8, maxLength: 40 })

/** Statements that change `s`; whether they ask for texts or nulls. */
function bodyText(numbers: readonly number[]): { readonly text: string; readonly needsRows: boolean } {
  let at = 0
  const below = (n: number): number => (numbers[at++ % numbers.length] as number) % n
  const of = <T>(items: readonly T[]): T => items[below(items.length)] as T
  let needsRows = false
  let names = 0
  const key = (): string =>
    of([
      'i',
      'i',
      `${SIZE - 1} - i`,
      'Math.min(i, 3)',
      '(i * 7) % 12',
      'rows.get(i).id',
      `Math.abs(i - ${below(4)})`,
      `i + ${below(6) === 0 ? 2 : 0}`,
    ])
  const field = (row: string): string => {
    const plain = of([`${row}.price`, `${row}.id`, `(${row}.sold ? 1 : 2)`, `+(${row}.sold === true)`, `${row}['price']`])
    const choice = below(12)
    if (choice > 3) return plain
    if (choice > 0)
      return of([
        `(${row}.note ?? -1)`,
        `${row}.note`,
        `(${row}.note === null ? 3 : ${row}.note)`,
        `(${row}.note ? 1 : s)`,
        `Number(${row}.note > 1)`,
        `(${row}.maybe === null ? 1 : ${row}.maybe ? 2 : 3)`,
        `(${row}.maybe === false ? 1 : 2)`,
        `(${row}.maybe ?? s > 1 ? 1 : s)`,
        `Number(${row}.maybe)`,
      ])
    needsRows = true
    return `(${row}.name === 'x1' ? 1 : 2)`
  }
  const statement = (): string => {
    const row = `row${names++}`
    switch (below(11)) {
      case 0:
        return `s += ${field(`rows.get(${key()})`)}`
      case 1:
        return `const ${row} = rows.get(${key()})\ns = s * 0.5 + ${field(row)} - ${field(row)}`
      case 2:
        return `{ const { price, sold } = rows.get(${key()}); s -= sold ? price : -price }`
      case 3:
        return `const ${row} = rows.get(${key()})\nif (s > ${below(5)}) s += ${field(row)}`
      case 4:
        return `for (let k = 0; k < few.shape[0]; k++) { const { rate } = few.get(k); if (rate > s) s += rate; else s -= k }`
      case 5:
        return `const gain = (row, factor) => row.price * factor\ns += gain(rows.get(${key()}), 2)`.replaceAll('gain', `gain${names}`)
      case 6:
        return `s += few.get(Math.min(2, rows.get(${key()}).id)).rate`
      case 7:
        return `s -= rows.get(${key()})?.price ?? 3`
      case 8:
        return `let at${names} = i\nconst ${row} = rows.get(at${names})\nat${names} = 0\ns += ${row}.price`
      case 9:
        return `const ${row} = rows.get(i + ${below(3)})\nif (s > 1e3) s += ${row}.price`
      default:
        return `const ${row} = { ...few.get(i % 3), more: s }\ns = ${row}.rate - ${row}.more`
    }
  }
  const lines = Array.from({ length: 1 + below(3) }, statement)
  return { text: `([i], { rows, few, y }) => {\nlet s = i\n${lines.join('\n')}\ny.set(i, s)\n}`, needsRows }
}

test('bodies that read rows of tables are compiled, and give the bits of plain JavaScript', async () => {
  const counts: Record<string, number> = {}
  await fc.assert(
    fc.asyncProperty(drawn, fc.nat(1), fc.nat(2), async (numbers, which, kind) => {
      const { text, needsRows } = bodyText(numbers)
      const { session, tables, few, y } = prepared[which] as (typeof prepared)[number]
      const body = new Function(`return ${text}`)() as (key: readonly number[], env: object) => void
      const expected = new Float64Array(SIZE)
      const row = <T>(all: readonly T[], i: number): T => {
        if (all[i] === undefined) throw new Error('outside')
        return all[i]
      }
      const rates = [0.5, -2, 3].map((rate) => ({ rate }))
      const env = {
        rows: { get: (i: number) => row(ROWS, i) },
        few: { get: (i: number) => row(rates, i), shape: [3] },
        y: { set: (i: number, v: number) => void (expected[i] = v) },
      }
      let failed: number | undefined
      for (let i = 0; i < SIZE && failed === undefined; i++) {
        try {
          body([i], env)
        } catch {
          failed = i
        }
      }
      const loop = session.loop(session.range(SIZE), { rows: tables[kind] as never, few, y }, body as never, { atomic: true })
      const { kernel } = loop.plan
      expect(kernel?.target === 'as-is', `${text}\n${JSON.stringify(kernel?.because)}`).toBe(needsRows)
      if (failed === undefined) {
        await loop.run()
        expect(await y.toTypedArray(), text).toStrictEqual(expected)
        if (!needsRows) expect((await loop.verify()).identical, text).toBe(true)
      } else {
        const error: unknown = await loop.run().then(
          () => undefined,
          (one: unknown) => one,
        )
        expect(error, text).toBeInstanceOf(TaskError)
        expect((error as TaskError).key, text).toEqual([failed])
      }
      for (const one of [needsRows ? 'rows' : 'columns', ...(failed === undefined ? [] : ['failed'])]) counts[one] = (counts[one] ?? 0) + 1
    }),
    RUN,
  )
  console.log(`rows of tables: ${JSON.stringify(counts)}`)
  if (RUN.numRuns >= 500) expect(Math.min(...Object.values(counts))).toBeGreaterThan(RUN.numRuns / 100)
}, 300_000)
