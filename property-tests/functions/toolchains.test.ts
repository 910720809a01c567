/**
 * The same function gives the same IR whatever compiled it: every function of the corpus under every tool chain, up to
 * local names and places.
 */
import { expect, test } from 'vitest'
import * as corpus from './corpus/functions.ts'
import { type Corpus, loweredCorpus } from './corpusContexts.ts'
import { TOOL_CHAINS } from './toolchains.ts'

const here = corpus as unknown as Corpus // the tests lower these functions, they do not call them

/** Lowered, but not to the same IR: terser writes `clamp` out with temporaries of its own. */
const WRITTEN_OUT: Readonly<Record<string, readonly string[]>> = { terser: ['rows.imported'] }

test('the test runner: every function of the corpus is lowered', () => {
  const lowered = loweredCorpus(here, { minified: false })
  expect(Object.entries(lowered).filter(([, ir]) => ir.startsWith('refused'))).toEqual([])
  expect(Object.keys(lowered).length).toBeGreaterThanOrEqual(25)
})

test.each(Object.entries(TOOL_CHAINS))('%s', async (name, compile) => {
  const form = { minified: /minify|terser/.test(name) }
  const expected = loweredCorpus(here, form)
  const there = await compile(form)
  expect(Object.keys(there)).toEqual(Object.keys(expected))
  for (const [one, ir] of Object.entries(there)) {
    if (WRITTEN_OUT[name]?.includes(one)) expect.soft(ir, one).not.toMatch(/^refused/)
    else expect.soft(ir, one).toBe(expected[one])
  }
})
