/** A process of a gang of a law: its main file, and what starts some and ends them in any case. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Gang } from '../src/exec/gang/gang.ts'
import { type GangSettings, settingsOf } from '../src/exec/gang/links/settings.ts'
import { serveGang } from '../src/exec/gang/serveGang.ts'
import { createPool } from '../src/exec/workers/pool.ts'
import { threadProgram } from '../src/exec/workers/threadProgram.ts'
import { lawArena } from './lawArena.ts'

export interface LawGang {
  readonly gang: Gang
  readonly children: readonly ChildProcess[]
  stop(): Promise<void>
  /** Of one that may not answer any more. */
  kill(): void
}

/** A gang of so many processes, this one among them; the others have one worker, two, one, … */
export async function startGang(world: number, others: Partial<GangSettings> = {}): Promise<LawGang> {
  const folder = mkdtempSync(join(tmpdir(), 'distarray-gang-'))
  const env = {
    DA_WORLD: `${world}`,
    DA_JOB: folder,
    DA_RDZV: `file:${join(folder, 'rank0')}`,
    DA_TOKEN: 'the secret of a law',
    DA_PATIENCE_MS: '10000',
  }
  const children = Array.from({ length: world - 1 }, (_, i) => {
    const own = { ...process.env, ...env, DA_RANK: `${i + 1}`, LAW_NODE: '1' }
    return spawn(process.execPath, ['--import', 'tsx', fileURLToPath(import.meta.url)], {
      stdio: ['ignore', 'inherit', 'inherit'],
      env: own,
    })
  })
  const end = (): void => {
    for (const child of children) child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
  process.once('exit', end)
  try {
    const gang = await Gang.start({ ...(settingsOf({ ...env, DA_RANK: '0' }) as GangSettings), ...others }, threadProgram()) // of a world of several
    const kill = (): void => {
      end()
      process.off('exit', end)
    }
    const stop = async (): Promise<void> => {
      await gang.release(0)
      kill()
    }
    return { gang, children, stop, kill }
  } catch (error) {
    end()
    throw error
  }
}

if (process.env.LAW_NODE === '1') {
  const settings = settingsOf(process.env) as GangSettings // written above
  const arena = lawArena(2 ** 28)
  const pool = createPool({ workers: settings.rank % 2 === 0 ? 2 : 1, arena })
  // a gang whose law failed is gone
  const code = await serveGang(settings, threadProgram(), { pool, arena, worthThreadsMs: 0 }).catch(() => 75)
  process.exit(code)
}
