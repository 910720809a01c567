/** The law of bodies that are drawn as texts: each is compiled to WebAssembly, runs in parallel, and gives the bits of plain JavaScript. */
import fc from 'fast-check'
import { expect } from 'vitest'
import type { Session } from '../src/index.ts'
import { bodyOf, type DrawnBody, expectCompiled, looped, plain } from './drawnBodies.ts'
import type { announcedRun } from './lawRuns.ts'

export interface LawOfBodies {
  readonly name: string
  readonly draw: (numbers: readonly number[]) => DrawnBody
  /** What bodies capture. */
  readonly held: Readonly<Record<string, unknown>>
  readonly run: ReturnType<typeof announcedRun>
  /** The least cases from which each feature is asked to be in more than one of a hundred. */
  readonly least: number
}

export async function expectBitsOfPlain(session: Session, { name, draw, held, run, least }: LawOfBodies): Promise<void> {
  const counts: Record<string, number> = {}
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(10_000), { minLength: 20, maxLength: 90 }), async (numbers) => {
      const { text, used } = draw(numbers)
      const { outcome, plan } = await looped(session, bodyOf(text, held))
      expectCompiled(plan, text)
      expect(outcome, text).toStrictEqual(plain(bodyOf(text, held)))
      for (const one of used) counts[one] = (counts[one] ?? 0) + 1
    }),
    run,
  )
  console.log(`${name}: ${JSON.stringify(counts)}`)
  if (run.numRuns >= least) expect(Math.min(...Object.values(counts))).toBeGreaterThan(run.numRuns / 100)
}
