import { expect, test } from 'vitest'
import { engineOf } from './engines.ts'
import { settingsOf } from './settings.ts'

test('Slurm: several tasks on one node talk over the loopback, on several over the names of the nodes', () => {
  const step = { SLURM_PROCID: '2', SLURM_STEP_NUM_TASKS: '3', SLURM_JOB_ID: '17', SLURM_STEP_ID: '0', SLURMD_NODENAME: 'gpu04' }
  expect(engineOf({ ...step, SLURM_STEP_NUM_NODES: '1', SLURM_STEP_NODELIST: 'gpu04' })).toEqual({
    name: 'Slurm',
    variables: { DA_RANK: '2', DA_WORLD: '3', DA_JOB: 'slurm 17.0', DA_RDZV: '127.0.0.1:20272' },
  })
  expect(engineOf({ ...step, SLURM_STEP_NUM_NODES: '3', SLURM_STEP_NODELIST: 'gpu[03-04,9],login', SLURM_RESTART_COUNT: '1' })).toEqual({
    name: 'Slurm',
    variables: { DA_RANK: '2', DA_WORLD: '3', DA_JOB: 'slurm 17.0', DA_ATTEMPT: '1', DA_RDZV: 'gpu03:20272', DA_HOST: 'gpu04' },
  })
})

test('torchrun, Open MPI and Kubernetes; variables of our own have the last word', () => {
  const torch = { RANK: '0', WORLD_SIZE: '2', MASTER_ADDR: '127.0.0.1', MASTER_PORT: '29400', TORCHELASTIC_RUN_ID: 'x' }
  expect(engineOf({ ...torch, DA_RDZV: 'file:/tmp/here' })?.variables).toEqual({
    DA_RANK: '0',
    DA_WORLD: '2',
    DA_JOB: 'torchrun x',
    DA_RDZV: 'file:/tmp/here',
  })
  expect(engineOf(torch)?.variables.DA_RDZV).toBe('127.0.0.1:29401')
  const mpi = { OMPI_COMM_WORLD_RANK: '1', OMPI_COMM_WORLD_SIZE: '4', OMPI_MCA_ess_base_jobid: '77' }
  expect(engineOf(mpi)).toEqual({ name: 'Open MPI', variables: { DA_RANK: '1', DA_WORLD: '4', DA_JOB: 'mpi 77' } })
  expect(engineOf({ JOB_COMPLETION_INDEX: '3', DA_WORLD: '8' })?.variables).toEqual({ DA_RANK: '3', DA_JOB: 'jobset', DA_WORLD: '8' })
  expect(engineOf({ PATH: '/bin' })).toBeUndefined()
})

const complete = { DA_WORLD: '2', DA_RANK: '1', DA_JOB: 'x', DA_RDZV: '127.0.0.1:29400', DA_TOKEN: '0123456789abcdef' }

test('variables of a gang are read, and without them there is none', () => {
  expect(settingsOf({})).toBeUndefined()
  expect(settingsOf({ DA_WORLD: '1' })).toBeUndefined()
  expect(settingsOf(complete)).toEqual({
    world: 2,
    rank: 1,
    job: 'x',
    attempt: 0,
    rendezvous: { kind: 'address', host: '127.0.0.1', port: 29_400 },
    token: '0123456789abcdef',
    host: '127.0.0.1',
    joinMs: 60_000,
    patienceMs: 2500,
  })
})

test.each([
  [{ DA_RANK: '2' }, 'DA_RANK is "2". It is a whole number from 0 to 1.'],
  [{ DA_WORLD: 'two' }, 'DA_WORLD is "two". It is a whole number from 1 to 4096.'],
  [
    { DA_RANK: undefined, DA_JOB: '', DA_TOKEN: undefined },
    'DA_WORLD is set, and DA_RANK, DA_JOB and DA_TOKEN are not. distarray run sets all that a gang needs.',
  ],
  [{ DA_JOB: undefined }, 'DA_WORLD is set and DA_JOB is not. distarray run sets all that a gang needs.'],
  [
    { DA_TOKEN: undefined },
    'DA_WORLD is set and DA_TOKEN is not: a secret of all processes. export DA_TOKEN=$(openssl rand -hex 16) before they are started.',
  ],
  [
    { DA_TOKEN: 'short' },
    'DA_TOKEN has 5 characters. It is a secret of at least 16, the same for all processes, as openssl rand -hex 16 makes one.',
  ],
  [{ DA_RDZV: 'nowhere' }, 'DA_RDZV is "nowhere". It is where rank 0 listens, as node1:29400, or file:/path of a file that all see.'],
  [
    { DA_HOST: 'gpu04' },
    'The gang would talk over gpu04, where others can listen. Give all processes DA_TLS, a folder with ca.pem, cert.pem and key.pem, or stay on 127.0.0.1.',
  ],
])('%j is an error that says what is right', (other, message) => {
  expect(() => settingsOf({ ...complete, ...other })).toThrow(expect.objectContaining({ name: 'GangError', fault: 'settings', message }))
})
