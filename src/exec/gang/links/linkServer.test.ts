import { expect, test } from 'vitest'
import { Dialled, serve } from './linkServer.ts'
import type { GangSettings } from './settings.ts'

test('a server that is closed has ended its calls, and takes no other', async () => {
  const rendezvous = { kind: 'file', path: '/nowhere' } as const
  const settings: GangSettings = {
    world: 2,
    rank: 0,
    job: 'test',
    attempt: 0,
    rendezvous,
    token: 'a secret of a test',
    host: '127.0.0.1',
    joinMs: 20_000,
    patienceMs: 2500,
  }
  const { port, close } = await serve(settings, '127.0.0.1', 0, {
    feed: (stream) => void stream.write(stream.request),
    call: (call, answer) => answer(null, call.request),
  })
  const client = new Dialled(settings, '127.0.0.1', port)
  const bytes = Buffer.from('bytes')
  expect(await client.call(bytes, 5000)).toEqual(bytes)
  const why = await new Promise<string>((ended) => client.feed(bytes, { took: () => void close(), ended }))
  expect(why).toMatch(/^\d+ [A-Z]+: /) // in the words of gRPC
  await expect(client.call(bytes, 1000)).rejects.toThrow()
  client.close()
})
