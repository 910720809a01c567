/**
 * Loaded before every test file. With SEED in the environment every law draws the cases of that seed, so that a run can be
 * repeated; without it, each run draws new ones. Under a fault put in on purpose (scripts/faultLaneMain.ts) nobody reads a
 * counterexample, so it is neither made smaller nor printed, which takes seconds for a table, and LAW_PATH asks for one case
 * alone; what waits for ever is not waited for as long as on a busy machine. Laws end after some ten times what the slowest of them takes on an idle one.
 */
import fc from 'fast-check'
import { expect, vi } from 'vitest'
import { verifyKernels } from '../src/exec/kir/pass.ts'
import { loadArrow } from '../src/io/arrow/arrowLibrary.ts'
import { loadParquet } from '../src/io/parquet/parquetLibrary.ts'
import { lawRuns } from './lawRuns.ts'

// what sessions and openings of files do before code that tests call by itself
await Promise.all([loadArrow(), loadParquet()])

// every kernel that a test compiles, after each pass over it
verifyKernels()

const { SEED, LAW_PATH, LAW_FAULT } = process.env
if (SEED !== undefined) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(SEED) })
if (LAW_FAULT !== undefined) {
  fc.configureGlobal({ ...fc.readConfigureGlobal(), endOnFailure: true, reporter: failInBrief, ...(LAW_PATH ? { path: LAW_PATH } : {}) })
}
if (expect.getState().testPath?.endsWith('.prop.ts')) vi.setConfig({ testTimeout: 60_000 + 300 * lawRuns() })
else if (LAW_FAULT !== undefined) vi.setConfig({ testTimeout: 12_000 })

function failInBrief(details: fc.RunDetails<unknown>): void {
  const { failed, counterexamplePath, numRuns, seed, errorInstance } = details
  if (!failed) return
  if (counterexamplePath === null) throw new Error(fc.defaultReportMessage(details))
  throw new Error(`Property failed after ${numRuns} tests\n{ seed: ${seed}, path: "${counterexamplePath}" }`, { cause: errorInstance })
}
