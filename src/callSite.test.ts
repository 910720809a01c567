import { expect, test } from 'vitest'
import { callSite } from './core/callSite.ts'
import { Session } from './session/session.ts'

test('the place is in the program, not in the library', async () => {
  const entry = (): string | undefined => inside()
  const inside = (): string | undefined => callSite(entry)
  expect(entry()).toBe('src/callSite.test.ts:8')
  await using session = await Session.start({ workers: 1 })
  const loop = session.loop(session.range(3), {}, () => {})
  expect(loop.explain().split('\n')[0]).toBe('loop over range(3) at src/callSite.test.ts:10, order serial')
})
