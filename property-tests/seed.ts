/**
 * Loaded before every test file. With SEED in the environment every law draws the cases of that seed, so that a run can be
 * repeated; without it, each run draws new ones. Laws end after some ten times what the slowest of them takes on an idle machine.
 */
import fc from 'fast-check'
import { expect, vi } from 'vitest'
import { lawRuns } from './lawRuns.ts'

if (process.env.SEED !== undefined) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(process.env.SEED) })
if (expect.getState().testPath?.endsWith('.prop.ts')) vi.setConfig({ testTimeout: 60_000 + 300 * lawRuns() })
