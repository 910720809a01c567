/**
 * An object store for tests and examples: moto, which speaks as S3 does and keeps what it is given in memory, where pip can install it. What is not
 * there is said, once, and what needs it is skipped.
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from './freePort.ts'

export interface ObjectStore {
  readonly endpoint: string
  /** Makes an empty bucket. */
  makeBucket(name: string): Promise<void>
  /** Uploads that were begun and neither ended nor dropped. */
  openUploads(bucket: string): Promise<number>
  stop(): void
}

const PACKAGES = ['moto==5.2.5', 'flask', 'flask-cors']
const CACHE = fileURLToPath(new URL('../node_modules/.cache/moto', import.meta.url))
const SERVER = 'from moto.server import main; import sys; main(["-H", "127.0.0.1", "-p", sys.argv[1]])'
const PATIENCE_MS = 60_000
/** The store looks at nothing of it but that it is there. */
const ANYBODY = 'AWS4-HMAC-SHA256 Credential=AKID/20240101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0'

/** A Python that has moto, installed on the first call; undefined, and said aloud, where that cannot be done. */
function pythonWithMoto(): string | undefined {
  const own = join(CACHE, 'bin/python')
  const isWhole = join(CACHE, 'installed')
  if (existsSync(isWhole)) return own
  if (spawnSync('python3', ['-c', 'import moto.server, flask']).status === 0) return 'python3'
  const python = ['python3', 'python'].find((name) => spawnSync(name, ['-m', 'venv', '--help']).status === 0)
  if (python === undefined) return absent('there is no Python with venv')
  mkdirSync(CACHE, { recursive: true })
  const made = spawnSync(python, ['-m', 'venv', CACHE], { encoding: 'utf8' })
  if (made.status !== 0) return absent(`venv failed: ${made.stderr}`)
  const args = ['-m', 'pip', 'install', '--no-compile', '--quiet', '--disable-pip-version-check', ...PACKAGES]
  const installed = spawnSync(own, args, { encoding: 'utf8', timeout: 180_000 })
  if (installed.status === 0) {
    writeFileSync(isWhole, '')
    return own
  }
  rmSync(CACHE, { recursive: true, force: true })
  return absent(`pip cannot install it: ${installed.stderr.trim().split('\n').at(-1) ?? ''}`)
}

function absent(why: string): undefined {
  console.log(`an object store: skipped, ${why}`)
  return undefined
}

export async function startObjectStore(): Promise<ObjectStore | undefined> {
  const python = pythonWithMoto()
  if (python === undefined) return undefined
  const port = await freePort()
  const server = spawn(python, ['-c', SERVER, String(port)], { stdio: 'ignore' })
  const endpoint = `http://127.0.0.1:${port}`
  for (let waited = 0; (await fetch(endpoint).catch(() => undefined)) === undefined; waited += 100) {
    if (waited > PATIENCE_MS) {
      server.kill()
      return absent('its server did not begin to listen')
    }
    await sleep(100)
  }
  const ask = async (path: string, method: string): Promise<string> => {
    const answer = await fetch(`${endpoint}/${path}`, { method, headers: { authorization: ANYBODY } })
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
    return await answer.text()
  }
  return {
    endpoint,
    makeBucket: async (name) => void (await ask(name, 'PUT')),
    openUploads: async (bucket) => (await ask(`${bucket}?uploads`, 'GET')).split('<Upload>').length - 1,
    stop: () => void server.kill(),
  }
}
