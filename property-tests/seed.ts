/**
 * With SEED in the environment every law draws the cases of that seed, so that a run can be repeated; without it, each
 * run draws new ones. Loaded before every test file.
 */
import fc from 'fast-check'

if (process.env.SEED !== undefined) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(process.env.SEED) })
