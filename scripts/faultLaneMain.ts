/**
 * A process that tries faults one after another: a copy of the tree, and one vitest over it.
 *
 * A fault is written into the copy, not only into vitest's modules, since the library's threads load their files from the disk. vitest keeps what
 * it has compiled of all other files, and runs each law in a process of its own; a trial of one case takes a third of a second.
 * The parent (faults.ts) sends trials and ends the process, with all that it has started, when one takes too long.
 */
import { cpSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createVitest, type TestCase, type Vitest } from 'vitest/node'
import type { Fault } from './faultList.ts'
import { ROOT } from './repository.ts'

/** A fault and the cases to try: of one test, or of all that `fault.law` names. */
export interface Trial {
  readonly fault: Fault
  readonly seed: number
  readonly test?: string
  /** One case alone. */
  readonly path?: string
}
export type Outcome =
  | { readonly kind: 'red'; readonly test: string; readonly path?: string }
  | { readonly kind: 'green' }
  /** The fault cannot be put in, or no test ran: a mistake of the entry, not a fault noticed. */
  | { readonly kind: 'amiss'; readonly why: string }

const tree = copyOfTree()
const vitest = await createVitest('test', {
  root: tree,
  config: join(tree, 'vitest.config.ts'),
  watch: false,
  reporters: [{}],
  silent: true,
  bail: 1,
  maxWorkers: 1,
})
process.on('message', (trial: Trial) => {
  tryOne(vitest, trial).then(
    (outcome) => process.send?.(outcome),
    (error) => process.send?.({ kind: 'amiss', why: String(error) } satisfies Outcome),
  )
})
process.send?.({ tree })

/** What vitest needs of the repository; the packages are linked. */
function copyOfTree(): string {
  const copy = mkdtempSync(join(tmpdir(), 'distarray-faults-'))
  for (const name of ['src', 'property-tests', 'examples', 'package.json', 'tsconfig.json', 'vitest.config.ts']) {
    cpSync(join(ROOT, name), join(copy, name), { recursive: true })
  }
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
  return copy
}

async function tryOne(vitest: Vitest, trial: Trial): Promise<Outcome> {
  const { fault } = trial
  const path = join(tree, fault.file)
  let sound: string
  try {
    sound = readFileSync(path, 'utf8')
  } catch {
    return { kind: 'amiss', why: `There is no file ${fault.file}.` }
  }
  const occurrences = sound.split(fault.search).length - 1
  if (occurrences !== 1)
    return { kind: 'amiss', why: `The excerpt occurs ${occurrences} times in ${fault.file}, not once:\n${fault.search}` }

  const exchange = (text: string): void => {
    writeFileSync(path, text)
    vitest.invalidateFile(path)
  }
  exchange(sound.replace(fault.search, () => fault.replace))
  try {
    return await runLaw(vitest, trial)
  } finally {
    exchange(sound)
  }
}

async function runLaw(vitest: Vitest, { fault, seed, test, path }: Trial): Promise<Outcome> {
  const [file = '', name] = fault.law.split(' > ')
  // vitest hands its environment on to the process of the law; property-tests/seed.ts reads it
  Object.assign(process.env, { SEED: String(seed), LAW_PATH: path ?? '', LAWS: path === undefined ? '' : '1', LAW_FAULT: '1' })
  if (test !== undefined) vitest.setGlobalTestNamePattern(new RegExp(`^${escaped(test)}$`))
  else if (name !== undefined) vitest.setGlobalTestNamePattern(new RegExp(escaped(name)))
  else vitest.resetGlobalTestNamePattern()

  const specification = vitest.getRootProject().createSpecification(join(tree, file))
  vitest.state.filesMap.clear() // else vitest hands back what it knows of earlier runs as well
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications([specification])
  const tests = testModules.flatMap((module) => [...module.children.allTests()])
  const failed = tests.find((test) => test.result().state === 'failed')
  if (failed !== undefined) return redBy(failed, path)
  if (tests.some((test) => test.result().state === 'passed')) return { kind: 'green' }
  const errors = [...testModules.flatMap((module) => module.errors()), ...unhandledErrors]
  const messages = errors.map((error) => (error as { readonly message?: string }).message ?? String(error))
  return { kind: 'amiss', why: `No test of ${fault.law} ran:\n${messages.join('\n')}` }
}

/** Where one case was asked for, its failure counts alone: a law that also counts what it met cannot have met it in one case. */
function redBy(test: TestCase, asked: string | undefined): Outcome {
  const messages = test.result().errors?.map((error) => error.message) ?? []
  const path = /^Property failed after \d+ tests\n\{ seed: -?\d+, path: "([\d:]+)"/m.exec(messages.join('\n'))?.[1]
  if (asked !== undefined && path !== asked) return { kind: 'green' }
  return { kind: 'red', test: test.fullName.split(' > ').join(' '), ...(path === undefined ? {} : { path }) }
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
