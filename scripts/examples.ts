/**
 * Runs every program of examples/ and compares what it prints with the comment at its end:
 *
 *     // prints:
 *     // first line
 *     // second line
 *
 * In the comment `…` stands for any text within a line: times, and what depends on the machine. A program whose
 * comment is missing must only end well. `lake.ts` has an object store where one can be had, and a folder where not, which is said. `tsx scripts/examples.ts shops` runs the programs whose names contain a word.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startObjectStore } from '../property-tests/objectStore.ts'
import { differenceOf } from './expectedOutput.ts'
import { BIN, finish, ROOT, run } from './repository.ts'

/** Examples that take arguments to be short. */
const ARGUMENTS: Readonly<Record<string, readonly string[]>> = {
  'recommender.ts': ['--rows', '20000', '--passes', '2', '--rank', '8'],
  'scaling.ts': ['100000'],
}
const TIME_LIMIT_MS = 300_000

/** Where the lake is. */
async function lakeStore(): Promise<{ readonly env: Readonly<Record<string, string>>; readonly stop: () => void } | undefined> {
  const store = await startObjectStore()
  await store?.makeBucket('lake')
  const env = { LAKE: 's3://lake', AWS_ENDPOINT_URL: store?.endpoint ?? '', AWS_ACCESS_KEY_ID: 'AKID', AWS_SECRET_ACCESS_KEY: 'secret' }
  return store && { env, stop: store.stop }
}

const word = process.argv[2] ?? ''
const names = readdirSync(join(ROOT, 'examples')).filter((name) => name.endsWith('.ts') && name.includes(word))
let failed = 0
for (const name of names) {
  const file = join(ROOT, 'examples', name)
  const cwd = mkdtempSync(join(tmpdir(), 'distarray-example-'))
  const args = ['--tsconfig', join(ROOT, 'tsconfig.json'), file, ...(ARGUMENTS[name] ?? [])]
  const store = name === 'lake.ts' ? await lakeStore() : undefined
  const { code, stdout, stderr, timedOut } = await run(join(BIN, 'tsx'), args, {
    cwd,
    timeoutMs: TIME_LIMIT_MS,
    ...(store && { env: store.env }),
  })
  store?.stop()
  rmSync(cwd, { recursive: true })
  const expected = expectedOutput(readFileSync(file, 'utf8'))
  const complaint = timedOut
    ? `did not end within ${TIME_LIMIT_MS / 1000} s`
    : code !== 0
      ? `ended with code ${code}:\n${stderr}${stdout}`
      : expected === undefined
        ? undefined
        : differenceOf(expected, stdout)
  console.log(`${complaint === undefined ? 'ok    ' : 'FAILED'} examples/${name}${complaint === undefined ? '' : `\n${complaint}`}`)
  if (complaint !== undefined) failed++
}
finish({ passed: names.length - failed, failed })

function expectedOutput(source: string): string | undefined {
  const lines = source.trimEnd().split('\n')
  const start = lines.lastIndexOf('// prints:')
  return start === -1
    ? undefined
    : lines
        .slice(start + 1)
        .map((line) => line.replace(/^\/\/ ?/, ''))
        .join('\n')
}
