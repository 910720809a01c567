/** A Slurm job of three ranks, of which one is killed in the middle of a pass, and rank 0 later, ends with the model of one process. */
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startSlurm } from '../slurmCluster.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PROGRAM = `${process.execPath} --import tsx ${join(ROOT, 'property-tests/programs/jobProgram.ts')}`
const CLI = `${process.execPath} --import tsx ${join(ROOT, 'src/cli.ts')}`

const cluster = await startSlurm(3)
// hooks run only where a test does
let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'distarray-slurm-job-'))
})
afterAll(async () => {
  await cluster?.stop()
  rmSync(folder, { recursive: true, force: true })
})

async function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<number | null> {
  const child = spawn(command, args, { cwd: ROOT, env: { ...process.env, NODE_ENV: '', FOLDER: folder, ...env }, stdio: 'ignore' })
  return await new Promise((resolve) => child.on('close', resolve))
}
const read = (name: string): string => (existsSync(join(folder, name)) ? readFileSync(join(folder, name), 'utf8') : '')

test.skipIf(cluster === undefined)(
  'a job whose processes are killed ends with the model of one process',
  { timeout: 240_000 },
  async () => {
    const env = {
      ...cluster?.env,
      DA_TOKEN: 'the secret of a test',
      DA_RDZV: '127.0.0.1:0'.replace(':0', `:${21_000 + (process.pid % 9_000)}`),
      DA_HOST: '127.0.0.1',
      DA_CKPT: join(folder, 'kept'),
      DA_PATIENCE_MS: '10000',
      RUN: `${CLI} run -- ${PROGRAM}`,
    }
    const job = ['--wait', '-N', '3', '--no-kill', `--output=${join(folder, 'printed')}`, join(ROOT, 'examples/restart.sbatch')]
    const [alone, together] = await Promise.all([run('sh', ['-c', PROGRAM], {}), run('sbatch', job, env)])
    expect([alone, together], `${read('printed')}\n${read('said')}`).toEqual([0, 0])
    expect(read('said').trimEnd().split('\n')).toEqual(['0: lost 1', '0: joined 1', '0: 8 passes on 3', '1: went on, on 3'])
    expect(read('printed')).toContain('distarray run: rank 1 was ended by SIGKILL, and is started again.')
    expect(read('model')).toBe(read('alone'))
  },
)
