/** How long one number takes to be asked for and given, over a connection of this machine. */
import { once } from 'node:events'
import { connect, createServer } from 'node:net'

const ASKED = 2_000

/** Milliseconds, on average. */
export async function roundTripMs(): Promise<number> {
  const server = createServer((socket) => socket.setNoDelay(true).on('data', (key) => socket.write(key))).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const socket = connect(typeof address === 'object' ? (address?.port ?? 0) : 0, '127.0.0.1').setNoDelay(true)
  await once(socket, 'connect')
  const key = Buffer.alloc(8)
  const started = performance.now()
  for (let i = 0; i < ASKED; i++) {
    socket.write(key)
    await once(socket, 'data')
  }
  const milliseconds = (performance.now() - started) / ASKED
  socket.destroy()
  server.close()
  return milliseconds
}
