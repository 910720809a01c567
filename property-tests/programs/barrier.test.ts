/** A Spark barrier stage of three ranks, of which one is killed in the middle of a pass, and rank 0 later, ends with the model of one process. */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PROGRAM = [process.execPath, '--import', 'tsx', join(ROOT, 'property-tests/programs/jobProgram.ts')]
const CLI = [process.execPath, '--import', 'tsx', join(ROOT, 'src/cli.ts'), 'run', '--']
const QUIET = ['spark.ui.enabled=false', 'spark.driver.bindAddress=127.0.0.1', 'spark.driver.host=127.0.0.1', 'spark.log.level=ERROR']

const pyspark = pysparkHere()
// hooks run only where a test does
let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'distarray-barrier-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The environment in which Python finds PySpark with Spark's jars; undefined, and said aloud, where it does not. */
function pysparkHere(): NodeJS.ProcessEnv | undefined {
  const home = process.env.SPARK_HOME
  // beside the jars of a distribution, or above those of pip's package
  const python = home === undefined ? undefined : [join(home, 'python'), join(home, '..')].find((one) => existsSync(join(one, 'pyspark')))
  const bridge = (lib: string): string[] => (existsSync(lib) ? readdirSync(lib).filter((name) => name.startsWith('py4j')) : [])
  const path = python === undefined ? [] : [python, ...bridge(join(python, 'lib')).map((name) => join(python, 'lib', name))]
  const env = path.length === 0 ? {} : { PYTHONPATH: path.join(delimiter) }
  const finds = 'import os, pyspark.find_spark_home as f; import py4j; assert os.path.isdir(os.path.join(f._find_spark_home(), "jars"))'
  const isThere = spawnSync('python3', ['-c', finds], { env: { ...process.env, ...env } }).status === 0
  const why = !isThere ? 'Python finds no PySpark with jars (SPARK_HOME, or pip install pyspark)' : undefined
  const missing = why ?? (spawnSync('java', ['-version']).status === 0 ? undefined : 'there is no Java')
  if (missing === undefined) return env
  console.log(`LEFT OUT: a barrier stage of Spark: ${missing}`)
  return undefined
}

async function run(command: readonly string[], env: NodeJS.ProcessEnv): Promise<{ readonly code: number | null; readonly said: string }> {
  const [program = '', ...args] = command
  const child = spawn(program, args, { cwd: ROOT, env: { ...process.env, NODE_ENV: '', FOLDER: folder, ...env } })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes: Buffer) => (said += bytes.toString()))
  return await new Promise((resolve) => child.on('close', (code) => resolve({ code, said })))
}
async function inStage(command: readonly string[], env: NodeJS.ProcessEnv): ReturnType<typeof run> {
  const job = ['python3', join(ROOT, 'examples/barrier.py'), '3', '--', ...command]
  // twice as many tasks as run at once, so that an attempt need not wait for the last one's to end, and failures that Spark bears
  const options = ['--master local[6,4]', ...QUIET.map((one) => `--conf ${one}`), 'pyspark-shell'].join(' ')
  return await run(job, { ...pyspark, PYSPARK_PYTHON: 'python3', PYSPARK_SUBMIT_ARGS: options, ...env })
}
const read = (name: string): string => (existsSync(join(folder, name)) ? readFileSync(join(folder, name), 'utf8') : '')

test.skipIf(pyspark === undefined)(
  'a barrier stage whose processes are killed ends with the model of one process',
  { timeout: 240_000 },
  async () => {
    const env = { DA_CKPT: join(folder, 'kept'), DA_PATIENCE_MS: '10000' }
    const [alone, together] = await Promise.all([run(PROGRAM, {}), inStage([...CLI, ...PROGRAM], env)])
    expect([alone.code, together.code], `${together.said}\n${read('said')}`).toEqual([0, 0])
    expect(read('said').trimEnd().split('\n')).toEqual(['0: lost 1', '0: joined 1', '0: 8 passes on 3', '1: went on, on 3'])
    expect(together.said).toContain('distarray run: rank 1 was ended by SIGKILL, and is started again.')
    expect(read('model')).toBe(read('alone'))
  },
)

/** Rank 1 fails, and a rank 0 that goes on writes its number; that of the next attempt says what has become of it. */
const LONG_LIVED = `case $DA_ATTEMPT$DA_RANK in
  00) echo $$ > $FOLDER/first; exec sleep 100;;
  01) sleep 1; exit 3;;
  10) kill -0 $(cat $FOLDER/first) 2> /dev/null && echo alive > $FOLDER/found || echo gone > $FOLDER/found;;
esac`

test.skipIf(pyspark === undefined)('the processes of an attempt have ended when the next one begins', { timeout: 120_000 }, async () => {
  const { code, said } = await inStage(['sh', '-c', LONG_LIVED], {})
  expect([code, read('found')], said).toEqual([0, 'gone\n'])
})
