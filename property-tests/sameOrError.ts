/** Bodies that are compiled, and end as plain JavaScript does: with the same bits, or with its error. */
import { expect } from 'vitest'
import type { Session } from '../src/index.ts'
import { bodyOf, expectCompiled, looped, plain } from './drawnBodies.ts'

/** Expects what plain JavaScript gives of a body, or its message; returns whether it threw. Errors of other classes are mistakes of the law. */
export async function expectSameOrError(
  session: Session,
  text: string,
  held: Readonly<Record<string, unknown>>,
  errors: readonly (new (message?: string) => Error)[],
): Promise<boolean> {
  let expected: Float64Array | Error
  try {
    expected = plain(bodyOf(text, held))
  } catch (error) {
    if (!errors.some((one) => error instanceof one)) throw error
    expected = error as Error // an instance of one of them
  }
  const { outcome, plan } = await looped(session, bodyOf(text, held))
  expectCompiled(plan, text)
  if (expected instanceof Error) expect(outcome, text).toContain(expected.message)
  else expect(outcome, text).toStrictEqual(expected)
  return expected instanceof Error
}
