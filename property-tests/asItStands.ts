/** Bodies that are compiled, and run as they stand where a run meets what the compiled body has no room or no value for. */
import { expect } from 'vitest'
import type { Session } from '../src/index.ts'
import { bodyOf, looped, plain } from './drawnBodies.ts'

/** Expects what plain JavaScript gives of the statements, and that message and cure are the one reason why they run as they stand. */
export async function expectAsItStands(
  session: Session,
  statements: string,
  held: Readonly<Record<string, unknown>>,
  why: string | RegExp,
): Promise<void> {
  const body = bodyOf(`([i], { x, out }) => { ${statements} }`, held)
  const { outcome, plan } = await looped(session, body)
  expect(outcome, statements).toStrictEqual(plain(body))
  expect(plan.kernel?.target, statements).toBe('as-is')
  const said = plan.kernel?.because?.map(({ message, cure }) => `${message} ${cure}`).join('\n')
  if (typeof why === 'string') expect(said, statements).toBe(why)
  else expect(said, statements).toMatch(why)
}
