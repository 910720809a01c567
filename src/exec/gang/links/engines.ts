/**
 * Environment variables of engines that start processes, translated to the variables of a gang.
 *
 *     Slurm       SLURM_PROCID SLURM_NTASKS SLURM_STEP_NODELIST …       rank 0 is on the first node of the step
 *     torchrun    RANK WORLD_SIZE MASTER_ADDR MASTER_PORT               its own store has that port: the gang takes the next
 *     Open MPI    OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE             with DA_RDZV
 *     Kubernetes  JOB_COMPLETION_INDEX                                  with DA_WORLD and DA_RDZV
 *
 * Variables that begin with DA_ have the last word.
 */
type Environment = Readonly<Record<string, string | undefined>>
type Variables = Readonly<Record<string, string>>

const FIRST_PORT = 20_000
const PORTS = 10_000

interface Engine {
  readonly name: string
  /** The environment variable by which the engine is recognized. */
  readonly sign: string
  variables(env: Environment): Readonly<Record<string, string | undefined>>
}

const ENGINES: readonly Engine[] = [
  { name: 'Slurm', sign: 'SLURM_PROCID', variables: slurm },
  { name: 'torchrun', sign: 'TORCHELASTIC_RUN_ID', variables: torchrun },
  { name: 'torchrun', sign: 'MASTER_ADDR', variables: torchrun },
  { name: 'Open MPI', sign: 'OMPI_COMM_WORLD_RANK', variables: openMpi },
  { name: 'Kubernetes', sign: 'JOB_COMPLETION_INDEX', variables: kubernetes },
]

/** The engine that has started this process, and the DA_ variables; undefined where no variable names an engine or a rank. */
export function engineOf(env: Environment): { readonly name: string; readonly variables: Variables } | undefined {
  const engine = ENGINES.find(({ sign }) => env[sign] !== undefined && env[sign] !== '')
  const own = Object.entries(env).filter(([name, value]) => name.startsWith('DA_') && value !== '')
  if (engine === undefined) return env.DA_RANK === undefined ? undefined : { name: 'DA_RANK', variables: known(own) }
  return { name: engine.name, variables: known([...Object.entries(engine.variables(env)), ...own]) }
}

function known(entries: readonly (readonly [string, string | undefined])[]): Variables {
  return Object.fromEntries(entries.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))
}

function slurm(env: Environment): Readonly<Record<string, string | undefined>> {
  const nodes = env.SLURM_STEP_NUM_NODES ?? env.SLURM_NNODES ?? '1'
  const isOne = nodes === '1'
  const first = firstHost(env.SLURM_STEP_NODELIST ?? env.SLURM_JOB_NODELIST ?? '')
  const [job, step] = [env.SLURM_JOB_ID ?? '0', env.SLURM_STEP_ID ?? '0']
  const port = FIRST_PORT + ((Number(job) * 16 + Number(step)) % PORTS)
  const host = isOne ? '127.0.0.1' : first
  return {
    DA_RANK: env.SLURM_PROCID,
    DA_WORLD: env.SLURM_STEP_NUM_TASKS ?? env.SLURM_NTASKS,
    DA_JOB: `slurm ${job}.${step}`,
    DA_ATTEMPT: env.SLURM_RESTART_COUNT,
    DA_RDZV: host === undefined ? undefined : `${host}:${port}`,
    DA_HOST: isOne ? undefined : env.SLURMD_NODENAME,
  }
}

/** The first host of a Slurm list such as `gpu[03-07,9],login`; undefined for an empty list. */
function firstHost(list: string): string | undefined {
  const [, prefix = '', number] = /^([^[,]+)(?:\[(\d+))?/.exec(list) ?? []
  return prefix === '' ? undefined : `${prefix}${number ?? ''}`
}

function torchrun(env: Environment): Readonly<Record<string, string | undefined>> {
  const { MASTER_ADDR, MASTER_PORT } = env
  const isKnown = MASTER_ADDR !== undefined && MASTER_PORT !== undefined
  return {
    DA_RANK: env.RANK,
    DA_WORLD: env.WORLD_SIZE,
    DA_JOB: `torchrun ${env.TORCHELASTIC_RUN_ID ?? ''}`.trim(),
    DA_ATTEMPT: env.TORCHELASTIC_RESTART_COUNT,
    DA_RDZV: isKnown ? `${MASTER_ADDR}:${Number(MASTER_PORT) + 1}` : undefined,
  }
}

function openMpi(env: Environment): Readonly<Record<string, string | undefined>> {
  return {
    DA_RANK: env.OMPI_COMM_WORLD_RANK,
    DA_WORLD: env.OMPI_COMM_WORLD_SIZE,
    DA_JOB: `mpi ${env.OMPI_MCA_ess_base_jobid ?? ''}`.trim(),
  }
}

function kubernetes(env: Environment): Readonly<Record<string, string | undefined>> {
  return { DA_RANK: env.JOB_COMPLETION_INDEX, DA_JOB: `jobset ${env.JOBSET_NAME ?? ''}`.trim(), DA_ATTEMPT: env.JOBSET_RESTART_ATTEMPT }
}
