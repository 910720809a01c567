/**
 * Servers of Spark Connect for tests: Sail, which takes half a second, where pip can install it; Spark itself where
 * SPARK_HOME names an unpacked distribution and there is Java 17 or later. SPARK_CONNECT may name one that runs already.
 * What is not there is said, once, and its tests are skipped.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sparkAddress } from '../src/io/spark/address.ts'
import { sparkClient } from '../src/io/spark/client.ts'
import { freePort } from './freePort.ts'

export interface SparkServer {
  readonly name: string
  readonly address: string
  readonly port: number
  /** Absent of one that ran before. */
  readonly process?: ChildProcess
  stop(): Promise<void>
}

/** Sail of this version, which is what tests say of it. */
const SAIL = 'pysail==0.7.2'
const CACHE = fileURLToPath(new URL('../node_modules/.cache/sail', import.meta.url))
const PATIENCE_MS = 60_000

/** The path of Sail's program, installed on the first call; undefined, and said aloud, where that cannot be done. */
export function sailProgram(): string | undefined {
  const program = join(CACHE, 'bin/sail')
  if (existsSync(program)) return program
  const python = ['python3', 'python'].find((name) => spawnSync(name, ['-m', 'venv', '--help']).status === 0)
  if (python === undefined) return absent('Sail', 'there is no Python with venv')
  mkdirSync(CACHE, { recursive: true })
  const made = spawnSync(python, ['-m', 'venv', CACHE], { encoding: 'utf8' })
  if (made.status !== 0) return absent('Sail', `venv failed: ${made.stderr}`)
  const installed = spawnSync(join(CACHE, 'bin/pip'), ['install', '--no-deps', '--quiet', '--disable-pip-version-check', SAIL], {
    encoding: 'utf8',
    timeout: 180_000,
  })
  if (installed.status !== 0 || !existsSync(program)) {
    rmSync(CACHE, { recursive: true, force: true })
    return absent('Sail', `pip cannot install it: ${installed.stderr.trim().split('\n').at(-1) ?? ''}`)
  }
  return program
}

/** Sail on a port of its own. */
export async function startSail(): Promise<SparkServer | undefined> {
  const program = sailProgram()
  if (program === undefined) return undefined
  const port = await freePort()
  const process = spawn(program, ['spark', 'server', '--port', String(port)], { stdio: 'ignore' })
  return await started('Sail', port, process)
}

/** Spark itself, on two threads of this machine. */
export async function startSpark(): Promise<SparkServer | undefined> {
  const { SPARK_CONNECT, SPARK_HOME } = process.env
  if (SPARK_CONNECT !== undefined)
    return {
      name: 'Spark',
      address: SPARK_CONNECT,
      port: Number(new URL(SPARK_CONNECT.replace('sc:', 'http:')).port),
      stop: async () => {},
    }
  if (SPARK_HOME === undefined || !existsSync(join(SPARK_HOME, 'jars'))) return absent('Spark', 'SPARK_HOME names no folder with jars')
  if (spawnSync('java', ['-version']).status !== 0) return absent('Spark', 'there is no Java')
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'distarray-spark-'))
  const opened = [
    'java.lang',
    'java.lang.invoke',
    'java.lang.reflect',
    'java.io',
    'java.net',
    'java.nio',
    'java.util',
    'java.util.concurrent',
  ]
    .concat(['java.util.concurrent.atomic', 'jdk.internal.ref', 'sun.nio.ch', 'sun.nio.cs', 'sun.security.action', 'sun.util.calendar'])
    .map((name) => `--add-opens=java.base/${name}=ALL-UNNAMED`)
  const settings = {
    'spark.ui.enabled': 'false',
    'spark.driver.bindAddress': '127.0.0.1',
    'spark.driver.host': '127.0.0.1',
    'spark.connect.grpc.binding.address': '127.0.0.1',
    'spark.connect.grpc.binding.port': String(port),
    'spark.sql.shuffle.partitions': '4',
    'spark.local.dir': folder,
    'spark.sql.warehouse.dir': join(folder, 'warehouse'),
  }
  const flags = Object.entries(settings).flatMap(([key, value]) => ['--conf', `${key}=${value}`])
  const submit = ['org.apache.spark.deploy.SparkSubmit', '--class', 'org.apache.spark.sql.connect.service.SparkConnectServer']
  const java = ['-Xmx1g', '-XX:+UseSerialGC', ...opened, '-Dio.netty.tryReflectionSetAccessible=true', '-cp', join(SPARK_HOME, 'jars/*')]
  const child = spawn('java', [...java, ...submit, '--master', 'local[2]', ...flags, 'spark-internal'], {
    stdio: 'ignore',
    cwd: folder,
    env: { ...process.env, SPARK_LOCAL_IP: '127.0.0.1', SPARK_NO_DAEMONIZE: '1' },
  })
  const server = await started('Spark', port, child, () => rmSync(folder, { recursive: true, force: true }))
  if (server !== undefined) await warmedUp(server)
  return server
}

/** The first question of a Java machine that has just begun may take longer than a session waits. */
async function warmedUp({ address }: SparkServer): Promise<void> {
  for (const until = Date.now() + PATIENCE_MS; Date.now() < until; ) {
    const client = sparkClient(sparkAddress(address))
    try {
      await client.start()
      return
    } catch {
      // it is asked again
    } finally {
      await client.release()
    }
  }
}

function absent(name: string, why: string): undefined {
  console.log(`LEFT OUT: ${name} is not here: ${why}`)
  return undefined
}

async function started(
  name: string,
  port: number,
  process: ChildProcess,
  cleaned: () => void = () => {},
): Promise<SparkServer | undefined> {
  const stop = async (): Promise<void> => {
    if (process.exitCode === null && process.signalCode === null) {
      const ended = new Promise((resolve) => process.once('exit', resolve))
      process.kill('SIGKILL')
      await ended
    }
    cleaned()
  }
  for (const until = Date.now() + PATIENCE_MS; Date.now() < until; ) {
    if (process.exitCode !== null) return absent(name, `its server ended with ${process.exitCode}`)
    if (await answers(port)) return { name, address: `sc://127.0.0.1:${port}`, port, process, stop }
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  await stop()
  return absent(name, 'its server did not begin to listen')
}

async function answers(port: number): Promise<boolean> {
  return await new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
