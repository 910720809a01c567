/**
 * Lowers the corpus and writes the IRs to the file that CORPUS_OUT names: run by tsx, in a worker thread of it, and by
 * the test runner under coverage.
 */
import { writeFileSync } from 'node:fs'
import { isMainThread, Worker } from 'node:worker_threads'
import * as corpus from './corpus/functions.ts'
import { type Corpus, loweredCorpus } from './corpusContexts.ts'

function print(): void {
  const lowered = loweredCorpus(corpus as unknown as Corpus, { minified: false }) // lowered, not called
  writeFileSync(process.env.CORPUS_OUT ?? 'lowered.json', JSON.stringify(lowered))
}

if (process.env.CORPUS_COVERAGE !== undefined) {
  const { test } = await import('vitest')
  test('the corpus under coverage', print)
} else if (isMainThread && process.argv.includes('--worker')) {
  // the loader of the main thread does not reach into workers
  new Worker(`import('tsx/esm/api').then((tsx) => { tsx.register(); return import(${JSON.stringify(import.meta.url)}) })`, { eval: true })
} else print()
