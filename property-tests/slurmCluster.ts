/**
 * Slurm with several node daemons on this machine, for tests: where it is installed (Debian's slurmctld, slurmd, slurm-client and munge)
 * and this is root, who may start them. What is not there is said, once, and its tests are skipped.
 */
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'

export interface SlurmCluster {
  /** What its commands need in their environment. */
  readonly env: Readonly<Record<string, string>>
  /** What its daemons wrote. */
  logs(): string
  stop(): Promise<void>
}

const PROGRAMS = ['slurmctld', 'slurmd', 'munged', 'sinfo', 'srun', 'sbatch']
const PATIENCE_MS = 30_000

export async function startSlurm(nodes: number): Promise<SlurmCluster | undefined> {
  const missing = PROGRAMS.filter((name) => spawnSync('which', [name]).status !== 0)
  const why = missing.length > 0 ? `${missing.join(', ')} are not installed` : process.getuid?.() === 0 ? undefined : 'this is not root'
  if (why !== undefined) {
    console.log(`Slurm is not here: ${why}. Its tests are skipped (apt-get install slurmctld slurmd slurm-client munge).`)
    return undefined
  }
  const home = mkdtempSync(join(tmpdir(), 'distarray-slurm-'))
  for (const folder of ['run', 'log', 'state', ...Array.from({ length: nodes }, (_, i) => `spool/n${i + 1}`)])
    mkdirSync(join(home, folder), { recursive: true, mode: 0o755 })
  const conf = join(home, 'slurm.conf')
  const ports = await freePorts(nodes + 1)
  writeFileSync(conf, configuration(home, ports))
  writeFileSync(join(home, 'munge.key'), randomBytes(1024), { mode: 0o600 })
  const env = { SLURM_CONF: conf }
  const stop = async (): Promise<void> => {
    const pids = readdirSync(join(home, 'run'))
      .filter((name) => name.endsWith('.pid'))
      .map((name) => Number(readFileSync(join(home, 'run', name), 'utf8')))
    for (const pid of pids) signal(pid, 'SIGTERM')
    await until(() => !pids.some((pid) => signal(pid, 0)))
    for (const pid of pids) signal(pid, 'SIGKILL')
    rmSync(home, { recursive: true, force: true })
  }
  const logs = (): string =>
    readdirSync(join(home, 'log'))
      .map((name) => readFileSync(join(home, 'log', name), 'utf8'))
      .join('\n')
  const at = (name: string) => join(home, name)
  const munged = ['--force', `--key-file=${at('munge.key')}`, `--socket=${at('run/munge.socket')}`, `--pid-file=${at('run/munged.pid')}`]
  run('munged', [...munged, `--log-file=${at('log/munged.log')}`, `--seed-file=${at('munge.seed')}`], env)
  run('slurmctld', ['-f', conf], env)
  for (let node = 1; node <= nodes; node++) run('slurmd', ['-f', conf, '-N', `n${node}`], env)
  const idle = () => spawnSync('sinfo', ['-h', '-t', 'idle', '-o', '%D'], { env: { ...process.env, ...env }, encoding: 'utf8' }).stdout
  if (await until(() => idle().trim() === `${nodes}`)) return { env, logs, stop }
  console.log(`Slurm does not start here, and its tests are skipped: ${logs()}`)
  await stop()
  return undefined
}

function run(program: string, args: readonly string[], env: Readonly<Record<string, string>>): void {
  spawnSync(program, args, { env: { ...process.env, ...env }, stdio: 'ignore' }) // it goes on in the background
}

function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name)
  } catch {
    return false
  }
}

async function until(isSo: () => boolean): Promise<boolean> {
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; ) {
    if (isSo()) return true
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return false
}

async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer()
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      return server
    }),
  )
  const ports = servers.map((server) => (server.address() as { readonly port: number }).port) // of a port
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}

function configuration(home: string, [controller = 0, ...ports]: readonly number[]): string {
  const host = hostname().split('.')[0] ?? 'localhost'
  const at = (name: string) => join(home, name)
  return `ClusterName=distarray
SlurmctldHost=${host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=${at('run/munge.socket')}
SlurmctldPort=${controller}
SlurmctldPidFile=${at('run/slurmctld.pid')}
SlurmdPidFile=${at('run/slurmd.%n.pid')}
SlurmctldLogFile=${at('log/slurmctld.log')}
SlurmdLogFile=${at('log/slurmd.%n.log')}
StateSaveLocation=${at('state')}
SlurmdSpoolDir=${at('spool/%n')}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
MpiDefault=none
ReturnToService=2
SlurmdTimeout=10
SlurmctldTimeout=10
KillWait=5
${ports.map((port, i) => `NodeName=n${i + 1} NodeHostname=${host} NodeAddr=127.0.0.1 Port=${port} CPUs=2 RealMemory=1000 State=UNKNOWN`).join('\n')}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
`
}
