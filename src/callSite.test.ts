import { expect, test } from 'vitest'
import { callSite } from './core/callSite.ts'
import { Session } from './session.ts'

test('the place is in the program, not in the library', async () => {
  expect(callSite()).toMatch(/^src\/callSite\.test\.ts:6$/)
  await using session = await Session.start({ workers: 1 })
  const loop = session.loop(session.range(3), {}, () => {})
  expect(loop.explain().split('\n')[0]).toBe('loop over range(3) at src/callSite.test.ts:8, order serial')
})
